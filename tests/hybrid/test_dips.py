"""No fall of a function with known bounds is missed, however short, and none is imagined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import contactsim as cs
from contactsim.contact_dynamics.rigid_flow import RigidFlow
from contactsim.hybrid import event_location
from contactsim.hybrid.flow import Look, Looks
from contactsim.hybrid.guard_minima import (
    LOOKS,
    PARTS_APART,
    Bottom,
    Bounds,
    Fall,
    ManyBounds,
    clear_together,
    first_fall,
)
from contactsim.hybrid.guard_samples import falling

Function = Callable[[float], float]
NO_ERROR: Callable[[float], float] = lambda t: 0.0  # noqa: E731


def search(value: Function, rate: Function, bounds: Bounds, end: float = 1.0) -> tuple[object, int]:
    """What is found between 0 and `end`, and at how many places was looked."""
    count = 0

    def look(t: float) -> Look:
        nonlocal count
        count += 1
        return Look(value(t), rate(t), ())

    return first_fall(look, (0.0, look(0.0)), (end, look(end)), bounds), count


def dip(place: float, depth: float, swing: float = 1.0) -> tuple[Function, Function]:
    """Swing (1 - cos(w (t - place))) - depth: one dip in the unit of time."""
    w = 2.0
    return lambda t: swing * (1.0 - np.cos(w * (t - place))) - depth, lambda t: swing * w * np.sin(w * (t - place))


@settings(max_examples=200, deadline=None)
@given(st.floats(0.02, 0.98), st.floats(-11.5, -1.0), st.floats(1.0, 10.0))
def test_a_dip_of_any_depth_is_found(place: float, decade: float, slack: float) -> None:
    depth = 10**decade
    value, rate = dip(place, depth)
    if not (value(0.0) > 0.0 and value(1.0) > 0.0):
        return
    found, looks = search(value, rate, Bounds(2.0 * slack, 4.0 * slack, NO_ERROR, 1e-12))
    first = place - np.arccos(1.0 - depth) / 2.0
    assert isinstance(found, Fall)
    assert found.before <= first + 1e-9 and found.after >= first - 1e-9
    assert looks < LOOKS


@settings(max_examples=200, deadline=None)
@given(st.floats(-0.2, 1.2), st.floats(-11.5, -1.0), st.floats(1.0, 10.0))
def test_what_clears_zero_falls_nowhere(place: float, decade: float, slack: float) -> None:
    value, rate = dip(place, -(10**decade))
    found, looks = search(value, rate, Bounds(2.0 * slack, 4.0 * slack, NO_ERROR, 1e-12))
    assert found is None
    assert looks < 3 * LOOKS


def test_a_slow_rise_without_a_piece_is_not_followed_for_ever() -> None:
    """As of the rim of a disc that leaves the ground nearly flat: bounds of speeds alone ask for 1e11 looks."""
    count = 0

    def look(t: float) -> Look:
        nonlocal count
        count += 1
        return Look(1e-14 + t * t, 2.0 * t, None)

    bounds = Bounds(2.5, 100.0, NO_ERROR, 1e-12)
    assert first_fall(look, (0.0, look(0.0)), (0.02, look(0.02)), bounds) is None
    assert count < 3 * LOOKS


def test_the_first_of_many_dips_is_found() -> None:
    """sin(40 t) + 1 - 1e-9 is negative for 2 us at 3 pi / 80, 7 pi / 80, ..."""
    bounds = Bounds(40.0, 1600.0, NO_ERROR, 1e-12)
    found, _ = search(lambda t: np.sin(40.0 * t) + 1.0 - 1e-9, lambda t: 40.0 * np.cos(40.0 * t), bounds)
    assert isinstance(found, Fall)
    assert found.before <= (1.5 * np.pi - np.sqrt(2e-9)) / 40.0 <= found.after < 7.0 * np.pi / 80.0


@pytest.mark.parametrize("depth", [5e-10, -5e-10])
def test_within_the_error_of_the_interpolant_a_true_step_is_asked_for(depth: float) -> None:
    value, rate = dip(0.4, depth)
    found, _ = search(value, rate, Bounds(2.0, 4.0, lambda t: 1e-9, 1e-12))
    assert isinstance(found, Bottom)
    assert found.t == pytest.approx(0.4, abs=1e-6)


def test_a_kink_is_found_by_the_speed_alone() -> None:
    """|t - 0.3| - 1e-8 has no bounded second derivative: its pieces are told apart."""

    def look(t: float) -> Look:
        return Look(abs(t - 0.3) - 1e-8, float(np.sign(t - 0.3)), t > 0.3)

    found = first_fall(look, (0.0, look(0.0)), (1.0, look(1.0)), Bounds(1.0, 0.0, NO_ERROR, 1e-12))
    assert isinstance(found, Fall)
    assert found.before <= 0.3 - 1e-8 <= found.after


def test_a_bound_that_is_far_too_large_costs_a_bounded_number_of_looks() -> None:
    """A guard that stays at 1e-11: with a second derivative of 1e6 it could fall between any two of 1e5 looks."""
    found, looks = search(lambda t: 1e-11, lambda t: 0.0, Bounds(10.0, 1e6, NO_ERROR, 1e-12))
    assert found is None
    assert looks < 2 * LOOKS


def test_what_many_looks_at_once_clear_falls_nowhere() -> None:
    """Of 400 dips those that reach zero are never cleared, of the others nearly all, by few looks."""
    rng = np.random.default_rng(1)
    place, depth = (
        rng.uniform(-0.2, 1.2, 400),
        np.where(rng.random(400) < 0.5, 1.0, -1.0) * 10 ** rng.uniform(-4, 0, 400),
    )
    dips, times = [dip(*pair) for pair in zip(place, depth, strict=True)], []

    def look(t: float, places: np.ndarray) -> Looks:
        times.append(t)
        return Looks.of(Look(dips[k][0](t), dips[k][1](t), ()) for k in places)

    ones = np.ones(400)
    bounds = ManyBounds(4.0 * ones, 8.0 * ones, 0.0 * ones, lambda t: 0.0, 1e-12 * ones)
    clear = clear_together(look, 0.0, 1.0, bounds)
    alone = [search(*own, Bounds(4.0, 8.0, NO_ERROR, 1e-12)) if own[0](0.0) > 0.0 else (Fall, 0) for own in dips]
    assert not any(found is not None for (found, _), known in zip(alone, clear, strict=True) if known)
    assert clear.sum() > 0.5 * sum(found is None for found, _ in alone) and len(times) == len(set(times)) <= 17


@settings(max_examples=200, deadline=None)
@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_what_falls_by_three_samples_is_least_at_the_end(first: float, middle: float, last: float) -> None:
    s = np.linspace(0.0, 1.0, 101)
    parabola = first + s * (4.0 * middle - 3.0 * first - last) + 2.0 * s * s * (first - 2.0 * middle + last)
    (found,) = falling(np.array([[first], [middle], [last]]))
    assert not found or (last > 0.0 and np.all(np.diff(parabola) < 1e-15))
    assert found or not (last > 0.0 and abs(middle - 0.5 * (first + last)) <= 0.19 * (first - last))


def test_a_slip_that_stops_is_seen_by_three_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step leads past a stop in space and back: guards between are not asked for, and the run is the same."""
    asked, some = [0, 0], RigidFlow.some_guards

    def run(k: int) -> cs.Trajectory:
        def counted(self, t, x, guards):  # type: ignore[no-untyped-def]
            asked[k] += 1
            return some(self, t, x, guards)

        monkeypatch.setattr(RigidFlow, "some_guards", counted)
        system = cs.ContactSystem(cs.Robot.sphere(1.0, 0.1, friction=0.3)).on_engine("python")
        start = cs.State([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0], [1.0, 0.3, 0.0, 2.0, 5.0, 3.0])
        return cs.simulate(system, start, (0.0, 0.4))

    three = run(0)
    monkeypatch.setattr(event_location, "falling", lambda values: np.zeros(values.shape[1], dtype=bool))
    six = run(1)
    assert [event.fired for event in three.all_events] == [event.fired for event in six.all_events]
    assert any(("slow", 0) in event.fired for event in three.all_events)
    np.testing.assert_allclose(three.final_x, six.final_x, rtol=0.0, atol=1e-14)
    assert asked[0] < 0.6 * asked[1]


@pytest.mark.parametrize("place", [0.03, 0.35, 0.5, 0.78, 0.93])
def test_what_is_apart_is_looked_at_all_over_a_step(place: float) -> None:
    """Edges that cross for a while, deep in each other, and are apart before and behind: no rate tells where."""

    def look(t: float) -> Look:
        crossing = abs(t - place) < 0.55 / PARTS_APART
        return Look(-1e-6 if crossing else 1e-5, 0.0, None, apart=not crossing)

    found = first_fall(look, (0.0, look(0.0)), (1.0, look(1.0)), Bounds(3.0, 200.0, NO_ERROR, 1e-12))
    assert isinstance(found, Fall)
    assert found.after == pytest.approx(place, abs=1.1 / PARTS_APART)
