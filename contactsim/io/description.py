"""A ContactSystem as plain data, and back: what a stored run holds of the system that made it.

Functions cannot be written to a file. They are stored by name, and stand-ins that refuse to be called take their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common import registry
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.laws import ContactLaw
from ..contact_dynamics.contact_system import ContactSystem
from ..contact_dynamics.engines import PYTHON
from ..errors import InputError
from ..hybrid.tolerances import Tolerances
from ..multibody import terrain as grounds
from ..multibody.contact_point import ContactEllipsoid, ContactPoint, ContactRim
from ..multibody.controllers import Controller, holds, name_of
from ..multibody.driving import PD
from ..multibody.geometry.pairs import ContactPair
from ..multibody.loops import stored_loop
from ..multibody.mechanism import COEFFICIENTS
from ..multibody.primitives import PrimitiveGeometry
from ..multibody.robot import Robot
from ..multibody.robot_files.reading import (
    GeometryFile,
    StoredGeometry,
    model_of,
    model_text,
    placement_numbers,
    placement_of,
    stored,
)
from ..multibody.robot_model import Part
from ..multibody.springs import Lift, Springs
from ..multibody.terrain import Terrain

if TYPE_CHECKING:
    from ..multibody.latches import Latch

Description = dict[str, Any]

SPRINGS = ("stiffness", "rest", "curve", "drag")  # the arrays of springs

# By the name of their class in `terrain`.
GROUNDS: dict[str, tuple[str, Callable[[Any], Description]]] = {
    "Flat": ("flat", lambda ground: {"height": ground.height, "velocity": ground.belt()[:2].tolist()}),
    "NoGround": ("none", lambda ground: {}),
    "Slope": ("slope", lambda ground: {"angle": ground.angle, "downhill": list(ground.downhill)}),
    "Plane": (
        "plane",
        lambda ground: {
            "point": ground.plane()[0].tolist(),
            "normal": ground.plane()[1].tolist(),
            "velocity": ground.belt().tolist(),
        },
    ),
    "Sinusoid": ("sinusoid", lambda ground: {**ground.parameters(), "velocity": list(ground.velocity)}),
    "HeightField": (
        "height-field",
        lambda ground: {
            "x": ground.x.tolist(),
            "y": ground.y.tolist(),
            "heights": ground.field.tolist(),
            "velocity": list(ground.velocity),
        },
    ),
}


def describe(system: ContactSystem) -> Description:
    """The system as data that JSON can hold; functions by their name."""
    controller = system.controller
    return {
        "robot": _describe_robot(system.robot) if isinstance(system.robot, Robot) else None,
        "mechanism": type(system.robot).__name__,
        "terrain": _describe_terrain(system.terrain),
        "law": {
            "name": registry.name_of("contact_laws", type(system.law)) or None,
            "parameters": system.law.parameters.model_dump(),
        },
        "controller": controller and _describe_controller(controller),
        "gravity": system.gravity.tolist(),
        "joint_limits": system.joint_limits,
        "engine": system.world.engine,
        "loops": [asdict(loop) for loop in system.loops],
        "latches": [_describe_latch(latch) for latch in system.world.latches],
        "pushes": [
            asdict(push) | {"force": push.force.tolist(), "point": push.point.tolist()} for push in system.pushes
        ],
        "tolerances": asdict(system.tolerances),
        **{name: getattr(system, name).tolist() for name in COEFFICIENTS},
    }


def rebuild(description: Description) -> ContactSystem:
    """The system of a description; functions, and controllers but for a PD that holds still, raise when called.

    Raises:
        InputError: the mechanism, the terrain or the law exists as code only.
    """
    if description["robot"] is None:
        raise InputError(f"the functions of its {description['mechanism']} are not stored")
    law = description["law"]
    if law["name"] is None:
        raise InputError("its contact law is not a registered plugin")
    robot, controller = _rebuild_robot(description["robot"]), description["controller"]
    system = ContactSystem(
        robot,
        _rebuild_terrain(description["terrain"]),
        law_of(description),
        controller and _rebuild_controller(robot, controller),
        description["gravity"],
        description["joint_limits"],
        [stored_loop(loop) for loop in description.get("loops", ())],
        tolerances=Tolerances(**description["tolerances"]),
        latches=[_rebuild_latch(latch) for latch in description.get("latches", ())],
    )
    if (engine := description.get("engine")) in (PYTHON, *registry.names("engines")):
        system = system.on_engine(engine)
    for push in description["pushes"]:
        system = system.with_push(push["frame"], push["force"], push["end"], push["point"])
    return system.with_coefficients(*(np.array(description[name], dtype=float) for name in COEFFICIENTS))


def law_of(description: Description) -> ContactLaw:
    """The contact law that a description names, with its parameters."""
    law = description["law"]
    found: ContactLaw = registry.load("contact_laws", law["name"])(**law["parameters"])
    return found


# --- several systems of one run ---------------------------------------------------------------------------------


def says(found: Description, stored: Description) -> bool:
    """True where a description says what a stored one says, but for the places of meshes.

    Of what the stored one does not know it says nothing.
    """
    return _says(without_paths(found), without_paths(stored))


def _says(found: Any, stored: Any) -> bool:
    if isinstance(found, dict) and isinstance(stored, dict):
        return all(_says(found.get(key), value) for key, value in stored.items())
    if isinstance(found, list) and isinstance(stored, list):
        return len(found) == len(stored) and all(map(_says, found, stored))
    return bool(found == stored)


def without_paths(description: Description) -> Description:
    """A description without the places of the meshes of its robot."""
    return description | {"robot": _without_geometry(description["robot"])}


def _without_geometry(robot: Description) -> Description:
    bare = {key: value for key, value in robot.items() if key != "geometry"}
    if "parts" in bare:
        bare["parts"] = [part | {"robot": _without_geometry(part["robot"])} for part in bare["parts"]]
    return bare


def differences(systems: Sequence[Any]) -> list[Description]:
    """For each of several systems the parameters that are not the same in all of them, its pushes and its inputs."""
    apart = {system.world.of_parameters: system for system in systems}  # others differ in pushes and inputs alone
    known = {key: system.parameters() for key, system in apart.items()}
    values = [known[system.world.of_parameters] for system in systems]
    names = dict.fromkeys(name for own in known.values() for name in own)
    varying = {name for name in names if any(own.get(name) != values[0].get(name) for own in known.values())}
    for name in list(varying):  # friction takes the static coefficient along: both are set
        if name.endswith(".friction"):
            varying.add(name.removesuffix("friction") + "static_friction")
    return [
        {
            "parameters": {name: own[name] for name in names if name in varying and name in own},
            "pushes": [[push.frame, push.force.tolist(), push.end, push.point.tolist()] for push in system.pushes],
            "action": system.world.inputs,
        }
        for system, own in zip(systems, values, strict=True)
    ]


def variants(given: Sequence[Description], system: Any) -> list[Any]:
    """The systems that differ from one of them as `differences` says, in their order."""
    found: list[Any] = []
    for variant in given:
        made: Any = system
        known = made.parameters()
        for name, value in variant["parameters"].items():
            if name in known or not name.startswith("controller."):  # a stand-in for a controller has no parameters
                made = made.with_parameter(name, value)
        found.append(made.with_pushes(variant["pushes"]).with_action(variant.get("action")))
    return found


# --- stand-ins --------------------------------------------------------------------------------------------------


class StoredController(Controller):
    """Stands for a controller of which a file holds the name only."""

    def __init__(self, name: str, memory: int, period: float | None) -> None:
        self.name, self.memory, self.period = name, memory, period

    @holds
    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Nothing to give: raises InputError."""
        raise _not_stored("controller", self.name)


