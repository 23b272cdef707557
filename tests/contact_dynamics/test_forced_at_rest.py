"""Bodies at rest while time acts: nothing keeps their steps short, and yet contacts and latches open in time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
from builders import point_mass, single_body

import contactsim as cs

Array = np.ndarray
G, MU = 9.81, 0.5
SHARE = 0.98  # of the largest force, at which the contact gives way: for a short while in each period
FREQUENCIES = (0.5, 1.0, 3.0, 7.0, 12.76, 25.0, 60.0)
PHASES = np.linspace(-3.0, 1.0, 9)
TIMING = 1e-9  # s


def sine(frequency: float, phase: float, largest: float, axis: int) -> Callable[[float, Array, Array], Array]:
    """A force of time alone on a mass."""
    along = largest * np.eye(3)[axis]
    return lambda t, q, v: np.sin(frequency * t + phase) * along


def first_event(system: cs.ContactSystem, start: cs.State) -> float:
    """Time [s] of the first one."""
    run = cs.simulate(system, start, (0.0, 8.0), max_events=1)
    return run.events[0].time if run.events else np.inf


REST = cs.State(np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_a_pull_upwards_lifts(frequency: float) -> None:
    """m g / 0.98 sin(w t + phase) exceeds the weight for a fifteenth of each period."""
    found, wanted = [], []
    for phase in PHASES:
        system = cs.ContactSystem(point_mass(MU), controller=sine(frequency, phase, G / SHARE, 2))
        found.append(first_event(system, REST))
        wanted.append((np.arcsin(SHARE) - phase) / frequency)
    seen = np.array(wanted) < 8.0
    assert np.array(found)[seen] == pytest.approx(np.array(wanted)[seen], abs=TIMING)


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_a_drag_to_and_fro_moves(frequency: float) -> None:
    """mu m g / 0.98 sin(w t + phase) leaves the cone at either side."""
    found, wanted = [], []
    for phase in PHASES[np.abs(np.sin(PHASES)) < SHARE]:
        system = cs.ContactSystem(point_mass(MU), controller=sine(frequency, phase, MU * G / SHARE, 0))
        found.append(first_event(system, REST))
        turns = np.arcsin(SHARE) + np.pi * np.arange(-2, 3)  # where |sin| rises to it
        wanted.append(min(turn - phase for turn in turns if turn > phase) / frequency)
    assert found == pytest.approx(wanted, abs=TIMING)


KP = 1e4  # N/m
REACH = G / KP / SHARE  # m, by which the reference of a drive has to rise before it lifts the mass


def slide() -> cs.Robot:
    """A mass of 1 kg on a vertical slide."""
    model = single_body(pin.JointModelPZ(), 1.0, (0.01, 0.01, 0.01), "mass")
    return cs.Robot(model, contacts=[cs.ContactPoint("mass", name="point")])


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_a_reference_that_swings_lifts(frequency: float) -> None:
    """As soon as kp r sin(w t - 2) is m g."""
    robot = slide()
    hold = cs.PD(robot, lambda t: np.array([REACH * np.sin(frequency * t - 2.0)]), kp=KP, kd=0.0)
    found = first_event(cs.ContactSystem(robot, controller=hold), cs.State(np.zeros(1), np.zeros(1)))
    assert found == pytest.approx((np.arcsin(SHARE) + 2.0) / frequency, abs=TIMING)


@pytest.mark.parametrize("duration", (0.1, 1.0, 3.0, 8.0))
def test_a_reference_in_pieces_lifts(duration: float) -> None:
    """As soon as kp r (1 - s^2) is m g, with s from -1 to 1."""
    robot = slide()
    coefficients = REACH * np.array([[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]])
    hold = cs.PD(robot, cs.PiecewiseReference(np.array([0.0, duration]), coefficients, 1), kp=KP, kd=0.0)
    found = first_event(cs.ContactSystem(robot, controller=hold), cs.State(np.zeros(1), np.zeros(1)))
    assert found == pytest.approx(0.5 * duration * (1.0 - np.sqrt(1.0 - SHARE)), abs=TIMING)


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_a_latch_that_time_opens_for_a_moment_opens(frequency: float) -> None:
    """It holds the mass from 10 ms on, until 0.98 - sin(w t + phase) falls through zero."""
    free, found, wanted = cs.Robot(slide().model, []), [], []
    for phase in PHASES:
        if np.sin(0.01 * frequency + phase) > SHARE:
            continue
        latch = cs.Latch(
            joint="mass_joint",
            hold=True,
            closes=0.01,
            opens=lambda t, q, v, phase=phase: SHARE - np.sin(frequency * t + phase),
        )
        system = cs.ContactSystem(free, latches=[latch])
        run = cs.simulate(system, cs.State(np.zeros(1), np.zeros(1)), (0.0, 8.0), max_events=2)
        found.append(run.events[1].time if len(run.events) > 1 else np.inf)
        turns = (np.arcsin(SHARE) - phase + 2.0 * np.pi * np.arange(2)) / frequency
        wanted.append(turns[turns > 0.01].min())
    seen = np.array(wanted) < 8.0
    assert np.array(found)[seen] == pytest.approx(np.array(wanted)[seen], abs=TIMING)
