"""Several robots and free bodies in one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pinocchio as pin

from ..common.arguments import VECTOR, either, instance, one_of, optional, several
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.telling import tell
from ..errors import InputError
from ..hybrid.system import LIMIT, LOOP
from .contact_point import ContactPoint
from .controllers import name_of
from .geometry.mesh_hulls import MeshHull, mesh_hulls
from .geometry.pairing import affordable, automatic, expanded, tell_of_stand_ins, warn_of_other_shapes
from .geometry.pairs import CYLINDER_SIDES, ContactPair
from .geometry.solids import FACETED, Solid, items_of
from .loops import WORLD, JointCoupling, Loop
from .mechanism import GROUND
from .model_checks import link_frame
from .robot_model import Part, RobotModel
from .springs import joined
from .terrain import NoGround

R = TypeVar("R", bound=RobotModel)

PAIRS = either(one_of("auto"), several(instance(ContactPair, "a ContactPair"), "a list of ContactPair"))
PLACE = optional(either(instance(pin.SE3, "a pinocchio SE3"), VECTOR))
PLACES = several(PLACE, "a list of places, each (x, y, z) in metres, a pinocchio SE3, or None")
FORBIDDEN = "/+."  # these join names


@dataclass(frozen=True)
class PartMargin:
    """An `enabled` function of a part, in the coordinates of the world."""

    function: Callable[[float, Array, Array], float]
    q: slice
    v: slice

    def __call__(self, t: float, q: Array, v: Array) -> float:
        """The margin at the part's own state."""
        return self.function(t, q[self.q], v[self.v])

    def __repr__(self) -> str:
        return name_of(self.function)


@dataclass(frozen=True)
class MergedGeometry:
    """The geometry of all parts, on the joints and frames of the merged model."""

    parts: tuple[Part[Any], ...]
    visual: bool = False

    def __call__(self, model: Any) -> Any:
        """Pinocchio's geometry model."""
        merged = pin.GeometryModel()
        for part in self.parts:
            own = part.robot.visual_model if self.visual else part.robot.collision_model
            for item in items_of(own):
                merged.addGeometryObject(self._moved(model, part, item))
        return merged

    def _moved(self, model: Any, part: Part[Any], item: Any) -> Any:
        moved = pin.GeometryObject(item)
        moved.name = f"{part.name}/{item.name}"
        if item.parentJoint > 0:
            moved.parentJoint = model.getJointId(f"{part.name}/{part.robot.model.names[item.parentJoint]}")
        else:
            moved.placement = part.placement * item.placement
        frame = part.robot.model.frames[item.parentFrame].name
        moved.parentFrame = link_frame(model, f"{part.name}/{frame}") if item.parentFrame > 0 else 0
        return moved


# --- merging ----------------------------------------------------------------------------------------------------


def merge(
    kind: type[R],
    robots: Sequence[R],
    names: Sequence[str] | None,
    pairs: str | Sequence[ContactPair],
    placements: Sequence[Any] | None,
    corners: int,
    sides: int,
) -> R:
    """See `Robot.merge`; `kind` is the class of the robots."""
    robots = list(robots)
    model, parts = _joined(robots, part_names(robots, names), _placements(placements, len(robots)))
    world = kind(
        model,
        [_renamed_point(point, part) for part in parts for point in part.robot.contacts],
        nominal=np.concatenate([part.robot.nominal for part in parts]),
        visual=MergedGeometry(parts, visual=True),
        collision=MergedGeometry(parts),
        name="+".join(part.name for part in parts),
        loops=[_moved(loop, part) for part in parts for loop in part.robot.loops],
    )
    solids, hulls = _solids(parts, corners, sides)
    world = world._with(parts={part.name: part for part in parts}, _solids=solids, **_of_files(robots), **_apart(parts))
    own = [
        replace(pair, first=f"{part.name}/{pair.first}", second=f"{part.name}/{pair.second}")
        for part in parts
        for pair in part.robot.pairs
    ]
    if PAIRS.check("pairs", pairs) == "auto":
        warn_of_other_shapes(world, robots, [part.name for part in parts])
        for part in parts:
            tell_of_stand_ins(hulls.get(part.name, []), part.name)
        pairs, world = automatic(world), world._with(groups=(*world.groups, tuple(part.name for part in parts)))
    return world._with(pairs=expanded(world, [*own, *pairs]))


