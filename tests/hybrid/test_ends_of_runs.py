"""An event next to the end of a run, a parameter that is set, a push or a sample belongs to that instant."""

from __future__ import annotations

import numpy as np
import pytest
from builders import point_mass

import contactsim as cs
from contactsim.hybrid.system import CLOCK

HEIGHT = 0.1  # m, from which the mass falls
LANDING = np.sqrt(2.0 * HEIGHT / 9.81)  # s
EARLY_OR_LATE = [-9e-13, -3e-13, 0.0, 3e-13, 9e-13]  # s, within `Tolerances.event_time`


def fall(controller: cs.Controller | None = None, speed: float = 0.0) -> tuple[cs.ContactSystem, cs.State]:
    """A mass that is let go, or thrown down from so high that it lands at the same time."""
    system = cs.ContactSystem(point_mass(0.5, 0.5), controller=controller)
    return system, cs.State([0.0, 0.0, HEIGHT + speed * LANDING], [0.3, 0.0, -speed])


@pytest.mark.parametrize("late", EARLY_OR_LATE)
@pytest.mark.parametrize("speed", [0.0, 1e3])
def test_a_run_ends_with_the_event_next_to_its_end(late: float, speed: float) -> None:
    end = LANDING + late
    run = cs.simulate(*fall(speed=speed), (0.0, end))
    assert [event.time for event in run.events] == [end]
    assert run.final.v[2] == pytest.approx(0.5 * (speed + 9.81 * LANDING), rel=1e-9)


@pytest.mark.parametrize("late", [-3e-12, 3e-12])
def test_an_event_a_little_further_away_is_one_of_its_own(late: float) -> None:
    run = cs.Simulation(*fall())
    run.advance_to(LANDING + late)
    run.advance(0.01)
    assert [event.time for event in run.trajectory.events] == pytest.approx([LANDING], abs=1e-13)


@pytest.mark.parametrize("late", EARLY_OR_LATE)
def test_a_parameter_set_next_to_an_event_is_set_at_its_instant(late: float) -> None:
    run = cs.Simulation(*fall())
    run.advance_to(LANDING + late)
    run.set("contact.restitution", 0.2)
    run.advance(0.05)
    assert {arc.event.time for arc in run.trajectory.arcs if arc.event is not None} == {LANDING + late}
    assert run.trajectory(LANDING + late).v[2] == pytest.approx(0.5 * 9.81 * LANDING, rel=1e-9)
    with pytest.raises(cs.NonDifferentiableError, match="same instant"):
        cs.linearize(run.trajectory).matrix()


@pytest.mark.parametrize("late", EARLY_OR_LATE)
def test_a_push_that_ends_next_to_an_event_ends_at_its_instant(late: float) -> None:
    run = cs.Simulation(*fall())
    run.push("mass", (1.0, 0.0, 0.0), LANDING + late)
    run.advance_to(LANDING + 0.05)
    times = [arc.event.time for arc in run.trajectory.arcs if arc.event is not None]
    assert times == [0.0, LANDING + late, LANDING + late]


@pytest.mark.parametrize("late", EARLY_OR_LATE)
def test_a_sample_next_to_an_event_is_taken_at_its_instant(late: float) -> None:
    period = LANDING + late
    run = cs.simulate(*fall(cs.Sampled(lambda t, q, v: np.zeros(3), period, 3)), (0.0, 1.5 * LANDING))
    first = run.arcs[0].event
    assert first is not None and first.time == period
    assert CLOCK in first.fired and len(first.fired) == 2
