"""Closed loops: against equations of one angle, the full equations with all multipliers, and finite differences."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import tolerances as tol
from linkages import (
    COUPLER,
    DATA,
    GROUND,
    PIN,
    Reduced,
    above_ground,
    five_bar_leg,
    four_bar,
    four_bar_angles,
    four_bar_reduced,
    one_angle,
    slider_crank,
    slider_crank_reduced,
)

import contactsim as cs
from contactsim.hybrid.differences import tangent_derivative
from contactsim.io import scene
from contactsim.multibody.kinematics.closed_loops import ClosedMechanism
from contactsim.multibody.mechanism import ContactMechanism

Array = np.ndarray

TIGHT = cs.Tolerances(rtol=1e-11, atol=1e-12)
TIGHTEST = cs.Tolerances(rtol=1e-12, atol=1e-13)
ANGLE = 1e-8  # rad and rad/s, after one second against the equation of one angle
SHUT = 1e-9  # m, opening of a loop in a run
KKT = 1e-9  # accelerations, forces and impulses against the full equations, relative to the largest
BALANCE = 1e-10  # N s, momentum of one impact
FIELD = 1e-8  # relative, derivative of a field against differences of fourth order
RUN = 1e-6  # relative, derivative of a run against differences of runs
DRIFT = 1e-7  # relative, energy of a swinging linkage
STEPS = (1e-4, 3e-5)  # of the differences of runs

FAST = [5.0, 0.0, 0.0]


def swinging() -> tuple[cs.ContactSystem, cs.State]:
    system = four_bar()
    return system, system.close([-1.0, 0.8, -2.0], FAST)


# --- motion -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "reduced", "guess"),
    [(four_bar, four_bar_reduced, [-1.0, 0.8, -2.0]), (slider_crank, slider_crank_reduced, [0.5, -0.7, 0.5])],
)
def test_linkages_follow_their_one_angle(
    make: Callable[..., cs.ContactSystem], reduced: Reduced, guess: list[float]
) -> None:
    system = make()
    start = system.close(guess, FAST)
    traj = cs.simulate(system, start, (0.0, 1.0), tolerances=TIGHT)
    expected = one_angle(reduced, start.q[0], start.v[0], 1.0)
    np.testing.assert_allclose([traj.final.q[0], traj.final.v[0]], expected, rtol=0, atol=ANGLE)
    report = traj.check()
    assert report["opening of loops [m]"] < SHUT
    assert not traj.events


def test_the_equality_of_an_mjcf_file_closes_the_same_linkage() -> None:
    robot = cs.Robot.from_mjcf(DATA / "four_bar.xml", contacts=[])
    (loop,) = robot.loops
    assert (loop.frame_a, loop.frame_b, loop.kind) == ("coupler", "rocker", "point")
    np.testing.assert_allclose(loop.offset_a, PIN.offset_a, atol=1e-15)
    system, (other, start) = cs.ContactSystem(robot), swinging()
    b, c = four_bar_angles(0.0)
    zero = np.array([0.0, b, c])  # where the file has its angles zero
    mine = cs.simulate(system, (start.q - zero, start.v), (0.0, 1.0), tolerances=TIGHT)
    theirs = cs.simulate(other, start, (0.0, 1.0), tolerances=TIGHT)
    np.testing.assert_allclose(mine.final.q + zero, theirs.final.q, atol=ANGLE)
    np.testing.assert_allclose(mine.final.v, theirs.final.v, atol=ANGLE)


def test_weld_of_an_mjcf_file(tmp_path: Path) -> None:
    """Coupler and rocker become one: a truss, which stands, but not where its pins lie in one line."""
    text = (DATA / "four_bar.xml").read_text().replace("connect", "weld").replace('anchor="0.5 0 0"', "")
    path = tmp_path / "weld.xml"
    path.write_text(text.replace('name="crank" pos="0 0 0"', 'name="crank" pos="0 0 0" euler="0 -0.7 0"'))
    robot = cs.Robot.from_mjcf(path, contacts=[])
    assert [loop.kind for loop in robot.loops] == ["pose"]
    traj = cs.simulate(cs.ContactSystem(robot), (np.zeros(3), np.zeros(3)), (0.0, 0.5))
    np.testing.assert_allclose(traj.final.q, 0.0, atol=1e-9)
    path.write_text(text)
    with pytest.raises(cs.InputError, match="starts in a singular position"):
        cs.simulate(cs.ContactSystem(cs.Robot.from_mjcf(path, contacts=[])), (np.zeros(3), np.zeros(3)), (0.0, 0.5))


def test_an_equality_between_joints_that_is_not_linear_is_said_to_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "gear.xml"
    gear = '<joint joint1="crank_pin" joint2="knee" polycoef="0 1 2 0 0"/></equality>'
    path.write_text((DATA / "four_bar.xml").read_text().replace("</equality>", gear))
    with pytest.warns(UserWarning, match=r"gear.xml: not simulated are equality 'joint' \(line \d+\)"):
        assert len(cs.Robot.from_mjcf(path, contacts=[]).loops) == 1


def test_a_run_resumed_from_its_file_goes_on_to_the_bit(tmp_path: Path) -> None:
    system, start = swinging()
    whole, part = cs.Simulation(system, start), cs.Simulation(system, start)
    whole.advance_to(0.4)
    part.advance_to(0.2)
    again = cs.Simulation.resume(cs.Trajectory.load(part.trajectory.save(tmp_path / "run.nc")))
    again.advance_to(0.4)
    assert np.array_equal(again.state.q, whole.state.q) and np.array_equal(again.state.v, whole.state.v)


def test_a_periodic_swing_of_a_linkage() -> None:
    """Multipliers: 1 twice, along the orbit and its family, and 0 for what would open the loop."""
    system = slider_crank()
    orbit = cs.find_periodic_orbit(system, system.close([1.0, -1.3, 0.4]), 1.25)
    np.testing.assert_allclose(np.abs(orbit.multipliers), [1, 1, 0, 0, 0, 0], atol=1e-6)


@pytest.mark.slow
def test_a_hundred_seconds_of_a_four_bar() -> None:
    system, start = swinging()
    traj = cs.simulate(system, start, (0.0, 100.0))
    energies = [system.mechanism.energy(q, v) for q, v in zip(traj.q, traj.v, strict=True)]
    assert np.ptp(energies) < DRIFT * abs(energies[0])
    assert max(system.mechanism.loops.openings(q)["pin"] for q in traj.q) < SHUT
    assert max(np.abs(system.mechanism.loops.rows(q) @ v).max() for q, v in zip(traj.q, traj.v, strict=True)) < SHUT


def test_loops_that_say_the_same_share_their_forces() -> None:
    system, start = swinging()
    twice = cs.ContactSystem(system.robot, loops=[PIN, replace(PIN, name="second")])
    one, two = (cs.simulate(made, start, (0.0, 0.3)) for made in (system, twice))
    np.testing.assert_allclose(two.final.q, one.final.q, atol=ANGLE)
    half = one.loop_forces(0.2)["pin"] / 2
    for force in two.loop_forces(0.2).values():
        np.testing.assert_allclose(force, half, atol=1e-5)


def bennett(length: float = 0.3, twist: float = 0.5, other: float = 0.4) -> tuple[cs.ContactSystem, cs.State]:
    """Bennett's linkage: four hinges in space that can move only since sin(twist) / length is the same for all."""
    second = np.arcsin(other / length * np.sin(twist))
    model, place, parent = pin.Model(), pin.SE3.Identity(), 0
    for k, (bar, angle) in enumerate(((length, twist), (other, second), (length, twist))):
        parent = model.addJoint(parent, pin.JointModelRZ(), place, f"hinge{k}")
        model.appendBodyToJoint(
            parent, pin.Inertia(1.0, np.array([bar / 2, 0.02, 0.03]), 0.01 * np.eye(3)), pin.SE3.Identity()
        )
        model.addFrame(pin.Frame(f"bar{k}", parent, 0, pin.SE3.Identity(), pin.FrameType.BODY))
        place = pin.SE3(pin.exp3(np.array([angle, 0.0, 0.0])), np.array([bar, 0.0, 0.0]))
    # the last hinge: its axis on the third bar, and on the base, from which the fourth bar leads to the first hinge
    fourth = np.array([np.cos(2.0), np.sin(2.0), 0.0])  # where that bar lies is free to choose
    axis = pin.exp3(-second * fourth)  # turns z about the bar, from the first hinge back to the last one
    loop = cs.LoopClosure(
        "bar2", "universe", tuple(place.translation), tuple(-other * fourth),
        tuple(pin.log3(place.rotation)), tuple(pin.log3(axis)), kind="hinge", name="last",
    )  # fmt: skip
    system = cs.ContactSystem(cs.Robot(model, []), loops=[loop])
    # tan(t1 / 2) tan(t2 / 2) = sin((b + a) / 2) / sin((b - a) / 2), t3 = -t1 for the angles between the bars
    first = 1.1
    ratio = np.sin((second + twist) / 2) / np.sin((second - twist) / 2)
    between = 2 * np.arctan(ratio / np.tan(first / 2))
    guess = np.array([2.0 + first, between, first])
    return system, system.close(guess, np.array([2.0, 0.0, 0.0]))


