"""Ellipsoids against other bodies, by the one point at which they touch."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin
import pytest
from test_bodies import FINE, check_derivative, pose
from test_capsules import LYING, run_of
from test_edges import CUBE, OFF, on_fixed
from test_merge import RATE, derivable

import contactsim as cs

Array = np.ndarray
RADII = (0.1, 0.07, 0.05)
ALIKE = 1e-11  # m and m/s, runs on a box and on level ground
NEAREST = 1e-5  # m, of coal's distance of curved shapes

HULL = np.array(CUBE) * [0.4, 0.3, 0.2] + np.array([[0.02, -0.01, 0.0]]) * np.arange(8)[:, None]


def ellipsoid(radii: tuple[float, ...] = RADII, **coefficients: float) -> cs.Robot:
    return cs.Robot.ellipsoid(1.0, radii, **{"friction": 0.5, **coefficients})


OTHERS = {
    "box": lambda: cs.Robot.box(1.0, (0.4, 0.3, 0.2)),
    "hull": lambda: cs.Robot.hull(1.0, HULL),
    "ball": lambda: cs.Robot.sphere(1.0, 0.15),
    "capsule": lambda: cs.Robot.capsule(1.0, 0.1, 0.3),
    "ellipsoid": lambda: cs.Robot.ellipsoid(1.0, (0.1, 0.2, 0.15)),
}
COAL = {
    "box": lambda: coal.Box(0.4, 0.3, 0.2),
    "ball": lambda: coal.Sphere(0.15),
    "capsule": lambda: coal.Capsule(0.1, 0.3),
    "ellipsoid": lambda: coal.Ellipsoid(0.1, 0.2, 0.15),
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


def test_an_ellipsoid_on_a_box_moves_as_on_level_ground() -> None:
    q, v = pose(0.0, 0.0, 0.15, np.array([0.3, 0.5, 0.1])), np.array([0.3, 0.2, 0, 1.0, 2.0, 0.5])
    on_box = run_of(on_fixed((1.0, 1.0, 0.1), ellipsoid()), q, v, 0.4)
    on_ground = cs.simulate(cs.ContactSystem(ellipsoid()), cs.State(q, v), (0.0, 0.4), tolerances=FINE)
    assert len(on_box.events) == len(on_ground.events) > 0
    assert np.abs(on_box.final.q - on_ground.final.q).max() <= ALIKE
    assert np.abs(on_box.final.v - on_ground.final.v).max() <= ALIKE


def test_an_ellipsoid_with_equal_radii_is_a_ball() -> None:
    """On the side of a capsule and over its end."""
    place = pin.SE3(pin.exp3(LYING), np.zeros(3))
    base = cs.Robot.capsule(1.0, 0.05, 0.3, root="fixed", friction=0.5)
    ends = []
    for body in (cs.Robot.sphere(1.0, 0.1, friction=0.5), ellipsoid((0.1, 0.1, 0.1))):
        world = cs.Robot.merge([base, body], names=["base", "body"], placements=[place, None])
        run = run_of(world, pose(0.13, 0.001, 0.16), np.array([0.2, 0, 0, 0, 0, 0]), 0.5)
        ends.append(run.final)
    assert np.abs(ends[0].v - ends[1].v).max() <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("x", "restitution", "end"), [(0.49, 0.0, 0.14), (0.49, 0.3, 0.08), (0.47, 0.0, 0.15)])
def test_derivative_over_an_edge(x: float, restitution: float, end: float) -> None:
    """An ellipsoid lands on the edge of a box, slips over it and leaves, or bounces off."""
    rng = np.random.default_rng(0)
    world = on_fixed((1.0, 1.0, 0.1), ellipsoid(restitution=restitution), restitution=restitution)
    q = pose(x, 0.3, 0.075, np.array([0.3, 0.5, 0.1]))
    state = cs.State(*world.pack({"body": (q, np.array([0.5, 0.2, -0.2, 1.0, 3.0, 0.5]))}))
    check_derivative(cs.ContactSystem(world, OFF), state, end, [rng.normal(size=2 * world.nv)], step=1e-5)
