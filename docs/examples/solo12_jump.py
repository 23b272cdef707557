"""Solo12 jumps from its stand to a goal 0.08 m higher, with lift-off found: `python docs/examples/solo12_jump.py`.

The goal is its stand, moved up: at rest, with its legs as they are now, so no foot can be on the ground. It begins with
the torques that hold the stand. On rigid ground alone that leads to a lift-off at the last sample but one, where it
stays: earlier ones are other runs, of which no derivative knows. On ground that gives way a lift-off is smooth, and
steps lead to an early one; its inputs are what the jump from rigid ground begins with.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import process_time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import contactsim as cs
from contactsim.common import registry

PICTURE = Path(__file__).parents[1] / "control_solo12.png"
HIGHER, DT, SAMPLES = 0.08, 0.02, 10
SOFT = 2e3  # N/m^1.5: the stand sinks into such ground by some 20 mm
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


def cost(state: cs.State, weight: float, nu: int) -> cs.QuadraticCost:
    """To end at rest, so much higher than the stand and in its posture, by small torques."""
    q = state.q.copy()
    q[2] += HIGHER
    final = np.concatenate([[1.0] * 3, [0.03] * 3, [1e-3] * nu, [0.01] * 3, [1e-3] * 3, [1e-5] * nu])
    running = np.concatenate([np.zeros(nu + 6), np.full(nu + 6, 1e-3)])
    goal = cs.State(q, np.zeros_like(state.v))
    return cs.QuadraticCost(np.diag(running), 0.02 * np.eye(nu), np.diag(weight * final), goal)


def jump(
    system: cs.ContactSystem,
    state: cs.State,
    torques: np.ndarray,
    soft: bool,
    weights: tuple[float, ...] = (1e3, 2e4),
    iterations: int = 8,
) -> list[cs.Plan]:
    """Plans under growing weights of the goal, from the torques of the stand; `soft`: begun on soft ground."""
    ground = registry.load("contact_laws", "hunt-crossley")(stiffness=SOFT, damping=1.0)
    U, plans = np.tile(torques, (SAMPLES, 1)), []
    for weight in weights:
        plans.append(
            cs.ilqr(
                system,
                state,
                cost(state, weight, len(torques)),
                U,
                DT,
                iterations=iterations,
                improvement=1e-4,
                continuation=(ground,) if soft and not plans else (),
                tolerances=ROUGH,
            )
        )
        U = plans[-1].U
    return plans


def lift_offs(run: cs.Trajectory) -> list[float]:
    """Times at which feet leave the ground [s]."""
    opened = [e.time for e in run.events if any(b is cs.Mode.OPEN for _, b in e.transitions.values())]
    return [round(float(time), 4) for time in opened]


def draw(system: cs.ContactSystem, state: cs.State, runs: dict[str, cs.Plan], picture: Path) -> None:
    """Height of the trunk in each run; gaps of the feet and torques of the last one."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (height, feet, torque) = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
    for name, plan in runs.items():
        height.plot(plan.trajectory.t, 1e3 * (plan.trajectory.q[:, 2] - state.q[2]), label=name)
    height.axhline(1e3 * HIGHER, linestyle=":", color="grey")
    height.set(xlabel="time [s]", ylabel="trunk above its stand [mm]")
    height.legend(fontsize=7)
    run = plan.trajectory
    times = np.linspace(0.0, run.t[-1], 200)
    gaps = [system.gaps(cs.State(run(float(t)).q, run(float(t)).v)) for t in times]
    for contact in system.world.robot.contacts:
        feet.plot(times, [1e3 * gap[contact.name] for gap in gaps], label=contact.name)
    feet.set(xlabel="time [s]", ylabel="foot above ground [mm]")
    feet.legend(fontsize=7)
    for row in plan.U.T:
        torque.stairs(row, np.arange(len(plan.U) + 1) * DT, baseline=None, linewidth=0.8)
    torque.set(xlabel="time [s]", ylabel="torques [N m]")
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> cs.Plan:
    """Optimise and draw; `small` takes one iteration, on rigid ground alone."""
    system, state, torques = stand(cs.load_robot("solo12"))
    runs = {}
    for name, soft in {"rigid ground alone": False, "begun on soft ground": True}.items():
        if soft and small:
            continue
        start = process_time()
        plans = jump(system, state, torques, soft, *(((1e3,), 1) if small else ()))
        time, plan = process_time() - start, plans[-1]
        runs[name] = plan
        missed = 1e3 * (plan.trajectory.final.q[2] - state.q[2] - HIGHER)
        gaps = plan.trajectory.system.gaps(plan.trajectory.final)
        feet = 1e3 * min(gap for foot, gap in gaps.items() if not foot.startswith("limit"))
        print(
            f"{name}: {missed:+.2f} mm from the goal, cost {plan.cost:.3g}; {[p.iterations for p in plans]} iterations"
        )
        print(f"  lift-off at {lift_offs(plan.trajectory)} s, feet {feet:.0f} mm above ground at the end; {time:.1f} s")
    draw(system, state, runs, picture)
    cs.export_html(plan.trajectory, picture.with_suffix(".html"))  # a page to look at it in 3-D
    return plan


if __name__ == "__main__":
    main("--small" in sys.argv)