LATCH_FUNCTIONS = ("closes", "opens", "enabled")


@dataclass(frozen=True)
class StoredFunction:
    """Stands for an `enabled` function of which a file holds the name only."""

    name: str

    def __call__(self, t: float, q: Array, v: Array) -> float:
        """Nothing to give: raises InputError."""
        raise _not_stored("function", self.name)

    def __repr__(self) -> str:
        return self.name


def _not_stored(kind: str, name: str) -> InputError:
    remedy = "load it with Trajectory.load(path, system=...)"
    return InputError(f"the {kind} {name} of this run was stored by name only; {remedy}")


# --- parts ------------------------------------------------------------------------------------------------------


def _describe_robot(robot: Robot) -> Description:
    contacts = []
    for point in robot.contacts:
        enabled = point.enabled and name_of(point.enabled)
        values = {name: _plain(getattr(point, name)) for name in point.__dataclass_fields__}
        contacts.append(values | {"enabled": enabled})
    return {
        "name": robot.name,
        "model": model_text(robot.model),
        "contacts": contacts,
        "nominal": robot.nominal.tolist(),
        "geometry": _describe_geometry(robot._visual),
        **({} if robot.own_springs is None else {"springs": _describe_springs(robot.own_springs)}),
        **({} if robot._actuated is None else {"actuated": robot._actuated.tolist()}),
        **(_describe_world(robot) if robot.parts or robot.pairs else {}),
    }


