"""Derivatives of a ball's runs by Nimble, in an environment of its own: called by `derivative_accuracy.py`.

Nimble 0.10.52.1 wants NumPy below 2, and its Python part PyTorch, which is not needed for the compiled one:

    python3.11 -m venv nimble && nimble/bin/pip install --no-deps nimblephysics && nimble/bin/pip install "numpy<2"
    NIMBLE_PYTHON=nimble/bin/python python benchmarks/derivative_accuracy.py

Reads cases as JSON from its input and writes, for each step, the product of the Jacobians of all steps of Nimble,
(x, z, angle about y, and their rates), the state at the end, and the time it took.
"""

from __future__ import annotations

import time

import numpy as np
from nimblephysics_libs import _nimblephysics as nimble
from peer_answers import Found, answer


def world_of(case: dict[str, float], step: float) -> nimble.simulation.World:
    """A ball that moves in a plane above a box that does not move, y upwards as Nimble likes it."""
    world = nimble.simulation.World()
    world.setGravity([0.0, -9.81, 0.0])
    world.setTimeStep(step)
    world.setPenetrationCorrectionEnabled(False)
    radius = case["radius"]
    for name, shape in (("ground", nimble.dynamics.BoxShape([100.0, 1.0, 100.0])), ("ball", None)):
        skeleton = nimble.dynamics.Skeleton(name)
        if shape is None:
            joint, body = skeleton.createPlanarJointAndBodyNodePair()
            joint.setXYPlane()
            body.setMass(1.0)
            moment = 0.4 * radius**2
            body.setMomentOfInertia(moment, moment, moment, 0.0, 0.0, 0.0)
            shape = nimble.dynamics.SphereShape(radius)
        else:
            joint, body = skeleton.createWeldJointAndBodyNodePair()
            place = nimble.math.Isometry3()
            place.set_translation([0.0, -0.5, 0.0])
            joint.setTransformFromParentBodyNode(place)
        node = body.createShapeNode(shape)
        node.createVisualAspect()
        node.createCollisionAspect()
        body.setFrictionCoeff(case["friction"])
        body.setRestitutionCoeff(case["restitution"])
        world.addSkeleton(skeleton)
    return world


def run(case: dict[str, float], step: float) -> list[Found]:
    """The derivative (6, 6) of one run, alone; turns about its axis z are those about -y."""
    world = world_of(case, step)
    signs = np.array([1.0, 1.0, -1.0, 1.0, 1.0, -1.0])
    world.setState(signs * case["start"])
    total, start = np.eye(6), time.perf_counter()
    for _ in range(round(case["end"] / step)):
        total = nimble.neural.forwardPass(world).getStateJacobian(world) @ total
    seconds = time.perf_counter() - start
    return [(signs[:, None] * total * signs, signs * world.getState(), seconds)]


if __name__ == "__main__":
    answer(run)
