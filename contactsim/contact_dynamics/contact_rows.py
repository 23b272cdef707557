"""What the closed contacts of a mode have at a state: their rows, their forces, and which velocities are zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array
from ..contact.impact import ImpactSolution
from ..contact.modes import Mode, Phase, SystemMode
from ..multibody.mechanism import Terms
from .rigid_flow import RigidFlow

if TYPE_CHECKING:
    from .contact_system import ContactSystem


@dataclass(frozen=True)
class Impact:
    """An impact as it came out: the touching contacts, and the stages of it."""

    contacts: tuple[int, ...]
    solution: ImpactSolution


def closed_terms(
    system: ContactSystem, t: float, x: Array, contacts: tuple[int, ...], mode: SystemMode | None = None
) -> tuple[Terms, dict[int, slice]]:
    """Equations of motion with the rows of `contacts`, and where the rows of each lie; in the regions of a mode."""
    dims = system.mechanism.dims
    mechanism = system.mechanism if mode is None else system.mechanism.within(mode.regions)
    terms = mechanism.terms(t, system.q(x), system.v(x), contacts)
    starts = np.cumsum([0, *(dims[i] for i in contacts)])
    return terms, {i: slice(int(starts[k]), int(starts[k + 1])) for k, i in enumerate(contacts)}


def closed_forces(system: ContactSystem, t: float, x: Array, mode: SystemMode) -> dict[int, Array]:
    """{contact: force along its rows} of the closed contacts."""
    flow = RigidFlow(system, mode)
    flow.rebase(t, x)
    forces, start, result = flow.motion(t, x).forces, 0, {}
    for i in mode.closed:
        result[i] = forces[start : start + system.mechanism.dims[i]]
        start += system.mechanism.dims[i]
    return result


def resting_rows(system: ContactSystem, mode: SystemMode, where: Mapping[int, slice]) -> list[int]:
    """Rows of the closed contacts whose velocity is zero in a mode."""
    rows: list[int] = []
    for i in mode.closed:
        state = mode.contacts[i]
        resting = state.mode is Mode.STICK or state.phase is Phase.INCIPIENT
        part = range(where[i].start, where[i].stop)
        rows += list(part)[: 1 + system.tangent_rows(i)] if resting else [part.start]
    return rows
