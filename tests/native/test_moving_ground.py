"""Planes that oscillate as a whole, in C++ against Python; skipped where the compiled engine is not installed."""

import numpy as np
import pytest

import contactsim as cs
from contactsim.hybrid.stepper import Stepper
from contactsim.multibody.terrain import Terrain

from .compared_events import compared

pytest.importorskip("contactsim_native._native")  # its sources alone are no package

TIGHT = cs.Tolerances(1e-10, 1e-12)
RUN = 1e-10  # of two runs that differ in rounding
TIME = 1e-10  # of their events [s]
MATRIX = 1e-8  # of their derivatives, of which each meets its own tolerance


def dropped(terrain: Terrain) -> tuple[cs.ContactSystem, cs.State]:
    """A robot that drifts and falls 1 cm onto its feet."""
    robot = cs.load_robot("solo12")
    system = cs.ContactSystem(robot, terrain=terrain, controller=cs.PD(robot, kp=20.0, kd=0.5))
    q = robot.nominal.copy()
    for _ in range(3):
        q[2] += 0.01 - system.mechanism.gaps(0.0, q)[: len(robot.contacts)].min()
    return system, cs.State(q, 0.1 * np.ones(robot.nv))


@pytest.mark.parametrize("amplitude", [(0.0, 0.0, 4e-3), (3e-3, 2e-3, 3e-3)])
def test_runs_and_derivatives_are_those_of_python(
    amplitude: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a slope that is shaken upwards, and every way: feet land, slip and stick."""
    ground = cs.terrain.Slope(0.15, (1.0, 0.0))
    system, start = dropped(cs.terrain.Moving(ground, cs.terrain.Oscillation(amplitude, 5.0, 0.3)))
    steps: list[float] = []
    original = Stepper.step
    monkeypatch.setattr(Stepper, "step", lambda self, bound: steps.append(self.t) or original(self, bound))
    runs, counts = [], compared(monkeypatch)
    for kind in ("native", "python"):
        steps.clear()
        runs.append(cs.simulate(system, start, (0.0, 0.11), tolerances=TIGHT, engine=kind))
        assert (len(steps) < 5) == (kind == "native")
    one, two = runs
    assert len(two.all_events) > 3
    assert [event.fired for event in one.all_events] == [event.fired for event in two.all_events]
    assert max(abs(a.time - b.time) for a, b in zip(one.all_events, two.all_events, strict=True)) < TIME
    for t in np.linspace(0.0, 0.11, 21):
        assert np.abs(one.arc_at(t)(t) - two.arc_at(t)(t)).max() < RUN
    one.check()
    found, expected = (cs.linearize(run).matrix() for run in runs)
    assert np.abs(found - expected).max() < MATRIX * np.abs(expected).max()
    assert counts.answered > 0.8 * counts.asked > 4
    assert counts.known == counts.differentiated // 2 > 4  # the other half of them is Python's alone


def test_what_is_read_off_a_flow_is_what_python_tells() -> None:
    """Guards, gaps with their rates, slips and states put back, at times at which the ground is elsewhere."""
    motion = cs.terrain.Oscillation((0.02, -0.01, 0.03), 2.0, 0.4)
    system, start = dropped(cs.terrain.Moving(cs.terrain.Slope(0.1, (1.0, 0.0)), motion))
    flows = []
    for kind in ("native", "python"):
        own = system.on_engine(kind)
        flows.append(own.flow(own.start(0.0, own.pack(start)).mode).rebased(0.0, own.pack(start)))
    assert flows[0].cruise is not None and flows[1].cruise is None
    x = system.pack(start)
    for t in (0.0, 0.03, 0.4):
        gaps = [k for k, (kind, _) in enumerate(flows[1].guard_names) if kind == "gap"]
        values = [flow.guards(t, x) for flow in flows]
        assert np.abs(values[0] - values[1]).max() < 1e-14
        looks = [flow.guard_motions(t, x, np.array(gaps)) for flow in flows]
        assert np.abs(looks[0].rates - looks[1].rates).max() < 1e-13
        assert np.abs(flows[0].field(t, x) - flows[1].field(t, x)).max() < 1e-10


def test_other_grounds_that_move_are_left_to_python() -> None:
    """By a function of the user's: an engine is not told of them."""
    system, start = dropped(cs.terrain.Moving(cs.terrain.Flat(), lambda t: 1e-3 * np.sin(5.0 * t)))
    assert system.mechanism.plain_robot is None
    mode = system.start(0.0, system.pack(start)).mode
    assert system.on_engine("native").flow(mode).rebased(0.0, system.pack(start)).cruise is None
