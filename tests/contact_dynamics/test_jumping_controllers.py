"""Controllers that are no smooth functions of time and state are told, in place of runs that never end."""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs

Array = np.ndarray


def driven(function: cs.Controller | object) -> tuple[cs.ContactSystem, cs.State]:
    robot = cs.load_robot("hexapod")
    return cs.ContactSystem(robot, controller=function), cs.State(robot.nominal, np.zeros(robot.nv))


def test_one_that_answers_at_random_is_refused() -> None:
    noise = np.random.default_rng(0)

    def controller(t: float, q: Array, v: Array) -> Array:
        return np.r_[np.zeros(6), -0.5 * v[6:] + 0.01 * noise.normal(size=len(v) - 6)]

    with pytest.raises(cs.InputError, match=r"other forces when it is asked a second time.*cs\.Sampled"):
        cs.simulate(*driven(controller), (0.0, 0.1))


def test_one_that_counts_its_calls_is_refused() -> None:
    integral = np.zeros(24)

    def controller(t: float, q: Array, v: Array) -> Array:
        integral[6:] += 1e-3 * (v[6:] - 0.1)
        return -integral

    with pytest.raises(cs.InputError, match="asked a second time"):
        cs.simulate(*driven(controller), (0.0, 0.1))


def test_one_that_switches_to_and_fro_ends_the_run() -> None:
    def controller(t: float, q: Array, v: Array) -> Array:
        return np.r_[np.zeros(6), -3.0 * np.sign(v[6:8]), np.zeros(len(v) - 8)]

    run = cs.simulate(*driven(controller), (0.0, 0.1))
    assert run.status is cs.Status.STEP_TOO_SMALL
    assert "the controller jumps: by 6" in run.message
    assert run.t[-1] > 0.0


def test_held_by_samples_both_run() -> None:
    noise = np.random.default_rng(0)

    def controller(t: float, q: Array, v: Array) -> Array:
        return np.r_[np.zeros(6), -0.1 * np.sign(v[6:8]), 0.01 * noise.normal(size=len(v) - 8)]

    system, state = driven(cs.Sampled(controller, 0.005, 24))
    assert cs.simulate(system, state, (0.0, 0.02)).status is cs.Status.FINISHED


def test_a_stiff_smooth_one_runs() -> None:
    def controller(t: float, q: Array, v: Array) -> Array:
        return np.r_[np.zeros(6), -20.0 * np.tanh(v[6:] / 1e-2)]

    assert cs.simulate(*driven(controller), (0.0, 0.02)).status is cs.Status.FINISHED
