"""Impacts beyond one question to the law: friction that depends on the slip speed behind them, and jams.

Where contacts that slide jam, or no mode is admissible, an impact happens without a collision.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..common.arrays import Array
from ..contact.impact import ImpactSolution
from ..contact.jam import Jammed, jammed
from ..contact.laws import RigidLaw
from ..contact.problem import ContactProblem
from ..errors import NoAdmissibleModeError
from ..hybrid.system import LIMIT
from .contact_rows import ContactEvent, ContactTerms, contact_problem
from .world import World
from .zero import MORE_FRICTION, SAME_FRICTION

REPEATED = 30  # impacts with the friction of the slip behind the one before, until Newton's method takes over


def impact_by(world: World, touching: tuple[int, ...], problem: ContactProblem) -> ImpactSolution:
    """The impact of touching contacts; friction that depends on the slip speed is that of the speed behind it.

    The coefficients mu solve mu_i = mu_i(|w_t,i(mu)|), with the impact w(mu) of the law; there always is a solution,
    since the impact depends on them continuously.

    Raises:
        NoAdmissibleModeError: the coefficients do not settle.
    """
    law, restitution = world.law, world.restitution[list(world.pressing(touching))]
    assert isinstance(law, RigidLaw)
    curved = [k for k, i in enumerate(touching) if i in world.curves]
    if not curved:
        return law.impact(problem, restitution)

    def struck(chosen: Array) -> ImpactSolution:
        return law.impact(with_friction(problem, curved, chosen), restitution)

    def found(chosen: Array) -> Array:
        motion = struck(chosen).motion
        return np.array([world.friction_at(touching[k], motion[problem.tangent(k)]) for k in curved])

    mu = np.array([world.friction_at(touching[k], problem.free[problem.tangent(k)]) for k in curved])
    for _ in range(REPEATED):
        before, mu = mu, found(mu)
        if np.abs(mu - before).max() <= SAME_FRICTION:
            return struck(mu)
    from scipy.optimize import root  # which takes long to import

    for start in (mu, before, 0.5 * (mu + before)):
        mu = root(lambda chosen: found(chosen) - chosen, start, tol=SAME_FRICTION).x
        if np.abs(found(mu) - mu).max() <= 10.0 * SAME_FRICTION:
            return struck(mu)
    names = ", ".join(world.mechanism.all_names[touching[k]] for k in curved)
    raise NoAdmissibleModeError(
        f"no friction of {names} agrees with the slip speed behind the impact that it causes; raise the Stribeck speed"
    )


def with_friction(problem: ContactProblem, chosen: list[int], friction: Array) -> ContactProblem:
    """The problem with other coefficients of the contacts `chosen`."""
    own = problem.friction.copy()
    own[chosen] = friction
    return replace(problem, friction=own, static_friction=own)


def impact_without_collision(
    world: World, x: Array, event: ContactEvent, touch: ContactTerms
) -> tuple[Jammed, ContactProblem]:
    """The impact without collision of the touching contacts, and its problem.

    At the guard of a jam the matrix of the sliding contacts is just about to lose its regularity; with a little
    more friction it has lost it.

    Args:
        world: what moves.
        x: state in which they jam.
        event: what happens.
        touch: equations of motion there, with the rows of all touching contacts.

    Raises:
        NoAdmissibleModeError: no compression grows to one.
    """
    terms, touching, tolerances = touch.terms, event.touching, world.tolerances
    if beyond := [world.mechanism.all_names[i] for i in touching if i >= world.count or i in world.curves]:
        raise NoAdmissibleModeError(
            f"no mode is admissible for what slides at t = {event.t:.12g} s (Painleve), and an impact without collision"
            f" does not take in the rolling, torsion or Stribeck speed of {', '.join(beyond)}; lower the friction, or"
            " leave these out"
        )
    applied = world.driving.applied_at(event.t, x)
    force = terms.force if applied is None else terms.force + applied
    problem = contact_problem(world, terms, force, touching, (None,) * len(touching))
    rates = terms.rates[world.kept_rows(touching)]
    moving = replace(problem, free=rates, static_friction=problem.friction)
    stiffness = _stiffness(problem)
    for more in (0.0, *MORE_FRICTION) if "jam" in event.kinds.values() else (0.0,):
        mu = (1.0 + more) * problem.friction
        asked = replace(moving, friction=mu, static_friction=mu)
        found = jammed(asked, problem.free, stiffness, tolerances.speed)
        if found is not None:
            return found, problem
    raise NoAdmissibleModeError(
        f"no mode of {', '.join(problem.names)} is admissible at t = {event.t:.12g} s, and no compression of"
        " them grows steadily to an impact without collision; lower the friction or give the contact compliance",
        contact_problem=problem,
    )


def _stiffness(problem: ContactProblem) -> Array:
    """Relative stiffness (n,) of touching contacts: the same for all; that of a joint's limit swings as fast."""
    mobility = np.diag(problem.delassus)[list(problem.starts)]
    limits = np.array([name.startswith(LIMIT) for name in problem.names], dtype=bool)
    usual = float(np.mean(mobility[~limits])) if not limits.all() else 1.0
    return np.where(limits, usual / mobility, 1.0)
