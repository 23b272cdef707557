"""Boxes and hulls that meet with their whole shape: edges against edges, vertices in faces, overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pinocchio as pin
import pytest
from builders import leaning_cards
from test_bodies import FINE, check_derivative, pose

import contactsim as cs
from contactsim.multibody.geometry import convex
from contactsim.multibody.geometry.closest_points.equations import Pose
from contactsim.multibody.geometry.hulls import Hull
from contactsim.multibody.geometry.polyhedra import polyhedron_of_box, polyhedron_of_hull
from contactsim.multibody.geometry.shapes import Block

Array = np.ndarray
STAYS = 1e-9  # m, drift of what rests
REST = 1e-8  # m, height at which what has fallen rests
DEPTH = 1e-12  # m, of an overlap against its closed form
OFF = cs.terrain.Flat(-10.0)  # m, a ground that nothing reaches
CUBE = tuple(product((-0.5, 0.5), repeat=3))


def on_fixed(
    below: Sequence[float], above: cs.Robot, friction: float = 0.5, top: float = 0.0, **coefficients: float
) -> cs.Robot:
    """A body above a fixed box, whose top is at a height."""
    base = cs.Robot.box(1.0, below, name="base", root="fixed", friction=friction, **coefficients)
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, top - 0.5 * below[2]]))
    return cs.Robot.merge([base, above], names=["base", "body"], placements=[place, None])


def dropped(world: cs.Robot, q: Array, end: float, v: Array | None = None) -> cs.Trajectory:
    state = world.pack({"body": (q, np.zeros(6) if v is None else v)})
    run = cs.simulate(cs.ContactSystem(world, OFF), cs.State(*state), (0.0, end), tolerances=FINE)
    assert run.status.complete, run.message
    run.check()
    return run


def tilt(q: Array) -> float:
    return float(np.linalg.norm(pin.log3(pin.Quaternion(q[3:7]).toRotationMatrix())))


# --- what edges hold ------------------------------------------------------------------------------------------------
def test_a_plank_laid_across_a_plank_rests_on_it() -> None:
    """It falls by h and rests: nothing but edges against edges is there. v = sqrt(2 g h) is taken in one impact."""
    world = on_fixed((1.0, 0.1, 0.1), cs.Robot.box(1.0, (0.1, 1.0, 0.1), friction=0.5))
    run = dropped(world, pose(0, 0, 0.07), 0.5)
    (event,) = run.events
    assert abs(event.time - np.sqrt(2 * 0.02 / 9.81)) <= STAYS
    assert len(event.impulses) == 4 and all("edge" in name for name in event.impulses)
    total = np.sum(list(event.impulses.values()), axis=0)
    assert np.allclose(np.abs(total), [0.0, 0.0, np.sqrt(2 * 9.81 * 0.02)], atol=1e-9)
    assert abs(run.final.q[2] - 0.05) <= REST and tilt(run.final.q) <= REST


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("shift", [(0.01, 0.0), (0.01, 0.02), (0.0, 0.0)])
def test_a_box_a_little_off_an_equal_one_stays(fixed: bool, shift: tuple[float, float]) -> None:
    size, names = (0.2, 0.2, 0.1), ["a", "b"]
    boxes = [cs.Robot.box(1.0, size, root="fixed" if fixed and k == 0 else "free_flyer", friction=0.5) for k in (0, 1)]
    place = pin.SE3(np.eye(3), np.array([0, 0, 0.05]))
    world = cs.Robot.merge(boxes, names=names, placements=[place if fixed else None, None])
    start = {"b": (pose(*shift, 0.15), np.zeros(6))}
    if not fixed:
        start["a"] = (pose(0, 0, 0.05), np.zeros(6))
    state = cs.State(*world.pack(start))
    run = cs.simulate(cs.ContactSystem(world), state, (0.0, 10.0))
    assert run.status.complete and not run.events
    run.check()
    assert np.abs(run.final.q - state.q).max() <= STAYS


def test_a_box_on_a_stair_nose_tips_about_it() -> None:
    """Its centre is beyond the nose by d: it begins to turn at m g d / (I + m (d^2 + h^2)), about the nose."""
    sides, beyond = np.array([0.3, 0.2, 0.15]), 0.03
    world = on_fixed((0.4, 2.0, 0.5), cs.Robot.box(1.0, sides, friction=5.0))
    q = pose(0.2 + beyond, 0, 0.075, None)
    q[3:7] = [0, 0, np.sin(np.pi / 8), np.cos(np.pi / 8)]  # by 45 degrees: edges across the nose
    run = dropped(world, q, 0.02)
    closed = [name for name, mode in run.mode_at(0.01).items() if mode is not cs.Mode.OPEN]
    assert closed and all("edge" in name for name in closed)
    moment = (sides @ sides - sides[2] ** 2) / 12.0  # about z; the nose turns about y, across the box
    across = 0.5 * ((sides[1] ** 2 + sides[2] ** 2) + (sides[0] ** 2 + sides[2] ** 2)) / 12.0
    assert moment > 0.0
    rate = run(0.01).v[3:]
    about_y = (pin.Quaternion(run(0.01).q[3:7]).toRotationMatrix() @ rate)[1]
    expected = 9.81 * beyond / (across + beyond**2 + 0.075**2) * 0.01
    assert abs(about_y / expected - 1.0) < 0.05  # the arm grows, and the box couples its axes
    assert abs(run.final.q[2] - 0.075) < 1e-3 and run.final.q[0] > 0.2 + beyond


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_derivative_through_edges(seed: int) -> None:
    """A box falls with an edge across the edge of another one, slips or sticks there, and leaves."""
    rng = np.random.default_rng(seed)
    friction, restitution = rng.uniform(0.1, 1.0), (0.0, 0.4)[seed % 2]
    body = cs.Robot.box(1.0, (0.3, 0.2, 0.15), friction=friction, restitution=restitution)
    world = on_fixed((0.4, 2.0, 0.5), body, friction=friction, restitution=restitution)
    turn = pin.exp3(np.array([0, 0, 0.6])) @ pin.exp3(np.array([0.5, 0.4, 0.0]))
    q = pin.SE3ToXYZQUAT(pin.SE3(turn, np.array([0.25, 0.1, 0.2])))
    state = cs.State(*world.pack({"body": (q, [0, 0, -1.0, *rng.normal(size=3)])}))
    check_derivative(cs.ContactSystem(world, OFF), state, 0.15, [rng.normal(size=2 * world.nv) for _ in range(2)])


# --- shapes ---------------------------------------------------------------------------------------------------------
def test_a_hull_of_a_box_is_that_box() -> None:
    sides = (0.2, 0.3, 0.4)
    points = np.array(CUBE) * sides
    box, hull = cs.Robot.box(2.0, sides), cs.Robot.hull(2.0, [*points, (0.0, 0.0, 0.0)])
    assert np.allclose(hull.model.inertias[1].matrix(), box.model.inertias[1].matrix(), atol=1e-14)
    assert len(hull.contacts) == 8 and [p.name for p in hull.contacts][:2] == ["hull/0", "hull/1"]
    solid = hull.solids[0].polyhedron
    assert (len(solid.edges), len(solid.loops), solid.volume) == (12, 6, pytest.approx(0.024))
    for loop, normal in zip(solid.loops, solid.normals, strict=True):
        one, two, three = solid.vertices[list(loop[:3])]
        assert np.cross(two - one, three - two) @ normal > 0.0  # counter-clockwise from outside
    rng = np.random.default_rng(0)
    for p in rng.uniform(-0.5, 0.5, (200, 3)):
        block, own = Block(sides), Hull(solid)
        assert own.distance(p, own.region(p)) == pytest.approx(float(block.distance(p, block.region(p))), abs=1e-14)
        assert np.allclose(own.normal(p, own.region(p)), block.normal(p, block.region(p)), atol=1e-12)


@pytest.mark.slow_in_python
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_a_hull_comes_to_rest_on_a_box(seed: int) -> None:
    """The lowest of its faces that carries it lies on the box: its corners there are at zero height."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(7, 3))
    points *= 0.1 / np.linalg.norm(points, axis=1, keepdims=True)
    world = on_fixed((1.0, 1.0, 0.1), cs.Robot.hull(0.5, points, friction=0.6), friction=0.6)
    run = dropped(world, pose(0, 0, 0.13), 0.8, np.array([0, 0, 0, 1.0, 0.5, 0.2]))
    place = pin.XYZQUATToSE3(run.final.q)
    heights = np.sort([place.act(np.array(p.offset))[2] for p in world.parts["body"].robot.contacts])
    assert np.abs(heights[:3]).max() <= REST


