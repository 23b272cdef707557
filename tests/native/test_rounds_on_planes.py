"""Rims, points on which discs stand, and ellipsoids on planes by the compiled engine, against Python's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pinocchio as pin
import pytest
from builders import single_body

import contactsim as cs
from contactsim.contact.modes import ContactState, Mode, Phase, SystemMode
from contactsim.contact_dynamics.rigid_arc import prepare
from contactsim.contact_dynamics.rigid_flow import flow_of
from contactsim.errors import SingularError
from contactsim.multibody.contact_point import ContactEllipsoid, ContactPoint, ContactRim

from .compared_events import compared

pytest.importorskip("contactsim_native._native")  # its sources alone are no package

FIELD = 1e-10  # relative to the largest number of its kind: rounding of two ways to one number
DERIVATIVE = 1e-9  # the same of derivatives, of discs that are tilted clearly
MATRIX = 1e-7  # of derivatives of two runs, relative to the largest number
ROUNDING = 1e-15  # of axes of bodies, over the tilt of a disc
CLEARLY = 1e3  # N: larger forces are those of rows that all but depend on each other
RUN = 1e-9  # of states of two runs whose steps are the same but for rounding
TIME = 1e-10  # of their events [s]
TIGHT = cs.Tolerances(1e-10, 1e-12)
Array = np.ndarray

GROUNDS = {
    "flat": cs.terrain.Flat(),
    "belt": cs.terrain.Flat(0.0, (0.3, -0.2)),
    "slope": cs.terrain.Slope(0.3, (1.0, 2.0)),
    "lifted": cs.terrain.Moving(cs.terrain.Flat(), cs.terrain.Oscillation((0.05, 0.02, 0.1), 3.0)),
}
WHEEL = '<inertia ixx="0.002" ixy="0" ixz="0" iyy="0.0025" iyz="0" izz="0.002"/>'


def wheel_and_egg() -> cs.Robot:
    """A free body with a ball, a rim with two of its points, and an ellipsoid, and an arm on it with a thick rim."""
    pin.seed(3)
    model = single_body(pin.JointModelFreeFlyer(), 2.0, (0.1, 0.2, 0.25), "body")
    joint = model.addJoint(1, pin.JointModelRX(), pin.SE3(np.eye(3), np.array([0.1, 0.2, 0.0])), "arm")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    model.addFrame(pin.Frame("base", 1, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    model.addFrame(pin.Frame("hand", joint, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    at, axis = (0.0, 0.1, 0.1), (0.6, 0.0, 0.8)
    contacts = [
        ContactPoint("base", (0.1, 0.0, 0.0), 0.05, name="ball"),
        ContactRim("base", at, name="rim", axis=axis, rim=0.2),
        ContactRim("base", at, name="held", axis=axis, rim=0.2, angle=0.7),
        ContactRim("base", at, name="beside", axis=axis, rim=0.2, angle=2.0),
        ContactEllipsoid("base", (0.2, 0.0, 0.1), radii=(0.3, 0.2, 0.1), quaternion=(0.5, 0.5, -0.1, 0.7), name="egg"),
        ContactRim("hand", (0.0, 0.0, 0.1), 0.02, name="wheel", axis=(0.0, 0.0, 1.0), rim=0.15),
    ]
    return cs.Robot(model, contacts=contacts)


def rover() -> cs.Robot:
    """Four wheels on a body."""
    text = '<link name="base"><inertial><mass value="5"/>{}</inertial></link>'.format(WHEEL.replace("0.002", "0.1"))
    for k, (x, y) in enumerate([(0.2, 0.15), (0.2, -0.15), (-0.2, 0.15), (-0.2, -0.15)]):
        text += f"""
          <link name="wheel{k}"><inertial><mass value="0.5"/>{WHEEL}</inertial>
            <collision><origin rpy="{np.pi / 2} 0 0"/><geometry><cylinder radius="0.1" length="0.05"/></geometry>
            </collision></link>
          <joint name="axle{k}" type="continuous"><parent link="base"/><child link="wheel{k}"/><axis xyz="0 1 0"/>
            <origin xyz="{x} {y} 0"/></joint>"""
    return cs.Robot.from_urdf(f'<robot name="rover">{text}</robot>')


def coin() -> cs.Robot:
    """A thin cylinder."""
    return cs.Robot.cylinder(0.1, 0.05, 0.004, friction=0.6)


def placed(height: float, turn: Array, v: Array) -> cs.State:
    return cs.State(np.r_[0.0, 0.0, height, pin.Quaternion(turn).coeffs()], v)


def rolling() -> tuple[cs.ContactSystem, cs.State]:
    """A coin that leans, lands, and rolls along a curve with its rim."""
    lean, speed = 0.2, 1.0
    turn = pin.rpy.rpyToMatrix(0.5 * np.pi - lean, 0.0, 0.0)
    height = 0.051 * np.cos(lean) + 0.002 * np.sin(lean)
    return cs.ContactSystem(coin()), placed(height, turn, np.r_[turn.T @ [speed, 0.0, 0.0], 0.0, 0.0, -speed / 0.05])


def settling(tilt: float) -> tuple[cs.ContactSystem, cs.State]:
    """A cylinder that lands on its end, or on a rim of it, and bounces until it is at rest there, or rolls around."""
    drum = cs.Robot.cylinder(1.0, 0.1, 0.06, friction=0.6, restitution=0.2)
    turn = pin.rpy.rpyToMatrix(tilt, 0.5 * tilt, 0.0)
    return cs.ContactSystem(drum), placed(0.04 + 0.1 * tilt, turn, np.r_[0.1, 0.0, 0.0, 2.0 * tilt, 0.0, 0.0])


def tipping() -> tuple[cs.ContactSystem, cs.State]:
    """A cylinder that stands on points of its rim, and tips over two of them: their rim takes over."""
    radius, half, turned, spin = 0.02, 0.06, np.pi / 8, 0.5
    drum = cs.Robot.cylinder(1.0, radius, 2.0 * half, friction=0.6, restitution=0.3)
    chord = radius * np.cos(turned) * np.array([np.cos(turned), np.sin(turned), 0.0])
    w = spin * np.array([-np.sin(turned), np.cos(turned), 0.0])
    return cs.ContactSystem(drum), placed(half, np.eye(3), np.r_[np.cross(w, np.array([0.0, 0.0, half]) - chord), w])


def driving() -> tuple[cs.ContactSystem, cs.State]:
    """A rover that lands and drives, turned aside."""
    system = cs.ContactSystem(rover())
    q, v = system.robot.nominal.copy(), np.zeros(system.robot.nv)
    q[2], v[0], v[5] = 0.12, 1.0, 0.3
    return system, cs.State(q, v)


def thrown_egg() -> tuple[cs.ContactSystem, cs.State]:
    """An ellipsoid that bounces, slides and rocks."""
    egg = cs.Robot.ellipsoid(1.0, (0.1, 0.07, 0.05), friction=0.3, restitution=0.3)
    return cs.ContactSystem(egg), placed(0.15, pin.rpy.rpyToMatrix(0.5, 0.3, 0.0), np.r_[0.8, 0.1, 0, 1.0, 2.0, 0.5])


def in_a_plane() -> tuple[cs.ContactSystem, cs.State]:
    """A cylinder that moves in a vertical plane, and falls over."""
    drum = cs.Robot.cylinder(1.0, 0.05, 0.2, friction=0.6, restitution=0.2, root="planar")
    return cs.ContactSystem(drum), cs.State(np.array([0.0, 0.3, 0.4]), np.array([0.5, 0.0, 1.0]))


def torqued() -> tuple[cs.ContactSystem, cs.State]:
    """The rover under gains that turn its wheels, those of one side faster."""
    given = rover()
    wanted = np.r_[np.zeros(6), 20.0, 10.0, 20.0, 10.0]
    drive = cs.PD(given, lambda t: (given.nominal, wanted, np.zeros(given.nv)), kp=0.0, kd=0.05)
    q = given.nominal.copy()
    q[2] = 0.101
    return cs.ContactSystem(given, controller=drive), cs.State(q, np.zeros(given.nv))


def tipping_over() -> tuple[cs.ContactSystem, cs.State]:
    """A cone that falls over: it stands on its points, and then rolls on the rim of its base."""
    cone = cs.Robot.cone(1.0, 0.05, 0.2, friction=0.6)
    return cs.ContactSystem(cone), placed(0.1, np.eye(3), np.r_[0.5, 0.1, 0.0, 0.3, 6.0, 1.0])


RUNS: dict[str, tuple[Callable[[], tuple[cs.ContactSystem, cs.State]], float]] = {
    "cone": (tipping_over, 0.1),
    "rolling": (rolling, 0.5),
    "upright": (partial(settling, 0.0), 0.3),
    "tilted": (partial(settling, 0.05), 0.15),
    "tipping": (tipping, 0.1),
    "driving": (driving, 0.5),
    "torqued": (torqued, 0.3),
    "plane": (in_a_plane, 0.5),
    "egg": (thrown_egg, 0.5),
}


def random_mode(rng: np.random.Generator, system: cs.ContactSystem, q: Array) -> SystemMode:
    """Some closed contacts, of the regions in which they are."""
    mechanism = system.world.mechanism
    states = [ContactState() for _ in mechanism.dims]
    for i in rng.choice(len(states), 1 + int(rng.integers(3)), replace=False).tolist():
        direction, region = rng.normal(size=2), mechanism.region(q, i)
        held = tuple((direction / np.linalg.norm(direction)).tolist())
        states[i] = [
            ContactState(Mode.STICK, region=region),
            ContactState(Mode.SLIP, Phase.FREE, region=region),
            ContactState(Mode.SLIP, Phase.DIRECTED, held, region=region),
        ][rng.integers(3)]
    return SystemMode(tuple(states))


def off(found: Array, expected: Array) -> float:
    """The largest difference, relative to the largest number."""
    return float(np.abs(found - expected).max(initial=0.0) / np.abs(expected).max(initial=1.0))


@pytest.mark.parametrize("ground", GROUNDS)
def test_motion_and_guards_of_every_mode_are_those_of_python(ground: str) -> None:
    """At any place and speed, and where a disc all but lies flat: tilted by some of what counts as flat."""
    system, rng, looked = cs.ContactSystem(wheel_and_egg(), terrain=GROUNDS[ground]), np.random.default_rng(3), 0
    systems = [system.on_engine(name) for name in ("native", "python")]
    world, flat = systems[1].world, 5e-9 / 0.2
    for k in range(120):
        q, tilt = world.mechanism.space.integrate(system.robot.nominal, rng.normal(size=world.nv)), 1.0
        if k % 2:
            tilt = flat * rng.uniform(0.1, 2.5) if k % 4 == 1 else rng.uniform(0.01, 0.6)
            q = laid_flat(system, q, tilt)
        same = max(FIELD, ROUNDING / tilt)  # to which the direction of the lowest point is known
        x, t = np.concatenate([q, rng.normal(size=world.nv)]), 0.2
        mode = random_mode(rng, systems[1], q)
        one, other = (flow_of(prepare(own.world, mode)) for own in systems)
        assert one.arc.compiled is not None
        try:
            if np.abs(other.rebased(t, x).motion(t, x).forces).max() > CLEARLY:
                continue
        except SingularError:
            continue
        one, other = (flow.rebased(t, x) for flow in (one, other))
        looked += 1
        compiled, python = (flow.motion(t, x) for flow in (one, other))
        assert off(compiled.acceleration, python.acceleration) < same
        assert off(compiled.forces, python.forces) < same
        assert one.cruise is not None
        assert off(one.guards(t, x), other.guards(t, x)) < same
        looks, expected = (flow.guard_motions(t, x, one.table.gaps) for flow in (one, other))
        assert off(looks.values, expected.values) < same
        assert off(looks.rates, expected.rates) < same
        assert [piece is None for piece in looks.pieces] == [piece is None for piece in expected.pieces]
    assert looked > 60


@pytest.mark.parametrize("ground", ["flat", "belt", "slope"])
def test_derivatives_of_every_mode_are_those_of_python(ground: str) -> None:
    """Of accelerations, forces and contact velocities by (q, v), which Python takes by complex steps."""
    system, rng, looked = cs.ContactSystem(wheel_and_egg(), terrain=GROUNDS[ground]), np.random.default_rng(4), 0
    systems = [system.on_engine(name) for name in ("native", "python")]
    world = systems[1].world
    for k in range(60):
        q = world.mechanism.space.integrate(system.robot.nominal, rng.normal(size=world.nv))
        if k % 2:
            q = laid_flat(system, q, rng.uniform(0.01, 0.6))
        x, mode = np.concatenate([q, rng.normal(size=world.nv)]), random_mode(rng, systems[1], q)
        try:
            one, other = (flow_of(prepare(own.world, mode)).rebased(0.0, x) for own in systems)
            if np.abs(other.motion(0.0, x).forces).max() > CLEARLY:
                continue
        except SingularError:
            continue
        looked += 1
        assert one.arc.compiled is not None
        found = one.arc.compiled.driven_derivatives(0.0, x, one._directions, one.references.straight)
        expected = other._sensitivity(0.0, x)
        assert found is not None and expected is not None
        wanted = expected.acceleration_x, expected.forces_x, expected.rates_x
        for own, known in zip(found, wanted, strict=True):
            assert off(own, known) < DERIVATIVE
    assert looked > 30


def laid_flat(system: cs.ContactSystem, q: Array, tilt: float) -> Array:
    """A configuration where the rim of the body is tilted by an angle against the ground."""
    contact = system.world.mechanism._curved.contacts[0]
    normal, turn = np.array(system.terrain.constant_normal()), pin.Quaternion(q[3:7]).matrix()
    axis = turn @ contact.disc.axis
    across = np.cross(axis, normal)
    across /= np.linalg.norm(across)
    angle = np.arctan2(np.linalg.norm(np.cross(axis, normal)), axis @ normal) - tilt
    found = q.copy()
    found[3:7] = pin.Quaternion(pin.exp3(angle * across) @ turn).coeffs()
    return found


@pytest.mark.parametrize("name", RUNS)
def test_runs_are_those_of_python(name: str) -> None:
    """Event by event, and in their states; the compiled engine takes all steps."""
    (make, end), found = RUNS[name], []
    system, state = make()
    for engine in ("native", "python"):
        found.append(cs.simulate(system, state, (0.0, end), engine=engine, tolerances=TIGHT))
    one, other = found
    assert one.status is other.status is cs.Status.FINISHED
    # Ends of bounces are told by Python alone where the engine resolves their last event.
    events = [[event for event in run.all_events if event.fired != {"clock"}] for run in (one, other)]
    assert [event.fired for event in events[0]] == [event.fired for event in events[1]]
    assert max(abs(a.time - b.time) for a, b in zip(one.events, other.events, strict=True)) < TIME
    assert off(one.final_x, other.final_x) < RUN
    assert all(system.on_engine("native").flow(arc.mode).arc.compiled is not None for arc in one.arcs)


@pytest.mark.parametrize("name", RUNS)
def test_each_event_is_resolved_as_in_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one call."""
    counts, (make, end) = compared(monkeypatch), RUNS[name]
    system, state = make()
    cs.simulate(system, state, (0.0, end), engine="native")
    assert counts.asked > 0
    assert counts.answered > 0.9 * counts.asked


