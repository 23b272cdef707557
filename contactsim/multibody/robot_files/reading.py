"""Files of a robot: their paths, the joint that its first link hangs on, and contact points read off its geometry.

What files of runs keep of a robot is here, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from ...common.arguments import PATH, custom, either, one_of
from ...common.lazy import dataclass
from ...common.telling import tell
from ...errors import InputError
from ..contact_point import ContactPoint, ContactRim, with_standing_points
from ..model_checks import link_frame

ROOTS: dict[str, Callable[[], Any]] = {
    "free_flyer": pin.JointModelFreeFlyer,
    "planar": lambda: _vertical_plane(),
}


@dataclass(frozen=True)
class GeometryFile:
    """The file from which the geometry of a robot is read when it is needed.

    Attributes:
        path: the file; empty for a URDF that was given as text.
        folders: where its meshes are looked up.
        visual: what is drawn, instead of what collides.
        urdf: the text of a URDF; empty for an MJCF file.
    """

    path: str
    folders: tuple[str, ...]
    visual: bool = False
    urdf: str = ""

    def __call__(self, model: Any) -> Any:
        """Pinocchio's geometry model."""
        if not self.urdf:
            from ..mjcf.shapes import read_geometry

            return read_geometry(model, self.path, self.folders, self.visual)
        try:
            return self._built(model, self.urdf)
        except ValueError:
            if not self.visual:
                raise
            return self._found_visuals(model)

    def _built(self, model: Any, urdf: str) -> Any:
        kind = pin.GeometryType.VISUAL if self.visual else pin.GeometryType.COLLISION
        return pin.buildGeomFromUrdfString(model, urdf, kind, package_dirs=list(self.folders))

    def of_links(self, links: Container[str]) -> GeometryFile:
        """What collides of some links of a URDF alone."""
        tree = ElementTree.fromstring(self.urdf)
        for link in tree.iter("link"):
            if link.get("name") not in links:
                for collision in link.findall("collision"):
                    link.remove(collision)
        return replace(self, urdf=ElementTree.tostring(tree, encoding="unicode"))

    def _found_visuals(self, model: Any) -> Any:
        """The visual geometry without what missing meshes would show, with a warning for each."""
        tree = ElementTree.fromstring(self.urdf)
        while True:
            try:
                return self._built(model, ElementTree.tostring(tree, encoding="unicode"))
            except ValueError as error:
                links = _without_mesh(tree, str(error))
                if not links:
                    raise
                tell(
                    f"{', '.join(links)} of robot '{model.name}' is not drawn whole ({str(error).rstrip('.')}); give"
                    " package_dirs, or mend <visual> in the file",
                )


def _without_mesh(tree: Any, error: str) -> list[str]:
    """Take the visuals with the mesh that an `error` names out of a URDF; the links that lose one."""
    losing = []
    for link in tree.iter("link"):
        for visual in link.findall("visual"):
            mesh = visual.find("geometry/mesh")
            if mesh is not None and mesh.get("filename") and mesh.get("filename", "") in error:
                link.remove(visual)
                losing.append(f"link '{link.get('name')}'")
    return losing


def _vertical_plane() -> Any:
    joint = pin.JointModelComposite(3)
    for part in (pin.JointModelPX(), pin.JointModelPZ(), pin.JointModelRY()):
        joint.addJoint(part)
    return joint


def _joint(given: Any) -> Any:
    if not type(given).__name__.startswith("JointModel"):  # pinocchio's have no class in common
        raise ValueError
    return given


ROOT = either(one_of("free_flyer", "fixed", "planar"), custom("a pinocchio joint model", _joint))


def root_joint(root: Any) -> Any:
    """Pinocchio's joint for a root by name; None where the first link stands still."""
    root = ROOT.check("root", root)
    if not isinstance(root, str):
        return root
    return None if root == "fixed" else ROOTS[root]()


def existing(path: str | Path, kind: str) -> Path:
    """The absolute path of a file.

    Raises:
        InputError: there is none.
    """
    found = Path(PATH.check(f"the {kind} file", path)).expanduser()
    if not found.is_file():
        raise InputError(f"there is no {kind} file {found}; check the path")
    return found.resolve()


def given_folders(given: Sequence[str | Path]) -> list[Path]:
    """Folders that a user names for meshes.

    Raises:
        InputError: there is none of that name.
    """
    found = [Path(folder).expanduser() for folder in given]
    for folder in found:
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder}, in which meshes are to be looked up; mend package_dirs")
    return found


