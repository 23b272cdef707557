"""Runs whose user names no integrator: over to Radau9 where the motion is stiff, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import frictionless_gap
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import contactsim as cs
from contactsim.derivatives.variational import ArcVariation
from contactsim.hybrid.integrators.dop853 import Dop853
from contactsim.hybrid.integrators.radau9 import Collocation, Radau9
from contactsim.hybrid.stiff_arcs import _foremost, _leftmost, _may_exceed, _parts, _radius

Array = np.ndarray
FAST, SLOW = 3e4, 0.5  # decay rates [1/s]
TIGHT = cs.Tolerances(rtol=1e-11, atol=1e-13)


def held_hard(t: float) -> float:
    """A damping that is high between 0.3 and 0.7 s."""
    return SLOW + FAST * 0.25 * (1.0 + np.tanh((t - 0.3) / 0.02)) * (1.0 - np.tanh((t - 0.7) / 0.02))


def swing(damping: Any, contacts: Any = ()) -> cs.ContactSystem:
    """x' = v, v' = -40 x - damping(t) v."""
    mechanism = cs.Mechanism(
        n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: -40.0 * q - damping(t) * v, contacts=list(contacts)
    )
    return cs.ContactSystem(mechanism)


def run(system: cs.ContactSystem, time: float = 1.5, **options: Any) -> cs.Trajectory:
    return cs.simulate(system, cs.State(np.ones(1), np.zeros(1)), (0.0, time), **options)


def kinds(trajectory: cs.Trajectory) -> list[tuple[float, bool]]:
    """Time and whether the method is the stiff one, of each step."""
    return [(s.t0, isinstance(s.chart, Collocation)) for arc in trajectory.arcs for s in arc.segments]


def test_the_method_changes_where_the_motion_does_and_back() -> None:
    trajectory = run(swing(held_hard))
    steps = kinds(trajectory)
    assert not any(stiff for t, stiff in steps if t < 0.25)
    assert all(stiff for t, stiff in steps if 0.35 < t < 0.65)
    assert not any(stiff for t, stiff in steps if t > 1.0)
    assert len(steps) < 0.2 * len(kinds(run(swing(held_hard), integrator="DOP853")))
    exact = run(swing(held_hard), integrator="Radau9", tolerances=TIGHT)
    for t in np.linspace(0.01, 1.49, 60):
        np.testing.assert_allclose(trajectory(t).q, exact(t).q, atol=1e-8)
    [note] = [note for note in trajectory.notes if "stiff" in note]
    assert "Radau9" in note and "decay rate" in note


def test_what_the_user_names_stands() -> None:
    for name in ("DOP853", "RK45"):
        trajectory = run(swing(held_hard), 0.4, integrator=name)
        assert trajectory.settings is not None and trajectory.settings.integrator == name
        assert not any(stiff for _, stiff in kinds(trajectory))
        assert not trajectory.notes


@pytest.mark.parametrize("damping", [0.0, 0.5, 5.0])
def test_nothing_changes_for_what_is_not_stiff(damping: float) -> None:
    """Bit for bit; no derivative is asked for."""
    own, other = (run(swing(lambda t: damping), 5.0, integrator=name) for name in (None, "DOP853"))
    np.testing.assert_array_equal(own.final_x, other.final_x)
    assert own.evaluations == other.evaluations and kinds(own) == kinds(other)


def test_fast_oscillations_are_not_stiff() -> None:
    """Neither method may step over them; explicit steps are cheaper."""
    mechanism = cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: -1e6 * q, contacts=[])
    trajectory = cs.simulate(cs.ContactSystem(mechanism), cs.State(np.ones(1), np.zeros(1)), (0.0, 0.2))
    assert not any(stiff for _, stiff in kinds(trajectory))


@pytest.mark.parametrize("rate", [60.0, 300.0])
def test_a_decay_that_holds_explicit_steps_by_their_error_is_stiff(rate: float) -> None:
    """v' = -k (v - sin(w t)): explicit steps stay at h k of one or less, far from the edge of their stability."""
    mechanism = cs.Mechanism(
        n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: -8300.0 * (v - np.sin(rate * t)), contacts=[]
    )
    system, start = cs.ContactSystem(mechanism), cs.State(np.zeros(1), np.zeros(1))
    own, explicit = (cs.simulate(system, start, (0.0, 0.2), integrator=name) for name in (None, "DOP853"))
    steps = [step.t1 - step.t0 for arc in explicit.arcs for step in arc.segments]
    assert 8300.0 * np.median(steps) < 1.5
    assert own.evaluations < 0.25 * explicit.evaluations
    assert any("stiff" in note for note in own.notes)
    k = 8300.0
    for t in np.linspace(0.0, 0.2, 41):
        exact = k * (k * np.sin(rate * t) - rate * np.cos(rate * t) + rate * np.exp(-k * t)) / (k**2 + rate**2)
        assert own(t).v[0] == pytest.approx(exact, abs=2e-8)


