"""The compliant hexapod: geometry, forces, charts and gaits against closed forms, differences and reference numbers."""

from __future__ import annotations

import hexapod_legs
import numpy as np
import pytest
from contactsim_plugins.models.compliant_hexapod import CompliantHexapod, LegChart, geometry, legs
from contactsim_plugins.models.compliant_hexapod.controller import Command, HipControl
from contactsim_plugins.models.compliant_hexapod.dynamics import Dynamics, Evaluation, Setting
from contactsim_plugins.models.compliant_hexapod.ledger import energy_ledger
from contactsim_plugins.models.compliant_hexapod.state import FEET, FEET_RATE, PLACE, REFERENCE, ROTATION, SPEED, SPIN
from contactsim_plugins.models.compliant_hexapod.terrain import Ground

import contactsim as cs

REFERENCE_TIME = 1e-9  # s, event times of an independent implementation
REFERENCE_PLACE = 1e-9  # m, its positions
REFERENCE_SPEED = 1e-5  # m/s, its mean speed, quoted with five decimals
STOP_PRECISION = 1e-10  # N, m, rad: stopPrecision of the manual
START_HEIGHT = 1e-12  # m, both implementations solve for it; the other quotes 5e-13 less
DIFFERENCES = 1e-8  # relative, closed forms against central differences of fourth order
BALANCE = 1e-12  # relative, forces and moments by two ways of summing
LEDGER = 1e-8  # relative to the energy turned over, sticking toes, rtol 1e-8
SLIP_LEDGER = 1e-4  # relative, slipping toes: the field has kinks where a toe starts or stops
MIRROR = 1e-12  # m, a run and its mirror image differ by rounding only
LINEARIZED = 1e-6  # relative to the largest component, or to one, against differences of neighbouring runs
ROLLED = 0.5  # rad, from the vertical; the default run stays below 0.1
FIXED_STEP = 2e-6  # m, RK4 at 1.25 ms after half a second
TIGHT = cs.Tolerances(rtol=1e-8, atol=1e-10)
QUICK = cs.Tolerances(rtol=1e-5, atol=1e-5)

# Reference numbers of an independent implementation of the manual's section 5.
FIRST_TOUCHDOWN = 0.186614025953  # s, leg 5
PLACE_AT_HALF = [-5.106625214e-4, -0.1229053276748, 0.1711382702299]  # m, at 0.5 s
MEAN_SPEED = 0.27784  # m/s, from 5 to 10 s
HEIGHT = 0.17182179609111384  # m
UNWRAPPED_LANDINGS, UNWRAPPED_REFUSED = [0.577719, 0.579540, 0.579914], 0.700753  # s, ours: legs 2, 4, 0; leg 1
FORCE_BEFORE, FORCE_AFTER = [4.82, 4.04, 6.23], [-2.10, -3.02, -0.21]  # N, legs 0, 2, 4 at 0.3 s


def run(time: float, tolerances: cs.Tolerances | None = None, integrator: str | None = None, **parameters):
    model = CompliantHexapod(**parameters)
    return cs.simulate(model, model.initial_state(), (0.0, time), tolerances=tolerances, integrator=integrator)


def changes(traj: cs.Trajectory) -> list[tuple[str, str]]:
    return [change for event in traj.events for change in event.transitions.values()]


def tilt(x: np.ndarray) -> float:
    """Angle of the body's z axis from the vertical."""
    return float(np.arccos(np.clip(x[8], -1.0, 1.0)))


def yaw(traj: cs.Trajectory) -> float:
    return float(np.arctan2(traj.final_x[3], traj.final_x[0]))


@pytest.fixture(scope="module")
def tight_run() -> cs.Trajectory:
    return run(0.6, TIGHT)


# --- geometry -----------------------------------------------------------------------------------------------------


class Motion:
    """A smooth motion of body and toes with everything turning, for differences in time."""

    attach = CompliantHexapod().dynamics.attach

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        self.turn, self.swing, self.drift = 0.3 * rng.normal(size=(3, 3))
        self.legs = rng.normal(size=(3, 6, 3)) * 0.02

    def R(self, t: float) -> np.ndarray:
        return geometry.rotation(self.turn * t) @ geometry.rotation(self.swing)

    def r(self, t: float) -> np.ndarray:
        return self.drift * np.sin(1.0 + t)

    def feet(self, t: float) -> np.ndarray:
        v = np.array([0.05, 0.03, -0.18]) + self.legs[0] + self.legs[1] * np.sin(3 * t) + self.legs[2] * t**2
        return geometry.toes(self.R(0.2), self.r(0.1), v, self.attach)

    def v(self, t: float) -> np.ndarray:
        return hexapod_legs.cartesian(self.R(t), self.r(t), self.feet(t), self.attach)

    def angles(self, t: float) -> np.ndarray:
        return np.array(geometry.spherical(self.v(t), np.zeros((6, 3)))[:3])