def package_folders(path: Path | None, given: Sequence[str | Path] = ()) -> list[str]:
    """Folders in which a mesh of a URDF is looked up: those given, all above the file, and those of ROS.

    A package:// path names a folder there; one that is itself the package that it names counts, too.

    Raises:
        InputError: there is no folder of a given name.
    """
    own = [folder for start in given_folders(given) for folder in (start, start.resolve().parent)]
    named = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    shared = [f"{prefix}/share" for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    above = [] if path is None else list(path.parents)
    return list(dict.fromkeys(str(folder) for folder in (*own, *above, *named, *shared) if str(folder)))


# --- what files of runs keep ------------------------------------------------------------------------------------


def model_text(model: pin.Model) -> str:
    """A model as text."""
    return str(model.saveToString())


def model_of(text: str) -> pin.Model:
    """The model of a text that `model_text` made."""
    model = pin.Model()
    model.loadFromString(text)
    return model


def placement_numbers(placement: pin.SE3) -> list[float]:
    """A placement as seven numbers: position [m] and quaternion (x, y, z, w)."""
    return [float(number) for number in pin.SE3ToXYZQUAT(placement)]


def placement_of(numbers: list[float]) -> pin.SE3:
    """The placement of seven numbers."""
    return pin.XYZQUATToSE3(np.array(numbers))


@dataclass(frozen=True)
class StoredGeometry:
    """The visual geometry of a stored robot: from the URDF's text, or the MJCF file if it still exists."""

    path: str
    folders: tuple[str, ...]
    urdf: str

    def __call__(self, model: Any) -> Any:
        """Pinocchio's geometry model of the visuals."""
        return GeometryFile(self.path, self.folders, visual=True, urdf=self.urdf)(model)


def stored(source: GeometryFile) -> StoredGeometry:
    """The geometry of a file with the text of a URDF, which is kept where the file is lost."""
    return StoredGeometry(source.path, tuple(source.folders), source.urdf)


FOOT = re.compile(r"(^|[_\-/])(foot|feet|toe|sole)([_\-/]|\d*$)", re.IGNORECASE)
CHOICES = ("auto", "all", "feet")
MOST = 6  # names that a warning lists one by one
CORNERS = tuple(product((-1.0, 1.0), repeat=3))  # of a cube
EXTREMES = 8  # directions in which the extreme points of a mesh are taken: these corners


def load_geometry(model: Any, source: Any) -> Any:
    """A geometry model from one, from a function of the model, or None.

    Raises:
        InputError: a mesh is missing.
    """
    if source is None or isinstance(source, pin.GeometryModel):
        return source
    try:
        return source(model)
    except (ValueError, RuntimeError) as error:
        reason = str(error).rstrip(".")
        raise InputError(
            f"the geometry of robot '{model.name}' cannot be read ({reason}); give package_dirs, or contacts by hand"
        ) from error


def automatic_contacts(model: Any, source: Any, choice: str = "auto") -> tuple[ContactPoint, ...]:
    """Contact points of a robot, with a warning of the geometry that has none, or only some of its points.

    sphere: its centre, with its radius. Box: eight corners. Capsule: the two ends of its axis, with its radius.
    Cylinder: its two rims, each with its lowest point, and eight points of each on which it stands. Mesh: up to eight
    extreme points; in "auto" on links that carry no other link.
    Feet without geometry are points at the origin of their link. Where that of other links cannot be read, the feet
    have their own, with a warning. Links that stand still have none.

    Args:
        model: pinocchio's model.
        source: its collision geometry, see `load_geometry`.
        choice: "all" geometry, that of links named as "feet", or "auto": the feet where there are any, else all.

    Raises:
        InputError: the choice is another one, there are no feet, or a mesh is missing.
    """
    if choice not in CHOICES:
        raise InputError(f"contacts is '{choice}'; give {', '.join(map(repr, CHOICES))} or a list of ContactPoint")
    feet = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY and FOOT.search(frame.name)]
    if choice == "feet" and not feet:
        raise InputError(f"no link of robot '{model.name}' is named as a foot; give contacts='all' or a list")
    feet = [] if choice == "all" else feet
    collision = _collision(model, source, feet)
    by_link: dict[str, list[Any]] = {}
    for geometry in collision.geometryObjects if collision is not None else ():
        by_link.setdefault(model.frames[geometry.parentFrame].name, []).append(geometry)
    moving = {link: model.frames[link_frame(model, link)].parentJoint > 0 for link in (*feet, *by_link)}
    chosen = [link for link in feet or by_link if moving[link]]
    points: list[ContactPoint] = []
    for link in chosen:
        points += _link_points(model, link, by_link.get(link, []), named=bool(feet), whole=choice == "all")
    shown = {link: shapes for link, shapes in by_link.items() if moving[link]}
    _tell(model, shown, set(chosen), choice)
    return tuple(points)


