"""First-order formulas of events on plain arrays: the saltation matrix, and the B-derivative of simultaneous events.

Surfaces j = 0..n-1 with normals eta_j meet in a point, and F_b is the field on the side b in {-1, +1}^n of them, where
each is crossed from b_j = -1 to b_j = +1 at the rate eta_j F_b > 0. What is small before the point, dx, is B(dx) after
it, and B is continuous and piecewise linear: one piece for each order of crossing. Council, Revzen and Burden,
"Representing and computing the B-derivative of the piecewise-differentiable flow of a class of nonsmooth vector
fields", is quoted as [B]; Kong, Payne, Zhu and Johnson, "Saltation matrices: the essential tool for linearizing hybrid
dynamical systems", as [S].

Inside, a side b is a code: bit j is set where b_j = +1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, sqrt

import numpy as np

from ..common.arguments import ANY_NUMBERS, arguments, function
from ..common.arrays import Array
from ..errors import InputError, TransversalityError
from .zero import GRAZING

FIELD = function("a function b (n,) -> F_b (d,)")
Field = Callable[[Array], Array]  # b (n,) of -1 and +1 -> F_b (d,)
Sample = Callable[[Array], tuple[Array, Array]]  # codes (u,) -> fields (u, d), rates (u, n)
Order = tuple[int, ...]

MOST_LISTED = 8  # surfaces, n! = 40320 matrices
MOST_CODED = 62  # surfaces, bits of a code


@arguments()
def saltation_matrix(
    F_pre: Array, F_post: Array, DxR: Array, Dxg: Array, DtR: Array | float = 0.0, Dtg: float = 0.0
) -> Array:
    """Derivative of the state after an event with respect to the state before it, both at the time of the event.

    Xi = D_x R + (F_post - D_x R F_pre - D_t R) D_x g / (D_t g + D_x g F_pre).

    The guards of contactsim fall through zero, as in [S], eq. (11), but g and -g give the same matrix: a rising guard
    is as good. An event by the clock, D_x g = 0, gives D_x R.

    Args:
        F_pre: field before the event (n_pre,), in units of the state before it per second.
        F_post: field after the event (n_post,), in units of the state after it per second.
        DxR: derivative of the reset x_post = R(t, x_pre) with respect to the state (n_post, n_pre).
        Dxg: derivative of the guard g(t, x_pre) with respect to the state (n_pre,).
        DtR: derivative of the reset with respect to time (n_post,); 0 where it does not depend on it.
        Dtg: derivative of the guard with respect to time.

    Returns:
        The matrix Xi (n_post, n_pre).

    Raises:
        InputError: an array has the wrong shape or is not finite.
        TransversalityError: the guard is met tangentially, D_t g + D_x g F_pre = 0 but for rounding.

    Source:
        [S], eq. (9).
    """
    F_pre, F_post = _array("F_pre", F_pre, (None,)), _array("F_post", F_post, (None,))
    DxR = _array("DxR", DxR, (len(F_post), len(F_pre)))
    Dxg = _array("Dxg", Dxg, (len(F_pre),))
    DtR = _array("DtR", DtR, () if np.ndim(DtR) == 0 else (len(F_post),))
    slope = float(_array("Dtg", Dtg, ()))
    return saltation_of(F_pre, F_post, DxR, Dxg, DtR, slope)


def saltation_of(F_pre: Array, F_post: Array, DxR: Array, Dxg: Array, DtR: Array | float, Dtg: float) -> Array:
    """`saltation_matrix` of arrays that need not be looked at."""
    rate = Dtg + float(Dxg @ F_pre)
    scale = abs(Dtg) + length(Dxg) * length(F_pre)
    if abs(rate) <= GRAZING * scale:
        raise TransversalityError(
            f"the guard changes at the rate {rate:.3g}, zero against the {scale:.3g} of its parts: it is met "
            "tangentially and has no saltation matrix; change the state or the parameters",
            rate=rate,
            scale=scale,
        )
    found: Array = ((F_post - DxR @ F_pre - DtR) / rate)[:, None] * Dxg
    found += DxR
    return found


def length(vector: Array) -> float:
    """|a| of a short vector (n,), for which that of NumPy takes longer to find out how."""
    return sqrt(float(vector @ vector))


def is_identity(matrix: Array) -> bool:
    """Whether a matrix (m, n) is exactly the identity."""
    rows, columns = matrix.shape
    if rows != columns or (rows and matrix[-1, -1] != 1.0):  # most others are told by that
        return False
    return rows == np.count_nonzero(matrix) and bool((matrix.diagonal() == 1.0).all())


@arguments(field=FIELD)
def bouligand(dx: Array, normals: Array, field: Field) -> Array:
    """B-derivative through n surfaces that meet in a point, in the directions `dx`.

    B(dx) = dx + sum_k tau_k F_b(k) - (sum_k tau_k) F_+1, where the k-th surface is reached tau_k after the one before:
    the one ahead with the least tau_j = -eta_j dx_k / (eta_j F_b(k)), dx_k being where the motion has come to.

    The first tau is negative where `dx` is beyond a surface already. Ties are harmless: of two surfaces reached at once
    the second follows after no time, so that the field in between has no weight. Fields are evaluated once for each
    side that is visited, at most min(2^n, n m + 1) times for m directions; the rest takes O(n^2 d m).

    Args:
        dx: directions (d,) or (m, d), in units of the state.
        normals: gradients of the surface functions (n, d), n <= 62, pointing where the motion goes.
        field: b (n,), integers -1 and +1, -> F_b (d,) at the point, in units of the state per second.

    Returns:
        B(dx), of the shape of `dx`.

    Raises:
        InputError: an array has the wrong shape or is not finite.
        TransversalityError: a side is visited on which the field does not cross a surface forwards (no event-selected
            field: it slides, grazes or turns back).

    Source:
        [B], Sec. 2.4, fig. 2. Its eq. (62) drops the last leg: d rho_n is to be followed by tau_n F_sigma(1..n-1).
    """
    normals = _normals(normals)
    dx = _directions(dx, normals)
    after, _ = _walk(np.atleast_2d(dx), normals, lambda codes: _sample(codes, normals, field))
    return after.reshape(dx.shape)


@arguments(field=FIELD)
def bouligand_pieces(normals: Array, field: Field) -> dict[Order, Array]:
    """The matrices of the B-derivative, one for each order in which n surfaces are crossed.

    M_sigma = S_n ... S_1, S_k = I + (F_b(k) - F_b(k-1)) eta_sigma(k) / (eta_sigma(k) F_b(k-1)), where b(k) is the side
    on which the first k surfaces of sigma are crossed.

    Args:
        normals: gradients of the surface functions (n, d), n <= 8, pointing where the motion goes.
        field: b (n,), integers -1 and +1, -> F_b (d,) at the point, in units of the state per second.

    Returns:
        {order: M (d, d)} for all n! orders, sorted; (2, 0, 1) crosses surface 2 first. M dx = B(dx) holds for those dx
        that cross in this order.

    Raises:
        InputError: an array has the wrong shape or is not finite, or n > 8.
        TransversalityError: on some side the field does not cross a surface forwards.

    Source:
        [B], eq. (57), where the subscripts of Dh are misprinted: numerator and denominator take the surface that is
        crossed next, Dh_sigma(k+1), not those crossed before; and later factors stand on the left.
    """
    normals = _normals(normals)
    n, d = normals.shape
    _refuse_many(n)
    fields, rates = _sample(np.arange(2**n), normals, field)
    orders, codes, products = np.empty((1, 0), int), np.zeros(1, int), np.eye(d)[None]
    for _ in range(n):
        grown = []
        for j in range(n):
            ahead = codes >> j & 1 == 0
            before, after = codes[ahead], codes[ahead] | 1 << j
            jump = (fields[after] - fields[before]) / rates[before, j, None]
            product = products[ahead] + jump[:, :, None] * (normals[j] @ products[ahead])[:, None, :]
            grown.append((np.insert(orders[ahead], orders.shape[1], j, axis=1), after, product))
        orders, codes, products = (np.concatenate(parts) for parts in zip(*grown, strict=True))
    return dict(sorted(zip(map(tuple, orders.tolist()), products, strict=True), key=lambda piece: piece[0]))


def _walk(dx: Array, normals: Array, sample: Sample) -> tuple[Array, Array]:
    """B(dx) (m, d) and the order of crossing (m, n) of the directions `dx` (m, d); [B], fig. 2.

    After k crossings a side has k bits, so no side comes back in a later step and nothing need be kept.
    """
    n, rows = len(normals), np.arange(len(dx))
    x, elapsed, codes = dx.copy(), np.zeros(len(dx)), np.zeros(len(dx), np.int64)
    order, crossed = np.empty((len(dx), n), int), np.zeros((len(dx), n), bool)
    for k in range(n):
        distinct, which = np.unique(codes, return_inverse=True)
        fields, rates = sample(distinct)
        tau = np.where(crossed, np.inf, -(x @ normals.T) / rates[which])
        first = tau.argmin(axis=1)
        step = tau[rows, first]
        elapsed += step
        x += step[:, None] * fields[which]
        crossed[rows, first] = True
        codes |= np.int64(1) << first
        order[:, k] = first
    fields, _ = sample(np.array([(1 << n) - 1]))
    return x - elapsed[:, None] * fields, order


def _sample(codes: Array, normals: Array, field: Field) -> tuple[Array, Array]:
    """Fields F_b (u, d) and rates eta_j F_b (u, n) on the sides `codes` (u,), every rate found positive."""
    n, d = normals.shape
    sides = _sides(codes, n)
    values = [np.asarray(field(b), float) for b in sides.copy()]
    for value, b in zip(values, sides, strict=True):
        if value.shape != (d,):
            raise InputError(f"field(b) has shape {value.shape} for b = {_text(b)}; return an array of shape ({d},)")
    fields = np.array(values).reshape(len(codes), d)
    unfit = ~np.isfinite(fields).all(axis=1)
    if unfit.any():
        raise InputError(f"field(b) is not finite for b = {_text(sides[unfit.argmax()])}; return finite numbers")
    rates = fields @ normals.T
    scales = np.linalg.norm(fields, axis=1)[:, None] * np.linalg.norm(normals, axis=1)
    stuck = rates <= GRAZING * scales
    if stuck.any():
        u, j = np.argwhere(stuck)[0]
        raise TransversalityError(
            f"surface {j} is not crossed forwards by the field on side b = {_text(sides[u])}: its rate is "
            f"{rates[u, j]:.3g}, and a B-derivative needs it positive on every side that is visited; turn the normal "
            "round if the motion crosses the other way, and leave the surface out if it is not crossed",
            surface=int(j),
            side=sides[u],
            rate=float(rates[u, j]),
        )
    return fields, rates


def _sides(codes: Array, n: int) -> Array:
    """The b (u, n) of the codes (u,)."""
    return 2 * (codes[:, None] >> np.arange(n) & 1) - 1


def _text(b: Array) -> str:
    """A side as in (-1, +1)."""
    return "(" + ", ".join(f"{int(sign):+d}" for sign in b) + ")"


def _array(name: str, value: Array | float, shape: tuple[int | None, ...]) -> Array:
    """`value` as finite floats of the given shape, None being any length."""
    array: Array = ANY_NUMBERS.check(name, value)
    if array.ndim != len(shape) or any(want not in (None, has) for want, has in zip(shape, array.shape, strict=True)):
        wanted = str(shape).replace("None", "n")
        raise InputError(f"{name} has shape {array.shape}; give it the shape {wanted}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} has entries that are not finite; give finite numbers")
    return array


def _normals(normals: Array) -> Array:
    """The normals (n, d), 1 <= n <= 62."""
    array = _array("normals", normals, (None, None))
    if not 1 <= len(array) <= MOST_CODED:
        raise InputError(f"normals has {len(array)} rows; give one row for each surface, 1 to {MOST_CODED} of them")
    return array


def _directions(dx: Array, normals: Array) -> Array:
    """The directions (d,) or (m, d)."""
    d, dx = normals.shape[1], ANY_NUMBERS.check("dx", dx)
    return _array("dx", dx, (d,) if dx.ndim == 1 else (None, d))


def _refuse_many(n: int) -> None:
    """Raise where n! is too many to list."""
    if n > MOST_LISTED:
        raise InputError(
            f"{n} surfaces have {n}! = {factorial(n)} pieces, and at most {MOST_LISTED} surfaces are listed; use "
            "bouligand, which needs none of them"
        )
