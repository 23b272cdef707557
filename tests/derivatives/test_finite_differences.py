"""Derivatives through contact against differences of the simulation itself, over random runs of robots.

A run is thrown or dropped in flight, so that every direction is admissible, and ends between two events. Its derivative
along random directions is compared with central differences of `cs.simulate`, extrapolated by Ridders' method with an
error estimate of their own. A direction whose neighbours meet other events at every step size is skipped and counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from builders import box, sphere, unit

import contactsim as cs
from contactsim.hybrid.differences import tangent_derivative
from contactsim.hybrid.system import CLOCK

Array = np.ndarray

# --- what is compared, and how well ---------------------------------------------------------------------------------
BOUND = 1e-5  # of lin(dx) against the difference, relative to the largest entry
CAPTURE = 3e-7  # the same where a contact stops in space while another one slips
ESTIMATE = 2e-6  # of the difference's own error: above it, the difference is no test of BOUND
ENOUGH = 1e-7  # ... and below it, no further step size is tried
UNTESTED = 0.05  # share of the directions that may be skipped or have no good difference
RUN = cs.Tolerances(rtol=1e-11, atol=1e-12)  # ends of runs carry noise of about 1e-9: differences, 1e-9 / step
ARCS = cs.Tolerances(rtol=1e-10, atol=1e-12)  # of the variational equation: far below BOUND
STEP = 1e-3  # largest first step of the differences, along a unit vector
SMALLEST_STEP = 1e-6  # smallest first step that is tried
LEVELS = 6  # step sizes of a difference, each half the last
CLEAR = 5e-4  # s, events keep this distance from the end of a run
APART = 5e-5  # s, and visible events from each other: neighbours must not swap them
DIRECTIONS = 2  # of a run
HORIZON = 0.3  # s, within which runs end
CHUNK = 0.004  # s, a piece of a run
WORK = 4000  # evaluations of the field after which they end: a slip that turns while it stops takes many
PERIODS = (1 / 128, 1 / 256, 3 / 512)  # s, of sampled controllers

# --- what holds exactly, up to rounding and the tolerance of the variational equation ---------------------------------
GAP_HELD = 1e-10  # variation of a gap that has closed, relative to the largest variation of a position
RATE_HELD = 1e-9  # that of its rate, as forces at events are known: it drifts until the run ends
SLIP_HELD = 1e-8  # variation of a slip velocity that was captured, relative to the largest variation
COMPOSED = 1e-8  # relative, products of matrices: rtol of the arcs times the growth of errors between them

SLOW = bool(os.environ.get("CONTACTSIM_SLOW"))
RUNS = 100


# --- random runs ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Scene:
    """A run: what moves, from where, and over which time.

    Attributes:
        robot: its name.
        options: what the random numbers chose.
        system, state, span: arguments of `cs.simulate`.
    """

    robot: str
    options: dict[str, object]
    system: cs.ContactSystem
    state: cs.State
    span: tuple[float, float]

    def __str__(self) -> str:
        return f"{self.robot} {self.options} over {self.span}"


@dataclass(frozen=True)
class Swing:
    """Joint reference that sways about a posture: feet that stick are torn loose by it."""

    posture: Array
    amplitude: Array
    frequency: float

    def __call__(self, t: float) -> Array:
        return self.posture + self.amplitude * np.sin(2.0 * np.pi * self.frequency * t)


@dataclass(frozen=True)
class Shake:
    """Generalised force that grows and turns."""

    size: Array
    frequency: Array

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        return self.size * np.sin(2.0 * np.pi * self.frequency * t)


@dataclass(frozen=True)
class Pull:
    """Force on a free body, in world axes, that grows with time: it drags a ball away, or lifts it."""

    rate: Array

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        return np.concatenate([pin.Quaternion(q[3:7]).toRotationMatrix().T @ (t * self.rate), np.zeros(3)])


GAINS = {"hexapod": (80.0, 1.5), "solo12": (12.0, 0.3), "biped": (60.0, 2.0)}
RADIUS = {"hexapod": 0.02, "solo12": 0.016}
ROBOTS = ("hexapod", "solo12", "biped", "sphere", "hexapod round", "solo12 point", "box", "sphere")
LIMITED = {"hexapod": 0.9, "biped": 1.5}  # rad, upper limit of the first joint behind the root


@cache
def loaded(name: str) -> cs.Robot:
    return cs.load_robot(name)


def scene(seed: int) -> Scene:
    """A random run by number: the robots take turns."""
    rng = np.random.default_rng([11, seed])
    robot = ROBOTS[seed % len(ROBOTS)]
    friction = float(rng.uniform(0.15, 0.9))
    options: dict[str, object] = {
        "friction": friction,
        "static": friction * float(rng.uniform(1.1, 1.5)) if rng.random() < 0.4 else None,
        "restitution": float(rng.uniform(0.1, 0.6)) if rng.random() < 0.3 else 0.0,
        "slope": float(rng.uniform(0.05, 0.3)) if rng.random() < 0.5 else 0.0,
        "drive": str(rng.choice(["none", "pd", "swing", "sampled"])),
        "limit": bool(rng.random() < 0.25),
    }
    name = robot.split()[0]
    body = bodies if name in ("sphere", "box") else legged
    system, state, t0 = body(robot, rng, options)
    return Scene(robot, options, system, state, (t0, end_of_run(system, state, t0, rng)))


def with_coefficients(robot: cs.Robot, options: dict[str, object], **changes: object) -> cs.Robot:
    given = {
        "friction": options["friction"],
        "static_friction": options["static"],
        "restitution": options["restitution"],
        "enabled": None,
    }
    return robot.with_contacts([replace(contact, **given, **changes) for contact in robot.contacts])  # type: ignore[arg-type]


def bodies(kind: str, rng: np.random.Generator, options: dict[str, object]) -> tuple[cs.ContactSystem, cs.State, float]:
    """A ball or a box, thrown with a spin; driven, it is shaken, or a ball is dragged or lifted."""
    given = sphere() if kind == "sphere" else box(tuple(rng.uniform(0.1, 0.6, 3)))
    robot = with_coefficients(given, options)
    weight, drive = 9.81 * sum(inertia.mass for inertia in robot.model.inertias), None
    if kind == "sphere" and options["drive"] == "swing":
        drive = Pull(weight * rng.uniform(5.0, 15.0) * np.append(unit(rng.normal(size=2)), 0.0))
    elif kind == "sphere" and options["drive"] == "sampled":
        drive = Pull(weight * np.array([0.0, 0.0, rng.uniform(4.0, 10.0)]))
    elif options["drive"] != "none":
        size = weight * rng.uniform(0.2, 1.0) * rng.normal(size=6) * [1, 1, 0.2, 0.1, 0.1, 0.1]
        drive = Shake(size, rng.uniform(1.0, 6.0, 6))
    q = np.array(robot.nominal, dtype=float)
    q[3:7] = pin.Quaternion(pin.exp3(rng.normal(size=3) * (1.0 if kind == "sphere" else 0.15))).coeffs()
    v = rng.normal(size=6) * [0.7, 0.7, 0.5, 2, 2, 2]
    return placed(robot, options, drive, q, v, rng)


def legged(kind: str, rng: np.random.Generator, options: dict[str, object]) -> tuple[cs.ContactSystem, cs.State, float]:
    """A robot near its standing posture, thrown; one joint of it perhaps close before its limit."""
    name, _, feet = kind.partition(" ")
    changes = {"round": {"radius": RADIUS.get(name), "offset": (0.0, 0.0, 0.0)}, "point": {"radius": 0.0}}
    robot = with_coefficients(loaded(name), options, **changes.get(feet, {}))
    posture, joints = np.array(loaded(name).nominal, dtype=float), robot.nq - robot.nv  # what a quaternion has more
    root = 3 if name == "biped" else 6
    q, v = posture.copy(), rng.normal(size=robot.nv) * 0.7
    q[root + joints :] += 0.1 * rng.normal(size=robot.nv - root)
    v[:3] = rng.normal(size=3) * 0.4
    if joints:
        q[3:7] = pin.Quaternion(pin.exp3(rng.normal(size=3) * 0.05)).coeffs()
    if options["limit"] and name in LIMITED:
        q[root + joints] = LIMITED[name] - rng.uniform(0.01, 0.03)
        v[root] = rng.uniform(2.0, 4.0)
    return placed(robot, options, driven(name, robot, posture, rng, options), q, v, rng)


def driven(
    name: str, robot: cs.Robot, posture: Array, rng: np.random.Generator, options: dict[str, object]
) -> cs.Controller | None:
    if options["drive"] == "none":
        return None
    kp, kd = GAINS[name]
    reference: Array | Swing = posture
    if options["drive"] == "swing":
        amplitude = np.zeros(robot.nq)
        amplitude[3 if name == "biped" else 7 :] = 0.3 * rng.normal()
        reference = Swing(posture, amplitude, float(rng.uniform(2.0, 6.0)))
    period = float(rng.choice(PERIODS)) if options["drive"] == "sampled" else None
    return cs.PD(robot, reference, kp=kp, kd=kd, period=period)


def placed(
    robot: cs.Robot, options: dict[str, object], drive: object, q: Array, v: Array, rng: np.random.Generator
) -> tuple[cs.ContactSystem, cs.State, float]:
    """In the air, a little above the ground, on its way down; a sampled controller between two samples."""
    angle = float(options["slope"])  # type: ignore[arg-type]
    system = cs.ContactSystem(robot, terrain=cs.terrain.Slope(angle), controller=drive)
    count, height = len(robot.contacts), 1 if robot.nq == robot.nv else 2
    q[height] += (rng.uniform(0.002, 0.02) - system.mechanism.gaps(0.0, q)[:count].min()) / np.cos(angle)
    v[height] = -0.3 - abs(v[height])
    period = getattr(drive, "period", None)
    memory = drive.sample(0.0, q, v, np.zeros(robot.nv)) if period else np.empty(0)  # type: ignore[attr-defined]
    return system, cs.State(q, v, memory), 0.3 * period if period else 0.0


def end_of_run(system: cs.ContactSystem, state: cs.State, t0: float, rng: np.random.Generator) -> float:
    """A time behind one of the first events and clear of all of them."""
    pilot, reached = cs.Simulation(system, state, t0, max_events=40, tolerances=RUN), t0
    while pilot.t < t0 + HORIZON and pilot.evaluations < WORK and pilot.status is not cs.Status.TOO_MANY_EVENTS:
        reached = pilot.t
        pilot.advance(CHUNK)
    traj = pilot.trajectory
    times = [event.time for event in traj.events]
    close = [a for a, b in pairwise(times) if 0.0 < b - a < APART]
    clock = [event.time for event in traj.all_events if CLOCK in event.fired]
    marks = np.unique([t0, *times, *clock, float(traj.t[-1])])
    latest = min([max(reached, marks[0]), *close])
    gaps = [(a, b) for a, b in pairwise(marks) if b - a > 2.0 * CLEAR and a <= latest]
    last = max(times[: int(rng.integers(2, 9))], default=t0)
    a, b = next((gap for gap in gaps if gap[0] >= last), gaps[-1])
    return float(a + rng.uniform(CLEAR, min(b - a - CLEAR, 0.02)))


# --- differences ----------------------------------------------------------------------------------------------------
class OtherEvents(Exception):
    """A neighbouring run meets other events."""


def sequence(traj: cs.Trajectory) -> list[object]:
    """What happens in a run, in order: what changed, and the samples."""
    return [
        CLOCK if CLOCK in event.fired else tuple((name, str(ab)) for name, ab in event.transitions.items())
        for event in traj.all_events
        if event.visible or CLOCK in event.fired
    ]


class Neighbours:
    """Runs close to one run: called with h, where the neighbour number h ends, as seen from the end of the run itself.

    Args:
        traj: the run.
        neighbour: h -> (system, state, span).
    """

    def __init__(self, traj: cs.Trajectory, neighbour: Callable[[float], tuple]) -> None:
        self._traj, self._neighbour, self._events = traj, neighbour, sequence(traj)

    def __call__(self, h: float) -> Array:
        traj = cs.simulate(*self._neighbour(h), tolerances=RUN)
        if sequence(traj) != self._events:
            raise OtherEvents(f"at h = {h:.3g}: {sequence(traj)} instead of {self._events}")
        return self._traj.system.space().difference(self._traj.final_x, traj.final_x)


def along(given: Scene, traj: cs.Trajectory, direction: Array) -> Neighbours:
    """Runs that start at x (+) h direction."""
    x, space = given.system.pack(given.state), given.system.space()

    def neighbour(h: float) -> tuple:
        return given.system, given.system.state(space.integrate(x, h * direction)), given.span

    return Neighbours(traj, neighbour)


def ridders(slope: Callable[[float], Array], first: float, base: float = 4.0) -> tuple[Array, float]:
    """Limit of differences, and its error relative to its largest entry (Ridders 1982).

    Their error is a series of even powers of h, or of all powers (`base` 2).
    """
    table: list[list[Array]] = []
    found: list[tuple[float, Array]] = []  # the two best values, each with what it differs from its neighbours
    error = np.inf
    for k in range(LEVELS):
        row = [slope(first / 2.0**k)]
        for j in range(k):
            row.append((base ** (j + 1) * row[j] - table[k - 1][j]) / (base ** (j + 1) - 1.0))
        table.append(row)
        for j in range(1, k + 1):
            apart = max(np.abs(row[j] - row[j - 1]).max(), np.abs(row[j] - table[k - 1][j - 1]).max())
            found.append((float(apart), row[j]))
        found = sorted(found, key=lambda value: value[0])[:2]
        if len(found) == 2:
            (_, best), (apart, other) = found
            error = max(apart, float(np.abs(best - other).max())) / float(np.abs(best).max())
        if error < ENOUGH:
            break
    return found[0][1], error


def central(end: Neighbours, first: float) -> tuple[Array, float]:
    return ridders(lambda h: (end(h) - end(-h)) / (2.0 * h), first)


def one_sided(end: Neighbours, first: float, sign: float) -> tuple[Array, float]:
    return ridders(lambda h: end(sign * h) / (sign * h), first, base=2.0)


def difference(
    end: Neighbours, scheme: Callable[[Neighbours, float], tuple[Array, float]] = central
) -> tuple[Array, float] | None:
    """Derivative of an end and its error, from the largest steps at which the events are the same; None: at no step."""
    first, found = STEP, None
    while first >= SMALLEST_STEP:
        try:
            new = scheme(end, first)
            if found is None or new[1] < found[1]:
                found = new
            if found[1] < ESTIMATE:
                return found
        except OtherEvents:
            pass
        first /= 4.0
    return found


@dataclass(frozen=True)
class Result:
    """A derivative: its relative error, and that of the difference; NaN where neighbours meet other events."""

    error: float
    estimate: float

    @property
    def tested(self) -> bool:
        """Whether the difference exists, and is good enough to judge the derivative."""
        return self.estimate <= ESTIMATE

    def __str__(self) -> str:
        return f"{self.error:.1e} (difference {self.estimate:.1e})"


def judged(
    derivative: Array, end: Neighbours, scheme: Callable[[Neighbours, float], tuple[Array, float]] = central
) -> Result:
    found = difference(end, scheme)
    if found is None:
        return Result(np.nan, np.nan)
    return Result(float(np.abs(derivative - found[0]).max() / np.abs(found[0]).max()), found[1])


@cache
def run(seed: int) -> tuple[Scene, cs.Trajectory, cs.Linearization]:
    """A random run and its linearization."""
    given = scene(seed)
    traj = cs.simulate(given.system, given.state, given.span, tolerances=RUN)
    assert traj.status is cs.Status.FINISHED, (traj.message, str(given))
    return given, traj, cs.linearize(traj, tolerances=ARCS)


def random_directions(seed: int, dim: int, count: int = DIRECTIONS) -> Array:
    directions = np.random.default_rng([12, seed]).normal(size=(count, dim))
    return directions / np.linalg.norm(directions, axis=1)[:, None]


def compared(seed: int) -> list[Result]:
    """How far the derivative of a run along random unit directions is from the differences."""
    given, traj, lin = run(seed)
    directions = random_directions(seed, lin.dim)
    pairs = zip(directions, lin(directions), strict=True)
    return [judged(derivative, along(given, traj, direction)) for direction, derivative in pairs]


# --- what happened --------------------------------------------------------------------------------------------------
def kinds(traj: cs.Trajectory) -> set[str]:
    """Kinds of the events of a run."""
    return {kind for event in traj.all_events for kind in kinds_of(event)}


def kinds_of(event: cs.Event) -> Iterator[str]:
    system, jumps = event.system, bool(event.impulses)
    if CLOCK in event.fired:
        yield "sample"
    if jumps and event.mode_pre.closed:
        yield "impact on closed contacts"
    for name in event.constraints:
        yield "joint limit impact" if name in event.impulses else "joint limit"
    for name in event.contacts:
        i = system.mechanism.all_names.index(name)
        before, after = (mode.value for mode in event.transitions[name])
        if before == "open":
            elastic = "elastic" if system.restitution[i] > 0.0 else "touch and go"
            yield {"open": elastic, "stick": "touch-down to stick", "slip": "touch-down to slip"}[after]
        elif jumps:
            yield f"{before} to {after} by impact"
        elif after == "open":
            yield f"lift-off from {before}"
        elif after == "slip":
            unequal = system.static_friction[i] > system.friction[i]
            yield f"stick to slip, {'unequal' if unequal else 'equal'} coefficients"
        else:
            yield f"capture in {'space' if system.mechanism.dims[i] == 3 else 'the plane'}"


# --- tests ----------------------------------------------------------------------------------------------------------
KINDS = {
    "touch-down to stick",
    "touch-down to slip",
    "elastic",
    "stick to slip, equal coefficients",
    "stick to slip, unequal coefficients",
    "capture in space",
    "capture in the plane",
    "lift-off from stick",
    "lift-off from slip",
    "joint limit impact",
    "impact on closed contacts",
    "sample",
}
# Runs that are done in a few seconds and hold every robot and kind of event between them.
EXAMPLES = [6, 10, 16, 19, 23, 27, 30, 34, 37, 49, 52, 66, 72, 722, 1042]
IN_PYTHON = {10, 19, 23, 27, 34, 49, 52, 722}  # those that are done there, too; the others on a compiled engine


def given_of(*case: Any) -> Any:
    """A case with its seed at its end, run in Python if that is one of these."""
    return pytest.param(*case, marks=() if case[-1] in IN_PYTHON else pytest.mark.slow_in_python)


@pytest.mark.parametrize("seed", list(map(given_of, EXAMPLES)))
def test_directions(seed: int) -> None:
    results, given = compared(seed), run(seed)[0]
    for result in results:
        assert result.tested, f"{result}: the difference is no test of {given}"
        assert result.error <= BOUND, f"{result} in {given}"


@pytest.mark.slow_in_python
def test_examples_hold_every_robot_and_kind() -> None:
    assert {run(seed)[0].robot for seed in EXAMPLES} == set(ROBOTS)
    assert set().union(*(kinds(run(seed)[1]) for seed in EXAMPLES)) >= KINDS


@pytest.mark.slow
@pytest.mark.skipif(not SLOW, reason="set CONTACTSIM_SLOW=1 for all 100 runs; they take about ten minutes")
def test_hundred_runs() -> None:
    results, seen = {}, set()
    for seed in range(RUNS):
        results[seed] = compared(seed)
        seen |= kinds(run(seed)[1])
        run.cache_clear()
    every = [result for pair in results.values() for result in pair]
    skipped = sum(np.isnan(result.error) for result in every)
    poor = sum(not result.tested for result in every) - skipped
    print(f"{len(every)} directions, {skipped} skipped, {poor} without a good difference")
    wrong = {seed: pair for seed, pair in results.items() if any(r.tested and not r.error <= BOUND for r in pair)}
    assert not wrong, {seed: list(map(str, pair)) for seed, pair in wrong.items()}
    assert skipped + poor <= UNTESTED * len(every)
    assert seen >= KINDS


def test_capture_beside_a_contact_that_slips() -> None:
    """What stops the motion across the slip turns the normal forces, and with them the friction of other contacts.

    Without that friction the derivative was off by 1.3e-6.
    """
    given, traj, lin = run(198)
    (direction,) = random_directions(198, lin.dim, 1)
    result = judged(lin(direction), along(given, traj, direction))
    assert "capture in space" in kinds(traj)
    assert result.estimate <= CAPTURE and result.error <= CAPTURE, str(result)


@pytest.mark.parametrize("seed", list(map(given_of, [6, 27, 52, 66, 1042])))
def test_both_sides(seed: int) -> None:
    """The derivative from either side: differences by steps of one sign."""
    given, traj, lin = run(seed)
    (direction,) = random_directions(seed, lin.dim, 1)
    end = along(given, traj, direction)
    for sign in (1.0, -1.0):
        result = judged(lin(direction), end, lambda neighbours, first, s=sign: one_sided(neighbours, first, s))
        assert result.tested, f"{result}: the difference is no test of {given}"
        assert result.error <= BOUND, f"{result} for steps of sign {sign} in {given}"


PARAMETERS = {
    "contact.friction": [6, 27, 52, 66],
    "contact.static_friction": [23],
    "contact.restitution": [10, 16, 30],
    "t0": [16, 19, 27, 52, 1042],
}


@pytest.mark.parametrize(("name", "seed"), [given_of(name, k) for name, seeds in PARAMETERS.items() for k in seeds])
def test_parameters(name: str, seed: int) -> None:
    given, traj, lin = run(seed)

    def neighbour(h: float) -> tuple:
        if name == "t0":
            return given.system, given.state, (given.span[0] + h, given.span[1])
        changed = given.system.with_parameter(name, given.system.parameter(name) + h)
        return changed, given.state, given.span

    result = judged(lin.parameter(name), Neighbours(traj, neighbour))
    assert result.tested, f"{result}: the difference is no test of {given}"
    assert result.error <= BOUND, f"{result} for {name} in {given}"


@pytest.mark.parametrize("seed", [27, 37, 52, 66])
def test_matrices_compose(seed: int) -> None:
    _, traj, lin = run(seed)
    whole = lin.matrix()
    scale = np.abs(whole).max()
    for b in (*np.linspace(lin.t0, lin.t1, 4)[1:-1], *(event.time for event in traj.events[:3])):
        np.testing.assert_allclose(lin.matrix(b, lin.t1) @ lin.matrix(lin.t0, b), whole, atol=COMPOSED * scale)
    product = np.eye(lin.dim)
    for matrix in lin.matrices(np.linspace(lin.t0, lin.t1, 6)):
        product = matrix @ product
    np.testing.assert_allclose(product, whole, atol=COMPOSED * scale)
    directions = random_directions(seed, lin.dim)
    np.testing.assert_allclose(lin(directions), directions @ whole.T, atol=COMPOSED * scale)


@pytest.mark.parametrize("seed", [6, 27, 45, 52, 53, 66, 92])
def test_contacts_hold_variations(seed: int) -> None:
    """What an event stops has no variation behind it, nor at the end: gaps, and slip velocities of contacts at rest."""
    _, traj, lin = run(seed)
    for time, mode in [*((event.time, event.mode_post) for event in traj.events), (lin.t1, traj.arcs[-1].mode)]:
        matrix, x = lin.matrix(None, time), traj.arc_at(time)(time)
        system, n = traj.system, traj.system.nv
        since = time - max((event.time for event in traj.events if event.time <= time), default=time)
        drift = since * RATE_HELD * np.abs(matrix).max()
        for i in mode.closed:
            gap, slip = held(system, time, x, i)
            bound = GAP_HELD * np.abs(matrix[:n]).max() + drift
            assert np.abs(gap @ matrix).max() <= bound, (time, system.mechanism.all_names[i])
            if mode.contacts[i].mode is cs.Mode.STICK:
                assert np.abs(slip @ matrix).max() <= SLIP_HELD * np.abs(matrix).max(), (time, mode)


def held(system: cs.ContactSystem, t: float, x: Array, i: int) -> tuple[Array, Array]:
    """Derivatives of the gap (1, n) and of the slip velocity (d_t, n) of a contact, by differences."""
    nq, nv, mechanism, space = system.nq, system.nv, system.mechanism, system.space()

    def slip(point: Array) -> Array:
        return mechanism.terms(t, point[:nq], point[nq : nq + nv], (i,)).rates[1:].copy()

    gap = tangent_derivative(lambda point: mechanism.gaps(t, point[:nq])[i : i + 1].copy(), space, x)
    return gap, tangent_derivative(slip, space, x)
