"""Where a guard falls through zero: hops from below zero, many guards in one step, steep guards, slips that begin."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pytest
from builders import point_mass
from test_accumulation import LIMIT, bouncer, limit_of

import contactsim as cs
from contactsim.common.arrays import Array
from contactsim.contact.modes import Phase
from contactsim.hybrid.event_location import Watch
from contactsim.hybrid.system import Transition

G = 9.81


@pytest.mark.parametrize("depth", [0.0, 5e-14, 5e-12])
def test_hops_that_begin_below_zero_die_out(depth: float) -> None:
    """From a rounding below the floor, hops lower than that, restitution 0.99: t = 2 v / (g (1 - e)), as from zero."""
    e, height = 0.99, 2e-14
    speed = np.sqrt(2.0 * G * height)
    limit = 2.0 * speed / (G * (1.0 - e))
    traj = cs.simulate(bouncer(e, hop=2e-15), cs.State([-depth], [speed]), (0.0, 2.0 * limit))
    assert limit_of(traj).time == pytest.approx(limit, rel=0.05, abs=LIMIT)
    first = traj.events[0]
    assert first.time == pytest.approx(2.0 * speed / G, rel=1e-3)
    assert first.x_pre[0] == pytest.approx(-depth, abs=2e-15)
    assert first.x_pre[1] == pytest.approx(-speed, rel=1e-3)


def test_balls_that_fall_within_one_step_land_in_their_order() -> None:
    """t = sqrt(2 h / g) for each, from heights over five decades; the first step would be longer than most."""
    heights = np.array([3e-4, 1e-8, 2e-6, 1.01e-8, 5e-5, 1e-3])
    n = len(heights)
    gaps = [cs.Gap(lambda t, q, i=i: q[i], lambda t, q, i=i: np.eye(n)[i], name=f"ball {i}") for i in range(n)]
    force = np.full(n, -G)
    system = cs.ContactSystem(cs.Mechanism(n, lambda q: np.eye(n), lambda t, q, v: force, gaps))
    traj = cs.simulate(system, cs.State(heights, np.zeros(n)), (0.0, 0.02))
    landed = [(event.time, *event.transitions) for event in traj.events]
    assert [name for _, name in landed] == [f"ball {i}" for i in np.argsort(heights)]
    np.testing.assert_allclose([t for t, _ in landed], np.sqrt(2.0 * np.sort(heights) / G), atol=2e-12)


class Steep(cs.HybridSystem):
    """x' = 1 towards the guard slope (1 - x^3), which stops it."""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def flow(self, mode: Hashable) -> cs.Flow:
        return Wall(self.slope if mode == "before" else 0.0)

    def start(self, t: float, x: Array) -> Transition:
        return Transition(x, "before")

    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        return Transition(x, "after", {"x": (mode, "after")})


class Wall(cs.Flow):
    def __init__(self, slope: float) -> None:
        self.slope, self.guard_names = slope, ("wall",) if slope else ()

    def field(self, t: float, x: Array) -> Array:
        return np.array([1.0 if self.slope else 0.0])

    def guards(self, t: float, x: Array) -> Array:
        return self.slope * (1.0 - x**3) if self.slope else np.empty(0)


@pytest.mark.parametrize(("slope", "missed"), [(1.0, 1e-9), (1e6, 1e-9), (1e16, 100.0)])
def test_a_steep_guard_is_met_as_closely_as_its_band_or_as_time_is_known(slope: float, missed: float) -> None:
    """The band is 1e-9; a rounding of the time, 2e-16 s, is 3 * 2e-16 * 1e16 = 7 of the last guard."""
    traj = cs.simulate(Steep(slope), np.zeros(1), (0.0, 2.0))
    (event,) = traj.events
    assert event.time == pytest.approx(1.0, abs=1e-12)
    assert abs(slope * (1.0 - event.x_pre[0] ** 3)) <= missed


def test_what_a_start_of_slip_leaves_of_the_velocity_is_not_a_stop() -> None:
    """A mass begins to slip down a slope, v = g (sin a - mu cos a) t; 2.5e-10 m/s of uphill motion have not jumped.

    In a singular configuration no impulse removes the last of a velocity; a slip that is held has really jumped.
    """
    angle, mu, uphill = 0.5, 0.2, 2.5e-10
    system = cs.ContactSystem(point_mass(mu), terrain=cs.terrain.Slope(angle=angle, downhill=(1.0, 0.0)))
    traj = cs.simulate(system, cs.State(np.zeros(3), np.zeros(3)), (0.0, 0.1))
    mode = traj.arcs[0].mode
    assert mode.contacts[0].phase is Phase.INCIPIENT
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    state = np.concatenate([np.zeros(3), -uphill * down])
    flow = system.flow(mode)
    flow.rebase(0.0, state)
    assert not Watch(flow, 0.0, state, cs.Tolerances()).fired_at_start()
    held = replace(mode, contacts=(replace(mode.contacts[0], phase=Phase.DIRECTED),))
    flow = system.flow(held)
    flow.rebase(0.0, state)
    assert Watch(flow, 0.0, state, cs.Tolerances()).fired_at_start() == {("stop", 0)}
    speed = G * (np.sin(angle) - mu * np.cos(angle)) * 0.1
    np.testing.assert_allclose(traj.final.v, speed * down, rtol=1e-9, atol=1e-12)


def test_too_many_events_name_what_bounces() -> None:
    traj = cs.simulate(bouncer(1.0), cs.State([1e-4], [0.0]), (0.0, 10.0), max_events=150)
    assert traj.status is cs.Status.TOO_MANY_EVENTS
    assert "the last 100 events in 0.89 s; floor in 100 of them" in traj.message
