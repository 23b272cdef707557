"""Bodies against bodies: closed forms, conservation laws, and derivatives against differences of the simulation."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest
from builders import TIGHT, G, impacts, unit

import contactsim as cs
from contactsim.hybrid.differences import tangent_derivative
from contactsim.multibody.part_controllers import JointControllers
from contactsim.multibody.zero import RIM

ARRAYS = 50e6  # bytes, of sixteen balls on a box; it took 450 MB where an array had the square of their velocities

Array = np.ndarray

CONSERVED = 1e-10  # N s and N m s, jump of the momentum and of the moment of momentum at an impact
IMPACT = 1e-9  # m/s and rad/s, velocities after an impact against Newton's and Coulomb's laws
ROLL = 1e-8  # m/s, rolling under constant force; and m
ANGLE = 1e-8  # cosine of the angle at which a ball leaves another one
STEEP = 5e-4  # the same for a large, not an infinite, coefficient of friction: it slips for the last millisecond
BEADS = 1e-9  # s and m/s, published to 15 digits
DERIVATIVE = 1e-6  # relative to the largest entry, against differences of the simulation
FINE = cs.Tolerances(rtol=1e-10, atol=1e-11)
DEEP = cs.terrain.Flat(-100.0)  # m, a ground that nothing reaches


def pose(x: float, y: float, z: float, turn: Array | None = None) -> Array:
    return pin.SE3ToXYZQUAT(pin.SE3(np.eye(3) if turn is None else pin.exp3(turn), np.array([x, y, z])))


def momentum(robot: cs.Robot, state: cs.State) -> Array:
    """Momentum (3,), and moment of momentum (3,) about the common centre of mass."""
    data = robot.model.createData()
    return pin.computeCentroidalMomentum(robot.model, data, state.q, state.v).vector.copy()


def world_velocity(state: cs.State, part: object) -> tuple[Array, Array]:
    """Velocity of the centre and spin, world axes, of a free body."""
    turn = pin.XYZQUATToSE3(state.q[part.q]).rotation
    v = state.v[part.v]
    return turn @ v[:3], turn @ v[3:]


def difference(system: cs.ContactSystem, state: cs.State, end: float, dx: Array, step: float) -> Array:
    """Derivative of the final state along dx, of fourth order."""
    space, x0 = system.space(), system.pack(state)
    middle = cs.simulate(system, state, (0.0, end), tolerances=cs.Tolerances(**TIGHT)).final_x

    def moved(h: float) -> Array:
        start = system.state(space.integrate(x0, h * dx))
        run = cs.simulate(system, start, (0.0, end), tolerances=cs.Tolerances(**TIGHT))
        return space.difference(middle, run.final_x)

    return (8.0 * (moved(step) - moved(-step)) - (moved(2.0 * step) - moved(-2.0 * step))) / (12.0 * step)


def check_derivative(
    system: cs.ContactSystem, state: cs.State, end: float, directions: list[Array], step: float = 1e-4
) -> None:
    run = cs.simulate(system, state, (0.0, end), tolerances=cs.Tolerances(**TIGHT))
    matrix = cs.linearize(run).matrix()
    for dx in directions:
        expected = difference(system, state, end, dx, step)
        assert np.abs(matrix @ dx - expected).max() <= DERIVATIVE * np.abs(expected).max()


# --- impacts of free bodies -----------------------------------------------------------------------------------------
def thrown(seed: int) -> tuple[cs.Robot, cs.State]:
    """A ball thrown at a tumbling box, at another ball, or a box at a box, without gravity."""
    rng = np.random.default_rng(seed)
    coefficients = {"friction": rng.uniform(0.0, 1.0), "restitution": rng.uniform(0.0, 1.0)}
    ball = cs.Robot.sphere(rng.uniform(0.5, 2.0), 0.1, **coefficients)
    box = cs.Robot.box(rng.uniform(0.5, 2.0), (0.3, 0.2, 0.4), **coefficients)
    other = cs.Robot.sphere(rng.uniform(0.5, 2.0), 0.2, **coefficients)
    first, second = ((ball, box), (ball, other), (box, box))[seed % 3]
    world = cs.Robot.merge([first, second], names=["a", "b"])
    away = unit(rng.normal(size=3))
    speed = -3.0 * away + 0.1 * rng.normal(size=3)
    turns = rng.normal(size=(2, 3))
    own = pin.exp3(turns[0]).T @ speed
    start = {
        "a": (pose(*away, turns[0]), [*own, *rng.normal(size=3)]),
        "b": (pose(0.0, 0.0, 0.0, turns[1]), [0.0, 0.0, 0.0, *rng.normal(size=3)]),
    }
    return world, cs.State(*world.pack(start))


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow_in_python) for seed in range(6, 18))]
)
def test_impacts_keep_momentum_and_its_moment(seed: int) -> None:
    world, state = thrown(seed)
    run = cs.simulate(cs.ContactSystem(world, DEEP, gravity=(0, 0, 0)), state, (0.0, 0.6))
    assert run.status.complete
    hits = [event for event in run.events if event.impulses]
    assert hits
    for event in hits:
        jump = momentum(world, event.state_post) - momentum(world, event.state_pre)
        assert np.abs(jump).max() <= CONSERVED
    run.check()


@pytest.mark.parametrize("friction", [0.05, 5.0])
def test_two_billiard_balls(friction: float) -> None:
    """Newton's and Coulomb's laws: the contact's inertia is 1/m along the normal and 7/2 of that across, 1/m summed."""
    masses, radii, e = (0.8, 1.7), (0.1, 0.15), 0.7
    balls = [cs.Robot.sphere(m, r, friction=friction, restitution=e) for m, r in zip(masses, radii, strict=True)]
    world = cs.Robot.merge(balls, names=["a", "b"])
    state = cs.State(
        *world.pack({"a": (pose(0, 0, 0), [3, 0.2, 0.1, 1, 20, -7]), "b": (pose(1, 0.1, 0.05), [-1, 0, 0, 3, -4, 5])})
    )
    run = cs.simulate(cs.ContactSystem(world, DEEP, gravity=(0, 0, 0)), state, (0.0, 0.5))
    (event,) = run.events
    (va, wa), (vb, wb) = (world_velocity(event.state_pre, part) for part in world.parts.values())
    ca, cb = (event.state_pre.q[part.q][:3] for part in world.parts.values())
    n = unit(ca - cb)
    u = (va - radii[0] * np.cross(wa, n)) - (vb + radii[1] * np.cross(wb, n))
    lightness = sum(1.0 / m for m in masses)
    normal = -(1.0 + e) * (n @ u) / lightness
    across = u - (n @ u) * n
    tangential = -across / (3.5 * lightness)
    if np.linalg.norm(tangential) > friction * normal:
        tangential = -friction * normal * unit(across)
    impulse = normal * n + tangential
    expected = {
        "a": (va + impulse / masses[0], wa - np.cross(n, impulse) / (0.4 * masses[0] * radii[0])),
        "b": (vb - impulse / masses[1], wb - np.cross(n, impulse) / (0.4 * masses[1] * radii[1])),
    }
    for name, part in world.parts.items():
        for found, right in zip(world_velocity(event.state_post, part), expected[name], strict=True):
            assert np.abs(found - right).max() <= IMPACT
    assert np.allclose(event.impulses["a/ball+b/ball"], impulse, atol=IMPACT)


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_cradle_under_newtons_law_for_all_contacts_at_once(e: float) -> None:
    """Three equal balls, the last two touching: ((1 - 2 e)/3, (1 + e)/3, (1 + e)/3)."""
    ball = cs.Robot.sphere(1.0, 0.1, friction=0.0, restitution=e)
    world = cs.Robot.merge([ball] * 3, names=["a", "b", "c"])
    places = {"a": -0.5, "b": 0.0, "c": 0.2}
    state = world.pack({name: (pose(x, 0, 0), [name == "a", 0, 0, 0, 0, 0]) for name, x in places.items()})
    run = cs.simulate(cs.ContactSystem(world, DEEP, gravity=(0, 0, 0)), state, (0.0, 0.35))
    found = [run.final.v[part.v][0] for part in world.parts.values()]
    assert np.allclose(found, [(1 - 2 * e) / 3, (1 + e) / 3, (1 + e) / 3], atol=IMPACT)