def rate(function, t: float, h: float = 1e-3) -> np.ndarray:
    return (8 * (function(t + h) - function(t - h)) - (function(t + 2 * h) - function(t - 2 * h))) / (12 * h)


def test_leg_coordinates_and_their_inverse() -> None:
    motion = Motion()
    theta, phi, rho = motion.angles(0.3)
    v = geometry.from_spherical(theta, phi, rho)
    np.testing.assert_allclose(v, motion.v(0.3), atol=1e-15)
    feet = geometry.toes(motion.R(0.3), motion.r(0.3), v, motion.attach)
    np.testing.assert_allclose(feet, motion.feet(0.3), atol=1e-15)


def test_leg_rates_and_accelerations_against_differences() -> None:
    motion, t = Motion(), 0.3
    w, w_rate = motion.turn, np.zeros(3)
    feet_rate, feet_second = rate(motion.feet, t), rate(lambda s: rate(motion.feet, s), t)
    r_rate, r_second = motion.drift * np.cos(1.0 + t), -motion.drift * np.sin(1.0 + t)
    v_rate = hexapod_legs.cartesian_rates(motion.R(t), w, motion.r(t), r_rate, motion.feet(t), feet_rate)
    arms = motion.feet(t) - motion.r(t)
    v_second = hexapod_legs.cartesian_accelerations(motion.R(t), w, w_rate, arms, v_rate, r_second, feet_second)
    found = geometry.spherical(motion.v(t), v_rate)
    second = hexapod_legs.spherical_accelerations(motion.v(t), v_rate, v_second)
    np.testing.assert_allclose(v_rate, rate(motion.v, t), atol=DIFFERENCES)
    np.testing.assert_allclose(v_second, rate(lambda s: rate(motion.v, s), t), atol=DIFFERENCES)
    np.testing.assert_allclose(found[3:6], rate(motion.angles, t), atol=DIFFERENCES)
    np.testing.assert_allclose(second, rate(lambda s: rate(motion.angles, s), t), rtol=DIFFERENCES, atol=DIFFERENCES)


def test_printed_second_derivatives_are_misprints() -> None:
    """phi'' without its bracket and rho'' with its sign, as printed, are not the second derivatives."""
    motion = Motion()
    v, v1 = motion.v(0.3), rate(motion.v, 0.3)
    v2 = rate(lambda s: rate(motion.v, s), 0.3)
    _, phi, rho = hexapod_legs.spherical_accelerations(v, v1, v2)
    (_, y, z), (x1, y1, z1), (_, y2, z2) = v.T, v1.T, v2.T
    B, C = y * y1 + z * z1, y * y + z * z
    E, F = np.sum(v * v1, axis=1), np.sum(v * v, axis=1)
    printed_phi = 2 * B * (z * y1 - y * z1) - C * (z * y2 - y * z2) / C**2
    printed_rho = -(4 * E**2 + 4 * F * np.sum(v1 * v1 + v * v2, axis=1)) / (4 * F**1.5)
    printed_theta = (y * y * x1 - v[:, 0] * y * y1 + (z * x1 - v[:, 0] * z1) * z) / np.sqrt(C * F)
    assert np.abs(printed_phi - phi).min() > 1e-3 and np.abs(printed_rho - rho).min() > 1e-3
    assert np.abs(printed_theta - geometry.spherical(v, v1).theta_rate).min() > 1e-3


@pytest.mark.parametrize("kind", ["flat", "sinusoid", "sloped"])
def test_normal_is_that_of_the_height(kind: str) -> None:
    ground = Ground(kind, 0.0 if kind == "sloped" else 0.03, 0.2 if kind == "sloped" else 15.0, 12.0)
    rng = np.random.default_rng(1)
    points = np.abs(rng.normal(size=(5, 3))) + 0.1
    slopes = [rate(lambda h, e=e: ground.height(points + h * e), 0.0, 1e-4) for e in np.eye(3)[:2]]
    across = np.stack([-slopes[0], -slopes[1], np.ones(5)], axis=-1)
    np.testing.assert_allclose(
        ground.normal(points), across / np.linalg.norm(across, axis=1)[:, None], atol=DIFFERENCES
    )


# --- forces -------------------------------------------------------------------------------------------------------


def moving_state(seed: int = 2) -> np.ndarray:
    model = CompliantHexapod()
    x = model.initial_state()
    shift = 0.02 * np.random.default_rng(seed).normal(size=54)
    shift[3:6] *= 30.0
    return model.space(None).integrate(x, shift)