def test_a_linkage_that_is_closed_more_than_once_over() -> None:
    """Six equations of rank two for three angles: off the closed positions, trial steps see rank three."""
    system, start = bennett()
    assert system.admissible(start).shape == (6, 2)
    traj = cs.simulate(system, start, (0.0, 1.0))
    report = traj.check()
    assert report["opening of loops [m]"] < SHUT
    assert np.abs(traj.final.q - start.q).max() > 0.3


# --- the full equations -----------------------------------------------------------------------------------------
def full_equations(system: cs.ContactSystem, state: cs.State, feet: bool) -> tuple[Array, Array, Array, Array]:
    """Of the five-bar leg by pinocchio: M, h, rows of pin and (sticking) foot stacked, and their drift."""
    model = system.robot.model
    data = model.createData()
    q, v = state.q, state.v
    pin.computeAllTerms(model, data, q, v)
    pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
    tip = pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.3]))
    rows, drift = [], []
    for name in ("front_shank", "rear_shank"):
        frame = model.getFrameId(name)
        rows.append(pin.getFrameJacobian(model, data, model.frames[frame].parentJoint, tip, pin.LOCAL_WORLD_ALIGNED))
        classical = pin.getFrameClassicalAcceleration(
            model, data, model.frames[frame].parentJoint, tip, pin.LOCAL_WORLD_ALIGNED
        )
        drift.append(classical.linear)
    plane = [0, 2]
    blocks = [(rows[0] - rows[1])[plane], *([rows[0][plane]] if feet else [])]
    drifts = [(drift[0] - drift[1])[plane], *([drift[0][plane]] if feet else [])]
    mass = np.triu(data.M) + np.triu(data.M, 1).T
    return mass, data.nle.copy(), np.vstack(blocks), np.concatenate(drifts)


