"""Parameters from measured runs: a ball that bounces and slides, a box that tumbles, and what cannot be told."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from builders import box, sphere
from scipy.optimize import least_squares

import contactsim as cs
from contactsim.control.fit import variations_at

Array = np.ndarray
COEFFICIENTS = ["contact.friction", "contact.restitution"]
NOISE = 1e-3


def pushed(t: float, q: Array, v: Array) -> Array:
    """A force that is known, without which no mass is."""
    return np.array([1.0, 0.5, 0.0, 0.0, 0.0, 0.0])


def ball() -> tuple[cs.ContactSystem, cs.State, float]:
    """It falls with 2 m/s to the side, slips at two bounces, and is pushed."""
    system = cs.ContactSystem(sphere(friction=0.12, restitution=0.6), controller=pushed)
    return system, cs.State([0, 0, 0.4, 0, 0, 0, 1.0], [2.0, 0, 0, 0, 0, 0]), 0.65


def crate() -> tuple[cs.ContactSystem, cs.State, float]:
    system = cs.ContactSystem(box(friction=0.3, restitution=0.3), controller=pushed)
    turned = pin.Quaternion(pin.exp3(np.array([0.1, 0.2, 0.05]))).coeffs()
    return system, cs.State(np.r_[0, 0, 0.3, turned], [1.0, 0.3, 0, 0, 0, 0.5]), 0.4


def measured(system: cs.ContactSystem, start: cs.State, end: float, count: int = 30) -> tuple[Array, Array]:
    rng, space = np.random.default_rng(0), system.space()
    run, times = cs.simulate(system, start, (0.0, end)), np.linspace(0.02, end, count)
    rows = [space.integrate(run.arc_at(t)(t), NOISE * rng.normal(size=space.dim)) for t in times]
    return times, np.array(rows)


def off(system: cs.ContactSystem, names: list[str], by: tuple[float, ...] = (1.3, 0.7, 1.3)) -> cs.ContactSystem:
    for name, factor in zip(names, by, strict=False):
        system = system.with_parameter(name, factor * system.parameter(name))
    return system


def test_variations_by_parameters_are_those_of_the_linearization() -> None:
    system, start, end = ball()
    names = [*COEFFICIENTS, "body.ball.mass"]
    run = cs.simulate(system, start, (0.0, end))
    found = variations_at(run, names, np.array([0.1, 0.3, end]), cs.Tolerances(rtol=1e-7))[-1]
    lin = cs.linearize(run)
    np.testing.assert_allclose(found, np.transpose([lin.parameter(name) for name in names]), atol=1e-4)


@pytest.mark.parametrize(("case", "body"), [(ball, "ball"), pytest.param(crate, "box", marks=pytest.mark.slow)])
def test_parameters_are_found_from_a_third_off(case, body: str) -> None:  # type: ignore[no-untyped-def]
    """Friction, restitution and mass within four deviations, in far fewer runs than by finite differences."""
    system, start, end = case()
    names = [*COEFFICIENTS, f"body.{body}.mass"]
    times, rows = measured(system, start, end)
    fit = cs.fit(off(system, names), names, times, rows, start)
    for name in names:
        assert abs(fit.values[name] - system.parameter(name)) <= 4.0 * fit.deviations[name]
    assert float(np.std(fit.residuals)) == pytest.approx(NOISE, rel=0.15)
    assert fit.runs <= 40
    assert not fit.unidentified


@pytest.mark.slow
def test_optimum_is_that_of_finite_differences() -> None:
    system, start, end = ball()
    names, space = [*COEFFICIENTS, "body.ball.mass"], system.space()
    times, rows = measured(system, start, end)

    def residuals(values: Array) -> Array:
        moved = system
        for name, value in zip(names, values, strict=True):
            moved = moved.with_parameter(name, float(value))
        run = cs.simulate(moved, start, (0.0, end))
        return np.concatenate([space.difference(run.arc_at(t)(t), z) for t, z in zip(times, rows, strict=True)])

    fit = cs.fit(off(system, names), names, times, rows, start)
    found = least_squares(residuals, [0.121, 0.601, 1.01], diff_step=1e-6, x_scale="jac")
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
    names = ["contact.friction", "contact.restitution", "body.ball.mass"]
    times, rows = measured(system, start, 0.4, 12)
    fit = cs.fit(off(system, names), names, times, rows, start)
    assert fit.values["contact.restitution"] == pytest.approx(0.5, abs=1e-2)
    assert sorted(name for lost in fit.unidentified for name in lost) == ["body.ball.mass", "contact.friction"]
    assert np.isinf(fit.deviations["body.ball.mass"])
    assert "does not tell" in fit.message


def test_mistakes_are_told() -> None:
    system, start, _ = ball()
    with pytest.raises(cs.InputError, match=r"no parameter 'contact\.colour'"):
        cs.fit(system, ["contact.colour"], [0.1], [system.pack(start)], start)
    with pytest.raises(cs.InputError, match="give one for each of 2 times"):
        cs.fit(system, COEFFICIENTS, [0.1, 0.2], [system.pack(start)], start)
    with pytest.raises(cs.InputError, match=r"give start=\[\.\.\.\]"):
        cs.fit(lambda mu: system, COEFFICIENTS[:1], [0.1], [system.pack(start)], start)
    with pytest.raises(cs.InputError, match=r"give output=h\(state\)"):
        cs.fit(system, COEFFICIENTS, [0.1], [[1.0, 2.0]], start)
