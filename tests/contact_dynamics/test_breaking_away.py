"""A contact that breaks away in space: its direction turns at mu lam_n G_tt / |z_t|, which is stiff."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from builders import G, point_mass
from linkages import above_ground, five_bar_leg
from mixed_scenes import scene as mixed_scene
from mixed_scenes import simulated

import contactsim as cs
from contactsim.derivatives.variational import ArcVariation
from contactsim.hybrid.integrators.radau9 import Collocation

Array = np.ndarray
FRICTION = 0.5
GROWTH, TURN = 100.0, 10.0  # of the pull on a unit mass [N/s], and of its direction [rad/s]
TIGHT = cs.Tolerances(rtol=1e-12, atol=1e-14)
SPAN = (0.0, 0.05)
LATER = 1e-4  # s, by which the second of two masses breaks away


def pulled(slip_speed: float) -> tuple[cs.ContactSystem, cs.State]:
    """A unit mass pulled along the floor by a force that grows and turns; it breaks away at 0.01 s."""

    def pull(t: float, q: Array, v: Array) -> Array:
        size, angle = FRICTION * G + GROWTH * (t - 0.01), 0.3 + TURN * t
        return np.array([size * np.cos(angle), size * np.sin(angle), 0.0])

    robot = point_mass(friction=FRICTION)
    tolerances = cs.Tolerances(slip_speed=slip_speed)
    return cs.ContactSystem(robot, controller=pull, tolerances=tolerances), cs.State(np.zeros(3), np.zeros(3))


def speed_at_the_end(slip_speed: float) -> float:
    run = cs.simulate(*pulled(slip_speed), SPAN, tolerances=TIGHT)
    return float(np.linalg.norm(run.final.v))


def test_what_the_held_direction_misses_goes_with_the_square_of_its_speed() -> None:
    """While the direction is held the slip keeps to it, though its path turns: both lose w^2 r^2 / (18 k) of speed.

    r = 2 slip speeds is where it is left, after sqrt(2 r / k); the second loss is that of the turn to the true one.
    """
    exact = speed_at_the_end(1e-9)
    missed = [abs(speed_at_the_end(slip) - exact) for slip in (1e-4, 1e-5)]
    assert np.log10(missed[0] / missed[1]) == pytest.approx(2.0, abs=0.05)
    assert missed[1] == pytest.approx(TURN**2 * (2e-5) ** 2 / (9.0 * GROWTH), rel=0.05)
    assert abs(speed_at_the_end(1e-6) - exact) < 1e-12  # that of the defaults


@pytest.mark.parametrize("slip_speed", [1e-6, 1e-8])
def test_few_steps_lead_past_it(slip_speed: float) -> None:
    """By themselves, however small the speed at which the direction is let go; a named method stands."""
    exact = cs.simulate(*pulled(1e-9), SPAN, tolerances=TIGHT).final_x
    own, named = (cs.simulate(*pulled(slip_speed), SPAN, integrator=name) for name in (None, "DOP853"))
    arcs = [run.arcs[-1].segments for run in (own, named)]
    assert len(arcs[0]) < min(80, 0.5 * len(arcs[1]))
    assert isinstance(arcs[0][0].chart, Collocation)
    assert not any(isinstance(segment.chart, Collocation) for segment in arcs[1])
    assert any("stiff" in note for note in own.notes) and not named.notes
    np.testing.assert_allclose(own.final_x, exact, atol=1e-10)


def dragged() -> cs.ContactSystem:
    """A mass on a spring whose other end moves on a curve: when and where it breaks away hangs on where it lies."""

    def spring(t: float, q: Array, v: Array) -> Array:
        hand = np.array([0.02 + 0.5 * t, 2.0 * t * t, 0.0])
        return 80.0 * (hand - q * np.array([1.0, 1.0, 0.0])) - 0.5 * v

    return cs.ContactSystem(point_mass(friction=FRICTION), controller=spring)


def test_derivatives_through_it() -> None:
    """Those of a run that goes over to the stiff method, against differences of tight runs."""
    system, start = dragged(), np.array([0.001, -0.002, 0.0])
    run = cs.simulate(system, cs.State(start, np.zeros(3)), (0.0, 0.2))
    assert any(isinstance(segment.chart, Collocation) for arc in run.arcs for segment in arc.segments)
    matrix = cs.linearize(run).matrix()
    for k in (0, 1):
        h = 1e-5 * np.eye(3)[k]
        ends = [
            cs.simulate(system, cs.State(start + d, np.zeros(3)), (0.0, 0.2), tolerances=TIGHT).final_x for d in (h, -h)
        ]
        np.testing.assert_allclose(matrix[:, k], (ends[0] - ends[1]) / 2e-5, atol=2e-7)


def test_a_foot_breaks_away_while_others_stick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A landing of solo12: as exact with the stiff method, in half the evaluations, and its derivative in few."""
    robot = cs.load_robot("solo12")
    system = cs.ContactSystem(robot, controller=cs.PD(robot, robot.nominal, kp=30.0, kd=0.8))
    q, v = robot.nominal.copy(), np.zeros(robot.nv)
    q[2] += 1e-3
    v[:3] = 0.3, 0.1, -0.2
    runs = [cs.simulate(system, cs.State(q, v), (0.0, 0.02), integrator=name) for name in (None, "DOP853")]
    assert runs[0].evaluations < 0.6 * runs[1].evaluations
    np.testing.assert_allclose(runs[0].final_x, runs[1].final_x, atol=1e-8)
    asked: list[int] = []
    original = ArcVariation.matrices
    monkeypatch.setattr(ArcVariation, "matrices", lambda self, t: asked.append(id(self)) or original(self, t))
    variations = [s.piece for s in cs.linearize(runs[0]).stretches() if isinstance(s.piece, ArcVariation)]
    for variation in variations:
        variation.propagate(variation.t0, variation.t1, np.eye(variation.dim))
    assert max(asked.count(id(variation)) for variation in variations) < 1000


