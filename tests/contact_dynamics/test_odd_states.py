"""Odd states and odd demands, against independent references."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
import tolerances as tol
from builders import G, box, first_time, lifted, planar_body, point_mass, single_body, sphere
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.contact import redundant_forces

Array = np.ndarray


class TooMuchWork(Exception):
    pass


def bounded(
    system: cs.ContactSystem, state: cs.State, span: tuple[float, float], most: int, **options: object
) -> cs.Trajectory:
    """A run that gives up after `most` field evaluations, so that a crawl fails instead of hanging."""
    simulation = cs.Simulation(system, state, span[0], **options)

    def watch(t: float) -> None:
        if simulation.evaluations > most:
            raise TooMuchWork(f"{simulation.evaluations} evaluations up to t = {t}")

    simulation.advance_to(span[1], watch)
    return simulation.trajectory


def turned(rotation_vector: Array) -> Array:
    """Quaternion (x, y, z, w) of a rotation vector."""
    return np.array(pin.Quaternion(pin.exp3(np.asarray(rotation_vector, float))).coeffs())


def clean(traj: cs.Trajectory) -> None:
    assert traj.status.complete, traj.message
    traj.check()


# --- steps that are long for the guards ------------------------------------------------------------------------------
@pytest.mark.parametrize("spin", [7.0, 13.0, 23.70425908239946, 29.0, 38.0, 80.0, 171.09774323800474])
@pytest.mark.parametrize("gravity", [0.0, 3.0])
def test_spinning_rod_touches_when_its_tip_first_reaches_the_ground(spin: float, gravity: float) -> None:
    """In flight a planar rod moves by polynomials, so a step may hold many turns: each dip of a tip counts."""
    rod = planar_body(1.0, 0.1, {"a": (-0.5, 0.0), "b": (0.5, 0.0)}, 0.3, 0.5)
    system = cs.ContactSystem(rod, gravity=(0, 0, -gravity))
    height, fall = 0.83, 0.3
    t = np.linspace(0.0, 1.8, 1_000_001)
    gap = height - fall * t - gravity * t**2 / 2 - 0.5 * np.abs(np.sin(0.1 + spin * t))
    traj = cs.simulate(system, cs.State([0, height, 0.1], [0, -fall, spin]), (0.0, 1.8))
    first = next((event.time for event in traj.events if event.impulses), np.inf)
    assert first == pytest.approx(t[np.argmax(gap < 0.0)], abs=4e-6)


# --- the clock -------------------------------------------------------------------------------------------------------
def test_the_end_of_a_push_is_one_event_and_costs_no_more() -> None:
    """A push presses a point onto a slope that is too steep for its friction; when it ends, the point slips."""
    angle, mu, duration, end = np.deg2rad(20.0), 0.3, 0.1, 0.3
    system = cs.ContactSystem(point_mass(friction=mu), terrain=cs.terrain.Slope(angle=angle))
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    simulation = cs.Simulation(system, cs.State([0, 0, 0], [0, 0, 0]))
    simulation.push("mass", force=-30 * normal, duration=duration)
    assert simulation.mode == {"point": cs.Mode.STICK}
    simulation.advance(end)
    traj = simulation.trajectory
    path = G * (np.sin(angle) - mu * np.cos(angle)) * (end - duration) ** 2 / 2
    assert np.linalg.norm(traj.final.q) == pytest.approx(path, abs=tol.STOP_PLACE)
    assert first_time(traj, "point", cs.Mode.SLIP) == duration
    assert traj.evaluations < 400
    clean(traj)


def test_pushes_in_flight_slip_and_stick() -> None:
    system = cs.ContactSystem(point_mass(friction=0.3))
    simulation = cs.Simulation(system, cs.State([0, 0, 0], [0, 0, 0]))
    simulation.advance(0.05)
    simulation.push("mass", force=(5, 2, 0), duration=0.1)
    assert simulation.mode == {"point": cs.Mode.SLIP}
    simulation.advance(1.0)
    traj = simulation.trajectory
    gain, loss = np.hypot(5, 2) - 0.3 * G, 0.3 * G
    speed = 0.1 * gain
    assert first_time(traj, "point", cs.Mode.STICK) == pytest.approx(0.15 + speed / loss, abs=tol.STOP_TIME)
    place = gain * 0.1**2 / 2 + speed**2 / (2 * loss)
    np.testing.assert_allclose(traj.final.q[:2], place * np.array([5, 2]) / np.hypot(5, 2), rtol=0, atol=tol.STOP_PLACE)
    clean(traj)


@pytest.mark.parametrize(("height", "period"), [(0.5, 0.125), (0.5, 0.1), (0.3, 0.1), (0.375, 0.125)])
def test_a_sample_is_taken_also_where_a_contact_lands_at_its_instant(height: float, period: float) -> None:
    calls: list[float] = []

    def controller(t: float, q: Array, v: Array) -> Array:
        calls.append(float(t))
        return np.zeros(3)

    system = cs.ContactSystem(
        point_mass(restitution=0.5), gravity=(0, 0, 0), controller=cs.Sampled(controller, period, 3)
    )
    cs.simulate(system, cs.State([0, 0, height], [0, 0, -1.0]), (0.0, 1.0))
    np.testing.assert_allclose(calls, period * np.arange(round(1.0 / period) + 1), rtol=0, atol=1e-15)


def test_a_run_that_is_restarted_between_two_samples_holds_the_old_one() -> None:
    def controller(t: float, q: Array, v: Array) -> Array:
        return np.array([np.sin(20 * t) - v[0], 0.0, 0.0])

    system = cs.ContactSystem(point_mass(restitution=0.5), controller=cs.Sampled(controller, 0.1, 3))
    traj = cs.simulate(system, cs.State([0, 0, 0.5], [0, 0, 0]), (0.0, 0.5))
    again = cs.simulate(system, traj(0.25), (0.25, 0.5))
    np.testing.assert_allclose(again(0.26).z, traj(0.26).z, rtol=0, atol=1e-12)
    np.testing.assert_allclose(again.final.q, traj.final.q, rtol=0, atol=tol.STOP_PLACE)


@pytest.mark.parametrize("period", [0.01, 0.001])
def test_sampled_pd_equals_a_loop_written_by_hand(period: float) -> None:
    robot = cs.load_robot("hexapod")
    start = cs.State(lifted(robot, 0.03), np.zeros(robot.nv))
    sampled = cs.ContactSystem(robot, controller=cs.PD(robot, kp=20, kd=0.2, period=period))
    traj = cs.simulate(sampled, start, (0.0, 0.1))
    law, held = cs.PD(robot, kp=20, kd=0.2), [np.zeros(robot.nv)]
    state = start
    simulation = None
    for k in range(round(0.1 / period)):
        held[0] = law.torque(k * period, state.q, state.v, np.empty(0))
        if simulation is None:
            simulation = cs.Simulation(cs.ContactSystem(robot, controller=lambda t, q, v: held[0]), start)
        else:
            simulation.set("contact.restitution", 0.0)  # sorts the contacts out again: the torque has jumped
        state = simulation.advance_to((k + 1) * period)
    np.testing.assert_allclose(traj.final.q, state.q, rtol=0, atol=tol.SLOPE_PATH)
    clock = [event.time for event in traj.all_events if "clock" in event.fired]
    np.testing.assert_array_equal(clock, period * np.arange(1, round(0.1 / period) + 1))


def test_controller_with_integral_action() -> None:
    class Integral(cs.Controller):
        memory = 1

        def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
            return np.array([-20 * (q[0] - 0.1) - 3 * v[0] - 30 * z[0], 0.0, 0.0])

        def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
            return np.array([q[0] - 0.1])

    traj = cs.simulate(cs.ContactSystem(point_mass(friction=0.0), controller=Integral()), ([0] * 3, [0] * 3), (0, 3.0))
    reference = solve_ivp(
        lambda t, y: [y[1], -20 * (y[0] - 0.1) - 3 * y[1] - 30 * y[2], y[0] - 0.1],
        (0, 3),
        [0, 0, 0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
    ).y[:, -1]
    np.testing.assert_allclose([traj.final.q[0], traj.final.v[0], traj.final.z[0]], reference, rtol=0, atol=1e-9)


@pytest.mark.parametrize("start", [0.0, 0.1, -2.3, 1000.0])
def test_record_period_samples_are_met_exactly(start: float) -> None:
    system = cs.ContactSystem(point_mass(restitution=0.5))
    traj = cs.simulate(system, ([0, 0, 0.3], [1, 0.5, 0]), (start, start + 1.0), record_period=0.01)
    assert {start + k * 0.01 for k in range(100)} <= set(traj.t.tolist())
    assert traj.t[-1] == start + 1.0
    assert np.all(np.diff(traj.t) >= 0)


def test_an_event_at_the_very_end_is_part_of_the_trajectory() -> None:
    system = cs.ContactSystem(point_mass(restitution=0.5), gravity=(0, 0, 0))
    traj = cs.simulate(system, ([0, 0, 0.5], [0, 0, -1.0]), (0.0, 0.5))
    assert traj.events[-1].time == 0.5
    assert traj.final.v[2] == 0.5
    assert traj(0.5).v[2] == 0.5
    assert traj(0.5, side="-").v[2] == -1.0
    assert traj.v[-1, 2] == 0.5


# --- landings that are almost simultaneous ---------------------------------------------------------------------------
@pytest.mark.parametrize("tilt", [0.0, 1e-15, 1e-13, 1e-12, 3e-12, 1e-11, 3e-11, 1e-10, 1e-9])
@pytest.mark.parametrize("friction", [0.0, 0.1, 0.4])
def test_box_that_lands_almost_flat_comes_to_rest(tilt: float, friction: float) -> None:
    rng = np.random.default_rng(5)
    for speed in (0.0, 1.0):
        axis = rng.normal(size=3)
        start = cs.State([0, 0, 0.3, *turned(tilt * axis)], [0.6 * speed, 0.8 * speed, 0, *(tilt * rng.normal(size=3))])
        traj = bounded(cs.ContactSystem(box(friction=friction)), start, (0.0, 0.5), most=20_000)
        clean(traj)
        assert traj.final.q[2] == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_box_that_lands_almost_flat_with_a_trace_of_spin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(4):
        tilt, friction = 10 ** rng.uniform(-12, -10), float(rng.choice([0.1, 0.4]))
        spin = rng.normal(size=3) * rng.choice([0.0, 1e-11, 1e-9])
        start = cs.State([0, 0, 0.3, *turned(tilt * rng.normal(size=3))], [0, 0, 0, *spin])
        traj = bounded(cs.ContactSystem(box(friction=friction)), start, (0.0, 0.4), most=20_000)
        clean(traj)


def test_two_integrators_agree_on_a_tumbling_box() -> None:
    """Rounding decides which of two corners lands first; it must not decide which of them carries the box."""
    start = cs.State([0, 0, 0.3, *turned([0.3, 0.2, 0.1])], [1, 0.5, 0, 1, 2, 3])
    system = cs.ContactSystem(box())
    ends = [cs.simulate(system, start, (0.0, 0.5), integrator=name).final.q for name in ("DOP853", "RK45", "Radau")]
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(ends[2], ends[0], rtol=0, atol=1e-7)


def test_an_impact_that_gains_energy_says_so() -> None:
    """Newton's restitution with friction at several contacts (Kane's paradox): Newton's law with friction."""
    rng = np.random.default_rng(2)
    model = single_body(pin.JointModelFreeFlyer(), 1.0, tuple(0.02 * rng.uniform(0.8, 1.2, 3)), "body")
    points = [
        cs.ContactPoint(
            "body", tuple(offset), friction=rng.uniform(0, 1), restitution=rng.choice([0, 0.3, 1.0]), name=f"point_{k}"
        )
        for k, offset in enumerate(rng.uniform(-0.2, 0.2, (6, 3)))
    ]
    system = cs.ContactSystem(cs.Robot(model, contacts=points))
    start = cs.State([0, 0, 0.5, *turned(rng.normal(size=3))], rng.normal(size=6))
    traj = cs.simulate(system, start, (0.0, 1.0))

    def energy(state: cs.State) -> float:
        return system.mechanism.energy(state.q, state.v)

    gains = [event for event in traj.events if energy(event.state_post) - energy(event.state_pre) > 1e-6]
    assert gains
    assert all("energy" in " ".join(event.transition.notes) for event in gains)


