"""General hybrid systems by name: schema, charts of different size, bookkeeping, validation, records, RK4."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import Field
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.common import registry
from contactsim.hybrid.integrators import method
from contactsim.hybrid.integrators.rk4 import RK4

# --- tolerances ---------------------------------------------------------------------------------------------------
EVENT_TIME = 1e-12  # s, events of polynomials
STATE = 1e-11  # m, m/s, states of polynomials
DIFFERENCES = 1e-6  # relative: derivatives against central differences of runs
ORDER = 3.8  # slope of log(error) over log(step) of RK4, and of its dense output
CUBIC = 1e-13  # rounding of a cubic that is interpolated by a cubic


class HopperParameters(cs.ModelParameters):
    gravity: float = Field(10.0, gt=0.0, description="gravity [m/s^2]")
    ceiling: float = Field(2.0, description="height above which a warning is due [m]")
    floor: float = Field(-5.0, description="height of the ground [m]")
    ground: str = Field("sand", description="what the ball lands in")


class HopperState(cs.ModelState):
    y: float = Field(1.0, description="height [m]")
    ydot: float = Field(0.0, description="speed [m/s]")
    landings: float = Field(0.0, description="number of landings")


class Hopper(cs.Model):
    """Flies as (y, y', landings), and after a landing rests for 0.3 s as (end, landings) before it jumps with 3 m/s."""

    Parameters = HopperParameters
    State = HopperState
    bookkeeping = ("landings",)
    preferred_integrator = "RK45"
    preferred_tolerances = cs.Tolerances(rtol=1e-7)

    def field(self, t: float, x: np.ndarray, chart: Hashable) -> np.ndarray:
        return np.array([x[1], -self.parameters.gravity]) if chart == "air" else np.zeros(2)

    def jacobian(self, t: float, x: np.ndarray, chart: Hashable) -> np.ndarray:
        return np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]) if chart == "air" else np.zeros((2, 2))

    def boundaries(self, chart: Hashable) -> Sequence[cs.Boundary]:
        if chart == "air":
            return (cs.Boundary("ground", lambda t, x: x[0], 0.5, gradient=lambda t, x: np.eye(3)[0]),)
        return (cs.Boundary("rested", lambda t, x: t - x[0], side="below"),)

    def reset(self, t: float, x: np.ndarray, chart: Hashable, fired: frozenset) -> cs.Transition:
        if chart == "air":
            return cs.Transition(np.array([t + 0.3, x[2] + 1.0]), "sand")
        return cs.Transition(np.array([0.5, 3.0, x[1]]), "air")

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, "air")

    def validate(self, t: float, x: np.ndarray, chart: Hashable) -> Sequence[cs.Finding]:
        if chart != "air":
            return ()
        high = [cs.Finding("the ball is above the ceiling")] if x[0] > self.parameters.ceiling else []
        low = [cs.Finding("the ball is below the floor", fatal=True)] if x[0] < self.parameters.floor else []
        return high + low

    def record(self, t: float, x: np.ndarray, chart: Hashable) -> Mapping[str, float]:
        return {"time": t, "height": x[0] if chart == "air" else 0.5, "landings": x[-1]}


# --- what the engine makes of a model -----------------------------------------------------------------------------
def test_charts_of_different_size() -> None:
    traj = cs.simulate(Hopper(), Hopper().initial_state(y=1.0), (0.0, 2.0))
    fall = np.sqrt(0.1)
    times = [fall, fall + 0.3, fall + 0.9, fall + 1.2, fall + 1.8]
    np.testing.assert_allclose([event.time for event in traj.events[:4]], times[:4], rtol=0, atol=EVENT_TIME)
    assert [event.fired for event in traj.events[:2]] == [{"ground"}, {"rested"}]
    assert [len(arc(arc.t0)) for arc in traj.arcs] == [3, 2, 3, 2, 3]
    assert traj.x.shape == (len(traj.t), 3)
    t = 2.0 - times[3]
    np.testing.assert_allclose(traj.final, [0.5 + 3.0 * t - 5.0 * t**2, 3.0 - 10.0 * t, 2.0], rtol=0, atol=STATE)
    assert traj.events[0].transitions == {"chart": ("air", "sand")}


