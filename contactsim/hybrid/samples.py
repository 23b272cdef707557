"""A run at many instants at once: states, modes, forces and frames as arrays, and as tables of xarray and pandas.

The makers of tables are loaded when the first one is made.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.representation import Brief
from ..errors import ContactSimError, InputError
from .segments import Segment
from .system import HybridSystem

if TYPE_CHECKING:
    import pandas
    import xarray


class Piece(Protocol):
    """What is read of an arc of a run."""

    @property
    def mode(self) -> Hashable:
        """The mode."""

    @property
    def system(self) -> HybridSystem:
        """The system of the piece."""

    @property
    def segments(self) -> Sequence[Segment]:
        """The steps."""

    @property
    def t0(self) -> float:
        """Start [s]."""

    @property
    def t1(self) -> float:
        """End [s]."""


@dataclass(frozen=True, repr=False)
class Samples(Brief):
    """A run at T instants.

    Attributes:
        t: the instants (T,) [s].
        arcs: the arc (T) that each was taken of, which says the side of a jump.
        rows: the plain state (T) at each.
        frame_names: frames that were asked for.
    """

    t: Array
    arcs: tuple[Piece, ...] = field(repr=False)
    rows: tuple[Array, ...] = field(repr=False)
    frame_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.t)

    @property
    def system(self) -> HybridSystem:
        """The system of the first of them; others may differ in parameters and pushes."""
        return self.arcs[0].system

    @cached_property
    def x(self) -> Array:
        """Plain states (T, size), padded with NaN where the dimension differs between modes."""
        return padded(self.rows)

    @cached_property
    def state(self) -> Any:
        """State of all of them: of a ContactSystem a State with q (T, nq), v (T, nv) and z (T, nz), else x."""
        states = [arc.system.state(x) for arc, x in zip(self.arcs, self.rows, strict=True)]
        if not is_dataclass(states[0]):
            return self.x
        kind: Any = type(states[0])
        return kind(**{own.name: np.array([getattr(state, own.name) for state in states]) for own in fields(kind)})

    @property
    def q(self) -> Array:
        """Configurations (T, nq)."""
        return self._part("q")

    @property
    def v(self) -> Array:
        """Velocities (T, nv)."""
        return self._part("v")

    @property
    def z(self) -> Array:
        """Memory of controller and contact law (T, nz)."""
        return self._part("z")

    @cached_property
    def modes(self) -> Any:
        """{contact: modes (T,)} as objects; of a system without contacts the modes (T,) themselves."""
        named = [arc.system.named_modes(arc.mode) for arc in self.arcs]
        if not isinstance(named[0], Mapping):
            return _objects(named)
        names, absent = dict.fromkeys(name for modes in named for name in modes), self.system.absent_mode
        return {name: _objects([modes.get(name, absent) for modes in named]) for name in names}

    @cached_property
    def forces(self) -> dict[str, Array]:
        """{contact: forces (T, 3) in world axes [N]} ((T, 1 + d_t) along the rows of a Mechanism).

        Raises:
            InputError: the system has no contacts.
        """
        instants = zip(self.arcs, self.t.tolist(), self.rows, strict=True)
        rows = [arc.system.forces(t, x, arc.mode) for arc, t, x in instants]
        if any(row is None for row in rows):
            raise InputError(f"{type(self.system).__name__} has no contact forces; sample a ContactSystem's trajectory")
        known = {name: np.zeros_like(force) for row in rows for name, force in row.items()}  # type: ignore[union-attr]
        return {name: np.array([row.get(name, none) for row in rows]) for name, none in known.items()}  # type: ignore[union-attr]

    @cached_property
    def frames(self) -> dict[str, Array]:
        """{frame: (T, 4, 4), from its axes to those of the world} of the frames that were asked for [m]."""
        poses = [arc.system.frame_poses(x, self.frame_names) for arc, x in zip(self.arcs, self.rows, strict=True)]
        return {name: np.array([pose[name] for pose in poses]) for name in self.frame_names}

    def _part(self, name: str) -> Array:
        if not hasattr(self.state, name):
            raise InputError(f"a state of {type(self.system).__name__} has no {name}; take x")
        return np.asarray(getattr(self.state, name))


def samples(arcs: Sequence[Piece], times: Array, side: str, frames: Sequence[str] = ()) -> Samples:
    """The arcs of a run at times (T,) [s]: the right limit at a jump, with side "-" the left one, with "both" both.

    Raises:
        InputError: a time lies outside the run, or there is none.
    """
    if not len(times):
        raise InputError("there are no times to sample the run at; give one or more")
    first, last = arcs[0].t0, arcs[-1].t1
    outside = ~((times >= first) & (times <= last))
    if outside.any():
        raise InputError(f"t = {times[outside][0]} lies outside the run, which covers [{first}, {last}] s")
    starts = np.array([arc.t0 for arc in arcs])
    right = np.searchsorted(starts, times, side="right") - 1
    left = np.maximum(np.searchsorted(starts, times, side="left") - 1, 0)
    chosen = {"+": [right], "-": [left], "both": [left, right]}[side]
    instants = [(float(t), k) for t, *ks in zip(times, *chosen, strict=True) for k in dict.fromkeys(map(int, ks))]
    return at_instants([arcs[k] for _, k in instants], np.array([t for t, _ in instants]), frames)


def at_instants(arcs: Sequence[Piece], times: Array, frames: Sequence[str] = ()) -> Samples:
    """Samples of these arcs (T), each at one time (T,) that it holds."""
    steps: dict[int, Array] = {}
    rows = []
    for arc, t in zip(arcs, times.tolist(), strict=True):
        if (starts := steps.get(id(arc))) is None:
            starts = steps[id(arc)] = np.array([segment.t0 for segment in arc.segments])
        rows.append(arc.segments[max(int(np.searchsorted(starts, t, side="right")) - 1, 0)](t))
    return Samples(times, tuple(arcs), tuple(rows), tuple(frames))


def padded(rows: Sequence[Array]) -> Array:
    """States (T, size) of those at T instants, with NaN where one has fewer numbers than others."""
    table = np.full((len(rows), max((len(x) for x in rows), default=0)), np.nan)
    for line, x in zip(table, rows, strict=True):
        line[: len(x)] = x
    return table


def _objects(values: Sequence[Any]) -> Array:
    """An array of objects of any kind, tuples among them."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


