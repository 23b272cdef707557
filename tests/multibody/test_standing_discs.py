"""Cylinders that stand on boxes: their points and rims as they tip, against closed forms, and whole runs."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs

RADIUS, HALF = 0.2, 0.06
CORNERS = 12  # of the polygon on which a cylinder stands on other bodies


def on_table(radius: float, restitution: float, fixed: bool) -> tuple[cs.ContactSystem, cs.Robot, dict]:
    """A cylinder on a box, fixed or on the ground, as a system and a robot, and where both start."""
    side, look = 3.0 * radius + 0.2, {"friction": 0.6, "restitution": restitution}
    table = cs.Robot.box(5.0, (side, side, 0.1), name="table", **({"root": "fixed"} if fixed else {}), **look)
    drum = cs.Robot.cylinder(1.0, radius, 2.0 * HALF, **look)
    world = cs.Robot.merge([table, drum], ["table", "drum"], placements=[(0.0, 0.0, -0.05) if fixed else None, None])
    ground = cs.terrain.Flat(-2.0 if fixed else -0.1)
    places = {} if fixed else {"table": (np.r_[0.0, 0.0, -0.05, 0.0, 0.0, 0.0, 1.0], np.zeros(6))}
    return cs.ContactSystem(world, terrain=ground), world, places


def tilted(world: cs.Robot, tilt: float, towards: float) -> np.ndarray:
    """Configuration of a cylinder that touches a fixed box with its rim, tilted towards an angle."""
    axis = np.array([-np.sin(towards), np.cos(towards), 0.0])
    q = np.r_[0.0, 0.0, RADIUS * np.sin(tilt) + HALF * np.cos(tilt), np.sin(0.5 * tilt) * axis, np.cos(0.5 * tilt)]
    return world.pack({"drum": (q, np.zeros(6))})[0]


@pytest.mark.parametrize("tilt", [3e-9, 1.4e-8, 1e-6, 1e-3])
def test_the_lowest_point_of_a_rim_is_known_to_rounding_at_any_tilt(tilt: float) -> None:
    """R sin(tilt) below the middle, where the axis of the disc hardly differs from the normal, too."""
    system, world, _ = on_table(RADIUS, 0.0, True)
    mechanism = system.world.mechanism
    rim = mechanism.names.index("drum/cylinder/rim0+table/table/face2")
    for towards in np.linspace(0.1, 6.0, 7):
        q = tilted(world, tilt, towards)
        assert mechanism.met_gaps(0.0, q, np.array([rim])) == pytest.approx([0.0], abs=1e-15)


def test_a_disc_stands_on_all_its_points_while_it_stands_on_some() -> None:
    """None of them is raised, and its rim is off; else points are raised beyond a tilt, rims below half of it."""
    system, world, _ = on_table(RADIUS, 0.0, True)
    mechanism, flat = system.world.mechanism, 5e-9 / RADIUS
    rim = mechanism.names.index("drum/cylinder/rim0+table/table/face2")
    points = [mechanism.names.index(f"drum/cylinder/corner{k}+table/table") for k in range(CORNERS)]
    assert {rim, *points} < mechanism.raised
    held = mechanism.within({points[0]: mechanism.region(tilted(world, 0.0, 0.0), points[0])})
    for share in (0.2, 0.8, 1.5):
        q = tilted(world, share * flat, 0.0)
        gaps, met = mechanism.gaps(0.0, q), mechanism.met_gaps(0.0, q, np.array([rim, *points]))
        assert gaps[rim] == pytest.approx(met[0] if share > 0.5 else (0.5 - share) * flat, abs=1e-15)
        assert gaps[points] == pytest.approx(met[1:] + max(0.0, share - 1.0) * flat, abs=1e-15)
        now = held.gaps(0.0, q)
        assert now[points] == pytest.approx(met[1:], abs=1e-15)
        assert now[rim] >= 1e-6
        looks = held.gap_motions(0.0, q, np.zeros(6), np.array([rim, *points[1:]]))
        assert looks.values == pytest.approx(now[[rim, *points[1:]]], abs=1e-15)
        alone = [held.gap_motion(0.0, q, np.zeros(6), k) for k in (rim, points[1])]
        assert [look.value for look in alone] == pytest.approx(now[[rim, points[1]]], abs=1e-15)
    side, region = mechanism.region_sides(points[0], (0, 0, 1))[-1], (0, 0, 1)
    for tilt in (0.0, flat, 3.0 * flat):
        q = tilted(world, tilt, 0.3)
        assert mechanism.region_margin(q, points[0], region, side) == pytest.approx(2.0 * flat - tilt, abs=1e-15)
    assert mechanism.region_beyond(points[0], region, side) is None
    turned = pin.utils.rotate("z", 0.3) @ np.array([0.0, 1.0, 0.0])
    gradient = mechanism.region_gradient(tilted(world, flat, 0.3), points[0], region, side)
    assert gradient[3:] == pytest.approx(-turned, abs=1e-7)


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize(("radius", "spin"), [(0.02, 0.5), (0.2, 0.5)])
def test_a_cylinder_tips_on_a_box(radius: float, spin: float, fixed: bool) -> None:
    """Over the chord of two points of its rim, which takes over and bounces there."""
    system, world, places = on_table(radius, 0.3, fixed)
    turned = np.pi / CORNERS
    chord = radius * np.cos(turned) * np.array([np.cos(turned), np.sin(turned), 0.0])
    w = spin * np.array([-np.sin(turned), np.cos(turned), 0.0])
    start = np.r_[0.0, 0.0, HALF, 0.0, 0.0, 0.0, 1.0], np.r_[np.cross(w, np.array([0.0, 0.0, HALF]) - chord), w]
    run = cs.simulate(system, cs.State(*world.pack({**places, "drum": start})), (0.0, 0.02))
    assert run.status.complete, run.message
    run.check()
    depths = [over.depth for q in run.q for over in system.world.mechanism.overlaps(0.0, q)]
    assert max(depths, default=0.0) < 1e-9
