"""Accepted steps: the state anywhere in them, how far they lead, and polynomials for files and for compiled code."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import count, pairwise
from typing import Any, cast, overload

import numpy as np

from ..common.arrays import Array
from ..common.lazy import chebyshev, dataclass
from ..common.representation import Brief
from ..errors import SimulationError
from .chart_path import ChartPath, chebyshev_basis, chebyshev_derivative
from .flow import Flow, Path
from .manifold import Manifold
from .tolerances import Tolerances

PARTS = 7  # of the dense output of DOP853
# The most that each of the functions comes to with which `Interpolant853` is written, over a step, and 1.001 times its
# steepest slope by the share of it, looked at in 2000 parts (`tests/hybrid/test_paths.py`).
LARGEST853 = np.array(
    [
        [1.0, 0.25, 0.148148120375, 0.0625, 0.03456, 0.015625, 0.008393003760563823],
        [
            *(1.0010000000002275, 1.0004995, 0.9999992502499999, 0.19264214469500407),
            *(0.13571072696424993, 0.053719169858641135, 0.03361655124780897),
        ],
    ]
)

# Any other interpolant is a polynomial of no higher degree than that of LSODA, and known by as many points.
DEGREE = 12
POINTS = 0.5 + 0.5 * np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))


class Interpolant853:
    """SciPy's dense output of a step of DOP853 for one time as a single product; events are located with it.

        y(t) = y_old + s F_0 + s (1 - s) F_1 + s^2 (1 - s) F_2 + ...,  s = (t - t_old) / h.

    Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6 and the code dop853.f there.
    """

    def __init__(self, t_old: float, t: float, y_old: Array, F: Array) -> None:
        self.t_old, self.t, self.y_old, self.F = t_old, t, y_old, F
        self._step = t - t_old

    @staticmethod
    def parts(s: Any) -> Array:
        """The functions of s that F are the coefficients of (7, ...)."""
        r = 1.0 - s
        b = s * r
        c, d = b * s, b * b
        e, f = d * s, d * b
        return np.array((s, b, c, d, e, f, f * s))

    def __call__(self, t: Any) -> Array:
        """State (n,) at a time, or (n, m) at times (m,)."""
        powers = self.parts((t - self.t_old) / self._step)
        return self.y_old + powers @ self.F if powers.ndim == 1 else self.y_old[:, None] + self.F.T @ powers


@dataclass(frozen=True)
class Still:
    """A chart in which nothing moves."""

    dim: int

    def __call__(self, t: float) -> Array:
        """Chart coordinates (dim,) at any time."""
        return np.zeros(self.dim)


@dataclass(frozen=True)
class Segment:
    """One accepted step: the state at any t in [t0, t1] is base (+) chart(t).

    A fresh step also knows the state at its end and the guards there.

    Attributes:
        start: the state at its start.
        miss: how much of the tolerance of a step its interpolant misses at most, by the estimate of the method.
    """

    t0: float
    t1: float
    base: Array
    chart: Callable[[float], Array]
    space: Manifold
    end: Array | None = None
    guards: Array | None = None
    start: Array | None = None
    miss: float = 1.0

    @staticmethod
    def instant(t: float, x: Array, space: Manifold) -> Segment:
        """The step of no length that an arc without any other has."""
        return Segment(t, t, x, Still(space.dim), space)

    @property
    def origin(self) -> Array:
        """Chart coordinates of its start (dim,)."""
        return self.chart.y_old if isinstance(self.chart, Interpolant853) else self.chart(self.t0)

    def __call__(self, t: float) -> Array:
        """State (size,) at `t` by the step's own interpolant; at its end that of the step itself."""
        if t == self.t1 and self.end is not None:
            return self.end
        return self.space.integrate(self.base, self.chart(t))


def segments_of(record: Array, space: Manifold) -> list[Segment]:
    """The steps of a record (k, .) of a compiled engine, see `Passed`; their arrays are views of it."""
    bases, starts, finals, origins, parts, guards = _columns(space.size, space.dim)
    found = []
    for row in record:
        t0, t1, miss, until = row[:4].tolist()
        chart = Interpolant853(t0, until, row[origins], row[parts].reshape(PARTS, space.dim))
        found.append(Segment(t0, t1, row[bases], chart, space, row[finals], row[guards], row[starts], miss))
    return found


