"""Impacts one after the other: the contacts of an impact collide in sequence, not all at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydantic import Field

from contactsim.contact.impact import ImpactSolution, ImpactStage, compression
from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem
from contactsim_plugins.laws.coulomb_parameters import CoulombParameters
from contactsim_plugins.laws.poisson import Energetic

TIED = 1e-9  # approach speeds that differ by less than this, relative to the fastest, are one
LEFT = 1e-13  # what approaches slower, relative to the fastest row before the impact, does not collide


class SequentialParameters(CoulombParameters):
    """Parameters of `Sequential`."""

    collisions: int = Field(
        1000, ge=1, description="collisions of one impact, after which what still approaches stops without rebound"
    )


class Sequential(Energetic):
    """Binary collisions in sequence: the contact that approaches fastest collides, until none approaches any more.

    Every collision is one of `Energetic`, so of Poisson's hypothesis, while the other contacts carry no impulse: the
    impact never gains energy, and without friction each rebounds with its own e. Three equal balls in a row, the first
    moving with 1, leave with (0, 0, 1) for e = 1 and (0.203125, 0.234375, 0.5625) for e = 0.5.

    Contacts that approach equally fast collide together, and the impact has no derivative, since neighbouring states
    take them in this or that order. Without restitution collisions go on without end; what approaches with less than
    1e-13 of the fastest speed before the impact is left, and after `collisions` the rest stops together.

    Source: Ivanov, On multiple impact, J. Appl. Math. Mech. 59, 1995; Glocker, Set-Valued Force Laws, 2001, Sec. 12.
    """

    Parameters = SequentialParameters

    def impact(self, problem: ContactProblem, restitution: np.ndarray) -> ImpactSolution:
        """Collision after collision."""
        normals = list(problem.starts)
        slowest = LEFT * float(np.abs(problem.free).max())
        stages: list[ImpactStage] = []
        kink = ""
        for _ in range(self.parameters.collisions):
            speeds = -problem.free[normals]
            fastest = float(speeds.max())
            if fastest <= slowest:
                break
            chosen = np.flatnonzero(speeds >= (1.0 - TIED) * fastest).tolist()
            if len(chosen) > 1 and not kink:
                names = " and ".join(problem.names[i] if problem.names else str(i) for i in chosen)
                kink = f"{names} approach equally fast, and neighbouring states take them one after the other"
            members = chosen + [i for i in range(problem.count, len(problem.dims)) if problem.host(i) in chosen]
            collision = super().impact(_part(problem, members), restitution[chosen])
            stages += [_whole(problem, stage, members) for stage in collision.stages]
            stages = _joined(problem, stages, len(collision.stages))
            problem = replace(problem, free=stages[-1].after)
        else:
            stages.append(compression(problem))
        return ImpactSolution(tuple(stages) or (compression(problem),), kink)


def _rows(problem: ContactProblem, chosen: list[int]) -> list[int]:
    return [row for i in chosen for row in range(problem.part(i).start, problem.part(i).stop)]


def _part(problem: ContactProblem, chosen: list[int]) -> ContactProblem:
    """The problem of some of the contacts, as if the others were not there."""
    rows = _rows(problem, chosen)
    return replace(
        problem,
        delassus=problem.delassus[np.ix_(rows, rows)],
        free=problem.free[rows],
        dims=tuple(problem.dims[i] for i in chosen),
        friction=problem.friction[chosen],
        static_friction=problem.static_friction[chosen],
        sliding=tuple(problem.sliding[i] for i in chosen),
        names=tuple(problem.names[i] for i in chosen) if problem.names else (),
        hosts=tuple(chosen.index(problem.host(i)) for i in chosen if i >= problem.count),
    )


def _whole(problem: ContactProblem, stage: ImpactStage, chosen: list[int]) -> ImpactStage:
    """A stage of some contacts as one of all, in which the others are open."""
    rows, own, count = _rows(problem, chosen), stage.solution, problem.count
    impulses, (rebound, share, given), slack = np.zeros(len(problem.free)), np.zeros((3, count)), np.full(count, np.inf)
    contacts = [i for i in chosen if i < count]
    impulses[rows], slack[contacts] = own.forces, 0.0
    rebound[contacts], share[contacts], given[contacts] = stage.rebound, stage.share, own.problem.given or 0.0
    place = dict(zip(chosen, range(len(chosen)), strict=True))
    solution = replace(
        own,
        problem=replace(
            problem,
            static_friction=problem.friction,
            slack=tuple(slack.tolist()),
            given=tuple(given.tolist()),
            lifted=frozenset(chosen[k] for k in own.lifted),
        ),
        modes=tuple(own.modes[place[i]] if i in place else Mode.OPEN for i in range(len(problem.dims))),
        forces=impulses,
        directions=tuple(own.directions[place[i]] if i in place else None for i in range(len(problem.dims))),
    )
    return replace(stage, solution=solution, rebound=rebound, share=share)


def _joined(problem: ContactProblem, stages: list[ImpactStage], last: int) -> list[ImpactStage]:
    """The stages with the velocities of all contacts before and after the last ones."""
    motion = problem.free
    for k in range(len(stages) - last, len(stages)):
        own = stages[k].solution
        solution = replace(own, problem=replace(own.problem, free=motion))
        stages[k] = replace(stages[k], solution=solution, before=motion, after=solution.motion)
        motion = solution.motion
    return stages