def test_leg_force_is_the_matrix_of_the_manual() -> None:
    found = CompliantHexapod().flow(LegChart((True,) * 6, (0,) * 6)).evaluate(moving_state())
    for i in range(6):
        theta, phi, rho = (found.legs[k][i] for k in range(3))
        s, c, sp, cp = np.sin(theta), np.cos(theta), np.sin(phi), np.cos(phi)
        matrix = np.array([[-s, -c, 0], [-c * sp, s * sp, -cp], [c * cp, -s * cp, -sp]])
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(matrix) == pytest.approx(1.0)
        force = matrix @ [found.radial[i], found.bending[i] / rho, found.hip[i] / (rho * c)]
        np.testing.assert_allclose(found.R @ force, found.force[i], rtol=BALANCE, atol=BALANCE)


def test_balance_of_forces_and_moments() -> None:
    """m r'' and d(M w)/dt in the world against the sums over the standing legs; the toes against their own legs."""
    model, x = CompliantHexapod(), moving_state()
    chart = LegChart((True, False, True, True, False, False), (0, 2) * 3)
    flow = model.flow(chart)
    found, dx = flow.evaluate(x), flow.field(0.0, x)
    stands, R = np.array(chart.stance), x[ROTATION].reshape(3, 3)
    weight = np.array([0.0, 0.0, -60.0])
    np.testing.assert_allclose(6.0 * dx[9:12], weight + found.force[stands].sum(axis=0), rtol=BALANCE, atol=BALANCE)
    inertia = R @ np.diag([0.2, 0.08, 0.4]) @ R.T
    w = x[SPIN]
    moment = np.cross(x[FEET].reshape(6, 3) - x[PLACE], found.force)[stands].sum(axis=0)
    change = inertia @ dx[3:6] + np.cross(w, inertia @ w)
    np.testing.assert_allclose(change, moment, rtol=BALANCE, atol=1e3 * BALANCE)
    toes = dx[30:48].reshape(6, 3)
    np.testing.assert_allclose(toes[~stands], -found.force[~stands] / 0.01, rtol=BALANCE)
    assert not toes[stands].any() and not dx[12:30].reshape(6, 3)[stands].any()


@pytest.mark.parametrize(("kind", "rho_l"), [("continuous", 0.2), ("literal", 0.181)])
def test_energy_of_a_saturated_spring_is_its_integral(kind: str, rho_l: float) -> None:
    springs, rho = CompliantHexapod(K=10.0, rho_l=rho_l, saturation=kind).dynamics.springs, np.full(6, 0.203)
    slope = rate(lambda h: springs.energy(rho + h, np.full(6, 0.2)), 0.0, 1e-5)
    np.testing.assert_allclose(slope, -springs.radial(rho, np.zeros(6)), rtol=DIFFERENCES)


def test_derivatives_of_field_guards_and_resets() -> None:
    model = CompliantHexapod()
    chart = LegChart((True, False, True, False, True, False), (0, 2) * 3)
    printed = {"K": 10.0, "rho_l": 0.181, "saturation": "literal"}
    for other in ({}, {"terrain_type": "sinusoid"}, printed):
        errors = cs.check_jacobians(CompliantHexapod(**other), 0.0, moving_state(), chart)
        assert max(errors.values()) < DIFFERENCES
    space, x = model.space(chart), moving_state()
    dx = 0.3 * np.random.default_rng(3).normal(size=54)
    np.testing.assert_allclose(space.difference(x, space.integrate(x, dx)), dx, atol=1e-12)
    w = np.random.default_rng(4).normal(size=54)
    there = space.integrate(x, dx)
    moved = rate(lambda h: space.difference(x, space.integrate(there, h * w)), 0.0)
    np.testing.assert_allclose(space.chart_rate(dx, w), moved, atol=DIFFERENCES)


# --- the default run ----------------------------------------------------------------------------------------------


def test_start_in_the_alternating_tripod() -> None:
    model = CompliantHexapod()
    x = model.initial_state()
    start = model.start(0.0, x)
    assert x[PLACE][2] == pytest.approx(HEIGHT, abs=START_HEIGHT)
    assert start.mode.stance == (True, False) * 3 and start.mode.phases == (0, 2) * 3
    assert start.mode.number == 0b10_00_10_00_10_00_010101
    still = model.flow(start.mode).evaluate(x)
    assert still.normal[[0, 2, 4]].sum() == pytest.approx(60.0, abs=1e-9)
    assert not x[SPEED].any() and not x[FEET_RATE].any()


def test_reference_numbers(tight_run: cs.Trajectory) -> None:
    first, *_ = tight_run.events
    assert first.time == pytest.approx(FIRST_TOUCHDOWN, abs=REFERENCE_TIME)
    assert first.transitions == {"leg5": ("flight", "stance")}
    np.testing.assert_allclose(tight_run(0.5)[PLACE], PLACE_AT_HALF, atol=REFERENCE_PLACE)


