"""Controllers: plain functions, joint PD, zero-order hold, own state; pushes and parameters set in mid-run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import point_mass

import contactsim as cs
from contactsim.multibody.controllers import as_controller

G = 9.81


def test_zero_order_hold_is_a_chain_of_constant_forces() -> None:
    """A mass under a sampled spring: x'' = -k x(t_k), integrated exactly from sample to sample."""
    stiffness, period, steps = 30.0, 0.05, 30
    robot = point_mass(mass=1.0)
    hover = cs.Sampled(lambda t, q, v: np.array([-stiffness * q[0], 0.0, G]), period, robot.nv)
    traj = cs.simulate(
        cs.ContactSystem(robot, controller=hover), cs.State([0.3, 0, 1.0], [0, 0, 0]), (0.0, steps * period)
    )
    x, v = 0.3, 0.0
    for _ in range(steps):
        a = -stiffness * x
        x, v = x + v * period + a * period**2 / 2, v + a * period
    np.testing.assert_allclose([traj.final.q[0], traj.final.v[0]], [x, v], atol=1e-11)
    assert not traj.events and len(traj.all_events) >= steps - 1


def test_sampling_goes_on_through_a_push() -> None:
    """A push that begins and ends between two samples adds no sample."""
    robot = point_mass(mass=1.0)
    seen: list[float] = []

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        seen.append(t)
        return np.array([0.0, 0.0, G])

    simulation = cs.Simulation(
        cs.ContactSystem(robot, controller=cs.Sampled(law, 0.1, 3)), cs.State([0, 0, 1], np.zeros(3))
    )
    simulation.advance(0.13)
    simulation.push(robot.contacts[0].frame, (2.0, 0.0, 0.0), duration=0.05)
    state = simulation.advance(0.17)
    np.testing.assert_allclose(sorted(set(np.round(seen, 12))), [0.0, 0.1, 0.2, 0.3], atol=1e-12)
    np.testing.assert_allclose(state.v[0], 2.0 * 0.05, atol=1e-12)
    np.testing.assert_allclose(state.q[0], 2.0 * 0.05**2 / 2 + 0.1 * 0.12, atol=1e-12)


def test_controller_with_own_state() -> None:
    """Integral action holds a mass against gravity with no error left."""

    class Integral(cs.Controller):
        memory = 1

        def torque(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
            return np.array([0.0, 0.0, 60.0 * (1.0 - q[2]) - 15.0 * v[2] + z[0]])

        def rate(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
            return np.array([80.0 * (1.0 - q[2])])

    traj = cs.simulate(
        cs.ContactSystem(point_mass(mass=1.0), controller=Integral()), cs.State([0, 0, 1], np.zeros(3)), (0, 30)
    )
    np.testing.assert_allclose([traj.final.q[2], traj.final.z[0]], [1.0, G], atol=1e-7)


def test_pd_holds_the_hexapod_at_rest_and_samples_alike() -> None:
    robot = cs.load_robot("hexapod")
    finals = []
    for period in (None, 0.002):
        hold = cs.PD(robot, robot.nominal, kp=150.0, kd=3.0, period=period)
        traj = cs.simulate(
            cs.ContactSystem(robot, controller=hold), cs.State(robot.nominal, np.zeros(robot.nv)), (0, 0.1)
        )
        assert traj.status is cs.Status.FINISHED, traj.message
        traj.check()
        finals.append(traj.final.q)
    np.testing.assert_allclose(finals[0], finals[1], atol=2e-4)


def test_friction_set_in_mid_slide() -> None:
    """A point slides with mu = 0.2 for 0.1 s and with mu = 0.4 from then on."""
    simulation = cs.Simulation(cs.ContactSystem(point_mass(friction=0.2)), cs.State([0, 0, 0], [1.0, 0.0, 0.0]))
    simulation.advance(0.1)
    simulation.set("contact.friction", 0.4)
    simulation.advance(0.9)
    speed = 1.0 - 0.2 * G * 0.1
    stop = 0.1 + speed / (0.4 * G)
    traj = simulation.trajectory
    assert traj.events[-1].time == pytest.approx(stop, abs=1e-9)
    np.testing.assert_allclose(traj.forces(0.05)["point"][0], -0.2 * G, atol=1e-9)
    np.testing.assert_allclose(traj.forces(0.15)["point"][0], -0.4 * G, atol=1e-9)
    traj.check()


# --- names and mistakes ----------------------------------------------------------------------------------------------
def hover(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.array([0.0, 0.0, G])


def test_controllers_go_by_the_name_of_what_the_user_wrote() -> None:
    assert repr(as_controller(hover)) == "hover"
    with pytest.raises(
        cs.InputError, match=r"^the controller is Sampled, a class; give an object of it: Sampled\(...\)$"
    ):
        as_controller(cs.Sampled)
    assert repr(cs.Sampled(hover, 0.1, 3)) == "Sampled(hover)"
    assert repr(cs.PD(point_mass())) == "PD"


@pytest.mark.parametrize("sampled", [False, True])
def test_a_controller_that_returns_nan_ends_the_run(sampled: bool) -> None:
    def fails_later(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([0.0, np.nan if t > 0.19 else 0.0, 0.0])

    controller = cs.Sampled(fails_later, 0.05, 3) if sampled else fails_later
    system = cs.ContactSystem(point_mass(), controller=controller)
    run = cs.simulate(system, cs.State([0, 0, 1], np.zeros(3)), (0.0, 0.4))
    assert run.status is cs.Status.FAILED
    assert 0.0 < run.t[-1] <= 0.2 + 1e-12
    for word in ("fails_later", "nan at index 1", "finite"):
        assert word in run.message
    assert "\n" not in run.message


def test_a_controller_of_the_wrong_shape_is_named() -> None:
    with pytest.raises(cs.InputError, match=r"<lambda> returns tau of shape \(2,\) at t = 0 s; return \(3,\)"):
        cs.simulate(
            cs.ContactSystem(point_mass(), controller=lambda t, q, v: np.zeros(2)),
            cs.State([0, 0, 1], np.zeros(3)),
            (0.0, 0.1),
        )


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (lambda t: np.zeros(2), ["q_ref of shape (2,)", "(3,)"]),
        (lambda t: (np.zeros(3), np.zeros(2), np.zeros(3)), ["v_ref of shape (2,)"]),
        (lambda t: (np.zeros(3), np.zeros(3), 0.0), ["tau_ff of shape ()"]),
        (lambda t: (np.zeros(3), np.zeros(3)), ["q_ref of shape (2, 3)"]),
        (lambda t: "there", ["q_ref not an array of numbers"]),
        (lambda t: None, ["q_ref of shape ()"]),
    ],
)
def test_references_of_the_wrong_shape(reference: object, words: list[str]) -> None:
    with pytest.raises(cs.InputError) as caught:
        cs.PD(point_mass(), reference)
    for word in ("reference of the PD controller", "t = 0", *words):
        assert word in str(caught.value), str(caught.value)


def test_a_controller_without_parameters_says_so() -> None:
    with pytest.raises(cs.InputError, match="the controller hover has no parameter 'kp'; there are none"):
        as_controller(hover).with_parameter("kp", 1.0)


# --- what is held -----------------------------------------------------------------------------------------------------
class Follows(cs.Controller):
    """Counts its samples, and pushes with (count, v_x, t): only the first number comes from its memory."""

    memory, period = 1, 0.1

    def sample(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        return z + 1.0

    def torque(self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.array([z[0], v[0], G + t])


def test_the_torque_of_a_controller_with_a_period_is_held_whatever_it_reads() -> None:
    """Between samples the acceleration is constant; the first sample is taken at the start, and nothing is late."""
    system = cs.ContactSystem(point_mass(mass=1.0), controller=Follows())
    traj = cs.simulate(system, cs.State([0, 0, 5], np.zeros(3), np.zeros(1)), (0.0, 0.5))
    v, expected = np.zeros(3), []
    for k in range(5):
        a = np.array([k + 1.0, v[0], 0.1 * k])
        expected.append(a)
        there = traj.arc_at(0.1 * k + 0.05)
        applied = system.applied_force(0.1 * k + 0.05, there(0.1 * k + 0.05))
        np.testing.assert_allclose(applied - [0, 0, G], a, atol=1e-9)
        v = v + 0.1 * a
    np.testing.assert_allclose(traj.final.v, v, atol=1e-9)
    assert traj.final.z[0] in (5.0, 6.0)  # the run ends at an instant of sampling


def test_the_derivative_of_a_run_with_a_held_torque_is_that_of_differences() -> None:
    system = cs.ContactSystem(point_mass(mass=1.0), controller=Follows())

    def final(dx: np.ndarray) -> np.ndarray:
        start = cs.State(np.array([0, 0, 5]) + dx[:3], np.array([0.3, 0, 0]) + dx[3:6], [0.0])
        return cs.simulate(system, start, (0.0, 0.45)).final_x

    whole = cs.linearize(cs.simulate(system, cs.State([0, 0, 5], [0.3, 0, 0], [0.0]), (0.0, 0.45))).matrix()
    steps = 1e-4 * np.eye(6)
    differences = np.stack([(final(h) - final(-h)) / 2e-4 for h in steps], axis=1)
    np.testing.assert_allclose(whole[:, :6], differences, atol=1e-7)


def test_an_action_that_is_changed_in_place_is_refused_where_it_is_not_sampled() -> None:
    action = np.array([0.0, 0.0, G])
    system = cs.ContactSystem(point_mass(mass=1.0), controller=lambda t, q, v: action)
    run = cs.Simulation(system, cs.State([0, 0, 5], np.zeros(3)))
    run.advance(0.1)
    run.advance(0.1)
    action[0] = 1.0
    with pytest.raises(cs.InputError, match=r"t = 0\.2 s .*changed in place.*cs\.Sampled.*Simulation\.set"):
        run.advance(0.1)
    action[0] = 0.0
    run.advance(0.1)  # and goes on where that is undone


def test_an_action_that_is_changed_in_place_is_seen_at_the_next_sample() -> None:
    action = np.array([0.0, 0.0, G])
    system = cs.ContactSystem(point_mass(mass=1.0), controller=cs.Sampled(lambda t, q, v: action, 0.1, 3))
    run = cs.Simulation(system, cs.State([0, 0, 5], np.zeros(3)))
    run.advance_to(0.15)
    action[0] = 1.0
    np.testing.assert_allclose(run.advance_to(0.4).v, [0.2, 0.0, 0.0], atol=1e-12)
    assert run.trajectory.check()


@pytest.mark.parametrize("period", [None, 0.1])
def test_a_fault_is_told_at_the_users_line_not_at_that_of_a_library(period: float | None) -> None:
    def reads_too_much(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.reshape(q, (4, 4))  # told

    given = reads_too_much if period is None else cs.Sampled(reads_too_much, period, 3)
    line = reads_too_much.__code__.co_firstlineno + 1
    with pytest.raises(cs.CallbackError, match=rf"\(in reads_too_much, line {line} of .*test_controllers\.py\)"):
        cs.simulate(cs.ContactSystem(point_mass(), controller=given), cs.State([0, 0, 1], np.zeros(3)), (0.0, 0.1))


def test_a_fault_in_a_reference_is_told_where_the_controller_is_made() -> None:
    def posture(t: float) -> np.ndarray:
        return {}["nothing"]  # type: ignore[index]

    line = posture.__code__.co_firstlineno + 1
    with pytest.raises(cs.CallbackError, match=rf"reference .*posture.*KeyError.*line {line} of"):
        cs.PD(point_mass(), posture)


@pytest.mark.parametrize("law", ["coulomb", "hunt-crossley"])
@pytest.mark.parametrize("engine", [None, "python"])
def test_forces_on_a_floating_base_are_noted_once(law: str, engine: str | None) -> None:
    """They act, as whatever a controller returns; motors alone would not apply them."""
    robot = cs.load_robot("hexapod")
    start = cs.State(robot.nominal, np.zeros(robot.nv))

    def damped(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -2.0 * v * robot.actuated

    def lifted(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return damped(t, q, v) + 5.0 * (np.arange(robot.nv) == 2)

    def notes(controller: Any) -> tuple[str, ...]:
        system = cs.ContactSystem(robot, law=law, controller=controller)
        return cs.simulate(system, start, (0, 0.02), engine=engine).notes

    (note,) = notes(lifted)
    assert "'root_joint' of robot 'hexapod', which has no actuator" in note and "rows 0 to 5 of tau" in note
    assert notes(cs.Sampled(lifted, 0.005, robot.nv))[0].startswith("the controller Sampled(")
    assert not notes(damped)
    assert not notes(cs.PD(robot, kp=150.0, kd=6.0, limits=True))


def test_a_force_on_a_body_without_motors_is_none_to_note() -> None:
    robot = cs.Robot.sphere(mass=1.0, radius=0.1)
    system = cs.ContactSystem(robot, controller=lambda t, q, v: np.array([0, 0, G, 0, 0, 0]))
    assert not cs.simulate(system, cs.State(robot.nominal, np.zeros(6)), (0.0, 0.1)).notes


def test_gains_are_given_by_joint_as_in_scenes() -> None:
    robot = cs.load_robot("hexapod")
    knee = robot.joint_index("lf_knee")
    drive = cs.PD(robot, kp={"lf_knee": 80.0}, kd={"lf_knee": 2.0, "lm_knee": 3.0})
    given = drive.parameters()
    assert [given[f"kp.{name}"] for name in ("lf_knee", "lm_knee")] == [80.0, 10.0]
    assert [given[f"kd.{name}"] for name in ("lf_knee", "lm_knee", "lr_knee")] == [2.0, 3.0, 0.3]
    assert drive.stiffness[knee] == 80.0 and not drive.stiffness[:6].any()
    for joint in ("left_knee", "root_joint"):
        with pytest.raises(cs.InputError, match=rf"kp is given for '{joint}', which is no driven joint; .*lf_knee"):
            cs.PD(robot, kp={joint: 80.0})
    with pytest.raises(cs.InputError, match=r"the gain kd of joint 'lf_knee' is -1.0; give a number that is zero or p"):
        cs.PD(robot, kd={"lf_knee": -1.0})
