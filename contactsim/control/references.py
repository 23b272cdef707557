"""References of a feedback at samples: states of a run, whose arcs are continued past the jumps of its state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..errors import InputError, SimulationError
from ..hybrid.trajectory import Arc, Trajectory
from .zero import JUMP

REACH = 5  # samples by which an arc is continued past an event at which the state jumps


class Place(NamedTuple):
    """The state that a feedback follows at a sample.

    Attributes:
        q, v: configuration and velocity.
        sample: number of the sample whose gain goes with it.
    """

    q: Array
    v: Array
    sample: int


@dataclass(frozen=True)
class Branch:
    """An arc continued past an event at which the state jumps.

    Attributes:
        first, last: times between which it may be followed [s].
        arc: the arc, so extended.
        sample: number of the sample whose gain goes with it.
    """

    first: float
    last: float
    arc: Arc
    sample: int


class Followed:
    """References at samples: those of a run, or states one by one.

    A run that is disturbed meets its impacts earlier or later than the reference does. Near an impact both arcs of the
    reference are continued past it, and the one nearer to the state is followed, with the gain at its end (Kong, Li,
    Council and Johnson 2023, V-C).

    Args:
        reference: a Trajectory of a ContactSystem, or states (q, v), one for each sample.
        times: samples (N,) [s].

    Raises:
        InputError: it is neither.
    """

    def __init__(self, reference: Any, times: Array) -> None:
        self._times, count = times, len(times)
        if isinstance(reference, Trajectory):
            arcs = [arc for arc in reference.arcs if arc.t1 > arc.t0]
            self._system: Any = reference.system
            within = np.clip(times, arcs[0].t0, arcs[-1].t1).tolist()
            self._places = [self._place(reference.arc_at(t)(t), k) for k, t in enumerate(within)]
            self._branches = self._around_jumps(arcs)
            return
        states = _states(reference, count)
        self._places = [Place(q, v, k) for k, (q, v) in enumerate(states)]
        self._branches = []

    def near(self, k: int, q: Array, v: Array, space: Any) -> Place:
        """The place to follow at sample `k` from a configuration and a velocity."""
        here, t = self._places[k], float(self._times[k])
        holding = [b for b in self._branches if b.first <= t <= b.last]
        if not holding:
            return here
        places = [here, *(self._place(branch.arc(t), branch.sample) for branch in holding)]
        return min(places, key=lambda place: _distance(place, q, v, space))

    def _place(self, x: Array, k: int) -> Place:
        return Place(self._system.q(x).copy(), self._system.v(x).copy(), k)

    def _around_jumps(self, arcs: list[Arc]) -> list[Branch]:
        """Both arcs at each impact, continued until the next one on that side."""
        velocity = self._system.v
        jumps = [
            (before, after)
            for before, after in pairwise(arcs)
            if np.abs(velocity(before(before.t1)) - velocity(after(after.t0))).max() > JUMP
        ]
        ends = [arcs[0].t0, *(before.t1 for before, _ in jumps), arcs[-1].t1]
        reach = REACH * float(self._times[-1] - self._times[0]) / max(len(self._times) - 1, 1)
        found = []
        for k, (before, after) in enumerate(jumps, 1):
            t = ends[k]
            last = max(int(np.searchsorted(self._times, t, side="right")) - 1, 0)
            found += _continued(before, t, min(t + reach, ends[k + 1]), last)
            found += _continued(after, max(t - reach, ends[k - 1]), t, min(last + 1, len(self._times) - 1))
        return found


def _continued(arc: Arc, first: float, last: float, sample: int) -> list[Branch]:
    """An arc continued to cover some times; none where its motion does not go on so far."""
    try:
        extended = arc.extended(max(arc.t0 - first, 0.0), max(last - arc.t1, 0.0))
    except SimulationError:
        return []
    return [Branch(first, last, extended, sample)]


def _distance(place: Place, q: Array, v: Array, space: Any) -> float:
    return float(np.linalg.norm(np.concatenate([space.difference(place.q, q), v - place.v])))


def _states(given: Any, count: int) -> list[tuple[Array, Array]]:
    """Configurations and velocities of states that a user gave one by one."""
    words = f"give a Trajectory, or {count} states (q, v), one for each row of U"
    if not isinstance(given, Sequence):
        raise InputError(f"the reference of Inputs is a {type(given).__name__}; {words}")
    if len(given) < count:
        raise InputError(f"the reference of Inputs has {len(given)} states; {words}")
    try:
        pairs = [(s.q, s.v) if hasattr(s, "q") else (s[0], s[1]) for s in given]
        return [(np.array(q, dtype=float), np.array(v, dtype=float)) for q, v in pairs]
    except (TypeError, ValueError, IndexError):
        raise InputError(f"the reference of Inputs holds something that is no state; {words}") from None
