"""Equations of motion island by island: the motion is that of all contacts together."""

import numpy as np
import pytest

import contactsim as cs
from contactsim.contact_dynamics import islands
from contactsim.contact_dynamics.islands import islands_of


def bodies() -> tuple[cs.ContactSystem, cs.State]:
    """Two boxes on each other, a box that slides and spins, a ball that rolls, and one in flight."""
    box, ball = cs.Robot.box(0.5, (0.1, 0.12, 0.1), friction=0.4), cs.Robot.sphere(0.3, 0.05, friction=0.4)
    names = ["low", "high", "slides", "rolls", "flies"]
    world = cs.Robot.merge([box, box, box, ball, ball], names=names)
    places = [(0.0, 0.0, 0.05), (0.01, 0.02, 0.15), (0.4, 0.0, 0.05), (0.8, 0.0, 0.05), (1.2, 0.0, 0.2)]
    speeds = np.zeros((5, 6))
    speeds[2], speeds[3], speeds[4] = (0.5, 0.2, 0, 0, 0, 0.3), (0.5, 0, 0, 0, 10.0, 0), (0, 0, 0, 1.0, 2.0, 3.0)
    start = {
        name: (np.r_[place, 0.0, 0.0, 0.0, 1.0], speed)
        for name, place, speed in zip(names, places, speeds, strict=True)
    }
    return cs.ContactSystem(world), cs.State(*world.pack(start))


def test_islands_share_the_velocities_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(islands, "FEW", 0)
    system, state = bodies()
    run = cs.simulate(system, state, (0.0, 1e-3))
    closed = run.arcs[-1].mode.closed
    found = islands_of(system.world, system.world.mechanism.trees, closed)
    joints = [{system.world.mechanism.joints_of(i) for i in island.contacts} for island in found]
    assert [len(island.velocities) for island in found] == [12, 6, 6, 6]
    assert [len(of) > 0 for of in joints] == [True, True, True, False]
    np.testing.assert_array_equal(np.sort(np.concatenate([island.velocities for island in found])), range(30))
    assert sorted(i for island in found for i in island.contacts) == list(closed)


@pytest.mark.parametrize("few", [0, 48])
def test_motion_is_that_of_all_together(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(islands, "FEW", few)
    runs = []
    for apart in (True, False):
        if not apart:
            monkeypatch.setattr(islands, "islands_of", lambda world, trees, closed: ())
        system, state = bodies()
        runs.append(cs.simulate(system, state, (0.0, 0.25)))
    one, other = runs
    assert one.status is other.status is cs.Status.FINISHED
    assert [event.transitions for event in one.events] == [event.transitions for event in other.events]
    assert len(one.events) > 1
    np.testing.assert_allclose([e.time for e in one.events], [e.time for e in other.events], rtol=0, atol=1e-9)
    np.testing.assert_allclose(one(0.25).q, other(0.25).q, rtol=0, atol=1e-9)
    for t in (0.05, 0.2):
        ours, theirs = one.forces(t), other.forces(t)
        for name, force in ours.items():
            np.testing.assert_allclose(force, theirs[name], rtol=0, atol=1e-6)
