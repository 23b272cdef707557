"""Runs of many bodies in groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import contactsim as cs

TILTED = np.array([0.1, 0.2, 0.3])


def ball(**given: float) -> cs.Robot:
    return cs.Robot.sphere(0.5, 0.05, friction=0.4, **given)


def world(robots: list[cs.Robot], states: list[tuple[tuple[float, float, float], tuple[float, ...]]]) -> tuple:
    """A system of bodies a, b, c, ..., and their state: positions, and velocities in their own axes."""
    names = [chr(ord("a") + k) for k in range(len(robots))]
    merged = cs.Robot.merge(robots, names)
    packed = {
        name: (np.r_[place, np.zeros(3), 1.0], np.array(speed))
        for name, (place, speed) in zip(names, states, strict=True)
    }
    return cs.ContactSystem(merged), cs.State(*merged.pack(packed))


def alone(robot: cs.Robot, state: tuple[tuple[float, float, float], tuple[float, ...]]) -> tuple:
    place, speed = state
    return cs.ContactSystem(robot), cs.State(np.r_[place, np.zeros(3), 1.0], np.array(speed))


def farthest(system: cs.ContactSystem, one: cs.Trajectory, two: cs.Trajectory, times: np.ndarray) -> float:
    space = system.space()
    return max(np.abs(space.difference(system.pack(one(t)), system.pack(two(t)))).max() for t in times)


def landings(run: cs.Trajectory) -> dict[str, list[float]]:
    """{contact: times at which it closes}; what happens to two groups at one instant are two events."""
    found: dict[str, list[float]] = {}
    for event in run.all_events:
        for kind, contact in (name for name in event.fired if isinstance(name, tuple)):
            if kind == "gap":
                found.setdefault(run.system.world.mechanism.all_names[contact], []).append(event.time)
    return found


def demand_same_events(one: cs.Trajectory, two: cs.Trajectory) -> None:
    first, second = landings(one), landings(two)
    assert first.keys() == second.keys()
    for name, times in first.items():
        assert times == pytest.approx(second[name], abs=1e-8)


def test_bodies_far_apart_run_as_each_of_them_does_alone() -> None:
    robots = [ball(restitution=0.5), ball(restitution=0.8)]
    states = [((0.0, 0.0, 0.2), (0.1, 0.2, 0.0, 0.0, 3.0, 0.0)), ((1.0, 0.0, 0.3), (-0.3, 0.1, 0.0, 2.0, 0.0, 1.0))]
    system, state = world(robots, states)
    run = cs.simulate_groups(system, state, (0.0, 0.8))
    own = [cs.simulate(*alone(robot, start), (0.0, 0.8)) for robot, start in zip(robots, states, strict=True)]
    assert run.status is cs.Status.FINISHED
    assert run.evaluations == sum(one.evaluations for one in own)
    assert sorted(event.time for event in run.events) == sorted(event.time for one in own for event in one.events)
    final = run.final
    for k, one in enumerate(own):
        assert np.array_equal(final.q[7 * k : 7 * k + 7], one.final.q)
        assert np.array_equal(final.v[6 * k : 6 * k + 6], one.final.v)
    run.check()


@pytest.fixture(scope="module")
def struck() -> tuple[cs.ContactSystem, cs.State, cs.Trajectory, cs.Trajectory]:
    """A ball rolls into another one that bounces, and a third one is never met."""
    robots = [ball(restitution=0.3)] * 3
    states = [
        ((0.0, 0.0, 0.06), (1.0, 0.1, 0.0, 3.0, 12.0, 1.0)),
        ((0.4, 0.01, 0.12), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)),
        ((0.0, 1.0, 0.1), (0.0, 0.2, 0.0, 0.0, 0.0, 2.0)),
    ]
    system, state = world(robots, states)
    span = (0.0, 0.6)
    return system, state, cs.simulate_groups(system, state, span), cs.simulate(system, state, span)


def test_bodies_that_meet_move_as_in_a_run_of_the_whole(struck: tuple) -> None:
    system, _, run, whole = struck
    assert any("a/ball+b/ball" in event.impulses for event in run.events)
    demand_same_events(run, whole)
    assert farthest(system, run, whole, np.linspace(0.0, 0.6, 41)) < 2e-8
    assert run.mode_at(0.6) == whole.mode_at(0.6)
    run.check()


def test_the_trajectory_is_continuous_between_its_events(struck: tuple) -> None:
    system, _, run, _ = struck
    space = system.space()
    for arc in run.arcs:
        ends = [segment(segment.t1) for segment in arc.segments[:-1]]
        starts = [segment(segment.t0) for segment in arc.segments[1:]]
        gaps = [np.abs(space.difference(end, start)).max() for end, start in zip(ends, starts, strict=True)]
        assert max(gaps, default=0.0) < 1e-10
    for before, after in zip(run.arcs[:-1], run.arcs[1:], strict=True):
        assert before.mode == before.event.mode_pre and after.mode == before.event.mode_post
        assert np.abs(space.difference(before.event.x_post, after(after.t0))).max() < 1e-12
        assert np.abs(space.difference(before(before.t1), before.event.x_pre)).max() < 1e-12


def test_its_derivative_is_that_of_the_whole(struck: tuple) -> None:
    _, _, run, whole = struck
    one, two = (cs.linearize(one).matrix() for one in (run, whole))
    assert np.abs(one - two).max() < 1e-6 * np.abs(two).max()


def test_it_is_stored_and_loaded(struck: tuple, tmp_path: Path) -> None:
    system, _, run, _ = struck
    run.save(tmp_path / "run.nc")
    loaded = cs.Trajectory.load(tmp_path / "run.nc")
    assert farthest(system, run, loaded, np.linspace(0.0, 0.6, 21)) < 1e-11
    with pytest.raises(cs.InputError, match="does not say how it was made"):
        cs.Simulation.resume(loaded)


def test_the_same_run_is_the_same_to_the_bit(struck: tuple) -> None:
    system, state, run, _ = struck
    again = cs.simulate_groups(system, state, (0.0, 0.6))
    assert np.array_equal(again.final_x, run.final_x) and again.evaluations == run.evaluations


def test_boxes_that_stack_and_a_wall() -> None:
    box = cs.Robot.box(1.0, (0.1, 0.1, 0.1), friction=0.5)
    wall = cs.Robot.box(1.0, (0.1, 1.0, 0.4), name="wall", root="fixed", friction=0.5)
    merged = cs.Robot.merge(
        [wall, box, box, box], ["wall", "a", "b", "c"], placements=[(0.5, 0.0, 0.2), None, None, None]
    )
    system = cs.ContactSystem(merged)
    at = {"a": (0.0, 0.0, 0.06), "b": (0.01, 0.02, 0.2), "c": (0.3, 0.0, 0.05)}
    speeds = {"c": (1.5, 0.0, 0.0, 0.0, 0.0, 0.0)}
    state = cs.State(
        *merged.pack({k: (np.r_[p, 0.0, 0.0, 0.0, 1.0], np.array(speeds.get(k, (0.0,) * 6))) for k, p in at.items()})
    )
    run, whole = (function(system, state, (0.0, 0.4)) for function in (cs.simulate_groups, cs.simulate))
    closed = landings(run)
    assert any("wall" in name for name in closed) and any(name.startswith("a/") and "+b/" in name for name in closed)
    demand_same_events(run, whole)
    assert farthest(system, run, whole, np.linspace(0.0, 0.4, 21)) < 1e-8
    run.check()


def test_bodies_are_not_missed_that_an_impact_sends_to_each_other() -> None:
    """A ball that bounces off another one hits a third one which lay still: nobody could foresee that."""
    robots = [ball(restitution=1.0)] * 3
    states = [
        ((0.0, 0.0, 1.0), (3.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
        ((0.2, 0.0, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
        ((0.4, 0.02, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    ]
    system, state = world(robots, states)
    run, whole = (function(system, state, (0.0, 0.2)) for function in (cs.simulate_groups, cs.simulate))
    assert [event.contacts for event in run.events] == [("a/ball+b/ball",), ("b/ball+c/ball",)]
    assert farthest(system, run, whole, np.linspace(0.0, 0.2, 21)) < 1e-9


def test_changed_coefficients_and_rolling_friction() -> None:
    robots = [ball(rolling=0.002, torsion=0.001)] * 2
    states = [((0.0, 0.0, 0.06), (1.0, 0.1, 0.0, 0.0, 5.0, 1.0)), ((0.25, 0.02, 0.07), (0.1, 0.0, 0.0, 2.0, 0.0, 3.0))]
    system, state = world(robots, states)
    system = system.with_coefficients(
        0.5 * system.world.own_friction[0], 0.5 * system.world.own_friction[1], system.world.restitution + 0.3
    )
    run, whole = (function(system, state, (0.0, 0.4)) for function in (cs.simulate_groups, cs.simulate))
    demand_same_events(run, whole)
    assert "a/ball+b/ball" in landings(run)
    assert farthest(system, run, whole, np.linspace(0.0, 0.4, 21)) < 1e-8


def test_what_was_computed_is_kept_where_the_run_is_interrupted(struck: tuple) -> None:
    system, state, run, _ = struck

    def press(t: float) -> None:
        if t > 0.1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as pressed:
        cs.simulate_groups(system, state, (0.0, 0.6), progress=press)
    kept = pressed.value.trajectory  # type: ignore[attr-defined]
    assert kept.status is cs.Status.INTERRUPTED and 0.1 < kept.arcs[-1].t1 < 0.6
    assert farthest(system, kept, run, np.linspace(0.0, 0.1, 5)) < 1e-12


def test_what_is_not_run_in_groups() -> None:
    robots, states = [ball()] * 2, [((0.0, 0.0, 0.2), (0.0,) * 6), ((1.0, 0.0, 0.2), (0.0,) * 6)]
    system, state = world(robots, states)
    with pytest.raises(cs.InputError, match="world of several bodies"):
        cs.simulate_groups(cs.ContactSystem(ball()), alone(ball(), states[0])[1], (0.0, 0.1))
    driven = cs.ContactSystem(system.robot, controller=lambda t, q, v: np.zeros(12))
    with pytest.raises(cs.InputError, match="it has a controller"):
        cs.simulate_groups(driven, state, (0.0, 0.1))
    soft = cs.ContactSystem(system.robot, law="spring-damper")
    with pytest.raises(cs.InputError, match="its law is compliant"):
        cs.simulate_groups(soft, state, (0.0, 0.1))
    with pytest.raises(cs.InputError, match="reversed or empty"):
        cs.simulate_groups(system, state, (0.1, 0.1))
