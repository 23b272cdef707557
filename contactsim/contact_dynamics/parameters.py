"""Parameters of a ContactSystem by name: what `parameter` reads and `with_parameter` changes.

contact.KIND, contact.NAME.KIND    coefficient of all contacts, or of one: friction, static_friction, restitution, and
                                   rolling and torsion [m] of those that have them
law.NAME                           parameter of the contact law
body.NAME.mass                     mass of a body of a Robot [kg]; see Robot.with_body_parameter
body.NAME.inertia_scale            factor on its rotational inertia
terrain.NAME                       parameter that the ground declares: a1, a2, a3 of Sinusoid, angle of Slope, ...
limit[.JOINT/SIDE].restitution     of all joint limits, or of the "lower" or "upper" one of a joint
controller.NAME                    parameter that the controller declares: kp, kd, kp.JOINT, kp_scale, ... of PD
gravity                            magnitude of gravity [m/s^2], whose direction is kept
"""

from __future__ import annotations

from difflib import get_close_matches
from math import isfinite
from typing import Any, NoReturn

import numpy as np

from ..common.arrays import Array
from ..contact.laws import RigidLaw
from ..errors import InputError
from ..hybrid.system import LIMIT
from ..multibody.kinematics.resistances import KINDS as MOMENTS
from ..multibody.mechanism import COEFFICIENTS
from .world import World

BODY = ("mass", "inertia_scale")
LISTED = 12  # parameters of a controller that an error names


def read(world: World, name: str) -> float:
    """Value of a parameter; of all contacts at once where they share it.

    Raises:
        InputError: no such parameter, or the contacts differ in it.
    """
    group, _, rest = name.partition(".")
    if name == "gravity":
        return _gravity(world)
    if group == "law" and rest in type(world.law.parameters).model_fields:
        return float(getattr(world.law.parameters, rest))
    if group == "terrain" and rest in _ground(world):
        return float(_ground(world)[rest])
    if group == "body":
        body, kind = _body(world, name)
        return float(world.robot.body_parameter(body, kind))
    if group == "controller":
        own = world.controller.parameters() if world.controller else {}
        return float(own[rest]) if rest in own else _refuse(world, name)
    mask, kind = _coefficient(world, name)
    chosen = _coefficients(world)[kind][mask]
    if not len(chosen):
        raise InputError(f"'{name}' is a parameter of nothing here: the system has no {group}s; leave it out")
    if len(set(chosen.tolist())) != 1:
        raise InputError(f"the {group}s differ in '{kind}'; name one of them: {group}.NAME.{kind}")
    return float(chosen[0])


def scale(world: World, name: str, value: float) -> float:
    """Change of a parameter that counts as large: its size, and for all but those of the law at least one.

    Raises:
        InputError: a coefficient of friction is zero under a rigid law, whose modes are others than with friction.
    """
    group, _, rest = name.partition(".")
    value, fields = abs(value), type(world.law.parameters).model_fields
    if group != "law" or rest not in fields:
        if isinstance(world.law, RigidLaw) and name.endswith("friction") and value == 0.0:
            raise InputError(f"'{name}' is zero, and runs with friction have other modes; give it a positive value")
        return max(1.0, value)
    default = fields[rest].default
    return value or (abs(float(default)) if _is_number(default) else 0.0) or 1.0


def changes(world: World, name: str, value: float) -> dict[str, Any]:
    """Parts of the world that another value of a parameter gives: a new law, robot, controller, gravity, ...

    Raises:
        InputError: no such parameter (the known ones are listed), or its value is out of range.
    """
    group, _, rest = name.partition(".")
    if name == "gravity":
        before = _gravity(world)
        if not (isfinite(value) and value > 0.0):
            raise InputError(f"gravity is {value}; give its magnitude, a positive number in m/s^2")
        return {"gravity": value / before * world.gravity}
    if group == "law" and rest in type(world.law.parameters).model_fields:
        return {"law": type(world.law)(**world.law.parameters.model_dump() | {rest: value})}
    if group == "terrain" and rest in _ground(world):
        return {"terrain": world.terrain.with_parameter(rest, value)}
    if group == "body":
        body, kind = _body(world, name)
        return {"robot": world.robot.with_body_parameter(body, kind, value)}
    if group == "controller" and world.controller is not None:
        return {"controller": world.controller.with_parameter(rest, value)}
    return _changed_coefficients(world, *_coefficient(world, name), value)