def test_bead_column_of_siconos() -> None:
    """BeadColumn: ten beads dropped 0.05 m, e = 1, Newton's law for all at once."""
    count, radius, drop = 10, 0.005, 0.05
    bead = cs.Robot.sphere(1.0, radius, friction=0.0, restitution=1.0)
    names = [f"bead{k}" for k in range(count)]
    neighbours = [cs.ContactPair(above, below) for below, above in pairwise(names)]
    world = cs.Robot.merge([bead] * count, names=names, pairs=neighbours)
    start = {name: (pose(0, 0, drop + radius * (2 * k + 1)), np.zeros(6)) for k, name in enumerate(names)}
    run = cs.simulate(cs.ContactSystem(world), world.pack(start), (0.0, 0.101))
    event = next(event for event in run.events if event.impulses)
    assert abs(event.time - 0.100963755469230) <= BEADS
    for part in world.parts.values():
        assert abs(event.state_post.v[part.v][2] - 0.990454441153151) <= BEADS


# --- rolling --------------------------------------------------------------------------------------------------------
def rolling_on_plank(friction: float = 0.8) -> tuple[cs.Robot, Callable[[float, Array, Array], Array]]:
    """A ball on a plank; a force on the plank, in its own axes, pulls it with 2 N over smooth ground."""
    plank = cs.Robot.box(3.0, (4.0, 1.0, 0.2), friction=0.0, name="plank")
    ball = cs.Robot.sphere(1.0, 0.1)
    world = cs.Robot.merge([plank, ball], pairs=[cs.ContactPair("ball", "plank", friction=friction)])
    return world, lambda t, q, v: np.concatenate([[2.0], np.zeros(world.nv - 1)])


