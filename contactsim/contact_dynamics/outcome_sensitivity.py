"""Derivative of an event of a rigid law by state, time and parameters: of its impact, and of what then rests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..contact.laws import RigidLaw
from ..contact.linear_algebra import projector, pseudo_inverse, solve_mass
from ..contact.modes import Mode, Phase, SystemMode
from ..hybrid.differences import tangent_derivative
from ..hybrid.manifold import Euclidean
from ..multibody.mechanism import Terms
from .contact_rows import ContactTerms, Happened, Impact, closed_terms, laid_out, resting_rows, with_rubbing
from .impact_sensitivity import ImpactSensitivity
from .impacts import with_friction
from .variables import Beside, Neighbourhood, Parameter, TermChanges, Time, Variable
from .world import World
from .zero import OF_FRICTION


class _Resting(NamedTuple):
    """Rows (k,) at rest behind an event, whether each came to rest in it, and the forces (k, nv) that hold them."""

    rows: list[int]
    stopping: Array
    forces: Array


class _Turned(NamedTuple):
    """A change (nv,) of the velocity by impulses along rows, and its variations (nv, dim + k), the impulses held."""

    change: Array
    by_state: Array


@dataclass(frozen=True)
class OutcomeSensitivity:
    """The derivatives of the events of one world, with the worlds beside it by its parameters.

    Whoever asks by parameters asks by the state, too: those columns of the last event are kept.

    Args:
        _world, _neighbourhood: as said.
        _compiled: an event -> what `by_state` tells of it, by a compiled engine; None: it does not tell.
    """

    _world: World
    _neighbourhood: Neighbourhood
    _compiled: Callable[[Happened], Array | None]
    _last: list[tuple[Happened, Array]] = field(default_factory=list, init=False, repr=False, compare=False)

    def by_state(self, happened: Happened) -> Array:
        """D_x R (dim, dim) of `derivative`."""
        for known, columns in tuple(self._last):
            if known is happened:
                return columns.copy()
        found = self._compiled(happened)
        return self.derivative(*happened) if found is None else found

    def by_time(self, happened: Happened) -> Array:
        """D_t R (dim,) of `derivative`."""
        return self.derivative(*happened, (Time(self._world, happened.t),))[:, -1]

    def by_parameters(self, happened: Happened, names: Sequence[str]) -> dict[str, Array]:
        """{name: D_p R (dim,)} of `derivative` for those of some parameters of which it is known."""
        impact, size = happened.impact, self._world.tangent_size
        found = {name: worlds for name in names if (worlds := self._beside(name, impact)) is not None}
        acting = [name for name, worlds in found.items() if worlds.moves or impact is not None]
        variables = tuple(Parameter(found[name], happened.t) for name in acting)
        known = {name: np.zeros(size) for name in found}
        if acting:
            columns = self.derivative(*happened, variables)
            self._last[:] = [(happened, columns[:, :size])]
            known |= dict(zip(acting, columns[:, size:].T, strict=True))
        return known

    def _beside(self, name: str, impact: Impact | None) -> Beside | None:
        """The worlds beside this one by a parameter whose part in events is known, else None."""
        curved = impact is not None and any(i in self._world.curves for i in impact.contacts)
        return None if curved or self._world.latched or self._world.loops else self._neighbourhood.by(name)

    def derivative(
        self,
        t: float,
        x: Array,
        impact: Impact | None,
        x_post: Array,
        mode: SystemMode,
        after: SystemMode,
        left: Mapping[int, Array],
        variables: tuple[Variable, ...] = (),
    ) -> Array:
        """D R (dim, dim + k) by the state and some variables, of an impact with its outcome held, and of what rests.

        Gaps that close with others, without an impact of their own, end with no variation; the gap of one contact that
        lands alone has none behind the saltation matrix, also on moving ground. A capture in space ends with both
        tangential variations zero: what is left of the one across the slip when the held direction takes over is
        removed by the impulse of friction that would have removed it. What was held before is left as it is: where
        nothing comes to rest, the derivative is the identity. The impulses `left` turn with what they act on.
        """
        world, nv, size = self._world, self._world.nv, self._world.tangent_size
        jacobian = np.eye(size, size + len(variables))
        struck = None if impact is None else closed_terms(world, t, x, impact.contacts)
        if impact is not None and struck is not None:
            by_impact = self._by_impact(t, x, impact, struck, variables)
            jacobian[nv : 2 * nv, : 2 * nv] = by_impact[:, : 2 * nv]
            jacobian[nv : 2 * nv, size:] = by_impact[:, 2 * nv :]
        where = laid_out([(i, world.mechanism.dims[i]) for i in after.closed])
        rows, held = resting_rows(world, after, where), self._held_rows(mode, impact, where)
        stopping = np.array([row not in held for row in rows], dtype=bool)
        pressing = world.pressing(after.closed)
        closing = np.array([not mode.contacts[i].closed for i in pressing], dtype=bool)
        if not closing.any() and not stopping.any():
            return jacobian
        terms = self._terms_behind(t, x, x_post, struck, after.closed)
        slipping = self._slipping(after, terms, where)
        rows = [row for row in rows if row not in slipping]
        stopping = np.array([row not in held for row in rows], dtype=bool)
        if closing.any() and not self._lands_alone(t, x, struck, [i for i in pressing if not mode.contacts[i].closed]):
            heads = [where[i].start for i in pressing]
            normals = terms.rows[heads]
            gaps_x = normals @ jacobian[:nv]
            for column, changes in enumerate(self._changes(variables, x_post, after), size):
                gaps_x[:, column] += changes.gaps[heads]
            jacobian[:nv] -= projector(terms.mass, normals)[:, closing] @ gaps_x[closing]
        if stopping.any():
            resting = _Resting(rows, stopping, with_rubbing(world, after, terms, where, rows) @ terms.rows)
            self._bring_to_rest(t, x_post, after, terms, resting, left, jacobian, variables)
        return jacobian

    def _bring_to_rest(
        self,
        t: float,
        x: Array,
        mode: SystemMode,
        terms: Terms,
        resting: _Resting,
        left: Mapping[int, Array],
        jacobian: Array,
        variables: tuple[Variable, ...],
    ) -> None:
        """Take from variations of the state those of the velocities that come to rest, in place.

        What the impulses `left` changed turns with the state; velocities that were held before vary by that alone.
        """
        world, rows, stopping = self._world, resting.rows, resting.stopping
        velocity = slice(world.nv, 2 * world.nv)
        solved = solve_mass(terms.mass, resting.forces.T)
        settle = solved @ pseudo_inverse(terms.rows[rows] @ solved)
        turned = self._turned(t, x, left, jacobian, variables)
        if turned is None:
            rates_x = self._rates_x(t, x, mode, terms, jacobian, variables)[rows]
            jacobian[velocity] -= settle[:, stopping] @ rates_x[stopping]
            return
        before = world.moved(x, world.q(x), world.v(x) - turned.change)
        before_x = self._rates_x(t, before, mode, terms, jacobian, variables)
        jacobian[velocity] += turned.by_state + self._rubbed(mode, terms, left, before_x, variables)
        rates_x = self._rates_x(t, x, mode, terms, jacobian, variables)[rows]
        rates_x[~stopping] -= before_x[rows][~stopping]
        jacobian[velocity] -= settle @ rates_x

    def _rubbed(
        self, mode: SystemMode, terms: Terms, left: Mapping[int, Array], rates_x: Array, variables: tuple[Variable, ...]
    ) -> Array:
        """Variations (nv, dim + k) of the velocity by friction of the impulses `left`, which turns with the slip.

        With mu s n along the slip z = |z| s, d(mu s n) = n (s dmu + mu (1 - s s^T) dz / |z|).
        """
        world, where = self._world, laid_out([(i, self._world.mechanism.dims[i]) for i in mode.closed])
        along_x = np.zeros((len(terms.rates), rates_x.shape[1]))
        for i in (i for i in mode.closed if i in left and mode.contacts[i].phase in (Phase.FREE, Phase.DIRECTED)):
            part = world.tangents(i, where[i])
            rubs, slip = left[i][part.start - where[i].start : part.stop - where[i].start], terms.rates[part]
            for column, variable in enumerate(variables, world.tangent_size):
                along_x[part, column] += rubs * variable.friction[i] / float(world.friction_at(i, slip))
            if mode.contacts[i].phase is Phase.FREE and len(slip) == 2:
                across = rates_x[part] - np.outer(slip, slip @ rates_x[part]) / float(slip @ slip)
                along_x[part] += float(rubs @ slip) / float(slip @ slip) * across
        return solve_mass(terms.mass, terms.rows.T @ along_x)

    def _rates_x(
        self, t: float, x: Array, mode: SystemMode, terms: Terms, moved: Array, variables: tuple[Variable, ...]
    ) -> Array:
        """Variations (m, dim + k) of the velocities of the closed contacts, where those of the state are `moved`."""
        world, nv = self._world, self._world.nv
        rates_x = terms.rows @ moved[nv : 2 * nv]
        rates_x += world.mechanism.rate_derivatives(t, world.q(x), world.v(x), mode.closed) @ moved[:nv]
        for column, changes in enumerate(self._changes(variables, x, mode), world.tangent_size):
            rates_x[:, column] += changes.rates
        return rates_x

    def _turned(
        self, t: float, x: Array, left: Mapping[int, Array], moved: Array, variables: tuple[Variable, ...]
    ) -> _Turned | None:
        """What the impulses `left` changed, and its variations; None: no more than what counts as zero.

        With M w = J^T lam and lam held, M dw = dJ^T lam - dM w.
        """
        if not left:
            return None
        world, contacts = self._world, tuple(sorted(left))
        terms, where = closed_terms(world, t, x, contacts)
        impulses, q = np.zeros(len(terms.rates)), world.q(x)
        for i in contacts:
            impulses[where[i]] = left[i]
        change = solve_mass(terms.mass, terms.rows.T @ impulses)
        if np.abs(change).max() <= world.tolerances.speed:
            return None
        force = -world.mechanism.impulse_derivatives(t, q, change, contacts, impulses) @ moved[: world.nv]
        for column, variable in enumerate(variables, world.tangent_size):
            by = variable.changes(q, world.v(x), contacts)
            force[:, column] += by.rows.T @ impulses - by.mass @ change
        return _Turned(change, solve_mass(terms.mass, force))

    def _changes(self, variables: tuple[Variable, ...], x: Array, mode: SystemMode) -> list[TermChanges]:
        """What variables change of the terms of the closed contacts."""
        return [variable.changes(self._world.q(x), self._world.v(x), mode.closed) for variable in variables]

    def _slipping(self, mode: SystemMode, terms: Terms, where: Mapping[int, slice]) -> set[int]:
        """Tangential rows of contacts that began to slip before the event, and do."""
        parts = [self._world.tangents(i, where[i]) for i in mode.closed if mode.contacts[i].phase is Phase.INCIPIENT]
        moving = [part for part in parts if np.linalg.norm(terms.rates[part]) > self._world.tolerances.speed]
        return {row for part in moving for row in range(part.start, part.stop)}

    def _terms_behind(
        self, t: float, x: Array, x_post: Array, struck: ContactTerms | None, contacts: tuple[int, ...]
    ) -> Terms:
        """Mass, rows and rates behind the event: an impact leaves the first two as they are, and its rates follow."""
        world = self._world
        stays = struck is not None and np.array_equal(world.q(x_post), world.q(x))
        if struck is None or not stays or not struck.where.keys() >= set(contacts):
            return closed_terms(world, t, x_post, contacts).terms
        terms = struck.of(contacts).terms
        return terms._replace(rates=terms.rates + terms.rows @ (world.v(x_post) - world.v(x)))

    def _lands_alone(self, t: float, x: Array, struck: ContactTerms | None, closing: list[int]) -> bool:
        """Whether one contact closes, by an impact of its own, which struck some."""
        if struck is None or len(closing) != 1:
            return False
        terms, where = struck if closing[0] in struck.where else closed_terms(self._world, t, x, (closing[0],))
        return bool(terms.rates[where[closing[0]].start] < -self._world.tolerances.speed)

    def _held_rows(self, mode: SystemMode, impact: Impact | None, where: Mapping[int, slice]) -> set[int]:
        """Rows whose velocity has no variation: the mode before held it, or the impact makes it zero."""
        states = {i: mode.contacts[i].mode for i in where}
        if impact is not None:  # which leaves contacts of other bodies as they are
            last = impact.solution.stages[-1]
            resting = [mode if last.ends_at_rest(k) else Mode.OPEN for k, mode in enumerate(last.solution.modes)]
            states |= dict(zip(impact.contacts, resting, strict=True))
        rows: set[int] = set()
        for i, part in where.items():
            if states[i] is not Mode.OPEN:
                rows |= set(
                    range(part.start, part.stop if states[i] is Mode.STICK else part.start + self._world.heads[i])
                )
        return rows

    def by_impact(self, t: float, x: Array, impact: Impact, variables: tuple[Variable, ...] = ()) -> Array:
        """D v_post (nv, 2 nv + k) of the stages of an impact by q, v and variables, with their modes held."""
        return self._by_impact(t, x, impact, closed_terms(self._world, t, x, impact.contacts), variables)

    def _by_impact(
        self, t: float, x: Array, impact: Impact, struck: ContactTerms, variables: tuple[Variable, ...]
    ) -> Array:
        """The same with the terms of the contacts that were struck."""
        world = self._world
        sensitivity = ImpactSensitivity(world, t, world.q(x), impact.contacts, *struck, variables)
        held = sensitivity.derivative(world.v(x), impact.solution)
        if not any(i in world.curves for i in impact.contacts):
            return held
        return held + self._by_friction(t, x, impact, held, variables)

    def _by_friction(self, t: float, x: Array, impact: Impact, held: Array, variables: tuple[Variable, ...]) -> Array:
        """What friction that depends on the slip behind the impact adds to its derivative (nv, 2 nv + k).

        With v(+) = R(x, mu) and mu = m(w_t), w = J v(+): dmu = (1 - m' J R_mu)^-1 m' (J R_x + J_q v(+)) dx.
        """
        world, contacts = self._world, impact.contacts
        terms, where = closed_terms(world, t, x, contacts)
        curved = [k for k, i in enumerate(contacts) if i in world.curves]
        problem, mu = impact.solution.stages[0].solution.problem, impact.solution.stages[0].solution.problem.friction
        law, kept = world.law, world.kept_rows(contacts)
        assert isinstance(law, RigidLaw)
        start = replace(problem, free=terms.rates[kept], given=(), lifted=frozenset(), rebound=())
        guess = replace(start, guess=impact.solution.stages[0].solution.modes)
        restitution = world.restitution[list(world.pressing(contacts))]
        mobility = solve_mass(terms.mass, terms.rows[kept].T)

        def velocity(chosen: Array) -> Array:
            return mobility @ law.impact(with_friction(guess, curved, chosen), restitution).impulses

        by_mu = tangent_derivative(velocity, Euclidean(len(curved)), mu[curved], OF_FRICTION)
        change = mobility @ impact.solution.impulses
        after = closed_terms(world, t, world.moved(x, world.q(x), world.v(x) + change), contacts)[0]
        slopes = np.zeros((len(curved), len(after.rates)))
        for row, k in enumerate(curved):
            part = world.tangents(contacts[k], where[contacts[k]])
            slopes[row, part] = world.friction_slope(contacts[k], after.rates[part])
        moved = after.rows @ held
        v_post = world.v(x) + change
        moved[:, : world.nv] += world.mechanism.rate_derivatives(t, world.q(x), v_post, contacts)
        for column, variable in enumerate(variables, 2 * world.nv):
            moved[:, column] += variable.changes(world.q(x), v_post, contacts).rates
        own = np.eye(len(curved)) - slopes @ after.rows @ by_mu
        return by_mu @ np.linalg.solve(own, slopes @ moved)
