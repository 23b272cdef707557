"""Properties of a contact law in runs: a ball and a box are thrown onto the ground under it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, cast

import numpy as np

from ..analysis.linearization import linearize
from ..common.arrays import Array
from ..contact.laws import CompliantLaw, ContactLaw, RigidLaw
from ..contact.modes import Phase, SystemMode
from ..contact_dynamics.contact_system import ContactSystem
from ..errors import CheckError, InputError, NonDifferentiableError
from ..hybrid.mode_directions import flow_at
from ..hybrid.simulate import simulate
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Trajectory
from ..io import scene
from ..multibody.catalogue import load_robot, robot_entry
from . import checks
from .bodies import ELSEWHERE, HOME, SCENARIOS, THROW, Scenario, World
from .report import Finding, Outcome

GAP = 1e-9  # above this gap a contact is off the ground [m]
FORCE = 1e-6  # of the largest force of a run: forces at events are known to about 1e-9
GUARD = 1e-7  # below zero by more than this a guard contradicts its mode, in its unit or of the largest force
ENERGY = 1e-7  # energy gained by rounding, relative to the largest kinetic energy
RESTART = 1e-6  # between a run and one that was started again within it [m, m/s], relative to the largest change
WORLD = 1e-6  # between a run and the same one elsewhere, alike
DERIVATIVE = 1e-5  # of a run, relative to its largest entry
DIRECTIONS, STEP = 3, 2e-5  # variations of the start that are followed by differences, and their size
TIGHT = Tolerances(rtol=1e-11, atol=1e-12)
RESTARTS = 6  # modes of a run in which it is started again
ROBOT_TIME = 2.0  # s, of the demonstrations of robots
LEAST = 1e-6  # s, arcs longer than this are looked into


class Runs:
    """The runs of one law, each made once."""

    def __init__(self, law: ContactLaw) -> None:
        self.law = law
        self._made: dict[tuple[str, bool], Trajectory] = {}

    def run(self, scenario: Scenario, world: World = HOME) -> Trajectory:
        """The run of a scenario in a world."""
        key = scenario.name, world is HOME
        if key not in self._made:
            self._made[key] = self.again(scenario, world)
        return self._made[key]

    def again(self, scenario: Scenario, world: World = HOME) -> Trajectory:
        """The same, made anew."""
        system, state = scenario.start(self.law, world)
        return simulate(system, state, (0.0, self.duration(scenario)))

    def duration(self, scenario: Scenario) -> float:
        """Rigid runs are longer: they are quick, and end at rest [s]."""
        return scenario.duration if isinstance(self.law, RigidLaw) else scenario.short

    @cached_property
    def trajectories(self) -> dict[str, Trajectory]:
        """{scenario: run}."""
        return {scenario.name: self.run(scenario) for scenario in SCENARIOS}


def _states(trajectory: Trajectory) -> Iterator[tuple[Any, float, Array]]:
    """(arc, t, x) at both ends and in the middle of every step."""
    for arc in trajectory.arcs:
        for segment in arc.segments if arc.t1 > arc.t0 else ():
            for t in (segment.t0, 0.5 * (segment.t0 + segment.t1), segment.t1):
                yield arc, t, segment(t)


def _ended(runs: Runs) -> Iterator[Finding]:
    for name, trajectory in runs.trajectories.items():
        if not trajectory.status.complete:
            where = {"time": trajectory.arcs[-1].t1}
            yield np.inf, f"the run of {name} ends at t = {where['time']:.6g} s: {trajectory.message}", where
            continue
        try:
            trajectory.check()
        except CheckError as error:
            yield np.inf, f"the run of {name} breaks its own laws: {error}", {}


def _forces(runs: Runs) -> Iterator[Finding]:
    """Forces of contacts off the ground, pulling ones, and those outside the cone."""
    for name, trajectory in runs.trajectories.items():
        system = trajectory.system
        found = []
        for arc, t, x in _states(trajectory):
            gaps = system.mechanism.gaps(t, system.q(x))  # type: ignore[attr-defined]
            for i, force in system._contacts.forces(t, x, arc.mode).items():  # type: ignore[attr-defined]
                found.append((t, i, float(gaps[i]), np.asarray(force)))
        size = max((float(np.abs(force).max()) for *_, force in found), default=0.0) or 1.0
        for t, i, gap, force in found:
            label = system.mechanism.all_names[i]  # type: ignore[attr-defined]
            bound = max(float(system.friction[i]), float(system.static_friction[i]))  # type: ignore[attr-defined]
            place = f"in the run of {name}, at t = {t:.6g} s, gap {gap:.3g} m"
            outside = float(np.linalg.norm(force[1:])) - bound * abs(float(force[0]))
            if gap > GAP:
                yield (
                    float(np.abs(force).max()) / size,
                    f"'{label}' carries {force} N off the ground {place}",
                    {"time": t},
                )
            if not getattr(system.law, "pulls", False):  # type: ignore[attr-defined]  # else of the pressure and the pull
                yield -float(force[0]) / size, f"'{label}' pulls with {-force[0]:.3g} N {place}", {"time": t}
                yield outside / size, f"friction at '{label}' leaves the cone by {outside:.3g} N {place}", {"time": t}


def _guards(runs: Runs) -> Iterator[Finding]:
    """Guards that are negative where their mode holds; contacts that never touch or never leave."""
    for name, trajectory in runs.trajectories.items():
        for arc, t, x in _states(trajectory):
            flow = flow_at(arc.system, arc.mode, t, x)
            values = flow.guards(t, x)
            size = np.maximum(1.0, _guard_sizes(arc.system, flow, t, x))
            for guard, value in zip(flow.guard_names, values / size, strict=True):
                place = f"in the mode {arc.mode}, in the run of {name} at t = {t:.6g} s"
                yield float(-value), f"the guard {guard} is {value:.3g} {place}", {"time": t}
        if name == THROW.name:
            yield from _leaves(trajectory)


def _guard_sizes(system: Any, flow: Any, t: float, x: Array) -> Array:
    """Scale of each guard: of a force guard, the force that its contact would have at the end of a step."""
    kinds = [name[0] if isinstance(name, tuple) else "" for name in flow.guard_names]
    weight = float(np.linalg.norm(system.gravity)) * float(
        np.trace(system.mechanism.terms(t, *_parts(system, x), ()).mass)
    )
    return np.array([weight if kind in ("release", "return", "force", "cone") else 1.0 for kind in kinds])


def _parts(system: Any, x: Array) -> tuple[Array, Array]:
    return system.q(x), system.v(x)


def _leaves(trajectory: Trajectory) -> Iterator[Finding]:
    """A ball that is thrown down fast touches, and takes off again where the law gives anything back."""
    changes = [change for event in trajectory.events for change in event.transitions.values()]
    if not changes:
        yield np.inf, "the ball falls through the ground: no guard fires; let the contact take hold", {}
        return
    x, system, mode = trajectory.final_x, cast("ContactSystem", trajectory.system), trajectory.arcs[-1].mode
    gap = float(system.mechanism.gaps(0.0, system.q(x)).min())
    if cast(SystemMode, mode).closed and gap > GAP:
        yield np.inf, f"the ball is {gap:.3g} m above the ground, but its contact is closed: no guard has fired", {}


def _energy(runs: Runs) -> Iterator[Finding]:
    """Energy gained between instants at which no contact holds any; of rigid laws, where no event's note says so."""
    for name, trajectory in runs.trajectories.items():
        system: Any = trajectory.system
        flagged = 0.0
        for event in trajectory.events:
            if any("energy" in note for note in event.notes):
                flagged += max(0.0, _stored(system, event.x_post) - _stored(system, event.x_pre))
        least, moving = np.inf, 0.5
        for arc, t, x in _states(trajectory):
            if isinstance(system.law, CompliantLaw) and any(
                state.closed or state.phase is Phase.RELEASED for state in arc.mode.contacts
            ):
                continue  # the ground holds some
            energy = _stored(system, x)
            moving = max(moving, abs(energy))
            gained = energy - least - flagged
            text = f"the run of {name} has gained {gained:.3g} J until t = {t:.6g} s, and no event says so"
            yield gained / moving, text, {"time": t}
            least = min(least, energy)