def test_auxiliary_functions_along_a_run() -> None:
    model = Hopper()
    traj = cs.simulate(model, model.initial_state(), (0.0, 1.5))
    record = model.auxiliary(traj)
    assert set(record) == {"time", "height", "landings"}
    np.testing.assert_array_equal(record["time"], traj.t)
    assert np.all(np.diff(record["landings"]) >= 0.0) and record["landings"][-1] == 2.0
    at = model.auxiliary(traj, times=[0.1, traj.events[0].time])
    np.testing.assert_allclose(at["height"], [0.95, 0.5], rtol=0, atol=STATE)
    assert list(at["landings"]) == [0.0, 1.0]


def test_linearization_through_charts_of_different_size() -> None:
    model = Hopper()
    x, span = model.initial_state(y=1.0, ydot=0.2), (0.0, 0.9)
    lin = cs.linearize(cs.simulate(model, x, span))
    assert lin.events[0].saltation.shape == (2, 3) and lin.events[1].saltation.shape == (3, 2)
    moved = [[cs.simulate(model, x + s * e, span).final for s in (1e-5, -1e-5)] for e in np.eye(3)]
    columns = [(up - down) / 2e-5 for up, down in moved]
    np.testing.assert_allclose(lin.matrix(), np.transpose(columns), rtol=0, atol=DIFFERENCES)
    up, down = (cs.simulate(Hopper(gravity=10.0 + h), x, span).final for h in (1e-4, -1e-4))
    np.testing.assert_allclose(lin.parameter("gravity"), (up - down) / 2e-4, rtol=0, atol=DIFFERENCES)


def test_derivatives_of_a_chart_in_closed_form() -> None:
    model = Hopper()
    x = model.initial_state(y=1.0, ydot=0.2)
    flying = cs.simulate(model, x, (0.0, 0.3))
    np.testing.assert_allclose(
        cs.linearize(flying).matrix(), [[1, 0.3, 0], [0, 1, 0], [0, 0, 1]], rtol=0, atol=DIFFERENCES
    )
    gravity = cs.linearize(flying).parameter("gravity")
    np.testing.assert_allclose(gravity, [-0.045, -0.3, 0.0], rtol=0, atol=DIFFERENCES)


def test_warnings_are_notes_and_each_is_noted_once() -> None:
    model = Hopper(ceiling=0.9)
    traj = cs.simulate(
        model, model.initial_state(y=0.95, ydot=2.0), (0.0, 1.9), tolerances=cs.Tolerances(max_step=0.01)
    )
    assert traj.status is cs.Status.FINISHED
    (note,) = traj.notes
    assert note.startswith("the ball is above the ceiling (chart air, t = 0")


def test_an_error_ends_the_run_at_the_end_of_a_step() -> None:
    model = Hopper(floor=0.7)
    traj = cs.simulate(model, model.initial_state(), (0.0, 1.0), tolerances=cs.Tolerances(max_step=0.01))
    assert traj.status is cs.Status.INVALID_STATE and not traj.events
    assert "below the floor (chart air, t = " in traj.message and "change the start" in traj.message
    assert np.sqrt(0.06) < traj.t[-1] < np.sqrt(0.06) + 0.011


def test_an_error_after_a_transition_and_at_the_start() -> None:
    model = Hopper(floor=0.6)  # the jump begins at 0.5
    traj = cs.simulate(model, model.initial_state(), (0.0, 1.0), tolerances=cs.Tolerances(max_step=10.0, rtol=1e-3))
    assert traj.status is cs.Status.INVALID_STATE
    with pytest.raises(cs.InputError, match=r"cannot start at t = 0 s in chart air: the ball is below the floor"):
        cs.simulate(model, model.initial_state(y=0.55), (0.0, 1.0))


class Clockwork(cs.Model):
    """x' = the chart, which doubles each half second."""

    class State(cs.ModelState):
        x: float = 0.0

    def field(self, t: float, x: np.ndarray, chart: Hashable) -> np.ndarray:
        return np.array([chart], dtype=float)

    def boundaries(self, chart: Hashable) -> Sequence[cs.Boundary]:
        return ()

    def next_time(self, t: float, chart: Hashable) -> float:
        return 0.5 * (np.floor(2.0 * t) + 1.0)

    def reset(self, t: float, x: np.ndarray, chart: Hashable, fired: frozenset) -> cs.Transition:
        assert fired == {"clock"}
        return cs.Transition(x, 2 * int(chart))  # type: ignore[call-overload]

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, 1)


