"""The catalogue: files load, feet stand on the floor, references are smooth and within limits."""

from __future__ import annotations

import pickle
from math import cos, sin, tan
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from contactsim_robots import Demo, RobotEntry, biped, catalogue, hexapod
from contactsim_robots.example_data import foot_heights
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from contactsim import Tolerances

CATALOGUE = catalogue()
LEGGED = [name for name, entry in CATALOGUE.items() if entry.feet]
DEMOS = [name for name, entry in CATALOGUE.items() if entry.demo]

ON_FLOOR = 1e-12  # m
BALANCED = 1e-8  # N and N m out of 80 N: rounding, and central differences of the posture's second derivative
CLOSED_FORM = 1e-12  # rounding of values of order one
LIMIT_CYCLE = 1e-9  # rad, the published fixed point has 14 digits and multipliers below one
FINITE_DIFFERENCE = 1e-6  # rad/s, central differences with a step of 1e-5 s
ACCELERATION_JUMP = 0.02  # rad/s^2 over 1e-6 s: a jerk of 2e4 rad/s^3, where accelerations reach 200 rad/s^2


def build(path: Path, root: str) -> pin.Model:
    """Build the model of a URDF with root "free_flyer", "fixed" or "planar" (PX, PZ, RY)."""
    if root == "fixed":
        return pin.buildModelFromUrdf(str(path))
    if root == "free_flyer":
        return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    planar = pin.JointModelComposite()
    for joint in (pin.JointModelPX(), pin.JointModelPZ(), pin.JointModelRY()):
        planar.addJoint(joint)
    return pin.buildModelFromUrdf(str(path), planar)


def demo_of(entry: RobotEntry, model: pin.Model) -> Demo:
    assert entry.demo is not None
    return entry.demo(model)


def joint_slice(model: pin.Model, q: np.ndarray) -> list[tuple[float, float, float]]:
    """(lower, value, upper) of every joint with one coordinate, the root left out."""
    return [
        (model.lowerPositionLimit[i], q[i], model.upperPositionLimit[i])
        for joint, i in enumerate(model.idx_qs)
        if joint > 0 and model.nqs[joint] == 1
    ]


def symmetric(matrix: np.ndarray) -> np.ndarray:
    return np.triu(matrix) + np.triu(matrix, 1).T


# --- every entry ---------------------------------------------------------------------------------------------------


def test_example_robot_data_is_found() -> None:
    assert {"hexapod", "biped", "solo12", "go2", "a1", "talos", "panda"} <= CATALOGUE.keys()


@pytest.mark.parametrize("name", CATALOGUE)
def test_entry_loads_with_positive_inertia_and_a_nominal_posture_within_limits(name: str) -> None:
    entry = CATALOGUE[name]
    model = build(entry.path, entry.root)
    q = entry.nominal(model)
    assert entry.name == name and entry.description
    assert q.shape == (model.nq,)
    assert all(low < value < high or low == value == high for low, value, high in joint_slice(model, q))
    inertia = symmetric(pin.crba(model, model.createData(), q))
    assert np.linalg.eigvalsh(inertia)[0] > 0.0
    assert all(model.existFrame(foot["frame"]) for foot in entry.feet)
    assert len({foot["name"] for foot in entry.feet}) == len(entry.feet)


@pytest.mark.parametrize("name", LEGGED)
def test_all_feet_stand_on_the_floor(name: str) -> None:
    entry = CATALOGUE[name]
    model = build(entry.path, entry.root)
    heights = foot_heights(model, entry.nominal(model), entry.feet)
    assert np.abs(heights).max() < ON_FLOOR


@pytest.mark.parametrize("name", [name for name in LEGGED if name not in ("bolt", "biped")])
def test_centre_of_mass_is_between_the_feet(name: str) -> None:
    entry = CATALOGUE[name]
    model = build(entry.path, entry.root)
    data = model.createData()
    q = entry.nominal(model)
    com = pin.centerOfMass(model, data, q)[:2]
    pin.framesForwardKinematics(model, data, q)
    feet = [data.oMf[model.getFrameId(foot["frame"])].act(np.array(foot["offset"]))[:2] for foot in entry.feet]
    assert (com > np.min(feet, axis=0)).all() and (com < np.max(feet, axis=0)).all()


