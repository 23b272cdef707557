"""A world: robot, ground, law, controller and coefficients, frozen, with what flows and transitions ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..common.arguments import ANY_NUMBERS, arguments
from ..common.arrays import Array
from ..common.lazy import dataclass, lazy
from ..common.telling import tell
from ..common.user_calls import UserCall, answer
from ..contact.laws import CompliantLaw, ContactLaw, RigidLaw
from ..contact.modes import Latched, SystemMode
from ..errors import CallbackError, InputError
from ..hybrid.system import Push
from ..hybrid.tolerances import Tolerances
from ..multibody.configuration_space import StateSpace
from ..multibody.controllers import Controller
from ..multibody.driving import Driving
from ..multibody.mechanism import ContactMechanism, Overlap
from ..multibody.robot_model import FrameKinematics, RobotModel
from ..multibody.terrain import Terrain
from ..multibody.zero import ULPS
from .engines import Engine, chosen, engine
from .zero import LEAST_FORCE, NO_FORCE, OF_EQUATIONS, OF_FORCE

if TYPE_CHECKING:
    from ..multibody.geometry.plain_flats import CompiledFlats, PlainFlat
    from ..multibody.kinematics.closed_loops import ClosedMechanism
    from ..multibody.latches import Latch
    from ..multibody.loops import Loop
    from ..multibody.terrain.plain_hills import PlainHills

LATCHED_WORLDS = 16  # that are kept: what a latch holds where it closes may be other each time


@arguments()
@dataclass(frozen=True)
class State:
    """State of a ContactSystem; of several instants at once where a trajectory is asked for them, each part (T, n).

    Attributes:
        q: configuration (nq,).
        v: velocity (nv,), in pinocchio's convention (a free-flyer's twist is in its own frame).
        z: memory of the controller and of the contact law, empty by default.
    """

    q: Array
    v: Array
    z: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        for name in ("q", "v", "z"):
            value = ANY_NUMBERS.check(f"State.{name}", getattr(self, name))
            object.__setattr__(self, name, np.atleast_1d(value) if value.size or value.ndim == 2 else np.empty(0))


@dataclass(frozen=True, eq=False)
class Parts:
    """What a world is made of, and where its states keep it.

    Attributes:
        robot: a Robot, or a Mechanism.
        terrain: the ground of a Robot.
        gravity: (3,) [m/s^2].
        joint_limits: whether the position limits of a Robot's joints are unilateral constraints.
        loops: what closes loops of the robot.
        tolerances: what counts as zero in contact.
        mechanism: the robot on its ground, with its loops closed.
        law: the contact law.
        controller: what drives the joints; None: nothing does.
        own_friction: kinetic and static coefficients (nc,) as the contact points say them; a law may overrule them.
        restitution: coefficients (nc,).
        pushes: what pushes for a while.
        latches: what may be latched.
        latched: the latches that are closed here, loops of the mechanism.
        action: generalised forces (nv,) that are given step by step, besides those of the controller; None: none.
        engine: name of the engine that arcs are run by; None: the fastest that is installed.
    """

    robot: Any
    terrain: Terrain
    gravity: Array
    joint_limits: bool
    loops: tuple[Loop, ...]
    tolerances: Tolerances
    mechanism: ContactMechanism
    law: ContactLaw
    controller: Controller | None
    own_friction: tuple[Array, Array]
    restitution: Array
    pushes: tuple[Push, ...] = ()
    latches: tuple[Latch, ...] = ()
    latched: Latched = ()
    action: Array | None = None
    engine: str | None = None

    @lazy
    def nq(self) -> int:
        """Numbers of a configuration."""
        return self.mechanism.nq

    @lazy
    def nv(self) -> int:
        """Numbers of a velocity."""
        return self.mechanism.nv

    @property
    def actuated(self) -> Array:
        """Which velocities (nv,) a controller drives: the inputs of the system."""
        return np.asarray(getattr(self.robot, "actuated", np.ones(self.nv, dtype=bool)))

    @property
    def inputs(self) -> list[float] | None:
        """The action as inputs (nu,) of the actuated joints; None: there is none."""
        return None if self.action is None else self.action[self.actuated].tolist()

    @property
    def of_parameters(self) -> tuple[int, ...]:
        """What tells it from worlds with other parameters: it is the same in those with other pushes and inputs."""
        parts = (self.robot, self.terrain, self.gravity, self.law, self.controller, self.restitution)
        return tuple(id(part) for part in (*parts, *self.own_friction))

    @lazy
    def closed_loops(self) -> ClosedMechanism | None:
        """The mechanism with what closes its loops; None: there are none."""
        return cast("ClosedMechanism", self.mechanism) if self.mechanism.has_loops else None

    @lazy
    def memory(self) -> int:
        """Numbers of memory in a state: of the controller, then of the law."""
        law = self.law.memory * len(self.mechanism.all_names) if isinstance(self.law, CompliantLaw) else 0
        return (self.controller.memory if self.controller else 0) + law

    @lazy
    def tangent_size(self) -> int:
        """Numbers of a tangent vector (dq, dv, dz)."""
        return 2 * self.nv + self.memory

    @lazy
    def frames(self) -> FrameKinematics:
        """Where the frames of the robot are.

        Raises:
            InputError: a Mechanism has none.
        """
        if not isinstance(self.robot, RobotModel):
            raise InputError(f"a {type(self.robot).__name__} has no frames; only a Robot has")
        return FrameKinematics(self.robot)

    @lazy
    def space(self) -> StateSpace:
        """Manifold of (q, v, z)."""
        return StateSpace(self.mechanism.space, self.nv, self.memory)

    @lazy
    def driving(self) -> Driving:
        """What controllers and pushes do to it."""
        return Driving(self.robot, self.mechanism, self.space, self.controller, self.pushes, self.action)

    @lazy
    def compiled_engine(self) -> Engine | None:
        """What compiles its arcs, contact problems and events; None: they run in Python."""
        return engine(chosen(self.engine))

    def q(self, x: Array) -> Array:
        """Configuration (nq,) in a plain state, a view of it."""
        return x[: self.nq]

    def v(self, x: Array) -> Array:
        """Velocity (nv,) in a plain state, a view of it."""
        return x[self.nq : self.nq + self.nv]

    def z(self, x: Array) -> Array:
        """Memory of the controller and of the law in a plain state, a view of it."""
        return x[self.nq + self.nv :]

    def place_rounding(self, x: Array) -> float:
        """How far rounding puts a gap from where it is [m]."""
        place = ULPS * float(np.spacing(np.abs(self.q(x)).max(initial=1.0)))
        return max(self.tolerances.rearm, place)

    def force_rounding(self, largest: float, others: float, share: float = 1.0) -> float:
        """The force that counts as none [N], what a guard of forces may miss: by the `largest` one of the contacts.

        Where these vanish it is known by the largest of the `others`, weights and inertial forces. Where contacts are
        nearly redundant, rounding of their equations grows by the `share` of the least singular value of these.
        """
        relative = max(self.tolerances.force, OF_EQUATIONS / share)
        return OF_FORCE * relative * max(largest, NO_FORCE, LEAST_FORCE * others)

    def moved(self, x: Array, q: Array, v: Array) -> Array:
        """The state with another configuration and velocity."""
        return np.concatenate([q, v, self.z(x)])

    def on_loops(self, x: Array) -> Array:
        """The state put back on its closed loops, where it is off by more than the drift; else `x` itself."""
        if self.closed_loops is None:
            return x
        q, v = self.q(x), self.v(x)
        q_closed, v_closed = self.closed_loops.on_loops(q, v, self.tolerances.drift)
        return x if q_closed is q and v_closed is v else self.moved(x, q_closed, v_closed)


@dataclass(frozen=True, eq=False)
class World(Parts):
    """Everything that moves and touches, frozen: what a run, its events and its derivatives are computed from.

    Its attributes are those of `Parts`.
    """

    @lazy
    def _friction(self) -> tuple[Array, Array]:
        if not isinstance(self.law, RigidLaw):
            return self.own_friction
        kinetic, static = self.own_friction
        if not self.mechanism.hosts:
            return _coefficients_by(self.law, kinetic, static)
        # Those of moments, `moments` has said.
        own = _coefficients_by(self.law, kinetic[: self.count], static[: self.count])
        kinetic, static = (
            np.concatenate([one, two[self.count :]]) for one, two in zip(own, (kinetic, static), strict=True)
        )
        return kinetic, static

    @lazy
    def curves(self) -> dict[int, float]:
        """{contact: Stribeck speed [m/s]} of the contacts whose friction depends on their slip speed."""
        if not isinstance(self.law, RigidLaw) or not hasattr(self.robot, "stribeck_speeds"):
            return {}
        speeds = self.robot.stribeck_speeds()
        kinetic, static = self._friction
        return {
            i: speeds.get(name, 0.0)
            for i, name in enumerate(self.mechanism.names)
            if static[i] > 0.0 and (self.law.speed_dependent or (name in speeds and static[i] > kinetic[i]))
        }

    def friction_at(self, i: int, slip: Array) -> float:
        """Coefficient of contact `i` that slides at a velocity (d_t,)."""
        return self._sliding(i, slip)[0] if i in self.curves else float(self.friction[i])

    def friction_slope(self, i: int, slip: Array) -> Array:
        """Derivative (d_t,) of that by the velocity [s/m]."""
        return 2.0 * self._sliding(i, slip)[1] * slip

    def _sliding(self, i: int, slip: Array) -> tuple[float, float]:
        law, (kinetic, static) = self.law, self._friction
        assert isinstance(law, RigidLaw)
        return law.sliding_friction(float(slip @ slip), float(kinetic[i]), float(static[i]), self.curves[i])

    @lazy
    def breaking_friction(self) -> Array:
        """Coefficients (nc,) with which slips begin: kinetic ones, but static ones where friction falls with speed."""
        found = self.friction.copy()
        found[list(self.curves)] = self.static_friction[list(self.curves)]
        return found

    @lazy
    def friction(self) -> Array:
        """Kinetic coefficients (nc,) under the law."""
        return self._friction[0]

    @lazy
    def static_friction(self) -> Array:
        """Static coefficients (nc,) under the law."""
        return self._friction[1]

    @lazy
    def count(self) -> int:
        """Number of contacts and constraints, behind which the resistances come."""
        return len(self.mechanism.dims) - len(self.mechanism.hosts)

    @lazy
    def heads(self) -> tuple[int, ...]:
        """Normal rows of each contact: one, but none of a resistance."""
        return (1,) * self.count + (0,) * len(self.mechanism.hosts)

    @lazy
    def widths(self) -> tuple[int, ...]:
        """Tangential rows of each contact and resistance, with or without friction."""
        return tuple([dim - head for dim, head in zip(self.mechanism.dims, self.heads, strict=True)])

    def host(self, i: int) -> int:
        """The contact whose normal force presses `i`: itself, but of a resistance its host."""
        return i if i < self.count else self.mechanism.hosts[i - self.count]

    def with_resistances(self, contacts: Iterable[int]) -> tuple[int, ...]:
        """The contacts in rising order, and the resistances that they press."""
        chosen = {i for i in contacts if i < self.count}
        pressed = (i for i, host in enumerate(self.mechanism.hosts, self.count) if host in chosen)
        return (*sorted(chosen), *pressed)

    def pressing(self, contacts: Iterable[int]) -> tuple[int, ...]:
        """Those of the contacts that have a normal row: all but resistances."""
        return tuple([i for i in contacts if i < self.count])

    def tangents(self, i: int, rows: slice) -> slice:
        """The tangential ones of the rows of a contact."""
        return slice(rows.start + self.heads[i], rows.stop)

    @lazy
    def tangent_rows(self) -> tuple[int, ...]:
        """Tangential rows of each contact that carry friction: none where its coefficient is zero."""
        pairs = zip(self.widths, self.static_friction.tolist(), strict=True)
        return tuple(width if static > 0.0 else 0 for width, static in pairs)

    def kept_rows(self, contacts: tuple[int, ...]) -> list[int]:
        """Rows of the terms of `contacts` that take part in contact problems (not the tangents of smooth contacts)."""
        kept: list[int] = []
        start = 0
        for i in contacts:
            kept += range(start, start + self.heads[i] + self.tangent_rows[i])
            start += self.mechanism.dims[i]
        return kept

    # --- latches ----------------------------------------------------------------------------------------------

    def latched_as(self, latched: Latched) -> World:
        """The world with other latches closed; of worlds of one system, the first one keeps them."""
        if latched == self.latched:
            return self
        if latched not in self._latched_worlds:
            if len(self._latched_worlds) >= LATCHED_WORLDS:
                self._latched_worlds.clear()
            self._latched_worlds[latched] = self._closed_by(latched)
        return self._latched_worlds[latched]

    def _closed_by(self, latched: Latched) -> World:
        closures = (*self.loops, *(self.latches[k].closure(held) for k, held in latched))
        open_ = self.mechanism if self.closed_loops is None else self.closed_loops.inner
        return replace(self, mechanism=_closed(open_, self.robot, closures), latched=latched)

    @lazy
    def silenced(self) -> frozenset[int]:
        """Contacts between bodies that a closed latch holds in all directions: they have nothing to do."""
        names = range(len(self.mechanism.names)) if self._latched_bodies else ()
        return frozenset(i for i in names if frozenset(self.mechanism.joints_of(i)) in self._latched_bodies)

    @lazy
    def _latched_bodies(self) -> frozenset[frozenset[int]]:
        """Joints of the two bodies of each such latch."""
        found = set()
        for latch in (self.latches[k] for k, _ in self.latched):
            if not latch.joint and latch.kind == "pose":
                frames = (self.robot.frame_id(name) for name in (latch.frame_a, latch.frame_b))
                found.add(frozenset(int(self.robot.model.frames[frame].parentJoint) for frame in frames))
        return frozenset(found)

    @lazy
    def arcs(self) -> dict[SystemMode, Any]:
        """Modes that were prepared last, see `rigid_arc.prepare`: events ask for the mode of an arc anew."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name not in ("arcs", "driving", "compiled_engine")
        }

    @lazy
    def _latched_worlds(self) -> dict[Latched, World]:
        return {}

    def of_the_user(self) -> list[tuple[str, Any]]:
        """What is the user's own code, each with what it is called: it may be of a kind that cannot be pickled."""
        found: list[tuple[str, Any]] = [("the contact law", self.law), ("the ground", self.terrain)]
        if self.controller is not None:
            found.append((f"the controller {self.controller!r}", self.controller))
        names = self.mechanism.all_names
        margins = zip(names, self.mechanism.enabled, strict=True)
        found += [(f"the function 'enabled' of contact '{name}'", own) for name, own in margins if own is not None]
        if not hasattr(self.robot, "bodies"):
            found.append((f"a function of the {type(self.robot).__name__}", self.robot))
        return found

    # --- copies -----------------------------------------------------------------------------------------------

    def changed(self, **parts: Any) -> World:
        """A copy with other parts; the mechanism is made anew where they are parts of it."""
        other = replace(self, **parts)
        kinds = {isinstance(world.law, RigidLaw) for world in (self, other)}
        same = parts.keys().isdisjoint({"robot", "terrain", "gravity"}) and len(kinds) == 1
        if same and (other.engine == self.engine or self.terrain.constant_normal() is not None):
            return other
        bound = bind(
            other.robot, other.terrain, other.gravity, other.joint_limits, other.loops, other.law, other.engine
        )
        other = replace(other, mechanism=bound, **_fitting(other, bound))
        if other.closed_loops is not None:
            other.closed_loops.keep_rank_of(self.mechanism)
        return other


