"""Several robots and free bodies in one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pinocchio as pin

from ..common.arrays import Array
from ..errors import InputError
from ..hybrid.manifold import Manifold
from ..hybrid.system import LIMIT, LOOP
from .controllers import Controller, as_controller, name_of, no_parameter
from .geometry.pairs import ContactPair, automatic, warn_of_other_shapes
from .loops import WORLD
from .model_checks import link_frame

if TYPE_CHECKING:
    from .loops import LoopClosure
    from .robot import Robot

FORBIDDEN = "/+."  # these join names


@dataclass(frozen=True)
class Part:
    """A robot that was merged into a world.

    Attributes:
        name: its name there; its joints, frames and contacts are called NAME/...
        robot: the robot as it was merged.
        placement: where its own world stands in that of all (pin.SE3).
        q, v: its places in a configuration and in a velocity of the world.
    """

    name: str
    robot: Robot
    placement: Any
    q: slice
    v: slice

    def drive(self, controller: Any) -> Controller:
        """A controller of the whole world from one of this part, or from a function (t, q, v) -> tau of its own."""
        return PartController(self, as_controller(controller))


class PartController(Controller):
    """A controller that sees and drives one part of a world; nothing drives the others."""

    def __init__(self, part: Part, own: Controller | None) -> None:
        if own is None:
            raise InputError(f"the controller of part '{part.name}' is None; leave it out")
        self._part, self._own = part, own
        self.memory, self.period = own.memory, own.period

    def __repr__(self) -> str:
        return f"{self._own!r} of {self._part.name}"

    def parameters(self) -> dict[str, float]:
        """Those of the part's controller."""
        return self._own.parameters()

    def with_parameter(self, name: str, value: float) -> PartController:
        """A copy with one parameter of the part's controller changed."""
        return PartController(self._part, self._own.with_parameter(name, value))

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """That of the part; zero for the others."""
        total = np.zeros(len(v))
        total[self._part.v] = self._own.torque(t, q[self._part.q], v[self._part.v], z)
        return total

    def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Rate of the part's memory."""
        return self._own.rate(t, q[self._part.q], v[self._part.v], z)

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The part's sample, of as many numbers as its controller keeps."""
        return self._own.sample(t, q[self._part.q], v[self._part.v], z)

    def torque_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the part in its rows and columns."""
        result = np.zeros((len(v), 2 * len(v) + len(z)))
        result[self._part.v] = self._spread(self._own.torque_jacobian, t, q, v, z)
        return result

    def rate_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the part in its columns."""
        return self._spread(self._own.rate_jacobian, t, q, v, z)

    def sample_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the part in its columns."""
        return self._spread(self._own.sample_jacobian, t, q, v, z)

    def _spread(self, function: Callable[..., Array], t: float, q: Array, v: Array, z: Array) -> Array:
        """A Jacobian of the part (rows, 2 nv_part + memory) in the columns of the world."""
        part, nv = self._part, len(v)
        own = function(t, q[part.q], v[part.v], z, part.robot.space)
        size = part.v.stop - part.v.start
        result = np.zeros((len(own), 2 * nv + len(z)))
        result[:, part.v] = own[:, :size]
        result[:, nv + part.v.start : nv + part.v.stop] = own[:, size : 2 * size]
        result[:, 2 * nv :] = own[:, 2 * size :]
        return result


class JointControllers(Controller):
    """Several controllers at once: their forces add up. Those that are sampled share one period.

    Raises:
        InputError: two have different periods.
    """

    def __init__(self, parts: Mapping[str, Controller]) -> None:
        self._parts = dict(parts)
        periods = {own.period for own in parts.values() if own.period is not None}
        if len(periods) > 1:
            raise InputError(f"controllers are sampled at periods of {sorted(periods)} s; give them one period")
        self.period = next(iter(periods), None)
        ends = np.cumsum([0, *(own.memory for own in parts.values())])
        self.memory = int(ends[-1])
        self._places = [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def __repr__(self) -> str:
        return " and ".join(map(repr, self._parts.values()))

    def parameters(self) -> dict[str, float]:
        """Those of each part, as PART.NAME."""
        return {f"{part}.{name}": x for part, own in self._parts.items() for name, x in own.parameters().items()}

    def with_parameter(self, name: str, value: float) -> JointControllers:
        """A copy with one parameter changed."""
        part, _, rest = name.partition(".")
        if part not in self._parts:
            raise no_parameter(self, name)
        return JointControllers(self._parts | {part: self._parts[part].with_parameter(rest, value)})

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The sum of all forces."""
        return np.sum([own.torque(t, q, v, z[at]) for own, at in self._each()], axis=0)

    def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Rates of all memories."""
        return np.concatenate([own.rate(t, q, v, z[at]) for own, at in self._each()])

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The samples of those that are sampled; the memory of the others stays."""
        return np.concatenate([z[at] if own.period is None else own.sample(t, q, v, z[at]) for own, at in self._each()])

    def torque_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """The sum of theirs, each in the columns of its own memory."""
        total = np.zeros((len(v), 2 * len(v) + len(z)))
        for own, at in self._each():
            total += self._wide(own.torque_jacobian(t, q, v, z[at], space), at, len(v))
        return total

    def rate_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """Theirs below each other."""
        return np.vstack([self._wide(o.rate_jacobian(t, q, v, z[at], space), at, len(v)) for o, at in self._each()])

    def sample_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """Theirs below each other; the identity for memory that stays."""
        rows = []
        for own, at in self._each():
            still = np.hstack([np.zeros((own.memory, 2 * len(v))), np.eye(own.memory)])
            sampled = still if own.period is None else own.sample_jacobian(t, q, v, z[at], space)
            rows.append(self._wide(sampled, at, len(v)))
        return np.vstack(rows)

    def _each(self) -> list[tuple[Controller, slice]]:
        return list(zip(self._parts.values(), self._places, strict=True))

    def _wide(self, own: Array, at: slice, nv: int) -> Array:
        """Columns (2 nv + own memory) in those of all."""
        result = np.zeros((len(own), 2 * nv + self.memory))
        result[:, : 2 * nv] = own[:, : 2 * nv]
        result[:, 2 * nv + at.start : 2 * nv + at.stop] = own[:, 2 * nv :]
        return result


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

    parts: tuple[Part, ...]
    visual: bool = False

    def __call__(self, model: Any) -> Any:
        """Pinocchio's geometry model."""
        merged = pin.GeometryModel()
        for part in self.parts:
            own = part.robot.visual_model if self.visual else part.robot.collision_model
            for item in own.geometryObjects if own is not None else ():
                merged.addGeometryObject(self._moved(model, part, item))
        return merged

    def _moved(self, model: Any, part: Part, item: Any) -> Any:
        moved = pin.GeometryObject(item)
        moved.name = f"{part.name}/{item.name}"
        if item.parentJoint > 0:
            moved.parentJoint = model.getJointId(f"{part.name}/{part.robot.model.names[item.parentJoint]}")
        else:
            moved.placement = part.placement * item.placement
        frame = part.robot.model.frames[item.parentFrame].name
        moved.parentFrame = link_frame(model, f"{part.name}/{frame}") if item.parentFrame > 0 else 0
        return moved