def test_a_stiff_method_that_finds_no_longer_steps_is_given_up() -> None:
    """Where the motion itself turns as fast as it decays: it is tried ever less often, and nothing is said of it."""
    mechanism = cs.Mechanism(
        n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: -8300.0 * (v - np.sin(3e3 * t)), contacts=[]
    )
    trajectory = cs.simulate(cs.ContactSystem(mechanism), cs.State(np.zeros(1), np.zeros(1)), (0.0, 0.3))
    steps = kinds(trajectory)
    assert len(steps) > 1000
    assert sum(stiff for _, stiff in steps) < 0.05 * len(steps)
    assert not any("stiff" in note for note in trajectory.notes)


def test_an_event_within_stiff_steps_is_found() -> None:
    """x creeps down at the rate 40 / damping, and meets a floor that the closed form says when."""
    floor = frictionless_gap(lambda q: q[0] - 0.5, [1.0], 0.0, "floor")
    rate = 0.5 * (FAST - np.sqrt(FAST**2 - 160.0))
    slow, fast = -rate, -(FAST - rate)
    at = np.log(0.5 * (fast - slow) / fast) / slow  # x = (fast e^(slow t) - slow e^(fast t)) / (fast - slow)
    trajectory = run(swing(lambda t: FAST, [floor]), at + 1.0)
    assert trajectory.events[0].time == pytest.approx(at, rel=1e-8)
    assert any(stiff for _, stiff in kinds(trajectory))


def test_a_resumed_run_is_the_same() -> None:
    system, start = swing(held_hard), cs.State(np.ones(1), np.zeros(1))
    whole = cs.Simulation(system, start)
    whole.advance_to(1.5)
    for stop in (0.31, 0.5, 0.75):
        first = cs.Simulation(system, start)
        first.advance_to(stop)
        again = cs.Simulation.resume(first.trajectory)
        again.advance_to(1.5)
        np.testing.assert_array_equal(again.trajectory.final_x, whole.trajectory.final_x)
        assert again.trajectory.notes == whole.trajectory.notes


def test_derivatives_follow() -> None:
    """Those of a linear motion are its own solutions, on explicit steps and on stiff ones."""
    lin = cs.linearize(run(swing(held_hard)))
    tight = cs.linearize(run(swing(held_hard), integrator="Radau9", tolerances=TIGHT), tolerances=TIGHT)
    np.testing.assert_allclose(lin.matrix(), tight.matrix(), atol=1e-8)


def test_covariances_on_stiff_arcs_are_by_collocation(monkeypatch: pytest.MonkeyPatch) -> None:
    lin = cs.linearize(run(swing(lambda t: FAST), 0.5))
    asked: list[float] = []
    original = ArcVariation.matrices
    monkeypatch.setattr(ArcVariation, "matrices", lambda self, t: asked.append(t) or original(self, t))
    found = lin.covariance(np.eye(2))
    matrix = np.array([[0.0, 1.0], [-40.0, -FAST]])
    assert len(asked) < 10_000  # explicit steps would take 12 * 0.5 s * 3e4 / 6
    for t, P in zip(found.t[::20], found.P[::20], strict=True):
        phi = expm(matrix * t)
        np.testing.assert_allclose(P, phi @ phi.T, atol=1e-8)


def test_the_edge_of_stability_shows_in_the_stages() -> None:
    solver = Dop853(lambda t, y: -FAST * y, 0.0, np.ones(1), 1.0, first_step=1e-5)
    solver.step()
    assert solver.reach == pytest.approx(FAST * solver.h_previous, rel=1e-6)


def test_a_long_first_step_does_not_hide_behind_its_stiff_start() -> None:
    """A slip that has just begun turns at c / |z|: of a long step over that the estimate says nothing."""

    def begins(t: float, z: Array) -> Array:
        pull = 5.0 + 100.0 * (t + 2e-5)
        angle = 0.3 + 10.0 * t
        return pull * np.array([np.cos(angle), np.sin(angle)]) - 5.0 * z / np.hypot(*z)

    def jacobian(t: float, z: Array) -> Array:
        s = z / np.hypot(*z)
        return -5.0 * (np.eye(2) - np.outer(s, s)) / np.hypot(*z)

    start = 2e-8 * np.array([np.cos(0.3), np.sin(0.3)])
    ends = [
        solve_ivp(begins, (0.0, 0.02), start, method=Radau9, jac=jacobian, rtol=rtol, atol=1e-2 * rtol, first_step=h)
        for rtol, h in ((1e-9, 1e-3), (1e-12, 1e-9))
    ]
    np.testing.assert_allclose(ends[0].y[:, -1], ends[1].y[:, -1], atol=1e-9)


