"""How much longer than a run does its derivative take?

`cs.linearize(run).matrix()` against the `cs.simulate` that it belongs to, with the default tolerances of both: solo12
for 2 s under joint PD from its drop, half a second of it on its feet and landing, the demonstration of the hexapod, and
a ball that bounces, slides and rolls. solo12 is dropped with a tilt, so that its feet land one after the other, and
flat: there all 24 orders are followed, to find that they end apart. Where a run has no matrix, those of the pieces
between such events are taken, so that the time is that of all arcs and events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from common import fastest, line
from rolling_sphere import ball
from run import END, scene, simulate

import contactsim as cs
from contactsim.io.scene import assemble, build

ROUNDS = 3
TILT = np.array([0.02, -0.03, 0.0])  # of the body about its own axes [rad]
SHORT = 0.5  # [s]
Case = tuple[str, Callable[[], cs.Trajectory], float]


def derivative(trajectory: cs.Trajectory) -> np.ndarray:
    """The matrix of a run, piece by piece between the events that have none."""
    lin = cs.linearize(trajectory)
    cuts = [event.time for event in lin.all_events if not event.differentiable]
    edges = [lin.t0, *dict.fromkeys(cuts), lin.t1]
    matrix = np.eye(lin.dim)
    for start, end in pairwise(edges):
        until = end if end == lin.t1 else float(np.nextafter(end, start))
        matrix = lin.matrix(start, until) @ matrix
    return matrix


def rolling(end: float = 2.0) -> cs.Trajectory:
    """A ball of 0.1 m that falls with spin, lands, slides and rolls."""
    start = cs.State([0, 0, 0.3, 0, 0, 0, 1], [4.0, 0.5, 0, 0, 3.0, 1.0])
    return cs.simulate(ball(0.1), start, (0.0, end))


def cases() -> Iterator[Case]:
    """Name and run of each case."""
    for name, point_feet, tilt in (
        ("solo12, feet round, tilted", False, TILT),
        ("solo12, feet points, tilted", True, TILT),
        ("solo12, feet round, flat", False, np.zeros(3)),
    ):
        system, start = scene(point_feet)
        start = cs.State(system.mechanism.space.integrate(start.q, np.r_[0, 0, 0, tilt, np.zeros(12)]), start.v)
        yield f"{name}, {END:g} s", lambda system=system, start=start: simulate(system, start), 3.0  # type: ignore[misc]
    yield from short()
    built = build(assemble({"robot": {"name": "hexapod"}}))
    yield "hexapod, its demonstration", lambda: cs.simulate(built.system, built.state, built.span, **built.options), 3.0
    yield "ball that lands, slides and rolls", rolling, 3.0


def short() -> Iterator[Case]:
    """Half a second of solo12 on its feet, and of its landing with a tilt."""
    system, start = scene(False)
    end = simulate(system, start)
    last = end.arcs[-1]
    yield (
        f"solo12 stands, {SHORT:g} s",
        lambda: cs.simulate(system, end.final, (0.0, SHORT), mode=last.mode),
        1.0,
    )
    tilted = cs.State(system.mechanism.space.integrate(start.q, np.r_[0, 0, 0, TILT, np.zeros(12)]), start.v)
    yield f"solo12 lands with a tilt, {SHORT:g} s", lambda: cs.simulate(system, tilted, (0.0, SHORT)), 1.0


def main() -> None:
    """One line for each run."""
    for name, run, target in cases():
        trajectory = run()
        assert trajectory.status.complete, trajectory.message
        one, other = fastest([run, lambda trajectory=trajectory: derivative(trajectory)], ROUNDS)
        measured = f"{1e3 * other:.0f} / {1e3 * one:.0f} ms, {len(trajectory.all_events)} events"
        line(f"derivative of a run / the run: {name}", measured, other / one, target)


if __name__ == "__main__":
    main()
