"""All that the viewer reads of a trajectory; whatever has these attributes can be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ContactLike(Protocol):
    """A contact point of the robot: `radius` in metres (0 for a sharp point)."""

    name: str
    radius: float


class RobotLike(Protocol):
    """A pinocchio model, its geometry (None: a stick figure is drawn) and its contact points."""

    model: Any
    visual_model: Any | None
    contacts: Sequence[ContactLike]

    def contact_positions(self, q: Array) -> Array:
        """Lowest points of the contacts, (nc, 3) metres in the world frame."""


class TrajectoryLike(Protocol):
    """A recorded run of `system` (with `.robot` and `.terrain`) over the times `t`."""

    t: Array
    system: Any
    events: Sequence[Any]

    def __call__(self, t: float) -> Any:
        """State with `.q` (nq,) at time `t` in seconds."""

    def mode_at(self, t: float) -> Mapping[str, Any]:
        """Mode of each contact, an enum with the names OPEN, STICK and SLIP."""

    def forces(self, t: float) -> Mapping[str, Array]:
        """Force of the ground on each contact, (3,) newton in world axes."""
