"""Seeded random scenes of two to six bodies of all shapes that fall onto each other: is any of them inside another?

    python tests/mixed_shapes.py --count 200 [--first 0] [--budget 60] --out FILE.csv     run them, one line a scene

A line has the seed, status, seconds of computing and of motion, events, evaluations, the largest depth of two bodies in
each other at any output [m] by their shapes alone (see `multibody.geometry.overlaps`), whether the check passed, and
what was said. DEEPEST is what bodies may be inside each other, FINISH the share of scenes that are to finish.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from scene_lines import at_most, checked, written

import contactsim as cs

Array = np.ndarray
COUNT, DEEPEST, FINISH = 200, 1e-8, 0.95
OUTPUTS = 101
TIME = 0.3  # s
MOST_EVENTS = 3000


def reach_and_body(rng: np.random.Generator, kind: str) -> tuple[float, cs.Robot]:
    """A body of a kind, and the radius of a ball around it [m]."""
    look = {"friction": float(rng.uniform(0.0, 1.0)), "restitution": float(rng.choice([0.0, rng.uniform(0.0, 0.6)]))}
    mass, r, length = (float(number) for number in rng.uniform([0.2, 0.03, 0.05], [2.0, 0.08, 0.2]))
    if kind == "sphere":
        return r, cs.Robot.sphere(mass, r, **look)
    if kind == "ellipsoid":
        radii = rng.uniform(0.03, 0.09, 3)
        return float(radii.max()), cs.Robot.ellipsoid(mass, tuple(radii.tolist()), **look)
    if kind == "box":
        sides = rng.uniform(0.05, 0.2, 3)
        return 0.5 * float(np.linalg.norm(sides)), cs.Robot.box(mass, tuple(sides.tolist()), **look)
    if kind == "hull":
        points = rng.normal(size=(int(rng.integers(5, 10)), 3))
        points *= 0.08 / np.linalg.norm(points, axis=1, keepdims=True)
        return 0.08, cs.Robot.hull(mass, points.tolist(), **look)
    reach = 0.5 * length + r if kind == "capsule" else float(np.hypot(r, 0.5 * length))
    make: Callable[..., cs.Robot] = getattr(cs.Robot, kind)
    return reach, make(mass, r, length, **look)


KINDS = ("sphere", "capsule", "cylinder", "ellipsoid", "box", "hull", "cone")


def scene(seed: int) -> tuple[cs.ContactSystem, cs.State, str]:
    """Bodies one above the other, turned at random and pushed a little; the ground is flat, sloping, or a fixed box."""
    rng = np.random.default_rng([seed, 18])
    kinds = [str(kind) for kind in rng.choice(KINDS, int(rng.integers(2, 7)))]
    bodies, names, places, start, height = list[cs.Robot](), list[str](), list[object](), {}, 0.0
    on = str(rng.choice(["flat", "slope", "box"]))
    ground: cs.Terrain = cs.terrain.Flat()
    if on == "slope":
        ground = cs.terrain.Slope(float(rng.uniform(0.05, 0.4)))
        height = 0.1
    elif on == "box":
        ground = cs.terrain.Flat(-2.0)
        bodies.append(cs.Robot.box(1.0, (0.4, 0.4, 0.1), name="table", root="fixed", friction=0.6))
        names, places = ["table"], [(0.0, 0.0, -0.05)]
    for k, kind in enumerate(kinds):
        reach, body = reach_and_body(rng, kind)
        height += reach + float(rng.uniform(0.002, 0.02))
        turned = pin.SE3(pin.exp3(rng.normal(size=3)), np.array([*rng.uniform(-0.03, 0.03, 2), height]))
        height += reach
        bodies.append(body)
        names.append(f"{kind}{k}")
        places.append(None)
        start[names[-1]] = pin.SE3ToXYZQUAT(turned), np.r_[0.3 * rng.normal(size=3), rng.normal(size=3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # prisms, pyramids and hulls are told
        world = cs.Robot.merge(bodies, names, placements=places)
    return cs.ContactSystem(world, terrain=ground), cs.State(*world.pack(start)), f"{', '.join(kinds)} on {on}"


def deepest(run: cs.Trajectory) -> float:
    """The largest depth of two bodies in each other, or in the ground, at the outputs of a run [m]."""
    mechanism, last = run.system.world.mechanism, float(run.t[-1])
    found = [over.depth for t in np.linspace(0.0, last, OUTPUTS) for over in mechanism.overlaps(float(t), run(t).q)]
    return max(found, default=0.0)


def told(seed: int, budget: float) -> list[Any]:
    """Line of a scene: what its run took, how it ended, and how deep bodies were inside each other."""
    begun, (system, state, label) = time.process_time(), scene(seed)
    try:
        simulation = cs.Simulation(system, state, max_events=MOST_EVENTS)
        with at_most(budget):
            simulation.advance_to(TIME)
        run = simulation.trajectory
    except TimeoutError as error:
        run = simulation.trajectory
        at, counts = float(run.t[-1]), (len(run.all_events), run.evaluations)
        said = f"{label}: {error}; {simulation.held_up()}"
        return [seed, "TOO_SLOW", time.process_time() - begun, at, *counts, "", "", said]
    except Exception as error:
        name = type(error).__name__
        return [seed, name, time.process_time() - begun, TIME, "", "", "", "", f"{label}: {error}"]
    took, depth = time.process_time() - begun, deepest(run)
    said = label if run.status.complete else f"{label}: {run.message}"
    counts = len(run.all_events), run.evaluations
    return [seed, run.status.name, took, float(run.t[-1]), *counts, depth, checked(run), said]


def main() -> None:
    """Run scenes, write a line for each, and tell how many finished and were never deeper than DEEPEST."""
    rows = list(written(__doc__, COUNT, told))
    finished = sum(row[1] == "FINISHED" for row in rows)
    outside = sum(isinstance(row[6], float) and row[6] <= DEEPEST for row in rows)
    print(f"{finished} of {len(rows)} finished ({FINISH:.0%} are to), {outside} never deeper than {DEEPEST:g} m")


if __name__ == "__main__":
    main()