def test_overlaps_of_turned_cubes_have_their_closed_form() -> None:
    """Cubes with crossed edges, each turned by 45 degrees: sqrt(2) - distance; face to face: 1 - distance."""
    cube, half = convex.polyhedron(polyhedron_of_box((1.0, 1.0, 1.0))), np.sqrt(0.5)

    def depth(one: Array, two: Array, at: Sequence[float]) -> float:
        return -convex.distance((cube, cube), (Pose(one, np.zeros(3)), Pose(two, np.array(at))))

    one, two = pin.exp3(np.array([np.pi / 4, 0, 0])), pin.exp3(np.array([0, np.pi / 4, 0]))
    for apart in (1.3, 2 * half - 1e-9, 2 * half + 1e-9):
        assert depth(one, two, [0, 0, apart]) == pytest.approx(2 * half - apart, abs=DEPTH)
    assert depth(np.eye(3), np.eye(3), [0.2, 0.0, 0.9]) == pytest.approx(0.1)


def test_what_starts_inside_is_refused_with_its_depth() -> None:
    world = on_fixed((1.0, 0.1, 0.1), cs.Robot.box(1.0, (0.1, 1.0, 0.1)))
    state = cs.State(*world.pack({"body": (pose(0, 0, -0.02), np.zeros(6))}))
    with pytest.raises(cs.InputError, match=r"'base/base' starts 0.07 m inside 'body/box'; move one of the bodies"):
        cs.simulate(cs.ContactSystem(world, OFF), state, (0.0, 0.1))


