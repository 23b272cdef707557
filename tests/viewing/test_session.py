"""A session: the run that is looked at is the run itself, and what is asked of it takes effect between two steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import pytest

import contactsim as cs
from contactsim.contact.modes import Mode
from contactsim.contact_dynamics.placement import clearance, default_start
from contactsim.errors import InputError
from contactsim.io import scene
from contactsim.viewing.session import Moment, Session
from contactsim.viewing.session_controls import controls

Step = Callable[[Session], None]
RELATIVE = 1e-5  # of a derivative of runs with different steps
EPSILON = 1e-12  # s, rounding of a sum of times


def biped() -> cs.Simulation:
    built = scene.build(scene.parse('robot = {name = "biped"}'))
    return cs.Simulation(built.system, built.state, **built.options)


def dropped(height: float = 0.02, **options: float) -> cs.Simulation:
    """A hexapod that is held by its motors and dropped: six feet land at once."""
    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot, controller=cs.PD(robot, robot.nominal, kp=80.0, kd=2.0))
    state = default_start(system)
    state.q[2] += height - clearance(system, state.q)
    return cs.Simulation(system, state, **options)


def led(session: Session, *steps: Step) -> cs.Trajectory:
    """Run a session as fast as it goes; whenever it pauses, the next of the steps is taken, and then it is closed."""
    ahead = list(steps)

    def observe(moment: Moment) -> None:
        session.want()
        if not moment.playing:
            (ahead.pop(0) if ahead else Session.close)(session)

    session.observe = observe
    return session.run()


def test_a_run_that_is_looked_at_is_the_same_run() -> None:
    alone, shown = biped(), biped()
    alone.advance_to(1.0)
    run = led(Session(shown, end=1.0, speed=math.inf))
    assert np.array_equal(alone.trajectory.t, run.t)
    assert np.array_equal(alone.trajectory.x, run.x)
    assert run.status is cs.Status.FINISHED


def test_who_is_told_of_each_step_sees_all_runs_so_far() -> None:
    """As the checkpoints of `contactsim run --view` do."""
    seen: list[tuple[float, int]] = []

    def look(t: float) -> None:
        assert session.runs[-1].arcs[-1].t1 == t
        seen.append((t, len(session.runs)))

    session = Session(dropped(), end=0.02, speed=math.inf, after_step=look)
    led(session, lambda s: s.set_law("spring-damper"), lambda s: s.play(until=0.04))
    times = [t for t, _ in seen]
    assert times == sorted(times) and times[-1] == 0.04
    assert {count for _, count in seen} == {1, 2}


def test_time_is_not_ahead_of_the_clock() -> None:
    session, seen = Session(biped(), end=0.2, speed=0.5), []

    def observe(moment: Moment) -> None:
        seen.append((time.monotonic() - began, moment.time))
        session.want() if moment.playing else session.close()

    session.observe = observe
    began = time.monotonic()
    session.run()
    assert len(seen) > 2
    assert all(shown <= session.speed * passed + EPSILON for passed, shown in seen)
    assert seen[-1][1] == 0.2


def test_moments_of_the_past_are_those_of_the_run() -> None:
    moments: list[tuple[float, np.ndarray, object]] = []

    def look(session: Session) -> None:
        moment = session.moment
        moments.append((moment.time, moment.x, moment.arc.mode))
        session.refresh()

    times = [0.0, 0.31, 0.77, 1.0, 5.0]
    steps = [step for t in times for step in (lambda s, t=t: s.seek(t), look)]
    run = led(Session(biped(), end=1.0, speed=math.inf), *steps)
    assert [t for t, _, _ in moments] == [0.0, 0.31, 0.77, 1.0, 1.0]
    for t, x, mode in moments:
        assert np.array_equal(x, run.arc_at(t)(t))
        assert mode == run.arc_at(t).mode


def test_from_event_to_event() -> None:
    shown: list[float] = []

    def look(session: Session) -> None:
        shown.append(session.moment.time)
        session.refresh()

    hops = [lambda s: s.seek(0.0), look]
    for step in (1, 1, -1):
        hops += [lambda s, step=step: s.to_event(step), look]
    run = led(Session(biped(), end=3.0, speed=math.inf), *hops)
    first, second, *_ = sorted({event.time for event in run.events} - {0.0})
    assert shown == [0.0, first, second, first]


def test_a_parameter_that_is_turned_takes_effect_where_the_run_is() -> None:
    session = Session(dropped(), end=0.1, speed=math.inf)
    run = led(session, lambda s: s.set("contact.friction", 0.25), lambda s: s.play(until=0.12))
    assert session.system.parameter("contact.friction") == 0.25
    assert [arc.system.parameter("contact.friction") for arc in (run.arc_at(0.05), run.arc_at(0.11))] == [0.8, 0.25]
    own = [entry for entry in session.log if entry.event is None]
    assert [(entry.time, entry.text) for entry in own] == [(0.1, "contact.friction: 0.8 \u2192 0.25")]
    assert next(control.value for control in session.controls if control.name == "contact.friction") == 0.25


def test_a_push_is_the_push_of_a_simulation() -> None:
    force = [12.0, 3.0, 0.0]
    alone = dropped()
    alone.advance_to(0.1)
    robot = alone.system.robot
    alone.push(max(robot.bodies, key=lambda name: robot.body_parameter(name, "mass")), force, 0.1)
    alone.advance_to(0.25)
    session = Session(dropped(), end=0.1, speed=math.inf)
    led(session, lambda s: s.push(force), lambda s: s.play(until=0.25))
    assert np.array_equal(session.simulation.state.q, alone.state.q)


def test_a_change_that_is_refused_is_told_and_changes_nothing() -> None:
    notes: list[str] = []

    def look(session: Session) -> None:
        notes.append(session.note)
        session.refresh()

    session = Session(biped(), end=0.1, speed=math.inf)
    led(session, lambda s: s.set("contact.friction", -1.0), look, lambda s: s.set("nonsense", 1.0), look)
    assert "friction is -1" in notes[0] and "no parameter 'nonsense'" in notes[1]
    assert not [entry for entry in session.log if entry.event is None]


def test_another_law_goes_on_from_the_same_state() -> None:
    session = Session(dropped(), end=0.2, speed=math.inf)
    led(session, lambda s: s.set_law("spring-damper"), lambda s: s.play(until=0.25), lambda s: s.set_law("coulomb"))
    rigid, soft, again = session.runs
    assert [type(run.system.law).__name__ for run in session.runs] == ["Coulomb", "SpringDamper", "Coulomb"]
    assert np.array_equal(soft(0.2).q, rigid(0.2).q)
    gaps = [run.system.mechanism.gaps(0.25, run(0.25).q)[:6].min() for run in (soft, again)]
    assert gaps[0] < 0.0 <= gaps[1] + 1e-12, "what had sunk in was lifted onto the rigid ground"
    assert Mode.CLOSED in soft.mode_at(0.25).values()
    assert session.law == "coulomb"


def test_drop_again_is_the_start_with_the_parameters_of_now() -> None:
    session = Session(dropped(), end=0.1, speed=math.inf)
    led(session, lambda s: s.set("contact.restitution", 0.5), lambda s: s.push([5.0, 0.0, 0.0]), lambda s: s.drop())
    fresh = dropped()
    fresh.set("contact.restitution", 0.5)
    assert session.take == 1
    assert np.array_equal(session.runs[0](0.0).q, fresh.state.q)
    assert session.system.parameter("contact.restitution") == 0.5
    assert not session.system.pushes


def test_accuracy_changes_the_steps() -> None:
    session = Session(biped(), end=0.3, speed=math.inf)
    run = led(session, lambda s: s.set_rtol(1e-3), lambda s: s.play(until=0.6))
    before = sum(0.0 <= t < 0.3 for t in run.t)
    assert session.simulation.tolerances.rtol == 1e-3
    assert sum(0.3 < t <= 0.6 for t in run.t) < before


def test_runs_of_a_session_are_differentiated_like_any_other() -> None:
    session = Session(biped(), end=0.3, speed=math.inf)
    led(session, lambda s: s.set_rtol(1e-9), lambda s: s.play(until=0.6), lambda s: s.set_law("frictionless"))
    first, second = session.runs
    alone = biped()
    alone.advance_to(0.6)
    expected = cs.linearize(alone.trajectory).matrix()
    assert cs.linearize(first).matrix() == pytest.approx(expected, rel=RELATIVE, abs=RELATIVE * np.abs(expected).max())
    assert second.arcs[0].t0 == 0.6


def test_a_step_of_the_past_is_found_and_nothing_outside() -> None:
    simulation = biped()
    simulation.advance_to(1.0)
    run = simulation.trajectory
    for t in (0.0, 0.123, 1.0, *(event.time for event in run.events)):
        found = simulation.arc_at(t)
        assert found.mode == run.arc_at(t).mode and np.array_equal(found(t), run.arc_at(t)(t))
    with pytest.raises(InputError, match="lies outside the run"):
        simulation.arc_at(1.5)


def test_an_interrupted_run_goes_on_as_if_nothing_had_been() -> None:
    alone, stopped = biped(), biped()
    alone.advance_to(1.0)
    stops = 0
    while stopped.t < 1.0:
        stopped.advance_to(1.0, lambda t: stopped.interrupt())
        stops += 1
    assert stops > 5
    assert np.array_equal(alone.trajectory.x, stopped.trajectory.x)


def test_a_failure_is_kept_to_be_looked_at() -> None:
    def broken(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > 0.05:
            raise RuntimeError("the motor burns")
        return np.zeros(len(v))

    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot, controller=broken)
    session, notes = Session(cs.Simulation(system, default_start(system)), speed=math.inf), []
    led(session, lambda s: (notes.append(s.moment.ended), s.seek(0.01)))
    assert "the motor burns" in notes[0]
    assert session.trajectory.status is cs.Status.FAILED and "the motor burns" in session.trajectory.message
    assert session.trajectory.arcs[-1].t1 > 0.0


def test_what_can_be_turned_comes_from_the_schemas() -> None:
    robot = cs.load_robot("hexapod")
    hold = cs.PD(robot, robot.nominal, kp=80.0, kd=2.0)
    found = {c.name: c for c in controls(cs.ContactSystem(robot, law="spring-damper", controller=hold))}
    assert {"contact.friction", "contact.restitution", "law.stiffness", "controller.kp", "gravity"} <= set(found)
    assert (found["contact.restitution"].low, found["contact.restitution"].high) == (0.0, 1.0)
    assert found["law.stiffness"].low > 0.0 and "[N/m]" in found["law.stiffness"].text
    slip = {c.name: c for c in controls(cs.load_model("slip"))}
    assert slip["k"].value == 1000.0 and "policy" not in slip
    assert all(c.low <= c.value <= c.high and c.step > 0.0 for c in (*found.values(), *slip.values()))


@pytest.mark.parametrize("name", ["slip", "compliant-hexapod"])
def test_every_control_can_be_turned_to_both_of_its_ends(name: str) -> None:
    model = cs.load_model(name)
    for control in controls(model):
        for value in (control.low, control.high):
            try:
                assert model.with_parameter(control.name, value).parameter(control.name) == value
            except InputError as error:  # limits that depend on other parameters are told when the control is turned
                assert control.name in str(error) or "parameter" in str(error)


def test_what_cannot_be_shown_is_said() -> None:
    with pytest.raises(InputError, match="a str cannot be shown"):
        cs.view("hexapod")
    with pytest.raises(InputError, match="speed of Playback is 0"):
        Session(biped(), speed=0.0)