class Steps(Sequence[Segment]):
    """The steps of an arc; those of a compiled engine are made where they are asked for, of its record.

    Most of a run is never looked at step by step, and making steps takes the lock that other threads wait for.
    """

    def __init__(self, found: Iterable[Segment] = ()) -> None:
        self._found: list[Segment | Array] = list(found)
        self._rows: list[Array | None] = [None] * len(self._found)  # of the record
        self._space: Manifold | None = None

    def append(self, step: Segment) -> None:
        """Add a step."""
        self._found.append(step)
        self._rows.append(None)

    def record(self, record: Array, space: Manifold) -> None:
        """Add those of a record (k, .) of a compiled engine."""
        rows = list(record)
        self._found += rows
        self._rows += rows
        self._space = space

    def copy(self) -> Steps:
        """The same steps, to which others may be added."""
        copied = Steps()
        copied._found, copied._rows, copied._space = list(self._found), list(self._rows), self._space
        return copied

    @property
    def starts(self) -> list[float]:
        """Times at which the steps begin [s]."""
        return [found.t0 if isinstance(found, Segment) else float(found[0]) for found in self._found]

    def recorded(self) -> tuple[Array, Manifold] | None:
        """The record (k, .) of all steps, and the manifold of their states.

        None where there is none, or where one of the steps beside it has another interpolant.
        """
        others = [step for step, row in zip(self._found, self._rows, strict=True) if row is None]
        if self._space is None or not all(isinstance(cast("Segment", one).chart, Interpolant853) for one in others):
            return None
        rows = self.rows()
        return None if rows is None else (rows, self._space)

    def rows(self) -> Array | None:
        """The steps (k, .) as a compiled engine records them, but for the guards; None where one is no such step."""
        rows = [_row(found) if row is None else row for found, row in zip(self._found, self._rows, strict=True)]
        known = [row for row in rows if row is not None]
        width = min(map(len, known), default=0)
        return None if len(known) < len(rows) else np.array([row[:width] for row in known])

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> Segment: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Segment]: ...
    def __getitem__(self, index: int | slice) -> Segment | Sequence[Segment]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        found = self._found[index]
        if isinstance(found, Segment):
            return found
        assert self._space is not None
        step = self._found[index] = segments_of(found[None], self._space)[0]
        return step


def _row(step: Segment | Array) -> Array | None:
    """A step as `Passed` has it, but for its guards; None of one whose chart is no dense output of DOP853."""
    if not isinstance(step, Segment):
        return step
    chart = step.chart
    if isinstance(chart, Polynomial) and len(chart.coefficients) <= len(FROM_VALUES_853):
        chart = _dense_output(chart)
    if not isinstance(chart, Interpolant853) or chart.t_old != step.t0:
        return None
    start, end = step(step.t0) if step.start is None else step.start, step(step.t1)
    return np.concatenate([[step.t0, step.t1, step.miss, chart.t], step.base, start, end, chart.y_old, chart.F.ravel()])


def _dense_output(series: Polynomial) -> Interpolant853:
    """A polynomial as the dense output that it was made of, as runs that were loaded have them."""
    whole = np.zeros((len(FROM_VALUES_853), series.coefficients.shape[1]))
    whole[: len(series.coefficients)] = series.coefficients
    first = np.eye(len(whole), 1)  # y_old counts for the constant alone
    y_old, *parts = np.linalg.solve(np.hstack([first, FROM_PARTS_853]), whole)
    return Interpolant853(series.t0, series.t1, y_old, np.array(parts))


@lru_cache(maxsize=32)
def _columns(size: int, dim: int) -> tuple[slice, ...]:
    """Where a record has bases, states at both ends, chart coordinates, dense outputs and guards."""
    ends = np.cumsum([4, size, size, size, dim, PARTS * dim]).tolist()
    return (*(slice(*pair) for pair in pairwise(ends)), slice(ends[-1], None))


def starts_of(steps: Sequence[Segment]) -> list[float]:
    """Times at which steps begin [s]."""
    return steps.starts if isinstance(steps, Steps) else [step.t0 for step in steps]


def last_start(record: Array, space: Manifold) -> tuple[float, Array]:
    """Time and state at which the last step of a record begins."""
    return float(record[-1, 0]), record[-1, _columns(space.size, space.dim)[1]]