def test_three_legs_lift_off_together_where_the_reference_jumps(tight_run: cs.Trajectory) -> None:
    (lifted,) = [event for event in tight_run.events if abs(event.time - 0.3) < REFERENCE_TIME]
    assert lifted.fired == {("liftoff", 0), ("liftoff", 2), ("liftoff", 4)}
    assert lifted.transitions == {f"leg{i}": ("stance", "flight") for i in (0, 2, 4)}
    switch = tight_run.all_events[tight_run.all_events.index(lifted) - 1]
    assert switch.time == lifted.time and {name for name, _ in switch.fired} == {"phase"}
    model = tight_run.system
    for mode, forces in ((switch.mode_pre, FORCE_BEFORE), (switch.mode_post, FORCE_AFTER)):
        np.testing.assert_allclose(model.flow(mode).evaluate(switch.x_post).normal[[0, 2, 4]], forces, atol=5e-3)


def test_energy_closes(tight_run: cs.Trajectory) -> None:
    ledger = energy_ledger(tight_run)
    assert abs(ledger.residual) < LEDGER * ledger.turnover
    assert ledger.hip_work > 0.0 > ledger.leg_damping and ledger.touch_down < 0.0
    assert ledger.missing_reaction != 0.0 and ledger.missing_weight != 0.0
    assert ledger.slip_friction == ledger.lift_off == ledger.parameters == 0.0
    assert tight_run.check()["energy ledger [relative]"] < LEDGER


@pytest.mark.slow
def test_ten_seconds() -> None:
    traj = run(10.0)
    kinds = changes(traj)
    assert traj.status is cs.Status.FINISHED and len(kinds) == 120
    assert kinds.count(("flight", "stance")) == kinds.count(("stance", "flight")) == 60
    assert not [note for event in traj.all_events for note in event.notes]
    speed = (traj(5.0) - traj(10.0))[PLACE][1] / 5.0
    assert speed == pytest.approx(MEAN_SPEED, abs=REFERENCE_SPEED)
    np.testing.assert_allclose(traj(0.5)[PLACE], PLACE_AT_HALF, atol=REFERENCE_PLACE)


def test_events_lie_where_their_boundary_is_crossed(tight_run: cs.Trajectory) -> None:
    """Each guard that fired by crossing is zero there, far within the manual's stopPrecision of 1e-10."""
    crossed = 0
    for event in tight_run.all_events:
        flow = tight_run.system.flow(event.mode_pre)
        values = dict(zip(flow.guard_names, flow.guards(event.time, event.x_pre), strict=True))
        for name in event.fired:
            if not (name[0] == "liftoff" and abs(event.time - 0.3) < REFERENCE_TIME):  # those have jumped
                assert abs(values[name]) < STOP_PRECISION
                crossed += 1
    assert crossed == 15  # three touch-downs, and the ends of 12 phases


def test_error_and_cost_follow_the_tolerance(tight_run: cs.Trajectory) -> None:
    """RK45: the error is in proportion to the tolerance, the cost to its power -1/5 in the limit."""
    logs = np.log10([1e-4, 1e-5, 1e-6])
    runs = [run(0.5, cs.Tolerances(rtol=10.0**log, atol=10.0**log), "RK45") for log in logs]
    errors = [np.abs(traj.final_x[PLACE] - tight_run(0.5)[PLACE]).max() for traj in runs]
    slopes = np.diff(np.log10(errors)) / np.diff(logs)
    assert (slopes > 0.7).all() and (slopes < 1.3).all()
    costs = np.diff(np.log10([traj.evaluations for traj in runs])) / np.diff(logs)
    assert (costs > -0.22).all() and (costs < -0.12).all()


def test_fixed_steps_of_the_stability_limit() -> None:
    traj = run(0.5, cs.Tolerances(max_step=1.25e-3), "RK4")
    np.testing.assert_allclose(traj.final_x[PLACE], PLACE_AT_HALF, atol=FIXED_STEP)
    assert len(changes(traj)) == 6


def test_stored_run_comes_back(tight_run: cs.Trajectory, tmp_path) -> None:
    model = CompliantHexapod()
    again = cs.Trajectory.load(tight_run.save(tmp_path / "run.nc"), system=model)
    np.testing.assert_allclose(again.final_x, tight_run.final_x, atol=1e-12)
    assert again.notes == tight_run.notes and "more than its rest length" in again.notes[0]
    assert energy_ledger(again).residual == pytest.approx(energy_ledger(tight_run).residual, abs=1e-9)
    assert model.auxiliary(again)["chart"][0] == tight_run.mode_at(0.0).number


def test_share_of_stance_outside_the_friction_cone(tight_run: cs.Trajectory) -> None:
    """Sticking toes are an idealisation: standing, the legs push sideways with 0.83 of the normal force."""
    record = CompliantHexapod().auxiliary(tight_run)
    assert record["tangential4"][0] / record["normal4"][0] == pytest.approx(0.83, abs=0.01)
    stands = np.array([record[f"stance{i}"][:-1] > 0 for i in range(6)])
    ratio = np.array([record[f"tangential{i}"][:-1] > 0.5 * record[f"normal{i}"][:-1] for i in range(6)])
    weights = np.diff(tight_run.t) * stands
    assert (weights * ratio).sum() / weights.sum() > 0.85


