"""The open-loop controller: motion profiles of two alternating tripods, tracked by a PD controller at each hip.

A profile p runs through four phases in a period t_c: the second half of the slow phase, both halves of the fast one,
and the first half of the slow one. Each leg has the state ref = s (p + phi_o), with s = -1 for a negated profile.

Source: SimSect manual, 5.2, 5.5 and Figure 8.
"""

from __future__ import annotations

import numpy as np

from contactsim.common.arrays import Array
from contactsim.common.lazy import NamedTuple

from .parameters import LEGS, HexapodParameters

PHASES = 4
SLOW = (True, False, False, True)
HALF_CYCLE = (1, 3)  # phases at whose end the parameters of the controller may change
TRIPODS = ((0, 2, 4), (1, 3, 5))  # the stiff legs are the middle ones, so they stand against two others
LEFT = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])  # +1 for the legs at x < 0, left of a robot that runs to +y
ON_BOUNDARY = 1e-9  # a profile this close to the end of a phase has reached it [rad]


class Command(NamedTuple):
    """Parameters of the motion profiles that change at half-cycle boundaries only (manual, 5.5.3)."""

    cycle_time: float
    flight_time: float
    sweep_angle: float
    leg_offset: float
    delta_ts: float
    delta_phi_o: float
    gait: str
    direction: str

    @classmethod
    def of(cls, parameters: HexapodParameters) -> Command:
        """The command that the parameters of a model give."""
        return cls(*(getattr(parameters, name) for name in cls._fields))

    @property
    def signs(self) -> Array:
        """Sense s (6,) in which each leg runs through its profile."""
        signs = -LEFT if self.gait == "turning-in-place" else np.ones(LEGS)
        return signs if self.direction == "increasing" else -signs

    @property
    def offsets(self) -> Array:
        """Offset phi_o (6,) of each profile [rad]: plus delta_phi_o on the left, minus on the right."""
        return self.leg_offset + LEFT * self.delta_phi_o

    @property
    def slow_times(self) -> Array:
        """Duration t_s (6,) of each slow phase [s]: plus delta_ts on the left, minus on the right."""
        return self.cycle_time - self.flight_time + LEFT * self.delta_ts

    def speeds(self, phases: tuple[int, ...]) -> Array:
        """Rate of ref (6,) in the given phases [rad/s].

        slow: phi_s / t_s;    fast: (2 pi - phi_s) / (t_c - t_s)
        """
        slow = self.sweep_angle / self.slow_times
        fast = (2.0 * np.pi - self.sweep_angle) / (self.cycle_time - self.slow_times)
        return self.signs * np.where([SLOW[phase] for phase in phases], slow, fast)

    def ends(self, phases: tuple[int, ...]) -> Array:
        """Value of the profile p (6,) at which each of the given phases ends [rad]."""
        half = 0.5 * self.sweep_angle
        return np.array([(half, np.pi, -half, 0.0)[phase] for phase in phases])

    def profiles(self, references: Array) -> Array:
        """Profiles p = s ref - phi_o (6,) of the states ref (6,), without whole turns: in [-pi, pi) [rad]."""
        p = self.signs * references - self.offsets
        p = p - 2.0 * np.pi * np.floor(p / (2.0 * np.pi) + 0.5)
        return np.where(p > np.pi - ON_BOUNDARY, p - 2.0 * np.pi, p)

    def references(self, profiles: Array) -> Array:
        """States ref = s (p + phi_o) (6,) of profiles p (6,) [rad]."""
        return self.signs * (profiles + self.offsets)

    def phases(self, profiles: Array) -> tuple[int, ...]:
        """Phases in which profiles p (6,) in [-pi, pi) are; at a boundary the later one."""
        half = 0.5 * self.sweep_angle
        limits = np.array([-half, 0.0, half]) - ON_BOUNDARY
        return tuple((2, 3, 0, 1)[int(np.sum(p >= limits))] for p in profiles)


