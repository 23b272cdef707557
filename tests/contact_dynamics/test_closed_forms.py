"""The accuracy table of the engine, each line against a closed form or an independent integration."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import tolerances as tol
from builders import (
    G,
    box,
    first_time,
    impacts,
    lifted,
    modes_between_events,
    planar_mechanism,
    point_mass,
    random_tree,
    sphere,
)
from scipy.integrate import solve_ivp

import contactsim as cs

OPEN, STICK, SLIP = "OPEN", "STICK", "SLIP"


# --- a point on the ground -----------------------------------------------------------------------------------------
def test_bouncing_point() -> None:
    height, e = 1.0, 0.5
    system = cs.ContactSystem(point_mass(friction=0.0, restitution=e))
    first = np.sqrt(2 * height / G)
    speed = G * first
    expected = first + np.concatenate([[0.0], np.cumsum(2 * speed / G * e ** np.arange(1, 5))])
    traj = cs.simulate(system, cs.State([0, 0, height], [0, 0, 0]), (0.0, expected[-1] + 0.02))
    assert len(impacts(traj)) == 5
    np.testing.assert_allclose(impacts(traj), expected, rtol=0, atol=tol.BOUNCE_TIME)
    for k, event in enumerate(traj.events[:5]):
        before, after = event.state_pre.v[2], event.state_post.v[2]
        assert after == pytest.approx(-e * before, abs=tol.BOUNCE_TIME)
        assert after == pytest.approx(speed * e ** (k + 1), abs=tol.STOP_PLACE)
        np.testing.assert_allclose(event.impulses["point"], [0, 0, after - before], rtol=0, atol=tol.IMPULSE)
        assert event.contacts == ("point",)


def test_bouncing_point_between_the_bounces() -> None:
    system = cs.ContactSystem(point_mass(friction=0.0, restitution=0.5))
    traj = cs.simulate(system, cs.State([0, 0, 1.0], [0, 0, 0]), (0.0, 0.8))
    first = np.sqrt(2 / G)
    for t in np.linspace(0.0, 0.8, 41):
        late = t - first
        z = 1.0 - G * t**2 / 2 if t < first else 0.5 * G * first * late - G * late**2 / 2
        assert traj(t).q[2] == pytest.approx(z, abs=tol.DENSE)
    assert traj(traj.events[0].time, side="-").v[2] < 0 < traj(traj.events[0].time).v[2]


def test_sliding_point_stops() -> None:
    mu, v0 = 0.3, np.array([1.0, 0.5])
    traj = cs.simulate(cs.ContactSystem(point_mass(friction=mu)), cs.State([0, 0, 0], [*v0, 0]), (0.0, 1.0))
    stop = np.linalg.norm(v0) / (mu * G)
    assert first_time(traj, "point", cs.Mode.STICK) == pytest.approx(stop, abs=tol.STOP_TIME)
    np.testing.assert_allclose(traj.final.q, [*(v0 * stop / 2), 0.0], rtol=0, atol=tol.STOP_PLACE)
    np.testing.assert_allclose(traj.final.v, 0.0, rtol=0, atol=tol.STOP_PLACE)
    assert modes_between_events(traj, ["point"]) == [(SLIP,), (STICK,)]
    for t in np.linspace(0.0, stop, 21)[:-1]:
        np.testing.assert_allclose(traj(t).q[:2], v0 * (t - t**2 / (2 * stop)), rtol=0, atol=tol.DENSE)
        np.testing.assert_allclose(traj(t).v[:2], v0 * (1 - t / stop), rtol=0, atol=tol.DENSE)
    np.testing.assert_allclose(traj.forces(0.1)["point"], [*(-mu * G * v0 / np.linalg.norm(v0)), G], rtol=0, atol=1e-7)
    np.testing.assert_allclose(traj.forces(0.9)["point"], [0, 0, G], rtol=0, atol=1e-7)


def slope_state(s: float, y: float, ds: float, dy: float, angle: float) -> cs.State:
    """State of a point on the slope from its coordinates in the slope: s downhill, y across."""
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    across = np.array([0.0, 1.0, 0.0])
    return cs.State(s * down + y * across, ds * down + dy * across)


def test_point_launched_across_a_slope_slips_for_ever() -> None:
    angle, mu, v0, end = np.deg2rad(20.0), 0.2, 1.0, 2.0

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        v = x[2:]
        return np.concatenate([v, [G * np.sin(angle), 0.0] - mu * G * np.cos(angle) * v / np.linalg.norm(v)])

    reference = solve_ivp(rate, (0, end), [0, 0, 0, v0], method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True)
    system = cs.ContactSystem(point_mass(friction=mu), terrain=cs.terrain.Slope(angle=angle, downhill=(1, 0)))
    traj = cs.simulate(system, slope_state(0, 0, 0, v0, angle), (0.0, end))
    expected = slope_state(*reference.y[:, -1], angle)
    np.testing.assert_allclose(traj.final.q, expected.q, rtol=0, atol=tol.SLOPE_PATH)
    np.testing.assert_allclose(traj.final.v, expected.v, rtol=0, atol=tol.SLOPE_PATH)
    for t in np.linspace(0.05, end, 14):
        np.testing.assert_allclose(traj(t).q, slope_state(*reference.sol(t), angle).q, rtol=0, atol=tol.DENSE)
    assert modes_between_events(traj, ["point"]) == [(SLIP,)]


@pytest.mark.parametrize("downhill", [(1, 0), (0, 1), (-0.6, 0.8)])
def test_point_launched_across_a_steep_friction_slope_stops_and_stays(downhill: tuple[float, float]) -> None:
    """With k = mu / tan(angle) and phi the velocity's angle from downhill, v sin(phi) = v0 tan(phi / 2)^k."""
    angle, mu, v0 = np.deg2rad(20.0), 0.5, 1.0
    k, a = mu / np.tan(angle), G * np.sin(angle)
    stop = v0 / a * k / (k**2 - 1)
    s = v0**2 / (4 * a) * (1 / (2 * k - 2) - 1 / (2 * k + 2))
    y = v0**2 / (2 * a) * (1 / (2 * k - 1) + 1 / (2 * k + 1))
    turn = np.array([[downhill[0], -downhill[1], 0], [downhill[1], downhill[0], 0], [0, 0, 1]])
    system = cs.ContactSystem(point_mass(friction=mu), terrain=cs.terrain.Slope(angle=angle, downhill=downhill))
    start = slope_state(0, 0, 0, v0, angle)
    traj = cs.simulate(system, cs.State(turn @ start.q, turn @ start.v), (0.0, stop + 10.0))
    assert first_time(traj, "point", cs.Mode.STICK) == pytest.approx(stop, abs=tol.SLOPE_PATH)
    assert modes_between_events(traj, ["point"]) == [(SLIP,), (STICK,)]
    place = turn @ slope_state(s, y, 0, 0, angle).q
    np.testing.assert_allclose(traj.final.q, place, rtol=0, atol=tol.SLOPE_PATH)
    after = [traj(t).q for t in np.linspace(traj.events[-1].time, stop + 10.0, 41)]
    assert np.abs(np.ptp(after, axis=0)).max() < tol.CREEP


