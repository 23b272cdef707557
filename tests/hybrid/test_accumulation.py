"""Bounces that accumulate (Zeno): the run passes through their limit and goes on in contact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from landings import landing
from test_hybrid_systems import Ball

import contactsim as cs
from contactsim.contact.solvers import pivot
from contactsim.contact_dynamics import zeno as bounces
from contactsim.contact_dynamics.resolution import Resolution
from contactsim.hybrid import simulate as simulation
from contactsim.io import scene

G = 9.81
LIMIT = 1e-8  # s, of the time at which the last bounce comes


def bouncer(e: float, g: float = G, ceiling: float | None = None, hop: float = 1e-13) -> cs.ContactSystem:
    """A point mass above a floor, and below a ceiling where there is one."""
    gaps = [cs.Gap(lambda t, q: q[0], lambda t, q: np.ones(1), restitution=e, name="floor")]
    if ceiling is not None:
        gaps.append(cs.Gap(lambda t, q: ceiling - q[0], lambda t, q: -np.ones(1), restitution=e, name="ceiling"))
    force = np.array([-g])
    mechanism = cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: force, gaps, lambda q: g * q[0])
    return cs.ContactSystem(mechanism, tolerances=cs.Tolerances(hop=hop))


def limit_of(traj: cs.Trajectory) -> cs.Event:
    """The event at which the bounces come to their end."""
    (event,) = (event for event in traj.events if event.accumulated)
    return event


@pytest.mark.parametrize("e", [0.1, 0.5, 0.9])
def test_ball_comes_to_rest_at_the_limit_of_its_bounces(e: float) -> None:
    """Siconos' BouncingBallED (e = 0.9): t = 8.57894917872889; first impact at speed v, then 2 e v / (g (1 - e))."""
    speed = np.sqrt(2.0 * G)
    limit = speed / G + 2.0 * e * speed / (G * (1.0 - e))
    traj = cs.simulate(bouncer(e), cs.State([1.0], [0.0]), (0.0, limit + 0.5))
    event = limit_of(traj)
    assert event.time == pytest.approx(limit, abs=LIMIT)
    assert event.accumulated == ("floor",) and event.transitions == {"floor": (cs.Mode.OPEN, cs.Mode.SLIP)}
    assert traj.status is cs.Status.FINISHED and traj.t[-1] == limit + 0.5
    assert abs(traj.final.q[0]) < 1e-14 and traj.final.v[0] == 0.0
    np.testing.assert_allclose(traj.forces(limit + 0.2)["floor"], [G], rtol=1e-12)
    traj.check()


def test_late_slow_decay() -> None:
    """Times are known to 1e-14 s here, bounces to 1 % of each other: 500 of them are followed, and end in time."""
    height, start, e = 1e-8, 89.0, 0.99
    speed = np.sqrt(2.0 * G * height)
    limit = start + speed / G + 2.0 * e * speed / (G * (1.0 - e))
    traj = cs.simulate(bouncer(e), cs.State([height], [0.0]), (start, start + 0.1))
    assert limit_of(traj).time == pytest.approx(limit, abs=LIMIT)


def test_floor_and_ceiling() -> None:
    """Siconos' TwoContacts: q0 = 1, v0 = 10, g = 10, e = 0.8."""
    traj = cs.simulate(bouncer(0.8, 10.0, 1.5), cs.State([1.0], [10.0]), (0.0, 7.0))
    times = [0.0513167019494862, 0.2283187800528824, 0.4665486160195446, 0.7413599657472237]
    assert [event.time for event in traj.events[:4]] == pytest.approx(times, abs=1e-12)
    assert limit_of(traj).time == pytest.approx(6.20723724208631, abs=LIMIT)


def spinning_ball(friction: float = 0.2, restitution: float = 0.5) -> cs.ContactSystem:
    """Capobianco et al. 2021, 10.1: m = 1, R = 0.1, I = 0.4 m R^2, contact velocity x' + R omega."""
    radius, inertia = 0.1, np.diag([1.0, 1.0, 0.4 * 0.01])
    gap = cs.Gap(
        lambda t, q: q[1] - radius,
        lambda t, q: np.array([0.0, 1.0, 0.0]),
        lambda t, q: np.array([[1.0, 0.0, radius]]),
        friction=friction,
        restitution=restitution,
        name="ball",
    )
    force = np.array([0.0, -G, 0.0])
    return cs.ContactSystem(cs.Mechanism(3, lambda q: inertia, lambda t, q, v: force, [gap]))


