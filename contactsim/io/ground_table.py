"""Contract of plugins for the ground of a scene."""

from __future__ import annotations

from abc import ABC, abstractmethod

from pydantic import BaseModel, ConfigDict

from ..multibody.terrain.surface import Terrain


class GroundTable(BaseModel, ABC):
    """The [terrain] table of a scene for one kind of ground: its fields are the keys that may stand there.

    Attributes:
        kind: the name under which the plugin is registered.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    kind: str = ""

    @abstractmethod
    def build(self) -> Terrain:
        """The ground.

        Raises:
            InputError: the values do not make one.
        """
