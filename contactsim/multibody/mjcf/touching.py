"""Contacts of a compiled MJCF file: its ground, contact points against it, and pairs with what is fixed in the world.

MuJoCo's rules: two geoms touch where contype of one and conaffinity of the other have a bit in common, unless their
bodies are excluded, or parent and child; a pair that the file names touches in any case. Friction is that of the geom
with the higher priority, else the larger one; it is zero where the dimension of the contact is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot
from typing import Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...errors import InputError
from ..contact_point import ContactPoint
from ..forest import data_of
from ..geometry.collision_solids import GEOMETRY, placement_of, solids_of
from ..geometry.pairs import ContactPair
from ..geometry.solids import Solid
from ..model_checks import link_frame
from ..robot_files.geometry_files import CHOICES, FOOT, shape_points
from ..terrain import Flat, NoGround, Plane, Slope, Terrain
from ..zero import ASIDE, MOTION
from .compiled import FREE, WORLD, Compiled
from .shapes import BOX, SPHERE, fixed_place, ground_of

CONTACT_OFF = 1 | 16  # MuJoCo's flags of all constraints, and of contacts
PARENTS_TOUCH = 1024
MEETS = ("sphere", "box", "half_space")  # solids that points of other bodies touch
SAMPLES = 3  # configurations at which is seen how a body can move


@dataclass(frozen=True)
class Touching:
    """What of a robot touches what.

    Attributes:
        points: contact points, for the ground and for the pairs.
        solids: all shapes against which points press.
        pairs: points against solids that are fixed in the world or on a tree of bodies apart of which one floats
            freely, and pairs that the file names.
        left_out: geoms that collide in the file and have no contact points here.
        of_geoms: the solids by their geoms.
    """

    points: tuple[ContactPoint, ...]
    solids: tuple[Solid, ...]
    pairs: tuple[ContactPair, ...]
    left_out: tuple[int, ...]
    of_geoms: Mapping[int, Solid]


def terrain_of(source: Compiled) -> Terrain:
    """The ground of a file: its most level plane, or none."""
    ground = ground_of(source)
    if ground is None or source.m.opt.disableflags & CONTACT_OFF:
        return NoGround()
    place = fixed_place(source, ground)
    point, normal = place.translation, place.rotation[:, 2]
    if abs(normal[2] - 1.0) < ASIDE**2:
        return Flat(float(point[2]))
    if abs(float(normal @ point)) < ASIDE and normal[2] > ASIDE:
        angle = float(np.arctan2(hypot(normal[0], normal[1]), normal[2]))
        return Slope(angle, (float(normal[0]), float(normal[1])))
    return Plane(np.array(point), np.array(normal), np.zeros(3))


# --- MuJoCo's rules ---------------------------------------------------------------------------------------------


def named_pair(source: Compiled, one: int, two: int) -> int | None:
    """The pair of two geoms that the file names."""
    m = source.m
    for k in range(m.npair):
        if {int(m.pair_geom1[k]), int(m.pair_geom2[k])} == {one, two}:
            return k
    return None


def can_touch(source: Compiled, one: int, two: int) -> bool:
    """Whether two geoms touch each other in the file."""
    m = source.m
    if m.opt.disableflags & CONTACT_OFF:
        return False
    if named_pair(source, one, two) is not None:
        return True
    bits = (m.geom_contype[one] & m.geom_conaffinity[two]) | (m.geom_contype[two] & m.geom_conaffinity[one])
    bodies = sorted((int(m.geom_bodyid[one]), int(m.geom_bodyid[two])))
    return bool(bits) and not excluded(m, *bodies) and not related(m, *bodies)


def excluded(m: Any, one: int, two: int) -> bool:
    """True for bodies, the first with the lower number, that the file excludes."""
    return any(int(signature) == (one << 16) + two for signature in m.exclude_signature)


def related(m: Any, one: int, two: int) -> bool:
    """True for bodies that are welded together, or parent and child; the world counts as no parent."""
    first, second = int(m.body_weldid[one]), int(m.body_weldid[two])
    if first == second:
        return True
    if m.opt.disableflags & PARENTS_TOUCH or WORLD in (first, second):
        return False
    above = [int(m.body_weldid[m.body_parentid[weld]]) for weld in (first, second)]
    return first == above[1] or second == above[0]


def root_of(source: Compiled, geom: int) -> int:
    """The first body of the tree that a geom is on."""
    return int(source.m.body_rootid[source.m.geom_bodyid[geom]])


def float_apart(source: Compiled, one: int, two: int) -> bool:
    """Whether two geoms are on different trees of bodies, one of which floats freely."""
    m, roots = source.m, (root_of(source, one), root_of(source, two))
    floats = [m.body_jntnum[root] > 0 and m.jnt_type[m.body_jntadr[root]] == FREE for root in roots]
    return roots[0] != roots[1] and any(floats)


def friction_of(source: Compiled, one: int, two: int | None) -> float:
    """Coefficient of friction along the surface of two geoms; of one alone, against what says nothing."""
    m = source.m
    if two is None:
        return 0.0 if m.geom_condim[one] == 1 else float(m.geom_friction[one, 0])
    pair = named_pair(source, one, two)
    if pair is not None:
        return 0.0 if m.pair_dim[pair] == 1 else float(m.pair_friction[pair, :2].min())
    priorities = m.geom_priority[one], m.geom_priority[two]
    chosen = [one, two] if priorities[0] == priorities[1] else [one if priorities[0] > priorities[1] else two]
    if max(m.geom_condim[k] for k in chosen) == 1:
        return 0.0
    return max(float(m.geom_friction[k, 0]) for k in chosen)


def moments_of(source: Compiled, one: int, two: int | None) -> dict[str, Any]:
    """Coefficients of torsional (condim 4 and 6) and rolling friction (6) of two geoms, or of one alone [m]."""
    m = source.m
    pair = None if two is None else named_pair(source, one, two)
    if pair is not None:
        rows, torsion, rolling = m.pair_dim[pair], m.pair_friction[pair, 2], m.pair_friction[pair, 3:].min()
    else:
        chosen = [one] if two is None else [one, two]
        first = max(m.geom_priority[k] for k in chosen)
        chosen = [k for k in chosen if m.geom_priority[k] == first]
        rows = max(m.geom_condim[k] for k in chosen)
        torsion, rolling = (max(m.geom_friction[k, column] for k in chosen) for column in (1, 2))
    return {"torsion": float(torsion) if rows >= 4 else 0.0, "rolling": float(rolling) if rows >= 6 else 0.0}


# --- contact points ---------------------------------------------------------------------------------------------


def touching(source: Compiled, model: Any, collision: Any, choice: str) -> Touching:
    """Contact points of a file's geoms, and pairs.

    Args:
        source: the file.
        model: pinocchio's model of it.
        collision: its collision geometry.
        choice: "all" geoms, those named as "feet" (they or their bodies), or "auto": of each tree of bodies the feet
            where there are any, else all.

    Raises:
        InputError: the choice is another one, or there are no feet.
    """
    numbers = {name: k for k, name in enumerate(source.geoms)}
    items = {numbers[item.name]: item for item in collision.geometryObjects}
    moving = [k for k in items if source.moves(source.m.geom_bodyid[k])]
    points = _points(source, model, {k: items[k] for k in _chosen(source, moving, choice)})
    solids = _solids(source, model, collision)
    pairs = tuple(_pairs(source, model, points, solids))
    ground, paired = ground_of(source), {pair.first for pair in pairs}
    seen = [(k, p) for k, p in points if p.name in paired or ground is None or can_touch(source, k, ground)]
    of_ground = tuple(_on_ground(source, k, ground, point) for k, point in seen)
    known = {k for k, _ in points}
    return Touching(of_ground, tuple(solids.values()), pairs, tuple(k for k in moving if k not in known), solids)


def _chosen(source: Compiled, geoms: Sequence[int], choice: str) -> list[int]:
    if choice not in CHOICES:
        raise InputError(f"contacts is '{choice}'; give {', '.join(map(repr, CHOICES))} or a list of ContactPoint")
    if choice == "all":
        return list(geoms)
    names = {k: (source.geoms[k], source.bodies[source.m.geom_bodyid[k]]) for k in geoms}
    feet = [k for k in geoms if any(re.search(FOOT, name) for name in names[k])]
    if choice == "feet" and not feet:
        raise InputError(f"no geom or body of {source.path.name} is named as a foot; give contacts='all' or a list")
    standing = {root_of(source, k) for k in feet}
    return feet if choice == "feet" else [k for k in geoms if k in feet or root_of(source, k) not in standing]


def _points(source: Compiled, model: Any, items: dict[int, Any]) -> list[tuple[int, ContactPoint]]:
    """Contact points with their geoms; named by their body, and by a number where it has several."""
    found: list[tuple[int, str, Array, float]] = []
    for geom, item in items.items():
        body = source.bodies[source.m.geom_bodyid[geom]]
        frame = model.frames[item.parentFrame]
        place, leaf = frame.placement.actInv(item.placement), not model.children[frame.parentJoint]
        found += [(geom, body, place.act(point), radius) for point, radius in shape_points(item, leaf)]
    owners = [body for _, body, _, _ in found]
    points = []
    for k, (geom, body, place, radius) in enumerate(found):
        name = body if owners.count(body) == 1 else f"{body}/{owners[:k].count(body)}"
        x, y, z = (float(c) for c in place)
        points.append((geom, ContactPoint(body, (x, y, z), radius=radius, name=name)))
    return points


def _on_ground(source: Compiled, geom: int, ground: int | None, point: ContactPoint) -> ContactPoint:
    """The point with its friction on the ground; where the file keeps them apart, it never closes."""
    if ground is not None and not can_touch(source, geom, ground):
        return replace(point, friction=friction_of(source, geom, None), enabled=never)
    return replace(point, friction=friction_of(source, geom, ground), **moments_of(source, geom, ground))


def never(t: float, q: Array, v: Array) -> float:
    """Margin of a contact that does not close: the file keeps it apart from the ground."""
    return -1.0


def always(t: float, q: Array, v: Array) -> float:
    """Margin of a pair that closes, though its point does not touch the ground."""
    return 1.0


# --- solids and pairs -------------------------------------------------------------------------------------------


def _solids(source: Compiled, model: Any, collision: Any) -> dict[int, Solid]:
    """{geom: solid} of the spheres, boxes and planes, each with its own friction."""
    numbers = {name: k for k, name in enumerate(source.geoms)}
    items = [item for item in collision.geometryObjects if type(item.geometry).__name__ in GEOMETRY]
    geoms = [numbers[item.name] for item in items]
    solids = solids_of(model, collision)
    return {k: replace(s, friction=friction_of(source, k, None)) for k, s in zip(geoms, solids, strict=True)}


def _pairs(
    source: Compiled, model: Any, points: Sequence[tuple[int, ContactPoint]], solids: dict[int, Solid]
) -> list[ContactPair]:
    """Points against solids of the world, of bodies that float apart, and those that the file pairs them with."""
    found, approaches = [], _Approaches(model)
    for geom, point in points:
        for other, solid in solids.items():
            if solid.kind not in MEETS:
                continue
            fixed = not source.moves(source.m.geom_bodyid[other])
            meant = fixed or float_apart(source, geom, other) or named_pair(source, geom, other) is not None
            if meant and can_touch(source, geom, other) and _by_point(source, geom, other) and approaches(point, solid):
                friction = friction_of(source, geom, other)
                found.append(
                    ContactPair(
                        point.name,
                        solid.name,
                        friction=friction,
                        enabled=_kept(source, geom),
                        **moments_of(source, geom, other),
                    )
                )
    return found


class _Approaches:
    """Whether points can come nearer to fixed half-spaces at all: none to walls beside a robot that moves in a plane.

    Args:
        model: pinocchio's model.
    """

    def __init__(self, model: Any) -> None:
        self._model, self._motions = model, dict[int, Array]()
        rng = np.random.default_rng(0)
        neutral = pin.neutral(model)
        self._samples = [pin.integrate(model, neutral, rng.uniform(-1.0, 1.0, model.nv)) for _ in range(SAMPLES)]

    def __call__(self, point: ContactPoint, solid: Solid) -> bool:
        frames = [self._model.frames[link_frame(self._model, shape.frame)] for shape in (point, solid)]
        if solid.kind != "half_space" or frames[1].parentJoint:
            return True
        normal = (frames[1].placement * placement_of(solid)).rotation[:, 2]
        joint = int(frames[0].parentJoint)
        if joint not in self._motions:
            self._motions[joint] = self._moved(joint)
        return bool(np.abs(normal @ self._motions[joint]).max() > MOTION)

    def _moved(self, joint: int) -> Array:
        """Velocities (3, n) of points of a joint's body at some configurations."""
        data, found = data_of(self._model), []
        for q in self._samples:
            data.joint_jacobians(q)
            jacobian = data.joint_jacobian(joint, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            found += [jacobian[:3], *(np.cross(jacobian[3:].T, axis).T for axis in np.eye(3))]
        return np.hstack(found)


def _by_point(source: Compiled, geom: int, other: int) -> bool:
    """Whether two geoms meet through a point of the first: a ball meets a box through its own, two balls meet once."""
    one, two = (int(source.m.geom_type[k]) for k in (geom, other))
    if two == SPHERE and source.moves(source.m.geom_bodyid[other]):
        return one != BOX and (one != SPHERE or geom < other)
    return two != SPHERE or one != BOX


def _kept(source: Compiled, geom: int) -> Any:
    """Margin of a pair whose point the file keeps apart from the ground; None, where it does not."""
    ground = ground_of(source)
    return None if ground is None or can_touch(source, geom, ground) else always
