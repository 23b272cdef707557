"""Checks of a pinocchio model before it is simulated, and warnings of what in it is left out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pinocchio as pin

from ..common.arguments import FAR as HUGE
from ..common.arrays import Array
from ..errors import InputError
from .zero import FAR, INDEFINITE

FREE = 7  # coordinates of a free root


def frame_id_of(model: Any, name: str, owner: str) -> int:
    """Index of a frame.

    Raises:
        InputError: there is no such frame; similar ones are told.
    """
    if not model.existFrame(name):
        from difflib import get_close_matches

        frames = [frame.name for frame in model.frames]
        close = ", ".join(get_close_matches(name, frames, n=5, cutoff=0.3)) or ", ".join(frames[:8])
        raise InputError(f"{owner}: the model has no frame '{name}'; similar ones are {close}")
    return link_frame(model, name)


def link_frame(model: Any, name: str) -> int:
    """Index of the frame `name`, that of the link where a joint has the same name."""
    named = [i for i, frame in enumerate(model.frames) if frame.name == name]
    return next((i for i in named if model.frames[i].type == pin.FrameType.BODY), named[0])


def check_order(model: Any) -> None:
    """Pinocchio's mass matrix is silently wrong where the joints below a joint do not follow it without a gap."""
    for i in range(1, model.njoints):
        below = sorted(model.subtrees[i])
        if below != list(range(i, i + len(below))):
            last = model.names[below[-1]]
            raise InputError(
                f"joint '{last}' is not in depth-first order; add the joints of each branch one after the other"
            )


def check_masses(model: Any) -> None:
    """Refuse masses and inertias that are not positive, and joints that move no mass."""
    moving = np.zeros(model.njoints)
    for i in range(1, model.njoints):
        inertia = model.inertias[i]
        if inertia.mass < 0.0 or not inertia.mass < HUGE:
            raise InputError(f"the body of joint '{model.names[i]}' has mass {inertia.mass}; give a positive mass")
        if not (np.abs(inertia.inertia) < HUGE).all():
            raise InputError(f"the body of joint '{model.names[i]}' has an inertia that is not finite; check it")
        if inertia.mass > 0.0 and np.linalg.eigvalsh(inertia.inertia).min() < INDEFINITE * inertia.mass:
            raise InputError(f"the body of joint '{model.names[i]}' has an inertia that is not positive; check it")
        moving[i] = inertia.mass
    for i in range(1, model.njoints):
        below = [k for k in range(1, model.njoints) if i in list(model.supports[k])]
        rotor = model.armature[model.joints[i].idx_v] if model.joints[i].nv else 0.0
        if sum(moving[k] for k in below) <= 0.0 and rotor <= 0.0:
            raise InputError(f"joint '{model.names[i]}' moves no mass; give its link a positive mass")


def warn_about_dry_friction(model: Any) -> None:
    """Tell which joints have dry friction, which is left out."""
    dry = np.maximum(np.abs(model.friction), np.abs(model.upperDryFrictionLimit))
    joints = zip(list(model.names)[1:], list(model.joints)[1:], strict=True)
    largest = {name: float(dry[j.idx_v : j.idx_v + j.nv].max(initial=0.0)) for name, j in joints}
    named = [f"'{name}' ({value:.3g})" for name, value in largest.items() if value > 0.0]
    if named:
        warnings.warn(
            f"joint {', '.join(named)} has dry friction, which is not simulated; set it to zero in the file, or use"
            " damping",
            stacklevel=4,
        )


def unbounded(model: Any, index: int) -> bool:
    """True for a coordinate of the configuration without limits, as those that only say where the robot is."""
    if model.joints[1].shortname() == "JointModelFreeFlyer" and index < FREE:  # an MJCF file gives it limits of one
        return True
    return bool(model.upperPositionLimit[index] > FAR and model.lowerPositionLimit[index] < -FAR)


def inside(model: Any, q: Array) -> Array:
    """The configuration with plain joints that are beyond their limits at these."""
    low, high = within_limits(model, q)
    return np.clip(q, low, high)


def within_limits(model: Any, q: Array) -> tuple[Array, Array]:
    """Position limits where they are finite and belong to plain joints, else the value itself."""
    low, high = q.copy(), q.copy()
    for i in range(1, model.njoints):
        joint = model.joints[i]
        if joint.nq == joint.nv == 1:
            k = joint.idx_q
            low[k], high[k] = model.lowerPositionLimit[k], model.upperPositionLimit[k]
    return low, high