# --- other gaits --------------------------------------------------------------------------------------------------


def test_negated_profile_is_the_mirror_image() -> None:
    forward, back = run(0.5), run(0.5, direction="negated")
    mirror = np.array([1.0, -1.0, 1.0])
    np.testing.assert_allclose(back.final_x[PLACE], mirror * forward.final_x[PLACE], atol=MIRROR)
    assert forward.final_x[PLACE][1] < 0.0 < back.final_x[PLACE][1]


@pytest.mark.parametrize(
    ("direction", "sense"), [pytest.param("increasing", -1.0, marks=pytest.mark.slow), ("negated", 1.0)]
)
def test_turning_in_place_turns(direction: str, sense: float) -> None:
    traj = run(0.45, QUICK, "RK45", gait="turning-in-place", direction=direction, friction="slip")
    assert traj.status is cs.Status.FINISHED
    assert sense * yaw(traj) > 0.2
    assert np.linalg.norm(traj.final_x[PLACE][:2]) < 0.08


@pytest.mark.slow
def test_differential_turning_turns_right() -> None:
    """Delta t_s and Delta phi_o > 0 turn a robot that runs to +y towards +x."""
    straight, turning = (
        run(3.0, QUICK, "RK45", direction="negated", delta_ts=ts, delta_phi_o=offset)
        for ts, offset in ((0.0, 0.0), (0.02, 0.1))
    )
    assert yaw(turning) < yaw(straight) - 0.05
    assert turning.final_x[PLACE][0] > straight.final_x[PLACE][0] + 0.02


def test_slip_closes_its_energy_and_stays_in_the_cone() -> None:
    traj = run(0.4, QUICK, "RK45", friction="slip")
    ledger = energy_ledger(traj)
    assert abs(ledger.residual) < SLIP_LEDGER * ledger.turnover
    assert ledger.slip_friction < 0.0 < ledger.lift_off
    for t in (0.001, 0.15, 0.25, 0.35):
        found = traj.system.flow(traj.mode_at(t)).evaluate(traj(t))
        for i in np.flatnonzero(traj.mode_at(t).stance):
            push, u = -found.force[i] + found.normal[i] * np.eye(3)[2], found.toe_rate[i]
            assert np.linalg.norm(push) <= 0.5 * found.normal[i] * (1.0 + 1e-9)
            if u.any():
                np.testing.assert_allclose(push, 0.5 * found.normal[i] * u / np.linalg.norm(u), atol=1e-9)


@pytest.mark.parametrize(
    "ground", [{"terrain_type": "sinusoid"}, {"terrain_type": "sloped", "terrain_arg1": 0.0, "terrain_arg2": 0.1,
                                               "terrain_arg3": 0.0, "direction": "negated"}]
)  # fmt: skip
def test_other_grounds_run(ground: dict) -> None:
    traj = run(1.0, QUICK, "RK45", **ground)
    assert traj.status is cs.Status.FINISHED and len(changes(traj)) == 12


def test_continuous_saturation_runs() -> None:
    traj = run(0.5, QUICK, "RK45", K=10.0)
    assert traj.status is cs.Status.FINISHED and len(changes(traj)) == 6


def test_controller_parameters_change_at_half_cycles_only() -> None:
    model = CompliantHexapod()
    sim = cs.Simulation(model, model.initial_state(), integrator="RK4", tolerances=cs.Tolerances(max_step=1.25e-3))
    sim.advance_to(0.1)
    sim.set("sweep_angle", 0.5)
    before = sim.trajectory.arcs[-1]
    assert all(held == Command.of(model.parameters) for held in before.mode.held)
    sim.advance_to(0.6)
    traj = sim.trajectory
    assert sim.mode.held == (None,) * 6
    speed = (traj(0.45) - traj(0.44))[REFERENCE][0] / 0.01
    assert speed == pytest.approx(13.832963, abs=1e-6)  # the fast phase of the former sweep
    speed = (traj(0.58) - traj(0.57))[REFERENCE][1] / 0.01
    assert speed == pytest.approx(0.5 / 0.6)
    (changed,) = [event for event in traj.events if "controller" in event.transitions]
    assert changed.time == pytest.approx(0.5)


# --- derivatives --------------------------------------------------------------------------------------------------


def chained(lin: cs.Linearization, dx: np.ndarray) -> np.ndarray:
    """What a run makes of a variation, its arcs integrated explicitly, with steps that see the kinks of the torque."""
    columns = dx[:, None]
    for piece in lin.pieces:
        if hasattr(piece, "saltation"):
            columns = piece.saltation @ columns
        else:
            columns = piece.dense(piece.t0, piece.t1, columns)(piece.t1)
    return columns[:, 0]


