"""The geometry of a compiled MJCF file as pinocchio's geometry model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from .compiled import WORLD, Compiled, compiled, placed

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)  # MuJoCo's kinds of geoms
SHAPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
DRAWN = 2  # last group of geoms that MuJoCo's viewer draws unless it is asked for more


def read_geometry(model: Any, path: str, folders: Sequence[str], visual: bool) -> Any:
    """The visual or collision geometry of a file on a model that was made of it."""
    return geometry(compiled(Path(path), folders), model, visual)


def geometry(source: Compiled, model: Any, visual: bool) -> Any:
    """All geoms that are drawn, or that collide; the plane that is the ground is not among them."""
    result = pin.GeometryModel()
    for geom in drawn(source) if visual else colliding(source):
        shape = shape_of(source, geom)
        if shape is not None:
            result.addGeometryObject(_item(source, model, geom, shape))
    return result


def drawn(source: Compiled) -> list[int]:
    """Geoms that MuJoCo's viewer draws, without planes; all where it draws none."""
    geoms = [k for k in range(source.m.ngeom) if source.m.geom_type[k] != PLANE]
    return [k for k in geoms if source.m.geom_group[k] <= DRAWN] or geoms


def colliding(source: Compiled) -> list[int]:
    """Geoms that can touch others, without the ground."""
    m, ground = source.m, ground_of(source)
    paired = {*m.pair_geom1.tolist(), *m.pair_geom2.tolist()}
    return [k for k in range(m.ngeom) if k != ground and (m.geom_contype[k] or m.geom_conaffinity[k] or k in paired)]


def placement(source: Compiled, geom: int) -> Any:
    """Placement (pin.SE3) of a geom on its body."""
    return placed(source.m.geom_pos[geom], source.m.geom_quat[geom])


def ground_of(source: Compiled) -> int | None:
    """The plane of the world that is the most level, of those that something can touch; None where there is none."""
    m = source.m
    solid = (m.geom_type == PLANE) & ((m.geom_contype | m.geom_conaffinity) > 0)
    planes = [k for k in range(m.ngeom) if solid[k] and not source.moves(m.geom_bodyid[k])]
    return max(planes, key=lambda k: fixed_place(source, k).rotation[2, 2]) if planes else None


def fixed_place(source: Compiled, geom: int) -> Any:
    """Placement (pin.SE3) in the world of a geom whose body is fixed to it."""
    m, body = source.m, int(source.m.geom_bodyid[geom])
    place = placement(source, geom)
    while body != WORLD:
        place = placed(m.body_pos[body], m.body_quat[body]) * place
        body = int(m.body_parentid[body])
    return place


def shape_of(source: Compiled, geom: int) -> Any:
    """The shape of a geom; None for height fields and signed distance fields."""
    kind, size = int(source.m.geom_type[geom]), [float(s) for s in source.m.geom_size[geom]]
    if kind == MESH:
        return _mesh(source.m, int(source.m.geom_dataid[geom]))
    makes = {
        PLANE: lambda: coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0),
        SPHERE: lambda: coal.Sphere(size[0]),
        CAPSULE: lambda: coal.Capsule(size[0], 2.0 * size[1]),
        ELLIPSOID: lambda: coal.Ellipsoid(*size),
        CYLINDER: lambda: coal.Cylinder(size[0], 2.0 * size[1]),
        BOX: lambda: coal.Box(*(2.0 * side for side in size)),
    }
    return makes[kind]() if kind in makes else None


def _mesh(m: Any, mesh: int) -> Any:
    first, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
    face, faces = int(m.mesh_faceadr[mesh]), int(m.mesh_facenum[mesh])
    shape = coal.BVHModelOBBRSS()
    shape.beginModel(faces, count)
    shape.addVertices(np.array(m.mesh_vert[first : first + count], dtype=float))
    shape.addTriangles(np.array(m.mesh_face[face : face + faces], dtype=np.int64))
    shape.endModel()
    return shape


def _item(source: Compiled, model: Any, geom: int, shape: Any) -> Any:
    """A geom on the frame of its body."""
    body = int(source.m.geom_bodyid[geom])
    frame = model.getFrameId(source.bodies[body], pin.FrameType.BODY) if body != WORLD else 0
    home = model.frames[frame]
    place = home.placement * placement(source, geom)
    item = pin.GeometryObject(source.geoms[geom], home.parentJoint, frame, place, shape)
    material = int(source.m.geom_matid[geom])
    colour = source.m.geom_rgba[geom] if material < 0 else source.m.mat_rgba[material]
    item.meshColor = np.array(colour, dtype=float)
    return item
