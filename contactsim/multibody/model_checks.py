"""Checks of a pinocchio model before it is simulated, and warnings of what in it is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from ..common.arguments import FAR as HUGE
from ..common.arrays import Array
from ..common.telling import tell
from ..errors import InputError
from .forest import generic, groups_of
from .zero import FAR, INDEFINITE, TRIANGLE, UNMOVED

FREE = 7  # coordinates of a free root
LISTED = 6  # bodies that a warning lists one by one


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
    """Refuse masses and inertias that are not positive, and joints that move no mass or no inertia."""
    moving, links = np.zeros(model.njoints), first_links(model)
    for i in range(1, model.njoints):
        owner = f"link '{links[i]}'" if i in links else f"joint '{model.names[i]}'"
        _check_inertia(model.inertias[i], f"the body of {owner}")
        moving[i] = model.inertias[i].mass
    for i in range(1, model.njoints):
        rotor = model.armature[model.joints[i].idx_v] if model.joints[i].nv else 0.0
        if sum(moving[k] for k in model.subtrees[i]) <= 0.0 and rotor <= 0.0:
            raise InputError(f"joint '{model.names[i]}' moves no mass; give its link a positive mass")
    for part in [group.model for group in groups_of(model)] or [model]:
        if part.nv:
            _check_resistance(part)


def first_links(model: Any) -> dict[int, str]:
    """{joint: the first of the links that it carries}; none of a model without links."""
    found: dict[int, str] = {}
    for frame in model.frames:
        if frame.type == pin.FrameType.BODY and frame.parentJoint > 0:
            found.setdefault(int(frame.parentJoint), frame.name)
    return found


def _check_inertia(inertia: Any, owner: str) -> None:
    if not 0.0 <= inertia.mass < HUGE:
        many = " of a size below 1e75" if inertia.mass > 0.0 else ""
        raise InputError(f"{owner} has mass {inertia.mass}; give a positive mass{many}")
    if not (np.abs(inertia.inertia) < HUGE).all():
        raise InputError(f"{owner} has an inertia that is not finite; check it")
    if not (np.abs(inertia.lever) < HUGE).all():
        raise InputError(f"{owner} has its centre of mass at {inertia.lever}; check it")
    if inertia.mass > 0.0 and np.linalg.eigvalsh(inertia.inertia).min() < INDEFINITE * inertia.mass:
        raise InputError(f"{owner} has an inertia that is not positive; check it")


def _check_resistance(model: Any) -> None:
    """Refuse a joint that would move without resistance, in a pose that is not special."""
    q = pin.integrate(model, pin.neutral(model), generic(1, model.nv)[0])
    M = pin.crba(model, pin.Data(model), q, convention=pin.Convention.LOCAL)  # a body's own zero is exact there
    weak = np.flatnonzero(~(np.maximum(UNMOVED * M.diagonal(), 1.0 / HUGE) < _resistances(M)))
    if weak.size:
        joint = next(i for i in range(model.njoints) if 0 <= weak[-1] - model.joints[i].idx_v < model.joints[i].nv)
        held = ", or hold its first link by root='fixed'" if model.joints[joint].nv > 1 else ""
        raise InputError(
            f"joint '{model.names[joint]}' moves without resistance: its body has no inertia of its own that way; give"
            f" its link a positive mass and inertia{held}"
        )


def _resistances(M: Array) -> Array:
    """D (nv,) of M = U D U', of the upper triangle of M: the inertia of each velocity where those after it are free."""
    left, found = np.triu(M), M.diagonal().copy()
    for k in range(len(M) - 1, -1, -1):
        found[k] = left[k, k]
        if not found[k] > 0.0:
            break
        column = left[:k, k]
        left[:k, :k] -= np.outer(column, column / found[k])
    return found


def warn_about_inertias(model: Any) -> None:
    """Tell which bodies have principal moments that no body has: the largest is at most the sum of the others."""
    named = []
    for i in range(1, model.njoints):
        low, middle, high = np.linalg.eigvalsh(model.inertias[i].inertia)
        if high > (1.0 + TRIANGLE) * (low + middle) - INDEFINITE * model.inertias[i].mass:
            named.append(f"'{model.names[i]}' ({low:.3g}, {middle:.3g}, {high:.3g} kg m^2)")
    if named:
        more = f" and {len(named) - LISTED} more" if len(named) > LISTED else ""
        tell(
            f"the body of joint {', '.join(named[:LISTED])}{more} has principal moments of inertia that no body has:"
            " the largest is above the sum of the others; check the inertia in the file",
        )


def warn_about_dry_friction(model: Any) -> None:
    """Tell which joints have dry friction, which is left out."""
    dry = np.maximum(np.abs(model.friction), np.abs(model.upperDryFrictionLimit))
    joints = zip(list(model.names)[1:], list(model.joints)[1:], strict=True)
    largest = {name: float(dry[j.idx_v : j.idx_v + j.nv].max(initial=0.0)) for name, j in joints}
    named = [f"'{name}' ({value:.3g})" for name, value in largest.items() if value > 0.0]
    if named:
        tell(
            f"joint {', '.join(named)} has dry friction, which is not simulated; set it to zero in the file, or use"
            " damping",
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
    """Position limits of plain joints that have a range, else the value itself."""
    low, high = q.copy(), q.copy()
    for i in range(1, model.njoints):
        joint, k = model.joints[i], model.joints[i].idx_q
        if joint.nq == joint.nv == 1 and model.lowerPositionLimit[k] < model.upperPositionLimit[k]:
            low[k], high[k] = model.lowerPositionLimit[k], model.upperPositionLimit[k]
    return low, high
