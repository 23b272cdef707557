"""ContactSystem: a robot on its ground, with a contact law and a controller, as a hybrid system."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arguments import FLAG, REAL, arguments, custom, instance, optional, real_array
from ..common.arrays import Array
from ..common.user_calls import demand_picklable
from ..contact.laws import CompliantLaw, ContactLaw, RigidLaw
from ..contact.modes import Mode, SystemMode
from ..errors import InputError
from ..hybrid.abilities import Held
from ..hybrid.differences import map_derivative
from ..hybrid.flow import Flow
from ..hybrid.system import CLOCK, Transition
from ..hybrid.tolerances import TOLERANCES, Tolerances
from ..hybrid.trajectory import Event, Trajectory
from ..multibody.configuration_space import StateSpace
from ..multibody.controllers import controller_of
from ..multibody.loops import checked
from ..multibody.mechanism import GivenNormals
from ..multibody.robot_model import RobotModel
from ..multibody.terrain import Flat, Terrain
from ..multibody.zero import AGREES
from .rigid_flow import RigidFlow
from .transitions import RigidContacts
from .variants import Variants, as_law, as_vector
from .world import State, World, bind

if TYPE_CHECKING:
    from ..hybrid.journeys import Departure, Journey
    from ..multibody.latches import Latch
    from .variables import Beside

__all__ = ["ContactSystem", "State"]

IMPACTS_ALONE = ".restitution"  # ends the names of parameters that leave all forces as they are
DOWN = (0.0, 0.0, -9.81)  # gravity of a robot whose file says nothing [m/s^2]


def _coefficients(given: Any) -> Array:
    found = real_array(given)
    if not (np.isfinite(found).all() and (found >= 0.0).all()):
        raise ValueError
    return found


COEFFICIENTS = custom("an array (nc,) of numbers that are zero or positive", _coefficients)


class Starts(Variants):
    """The start of a run: its loops are closed, and a controller with a period takes its first sample."""

    def prepared(self, t: float, x: Array) -> Array:
        """The state with its loops closed, and the controller's first sample, where that is to be taken.

        So derivatives of a run by its start are those of the run that starts from the nearest closed state; they hold
        for all variations, those that would open a loop among them (see `admissible` for those that would not).
        """
        x = self._closed(x)
        return self.world.driving.sampled(t, self._remembering(x)) if self._begins_sampled(t, x) else x

    def prepared_by_state(self, t: float, x: Array) -> Array:
        """D_x (dim, dim) of what is `prepared` of a user's state; memory that is missing is varied from zero on."""
        space, x = self.world.space, self._remembering(given := x)
        matrix = np.eye(space.dim)
        if self.world.closed_loops is not None:
            matrix = map_derivative(self._closed, space, x, space)
        return self._sample_by_state(t, self._closed(x)) @ matrix if self._begins_sampled(t, given) else matrix

    def _closed(self, x: Array) -> Array:
        """The state with its loops closed."""
        world = self.world
        if world.closed_loops is None:
            return x
        q, v = world.q(x), world.v(x)
        if world.closed_loops.is_closed(q, v, world.tolerances.drift):  # a run that is resumed goes on unchanged
            return x.copy()
        return world.moved(x, *world.closed_loops.close(q, v))

    def _begins_sampled(self, t: float, x: Array) -> bool:
        """Whether a run that starts here begins with a sample of the controller."""
        return self.world.driving.is_sampling(t) or bool(np.isnan(self.world.z(x)).any())

    def _remembering(self, x: Array) -> Array:
        """The state with zeros where memory is missing."""
        return np.nan_to_num(x) if np.isfinite(x[: self.world.nq + self.world.nv]).all() else x

    def _sample_by_state(self, t: float, x: Array) -> Array:
        """D_x (dim, dim) of the state with the controller's memory sampled."""
        world = self.world
        own, start = world.driving.memory, 2 * world.nv
        sample = np.eye(world.tangent_size)
        if world.controller is not None:
            sample[start : start + own, : start + own] = world.controller.sample_jacobian(
                t, world.q(x), world.v(x), world.z(x)[:own], world.mechanism.space
            )
        return sample


