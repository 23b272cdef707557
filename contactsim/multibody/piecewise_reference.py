"""References of joints in pieces of polynomials: quick to follow, in Python and in compiled engines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import accumulate, pairwise, repeat
from operator import mul
from typing import Any

import numpy as np

from ..common.arguments import FLAG, INDEX, POSITIVE, REAL, arguments, custom, function, numbers, optional, real_array
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..errors import InputError

Reference = Callable[[float], tuple[Array, Array, Array]]

DEGREE = 7
NODES = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))  # of Chebyshev: where a piece meets the function
BETWEEN = np.array([-1.0 + 1e-6, -0.55, 0.2, 1.0 - 1e-6])  # where it is compared with it; at breaks from within
CLOSED = 1e-9  # rad, m; how far the last of waypoints that repeat may be from the first
HALVINGS = 20  # of a piece between two breaks, before it is said not to be smooth there


@arguments()
@dataclass(frozen=True, eq=False)
class PiecewiseReference:
    """A reference (q_ref, v_ref, tau_ff) of time, for `cs.PD`, whose numbers are polynomials between knots.

    On the piece from knot k to the next all numbers are sum_j coefficients[k, j] s^j, where s goes from -1 to 1.
    Before the first knot and after the last one the posture of that knot is held, without velocity.

    A compiled engine evaluates it by itself; any other function of time is called back. `fit` makes one from a
    function, `through` from waypoints.

    Attributes:
        knots: times, growing (n + 1,) [s].
        coefficients: (n, degree + 1, nq + 2 nv), q_ref, v_ref and tau_ff behind each other.
        nq: how many of them are q_ref.
        again: knot, by its number, from which it repeats after the last one; None: it ends.
    """

    knots: Array
    coefficients: Array
    nq: int
    again: int | None = None
    _times: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        times, given = _growing(self.knots), "PiecewiseReference"
        words = f"an array ({len(times) - 1}, degree + 1, nq + 2 nv) of finite numbers"
        shape = numbers(len(times) - 1, None, None, words=words)
        coefficients = shape.check(f"coefficients of {given}", self.coefficients)
        size, nq = coefficients.shape[2], INDEX.check(f"nq of {given}", self.nq)
        if nq > size or (size - nq) % 2:
            raise InputError(f"nq of {given} is {nq}; give that of its {size} numbers, nq + 2 nv")
        again = optional(INDEX).check(f"again of {given}", self.again)
        if again is not None and again >= len(times) - 1:
            raise InputError(
                f"again of PiecewiseReference is {again}; give a knot before the last one, {len(times) - 1}"
            )
        for name, value in (("knots", np.array(times)), ("coefficients", coefficients), ("_times", times)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"PiecewiseReference({self._times[0]:.4g} to {self._times[-1]:.4g} s, {len(self.coefficients)} pieces)"

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Evaluate (q_ref (nq,), v_ref (nv,), tau_ff (nv,)) at t [s]."""
        times, nq = self._times, self.nq
        if self.again is not None and t > times[-1]:
            first = times[self.again]
            t = first + (t - first) % (times[-1] - first)
        inside = min(max(t, times[0]), times[-1])
        k = min(bisect_right(times, inside), len(times) - 1) - 1
        s = (2.0 * inside - times[k] - times[k + 1]) / (times[k + 1] - times[k])
        powers = list(accumulate(repeat(s, self.coefficients.shape[1] - 1), mul, initial=1.0))
        values = np.array(powers) @ self.coefficients[k]
        nv = (len(values) - nq) // 2
        speed = values[nq : nq + nv]
        return values[:nq], speed if inside == t else np.zeros(nv), values[nq + nv :]

    @classmethod
    @arguments(reference=function("a function t -> (q_ref, v_ref, tau_ff)"), repeat=optional(REAL), accuracy=POSITIVE)
    def fit(
        cls, reference: Reference, breaks: Sequence[float], repeat: float | None = None, accuracy: float = 1e-12
    ) -> PiecewiseReference:
        """The same as a function, to `accuracy` of the largest of 1 and its numbers in each piece.

        Args:
            reference: t -> (q_ref (nq,), v_ref (nv,), tau_ff (nv,)).
            breaks: the times between which it is smooth, from its start to its end [s].
            repeat: that of the breaks from which it repeats after the last one [s]; None: it does not.
            accuracy: relative; pieces are halved until it is reached.

        Raises:
            InputError: the times do not grow, `repeat` is none of them, or the function is not smooth between two.
        """
        times = _growing(breaks)
        if repeat is not None and repeat not in times[:-1]:
            raise InputError(f"repeat = {repeat:.6g} s is none of the breaks before the last; give one of them")
        knots, pieces = [times[0]], []
        for piece in pairwise(times):
            for end, coefficients in _pieces(reference, *piece, accuracy):
                knots.append(end)
                pieces.append(coefficients)
        first = None if repeat is None else knots.index(repeat)
        return cls(np.array(knots), np.array(pieces), len(reference(times[0])[0]), first)

    @classmethod
    @arguments(repeat=FLAG)
    def through(cls, robot: Any, times: Sequence[float], q: Any, repeat: bool = False) -> PiecewiseReference:
        """The cubic spline of the joints through configurations, at rest at its ends or periodic, without torque.

        Args:
            robot: the Robot.
            times: growing (n,) [s].
            q: configurations (n, nq), of which only joints of one degree of freedom may differ.
            repeat: whether it goes round; the last configuration is then the first.

        Raises:
            InputError: shapes do not fit, a joint of several degrees of freedom moves, or its ends differ.
        """
        from scipy.interpolate import CubicSpline

        if not (hasattr(robot, "space") and hasattr(robot, "model")) or isinstance(robot, type):
            raise InputError(f"the robot of PiecewiseReference.through is a {type(robot).__name__}; give a Robot")
        grown, space = _growing(times), robot.space
        words = f"an array ({len(grown)}, {robot.nq}) of finite numbers, a configuration a time"
        points = numbers(len(grown), robot.nq, words=words).check("waypoints q of PiecewiseReference.through", q)
        steps = np.array([space.difference(*pair) for pair in pairwise(points)])
        for joint in list(robot.model.joints)[1:]:
            if joint.nv > 1 and np.any(steps[:, joint.idx_v : joint.idx_v + joint.nv]):
                raise InputError(
                    f"waypoints q move the joint '{robot.model.names[joint.id]}', which has {joint.nv} degrees of"
                    " freedom; leave it where it is, splines are of joints with one"
                )
        ways = np.vstack([np.zeros(robot.nv), np.cumsum(steps, axis=0)])
        slope = np.zeros(robot.nv)  # rad/s, of joints that go round and round
        if repeat:
            if np.abs(space.difference(points[0], points[-1])).max() > CLOSED:
                raise InputError("the last of the waypoints q is not the first; a reference that repeats ends there")
            slope = np.round(ways[-1] / (2.0 * np.pi)) * 2.0 * np.pi / (grown[-1] - grown[0])
        past = np.subtract(grown, grown[0])
        ways -= past[:, None] * slope
        if repeat:
            ways[-1] = ways[0]
        spline, still = CubicSpline(past, ways, bc_type="periodic" if repeat else "clamped"), np.zeros(robot.nv)

        def reference(t: float) -> tuple[Array, Array, Array]:
            s = t - grown[0]
            return space.integrate(points[0], spline(s) + slope * s), spline(s, 1) + slope, still

        return cls.fit(reference, grown, grown[0] if repeat else None)