class Merged(NamedTuple):
    """What a merged robot is made of."""

    model: Any
    parts: tuple[Part, ...]


# --- merging ----------------------------------------------------------------------------------------------------


def merge(
    robots: Sequence[Robot],
    names: Sequence[str] | None,
    pairs: str | Sequence[ContactPair],
    placements: Sequence[Any] | None,
) -> Robot:
    """See `Robot.merge`."""
    from .robot import Robot

    robots = list(robots)
    for robot in robots:
        if not isinstance(robot, Robot):
            raise InputError(f"Robot.merge got a {type(robot).__name__}; give a list of robots")
    model, parts = _joined(robots, part_names(robots, names), _placements(placements, len(robots)))
    contacts = [
        replace(
            point,
            frame=f"{part.name}/{point.frame}",
            name=f"{part.name}/{point.name}",
            enabled=point.enabled and PartMargin(point.enabled, part.q, part.v),
        )
        for part in parts
        for point in part.robot.contacts
    ]
    nominal = np.concatenate([part.robot.nominal for part in parts])
    visual, collision = MergedGeometry(parts, visual=True), MergedGeometry(parts)
    title = "+".join(part.name for part in parts)
    loops = [_moved(loop, part) for part in parts for loop in part.robot.loops]
    world = Robot(model, contacts, nominal=nominal, visual=visual, collision=collision, name=title, loops=loops)
    world.parts = {part.name: part for part in parts}
    world._solids = tuple(
        replace(solid, frame=f"{part.name}/{solid.frame}", name=f"{part.name}/{solid.name}")
        for part in parts
        for solid in part.robot.solids
    )
    own = [
        replace(pair, first=f"{part.name}/{pair.first}", second=f"{part.name}/{pair.second}")
        for part in parts
        for pair in part.robot.pairs
    ]
    if isinstance(pairs, str):
        if pairs != "auto":
            raise InputError(f"pairs is '{pairs}'; give 'auto' or a list of ContactPair")
        warn_of_other_shapes(robots, [part.name for part in parts])
        pairs = automatic(world)
    return world.with_pairs([*own, *pairs])