def _coefficients_by(law: RigidLaw, kinetic: Array, static: Array) -> tuple[Array, Array]:
    """Kinetic and static coefficients (n,) that hold under a law, checked.

    Raises:
        CallbackError: it fails, or answers with something else than coefficients.
    """
    kind, name = "the contact law", type(law).__name__
    with UserCall(kind, name, 0.0):
        given = law.friction(kinetic, static)
    pair = tuple(given) if isinstance(given, tuple | list | np.ndarray) else ()
    if len(pair) == 2:
        kinetic, static = (answer(kind, name, "friction", one, kinetic.shape, 0.0, kinetic) for one in pair)
    if len(pair) != 2 or min(kinetic.min(initial=0.0), static.min(initial=0.0)) < 0.0:
        raise CallbackError(
            f"{kind} {name!r} returns no coefficients from friction(); return two arrays {kinetic.shape} of numbers"
            " from zero up, kinetic and static",
            t=0.0,
        )
    return kinetic, static


def _fitting(world: World, bound: ContactMechanism) -> dict[str, Any]:
    """Coefficients for another number of resistances: a law that has them follows one that has none, or the reverse."""
    size, (friction, static) = len(bound.dims), world.own_friction
    if len(friction) == size:
        return {}
    kept = min(size, len(friction))
    resized = (
        np.concatenate([own[:kept], new[kept:]])
        for own, new in (
            (friction, bound.friction),
            (static, bound.static_friction),
            (world.restitution, bound.restitution),
        )
    )
    own_friction, own_static, restitution = resized
    return {"own_friction": (own_friction, own_static), "restitution": restitution}


