"""What flows of rigid and of compliant laws share: gaps with known bounds, and steps that keep them in sight."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..common.arrays import Array
from ..hybrid.flow import Finding, Flow, GuardBounds, Path
from ..multibody.mechanism import ContactMechanism, GapBounds, JointPath
from .world import World

if TYPE_CHECKING:
    from .engines import CompiledArc

ROOM = 4.0  # times the way of bodies in a step within which contacts are looked at one by one from there on


class ContactFlow(Flow):
    """A flow of a world; it is never changed: `rebased` gives the one that goes on.

    Args:
        world: what moves.
        mechanism: its mechanism in the mode of the flow.
        guards: places of the guards that are gaps.
        contacts: contacts whose gaps they are.
    """

    def __init__(self, world: World, mechanism: ContactMechanism, guards: Array, contacts: Array) -> None:
        self._gap_guards = guards
        self._asked: list[Callable[[JointPath], GapBounds] | None] = []  # bounds, for all that are rebased from it
        self._bounds_of = mechanism.gap_bounds, contacts
        self.bounded_steps = world.mechanism.bounded_steps
        self.forcing = world.driving.acting if world.driving.is_forced else None
        self._world = world

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and saved: without bounds of gaps, which are functions, to be made anew."""
        return {**self.__dict__, "_asked": []}

    @property
    def compiled_arc(self) -> CompiledArc | None:
        """Its arc by a compiled engine, without guards; None: it is Python's."""
        return None

    @property
    def slip_directions(self) -> Array:
        """What it remembers of slips (contacts of its arc, 2)."""
        return np.zeros((0, 2))

    @property
    def _bounds(self) -> Callable[[JointPath], GapBounds] | None:
        """Bounds of the gaps, made when they are first asked for."""
        if not self._asked:
            made, contacts = self._bounds_of
            self._asked.append(made(contacts) if len(contacts) else None)
        return self._asked[0]

    @property
    def bounded_guards(self) -> bool:  # type: ignore[override]
        """Whether the gaps have bounds."""
        return self._bounds is not None

    def guard_bounds(self, path: Path) -> GuardBounds:
        """Bounds of the gaps; of forces, margins and slips nothing is known beforehand."""
        bounds, world = self._bounds, self._world
        assert bounds is not None
        along = JointPath.of(path, world.q(path.start), world.v(path.start))
        return bounds(along).of_guards(self._gap_guards)

    def widened(self, path: Path, way: float) -> tuple[Self, float]:  # type: ignore[override]
        """Contacts that are left out join where bodies may have come closer than they were at least."""
        world = self._world
        along = JointPath.of(path, world.q(path.start), world.v(path.start))
        step = world.mechanism.approach(along)
        if way + step < self.clearance:
            return self, way + step
        if ROOM * step <= world.mechanism.vicinity:
            return self._watching(path.t, path.start, ROOM * step), step
        # Bodies that move far may all move alike: those that meet are looked for, at this step and at the next one.
        return self._meeting(path, *world.mechanism.meeting(along, lambda t: world.q(path.at(t)))), math.inf

    def _meeting(self, path: Path, contacts: Array, ways: Array) -> Self:
        """With the gaps of those of some contacts that may close along a path, on which they fall by no more [m]."""
        return self

    def _watching(self, t: float, x: Array, clearance: float) -> Self:
        """With the gaps of all contacts that are within that distance at a state [m]."""
        return self

    def validate(self, t: float, x: Array) -> Sequence[Finding]:
        """Notes that the controller applies forces where the robot has no actuator, such as to a floating base."""
        world = self._world
        return [
            Finding(
                f"the controller {world.controller!r} applies forces to joint '{name}' of robot '{world.robot.name}',"
                f" which has no actuator: they act on it as forces from outside; leave rows {rows[0]} to {rows[-1]} of"
                " tau at zero where motors alone are meant, and push bodies by Simulation.push"
            )
            for name, rows in world.driving.forced_from_outside(t, x)
        ]

    def longest_step(self, t: float, x: Array) -> float:
        """The time in which nothing turns by more than about a radian: a spinning tip must not dip unseen."""
        return self._world.mechanism.longest_step(self._world.v(x))

    def rebase(self, t: float, x: Array) -> None:
        """`rebased` in place, for those who hold on to one flow."""
        self.__dict__.update(self.rebased(t, x).__dict__)

    def changed(self, **attributes: object) -> Self:
        """A copy with other attributes."""
        flow = object.__new__(type(self))
        flow.__dict__.update(self.__dict__)
        flow.__dict__.update(attributes)
        return flow
