"""Spheres on spheres and boxes in C++ against Python; skipped where the compiled engine is not installed."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.contact.modes import ContactState, Mode, Phase, SystemMode
from contactsim.contact_dynamics.rigid_arc import prepare
from contactsim.contact_dynamics.rigid_flow import RigidFlow, flow_of
from contactsim.contact_dynamics.world import World
from contactsim.errors import SingularError
from contactsim.hybrid.stepper import Stepper
from contactsim.multibody.kinematics.bound_world import MANY

from .compared_events import compared

native = pytest.importorskip("contactsim_native._native")  # its sources alone are no package

FIELD = 1e-10  # relative to the largest number of its kind: rounding of two ways to one number
CLEARLY = 1e5  # N: larger forces are those of rows that all but depend on each other
RUN = 1e-10  # of states of two runs whose steps are the same but for rounding
TIME = 1e-10  # of their events [s]
CLOSED_FORM = 1e-9  # m and s, of a run at rtol 1e-10
MATRIX = 1e-7  # of derivatives of two runs, relative to the largest number
TIGHT = cs.Tolerances(1e-10, 1e-12)
Array = np.ndarray

ARM = """<robot name="arms"><link name="trunk"><inertial><mass value="2"/>{inertia}</inertial></link>{arms}</robot>"""
LINK = """<link name="{name}"><collision><origin xyz="0.02 0.01 0.3"/><geometry><sphere radius="{radius}"/></geometry>
</collision><inertial><origin xyz="0 0 0.1"/><mass value="1"/>{inertia}</inertial></link><joint name="{name}_joint"
type="continuous"><parent link="{parent}"/><child link="{name}"/><origin xyz="{place}"/><axis xyz="{axis}"/></joint>"""
INERTIA = '<inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/>'


def ball(radius: float = 0.05, root: str = "free_flyer", **coefficients: float) -> cs.Robot:
    """A ball of half a kilogram."""
    return cs.Robot.sphere(0.5, radius, root=root, **{"friction": 0.4, "restitution": 0.2, **coefficients})


def on_a_block() -> cs.Robot:
    """Balls of two sizes, and a box that moves."""
    block = cs.Robot.box(1.0, (0.3, 0.2, 0.1), name="block", friction=0.3)
    return cs.Robot.merge([block, ball(), ball(0.08), ball()], ["block", "a", "b", "c"])


def before_a_wall() -> cs.Robot:
    """Balls, and a box of the world that stands askew."""
    wall = cs.Robot.box(1.0, (0.4, 0.3, 0.2), name="wall", root="fixed", friction=0.5)
    turned = pin.SE3(pin.rpy.rpyToMatrix(0.2, -0.1, 0.4), np.array([0.1, 0.2, 0.3]))
    return cs.Robot.merge([wall, ball(), ball(0.08)], ["wall", "a", "b"], placements=[turned, None, None])


def arms() -> cs.Robot:
    """A trunk with an upper and a lower arm, and another arm: balls on one tree that meet each other."""
    given = [("upper", "trunk", "0.2 0 0", "0 1 0"), ("lower", "upper", "0 0 0.4", "1 0 0.2")]
    given += [("other", "trunk", "-0.2 0 0", "0.1 1 0"), ("last", "other", "0 0 0.4", "1 0 0")]
    links = [
        LINK.format(name=name, radius=0.05 + 0.01 * k, inertia=INERTIA, parent=parent, place=place, axis=axis)
        for k, (name, parent, place, axis) in enumerate(given)
    ]
    text = ARM.format(inertia=INERTIA, arms="".join(links))
    return cs.Robot.from_urdf(text, "free_flyer", contacts=[], self_contacts=True)


def in_a_plane() -> cs.Robot:
    """Balls that move in the vertical plane."""
    return cs.Robot.merge([ball(root="planar")] * 3, ["a", "b", "c"])


WORLDS = {"block": on_a_block, "wall": before_a_wall, "arms": arms, "plane": in_a_plane}


def random_state(rng: np.random.Generator, width: int, region: tuple[int, ...]) -> ContactState:
    """A closed contact that sticks or slips."""
    direction = rng.normal(size=width)
    held = tuple((direction / np.linalg.norm(direction)).tolist())
    return [
        ContactState(Mode.STICK, region=region),
        ContactState(
            Mode.SLIP, Phase.FREE if width == 2 else Phase.DIRECTED, () if width == 2 else held, region=region
        ),
        ContactState(Mode.SLIP, Phase.DIRECTED, held, region=region),
    ][rng.integers(3)]


def random_mode(rng: np.random.Generator, world: World, q: Array, count: int) -> SystemMode:
    """Some closed contacts, pairs of bodies among them, in the regions in which they are."""
    states = [ContactState() for _ in world.mechanism.dims]
    known = world.mechanism.plain_robot
    assert known is not None and all(contact is not None for contact in known.contacts)
    pairs = [i for i, contact in enumerate(known.contacts) if contact is not None and contact.other is not None]
    chosen = {int(rng.choice(pairs)), *rng.integers(len(states), size=count - 1).tolist()}
    for i in chosen:
        region = world.mechanism.region(q, i)
        limit = not world.tangent_rows[i]
        states[i] = ContactState(Mode.CLOSED) if limit else random_state(rng, world.widths[i], region)
    return SystemMode(tuple(states))


def off(found: Array, expected: Array) -> float:
    """The largest difference, relative to the largest number."""
    return float(np.abs(found - expected).max(initial=0.0) / np.abs(expected).max(initial=1.0))


def flows(system: cs.ContactSystem, mode: SystemMode, x: Array) -> tuple[RigidFlow, RigidFlow] | None:
    """Those of both engines from a state on; None where the contacts depend on each other."""
    one, other = (flow_of(prepare(system.on_engine(name).world, mode)) for name in ("native", "python"))
    assert one.arc.compiled is not None and other.arc.compiled is None
    try:
        known = other.rebased(0.0, x)
        if np.abs(known.motion(0.0, x).forces).max() > CLEARLY:
            return None
    except SingularError:
        return None
    return one.rebased(0.0, x), known


def compare_derivatives(one: RigidFlow, other: RigidFlow, x: Array) -> None:
    """Those of accelerations, forces and contact velocities by (q, v) are those of Python."""
    assert one.arc.compiled is not None
    found = one.arc.compiled.driven_derivatives(0.0, x, one._directions, one.references.straight)
    expected = other._sensitivity(0.0, x)
    assert found is not None and expected is not None
    for own, known in zip(found, (expected.acceleration_x, expected.forces_x, expected.rates_x), strict=True):
        assert off(own, known) < FIELD


@pytest.mark.parametrize("name", WORLDS)
def test_motion_guards_and_derivatives_of_every_mode_are_those_of_python(name: str) -> None:
    """At any place and speed, of bodies of their own, of links of one tree, and in a plane."""
    system, rng, looked = cs.ContactSystem(WORLDS[name]()), np.random.default_rng(3), 0
    world = system.on_engine("python").world
    for _ in range(120):
        q = world.mechanism.space.integrate(system.robot.nominal, 0.4 * rng.normal(size=world.nv))
        x = np.concatenate([q, rng.normal(size=world.nv)])
        mode = random_mode(rng, world, q, 1 + int(rng.integers(3)))
        found = flows(system, mode, x)
        if found is None:
            continue
        one, other = found
        looked += 1
        compiled, python = (flow.motion(0.0, x) for flow in found)
        assert compiled.others is not None  # that is what the engine says, and Python does not
        assert off(compiled.acceleration, python.acceleration) < FIELD
        assert off(compiled.forces, python.forces) < FIELD
        assert one._watch is not None and off(one.guards(0.0, x), other.guards(0.0, x)) < FIELD
        gaps = one.table.gaps
        looks, expected = (flow.guard_motions(0.0, x, gaps) for flow in found)
        assert off(looks.values, expected.values) < FIELD and off(looks.rates, expected.rates) < FIELD
        compare_derivatives(one, other, x)
    assert looked > 80


def steps_of_python(
    system: cs.ContactSystem, start: cs.State, end: float, tolerances: cs.Tolerances | None = None
) -> tuple[cs.Trajectory, int]:
    """A run by the compiled engine, and the steps that Python took in it."""
    taken, step = list[float](), Stepper.step

    def counted(stepper: Stepper, bound: float) -> object:
        taken.append(stepper.t)
        return step(stepper, bound)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Stepper, "step", counted)
        run = cs.simulate(system, start, (0.0, end), engine="native", tolerances=TIGHT)
    return run, len(taken)


def test_two_balls_meet_in_closed_form() -> None:
    """Head on under gravity: where their way is the sum of the radii; they part at e times the speed, momentum kept."""
    pair = cs.Robot.merge([ball(restitution=0.6, friction=0.0), ball(0.08, restitution=0.6, friction=0.0)], ["a", "b"])
    system = cs.ContactSystem(pair)
    places = {"a": ((-0.5, 0.0, 4.0), 2.0), "b": ((0.5, 0.0, 4.0), -1.0)}
    given = {
        name: (np.array([*at, 0.0, 0.0, 0.0, 1.0]), np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0]))
        for name, (at, speed) in places.items()
    }
    run, steps = steps_of_python(system, cs.State(*pair.pack(given)), 0.5)
    meeting = (1.0 - 0.13) / 3.0
    assert run.status is cs.Status.FINISHED and len(run.events) == 1
    assert abs(run.events[0].time - meeting) < CLOSED_FORM
    # Equal masses: with u = 0.5 before and after, v = u -+ e 1.5 along x.
    nq = len(run.final.q) // 2
    left, right = run.final.q[0], run.final.q[nq]
    ends = -0.5 + 2.0 * meeting + (0.5 - 0.9) * (0.5 - meeting), 0.5 - meeting + (0.5 + 0.9) * (0.5 - meeting)
    assert abs(left - ends[0]) < CLOSED_FORM and abs(right - ends[1]) < CLOSED_FORM
    assert steps <= 1


def falling(rng: np.random.Generator, name: str, other: cs.Robot, place: pin.SE3) -> cs.Robot:
    """Five balls of any size, and a box."""
    balls = [ball(rng.uniform(0.04, 0.07), restitution=rng.uniform(0.3, 0.6)) for _ in range(5)]
    names = [name, *(f"ball{k}" for k in range(5))]
    return cs.Robot.merge([other, *balls], names, placements=[place, *[None] * 5])


def thrown(seed: int) -> tuple[cs.ContactSystem, cs.State]:
    """Balls that fall onto each other, and onto a box that lies there, or onto a wall that leans."""
    rng, start = np.random.default_rng(seed), {}
    if seed % 2:
        world = falling(rng, "block", cs.Robot.box(3.0, (0.3, 0.3, 0.1), friction=0.5), pin.SE3.Identity())
        start["block"] = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0]), np.zeros(6)
    else:
        wall = cs.Robot.box(1.0, (0.1, 1.0, 1.0), root="fixed", friction=0.5)
        leaning = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.3, 0.0), np.array([0.3, 0.0, 0.3]))  # so that balls lie on it
        world = falling(rng, "wall", wall, leaning)
    for k in range(5):
        place = [*rng.uniform(-0.07, 0.07, 2), 0.2 + 0.13 * k]
        start[f"ball{k}"] = np.array([*place, 0.0, 0.0, 0.0, 1.0]), np.array([0.5, 0, -2, 0, 0, 0]) + rng.normal(size=6)
    return cs.ContactSystem(world), cs.State(*world.pack(start))


@pytest.mark.parametrize("seed", range(8))
def test_runs_of_random_worlds_are_those_of_python(seed: int) -> None:
    """Event by event, and in their states."""
    system, state = thrown(seed)
    one, other = (cs.simulate(system, state, (0.0, 0.3), engine=engine) for engine in ("native", "python"))
    assert one.status is other.status is cs.Status.FINISHED
    # Ends of bounces are told by Python alone where the engine resolves their last event.
    events = [[event for event in run.all_events if event.fired != {"clock"}] for run in (one, other)]
    assert [event.fired for event in events[0]] == [event.fired for event in events[1]]
    fired = {system.mechanism.all_names[i] for event in events[0] for _, i in event.fired}
    assert any("+ball" in name for name in fired)
    assert max(abs(a.time - b.time) for a, b in zip(*events, strict=True)) < TIME
    assert off(one.final_x, other.final_x) < RUN


def test_each_event_is_resolved_and_differentiated_as_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one call: impacts of several bodies, modes and hops; what nothing of an event moves stays as it is.

    Of worlds in which no body lies on more corners than it needs: there forces are not unique, nor are modes.
    """
    counts = compared(monkeypatch)
    for seed in range(0, 20, 2):
        system, state = thrown(seed)
        cs.linearize(cs.simulate(system, state, (0.0, 0.2), engine="native")).matrix()
    assert counts.asked > 100 and counts.answered > 0.9 * counts.asked
    assert counts.differentiated > 90 and counts.known > 0.9 * counts.differentiated


