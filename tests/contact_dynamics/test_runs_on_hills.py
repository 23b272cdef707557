"""Runs on curved and moving ground: closed forms, and derivatives against differences of the simulation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from builders import TIGHT, planar_body, point_mass, single_body, sphere
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.multibody.terrain import Terrain

Array = np.ndarray
G = 9.81

RUN = cs.Tolerances(**TIGHT)
FLOW = 1e-6  # differences of runs, relative: rounding of events (1e-12) over steps of 1e-5, and their squares
PATH = 1e-8  # of a run of a second against a reference integrated to 1e-12
TABLE = 1e-8  # saltation of the vibrating table, whose reset is differenced by time


def valley(radius: float, along: bool = False) -> cs.terrain.Function:
    """The lower half of a sphere, or of a cylinder along y."""
    mask = np.array([1.0, 0.0 if along else 1.0])

    def root(x: float, y: float) -> tuple[Array, float]:
        p = mask * [x, y]
        return p, float(np.sqrt(radius**2 - p @ p))

    return cs.terrain.Function(
        lambda t, x, y: radius - root(x, y)[1],
        lambda t, x, y: root(x, y)[0] / root(x, y)[1],
        lambda t, x, y: np.diag(mask) / root(x, y)[1] + np.outer(root(x, y)[0], root(x, y)[0]) / root(x, y)[1] ** 3,
        curvature=1.0 / radius,
    )


def pendulum_angle(rate: float, start: float, time: float) -> float:
    swing = solve_ivp(lambda t, y: [y[1], -rate * np.sin(y[0])], (0, time), [start, 0.0], rtol=1e-12, atol=1e-13)
    return float(swing.y[0, -1])


def test_a_point_slides_in_a_bowl_like_a_pendulum() -> None:
    radius, start, time = 1.2, 0.4, 1.0
    system = cs.ContactSystem(point_mass(friction=0.0), terrain=valley(radius))
    place = radius * np.array([np.sin(start), 0.0, 1.0 - np.cos(start)])
    traj = cs.simulate(system, cs.State(place, np.zeros(3)), (0, time), tolerances=RUN)
    angle = pendulum_angle(G / radius, start, time)
    np.testing.assert_allclose(traj.final.q, radius * np.array([np.sin(angle), 0, 1 - np.cos(angle)]), atol=PATH)
    traj.check()


def test_a_ball_rolls_in_a_valley() -> None:
    """theta'' = -5 g sin(theta) / (7 (R - r)) of a solid ball that rolls in a cylinder."""
    radius, ball, start, time = 1.0, 0.2, 0.3, 1.0
    system = cs.ContactSystem(sphere(friction=2.0, radius=ball), terrain=valley(radius, along=True))
    arm = radius - ball
    place = [arm * np.sin(start), 0.1, radius - arm * np.cos(start), 0, 0, 0, 1]
    traj = cs.simulate(system, cs.State(place, np.zeros(6)), (0, time), tolerances=RUN)
    angle = pendulum_angle(5 * G / (7 * arm), start, time)
    np.testing.assert_allclose(traj.final.q[:3], [arm * np.sin(angle), 0.1, radius - arm * np.cos(angle)], atol=PATH)
    traj.check()


# --- moving ground ----------------------------------------------------------------------------------------------


def bouncer(amplitude: float, frequency: float, restitution: float) -> cs.ContactSystem:
    """A ball that moves up and down above an oscillating table."""
    model = single_body(pin.JointModelPZ(), 1.0, (0, 0, 0), "ball")
    robot = cs.Robot(model, contacts=[cs.ContactPoint("ball", restitution=restitution, friction=0.0)])
    motion = cs.terrain.Oscillation((0.0, 0.0, amplitude), frequency)
    return cs.ContactSystem(robot, terrain=cs.terrain.Moving(cs.terrain.Flat(), motion))


def test_ball_on_a_vibrating_table() -> None:
    """Holmes 1982; the numbers of the period-one orbit are in the reference cases."""
    t0 = 0.0042971414883010
    system = bouncer(0.0027, 10.0, 0.5)
    start = cs.State([0.0027 * np.sin(20 * np.pi * t0)], [0.4905])
    traj = cs.simulate(system, start, (t0, t0 + 0.15), tolerances=RUN)
    (event,) = traj.events
    assert event.time == pytest.approx(t0 + 0.1, abs=1e-11)
    assert event.x_pre[1] == pytest.approx(-0.4905, abs=1e-10)
    lin = cs.linearize(traj)
    np.testing.assert_allclose(lin.events[0].saltation, [[-0.5, 0.0], [15.97910695282, -0.5]], atol=TABLE)
    multipliers = np.linalg.eigvals(lin.matrix(t0, event.time))
    np.testing.assert_allclose(multipliers.real, 0.298955347641, atol=TABLE)
    np.testing.assert_allclose(np.sort(multipliers.imag), [-0.400781361988, 0.400781361988], atol=TABLE)


def test_paddle_juggling() -> None:
    """The ball comes back every period T where the paddle rises with g T / 2 (1 - e) / (1 + e); det D = e^2."""
    amplitude, frequency, e = 0.12, 2.0, 0.7
    w, period = 2 * np.pi * frequency, 1.0 / frequency
    rises = G * period / 2 * (1 - e) / (1 + e)
    t0 = float(np.arccos(rises / (amplitude * w))) / w
    start = cs.State([amplitude * np.sin(w * t0)], [G * period / 2])
    traj = cs.simulate(bouncer(amplitude, frequency, e), start, (t0, t0 + 1.2 * period), tolerances=RUN)
    (event,) = traj.events
    assert event.time == pytest.approx(t0 + period, abs=1e-10)
    np.testing.assert_allclose(event.x_post, np.concatenate([start.q, start.v]), atol=1e-9)
    assert np.linalg.det(cs.linearize(traj).matrix(t0, event.time)) == pytest.approx(e**2, abs=1e-8)


def test_a_block_on_a_shaken_table_slips_where_the_table_accelerates_too_fast() -> None:
    """It sticks while A w^2 |sin| < mu g: the first break-away is at the closed form's time."""
    amplitude, frequency, mu = 0.05, 2.0, 0.4
    w = 2 * np.pi * frequency
    ground = cs.terrain.Moving(cs.terrain.Flat(), cs.terrain.Oscillation((amplitude, 0.0, 0.0), frequency))
    system = cs.ContactSystem(point_mass(friction=mu), terrain=ground)
    traj = cs.simulate(system, cs.State(np.zeros(3), [amplitude * w, 0.0, 0.0]), (0.0, 0.1), tolerances=RUN)
    assert traj.events[0].time == pytest.approx(np.arcsin(mu * G / (amplitude * w**2)) / w, abs=1e-10)
    traj.check()


