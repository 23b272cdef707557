"""Steps that a compiled engine takes as long as nothing happens in them: what they begin from, and what they were."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from .manifold import Manifold

AT_ONCE = 128  # steps, after which a run looks up again
EVENTS_AT_ONCE = 512  # the same of events, of which some hundred may follow in milliseconds


@dataclass(eq=False)
class Course:
    """Where a `Stepper` and its `Watch` are; an engine that goes on changes it, arrays in place.

    Attributes:
        t, bound: time, and how far steps may lead [s].
        x, base, y, rate: state; origin of the chart (size,); place in it, and the rate there (dim,).
        fresh: whether a new chart begins at x, where the rate is still to be computed.
        step, proposed, natural: next step, as the method has it, as it was proposed before a bound cut it, and as the
            motion itself allows [s]; natural is negative where it is not known.
        approach: longest step towards a singular place at the last step [s].
        expandable: longest step towards one at which the field is expanded there [s].
        in_haste: whether the time to the next guard is asked for.
        rtol, atol, max_step: of a step [s].
        path_rtol, path_atol: of the run.
        automatic, held_steps, loose_steps, patience, began: as `StiffArcs` counts steps at the edge of stability.
        faded, short_step, enough: as it sums up a decay over steps that do not grow; fades: whether that was enough.
        tried: steps of the stiff method since it took over, as it counts them.
        stiff: whether that method is at work; asked: whether its next step is counted.
        fastest: largest eigenvalue of its derivative, or a bound of it that is low enough [1/s]; NaN: it is not known.
        kept: what an engine keeps of that method from call to call.
        most: steps at once.
        clearance, way: what guards that are left out were above where they were looked at last, and by how much they
            may have fallen since.
        values, highest, floor, rounding, band: of the guards (ng,): where the step begins; largest since the arc began;
            level at which one fires that has not risen; their rounding, and how closely they are met.
    """

    t: float
    bound: float
    x: Array
    base: Array
    y: Array
    rate: Array
    fresh: bool
    step: float
    proposed: float
    natural: float
    approach: float
    expandable: float
    in_haste: bool
    rtol: float
    atol: float
    max_step: float
    path_rtol: float
    path_atol: float
    automatic: bool
    held_steps: int
    loose_steps: int
    patience: int
    began: float
    faded: float
    short_step: float
    enough: float
    tried: int
    stiff: bool
    most: int
    values: Array
    highest: Array
    floor: Array
    rounding: Array
    band: Array
    asked: bool = False
    fades: bool = False
    fastest: float = math.nan
    kept: Any = None
    clearance: float = math.inf
    way: float = 0.0

    def move(self, x: Array, space: Manifold) -> None:
        """Go on from a state that was put back onto its constraints: the chart moves with it."""
        self.x = np.array(x)
        self.base = self.x.copy() if self.fresh else space.integrate(x, -self.y)


class Landing(NamedTuple):
    """The guards that fire where a step ends.

    Attributes:
        fired: their places; empty: none does.
        leader: the one that the step was ended for; -1: it was not.
        at_once: whether that had not risen since the flow began.
    """

    fired: tuple[int, ...]
    leader: int
    at_once: bool


class Passed(NamedTuple):
    """Steps of a compiled engine.

    Attributes:
        record: of each step (k, .): t0, t1, the part of its tolerance that it misses, end of its dense output, base,
            state at its start and at its end, chart coordinates at its start, the functions of its dense output
            (7 dim), guards at its end.
        pending: whether an event may lie in the last of them, or the bound at its end: all others are clear of events.
        landing: what fires where a pending step ends; None: it is not known yet.
        suspected: whether stability seems to hold the method.
        hemmed: whether the bound may have made one of them shorter.
        evaluations: of the field.
        error: what a user's function raised in the step behind them; None: nothing did.
        asked: there are none, and by this derivative (dim, dim) of the stiff method it is to be told first whether that
            is left; None: there is nothing to tell.
    """

    record: Array
    pending: bool
    landing: Landing | None
    suspected: bool
    hemmed: bool
    evaluations: int
    error: BaseException | None
    asked: Array | None = None


class Watching(Protocol):
    """What watches guards along the course."""

    def embark(self, course: Course) -> None:
        """Tell where the guards are."""
        ...

    def disembark(self, course: Course) -> None:
        """Go on from where they were left."""
        ...
