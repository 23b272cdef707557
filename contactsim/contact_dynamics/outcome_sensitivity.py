"""Derivative of an event of a rigid law by the state before it and by time: of its impact, and of what then rests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..common.arrays import Array
from ..contact.laws import RigidLaw
from ..contact.linear_algebra import projector, pseudo_inverse, solve_mass
from ..contact.modes import Mode, Phase, SystemMode, unit
from ..hybrid.differences import tangent_derivative
from ..hybrid.manifold import Euclidean
from ..multibody.mechanism import Terms
from .contact_rows import Impact, by_time, closed_terms, laid_out, resting_rows
from .impact_sensitivity import ImpactSensitivity
from .impacts import with_friction
from .world import World
from .zero import OF_FRICTION


@dataclass(frozen=True)
class OutcomeSensitivity:
    """The derivatives of the events of one world."""

    _world: World

    def by_state(
        self, t: float, x: Array, impact: Impact | None, x_post: Array, mode: SystemMode, after: SystemMode
    ) -> Array:
        """D_x R (dim, dim) of `by_state_and_time`."""
        return self.by_state_and_time(t, x, impact, x_post, mode, after)[:, :-1]

    def by_time(
        self, t: float, x: Array, impact: Impact | None, x_post: Array, mode: SystemMode, after: SystemMode
    ) -> Array:
        """D_t R (dim,) of `by_state_and_time`."""
        return self.by_state_and_time(t, x, impact, x_post, mode, after)[:, -1]

    def by_state_and_time(
        self, t: float, x: Array, impact: Impact | None, x_post: Array, mode: SystemMode, after: SystemMode
    ) -> Array:
        """D R (dim, dim + 1) of an impact with its outcome held, and of the projection that settles what comes to rest.

        Gaps that close with others, without an impact of their own, end with no variation; the gap of one contact that
        lands alone has none behind the saltation matrix, also on moving ground. A capture in space ends with
        both tangential variations zero: what is left of the one across the slip when the held direction takes over is
        removed by the impulse of friction that would have removed it. What was held before is left as it is: where
        nothing comes to rest, the derivative is the identity.
        """
        world, nv = self._world, self._world.nv
        jacobian = np.eye(world.tangent_size, world.tangent_size + 1)
        if impact is not None:
            by_impact = self.by_impact(t, x, impact)
            jacobian[nv : 2 * nv, : 2 * nv], jacobian[nv : 2 * nv, -1] = by_impact[:, :-1], by_impact[:, -1]
        where = laid_out([(i, world.mechanism.dims[i]) for i in after.closed])
        rows, held = resting_rows(world, after, where), self._held_rows(mode, impact, where)
        stopping = np.array([row not in held for row in rows], dtype=bool)
        pressing = world.pressing(after.closed)
        closing = np.array([not mode.contacts[i].closed for i in pressing], dtype=bool)
        if not closing.any() and not stopping.any():
            return jacobian
        terms = closed_terms(world, t, x_post, after.closed).terms
        if closing.any() and not self._lands_alone(t, x, impact, [i for i in pressing if not mode.contacts[i].closed]):
            heads = [where[i].start for i in pressing]
            normals = terms.rows[heads]
            gaps_x = normals @ jacobian[:nv]
            gaps_x[:, -1] += by_time(world, t, world.q(x_post), world.v(x_post), after.closed).gaps[heads]
            jacobian[:nv] -= projector(terms.mass, normals)[:, closing] @ gaps_x[closing]
        if stopping.any():
            v_post = world.v(x_post)
            constraint = np.zeros((len(rows), world.tangent_size))
            constraint[:, :nv] = world.mechanism.rate_derivatives(t, world.q(x_post), v_post, after.closed)[rows]
            constraint[:, nv : 2 * nv] = terms.rows[rows]
            forces = terms.rows[rows] if impact is not None else self._friction_directions(terms, where, after, rows)
            solved = solve_mass(terms.mass, forces.T)
            settle = (solved @ pseudo_inverse(terms.rows[rows] @ solved))[:, stopping]
            rates_x = constraint @ jacobian
            rates_x[:, -1] += by_time(world, t, world.q(x_post), v_post, after.closed).rates[rows]
            jacobian[nv : 2 * nv] -= settle @ rates_x[stopping]
        return jacobian

    def _lands_alone(self, t: float, x: Array, impact: Impact | None, closing: list[int]) -> bool:
        """Whether one contact closes, by an impact of its own."""
        if impact is None or len(closing) != 1:
            return False
        terms, _ = closed_terms(self._world, t, x, (closing[0],))
        return bool(terms.rates[0] < -self._world.tolerances.speed)

    def _friction_directions(
        self, terms: Terms, where: Mapping[int, slice], mode: SystemMode, rows: list[int]
    ) -> Array:
        """Directions (k, nv) of the forces that hold `rows`; of a contact that slips, with its friction."""
        directions = terms.rows[rows].copy()
        if mode.redundant:
            return directions
        world, places = self._world, {row: k for k, row in enumerate(rows)}
        for i in mode.closed:
            state, part = mode.contacts[i], world.tangents(i, where[i])
            if state.phase in (Phase.FREE, Phase.DIRECTED):
                slip = np.array(state.direction or unit(terms.rates[part]))
                mu = world.friction_at(i, terms.rates[part])
                directions[places[where[world.host(i)].start]] -= mu * slip @ terms.rows[part]
        return directions

    def _held_rows(self, mode: SystemMode, impact: Impact | None, where: Mapping[int, slice]) -> set[int]:
        """Rows whose velocity has no variation: the mode before held it, or the impact makes it zero."""
        if impact is None:
            states = {i: mode.contacts[i].mode for i in where}
        else:
            last = impact.solution.stages[-1]
            resting = [mode if last.ends_at_rest(k) else Mode.OPEN for k, mode in enumerate(last.solution.modes)]
            states = dict(zip(impact.contacts, resting, strict=True))
        rows: set[int] = set()
        for i, part in where.items():
            if states[i] is not Mode.OPEN:
                rows |= set(
                    range(part.start, part.stop if states[i] is Mode.STICK else part.start + self._world.heads[i])
                )
        return rows

    def by_impact(self, t: float, x: Array, impact: Impact) -> Array:
        """D v_post (nv, 2 nv + 1) of the stages of an impact by q, v and t, with their modes held."""
        terms, where = closed_terms(self._world, t, x, impact.contacts)
        world = self._world
        sensitivity = ImpactSensitivity(world, t, world.q(x), impact.contacts, terms, where)
        held = sensitivity.by_state_and_time(world.v(x), impact.solution)
        if not any(i in world.curves for i in impact.contacts):
            return held
        return held + self._by_friction(t, x, impact, held)

    def _by_friction(self, t: float, x: Array, impact: Impact, held: Array) -> Array:
        """What friction that depends on the slip behind the impact adds to its derivative (nv, 2 nv + 1).

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
        moved[:, -1] += by_time(world, t, world.q(x), v_post, contacts).rates
        own = np.eye(len(curved)) - slopes @ after.rows @ by_mu
        return by_mu @ np.linalg.solve(own, slopes @ moved)
