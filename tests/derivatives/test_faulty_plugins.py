"""An event derivative of a third party that fails is named, and the next one answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import contactsim as cs
from contactsim.common import registry
from contactsim.derivatives import run_derivative
from contactsim.derivatives.linearized_event import Panel
from contactsim.errors import NonDifferentiableError, PluginError

Saltation: Any = registry.load("event_derivatives", "saltation")


class Raises(Saltation):
    def apply(self, event: Any, dx: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("no mass")

    def pieces(self, event: Any) -> Mapping[Any, np.ndarray]:
        raise ZeroDivisionError("no mass")


class RefusesBadly(Saltation):
    def accepts(self, event: Any) -> bool:
        return bool(event.no_such_thing)


class WrongShape(Saltation):
    def apply(self, event: Any, dx: np.ndarray) -> np.ndarray:
        return super().apply(event, dx)[:, :-1]

    def pieces(self, event: Any) -> Mapping[Any, np.ndarray]:
        return {word: matrix[:-1] for word, matrix in super().pieces(event).items()}


class NoNumbers(Saltation):
    def apply(self, event: Any, dx: np.ndarray) -> Any:
        return event.root.cross(event.groups[0])  # a tuple: node and matrix

    def pieces(self, event: Any) -> Any:
        return event.root.cross(event.groups[0])


class NotMade(Saltation):
    def __init__(self) -> None:
        raise RuntimeError("no licence")


FAULTS = {
    Raises: "it raises ZeroDivisionError: no mass",
    RefusesBadly: "it raises AttributeError",
    WrongShape: r"returns .*shape \(\d.*\) .*should return",
    NoNumbers: "returns tuple",
    NotMade: "it raises RuntimeError: no licence",
}


@pytest.fixture(scope="module")
def run() -> cs.Trajectory:
    ball = cs.Robot.sphere(1.0, 0.1, friction=0.5, restitution=0.5)
    start = cs.State([0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0], np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0]))
    return cs.simulate(cs.ContactSystem(ball), start, (0.0, 0.2))


@pytest.mark.parametrize("kind", FAULTS)
def test_a_faulty_plugin_is_named_and_set_aside(kind: type, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = run_derivative.RunDerivative(run)
    given = dict(registry.load_all("event_derivatives")) | {"theirs": kind}
    monkeypatch.setattr(
        "contactsim.derivatives.linearized_event.registry", SimpleNamespace(load_all=lambda group: given)
    )
    with pytest.warns(UserWarning, match=f"the event derivative 'theirs' fails, .*{FAULTS[kind]}.*set aside"):
        lin = run_derivative.RunDerivative(run)
        assert np.array_equal(lin.matrix(), sound.matrix())
    assert np.array_equal(lin(np.ones(lin.dim)), sound(np.ones(lin.dim)))  # no second warning, which would be an error


def test_directions_fall_back_as_well(run: Any) -> None:
    sound = run_derivative.RunDerivative(run)
    with pytest.warns(UserWarning, match="'WrongShape' fails, apply returns the shape"):
        found = run_derivative.RunDerivative(run, plugins=[WrongShape(), Saltation()])(np.eye(sound.dim))
    assert np.array_equal(found, sound(np.eye(sound.dim)))


def test_where_none_is_left_the_fault_is_told(run: Any) -> None:
    fails = r"'Raises' fails.* mend"
    with pytest.warns(UserWarning, match=fails), pytest.raises(PluginError, match=fails) as told:
        run_derivative.RunDerivative(run, plugins=[Raises()]).matrix()
    assert isinstance(told.value.__cause__, ZeroDivisionError)
    with pytest.raises(NonDifferentiableError, match="no event derivative accepts"):
        run_derivative.RunDerivative(run, plugins=Panel(()))
