"""Cylinders against boxes, hulls and capsules as they are: their sides, rims and ends on faces, edges and corners."""

from __future__ import annotations

from collections import Counter

import coal
import numpy as np
import pinocchio as pin
import pytest
from test_bodies import FINE, check_derivative, pose
from test_derivatives import ANALYTIC, check_impulses, check_terms, random_state
from test_edges import OFF, on_fixed
from test_merge import RATE, derivable
from test_rims import ACROSS, EXACT, STEEP, tumbling

import contactsim as cs
from contactsim.multibody.geometry import convex
from contactsim.multibody.geometry.bodies import bodies_of
from contactsim.multibody.geometry.closest_points.equations import Pose
from contactsim.multibody.geometry.edges import EdgeOnEdge
from contactsim.multibody.geometry.features import FeaturePair, Place
from contactsim.multibody.geometry.rims import RimOnPart

Array = np.ndarray
R, LENGTH = 0.1, 0.3  # m
CORNERS = [(-0.1, -0.08, -0.09), (0.12, -0.1, -0.07), (0.02, 0.14, -0.1), (0.0, 0.01, 0.13), (0.11, 0.06, 0.05)]
NEAR, ROUGHLY = 1e-7, 1e-5  # m, the latter more than Coal errs by
SPIN, HOLDS = 3.0, 1e-10  # rad/s, and J of what rolls: relative to its energy
TAKEN_OVER = 1e-8  # m/s, what the normal of a contact that goes on a nanometre later leaves, at 0.3 m/s and 0.1 m
ROLLS = 1e-10  # m, off the closed form
RESTS = 1e-9  # m, rad, m/s, rad/s


def couple(kind: str, **coefficients: float) -> cs.Robot:
    """A cylinder and another body."""
    coefficients = {"friction": 0.4, **coefficients}
    drum = cs.Robot.cylinder(1.0, R, LENGTH, **coefficients)
    if kind == "capsule":
        other = cs.Robot.capsule(1.0, 0.06, 0.3, **coefficients)
    elif kind == "box":
        other = cs.Robot.box(1.0, (0.2, 0.3, 0.12), **coefficients)
    else:
        other = cs.Robot.hull(1.0, CORNERS, **coefficients)
    return cs.Robot.merge([drum, other], names=["a", "b"])


def touching(world: cs.Robot, seed: int) -> tuple[Array, float]:
    """Both in random axes, moved together until they are NEAR, and their distance by their shapes alone."""
    rng = np.random.default_rng(seed)
    turns, way = 2.0 * rng.normal(size=(2, 3)), rng.normal(size=3)
    way = way / np.linalg.norm(way)
    bodies = tuple(shape.body for shape in bodies_of(world).shapes)

    def placed(s: float) -> tuple[pin.SE3, pin.SE3]:
        return pin.SE3(pin.exp3(turns[0]), np.zeros(3)), pin.SE3(pin.exp3(turns[1]), s * way)

    def distance(s: float) -> float:
        return convex.distance(bodies, tuple(Pose(p.rotation, p.translation) for p in placed(s)), -1.0)

    near, far, normal = 0.0, 0.6, way
    for _ in range(30):
        middle = 0.5 * (near + far)
        places = [coal.Transform3s(place.rotation, place.translation) for place in placed(middle)]
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        apart = coal.distance(bodies[0].shape, places[0], bodies[1].shape, places[1], request, result)
        normal = result.normal if apart >= ROUGHLY else normal
        near, far = (middle, far) if apart < ROUGHLY else (near, middle)
    far -= (distance(far) - NEAR) / abs(float(normal @ way))
    return np.concatenate([pin.SE3ToXYZQUAT(place) for place in placed(far)]), distance(far)


def kind_of(name: str) -> str:
    return "+".join(part.split("/")[-1].rstrip("0123456789") or "corner" for part in name.split("+"))