def _stored(system: Any, x: Array) -> float:
    return float(system.mechanism.energy(*_parts(system, x)))


def _twice(runs: Runs) -> Iterator[Finding]:
    scenario = SCENARIOS[1]
    first, second = runs.run(scenario), runs.again(scenario)
    same = first.final_x.shape == second.final_x.shape and np.array_equal(first.final_x, second.final_x)
    text = f"two runs of {scenario.name} differ; let the law depend on nothing but what it is given"
    yield 0.0 if same else np.inf, text, {}


def _restart(runs: Runs) -> Iterator[Finding]:
    """Start again in the middle of an arc of every mode; the end is to be the same."""
    for name, trajectory in runs.trajectories.items():
        system: Any = trajectory.system
        space, end = system.space(), trajectory.arcs[-1].t1
        size = max(1.0, float(np.abs(space.difference(trajectory.arcs[0].segments[0].base, trajectory.final_x)).max()))
        for arc in _longest(trajectory):
            t = 0.5 * (arc.t0 + arc.t1)
            x = arc(t)
            again = simulate(system, system.state(x), (t, end))
            off = float(np.abs(space.difference(trajectory.final_x, again.final_x)).max()) / size
            where = f"in the mode {arc.mode} at t = {t:.6g} s of the run of {name}"
            yield (
                off,
                f"a run started again {where} ends elsewhere, by {off:.3g}; let the state tell the mode",
                {"time": t},
            )


