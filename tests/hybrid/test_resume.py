"""A run that was stopped goes on as if it had not been; the same run twice is the same to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_filippov import START, Oscillator

import contactsim as cs
from contactsim.io import scene

HALF, END = 0.15, 0.3  # s


def hexapod(restitution: float = 0.0, period: str = "") -> scene.SceneRun:
    controller = f'[controller]\nkind = "pd"\n{period}'
    return scene.build(
        scene.parse(f'robot = {{name = "hexapod"}}\n[contact]\nrestitution = {restitution}\n{controller}')
    )


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


@pytest.mark.parametrize("integrator", ["DOP853", "RK45", "Radau"])
def test_every_integrator(integrator: str) -> None:
    system = cs.Filippov(Oscillator())
    whole = cs.simulate(system, START, (0.0, 9.0), integrator=integrator)
    for stop in (1.0, 7.0):  # in the middle of an arc, away from where the step to an event would be cut short
        simulation = cs.Simulation.resume(cs.simulate(system, START, (0.0, stop), integrator=integrator))
        simulation.advance_to(9.0)
        same(whole, simulation.trajectory)


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
