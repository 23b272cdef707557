"""What the compiled engine tells at once of a state at which guards are met; skipped where it is not installed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from landings import landing

import contactsim as cs
from contactsim.hybrid.differences import derivative
from contactsim.hybrid.flow import Flow, Met
from contactsim.hybrid.system import CLOCK

pytest.importorskip("contactsim_native._native")

SAME = 1e-10  # relative to the largest number
BY_TIME = 1e-6  # of differences by time, relative to the rate of the guard along the motion


def runs(name: str) -> cs.Trajectory:
    """Landings, and a walk in the plane."""
    if name == "biped":
        scene = cs.load_scene(name)
        return cs.simulate(scene.system, scene.state, (0.0, 1.0), engine="native", **scene.options)
    if name == "hills":
        scene = cs.load_scene("hexapod", ("terrain.kind=sinusoid", "terrain.a1=0.02", "terrain.a2=6", "terrain.a3=4"))
        q = scene.state.q.copy()
        for _ in range(6):
            q[2] -= scene.system.mechanism.gaps(0.0, q)[: len(scene.system.robot.contacts)].min()
        start = cs.State(q, scene.state.v)
        return cs.simulate(scene.system, start, (0.0, 0.1), engine="native", **scene.options)
    return landing(name, 1).run()


def meetings(run: cs.Trajectory) -> Iterator[tuple[Any, Any, Flow, Met | None]]:
    """Of each event its record, each guard that fired, the flow there, and what is told of it at once."""
    for event in run.all_events:
        for name in event.fired - {CLOCK}:
            flow = event.system.flow(event.mode_pre)
            met = flow.met(event.time, event.x_pre, name) if flow.met is not None else None
            yield event, name, flow.rebased(event.time, event.x_pre), met


def demand_same(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=SAME * max(1.0, float(np.abs(wanted).max(initial=0.0))))


# The biped's controller is called back: of its forces no derivative is known.
@pytest.mark.parametrize(
    ("name", "known"), [("hexapod", 0.9), ("solo12", 0.9), ("a1", 0.9), ("biped", 0.3), ("hills", 0.9)]
)
def test_what_is_told_at_once_is_what_the_flow_tells_part_by_part(name: str, known: float) -> None:
    told = rows = asked = 0
    for event, guard, flow, met in meetings(runs(name)):
        asked += 1
        if met is None:
            continue
        t, x, told = event.time, event.x_pre, told + 1
        assert flow.guard_rounding is not None and flow.guard_bands is not None
        demand_same(met.field, flow.field(t, x))
        demand_same(met.values, flow.guards(t, x))
        rounding, bands = met.accuracy()
        np.testing.assert_allclose(rounding, flow.guard_rounding, rtol=SAME)
        np.testing.assert_allclose(bands, flow.guard_bands, rtol=SAME)
        row = flow.guard_jacobian(t, x, (guard,))
        if met.row is not None:
            assert row is not None
            demand_same(met.row, row[0])
            rows += 1
        if met.by_time is not None:
            k = flow.guard_names.index(guard)
            slope = derivative(lambda h: flow.guards(t + h, x)[k : k + 1], 1e-5)[0]  # noqa: B023
            assert met.by_time == 0.0 and abs(slope) <= BY_TIME * max(1.0, float(np.abs(met.field).max()))
    assert told >= 0.7 * asked > 0 and rows >= known * told


def test_the_other_side_of_an_event_is_told_likewise() -> None:
    for event in landing("solo12", 0).run().all_events:
        flow = event.system.flow(event.mode_post)
        met = None if flow.met is None else flow.met(event.time, event.x_post, None)
        if met is not None:
            demand_same(met.field, flow.rebased(event.time, event.x_post).field(event.time, event.x_post))
            assert met.row is None and met.by_time is None


def test_slips_that_begin_and_redundant_contacts_are_left_to_python() -> None:
    run = landing("hexapod", 1).run()
    left = [event for event in run.all_events if event.system.flow(event.mode_post).arc.incipient]
    assert left
    for event in left:
        assert event.system.flow(event.mode_post).met(event.time, event.x_post, None) is None