class Facade(Starts):
    """What users, files and runs ask of a system: the parts of its world, its states, and what its modes hold."""

    _contacts: Any  # flows, starts and transitions of its kind of law

    def _adopt(self) -> None:
        """Show the parts of the world as attributes."""
        world, before = self.world, frozenset(vars(self))
        self.robot, self.terrain, self.gravity = world.robot, world.terrain, world.gravity
        self.joint_limits, self.loops, self.mechanism = world.joint_limits, world.loops, world.mechanism
        self.law, self.controller, self.pushes = world.law, world.controller, world.pushes
        self.friction, self.static_friction = world.friction, world.static_friction
        self.restitution, self.actuated = world.restitution, world.actuated
        self.nq, self.nv, self.memory, self.tangent_size = world.nq, world.nv, world.memory, world.tangent_size
        self.tolerances = world.tolerances
        self.preferred_integrator = world.law.integrator if isinstance(world.law, CompliantLaw) else None
        self._shown = frozenset(vars(self)) - before

    def __repr__(self) -> str:
        driven = "" if self.controller is None else f", controller={self.controller!r}"
        return f"{type(self).__name__}({self.robot!r}, {self.terrain!r}, {self.law!r}{driven})"

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self).get("_shown", ()):
            raise AttributeError(
                f"'{name}' of a {type(self).__name__} is not set, since runs compute with its world; make another"
                " system, or take with_parameter, with_law or with_coefficients"
            )
        super().__setattr__(name, value)

    def space(self, mode: Any = None) -> StateSpace:
        """Manifold of (q, v, z)."""
        return self.world.space

    def q(self, x: Array) -> Array:
        """Configuration (nq,) in a plain state, a view of it."""
        return self.world.q(x)

    def v(self, x: Array) -> Array:
        """Velocity (nv,) in a plain state, a view of it."""
        return self.world.v(x)

    def z(self, x: Array) -> Array:
        """Memory of the controller and of the law in a plain state, a view of it."""
        return self.world.z(x)

    def state(self, x: Array) -> State:
        """The parts of a plain state."""
        return State(*self.world.space.split(x))

    def pack(self, state: Any) -> Array:
        """The plain state of a State, or of a (q, v) pair; missing memory is zero.

        Raises:
            InputError: a part has the wrong size or is not finite.
        """
        world = self.world
        if not isinstance(state, State):
            try:
                state = State(*state)
            except TypeError:
                raise InputError(f"the state is a {type(state).__name__}; give State(q, v)") from None
        if state.q.shape != (world.nq,) and isinstance(world.robot, RobotModel):
            state = State(world.robot.space.with_pairs(state.q), state.v, state.z)
        z = state.z if len(state.z) or not world.memory else np.zeros(world.memory)
        missing = not len(state.z) and world.controller is not None and world.controller.period is not None
        unheld = bool(world.driving.held_torque) and len(state.z) == world.memory - world.driving.held_torque
        if unheld:  # the user's own memory, to be followed by the torque
            own = world.driving.memory - world.driving.held_torque
            z = np.insert(state.z, own, np.zeros(world.driving.held_torque))
        for name, part, size in (("q", state.q, world.nq), ("v", state.v, world.nv), ("z", z, world.memory)):
            if part.shape != (size,):
                raise InputError(f"State.{name} has shape {part.shape}; this system needs ({size},)")
            if not np.all(np.isfinite(part)):
                place = int(np.argmin(np.isfinite(part)))
                raise InputError(f"State.{name} holds NaN or infinity at index {place}; give finite numbers")
        if missing:  # to be sampled where the run starts
            z[: world.driving.memory] = np.nan
        elif unheld:
            z[world.driving.memory - world.driving.held_torque : world.driving.memory] = np.nan
        return np.concatenate([state.q, state.v, z])

    def validate(self, x: Array) -> None:
        """Raise InputError where a plain state is not one of this system."""
        self.pack(self.state(x))
        self.world.mechanism.validate(self.world.q(x))

    def applied_force(self, t: float, x: Array) -> Array | None:
        """Generalised forces (nv,) of controller and pushes that move the mechanism; None where there are none."""
        return self.world.driving.applied_at(t, x)

    def close(self, q: Any, v: Any = None) -> State:
        """The nearest state whose loops are closed, in the metric of the mass matrix; velocities are zero by default.

        Raises:
            InputError: the loops cannot be closed from there, or a part has the wrong size.
        """
        world = self.world
        x = self.pack(State(q, np.zeros(world.nv) if v is None else v))
        x = world.space.integrate(x, np.zeros(world.space.dim))
        if world.closed_loops is not None:
            x = world.moved(x, *world.closed_loops.close(world.q(x), world.v(x)))
        return State(world.q(x), world.v(x))

    def gaps(self, state: Any, t: float = 0.0) -> dict[str, float]:
        """{name: distance from what it may touch} of all contacts [m] and joint limits [rad, m] at a time [s].

        Raises:
            InputError: the state is not one of this system.
        """
        world = self.world
        found = world.mechanism.gaps(REAL.check("t", t), world.q(self.pack(state)))
        return dict(zip(world.mechanism.all_names[: world.count], map(float, found), strict=True))

    def project(self, state: Any, mode: Any, t: float = 0.0) -> State:
        """The nearest state, in the metric of the mass matrix, in which contacts touch and rest as a mode says.

        Gaps of closed contacts become zero, and their normal velocities; those that stick have no velocity at all.
        Under a compliant law, and for open contacts, there is nothing to change but loops that are not closed.

        Args:
            state: a State, or a (q, v) pair.
            mode: {contact: Mode}, where those not named are open, or `arc.mode` of a run.
            t: time [s], where the ground moves.

        Raises:
            InputError: there is no such state close by, or the mode is not one of this system.
        """
        from .restarts import as_mode, demand_mode, projected

        world, t = self.world, REAL.check("t", t)
        x = self.pack(state)
        given = demand_mode(world, mode)
        return self.state(projected(world, t, x, as_mode(world, t, x, given)))

    def admissible(self, state: Any) -> Array:
        """Basis (dim, k) of the variations of a state that keep its loops closed: all, where there are none."""
        x, world = self.pack(state), self.world
        basis = np.eye(world.tangent_size)
        if world.closed_loops is None:
            return basis
        motions = world.closed_loops.admissible(world.q(x), world.v(x))
        moved = np.zeros((world.tangent_size, motions.shape[1]))
        moved[: 2 * world.nv] = motions
        return np.hstack([moved, basis[:, 2 * world.nv :]])

    def held(self, t: float, x: Array, mode: Any) -> Held | None:
        """What a mode of a rigid law holds at a state on its constraints; None where loops are closed."""
        if not isinstance(self.law, RigidLaw) or self.world.closed_loops is not None:
            return None
        if not mode.closed and not mode.latched:
            size = self.world.tangent_size
            return Held((), np.zeros((0, size)), np.zeros((size, 0)), lambda system: np.zeros(0))
        flow = self.flow(mode).rebased(t, x)
        if not isinstance(flow, RigidFlow) or not mode.closed:
            return None
        from .regained import held

        return held(flow, t, x)

    def remembered(self, mode: Any) -> Mapping[Hashable, Any]:
        """{contact: direction of its slip} where a mode of a rigid law holds it."""
        return mode.held if isinstance(self.law, RigidLaw) else {}

    def remembered_at(self, t: float, x: Array, mode: Any) -> Array:
        """Turns (k,) [m/s] from these directions to those of the slip velocities at a state."""
        from .remembered import turns

        return turns(self.world, t, x, mode)

    def remembered_by_state(self, t: float, x: Array, mode: Any) -> Array:
        """Its derivative (k, dim) where the directions are those of the velocities."""
        from .remembered import turns_by_state

        return turns_by_state(self.world, t, x, mode)

    def by_remembered(self, flow: Any, t: float, x: Array, guard: Any = None) -> Array:
        """Derivatives of the field (dim, k), or of a guard (k,), by these turns."""
        from .remembered import field_by_turns, guard_by_turns

        def other(mode: SystemMode) -> Any:
            return self.flow(mode).rebased(t, x)

        return field_by_turns(flow, t, x, other) if guard is None else guard_by_turns(flow, t, x, guard, other)

    def journey(self, departure: Departure) -> Journey | None:
        """Event after event by the engine of its world; not of a class that has flows or transitions of its own."""
        own = type(self)
        is_plain = own.flow is ContactSystem.flow and own.transition is ContactSystem.transition
        known = is_plain and isinstance(self.law, RigidLaw)
        return self._contacts.journey(departure.system, departure) if known else None

    def contradiction(self, times: Array) -> str | None:
        """Where the ground moves otherwise than its rates say."""
        return self.world.terrain.contradiction(times)

    def jump_that_breaks(self, law: str, trajectory: Trajectory) -> Event | None:
        """The event that violates a law of the audit most; None where the law is one of arcs."""
        from .energy_audit import jump_that_breaks

        return jump_that_breaks(law, trajectory)