# --- a ball --------------------------------------------------------------------------------------------------------
def test_sphere_slides_then_rolls() -> None:
    v0, mu, radius = 1.0, 0.3, 0.1
    traj = cs.simulate(
        cs.ContactSystem(sphere(mu, radius=radius)),
        cs.State([0, 0, radius, 0, 0, 0, 1], [v0, 0, 0, 0, 0, 0]),
        (0.0, 1.0),
    )
    roll = 2 * v0 / (7 * mu * G)
    assert first_time(traj, "ball", cs.Mode.STICK) == pytest.approx(roll, abs=tol.SLIDE_TO_ROLL)
    place = v0 * roll - mu * G * roll**2 / 2
    assert traj(roll).q[0] == pytest.approx(place, abs=tol.SLIDE_TO_ROLL)
    assert traj.final.q[0] == pytest.approx(place + 5 / 7 * v0 * (1.0 - roll), abs=tol.SLIDE_TO_ROLL)
    assert traj.final.q[2] == pytest.approx(radius, abs=tol.CREEP)
    velocity, spin = world_twist(traj.final)
    np.testing.assert_allclose(velocity, [5 / 7 * v0, 0, 0], rtol=0, atol=tol.SLIDE_TO_ROLL)
    np.testing.assert_allclose(spin, [0, 5 / 7 * v0 / radius, 0], rtol=0, atol=10 * tol.SLIDE_TO_ROLL)
    assert modes_between_events(traj, ["ball"]) == [(SLIP,), (STICK,)]


