"""The accuracy of a run, which a user may set: what counts as zero, by kind and unit; the rest of it is in `zero`."""

from __future__ import annotations

from ..common.arguments import LENGTH_OF_TIME, POSITIVE, arguments, instance, number
from ..common.lazy import dataclass

LARGEST = 1e-2  # relative error of a step, above which no digit of a run is right
LEAST = 2.5e-13  # relative error of a step, a tenth of which is a hundred roundings: none is more exact
KINDS = {
    "max_step": LENGTH_OF_TIME,
    "rtol": number(f"a number from {LEAST}, below which double precision rounds, to {LARGEST}", ge=LEAST, le=LARGEST),
}


@arguments()
@dataclass(frozen=True)
class Tolerances:
    """Accuracy of a run.

    The error of an integration step is measured in tangent coordinates around the state from which the present
    chart was started, so it does not depend on where the origin of the world lies.

    Attributes:
        rtol: relative error of a step, dimensionless, from 2.5e-13 to 1e-2.
        atol: absolute error of a step, in the unit of each component.
        event_time: how exactly the times of events are met; those within ten of it are one event [s].
        rearm: a guard counts as positive again once it is above this many of its units (rounding of a guard).
        jump: a guard that starts a flow further below zero than this many of its units has jumped there.
        gap: contacts closer than this may touch, if they reach the ground at the same instant [m].
        start_depth: contacts may start (or open) this deep inside the ground [m]; deeper is an error.
        speed: relative speeds below this are zero [m/s].
        hop: a contact that would leave the ground for less than this height stays on it [m]; the time at which its
            bounces end is found as if the configuration stood still until then. A small pull stops the hop, and
            what slips rubs under it; positions miss some ten times the height, velocities what accelerations change
            within such a hop, the ends of bounces that disturb each other some tens of such hops' time.
        force: rounding of a contact force, relative to the largest of its mode: what force guards may miss.
        slip_speed: below this speed a slip direction in space is held while the contact stops, and below twice that it
            is the direction of the slip acceleration while the contact starts to slip [m/s]; what the slip velocity
            misses by that goes with its square.
        drift: a state further from its constraints than this is projected back [m, m/s].
        max_step: longest integration step [s].
        min_step: shortest integration step, relative to the time or, near zero, to one second.
    """

    rtol: float = 1e-8
    atol: float = 1e-10
    event_time: float = 1e-12
    rearm: float = 1e-15
    jump: float = 1e-9
    gap: float = 1e-11
    start_depth: float = 1e-9
    speed: float = 1e-10
    hop: float = 1e-13
    force: float = 1e-9
    slip_speed: float = 1e-6
    drift: float = 1e-11
    max_step: float = float("inf")
    min_step: float = 1e-15

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            object.__setattr__(self, name, KINDS.get(name, POSITIVE).check(f"tolerance '{name}'", value))


TOLERANCES = instance(
    Tolerances,
    "cs.Tolerances(rtol=..., atol=...)",
    inside={name: f"cs.Tolerances({name}=...)" for name in Tolerances.__annotations__},
)
