"""Ellipsoids against other bodies, by the one point at which they touch."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from test_bodies import FINE, check_derivative, pose
from test_capsules import LYING, run_of
from test_edges import CUBE, OFF, on_fixed
from test_merge import RATE, derivable

import contactsim as cs
from contactsim.multibody.geometry import convex
from contactsim.multibody.geometry.closest_points.equations import Pose
from contactsim.multibody.geometry.closest_points.features import Ellipsoid
from contactsim.multibody.geometry.cylinders import CAP, EDGE, SIDE, TIP, Drum, Taper
from contactsim.multibody.geometry.features import Bodies, Place
from contactsim.multibody.geometry.smooth import SmoothOnSolid

Array = np.ndarray
RADII = (0.1, 0.07, 0.05)
ALIKE = 1e-11  # m and m/s, runs on a box and on level ground
EXACT = 1e-12  # m
NEAREST = 1e-5  # m, of coal's distance of curved shapes
ROLLED = 1e-10  # m, rad/s, J, of a second of rolling

HULL = np.array(CUBE) * [0.4, 0.3, 0.2] + np.array([[0.02, -0.01, 0.0]]) * np.arange(8)[:, None]


def ellipsoid(radii: tuple[float, ...] = RADII, **coefficients: float) -> cs.Robot:
    return cs.Robot.ellipsoid(1.0, radii, **{"friction": 0.5, **coefficients})


OTHERS = {
    "box": lambda: cs.Robot.box(1.0, (0.4, 0.3, 0.2)),
    "hull": lambda: cs.Robot.hull(1.0, HULL),
    "ball": lambda: cs.Robot.sphere(1.0, 0.15),
    "capsule": lambda: cs.Robot.capsule(1.0, 0.1, 0.3),
    "ellipsoid": lambda: cs.Robot.ellipsoid(1.0, (0.1, 0.2, 0.15)),
    "cylinder": lambda: cs.Robot.cylinder(1.0, 0.12, 0.3),
    "cone": lambda: cs.Robot.cone(1.0, 0.15, 0.3),
}
COAL = {
    "box": lambda: coal.Box(0.4, 0.3, 0.2),
    "ball": lambda: coal.Sphere(0.15),
    "capsule": lambda: coal.Capsule(0.1, 0.3),
    "ellipsoid": lambda: coal.Ellipsoid(0.1, 0.2, 0.15),
    "cylinder": lambda: coal.Cylinder(0.12, 0.3),
    "cone": lambda: coal.Cone(0.15, 0.3),
}


def apart(name: str, seed: int, gap: float) -> tuple[cs.Robot, Array]:
    """A world of an ellipsoid and another body at random places, some way apart."""
    rng = np.random.default_rng(seed)
    world = cs.Robot.merge([ellipsoid(), OTHERS[name]()], names=["one", "two"])
    way = rng.normal(size=3)
    way *= (0.25 + gap) / np.linalg.norm(way)
    return world, np.concatenate([pose(*way, rng.normal(size=3)), pose(0, 0, 0, rng.normal(size=3))])


@pytest.mark.parametrize("name", OTHERS)
def test_rates_are_those_of_the_gap_and_bias_is_that_of_the_rates(name: str) -> None:
    """The normal rate is that of the gap, and the bias that of the rates, in the region of the place."""
    world, q = apart(name, 0, 0.1)
    mechanism = derivable(world)
    (pair,) = (i for i, found in enumerate(mechanism.all_names) if found in mechanism.pair_names)
    inside = mechanism.within({pair: mechanism.region(q, pair)})
    v = np.random.default_rng(1).normal(size=world.nv)
    terms = inside.terms(0.0, q, v, (pair,))

    def moved(h: float) -> tuple[float, Array]:
        there = mechanism.space.integrate(q, h * v)
        return float(inside.gaps(0.0, there)[pair]), inside.terms(0.0, there, v, (pair,)).rates

    h = 1e-5
    rate, change = ((after - before) / (2 * h) for after, before in zip(moved(h), moved(-h), strict=True))
    assert terms.rates[0] == pytest.approx(rate, abs=RATE)
    assert np.allclose(terms.bias, change, atol=RATE * max(1.0, np.abs(terms.bias).max()))


@pytest.mark.parametrize("name", OTHERS)
def test_pairs_by_hand_meet_at_one_point_in_either_order(name: str) -> None:
    """Not by the corners of the other body alone."""
    for order in (("one", "two"), ("two", "one")):
        world = cs.Robot.merge([ellipsoid(), OTHERS[name]()], names=["one", "two"], pairs=[cs.ContactPair(*order)])
        assert len(cs.ContactSystem(world).mechanism.pair_names) == 1


@pytest.mark.parametrize("name", COAL)
def test_distances_are_those_of_coal(name: str) -> None:
    for seed in range(20):
        world, q = apart(name, seed, 0.15)
        mechanism = derivable(world)
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        places = [pin.XYZQUATToSE3(part) for part in (q[:7], q[7:])]
        shapes = [coal.Ellipsoid(*RADII), COAL[name]()]
        frames = [coal.Transform3s(place.rotation, place.translation) for place in places]
        expected = coal.distance(shapes[0], frames[0], shapes[1], frames[1], request, result)
        (pair,) = (i for i, found in enumerate(mechanism.all_names) if found in mechanism.pair_names)
        inside = mechanism.within({pair: mechanism.region(q, pair)})
        assert float(inside.gaps(0.0, q)[pair]) == pytest.approx(expected, abs=NEAREST)
        pairs = mechanism._pairs
        region = pairs.region(q, 0)
        for side in pairs.pairs[0].features.sides(region):
            assert pairs.margin(q, 0, region, side) >= -1e-12


@pytest.mark.slow_in_python
def test_an_ellipsoid_on_a_box_moves_as_on_level_ground() -> None:
    q, v = pose(0.0, 0.0, 0.15, np.array([0.3, 0.5, 0.1])), np.array([0.3, 0.2, 0, 1.0, 2.0, 0.5])
    on_box = run_of(on_fixed((1.0, 1.0, 0.1), ellipsoid()), q, v, 0.2)
    on_ground = cs.simulate(cs.ContactSystem(ellipsoid()), cs.State(q, v), (0.0, 0.2), tolerances=FINE)
    assert len(on_box.events) == len(on_ground.events) > 0
    assert np.abs(on_box.final.q - on_ground.final.q).max() <= ALIKE
    assert np.abs(on_box.final.v - on_ground.final.v).max() <= ALIKE


@pytest.mark.parametrize(("kind", "regions"), [(Drum, {SIDE, CAP, EDGE}), (Taper, {SIDE, CAP, EDGE, TIP})])
def test_one_with_equal_radii_is_as_far_from_what_is_round_as_a_ball(kind: type, regions: set[int]) -> None:
    """By side, ends, rims and tip, also a little inside, with the normal of a ball; the search begins anywhere."""
    rng, shape, radius = np.random.default_rng(2), kind(0.1, 0.15), 0.06
    pair = SmoothOnSolid(Ellipsoid(np.zeros(3), np.eye(3), np.full(3, radius)), shape, shape.extent)
    seen = set()
    for _ in range(150):
        turns, p = (
            [pin.exp3(turn) for turn in rng.normal(size=(2, 3))],
            rng.uniform([-0.12, -0.12, -0.3], [0.12, 0.12, 0.3]),
        )
        region = shape.region(p)
        expected = float(shape.distance(p, region)) - radius
        if expected > -0.02:
            seen.add(region[0])
            place = Place(turns[0], turns[1] @ p + 0.3, turns[1], np.full(3, 0.3))
            assert pair.region(place) == region
            assert float(pair.gap(place, region)) == pytest.approx(expected, abs=EXACT)
            found = pair.meet(Bodies(*place, *np.zeros((4, 6))), region)
            assert np.allclose(found.n, turns[1] @ shape.normal(p, region), atol=EXACT)
    assert seen == regions


@pytest.mark.parametrize("kind", ["cylinder", "cone"])
def test_an_ellipsoid_is_as_far_from_what_is_round_as_the_bodies_are(kind: str) -> None:
    """The regions hand over to each other with one distance: that of all supporting planes, to rounding."""
    size = {"cylinder": (0.1, 0.3), "cone": (0.15, 0.2)}[kind]
    solid = cs.Solid("b", kind, size)
    own, body = Ellipsoid(np.zeros(3), np.eye(3), np.array(RADII)), getattr(convex, kind)(*size)
    pair, rng, seen = SmoothOnSolid(own, *solid.surface), np.random.default_rng(5), set()
    for _ in range(80):
        turns, way = [pin.exp3(turn) for turn in rng.normal(size=(2, 3))], rng.normal(size=3)
        place = Place(turns[0], rng.uniform(0.1, 0.25) * way / np.linalg.norm(way), turns[1], np.zeros(3))
        gap, region = pair.open_gap(place), pair.region(place)
        if -0.03 < gap < 0.0:
            poses = Pose(place.R_a, place.o_a), Pose(place.R_b, place.o_b)
            whole = convex.distance((convex.ellipsoid(RADII), body), poses, enough=-1.0)
            assert gap == pytest.approx(whole, abs=EXACT)
            seen.add(region[0])
    assert seen >= {SIDE, EDGE}


@pytest.mark.parametrize(
    "base", ["capsule", *(pytest.param(k, marks=pytest.mark.slow_in_python) for k in ("cylinder", "cone"))]
)
def test_an_ellipsoid_with_equal_radii_is_a_ball(base: str) -> None:
    """On the side of what lies and over its end; a ball is computed by the distance of its centre."""
    leaning = np.array([0.0, 0.5 * np.pi + (np.arctan2(0.05, 0.3) if base == "cone" else 0.0), 0.0])
    place = pin.SE3(pin.exp3(LYING if base == "capsule" else leaning), np.zeros(3))
    fixed = getattr(cs.Robot, base)(1.0, 0.05, 0.3, root="fixed", friction=0.5)
    ends = []
    for body in (cs.Robot.sphere(1.0, 0.1, friction=0.5), ellipsoid((0.1, 0.1, 0.1))):
        world = cs.Robot.merge([fixed, body], names=["base", "body"], placements=[place, None])
        run = run_of(world, pose(0.13, 0.001, 0.16), np.array([0.2, 0, 0, 0, 0, 0]), 0.3)
        ends.append(run.final)
        assert run.events
    assert np.abs(ends[0].v - ends[1].v).max() <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "x", "speed", "end"), [("cylinder", 0.13, 0.4, 0.05), ("cone", -0.025, 0.5, 0.14)])
def test_derivative_over_rim_and_tip(kind: str, x: float, speed: float, end: float) -> None:
    """It lands and slides from the end of a cylinder onto the rim, and along the side of a blunt cone onto the tip."""
    size = {"cylinder": (0.15, 0.2), "cone": (0.3, 0.1)}[kind]
    fixed = getattr(cs.Robot, kind)(1.0, *size, root="fixed", friction=0.3)
    world = cs.Robot.merge([fixed, ellipsoid()], names=["base", "body"])
    state = cs.State(
        *world.pack({"body": (pose(x, 0.003, 0.051 + 0.5 * size[1]), np.array([speed, 0, 0, 0.1, 0.2, 0.3]))})
    )
    system = cs.ContactSystem(world, OFF)
    run = cs.simulate(system, state, (0.0, end), tolerances=FINE)
    run.check()
    passed = [event for event in run.all_events if str(event).count("side")]
    assert passed
    for event in passed:
        assert np.abs(event.state_post.v - event.state_pre.v).max() <= EXACT
    check_derivative(system, state, end, [np.random.default_rng(0).normal(size=2 * world.nv)], step=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("x", "restitution", "end"), [(0.49, 0.0, 0.14), (0.49, 0.3, 0.08), (0.47, 0.0, 0.15)])
def test_derivative_over_an_edge(x: float, restitution: float, end: float) -> None:
    """An ellipsoid lands on the edge of a box, slips over it and leaves, or bounces off."""
    rng = np.random.default_rng(0)
    world = on_fixed((1.0, 1.0, 0.1), ellipsoid(restitution=restitution), restitution=restitution)
    q = pose(x, 0.3, 0.075, np.array([0.3, 0.5, 0.1]))
    state = cs.State(*world.pack({"body": (q, np.array([0.5, 0.2, -0.2, 1.0, 3.0, 0.5]))}))
    check_derivative(cs.ContactSystem(world, OFF), state, end, [rng.normal(size=2 * world.nv)], step=1e-5)


# --- rolling ----------------------------------------------------------------------------------------------------------


def lowest(radii: Array, n: Array) -> tuple[Array, float]:
    """The lowest point r (3,) from the centre, of an upward normal n (3,), in axes of the body, and its depth h [m]."""
    h = float(np.sqrt(n @ (radii**2 * n)))
    return -(radii**2) * n / h, h


def rolling(mass: float, radii: Array, y: Array) -> Array:
    """y' of y = (quaternion, angular velocity w in axes of the body, place of the centre) of an ellipsoid that rolls.

    v = -w x r, F = m (v' + g n), I w' + w x I w = r x F, with the rates of r that n' = -w x n makes.
    """
    turn, w = pin.Quaternion(y[:4] / np.linalg.norm(y[:4])), y[4:7]
    n = turn.matrix()[2]
    r, h = lowest(radii, n)
    n_rate = -np.cross(w, n)
    r_rate = -(radii**2) * n_rate / h + radii**2 * n * (n @ (radii**2 * n_rate)) / h**3
    inertia = 0.2 * mass * (np.sum(radii**2) - radii**2)
    v, across = -np.cross(w, r), pin.skew(r)
    rest = mass * (-np.cross(w, r_rate) + np.cross(w, v) + 9.81 * n)  # F without -m w' x r
    whole = np.diag(inertia) - mass * across @ across
    w_rate = np.linalg.solve(whole, np.cross(r, rest) - np.cross(w, inertia * w))
    q_rate = 0.5 * (pin.Quaternion(y[:4]) * pin.Quaternion(np.array([*w, 0.0]))).coeffs()
    return np.concatenate([q_rate, w_rate, (turn.matrix() @ v)[:2]])


@pytest.mark.parametrize("radii", [(0.3, 0.2, 0.15), (0.2, 0.2, 0.1)])
def test_a_rolling_ellipsoid_moves_as_its_equations_say(radii: tuple[float, ...]) -> None:
    """Against an integration by itself of the equations of rolling without slip, and its energy."""
    turn, w = pin.Quaternion(pin.exp3(np.array([0.4, 0.3, 0.2]))), np.array([1.0, 2.0, 0.5])
    exact = solve_ivp(
        lambda t, y: rolling(2.0, np.array(radii), y),
        (0.0, 1.0),
        [*turn.coeffs(), *w, 0.0, 0.0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
    ).y[:, -1]
    r = lowest(np.array(radii), turn.matrix()[2])[0]
    start = cs.State([0, 0, -(turn.matrix() @ r)[2], *turn.coeffs()], [*-np.cross(w, r), *w])
    system = cs.ContactSystem(cs.Robot.ellipsoid(2.0, radii, friction=2.0))
    run = cs.simulate(system, start, (0.0, 1.0), tolerances=FINE)
    assert not run.events
    run.check()
    q, v = run.final.q, run.final.v
    assert np.abs(q[3:] * np.sign(q[3:] @ exact[:4]) - exact[:4]).max() < ROLLED
    assert np.abs(v[3:] - exact[4:7]).max() < ROLLED and np.abs(q[:2] - exact[7:]).max() < ROLLED
    assert abs(system.energy(run.final) - system.energy(start)) < ROLLED
