"""The derivative of a run in the file of the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.files import write_whole
from ..common.lazy import dataclass
from ..common.representation import Brief
from ..derivatives.linearized_event import EventLinearization
from ..derivatives.run_derivative import RunDerivative
from ..errors import NonDifferentiableError
from ..hybrid.mode_directions import space_of
from .netcdf import read, texts, with_group


def save_linearization(
    lin: RunDerivative, path: str | Path, summaries: Mapping[EventLinearization, EventSummary] | None = None
) -> Path:
    """Add the derivative of a run to the file of the run, as its group ``linearization``; an older one is replaced.

    Variables, in the tangent coordinates (dq, dv, dz): `matrix` (end, start) of the whole run; and for each event at
    which something changed that a user can see `time`, `contacts`, `saltation` (event, after, before), `pieces`, the
    number of its linear pieces, and `reason`, why there is no one matrix. What does not exist is NaN, pieces then -1.
    Read it with ``xarray.open_dataset(path, group="linearization", engine="h5netcdf")``; `load` takes no notice of it.

    Args:
        lin: what `linearize` returned for the run.
        path: the file that `save` wrote for it.
        summaries: what `summary` said of its visible events, where that is known already.

    Raises:
        InputError: there is no such file, or it is not a run.
        StorageError: the disk is full, or does not let write; the file stays as it was.
    """
    path = Path(path)
    read(path, ())
    write_whole(path, with_group(path.read_bytes(), "linearization", _linearization(lin, summaries)))
    return path


def _linearization(
    lin: RunDerivative, known: Mapping[EventLinearization, EventSummary] | None = None
) -> dict[str, Any]:
    events = list(dict.fromkeys(lin.events))
    summaries = [known[event] if known else summary(event) for event in events]
    matrices = [found.saltation for found in summaries]
    rows, columns = (max((m.shape[k] for m in matrices if m is not None), default=0) for k in (0, 1))
    stack = np.full((len(events), rows, columns), np.nan)
    for page, m in zip(stack, matrices, strict=True):
        if m is not None:
            page[: m.shape[0], : m.shape[1]] = m
    try:
        whole = lin.matrix()
    except NonDifferentiableError:
        end = lin.trajectory.arcs[-1]
        whole = np.full((space_of(end.system, end.mode, lin.trajectory.final_x).dim, lin.dim), np.nan)
    return {
        "matrix": (("end", "start"), whole, {"long_name": "D x(end) / D x(start)"}),
        "time": ("event", np.array([event.time for event in events], dtype=float), {"units": "s"}),
        "contacts": ("event", texts(", ".join(event.contacts) for event in events)),
        "saltation": (("event", "after", "before"), stack),
        "pieces": ("event", np.array([-1 if s.pieces is None else s.pieces for s in summaries], dtype=int)),
        "reason": ("event", texts(found.reason for found in summaries)),
    }


@dataclass(frozen=True, repr=False)
class EventSummary(Brief):
    """Derivative of an event as far as it exists.

    Attributes:
        saltation: its one matrix (n_post, n_pre), or None.
        pieces: number of its linear pieces, or None.
        reason: why there is no one matrix; empty where there is.
    """

    saltation: Array | None
    pieces: int | None
    reason: str = ""


def summary(event: EventLinearization) -> EventSummary:
    """The derivative of an event as far as it exists."""
    pieces = None
    try:
        pieces = len(event.pieces())
        return EventSummary(event.saltation, pieces)
    except NonDifferentiableError as error:
        return EventSummary(None, pieces, str(error))