def test_sphere_with_side_spin_follows_a_parabola_then_a_line() -> None:
    """The slip direction of a ball stays constant while it slides (a billiard ball): its path is a parabola."""
    mu, radius = 0.2, 0.05
    velocity, spin = np.array([1.0, 0.3, 0.0]), np.array([8.0, -5.0, 3.0])
    slip = velocity + np.cross(spin, [0, 0, -radius])
    direction = slip / np.linalg.norm(slip)
    roll = 2 * np.linalg.norm(slip) / (7 * mu * G)
    at_roll = velocity - mu * G * roll * direction
    place = velocity * roll - mu * G * roll**2 / 2 * direction
    end = roll + 0.5
    start = cs.State([0, 0, radius, 0, 0, 0, 1], [*velocity, *spin])
    traj = cs.simulate(cs.ContactSystem(sphere(mu, radius=radius)), start, (0.0, end))
    assert first_time(traj, "ball", cs.Mode.STICK) == pytest.approx(roll, abs=tol.SLIDE_TO_ROLL)
    expected = place + at_roll * 0.5 + [0, 0, radius]
    np.testing.assert_allclose(traj.final.q[:3], expected, rtol=0, atol=tol.SLIDE_TO_ROLL)
    assert world_twist(traj.final)[1][2] == pytest.approx(spin[2], abs=10 * tol.SLIDE_TO_ROLL)


def test_sphere_rolls_down_a_slope_with_five_sevenths_of_g() -> None:
    angle, radius = np.deg2rad(15.0), 0.1
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    system = cs.ContactSystem(sphere(0.5, radius=radius), terrain=cs.terrain.Slope(angle=angle, downhill=(1, 0)))
    traj = cs.simulate(system, cs.State([*(radius * normal), 0, 0, 0, 1], np.zeros(6)), (0.0, 1.0))
    path = 5 / 7 * G * np.sin(angle) / 2
    np.testing.assert_allclose(traj.final.q[:3], radius * normal + path * down, rtol=0, atol=tol.SLIDE_TO_ROLL)
    assert modes_between_events(traj, ["ball"]) == [(STICK,)]


def world_twist(state: cs.State) -> tuple[np.ndarray, np.ndarray]:
    """Velocity of the body's origin and angular velocity of a free-flyer, in world axes."""
    R = pin.Quaternion(state.q[3:7]).toRotationMatrix()
    return R @ state.v[:3], R @ state.v[3:6]


# --- a block with two contact points -------------------------------------------------------------------------------
def test_block_pushed_against_a_surface_and_pulled_away() -> None:
    """The example trajectory of the friction chapter, its figure's five modes.

    The block slides to the right throughout, tilted so that its right corner arrives first. The push 10 - 10 t turns
    into a pull at t = 1, and the torque lifts the right corner first. While both corners slide,
    2 N_right = N (1 + mu h / b) + T / b with N = 10 - 10 t, which is zero at t = 1 - 0.6 / 11.5.
    """
    mass, b, h, mu, torque = 1.0, 0.5, 0.25, 0.3, -0.3
    moment = mass * ((2 * b) ** 2 + (2 * h) ** 2) / 12
    block = planar_mechanism(
        mass,
        moment,
        {"left": (-b, -h), "right": (b, -h)},
        mu,
        0.0,
        gravity=0.0,
        applied=lambda t: np.array([0.0, -10.0 + 10.0 * t, torque]),
    )
    tilt = 0.1
    start = cs.State([0, b * np.sin(tilt) + h * np.cos(tilt) + 0.05, tilt], [4.0, -0.5, 0.0])
    traj = cs.simulate(cs.ContactSystem(block), start, (0.0, 1.4))
    sequence = [(OPEN, OPEN), (OPEN, SLIP), (SLIP, SLIP), (SLIP, OPEN), (OPEN, OPEN)]
    assert modes_between_events(traj, ["left", "right"]) == sequence
    assert len(traj.events) == 4
    times = [event.time for event in traj.events]
    # the other three from an independent event-driven integration (solve_ivp, rtol 1e-11) of the same equations
    np.testing.assert_allclose(times[:2], [0.06472393404940517, 0.114613853749755], rtol=0, atol=tol.SLOPE_PATH)
    assert times[2] == pytest.approx(1 - 0.6 / 11.5, abs=tol.SLOPE_PATH)
    assert times[3] == pytest.approx(1.1407507890854205, abs=tol.SLOPE_PATH)
    independent = [3.81546604, 0.37044762, -0.1857166, 2.33882952, 0.83723493, -1.02168241]
    np.testing.assert_allclose([*traj.final.q, *traj.final.v], independent, rtol=0, atol=2e-8)


