"""The cloud of a landing: a ball of tilts and heights before several contacts touch at once, and what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arguments import POSITIVE, arguments, whole
from ..common.arrays import Array
from ..contact.modes import Mode
from ..derivatives.linearized_event import EventLinearization
from ..errors import InputError, NonDifferentiableError
from .spread import Spread, ball

if TYPE_CHECKING:
    from ..derivatives.run_derivative import RunDerivative

TILT = 0.02  # rad, m: radius of the ball
STARTS = 402  # points of the ball, of which each piece has some
BEFORE, AFTER = 0.02, 0.02  # how long before and behind the landing the cloud is followed [s]
LENGTH = 0.1  # of the longest displacement in a picture along each axis [m]
HEIGHT, ROLL, PITCH = 2, 3, 4  # of a free body, in tangent coordinates
SHOWN = (("roll rate", "rad/s", ROLL), ("pitch rate", "rad/s", PITCH), ("vertical speed", "m/s", HEIGHT))
COUNT = whole("a whole number of points, 12 or more", ge=12)


@arguments(radius=POSITIVE, count=COUNT)
def landing(lin: RunDerivative, radius: float = TILT, corrected: bool = True, count: int = STARTS) -> Spread:
    """A ball of tilts [rad] and heights [m] of a free body, carried through a landing on several contacts at once.

    It is the first of the run that has a derivative, and the ball is one of states shortly before it.
    Each order of the touch-downs has a linear piece: behind the event the ball is a body with creases. Along x, y and z
    a picture shows the rates of roll and pitch and the vertical speed that come of it, each on a scale of its own.

    Args:
        lin: the linearized run of a Robot whose root moves freely.
        radius: of the ball.
        corrected: False: what the resets alone would give, on the same scales.
        count: points of the ball.

    Raises:
        InputError: the root does not move freely, or the run has no event at which several contacts touch.
        NonDifferentiableError: the landing has no derivative.
    """
    system: Any = lin.trajectory.system
    model = getattr(getattr(system, "robot", None), "model", None)
    if model is None or model.njoints < 2 or model.joints[1].nq != 7:
        raise InputError("a landing is that of a Robot whose root moves freely; this one's does not")
    starts = ball(radius * np.eye(lin.dim)[[ROLL, PITCH, HEIGHT]], count)
    found = _first(lin, starts, True)
    scales = np.abs(found[2][-1]).max(axis=0)
    moments, places, offsets, orders = found if corrected else _first(lin, starts, False)
    per_metre = np.where(scales > 0.0, scales, 1.0) / LENGTH
    return Spread(
        name="with saltation" if corrected else "without",
        t=moments,
        centre=places,
        offsets=offsets / per_metre,
        faces=_faces(starts[:, [ROLL, PITCH, HEIGHT]]),
        ellipsoid=False,
        corrected=corrected,
        scale=1.0,
        shift=np.array([0.0, 0.0 if corrected else 3.0 * LENGTH, 2.5 * LENGTH]),
        orders=tuple(orders),
        axes=_told(per_metre) if corrected else (),
    )


def _told(per_metre: Array) -> tuple[str, ...]:
    sizes = [f"{0.1 * size:.3g} {unit}" for (_, unit, _), size in zip(SHOWN, per_metre, strict=True)]
    return tuple(f"{word}, 0.1 m = {size}" for (word, _, _), size in zip(SHOWN, sizes, strict=True))


def _lands(event: EventLinearization) -> bool:
    """True where several contacts close."""
    closing = [
        name
        for one in event.events
        for name, (before, after) in one.transitions.items()
        if before is Mode.OPEN is not after
    ]
    return len(set(closing)) > 1


def _first(lin: RunDerivative, starts: Array, corrected: bool) -> tuple[Array, Array, Array, list[Any]]:
    """The result of `_followed` for the first landing that has a derivative."""
    stretches, why = list(lin.stretches()), None
    for k, stretch in enumerate(stretches):
        event = stretch.piece
        if not isinstance(event, EventLinearization) or not _lands(event) or k in (0, len(stretches) - 1):
            continue
        try:
            return _followed(lin, stretches[k - 1], event, stretches[k + 1], starts, corrected)
        except NonDifferentiableError as error:
            why = why or error
    if why is not None:
        raise why
    raise InputError("no several contacts touch down at one instant in this run; lin.spread shows any other event")


def _followed(
    lin: RunDerivative, flight: Any, event: EventLinearization, stance: Any, starts: Array, corrected: bool
) -> tuple[Array, Array, Array, list[Any]]:
    """Times (N,), places (N, 3) of the root, rates (N, m, 3) from shortly before the event on, and orders of starts."""
    before, after = flight.piece, stance.piece
    begin, end = max(flight.t0, flight.t1 - BEFORE), min(stance.t1, stance.t0 + AFTER)
    system: Any = lin.trajectory.system
    rows = np.eye(lin.dim)[[system.nv + index for _, _, index in SHOWN]]
    variations, now = starts, begin
    moments, places, rates = [], [], []

    def note(t: float, arc: Any) -> None:
        moments.append(t)
        places.append(np.asarray(arc.system.state(arc(t)).q[:3], dtype=float))
        rates.append(variations @ rows.T)

    for piece, times in ((before, np.linspace(begin, flight.t1, 16)), (after, np.linspace(stance.t0, end, 16))):
        if piece is after:
            orders = event.orders(variations)
            if len(set(orders)) < 2:
                raise NonDifferentiableError(f"at t = {event.time:.9g} s all of the ball meets the ground in one order")
            variations = event.apply(variations) if corrected else variations @ event.reset.T
            now = stance.t0
        arc = lin.trajectory.arc_at((times[0] + times[-1]) / 2.0)
        for t in times.tolist():
            variations = variations @ piece.propagate(now, t, np.eye(piece.dim)).T if t > now else variations
            now = t
            note(t, arc)
    return np.array(moments), np.array(places), np.array(rates), orders


def _faces(points: Array) -> Array:
    """Triangles (k, 3) of the ball's surface."""
    from scipy.spatial import ConvexHull

    return np.array(ConvexHull(points).simplices)
