"""Linear differential equations by collocation: a few large implicit steps, each one linear system."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.polynomial import Polynomial, legendre

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ...errors import StepSizeError
from ..zero import SMALLEST_STEP, TINY

SINGULAR = "the run is singular there; let what a function applies be smooth, or jump at events such as its samples"
STAGES = 5  # of a step; the method's order is 2 STAGES - 1
FEWER = 3  # of a single step over a short time, as between the events of a rattle
ERROR_OF_FEW = 2e-4  # of its error C (h lambda)^6 in one step of y' = lambda y
GROWTH, SHRINKAGE = 4.0, 0.1  # a step is at most, and at least, this many times as long as the last one
SAFETY = 0.9  # share of the step at which the error is expected to meet the tolerance
PASSES = 8  # of a matrix over a vector, until that tells a bound on its eigenvalues
SPREAD = 1e-3  # of the largest entry, which all entries of that vector have at least
PLACES = 20  # of the quadrature of a defect


class Scheme(NamedTuple):
    """The Radau IIA method of s stages.

    Attributes:
        nodes, matrix: c (s,) and a (s, s).
        estimates: weights (k + 1, s) of its error: its quadrature less those without the first 1 to k nodes, k = 3 or
            all but one, of two nodes all; the last row extrapolates to the start of the step.
    """

    nodes: Array
    matrix: Array
    estimates: Array


class Defect(NamedTuple):
    """How a polynomial through the stages of a method misses the rate: by M(tau) / M(0), times as at the start.

    M is the polynomial whose zeros are the nodes.

    Attributes:
        places, weights: tau (m,) and weights (m,) of a quadrature of f(tau) M(tau) / M(0) over [0, 1].
        worst: the decay z at which `carried` is largest.
    """

    places: Array
    weights: Array
    worst: float

    def carried(self, reach: float) -> float:
        """How much of its defect at the start does a step carry to its end, where decays are up to e^-reach in it?

        The end misses what becomes of the defect d(tau) on the way, which is for y' = -z y about

            max over z <= reach of | int_0^1 e^{-z (1 - tau)} M(tau) / M(0) dtau | d(0).

        As M is orthogonal to all polynomials of degree s - 2, that is of the order z^(s-1) where the motion is slow:
        so the order is 2 s - 1. Where it is fast, nothing is won.

        Source: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.7, theorem 7.9 and its proof.
        """
        return abs(float(np.exp(-min(reach, self.worst) * (1.0 - self.places)) @ self.weights))


@cache
def defect_of(stages: int) -> Defect:
    """That of `radau(stages)`; only derivatives ask for it."""
    places, weights = legendre.leggauss(PLACES)
    places = (places + 1.0) / 2.0
    weights = weights / 2.0 * np.prod(1.0 - places[:, None] / _nodes(stages), axis=1)
    decays = np.geomspace(1.0, 100.0, 60)  # within a step, among which the most of it reaches the end
    worst = decays[np.abs(np.exp(-decays[:, None] * (1.0 - places)) @ weights).argmax()]
    return Defect(places, weights, float(worst))


def _nodes(stages: int) -> Array:
    """The zeros of P_s - P_{s-1}, moved to [0, 1] (Hairer and Wanner, ODE II, IV.5)."""
    series = np.zeros(stages + 1)
    series[stages - 1 :] = -1.0, 1.0
    nodes = np.sort((legendre.legroots(series).real + 1.0) / 2.0)
    nodes[-1] = 1.0
    return nodes


def radau(stages: int) -> Scheme:
    """The method of so many stages."""
    nodes = _nodes(stages)
    integrals = [_lagrange(nodes, j).integ() for j in range(stages)]
    matrix = np.array([[integral(c) - integral(0.0) for integral in integrals] for c in nodes])
    estimates = np.tile(matrix[-1], (min(3, max(stages - 1, 2)), 1))
    for left_out, row in enumerate(estimates, 1):
        kept = nodes[left_out:]
        coarse = [_lagrange(kept, j).integ() for j in range(len(kept))]
        row[left_out:] -= [integral(1.0) - integral(0.0) for integral in coarse]
    return Scheme(nodes, matrix, np.vstack([estimates, [_lagrange(nodes, j)(0.0) for j in range(stages)]]))


def _lagrange(nodes: Array, j: int) -> Polynomial:
    others = np.delete(nodes, j)
    basis = Polynomial.fromroots(others) if len(others) else Polynomial([1.0])
    return basis / basis(nodes[j])


SCHEMES = {stages: radau(stages) for stages in (FEWER, STAGES)}
NODES, MATRIX, _ = SCHEMES[STAGES]


def solve_linear(
    matrix: Callable[[float], Array],
    t0: float,
    t1: float,
    start: Array,
    rtol: float,
    atol: float,
    first_step: float | None = None,
    passed: list[tuple[float, Array]] | None = None,
    scale: Callable[[float], float] | None = None,
) -> Array:
    """Solution (n, m) at `t1` of Y' = A(t) Y from Y(t0) = `start`, by the Radau IIA method of order 9.

    Where the first step leads to the end, it is tried with fewer stages, of order 5.

    A step is one linear system for all its stages. Its error is read off how fast quadratures with more and more of
    the stages come closer: where A is smooth their distances d fall by a factor theta each, and the method's own error
    is theta^s d; where A jumps or bends within the step, or before its first stage, they do not fall, and it is d.
    Where the solution decays fast within the step, that promises too much, and what is missed at its start tells the
    error (`Defect.carried`), which then falls with the step by its power s only.

    Args:
        matrix: t -> A (n, n).
        t0, t1: first and last time.
        start: Y(t0) (n, m).
        rtol: error of a step relative to the row it is in.
        atol: absolute error of a step.
        first_step: length of the first step.
        passed: takes (t, Y(t)) at the end of each step.
        scale: t -> time on which A changes, as far as that is known: steps shrink with it.

    Raises:
        StepSizeError: the tolerance cannot be met.
    """
    t, value = t0, start
    before = matrix(t0)
    step = (t1 - t0) if first_step is None else min(first_step, t1 - t0)
    short = first_step is not None and first_step >= t1 - t0
    stages = FEWER if short and _error_of_few(before, step) <= rtol else STAGES
    while t < t1:
        last = t + step >= t1 - SMALLEST_STEP * max(1.0, abs(t1))
        step = t1 - t if last else step
        coefficients = np.array([matrix(t1 if last and c == 1.0 else t + c * step) for c in SCHEMES[stages].nodes])
        end, smooth, carried = _stepped(SCHEMES[stages], step, coefficients, before, value, atol / rtol)
        error = max(smooth, carried)
        if error <= rtol:
            scales = (scale(t), scale(t + step)) if scale is not None and not last else (1.0, 1.0)
            t, value, before = (t1 if last else t + step), end, coefficients[-1]
            if passed is not None:
                passed.append((t, value))
            following = min(1.0, scales[1] / scales[0])
        elif step <= SMALLEST_STEP * max(1.0, abs(t)):
            raise StepSizeError(f"the variations cannot be followed at t = {t:.12g} s: {SINGULAR}", t=t)
        elif stages == FEWER:
            stages = STAGES  # the same step, by the method of higher order
            continue
        else:
            following = 1.0
        step *= following * _growth(rtol / max(smooth, TINY), rtol / max(carried, TINY), stages)
    return value


def _growth(smooth: float, carried: float, stages: int) -> float:
    """How many times as long the next step may be, of which the tolerance is so many times either error."""
    return min(GROWTH, max(SHRINKAGE, SAFETY * min(smooth ** (0.5 / stages), carried ** (1.0 / stages))))


def _error_of_few(matrix: Array, step: float) -> float:
    """What a step by the method of few stages is expected to miss, as if A were constant: C (h |A^2|^(1/2))^(2 s)."""
    rate = float(np.sqrt(np.abs(matrix @ matrix).sum(axis=1).max(initial=0.0)))
    return ERROR_OF_FEW * (step * rate) ** (2 * FEWER)


def fastest(matrix: Array) -> float:
    """A bound on the sizes of the eigenvalues of a matrix (n, n): max_i (|A| x)_i / x_i of an x > 0.

    An x to which |A| has been applied again and again makes it close, whatever the units of its rows.

    Source: Horn and Johnson, Matrix Analysis, theorem 8.1.26.
    """
    sizes = np.abs(matrix)
    x = np.ones(len(sizes))
    for _ in range(PASSES):
        x = sizes @ x
        x = np.maximum(x, SPREAD * x.max(initial=TINY))
    return float((sizes @ x / x).max(initial=0.0))


def _stepped(
    scheme: Scheme, step: float, coefficients: Array, before: Array, value: Array, floor: float
) -> tuple[Array, float, float]:
    """The end (n, m) of a step, and its errors relative to the rows of the solution, which are at least `floor`.

    Of the errors one is right where the solution is smooth, the other where it decays fast; the larger one counts.

    Args:
        scheme: the method, of s stages.
        step: its length.
        coefficients: A (s, n, n) at its stages.
        before: A (n, n) at its start.
        value: Y (n, m) there.
        floor: size below which a row counts as so large.
    """
    count, size = len(scheme.nodes), len(value)
    system = (-step * scheme.matrix[:, None, :, None]) * coefficients.transpose(1, 0, 2)[None]
    system = system.reshape(count * size, count * size)
    system[np.diag_indices(count * size)] += 1.0
    stages = np.linalg.solve(system, np.tile(value, (count, 1))).reshape(count, size, -1)
    missed = step * np.einsum("es,snm->enm", scheme.estimates, coefficients @ stages)
    missed[-1] -= step * before @ value  # what is missed at the start of the step
    rows = np.abs(value).max(axis=1) + np.abs(stages[-1]).max(axis=1) + floor
    *apart, first = (np.abs(missed).max(axis=2) / rows).max(axis=1).tolist()
    apart[0] = max(apart[0], first / count**2)
    theta = min(1.0, max(near / max(far, TINY) for near, far in pairwise(apart)))
    return stages[-1], apart[0] * theta**count, first * defect_of(count).carried(step * fastest(before))