@dataclass(frozen=True)
class Chain:
    """The charts of several steps, one after the other, as one."""

    pieces: tuple[Segment, ...]

    def __call__(self, t: float) -> Array:
        """Chart coordinates (dim,) at `t`, by the first step that reaches it."""
        ends = [piece.t1 for piece in self.pieces[:-1]]
        return self.pieces[bisect_left(ends, t)].chart(t)


MANY = 16  # degree that fits the smooth dense output of a method that does not tell its own


@dataclass(frozen=True, repr=False)
class Polynomial(Brief):
    """A chart over one step: sum of c_k T_k(s) with s in [-1, 1] from `t0` to `t1`; coefficients (degree + 1, dim)."""

    t0: float
    t1: float
    coefficients: Array

    def __call__(self, t: float) -> Array:
        """Chart coordinates (dim,) at `t`."""
        if len(self.coefficients) == 1:
            return self.coefficients[0].copy()
        s = ((t - self.t0) - (self.t1 - t)) / (self.t1 - self.t0)
        return chebyshev.chebval(s, self.coefficients)


def polynomial(segment: Segment) -> Polynomial:
    """The chart of a step as a polynomial: it is one, so its values at the Chebyshev nodes say it all."""
    chart, t0, t1 = segment.chart, segment.t0, segment.t1
    if isinstance(chart, Polynomial):
        return chart
    if t1 == t0:
        return Polynomial(t0, t1, np.asarray(chart(t0))[None])
    nodes, transform = _nodes(_degree(chart) + 1)
    times = t0 + (t1 - t0) * 0.5 * (1.0 + nodes)
    return Polynomial(t0, t1, transform @ values(chart, times))


def values(chart: Callable[[Any], Array], times: Array) -> Array:
    """Chart coordinates (m, dim) at times (m,); dense outputs of SciPy's kind take them at once."""
    return chart(times).T if hasattr(chart, "t_old") else np.array([chart(float(t)) for t in times])


def _nodes(count: int) -> tuple[Array, Array]:
    """Chebyshev's nodes (count,), and the matrix from values there to the coefficients."""
    angles = np.pi * (np.arange(count) + 0.5) / count
    transform = 2.0 / count * np.cos(np.outer(np.arange(count), angles))
    transform[0] *= 0.5
    return np.cos(angles), transform


def _degree(chart: Callable[[float], Array]) -> int:
    """Degree of SciPy's dense outputs: DOP853, the Runge-Kutta methods and Radau, LSODA, BDF."""
    if hasattr(chart, "F"):
        return len(chart.F)
    if hasattr(chart, "Q"):
        return int(chart.Q.shape[1])
    if hasattr(chart, "yh"):
        return int(chart.yh.shape[1]) - 1
    return int(getattr(chart, "order", MANY))


NODES_853, FROM_VALUES_853 = _nodes(8)
FROM_PARTS_853 = FROM_VALUES_853 @ Interpolant853.parts(0.5 * (1.0 + NODES_853)).T  # (8, 7)


def chart_path(steps: Sequence[Segment]) -> ChartPath:
    """The path of some steps."""
    recorded = steps.recorded() if isinstance(steps, Steps) else None
    if recorded is not None:
        return _recorded_path(*recorded)
    steps = list(steps)
    if all(isinstance(step.chart, Interpolant853) for step in steps):
        return _path_of_853(steps)
    pieces = [(step, *piece) for step in steps for piece in _pieces(step)]
    series = [found.coefficients for _, _, found in pieces]
    table = np.zeros((len(pieces), max(map(len, series)), series[0].shape[1]))
    for row, own in zip(table, series, strict=True):
        row[: len(own)] = own
    return ChartPath(
        np.array([(found.t0, found.t1) for _, _, found in pieces]),
        np.array([start for _, start, _ in pieces]),
        np.array([(step.t0, step.t1) for step, _, _ in pieces]),
        np.array([step.base for step, _, _ in pieces]),
        table,
    )


def _path_of_853(steps: Sequence[Segment]) -> ChartPath:
    """The path of steps of DOP853, each of which is one piece."""
    charts = [step.chart for step in steps if isinstance(step.chart, Interpolant853)]
    times = np.array([(step.t0, step.t1, chart.t_old, chart.t) for step, chart in zip(steps, charts, strict=True)])
    series = FROM_PARTS_853 @ np.array([chart.F for chart in charts])
    series[:, 0] += [chart.y_old for chart in charts]
    return ChartPath(times[:, 2:], times[:, 0], times[:, :2], np.array([step.base for step in steps]), series)


