"""Account of the energy of a run, which closes and names what the model itself leaves open.

Two simplifications of the manual let energy appear and vanish: toes have no weight, and the body does not feel the
force that it exerts on legs in flight. The account lists both beside the work of the hips and the losses.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from contactsim.common.arrays import Array
from contactsim.common.lazy import dataclass

from .dynamics import Dynamics, Setting
from .state import FEET, FEET_RATE, PLACE, SPEED, SPIN

if TYPE_CHECKING:
    from contactsim import Trajectory

# Gauss-Legendre nodes on [0, 1] of each half of a step: torque limits put kinks into the powers.
_ROOTS, _WEIGHTS = np.polynomial.legendre.leggauss(5)
NODES = np.concatenate([0.25 * (_ROOTS + 1.0), 0.5 + 0.25 * (_ROOTS + 1.0)])
WEIGHTS = np.concatenate([0.25 * _WEIGHTS, 0.25 * _WEIGHTS])
CONTINUOUS = ("hip_work", "leg_damping", "slip_friction", "missing_reaction", "missing_weight")


@dataclass(frozen=True)
class EnergyLedger:
    """An account of the energy of a run, each entry in J and positive where it adds energy.

    Attributes:
        start, end: kinetic energy of body and toes, potential energy of both, and energy of the springs.
        hip_work: work of the hip torques, the integral of tau_phi phi'.
        leg_damping: of the dampers, -d_r rho'^2 - d_theta theta'^2.
        slip_friction: of toes that slip in stance.
        missing_reaction: what the force of legs in flight would take from the body, if the body felt it.
        missing_weight: what the weight of the toes would take from them, if they had any.
        touch_down: kinetic energy that toes lose at touch-down.
        lift_off: kinetic energy that toes gain by leaving the ground in slip.
        parameters: change of the energy where a parameter was set in the run.
    """

    start: float
    end: float
    hip_work: float
    leg_damping: float
    slip_friction: float
    missing_reaction: float
    missing_weight: float
    touch_down: float
    lift_off: float
    parameters: float

    @property
    def residual(self) -> float:
        """Energy that the account does not explain [J]."""
        return self.end - self.start - sum(self._entries())

    @property
    def turnover(self) -> float:
        """Sum of the sizes of all entries [J]."""
        return sum(abs(entry) for entry in self._entries())

    def _entries(self) -> list[float]:
        return [getattr(self, field.name) for field in fields(self)[2:]]


def energy(dynamics: Dynamics, x: Array, setting: Setting) -> float:
    """Energy of a state (60,) in a chart [J]."""
    found = dynamics.evaluate(x, setting)
    feet, rates = x[FEET].reshape(6, 3), x[FEET_RATE].reshape(6, 3) * setting.flies
    spin = x[SPIN] @ found.R
    moving = 0.5 * dynamics.body_mass * x[SPEED] @ x[SPEED] + 0.5 * spin @ dynamics.inertia @ spin
    moving += 0.5 * dynamics.toe_mass * float(np.sum(rates**2))
    lifted = -(dynamics.body_mass * x[PLACE] + dynamics.toe_mass * feet.sum(axis=0)) @ dynamics.gravity
    return float(moving + lifted + dynamics.springs.energy(found.legs.rho, found.legs.theta).sum())


def powers(dynamics: Dynamics, x: Array, setting: Setting) -> Array:
    """Rates (..., 5) of the entries CONTINUOUS at states (..., 60) [W]."""
    found, springs = dynamics.evaluate(x, setting), dynamics.springs
    legs, flies, stands = found.legs, setting.flies[:, 0], setting.stands[:, 0]
    pushed = np.sum(found.force * found.toe_rate, axis=-1)
    # Toe against hip, as seen from the world: the body would take up the rest of what the leg gives to its toe.
    received = np.sum(found.force * (x[..., None, SPEED] - found.arms @ found.turn), axis=-1)
    rates = (
        (legs.phi_rate * found.hip).sum(-1),
        -(springs.d_r * legs.rho_rate**2 + springs.d_theta * legs.theta_rate**2).sum(-1),
        (stands * pushed).sum(-1),
        -(flies * received).sum(-1),
        -dynamics.toe_mass * (found.toe_rate @ dynamics.gravity).sum(-1),
    )
    return np.stack(rates, axis=-1)


def energy_ledger(trajectory: Trajectory) -> EnergyLedger:
    """The account of a run of the compliant hexapod, by Gauss-Legendre quadrature along its dense output."""
    sums, jumps = np.zeros(len(CONTINUOUS)), {"touch_down": 0.0, "lift_off": 0.0, "parameters": 0.0}
    for arc in trajectory.arcs:
        model: Any = arc.system
        setting = model.flow(arc.mode).setting
        for segment in arc.segments:
            length = segment.t1 - segment.t0
            if length > 0.0:
                points = np.array([segment(segment.t0 + length * node) for node in NODES])
                sums += length * WEIGHTS @ powers(model.dynamics, points, setting)
    for event, after in zip(trajectory.all_events, _behind(trajectory), strict=True):
        before: Any = event.system
        toes = 0.5 * before.dynamics.toe_mass * (_squares(event.x_post) - _squares(event.x_pre))
        jumps["touch_down"] += float(toes[toes < 0.0].sum())
        jumps["lift_off"] += float(toes[toes > 0.0].sum())
        if after is not before:
            new, old = (_at(model, event.x_post, event.mode_post) for model in (after, before))
            jumps["parameters"] += new - old
    first, last = trajectory.arcs[0], trajectory.arcs[-1]
    end = (last.event.x_post, last.event.mode_post) if last.event else (last(last.t1), last.mode)
    return EnergyLedger(
        start=_at(first.system, first(first.t0), first.mode),
        end=_at(last.system, *end),
        **dict(zip(CONTINUOUS, sums.tolist(), strict=True)),
        **jumps,
    )


def _behind(trajectory: Trajectory) -> list[Any]:
    """The system behind each event."""
    followers = [arc.system for arc in trajectory.arcs[1:]]
    return [*followers, trajectory.arcs[-1].system][: len(trajectory.all_events)]


def _squares(x: Array) -> Array:
    return np.sum(x[FEET_RATE].reshape(6, 3) ** 2, axis=-1)


def _at(model: Any, x: Array, chart: Any) -> float:
    return energy(model.dynamics, x, model.flow(chart).setting)