class HipControl(NamedTuple):
    """PD control of the hips within the limits of the motors.

        tau = clip(KP (ref - phi) + KD (ref' - phi'), lower, upper)
        upper = max_torque clip(1 - phi' / w0, 0, 1),    lower = -max_torque clip(1 + phi' / w0, 0, 1)

    The manual shows the torque-speed curve as a figure only; this is its linear reading, "flat" leaves out the factor.

    Attributes:
        KP, KD: gains [N m/rad, N m s/rad].
        max_torque: at standstill [N m].
        no_load: speed w0 of a leg without load [rad/s].
        wrapped: whether the angle error is wrapped to (-pi, pi]; the plain difference saturates after half a turn.
        linear: whether the limit falls with the speed.

    Source: SimSect manual, 5.1.6, 5.2 and 5.5.4.
    """

    KP: float
    KD: float
    max_torque: float
    no_load: float
    wrapped: bool = True
    linear: bool = True

    @classmethod
    def of(cls, parameters: HexapodParameters) -> HipControl:
        """The control that the parameters of a model give."""
        return cls(
            parameters.KP,
            parameters.KD,
            parameters.max_torque,
            parameters.max_speed * np.pi / 30.0 * parameters.gear_ratio,
            parameters.pd_error == "wrapped",
            parameters.torque_speed == "linear",
        )

    def unlimited(self, references: Array, speeds: Array, phi: Array, phi_rate: Array) -> Array:
        """Torques (..., 6) of the PD control alone [N m]."""
        error = references - phi
        if self.wrapped:
            error -= 2.0 * np.pi * np.ceil(error.real / (2.0 * np.pi) - 0.5)
        return self.KP * error + self.KD * (speeds - phi_rate)

    def torque(self, references: Array, speeds: Array, phi: Array, phi_rate: Array) -> Array:
        """Hip torques (..., 6) [N m] for references (..., 6) moving at `speeds` (6,)."""
        tau = self.unlimited(references, speeds, phi, phi_rate)
        lower, upper = self.limits(phi_rate)
        return np.minimum(np.maximum(tau, lower), upper)

    def limits(self, phi_rate: Array) -> tuple[Array, Array]:
        """Lowest and highest torques (..., 6) [N m] of the motors at speeds (..., 6) [rad/s]."""
        if not self.linear:
            highest = np.full(np.shape(phi_rate), self.max_torque)
            return -highest, highest
        fall = phi_rate * (self.max_torque / self.no_load)
        upper = np.minimum(np.maximum(self.max_torque - fall, 0.0), self.max_torque)
        lower = np.maximum(np.minimum(-self.max_torque - fall, 0.0), -self.max_torque)
        return lower, upper

    def limited(self, tau: float, phi_rate: float) -> float:
        """A torque [N m] within the limits at a speed [rad/s]."""
        fall = phi_rate * (self.max_torque / self.no_load) if self.linear else 0.0
        upper = min(max(self.max_torque - fall, 0.0), self.max_torque)
        lower = max(min(-self.max_torque - fall, 0.0), -self.max_torque)
        return min(max(tau, lower), upper)

    def torque_through(self, free: float, start: float, compliance: float) -> float:
        """Torque tau of a hip whose speed gives way to it, phi' = start + compliance tau [N m].

        The control and both limits fall with phi'. Each alone would settle at a speed, and that of the control within
        the limits is the middle one of the three.

        Args:
            free: torque at phi' = 0 before it is limited [N m].
            start: speed without torque [rad/s].
            compliance: of the hip [rad/(s N m)], not negative.
        """
        unlimited = (start + compliance * free) / (1.0 + compliance * self.KD)
        highest = self._settled(start, compliance)
        lowest = -self._settled(-start, compliance)
        phi_rate = max(min(unlimited, highest), lowest)
        return self.limited(free - self.KD * phi_rate, phi_rate)

    def _settled(self, start: float, compliance: float) -> float:
        """Speed at which a hip settles under the upper limit of the torque [rad/s]."""
        pushed = start + compliance * self.max_torque
        if pushed <= 0.0 or not self.linear:
            return pushed
        return max(pushed / (1.0 + compliance * self.max_torque / self.no_load), start)
