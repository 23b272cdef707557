"""Slips in space that come to their stop, followed in an expansion of the equations of motion."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from landings import landing

import contactsim as cs
from contactsim.contact_dynamics.expanded_arc import Expansion, expanded
from contactsim.contact_dynamics.rigid_flow import RigidFlow
from contactsim.hybrid import stepper

Array = np.ndarray
SPAN = 0.1  # s
SHORT, LONG = 1e-7, 4e-6  # s, of ways to a stop
TIGHT = cs.Tolerances(rtol=1e-11, atol=1e-13)


@cache
def touching_down() -> cs.Trajectory:
    """go2 lands askew: its feet slide and stop."""
    case = landing("go2", 0)
    return cs.simulate(case.system, case.start, (0.0, SPAN), engine="python")


def stops() -> Iterator[tuple[cs.Arc, list[tuple[float, Array, float]]]]:
    """Arcs that end in the stop of a slip, and times and states in their last LONG, with what is left then [s]."""
    for arc in touching_down().arcs:
        if arc.event is None or not any(name[0] == "slow" for name in arc.event.fired if isinstance(name, tuple)):
            continue
        ahead = [(step.t0, step(step.t0), arc.event.time - step.t0) for step in arc.segments]
        if len(ahead := [look for look in ahead if SHORT < look[2] < LONG]) > 3:
            yield arc, ahead


def flow_of(arc: cs.Arc, t: float, x: Array) -> RigidFlow:
    flow = arc.system.flow(arc.mode).rebased(t, x)
    assert isinstance(flow, RigidFlow)
    return flow


def tried(flow: RigidFlow, t: float, x: Array, duration: float, accuracy: float) -> Expansion | None:
    return expanded(flow.arc, t, x, flow.references, flow.motion(t, x), duration, accuracy)


def test_what_an_expansion_misses_goes_with_the_square_of_its_duration() -> None:
    """That of accelerations, and so that of velocities with its cube: looked at where a slip is about to stop.

    Where it has all but stopped its direction is off by what the slip misses over what is left of it.
    """
    slopes = []
    for arc, ahead in stops():
        *before, (last, there, _) = ahead
        truth, v = flow_of(arc, last, there).motion(last, there), arc.system.state(there).v
        missed = []
        for t, x, left in before:
            found = tried(flow_of(arc, t, x), t, x, left, 1.0)
            assert found is not None
            own = found.at(last, v, flow_of(arc, last, there).references)
            missed.append(np.abs(own.acceleration - truth.acceleration).max())
            np.testing.assert_allclose(own.rates, truth.rates, atol=1e-9)
            np.testing.assert_allclose(own.forces, truth.forces, atol=1e-3 * np.abs(truth.forces).max())
            assert own.regularity is not None and truth.regularity is not None
            assert own.regularity() == pytest.approx(truth.regularity(), rel=1e-3)
        slopes.append(np.polyfit(np.log([left for *_, left in before]), np.log(missed), 1)[0])
    assert len(slopes) >= 3 and min(slopes) > 1.7


def test_it_is_refused_where_it_would_miss_more_than_it_may() -> None:
    arc, ((t, x, left), *_) = next(stops())
    flow = flow_of(arc, t, x)
    assert tried(flow, t, x, 1e3 * left, 1e-11) is None
    assert tried(flow, t, x, 0.02 * left, 1e-11) is not None


def test_it_is_let_go_where_a_step_begins_at_which_forces_are_others() -> None:
    """A function of the user's may change while it holds."""
    case = landing("go2", 0)
    pull = [0.0]

    def control(t: float, q: Array, v: Array) -> Array:
        return np.append(np.zeros(len(v) - 1), pull[0]) - 2.0 * v

    pulled = cs.ContactSystem(case.system.robot, controller=control).on_engine("python")
    arc, ((t, x, left), *_) = next(stops())
    flow = pulled.flow(arc.mode).rebased(t, x).nearing(t, x, 0.02 * left, 1e-11)
    assert flow.is_expanded and flow.spent > 4
    later, there = t + 0.01 * left, pulled.space().integrate(x, 0.01 * left * flow.field(t, x))
    assert flow.rebased(later, there).is_expanded
    pull[0] = 0.1
    assert not flow.rebased(later, there).is_expanded


def test_runs_are_as_exact_in_fewer_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    case = landing("go2", 0)
    fine = cs.simulate(case.system, case.start, (0.0, SPAN), tolerances=TIGHT, engine="python")
    with monkeypatch.context() as patch:
        patch.setattr(stepper, "EXPANDED", 0.0)
        plain = cs.simulate(case.system, case.start, (0.0, SPAN), engine="python")
    run = touching_down()
    assert run.evaluations < 0.85 * plain.evaluations
    assert [event.fired for event in run.all_events] == [event.fired for event in plain.all_events]
    ends = [np.abs(case.system.space().difference(fine.final_x, other.final_x)).max() for other in (run, plain)]
    assert ends[0] < 2.0 * ends[1] + 1e-9


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_where_many_slip_it_would_cost_more_than_it_saves(count: int) -> None:
    """A look for each coordinate of a slip: balls that slide by themselves are expanded where they are up to two."""
    parts = [cs.Robot.sphere(1.0, 0.1, friction=0.3, name=f"ball{k}") for k in range(count)]
    system = cs.ContactSystem(cs.Robot.merge(parts))
    turn = np.array([0.0, 0.0, 0.0, 1.0])
    q = np.concatenate([[0.5 * k, 0.0, 0.1, *turn] for k in range(count)])
    v = np.concatenate([[1e-4 * (k + 1), 1e-4, 0.0, 0.0, 0.0, 0.0] for k in range(count)])
    arc = cs.simulate(system, cs.State(q, v), (0.0, 1e-5), engine="python").arcs[-1]
    flow, x = flow_of(arc, arc.t0, arc(arc.t0)), arc(arc.t0)
    assert len(flow.arc.slips) == count
    assert flow.nearing is not None
    assert flow.nearing(arc.t0, x, 1e-6, 1e-9).is_expanded == (count <= 2)
