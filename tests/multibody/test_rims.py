"""Cylinders against cylinders as they are: sides, rims and ends, and what takes over from what."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import brentq
from test_bodies import FINE, check_derivative, pose
from test_derivatives import ANALYTIC, check_impulses, check_terms, random_state
from test_edges import OFF, REST
from test_merge import RATE, derivable

import contactsim as cs
from contactsim.multibody.geometry import convex
from contactsim.multibody.geometry.closest_points.equations import Pose
from contactsim.multibody.geometry.features import FeaturePair, Place
from contactsim.multibody.geometry.rims import Rim, RimOnPart, RimOnRim
from contactsim.multibody.mechanism import ContactMechanism

Array = np.ndarray
told = pytest.mark.filterwarnings("ignore:part .* meets other parts with")
SIZES = (0.1, 0.3), (0.07, 0.25)  # m, radius and length
EXACT = 1e-12  # m, least gap of all contacts against the distance of the bodies
INSIDE = 1e-9  # m, depth of bodies that touch
STEEP = 0.3  # sine of a tilt that differences of sixth order see well
ACROSS = pin.exp3(np.array([np.pi / 2, 0.0, 0.0]))
LAID = (((0.1, 0.6), "fixed"), ((0.07, 0.25), "free_flyer"))  # m, radius and length, of the lower one first
ALONG_X = pin.SE3(pin.exp3(np.array([0.0, np.pi / 2, 0.0])), np.zeros(3))
TAKEN_OVER = 1e-7  # m/s, what the normal of a contact that goes on a nanometre later leaves
R, LENGTH, SPACE = 0.05, 0.2, 1e-3  # m, of the cylinders of a pyramid, and between those of a row


def couple(**coefficients: float) -> cs.Robot:
    bodies = [cs.Robot.cylinder(1.0, *size, **coefficients) for size in SIZES]
    return cs.Robot.merge(bodies, names=["a", "b"])


def apart(q: Array) -> float:
    """Distance of the two cylinders."""
    places = [pin.XYZQUATToSE3(part) for part in (q[:7], q[7:])]
    poses = Pose(places[0].rotation, places[0].translation), Pose(places[1].rotation, places[1].translation)
    return convex.distance((convex.cylinder(*SIZES[0]), convex.cylinder(*SIZES[1])), poses, enough=-1.0)


def touching(seed: int) -> Array:
    """Both in random axes, moved together until they are 1e-7 m apart."""
    rng = np.random.default_rng(seed)
    turns, way = rng.normal(size=(2, 3)), rng.normal(size=3)
    way = way / np.linalg.norm(way)

    def placed(s: float) -> Array:
        return np.concatenate([pose(0, 0, 0, turns[0]), pose(*(s * way), turns[1])])

    return placed(brentq(lambda s: apart(placed(s)) - 1e-7, 0.0, 0.6, xtol=1e-13))


@told
def test_the_nearest_features_are_as_far_apart_as_the_bodies() -> None:
    """Side across side, rims on sides, ends and rims: the one that is least is the distance, by its own equations.

    What does not touch with its features is further away, or told to be OFF.
    """
    mechanism = cs.ContactSystem(couple(), OFF).mechanism
    kinds = Counter[str]()
    for seed in (2, 3, 4, 5, 41, 53, 60, 63, 70, 91, 114, 150, 316, 383):
        q = touching(seed)
        gaps, distance = dict(zip(mechanism.names, mechanism.gaps(0.0, q).tolist(), strict=True)), apart(q)
        names = [name for name in mechanism.pair_names if gaps[name] <= distance + 1e-9]
        assert min(gaps[name] for name in mechanism.pair_names) == pytest.approx(distance, abs=EXACT)
        kinds.update("+".join(part.split("/")[2].rstrip("01") for part in name.split("+")) for name in names)
    assert {"side+side", "rim+side", "rim+rim", "rim+end"} <= set(kinds), kinds


def is_steep(features: FeaturePair, place: Place) -> bool:
    """Whether a rim touches far from where it would lie flat, or along another one."""
    found = features._nearest(place) if isinstance(features, RimOnPart) else None
    if found is None:
        return False
    margins = [float(margin.value) for margin in features._margins(place, found)]
    return min([margins[k] for k in (0, 2, 4)] if isinstance(features.part, Rim) else margins[:1]) > STEEP


def check_pairs(mechanism: ContactMechanism, q: Array, v: Array, chosen: list[int], seed: int) -> None:
    """Rows are the gradients of gaps, bias their rate; all derivatives against differences of sixth order."""
    inside, contacts = mechanism.within({i: mechanism.region(q, i) for i in chosen}), tuple(chosen)
    terms = inside.terms(0.0, q, v, contacts)

    def moved(h: float) -> tuple[Array, Array]:
        there = mechanism.space.integrate(q, h * v)
        return inside.gaps(0.0, there)[chosen], inside.terms(0.0, there, v, contacts).rates

    rates, changes = ((one - two) / 2e-5 for one, two in zip(moved(1e-5), moved(-1e-5), strict=True))
    assert np.allclose(terms.rates[::3], rates, atol=RATE)
    assert np.allclose(terms.bias, changes, atol=RATE * max(1.0, np.abs(terms.bias).max()))
    check_terms(inside, contacts[::2], ANALYTIC, seed=seed)
    check_impulses(inside, contacts[::2], ANALYTIC, seed=seed)


@told
@pytest.mark.parametrize("seed", [0, 1])
def test_derivatives_of_terms(seed: int) -> None:
    """Rows are the gradients of gaps, bias their rate; all derivatives against differences of sixth order."""
    world = couple(friction=0.4)
    mechanism = derivable(world)
    mechanism.inner._model = world.model  # from which random states start
    q, v, _ = random_state(mechanism, seed)
    first, chosen = len(mechanism.names) - len(mechanism.pair_names), []
    mechanism._pairs._data.forward_kinematics(q)
    for k, pair in enumerate(mechanism._pairs.pairs):
        if is_steep(pair.features, mechanism._pairs._place(k)) or pair.name == "a/cylinder/side+b/cylinder/side":
            chosen.append(first + k)
    assert len(chosen) > 4
    check_pairs(mechanism, q, v, chosen, seed)


def pyramid(rows: int, drop: float) -> tuple[cs.ContactSystem, cs.State]:
    """Lying cylinders, those of a row SPACE apart, each row in the hollows of the one below and `drop` above it."""
    start, pitch = dict[str, tuple[Array, Array]](), 2.0 * R + SPACE
    rise = float(np.sqrt(4.0 * R * R - 0.25 * pitch * pitch))
    for row in range(rows):
        for i in range(rows - row):
            x, z = (i - 0.5 * (rows - row - 1)) * pitch, R + row * rise + (row + 1) * drop
            start[f"c{len(start)}"] = np.r_[x, 0.0, z, pin.Quaternion(ACROSS).coeffs()], np.zeros(6)
    world = cs.Robot.merge([cs.Robot.cylinder(1.0, R, LENGTH, friction=0.5)] * len(start), names=list(start))
    return cs.ContactSystem(world), cs.State(*world.pack(start))


@pytest.mark.slow_in_python
@told
@pytest.mark.parametrize(
    ("rows", "drop", "end"),
    [
        (2, 0.0, 0.3),
        pytest.param(2, 0.002, 0.5, marks=pytest.mark.slow),
        pytest.param(3, 0.0, 1.0, marks=pytest.mark.slow),
    ],
)
def test_a_pyramid_of_cylinders_stands(rows: int, drop: float, end: float) -> None:
    """Rims of equal cylinders lie on the very ends of the others' sides; what was dropped stands where it fell to."""
    system, state = pyramid(rows, drop)
    run = cs.simulate(system, state, (0.0, end))
    assert run.status.complete, run.message
    run.check()
    rest = pyramid(rows, 0.0)[1]
    assert np.abs(run.final.q - rest.q).max() <= REST and np.abs(run.final.v).max() <= REST