# --- places, times and sizes -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("far", [0.0, 100.0, 1e3])
def test_bounces_far_down_a_slope_cost_no_more(far: float) -> None:
    angle = 0.3
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    system = cs.ContactSystem(point_mass(0.5, 0.5), terrain=cs.terrain.Slope(angle=angle))
    traj = bounded(system, cs.State(far * down + 0.1 * normal, np.zeros(3)), (0.0, 1.5), most=5_000)
    clean(traj)
    assert traj.mode_at(1.5) == {"point": cs.Mode.STICK}
    drop = np.sqrt(2 * 0.1 / (G * np.cos(angle)))
    assert traj.events[0].time == pytest.approx(drop, abs=1e-10 + 1e-12 * far)


@pytest.mark.parametrize("start", [-5.0, 0.0, 1000.0])
@pytest.mark.parametrize("mass", [1e-6, 1.0, 1e4])
def test_sliding_stop_at_any_time_and_mass(start: float, mass: float) -> None:
    mu, v0 = 0.3, np.array([1.0, 0.5])
    system = cs.ContactSystem(point_mass(friction=mu, mass=mass))
    traj = cs.simulate(system, ([2, 3, 0], [*v0, 0]), (start, start + 1.0))
    stop = np.linalg.norm(v0) / (mu * G)
    assert first_time(traj, "point", cs.Mode.STICK) - start == pytest.approx(stop, abs=tol.STOP_TIME)
    np.testing.assert_allclose(traj.final.q[:2], [2, 3] + v0 * stop / 2, rtol=0, atol=tol.STOP_PLACE)