def test_ball_with_spin() -> None:
    traj = cs.simulate(spinning_ball(), cs.State([0.0, 1.0, 0.0], [0.0, 0.0, 50.0]), (0.0, 2.0))
    assert [event.time for event in traj.events[:3]] == pytest.approx(
        [0.428352936878, 0.856705873756, 1.0708823422], abs=1e-10
    )
    assert limit_of(traj).time == pytest.approx(1.285058810634, abs=LIMIT)


@pytest.mark.parametrize("hop", [2e-15, 1e-9, 1e-7])
def test_the_end_of_bounces_does_not_depend_on_how_far_they_are_followed(hop: float) -> None:
    """Hops of one ball are a geometric series from any height, under a constant acceleration."""
    system = cs.ContactSystem(spinning_ball().robot, tolerances=cs.Tolerances(hop=hop))
    traj = cs.simulate(system, cs.State([0.0, 1.0, 0.0], [0.0, 0.0, 50.0]), (0.0, 2.0))
    assert limit_of(traj).time == pytest.approx(1.285058810634, abs=1e-10)
    default = cs.simulate(spinning_ball(), cs.State([0.0, 1.0, 0.0], [0.0, 0.0, 50.0]), (0.0, 2.0))
    np.testing.assert_allclose(traj.final.q, default.final.q, atol=1e-12)


def test_derivative_through_the_limit() -> None:
    """The ball lands, comes to rest while it slides, and slides on: the run forgets its height, but not its slip."""
    start, system = np.array([0.0, 0.3, 0.0, 2.0, 0.1, 50.0]), spinning_ball()
    tight = cs.Tolerances(rtol=1e-11, atol=1e-13)

    def end(x: np.ndarray, system: cs.ContactSystem = system) -> np.ndarray:
        final = cs.simulate(system, cs.State(x[:3], x[3:]), (0.0, 1.0), tolerances=tight).final
        return np.concatenate([final.q, final.v])

    traj = cs.simulate(system, cs.State(start[:3], start[3:]), (0.0, 1.0), tolerances=tight)
    assert limit_of(traj).transitions["ball"][1] is cs.Mode.SLIP
    lin = cs.linearize(traj)
    h = 1e-4
    differences = np.array([(end(start + h * e) - end(start - h * e)) / (2.0 * h) for e in np.eye(6)]).T
    np.testing.assert_allclose(lin.matrix(), differences, rtol=1e-5, atol=1e-5)
    assert np.abs(lin.matrix()[[1, 4]]).max() < 1e-12
    for name in ("contact.friction", "contact.restitution"):
        value = system.parameter(name)
        high, low = (end(start, system.with_parameter(name, value + d)) for d in (1e-4, -1e-4))
        np.testing.assert_allclose(lin.parameter(name), (high - low) / 2e-4, rtol=1e-6, atol=1e-3)


def rocking_block(e: float) -> cs.ContactSystem:
    """Housner's block, alpha = atan(0.25), with so much friction that it never slips.

    Its coordinates (x, height - 1, tilt) are zero at rest, and the gaps are written so that they keep their digits
    there: a height near 1 m is known to 2e-16 m only, which is felt in bounces of 1e-14 m.
    """
    half_width, half_height, mass = 0.25, 1.0, 1.0
    inertia = mass * (half_width**2 + half_height**2) / 3.0

    def corner(side: float, name: str) -> cs.Gap:
        def arm(q: np.ndarray) -> tuple[float, float]:
            c, s = np.cos(q[2]), np.sin(q[2])
            return side * half_width * c + half_height * s, side * half_width * s - half_height * c

        return cs.Gap(
            lambda t, q: q[1] + side * half_width * np.sin(q[2]) + 2.0 * half_height * np.sin(0.5 * q[2]) ** 2,
            lambda t, q: np.array([0.0, 1.0, arm(q)[0]]),
            lambda t, q: np.array([[1.0, 0.0, -arm(q)[1]]]),
            friction=5.0,
            restitution=e,
            name=name,
        )

    force = np.array([0.0, -mass * G, 0.0])
    matrix = np.diag([mass, mass, inertia])
    gaps = [corner(-1.0, "left"), corner(1.0, "right")]
    return cs.ContactSystem(cs.Mechanism(3, lambda q: matrix, lambda t, q, v: force, gaps))


