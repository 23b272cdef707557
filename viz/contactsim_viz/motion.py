"""Samples a trajectory into the poses, modes and forces that a page plays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .figure import Figure
from .protocols import MODES, Array, TrajectoryLike, mode_index

_MOST_EXTRA = 1000  # events that have a frame of their own
_APART = 1e-3  # of the time between two frames: how far from one an event needs a frame of its own

__all__ = ["MODES", "SampledPoses", "frame_times", "sample", "smooth"]


@dataclass(frozen=True)
class SampledPoses:
    """A sampled trajectory of n frames, nj joints and nc contacts; positions in metres, world frame.

    Attributes:
        start: time of the first frame, seconds.
        time: (n,) seconds after `start`: evenly, and at events.
        joints: (n, nj, 7) joint placements: position and unit quaternion (x, y, z, w).
        points: (n, nc, 3) where contacts touch, or would.
        normals: (n, nc, 3) of the ground there.
        forces: (n, nc, 3) contact forces, newton.
        mode_time: (m,) seconds after `start`: each frame, each event, and the start of each arc.
        modes: (m, nc) indices into `MODES`; row k holds from `mode_time[k]` to `mode_time[k + 1]`.
        events: (ne,) seconds after `start`.
        speed: seconds of the run that a page plays in a second.
    """

    start: float
    time: Array
    joints: Array
    points: Array
    normals: Array
    forces: Array
    mode_time: Array
    modes: np.ndarray
    events: Array
    speed: float = 1.0

    @property
    def middles(self) -> Array:
        """Times (m,) at which the rows of `modes` hold without doubt: between two of `mode_time`, and the last."""
        return np.append((self.mode_time[:-1] + self.mode_time[1:]) / 2, self.mode_time[-1])

    @property
    def duration(self) -> float:
        """Length of the run in seconds."""
        return float(self.time[-1])


def sample(traj: TrajectoryLike, step: float, speed: float = 1.0) -> SampledPoses:
    """Sample `traj` from its first to its last time with a frame at least every `step` seconds."""
    figure, terrain = Figure(traj.system.robot), traj.system.terrain
    start, end = float(traj.t[0]), float(traj.t[-1])
    events = np.array([event.time for event in traj.events], dtype=np.float64)
    frames = _with_events(frame_times(start, end, step), events)
    names = figure.names
    states = [np.asarray(traj(float(t)).q, dtype=np.float64) for t in frames]
    touched = [figure.touch(q, terrain, float(t)) for q, t in zip(states, frames, strict=True)]
    # A mode may begin without an event that is told, behind one of those that follow each other at once.
    begun = np.array([*events, *(arc.t0 for arc in getattr(traj, "arcs", ()))], dtype=np.float64)
    mode_time = np.unique(np.concatenate([frames, begun[(begun > start) & (begun < end)]]))
    return SampledPoses(
        start=start,
        time=frames - start,
        joints=np.array([figure.joints(q) for q in states]),
        points=np.array([points for points, _ in touched]),
        normals=np.array([normals for _, normals in touched]),
        forces=np.array([_forces(traj, float(t), names) for t in frames]),
        mode_time=mode_time - start,
        modes=_modes(traj, mode_time, names),
        events=events - start,
        speed=speed,
    )


def frame_times(start: float, end: float, step: float) -> Array:
    """Times (n,) of the frames between two times, at least one every `step` seconds."""
    return np.linspace(start, end, max(2, int(np.ceil((end - start) / step - 1e-9)) + 1))


def _with_events(frames: Array, events: Array) -> Array:
    """The times of frames, and of events between them: there poses are exact, where they are looked at most closely."""
    inside = events[(events > frames[0]) & (events < frames[-1])][:_MOST_EXTRA]
    place = np.searchsorted(frames, inside)
    apart = np.minimum(inside - frames[place - 1], frames[place] - inside) > _APART * (frames[1] - frames[0])
    return np.union1d(frames, inside[apart])


def _forces(traj: TrajectoryLike, t: float, names: Sequence[str]) -> Array:
    forces = traj.forces(t)
    return np.array([forces.get(name, np.zeros(3)) for name in names], dtype=np.float64).reshape(len(names), 3)


def _modes(traj: TrajectoryLike, times: Array, names: Sequence[str]) -> np.ndarray:
    # Read in the middle of each interval: there both sides of an event are clear of doubt.
    middles = np.append((times[:-1] + times[1:]) / 2, times[-1])
    rows = [traj.mode_at(float(t)) for t in middles]
    found = [[mode_index(row[name].name) if name in row else 0 for name in names] for row in rows]
    return np.array(found, dtype=np.intp).reshape(len(times), len(names))


def smooth(values: Array, width: float) -> Array:
    """Rows of `values` (n, k) averaged with a Gaussian of `width` frames (standard deviation), ends carried on."""
    reach = int(np.ceil(3 * width))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    padded = np.pad(values, ((reach, reach), (0, 0)), mode="reflect", reflect_type="odd")
    columns = [np.convolve(column, weights / weights.sum(), mode="valid") for column in padded.T]
    return np.stack(columns, axis=1)
