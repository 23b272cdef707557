"""Clouds around a robot: perturbed states on their way through events.

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
from .protocols import Array
from .shapes import Json, colour_code, mesh, paint, rod, sphere, triangles
from .sketch import quaternions
from .stage import Frame

WITH, WITHOUT = "#3b6fe0", "#e5484d"
_OPACITY = 0.28
_DOT = 0.006  # of a robot's size: radius of a dot
_MOST_DOTS = 60
_MOST_SURFACES, _MOST_COLOURED = 40, 10  # moments for which a surface is drawn, of one colour and of several
PIECES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
_AXES, _CREASE = ("#e5484d", "#12b76a", "#3b6fe0"), "#1d2939"
_BAR = 0.1  # metres: length of the bars that tell the scale
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
    legend = {words: colour} | {", ".join(map(str, one)): code for one, code in _pieces(spread).items()}
    if getattr(spread, "axes", ()):
        commands += _axes(path, frame.size)
        legend |= {f"{axis}: {told}": code for axis, told, code in zip("xyz", spread.axes, _AXES, strict=True)}
    return Layer(node_name(spread.name), path, commands, tracks, legend=legend)


def _pieces(spread: Any) -> dict[Any, str]:
    """{order of touch-downs: colour} where a spread tells them apart; not for one without their derivative."""
    orders = getattr(spread, "orders", ()) if spread.corrected else ()
    return {order: PIECES[k % len(PIECES)] for k, order in enumerate(sorted(set(orders), key=str))}


def _axes(path: str, size: float) -> list[Any]:
    """Three bars 0.1 m long from the middle of a cloud: x red, y green, z blue."""
    out: list[Any] = []
    for name, code, direction in zip("xyz", _AXES, np.eye(3), strict=True):
        node = f"{path}/axis_{name}"
        turn = np.column_stack([np.roll(direction, 1), np.roll(direction, 2), direction])
        out += [place(node, placed(np.zeros(3), turn) @ np.diag([1.0, 1.0, _BAR, 1.0]))]
        out += [put(node, rod(0.004 * size, glowing(code))), shadowless(node)]
    return out


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
    pieces = _pieces(spread)
    shades = [pieces[order] for order in spread.orders] if pieces else [colour] * offsets.shape[1]
    for k in chosen:
        dot = f"{path}/dot{k}"
        commands += [put(dot, mesh(sphere(_DOT * size), glowing(shades[k]), np.eye(4))), shadowless(dot)]
        tracks[dot] = [track("position", "vector3", keys, offsets[:, k])]
    if spread.faces is None:
        return commands, tracks
    shown = _moments(spread.t, _MOST_COLOURED if getattr(spread, "orders", ()) else _MOST_SURFACES)
    parts = _parts(np.asarray(spread.faces), shades)
    starts = np.append(keys[shown], np.inf)
    for index, start, end in zip(shown, starts[:-1], starts[1:], strict=True):
        node = f"{path}/surface{index}"
        commands.append(place(node, placed(np.zeros(3), np.eye(3))))
        for code, faces in parts.items():
            used, corners = np.unique(faces, return_inverse=True)
            shape = triangles(offsets[index, used], corners.reshape(-1, 3))  # flat: pieces of the map make creases
            commands.append(put(f"{node}/{code[1:]}", mesh(shape, _glass(code) | {"flatShading": True}, np.eye(4))))
        times = np.array([0.0, start, end])[int(start <= 0.0) :]
        times = times[np.isfinite(times)]
        tracks[node] = [switch(times, times == start)]
    return commands, tracks


def _parts(faces: np.ndarray, shades: Sequence[str]) -> dict[str, np.ndarray]:
    """{colour: triangles (k, 3)}: those with corners of one colour, and in ink those that lie across a crease."""
    found: dict[str, list[np.ndarray]] = {}
    for face in faces:
        codes = {shades[k] for k in face}
        found.setdefault(codes.pop() if len(codes) == 1 else _CREASE, []).append(face)
    return {code: np.array(held) for code, held in found.items()}


def _moments(time: Array, most: int) -> np.ndarray:
    """Numbers of the samples that have a surface: both sides of each event, and some in between."""
    jumps = np.flatnonzero(np.diff(time) == 0.0)
    even = np.linspace(0, len(time) - 1, min(most, len(time))).astype(int)
    return np.unique(np.concatenate([even, jumps, jumps + 1]))


def _glass(colour: str) -> Json:
    shade = rgba(colour, _OPACITY)
    return paint(shade, emissive=colour_code(shade), emissiveIntensity=0.5) | {"depthWrite": False}
