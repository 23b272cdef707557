"""Runs whose velocities change by other forces and impulses than they tell of fail their check."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.contact_dynamics.contact_rows import ContactEvent, PostEvent
from contactsim.contact_dynamics.rigid_flow import RigidFlow
from contactsim.contact_dynamics.transitions import RigidContacts
from contactsim.contact_dynamics.world import World

Array = np.ndarray
Spoil = Callable[[World, Array, Array], None]


def thrown() -> cs.Trajectory:
    """A box that tumbles over its corners."""
    box = cs.Robot.box(1.0, (0.2, 0.3, 0.1), friction=0.4, restitution=0.5)
    turn = pin.Quaternion(pin.exp3(np.array([0.3, 0.2, 0.1]))).coeffs()
    start = cs.State(np.r_[0.0, 0.0, 0.2, turn], [0.5, 0.2, -0.5, 1.0, 0.5, 2.0])
    return cs.simulate(cs.ContactSystem(box), start, (0.0, 0.25), engine="python")


def sideways(world: World, before: Array, after: Array) -> None:
    world.v(after)[0] += 0.01


def too_much(world: World, before: Array, after: Array) -> None:
    world.v(after)[:] += 0.02 * (world.v(after) - world.v(before))


def turned(world: World, before: Array, after: Array) -> None:
    world.v(after)[5] += 0.5


def elsewhere(world: World, before: Array, after: Array) -> None:
    world.q(after)[2] += 1e-4


@pytest.mark.parametrize(
    ("spoil", "law"),
    [(sideways, "impulses"), (too_much, "impulses"), (turned, "impulses"), (elsewhere, "leaps")],
)
def test_impacts_that_change_more_than_they_tell(monkeypatch: pytest.MonkeyPatch, spoil: Spoil, law: str) -> None:
    thrown().check()
    record = RigidContacts.recorded

    def spoilt(own: RigidContacts, x: Array, event: ContactEvent, then: PostEvent) -> object:
        if then.impact is not None:
            after = then.x.copy()
            spoil(own._world, x, after)
            then = then._replace(x=after)
        return record(own, x, event, then)

    monkeypatch.setattr(RigidContacts, "recorded", spoilt)
    with pytest.raises(cs.CheckError, match=law) as told:
        thrown().check()
    event = told.value.problem["event"]
    changed = next(iter(event.transitions))
    assert f" in the event at {event.time:.9g} s ({changed}: open -> " in str(told.value)
    assert "no finer step mends a jump" in str(told.value) and "rtol" not in str(told.value)


def test_a_force_that_does_no_work_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The balance of energy knows nothing of it."""
    field = RigidFlow.field

    def magnetic(own: RigidFlow, t: float, x: Array) -> Array:
        rate = field(own, t, x).copy()
        rate[6:9] += 0.05 * np.cross([0.0, 0.0, 1.0], x[7:10])
        return rate

    monkeypatch.setattr(RigidFlow, "field", magnetic)
    traj = thrown()
    with pytest.raises(cs.CheckError, match="momentum"):
        traj.check()
    with pytest.raises(cs.CheckError, match=r"momentum balance .*; a run with less than rtol 1e-08"):
        traj.check()
    assert traj.check(raise_errors=False)["energy balance [relative]"] <= 1e-6


def test_slips_that_stop_take_no_impulse_that_is_told() -> None:
    ball = cs.ContactSystem(cs.Robot.sphere(1.0, 0.1, friction=0.3))
    rolls = cs.simulate(ball, cs.State([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0], [1.0, 0.3, 0.0, 1.0, 2.0, 3.0]), (0.0, 0.5))
    assert rolls.events[0].impulses == {}
    assert rolls.check()["impulses of jumps [relative]"] <= 1e-12


@pytest.mark.slow_in_python
def test_a_corner_that_takes_over_from_a_stuck_edge_takes_none_either() -> None:
    """It is RIM beyond the point that stands still, where that moves at RIM times 43 rad/s; and it opens at once."""
    rng = np.random.default_rng([2, 11])
    hull = cs.Robot.hull(1.0, rng.uniform(-1.0, 1.0, (12, 3)) * [0.08, 0.06, 0.05], friction=0.6)
    axis, angle, place = rng.normal(size=3), rng.uniform(0.0, 3.0), rng.uniform(-1.0, 1.0, 2)
    q = [*place, 0.2, *np.sin(0.5 * angle) * axis / np.linalg.norm(axis), np.cos(0.5 * angle)]
    nodes, heights = np.linspace(-3.0, 3.0, 25), 0.02 * np.random.default_rng(4).normal(size=(25, 25))
    system = cs.ContactSystem(hull, terrain=cs.terrain.HeightField(nodes, nodes, heights))
    tumbles = cs.simulate(system, cs.State(q, [*0.2 * rng.normal(size=3), *rng.normal(size=3)]), (0.0, 0.184))
    assert tumbles.events[-1].transitions["hull/edge14"] == (cs.Mode.STICK, cs.Mode.OPEN)
    assert tumbles.check()["impulses of jumps [relative]"] <= 1e-11


@pytest.mark.parametrize("speed", [0.0, 1e-3])
def test_what_slips_on_beside_a_stop_is_moved_by_nothing_else(monkeypatch: pytest.MonkeyPatch, speed: float) -> None:
    """Two balls: the one comes to roll while the other slides on, and is pushed aside by what no event tells of."""
    balls = cs.Robot.merge([cs.Robot.sphere(1.0, 0.1, friction=0.3, name=name) for name in ("one", "other")])
    places = np.array([[0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]])
    velocities = [0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    record = RigidContacts.recorded

    def spoilt(own: RigidContacts, x: Array, event: ContactEvent, then: PostEvent) -> object:
        if "stop" in event.kinds.values():
            then = then._replace(x=then.x.copy())
            own._world.v(then.x)[7] += speed
        return record(own, x, event, then)

    monkeypatch.setattr(RigidContacts, "recorded", spoilt)
    start = cs.State(places.ravel(), velocities)
    run = cs.simulate(cs.ContactSystem(balls), start, (0.0, 0.1), engine="python")
    assert any(("stop", 0) in event.fired for event in run.all_events)
    found = run.check(raise_errors=False)["impulses of jumps [relative]"]
    assert found > 1e-8 if speed else found <= 1e-12
