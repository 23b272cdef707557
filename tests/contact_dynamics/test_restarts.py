"""Runs that start in the middle of a motion, states put onto a mode, gaps by name, and arcs past their events."""

from __future__ import annotations

import numpy as np
import pytest
from builders import planar_mechanism, point_mass

import contactsim as cs

AS_IT_WAS = 1e-8  # of a run that goes on, each with rtol 1e-8
ON = 1e-11  # m, m/s: Tolerances.drift
EXTENDED = 1e-9  # m, m/s: of a parabola


@pytest.fixture(scope="module")
def walk() -> tuple[cs.ContactSystem, cs.Trajectory]:
    scene = cs.load_scene("biped")
    return scene.system, scene.simulate(0.8)


@pytest.mark.parametrize("by_name", [True, False])
def test_a_walk_goes_on_from_its_middle(walk, by_name: bool) -> None:
    system, run = walk
    mode = run.mode_at(0.5) if by_name else run.arc_at(0.5).mode
    after = cs.simulate(system, run(0.5), (0.5, 0.8), mode=mode)
    assert after.mode_at(0.5) == run.mode_at(0.5)
    assert [e.contacts for e in after.events] == [e.contacts for e in run.events]
    assert np.abs(after.final_x - run.final_x).max() < AS_IT_WAS


def test_a_simulation_starts_in_a_mode(walk) -> None:
    system, run = walk
    sim = cs.Simulation(system, run(0.5), 0.5, mode=run.mode_at(0.5))
    assert sim.mode == run.mode_at(0.5)


def test_a_state_is_projected_onto_a_mode(walk) -> None:
    system, run = walk
    off = cs.State(run(0.5).q + 1e-3, run(0.5).v + 0.1)
    with pytest.raises(cs.InputError, match=r"'left' is STICK .* give system.project"):
        cs.simulate(system, off, (0.5, 0.6), mode=run.mode_at(0.5))
    on = system.project(off, run.mode_at(0.5))
    assert abs(system.gaps(on)["left"]) < ON
    assert cs.simulate(system, on, (0.5, 0.51), mode=run.mode_at(0.5)).mode_at(0.5) == run.mode_at(0.5)
    again = system.project(on, run.mode_at(0.5))
    assert np.array_equal(again.q, on.q) and np.array_equal(again.v, on.v)
    assert system.project(off, {}).q.tolist() == off.q.tolist()


def test_the_projection_is_the_nearest_in_the_metric_of_the_masses() -> None:
    """A rod of mass 2 that stands on its end: dv = M^-1 C^T (C M^-1 C^T)^-1 (-C v), by hand."""
    system = cs.ContactSystem(planar_mechanism(2.0, 0.1, {"end": (0.3, 0.0)}, friction=0.5, restitution=0.0))
    state = system.project(cs.State([0.0, 0.2, 0.0], [0.3, -0.4, 1.0]), {"end": cs.Mode.STICK})
    at_rest = np.array([0.3, -0.4, 1.0])
    inverse = np.diag([0.5, 0.5, 10.0])
    rows = system.mechanism.terms(0.0, state.q, state.v, (0,)).rows
    expected = at_rest - inverse @ rows.T @ np.linalg.solve(rows @ inverse @ rows.T, rows @ at_rest)
    assert np.allclose(state.v, expected, atol=1e-12)
    assert abs(system.gaps(state)["end"]) < ON


def test_slips_and_modes_that_do_not_fit() -> None:
    system = cs.ContactSystem(point_mass(friction=0.3))
    name = system.mechanism.names[0]
    n = system.nv
    v = np.zeros(n)
    v[0] = 1.0
    state = cs.State(np.zeros(n), v)
    run = cs.simulate(system, state, (0.0, 0.2), mode={name: cs.Mode.SLIP})
    assert run.mode_at(0.1)[name] is cs.Mode.SLIP
    assert run.final.v[0] == pytest.approx(1.0 - 0.3 * 9.81 * 0.2, abs=1e-7)
    with pytest.raises(cs.InputError, match="STICK in the mode"):
        cs.simulate(system, state, (0.0, 0.2), mode={name: cs.Mode.STICK})
    with pytest.raises(cs.InputError, match="names the contact 'foot'"):
        cs.simulate(system, state, (0.0, 0.2), mode={"foot": cs.Mode.STICK})
    with pytest.raises(cs.InputError, match=r"give a cs\.Mode"):
        cs.simulate(system, state, (0.0, 0.2), mode={name: "stick"})
    with pytest.raises(cs.InputError, match="the mode is a str"):
        cs.simulate(system, state, (0.0, 0.2), mode="stick")
    with pytest.raises(cs.InputError, match=r"is Mode\.CLOSED; under this law it is STICK, SLIP or OPEN"):
        system.project(state, {name: cs.Mode.CLOSED})


def test_a_compliant_run_goes_on_from_its_middle() -> None:
    system = cs.ContactSystem(point_mass(friction=0.3), law="hunt-crossley")
    n = system.nv
    q = np.zeros(n)
    q[-1] = 0.01
    run = cs.simulate(system, cs.State(q, np.zeros(n)), (0.0, 0.1))
    half = run.events[0].time + 1e-4
    for mode in (run.mode_at(half), run.arc_at(half).mode):
        after = cs.simulate(system, run(half), (half, 0.1), mode=mode)
        assert np.abs(after.final_x - run.final_x).max() < 1e-6


def test_an_arc_goes_on_past_its_impact() -> None:
    system = cs.ContactSystem(planar_mechanism(1.0, 0.1, {"ball": (0.0, 0.0)}, friction=0.0, restitution=0.5))
    run = cs.simulate(system, cs.State([0.0, 1.0, 0.0], [0.2, 0.0, 0.0]), (0.0, 0.6))
    falling, rising = run.arcs[0].extended(after=0.1), run.arcs[1].extended(before=0.1)
    t = run.events[0].time + 0.1
    assert falling.t1 == pytest.approx(t) and falling.t0 == 0.0
    assert falling(t)[1] == pytest.approx(1.0 - 0.5 * 9.81 * t**2, abs=EXTENDED)
    begin = run.events[0].time - 0.1
    speed = rising(run.events[0].time)[4]
    assert rising(begin)[4] == pytest.approx(speed + 0.981, abs=EXTENDED)
    assert np.array_equal(rising(run.events[0].time), run.arcs[1](run.events[0].time))
    with pytest.raises(cs.InputError, match=r"after of Arc\.extended"):
        run.arcs[0].extended(after=-1.0)
