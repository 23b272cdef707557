"""Orbits that move with a parameter: sensitivities, and derivatives of multipliers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from builders import G, back_to
from reference_systems import BallOnTable, compass_gait, compass_robot, compass_to_robot, later, robot_to_compass

import contactsim as cs

Array = np.ndarray
E, PACE = 0.5, 10.0  # restitution, and frequency of the table [Hz]
SLOW = G / PACE * (1.0 - E) / (2.0 * (1.0 + E))  # speed of the table at the impact of a bounce a period [m/s]
W = 2.0 * np.pi * PACE


@dataclass(frozen=True)
class Table(BallOnTable):
    """The table whose amplitude is a parameter."""

    def parameter(self, name: str) -> float:
        if name != "amplitude":
            raise cs.InputError(f"no parameter '{name}'; there is amplitude")
        return self.amplitude

    def parameter_scale(self, name: str) -> float:
        return 0.1 * self.parameter(name)

    def with_parameter(self, name: str, value: float) -> Table:
        return replace(self, amplitude=value)


def bounce(amplitude: float, since: float = 0.03) -> tuple[Array, float]:
    """State of the ball that bounces once a period, `since` [s] behind its impact, and the time of that."""
    hit = np.arccos(SLOW / (amplitude * W)) / W
    v = G / (2.0 * PACE)
    return np.array([amplitude * np.sin(W * hit) + v * since - 0.5 * G * since**2, v - G * since]), hit + since


def bouncing(amplitude: float) -> cs.PeriodicOrbit:
    x, t0 = bounce(amplitude)
    return cs.find_periodic_orbit(Table(E, amplitude, PACE), x, 1.0 / PACE, fixed_period=True, t0=t0)


def trace(amplitude: float) -> float:
    """mu_1 + mu_2 = 1 + e^2 - (1 + e)^2 A w^2 sin(w t) / g, with mu_1 mu_2 = e^2 (Holmes 1982, the exact map)."""
    sine = np.sqrt(1.0 - (SLOW / (amplitude * W)) ** 2)
    return 1.0 + E**2 - (1.0 + E) ** 2 * amplitude * W**2 * sine / G


def multipliers(amplitude: float) -> Array:
    return np.sort_complex(np.roots([1.0, -trace(amplitude), E**2]))


def test_bounce_moves_with_the_amplitude_of_the_table() -> None:
    """At a fixed time the ball is as far behind its impact as that comes earlier: dx0 = -x' dt + dz."""
    amplitude, h = 0.003, 1e-7
    orbit = bouncing(amplitude)
    t0 = orbit.t0

    def start(amplitude: float) -> Array:
        hit = np.arccos(SLOW / (amplitude * W)) / W
        return bounce(amplitude, t0 - hit)[0]

    dx, dT = orbit.sensitivity("amplitude")
    np.testing.assert_allclose(dx, (start(amplitude + h) - start(amplitude - h)) / (2.0 * h), rtol=1e-5)
    assert dT == 0.0


def test_multipliers_of_the_bounce_change_as_in_closed_form() -> None:
    amplitude, h = 0.003, 1e-7
    orbit = bouncing(amplitude)
    np.testing.assert_allclose(np.sort_complex(orbit.multipliers), multipliers(amplitude), atol=1e-8)
    found, error = orbit.multiplier_derivative("amplitude", with_error=True)
    exact = (multipliers(amplitude + h) - multipliers(amplitude - h)) / (2.0 * h)
    found = found[np.argsort(orbit.multipliers)]
    np.testing.assert_allclose(found, exact, rtol=1e-3)
    assert np.all(np.abs(found - exact) <= error + 1e-3)


# --- a walk -----------------------------------------------------------------------------------------------------------
def swapped(state: cs.State, system: cs.ContactSystem) -> cs.State:
    """The other leg as the stance leg, back at the place of the first."""
    slope = system.parameter("terrain.angle")
    return compass_to_robot(robot_to_compass(state, "right"), "left", 0.0, slope)


@pytest.fixture(scope="module")
def walk() -> cs.PeriodicOrbit:
    case = later(compass_gait(), 0.2)
    return cs.find_periodic_orbit(compass_robot(), compass_to_robot(case.x), case.time, symmetry=swapped)


def test_walk_moves_with_the_slope(walk: cs.PeriodicOrbit) -> None:
    """Two walks on slopes beside it, of the same phase, differ by the sensitivity; so do their multipliers."""
    dx, dT = walk.sensitivity("terrain.angle")
    h, space = 1e-4, walk.system.space()
    sides = []
    for step in (h, -h):
        system = walk.system.with_parameter("terrain.angle", 0.0525 + step)
        guess = system.state(space.integrate(system.pack(walk.x0), step * dx))
        sides.append(cs.find_periodic_orbit(system, guess, walk.period + step * dT, symmetry=swapped))
    up, down = sides
    np.testing.assert_allclose((up.period - down.period) / (2.0 * h), dT, rtol=1e-5)
    moved = (up.system.pack(up.x0) - down.system.pack(down.x0)) / (2.0 * h)
    np.testing.assert_allclose(moved, dx, rtol=1e-4)
    by_slope = (up.section_multipliers[:3] - down.section_multipliers[:3]) / (2.0 * h)
    np.testing.assert_allclose(walk.multiplier_derivative("terrain.angle")[1:4], by_slope, rtol=1e-4)


def test_a_symmetry_that_stays_where_its_slope_moves_is_told() -> None:
    scene = cs.load_scene("biped")
    place = scene.simulate(0.1).final

    gait = cs.find_periodic_orbit(scene.system, place, 1.47, symmetry=back_to(place))
    with pytest.raises(cs.NonDifferentiableError, match=r"symmetry or section hangs on .* \(state, system\)"):
        gait.sensitivity("terrain.angle")


def test_mistakes_are_told(walk: cs.PeriodicOrbit) -> None:
    with pytest.raises(cs.InputError, match="no parameter 'slope'"):
        walk.sensitivity("slope")
