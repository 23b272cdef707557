"""Published cases that need no Zeno limit, body-body contact or moving ground; the source of each is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tolerances as tol
from builders import (
    G,
    first_time,
    frictionless_gap,
    impacts,
    modes_between_events,
    planar_body,
    planar_gap,
    planar_mechanism,
    point_mass,
    sphere,
)

import contactsim as cs
from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem
from contactsim.contact.stick_slip_choice import solve

DATA = Path(__file__).parents[1] / "data"


# --- bounces -------------------------------------------------------------------------------------------------------
def vertical_ball(gravity: float, restitution: float, ceiling: float | None = None) -> cs.Mechanism:
    gaps = [frictionless_gap(lambda q: q[0], [1.0], restitution, "floor")]
    if ceiling is not None:
        gaps.append(frictionless_gap(lambda q: ceiling - q[0], [-1.0], restitution, "ceiling"))
    return cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: np.array([-gravity]), contacts=gaps)


def test_siconos_bouncing_ball() -> None:
    """Siconos BouncingBallED: h0 = 1, e = 0.9."""
    traj = cs.simulate(cs.ContactSystem(vertical_ball(G, 0.9)), cs.State([1.0], [0.0]), (0.0, 8.5))
    times = impacts(traj)
    assert len(times) == 44
    expected = [0.451523640985731, 1.264266194760047, 1.995734493156931, 2.654055961714126, 3.246545283415602]
    np.testing.assert_allclose(times[:5], expected, rtol=0, atol=tol.PUBLISHED_TIME)
    assert traj.final.q[0] == pytest.approx(5.56555100899e-6, abs=tol.PUBLISHED_STATE)
    assert traj.final.v[0] == pytest.approx(-0.0416651958098, abs=tol.PUBLISHED_STATE)
    compare_with_file(traj, "siconos_bouncing_ball.txt")


def test_siconos_bouncing_ball_as_a_robot() -> None:
    system = cs.ContactSystem(point_mass(friction=0.0, restitution=0.9))
    traj = cs.simulate(system, cs.State([0, 0, 1.0], np.zeros(3)), (0.0, 8.5))
    assert len(impacts(traj)) == 44
    assert traj.final.q[2] == pytest.approx(5.56555100899e-6, abs=tol.PUBLISHED_STATE)
    assert traj.final.v[2] == pytest.approx(-0.0416651958098, abs=tol.PUBLISHED_STATE)


def test_siconos_ball_between_floor_and_ceiling() -> None:
    """Siconos BouncingBallED-TwoContacts, before its Zeno time 6.207."""
    system = cs.ContactSystem(vertical_ball(10.0, 0.8, ceiling=1.5))
    traj = cs.simulate(system, cs.State([1.0], [10.0]), (0.0, 6.0))
    expected = [0.0513167019494862, 0.2283187800528824, 0.4665486160195446, 0.7413599657472237]
    np.testing.assert_allclose(impacts(traj)[:4], expected, rtol=0, atol=tol.PUBLISHED_TIME)
    assert [event.contacts for event in traj.events[:4]] == [("ceiling",), ("floor",), ("ceiling",), ("floor",)]
    assert not impacts(traj, "ceiling")[2:]
    speed = 10.0  # upwards at q = 1; each impact leaves 0.8 of the speed that the height demands
    for rise in (-0.5, 1.5, -1.5, 1.5):
        speed = 0.8 * np.sqrt(speed**2 + 20.0 * rise)
    flight = 2 * speed / 10.0
    later = expected[3] + np.concatenate([[0.0], np.cumsum(flight * 0.8 ** np.arange(8))])
    np.testing.assert_allclose(impacts(traj)[3:12], later, rtol=0, atol=10 * tol.PUBLISHED_TIME)
    compare_with_file(traj, "siconos_two_contacts.txt")


def compare_with_file(traj: cs.Trajectory, name: str) -> None:
    for t, q, v in np.loadtxt(DATA / name):
        state = traj(t)
        assert state.q[0] == pytest.approx(q, abs=tol.REFERENCE_FILE), t
        assert state.v[0] == pytest.approx(v, abs=tol.REFERENCE_FILE), t


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_three_balls_in_a_row(e: float) -> None:
    """Newton's law for all contacts at once: ((1 - 2e)/3, (1 + e)/3, (1 + e)/3)."""
    gaps = [
        frictionless_gap(lambda q: q[1] - q[0] - 1.0, [-1.0, 1.0, 0.0], e, "first"),
        frictionless_gap(lambda q: q[2] - q[1] - 1.0, [0.0, -1.0, 1.0], e, "second"),
    ]
    balls = cs.Mechanism(n=3, mass=lambda q: np.eye(3), force=lambda t, q, v: np.zeros(3), contacts=gaps)
    traj = cs.simulate(cs.ContactSystem(balls), cs.State([-0.25, 1.0, 2.0], [1.0, 0.0, 0.0]), (0.0, 0.5))
    assert impacts(traj)[0] == pytest.approx(0.25, abs=tol.PUBLISHED_TIME)
    after = traj.events[0].state_post.v
    np.testing.assert_allclose(after, [(1 - 2 * e) / 3, (1 + e) / 3, (1 + e) / 3], rtol=0, atol=tol.RATIO)