def _longest(trajectory: Trajectory) -> list[Any]:
    """The longest arc of each mode, for a few modes."""
    best: dict[str, Any] = {}
    for arc in trajectory.arcs:
        known = best.get(str(arc.mode))
        if arc.t1 - arc.t0 > (known.t1 - known.t0 if known else LEAST):
            best[str(arc.mode)] = arc
    return sorted(best.values(), key=lambda arc: arc.t0 - arc.t1)[:RESTARTS]


def _elsewhere(runs: Runs) -> Iterator[Finding]:
    for scenario in SCENARIOS[:2]:
        home, away = runs.run(scenario), runs.run(scenario, ELSEWHERE)
        carried = np.concatenate([ELSEWHERE.carried(home.final.q), home.final.v])
        off = float(np.abs(carried - away.final_x[: len(carried)]).max()) / max(1.0, float(np.abs(carried).max()))
        text = f"the run of {scenario.name} ends elsewhere, by {off:.3g}, in a world that is turned and moved"
        yield off, f"{text}; let friction not depend on the tangential axes", {}


def _derivative(runs: Runs) -> Iterator[Finding]:
    """The matrix of a run through its events against differences of whole runs of fourth order."""
    system, state = THROW.start(runs.law)
    trajectory = simulate(system, state, (0.0, THROW.short), tolerances=TIGHT)
    start = trajectory.arcs[0].segments[0].base
    space = system.space(None)
    assert space is not None
    matrix = linearize(trajectory, tolerances=TIGHT).matrix()
    end = trajectory.arcs[-1].t1

    def final(dx: Array) -> Array:
        moved = system.state(space.integrate(start, dx))
        return space.difference(trajectory.final_x, simulate(system, moved, (0.0, end), tolerances=TIGHT).final_x)

    return checks.differenced(f"the derivative of {THROW.name} through its events", matrix, final, DIRECTIONS, STEP)


CHECKS: Mapping[str, tuple[Callable[[Runs], Iterator[Finding]], float]] = {
    "runs": (_ended, 0.0),
    "forces along runs": (_forces, FORCE),
    "guards agree with modes": (_guards, GUARD),
    "runs never gain energy": (_energy, ENERGY),
    "same run twice": (_twice, 0.0),
    "restart in any mode": (_restart, RESTART),
    "turned and moved world": (_elsewhere, WORLD),
    "derivative of runs": (_derivative, DERIVATIVE),
}


def named(law: ContactLaw) -> dict[str, Callable[[], Outcome]]:
    """{property: what tries it} of a law, with each of its runs made once; the first violation in time is reported."""
    return checks.named(CHECKS, Runs(law), "run", {NonDifferentiableError: "there is none: {}"})


def on_robot(robot: str, law: ContactLaw) -> Outcome:
    """A robot goes on for two seconds under the law, within its own laws.

    It does what its demonstration does; one that has none is dropped with its motors holding its pose.
    """
    name = f"runs on {robot}"
    given: dict[str, Any] = {"robot": {"name": robot}}
    entry = robot_entry(robot)
    if entry is not None and entry.demo is None and load_robot(robot).actuated.any():
        given["controller"] = {"kind": "pd"}
    built = scene.build(scene.assemble(given))
    demo, t0 = built.system, built.span[0]
    system = ContactSystem(
        demo.robot, demo.terrain, law, demo.controller, demo.gravity, demo.joint_limits, tolerances=demo.tolerances
    )

    def look() -> Iterator[Finding]:
        return checks.whole(simulate(system, built.state, (t0, t0 + ROBOT_TIME), **built.options))

    unasked = {InputError: "its demonstration does not suit the law: {}"}
    return checks.outcome(name, look, 0.0, "run", unasked)
