"""Guards by samples: what a few values within a step show of them, where nothing bounds how fast they change.

A step is sampled at Chebyshev-Lobatto points. The polynomials through six samples show, on a finer grid, whether a
guard may dip below zero in between; where one comes within DIP of its own range of that, the guard itself is minimised.
So a dip is missed where it is too short for the samples to show it: about a tenth of a step. Guards whose samples are
not those of a smooth function on that scale need a shorter step.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from .chart_path import chebyshev_basis, chebyshev_derivative
from .flow import GuardBounds
from .segments import Segment
from .zero import FLAT, LOWEST

NODES = 0.5 * (1.0 - np.cos(np.pi * np.arange(6) / 5))  # shares of a step
PARABOLA = np.stack([(1.0 - NODES) * (1.0 - 2.0 * NODES), 4.0 * NODES * (1.0 - NODES), NODES * (2.0 * NODES - 1.0)]).T
GRID = np.sort(np.concatenate([np.linspace(0.0, 1.0, 26), NODES[1:-1]]))
TO_SERIES = np.linalg.inv(chebyshev_basis(2 * NODES - 1, 5))
TO_GRID = chebyshev_basis(2 * GRID - 1, 5) @ TO_SERIES
TO_SLOPES = chebyshev_basis(2 * GRID - 1, 4) @ (2.0 * chebyshev_derivative(TO_SERIES))  # by shares
DIP = 1e-2
UNRESOLVED = 0.05  # share of the two highest Chebyshev coefficients above which six samples do not show a guard
BENT = 0.05  # share of its change in a step by which a guard may bend that counts as straight, or leave a parabola
MONOTONE = 0.4  # share of its fall by which a guard may bend whose parabola falls all along; from 0.5 on it turns
LOOK = 5e-3  # s, between two looks: a pulse that lasts as long is seen
MOST_LOOKS = 2000  # in a step; in one that is longer than ten seconds they are further apart
STRAY = 0.05  # share of its swing in a step by which it may leave the polynomial
NOISE = 1e-6  # share of the largest of it that counts as no swing
QUIET = 2.0  # a guard that stays this many times its own change above zero is not looked at closer


class Samples(NamedTuple):
    """Samples of the guards in a step.

    Attributes:
        segment: the step.
        times, values: times (n,), and the guards there (n, ng): at both ends, in the middle too, or at NODES.
        certain: which guards cannot dip unseen, by their bounds (ng,).
        bounds: how fast guards can change; None: of none it is known.
    """

    segment: Segment
    times: Array
    values: Array
    certain: Array
    bounds: GuardBounds | None

    @property
    def full(self) -> bool:
        """True where guards were sampled at all NODES."""
        return len(self.times) == len(NODES)


def quiet(values: Array) -> Array:
    """Mask of the guards that stay far above zero, by samples (n, ng) in both ends of a step and its middle."""
    low = values.min(axis=0)
    return low > QUIET * (values.max(axis=0) - low)


def straight(values: Array) -> Array:
    """Mask of the guards that change straight, by samples (3, ng) in both ends of a step and its middle."""
    with np.errstate(invalid="ignore"):  # a guard that is infinite is not
        bow = np.abs(values[0] - 2.0 * values[1] + values[2])
        return np.asarray(bow <= BENT * np.abs(values[2] - values[0]))


def falling(values: Array) -> Array:
    """Mask of the guards that fall all along a step and stay positive, by samples (3, ng) in its ends and its middle.

    The parabola through them does, with slopes at both ends of at least a fifth of the mean one.
    """
    with np.errstate(invalid="ignore"):
        bow, fall = np.abs(values[0] - 2.0 * values[1] + values[2]), values[0] - values[2]
        return np.asarray((values[2] > 0.0) & (bow <= MONOTONE * fall))


def bent(values: Array) -> bool:
    """Whether what was sampled at NODES (6, k) leaves the straight way between its ends, or one number a parabola."""
    moved = values - values[0]
    apart, size = moved - np.outer(NODES, moved[-1]), np.abs(TO_SERIES @ values)
    swing = size[1:].sum(axis=0)
    curved = np.linalg.norm(apart, axis=1).max() > BENT * np.linalg.norm(moved, axis=1).max()
    return bool(curved or np.any((size[3:].sum(axis=0) > BENT * swing) & (swing > FLAT)))


def unresolved(values: Array) -> Array:
    """Mask of the guards that may swing through zero between samples (6, ng): the step is too long for them."""
    series = np.abs(TO_SERIES @ values)
    swing = series[1:].sum(axis=0)
    rough = series[4] + series[5] > UNRESOLVED * swing
    return rough & (values.min(axis=0) <= 2.0 * swing) & (swing > FLAT)


def dipping(values: Array) -> Array:
    """Between which places of GRID (., ng) the polynomials through samples (6, ng) are least, and close to zero.

    A guard that falls towards the end may turn there before its polynomial does.
    """
    shown, slopes = TO_GRID @ values, TO_SLOPES @ values
    lowest = shown[:-1] + slopes[:-1] * np.diff(GRID)[:, None]
    slack = DIP * (values.max(axis=0) - values.min(axis=0))
    turns = slopes[1:] > 0.0
    turns[-1] = True
    return (slopes[:-1] < 0.0) & turns & (lowest <= slack)


def dip_between(guard: Callable[[float], float], segment: Segment, values: Array, node: int) -> float | None:
    """The first time between a node and the one before at which a guard with samples (6,) is least and not positive."""
    from scipy.optimize import minimize_scalar  # which takes long to import

    places = np.flatnonzero(dipping(values[:, None])[:, 0] & (GRID[:-1] >= NODES[node - 1]) & (GRID[1:] <= NODES[node]))
    for k in places.tolist():
        shares = float(GRID[max(k - 1, 0)]), float(GRID[min(k + 2, len(GRID) - 1)])
        early, late = (segment.t0 + (segment.t1 - segment.t0) * share for share in shares)
        accuracy = {"xatol": LOWEST * (late - early)}
        best = minimize_scalar(guard, bounds=(early, late), method="bounded", options=accuracy)
        if best.fun <= 0.0:
            return float(best.x)
    return None


def is_hidden(acting: Callable[[float, Array], Array | None], segment: Segment) -> bool:
    """Whether a step is too long to show how something changes that acts by the time, (t, x) -> (k,).

    A pulse that a user's function gives, or a jump, may begin and end between the stages of a long step, and between
    the samples of guards: a body at rest, or in free flight, keeps no step short. So it is asked every LOOK seconds, at
    the state where the step begins. Where it strays from the polynomial through its values at NODES, the step has not
    seen it.
    """
    duration = segment.t1 - segment.t0
    looks = min(math.ceil(duration / LOOK), MOST_LOOKS)
    if looks < 2:
        return False
    start = segment(segment.t0) if segment.start is None else segment.start
    shares = np.arange(1, looks) / looks

    def at(places: Array) -> Array:
        return np.array([acting(t, start) for t in (segment.t0 + duration * places).tolist()])

    known, found = at(NODES), at(shares)
    apart = np.abs(found - chebyshev_basis(2.0 * shares - 1.0, len(NODES) - 1) @ (TO_SERIES @ known)).max(axis=0)
    everything = np.concatenate([known, found])
    swing = np.ptp(everything, axis=0)
    least = max(FLAT, NOISE * float(np.abs(everything).max(initial=0.0)))
    return bool(np.any((apart > STRAY * swing) & (swing > least)))