# --- moving gaps -----------------------------------------------------------------------------------------------------
def oscillating_floor(start: float, amplitude: float, omega: float) -> cs.Mechanism:
    gap = cs.Gap(
        gap=lambda t, q: q[0] - amplitude * np.sin(omega * (t - start)),
        normal=lambda t, q: np.array([1.0]),
        name="floor",
    )
    return cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: np.array([-G]), [gap], potential=lambda q: G * q[0])


@pytest.mark.parametrize("start", [0.0, 10.0, 1000.0])
def test_rates_and_bias_of_a_moving_gap_do_not_depend_on_the_hour(start: float) -> None:
    a, w, late = 0.02, 4 * np.pi, 0.1
    q, v = np.array([a * np.sin(w * late)]), np.array([a * w * np.cos(w * late)])
    terms = oscillating_floor(start, a, w).terms(start + late, q, v, (0,))
    assert terms.rates[0] == pytest.approx(0.0, abs=1e-8)
    assert terms.bias[0] == pytest.approx(a * w * w * np.sin(w * late), abs=1e-5)


@pytest.mark.parametrize("start", [0.0, 1000.0])
def test_mass_on_an_oscillating_floor_stays_on_it_or_leaves_it_where_the_force_ends(start: float) -> None:
    a = 0.02
    slow, fast = 4 * np.pi, 12 * np.pi
    riding = cs.ContactSystem(oscillating_floor(start, a, slow))
    traj = bounded(riding, cs.State([0.0], [a * slow]), (start, start + 1.0), most=20_000)
    assert not traj.events
    assert traj.final.q[0] == pytest.approx(a * np.sin(slow), abs=tol.GAP)
    leaving = cs.ContactSystem(oscillating_floor(start, a, fast))
    traj = bounded(leaving, cs.State([0.0], [a * fast]), (start, start + 0.1), most=20_000)
    assert traj.events[0].time - start == pytest.approx(np.arcsin(G / (a * fast**2)) / fast, abs=1e-7)