def _recorded_path(record: Array, space: Manifold) -> ChartPath:
    """The same of the record (k, .) of a compiled engine, see `segments_of`."""
    bases, _, _, origins, parts, _ = _columns(space.size, space.dim)
    series = FROM_PARTS_853 @ record[:, parts].reshape(len(record), PARTS, space.dim)
    series[:, 0] += record[:, origins]
    return ChartPath(record[:, [0, 3]], record[:, 0], record[:, :2], record[:, bases], series)


def _pieces(step: Segment) -> Iterator[tuple[float, Polynomial]]:
    """The polynomials of a step, each with the time from which it holds."""
    if isinstance(step.chart, Chain):
        for piece in step.chart.pieces:
            yield from _pieces(piece)
    elif isinstance(step.chart, Interpolant853):
        chart = step.chart
        coefficients = FROM_PARTS_853 @ chart.F
        coefficients[0] += chart.y_old
        yield step.t0, Polynomial(chart.t_old, chart.t, coefficients)
    else:
        yield step.t0, polynomial(step)


RTOL, ATOL = 1e-9, 1e-11  # of what nobody runs through
MOST_EVALUATIONS = 500  # of a field, after which the motion does not lead on: a slip that was continued past its stop


def continued(flow: Flow, space: Manifold, t: float, x: Array, end: float) -> Segment:
    """The motion of a flow from (t, x) to `end` [s], which may lie before it, whatever its guards say.

    Raises:
        SimulationError: the flow does not lead there.
    """
    from scipy.integrate import solve_ivp  # which takes long to import

    flow, asked = flow.rebased(t, x), count()
    ends = f"the arc cannot be extended from t = {t:.6g} s to {end:.6g} s: its motion ends before; extend it by less"

    def rate(at: float, dx: Array) -> Array:
        if next(asked) > MOST_EVALUATIONS:
            raise SimulationError(ends)
        return np.array(space.chart_rate(dx, flow.field(at, space.integrate(x, dx))))

    found = solve_ivp(rate, (t, end), np.zeros(space.dim), method="DOP853", dense_output=True, rtol=RTOL, atol=ATOL)
    if not found.success or not np.isfinite(found.y).all():
        raise SimulationError(ends)
    first, last = min(t, end), max(t, end)
    return Segment(first, last, x, found.sol, space, end=x if end < t else None)


# --- how far a step leads at most, from the polynomial for what lies between its ends ----------------------------


@cache
def _from_points() -> tuple[Array, Array]:
    """Series of a polynomial, and those of its slope by s, from its values at POINTS."""
    to_series = np.linalg.inv(chebyshev_basis(2.0 * POINTS - 1.0, DEGREE))
    return to_series, 2.0 * chebyshev_derivative(np.eye(DEGREE + 1)) @ to_series


def path(segment: Segment, tolerances: Tolerances) -> Path:
    """Bounds of the way along a step."""
    moved, rate = _extent(segment)
    start = segment(segment.t0) if segment.start is None else segment.start

    def error() -> Array:
        return segment.miss * (tolerances.atol + tolerances.rtol * (np.abs(segment.origin) + moved))

    return Path(segment.t0, segment.t1 - segment.t0, start, moved, rate, error, segment)


def _extent(segment: Segment) -> tuple[Array, Array]:
    """Largest change since the start of a step (dim,), and largest rate (dim,), in the chart.

    |sum F_k b_k| <= sum |F_k| max |b_k| for the functions b_k of an interpolant.
    """
    chart = segment.chart
    if isinstance(chart, Chain):
        parts = [_extent(piece) for piece in chart.pieces]
        return np.sum([moved for moved, _ in parts], axis=0), np.max([rate for _, rate in parts], axis=0)
    if isinstance(chart, Interpolant853):
        moved, slope = LARGEST853 @ np.abs(chart.F)
        return moved, slope / abs(chart.t - chart.t_old)
    duration = segment.t1 - segment.t0
    times = segment.t0 + duration * POINTS
    found, (to_series, to_slopes) = values(chart, times), _from_points()
    moved = 2.0 * np.abs(to_series[1:] @ found).sum(axis=0)
    return moved, np.abs(to_slopes @ found).sum(axis=0) / duration
