"""Impacts by the law of a world, with friction that depends on the slip speed behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..common.arrays import Array
from ..contact.impact import ImpactSolution
from ..contact.laws import RigidLaw
from ..contact.problem import ContactProblem
from ..errors import NoAdmissibleModeError
from .world import World
from .zero import SAME_FRICTION

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
