"""What an event of a rigid law leads to: told by a compiled engine where it knows of it, and in Python where not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import Late, lazy
from .contact_rows import ContactEvent, Happened, PostEvent
from .world import World

if TYPE_CHECKING:
    from . import compiled_resolution, concerned, resolution
    from .compiled_resolution import CompiledResolution
    from .resolution import Resolution
else:  # of each run one of the first two, and of heaps the last
    compiled_resolution = Late("contactsim.contact_dynamics.compiled_resolution")
    resolution = Late("contactsim.contact_dynamics.resolution")
    concerned = Late("contactsim.contact_dynamics.concerned")


class Resolver:
    """What follows the events of one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._compiled: dict[int | None, CompiledResolution | None] = {}  # by the rank of the loops

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_compiled": {}}

    @lazy
    def own(self) -> Resolution:
        """The events in Python."""
        return resolution.Resolution(self._world)

    @property
    def compiled(self) -> CompiledResolution | None:
        """The events of the world by its engine; None: they are all Python's."""
        if self._world.compiled_engine is None:
            return None
        rank = self.rank
        if rank not in self._compiled:
            self._compiled[rank] = compiled_resolution.compiled_resolution(self._world)
        return self._compiled[rank]

    @property
    def rank(self) -> int | None:
        """The rank of the rows of the loops in the run of this thread, of which engines know; None: there is none."""
        loops = self._world.closed_loops
        return None if loops is None else loops.rank

    def derivative(self, happened: Happened) -> Array | None:
        """D_x R (dim, dim) of an event by the engine; None: it does not tell."""
        return None if self.compiled is None else self.compiled.derivative(happened)

    def resolve(self, x: Array, event: ContactEvent) -> PostEvent:
        """State and modes after an event, see `Resolution.resolve`."""
        event = self._concerned(x, event)
        if self.compiled is not None and (found := self.compiled.resolve(x, event)) is not None:
            return found
        return self.own.resolve(x, event)

    def _concerned(self, x: Array, event: ContactEvent) -> ContactEvent:
        """The event with those of the touching contacts alone whose bodies it moves, where there are several."""
        trees = self._world.mechanism.trees
        return event if trees is None or not np.ptp(trees.velocities) else concerned.concerned(self._world, x, event)