MEETINGS = {
    "capsule": {"corner+cylinder", "rim+side", "side+side"},
    "box": {"corner+cylinder", "rim+edge", "rim+face", "side+edge"},
    "hull": {"corner+cylinder", "rim+edge", "rim+face", "side+edge"},
}


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        ("capsule", range(4)),
        ("box", range(4)),
        *(pytest.param(kind, range(100, 400), marks=pytest.mark.slow) for kind in MEETINGS),
    ],
)
def test_the_nearest_features_are_as_far_apart_as_the_bodies(kind: str, seeds: range) -> None:
    """By their own equations; what does not touch with its features is further away, or told to be OFF."""
    world = couple(kind)
    mechanism = cs.ContactSystem(world, OFF).mechanism
    names = mechanism.pair_names
    first, kinds = len(mechanism.names) - len(names), Counter[str]()
    for seed in seeds:
        q, distance = touching(world, seed)
        assert 0.0 < distance < 5.0 * NEAR, seed
        gaps = mechanism.gaps(0.0, q)[first:]
        least = int(np.argmin(gaps))
        assert gaps[least] == pytest.approx(distance, abs=EXACT), (seed, names[least])
        assert mechanism._pairs.gap(q, least) == pytest.approx(gaps[least], abs=EXACT)
        kinds[kind_of(names[least])] += 1
    assert set(kinds) <= MEETINGS[kind]
    assert len(seeds) < 100 or set(kinds) == MEETINGS[kind], kinds


def is_regular(features: FeaturePair, place: Place) -> bool:
    """Whether a rim touches far from where it would lie flat, or along an edge; sides across edges."""
    if isinstance(features, RimOnPart):
        found = features._nearest(place)
        if found is None:
            return False
        margins = [float(margin.value) for margin in features._margins(place, found)]
        return min(margins[0], margins[-1] if features.part.sharp else 1.0) > STEEP
    if isinstance(features, EdgeOnEdge):
        return features.standing is None and float(features._arcs(place)[1].sine) > STEEP
    return True


@pytest.mark.parametrize("kind", ["capsule", "box", pytest.param("hull", marks=pytest.mark.slow)])
def test_derivatives_of_terms(kind: str) -> None:
    """Rows are the gradients of gaps, bias their rate; all derivatives against differences of sixth order."""
    world = couple(kind)
    mechanism = derivable(world)
    mechanism.inner._model = world.model  # from which random states start
    q, v, _ = random_state(mechanism, 0)
    first, chosen = len(mechanism.names) - len(mechanism.pair_names), dict[str, list[int]]()
    mechanism._pairs._data.forward_kinematics(q)
    for k, pair in enumerate(mechanism._pairs.pairs):
        known = chosen.setdefault(kind_of(pair.name), [])
        if len(known) < 2 and is_regular(pair.features, mechanism._pairs._place(k)):
            known.append(first + k)
    contacts = tuple(k for known in chosen.values() for k in known)
    assert MEETINGS[kind] <= {kind for kind, known in chosen.items() if known}
    inside = mechanism.within({i: mechanism.region(q, i) for i in contacts})
    terms = inside.terms(0.0, q, v, contacts)

    def moved(h: float) -> tuple[Array, Array]:
        there = mechanism.space.integrate(q, h * v)
        return inside.gaps(0.0, there)[list(contacts)], inside.terms(0.0, there, v, contacts).rates

    rates, changes = ((one - two) / 2e-5 for one, two in zip(moved(1e-5), moved(-1e-5), strict=True))
    assert np.allclose(terms.rates[::3], rates, atol=RATE)
    assert np.allclose(terms.bias, changes, atol=RATE * max(1.0, np.abs(terms.bias).max()))
    check_terms(inside, contacts, ANALYTIC, seed=0)
    check_impulses(inside, contacts, ANALYTIC, seed=0)


def rolling(ahead: float, turn: float = 0.0, tilt: float = 0.0) -> tuple[cs.ContactSystem, cs.State]:
    """A cylinder that rolls on a box some way ahead of its edge.

    Its axis is turned from along that, and tilted, so that one rim after the other lands first.
    """
    world = on_fixed((1.0, 1.0, 0.1), cs.Robot.cylinder(1.0, R, LENGTH, friction=0.8))
    axes = pin.exp3(np.array([0.0, 0.0, turn])) @ ACROSS
    forth = np.cross([0.0, 0.0, 1.0], axes[:, 2])
    forth = forth if forth[0] > 0.0 else -forth
    spin = np.cross([0.0, 0.0, 1.0], forth) * SPIN
    axes = pin.exp3(tilt * forth) @ axes
    height = R * np.cos(tilt) + 0.5 * LENGTH * np.sin(tilt) + (1e-4 if tilt else 0.0)
    q = np.r_[0.5 - ahead, 0.0, height, pin.Quaternion(axes).coeffs()]
    start = {"body": (q, np.r_[axes.T @ forth * SPIN * R, axes.T @ spin])}
    return cs.ContactSystem(world, OFF), cs.State(*world.pack(start))