@pytest.mark.slow
def test_linearization_through_touchdown_and_triple_liftoff() -> None:
    """Body and references against runs from neighbouring states; where the phases end apart, the lift-offs do, too."""
    model, exact = CompliantHexapod(), cs.Tolerances(rtol=1e-9, atol=1e-11)
    x, space = model.initial_state(), model.space(None)
    traj = cs.simulate(model, x, (0.0, 0.31), tolerances=exact)
    lin = cs.linearize(traj)
    assert [len(event.pieces()) for event in lin.all_events] == [1, 1, 1, 6, 6]
    assert all(event.differentiable for event in lin.all_events)
    body = np.concatenate([np.random.default_rng(0).normal(size=12), np.zeros(42)])
    for direction, h in ((body / np.linalg.norm(body), 2e-5), (np.eye(54)[53], 5e-5)):
        ends = [
            cs.simulate(model, space.integrate(x, s * h * direction), (0.0, 0.31), tolerances=exact).final_x
            for s in (1.0, -1.0)
        ]
        slope = (space.difference(traj.final_x, ends[0]) - space.difference(traj.final_x, ends[1])) / (2.0 * h)
        linear = chained(lin, direction)
        np.testing.assert_allclose(linear, slope, rtol=0, atol=LINEARIZED * max(1.0, np.abs(slope).max()))
        kept = np.r_[0:12, 48:54]
        linear = lin.matrix() @ direction
        np.testing.assert_allclose(linear[kept], slope[kept], rtol=0, atol=LINEARIZED * max(1.0, np.abs(slope).max()))


# --- what the literal readings do -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_leg_4_at_the_printed_place_rolls_over() -> None:
    """Six hips at five places: the body rolls past the horizontal and the run cannot reach its end.

    On the way legs chatter; a run that is not stopped there ends upside down, at 2.085 s, as an invalid chart.
    """
    traj = run(2.2, QUICK, "RK45", attach4_y=0.2)
    assert not traj.status.complete
    assert max(tilt(x) for x in traj.x) > ROLLED
    if traj.status is cs.Status.INVALID_STATE:
        assert "toppled over" in traj.message and tilt(traj.final_x) > 0.5 * np.pi


def test_leg_4_at_the_printed_place_leaves_the_tripod_unbalanced() -> None:
    tilts = []
    for y in (0.0, 0.2):
        traj = run(0.18, cs.Tolerances(max_step=1.25e-3), "RK4", attach4_y=y)
        tilts.append(tilt(traj.final_x))
    assert tilts[1] > 2.0 * tilts[0]


def test_unwrapped_error_saturates_after_a_turn() -> None:
    wrapped = HipControl.of(CompliantHexapod().parameters)
    turned, phi = np.full(6, 2.0 * np.pi + 0.1), np.full(6, 0.1)
    assert np.abs(wrapped.torque(turned, np.zeros(6), phi, np.zeros(6))).max() < 1e-13
    plain = HipControl.of(CompliantHexapod(pd_error="unwrapped").parameters)
    assert (plain.torque(turned, np.zeros(6), phi, np.zeros(6)) == 3.0).all()


def test_unwrapped_error_chatters() -> None:
    """The reference grows past pi at 0.5 s, phi does not: full torque throws the legs ahead of their reference.

    Up to 0.5 s nothing differs. Then the tripod lands 0.1 s early, its torque at the limit, and touch-downs that the
    force check refuses follow each other: those of leg 1 until 0.7905 s, those of leg 5 without end at 0.79 s.
    """
    traj = cs.simulate(
        (model := CompliantHexapod(pd_error="unwrapped")),
        model.initial_state(),
        (0.0, 1.0),
        integrator="RK45",
        tolerances=QUICK,
        max_events=250,
    )
    assert not traj.status.complete and traj.t[-1] < 0.791
    np.testing.assert_allclose(traj(0.5)[PLACE], run(0.5, QUICK, "RK45").final_x[PLACE], atol=MIRROR)
    landings = [event.time for event in traj.events if ("flight", "stance") in event.transitions.values()]
    np.testing.assert_allclose(landings[3:], UNWRAPPED_LANDINGS, atol=1e-4)
    t = np.linspace(0.61, 0.69, 5)
    record, control = model.auxiliary(traj, t), model.dynamics.control
    assert (record["ref0"] > np.pi).all() and (np.abs(record["phi0"]) < 0.5).all()
    rates = [model.flow(traj.mode_at(s)).evaluate(traj(s)).legs.phi_rate[0] for s in t]
    assert record["torque0"].tolist() == [control.limited(np.inf, rate) for rate in rates]
    refused = [event for event in traj.events if ("flight", "flight") in event.transitions.values()]
    assert len(refused) > 10 and refused[0].time == pytest.approx(UNWRAPPED_REFUSED, abs=1e-4)
    assert refused[10].time - refused[0].time < 1e-5


