"""Radau9: order, stiff problems with known solutions, dense output, and what it makes of a contact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import sphere
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.hybrid.integrators.collocation import MATRIX, NODES, STAGES
from contactsim.hybrid.integrators.radau9 import ESTIMATE, MODES, Radau9

Array = np.ndarray
FREQUENCY = 2.0  # of an oscillator, rad/s
RATE = 1e6  # at which a stiff problem falls back to its solution, 1/s
ROUNDING = 1e-12


def oscillator(t: float, y: Array) -> Array:
    return np.array([y[1], -(FREQUENCY**2) * y[0]])


def turn(t: float, y: Array) -> Array:
    return np.array([[0.0, 1.0], [-(FREQUENCY**2), 0.0]])


def test_modes_are_those_of_the_method() -> None:
    """W = V^-1 Z, a conjugate pair by one of them, and back again; A^-1 in between."""
    values = np.random.default_rng(1).normal(size=(STAGES, 3))
    found = (MODES.back @ (MODES.rates[:, None] * (MODES.into @ values))).real
    np.testing.assert_allclose(found, np.linalg.solve(MATRIX, values), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("power", range(1, STAGES + 2))
def test_the_estimate_is_of_the_order_of_the_stages(power: int) -> None:
    """y' = t^(power - 1): what the estimate gives vanishes up to the order s, and not beyond it."""
    rates = NODES ** (power - 1)
    start = 1.0 if power == 1 else 0.0
    estimate = start / MODES.rates[0].real + ESTIMATE @ (MATRIX @ rates)
    assert (abs(estimate) < ROUNDING) == (power <= STAGES)


def test_order() -> None:
    """Errors of fixed steps fall as h^9."""
    exact = np.array([np.cos(FREQUENCY * 2.0), -FREQUENCY * np.sin(FREQUENCY * 2.0)])
    errors = []
    for steps in (4, 8):
        h = 2.0 / steps
        loose: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-3, "max_step": h, "first_step": h}
        done = solve_ivp(oscillator, (0.0, 2.0), [1.0, 0.0], method=Radau9, jac=turn, **loose)
        assert len(done.t) == steps + 1
        errors.append(float(np.abs(done.y[:, -1] - exact).max()))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(9.0, abs=0.5)


@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-11])
def test_a_stiff_problem_with_a_smooth_solution(rtol: float) -> None:
    """Prothero and Robinson: y' = -a (y - sin t) + cos t; explicit methods need a T / 3 steps."""
    done = solve_ivp(
        lambda t, y: -RATE * (y - np.sin(t)) + np.cos(t),
        (0.0, 5.0),
        [0.0],
        method=Radau9,
        jac=lambda t, y: [[-RATE]],
        rtol=rtol,
        atol=rtol,
        dense_output=True,
    )
    times = np.linspace(0.0, 5.0, 301)
    assert np.abs(done.sol(times)[0] - np.sin(times)).max() < 10.0 * rtol
    assert len(done.t) < 150


def test_dense_output_keeps_the_tolerance() -> None:
    times = np.linspace(0.0, 20.0, 1001)
    done = solve_ivp(oscillator, (0.0, 20.0), [1.0, 0.0], method=Radau9, rtol=1e-9, atol=1e-9, dense_output=True)
    exact = np.array([np.cos(FREQUENCY * times), -FREQUENCY * np.sin(FREQUENCY * times)])
    assert np.abs(done.sol(times) - exact).max() < 20.0 * 2.0 * 1e-9  # errors per unit step, over 20 s


def test_a_trial_step_into_the_void_is_shortened() -> None:
    """y' = -1 / (2 y), y = sqrt(1 - t): stages beyond y = 0 are no numbers."""
    with np.errstate(invalid="ignore"):
        done = solve_ivp(
            lambda t, y: np.where(y > 0.0, -0.5 / y, np.nan), (0.0, 0.99), [1.0], method=Radau9, first_step=0.9
        )
    assert done.success
    assert done.y[0, -1] == pytest.approx(0.1, abs=1e-2)


def test_a_long_step_is_cut_at_the_limit() -> None:
    done = solve_ivp(oscillator, (0.0, 1.0), [1.0, 0.0], method=Radau9, max_step=0.03, rtol=1e-3)
    assert np.diff(done.t).max() <= 0.03 * (1.0 + ROUNDING)


def test_back_in_time() -> None:
    done = solve_ivp(oscillator, (1.0, 0.0), [np.cos(2.0), -2.0 * np.sin(2.0)], method=Radau9, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(done.y[:, -1], [1.0, 0.0], atol=1e-8)


def test_a_creeping_contact_takes_few_steps() -> None:
    """A sphere on a slope creeps under regularised friction; an explicit method is held to mu g / v_s a second."""
    robot = sphere()
    system = cs.ContactSystem(robot, law="spring-damper")
    assert system.preferred_integrator == "Radau9"
    q = robot.nominal.copy()
    q[2] += 0.01
    runs = {name: cs.simulate(system, cs.State(q, [0.3, 0, 0, 0, 0, 0]), (0.0, 0.5), integrator=name)
            for name in ("Radau9", "Radau")}  # fmt: skip
    steps = {name: sum(len(arc.segments) for arc in run.arcs) for name, run in runs.items()}
    assert steps["Radau9"] < 0.5 * steps["Radau"]
    np.testing.assert_allclose(runs["Radau9"].final_x, runs["Radau"].final_x, atol=1e-6)


def test_a_decay_that_slows_down_is_followed_in_few_iterations() -> None:
    """y' = -(p / t) (y - sin t) + cos t, as of a slip that speeds up; y = sin t."""
    decay, start, end = 300.0, 1e-6, 1.0

    def rate(t: float, y: Array) -> Array:
        return -decay / t * (y - np.sin(t)) + np.cos(t)

    def run(grows: bool) -> tuple[int, int]:
        tight: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12, "first_step": 1e-7}
        solver = Radau9(rate, start, np.sin([start]), end, jac=lambda t, y: np.array([[-decay / t]]), **tight)
        steps = 0
        while solver.status == "running":
            solver.growth = 1.0 / solver.t if grows else 0.0
            solver.step()
            steps += 1
        assert solver.y[0] == pytest.approx(np.sin(end), abs=1e-10)
        return solver.nfev, steps

    (evaluations, steps), (before, many) = run(True), run(False)
    assert evaluations < 0.4 * before and steps < 0.6 * many
