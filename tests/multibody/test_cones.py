"""Cones as they are: against bodies of all shapes: standing, lying, rolling, thrown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import brentq
from test_bodies import FINE, check_derivative, pose
from test_derivatives import ANALYTIC, check_terms, random_state
from test_edges import OFF, on_fixed
from test_merge import derivable
from test_rims import check_pairs, is_steep, tumbling

import contactsim as cs
from contactsim.multibody.geometry import convex
from contactsim.multibody.geometry.closest_points.equations import Pose
from contactsim.multibody.geometry.cone_sides import ConeSideOnCone, ConeSideOnLine
from contactsim.multibody.geometry.cylinders import CAP, EDGE, SIDE, TIP, Taper
from contactsim.multibody.geometry.features import Place
from contactsim.multibody.geometry.gap_tables import ConeSides

Array = np.ndarray
EXACT = 1e-12  # m
R, HEIGHT, BALL = 0.1, 0.3, 0.04  # m
CONE = Taper(R, 0.5 * HEIGHT)
SLANT = np.hypot(R, HEIGHT)
HELD = 1e-9  # m
ON = {SIDE: (0.1, 0.02), CAP: (0.03, -0.17), EDGE: (0.11, -0.17), TIP: (0.01, 0.2)}  # m, from the axis and above


def apart(rho: float, z: float) -> float:
    """Distance of a point outside from the triangle of which a cone is the turn, by its three sides."""
    p, corners = np.array([rho, z]), np.array([[0.0, 0.5 * HEIGHT], [R, -0.5 * HEIGHT], [0.0, -0.5 * HEIGHT]])
    found = []
    for a, b in ((corners[0], corners[1]), (corners[1], corners[2])):
        share = np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        found.append(float(np.linalg.norm(p - a - share * (b - a))))
    return min(found)


def test_the_distance_is_that_of_the_triangle_and_of_the_body() -> None:
    rng, seen = np.random.default_rng(0), set()
    body, ball, here = convex.cone(R, HEIGHT), convex.ball(BALL), Pose(np.eye(3), np.zeros(3))
    for _ in range(200):
        angle, (rho, z) = rng.uniform(0.0, 2.0 * np.pi), rng.uniform([0.0, -0.3], [0.25, 0.3])
        p = np.array([rho * np.cos(angle), rho * np.sin(angle), z])
        region = CONE.region(p)
        found = float(CONE.distance(p, region))
        if found > 0.0:
            seen.add(region[0])
            assert found == pytest.approx(apart(rho, z), abs=EXACT)
            assert all(CONE.margin(p, region, side, 0.0) >= 0.0 for side in CONE.sides(region))
            poses = (here, Pose(np.eye(3), p))
            whole = convex.distance((body, ball), poses, -1.0 if found < BALL else 0.0)
            assert whole == pytest.approx(found - BALL, abs=EXACT) or 0.0 < whole < found - BALL
    assert seen == {SIDE, CAP, EDGE, TIP}


@pytest.mark.parametrize("kind", ON)
def test_regions_meet_with_one_distance_and_normal(kind: int) -> None:
    """Normals are the gradients, rates those of normals; behind each side the next region goes on smoothly."""
    rho, z = ON[kind]
    p, rate, h = np.array([0.6 * rho, 0.8 * rho, z]), np.array([0.3, -0.5, 0.4]), 1e-20
    region = CONE.region(p)
    assert region[0] == kind
    assert CONE.distance(p + 1j * h * rate, region).imag / h == pytest.approx(CONE.normal(p, region) @ rate)
    turn = CONE.normal(p + 1j * h * rate, region).imag / h
    assert np.allclose(turn, CONE.normal_rate(p, rate, region), atol=EXACT)
    for side in CONE.sides(region):
        slope = np.array([CONE.margin(p + 1j * h * e, region, side, 0.0).imag / h for e in np.eye(3)])
        at = p.copy()
        for _ in range(20):
            at = at - CONE.margin(at, region, side, 0.0) * slope / (slope @ slope)
        behind = CONE.beyond(region, side)
        assert CONE.distance(at, region) == pytest.approx(float(CONE.distance(at, behind)), abs=1e-9)
        assert np.allclose(CONE.normal(at, region), CONE.normal(at, behind), atol=1e-7)


def over_a_cone(x: float, z: float, speed: float) -> tuple[cs.ContactSystem, cs.State]:
    """A ball thrown at a fixed cone."""
    cone = cs.Robot.cone(1.0, R, HEIGHT, root="fixed", friction=0.5)
    world = cs.Robot.merge([cone, cs.Robot.sphere(0.5, BALL, friction=0.5)], names=["cone", "ball"])
    v = [speed, 0.1, -0.3, 0.5, 1.0, -2.0]
    return cs.ContactSystem(world, OFF), cs.State(*world.pack({"ball": (pose(x, 0.01, z), v)}))


@pytest.mark.filterwarnings("error:part")
@pytest.mark.parametrize(
    ("x", "z", "end", "events"),
    [
        (0.1, 0.5 * BALL + 0.02, 0.3, 2),
        pytest.param(0.01, 0.5 * HEIGHT + BALL + 1e-3, 0.25, 3, marks=pytest.mark.slow),
    ],
)
def test_a_ball_rolls_over_tip_side_and_rim(x: float, z: float, end: float, events: int) -> None:
    """No warning of pyramids; where it passes from one to the next nothing jumps; the derivative goes through it."""
    system, state = over_a_cone(x, z, 0.05)
    run = cs.simulate(system, state, (0.0, end), tolerances=FINE)
    run.check()
    assert len(run.all_events) >= events
    for event in run.all_events:
        if not event.impulses:
            assert np.abs(event.state_post.v - event.state_pre.v).max() <= HELD
    check_derivative(system, state, end, [np.random.default_rng(3).normal(size=2 * system.world.nv)], step=1e-5)


def on_a_plane(q: Array, v: Array, slope: float = 0.0) -> tuple[cs.ContactSystem, cs.State]:
    """A cone on a half-space of another body."""
    turn = pin.Quaternion(pin.exp3(np.array([0.0, slope, 0.0]))).coeffs()
    plane = cs.Robot.box(1.0, (0.1, 0.1, 0.1), name="plane", root="fixed")
    plane = plane._with(_solids=(cs.Solid("plane", "half_space", quaternion=tuple(turn), friction=0.8),))
    world = cs.Robot.merge([plane, cs.Robot.cone(1.0, R, HEIGHT, friction=0.8)], names=["plane", "cone"])
    return cs.ContactSystem(world, OFF), cs.State(*world.pack({"cone": (q, v)}))


def on_a_box(q: Array, v: Array, friction: float = 0.8) -> tuple[cs.ContactSystem, cs.State]:
    """A cone on a fixed box whose top is at z = 0."""
    world = on_fixed((0.8, 0.6, 0.2), cs.Robot.cone(1.0, R, HEIGHT, friction=friction), friction=friction)
    return cs.ContactSystem(world, OFF), cs.State(*world.pack({"body": (q, v)}))


@pytest.mark.filterwarnings("error:part")
@pytest.mark.parametrize("on", [on_a_plane, on_a_box])
def test_a_cone_lies_and_rolls_about_its_tip(on: Callable[[Array, Array], tuple[cs.ContactSystem, cs.State]]) -> None:
    """Rim and tip hold it; it turns at w about the line that touches, so at w tan(a) about the vertical."""
    lean, w, end = np.arctan2(R, HEIGHT), 1.5, 0.4
    turn = pin.exp3(np.array([0.0, np.pi / 2 + lean, 0.0]))
    tip, spin = 0.5 * HEIGHT * turn[:, 2], np.array([w, 0.0, 0.0])
    centre = np.array([0.0, 0.0, -tip[2]])
    foot = np.array([tip[0], 0.0, 0.0])
    v = np.concatenate([turn.T @ np.cross(spin, centre - foot), turn.T @ spin])
    system, state = on(np.concatenate([centre, pin.Quaternion(turn).coeffs()]), v)
    run = cs.simulate(system, state, (0.0, end), tolerances=FINE)
    run.check()
    for t in np.linspace(0.0, end, 9):
        place = pin.XYZQUATToSE3(run(t).q[-7:])
        around = pin.exp3(np.array([0.0, 0.0, w * np.tan(lean) * t]))
        assert np.allclose(place.translation, foot + around @ (centre - foot), atol=HELD)
        assert np.allclose(place.act(np.array([0.0, 0.0, 0.5 * HEIGHT])), foot, atol=HELD)


@pytest.mark.filterwarnings("error:part")
def test_a_cone_stands_on_its_base() -> None:
    system, state = on_a_plane(pose(0.0, 0.0, 0.5 * HEIGHT), np.zeros(6))
    run = cs.simulate(system, state, (0.0, 1.0))
    run.check()
    assert np.abs(run.final.q - state.q).max() <= HELD


@pytest.mark.parametrize("seed", [0, 1])
def test_derivatives_of_a_cone_on_a_half_space(seed: int) -> None:
    robot = on_a_plane(pose(0.0, 0.0, 1.0), np.zeros(6))[0].robot
    mechanism = derivable(robot)
    mechanism.inner._model = robot.model  # from which random states start
    chosen = tuple(
        k
        for k, name in enumerate(mechanism.names)
        if name.split("/")[-2:] == ["rim0+plane", "plane"] or name == "cone/cone/1+plane/plane"
    )
    assert len(chosen) == 2
    check_terms(mechanism, chosen, ANALYTIC, seed=seed)


SIDES, BALLS = (0.3, 0.2, 0.15), (0.05, 0.3)  # m, of a box, and radius and straight part of a capsule
DRUM, BLUNT = (0.07, 0.3), (0.15, 0.2)  # m, radius and length of a cylinder, and of another cone
POINTS = [[0.1, 0, 0], [0, 0.12, 0.02], [-0.08, -0.05, 0.03], [0.02, -0.03, 0.11], [0.03, 0.02, -0.12]]
OTHERS = {
    "box": (1.0, SIDES),
    "capsule": (1.0, *BALLS),
    "hull": (1.0, POINTS),
    "cylinder": (1.0, *DRUM),
    "cone": (1.0, *BLUNT),
}


def with_cone(kind: str, **coefficients: float) -> cs.Robot:
    """A cone and another body."""
    other = getattr(cs.Robot, kind)(*OTHERS[kind], **coefficients)
    return cs.Robot.merge([cs.Robot.cone(1.0, R, HEIGHT, **coefficients), other], names=["a", "b"])


def between(world: cs.Robot, q: Array) -> float:
    """Distance of both by their shapes alone."""
    solid = world.solids[1]
    made = {"capsule": convex.capsule, "cylinder": convex.cylinder, "cone": convex.cone}
    other = made[solid.kind](*solid.size) if solid.kind in made else convex.polyhedron(solid.polyhedron)
    own = pin.XYZQUATToSE3(np.array([*solid.position, *solid.quaternion]))
    places = pin.XYZQUATToSE3(q[:7]), pin.XYZQUATToSE3(q[7:]) * own
    poses = [Pose(place.rotation, place.translation) for place in places]
    return convex.distance((convex.cone(R, HEIGHT), other), (poses[0], poses[1]), enough=-1.0)


def nearly_touching(world: cs.Robot, seed: int) -> Array:
    """Both in random axes, moved towards each other until they are less than 1e-6 m apart."""
    rng = np.random.default_rng(seed)
    turns, way = rng.normal(size=(2, 3)), rng.normal(size=3)
    way, s = way / np.linalg.norm(way), 0.8
    for _ in range(30):
        q = np.concatenate([pose(0, 0, 0, turns[0]), pose(*(s * way), turns[1])])
        apart = between(world, q)
        if apart < 1e-6:
            return q
        s -= apart  # no farther: they do not overlap
    raise AssertionError("they pass each other")


@pytest.mark.filterwarnings("error:part")
@pytest.mark.parametrize(
    ("kind", "seeds", "met"),
    [
        ("box", (0, 1, 2, 3, 6, 11, 13), {"side+edge", "rim+face", "rim+edge"}),
        ("capsule", (0, 4, 5, 15), {"side+side", "rim+side"}),
        ("hull", (0, 1), {"side+edge"}),
        ("cylinder", (0, 2, 4, 6, 7, 8, 12, 15, 20), {"side+side", "rim+side", "rim+end", "rim+rim", "+cylinder"}),
        ("cone", (0, 2, 3, 4, 5, 6, 8, 12, 13, 16), {"side+side", "rim+side", "rim+end", "rim+rim", "+cone"}),
    ],
)
def test_the_nearest_features_are_as_far_apart_as_the_bodies(kind: str, seeds: tuple[int, ...], met: set[str]) -> None:
    world, kinds = with_cone(kind), Counter[str]()
    mechanism = cs.ContactSystem(world, OFF).mechanism
    for seed in seeds:
        q = nearly_touching(world, seed)
        gaps, distance = dict(zip(mechanism.names, mechanism.gaps(0.0, q).tolist(), strict=True)), between(world, q)
        assert min(gaps[name] for name in mechanism.pair_names) == pytest.approx(distance, abs=EXACT), seed
        names = [name for name in mechanism.pair_names if gaps[name] <= distance + 1e-9]
        kinds.update("+".join(part.split("/")[-1].rstrip("0123456789") for part in name.split("+")) for name in names)
    assert met <= set(kinds), kinds


@pytest.mark.parametrize("kind", OTHERS)
def test_sides_asked_together_are_as_far_as_asked_alone(kind: str) -> None:
    """Gaps, and bounds of how they bend; of those that are far a bound stands."""
    rng, touching = np.random.default_rng(0), 0
    features = [pair.features for pair in cs.ContactSystem(with_cone(kind), OFF).mechanism._pairs.pairs]
    pairs = [pair for pair in features if isinstance(pair, ConeSideOnLine)]
    table = ConeSides(pairs, np.tile([0, 1], (len(pairs), 1)))
    fast, turn = np.full(len(pairs), 2.0), np.full(len(pairs), 0.5)
    for _ in range(12):
        R, way = np.array([pin.exp3(turn) for turn in rng.normal(size=(2, 3))]), rng.normal(size=3)
        o = np.array([np.zeros(3), rng.uniform(0.05, 0.3) * way / np.linalg.norm(way)])
        place, gaps, far = Place(R[0], o[0], R[1], o[1]), table.gaps(R, o), table._away(R, o) > table._far
        alone = [pair.looked(place) for pair in pairs]
        assert np.allclose(gaps[~far], np.array([gap for gap, _ in alone])[~far], atol=EXACT)
        assert not any(touch and gap <= 0.0 for (gap, touch), away in zip(alone, far, strict=True) if away)
        bends = [pair.bend(place, 2.0, 0.5, 0.01) for pair in pairs]
        assert np.allclose(table.bends(R, o, fast, turn, 0.01), bends)
        touching += sum(touch for _, touch in alone)
    assert touching


@pytest.mark.parametrize(("kind", "seed"), [("box", 0), ("capsule", 1), ("cylinder", 0), ("cone", 2)])
def test_derivatives_of_what_meets_a_cone(kind: str, seed: int) -> None:
    """Rows are the gradients of gaps, bias their rate; all derivatives against differences of sixth order."""
    world = with_cone(kind, friction=0.4)
    mechanism = derivable(world)
    mechanism.inner._model = world.model  # from which random states start
    q, v, _ = random_state(mechanism, seed)
    first, chosen = len(mechanism.names) - len(mechanism.pair_names), []
    mechanism._pairs._data.forward_kinematics(q)
    for k, pair in enumerate(mechanism._pairs.pairs):
        features, place = pair.features, mechanism._pairs._place(k)
        side = isinstance(features, ConeSideOnLine | ConeSideOnCone) and features._crosses(place)
        if side or is_steep(features, place) or pair.name.startswith("a/cone/corner12"):
            chosen.append(first + k)
    chosen = chosen[:: max(1, len(chosen) // 8)]
    assert any("side" in mechanism.names[i] for i in chosen) and any("rim" in mechanism.names[i] for i in chosen)
    check_pairs(mechanism, q, v, chosen, seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("error:part")
@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_thrown_cone_stays_outside_and_has_a_derivative(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    coefficients = {"friction": rng.uniform(0.1, 1.0), "restitution": (0.0, 0.4)[seed % 2]}
    system, state = tumbling(with_cone(kind, **coefficients), rng)
    run = cs.simulate(system, state, (0.0, 0.4), tolerances=FINE)
    run.check()
    assert run.events
    assert min(between(system.robot, run(t).q) for t in np.linspace(0.0, 0.4, 41)) >= -HELD
    check_derivative(system, state, 0.24, [rng.normal(size=2 * system.world.nv)], step=2e-6)


def slid_off(friction: float) -> tuple[cs.ContactSystem, cs.State]:
    """A cone that lies on a box and slides over its edge, its tip ahead and a little askew."""
    turn = pin.exp3(np.array([0.0, 0.0, 0.2])) @ pin.exp3(np.array([0.0, np.pi / 2 + np.arctan2(R, HEIGHT), 0.0]))
    centre = np.array([0.2, 0.0, -0.5 * HEIGHT * turn[2, 2]])
    q = np.concatenate([centre, pin.Quaternion(turn).coeffs()])
    return on_a_box(q, np.concatenate([turn.T @ np.array([1.0, 0.2, 0.0]), np.zeros(3)]), friction)


@pytest.mark.slow_in_python
@pytest.mark.filterwarnings("error:part")
def test_a_cone_slides_over_an_edge_and_tips() -> None:
    """Rim and tip, then rim and side, hold it; without friction no energy is lost until it is off."""
    system, state = slid_off(0.0)
    run = cs.simulate(system, state, (0.0, 0.35), tolerances=FINE)
    run.check()
    names = [name for event in run.events for name in event.contacts]
    assert any("side" in name and "edge" in name for name in names)
    energies = [run.system.energy(run.system.pack(run(t))) for t in np.linspace(0.0, 0.35, 7)]
    assert np.ptp(energies) <= HELD
    turn, way = pin.XYZQUATToSE3(state.q).rotation, np.zeros(12)
    way[:3], way[6:9] = turn.T @ [1.0, 0.3, 0.0], turn.T @ [0.5, 1.0, 0.0]  # it goes on lying there
    check_derivative(system, state, 0.08, [way])


def test_the_tip_hands_over_to_the_side_with_the_same_normal() -> None:
    """On a rod almost along the side: the way beyond the tip at which it ends turns the normal ten times as far."""
    across = pin.SE3(pin.exp3(np.array([0.0, 0.5 * np.pi, 0.0])), np.zeros(3))
    rod, cone = cs.Robot.capsule(1.0, 0.05, 0.4, root="fixed"), cs.Robot.cone(1.0, 0.05, 0.1)
    mechanism = cs.ContactSystem(
        cs.Robot.merge([rod, cone], ["rod", "cone"], placements=[across, None]), terrain=cs.terrain.Flat(-1.0)
    ).world.mechanism
    names = "cone/cone/1+rod/capsule", "cone/cone/side+rod/capsule/side"
    tip, side = (mechanism.all_names.index(name) for name in names)
    on_rod, beyond_the_tip = (2, 0), 100

    def configuration(tilt: float) -> Array:
        turned = pin.exp3(np.array([0.0, 0.0, 0.1])) @ pin.exp3(np.array([0.0, tilt, 0.0]))
        return pin.SE3ToXYZQUAT(pin.SE3(turned, np.array([0.01, 0.0, 0.15])))

    def margin(tilt: float) -> float:
        return mechanism.region_margin(configuration(tilt), tip, on_rod, beyond_the_tip)

    q = configuration(brentq(margin, 2.0, 2.3, xtol=1e-15))
    within = mechanism.within({tip: on_rod, side: (1,)})
    rows = within.terms(0.0, q, np.zeros(6), (tip, side)).rows
    np.testing.assert_allclose(rows[0], rows[3], atol=1e-8)