# --- friction ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("shape", "time", "speed"),
    [
        (2 / 5, 0.194165331780011, 10 / 7),
        (1 / 2, 0.226526222, 4 / 3),
        (1.0, 0.339789331, 1.0),
        (2 / 3, 0.271831464, 1.2),
    ],
    ids=["sphere", "disk", "hoop", "shell"],
)
def test_slide_to_roll(shape: float, time: float, speed: float) -> None:
    """v0 = 2, mu = 0.3; the moment of inertia is shape * m R^2."""
    v0, mu, radius = 2.0, 0.3, 0.1
    robot = sphere(mu, radius=radius, shape=shape)
    start = cs.State([0, 0, radius, 0, 0, 0, 1], [v0, 0, 0, 0, 0, 0])
    traj = cs.simulate(cs.ContactSystem(robot), start, (0.0, 0.5))
    roll = first_time(traj, "ball", Mode.STICK)
    assert roll == pytest.approx(v0 / (mu * G * (1 + 1 / shape)), abs=tol.SLIDE_TO_ROLL)
    assert roll == pytest.approx(time, abs=tol.SLIDE_TO_ROLL)
    place = v0 * roll - mu * G * roll**2 / 2
    assert traj(roll).q[0] == pytest.approx(place, abs=tol.SLIDE_TO_ROLL)
    assert traj.final.q[0] == pytest.approx(place + speed * (0.5 - roll), abs=tol.SLIDE_TO_ROLL)
    if shape == 2 / 5:
        assert traj(roll).q[0] == pytest.approx(0.332854854480018, abs=tol.SLIDE_TO_ROLL)


@pytest.mark.parametrize("model", ["robot", "mechanism"])
def test_block_slides_obliquely_to_rest(model: str) -> None:
    """v0 = (3, 4), mu = 0.5: a circular cone stops it on a straight line, a pyramid does not."""
    if model == "robot":
        robot, name = point_mass(friction=0.5), "point"
    else:
        gap = cs.Gap(
            gap=lambda t, q: q[2],
            normal=lambda t, q: np.array([0.0, 0.0, 1.0]),
            tangent=lambda t, q: np.eye(3)[:2],
            friction=0.5,
            restitution=0.0,
            name="block",
        )
        weight = np.array([0.0, 0.0, -G])
        robot = cs.Mechanism(n=3, mass=lambda q: np.eye(3), force=lambda t, q, v: weight, contacts=[gap])
        name = "block"
    traj = cs.simulate(cs.ContactSystem(robot), cs.State(np.zeros(3), [3.0, 4.0, 0.0]), (0.0, 1.5))
    assert first_time(traj, name, Mode.STICK) == pytest.approx(1.019367991845056, abs=tol.STOP_TIME)
    np.testing.assert_allclose(traj.final.q, [1.529051987767584, 2.038735983690112, 0.0], rtol=0, atol=tol.STOP_PLACE)


def test_thrown_across_an_incline_of_the_friction_angle() -> None:
    """mu = tan(30 degrees): |v| plus the downhill velocity stays at its first value 2."""
    angle = np.deg2rad(30.0)
    system = cs.ContactSystem(
        point_mass(friction=np.tan(angle)), terrain=cs.terrain.Slope(angle=angle, downhill=(1, 0))
    )
    traj = cs.simulate(system, cs.State(np.zeros(3), [0.0, 2.0, 0.0]), (0.0, 3.0))
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    for t in np.linspace(0, 3, 31):
        v = traj(t).v
        assert np.linalg.norm(v) + v @ down == pytest.approx(2.0, abs=tol.INVARIANT)
    assert traj.final.v @ down == pytest.approx(1.0, abs=tol.INVARIANT)
    assert modes_between_events(traj, ["point"]) == [("SLIP",)]


