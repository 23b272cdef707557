"""The spring-loaded inverted pendulum: the manual's numbers, symmetry, energy, derivatives, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from contactsim_plugins.models.slip import CHARTS, Slip
from scipy.integrate import solve_ivp

import contactsim as cs

# --- tolerances ---------------------------------------------------------------------------------------------------
PUBLISHED = 5e-13  # s, m, m/s: the last of 15 printed digits, with TIGHT tolerances
PUBLISHED_SALTATION = 1e-10  # numbers printed with 12 digits
MULTIPLIER = 1e-8  # of the apex map, by the variational equation with its default tolerances
ORBIT = 1e-9  # m, m/s, rad: a stride against its start
ENERGY = 1e-8  # relative, along 100 strides with the model's own tolerances
SYMMETRY = 1e-7  # m, m/s: states of 100 apices, and lift-off against touchdown: the map's multipliers have modulus 1
PHASE = 1e-8  # s, m, m/s: a phase against another method in other coordinates
DIFFERENCES = 1e-6  # relative: derivatives against central differences of runs
JACOBIAN = 1e-7  # relative: derivatives against fourth-order differences of functions
TIGHT = cs.Tolerances(rtol=1e-12, atol=1e-13)

FAMILY = {  # exponents (i, j), k: springs of about the same strength at the bottom of stance
    "manual": (1.0, -2.0, 1000.0),
    "linear": (2.0, 1.0, 12000.0),
    "air": (2.0, -1.0, 9000.0),
    "cubic": (3.0, 1.0, 250000.0),
    "root": (2.0, 0.5, 40000.0),
}


@pytest.fixture(scope="module")
def stride() -> cs.Trajectory:
    slip = Slip()
    return cs.simulate(slip, slip.initial_state(), (0.0, 0.6), tolerances=TIGHT)


def springs(name: str) -> Slip:
    i, j, k = FAMILY[name]
    return Slip(spri=i, sprj=j, k=k)


def mid_flight(slip: Slip) -> np.ndarray:
    """A state in descent, at no event, with a touchdown angle that fits its speed."""
    return slip.initial_state(x=0.3, y=1.1, xdot=1.15, ydot=-0.2, touchdown_angle=0.1151725904)


# --- the manual's numbers -----------------------------------------------------------------------------------------
def test_defaults_are_the_manuals() -> None:
    slip = cs.load_model("slip")
    assert isinstance(slip, Slip)
    np.testing.assert_array_equal(slip.initial_state(), [0.0, 0.9, 1.0, 0.0, 0.0, 0.0, 0.0])
    manual = [50.48, 1.0, 1.0, 10.0, 10.0, 120.0, 1.0, 1.0, -2.0, 1000.0]
    names = ["body_mass", "q_rt", "q_rl", "g_stance", "g_flight", "framerate", "q_0", "spri", "sprj", "k"]
    assert [slip.parameter(name) for name in names] == manual
    assert tuple(slip.State.model_fields) == ("x", "y", "xdot", "ydot", "footx", "footy", "touchdown_angle")


def test_first_stride_has_the_published_numbers(stride: cs.Trajectory) -> None:
    """design/reference_cases.md, SLIP: lift-off, apex, touchdown and bottom."""
    assert stride.arcs[0].mode == "decompression"
    liftoff, apex, touchdown, bottom = stride.events
    assert [event.mode_post for event in stride.events] == list(CHARTS)
    assert [event.fired for event in stride.events] == [{"liftoff"}, {"apex"}, {"touchdown"}, {"bottom"}]
    times = [0.109094508193453, 0.265909730074794, 0.422724951956135, 0.531819460149587]
    np.testing.assert_allclose([event.time for event in stride.events], times, rtol=0, atol=PUBLISHED)
    published = [0.114918137118949, 0.993374965338422, 1.14897717293499, 1.56815221881341]
    np.testing.assert_allclose(liftoff.x_pre[:4], published, rtol=0, atol=10 * PUBLISHED)
    assert liftoff.x_post[6] == pytest.approx(0.115172590432173, abs=PUBLISHED)
    assert apex.x_post[1] == pytest.approx(1.11633003440689, abs=10 * PUBLISHED)
    assert touchdown.x_post[4] == pytest.approx(0.590190494858693, abs=PUBLISHED)
    np.testing.assert_allclose(bottom.x_post[1:3], [0.9, 1.0], rtol=0, atol=10 * PUBLISHED)


def test_saltation_at_touchdown(stride: cs.Trajectory) -> None:
    """The spring is not free of force at its rest length, so the field jumps there."""
    saltation = cs.linearize(stride).events[2].saltation
    expected = np.eye(4)
    expected[2, 1], expected[3, 1] = 1.45171382965, -12.5488996895
    np.testing.assert_allclose(saltation[:4, :4], expected, rtol=0, atol=PUBLISHED_SALTATION)
    np.testing.assert_allclose(saltation[4, :4], [1.0, 0.732694925372, 0.0, 0.0], rtol=0, atol=PUBLISHED_SALTATION)


def apex_map(slip: Slip, x: np.ndarray, duration: float, kept: tuple[int, ...]) -> np.ndarray:
    """Derivative of the map from apex to apex, of the components `kept`, that none of the others acts on."""
    traj = cs.simulate(slip, x, (0.0, duration), tolerances=TIGHT)
    apices = [event for event in traj.events if event.fired == {"apex"}]
    matrix = cs.linearize(traj).matrix(apices[0].time, apices[1].time)
    field = slip.field(0.0, apices[1].x_post, "descent")
    on_section = matrix - np.outer(field, matrix[3]) / field[3]
    return on_section[np.ix_(kept, kept)]


def test_multipliers_of_the_apex_map() -> None:
    slip = Slip()
    multipliers = np.linalg.eigvals(apex_map(slip, slip.initial_state(), 0.9, (2, 1, 6)))
    np.testing.assert_allclose(np.sort(multipliers.real), [-1.0, 1.0, 1.0], rtol=0, atol=1e-5)  # a double one: square
    assert np.prod(multipliers) == pytest.approx(-1.0, abs=MULTIPLIER)
    assert np.sum(multipliers) == pytest.approx(1.0, abs=MULTIPLIER)


def test_hopper_with_a_constant_angle() -> None:
    """pab47, slipHopper.m: period, apex and Jacobian of (x', y) from apex to apex."""
    slip = Slip(body_mass=100, k=1e4, spri=2, sprj=1, policy="constant")
    x = slip.initial_state(y=1.238312718078524, xdot=0.513806075894484, touchdown_angle=np.deg2rad(5.0))
    period = 0.836957108399169
    traj = cs.simulate(slip, x, (0.0, period), tolerances=TIGHT)
    np.testing.assert_allclose(traj.final[1:4], [x[1], x[2], 0.0], rtol=0, atol=1e-11)  # printed digits times 4.18
    expected = [[4.139099450171836, -0.810450497065105], [-0.161288837033532, 1.041641438960376]]
    begun = traj(period - 0.1)  # ascending, so that the run meets two apices
    np.testing.assert_allclose(apex_map(slip, begun, period + 0.2, (2, 1)), expected, rtol=0, atol=1e-7)


def brought_back(x: np.ndarray) -> np.ndarray:
    """The same state with its last foothold at zero."""
    return np.concatenate([[x[0] - x[4]], x[1:4], [0.0], x[5:]])


def test_orbit_of_the_neutral_policy() -> None:
    """Every stride repeats: the search keeps to its guess, and finds 1, 1 and -1 beside the 1 along the flow.

    Where the run starts along the ground is forgotten at touchdown, as is the last foothold.
    """
    slip = Slip()
    apex = cs.simulate(slip, slip.initial_state(), (0.0, 0.3), tolerances=TIGHT).events[1].x_post
    falling = cs.simulate(slip, apex, (0.0, 0.05), tolerances=TIGHT).final
    guess = brought_back(falling + 1e-4 * np.eye(7)[1])
    orbit = cs.find_periodic_orbit(slip, guess, 0.532, symmetry=brought_back)
    assert orbit.residual < ORBIT
    assert np.abs(brought_back(orbit.trajectory.final) - orbit.x0).max() < ORBIT
    sizes = np.sort(np.abs(orbit.multipliers))
    np.testing.assert_allclose(sizes, [0, 0, 0, 1, 1, 1, 1], rtol=0, atol=1e-4)  # pairs of double ones: square roots
    assert np.abs(orbit.multipliers + 1.0).min() < MULTIPLIER


def test_orbit_of_the_hopper_has_the_published_multipliers() -> None:
    slip = Slip(body_mass=100, k=1e4, spri=2, sprj=1, policy="constant")
    apex = slip.initial_state(y=1.238312718078524, xdot=0.513806075894484, touchdown_angle=np.deg2rad(5.0))
    guess = brought_back(cs.simulate(slip, apex, (0.0, 0.836957108399169 + 0.1), tolerances=TIGHT).final)

    def family(x: np.ndarray) -> tuple[float, float]:  # there is an orbit for each energy and each angle
        return float(x[1] - apex[1] + (x[2:4] @ x[2:4] - apex[2:4] @ apex[2:4]) / 20.0), float(x[6] - apex[6])

    orbit = cs.find_periodic_orbit(slip, guess, 0.837, section=family, symmetry=brought_back)
    assert orbit.residual < ORBIT and not orbit.stable
    assert orbit.period == pytest.approx(0.836957108399169, abs=1e-9)
    published = np.linalg.eigvals([[4.139099450171836, -0.810450497065105], [-0.161288837033532, 1.041641438960376]])
    assert np.abs(orbit.multipliers - published.max()).min() < 1e-6


# --- the motion ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FAMILY)
def test_energy_and_symmetry_along_a_hundred_strides(name: str) -> None:
    slip = springs(name)
    traj = cs.simulate(slip, slip.initial_state(), (0.0, 100.0), max_events=401)
    assert len(traj.events) == 401 and traj.status is cs.Status.TOO_MANY_EVENTS
    energy = slip.auxiliary(traj)["energy"]
    assert np.ptp(energy) / energy[0] < ENERGY
    apices = np.array([event.x_post for event in traj.events if event.fired == {"apex"}])
    assert len(apices) == 100
    np.testing.assert_allclose(apices[:, [1, 2, 6]], np.tile(apices[0, [1, 2, 6]], (100, 1)), rtol=0, atol=SYMMETRY)
    for liftoff, touchdown in zip(traj.events[0::4], traj.events[2::4], strict=False):
        np.testing.assert_allclose(touchdown.x_pre[[1, 2]], liftoff.x_pre[[1, 2]], rtol=0, atol=SYMMETRY)
        assert touchdown.x_pre[3] == pytest.approx(-liftoff.x_pre[3], abs=SYMMETRY)


def polar(slip: Slip, x: np.ndarray, span: tuple[float, float]) -> np.ndarray:
    """Stance in polar coordinates about the foot, by another method: r'' = r w^2 - g cos(th) - U'(r) / m."""
    p = slip.parameters
    i, j = p.spri, p.sprj

    def force(r: float) -> float:  # -U', from the formula of the energy by hand
        inner = -np.sign(j) * (r**j - p.q_0**j)
        return p.k / abs(i * j) * i * inner ** (i - 1) * np.sign(j) * j * r ** (j - 1)

    def rate(t: float, y: np.ndarray) -> list[float]:
        r, angle, speed, turn = y
        return [
            speed,
            turn,
            r * turn**2 - p.g_stance * np.cos(angle) + force(r) / p.body_mass,
            (p.g_stance * np.sin(angle) - 2.0 * speed * turn) / r,
        ]

    leg = x[:2] - x[4:6]
    r, angle = np.hypot(*leg), np.arctan2(*leg)
    begin = [r, angle, leg @ x[2:4] / r, (leg[1] * x[2] - leg[0] * x[3]) / r**2]
    solution = solve_ivp(rate, span, begin, method="LSODA", rtol=1e-12, atol=1e-13)
    r, angle, speed, turn = solution.y[:, -1]
    s, c = np.sin(angle), np.cos(angle)
    return np.array([x[4] + r * s, x[5] + r * c, speed * s + r * turn * c, speed * c - r * turn * s])


@pytest.mark.parametrize("name", FAMILY)
def test_each_phase_against_another_method(name: str) -> None:
    slip = springs(name)
    traj = cs.simulate(slip, mid_flight(slip), (0.0, 1.5))
    assert {arc.mode for arc in traj.arcs} == set(CHARTS)
    for arc in traj.arcs:
        x, t = arc(arc.t0), arc.t1 - arc.t0
        if arc.mode in ("ascent", "descent"):
            fall = np.array([0.0, 10.0])
            expected = np.concatenate([x[:2] + t * x[2:4] - 0.5 * t**2 * fall, x[2:4] - t * fall])
        else:
            expected = polar(slip, x, (arc.t0, arc.t1))
        np.testing.assert_allclose(arc(arc.t1)[:4], expected, rtol=0, atol=PHASE)


def test_gravity_of_stance_and_of_flight_are_two() -> None:
    slip = Slip(g_stance=4.0, g_flight=6.0)
    x = slip.initial_state()
    assert slip.field(0.0, x, "ascent")[3] == -6.0
    heavier = Slip(g_stance=9.0, g_flight=6.0)
    assert slip.field(0.0, x, "compression")[3] - heavier.field(0.0, x, "compression")[3] == pytest.approx(5.0)


def test_the_same_run_with_rk4() -> None:
    slip = Slip()
    fine = cs.simulate(slip, slip.initial_state(), (0.0, 2.0), tolerances=TIGHT)
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        run = cs.simulate(
            slip, slip.initial_state(), (0.0, 2.0), integrator="RK4", tolerances=cs.Tolerances(max_step=step)
        )
        assert len(run.events) == len(fine.events)
        errors.append(np.max(np.abs(run.final - fine.final)))
    order = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all(order > 3.7), (errors, order)  # fourth order, through 15 events


# --- derivatives --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("chart", CHARTS)
def test_jacobians_against_differences(name: str, chart: str) -> None:
    slip = springs(name)
    x = np.array([0.4, 0.93, 1.1, -0.6, 0.45, 0.02, 0.13])
    report = cs.check_jacobians(slip, 0.0, x, chart, limit=JACOBIAN)
    (boundary,) = (b.name for b in slip.boundaries(chart))
    assert set(report) == {"field", f"guard {boundary}", f"reset {boundary}"}


@pytest.mark.parametrize("name", FAMILY)
def test_energy_slope_and_curvature_of_the_spring(name: str) -> None:
    slip, r, h = springs(name), 0.9, 1e-5
    slope = (slip.energy_of_spring(r + h) - slip.energy_of_spring(r - h)) / (2 * h)
    curvature = (slip.slope(r + h) - slip.slope(r - h)) / (2 * h)
    assert slip.slope(r) == pytest.approx(slope, rel=1e-7)
    assert slip.curvature(r) == pytest.approx(curvature, rel=1e-7)
    assert slip.energy_of_spring(1.0) == 0.0


@pytest.mark.parametrize("policy", ["neutral", "constant"])
def test_derivative_of_a_stride_against_differences(policy: str) -> None:
    slip = Slip(policy=policy)
    x, span = mid_flight(slip), (0.0, 0.6)
    traj = cs.simulate(slip, x, span, tolerances=TIGHT)
    assert len(traj.events) == 4
    matrix = cs.linearize(traj).matrix()
    h = 1e-5

    def final(moved: np.ndarray, model: Slip = slip) -> np.ndarray:
        return cs.simulate(model, moved, span, tolerances=TIGHT).final

    columns = [(final(x + h * e) - final(x - h * e)) / (2 * h) for e in np.eye(7)]
    scale = np.max(np.abs(matrix))
    np.testing.assert_allclose(matrix, np.transpose(columns), rtol=0, atol=DIFFERENCES * scale)


@pytest.mark.parametrize("name", ["k", "body_mass", "q_rt", "q_rl", "g_stance", "g_flight", "q_0", "sprj"])
def test_derivative_by_a_parameter_against_differences(name: str) -> None:
    slip = Slip(q_0=1.02)
    x = mid_flight(slip)
    traj = cs.simulate(slip, x, (0.0, 0.6), tolerances=TIGHT)
    given = cs.linearize(traj).parameter(name)
    h = 1e-5 * max(1.0, abs(slip.parameter(name)))
    up, down = (
        cs.simulate(slip.with_parameter(name, slip.parameter(name) + s), x, (0.0, 0.6), tolerances=TIGHT).final
        for s in (h, -h)
    )
    expected = (up - down) / (2 * h)
    np.testing.assert_allclose(given, expected, rtol=0, atol=DIFFERENCES * max(1.0, np.max(np.abs(expected))))


# --- where a run starts and where it stops ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("values", "chart"),
    [
        ({"y": 0.9, "ydot": 0.0}, "decompression"),
        ({"y": 0.9, "ydot": -0.1}, "compression"),
        ({"y": 1.2, "ydot": 0.1}, "ascent"),
        ({"y": 1.2, "ydot": 0.0}, "descent"),
        ({"x": 5.0, "y": 0.9, "xdot": 1.0, "touchdown_angle": 0.2}, "compression"),  # from the origin: decompression
        ({"x": -5.0, "y": 0.9, "xdot": 1.0, "touchdown_angle": -0.2}, "decompression"),
    ],
)
def test_initial_partition(values: dict[str, float], chart: str) -> None:
    slip = Slip()
    start = slip.start(0.0, slip.initial_state(**values))
    assert start.mode == chart
    if chart in ("compression", "decompression"):
        x = start.x
        assert np.arctan2(x[4] - x[0], x[1]) == pytest.approx(x[6], abs=1e-15) and x[5] == 0.0


