"""Turns the drawing of a system that is no robot into the commands of a meshcat page.

Tree of the page (z up, metres): `/world` holds everything and moves so that what the drawing follows stays before the
camera; under it `ground` and `parts/<name>/<k>`, one object for each size and colour that a part has in the run, of
which one is visible at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from contactsim.errors import InputError

from .commands import Command, animation, node_name, place, placed, put, rgba, switch, track, unit
from .motion import frame_times
from .parts import FORCES, Look, Seen, finite, groups_of, pieces, read
from .protocols import Array, DrawingLike, TrajectoryLike
from .scene import Scene
from .shapes import Json, carried, paint
from .stage import Frame, Heights, axes_of, follow, ground_plane, ground_surface, plane_of, stage

Series = list[Seen | None]

_FILLED, _ASPECT = 0.8, 1.5  # of the height of the picture that the parts fill, and how much wider it is
_MOST_LOOKS = 16  # objects for one part; more are a mistake, and a page too large


@dataclass(frozen=True)
class Sketch:
    """A sampled drawing of n keys: every frame, and both sides of every event.

    Attributes:
        kind: class of the system.
        time: (n,) seconds after the start, growing strictly.
        drawings: what is seen at each key.
        captions: the chart in words at each key.
        parts: {name: what is seen of it at each key}.
        step: seconds between two frames.
    """

    kind: str
    time: Array
    drawings: Sequence[DrawingLike]
    captions: Sequence[str]
    parts: dict[str, Series]
    step: float

    @property
    def duration(self) -> float:
        """Length of the run in seconds."""
        return float(self.time[-1])


# --- sampling -------------------------------------------------------------------------------------


def sample(traj: TrajectoryLike, step: float) -> Sketch:
    """Draw `traj` from its first to its last time with a frame at least every `step` seconds."""
    start, end = float(traj.arcs[0].t0), float(traj.arcs[-1].t1)
    frames = frame_times(start, end, step)
    keys: dict[float, tuple[float, DrawingLike, str]] = {}
    arcs = [arc for arc in traj.arcs if arc.t1 - start > arc.t0 - start] or traj.arcs[:1]
    for arc in arcs:
        inside = frames[(frames > arc.t0) & (frames < arc.t1)]
        for t in (arc.t0, *inside.tolist(), arc.t1):
            key = float(t - start)
            if t == arc.t1 and arc is not arcs[-1]:
                key = float(np.nextafter(key, -np.inf))
            drawing = drawn(arc, t)
            keys[key] = t, drawing, drawing.caption or str(arc.mode)
    kind, time = type(traj.system).__name__, sorted(keys)
    moments, drawings, captions = zip(*(keys[key] for key in time), strict=True)
    found = [
        read_drawing(seen, f"the drawing of {kind} at t = {t:.9g} s") for t, seen in zip(moments, drawings, strict=True)
    ]
    parts = _bent({name: [seen.get(name) for seen in found] for name in dict.fromkeys(chain(*found))})
    return Sketch(kind, np.array(time, dtype=np.float64), drawings, captions, parts, step)


def read_drawing(drawing: DrawingLike, place: str) -> dict[str, Seen]:
    """The parts of a drawing; `place` names it."""
    if drawing.focus is not None:
        finite(drawing.focus, f"the focus of {place}", 3)
    if not finite(drawing.sight, f"the sight of {place}", 3).any():
        raise InputError(f"the sight of {place} is zero; give a direction from what is followed to the camera")
    return read(drawing.parts, f"in {place}")


def _bent(parts: dict[str, Series]) -> dict[str, Series]:
    """The parts, with lines that bend in pieces."""
    out: dict[str, Series] = {}
    for name, series in parts.items():
        if len({seen[0] for seen in series if seen is not None and seen[0].kind == "line"}) < 2:
            out[name] = series
            continue
        rows = [{} if seen is None else pieces(seen[0]) for seen in series]
        out |= {f"{name}/{piece}": [row.get(piece) for row in rows] for piece in dict.fromkeys(chain(*rows))}
    return out


def drawn(arc: Any, t: float) -> DrawingLike:
    """The drawing of an arc's system at a time."""
    drawing = arc.system.drawing(t, arc(t), arc.mode)
    if drawing is None:
        kind = type(arc.system).__name__
        raise InputError(
            f"the {kind} of this run has no geometry to show at t = {t:.9g} s; let its method drawing(t, x, chart)"
            " return a contactsim.look.Drawing, or plot its states"
        )
    return drawing


# --- the scene ------------------------------------------------------------------------------------


def build(sketch: Sketch, sight: Sequence[float] | None = None, zoom: float = 1.0) -> Scene:
    """Draw the parts and the ground, and animate them along the run, seen from `sight` (3,) where it is given."""
    first = sketch.drawings[0]
    frame = measure(sketch).seen(sight, zoom)
    commands = setting(frame, first.ground)
    frames = np.linspace(0.0, sketch.duration, len(frame.target))
    tracks = {"/world": [track("position", "vector3", frames, -frame.target)]}
    for name, series in sketch.parts.items():
        for k, look in enumerate(_looks(sketch.kind, name, series)):
            path = f"/world/{look.group}/{node_name(name)}/{k}"
            commands += _object(path, look, series)
            tracks[path] = _tracks(look, series, sketch.time)
    commands.append(animation(tracks, sketch.duration))
    looks = (seen[0] for series in sketch.parts.values() for seen in series if seen is not None)
    return Scene(commands, first.legend, captions=_captions(sketch), groups=groups_of(looks))