def multipliers(mass: Array, rows: Array, force: Array, motion: Array) -> tuple[Array, Array]:
    """x and lam of M x = force + C^T lam, C x = motion."""
    n, m = mass.shape[0], len(rows)
    found = np.linalg.solve(np.block([[mass, -rows.T], [rows, np.zeros((m, m))]]), np.concatenate([force, motion]))
    return found[:n], found[n:]


def test_an_impact_of_a_closed_leg_obeys_the_full_equations_and_momentum() -> None:
    system = five_bar_leg()
    (event,) = cs.simulate(system, above_ground(system), (0.0, 0.1), tolerances=TIGHT).events
    assert event.contacts == ("foot",) and event.constraints == ("loop:foot_pin",)
    before, after = event.state_pre, event.state_post
    mass, _, rows, _ = full_equations(system, before, feet=True)
    jump, impulses = multipliers(mass, rows, np.zeros(7), np.concatenate([[0, 0], -rows[2:] @ before.v]))
    scale = np.abs(jump).max()
    np.testing.assert_allclose(after.v - before.v, jump, rtol=0, atol=KKT * scale)
    np.testing.assert_allclose(event.impulses["loop:foot_pin"][[0, 2]], impulses[:2], rtol=0, atol=KKT)
    np.testing.assert_allclose(event.impulses["foot"][[0, 2]], impulses[2:], rtol=0, atol=KKT)
    model, data = system.robot.model, system.robot.model.createData()
    gained = -pin.computeCentroidalMomentum(model, data, before.q, before.v).linear
    gained = gained + pin.computeCentroidalMomentum(model, data, after.q, after.v).linear
    np.testing.assert_allclose(gained, event.impulses["foot"], rtol=0, atol=BALANCE)