def _describe_latch(latch: Latch) -> Description:
    """The fields of a latch; times as numbers, functions by name."""
    from ..multibody.latches import AtTime, Latch

    values = {name: getattr(latch, name) for name in Latch.__dataclass_fields__}
    for name in LATCH_FUNCTIONS:
        if values[name] is not None:
            values[name] = values[name].time if isinstance(values[name], AtTime) else name_of(values[name])
    return values


def _rebuild_latch(values: Description) -> Latch:
    from ..multibody.latches import AtTime, Latch

    found = dict(values)
    for name in LATCH_FUNCTIONS:
        if found[name] is not None:
            found[name] = StoredFunction(found[name]) if isinstance(found[name], str) else AtTime(found[name])
    return Latch(**found)


def _describe_springs(springs: Springs) -> Description:
    lifts = [asdict(lift) for lift in springs.lifts]
    return {name: getattr(springs, name).tolist() for name in SPRINGS} | {"lifts": lifts}


def _rebuild_springs(data: Description) -> Springs:
    lifts = tuple(Lift(**_tuples(lift)) for lift in data["lifts"])
    stiffness, rest, curve, drag = (np.array(data[name], dtype=float) for name in SPRINGS)
    return Springs(stiffness, rest, curve, drag, lifts)


def _describe_world(robot: Robot) -> Description:
    """Solids, pairs and parts of a robot that has several parts or contacts between its bodies."""
    return {
        "solids": [asdict(solid) for solid in robot.solids],
        "pairs": [
            {name: getattr(pair, name) for name in ContactPair.__dataclass_fields__}
            | {"enabled": pair.enabled and name_of(pair.enabled)}
            for pair in robot.pairs
        ],
        "parts": [
            {
                "name": part.name,
                "robot": _describe_robot(part.robot),
                "placement": placement_numbers(part.placement),
            }
            for part in robot.parts.values()
        ],
    }


def _rebuild_robot(data: Description) -> Robot:
    from ..multibody.geometry.solids import Solid
    from ..multibody.merge import MergedGeometry

    contacts = [
        _contact_kind(point)(**_tuples(point) | {"enabled": point["enabled"] and StoredFunction(point["enabled"])})
        for point in data["contacts"]
    ]
    parts = _rebuild_parts(data.get("parts", ()))
    visual = MergedGeometry(parts, visual=True) if parts else _rebuild_geometry(data["geometry"])
    robot = Robot(model_of(data["model"]), contacts, nominal=data["nominal"], visual=visual, name=data["name"])
    if "springs" in data:
        robot.own_springs = _rebuild_springs(data["springs"])
    if "actuated" in data:
        robot._actuated = np.array(data["actuated"], dtype=bool)
    robot.parts = {part.name: part for part in parts}
    if "pairs" in data:
        robot._solids = tuple(Solid(**_tuples(solid)) for solid in data["solids"])
        robot.pairs = tuple(
            ContactPair(**pair | {"enabled": pair["enabled"] and StoredFunction(pair["enabled"])})
            for pair in data["pairs"]
        )
    return robot


