"""Which of their arguments functions read, and what mechanisms whose gaps do not read the time spare themselves."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np
import pytest

import contactsim as cs
from contactsim.common.user_calls import reads

HEIGHT = 0.3


class Ground:
    def gap(self, t: float, q: np.ndarray) -> float:
        return q[1] - HEIGHT

    def __call__(self, t: float, q: np.ndarray) -> float:
        return q[1]


def takes_all(*given: Any) -> float:
    return given[1][0]


def looks_at_its_frame(t: float, q: np.ndarray) -> float:
    return sys._getframe().f_locals["t"]


def within(t: float, q: np.ndarray) -> float:
    return sum([t * x for x in q]) + (lambda: t)()


def still(t: float, q: np.ndarray) -> float:
    return q[0]


@pytest.mark.parametrize(
    ("function", "argument", "does"),
    [
        (lambda t, q: q[0], 0, False),
        (lambda t, q: q[0], 1, True),
        (lambda t, q: q[0] - np.sin(t), 0, True),
        (lambda t, q: HEIGHT, 1, False),
        (lambda t, q, t0=1.0: q[0] * t0, 0, False),
        (within, 0, True),
        (takes_all, 0, True),
        (looks_at_its_frame, 0, True),
        (Ground().gap, 0, False),
        (Ground().gap, 1, True),
        (Ground(), 0, True),
        (functools.partial(still), 0, True),
        (np.add, 0, True),
    ],
)
def test_functions_read_what_their_code_loads(function: Any, argument: int, does: bool) -> None:
    assert reads(function, argument) == does


def bead(speed: float, asks: list[float]) -> tuple[cs.Mechanism, np.ndarray, np.ndarray]:
    """A bead over a wavy ground, still or turning with a speed."""

    def still(t: float, q: np.ndarray) -> float:
        asks.append(q[0])
        return q[1] - 0.1 * np.cos(3.0 * q[0])

    def wave(t: float, q: np.ndarray) -> np.ndarray:
        return np.array([0.3 * np.sin(3.0 * q[0]), 1.0])

    contact = cs.Gap(gap=still, normal=wave, name="bead")
    if speed:
        contact = cs.Gap(
            gap=lambda t, q: still(t, q) - speed * t * (1.0 + q[0]),
            normal=lambda t, q: wave(t, q) - [speed * t, 0.0],
            name="bead",
        )
    mechanism = cs.Mechanism(2, lambda q: np.eye(2), lambda t, q, v: np.array([0.0, -9.81]), [contact])
    return mechanism, np.array([0.2, 0.1]), np.array([0.7, -0.3])


@pytest.mark.parametrize("speed", [0.0, 0.4])
def test_rates_and_biases_are_those_of_the_gap(speed: float) -> None:
    """z = dg/dt and z' at held v by the closed form, whether the ground moves or not."""
    asks: list[float] = []
    mechanism, q, v = bead(speed, asks)
    assert mechanism.autonomous == (speed == 0.0)
    t = 0.5
    asks.clear()
    terms = mechanism.terms(t, q, v, (0,))
    assert bool(asks) == (speed != 0.0)  # a gap that does not move is not differenced by the time
    rate = (0.3 * np.sin(3.0 * q[0]) - speed * t) * v[0] + v[1] - speed * (1.0 + q[0])
    assert terms.rates == pytest.approx([rate], abs=1e-9)
    assert terms.bias == pytest.approx([0.9 * np.cos(3.0 * q[0]) * v[0] ** 2 - 2.0 * speed * v[0]], abs=1e-7)