# --- multistep methods -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["LSODA", "BDF", "Radau", "Radau9", "RK45"])
def test_every_integrator_rolls_a_ball(name: str) -> None:
    """Putting a state back on its constraints must not start a multistep method anew at every step."""
    mu, radius = 0.3, 0.1
    start = cs.State([0, 0, radius, 0, 0, 0, 1], [1.0, 0, 0, 0, 0, 0])
    traj = bounded(cs.ContactSystem(sphere(mu, radius=radius)), start, (0.0, 1.0), most=20_000, integrator=name)
    clean(traj)
    assert first_time(traj, "ball", cs.Mode.STICK) == pytest.approx(2 / (7 * mu * G), abs=tol.SLOPE_PATH)


# --- friction in space: independent references -----------------------------------------------------------------------
def driven_point(mu: float, static: float | None, force: Callable[[float], Array]) -> cs.ContactSystem:
    model = single_body(pin.JointModelTranslation(), 1.0, (0.0, 0.0, 0.0), "mass")
    contact = cs.ContactPoint("mass", friction=mu, static_friction=static, name="point")
    return cs.ContactSystem(cs.Robot(model, contacts=[contact]), controller=lambda t, q, v: np.array([*force(t), 0.0]))


@pytest.mark.parametrize(
    ("static", "growth", "turn"), [(None, 1.0, 2.0), (None, 5.0, 30.0), (0.4, 1.0, 2.0), (0.31, 0.1, 10.0)]
)
def test_break_away_under_a_turning_force(static: float | None, growth: float, turn: float) -> None:
    """Against Radau at rtol 1e-12, started at 1e-9 m/s along the asymptotic direction."""
    mu, begin, end = 0.3, 0.5, 1.2
    hold = (static or mu) * G

    def force(t: float) -> Array:
        angle = turn * (t - begin) + 0.3
        return (hold + growth * (t - begin)) * np.array([np.cos(angle), np.sin(angle)])

    def rate(t: float, x: Array) -> Array:
        return np.concatenate([x[2:], force(t) - mu * G * x[2:] / np.linalg.norm(x[2:])])

    kick = 1e-9
    late = kick / (hold - mu * G) if static else np.sqrt(2 * kick / growth)
    direction = force(begin + late) / np.linalg.norm(force(begin + late))
    begun = [0, 0, *(kick * direction)]
    reference = solve_ivp(rate, (begin + late, end), begun, method="Radau", rtol=1e-12, atol=1e-16).y[:, -1]
    traj = cs.simulate(driven_point(mu, static, force), ([0] * 3, [0] * 3), (0.0, end))
    assert first_time(traj, "point", cs.Mode.SLIP) == pytest.approx(begin, abs=tol.SLOPE_PATH)
    np.testing.assert_allclose([*traj.final.q[:2], *traj.final.v[:2]], reference, rtol=0, atol=2e-9)
    clean(traj)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.5, 0.8, 0.95])
