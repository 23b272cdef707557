"""What one contact mode of a rigid law fixes, prepared once, and the accelerations in it: a function of its arguments.

    arc = prepare(world, mode)
    accelerations(arc, t, x, references) -> Accelerations

Motion with every contact OPEN, STICK or SLIP: M a = f + J^T lam with the constraints of the mode. Constrained rows C
(normals of closed contacts, tangents of sticking ones) and force directions D, which differ from C where contacts slip
(d = n - mu_k t s):  (C M^-1 D^T) lam = -(C M^-1 f + bias),  a = M^-1 (f + D^T lam).
Source: Leine and Nijmeijer 2004 (as in `contact`), with the spatial cone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import field, replace
from math import hypot
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..common.arrays import Array
from ..common.lazy import Late, dataclass, lazy, scipy
from ..contact.limits import LEAP
from ..contact.modes import Mode, Phase, SystemMode, unit
from ..contact.zero import RANK
from ..errors import SingularError
from ..multibody.mechanism import ContactMechanism, Shortcut, Terms, TermsOf
from .contact_rows import problem_of
from .engines import CompiledArc, CompiledWatch, PlainMotion
from .world import World
from .zero import STRAIGHT

if TYPE_CHECKING:
    from ..contact import linear_algebra, redundant_forces
    from ..contact.solvers import pivot, slip_directions
    from ..contact.solvers.pivot import GivenModes
    from .islands import Island
else:  # a compiled engine that knows all of a run asks for none of these
    linear_algebra, redundant_forces = (
        Late(f"contactsim.contact.{name}") for name in ("linear_algebra", "redundant_forces")
    )
    pivot, slip_directions = (Late(f"contactsim.contact.solvers.{name}") for name in ("pivot", "slip_directions"))

ARCS = 256  # patterns of a world that are kept; a hexapod may land through 200


@dataclass(frozen=True)
class References:
    """What slips remember from one step to the next.

    Attributes:
        slip: {contact: unit slip direction where the step began}, along which the field runs on past a stop.
        incipient: {contact: direction} from which that of the slip acceleration is looked for.
        straight: slip that leaves its reference direction by less than this runs along it [m/s].
        forces: those (m,) of the closed contacts there, of arcs in which contacts begin to slip; None: not known.
    """

    slip: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    incipient: Mapping[int, Array] = field(default_factory=dict)
    straight: float = STRAIGHT
    forces: Array | None = None


@dataclass(frozen=True, eq=False)
class RigidArc:
    """A contact mode of a world.

    Attributes:
        world, mode: as given.
        mechanism: with the regions of the closed contacts held.
        terms: (t, q, v) -> equations of motion with the rows of the closed contacts.
        shortcut: a faster way to the accelerations, where the mode has one.
        closed: indices of the closed contacts.
        normal: {contact: its normal row}; of a resistance, that of its host.
        tangent: {contact: its tangential rows}.
        size: number of rows m.
        constrained: rows that are held (k,).
        combine: (k, m) from rows to force directions, without the friction of contacts that slip.
        slips: contacts that slip under friction, each with the number of its normal force among the unknowns.
        held: {contact: slip direction} of those whose direction is held.
        incipient: {contact: slip direction with which it begins to slip}.
        friction: {contact: its coefficient}; where they depend on the speed, those with which slips begin.
        curved: contacts that slip with friction that depends on their speed.
        kept: rows that take part in contact problems.
        given: the contact problem of a general mode, in which forces are not unique or a slip direction is that of the
            slip acceleration; None for others.
        resting: contact velocities (m,) where nothing slips: zeros.
        pattern: what it has in common with arcs that differ by slip directions and ends of bounces alone.
    """

    world: World
    mode: SystemMode
    mechanism: ContactMechanism
    terms: TermsOf
    shortcut: Shortcut | None
    closed: tuple[int, ...]
    normal: Mapping[int, int]
    tangent: Mapping[int, slice]
    size: int
    constrained: Array
    combine: Array
    slips: tuple[tuple[int, int], ...]
    held: Mapping[int, tuple[float, ...]]
    incipient: Mapping[int, Array]
    friction: Mapping[int, float]
    curved: tuple[int, ...]
    kept: list[int]
    given: GivenModes | None
    resting: Array
    pattern: Pattern

    @lazy
    def compiled(self) -> CompiledArc | None:
        """The arc by the engine of its world; None: it runs in Python."""
        return self.pattern.compiled

    @lazy
    def islands(self) -> tuple[tuple[Island, RigidArc], ...]:
        """Contacts that have nothing to do with each other, each set with an arc of its own; none where all is one."""
        return tuple((island, _directed(own, self.mode)) for island, own in self.pattern.islands)

    def velocities(self, t: float, x: Array) -> Array:
        """Contact velocities (m,) of the closed contacts."""
        found = None if self.compiled is None else self.compiled.slips(t, x)
        return self.mechanism.rates(t, self.world.q(x), self.world.v(x), self.closed) if found is None else found

    def directions(self, references: References) -> Array:
        """Slip directions (closed contacts, 2): held, or where the step began; zero of contacts that do not slip."""
        if not (self.slips or self.incipient):
            return np.zeros((len(self.closed), 2))
        rows = []
        for i in self.closed:
            own = references.incipient[i] if i in self.incipient else self.held.get(i) or references.slip.get(i) or ()
            rows.append((*own, 0.0, 0.0)[:2])
        return np.array(rows, dtype=float)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "compiled"}


@dataclass(frozen=True, eq=False)
class Guards:
    """The guards of a mode, by kind.

    Attributes:
        names: (kind, contact) of each.
        gaps, gap_contacts: places of the guards that are gaps, and their contacts.
        limits: numbers of the constraints whose gaps they are, where all are those of constraints; else None.
        forces, normals: places of the guards "force", and the normal rows.
        cones, cone_rows, cone_friction: places of the guards "cone", their rows (k, 3) and coefficients (k,); a row
            that a contact in the plane does not have is the zero behind the last force.
        others: (place, kind, contact) of the rest.
        look_at_forces: whether one of them does.
        places: {kind: places of its guards}.
        of_forces, of_places: places of the guards that are known as well as forces, and as well as places.
        rounding, band: how well the others are known, and how far below zero they may begin (ng,).
        paces: units a second by which each may change (ng,).
        smooth: whether each is smooth along a step (ng,).
        still: whether each does not depend on the time (ng,).
        given: those that functions of a user's give (k,).
    """

    names: tuple[tuple[str, int], ...]
    gaps: Array
    gap_contacts: Array
    limits: Array | None
    forces: Array
    normals: Array
    cones: Array
    cone_rows: Array
    cone_friction: Array
    others: tuple[tuple[int, str, int], ...]
    look_at_forces: bool
    places: Mapping[str, Array]
    of_forces: Array
    of_places: Array
    rounding: Array
    band: Array
    paces: Array
    smooth: Array
    still: Array
    given: Array


class Pattern:
    """What arcs share whose modes differ by slip directions and ends of bounces alone.

    Args:
        world: what moves.
        mode: such a mode, without these.

    Attributes:
        guards: laid out once they were asked for, see `rigid_guards.guards_of`.
        flow: that of an arc, from which those of the others are made, see `rigid_flow.flow_of`; None as yet.
        watches: {what tells them apart: the compiled arc with these guards}.
    """

    def __init__(self, world: World, mode: SystemMode) -> None:
        self._world, self._mode = world, mode
        self.guards: Guards | None = None
        self.flow: Any = None
        self.watches: dict[Hashable, CompiledWatch | None] = {}

    @lazy
    def compiled(self) -> CompiledArc | None:
        """The mode by the engine of its world; None: it runs in Python."""
        found = self._world.compiled_engine
        if found is None:
            return None
        from .plain_arc import plain_arc

        plain = plain_arc(self._world, self._mode)
        return None if plain is None else found.compiled(plain)

    @lazy
    def islands(self) -> tuple[tuple[Island, RigidArc], ...]:
        """Contacts that have nothing to do with each other, see `RigidArc.islands`."""
        trees = self._world.mechanism.trees
        if trees is None or not np.ptp(trees.velocities):
            return ()
        from .islands import islands_of

        found = islands_of(self._world, trees, self._mode.closed)
        return tuple((island, _prepared(self._world, self._mode, island.contacts)) for island in found)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name != "compiled"}
        return kept | {"watches": {}, "flow": None}


def prepare(world: World, mode: SystemMode) -> RigidArc:
    """What a mode fixes: where the rows of each closed contact lie, which of them are constrained, and who slips."""
    known: RigidArc | None = world.arcs.get(mode.pattern)
    if known is None:
        if len(world.arcs) >= ARCS:
            world.arcs.clear()
        known = world.arcs[mode.pattern] = _prepared(world, mode.pattern)
    mode.__dict__["pattern"] = known.mode  # one object, which is found at once
    return _directed(known, mode)


def _directed(arc: RigidArc, mode: SystemMode) -> RigidArc:
    """An arc in a mode of its pattern, with the slip directions that it holds."""
    if mode is arc.mode:
        return arc
    made = object.__new__(RigidArc)
    made.__dict__.update(arc.__dict__)  # `replace` would take each attribute by itself, at every event
    made.__dict__.pop("islands", None)  # which have the directions of their mode
    held = {i: mode.contacts[i].direction for i in arc.held}
    incipient = {i: np.array(mode.contacts[i].direction) for i in arc.incipient}
    made.__dict__.update(mode=mode, held=held, incipient=incipient)
    return made


def _prepared(world: World, mode: SystemMode, contacts: tuple[int, ...] | None = None) -> RigidArc:
    """The arc of all closed contacts of a mode, or of those of one of its islands."""
    mechanism, closed = world.mechanism.within(mode.regions), mode.closed if contacts is None else contacts
    normal: dict[int, int] = {}
    tangent: dict[int, slice] = {}
    constrained: list[int] = []
    columns: dict[int, int] = {}  # of the normal force of each contact, among the unknowns
    slips: list[tuple[int, int]] = []
    start = 0
    for i in closed:
        state, host, first = mode.contacts[i], world.host(i), start + world.heads[i]
        if host == i:
            normal[i], columns[i] = start, len(constrained)
            constrained.append(start)
        normal[i], start = normal[host], start + mechanism.dims[i]
        tangent[i] = slice(first, start)
        if state.mode is Mode.SLIP and world.tangent_rows[i]:
            slips.append((i, columns[host]))
        if state.mode is Mode.STICK:
            constrained.extend(range(first, first + world.tangent_rows[i]))
    combine = np.zeros((len(constrained), start))
    combine[range(len(constrained)), constrained] = 1.0
    states = mode.contacts
    incipient = {i: np.array(states[i].direction) for i in closed if states[i].phase is Phase.INCIPIENT}
    general = bool(closed) and (mode.redundant or bool(incipient))
    return RigidArc(
        world=world,
        mode=mode,
        mechanism=mechanism,
        terms=mechanism.prepared(closed),
        shortcut=None if general or contacts is not None else world.mechanism.shortcut(mode),
        closed=closed,
        normal=normal,
        tangent=tangent,
        size=start,
        constrained=np.array(constrained, dtype=int),
        combine=combine,
        slips=tuple(slips),
        held={i: states[i].direction for i, _ in slips if states[i].phase is Phase.DIRECTED},
        incipient=incipient,
        friction={i: float(world.breaking_friction[i]) for i in closed},
        curved=tuple([i for i, _ in slips if i in world.curves]),
        resting=np.zeros(start),
        kept=world.kept_rows(closed),
        given=_given_modes(world, mode, closed) if general else None,
        pattern=Pattern(world, mode),
    )


@dataclass
class Accelerations:
    """Accelerations and contact forces at one state in one mode.

    Attributes:
        acceleration: a (nv,).
        rates: contact velocities z (m,) of the closed contacts; zero where nothing slips.
        fill: () -> the forces (m,), for `forces`.
        least: () -> the least cone margin over the closed contacts, for `margin`; None where their forces are unique.
        found: {contact: direction (2,)} of the slip acceleration, of contacts that begin to slip.
        share: () -> the least singular value of the equations for redundant forces that is not zero, as a share of the
            largest, for `known`; None where that is no matter of rounding.
        regularity: () -> det(C M^-1 D^T) / det(C M^-1 C^T), what friction leaves of the determinant of the closed
            contacts; None where they are redundant. One without friction. Where it falls through zero, forces become
            infinite (Painleve): with one contact that slides it is p / G_nn, the others held. Of a contact that begins
            to slip, the direction is that of its acceleration; under infinite forces that of what they cause.
    """

    acceleration: Array
    rates: Array
    fill: Callable[[], Array]
    least: Callable[[], float] | None = None
    found: Mapping[int, Array] = field(default_factory=dict)
    regularity: Callable[[], float] | None = None
    terms: Terms | None = None  # equations of motion there, where they were put together
    others: float | None = None  # the largest of all other forces, where a compiled engine says it
    change: Array | None = None  # accelerations (m,) along the rows, where it says them
    derivatives: tuple[Any] | None = None  # of these, once they were asked for
    by_time: tuple[Array | None] | None = None  # the forces by time with the state held, once they were asked for
    loose: frozenset[int] = frozenset()  # contacts of a redundant mode whose forces are not unique
    share: Callable[[], float] | None = None

    @lazy
    def known(self) -> float:
        """That share; one where nobody has looked at it."""
        return 1.0 if self.share is None else self.share()

    @lazy
    def forces(self) -> Array:
        """The force of each closed contact along its rows, in one array (m,); put together when asked for."""
        return self.fill()

    @lazy
    def margin(self) -> float:
        """Least cone margin over the closed contacts where their forces are not unique, else NaN [N]."""
        return math.nan if self.least is None else self.least()


class Expanded(Protocol):
    """Accelerations about a state without the equations of motion, see `expanded_arc.Expansion`."""

    def holds(self, t: float) -> bool:
        """Whether it speaks of a time [s]."""

    def at(self, t: float, v: Array, references: References) -> Accelerations:
        """Accelerations and forces at a time [s] and a velocity (nv,)."""

    def is_off(self, t: float, v: Array, references: References, truth: Accelerations) -> bool:
        """Whether it misses them at a state by more than its accuracy."""


class RigidField:
    """The rate in an arc of a rigid law, with what slips remember; `rigid_flow.RigidFlow` has the guards, too.

    Args:
        arc: the mode, prepared.
    """

    def __init__(self, arc: RigidArc) -> None:
        self.arc, self.references = arc, References(incipient=arc.incipient)
        self._free = tuple(i for i, _ in arc.slips if arc.mode.contacts[i].phase is Phase.FREE)
        self._known: tuple[float, bytes, Accelerations] | None = None  # at the state that was asked last
        self._seen: tuple[float, bytes, Terms] | None = None  # equations of motion there, whatever the references
        self._expansion: Expanded | None = None
        self._directed: tuple[References, Array] | None = None

    def field(self, t: float, x: Array) -> Array:
        """Rate (v, a, z') of the state; NaN where a trial step went so far that it has none, to be shortened."""
        world = self.arc.world
        nv, out = world.nv, np.empty(world.tangent_size)
        out[:nv] = x[world.nq : world.nq + nv]
        try:
            out[nv : 2 * nv] = self.motion(t, x).acceleration
        except (SingularError, np.linalg.LinAlgError):
            out[nv : 2 * nv] = np.nan
        if world.memory:
            out[2 * nv :] = world.driving.memory_rate(t, x)
        return out

    def motion(self, t: float, x: Array) -> Accelerations:
        """Accelerations and forces at (t, x)."""
        key, known = x.tobytes(), self._known
        if known is not None and known[0] == t and known[1] == key:
            return known[2]
        if self._expansion is not None and self._expansion.holds(t):
            found = self._expansion.at(t, self.arc.world.v(x), self.references)
        else:
            found = accelerations(self.arc, t, x, self.references, self._directions)
        self._known = t, key, found
        if found.terms is not None:
            self._seen = t, key, found.terms
        return found

    @property
    def _directions(self) -> Array:
        """Slip directions (closed contacts, 2) of the references, worked out once."""
        if self._directed is None or self._directed[0] is not self.references:
            self._directed = self.references, self.arc.directions(self.references)
        return self._directed[1]

    def _contact_motion(self, t: float, x: Array) -> tuple[Array, Array]:
        """Velocities and accelerations (m,) along the rows of the closed contacts."""
        motion = self.motion(t, x)
        if motion.change is not None:
            return motion.rates, motion.change
        terms = self._terms(t, x)
        return terms.rates, terms.rows @ motion.acceleration + terms.bias

    def _terms(self, t: float, x: Array) -> Terms:
        key, seen = x.tobytes(), self._seen
        if seen is not None and seen[0] == t and seen[1] == key:
            return seen[2]
        found = self.arc.terms(t, self.arc.world.q(x), self.arc.world.v(x))
        self._seen = t, key, found
        return found

    def _slips(self, t: float, x: Array) -> Array:
        """Contact velocities (m,) of the closed contacts, of which some slip."""
        if self.arc.compiled is None:
            return self._terms(t, x).rates
        known = self._known
        if known is not None and known[0] == t and known[1] == x.tobytes():
            return known[2].rates
        return self.arc.velocities(t, x)


def accelerations(
    arc: RigidArc, t: float, x: Array, references: References, directions: Array | None = None
) -> Accelerations:
    """Accelerations and forces at a state; `directions` are those of the arc by the references, where they are known.

    Raises:
        SingularError: the constraints depend on each other there, or the mass matrix is singular.
    """
    if arc.compiled is not None:
        slips = arc.directions(references) if directions is None else directions
        found = arc.compiled.motion(t, x, slips, references.straight)
        begun = _begun(arc, found.forces, references) if found is not None and arc.incipient else {}
        if found is not None and not _leaps(references, begun):
            if arc.mode.redundant:
                return _redundantly(arc, found, begun)
            acceleration, rates, forces, others, regularity, change, *_ = found
            left = (lambda: regularity) if arc.slips else None
            return Accelerations(acceleration, rates, lambda: forces, None, begun, left, others=others, change=change)
    world = arc.world
    applied, (q, v, _) = world.driving.applied_at(t, x), world.space.split(x)
    if arc.shortcut is not None:
        acceleration, fill = arc.shortcut(q, v, applied)
        return Accelerations(acceleration, arc.resting, fill)
    terms = arc.terms(t, q, v)
    force = terms.force if applied is None else terms.force + applied
    if arc.islands:
        return _by_islands(arc, terms, force, references)
    return _alone(arc, terms, force, references)


def _redundantly(arc: RigidArc, found: PlainMotion, begun: Mapping[int, Array]) -> Accelerations:
    """The motion of a redundant mode."""
    acceleration, rates, forces, others, _, change, margin, loose = found
    told = Accelerations(acceleration, rates, lambda: forces, lambda: margin, begun, others=others, change=change)
    told.loose = frozenset([arc.closed[k] for k in loose])
    return told


def _alone(arc: RigidArc, terms: Terms, force: Array, references: References) -> Accelerations:
    """Accelerations and forces of contacts that may all move each other."""
    if arc.given is not None:
        return _general(arc, arc.given, terms, force, references)
    return _regular(arc, terms, force, references)


def _by_islands(arc: RigidArc, terms: Terms, force: Array, references: References) -> Accelerations:
    """The same island by island.

    The determinant that friction leaves is that of the island of which it leaves the least, with the sign of the whole.
    """
    acceleration, found, parts = np.empty(len(force)), dict[int, Array](), list[tuple[Array, Accelerations]]()
    for island, own in arc.islands:
        known = references if references.forces is None else replace(references, forces=references.forces[island.rows])
        of = island.of(terms, force)
        part = _alone(own, of, of.force, known)
        acceleration[island.velocities] = part.acceleration
        found.update(part.found)
        parts.append((island.rows, part))

    def forces() -> Array:
        along = np.zeros(arc.size)
        for rows, part in parts:
            along[rows] = part.forces
        return along

    def least() -> float:
        return min(part.margin for _, part in parts if part.least is not None)

    def regularity() -> float:
        left = [part.regularity() for _, part in parts if part.regularity is not None]
        return float(np.prod(np.sign(left)) * np.min(np.abs(left)))

    redundant, loose = arc.mode.redundant, frozenset[int]().union(*(part.loose for _, part in parts))
    known_least, known_regularity = (least, None) if redundant else (None, regularity)
    told = Accelerations(acceleration, terms.rates, forces, known_least, found, known_regularity, terms, loose=loose)
    told.share = (lambda: min(part.known for _, part in parts)) if redundant else None
    return told


def _begun(arc: RigidArc, forces: Array, references: References) -> dict[int, Array]:
    """Directions of the contacts that begin to slip, against which their friction acts."""
    found = {}
    for i in arc.incipient:
        pressed = arc.friction[i] * forces[arc.normal[i]]
        found[i] = -forces[arc.tangent[i]] / pressed if pressed else np.array(references.incipient[i])
    return found


def _leaps(references: References, begun: dict[int, Array]) -> bool:
    """Whether slips that begin are not those of the step any more, which are to be followed with their forces."""
    if references.forces is None:
        return False
    return slip_directions.farthest(references.incipient, begun, list(begun)) > LEAP


def _regular(arc: RigidArc, terms: Terms, force: Array, references: References) -> Accelerations:
    """Where forces are unique and all slip directions known: one linear system."""
    size = len(arc.constrained)
    if not size:
        return Accelerations(
            linear_algebra.solve_mass(terms.mass, force), terms.rates, lambda: np.zeros(0), terms=terms
        )
    directions: list[tuple[float, ...]] = []
    friction = arc.friction if not arc.curved else frictions(arc, terms.rates)
    held, bias, right = terms.rows, terms.bias, np.empty((1 + size, len(force)))
    right[0] = force
    if size == arc.size:
        right[1:] = held
    else:
        combine, held, bias = arc.combine, held[arc.constrained], bias[arc.constrained]
        if arc.slips:
            rates = terms.rates.tolist()
            directions = [slip_direction(arc, i, rates, references) for i, _ in arc.slips]
            combine = combine_with(arc, directions, friction)
        np.dot(combine, terms.rows, out=right[1:])
    solved = linear_algebra.solve_mass(terms.mass, right.T, overwrite=True)
    matrix = held @ solved
    _, _, negative, info = scipy.linalg.lapack.dgesv(matrix[:, 1:], matrix[:, 0] + bias)
    if info:
        raise SingularError(_why_singular(arc, terms, held))
    acceleration = solved[:, 0] - solved[:, 1:] @ negative

    def forces() -> Array:
        return forces_of(arc, negative, directions, friction)

    def regularity() -> float:
        return regularity_of(held @ linear_algebra.solve_mass(terms.mass, held.T), matrix[:, 1:])

    return Accelerations(acceleration, terms.rates, forces, regularity=regularity, terms=terms)


def forces_of(
    arc: RigidArc, negative: Array, directions: list[tuple[float, ...]], friction: Mapping[int, float]
) -> Array:
    """Forces (m,) of the closed contacts from those of the constrained rows, `negative` (k,), with the sign turned."""
    along = np.zeros(arc.size)
    along[arc.constrained] = -negative
    for (i, column), direction in zip(arc.slips, directions, strict=True):
        along[arc.tangent[i]] = friction[i] * negative[column] * np.array(direction)
    return along


def regularity_of(smooth: Array, rubbing: Array) -> float:
    """det(C M^-1 D^T) / det(C M^-1 C^T), of these matrices; one where the constraints depend on each other already."""
    signs, sizes = np.linalg.slogdet(np.stack([smooth, rubbing]))
    return float(signs[1] * np.exp(sizes[1] - sizes[0])) if signs[0] > 0.0 else 1.0


def _why_singular(arc: RigidArc, terms: Terms, held: Array) -> str:
    """The sentence on equations without a unique solution: by the friction of what slides, or without it already."""
    values = np.linalg.svd(held @ linear_algebra.solve_mass(terms.mass, held.T), compute_uv=False)
    if values[-1] > RANK * values[0]:
        return f"friction makes the contact forces of mode {arc.mode} infinite or undetermined (dynamic jam, Painleve)"
    return f"the contact constraints of mode {arc.mode} became dependent during an arc"


def frictions(arc: RigidArc, rates: Array) -> Mapping[int, float]:
    """Coefficients of what slips at contact velocities (m,)."""
    if not arc.curved:
        return arc.friction
    found = dict(arc.friction)
    for i in arc.curved:
        found[i] = arc.world.friction_at(i, rates[arc.tangent[i]])
    return found


def combine_with(arc: RigidArc, directions: list[tuple[float, ...]], friction: Mapping[int, float]) -> Array:
    """Matrix (k, m) from rows to force directions, with the friction of the contacts that slip."""
    combine = arc.combine.copy()
    for (i, column), direction in zip(arc.slips, directions, strict=True):
        for k, part in enumerate(direction, arc.tangent[i].start):
            combine[column, k] = -friction[i] * part
    return combine


def _general(arc: RigidArc, modes: GivenModes, terms: Terms, force: Array, references: References) -> Accelerations:
    """Where forces are not unique or a slip direction is that of the slip acceleration."""
    rows, bias = terms.rows[arc.kept], terms.bias[arc.kept]
    solved = linear_algebra.solve_mass(terms.mass, np.vstack([force, rows]).T)
    matrix = rows @ solved
    now = np.array(list(frictions(arc, terms.rates).values())) if arc.curved else None
    given = modes.at(matrix[:, 1:], matrix[:, 0] + bias, sliding(arc, terms, references), now)
    before = None if references.forces is None or arc.mode.redundant else references.forces[arc.kept]
    if not arc.slips:
        return _sticking(arc, given, terms, solved)
    begun = [references.incipient.get(i) for i in arc.closed]
    chosen, directions, unique = given.solve(begun, held=True, before=before)
    pairs = zip(arc.closed, directions, strict=True)
    found = {i: direction for i, direction in pairs if i in arc.incipient and direction is not None}
    forces = np.zeros(arc.size)
    forces[arc.kept] = chosen
    acceleration = solved[:, 0] + solved[:, 1:] @ chosen

    def least() -> float:
        return float(given.widest(chosen, directions))

    def regularity() -> float:
        known = dict(zip(arc.closed, directions, strict=True))
        taken = [tuple(known[i]) for i, _ in arc.slips]  # type: ignore[arg-type]
        combine = combine_with(arc, taken, frictions(arc, terms.rates))
        delassus = terms.rows[arc.constrained] @ linear_algebra.solve_mass(terms.mass, terms.rows.T)
        return regularity_of(delassus[:, arc.constrained], delassus @ combine.T)

    known_least, known_regularity = (least, None) if arc.mode.redundant else (None, regularity)
    loose = frozenset[int]() if unique else frozenset(arc.closed)
    told = Accelerations(acceleration, terms.rates, lambda: forces, known_least, found, known_regularity, loose=loose)
    told.share = (lambda: given.share(directions)) if arc.mode.redundant else None
    return told


def _sticking(arc: RigidArc, given: GivenModes, terms: Terms, solved: Array) -> Accelerations:
    """Where contacts stick redundantly: the motion under the smallest forces is that under all others.

    Those that are farthest inside their cones are found where they are asked for.
    """
    slips = (None,) * len(arc.closed)
    taken = given.forces(slips)
    smallest = taken.forces

    def forces() -> Array:
        inside = redundant_forces.least_margin(given.problem, given.modes, smallest) >= 0.0
        along = np.zeros(arc.size)
        along[arc.kept] = smallest if inside else given.inside(smallest, slips)
        return along

    acceleration = solved[:, 0] + solved[:, 1:] @ smallest
    loose = frozenset[int]() if taken.unique else frozenset(arc.closed)
    found = Accelerations(acceleration, terms.rates, forces, loose=loose, share=lambda: given.share(slips))
    found.least = lambda: float(redundant_forces.least_margin(given.problem, given.modes, found.forces[arc.kept]))
    return found


def _given_modes(world: World, mode: SystemMode, closed: tuple[int, ...]) -> GivenModes:
    """The contact problem of closed contacts in a mode, to be solved at many states."""
    slides = (Mode.SLIP, Mode.CLOSED)
    count = len(world.kept_rows(closed))
    problem = problem_of(world, closed, np.zeros((count, count)), np.zeros(count), (None,) * len(closed))
    modes = tuple(Mode.SLIP if mode.contacts[i].mode in slides else Mode.STICK for i in closed)
    return pivot.GivenModes(problem, modes)


def sliding(arc: RigidArc, terms: Terms, references: References) -> tuple[Array | None, ...]:
    """Known slip directions of the closed contacts; None for one that sticks or begins to slip."""
    slipping, rates = dict(arc.slips), terms.rates.tolist()
    return tuple(
        np.array(slip_direction(arc, i, rates, references)) if i in slipping and i not in arc.incipient else None
        for i in arc.closed
    )


def slip_direction(arc: RigidArc, i: int, rates: list[float], references: References) -> tuple[float, ...]:
    """Unit slip direction of a sliding contact; past a zero of its slip velocity the reference goes on."""
    held = arc.held.get(i)
    if held is not None:
        return held
    x, y = rates[arc.tangent[i]]
    reference = references.slip[i]
    along, aside = x * reference[0] + y * reference[1], x * reference[1] - y * reference[0]
    if along <= 0.0 or abs(aside) < references.straight:
        return reference
    speed = hypot(x, y)
    return x / speed, y / speed


def held_speeds(world: World, mode: SystemMode) -> Array:
    """The slip speed (k,) [m/s] below which each direction that a mode holds in space is held."""
    return np.array([mode.contacts[i].slow(world.tolerances.slip_speed) for i in mode.held])


def motion_in(world: World, t: float, x: Array, mode: SystemMode) -> tuple[RigidArc, Accelerations]:
    """Accelerations and forces in a mode, at a state that is looked at alone: slips go on as they are there."""
    arc = prepare(world, mode)
    free = [i for i, _ in arc.slips if mode.contacts[i].phase is Phase.FREE]
    rates = arc.velocities(t, x) if free else arc.resting
    slips = {i: unit(rates[arc.tangent[i]]) or (1.0, 0.0) for i in free}
    return arc, accelerations(arc, t, x, References(slips, arc.incipient))


def closed_forces(world: World, t: float, x: Array, mode: SystemMode) -> dict[int, Array]:
    """{contact: force along its rows} of the closed contacts, at a state that is looked at alone."""
    arc, motion = motion_in(world, t, x, mode)
    return of_contacts(arc, motion.forces)


def largest_other(world: World, t: float, x: Array, terms: Terms) -> float:
    """The largest of all forces but those of contacts, by the equations of motion at a state."""
    applied = world.driving.applied_at(t, x)
    return float(np.abs(terms.force if applied is None else terms.force + applied).max(initial=0.0))


def of_contacts(arc: RigidArc, forces: Array) -> dict[int, Array]:
    """{contact: force along its rows} of all forces (m,) of the closed contacts."""
    heads = arc.world.heads
    return {i: forces[arc.tangent[i].start - heads[i] : arc.tangent[i].stop] for i in arc.closed}
