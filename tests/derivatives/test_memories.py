"""Derivatives through modes that remember where they began, against closed forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import contactsim as cs

END = 3.0
Array = np.ndarray


class Course(cs.Flow):
    """A point (x, y) at a constant velocity, until x reaches a place."""

    guard_names = ("place",)

    def __init__(self, velocity: tuple[float, float], place: float) -> None:
        self._velocity, self._place = np.array(velocity), place

    def field(self, t: float, x: Array) -> Array:
        return self._velocity

    def guards(self, t: float, x: Array) -> Array:
        return np.array([self._place - x[0]])

    def input_matrix(self, t: float, x: Array) -> Array:
        return np.eye(2)


class Relay(cs.HybridSystem):
    """From x = 1 to x = 2 the point goes along x as fast as its y said at x = 1; before by (1, 0), behind by (1, 1)."""

    def flow(self, mode: Any) -> Course:
        if mode == "before":
            return Course((1.0, 0.0), 1.0)
        return Course((1.0, 1.0), 1e3) if mode == "behind" else Course((mode[1], 0.0), 2.0)

    def transition(self, t: float, x: Array, mode: Any, fired: frozenset[Any]) -> cs.Transition:
        return cs.Transition(x, ("between", float(x[1])) if mode == "before" else "behind")

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "before")

    def named_modes(self, mode: Any) -> str:
        return mode if isinstance(mode, str) else mode[0]

    def remembered(self, mode: Any) -> Mapping[Any, Any]:
        return {} if isinstance(mode, str) else {"speed": mode[1]}

    def remembered_at(self, t: float, x: Array, mode: Any) -> Array:
        return np.array([x[1] - mode[1]])

    def by_remembered(self, flow: Any, t: float, x: Array, guard: Any = None) -> Array:
        return np.array([[1.0], [0.0]]) if guard is None else np.zeros(1)


class Silent(Relay):
    """The same, but that it does not say by which numbers its modes differ."""

    by_remembered = cs.HybridSystem.by_remembered


def closed_form(y: float) -> Array:
    """D x(END) / D x(0): behind the places, x and y have grown for END - (1 - x(0)) - 1 / y(0)."""
    late = 1.0 / y**2
    return np.array([[1.0, late], [1.0, 1.0 + late]])


@pytest.mark.parametrize("y", [0.8, 2.0])
def test_what_a_mode_remembers_is_varied(y: float) -> None:
    lin = cs.linearize(cs.simulate(Relay(), np.array([0.0, y]), (0.0, END)))
    np.testing.assert_allclose(lin.matrix(), closed_form(y), atol=1e-9)
    np.testing.assert_allclose(lin(np.array([0.0, 1.0])), closed_form(y)[:, 1], atol=1e-9)
    np.testing.assert_allclose(lin.covariance(np.eye(2)).final, closed_form(y) @ closed_form(y).T, atol=1e-8)
    assert [event.saltation.shape for event in lin.all_events] == [(2, 2), (2, 2)]


def test_gains_and_exponents() -> None:
    """Under inputs that are not worth their price the cost is that of the end; exponents are those of the matrix."""
    lin = cs.linearize(cs.simulate(Relay(), np.array([0.0, 0.8]), (0.0, END)))
    found = lin.riccati(np.zeros((2, 2)), 1e12 * np.eye(2), np.eye(2))
    np.testing.assert_allclose(found.value(0.0), closed_form(0.8).T @ closed_form(0.8), atol=1e-8)
    assert found.value(1.5).shape == (2, 2) and found.gain(1.5).shape == (2, 2)
    size = np.log(abs(np.linalg.det(closed_form(0.8))))
    assert abs(cs.lyapunov_exponents(lin).sum() * END - size) < 1e-9


def test_against_runs() -> None:
    h = 1e-6
    plus, minus = (cs.simulate(Relay(), np.array([0.0, 0.8 + s * h]), (0.0, END)).final_x for s in (1.0, -1.0))
    np.testing.assert_allclose((plus - minus) / (2.0 * h), closed_form(0.8)[:, 1], atol=1e-7)


def test_a_part_that_begins_within_holds_what_is_remembered() -> None:
    """From between the places on, y no longer says how fast it goes."""
    lin = cs.linearize(cs.simulate(Relay(), np.array([0.0, 0.8]), (0.0, END)))
    within = 1.5
    np.testing.assert_allclose(lin.matrix(within), [[1.0 / 0.8, 0.0], [1.0 / 0.8, 1.0]], atol=1e-9)
    assert lin.matrix(0.0, within).shape == (2, 2)


def test_a_system_that_does_not_say_what_they_do() -> None:
    lin = cs.linearize(cs.simulate(Silent(), np.array([0.0, 0.8]), (0.0, END)))
    with pytest.raises(cs.InputError, match="a Silent remembers numbers in its modes; give it a by_remembered, too"):
        lin.matrix()