def disk_in_plane(mu: float, e: float) -> cs.Mechanism:
    """Ball of Capobianco et al. 2021, 10.1, with (x, y, phi) and contact velocity x' + R phi'."""
    radius, mass = 0.1, 1.0
    M = np.diag([mass, mass, 0.4 * mass * radius**2])
    gap = cs.Gap(
        gap=lambda t, q: q[1] - radius,
        normal=lambda t, q: np.array([0.0, 1.0, 0.0]),
        tangent=lambda t, q: np.array([[1.0, 0.0, radius]]),
        friction=mu,
        restitution=e,
        name="ball",
    )
    weight = np.array([0.0, -mass * G, 0.0])
    return cs.Mechanism(n=3, mass=lambda q: M, force=lambda t, q, v: weight, contacts=[gap])


def test_ball_with_spin_bounces() -> None:
    """Capobianco et al. 2021, 10.1 (1), before the Zeno time 1.285."""
    traj = cs.simulate(cs.ContactSystem(disk_in_plane(0.2, 0.5)), cs.State([0, 1, 0], [0, 0, 0]), (0.0, 1.2))
    expected = [0.428352936878, 0.856705873756, 1.0708823422]
    np.testing.assert_allclose(impacts(traj)[:3], expected, rtol=0, atol=tol.PUBLISHED_TIME)


@pytest.mark.parametrize("model", ["mechanism", "robot"])
def test_ball_with_spin_lands_slides_and_rolls(model: str) -> None:
    """Capobianco et al. 2021, 10.1 (2): e = 0, mu = 0.2, omega = 50."""
    if model == "mechanism":
        robot, start = disk_in_plane(0.2, 0.0), cs.State([0, 1, 0], [0, 0, 50.0])
    else:
        robot = sphere(0.2, radius=0.1)
        start = cs.State([0, 0, 1, 0, 0, 0, 1], [0, 0, 0, 0, -50.0, 0])
    traj = cs.simulate(cs.ContactSystem(robot), start, (0.0, 1.1))
    landing = traj.events[0]
    assert landing.time == pytest.approx(0.428352936878, abs=tol.PUBLISHED_TIME)
    sign, spin = (1, 2) if model == "mechanism" else (-1, 4)
    assert sign * landing.state_post.v[spin] == pytest.approx(28.9892884461, abs=tol.PUBLISHED_STATE)
    if model == "mechanism":
        assert landing.state_post.v[0] == pytest.approx(-0.840428462155, abs=tol.PUBLISHED_STATE)
    assert first_time(traj, "ball", Mode.STICK) == pytest.approx(0.728119994175, abs=tol.PUBLISHED_STATE)
    assert sign * traj.final.v[spin] == pytest.approx(100 / 7, abs=10 * tol.PUBLISHED_STATE)
    assert traj.final.q[0] == pytest.approx(-0.87134286130354, abs=tol.PUBLISHED_STATE)
    if model == "mechanism":
        assert traj.final.v[0] == pytest.approx(-10 / 7, abs=tol.PUBLISHED_STATE)


def test_falling_stick() -> None:
    """Siconos ImpactingStick: l = 1, m = 1, I = 1/12, g = 10, e = 1, mu = 0.01.

    Both impacts reverse the slip, so a friction taken from the velocity before the impact has the wrong sign.
    """
    th0 = np.pi / 4
    gap = cs.Gap(
        gap=lambda t, q: q[1] - 0.5 * np.cos(q[2]),
        normal=lambda t, q: np.array([0.0, 1.0, 0.5 * np.sin(q[2])]),
        tangent=lambda t, q: np.array([[1.0, 0.0, 0.5 * np.cos(q[2])]]),
        friction=0.01,
        restitution=1.0,
        name="tip",
    )
    M, weight = np.diag([1.0, 1.0, 1 / 12]), np.array([0.0, -10.0, 0.0])
    stick = cs.Mechanism(n=3, mass=lambda q: M, force=lambda t, q, v: weight, contacts=[gap])
    start = cs.State([0.5 * np.sin(th0), 0.5 * np.cos(th0) + 0.01, th0], [-0.5, 0.1, 0.1])
    traj = cs.simulate(cs.ContactSystem(stick), start, (0.0, 0.2))
    np.testing.assert_allclose(impacts(traj), [0.060274089093, 0.163275784400], rtol=0, atol=tol.PUBLISHED_TIME)
    jumps = [event.state_post.v - event.state_pre.v for event in traj.events]
    np.testing.assert_allclose([jump[1] for jump in jumps], [0.373278166921, 0.312440451648], rtol=0, atol=1e-10)
    np.testing.assert_allclose([jump[0] / jump[1] for jump in jumps], [-0.01, -0.01], rtol=0, atol=tol.RATIO)
    q = [0.2529170829692, 0.2471841529965, 1.0819805069302]
    np.testing.assert_allclose(traj.final.q, q, rtol=0, atol=tol.PUBLISHED_STATE)
    v = [-0.50685719, -1.21428138, 3.20697487]
    np.testing.assert_allclose(traj.final.v, v, rtol=0, atol=tol.PUBLISHED_PRINT_8)


