"""ContactSystem: a robot on its ground, with a contact law and a controller, as a hybrid system."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..common import registry
from ..common.arrays import Array
from ..common.user_calls import Asking, answer
from ..contact.laws import CompliantLaw, ContactLaw, RigidLaw
from ..contact.modes import Mode, SystemMode
from ..errors import InputError
from ..hybrid.differences import tangent_derivative
from ..hybrid.flow import Flow
from ..hybrid.manifold import Manifold
from ..hybrid.system import CLOCK, HybridSystem, Push, Transition
from ..hybrid.tolerances import Tolerances
from ..multibody.controllers import as_controller
from ..multibody.kinematics.closed_loops import ClosedMechanism
from ..multibody.loops import checked
from ..multibody.mechanism import ContactMechanism
from ..multibody.terrain import Flat, Terrain
from . import parameters
from .compliant_flow import CompliantContacts
from .transitions import RigidContacts
from .zeno import bounces_on

if TYPE_CHECKING:
    from ..hybrid.trajectory import Event, Trajectory


@dataclass(frozen=True)
class State:
    """State of a ContactSystem.

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
            try:
                value = np.array(getattr(self, name), dtype=float)
            except (TypeError, ValueError):
                raise InputError(f"State.{name} is not an array of numbers; give a sequence of floats") from None
            object.__setattr__(self, name, np.atleast_1d(value) if value.size else np.empty(0))


class StateSpace(Manifold):
    """Configurations of a mechanism with velocities and memory."""

    def __init__(self, configurations: Manifold, nv: int, memory: int) -> None:
        self._configurations = configurations
        self._nq, self._nv = configurations.size, nv
        self.size, self.dim = configurations.size + nv + memory, configurations.dim + nv + memory

    def integrate(self, x: Array, dx: Array) -> Array:
        """(q (+) dq, v + dv, z + dz)."""
        out = np.empty(self.size)
        out[: self._nq] = self._configurations.integrate(x[: self._nq], dx[: self._nv])
        np.add(x[self._nq :], dx[self._nv :], out=out[self._nq :])
        return out

    def difference(self, x0: Array, x1: Array) -> Array:
        """(q1 (-) q0, v1 - v0, z1 - z0)."""
        dq = self._configurations.difference(x0[: self._nq], x1[: self._nq])
        return np.concatenate([dq, x1[self._nq :] - x0[self._nq :]])

    def chart_rate(self, dx: Array, rate: Array) -> Array:
        """Rate of the chart coordinates: only those of the configuration are curved."""
        curved = self._configurations.chart_rate(dx[: self._nv], rate[: self._nv])
        if curved is not rate and curved.base is not rate:
            rate[: self._nv] = curved
        return rate

    def within_chart(self, dx: Array) -> bool:
        """Whether the configuration's chart is well conditioned."""
        return self._configurations.within_chart(dx[: self._nv])

    def bracket(self, rate: Array) -> Array | None:
        """That of the configurations at the velocity in `rate` (v, a, z'); velocities and memory commute."""
        own = self._configurations.bracket(rate[: self._nv])
        if own is None:
            return None
        out = np.zeros((self.dim, self.dim))
        out[: self._nv, : self._nv] = own
        return out


VARIED = 64  # copies with another parameter that are kept: a derivative asks for the same ones over and over


class AppliedJacobian(NamedTuple):
    """What controllers and pushes apply, differentiated by the state: forces (nv, dim), memory rates (own, dim)."""

    force_x: Array
    memory_x: Array