def test_a_slip_that_begins_straight_stays_straight() -> None:
    """A mechanism that moves in a plane in space: no stiff method, which would turn its slips by rounding."""
    system = five_bar_leg(root="free_flyer", friction=0.2, restitution=0.2)
    run = cs.simulate(system, above_ground(system, 0.48, 1.5), (0.0, 0.25))
    assert any(mode.contacts[0].mode is cs.Mode.SLIP for mode in (arc.mode for arc in run.arcs))
    assert not any("stiff" in note for note in run.notes)
    across = [abs(run(t).v[k]) for t in run.t for k in (1, 3, 5)]
    assert max(across) < 1e-13


def two_masses(force: Callable[[float, Array], Array]) -> cs.ContactSystem:
    """Two unit masses on the floor, each under a force (2,) of its own along the floor at its place (2,)."""
    world = cs.Robot.merge([point_mass(friction=FRICTION)] * 2, names=["one", "other"])

    def pull(t: float, q: Array, v: Array) -> Array:
        tau = np.zeros(6)
        tau[0:2], tau[3:5] = force(t, q[0:2]), force(t - LATER, q[3:5])
        return tau

    return cs.ContactSystem(world, controller=pull)


def test_what_has_begun_to_slip_keeps_its_speed_while_another_breaks_away() -> None:
    """v = k (t - t0)^2 / 2 of either, the second 1e-4 s later, when the first has not reached 2e-6 m/s yet."""
    system = two_masses(lambda t, place: np.array([FRICTION * G + GROWTH * (t - 0.01), 0.0]))
    run = cs.simulate(system, cs.State(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]), np.zeros(6)), (0.0, 0.02))
    first, second = [event for event in run.all_events if any(name[0] == "cone" for name in event.fired)]
    assert second.time - first.time == pytest.approx(LATER, abs=1e-11)
    assert second.x_pre[6] == pytest.approx(0.5 * GROWTH * LATER**2, rel=1e-6) and second.x_pre[6] < 2e-6
    np.testing.assert_array_equal(second.x_post, second.x_pre)
    exact = [0.5 * GROWTH * 0.01**2, 0.5 * GROWTH * (0.01 - LATER) ** 2]
    np.testing.assert_allclose(run.final.v[[0, 3]], exact, rtol=0.0, atol=1e-12)


def test_derivatives_through_both_breaking_away() -> None:
    """The speed of the first is differentiated across the event of the second."""

    def spring(t: float, place: Array) -> Array:
        return 80.0 * (np.array([0.5 * t, 2.0 * t * t]) - place)

    system, start = two_masses(spring), np.array([0.001, -0.002, 0.0, 0.001, -0.002, 0.0])
    run = cs.simulate(system, cs.State(start, np.zeros(6)), (0.0, 0.14))
    matrix = cs.linearize(run).matrix()
    for k in (0, 4):
        h = 1e-5 * np.eye(6)[k]
        ends = [
            cs.simulate(system, cs.State(start + way * h, np.zeros(6)), (0.0, 0.14), tolerances=TIGHT).final_x
            for way in (1.0, -1.0)
        ]
        differences = (ends[0] - ends[1]) / 2e-5
        assert np.abs(matrix[:, k] - differences).max() < 1e-6 * np.abs(differences).max()


@pytest.mark.parametrize("seed", [265, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (74, 90, 137))])
def test_runs_through_singular_configurations_go_on(seed: int) -> None:
    """Links and level robots with planar legs cannot slip in all directions: events followed each other without end.

    In scene 265 one of two points of a body slips at once, across the line between them.
    """
    run = simulated(mixed_scene(seed))
    assert run.status is cs.Status.FINISHED, run.message
    run.check()