@pytest.mark.parametrize("seed", [2, 3])
def test_derivatives_of_runs_are_those_of_python(seed: int) -> None:
    """Of balls that hit a wall and each other, and of balls on a box that lies there."""
    system, state = thrown(seed)
    runs = [cs.simulate(system, state, (0.0, 0.15), engine=engine) for engine in ("native", "python")]
    one, other = (cs.linearize(run).matrix() for run in runs)
    assert len(runs[0].events) > 2
    assert off(one, other) < MATRIX


def test_a_derivative_does_not_hang_on_what_was_asked_before() -> None:
    """What the engine keeps of the last rows that it solved for is no part of the next ones."""
    runs = [cs.simulate(*thrown(seed), (0.0, 0.15)) for seed in (3, 0)]
    first, _, again = (cs.linearize(runs[k]).matrix() for k in (0, 1, 0))
    assert np.array_equal(first, again)


def test_a_ball_rolls_over_the_edge_of_a_box() -> None:
    """From the face to the edge, and off it: the regions of its contact are left in C++ as in Python."""
    table = cs.Robot.box(1.0, (0.4, 0.4, 0.4), name="table", root="fixed", friction=0.8)
    world = cs.Robot.merge(
        [table, ball(friction=0.8, restitution=0.0)], ["table", "ball"], placements=[(0, 0, 0.2), None]
    )
    speed, radius = 0.3, 0.05
    given = {"ball": (np.array([0.15, 0.0, 0.45, 0, 0, 0, 1.0]), np.array([speed, 0, 0, 0, speed / radius, 0]))}
    system, state = cs.ContactSystem(world), cs.State(*world.pack(given))
    one, other = (
        cs.simulate(system, state, (0.0, 0.4), engine=engine, tolerances=TIGHT) for engine in ("native", "python")
    )
    kinds = [{kind for kind, _ in event.fired} for event in one.all_events]
    assert {"side1"} in kinds
    assert kinds == [{kind for kind, _ in event.fired} for event in other.all_events]
    assert abs(one.all_events[0].time - 0.05 / speed) < CLOSED_FORM
    assert max(abs(a.time - b.time) for a, b in zip(one.all_events, other.all_events, strict=True)) < 1e-9
    assert off(one.final_x, other.final_x) < 1e-9
    assert steps_of_python(system, state, 0.4)[1] <= 1


