"""The salted Kalman filter: closed forms of a bouncing ball, ranks, constraints, and consistency over many runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from builders import G, point_mass, sphere
from landings import landing
from scipy.stats import chi2

import contactsim as cs

Array = np.ndarray
E = 0.75
EXACT = 1e-6  # relative: covariances are carried along arcs with this tolerance
SHARE = 0.9  # of the steps, in which the mean NEES lies inside of its 95 % band


def ball() -> cs.ContactSystem:
    gap = cs.Gap(gap=lambda t, q: q[0], normal=lambda t, q: np.ones(1), restitution=E, name="ball")
    weight = np.array([-G])
    return cs.ContactSystem(cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: weight, contacts=[gap]))


def height(state: cs.State) -> Array:
    return state.q


def free(t: float) -> Array:
    return np.array([[1.0, t], [0.0, 1.0]])


# --- closed forms -----------------------------------------------------------------------------------------------------
def test_covariance_behind_a_bounce_is_that_of_the_saltation_matrix() -> None:
    """Xi = [-e 0; -(1 + e) g / v- -e] of a ball that arrives with v-."""
    P0 = np.array([[0.02**2, 1e-4], [1e-4, 0.05**2]])
    filt = cs.SaltedKalman(ball(), cs.State([1.0], [0.0]), P0)
    filt.predict(0.7)
    hit = np.sqrt(2.0 / G)
    before = -G * hit
    saltation = np.array([[-E, 0.0], [-(1.0 + E) * G / before, -E]])
    way = free(0.7 - hit) @ saltation @ free(hit)
    np.testing.assert_allclose(filt.P, way @ P0 @ way.T, rtol=EXACT)
    np.testing.assert_allclose(filt.state.v, -E * before - G * (0.7 - hit), rtol=1e-9)


def test_update_is_that_of_kalman() -> None:
    P0, R = np.diag([0.02**2, 0.05**2]), 0.01**2
    filt = cs.SaltedKalman(ball(), cs.State([1.0], [0.3]), P0)
    told = filt.update([1.01], height, R)
    gain = P0[:, 0] / (P0[0, 0] + R)
    np.testing.assert_allclose(told.gain[:, 0], gain, rtol=1e-9)
    np.testing.assert_allclose([*filt.state.q, *filt.state.v], np.array([1.0, 0.3]) + 0.01 * gain, rtol=1e-9)
    np.testing.assert_allclose(filt.P, P0 - np.outer(gain, P0[0]), atol=1e-12)
    assert filt.nis == pytest.approx(0.01**2 / (P0[0, 0] + R)) == told.nis


def test_noise_is_that_of_the_linear_equation() -> None:
    """P(t) of white noise on the acceleration in free fall: w (t^3/3, t^2/2; t^2/2, t)."""
    w, t = 0.3, 0.2
    filt = cs.SaltedKalman(ball(), cs.State([1.0], [0.0]), np.zeros((2, 2)), noise=np.diag([0.0, w]))
    filt.predict(t)
    np.testing.assert_allclose(filt.P, w * np.array([[t**3 / 3, t**2 / 2], [t**2 / 2, t]]), rtol=EXACT)


# --- on which side of an event ----------------------------------------------------------------------------------------
def test_measurement_beyond_the_ground_is_an_impact_that_has_been() -> None:
    """A mean that would lie below the ground and falls has bounced some milliseconds ago."""
    filt = cs.SaltedKalman(ball(), cs.State([0.02], [-4.0]), np.diag([0.03**2, 0.1**2]))
    P, z, R = filt.P, -0.03, 0.005**2
    below = np.array([0.02, -4.0]) + P[:, 0] / (P[0, 0] + R) * (z - 0.02)
    assert below[0] < -0.02
    filt.update(z, height, R)
    arrival = -np.sqrt(below[1] ** 2 + 2.0 * G * below[0])  # speed at the ground
    since = (arrival - below[1]) / G
    assert 0.004 < since < 0.01
    assert filt.state.v[0] == pytest.approx(-E * arrival - G * since, abs=1e-6)
    assert filt.state.q[0] == pytest.approx(-E * arrival * since - 0.5 * G * since**2, abs=1e-6)
    assert filt.t == 0.0


def test_mean_that_comes_up_stays_above_the_ground() -> None:
    system = ball()
    filt = cs.SaltedKalman(system, cs.State([0.005], [3.0]), np.diag([0.02**2, 0.1**2]))
    filt.update([-0.02], height, 0.005**2)
    assert abs(system.gaps(filt.state)["ball"]) < 1e-12
    assert filt.state.v[0] == pytest.approx(3.0)
    filt.predict(0.1)
    assert filt.state.q[0] == pytest.approx(0.3 - 0.5 * G * 0.01, abs=1e-9)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_error_is_the_same_on_both_sides_of_an_impact(sign: float) -> None:
    """A truth that bounces earlier or later than the estimate is compared with it in the estimate's mode."""
    system = ball()
    truth = cs.simulate(system, cs.State([0.02], [-4.0 + 0.2 * sign]), (0.0, 0.2))
    filt = cs.SaltedKalman(system, cs.State([0.02], [-4.0]), np.diag([0.001**2, 0.2**2]))
    found = []
    for t in (0.003, 0.0048, 0.00502, 0.0052, 0.02):
        filt.predict(t)
        found.append((filt.nees(truth), filt.nees(truth(t))))
    np.testing.assert_allclose(found, 1.0, rtol=0.03)
    assert {error.rank for pair in found for error in pair} == {2}


