"""A compliant law at single states: the states that are tried, and the law's answers there."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.integrate import solve_ivp

from ..common.arrays import Array
from ..contact.laws import CompliantLaw, CompliantPoint
from .domain import Domain
from .report import State

# The simplest value of each number comes first; lengths in m, speeds in m/s, times in s, angles in degrees.
DEPTHS = (-1e-6, -1e-5, -1e-4, -1e-3, -3e-3, -1e-2)
HEIGHTS = (0.0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1)
SPEEDS = (0.0, -1e-3, 1e-3, -1e-2, 1e-2, -0.1, 0.1, -1.0, 1.0)
SLIPS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 3.0)
ANGLES = (0.0, 90.0, 180.0, 270.0, 45.0, 30.0, 73.0, 137.0, 211.0, 299.0)
FRICTIONS = (0.5, 0.0, 0.8, 1.2)
LADDERS = {
    "gap": DEPTHS,
    "normal velocity": SPEEDS,
    "slip": SLIPS,
    "angle": ANGLES,
    "friction": FRICTIONS,
    "tangents": (2.0, 1.0, 0.0),
    "touching": (1.0, 2.0, 3.0, 4.0, 8.0),
}
STATIC = "static_friction"  # a point that tells the static coefficient is tried with it, too
if STATIC in CompliantPoint._fields:
    LADDERS["static over kinetic"] = (1.0, 1.5)
# Memory is what a history leaves of rest: a slip that has lasted for a time, with the gap held.
HISTORY = {
    "past slip": (0.0, 1e-4, 1e-3, 1e-2, 0.1, 1.0),
    "past angle": (0.0, 180.0, 90.0, 137.0),
    "past time": (1e-2, 1e-3, 0.1, 1.0),
}
PRESENT = ("normal velocity", "slip", "angle")  # what does not belong to the history
UNITS = {"gap": "m", "normal velocity": "m/s", "slip": "m/s", "angle": "deg", "past slip": "m/s", "past angle": "deg",
         "past time": "s", "depth": "m", "period": "s"}  # fmt: skip
MEMORY_RTOL, MEMORY_ATOL = 1e-8, 1e-12  # accuracy of histories
ANYTHING = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError)  # a law's own mistakes


class Probe:
    """A compliant law with the points and answers of the states of its domain."""

    def __init__(self, law: CompliantLaw) -> None:
        self.law = law
        self._memories: dict[tuple[float, ...], Array] = {}

    def domain(self, **changes: tuple[float, ...]) -> Domain:
        """The states of the law, with other values for some numbers; () leaves a number out."""
        ladders = LADDERS | (HISTORY if self.law.memory else {}) | changes
        return Domain({name: ladder for name, ladder in ladders.items() if ladder}, UNITS)

    def point(self, state: State, memory: Array | None = None) -> CompliantPoint:
        """A state as the law sees it: with a memory (memory,), or else with that of the state's history."""
        rows = int(state["tangents"])
        slip = state.get("slip", 0.0) * heading(state.get("angle", 0.0))
        velocity = np.concatenate(([state.get("normal velocity", 0.0)], slip[:rows]))
        empty = np.zeros(self.law.memory)
        static = {STATIC: self.bound(state)} if STATIC in CompliantPoint._fields else {}
        point = CompliantPoint(state["gap"], velocity, empty, state["friction"], int(state["touching"]), **static)
        if memory is None:
            memory = self._memory(state, point) if self.law.memory and "past slip" in state else empty
        return point._replace(memory=memory)

    def answer(self, state: State, memory: Array | None = None) -> tuple[Array, Array]:
        """Force and memory rate in a state, as plain arrays."""
        with np.errstate(all="ignore"):
            force, rate = self.law.force(self.point(state, memory))
        return np.asarray(force, dtype=float), np.asarray(rate, dtype=float)

    def force(self, state: State, memory: Array | None = None) -> Array:
        """Force (1 + d_t,) in a state; not a number where the law fails, which a property of its own reports."""
        size = 1 + int(state["tangents"])
        try:
            force = self.answer(state, memory)[0]
        except ANYTHING:
            return np.full(size, np.nan)
        return force if force.shape == (size,) else np.full(size, np.nan)

    def count(self, states: int) -> int:
        """Number of random states that are tried: fewer where each one has a history."""
        return states // 6 if self.law.memory else states

    def bound(self, state: State) -> float:
        """Largest ratio of tangential and normal force: the static coefficient, where the point tells it."""
        return state["friction"] * state.get("static over kinetic", 1.0)

    def margin(self, state: State) -> float:
        """Guard that releases the contact at zero: the law's own margin, or its normal force."""
        given = getattr(self.law, "margin", lambda point: None)(self.point(state))
        return float(self.force(state)[0]) if given is None else float(given)

    def acts(self, force: Array) -> bool:
        """True where the engine lets a force act: a law that may not pull is released where it would."""
        return bool(np.isfinite(force).all()) and (self.law.pulls or force[0] >= 0.0)

    @cached_property
    def scale(self) -> float:
        """Largest normal force among the states [N]: what forces are small against."""
        forces = [abs(float(self.force(state)[0])) for state in self.domain().states(50)]
        return max((force for force in forces if np.isfinite(force)), default=0.0) or 1.0

    def _memory(self, state: State, point: CompliantPoint) -> Array:
        """Memory (memory,) that the history of a state has left."""
        key = tuple(value for name, value in state.items() if name not in PRESENT)
        if key not in self._memories:
            slip = state["past slip"] * heading(state["past angle"])
            velocity = np.concatenate(([0.0], slip))[: len(point.velocity)]
            past = remember(self.law, point._replace(velocity=velocity), state["past time"])
            self._memories[key] = past[0]
        return self._memories[key]


def remember(law: CompliantLaw, point: CompliantPoint, time: float, work: float = 0.0) -> tuple[Array, float, float]:
    """Memory (memory,) after a motion that is held for a time [s], the work of friction, and the most it was [J]."""

    def rate(t: float, values: Array) -> Array:
        with np.errstate(all="ignore"):
            force, change = law.force(point._replace(memory=values[:-1]))
        return np.append(change, float(np.asarray(force)[1:] @ point.velocity[1:]))

    start = np.append(point.memory, work)
    done = solve_ivp(rate, (0.0, time), start, method="LSODA", rtol=MEMORY_RTOL, atol=MEMORY_ATOL)
    return done.y[:-1, -1], float(done.y[-1, -1]), float(done.y[-1].max())


def heading(angle: float) -> Array:
    """Unit vector (2,) of an angle [deg], exact for quarter turns."""
    quarters = {0.0: (1.0, 0.0), 90.0: (0.0, 1.0), 180.0: (-1.0, 0.0), 270.0: (0.0, -1.0)}
    return np.array(quarters.get(angle) or (np.cos(np.radians(angle)), np.sin(np.radians(angle))))