def _solids(
    parts: Sequence[Part[Any]], corners: int, sides: int
) -> tuple[tuple[Solid, ...], dict[str, list[MeshHull]]]:
    """The solids of all parts under their new names, and the hulls of meshes; these, cylinders and cones if few.

    A cylinder or cone that was given a number of sides of its own keeps it.
    """
    hulls = {part.name: mesh_hulls(part.robot, corners) for part in parts}
    hulls = {name: found for name, found in hulls.items() if found}
    found: list[Solid] = []
    for part in parts:
        for solid in (*part.robot.solids, *(hull.solid for hull in hulls.get(part.name, []))):
            own = {"sides": sides} if solid.kind in FACETED and solid.sides == CYLINDER_SIDES else {}
            found.append(replace(solid, frame=f"{part.name}/{solid.frame}", name=f"{part.name}/{solid.name}", **own))
    if affordable(found, [part.name for part in parts]):
        return tuple(found), hulls
    meshes = {f"{name}/{hull.solid.name}" for name, own in hulls.items() for hull in own}
    return tuple(s for s in found if s.kind not in FACETED and s.name not in meshes), {}


def _apart(parts: Sequence[Part[Any]]) -> dict[str, Any]:
    """Groups of shapes that pass through each other, and couples that are left out with the reasons."""

    def named(part: Part[Any], name: str) -> str:
        return name if name == GROUND else f"{part.name}/{name}"

    reasons = {
        frozenset(named(part, name) for name in names): reason
        for part in parts
        for names, reason in part.robot.kept_apart.items()
    }
    groups = tuple(tuple(named(part, name) for name in group) for part in parts for group in part.robot.groups)
    return {"groups": groups, "kept_apart": reasons}


def _of_files(robots: Sequence[RobotModel]) -> dict[str, Any]:
    """Data that robots of files bring along: their springs, and gravity and ground of the first whose file has them."""
    joints = np.cumsum([0, *(robot.model.njoints - 1 for robot in robots)])
    grounds = [robot.terrain for robot in robots if robot.terrain is not None]
    found = next((ground for ground in grounds if not isinstance(ground, NoGround)), grounds[0] if grounds else None)
    gravities = [robot.gravity for robot in robots if robot.gravity is not None]
    if any(not np.array_equal(gravity, gravities[0]) for gravity in gravities):
        tell(
            f"the files of the parts differ in gravity; that of the first, {gravities[0]}, is taken: give the system"
            " its gravity to have another",
        )
    springs = joined([(robot.model, robot.own_springs) for robot in robots], joints[:-1].tolist())
    return {"own_springs": springs, "terrain": found, "gravity": gravities[0] if gravities else None}


def _renamed_point(point: ContactPoint, part: Part[Any]) -> ContactPoint:
    """A contact point of a part as one of the world."""
    enabled = point.enabled and PartMargin(point.enabled, part.q, part.v)
    return replace(point, frame=f"{part.name}/{point.frame}", name=f"{part.name}/{point.name}", enabled=enabled)


def part_names(robots: Sequence[RobotModel], names: Sequence[str] | None) -> list[str]:
    """The names of the parts.

    Raises:
        InputError: there are no robots, not as many names, or one that is empty, appears twice or has a sign of names.
    """
    if not robots:
        raise InputError("Robot.merge got no robots; give at least one")
    chosen = [robot.name for robot in robots] if names is None else list(names)
    if len(chosen) != len(robots):
        raise InputError(f"Robot.merge got {len(robots)} robots and {len(chosen)} names; give each a name")
    for name in chosen:
        if chosen.count(name) > 1:
            raise InputError(f"two robots or bodies of the world are called '{name}'; give them names that differ")
        if not name or any(sign in name for sign in FORBIDDEN) or name.startswith((LIMIT, LOOP)):
            signs = f"leave out the signs {FORBIDDEN}, and '{LIMIT}' or '{LOOP}' at the beginning"
            raise InputError(f"'{name}' cannot be the name of a part; {signs}")
    return chosen


