"""Branches of periodic orbits: folds, flips and grazes whose parameters are known in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from reference_systems import (
    Given,
    compass_gait,
    compass_model,
    compass_robot,
    compass_to_robot,
    later,
    robot_to_compass,
)
from test_orbit_family import PACE, SLOW, E, G, Table, W, bouncing

import contactsim as cs

Array = np.ndarray
FOLD = SLOW / W  # amplitude at which the table is just fast enough
FLIP = np.hypot(FOLD, 2.0 * G * (1.0 + E**2) / (1.0 + E) ** 2 / W**2)  # where mu_1 + mu_2 = -(1 + e^2)


def test_bounce_flips_at_the_amplitude_of_its_closed_form() -> None:
    orbit = bouncing(0.003)
    branch = cs.continue_orbit(orbit, orbit.system, "amplitude", (0.003, 0.0045))
    ((kind, value),) = branch.bifurcations
    assert (kind, value) == ("flip", pytest.approx(FLIP, abs=1e-10))
    assert branch.values[[0, -1]] == pytest.approx([0.003, 0.0045], abs=1e-12)
    assert [entry.stable for entry in branch.orbits] == [bool(value < FLIP) for value in branch.values]


def test_bounce_folds_where_the_table_is_just_fast_enough() -> None:
    """Behind its fold the branch comes back unstable: the ball meets the table as that slows down."""
    orbit = bouncing(0.003)
    branch = cs.continue_orbit(orbit, lambda amplitude: Table(E, amplitude, PACE), "amplitude", (0.003, 0.002))
    ((kind, value),) = branch.bifurcations
    assert (kind, value) == ("fold", pytest.approx(FOLD, abs=1e-10))
    assert branch.values[-1] == pytest.approx(0.003, abs=1e-12)
    assert max(abs(branch.orbits[-1].multipliers)) > 1.0
    assert branch.values.min() >= FOLD


# --- a graze ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Striker(cs.HybridSystem):
    """x'' + 2 d x' + x = f cos(w t) with a wall at x = 1, from which it rebounds with e = 0.5."""

    force: float = 0.5
    damping: float = 0.1
    pace: float = 0.8

    def flow(self, mode: str) -> cs.Flow:
        d, f, w = self.damping, self.force, self.pace
        matrix = np.array([[0.0, 1.0], [-1.0, -2.0 * d]])
        return Given(
            lambda t, x: matrix @ x + np.array([0.0, f * np.cos(w * t)]),
            {"wall": lambda t, x: 1.0 - x[0]},
            lambda t, x: matrix,
        )

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        return cs.Transition(np.array([x[0], -0.5 * x[1]]), mode, {"wall": (mode, mode)})

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "free")

    def parameter(self, name: str) -> float:
        return self.force

    def with_parameter(self, name: str, value: float) -> Striker:
        return replace(self, force=value)


@pytest.mark.slow
def test_oscillator_grazes_its_wall_where_its_amplitude_is_the_distance() -> None:
    w, d = 0.8, 0.1
    size = np.hypot(1.0 - w**2, 2.0 * d * w)  # amplitude f / size
    orbit = cs.find_periodic_orbit(Striker(0.3), [0.1, 0.3], 2.0 * np.pi / w, fixed_period=True, t0=0.1)
    branch = cs.continue_orbit(orbit, Striker(0.3), "force", (0.3, 0.6))
    kind, value = branch.bifurcations[0]
    assert (kind, value) == ("grazing", pytest.approx(size, abs=1e-6))


# --- the compass gait -------------------------------------------------------------------------------------------------
def swapped(state: cs.State, system: cs.ContactSystem) -> cs.State:
    """The other leg as the stance leg, back at the place of the first."""
    return compass_to_robot(robot_to_compass(state, "right"), "left", 0.0, system.parameter("terrain.angle"))


def twice(state: cs.State, system: cs.ContactSystem) -> cs.State:
    return swapped(swapped(state, system), system)


@pytest.mark.slow
def test_walk_flips_on_a_steeper_slope_and_limps_beyond() -> None:
    """Goswami, Espiau, Keramane 1997: period doubling of the gait with mu = 2, beta = 1 near 4.37 degrees."""
    case = later(compass_gait(), 0.2)
    walk = cs.find_periodic_orbit(compass_robot(), compass_to_robot(case.x), case.time, symmetry=swapped)
    branch = cs.continue_orbit(walk, walk.system, "terrain.angle", (0.0525, 0.078))
    ((kind, value),) = branch.bifurcations
    assert kind == "flip"
    assert np.degrees(value) == pytest.approx(4.37, abs=0.03)
    (flip,) = branch.at
    assert min(abs(flip.multipliers + 1.0)) < 1e-6
    values, vectors = np.linalg.eig(flip.monodromy)
    along = vectors[:, np.argmin(abs(values + 1.0))].real
    system = walk.system.with_parameter("terrain.angle", value + 5e-4)
    along *= -np.sign(along[-1])  # the other way leads Newton's method past a fold of its residual
    beside = system.state(system.space().integrate(system.pack(flip.x0), 0.06 * along))
    guess = system.project(beside, {"left": cs.Mode.STICK})  # a foot above ground would land first
    limp = cs.find_periodic_orbit(system, guess, 2.0 * flip.period, symmetry=twice)
    first, second = (event.time for event in limp.trajectory.events[-2:])
    assert abs((second - first) - 0.5 * limp.period) > 1e-3
    assert limp.stable


@pytest.mark.slow
def test_walk_with_other_legs() -> None:
    """The place of the legs' mass, which no parameter of the system tells, by a function that builds the robot."""

    def walker(b: float) -> cs.ContactSystem:
        own = compass_robot()
        robot = cs.Robot(compass_model(a=1.0 - b, b=b), contacts=own.robot.contacts)
        return cs.ContactSystem(robot, terrain=own.terrain)

    case = later(compass_gait(), 0.2)
    walk = cs.find_periodic_orbit(compass_robot(), compass_to_robot(case.x), case.time, symmetry=swapped)
    branch = cs.continue_orbit(walk, walker, "b", (0.5, 0.45))
    assert branch.values[-1] == pytest.approx(0.45, abs=1e-12)
    assert not branch.bifurcations
    h = 1e-4
    near = cs.continue_orbit(walk, walker, "b", (0.5, 0.5 + h)).orbits[-1]
    _, dT = branch.orbits[0].sensitivity("b")
    assert (near.period - walk.period) / h == pytest.approx(dT, rel=1e-2)


def test_mistakes_are_told() -> None:
    orbit = bouncing(0.003)
    with pytest.raises(cs.InputError, match="give two values that differ"):
        cs.continue_orbit(orbit, orbit.system, "amplitude", (0.003, 0.003))
    with pytest.raises(cs.InputError, match="system_of is a int; give a system"):
        cs.continue_orbit(orbit, 3, "amplitude", (0.003, 0.004))
    with pytest.raises(cs.ConvergenceError, match="the orbit is none of the system"):
        cs.continue_orbit(orbit, lambda value: Table(E, value, PACE), "height", (0.0031, 0.004))