def _warn_of_rigid_coefficients(robot: Any, mechanism: ContactMechanism, law: ContactLaw) -> None:
    """Warn of coefficients that only rigid laws carry out."""
    modelled = isinstance(robot, RobotModel)
    speeds = robot.stribeck_speeds() if hasattr(robot, "stribeck_speeds") else {}
    bouncing = [name for name, e in zip(mechanism.all_names, mechanism.restitution.tolist(), strict=True) if e > 0.0]
    for what, left_out, then in (
        ("rolling and torsional friction; those", robot.moment_coefficients() if modelled else (), "are left out"),
        ("elliptic cones; the larger coefficients", robot.ellipses() if modelled else (), "hold in all directions"),
        ("restitution; the coefficients", bouncing, "are left out, and its damping decides how they rebound"),
        ("Stribeck speeds of contacts; those", speeds, "are left out"),
    ):
        if left_out:
            names = ", ".join(sorted(left_out))
            tell(f"the compliant law {type(law).__name__} has no {what} of {names} {then}")


def bind(
    robot: Any,
    terrain: Terrain,
    gravity: Array,
    joint_limits: bool,
    loops: tuple[Loop, ...],
    law: ContactLaw,
    engine_name: str | None = None,
) -> ContactMechanism:
    """The robot on its ground, with its loops closed, and rolling and torsional friction under a rigid law.

    Under a compliant law discs press smoothly at any tilt. An engine, by its name, looks for the points of edges and
    faces that are nearest to hills.

    Raises:
        InputError: loops are to be closed of a mechanism that has no bodies, or between frames that are not there.
    """
    mechanism: ContactMechanism = robot.bind(terrain, gravity, joint_limits)
    if not isinstance(law, RigidLaw):
        _warn_of_rigid_coefficients(robot, mechanism, law)
        if isinstance(robot, RobotModel) and not robot.shapeless:
            from ..multibody.kinematics.bound_world import with_yielding_discs

            mechanism = with_yielding_discs(mechanism)
    elif isinstance(robot, RobotModel):
        if terrain.constant_normal() is None and not robot.shapeless:
            from ..multibody.kinematics.bound_hills import with_edges_on_hills

            mechanism = with_edges_on_hills(mechanism, robot, terrain, partial(_flats_by, engine_name))
        if robot.moment_coefficients() or type(law).moments is not RigidLaw.moments:
            from ..multibody.kinematics.resistances import with_resistances

            mechanism = with_resistances(mechanism, robot, law)
        if robot.ellipses():
            from ..multibody.kinematics.elliptic_cones import with_ellipses

            mechanism = with_ellipses(mechanism, robot)
    if loops and not hasattr(robot, "frame_id"):
        raise InputError(
            f"a {type(robot).__name__} has no bodies whose loops could be closed; give a Robot, or coordinates"
            " that close them"
        )
    return _closed(mechanism, robot, loops)