def slider_crank() -> cs.Mechanism:
    """Slider-crank with clearance (Flores, Leine, Glocker 2010), absolute angles of crank, rod and slider."""
    l1, l2, a, b, c = 0.153, 0.306, 0.05, 0.025, 0.001
    half = b + c
    m1, m2, m3 = 0.038, 0.038, 0.076
    J1, J2, J3 = 7.4e-5, 5.9e-4, 2.7e-6
    coupling = (m2 / 2 + m3) * l1 * l2

    def mass(q: np.ndarray) -> np.ndarray:
        k = coupling * np.cos(q[0] - q[1])
        first = J1 + m1 * l1**2 / 4 + (m2 + m3) * l1**2
        second = J2 + m2 * l2**2 / 4 + m3 * l2**2
        return np.array([[first, k, 0.0], [k, second, 0.0], [0.0, 0.0, J3]])

    def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        k = coupling * np.sin(q[0] - q[1])
        crank = -k * v[1] ** 2 - (m1 / 2 + m2 + m3) * G * l1 * np.cos(q[0])
        rod = k * v[0] ** 2 - (m2 / 2 + m3) * G * l2 * np.cos(q[1])
        return np.array([crank, rod, 0.0])

    def corner(sx: int, sy: int) -> cs.Gap:
        def height(q: np.ndarray) -> float:
            arm = sx * a * np.sin(q[2]) + sy * b * np.cos(q[2])
            return l1 * np.sin(q[0]) + l2 * np.sin(q[1]) + arm

        def rise(q: np.ndarray) -> np.ndarray:
            turn = sx * a * np.cos(q[2]) - sy * b * np.sin(q[2])
            return np.array([l1 * np.cos(q[0]), l2 * np.cos(q[1]), turn])

        def along(q: np.ndarray) -> np.ndarray:
            turn = -sx * a * np.sin(q[2]) - sy * b * np.cos(q[2])
            return np.array([[-l1 * np.sin(q[0]), -l2 * np.sin(q[1]), turn]])

        return cs.Gap(
            gap=lambda t, q: half - sy * height(q),
            normal=lambda t, q: -sy * rise(q),
            tangent=lambda t, q: along(q),
            friction=0.01,
            restitution=0.4,
            name=f"{'upper' if sy > 0 else 'lower'}_{'front' if sx > 0 else 'rear'}",
        )

    return cs.Mechanism(n=3, mass=mass, force=force, contacts=[corner(sx, sy) for sy in (1, -1) for sx in (1, -1)])


def test_slider_crank_first_impact() -> None:
    start = cs.State(np.zeros(3), [150.0, -75.0, 0.0])
    traj = cs.simulate(cs.ContactSystem(slider_crank()), start, (0.0, 0.0028))
    impact = traj.events[0]
    assert impact.time == pytest.approx(0.0026925027520, abs=1e-12)
    assert sorted(impact.contacts) == ["upper_front", "upper_rear"]
    before = [109.5576815432, -49.3307899619, 0.0]
    np.testing.assert_allclose(impact.state_pre.v, before, rtol=tol.PUBLISHED_STATE, atol=tol.PUBLISHED_STATE)
    after = [108.7245800018, -52.8422904203, 0.0]
    np.testing.assert_allclose(impact.state_post.v, after, rtol=tol.PUBLISHED_STATE, atol=tol.PUBLISHED_STATE)


