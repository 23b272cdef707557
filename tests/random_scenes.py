"""Seeded random scenes: robots in random poses thrown onto slopes of random friction and restitution.

    python tests/random_scenes.py --count 200 [--first 0] [--budget 60] --out FILE.csv     run them, one line a scene

The lines are those of `scene_lines`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
from scene_lines import Scene, Watching, line, written

import contactsim as cs
from contactsim.multibody.catalogue import robot_entries

Array = np.ndarray
COUNT = 200
LEGGED = ("biped", "hexapod", "solo8", "solo12", "a1", "anymal", "b1", "go1", "go2", "hyq", "laikago", "bolt")
HUMANOID = ("alexander", "g1", "icub", "romeo", "simple_humanoid", "talos")
OTHERS = ("borinot", "hextilt", "compliant-hexapod-twin")
ROBOTS = (*LEGGED, *LEGGED, *HUMANOID, *OTHERS)  # robots with legs twice as often
STEEPEST = 0.4  # rad
HIGHEST = 0.15  # m, of the lowest contact over the ground
REACH = 1.5  # rad or m, of a joint to either side of where it stands, within its limits
SPEEDS = {"root": 0.7, "turn": 1.5, "joint": 2.0}  # m/s, rad/s, rad/s: standard deviations
LENGTHS = (0.3, 0.5)  # s


def scene(seed: int) -> Scene:
    """The random scene of a seed; another seed, another robot, pose, ground and motion."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(ROBOTS))
    robot, words = with_surface(loaded(name), rng)
    angle, heading = rng.uniform(0.0, STEEPEST) * rng.integers(0, 2), rng.uniform(-np.pi, np.pi)
    planar = robot.model.joints[1].nv == 3
    downhill = (1.0, 0.0) if planar else (float(np.cos(heading)), float(np.sin(heading)))
    ground = cs.terrain.Slope(angle=float(angle), downhill=downhill)
    controller = pd(name, robot) if rng.random() < 0.4 else None
    system = cs.ContactSystem(robot, terrain=ground, controller=controller)
    start = thrown(system, robot, ground, rng, planar)
    driven = "PD" if controller else "no controller"
    return Scene(f"{seed}: {name}, {words}, slope {angle:.2f}, {driven}", system, start, rng.uniform(*LENGTHS))


@cache
def loaded(name: str) -> cs.Robot:
    """A robot of the catalogue, read once."""
    return cs.load_robot(name)


def with_surface(robot: cs.Robot, rng: np.random.Generator) -> tuple[cs.Robot, str]:
    """The robot with one random friction and restitution of all its contacts, and these in words."""
    kinetic = float(rng.uniform(0.0, 2.0))
    static = kinetic * float(rng.choice([1.0, 1.0 + 0.5 * rng.random()]))
    restitution = float(rng.choice([0.0, rng.random(), 1.0], p=[0.4, 0.5, 0.1]))
    contacts = [
        replace(point, friction=kinetic, static_friction=static, restitution=restitution, enabled=None)
        for point in robot.contacts
    ]
    return robot.with_contacts(contacts), f"mu {kinetic:.2f}/{static:.2f}, e {restitution:.2f}"


def pd(name: str, robot: cs.Robot, share: float = 1.0) -> cs.PD | None:
    """A share of the gains of the robot's own demonstration, about where it stands; None where it has none."""
    entry = robot_entries()[name]
    if entry.demo is None:
        return None
    demo = entry.demo(robot.model)
    kp, kd = np.multiply(demo.kp, share), np.multiply(demo.kd, share**0.5)
    return cs.PD(robot, loaded(name).nominal, kp=kp, kd=kd)


def thrown(
    system: cs.ContactSystem, robot: cs.Robot, ground: cs.terrain.Slope, rng: np.random.Generator, planar: bool
) -> cs.State:
    """A random configuration above the ground, and a random velocity."""
    model, q = robot.model, np.array(loaded(robot.name).nominal, dtype=float)
    for joint in list(model.joints)[2:]:
        if joint.nq == joint.nv == 1:
            k = joint.idx_q
            low, high = max(q[k] - REACH, model.lowerPositionLimit[k]), min(q[k] + REACH, model.upperPositionLimit[k])
            q[k] = rng.uniform(low, high)
    turn = rng.normal(size=3) * (0.3 if rng.random() < 0.7 else 2.0)
    normal = np.array([np.sin(ground.angle) * ground.downhill[0], np.sin(ground.angle) * ground.downhill[1], 0.0])
    normal[2] = np.cos(ground.angle)
    v = rng.normal(size=model.nv) * SPEEDS["joint"]
    if planar:
        q[2] += turn[1]
        v[:3] = rng.normal(size=3) * (SPEEDS["root"], SPEEDS["root"], SPEEDS["turn"])
    else:
        q[3:7] = (pin.Quaternion(pin.exp3(turn)) * pin.Quaternion(q[3:7])).normalized().coeffs()
        v[:6] = rng.normal(size=6) * ([SPEEDS["root"]] * 3 + [SPEEDS["turn"]] * 3)
    lift = rng.uniform(0.0, HIGHEST) - float(system.mechanism.gaps(0.0, q)[: len(robot.contacts)].min())
    if planar:
        q[1] += lift / normal[2]
    else:
        q[:3] += lift * normal
    return cs.State(q, v)


def thrown_through(simulation: cs.Simulation, case: Scene, watch: Watching) -> None:
    """Advance a scene to its end."""
    simulation.advance_to(case.end, watch)


if __name__ == "__main__":
    for _ in written(__doc__, COUNT, lambda seed, budget: line(seed, budget, scene, thrown_through)):
        pass
