"""A periodic orbit: its multipliers, its return map, and how both move with a parameter of the system.

The runs that derivatives by a parameter take are those of a `Shooting`, which an orbit brings along.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from ..common.arguments import FLAG, NAME, arguments
from ..common.arrays import Array
from ..common.lazy import dataclass, scipy
from ..common.representation import Brief
from ..errors import ConvergenceError, NonDifferentiableError
from ..hybrid.system import HybridSystem
from ..hybrid.trajectory import Trajectory
from .linearization import Linearization
from .zero import CORE, FOLDED, RANK, SIMPLE, STABLE

STEP = 1e-3  # of a parameter, relative to its scale, for differences of exact matrices
CORRECTIONS = 12  # Newton's steps from a predicted orbit
EXACT = 1e-11  # residual of a corrected orbit, below which no step makes it smaller
NEIGHBOUR = 1e-9  # residual of an orbit beside another one


@dataclass(frozen=True, repr=False)
class PeriodicOrbit(Brief):
    """An orbit that repeats itself: sigma(phi_T(x0)) = x0.

    Attributes:
        system: the hybrid system.
        x0: state at the start of the period, as the user writes it (a State for a ContactSystem).
        period: T [s].
        t0: time of the start [s].
        monodromy: M (n, n) = D sigma(phi_T(x0)), on the states that the mode at the start allows; other directions
            are projected there first.
        trajectory, linearization: the run over one period, and its derivative.
        residual: largest entry of sigma(phi_T(x0)) (-) x0.
        iterations: Newton steps that were taken.
        normal: of the section (n,): the gradient of the one that was given, or the rate of return.
        flow: the field F (n,) at the start; None where the period is that of the system's own clock.
        rate_of_return: w (n,) = d/dT sigma(phi_T(x0)) = D sigma F(phi_T(x0)), how fast the returned state goes on: F
            itself, unless `symmetry` takes a motion away; None where `flow` is.
        shooting: how it was found: with which symmetry, section and tolerances.
    """

    system: HybridSystem
    x0: Any
    period: float
    t0: float
    monodromy: Array
    trajectory: Trajectory = field(repr=False)
    linearization: Linearization = field(repr=False)
    residual: float
    iterations: int
    normal: Array = field(repr=False)
    flow: Array | None = field(repr=False)
    rate_of_return: Array | None = field(default=None, repr=False)
    shooting: Any = field(default=None, repr=False, compare=False)

    @cached_property
    def multipliers(self) -> Array:
        """Floquet multipliers (n,): eigenvalues of the monodromy matrix, largest first."""
        return eigenvalues(self.monodromy)

    @cached_property
    def exponents(self) -> Array:
        """Floquet exponents (n,) log(mu) / T [1/s]; their real parts are the Lyapunov exponents of the orbit."""
        exponents = np.zeros(len(self.multipliers), dtype=complex)
        with np.errstate(divide="ignore"):
            exponents.real = np.log(np.abs(self.multipliers)) / self.period
        exponents.imag = np.angle(self.multipliers) / self.period
        return exponents

    @cached_property
    def return_map(self) -> Array:
        """Derivative (n - 1, n - 1) of the return map to the section, in an orthonormal basis of it.

        x goes to sigma(phi_t(x)) with the time t at which that lies on the section, n^T (M dx + w dt) = 0:

            E^T (1 - w n^T / (n^T w)) M E.

        For a period of the system's own clock it is M (Kong and others, III.C).
        """
        if self.rate_of_return is None:
            return self.monodromy
        w, n = self.rate_of_return, self.normal
        basis = np.linalg.svd(n[None])[2][1:].T  # of the plane across the normal
        onto = np.eye(len(w)) - np.outer(w, n) / (n @ w)
        return basis.T @ onto @ self.monodromy @ basis

    @cached_property
    def section_multipliers(self) -> Array:
        """Eigenvalues (n - 1,) of `return_map`, largest first: the multipliers without the one along the orbit."""
        return eigenvalues(self.return_map)

    @property
    def stable(self) -> bool:
        """True where the orbit attracts all neighbours: every multiplier of the return map is smaller than one.

        Neutral directions (a translation that `symmetry` does not take away, an energy that is kept) make this False.
        """
        return bool(np.all(np.abs(self.section_multipliers) < 1.0 - STABLE))

    @arguments(name=NAME)
    def sensitivity(self, name: str) -> tuple[Array, float]:
        """dx0 (n,) and dT by a parameter of the system, along the family of orbits that the parameter makes.

        From (M - 1) dx0 + w dT + D_p sigma(phi_T(x0)) = 0 with the phase held, n^T dx0 = 0, by a section as it was
        given; neutral directions stay where they are. Units: those of the tangent space, and seconds, a unit of p.

        Args:
            name: as of `system.parameter`, such as "terrain.angle". A symmetry or section that depends on it is to be
                a function (state, system).

        Raises:
            InputError: the system has no such parameter.
            NonDifferentiableError: the orbit folds there.
        """
        self.system.parameter(name)
        return slope(self.shooting.bordered(self.shooting.again(self), name), name)

    @arguments(name=NAME, with_error=FLAG)
    def multiplier_derivative(self, name: str, with_error: bool = False) -> Any:
        """d mu / dp (k,) of `multipliers` by a parameter, along the family of orbits; complex.

        From differences of exact monodromy matrices of four orbits next to this one. Multipliers that an event makes
        zero stay zero; of one that is not simple the derivative is NaN.

        Args:
            name: as of `sensitivity`.
            with_error: whether to return a pair, with an estimate of the errors (k,).

        Raises:
            InputError: the system has no such parameter.
            NonDifferentiableError: the orbit folds there.
            ConvergenceError: an orbit next to this one was not found.
        """
        self.system.parameter(name)
        shot, accuracy = self.shooting.again(self), max(NEIGHBOUR, 2.0 * self.residual)
        change, error = monodromy_derivative(self.shooting, shot, name, accuracy)
        found = multiplier_derivatives(self.monodromy, change, error)
        return found if with_error else found[0]


def eigenvalues(matrix: Array) -> Array:
    """Eigenvalues (n,) of a matrix, largest first."""
    values = np.linalg.eigvals(matrix)
    return values[np.lexsort((-values.imag, -np.abs(values)))]


# --- families of orbits -----------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Bordered(Brief):
    """Linear equations of an orbit that moves with a parameter p: matrix (y, dT, dp) = -residual.

    The start moves by dx = directions y + moved dp.

    Attributes:
        directions: basis (n, r) of what the mode allows at the start.
        moved: by how much the constraints of the mode move with the parameter (n,).
        matrix: derivatives (m, r + 2) of the residual.
        residual: (m,).
    """

    directions: Array
    moved: Array
    matrix: Array
    residual: Array


def slope(equations: Bordered, name: str) -> tuple[Array, float]:
    """dx0 (n,) and dT by a parameter, with the smallest change of x0.

    Raises:
        NonDifferentiableError: the orbit folds there, and has neighbours on one side of the parameter only; or its
            symmetry or section does not move with the parameter, as it would have to.
    """
    matrix, by_parameter = equations.matrix[:, :-1], equations.matrix[:, -1]
    found = np.linalg.lstsq(matrix, -by_parameter, rcond=RANK)[0]
    missed = float(np.linalg.norm(matrix @ found + by_parameter))
    if missed > FOLDED * max(1.0, float(np.linalg.norm(by_parameter))):
        raise NonDifferentiableError(
            f"the orbit has no derivative by '{name}': either it folds there, and has neighbours on one side only,"
            " which cs.continue_orbit follows, or its symmetry or section hangs on the parameter, and is to be a"
            " function (state, system) that reads it"
        )
    return equations.directions @ found[:-1] + equations.moved, float(found[-1])


def corrected(shooting: Any, shot: Any, accuracy: float) -> Any:
    """The orbit near a shot, by Newton's method without damping.

    Raises:
        ConvergenceError: there is none close by.
    """
    for _ in range(CORRECTIONS):
        if shot.error <= EXACT:
            break
        dx, dT, _ = shooting.newton(shot).step(0.0)
        nearer = shooting.stepped(shot, dx, dT)
        if shot.error <= accuracy and nearer.error >= 0.5 * shot.error:
            break
        shot = nearer
    if shot.error <= accuracy:
        return shot
    raise ConvergenceError(f"no orbit was found close by: the residual stays at {shot.error:.3g}", residual=shot.error)


def neighbour(shooting: Any, shot: Any, name: str, dp: float, slopes: tuple[Array, float], accuracy: float) -> Any:
    """(shooting, shot) of the orbit of the system whose parameter differs by `dp`."""
    system = shooting.system
    other = shooting.of(system.with_parameter(name, system.parameter(name) + dp))
    guess = other.stepped(shot, dp * slopes[0], dp * slopes[1])
    return other, corrected(other, guess, accuracy)


def monodromy(shooting: Any, shot: Any) -> Array:
    """M (n, n) on what the mode at the start allows."""
    d = shooting.derivative(shot)
    return np.asarray(d.monodromy @ d.allowed)


def monodromy_derivative(shooting: Any, shot: Any, name: str, accuracy: float) -> tuple[Array, Array]:
    """dM / dp (n, n) along the family of orbits, and an estimate of its error (n, n).

    Differences of exact matrices at p +- h and p +- 2 h; the error is that of the difference of second order.
    """
    h = STEP * shooting.system.parameter_scale(name)
    slopes = slope(shooting.bordered(shot, name), name)
    near, far = (_difference(shooting, shot, name, step, slopes, accuracy) for step in (h, 2.0 * h))
    best = (4.0 * near - far) / 3.0
    return best, np.abs(best - near)


def _difference(shooting: Any, shot: Any, name: str, h: float, slopes: tuple[Array, float], accuracy: float) -> Array:
    sides = [monodromy(*neighbour(shooting, shot, name, dp, slopes, accuracy)) for dp in (h, -h)]
    return np.asarray((sides[0] - sides[1]) / (2.0 * h))


def multiplier_derivatives(matrix: Array, change: Array, error: Array) -> tuple[Array, Array]:
    """d mu / dp (k,) of the eigenvalues of a matrix, largest first, for its change (n, n), and their errors (k,).

    d mu = l^H dM r / (l^H r) with left and right eigenvectors (Magnus 1985). Multipliers that an event makes zero stay
    zero. One that is not simple has no derivative: NaN.
    """
    values, left, right = scipy.linalg.eig(matrix, left=True, right=True)
    order = np.lexsort((-values.imag, -np.abs(values)))
    found, errors = np.zeros(len(values), dtype=complex), np.zeros(len(values))
    for place, k in enumerate(order[: _core(matrix)]):
        l, r = left[:, k].conj(), right[:, k]  # noqa: E741 - the usual letters
        overlap = l @ r
        simple = abs(overlap) > SIMPLE
        found[place] = l @ change @ r / overlap if simple else np.nan
        errors[place] = np.abs(l) @ error @ np.abs(r) / abs(overlap) if simple else np.nan
    return found, errors


def _core(matrix: Array) -> int:
    """Number of eigenvalues that are not zero: the dimension of what all powers of the matrix keep."""
    basis, size = np.eye(len(matrix)), float(np.linalg.norm(matrix, 2))
    for _ in range(len(matrix)):
        image, values, _ = np.linalg.svd(matrix @ basis, full_matrices=False)
        if np.all(values > CORE * size):
            break
        basis = image[:, values > CORE * size]
    return basis.shape[1]
