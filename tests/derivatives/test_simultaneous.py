"""Derivatives through events at one instant: words, pieces and directions, by closed forms and differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import builders
import numpy as np
import pytest
from planar_biped import Biped
from touchdowns import FINE, FLIGHT, TouchDown, biped, box, flown, on_ground, one_sided, tripod, trot

import contactsim as cs
from contactsim.common import registry

Array = np.ndarray
VARIATION = cs.Tolerances(rtol=1e-10, atol=1e-12)
EXACT = 1e-9  # relative, closed forms against matrices at the event: the state there is known to some 1e-11
DIGITS = 1e-9  # the figures of reference_cases.md, which are exact, through 0.4 s of flight
DIFFERENCE = 1e-5  # relative, against extrapolated one-sided differences of the simulation: 1e-7 is found
SEAM = 1e-4  # size of a step across the boundary of two cones; B is continuous with a Lipschitz constant below 1e2
AT_ONCE = 1e-12  # s, Tolerances.event_time
ALMOST = 1e-8  # figures where corners land 2e-11 m apart: an offset that the flow answers with a factor of some 10
SINGLE = 1e-4  # relative, what one matrix for all directions is off at least: the trot's better one, 6e-4
NEIGHBOUR = 1e-3  # m/s, speeds just behind the event: 1e-5 s under gravity, and a perturbation of 1e-6
EDGE = 1e-4  # of positions and speeds for each rad: differences of a start that is itself differenced
STEP = 4e-5  # first step of the differences: stays clear of the next event, error of the simulation 1e-11 / STEP


def directions(n: int, count: int = 4, seed: int = 0) -> Array:
    dx = np.random.default_rng(seed).normal(size=(count, n))
    return dx / np.linalg.norm(dx, axis=1)[:, None]


def relative(value: Array, expected: Array) -> float:
    return float(np.abs(value - expected).max() / max(1.0, np.abs(expected).max()))


def agree_with_differences(case: TouchDown, lin: cs.Linearization, dx: Array) -> float:
    """Largest relative difference between lin(dx) and one-sided differences of the simulation."""
    final = lin.trajectory.final_x
    return max(
        relative(lin_dx, one_sided(case, final, direction, STEP)) for lin_dx, direction in zip(lin(dx), dx, strict=True)
    )


# --- the planar biped under penalty laws ------------------------------------------------------------------------------
def fields(body: Biped, q: Array, v: Array, alone: float, together: float) -> Callable[[Array], Array]:
    """b (2,) -> (v, a) of the biped where its right and left foot do (+1) or do not touch; springs are at rest."""

    def field(b: Array) -> Array:
        touching = [foot for foot, sign in zip(("right", "left"), b, strict=True) if sign > 0]
        damping = together if len(touching) == 2 else alone
        force = np.array([0.0, body.m * body.g, 0.0])
        for foot in touching:
            force -= damping * (body.normal(foot, q) @ v) * body.normal(foot, q)
        return np.concatenate([v, force / body.masses])

    return field


@pytest.mark.parametrize(
    ("law", "alone", "together"), [("conservative", 0, 0), ("dissipative", 20, 20), ("switched-damping", 10, 20)]
)
def test_biped_pieces_are_the_closed_forms(law: str, alone: float, together: float) -> None:
    case, body, q, v = biped(law)
    lin = cs.linearize(case.run(), tolerances=VARIATION)
    (event,) = lin.events
    pieces = event.pieces()
    assert set(pieces) == {("left", "right"), ("right", "left")}
    for word, matrix in pieces.items():
        assert relative(matrix, body.in_order(q, v, *word, alone, together)) < EXACT
    normals = np.array([np.concatenate([-body.normal(foot, q), np.zeros(3)]) for foot in ("right", "left")])
    dx = directions(6, 50)
    assert relative(event.apply(dx), cs.bouligand(dx, normals, fields(body, q, v, alone, together))) < EXACT
    assert agree_with_differences(case, lin, directions(6)) < DIFFERENCE
    if law != "switched-damping":
        assert event.differentiable
        assert relative(event.saltation, next(iter(pieces.values()))) < EXACT
        assert relative(lin(dx), dx @ lin.matrix().T) < EXACT


def test_biped_with_switched_damping_is_only_piecewise_differentiable() -> None:
    case, body, *_ = biped("switched-damping")
    lin = cs.linearize(case.run())
    left_first, right_first = (lin.events[0].pieces()[word] for word in (("left", "right"), ("right", "left")))
    expected = np.zeros((6, 6))  # eq. (19), beta being the damping of two feet; a foot alone has half of it
    expected[4, :3] = -4 * np.cos(body.psi), 0.0, -2 * (np.sin(2 * body.psi) + np.cos(body.psi))
    assert relative(left_first - right_first, 20.0 * expected / body.m) < EXACT
    with pytest.raises(cs.NonDifferentiableError, match=r"right, left change together.*2 linear pieces; take a dir"):
        lin.matrix()


# --- the box that drops flat ------------------------------------------------------------------------------------------
def test_box_with_orthogonal_corners_has_two_pieces() -> None:
    case = box(0.25, 0.5)
    lin = cs.linearize(case.run())
    kept = np.ix_([1, 2, 4, 5], [1, 2, 4, 5])
    for word, sign in ((("corner 0", "corner 1"), -1.0), (("corner 1", "corner 0"), 1.0)):
        expected = np.diag([-0.5, -0.5, -0.5, -0.5])
        expected[2, :2], expected[3, 1] = (4.905, 0.3375 * sign), 2.88
        assert np.abs(lin.events[0].pieces()[word][kept] - expected).max() < DIGITS
    for turn in (1.0, -1.0):
        after = lin(np.array([0, 0, turn, 0, 0, 0]))[[1, 2, 4, 5]]
        assert np.abs(after - [0.10125, 0.364 * turn, 0.3375, 2.88 * turn]).max() < DIGITS
    assert agree_with_differences(case, lin, directions(6)) < DIFFERENCE


def test_box_whose_corners_answer_each_other_is_refused_with_the_outcomes() -> None:
    lin = cs.linearize(box(1 / 12, 0.5).run())
    with pytest.raises(cs.NonDifferentiableError) as found:
        lin(np.array([0, 0, 1.0, 0, 0, 0]))
    assert str(found.value) == (
        "corner 0, corner 1 change together at t = 0.1 s, and runs close by end in different states or modes, 0.492"
        " away from this one, depending on which changes first, so that there is no derivative; move the start until"
        " they change one after the other, which lin.radius measures, or compare the outcomes in the exception's"
        " problem['words'] and problem['run']"
    )
    outcomes = found.value.problem["words"]
    for word, spin in (
        (("corner 0", "corner 1", "corner 0"), 0.421875),
        (("corner 1", "corner 0", "corner 1"), -0.421875),
    ):
        assert np.abs(outcomes[word].state.v - [0.0, 1.0078125, spin]).max() < DIGITS
    assert np.abs(found.value.problem["run"].state.v - [0.0, 1.5, 0.0]).max() < DIGITS
    assert not lin.events[0].differentiable
    with pytest.raises(cs.NonDifferentiableError, match="different states"):
        lin.matrix()


def test_box_that_stays_down_forgets_height_and_tilt() -> None:
    lin = cs.linearize(box(1 / 12, 0.0).run())
    slides = np.zeros((6, 6))
    slides[0, [0, 3]], slides[3, 3] = (1.0, 0.4), 1.0
    assert lin.events[0].differentiable
    assert np.abs(lin.matrix() - slides).max() < DIGITS
    assert np.abs(lin(directions(6)) - directions(6) @ slides.T).max() < DIGITS


def test_impacts_that_answer_each_other_without_end_are_refused() -> None:
    lin = cs.linearize(box(1 / 400, 0.5).run())
    with pytest.raises(cs.NonDifferentiableError, match=r"words of more than 24 guards; take directions"):
        lin.events[0].pieces()
    with pytest.raises(cs.NonDifferentiableError, match=r"change together .*, and again and again, more than 24"):
        lin(np.array([0, 0, 1.0, 0, 0, 0]))


def raised(height: float) -> cs.ContactSystem:
    """The box with orthogonal corners above a ground that lies deeper on one side."""
    M, weight = np.diag([1.0, 1.0, 0.25]), np.array([0.0, -builders.G, 0.0])
    first, second = (builders.planar_gap(px, -0.2, 0.0, 0.5, f"corner {k}") for k, px in enumerate((-0.5, 0.5)))
    second = replace(second, gap=lambda t, q, g=second.gap: g(t, q) + height)
    return cs.ContactSystem(cs.Mechanism(n=3, mass=lambda q: M, force=lambda t, q, v: weight, contacts=[first, second]))


@pytest.mark.parametrize(("height", "events", "words"), [(4e-12, 1, 2), (2e-11, 2, 1)])
def test_corners_that_land_almost_at_once(height: float, events: int, words: int) -> None:
    """Within the tolerance of a gap they take part in one event; beyond it each is met in an event of its own."""
    case = replace(box(0.25, 0.5), system=raised(height))
    lin = cs.linearize(case.run())
    assert [len(event.pieces()) for event in lin.events] == [words] * events
    after = lin(np.array([0, 0, -1.0, 0, 0, 0]))  # with the corner first that is also the first of the run
    assert np.abs(after[[1, 2, 4, 5]] - [0.10125, -0.364, 0.3375, -2.88]).max() < ALMOST


def test_dependent_corners_are_met_in_the_orders_that_directions_take() -> None:
    """The gaps of a box's four corners depend on each other: not all 24 orders occur."""
    law = registry.load("contact_laws", "switched-damping")(stiffness=1e3, damping=5.0)
    system = cs.ContactSystem(builders.box(), law=law)
    q, v = np.array(system.robot.nominal), np.zeros(6)
    q[2], v[2] = 0.1, -1.0
    event = cs.linearize(flown(system, q, v).run()).events[0]
    pieces, dx = event.pieces(), directions(12, 1000)
    taken = np.array([(dx @ cone.T <= 0.0).all(axis=1) for cone in event.cones().values()])
    assert (taken.sum(axis=0) == 1).all()
    assert taken.any(axis=1).all()
    assert len(pieces) < 24
    for matrix, rows in zip(pieces.values(), taken, strict=True):
        assert relative(event.apply(dx)[rows], dx[rows] @ matrix.T) < EXACT


