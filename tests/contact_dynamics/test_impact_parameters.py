"""Derivatives of runs by the parameters of impacts, restitution above all, under the laws of several stages."""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from builders import TIGHT, planar_body, single_body
from tolerances import PARAMETER

import contactsim as cs

Array = np.ndarray
LAWS = ("poisson", "energetic", "sequential")
STEP = 1e-4  # of a parameter in differences of whole runs: every run meets the same events in the same modes
BEHIND = 0.01  # s after an impact
EXACT = cs.Tolerances(**TIGHT)


def assert_parameter(system: cs.ContactSystem, start: cs.State, end: float, name: str) -> cs.Trajectory:
    """D x(T) / D p against differences of fourth order of whole runs that meet the same events."""
    run = cs.simulate(system, start, (0.0, end), tolerances=EXACT)
    found = cs.linearize(run, tolerances=cs.Tolerances(rtol=1e-11, atol=1e-12)).parameter(name)
    words, ends = [event.transitions for event in run.events], []
    for k in (-2, -1, 1, 2):
        varied = system.with_parameter(name, system.parameter(name) + k * STEP)
        near = cs.simulate(varied, start, (0.0, end), tolerances=EXACT)
        assert [event.transitions for event in near.events] == words
        ends.append(system.space().difference(run.final_x, near.final_x))
    expected = (8.0 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / (12.0 * STEP)
    assert np.abs(expected).max() > 1e-3  # the parameter matters
    np.testing.assert_allclose(found, expected, rtol=0, atol=PARAMETER * np.abs(expected).max())
    return run


def box(e: float = 0.5) -> cs.Robot:
    model = single_body(pin.JointModelFreeFlyer(), 1.5, (0.02, 0.03, 0.04), "body")
    places = [(0.2, 0.1, -0.1), (-0.2, 0.15, -0.1), (0.0, -0.2, -0.1)]
    points = [cs.ContactPoint("body", at, friction=0.35, restitution=e, name=f"p{k}") for k, at in enumerate(places)]
    return cs.Robot(model, contacts=points)


NAMES = ("contact.restitution", "contact.p1.restitution", "contact.friction", "body.body.mass")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", NAMES)
def test_bounces_of_a_body_in_space(law: str, name: str) -> None:
    """Two corners, one after the other; each rebounds, with slip that stops or turns."""
    turn = pin.exp3(np.array([0.15, -0.1, 0.3]))
    start = cs.State([0, 0, 0.35, *pin.Quaternion(turn).coeffs()], [0.4, -0.3, 0.0, 0.5, -0.8, 0.3])
    system = cs.ContactSystem(box(), law=law)
    if name == "body.body.mass":  # a push, since a heavier body falls and bounces in the same way
        system = system.with_push("body", (2.0, 0.0, -1.0), 1.0)
    run = assert_parameter(system, start, 0.24, name)
    assert sum(bool(event.impulses) for event in run.events) >= 2


def plank(friction: float, e: tuple[float, float], moment: float = 0.06) -> cs.Robot:
    """A plank in a plane with a contact at either end."""
    b, h = 0.4, 0.05
    body = planar_body(1.0, moment, {"left": (b, -h)}, friction, 0.0)
    points = [
        cs.ContactPoint("body", offset=(sign * b, 0.0, -h), friction=friction, restitution=value, name=name)
        for name, sign, value in (("left", 1.0, e[0]), ("right", -1.0, e[1]))
    ]
    return cs.Robot(body.model, contacts=points)


def tilted(angle: float = 0.2) -> cs.State:
    """A plank above the ground that falls on its left end first."""
    return cs.State([0.0, 0.4 * np.sin(angle) + 0.05 * np.cos(angle) + 0.02, angle], [0.3, 0.0, 0.0])


@cache
def landed(law: str, friction: float) -> tuple[cs.ContactSystem, float]:
    """The plank, whose left end stays down, and when its right end lands."""
    system = cs.ContactSystem(plank(friction, (0.0, 0.6)), law=law)
    whole = cs.simulate(system, tilted(), (0.0, 0.3), tolerances=EXACT)
    return system, next(event.time for event in whole.events if event.impulses and event.mode_pre.closed)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("friction", [0.05, pytest.param(0.3, marks=pytest.mark.slow_in_python), 1.0])
@pytest.mark.parametrize("name", ["contact.right.restitution", "contact.friction", "gravity"])
def test_an_impact_beside_a_closed_corner(law: str, friction: float, name: str) -> None:
    """The left end stays down where it has landed; the right one lands and bounces, in one impact of both contacts."""
    system, landing = landed(law, friction)
    assert_parameter(system, tilted(), landing + BEHIND, name)
