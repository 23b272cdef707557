"""Saltation matrices of the engine's own events: the ball on a slope in closed form, and Table II row by row.

Kong, Payne, Zhu and Johnson, "Saltation Matrices: The Essential Tool for Linearizing Hybrid Dynamical Systems",
Sections IV and V. Table II is about one contact, in the plane or without friction; what is left of it with several
contacts and with friction in space is tested below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from builders import box, pendulum, planar_body, planar_joint, point_mass, sphere
from numpy.testing import assert_allclose

import contactsim as cs

Array = np.ndarray
Controller = Callable[[float, Array, Array], Array]

CLOSED_FORM = 1e-10  # entries of the ball's matrices, which are of the order of one
ROUNDING = 1e-9  # entries that are zero, or equal, in exact arithmetic
SHARP = cs.Tolerances(force=1e-13)  # by default a force that ends an arc is zero to 4e-9 of the largest one only
FORCE = 1e-6  # what that leaves of the identity on a robot
APART = 1e-2  # blocks that are not equal differ by more
HELD = 1e-8  # m, m/s, a variation that a contact holds, for unit variations at the start
RUN = cs.Tolerances(rtol=1e-11, atol=1e-12)
PLANE = [0, 2]  # x and z of the ball in space
ANGLES = [0.2, np.pi / 4, 0.9]


# --- Section IV: the ball on a slope --------------------------------------------------------------------------------
def ball(friction: float, angle: float, restitution: float = 0.0) -> cs.ContactSystem:
    """A point mass on a slope, pulled by a constant force that must not show."""
    return cs.ContactSystem(
        point_mass(friction, restitution),
        terrain=cs.terrain.Slope(angle),
        controller=lambda t, q, v: np.array([0.3, 0.0, -0.7]),
    )


def landing(friction: float, angle: float) -> tuple[Array, cs.linearization.EventLinearization]:
    """Velocity (2,) in the plane before the ball lands, and the landing."""
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    along = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    traj = cs.simulate(ball(friction, angle), cs.State(0.4 * normal, 0.9 * along - normal), (0.0, 0.5), tolerances=RUN)
    (event,) = cs.linearize(traj).events
    return event.events[0].state_pre.v[PLANE], event


def in_plane(event: cs.linearization.EventLinearization) -> dict[str, Array]:
    return {name: block[np.ix_(PLANE, PLANE)] for name, block in event.blocks.items()}


def eigenvector_of(matrix: Array, value: float, vector: Array) -> None:
    assert_allclose(matrix @ vector, value * vector, atol=CLOSED_FORM * np.linalg.norm(vector))


@pytest.mark.parametrize("angle", ANGLES)
def test_ball_that_slides(angle: float) -> None:
    _, event = landing(0.0, angle)
    c, s = np.cos(angle), np.sin(angle)
    block = np.array([[c * c, -c * s], [-c * s, s * s]])  # (52)
    expected = {"qq": block, "qv": np.zeros((2, 2)), "vq": np.zeros((2, 2)), "vv": block}  # (51)
    for name, found in in_plane(event).items():
        assert_allclose(found, expected[name], atol=CLOSED_FORM, err_msg=name)
    eigenvector_of(in_plane(event)["qq"], 0.0, np.array([s, c]))  # (57)
    eigenvector_of(in_plane(event)["qq"], 1.0, np.array([-c, s]))
    assert_allclose(event.eigenvalues, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0], atol=CLOSED_FORM)


@pytest.mark.parametrize("angle", ANGLES)
def test_ball_that_sticks(angle: float) -> None:
    speed, event = landing(3.0, angle)
    c, s = np.cos(angle), np.sin(angle)
    x, z = speed
    block = np.array([[z * c, -x * c], [-z * s, x * s]]) / (z * c + x * s)  # (56)
    expected = {"qq": block, "qv": np.zeros((2, 2)), "vq": np.zeros((2, 2)), "vv": np.zeros((2, 2))}  # (55)
    for name, found in in_plane(event).items():
        assert_allclose(found, expected[name], atol=CLOSED_FORM, err_msg=name)
    eigenvector_of(block, 0.0, speed)  # (58)
    eigenvector_of(in_plane(event)["qq"], 0.0, speed)
    eigenvector_of(in_plane(event)["qq"], 1.0, np.array([-c, s]))
    assert_allclose(event.eigenvalues, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0], atol=CLOSED_FORM)  # one for the way out of plane


# --- Table II -------------------------------------------------------------------------------------------------------
def hopper(friction: float, static: float | None = None, restitution: float = 0.0) -> cs.Robot:
    """A body in the plane with a hip and a leg that slides in its sheath: five coordinates, one foot."""
    model = pin.Model()
    model.name = "hopper"
    links = (
        (planar_joint(), (0.0, 0.0), 3.0, (0.02, 0.05), 0.05),
        (pin.JointModelRY(), (0.05, -0.05), 0.6, (0.0, -0.1), 0.004),
        (pin.JointModelPZ(), (0.0, -0.15), 0.3, (0.0, -0.05), 0.001),
    )
    parent = 0
    for k, (joint, (x, z), mass, (cx, cz), moment) in enumerate(links):
        parent = model.addJoint(parent, joint, pin.SE3(np.eye(3), np.array([x, 0.0, z])), f"joint_{k}")
        inertia = pin.Inertia(mass, np.array([cx, 0.0, cz]), np.diag([moment, moment, moment]))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    tip = pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.15]))
    model.addFrame(pin.Frame("foot", parent, 0, tip, pin.FrameType.OP_FRAME))
    contact = cs.ContactPoint("foot", friction=friction, static_friction=static, restitution=restitution, name="foot")
    return cs.Robot(model, contacts=[contact])


def springs(pull: float = 0.0, lift: float = 0.0) -> Controller:
    """Springs in hip and leg, and a growing force on the body: forwards and upwards."""

    def torque(t: float, q: Array, v: Array) -> Array:
        hip, leg = -20.0 * (q[3] + 0.35) - 0.5 * v[3], -600.0 * (q[4] - 0.02) - 4.0 * v[4]
        return np.array([pull * t, lift * t, 0.0, hip, leg])

    return torque


@cache
def row(name: str) -> cs.linearization.EventLinearization:
    """The event of a row of Table II on the hopper, by the modes it joins; the last one of that kind in its run."""
    friction, static, restitution, speed, controller, end = {
        "open to slip": (0.1, None, 0.0, 1.0, None, 0.02),
        "open to stick": (2.0, None, 0.0, 0.3, None, 0.02),
        "open to open, slipping": (0.1, None, 0.5, 1.0, None, 0.02),
        "open to open, sticking": (2.0, None, 0.5, 0.3, None, 0.02),
        "slip to stick": (0.4, None, 0.0, 0.6, springs(), 0.1),
        "stick to slip": (0.6, None, 0.0, 0.3, springs(pull=200.0), 0.3),
        "stick to slip, unequal": (0.6, 0.8, 0.0, 0.3, springs(pull=200.0), 0.3),
        "slip to open": (0.1, None, 0.0, 1.0, springs(lift=400.0), 0.22),
    }[name]
    system = cs.ContactSystem(hopper(friction, static, restitution), controller=controller, tolerances=SHARP)
    q = np.array([0.0, 0.0, 0.2, -0.35, 0.02])
    q[1] = 0.005 - system.mechanism.gaps(0.0, q)[0]
    state = cs.State(q, [speed, -1.0, 0.3, 0.5, 0.0])
    lin = cs.linearize(cs.simulate(system, state, (0.0, end), tolerances=RUN))
    word = name.split(",")[0]
    return next(e for e in lin.events[::-1] if word == " to ".join(m.value for m in e.events[0].transitions["foot"]))


def reset_derivative(event: cs.linearization.EventLinearization) -> Array:
    """D_x R of the event."""
    return event.events[0].transition.derivative()


def fields(event: cs.linearization.EventLinearization) -> tuple[Array, Array]:
    """F before and after the event."""
    root, (group,) = event.data.root, event.data.groups
    return root.field, root.passage(group).node.field


# (R = 1, F+ = F-, equal diagonal blocks); what follows from the first two is whether the matrix is the identity
TABLE = {
    "open to slip": (False, False, True),  # (80)
    "open to stick": (False, False, False),  # (82)
    "open to open, slipping": (False, False, True),  # (87)
    "open to open, sticking": (False, False, False),  # not in the table: the contact grips while it bounces
    "stick to slip": (True, True, True),  # (90)
    "stick to slip, unequal": (True, False, False),  # (91)
    "slip to open": (True, True, True),  # (73)
    "slip to stick": (True, False, False),  # (94)
}


def same(one: Array, other: Array, within: float = ROUNDING) -> bool:
    """Whether two arrays agree; where they do not, they are clearly apart."""
    apart = float(np.abs(one - other).max() / max(1.0, np.abs(one).max()))
    assert apart < within or apart > APART
    return apart < within


@pytest.mark.parametrize("name", TABLE)
def test_row_of_table_ii(name: str) -> None:
    event = row(name)
    same_state, same_field, equal_blocks = TABLE[name]
    blocks = event.blocks
    assert_allclose(blocks["qv"], 0.0, atol=ROUNDING)
    assert same(event.events[0].x_pre, event.events[0].x_post) is same_state
    assert same(*fields(event)) is same_field
    assert same(blocks["qq"], blocks["vv"]) is equal_blocks
    assert event.is_identity is (same_state and same_field)
    assert event.differentiable
    assert list(event.pieces()) == [("foot",)]
    assert_allclose(event.pieces()["foot",], event.saltation, atol=0.0)


def test_apex_is_no_event() -> None:
    """(70): the ball's way up goes over into its way down without an event, and its matrix is that of flight."""
    angle = 0.2
    system = ball(0.0, angle, restitution=0.8)
    lin = cs.linearize(cs.simulate(system, cs.State([0.0, 0.0, 0.2], np.zeros(3)), (0.0, 0.45), tolerances=RUN))
    (event,) = lin.all_events
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    start = event.time + 0.01
    assert lin.trajectory(start).v @ normal > 0.0 > lin.trajectory.final.v @ normal
    flight = np.kron([[1.0, lin.t1 - start], [0.0, 1.0]], np.eye(3))
    assert_allclose(lin.matrix(start), flight, atol=CLOSED_FORM)


