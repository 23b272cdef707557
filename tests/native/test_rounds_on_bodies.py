"""Ellipsoids, cylinders and cones against other bodies in C++ against those in Python."""

from __future__ import annotations

from itertools import product

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs

from .compared_events import compared
from .test_pairs import MATRIX, TIGHT, TIME, off
from .test_polyhedra import beside_a_wall, box, capsule, compare_touching, hull, sharp, thrown

pytest.importorskip("contactsim_native")

STATE = 1e-9  # of two runs whose steps are the same but for rounding
Array = np.ndarray


def ellipsoid() -> cs.Robot:
    """One of half a kilogram."""
    return cs.Robot.ellipsoid(0.5, (0.05, 0.08, 0.03), friction=0.4)


def cylinder() -> cs.Robot:
    """One of half a kilogram."""
    return cs.Robot.cylinder(0.5, 0.05, 0.1, friction=0.4)


def cone() -> cs.Robot:
    """One of half a kilogram."""
    return cs.Robot.cone(0.5, 0.05, 0.1, friction=0.4)


def both(one: cs.Robot, two: cs.Robot) -> cs.Robot:
    """Two bodies."""
    return cs.Robot.merge([one, two], ["a", "b"])


WORLDS = {
    "ellipsoid on ball": lambda: both(cs.Robot.sphere(0.5, 0.06, friction=0.3), ellipsoid()),
    "ellipsoid on ellipsoid": lambda: both(ellipsoid(), ellipsoid()),
    "ellipsoid on box": lambda: both(box(0.1, 0.08, 0.06), ellipsoid()),
    "ellipsoid on hull": lambda: both(hull(), ellipsoid()),
    "ellipsoid on capsule": lambda: both(capsule(), ellipsoid()),
    "ellipsoid on cylinder": lambda: both(cylinder(), ellipsoid()),
    "ellipsoid on cone": lambda: both(cone(), ellipsoid()),
    "ball on cylinder": lambda: both(cylinder(), cs.Robot.sphere(0.5, 0.05, friction=0.3)),
    "cylinder on box": lambda: both(box(0.1, 0.08, 0.06), cylinder()),
    "cylinder on hull": lambda: both(hull(), cylinder()),
    "cylinder on capsule": lambda: both(capsule(), cylinder()),
    "cylinder on cylinder": lambda: both(cylinder(), cylinder()),
    "cylinder on a wall": lambda: beside_a_wall(cylinder()),
    "ball on cone": lambda: both(cone(), cs.Robot.sphere(0.5, 0.05, friction=0.3)),
    "cone on box": lambda: both(box(0.1, 0.08, 0.06), cone()),
    "cone on hull": lambda: both(hull(), cone()),
    "cone on capsule": lambda: both(capsule(), cone()),
    "cone on cylinder": lambda: both(cylinder(), cone()),
    "cone on cone": lambda: both(cone(), cone()),
    "ellipsoid on a wall": lambda: beside_a_wall(ellipsoid()),
}


@pytest.mark.parametrize("name", WORLDS)
def test_motion_and_guards_of_touching_bodies_are_those_of_python(name: str) -> None:
    """Wherever they touch, of both bodies."""
    assert len(compare_touching(WORLDS[name](), 14)) > 8


def smooth(rng: np.random.Generator) -> cs.Robot:
    """Mostly an ellipsoid, else a ball, a capsule or what is sharp."""
    look, kind = {"friction": 0.3, "restitution": 0.5}, int(rng.integers(6))
    if kind < 3:
        return cs.Robot.ellipsoid(0.5, tuple(rng.uniform(0.04, 0.1, 3).tolist()), **look)
    if kind < 5:
        return cs.Robot.sphere(0.5, 0.06, **look) if kind == 3 else cs.Robot.capsule(0.5, 0.04, 0.15, **look)
    return sharp(rng)


def turned(rng: np.random.Generator) -> cs.Robot:
    """Mostly a cylinder, else an ellipsoid, a ball, a capsule or what is sharp."""
    if rng.integers(2):
        return smooth(rng)
    radius, length = rng.uniform([0.04, 0.06], [0.08, 0.2]).tolist()
    return cs.Robot.cylinder(0.5, radius, length, friction=0.3, restitution=0.5)


