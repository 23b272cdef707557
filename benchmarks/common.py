"""Shared by the benchmarks: solo12 as they use it, pinocchio's constrained dynamics, timing, and lines of a table."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads only add noise

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

import contactsim as cs

REACHED = {True: "reached", False: "missed"}


def solo12(point_feet: bool) -> cs.Robot:
    """solo12 of example-robot-data, its feet as round as they are or as points."""
    robot = cs.load_robot("solo12")
    if not point_feet:
        return robot
    return robot.with_contacts([replace(contact, radius=0.0) for contact in robot.contacts])


def constrained_dynamics(robot: cs.Robot) -> Callable[[Any, Any], Any]:
    """(q, v) -> acceleration by `pin.constraintDynamics`, every contact of the robot held as a point."""
    model, data, tau = robot.model, robot.model.createData(), np.zeros(robot.nv)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for contact in robot.contacts:
        frame = model.frames[robot.frame_id(contact.frame)]
        place = pin.SE3(np.eye(3), frame.placement.act(np.asarray(contact.offset, dtype=float)))
        kind, axes = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        models.append(pin.RigidConstraintModel(kind, model, frame.parentJoint, place, axes))
        datas.append(models[-1].createData())
    pin.initConstraintDynamics(model, data, models, datas)
    return lambda q, v: pin.constraintDynamics(model, data, q, v, tau, models, datas)


def fastest(
    jobs: Sequence[Callable[[], object]], rounds: int = 15, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Shortest time of each job [s]; the jobs take turns, so that a busy spell meets all of them.

    With `time.process_time` as the clock, what runs beside them counts for little.
    """
    best = [float("inf")] * len(jobs)
    for _ in range(rounds + 1):  # the first round warms up, and cannot be the fastest
        for k, job in enumerate(jobs):
            start = clock()
            job()
            best[k] = min(best[k], clock() - start)
    return best


def line(
    question: str,
    measured: str,
    value: float,
    target: float | None = None,
    unit: str = "x",
    at_least: bool = False,
) -> None:
    """Print one line of the table; `value` must not be above `target`, where there is one, or `at_least` as high."""
    reached = target is not None and (value >= target if at_least else value <= target)
    goal = "| |" if target is None else f"{target:.3g}{unit} | {REACHED[reached]} |"
    print(f"| {question} | {measured} | {value:.3g}{unit} | {goal}")
