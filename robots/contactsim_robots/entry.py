"""Entries of the catalogue: plain data about a robot and its demonstration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

Array = np.ndarray
Reference = Callable[[float], tuple[Array, Array, Array]]
Root = Literal["free_flyer", "fixed", "planar"]


@dataclass(frozen=True, eq=False)  # arrays are not compared as one
class Demo:
    """A run that shows the robot at work.

    The joint controller is tau = S^T [tau_ff + kp difference(q_ref, q)_joints + kd (v_ref - v)_joints] with
    difference(q_ref, q) the step from q to q_ref and S the selection of the actuated joints; a demonstration may have
    one of its own in its place.

    Args:
        q: configuration at the start, (nq,); the root in world axes, metres and radians.
        v: velocity at the start, (nv,), in pinocchio's tangent space.
        slope: angle of the ground, rad, downhill along +x through the origin; 0 for a level floor.
        time: duration, s.
        reference: t in s -> (q_ref (nq,), v_ref (nv,), tau_ff (nv,)); None where no motor works.
        breaks: times between which the reference is smooth, for engines that follow it by polynomials, and the one from
            which it repeats after the last of them, s; None: it is called at each time.
        kp: stiffness of each coordinate of the tangent space, N m / rad or N / m, (nv,), zero on the root.
        kd: damping, N m s / rad or N s / m, (nv,), zero on the root.
        feet: contacts of the demonstration in place of the robot's, keyword arguments as in RobotEntry; None: the same.
        tolerances: keyword arguments of Tolerances for the run and for its ContactSystem; the rest is left at default.
        controller: (t, q, v) -> tau (nv,) in place of the joint controller; its `reference`, `kp` and `kd`, where they
            are given, then serve those who ask for joint control; None: the joint controller.
        gravity: downwards, m/s^2; None: that of a scene.
    """

    q: Array
    v: Array
    time: float
    slope: float = 0.0
    reference: Reference | None = None
    breaks: tuple[Sequence[float], float] | None = None
    kp: Array | float = 0.0
    kd: Array | float = 0.0
    feet: tuple[dict[str, Any], ...] | None = None
    tolerances: Mapping[str, float] = field(default_factory=dict)
    controller: Callable[[float, Array, Array], Array] | None = None
    gravity: float | None = None


@dataclass(frozen=True)
class RobotEntry:
    """One robot of the catalogue; nothing is read or built before it is asked for.

    Args:
        name: the short name it is loaded by.
        description: one line for a listing.
        path: the URDF or MJCF file.
        root: how the first link is joined to the world; "planar" is PX, PZ, RY in the vertical x-z plane.
        package_dirs: folders that ``package://`` addresses of meshes are resolved in.
        feet: keyword arguments of one contact point each (frame, offset in m in axes of the frame, radius in m,
            friction, static_friction, restitution, name, enabled).
        nominal: built ``pin.Model`` -> standing configuration (nq,), lowest foot point on the floor z = 0.
        demo: built ``pin.Model`` -> its demonstration; None where it has none.
        landing: scene file in which several feet touch down at once and the run has a derivative, shown by
            `contactsim run NAME --spread`; None: the first landing of the demonstration is.
        armature: rotor inertia of every motor, reflected through its gear [kg m^2]; a URDF cannot say it.
    """

    name: str
    description: str
    path: Path
    root: Root
    package_dirs: tuple[Path, ...]
    feet: tuple[dict[str, Any], ...]
    nominal: Callable[[Any], Array]
    demo: Callable[[Any], Demo] | None = None
    armature: float = 0.0
    landing: Path | None = None


def foot(
    frame: str,
    name: str,
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0),
    radius: float = 0.0,
    friction: float = 0.8,
    enabled: Callable[[float, Array, Array], float] | None = None,
) -> dict[str, Any]:
    """Keyword arguments of one contact point: a ball of `radius` about `offset` in `frame`, plastic in impact."""
    return {
        "frame": frame,
        "offset": offset,
        "radius": radius,
        "friction": friction,
        "static_friction": None,
        "restitution": 0.0,
        "name": name,
        "enabled": enabled,
    }