def test_six_feet_have_720_pieces() -> None:
    law = registry.load("contact_laws", "switched-damping")()
    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot, law=law, joint_limits=False)
    v = np.zeros(robot.nv)
    v[2] = -1.0
    event = cs.linearize(flown(system, on_ground(system, np.array(robot.nominal), np.zeros(6)), v).run()).events[0]
    assert len(event.contacts) == 6
    assert len(event.data.ways.ends()) == 1
    dx = directions(48, 100)
    image = event.apply(dx)
    pieces, cones = event.pieces(), event.cones()
    assert len(pieces) == 720
    for word in list(pieces)[::60]:
        rows = (dx @ cones[word].T <= 0.0).all(axis=1)
        assert not rows.any() or relative(image[rows], dx[rows] @ pieces[word].T) < EXACT


def test_box_in_space_ends_as_the_words_say() -> None:
    """Corners of a box that lands almost flat knock each other up again: neighbours end where the words end."""
    system = cs.ContactSystem(builders.box(friction=2.0))
    q, v = np.array(system.robot.nominal), np.zeros(6)
    q[2], v[2] = 0.1, -1.0
    case = flown(system, q, v)
    event = cs.linearize(case.run()).events[0]
    assert len(event.contacts) == 4
    with pytest.raises(cs.NonDifferentiableError, match="different states") as found:
        event.apply(np.eye(12)[3])
    outcomes = [outcome.state.v for outcome in found.value.problem["words"].values()]
    for dx in directions(12, 6):
        start = system.space().integrate(system.pack(case.start), 1e-6 * dx)
        near = cs.simulate(system, system.state(start), (0.0, FLIGHT + 1e-5), tolerances=FINE).final.v
        assert min(np.abs(near - v).max() for v in outcomes) < NEIGHBOUR


