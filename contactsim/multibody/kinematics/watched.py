"""A robot whose bodies are watched by their shapes, besides its contacts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ...common.arrays import Array
from ..geometry.bodies import bodies_of
from ..geometry.overlaps import Overlaps
from ..mechanism import ContactMechanism, Overlap
from ..terrain import Terrain
from ..workspace import Workspace

if TYPE_CHECKING:
    from ..robot_model import RobotModel


class Watched(ContactMechanism):
    """A mechanism of a robot over its ground."""

    terrain: Terrain
    _robot: RobotModel
    _workspace: Workspace

    def overlaps(self, t: float, q: Array) -> list[Overlap]:
        """Bodies that are inside each other or in the ground, by their shapes alone."""
        self._workspace.data.forward_kinematics(q)
        return list(self._shapes.found(t, self._workspace.data.oMi, self.terrain))

    @cached_property
    def _shapes(self) -> Overlaps:
        return Overlaps(bodies_of(self._robot))
