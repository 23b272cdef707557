"""Limits of effort and velocity of a robot's file, kept by its drives.

A drive with the law tau = k_p e + k_d (v_ref - v) + tau_ff asks for the velocity v_ref + k_p / k_d e. With limits it
asks for no more than the file's velocity, and gives no more than its effort:

    tau = clip(clip(k_p e + k_d v_ref, k_d v_max) - k_d v + tau_ff, tau_max).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..errors import InputError


@dataclass(frozen=True)
class DriveLimits:
    """Limits of the drives of a robot; infinite where a joint has none, or no drive.

    Attributes:
        effort: (nv,) [N m, N].
        velocity: (nv,) [rad/s, m/s].
        owners: name of the joint of each velocity (nv,).
    """

    effort: Array
    velocity: Array
    owners: tuple[str, ...]

    def asked(self, asked: Array, kd: Array) -> Array:
        """The part k_p e + k_d v_ref of the torque (nv,), for no more than the velocity limit."""
        bound = self._bound(kd)
        return np.clip(asked, -bound, bound)

    def within(self, asked: Array, kd: Array) -> Array:
        """Mask (nv,) of the joints that ask for less than their velocity limit."""
        return np.asarray(np.abs(asked) <= self._bound(kd))

    def _bound(self, kd: Array) -> Array:
        bound = np.full(len(kd), np.inf)
        np.multiply(kd, self.velocity, out=bound, where=np.isfinite(self.velocity))
        return bound

    def given(self, torque: Array) -> Array:
        """The torque (nv,), no larger than the effort."""
        return np.clip(torque, -self.effort, self.effort)

    def demand_damping(self, kd: Array) -> None:
        """Raise InputError where a joint has a velocity limit and no damping to keep it by."""
        slack = np.flatnonzero(np.isfinite(self.velocity) & ~(kd > 0.0))
        if len(slack):
            raise InputError(
                f"joint '{self.owners[slack[0]]}' has a velocity limit and kd = {kd[slack[0]]:g}; give a positive kd,"
                " by which PD keeps that limit, or limits=False"
            )


def drive_limits(robot: Any, actuated: Array) -> DriveLimits:
    """Limits of the driven joints as the robot's file has them.

    Raises:
        InputError: the robot is of no file, or a driven joint has a limit of zero.
    """
    model = getattr(robot, "model", None)
    if model is None:
        raise InputError(f"a {type(robot).__name__} has no limits of effort and velocity; leave limits=True out")
    owners = [""] * robot.nv
    for name, joint in list(zip(model.names, model.joints, strict=True))[1:]:
        owners[joint.idx_v : joint.idx_v + joint.nv] = [name] * joint.nv
    found = []
    for kind, own in (("effort", model.effortLimit), ("velocity", model.velocityLimit)):
        limit = np.where(actuated, np.asarray(own, dtype=float), np.inf)
        if len(wrong := np.flatnonzero(~(limit > 0.0))):
            raise InputError(
                f"joint '{owners[wrong[0]]}' of robot '{robot.name}' has the {kind} limit {limit[wrong[0]]:g}; give a"
                " positive one in its file, or limits=False"
            )
        found.append(limit)
    return DriveLimits(found[0], found[1], tuple(owners))