def test_a_run_goes_on_from_mid_stance() -> None:
    slip = Slip()
    whole = cs.simulate(slip, mid_flight(slip), (0.0, 1.0), tolerances=TIGHT)
    middle = next(arc for arc in whole.arcs if arc.mode == "compression")
    t = middle.t0 + 0.4 * (middle.t1 - middle.t0)
    rest = cs.simulate(slip, whole(t), (t, 1.0), tolerances=TIGHT)
    assert rest.arcs[0].mode == "compression"
    np.testing.assert_allclose(rest.final, whole.final, rtol=0, atol=1e-11)


def test_falling_over_ends_the_run_with_a_sentence() -> None:
    slip = Slip(k=30.0)
    traj = cs.simulate(slip, slip.initial_state(y=1.1, xdot=3.0, touchdown_angle=0.3), (0.0, 10.0))
    assert traj.status is cs.Status.INVALID_STATE
    assert "toppled over" in traj.message and f"chart {traj.arcs[-1].mode}" in traj.message
    assert traj.x[-1, 1] < 0.0 and np.all(traj.x[:-1, 1] >= 0.0)


def test_a_foot_that_cannot_hold_ends_the_run_with_a_sentence() -> None:
    slip = Slip(policy="constant")
    traj = cs.simulate(slip, slip.initial_state(y=1.1, xdot=6.0, touchdown_angle=-0.3), (0.0, 10.0))
    assert traj.status is cs.Status.INVALID_STATE and not traj.events
    assert "lengthens at touchdown" in traj.message and "chart descent" in traj.message
    kept = slip.initial_state(y=1.1, xdot=6.0, touchdown_angle=-0.3)
    longer = cs.simulate(slip.with_parameter("q_rl", 1.05), kept, (0.0, 0.5))  # here the leg may lengthen further
    assert [event.mode_post for event in longer.events[:3]] == ["compression", "decompression", "ascent"]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"y": -0.1}, "toppled over"),
        ({"y": 0.9, "footx": 3.0}, "no longer than q_rl = 1 m"),
        ({"z": 0.9}, "unknown key"),
        ({"y": "high"}, "give a number"),
    ],
)
def test_starts_that_are_refused(values: dict, sentence: str) -> None:
    slip = Slip()
    with pytest.raises(cs.InputError, match=sentence):
        cs.simulate(slip, slip.initial_state(**values), (0.0, 1.0))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"body_mass": 0.0}, "body_mass is 0.0; give a number greater than 0"),
        ({"stiffness": 1.0}, "stiffness: unknown key"),
        ({"sprj": 0.0}, "sprj is 0"),
        ({"spri": 1.5}, "spri is no whole number"),
        ({"policy": "optimal"}, "'neutral' or 'constant'"),
    ],
)
def test_parameters_that_are_refused(parameters: dict, sentence: str) -> None:
    with pytest.raises(cs.InputError, match=sentence):
        cs.load_model("slip", **parameters)


def test_setting_a_parameter_in_a_run() -> None:
    simulation = cs.Simulation(Slip(), Slip().initial_state())
    simulation.advance(0.05)
    simulation.set("k", 1500.0)
    simulation.advance(1.0)
    traj = simulation.trajectory
    assert traj.status is cs.Status.FINISHED and traj.arcs[-1].system.parameter("k") == 1500.0
    assert {"chart"} < {name for event in traj.events for name in event.transitions}


def test_stored_and_loaded(tmp_path: Path) -> None:
    slip = Slip()
    traj = cs.simulate(slip, slip.initial_state(), (0.0, 1.0))
    back = cs.Trajectory.load(traj.save(tmp_path / "run.nc"), system=slip)
    np.testing.assert_allclose(back(0.3), traj(0.3), rtol=0, atol=1e-12)
    np.testing.assert_allclose(slip.auxiliary(back)["energy"], slip.auxiliary(traj)["energy"], rtol=1e-12)