def test_curved_approach_to_a_stop(share: float) -> None:
    """Constant side force of `share` of the friction: direction ~ speed^(share / (1 - share)); polar reference."""
    mu, start = 0.3, 2.0
    side = share * mu * G

    def rate(s: float, y: Array) -> Array:  # d/ds with dt = speed ds; y = log speed, direction, time, place
        speed, angle = np.exp(y[0]), y[1]
        along, across = side * np.cos(angle) - mu * G, -side * np.sin(angle)
        return np.array([along, across, speed, speed**2 * np.cos(angle), speed**2 * np.sin(angle)])

    def stopped(s: float, y: Array) -> float:
        return float(y[0]) + 40.0

    stopped.terminal = True  # type: ignore[attr-defined]
    y = solve_ivp(rate, (0, 1e6), [0, start, 0, 0, 0], method="DOP853", rtol=1e-13, atol=1e-15, events=stopped).y
    system = driven_point(mu, None, lambda t: np.array([side, 0.0]))
    traj = cs.simulate(system, ([0] * 3, [np.cos(start), np.sin(start), 0]), (0.0, y[2, -1] + 0.1))
    assert first_time(traj, "point", cs.Mode.STICK) == pytest.approx(y[2, -1], abs=tol.SLOPE_PATH)
    np.testing.assert_allclose(traj.final.q[:2], y[3:, -1], rtol=0, atol=tol.STOP_PLACE)