def test_many_pairs_are_all_watched_in_one_arc() -> None:
    """Where Python leaves out those of the 561 that are far; two layers of balls meet."""
    count = 34
    world = cs.Robot.merge([ball()] * count, [f"ball{k}" for k in range(count)])
    assert count * (count - 1) // 2 >= MANY
    rng, start = np.random.default_rng(0), {}
    for k in range(count):
        upper, cell = divmod(k, count // 2)
        place = 0.15 * np.array([cell % 5, cell // 5, 2.0 + upper]) + rng.uniform(-0.01, 0.01, 3)
        start[f"ball{k}"] = np.array([*place, 0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, -2.0 * upper, 0.0, 0.0, 0.0])
    system, state = cs.ContactSystem(world), cs.State(*world.pack(start))
    one, steps = steps_of_python(system, state, 0.05)
    other = cs.simulate(system, state, (0.0, 0.05), tolerances=TIGHT, engine="python")
    assert len(one.events) > 10 and steps <= 1
    assert [event.fired for event in one.all_events] == [event.fired for event in other.all_events]
    assert off(one.final_x, other.final_x) < RUN


def test_runs_on_half_spaces_are_those_of_python() -> None:
    """Corners of a hull, a ball, a capsule and a drum fall onto the plane of a half-space that is askew."""
    tip = cs.Robot.hull(0.5, [[0.1, 0, 0], [-0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], friction=0.4)
    plane = cs.Robot.box(1.0, (0.1, 0.1, 0.1), root="fixed", name="plane")
    plane = plane._with(_solids=(cs.Solid("plane", "half_space", friction=0.8),))
    drum, capsule = cs.Robot.cylinder(0.5, 0.05, 0.1, friction=0.4), cs.Robot.capsule(0.5, 0.04, 0.1, friction=0.4)
    names = ["plane", "tip", "ball", "drum", "capsule"]
    askew = pin.SE3(pin.rpy.rpyToMatrix(0.2, -0.1, 0.4), np.zeros(3))
    world = cs.Robot.merge([plane, tip, ball(), drum, capsule], names, placements=[askew, None, None, None, None])
    system = cs.ContactSystem(world, terrain=cs.terrain.Flat(-1.0))
    known = system.on_engine("native").mechanism.plain_robot
    assert known is not None and all(contact is not None for contact in known.contacts)
    turned = pin.Quaternion(pin.rpy.rpyToMatrix(0.5, 0.3, 0.1)).coeffs()
    start = {name: (np.r_[0.4 * k, 0.0, 0.3, turned], np.zeros(6)) for k, name in enumerate(names[1:])}
    state = cs.State(*world.pack(start))
    one, other = (
        cs.simulate(system, state, (0.0, 0.4), tolerances=TIGHT, engine=engine) for engine in ("native", "python")
    )
    assert one.status is other.status is cs.Status.FINISHED and len(one.events) > 6
    assert [event.fired for event in one.all_events] == [event.fired for event in other.all_events]
    assert off(one.final_x, other.final_x) < 1e2 * RUN  # after so many bounces of rims


def before_a_drum(speed: float) -> tuple[cs.ContactSystem, cs.State]:
    """A ball that slides towards a cylinder of the world, 1 m away."""
    drum = cs.Robot.cylinder(1.0, 0.1, 0.2, root="fixed", friction=0.4)
    world = cs.Robot.merge([drum, ball()], ["drum", "ball"], placements=[np.array([1.0, 0.0, 0.1]), None])
    start = {"ball": (np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0]), np.array([speed, 0.3, 0.0, 0.0, 0.0, 0.0]))}
    return cs.ContactSystem(world), cs.State(*world.pack(start))


def test_what_is_far_is_left_out() -> None:
    """Python takes no step until the ball comes near the cylinder."""
    system, state = before_a_drum(1.0)
    run, steps = steps_of_python(system, state, 0.5)
    assert run.status.complete and steps <= 1
    assert run.check()


def test_what_was_left_out_joins_as_it_comes_near() -> None:
    """The ball meets the cylinder, and comes back: the same events as in Python, which takes no step."""
    system, state = before_a_drum(4.0)
    one, steps = steps_of_python(system, state, 0.5)
    other = cs.simulate(system, state, (0.0, 0.5), tolerances=TIGHT, engine="python")
    assert [event.fired for event in one.all_events] == [event.fired for event in other.all_events]
    assert any("drum" in contact for event in one.events for contact in event.contacts)
    assert max(abs(a.time - b.time) for a, b in zip(one.all_events, other.all_events, strict=True)) < TIME
    assert off(one.final_x, other.final_x) < RUN
    assert one.check() and steps <= 1
