"""Contacts at an event: their rows, the contact problem they make, and the record of what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array
from ..common.lazy import Late, NamedTuple, dataclass, lazy
from ..contact.laws import RigidLaw
from ..contact.modes import ContactState, Mode, Phase, SystemMode, unit
from ..multibody.mechanism import Terms
from .world import World
from .zero import GAIN, SLOWEST, STEADIER

if TYPE_CHECKING:
    from ..contact import linear_algebra
    from ..contact import problem as contact_problems
    from ..contact.impact import ImpactSolution
    from ..contact.problem import ContactProblem
else:  # a compiled engine puts up its own
    contact_problems, linear_algebra = Late("contactsim.contact.problem"), Late("contactsim.contact.linear_algebra")

NOT_UNIQUE = "the contact forces are not unique; the smallest ones, or those with the largest margin, are shown"
SEVERAL = "the impact has several outcomes that fulfil the law, since contacts slip redundantly; {}"


@dataclass(frozen=True)
class Impact:
    """An impact as it came out.

    Attributes:
        contacts: the touching contacts.
        found: the stages of it, or what makes them: derivatives alone ask for those that a compiled engine has found.
        where: rows of each contact.
        along: impulses (m,) along all these rows.
    """

    contacts: tuple[int, ...]
    found: ImpactSolution | Callable[[], ImpactSolution]
    where: Mapping[int, slice]
    along: Array

    @lazy
    def solution(self) -> ImpactSolution:
        """The stages of it."""
        return self.found() if callable(self.found) else self.found


class ContactEvent(NamedTuple):
    """An event as it is met: at `t` in `mode`, `kinds` are the guards that fired, {contact: kind}.

    A contact that would leave the ground at up to the speed `slowest` [m/s] stays; None: by the height of its hop.
    `struck` says that it is an impact though no contact approaches: a latch closed. `following` are contacts that take
    over at one point from others that end, {contact: the one before it}: what they approach is rounding. `known` is the
    impact of the same contacts at an event much like it: its modes and slip directions are tried first. `apart` are
    closed contacts of bodies that nothing of it moves: they are none of the touching ones, and stay as they are;
    `loosely_apart` says that forces of theirs are not unique.
    """

    t: float
    mode: SystemMode
    touching: tuple[int, ...]
    kinds: Mapping[int, str]
    slowest: float | None = None
    struck: bool = False
    following: Mapping[int, int] = {}
    known: Impact | None = None
    apart: frozenset[int] = frozenset()
    loosely_apart: bool = False


class PostEvent(NamedTuple):
    """What an event leads to.

    Attributes:
        x, mode: state and mode in which it ends.
        impact: the impact in it; None: there is none.
        left: {contact: impulse along its rows} that brings to rest what the mode says is at rest.
        residuals: {law: largest violation}.
        notes: sentences worth telling.
        jammed: contacts that take part in an impact without collision.
    """

    x: Array
    mode: SystemMode
    impact: Impact | None
    left: Mapping[int, Array]
    residuals: Mapping[str, float]
    notes: tuple[str, ...]
    jammed: tuple[int, ...] = ()


class Happened(NamedTuple):
    """An event: when and where, its impact, and the modes before and behind it.

    `left` are the impulses behind the impact that brought to rest what is at rest, {contact: along its rows}.
    """

    t: float
    x: Array
    impact: Impact | None
    x_post: Array
    mode: SystemMode
    after: SystemMode
    left: Mapping[int, Array] = {}


class ContactTerms(NamedTuple):
    """Equations of motion with the rows of some contacts, and where the rows of each lie."""

    terms: Terms
    where: Mapping[int, slice]

    def of(self, contacts: tuple[int, ...]) -> ContactTerms:
        """The same with the rows of some of them."""
        if contacts == tuple(self.where):
            return self
        terms, rows = self.terms, [row for i in contacts for row in range(self.where[i].start, self.where[i].stop)]
        chosen = terms._replace(rows=terms.rows[rows], rates=terms.rates[rows], bias=terms.bias[rows])
        return ContactTerms(chosen, laid_out([(i, self.where[i].stop - self.where[i].start) for i in contacts]))


def laid_out(sizes: Iterable[tuple[int, int]]) -> dict[int, slice]:
    """{contact: its rows} of contacts with so many rows each, one after the other."""
    where, start = {}, 0
    for i, size in sizes:
        where[i], start = slice(start, start + size), start + size
    return where


def closed_terms(
    world: World, t: float, x: Array, contacts: tuple[int, ...], mode: SystemMode | None = None
) -> ContactTerms:
    """Equations of motion with the rows of `contacts`; in the regions of a mode."""
    mechanism = world.mechanism if mode is None or not mode.regions else world.mechanism.within(mode.regions)
    terms = mechanism.prepared(contacts)(t, world.q(x), world.v(x))
    return ContactTerms(terms, laid_out([(i, mechanism.dims[i]) for i in contacts]))


def contact_problem(
    world: World,
    terms: Terms,
    force: Array,
    contacts: tuple[int, ...],
    sliding: tuple[Array | None, ...],
    slips: Mapping[int, Array] | None = None,
) -> ContactProblem:
    """The problem of accelerations of `contacts`; `slips` are the velocities (d_t,) of those that slide."""
    kept = world.kept_rows(contacts)
    rows = terms.rows[kept]
    free = rows @ linear_algebra.solve_mass(terms.mass, force) + terms.bias[kept]
    problem = problem_of(world, contacts, linear_algebra.delassus(terms.mass, rows), free, sliding)
    if not world.curves or slips is None:
        return problem
    friction = problem.friction.copy()
    for k, i in enumerate(contacts):
        if i in world.curves and sliding[k] is not None:
            friction[k] = world.friction_at(i, slips[i])
    return replace(problem, friction=friction, static_friction=np.maximum(problem.static_friction, friction))


def problem_of(
    world: World, contacts: tuple[int, ...], delassus: Array, free: Array, sliding: tuple[Array | None, ...]
) -> ContactProblem:
    """A contact problem with the coefficients and names of `contacts`."""
    chosen_ones, own = list(contacts), world.compiled_engine
    return contact_problems.ContactProblem(
        delassus=delassus,
        free=free,
        dims=tuple([world.heads[i] + world.tangent_rows[i] for i in contacts]),
        friction=world.breaking_friction[chosen_ones],
        static_friction=world.static_friction[chosen_ones],
        sliding=sliding,
        names=tuple([world.mechanism.all_names[i] for i in contacts]),
        hosts=tuple([contacts.index(world.host(i)) for i in contacts if i >= world.count]),
        compiled=None if own is None else own.contacts(),
    )


def resting_rows(world: World, mode: SystemMode, where: Mapping[int, slice]) -> list[int]:
    """Rows of those of the contacts in `where` that are closed whose velocity is zero in a mode."""
    rows: list[int] = []
    for i in (i for i in mode.closed if i in where):
        state = mode.contacts[i]
        resting = state.mode is Mode.STICK or state.phase is Phase.INCIPIENT
        held = world.heads[i] + (world.tangent_rows[i] if resting else 0)
        rows += range(where[i].start, where[i].start + held)
    return rows


def with_rubbing(world: World, mode: SystemMode, terms: Terms, where: Mapping[int, slice], rows: list[int]) -> Array:
    """Forces (k, m) along all rows that hold `rows` (k,) of a mode: those of contacts that slip, with their friction.

    Where forces are not unique, without it.
    """
    forces = np.eye(len(terms.rates))[rows]
    if mode.redundant:
        return forces
    places = {row: k for k, row in enumerate(rows)}
    for i in (i for i in mode.closed if i in where):
        state, part = mode.contacts[i], world.tangents(i, where[i])
        if state.phase in (Phase.FREE, Phase.DIRECTED):
            slip = np.array(state.direction or unit(terms.rates[part]))
            mu = world.friction_at(i, terms.rates[part])
            forces[places[where[world.host(i)].start], part] -= mu * slip
    return forces


def without_margin(world: World, mode: SystemMode, before: Mapping[int, Array], zero: float) -> dict[int, str]:
    """{contact: "force" or "cone"} of the contacts whose margin is used up by the forces `before`, {contact: force}.

    A force of up to `zero` [N] counts as none.
    """
    kinds = {}
    for i, force in before.items():
        held, normal = mode.contacts[i].mode is Mode.STICK and world.tangent_rows[i] > 0, before[world.host(i)][0]
        if normal <= zero:
            kinds[i] = "force"
        elif held and world.static_friction[i] * normal - float(np.linalg.norm(force[world.heads[i] :])) <= zero:
            kinds[i] = "cone"
    return kinds


def as_before(world: World, i: int, x: Array, state: ContactState, mode: SystemMode) -> ContactState:
    """The state of a closed contact with the end of its bounces, and the region in which it touches, or is now."""
    region: tuple[int, ...] = ()
    if i < world.count and world.mechanism.has_regions:
        region = mode.regions.get(i) or world.mechanism.region(x[: world.nq], i)
    until = mode.contacts[i].until
    return state if until is None and not region else replace(state, until=until, region=region)


def impact_notes(
    law: RigidLaw, work: float, turnover: float, energy: float, redundant: ImpactSolution | None
) -> tuple[str, ...]:
    """What is to be told of an impact: that it gains energy, or that its impulses are not unique.

    Work is counted relative to the ground, which may move; `energy` is the kinetic one before the impact [J].
    `redundant` is the impact itself where its impulses are not unique.
    """
    notes: tuple[str, ...] = ()
    if work > GAIN * energy and work > GAIN * turnover:
        notes += (
            f"the impact gains {work:.3g} J of energy under the law {type(law).__name__}, which does not exclude that;"
            " lower the restitution or the friction, or take law='energetic'",
        )
    return notes if redundant is None else (*notes, _of_many(redundant))


def _of_many(impact: ImpactSolution) -> str:
    """The sentence on an impact whose impulses are not unique."""
    from ..contact.even_sharing import motion_is_a_choice

    stages = [stage.solution for stage in impact.stages]
    if not any(stage.undecided or (not stage.unique and motion_is_a_choice(stage)) for stage in stages):
        return "the impulses of the impact are not unique; the smallest ones, or those with the largest margin, act"
    if any(stage.undecided or (stage.problem.given and motion_is_a_choice(stage)) for stage in stages):
        return SEVERAL.format("no rule says which it is, and rounding may decide; take contacts away")
    return SEVERAL.format("it is that of contacts that yield alike")


def let_go(state: ContactState, slip: float, usual: float) -> ContactState:
    """A slip at a speed [m/s] that turned when its direction was held: free, until it is much slower than that.

    `usual` is the slip speed [m/s] of the tolerances.
    """
    slower = max(min(state.slow(usual), slip) / STEADIER, SLOWEST * usual)
    return replace(state, phase=Phase.FREE, direction=(), held_below=slower)


def bouncing_until(t: float, mode: SystemMode, contacts: set[int]) -> SystemMode:
    """The mode with the bounces of those `contacts` that are closed in it to end at `t`."""
    states = mode.contacts
    return mode.changed({i: replace(states[i], until=t) for i in mode.closed if i in contacts})


def bounces_ended(t: float, mode: SystemMode) -> tuple[SystemMode, tuple[int, ...]]:
    """The mode without the bounces that have come to their end at `t`, and the contacts which did."""
    if not any(until <= t for until in mode.limits):
        return mode, ()
    states = mode.contacts
    ended = tuple(i for i in mode.closed if (until := states[i].until) is not None and until <= t)
    return mode.changed({i: replace(states[i], until=None) for i in ended}), ended