def _moved(loop: Loop, part: Part[Any]) -> Loop:
    """A loop of a part as one of the world; what was fixed to the part's own world moves with that."""
    changes: dict[str, Any] = {"name": f"{part.name}/{loop.name}"}
    if isinstance(loop, JointCoupling):
        return replace(loop, joints=tuple(f"{part.name}/{joint}" for joint in loop.joints), **changes)
    for side in ("a", "b"):
        frame = getattr(loop, f"frame_{side}")
        changes[f"frame_{side}"] = frame if frame == WORLD else f"{part.name}/{frame}"
        if frame == WORLD:
            turn = pin.exp3(np.array(getattr(loop, f"rotation_{side}")))
            place = part.placement * pin.SE3(turn, np.array(getattr(loop, f"offset_{side}")))
            changes[f"offset_{side}"] = tuple(map(float, place.translation))
            changes[f"rotation_{side}"] = tuple(map(float, pin.log3(place.rotation)))
    return replace(loop, **changes)


def _placements(given: Sequence[Any] | None, count: int) -> list[Any]:
    if given is None:
        return [pin.SE3.Identity()] * count
    places = PLACES.check("placements", given)
    if len(places) != count:
        raise InputError(f"Robot.merge got {count} robots and {len(places)} placements; give each one")
    return [
        place if isinstance(place, pin.SE3) else pin.SE3(np.eye(3), np.zeros(3) if place is None else place)
        for place in places
    ]


def placed(position: Sequence[float], quaternion: Sequence[float]) -> Any:
    """A placement from a position [m] and a quaternion (x, y, z, w)."""
    return pin.XYZQUATToSE3(np.array([*position, *quaternion], dtype=float))


def _joined(
    robots: Sequence[RobotModel], names: Sequence[str], placements: Sequence[Any]
) -> tuple[Any, tuple[Part[Any], ...]]:
    """One model of all, and where each part is in it."""
    model, parts = pin.Model(), []
    model.name = "+".join(names)
    for robot, name, placement in zip(robots, names, placements, strict=True):
        q, v = model.nq, model.nv
        model = pin.appendModel(model, _prefixed(robot.model, name), 0, placement)
        parts.append(Part(name, robot, placement, slice(q, model.nq), slice(v, model.nv)))
    model.armature = np.concatenate([robot.model.armature for robot in robots])  # which appendModel drops
    return model, tuple(parts)


def _prefixed(model: Any, name: str) -> Any:
    """A copy whose joints and frames are called NAME/..."""
    copy = pin.Model(model)
    for k in range(1, copy.njoints):
        copy.names[k] = f"{name}/{copy.names[k]}"
    for frame in list(copy.frames)[1:]:
        frame.name = f"{name}/{frame.name}"
    return copy


# --- states -----------------------------------------------------------------------------------------------------


def pack(world: RobotModel, states: Mapping[str, Any]) -> tuple[Array, Array]:
    """(q, v) of a world from {part: (q, v), or anything with .q and .v}; parts left out rest in their nominal pose.

    Raises:
        InputError: there is no such part, or a state has the wrong size.
    """
    q, v = np.array(world.nominal, dtype=float), np.zeros(world.nv)
    for name, state in states.items():
        part = part_of(world, name)
        given = (state.q, state.v) if hasattr(state, "q") else state
        for label, whole, place, own in (("q", q, part.q, given[0]), ("v", v, part.v, given[1])):
            values = np.asarray(own, dtype=float)
            values = part.robot.space.with_pairs(values) if label == "q" else values
            if values.shape != (place.stop - place.start,):
                size = place.stop - place.start
                raise InputError(f"{label} of part '{name}' has shape {values.shape}; it needs ({size},)")
            whole[place] = values
    return q, v


def part_of(world: RobotModel, name: str) -> Part[Any]:
    """A part by name.

    Raises:
        InputError: there is no such part; the parts are listed.
    """
    if name not in world.parts:
        raise InputError(f"there is no part '{name}'; there are {', '.join(world.parts) or 'none: nothing was merged'}")
    return world.parts[name]