def test_lift_off_from_stick() -> None:
    """(72): pulled straight up, the ball leaves from stick: its cone closes with its normal force."""
    system = cs.ContactSystem(point_mass(0.5), controller=lambda t, q, v: np.array([0.0, 0.0, 20.0 * t]))
    lin = cs.linearize(cs.simulate(system, cs.State([0.0, 0.0, 0.05], np.zeros(3)), (0.0, 0.6), tolerances=RUN))
    event = lin.events[-1]
    assert event.events[0].transitions["point"] == (cs.Mode.STICK, cs.Mode.OPEN)
    assert event.is_identity
    assert list(event.pieces()) == [("point",)]


def test_pendulum_that_bounces() -> None:
    """One coordinate: both blocks are -e."""
    system = cs.ContactSystem(pendulum(1.0, 1.0, 0.1, 0.9, 0.0, 0.6))
    (event,) = cs.linearize(cs.simulate(system, cs.State([1.2], [0.0]), (0.0, 0.5), tolerances=RUN)).events
    assert_allclose(event.blocks["qq"], -0.6, atol=CLOSED_FORM)
    assert_allclose(event.blocks["vv"], -0.6, atol=CLOSED_FORM)
    assert_allclose(event.blocks["qv"], 0.0, atol=CLOSED_FORM)