def energies(run: cs.Trajectory, end: float) -> list[float]:
    return [run.system.energy(np.r_[run(t).q, run(t).v]) for t in np.linspace(0.0, end, 9)]


@pytest.mark.slow_in_python
def test_a_cylinder_rolls_on_a_box_and_over_its_edge() -> None:
    """First v = R w, without an event, then both rims hand over to the edge, about which it turns.

    Nothing is lost: there w^2 grows by 4 g (1 - cos a) / 3 R with the angle a.
    """
    system, state = rolling(0.09)
    run = cs.simulate(system, state, (0.0, 0.42), tolerances=FINE)
    run.check()
    (event,) = run.events
    assert np.allclose(run(0.25).q[:3], [0.41 + 0.25 * SPIN * R, 0.0, R], atol=ROLLS)
    assert event.time == pytest.approx(0.3, abs=1e-8) and not event.impulses
    assert np.abs(event.state_post.v - event.state_pre.v).max() <= TAKEN_OVER
    closed = [name for name, mode in run.mode_at(0.4).items() if mode is not cs.Mode.OPEN]
    assert len(closed) == 2 and all("rim" in name and "/edge" in name for name in closed)
    assert np.ptp(energies(run, 0.42)) <= HOLDS
    angle = np.arctan2(run.final.q[0] - 0.5, run.final.q[2])
    faster = SPIN**2 + 4.0 * 9.81 * (1.0 - np.cos(angle)) / (3.0 * R)
    assert angle > 0.3 and np.linalg.norm(run.final.v[3:]) ** 2 == pytest.approx(faster, rel=1e-7)


@pytest.mark.parametrize("width", [0.2, pytest.param(0.4, marks=pytest.mark.slow)])
def test_a_board_rocks_on_a_cylinder(width: float) -> None:
    """On its edges across the side, or its face on the rims: it rolls, so that its place follows from its angle."""
    base = cs.Robot.cylinder(1.0, R, LENGTH, root="fixed", friction=0.8)
    plank = cs.Robot.box(1.0, (0.8, width, 0.04), friction=0.8)
    place = pin.SE3(ACROSS, np.zeros(3))
    world = cs.Robot.merge([base, plank], names=["base", "body"], placements=[place, None])
    start = world.pack({"body": (pose(0, 0, R + 0.02), [0.02 * 0.8, 0, 0, 0, 0.8, 0])})
    run = cs.simulate(cs.ContactSystem(world, OFF), cs.State(*start), (0.0, 0.2), tolerances=FINE)
    assert run.status.complete, run.message
    run.check()
    turn = pin.XYZQUATToSE3(run.final.q).rotation
    angle = np.arctan2(turn[0, 2], turn[2, 2])
    up, along = np.array([np.sin(angle), 0.0, np.cos(angle)]), np.array([np.cos(angle), 0.0, -np.sin(angle)])
    assert abs(angle) > 0.02
    assert np.allclose(run.final.q[:3], (R + 0.02) * up - R * angle * along, atol=1e-9)
    assert np.ptp(energies(run, 0.2)) <= HOLDS


def test_a_peg_leans_on_an_edge() -> None:
    """Its lower rim on the ground, its side on the edge of a box: it stays there."""
    lean, reach, radius = 0.5, 0.25, 0.03  # rad, m up its lowest side from the ground to the edge, m
    top = reach * np.cos(lean)
    world = on_fixed((0.4, 0.4, top), cs.Robot.cylinder(1.0, radius, 0.4, friction=0.8), top=top)
    along, out = np.array([np.sin(lean), 0.0, np.cos(lean)]), np.array([np.cos(lean), 0.0, -np.sin(lean)])
    foot = np.array([-0.2, 0.0, top]) - reach * along  # where its lowest side meets the ground
    q = np.r_[foot - radius * out + 0.2 * along, pin.Quaternion(pin.exp3(np.array([0.0, lean, 0.0]))).coeffs()]
    run = cs.simulate(cs.ContactSystem(world), cs.State(*world.pack({"body": (q, np.zeros(6))})), (0.0, 0.5))
    assert run.status.complete, run.message
    run.check()
    closed = [name for name, mode in run.mode_at(0.4).items() if mode is not cs.Mode.OPEN]
    assert len(closed) == 2 and any("side+base/base/edge" in name for name in closed)
    assert np.abs(run.final.q - q).max() <= RESTS and np.abs(run.final.v).max() <= RESTS