class NotTold(cs.Flow):
    """A stiff field whose equations do not tell its derivative, as of slips whose directions hang on nothing."""

    def field(self, t: float, x: Array) -> Array:
        return -FAST * (x - np.cos(t))

    def jacobian(self, t: float, x: Array) -> Array:
        raise np.linalg.LinAlgError("slip directions are not told")


class OfNotTold(cs.HybridSystem):
    """That field, without events."""

    def flow(self, mode: str) -> cs.Flow:
        return NotTold()

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "on")

    def transition(self, t: float, x: Array, mode: str, fired: frozenset) -> cs.Transition:
        raise AssertionError("nothing fires")


@pytest.mark.parametrize("name", ["automatic", "Radau9"])
def test_a_derivative_that_is_not_told_ends_no_run(name: str) -> None:
    """It is asked for whether the motion is stiff, and differenced; the derivative of the run is refused by name."""
    found = cs.simulate(OfNotTold(), [1.0], (0.0, 0.01), integrator=name)
    ratio = FAST / (FAST**2 + 1.0)  # x = FAST ratio cos t + ratio sin t + what has decayed
    assert found.status.complete
    assert found.final == pytest.approx(FAST * ratio * np.cos(0.01) + ratio * np.sin(0.01), abs=1e-8)
    with pytest.raises(cs.NonDifferentiableError, match=r"not known at t = .* slip directions are not told; start"):
        cs.linearize(found).matrix()


@pytest.mark.parametrize("seed", range(5))
def test_parts_that_do_not_act_on_each_other_have_the_eigenvalues(seed: int) -> None:
    """Also where one acts on the other, but not the other way round: these stay together."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 4)
    whole = np.zeros((sizes.sum(), sizes.sum()))
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        whole[end - size : end, end - size : end] = rng.normal(size=(size, size))
    whole[0, -1] = 1.0
    order = rng.permutation(len(whole))
    whole = whole[np.ix_(order, order)]
    parts = list(_parts(whole))
    assert sorted(map(len, parts)) == sorted([sizes[0] + sizes[-1], *sizes[1:-1]])
    found = np.concatenate([np.linalg.eigvals(part) for part in parts])
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(np.linalg.eigvals(whole)), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
@pytest.mark.parametrize("seed", range(5))
def test_powers_rule_out_no_eigenvalue(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    matrix = scale * np.triu(rng.normal(size=(6, 6))) @ np.diag(10.0 ** rng.uniform(-3, 3, 6))
    largest = np.abs(np.linalg.eigvals(matrix)).max()
    assert _may_exceed(matrix, 0.99 * largest)
    assert not _may_exceed(matrix, 1.01 * np.abs(matrix).sum(axis=1).max())
    oscillator = scale * np.array([[0.0, 1.0], [-1e4, -1.0]])  # of a norm of 1e4, and eigenvalues of 100
    assert not _may_exceed(oscillator, 200.0 * scale)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("foremost", [-2e8, -1e4, -600.0, 3e3, 0.0])
def test_a_power_tells_the_eigenvalue_that_stands_out(seed: int, foremost: float) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 30))
    others = rng.uniform(-500.0, 500.0, size)
    basis = np.eye(size + 1) + 0.3 * rng.normal(size=(size + 1, size + 1))
    matrix = basis @ np.diag([foremost, *others]) @ np.linalg.inv(basis)
    found, known = _foremost(matrix), np.linalg.eigvals(matrix)
    assert found is None or abs(found - known[np.abs(known).argmax()]) <= 1e-7 * abs(found)
    if abs(foremost) >= 1e4:
        assert found is not None
    assert _leftmost(matrix) == pytest.approx(known.real.min(), rel=1e-7, abs=1e-9)
    assert _radius(matrix) == pytest.approx(np.abs(known).max(), rel=1e-7)


def test_no_single_real_eigenvalue_stands_out() -> None:
    turning = np.array([[-1.0, 1e4], [-1e4, -1.0]])
    assert _foremost(turning) is None
    assert _leftmost(turning) == pytest.approx(-1.0)
    assert _radius(turning) == pytest.approx(1e4, rel=1e-6)
    assert _foremost(np.zeros((3, 3))) == 0.0
    assert _foremost(np.array([[0.0, 1.0], [0.0, 0.0]])) is None
    assert _leftmost(np.array([[0.0, 1.0], [0.0, 0.0]])) == 0.0
