"""Arcs whose contacts are redundant, on the compiled engine against Python; skipped where it is not installed."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from planar_legs import planar_legs, rolled
from random_scenes import scene

import contactsim as cs
from contactsim.contact.modes import ContactState, Mode, Phase, SystemMode
from contactsim.contact_dynamics.rigid_arc import References, accelerations, prepare
from contactsim.contact_dynamics.rigid_flow import RigidFlow
from contactsim.hybrid.stepper import Stepper

pytest.importorskip("contactsim_native._native")

SAME = 1e-9  # of accelerations and forces, relative to the largest: those of a singular system
FLAT = 1e-5  # of forces whose margin is the largest: it is flat there, and known to 1e-12
STATES = 1e-7  # of runs at rtol 1e-8
DERIVATIVES = 1e-7  # of those, relative to the largest number


def box(height: float, friction: float = 0.4) -> cs.Robot:
    """A box on its four corners, its centre so far above them."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    model.appendBodyToJoint(joint, pin.Inertia(2.0, np.zeros(3), np.diag([0.02, 0.03, 0.04])), pin.SE3.Identity())
    model.addFrame(pin.Frame("box", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    corners = [(0.2 * a, 0.1 * b, -height) for a in (1, -1) for b in (1, -1)]
    points = [cs.ContactPoint("box", at, friction=friction, name=f"corner{k}") for k, at in enumerate(corners)]
    return cs.Robot(model, contacts=points)


def mode_of(kinds: str) -> SystemMode:
    """A redundant mode of the box: s for a corner that sticks, d for one that slips."""
    states = {"s": ContactState(Mode.STICK), "d": ContactState(Mode.SLIP, Phase.FREE)}
    return SystemMode(tuple(states[kind] for kind in kinds), redundant=True)


@pytest.mark.parametrize(("kinds", "forces"), [("ssss", SAME), ("dddd", SAME), ("sdsd", FLAT), ("sddd", SAME)])
def test_the_motion_of_redundant_contacts_is_that_of_python(kinds: str, forces: float) -> None:
    """Where the smallest forces leave their cones, too, in one way that they may change and in two."""
    made, rng, compared = cs.ContactSystem(box(0.1)), np.random.default_rng(2), 0
    systems = [made.on_engine(kind) for kind in ("native", "python")]
    for _ in range(60):
        q = np.r_[rng.normal(size=2), 0.1, 0.0, 0.0, 0.0, 1.0]
        x = np.r_[q, rng.normal(size=2), 0.0, 0.0, 0.0, rng.normal()]
        slips = {i: (1.0, 0.0) for i, kind in enumerate(kinds) if kind == "d"}
        found = []
        for system in systems:
            arc = prepare(system.world, mode_of(kinds))
            found.append(accelerations(arc, 0.0, x, References(slips)))
        assert prepare(systems[0].world, mode_of(kinds)).compiled is not None
        one, other = found
        size = np.abs(other.forces).max()
        assert np.abs(one.acceleration - other.acceleration).max() < SAME * max(np.abs(other.acceleration).max(), 1.0)
        assert np.abs(one.forces - other.forces).max() < forces * size
        assert abs(one.margin - other.margin) < SAME * size
        compared += one.others is not None
    assert compared >= 40  # in C++


@pytest.mark.parametrize(("kinds", "most"), [("bbbb", SAME), ("bsbs", FLAT)])
def test_slips_that_begin_redundantly_are_those_of_python(kinds: str, most: float) -> None:
    """Under the smallest forces, where these keep to their cones, a slip begins along its own acceleration."""
    rng, compared = np.random.default_rng(6), 0
    states = {"s": ContactState(Mode.STICK), "b": ContactState(Mode.SLIP, Phase.INCIPIENT, (1.0, 0.0))}
    mode, x = SystemMode(tuple(states[kind] for kind in kinds), redundant=True), np.zeros(13)
    x[[2, 6]] = 0.1, 1.0
    for _ in range(40):
        push = np.r_[15.0 * rng.normal(size=2), 0.0, 0.0, 0.0, 2.0 * rng.normal()]
        made = cs.ContactSystem(box(0.02), controller=lambda t, q, v, push=push: push)
        arcs = [prepare(made.on_engine(kind).world, mode) for kind in ("native", "python")]
        begun = {i: np.array([1.0, 0.0]) for i, kind in enumerate(kinds) if kind == "b"}
        one, other = (accelerations(arc, 0.0, x, References({}, begun)) for arc in arcs)
        if one.others is None:
            continue  # Python has told of both
        compared += 1
        assert one.loose == other.loose == frozenset(range(4))
        size = max(np.abs(other.acceleration).max(), 1.0)
        assert np.abs(one.acceleration - other.acceleration).max() < most * size
        for i in begun:
            assert np.abs(one.found[i] - other.found[i]).max() < 1e-7
    assert compared >= 10  # in C++


@pytest.mark.parametrize(("kinds", "compiled"), [("ssss", 60), ("dddd", 40)])
def test_the_guard_of_all_forces_is_that_of_python(kinds: str, compiled: int) -> None:
    """The distance of the smallest forces from the edges of their cones, where they keep to these."""
    made, rng, compared = cs.ContactSystem(box(0.1), controller=twist), np.random.default_rng(4), 0
    flows = [RigidFlow(prepare(made.on_engine(kind).world, mode_of(kinds))) for kind in ("native", "python")]
    for _ in range(60):
        q = np.r_[rng.normal(size=2), 0.1, 0.0, 0.0, 0.0, 1.0]
        x = np.r_[q, rng.normal(size=2), 0.0, 0.0, 0.0, rng.normal()]
        one, other = (flow.rebased(float(rng.uniform()), x) for flow in flows)
        assert one.cruise is not None and other.cruise is None
        t = float(rng.uniform())
        found = one._watch.guards(t, x, one._directions, one.references.straight)
        if found is None:
            continue
        compared += 1
        assert np.abs(found - other.guards(t, x)).max() < SAME * np.abs(other.motion(t, x).forces).max()
    assert compared >= compiled


def twist(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A push and a moment that swing."""
    return np.array([2.0 * np.sin(9.0 * t), 1.0, -3.0, 0.1, 0.2 * np.cos(5.0 * t), 0.3])


def test_a_box_on_its_corners_is_followed_step_by_step_in_cpp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its smallest forces keep to their cones, so that Python has no step to take but the first of an arc."""
    taken, step = list[float](), Stepper.step

    def counted(stepper: Stepper, bound: float) -> object:
        taken.append(stepper.t)
        return step(stepper, bound)

    monkeypatch.setattr(Stepper, "step", counted)
    system = cs.ContactSystem(box(0.1)).on_engine("native")
    run = cs.simulate(system, cs.State([0, 0, 0.1, 0, 0, 0, 1.0], [0.8, 0.6, 0, 0, 0, 0.2]), (0.0, 0.5))
    assert run.status is cs.Status.FINISHED and any(arc.mode.redundant for arc in run.arcs)
    assert len(taken) <= 1


@pytest.mark.parametrize("height", [0.05, 0.1, 0.3])
def test_a_box_slides_on_its_corners_as_in_python(height: float) -> None:
    """From 0.3 m on the smallest forces pull at a corner, where others do not."""
    system = cs.ContactSystem(box(height))
    start = cs.State([0, 0, height, 0, 0, 0, 1.0], [0.8, 0.6, 0, 0, 0, 0.2])
    runs = [cs.simulate(system, start, (0.0, 0.5), engine=engine) for engine in ("native", "python")]
    one, other = runs
    assert one.status is other.status is cs.Status.FINISHED
    named = [[[state.mode for state in arc.mode.contacts] for arc in run.arcs] for run in runs]
    assert named[0] == named[1]
    assert np.abs(one.final_x - other.final_x).max() < STATES


@pytest.mark.parametrize("roll", [1.4e-5, 1e-4])
def test_feet_of_which_it_is_not_clear_whether_they_are_redundant_stand_as_in_python(roll: float) -> None:
    """The least singular value is 5e-13 and 3e-11 of the largest: C++ leaves them to Python, stage by stage."""
    robot, q = planar_legs(), rolled(roll)
    system = cs.ContactSystem(robot, controller=cs.PD(robot, q, kp=80.0, kd=4.0))
    start = cs.State(q, np.zeros(robot.nv))
    one, other = (cs.simulate(system, start, (0.0, 0.02), engine=engine) for engine in ("native", "python"))
    assert one.status is other.status is cs.Status.FINISHED
    assert one.arcs[-1].mode.redundant and np.abs(one.final_x - other.final_x).max() < STATES


def test_an_arc_of_which_a_slip_begins_asks_for_no_direction_before_it_has_one() -> None:
    case = scene(12)  # a foot slides freely, another one begins to slip, and the engine does not know the motion there
    simulation = cs.Simulation(case.system, case.start)
    simulation.advance_to(case.end)
    assert simulation.status.complete


def pushed(*v: float) -> tuple[cs.ContactSystem, cs.State]:
    """A box on its corners with a velocity."""
    return cs.ContactSystem(box(0.1)), cs.State(np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]), np.array(v))


@pytest.mark.parametrize(
    ("v", "most"),
    [((0.3, 0.2, 0.0, 0.0, 0.0, 0.0), 1), ((0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 1), ((0.3, 0.0, 0.0, 0.0, 0.0, 1.0), 1000)],
    ids=["slides", "turns", "slides and turns"],
)
def test_derivatives_of_redundant_arcs_are_those_of_python(
    monkeypatch: pytest.MonkeyPatch, v: tuple[float, ...], most: int
) -> None:
    """Forces that are many push alike as a box slides, or turns about its middle; else which of them act is a choice.

    That choice is Python's to differentiate.
    """
    system, state = pushed(*v)
    one, other = (cs.simulate(system, state, (0.0, 0.2), engine=engine) for engine in ("native", "python"))
    assert all(arc.mode.redundant for arc in one.arcs)
    asked, sensitivity = list[float](), RigidFlow.jacobian
    monkeypatch.setattr(RigidFlow, "jacobian", lambda flow, t, x: asked.append(t) or sensitivity(flow, t, x))
    found = cs.linearize(one).matrix()
    assert len(asked) <= most
    expected = cs.linearize(other).matrix()
    assert np.abs(found - expected).max() < DERIVATIVES * np.abs(expected).max()