def test_ball_on_an_accelerated_plank() -> None:
    """Rolling without slip, the ball gains 2/7 of the plank's acceleration F / (M + 2 m/7)."""
    world, pull = rolling_on_plank()
    start = world.pack({"plank": (pose(0, 0, 0.1), np.zeros(6)), "ball": (pose(0, 0, 0.3), np.zeros(6))})
    run = cs.simulate(cs.ContactSystem(world, controller=pull), start, (0.0, 0.8))
    acceleration = 2.0 / (3.0 + 2.0 / 7.0)
    for name, share in (("plank", 1.0), ("ball", 2.0 / 7.0)):
        velocity, _ = world_velocity(run.final, world.parts[name])
        assert np.allclose(velocity, [0.8 * share * acceleration, 0, 0], atol=ROLL)
        assert abs(run.final.q[world.parts[name].q][0] - 0.32 * share * acceleration) <= ROLL
    assert run.mode_at(0.5)["ball/ball+plank/plank"] is cs.Mode.STICK
    run.check()


def ball_on_ball(friction: float, start: float = 0.1) -> tuple[cs.Trajectory, Callable[[cs.State], float]]:
    """A ball from rest near the top of a fixed one; the function is the cosine of its angle from the top."""
    below = cs.Robot.sphere(1.0, 1.0, root="fixed", friction=friction)
    above = cs.Robot.sphere(1.0, 0.25, friction=friction)
    world = cs.Robot.merge([below, above], names=["below", "above"])
    state = world.pack({"above": (pose(1.25 * np.sin(start), 0, 1.25 * np.cos(start)), np.zeros(6))})
    run = cs.simulate(cs.ContactSystem(world, DEEP), state, (0.0, 1.6), tolerances=FINE)
    run.check()
    return run, lambda state: float(state.q[2] / np.linalg.norm(state.q[:3]))


