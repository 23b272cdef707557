"""Bodies that the tests share, each as a `cs.Robot` (pin.Model in memory) and, where useful, as a `cs.Mechanism`.

Planar bodies move in the vertical x-z plane with coordinates (x, z, theta), theta about +y: a body point (px, pz)
is at (x + px cos + pz sin, z - px sin + pz cos), so positive theta lowers the side of positive px.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

import contactsim as cs
from contactsim.contact.problem import ContactProblem

G = 9.81
TIGHT = {"rtol": 1e-12, "atol": 1e-13}
Array = np.ndarray


# --- pin.Model ------------------------------------------------------------------------------------------------------
def single_body(joint: pin.JointModel, mass: float, inertia: Sequence[float], name: str) -> pin.Model:
    """One body with principal moments `inertia` on one joint; its frame at the centre of mass is called `name`."""
    model = pin.Model()
    model.name = name
    index = model.addJoint(0, joint, pin.SE3.Identity(), f"{name}_joint")
    model.appendBodyToJoint(index, pin.Inertia(mass, np.zeros(3), np.diag(inertia)), pin.SE3.Identity())
    model.addFrame(pin.Frame(name, index, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    return model


def planar_joint() -> pin.JointModel:
    joint = pin.JointModelComposite()
    for part in (pin.JointModelPX(), pin.JointModelPZ(), pin.JointModelRY()):
        joint.addJoint(part, pin.SE3.Identity())
    return joint


def point_mass(friction: float = 0.3, restitution: float = 0.0, mass: float = 1.0) -> cs.Robot:
    model = single_body(pin.JointModelTranslation(), mass, (0.0, 0.0, 0.0), "mass")
    return cs.Robot(model, contacts=[cs.ContactPoint("mass", friction=friction, restitution=restitution, name="point")])


def sphere(
    friction: float = 0.3, restitution: float = 0.0, mass: float = 1.0, radius: float = 0.1, shape: float = 0.4
) -> cs.Robot:
    """Ball with moment of inertia shape * mass * radius^2 (0.4 solid, 2/3 shell, 1/2 disk, 1 hoop)."""
    moment = shape * mass * radius**2
    model = single_body(pin.JointModelFreeFlyer(), mass, (moment, moment, moment), "ball")
    contact = cs.ContactPoint("ball", radius=radius, friction=friction, restitution=restitution, name="ball")
    return cs.Robot(model, contacts=[contact])


def box(
    size: Sequence[float] = (0.4, 0.3, 0.2), friction: float = 0.3, restitution: float = 0.0, mass: float = 2.0
) -> cs.Robot:
    """Box with a contact point at each of its four lower corners."""
    x, y, z = size
    inertia = mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    model = single_body(pin.JointModelFreeFlyer(), mass, inertia, "box")
    contacts = [
        cs.ContactPoint(
            "box",
            offset=(sx * x / 2, sy * y / 2, -z / 2),
            friction=friction,
            restitution=restitution,
            name=f"{'rear' if sx < 0 else 'front'}_{'right' if sy < 0 else 'left'}",
        )
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    return cs.Robot(model, contacts=contacts)


def planar_body(
    mass: float, moment: float, points: dict[str, tuple[float, float]], friction: float, restitution: float
) -> cs.Robot:
    """Body in the vertical plane with contact points given in body coordinates (px, pz)."""
    model = single_body(planar_joint(), mass, (moment, moment, moment), "body")
    contacts = [
        cs.ContactPoint("body", offset=(px, 0.0, pz), friction=friction, restitution=restitution, name=name)
        for name, (px, pz) in points.items()
    ]
    return cs.Robot(model, contacts=contacts)


def pendulum(mass: float, length: float, moment: float, height: float, friction: float, restitution: float) -> cs.Robot:
    """Rod on a pivot at `height`: hangs down at theta = 0, its tip is a contact point."""
    model = pin.Model()
    model.name = "pendulum"
    index = model.addJoint(0, pin.JointModelRY(), pin.SE3(np.eye(3), np.array([0.0, 0.0, height])), "pivot")
    inertia = pin.Inertia(mass, np.array([0.0, 0.0, -length / 2]), np.diag([moment, moment, 1e-3 * moment]))
    model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    model.addFrame(pin.Frame("rod", index, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    tip = cs.ContactPoint("rod", offset=(0, 0, -length), friction=friction, restitution=restitution, name="tip")
    return cs.Robot(model, contacts=[tip])


def random_tree(seed: int, bodies: int = 7) -> pin.Model:
    """Free-floating tree of random bodies on random joints of every kind.

    Joints are added depth first: pinocchio's crba is silently wrong for a model in another order.
    """
    rng = np.random.default_rng(seed)
    kinds = [
        pin.JointModelRX,
        pin.JointModelRY,
        pin.JointModelPZ,
        pin.JointModelSpherical,
        pin.JointModelRUBZ,
        lambda: pin.JointModelRevoluteUnaligned(unit(rng.normal(size=3))),
        lambda: pin.JointModelPrismaticUnaligned(unit(rng.normal(size=3))),
    ]
    model = pin.Model()
    model.name = f"tree_{seed}"
    parent = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    branch = [parent]  # from the root to the last joint
    model.appendBodyToJoint(parent, random_inertia(rng), pin.SE3.Identity())
    for k in range(bodies):
        branch = branch[: rng.integers(len(branch)) + 1]
        placement = pin.SE3(pin.exp3(rng.normal(size=3)), 0.3 * rng.normal(size=3))
        index = model.addJoint(branch[-1], kinds[rng.integers(len(kinds))](), placement, f"joint_{k}")
        model.appendBodyToJoint(index, random_inertia(rng), pin.SE3.Identity())
        branch.append(index)
    return model


def random_inertia(rng: np.random.Generator) -> pin.Inertia:
    """A physical inertia: three point pairs, so that the triangle inequality holds."""
    mass = rng.uniform(0.5, 1.5)
    spread = rng.uniform(0.05, 0.15, size=3) ** 2
    moments = mass * (spread.sum() - spread)
    turn = pin.exp3(rng.normal(size=3))
    return pin.Inertia(mass, 0.1 * rng.normal(size=3), turn @ np.diag(moments) @ turn.T)


def unit(vector: Array) -> Array:
    return vector / np.linalg.norm(vector)


# --- cs.Mechanism -----------------------------------------------------------------------------------------------------
def planar_mechanism(
    mass: float,
    moment: float,
    points: dict[str, tuple[float, float]],
    friction: float,
    restitution: float,
    gravity: float = G,
    applied: Callable[[float], Array] | None = None,
) -> cs.Mechanism:
    """The same planar body as `planar_body`, as a textbook mechanism; `applied(t)` adds a generalised force (3,)."""
    M = np.diag([mass, mass, moment])
    weight = np.array([0.0, -mass * gravity, 0.0])

    def force(t: float, q: Array, v: Array) -> Array:
        return weight if applied is None else weight + applied(t)

    gaps = [planar_gap(px, pz, friction, restitution, name) for name, (px, pz) in points.items()]
    return cs.Mechanism(n=3, mass=lambda q: M, force=force, contacts=gaps)


def planar_gap(px: float, pz: float, friction: float, restitution: float, name: str) -> cs.Gap:
    def arm(q: Array) -> tuple[float, float]:
        c, s = np.cos(q[2]), np.sin(q[2])
        return px * c + pz * s, -px * s + pz * c

    return cs.Gap(
        gap=lambda t, q: q[1] + arm(q)[1],
        normal=lambda t, q: np.array([0.0, 1.0, -arm(q)[0]]),
        tangent=lambda t, q: np.array([[1.0, 0.0, arm(q)[1]]]),
        friction=friction,
        restitution=restitution,
        name=name,
    )


def pendulum_mechanism(
    mass: float, length: float, moment: float, height: float, friction: float, restitution: float
) -> cs.Mechanism:
    M = np.array([[moment + mass * length**2 / 4]])
    tip = cs.Gap(
        gap=lambda t, q: height - length * np.cos(q[0]),
        normal=lambda t, q: np.array([length * np.sin(q[0])]),
        tangent=lambda t, q: np.array([[-length * np.cos(q[0])]]),
        friction=friction,
        restitution=restitution,
        name="tip",
    )
    return cs.Mechanism(
        n=1,
        mass=lambda q: M,
        force=lambda t, q, v: np.array([-mass * G * length / 2 * np.sin(q[0])]),
        contacts=[tip],
    )


def frictionless_gap(gap: Callable[[Array], float], normal: Sequence[float], restitution: float, name: str) -> cs.Gap:
    """A gap that is linear in q, without friction rows (d_t = 0)."""
    w = np.array(normal, dtype=float)
    return cs.Gap(
        gap=lambda t, q: gap(q),
        normal=lambda t, q: w,
        tangent=lambda t, q: np.zeros((0, len(w))),
        friction=0.0,
        restitution=restitution,
        name=name,
    )


def lifted(robot: cs.Robot, height: float) -> Array:
    """The robot's nominal configuration, `height` above where it stands, for a free-flyer or a planar root."""
    q = np.array(robot.nominal, dtype=float)
    q[2 if "FreeFlyer" in robot.model.joints[1].shortname() else 1] += height
    return q


