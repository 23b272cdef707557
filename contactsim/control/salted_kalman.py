"""The salted Kalman filter: the mean by runs through events, its covariance by their saltation matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..analysis.covariance import covariance_rate
from ..analysis.linearization import Linearization, linearize
from ..analysis.linearized_arcs import LinearizedArc, along, linearized_arcs
from ..analysis.matrices import Weight, symmetric, weight
from ..common.arguments import ANY_NUMBERS, POSITIVE, REAL, arguments, function, one_of, optional
from ..common.arrays import Array
from ..common.lazy import dataclass, scipy
from ..common.representation import Brief, brief
from ..errors import InputError, NonDifferentiableError, SimulationError
from ..hybrid.differences import tangent_derivative
from ..hybrid.manifold import Euclidean, Manifold
from ..hybrid.mode_directions import on_constraints, projector, space_of
from ..hybrid.outcomes import Status
from ..hybrid.simulate import simulate
from ..hybrid.system import Dynamics, HybridSystem, completed
from ..hybrid.tolerances import TOLERANCES, Tolerances
from ..hybrid.trajectory import Trajectory
from .consistency import Belief, Nees, normalised_error
from .unilateral import admitted
from .zero import NO_SPREAD

RTOL, ATOL = 1e-6, 1e-8  # of covariances along arcs, which first-order theory does not know better
REACH = 0.05  # how much earlier or later than the estimate the truth may meet an event [s]
MEASURES = function("a function h(state) -> the numbers that are measured")


@dataclass(frozen=True, repr=False)
class Update(Brief):
    """The effect of a measurement.

    Attributes:
        innovation: y = z - h(x) (m,).
        S: its covariance H P H^T + R (m, m).
        gain: K = P H^T S^-1 (n, m).
        nis: y^T S^-1 y, chi-square distributed with m degrees of freedom where the filter is consistent.
    """

    innovation: Array
    S: Array
    gain: Array
    nis: float


class SaltedKalman:
    """Extended Kalman filter of a hybrid system on its manifold, with the saltation matrix at events.

    The mean goes through its own events, P- to Xi P- Xi^T; where several guards meet and the derivative is piecewise
    linear, points at +-sqrt(r) columns of a root of P (rank r) go through the B-derivative, and their mean and
    covariance are kept. Noise and measurements act along the constraints of the mode only, so P has the rank that the
    mode leaves. A measurement that puts the mean beyond a guard towards which it moves makes it pass that event, a
    little earlier; one that puts an open contact into the ground, from which it departs, leaves it on the ground.

    Args:
        system: the hybrid system.
        state: the mean at `t0` (a State for a ContactSystem).
        P: its covariance (n, n) in the tangent space there, (dq, dv, dz); what the mode forbids is taken away.
        t0: time of the start [s].
        mode: mode of the start, such as `Trajectory.arcs[k].mode`; by default the one in which a run starts there.
        noise: density W (n, n) of white noise on the rate of the state, or a function of time; None: there is none.
        events: "salted", or "reset" for the derivative of the reset alone, D_x R: for comparison, it is wrong.
        tolerances: of runs and their derivatives.
        reach: how much earlier or later truth and estimate may meet the same event [s].

    Attributes:
        t: present time [s].
        mode: present mode of the system.
        nis: normalised innovation squared of the last update; NaN before the first.

    Raises:
        InputError: a matrix has the wrong shape, or is not symmetric and positive semi-definite.

    Source:
        Kong, Payne, Council, Johnson, The salted Kalman filter: Kalman filtering on hybrid dynamical systems, 2021.
    """

    @arguments(t0=REAL, events=one_of("salted", "reset"), tolerances=optional(TOLERANCES), reach=POSITIVE)
    def __init__(
        self,
        system: Dynamics,
        state: Any,
        P: Any,
        *,
        t0: float = 0.0,
        mode: Any = None,
        noise: Any = None,
        events: str = "salted",
        tolerances: Tolerances | None = None,
        reach: float = REACH,
    ) -> None:
        self._system = completed(system)
        self._tolerances = tolerances or self._system.preferred_tolerances or Tolerances()
        self._of_variations = replace(
            self._tolerances, rtol=max(self._tolerances.rtol, RTOL), atol=max(self._tolerances.atol, ATOL)
        )
        self._salted, self._reach, self._noise = events == "salted", reach, noise
        self.t, self.nis = t0, float("nan")
        x = self._system.pack(state)
        if mode is None:
            start = self._system.start(t0, x)
            x, mode = start.x, start.mode
        self.mode, self._x = mode, on_constraints(self._system, mode, t0, x)
        self._P = self._within(symmetric("P", P, self._space.dim))

    # --- what it knows ----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        mode = brief(self._system.named_modes(self.mode))
        return f"{type(self).__name__}({type(self._system).__name__}, t = {self.t:.9g} s, {mode})"

    @property
    def state(self) -> Any:
        """The mean, as the user sees states."""
        return self._system.state(self._x)

    @property
    def P(self) -> Array:
        """Covariance (n, n) in the tangent space at `state`."""
        return self._P.copy()

    @property
    def _space(self) -> Manifold:
        return space_of(self._system, self.mode, self._x)

    def _within(self, P: Array) -> Array:
        """A covariance without what the constraints of the mode forbid."""
        keep = projector(self._system, self.mode, self.t, self._x)
        return _symmetric(keep @ P @ keep.T)

    # --- predict ----------------------------------------------------------------------------------------------

    @arguments(t=REAL)
    def predict(self, t: float) -> None:
        """Carry mean and covariance to the time `t` [s], through the events on the way.

        Raises:
            InputError: `t` lies in the past.
            SimulationError: the run of the mean stops.
            NonDifferentiableError: neighbouring runs end apart from each other at an event, or graze it.
        """
        if t < self.t:
            raise InputError(f"the filter is at t = {self.t:.9g} s and cannot go back to {t:.9g} s; give a later time")
        if t == self.t:
            return
        run = _run(self._system, self._x, self.mode, (self.t, t), self._tolerances)
        lin = linearize(run, tolerances=self._of_variations)
        P, dx = self._P, np.zeros(len(self._P))
        for piece in linearized_arcs(lin, memory=False):  # a slip direction that a mode holds is that of the mean
            P, dx = self._along(lin, piece, P, dx)
            if piece.event is not None:
                P, dx = self._across(piece, P, dx)
        last = run.arcs[-1]
        self.t, self.mode, x = t, last.event.mode_post if last.event else last.mode, run.final_x
        x = space_of(self._system, self.mode, x).integrate(x, dx) if dx.any() else x
        self._x = on_constraints(self._system, self.mode, t, x)
        self._P = self._within(P)

    def _along(self, lin: Linearization, piece: LinearizedArc, P: Array, dx: Array) -> tuple[Array, Array]:
        """Covariance and shift of the mean behind an arc."""
        arc = piece.variation
        if arc is None:
            return P, dx
        if self._noise is None or dx.any():
            transition = arc.propagate(arc.t0, arc.t1, np.eye(arc.dim))
            P, dx = (transition @ P @ transition.T if self._noise is None else P), transition @ dx
        if self._noise is not None:
            rate = partial(covariance_rate, arc, self._density(piece))
            P = along(lin, rate, P, arc.t0, arc.t1)(arc.t1)
        return P, dx

    def _density(self, piece: LinearizedArc) -> Weight:
        """Noise along the constraints of an arc, as they are where it begins."""
        arc = piece.arc
        given = weight("noise", self._noise, piece.dim, arc.t0)
        keep = projector(self._system, arc.mode, arc.t0, arc(arc.t0))
        return lambda t: keep @ given(t) @ keep.T

    def _across(self, piece: LinearizedArc, P: Array, dx: Array) -> tuple[Array, Array]:
        """Covariance and shift of the mean behind an event."""
        event = piece.event
        assert event is not None
        try:
            matrix = event.saltation if self._salted else event.reset
        except NonDifferentiableError:
            if not self._salted or not event.pieces():
                raise
            return _through_pieces(event.apply, P, dx)
        return matrix @ P @ matrix.T, matrix @ dx

    # --- update -----------------------------------------------------------------------------------------------

    @arguments(z=ANY_NUMBERS, h=MEASURES, jacobian=optional(function("a function jacobian(state) -> (m, n)")))
    def update(self, z: Any, h: Callable[[Any], Any], R: Any, jacobian: Callable[[Any], Any] | None = None) -> Update:
        """Take a measurement z = h(state) + noise at the present time into account.

        Args:
            z: what was measured (m,), or a number.
            h: state -> what would be measured there (m,).
            R: covariance (m, m) of the noise, or its variances (m,), or one for all.
            jacobian: state -> derivative (m, n) of h by the tangent coordinates (dq, dv, dz); None: by differences.

        Returns:
            The innovation with its covariance, gain and NIS.

        Raises:
            InputError: sizes do not fit, or R is not positive definite.
        """
        z = np.atleast_1d(np.asarray(z, dtype=float))
        y = z - self._measured(h, self._x, len(z))
        R = _variances(R, len(z))
        H = self._derivative(h, jacobian, len(z))
        S = H @ self._P @ H.T + R
        factor = scipy.linalg.cho_factor(S)
        gain = scipy.linalg.cho_solve(factor, H @ self._P).T
        keep = np.eye(len(self._P)) - gain @ H
        self._move(gain @ y, keep @ self._P @ keep.T + gain @ R @ gain.T)
        self.nis = float(y @ scipy.linalg.cho_solve(factor, y))
        return Update(y, S, gain, self.nis)

    def _measured(self, h: Callable[[Any], Any], x: Array, size: int) -> Array:
        found = np.atleast_1d(np.asarray(h(self._system.state(x)), dtype=float))
        if found.shape != (size,) or not np.isfinite(found).all():
            raise InputError(f"h(state) has shape {found.shape}, and z {(size,)}; let h return what z measures")
        return found

    def _derivative(self, h: Callable[[Any], Any], jacobian: Callable[[Any], Any] | None, size: int) -> Array:
        """H (m, n)."""
        if jacobian is None:
            return tangent_derivative(lambda x: self._measured(h, x, size), self._space, self._x)
        H = np.asarray(jacobian(self.state), dtype=float)
        if H.shape != (size, self._space.dim):
            raise InputError(f"jacobian(state) has shape {H.shape}; give {(size, self._space.dim)}")
        return H

    def _move(self, dx: Array, P: Array) -> None:
        """Put the mean to x (+) dx, with the covariance P of variations of dx, and obey the constraints there."""
        space = self._space
        self._x = on_constraints(self._system, self.mode, self.t, space.integrate(self._x, dx))
        chart = _chart(space, dx)
        self._P = self._within(chart @ P @ chart.T)
        found = admitted(self._system, self.mode, self.t, self._x, self._P, self._tolerances, self._reach)
        self._x = found.x
        if found.t < self.t:
            end, self.t, self._P = self.t, found.t, found.P
            self.predict(end)

    # --- consistency ------------------------------------------------------------------------------------------

    def nees(self, truth: Any) -> Nees:
        """Normalised estimation error squared, e^T P^+ e with e = truth (-) estimate, in the mode of the estimate.

        A truth that has met an event which the estimate has still before it, or the other way round, is carried along
        the arc of its own that has the mode of the estimate, continued past its event to the present time. Where
        several arcs within the filter's reach have that mode, the nearest one counts.

        Args:
            truth: the true run (a Trajectory that holds the present time, best with some more of it), or the true
                state now; of a state the past is not known, and where it is ahead of the estimate, the estimate is
                carried on through its next event.

        Returns:
            The number, with `rank` of P (its degrees of freedom) and `outside`, the part of e outside P's range.

        Raises:
            InputError: the run does not hold the present time.
            SimulationError: truth and estimate come to no common mode within the reach.
        """
        belief = Belief(self._system, self.mode, self.t, self._x, self._P)
        return normalised_error(belief, truth, self._reach, self._tolerances)


def _run(system: HybridSystem, x: Array, mode: Any, span: tuple[float, float], tolerances: Tolerances) -> Trajectory:
    """Run of the mean.

    Raises:
        SimulationError: it stops before its end.
    """
    run = simulate(system, system.state(x), span, tolerances=tolerances, mode=mode)
    if run.status is not Status.FINISHED:
        raise SimulationError(f"the run of the filter's mean stops at t = {run.arcs[-1].t1:.9g} s: {run.message}")
    return run


def _through_pieces(apply: Callable[[Array], Array], P: Array, dx: Array) -> tuple[Array, Array]:
    """Mean and covariance behind a piecewise linear event of a mean `dx` with the covariance P before it."""
    values, vectors = np.linalg.eigh(P)
    kept = values > NO_SPREAD * max(float(values[-1]), 0.0)
    root = vectors[:, kept] * np.sqrt(values[kept])
    if not root.shape[1]:
        return np.zeros_like(P), np.asarray(apply(dx))
    spread = np.sqrt(root.shape[1]) * root.T
    images = apply(np.vstack([dx + spread, dx - spread]))
    mean = images.mean(axis=0)
    off = images - mean
    return off.T @ off / len(off), mean


def _chart(space: Manifold, dx: Array) -> Array:
    """Derivative (n, n) of x (+) (dx + e) in the tangent space at x (+) dx by e at 0: the inverse of dexp^-1."""
    if isinstance(space, Euclidean):
        return np.eye(space.dim)
    rows = [np.array(space.chart_rate(dx, column.copy())) for column in np.eye(space.dim)]
    return np.linalg.inv(np.array(rows).T)


def _variances(R: Any, size: int) -> Array:
    """Covariance (m, m) of a measurement."""
    given = np.asarray(ANY_NUMBERS.check("R", R), dtype=float)
    if given.ndim < 2 and given.shape in ((), (size,)):
        given = np.diag(np.broadcast_to(given, (size,)))
    return symmetric("R", given, size, definite=True)


def _symmetric(P: Array) -> Array:
    return np.asarray(0.5 * (P + P.T))
