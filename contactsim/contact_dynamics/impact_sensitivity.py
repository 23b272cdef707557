"""Derivative of an impact by the state before it and other variables: stage after stage, each with its modes held."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..contact.impact import ImpactSolution, ImpactStage
from ..contact.linear_algebra import pseudo_inverse, solve_mass
from ..contact.modes import Mode
from ..contact.redundant_forces import edges
from ..errors import NonDifferentiableError
from ..multibody.mechanism import Terms
from .mode_sensitivity import Evenly, Loose, ModeEquations, Turn, across, loose_forces
from .variables import TermChanges, Variable
from .world import World
from .zero import SMALLEST


class _Moved(NamedTuple):
    """Where a stage leaves the velocity v (nv,); derivatives (., 2 nv + k) of v, its impulses and its work."""

    v: Array
    v_x: Array
    impulses_x: Array
    work_x: Array


@dataclass(frozen=True)
class ImpactSensitivity:
    """An impact at (t, q), to be differentiated by (q, v(-)) and by k variables such as time.

    In each stage M (v - v(before)) = J^T lam, with w_n = -r w_n(before) where a contact is held, or the normal impulse
    s lam_n(before) where it parts under that, and w_t = 0 or lam_t = -mu lam_n w_t / |w_t|. Rebounds r and shares s
    are in proportion to the restitution of their contact.

    Attributes:
        world: what it happens to.
        t, q: where.
        contacts: those that take part.
        terms, where: equations of motion with their rows before the impact, and the rows of each contact.
        variables: by which else to differentiate.
    """

    world: World
    t: float
    q: Array
    contacts: tuple[int, ...]
    terms: Terms
    where: Mapping[int, slice]
    variables: tuple[Variable, ...] = ()

    @cached_property
    def _changes(self) -> list[TermChanges]:
        """What the variables change of the terms, the bodies at rest."""
        still = np.zeros(len(self.terms.force))
        return [variable.changes(self.q, still, self.contacts) for variable in self.variables]

    def derivative(self, v: Array, solution: ImpactSolution) -> Array:
        """D v(+) (nv, 2 nv + k) for the velocity `v` (nv,) before the impact, by q, v(-) and the variables.

        Raises:
            NonDifferentiableError: neighbouring states take other stages.
        """
        if solution.kink:
            raise NonDifferentiableError(f"the impact at t = {self.t:.9g} s has no derivative: {solution.kink}")
        if any(stage.solution.undecided for stage in solution.stages):
            raise NonDifferentiableError(
                f"the impact at t = {self.t:.9g} s has no derivative: it has several outcomes, and no rule says which"
                " it is; take contacts away, or give them compliance"
            )
        nv = len(v)
        width = 2 * nv + len(self.variables)
        here = _Moved(v, np.eye(nv, width, nv), np.zeros((len(self.terms.rates), width)), np.zeros(width))
        start, balanced = v, any(stage.balanced for stage in solution.stages)
        for k, stage in enumerate(solution.stages):
            following = solution.stages[k + 1 :]
            here = self._passed(stage, here, start, bool(following) and bool(np.any(following[0].share)), balanced)
        return here.v_x

    def _passed(self, stage: ImpactStage, here: _Moved, start: Array, recalled: bool, balanced: bool) -> _Moved:
        """One stage on; `recalled`: whether the next one depends on its impulses; `balanced`: one on its work."""
        nv, rows = len(start), self.terms.rows
        impulses = self._all_rows(stage.impulses)
        change = solve_mass(self.terms.mass, rows.T @ impulses)
        rates = self.terms.rates + rows @ (here.v - start)
        rates_after = rates + rows @ change
        given_x = self._given(stage, here.impulses_x, impulses)
        width = given_x.shape[1]
        force = rows.T @ given_x
        force[:, :nv] -= self._mechanism.impulse_derivatives(self.t, self.q, change, self.contacts, impulses)
        for column, by in enumerate(self._changes, 2 * nv):
            force[:, column] += by.rows.T @ impulses - by.mass @ change
        held_x = self._rates_x(here, here.v + change, width)
        rates_x = self._rates_x(here, here.v, width) if balanced or np.any(stage.rebound) else None
        motion = held_x.copy()
        for k, i in enumerate(self.world.pressing(self.contacts)):
            if stage.rebound[k] and rates_x is not None:
                n = self.where[i].start
                motion[n] += stage.rebound[k] * rates_x[n]
                motion[n, self._columns] += stage.rebound[k] * self._relative(i) * rates[n]
        equations = self._equations(stage, impulses, rates_after)
        loose: Evenly | Loose | None = None
        if equations.redundant:
            choice = equations.motion_is_a_choice()
            loose = self._evenly(stage, equations, impulses, width) if choice else None
            if loose is None:
                self._demand_smallest(equations, impulses, recalled)
                loose = self._loose(stage, equations, impulses, width)
        try:
            change_x, impulses_x = equations.solve(force, motion, loose)
        except np.linalg.LinAlgError:
            raise NonDifferentiableError(
                f"the impact at t = {self.t:.9g} s has no derivative: its equations are singular, as where contacts at"
                " the edges of their friction cones do not slip; take contacts away, or change the friction a little"
            ) from None
        impulses_x += given_x
        if rates_x is None or not balanced:
            return _Moved(here.v + change, here.v_x + change_x, impulses_x, here.work_x)
        both_x = rates_x + held_x + rows @ change_x
        work_x = 0.5 * (impulses @ both_x + (rates + rates_after) @ impulses_x)
        if stage.balanced:
            fold = _balance(here.work_x, work_x)
            change_x, impulses_x, work_x = change_x @ fold, impulses_x @ fold, work_x @ fold
        return _Moved(here.v + change, here.v_x + change_x, impulses_x, work_x)

    @property
    def _mechanism(self):  # type: ignore[no-untyped-def]
        return self.world.mechanism

    def _all_rows(self, kept: Array) -> Array:
        """Impulses along all rows of the terms, of those along the rows that take part."""
        impulses = np.zeros(len(self.terms.rates))
        impulses[self.world.kept_rows(self.contacts)] = kept
        return impulses

    def _rates_x(self, here: _Moved, v: Array, width: int) -> Array:
        """Derivative (m, width) of the contact velocities at `v`, which varies as before the stage."""
        rates_x = np.zeros((len(self.terms.rates), width))
        size = here.v_x.shape[1]
        rates_x[:, :size] = self.terms.rows @ here.v_x
        rates_x[:, : len(v)] += self._mechanism.rate_derivatives(self.t, self.q, v, self.contacts)
        for column, by in enumerate(self._changes, 2 * len(v)):
            rates_x[:, column] += by.rates + by.rows @ v
        return rates_x

    @property
    def _columns(self) -> slice:
        """Those of the variables."""
        first = 2 * len(self.terms.force)
        return slice(first, first + len(self.variables))

    def _relative(self, i: int) -> Array:
        """Derivatives (k,) of the logarithm of the restitution of a contact; zero where it has none."""
        by, e = np.array([variable.restitution[i] for variable in self.variables]), self.world.restitution[i]
        return by / e if e else np.zeros(len(by))

    def _friction(self, i: int) -> Array:
        """Derivatives (k,) of the coefficient of friction of a contact."""
        return np.array([variable.friction[i] for variable in self.variables])

    def _given(self, stage: ImpactStage, before_x: Array, impulses: Array) -> Array:
        """Derivative (m, 2 nv + k) of impulses that are given, and of the friction of given and other normal ones.

        There is one more column by a common factor, where that balances the work.
        """
        given_x = np.zeros((len(impulses), before_x.shape[1] + stage.balanced))
        for k, i in enumerate(self.contacts):
            host, pressed = stage.solution.problem.host(k), self.world.host(i)
            n, slip = self.where[pressed].start, stage.solution.directions[k]
            part, sliding = self.world.tangents(i, self.where[i]), stage.solution.modes[k] is Mode.SLIP
            if host in stage.solution.lifted:
                normal_x = np.append(stage.share[host] * before_x[n], [impulses[n]] * stage.balanced)
                if stage.share[host]:
                    normal_x[self._columns] += impulses[n] * self._relative(pressed)
                given_x[n] = normal_x
                if slip is not None:
                    given_x[part] = -stage.solution.problem.friction[k] * np.outer(slip, normal_x)
            if sliding and slip is not None:
                given_x[part, self._columns] -= impulses[n] * np.outer(slip, self._friction(i))
        return given_x

    def _equations(self, stage: ImpactStage, impulses: Array, rates: Array) -> ModeEquations:
        """The linear equations of a stage; `rates` are the velocities of the contacts after it."""
        constrained: list[int] = []
        directions: list[Array] = []
        turns = []
        solution, unknowns = stage.solution, dict[int, int]()  # of the normal forces
        for k, (i, mode, slip) in enumerate(zip(self.contacts, solution.modes, solution.directions, strict=True)):
            if mode is Mode.OPEN:
                continue
            host, part = solution.problem.host(k), self.world.tangents(i, self.where[i])
            n, first = self.where[self.world.host(i)].start, part.start
            tangents = range(first, first + self.world.tangent_rows[i]) if mode is Mode.STICK else ()
            if host == k and k not in solution.lifted:
                unknowns[k] = len(constrained)
            rows = [n, *tangents] if unknowns.get(k) is not None else [*tangents]
            unknown = unknowns.get(host)
            constrained += rows
            directions += list(np.eye(len(rates))[rows])
            if mode is Mode.SLIP and slip is not None:
                mu = float(solution.problem.friction[k])
                if unknown is not None:
                    directions[unknown][part] = -mu * slip
                if len(slip) == 2:
                    turns.append(Turn(part, across(slip), unknown, mu, -mu * impulses[n], float(slip @ rates[part])))
        combine = np.array(directions).reshape(len(constrained), len(rates))
        return ModeEquations(
            self.terms.mass,
            self.terms.rows,
            np.array(constrained, dtype=int),
            combine,
            tuple(turns),
            not solution.unique,
        )

    def _evenly(self, stage: ImpactStage, equations: ModeEquations, impulses: Array, width: int) -> Evenly:
        """How impulses change that leave the motion a choice, shared as by contacts that yield alike.

        Raises:
            NonDifferentiableError: they are shared otherwise, as where contacts at rest slip by yielding alone, and
                where others are given.
        """

        def moved(z: Array) -> Array:
            still = self._mechanism.rate_derivatives(self.t, self.q, np.zeros_like(z), self.contacts)
            by_state = np.zeros((len(equations.rows), width))
            by_state[:, : len(z)] = self._mechanism.rate_derivatives(self.t, self.q, z, self.contacts) - still
            for column, by in enumerate(self._changes, 2 * len(z)):
                by_state[:, column] = by.rows @ z
            return by_state[equations.constrained]

        given = stage.solution.problem.given
        found = None if given else Evenly.of(equations, impulses[equations.constrained], moved)
        if found is None:
            raise NonDifferentiableError(
                f"the impact at t = {self.t:.9g} s has no derivative: contacts slip redundantly, under impulses that"
                " those at rest bear as far as friction lets them, or that are given back; take contacts away, or give"
                " them compliance"
            )
        return found

    def _loose(self, stage: ImpactStage, equations: ModeEquations, impulses: Array, width: int) -> Loose | None:
        """How the smallest impulses change within the null space, which leaves the motion as it is; None: others."""
        solution, kept = stage.solution, self.world.kept_rows(self.contacts)
        pressed = edges(solution.problem, solution.modes, stage.impulses, equations.combine[:, kept].T)
        turned = partial(self._turned, equations, width)
        return Loose.of(equations, impulses[equations.constrained], pressed, turned)

    def _turned(self, equations: ModeEquations, width: int, pull: Array) -> tuple[Array, Array]:
        """dA^T w with `pull` w held."""
        by_q, by_turns, y = loose_forces(self._mechanism, self.t, self.q, self.contacts, equations, pull)
        by_state = np.zeros((len(by_q), width))
        by_state[:, : len(y)] = by_q
        along = np.zeros(len(equations.rows))
        along[equations.constrained] = pull
        for column, by in enumerate(self._changes, 2 * len(y)):
            inner = by.rows.T @ along - by.mass @ y
            turned = by.rows @ y + self.terms.rows @ solve_mass(self.terms.mass, inner)
            by_state[:, column] = equations.combine @ turned
        return by_state, by_turns

    def _demand_smallest(self, equations: ModeEquations, impulses: Array, recalled: bool) -> None:
        """Raise where the next stage gives back impulses that are neither unique nor the smallest."""
        if not recalled:
            return
        held, directions = self.terms.rows[equations.constrained], equations.combine @ self.terms.rows
        matrix = held @ solve_mass(self.terms.mass, directions.T)
        unknowns = impulses[equations.constrained]
        smallest = pseudo_inverse(matrix) @ (matrix @ unknowns)
        if np.abs(smallest - unknowns).max() > SMALLEST * np.abs(unknowns).max():
            raise NonDifferentiableError(
                f"the impact at t = {self.t:.9g} s has no derivative: what it gives back depends on impulses of"
                " compression that are not unique; take contacts away, or use law='coulomb'"
            )


def _balance(before: Array, work: Array) -> Array:
    """Matrix (K + 1, K) that puts for the last column the one for which this work makes up for that before."""
    size = len(before)
    by_factor = float(work[-1])
    last = -(before + work[:-1]) / by_factor if by_factor else np.zeros(size)
    return np.vstack([np.eye(size), last])