def tumbling(world: cs.Robot, rng: np.random.Generator) -> tuple[cs.ContactSystem, cs.State]:
    """Body "a" of a world thrown at body "b", both tumbling, without gravity."""
    away, turns = rng.normal(size=3), rng.normal(size=(2, 3))
    away = away / np.linalg.norm(away)
    own = pin.exp3(turns[0]).T @ (-2.0 * away + 0.1 * rng.normal(size=3))
    start = {
        "a": (pose(*(0.5 * away), turns[0]), [*own, *rng.normal(size=3)]),
        "b": (pose(0.0, 0.0, 0.0, turns[1]), [0.0, 0.0, 0.0, *rng.normal(size=3)]),
    }
    return cs.ContactSystem(world, OFF, gravity=(0.0, 0.0, 0.0)), cs.State(*world.pack(start))


def thrown(seed: int) -> tuple[cs.ContactSystem, cs.State]:
    """A tumbling cylinder thrown at another one."""
    rng = np.random.default_rng(seed)
    return tumbling(couple(friction=rng.uniform(0.1, 1.0), restitution=(0.0, 0.4)[seed % 2]), rng)


@pytest.mark.slow_in_python
@told
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_thrown_cylinders_stay_outside_each_other(seed: int) -> None:
    system, state = thrown(seed)
    run = cs.simulate(system, state, (0.0, 0.25), tolerances=FINE)
    assert run.status.complete, run.message
    run.check()
    assert any(event.impulses for event in run.events)
    assert min(apart(run(t).q) for t in np.linspace(0.0, 0.25, 26)) >= -INSIDE


@told
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_derivative_of_thrown_cylinders(seed: int) -> None:
    """Through impacts and what takes over from what behind them."""
    system, state = thrown(seed)
    direction = np.random.default_rng(seed).normal(size=2 * system.world.nv)
    check_derivative(system, state, 0.24, [direction], step=2e-6)