def _collision(model: Any, source: Any, feet: Sequence[str]) -> Any:
    """Collision geometry; of its feet alone, where that of other links cannot be read."""
    try:
        return load_geometry(model, source)
    except InputError as error:
        if not (feet and isinstance(source, GeometryFile) and source.urdf):
            raise
        found = load_geometry(model, source.of_links(feet))
        tell(f"{error}; the contacts of its feet, {listed(feet)}, do without it")
        return found


def _tell(model: Any, by_link: Mapping[str, Sequence[Any]], chosen: Container[str], choice: str) -> None:
    """Warn of geometry of moving links that cannot touch, or only by some points of its meshes."""
    gone, rough = [], []
    for link, geometries in by_link.items():
        for geometry in geometries:
            leaf = choice == "all" or _is_leaf(model, link)
            count = len(shape_contacts(link, geometry.geometry, pin.SE3.Identity(), leaf)) if link in chosen else 0
            name = f"link '{link}' ({_kind(geometry)})"
            if not count:
                gone.append(name)
            elif hasattr(geometry.geometry, "vertices"):
                rough.append(f"link '{link}' ({count})")
    parts = [f"leave out {listed(gone)}"] if gone else []
    parts += [f"take only extreme points of the meshes of {listed(rough)}"] if rough else []
    if parts:
        other = "" if choice == "all" else "contacts='all', or "
        remedy = f"give {other}a list of ContactPoint for others"
        tell(f"the contacts '{choice}' of robot '{model.name}' {' and '.join(parts)}; {remedy}")


def _kind(geometry: Any) -> str:
    shape = geometry.geometry
    return "mesh" if hasattr(shape, "vertices") else type(shape).__name__.lower()


def listed(names: Sequence[str]) -> str:
    """Names in a row, the first few of many."""
    shown = ", ".join(names[:MOST])
    return shown if len(names) <= MOST else f"{shown} and {len(names) - MOST} more"


def _is_leaf(model: Any, link: str) -> bool:
    """True for a link that carries no other moving one."""
    return not model.children[model.frames[link_frame(model, link)].parentJoint]


def _link_points(model: Any, link: str, geometries: Sequence[Any], named: bool, whole: bool) -> list[ContactPoint]:
    placed = model.frames[link_frame(model, link)].placement
    leaf = whole or _is_leaf(model, link)
    found: list[ContactPoint] = []
    for geometry in geometries:
        found += shape_contacts(link, geometry.geometry, placed.actInv(geometry.placement), leaf)
    if not found and named:
        found = [ContactPoint(link)]
    return with_standing_points(found if len(found) == 1 else numbered(found))


def numbered(points: Sequence[ContactPoint]) -> list[ContactPoint]:
    """Contacts of one frame with the names FRAME/0, FRAME/1 and so on."""
    return [replace(point, name=f"{point.frame}/{k}") for k, point in enumerate(points)]


def shape_contacts(frame: str, shape: Any, place: Any, leaf: bool) -> list[ContactPoint]:
    """Contacts of one collision shape of Coal's at a place (pin.SE3) on a frame, but for those on which discs stand."""
    kind = type(shape).__name__

    def at(*point: float) -> tuple[float, float, float]:
        x, y, z = place.act(np.array(point)).tolist()
        return x, y, z

    if kind == "Sphere":
        return [ContactPoint(frame, at(0.0, 0.0, 0.0), float(shape.radius))]
    if kind == "Box":
        return [ContactPoint(frame, at(*signs * shape.halfSide)) for signs in np.array(CORNERS)]
    if kind == "Capsule":
        return [ContactPoint(frame, at(0.0, 0.0, end * shape.halfLength), float(shape.radius)) for end in (-1.0, 1.0)]
    if kind == "Cylinder":
        x, y, z = place.rotation[:, 2].tolist()
        ends = [(end, (end * x, end * y, end * z)) for end in (-1.0, 1.0)]
        radius, half = float(shape.radius), shape.halfLength
        return [ContactRim(frame, at(0.0, 0.0, end * half), axis=axis, rim=radius) for end, axis in ends]
    if leaf and hasattr(shape, "vertices"):
        points = np.asarray(shape.vertices())  # pinocchio has scaled them
        return [ContactPoint(frame, at(*points[k])) for k in _extremes(points)]
    return []


def _extremes(vertices: np.ndarray) -> list[int]:
    """The vertices that lie farthest in the directions of the corners of a cube."""
    found: list[int] = np.unique(np.argmax(vertices @ np.array(CORNERS).T, axis=0)).tolist()
    return found[:EXTREMES]