def part_names(robots: Sequence[Robot], names: Sequence[str] | None) -> list[str]:
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


def _moved(loop: LoopClosure, part: Part) -> LoopClosure:
    """A loop of a part as one of the world; what was fixed to the part's own world moves with that."""
    changes: dict[str, Any] = {"name": f"{part.name}/{loop.name}"}
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
    if len(given) != count:
        raise InputError(f"Robot.merge got {count} robots and {len(given)} placements; give each one")
    return [place if isinstance(place, pin.SE3) else pin.SE3(np.eye(3), _place(place)) for place in given]


def _place(given: Any) -> Array:
    place = np.asarray((0.0, 0.0, 0.0) if given is None else given, dtype=float)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise InputError(f"a placement is {given!r}; give (x, y, z) in metres, a pinocchio SE3, or None")
    return place


def placed(position: Sequence[float], quaternion: Sequence[float]) -> Any:
    """A placement from a position [m] and a quaternion (x, y, z, w)."""
    return pin.XYZQUATToSE3(np.array([*position, *quaternion], dtype=float))


def _joined(robots: Sequence[Robot], names: Sequence[str], placements: Sequence[Any]) -> Merged:
    """One model of all, and where each part is in it."""
    model, parts = pin.Model(), []
    model.name = "+".join(names)
    for robot, name, placement in zip(robots, names, placements, strict=True):
        q, v = model.nq, model.nv
        model = pin.appendModel(model, _prefixed(robot.model, name), 0, placement)
        parts.append(Part(name, robot, placement, slice(q, model.nq), slice(v, model.nv)))
    model.armature = np.concatenate([robot.model.armature for robot in robots])  # which appendModel drops
    return Merged(model, tuple(parts))


def _prefixed(model: Any, name: str) -> Any:
    """A copy whose joints and frames are called NAME/..."""
    copy = pin.Model(model)
    for k in range(1, copy.njoints):
        copy.names[k] = f"{name}/{copy.names[k]}"
    for frame in list(copy.frames)[1:]:
        frame.name = f"{name}/{frame.name}"
    return copy


# --- states -----------------------------------------------------------------------------------------------------


def pack(world: Robot, states: Mapping[str, Any]) -> tuple[Array, Array]:
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
            if values.shape != (place.stop - place.start,):
                size = place.stop - place.start
                raise InputError(f"{label} of part '{name}' has shape {values.shape}; it needs ({size},)")
            whole[place] = values
    return q, v


def part_of(world: Robot, name: str) -> Part:
    """A part by name.

    Raises:
        InputError: there is no such part; the parts are listed.
    """
    if name not in world.parts:
        raise InputError(f"there is no part '{name}'; there are {', '.join(world.parts) or 'none: nothing was merged'}")
    return world.parts[name]