def test_grounds_that_move_apart_are_met_one_after_the_other() -> None:
    """Two stops for one mass, of which one comes up to meet it: the gaps have one normal, but not one rate."""
    meeting = 0.3
    gaps = [
        cs.Gap(
            gap=lambda t, q, u=u: q[0] - u * (t - meeting),
            normal=lambda t, q: np.array([1.0]),
            tangent=lambda t, q: np.zeros((0, 1)),
            friction=0.0,
            restitution=0.5,
            name=f"stop {u}",
        )
        for u in (0.0, 0.5)
    ]
    mass = cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: np.zeros(1), contacts=gaps)
    case = TouchDown(cs.ContactSystem(mass), cs.State(np.array([0.9]), np.array([-3.0])), meeting, 0.1)
    with pytest.raises(cs.NonDifferentiableError, match="different states") as found:
        cs.linearize(case.run())(np.array([1.0, 0.0]))
    speeds = {word: outcome.state.v[0] for word, outcome in found.value.problem["words"].items()}
    assert abs(speeds["stop 0.0",] - 1.5) < DIGITS
    assert abs(speeds["stop 0.5",] - 2.25) < DIGITS


def test_corners_of_a_held_edge_land_together() -> None:
    """A box tips over its rear edge: the corners in front have no other way than to land at one instant."""
    system = cs.ContactSystem(builders.box(friction=5.0))

    def start(tilt: float, rate: float) -> cs.State:
        quaternion = np.array([0.0, -np.sin(tilt / 2), 0.0, np.cos(tilt / 2)])
        c, s = np.cos(tilt), np.sin(tilt)
        q = np.array([0.2 * c - 0.1 * s, 0.0, 0.2 * s + 0.1 * c, *quaternion])
        turning = np.array(
            [0.1 * rate, 0.0, -0.2 * rate]
        )  # of the centre in body axes: -rate about y, arm (0.2, 0, 0.1)
        return cs.State(q, np.array([-turning[0], 0.0, -turning[2], 0.0, -rate, 0.0]))

    case = TouchDown(system, start(0.05, -1.0), 0.0, 0.1)
    traj = case.run()
    event = cs.linearize(traj).events[-1]
    assert sorted(event.contacts)[:2] == ["front_left", "front_right"]
    assert len(event.data.groups) == 1
    assert event.differentiable
    space = system.space()
    dx = space.difference(system.pack(case.start), system.pack(start(0.05 + 1e-6, -1.0))) / 1e-6
    assert np.abs(cs.linearize(traj)(dx) - one_sided(case, traj.final_x, dx, STEP)).max() < EDGE


