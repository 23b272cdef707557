"""Central differences of fourth order: derivatives of functions that come without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.arrays import Array
from .manifold import Manifold

# The truncation error of the difference is STEP^4 f^(5) / 30, its rounding error about 1e-16 |f| / STEP.
STEP = 3e-4


def derivative(function: Callable[[float], Any], step: float = STEP) -> Any:
    """f'(0) of a function of one number, with values of any shape."""
    near = np.asarray(function(step), dtype=float) - np.asarray(function(-step), dtype=float)
    far = np.asarray(function(2.0 * step), dtype=float) - np.asarray(function(-2.0 * step), dtype=float)
    return (8.0 * near - far) / (12.0 * step)


def one_sided_derivative(function: Callable[[float], Any], step: float = STEP) -> Any:
    """f'(0) by five values f(0), f(h), ... f(4 h) on one side, also of fourth order; error h^4 f^(5) / 5."""
    weights = np.array([-25.0, 48.0, -36.0, 16.0, -3.0]) / (12.0 * step)
    values = [np.asarray(function(k * step), dtype=float) for k in range(len(weights))]
    return np.tensordot(weights, np.array(values), axes=1)


def tangent_derivative(function: Callable[[Array], Any], space: Manifold, x: Array, step: float = STEP) -> Array:
    """D f (m, dim) of a function of a point of a manifold, along its tangent directions: f(x (+) dx) = f(x) + D f dx.

    Args:
        function: x (size,) -> values (m,).
        space: where x lives.
        x: the point (size,).
        step: size of the differences.
    """
    columns = []
    for direction in np.eye(space.dim):
        columns.append(derivative(lambda h, e=direction: function(space.integrate(x, h * e)), step))  # type: ignore[misc]
    if not columns:
        return np.zeros((np.asarray(function(x)).size, 0))
    return np.array(columns, dtype=float).T


def map_derivative(
    function: Callable[[Array], Array], space: Manifold, x: Array, image: Manifold, step: float = STEP
) -> Array:
    """D F (image.dim, space.dim) of a map between manifolds, in tangent coordinates at both ends."""
    at = function(x)
    return tangent_derivative(lambda point: image.difference(at, function(point)), space, x, step)
