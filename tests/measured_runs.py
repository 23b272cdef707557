"""Runs that were measured with noise, for the identification of friction, restitution and mass."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import contactsim_robots
import numpy as np
import pinocchio as pin
from builders import box, sphere

import contactsim as cs

Array = np.ndarray
NOISE = 1e-3
OFF = (1.3, 0.7, 1.3)  # friction, restitution and mass at the start, relative to the true ones
HEXAPOD = Path(contactsim_robots.__file__).parent / "hexapod.urdf"
COEFFICIENTS = ["contact.friction", "contact.restitution"]


class Measured(NamedTuple):
    """A system with a known motion and what is to be found of it.

    Attributes:
        system: with the true values.
        names: of the parameters.
        start: where the run begins.
        end: when it ends [s].
    """

    system: cs.ContactSystem
    names: list[str]
    start: cs.State
    end: float

    def rows(self, count: int = 30, seed: int = 0) -> tuple[Array, Array]:
        """Times (count,) and states with noise."""
        rng, space = np.random.default_rng(seed), self.system.space()
        run, times = cs.simulate(self.system, self.start, (0.0, self.end)), np.linspace(0.02, self.end, count)
        return times, np.array([space.integrate(run.arc_at(t)(t), NOISE * rng.normal(size=space.dim)) for t in times])

    def off(self, by: tuple[float, ...] = OFF) -> cs.ContactSystem:
        """The system with other values of the parameters."""
        system = self.system
        for name, factor in zip(self.names, by, strict=False):
            system = system.with_parameter(name, factor * system.parameter(name))
        return system


def pushed(t: float, q: Array, v: Array) -> Array:
    """A force that is known, without which no mass is."""
    return np.array([1.0, 0.5, 0.0, 0.0, 0.0, 0.0])


def ball() -> Measured:
    """It falls with 2 m/s to the side, slips at two bounces, and is pushed."""
    system = cs.ContactSystem(sphere(friction=0.12, restitution=0.6), controller=pushed)
    return Measured(
        system, [*COEFFICIENTS, "body.ball.mass"], cs.State([0, 0, 0.4, 0, 0, 0, 1.0], [2.0, 0, 0, 0, 0, 0]), 0.65
    )


def crate() -> Measured:
    """It falls with a tilt, tumbles over its corners and slips."""
    system = cs.ContactSystem(box(friction=0.3, restitution=0.3), controller=pushed)
    turned = pin.Quaternion(pin.exp3(np.array([0.1, 0.2, 0.05]))).coeffs()
    start = cs.State(np.r_[0, 0, 0.3, turned], [1.0, 0.3, 0, 0, 0, 0.5])
    return Measured(system, [*COEFFICIENTS, "body.box.mass"], start, 0.4)


def leg() -> Measured:
    """The left front leg of a hexapod whose body is held: it is swept over the ground by its joints.

    Its bounces come to an end, it slips, and sticks.
    """
    whole = cs.Robot.from_urdf(HEXAPOD, root="fixed", contacts=[]).model
    held = [k for k in range(1, whole.njoints) if not whole.names[k].startswith("lf_")]
    foot = cs.ContactPoint("lf_foot", offset=(0.02, 0.0, 0.0), friction=0.4, restitution=0.3, name="foot")
    robot = cs.Robot(pin.buildReducedModel(whole, held, pin.neutral(whole)), contacts=[foot], name="leg")
    start = np.array([-0.4, -0.438, 1.811])
    sweep = cs.PD(robot, start + np.array([0.8, 0.3, 0.0]), kp=1.0, kd=0.03)
    system = cs.ContactSystem(robot, controller=sweep, terrain=cs.terrain.Flat(height=-0.185))
    return Measured(system, [*COEFFICIENTS, "body.lf_tibia.mass"], cs.State(start, [2.0, 0.0, 0.0]), 0.4)
