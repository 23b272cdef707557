"""No gap changes faster than its bounds say, on any way through any robot's configurations."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.multibody.mechanism import JointPath
from contactsim.multibody.terrain.surface import Terrain

DURATION = 0.05  # s
STEP = 2e-3  # s, between the looks whose differences are means of the rates


def joints_of_all_kinds() -> pin.Model:
    """A chain of joints that turn, slide, do both, or do all of it, with lengths between them."""
    rng = np.random.default_rng(5)
    model, parent = pin.Model(), 0
    kinds = [
        pin.JointModelFreeFlyer(),
        pin.JointModelRX(),
        pin.JointModelPrismaticUnaligned(np.array([0.6, 0.0, 0.8])),
        pin.JointModelSpherical(),
        pin.JointModelHelicalUnaligned(np.array([0.0, 0.6, 0.8]), 0.3),
        pin.JointModelTranslation(),
        pin.JointModelRUBY(),
        pin.JointModelSphericalZYX(),
        pin.JointModelPlanar(),
        pin.JointModelUniversal(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.6, 0.8])),
    ]
    for k, joint in enumerate(kinds):
        parent = model.addJoint(parent, joint, pin.SE3.Random(), f"joint {k}")
        model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Identity())
        model.addFrame(pin.Frame(f"body {k}", parent, pin.SE3(np.eye(3), rng.normal(size=3)), pin.FrameType.BODY))
    return model


def on_all_joints() -> cs.Robot:
    model = joints_of_all_kinds()
    points = [cs.ContactPoint(frame.name, radius=0.01 * k) for k, frame in enumerate(model.frames) if k]
    return cs.Robot(model, contacts=points)


def ball_and_boxes() -> cs.Robot:
    """A ball and two boxes that spin, near each other."""
    box = cs.Robot.box(1.0, (0.2, 0.3, 0.4))
    return cs.Robot.merge([box, cs.Robot.sphere(1.0, 0.1), cs.Robot.box(2.0, (0.5, 0.1, 0.3))], names=["a", "b", "c"])


ROBOTS = {
    "all joints": on_all_joints,
    "biped": lambda: cs.load_robot("biped"),
    "hexapod": lambda: cs.load_robot("hexapod"),
    "bodies": ball_and_boxes,
}
GROUNDS = {
    "flat": cs.terrain.Flat(),
    "sinusoid": cs.terrain.Sinusoid(0.05, 3.0, 2.0),
    "lift": cs.terrain.Moving(cs.terrain.Flat(), cs.terrain.Oscillation((0.1, 0.0, 0.05), 7.0)),
    "moving hills": cs.terrain.Moving(
        cs.terrain.Sinusoid(0.05, 3.0, 2.0), cs.terrain.Oscillation((0.1, 0.0, 0.05), 7.0)
    ),
}
SCENES = [(robot, ground) for robot in ROBOTS for ground in GROUNDS]


def ways(system: cs.ContactSystem, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaps (n, nc) along a motion of constant acceleration, and their rates; NaN where only a lower bound is known."""
    values, rates = [], []
    space, count = system.mechanism.space, len(system.mechanism.all_names)
    for t in np.arange(0.0, DURATION, STEP):
        looks = [system.mechanism.gap_motion(t, q, v, i) for i in range(count)]
        values.append([np.nan if look.piece is None else look.value for look in looks])
        rates.append([np.nan if look.piece is None else look.rate for look in looks])
        q, v = space.integrate(q, STEP * v + 0.5 * STEP**2 * a), v + STEP * a
    return np.array(values), np.array(rates)


@pytest.mark.parametrize(("robot", "ground"), SCENES)
@pytest.mark.parametrize("seed", range(2))
def test_gaps_keep_to_their_bounds(robot: str, ground: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    terrain: Terrain = GROUNDS[ground]
    try:
        system = cs.ContactSystem(ROBOTS[robot](), terrain=terrain)
    except cs.InputError:
        pytest.skip("a robot of one plane does not run on hills across it")
    mechanism = system.mechanism
    q = mechanism.space.integrate(pin.neutral(system.robot.model), rng.uniform(-0.6, 0.6, mechanism.nv))
    v, a = rng.normal(size=mechanism.nv), 10.0 * rng.normal(size=mechanism.nv)
    path = JointPath(0.0, DURATION, q, np.abs(v) + DURATION * np.abs(a), np.abs(a), lambda: np.zeros(mechanism.nv))
    find = mechanism.gap_bounds(np.arange(len(mechanism.all_names)))
    assert find is not None
    bounds = find(path)
    bends, _ = bounds.closer()
    values, rates = ways(system, q, v, a)
    clearing = np.nan_to_num(values, nan=1.0).min(axis=0) > 0.0  # bounds hold outside of the ground and of bodies
    speed = np.nan_to_num(np.abs(np.diff(values, axis=0))).max(axis=0) / STEP
    bend = np.nan_to_num(np.abs(np.diff(rates, axis=0))).max(axis=0) / STEP
    assert np.all(speed[clearing] <= bounds.speed[clearing] * (1.0 + 1e-6))
    assert np.all(bend[clearing] <= bends[clearing] * (1.0 + 1e-3))
    assert np.all(bounds.speed < 1e3), "a bound that says nothing"


@pytest.mark.parametrize("robot", list(ROBOTS))
@pytest.mark.parametrize("ground", list(GROUNDS))
def test_a_look_at_a_gap_shows_its_value_and_rate(robot: str, ground: str) -> None:
    rng = np.random.default_rng(3)
    try:
        system = cs.ContactSystem(ROBOTS[robot](), terrain=GROUNDS[ground])
    except cs.InputError:
        pytest.skip("a robot of one plane does not run on hills across it")
    mechanism, space = system.mechanism, system.mechanism.space
    q = space.integrate(pin.neutral(system.robot.model), rng.uniform(-0.3, 0.3, mechanism.nv))
    v = rng.normal(size=mechanism.nv)
    gaps = mechanism.gaps(0.2, q)
    ahead, back = (mechanism.gaps(0.2 + h, space.integrate(q, h * v)) for h in (1e-5, -1e-5))
    for i, gap in enumerate(gaps):
        look = mechanism.gap_motion(0.2, q, v, i)
        if look.piece is None:
            assert look.value <= gap + 1e-14 * abs(gap)
            continue
        assert look.value == pytest.approx(gap, abs=1e-12)
        assert look.rate == pytest.approx((ahead[i] - back[i]) / 2e-5, abs=1e-6)


def test_a_bound_is_met_by_a_point_on_a_turning_arm() -> None:
    """A rod that turns at w: |c'| = w l and |c''| = w^2 l, and no more is said."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "hinge")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    model.addFrame(pin.Frame("rod", joint, pin.SE3.Identity(), pin.FrameType.BODY))
    robot = cs.Robot(model, contacts=[cs.ContactPoint("rod", offset=(0.0, 0.0, -0.5))])
    mechanism = cs.ContactSystem(robot, terrain=cs.terrain.Flat(-1.0)).mechanism
    path = JointPath(0.0, 0.1, np.zeros(1), np.array([3.0]), np.zeros(1), lambda: np.array([1e-9]))
    find = mechanism.gap_bounds(np.array([0]))
    assert find is not None
    bounds = find(path)
    bend, error = bounds.closer()
    assert bounds.speed[0] == pytest.approx(3.0 * 0.5)
    assert error[0] == pytest.approx(1e-9 * 0.5)
    assert bend[0] == pytest.approx(1.5 * 9.0 * 0.5)  # w^2 and, of cross products that one joint has not, w^2/2