def test_printed_saturation_has_fields_that_point_at_each_other() -> None:
    """At rho_l = 0.181 a flying leg is pushed out from below and pulled in from above: a sliding mode."""
    model = CompliantHexapod(K=10.0, rho_l=0.181, saturation="literal")
    below, above = (model.dynamics.springs.radial(np.full(6, rho), np.zeros(6))[0] for rho in (0.181 - 1e-9, 0.181))
    assert below > 0.0 > above
    smooth = CompliantHexapod(K=10.0).dynamics.springs
    ends = [smooth.radial(np.full(6, 0.2 + d), np.zeros(6))[0] for d in (-1e-9, 1e-9)]
    assert abs(ends[1] - ends[0]) < 1e-4


def test_printed_saturation_slides_along_its_jump() -> None:
    """The jump is a boundary between charts: standing leg 0 passes it both ways, flying legs 3 and 5 cannot leave it.

    From 0.202 s on they cross back and forth, ever faster: leg 3 at first within 1.4 ms, at 0.2126 s within 40
    microseconds. Its acceleration points to the boundary from both sides.
    """
    model = CompliantHexapod(K=10.0, rho_l=0.181, saturation="literal")
    traj = cs.simulate(model, model.initial_state(), (0.0, 0.22), integrator="RK45", tolerances=QUICK)
    assert traj.status is cs.Status.EVENTS_WITHOUT_END and traj.t[-1] == pytest.approx(0.2126, abs=3e-3)
    (before, after), told = traj.events[-1].transitions["spring3"], traj.message
    assert f"two modes (spring3 {before} -> {after}) lead to each other" in told, told
    jumps = {i: [event for event in traj.events if f"spring{i}" in event.transitions] for i in range(6)}
    assert [event.transitions["spring0"] for event in jumps[0]] == [("linear", "saturated"), ("saturated", "linear")]
    np.testing.assert_allclose([event.time for event in jumps[0]], [0.0794639, 0.1259276], atol=1e-6)
    first = jumps[3][0]
    assert first.time == pytest.approx(0.20221, abs=1e-4)
    cycles = np.diff([event.time for event in jumps[3][::2]])
    assert (np.diff(cycles) < 0.0).all() and cycles[-1] < 0.5 * cycles[0]
    for event in jumps[3][-4:]:
        sides = []
        for mode in (event.mode_pre, event.mode_post):
            flow = model.flow(mode)
            moved = model.space(mode).integrate(event.x_post, 1e-7 * flow.field(event.time, event.x_post))
            rates = [flow.evaluate(x).legs.rho_rate[3] for x in (event.x_post, moved)]
            sides.append((mode.saturated[3], (rates[1] - rates[0]) / 1e-7))
        pulled = dict(sides)
        assert pulled[True] < 0.0 < pulled[False]


def test_jump_of_the_printed_saturation_is_stored_and_linearized(tmp_path) -> None:
    """The force jumps where leg 0 reaches rho_l: the derivative through it against runs from neighbouring states."""
    model, exact = CompliantHexapod(K=10.0, rho_l=0.181, saturation="literal"), cs.Tolerances(rtol=1e-9, atol=1e-11)
    x, space, span = model.initial_state(), model.space(None), (0.07, 0.09)
    x = cs.simulate(model, x, (0.0, span[0]), tolerances=exact).final_x
    traj = cs.simulate(model, x, span, tolerances=exact)
    (jump,) = traj.events
    assert jump.transitions == {"spring0": ("linear", "saturated")}
    assert traj.arcs[-1].mode.saturated[0] and "saturated: 0" in str(traj.arcs[-1].mode)
    again = cs.Trajectory.load(traj.save(tmp_path / "run.nc"))
    assert LegChart.of(again.arcs[-1].mode) == traj.arcs[-1].mode
    lin = cs.linearize(traj)
    direction = np.concatenate([np.random.default_rng(6).normal(size=12), np.zeros(42)])
    direction /= np.linalg.norm(direction)
    h = 2e-5
    ends = [
        cs.simulate(model, space.integrate(x, s * h * direction), span, tolerances=exact).final_x for s in (1.0, -1.0)
    ]
    slope = (space.difference(traj.final_x, ends[0]) - space.difference(traj.final_x, ends[1])) / (2.0 * h)
    assert np.abs(lin.events[0].saltation - np.eye(54)).max() > 1e-3
    np.testing.assert_allclose(lin.matrix() @ direction, slope, rtol=0, atol=LINEARIZED * max(1.0, np.abs(slope).max()))


