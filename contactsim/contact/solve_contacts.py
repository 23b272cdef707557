"""The contact problem on plain arrays, for those who have a Delassus matrix and no robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..common.arguments import ANY_NUMBERS, LIST, arguments, either, optional, several, whole
from ..common.arrays import Array
from ..errors import InputError
from .modes import Mode
from .problem import ContactProblem, ContactSolution, Direction
from .solvers.contract import ContactSolver
from .solvers.enumerate import Enumerate
from .solvers.pivot import solve_modes, violations
from .stick_slip_choice import solve
from .zero import CLEAR, DEFINITE, RANK, SYMMETRIC

ROWS = either(whole("1, 2 or 3 rows", ge=1, le=3), several(whole("1, 2 or 3", ge=1, le=3), "one of these a contact"))
FEW = Enumerate(
    81, quick=True
)  # combinations that are all tried to see whether a solution is the only one: some milliseconds


@arguments(sliding=optional(LIST), guess=optional(LIST))
def solve_contacts(
    G: Any,
    free: Any,
    friction: Any,
    restitution: Any = None,
    *,
    dims: int | Sequence[int] | None = None,
    sliding: Sequence[Any] | None = None,
    guess: Sequence[Mode] | None = None,
    solvers: Sequence[ContactSolver] | None = None,
) -> ContactSolution:
    """Forces, motion and modes of n contacts under Signorini's and Coulomb's laws, with the circular cone.

        w = G lam + w0,   0 <= w_n  _|_  lam_n >= 0,   |lam_t| <= mu lam_n,   mu lam_n w_t + |w_t| lam_t = 0

    With velocities w0 the forces lam are impulses [N s], and `restitution` makes it Newton's impact law: a contact that
    approaches leaves with 0 <= w_n + e w0_n instead. With accelerations w0 of contacts that touch they are forces [N].

    Args:
        G: Delassus matrix J M^-1 J^T (m, m), symmetric, positive semidefinite; singular where contacts are redundant.
        free: w0 (m,), motion of the contacts without contact forces; rows n, t1, t2 a contact.
        friction: mu, one number or (n,).
        restitution: e in [0, 1], one number or (n,); None: no impact, or one without rebound.
        dims: rows of each contact, 1 (no friction), 2 (in the plane) or 3; one number or (n,). None: from the number of
            coefficients, and 3 where there is one coefficient for all.
        sliding: slip velocity (d_t,) of each contact that slides already, zero or None for those at rest: accelerations
            do not tell. Its friction acts against that velocity, and Painleve's paradoxes may occur.
        guess: modes to try first; of several solutions that with the nearest modes is found.
        solvers: those to try, in turn; None: all, in the order of `stick_slip_choice.in_order`.

    Returns:
        `.forces` (m,), `.motion` (m,), `.modes` and `.residual`, the largest violation of a law relative to the largest
        force or motion, with `.residuals` by law. `.unique` is False where other forces do the same (redundant
        contacts: the smallest ones are given, or those with the largest margin, and where impacts leave the motion a
        choice those of contacts that yield alike, see `even_sharing`) and where another solution is found.
        Little friction rules that out; else up to 81 combinations of modes are all tried, and of more those that differ
        at one contact.

    Raises:
        InputError: an argument has the wrong shape, is not finite, or no G, mu or e.
        NoAdmissibleModeError: no motion satisfies the laws, or none was found.
    """
    matrix, motion = _delassus(G), _finite(free, "free")
    if motion.shape != (len(matrix),):
        raise InputError(f"'free' has shape {motion.shape}; give one number for each of the {len(matrix)} rows of G")
    rows = _rows(len(matrix), friction, dims)
    mu = _coefficients(friction, "friction", len(rows))
    problem = ContactProblem(matrix, motion, rows, mu, mu, _slips(sliding, rows), guess=_guess(guess, len(rows)))
    if restitution is not None:
        normal = motion[list(problem.starts)] if rows else np.empty(0)
        e = _coefficients(restitution, "restitution", len(rows), most=1.0)
        problem = replace(problem, rebound=tuple(np.where(normal < 0.0, -e * normal, 0.0).tolist()))
    tried = None if solvers is None else tuple(solvers)
    solution = solve(problem, solvers=tried, evenly=True)
    return replace(solution, unique=solution.unique and _is_the_only_one(solution))


def _is_the_only_one(solution: ContactSolution) -> bool:
    """True where there is no other solution for little friction, or none in other modes that are tried."""
    problem, modes = solution.problem.shifted, solution.modes
    if not problem.dims or _monotone(problem):
        return True
    if FEW.proves(problem):
        others = list(FEW.all(problem))
    else:
        changed = [(*modes[:i], mode, *modes[i + 1 :]) for i in range(len(modes)) for mode in _others(problem, i)]
        tried = [solve_modes(problem, other, solution.directions, quick=True) for other in changed]
        others = [found for found in tried if not violations(found)]
    largest = max(float(np.abs(found.forces).max()) for found in (solution, *others))
    return all(float(np.abs(other.forces - solution.forces).max()) <= CLEAR * largest for other in others)


def _monotone(problem: ContactProblem) -> bool:
    """True where friction is so little that there is one solution at most: |D (G^-1)_nn D| |G_tt| < 1, D = diag(mu).

    The laws bound d^T G d of the difference d of two solutions by the sum of mu |d_n| |G_t d|, so by itself times the
    root of that product.
    """
    if any(slip is not None for slip in problem.sliding):
        return False
    values, vectors = np.linalg.eigh(problem.delassus)
    if values[0] <= RANK * values[-1]:
        return False
    tangents = np.setdiff1d(np.arange(len(problem.free)), problem.starts)
    weighted = problem.friction[:, None] * vectors[list(problem.starts)]
    pressed = np.linalg.norm(weighted / values @ weighted.T, 2)
    pulled = np.linalg.norm(problem.delassus[np.ix_(tangents, tangents)], 2) if len(tangents) else 0.0
    return bool(pressed * pulled < 1.0)


def _others(problem: ContactProblem, i: int) -> tuple[Mode, ...]:
    if problem.dims[i] == 1:
        return (Mode.OPEN, Mode.STICK)
    return (Mode.OPEN, Mode.STICK, Mode.SLIP) if problem.sliding[i] is None else (Mode.OPEN, Mode.SLIP)


# --- what is given --------------------------------------------------------------------------------------------------
def _finite(given: Any, name: str) -> Array:
    values: Array = ANY_NUMBERS.check(f"'{name}'", given)
    if not np.isfinite(values).all():
        raise InputError(f"'{name}' holds {values[~np.isfinite(values)].flat[0]}; give finite numbers")
    return values


def _delassus(given: Any) -> Array:
    matrix = _finite(given, "G")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"'G' has shape {matrix.shape}; give a square matrix J M^-1 J^T")
    largest = float(np.abs(matrix).max(initial=0.0))
    if np.abs(matrix - matrix.T).max(initial=0.0) > SYMMETRIC * largest:
        raise InputError("'G' is not symmetric; give J M^-1 J^T with one mass matrix M")
    least = float(np.linalg.eigvalsh((matrix + matrix.T) / 2.0).min(initial=0.0))
    if least < -DEFINITE * largest:
        raise InputError(f"'G' has the eigenvalue {least:.3g}; give a positive semidefinite matrix J M^-1 J^T")
    return matrix


def _rows(total: int, friction: Any, dims: int | Sequence[int] | None) -> tuple[int, ...]:
    """Rows of each contact."""
    count = np.size(friction) if np.ndim(friction) else 0
    if dims is None and count and total % count == 0:
        dims = total // count
        if dims not in (1, 2, 3):
            raise InputError(
                f"'friction' has {count} entries for {total} rows of G, {dims} a contact; give one number, or one for"
                " each contact of 1, 2 or 3 rows"
            )
    dims = ROWS.check("'dims'", 3 if dims is None else dims)
    if not isinstance(dims, Sequence):
        dims = (dims,) * (total // dims) if dims in (1, 2, 3) and total % dims == 0 else (dims,)
    if sum(dims) != total or not {*dims} <= {1, 2, 3}:
        raise InputError(
            f"{total} rows of G are not those of contacts with {', '.join(map(str, dims)) or 'no'} rows; give 'dims',"
            " 1, 2 or 3 rows a contact"
        )
    return tuple(dims)


def _coefficients(given: Any, name: str, count: int, most: float = np.inf) -> Array:
    values = _finite(given, name)
    if values.shape not in ((), (count,)):
        raise InputError(f"'{name}' has shape {values.shape}; give one number, or one for each of {count} contacts")
    if np.any((values < 0.0) | (values > most)):
        wrong = values[(values < 0.0) | (values > most)].flat[0]
        raise InputError(f"'{name}' is {wrong:g}; give numbers from 0" + (f" to {most:g}" if most < np.inf else " up"))
    return np.broadcast_to(values, (count,)).copy()


def _slips(given: Sequence[Any] | None, dims: tuple[int, ...]) -> tuple[Direction, ...]:
    """Unit slip direction of each contact that slides."""
    if given is None:
        return (None,) * len(dims)
    if len(given) != len(dims):
        raise InputError(
            f"'sliding' has {len(given)} entries; give a velocity or None for each of {len(dims)} contacts"
        )
    slips: list[Direction] = []
    for velocity, dim in zip(given, dims, strict=True):
        slip = np.zeros(dim - 1) if velocity is None else np.atleast_1d(_finite(velocity, "sliding"))
        if slip.shape != (dim - 1,):
            raise InputError(f"'sliding' has a velocity of shape {slip.shape}; give ({dim - 1},), along the tangents")
        speed = float(np.linalg.norm(slip))
        slips.append(slip / speed if speed > 0.0 else None)
    return tuple(slips)


def _guess(given: Sequence[Mode] | None, count: int) -> tuple[Mode, ...] | None:
    if given is None:
        return None
    if len(given) != count or not {*given} <= {Mode.OPEN, Mode.STICK, Mode.SLIP}:
        raise InputError(f"'guess' is {given}; give Mode.OPEN, Mode.STICK or Mode.SLIP for each of {count} contacts")
    return tuple(given)