def _contact_kind(point: Description) -> type[ContactPoint]:
    """The class of a contact, by what only it has."""
    if "rim" in point:
        return ContactRim
    return ContactEllipsoid if "radii" in point else ContactPoint


def _plain(value: Any) -> Any:
    """A list of plain numbers of a tuple; anything else as it is."""
    return [float(number) for number in value] if isinstance(value, tuple) else value


def _rebuild_parts(given: Iterable[Description]) -> tuple[Part[Robot], ...]:
    parts, q, v = [], 0, 0
    for data in given:
        robot = _rebuild_robot(data["robot"])
        placement = placement_of(data["placement"])
        parts.append(Part(data["name"], robot, placement, slice(q, q + robot.nq), slice(v, v + robot.nv)))
        q, v = q + robot.nq, v + robot.nv
    return tuple(parts)


def _tuples(data: Description) -> Description:
    return {name: _tuple(value) if isinstance(value, list) else value for name, value in data.items()}


def _tuple(values: list[Any]) -> tuple[Any, ...]:
    return tuple(_tuple(value) if isinstance(value, list) else value for value in values)


def _rebuild_geometry(data: Description | None) -> Any:
    if data is None:
        return None
    if "size" in data:
        return PrimitiveGeometry(**_tuples(data))
    return StoredGeometry(data["path"], tuple(data["folders"]), data["urdf"])


def _describe_geometry(source: Any) -> Description | None:
    source = stored(source) if isinstance(source, GeometryFile) else source
    if isinstance(source, StoredGeometry):
        return asdict(source) | {"folders": list(source.folders)}
    return asdict(source) if isinstance(source, PrimitiveGeometry) else None


def _describe_terrain(terrain: Terrain) -> Description:
    name = type(terrain).__name__
    if type(terrain) is not getattr(grounds, name, None):  # a user's own
        return {"kind": None, "class": name}
    if name in GROUNDS:
        kind, parameters = GROUNDS[name]
        return {"kind": kind, **parameters(terrain)}
    if isinstance(terrain, grounds.Moving):
        return _describe_moving(terrain)
    given = {"function": name_of(terrain.height)} if isinstance(terrain, grounds.Function) else {}
    return {"kind": None, "class": name, **given}


def _describe_moving(terrain: grounds.Moving) -> Description:
    from ..multibody.terrain.moving import Given, Oscillation

    if isinstance(terrain.motion, Oscillation):
        motion = asdict(terrain.motion) | {"amplitude": list(terrain.motion.amplitude)}
        return {"kind": "moving", "ground": _describe_terrain(terrain.ground), "motion": motion}
    given = terrain.motion.functions[0] if isinstance(terrain.motion, Given) else terrain.motion
    return {"kind": None, "class": "Moving", "function": name_of(given)}


def _rebuild_terrain(data: Description) -> Terrain:
    if data["kind"] == "moving":
        return grounds.Moving(_rebuild_terrain(data["ground"]), grounds.Oscillation(**data["motion"]))
    for ground, (kind, _) in GROUNDS.items():
        if data["kind"] == kind:
            made: Terrain = getattr(grounds, ground)(**{name: value for name, value in data.items() if name != "kind"})
            return made
    function = f" with the function {data['function']}" if "function" in data else ""
    raise InputError(f"its terrain {data.get('class', data['kind'])}{function} is not stored")


def _describe_controller(controller: Controller) -> Description:
    name = controller.name if isinstance(controller, StoredController) else name_of(controller)
    known = controller.as_data() if type(controller) is PD else None
    return {"name": name, "memory": controller.memory, "period": controller.period, "pd": known}


def _rebuild_controller(robot: Robot, data: Description) -> Controller:
    """The controller of a file; a stand-in that raises when called, where the file holds its name only."""
    if data["pd"] is not None:
        return PD.from_data(robot, data["pd"], data["period"])
    return StoredController(data["name"], data["memory"], data["period"])