@pytest.mark.parametrize("name", ["stick to slip, unequal", "slip to stick"])
def test_changes_of_field_are_one_and_a_dyad(name: str) -> None:
    """(95): 1 + a b^T, whose eigenvalues are all one but 1 + a . b."""
    event = row(name)
    update = event.saltation - np.eye(len(event.saltation))
    left, sizes, right = np.linalg.svd(update)
    assert sizes[1] < ROUNDING * sizes[0]
    odd = 1.0 + sizes[0] * float(right[0] @ left[:, 0])
    expected = np.sort_complex(np.append(np.ones(len(update) - 1), odd).astype(complex))
    assert_allclose(np.sort_complex(event.eigenvalues.astype(complex)), expected, atol=1e-6)  # of a defective matrix
    if name == "slip to stick":
        assert odd == pytest.approx(0.0, abs=ROUNDING)  # the slip velocity has no variation any more


# --- several contacts, and friction in space ------------------------------------------------------------------------
def thrown(robot: cs.Robot, velocity: Array, tilt: Array, end: float) -> cs.Linearization:
    """A free body thrown at level ground from a centimetre above it."""
    system = cs.ContactSystem(robot)
    q = np.concatenate([np.zeros(3), pin.Quaternion(pin.exp3(np.array(tilt, dtype=float))).coeffs()])
    q[2] = 0.01 - system.mechanism.gaps(0.0, q).min()
    return cs.linearize(cs.simulate(system, cs.State(q, velocity), (0.0, end), tolerances=RUN))