def test_a_smooth_ball_leaves_a_ball_at_two_thirds() -> None:
    run, cosine = ball_on_ball(0.0)
    (leaving,) = run.events
    assert leaving.transitions["above/ball+below/ball"][1] is cs.Mode.OPEN
    assert abs(cosine(leaving.state_pre) - 2.0 / 3.0 * np.cos(0.1)) <= ANGLE


def test_a_rolling_ball_slips_and_leaves_a_ball() -> None:
    """N = m g (17 c - 10 c0) / 7 and T = 2/7 m g s; as friction grows it leaves at c = 10/17 c0."""
    friction = 50.0
    run, cosine = ball_on_ball(friction)
    slipping, leaving = run.events[0], run.events[-1]
    c = cosine(slipping.state_pre)
    assert slipping.transitions["above/ball+below/ball"] == (cs.Mode.STICK, cs.Mode.SLIP)
    assert abs(2.0 * np.sqrt(1.0 - c * c) / friction - (17.0 * c - 10.0 * np.cos(0.1))) <= ANGLE
    assert abs(cosine(leaving.state_pre) - 10.0 / 17.0 * np.cos(0.1)) <= STEEP


def test_a_ball_rolls_over_the_edge_of_a_table() -> None:
    """Energy is kept while it rolls from the face onto the edge; the change of region is an event of its own."""
    world, state = over_the_edge()
    run = cs.simulate(cs.ContactSystem(world, cs.terrain.Flat(-1.0)), state, (0.0, 0.6))
    (change,) = run.all_events
    assert abs(change.time - 0.5) <= ROLL
    assert change.mode_pre.contacts[1].region == (0, 0, 1)
    assert change.mode_post.contacts[1].region == (1, 0, 1)
    energies = [run.system.mechanism.energy(run(t).q, run(t).v) for t in (0.0, 0.49, 0.55, 0.6)]
    assert np.ptp(energies) <= ROLL
    edge = np.array([0.5, 0.2 - 0.1])
    assert abs(np.linalg.norm(run.final.q[[0, 2]] - edge) - 0.1) <= ROLL
    run.check()


def over_the_edge() -> tuple[cs.Robot, cs.State]:
    table = cs.Robot.box(1.0, (1.0, 1.0, 0.2), root="fixed", name="table")
    world = cs.Robot.merge([table, cs.Robot.sphere(1.0, 0.1)])
    start = {"ball": (pose(0.35, 0.03, 0.2), [0.3, 0.05, 0.0, -0.5, 3.0, 0.0])}
    return world, cs.State(*world.pack(start))


