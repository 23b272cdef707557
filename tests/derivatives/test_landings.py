"""Derivatives of landings on several feet: rattles end in them, and guards are simultaneous by time only."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from landings import FINE, GAINS, Landing, differences, landing

import contactsim as cs
from contactsim.derivatives.event_linearization import Node
from contactsim.hybrid.mode_directions import field_at, flow_at

Array = np.ndarray
AGREES = 1e-5  # relative to the largest entry, or to one: 1e-6 is what differences know
SLOWLY = 1e-8  # relative: rounding of the directions of slips that are about to stop
G = 9.81


def thrown_box(seed: int) -> tuple[cs.ContactSystem, cs.State]:
    """A plate of 2 kg on four plastic corners, thrown askew from 0.2 m."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(joint, pin.Inertia.FromBox(2.0, 0.2, 0.2, 0.1), pin.SE3.Identity())
    model.addFrame(pin.Frame("body", joint, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    corners = [(x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    contacts = [
        cs.ContactPoint("body", offset=(x, y, -0.05), friction=0.5, restitution=0.0, name=f"c{k}")
        for k, (x, y) in enumerate(corners)
    ]
    robot = cs.Robot(model, contacts=contacts)
    rng = np.random.default_rng(seed)
    q = pin.integrate(model, np.array([0, 0, 0.2, 0, 0, 0, 1.0]), np.r_[0, 0, 0, rng.uniform(-0.6, 0.6, 3)])
    return cs.ContactSystem(robot), cs.State(q, np.r_[rng.uniform(-1, 1, 3), rng.uniform(-2, 2, 3)])


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow_in_python) for seed in range(6, 12))]
)
def test_a_thrown_box_has_one_matrix(seed: int) -> None:
    """Four of them were refused: corners 1e-11 m apart are 1e-7 s apart at the end of a rattle."""
    system, start = thrown_box(seed)
    run = cs.simulate(system, start, (0.0, 0.4))
    assert run.status.complete
    assert np.isfinite(cs.linearize(run).matrix()).all()


def direction(case: Landing) -> Array:
    d = np.random.default_rng(1).normal(size=(1, 2 * case.system.nv))
    return d / np.linalg.norm(d)


@pytest.mark.slow_in_python
@pytest.mark.parametrize("name", ["hexapod", "go2"])
def test_a_tilted_landing_agrees_with_differences(name: str) -> None:
    case = landing(name, 0)
    along = direction(case)
    found = cs.linearize(case.run()).matrix() @ along[0]
    expected, _ = differences(case, along, (1e-4, 1e-5))
    assert np.abs(found - expected[0]).max() <= AGREES * max(1.0, np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", sorted(GAINS))
def test_forty_tilted_landings_are_differentiable(name: str, seed: int) -> None:
    """Where differences converge, they are the derivative; nowhere is it refused."""
    case = landing(name, seed)
    along = direction(case)
    run = case.run()
    assert run.status.complete, run.message
    found = cs.linearize(run).matrix() @ along[0]
    expected, spread = differences(case, along)
    if spread <= 1e-6:
        assert np.abs(found - expected[0]).max() <= AGREES * max(1.0, np.abs(expected).max())


# --- how far it speaks ------------------------------------------------------------------------------------------------
def two_masses(heights: tuple[float, float]) -> cs.Trajectory:
    """Two point masses that drop beside each other on plastic ground."""

    def gap(k: int) -> cs.Gap:
        row = np.eye(2)[k]
        return cs.Gap(lambda t, q: float(q[k]), lambda t, q: row, friction=0.0, restitution=0.0, name=["one", "two"][k])

    mechanism = cs.Mechanism(2, lambda q: np.eye(2), lambda t, q, v: np.array([-G, -G]), [gap(0), gap(1)])
    return cs.simulate(cs.ContactSystem(mechanism), cs.State(heights, [0.0, 0.0]), (0.0, 0.6), tolerances=FINE)


def test_the_radius_is_the_smallest_gap_between_two_orders() -> None:
    """D t = (1, t) / v of the height and speed of each mass, v = g t: they land together where both gaps close."""
    heights = (1.0, 1.001)
    early, late = np.sqrt(2.0 * np.array(heights) / G)
    change = [part for t in (early, late) for part in (1.0 / (G * t), 1.0 / G)]
    expected = (late - early) / np.linalg.norm(change)
    assert cs.linearize(two_masses(heights)).radius == pytest.approx(expected, rel=1e-6)
    assert cs.linearize(two_masses((1.0, 2.0))).radius == np.inf


# --- what is refused --------------------------------------------------------------------------------------------------
class Passing(cs.Flow):
    """x' = 1: one guard is met at a rate; the other is zero there as well, where it is lowest, to rounding of x."""

    guard_names = ("met", "touched")

    def field(self, t: float, x: Array) -> Array:
        return np.array([1.0])

    def guards(self, t: float, x: Array) -> Array:
        return np.array([1.0 - x[0], max((x[0] - 1.0) ** 2 - 1e-24, 0.0)])


class Touching(cs.HybridSystem):
    """A state that meets one guard where it touches another."""

    def flow(self, mode: str) -> cs.Flow:
        return Passing()

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "before")

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        return cs.Transition(x, "after", {"met": ("before", "after")})


def test_a_guard_that_is_touched_where_another_is_met_has_no_derivative() -> None:
    run = cs.simulate(Touching(), [0.0], (0.0, 1.5))
    with pytest.raises(cs.NonDifferentiableError, match="touched meets its guard tangentially"):
        cs.linearize(run).matrix()


def test_the_rate_with_which_an_arc_begins_is_that_of_its_flow() -> None:
    """Guards apart, which it does without; slips are directed, turn and begin."""
    for arc in landing("go2", 0).run().arcs:
        given = arc.system, arc.mode, arc.t0, arc(arc.t0)
        np.testing.assert_array_equal(field_at(*given), flow_at(*given).field(*given[2:]))


@pytest.mark.parametrize("engine", ["python", pytest.param("", marks=pytest.mark.slow_in_python)])
def test_events_without_a_seam_are_the_identity(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The field is the same on both sides of them, so that the saltation matrix that is worked out tells the same."""
    monkeypatch.setenv("CONTACTSIM_ENGINE", engine)
    case = landing("go2", 0)
    run = case.run()
    events = [event for event in run.all_events if event.transition.seamless]
    assert len(events) > 5
    for event in events:
        modes = event.mode_pre, event.mode_post
        before, behind = (field_at(case.system, mode, event.time, event.x_pre) for mode in modes)
        assert np.abs(before - behind).max() <= SLOWLY * np.abs(before).max()
    found = cs.linearize(run).matrix()
    monkeypatch.setattr(Node, "_is_seamless", lambda node, fired: False)
    assert np.abs(found - cs.linearize(run).matrix()).max() <= SLOWLY * np.abs(found).max()