def test_a_chart_that_ends_by_the_clock() -> None:
    traj = cs.simulate(Clockwork(), [0.0], (0.0, 1.25))
    assert [event.time for event in traj.events] == [0.5, 1.0]
    np.testing.assert_allclose(traj.final, [0.5 + 1.0 + 1.0], rtol=0, atol=STATE)
    assert Clockwork().auxiliary(traj)["x"][-1] == traj.final[0]  # without `record`: the time and the states


class Switch(cs.Model):
    """x' = 1 in "slow", -1 in "fast"; entering "fast" puts x below a boundary of it, which fires before validation."""

    class State(cs.ModelState):
        x: float = 0.0

    def field(self, t: float, x: np.ndarray, chart: Hashable) -> np.ndarray:
        return np.array([-1.0 if chart == "fast" else 1.0])

    def boundaries(self, chart: Hashable) -> Sequence[cs.Boundary]:
        sides = {"slow": ("up", 1.0, "below"), "fast": ("down", 2.0, "above"), "end": ("never", 9.0, "below")}
        name, target, side = sides[str(chart)]
        return (cs.Boundary(name, lambda t, x: x[0], target, side, gradient=lambda t, x: np.ones(1)),)

    def reset(self, t: float, x: np.ndarray, chart: Hashable, fired: frozenset) -> cs.Transition:
        return cs.Transition(x, "fast" if chart == "slow" else "end", changes={} if chart == "slow" else {"x": (0, 1)})

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, "slow")

    def validate(self, t: float, x: np.ndarray, chart: Hashable) -> Sequence[cs.Finding]:
        return (cs.Finding("x is too small for it", fatal=True),) if chart == "fast" and x[0] < 2.0 else ()


def test_boundaries_that_jumped_fire_before_the_chart_is_validated() -> None:
    traj = cs.simulate(Switch(), [0.0], (0.0, 2.0))
    assert traj.status is cs.Status.FINISHED
    assert [event.mode_post for event in traj.all_events] == ["fast", "end"]
    assert [event.fired for event in traj.events] == [{"down"}]  # changes={} hides the first
    assert traj.all_events[0].time == traj.all_events[1].time == pytest.approx(1.0, abs=EVENT_TIME)
    assert traj.notes == ("chart fast was entered beyond 'down' (by 1), which fires at once (t = 1 s)",)
    assert cs.check_jacobians(Switch(), 0.0, [0.3]) == {"guard up": pytest.approx(0.0, abs=1e-12)}


def test_a_transition_without_a_valid_chart_ends_the_run() -> None:
    class Trap(Switch):
        def reset(self, t: float, x: np.ndarray, chart: Hashable, fired: frozenset) -> cs.Transition:
            raise cs.InvalidStateError("there is no way on from the trap")

    traj = cs.simulate(Trap(), [0.0], (0.0, 2.0))
    assert traj.status is cs.Status.INVALID_STATE and "no way on" in traj.message
    assert traj.t[-1] == pytest.approx(1.0, abs=EVENT_TIME)


def test_preferences_hold_where_the_user_says_nothing() -> None:
    model = Hopper()
    assert cs.Simulation(model, model.initial_state()).tolerances is Hopper.preferred_tolerances
    mine = cs.Tolerances(rtol=1e-5)
    assert cs.Simulation(model, model.initial_state(), tolerances=mine).tolerances is mine
    x, span = Switch().initial_state(), (0.0, 0.5)
    assert cs.simulate(Switch(), x, span).evaluations == cs.simulate(Switch(), x, span, integrator="DOP853").evaluations
    fly = (0.0, 0.3)
    default, same, other = (
        cs.simulate(model, model.initial_state(), fly, integrator=name).evaluations for name in (None, "RK45", "DOP853")
    )
    assert default == same != other


