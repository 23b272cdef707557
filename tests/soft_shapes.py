"""Seeded scenes of a cylinder, coin, cone or capsule that lands on another body, both by laws that give way.

    python tests/soft_shapes.py --count 40 [--first 0] [--budget 100] --out FILE.csv     run them, one line a scene

A line has the seed, status, seconds of computing and of motion, events, evaluations, the largest depth of two bodies in
each other at any output [m] by their shapes alone (see `multibody.geometry.overlaps`), the error of the balance of
energy, whether the check passed, and what was said. DEEPEST is what bodies may be inside each other.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from scene_lines import at_most, checked, written

import contactsim as cs

Array = np.ndarray
COUNT, DEEPEST = 40, 5e-3
TIME = 1.0  # s
OUTPUTS = 21
MOST_EVENTS = 20_000
LAWS = ("spring-damper", "hunt-crossley")
STEEPEST, ABOVE = 0.1, 1e-3  # rad of tilt, and m above what is below
LOOK = {"friction": 0.4}


class Landing(NamedTuple):
    """What lands, by how much its middle is above its lowest point where it is not tilted, how far it reaches [m]."""

    body: cs.Robot
    height: float
    reach: float
    turn: Array


class Base(NamedTuple):
    """What lies below, where it is held (None: it lies on the ground), and how high its top is [m]."""

    body: cs.Robot
    held: tuple[float, float, float] | None
    height: float
    turn: Array


def landing(kind: str) -> Landing:
    """A body that stands on a disc, or lies on its side."""
    lying = pin.exp3(np.array([0.0, 0.5 * np.pi, 0.0]))
    if kind == "cone":
        return Landing(cs.Robot.cone(1.0, 0.1, 0.2, **LOOK), 0.1, 0.1, np.eye(3))
    if kind == "capsule":
        return Landing(cs.Robot.capsule(1.0, 0.05, 0.2, **LOOK), 0.05, 0.15, lying)
    if kind == "wheel":
        upright = pin.exp3(np.array([0.5 * np.pi, 0.0, 0.0]))
        return Landing(cs.Robot.cylinder(1.0, 0.1, 0.04, **LOOK), 0.1, 0.1, upright)
    length = {"drum": 0.2, "coin": 0.02}[kind]
    return Landing(cs.Robot.cylinder(1.0, 0.1, length, **LOOK), 0.5 * length, 0.1, np.eye(3))


def base(kind: str) -> Base:
    """A body whose top is level."""
    plate, up = (1.0, 1.0, 0.2), np.eye(3)
    if kind == "plate":
        return Base(cs.Robot.box(5.0, plate, root="fixed", **LOOK), (0.0, 0.0, 0.4), 0.5, up)
    if kind == "crate":
        return Base(cs.Robot.box(5.0, plate, **LOOK), None, 0.2, up)
    if kind == "half_space":
        plane = cs.Robot.box(1.0, (0.1, 0.1, 0.1), root="fixed", **LOOK)
        solid = cs.Solid("box", "half_space", position=(0.0, 0.0, 0.1), friction=0.4)
        return Base(plane._with(_solids=(solid,)), (0.0, 0.0, 0.4), 0.5, up)
    if kind == "hull":
        angles = 2.0 * np.pi * np.arange(7) / 7
        corners = [(0.5 * np.cos(a), 0.5 * np.sin(a), z) for a in angles for z in (-0.1, 0.1)]
        return Base(cs.Robot.hull(5.0, corners, root="fixed", **LOOK), (0.0, 0.0, 0.4), 0.5, up)
    stump = cs.Robot.cylinder(5.0, 0.15, 0.2, **LOOK)
    if kind == "stump":
        return Base(stump, None, 0.2, up)
    return Base(stump, None, 0.3, pin.exp3(np.array([0.0, 0.5 * np.pi, 0.0])))  # a roller


LANDINGS = ("drum", "cone", "coin", "wheel", "capsule")
BASES = ("plate", "crate", "half_space", "hull", "stump", "roller")


def scene(seed: int) -> tuple[cs.ContactSystem, cs.State, str]:
    """Each pair of shapes in turn, laws by turns; tilt, speeds and place are random."""
    rng = np.random.default_rng([seed, 81])
    lands, below = LANDINGS[seed % len(LANDINGS)], BASES[seed % len(BASES)]
    law = LAWS[seed // len(BASES) % len(LAWS)]
    on, under = landing(lands), base(below)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        world = cs.Robot.merge([under.body, on.body], ["base", lands], placements=[under.held, None])
    tilt, towards = float(rng.uniform(0.0, STEEPEST)), float(rng.uniform(0.0, 2.0 * np.pi))
    turn = pin.exp3(tilt * np.array([np.cos(towards), np.sin(towards), 0.0])) @ on.turn
    v = np.r_[rng.uniform(-0.2, 0.2, 2), -0.1, rng.uniform(-0.3, 0.3, 3)]
    place = np.array([*rng.uniform(-0.03, 0.03, 2), under.height + on.height + on.reach * np.sin(tilt) + ABOVE])
    start = {lands: (pin.SE3ToXYZQUAT(pin.SE3(turn, place)), np.r_[turn.T @ v[:3], v[3:]])}
    if under.held is None:
        low = 0.15 if below == "roller" else 0.1
        start["base"] = (pin.SE3ToXYZQUAT(pin.SE3(under.turn, np.array([0.0, 0.0, low]))), np.zeros(6))
    system = cs.ContactSystem(world, law=law)
    return system, cs.State(*world.pack(start)), f"{lands} on {below}, {law}, tilt {tilt:.3f}"


def deepest(run: cs.Trajectory) -> float:
    """The largest depth of two bodies in each other, or in the ground, at some outputs of a run [m]."""
    mechanism, last = run.system.world.mechanism, float(run.t[-1])
    found = [over.depth for t in np.linspace(0.0, last, OUTPUTS) for over in mechanism.overlaps(float(t), run(t).q)]
    return max(found, default=0.0)


def balance(run: cs.Trajectory) -> float | str:
    """The error of the balance of energy, relative."""
    try:
        return float(run.check()["energy balance [relative]"])
    except cs.ContactSimError:
        return ""


def told(seed: int, budget: float) -> list[Any]:
    """Line of a scene: what its run took, how it ended, and how deep bodies were inside each other."""
    begun, (system, state, label) = time.process_time(), scene(seed)
    simulation = cs.Simulation(system, state, max_events=MOST_EVENTS)
    try:
        with at_most(budget):
            simulation.advance_to(TIME)
        run = simulation.trajectory
        status, said = run.status.name, label if run.status.complete else f"{label}: {run.message}"
    except Exception as error:
        run = simulation.trajectory
        status = "TOO_SLOW" if isinstance(error, TimeoutError) else type(error).__name__
        said = f"{label}: {error}"
    took, counts = time.process_time() - begun, (len(run.all_events), run.evaluations)
    return [seed, status, took, float(run.t[-1]), *counts, deepest(run), balance(run), checked(run), said]


def main() -> None:
    """Run scenes, write a line for each, and tell how many finished and were never deeper than DEEPEST."""
    rows = list(written(__doc__, COUNT, told))
    finished = sum(row[1] == "FINISHED" and row[8] == "passed" for row in rows)
    outside = sum(row[6] <= DEEPEST for row in rows)
    print(f"{finished} of {len(rows)} finished, {outside} never deeper than {DEEPEST:g} m")


if __name__ == "__main__":
    main()
