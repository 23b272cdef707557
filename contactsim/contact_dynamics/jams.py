"""Impacts without collision: where contacts that slide jam, or no mode is admissible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..common.arrays import Array
from ..contact.jam import Jammed, jammed
from ..contact.problem import ContactProblem
from ..errors import NoAdmissibleModeError
from ..hybrid.system import LIMIT
from .contact_rows import ContactEvent, ContactTerms, contact_problem
from .world import World
from .zero import MORE_FRICTION


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
    applied = world.applied_at(event.t, x)
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
