"""Data of a robot's bodies and contacts for a page: names, where they are drawn, and colours."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from contactsim.errors import InputError

from .commands import node_name
from .protocols import CurvesLike, RobotLike, marks
from .shapes import UNBOUNDED

_GREY = "#5b6678"


def joint_path(robot: RobotLike, index: int) -> str:
    """Node that moves with a joint."""
    return f"/world/robot/{node_name(robot.model.names[index])}"


def contact_colours(names: Sequence[str], curves: Sequence[CurvesLike]) -> list[str]:
    """A colour for each contact: that of its curves, or grey where there are none."""
    found: dict[str, str] = {}
    for one in curves:
        if one.by_contact:
            found = dict(zip(one.names, one.colours, strict=True)) | found
    return [found.get(name, _GREY) for name in names]


def coloured(told: Mapping[str, Any], curves: Sequence[CurvesLike]) -> dict[str, Any]:
    """The data of `about`, its contacts with the colours of their curves."""
    contacts = told.get("contacts", {})
    shades = contact_colours(list(contacts), curves)
    named = {name: one | {"colour": code} for (name, one), code in zip(contacts.items(), shades, strict=True)}
    return {**told, "contacts": named}


def about(robot: RobotLike, size: float) -> dict[str, Any]:
    """{"size", "bodies": {node: name of the body}, "joints": {the same: node of its joint}, "contacts": ...}.

    Of a contact there are its plain words, its node, and the node of the joint that carries it; "masses" are {node of a
    joint: [mass in kg, its centre in axes of the joint]}, and "collisions" the nodes of collision shapes.
    """
    bodies: dict[str, str] = {}
    joints: dict[str, str] = {}
    visual = robot.visual_model.geometryObjects if robot.visual_model is not None else ()
    for item in visual:
        path = f"{joint_path(robot, item.parentJoint)}/{node_name(item.name)}"
        bodies[path] = _body(robot.model, item)
        joints[path] = joint_path(robot, item.parentJoint)
    if not bodies:
        for index in range(1, robot.model.njoints):
            path = joint_path(robot, index)
            bodies[path], joints[path] = robot.model.names[index], path
    names = [contact.name for contact in marks(robot)]
    words = plain(names)
    contacts = {
        contact.name: {
            "words": words[contact.name],
            "path": f"/world/contacts/{node_name(contact.name)}",
            "joint": _carrier(robot, contact),
        }
        for contact in marks(robot)
    }
    told = {"size": size, "bodies": bodies, "joints": joints, "contacts": contacts}
    return told | {"masses": _masses(robot), "collisions": list(collision_paths(robot))}


def collision_paths(robot: RobotLike) -> dict[str, Any]:
    """{node: geometry object} of each bounded collision shape; none, with a warning, where a mesh is missing."""
    try:
        model = getattr(robot, "collision_model", None)
    except InputError as error:
        warnings.warn(f"collision shapes are not drawn: {error}", stacklevel=2)
        return {}
    return {
        f"{joint_path(robot, item.parentJoint)}/collision_{node_name(item.name)}": item
        for item in (model.geometryObjects if model is not None else ())
        if type(item.geometry).__name__ not in UNBOUNDED
    }


def _masses(robot: RobotLike) -> dict[str, Any]:
    """Mass [kg] and its centre, in axes of the joint, of what each joint carries."""
    found = enumerate(robot.model.inertias)
    return {
        joint_path(robot, k): [float(body.mass), [float(x) for x in body.lever]]
        for k, body in found
        if k > 0 and body.mass > 0.0
    }


def _body(model: Any, item: Any) -> str:
    """Name of the link that a shape belongs to, or of the shape."""
    frame = getattr(item, "parentFrame", 0)
    if 0 < frame < len(model.frames):
        return str(model.frames[frame].name)
    return re.sub(r"_\d+$", "", item.name)


def _carrier(robot: RobotLike, contact: Any) -> str:
    """Node of the joint that a contact point moves with; none of a contact between two bodies."""
    frame = getattr(contact, "frame", None)
    if not isinstance(frame, str) or not robot.model.existFrame(frame):
        return ""
    return joint_path(robot, robot.model.frames[robot.model.getFrameId(frame)].parentJoint)


def plain(names: Sequence[str]) -> dict[str, str]:
    """Names as one says them: "left_sole_link/0" is "left sole 1", and "left sole" where it is the only one."""
    split = [re.fullmatch(r"(.*?)(?:[/_ ](\d+))?", name) for name in names]
    stems = [
        re.sub(r"[_/]+", " ", re.sub(r"_(link|frame|body)$", "", found[1] if found else name)).strip() or name
        for found, name in zip(split, names, strict=True)
    ]
    several = Counter(stems)
    told = [
        stem if several[stem] == 1 or found is None or found[2] is None else f"{stem} {int(found[2]) + 1}"
        for stem, found in zip(stems, split, strict=True)
    ]
    return {name: words if told.count(words) == 1 else name for name, words in zip(names, told, strict=True)}