# --- ranks ------------------------------------------------------------------------------------------------------------
def test_nothing_is_uncertain_that_the_mode_holds() -> None:
    """Of a point mass that sticks two directions are left; noise and measurements keep out of the others."""
    system = cs.ContactSystem(point_mass(friction=0.8))
    noise = np.diag([0, 0, 0, 1, 1, 1.0])
    filt = cs.SaltedKalman(system, cs.State([0, 0, 0.01], [0.1, 0, 0]), 1e-4 * np.eye(6), noise=noise)
    filt.predict(0.3)
    assert set(system.named_modes(filt.mode).values()) == {cs.Mode.STICK}
    assert np.sum(np.linalg.eigvalsh(filt.P) > 1e-12) == 2
    filt.update([0.01, 0.02, 0.5], lambda s: s.q, 1e-4)
    assert filt.state.q[2] == pytest.approx(0.0, abs=1e-12)
    assert np.abs(filt.state.v).max() < 1e-12
    found = filt.nees(cs.State([0.02, 0.0, 0.0], [0.0, 0.0, 0.0]))
    assert found.rank == 2
    assert found.outside < 1e-9


def test_free_body_turns_on_its_manifold() -> None:
    """A measurement of the attitude turns the mean, and P is that of the turned frame."""
    system = cs.ContactSystem(sphere())
    start = cs.State([0, 0, 5.0, 0, 0, 0, 1.0], [0, 0, 0, 0.3, -0.2, 1.0])
    filt = cs.SaltedKalman(system, start, 0.1**2 * np.eye(12))
    truth = system.space().integrate(system.pack(start), 0.1 * np.r_[0, 0, 0, 1, -1, 0.5, np.zeros(6)])
    filt.update(truth[3:7], lambda s: s.q[3:], 1e-10)
    assert np.linalg.norm(filt.state.q[3:]) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(filt.state.q, truth[:7], atol=2e-3)
    np.testing.assert_allclose(np.linalg.eigvalsh(filt.P)[:3], 4.0e-10, rtol=0.05)
    filt.predict(0.1)
    assert filt.state.q[2] == pytest.approx(5.0 - 0.5 * G * 0.01, abs=1e-9)


def test_simultaneous_impacts_go_through_the_b_derivative() -> None:
    """Two balls that land at once, each alone: the mean is not moved, and each has the covariance of one ball."""
    gaps = [
        cs.Gap(gap=lambda t, q, k=k: q[k], normal=lambda t, q, k=k: np.eye(2)[k], restitution=E, name=f"ball{k}")
        for k in (0, 1)
    ]
    weight = np.array([-G, -G])
    two = cs.ContactSystem(cs.Mechanism(n=2, mass=lambda q: np.eye(2), force=lambda t, q, v: weight, contacts=gaps))
    one = cs.SaltedKalman(ball(), cs.State([1.0], [0.0]), np.diag([0.02**2, 0.05**2]))
    both = cs.SaltedKalman(two, cs.State([1.0, 1.0], [0.0, 0.0]), np.diag(np.repeat([0.02**2, 0.05**2], 2)))
    for filt in (one, both):
        filt.predict(0.7)
    np.testing.assert_allclose(both.P[np.ix_([0, 2], [0, 2])], one.P, rtol=EXACT)
    np.testing.assert_allclose(both.P[np.ix_([0, 2], [1, 3])], 0.0, atol=1e-9)


# --- consistent over many runs ----------------------------------------------------------------------------------------
class Study:
    """Runs from scattered starts, each with its filter: NEES, its rank and NIS, (runs, steps) each."""

    def __init__(
        self,
        system: cs.ContactSystem,
        start: cs.State,
        P0: Array,
        h: Callable[[cs.State], Array],
        R: Array,
        times: Array,
        runs: int,
        events: str = "salted",
    ) -> None:
        rows = []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            dx = rng.multivariate_normal(np.zeros(len(P0)), P0)
            first = system.state(system.space().integrate(system.pack(start), dx))
            truth = cs.simulate(system, first, (0.0, times[-1] + 0.06))
            filt = cs.SaltedKalman(system, start, P0, events=events)
            for t in times:
                filt.predict(t)
                before = filt.nees(truth)
                filt.update(h(truth(t)) + np.sqrt(R) * rng.normal(size=len(R)), h, R)
                after = filt.nees(truth)
                rows += [(before, before.rank), (after, after.rank)]
        self.nees, self.rank = np.array(rows, dtype=float).reshape(runs, -1, 2).transpose(2, 0, 1)

    @property
    def inside(self) -> float:
        """Share of the steps in which the mean NEES over the runs lies inside its 95 % band."""
        total, degrees = self.nees.sum(axis=0), self.rank.sum(axis=0)
        return float(np.mean((chi2.ppf(0.025, degrees) < total) & (total < chi2.ppf(0.975, degrees))))


