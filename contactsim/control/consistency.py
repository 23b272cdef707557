"""Consistency of a filter: its error in units of its covariance, with truth and estimate in one mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..analysis.linearization import linearize
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.representation import Brief
from ..contact.modes import Phase, SystemMode
from ..errors import InputError, SimulationError
from ..hybrid.mode_directions import directions, projector, space_of
from ..hybrid.simulate import simulate
from ..hybrid.system import HybridSystem
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Arc, Trajectory
from .unilateral import continued_arc, variation

ARCS = 3  # of the truth that are looked at, those nearest in time
JUMP = 1e-9  # a state that changes less at an event, in its units, does not jump there
RANK = 1e-9  # eigenvalues of the correlation matrix below this share of the largest are zero


class Nees(float):
    """A normalised estimation error squared.

    Attributes:
        rank: of P on the directions that the mode allows: its degrees of freedom.
        outside: size of the part of the error that lies outside the range of P, in the units of the state.
        error: e = truth (-) estimate (n,).
    """

    rank: int
    outside: float
    error: Array

    def __new__(cls, value: float, rank: int, outside: float, error: Array) -> Nees:
        """The number with what belongs to it."""
        made = super().__new__(cls, value)
        made.rank, made.outside, made.error = rank, outside, error
        return made

    def __repr__(self) -> str:
        return f"Nees({float(self):.6g}, rank {self.rank}, outside {self.outside:.3g})"


@dataclass(frozen=True, repr=False)
class Belief(Brief):
    """The belief of a filter: mean and covariance in a mode."""

    system: HybridSystem
    mode: Any
    t: float
    x: Array
    P: Array


def normalised_error(belief: Belief, truth: Any, reach: float, tolerances: Tolerances) -> Nees:
    """NEES of a belief; see `SaltedKalman.nees`."""
    known = isinstance(truth, Trajectory)
    run = truth if known else _run_on(belief.system, belief.t, belief.system.pack(truth), reach, tolerances)
    if not run.arcs[0].t0 <= belief.t <= run.arcs[-1].t1:
        raise InputError(
            f"the true run covers [{run.arcs[0].t0:.9g}, {run.arcs[-1].t1:.9g}] s and not the filter's time"
            f" {belief.t:.9g} s; give one that does"
        )
    found = [_error(belief, x) for x in _in_mode(run, belief, reach)]
    if known and found:
        return min(found, key=_size)
    return _carried_on(belief, run, found, reach, tolerances, not known)


def _carried_on(
    belief: Belief, run: Trajectory, found: list[Nees], reach: float, tolerances: Tolerances, ahead: bool
) -> Nees:
    """The same with the estimate carried on through its next events, until the truth has an arc in their mode."""
    for later in _next_beliefs(belief, reach, tolerances):
        found += [_error(later, x) for x in _in_mode(run, later, reach)]
        if found:
            break
    if not found:
        raise SimulationError(
            f"truth and estimate have no mode in common within {reach:g} s of t = {belief.t:.9g} s; give a true run"
            " that goes on for longer, or a filter with a longer reach"
        )
    return min(found, key=_size)


def _size(found: Nees) -> float:
    return float(np.linalg.norm(found.error))


def _error(belief: Belief, x: Array) -> Nees:
    """e^T P^+ e for a true state in the mode of a belief."""
    basis = directions(projector(belief.system, belief.mode, belief.t, belief.x))
    error = space_of(belief.system, belief.mode, belief.x).difference(belief.x, x)
    inside, P = basis.T @ error, basis.T @ belief.P @ basis
    scale = np.sqrt(np.diag(P))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(P / np.outer(scale, scale))
    kept = values > RANK * max(float(values[-1]), 0.0)
    along = vectors[:, kept].T @ (inside / scale)
    lost = error - basis @ (scale * (vectors[:, kept] @ along))
    return Nees(float(along @ (along / values[kept])), int(kept.sum()), float(np.linalg.norm(lost)), error)


def shape(mode: Any) -> Any:
    """The part of a mode that decides its flow: how contacts move, and in the plane in which direction."""
    if not isinstance(mode, SystemMode):
        return mode
    return tuple(
        (state.mode, state.direction if state.phase is Phase.DIRECTED and len(state.direction) == 1 else ())
        for state in mode.contacts
    )


def _in_mode(run: Trajectory, belief: Belief, reach: float) -> Iterator[Array]:
    """True states now, along the nearest arcs that have the mode of a belief, continued to the present time."""
    t, wanted = belief.t, shape(belief.mode)
    near = [arc for arc in _outermost(run, t) if shape(arc.mode) == wanted and _away(arc, t) <= reach]
    for arc in sorted(near, key=lambda arc: _away(arc, t))[:ARCS]:
        try:
            yield _at(arc, t)
        except SimulationError:
            continue


def _outermost(run: Trajectory, t: float) -> Iterator[Arc]:
    """The arcs of a run but those that lead without a jump to one of the same kind that is nearer to the time `t`.

    A slip in space comes to rest along a direction that is held at last: that piece of it is the one to continue.
    """
    arcs = [arc for arc in run.arcs if arc.t1 > arc.t0]
    for k, arc in enumerate(arcs):
        other = k + 1 if t > arc.t1 else k - 1 if t < arc.t0 else -1
        goes_on = 0 <= other < len(arcs) and shape(arcs[other].mode) == shape(arc.mode)
        if not (goes_on and _joined(*sorted((arc, arcs[other]), key=lambda arc: arc.t0))):
            yield arc


def _joined(before: Arc, after: Arc) -> bool:
    """True where no event between two arcs makes the state jump."""
    x, y = before(before.t1), after(after.t0)
    return len(x) == len(y) and float(np.abs(x - y).max()) <= JUMP


def _away(arc: Arc, t: float) -> float:
    """Distance of an arc from a time [s]."""
    return max(arc.t0 - t, t - arc.t1, 0.0)


def _at(arc: Arc, t: float) -> Array:
    """State (size,) on an arc, or on its continuation."""
    if arc.t0 <= t <= arc.t1:
        return arc(t)
    end = arc.t0 if t < arc.t0 else arc.t1
    return continued_arc(arc.system, arc.mode, end, arc(end), t)(t)


def _run_on(system: HybridSystem, t: float, x: Array, reach: float, tolerances: Tolerances) -> Trajectory:
    return simulate(system, system.state(x), (t, t + reach), tolerances=tolerances)


def _next_beliefs(belief: Belief, reach: float, tolerances: Tolerances) -> Iterator[Belief]:
    """The belief behind each of its next events, taken back from there to the present time."""
    state, span = belief.system.state(belief.x), (belief.t, belief.t + reach)
    run = simulate(belief.system, state, span, tolerances=tolerances, mode=belief.mode)
    lin = linearize(run, tolerances=tolerances)
    for arc in run.arcs:
        if arc.t1 > arc.t0 and arc.t0 > belief.t:
            back = continued_arc(arc.system, arc.mode, arc.t0, arc(arc.t0), belief.t)
            way = np.linalg.solve(variation(back, tolerances), lin.matrix(belief.t, arc.t0))
            yield replace(belief, mode=arc.mode, x=back(belief.t), P=way @ belief.P @ way.T)