def _growing(times: Any) -> list[float]:
    def take(given: Any) -> list[float]:
        found = real_array(given)
        if found.ndim != 1 or len(found) < 2 or not np.isfinite(found).all() or not (np.diff(found) > 0.0).all():
            raise ValueError
        return [float(t) for t in found]

    return custom("two or more finite times that grow", take).check("the times of a reference", times)


def _pieces(reference: Reference, start: float, end: float, accuracy: float) -> list[tuple[float, Array]]:
    """Ends and coefficients of the pieces that follow a function between two times."""

    def values(nodes: Array, t0: float, t1: float) -> Array:
        return np.array([np.concatenate(reference(0.5 * (t0 + t1 + s * (t1 - t0)))) for s in nodes])

    powers = np.arange(DEGREE + 1)
    found, left = [], [(start, end, 0)]
    while left:
        t0, t1, halvings = left.pop()
        coefficients = np.linalg.solve(NODES[:, None] ** powers, values(NODES, t0, t1))
        wanted = values(BETWEEN, t0, t1)
        wrong = np.abs(BETWEEN[:, None] ** powers @ coefficients - wanted).max()
        if wrong <= accuracy * max(1.0, np.abs(wanted).max()):
            found.append((t1, coefficients))
        elif halvings == HALVINGS:
            raise InputError(
                f"the reference is not smooth between {start:.6g} and {end:.6g} s, near {t0:.9g} s, or not to"
                f" {accuracy} of itself; name the time in breaks, or ask for less accuracy"
            )
        else:
            middle = 0.5 * (t0 + t1)
            left += [(middle, t1, halvings + 1), (t0, middle, halvings + 1)]
    return found