def test_rocking_block_comes_to_rest() -> None:
    """Each impact leaves 0.9118 of the angular velocity, so the last times between impacts are a geometric series."""
    tilt, tight = 0.01, cs.Tolerances(rtol=1e-11, atol=1e-13)
    start = cs.State([0.0, 0.25 * np.sin(tilt) - 2.0 * np.sin(0.5 * tilt) ** 2, tilt], np.zeros(3))
    traj = cs.simulate(rocking_block(0.0), start, (0.0, 3.0), tolerances=tight)
    times = np.array([event.time for event in traj.events if event.impulses and not event.accumulated])
    ways = np.diff(times)
    ratio = 0.911764705882353  # omega+ / omega-
    k = int(np.argmin(ways > 1e-4))  # so low that the block is linear, so high that rounding is not seen
    assert ways[k + 1] / ways[k] == pytest.approx(ratio, abs=1e-6)
    event = limit_of(traj)
    assert event.time == pytest.approx(times[k + 1] + ways[k] * ratio / (1.0 - ratio), abs=LIMIT)
    assert traj.mode_at(3.0) == {"left": cs.Mode.STICK, "right": cs.Mode.STICK}
    x = 0.25 - 0.25 * np.cos(tilt) + np.sin(tilt)  # the left corner stands where it stood
    np.testing.assert_allclose(traj.final.q, [x, 0.0, 0.0], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "e"), [("hexapod", 0.3), ("solo12", 0.3)])
def test_robot_feet_that_bounce_come_to_rest(name: str, e: float) -> None:
    if name == "solo12":
        pytest.importorskip("contactsim_robots")
    built = scene.build(scene.parse(f'robot = {{name = "{name}"}}\n[contact]\nrestitution = {e}'))
    traj = cs.simulate(built.system, built.state, (0.0, 0.2))
    assert traj.status is cs.Status.FINISHED, traj.message
    assert any(event.accumulated for event in traj.events)
    traj.check()


def test_stop_at_the_limit_instead() -> None:
    traj = cs.simulate(bouncer(0.5), cs.State([1.0], [0.0]), (0.0, 3.0), accumulation="stop")
    assert traj.status is cs.Status.ACCUMULATION and not traj.status.complete
    assert traj.t[-1] == pytest.approx(3.0 * np.sqrt(2.0 / G), abs=LIMIT)
    assert "floor" in traj.message
    with pytest.raises(cs.InputError, match="give 'pass' or 'stop'"):
        cs.simulate(bouncer(0.5), cs.State([1.0], [0.0]), (0.0, 3.0), accumulation="go")  # type: ignore[arg-type]


def test_elastic_bounces_have_no_end() -> None:
    traj = cs.simulate(bouncer(1.0), cs.State([1e-3], [0.0]), (0.0, 1.0))
    assert traj.status is cs.Status.FINISHED and not any(event.accumulated for event in traj.events)
    assert len(traj.events) == int((1.0 + np.sqrt(2e-3 / G)) / (2 * np.sqrt(2e-3 / G)))


def dragged_ball(drag: float) -> cs.ContactSystem:
    """An elastic ball under gravity and a drag in proportion to its speed, per mass [1/s]."""
    gap = cs.Gap(lambda t, q: q[0], lambda t, q: np.ones(1), restitution=1.0, name="floor")
    return cs.ContactSystem(cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: -G - drag * v, [gap]))


