"""How accurate is a ball that slides into rolling, and at what cost, against MuJoCo?

A ball with v0 = 1 m/s and mu = 0.3 rolls with 5/7 v0 in the end. Each engine takes the coarsest setting that reaches
its accuracy: contactsim its tolerance for 1e-8 m/s, MuJoCo its time step for 1e-6 m/s (elliptic cone, solref 0.002,
the faster of its Euler and RK4; the steps of a run are one call, so that Python costs it nothing). Where MuJoCo's
contact is too soft for that, its step is shortened until it has computed 50 times as long as contactsim, and the error
it still has is given; a second line gives its best error and the time of the first setting within a tenth of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import mujoco
import numpy as np
import pinocchio as pin
from common import line

import contactsim as cs

MU, END, FINAL, ROUNDS = 0.3, 2.0, 5.0 / 7.0, 7
IN_A_ROW = 0.1  # s, for which a run is done again and again: a first one finds nothing in the cache
RTOLS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
STEPS = (1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)
Run = Callable[[], float]

XML = """
<mujoco>
  <option timestep="{step}" cone="elliptic" integrator="{integrator}" gravity="0 0 -9.81"/>
  <default><geom solref="0.002 1" friction="0.3 0 0" condim="3"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 {radius}"><freejoint/><geom type="sphere" size="{radius}" mass="1"/></body>
  </worldbody>
</mujoco>
"""


def contactsim_run(system: cs.ContactSystem, start: cs.State, tolerances: cs.Tolerances) -> float:
    """Error of the final velocity [m/s]."""
    final = cs.simulate(system, start, (0.0, END), tolerances=tolerances).final
    velocity = pin.Quaternion(final.q[3:7]).toRotationMatrix() @ final.v[:3]
    return float(np.abs(velocity - [FINAL, 0.0, 0.0]).max())


def ball(radius: float) -> cs.ContactSystem:
    """A solid ball of 1 kg on level ground."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, radius), pin.SE3.Identity())
    model.addFrame(pin.Frame("ball", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    return cs.ContactSystem(cs.Robot(model, [cs.ContactPoint("ball", radius=radius, friction=MU)]))


def mujoco_run(model: mujoco.MjModel) -> float:
    """Error of the final velocity [m/s]."""
    data = mujoco.MjData(model)
    data.qvel[0] = 1.0
    mujoco.mj_step(model, data, round(END / model.opt.timestep))
    return float(np.abs(data.qvel[:3] - [FINAL, 0.0, 0.0]).max())


def mujoco_model(radius: float, integrator: str, step: float) -> mujoco.MjModel:
    """The ball on a plane."""
    return mujoco.MjModel.from_xml_string(XML.format(step=step, integrator=integrator, radius=radius))


def coarsest(runs: list[Run], error: float) -> Run | None:
    """The first run from which on (towards finer settings) the error stays below `error`."""
    found = None
    for run in reversed(runs):
        if run() > error:
            break
        found = run
    return found


def seconds(run: Run) -> float:
    """Processor time of one run [s], the least of some in a row."""
    taken: list[float] = []
    while sum(taken) < IN_A_ROW:
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def compare(radius: float) -> None:
    """Print the line of one radius."""
    system = ball(radius)
    start = cs.State([0, 0, radius, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0])
    own = coarsest([partial(contactsim_run, system, start, cs.Tolerances(rtol, 1e-2 * rtol)) for rtol in RTOLS], 1e-8)
    assert own is not None
    theirs = [
        [partial(mujoco_run, mujoco_model(radius, integrator, step)) for step in STEPS]
        for integrator in ("Euler", "RK4")
    ]
    rivals = [run for runs in theirs if (run := coarsest(runs, 1e-6))]
    reached = bool(rivals)
    if not reached:
        best = min(run() for runs in theirs for run in runs)
        rivals = [run for runs in theirs if (run := coarsest(runs, 1.1 * best))]
    rounds = [[seconds(run) for run in (own, *rivals)] for _ in range(ROUNDS)]
    ours, *others = np.min(rounds, axis=0)
    fastest_rival = int(np.argmin(others))
    error = rivals[fastest_rival]()
    measured = f"{1e3 * ours:.1f} ms to {own():.1e} m/s / {1e3 * min(others):.1f} ms to {error:.1e} m/s"
    if reached:
        line(f"rolling ball of {radius} m / MuJoCo", measured, ours / min(others), 0.02)
        return
    line(f"rolling ball of {radius} m / MuJoCo at its own best", measured, ours / min(others))
    limit, spent, error = 50.0 * ours, 0.0, 0.0
    step = STEPS[-1]
    while spent < limit:
        step *= 0.5
        run = partial(mujoco_run, mujoco_model(radius, "Euler", step))
        spent, error = seconds(run), run()
    assert error > 1e-6, "MuJoCo reaches 1e-6 after all: lengthen STEPS"
    measured = f"{1e3 * ours:.1f} ms to {own():.1e} m/s / {spent:.1f} s to {error:.1e} m/s (it does not reach 1e-6)"
    line(f"rolling ball of {radius} m / MuJoCo to 1e-6", measured, ours / spent, 0.02)


def main() -> None:
    """A ball of 0.1 m, and one of 1 m, for which the softness of MuJoCo's contact matters less."""
    for radius in (0.1, 1.0):
        compare(radius)


if __name__ == "__main__":
    main()
