"""Costs of a motion under held inputs: what they are, and their derivatives, on the manifold of the states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..analysis.matrices import symmetric
from ..common.arguments import NUMBERS, arguments, shown
from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..common.representation import counted
from ..errors import InputError
from ..hybrid.differences import tangent_derivative


class Expansion(NamedTuple):
    """A cost near a state and an input: value + x'dx + u'du + (dx' xx dx + du' uu du) / 2 + du' ux dx.

    Attributes:
        value: the cost.
        x, u: gradients (n,), (nu,) along tangent directions.
        xx, uu, ux: second derivatives, or what stands for them (Gauss-Newton); xx and uu positive semi-definite.
    """

    value: float
    x: Array
    u: Array
    xx: Array
    uu: Array
    ux: Array


class Cost(ABC):
    """The cost of a motion: the sum of its stages, each from a sample to the next, and of its end."""

    @abstractmethod
    def stage(self, system: Any, t: float, dt: float, x: Array, u: Array) -> Expansion:
        """Cost of the interval of `dt` [s] that begins at `t` with the plain state `x` under the inputs `u` (nu,)."""

    @abstractmethod
    def final(self, system: Any, t: float, x: Array) -> Expansion:
        """Cost of ending at `t` with the plain state `x`; its parts by `u` are empty."""


class QuadraticCost(Cost):
    """(1/2) sum dt (dx_k' Q dx_k + du_k' R du_k) + (1/2) dx_N' Q_final dx_N, dx = x (-) goal in tangent coordinates.

    Args:
        Q: weight (2 nv, 2 nv) of configuration and velocity [cost / s].
        R: weight (nu, nu) of the inputs [cost / s], positive definite.
        Q_final: weight (2 nv, 2 nv) of the last state [cost].
        goal: a State (q, v), or a function of time that gives one.
        inputs: inputs (nu,) that cost nothing; by default zero.

    Raises:
        InputError: a weight is not symmetric or (semi-)definite.
    """

    @arguments()
    def __init__(self, Q: Any, R: Any, Q_final: Any, goal: Any, inputs: Any = None) -> None:
        self.Q, self.Q_final = _square("Q", Q), _square("Q_final", Q_final)
        self.R = _square("R", R, definite=True)
        if self.Q.shape != self.Q_final.shape:
            raise InputError(f"Q has shape {self.Q.shape} and Q_final {self.Q_final.shape}; give both (2 nv, 2 nv)")
        self.goal = goal if callable(goal) else _Fixed(_demand_state(goal))
        self.inputs = np.zeros(len(self.R)) if inputs is None else np.array(inputs, dtype=float)
        if self.inputs.shape != (len(self.R),):
            raise InputError(f"the inputs of the cost have shape {self.inputs.shape}; R needs ({len(self.R)},)")

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(weights of {len(self.Q)} numbers of the state and {counted(len(self.R), 'input')})"
        )

    def stage(self, system: Any, t: float, dt: float, x: Array, u: Array) -> Expansion:
        """dt (dx' Q dx + du' R du) / 2."""
        if u.shape != self.inputs.shape:
            raise InputError(f"R is for {len(self.R)} inputs, and the system has {len(u)}")
        value, gradient, second = self._state(system, t, x, self.Q)
        away = u - self.inputs
        along = self.R @ away
        return Expansion(
            dt * (value + 0.5 * float(away @ along)),
            dt * gradient,
            dt * along,
            dt * second,
            dt * self.R,
            np.zeros((len(u), len(gradient))),
        )

    def final(self, system: Any, t: float, x: Array) -> Expansion:
        """dx' Q_final dx / 2."""
        value, gradient, second = self._state(system, t, x, self.Q_final)
        return Expansion(value, gradient, np.zeros(0), second, np.zeros((0, 0)), np.zeros((0, len(gradient))))

    def _state(self, system: Any, t: float, x: Array, weight: Array) -> tuple[float, Array, Array]:
        """dx' W dx / 2 with its gradient and Gauss and Newton's second derivative."""
        space, nv = system.mechanism.space, system.nv
        if len(weight) != 2 * nv:
            raise InputError(f"the weights of the state are {weight.shape}; this system needs {(2 * nv, 2 * nv)}")
        size = system.tangent_size
        if not weight.any():
            return 0.0, np.zeros(size), np.zeros((size, size))
        goal = _state_of(self.goal(t), system)
        q, v = system.q(x), system.v(x)
        away = np.concatenate([space.difference(goal[0], q), v - goal[1]])
        along = np.eye(2 * nv, size)
        along[:nv, :nv] = tangent_derivative(lambda point: space.difference(goal[0], point), space, q)
        return 0.5 * float(away @ weight @ away), along.T @ (weight @ away), along.T @ weight @ along


class _Fixed:
    """A goal that stands still."""

    def __init__(self, goal: Any) -> None:
        self._goal = goal

    def __call__(self, t: float) -> Any:
        return self._goal


def _demand_state(goal: Any) -> Any:
    """The goal, if it is a State or a pair (q, v) of arrays.

    Raises:
        InputError: it is neither.
    """
    pair = (goal.q, goal.v) if hasattr(goal, "q") and hasattr(goal, "v") else goal
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise InputError(f"the goal of the cost is {shown(goal)}; give State(q, v), or a function of time")
    for name, part in zip("qv", pair, strict=True):
        NUMBERS.check(f"{name} of the goal", part)
    return goal


def _square(name: str, given: Any, definite: bool = False) -> Array:
    shape = NUMBERS.check(name, given).shape
    return symmetric(name, given, shape[0] if len(shape) == 2 else 1, definite)


def _state_of(goal: Any, system: Any) -> tuple[Array, Array]:
    """Configuration and velocity of a goal.

    Raises:
        InputError: it is no state of the system.
    """
    try:
        q, v = (goal.q, goal.v) if hasattr(goal, "q") else goal
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    except (TypeError, ValueError):
        raise InputError("the goal of the cost is no state; give State(q, v), or a function of time") from None
    if q.shape != (system.nq,) or v.shape != (system.nv,):
        raise InputError(
            f"the goal of the cost has {q.shape} and {v.shape} numbers; this system needs ({system.nq},) and"
            f" ({system.nv},)"
        )
    return q, v