def test_elastic_bounces_under_drag_multiply_and_the_run_says_so() -> None:
    """A hop at speed v takes 2 v / G and loses 2 drag v^2 / (3 G), so v falls as exp(-drag t / 3)."""
    drag, height = 10.0, 1e-4
    system, start = dragged_ball(drag), cs.State([height], [0.0])
    traj = cs.simulate(system, start, (0.0, 10.0), max_events=500)
    assert traj.status is cs.Status.TOO_MANY_EVENTS
    speeds = np.array([-event.x_pre[1] for event in traj.events])
    rates = np.diff(np.log(speeds)) / np.diff([event.time for event in traj.events])
    assert rates[-1] == pytest.approx(-drag / 3.0, rel=1e-2)
    reason = "'floor' is elastic (restitution 1), hops by 4e-07 m in 0.0006 s and so does not come to rest"
    assert reason in traj.message
    with_hop = cs.ContactSystem(system.robot, tolerances=cs.Tolerances(hop=1e-6))  # what the message advises
    traj = cs.simulate(with_hop, start, (0.0, 10.0), max_events=500)
    assert traj.status is cs.Status.FINISHED and traj.final.v[0] == 0.0


def test_too_many_events_of_other_kinds_have_no_such_reason() -> None:
    """Samples of a controller, without any contact; and many bounces that are not elastic."""
    idle = cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: np.zeros(1), [])
    sampled = cs.ContactSystem(idle, controller=cs.Sampled(lambda t, q, v: np.zeros(1), 0.01, 1))
    for system, start in ((sampled, cs.State([0.0], [0.0])), (bouncer(0.9), cs.State([1.0], [0.0]))):
        traj = cs.simulate(system, start, (0.0, 10.0), max_events=20)
        assert traj.status is cs.Status.TOO_MANY_EVENTS and "elastic" not in traj.message


def test_a_run_says_what_holds_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred hops take a tenth of this run; only a thousandth is dense otherwise."""
    monkeypatch.setattr(simulation, "DENSE", 0.5)
    run = cs.Simulation(dragged_ball(10.0), cs.State([1e-4], [0.0]))
    run.advance(0.01)
    assert run.held_up() is None
    run.advance(0.8)
    assert "'floor' is elastic" in (run.held_up() or "")


def test_limit_is_kept_in_the_file(tmp_path) -> None:
    system = bouncer(0.3)
    traj = cs.simulate(system, cs.State([0.1], [0.0]), (0.0, 0.5))
    back = cs.Trajectory.load(traj.save(tmp_path / "run.nc"), system=system)
    assert limit_of(back).accumulated == ("floor",)
    assert [event.accumulated for event in back.events] == [event.accumulated for event in traj.events]
    assert [arc.mode for arc in back.arcs] == [arc.mode for arc in traj.arcs]


def test_a_model_that_bounces_without_end_says_so() -> None:
    """A plain hybrid system has no contact to go on in: it stops, and says where."""
    traj = cs.simulate(Ball(0.5), [1.0, 0.0], (0.0, 2.0))
    assert traj.status is cs.Status.EVENTS_WITHOUT_END
    assert "ever smaller events in 'air' accumulate" in traj.message
    assert traj.t[-1] == pytest.approx(3.0 * np.sqrt(2.0 / G), abs=1e-5)


# --- hops that are followed one by one -----------------------------------------------------------------------------
class Hops:
    """Hops with given durations [s], each at half the speed of the one before until the speed stays."""

    def __init__(self, durations: list[float], speeds: list[float]) -> None:
        self.durations, self.speeds, self.count = durations, speeds, 0

    def speed(self) -> float:
        return self.speeds[min(self.count, len(self.speeds) - 1)]

    def next(self) -> float:
        self.count += 1
        return self.durations[min(self.count, len(self.durations)) - 1]

    def alike(self) -> None:
        """Contacts that no hop leaves as it found them."""


class Rest:
    smallest_speed = 1e-10


def followed(monkeypatch: pytest.MonkeyPatch, durations: list[float], speeds: list[float]) -> tuple[float | None, int]:
    """Time to rest by these hops, and how many of them were looked at."""
    hops = Hops([np.float64(duration) for duration in durations], speeds)
    monkeypatch.setattr(bounces, "_Hops", lambda *_: hops)
    found = bounces.time_to_rest(Rest(), 0.0, np.zeros(0), None, set())  # type: ignore[arg-type]
    return found, hops.count


def test_an_impact_that_goes_to_and_fro_without_time_is_not_followed_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    rest, count = followed(monkeypatch, [1e-5, 0.0], [5e-6, 3e-7])
    assert rest == 1e-5
    assert count <= bounces.STALLED + 1


def test_hops_that_never_become_slower_have_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert followed(monkeypatch, [0.0], [5e-6])[0] is None


@pytest.mark.filterwarnings("error")
def test_hops_that_take_time_only_later_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    left = 1e-5 / (1.0 - 1e-10 / 3e-7)  # of hops that go on like this
    assert followed(monkeypatch, [0.0, 1e-5], [5e-6, 3e-7, 1e-10])[0] == pytest.approx(left, rel=1e-14)


@pytest.mark.parametrize("rounding", [-1e-15, 1e-15])
def test_rounding_does_not_decide_how_long_slow_hops_take(rounding: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hops of ratio 0.3, one of which begins as fast as those that are not followed any more."""
    slow = bounces.SLOW * Rest.smallest_speed
    speeds = [slow / 0.3, slow * (1.0 + rounding), 0.3 * slow]
    durations = [1e-9, 3e-10]
    found, count = followed(monkeypatch, durations, speeds)
    assert count == (1 if rounding < 0.0 else 2)
    assert found == pytest.approx(1e-9 / 0.7, rel=1e-13)


