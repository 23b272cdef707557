"""Events that a derivative must refuse, or must not forget."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from builders import point_mass

import contactsim as cs
from contactsim.common.arrays import Array
from contactsim.derivatives.event_linearization import Node
from contactsim.errors import SingularError
from contactsim.hybrid.system import Transition


class Parabola(cs.HybridSystem):
    """x' = (1, 0) past the guard x0^2 - depth, which touches zero where depth is zero; the reset triples x1."""

    def __init__(self, depth: float = 0.0) -> None:
        self.depth = depth

    def flow(self, mode: Hashable) -> cs.Flow:
        return Past(self.depth) if mode == "before" else Past(np.nan)

    def start(self, t: float, x: Array) -> Transition:
        return Transition(x, "before")

    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        return Transition(np.array([x[0], 3.0 * x[1]]), "after", {"x1": (mode, "after")})


class Past(cs.Flow):
    def __init__(self, depth: float) -> None:
        self.depth = depth
        self.guard_names = () if np.isnan(depth) else ("touch",)

    def field(self, t: float, x: Array) -> Array:
        return np.array([1.0, 0.0])

    def guards(self, t: float, x: Array) -> Array:
        return np.array([x[0] ** 2 - self.depth]) if self.guard_names else np.empty(0)


def test_a_graze_has_no_derivative() -> None:
    run = cs.simulate(Parabola(depth=1e-15), np.array([-1.0, 1.0]), (0.0, 2.0))
    assert run.events
    with pytest.raises(cs.TransversalityError, match="tangentially"):
        cs.linearize(run).matrix()


class Edge(Parabola):
    """The guard has no slope farther than 1e-6 from where it is zero, as that of an edge whose point leaves it."""

    def flow(self, mode: Hashable) -> cs.Flow:
        found, zero = super().flow(mode), self.depth**0.5

        def slope(t: float, x: Array, names: Sequence[Hashable]) -> Array:
            if abs(x[0] + zero) > 1e-6:
                raise SingularError("it has no point there")
            return np.array([[2.0 * x[0], 0.0]])

        found.guard_jacobian = slope  # type: ignore[method-assign]
        return found


def test_how_a_guard_curves_is_seen_over_a_time_within_which_it_is_defined() -> None:
    node = Node(Edge(1e-4), 0.0, np.array([-1e-2, 0.0]), "before", cs.Tolerances())
    assert node._curvature("touch", 1.0) == pytest.approx(2.0, rel=1e-3)


def test_a_clear_crossing_of_the_same_guard_has_one() -> None:
    run = cs.simulate(Parabola(depth=0.01), np.array([-1.0, 1.0]), (0.0, 2.0))
    np.testing.assert_allclose(cs.linearize(run).matrix(), np.diag([1.0, 3.0]), atol=1e-9)


def test_a_guard_that_is_below_zero_at_the_start_counts() -> None:
    run = cs.simulate(Parabola(depth=0.01), np.array([0.0, 1.0]), (0.0, 1.0))
    np.testing.assert_allclose(cs.linearize(run).matrix(), np.diag([1.0, 3.0]), atol=1e-9)


class Kinked(Parabola):
    """A guard whose rate along the flow is -0.5 where it is met, falls behind, and was another one 2e-6 s before."""

    class Before(cs.Flow):
        guard_names = ("touch",)
        guard_rounding = np.array([5e-8])

        def field(self, t: float, x: Array) -> Array:
            return np.array([1.0, 0.0])

        def guards(self, t: float, x: Array) -> Array:
            return np.array([-0.5 * x[0] - 6e4 * max(x[0], 0.0) ** 2 + 5e5 * min(x[0] + 2e-6, 0.0) ** 2])

        def guard_jacobian(self, t: float, x: Array, names: Sequence[Hashable]) -> Array:
            return np.array([[-0.5 - 1.2e5 * max(x[0], 0.0) + 1e6 * min(x[0] + 2e-6, 0.0), 0.0]])

    def flow(self, mode: Hashable) -> cs.Flow:
        return self.Before() if mode == "before" else Past(np.nan)


def test_a_guard_with_a_kink_right_before_it_is_met_is_not_grazed() -> None:
    """As the speed of a slip that has just begun: a step back from there leads to where it was another motion."""
    run = cs.simulate(Kinked(), np.array([-1e-6, 1.0]), (0.0, 1e-3))
    assert run.events
    np.testing.assert_allclose(cs.linearize(run).matrix(), np.diag([1.0, 3.0]), atol=1e-9)


def test_a_parameter_set_at_a_touch_down_is_refused() -> None:
    simulation = cs.Simulation(cs.ContactSystem(point_mass(0.0, 0.5)), cs.State([0, 0, 0.1], [0, 0, 0]))
    simulation.advance_to(0.2)
    landing = simulation.trajectory.events[0].time
    again = cs.Simulation(cs.ContactSystem(point_mass(0.0, 0.5)), cs.State([0, 0, 0.1], [0, 0, 0]))
    again.advance_to(landing)
    again.set("contact.restitution", 0.2)
    again.advance(0.05)
    with pytest.raises(cs.NonDifferentiableError, match="same instant"):
        cs.linearize(again.trajectory).matrix()
