"""Derivatives of the compiled engine against those in Python; skipped where it is not installed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from landings import landing

import contactsim as cs
from contactsim.contact.modes import ContactState, Phase, SystemMode
from contactsim.contact_dynamics.rigid_arc import References, accelerations, prepare
from contactsim.contact_dynamics.rigid_sensitivity import sensitivity
from contactsim.derivatives.event_linearization import Parameters
from contactsim.derivatives.variational import ArcVariation
from contactsim.errors import StepSizeError

from .test_native_engine import joints

pytest.importorskip("contactsim_native._native")

JACOBIAN = 1e-11  # relative to the largest entry
VARIATIONS = 1e-9
PROMISED = 3e-7  # of entries, by variations to 1e-8 of their rows step by step
ROUNDING = 1e-13  # of velocities [m/s]: so much over the speed of a slip is its direction known to
TIGHT = cs.Tolerances(rtol=1e-11, atol=1e-13)
ROBOTS = ("hexapod", "biped", "solo12", "solo8", "go2", "a1", "anymal", "hyq", "bolt", "talos", "simple_humanoid")


def random_mode(world: Any, points: int, rng: np.random.Generator) -> tuple[SystemMode, dict[int, tuple[float, ...]]]:
    """Contacts that stick, slip or are open, one of a body, and joints at limits; directions of those that slip freely.

    At most four are closed: more would be redundant.
    """
    states, slip, bodies = [], {}, set()
    contacts = world.mechanism.plain_robot.contacts
    for i in range(len(world.mechanism.all_names)):
        direction = rng.normal(size=2)
        direction /= np.linalg.norm(direction)
        kind = int(rng.integers(4))
        if i >= points:  # a joint is at one limit at most
            at_limit = (i - points) % 2 and rng.random() < 0.1
            states.append(ContactState(cs.Mode.CLOSED) if at_limit else ContactState())
            continue
        if kind == 0 or len(bodies) == 4 or contacts[i].joint in bodies:
            states.append(ContactState())
            continue
        bodies.add(contacts[i].joint)
        if kind == 1:
            states.append(ContactState(cs.Mode.STICK))
        elif kind == 2 and world.tangent_rows[i] == 2:
            states.append(ContactState(cs.Mode.SLIP, Phase.FREE))
            slip[i] = tuple(direction.tolist())
        else:
            held = tuple(direction.tolist()) if world.tangent_rows[i] == 2 else (1.0,)
            states.append(ContactState(cs.Mode.SLIP, Phase.DIRECTED, held))
    return SystemMode(tuple(states)), slip


def demand_same_jacobians(made: cs.ContactSystem, count: int, seed: int) -> None:
    """Derivatives of accelerations, forces and slips in random modes, at random states, with both engines."""
    systems = [made.on_engine(kind) for kind in ("native", "python")]
    robot, world, rng = made.robot, made.world, np.random.default_rng(seed)
    compared = 0
    for _ in range(count):
        mode, slip = random_mode(world, len(robot.contacts), rng)
        q = world.mechanism.space.integrate(robot.nominal, 0.3 * rng.normal(size=robot.nv))
        x = np.concatenate([q, rng.normal(size=robot.nv), rng.normal(size=world.memory)])
        found = []
        for system in systems:
            arc, references = prepare(system.world, mode), References(slip)
            motion = accelerations(arc, 0.3, x, references)
            if not found:
                assert arc.compiled is not None
                regular = not arc.slips or abs(motion.regularity()) > 0.02
            found.append(sensitivity(arc, 0.3, x, references, motion))
        if not regular:
            continue
        compared += 1
        for name in ("acceleration_x", "forces_x", "rates_x", "memory_x"):
            one, other = (getattr(each, name) for each in found)
            assert one.shape == other.shape
            assert np.abs(one - other).max(initial=0.0) < JACOBIAN * np.abs(other).max(initial=1.0)
    assert compared > count // 2


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.filterwarnings("ignore:joint .* has dry friction")
def test_jacobians_of_robots_in_every_mode_are_those_of_python(name: str) -> None:
    robot = cs.load_robot(name)
    demand_same_jacobians(cs.ContactSystem(robot, controller=cs.PD(robot, kp=30.0, kd=0.4)), 6, 3)


@pytest.mark.parametrize("controller", [lambda t, q, v: -0.3 * v, cs.Inputs(np.ones((2, 12)), 0.1)])
def test_jacobians_under_a_controller_of_the_user_are_those_of_python(controller: object) -> None:
    demand_same_jacobians(cs.ContactSystem(cs.load_robot("solo12"), controller=controller), 6, 4)


@pytest.mark.parametrize("name", ["hexapod", "solo12"])
def test_jacobians_where_slips_begin_are_those_of_python(name: str) -> None:
    """Their directions are those of accelerations, and turn with them."""
    robot = cs.load_robot(name)
    made = cs.ContactSystem(robot, controller=cs.PD(robot, kp=30.0, kd=0.4))
    compiled, python = (made.on_engine(kind).world for kind in ("native", "python"))
    rng, compared = np.random.default_rng(7), 0
    for _ in range(12):
        states = []
        for _ in robot.contacts[:4]:
            along = rng.normal(size=2)
            direction = tuple((along / np.linalg.norm(along)).tolist())
            begins, slips = (
                ContactState(cs.Mode.SLIP, phase, direction) for phase in (Phase.INCIPIENT, Phase.DIRECTED)
            )
            states.append([ContactState(cs.Mode.STICK), slips, begins, begins][int(rng.integers(4))])
        others = len(python.mechanism.all_names) - len(states)
        mode = SystemMode((*states, *[ContactState()] * others))
        q = python.mechanism.space.integrate(robot.nominal, 0.2 * rng.normal(size=robot.nv))
        x = np.concatenate([q, 0.3 * rng.normal(size=robot.nv)])
        arc = prepare(python, mode)
        began = accelerations(arc, 0.3, x, References(incipient=arc.incipient))
        if not began.found or abs(began.regularity()) < 0.02:
            continue
        references = References(incipient=began.found)
        motion, slips = accelerations(arc, 0.3, x, references), prepare(compiled, mode)
        found = slips.compiled.driven_derivatives(0.3, x, slips.directions(references), references.straight)
        wanted = sensitivity(arc, 0.3, x, references, motion)
        for one, other in zip(found, (wanted.acceleration_x, wanted.forces_x, wanted.rates_x), strict=True):
            assert np.abs(one - other).max() < JACOBIAN * np.abs(other).max()
        compared += 1
    assert compared >= 6


def test_jacobians_of_every_joint_on_a_belt_are_those_of_pinocchio() -> None:
    model = joints()
    points = [cs.ContactPoint(f"body{k}", [0.1, -0.2, 0.3], radius=0.02 * k) for k in (3, 6, 8, 11)]
    for k in (3, 6, 8, 11):
        model.addFrame(pin.Frame(f"body{k}", k, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    robot = cs.Robot(model, contacts=points)
    demand_same_jacobians(
        cs.ContactSystem(robot, terrain=cs.terrain.Flat(velocity=(0.3, 0.2)), gravity=(3.0, -2.0, -9.0)), 12, 5
    )


def on_python(run: cs.Trajectory) -> cs.Trajectory:
    """The same run, to be differentiated in Python."""
    return replace(run, arcs=tuple(replace(arc, system=arc.system.on_engine("python")) for arc in run.arcs))


def solo12(controller: Callable[[cs.Robot], object], end: float = 0.2, thrown: float = 0.0) -> cs.Trajectory:
    """A landing, feet one after the other, at a speed along the ground."""
    robot = cs.load_robot("solo12")
    q = robot.space.integrate(robot.nominal, np.r_[0, 0, 0.03, 0.05, -0.02, np.zeros(robot.nv - 5)])
    system = cs.ContactSystem(robot, controller=controller(robot))
    return cs.simulate(system, cs.State(q, thrown * np.eye(robot.nv)[0]), (0.0, end), engine="native")


def biped() -> cs.Trajectory:
    """A walk down a slope, in a plane."""
    scene = cs.load_scene("biped")
    return cs.simulate(scene.system, scene.state, (0.0, 0.6), engine="native", **scene.options)


def slowest(arc: cs.Arc) -> float:
    """The least speed of a slip whose direction is that of its velocity [m/s]; of a slow one it is hardly known."""
    prepared, world = prepare(arc.system.world, arc.mode), arc.system.world
    free = [i for i, _ in prepared.slips if arc.mode.contacts[i].phase is Phase.FREE]
    speeds = [np.inf]
    for t in (arc.t0, arc.t1) if free else ():
        rates = prepared.terms(t, world.q(arc(t)), world.v(arc(t))).rates
        speeds += [float(np.linalg.norm(rates[prepared.tangent[i]])) for i in free]
    return min(speeds)


@pytest.mark.parametrize(
    "run",
    [
        lambda: solo12(lambda robot: cs.PD(robot, kp=3.0, kd=0.05)),
        lambda: solo12(lambda robot: cs.PD(robot, kp=3.0, kd=0.05, period=0.05), end=0.15),
        lambda: solo12(lambda robot: cs.Inputs(0.1 * np.random.default_rng(0).normal(size=(4, 12)), 0.04), end=0.1),
        lambda: solo12(lambda robot: lambda t, q, v: -0.05 * v * (np.arange(robot.nv) > 5), end=0.07),
        lambda: solo12(
            lambda robot: cs.PD(
                robot, lambda t: robot.nominal + 0.02 * np.sin(9.0 * t) * (np.arange(19) > 6), 3.0, 0.05
            )
        ),
        lambda: solo12(lambda robot: cs.PD(robot, kp=10.0, kd=0.1), end=0.1, thrown=2.0),
        biped,
    ],
    ids=["PD", "sampled", "inputs", "function", "moving reference", "thrown", "biped"],
)
def test_variations_along_arcs_are_those_of_python(run: Callable[[], cs.Trajectory]) -> None:
    compiled = run()
    one, other = (cs.linearize(each, tolerances=TIGHT) for each in (compiled, on_python(compiled)))
    for mine, theirs in zip(one.stretches(), other.stretches(), strict=True):
        if isinstance(mine.piece, ArcVariation):
            a, b = one.along(mine), other.along(theirs)
            allowed = VARIATIONS + ROUNDING / slowest(compiled.arc_at(0.5 * (mine.t0 + mine.t1)))
            assert np.abs(a - b).max() < allowed * np.abs(b).max()


@pytest.mark.parametrize("speed", [1.0, 1e-2, 1e-4])
def test_a_point_that_slides_to_its_stop_varies_as_its_closed_form_says(speed: float) -> None:
    """|v| = v0 - mu g t; across it friction turns with the slip: dv = dv0 |v| / v0. Slow ones take short steps."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), "point")
    model.appendBodyToJoint(joint, pin.Inertia(2.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("point", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    robot = cs.Robot(model, contacts=[cs.ContactPoint("point", np.zeros(3), friction=0.5)])
    stop, left = speed / (0.5 * 9.81), max(1e-4, 3e-6 / speed)  # slower ones slip on straight
    run = cs.simulate(
        cs.ContactSystem(robot), cs.State(np.zeros(3), [speed, 0.0, 0.0]), (0.0, (1.0 - left) * stop), engine="native"
    )
    t, lin = run.arcs[-1].t1, cs.linearize(run)
    wanted = np.eye(6)
    wanted[0, 3], wanted[1, 4] = t, t - 0.5 * t * t / stop
    wanted[4, 4], wanted[2, 5], wanted[5, 5], wanted[2, 2] = left, 0.0, 0.0, 0.0
    found = lin.matrix() @ np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 0.0])  # what keeps the contact
    wanted = wanted @ np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    assert np.abs(found - wanted)[:3].max() < PROMISED * t
    assert np.abs(found - wanted)[3:].max() < PROMISED * left


def test_variations_along_arcs_of_slips_that_soon_stop_meet_their_tolerance() -> None:
    """Those of a rattling hexapod, most of which take less than a microsecond, at several tolerances and in Python."""
    run = landing("hexapod", 0).run()
    coarse, fine, python = (
        cs.linearize(each, tolerances=tolerances)
        for each, tolerances in ((run, None), (run, TIGHT), (on_python(run), TIGHT))
    )
    compared, errors = 0, []
    for one, two, other in zip(*(lin.stretches() for lin in (coarse, fine, python)), strict=True):
        piece = one.piece
        if not isinstance(piece, ArcVariation) or piece.t1 - piece.t0 > 1e-4 or slowest(piece.arc) == np.inf:
            continue
        expected = fine.along(two)
        errors.append(np.abs(coarse.along(one) - expected).max() / np.abs(expected).max())
        if len(errors) % 6 == 0:  # Python takes long
            allowed = VARIATIONS + ROUNDING / slowest(piece.arc)
            assert np.abs(python.along(other) - expected).max() < allowed * np.abs(expected).max()
            compared += 1
    assert len(errors) > 60 and compared >= 10
    assert np.median(errors) < 1e-8 and max(errors) < PROMISED


def test_parts_and_directions_of_an_arc_chain_to_the_whole() -> None:
    run = solo12(lambda robot: cs.PD(robot, kp=3.0, kd=0.05))
    arc = max(run.arcs, key=lambda arc: arc.t1 - arc.t0)
    variation = ArcVariation(arc, Parameters(), cs.Tolerances(rtol=1e-10, atol=1e-12), "automatic")
    middle = 0.3 * arc.t0 + 0.7 * arc.t1
    directions = np.random.default_rng(1).normal(size=(variation.dim, 3))
    whole = variation.propagate(arc.t0, arc.t1, np.eye(variation.dim))
    parts = variation.propagate(middle, arc.t1, variation.propagate(arc.t0, middle, directions))
    assert np.abs(whole @ directions - parts).max() < 1e-8 * np.abs(whole).max()


def test_the_first_directions_alone_vary_as_among_all() -> None:
    lin = cs.linearize(landing("solo12", 0).run())
    for stretch in lin.stretches():
        piece = stretch.piece
        if isinstance(piece, ArcVariation) and stretch.t1 > stretch.t0:
            all_of_them = np.eye(piece.dim)
            whole = piece.propagate(stretch.t0, stretch.t1, all_of_them)
            for count in (1, 8):
                some = piece.propagate(stretch.t0, stretch.t1, all_of_them[:, :count].copy())
                apart, size = np.abs(some - whole[:, :count]).max(), np.abs(whole).max()
                assert apart <= PROMISED * size, (stretch.t0, count)


def test_what_cannot_be_followed_is_told_as_in_python() -> None:
    run = solo12(lambda robot: cs.PD(robot, kp=3.0, kd=0.05))
    arc = run.arcs[-1]
    told = f"the variations cannot be followed at t = {arc.t0:.12g} s: "
    for each in (arc, on_python(run).arcs[-1]):
        variation = ArcVariation(each, Parameters(), cs.Tolerances(), "automatic")
        with pytest.raises(StepSizeError, match=told):
            variation.propagate(arc.t0, arc.t1, np.full((variation.dim, 1), np.nan))