@pytest.mark.parametrize("name", ["rolling", "plane", "egg"])
def test_derivatives_of_runs_are_those_of_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Along arcs, and through impacts, stops and slips."""
    (make, end), found = RUNS[name], []
    system, state = make()
    for engine in ("native", "python"):
        found.append(cs.linearize(cs.simulate(system, state, (0.0, end), engine=engine, tolerances=TIGHT)).matrix())
    assert off(*found) < MATRIX
    counts = compared(monkeypatch)
    cs.linearize(cs.simulate(system, state, (0.0, end), engine="native")).matrix()
    assert counts.known > 0.5 * counts.differentiated > 0


@pytest.mark.parametrize(("name", "end"), [("rolling", 0.02), ("upright", 0.05), ("tilted", 0.065), ("egg", 0.12)])
def test_runs_on_ground_that_gives_way_are_those_of_python(name: str, end: float) -> None:
    """Where rims are spheroids, and the points of a disc touch at any tilt."""
    system, state = RUNS[name][0]()
    soft, found, ends = cs.ContactSystem(system.robot, law="hunt-crossley"), [], []
    for engine in ("native", "python"):
        run = cs.simulate(soft, state, (0.0, end), engine=engine)
        assert run.status is cs.Status.FINISHED
        ends.append(run.final_x)
        found.append([event.fired for event in run.all_events])
    assert found[0] == found[1]
    assert len(found[0]) > 0
    assert off(*ends) < RUN
    assert all(soft.on_engine("native").flow(arc.mode).cruise is not None for arc in run.arcs)