def names(world: World) -> list[str]:
    """All parameters that can be read: those that all contacts share, and those of single contacts, bodies, joints."""
    points = world.mechanism.names
    found = _shared(world)
    found += [f"contact.{point}.{kind}" for point in points for kind in COEFFICIENTS]
    found += [f"contact.{name.replace('/' + kind, '.' + kind)}" for name, kind in _resistances(world)]
    found += [f"law.{name}" for name, value in world.law.parameters.model_dump().items() if _is_number(value)]
    bodies = getattr(world.robot, "bodies", {})
    found += [f"body.{body}.{kind}" for kind in BODY for body in bodies]
    found += [f"controller.{name}" for name in (world.controller.parameters() if world.controller else {})]
    found += [f"terrain.{name}" for name in _ground(world)]
    found += [f"limit.{limit}.restitution" for limit in _limits(world)]
    return found + (["gravity"] if bodies and world.gravity.any() else [])


def _shared(world: World) -> list[str]:
    """Coefficients of all contacts, or of all joint limits, that have one value."""
    every = [f"contact.{kind}" for kind in COEFFICIENTS if world.mechanism.names]
    every += [f"contact.{kind}" for kind in MOMENTS if any(own == kind for _, own in _resistances(world))]
    every += [f"limit.{COEFFICIENTS[-1]}"] if _limits(world) else []
    found = []
    for name in every:
        mask, kind = _coefficient(world, name)
        if len(set(_coefficients(world)[kind][mask].tolist())) == 1:
            found.append(name)
    return found


def _ground(world: World) -> dict[str, float]:
    """Parameters of the ground of a Robot; the functions of a Mechanism hold their own."""
    return world.terrain.parameters() if hasattr(world.robot, "bodies") else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _gravity(world: World) -> float:
    if not hasattr(world.robot, "bodies"):
        raise InputError("the functions of a Mechanism hold its gravity; it is not a parameter of the system")
    size = float(np.linalg.norm(world.gravity))
    if not size > 0.0:
        raise InputError("gravity is zero here and has no direction; give ContactSystem(gravity=...) as a vector")
    return size


def _body(world: World, name: str) -> tuple[str, str]:
    """Name of a body (it may have dots of its own) and kind of its parameter."""
    body, _, kind = name.partition(".")[2].rpartition(".")
    if kind not in BODY or not body or not hasattr(world.robot, "bodies"):
        _refuse(world, name)
    return body, kind


def _limits(world: World) -> list[str]:
    """Joint limits, as JOINT/SIDE."""
    return [name.removeprefix(LIMIT) for name in world.mechanism.constraint_names]


def _coefficient(world: World, name: str) -> tuple[Array, str]:
    """Which of all contacts and joint limits (a mask), and which kind of a coefficient, a full name means."""
    group, _, rest = name.partition(".")
    one, _, kind = rest.rpartition(".")
    allowed = {"contact": (*COEFFICIENTS, *MOMENTS), "law": COEFFICIENTS, "limit": COEFFICIENTS[-1:]}
    if kind not in allowed.get(group, ()):
        _refuse(world, name)
    points, limits = list(world.mechanism.names), _limits(world)
    if kind in MOMENTS:
        return _of_moments(world, one, kind), "friction"
    known = limits if group == "limit" else points
    if one and one not in known:
        what = "joint limit" if group == "limit" else "contact"
        raise InputError(f"no {what} '{one}'; there are {', '.join(known) or 'none'}")
    owners = ["limit"] * len(limits) if group == "limit" else [group] * len(points)
    place = [""] * len(points) + owners if group == "limit" else owners + [""] * len(limits)
    mask = [bool(mine) and one in ("", name) for mine, name in zip(place, points + limits, strict=True)]
    return np.array(mask + [False] * len(world.mechanism.hosts), dtype=bool), kind


