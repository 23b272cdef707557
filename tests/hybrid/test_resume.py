"""A run that was stopped goes on as if it had not been; the same run twice is the same to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from builders import sphere
from test_filippov import START, Oscillator

import contactsim as cs
from contactsim.common import registry
from contactsim.io import scene

HALF, END = 0.15, 0.3  # s


def hexapod(restitution: float = 0.0, period: str = "") -> scene.SceneRun:
    controller = f'[controller]\nkind = "pd"\n{period}'
    return scene.build(
        scene.parse(f'robot = {{name = "hexapod"}}\n[contact]\nrestitution = {restitution}\n{controller}')
    )


class Switch(cs.Model):
    """x' = 1 in "slow"; "fast" is entered beyond its boundary, and left for "end"."""

    class State(cs.ModelState):
        x: float = 0.0

    def field(self, t: float, x: np.ndarray, chart: str) -> np.ndarray:
        return np.ones(1)

    def boundaries(self, chart: str) -> tuple[cs.Boundary, ...]:
        target = {"slow": 1.0, "fast": 0.5, "end": 9.0}[chart]
        return (cs.Boundary(f"out of {chart}", lambda t, x: x[0], target, "below"),)

    def reset(self, t: float, x: np.ndarray, chart: str, fired: frozenset) -> cs.Transition:
        return cs.Transition(x, "fast" if chart == "slow" else "end")

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        return cs.Transition(x, "slow")


def same(one: cs.Trajectory, other: cs.Trajectory) -> None:
    """Bitwise equality of everything that is not interpolated."""
    assert one.status is other.status and one.evaluations == other.evaluations
    assert len(one.all_events) == len(other.all_events)
    for a, b in zip(one.all_events, other.all_events, strict=True):
        assert (a.time, a.fired, a.mode_post) == (b.time, b.fired, b.mode_post)
        np.testing.assert_array_equal(a.x_post, b.x_post)
    np.testing.assert_array_equal(one.final_x, other.final_x)


@pytest.mark.parametrize(
    ("restitution", "period"), [(0.0, ""), (0.3, ""), (0.0, "period = 0.004")], ids=["plain", "bouncing", "sampled"]
)
def test_stopped_saved_and_resumed(tmp_path: Path, restitution: float, period: str) -> None:
    built = hexapod(restitution, period)
    whole = cs.simulate(built.system, built.state, (0.0, END), **built.options)
    half = cs.simulate(built.system, built.state, (0.0, HALF), **built.options)
    loaded = cs.Trajectory.load(half.save(tmp_path / "half.nc"), system=built.system)
    for begun in (half, loaded):
        simulation = cs.Simulation.resume(begun)
        simulation.advance_to(END)
        same(whole, simulation.trajectory)


def stops_near_events(whole: cs.Trajectory, end: float, events: Sequence[int]) -> list[float]:
    """Between events, at them, and just behind them: there the step in which the event was found ends at the stop."""
    times = [event.time for event in whole.all_events if 0.0 < event.time < end]
    assert times
    near = [times[k] + behind for k in events for behind in (0.0, 3e-10, 1e-6, 2e-4)]
    return [*(stop for stop in near if stop < end), 0.61 * end]


LAWS = registry.names("contact_laws")


@pytest.mark.parametrize(
    "law", [*LAWS[::2], *(pytest.param(law, marks=pytest.mark.slow_in_python) for law in LAWS[1::2])]
)
def test_every_law_wherever_it_is_stopped(law: str) -> None:
    end = 0.1
    system = cs.ContactSystem(sphere(friction=0.4, restitution=0.3), law=law)
    start = cs.State([0.0, 0.0, 0.105, 0.0, 0.0, 0.0, 1.0], [0.5, 0.0, -0.2, 0.0, 3.0, 0.0])
    whole = cs.simulate(system, start, (0.0, end))
    for stop in stops_near_events(whole, end, [-1]):
        simulation = cs.Simulation.resume(cs.simulate(system, start, (0.0, stop)))
        simulation.advance_to(end)
        same(whole, simulation.trajectory)


def test_what_a_user_changed_is_not_undone() -> None:
    """The step to the stop holds an event; behind it a parameter is set: the run goes on from there."""
    system = Oscillator(0.1)
    event = cs.simulate(system, START, (0.0, 5.0)).all_events[0].time
    simulation = cs.Simulation(system, START)
    simulation.advance_to(event + 1e-6)
    simulation.set("friction", 0.2)
    before = simulation.trajectory
    resumed = cs.Simulation.resume(before)
    assert resumed.system.friction == 0.2 and resumed.t == event + 1e-6
    simulation.advance_to(5.0)
    resumed.advance_to(5.0)
    same(simulation.trajectory, resumed.trajectory)


def test_arcs_between_stops_stay_as_they_are() -> None:
    """A Simulation that is advanced in pieces: what is resumed keeps its finished arcs."""
    simulation = cs.Simulation(Oscillator(0.1), START)
    for k in range(1, 41):
        simulation.advance_to(0.1 * k)
    run = simulation.trajectory
    resumed = cs.Simulation.resume(run).trajectory
    assert run.all_events
    assert [event.time for event in resumed.all_events] == [event.time for event in run.all_events]


def test_notes_are_those_of_a_run_that_was_not_stopped() -> None:
    """A chart that is entered beyond its boundary just before the stop is noted once."""
    whole = cs.simulate(Switch(), [0.0], (0.0, 2.0))
    for stop in (1.0, 1.0 + 1e-9, 1.5):
        simulation = cs.Simulation.resume(cs.simulate(Switch(), [0.0], (0.0, stop)))
        simulation.advance_to(2.0)
        assert simulation.trajectory.notes == whole.notes != ()


def test_stopped_by_its_number_of_events() -> None:
    built = hexapod()
    whole = cs.simulate(built.system, built.state, (0.0, END), **built.options)
    short = cs.simulate(built.system, built.state, (0.0, END), **built.options | {"max_events": 3})
    assert short.status is cs.Status.TOO_MANY_EVENTS
    simulation = cs.Simulation.resume(short)
    simulation.advance_to(END)
    assert simulation.trajectory.all_events[:3] != () and len(simulation.trajectory.all_events) == 4
    assert [e.time for e in simulation.trajectory.all_events] == [e.time for e in whole.all_events[:4]]


def test_the_same_run_twice_gives_the_same_file(tmp_path: Path) -> None:
    files = []
    for name in ("one.nc", "two.nc"):
        built = hexapod(0.3)
        files.append(cs.simulate(built.system, built.state, (0.0, HALF), **built.options).save(tmp_path / name))
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_trajectory_that_does_not_say_how_it_was_made() -> None:
    traj = cs.simulate(Oscillator(), START, (0.0, 1.0))
    bare = cs.Trajectory(traj.system, traj.arcs, traj.all_events, traj.status, traj.message)
    with pytest.raises(cs.InputError, match="does not say how it was made; start a new run"):
        cs.Simulation.resume(bare)
