"""What the closed contacts of a mode have at a state: their rows, their forces, and which velocities are zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..common.arrays import Array
from ..contact.impact import ImpactSolution
from ..contact.modes import Mode, Phase, SystemMode
from ..multibody.mechanism import Terms
from .rigid_arc import prepare
from .rigid_flow import RigidFlow
from .world import World


@dataclass(frozen=True)
class Impact:
    """An impact as it came out: the touching contacts, and the stages of it."""

    contacts: tuple[int, ...]
    solution: ImpactSolution


def closed_terms(
    world: World, t: float, x: Array, contacts: tuple[int, ...], mode: SystemMode | None = None
) -> tuple[Terms, dict[int, slice]]:
    """Equations of motion with the rows of `contacts`, and where the rows of each lie; in the regions of a mode."""
    dims = world.mechanism.dims
    mechanism = world.mechanism if mode is None else world.mechanism.within(mode.regions)
    terms = mechanism.terms(t, world.q(x), world.v(x), contacts)
    starts = np.cumsum([0, *(dims[i] for i in contacts)])
    return terms, {i: slice(int(starts[k]), int(starts[k + 1])) for k, i in enumerate(contacts)}


def closed_forces(world: World, t: float, x: Array, mode: SystemMode) -> dict[int, Array]:
    """{contact: force along its rows} of the closed contacts, at a state that is looked at alone."""
    flow = RigidFlow(prepare(world, mode)).rebased(t, x)
    arc, forces = flow.arc, flow.motion(t, x).forces
    return {i: forces[arc.normal[i] : arc.tangent[i].stop] for i in arc.closed}


def resting_rows(world: World, mode: SystemMode, where: Mapping[int, slice]) -> list[int]:
    """Rows of the closed contacts whose velocity is zero in a mode."""
    rows: list[int] = []
    for i in mode.closed:
        state = mode.contacts[i]
        resting = state.mode is Mode.STICK or state.phase is Phase.INCIPIENT
        part = range(where[i].start, where[i].stop)
        rows += list(part)[: 1 + world.tangent_rows[i]] if resting else [part.start]
    return rows