def test_forces_of_a_standing_closed_leg_obey_the_full_equations() -> None:
    system = five_bar_leg()
    traj = cs.simulate(system, above_ground(system), (0.0, 0.2), tolerances=TIGHT)
    assert traj.mode_at(0.15) == {"foot": cs.Mode.STICK}
    state, t = traj(0.15), 0.15
    mass, bias, rows, drift = full_equations(system, state, feet=True)
    torque = system.controller.torque(t, state.q, state.v, state.z)
    acceleration, forces = multipliers(mass, rows, torque - bias, -drift)
    np.testing.assert_allclose(traj.loop_forces(t)["foot_pin"][[0, 2]], forces[:2], rtol=0, atol=1e-7)
    np.testing.assert_allclose(traj.forces(t)["foot"][[0, 2]], forces[2:], rtol=0, atol=1e-7)
    x = np.concatenate([state.q, state.v])
    field = system.flow(traj.arc_at(t).mode).field(t, x)
    np.testing.assert_allclose(field[7:], acceleration, rtol=0, atol=KKT * np.abs(acceleration).max())
    traj.check()


def test_kinds_of_closures_differ_in_what_they_leave_free() -> None:
    """Two free bars, held at a point, a hinge or welded: 12 velocities less 3, 5 and 6."""
    model = pin.Model()
    for name in ("a", "b"):
        joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), f"{name}_root")
        model.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), 0.1 * np.eye(3)), pin.SE3.Identity())
        model.addFrame(pin.Frame(name, joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    robot, rng = cs.Robot(model, []), np.random.default_rng(3)
    q, v = robot.space.integrate(pin.neutral(model), 0.3 * rng.normal(size=12)), rng.normal(size=12)
    for kind, left, size in (("point", 9, 3), ("hinge", 7, 6), ("pose", 6, 6)):
        loop = cs.LoopClosure("a", "b", (0.2, 0, 0), (0, -0.3, 0), (0.1, 0.2, 0), kind=kind, name="joint")
        system = cs.ContactSystem(robot, loops=[loop])
        start = system.close(q, v)
        assert system.admissible(start).shape == (24, 2 * left)
        traj = cs.simulate(system, start, (0.0, 0.5))
        assert traj.check()["opening of loops [m]"] < SHUT
        assert traj.loop_forces(0.3)["joint"].shape == (size,)
        data, momenta = model.createData(), []
        for state in (traj(0.0), traj(0.5)):
            pin.computeCentroidalMomentum(model, data, state.q, state.v)
            momenta.append(np.concatenate([data.hg.linear, data.hg.angular]))
        fall = np.array([0, 0, -2.0 * 9.81 * 0.5, 0, 0, 0])
        np.testing.assert_allclose(momenta[1] - momenta[0], fall, rtol=0, atol=1e-7)


# --- derivatives ------------------------------------------------------------------------------------------------
def test_derivatives_of_the_terms_against_differences() -> None:
    """In all directions but those of q in which a loop opens, where both are extensions."""
    system = five_bar_leg("free_flyer")
    start, rng = above_ground(system), np.random.default_rng(5)
    state = system.close(start.q, rng.normal(size=system.nv))
    mechanism, closed = system.mechanism, (0,)
    mechanism.begin(state.q, state.v)  # an open loop has another rank: the base may turn about its opening
    forces, a = rng.normal(size=3), rng.normal(size=system.nv)
    hold = mechanism.hold(state.q)
    a = a - hold.lift @ (hold.rows @ a + mechanism.loops.motion(state.q, state.v)[1])
    free = np.eye(system.nv) - hold.lift @ hold.rows
    exact = mechanism.term_derivatives(0.0, state.q, state.v, a, closed, forces)
    differenced = ContactMechanism.term_derivatives(mechanism, 0.0, state.q, state.v, a, closed, forces)
    terms = mechanism.terms(0.0, state.q, state.v, closed)
    for name in ("residual_v", "motion_v", "rates_q", "motion_q"):
        mine, theirs = getattr(exact, name), getattr(differenced, name)
        np.testing.assert_allclose(mine @ free, theirs @ free, rtol=0, atol=FIELD * max(1.0, np.abs(theirs).max()))
    applied = terms.mass @ a - terms.force - terms.rows.T @ forces  # what would have to be applied for this a
    held = mechanism.admissible_force_jacobian(state.q, applied, np.zeros((system.nv, 2 * system.nv)))
    moved = tangent_derivative(lambda q: mechanism.admissible_force(q, applied), system.mechanism.space, state.q, 1e-3)
    mine = exact.residual_q - held[:, : system.nv]
    theirs = differenced.residual_q - moved
    np.testing.assert_allclose(mine @ free, theirs @ free, rtol=0, atol=FIELD * np.abs(theirs).max())


def test_derivatives_without_those_of_pinocchio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a joint has none, all terms are differenced: field and impact of a leg in touch-down."""
    system = five_bar_leg()
    traj = cs.simulate(system, above_ground(system), (0.0, 0.1))
    arc, (event,) = traj.arcs[-1], traj.events
    x, basis = arc(arc.t0), system.admissible(system.state(arc(arc.t0)))
    before = system.admissible(event.state_pre)

    def matrices() -> tuple[Array, Array]:
        return system.flow(arc.mode).jacobian(arc.t0, x) @ basis, cs.linearize(traj).events[0].saltation @ before

    exact = matrices()
    monkeypatch.setattr(system.mechanism.loops, "_derivatives", None)
    assert not system.mechanism.loops.analytic
    for mine, theirs in zip(exact, matrices(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=FIELD * np.abs(mine).max())


def errors_of(system: cs.ContactSystem, start: cs.State, end: float, directions: list[Array]) -> list[float]:
    """Relative errors of a run's derivative, against fourth-order differences of runs from closed states."""
    traj = cs.simulate(system, start, (0.0, end), tolerances=TIGHT)
    lin = cs.linearize(traj, tolerances=cs.Tolerances(rtol=1e-10, atol=1e-12))
    space, x, last = system.space(), system.pack(start), system.pack(traj.final)

    def at(step: float) -> Array:
        moved = system.state(space.integrate(x, step * direction))
        run = cs.simulate(system, system.close(moved.q, moved.v), (0.0, end), tolerances=TIGHTEST)
        return space.difference(last, system.pack(run.final))

    found = []
    for direction in directions:
        exact, best = lin(direction), np.inf
        for h in STEPS:
            difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
            best = min(best, float(np.abs(difference - exact).max() / np.abs(difference).max()))
            if best < RUN:
                break
        found.append(best)
    return found


def directions(system: cs.ContactSystem, start: cs.State, seed: int) -> list[Array]:
    """A direction that keeps the loops closed, and one that does not: its run starts from the nearest closed state."""
    rng, basis = np.random.default_rng(seed), system.admissible(start)
    found = [basis @ rng.normal(size=basis.shape[1]), rng.normal(size=len(basis))]
    return [direction / np.linalg.norm(direction) for direction in found]


def test_derivative_of_a_linkage() -> None:
    system, start = swinging()
    assert max(errors_of(system, start, 0.2, directions(system, start, 1))) < RUN


def test_derivative_of_a_closed_leg_by_a_mass() -> None:
    """Through touch-down; the start of a run is closed under any mass."""
    system, name, h = five_bar_leg(), "body.rear_shank.mass", 1e-4
    start = above_ground(system)
    run = cs.simulate(system, start, (0.0, 0.1), tolerances=TIGHT)
    ends = [
        cs.simulate(system.with_parameter(name, 0.2 + d), start, (0.0, 0.1), tolerances=TIGHTEST).final for d in (-h, h)
    ]
    difference = np.concatenate([ends[1].q - ends[0].q, ends[1].v - ends[0].v]) / (2 * h)
    exact = cs.linearize(run).parameter(name)
    np.testing.assert_allclose(exact, difference, rtol=0, atol=1e-5 * np.abs(exact).max())


def test_derivative_through_touch_down() -> None:
    system = five_bar_leg()
    start = above_ground(system)
    assert max(errors_of(system, start, 0.1, directions(system, start, 2))) < RUN


@pytest.mark.slow
def test_derivative_through_slip_stick_and_lift_off() -> None:
    system = five_bar_leg(friction=0.1)
    start = above_ground(system, speed=1.0)
    events = cs.simulate(system, start, (0.0, 0.25)).events
    modes = [event.transitions["foot"][1] for event in events]
    assert modes == [cs.Mode.SLIP, cs.Mode.STICK, cs.Mode.SLIP, cs.Mode.OPEN]
    assert max(errors_of(system, start, 0.25, directions(system, start, 3)[:1])) < RUN


def test_derivative_in_space() -> None:
    system = five_bar_leg("free_flyer", restitution=0.4)
    start = above_ground(system)
    assert max(errors_of(system, start, 0.092, directions(system, start, 4)[:1])) < RUN


def test_derivative_through_a_limit_of_a_loop_by_its_restitution() -> None:
    """The rocker of a four-bar bounces off its limit."""
    model = pin.buildModelFromUrdf(str(DATA / "four_bar.urdf"))
    model.lowerPositionLimit[2] = -1.8
    system = cs.ContactSystem(cs.Robot(model, []), loops=[PIN]).with_parameter("limit.restitution", 0.6)
    start = system.close([-1.0, 0.8, -2.0], [-6.0, 0.0, 0.0])
    traj = cs.simulate(system, start, (0.0, 0.2), tolerances=TIGHT)
    (event,) = traj.events
    assert set(event.constraints) == {"limit:rocker_pin/lower", "loop:pin"}
    assert event.state_post.v[2] == pytest.approx(-0.6 * event.state_pre.v[2], abs=1e-10)
    assert max(errors_of(system, start, 0.2, directions(system, start, 6)[:1])) < RUN
    name, h = "limit.rocker_pin/lower.restitution", 1e-4
    ends = [
        cs.simulate(system.with_parameter(name, 0.6 + d), start, (0.0, 0.2), tolerances=TIGHT).final for d in (-h, h)
    ]
    difference = np.concatenate([ends[1].q - ends[0].q, ends[1].v - ends[0].v]) / (2 * h)
    np.testing.assert_allclose(cs.linearize(traj).parameter(name), difference, rtol=1e-5, atol=1e-7)


def test_compliant_law_with_a_loop() -> None:
    system = five_bar_leg(law="spring-damper")
    start = above_ground(system, height=0.465)
    traj = cs.simulate(system, start, (0.0, 0.03))
    assert [event.contacts for event in traj.events] == [("foot",)]
    assert traj.check()["opening of loops [m]"] < SHUT
    arc = traj.arcs[-1]
    flow, x, t = system.flow(arc.mode), arc(arc.t1), arc.t1
    exact = flow.jacobian(t, x)
    differenced = tangent_derivative(lambda y: flow.field(t, y), system.space(), x, 1e-5)
    basis = system.admissible(system.state(x))
    np.testing.assert_allclose(exact @ basis, differenced @ basis, rtol=0, atol=1e-6 * np.abs(exact).max())


# --- start, files, and what is refused --------------------------------------------------------------------------
def test_an_open_loop_is_refused_with_its_remedy() -> None:
    system, start = swinging()
    with pytest.raises(cs.InputError, match=r"'pin' is open by 0\.\d+ m at the start; start from system\.close"):
        cs.simulate(system, ([0.3, -0.5, -1.0], np.zeros(3)), (0.0, 1.0))
    with pytest.raises(cs.InputError, match=r"'pin' opens with 0\.196 m/s at the start"):
        cs.simulate(system, (start.q, [0.0, 0.0, 0.5]), (0.0, 1.0))
    far = cs.LoopClosure("coupler", "rocker", (5.0, 0, 0), name="far")
    with pytest.raises(cs.InputError, match=r"'far' cannot be closed .* m are left"):
        four_bar(far).close(np.zeros(3))


def test_closing_finds_the_nearest_state_also_from_a_straight_line() -> None:
    system = four_bar()
    rng = np.random.default_rng(0)
    _, closed = swinging()
    for q in (np.zeros(3), closed.q + 1e-3 * rng.normal(size=3)):
        state = system.close(q, rng.normal(size=3))
        assert system.mechanism.loops.openings(state.q)["pin"] < 1e-14
        assert np.abs(system.mechanism.loops.rows(state.q) @ state.v).max() < 1e-13
        again = system.close(state.q, state.v)
        np.testing.assert_allclose([again.q, again.v], [state.q, state.v], atol=1e-13)
    near = system.close(closed.q + 1e-3 * rng.normal(size=3)).q
    assert np.abs(near - closed.q).max() < 2e-2


def test_a_singular_position_is_refused() -> None:
    """A parallelogram whose bars lie in one line may go on as one, or crossed."""
    flat = cs.LoopClosure("coupler", "rocker", (GROUND, 0.0, 0.0), (0.2, 0.0, 0.0), name="flat")
    with pytest.raises(cs.InputError, match="'flat' starts in a singular position"):
        cs.simulate(four_bar(flat), (np.zeros(3), np.zeros(3)), (0.0, 0.1))


def test_a_loop_that_cannot_be_kept_closed_is_named() -> None:
    """All bars in one line, and the pin open along it: no motion closes it."""
    long = cs.LoopClosure("coupler", "rocker", (GROUND + 1e-6, 0.0, 0.0), (0.2, 0.0, 0.0), name="long")
    with pytest.raises(cs.SimulationError, match="'long' came to a singular position, in which it cannot be kept"):
        four_bar(long).world.on_loops(np.zeros(6))


def test_bounces_of_a_closed_leg_come_to_rest_and_are_differentiated() -> None:
    system = five_bar_leg(restitution=0.3)
    start = above_ground(system)
    traj = cs.simulate(system, start, (0.0, 0.12))
    assert len(traj.events) > 5 and traj.mode_at(0.12) == {"foot": cs.Mode.STICK}
    traj.check()
    assert max(errors_of(system, start, 0.12, directions(system, start, 3)[:1])) < RUN


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"kind": "ball"}, "is 'ball'; give 'point' or 'hinge' or 'pose'"),
        ({"offset_a": (0, 0)}, "offset_a .* give 3 finite numbers"),
        ({"rotation_b": (0, 0, np.nan)}, "rotation_b .* give 3 finite numbers"),
    ],
)
def test_bad_closures_are_refused(given: dict, sentence: str) -> None:
    with pytest.raises(cs.InputError, match=sentence):
        cs.LoopClosure("coupler", "rocker", **given)


