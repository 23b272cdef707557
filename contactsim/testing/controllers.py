"""Properties of a controller: a function (robot, **parameters) that returns one, tried on a robot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..analysis.linearization import linearize
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact_dynamics.contact_system import ContactSystem, State
from ..contact_dynamics.placement import default_start
from ..errors import InputError
from ..hybrid.simulate import simulate
from ..hybrid.tolerances import Tolerances
from ..multibody.catalogue import load_robot
from ..multibody.controllers import Controller, as_controller
from ..multibody.robot import Robot
from . import checks
from .report import Finding, Outcome

ROBOT = "hexapod"  # six legs, 18 motors, a floating root: what drives it drives most
SEED, STATES = 5, 20
ROUNDS = 20  # in which all states are asked for again
BENT, MOVING, LATEST = 0.1, 0.5, 2.0  # spread of configurations [rad, m] and velocities, and of times [s]
JACOBIAN = 1e-6  # of a derivative that is given, relative to its largest entry
TIME, FLIGHT = 0.3, 0.05  # of the run that is checked, and of the one that is differenced, which is in the air [s]
DERIVATIVE = 1e-5  # of a run, relative to its largest entry
DIRECTIONS, STEP = 2, 2e-5
TIGHT = Tolerances(rtol=1e-10, atol=1e-11)


@dataclass(frozen=True)
class Drive:
    """A maker of controllers, its parameters, and the name of the robot that they drive."""

    make: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    robot_name: str = ROBOT

    @cached_property
    def robot(self) -> Robot:
        """The robot."""
        return load_robot(self.robot_name)

    @cached_property
    def controller(self) -> Controller:
        """The controller."""
        found = as_controller(self.make(self.robot, **self.parameters))
        if found is None:
            raise InputError(f"None is made for the robot {self.robot_name}; return a function or a Controller")
        return found

    @cached_property
    def system(self) -> ContactSystem:
        """The robot on level ground, driven."""
        return ContactSystem(self.robot, controller=self.controller)

    def places(self) -> Iterator[tuple[float, Array, Array, Array]]:
        """(t, q, v, z) around the nominal pose; the memory is what a sample there gives."""
        rng, robot = np.random.default_rng(SEED), self.robot
        for _ in range(STATES):
            q = robot.space.integrate(robot.nominal, BENT * rng.normal(size=robot.nv))
            t, v = float(rng.uniform(0.0, LATEST)), MOVING * rng.normal(size=robot.nv)
            yield t, q, v, np.asarray(self.controller.sample(t, q, v, np.zeros(self.controller.memory)), dtype=float)


def _answers(drive: Drive) -> Iterator[Finding]:
    nv, own = drive.robot.nv, drive.controller.memory
    for t, q, v, z in drive.places():
        for name, size in {"torque": nv, "rate": own, "sample": own}.items():
            found = np.asarray(getattr(drive.controller, name)(t, q, v, z), dtype=float)
            good = found.shape == (size,) and np.isfinite(found).all()
            what = f"the shape {found.shape}" if found.shape != (size,) else f"{found}"
            text = f"{name}() returns {what} at t = {t:.3g} s; return {size} finite numbers"
            yield 0.0 if good else np.inf, text, {"time": t}


def _twice(drive: Drive) -> Iterator[Finding]:
    answered = []
    for t, q, v, z in drive.places():
        kept = [part.copy() for part in (q, v, z)]
        first = np.array(drive.controller.torque(t, q, v, z), dtype=float)
        second = np.asarray(drive.controller.torque(t, q, v, z), dtype=float)
        written = not all(map(np.array_equal, kept, (q, v, z)))
        yield np.inf if written else 0.0, "torque() writes into what it is given; return a new array", {"time": t}
        off = float(np.abs(first - second).max(initial=0.0))
        text = (
            f"torque() answers differently when asked twice, by {off:.3g}, at t = {t:.3g} s; keep what it remembers in"
            " `memory`"
        )
        yield off, text, {"time": t}
        answered.append(((t, q, v, z), first))
    for place, first in answered * ROUNDS:
        off = float(np.abs(first - drive.controller.torque(*place)).max(initial=0.0))
        text = f"torque() answers differently when asked again later, by {off:.3g}, at t = {place[0]:.3g} s"
        yield off, f"{text}; keep what it remembers in `memory`", {"time": place[0]}


def _jacobians(drive: Drive) -> Iterator[Finding]:
    """Own derivatives against those of the base class, which are differences."""
    controller, space = drive.controller, drive.robot.space
    for t, q, v, z in drive.places():
        for name in ("torque_jacobian", "rate_jacobian", "sample_jacobian"):
            own = np.asarray(getattr(controller, name)(t, q, v, z, space), dtype=float)
            expected = getattr(Controller, name)(controller, t, q, v, z, space)
            if own.shape != expected.shape:
                yield np.inf, f"{name}() returns the shape {own.shape}; return {expected.shape}", {"time": t}
                return
            off = float(np.abs(own - expected).max(initial=0.0)) / max(1.0, float(np.abs(expected).max(initial=0.0)))
            text = f"{name}() differs from differences by {off:.3g} at t = {t:.3g} s; columns are those of q, v and z"
            yield off, text, {"time": t}


def _parameters(drive: Drive) -> Iterator[Finding]:
    controller, place = drive.controller, next(drive.places())
    answer = partial(controller.torque, *place)
    return checks.parameters(controller, "controller", "Controller", answer, lambda value: 0.5, JACOBIAN)


def _runs(drive: Drive) -> Iterator[Finding]:
    return checks.whole(simulate(drive.system, default_start(drive.system), (0.0, TIME)))


def _derivative(drive: Drive) -> Iterator[Finding]:
    system = drive.system
    start, space = system.pack(default_start(system)), system.space()
    run = simulate(system, default_start(system), (0.0, FLIGHT), tolerances=TIGHT)

    def final(dx: Array) -> Array:
        state = system.state(space.integrate(start, dx))
        there = simulate(system, State(state.q, state.v), (0.0, FLIGHT), tolerances=TIGHT)
        return space.difference(run.final_x, there.final_x)

    free = np.arange(space.dim) < 2 * system.nv  # the memory is the controller's own at the start
    matrix = linearize(run, tolerances=TIGHT).matrix()
    for off, text, where in checks.differenced("the derivative of a run", matrix, final, DIRECTIONS, STEP, free):
        yield off, f"{text}; check the jacobians", where


Look = Callable[[Drive], Iterator[Finding]]
CHECKS: Mapping[str, tuple[Look, float]] = {
    "finite answers": (_answers, 0.0),
    "same torque twice": (_twice, 0.0),
    "derivatives": (_jacobians, JACOBIAN),
    "parameters": (_parameters, 0.0),
    "runs": (_runs, 0.0),
    "derivative of runs": (_derivative, DERIVATIVE),
}


def named(drive: Drive) -> dict[str, Callable[[], Outcome]]:
    """{property: what tries it} of a controller."""
    return checks.named(CHECKS, drive, "controller")