@pytest.mark.parametrize("name", DEMOS)
def test_demo_is_complete_and_leaves_the_root_alone(name: str) -> None:
    entry = CATALOGUE[name]
    model = build(entry.path, entry.root)
    demo = demo_of(entry, model)
    assert demo.q.shape == (model.nq,) and demo.v.shape == (model.nv,) and demo.time > 0.0
    assert demo.feet is None or [foot["name"] for foot in demo.feet] == [foot["name"] for foot in entry.feet]
    assert demo.tolerances.keys() <= Tolerances.__dataclass_fields__.keys()
    if demo.reference is not None:
        q, v, tau = demo.reference(0.0)
        assert (q.shape, v.shape, tau.shape) == ((model.nq,), (model.nv,), (model.nv,))
        assert np.abs(pin.difference(model, demo.q, q)[6:]).max() < CLOSED_FORM
        assert not np.asarray(demo.kp)[:6].any() and not np.asarray(demo.kd)[:6].any()
        assert (np.asarray(demo.kp)[6:] > 0.0).all() and (np.asarray(demo.kd)[6:] > 0.0).all()


def test_catalogue_can_be_sent_to_a_worker() -> None:
    assert pickle.loads(pickle.dumps(CATALOGUE)).keys() == CATALOGUE.keys()


# --- hexapod -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hexapod_model() -> pin.Model:
    return build(hexapod.ENTRY.path, "free_flyer")


def test_hexapod_has_18_motors_and_8_kilograms(hexapod_model: pin.Model) -> None:
    assert hexapod_model.nv == 6 + 18
    assert pin.computeTotalMass(hexapod_model) == pytest.approx(8.0, abs=CLOSED_FORM)


def tip(model: pin.Model, leg: hexapod.Leg) -> tuple[pin.Model, int]:
    """The model with a frame where the leg touches the ground, and the frame's index."""
    foot = hexapod.ENTRY.feet[hexapod.LEGS.index(leg)]
    changed, ball = pin.Model(model), model.frames[model.getFrameId(foot["frame"])]
    placement = ball.placement * pin.SE3(np.eye(3), np.array(foot["offset"]))
    return changed, changed.addFrame(pin.Frame("tip", ball.parentJoint, placement, pin.OP_FRAME))


@pytest.mark.parametrize("leg", hexapod.LEGS, ids=lambda leg: leg.name)
def test_inverse_kinematics_against_the_model(hexapod_model: pin.Model, leg: hexapod.Leg) -> None:
    shift, rate = (0.03, -0.01, 0.02), (0.2, 0.1, -0.3)
    angles, rates = hexapod.leg_posture(leg, shift, rate)
    q, v = hexapod.nominal(hexapod_model), np.zeros(hexapod_model.nv)
    model, frame = tip(hexapod_model, leg)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    home = data.oMf[frame].translation.copy()
    in_q, in_v = hexapod.joint_places(model)
    q[in_q[hexapod.LEGS.index(leg)]], v[in_v[hexapod.LEGS.index(leg)]] = angles, rates
    pin.forwardKinematics(model, data, q, v)
    pin.updateFramePlacements(model, data)
    velocity = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED).linear
    assert np.abs(data.oMf[frame].translation - home - shift).max() < CLOSED_FORM
    assert np.abs(velocity - rate).max() < CLOSED_FORM


def hexapod_gait(model: pin.Model) -> hexapod.TripodGait:
    gait = demo_of(hexapod.ENTRY, model).reference
    assert isinstance(gait, hexapod.TripodGait)
    return gait


def test_gait_velocity_is_the_derivative_of_its_posture(hexapod_model: pin.Model) -> None:
    gait, h = hexapod_gait(hexapod_model), 1e-5
    for t in np.linspace(0.0, 3.0, 601):
        before, after = gait(t - h)[0], gait(t + h)[0]
        difference = pin.difference(hexapod_model, before, after) / (2.0 * h)
        assert np.abs(difference - gait(t)[1]).max() < FINITE_DIFFERENCE


def test_gait_acceleration_is_continuous_where_feet_lift_and_land(hexapod_model: pin.Model) -> None:
    gait, h = hexapod_gait(hexapod_model), 1e-6
    turns = np.arange(1, 8) - np.array([[offset - shift] for offset in gait.offsets() for shift in (0.0, gait.duty)])
    times = [brentq(lambda t, c=count: gait.cycles(t)[0] - c, 0.0, 10.0, xtol=1e-14) for count in turns.ravel()]
    for t in [gait.start, gait.start + gait.ramp, *times]:
        v = [gait(t + k * h)[1] for k in (-1, 0, 1)]
        jump = np.abs((v[2] - v[1]) - (v[1] - v[0])).max() / h
        assert jump < ACCELERATION_JUMP


