"""Samples of a run as tables of xarray and pandas, which are loaded when the first one is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from ..errors import ContactSimError
from .samples import Samples

if TYPE_CHECKING:
    import pandas
    import xarray

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
