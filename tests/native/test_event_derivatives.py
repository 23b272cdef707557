"""Derivatives of events by the compiled engine against those in Python; skipped where it is not installed."""

from collections import Counter

import numpy as np
import pytest

import contactsim as cs
from contactsim.contact.modes import Phase
from contactsim.contact_dynamics.contact_rows import Happened
from contactsim.contact_dynamics.outcome_sensitivity import OutcomeSensitivity

from .test_events import LOOPED, RUNS

pytest.importorskip("contactsim_native._native")

SAME = 1e-9  # relative to the largest entry: impacts on several feet, and friction of slow slips, enlarge rounding
SEEN = {  # what the events of some runs show at least
    "hexapod": {"impact", "several", "begins"},
    "random, 2": {"impact", "rebound", "limits", "slips", "begins"},
    "random, 11": {"limits", "slips"},
    "landing": {"impact", "several", "slips", "stops"},
    "landing, bouncing": {"rebound", "several", "stops"},
    "landing, Poisson's law": {"stages", "several", "slips"},
    "loops, coupled joints": {"impact", "several", "slips", "stops", "rests redundantly"},
    "loops, a hinge": {"impact", "several", "begins", "slips", "stops"},
    "loops, a weld of redundant rows": {"impact", "several", "stops", "rests redundantly"},
    "loops, a weld that bounces": {"impact", "rebound"},
    "loops, a weld that bounces, by Poisson's law": {"impact", "stages"},
}


@pytest.fixture(autouse=True)
def fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that is taken where nothing is said, whatever the environment says."""
    monkeypatch.delenv("CONTACTSIM_ENGINE", raising=False)


def traits(happened: Happened, points: int) -> set[str]:
    """What an event shows."""
    impact, after = happened.impact, happened.after
    phases = {after.contacts[i].phase for i in after.closed}
    slid = [i for i in after.closed if happened.mode.contacts[i].phase in (Phase.FREE, Phase.DIRECTED)]
    stages = () if impact is None else impact.solution.stages
    shown = {
        "impact": impact is not None,
        "several": impact is not None and len(impact.contacts) > 1,
        "stages": len(stages) > 1,
        "rebound": any(stage.rebound.any() for stage in stages),
        "limits": any(i >= points for i in after.closed),
        "begins": Phase.INCIPIENT in phases,
        "slips": not phases.isdisjoint({Phase.FREE, Phase.DIRECTED}),
        "stops": any(after.contacts[i].mode is cs.Mode.STICK for i in slid),
        "rests redundantly": after.redundant,
    }
    return {name for name, holds in shown.items() if holds}


class Compared:
    """Asks both for the derivative of every event, and counts what the compiled engine answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.answered, self.seen = 0, 0, Counter[str]()

        def both(own: OutcomeSensitivity, happened: Happened) -> np.ndarray:
            found, expected = own._compiled(happened), own.derivative(*happened)
            self.asked += 1
            if found is not None:
                self.answered += 1
                self.seen.update(traits(happened, len(own._world.mechanism.names)))
                assert np.abs(found - expected).max() < SAME * np.abs(expected).max()
            return expected

        monkeypatch.setattr(OutcomeSensitivity, "by_state", both)


@pytest.mark.parametrize("name", RUNS | LOOPED)
def test_derivatives_of_events_are_those_of_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, both = (RUNS | LOOPED)[name]()(), Compared(monkeypatch)
    for event in run.all_events:
        if event.transition.derivative is not None:
            event.transition.derivative()
    assert both.asked >= 2
    assert both.answered == both.asked
    assert SEEN.get(name, set()) <= both.seen.keys()


def test_a_box_that_comes_to_rest_on_its_corners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last events leave it on four corners, whose forces are not unique; its motion is."""
    box = cs.Robot.box(2.0, (0.4, 0.2, 0.1), friction=0.4)
    q = box.space.integrate(np.array([0.0, 0, 0.32, 0, 0, 0, 1]), np.array([0.0, 0, 0, 0.1, 0.25, 0.1]))
    start = cs.State(q, np.array([0.9, -0.4, 0, -0.5, 0.4, 0.4]))
    run, both = cs.simulate(cs.ContactSystem(box), start, (0.0, 0.8)), Compared(monkeypatch)
    resting = [event for event in run.all_events if event.mode_post.redundant and not event.impulses]
    for event in resting:
        event.transition.derivative()
    assert both.answered == both.asked == both.seen["rests redundantly"] > 0


def test_orders_of_feet_that_land_together_are_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four feet of solo12 that fall flat, met one by one in any order."""
    robot = cs.load_robot("solo12")
    q = robot.nominal.copy()
    q[2] -= robot.contact_positions(q)[:, 2].min() - 0.05
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=3.0, kd=0.1))
    run, both = cs.simulate(system, cs.State(q, np.zeros(robot.nv)), (0.0, 0.12)), Compared(monkeypatch)
    event = next(event for event in cs.linearize(run).all_events if len(event.contacts) == 4)
    assert not event.differentiable
    assert both.answered == both.asked > 4
    assert both.seen["several"] > 2


def test_a_state_behind_those_of_the_robot_varies_as_it_did() -> None:
    """The torques that a sampled controller holds pass through a landing."""
    robot = cs.load_robot("solo12")
    q = robot.nominal.copy()
    q[2] -= robot.contact_positions(q)[:, 2].min() - 0.02
    tilted = robot.space.integrate(q, np.r_[0, 0, 0, 0.06, -0.04, np.zeros(robot.nv - 5)])
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=3.0, kd=0.1, period=0.05))
    run = cs.simulate(system, cs.State(tilted, np.zeros(robot.nv)), (0.0, 0.08))
    struck = next(event for event in run.all_events if event.impulses)
    found, size = struck.transition.derivative(), 2 * robot.nv
    assert len(found) > size
    assert np.array_equal(found[size:], np.eye(len(found))[size:])
    assert not found[:size, size:].any()
