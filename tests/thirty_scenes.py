"""Scenes of `thirty_runs`: robots, bodies, linkages, hills, laws and models, made by public names only."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin
from builders import G, planar_body, planar_mechanism, point_mass, sphere
from contactsim_plugins.laws.coulomb import Coulomb
from linkages import above_ground, five_bar_leg, four_bar, slider_crank

import contactsim as cs
from contactsim.io.scene import build, parse

Array = np.ndarray
DEEP = cs.terrain.Flat(-100.0)  # m, a ground that nothing reaches


@dataclass(frozen=True)
class Scene:
    """A system, where it starts, from when to when it runs, and what is asked of the run.

    Attributes:
        options: keyword arguments of `simulate`.
        steps: what a simulation is told on the way: (time, method, arguments).
        parameters: whose derivatives are kept.
        derive: whether derivatives are kept.
        rattles: whether rounding grows in it: many bounces, many contacts that change to and fro.
    """

    system: cs.HybridSystem
    state: Any
    span: tuple[float, float]
    options: dict[str, Any] = field(default_factory=dict)
    steps: tuple[tuple[float, str, tuple], ...] = ()
    parameters: tuple[str, ...] = ("contact.friction", "gravity")
    derive: bool = True
    rattles: bool = False


SCENES: dict[str, Callable[[], Scene]] = {}


def named(function: Callable[[], Scene]) -> Callable[[], Scene]:
    """Enter a scene by the name of its function."""
    SCENES[function.__name__.replace("_", "-")] = function
    return function


def pose(x: float, y: float, z: float, turn: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """Configuration (7,) of a free body, turned by a rotation vector [rad]."""
    return np.array([x, y, z, *pin.Quaternion(pin.exp3(np.array(turn, dtype=float))).coeffs()])


def standing(robot: cs.Robot, height: float, turn: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """Where a robot stands, its root turned, and the lowest contact `height` above level ground."""
    q = np.array(robot.nominal)
    q[:7] = pose(*q[:3], turn)
    q[2] += height - robot.contact_positions(q)[:, 2].min()
    return q


def held(robot: cs.Robot, kp: float, kd: float, period: float | None = None) -> cs.PD:
    """Motors that hold where a robot stands."""
    return cs.PD(robot, robot.nominal, kp=kp, kd=kd, period=period)


def told(text: str, end: float, **kept: Any) -> Scene:
    """The scene of a TOML text."""
    built = build(parse(text))
    return Scene(built.system, built.state, (0.0, end), dict(built.options), **kept)


# --- robots -----------------------------------------------------------------------------------------------------------
@named
def hexapod_demo() -> Scene:
    """Six feet land, and the robot stands."""
    return told('robot = {name = "hexapod"}', 0.25, parameters=())


@named
def biped_demo() -> Scene:
    return told('robot = {name = "biped"}', 1.0)


def solo12(drift: tuple[float, float], end: float, friction: float = 0.8, **kept: Any) -> Scene:
    """Round feet, motors, and a fall askew."""
    robot = cs.load_robot("solo12")
    system = cs.ContactSystem(robot, controller=held(robot, 30.0, 0.8)).with_parameter("contact.friction", friction)
    v = np.zeros(robot.nv)
    v[:3] = *drift, -0.4
    return Scene(system, cs.State(standing(robot, 0.01, (0.06, 0.1, 0.2)), v), (0.0, end), **kept)


@named
def solo12_lands() -> Scene:
    return solo12((0.0, 0.0), 0.06, 3.0)


@named
def solo12_rattles() -> Scene:
    """Two dozen events of all four feet."""
    return solo12((0.3, 0.1), 0.08, derive=False, rattles=True)


@named
def go2_demo() -> Scene:
    """Four feet land within a millimetre of each other."""
    return told('robot = {name = "go2"}\n[start]\nheight = 0.02', 0.09, parameters=())


@named
def anymal_askew() -> Scene:
    """Feet land one by one on a slope."""
    robot = cs.load_robot("anymal")
    ground = cs.terrain.Slope(0.1, (0.6, 0.8))
    system = cs.ContactSystem(robot, terrain=ground, controller=held(robot, 400.0, 10.0))
    v = np.zeros(robot.nv)
    v[:3] = 0.1, 0.2, -0.6
    return Scene(system, cs.State(standing(robot, 0.12, (0.1, 0.05, 0.0)), v), (0.0, 0.12))


@named
def hexapod_sampled() -> Scene:
    """Motors told every four milliseconds hold what they were told last."""
    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot, controller=held(robot, 80.0, 1.5, 0.004))
    return Scene(system, cs.State(standing(robot, 0.004, (0.05, 0.03, 0.0)), np.zeros(robot.nv)), (0.0, 0.06))


@named
def hexapod_pushed() -> Scene:
    """A push and another friction on the way."""
    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot, controller=held(robot, 80.0, 1.5)).with_parameter("contact.friction", 3.0)
    v = np.zeros(robot.nv)
    v[2] = -0.3
    trunk = max(robot.bodies, key=lambda name: robot.body_parameter(name, "mass"))
    steps = ((0.02, "push", (trunk, (30.0, 10.0, 0.0), 0.03)), (0.053, "set", ("contact.friction", 2.0)))
    return Scene(system, cs.State(standing(robot, 0.003, (0.04, 0.06, 0.0)), v), (0.0, 0.0615), steps=steps)


class Integral(cs.Controller):
    """Joints held at a reference by springs, dampers and an integral of the error."""

    def __init__(self, reference: Array) -> None:
        self.reference, self.memory = reference, len(reference)

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return 20.0 * (self.reference - q) - 2.0 * v + z

    def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return 40.0 * (self.reference - q)


def arm(controller: Any = None) -> cs.ContactSystem:
    """Three links on a wall whose joints have limits; the tip can touch the ground."""
    model, parent = pin.Model(), 0
    for k, axis in enumerate((pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRY())):
        place = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.5] if k == 0 else [0.3, 0.0, 0.0]))
        bounds = [np.array([x]) for x in (100.0, 100.0, -0.6, 0.9)]
        parent = model.addJoint(parent, axis, place, f"joint{k}", *bounds)
        inertia = pin.Inertia(1.0 / (k + 1), np.array([0.15, 0.0, 0.0]), np.diag([1e-3, 8e-3, 8e-3]))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        model.addFrame(pin.Frame(f"link{k}", parent, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    tip = cs.ContactPoint("link2", (0.3, 0.0, 0.0), friction=0.5, name="tip")
    return cs.ContactSystem(cs.Robot(model, [tip]), controller=controller)


@named
def arm_falls_on_its_limits() -> Scene:
    return Scene(arm(), cs.State([0.1, -0.2, 0.3], [0.8, 0.5, 0.2]), (0.0, 0.5))


@named
def arm_held_by_an_integral() -> Scene:
    """The controller has a state of its own, and the tip meets the ground."""
    reference = np.array([0.2, 0.6, 0.5])
    state = cs.State([0.0, 0.1, 0.2], np.zeros(3), np.zeros(3))
    return Scene(arm(Integral(reference)), state, (0.0, 0.6))


@named
def panda_falls() -> Scene:
    robot = cs.load_robot("panda")
    q = np.array(robot.nominal)
    return Scene(cs.ContactSystem(robot), cs.State(q, np.zeros(robot.nv)), (0.0, 0.4), parameters=("gravity",))


@named
def hexapod_among_balls() -> Scene:
    """Three bodies in one world: a ball flies into a standing robot, another rolls on the ground."""
    robot = cs.load_robot("hexapod")
    ball = cs.Robot.sphere(0.4, 0.06, friction=0.5, restitution=0.3)
    world = cs.Robot.merge([robot, ball, ball], names=["hexapod", "a", "b"])
    part = world.parts["hexapod"]
    hold = held(robot, 80.0, 1.5)

    def torque(t: float, q: Array, v: Array) -> Array:
        out = np.zeros(world.nv)
        out[part.v] = hold.torque(t, q[part.q], v[part.v], np.empty(0))
        return out

    start = {
        "hexapod": (standing(robot, 0.005, (0.05, 0.08, 0.0)), np.zeros(robot.nv)),
        "a": (pose(0.5, 0.0, 0.0605), [-2.0, 0.2, 0.0, 0.0, 0.0, 0.0]),
        "b": (pose(0.42, 0.3, 0.2), [0.1, -1.0, 0.0, 3.0, 0.0, 0.0]),
    }
    return Scene(
        cs.ContactSystem(world, controller=torque), cs.State(*world.pack(start)), (0.0, 0.05), parameters=("gravity",)
    )


# --- boxes and balls --------------------------------------------------------------------------------------------------
def crate(friction: float = 0.4, restitution: float = 0.0) -> cs.Robot:
    return cs.Robot.box(2.0, (0.4, 0.3, 0.2), friction=friction, restitution=restitution)


@named
def box_falls_on_a_corner() -> Scene:
    robot = crate()
    q = standing(robot, 0.02, (0.3, 0.5, 0.2))
    return Scene(cs.ContactSystem(robot), cs.State(q, [0.5, 0.2, -1.0, 1.0, -0.5, 0.3]), (0.0, 0.15))


@named
def box_lands_flat() -> Scene:
    """Four corners at once; the forces under them are not unique."""
    robot = crate(0.3)
    q = standing(robot, 0.05)
    return Scene(cs.ContactSystem(robot), cs.State(q, [0.8, 0.3, 0.0, 0.0, 0.0, 0.0]), (0.0, 0.4), parameters=())


@named
def box_slides_and_turns() -> Scene:
    robot = crate(0.35)
    v = [1.2, 0.0, 0.0, 0.0, 0.0, 2.5]
    return Scene(cs.ContactSystem(robot), cs.State(standing(robot, 0.0), v), (0.0, 0.25))


@named
def box_tumbles_down_a_slope() -> Scene:
    robot = crate(1.2)
    ground = cs.terrain.Slope(0.6, (1.0, 0.0))
    q = standing(robot, 0.25, (0.05, 0.9, 0.1))
    return Scene(cs.ContactSystem(robot, terrain=ground), cs.State(q, [0.8, 0.1, -0.5, 0.2, 3.0, 0.1]), (0.0, 0.5))


@named
def box_bounces_to_rest() -> Scene:
    robot = cs.Robot.box(1.0, (0.3, 0.2, 0.1), friction=0.6, restitution=0.2)
    q = standing(robot, 0.02, (0.1, 0.2, 0.0))
    return Scene(
        cs.ContactSystem(robot), cs.State(q, [0.3, 0.1, 0.0, 0.2, 0.4, 0.1]), (0.0, 0.5), parameters=(), rattles=True
    )


@named
def ball_bounces_to_rest() -> Scene:
    state = cs.State(pose(0.0, 0.0, 0.3), [0.4, 0.1, 0.0, 5.0, -8.0, 2.0])
    return Scene(cs.ContactSystem(sphere(0.3, 0.5)), state, (0.0, 1.0))


@named
def billiard_balls() -> Scene:
    balls = [
        cs.Robot.sphere(m, r, friction=0.2, restitution=0.7, root="free_flyer") for m, r in ((0.8, 0.1), (1.7, 0.15))
    ]
    world = cs.Robot.merge(balls, names=["a", "b"])
    start = {"a": (pose(0, 0, 0), [3, 0.2, 0.1, 1, 20, -7]), "b": (pose(1, 0.1, 0.05), [-1, 0, 0, 3, -4, 5])}
    system = cs.ContactSystem(world, DEEP, gravity=(0.0, 0.0, 0.0))
    return Scene(system, cs.State(*world.pack(start)), (0.0, 0.4), parameters=("contact.friction",))


@named
def cradle() -> Scene:
    """The middle one of three balls touches the last: two contacts in one impact.

    The last two neither approach nor part before it, so which side their restitution is differentiated on is rounding.
    """
    ball = cs.Robot.sphere(1.0, 0.1, friction=0.1, restitution=0.4)
    world = cs.Robot.merge([ball] * 3, names=["a", "b", "c"])
    start = {n: (pose(x, 0, 0), [n == "a", 0, 0, 0, 0, 3]) for n, x in (("a", -0.5), ("b", 0.0), ("c", 0.2))}
    system = cs.ContactSystem(world, DEEP, gravity=(0.0, 0.0, 0.0))
    return Scene(system, cs.State(*world.pack(start)), (0.0, 0.35), derive=False)


@named
def ball_on_a_crate() -> Scene:
    """A ball falls on a standing box, rolls on it, and over an edge."""
    ball = cs.Robot.sphere(0.5, 0.1, friction=0.5, restitution=0.3)
    box = cs.Robot.box(4.0, (0.4, 0.4, 0.3), friction=0.6, name="crate")
    world = cs.Robot.merge([box, ball])
    start = {"crate": (pose(0, 0, 0.15), np.zeros(6)), "ball": (pose(0.05, 0.02, 0.42), [0.9, 0.1, 0, 0, 0, 0])}
    return Scene(cs.ContactSystem(world), cs.State(*world.pack(start)), (0.0, 0.28), parameters=("gravity",))


@named
def box_on_a_table() -> Scene:
    """A box falls askew on a table and slides on it."""
    table = cs.Robot.box(1.0, (1.0, 1.0, 0.2), root="fixed", name="table", friction=0.4)
    box = cs.Robot.box(1.0, (0.3, 0.2, 0.1), friction=0.4)
    world = cs.Robot.merge([table, box])
    start = {"box": (pose(0.0, 0.0, 0.2, (0.1, 0.15, 0.2)), [0.6, 0.1, -0.5, 0.0, 0.3, 0.0])}
    return Scene(cs.ContactSystem(world, cs.terrain.Flat(-1.0)), cs.State(*world.pack(start)), (0.0, 0.069))


@named
def ball_rolls_over_an_edge() -> Scene:
    table = cs.Robot.box(1.0, (1.0, 1.0, 0.2), root="fixed", name="table")
    world = cs.Robot.merge([table, cs.Robot.sphere(1.0, 0.1)])
    start = {"ball": (pose(0.35, 0.03, 0.2), [0.3, 0.05, 0.0, -0.5, 3.0, 0.0])}
    return Scene(cs.ContactSystem(world, cs.terrain.Flat(-1.0)), cs.State(*world.pack(start)), (0.0, 0.6))


@named
def ball_leaves_a_ball() -> Scene:
    below = cs.Robot.sphere(1.0, 1.0, root="fixed", friction=0.4)
    world = cs.Robot.merge([below, cs.Robot.sphere(1.0, 0.25, friction=0.4)], names=["below", "above"])
    start = {"above": (pose(1.25 * np.sin(0.4), 0, 1.25 * np.cos(0.4)), np.zeros(6))}
    return Scene(cs.ContactSystem(world, DEEP), cs.State(*world.pack(start)), (0.0, 0.9), derive=False)


# --- linkages ---------------------------------------------------------------------------------------------------------
@named
def four_bar_turns() -> Scene:
    system = four_bar()
    state = system.close([0.3, 0.5, 1.2], [4.0, 0.0, 0.0])
    return Scene(system, state, (0.0, 0.5), parameters=("gravity",))


@named
def slider_crank_turns() -> Scene:
    system = slider_crank()
    state = system.close([0.4, -0.5, 0.5], [6.0, 0.0, 0.0])
    return Scene(system, state, (0.0, 0.5), parameters=("gravity",))


@named
def five_bar_leg_lands() -> Scene:
    system = five_bar_leg(friction=0.6)
    return Scene(system, above_ground(system, 0.5, 0.3), (0.0, 0.4))


@named
def five_bar_leg_slips_in_space() -> Scene:
    system = five_bar_leg(root="free_flyer", friction=0.2, restitution=0.2)
    return Scene(system, above_ground(system, 0.48, 1.5), (0.0, 0.25))


# --- hills ------------------------------------------------------------------------------------------------------------
HILLS = cs.terrain.Sinusoid(0.05, 4.0, 3.0)
GRID = np.linspace(-1.5, 2.5, 12)
BALL = [0.1, 0.2, 0.25, 0, 0, 0, 1]


def bowl(radius: float) -> cs.terrain.Function:
    """The lower half of a sphere."""

    def height(t: float, x: float, y: float) -> float:
        return radius - float(np.sqrt(radius**2 - x * x - y * y))

    def gradient(t: float, x: float, y: float) -> Array:
        return np.array([x, y]) / (radius - height(t, x, y))

    def hessian(t: float, x: float, y: float) -> Array:
        drop = radius - height(t, x, y)
        return np.eye(2) / drop + np.outer([x, y], [x, y]) / drop**3

    return cs.terrain.Function(height, gradient, hessian, curvature=1.0 / radius)


@named
def point_slips_on_hills() -> Scene:
    system = cs.ContactSystem(point_mass(0.4), terrain=HILLS)
    state = cs.State([0.1, 0.2, 0.15], [0.9, 0.5, 0.0])
    return Scene(system, state, (0.0, 0.7), parameters=("contact.friction", "terrain.a1"))


@named
def point_takes_off_from_a_crest() -> Scene:
    system = cs.ContactSystem(point_mass(0.05), terrain=cs.terrain.Sinusoid(0.1, 5.0, 0.5))
    return Scene(system, cs.State([0.1, 0.1, 0.05], [2.6, 0.1, 0.0]), (0.0, 0.6))


@named
def ball_on_a_height_field() -> Scene:
    ground = cs.terrain.HeightField(GRID, GRID, 0.03 * np.sin(3.1 * GRID)[:, None] * np.cos(2.3 * GRID))
    system = cs.ContactSystem(sphere(0.3, 0.2), terrain=ground)
    return Scene(system, cs.State(BALL, [0.8, 0.1, 0, 1, 2, 3]), (0.0, 0.5), parameters=("gravity",))


@named
def point_in_a_bowl() -> Scene:
    radius, start = 1.2, 0.4
    place = radius * np.array([np.sin(start), 0.0, 1.0 - np.cos(start)])
    system = cs.ContactSystem(point_mass(0.1), terrain=bowl(radius))
    return Scene(system, cs.State(place, [0.0, 0.7, 0.0]), (0.0, 0.8))


@named
def ball_on_a_shaken_hill() -> Scene:
    ground = cs.terrain.Moving(HILLS, cs.terrain.Oscillation((0.02, -0.01, 0.03), 1.5, 0.4))
    system = cs.ContactSystem(sphere(0.4, 0.6), terrain=ground)
    return Scene(
        system, cs.State(BALL, [0.4, 0.1, 0, 1, 2, 3]), (0.0, 0.4), parameters=("terrain.a1", "terrain.amplitude_z")
    )


@named
def block_on_a_shaken_table() -> Scene:
    """Stick, slip to one side, stick, slip to the other."""
    ground = cs.terrain.Moving(cs.terrain.Flat(), cs.terrain.Oscillation((0.03, 0.01, 0.0), 2.0))
    system = cs.ContactSystem(point_mass(0.4), terrain=ground)
    return Scene(system, cs.State(np.zeros(3), [0.12 * np.pi, 0.04 * np.pi, 0.0]), (0.0, 0.6))


@named
def planar_body_on_waves() -> Scene:
    robot = planar_body(1.0, 0.05, {"a": (-0.1, -0.1), "b": (0.1, -0.1)}, 0.4, 0.0)
    system = cs.ContactSystem(robot, terrain=cs.terrain.Sinusoid(0.03, 5.0, 0.0))
    return Scene(system, cs.State([0.1, 0.2, 0.1], [0.5, 0.0, 0.3]), (0.0, 0.5))


# --- laws -------------------------------------------------------------------------------------------------------------
def lawful(system: cs.ContactSystem, **parameters: float) -> cs.ContactSystem:
    """The system with parameters of its law."""
    for name, value in parameters.items():
        system = system.with_parameter(f"law.{name}", value)
    return system


@named
def frictionless_box() -> Scene:
    robot = crate()
    q = standing(robot, 0.12, (0.2, 0.1, 0.3))
    system = cs.ContactSystem(robot, terrain=cs.terrain.Slope(0.2), law="frictionless")
    return Scene(system, cs.State(q, [0.1, 0.0, 0.0, 0.3, 0.0, 0.0]), (0.0, 0.3), parameters=("gravity",))


@named
def poisson_ball() -> Scene:
    state = cs.State(pose(0.0, 0.0, 0.2), [1.0, 0.0, -1.0, 0.0, -30.0, 0.0])
    return Scene(cs.ContactSystem(sphere(0.2, 0.6), law="poisson"), state, (0.0, 0.5))


def rod(friction: float, restitution: float, law: str) -> cs.ContactSystem:
    """A rod with two tips in a vertical plane."""
    points = {"left": (-0.5, 0.0), "right": (0.5, 0.0)}
    return cs.ContactSystem(planar_mechanism(1.0, 1.0 / 12.0, points, friction, restitution), law=law)


@named
def energetic_rod() -> Scene:
    state = cs.State([0.0, 0.5, 0.6], [0.4, -1.0, 0.2])
    return Scene(rod(0.3, 0.5, "energetic"), state, (0.0, 0.4), parameters=("contact.friction",))


@named
def two_corners_at_once() -> Scene:
    """Two corners land at one instant, and the order of their impacts matters: the derivative has two pieces."""
    points = {"left": (-0.5, -0.2), "right": (0.5, -0.2)}
    system = cs.ContactSystem(planar_mechanism(1.0, 0.1, points, 2.0, 0.0))
    state = cs.State([0.0, 0.3, 0.0], [0.3, -2.0, 0.0])
    return Scene(system, state, (0.0, 0.2), parameters=("contact.friction",))


@named
def sequential_box() -> Scene:
    """Two corners land at one instant."""
    points = {"left": (-0.5, -0.2), "right": (0.5, -0.2)}
    mechanism = planar_mechanism(1.0, 0.1, points, 0.1, 0.5)
    state = cs.State([0.0, 0.3, 0.0], [0.3, -2.0, 0.0])
    return Scene(cs.ContactSystem(mechanism, law="sequential"), state, (0.0, 0.2), parameters=("contact.friction",))


@named
def sequential_balls() -> Scene:
    ball = cs.Robot.sphere(1.0, 0.1, friction=0.2, restitution=0.8)
    world = cs.Robot.merge([ball] * 3, names=["a", "b", "c"])
    start = {
        n: (pose(x, y, 0), [n == "a", 0, 0, 0, 0, 0]) for n, x, y in (("a", -0.5, 0), ("b", 0, 0.05), ("c", 0.19, 0.12))
    }
    system = cs.ContactSystem(world, DEEP, gravity=(0.0, 0.0, 0.0), law="sequential")
    return Scene(system, cs.State(*world.pack(start)), (0.0, 0.6), parameters=("contact.restitution",))


@named
def spring_damper_ball() -> Scene:
    system = lawful(cs.ContactSystem(sphere(0.4), law="spring-damper"), slip_speed=0.02)
    state = cs.State(pose(0.0, 0.0, 0.2), [0.5, 0.0, -1.0, 0.0, -10.0, 0.0])
    names = ("law.stiffness", "contact.friction")
    return Scene(system, state, (0.0, 0.3), {"integrator": "Radau9"}, parameters=names)


@named
def conservative_rod() -> Scene:
    system = lawful(rod(0.0, 0.0, "conservative"), stiffness=2e3)
    return Scene(system, cs.State([0.0, 0.5, 0.2], [0.4, -1.0, 0.2]), (0.0, 0.6), parameters=("law.stiffness",))


@named
def dissipative_rod() -> Scene:
    system = lawful(rod(0.0, 0.0, "dissipative"), stiffness=2e3, damping=20.0)
    return Scene(system, cs.State([0.0, 0.5, 0.0], [0.4, -1.0, 0.0]), (0.0, 0.6), parameters=("law.damping",))


@named
def switched_damping_rod() -> Scene:
    system = lawful(rod(0.0, 0.0, "switched-damping"), stiffness=2e3, damping=20.0)
    return Scene(system, cs.State([0.0, 0.5, 0.3], [0.4, -1.0, 0.1]), (0.0, 0.35), parameters=("law.damping",))


@named
def hunt_crossley_ball() -> Scene:
    system = lawful(cs.ContactSystem(sphere(0.4), law="hunt-crossley"), stiffness=2e5, slip_speed=0.02)
    state = cs.State(pose(0.0, 0.0, 0.15), [0.5, 0.0, -1.0, 0.0, -10.0, 0.0])
    return Scene(system, state, (0.0, 0.2), parameters=("law.stiffness", "law.damping"))


@named
def stribeck_breaks_away() -> Scene:
    """A block creeps under a growing force, and slides off."""
    model = point_mass()
    robot = model.with_contacts([cs.ContactPoint("mass", friction=0.3, static_friction=0.5, name="block")])

    def grow(t: float, q: Array, v: Array) -> Array:
        return np.array([G * t, 0.0, 0.0])

    system = lawful(cs.ContactSystem(robot, law="stribeck", controller=grow), stiffness=1e4, slip_speed=1e-3)
    return Scene(system, cs.State([0.0, 0.0, -G / 1e4], np.zeros(3)), (0.0, 0.6), parameters=("law.slip_speed",))


@named
def lugre_to_and_fro() -> Scene:
    """Bristles bend one way and the other; they are part of the state."""
    robot = point_mass().with_contacts([cs.ContactPoint("mass", friction=0.3, static_friction=0.4, name="block")])

    def shake(t: float, q: Array, v: Array) -> Array:
        return np.array([4.5 * np.sin(8.0 * t), 1.0 * np.cos(5.0 * t), 0.0])

    system = cs.ContactSystem(robot, law="lugre", controller=shake)
    state = cs.State([0.0, 0.0, -G / 2e4], np.zeros(3))
    return Scene(system, state, (0.0, 0.5), {"integrator": "Radau"}, parameters=("law.bristle_stiffness",))


# --- textbook mechanisms ----------------------------------------------------------------------------------------------
def pulled(pull: Callable[[float], float], **coefficients: float) -> cs.ContactSystem:
    """A unit mass on the ground in a plane, pulled sideways."""
    gap = cs.Gap(lambda t, q: q[1], lambda t, q: [0.0, 1.0], lambda t, q: [[1.0, 0.0]], name="block", **coefficients)
    mechanism = cs.Mechanism(2, lambda q: np.eye(2), lambda t, q, v: np.array([pull(t), -G]), [gap])
    return cs.ContactSystem(mechanism)


@named
def slip_reverses() -> Scene:
    system = pulled(lambda t: 6.0 * np.sin(9.0 * t), friction=0.3)
    return Scene(
        system, cs.State([0.0, 0.0], [0.5, 0.0]), (0.0, 1.5), {"integrator": "RK45"}, parameters=("contact.friction",)
    )


@named
def block_breaks_away() -> Scene:
    system = pulled(lambda t: 10.0 * t, friction=0.3, static_friction=0.5)
    return Scene(system, cs.State([0.0, 0.0], [0.0, 0.0]), (0.0, 0.8), parameters=("contact.block.static_friction",))


@named
def rocking_block() -> Scene:
    """A slender block falls from one corner on the other."""
    points = {"left": (-0.1, -0.4), "right": (0.1, -0.4)}
    mechanism = planar_mechanism(1.0, 0.057, points, 0.6, 0.0)
    turn = 0.15
    height = 0.1 * np.sin(turn) + 0.4 * np.cos(turn)
    state = cs.State([0.0, height, turn], np.zeros(3))
    return Scene(cs.ContactSystem(mechanism), state, (0.0, 1.2), parameters=("contact.friction",))


@named
def spinning_ball_comes_to_rest() -> Scene:
    """Infinitely many bounces, and then rolling."""
    gap = cs.Gap(
        lambda t, q: q[1] - 0.1,
        lambda t, q: [0.0, 1.0, 0.0],
        lambda t, q: [[1.0, 0.0, 0.1]],
        friction=0.2,
        restitution=0.5,
        name="ball",
    )
    mass, force = np.diag([1.0, 1.0, 0.004]), np.array([0.0, -G, 0.0])
    system = cs.ContactSystem(cs.Mechanism(3, lambda q: mass, lambda t, q, v: force, [gap]))
    return Scene(system, cs.State([0.0, 1.0, 0.0], [0.0, 0.0, 50.0]), (0.0, 1.6), parameters=("contact.friction",))


def between_walls(restitution: float) -> cs.ContactSystem:
    """A mass that falls between a floor and a ceiling."""
    gaps = [
        cs.Gap(lambda t, q: q[0], lambda t, q: [1.0], restitution=restitution, name="floor"),
        cs.Gap(lambda t, q: 1.5 - q[0], lambda t, q: [-1.0], restitution=restitution, name="ceiling"),
    ]
    return cs.ContactSystem(cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: np.array([-10.0]), gaps))


@named
def bounces_stop_at_their_end() -> Scene:
    options = {"accumulation": "stop"}
    state, names = cs.State([1.0], [3.0]), ("contact.restitution",)
    return Scene(between_walls(0.5), state, (0.0, 7.0), options, parameters=names)


@named
def too_many_bounces() -> Scene:
    state = cs.State([1.0], [10.0])
    return Scene(between_walls(0.8), state, (0.0, 7.0), {"max_events": 8}, parameters=("contact.restitution",))


@named
def painleve_rod() -> Scene:
    """No mode is admissible where it starts."""
    half, angle = 0.5, 1.1
    state = cs.State([0.0, half * np.sin(angle), angle], [-1.0, 0.0, 0.0])
    system = painleve(1.4).with_law(Coulomb(painleve="stop"))
    return Scene(system, state, (0.0, 1.0), parameters=())


@named
def rod_outside_the_paradox() -> Scene:
    half, angle = 0.5, 0.9
    state = cs.State([0.0, half * np.sin(angle), angle], [-0.5, 0.0, 0.0])
    return Scene(painleve(1.4), state, (0.0, 0.3), parameters=("contact.friction",))


def painleve(friction: float) -> cs.ContactSystem:
    """A slender rod that slides on its tip, under an angle to the ground."""
    half, mass, force = 0.5, np.diag([1.0, 1.0, 0.25 / 3.0]), np.array([0.0, -G, 0.0])
    tip = cs.Gap(
        lambda t, q: q[1] - half * np.sin(q[2]),
        lambda t, q: np.array([0.0, 1.0, -half * np.cos(q[2])]),
        lambda t, q: np.array([[1.0, 0.0, half * np.sin(q[2])]]),
        friction=friction,
        name="tip",
    )
    return cs.ContactSystem(cs.Mechanism(3, lambda q: mass, lambda t, q, v: force, [tip]))


# --- models and other hybrid systems ----------------------------------------------------------------------------------
@named
def slip_model() -> Scene:
    slip = cs.load_model("slip")
    return Scene(slip, slip.initial_state(), (0.0, 1.2), parameters=("k", "g_flight"))


@named
def compliant_hexapod_model() -> Scene:
    model = cs.load_model("compliant-hexapod")
    return Scene(model, model.initial_state(), (0.0, 0.35), parameters=())


class RimlessWheel(cs.Model):
    """Spokes of unit length, 2 alpha apart, roll down a slope: each impact is plastic, the next spoke takes over."""

    class Parameters(cs.ModelParameters):
        alpha: float = 0.3
        slope: float = 0.1

    class State(cs.ModelState):
        angle: float = 0.0
        rate: float = 0.6

    def field(self, t: float, x: Array, chart: Hashable) -> Array:
        return np.array([x[1], G * np.sin(x[0])])

    def boundaries(self, chart: Hashable) -> Sequence[cs.Boundary]:
        reach = self.parameters.alpha + self.parameters.slope
        return (cs.Boundary("spoke", lambda t, x: reach - x[0], gradient=lambda t, x: np.array([-1.0, 0.0])),)

    def reset(self, t: float, x: Array, chart: Hashable, fired: frozenset[Hashable]) -> cs.Transition:
        alpha = self.parameters.alpha
        turn = np.diag([1.0, np.cos(2.0 * alpha)])
        return cs.Transition(
            turn @ x - [2.0 * alpha, 0.0], "rolling", {"spoke": ("rolling", "rolling")}, derivative=lambda: turn
        )

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, "rolling")


@named
def rimless_wheel() -> Scene:
    wheel = RimlessWheel()
    return Scene(wheel, wheel.initial_state(), (0.0, 2.5), parameters=())


class Side(cs.Flow):
    """A mass on a spring, on a belt: (x, v), with friction by the sign of v - 0.2 only."""

    def __init__(self, sign: int) -> None:
        self.sign = sign
        self.guard_names = ("slower",) if sign > 0 else ("faster",)

    def field(self, t: float, x: Array) -> Array:
        return np.array([x[1], -x[0] - 0.5 * self.sign])

    def guards(self, t: float, x: Array) -> Array:
        return np.array([self.sign * (x[1] - 0.2)])


class Oscillator(cs.HybridSystem):
    """Modes +1 and -1: the mass is faster or slower than the belt."""

    def flow(self, mode: Any) -> cs.Flow:
        return Side(mode)

    def transition(self, t: float, x: Array, mode: Any, fired: frozenset[Hashable]) -> cs.Transition:
        return cs.Transition(x, -mode, {"mass": (mode, -mode)}, unmoved=True, still=True)

    def start(self, t: float, x: Array) -> cs.Transition:
        return cs.Transition(x, 1 if x[1] > 0.2 else -1)


@named
def slides_between_modes() -> Scene:
    options = {"integrator": "Radau"}
    return Scene(cs.Filippov(Oscillator()), np.array([0.8, -0.1]), (0.0, 9.0), options, parameters=())


@named
def changes_to_and_fro() -> Scene:
    """The same without sliding: the run ends where its events follow each other without end."""
    return Scene(Oscillator(), np.array([0.8, -0.1]), (0.0, 9.0), parameters=(), rattles=True)