# --- several contacts at once -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("inertia", [0.001, 0.01, 0.04, 0.1])
def test_two_corners_that_bounce_together_rest_at_their_closed_form(inertia: float, friction: float) -> None:
    """A flat drop from h: both corners hop alike, whatever one alone does to the other, until t_1 (1 + e)/(1 - e)."""
    height, e, half, low = 0.1, 0.5, 0.2, 0.1

    def corner(side: int) -> cs.Gap:
        def row(q: np.ndarray) -> np.ndarray:
            return np.array([0.0, 1.0, side * half * np.cos(q[2]) + low * np.sin(q[2])])

        return cs.Gap(
            lambda t, q: q[1] + side * half * np.sin(q[2]) - low * np.cos(q[2]),
            lambda t, q: row(q),
            lambda t, q: np.array([[1.0, 0.0, low * np.cos(q[2]) - side * half * np.sin(q[2])]]),
            friction=friction,
            restitution=e,
            name="left" if side < 0 else "right",
        )

    mechanism = cs.Mechanism(
        3, lambda q: np.diag([1.0, 1.0, inertia]), lambda t, q, v: np.array([0.0, -G, 0.0]), [corner(-1), corner(1)]
    )
    traj = cs.simulate(cs.ContactSystem(mechanism), cs.State([0.0, low + height, 0.0], [0.0, 0.0, 0.0]), (0.0, 0.5))
    limit = limit_of(traj)
    first = traj.events[0].x_post
    assert abs(half * first[5]) <= 4.0 * np.spacing(first[4]), "no more than rounding tilts it"
    assert limit.accumulated == ("left", "right")
    assert limit.time == pytest.approx(np.sqrt(2.0 * height / G) * (1.0 + e) / (1.0 - e), abs=5e-11)


def test_an_impact_like_one_before_begins_with_its_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Feet of a robot that throw each other up: the hops end when they did, and fewer modes are tried."""
    case, tried, solve_modes, land = landing("hexapod", 0), [0, 0], pivot.solve_modes, Resolution.land
    case = replace(case, system=case.system.on_engine("python"))

    def run(k: int) -> cs.Trajectory:
        def counted(*args, **options):  # type: ignore[no-untyped-def]
            tried[k] += 1
            return solve_modes(*args, **options)

        monkeypatch.setattr(pivot, "solve_modes", counted)
        return case.run(duration=0.0529)

    case.run(duration=0.0529)  # what a system prepares once is not counted
    known = run(0)
    monkeypatch.setattr(Resolution, "land", lambda self, *args: land(self, *args[:5]))
    anew = run(1)
    assert any(event.accumulated for event in known.events)
    np.testing.assert_allclose(known.final_x, anew.final_x, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose([e.time for e in known.events], [e.time for e in anew.events], rtol=0.0, atol=1e-14)
    assert tried[0] < tried[1]
