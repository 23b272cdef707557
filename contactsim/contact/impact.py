"""Impacts on plain arrays: what an impact law returns, and the two hypotheses that laws are made of.

An impact is a sequence of stages. Each is a contact problem of its own, solved with its modes, and takes the velocities
of the contacts from w to w + G lam; once the modes are known it is linear, which is all that derivatives need to know.

    Newton      one stage:   0 <= w_n + e min(0, w_n(before))  _|_  lam_n >= 0
    Poisson     compression: 0 <= w_n  _|_  lam_n >= 0
                expansion:   0 <= w_n  _|_  lam_n - s lam_n(before) >= 0, with s = e

and in every stage Coulomb's law |lam_t| <= mu lam_n, against the slip velocity at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass, lazy
from ..errors import NoAdmissibleModeError
from .modes import Mode
from .problem import ContactProblem, ContactSolution, Direction
from .stick_slip_choice import solve


@dataclass(frozen=True)
class ImpactStage:
    """One stage of an impact, solved.

    Attributes:
        solution: modes and impulses, and the problem that they solve.
        before, after: velocities w (m,) of the contacts on both sides.
        rebound: r (n,), a normal velocity that is held ends at -r w_n(before).
        share: s (n,), the normal impulse of each contact that acts in any case is s times that of the stage before.
        balanced: whether all shares follow a common factor for which the contacts do no work in this stage and the one
            before together.
    """

    solution: ContactSolution
    before: Array
    after: Array
    rebound: Array
    share: Array
    balanced: bool = False

    @property
    def impulses(self) -> Array:
        """lam (m,)."""
        return self.solution.forces

    @property
    def work(self) -> float:
        """Work that the contacts do: (w(before) + w(after))^T lam / 2 [J]."""
        return 0.5 * float((self.before + self.after) @ self.solution.forces)

    def ends_at_rest(self, i: int) -> bool:
        """True where contact `i` ends without normal velocity, by this stage's equations."""
        return not self.ends_open(i) and self.rebound[self.solution.problem.host(i)] == 0.0

    def ends_open(self, i: int) -> bool:
        """True where contact `i` is not held at the velocity that the law says."""
        return self.solution.modes[i] is Mode.OPEN or self.solution.problem.host(i) in self.solution.lifted


@dataclass(frozen=True)
class ImpactSolution:
    """An impact as its law has it.

    Attributes:
        stages: in the order in which they happen; at least one.
        kink: why neighbouring states take other stages, so that there is no derivative; empty: they take the same.
    """

    stages: tuple[ImpactStage, ...]
    kink: str = ""

    @lazy
    def impulses(self) -> Array:
        """Sum (m,) of the impulses of all stages."""
        return np.sum([stage.solution.forces for stage in self.stages], axis=0)

    @property
    def motion(self) -> Array:
        """Velocities w (m,) of the contacts after the impact."""
        return self.stages[-1].after

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Modes of the last stage."""
        return self.stages[-1].solution.modes

    @property
    def work(self) -> float:
        """Work that the contacts do on the bodies, negative where energy is lost [J]."""
        return sum(stage.work for stage in self.stages)

    @property
    def turnover(self) -> float:
        """Sum of the absolute work of all rows in all stages [J], the scale of rounding in `work`."""
        return 0.5 * sum([float(np.abs((s.before + s.after) * s.solution.forces).sum()) for s in self.stages])

    @property
    def residuals(self) -> Mapping[str, float]:
        """{law: largest violation} over the stages."""
        worst = dict(self.stages[0].solution.residuals)
        for stage in self.stages[1:]:
            for law, value in stage.solution.residuals.items():
                worst[law] = max(worst.get(law, 0.0), value)
        return worst


def newton(problem: ContactProblem, restitution: Array) -> ImpactStage:
    """The stage of Newton's law: 0 <= w_n - e max(0, -w_n(before)) _|_ lam_n >= 0, by a shift of the motion.

    A touching contact that separates is not pulled in. `problem.free` holds the velocities before the stage.

    Source: Leine and Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems, 2004.
    """
    none = np.zeros(problem.count)
    e, rebound = none, ()
    if any(restitution.tolist()):
        before = problem.free[list(problem.starts)]
        e = np.where(before < 0.0, restitution, 0.0)
        rebound = tuple((-e * before).tolist()) if any(e.tolist()) else ()
    try:
        solution = solve(problem.changed(static_friction=problem.friction, rebound=rebound), evenly=True)
    except NoAdmissibleModeError as error:
        raise _with_remedy(problem, e, error) if rebound else error from None
    return ImpactStage(solution, problem.free, solution.motion, e, none)


def _with_remedy(problem: ContactProblem, restitution: Array, error: NoAdmissibleModeError) -> NoAdmissibleModeError:
    """The error of an impact that Newton's law has no solution for, with what Poisson's or no restitution makes of it.

    Friction that holds a contact on the ground leaves it no way to rebound by a share of its velocity.
    """
    from .solvers.enumerate import Enumerate

    names = ", ".join(problem.names) or f"{len(problem.dims)} contacts"
    tried = "" if Enumerate().proves(problem) else " that the search comes to"
    at = f"no impulses of {names}{tried} satisfy Newton's law of impact with the restitution {restitution.max():.4g}"
    try:
        compressed = compression(problem)
    except NoAdmissibleModeError:
        return error
    try:
        expansion(problem, compressed, restitution)
    except NoAdmissibleModeError:
        remedy = "without restitution there are some: set it to 0, or lower the friction"
    else:
        remedy = "Poisson's law has a solution: take law='poisson', set the restitution to 0, or lower the friction"
    return NoAdmissibleModeError(f"{at} and Coulomb's law of friction; {remedy}", **error.problem)


def compression(problem: ContactProblem) -> ImpactStage:
    """The stage that ends where no contact approaches any more: Newton's law without restitution."""
    return newton(problem, np.zeros(problem.count))


def expansion(problem: ContactProblem, compressed: ImpactStage, share: Array) -> ImpactStage:
    """The stage that gives back `share` (n,) of the normal impulses of the stage before, and more to keep bodies apart.

        0 <= w_n  _|_  lam_n - s lam_n(before) >= 0,   |lam_t| <= mu lam_n

    Friction of the whole normal impulse acts, also of that which is given, without tangential restitution.

    Source: Glocker and Pfeiffer, Multiple impacts with friction in rigid multibody systems, 1995; Pfeiffer and
        Glocker, Multibody Dynamics with Unilateral Contacts, 1996, Sec. 8.2, with epsilon_T = 0.
    """
    given = share * np.maximum(compressed.impulses[list(problem.starts)], 0.0)
    modes, directions, lifted = _under_way(problem, compressed.solution, given)
    stage = replace(
        problem,
        free=compressed.after,
        static_friction=problem.friction,
        guess=modes,
        directions=directions,
        given=tuple(given.tolist()),
        lifted=lifted,
    )
    solution = solve(stage)
    return ImpactStage(solution, compressed.after, solution.motion, np.zeros(len(share)), share)


def _under_way(
    problem: ContactProblem, compressed: ContactSolution, given: Array
) -> tuple[tuple[Mode, ...], tuple[Direction, ...], frozenset[int]]:
    """Modes to try first in an expansion: those of the compression, where impulses are given while contacts part."""
    lifted = frozenset(np.flatnonzero(given > 0.0).tolist())
    modes = tuple(mode if problem.host(i) in lifted else Mode.OPEN for i, mode in enumerate(compressed.modes))
    return modes, compressed.directions, lifted
