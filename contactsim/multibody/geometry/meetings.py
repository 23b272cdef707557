"""Bodies that meet with their whole surface, two solids at a time: the pairs of points, faces and edges for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import dataclass
from ..forest import data_of
from ..model_checks import link_frame
from ..robot_model import RobotModel
from ..zero import MOTION
from .bodies import bodies_of
from .pair_kinematics import PairKinematics
from .pairing import Tip, is_tip_of, meet_at_points, resolved, tips, with_edges
from .pairs import EDGES, ContactPair
from .solids import CORNERS, Solid, placement_of

SAMPLES = 3  # configurations at which is seen how a body can move


@dataclass(frozen=True)
class Meeting:
    """Two solids that are meant to touch, by name, and the coefficients of their contacts, see `ContactPair`.

    Without friction that of the two bodies counts.
    """

    first: str
    second: str
    friction: float | None = None
    torsion: float = 0.0
    rolling: float = 0.0


def paired(robot: RobotModel, meetings: Sequence[Meeting]) -> tuple[ContactPair, ...]:
    """The pairs by which solids of a robot meet, but those that its joints hold inside each other; edges come last.

    Edges carry no torsional and rolling friction, so neither do the corners and ends of solids that have edges: where
    one hands over to the other, forces must not jump, or the contact goes to and fro between both.
    """
    bodies = bodies_of(robot)
    apart = {frozenset(bodies.shapes[k].name for k in couple) for couple in bodies.pairs}
    solids, own, motions = {solid.name: solid for solid in robot.solids}, tips_by_solid(robot), _Motions(robot.model)
    points, edges = list[ContactPair](), list[ContactPair]()
    for meeting in meetings:
        if frozenset((meeting.first, meeting.second)) not in apart:
            continue
        one, two = solids[meeting.first], solids[meeting.second]
        edged = with_edges(one, two)
        torsion, rolling = (0.0, 0.0) if edged else (meeting.torsion, meeting.rolling)
        for tip, solid in (*_touching(own, one, two), *_touching(own, two, one)):
            if motions.approach(tip, solid):
                pair = ContactPair(tip.name, solid.name, friction=meeting.friction)
                points.append(replace(pair, torsion=torsion, rolling=rolling))
        if edged:
            edges.append(ContactPair(one.name + EDGES, two.name + EDGES, friction=meeting.friction))
    points = list({pair.name: pair for pair in points}.values())
    return *(_within_plane(robot, points) if motions.planar else points), *edges


def _within_plane(robot: RobotModel, points: Sequence[ContactPair]) -> list[ContactPair]:
    """Those that touch in the plane in which all bodies move: corners to both sides of it do not touch before edges."""
    found = PairKinematics(robot.model, [one.kinematics for one in resolved(robot._with(pairs=tuple(points)))])
    q = np.asarray(robot.nominal)
    normals = [found.frame_at(q, k, found.region(q, k))[0][0] for k in range(len(points))]
    return [point for point, n in zip(points, normals, strict=True) if found.frame.holds(n)]


def couples_of_edges(solids: Iterable[tuple[Solid, Solid]]) -> int:
    """How many couples of edges solids that meet two by two have."""
    cornered = (couple for couple in solids if all(solid.kind in CORNERS for solid in couple))
    return sum(len(one.polyhedron.edges) * len(two.polyhedron.edges) for one, two in cornered)


def tips_by_solid(robot: RobotModel) -> dict[str, list[Tip]]:
    """{solid: the points, or the whole, by which it touches others}; two solids can have a point in common."""
    by_frame: dict[str, list[Tip]] = {}
    for tip in tips(robot):
        by_frame.setdefault(tip.frame, []).append(tip)
    return {solid.name: [t for t in by_frame.get(solid.frame, []) if is_tip_of(t, solid)] for solid in robot.solids}


def _touching(own: dict[str, list[Tip]], one: Solid, two: Solid) -> Iterator[tuple[Tip, Solid]]:
    """The tips of a solid that touch another one; of two balls or ellipsoids those of the first by name alone.

    An ellipsoid touches with all of its surface, a ball through its centre: no points of the other touch them.
    """
    whole = ("ellipsoid", "sphere")  # the former touch the latter, too
    if two.kind in whole:
        rank = whole.index(one.kind) if one.kind in whole else len(whole)
        if (rank, one.name) > (whole.index(two.kind), two.name):
            return
    yield from ((tip, two) for tip in own[one.name] if meet_at_points(tip, one, two))


class _Motions:
    """In which directions bodies can move.

    Args:
        model: pinocchio's model.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        rng = np.random.default_rng(0)
        neutral = pin.neutral(model)
        samples = [pin.integrate(model, neutral, rng.uniform(-1.0, 1.0, model.nv)) for _ in range(SAMPLES)]
        self._of = [self._moved(joint, samples) for joint in range(model.njoints)]

    @property
    def planar(self) -> bool:
        """Whether all bodies move in one plane, or along one line."""
        values = np.linalg.svd(np.hstack(self._of), compute_uv=False)
        return bool(values[-1] <= MOTION * max(float(values[0]), MOTION))

    def approach(self, point: Tip, solid: Solid) -> bool:
        """Whether a point can come nearer to a fixed half-space: none to walls beside a robot that moves in a plane."""
        frames = [self._model.frames[link_frame(self._model, shape.frame)] for shape in (point, solid)]
        if solid.kind != "half_space" or frames[1].parentJoint:
            return True
        normal = (frames[1].placement * placement_of(solid)).rotation[:, 2]
        return bool(np.abs(normal @ self._of[frames[0].parentJoint]).max() > MOTION)

    def _moved(self, joint: int, samples: Sequence[Array]) -> Array:
        """Velocities (3, n) of points of a joint's body at some configurations."""
        data, found = data_of(self._model), [np.zeros((3, 1))]
        for q in samples:
            data.joint_jacobians(q)
            jacobian = data.joint_jacobian(joint, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            found += [jacobian[:3], *(np.cross(jacobian[3:].T, axis).T for axis in np.eye(3))]
        return np.hstack(found)
