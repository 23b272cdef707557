"""The margin of contacts that stick redundantly, and derivatives of runs in which they break away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import contactsim as cs
from contactsim.common.arrays import Array
from contactsim.hybrid.mode_directions import flow_at

SHARP = cs.Tolerances(rtol=1e-11, atol=1e-13)
MARGIN = ("forces", -1)
PUSH = 4.2  # N, under which the smallest forces of the corners are not inside their cones


def pushed_box(friction: float = 0.5, strength: float = 8.0) -> cs.ContactSystem:
    """A box on four corners, one of which has a friction of its own, which is pushed and turned more and more."""

    def push(t: float, q: Array, v: Array) -> Array:
        return np.array([strength * t, 2.0 * t, 0.0, 0.0, 0.0, 0.3 * t]) - 0.5 * v

    robot = cs.Robot.box(1.0, (0.2, 0.3, 0.1), friction=0.5)
    system = cs.ContactSystem(robot, controller=push, tolerances=SHARP)
    return system.with_parameter("contact.box/0.friction", friction)


def start(system: cs.ContactSystem) -> cs.State:
    return cs.State(system.robot.nominal, np.zeros(6))


def leaning(t: float, q: Array, v: Array) -> Array:
    """Forces that depend on the place, so that the margin does."""
    return np.array([PUSH + 40.0 * q[0] - t, 0.7 + 30.0 * q[1], 0.0, 0.0, 0.0, 0.2 + q[1]]) - v


@pytest.mark.parametrize("friction", [0.5, 0.3])
def test_the_slope_of_the_margin_is_that_of_differences(friction: float) -> None:
    """By the state, by time and by friction."""
    robot = cs.Robot.box(1.0, (0.2, 0.3, 0.1), friction=0.5)
    system = cs.ContactSystem(robot, controller=leaning).with_parameter("contact.box/0.friction", friction)
    arc = cs.simulate(system, start(system), (0.0, 0.01)).arcs[0]
    x, h, space = system.pack(start(system)), 1e-4, system.space()

    def margin(own: cs.ContactSystem, t: float, x: Array) -> float:
        flow = flow_at(own, arc.mode, t, x)
        return float(np.asarray(flow.guards(t, x))[flow.guard_names.index(MARGIN)])

    def slope(value: Callable[[float], float]) -> float:
        return (value(h) - value(-h)) / (2.0 * h)

    flow = flow_at(system, arc.mode, 0.0, x)
    by_state = [slope(lambda e, way=way: margin(system, 0.0, space.integrate(x, e * way))) for way in np.eye(12)]
    (row,) = flow.guard_jacobian(0.0, x, (MARGIN,))
    np.testing.assert_allclose(row, by_state, atol=1e-4)  # margins are known to 1e-8 N
    assert flow.guard_by_time is not None
    assert flow.guard_by_time(0.0, x, MARGIN) == pytest.approx(slope(lambda e: margin(system, e, x)), abs=1e-4)
    for name in ("contact.box/0.friction", "contact.box/2.friction", "body.box.mass"):
        own = system.parameter(name)
        (known,) = system.guard_by_parameters(flow, 0.0, x, MARGIN, (name,)).values()
        change = slope(lambda e, name=name, own=own: margin(system.with_parameter(name, own + e), 0.0, x))
        assert known == pytest.approx(change, abs=1e-4)


def test_runs_have_their_derivatives_where_redundant_contacts_break_away() -> None:
    """Against central differences, by friction of corners and by mass."""
    system, h = pushed_box(0.3), 1e-3
    begin = start(system)
    run = cs.simulate(system, begin, (0.0, 0.65))
    (event,) = run.events
    assert [modes[1] for modes in event.transitions.values()] == [cs.Mode.SLIP] * 4

    def end(name: str, off: float) -> Array:
        return cs.simulate(system.with_parameter(name, system.parameter(name) + off), begin, (0.0, 0.65)).final_x

    derivative, space = cs.linearize(run), system.space()
    for name in ("contact.box/0.friction", "body.box.mass"):
        one, two = (space.difference(end(name, -e), end(name, e)) / (2.0 * e) for e in (h, 2.0 * h))
        np.testing.assert_allclose(derivative.parameter(name), (4.0 * one - two) / 3.0, rtol=1e-6, atol=1e-6)