def test_flat_hulls_are_refused() -> None:
    with pytest.raises(cs.InputError, match="has no volume"):
        cs.Robot.hull(1.0, [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)])
    with pytest.raises(cs.InputError, match="has no volume"):
        polyhedron_of_hull(((0.0, 0.0, 0.0),))


# --- piles ----------------------------------------------------------------------------------------------------------
def test_a_stack_of_five_boxes_stands() -> None:
    """Each lies a little off the one below; none touches but its neighbours."""
    rng = np.random.default_rng(1)
    names = [f"box{k}" for k in range(5)]
    world = cs.Robot.merge([cs.Robot.box(1.0, (0.2, 0.2, 0.1), friction=0.5)] * 5, names=names)
    places = {name: pose(*rng.uniform(-0.02, 0.02, 2), 0.05 + 0.1 * k) for k, name in enumerate(names)}
    state = cs.State(*world.pack({name: (place, np.zeros(6)) for name, place in places.items()}))
    run = cs.simulate(cs.ContactSystem(world), state, (0.0, 1.0))
    assert run.status.complete and not run.events
    assert np.abs(run.final.q - state.q).max() <= STAYS
    run.check()


def leaning(friction: float) -> cs.Trajectory:
    """A run of two cards that lean against each other."""
    return cs.simulate(*leaning_cards(friction), (0.0, 0.2))