def pointed(rng: np.random.Generator) -> cs.Robot:
    """Mostly a cone, else a cylinder or one of the others."""
    if rng.integers(2):
        return turned(rng)
    radius, height = rng.uniform([0.04, 0.06], [0.08, 0.2]).tolist()
    return cs.Robot.cone(0.5, radius, height, friction=0.3, restitution=0.5)


BODIES = {"ellipsoids": smooth, "cylinders": turned, "cones": pointed}


@pytest.mark.parametrize(("body", "seed"), list(product(BODIES, range(5))))
def test_runs_of_thrown_bodies_are_those_of_python(body: str, seed: int) -> None:
    """Event by event, and in their states."""
    system, state = thrown(seed, body=BODIES[body])
    one, other = (
        cs.simulate(system, state, (0.0, 0.3), engine=engine, tolerances=TIGHT) for engine in ("native", "python")
    )
    assert one.status is other.status is cs.Status.FINISHED
    assert len(one.events) > 0
    assert [event.fired for event in one.all_events] == [event.fired for event in other.all_events]
    assert max(abs(a.time - b.time) for a, b in zip(one.all_events, other.all_events, strict=True)) < TIME
    assert off(one.final_x, other.final_x) < STATE


@pytest.mark.parametrize("body", BODIES)
def test_each_event_of_thrown_bodies_is_resolved_as_in_python(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one call, and differentiated in one."""
    counts = compared(monkeypatch)
    for seed in range(6):
        system, state = thrown(seed, body=BODIES[body])
        cs.linearize(cs.simulate(system, state, (0.0, 0.25), engine="native")).matrix()
    assert counts.asked > 12 and counts.answered > 0.9 * counts.asked
    assert counts.differentiated > 12 and counts.known > 0.9 * counts.differentiated


@pytest.mark.parametrize(("body", "seed"), list(product(BODIES, (1, 2))))
def test_derivatives_of_runs_of_thrown_bodies_are_those_of_python(body: str, seed: int) -> None:
    """Through their impacts."""
    system, state = thrown(seed, body=BODIES[body])
    runs = [cs.simulate(system, state, (0.0, 0.25), engine=engine) for engine in ("native", "python")]
    one, other = (cs.linearize(run).matrix() for run in runs)
    assert off(one, other) < MATRIX


def upon(lower: cs.Robot, upper: cs.Robot, tilt: float) -> tuple[cs.ContactSystem, cs.State]:
    """A body just above another one that is fixed, both 0.1 m high, turned by a tilt, and pushed."""
    world = cs.Robot.merge([lower, upper], ["a", "b"], placements=[(0.0, 0.0, -0.05), None])
    height = 0.002 + 0.05 * abs(np.cos(tilt)) + 0.05 * abs(np.sin(tilt))
    turn = pin.SE3(pin.rpy.rpyToMatrix(tilt, 0.0, 0.3), np.array([0.02, 0.01, height]))
    start = {"b": (pin.SE3ToXYZQUAT(turn), np.array([0.3, 0.1, 0.0, 0.0, 0.0, 0.0]))}
    return cs.ContactSystem(world, terrain=cs.terrain.Flat(-1.0)), cs.State(*world.pack(start))


@pytest.mark.parametrize("tilt", [0.0, 0.5 * np.pi])
@pytest.mark.parametrize("kind", ["box", "cylinder"])
def test_discs_that_stand_and_lie_on_bodies_move_as_in_python(kind: str, tilt: float) -> None:
    """They land on a face with all of a disc, which points on its rim hold then, or with a side."""
    fixed = {"root": "fixed", "friction": 0.4}
    wide = {"box": box(0.4, 0.4, 0.1, root="fixed"), "cylinder": cs.Robot.cylinder(5.0, 0.2, 0.1, **fixed)}[kind]
    system, state = upon(wide, cylinder(), tilt)
    one, other = (cs.simulate(system, state, (0.0, 0.1), engine=engine) for engine in ("native", "python"))
    assert [event.fired for event in one.all_events] == [event.fired for event in other.all_events]
    assert max(abs(a.time - b.time) for a, b in zip(one.all_events, other.all_events, strict=True)) < TIME
    assert off(one.final_x, other.final_x) < STATE
    closed = [system.mechanism.all_names[i] for i in one.arcs[-1].mode.closed]
    assert sum("corner" in name for name in closed) >= 3 or tilt > 0.0
