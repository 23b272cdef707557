"""How a bicycle balances itself: `python docs/examples/bicycle.py`.

The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab, "Linearized dynamics equations for the balance and
steer of a bicycle" (Proc. R. Soc. A 463, 2007), as a robot: two rims that roll by friction alone, without an equation
of a bicycle anywhere. The derivative of a run has the eigenvalues of their table 2. Between 4.29 and 6.02 m/s all of
them decay: a push is steered out without a rider.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin

import contactsim as cs

PICTURE = Path(__file__).parents[1] / "bicycle.png"
BASE, TRAIL, TILT = 1.02, 0.08, np.pi / 10  # wheelbase and trail [m], of the steering axis from the vertical [rad]
REAR, FRONT = 0.3, 0.35  # radii [m]
WHILE = 0.1  # s, of the runs whose derivatives are taken
SHARP = cs.Tolerances(rtol=1e-12, atol=1e-13)
STABLE = 4.29238253634111, 6.02426201538837  # m/s: table 2 ends of the speeds that balance


def bicycle() -> cs.Robot:
    """Rear frame with its rider, handlebar, and two wheels; x forward, y to the left, z up."""

    def body(joint: int, mass: float, place: list[float], moments: list[float], product: float = 0.0) -> None:
        matrix = np.diag(moments)
        matrix[0, 2] = matrix[2, 0] = product
        model.appendBodyToJoint(joint, pin.Inertia(mass, np.array(place), matrix), pin.SE3.Identity())

    def joint(parent: int, kind: pin.JointModel, place: list[float], name: str) -> int:
        return model.addJoint(parent, kind, pin.SE3(np.eye(3), np.array(place)), name)

    model = pin.Model()
    frame = joint(0, pin.JointModelFreeFlyer(), [0.0, 0.0, 0.0], "frame")
    body(frame, 85.0, [0.3, 0.0, 0.9], [9.2, 11.0, 2.8], -2.4)
    rear = joint(frame, pin.JointModelRY(), [0.0, 0.0, REAR], "rear")
    body(rear, 2.0, [0.0, 0.0, 0.0], [0.0603, 0.12, 0.0603])
    axis = np.array([-np.sin(TILT), 0.0, np.cos(TILT)])
    steer = joint(frame, pin.JointModelRevoluteUnaligned(axis), [BASE + TRAIL, 0.0, 0.0], "steer")
    body(steer, 4.0, [0.9 - BASE - TRAIL, 0.0, 0.7], [0.05892, 0.06, 0.00708], 0.00756)
    front = joint(steer, pin.JointModelRY(), [-TRAIL, 0.0, FRONT], "front")
    body(front, 3.0, [0.0, 0.0, 0.0], [0.1405, 0.28, 0.1405])
    for name, number in (("rear", rear), ("front", front)):
        model.addFrame(pin.Frame(f"{name} wheel", number, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    rims = [
        cs.ContactRim(f"{name} wheel", name=name, axis=(0.0, 1.0, 0.0), rim=radius, friction=2.0)
        for name, radius in (("rear", REAR), ("front", FRONT))
    ]
    return cs.Robot(model, contacts=rims)


def rolling(robot: cs.Robot, speed: float) -> cs.State:
    """Straight ahead at a speed [m/s]."""
    v = np.zeros(robot.nv)
    v[0] = speed
    for name, radius in (("rear", REAR), ("front", FRONT)):
        v[robot.model.joints[robot.model.getJointId(name)].idx_v] = speed / radius
    return cs.State(pin.neutral(robot.model), v)


def eigenvalues(system: cs.ContactSystem, speed: float) -> np.ndarray:
    """Those of lean and steer [1/s], sorted by their real parts: the four that are farthest from zero.

    Which way the bicycle goes, and where it is, changes nothing: these eigenvalues are zero, and those of motions that
    its contacts do not allow minus infinity.
    """
    run = cs.simulate(system, rolling(system.robot, speed), (0.0, WHILE), tolerances=SHARP)
    multipliers = np.linalg.eigvals(cs.linearize(run).matrix()).astype(complex)
    found = np.log(multipliers[np.abs(multipliers) > 1e-9]) / WHILE
    found = found[np.argsort(-np.abs(found))][:4]
    return found[np.lexsort((found.imag, found.real))]


def pushed(system: cs.ContactSystem, speed: float, duration: float) -> cs.Trajectory:
    """A run that a push at the frame throws out of its balance: 60 N to the left for 0.2 s."""
    simulation = cs.Simulation(system, rolling(system.robot, speed))
    simulation.push("rear wheel", force=(0.0, 60.0, 0.0), duration=0.2)
    simulation.advance(duration)
    return simulation.trajectory


def draw(speeds: np.ndarray, values: np.ndarray, runs: dict[float, cs.Trajectory], picture: Path) -> None:
    """Eigenvalues along the speed, and the lean after a push."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (along, after) = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
    along.axvspan(*STABLE, color="C2", alpha=0.2, label="balances itself")
    for k in range(4):
        along.plot(speeds, values[:, k].real, ".", color="C0", markersize=4, label="real parts" if k == 0 else None)
        turning = np.abs(values[:, k].imag) > 1e-6
        label = "imaginary parts" if k == 0 else None
        along.plot(speeds[turning], np.abs(values[turning, k].imag), ".", color="C1", markersize=2, label=label)
    along.axhline(0.0, color="grey", linewidth=0.8)
    along.set(xlabel="speed [m/s]", ylabel="eigenvalues [1/s]", ylim=(-10.0, 10.0))
    along.legend(fontsize=7)
    for speed, run in runs.items():
        lean = [np.degrees(np.arcsin(pin.Quaternion(q[3:7]).toRotationMatrix()[2, 1])) for q in run.q]
        after.plot(run.t, lean, label=f"{speed:g} m/s")
    after.set(xlabel="time [s]", ylabel="lean [degrees]", ylim=(-20.0, 20.0))
    after.legend(fontsize=7)
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> np.ndarray:
    """Follow the eigenvalues along the speed, and push; `small` looks at few speeds."""
    system = cs.ContactSystem(bicycle())
    print("eigenvalues at 5 m/s [1/s]:", *eigenvalues(system, 5.0))
    speeds = np.linspace(0.1, 10.0, 4 if small else 100)
    values = np.array([eigenvalues(system, speed) for speed in speeds])
    runs = {speed: pushed(system, speed, 0.3 if small else 4.0) for speed in (3.8, 5.0)}
    draw(speeds, values, runs, picture)
    return values


if __name__ == "__main__":
    main("--small" in sys.argv)
