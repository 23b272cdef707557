"""Actuators of a robot's file as a controller: from the control of each to generalised forces.

An actuator has the length l = G q and the speed G v, G its gear, and pulls with

    f = (g_0 + g_1 l + g_2 l') u + b_0 + b_1 l + b_2 l',    tau = G^T f,

u its control, or what an integrator (u' = ctrl) or a filter (T u' = ctrl - u) makes of it. So a motor is g_0 = 1, a
position servo g_0 = k_p, b_1 = -k_p, b_2 = -k_d.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..common.arguments import arguments
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.user_calls import real
from ..errors import InputError
from .controllers import Controller, no_parameter

Three = tuple[float, float, float]
Range = tuple[float, float]
UNLIMITED = (-np.inf, np.inf)


@dataclass(frozen=True)
class Actuator:
    """An actuator of a robot's file.

    Attributes:
        name: its name.
        gear: rates of its length by the velocities (nv,) [1, m].
        length: rates of its length by the configuration (nq,); zeros where neither gain nor bias asks for a length.
        gain, bias: (g_0, g_1, g_2) and (b_0, b_1, b_2).
        control, force: ranges, in which control and force are cut off.
        dynamics: "none", "integrator" or "filter".
        time_constant: of the filter [s].
        activation: range in which what an integrator or filter holds is kept.
        home: control at the keyframe "home", else zero.
    """

    name: str
    gear: tuple[float, ...]
    length: tuple[float, ...]
    gain: Three = (1.0, 0.0, 0.0)
    bias: Three = (0.0, 0.0, 0.0)
    control: Range = UNLIMITED
    force: Range = UNLIMITED
    dynamics: str = "none"
    time_constant: float = 0.0
    activation: Range = UNLIMITED
    home: float = 0.0


class Actuators(Controller):
    """The actuators of a robot's file under given controls.

    Its parameters: "ctrl.NAME" of each actuator, where the controls are numbers.

    Args:
        robot: a Robot of an MJCF file.
        ctrl: controls (nu,) in the order of `robot.actuators`, {name: control}, or a function (t, q, v) -> (nu,); by
            default those of the keyframe "home", else zero.

    Raises:
        InputError: the robot has no actuators, or the controls do not fit them.
    """

    @arguments()
    def __init__(self, robot: Any, ctrl: Any = None) -> None:
        own = tuple(getattr(robot, "actuators", ()))
        if not own:
            name = getattr(robot, "name", type(robot).__name__)
            raise InputError(f"the robot '{name}' has no actuators of a file; drive it by PD or a function")
        self._names = tuple(actuator.name for actuator in own)
        self._gear = np.array([actuator.gear for actuator in own])
        self._length = np.array([actuator.length for actuator in own])
        self._gain = np.array([actuator.gain for actuator in own])
        self._bias = np.array([actuator.bias for actuator in own])
        self._control = np.array([actuator.control for actuator in own])
        self._force = np.array([actuator.force for actuator in own])
        self._limit = np.array(robot.model.effortLimit)
        self._slow = np.array([k for k, actuator in enumerate(own) if actuator.dynamics != "none"], dtype=int)
        self._filter = np.array([own[k].dynamics == "filter" for k in self._slow], dtype=bool)
        self._times = np.array([own[k].time_constant if own[k].dynamics == "filter" else 1.0 for k in self._slow])
        self._held = np.array([own[k].activation for k in self._slow]).reshape(-1, 2)
        self.memory = len(self._slow)
        self._given = self._checked(ctrl, [actuator.home for actuator in own])

    def __repr__(self) -> str:
        return f"Actuators({', '.join(self._names)})"

    def _checked(self, ctrl: Any, home: list[float]) -> Array | Callable[..., Any]:
        if callable(ctrl):
            return ctrl
        if isinstance(ctrl, Mapping):
            unknown = [name for name in ctrl if name not in self._names]
            if unknown:
                raise InputError(f"there is no actuator '{unknown[0]}'; there are {', '.join(self._names)}")
            ctrl = [ctrl.get(name, own) for name, own in zip(self._names, home, strict=True)]
        try:
            values = np.array(home if ctrl is None else ctrl, dtype=float)
        except (TypeError, ValueError):
            values = np.full(1, np.nan)
        if values.shape != (len(self._names),) or not np.isfinite(values).all():
            raise InputError(f"the controls are {ctrl!r}; give {len(self._names)} finite numbers, or a function")
        return values

    def parameters(self) -> dict[str, float]:
        """Control of each actuator, where these are numbers."""
        if callable(self._given):
            return {}
        return {f"ctrl.{name}": float(value) for name, value in zip(self._names, self._given, strict=True)}

    def with_parameter(self, name: str, value: float) -> Actuators:
        """A copy with another control.

        Raises:
            InputError: no such parameter, or a number that is not finite.
        """
        if name not in self.parameters():
            raise no_parameter(self, name)
        if not np.isfinite(value):
            raise InputError(f"{name} is {value}; give a finite number")
        changed = copy.copy(self)
        assert not callable(self._given)
        changed._given = self._given.copy()
        changed._given[self._names.index(name.removeprefix("ctrl."))] = value
        return changed

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the actuators, in the order of their controls."""
        return self._names

    def with_controls(self, controls: Any) -> Actuators:
        """A copy under other controls (nu,), which are held; itself where they are what they were.

        Raises:
            InputError: they are no finite numbers (nu,).
        """
        given: Any = self._checked(controls, [])
        if not callable(self._given) and np.array_equal(given, self._given):
            return self
        changed = copy.copy(self)
        changed._given = given
        return changed

    def controls(self, t: float, q: Array, v: Array) -> Array:
        """Controls (nu,), within their ranges.

        Raises:
            InputError: the function of the controls returned something else.
        """
        given = self._given
        if callable(given):
            given = real(given(t, q, v))
            if given.shape != (len(self._names),):
                raise InputError(
                    f"the function of the controls returned the shape {given.shape}; return ({len(self._names)},)"
                )
        return self._cut(given)

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Generalised forces (nv,) of all actuators."""
        return self.pull(self.controls(t, q, v), q, v, z)

    def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Rates of what integrators and filters hold (memory,); zero where that would leave its range."""
        return self.activation_rate(self.controls(t, q, v), z)

    # --- under controls that somebody else gives ------------------------------------------------------------------

    @property
    def ranges(self) -> Array:
        """Least and largest control of each actuator (nu, 2)."""
        return self._control

    def pull(self, controls: Array, q: Array, v: Array, z: Array) -> Array:
        """Generalised forces (nv,) under controls (nu,) within their ranges."""
        force, _ = self._forces(controls, q, v, z)
        torque = np.clip(force, self._force[:, 0], self._force[:, 1]) @ self._gear
        return np.clip(torque, -self._limit, self._limit)

    def pull_jacobian(self, controls: Array, q: Array, v: Array, z: Array) -> Array:
        """D pull (nv, 2 nv + nu + memory) along tangent directions of q, then v, controls, z; zero where it is cut."""
        force, inputs = self._forces(controls, q, v, z)
        gains, bias, count = self._gain, self._bias, len(self._names)
        along_q = (gains[:, 1] * inputs + bias[:, 1])[:, None] * self._gear
        along_v = (gains[:, 2] * inputs + bias[:, 2])[:, None] * self._gear
        by_input = np.diag((gains * self._lengths(q, v)).sum(axis=1))
        held = (z >= self._held[:, 0]) & (z <= self._held[:, 1])
        by_memory = by_input[:, self._slow] * held
        direct = np.ones(count)
        direct[self._slow] = 0.0
        direct *= (controls >= self._control[:, 0]) & (controls <= self._control[:, 1])
        whole = np.hstack([along_q, along_v, by_input * direct, by_memory])
        whole *= ((force >= self._force[:, 0]) & (force <= self._force[:, 1]))[:, None]
        torque = np.clip(force, self._force[:, 0], self._force[:, 1]) @ self._gear
        return np.asarray((self._gear.T @ whole) * (np.abs(torque) <= self._limit)[:, None])

    def activation_rate(self, controls: Array, z: Array) -> Array:
        """Rates (memory,) of what integrators and filters hold under controls (nu,)."""
        control = self._cut(controls)[self._slow]
        rate = np.where(self._filter, control - z, control) / self._times
        return np.where(self._leaving(rate, z), 0.0, rate)

    def activation_jacobian(self, controls: Array, z: Array) -> Array:
        """D activation_rate (memory, nu + memory)."""
        moving = ~self._leaving(self.activation_rate(controls, z), z)
        inside = (controls >= self._control[:, 0]) & (controls <= self._control[:, 1])
        matrix = np.zeros((self.memory, len(self._names) + self.memory))
        rows = np.arange(self.memory)
        matrix[rows, self._slow] = moving * inside[self._slow] / self._times
        matrix[rows, len(self._names) + rows] = -1.0 * (moving & self._filter) / self._times
        return matrix

    def _leaving(self, rate: Array, z: Array) -> Array:
        return ((z >= self._held[:, 1]) & (rate > 0.0)) | ((z <= self._held[:, 0]) & (rate < 0.0))

    def _cut(self, controls: Array) -> Array:
        return np.clip(controls, self._control[:, 0], self._control[:, 1])

    def _lengths(self, q: Array, v: Array) -> Array:
        """(1, l, l') of each actuator (nu, 3)."""
        return np.column_stack([np.ones(len(self._names)), self._length @ q, self._gear @ v])

    def _forces(self, controls: Array, q: Array, v: Array, z: Array) -> tuple[Array, Array]:
        """Force of each actuator before it is cut off (nu,), and what its gain multiplies."""
        inputs = self._cut(controls)
        if len(self._slow):
            inputs[self._slow] = np.clip(z, self._held[:, 0], self._held[:, 1])
        state = self._lengths(q, v)
        return (self._gain * state).sum(axis=1) * inputs + (self._bias * state).sum(axis=1), inputs


