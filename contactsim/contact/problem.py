"""Data of the contact problem, and of its solution, on plain arrays.

Rows come contact by contact, each with its normal row first and then d_t = 0, 1 or 2 tangential rows. Behind them come
resistances, whose rows are tangential ones alone: the friction of a spin, pressed by the normal force of its host (a
contact's torsional friction of 1 row, its rolling friction of 1 or 2, with coefficients in metres). With the Delassus
matrix G and the free motion w0, forces (or impulses) lam and accelerations (or velocities) w obey

    w = G lam + w0
    0 <= w_n - r  _|_  lam_n - l >= 0
    STICK: w_t = 0 and |lam_t| <= mu_s lam_n
    SLIP:  lam_t = -mu_k lam_n s, with s given where the contact slides already, else w_t = kappa s, kappa >= 0

(Signorini's and Coulomb's laws, Leine and Nijmeijer 2004; the circular cone, no pyramid). For a resistance lam_n is
that of its host: it has a disc |lam_t| <= mu lam_n and a state of its own, and is open where its host is. Rebounds r
and given normal forces l are zero but in the stages of an impact: r is Newton's, l what Poisson's expansion gives back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import accumulate
from math import hypot, inf
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass, lazy
from ..errors import CheckError
from .compiled import CompiledSolver, PlainProblem
from .linear_algebra import components
from .modes import Mode
from .zero import NOTHING, VERIFIED

Direction = Array | None
LAYOUTS = 512  # of rows that are kept: the same contacts touch again and again


@dataclass(frozen=True)
class ContactProblem:
    """Data of one contact problem.

    Attributes:
        delassus: G (m, m), J M^-1 J^T.
        free: w0 (m,), motion of the contacts without contact forces.
        dims: rows of each contact, 1 + d_t, then of each resistance, d_t.
        friction: kinetic coefficients (n,), of resistances in metres.
        static_friction: static coefficients (n,), at least the kinetic ones.
        sliding: unit slip direction (d_t,) of each contact that slides, None where its slip velocity is zero.
        guess: modes to try first; where several modes are admissible, those nearest to the guess are found.
        directions: unit slip directions to start from, for contacts that begin to slip.
        names: names of the contacts, for messages.
        slack: what counts as zero of each open contact's normal motion, for one whose force has just fallen to zero
            as closely as the time of an event can be met; infinite for one that takes no part; empty: nothing.
        given: normal force l of each contact that acts in any case, with the friction of the whole lam_n; empty: none.
        lifted: contacts that stick or slip under their given normal force while they part, to be tried first.
        rebound: normal motion r with which each contact ends that is held; empty: none.
        hosts: contact whose normal force presses each of the last ones of `dims`, which are resistances. What is said
            of normals (slack, given, rebound, starts) is said of contacts alone.
        compiled: what a compiled engine takes over; None: nothing. It is left out of copies and files.
        count: number of contacts; what follows them are resistances.
        starts: index of the normal row of each contact.
        rows: normal row and tangential rows of each; of a resistance the normal row is that of its host.
        widths: tangential rows d_t of each.
    """

    delassus: Array
    free: Array
    dims: tuple[int, ...]
    friction: Array
    static_friction: Array
    sliding: tuple[Direction, ...]
    guess: tuple[Mode, ...] | None = None
    directions: tuple[Direction, ...] | None = None
    names: tuple[str, ...] = ()
    slack: tuple[float, ...] = ()
    given: tuple[float, ...] = ()
    lifted: frozenset[int] = frozenset()
    rebound: tuple[float, ...] = ()
    hosts: tuple[int, ...] = ()
    compiled: CompiledSolver | None = field(default=None, repr=False, compare=False)
    count: int = field(init=False, repr=False, compare=False)
    starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    rows: tuple[tuple[int, slice], ...] = field(init=False, repr=False, compare=False)
    widths: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.__dict__.update(_layout(self.dims, self.hosts))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"compiled": None}

    @property
    def plain(self) -> PlainProblem | None:
        """The problem as a compiled engine takes it over; None where there is none, or Python has to solve it."""
        if self.compiled is None or self.hosts or self.given or self.lifted or self.rebound:
            return None
        friction, resting = self.friction, self.static_friction
        return PlainProblem(self.delassus, self.free, self.widths, friction, resting, self.slack, self.sliding)

    def host(self, i: int) -> int:
        """The contact whose normal force presses `i`: itself, but of a resistance its host."""
        return i if i < self.count else self.hosts[i - self.count]

    def with_hosts(self, modes: tuple[Mode, ...]) -> tuple[Mode, ...]:
        """The modes with each resistance open where its host is, and closed where that is."""
        if not self.hosts:
            return modes
        own = list(modes)
        for i, host in enumerate(self.hosts, self.count):
            if own[host] is Mode.OPEN:
                own[i] = Mode.OPEN
            elif own[i] is Mode.OPEN:
                own[i] = Mode.STICK if self.sliding[i] is None else Mode.SLIP
        return tuple(own)

    def normal(self, i: int) -> int:
        """Row of the normal of contact `i`; of a resistance, that of its host."""
        return self.rows[i][0]

    def tangent(self, i: int) -> slice:
        """Tangential rows of contact `i`."""
        return self.rows[i][1]

    def part(self, i: int) -> slice:
        """All own rows of contact `i`."""
        stop = self.rows[i][1].stop
        return slice(stop - self.dims[i], stop)

    @lazy
    def speed(self) -> float:
        """Largest motion that the problem starts with, or that the given forces cause."""
        largest = float(np.abs(self.free).max(initial=NOTHING))
        if not self.given:
            return largest
        normals = list(self.starts)
        return max(largest, float(np.abs(self.delassus[:, normals] * np.array(self.given)).max()))

    def force(self, forces: Array) -> float:
        """Largest of `forces` and of the given ones: their scale."""
        return max(float(np.abs(forces).max(initial=NOTHING)), max(self.given, default=0.0))

    def least(self, i: int) -> float:
        """Normal force of contact `i` that acts in any case."""
        return self.given[self.host(i)] if self.given else 0.0

    @property
    def shifted(self) -> ContactProblem:
        """The problem without rebounds that has the same forces: its motion is counted from them."""
        if not self.rebound:
            return self
        free = self.free.copy()
        free[list(self.starts)] -= self.rebound
        return self.changed(free=free, rebound=())

    def at(
        self,
        delassus: Array,
        free: Array,
        sliding: tuple[Direction, ...],
        friction: Array | None = None,
        speed: float | None = None,
    ) -> ContactProblem:
        """The same contacts in another state: a copy in a microsecond, for those who ask at every step.

        With `speed` that counts as the largest motion, whatever these numbers are.
        """
        other = self.changed(delassus=delassus, free=free, sliding=sliding)
        if friction is not None:
            other.__dict__["friction"] = friction
        if speed is not None:
            other.__dict__["speed"] = speed
        return other

    def changed(self, **attributes: Any) -> ContactProblem:
        """A copy with other attributes, of the same contacts; `replace` would lay their rows out again."""
        other = object.__new__(ContactProblem)
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("speed", None)
        other.__dict__.update(attributes)
        return other


@lru_cache(LAYOUTS)
def _layout(dims: tuple[int, ...], hosts: tuple[int, ...]) -> dict[str, Any]:
    """Where the rows of contacts and resistances lie: the attributes of a problem that follow from these two."""
    count = len(dims) - len(hosts)
    starts = tuple(accumulate((0, *dims)))[:count]
    rows = [(n, slice(n + 1, n + dim)) for n, dim in zip(starts, dims, strict=False)]
    begin = sum(dims[:count])
    for host, dim in zip(hosts, dims[count:], strict=True):
        rows.append((starts[host], slice(begin, begin + dim)))
        begin += dim
    widths = tuple([t.stop - t.start for _, t in rows])
    return {"count": count, "starts": starts, "rows": tuple(rows), "widths": widths}


@dataclass(frozen=True)
class ContactSolution:
    """Modes and forces found for a contact problem; it holds the problem, and verifies itself by it.

    Attributes:
        problem: what was solved.
        modes: OPEN, STICK or SLIP of each contact.
        forces: lam (m,).
        directions: unit slip direction of each slipping contact, else None.
        unique: whether the forces are the only ones; the motion always is, unless contacts slip redundantly.
        undecided: whether other motions fulfil the law as well, and no rule says which it is.
    """

    problem: ContactProblem
    modes: tuple[Mode, ...]
    forces: Array
    directions: tuple[Direction, ...]
    unique: bool
    undecided: bool = False

    @lazy
    def motion(self) -> Array:
        """w = G lam + w0 (m,)."""
        return self.problem.delassus.dot(self.forces) + self.problem.free

    @property
    def lifted(self) -> frozenset[int]:
        """Contacts that stick or slip under their given normal force while they part."""
        return self.problem.lifted

    @lazy
    def residuals(self) -> Mapping[str, float]:
        """{law: largest violation}, from the definitions and not from what was solved.

        signorini: of w_n - r >= 0, lam_n - l >= 0, and that one of them vanishes. cone: of |lam_t| <= mu lam_n.
        friction: of w_t = 0 where a contact sticks, of lam_t = -mu lam_n s and w_t = |w_t| s where it slips along s.
        Motions are relative to the largest of w0, forces to the largest of lam: no law hangs on the unit of mass.
        """
        problem = self.problem
        scale = problem.force(self.forces)
        forces, motion = self.forces / scale, self.motion / problem.speed
        signorini = cone = friction = 0.0
        none = (0.0,) * len(self.modes)
        slack = problem.slack or none
        given = [force / scale for force in problem.given or none]
        rebound = [speed / problem.speed for speed in problem.rebound or none]
        for i, (mode, (n, t)) in enumerate(zip(self.modes, problem.rows, strict=True)):
            host = i if i < problem.count else problem.hosts[i - problem.count]
            if slack[host] == inf:
                continue
            if host == i:
                force, leaves = forces[n] - given[i], motion[n] - rebound[i]
                signorini = max(signorini, -leaves, -force, min(abs(leaves), abs(force)))
            if not problem.widths[i]:
                continue
            mu = problem.static_friction[i] if mode is Mode.STICK else problem.friction[i]
            cone = max(cone, hypot(*forces[t]) - mu * forces[n])
            if mode is Mode.STICK:
                friction = max(friction, hypot(*motion[t]))
            elif mode is Mode.SLIP:
                slip = np.asarray(self.directions[i])
                friction = max(friction, hypot(*(forces[t] + mu * forces[n] * slip)))
                if problem.sliding[i] is None:
                    friction = max(friction, hypot(*(motion[t] - hypot(*motion[t]) * slip)))
        return {"signorini": float(signorini), "cone": float(cone), "friction": float(friction)}

    @property
    def residual(self) -> float:
        """The largest of the residuals."""
        return max(self.residuals.values())

    def verify(self, tolerance: float = VERIFIED) -> Mapping[str, float]:
        """The residuals, none of which is above `tolerance`.

        Raises:
            CheckError: one of them is.
        """
        wrong = [
            f"{law} {value:.3g} > {tolerance:.3g}" for law, value in self.residuals.items() if not value <= tolerance
        ]
        if wrong:
            raise CheckError(f"the solution violates {'; '.join(wrong)}", report=self.residuals)
        return self.residuals


# --- islands: sets of contacts that do not move each other, each a problem of its own ---------------------------------
def islands(problem: ContactProblem, among: Iterable[int] | None = None) -> list[list[int]]:
    """Contacts, with their resistances, sorted into sets whose rows of the Delassus matrix do not meet.

    Args:
        problem: the problem.
        among: contacts that are sorted, with the resistances that they press; None: all.
    """
    contacts = list(range(len(problem.dims)) if among is None else among)
    if len(contacts) < 2 or 0.0 not in problem.delassus[0].tolist():
        return [contacts]
    entries = problem.delassus != 0.0
    owner = np.repeat(np.arange(len(problem.dims)), problem.dims)
    one, other = np.nonzero(np.triu(entries, 1))
    links = set(zip(owner[one].tolist(), owner[other].tolist(), strict=True))
    links |= set(enumerate(problem.hosts, problem.count))
    chosen = set(contacts)
    return components(contacts, (link for link in links if chosen.issuperset(link)))


def part_of(problem: ContactProblem, own: Sequence[int]) -> ContactProblem:
    """The problem of some of the contacts, in rising order, with the resistances that they press."""
    rows = rows_of(problem, own)
    place = {i: k for k, i in enumerate(own)}

    def some(values: Sequence[Any] | None, contacts: Iterable[int] = own) -> Any:
        return tuple([values[i] for i in contacts]) if values else values

    contacts = [i for i in own if i < problem.count]
    return ContactProblem(
        delassus=problem.delassus[np.ix_(rows, rows)],
        free=problem.free[rows],
        dims=some(problem.dims),
        friction=problem.friction[list(own)],
        static_friction=problem.static_friction[list(own)],
        sliding=some(problem.sliding),
        guess=some(problem.guess),
        directions=some(problem.directions),
        names=some(problem.names),
        slack=some(problem.slack, contacts),
        given=some(problem.given, contacts),
        lifted=frozenset(place[i] for i in problem.lifted if i in place),
        rebound=some(problem.rebound, contacts),
        hosts=tuple(place[problem.host(i)] for i in own if i >= problem.count),
        compiled=problem.compiled,
    )


def rows_of(problem: ContactProblem, own: Iterable[int]) -> list[int]:
    """Rows of some of the contacts."""
    return [row for i in own for row in range(problem.part(i).start, problem.part(i).stop)]


def joined(
    problem: ContactProblem, parts: Sequence[Sequence[int]], solutions: Sequence[ContactSolution]
) -> ContactSolution:
    """The solution of a problem, of those of its islands."""
    modes, directions = [list[Any](range(len(problem.dims))) for _ in range(2)]
    forces, lifted = np.empty(len(problem.free)), set[int]()
    for own, solution in zip(parts, solutions, strict=True):
        forces[rows_of(problem, own)] = solution.forces
        lifted |= {own[k] for k in solution.lifted}
        for k, i in enumerate(own):
            modes[i], directions[i] = solution.modes[k], solution.directions[k]
    unique = all(solution.unique for solution in solutions)
    problem, undecided = replace(problem, lifted=frozenset(lifted)), any(solution.undecided for solution in solutions)
    return ContactSolution(problem, tuple(modes), forces, tuple(directions), unique, undecided)