def test_a_point_runs_off_a_platform() -> None:
    """A point foot leaves the face of a box RIM beyond its edge, and falls."""
    body = cs.Robot.box(1.0, (1.0, 1.0, 0.2), root="fixed", name="table", friction=0.0)
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), "slide")
    model.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), np.zeros((3, 3))), pin.SE3.Identity())
    model.addFrame(pin.Frame("mass", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    world = cs.Robot.merge([body, cs.Robot(model, [cs.ContactPoint("mass", friction=0.0)])], names=["table", "point"])
    run = cs.simulate(cs.ContactSystem(world, DEEP), world.pack({"point": ([0.2, 0, 0.1], [1.0, 0, 0])}), (0.0, 0.5))
    (event,) = run.events
    assert abs(event.time - 0.3 - RIM) <= ROLL
    assert event.transitions["point/mass+table/table"][1] is cs.Mode.OPEN
    assert np.allclose(run.final.q[:3], [0.7, 0.0, 0.1 - 0.5 * G * 0.04], atol=RIM)


def test_ball_dropped_on_a_box_that_stands() -> None:
    """The box rests on a rough ground: the ball bounces as from a wall, with the smaller restitution of the two."""
    crate = cs.Robot.box(2.0, (0.4, 0.4, 0.3), friction=0.5, name="crate")
    ball = cs.Robot.sphere(0.5, 0.1, friction=0.5, restitution=0.6)
    world = cs.Robot.merge([crate, ball])
    bouncing = world.with_pairs([cs.ContactPair("ball", "crate", restitution=0.6)])
    start = world.pack({"crate": (pose(0, 0, 0.15), np.zeros(6)), "ball": (pose(0, 0, 0.6), np.zeros(6))})
    fall = np.sqrt(2.0 * 0.2 / G)
    for robot, e in ((world, 0.0), (bouncing, 0.6)):
        run = cs.simulate(cs.ContactSystem(robot), start, (0.0, fall + 0.1))
        event = run.events[0]
        assert abs(event.time - fall) <= ROLL
        assert abs(event.state_post.v[world.parts["ball"].v][2] - e * G * fall) <= IMPACT
        assert np.abs(event.state_post.v[world.parts["crate"].v]).max() <= IMPACT
        assert abs(event.impulses["crate/crate/0"][2] - 0.25 * 0.5 * (1.0 + e) * G * fall) <= IMPACT
        run.check()


def gripper(push: float) -> tuple[cs.Robot, Callable[[float, Array, Array], Array]]:
    """Two jaws that slide along x and press a ball between them with `push` each, against its weight."""
    jaws = []
    for _ in range(2):
        model = pin.Model()
        joint = model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "slide")
        model.appendBodyToJoint(joint, pin.Inertia(0.5, np.zeros(3), 0.01 * np.eye(3)), pin.SE3.Identity())
        model.addFrame(pin.Frame("jaw", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
        jaw = cs.Robot(model, contacts=[])
        jaw._solids = (cs.Solid("jaw", "box", (0.1, 0.2, 0.2), friction=0.5, restitution=0.0),)
        jaws.append(jaw)
    world = cs.Robot.merge([*jaws, cs.Robot.sphere(1.0, 0.1, friction=0.5)], names=["left", "right", "ball"])
    return world, lambda t, q, v: np.concatenate([[push, -push], np.zeros(6)])


@pytest.mark.parametrize("push", [15.0, 8.0])
def test_a_gripper_holds_a_ball_or_lets_it_slide(push: float) -> None:
    """Friction carries the weight while 2 mu F > m g; below, the ball slides down with g - 2 mu F / m."""
    world, press = gripper(push)
    start = world.pack({"left": ([-0.15], [0.0]), "right": ([0.15], [0.0]), "ball": (pose(0, 0, 0), np.zeros(6))})
    run = cs.simulate(cs.ContactSystem(world, DEEP, controller=press), start, (0.0, 0.2))
    forces = [run.forces(0.1)[f"ball/ball+{jaw}/jaw"] for jaw in ("left", "right")]
    carried = min(0.5 * G, 0.5 * push)
    assert np.allclose(forces, [[push, 0, carried], [-push, 0, carried]], atol=ROLL)
    velocity, spin = world_velocity(run.final, world.parts["ball"])
    assert np.allclose(velocity, [0, 0, 0.2 * (2.0 * carried - G)], atol=ROLL)
    assert np.allclose(spin, 0.0, atol=ROLL)
    run.check()


# --- derivatives ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_derivative_through_an_impact(seed: int) -> None:
    """Ball on box, ball on ball; slipping and sticking impacts of tumbling bodies."""
    world, state = thrown(seed)
    system = cs.ContactSystem(world, DEEP, gravity=(0, 0, 0))
    end = impacts(cs.simulate(system, state, (0.0, 0.6)))[0] + 0.05
    rng = np.random.default_rng(seed)
    check_derivative(system, state, end, [rng.normal(size=2 * world.nv) for _ in range(2)])


def test_derivative_of_rolling_over_an_edge() -> None:
    """Variations that keep the ball on the table and rolling; the end is on the edge."""
    world, state = over_the_edge()
    rng, directions = np.random.default_rng(0), []
    for _ in range(2):
        (x, y), (vx, vy) = rng.normal(size=(2, 2))
        directions.append(np.array([x, y, 0, 0, 0, 0, vx, vy, 0, -vy / 0.1, vx / 0.1, 0]))
    check_derivative(cs.ContactSystem(world, cs.terrain.Flat(-1.0)), state, 0.6, directions)


@pytest.mark.parametrize("friction", [0.8, 0.004])
def test_derivative_on_a_moving_plank(friction: float) -> None:
    """Ball thrown onto a plank that turns in the air, pushed up along its own axis: it rolls at once, or slips."""
    world, _ = rolling_on_plank(friction)

    def lift(t: float, q: Array, v: Array) -> Array:
        return np.concatenate([[2.0, 0.0, 60.0], np.zeros(world.nv - 3)])

    system = cs.ContactSystem(world, DEEP, controller=lift)
    start = {
        "plank": (pose(0, 0, 0), [0, 0, 0.1, 0.1, 0.05, 0.2]),
        "ball": (pose(0, 0.1, 0.3), [0.4, 0.2, -1, 0, 1, 3]),
    }
    state = cs.State(*world.pack(start))
    run = cs.simulate(system, state, (0.0, 0.25))
    expected = cs.Mode.STICK if friction > 0.5 else cs.Mode.SLIP
    assert run.mode_at(0.22)["ball/ball+plank/plank"] is expected
    rng = np.random.default_rng(1)
    check_derivative(system, state, 0.25, [rng.normal(size=2 * world.nv) for _ in range(2)])


def test_guard_of_a_region_has_its_gradient() -> None:
    world, state = over_the_edge()
    run = cs.simulate(cs.ContactSystem(world, cs.terrain.Flat(-1.0)), state, (0.0, 0.55))
    system, space = run.system, run.system.space()
    for arc, t in ((run.arcs[0], 0.3), (run.arcs[1], 0.52)):
        flow = system.flow(arc.mode)
        flow.rebase(t, arc(t))
        sides = [name for name in flow.guard_names if str(name[0]).startswith("side")]
        assert sides
        rows = [flow.guard_names.index(name) for name in sides]
        differenced = tangent_derivative(lambda x, f=flow, t=t, r=rows: f.guards(t, x)[r], space, arc(t))
        assert np.allclose(flow.guard_jacobian(t, arc(t), sides), differenced, atol=1e-9)


def test_a_robot_kicks_a_ball() -> None:
    """A ball meets a foot of a hexapod in the air: momentum is kept; the derivative follows, by coefficients too."""
    robot = cs.load_robot("hexapod")
    world = cs.Robot.merge([robot, cs.Robot.sphere(0.3, 0.08, friction=0.5)], names=["hexapod", "ball"])
    world = world.with_pairs([cs.ContactPair("hexapod/lf", "ball", restitution=0.4)])
    hold = world.parts["hexapod"].drive(cs.PD(robot, robot.nominal, kp=20.0, kd=0.5))
    system = cs.ContactSystem(world, DEEP, gravity=(0, 0, 0), controller=hold)
    x, y, z = robot.contact_positions(robot.nominal)[0]
    ball = (pose(x + 0.1, y + 0.01, z - 0.02), [-2.0, 0.1, 0.1, 1, 2, 3])
    state = cs.State(*world.pack({"ball": ball}))
    run = cs.simulate(system, state, (0.0, 0.03), tolerances=FINE)
    (kick,) = run.events
    assert np.abs(momentum(world, kick.state_post) - momentum(world, kick.state_pre)).max() <= CONSERVED
    run.check()
    dx = np.random.default_rng(0).normal(size=2 * world.nv)
    lin = cs.linearize(run)
    expected = difference(system, state, 0.03, dx, 3e-5)
    assert np.abs(lin(dx) - expected).max() <= DERIVATIVE * np.abs(expected).max()
    for name in ("contact.hexapod/lf+ball/ball.restitution", "body.ball/ball.mass"):
        ends = [
            cs.simulate(system.with_parameter(name, system.parameter(name) + h), state, (0.0, 0.03), tolerances=FINE)
            for h in (1e-4, -1e-4)
        ]
        slope = system.space().difference(ends[1].final_x, ends[0].final_x) / 2e-4
        assert np.abs(lin.parameter(name).ravel() - slope).max() <= DERIVATIVE * max(1.0, np.abs(slope).max())


def test_two_robots_share_a_world() -> None:
    """Far apart they move as each alone; the one on the other's ground contacts is not touched."""
    robot = cs.load_robot("hexapod")
    alone = cs.ContactSystem(robot, controller=cs.PD(robot, robot.nominal, kp=150.0, kd=6.0))
    q = robot.nominal.copy()
    q[2] += 0.02
    single = cs.simulate(alone, (q, np.zeros(robot.nv)), (0.0, 0.12), tolerances=FINE)
    world = cs.Robot.merge([robot, robot], names=["a", "b"], placements=[None, (2.0, 0, 0)])
    both = JointControllers({name: world.parts[name].drive(alone.controller) for name in world.parts})
    start = world.pack({"a": (q, np.zeros(robot.nv)), "b": (q, np.zeros(robot.nv))})
    run = cs.simulate(cs.ContactSystem(world, controller=both), start, (0.0, 0.12), tolerances=FINE)
    for part in world.parts.values():
        assert np.allclose(run.final.q[part.q], single.final.q, atol=ROLL)
        assert np.allclose(run.final.v[part.v], single.final.v, atol=1e-6)
    run.check()


@pytest.mark.parametrize("side", [0.3, 0.2])
def test_a_box_dropped_on_a_box_stays_on_it(side: float) -> None:
    """Equal boxes, whose corners lie on each other's edges, and a smaller one; the weight is carried."""
    boxes = [
        cs.Robot.box(mass, size, friction=0.6) for mass, size in ((2.0, (0.3, 0.3, 0.2)), (1.0, (side, side, 0.2)))
    ]
    world = cs.Robot.merge(boxes, names=["low", "high"])
    start = {"low": (pose(0, 0, 0.1), np.zeros(6)), "high": (pose(0, 0, 0.35), np.zeros(6))}
    run = cs.simulate(cs.ContactSystem(world), world.pack(start), (0.0, 0.4))
    assert abs(run.events[0].time - np.sqrt(0.1 / G)) <= ROLL
    assert np.allclose(run.final.q[world.parts["high"].q], pose(0, 0, 0.3), atol=ROLL)
    forces = run.forces(0.3)
    on_high = sum(force for name, force in forces.items() if name.startswith("high/") and "+" in name)
    on_low = sum(force for name, force in forces.items() if name.startswith("low/") and "+" in name)
    assert np.allclose(on_high - on_low, [0, 0, G], atol=ROLL)
    run.check()


@pytest.mark.parametrize("aside", [0.0, 0.03])
@pytest.mark.parametrize("sunk", [0.0, 1e-8, 1e-3])
def test_a_box_slides_into_a_box_on_the_same_ground(sunk: float, aside: float) -> None:
    mu, ahead, speed = 0.3, 0.05, 1.0
    fixed = cs.Robot.box(1.0, (0.2, 0.2, 0.1), name="a", root="fixed", friction=mu, restitution=0.0)
    moving = cs.Robot.box(1.0, (0.2, 0.2, 0.1), name="b", friction=mu, restitution=0.0)
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.05 - sunk]))
    world = cs.Robot.merge([fixed, moving], names=["a", "b"], placements=[place, pin.SE3.Identity()])
    start = cs.State(*world.pack({"b": (pose(-0.2 - ahead, aside, 0.05), np.r_[speed, np.zeros(5)])}))
    run = cs.simulate(cs.ContactSystem(world), start, (0.0, 0.2))
    run.check()
    hit = next(event for event in run.events if event.impulses)
    assert abs(hit.time - (speed - np.sqrt(speed**2 - 2.0 * mu * G * ahead)) / (mu * G)) <= ROLL
    of_face = [force for name, force in hit.impulses.items() if name.endswith("+a/a")]  # and not of the bottom
    assert of_face and all(force[0] <= 0.0 for force in of_face)
    moving_part = world.parts["b"]
    before, after = (world_velocity(state, moving_part)[0] for state in (hit.state_pre, hit.state_post))
    on_b = sum(impulse if name.startswith("b/") else -impulse for name, impulse in hit.impulses.items())
    assert np.allclose(on_b, after - before, atol=IMPACT)  # of one kilogram
    assert on_b[0] < -0.1


