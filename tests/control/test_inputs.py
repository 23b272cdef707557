"""Inputs that are held: what they apply, how they feed back, and the run in discrete time against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are
from thrust import ball

import contactsim as cs
from contactsim.control.drives import FileActuators, drive_of

EXACT = 1e-10  # of a linear motion, with rtol 1e-11
DIFFERENCED = 2e-7  # relative to the largest entry: central differences of 1e-6 of runs with rtol 1e-11
FINE = cs.Tolerances(rtol=1e-11, atol=1e-12)
DT = 0.02
ACTUATORS = """
<mujoco><worldbody>
  <body pos="0 0 0.5"><joint name="slide" type="slide" axis="0 0 1"/><geom type="sphere" size="0.05" mass="1"/>
    <body pos="0 0 -0.2"><joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02"
      mass="0.3"/>
    </body></body></worldbody>
  <actuator>
    <position name="servo" joint="hinge" kp="5" kv="0.4" ctrlrange="-1 1" ctrllimited="true"/>
    <motor name="lift" joint="slide" gear="2"/>
    <general name="slow" joint="hinge" dyntype="filter" dynprm="0.05" gainprm="3" biastype="none"/>
  </actuator></mujoco>"""


def run_of(U: np.ndarray, start: tuple[float, float] = (4.0, 0.0), **feedback) -> cs.Trajectory:
    system = ball().with_controller(cs.Inputs(U, DT, **feedback))
    return cs.simulate(system, cs.State([start[0]], [start[1]]), (0.0, len(U) * DT), tolerances=FINE)


def thrusts(count: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, 1))


def test_each_row_holds_for_its_time() -> None:
    U = thrusts(10)
    run = run_of(U)
    z, v = 4.0, 0.0
    for u in U[:, 0]:
        z, v = z + v * DT + 0.5 * (u - 9.81) * DT**2, v + (u - 9.81) * DT
    assert run.final.q[0] == pytest.approx(z, abs=EXACT)
    assert run.final.v[0] == pytest.approx(v, abs=EXACT)
    assert run.final.z.tolist() == [U[-1, 0]], "the last row holds behind the end"


def test_discrete_in_flight_is_the_closed_form() -> None:
    found = cs.linearize(run_of(thrusts(5))).discrete(np.arange(6) * DT)
    assert found.A.shape == (5, 2, 2) and found.B.shape == (5, 2, 1)
    assert np.abs(found.A - [[1.0, DT], [0.0, 1.0]]).max() < EXACT
    assert np.abs(found.B - [[0.5 * DT**2], [DT]]).max() < EXACT


def test_discrete_across_a_bounce_against_differences() -> None:
    U = thrusts(50)
    run = run_of(U)
    assert len(run.events) == 1
    lin = cs.linearize(run, tolerances=FINE)
    found = lin.discrete(np.arange(51) * DT)
    carried, rows = np.eye(2), []
    for A, B in zip(found.A[::-1], found.B[::-1], strict=True):
        rows.append(carried @ B)
        carried = carried @ A
    by_inputs = np.hstack(rows[::-1])
    bounce = int(run.events[0].time / DT)
    for k in (0, bounce - 1, bounce, bounce + 1, 49):
        step = np.zeros((50, 1))
        step[k] = 1e-6
        ends = [run_of(U + sign * step).final for sign in (1, -1)]
        difference = np.array([ends[0].q[0] - ends[1].q[0], ends[0].v[0] - ends[1].v[0]]) / 2e-6
        assert np.abs(by_inputs[:, k] - difference).max() < DIFFERENCED
    halves = lin.discrete([0.0, 0.5, 1.0])
    assert np.abs(halves.B[1, :, 0] - by_inputs[:, 25:].sum(axis=1)).max() < EXACT, "they vary alike over an interval"
    assert np.abs(halves.A[1] @ halves.A[0] - carried).max() < EXACT * np.abs(carried).max()


def test_feedback_is_on_the_difference_to_the_run() -> None:
    U = thrusts(20)
    K = np.tile([[[30.0, 8.0]]], (20, 1, 1))
    reference = run_of(U)
    assert run_of(U, K=K, reference=reference).final.q[0] == pytest.approx(reference.final.q[0], abs=EXACT)
    z, v = 4.05, 0.1
    for k, u in enumerate(U[:, 0]):
        at = reference(k * DT)
        u = u - 30.0 * (z - at.q[0]) - 8.0 * (v - at.v[0])
        z, v = z + v * DT + 0.5 * (u - 9.81) * DT**2, v + (u - 9.81) * DT
    off = run_of(U, (4.05, 0.1), K=K, reference=reference)
    assert off.final.q[0] == pytest.approx(z, abs=1e-8)
    states = [reference(k * DT) for k in range(20)]
    assert run_of(U, (4.05, 0.1), K=K, reference=states).final.q[0] == pytest.approx(z, abs=1e-8)


def test_derivative_of_a_run_with_feedback() -> None:
    U, K = thrusts(20), np.tile([[[30.0, 8.0]]], (20, 1, 1))
    reference = run_of(U)
    run = run_of(U, (4.05, 0.1), K=K, reference=reference)
    column = cs.linearize(run, tolerances=FINE).matrix()[:2, 0]
    ends = [run_of(U, (4.05 + h, 0.1), K=K, reference=reference).final for h in (1e-6, -1e-6)]
    assert column[0] == pytest.approx((ends[0].q[0] - ends[1].q[0]) / 2e-6, abs=DIFFERENCED)
    plain = cs.linearize(run).discrete(np.arange(21) * DT)
    assert np.abs(plain.A[3] - [[1.0, DT], [0.0, 1.0]]).max() < EXACT, "inputs are held, not fed back"


def test_near_an_impact_the_nearer_side_of_the_reference_is_followed() -> None:
    """A ball that bounces a sample late is compared with the fall continued, not with the rise."""
    U, K = np.zeros((50, 1)), np.tile([[[0.0, 5.0]]], (50, 1, 1))
    reference = run_of(U)
    bounce = reference.events[0].time
    late = run_of(U, (4.25, 0.0), K=K, reference=reference)
    assert late.events[0].time > np.ceil(bounce / DT) * DT
    applied = [late(k * DT).z[0] for k in range(50)]
    assert np.abs(applied).max() < 5.0, "against the other side of the bounce it would be 5 * 15 N"


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> cs.Robot:
    pytest.importorskip("mujoco")
    path = tmp_path_factory.mktemp("driven") / "driven.xml"
    path.write_text(ACTUATORS, encoding="utf-8")
    return cs.Robot.from_mjcf(path)


def test_inputs_of_a_file_are_its_actuators_in_their_order(driven: cs.Robot) -> None:
    U = np.tile([0.3, 1.5, 0.7], (10, 1))
    q, v = driven.nominal + 0.1, np.array([0.2, -0.3])
    ends = []
    for controller in (cs.Inputs(U, DT), cs.Actuators(driven, {"servo": 0.3, "lift": 1.5, "slow": 0.7})):
        system = cs.ContactSystem(driven, controller=controller)
        ends.append(cs.simulate(system, cs.State(q, v), (0.0, 0.2), tolerances=FINE).final)
    assert np.abs(ends[0].q - ends[1].q).max() < 1e-9 and np.abs(ends[0].v - ends[1].v).max() < 1e-9
    assert ends[0].z[3:] == pytest.approx(ends[1].z, abs=1e-9), "what the filter holds follows the inputs"


@pytest.mark.parametrize("servo", [0.3, 2.0])
def test_derivatives_of_the_actuators(driven: cs.Robot, servo: float) -> None:
    drive = drive_of(driven)
    assert isinstance(drive, FileActuators)
    at = np.concatenate([[0.1, -0.2, 0.3, 0.4], [servo, 1.5, 0.7], [0.6]])

    def force(y: np.ndarray) -> np.ndarray:
        return drive.force(y[4:7], y[:2], y[2:4], y[7:])

    def rate(y: np.ndarray) -> np.ndarray:
        return drive.rate(y[4:7], y[7:])

    steps = 1e-6 * np.eye(8)
    by_force = np.column_stack([(force(at + e) - force(at - e)) / 2e-6 for e in steps])
    by_rate = np.column_stack([(rate(at + e) - rate(at - e)) / 2e-6 for e in steps])
    assert np.abs(by_force - drive.force_jacobian(at[4:7], at[:2], at[2:4], at[7:])).max() < 1e-7
    assert np.abs(by_rate[:, 4:] - drive.rate_jacobian(at[4:7], at[7:])).max() < 1e-7


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(cs.InputError, match="has 2 columns; the robot has 1 inputs"):
        ball().with_controller(cs.Inputs(np.zeros((3, 2)), DT))
    with pytest.raises(cs.InputError, match="give both of them, or none"):
        cs.Inputs(np.zeros((3, 1)), DT, K=np.zeros((3, 1, 2)))
    with pytest.raises(cs.InputError, match="give one gain for each of U"):
        cs.Inputs(np.zeros((3, 1)), DT, K=np.zeros((4, 1, 2)), reference=[])
    with pytest.raises(cs.InputError, match="has 1 states; give a Trajectory, or 3 states"):
        cs.Inputs(np.zeros((3, 1)), DT, K=np.zeros((3, 1, 2)), reference=[cs.State([0.0], [0.0])])
    with pytest.raises(cs.InputError, match="U of Inputs is"):
        cs.Inputs([1.0, 2.0], DT)
    plain = cs.simulate(ball(), cs.State([4.0], [0.0]), (0.0, 0.1))
    with pytest.raises(cs.InputError, match=r"drive it by cs\.Inputs"):
        cs.linearize(plain).discrete([0.0, 0.1])
    with pytest.raises(cs.InputError, match="rising series"):
        cs.linearize(run_of(thrusts(5))).discrete([0.0, 0.0])
    with pytest.raises(cs.InputError, match="Inputs drive nothing yet"):
        cs.Inputs(np.zeros((3, 1)), DT).torque(0.0, np.zeros(1), np.zeros(1), np.zeros(1))


def test_discrete_regulator_against_the_algebraic_equation() -> None:
    """What the infinite horizon ends with stays as it is."""
    found = cs.linearize(run_of(np.full((12, 1), 9.81))).discrete(np.arange(13) * DT)
    Q, R = np.diag([3.0, 0.5]), np.array([[0.02]])
    P = solve_discrete_are(found.A[0], found.B[0], Q, R)
    gains = found.lqr(Q, R, P)
    assert gains.P.shape == (13, 2, 2) and gains.K.shape == (12, 1, 2)
    assert np.abs(gains.P[0] - P).max() < 1e-8 * np.abs(P).max()
    A, B, K = found.A[0], found.B[0], gains.K[0]
    assert np.abs(K - np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)).max() < 1e-7
    with pytest.raises(cs.InputError, match="Q has shape"):
        found.lqr(np.eye(3), R, np.eye(2))
