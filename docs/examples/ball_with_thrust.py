"""A ball with thrust goes from 4 m to 1 m in a second, bouncing once: `python docs/examples/ball_with_thrust.py`.

Inputs are found by hybrid iLQR from no thrust at all. The picture is that of docs/use/control.md.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import contactsim as cs

PICTURE = Path(__file__).parents[1] / "control_ball.png"
START, GOAL = cs.State([4.0], [0.0]), cs.State([1.0], [0.0])
COST = cs.QuadraticCost(np.zeros((2, 2)), 5e-4 * np.eye(1), 100.0 * np.eye(2), GOAL)


def ball() -> cs.ContactSystem:
    """A mass of 1 kg with one coordinate, its height, that keeps three quarters of its speed in a bounce."""
    gap = cs.Gap(
        gap=lambda t, q: q[0],
        normal=lambda t, q: np.ones(1),
        tangent=lambda t, q: np.zeros((0, 1)),
        friction=0.0,
        restitution=0.75,
        name="ball",
    )
    weight = np.array([-9.81])
    return cs.ContactSystem(cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: weight, contacts=[gap]))


def optimised(count: int, iterations: int = 100) -> cs.Plan:
    """The best thrust in `count` steps, from none."""
    fine = cs.Tolerances(rtol=1e-11, atol=1e-12)
    U = np.zeros((count, 1))
    return cs.ilqr(ball(), START, COST, U, 1.0 / count, iterations=iterations, improvement=0.0, tolerances=fine)


def draw(plan: cs.Plan, picture: Path) -> None:
    """Height and thrust of the plan, and how its cost fell."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    run = plan.trajectory
    figure, (height, thrust, cost) = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
    height.plot(run.t, run.q[:, 0])
    height.set(xlabel="time [s]", ylabel="height [m]")
    thrust.stairs(plan.U[:, 0], np.arange(len(plan.U) + 1) * plan.dt, baseline=None)
    thrust.set(xlabel="time [s]", ylabel="thrust [N]")
    cost.semilogy(plan.costs, ".-")
    cost.set(xlabel="iteration", ylabel="cost")
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> cs.Plan:
    """Optimise and draw; `small` takes few steps and few iterations."""
    plan = optimised(8, 2) if small else optimised(50)
    draw(plan, picture)
    print(f"{plan.message}: cost {plan.cost:.6g} after {plan.iterations} iterations, gradient {plan.gradients[-1]:.2g}")
    print(f"{plan.trajectory.events}, at the end {plan.trajectory.final}")
    return plan


if __name__ == "__main__":
    main("--small" in sys.argv)