def test_loops_that_cannot_be_are_refused() -> None:
    with pytest.raises(cs.InputError, match="the model has no frame 'copler'; similar ones are coupler"):
        four_bar(cs.LoopClosure("copler", "rocker"))
    with pytest.raises(cs.InputError, match="loop name 'pin' is used twice"):
        cs.ContactSystem(four_bar().robot, loops=[PIN, PIN])
    with pytest.raises(cs.InputError, match=r"loops is .* give LoopClosure or JointCoupling objects"):
        cs.ContactSystem(four_bar().robot, loops=["pin"])
    pendulum = cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: -np.sin(q))
    with pytest.raises(cs.InputError, match="a Mechanism has no bodies whose loops could be closed"):
        cs.ContactSystem(pendulum, loops=[PIN])


def test_another_law_leaves_the_loops_closed() -> None:
    system = five_bar_leg()
    other = system.with_law("spring-damper")
    assert other.loops == system.loops
    start = other.carried(above_ground(system))
    traj = cs.simulate(other, start, (0.0, 0.02))
    assert max(other.mechanism.loops.openings(traj.final.q).values()) < 1e-9


def test_a_stored_run_has_its_loops(tmp_path: Path) -> None:
    system = five_bar_leg()
    traj = cs.simulate(system, above_ground(system), (0.0, 0.1))
    loaded = cs.Trajectory.load(traj.save(tmp_path / "run.nc"))
    assert loaded.system.loops == system.loops
    assert loaded.events[0].constraints == ("loop:foot_pin",)
    np.testing.assert_allclose(
        loaded.events[0].impulses["loop:foot_pin"], traj.events[0].impulses["loop:foot_pin"], atol=tol.STORED
    )
    again = cs.Trajectory.load(tmp_path / "run.nc", system=system)
    np.testing.assert_allclose(again.loop_forces(0.05)["foot_pin"], traj.loop_forces(0.05)["foot_pin"], atol=1e-9)