def over_an_end(friction: float, speed: float, rolling: float, ahead: float) -> tuple[cs.ContactSystem, cs.State]:
    """A cylinder that lands across a fixed one some way ahead of its end, and slides or rolls over that."""
    base, body = (cs.Robot.cylinder(1.0, *size, friction=friction, root=root) for size, root in LAID)
    world = cs.Robot.merge([base, body], names=["base", "body"], placements=[ALONG_X, None])
    turn = pin.exp3(np.array([0.0, 0.0, 0.2])) @ ACROSS
    axis, (radius, length) = turn[:, 2], LAID[1][0]
    place = np.array([0.0, 0.0, LAID[0][0][0] + radius + 3e-4]) + (0.5 * length - ahead) * axis
    velocity = speed * axis - np.array([0.0, 0.0, 0.05])
    q = np.concatenate([place, pin.Quaternion(turn).coeffs()])
    spin = turn.T @ np.array([rolling, -0.05, 0.2])
    return cs.ContactSystem(world, OFF), cs.State(*world.pack({"body": (q, [*(turn.T @ velocity), *spin])}))


@pytest.mark.slow_in_python
@told
@pytest.mark.parametrize(
    ("friction", "speed", "rolling", "ahead", "end"),
    [
        (0.3, 1.0, 0.0, 0.006, 0.01),
        pytest.param(0.0, 1.0, 0.0, 0.015, 0.04, marks=pytest.mark.slow),
        pytest.param(2.0, 0.0, -10.0, 0.003, 0.03, marks=pytest.mark.slow),
    ],
)
def test_side_and_rim_hand_over_without_a_jump(
    friction: float, speed: float, rolling: float, ahead: float, end: float
) -> None:
    """One event, at which one contact ends and the other goes on, and the derivative through it."""
    system, state = over_an_end(friction, speed, rolling, ahead)
    run = cs.simulate(system, state, (0.0, end), tolerances=FINE)
    run.check()
    sides = {"base/cylinder/side+body/cylinder/side", "body/cylinder/rim0+base/cylinder/side"}
    (event,) = [event for event in run.events if set(event.contacts) == sides]
    assert not event.impulses
    assert np.abs(event.state_post.v - event.state_pre.v).max() <= TAKEN_OVER
    assert np.array_equal(event.state_post.q, event.state_pre.q)
    check_derivative(system, state, end, [np.random.default_rng(3).normal(size=2 * system.world.nv)], step=3e-6)


def beside_an_end(rng: np.random.Generator) -> Place:
    """A tilted cylinder whose lowest point is level with the upper end of another one, and a little beyond its rim."""
    (one, two), beyond = SIZES, 10.0 ** rng.uniform(-5, -3)
    tilt, ahead, aside = rng.uniform([0.2, 0.0, 0.0], [1.2, 2.0 * np.pi, 2.0 * np.pi])
    turn = pin.exp3(tilt * np.array([np.cos(aside), np.sin(aside), 0.0]))
    down = -turn[2, :2] / np.linalg.norm(turn[2, :2])
    touched = np.array([*((one[0] + beyond) * np.array([np.cos(ahead), np.sin(ahead)])), 0.5 * one[1]])
    return Place(np.eye(3), np.zeros(3), turn, touched - turn @ np.array([*(two[0] * down), -0.5 * two[1]]))


@pytest.mark.parametrize("seed", range(10))
def test_rims_beside_an_end_are_found_beyond_the_normal_of_that(seed: int) -> None:
    """Their normal leans a little from that of the end, where g has a kink: no search ends there that comes upon it."""
    (one, two), place = SIZES, beside_an_end(np.random.default_rng(seed))
    rims = Rim(one[0], 0.5 * one[1], 1.0), Rim(two[0], 0.5 * two[1], -1.0)
    poses, bodies = (Pose(*place[:2]), Pose(*place[2:])), (convex.cylinder(*one), convex.cylinder(*two))
    (gap, touch), back = RimOnRim(*rims).looked(place), RimOnRim(*rims[::-1]).looked(Place(*place[2:], *place[:2]))
    assert touch == back[1]
    if touch:
        around = convex.distance(bodies, poses, -1.0), convex.distance(bodies[::-1], poses[::-1], -1.0)
        assert np.ptp([gap, back[0], *around]) <= EXACT
        assert gap > 0.0


@told
@pytest.mark.slow
def test_a_rim_that_leaves_an_end_over_its_edge_meets_one_guard() -> None:
    """The rim of the end touches there, too, and its gap, of zero rate, says nothing of its own."""
    system, state = thrown(4)
    start = cs.simulate(system, state, (0.0, 0.186), tolerances=FINE)(0.186)
    run = cs.simulate(system, start, (0.0, 0.226), tolerances=FINE)
    run.check()
    end = run.events[-1]
    assert list(end.transitions) == ["b/cylinder/rim1+a/cylinder/end0"]
    assert len(end.fired) == 1
    assert np.isfinite(cs.linearize(run).matrix()).all()
