"""Guards that dip close to zero, or reach it where a step ends at a bound, are looked at on true steps in C++."""

from __future__ import annotations

import landings
import mixed_shapes
import numpy as np
import pytest

import contactsim as cs
from contactsim.contact_dynamics.rigid_arc import prepare
from contactsim.hybrid.event_location import Watch

pytest.importorskip("contactsim_native._native")  # its sources alone are no package

SPAN = 0.0556  # s, in which feet of a hexapod rattle, and low hops come to their end


def test_events_of_a_rattle_are_located_without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    locate = Watch.pass_step

    def passed(self: Watch, *of: object) -> object:
        looked_at.append(self)
        return locate(self, *of)  # type: ignore[arg-type]

    case = landings.landing("hexapod", 0)
    python = cs.simulate(case.system.on_engine("python"), case.start, (0.0, SPAN))
    monkeypatch.setattr(Watch, "pass_step", passed)
    compiled = cs.simulate(case.system.on_engine("native"), case.start, (0.0, SPAN))
    assert not looked_at
    assert [event.fired for event in compiled.all_events] == [event.fired for event in python.all_events]
    times = ([event.time for event in run.all_events] for run in (compiled, python))
    assert np.abs(np.subtract(*times)).max() < 1e-9
    difference = case.system.space().difference(compiled.final_x, python.final_x)
    assert np.abs(difference[: case.system.robot.nv]).max() < 1e-9


@pytest.mark.parametrize("name", ["hexapod", "solo12"])
def test_contact_velocities_are_those_of_python(name: str) -> None:
    case = landings.landing(name, 1)
    run = cs.simulate(case.system.on_engine("native"), case.start, (0.0, 0.1))
    compared = 0
    for arc in run.arcs:
        prepared = prepare(case.system.on_engine("native").world, arc.mode)
        python = prepare(case.system.on_engine("python").world, arc.mode)
        if not arc.mode.closed:
            continue
        x = arc.segments[0](arc.t0)
        assert prepared.compiled is not None and prepared.compiled.slips(arc.t0, x) is not None
        np.testing.assert_allclose(prepared.velocities(arc.t0, x), python.velocities(arc.t0, x), rtol=0, atol=1e-14)
        compared += 1
    assert compared > 5


def test_an_edge_that_crosses_another_one_briefly_is_met() -> None:
    """Scene 27 of the mixed shapes: a hull slides off one edge of its onto the next, late in a long step."""
    system, state, _ = mixed_shapes.scene(27)
    run = cs.simulate(system.on_engine("native"), state, (0.0, mixed_shapes.TIME))
    assert run.status.complete, run.message
    run.check()
    assert mixed_shapes.deepest(run) <= mixed_shapes.DEEPEST