def test_a_slow_slip_that_turns_is_followed_in_steps_that_accuracy_sets() -> None:
    """A tumbling hull breaks away on one corner and slides on another; 86,000 where friction leaps by 1e-12 m/s."""
    rng = np.random.default_rng(5)
    friction, _, mass = rng.uniform(0.1, 1.0), rng.choice([0.0, 0.0, 0.3, 0.7]), rng.uniform(0.2, 3.0)
    hull = cs.Robot.hull(mass, 0.06 * rng.normal(size=(9, 3)), friction=friction)
    _ = rng.integers(3), rng.uniform()
    place, height, turn = rng.uniform(-0.2, 0.2, 2), 0.2 + rng.uniform(0.03, 0.1), rng.normal(size=4)
    velocity = np.r_[rng.uniform(-1, 1, 2), rng.uniform(-0.5, 0.2), 3.0 * rng.normal(size=3)]
    start = cs.State(np.r_[place, height, turn / np.linalg.norm(turn)], velocity)
    traj = cs.simulate(cs.ContactSystem(hull), start, (0.0, 0.357), tolerances=cs.Tolerances(1e-12, 1e-13))
    assert len(traj.events) == 5
    assert traj.evaluations < 12_000
    traj.check()


def test_a_slip_that_begins_slowly_is_seen_to_turn() -> None:
    """A box on sixteen points drops onto an edge: forces and velocities are right behind the begin of each slip, too.

    One began at 2e-6 m/s and grew 90-fold within a step, in the middle of which velocities were wrong by 2e-5 m/s.
    """
    places = np.linspace(-0.1, 0.1, 4)
    points = [
        cs.ContactPoint("box", (x, y, -0.1), friction=0.5, name=f"{x:.2f},{y:.2f}") for x in places for y in places
    ]
    system = cs.ContactSystem(cs.Robot.box(1.0, (0.2, 0.2, 0.2), friction=0.5).with_contacts(points))
    start = cs.State([0, 0, 0.15, np.sin(0.05), 0, 0, np.cos(0.05)], [0.5, 0.2, 0, 0, 0, 0.5])
    traj, exact = (
        cs.simulate(system, start, (0.0, 0.125), tolerances=cs.Tolerances(rtol=rtol, atol=1e-2 * rtol))
        for rtol in (1e-8, 1e-12)
    )
    traj.check()
    for arc in traj.arcs:
        t = np.array([0.5 * (segment.t0 + segment.t1) for segment in arc.segments])
        assert np.abs(traj.sample(t).v - exact.sample(t).v).max() < 1e-6


# --- contacts that do the same ----------------------------------------------------------------------------------------


def two_feet(*friction: float) -> cs.ContactSystem:
    """A unit mass on two feet at one place, pulled by 10 t; of the mean friction once it slips."""
    feet = [
        cs.Gap(
            gap=lambda t, q: q[1],
            normal=lambda t, q: np.array([0.0, 1.0]),
            tangent=lambda t, q: np.array([[1.0, 0.0]]),
            friction=mu,
            name=name,
        )
        for name, mu in zip("ab", friction, strict=True)
    ]
    return cs.ContactSystem(cs.Mechanism(2, lambda q: np.eye(2), lambda t, q, v: np.array([10.0 * t, -G]), feet))


@pytest.mark.parametrize("friction", [(0.4, 0.4), (0.2, 0.6), (0.6, 0.2), (0.2, 0.21)])
def test_feet_that_do_the_same_bear_the_same_when_they_break_away(friction: tuple[float, float]) -> None:
    """They hold as long as the rougher one might alone; then neither is open, to land again by rounding."""
    run = cs.simulate(two_feet(*friction), cs.State([0, 0], [0, 0]), (0.0, 1.0))
    assert run.status is cs.Status.FINISHED, run.message
    (event,) = run.events
    assert event.time == pytest.approx(max(friction) * G / 10.0, abs=1e-9)
    assert [modes[1] for modes in event.transitions.values()] == [cs.Mode.SLIP] * 2
    forces = run.forces(0.9)
    assert forces["a"][0] == pytest.approx(0.5 * G) and forces["b"][0] == pytest.approx(0.5 * G)
    speed = 5.0 * (1.0 - event.time**2) - np.mean(friction) * G * (1.0 - event.time)
    assert run.final.v[0] == pytest.approx(speed, abs=1e-8)


@pytest.mark.parametrize("friction", [0.5, 0.3])
def test_a_box_that_breaks_away_slides_on_all_its_corners(friction: float) -> None:
    """As one does that is started a moment later, sliding already."""

    def push(t: float, q: Array, v: Array) -> Array:
        return np.array([8.0 * t, 2.0 * t, 0.0, 0.0, 0.0, 0.3 * t])

    robot = cs.Robot.box(1.0, (0.2, 0.3, 0.1), friction=0.5)
    system = cs.ContactSystem(robot, controller=push).with_parameter("contact.box/0.friction", friction)
    run = cs.simulate(system, cs.State(robot.nominal, np.zeros(6)), (0.0, 0.8))
    (event,) = run.events
    assert [modes[1] for modes in event.transitions.values()] == [cs.Mode.SLIP] * 4
    later = event.time + 0.01
    slides = cs.simulate(system, cs.State(run(later).q, run(later).v), (later, 0.8))
    assert slides.mode_at(0.7) == run.mode_at(0.7)
    np.testing.assert_allclose(slides.final.q, run.final.q, atol=1e-8)
    np.testing.assert_allclose(slides.final.v, run.final.v, atol=1e-7)