def _resistances(world: World) -> list[tuple[str, str]]:
    """(name, "rolling" or "torsion") of each resistance."""
    return [(name, name.rpartition("/")[2]) for name in world.mechanism.resistance_names]


def _of_moments(world: World, one: str, kind: str) -> Array:
    """Which of all coefficients are those of rolling or torsion, of one contact or of all that have them."""
    own = [name == f"{one}/{kind}" if one else of == kind for name, of in _resistances(world)]
    if not any(own):
        where = f"contact '{one}'" if one else "contact"
        raise InputError(
            f"no {where} has {kind} friction here; give ContactPoint(..., {kind}=...) a positive number in metres"
        )
    return np.array([False] * world.count + own)


def _coefficients(world: World) -> dict[str, Array]:
    friction, static = world.own_friction
    return {"friction": friction, "static_friction": static, "restitution": world.restitution}


def _changed_coefficients(world: World, chosen: Array, kind: str, value: float) -> dict[str, Any]:
    """Parts of the world: friction, static friction and restitution (nc,) with one of them changed."""
    upper = 1.0 if kind == "restitution" else float("inf")
    if not (isfinite(value) and 0.0 <= value <= upper):
        wanted = "from 0 to 1" if kind == "restitution" else "that is finite and not negative"
        raise InputError(f"{kind} is {value}; give a number {wanted}")
    if value == 0.0 and bool(chosen[world.count :].any()):
        raise InputError("rolling and torsion are zero only where a contact is made without; give a positive number")
    arrays = _coefficients(world)
    friction, static = world.own_friction
    arrays[kind] = np.where(chosen, value, arrays[kind])
    if kind == "friction":  # a static coefficient that was not set apart follows the kinetic one
        follows = chosen & (static == friction)
        arrays["static_friction"] = np.where(follows, value, np.maximum(static, arrays["friction"]))
    if np.any(arrays["static_friction"] < arrays["friction"]):
        raise InputError(f"static_friction {value} is smaller than the kinetic friction; raise it or lower the other")
    return {"own_friction": (arrays["friction"], arrays["static_friction"]), "restitution": arrays["restitution"]}


def _refuse(world: World, name: str) -> NoReturn:
    """Raise InputError with what exists."""
    moments = sorted({kind for _, kind in _resistances(world)})
    known = [f"contact.{kind} or contact.NAME.{kind}" for kind in (*COEFFICIENTS, *moments)]
    known += ["limit.restitution or limit.JOINT/SIDE.restitution"] if _limits(world) else []
    known += [f"law.{p}" for p in type(world.law.parameters).model_fields]
    bodies = list(getattr(world.robot, "bodies", {}))
    if bodies:
        known += [f"body.NAME.{kind}" for kind in BODY] + ["gravity"]
    known += [f"terrain.{p}" for p in _ground(world)]
    own = [f"controller.{p}" for p in (world.controller.parameters() if world.controller else {})]
    known += own[:LISTED] + ["..."] * (len(own) > LISTED)
    where = f" (NAME of a body: {', '.join(bodies)})" if bodies and name.startswith("body") else ""
    close = get_close_matches(name, [one for entry in known for one in entry.split(" or ")] + own, n=1)
    perhaps = f", perhaps {close[0]}" if close and "NAME" not in close[0] else ""
    raise InputError(f"no parameter '{name}'{perhaps}; there are {', '.join(known)}{where}")