# --- robots: plastic, sticking feet -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("make", "feet"), [(tripod, ("lf", "lr", "rm")), (trot, ("FL_FOOT", "HR_FOOT"))])
def test_feet_of_a_robot_that_touch_down_together(make: Callable[[], TouchDown], feet: tuple[str, ...]) -> None:
    case = make()
    lin = cs.linearize(case.run(), tolerances=VARIATION)
    (event,) = lin.events
    n = lin.dim
    assert sorted(event.contacts) == sorted(feet)
    assert abs(event.time - FLIGHT) < AT_ONCE
    pieces = event.pieces()
    assert set(pieces) == set(permutations(feet))
    assert len(event.data.ways.ends(100)) == 1
    with pytest.raises(cs.NonDifferentiableError, match=rf"{len(pieces)} linear pieces; take a direction, lin\(dx\)"):
        lin.matrix()
    dx = directions(n, 8)
    image = lin(dx)
    assert agree_with_differences(case, lin, dx) < DIFFERENCE
    assert relative(lin(3.0 * dx), 3.0 * image) < EXACT  # positively homogeneous
    single = [error_of_one_piece(lin, word, dx, image) for word in pieces]
    print(f"{len(pieces)} pieces; error of one matrix for all directions: {min(single):.2g} to {max(single):.2g}")
    assert min(single) > SINGLE


def error_of_one_piece(lin: cs.Linearization, word: tuple[str, ...], dx: Array, image: Array) -> float:
    """Largest relative error over the directions where the product of one word stands for the event."""
    event = lin.events[0]
    before, after = lin.matrix(lin.t0, np.nextafter(event.time, lin.t0)), lin.matrix(event.time, lin.t1)
    matrix = after @ event.pieces()[word] @ before
    return float((np.abs(dx @ matrix.T - image).max(axis=1) / np.abs(image).max(axis=1)).max())


@pytest.mark.parametrize("make", [tripod, trot])
def test_the_map_is_continuous_and_each_piece_holds_on_its_cone(make: Callable[[], TouchDown]) -> None:
    event = cs.linearize(make().run()).events[0]
    pieces, cones = event.pieces(), event.cones()
    n = event.data.root.dim
    dx = directions(n, 300)
    image = event.apply(dx)
    taken = {word: (dx @ cone.T <= 0.0).all(axis=1) for word, cone in cones.items()}
    assert all(count == 1 for count in sum(rows.astype(int) for rows in taken.values()))
    for word, rows in taken.items():
        assert rows.any(), word
        assert relative(image[rows], dx[rows] @ pieces[word].T) < EXACT
    names = event.data.groups[:2]
    apart = np.subtract(*event.data.root.arrivals(names))  # zero where the first two feet land together
    seam = dx - np.outer(dx @ apart, apart) / (apart @ apart)
    step = SEAM * apart / np.linalg.norm(apart)
    assert np.abs(event.apply(seam + step) - event.apply(seam - step)).max() < 100.0 * SEAM


def test_slipping_feet_are_refused() -> None:
    lin = cs.linearize(trot(friction=0.02).run())
    with pytest.raises(cs.NonDifferentiableError, match="different states") as found:
        lin(directions(lin.dim)[0])
    assert set(found.value.problem["words"]) == {("FL_FOOT", "HR_FOOT"), ("HR_FOOT", "FL_FOOT")}
    assert lin.events[0].differentiable is False


