"""A biped takes three steps to a faster walk: `python docs/examples/biped_speeds_up.py`.

The compass gait walks down its slope without a motor. A spring at its hip makes it walk faster: each stiffness has a
walk of its own, found as a periodic orbit. From the walk without a motor, torques at the hip are to lead within three
steps into the walk with the spring, angles and rates alike; there the spring takes over. Heel strikes are found: none
of their times is given, and a run that trips does not reach its end.

From no torque only a walk a little faster is within reach: asked for one far off at once, the biped stumbles. So the
stiffness grows in stages, and each begins with the torques of the last one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import contactsim as cs

PICTURE = Path(__file__).parents[1] / "control_biped.png"
STEPS, SAMPLES = 3, 30
STIFFNESSES = (5.0, 10.0, 15.0, 20.0)  # N m/rad
PERIOD = 0.7345  # s: of a step without a motor
CLOSE = cs.Tolerances(rtol=1e-8, atol=1e-10)


class Gait(NamedTuple):
    """A walk with a spring at the hip.

    Attributes:
        system: the biped with its spring.
        start: standing on the left leg, early in a step.
        period: of a step [s].
        speed: in the mean [m/s].
        stiffness: of the spring [N m/rad].
    """

    system: cs.ContactSystem
    start: cs.State
    period: float
    speed: float
    stiffness: float


def standing(stance: float, hip: float, stance_rate: float, hip_rate: float) -> cs.State:
    """The state that stands on the left foot at the origin; angle of the leg and from it to the other one [rad]."""
    s, c = np.sin(stance), np.cos(stance)
    return cs.State([s, c, stance, hip], [c * stance_rate, -s * stance_rate, stance_rate, hip_rate])


def exchanged(state: cs.State) -> cs.State:
    """One leg as the other one, standing on the left foot at the origin."""
    (left, hip), (left_rate, hip_rate) = state.q[2:], state.v[2:]
    return standing(left + hip, -hip, left_rate + hip_rate, -hip_rate)


def gait(walker: cs.ContactSystem, stiffness: float, near: Gait | None = None) -> Gait:
    """The walk with a spring at the hip, near another one, or near that of the demonstration."""
    robot = walker.world.robot
    system = walker.with_controller(cs.PD(robot, reference=np.zeros(robot.nq), kp=stiffness, kd=0.0))
    if near is None:
        early = cs.simulate(walker, cs.load_scene("biped").state, (0.0, 0.16 * PERIOD)).final
        near = Gait(walker, standing(*early.q[2:], *early.v[2:]), PERIOD, 0.0, 0.0)
    orbit = cs.find_periodic_orbit(system, near.start, near.period, symmetry=exchanged)
    run = cs.simulate(system, orbit.x0, (0.0, 2.0 * orbit.period))
    way = float(np.linalg.norm(run.final.q[:2] - run(0.0).q[:2]))
    return Gait(system, cs.State(orbit.x0.q, orbit.x0.v), orbit.period, way / (2.0 * orbit.period), stiffness)


def speed_up(
    stiffnesses: tuple[float, ...] = STIFFNESSES, samples: int = SAMPLES, iterations: int = 40
) -> tuple[Gait, Gait, list[cs.Plan]]:
    """The first walk, the last one, and the plans of all stages."""
    walker = cs.load_scene("biped").system
    first = last = gait(walker, 0.0)
    U, plans = np.zeros((samples, 1)), []
    for stiffness in stiffnesses:
        last = gait(walker, stiffness, last)
        goal = exchanged(last.start)  # after an odd number of steps
        final = 1e3 * np.diag([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.1, 0.1])  # both angles and rates, at any place
        cost = cs.QuadraticCost(np.zeros((8, 8)), 1e-4 * np.eye(1), final, goal)
        dt = STEPS * 0.5 * (first.period + last.period) / samples
        plans.append(
            cs.ilqr(walker, first.start, cost, U, dt, iterations=iterations, improvement=1e-6, tolerances=CLOSE)
        )
        U = plans[-1].U
    return first, last, plans


def strikes(run: cs.Trajectory) -> np.ndarray:
    """Times of heel strikes, at which a foot begins to stand [s]."""
    return np.array([e.time for e in run.events if any(a is cs.Mode.OPEN for a, _ in e.transitions.values())])


def followed(last: Gait, plan: cs.Plan, periods: float = 3.5) -> cs.Trajectory:
    """The spring from the end of a plan on."""
    end = plan.trajectory.final
    mode = plan.trajectory.mode_at(plan.trajectory.t[-1])
    span = plan.trajectory.t[-1] + np.array([0.0, periods * last.period])
    return cs.simulate(last.system, cs.State(end.q, end.v), tuple(span), mode=mode)


def switched(first: Gait, last: Gait, periods: float = 8.0) -> cs.Trajectory:
    """The spring at once, with no other torque, until the swinging foot trips."""
    try:
        return cs.simulate(last.system, first.start, (0.0, periods * last.period))
    except cs.InputError as tripped:  # it is below ground where it may land
        return tripped.trajectory


def draw(first: Gait, last: Gait, plan: cs.Plan, after: cs.Trajectory, picture: Path) -> None:
    """Angles of the legs, torques, and how long each step takes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (angles, torque, steps) = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
    for run, style in ((plan.trajectory, "-"), (after, "--")):
        angles.plot(run.t, np.degrees(run.q[:, 2]), f"C0{style}", label="left leg" if style == "-" else None)
        angles.plot(
            run.t, np.degrees(run.q[:, 2:].sum(axis=1)), f"C1{style}", label="right leg" if style == "-" else None
        )
        for time in strikes(run):
            angles.axvline(time, color="grey", linewidth=0.5)
    angles.set(xlabel="time [s] (dashed: the spring)", ylabel="from the vertical [deg]")
    angles.legend(fontsize=7)
    torque.stairs(plan.U[:, 0], np.arange(len(plan.U) + 1) * plan.dt, baseline=None, color="C0", label="planned")
    torque.plot(after.t, -last.stiffness * after.q[:, 3], color="C1", label="spring")
    torque.set(xlabel="time [s]", ylabel="torque at the hip [N m]")
    torque.legend(fontsize=7)
    planned = np.diff(np.r_[strikes(plan.trajectory), strikes(after)])
    steps.plot(np.arange(2, 2 + len(planned)), planned, ".-", label="planned, then the spring")
    alone = np.diff(strikes(switched(first, last)))
    steps.plot(np.arange(2, 2 + len(alone)), alone, ".-", label="the spring at once")
    for walk in (first, last):
        steps.axhline(walk.period, color="grey", linestyle=":")
    steps.set(xlabel="step", ylabel="time from strike to strike [s]")
    steps.legend(fontsize=7)
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> cs.Plan:
    """Optimise and draw; `small` goes to a walk a little faster in few iterations."""
    first, last, plans = speed_up((1.0,), 8, 2) if small else speed_up()
    plan, goal = plans[-1], exchanged(last.start)
    after = followed(last, plan)
    draw(first, last, plan, after, picture)
    cs.export_html(plan.trajectory, picture.with_suffix(".html"))  # a page to look at it in 3-D
    apart = np.abs(np.r_[plan.trajectory.final.q - goal.q, plan.trajectory.final.v - goal.v])[[2, 3, 6, 7]]
    print(f"{first.speed:.3f} -> {last.speed:.3f} m/s; strikes at {np.round(strikes(plan.trajectory), 3)} s")
    print(f"angles end within {apart[:2].max():.1e} rad of the new walk, rates within {apart[2:].max():.1e} rad/s")
    print(f"steps after it take {np.round(np.diff(strikes(after)), 4)} s, those of the new walk {last.period:.4f} s")
    print(
        f"iterations of the stages {[p.iterations for p in plans]}, {sum(sum(p.timings.values()) for p in plans):.0f} s"
        " of the processor"
    )
    return plan


if __name__ == "__main__":
    main("--small" in sys.argv)
