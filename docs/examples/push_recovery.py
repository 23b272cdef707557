"""Solo12 is pushed sideways with 0.8 m/s and does not fall: `python docs/examples/push_recovery.py`.

It stands with its feet close together, on servos with the gains of its PD controller. Held where they are, they let it
roll over onto its back. `ilqr` moves their setpoints, from just that: within 0.4 s the robot is to be upright, at rest
and in its stand again, wherever that is. Which feet leave the ground for that, and when, is found. Afterwards the
servos hold the stand as before.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin

import contactsim as cs

PICTURE = Path(__file__).parents[1] / "control_push.png"
PUSH, DURATION, DT = 0.8, 0.4, 0.04
KP, KD = 15.4, 0.225  # N m/rad, N m s/rad: those of `contactsim run solo12`
ADDUCTION = -0.2  # rad, by which the feet come to 0.10 m from the middle
ROUGH = cs.Tolerances(rtol=1e-6, atol=1e-8)
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")


def stand() -> tuple[cs.ContactSystem, cs.State]:
    """The robot with its servos, and its stand."""
    robot = cs.load_robot("solo12").with_servos(KP, KD)
    system, q = cs.ContactSystem(robot), np.array(robot.nominal)
    q[[7, 10, 13, 16]] = ADDUCTION * np.array([1, -1, 1, -1])
    gaps = system.gaps(cs.State(q, np.zeros(robot.nv)))
    q[2] -= min(gaps[foot] for foot in FEET)
    return system, system.project(cs.State(q, np.zeros(robot.nv)), dict.fromkeys(FEET, cs.Mode.STICK))


def pushed(state: cs.State) -> cs.State:
    """The stand, moving sideways."""
    v = np.zeros_like(state.v)
    v[1] = PUSH
    return cs.State(state.q, v)


def cost(state: cs.State) -> cs.QuadraticCost:
    """At the end upright, at rest, as high as the stand and in its posture, at any place and heading."""
    joints = len(state.v) - 6
    final = np.concatenate([[0, 0, 1.0], [0.3, 0.3, 0], [0.02] * joints, [0.1] * 3, [0.01] * 3, [1e-4] * joints])
    running = np.concatenate([np.zeros(len(state.v)), [1e-3] * 6, [1e-6] * joints])
    return cs.QuadraticCost(
        np.diag(running), 0.2 * np.eye(joints), np.diag(100.0 * final), cs.State(state.q, 0 * state.v), state.q[7:]
    )


def recovery(iterations: int = 5, count: int = round(DURATION / DT)) -> tuple[cs.ContactSystem, cs.State, cs.Plan]:
    """The setpoints that save it, from those of the stand."""
    system, state = stand()
    U = np.tile(state.q[7:], (count, 1))
    plan = cs.ilqr(system, pushed(state), cost(state), U, DT, iterations=iterations, tolerances=ROUGH)
    return system, state, plan


def followed(system: cs.ContactSystem, state: cs.State, U: np.ndarray, end: float) -> cs.Trajectory:
    """The run under setpoints, followed by those of the stand."""
    inputs = cs.Inputs(np.vstack([U, state.q[7:]]), DT)
    return cs.simulate(system.with_controller(inputs), pushed(state), (0.0, end), tolerances=ROUGH)


def tilt(q: np.ndarray) -> float:
    """Angle of the trunk from upright [deg]."""
    return float(np.degrees(np.arccos(np.clip(pin.Quaternion(q[3:7]).matrix()[2, 2], -1.0, 1.0))))


def draw(runs: dict[str, cs.Trajectory], picture: Path) -> None:
    """Tilt and height of the trunk, and which feet are on the ground."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2 + len(runs), figsize=(13, 3), layout="constrained")
    for (name, run), feet in zip(runs.items(), axes[2:], strict=True):
        times = np.linspace(0.0, run.t[-1], 400)
        states = [run(float(t)) for t in times]
        axes[0].plot(times, [tilt(state.q) for state in states], label=name)
        axes[1].plot(times, [state.q[2] for state in states], label=name)
        for row, foot in enumerate(FEET):
            closed = [run.mode_at(float(t))[foot] is not cs.Mode.OPEN for t in times]
            feet.fill_between(times, row, row + 0.8, where=closed, step="mid")
        feet.set(xlabel="time [s]", title=name, yticks=np.arange(len(FEET)) + 0.4, yticklabels=FEET)
    axes[0].set(xlabel="time [s]", ylabel="trunk from upright [deg]")
    axes[1].set(xlabel="time [s]", ylabel="height of the trunk [m]")
    axes[0].legend(fontsize=7)
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> cs.Plan:
    """Optimise and draw; `small` takes one iteration over three samples."""
    system, state, plan = recovery(1, 3) if small else recovery()
    end = 0.15 if small else 1.5
    runs = {
        "held": followed(system, state, np.zeros((0, plan.U.shape[1])), end),
        "optimised": followed(system, state, plan.U, end),
    }
    draw(runs, picture)
    cs.export_html(runs["optimised"], picture.with_suffix(".html"))  # a page to look at it in 3-D
    print(f"{plan.message}; {plan.iterations} iterations, {sum(plan.timings.values()):.0f} s of the processor")
    print(f"cost {plan.costs[0]:.3g} -> {plan.cost:.3g}, {len(plan.trajectory.events)} events on the way")
    for name, run in runs.items():
        final = run.final
        print(
            f"{name}: {tilt(final.q):.2f} deg from upright after {end} s, {np.abs(final.v).max():.2g} m/s or rad/s left"
        )
    return plan


if __name__ == "__main__":
    main("--small" in sys.argv)
