"""The contract of mechanisms in a ContactSystem: equations of motion, gaps and rows of contacts, regions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np

from ..common.arguments import function
from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..contact.modes import SystemMode
from ..errors import InputError
from ..hybrid.differences import derivative, tangent_derivative
from ..hybrid.flow import GuardBounds, Look, Looks, Path
from ..hybrid.manifold import Euclidean, Manifold

if TYPE_CHECKING:
    from .plain_robot import PlainRobot

Shortcut = Callable[[Array, Array, Array | None], tuple[Array, Callable[[], Array]]]  # (a, forces when asked)

COEFFICIENTS = ("friction", "static_friction", "restitution")  # of a contact
ALONG = 1e-3  # way along a motion in differences of frames [rad, m]
SPREAD = 1e-3  # step of those of fourth order, about the fifth root


class Terms(NamedTuple):
    """The equations of motion and the rows of some contacts at one state: M a = force + J^T lam, z' = J a + bias.

    Attributes:
        mass: M (n, n).
        force: applied and inertial forces (n,) without contacts.
        rows: J (m, n), contact by contact: the normal row, then the tangential rows.
        rates: contact velocities z (m,), relative to the ground [m/s].
        bias: J' v and what the ground adds (m,) [m/s^2].
    """

    mass: Array
    force: Array
    rows: Array
    rates: Array
    bias: Array


TermsOf = Callable[[float, Array, Array], Terms]  # (t, q, v) -> the equations of motion with the rows of some contacts


class TermDerivatives(NamedTuple):
    """First derivatives of the equations of motion along tangent directions of q and along v, with a and lam held.

    Attributes:
        residual_q, residual_v: (n, n) of r = M a - force - J^T lam, with the force of `Terms`.
        rates_q: (m, n) of the contact velocities z; that along v is J itself.
        motion_q, motion_v: (m, n) of z' = J a + bias.
    """

    residual_q: Array
    residual_v: Array
    rates_q: Array
    motion_q: Array
    motion_v: Array


class JointPath(NamedTuple):
    """Bounds of a motion along a step.

    Attributes:
        t: time of its start [s].
        duration: of the step [s].
        q: configuration at its start (nq,).
        speed, acceleration: largest absolute values on the way (nv,).
        error: () -> by what a configuration on the way may be off, along tangent directions (nv,).
    """

    t: float
    duration: float
    q: Array
    speed: Array
    acceleration: Array
    error: Callable[[], Array]

    @staticmethod
    def of(path: Path, q: Array, v: Array) -> JointPath:
        """Of the path of a state (q, v, ...), whose tangent vectors are (dq, dv, ...)."""
        nv = len(v)
        speed, acceleration = np.abs(v) + path.moved[nv : 2 * nv], path.rate[nv : 2 * nv]
        return JointPath(path.t, path.duration, q, speed, acceleration, lambda: path.error()[:nv])


class GapBounds(NamedTuple):
    """Bounds of the speed of some gaps along a path: see `GuardBounds`.

    Attributes:
        speed: bounds of |g'| (k,).
        at_least: gaps (k,) -> lower bounds of the distances; None: the gaps themselves.
        closer: () -> bounds of |g''| (k,), and by what interpolated gaps may be off (k,).
        known: mask (k,) of the gaps that these bounds hold of; None: of all.
    """

    speed: Array
    at_least: Callable[[Array], Array] | None
    closer: Callable[[], tuple[Array, Array]]
    known: Array | None = None

    def of_guards(self, guards: Array) -> GuardBounds:
        """The same of the guards that are these gaps."""
        places = np.arange(len(guards)) if self.known is None else np.flatnonzero(self.known)
        found, count, below = cache(self.closer), len(guards), self.at_least

        def closer(numbers: Array) -> tuple[Array, Array]:
            bend, error = found()
            return bend[places[numbers]], error[places[numbers]]

        def at_least(gaps: Array) -> Array:
            assert below is not None
            every = np.ones(count)
            every[places] = gaps
            return below(every)[places]

        return GuardBounds(guards[places], self.speed[places], None if below is None else at_least, closer)


class Trees(NamedTuple):
    """Trees of joints by the numbers of their roots: they move each other through contacts alone, 0 is the world.

    Attributes:
        velocities: tree of each velocity (nv,).
        contacts: trees of both bodies of each contact and constraint (nc, 2).
    """

    velocities: Array
    contacts: Array


GROUND = "ground"  # what bodies may be inside, besides each other


class Overlap(NamedTuple):
    """Two shapes by name (or one and "ground"), their joints (the ground has 0), and how deep they are inside [m]."""

    first: str
    second: str
    joints: tuple[int, int]
    depth: float


class Regions:
    """Contacts whose distance is smooth by regions (a ball passes from the face of a box to its edge), and overlaps."""

    def region(self, q: Array, contact: int) -> tuple[int, ...]:
        """The region in which a contact touches; () where its distance is smooth everywhere."""
        return ()

    def within(self, regions: Mapping[int, tuple[int, ...]]) -> Self:
        """The mechanism with the regions of some contacts held, beyond their ends as well."""
        return self

    def region_sides(self, contact: int, region: tuple[int, ...]) -> tuple[int, ...]:
        """The sides on which a region can be left."""
        return ()

    def region_margin(self, q: Array, contact: int, region: tuple[int, ...], side: int) -> float:
        """Distance from leaving a region on a side."""
        raise NotImplementedError

    def region_gradient(self, q: Array, contact: int, region: tuple[int, ...], side: int) -> Array:
        """Derivative (nv,) of that distance."""
        raise NotImplementedError

    def region_beyond(self, contact: int, region: tuple[int, ...], side: int) -> tuple[int, ...] | None:
        """The region behind a side; None where the contact ends there."""
        raise NotImplementedError

    def taking_over(self, q: Array, contact: int, region: tuple[int, ...]) -> tuple[int, ...]:
        """Open contacts that touch at the point and along the normal of one that ends: they go on from there."""
        return ()

    def overlaps(self, t: float, q: Array) -> list[Overlap]:
        """Bodies that are inside each other or in the ground, by their shapes alone."""
        return []

    @property
    def shapeless(self) -> bool:
        """Whether no shapes are watched: there never are any."""
        return True

    def overlaps_along(self, times: Array, joints: Array) -> list[Overlap]:
        """Those at times (k,), where the joints are placed (k, joints, 4, 3), as `joint_places` tells them."""
        return []

    def joint_places(self, q: Array) -> Array:
        """Axes and origin (joints, 4, 3) of each joint that carries shapes: there is none."""
        return np.zeros((0, 4, 3))

    def all_joints(self, plain: Array) -> Array:
        """The same (k, joints, 4, 3), by those of the joints of its `plain_robot` (k, plain joints, 4, 3)."""
        return np.zeros((len(plain), 0, 4, 3))


class Differentiated(ABC):
    """Derivatives of the equations of motion; by differences, where a mechanism does not know better."""

    nv: int
    space: Manifold

    @abstractmethod
    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """Equations of motion with the rows of `contacts`."""

    def term_derivatives(
        self, t: float, q: Array, v: Array, a: Array, contacts: tuple[int, ...], forces: Array
    ) -> TermDerivatives:
        """Derivatives of residual, rates and motion at (t, q, v, a), with `forces` (m,) along the rows of `contacts`.

        Here by differences of `terms`; the error is about 1e-10 of the largest term, more where a bias is differenced.
        """

        def values(q: Array, v: Array) -> Array:
            terms = self.terms(t, q, v, contacts)
            residual = terms.mass @ a - terms.force - terms.rows.T @ forces
            return np.concatenate([residual, terms.rates, terms.rows @ a + terms.bias])

        scale = max(1.0, float(np.abs(v).max(initial=0.0)))
        along_q = self._along_q(lambda moved: values(moved, v), q)
        along_v = tangent_derivative(lambda moved: values(q, moved), Euclidean(self.nv), v, SPREAD * scale)
        n, m = self.nv, len(forces)
        return TermDerivatives(along_q[:n], along_v[:n], along_q[n : n + m], along_q[n + m :], along_v[n + m :])

    def impulse_derivatives(self, t: float, q: Array, w: Array, contacts: tuple[int, ...], impulses: Array) -> Array:
        """Derivative (n, n) of M(q) w - J(q)^T Lam along tangent directions of q, with w (n,) and Lam (m,) held."""
        still = np.zeros(self.nv)

        def momentum(q: Array) -> Array:
            terms = self.terms(t, q, still, contacts)
            return terms.mass @ w - terms.rows.T @ impulses

        return self._along_q(momentum, q)

    def rate_derivatives(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Derivative (m, n) of the contact velocities z along tangent directions of q, with v held."""
        return self._along_q(lambda moved: self.terms(t, moved, v, contacts).rates, q)

    def _along_q(self, function: Callable[[Array], Array], q: Array) -> Array:
        """Derivative (., n) of a function of the configuration along its tangent directions."""
        return tangent_derivative(function, self.space, q, SPREAD)