# --- parameters and states by name --------------------------------------------------------------------------------
def test_parameters_by_name() -> None:
    model = Hopper(gravity=5.0)
    assert model.parameter("gravity") == 5.0
    lighter = model.with_parameter("gravity", 1.5)
    assert (lighter.parameter("gravity"), model.parameter("gravity")) == (1.5, 5.0)
    assert lighter.parameters.ground == "sand"
    assert model.with_parameter("gravity", 1.5) is lighter  # a derivative asks for the same copies again and again
    with pytest.raises(cs.InputError, match="no parameter 'mass'; it has gravity, ceiling, floor, ground"):
        model.parameter("mass")
    with pytest.raises(cs.InputError, match="no parameter 'mass'"):
        model.with_parameter("mass", 1.0)
    with pytest.raises(cs.InputError, match="'sand', not a number"):
        model.parameter("ground")
    with pytest.raises(cs.InputError, match=r"gravity is .*; give a number greater than 0"):
        model.with_parameter("gravity", -1.0)
    with pytest.raises(cs.InputError, match=r"cannot be \[1\]; give a number or a text"):
        model.with_parameter("gravity", [1])
    with pytest.raises(cs.InputError, match="gravity is nan; give a finite number"):
        Hopper(gravity=float("nan"))


def test_states_by_name() -> None:
    model = Hopper()
    np.testing.assert_array_equal(model.initial_state(ydot=2.0), [1.0, 2.0, 0.0])
    with pytest.raises(cs.InputError, match="speed: unknown key"):
        model.initial_state(speed=2.0)
    with pytest.raises(cs.InputError, match=r"has 3 numbers \(y, ydot, landings\), but shape \(2,\)"):
        cs.simulate(model, [1.0, 0.0], (0.0, 1.0))
    with pytest.raises(cs.InputError, match="not finite in ydot"):
        cs.simulate(model, [1.0, np.nan, 0.0], (0.0, 1.0))


def test_boundaries_that_make_no_sense() -> None:
    with pytest.raises(cs.InputError, match="'left'; give 'above' or 'below'"):
        cs.Boundary("b", lambda t, x: x[0], side="left")

    class Twice(Switch):
        def boundaries(self, chart: Hashable) -> Sequence[cs.Boundary]:
            return 2 * super().boundaries(chart)

    with pytest.raises(cs.PluginError, match="names a boundary twice"):
        cs.simulate(Twice(), [0.0], (0.0, 1.0))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: None, "returns NoneType"),
        (lambda: [1.0], "returns a list with float"),
        (lambda: [][0], "fails with IndexError: list index out of range"),
    ],
)
def test_boundaries_that_are_none(given: Callable[[], Any], said: str) -> None:
    class Odd(Switch):
        def boundaries(self, chart: Hashable) -> Any:
            return given()

    with pytest.raises(cs.PluginError, match=rf"boundaries\('slow'\) of Odd {said}"):
        cs.simulate(Odd(), [0.0], (0.0, 1.0))


def test_rounding_and_band_of_boundaries() -> None:
    class Soft(Switch):
        def boundaries(self, chart: Hashable) -> Sequence[cs.Boundary]:
            plain = cs.Boundary("b", lambda t, x: x[0], smooth=False)
            return plain, cs.Boundary("c", lambda t, x: x[0], rounding=1e-6, band=1e-3)

    flow = Soft().flow("slow")
    np.testing.assert_array_equal(flow.guard_smooth, [False, True])
    np.testing.assert_array_equal(flow.guard_rounding, [cs.Tolerances.rearm, 1e-6])
    np.testing.assert_array_equal(flow.guard_bands, [cs.Tolerances.jump, 1e-3])
    assert Switch().flow("slow").guard_smooth is None
    assert flow.guard_jacobian(0.0, np.zeros(1), ("b",)) is None


def test_a_wrong_derivative_is_found() -> None:
    class Wrong(Hopper):
        def jacobian(self, t: float, x: np.ndarray, chart: Hashable) -> np.ndarray:
            return np.ones((2, 3))

        def reset(self, t: float, x: np.ndarray, chart: Hashable, fired: frozenset) -> cs.Transition:
            return cs.Transition(np.array([t + 0.3, x[2]]), "sand", derivative=lambda: np.ones((2, 3)))

    with pytest.raises(cs.CheckError, match="field by 1; reset ground by 1"):
        cs.check_jacobians(Wrong(), 0.0, Hopper().initial_state())