# --- reading runs -----------------------------------------------------------------------------------------------------
def impacts(traj: cs.Trajectory, contact: str | None = None) -> list[float]:
    """Times of the events in which velocities jump (of the given contact, where one is named)."""
    return [
        event.time
        for event in traj.events
        if not np.array_equal(event.state_pre.v, event.state_post.v) and (contact is None or contact in event.contacts)
    ]


def modes_between_events(traj: cs.Trajectory, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Names of the modes in the middle of each piece between events, neighbours that agree merged."""
    times = np.unique([traj.t[0], *(event.time for event in traj.events), traj.t[-1]])
    sequence: list[tuple[str, ...]] = []
    for middle in (times[1:] + times[:-1]) / 2:
        modes = traj.mode_at(middle)
        word = tuple(modes[name].name for name in names)
        if not sequence or sequence[-1] != word:
            sequence.append(word)
    return sequence


def first_time(traj: cs.Trajectory, contact: str, mode: cs.Mode) -> float:
    """Time of the first event after which `contact` is in `mode`."""
    for event in traj.events:
        if contact in event.transitions and event.transitions[contact][1] is mode:
            return event.time
    raise AssertionError(f"{contact} never reaches {mode}; transitions: {[e.transitions for e in traj.events]}")


def heap_impact() -> ContactProblem:
    """An impact within a heap of balls whose impulses span seven powers of ten, with its restitution."""
    with np.load(Path(__file__).parent / "data" / "heap_impact.npz") as data:
        delassus, free, friction, restitution = (data[k] for k in ("delassus", "free", "friction", "restitution"))
    count = len(friction)
    rebound = tuple((-restitution * np.minimum(free[::3], 0.0)).tolist())
    return ContactProblem(delassus, free, (3,) * count, friction, friction, (None,) * count, rebound=rebound)


def leaning_cards(friction: float) -> tuple[cs.ContactSystem, cs.State]:
    """Two cards that lean against each other at 30 degrees from the vertical, edge on edge."""
    length, thick, angle, start = 0.2, 0.004, np.pi / 6, {}
    world = cs.Robot.merge(
        [cs.Robot.box(0.1, (thick, 0.1, length), name=name, friction=friction) for name in ("left", "right")]
    )
    for name, side in (("left", 1.0), ("right", -1.0)):
        turn = pin.exp3(np.array([0.0, side * angle, 0.0]))
        top, low = (turn @ np.array([side * 0.5 * thick, 0.0, end * length]) for end in (0.5, -0.5))
        start[name] = (pin.SE3ToXYZQUAT(pin.SE3(turn, np.array([-top[0], 0.0, -low[2]]))), np.zeros(6))
    return cs.ContactSystem(world), cs.State(*world.pack(start))


def back_to(place: cs.State) -> Callable[[cs.State], cs.State]:
    """The symmetry of the biped's walk down its slope: moved back along it to where it was."""

    def back(state: cs.State) -> cs.State:
        way = state.q[0] - place.q[0]
        return cs.State(state.q - way * np.array([1.0, -np.tan(0.0525), 0.0, 0.0]), state.v)

    return back
