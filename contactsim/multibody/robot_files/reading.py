"""Paths of a robot's files, the joint that its first link hangs on, and what files of runs keep of a robot."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from ...common.doors import PATH, custom, either, one_of
from ...errors import InputError

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
        kind = pin.GeometryType.VISUAL if self.visual else pin.GeometryType.COLLISION
        try:
            return pin.buildGeomFromUrdfString(model, self.urdf, kind, package_dirs=list(self.folders))
        except ValueError:
            if not self.visual:
                raise
            return self._found_visuals(model)

    def _found_visuals(self, model: Any) -> Any:
        """The visual geometry without what missing meshes would show, with a warning for each."""
        tree = ElementTree.fromstring(self.urdf)
        while True:
            text = ElementTree.tostring(tree, encoding="unicode")
            try:
                return pin.buildGeomFromUrdfString(
                    model, text, pin.GeometryType.VISUAL, package_dirs=list(self.folders)
                )
            except ValueError as error:
                links = _without_mesh(tree, str(error))
                if not links:
                    raise
                warnings.warn(
                    f"{', '.join(links)} of robot '{model.name}' is not drawn whole ({str(error).rstrip('.')}); give"
                    " package_dirs, or mend <visual> in the file",
                    stacklevel=2,
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


def package_folders(path: Path | None, given: Sequence[str | Path] = ()) -> list[str]:
    """Folders in which a mesh of a URDF is looked up: those given, all above the file, and those of ROS.

    A package:// path names a folder there; one that is itself the package that it names counts, too.
    """
    own = [folder for start in given for folder in (Path(start), Path(start).resolve().parent)]
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
        if self.urdf:
            kind = pin.GeometryType.VISUAL
            return pin.buildGeomFromUrdfString(model, self.urdf, kind, package_dirs=list(self.folders))
        return GeometryFile(self.path, self.folders, visual=True)(model)


def stored(source: GeometryFile) -> StoredGeometry:
    """The geometry of a file with the text of a URDF, which is kept where the file is lost."""
    return StoredGeometry(source.path, tuple(source.folders), source.urdf)
