"""Solo12 jumps from its stand to a goal 0.08 m higher, with lift-off found: `python docs/examples/solo12_jump.py`.

The goal is its stand, moved up: at rest, with its legs as they are now, so no foot can be on the ground. First the
trunk is to be fast within 0.12 s; then, from those inputs followed by 0.08 s in which the legs are drawn in a little,
the whole is to end at the goal. When feet leave the ground is up to the inputs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import contactsim as cs

PICTURE = Path(__file__).parents[1] / "control_solo12.png"
HIGHER, DT = 0.08, 0.02
ROUGH = cs.Tolerances(rtol=1e-6, atol=1e-8)


def stand(robot: cs.Robot) -> tuple[cs.ContactSystem, cs.State, np.ndarray]:
    """The robot on its feet, and the torques (nu,) that hold it there, those of stiff joints."""
    system = cs.ContactSystem(robot)
    q = np.array(robot.nominal)
    q[2] -= min(system.gaps(cs.State(q, np.zeros(robot.nv))).values())
    feet = {contact.name: cs.Mode.STICK for contact in robot.contacts}
    state = system.project(cs.State(q, np.zeros(robot.nv)), feet)
    held = system.with_controller(cs.PD(robot, reference=state.q, kp=1e4, kd=30.0))
    rest = cs.simulate(held, state, (0.0, 0.5))
    torques = np.asarray(held.applied_force(0.5, rest.final_x))[robot.actuated]
    return system, state, torques


def cost(
    state: cs.State, torques: np.ndarray, higher: float, speed: float, weight: float, legs: float
) -> cs.QuadraticCost:
    """To be so much higher at a speed upwards, level; `legs` is the weight of the posture beside that of the place."""
    q, v = state.q.copy(), np.zeros_like(state.v)
    q[2], v[2] = q[2] + higher, speed
    n, nu = len(v), len(torques)
    final = np.concatenate([[1.0] * 3, [0.03] * 3, [legs] * nu, [0.05 if speed else 0.01] * 3, [1e-3] * 3, [1e-5] * nu])
    running = np.concatenate([np.zeros(n), np.full(n, 1e-3)])
    return cs.QuadraticCost(np.diag(running), 0.02 * np.eye(nu), np.diag(weight * final), cs.State(q, v), torques)


def jump(
    iterations: int = 10, weights: tuple[float, ...] = (1e3, 4e3, 2e4)
) -> tuple[cs.ContactSystem, cs.State, cs.Plan]:
    """The plan of the jump, under weights of the goal one after the other."""
    robot = cs.load_robot("solo12")
    system, state, torques = stand(robot)
    options = {"iterations": iterations, "improvement": 1e-4, "tolerances": ROUGH}
    uneven = 0.02 * np.random.default_rng(0).normal(size=(6, len(torques)))  # else all feet leave at one instant
    off = cs.ilqr(system, state, cost(state, torques, 0.045, 0.85, 1e3, 2e-5), torques + uneven, DT, **options)
    still = np.zeros_like(torques)
    U = np.vstack([off.U, np.tile(-0.5 * torques, (4, 1))])
    for weight in weights:
        plan = cs.ilqr(system, state, cost(state, still, HIGHER, 0.0, weight, 1e-3), U, DT, **options)
        U = plan.U
    return system, state, plan


def draw(system: cs.ContactSystem, state: cs.State, plan: cs.Plan, picture: Path) -> None:
    """Height of the trunk, gaps of the feet and torques."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    run = plan.trajectory
    figure, (height, feet, torque) = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
    height.plot(run.t, 1e3 * (run.q[:, 2] - state.q[2]))
    height.axhline(1e3 * HIGHER, linestyle=":", color="grey")
    height.set(xlabel="time [s]", ylabel="trunk above its stand [mm]")
    times = np.linspace(0.0, run.t[-1], 200)
    gaps = [system.gaps(cs.State(run(float(t)).q, run(float(t)).v)) for t in times]
    for contact in system.world.robot.contacts:
        feet.plot(times, [1e3 * gap[contact.name] for gap in gaps], label=contact.name)
    feet.set(xlabel="time [s]", ylabel="foot above ground [mm]")
    feet.legend(fontsize=7)
    torque.step(np.arange(len(plan.U)) * DT, plan.U, where="post", linewidth=0.8)
    torque.set(xlabel="time [s]", ylabel="torques [N m]")
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> cs.Plan:
    """Optimise and draw; `small` takes few iterations."""
    system, state, plan = jump(1, (1e3,)) if small else jump()
    draw(system, state, plan, picture)
    missed = 1e3 * (plan.trajectory.final.q[2] - state.q[2] - HIGHER)
    opened = [
        event.time for event in plan.trajectory.events if any(b is cs.Mode.OPEN for _, b in event.transitions.values())
    ]
    print(f"{plan.message}; {plan.iterations} iterations, {sum(plan.timings.values()):.1f} s of the processor")
    final = plan.trajectory.final
    feet = 1e3 * min(gap for name, gap in plan.trajectory.system.gaps(final).items() if not name.startswith("limit"))
    print(
        f"the trunk ends {missed:.2f} mm from the goal; feet leave the ground at {opened} s and end {feet:.0f} mm above"
    )
    return plan


if __name__ == "__main__":
    main("--small" in sys.argv)