@pytest.mark.parametrize("model", ["robot", "mechanism"])
def test_housner_rocking_block(model: str) -> None:
    """omega+ / omega- = 1 - 3/2 sin^2(alpha) for a block that rocks without slipping, alpha = atan(0.25)."""
    b, h, mass = 0.25, 1.0, 1.0
    moment = mass * (b**2 + h**2) / 3
    points = {"left": (-b, -h), "right": (b, -h)}
    make = planar_body if model == "robot" else planar_mechanism
    block = make(mass, moment, points, 1.0, 0.0)
    tilt = -0.1  # stands on its left corner
    start = cs.State([b * np.cos(tilt) - h * np.sin(tilt), b * np.sin(-tilt) + h * np.cos(tilt), tilt], np.zeros(3))
    traj = cs.simulate(cs.ContactSystem(block), start, (0.0, 1.2))
    impact = traj.events[0]
    assert "right" in impact.contacts
    assert impact.transitions["right"] == (Mode.OPEN, Mode.STICK)
    assert impact.transitions["left"] == (Mode.STICK, Mode.OPEN)
    ratio = impact.state_post.v[2] / impact.state_pre.v[2]
    assert ratio == pytest.approx(0.911764705882353, abs=tol.RATIO)
    radius = np.hypot(b, h)
    lost_height = b * np.sin(-tilt) + h * np.cos(tilt) - h
    speed = np.sqrt(2 * G * lost_height / (moment / mass + radius**2))
    assert impact.state_pre.v[2] == pytest.approx(speed, abs=tol.PUBLISHED_STATE)


# --- contact problems ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "force"),
    [
        ("FrictionContact3D_1c.dat", (0.0656956828977383, -0.00367861490680676, -0.00544307081355929)),
        ("Rover11035.dat", (3.85556492612845, 1.07507931887663, 2.47552844841739)),
    ],
)
def test_siconos_contact_problem(name: str, force: tuple[float, float, float]) -> None:
    numbers = [float(word) for word in (DATA / name).read_text().split()][7:20]
    W, q, mu = np.array(numbers[:9]).reshape(3, 3), np.array(numbers[9:12]), np.array(numbers[12:])
    solution = solve(ContactProblem(W, q, (3,), mu, mu, (None,)))
    assert solution.modes == (Mode.SLIP,)
    np.testing.assert_allclose(solution.forces, force, rtol=0, atol=tol.PUBLISHED_FORCE * np.abs(force).max())
    np.testing.assert_allclose(solution.motion, W @ solution.forces + q, rtol=0, atol=1e-12 * np.abs(q).max())


def rod_problem(theta: float, mu: float, free_normal: float) -> ContactProblem:
    """Slender uniform rod (half length 1, mass 1) that slides on its lower tip, leaning so that friction digs in."""
    c, s = np.cos(theta), np.sin(theta)
    G_tip = np.array([[1 + 3 * c * c, 3 * s * c], [3 * s * c, 1 + 3 * s * s]])
    coefficient = np.array([mu])
    return ContactProblem(G_tip, np.array([free_normal, 0.0]), (2,), coefficient, coefficient, (np.array([1.0]),))


@pytest.mark.parametrize("theta", [0.3, 0.970155415988 - 1e-3, 1.220890396789 + 1e-3, 1.5])
def test_sliding_rod_outside_painleve_s_range(theta: float) -> None:
    solution = solve(rod_problem(theta, 1.4, -G))
    assert solution.modes == (Mode.SLIP,)
    assert solution.forces[0] > 0
    assert solution.forces[1] == pytest.approx(-1.4 * solution.forces[0])


@pytest.mark.parametrize("theta", [0.970155415988 + 1e-3, np.arctan(2.0), 1.220890396789 - 1e-3])
def test_sliding_rod_inside_painleve_s_range_has_no_mode(theta: float) -> None:
    """Leaning too steeply with mu = 1.4 > 4/3, every force drives the tip further in: no solution, and it says so."""
    with pytest.raises(cs.ContactSimError, match=r"[Pp]ainlev|no .*mode|admissible"):
        solve(rod_problem(theta, 1.4, -G))


def test_sliding_rod_below_four_thirds_always_has_a_mode() -> None:
    for theta in np.linspace(0.05, 1.5, 60):
        assert solve(rod_problem(theta, 4 / 3 - 1e-3, -G)).modes == (Mode.SLIP,)


def test_planar_gap_of_the_builders_is_consistent() -> None:
    """The rows that many tests rest on: normal and tangent against differences of the gap and the corner's place."""
    gap = planar_gap(0.4, -0.2, 0.3, 0.0, "corner")
    q, h = np.array([0.3, 0.5, 0.7]), 1e-6
    for k in range(3):
        step = h * np.eye(3)[k]
        slope = (gap.gap(0.0, q + step) - gap.gap(0.0, q - step)) / (2 * h)
        assert gap.normal(0.0, q)[k] == pytest.approx(slope, abs=1e-8)

    def place(q: np.ndarray) -> float:
        return q[0] + 0.4 * np.cos(q[2]) - 0.2 * np.sin(q[2])

    for k in range(3):
        step = h * np.eye(3)[k]
        assert gap.tangent(0.0, q)[0, k] == pytest.approx((place(q + step) - place(q - step)) / (2 * h), abs=1e-8)