def test_cards_stand_by_friction() -> None:
    """They stand where tan(30 deg) / 2 <= mu, but for their thickness."""
    stands, falls = leaning(0.6), leaning(0.2)
    assert stands.status.complete and np.abs(stands.final.q - stands.q[0]).max() <= 1e-8
    assert falls.final.q[2] < 0.9 * falls.q[0][2]
    stands.check()


@pytest.mark.slow
def test_ten_dominoes_fall() -> None:
    """The first is pushed; each strikes the next one, until the last has passed its balance; all stay in their row."""
    thick, wide, tall, pitch, push = 0.008, 0.024, 0.048, 0.016, 12.0
    names = [f"domino{k}" for k in range(10)]
    world = cs.Robot.merge([cs.Robot.box(0.01, (thick, wide, tall), friction=0.3)] * len(names), names=names)
    start = {name: (pose(k * pitch, 0.0, 0.5 * tall), np.zeros(6)) for k, name in enumerate(names)}
    turning = push * np.array([0.5 * tall, 0.0, 0.5 * thick, 0.0, 1.0, 0.0])  # about its lower edge in front
    start[names[0]] = start[names[0]][0], turning
    run = cs.simulate(cs.ContactSystem(world), cs.State(*world.pack(start)), (0.0, 0.31))
    assert run.status.complete, run.message
    run.check()
    final = world.unpack(run.final)
    turns = np.array([pin.log3(pin.Quaternion(final[name][0][3:7]).toRotationMatrix()) for name in names])
    assert np.all(np.diff(turns[:, 1]) <= STAYS) and turns[-1, 1] > np.arctan(thick / tall)
    assert np.abs(turns[:, [0, 2]]).max() <= STAYS and max(abs(final[name][0][1]) for name in names) <= STAYS
    touched = {frozenset(part.split("/")[0] for part in c.split("+")) for event in run.events for c in event.impulses}
    assert {frozenset(names[k : k + 2]) for k in range(9)} <= touched


# --- ends of edges ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["box", "hull"])
def test_an_end_drawn_over_an_edge_touches_no_face_before_it_has_passed(kind: str) -> None:
    """An edge of A rests across an edge of B; its lower end, s away from there, is s sin(25 deg) below the top of B."""
    cube = cs.Robot.box(1.0, (0.2, 0.2, 0.2)) if kind == "box" else cs.Robot.hull(1.0, 0.2 * np.array(CUBE))
    bodies = [cube, cs.Robot.box(1.0, (0.4, 0.1, 0.1))]
    mechanism = cs.ContactSystem(world := cs.Robot.merge(bodies, names=["b", "a"]), OFF).mechanism
    tilt = np.radians(25.0)
    turn = pin.exp3(np.array([0.0, tilt, 0.0]))
    along, seen = turn @ np.array([-1.0, 0.0, 0.0]), []
    for s in [*np.geomspace(1e-5, 1e-12, 30), 0.0, *-np.geomspace(1e-12, 1e-5, 30)]:
        low = np.array([0.1, 0.0, 0.1]) - s * along
        place = pin.SE3(turn, low - turn @ np.array([0.2, 0.05, -0.05]))
        q, _ = world.pack({"b": (pose(0, 0, 0), np.zeros(6)), "a": (pin.SE3ToXYZQUAT(place), np.zeros(6))})
        corner = mechanism.names.index("a/box/3+b/" + kind)
        gap = float(mechanism.gaps_of(0.0, q, np.array([corner]))[0])
        assert gap >= -1.1e-9
        seen.append(gap)
    np.testing.assert_allclose(seen[-30:], np.geomspace(1e-12, 1e-5, 30) * np.sin(tilt), rtol=0, atol=1e-15)


