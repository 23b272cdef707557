"""Where the files of a robot are found, and the joint that its first link hangs on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pinocchio as pin

from ...errors import InputError

ROOTS: dict[str, Callable[[], Any]] = {
    "free_flyer": pin.JointModelFreeFlyer,
    "planar": lambda: _vertical_plane(),
}


@dataclass(frozen=True)
class GeometryFile:
    """Where the geometry of a robot is read from, when it is needed."""

    path: str
    folders: tuple[str, ...]
    visual: bool = False

    def __call__(self, model: Any) -> Any:
        """Pinocchio's geometry model."""
        kind = pin.GeometryType.VISUAL if self.visual else pin.GeometryType.COLLISION
        if self.path.endswith(".urdf"):
            return pin.buildGeomFromUrdf(model, self.path, kind, package_dirs=list(self.folders))
        return pin.buildGeomFromMJCF(model, self.path, kind)


def _vertical_plane() -> Any:
    joint = pin.JointModelComposite(3)
    for part in (pin.JointModelPX(), pin.JointModelPZ(), pin.JointModelRY()):
        joint.addJoint(part)
    return joint


def root_joint(root: Any) -> Any:
    """Pinocchio's joint for a root by name; None where the first link stands still."""
    if not isinstance(root, str):
        return root
    if root == "fixed":
        return None
    if root not in ROOTS:
        raise InputError(f"root is '{root}'; choose 'free_flyer', 'fixed', 'planar' or give a pinocchio joint model")
    return ROOTS[root]()


def existing(path: str | Path, kind: str) -> Path:
    """The absolute path of a file.

    Raises:
        InputError: there is none.
    """
    found = Path(path).expanduser()
    if not found.is_file():
        raise InputError(f"there is no {kind} file {found}; check the path")
    return found.resolve()


def package_folders(path: Path) -> list[str]:
    """Folders in which a package:// path of a URDF may start: all above the file, and those of ROS."""
    named = os.environ.get("ROS_PACKAGE_PATH", "") + os.pathsep + os.environ.get("AMENT_PREFIX_PATH", "")
    return [str(folder) for folder in path.parents] + [folder for folder in named.split(os.pathsep) if folder]
