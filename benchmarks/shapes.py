"""How do time and memory of many bodies in a box grow with their number?

Balls, boxes or hulls lie a little above each other on a grid inside four walls, and fall. Each scene runs in a process
of its own. Told are the contacts that the system knows, the most pairs of bodies that touched at once (with the ground
and the walls), evaluations, and processor time and memory, as a whole and by evaluation.

    python benchmarks/shapes.py [balls boxes hulls] [--counts 5,10,20] [--time 0.3] [--groups]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

import contactsim as cs

COUNTS = 5, 10, 20, 40, 60
KINDS = "balls", "boxes", "hulls"
SIDE, GAP, ROWS = 0.1, 0.02, 3  # m, of a body; m, between them at the start; of the grid
WALL = 0.05  # m, half its thickness
POINTS = 0.05 * np.random.default_rng(5).normal(size=(8, 3))


def body(kind: str) -> cs.Robot:
    """One of the bodies."""
    if kind == "balls":
        return cs.Robot.sphere(0.5, 0.5 * SIDE, friction=0.4, restitution=0.2)
    if kind == "boxes":
        return cs.Robot.box(0.5, (SIDE,) * 3, friction=0.4)
    reach = 0.5 * SIDE * POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
    return cs.Robot.hull(0.5, reach.tolist(), friction=0.4)


def scene(kind: str, count: int) -> tuple[cs.ContactSystem, cs.State]:
    """Bodies on a grid, shifted by up to a tenth of the gap between them, and walls around them."""
    rng, pitch = np.random.default_rng(0), SIDE + GAP
    half, tall = 0.5 * ROWS * pitch, 0.5 * pitch * (count // ROWS**2 + 2)
    walls, places = [], []
    for k, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        sides = (2 * WALL, 2 * half + 4 * WALL, 2 * tall) if x else (2 * half, 2 * WALL, 2 * tall)
        walls.append(cs.Robot.box(1.0, sides, name=f"wall{k}", root="fixed", friction=0.4))
        places.append((x * (half + WALL), y * (half + WALL), tall))
    names = [f"body{k}" for k in range(count)]
    world = cs.Robot.merge(
        [*walls, *[body(kind)] * count], [*(wall.name for wall in walls), *names], placements=[*places, *[None] * count]
    )
    start = {}
    for k, name in enumerate(names):
        cell = np.array([k % ROWS, k // ROWS % ROWS, k // ROWS**2])
        place = (cell - [0.5 * (ROWS - 1), 0.5 * (ROWS - 1), -0.5]) * pitch + rng.uniform(-0.1, 0.1, 3) * GAP
        start[name] = (np.r_[place, 0.0, 0.0, 0.0, 1.0], np.zeros(6))
    return cs.ContactSystem(world), cs.State(*world.pack(start))


def touching(run: cs.Trajectory) -> int:
    """The most pairs of bodies that touched at once."""
    found = 0
    for arc in run.arcs:
        modes = run.mode_at(0.5 * (arc.t0 + arc.t1))
        closed = [name for name, mode in modes.items() if mode is not cs.Mode.OPEN]
        found = max(found, len({tuple(part.partition("/")[0] for part in name.split("+")) for name in closed}))
    return found


def measure(kind: str, count: int, end: float, groups: bool) -> None:
    """One scene, told in a line; run as a whole, or in groups of bodies that are near each other."""
    first, base = time.process_time(), memory()
    system, state = scene(kind, count)
    built = time.process_time()
    run = (cs.simulate_groups if groups else cs.simulate)(system, state, (0.0, end))
    done = time.process_time() - built
    calls, names = run.evaluations, system.world.mechanism.names
    print(
        f"{kind:6} {count:3}  {len(names):7} contacts  {touching(run):4} touch  {len(run.events):4} events"
        f"  {calls:6} evaluations  build {built - first:6.2f} s  run {done:7.2f} s"
        f"  {1e3 * done / max(calls, 1):6.2f} ms each  {memory() - base:6.0f} MB  {run.status.name}",
        flush=True,
    )


def memory() -> float:
    """The most that the process has had so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def main() -> None:
    """All scenes that are asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    parser.add_argument("--time", type=float, default=0.3)
    parser.add_argument("--groups", action="store_true", help="by simulate_groups")
    parser.add_argument("--one", action="store_true", help="in this process")
    given = parser.parse_args()
    for kind in given.kinds:
        for count in map(int, given.counts.split(",")):
            if given.one:
                measure(kind, count, given.time, given.groups)
            else:
                own = [sys.executable, __file__, kind, "--counts", str(count), "--time", str(given.time), "--one"]
                own += ["--groups"] if given.groups else []
                subprocess.run(own, check=True)


if __name__ == "__main__":
    main()
