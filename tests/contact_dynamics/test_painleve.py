"""Painleve's paradoxes on the sliding rod: states without an admissible mode, and with more than one.

A slender uniform rod of length 2 h slides on its tip, under the angle th to the ground. With the tip's rows
J_n = (0, 1, -h cos th), J_t = (1, 0, h sin th) and a slip to -x,

    m p = 1 + 3 cos^2 th - 3 mu sin th cos th,    w = -g + h omega^2 sin th.

Source: Genot and Brogliato, New results on Painleve paradoxes, Eur. J. Mech. A 18, 1999.
"""

from __future__ import annotations

import numpy as np
import pytest

import contactsim as cs

G, H = 9.81, 0.5
CRITICAL = (0.970155415988, 1.220890396789)  # rad, between which p < 0 for mu = 1.4
INERTIA = H**2 / 3.0


def rod(friction: float = 1.4, law: str | cs.ContactLaw = "coulomb", **coefficients: float) -> cs.ContactSystem:
    matrix, force = np.diag([1.0, 1.0, INERTIA]), np.array([0.0, -G, 0.0])
    tip = cs.Gap(
        lambda t, q: q[1] - H * np.sin(q[2]),
        lambda t, q: np.array([0.0, 1.0, -H * np.cos(q[2])]),
        lambda t, q: np.array([[1.0, 0.0, H * np.sin(q[2])]]),
        friction=friction,
        name="tip",
        **coefficients,
    )
    return cs.ContactSystem(cs.Mechanism(3, lambda q: matrix, lambda t, q, v: force, [tip]), law=law)


def sliding(angle: float, slip: float = -1.0, omega: float = 0.0) -> cs.State:
    """The tip touches the ground and slides with `slip`."""
    q = [0.0, H * np.sin(angle), angle]
    return cs.State(q, [slip - H * np.sin(angle) * omega, H * np.cos(angle) * omega, omega])


def mobility(angle: float, mu: float = 1.4) -> float:
    return 1.0 + 3.0 * np.cos(angle) ** 2 - 3.0 * mu * np.sin(angle) * np.cos(angle)


def jamming(**parameters: str) -> cs.ContactLaw:
    from contactsim_plugins.laws.coulomb import Coulomb

    return Coulomb(painleve="impact", **parameters)


def test_where_the_paradox_begins() -> None:
    assert mobility(np.arctan(2.0), 4.0 / 3.0) == pytest.approx(0.0, abs=1e-15)
    assert [mobility(angle) for angle in CRITICAL] == pytest.approx([0.0, 0.0], abs=1e-11)
    for angle in CRITICAL:
        for offset in (-1e-6, 1e-6):
            state = sliding(angle + offset)
            if mobility(angle + offset) > 0.0:
                simulation = cs.Simulation(rod(), state)
                assert simulation.mode["tip"] is cs.Mode.SLIP
                force = simulation.trajectory.forces(0.0)["tip"][0]
                assert force == pytest.approx(G / mobility(angle + offset), rel=1e-6)
            else:
                with pytest.raises(cs.NoAdmissibleModeError):
                    cs.Simulation(rod(), state)


def test_an_inconsistent_state_is_reported_with_its_problem() -> None:
    with pytest.raises(cs.NoAdmissibleModeError, match="tip satisfies Coulomb's law \\(Painleve\\)") as caught:
        cs.simulate(rod(), sliding(1.1), (0.0, 1.0))
    problem = caught.value.problem["contact_problem"]
    assert problem.friction[0] == 1.4 and problem.free[0] == pytest.approx(-G)
    assert problem.delassus[0, 0] + 1.4 * problem.delassus[0, 1] == pytest.approx(mobility(1.1))


def test_a_run_that_comes_into_an_inconsistent_state_keeps_what_it_has() -> None:
    """The friction rises while the rod slides."""
    simulation = cs.Simulation(rod(0.1), sliding(1.1, -3.0))
    simulation.advance(0.05)
    before = simulation.state
    with pytest.raises(cs.NoAdmissibleModeError):
        simulation.set("contact.friction", 1.6)
    np.testing.assert_array_equal(simulation.state.q, before.q)
    assert len(simulation.trajectory.t) > 2


def test_impact_without_collision_stops_the_tip() -> None:
    """It sticks with |lam_t| / lam_n = G_nn / |G_nt|, within the cone just because p < 0."""
    angle = 1.1
    traj = cs.simulate(rod(law=jamming()), sliding(angle), (0.0, 0.05))
    event = traj.events[0]
    assert event.time == 0.0 and event.transitions["tip"][1] is not cs.Mode.OPEN
    assert any("impact without collision" in note for note in event.notes)
    normal, tangent = event.impulses["tip"]
    c, s = np.cos(angle), np.sin(angle)
    delassus = np.array([[1.0 + 3.0 * c * c, -3.0 * s * c], [-3.0 * s * c, 1.0 + 3.0 * s * s]])
    np.testing.assert_allclose([normal, tangent], -np.linalg.solve(delassus, [0.0, -1.0]), rtol=1e-12)
    assert tangent / normal == pytest.approx(delassus[0, 0] / abs(delassus[0, 1])) and tangent < 1.4 * normal
    state = event.state_post
    np.testing.assert_allclose(state.v[0] + H * s * state.v[2], 0.0, atol=1e-14)
    assert 0.5 * (state.v[:2] @ state.v[:2] + INERTIA * state.v[2] ** 2) < 0.5  # of 1/2 m 1^2
    traj.check()


def test_derivative_of_an_impact_without_collision() -> None:
    """By differences from neighbouring states of the tip on the ground."""
    system = rod(law=jamming())

    def impact(angle: float, slip: float, omega: float) -> cs.Event:
        (event,) = cs.Simulation(system, sliding(angle, slip, omega)).trajectory.events
        return event

    start, h = np.array([1.1, -1.0, 0.3]), 1e-5
    reset = impact(*start).transition.derivative()
    for step in h * np.eye(3):
        ahead, behind = impact(*(start + step)), impact(*(start - step))
        change = (ahead.x_pre - behind.x_pre) / (2 * h)
        np.testing.assert_allclose(reset @ change, (ahead.x_post - behind.x_post) / (2 * h), atol=1e-8)


def test_an_indeterminate_state_is_told() -> None:
    angle = 1.1
    omega = np.sqrt(2.0 * G / (H * np.sin(angle)))  # w = +g
    simulation = cs.Simulation(rod(), sliding(angle, -1.0, omega))
    notes = [note for event in simulation.trajectory.all_events for note in event.notes]
    notes += list(simulation.trajectory.notes)
    (note,) = (note for note in notes if "indeterminate (Painleve)" in note)
    assert "contact 'tip' may leave with 9.81 m/s^2" in note
    assert f"slide under {G / -mobility(angle):.4g} N" in note


@pytest.mark.parametrize("angle", [0.5, 0.9, 1.3, 1.5])
def test_no_false_alarm_outside(angle: float) -> None:
    traj = cs.simulate(rod(), sliding(angle, -0.5, 0.2), (0.0, 0.3))
    assert not any("Painleve" in note for event in traj.all_events for note in event.notes)


def test_law_that_stops_is_the_default_and_its_choices_are_checked() -> None:
    assert not rod().law.jams
    with pytest.raises(cs.InputError, match="painleve"):
        from contactsim_plugins.laws.coulomb import Coulomb

        Coulomb(painleve="guess")
