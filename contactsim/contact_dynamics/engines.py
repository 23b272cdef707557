"""Compiled engines: what takes over the arcs that it knows, and how one is chosen.

An engine is a plugin of the group `contactsim.engines`. It is handed a contact mode as plain data and returns it
compiled, or None where it does not know what moves in it: that arc runs in Python.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

from ..common.lazy import NamedTuple, dataclass
from ..common.registry import load, names
from ..common.telling import tell
from ..errors import InputError, PluginError

if TYPE_CHECKING:
    from ..common.arrays import Array
    from ..contact.compiled import CompiledSolver, Directions
    from ..contact.laws import PlainForce
    from ..contact.modes import ContactState, Mode
    from ..hybrid.chart_path import ChartPath
    from ..hybrid.course import Course, Passed
    from ..hybrid.flow import Look, Stages
    from ..hybrid.journeys import Departure
    from ..hybrid.tolerances import Tolerances
    from ..multibody.controllers import Holding, PlainGains
    from ..multibody.geometry.plain_flats import CompiledFlats, PlainFlat
    from ..multibody.mechanism import TermDerivatives
    from ..multibody.plain_robot import PlainContact, PlainMargin, PlainRobot
    from ..multibody.terrain.plain_hills import PlainHills

INTERFACE = 47  # of what follows; an engine says for which it was made
PYTHON, FASTEST = "python", "native"
VARIABLE = "CONTACTSIM_ENGINE"


@dataclass(frozen=True, eq=False)
class PlainClosed:
    """A closed contact of a mode.

    Attributes:
        contact: what touches.
        state: "smooth" where it slips without friction, "stick", "slip", "directed" of a held direction, or
            "begins" of one that is that of the acceleration, since there is no slip yet; of a compliant law "yields",
            or "released" where its force does not act.
        friction, static_friction: coefficients.
        force: that of a compliant law; None: the law is rigid.
        region: where the sphere lies along each axis of the box that it touches (-1, 0, 1); () where it touches none.
    """

    contact: PlainContact
    state: Literal["smooth", "stick", "slip", "directed", "begins", "yields", "released"]
    friction: float
    static_friction: float
    force: PlainForce | None = None
    region: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class PlainArc:
    """A contact mode as plain data: of a rigid law, with known slip directions or unique forces, or of a compliant one.

    Attributes:
        robot: what moves.
        closed: its closed contacts, in order.
        memory: numbers of a state behind (q, v), of controller and law.
        holding: torques that are held, the first of them by its place in a state; None: none are.
        gains: of a controller that is no more than that; None: it has none.
        reference: t -> (q_ref, v_ref, tau_ff) of the gains in one array (nq + 2 nv,); None where their posture or their
            pieces say it.
        drive: (t, x) -> what controllers and pushes apply (nv,) and the rate of the memory (memory,), in one array;
            None where `holding` or `gains` or nothing says it all.
        redundant: whether forces may be many: the smallest ones act that keep to their cones where contacts slip.
    """

    robot: PlainRobot
    closed: tuple[PlainClosed, ...]
    memory: int
    holding: Holding | None
    gains: PlainGains | None
    reference: Callable[[float], Array] | None
    drive: Callable[[float, Array], Array] | None
    redundant: bool = False


@dataclass(frozen=True, eq=False)
class PlainGuards:
    """The guards of a contact mode as plain data.

    Attributes:
        kinds: of each guard: "gap", "force", "cone", "forces", "slow", "stop", "fast", "jam", "turn", "enable",
            or "side" with the number of a side of a region, of `rigid_guards`; under a compliant law "gap", "clear",
            "release", "return", "enable" or "side" with its number, of `CompliantFlow`.
        contacts: contact of each, among those of the robot; -1 of "forces" and of a jam.
        closed: number of it among the closed contacts of the arc; -1 of a gap, of "clear", of "forces", of a jam and of
            "enable".
        friction: static coefficient of each; zero where `closed` is -1.
        margins: (t, x) -> value of those that are "enable", data where they are a `PlainMargin`; None of others.
        directions: (along, aside) that a "stop" of a contact looks along which begins to slip; zero of others: that
            of a held slip looks along its direction.
        limits_alone: whether all gaps are those of joints to their limits.
        left_out: contacts (k,) that are open, but so far that they are no guards.
        slip_speed, drift, gap, event_time: as of `Tolerances`.
        sense, window: of the determinant of the contacts that slide where the arc begins, zero at a jam; and the time
            within which a jam counts as reached [s].
    """

    kinds: tuple[str, ...]
    contacts: tuple[int, ...]
    closed: tuple[int, ...]
    friction: tuple[float, ...]
    directions: tuple[tuple[float, float], ...]
    margins: tuple[Callable[[float, Array], float] | None, ...]
    limits_alone: bool
    left_out: Array
    slip_speed: float
    drift: float
    gap: float
    event_time: float
    sense: float
    window: float


@dataclass(frozen=True, eq=False)
class PlainEvents:
    """A world whose law of impacts is Newton's or Poisson's, and Coulomb's of friction, as plain data.

    Attributes:
        arc: the robot, and what drives it, with no contact closed.
        impact: "newton", or "poisson", whose impacts have two stages.
        tangents: rows of friction of each contact; none where its coefficient is zero.
        friction, static_friction, restitution: coefficients (nc,).
        speed, slip_speed, hop, force: as of `Tolerances`.
    """

    arc: PlainArc
    impact: Literal["newton", "poisson"]
    tangents: tuple[int, ...]
    friction: Array
    static_friction: Array
    restitution: Array
    speed: float
    slip_speed: float
    hop: float
    force: float


class PlainEvent(NamedTuple):
    """An event: at (t, x), the contacts that touch, in rising order, their states before it, and what fired at each.

    The regions of those that touch boxes are in their states; of one that touches anew, it is where its sphere is.

    A guard of another kind than "gap", "force", "cone" or "stop" is "other"; no guard: "". Of a `redundant` mode forces
    before the event may be many.
    """

    t: float
    x: Array
    touching: tuple[int, ...]
    states: tuple[ContactState, ...]
    kinds: tuple[str, ...]
    redundant: bool = False


class ResolvedStage(NamedTuple):
    """One stage of an impact, along the rows of friction of what touches.

    Attributes:
        before: velocities before it (m,).
        impulses: (m,).
        modes, directions: of each contact.
        lifted: contacts, by their numbers in the problem, that part under the impulse that is given to them.
        unique: whether the impulses are the only ones.
        residuals: {law: largest violation}.
    """

    before: Array
    impulses: Array
    modes: tuple[Mode, ...]
    directions: Directions
    lifted: frozenset[int]
    unique: bool
    residuals: Mapping[str, float]


class ResolvedImpact(NamedTuple):
    """The impact in an event.

    Attributes:
        delassus: G (m, m) along the rows of friction of what touches.
        stages: its stages, one or two.
        work, turnover: of the contacts, and the sum of that of all rows without their signs [J].
        energy: kinetic energy before it, zero where no work was done on the bodies [J].
    """

    delassus: Array
    stages: tuple[ResolvedStage, ...]
    work: float
    turnover: float
    energy: float


class Resolved(NamedTuple):
    """What an event leads to.

    Attributes:
        velocity: (nv,) behind it.
        states: of what touched, all of them enabled.
        unique: whether forces are the only ones in these.
        residuals: {law: largest violation} of the choice; empty where nothing stays in touch.
        left: {contact: impulse along all its rows} that brings to rest what is so.
        bouncing: contacts whose hops are too low to be followed.
        rest: time from now until their end [s]; None: it is not known, or there are none.
        impact: the impact in it; None: there is none.
    """

    velocity: Array
    states: tuple[ContactState, ...]
    unique: bool
    residuals: Mapping[str, float]
    left: Mapping[int, Array]
    bouncing: tuple[int, ...]
    rest: float | None
    impact: ResolvedImpact | None


class PassedStage(NamedTuple):
    """A stage of an impact that happened.

    Attributes:
        impulses: (m,) along all rows of what was struck.
        modes, directions, lifted: as of `ResolvedStage`.
        rebound, share: as of `contact.impact.ImpactStage` (n,).
    """

    impulses: Array
    modes: tuple[Mode, ...]
    directions: Directions
    lifted: frozenset[int]
    rebound: Array
    share: Array


class PassedEvent(NamedTuple):
    """An event as it came out.

    Attributes:
        t: when it was [s].
        x, x_post: states before and behind it.
        struck, stages: contacts that took part in its impact, in rising order, and its stages; none without one.
        closed: contacts that are closed behind it, in rising order.
        before, after: states of these.
        left: impulses behind the impact that brought some of them to rest, along the rows of each; empty: none did.
        redundant: whether the forces that hold these are not unique.
    """

    t: float
    x: Array
    x_post: Array
    struck: tuple[int, ...]
    stages: tuple[PassedStage, ...]
    closed: tuple[int, ...]
    before: tuple[ContactState, ...]
    after: tuple[ContactState, ...]
    left: Sequence[Array] = ()
    redundant: bool = False


@dataclass(frozen=True, eq=False)
class PlainPassage:
    """What an engine that knows the events of a world has to know, too, to follow its runs.

    Attributes:
        robot: what moves.
        enabling: of each contact the margin that is positive where it may close; None: it always may.
        jams: whether it is looked for where friction jams contacts.
        tolerances: what counts as zero.
    """

    robot: PlainRobot
    enabling: tuple[PlainMargin | None, ...]
    jams: bool
    tolerances: Tolerances


class PassedArc(NamedTuple):
    """An event of a journey, and the arc behind it.

    Attributes:
        t: when it was [s].
        before, behind: states.
        fired: (kind, contact) of the guards that fired, as of `PlainGuards`; and CLOCK where bounces ended.
        touching: contacts that took part in what followed, in rising order.
        states: of all contacts behind it.
    """

    t: float
    before: Array
    behind: Array
    fired: frozenset[Hashable]
    touching: tuple[int, ...]
    states: tuple[ContactState, ...]


class CompiledJourney(ABC):
    """What happened from a departure on.

    Attributes:
        count: events, one at least.
        evaluations, at_one_instant, to_and_fro: as of `hybrid.journeys.Journey`.
        first_step: of the arc behind the last event [s]; None: it is not known.
        begun: the course of that arc, and the first steps of it; None: it is not begun.
    """

    count: int
    evaluations: int
    at_one_instant: int
    to_and_fro: int
    first_step: float | None
    begun: tuple[Course, Passed] | None

    @abstractmethod
    def event(self, number: int) -> PassedArc:
        """One of the events."""

    @abstractmethod
    def resolved(self, number: int) -> Resolved | None:
        """What the law made of it; None: it was not asked, since nothing struck, opened, stuck or broke away."""

    @abstractmethod
    def steps(self, number: int) -> Array:
        """The record of the arc between that event and the next one, see `hybrid.course.Passed`."""


class CompiledPassage(ABC):
    """Runs of a world from event to event, compiled: a function of its arguments, which threads may call at once."""

    @abstractmethod
    def journey(self, departure: Departure, states: Sequence[ContactState]) -> CompiledJourney | None:
        """Events from a departure on, where all contacts are in some states; None: Python tells what follows."""


class CompiledEvents(ABC):
    """The events of a world, compiled: a function of its arguments, which threads may call at once."""

    def passage(self, world: PlainPassage) -> CompiledPassage | None:
        """Runs from event to event; None of an engine that leaves these to Python."""
        return None

    @abstractmethod
    def resolve(self, event: PlainEvent) -> Resolved | None:
        """Impact, modes and low hops, as `resolution.Resolution.resolve`; None: Python tells what follows."""

    def derivative(self, event: PassedEvent) -> Array | None:
        """D R (2 nv, 2 nv) by (dq, dv) as `outcome_sensitivity`, all impulses being unique; None: Python tells it."""
        return None

    def low(self, t: float, x: Array, lowest: float) -> list[tuple[int, float, float]] | None:
        """Contacts whose gaps are at most `lowest` [m], rising, with gap and rate; None: the engine does not tell."""
        return None


class CompiledWatch(ABC):
    """A contact mode with its guards, compiled: functions of their arguments, which threads may call at once.

    Attributes:
        stiff: whether it takes the steps of the stiff method, too.
    """

    stiff: bool = False

    @abstractmethod
    def guards(self, t: float, x: Array, directions: Array, straight: float) -> Array | None:
        """Values of all guards (ng,) at (t, x); None where rows depend on each other, or there is no ground."""

    @abstractmethod
    def gap(self, x: Array, guard: int) -> tuple[float, Look] | None:
        """A guard that is a gap at a state, and as it is looked at in steps; None where there is no ground."""

    @abstractmethod
    def projected(self, x: Array, directions: Array, straight: float) -> Array | None:
        """A state put back onto the constraints, `x` itself where it is there; None where rows depend on each other."""

    @abstractmethod
    def cruise(self, course: Course, directions: Array, straight: float) -> Passed:
        """See `hybrid.flow.Cruise`; slips turn their `directions` from step to step."""

    def met(self, t: float, x: Array, directions: Array, straight: float, guard: int) -> PlainMeeting | None:
        """What derivatives look at where an arc ends or goes on, and of one of its guards (-1: of none).

        Slips that turn take the direction of their own velocity, in place of their `directions`, which are overwritten.

        Returns:
            None where the engine does not tell, rows depend on each other, contacts all but jam or begin to slip.
        """
        return None


class PlainMeeting(NamedTuple):
    """What `CompiledWatch.met` tells.

    Attributes:
        values: of all guards (ng,).
        acceleration: (nv,).
        row: D g (2 nv,) of the guard by tangent vectors (dq, dv); None: it is not told.
        steady: whether neither the ground nor what drives the arc change with the time.
        pressing, others: the largest of all forces of contacts, and of all others [N, N m].
    """

    values: Array
    acceleration: Array
    row: Array | None
    steady: bool
    pressing: float
    others: float


class PlainMotion(NamedTuple):
    """The motion of a contact mode at a state.

    Attributes:
        acceleration: (nv,).
        rates, forces: contact velocities and forces (m,).
        others: the largest of all other forces, weights and inertial ones among them [N, N m].
        regularity: det(C M^-1 D^T) / det(C M^-1 C^T): what friction leaves of the determinant of the closed contacts.
        change: accelerations (m,) along the rows; None: the engine does not tell.
        margin: of a redundant mode the least cone margin of its forces, or the largest that others have where that is
            as good as none [N]; NaN of others.
        loose: closed contacts of that, counted among these, whose forces are not unique.
    """

    acceleration: Array
    rates: Array
    forces: Array
    others: float
    regularity: float
    change: Array | None = None
    margin: float = math.nan
    loose: tuple[int, ...] = ()


class Survey(NamedTuple):
    """What the check of a run asks of steps of one mode: seen at the same places of each, of which the last is its end.

    Integrals are over all of the steps. Work is that of all forces but the conservative ones.

    Attributes:
        forces, rates: forces and velocities of the closed contacts (steps, places, m).
        by_forces: integral (nv,) of M^-1 of all forces, with those of the contacts as they are told, however found.
        without_contacts: integral of the largest component of the same without those of the contacts.
        work, moved: integral of the power, and of its absolute value [J].
        force, speed: the largest of all forces but the contacts', and of all velocities.
        depth: the largest one of what is open and acts, or distance of what is closed [m].
        opening: of a loop [m]; None: there are none.
        joints: axes and origin (steps, places, joints, 4, 3) of each joint of a `PlainRobot`; None: it has no shapes.
    """

    forces: Array
    rates: Array
    by_forces: Array
    without_contacts: float
    work: float
    moved: float
    force: float
    speed: float
    depth: float
    opening: float | None = None
    joints: Array | None = None


class CompiledArc(ABC):
    """A contact mode, compiled: functions of their arguments, which threads may call at once.

    Where a slip began, or holds its direction, or from where that of one that begins is looked for, is an argument:
    `directions` (closed contacts, 2). Slip that leaves it by less than `straight` [m/s] runs along it.
    """

    @abstractmethod
    def motion(self, t: float, x: Array, directions: Array, straight: float) -> PlainMotion | None:
        """The motion at a state, under what drives it; None where rows depend on each other."""

    def near(self, t: float, x: Array, distance: float) -> Array | None:
        """Contacts (k,), rising, whose gaps are at most that [m]; of a robot all of whose contacts are known.

        None of an engine that does not tell them.
        """
        return None

    def survey(
        self, record: Array, places: tuple[Array, Array], watched: Array, placed: bool, directions: Array
    ) -> Survey | None:
        """What is seen of the steps of a record (steps, .), with slips that take the direction of their own velocity.

        Args:
            record: see `Passed`.
            places: shares (k,) of a step, and weights (k,) of what is integrated over it.
            watched: whether each open contact acts (nc,).
            placed: whether the places of the joints are told.

        Returns:
            None where the motion is not known, and of an engine that does not survey.
        """
        return None

    def slips(self, t: float, x: Array) -> Array | None:
        """Contact velocities (m,) of the closed contacts; None where hills have no point nearest to one.

        None, too, of an engine that does not tell them.
        """
        return None

    def derivatives(
        self, q: Array, v: Array, applied: Array | None, applied_x: Array, directions: Array, straight: float
    ) -> tuple[Array, Array, Array] | None:
        """Derivatives of what `motion` gives: (nv, n), (m, n) and (m, n), from those of the applied forces (nv, n).

        The first 2 nv columns are by tangent vectors (dq, dv). None where rows depend on each other, and of an engine
        that does not have them.
        """
        return None

    def driven_derivatives(
        self, t: float, x: Array, directions: Array, straight: float
    ) -> tuple[Array, Array, Array] | None:
        """The same by (dq, dv) under what drives the arc; None where that is called back, or has memory, too."""
        return None

    def term_derivatives(self, q: Array, v: Array, a: Array, forces: Array) -> TermDerivatives | None:
        """Derivatives of the equations of motion: see `Differentiated.term_derivatives`; None where it has none."""
        return None

    def rate_derivatives(self, q: Array, v: Array) -> Array | None:
        """Derivatives (m, 2 nv) of the contact velocities by (dq, dv), the rows among them; None where it has none."""
        return None

    def propagated(
        self,
        path: ChartPath,
        t0: float,
        t1: float,
        variations: Array,
        accuracy: tuple[float, float],
        directions: Array,
        straight: float,
    ) -> Array | None:
        """Variations (dim, w) of the state at `t1` of those at `t0`, along the arc.

        Behind those of the state may come turns (k, w) [rad] of the directions of slips in space that are held, in the
        order of their contacts; they stay as they are.

        d(dx)/dt = (D_x f - ad(f)) dx, each step to (rtol, atol) = `accuracy` as `hybrid.integrators.collocation` says.
        Slips take the direction that they have where each step of the run begins, in place of `directions`.

        Returns:
            None where rows depend on each other, and of an engine or a drive that it does not know this of.

        Raises:
            StepSizeError: the tolerance cannot be met.
        """
        return None

    def watched(self, guards: PlainGuards) -> CompiledWatch | None:
        """The arc with its guards; None of an engine that leaves its steps to Python."""
        return None

    @abstractmethod
    def stages(self, base: Array, directions: Array, straight: float) -> Stages:
        """The rates of an explicit method in the chart around the state `base`."""


class Engine(ABC):
    """Compiles arcs.

    Attributes:
        interface: `INTERFACE` of the contactsim that it was made for.
        moves_ground: whether it knows grounds that move as a whole.
        knows_hills: whether it knows curved ground.
        gives_way: whether it knows compliant laws that are data.
    """

    interface: int = 0
    moves_ground: bool = False
    knows_hills: bool = False
    gives_way: bool = False

    def contacts(self) -> CompiledSolver | None:
        """Contact problems compiled; None of an engine that leaves them to Python."""
        return None

    def events(self, world: PlainEvents) -> CompiledEvents | None:
        """Events compiled; None of an engine that leaves them to Python."""
        return None

    def flats(self, flats: Sequence[PlainFlat], ground: PlainHills) -> CompiledFlats | None:
        """Edges, faces and rims that look for their points nearest to hills, compiled; None: Python looks."""
        return None

    @abstractmethod
    def compiled(self, arc: PlainArc) -> CompiledArc | None:
        """An arc compiled; None: it does not know what moves in it."""


def chosen(name: str | None) -> str:
    """The name of the engine that a run takes: the given one, that of the environment, or the fastest installed.

    Raises:
        InputError: there is none of that name.
    """
    known = (PYTHON, *names("engines"))
    asked = name or os.environ.get(VARIABLE) or ""
    if asked and asked not in known:
        whence = "" if name else f" of {VARIABLE}"
        raise InputError(f"there is no engine '{asked}'{whence}; installed are {', '.join(known)}")
    return asked or (FASTEST if FASTEST in known else PYTHON)


@cache
def engine(name: str) -> Engine | None:
    """The engine of a name; None: Python, also where it does not load, with a warning."""
    if name == PYTHON:
        return None
    try:
        found: Engine = load("engines", name)()
    except PluginError as error:
        tell(f"{error}; arcs run in Python")
        return None
    return found