class ContactSystem(HybridSystem):
    """A robot (or textbook mechanism) with ground, contact law and controller.

    Args:
        robot: a Robot, or a Mechanism (whose functions hold ground and gravity).
        terrain: the ground of a Robot; level ground at z = 0 by default.
        law: name of a registered contact law, or an instance.
        controller: (t, q, v) -> tau (nv,), a Controller, or None.
        gravity: (3,) [m/s^2] for a Robot.
        joint_limits: whether the position limits of a Robot's joints are unilateral constraints.
        loops: LoopClosure objects that close loops of a Robot, besides its own ones.
        tolerances: what counts as zero in contact.
    """

    nv: int
    tolerances: Tolerances

    def __init__(
        self,
        robot: Any,
        terrain: Terrain | None = None,
        law: str | ContactLaw = "coulomb",
        controller: Any = None,
        gravity: Any = (0.0, 0.0, -9.81),
        joint_limits: bool = True,
        loops: Any = (),
        tolerances: Tolerances | None = None,
    ) -> None:
        self.robot, self.terrain = robot, terrain or Flat()
        self.gravity = _vector("gravity", gravity, 3)
        self.joint_limits = joint_limits
        self.tolerances = tolerances or Tolerances()
        if not hasattr(robot, "bind"):
            raise InputError(f"the robot is a {type(robot).__name__}; give a Robot (load_robot by name) or a Mechanism")
        if not isinstance(self.terrain, Terrain):
            raise InputError(f"the terrain is a {type(terrain).__name__}; give a Terrain such as terrain.Flat()")
        self.loops = (*getattr(robot, "loops", ()), *checked(loops))
        self.mechanism: ContactMechanism = self._bound()
        self.law = _law(law)
        self.controller = as_controller(controller)
        self.nq, self.nv = self.mechanism.nq, self.mechanism.nv
        self._still = np.zeros(self.nv)
        self._varied: dict[tuple[str, float], ContactSystem] = {}
        self._lay_out()
        self._set_coefficients(self.mechanism.friction, self.mechanism.static_friction, self.mechanism.restitution)

    def _bound(self) -> ContactMechanism:
        """The robot on its ground, with its loops closed.

        Raises:
            InputError: loops are to be closed of a mechanism that has no bodies, or between frames that are not there.
        """
        mechanism: ContactMechanism = self.robot.bind(self.terrain, self.gravity, self.joint_limits)
        if not self.loops:
            return mechanism
        if not hasattr(self.robot, "frame_id"):
            raise InputError(
                f"a {type(self.robot).__name__} has no bodies whose loops could be closed; give a Robot, or coordinates"
                " that close them"
            )
        return ClosedMechanism(mechanism, self.robot, self.loops)

    def _lay_out(self) -> None:
        """Where a state keeps the memory of the controller and of the law."""
        self._controller_memory = self.controller.memory if self.controller else 0
        count = len(self.mechanism.all_names)
        self._law_memory = self.law.memory * count if isinstance(self.law, CompliantLaw) else 0
        self.memory = self._controller_memory + self._law_memory
        self.tangent_size = 2 * self.nv + self.memory
        self._space = StateSpace(self.mechanism.space, self.nv, self.memory)

    def _set_coefficients(self, friction: Array, static: Array, restitution: Array) -> None:
        self.restitution = restitution
        self._own_friction = friction, static  # as the contact points say it; a law may overrule it
        if isinstance(self.law, RigidLaw):
            friction, static = self.law.friction(friction, static)
        self.friction, self.static_friction = friction, static
        self.preferred_integrator = self.law.integrator if isinstance(self.law, CompliantLaw) else None
        self._contacts = RigidContacts(self) if isinstance(self.law, RigidLaw) else CompliantContacts(self)

    # --- the contract of a hybrid system ----------------------------------------------------------------------

    def flow(self, mode: Any) -> Flow:
        """Field and guards of a mode; a flow holds data of its mode and is made anew for each arc."""
        return self._contacts.flow(mode)

    def transition(self, t: float, x: Array, mode: Any, fired: frozenset[Hashable]) -> Transition:
        """Impact, then choice of the modes of all touching contacts together."""
        return self._pass(t, x, mode, fired, self._contacts.transition)

    def crossing(self, t: float, x: Array, mode: Any, fired: frozenset[Hashable]) -> Transition:
        """The same without the open contacts that touch the ground here but have not fired."""
        return self._pass(t, x, mode, fired, self._contacts.crossing)

    def separable(self, t: float, x: Array, mode: Any, names: frozenset[Hashable]) -> tuple[frozenset[Hashable], ...]:
        """Each guard alone, but for contacts that every neighbouring run brings to rest or to ground together."""
        return self._contacts.separable(t, x, mode, names)

    def guard_label(self, name: Hashable) -> str:
        """The contact a guard belongs to."""
        return self.mechanism.all_names[name[1]] if isinstance(name, tuple) and name[1] >= 0 else str(name)

    def why_so_many(self, events: Sequence[Event]) -> str | None:
        """The contact that bounces on and on, where it is elastic or almost so."""
        return bounces_on(self, events)

    def _pass(
        self, t: float, x: Array, mode: Any, fired: frozenset[Hashable], contacts: Callable[..., Transition]
    ) -> Transition:
        """Sampling of the controller, where its clock fired, and then what happens to the contacts."""
        if not (CLOCK in fired and self._is_sampling(t)):
            return contacts(t, x, mode, fired)
        assert self.controller is not None
        transition = contacts(t, self.sampled(t, x), mode, fired)
        derivative = partial(self._sampled_derivative, t, x, transition)
        return replace(transition, derivative=derivative, still=False, unmoved=False)

    def _sampled_derivative(self, t: float, x: Array, then: Transition) -> Array:
        q, v, z = self.q(x), self.v(x), self.z(x)
        own, start = self._controller_memory, 2 * self.nv
        sample = np.eye(self.tangent_size)
        sample[start : start + own, : start + own] = self.controller.sample_jacobian(  # type: ignore[union-attr]
            t, q, v, z[:own], self.mechanism.space
        )
        return sample if then.derivative is None else then.derivative() @ sample

    def prepared(self, t: float, x: Array) -> Array:
        """The state with its loops closed, and the controller's first sample, where that is to be taken.

        So derivatives of a run by its start are those of the run that starts from the nearest closed state; they hold
        for all variations, those that would open a loop among them (see `admissible` for those that would not).
        """
        if isinstance(self.mechanism, ClosedMechanism):
            q, v = self.q(x), self.v(x)
            if self.mechanism.is_closed(q, v, self.tolerances.drift):  # a run that is resumed goes on unchanged
                x = x.copy()
            else:
                x = self._with(x, *self.mechanism.close(q, v))
        if not (self._is_sampling(t) or np.isnan(self.z(x)).any()):
            return x
        return self.sampled(t, np.nan_to_num(x) if np.isfinite(x[: self.nq + self.nv]).all() else x)

    def start(self, t: float, x: Array) -> Transition:
        """Initial modes: a touching contact that approaches is an impact, the others are sorted by the contact law.

        Raises:
            InputError: the state is not finite, not on its manifold, or inside the ground, or leaves a loop open.
        """
        if isinstance(self.mechanism, ClosedMechanism):
            self.mechanism.begin(self.q(x), self.v(x))
        x = self.prepared(t, x)
        self.validate(x)
        x = self._space.integrate(x, np.zeros(self._space.dim))  # normalises to rounding
        return self._contacts.start(t, x)

    def space(self, mode: Any = None) -> Manifold:
        """Manifold of (q, v, z)."""
        return self._space

    def q(self, x: Array) -> Array:
        """Configuration (nq,) in a plain state, a view of it."""
        return x[: self.nq]

    def v(self, x: Array) -> Array:
        """Velocity (nv,) in a plain state, a view of it."""
        return x[self.nq : self.nq + self.nv]

    def z(self, x: Array) -> Array:
        """Memory of the controller and of the law in a plain state, a view of it."""
        return x[self.nq + self.nv :]

    def state(self, x: Array) -> State:
        """The parts of a plain state."""
        return State(self.q(x), self.v(x), self.z(x))

    def pack(self, state: Any) -> Array:
        """The plain state of a State, or of a (q, v) pair; missing memory is zero.

        Raises:
            InputError: a part has the wrong size or is not finite.
        """
        if not isinstance(state, State):
            try:
                state = State(*state)
            except TypeError:
                raise InputError(f"the state is a {type(state).__name__}; give State(q, v)") from None
        z = state.z if len(state.z) or not self.memory else np.zeros(self.memory)
        missing = not len(state.z) and self.controller is not None and self.controller.period is not None
        for name, part, size in (("q", state.q, self.nq), ("v", state.v, self.nv), ("z", z, self.memory)):
            if part.shape != (size,):
                raise InputError(f"State.{name} has shape {part.shape}; this system needs ({size},)")
            if not np.all(np.isfinite(part)):
                place = int(np.argmin(np.isfinite(part)))
                raise InputError(f"State.{name} holds NaN or infinity at index {place}; give finite numbers")
        if missing:  # to be sampled where the run starts
            z[: self._controller_memory] = np.nan
        return np.concatenate([state.q, state.v, z])

    def validate(self, x: Array) -> None:
        """Raise InputError where a plain state is not one of this system."""
        self.pack(self.state(x))
        self.mechanism.validate(self.q(x))

    # --- what flows ask for -----------------------------------------------------------------------------------

    def tangent_rows(self, i: int) -> int:
        """Tangential rows of contact `i` that carry friction: none where its coefficient is zero."""
        return self.mechanism.dims[i] - 1 if self.static_friction[i] > 0.0 else 0

    def kept_rows(self, contacts: tuple[int, ...]) -> list[int]:
        """Which rows of the terms of `contacts` take part in contact problems (not the tangents of smooth contacts)."""
        kept: list[int] = []
        start = 0
        for i in contacts:
            kept += range(start, start + 1 + self.tangent_rows(i))
            start += self.mechanism.dims[i]
        return kept

    def applied_force(self, t: float, x: Array) -> Array | None:
        """Generalised forces (nv,) of controller and pushes that move the mechanism; None where there are none."""
        given = self._given_force(t, x)
        return None if given is None else self.mechanism.admissible_force(self.q(x), given)

    def _given_force(self, t: float, x: Array) -> Array | None:
        """Generalised forces (nv,) of controller and pushes; None where there are none."""
        if self.controller is None and not self.pushes:
            return None
        q, v = self.q(x), self.v(x)
        total = self._still
        if self.controller is not None:
            z = self.z(x)[: self._controller_memory]
            with Asking("the controller", self.controller, t):
                torque = self.controller.torque(t, q, v, z)
            total = self._checked("tau", torque, self.nv, t, x)
        for push in self.pushes:
            total = total + self.mechanism.generalised_force(q, push.frame, push.force, push.point)
        return total

    def _checked(self, what: str, given: Any, size: int, t: float, x: Array) -> Array:
        """What the controller returned, as an array of finite numbers."""
        return answer("the controller", self.controller, what, given, (size,), t, x)

    def memory_rate(self, t: float, x: Array) -> Array:
        """Rate (memory,) of the controller's memory, with the law's at rest."""
        rate = np.zeros(self.memory)
        if self.controller is not None and self._controller_memory:
            q, v, z = self.q(x), self.v(x), self.z(x)
            own = self._controller_memory
            with Asking("the controller", self.controller, t):
                given = self.controller.rate(t, q, v, z[:own])
            rate[:own] = self._checked("a rate", given, own, t, x)
        return rate

    def applied_jacobian(self, t: float, x: Array) -> AppliedJacobian:
        """Derivatives of `applied_force` and of the controller's memory rate with respect to the state."""
        nv, own = self.nv, self._controller_memory
        q, v, z = self.q(x), self.v(x), self.z(x)[:own]
        force, memory = np.zeros((nv, self.tangent_size)), np.zeros((own, self.tangent_size))
        if self.controller is not None:
            size = 2 * nv + own
            force[:, :size] = self.controller.torque_jacobian(t, q, v, z, self.mechanism.space)
            if own:
                memory[:, :size] = self.controller.rate_jacobian(t, q, v, z, self.mechanism.space)
        if self.pushes:

            def pushed(point: Array) -> Array:
                pushes = self.pushes
                return np.sum(
                    [self.mechanism.generalised_force(point, p.frame, p.force, p.point) for p in pushes], axis=0
                )

            force[:, :nv] += tangent_derivative(pushed, self.mechanism.space, q)
        given = self._given_force(t, x)
        if given is not None:
            force = self.mechanism.admissible_force_jacobian(q, given, force)
        return AppliedJacobian(force, memory)

    @property
    def actuated(self) -> Array:
        """Which velocities (nv,) a controller drives: the inputs of the system."""
        return np.asarray(getattr(self.robot, "actuated", np.ones(self.nv, dtype=bool)))

    def law_memory(self, x: Array) -> Array:
        """Memory of the contact law (contacts, memory a contact)."""
        return self.z(x)[self._controller_memory :].reshape(len(self.mechanism.all_names), -1)

    def next_time(self, t: float) -> float:
        """Next sampling instant of the controller."""
        if self.controller is None or self.controller.period is None:
            return float("inf")
        period = self.controller.period
        k = np.floor(t / period)
        while k * period <= t:  # the quotient of a multiple of the period may round to less
            k += 1.0
        return float(k * period)

    def _is_sampling(self, t: float) -> bool:
        """Whether `t` is an instant of the controller's sampling (a push may begin or end by the clock, too)."""
        if self.controller is None or self.controller.period is None:
            return False
        return abs(t - round(t / self.controller.period) * self.controller.period) <= 4.0 * float(np.spacing(abs(t)))

    def sampled(self, t: float, x: Array) -> Array:
        """The state with the controller's memory sampled."""
        if self.controller is None or self.controller.period is None:
            return x
        q, v, z = self.q(x), self.v(x), self.z(x)
        own = self._controller_memory
        with Asking("the controller", self.controller, t):
            given = self.controller.sample(t, q, v, z[:own])
        new = self._checked("a sample", given, own, t, x[: self.nq + self.nv])
        return np.concatenate([q, v, new, z[own:]])

    # --- what users and trajectories ask for ------------------------------------------------------------------

    def named_modes(self, mode: SystemMode) -> dict[str, Mode]:
        """{contact: Mode}."""
        return {name: state.mode for name, state in zip(self.mechanism.names, mode.contacts, strict=False)}

    def forces(self, t: float, x: Array, mode: SystemMode) -> dict[str, Array]:
        """{contact: force in world axes [N]} of all contacts; zero where a contact is open."""
        along_rows, mechanism = self._contacts.forces(t, x, mode), self.mechanism.within(mode.regions)
        zero = np.zeros(3)
        return {
            name: mechanism.world_force(t, self.q(x), i, along_rows.get(i, zero[: mechanism.dims[i]]))
            for i, name in enumerate(self.mechanism.names)
        }

    def energy(self, x: Array, mode: Any = None) -> float:
        """Kinetic and potential energy [J] of a plain state, that of a compliant ground left out."""
        return float(self.mechanism.energy(self.q(x), self.v(x)))

    def loop_forces(self, t: float, x: Array, mode: SystemMode) -> dict[str, Array]:
        """{loop: force on its first body (3,) [N], with the moment about its origin (6,) [N m]}, in world axes.

        Loops that say the same thing more than once share their forces in least squares.
        """
        if not isinstance(self.mechanism, ClosedMechanism):
            return {}
        q, v = self.q(x), self.v(x)
        flow = self.flow(mode)
        flow.rebase(t, x)
        acceleration = flow.field(t, x)[self.nv : 2 * self.nv]
        along_rows = self._contacts.forces(t, x, mode)
        forces = np.concatenate([np.zeros(0), *(along_rows[i] for i in mode.closed)])
        given = self._given_force(t, x)
        return self.mechanism.loop_forces(t, q, v, acceleration, mode.closed, forces, given)

    def close(self, q: Any, v: Any = None) -> State:
        """The nearest state whose loops are closed, in the metric of the mass matrix; velocities are zero by default.

        Raises:
            InputError: the loops cannot be closed from there, or a part has the wrong size.
        """
        x = self.pack(State(q, np.zeros(self.nv) if v is None else v))
        x = self._space.integrate(x, np.zeros(self._space.dim))
        if isinstance(self.mechanism, ClosedMechanism):
            x = self._with(x, *self.mechanism.close(self.q(x), self.v(x)))
        return State(self.q(x), self.v(x))

    def admissible(self, state: Any) -> Array:
        """Basis (dim, k) of the variations of a state that keep its loops closed: all, where there are none."""
        x = self.pack(state)
        basis = np.eye(self.tangent_size)
        if not isinstance(self.mechanism, ClosedMechanism):
            return basis
        motions = self.mechanism.admissible(self.q(x), self.v(x))
        moved = np.zeros((self.tangent_size, motions.shape[1]))
        moved[: 2 * self.nv] = motions
        return np.hstack([moved, basis[:, 2 * self.nv :]])

    def on_loops(self, x: Array) -> Array:
        """The state put back on its closed loops, where it is off by more than the drift; else `x` itself."""
        if not isinstance(self.mechanism, ClosedMechanism):
            return x
        q, v = self.q(x), self.v(x)
        q_closed, v_closed = self.mechanism.on_loops(q, v, self.tolerances.drift)
        return x if q_closed is q and v_closed is v else self._with(x, q_closed, v_closed)

    def _with(self, x: Array, q: Array, v: Array) -> Array:
        """The state with another configuration and velocity."""
        return np.concatenate([q, v, self.z(x)])

    def audit(self, trajectory: Trajectory) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Residuals of the laws along a run, and their limits."""
        from .energy_audit import audit

        return audit(self, trajectory)

    def parameter(self, name: str) -> float:
        """Value of a parameter that `with_parameter` changes; for all contacts at once where they share it.

        Raises:
            InputError: no such parameter, or the contacts differ in it.
        """
        return parameters.read(self, name)

    def parameter_scale(self, name: str) -> float:
        """Change of a parameter that counts as large: for one of the law its own size, or that of its default."""
        return parameters.scale(self, name)

    def parameters(self) -> dict[str, float]:
        """All parameters with their values, those of single contacts, bodies and joints."""
        return {name: parameters.read(self, name) for name in parameters.names(self)}

    def with_parameter(self, name: str, value: float) -> ContactSystem:
        """A copy with one parameter changed.

        Names: contact[.NAME].(friction|static_friction|restitution), limit[.JOINT/SIDE].restitution, law.PARAMETER,
        body.NAME.(mass|inertia_scale), controller.PARAMETER and terrain.PARAMETER as controller and ground declare
        them, and gravity [m/s^2], a magnitude. The inertia of a body grows with its mass; see
        `Robot.with_body_parameter`.

        Raises:
            InputError: no such parameter (the known ones are listed), or its value is out of range.
        """
        if (name, value) not in self._varied:
            if len(self._varied) >= VARIED:
                self._varied.clear()
            self._varied[name, value] = self._changed(**parameters.changes(self, name, value))
        return self._varied[name, value]

    def with_law(self, law: str | ContactLaw) -> ContactSystem:
        """A copy under another contact law, with the same coefficients, controller and pushes.

        Raises:
            PluginError: there is no law of this name.
        """
        return self._changed(law=_law(law))

    def carried(self, state: State) -> State:
        """A state of this robot under another law as one of this system: the memory of the law starts at zero."""
        own = state.z[: self._controller_memory]
        return State(state.q, state.v, np.concatenate([own, np.zeros(self._law_memory)]))

    def _changed(self, **attributes: Any) -> ContactSystem:
        """A copy with other attributes, and what follows from them."""
        changed = copy.copy(self)
        changed._varied = {}
        coefficients = attributes.pop("_own_coefficients", (*self._own_friction, self.restitution))
        for name, value in attributes.items():
            setattr(changed, name, value)
        if not attributes.keys().isdisjoint({"robot", "terrain", "gravity"}):
            bound = changed._bound()
            changed.mechanism = bound.with_rank_of(self.mechanism) if isinstance(bound, ClosedMechanism) else bound
        changed._lay_out()
        changed._set_coefficients(*coefficients)
        return changed

    def with_push(self, frame: str, force: Any, end: float, point: Any = (0, 0, 0)) -> ContactSystem:
        """A copy with a `force` (3,) [N, world axes] at `point` (3,) [m] of `frame`; a Simulation ends it at `end` [s].

        Raises:
            InputError: there is no such frame, or a vector is not three finite numbers.
        """
        push = Push(frame, _vector("force", force, 3), _vector("point", point, 3), end)
        where = self.robot.nominal if hasattr(self.robot, "nominal") else np.zeros(self.nq)
        self.mechanism.generalised_force(where, frame, push.force, push.point)  # raises where there is no such frame
        return self._changed(pushes=(*self.pushes, push))

    def with_pushes(self, pushes: Iterable[tuple[str, Any, float, Any]]) -> ContactSystem:
        """A copy with these pushes (frame, force, end, point) in place of its own."""
        other = self._changed(pushes=())
        for frame, force, end, point in pushes:
            other = other.with_push(frame, force, end, point)
        return other if other.pushes or self.pushes else self

    def without_pushes(self, t: float) -> ContactSystem:
        """A copy without the pushes that end at `t` or before."""
        return self._changed(pushes=tuple(push for push in self.pushes if push.end > t))


def _law(given: str | ContactLaw) -> ContactLaw:
    law = registry.load("contact_laws", given)() if isinstance(given, str) else given
    if not isinstance(law, (RigidLaw, CompliantLaw)):
        raise InputError(
            f"the contact law is a {type(law).__name__}; give a name or an instance of RigidLaw or CompliantLaw"
        )
    return law


def _vector(name: str, value: Any, size: int) -> Array:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (size,) or not np.all(np.isfinite(array)):
        raise InputError(f"{name} is {value!r}; give {size} finite numbers")
    return array