def servos(robot: Any, kp: Array, kd: Array) -> tuple[Actuator, ...]:
    """One servo for each actuated joint of a RobotModel, in the order of the velocities; see `Robot.with_servos`.

    Raises:
        InputError: a joint has no one angle, or the gains are of another number.
    """
    model, driven = robot.model, np.flatnonzero(robot.actuated)
    pairs = []
    for name, gains in (("kp", kp), ("kd", kd)):
        if gains.ndim and gains.shape != driven.shape:
            raise InputError(f"{name} has shape {gains.shape}; the robot has {len(driven)} actuated joints")
        pairs.append(np.broadcast_to(gains, driven.shape).tolist())
    owner = {k: j for j in range(1, model.njoints) for k in range(model.idx_vs[j], model.idx_vs[j] + model.nvs[j])}
    made = []
    for v, p, d in zip(driven.tolist(), *pairs, strict=True):
        joint = owner[v]
        if model.nqs[joint] != 1:
            raise InputError(f"joint '{model.names[joint]}' has no one angle to be held at; give torques by Inputs")
        gear, length = np.zeros(model.nv), np.zeros(model.nq)
        gear[v], length[model.idx_qs[joint]] = 1.0, 1.0
        home = float(robot.nominal[model.idx_qs[joint]])
        made.append(
            Actuator(
                model.names[joint], tuple(gear.tolist()), tuple(length.tolist()), (p, 0, 0), (0, -p, -d), home=home
            )
        )
    return tuple(made)