# --- a box on four corners -----------------------------------------------------------------------------------------
CORNERS = ["rear_right", "rear_left", "front_right", "front_left"]


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_box_lands_flat_in_one_event(restitution: float) -> None:
    drop = 0.2
    system = cs.ContactSystem(box(restitution=restitution))
    traj = cs.simulate(system, cs.State([0, 0, 0.1 + drop, 0, 0, 0, 1], np.zeros(6)), (0.0, 0.35))
    landing = traj.events[0]
    speed = np.sqrt(2 * G * drop)
    assert landing.time == pytest.approx(speed / G, abs=tol.BOUNCE_TIME)
    assert sorted(landing.contacts) == sorted(CORNERS)
    np.testing.assert_allclose(landing.state_post.v, [0, 0, restitution * speed, 0, 0, 0], rtol=0, atol=tol.IMPULSE)
    total = np.sum([landing.impulses[name] for name in CORNERS], axis=0)
    np.testing.assert_allclose(total, [0, 0, 2.0 * (1 + restitution) * speed], rtol=0, atol=10 * tol.IMPULSE)
    assert len(traj.events) == 1
    assert modes_between_events(traj, CORNERS)[-1] == ((STICK,) * 4 if restitution == 0 else (OPEN,) * 4)


@pytest.mark.parametrize("v0", [(1.0, 0.0), (0.6, -0.8)])
def test_box_slides_to_rest(v0: tuple[float, float]) -> None:
    mu = 0.3
    traj = cs.simulate(
        cs.ContactSystem(box(friction=mu)), cs.State([0, 0, 0.1, 0, 0, 0, 1], [*v0, 0, 0, 0, 0]), (0.0, 1.0)
    )
    stop = 1.0 / (mu * G)
    for name in CORNERS:
        assert first_time(traj, name, cs.Mode.STICK) == pytest.approx(stop, abs=tol.STOP_TIME)
    place = [*(np.array(v0) * stop / 2), 0.1, 0, 0, 0, 1]
    np.testing.assert_allclose(traj.final.q, place, rtol=0, atol=tol.STOP_PLACE)
    assert modes_between_events(traj, CORNERS) == [(SLIP,) * 4, (STICK,) * 4]


def test_box_thrown_flat_slides_from_its_landing() -> None:
    """The landing's friction takes mu times the vertical speed off the horizontal one; then it slides to rest."""
    mu, drop, v0 = 0.3, 0.05, 2.0
    traj = cs.simulate(
        cs.ContactSystem(box(friction=mu)), cs.State([0, 0, 0.1 + drop, 0, 0, 0, 1], [v0, 0, 0, 0, 0, 0]), (0.0, 1.5)
    )
    land = np.sqrt(2 * drop / G)
    slide = v0 - mu * G * land
    stop = land + slide / (mu * G)
    assert traj.events[0].state_post.v[0] == pytest.approx(slide, abs=tol.STOP_PLACE)
    assert first_time(traj, "rear_left", cs.Mode.STICK) == pytest.approx(stop, abs=tol.STOP_TIME)
    assert traj.final.q[0] == pytest.approx(v0 * land + slide**2 / (2 * mu * G), abs=tol.STOP_PLACE)


def test_box_rests_on_a_slope() -> None:
    angle = np.deg2rad(20.0)
    R = pin.utils.rotate("y", angle)
    q = [*(R @ [0.3, -0.1, 0.1]), *pin.Quaternion(R).coeffs()]
    system = cs.ContactSystem(box(friction=0.6), terrain=cs.terrain.Slope(angle=angle, downhill=(1, 0)))
    traj = cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 10.0))
    assert len(traj.events) == 0
    assert modes_between_events(traj, CORNERS) == [(STICK,) * 4]
    for t in np.linspace(0.0, 10.0, 21):
        np.testing.assert_allclose(traj(t).q, q, rtol=0, atol=tol.CREEP)
    total = np.sum([traj.forces(5.0)[name] for name in CORNERS], axis=0)
    np.testing.assert_allclose(total, [0, 0, 2.0 * G], rtol=0, atol=1e-7)