def test_gait_stays_within_limits(hexapod_model: pin.Model) -> None:
    gait = hexapod_gait(hexapod_model)
    for t in np.linspace(0.0, 3.0, 301):
        q, v, _ = gait(t)
        assert all(low + 0.05 < value < high - 0.05 for low, value, high in joint_slice(hexapod_model, q))
        assert (np.abs(v[6:]) < 0.8 * hexapod_model.velocityLimit[6:]).all()


def test_three_feet_always_carry_and_move_backwards_at_the_walking_speed(hexapod_model: pin.Model) -> None:
    gait = hexapod_gait(hexapod_model)
    legs = [tip(hexapod_model, leg) for leg in hexapod.LEGS]
    for t in np.linspace(1.0, 3.0, 201):
        q, v, _ = gait(t)
        heights = foot_heights(hexapod_model, q, hexapod.ENTRY.feet)
        low = [k for k, height in enumerate(heights) if height < ON_FLOOR]
        assert len(low) >= 3
        for model, frame in (legs[k] for k in low):
            data = model.createData()
            pin.forwardKinematics(model, data, q, v)
            velocity = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED).linear
            assert np.abs(velocity - (-gait.speed, 0.0, 0.0)).max() < CLOSED_FORM


def test_weight_is_shared_by_the_tripods_and_not_by_a_swinging_one(hexapod_model: pin.Model) -> None:
    gait = hexapod_gait(hexapod_model)
    for count in np.linspace(0.0, 1.0, 101):
        phases = [count + offset for offset in gait.offsets()]
        loads = [gait.load(phase) for phase in phases]
        assert sum(loads) == pytest.approx(1.0, abs=CLOSED_FORM)
        assert all(load == 0.0 for load, phase in zip(loads, phases, strict=True) if phase % 1.0 > gait.duty)


def test_fed_forward_torques_carry_the_standing_robot(hexapod_model: pin.Model) -> None:
    gait = hexapod_gait(hexapod_model)
    q, _, tau = gait(gait.start)
    models = [tip(hexapod_model, leg) for leg in hexapod.LEGS]
    rows = [pin.computeFrameJacobian(m, m.createData(), q, frame, pin.LOCAL_WORLD_ALIGNED)[:3] for m, frame in models]
    missing = pin.computeGeneralizedGravity(hexapod_model, hexapod_model.createData(), q) - tau
    jacobian = np.vstack(rows)
    forces = np.linalg.lstsq(jacobian.T, missing, rcond=None)[0]
    assert np.abs(jacobian.T @ forces - missing).max() < BALANCED
    assert forces[2::3].sum() == pytest.approx(8.0 * 9.81, abs=BALANCED)
    assert (forces[2::3] > 5.0).all()


def test_feet_move_straight_up_and_down_where_they_leave_and_meet_the_ground(hexapod_model: pin.Model) -> None:
    gait = hexapod_gait(hexapod_model)
    for s in np.linspace(0.0, gait.upright, 11):
        for part in (s, 1.0 - s):
            _, z, dx, _ = gait.step(gait.duty + (1.0 - gait.duty) * part)
            assert dx == pytest.approx(-gait.speed * gait.period, abs=CLOSED_FORM)
            assert z >= 0.0


def test_hexapod_starts_with_all_feet_at_one_height(hexapod_model: pin.Model) -> None:
    heights = foot_heights(hexapod_model, demo_of(hexapod.ENTRY, hexapod_model).q, hexapod.ENTRY.feet)
    assert np.abs(heights - 0.05).max() < ON_FLOOR


# --- biped ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def biped_model() -> pin.Model:
    return build(biped.ENTRY.path, "planar")