# --- many contacts on one body ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("mu", [0.5, 0.3094, 0.3, 0.2])
def test_table_with_six_legs_on_a_slope(mu: float) -> None:
    angle, height = 0.3, 0.4
    model = single_body(pin.JointModelFreeFlyer(), 3.0, (0.3, 0.35, 0.5), "table")
    legs = [
        cs.ContactPoint("table", (0.5 * np.cos(k), 0.5 * np.sin(k), -height), friction=mu, name=f"leg_{i}")
        for i, k in enumerate(np.arange(6) * np.pi / 3)
    ]
    turn = pin.exp3(np.array([0.0, angle, 0.0]))
    system = cs.ContactSystem(cs.Robot(model, contacts=legs), terrain=cs.terrain.Slope(angle=angle))
    traj = cs.simulate(system, ([*(height * turn[:, 2]), *turned([0, angle, 0])], np.zeros(6)), (0.0, 1.0))
    path = max(0.0, G * (np.sin(angle) - mu * np.cos(angle))) / 2
    np.testing.assert_allclose(traj.final.q[:3], height * turn[:, 2] + path * turn[:, 0], rtol=0, atol=tol.CREEP)
    clean(traj)


def test_margins_of_redundant_contacts_are_found_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of six legs sticks on a slope: its motion asks for no cone program, its margin (mu N - T) / 6 for one.

    A compiled engine finds it without.
    """
    angle, height, mu, mass = 0.3, 0.4, 0.32, 3.0
    model = single_body(pin.JointModelFreeFlyer(), mass, (0.3, 0.35, 0.5), "table")
    legs = [
        cs.ContactPoint("table", (0.5 * np.cos(k), 0.5 * np.sin(k), -height), friction=mu, name=f"leg_{i}")
        for i, k in enumerate(np.arange(6) * np.pi / 3)
    ]
    turn = pin.exp3(np.array([0.0, angle, 0.0]))
    system = cs.ContactSystem(cs.Robot(model, contacts=legs), terrain=cs.terrain.Slope(angle=angle))
    state = system.pack(([*(height * turn[:, 2]), *turned([0, angle, 0])], np.zeros(6)))
    flow, asked = system.flow(system.start(0.0, state).mode), []
    largest = redundant_forces.largest_margin
    monkeypatch.setattr(redundant_forces, "largest_margin", lambda *a: asked.append(a) or largest(*a))
    motion = flow.motion(0.0, state)
    assert np.abs(motion.acceleration).max() <= tol.CREEP and not asked
    expected = mass * G * (mu * np.cos(angle) - np.sin(angle)) / 6
    assert motion.margin == pytest.approx(expected, rel=1e-6)
    assert len(asked) == (0 if flow.arc.compiled else 1)


@pytest.mark.parametrize(("mu", "arm", "expected"), [(0.3, -0.1, cs.Mode.SLIP), (2.5, 0.1, cs.Mode.OPEN)])
def test_box_under_a_growing_push_slides_or_tips_in_time(mu: float, arm: float, expected: cs.Mode) -> None:
    mass, growth = 2.0, 10.0

    def push(t: float, q: Array, v: Array) -> Array:
        turn = pin.Quaternion(q[3:7]).toRotationMatrix()
        force = np.array([growth * t, 0.0, 0.0])
        return np.concatenate([turn.T @ force, turn.T @ np.cross(turn @ [0, 0, arm], force)])

    slides, tips = mu * mass * G / growth, mass * G * 0.2 / (growth * (0.1 + arm)) if arm > -0.1 else np.inf
    system = cs.ContactSystem(box(friction=mu, mass=mass), controller=push)
    traj = cs.simulate(system, ([0, 0, 0.1, 0, 0, 0, 1], np.zeros(6)), (0.0, min(slides, tips) + 0.05))
    assert traj.events[0].time == pytest.approx(min(slides, tips), abs=3e-8)
    assert expected in {after for _, after in traj.events[0].transitions.values()}


# --- restarts --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", ["point", "slope", "ball", "box"])
def test_a_run_goes_on_the_same_from_the_middle_of_each_arc(case: str) -> None:
    system, start, end = {
        "point": (cs.ContactSystem(point_mass(0.3, 0.0)), cs.State([0, 0, 0.3], [1, 0.5, 0]), 1.0),
        "slope": (
            cs.ContactSystem(point_mass(0.5), terrain=cs.terrain.Slope(angle=0.35)),
            cs.State([0, 0, 0], [0, 1, 0]),
            1.0,
        ),
        "ball": (cs.ContactSystem(sphere(0.2)), cs.State([0, 0, 0.3, 0, 0, 0, 1], [1, 0.5, 0, 3, 4, 5]), 1.5),
        "box": (cs.ContactSystem(box()), cs.State([0, 0, 0.1, 0, 0, 0, 1], [1, 0.5, 0, 0, 0, 3]), 1.0),
    }[case]
    traj = cs.simulate(system, start, (0.0, end))
    for arc in traj.arcs:
        if arc.t1 - arc.t0 > 1e-6:
            middle = 0.5 * (arc.t0 + arc.t1)
            again = cs.simulate(system, traj(middle), (middle, end))
            np.testing.assert_allclose(again.final.q, traj.final.q, rtol=0, atol=tol.SLOPE_PATH)
            np.testing.assert_allclose(again.final.v, traj.final.v, rtol=0, atol=tol.SLOPE_PATH)


# --- sampling, and lift-offs that are steep in time ------------------------------------------------------------------
@pytest.mark.parametrize("period", [0.01, 0.003, 0.007, 1.0 / 300.0])
def test_every_sampling_instant_is_met_once(period: float) -> None:
    system = cs.ContactSystem(point_mass(), controller=cs.Sampled(lambda t, q, v: np.zeros(3), period, 3))
    traj = cs.simulate(system, cs.State([0, 0, 10.0], np.zeros(3)), (0.0, 0.5))
    clean(traj)
    met = np.array([event.time for event in traj.all_events])
    np.testing.assert_allclose(met, period * np.arange(1, len(met) + 1), rtol=1e-14)
    assert len(met) == int(np.floor(0.5 / period + 1e-9))


@pytest.mark.slow_in_python
def test_joint_leaves_its_limit_however_fast_the_force_falls() -> None:
    robot = cs.load_robot("solo12")
    q = robot.nominal.copy()
    q[2] += 1.0
    slow_sampling = cs.PD(robot, kp=10.0, kd=0.4, period=0.01)  # unstable: the joints hammer against their limits
    system = cs.ContactSystem(robot, controller=slow_sampling)
    traj = bounded(system, cs.State(q, np.zeros(robot.nv)), (0.0, 0.32), most=100_000)
    assert traj.status.complete, traj.message