class ContactSystem(Facade):
    """A robot (or textbook mechanism) with ground, contact law and controller.

    Args:
        robot: a Robot, or a Mechanism (whose functions hold ground and gravity).
        terrain: the ground of a Robot; by default that of its file, or level ground at z = 0 where that says nothing.
        law: name of a registered contact law, or an instance.
        controller: (t, q, v) -> tau (nv,), a Controller, or None.
        gravity: (3,) [m/s^2] for a Robot; by default that of its file, or 9.81 downwards where that says nothing.
        joint_limits: whether the position limits of a Robot's joints are unilateral constraints.
        loops: LoopClosure objects that close loops of a Robot, besides its own ones.
        tolerances: what counts as zero in contact.
        latches: Latch objects: what events hold together and let go, under a rigid law.

    Attributes:
        world: all of this in frozen form.
    """

    nv: int
    tolerances: Tolerances
    absent_mode = Mode.OPEN

    @arguments(
        terrain=optional(instance(Terrain, "a Terrain such as terrain.Flat()")),
        joint_limits=FLAG,
        tolerances=optional(TOLERANCES),
    )
    def __init__(
        self,
        robot: Any,
        terrain: Terrain | None = None,
        law: str | ContactLaw = "coulomb",
        controller: Any = None,
        gravity: Any = None,
        joint_limits: bool = True,
        loops: Any = (),
        tolerances: Tolerances | None = None,
        latches: Any = (),
    ) -> None:
        ground = terrain or getattr(robot, "terrain", None) or Flat()
        own = getattr(robot, "gravity", None)
        down = as_vector("gravity", (DOWN if own is None else own) if gravity is None else gravity, 3)
        if not hasattr(robot, "bind") or isinstance(robot, type):
            raise InputError(f"the robot is a {type(robot).__name__}; give a Robot (load_robot by name) or a Mechanism")
        if getattr(robot, "nv", None) == 0:
            raise InputError(
                f"the robot '{robot.name}' has no joint and a fixed root, so nothing of it can move; give it another"
                " root (in MJCF a <freejoint/>), or merge it with what moves"
            )
        closures = (*getattr(robot, "loops", ()), *checked(loops))
        chosen = as_law(law)
        if isinstance(robot, RobotModel) and ground.constant_normal() is None:
            from ..multibody.geometry.overlaps import warn_of_humps

            warn_of_humps(robot, ground, isinstance(chosen, RigidLaw))
        mechanism = bind(robot, ground, down, joint_limits, closures, chosen)
        world = World(
            robot,
            ground,
            down,
            joint_limits,
            closures,
            tolerances or Tolerances(),
            mechanism,
            chosen,
            controller_of(controller, robot),
            (mechanism.friction, mechanism.static_friction),
            mechanism.restitution,
            latches=_latches(latches, robot, mechanism.names),
        )
        if world.latches and not isinstance(chosen, RigidLaw):
            raise InputError(
                f"latches close by the impact of a rigid law, and {type(chosen).__name__} is a compliant one; take"
                " law='coulomb', or leave the latches out"
            )
        self._inhabit(world)

    def _inhabit(self, world: World) -> None:
        Starts.__init__(self, world)
        self._contacts = _contacts_of(world)
        self._adopt()

    def _of(self, world: World) -> ContactSystem:
        return _restored(type(self), world, self._own())

    def _own(self) -> dict[str, Any]:
        """Attributes that a class of the user's has added."""
        engine = {"world", "_varied", "_contacts", "_shown", *self._shown}
        return {name: value for name, value in vars(self).items() if name not in engine}

    @arguments(friction=COEFFICIENTS, static_friction=COEFFICIENTS, restitution=COEFFICIENTS)
    def with_coefficients(self, friction: Array, static_friction: Array, restitution: Array) -> ContactSystem:
        """A copy with other coefficients (nc,) of all contacts and joint limits, as the points would say them."""
        shape = self.world.restitution.shape
        for name, given in (("friction", friction), ("static_friction", static_friction), ("restitution", restitution)):
            if given.shape != shape:
                raise InputError(f"{name} has shape {given.shape}; give one number for each contact, {shape}")
        return self._of(self.world.changed(own_friction=(friction, static_friction), restitution=restitution))

    # --- copies -----------------------------------------------------------------------------------------------

    def __copy__(self) -> ContactSystem:
        return self._of(self.world)

    def __deepcopy__(self, memo: dict[int, Any]) -> ContactSystem:
        return _restored(type(self), copy.deepcopy(self.world, memo), copy.deepcopy(self._own(), memo))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        for what, thing in self.world.of_the_user():
            demand_picklable(what, thing)
        return _restored, (type(self), self.world, self._own())

    # --- the contract of a hybrid system ----------------------------------------------------------------------

    def flow(self, mode: Any) -> Flow:
        """Field and guards of a mode."""
        return self._contacts.flow(mode)

    def transition(self, t: float, x: Array, mode: Any, fired: frozenset[Hashable]) -> Transition:
        """Impact, then choice of the modes of all touching contacts together."""
        if CLOCK in fired and self.world.driving.is_sampling(t):
            return self._sampled(t, x, mode, fired, self._contacts.transition)
        return self._contacts.transition(t, x, mode, fired)

    def start(self, t: float, x: Array) -> Transition:
        """Initial modes: a touching contact that approaches is an impact, the others are sorted by the contact law.

        Raises:
            InputError: the state is not finite, not on its manifold, or inside the ground, or leaves a loop open.
        """
        return self._contacts.start(t, self._begun(t, x))

    def restart(self, t: float, x: Array, mode: Any) -> Transition:
        """Start in a given mode, as in the middle of another run: what touches there stays in touch.

        Args:
            t: time of the start [s].
            x: plain state.
            mode: that of another run at this state (`arc.mode`), which is gone on with as it is; or {contact: Mode}, of
                which those that are not named are open and joint limits as they are found. By name, contacts touch and
                move as they are said to, and the law decides which of them its forces hold.

        Raises:
            InputError: the state is not one of that mode (see `project`), or no valid one at all.
        """
        from .restarts import demand_mode

        mode = demand_mode(self.world, mode)
        return self._contacts.restart(t, self._begun(t, x), mode)

    def _begun(self, t: float, x: Array) -> Array:
        """The state in which a run starts.

        Raises:
            InputError: it is not finite, not on its manifold, or leaves a loop open; or a normal is not the gradient of
                its gap there.
        """
        world = self.world
        if world.closed_loops is not None:
            rank = world.closed_loops.rank
            world.closed_loops.begin(world.q(x), world.v(x))
            if world.closed_loops.rank != rank:
                world.arcs.clear()  # compiled ones know it
        x = self.prepared(t, x)
        self.validate(x)
        self._demand_gradients(t, world.q(x))
        return world.space.integrate(x, np.zeros(world.space.dim))  # normalises to rounding

    def _demand_gradients(self, t: float, q: Array) -> None:
        mechanism = self.world.mechanism
        if isinstance(mechanism, GivenNormals) and np.any((errors := mechanism.normal_errors(t, q)) > AGREES):
            name, error = mechanism.names[int(np.argmax(errors))], errors.max()
            raise InputError(
                f"the normal of contact '{name}' is off by {error:.3g} from the gradient of its gap at t = {t:.9g} s;"
                " return d gap / d q"
            )

    def crossing(self, t: float, x: Array, mode: Any, fired: frozenset[Hashable]) -> Transition:
        """The same without the open contacts that touch the ground here but have not fired."""
        if CLOCK in fired and self.world.driving.is_sampling(t):
            return self._sampled(t, x, mode, fired, self._contacts.crossing)
        return self._contacts.crossing(t, x, mode, fired)

    def separable(self, t: float, x: Array, mode: Any, names: frozenset[Hashable]) -> tuple[frozenset[Hashable], ...]:
        """Each guard alone, but for contacts that every neighbouring run brings to rest or to ground together."""
        return self._contacts.separable(t, x, mode, names)

    def _sampled(
        self, t: float, x: Array, mode: Any, fired: frozenset[Hashable], contacts: Callable[..., Transition]
    ) -> Transition:
        """Sampling of the controller, whose clock fired, and then what happens to the contacts."""
        transition = contacts(t, self.world.driving.sampled(t, x), mode, fired)
        derivative = partial(self._sampled_derivative, t, x, transition)
        return replace(transition, derivative=derivative, by_time=None, by_parameters=None, still=False, unmoved=False)

    def _sampled_derivative(self, t: float, x: Array, then: Transition) -> Array:
        sample = self._sample_by_state(t, x)
        return sample if then.derivative is None else then.derivative() @ sample

    def field_by_parameters(self, flow: Any, t: float, x: Array, names: tuple[str, ...]) -> Mapping[str, Array]:
        """{name: D_p f (dim,)} of a rigid mode by coefficients, masses, gravity, ground and its controller."""
        from .field_parameters import field_by_parameters
        from .rigid_sensitivity import knows

        of_impacts = {name: np.zeros(self.tangent_size) for name in names if name.endswith(IMPACTS_ALONE)}
        if not isinstance(flow, RigidFlow) or not knows(flow.arc):
            return of_impacts
        return of_impacts | field_by_parameters(flow, t, x, self._besides(names))

    def guard_by_parameters(
        self, flow: Any, t: float, x: Array, guard: Any, names: tuple[str, ...]
    ) -> Mapping[str, float]:
        """{name: D_p g} of a guard of a rigid mode by the same parameters."""
        from .field_parameters import guard_by_parameters
        from .rigid_sensitivity import knows

        of_impacts = {name: 0.0 for name in names if name.endswith(IMPACTS_ALONE)}
        if not isinstance(flow, RigidFlow) or not knows(flow.arc):
            return of_impacts
        besides = self._besides(names)
        found = guard_by_parameters(flow, t, x, guard, besides)
        return of_impacts if found is None else of_impacts | dict(zip(besides, found.tolist(), strict=True))

    def _besides(self, names: tuple[str, ...]) -> dict[str, Beside]:
        """The worlds beside this one by those parameters whose part in forces is known."""
        acting = (name for name in names if not name.endswith(IMPACTS_ALONE))
        return {name: beside for name in acting if (beside := self._contacts.neighbourhood.by(name)) is not None}

    # --- what users and trajectories ask for ------------------------------------------------------------------

    def guard_label(self, name: Hashable) -> str:
        """The contact a guard belongs to."""
        if not isinstance(name, tuple) or name[1] < 0:
            return str(name)
        names = (*self.world.mechanism.all_names, *(latch.name for latch in self.world.latches))
        return names[name[1]]

    def why_so_many(self, events: Sequence[Event]) -> str | None:
        """The contact that bounces on and on, where it is elastic or almost so."""
        from .zeno import bounces_on

        return bounces_on(self.world, events)

    def named_modes(self, mode: SystemMode) -> dict[str, Mode]:
        """{contact: Mode}; of edges against edges those that are closed."""
        mechanism = self.world.mechanism
        found = {mechanism.names[i]: mode.contacts[i].mode for i in self._told(mode)}
        resisting = zip(mechanism.resistance_names, mode.contacts[self.world.count :], strict=True)
        found |= {name: state.mode for name, state in resisting}
        closed = {k for k, _ in mode.latched}
        return found | {
            latch.name: Mode.CLOSED if k in closed else Mode.OPEN for k, latch in enumerate(self.world.latches)
        }

    def _told(self, mode: SystemMode) -> list[int]:
        """Contacts that are told of in a mode."""
        passing, states = self.world.mechanism.passing, mode.contacts
        return [i for i in range(len(self.world.mechanism.names)) if i not in passing or states[i].closed]

    def forces(self, t: float, x: Array, mode: SystemMode) -> dict[str, Array]:
        """{contact: force in world axes [N]}, zero where a contact is open; of resistances [N m].

        Edges against edges are told of while they are closed.
        """
        world = self.world
        along_rows, mechanism = self.row_forces(t, x, mode), world.mechanism.within(mode.regions)
        zero, names = np.zeros(3), mechanism.all_names
        return {
            names[i]: mechanism.world_force(t, world.q(x), i, along_rows.get(i, zero[: mechanism.dims[i]]))
            for i in (*self._told(mode), *range(world.count, len(names)))
        }

    def coordinate_names(self) -> tuple[list[str], list[str]] | None:
        """Names of the coordinates of a Robot, by its joints; None for a Mechanism, whose have none."""
        from ..multibody.robot_model import coordinate_names

        robot = self.world.robot
        return coordinate_names(robot.model) if isinstance(robot, RobotModel) else None

    def frame_poses(self, x: Array, frames: Sequence[str]) -> dict[str, Array]:
        """{frame: (4, 4), from its axes to those of the world} at a state [m].

        Raises:
            InputError: there is no such frame, or a Mechanism has none.
        """
        return self.world.frames.poses(self.world.q(x), frames)

    def row_forces(self, t: float, x: Array, mode: SystemMode) -> dict[int, Array]:
        """{number of a closed contact: its force along its rows [N], the normal one first}."""
        return self._contacts.forces(t, x, mode)

    def energy(self, x: Array | State, mode: Any = None) -> float:
        """Kinetic and potential energy [J] of a State or a plain state, that of a compliant ground left out."""
        x = self.pack(x) if isinstance(x, State) else x
        return float(self.world.mechanism.energy(self.world.q(x), self.world.v(x)))

    def loop_forces(self, t: float, x: Array, mode: SystemMode) -> dict[str, Array]:
        """{loop: force on its first body (3,) [N], with the moment about its origin (6,) [N m]}, in world axes.

        Loops that say the same thing more than once share their forces in least squares.
        """
        world = self.world.latched_as(mode.latched)
        if world.closed_loops is None:
            return {}
        q, v = world.q(x), world.v(x)
        acceleration = self.flow(mode).rebased(t, x).field(t, x)[world.nv : 2 * world.nv]
        along_rows = self._contacts.forces(t, x, mode)
        forces = np.concatenate([np.zeros(0), *(along_rows[i] for i in mode.closed)])
        given = world.driving.given_force(t, x)
        return world.closed_loops.loop_forces(t, q, v, acceleration, mode.closed, forces, given)

    def audit(self, trajectory: Trajectory) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Residuals of the laws along a run, and their limits."""
        from .energy_audit import audit

        return audit(self.world, trajectory)


def _latches(given: Any, robot: Any, contacts: tuple[str, ...]) -> tuple[Latch, ...]:
    """The latches that a user gave."""
    if isinstance(given, tuple) and not given:
        return ()
    from ..multibody.latches import checked_latches

    return checked_latches(given, robot, contacts)


def _contacts_of(world: World) -> Any:
    """The discrete side of a world: flows, starts and transitions of its kind of law."""
    if isinstance(world.law, RigidLaw):
        return RigidContacts(world)
    from .compliant_flow import CompliantContacts  # of which a rigid run needs nothing

    return CompliantContacts(world)


def _restored(kind: type[ContactSystem], world: World, own: dict[str, Any]) -> ContactSystem:
    """The system of a world that was copied or pickled, with attributes of a user's class."""
    made = object.__new__(kind)
    made.__dict__.update(own)
    made._inhabit(world)
    return made
