"""Contacts whose forces are not unique, and several contacts that slide in space: programs and closed forms."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import tolerances as tol
from builders import G, first_time, single_body
from contact_oracle import law_violation
from scipy.integrate import solve_ivp
from scipy.optimize import linprog, minimize

import contactsim as cs
from contactsim.contact import redundant_forces
from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem
from contactsim.contact.redundant_forces import (
    admissible,
    cone_margins,
    largest_margin,
    least_margin,
    smallest_admissible,
)
from contactsim.contact.solvers.pivot import GivenModes
from contactsim.contact.stick_slip_choice import solve

Array = np.ndarray
FACES = 48  # of the pyramids that stand for a round cone in a linear program
NOT_UNIQUE = "not unique"


# --- six legs: which forces are admissible, by linear programs -----------------------------------------------------
def table(seed: int, mu: float) -> ContactProblem:
    """Six legs of one body under a random wrench (6,) that presses it down."""
    rng = np.random.default_rng([31, seed])
    feet = [np.array([0.5 * np.cos(k), 0.4 * np.sin(k), -0.4]) for k in np.arange(6) * np.pi / 3]
    rows = np.vstack([np.hstack([np.eye(3), -pin.skew(foot)])[[2, 0, 1]] for foot in feet])
    inverse = np.diag(1 / np.array([3.0, 3.0, 3.0, 0.3, 0.35, 0.5]))
    wrench = np.array([0, 0, -30.0, 0, 0, 0]) + rng.normal(size=6) * [8.0, 8.0, 3.0, 3.0, 3.0, 2.0]
    coefficients = np.full(6, mu)
    return ContactProblem(
        rows @ inverse @ rows.T, rows @ inverse @ wrench, (3,) * 6, coefficients, coefficients, (None,) * 6
    )


def test_forces_of_one_table_do_not_hang_on_those_of_another() -> None:
    """Two tables that do not touch, in one problem; of the second the smallest forces are admissible as they are."""
    one, two = table(3, 0.12), table(0, 3.0)
    m, modes = len(one.free), (Mode.STICK,) * 6
    matrix = np.block([[one.delassus, np.zeros((m, m))], [np.zeros((m, m)), two.delassus]])
    friction = np.append(one.friction, two.friction)
    both = ContactProblem(matrix, np.append(one.free, two.free), (3,) * 12, friction, friction, (None,) * 12)
    smallest = [-np.linalg.pinv(problem.delassus) @ problem.free for problem in (one, two)]
    assert least_margin(one, modes, smallest[0]) < 0.0 < least_margin(two, modes, smallest[1])
    alone = admissible(one, modes, smallest[0], np.eye(m), list(range(m)))
    assert least_margin(one, modes, alone) > least_margin(one, modes, smallest[0])
    found = admissible(both, modes * 2, np.concatenate(smallest), np.eye(2 * m), list(range(2 * m)))
    np.testing.assert_allclose(least_margin(one, modes, found[:m]), least_margin(one, modes, alone), rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.delassus @ found[:m], one.delassus @ alone, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found[m:], smallest[1])


def largest_least_margin(problem: ContactProblem, widen: float) -> float:
    """Largest r for which forces at rest have lam_n >= r and mu lam_n - lam_t . d >= r for all directions d.

    With `widen` 1 the pyramid of directions holds the round cone, so the value is an upper bound; with
    1 / cos(pi / FACES) it lies within the round cone, and the value is a lower one. -inf: no forces at all.
    """
    m = len(problem.free)
    angles = 2.0 * np.pi * np.arange(FACES) / FACES
    lines = []
    for i, mu in enumerate(problem.friction):
        n, t = problem.normal(i), problem.tangent(i)
        line = np.zeros(m + 1)
        line[n], line[-1] = -1.0, 1.0
        lines.append(line)
        for angle in angles:
            line = np.zeros(m + 1)
            line[n], line[t], line[-1] = -mu, widen * np.array([np.cos(angle), np.sin(angle)]), 1.0
            lines.append(line)
    found = linprog(
        np.append(np.zeros(m), -1.0),
        A_ub=np.array(lines),
        b_ub=np.zeros(len(lines)),
        A_eq=np.hstack([problem.delassus, np.zeros((m, 1))]),
        b_eq=-problem.free,
        bounds=[(None, None)] * (m + 1),
    )
    return -found.fun if found.success else -np.inf


@pytest.mark.parametrize("mu", [0.2, 0.35, 0.6])
@pytest.mark.parametrize("seed", range(12))
def test_six_legs_stand_wherever_forces_exist_that_hold_them(seed: int, mu: float) -> None:
    problem = table(seed, mu)
    inner, outer = (largest_least_margin(problem, widen) for widen in (1.0 / np.cos(np.pi / FACES), 1.0))
    solution = solve(problem)
    stands = all(mode is Mode.STICK for mode in solution.modes)
    if inner > 1e-6:
        assert stands
        np.testing.assert_allclose(solution.motion, 0.0, atol=tol.PROBLEM_MOTION * np.abs(problem.free).max())
        assert not solution.unique
        assert min(cone_margins(problem, solution.modes, solution.forces)) >= -1e-7
    elif outer < -1e-6:
        assert not stands


@pytest.mark.parametrize("seed", range(12))
def test_forces_outside_their_cones_give_way_to_those_of_the_largest_margin(seed: int) -> None:
    """Where the smallest forces are not admissible, the margin found lies between two linear programs."""
    for mu in np.linspace(0.15, 0.5, 8):
        problem = table(seed, mu)
        smallest = np.linalg.lstsq(problem.delassus, -problem.free, rcond=1e-10)[0]
        solution = solve(problem)
        if not all(mode is Mode.STICK for mode in solution.modes):
            continue
        margin = min(cone_margins(problem, solution.modes, solution.forces))
        if min(cone_margins(problem, solution.modes, smallest)) >= 0.0:
            np.testing.assert_allclose(solution.forces, smallest, rtol=0, atol=1e-8 * np.abs(smallest).max())
            continue
        inner, outer = (largest_least_margin(problem, widen) for widen in (1.0 / np.cos(np.pi / FACES), 1.0))
        assert inner - 1e-6 <= margin <= outer + 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_the_largest_margin_along_a_line_is_that_of_the_cone_program(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([5, seed])
    problem, bounded = table(seed, 0.4), 0
    for _ in range(20):
        modes = tuple(Mode.STICK if stick else Mode.SLIP for stick in rng.random(6) < 0.5)
        forces, null = rng.normal(size=18), rng.normal(size=(18, 1))
        along = largest_margin(problem, modes, forces, null)
        with monkeypatch.context() as patch:
            patch.setattr(redundant_forces, "_highest", lambda margins: None)
            expected = largest_margin(problem, modes, forces, null)
        margins = [least_margin(problem, modes, found) for found in (along, expected)]
        assert margins[0] == pytest.approx(margins[1], abs=1e-8)
        bounded += redundant_forces._highest(redundant_forces._along(problem, modes, forces, null[:, 0])) is not None
    assert bounded > 10


def test_forces_of_a_slip_leave_the_smallest_ones_without_a_jump() -> None:
    """Six legs turn as they slide, under a growing moment that would pull one of them: its force stays at zero."""
    rows = table(0, 0.3)
    centre = np.array([0.3, -0.2])  # of the turn
    feet = np.array([[0.5 * np.cos(k), 0.4 * np.sin(k)] for k in np.arange(6) * np.pi / 3]) - centre
    slips = tuple(np.array([-y, x]) / np.hypot(x, y) for x, y in feet)
    modes, found, smallest, widest = (Mode.SLIP,) * 6, [], [], []
    jacobian = np.vstack(
        [np.hstack([np.eye(3), -pin.skew(np.array([*(foot + centre), -0.4]))])[[2, 0, 1]] for foot in feet]
    )
    inverse = np.diag(1 / np.array([3.0, 3.0, 3.0, 0.3, 0.35, 0.5]))
    for moment in np.linspace(0.0, 8.0, 401):
        free = jacobian @ inverse @ np.array([0.0, 0.0, -30.0, moment, 0.7 * moment, 0.0])
        given = GivenModes(replace(rows, free=free, sliding=slips), modes)
        found.append(given.solve(held=True)[0])
        smallest.append(given.forces(slips).forces)
        widest.append(given.widest(found[-1], slips))
        assert np.abs(given._held @ found[-1] + free[given._pattern[1]]).max() < 1e-9
    margins = np.array([[least_margin(rows, modes, f) for f in forces] for forces in (smallest, found)])
    held = np.array(widest) > 1e-6
    left = held & (margins[0] < -1e-3)
    assert left.any() and (margins[0] > 1e-3).any()
    assert margins[1, held].min() > -1e-9
    changes = np.abs(np.diff(found, axis=0)).max(axis=1)[held[1:] & held[:-1]]
    assert changes.max() < 0.2  # N, of 30 N in steps of 0.02 N m; the largest margin is 1 N and more away


# --- a stack of boxes ----------------------------------------------------------------------------------------------
def stack(mu: float, push: float) -> cs.Mechanism:
    """Two boxes in the plane, (x, y, theta) each, one on the other; a growing force `push` t pulls the upper one."""
    half, mass = np.array([0.2, 0.1]), np.array([2.0, 1.0])
    moment = mass * (4 * half @ half) / 12

    def corner(q: Array, box: int, sign: float, side: float) -> Array:
        x, y, turn = q[3 * box : 3 * box + 3]
        c, s = np.cos(turn), np.sin(turn)
        return np.array([x + sign * half[0] * c - side * half[1] * s, y + sign * half[0] * s + side * half[1] * c])

    def in_lower(q: Array, sign: float) -> Array:
        """A lower corner of the upper box in the frame of the lower box."""
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([[c, s], [-s, c]]) @ (corner(q, 1, sign, -1.0) - q[:2])

    def slope(function, q: Array, h: float = 1e-5) -> Array:  # type: ignore[no-untyped-def]
        steps = h * np.eye(6)
        return np.array([(function(q + s) - function(q - s)) / (2 * h) for s in steps])

    def gaps() -> list[cs.Gap]:
        found = []
        for sign, name in ((-1.0, "left"), (1.0, "right")):
            found.append(
                cs.Gap(
                    gap=lambda t, q, k=sign: corner(q, 0, k, -1.0)[1],
                    normal=lambda t, q, k=sign: slope(lambda p: corner(p, 0, k, -1.0)[1], q),
                    tangent=lambda t, q, k=sign: slope(lambda p: corner(p, 0, k, -1.0)[0], q),
                    friction=2.0 * mu,
                    name=f"ground_{name}",
                )
            )
            found.append(
                cs.Gap(
                    gap=lambda t, q, k=sign: in_lower(q, k)[1] - half[1],
                    normal=lambda t, q, k=sign: slope(lambda p: in_lower(p, k)[1], q),
                    tangent=lambda t, q, k=sign: slope(lambda p: in_lower(p, k)[0], q),
                    friction=mu,
                    name=f"between_{name}",
                )
            )
        return found

    M = np.diag([mass[0], mass[0], moment[0], mass[1], mass[1], moment[1]])
    weight = np.array([0, -mass[0] * G, 0, 0, -mass[1] * G, 0])

    def force(t: float, q: Array, v: Array) -> Array:
        return weight + push * t * np.array([0, 0, 0, 1.0, 0, 0])

    return cs.Mechanism(6, lambda q: M, force, gaps())


def test_stack_of_boxes_stands_and_says_that_its_forces_are_not_unique() -> None:
    system = cs.ContactSystem(stack(0.4, 0.0))
    start = cs.State([0, 0.1, 0, 0, 0.3, 0], np.zeros(6))
    traj = cs.simulate(system, start, (0.0, 2.0))
    assert not traj.events
    np.testing.assert_allclose(traj.final.q, start.q, rtol=0, atol=tol.CREEP)
    assert any(NOT_UNIQUE in note for note in traj.notes)
    forces = traj.forces(1.0)
    assert sum(forces[name][0] for name in ("ground_left", "ground_right")) == pytest.approx(3.0 * G, abs=1e-6)
    assert sum(forces[name][0] for name in ("between_left", "between_right")) == pytest.approx(G, abs=1e-6)


def test_upper_box_slides_when_the_push_reaches_the_friction_below_it() -> None:
    mu, push = 0.4, 20.0
    traj = cs.simulate(cs.ContactSystem(stack(mu, push)), cs.State([0, 0.1, 0, 0, 0.3, 0], np.zeros(6)), (0.0, 0.25))
    slides = mu * G / push
    assert first_time(traj, "between_left", Mode.SLIP) == pytest.approx(slides, abs=3e-8)
    later = 0.25 - slides
    np.testing.assert_allclose(traj.final.q[3], push * later**3 / 6, rtol=0, atol=1e-7)
    np.testing.assert_allclose(traj.final.q[:3], [0, 0.1, 0], rtol=0, atol=tol.CREEP)


# --- several contacts that slide in space --------------------------------------------------------------------------
def cornered(mu: float, press: float, along: float, static: float | None = None) -> cs.Mechanism:
    """A brick in the corner of a floor (z) and a wall (y), pressed against it, with a force `along` x."""
    planes = {"floor": np.eye(3)[[2, 0, 1]], "wall": np.eye(3)[[1, 0, 2]]}
    gaps = [
        cs.Gap(
            gap=lambda t, q, n=axes[0]: float(n @ q),
            normal=lambda t, q, n=axes[0]: n,
            tangent=lambda t, q, w=axes[1:]: w,
            friction=mu,
            static_friction=static,
            name=name,
        )
        for name, axes in planes.items()
    ]
    load = np.array([along, -press, -G])
    return cs.Mechanism(3, lambda q: np.eye(3), lambda t, q, v: load, gaps)


def test_brick_between_floor_and_wall_slides_to_rest() -> None:
    """Friction of both planes: x'' = -mu (g + press) + along."""
    mu, press, along, speed = 0.3, 5.0, 1.0, 2.0
    traj = cs.simulate(cs.ContactSystem(cornered(mu, press, along)), cs.State(np.zeros(3), [speed, 0, 0]), (0.0, 1.0))
    slowing = mu * (G + press) - along
    for name in ("floor", "wall"):
        assert first_time(traj, name, Mode.STICK) == pytest.approx(speed / slowing, abs=tol.STOP_TIME)
    np.testing.assert_allclose(traj.final.q, [speed**2 / (2 * slowing), 0, 0], rtol=0, atol=tol.STOP_PLACE)
    assert any(NOT_UNIQUE in note for note in traj.notes)


@pytest.mark.parametrize(("share", "rests"), [(0.99, True), (1.01, False)])
def test_brick_between_floor_and_wall_holds_up_to_static_friction(share: float, rests: bool) -> None:
    """While it rests, friction may pull it into the corner, and so raise what the two planes can hold together."""
    mu, static, press = 0.3, 0.4, 5.0

    def held(inward: Array) -> float:
        floor, wall = G + inward[1], press + inward[0]
        return sum(np.sqrt((static * n) ** 2 - f**2) for n, f in ((floor, inward[0]), (wall, inward[1])))

    most = minimize(lambda inward: -held(inward), [0.1, 0.1], bounds=[(0, 1.9)] * 2, tol=1e-12)
    along = -share * float(most.fun)
    traj = cs.simulate(
        cs.ContactSystem(cornered(mu, press, along, static)), cs.State(np.zeros(3), np.zeros(3)), (0.0, 0.5)
    )
    place = 0.0 if rests else 0.5 * (along - mu * (G + press)) * 0.25
    np.testing.assert_allclose(traj.final.q, [place, 0, 0], rtol=0, atol=tol.STOP_PLACE)


def test_spinning_and_sliding_disk_on_three_points() -> None:
    """Centre of mass in the plane of the points, so each carries m g / 3; against Radau. All stop at once."""
    mass, radius, moment, mu = 2.0, 0.3, 0.05, 0.25
    spots = [radius * np.array([np.cos(a), np.sin(a)]) for a in 2.0 * np.pi * np.arange(3) / 3]
    model = single_body(pin.JointModelFreeFlyer(), mass, (0.02, 0.03, moment), "disk")
    points = [cs.ContactPoint("disk", (*spot, 0.0), friction=mu, name=f"p{k}") for k, spot in enumerate(spots)]
    system = cs.ContactSystem(cs.Robot(model, contacts=points))

    def rate(t: float, y: Array) -> Array:
        turn = np.array([[np.cos(y[2]), -np.sin(y[2])], [np.sin(y[2]), np.cos(y[2])]])
        total = np.zeros(3)
        for spot in spots:
            arm = turn @ spot
            slip = y[3:5] + y[5] * np.array([-arm[1], arm[0]])
            pull = -mu * mass * G / 3 * slip / np.linalg.norm(slip)
            total += [pull[0] / mass, pull[1] / mass, (arm[0] * pull[1] - arm[1] * pull[0]) / moment]
        return np.concatenate([y[3:], total])

    end = 0.2
    y = solve_ivp(rate, (0, end), [0, 0, 0, 0.6, 0.3, 5.0], method="Radau", rtol=1e-11, atol=1e-13).y[:, -1]
    start = cs.State([0, 0, 0, 0, 0, 0, 1], [0.6, 0.3, 0, 0, 0, 5.0])
    traj = cs.simulate(system, start, (0.0, end))
    turn = pin.Quaternion(traj.final.q[3:7]).toRotationMatrix()
    np.testing.assert_allclose(traj.final.q[:2], y[:2], rtol=0, atol=tol.SLOPE_PATH)
    np.testing.assert_allclose((turn @ traj.final.v[:3])[:2], y[3:5], rtol=0, atol=10 * tol.SLOPE_PATH)
    assert traj.final.v[5] == pytest.approx(y[5], abs=100 * tol.SLOPE_PATH)
    rest = cs.simulate(system, start, (0.0, 1.0))
    stops = [first_time(rest, f"p{k}", Mode.STICK) for k in range(3)]
    assert np.ptp(stops) < 1e-6
    np.testing.assert_allclose(rest.final.v, 0.0, atol=tol.SETTLE)


# --- redundant slip: which forces act decides on the motion ---------------------------------------------------------
def test_slip_directions_agree_with_the_motion_under_the_forces_of_largest_margin() -> None:
    """A humanoid's sole slides on four points while its other foot begins to slip: plain turns to the motion and back
    shrink by a fifth each time, and end as a search without a result."""
    data = json.loads((Path(__file__).parents[1] / "data" / "redundant_slip.json").read_text())
    problem = ContactProblem(
        np.array(data["delassus"]),
        np.array(data["free"]),
        tuple(data["dims"]),
        np.array(data["friction"]),
        np.array(data["static_friction"]),
        tuple(None if slip is None else np.array(slip) for slip in data["sliding"]),
        guess=tuple(Mode(value) for value in data["guess"]),
    )
    solution = solve(problem)
    assert not solution.unique
    assert all(mode is Mode.SLIP for mode in solution.modes[:6])
    assert law_violation(problem, solution.forces) < tol.PROBLEM_LAW


def plate(tilt: float) -> ContactProblem:
    """A plate that turns and slides on its four corners, pressed down ever farther from its middle."""
    corners = [np.array([x, y, -0.05]) for x in (0.2, -0.2) for y in (0.1, -0.1)]
    rows = np.vstack([np.hstack([np.eye(3), -pin.skew(corner)])[[2, 0, 1]] for corner in corners])
    inverse = np.diag(1 / np.array([3.0, 3.0, 3.0, 0.03, 0.06, 0.08]))
    slips = rows @ np.array([0.3, 0.1, 0.0, 0.0, 0.0, 2.0])
    directions = [slips[3 * k + 1 : 3 * k + 3] / np.linalg.norm(slips[3 * k + 1 : 3 * k + 3]) for k in range(4)]
    mu = np.full(4, 0.4)
    free = rows @ inverse @ np.array([0.0, 0.0, -30.0, -tilt, 1.5 * tilt, 0.0])
    return ContactProblem(rows @ inverse @ rows.T, free, (3,) * 4, mu, mu, tuple(directions))


def test_forces_of_a_plate_that_turns_change_without_a_leap() -> None:
    """The smallest forces end at zero in one corner; from there on the smallest admissible ones are others."""
    modes, forces, ended = (Mode.SLIP,) * 4, [], None
    tilts = np.linspace(0.0, 2.2, 441)
    for tilt in tilts:
        problem = plate(tilt)
        given = GivenModes(problem, modes)
        smallest = given.forces(problem.sliding)
        found, _, unique = given.solve(held=True)
        assert not unique
        np.testing.assert_allclose((problem.delassus @ found + problem.free)[::3], 0.0, atol=1e-10)
        assert least_margin(problem, modes, found) >= -1e-12
        if least_margin(problem, modes, smallest.forces) < 0.0:
            ended = ended or tilt
            rows = problem.delassus[::3] @ given.basis(problem.sliding)[0]
            best = minimize(
                lambda u: 0.5 * u @ u,
                found[::3],
                jac=lambda u: u,
                bounds=[(0, None)] * 4,
                constraints={
                    "type": "eq",
                    "fun": lambda u, p=problem, r=rows: r @ u + p.free[::3],
                    "jac": lambda u, r=rows: r,
                },
                method="SLSQP",
                options={"ftol": 1e-14},
            )
            assert np.linalg.norm(found[::3]) <= np.linalg.norm(best.x) * (1.0 + 1e-9)
        forces.append(found[::3])
    assert ended is not None and ended < 1.8
    assert np.abs(np.diff(forces, axis=0)).max() < 20.0 * (tilts[1] - tilts[0])
    assert np.ptp(forces, axis=0).max() > 5.0


@pytest.mark.parametrize("seed", range(8))
def test_the_smallest_admissible_forces_of_legs_that_stick_and_slip(seed: int) -> None:
    """Against an interior-point method of moderate accuracy."""
    problem = table(seed, 0.5)
    rng = np.random.default_rng([7, seed])
    angles = rng.uniform(0.0, 2.0 * np.pi, 6)
    slides = np.arange(6) < 3
    directions = [np.array([np.cos(a), np.sin(a)]) if slide else None for a, slide in zip(angles, slides, strict=True)]
    modes = tuple(Mode.SLIP if slide else Mode.STICK for slide in slides)
    problem = replace(problem, sliding=tuple(directions))
    given = GivenModes(problem, modes)
    smallest = given.forces(directions).forces
    basis, rows = given.basis(directions)
    _, values, turned = np.linalg.svd(problem.delassus[rows] @ basis)
    null = basis @ turned[np.sum(values > 1e-10 * values[0]) :].T
    found = smallest_admissible(problem, modes, smallest, null)
    best = largest_margin(problem, modes, smallest, null)
    if least_margin(problem, modes, best) < -1e-6:
        assert found is None
        return
    assert found is not None
    assert least_margin(problem, modes, found) >= -1e-11
    for share in (0.001, 0.1, 0.5):  # none between it and others is smaller: |u| is convex, and so are the cones
        other = (1.0 - share) * found + share * best
        assert np.linalg.norm(found[rows]) <= np.linalg.norm(other[rows]) + 1e-9


def test_margins_that_mirror_each_other_but_for_rounding_have_a_highest_place() -> None:
    """Two contacts that press a body alike: which margin is the lower one where they meet is told by rounding."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        c, d = rng.normal(size=2), rng.normal(size=2)
        off = 1.0 + np.spacing(1.0) * rng.integers(-3, 4, size=6)
        a, b = float(rng.uniform(0.0, 2.0)), float(rng.normal(0.0, 0.3))
        mirrored = redundant_forces._Margin(a * off[0], -b * off[1], tuple(c * off[2:4]), tuple(-d * off[4:]))
        margins = [redundant_forces._Margin(a, b, tuple(c), tuple(d)), mirrored]
        highest = redundant_forces._highest(margins)
        bounded = all(np.hypot(*m.d) > abs(m.b) for m in margins)
        assert not bounded or highest is not None
        if highest is not None:
            places = highest + np.linspace(-1.0, 1.0, 21)
            least = [min(margin.at(y) for margin in margins) for y in places.tolist()]
            assert least[10] >= max(least) - 1e-12


