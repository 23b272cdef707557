"""Worlds that stand still while contacts hop: what takes part, and hops that repeat as a geometric series."""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs
from contactsim.contact.modes import OPEN, SystemMode
from contactsim.contact_dynamics import zeno
from contactsim.contact_dynamics.contact_rows import closed_terms
from contactsim.contact_dynamics.resolution import Resolution
from contactsim.contact_dynamics.standstill import Standstill, standstill
from contactsim.contact_dynamics.world import World

G, RADIUS, SHARE, FALL = 9.81, 0.05, 0.3, 1e-5
Hopping = tuple[World, float, np.ndarray, SystemMode, set[int]]


def balls(share: float = SHARE, falls: str = "one") -> Hopping:
    """Two balls that touch each other and the ground, and one far away; one of them hops off the ground."""
    ball = cs.Robot.sphere(0.5, RADIUS, friction=0.4, restitution=share)
    names = ["one", "two", "far"]
    merged = cs.Robot.merge([ball] * 3, names=names)
    places = {"one": 0.0, "two": 2.0 * RADIUS, "far": 1.0}
    start = {name: (np.array([x, 0.0, RADIUS, 0.0, 0.0, 0.0, 1.0]), np.zeros(6)) for name, x in places.items()}
    system = cs.ContactSystem(merged).on_engine("python")
    world, x = system.world, np.concatenate(merged.pack(start))
    mode, contact = system.start(0.0, x).mode, names.index(falls)
    assert len(mode.closed) == 4
    world.v(x)[6 * contact + 2] = -FALL
    then = Resolution(world).land(0.0, x, mode.changed({contact: OPEN}), {contact}, 0.0)
    assert contact not in then.mode.closed
    return world, 0.0, then.x, then.mode, {contact}


def hops_of(still: Standstill, hopping: set[int]) -> zeno._Hops:
    begun = {still.contacts.index(i) for i in hopping}
    return zeno._Hops(Resolution(still.world), 0.0, still.x, still.mode, begun)


def rest_of(still: Standstill, hopping: set[int]) -> float | None:
    begun = {still.contacts.index(i) for i in hopping}
    return zeno.time_to_rest(Resolution(still.world), 0.0, still.x, still.mode, begun)


def test_only_what_moves_each_other_takes_part() -> None:
    world, t, x, mode, hopping = balls()
    still = standstill(world, t, x, mode, hopping)
    names = [world.mechanism.all_names[i] for i in still.contacts]
    assert len(names) == 3 and not any("far" in name for name in names)
    assert still.world.mechanism.names == tuple(names) and len(still.x) == 12
    assert [state.mode for state in still.mode.contacts] == [mode.contacts[i].mode for i in still.contacts]


def test_its_equations_are_those_of_the_world_at_other_velocities() -> None:
    world, t, x, mode, hopping = balls()
    still = standstill(world, t, x, mode, hopping)
    change = np.random.default_rng(0).normal(size=12)
    moved = x.copy()
    world.v(moved)[:12] += change
    for contacts in ((0, 1, 2), (1,)):
        own = closed_terms(still.world, t, still.x + change, contacts).terms
        theirs = closed_terms(world, t, moved, tuple(still.contacts[k] for k in contacts)).terms
        np.testing.assert_allclose(own.rows, theirs.rows[:, :12], rtol=0, atol=1e-14)
        np.testing.assert_allclose(own.rates, theirs.rates, rtol=0, atol=1e-13)
        np.testing.assert_allclose(own.mass, theirs.mass[:12, :12], rtol=0, atol=1e-14)


@pytest.mark.parametrize("share", [0.2, 0.3, 0.8])
def test_hops_under_unchanged_modes_are_a_geometric_series(share: float) -> None:
    """Each is the one before in a ratio r, so that c r / (1 - r) is left behind a hop of c."""
    world, t, x, mode, hopping = balls(share)
    still = standstill(world, t, x, mode, hopping)
    hops, durations = hops_of(still, hopping), list[float]()
    while (alike := hops.alike()) is None:
        durations.append(float(hops.next() or 0.0))
    (count, ratio), followed = alike, len(durations)
    assert count == 1 and followed <= 2 and 0.0 < ratio < 1.0
    durations += [float(hops.next() or 0.0) for _ in range(3)]
    np.testing.assert_allclose(durations[followed - 1 :], durations[followed - 1] * ratio ** np.arange(4), rtol=1e-9)
    rest = sum(durations[:followed]) + durations[followed - 1] * ratio / (1.0 - ratio)
    assert rest_of(still, hopping) == pytest.approx(rest, rel=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.8])
def test_a_ball_alone_rests_at_its_closed_form(share: float) -> None:
    """Hops from v take 2 v / g, and each begins with e times the speed of the one before."""
    world, t, x, mode, hopping = balls(share, "far")
    still = standstill(world, t, x, mode, hopping)
    assert set(still.contacts) == hopping
    assert rest_of(still, hopping) == pytest.approx(2.0 * share * FALL / (G * (1.0 - share)), rel=1e-9)


def test_hops_that_are_followed_come_to_the_same_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """As does the world that moves, all of its contacts with it."""
    world, t, x, mode, hopping = balls()
    still = standstill(world, t, x, mode, hopping)
    found = rest_of(still, hopping)
    monkeypatch.setattr(zeno._Hops, "alike", lambda self: None)
    assert found == pytest.approx(rest_of(still, hopping), rel=1e-6)
    assert found == pytest.approx(zeno.time_to_rest(Resolution(world), t, x, mode, hopping), rel=1e-6)


def test_a_look_alike_but_for_its_scale_is_known_in_it() -> None:
    mode = SystemMode((OPEN, OPEN))
    bend, velocities = np.array([-G, -2.0 * G]), np.array([1e-6, -2e-6, 3e-7])
    before = zeno._Look(0.0, mode, (0, 1), np.array([1e-12, 0.0]), bend, velocities, 2e-6)
    after = before._replace(clock=1e-7, heights=0.25 * before.heights, velocities=0.5 * velocities, speed=1e-6)
    assert after.ratio_to(before) == 0.5
    assert before.ratio_to(after) is None, "hops that grow"
    for other in (
        after._replace(velocities=0.5001 * velocities),
        after._replace(heights=0.5 * before.heights),
        after._replace(bend=1.001 * bend),
        after._replace(hopping=(0,)),
        after._replace(mode=SystemMode((OPEN,))),
    ):
        assert other.ratio_to(before) is None
    assert before._replace(clock=1e-7).ratio_to(before) is None, "hops that take time and do not shrink"
    assert before.ratio_to(before) == 1.0, "hops of no time"
