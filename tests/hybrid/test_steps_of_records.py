"""The steps of an arc that a compiled engine has recorded."""

from __future__ import annotations

import pickle
from bisect import bisect_right

import numpy as np

from contactsim.hybrid.manifold import Euclidean
from contactsim.hybrid.segments import PARTS, Segment, Steps, chart_path, segments_of, starts_of

SPACE = Euclidean(2)
ROWS = np.random.default_rng(0).normal(size=(5, 4 + 4 * 2 + PARTS * 2 + 3))
ROWS[:, 0], ROWS[:, 1], ROWS[:, 3] = np.arange(5), np.arange(1, 6), np.arange(1, 6)


def test_steps_are_those_of_the_record_whenever_they_are_asked_for() -> None:
    all_at_once, steps = segments_of(ROWS, SPACE), Steps()
    steps.record(ROWS[:2], SPACE)
    steps.append(all_at_once[2])
    before = steps.copy()
    steps.record(ROWS[3:], SPACE)
    assert (len(before), len(steps), steps[2]) == (3, 5, all_at_once[2])
    assert bisect_right(steps, 3.5, key=lambda step: step.t0) == 4
    for own, other in zip(pickle.loads(pickle.dumps(steps)), all_at_once, strict=True):
        for t in (other.t0, other.t0 + 0.3, other.t1):
            np.testing.assert_array_equal(own(t), other(t))
        np.testing.assert_array_equal(own.guards, other.guards)
    assert [step.t1 for step in steps[1:3]] == [2.0, 3.0]
    assert steps[-1] is steps[4]


def test_the_path_of_a_record_is_that_of_its_steps() -> None:
    steps, made = Steps(), segments_of(ROWS, SPACE)
    steps.record(ROWS, SPACE)
    assert starts_of(steps) == starts_of(made) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert steps[1].t0 == 1.0  # a step that was made is no other
    own, other = chart_path(steps), chart_path(made)
    for name in ("interval", "start", "step", "base", "series"):
        np.testing.assert_allclose(getattr(own, name), getattr(other, name), rtol=1e-13, atol=1e-13)
    assert steps.recorded() is not None


def test_steps_of_python_with_the_same_interpolant_count_among_the_recorded_ones() -> None:
    made, mixed = segments_of(ROWS, SPACE), Steps()
    mixed.record(ROWS[:2], SPACE)
    mixed.append(made[2])
    mixed.record(ROWS[3:], SPACE)
    own, other = chart_path(mixed), chart_path(made)
    assert mixed.recorded() is not None
    for name in ("interval", "start", "step", "base", "series"):
        np.testing.assert_array_equal(getattr(own, name), getattr(other, name))
    mixed.append(Segment.instant(6.0, np.zeros(2), SPACE))
    assert mixed.recorded() is None
