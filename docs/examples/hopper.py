"""A hopper jumps up with its leg pulled in: `python docs/examples/hopper.py`.

It stands, and is asked to be 0.3 m higher half a second later, at rest and with its leg as short as now. No push from
the stand does both; that the foot has to leave the ground, and when, is found: steps alone end in a poor minimum, with
the foot on the ground for long, beside which runs with other inputs are tried. The same task on soft ground, and from
there on rigid ground, is beside it. The picture is that of docs/use/control.md.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import contactsim as cs
from contactsim.common import registry

PICTURE = Path(__file__).parents[1] / "control_hopper.png"
DT, HIGHER, BODY = 0.02, 0.3, 3.0
HOPPER = """
<mujoco><option gravity="0 0 -9.81"/><worldbody>
  <geom name="floor" type="plane" size="5 5 0.1" friction="0.8"/>
  <body name="body" pos="0 0 0.55"><joint name="lift" type="slide" axis="0 0 1"/>
    <geom type="box" size="0.1 0.1 0.05" mass="3" contype="0" conaffinity="0"/>
    <body name="leg" pos="0 0 -0.5"><joint name="leg" type="slide" axis="0 0 1" damping="1"/>
      <geom name="foot" type="sphere" size="0.05" mass="0.3"/></body></body></worldbody>
  <actuator><motor name="thrust" joint="leg" ctrlrange="-150 150" ctrllimited="true"/></actuator></mujoco>"""


def hopper() -> cs.ContactSystem:
    """A body of 3 kg on a leg with a motor, that moves up and down."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hopper.xml"
        path.write_text(HOPPER, encoding="utf-8")
        return cs.ContactSystem(cs.Robot.from_mjcf(path))


def soft(stiffness: float) -> Any:
    """Ground that gives way."""
    return registry.load("contact_laws", "hunt-crossley")(stiffness=stiffness)


def jump(
    system: cs.ContactSystem, count: int = 25, iterations: int = 40, samples: int = 0, continuation: Any = ()
) -> cs.Plan:
    """The best thrust from that with which the hopper stands."""
    stand = np.array(system.world.robot.nominal)
    goal = cs.State(stand + np.array([HIGHER, 0.0]), np.zeros(2))
    weight = np.array([-9.81 * BODY])
    cost = cs.QuadraticCost(np.zeros((4, 4)), 1e-4 * np.eye(1), np.diag([2000.0, 1000.0, 10.0, 1.0]), goal, weight)
    return cs.ilqr(
        system,
        cs.State(stand, np.zeros(2)),
        cost,
        np.tile(weight, (count, 1)),
        DT,
        iterations=iterations,
        improvement=1e-4,
        samples=samples,
        continuation=continuation,
        tolerances=cs.Tolerances(rtol=1e-7, atol=1e-9),
    )


def draw(plans: dict[str, cs.Plan], picture: Path) -> None:
    """Height of body and foot, and how the cost fell, of each plan."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (height, cost) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for name, plan in plans.items():
        run = plan.trajectory
        (line,) = height.plot(run.t, run.q[:, 0], label=f"body, {name}")
        height.plot(run.t, run.q.sum(axis=1), ":", color=line.get_color(), label=f"foot, {name}")
        cost.semilogy(plan.costs, ".-", label=name)
    height.set(xlabel="time [s]", ylabel="above the stand [m]")
    cost.set(xlabel="iteration (of the last law)", ylabel="cost")
    height.legend(fontsize=7)
    cost.legend(fontsize=7)
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> dict[str, cs.Plan]:
    """Optimise and draw; `small` takes few steps and few iterations."""
    system, size = hopper(), {"count": 8, "iterations": 2} if small else {}
    plans = {
        "rigid": jump(system, samples=8, **size),
        "soft (2e3)": jump(system.with_law(soft(2e3)), **size),
    }
    if not small:
        plans["rigid, from soft"] = jump(system, continuation=(soft(2e3), soft(1e4)))
    draw(plans, picture)
    print("ground             iterations  cost      processor time [s]  missed [mm]")
    for name, plan in plans.items():
        missed = 1e3 * abs(plan.trajectory.final.q[0] - HIGHER)
        print(f"{name:18} {plan.iterations:10} {plan.cost:9.4g} {sum(plan.timings.values()):14.1f} {missed:14.3f}")
    return plans


if __name__ == "__main__":
    main("--small" in sys.argv)
