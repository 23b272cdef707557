"""Parameters from measured runs: a ball that bounces and slides, a box that tumbles, and what cannot be told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from builders import sphere
from measured_runs import COEFFICIENTS, NOISE, Measured, ball, crate, leg
from scipy.optimize import least_squares

import contactsim as cs

Array = np.ndarray


@pytest.mark.parametrize(
    "case", [ball, pytest.param(crate, marks=pytest.mark.slow), pytest.param(leg, marks=pytest.mark.slow)]
)
def test_parameters_are_found_from_a_third_off(case: Callable[[], Measured]) -> None:
    """Friction, restitution and mass within four deviations, in far fewer runs than by finite differences."""
    known = case()
    fit = cs.fit(known.off(), known.names, *known.rows(), known.start)
    for name in known.names:
        assert abs(fit.values[name] - known.system.parameter(name)) <= 4.0 * fit.deviations[name]
    assert float(np.std(fit.residuals)) == pytest.approx(NOISE, rel=0.15)
    assert fit.runs <= 40
    assert not fit.unidentified


def test_parts_that_are_met_need_no_fit() -> None:
    """From the true values: a derivative in the first part, which tells no friction, and one of the whole."""
    known = ball()
    fit = cs.fit(known.system, known.names, *known.rows(), known.start)
    assert fit.derivatives <= 2
    found = cs.fit(known.off(), known.names, *known.rows(), known.start)
    for name in known.names:
        assert fit.values[name] == pytest.approx(found.values[name], abs=0.01 * found.deviations[name])


@pytest.mark.slow
@pytest.mark.parametrize("case", [ball, crate, leg])
def test_optimum_is_that_of_finite_differences(case: Callable[[], Measured]) -> None:
    """scipy, from beside it, with the same residuals: derivatives there vanish as well as differences tell."""
    known = case()
    times, rows = known.rows()
    space = known.system.space()

    def residuals(values: Array) -> Array:
        moved = known.system
        for name, value in zip(known.names, values, strict=True):
            moved = moved.with_parameter(name, float(value))
        run = cs.simulate(moved, known.start, (0.0, known.end))
        return np.concatenate([space.difference(run.arc_at(t)(t), z) for t, z in zip(times, rows, strict=True)])

    fit = cs.fit(known.off(), known.names, times, rows, known.start)
    beside = 1.01 * np.array([known.system.parameter(name) for name in known.names])
    found = least_squares(residuals, beside, diff_step=1e-6, x_scale="jac")
    np.testing.assert_allclose(list(fit.values.values()), found.x, rtol=1e-5)


def test_outputs_and_functions_will_do() -> None:
    """The place alone, in part not measured, of a ball that a function builds: its radius has no name in the engine."""

    def build(radius: float, restitution: float) -> cs.ContactSystem:
        return cs.ContactSystem(sphere(radius=radius, restitution=restitution))

    start, times = cs.State([0, 0, 0.5, 0, 0, 0, 1.0], np.zeros(6)), np.linspace(0.05, 0.6, 20)
    run = cs.simulate(build(0.1, 0.5), start, (0.0, 0.6))
    places = np.array([run(t).q[:3] for t in times])
    places[3, 1] = np.nan
    fit = cs.fit(
        build, ["radius", "restitution"], times, places, start, start=[0.12, 0.4], output=lambda state: state.q[:3]
    )
    assert list(fit.values.values()) == pytest.approx([0.1, 0.5], abs=1e-6)


def test_what_cannot_be_told_is_told() -> None:
    """Of a ball that falls, nobody sees the mass, nor the friction as long as it does not slip."""
    system = cs.ContactSystem(sphere(friction=0.5, restitution=0.5))
    start = cs.State([0, 0, 0.4, 0, 0, 0, 1.0], np.zeros(6))
    known = Measured(system, ["contact.friction", "contact.restitution", "body.ball.mass"], start, 0.4)
    fit = cs.fit(known.off(), known.names, *known.rows(12), start)
    assert fit.values["contact.restitution"] == pytest.approx(0.5, abs=1e-2)
    assert sorted(name for lost in fit.unidentified for name in lost) == ["body.ball.mass", "contact.friction"]
    assert np.isinf(fit.deviations["body.ball.mass"])
    assert "does not tell" in fit.message


def test_mistakes_are_told() -> None:
    system, _, start, _ = ball()
    with pytest.raises(cs.InputError, match=r"no parameter 'contact\.colour'"):
        cs.fit(system, ["contact.colour"], [0.1], [system.pack(start)], start)
    with pytest.raises(cs.InputError, match="give one for each of 2 times"):
        cs.fit(system, COEFFICIENTS, [0.1, 0.2], [system.pack(start)], start)
    with pytest.raises(cs.InputError, match=r"give start=\[\.\.\.\]"):
        cs.fit(lambda mu: system, COEFFICIENTS[:1], [0.1], [system.pack(start)], start)
    with pytest.raises(cs.InputError, match=r"give output=h\(state\)"):
        cs.fit(system, COEFFICIENTS, [0.1], [[1.0, 2.0]], start)
