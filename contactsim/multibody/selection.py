"""Some parts of a world of several robots and bodies, as a world of their own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pinocchio as pin

from ..common.arrays import Array
from .configuration_space import ConfigurationSpace
from .merge import MergedGeometry
from .robot_model import Part, RobotModel

R = TypeVar("R", bound=RobotModel)

OF_VELOCITIES = "armature", "damping", "friction", "rotorInertia", "rotorGearRatio", "effortLimit", "velocityLimit"
OF_CONFIGURATIONS = "lowerPositionLimit", "upperPositionLimit"
READ_OFF = tuple(name for name, value in vars(RobotModel).items() if isinstance(value, cached_property))


def part_of_name(name: str) -> str:
    """The part that a joint, a frame, a solid or a contact point PART/... belongs to."""
    return name.partition("/")[0]


def selected(robot: R, moving: Iterable[str], standing: Iterable[str]) -> R:
    """A world of some moving parts of a merged robot, and of some that are fixed; all under the names they have there.

    Contacts on the ground are those of these parts, pairs those with both ends among them. What else joins parts, loops
    and springs, is left to those who ask.
    """
    chosen, fixed = ([robot.parts[name] for name in names] for names in (moving, standing))
    known = {part.name for part in (*chosen, *fixed)}
    movable = {part.name for part in chosen}
    q, v = places(chosen)
    model = _model(robot.model, movable, known, q, v)
    own = robot._with(
        model=model,
        name="+".join(part.name for part in chosen),
        nq=model.nq,
        nv=model.nv,
        space=ConfigurationSpace(model),
        contacts=tuple(point for point in robot.contacts if part_of_name(point.frame) in known),
        pairs=tuple(p for p in robot.pairs if part_of_name(p.first) in known and part_of_name(p.second) in known),
        parts={},
        groups=tuple(tuple(name for name in group if part_of_name(name) in known) for group in robot.groups),
        _solids=tuple(solid for solid in robot.solids if part_of_name(solid.frame) in known),
        _visual=MergedGeometry((*fixed, *chosen), visual=True),
        _collision=MergedGeometry((*fixed, *chosen)),
        _nominal=robot.nominal[q],
        _actuated=robot.actuated[v],
    )
    for name in READ_OFF:
        own.__dict__.pop(name, None)
    return own


def places(parts: Iterable[Part[Any]]) -> tuple[Array, Array]:
    """Places of some parts in a configuration and in a velocity of the world."""
    parts = list(parts)
    q = [np.arange(part.q.start, part.q.stop) for part in parts]
    v = [np.arange(part.v.start, part.v.stop) for part in parts]
    return np.concatenate(q), np.concatenate(v)


def _model(whole: Any, movable: set[str], known: set[str], q: Array, v: Array) -> Any:
    """Pinocchio's model of the joints of some parts, with the frames of these and of others that are fixed."""
    model, joints = pin.Model(), {0: 0}
    model.name, model.gravity = whole.name, pin.Motion(whole.gravity)
    for i in range(1, whole.njoints):
        if part_of_name(whole.names[i]) in movable:
            parent = joints[whole.parents[i]]
            joints[i] = model.addJoint(parent, whole.joints[i], whole.jointPlacements[i], whole.names[i])
            model.inertias[joints[i]] = whole.inertias[i]
    for names, kept in ((OF_VELOCITIES, v), (OF_CONFIGURATIONS, q)):
        for name in names:
            setattr(model, name, np.array(getattr(whole, name))[kept])
    frames = {0: 0}
    for k, frame in enumerate(whole.frames):
        if k and part_of_name(frame.name) in known:
            parent = frames.get(frame.parentFrame, 0)
            own = pin.Frame(frame.name, joints[frame.parentJoint], parent, frame.placement, frame.type)
            frames[k] = model.addFrame(own, False)
    return model