SCENE = f"""
[robot]
file = "{DATA / "four_bar.urdf"}"
root = "fixed"
[[loop]]
frame_a = "coupler"
frame_b = "rocker"
offset_a = [{COUPLER}, 0, 0]
offset_b = [0.4, 0, 0]
name = "pin"
[start]
q = [-1.0, 0.8, -2.0]
v = [5.0, 0.0, 0.0]
close = true
"""


def test_scene_with_a_loop() -> None:
    _, start = swinging()
    for text in (SCENE, scene.parse(SCENE).text()):
        built = scene.build(scene.parse(text))
        assert built.system.loops == (PIN,)
        np.testing.assert_allclose([built.state.q, built.state.v], [start.q, start.v], atol=1e-13)
    with pytest.raises(cs.InputError, match="is open by"):
        built = scene.build(scene.parse(SCENE.replace("close = true", "")))
        cs.simulate(built.system, built.state, (0.0, 0.1))
    with pytest.raises(cs.InputError, match="kind"):
        scene.parse(SCENE.replace('name = "pin"', 'kind = "rope"'))


def test_the_inputs_of_a_linkage_move_it_along_its_loop() -> None:
    """D_u f of the crank's torque is that of one angle: 1 / I along the motion."""
    system, start = swinging()
    traj = cs.simulate(system, start, (0.0, 0.1))
    matrix = system.flow(traj.arcs[0].mode).input_matrix(0.0, system.pack(start))
    inertia, _, _ = four_bar_reduced(start.q[0])
    assert matrix[3, 0] == pytest.approx(1.0 / inertia, rel=1e-9)
    np.testing.assert_allclose(matrix[3:, 0] / matrix[3, 0], start.v / start.v[0], rtol=1e-9)


