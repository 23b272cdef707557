"""Contract of plugins for derivatives of events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from ..common.arrays import Array
from .crossing_orders import EventData, Word

__all__ = ["EventData", "EventDerivative", "Word"]


class EventDerivative(ABC):
    """First-order effect of an event on the states around a run.

    An event is an `EventData` of `crossing_orders`: its `root` is the state before it, its `groups` say what a
    neighbouring run may meet first, `root.cross(group)` returns the tuple (node behind them, saltation matrix), `after`
    is the state behind it in the run itself, and `ways` keeps what was worked out.

    A plugin that raises anything but an error of `contactsim.errors`, or answers in another shape, is named in a
    warning and set aside; the next one that accepts the event is asked.
    """

    @abstractmethod
    def accepts(self, event: EventData) -> bool:
        """True for events that this plugin can differentiate; the first one that says so is taken."""

    @abstractmethod
    def apply(self, event: EventData, dx: Array) -> Array:
        """Variations (m, n_post) after the event of the variations `dx` (m, n_pre) before it.

        Raises:
            NonDifferentiableError: there are none, since neighbouring runs end in states apart from each other.
        """

    @abstractmethod
    def pieces(self, event: EventData) -> Mapping[Word, Array]:
        """{word: matrix (n_post, n_pre)}: the linear pieces, each for one order in which the guards are met."""
