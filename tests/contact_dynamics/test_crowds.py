"""Of very many contacts those are watched that are near; a run is the same."""

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.contact.modes import OPEN, ContactState, Mode, States, SystemMode
from contactsim.multibody.configuration_space import twist_in_chart, twists_in_chart
from contactsim.multibody.kinematics import bound_robot, bound_world
from contactsim.multibody.mechanism import JointPath
from contactsim.multibody.terrain import Flat

Array = np.ndarray

CORNERS = 0.05 * np.array([(1, 0, 0), (-1, 0.2, 0), (0.1, 1, 0), (0, -1, 0.3), (0.2, 0.1, 1), (0, 0, -1)])


def three_hulls() -> tuple[cs.ContactSystem, cs.State]:
    """One on the ground, one that falls onto it, and one that comes from far."""
    bodies = [cs.Robot.hull(0.5, CORNERS.tolist(), friction=0.4) for _ in range(3)]
    world = cs.Robot.merge(bodies, names=["a", "b", "c"])
    start = {
        "a": (np.r_[0.0, 0.0, 0.055, 0.0, 0.0, 0.0, 1.0], np.zeros(6)),
        "b": (np.r_[0.01, 0.0, 0.17, 0.0, 0.0, 0.0, 1.0], np.zeros(6)),
        "c": (np.r_[0.5, 0.02, 0.1, 0.0, 0.0, 0.0, 1.0], np.r_[-4.0, 0.0, 0.6, 0.0, 0.0, 0.0]),
    }
    return cs.ContactSystem(world), cs.State(*world.pack(start))


@pytest.mark.slow_in_python
def test_contacts_that_are_far_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    for many in (1, 10**9):
        monkeypatch.setattr(bound_world, "MANY", many)
        system, state = three_hulls()
        assert len(system.world.mechanism.skippable) == (0 if many > 1 else len(system.world.mechanism.pair_names))
        runs.append(cs.simulate(system, state, (0.0, 0.16)))
    few, all_ = runs
    assert few.status is all_.status is cs.Status.FINISHED
    touched = {name for event in all_.events for name in event.transitions if "+" in name}
    assert any("a/" in name and "b/" in name for name in touched) and any("c/" in name for name in touched)
    assert [event.transitions for event in few.events] == [event.transitions for event in all_.events]
    np.testing.assert_allclose([e.time for e in few.events], [e.time for e in all_.events], rtol=0, atol=1e-10)
    np.testing.assert_allclose(few(few.t[-1]).q, all_(all_.t[-1]).q, rtol=0, atol=1e-8)


def test_states_of_very_many_contacts_are_those_that_are_not_open() -> None:
    stick, waits = ContactState(Mode.STICK, region=(1, 2)), ContactState(until=0.5)
    given = [OPEN] * 2000
    given[7], given[1999], given[3] = stick, stick, waits
    mode, few = SystemMode(tuple(given)), SystemMode(tuple(given[:10]))
    assert isinstance(mode.contacts, States) and isinstance(few.contacts, tuple)
    assert list(mode.contacts) == given and len(mode.contacts) == 2000 and mode.contacts[-1] is stick
    assert mode.contacts[:10] == few.contacts and mode.contacts == tuple(given)
    assert mode.closed == (7, 1999) and few.closed == (7,)
    assert mode.limits == few.limits == (0.5,) and mode.regions == {7: (1, 2), 1999: (1, 2)}
    given[7] = OPEN
    assert mode == SystemMode(tuple(mode.contacts)) and mode != SystemMode(tuple(given))
    assert hash(mode) == hash(SystemMode(tuple(mode.contacts)))
    with pytest.raises(IndexError):
        mode.contacts[2000]


def test_modes_of_very_many_contacts_are_told_by_those_that_are_closed() -> None:
    given = [OPEN] * 2000
    assert str(SystemMode(tuple(given))) == "(open)"
    given[7], given[1999] = ContactState(Mode.STICK), ContactState(Mode.SLIP)
    assert str(SystemMode(tuple(given))) == "(7: stick, 1999: slip)"