@cache
def several() -> tuple[cs.linearization.EventLinearization, ...]:
    """Events of boxes that land on their corners one by one, and of a ball that slides and comes to roll."""
    velocity, tilt = (0.6, 0.3, -0.5, 0.2, 0.1, 0.4), (0.1, 0.07, 0.0)
    runs = (
        thrown(box(friction=0.3), velocity, tilt, 0.06),
        thrown(box(friction=0.9), velocity, tilt, 0.06),
        thrown(box(friction=0.3, restitution=0.4), velocity, tilt, 0.08),
        thrown(sphere(friction=0.3), np.array([1.0, 0.4, -0.5, 3.0, -1.0, 2.0]), np.zeros(3), 0.5),
    )
    found = [event for lin in runs for event in lin.events]
    return tuple(event for event in found if sum(map(len, event.data.groups)) == 1)


def test_what_holds_for_every_event() -> None:
    """The upper right block is zero, and positions see 1 + (v+ - v-) D_q g / g'.

    Both follow from q' = v and a reset that leaves q alone, whatever the contacts and the friction. Where contacts
    land together because others leave them no other way, the positions that keep them together are projected besides.
    """
    events = several()
    assert len(events) >= 6
    assert any(event.events[0].mode_pre.closed and event.events[0].impulses for event in events)
    for event in events:
        root, (group,) = event.data.root, event.data.groups
        name, n = min(group, key=str), root.system.nv
        jump = event.events[0].state_post.v - event.events[0].state_pre.v
        expected = np.eye(n) + np.outer(jump, root.gradient(name)[:n]) / root.rate(name)
        assert_allclose(event.blocks["qv"], 0.0, atol=ROUNDING)
        assert_allclose(event.blocks["qq"], expected, atol=ROUNDING, err_msg=str(event.events[0].transitions))


def test_point_that_slips_in_space() -> None:
    """The diagonal blocks differ: a velocity across the slip shrinks with the speed, a position does not.

    Only (v_x, v_y) -> (1 - mu |v_z| / |v_t|) (v_x, v_y) has a derivative that is not one, so vv is in closed form.
    """
    mu = 0.3
    system = cs.ContactSystem(point_mass(mu))
    state = cs.State([0.0, 0.0, 0.05], [1.2, 0.5, -0.7])
    (event,) = cs.linearize(cs.simulate(system, state, (0.0, 0.1), tolerances=RUN)).events
    v = event.events[0].state_pre.v
    speed = np.hypot(v[0], v[1])
    s = v[:2] / speed
    shrink = 1.0 - mu * abs(v[2]) / speed
    expected = np.zeros((3, 3))
    expected[:2, :2] = shrink * np.eye(2) + (1.0 - shrink) * np.outer(s, s)
    expected[:2, 2] = mu * s
    assert_allclose(event.blocks["vv"], expected, atol=CLOSED_FORM)
    along = np.eye(3)
    along[:, 2] = [mu * s[0], mu * s[1], 0.0]
    assert_allclose(event.blocks["qq"], along, atol=CLOSED_FORM)


