"""Parts of a robot that only pinocchio can write and read: its model, placements, and the geometry of its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from .reading import GeometryFile


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