def test_box_on_too_steep_a_slope_slides_with_constant_acceleration() -> None:
    angle, mu = np.deg2rad(25.0), 0.3
    R = pin.utils.rotate("y", angle)
    q = [*(R @ [0.0, 0.0, 0.1]), *pin.Quaternion(R).coeffs()]
    system = cs.ContactSystem(box(friction=mu), terrain=cs.terrain.Slope(angle=angle, downhill=(1, 0)))
    traj = cs.simulate(system, cs.State(q, np.zeros(6)), (0.0, 1.0))
    path = G * (np.sin(angle) - mu * np.cos(angle)) / 2
    np.testing.assert_allclose(traj.final.q[:3], R @ [path, 0.0, 0.1], rtol=0, atol=tol.SLOPE_PATH)
    assert modes_between_events(traj, CORNERS) == [(SLIP,) * 4]


# --- free flight ---------------------------------------------------------------------------------------------------
def momenta_and_energy(model: pin.Model, state: cs.State) -> tuple[np.ndarray, np.ndarray, float]:
    data = model.createData()
    momentum = pin.computeCentroidalMomentum(model, data, state.q, state.v)
    energy = pin.computeKineticEnergy(model, data, state.q, state.v) + pin.computePotentialEnergy(model, data, state.q)
    return momentum.linear.copy(), momentum.angular.copy(), energy


def assert_flies_freely(robot: cs.Robot, q: np.ndarray, v: np.ndarray, lossless: bool) -> None:
    model = robot.model
    traj = cs.simulate(cs.ContactSystem(robot, joint_limits=False), cs.State(q, v), (0.0, 1.0))
    assert len(traj.events) == 0
    mass = pin.computeTotalMass(model)
    start, end = momenta_and_energy(model, cs.State(q, v)), momenta_and_energy(model, traj.final)
    linear = start[0] + [0, 0, -mass * G * 1.0]
    np.testing.assert_allclose(end[0], linear, rtol=0, atol=tol.MOMENTUM * max(1.0, np.linalg.norm(linear)))
    axes = (
        slice(0, 3) if "FreeFlyer" in model.joints[1].shortname() else slice(1, 2)
    )  # a planar root holds roll and yaw
    spin = start[1][axes]
    np.testing.assert_allclose(end[1][axes], spin, rtol=0, atol=tol.MOMENTUM * max(1.0, np.linalg.norm(spin)))
    if lossless:
        kinetic = pin.computeKineticEnergy(model, model.createData(), q, v)
        assert end[2] == pytest.approx(start[2], abs=tol.ENERGY * max(1.0, abs(start[2]), kinetic))


@pytest.mark.parametrize("seed", range(6))
def test_random_tree_in_free_flight(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    model = random_tree(seed)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    q[2] = 20.0
    assert_flies_freely(cs.Robot(model, contacts=[]), q, rng.normal(size=model.nv), lossless=True)


@pytest.mark.parametrize("name", ["hexapod", "biped", "solo12", "go2"])
def test_robot_in_free_flight(name: str) -> None:
    robot = cs.load_robot(name)
    rng = np.random.default_rng(7)
    q = lifted(robot, 20.0)
    lossless = not np.any(robot.model.damping) and not np.any(robot.model.friction)
    assert_flies_freely(robot, q, rng.normal(size=robot.nv), lossless)


def test_spinning_body_falls_on_a_parabola() -> None:
    """The centre of mass of a tumbling free-flyer is not curved by the chart of its pose."""
    start = cs.State([0, 0, 20.0, 0, 0, 0, 1], [1.0, -0.5, 2.0, 3.0, 5.0, -4.0])
    traj = cs.simulate(cs.ContactSystem(box()), start, (0.0, 1.0))
    for t in np.linspace(0, 1, 11):
        expected = [t, -0.5 * t, 20.0 + 2.0 * t - G * t**2 / 2]
        np.testing.assert_allclose(traj(t).q[:3], expected, rtol=0, atol=tol.DENSE)
    np.testing.assert_allclose(traj.final.q[:3], [1.0, -0.5, 22.0 - G / 2], rtol=0, atol=tol.SLOPE_PATH)