# --- by name ------------------------------------------------------------------------------------------------------
def test_models_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(cs.load_model("slip", k=1200.0), cs.Model)
    with pytest.raises(cs.PluginError, match="no plugin 'slap'"):
        cs.load_model("slap")
    monkeypatch.setattr(registry, "load", lambda group, name: print)
    with pytest.raises(cs.PluginError, match="let it name a subclass of Model"):
        cs.load_model("slip")


def test_a_loaded_run_evaluates_its_functions(tmp_path: Path) -> None:
    model = Hopper()
    traj = cs.simulate(model, model.initial_state(), (0.0, 1.5))
    back = cs.Trajectory.load(traj.save(tmp_path / "run.nc"), system=model)
    for name, values in model.auxiliary(traj).items():
        np.testing.assert_allclose(model.auxiliary(back)[name], values, rtol=0, atol=STATE)


# --- RK4 ----------------------------------------------------------------------------------------------------------
def pendulum(t: float, y: np.ndarray) -> np.ndarray:
    return np.array([y[1], -np.sin(y[0]) + 0.1 * t])


def test_rk4_is_of_fourth_order_with_its_dense_output() -> None:
    reference = solve_ivp(pendulum, (0.0, 2.0), [1.0, 0.3], method="DOP853", rtol=1e-13, atol=1e-14, dense_output=True)
    grid = np.linspace(0.0, 2.0, 301)
    errors = []
    for step in (0.1, 0.05, 0.025):
        run = solve_ivp(pendulum, (0.0, 2.0), [1.0, 0.3], method=RK4, max_step=step, dense_output=True)
        assert run.status == 0 and len(run.t) == round(2.0 / step) + 1
        np.testing.assert_allclose(np.diff(run.t), step, rtol=1e-12)
        np.testing.assert_allclose(run.sol(grid)[:, 7], run.sol(grid[7]), rtol=1e-15)
        errors.append(
            (np.abs(run.y[:, -1] - reference.y[:, -1]).max(), np.abs(run.sol(grid) - reference.sol(grid)).max())
        )
    assert np.all(np.log2(np.divide(errors[:-1], errors[1:])) > ORDER), errors


def test_rk4_takes_steps_of_max_step_and_meets_bounds_and_cubics() -> None:
    run = solve_ivp(lambda t, y: np.array([3.0 * t**2]), (1.0, 0.0), [1.0], method=RK4, max_step=0.3, dense_output=True)
    np.testing.assert_allclose(run.t, [1.0, 0.7, 0.4, 0.1, 0.0], rtol=0, atol=CUBIC)
    grid = np.linspace(0.0, 1.0, 40)
    np.testing.assert_allclose(run.sol(grid)[0], grid**3, rtol=0, atol=CUBIC)
    assert run.nfev == 1 + 4 * 4


def test_rk4_needs_a_step() -> None:
    assert method("RK4") is RK4
    with pytest.raises(cs.InputError, match=r"fixed step; give it as Tolerances\(max_step"):
        cs.simulate(Switch(), [0.0], (0.0, 2.0), integrator="RK4")
    with pytest.raises(cs.InputError, match="fixed step"):
        solve_ivp(pendulum, (0.0, 2.0), [1.0, 0.3], method=RK4)


def test_rk4_in_a_run_with_events(tmp_path: Path) -> None:
    model = Hopper()
    traj = cs.simulate(
        model, model.initial_state(), (0.0, 2.0), integrator="RK4", tolerances=cs.Tolerances(max_step=0.05)
    )
    assert traj.events[0].time == pytest.approx(np.sqrt(0.1), abs=EVENT_TIME)
    steps = [segment.t1 - segment.t0 for segment in traj.arcs[2].segments]
    np.testing.assert_allclose(steps[:-1], 0.05, rtol=1e-9)
    back = cs.Trajectory.load(traj.save(tmp_path / "run.nc"), system=model)
    np.testing.assert_allclose(back(0.2), traj(0.2), rtol=0, atol=STATE)
