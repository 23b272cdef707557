"""Checks of weights and covariances that a user gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..errors import InputError
from .zero import ROUNDING

Weight = Callable[[float], Array]


def symmetric(name: str, given: Any, size: int, definite: bool = False) -> Array:
    """A symmetric positive semi-definite (or definite) matrix (size, size) from what a user gave under a name.

    Raises:
        InputError: it has another shape, is not finite, not symmetric, or has a negative eigenvalue.
    """
    matrix = _finite(name, given, size)
    scale = float(np.abs(matrix).max(initial=0.0))
    if np.abs(matrix - matrix.T).max(initial=0.0) > ROUNDING * scale:
        raise InputError(f"{name} is not symmetric; give a matrix that equals its transpose")
    matrix = 0.5 * (matrix + matrix.T)
    least = float(np.linalg.eigvalsh(matrix)[0]) if size else 0.0
    if definite and not least > 0.0:
        raise InputError(f"{name} has the eigenvalue {least:.3g}; give a positive definite matrix")
    if least < -ROUNDING * scale:
        raise InputError(f"{name} has the negative eigenvalue {least:.3g}; give a positive semi-definite matrix")
    return matrix


def _finite(name: str, given: Any, size: int) -> Array:
    """A matrix (size, size) of finite numbers from what a user gave."""
    try:
        matrix = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} is a {type(given).__name__}; give a matrix of shape ({size}, {size})") from None
    if matrix.shape != (size, size):
        raise InputError(f"{name} has shape {matrix.shape}; here it needs ({size}, {size})")
    if not np.all(np.isfinite(matrix)):
        raise InputError(f"{name} holds NaN or infinity; give finite numbers")
    return matrix


def weight(name: str, given: Any, size: int, t: float) -> Weight:
    """t -> matrix (size, size) from a matrix or a function of time.

    A function is checked in full at `t`; later values for their shape, and that they are finite.

    Raises:
        InputError: it is not a symmetric positive semi-definite matrix of that size.
    """
    if not callable(given):
        fixed = symmetric(name, given, size)
        return lambda _: fixed
    symmetric(f"{name}({t:.6g} s)", given(t), size)

    def checked(at: float) -> Array:
        return _finite(f"{name}({at:.6g} s)", given(at), size)

    return checked
