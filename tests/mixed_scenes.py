"""Seeded random scenes of another make: piles of boxes and balls, chains of links, robots on every ground, pushes.

    python tests/mixed_scenes.py --count 300 [--first 0] [--budget 60] --out FILE.csv     run them, one line a scene

The lines are those of `scene_lines`. `random_scenes.py` has thrown robots on slopes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
from random_scenes import loaded, pd
from scene_lines import MOST_EVENTS, Scene, Watching, line, written

import contactsim as cs

Array = np.ndarray
COUNT = 300
G = 9.81
LEGGED = ("hexapod", "solo12", "go2", "a1", "anymal", "biped", "bolt", "solo8")


def surface(rng: np.random.Generator) -> dict[str, float]:
    """Friction and restitution of a body; one in eight is perfectly elastic or without friction."""
    restitution = float(rng.choice([0.0, rng.uniform(0.0, 0.8), 1.0], p=[0.5, 0.4, 0.1]))
    return {"friction": float(rng.choice([0.0, rng.uniform(0.1, 1.2)], p=[0.1, 0.9])), "restitution": restitution}


def ground(rng: np.random.Generator, gentle: bool = False, planar: bool = False) -> tuple[cs.Terrain, str]:
    """Flat, sloping, wavy, sampled or moving ground; the slope of a `planar` robot lies in its plane."""
    kinds = ("flat", "slope", "waves", "field", "belt", "shaken")
    kind = str(rng.choice(kinds, p=[0.3, 0.2, 0.15, 0.1, 0.15, 0.1]))
    if kind == "slope":
        heading = rng.uniform(-np.pi, np.pi)
        downhill = (
            (float(np.sign(np.cos(heading))), 0.0) if planar else (float(np.cos(heading)), float(np.sin(heading)))
        )
        found: cs.Terrain = cs.terrain.Slope(rng.uniform(0.0, 0.3), downhill)
    elif kind == "waves" and not gentle:
        found = cs.terrain.Sinusoid(rng.uniform(0.0, 0.05), rng.uniform(0.5, 3.0), rng.uniform(0.5, 3.0))
    elif kind == "field" and not gentle:
        x = np.linspace(-3.0, 3.0, 13)
        found = cs.terrain.HeightField(x, x, 0.008 * rng.normal(size=(13, 13)))
    elif kind == "belt":
        found = cs.terrain.Flat(0.0, velocity=tuple(rng.uniform(-0.5, 0.5, 2)))
    elif kind == "shaken":
        shaking = cs.terrain.Oscillation((0.0, 0.0, rng.uniform(0.0, 5e-3)), rng.uniform(1.0, 8.0))
        found = cs.terrain.Moving(cs.terrain.Flat(), shaking)
    else:
        kind, found = "flat", cs.terrain.Flat()
    return found, kind


def placed(rng: np.random.Generator, x: float, y: float, z: float, tilt: float) -> Array:
    return pin.SE3ToXYZQUAT(pin.SE3(pin.exp3(tilt * rng.normal(size=3)), np.array([x, y, z])))


def pile(rng: np.random.Generator) -> tuple[cs.ContactSystem, cs.State, str]:
    """Two to five boxes and balls that fall on each other."""
    count = int(rng.integers(2, 6))
    bodies, states, height = [], {}, 0.0
    names = [f"b{k}" for k in range(count)]
    for name in names:
        look = surface(rng)
        if rng.random() < 0.5:
            radius = float(rng.uniform(0.03, 0.1))
            bodies.append(cs.Robot.sphere(rng.uniform(0.2, 2.0), radius, name="ball", **look))
            size = radius
        else:
            sides = rng.uniform(0.06, 0.25, 3)
            bodies.append(cs.Robot.box(rng.uniform(0.2, 2.0), tuple(sides), name="box", **look))
            size = 0.5 * float(np.linalg.norm(sides))
        height += size + rng.uniform(0.01, 0.1)
        q = placed(rng, *rng.uniform(-0.03, 0.03, 2), height, 0.3)
        states[name] = (q, np.r_[0.2 * rng.normal(size=3), rng.normal(size=3)])
        height += size
    world = cs.Robot.merge(bodies, names=names)
    on, kind = ground(rng, gentle=True)
    return cs.ContactSystem(world, terrain=on), cs.State(*world.pack(states)), f"pile of {count} on {kind} ground"


def chain(rng: np.random.Generator) -> tuple[cs.ContactSystem, cs.State, str]:
    """Two to six links on hinges, free or hung up, with points at their ends."""
    count, hung = int(rng.integers(2, 7)), bool(rng.random() < 0.4)
    model, length = pin.Model(), 0.15
    parent = 0
    if not hung:
        parent = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
        model.appendBodyToJoint(parent, pin.Inertia.FromSphere(0.3, 0.03), pin.SE3.Identity())
    for k in range(count):
        joint = (pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ())[int(rng.integers(0, 3))]
        at = pin.SE3(np.eye(3), np.array([length if k else 0.0, 0.0, 0.0]))
        parent = model.addJoint(parent, joint, at, f"hinge {k}")
        link = pin.Inertia.FromBox(rng.uniform(0.1, 0.5), length, 0.03, 0.03)
        model.appendBodyToJoint(parent, link, pin.SE3(np.eye(3), np.array([0.5 * length, 0.0, 0.0])))
        model.addFrame(pin.Frame(f"link {k}", parent, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    look = surface(rng)
    radius = float(rng.choice([0.0, 0.02]))
    points = [
        cs.ContactPoint(f"link {k}", offset=(length, 0.0, 0.0), radius=radius, name=f"end {k}", **look)
        for k in range(count)
    ]
    robot = cs.Robot(model, contacts=points)
    controller, driven = None, "limp"
    if rng.random() < 0.5:
        kp = float(10.0 ** rng.uniform(0.0, 3.0))
        driven = f"kp {kp:.3g}"
        controller = cs.PD(robot, robot.nominal, kp=kp, kd=0.02 * kp)
    on, kind = ground(rng)
    q = np.array(robot.nominal)
    if hung:
        on, kind = cs.terrain.Flat(-rng.uniform(0.05, 0.12) * count), "flat, below its hinge"
        q = rng.uniform(-0.3, 0.3, robot.nq)
        robot_gap = cs.ContactSystem(robot, terrain=on).mechanism.gaps(0.0, q).min()
        on = cs.terrain.Flat(on.height + min(0.0, float(robot_gap)) - 0.01)
    else:
        q[:7] = placed(rng, 0.0, 0.0, 0.0, 0.5)
        q[7:] = rng.uniform(-1.0, 1.0, len(q) - 7)
        base = -float(cs.ContactSystem(robot, terrain=on).mechanism.gaps(0.0, q).min())
        q[2] += 1.3 * base + 0.05 if base > 0.0 else 0.05
    system = cs.ContactSystem(robot, terrain=on, controller=controller)
    return system, cs.State(q, rng.normal(size=robot.nv)), f"chain of {count}, {driven}, {kind} ground"


def legged(rng: np.random.Generator) -> tuple[cs.ContactSystem, cs.State, str]:
    """A robot with soft or stiff motors that drops on its feet."""
    name = str(rng.choice(LEGGED))
    robot = loaded(name)
    share = float(10.0 ** rng.uniform(-0.7, 0.7))
    controller = pd(name, robot, share)
    planar = robot.model.joints[1].nv == 3
    on, kind = ground(rng, planar, planar)
    system = cs.ContactSystem(robot, terrain=on, controller=controller)
    q = np.array(robot.nominal)
    if not planar:
        turned = pin.Quaternion(pin.exp3(0.15 * rng.normal(size=3))) * pin.Quaternion(q[3:7])
        q[3:7] = turned.normalized().coeffs()
    up = 1 if planar else 2
    for _ in range(3):
        q[up] += rng.uniform(0.005, 0.05) - float(system.mechanism.gaps(0.0, q)[: len(robot.contacts)].min())
    v = np.zeros(robot.nv)
    v[: 3 if planar else 6] = 0.3 * rng.normal(size=3 if planar else 6)
    return system, cs.State(q, v), f"{name}, {share:.2g} of its gains, {kind} ground"


MAKES: tuple[Callable[..., tuple[cs.ContactSystem, cs.State, str]], ...] = (pile, chain, legged)


def scene(seed: int) -> Scene:
    """The scene of a seed; piles, chains and robots take turns."""
    rng = np.random.default_rng([seed, 16])
    system, start, label = MAKES[seed % len(MAKES)](rng)
    return Scene(f"{seed}: {label}", system, start, float(rng.uniform(0.3, 0.6)))


def pushed(simulation: cs.Simulation, case: Scene, watch: Watching | None = None) -> None:
    """Advance a scene to its end; one in four is pushed half-way."""
    rng = np.random.default_rng([int(case.label.split(":")[0]), 17])
    if rng.random() < 0.25 and case.system.robot is not None:
        simulation.advance_to(0.5 * case.end, watch)
        if not simulation.status.complete:
            return
        frame = case.system.robot.contacts[0].frame
        simulation.push(frame, force=tuple(5.0 * rng.normal(size=3)), duration=0.05)
    simulation.advance_to(case.end, watch)


def simulated(case: Scene) -> cs.Trajectory:
    """The run of a scene."""
    simulation = cs.Simulation(case.system, case.start, max_events=MOST_EVENTS)
    pushed(simulation, case)
    return simulation.trajectory


if __name__ == "__main__":
    for _ in written(__doc__, COUNT, lambda seed, budget: line(seed, budget, scene, pushed)):
        pass