class Gaps(ABC):
    """Gaps of contacts, and their rates."""

    names: tuple[str, ...]

    @abstractmethod
    def gaps(self, t: float, q: Array) -> Array:
        """Distances (nc,) of all contacts to the ground [m]."""

    def gaps_of(self, t: float, q: Array, contacts: Array) -> Array:
        """Those of some contacts (k,), given by their numbers (k,), where these can be had for less."""
        return self.gaps(t, q)[contacts]

    def met_gaps(self, t: float, q: Array, contacts: Array) -> Array:
        """Those of some of the `raised` contacts (k,) as they go on from where they are met: not raised."""
        return self.gaps_of(t, q, contacts)

    def constraint_gaps(self, t: float, q: Array) -> Array:
        """Those of the further constraints alone (len(constraint_names),)."""
        return self.gaps(t, q)[len(self.names) :]

    def by_time(self, t: float, q: Array, v: Array) -> Array:
        """Numbers (k,) that time alone may change, where it is `timed`: its gaps."""
        return self.gaps(t, q)

    def gap_bounds(self, contacts: Array) -> Callable[[JointPath], GapBounds] | None:
        """Bounds of the speed of the gaps of some contacts (k,), in rising order; None: nothing is known."""
        return None

    def approach(self, path: JointPath) -> float:
        """Bound of how far the gap of any `skippable` contact falls along a path [m]."""
        raise NotImplementedError

    def meeting(self, path: JointPath, at: Callable[[float], Array]) -> tuple[Array, Array]:
        """Contacts (k,), rising, among them all `skippable` ones whose gaps may close along a path `at` (t) -> q.

        And bounds (k,) of how far their gaps fall there [m].
        """
        raise NotImplementedError

    def gap_motion(self, t: float, q: Array, v: Array, contact: int) -> Look:
        """A gap that `gap_bounds` bounds, or a lower bound of it, and its rate."""
        raise NotImplementedError

    def gap_motions(self, t: float, q: Array, v: Array, contacts: Array) -> Looks:
        """Those of several contacts (k,), for mechanisms that have them for less together."""
        return Looks.of([self.gap_motion(t, q, v, contact) for contact in contacts.tolist()])

    def paces(self, q: Array, v: Array, a: Array, contacts: Array) -> Array:
        """Bounds of the rates of the gaps of some contacts here [m/s], and of their rates [m/s^2] (2, k).

        Those of the material of both bodies; infinite where they cost as much as the rates themselves.
        """
        return np.full((2, len(contacts)), np.inf)


