"""Links of one robot that meet each other with their whole shape.

Neighbours do not: what their joint holds together touches always. Of two links those are neighbours between which there
is no other with a shape. Links that are inside each other in the nominal pose are left out, too, see `bodies`. Files
that say by themselves what meets (MJCF) are read by their own rules.
"""

from __future__ import annotations

from itertools import combinations
from typing import TypeVar

from ...common.telling import tell
from ...errors import InputError
from ..model_checks import link_frame
from ..robot_model import RobotModel
from .bodies import MEANT, NEIGHBOURS
from .meetings import Meeting, couples_of_edges, paired, tips_by_solid
from .mesh_hulls import MeshHull, mesh_hulls
from .pairing import MOST_EDGES
from .solids import Solid

R = TypeVar("R", bound=RobotModel)
NO_SOLIDS = "no two of its links have collision shapes that can meet; leave self_contacts out"


def with_self_contacts(robot: R) -> R:
    """A copy of a robot without pairs whose links meet each other, meshes as their convex hulls.

    Coefficients follow from those of the two links, see `pairing`.

    Raises:
        InputError: no two links can meet, or their edges make more than MOST_EDGES couples.
    """
    hulls = mesh_hulls(robot)
    shaped = robot._with(_solids=(*robot.solids, *(hull.solid for hull in hulls)))
    reasons = _reasons(shaped)
    solids = {solid.name: solid for solid in shaped.solids}
    meant = [couple for couple, reason in reasons.items() if not reason]
    if not meant:
        raise InputError(f"robot '{robot.name}': {NO_SOLIDS}")
    if (count := couples_of_edges((solids[one], solids[two]) for one, two in meant)) > MOST_EDGES:
        raise InputError(
            f"robot '{robot.name}': the edges of its links make {count} couples, more than {MOST_EDGES}; give links"
            " simpler collision shapes, or name those that meet by with_pairs"
        )
    _tell(robot.name, hulls)
    shaped = shaped._with(kept_apart={frozenset(couple): reason for couple, reason in reasons.items()})
    return shaped._with(pairs=paired(shaped, [Meeting(*couple) for couple in meant]))


def _reasons(robot: RobotModel) -> dict[tuple[str, str], str]:
    """{names of two solids on different joints: why they are left out, or MEANT}."""
    model, own = robot.model, tips_by_solid(robot)
    joints = {s.name: int(model.frames[link_frame(model, s.frame)].parentJoint) for s in robot.solids}
    above = {joint: _above(list(model.parents), joint, set(joints.values())) for joint in set(joints.values())}

    def between(one: Solid, two: Solid) -> str:
        i, j = joints[one.name], joints[two.name]
        if above[i] == j or above[j] == i:
            return NEIGHBOURS
        pointed = [solid.name for solid in (one, two) if solid.kind != "half_space" and not own[solid.name]]
        return f"{pointed[0]} meets others through its contact points alone" if pointed else MEANT

    couples = [c for c in combinations(robot.solids, 2) if joints[c[0].name] != joints[c[1].name]]
    return {(one.name, two.name): between(one, two) for one, two in couples}


def _above(parents: list[int], joint: int, shaped: set[int]) -> int | None:
    """The next joint towards the root whose body has a shape; None where there is none."""
    while joint:
        joint = parents[joint]
        if joint in shaped:
            return joint
    return None


def _tell(name: str, hulls: list[MeshHull]) -> None:
    if hulls:
        added, missed = max(hull.surplus for hull in hulls), max(hull.missed for hull in hulls)
        tell(
            f"the links of robot '{name}' meet each other with their meshes as convex hulls, which add up to"
            f" {added:.3g} % to their volume and leave out up to {1e3 * missed:.3g} mm",
        )
