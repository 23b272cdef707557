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


def kick(begin: float, duration: float, force: tuple[float, float, float]) -> Callable[[float, Array, Array], Array]:
    """A force that acts for a while, and jumps at both ends."""
    return lambda t, q, v: np.array(force) if begin <= t < begin + duration else np.zeros(3)


KICK = 20.0  # N, or m/s^2 of the mass of 1 kg
BEGINS = (0.13, 0.9, np.pi / 2, 2.2)
LASTS = (0.006, 0.05, 0.3)  # s


@pytest.mark.parametrize("duration", LASTS)
@pytest.mark.parametrize("begin", BEGINS)
def test_a_kick_moves_a_block_at_rest(begin: float, duration: float) -> None:
    """It breaks away as the kick begins: it gains (F - mu m g) T, and stops after (F / (mu m g) - 1) T."""
    system = cs.ContactSystem(point_mass(MU), controller=kick(begin, duration, (KICK, 0.0, 0.0)))
    run = cs.simulate(system, REST, (0.0, 6.0))
    run.check()
    changes = [event for event in run.events if event.transitions]
    speed = (KICK - MU * G) * duration
    assert [event.time for event in changes] == pytest.approx([begin, begin + duration * KICK / (MU * G)], abs=1e-7)
    assert run.final.q[0] == pytest.approx(0.5 * speed * duration + 0.5 * speed**2 / (MU * G), rel=1e-7)


@pytest.mark.parametrize("duration", LASTS)
@pytest.mark.parametrize("begin", BEGINS)
def test_a_kick_lifts_a_mass_at_rest(begin: float, duration: float) -> None:
    system = cs.ContactSystem(point_mass(MU), controller=kick(begin, duration, (0.0, 0.0, KICK)))
    run = cs.simulate(system, REST, (0.0, 6.0))
    run.check()
    speed = (KICK - G) * duration
    highest = 0.5 * speed * duration + 0.5 * speed**2 / G
    lands = begin + duration + speed / G + np.sqrt(2.0 * highest / G)
    changes = [event for event in run.events if event.transitions]
    assert [event.time for event in changes] == pytest.approx([begin, lands], abs=1e-7)


@pytest.mark.parametrize("duration", LASTS)
@pytest.mark.parametrize("begin", BEGINS)
def test_a_kick_turns_a_flight_aside(begin: float, duration: float) -> None:
    """Nothing keeps the steps of a ballistic flight short, either; nor those of a mechanism without contacts."""
    system = cs.ContactSystem(point_mass(MU), controller=kick(begin, duration, (KICK, 0.0, 0.0)))
    far = KICK * duration * (3.0 - begin - 0.5 * duration)
    run = cs.simulate(system, cs.State([0.0, 0.0, 1e3], np.zeros(3)), (0.0, 3.0))
    assert run.final.q[0] == pytest.approx(far, rel=1e-6)
    given = kick(begin, duration, (KICK, 0.0, 0.0))
    cart = cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: given(t, q, v)[:1])
    rolled = cs.simulate(cs.ContactSystem(cart), cs.State([0.0], [0.0]), (0.0, 3.0))
    assert rolled.final.q[0] == pytest.approx(far, rel=1e-6)


@pytest.mark.parametrize("begin", BEGINS)
def test_a_kick_within_long_steps_of_a_method_by_name(begin: float) -> None:
    """A fixed step of 0.1 s is made shorter where it hides a kick."""
    system = cs.ContactSystem(point_mass(MU), controller=kick(begin, 0.02, (KICK, 0.0, 0.0)))
    options = {"integrator": "RK4", "tolerances": cs.Tolerances(max_step=0.1)}
    run = cs.simulate(system, cs.State([0.0, 0.0, 1e3], np.zeros(3)), (0.0, 3.0), **options)
    assert run.final.q[0] == pytest.approx(KICK * 0.02 * (3.0 - begin - 0.01), rel=0.2)  # RK4 ends no step at a jump


def test_a_controller_that_wakes_for_a_moment_is_seen_in_its_memory() -> None:
    """z' jumps for 10 ms, and the force is proportional to z."""

    class Waking(cs.Controller):
        memory = 1

        def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
            return z[0] * np.eye(3)[0]

        def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
            return np.array([100.0 if 1.3 <= t < 1.31 else 0.0])

    system = cs.ContactSystem(point_mass(0.0), controller=Waking())
    run = cs.simulate(system, REST, (0.0, 3.0))
    assert run.final.z[0] == pytest.approx(1.0, rel=1e-6)
    assert run.final.v[0] == pytest.approx(1.69 + 0.005, rel=1e-6)


def hump(begin: float, duration: float, height: float) -> Callable[[float], float]:
    """A rise and fall of the ground, (4 s (1 - s))^4: smooth."""

    def rise(t: float) -> float:
        s = (t - begin) / duration
        return height * (4.0 * s * (1.0 - s)) ** 4 if 0.0 < s < 1.0 else 0.0

    return rise


@pytest.mark.parametrize("begin", BEGINS)
def test_ground_that_rises_for_a_moment_meets_what_hovers(begin: float) -> None:
    """At 0.8 of its height: 1 - (2 s - 1)^2 = 0.8^(1/4)."""
    rise = hump(begin, 0.05, 0.05)
    met = begin + 0.05 * 0.5 * (1.0 - np.sqrt(1.0 - 0.8**0.25))
    still = cs.State([0.0, 0.0, 0.04], np.zeros(3))
    grounds = [
        cs.terrain.Moving(cs.terrain.Flat(), rise),
        cs.terrain.Function(lambda t, x, y: rise(t), curvature=0.1, moving=True),
    ]
    for ground in grounds:
        system = cs.ContactSystem(point_mass(MU), terrain=ground, gravity=(0.0, 0.0, 0.0))
        run = cs.simulate(system, still, (0.0, 3.0), max_events=1)
        assert [event.time for event in run.events] == pytest.approx([met], abs=1e-9)
    lid = cs.Gap(gap=lambda t, q: q[0] - rise(t), normal=lambda t, q: np.ones(1), friction=0.0, name="lid")
    mass = cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: np.zeros(1), contacts=[lid])
    run = cs.simulate(cs.ContactSystem(mass), cs.State([0.04], [0.0]), (0.0, 3.0), max_events=1)
    assert [event.time for event in run.events] == pytest.approx([met], abs=1e-9)