def test_second_foot_without_friction() -> None:
    """With another contact closed the diagonal blocks agree on what that contact allows, and differ elsewhere."""
    robot = planar_body(1.0, 0.01, {"left": (-0.3, -0.1), "right": (0.3, -0.1)}, 0.0, 0.0)
    system = cs.ContactSystem(robot)
    lin = cs.linearize(cs.simulate(system, cs.State([0.0, 0.2, -0.1], [0.5, -0.5, 0.2]), (0.0, 0.3), tolerances=RUN))
    event = lin.events[1]
    before, after = event.events[0].mode_pre.closed, event.events[0].mode_post.closed
    assert (len(before), len(after)) == (1, 2)
    x = event.data.root.x
    (row,) = system.mechanism.terms(0.0, x[:3], x[3:], before).rows[:1]
    allowed = np.linalg.svd(row[None])[2][1:].T
    apart = event.blocks["qq"] - event.blocks["vv"]
    assert_allclose(apart @ allowed, 0.0, atol=ROUNDING)
    assert np.abs(apart).max() > APART


def test_ball_that_comes_to_roll() -> None:
    """A capture in space is no dyad: both tangential variations end, one by the guard and one by friction."""
    lin = thrown(sphere(friction=0.3), np.array([1.0, 0.4, -0.5, 3.0, -1.0, 2.0]), np.zeros(3), 0.5)
    event = lin.events[-1]
    assert event.events[0].transitions["ball"] == (cs.Mode.SLIP, cs.Mode.STICK)
    assert_allclose(event.blocks["qq"], np.eye(6), atol=ROUNDING)
    assert np.linalg.matrix_rank(event.saltation - np.eye(12), tol=1e-6) == 2
    values = np.sort(np.abs(event.eigenvalues))
    assert_allclose(values, [0.0, 0.0, *np.ones(10)], atol=1e-6)  # of a defective matrix


@pytest.mark.parametrize("static", [None, 0.5])
def test_what_is_identity_on_a_robot(static: float | None) -> None:
    """Break-away is the identity with equal coefficients only, also in space and with other contacts closed.

    Apart from the matrix: a quadruped sways on its feet; they stick and slip, and leave where others land.
    """
    robot = cs.load_robot("solo12")
    robot = robot.with_contacts([replace(c, friction=0.4, static_friction=static) for c in robot.contacts])
    nominal = np.array(robot.nominal)

    def reference(t: float) -> Array:
        swing = np.zeros(19)
        swing[7::3], swing[8], swing[14] = 0.6 * np.sin(30.0 * t), 0.9 * np.sin(20.0 * t), -0.5 * np.sin(20.0 * t)
        return nominal + swing

    system = cs.ContactSystem(robot, controller=cs.PD(robot, reference, kp=12.0, kd=0.3))
    q = nominal.copy()
    q[3:7] = pin.Quaternion(pin.exp3(np.array([0.03, 0.02, 0.1]))).coeffs()
    q[2] += 0.002 - system.mechanism.gaps(0.0, q)[:4].min()
    traj = cs.simulate(system, cs.State(q, np.zeros(18)), (0.0, 0.067 if static is None else 0.12))
    words = {(cs.Mode.STICK, cs.Mode.SLIP): static is None, (cs.Mode.SLIP, cs.Mode.STICK): False}
    seen = set()
    for event in cs.linearize(traj).events:
        (word, *others) = event.events[0].transitions.values()
        if not others and word in words and not event.events[0].impulses:
            seen.add(word)
            assert same(event.saltation, np.eye(36), within=FORCE) is words[word]
    assert seen == set(words)
