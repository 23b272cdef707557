"""The saltation matrix: the derivative of an event that every neighbouring run meets in the same way."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from contactsim.derivatives.contract import EventDerivative, Word
from contactsim.derivatives.crossing_orders import EventData
from contactsim.derivatives.event_linearization import Passage
from contactsim.errors import NonDifferentiableError


class Saltation(EventDerivative):
    """S = D_x R + (F+ - D_x R F- - D_t R) D_x g / (D_t g + D_x g F-), for one guard or one instant of the clock.

    Source: Kong, Payne, Zhu and Johnson, Saltation Matrices, eq. (9).
    """

    def accepts(self, event: EventData) -> bool:
        """True where all that fired is met together."""
        return len(event.groups) == 1

    def apply(self, event: EventData, dx: np.ndarray) -> np.ndarray:
        """S dx."""
        return _passage(event).apply(dx)

    def pieces(self, event: EventData) -> Mapping[Word, np.ndarray]:
        """The one matrix."""
        return {(event.groups[0],): _passage(event).matrix}


def _passage(event: EventData) -> Passage:
    """The way through the event."""
    passage = event.ways.passage(event.root, event.groups[0])
    if not event.is_outcome(passage.node):
        raise NonDifferentiableError(
            f"neighbours of the run end elsewhere than the run itself at t = {event.time:.9g} s, where something else"
            " happens at the same instant (a parameter was set, or another contact touches); take the two apart",
            event=event,
        )
    return passage
