"""Clouds around a robot: what becomes of perturbed states on their way through events.

A covariance is an ellipsoid that moves, turns and stretches along its tracks. Any other set of starts is a cloud of
dots; the surface they lie on, if there is one, bends at simultaneous events, so it is drawn anew for each moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .commands import glowing, node_name, place, placed, put, rgba, switch, track
from .layers import Draw, Layer, shadowless
from .motion import SampledPoses
from .reads import Array
from .shapes import Json, colour_code, mesh, paint, sphere, triangles
from .sketch import quaternions
from .stage import Frame

WITH, WITHOUT = "#3b6fe0", "#e5484d"
_OPACITY = 0.28
_DOT = 0.006  # of a robot's size: radius of a dot
_MOST_DOTS = 60
_MOST_SURFACES = 40  # moments for which a surface is drawn
_THINNEST = 8e-3  # of a robot's size: semi-axis of an ellipsoid that has none


def spread_layers(spreads: Sequence[Any]) -> tuple[Draw, ...]:
    """Painters, one for each of them."""
    return tuple(partial(_draw, spread) for spread in spreads)


def _draw(spread: Any, traj: Any, motion: SampledPoses, frame: Frame) -> Layer:
    path = f"/world/spreads/{node_name(spread.name)}"
    keys = _keys(spread.t - motion.start)
    offsets = spread.scale * spread.offsets
    colour = WITH if spread.corrected else WITHOUT
    make = _ellipsoid if spread.ellipsoid else _cloud
    commands, tracks = make(path, spread, keys, offsets, colour, frame.size)
    words = spread.name if spread.scale == 1.0 else f"{spread.name}, {spread.scale:g} times"
    return Layer(node_name(spread.name), path, commands, tracks, legend={words: colour})


def _keys(time: Array) -> Array:
    """Times that grow; the first of two at an event is the number before it."""
    keys = np.array(time, dtype=np.float64)
    for k in range(len(keys) - 2, -1, -1):
        if keys[k] >= keys[k + 1]:
            keys[k] = np.nextafter(keys[k + 1], -np.inf)
    return np.maximum(keys, 0.0)


def _ellipsoid(
    path: str, spread: Any, keys: Array, offsets: Array, colour: str, size: float
) -> tuple[list[Any], dict[str, list[Json]]]:
    """One sphere, moved, turned and stretched to one standard deviation."""
    axes, turns = principal(np.einsum("nmi,nmj->nij", offsets, offsets))
    tracks = [
        track("position", "vector3", keys, spread.centre + spread.shift),
        track("quaternion", "quaternion", keys, quaternions(turns)),
        track("scale", "vector3", keys, np.maximum(axes, _THINNEST * size)),
    ]
    return [put(path, mesh(sphere(1.0), _glass(colour), np.eye(4)))], {path: tracks}


def principal(covariances: Array) -> tuple[Array, Array]:
    """Semi-axes (n, 3) and rotations (n, 3, 3) of ellipsoids, in an order in which they turn least.

    The square roots of the eigenvalues of each (3, 3) matrix, and its eigenvectors as columns; each is matched with
    those of the matrix before it, so that neither swaps nor flips while the ellipsoid changes smoothly.
    """
    axes, turns = np.empty(covariances.shape[:2]), np.empty(covariances.shape)
    last = np.eye(3)
    for k, matrix in enumerate(covariances):
        values, vectors = np.linalg.eigh(matrix)
        likeness = np.abs(last.T @ vectors)
        order = max(_ORDERS, key=lambda order, table=likeness: table[range(3), order].sum())  # type: ignore[misc]
        vectors, values = vectors[:, order], values[list(order)]
        vectors = vectors * np.where(np.sum(last * vectors, axis=0) < 0.0, -1.0, 1.0)
        if np.linalg.det(vectors) < 0.0:
            vectors[:, np.argmin(np.abs(np.sum(last * vectors, axis=0)))] *= -1.0
        axes[k], turns[k], last = np.sqrt(np.maximum(values, 0.0)), vectors, vectors
    return axes, turns


_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


def _cloud(
    path: str, spread: Any, keys: Array, offsets: Array, colour: str, size: float
) -> tuple[list[Any], dict[str, list[Json]]]:
    """Dots that move, and the surface through all of them."""
    commands: list[Any] = []
    tracks: dict[str, list[Json]] = {path: [track("position", "vector3", keys, spread.centre + spread.shift)]}
    chosen = np.unique(np.linspace(0, offsets.shape[1] - 1, min(_MOST_DOTS, offsets.shape[1])).astype(int))
    for k in chosen:
        dot = f"{path}/dot{k}"
        commands += [put(dot, mesh(sphere(_DOT * size), glowing(colour), np.eye(4))), shadowless(dot)]
        tracks[dot] = [track("position", "vector3", keys, offsets[:, k])]
    if spread.faces is None:
        return commands, tracks
    shown = _moments(spread.t)
    starts = np.append(keys[shown], np.inf)
    for index, start, end in zip(shown, starts[:-1], starts[1:], strict=True):
        node = f"{path}/surface{index}"
        shape = triangles(offsets[index], np.asarray(spread.faces))  # flat, so that pieces of the map are creases
        drawn = mesh(shape, _glass(colour) | {"flatShading": True}, np.eye(4))
        commands += [place(node, placed(np.zeros(3), np.eye(3))), put(node, drawn)]
        times = np.array([0.0, start, end])[int(start <= 0.0) :]
        times = times[np.isfinite(times)]
        tracks[node] = [switch(times, times == start)]
    return commands, tracks


def _moments(time: Array) -> np.ndarray:
    """Which samples have a surface: both sides of each event, and some in between."""
    jumps = np.flatnonzero(np.diff(time) == 0.0)
    even = np.linspace(0, len(time) - 1, min(_MOST_SURFACES, len(time))).astype(int)
    return np.unique(np.concatenate([even, jumps, jumps + 1]))


def _glass(colour: str) -> Json:
    shade = rgba(colour, _OPACITY)
    return paint(shade, emissive=colour_code(shade), emissiveIntensity=0.5) | {"depthWrite": False}