class ContactMechanism(Regions, Gaps, Differentiated):
    """A mechanical system with possible contacts, on its ground.

    Attributes:
        nq, nv: numbers of a configuration and of a velocity.
        space: manifold of the configurations.
        names: name of each contact.
        constraint_names: names of further unilateral constraints without friction, which follow the contacts.
        resistance_names: names of rolling and torsional frictions, which follow them and have tangential rows only.
        hosts: contact whose normal force presses each of them.
        pair_names: those of `names` that are contacts between bodies, FIRST+SECOND.
        passing: numbers of those that are of a moment, as edges against edges: they are told of while they are closed,
            and their gaps jump where their features cease to be the nearest ones.
        skippable: numbers of those that need not be looked at while they are far, where there are very many, or some
            that take long: see `approach`.
        unmeasured: numbers of those of them whose gaps are no distances: they are looked at wherever the boxes around
            their bodies are near.
        kinked: numbers of those whose open gaps jump, or bend sharply, as those of a corner beyond the edge of a face.
        dims: rows of each contact, 1 + d_t, then of each constraint and resistance.
        holding: numbers of those that are held in their regions under laws that give way, too.
        raised: numbers of those whose open gaps are raised where they do not act, down to where they do.
        friction, static_friction, restitution: coefficients of all of these, those of resistances in metres.
        enabled: for each contact a function (t, q, v) -> margin, or None.
        bounded_steps: whether `longest_step` keeps gaps from swinging within a step; not over a ground that moves
            in a way that it does not bound.
        autonomous: whether gaps and rows do not depend on time.
        timed: whether time alone may change its gaps, or forces of its own, in a way that nothing bounds, as functions
            of a user's do.
        has_loops: whether it is a ClosedMechanism.
        has_regions: whether any of its contacts has a `region`.
        trees: which of its velocities can move each other without contacts; None: all of them.
    """

    nq: int
    nv: int
    space: Manifold
    names: tuple[str, ...]
    constraint_names: tuple[str, ...] = ()
    resistance_names: tuple[str, ...] = ()
    hosts: tuple[int, ...] = ()
    pair_names: tuple[str, ...] = ()
    passing: frozenset[int] = frozenset()
    kinked: frozenset[int] = frozenset()
    holding: frozenset[int] = frozenset()
    raised: frozenset[int] = frozenset()
    skippable: Array = np.zeros(0, dtype=int)
    unmeasured: Array = np.zeros(0, dtype=int)
    vicinity: float = 0.0  # m, gap up to which these are looked at where nothing asks for more
    dims: tuple[int, ...]
    friction: Array
    static_friction: Array
    restitution: Array
    enabled: tuple[Callable[[float, Array, Array], float] | None, ...]
    bounded_steps: bool = False
    autonomous: bool = False
    timed: bool = False
    has_loops: bool = False
    has_regions: bool = False
    trees: Trees | None = None
    _plain_robot: PlainRobot | None = None

    @cached_property
    def all_names(self) -> tuple[str, ...]:
        """Names of contacts, constraints and resistances, in the order of their indices."""
        return self.names + self.constraint_names + self.resistance_names

    @property
    def plain_robot(self) -> PlainRobot | None:
        """Plain arrays of it, for compiled engines; None of what is no robot on a ground that is data."""
        return self._plain_robot

    def joints_of(self, contact: int) -> tuple[int, int]:
        """Joints of the first body of a contact and of what it touches, 0 for the world.

        Raises:
            InputError: the mechanism has no bodies.
        """
        raise InputError("only contacts of a Robot have rolling and torsional friction; leave them out")

    def near(self, t: float, q: Array, distance: float) -> Array:
        """Numbers (k,) of contacts, rising: all that touch, or may once bodies are closer by a distance [m]."""
        return np.arange(len(self.dims) - len(self.hosts))

    def frame_motion(self, t: float, q: Array, v: Array, contact: int) -> tuple[Array, Array]:
        """Frame E = (n, t...) (1 + d_t, 3) of a contact of a Robot in world axes, and its rate; here by differences."""

        def frame(h: float) -> Array:
            at = q if h == 0.0 else self.space.integrate(q, h * v)
            return np.array([self.world_force(t + h, at, contact, unit) for unit in np.eye(self.dims[contact])])

        return frame(0.0), derivative(frame, ALONG / max(1.0, float(np.abs(v).max(initial=0.0))))

    def prepared(self, contacts: tuple[int, ...]) -> TermsOf:
        """The `terms` of `contacts`, with what they fix worked out once."""
        return partial(_terms, self, contacts)

    def rates(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Contact velocities (m,) alone, for mechanisms that have them for less than their rows."""
        return self.terms(t, q, v, contacts).rates

    def gap_gradient(self, t: float, q: Array, v: Array, contact: int) -> Array:
        """Derivative (nv,) of the gap of a contact by q, for mechanisms that have it for less than all terms."""
        return self.terms(t, q, v, (contact,)).rows[0]

    @abstractmethod
    def world_force(self, t: float, q: Array, contact: int, force: Array) -> Array:
        """A contact force or impulse given along its rows, as the user sees it (world axes for a robot)."""

    @abstractmethod
    def energy(self, q: Array, v: Array) -> float:
        """Energy [J] whose change is the work counted by `working_power` and done at contacts and actuators."""

    def longest_step(self, v: Array) -> float:
        """Time in which no part of the mechanism turns by more than about a radian [s]."""
        return float("inf")

    def generalised_force(self, q: Array, frame: str, force: Array, point: Array) -> Array:
        """J^T f (nv,) of a force (3,) in world axes at a point (3,) of a frame.

        Raises:
            InputError: the mechanism has no frames.
        """
        raise InputError("only a Robot can be pushed on a frame; add the force to the mechanism's own function")

    def admissible_force(self, q: Array, force: Array) -> Array:
        """The part of generalised forces (nv,) or (nv, k) that moves the mechanism; closed loops take up the rest."""
        return force

    def admissible_force_jacobian(self, q: Array, force: Array, force_x: Array) -> Array:
        """Derivative (nv, dim) of that by the state, from `force_x`, that of `force`; the acceleration is held."""
        return force_x

    @abstractmethod
    def working_power(self, t: float, q: Array, v: Array) -> float:
        """Power [W] of what the energy does not hold: joint damping, or forces without a potential."""

    def shortcut(self, mode: SystemMode) -> Shortcut | None:
        """A faster way (q, v, tau) -> (a, forces) to move in this mode; None where there is none."""
        return None

    def validate(self, q: Array) -> None:
        """Raise InputError where `q` is not a configuration."""


@runtime_checkable
class GivenNormals(Protocol):
    """A mechanism whose gaps and normals are functions of a user, which need not fit each other."""

    def normal_errors(self, t: float, q: Array) -> Array:
        """How far normals are off the gradients of their gaps (nc,), relative to one and to the size of these."""


def _terms(mechanism: ContactMechanism, contacts: tuple[int, ...], t: float, q: Array, v: Array) -> Terms:
    return mechanism.terms(t, q, v, contacts)


MARGIN = function("a function (t, q, v) -> margin")


def check_static(name: str, friction: float, static: float | None) -> None:
    """Raise InputError where the static coefficient of contact `name` is below the kinetic one."""
    if static is not None and static < friction:
        raise InputError(
            f"contact '{name}' has static_friction {static} and friction {friction}; the static one must not be smaller"
        )


def static_of(point: Any) -> float:
    """Static coefficient of a contact; the kinetic one where none is given."""
    return kinetic_of(point) if point.static_friction is None else float(point.static_friction)


def kinetic_of(point: Any) -> float:
    """Kinetic coefficient of a contact; of an elliptic cone the larger one."""
    return max(point.friction) if isinstance(point.friction, tuple) else point.friction  # type: ignore[no-any-return]


def unique_names(names: Sequence[str], what: str = "contact") -> tuple[str, ...]:
    """The names of contacts, or of `what` else, if no two are equal.

    Raises:
        InputError: a name appears twice.
    """
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise InputError(f"{what} name '{twice[0]}' is used twice; give each {what} a name of its own")
    return tuple(names)
