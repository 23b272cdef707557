"""Runs of cylinders and cones that stand, tip, roll and lie on hills, with their derivatives."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from tolerances import THROUGH_SHAPES

import contactsim as cs

HIGH, WAVES = 0.02, 5.0
RIDGES = cs.terrain.Sinusoid(HIGH, WAVES, 0.0)
TOP = np.pi / 2.0 / WAVES
DEEP = 1e-8  # m
FIELD = cs.terrain.HeightField(
    np.linspace(-3.0, 3.0, 25), np.linspace(-3.0, 3.0, 25), 0.02 * np.random.default_rng(4).normal(size=(25, 25))
)


def names(system: cs.ContactSystem, traj: cs.Trajectory) -> list[list[str]]:
    return [[system.world.mechanism.names[i] for i in arc.mode.closed] for arc in traj.arcs]


def body(kind: str, radius: float, restitution: float) -> cs.Robot:
    make = cs.Robot.cylinder if kind == "cylinder" else cs.Robot.cone
    return make(1.0, radius, 0.16, friction=0.6, restitution=restitution)


def dropped(seed: int) -> cs.State:
    rng = np.random.default_rng(seed)
    axis, angle, place = rng.normal(size=3), rng.uniform(0.0, 0.4), rng.uniform(-1.0, 1.0, 2)
    q = [*place, 0.2, *np.sin(0.5 * angle) * axis / np.linalg.norm(axis), np.cos(0.5 * angle)]
    return cs.State(q, [*0.2 * rng.normal(size=3), *rng.normal(size=3)])


def laid(seed: int, radius: float) -> cs.State:
    rng = np.random.default_rng(seed)
    q = [*rng.uniform(-1.0, 1.0, 2), radius + 0.1, np.sin(np.pi / 4.0), 0.0, 0.0, np.cos(np.pi / 4.0)]
    return cs.State(q, [*0.5 * rng.normal(size=3), *2.0 * rng.normal(size=3)])


MEETING = pytest.mark.xfail(reason="two points of a rim come into one of its sectors while both touch: the run ends")


@pytest.mark.parametrize("end", [0.163, 0.25])
def test_a_body_in_flight_does_not_fall_in_between_features_that_act_for_a_moment(end: float) -> None:
    """In a long step each sector of its rim was the nearest one for a moment only; the cone was 4 mm in the ground."""
    system = cs.ContactSystem(cs.Robot.cone(1.0, 0.0466, 0.16, friction=0.0), terrain=RIDGES)
    first = cs.simulate(system, dropped(24), (0.0, end)).all_events[0]
    assert abs(first.time - 0.160219927964) < 1e-11
    assert abs(system.world.mechanism.gaps(first.time, first.x_pre[:7])).min() < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "ground", "radius", "restitution", "seed"),
    [
        ("cylinder", "field", 0.05, 0.0, 1),
        ("cylinder", "sine", 0.05, 0.3, 2),
        ("cylinder", "sine", 0.03, 0.0, 4),
        ("cylinder", "field", 0.1, 0.3, 5),
        pytest.param("cone", "sine", 0.05, 0.0, 1, marks=MEETING),
        ("cone", "field", 0.06, 0.3, 2),
    ],
)
def test_dropped_and_rolled(kind: str, ground: str, radius: float, restitution: float, seed: int) -> None:
    """They were up to 1e-2 m in the ground where a rim handed over to the points on which it stands."""
    system = cs.ContactSystem(body(kind, radius, restitution), terrain=RIDGES if ground == "sine" else FIELD)
    for state in (dropped(seed), *([laid(seed, radius)] if kind == "cylinder" else [])):
        traj = cs.simulate(system, state, (0.0, 1.0))
        assert traj.status.complete, traj.message
        assert traj.check()["penetration [m]"] < DEEP


def test_a_cylinder_rocks_on_a_ridge_with_two_points_of_its_rim() -> None:
    """It stands on the ends of a chord, which cross the borders of sectors without an impact."""
    half = 0.05
    system = cs.ContactSystem(cs.Robot.cylinder(1.0, 0.05, 2.0 * half, friction=0.9), terrain=RIDGES)
    w = np.array([0.0, 0.5, 0.0])
    q = np.array([TOP, 0.0, HIGH + half, 0.0, 0.0, 0.0, 1.0])
    traj = cs.simulate(system, cs.State(q, [*np.cross(w, [0.0, 0.0, half]), *w]), (0.0, 0.02))
    assert traj.status.complete, traj.message
    assert traj.check()["penetration [m]"] < DEEP
    assert all(len(closed) == 2 and all("/rim0." in name for name in closed) for closed in names(system, traj))
    assert not any(event.transition.impulses for event in traj.events if event.fired)


def tipping(by: float) -> cs.State:
    """A cylinder that tips on a slope, held by one point of its rim."""
    arm, R = np.array([0.05, 0.0, -0.05]), pin.utils.rpyToMatrix(0.0, -0.015, 0.0)
    w = np.array([0.2 - by, 3.0 + by, 0.4 + by])
    return cs.State([*-(R @ arm), *pin.Quaternion(R).coeffs()], [*np.cross(w, -(R @ arm)), *w])


@pytest.mark.slow_in_python
def test_the_derivative_through_a_sector_that_hands_over_to_its_rim() -> None:
    system = cs.ContactSystem(cs.Robot.cylinder(1.0, 0.05, 0.1, friction=0.9), terrain=RIDGES)
    h, tight, space = 1e-4, cs.Tolerances(rtol=1e-11, atol=1e-12), system.world.space

    def run(by: float) -> np.ndarray:
        return cs.simulate(system, tipping(by), (0.0, 0.015), tolerances=tight).final_x

    traj = cs.simulate(system, tipping(0.0), (0.0, 0.015), tolerances=tight)
    traj.check()
    assert names(system, traj)[-2:] == [["cylinder/rim0.2"], ["cylinder/rim0"]]
    assert not traj.events[-1].transition.impulses
    wanted = (space.difference(traj.final_x, run(h)) - space.difference(traj.final_x, run(-h))) / (2.0 * h)
    found = cs.linearize(traj)(np.concatenate([np.zeros(6), tipping(1.0).v - tipping(0.0).v]))
    assert np.abs(found - wanted).max() < THROUGH_SHAPES


def test_a_wide_disc_lies_on_a_hump_with_its_face() -> None:
    """Its rim is in the air all around."""
    hills, half = cs.terrain.Sinusoid(HIGH, WAVES, WAVES), 0.02
    system = cs.ContactSystem(cs.Robot.cylinder(1.0, 0.1, 2.0 * half, friction=0.9), terrain=hills)
    q = np.array([TOP, 0.0, HIGH + half, 0.0, 0.0, 0.0, 1.0])
    traj = cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 0.1))
    traj.check()
    assert names(system, traj)[-1] == ["cylinder/end0"]
    assert np.allclose(traj.final.q, q, atol=1e-9)


def test_a_cylinder_lies_across_a_ridge_with_its_side() -> None:
    ridge = cs.terrain.Sinusoid(0.1, 1.5, 0.0)
    system = cs.ContactSystem(cs.Robot.cylinder(1.0, 0.05, 0.8, friction=0.9), terrain=ridge)
    lying = pin.Quaternion(pin.utils.rpyToMatrix(0.0, np.pi / 2.0, 0.0)).coeffs()
    q = np.array([np.pi / 3.0, 0.0, 0.15, *lying])
    traj = cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 0.1))
    traj.check()
    assert names(system, traj)[-1] == ["cylinder/edge0"]
    assert np.allclose(traj.final.q[:3], q[:3], atol=1e-9)


RIDGE, CREST = cs.terrain.Sinusoid(0.1, 1.5, 0.0), np.array([np.pi / 3.0, 0.0, 0.1])
RADIUS, LENGTH = 0.05, 0.16
LEAN = float(np.arctan2(RADIUS, LENGTH))  # between the side of a cone and its axis


def on_its_side(pitch: float) -> cs.State:
    """A cone on its side across the crest, its centre of mass above that; it turns so that its tip sinks."""
    R = pin.utils.rpyToMatrix(0.0, np.pi / 2.0 + LEAN, 0.0)
    tip = CREST + np.array([0.75 * LENGTH * np.cos(LEAN), 0.0, 0.0])
    o, w = tip - R @ [0.0, 0.0, 0.5 * LENGTH], np.array([0.0, pitch, 0.0])
    return cs.State([*o, *pin.Quaternion(R).coeffs()], [*R.T @ np.cross(w, o - CREST), *R.T @ w])


def test_a_cone_lies_across_a_ridge_with_its_side() -> None:
    """It was 1 mm in the ground. Its centre of mass is lower than that of the circle which the crest is part of."""
    system = cs.ContactSystem(cs.Robot.cone(1.0, RADIUS, LENGTH, friction=0.9), terrain=RIDGE)
    start = on_its_side(0.0)
    side = system.world.mechanism.names.index("cone/edge0")
    assert abs(system.world.mechanism.gaps(0.0, start.q)[side]) < 1e-12
    traj = cs.simulate(system, start, (0.0, 0.1))
    traj.check()
    assert names(system, traj)[-1] == ["cone/edge0"]
    assert np.allclose(traj.final.q, start.q, atol=1e-9)


def test_the_tip_of_a_cone_takes_over_from_its_side_without_friction() -> None:
    """Its energy stays, and there is no impact."""
    system = cs.ContactSystem(cs.Robot.cone(1.0, RADIUS, LENGTH, friction=0.0), terrain=RIDGE)
    traj = cs.simulate(system, on_its_side(6.0), (0.0, 0.03))
    traj.check()
    assert [closed for closed in names(system, traj) if closed] == [["cone/edge0"], ["cone/1"]]
    energies = [traj.energy(t) for t in np.linspace(0.0, 0.03, 50)]
    assert np.ptp(energies) < 1e-8
    assert not any(event.transition.impulses for event in traj.events if event.fired)


@pytest.mark.slow_in_python
@pytest.mark.parametrize(("pitch", "last"), [(6.0, "cone/1"), (-3.0, "cone/rim0")])
def test_the_derivative_through_a_side_of_a_cone_that_hands_over(pitch: float, last: str) -> None:
    system = cs.ContactSystem(cs.Robot.cone(1.0, RADIUS, LENGTH, friction=0.9), terrain=RIDGE)
    h, tight, space = 1e-4, cs.Tolerances(rtol=1e-11, atol=1e-12), system.world.space

    def run(by: float) -> cs.Trajectory:
        return cs.simulate(system, on_its_side(pitch + by), (0.0, 0.02), tolerances=tight)

    traj = run(0.0)
    traj.check()
    assert list(dict.fromkeys(map(tuple, names(system, traj)))) == [("cone/edge0",), (last,)]
    wanted = space.difference(run(-h).final_x, run(h).final_x) / (2.0 * h)
    found = cs.linearize(traj)(np.concatenate([np.zeros(6), on_its_side(1.0).v - on_its_side(0.0).v]))
    assert np.abs(found - wanted).max() < THROUGH_SHAPES


def test_a_sector_next_to_one_that_touches_is_met_at_its_own_point() -> None:
    """It was taken for the other one, whose point its search finds, too, and the body sank: a run ended there."""
    system = cs.ContactSystem(body("cylinder", 0.05, 0.3), terrain=RIDGES)
    free, space = system.world.mechanism, system.world.space
    held, low = free.names.index("cylinder/rim0.3"), free.names.index("cylinder/rim0.4")
    q = np.array([-0.137145071, -0.988879024, 0.068292725, 0.015675773, -0.036999092, -0.219339226, 0.974820825])
    v = np.array([-0.118316577, -0.143855515, 0.02069132, 2.018908649, -1.738979202, -0.545706537])
    q[3:] /= np.linalg.norm(q[3:])
    for _ in range(3):
        q[2] -= free.gaps(0.0, q)[held]
    mechanism = free.within({held: (0,)})

    def seen(by: float) -> float:
        at = space.integrate(np.concatenate([q, v]), np.concatenate([by * v, 0.0 * v]))[:7]
        assert free.gaps(0.0, at)[low] == mechanism.gaps(0.0, at)[low]
        return float(mechanism.gaps(0.0, at)[low])

    look, h = mechanism.gap_motion(0.0, q, v, low), 1e-7
    assert abs(mechanism.gaps(0.0, q)[held]) < 1e-12
    assert 0.0 < look.value == seen(0.0) < 1e-6
    assert abs(look.rate - (seen(h) - seen(-h)) / (2.0 * h)) < 1e-6
    assert look.rate < -0.01
