"""Runs that the compiled engine follows from event to event against the loop in Python, which asks it arc by arc."""

import copy
import pickle
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import landings
import numpy as np
import pytest
from builders import sphere
from linkages import above_ground, five_bar_leg
from random_scenes import scene

import contactsim as cs
from contactsim.analysis.parameter_family import member
from contactsim.contact.modes import ContactState, SystemMode
from contactsim.contact_dynamics.journeys import Log
from contactsim.hybrid.journeys import Departure, Journey
from contactsim.hybrid.simulate import EVENTS_AT_ONE_INSTANT, EVENTS_TO_AND_FRO, simulate

from .test_events import looped
from .test_loops import gripper, held_bars, leg

pytest.importorskip("contactsim_native._native")  # its sources alone are no package

SAME = 1e-9  # of states and times of two runs that differ in rounding, if at all
MATRIX = 1e-7  # of their derivatives, relative to the largest number
FOLLOWED = 0.8  # share of its events that a run has in journeys


@pytest.fixture(autouse=True)
def fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that is taken where nothing is said, whatever the environment says."""
    monkeypatch.delenv("CONTACTSIM_ENGINE", raising=False)


@dataclass
class Followed:
    """How many events were in journeys, and whether there may be any."""

    events: int = 0
    allowed: bool = True


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> Followed:
    """Count the events of all journeys from now on."""
    counts, journey = Followed(), cs.ContactSystem.journey

    def counted(self: cs.ContactSystem, departure: Departure) -> Journey | None:
        found = journey(self, departure) if counts.allowed else None
        counts.events += 0 if found is None else len(found.events)
        return found

    monkeypatch.setattr(cs.ContactSystem, "journey", counted)
    return counts


Run = Callable[[], cs.Trajectory]


def both(run: Run, followed: Followed) -> tuple[cs.Trajectory, cs.Trajectory]:
    """A run with journeys, and without any."""
    found = run()
    followed.allowed = False
    expected = run()
    followed.allowed = True
    return found, expected


def named(name: str, duration: float, *changes: str) -> Run:
    case = cs.load_scene(name, changes)
    return lambda: cs.simulate(case.system, case.state, (0.0, duration), **case.options)


def random(seed: int) -> Run:
    case = scene(seed)
    return lambda: cs.simulate(case.system, case.start, (0.0, case.end))


def landing(name: str, seed: int, duration: float = 0.15) -> Run:
    case = landings.landing(name, seed)
    return lambda: case.run(duration=duration)


def changed(name: str, seed: int, restitution: float, law: str, duration: float = 0.15, called: bool = False) -> Run:
    """A landing under another law, or under a controller that is called back."""
    case = landings.landing(name, seed)
    robot, controller = case.system.robot, case.system.controller
    driven: Any = (lambda t, q, v: controller.torque(t, q, v, np.zeros(0))) if called else controller
    system = cs.ContactSystem(robot, controller=driven, law=law)
    world = system.world
    system = system.with_coefficients(*world.own_friction, np.full(len(world.mechanism.dims), restitution))
    return lambda: cs.simulate(system, case.start, (0.0, duration))


def bouncing_leg() -> Run:
    system = five_bar_leg("planar", restitution=0.5)
    return looped((system, above_ground(system, height=0.465)), 0.5)


RUNS: dict[str, Callable[[], Run]] = {
    "hexapod": lambda: landing("hexapod", 0, 0.1),
    "solo12": lambda: landing("solo12", 1),
    "solo12, stiff": lambda: landing("solo12", 2, 0.12),
    "go2": lambda: landing("go2", 2),
    "a1": lambda: landing("a1", 3),
    "bouncing": lambda: changed("solo12", 0, 0.3, "coulomb", 0.08),
    "Poisson's law": lambda: changed("solo12", 0, 0.3, "poisson", 0.08),
    "a law that gains no energy": lambda: changed("solo12", 0, 0.3, "energetic", 0.08),
    "a function drives it": lambda: changed("solo12", 1, 0.0, "coulomb", called=True),
    "its demonstration": lambda: named("hexapod", 1.2),
    "biped": lambda: named("biped", 3.0),
    "hills": lambda: named("solo12", 0.3, "terrain.kind=sinusoid", "terrain.a1=0.02", "terrain.a2=6", "terrain.a3=4"),
    "loops, coupled joints": lambda: looped(gripper(), 0.1085),
    "loops, a leg": lambda: looped(leg(friction=0.05), 0.3),
    "loops, a leg that bounces": bouncing_leg,
    "loops, a hinge": lambda: looped(held_bars("hinge"), 0.8),
    "loops, a hinge that bounces": lambda: looped(held_bars("hinge", 0.5), 1.0),
    "loops, a weld that bounces": lambda: looped(held_bars("pose", 0.5), 1.0),
    "loops, a weld that bounces, by Poisson's law": lambda: looped(held_bars("pose", 0.5, law="poisson"), 1.0),
}
FEW = {"hills": 0.3, "its demonstration": 0.1}  # of whose events Python has more


def shape(mode: SystemMode) -> list[tuple[object, ...]]:
    """All of a mode but numbers."""
    return [(one.mode, one.phase, len(one.direction), one.enabled, one.until is None) for one in mode.contacts]


def compare(found: cs.Trajectory, expected: cs.Trajectory) -> None:
    """Two runs are the same but for rounding: events, what is told of them, arcs, and how it is gone on."""
    assert [event.fired for event in found.all_events] == [event.fired for event in expected.all_events]
    for one, two in zip(found.all_events, expected.all_events, strict=True):
        assert abs(one.time - two.time) < SAME
        assert max(np.abs(one.x_pre - two.x_pre).max(), np.abs(one.x_post - two.x_post).max()) < SAME
        assert shape(one.mode_pre) == shape(two.mode_pre)
        assert shape(one.mode_post) == shape(two.mode_post)
        assert one.transitions == two.transitions
        assert one.notes == two.notes
        assert one.accumulated == two.accumulated
        assert one.residuals.keys() == two.residuals.keys()
        assert one.impulses.keys() == two.impulses.keys()
        for name, impulse in two.impulses.items():
            assert np.abs(one.impulses[name] - impulse).max() < SAME * max(1.0, np.abs(impulse).max())
        for known in ("still", "unmoved", "seamless"):
            assert getattr(one.transition, known) == getattr(two.transition, known)
    compare_arcs(found, expected)


def compare_arcs(found: cs.Trajectory, expected: cs.Trajectory) -> None:
    for one, two in zip(found.arcs, expected.arcs, strict=True):
        assert shape(one.mode) == shape(two.mode)
        assert len(one.segments) == len(two.segments)
        middle = 0.5 * (one.t0 + one.t1)
        assert np.abs(one(middle) - two(middle)).max() < SAME
    for arc, event in zip(found.arcs, found.all_events, strict=False):
        assert arc.event is event
        assert arc.mode == event.mode_pre
    assert found.evaluations == expected.evaluations
    assert found.notes == expected.notes
    assert (found.status, found.message) == (expected.status, expected.message)
    assert found.settings is not None
    assert expected.settings is not None
    sizes = [settings.first_step for settings in (found.settings, expected.settings)]
    assert sizes[0] == (None if sizes[1] is None else pytest.approx(sizes[1], rel=1e-6))
    assert replace(found.settings, first_step=None) == replace(expected.settings, first_step=None)


@pytest.mark.parametrize("name", RUNS)
def test_a_journey_is_the_run_event_by_event(name: str, followed: Followed) -> None:
    found, expected = both(RUNS[name](), followed)
    assert len(found.all_events) > 2
    assert followed.events >= FEW.get(name, FOLLOWED) * len(found.all_events)
    compare(found, expected)


@pytest.mark.parametrize("seed", [2, 11, 24, 58, 148])
def test_random_scenes_are_those_without_journeys(seed: int, followed: Followed) -> None:
    compare(*both(random(seed), followed))


def test_derivatives_are_those_of_the_run_event_by_event(followed: Followed) -> None:
    found, expected = both(RUNS["hexapod"](), followed)
    one, two = (cs.linearize(run).matrix() for run in (found, expected))
    assert np.abs(one - two).max() < MATRIX * np.abs(two).max()


def test_steps_and_states_with_loops_are_the_same_to_the_bit(followed: Followed) -> None:
    """Velocities of contacts are rounded alike, whether the motion with its loops is known or only asked for."""
    for kind, law in (("pose", "coulomb"), ("pose", "poisson"), ("hinge", "coulomb")):
        found, expected = both(looped(held_bars(kind, 0.5, law=law), 1.0), followed)
        assert [event.time for event in found.all_events] == [event.time for event in expected.all_events]
        assert np.array_equal(found.final_x, expected.final_x)


def test_a_journey_is_told_the_rank_of_its_loops(followed: Followed) -> None:
    """Which a run finds where it starts; what is saved of a system goes without."""
    system, start = held_bars("pose", 0.5)
    run = cs.simulate(system, start, (0.0, 0.5))
    assert followed.events == len(run.all_events) > 1
    assert list(system._contacts._passages) == [system.world.closed_loops.rank]
    assert not pickle.loads(pickle.dumps(system._contacts))._passages


def test_a_run_may_be_stopped_anywhere_and_gone_on_with() -> None:
    """To the bit: what is told of the stop are the arcs that had no part in it."""
    case = landings.landing("hexapod", 0)
    whole = case.run(duration=0.1)
    times = np.array([event.time for event in whole.all_events])
    for stop in (times[20] + 1e-9, 0.5 * (times[30] + times[31]), times[-5], 0.09):
        run = cs.Simulation.resume(case.run(duration=float(stop)))
        run.advance_to(0.1)
        found = run.trajectory
        assert [event.time for event in found.all_events] == times.tolist()
        assert np.array_equal(found.final_x, whole.final_x)


def test_a_run_step_by_step_is_the_same() -> None:
    """With a progress it looks up after each step."""
    case, seen = landings.landing("solo12", 0), list[float]()
    whole = case.run(duration=0.1)
    found = cs.simulate(case.system, case.start, (0.0, 0.1), progress=seen.append)
    assert np.array_equal(found.final_x, whole.final_x)
    assert len(seen) > len(whole.all_events)


@pytest.mark.parametrize("most", [1, 2, 7, 70])
def test_a_run_stops_at_its_number_of_events(most: int) -> None:
    case = landings.landing("hexapod", 0)
    run = cs.simulate(case.system, case.start, (0.0, 0.1), max_events=most)
    assert run.status is cs.Status.TOO_MANY_EVENTS
    assert len(run.all_events) == most


def test_a_run_stops_where_bounces_end() -> None:
    case = landings.landing("hexapod", 0)
    whole = case.run(duration=0.1)
    first = next(event for event in whole.all_events if event.accumulated)
    run = cs.simulate(case.system, case.start, (0.0, 0.1), accumulation="stop")
    assert run.status is cs.Status.ACCUMULATION
    assert run.all_events[-1].time == first.time


def test_events_that_nobody_asked_for_are_saved_and_copied() -> None:
    case = landings.landing("solo12", 1)
    untold = [case.run(duration=0.1) for _ in range(4)]
    copies = [copy.copy(untold[0]), copy.deepcopy(untold[1]), pickle.loads(pickle.dumps(untold[2]))]
    for copied in copies:
        for one, two in zip(copied.all_events, untold[3].all_events, strict=True):
            assert (one.time, one.fired, one.mode_pre, one.mode_post) == (
                two.time,
                two.fired,
                two.mode_pre,
                two.mode_post,
            )
            assert one.transitions == two.transitions
        assert [len(arc.segments) for arc in copied.arcs] == [len(arc.segments) for arc in untold[3].arcs]
    assert "Event(" in repr(untold[3].all_events[5])
    assert not hasattr(untold[3].all_events[5], "unheard of")


def test_a_run_goes_on_without_the_events_that_it_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    whole = Log.event

    def event(log: Log, k: int) -> dict[str, Any]:
        made.append(k)
        return whole(log, k)

    monkeypatch.setattr(Log, "event", event)
    run = landings.landing("hexapod", 0).run()
    assert not made
    assert run.all_events[-1].time <= landings.DURATION
    assert made


def test_threads_are_told_of_one_run_at_once() -> None:
    case, wrong = landings.landing("hexapod", 0), list[BaseException]()
    expected = [event.x_post for event in case.run(duration=0.08).all_events]
    run = case.run(duration=0.08)

    def read() -> None:
        try:
            for event, x in zip(run.all_events, expected, strict=True):
                assert np.array_equal(event.x_post, x)
            assert sum(len(arc.segments) for arc in run.arcs) > len(run.all_events)
        except BaseException as error:
            wrong.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert not wrong


def test_what_a_class_of_ones_own_makes_of_events_is_asked_for() -> None:
    class Counting(cs.ContactSystem):
        asked = 0

        def transition(self, t: float, x: np.ndarray, mode: Any, fired: Any) -> Any:
            Counting.asked += 1
            return super().transition(t, x, mode, fired)

    case = landings.landing("solo12", 1)
    system = Counting(case.system.robot, controller=case.system.controller)
    run = cs.simulate(system, case.start, (0.0, 0.1))
    assert Counting.asked == len(run.all_events) > 5


def test_a_push_within_a_landing_ends_a_journey(followed: Followed) -> None:
    """And begins the next one: what pushes is called back."""

    def pushed() -> cs.Trajectory:
        case = landings.landing("solo12", 1)
        run = cs.Simulation(case.system, case.start)
        run.advance_to(0.06)
        run.push(case.system.robot.contacts[0].frame, (5.0, 3.0, 0.0), 0.03)
        run.advance_to(0.15)
        return run.trajectory

    compare(*both(pushed, followed))
    assert followed.events > 5


def departed(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> list[tuple[cs.ContactSystem, Departure]]:
    """The departures of a landing."""
    found: list[tuple[cs.ContactSystem, Departure]] = []
    journey = cs.ContactSystem.journey

    def kept(self: cs.ContactSystem, departure: Departure) -> Journey | None:
        found.append((self, departure._replace(course=copy.deepcopy(departure.course))))
        return journey(self, departure)

    monkeypatch.setattr(cs.ContactSystem, "journey", kept)
    landings.landing("hexapod", 0).run(duration=0.05)
    monkeypatch.setattr(cs.ContactSystem, "journey", journey)
    return found


def test_events_in_a_row_that_end_a_run_are_left_to_it(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    system, first = departed(followed, monkeypatch)[0]

    def goes_on(**parts: Any) -> Journey | None:
        return system.journey(first._replace(course=copy.deepcopy(first.course), **parts))

    one = goes_on(most=1)
    assert one is not None
    assert (len(one.events), len(one.arcs), one.to_and_fro) == (1, 0, 0)
    modes = (one.events[0].mode_pre, one.events[0].mode_post)
    row = {"at_once": True, "between": modes}
    counted = goes_on(most=1, to_and_fro=5, **row)
    assert counted is not None
    assert counted.to_and_fro == 6
    assert goes_on(to_and_fro=EVENTS_TO_AND_FRO - 1, **row) is None
    elsewhere = goes_on(most=1, to_and_fro=EVENTS_TO_AND_FRO - 1, at_once=True, between=(modes[0], other(modes)))
    assert elsewhere is not None
    assert elsewhere.to_and_fro == 0
    short = {"entered": first.course.t, "at_one_instant": EVENTS_AT_ONE_INSTANT}
    assert goes_on(**short) is None
    assert goes_on(**short | {"at_one_instant": EVENTS_AT_ONE_INSTANT - 1}) is not None


def other(modes: tuple[SystemMode, ...]) -> SystemMode:
    """A mode that is none of these."""
    contacts = modes[0].contacts
    return SystemMode(tuple(ContactState(enabled=False) for _ in contacts))


def test_what_the_engine_does_not_know_is_not_followed(followed: Followed) -> None:
    """Forces that are not unique, and functions that enable contacts."""
    box = cs.Robot.box(2.0, (0.4, 0.2, 0.1), friction=0.4)
    cs.simulate(cs.ContactSystem(box), cs.State([0, 0, 0.0501, 0, 0, 0, 1.0], [0.8, 0.6, 0, 0, 0, 0.2]), (0.0, 0.2))
    case = landings.landing("solo12", 1)
    robot = case.system.robot
    feet = [replace(contact, enabled=lambda t, q, v: 1.0) for contact in robot.contacts]
    system = cs.ContactSystem(robot.with_contacts(feet), controller=case.system.controller)
    before = followed.events
    cs.simulate(system, case.start, (0.0, 0.05))
    assert followed.events == before


def test_bodies_that_touch_each_other_are_not_followed(followed: Followed) -> None:
    """Not even where none of them touches another one."""
    box = cs.Robot.box(0.5, (0.1, 0.1, 0.1), friction=0.4, restitution=0.5)
    for other in (box, cs.Robot.sphere(0.5, 0.05, friction=0.4)):
        world = cs.Robot.merge([box, other], ["a", "b"])
        start = {"a": ([0.0, 0, 0.055, 0, 0, 0, 1], np.zeros(6)), "b": ([1.0, 0, 0.055, 0, 0, 0, 1], np.zeros(6))}
        run = cs.simulate(cs.ContactSystem(world), cs.State(*world.pack(start)), (0.0, 0.1))
        assert len(run.all_events) > 1
    assert followed.events == 0


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_what_a_users_function_raises_within_a_journey_ends_the_run_there(kind: type[BaseException]) -> None:
    case = landings.landing("solo12", 1)
    robot, controller = case.system.robot, case.system.controller
    last = [np.inf]

    def driven(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > last[0]:
            raise kind("no more")
        return np.asarray(controller.torque(t, q, v, np.zeros(0)))

    system = cs.ContactSystem(robot, controller=driven)
    whole = cs.simulate(system, case.start, (0.0, 0.1))
    last[0] = 0.5 * (whole.all_events[6].time + whole.all_events[7].time)
    run = cs.Simulation(system, case.start)
    with pytest.raises(KeyboardInterrupt) if kind is KeyboardInterrupt else nullcontext():
        run.advance_to(0.1)
    assert run.status is (cs.Status.INTERRUPTED if kind is KeyboardInterrupt else cs.Status.FAILED)
    assert run.t <= last[0]


def test_arcs_and_events_are_of_the_system_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member of a family has one of contacts inside, which does not know the parameters of the family."""

    def build(radius: float) -> cs.ContactSystem:
        return cs.ContactSystem(sphere(radius=radius, restitution=0.5))

    system = member(build, ["radius"], [0.1])
    monkeypatch.setenv("CONTACTSIM_ENGINE", "native")
    run = simulate(system, cs.State([0, 0, 0.5, 0, 0, 0, 1.0], np.zeros(6)), (0.0, 0.9))
    assert len(run.events) > 2
    assert all(arc.system.parameter("radius") == 0.1 for arc in run.arcs)
    assert all(event.system.parameter("radius") == 0.1 for event in run.all_events)