def setting(frame: Frame, heights: Heights | None) -> list[Command]:
    """Lights, camera and ground."""
    hills = [ground_surface(frame, heights)] if heights is not None and frame.ground is None else []
    return [*stage(frame), *ground_plane(frame), *hills]


def _captions(sketch: Sketch) -> list[tuple[float, str]]:
    words = sketch.captions
    new = [k for k, word in enumerate(words) if k == 0 or word != words[k - 1]]
    return [(float(sketch.time[k]), words[k]) for k in new]


def measure(sketch: Sketch) -> Frame:
    """The camera follows what the drawing follows, from where all parts are seen at all times."""
    first = sketch.drawings[0]
    sight = unit(np.asarray(first.sight, dtype=np.float64))
    axes = axes_of(sight)
    focus, low, high = _focus(sketch, axes)
    wide, tall, deep = high - low
    size = max(wide / _FILLED / _ASPECT, tall / _FILLED, 0.5 * deep, 1e-3)
    frames = np.linspace(0.0, sketch.duration, max(2, round(sketch.duration / sketch.step) + 1))
    middle = np.column_stack([np.interp(frames, sketch.time, column) for column in focus.T]) + axes @ (low + high) / 2
    target = follow(middle, sketch.duration, size)
    ground = None if first.ground is None else plane_of(first.ground, target, size)
    return Frame(size, target, ground, sight)


def _focus(sketch: Sketch, axes: Array) -> tuple[Array, Array, Array]:
    """Points (n, 3) that the camera follows, and the corners (3,), (3,), along `axes`, of all parts at all times."""
    focus, lows, highs = [], [], []
    for k, drawing in enumerate(sketch.drawings):
        here = [found for series in sketch.parts.values() if (found := series[k]) is not None]
        seen = [found for found in here if found[0].group != FORCES]
        boxes = np.array([pose.bounds(look) for look, pose in seen] or [np.zeros((2, 3))])
        middle = boxes.mean(axis=(0, 1)) if drawing.focus is None else np.asarray(drawing.focus, dtype=np.float64)
        centres = (boxes.mean(axis=1) - middle) @ axes
        reach = (boxes[:, 1] - boxes[:, 0]) / 2 @ np.abs(axes)
        focus.append(middle)
        lows.append((centres - reach).min(axis=0))
        highs.append((centres + reach).max(axis=0))
    return np.array(focus), np.min(lows, axis=0), np.max(highs, axis=0)


# --- parts ----------------------------------------------------------------------------------------


def _looks(kind: str, name: str, series: Series) -> list[Look]:
    looks = list(dict.fromkeys(seen[0] for seen in series if seen is not None))
    if len(looks) > _MOST_LOOKS:
        raise InputError(
            f"the part '{name}' in the drawing of {kind} has {len(looks)} sizes and colours in the run, and at most"
            f" {_MOST_LOOKS} can be shown; keep them, and move the part by its points"
        )
    return looks


def _object(path: str, look: Look, series: Series) -> list[Command]:
    pose = next(seen[1] for seen in series if seen is not None and seen[0] == look)
    return [place(path, placed(pose.position, np.eye(3))), put(path, look.mesh(pose.length, paint(rgba(look.colour))))]


def _tracks(look: Look, series: Series, time: Array) -> list[Json]:
    """Tracks of one look of a part: where it is while it is seen, and when it is seen."""
    on = np.array([seen is not None and seen[0] == look for seen in series])
    poses = [seen[1] for seen, here in zip(series, on, strict=True) if here and seen is not None]
    moves = {"position": np.array([pose.position for pose in poses])}
    if poses[0].rotation is not None:
        moves["quaternion"] = quaternions(np.array([pose.rotation for pose in poses]))
    elif poses[0].along is not None:
        moves["quaternion"] = quaternions(_turned(np.array([pose.along for pose in poses])))
        stretch = np.array([max(pose.length, 1e-9) for pose in poses]) / look.reference(poses[0].length)
        moves["scale"] = np.column_stack([np.ones((len(poses), 2)), stretch])
    tracks = [_thin(name, time[on], values) for name, values in moves.items()]
    return tracks if on.all() else [*tracks, switch(time, on)]


def _turned(along: Array) -> Array:
    """Rotations (n, 3, 3) with z axes `along` (n, 3), each following the one before with the least turn."""
    across = carried(along)
    return np.stack([across, np.cross(along, across), along], axis=-1)


def _thin(name: str, time: Array, values: Array) -> Json:
    """A track without the keys that equal both their neighbours."""
    values = values.astype(np.float32)
    same = (values[1:] == values[:-1]).all(axis=1)
    keep = ~(np.append(False, same) & np.append(same, False))
    return track(name, "quaternion" if name == "quaternion" else "vector3", time[keep], values[keep])


def quaternions(rotations: Array) -> Array:
    """Unit quaternions (n, 4), x y z w, of rotation matrices (n, 3, 3), each close to the one before it."""
    out = Rotation.from_matrix(rotations).as_quat()
    signs = np.sign(np.einsum("ij,ij->i", out[1:], out[:-1]))
    return out * np.append(1.0, np.cumprod(np.where(signs == 0.0, 1.0, signs)))[:, None]