def compass(stance: float, swing: float, stance_rate: float, swing_rate: float) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) of the biped with the left foot at rest in the origin."""
    q = np.array([sin(stance), cos(stance), stance, swing - stance])
    return q, np.array([cos(stance) * stance_rate, -sin(stance) * stance_rate, stance_rate, swing_rate - stance_rate])


def compass_mass(swing_minus_stance: float) -> np.ndarray:
    """Mass matrix of the compass gait with m = 5, mH = 10, a = b = 0.5, l = 1."""
    c = cos(swing_minus_stance)
    return np.array([[10.0 + 5.0 * (1.0 + 0.25), -5.0 * 0.5 * c], [-5.0 * 0.5 * c, 5.0 * 0.25]])


def compass_field(t: float, y: np.ndarray) -> np.ndarray:
    """Compass gait in the angles (stance, swing) with the stance foot pinned."""
    st, sw, dst, dsw = y
    coupling = -5.0 * 0.5 * sin(sw - st)
    gyroscopic = np.array([-coupling * dsw**2, coupling * dst**2])
    gravity = 9.81 * np.array([-(10.0 + 5.0 * 0.5 + 5.0) * sin(st), 5.0 * 0.5 * sin(sw)])
    return np.r_[dst, dsw, np.linalg.solve(compass_mass(sw - st), -gyroscopic - gravity)]


def test_biped_mass_matrix_is_the_closed_form(biped_model: pin.Model) -> None:
    data = biped_model.createData()
    for stance, swing in np.random.default_rng(1).uniform(-1.0, 1.0, (20, 2)):
        q, _ = compass(stance, swing, 0.0, 0.0)
        embed = np.column_stack([compass(stance, swing, 1.0, 0.0)[1], compass(stance, swing, 0.0, 1.0)[1]])
        mass = embed.T @ symmetric(pin.crba(biped_model, data, q)) @ embed
        assert np.abs(mass - compass_mass(swing - stance)).max() < CLOSED_FORM


def test_biped_gravity_is_the_closed_form(biped_model: pin.Model) -> None:
    data = biped_model.createData()
    q, _ = compass(0.2, -0.3, 0.0, 0.0)
    embed = np.column_stack([compass(0.2, -0.3, 1.0, 0.0)[1], compass(0.2, -0.3, 0.0, 1.0)[1]])
    moments = embed.T @ pin.computeGeneralizedGravity(biped_model, data, q)
    assert moments == pytest.approx([-17.5 * 9.81 * sin(0.2), 2.5 * 9.81 * sin(-0.3)], abs=CLOSED_FORM * 100)


def test_biped_may_land_anywhere_but_in_its_walk_only_ahead(biped_model: pin.Model) -> None:
    feet = demo_of(biped.ENTRY, biped_model).feet
    assert feet is not None
    assert all(foot["enabled"] is None for foot in biped.ENTRY.feet)
    assert [foot["enabled"] for foot in feet] == [biped.Ahead(+1), biped.Ahead(-1)]
    assert [{**foot, "enabled": None} for foot in feet] == list(biped.ENTRY.feet)


def test_biped_starts_just_after_heel_strike(biped_model: pin.Model) -> None:
    demo = demo_of(biped.ENTRY, biped_model)
    data = biped_model.createData()
    pin.forwardKinematics(biped_model, data, demo.q, demo.v)
    pin.updateFramePlacements(biped_model, data)
    frames = [biped_model.getFrameId(foot["frame"]) for foot in biped.ENTRY.feet]
    places = [data.oMf[frame].translation for frame in frames]
    left, right = (pin.getFrameVelocity(biped_model, data, f, pin.LOCAL_WORLD_ALIGNED).linear for f in frames)
    assert all(abs(place[2] + tan(demo.slope) * place[0]) < CLOSED_FORM for place in places)
    assert np.abs(left).max() < CLOSED_FORM
    assert right[2] + tan(demo.slope) * right[0] > 0.1, "the trailing foot rises"


def test_enabled_margin_over_the_limit_cycle(biped_model: pin.Model) -> None:
    demo = demo_of(biped.ENTRY, biped_model)
    stance, swing = demo.q[2], demo.q[2] + demo.q[3]
    start = np.array([stance, swing, demo.v[2], demo.v[2] + demo.v[3]])
    period = 0.734460621336439
    run = solve_ivp(compass_field, (0.0, period), start, method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True)
    strike = run.y[:, -1]
    assert strike[:2] == pytest.approx([swing, stance], abs=LIMIT_CYCLE)
    margins, gaps = [], []
    for y in run.sol(np.linspace(0.0, period, 2001)).T:
        q, v = compass(*y)
        margins.append(biped.Ahead(-1)(0.0, q, v))
        gaps.append(cos(y[0] - demo.slope) - cos(y[1] - demo.slope))
        assert biped.Ahead(+1)(0.0, q, v) == pytest.approx(-margins[-1] - 2.0 * biped.CLEARANCE)
    margin, gap = np.array(margins), np.array(gaps)
    opening = np.flatnonzero((margin[:-1] <= 0.0) & (margin[1:] > 0.0))
    assert gap.min() < -0.003, "the foot scuffs"
    assert opening.size == 1 and gap[opening[0]] > 0.005
    assert (margin[: opening[0]] < 0.0).all() and (margin[opening[0] + 1 :] > 0.0).all()
    assert (gap[opening[0] : -1] > 0.0).all()