def bounces(runs: int, times: Array, events: str = "salted") -> Study:
    P0 = np.diag([0.02**2, 0.05**2])
    return Study(ball(), cs.State([1.0], [0.0]), P0, height, np.array([0.02**2]), times, runs, events)


def slides(friction: float, runs: int, events: str = "salted") -> Study:
    """A block falls on a slope of 0.3 rad with some speed along it: it slips, and stops where friction suffices."""
    system = cs.ContactSystem(point_mass(friction=friction), terrain=cs.terrain.Slope(0.3))
    start = cs.State([0.0, 0.0, 0.05], [0.6, 0.1, 0.0])
    P0 = np.diag(np.r_[np.full(3, 0.002), np.full(3, 0.005)] ** 2)
    times = 0.02 * np.arange(1, 26)
    return Study(system, start, P0, lambda s: s.q, np.full(3, 0.002**2), times, runs, events)


@pytest.mark.slow
def test_filter_of_the_bouncing_ball_is_consistent_and_the_naive_one_is_not() -> None:
    times = 0.02 * np.arange(1, 61)
    salted, naive = bounces(100, times), bounces(100, times, "reset")
    assert salted.inside >= SHARE
    assert naive.nees.mean(axis=0).max() > 2.0 * salted.nees.mean(axis=0).max()


def test_the_derivative_of_the_reset_alone_makes_a_filter_too_sure() -> None:
    """Its NEES is tr(P_naive^-1 P) on average where P is the covariance of the truth: 2 would be right."""
    P0, filters = np.diag([0.02**2, 0.02**2]), {}
    for events in ("salted", "reset"):
        filters[events] = cs.SaltedKalman(ball(), cs.State([1.0], [0.0]), P0, events=events)
        filters[events].predict(0.46)
    truth = cs.simulate(ball(), cs.State([1.02], [0.0]), (0.0, 0.5))
    assert filters["salted"].nees(truth) == pytest.approx(1.0, abs=0.05)
    hit = np.sqrt(2.0 / G)
    way = free(0.46 - hit) @ np.diag([1.0, -E]) @ free(hit)
    np.testing.assert_allclose(filters["reset"].P, way @ P0 @ way.T, rtol=EXACT)
    assert np.trace(np.linalg.solve(filters["reset"].P, filters["salted"].P)) > 7.0


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.15, 0.6])
def test_filter_of_a_block_that_lands_on_a_slope_is_consistent(friction: float) -> None:
    """It slips on (mu < tan 0.3), or it slips and sticks."""
    assert slides(friction, 40).inside >= SHARE


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["hexapod", "solo12"])
def test_filter_of_a_robot_that_lands_askew_is_consistent(robot: str) -> None:
    """Twenty landings with dozens of events, by encoders and a gyroscope; P0: (1e-5 m, rad and 1e-4 m/s, rad/s)^2."""
    case = landing(robot, 0)
    nv = case.system.nv
    P0 = np.diag(np.r_[np.full(nv, 1e-5), np.full(nv, 1e-4)] ** 2)
    R = np.r_[np.full(nv - 6, 2e-5), np.full(3, 2e-4)] ** 2
    times = 0.01 * np.arange(1, 26)
    study = Study(case.system, case.start, P0, lambda s: np.r_[s.q[7:], s.v[3:6]], R, times, runs=20)
    assert study.inside >= SHARE


# --- a user's mistakes ------------------------------------------------------------------------------------------------
def test_mistakes_are_told() -> None:
    system = ball()
    with pytest.raises(cs.InputError, match=r"P has shape \(3, 3\); here it needs \(2, 2\)"):
        cs.SaltedKalman(system, cs.State([1.0], [0.0]), np.eye(3))
    filt = cs.SaltedKalman(system, cs.State([1.0], [0.0]), np.eye(2), t0=0.5)
    with pytest.raises(cs.InputError, match=r"cannot go back to 0\.4 s"):
        filt.predict(0.4)
    with pytest.raises(cs.InputError, match="let h return what z measures"):
        filt.update([1.0, 2.0], height, 1.0)
    with pytest.raises(cs.InputError, match="R has the eigenvalue"):
        filt.update([1.0], height, -1.0)
    with pytest.raises(cs.InputError, match="give one that does"):
        filt.nees(cs.simulate(system, cs.State([1.0], [0.0]), (0.0, 0.2)))