def test_a_plank_is_drawn_over_an_edge_beyond_its_end() -> None:
    """Its lower end jumps on to the top: the contact of the edges ends there, without an impact."""
    world = on_fixed((0.2, 0.2, 0.2), cs.Robot.box(1.0, (0.4, 0.1, 0.1), friction=0.0), friction=0.0)
    tilt, left = np.radians(25.0), 0.05
    turn = pin.exp3(np.array([0.0, tilt, 0.0]))
    along = turn @ np.array([-1.0, 0.0, 0.0])
    low = np.array([0.1, 0.0, 0.0]) - left * along
    q = pin.SE3ToXYZQUAT(pin.SE3(turn, low - turn @ np.array([0.2, 0.0, -0.05])))
    run = dropped(world, q, 0.05, np.r_[turn.T @ (3.0 * along), np.zeros(3)])
    (end,) = (event for event in run.events if any("edge" in name for name in event.transitions))
    assert 0.01 < end.time < 0.03 and not end.impulses


# --- many at once ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["box", "hull", "capsule", "ellipsoid"])
def test_many_gaps_at_once_are_those_one_by_one(kind: str) -> None:
    """Values, rates and pieces of all open contacts of some bodies, in random places close to each other."""
    rng = np.random.default_rng(3)
    made = {
        "box": lambda: cs.Robot.box(1.0, (0.2, 0.15, 0.1)),
        "hull": lambda: cs.Robot.hull(1.0, rng.normal(size=(7, 3)) * 0.08),
        "capsule": lambda: cs.Robot.capsule(1.0, 0.05, 0.1),
        "ellipsoid": lambda: cs.Robot.ellipsoid(1.0, (0.1, 0.08, 0.06)),
    }
    bodies = [cs.Robot.box(1.0, (0.2, 0.2, 0.2)), made[kind](), made[kind]()]
    world = cs.Robot.merge(bodies, names=["a", "b", "c"])
    mechanism = cs.ContactSystem(world, OFF).mechanism
    contacts = np.array([mechanism.names.index(name) for name in mechanism.pair_names])
    for _ in range(4):
        start = {name: (pose(*rng.uniform(-0.15, 0.15, 3), rng.normal(size=3)), rng.normal(size=6)) for name in "abc"}
        q, v = world.pack(start)
        together = mechanism.gap_motions(0.0, q, v, contacts)
        for k, contact in enumerate(contacts.tolist()):
            alone = mechanism.gap_motion(0.0, q, v, contact)
            assert together.values[k] == pytest.approx(alone.value, abs=1e-13)
            assert together.rates[k] == pytest.approx(alone.rate, abs=1e-12)
            assert (together.pieces[k], bool(together.apart[k])) == (alone.piece, alone.apart)
        pace = mechanism.paces(q, v, np.zeros(world.nv), contacts)[0]
        smooth = np.array([piece is not None for piece in together.pieces])
        assert (np.abs(together.rates)[smooth] <= pace[smooth] + 1e-12).all()


@pytest.mark.slow_in_python
def test_a_box_slides_over_an_edge_and_has_a_derivative() -> None:
    """Its corners hand over to its edges, one event each: nothing fires that only touches zero."""
    world = on_fixed((0.8, 0.6, 0.2), cs.Robot.box(1.0, (0.3, 0.2, 0.1), friction=0.3), friction=0.3)
    turn, way = pin.exp3(np.array([0.0, 0.0, 0.2])), np.zeros(12)
    q = np.concatenate([[0.2, 0.0, 0.05], pin.Quaternion(turn).coeffs()])
    v = np.concatenate([turn.T @ [1.0, 0.2, 0.0], np.zeros(3)])
    system, state = cs.ContactSystem(world, OFF), cs.State(*world.pack({"body": (q, v)}))
    run = cs.simulate(system, state, (0.0, 0.1))
    run.check()
    assert len(run.events) > 1
    assert all(kind.startswith("side") for event in run.events for kind, _ in event.fired)
    way[:3], way[6:9] = turn.T @ [1.0, 0.3, 0.0], turn.T @ [0.5, 1.0, 0.0]  # it goes on lying there
    check_derivative(system, state, 0.1, [way])