# --- parameters, clocks, many guards ----------------------------------------------------------------------------------
@pytest.mark.parametrize("law", ["dissipative", "switched-damping"])
@pytest.mark.parametrize("name", ["law.stiffness", "law.damping"])
def test_parameters_through_a_simultaneous_event(law: str, name: str) -> None:
    case, *_ = biped(law)
    traj = case.run()
    value = case.system.parameter(name)
    runs = [
        case.run(case.system.with_parameter(name, value * (1 + s * 1e-4))).final_x - traj.final_x
        for s in (1, -1, 2, -2)
    ]
    expected = (8 * (runs[0] - runs[1]) - (runs[2] - runs[3])) / (12e-4 * value)
    found = cs.linearize(traj, tolerances=VARIATION).parameter(name)
    assert np.abs(found - expected).max() < DIFFERENCE * np.abs(expected).max()


class Tilted(cs.ContactSystem):
    """The box with orthogonal corners above a ground of variable tilt: a parameter that chooses who lands first."""

    def __init__(self, tilt: float = 0.0) -> None:
        M, weight = np.diag([1.0, 1.0, 0.25]), np.array([0.0, -builders.G, 0.0])
        gaps = []
        for px in (-0.5, 0.5):
            flat = builders.planar_gap(px, -0.2, 0.0, 0.5, f"corner {px}")
            gaps.append(replace(flat, gap=lambda t, q, p=px, g=flat.gap: g(t, q) - tilt * p))
        super().__init__(cs.Mechanism(n=3, mass=lambda q: M, force=lambda t, q, v: weight, contacts=gaps))
        self.tilt = tilt

    def parameter(self, name: str) -> float:
        return self.tilt

    def with_parameter(self, name: str, value: float) -> Tilted:
        return Tilted(value)


def test_a_parameter_chooses_the_order() -> None:
    case = replace(box(0.25, 0.5), system=Tilted())
    lin = cs.linearize(case.run())
    found = lin.parameter("tilt")
    backwards = np.append(np.zeros(6), -1.0)[None]
    other = cs.Linearization(lin.trajectory, ("tilt",)).apply(backwards)[0, :-1]
    assert abs(found[4]) > 0.1
    assert abs(found[4] - other[4]) < DIGITS  # y' answers to |tilt|
    for sign, expected in ((1.0, found), (-1.0, other)):
        d = [(case.run(Tilted(sign * h)).final_x - lin.trajectory.final_x) / h for h in (STEP, STEP / 2)]
        assert relative(expected, 2.0 * d[1] - d[0]) < DIFFERENCE


def test_a_clock_that_ticks_at_a_touch_down() -> None:
    """A sampled controller whose instant is that of the impact: neighbours land before or behind it."""
    robot = builders.point_mass()
    hold = cs.PD(robot, kp=5.0, kd=0.5, period=0.1)
    system, air = cs.ContactSystem(robot, controller=hold), cs.ContactSystem(robot.with_contacts([]), controller=hold)
    start = cs.State(np.array([0.0, 0.0, 0.05]), np.array([0.2, 0.0, -0.5]), np.array([0.1, -0.2, 0.3]))
    start.q[2] -= cs.simulate(air, start, (0.02, 0.1), tolerances=FINE).final.q[2]
    case = TouchDown(system, start, 0.08, 0.05, since=0.02)
    lin = cs.linearize(case.run(), tolerances=VARIATION)
    assert set(lin.events[0].pieces()) == {("clock", "point"), ("point", "clock")}
    assert agree_with_differences(case, lin, directions(9)) < DIFFERENCE


def test_twelve_guards_are_followed_by_direction_only() -> None:
    law = registry.load("contact_laws", "switched-damping")(stiffness=1e3, damping=5.0)
    points = np.linspace(-0.6, 0.5, 12)
    case = box(0.25, 0.0, tuple(points), law)
    lin = cs.linearize(case.run())
    event = next(event for event in lin.events if len(event.contacts) == 12)
    dx = directions(6, 40)
    normals = np.array([[0.0, -1.0, px, 0.0, 0.0, 0.0] for px in points])

    def field(b: Array) -> Array:
        touching = points[b > 0]
        c = 5.0 * (0.5 if len(touching) == 1 else 1.0)
        return np.array([0, -3.0, 0, 0, -builders.G + 3 * c * len(touching), -3 * c * touching.sum() / 0.25])

    assert relative(event.apply(dx), cs.bouligand(dx, normals, field)) < EXACT
    with pytest.raises(cs.NonDifferentiableError, match=r"more than 5040 orders.*take directions"):
        event.pieces()
