"""A run at many instants at once: states, modes, forces and frames as arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..common.arrays import Array
from ..common.representation import Brief
from ..errors import InputError
from .segments import Segment
from .system import HybridSystem


class Piece(Protocol):
    """What is read of an arc of a run."""

    @property
    def mode(self) -> Hashable:
        """The mode."""

    @property
    def system(self) -> HybridSystem:
        """The system of the piece."""

    @property
    def segments(self) -> tuple[Segment, ...]:
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
    width = max(len(x) for x in rows)
    return np.array([np.pad(x, (0, width - len(x)), constant_values=np.nan) for x in rows])


def _objects(values: Sequence[Any]) -> Array:
    """An array of objects of any kind, tuples among them."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