@pytest.mark.parametrize("friction", [0.2, 0.5, 0.65, 0.8])
def test_a_box_falls_off_a_box_that_stands_on_its_ground(friction: float) -> None:
    fixed = cs.Robot.box(1.0, (0.2, 0.2, 0.1), name="a", root="fixed", friction=friction, restitution=0.0)
    moving = cs.Robot.box(1.0, (0.2, 0.2, 0.1), name="b", friction=friction, restitution=0.0)
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.05]))
    world = cs.Robot.merge([fixed, moving], names=["a", "b"], placements=[place, pin.SE3.Identity()])
    start = cs.State(*world.pack({"b": (pose(0.01, 0.01, 0.15), np.zeros(6))}))
    run = cs.simulate(cs.ContactSystem(world), start, (0.0, 0.4))
    assert run.status.complete, run.message
    run.check()


@pytest.mark.slow_in_python
def test_compliant_ball_on_a_turning_box() -> None:
    """A law of springs between bodies: derivative and momentum, without events of their regions."""
    world = cs.Robot.merge([cs.Robot.box(1.0, (0.4, 0.4, 0.2), friction=0.0), cs.Robot.sphere(0.5, 0.1, friction=0.0)])
    system = cs.ContactSystem(world, DEEP, law="spring-damper", gravity=(0, 0, 0))
    start = {"box": (pose(0, 0, 0), [0, 0, 0, 0.5, 0.2, 1]), "ball": (pose(0.05, 0.1, 0.21), [0.1, 0, -1, 2, 1, 0])}
    state = cs.State(*world.pack(start))
    run = cs.simulate(system, state, (0.0, 0.05), tolerances=FINE)
    assert any("ball/ball+box/box" in event.transitions for event in run.events)
    assert np.abs(momentum(world, run.final) - momentum(world, state)).max() <= 1e-8
    check_derivative(system, state, 0.05, [np.random.default_rng(2).normal(size=2 * world.nv)], step=3e-5)


def test_many_bodies_need_little_memory() -> None:
    """Arrays grow with the square of the bodies at most: sixteen balls on a box."""
    names = [f"ball{k}" for k in range(16)]
    robots = [cs.Robot.box(10.0, (8.0, 8.0, 0.2), name="box"), *(cs.Robot.sphere(1.0, 0.1) for _ in names)]
    world = cs.Robot.merge(robots, names=["box", *names], pairs=[cs.ContactPair(name, "box") for name in names])
    tracemalloc.start()
    try:
        cs.ContactSystem(world)
        assert tracemalloc.get_traced_memory()[1] < ARRAYS
    finally:
        tracemalloc.stop()
