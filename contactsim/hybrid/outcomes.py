"""How runs end, and what to do about it; and why no step leads on from a state, before a cause is named."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array
from ..errors import SimulationError
from .flow import Flow
from .manifold import Manifold
from .zero import JUMP, JUST_AHEAD, SMALL_CHANGE, STEADY_SHARE, SUDDEN

if TYPE_CHECKING:
    from .segments import Segment
    from .system import HybridSystem

STEEPEST_GAIN = 1e5  # change of a force by that of state and time, in units of SI, up to which it may be smooth
LOOKS = tuple(10.0**k for k in range(-14, -2))  # s ahead


class Status(Enum):
    """How a run ended, and what to do about it."""

    INTERRUPTED = "The run was interrupted; what was computed before is kept."
    RUNNING = "The run has not reached its end; call advance() to go on."
    FINISHED = "The run reached its final time."
    TOO_MANY_EVENTS = (
        "The run stopped at its largest number of events; raise max_events, or look for bounces that accumulate."
    )
    STEP_TOO_SMALL = "The run stopped where no step meets its tolerance; the message says what the field does there."
    NO_ADMISSIBLE_MODE = (
        "The run stopped where no contact mode satisfies the contact law; the message says what was looked at, and what"
        " there is to do."
    )
    EVENTS_WITHOUT_END = (
        "The run stopped where events follow each other without end; change the start, or what happens at the event."
    )
    ACCUMULATION = (
        "The run stopped where infinitely many bounces come to their end, as asked; say accumulation='pass' to go on."
    )
    INVALID_STATE = (
        "The run stopped where its state does not belong to its chart; change the start or the parameters of the model."
    )
    FAILED = "The run stopped on an error; its text is in the message, and what was computed before is kept."

    @property
    def complete(self) -> bool:
        """True where the run reached the time it was asked for."""
        return self is Status.FINISHED


def why_no_step(begin: str, flow: Flow, space: Manifold, t: float, x: Array) -> str:
    """The sentence, so begun, on a state at which the integrator finds no step, or none that leads on.

    Ahead of it, along the field: what keeps its size however short the way, jumps; what changes in proportion to the
    way, by more than itself in next to no time, grows without bound or is stiff, by whether the field becomes larger.
    """
    here = _look(flow, t, x)
    if here is None:
        return f"{begin}: the field is not finite there; let it be so, or start elsewhere"
    shortest = 16.0 * float(np.spacing(abs(t)))
    ahead = [(h, _look(flow, t + h, space.integrate(x, h * here[0]))) for h in LOOKS if h >= shortest]
    seen = [(h, look) for h, look in ahead if look is not None]
    if not seen:
        return f"{begin}: the field is not finite just behind"
    for what, k in (("field", 0), ("guard", 1)):
        if jump := _jump([(h, _change(look[k], here[k])) for h, look in seen]):
            return f"{begin}: a {what} jumps there by {jump:.2g} of its size; what it jumps at has to be an event"
    h, look = next((far for far in reversed(seen) if _change(far[1][0], here[0]) <= SMALL_CHANGE), seen[0])
    rate = _change(look[0], here[0]) / h
    if float(np.linalg.norm(look[0])) > float(np.linalg.norm(here[0])):
        return f"{begin}: the field grows at {rate:.2g} 1/s there, as before a singularity of the motion"
    return f"{begin}: the field changes at {rate:.2g} 1/s there; where that is stiff, integrator='Radau9' leads on"


def _look(flow: Flow, t: float, x: Array) -> tuple[Array, Array] | None:
    """Field and guards at a state; None where there are none, or not finite ones."""
    try:
        field = np.array(flow.field(t, x.copy()), dtype=float)
        guards = np.asarray(flow.guards(t, x.copy()), dtype=float)
    except (SimulationError, np.linalg.LinAlgError):
        return None
    return (field, guards) if np.isfinite(field).all() else None


def _jump(changes: Sequence[tuple[float, float]]) -> float:
    """The change by which it jumps, of changes within times (each ten times the one before); zero: by none.

    At once, or just ahead: suddenly, where it had hardly changed; and then it keeps its size.
    """
    before = 0.0
    for k, (h, change) in enumerate(changes):
        sudden = change > JUMP and before <= SUDDEN * change and (k == 0 or h <= JUST_AHEAD)
        if sudden and change > STEADY_SHARE * changes[min(k + 3, len(changes) - 1)][1]:
            return change
        before = change
    return 0.0


def _change(there: Array, here: Array) -> float:
    """Largest change relative to the largest value."""
    size = max(float(np.abs(here).max(initial=0.0)), float(np.abs(there).max(initial=0.0)))
    return float(np.abs(there - here).max(initial=0.0)) / size if 0.0 < size < np.inf else 0.0


def jumps(system: HybridSystem, steps: Sequence[Segment]) -> str:
    """The sentence on a user's function whose forces jump from step to step; empty where it may be smooth.

    Of a smooth one forces change by no more than some gain times the change of state and time.
    """
    times, states = [step.t1 for step in steps], [step(step.t1) for step in steps]
    forces = [system.applied_force(t, x) for t, x in zip(times, states, strict=True)]
    if any(force is None for force in forces):
        return ""
    apart = np.abs(np.diff(np.array(forces, dtype=float), axis=0)).max(axis=1)
    way = np.diff(times) + np.abs(np.diff(states, axis=0)).max(axis=1)
    k = int(np.argmax(apart / way))
    if not apart[k] > STEEPEST_GAIN * way[k]:
        return ""
    return (
        f"the controller jumps: by {apart[k]:.3g} within {times[k + 1] - times[k]:.2g} s at t = {times[k]:.9g} s, and"
        f" {len(steps)} steps led only {times[-1] - times[0]:.2g} s on; let it be smooth, or hold its torques by"
        " cs.Sampled(function, period, nv)"
    )