def test_printed_sign_of_the_force_lifts_every_standing_leg() -> None:
    """With F_i of 5.1.2, the boundary -<n, F_i> of 5.3.3 is negative wherever a leg carries the body."""
    model = CompliantHexapod()
    x = model.initial_state()
    normal = model.flow(model.start(0.0, x).mode).evaluate(x).normal
    assert (normal[[0, 2, 4]] > 10.0).all() and (-normal[[0, 2, 4]] < 0.0).all()


class PrintedSign(Dynamics):
    """Lift-off, touch-down and validation ask for -<n, F_i>, as 5.3.3 and 5.4.5 print it."""

    def evaluate(self, x: np.ndarray, setting: Setting) -> Evaluation:
        found = super().evaluate(x, setting)
        return found._replace(normal=-found.normal)


def test_printed_sign_of_the_force_lets_the_body_fall() -> None:
    """No leg that presses may stand: all lift off at the start, and every touch-down is refused."""
    model = CompliantHexapod()
    model.dynamics = PrintedSign(model.parameters)
    x = model.initial_state()
    assert model.start(0.0, x).mode.stance == (False,) * 6
    traj = cs.simulate(model, x, (0.0, 0.5), integrator="RK45", tolerances=QUICK, max_events=100)
    assert not traj.status.complete and traj.t[-1] < 0.2
    assert ("flight", "stance") not in changes(traj)
    drop = traj(traj.t[-1])[PLACE][2] - x[PLACE][2]
    assert drop == pytest.approx(-5.0 * traj.t[-1] ** 2, abs=MIRROR)


# --- validation and mistakes --------------------------------------------------------------------------------------


def test_chart_validation_finds_its_four_cases() -> None:
    model = CompliantHexapod()
    x = model.initial_state()
    chart = model.start(0.0, x).mode
    assert model.validate(0.0, x, chart) == []
    sunk, long, low = x.copy(), x.copy(), x.copy()
    sunk[PLACE][2] = -0.01
    assert any(f.fatal and "toppled" in f.reason for f in model.validate(0.0, sunk, chart))
    long[PLACE][2] += 0.04
    found = model.validate(0.0, long, chart)
    assert any(not f.fatal and "leg 0 stands with more than its rest length" in f.reason for f in found)
    assert any(f.fatal and "leg 0 stands and pulls" in f.reason for f in found)
    low[FEET][5] = -1e-3
    assert any(f.fatal and "toe 1 flies under the ground" in f.reason for f in model.validate(0.0, low, chart))


def test_touchdown_that_would_pull_is_refused() -> None:
    model = CompliantHexapod()
    x = model.initial_state()
    x[SPEED][2] = 3.0  # the body moves up so fast that the damper of a standing leg pulls
    x[FEET][5], x[FEET_RATE][5] = 0.0, -1.0
    chart = LegChart((False,) * 6, (0, 2) * 3)
    transition = model.transition(0.0, x, chart, frozenset({("touchdown", 1)}))
    assert transition.mode.stance == (False,) * 6 and transition.changes == {"leg1": ("flight", "flight")}
    assert not transition.x[FEET_RATE].any() and "refused" in transition.notes[0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"terrain_type": "sloped"}, "set terrain_arg1 = 0"),
        ({"J_11": -1.0}, "not symmetric and positive definite"),
        ({"flight_time": 1.5}, "has no duration"),
        ({"leg_masss": 1.0}, "unknown key"),
        ({"friction": "glue"}, "'stick' or 'slip'"),
    ],
)
def test_mistakes_in_parameters(parameters: dict, message: str) -> None:
    with pytest.raises(cs.InputError, match=message):
        CompliantHexapod(**parameters)


def test_mistakes_in_the_start() -> None:
    model = CompliantHexapod()
    with pytest.raises(cs.InputError, match=r"toe 2 starts 0\.01 m in the ground"):
        cs.simulate(model, model.initial_state(foot2_z=-0.01), (0.0, 0.1))
    with pytest.raises(cs.InputError, match="no rotation matrix"):
        cs.simulate(model, model.initial_state(R_11=2.0), (0.0, 0.1))
    with pytest.raises(cs.InputError, match="carry the body at no height"):
        CompliantHexapod(body_mass=1e5).initial_state()


def test_slip_of_a_leg_without_hip_is_that_of_a_dragged_block() -> None:
    """One damper along x and y, pressed with N: mu N = |F| - d u along the force."""
    control = HipControl(0.0, 0.0, 3.0, 30.0)
    leg = legs.SlippingLeg(
        np.array([3.0, 4.0, -6.0]), np.zeros(3), np.diag([2.0, 2.0, 2.0]), np.eye(3)[2], 0.0, 0.0, control, 0.5
    )
    assert not leg.sticks()
    np.testing.assert_allclose(leg.slip(), np.array([0.6, 0.8, 0.0]) * (5.0 - 3.0) / 2.0, atol=1e-12)