def test_rows_of_many_points_are_those_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    box, ball = cs.Robot.box(0.5, (0.1, 0.2, 0.3), friction=0.4), cs.Robot.sphere(0.3, 0.05, friction=0.4)
    world, rng = cs.Robot.merge([box, ball, box], names=["a", "b", "c"]), np.random.default_rng(2)
    q = world.space.integrate(pin.neutral(world.model), rng.normal(size=18))
    v, found = rng.normal(size=18), []
    for many in (1, 10**9):
        monkeypatch.setattr(bound_robot, "MANY", many)
        mechanism = cs.ContactSystem(world, terrain=Flat(velocity=(0.3, 0.1))).world.mechanism
        chosen = tuple(range(0, 17, 2))
        found.append((*mechanism.terms(0.0, q, v, chosen), mechanism.rates(0.0, q, v, chosen)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_charts_of_many_bodies_are_those_of_each() -> None:
    rng = np.random.default_rng(3)
    for size in (1.0, 0.1, 1e-4, 0.0):
        motion, rate = size * rng.normal(size=(20, 6)), rng.normal(size=(20, 6))
        each = [twist_in_chart(one.tolist(), other.tolist()) for one, other in zip(motion, rate, strict=True)]
        np.testing.assert_allclose(twists_in_chart(motion, rate), each, rtol=0, atol=1e-14)


def test_contacts_that_touch_are_among_the_near_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound_world, "MANY", 1)
    system, state = three_hulls()
    mechanism, rng, touched = system.world.mechanism, np.random.default_rng(4), 0
    for _ in range(20):
        q = mechanism.space.integrate(state.q, 0.03 * rng.normal(size=18))
        touching = set(np.flatnonzero(mechanism.gaps(0.0, q) <= 0.0).tolist())
        counts = []
        for distance in (0.0, 0.02, 10.0):
            found = mechanism.near(0.0, q, distance)
            assert touching <= set(found.tolist()) and np.all(np.diff(found) > 0)
            counts.append(len(found))
        touched += any("+" in mechanism.all_names[i] for i in touching)
        assert counts[0] <= counts[1] < counts[2] == len(mechanism.gaps(0.0, q))
    assert touched > 3


def test_balls_that_touch_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound_world, "MANY", 1)
    world = cs.Robot.merge([cs.Robot.sphere(0.5, 0.05)] * 3, names=["a", "b", "c"])
    places = {name: (np.r_[0.099 * k, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0], np.zeros(6)) for k, name in enumerate("abc")}
    mechanism, (q, _) = cs.ContactSystem(world).world.mechanism, world.pack(places)
    touching = np.flatnonzero(mechanism.gaps(0.0, q) <= 0.0)
    assert len(touching) == 2 and set(touching) <= set(mechanism.near(0.0, q, 0.0).tolist())


def test_modes_change_by_what_is_given() -> None:
    stick, waits = ContactState(Mode.STICK), ContactState(until=0.5)
    for count in (10, 2000):
        mode = SystemMode((OPEN,) * count).changed({3: stick, 7: waits}, redundant=True)
        assert mode.closed == (3,) and mode.limits == (0.5,) and mode.redundant
        back = mode.changed({3: OPEN, 7: OPEN}, redundant=False)
        assert back == SystemMode((OPEN,) * count) and mode.contacts[3] is stick


def falling(speeds: list[float]) -> tuple[cs.ContactSystem, JointPath, Callable[[float], Array]]:
    """Three boxes beside a wall, with these speeds along x [m/s], and where they are within 0.1 s."""
    box = cs.Robot.box(0.5, (0.1, 0.1, 0.1), friction=0.4)
    wall = cs.Robot.box(1.0, (0.02, 2.0, 2.0), root="fixed", friction=0.4)
    world = cs.Robot.merge([wall, box, box, box], names=["wall", "a", "b", "c"], placements=[(-0.5, 0, 0)] + [None] * 3)
    start = {
        name: (np.r_[0.12 * k, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], np.r_[speeds[k], 0.0, -1.0, 0.0, 0.0, 0.0])
        for k, name in enumerate("abc")
    }
    q, v = world.pack(start)
    speed = np.abs(v) + 0.1 * 9.81 * (np.arange(18) % 6 == 2)
    path = JointPath(0.0, 0.1, q, speed, np.zeros(18), lambda: np.zeros(18))

    def at(t: float) -> Array:
        return world.space.integrate(q, v * t - 0.5 * 9.81 * t * t * (np.arange(18) % 6 == 2))

    return cs.ContactSystem(world), path, at


def test_bodies_that_fall_alike_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound_world, "MANY", 1)
    system, path, at = falling([0.0, 0.0, 0.0])
    mechanism = system.world.mechanism
    assert mechanism.approach(path) > 0.3  # a bound by the speeds alone
    assert not len(mechanism.meeting(path, at)[0])


def test_bodies_that_pass_by_in_the_middle_of_a_step_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound_world, "MANY", 1)
    system, path, at = falling([0.0, 0.0, -1.0])
    mechanism = system.world.mechanism
    contacts, ways = mechanism.meeting(path, at)
    joints = {tuple(sorted(mechanism.joints_of(i))) for i in contacts.tolist()}
    assert joints == {(2, 3)}
    gaps = np.array([mechanism.gaps(t, at(t))[contacts] for t in np.linspace(0.0, 0.1, 21)])
    assert gaps.min() < 0.0 and (gaps[0] - gaps.min(axis=0) <= ways).all()
    away = np.setdiff1d(mechanism.skippable, contacts)
    assert all(mechanism.gaps(t, at(t))[away].min() > 0.0 for t in np.linspace(0.0, 0.1, 21))


def test_boxes_of_couples_are_no_farther_apart_than_their_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound_world, "MANY", 1)
    system, path, _ = falling([0.0, 0.0, 0.0])
    mechanism, rng = system.world.mechanism, np.random.default_rng(7)
    corners = np.array([i for i in mechanism.skippable.tolist() if "edge" not in mechanism.names[i]])
    for _ in range(10):
        q = mechanism.space.integrate(path.q, rng.normal(size=18) * np.tile([0.1, 0.1, 0.1, 1.0, 1.0, 1.0], 3))
        gaps = mechanism.gaps(0.0, q)
        for distance in (0.0, 0.03, 0.1):
            near = set(mechanism.near(0.0, q, distance).tolist())
            assert set(corners[gaps[corners] <= distance].tolist()) <= near
            assert set(np.flatnonzero(gaps <= 0.0).tolist()) <= near
        assert len(near) < len(gaps)