AXES = ("x", "y", "z")
STATE = {"q": "configuration", "v": "velocity", "z": "memory of controller and contact law"}


def dataset(samples: Samples) -> xarray.Dataset:
    """Samples as an xarray.Dataset along `time` [s].

    Variables: q (time, q_name), v (time, v_name), z (time, z_index), mode (time, contact), force (time, contact, axis)
    [N, world axes], pose (time, frame, row, column) of the frames that were asked for, and `arc` (time), the number of
    the arc that an instant belongs to: it tells the two sides of a jump. A system without contacts has x (time, state)
    and mode (time). What cannot be known is NaN, and the attribute `note` of the variable says why.
    """
    import xarray

    coordinates: dict[str, Any] = {"time": ("time", samples.t, {"units": "s"})}
    variables: dict[str, Any] = {"arc": ("time", arc_numbers(samples))}
    if isinstance(modes := samples.modes, Mapping):
        names, forces, note = force_rows(samples)
        q_names, v_names = labels(samples)
        coordinates |= {"q_name": q_names, "v_name": v_names, "contact": list(modes), "axis": list(names)}
        dims = {"q": "q_name", "v": "v_name", "z": "z_index"}
        variables |= {k: (("time", dims[k]), getattr(samples, k), {"long_name": STATE[k]}) for k in dims}
        variables["mode"] = (("time", "contact"), mode_rows(samples))
        variables["force"] = (("time", "contact", "axis"), forces, about_forces(note))
    else:
        variables |= {"x": (("time", "state"), samples.x), "mode": ("time", mode_rows(samples))}
    if samples.frame_names:
        coordinates["frame"] = list(samples.frame_names)
        variables["pose"] = (("time", "frame", "row", "column"), np.stack(list(samples.frames.values()), axis=1))
    return xarray.Dataset(variables, coordinates)