def test_the_closed_mechanism_speaks_for_all_of_the_open_one() -> None:
    """A method that mechanisms get later has to be passed on here as well."""
    line = ClosedMechanism.__mro__
    ends = line.index(ContactMechanism)
    every = (item for kind in line[ends:-1] for item in vars(kind).items())
    public = {name for name, value in every if inspect.isfunction(value) and not name.startswith("_")}
    passed_on = {name for kind in line[:ends] for name in vars(kind)}
    assert public - passed_on <= {"shortcut", "prepared", "rates", "gap_gradient"}  # none at all, and of its own terms


def test_loops_of_the_parts_of_a_world() -> None:
    """Two four-bars side by side, one of them turned, move as each does alone."""
    system = four_bar()
    robot = cs.Robot(system.robot.model, loops=system.loops)
    alone = cs.ContactSystem(robot)
    turned = pin.SE3(pin.exp3(np.array([0.0, 0.0, 0.5])), np.array([3.0, 0.0, 0.0]))
    world = cs.Robot.merge([robot, robot], ["one", "two"], placements=[(0.0, 0.0, 0.0), turned])
    assert [loop.name.split("/")[0] for loop in world.loops] == ["one", "two"]
    start = alone.close(robot.nominal, np.zeros(alone.nv))
    both = cs.ContactSystem(world)
    single = cs.simulate(alone, start, (0.0, 0.3))
    double = cs.simulate(both, both.close(np.tile(start.q, 2), np.tile(start.v, 2)), (0.0, 0.3))
    np.testing.assert_allclose(double.final.q, np.tile(single.final.q, 2), atol=1e-8)