# --- derivatives ------------------------------------------------------------------------------------------------

HILLS = cs.terrain.Sinusoid(0.05, 4.0, 3.0)
SHAKEN = cs.terrain.Moving(HILLS, cs.terrain.Oscillation((0.02, -0.01, 0.03), 1.5, 0.4))
PHASE = 4.0


def wave(order: int) -> Callable[[float, float, float], Array]:
    """A travelling wave 0.04 sin(4 x - 4 t) cos(2 y) and its derivatives by (t, x, y)."""
    own = cs.terrain.Sinusoid(0.04, 4.0, 2.0)
    along = np.array([[0.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])

    def at(t: float, x: float, y: float) -> Array:
        jet = own.jet(0.0, np.array([[x - t, y]]), order)[order][0]
        return jet if order == 0 else jet @ along if order == 1 else along.T @ jet @ along

    return at


@pytest.mark.parametrize(
    "frequency", [3.0, 12.76, *(pytest.param(w, marks=pytest.mark.slow) for w in (7.0, 25.0, 60.0))]
)
def test_a_ground_that_rises_for_a_moment_is_not_missed(frequency: float) -> None:
    """A mass hangs still, so steps get long: the ground comes up to it a sin(w t + phase) = 0.98 a after its phase."""
    crest, missed = np.arcsin(0.98), []
    for phase in np.linspace(-3.0, 1.0, 6):

        def rate(order: int, t: float, phase: float = phase) -> float:
            return 0.1 * frequency**order * np.sin(frequency * t + phase + order * np.pi / 2)

        ground = cs.terrain.Function(
            lambda t, x, y, rate=rate: rate(0, t),
            lambda t, x, y, rate=rate: np.array([rate(1, t), 0.0, 0.0]),
            lambda t, x, y, rate=rate: np.diag([rate(2, t), 0.0, 0.0]),
            curvature=1e-3,
            moving=True,
        )
        system = cs.ContactSystem(point_mass(), terrain=ground, gravity=[0.0, 0.0, 0.0])
        run = cs.simulate(system, cs.State([0.0, 0.0, 0.098], np.zeros(3)), (0.0, 3.0))
        touch = (crest - phase) / frequency
        if not run.events or abs(run.events[0].time - touch) > 1e-12:
            missed.append((phase, touch, [event.time for event in run.events[:1]]))
    assert not missed


WAVE = cs.terrain.Function(wave(0), wave(1), wave(2), curvature=0.64, moving=True)
grid = np.linspace(-1.5, 2.5, 12)
FIELD = cs.terrain.HeightField(grid, grid, 0.03 * np.sin(3.1 * grid)[:, None] * np.cos(2.3 * grid))
BALL = [0.1, 0.2, 0.25, 0, 0, 0, 1]

CASES: dict[str, tuple[cs.Robot, Terrain, list, list, float, set[str]]] = {
    "lands and slips": (point_mass(0.3), HILLS, [0.1, 0.2, 0.15], [1.2, 0.5, 0.0], 0.4, {"slip"}),
    "lands and sticks": (point_mass(0.9), HILLS, [0.1, 0.2, 0.15], [0.2, 0.1, 0.0], 0.4, {"stick"}),
    "slips to rest": (point_mass(0.4), HILLS, [0.1, 0.2, 0.08], [0.9, 0.5, 0.0], 0.6, {"slip", "stick"}),
    "takes off from a crest": (
        point_mass(0.0),
        cs.terrain.Sinusoid(0.1, 5.0, 0.5),
        [0.0, 0.1, 0.05],
        [2.6, 0.1, 0.0],
        0.6,
        {"slip", "open"},
    ),
    "rolls": (sphere(0.9), HILLS, BALL, [0.3, 0.1, 0, 1, 2, 3], 0.5, {"stick"}),
    "rolls on a field": (sphere(0.9), FIELD, BALL, [0.3, 0.1, 0, 1, 2, 3], 0.4, {"stick"}),
    "slides and rolls": (sphere(0.1), HILLS, BALL, [1.5, 0.3, 0, 1, -9, 3], 0.6, {"slip"}),
    "bounces on a shaken hill": (sphere(0.4, 0.6), SHAKEN, BALL, [0.4, 0.1, 0, 1, 2, 3], 0.4, {"open"}),
    "rolls on a shaken hill": (sphere(0.9), SHAKEN, BALL, [0.4, 0.1, 0, 1, 2, 3], 0.4, {"stick"}),
    "rides a wave": (point_mass(0.4), WAVE, [0.1, 0.2, 0.1], [1.9, 0.4, 0.0], 0.3, {"slip"}),
    "planar": (
        planar_body(1.0, 0.05, {"a": (-0.1, -0.1), "b": (0.1, -0.1)}, 0.4, 0.0),
        cs.terrain.Sinusoid(0.03, 5.0, 0.0),
        [0.1, 0.2, 0.1],
        [0.5, 0.0, 0.3],
        0.4,
        {"slip"},
    ),
}


def differences(end: Callable[[float], Array], h: float) -> Array:
    return (end(h) - end(-h)) / (2 * h)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_runs(name: str) -> None:
    robot, ground, q, v, time, modes = CASES[name]
    system = cs.ContactSystem(robot, terrain=ground)
    traj = cs.simulate(system, cs.State(q, v), (0.0, time), tolerances=RUN)
    assert traj.events
    assert {mode.value for event in traj.events for _, mode in event.transitions.values()} >= modes - {"open"}
    traj.check()
    space = system.space()
    start, reached = system.pack(cs.State(q, v)), traj.final_x

    def end(direction: Array, h: float) -> Array:
        other = cs.simulate(system, system.state(space.integrate(start, h * direction)), (0, time), tolerances=RUN)
        assert len(other.events) == len(traj.events)
        return space.difference(reached, other.final_x)

    lin = cs.linearize(traj, tolerances=cs.Tolerances(rtol=1e-10, atol=1e-12))
    rng = np.random.default_rng(0)
    direction = rng.normal(size=space.dim)
    expected = differences(lambda h: end(direction, h), 1e-5)
    np.testing.assert_allclose(lin(direction), expected, atol=FLOW * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize(
    ("case", "parameter"),
    [
        ("slides and rolls", "a1"),
        ("lands and slips", "a2"),
        ("bounces on a shaken hill", "amplitude_z"),
        ("bounces on a shaken hill", "a1"),
    ],
)
def test_derivatives_by_parameters_of_the_ground(case: str, parameter: str) -> None:
    robot, ground, q, v, time, _ = CASES[case]
    system, name = cs.ContactSystem(robot, terrain=ground), f"terrain.{parameter}"
    traj = cs.simulate(system, cs.State(q, v), (0.0, time), tolerances=RUN)
    value, space = system.parameter(name), system.space()
    assert system.parameters()[name] == value

    def end(h: float) -> Array:
        other = cs.simulate(system.with_parameter(name, value + h), cs.State(q, v), (0, time), tolerances=RUN)
        return space.difference(traj.final_x, other.final_x)

    expected = differences(end, 1e-5)
    found = cs.linearize(traj, tolerances=cs.Tolerances(rtol=1e-10, atol=1e-12)).parameter(name)
    np.testing.assert_allclose(found, expected, atol=FLOW * max(1.0, float(np.abs(expected).max())))


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ground", [HILLS, FIELD, SHAKEN, cs.terrain.Moving(FIELD, SHAKEN.motion)])
def test_grounds_come_back_from_files(tmp_path: Path, ground: Terrain) -> None:
    system = cs.ContactSystem(point_mass(0.3), terrain=ground)
    run = cs.simulate(system, cs.State([0.1, 0.2, 0.15], [0.3, 0.1, 0.0]), (0.0, 0.2))
    back = cs.Trajectory.load(run.save(tmp_path / "run.nc"))
    points = np.array([[0.1, 0.2, 0.3], [0.4, -0.1, 0.0]])
    np.testing.assert_array_equal(
        back.system.terrain.gaps(0.1, points, np.zeros(2)), ground.gaps(0.1, points, np.zeros(2))
    )
    assert back.system.terrain.parameters() == ground.parameters()


@pytest.mark.parametrize("ground", [WAVE, cs.terrain.Moving(cs.terrain.Flat(), np.sin)])
def test_functions_are_stored_by_name(tmp_path: Path, ground: Terrain) -> None:
    system = cs.ContactSystem(point_mass(0.3), terrain=ground)
    run = cs.simulate(system, cs.State([0.1, 0.2, 0.5], [0.3, 0.1, 0.0]), (0.0, 0.05))
    back = cs.Trajectory.load(run.save(tmp_path / "run.nc"), system=system)
    assert back.final.q == pytest.approx(run.final.q)
    with pytest.raises(cs.InputError, match=r"(at|sin).* is not stored.*system="):
        _ = cs.Trajectory.load(tmp_path / "run.nc").system.terrain


def test_a_capsule_bounces_with_its_other_end_high_above_hills_that_fit_it_closely() -> None:
    """Its round ends have 0.17 m, the hills bend by 5.5/m: above 0.5 cm distances are not known, and not needed."""
    hills = cs.terrain.Sinusoid(0.055, 10.0, 0.0)
    system = cs.ContactSystem(cs.Robot.capsule(1.0, 0.17, 0.3, friction=0.5, restitution=0.5), terrain=hills)
    lift = system.gaps(cs.State([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], np.zeros(6)))
    start = cs.State([0.0, 0.0, 1.0 - min(lift.values()) + 0.02, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.1, 0.1, 0.0])
    runs = [cs.simulate(system, start, (0.0, 0.2), tolerances=cs.Tolerances(rtol=r, atol=r)) for r in (1e-8, 1e-11)]
    assert [run.status for run in runs] == 2 * [cs.Status.FINISHED]
    runs[0].check()
    assert runs[0].final.q == pytest.approx(runs[1].final.q, abs=1e-7)


FIELD = np.linspace(-0.5, 0.5, 9)
EDGE = 1e-9  # m, how far from the edge of its ground a run may stop


def thrown_over_a_field(speed: float, engine: str) -> cs.Trajectory:
    """A point that is dropped 0.2 m above the middle of a level height field of one metre."""
    ground = cs.terrain.HeightField(FIELD, FIELD, np.zeros((9, 9)))
    system = cs.ContactSystem(point_mass(friction=0.9), terrain=ground)
    return cs.simulate(system, cs.State([0.0, 0.0, 0.2], [speed, 0.0, 0.0]), (0.0, 1.0), engine=engine)


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("speed", [1.5, 2.0])
def test_steps_of_a_run_that_stays_on_its_field_do_not_lead_out_of_it(engine: str, speed: float) -> None:
    """In flight they are long, and those that were tried first led beyond the edge: it was refused."""
    if engine == "native":
        pytest.importorskip("contactsim_native._native")
    traj = thrown_over_a_field(speed, engine)
    fall = np.sqrt(2.0 * 0.2 / G)
    slides = speed - 0.9 * G * fall  # the plastic impact takes away mu times its normal velocity
    assert traj.status is cs.Status.FINISHED, traj.message
    assert traj.final.q[0] == pytest.approx(speed * fall + slides**2 / (2.0 * 0.9 * G) * (slides > 0.0), abs=1e-7)


def test_a_run_that_leaves_its_field_stops_at_the_edge() -> None:
    traj = thrown_over_a_field(5.0, "python")
    assert traj.status is cs.Status.FAILED
    assert "outside of the height field" in traj.message
    assert traj.final.q[0] == pytest.approx(0.5, abs=EDGE)
