"""Records of what events do, and the names by which they speak."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..common.arrays import Array
from ..common.representation import Brief

NOTHING: Mapping[str, Any] = MappingProxyType({})
CLOCK = "clock"  # the name under which an instant given by `Flow.next_time` fires
LIMIT, LOOP = "limit:", "loop:"  # begin the names of joint limits and loops in transitions; they are no contacts


@dataclass(frozen=True, repr=False)
class Transition(Brief):
    """State and mode after an event, and a record of what happened.

    Attributes:
        x: state after the event (size of the new mode's space,).
        mode: mode after the event.
        changes: {name: (before, after)} of what changed; empty for an event that only the engine sees.
        impulses: {contact: (3,) or (d,) newton second}.
        residuals: {law: largest violation}.
        notes: sentences worth telling the user (a non-unique force, an impact that gains energy).
        derivative: () -> D_x R (dim_post, dim_pre) of the reset x_post = R(t, x_pre) with its outcome held; None: to be
            differenced.
        by_time: () -> D_t R (dim_post,) of the same reset; None: to be differenced.
        by_parameters: names -> {name: D_p R (dim_post,)} of those that are known; None, or a name that is left out: to
            be differenced.
        still: whether the reset does not depend on time, D_t R = 0.
        unmoved: whether the reset leaves the state alone, whatever the parameters are, D_p R = 0.
        accumulated: names of what came to rest here after infinitely many events (Zeno).
        jammed: names of what takes part in an impact without collision here (Painleve).
    """

    x: Array
    mode: Hashable
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=lambda: NOTHING)
    impulses: Mapping[str, Array] = field(default_factory=lambda: NOTHING)
    residuals: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    notes: tuple[str, ...] = ()
    derivative: Callable[[], Array] | None = None
    by_time: Callable[[], Array] | None = None
    by_parameters: Callable[[tuple[str, ...]], Mapping[str, Array]] | None = None
    still: bool = False
    unmoved: bool = False
    accumulated: tuple[str, ...] = ()
    jammed: tuple[str, ...] = ()