def on_capsule() -> tuple[cs.ContactSystem, cs.State]:
    """A cylinder that lands across a fixed capsule, and slides over its own end."""
    base = cs.Robot.capsule(1.0, 0.1, 0.6, root="fixed", friction=0.3)
    place = pin.SE3(pin.exp3(np.array([0.0, np.pi / 2, 0.0])), np.zeros(3))
    body = cs.Robot.cylinder(1.0, 0.07, 0.25, friction=0.3)
    world = cs.Robot.merge([base, body], names=["base", "body"], placements=[place, None])
    turn = pin.exp3(np.array([0.0, 0.0, 0.2])) @ ACROSS
    axis = turn[:, 2]
    q = np.r_[np.array([0.0, 0.0, 0.17 + 3e-4]) + 0.119 * axis, pin.Quaternion(turn).coeffs()]
    v = np.r_[turn.T @ (axis - np.array([0.0, 0.0, 0.05])), turn.T @ np.array([0.0, -0.05, 0.2])]
    return cs.ContactSystem(world, OFF), cs.State(*world.pack({"body": (q, v)}))


@pytest.mark.slow
@pytest.mark.parametrize("end", [0.14, 0.4])
def test_derivative_over_the_edge_of_a_box(end: float) -> None:
    """Askew it leaves the top by one rim, then by the other; its side goes on along the edge."""
    system, state = rolling(0.06, turn=0.2, tilt=0.01)
    check_derivative(system, state, end, [np.random.default_rng(3).normal(size=2 * system.world.nv)], step=2e-6)


def test_derivative_over_the_end_on_a_capsule() -> None:
    system, state = on_capsule()
    check_derivative(system, state, 0.01, [np.random.default_rng(3).normal(size=2 * system.world.nv)], step=2e-6)


def test_a_cylinder_rolls_down_a_half_space() -> None:
    """a = 2/3 g sin(slope), on both rims; as it stands, on points of one."""
    slope = 0.3
    plane = cs.Robot.box(1.0, (0.1, 0.1, 0.1), name="plane", root="fixed", friction=0.8)
    turn = pin.exp3(np.array([0.0, slope, 0.0]))
    quaternion = tuple(pin.Quaternion(turn).coeffs().tolist())
    plane = plane._with(_solids=(cs.Solid("plane", "half_space", quaternion=quaternion, friction=0.8),))
    world = cs.Robot.merge([plane, cs.Robot.cylinder(1.0, R, LENGTH, friction=0.8)], names=["base", "body"])
    system = cs.ContactSystem(world, OFF)
    q = np.r_[R * turn[:, 2], pin.Quaternion(turn @ ACROSS).coeffs()]
    run = cs.simulate(system, cs.State(*world.pack({"body": (q, np.zeros(6))})), (0.0, 0.5), tolerances=FINE)
    run.check()
    way = 9.81 * np.sin(slope) / 3.0 * 0.25
    assert np.allclose(run.final.q[:3], R * turn[:, 2] + way * turn[:, 0], atol=ROLLS) and not run.events
    upright = np.r_[0.5 * LENGTH * turn[:, 2], pin.Quaternion(turn).coeffs()]
    stood = cs.simulate(system, cs.State(*world.pack({"body": (upright, np.zeros(6))})), (0.0, 0.1))
    stood.check()
    assert np.abs(stood.final.q - upright).max() <= RESTS


def thrown(kind: str, seed: int) -> tuple[cs.ContactSystem, cs.State]:
    """A tumbling cylinder thrown at another body."""
    rng = np.random.default_rng(seed)
    return tumbling(couple(kind, friction=rng.uniform(0.1, 1.0), restitution=(0.0, 0.4)[seed % 2]), rng)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("capsule", 1),
        ("box", 1),
        *(pytest.param(kind, seed, marks=pytest.mark.slow) for kind in MEETINGS for seed in (0, 2, 3, 4)),
    ],
)
def test_thrown_bodies_stay_outside_each_other(kind: str, seed: int) -> None:
    """As the check measures by their shapes alone."""
    run = cs.simulate(*thrown(kind, seed), (0.0, 0.35), tolerances=FINE)
    assert run.status.complete, run.message
    assert run.events
    run.check()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed", "end"), [("capsule", 0, 0.295), ("box", 2, 0.22), ("hull", 2, 0.2)])
def test_derivative_of_thrown_bodies(kind: str, seed: int, end: float) -> None:
    """Through impacts, from side to round end, from face to edge and from rim to side, by what takes over."""
    system, state = thrown(kind, seed)
    check_derivative(system, state, end, [np.random.default_rng(seed).normal(size=24)], step=2e-6)