def _flats_by(name: str | None, flats: Sequence[PlainFlat], ground: PlainHills) -> CompiledFlats | None:
    """The searches of features on hills by an engine; None: it leaves them to Python, or is Python."""
    own = engine(chosen(name))
    return None if own is None else own.flats(flats, ground)


def _closed(mechanism: ContactMechanism, robot: Any, loops: tuple[Loop, ...]) -> ContactMechanism:
    """The mechanism with its loops closed; itself where there are none."""
    if not loops:
        return mechanism
    from ..multibody.kinematics.closed_loops import ClosedMechanism

    return ClosedMechanism(mechanism, robot, loops)


def overlaps(world: World, t: float, x: Array) -> list[Overlap]:
    """Bodies that are inside each other or in the ground, by their shapes alone, but for those that a latch holds."""
    return _not_latched(world, world.mechanism.overlaps(t, world.q(x)))


def overlaps_along(world: World, times: Array, joints: Array) -> list[Overlap]:
    """The same at times (k,), where the joints are placed (k, joints, 4, 3)."""
    return _not_latched(world, world.mechanism.overlaps_along(times, joints))


def _not_latched(world: World, found: list[Overlap]) -> list[Overlap]:
    return [overlap for overlap in found if frozenset(overlap.joints) not in world._latched_bodies]