def test_two_feet_at_one_place_that_are_both_at_the_edge_of_their_cones_begin_to_slip() -> None:
    """What shifts load from foot to foot goes along the edges of both cones: their margins are level on one side."""
    matrix = np.tile(np.eye(2), (2, 2))  # of a unit mass, its feet in a plane
    free = np.tile([-G, 0.4 * G], 2)
    friction, pulled = np.full(2, 0.4), (np.array([1.0]), np.array([1.0]))
    problem = ContactProblem(matrix, free, (2, 2), friction, friction, (None, None))
    found = solve(replace(problem, guess=(Mode.SLIP, Mode.SLIP), directions=pulled))
    assert Mode.SLIP in found.modes and np.abs(found.motion).max() < 1e-12
    run = cs.simulate(_on_two_feet(), cs.State([0, 0], [0, 0]), (0.0, 1.0))
    assert run.status is cs.Status.FINISHED, run.message
    assert run.events[0].time == pytest.approx(0.4 * G / 10.0, abs=1e-9)
    assert run.final.v[0] == pytest.approx(5.0 * (1.0 - 0.04 * G) ** 2, abs=1e-8)


def _on_two_feet() -> cs.ContactSystem:
    """A unit mass on two feet at one place, pulled by 10 t."""
    feet = [
        cs.Gap(
            gap=lambda t, q: q[1],
            normal=lambda t, q: np.array([0.0, 1.0]),
            tangent=lambda t, q: np.array([[1.0, 0.0]]),
            friction=0.4,
            name=name,
        )
        for name in "ab"
    ]
    return cs.ContactSystem(cs.Mechanism(2, lambda q: np.eye(2), lambda t, q, v: np.array([10.0 * t, -G]), feet))
