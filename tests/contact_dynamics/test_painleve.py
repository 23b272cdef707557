"""Painleve's paradoxes on the sliding rod: states without an admissible mode, with more than one, and dynamic jams.

A slender uniform rod of length 2 h slides on its tip, under the angle th to the ground. With the tip's rows
J_n = (0, 1, -h cos th), J_t = (1, 0, h sin th) and a slip to -x,

    m p = 1 + 3 cos^2 th - 3 mu sin th cos th,    w = -g + h omega^2 sin th.

Source: Genot and Brogliato, New results on Painleve paradoxes, Eur. J. Mech. A 18, 1999.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from contactsim_plugins.laws.coulomb import Coulomb
from mixed_scenes import scene as mixed_scene
from mixed_scenes import simulated
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.contact.impact import ImpactSolution
from contactsim.contact.modes import Phase
from contactsim.contact.problem import ContactProblem

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


def stopping() -> cs.ContactLaw:
    """The law under which a run stops there."""
    from contactsim_plugins.laws.coulomb import Coulomb

    return Coulomb(painleve="stop")


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
                    cs.Simulation(rod(law=stopping()), state)
                (event,) = cs.Simulation(rod(), state).trajectory.events
                assert event.jammed == ("tip",)


def test_an_inconsistent_state_is_reported_with_its_problem() -> None:
    with pytest.raises(cs.NoAdmissibleModeError, match="tip satisfies Coulomb's law \\(Painleve\\)") as caught:
        cs.simulate(rod(law=stopping()), sliding(1.1), (0.0, 1.0))
    problem = caught.value.problem["contact_problem"]
    assert problem.friction[0] == 1.4 and problem.free[0] == pytest.approx(-G)
    assert problem.delassus[0, 0] + 1.4 * problem.delassus[0, 1] == pytest.approx(mobility(1.1))


def test_a_run_that_comes_into_an_inconsistent_state_keeps_what_it_has() -> None:
    """The friction rises while the rod slides."""
    simulation = cs.Simulation(rod(0.1, stopping()), sliding(1.1, -3.0))
    simulation.advance(0.05)
    before = simulation.state
    with pytest.raises(cs.NoAdmissibleModeError):
        simulation.set("contact.friction", 1.6)
    np.testing.assert_array_equal(simulation.state.q, before.q)
    assert len(simulation.trajectory.t) > 2


def test_impact_without_collision_stops_the_tip() -> None:
    """It sticks with |lam_t| / lam_n = G_nn / |G_nt|, within the cone just because p < 0."""
    angle = 1.1
    traj = cs.simulate(rod(), sliding(angle), (0.0, 0.05))
    event = traj.events[0]
    assert event.jammed == ("tip",) and event.time == 0.0 and event.transitions["tip"][1] is not cs.Mode.OPEN
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


def test_an_impact_without_collision_has_no_derivative() -> None:
    traj = cs.simulate(rod(0.1).with_parameter("contact.friction", 2.0), sliding(0.6, -6.0, 3.0), (0.0, 0.05))
    assert [event.jammed for event in traj.events] == [("tip",)]
    with pytest.raises(cs.NonDifferentiableError, match="impact without collision"):
        cs.linearize(traj).matrix()


def test_a_run_into_a_dynamic_jam_goes_on_and_one_that_shall_stop_stops() -> None:
    """The rod slides into p = 0, where its force grows beyond bounds, and is stopped there: w_n = 0 while it slips."""
    mu, start = 2.0, sliding(0.6, -6.0, 3.0)
    traj = cs.simulate(rod(mu), start, (0.0, 0.3))
    assert traj.status is cs.Status.FINISHED
    event = next(event for event in traj.events if event.jammed)
    assert event.fired == {("jam", -1)} and any("dynamic jam" in note for note in event.notes)
    angle = event.state_pre.q[2]
    c, s = np.cos(angle), np.sin(angle)
    assert 0.0 < mobility(angle, mu) < 1e-5 * (1.0 + 3.0 * c * c)
    slip = event.state_pre.v[0] + H * s * event.state_pre.v[2]
    impulse = -slip / (mu * (1.0 + 3.0 * s * s) - 3.0 * s * c)  # takes the slip away, while p = 0 keeps w_n
    np.testing.assert_allclose(event.impulses["tip"], [impulse, mu * impulse], rtol=1e-5)
    traj.check()
    stopped = cs.simulate(rod(mu, stopping()), start, (0.0, 0.3))
    assert stopped.status is cs.Status.NO_ADMISSIBLE_MODE and "dynamic jam" in stopped.message
    assert stopped.arcs[-1].t1 == pytest.approx(event.time, abs=1e-5)


def test_a_stiff_compliant_rod_jams_in_the_same_way() -> None:
    """Its tip is a spring without damping, whose friction is against the slip; it is followed to its deepest point."""
    mu, start = 2.0, sliding(0.6, -6.0, 3.0)
    (event,) = (event for event in cs.simulate(rod(mu), start, (0.0, 0.05)).events if event.jammed)
    missed = []
    for stiffness in (1e8, 1e10):
        after = _deepest(mu, stiffness, start)
        missed.append(float(np.abs(after - event.state_post.v).max()))
    assert missed[1] < 0.4 * missed[0] and missed[1] < 0.1


def _deepest(mu: float, stiffness: float, start: cs.State) -> np.ndarray:
    """Velocity (3,) of a rod on a spring where the compression of its jam ends."""
    from scipy.integrate import solve_ivp

    def force(y: np.ndarray) -> tuple[float, float, np.ndarray]:
        c, s = np.cos(y[2]), np.sin(y[2])
        pressed = stiffness * max(H * s - y[1], 0.0)
        rubbing = -mu * pressed * np.tanh((y[3] + H * s * y[5]) / 1e-6)
        return pressed, rubbing, np.array([rubbing, pressed, (rubbing * H * s - pressed * H * c) / INERTIA])

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[3:], force(y)[2] + [0.0, -G, 0.0]])

    def slipping(_: float, y: np.ndarray) -> float:
        return -float(y[3] + H * np.sin(y[2]) * y[5]) - 1e-3

    def sinking(_: float, y: np.ndarray) -> float:
        return float(y[4] - H * np.cos(y[2]) * y[5])

    slipping.terminal = sinking.terminal = True  # type: ignore[attr-defined]
    sinking.direction = 1.0  # type: ignore[attr-defined]
    depth = G / (stiffness * mobility(start.q[2], mu))
    first = np.concatenate([start.q - [0.0, depth, 0.0], start.v])
    slid = solve_ivp(rate, (0.0, 0.05), first, "LSODA", rtol=1e-9, atol=1e-12, events=slipping)
    assert slid.status == 1
    return solve_ivp(rate, (0.0, 0.01), slid.y[:, -1], "LSODA", rtol=1e-9, atol=1e-13, events=sinking).y[3:, -1]


def test_what_jams_is_kept_in_a_file(tmp_path: Path) -> None:
    traj = cs.simulate(rod(), sliding(1.1), (0.0, 0.01))
    loaded = cs.Trajectory.load(traj.save(tmp_path / "run.nc"), rod())
    assert [event.jammed for event in loaded.events] == [event.jammed for event in traj.events] != []


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


def test_law_that_goes_on_is_the_default_and_its_choices_are_checked() -> None:
    assert rod().law.jams and not stopping().jams
    with pytest.raises(cs.InputError, match="painleve"):
        from contactsim_plugins.laws.coulomb import Coulomb

        Coulomb(painleve="guess")


# --- contacts that begin to slip --------------------------------------------------------------------------------------


@cache
def jamming(seed: int) -> cs.Trajectory:
    return simulated(mixed_scene(seed))


@pytest.mark.slow_in_python
@pytest.mark.parametrize("seed", [26, pytest.param(20, marks=pytest.mark.slow)])
def test_what_jams_as_a_contact_begins_to_slip_goes_on(seed: int) -> None:
    """Feet of 30 kN at the edges of their cones: they slip, though they stick within rounding of the largest force."""
    run = jamming(seed)
    assert run.status is cs.Status.FINISHED, run.message
    assert any(event.jammed for event in run.events)
    run.check()


@pytest.mark.slow_in_python
def test_the_determinant_where_a_contact_begins_to_slip_is_that_of_the_direction_it_takes() -> None:
    """Held in that direction from the start, it has the same determinant by a way of its own, and the same forces."""
    run = jamming(26)
    compared = 0
    for arc in run.arcs:
        contacts = list(arc.mode.contacts)
        beginning = [i for i, state in enumerate(contacts) if state.phase is Phase.INCIPIENT]
        if not beginning or arc.mode.redundant:
            continue
        t, x = arc.t0, arc.segments[0](arc.t0)
        own = arc.system.flow(arc.mode).rebased(t, x).motion(t, x)
        for i in beginning:
            contacts[i] = replace(contacts[i], phase=Phase.DIRECTED, direction=tuple(own.found[i]))
        held = arc.system.flow(replace(arc.mode, contacts=tuple(contacts))).rebased(t, x).motion(t, x)
        assert own.regularity() == pytest.approx(held.regularity(), rel=1e-9)
        np.testing.assert_allclose(own.forces, held.forces, rtol=0, atol=1e-9 * np.abs(held.forces).max())
        compared += 1
    assert compared > 3


class Impulseless(Coulomb):
    """A law that finds no impulse of an impact."""

    def impact(self, problem: ContactProblem, restitution: np.ndarray) -> ImpactSolution:
        """None is found."""
        raise cs.NoAdmissibleModeError("none is found")


# A leg that strikes at next to no speed. It can neither stop nor slide on, and turns its slip on the way (Routh).
TURNING = np.array(
    [[6.6313543, 1.59765355, 8.2281112], [1.59765355, 1.06738043, 2.14823125], [8.2281112, 2.14823125, 10.74895163]]
)
BEFORE, RUBBING = np.array([-8.91680264e-07, 0.0343669002, 0.771300370]), 0.8


def struck_leg(restitution: float, law: cs.ContactLaw) -> cs.Trajectory:
    rows, mass = np.eye(3), np.linalg.inv(TURNING)
    mass = 0.5 * (mass + mass.T)
    tip = cs.Gap(
        lambda t, q: q[0], lambda t, q: rows[0], lambda t, q: rows[1:], RUBBING, name="tip", restitution=restitution
    )
    leg = cs.Mechanism(3, lambda q: mass, lambda t, q, v: -mass[0], [tip])
    return cs.simulate(cs.ContactSystem(leg, law=law), cs.State(np.zeros(3), BEFORE), (0.0, 1e-6))


def test_an_impact_without_an_impulse_is_followed_in_the_impulse() -> None:
    """dw / dLam_n = G (1, -mu w_t / |w_t|), until w_n rises through zero; what rebounds is refused."""
    event = struck_leg(0.0, Impulseless()).all_events[0]
    assert event.jammed == ("tip",)
    with pytest.raises(cs.NoAdmissibleModeError):
        struck_leg(0.5, Impulseless())

    def path(impulse: float, w: np.ndarray) -> np.ndarray:
        return TURNING @ np.append(1.0, -RUBBING * w[1:] / np.linalg.norm(w[1:]))

    def compressed(impulse: float, w: np.ndarray) -> float:
        return float(w[0])

    compressed.terminal, compressed.direction = True, 1.0
    routh = solve_ivp(path, (0.0, 1.0), BEFORE, events=compressed, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(event.state_post.v, routh.y[:, -1], rtol=0, atol=1e-8)
    assert event.impulses["tip"][0] == pytest.approx(routh.t[-1], rel=1e-6)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_an_impact_at_next_to_no_speed_has_its_impulse(restitution: float) -> None:
    """Beside a pole of the forces: w_n = -e w0_n, and Lam_t against w_t, on the cone."""
    found = cs.solve_contacts(TURNING, BEFORE, [RUBBING], [restitution])
    (normal, *tangential), slip = found.forces, found.motion[1:]
    assert found.motion[0] == pytest.approx(-restitution * BEFORE[0], abs=1e-15) and normal > 0.0
    np.testing.assert_allclose(tangential, -RUBBING * normal * slip / np.linalg.norm(slip), rtol=0, atol=1e-9 * normal)
    assert not struck_leg(restitution, Coulomb()).all_events[0].jammed


# --- slips too slow to be followed ----------------------------------------------------------------------------------
def rod_in_space(friction: float = 1.4) -> cs.ContactSystem:
    """The rod, which can also slide aside, along y: its fourth coordinate."""
    matrix, force = np.diag([1.0, 1.0, INERTIA, 1.0]), np.array([0.0, -G, 0.0, 0.0])
    tip = cs.Gap(
        lambda t, q: q[1] - H * np.sin(q[2]),
        lambda t, q: np.array([0.0, 1.0, -H * np.cos(q[2]), 0.0]),
        lambda t, q: np.array([[1.0, 0.0, H * np.sin(q[2]), 0.0], [0.0, 0.0, 0.0, 1.0]]),
        friction=friction,
        name="tip",
    )
    return cs.ContactSystem(cs.Mechanism(4, lambda q: matrix, lambda t, q, v: force, [tip]))


def no_compression(*_: object) -> None:
    raise cs.NoAdmissibleModeError("no compression grows to an impact without collision")


@pytest.mark.parametrize("slip", [1.9e-6, 2.1e-6])
def test_a_slip_too_slow_to_be_followed_comes_to_rest_where_it_jams(
    slip: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no impact without collision is found, either; the tip then sticks, and the rod turns about it.

    m (H^2 + H^2 / 3) th'' = -m g H cos th. From the speed on with which slips take their own direction it stops.
    """
    monkeypatch.setattr("contactsim.contact_dynamics.impacts.impact_without_collision", no_compression)
    start = sliding(1.1, -slip)
    state = cs.State([*start.q, 0.0], [*start.v, 0.0])
    if slip > 2e-6:
        with pytest.raises(cs.NoAdmissibleModeError, match="no compression"):
            cs.Simulation(rod_in_space(), state)
        return
    simulation = cs.Simulation(rod_in_space(), state)
    assert simulation.mode["tip"] is cs.Mode.STICK
    assert any("come to rest" in note for note in simulation.trajectory.notes)
    first = simulation.state.v
    assert first[2] == pytest.approx(slip * H * np.sin(1.1) / (H**2 + INERTIA), rel=1e-9)  # momentum about the tip
    simulation.advance_to(1e-5)
    turn = 1e5 * (simulation.state.v[2] - first[2])
    assert turn == pytest.approx(-G * H * np.cos(1.1) / (H**2 + INERTIA), rel=1e-6)