def dataframe(samples: Samples) -> pandas.DataFrame:
    """Samples as a pandas.DataFrame with the index `time` [s] and a column for each number.

    Columns: arc, q.NAME, v.NAME, z.INDEX, mode.CONTACT, force.CONTACT.AXIS [N, world axes], and pose.FRAME.AXIS, the
    place [m] of a frame that was asked for; of a system without contacts x.INDEX and mode.
    """
    import pandas

    data = dataset(samples)
    columns: dict[str, Array] = {"arc": data["arc"].values}
    for name in ("q", "v", "z", "x"):
        if name in data:
            own = data[name]
            keys = own.coords[own.dims[1]].values if own.dims[1] in own.coords else range(own.shape[1])
            columns |= {f"{name}.{key}": own.values[:, k] for k, key in enumerate(keys)}
    if "contact" not in data.coords:
        columns["mode"] = data["mode"].values
    for i, contact in enumerate(data.coords["contact"].values if "contact" in data.coords else ()):
        columns[f"mode.{contact}"] = data["mode"].values[:, i]
        columns |= {
            f"force.{contact}.{axis}": data["force"].values[:, i, k] for k, axis in enumerate(data["axis"].values)
        }
    for i, frame in enumerate(samples.frame_names):
        columns |= {f"pose.{frame}.{axis}": data["pose"].values[:, i, k, 3] for k, axis in enumerate(AXES)}
    return pandas.DataFrame(columns, index=pandas.Index(samples.t, name="time"))


def arc_numbers(samples: Samples) -> Array:
    """Number of the arc (T,) of each instant, counted from the first that is there."""
    seen: dict[int, int] = {}
    order = sorted({id(arc): arc for arc in samples.arcs}.values(), key=lambda arc: (arc.t0, arc.t1))
    for arc in order:
        seen[id(arc)] = len(seen)
    return np.array([seen[id(arc)] for arc in samples.arcs], dtype=int)


def mode_rows(samples: Samples) -> Array:
    """Modes in words: (T, contacts), or (T,) of a system without contacts."""
    modes = samples.modes
    if not isinstance(modes, Mapping):
        return np.array([str(mode) for mode in modes], dtype=str)
    columns = [[mode.value if isinstance(mode, Enum) else str(mode) for mode in own] for own in modes.values()]
    return np.array(columns, dtype=str).reshape(len(columns), len(samples)).T


def force_rows(samples: Samples) -> tuple[Sequence[str], Array, str]:
    """Names of the axes, forces (T, contacts, axes) [N], and why they are not known where they are NaN.

    The axes are those of the world, or of a Mechanism its rows: normal, then tangents.
    """
    contacts = list(samples.modes)
    try:
        found = samples.forces
    except ContactSimError as error:  # of a run from a file, say, whose controller is only named there
        return AXES, np.full((len(samples), len(contacts), 3), np.nan), str(error)
    width = max((rows.shape[1] for rows in found.values()), default=3)
    forces = np.full((len(samples), len(contacts), width), np.nan)
    for k, contact in enumerate(contacts):
        if contact in found:  # a latch has a mode, and its forces among those of loops
            forces[:, k, : found[contact].shape[1]] = found[contact]
    named = samples.system.coordinate_names() is not None
    return AXES if named else ["n", "t1", "t2"][:width], forces, ""


def about_forces(note: str) -> dict[str, str]:
    """Attributes of a variable of forces, with why some are not known."""
    return {"units": "N", "long_name": "contact force in world axes"} | ({"note": note} if note else {})


def labels(samples: Samples) -> tuple[list[str], list[str]]:
    """Names of the coordinates, or their numbers where they have none."""
    names = samples.system.coordinate_names()
    if names is None:
        return [str(k) for k in range(samples.q.shape[1])], [str(k) for k in range(samples.v.shape[1])]
    return names
