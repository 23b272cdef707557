"""What is dropped in odd ways, or has odd shapes: it comes to its end outside of all else, and the check is content."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs

Array = np.ndarray
OUTSIDE = 1e-9  # m, that bodies may be inside each other
STILL = np.zeros(6)
UPRIGHT = pin.exp3(np.array([0.5 * np.pi, 0.0, 0.0]))  # of a disc, on its rim


def at(x: float, y: float, z: float, turn: Array) -> Array:
    """A configuration of a free body."""
    return np.r_[x, y, z, pin.Quaternion(turn).coeffs()]


def turned(*way: float) -> Array:
    """A rotation (3, 3)."""
    return np.asarray(pin.exp3(np.array(way)))


def fixed(*sides: float) -> cs.Robot:
    """A box of the world."""
    return cs.Robot.box(1.0, sides, root="fixed", friction=0.5)


def outside(run: cs.Trajectory) -> cs.Trajectory:
    """A run that comes to its end, with nothing inside of anything."""
    assert run.status is cs.Status.FINISHED, run.message
    run.check()
    mechanism = run.system.world.mechanism
    for t in np.linspace(0.0, run.t[-1], 21):
        assert all(over.depth < OUTSIDE for over in mechanism.overlaps(t, run(t).q))
    return run


def on_table(body: cs.Robot, start: Array, v: Array = STILL, end: float = 0.5) -> cs.Trajectory:
    """A body above a box whose top is at z = 0.5, and which reaches to x = 0.2."""
    world = cs.Robot.merge([fixed(0.4, 0.4, 0.1), body], ["table", "body"], placements=[(0.0, 0.0, 0.45), None])
    return outside(cs.simulate(cs.ContactSystem(world), cs.State(*world.pack({"body": (start, v)})), (0.0, end)))


@pytest.mark.slow_in_python
@pytest.mark.parametrize("yaw", [0.0, 0.3, 0.5 * np.pi])
def test_a_coin_on_its_rim_on_the_edge_of_a_box(yaw: float) -> None:
    """Just above the edge it stands in unstable balance; a little off it falls from the box."""
    coin = cs.Robot.cylinder(0.01, 0.012, 0.002, friction=0.3, restitution=0.3)
    stands, falls = (on_table(coin, at(0.2 + dx, 0.0, 0.53, turned(0.0, 0.0, yaw) @ UPRIGHT)) for dx in (0.0, 1e-4))
    assert np.allclose(stands.final.q[:3], [0.2, 0.0, 0.512], atol=1e-9)
    assert falls.final.q[2] < 0.4


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.slow_in_python) for seed in range(2))])
def test_an_ellipsoid_in_the_corner_of_two_half_spaces(seed: int) -> None:
    """It comes to rest between them."""
    plane = cs.Robot.box(1.0, (0.1, 0.1, 0.1), root="fixed")
    plane = plane._with(_solids=(cs.Solid("box", "half_space", friction=0.3),))
    egg = cs.Robot.ellipsoid(0.5, (0.05, 0.08, 0.03), friction=0.3, restitution=0.2)
    walls = [pin.SE3(turned(0.0, lean, 0.1 * seed), np.array([0.0, 0.0, 1.0])) for lean in (0.8, -0.6)]
    world = cs.Robot.merge([plane, plane, egg], ["one", "two", "egg"], placements=[*walls, None])
    turn = turned(*np.random.default_rng(seed).normal(size=3))
    start = cs.State(*world.pack({"egg": (at(0.0, 0.0, 1.3, turn), STILL)}))
    run = outside(cs.simulate(cs.ContactSystem(world, terrain=cs.terrain.Flat(-5.0)), start, (0.0, 1.0)))
    assert 1.03 < run.final.q[2] < 1.1


@pytest.mark.parametrize(("gap", "through"), [(0.101, True), (0.1001, False), (0.0999, False)])
def test_a_hull_falls_through_a_gap_that_is_wide_enough(gap: float, through: bool) -> None:
    """It is 10 cm wide, and comes tilted by 2 mrad: it takes 0.2 mm more."""
    corners = [(x, y, z) for x in (-0.05, 0.05) for y in (-0.04, 0.04) for z in (-0.06, 0.06)]
    parts = [fixed(0.2, 0.4, 0.1), fixed(0.2, 0.4, 0.1), cs.Robot.hull(0.5, corners, friction=0.2)]
    aside = 0.1 + 0.5 * gap
    world = cs.Robot.merge(parts, ["left", "right", "hull"], placements=[(-aside, 0, 0.5), (aside, 0, 0.5), None])
    start = cs.State(*world.pack({"hull": (at(0.0, 0.0, 0.65, turned(0.0, 0.002, 0.0)), STILL)}))
    run = outside(cs.simulate(cs.ContactSystem(world), start, (0.0, 0.6)))
    assert bool(run.final.q[2] < 0.1) is through


@pytest.mark.parametrize("thickness", [1e-9, 1e-6, 1e-4])
def test_a_plate_of_hardly_any_thickness_lands(thickness: float) -> None:
    """One of none is refused, by its side."""
    plate = cs.Robot.box(0.1, (0.1, 0.1, thickness), friction=0.4)
    run = on_table(plate, at(0.0, 0.0, 0.55, turned(0.3, 0.1, 0.0)))
    assert abs(run.final.q[2] - 0.5 - 0.5 * thickness) < 1e-8
    with pytest.raises(cs.InputError, match=r"the side of 'box' is 0.0; give a positive number"):
        cs.Robot.box(0.1, (0.1, 0.1, 0.0))


@pytest.mark.parametrize("dent", [1e-12, 1e-9, 1e-7, 1e-5])
def test_a_hull_with_nearly_coplanar_faces_slides(dent: float) -> None:
    """One corner of its lower face is higher by so much: it lands, slides and turns as that of a box."""
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]
    corners[-2] = (0.1, 0.1, -0.05 + dent)
    body = cs.Robot.hull(0.5, corners, friction=0.4)
    run = on_table(body, at(0.05, 0.02, 0.553, np.eye(3)), np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.5]))
    assert abs(run.final.q[2] - 0.55) < 2.0 * dent + 1e-8
    assert np.abs(run.final.v).max() < 1e-6


def fallen(L: float) -> cs.Trajectory:
    """A box and a cylinder of a size [m], which fall on a table and on each other."""
    mass, look = 1e3 * L**3, {"friction": 0.4}
    parts = [cs.Robot.box(mass, (L, 0.7 * L, 0.5 * L), **look), cs.Robot.cylinder(mass, 0.4 * L, L, **look)]
    names, held = ["table", "box", "drum"], (0.0, 0.0, 4.5 * L)
    world = cs.Robot.merge([fixed(4.0 * L, 4.0 * L, L), *parts], names, placements=[held, None, None])
    places = at(0.0, 0.0, 6.0 * L, turned(0.3, 0.2, 0.1)), at(0.1 * L, 0.1 * L, 7.2 * L, turned(0.4, 0.2, 0.1))
    state = cs.State(*world.pack({name: (q, STILL) for name, q in zip(names[1:], places, strict=True)}))
    return outside(cs.simulate(cs.ContactSystem(world), state, (0.0, 0.8 * np.sqrt(L))))


@pytest.mark.slow_in_python
def test_bodies_of_a_hundred_metres_fall_as_those_of_one() -> None:
    """Event by event."""
    one, other = fallen(1.0), fallen(100.0)
    assert len(one.events) == len(other.events) > 3
    for k in (0, 7):
        assert np.abs(other.final.q[k : k + 3] / 100.0 - one.final.q[k : k + 3]).max() < 1e-4


@pytest.mark.slow_in_python
def test_bodies_of_a_millimetre_fall_outside_of_each_other() -> None:
    """As those of a metre do, up to where lengths such as `zero.OFF` are no longer small for them."""
    one, other = fallen(1.0), fallen(1e-3)
    for k in range(2):
        assert abs(other.events[k].time / np.sqrt(1e-3) / one.events[k].time - 1.0) < 1e-6
