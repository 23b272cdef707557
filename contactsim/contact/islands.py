"""Islands of a contact problem: sets of contacts that do not move each other, each a problem of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .problem import ContactProblem, ContactSolution


def components(nodes: Sequence[int], links: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Sets of nodes that links connect, each in the order of the nodes, the one with the first of them first."""
    above = {node: node for node in nodes}

    def top(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for one, other in links:
        above[top(one)] = top(other)
    found: dict[int, list[int]] = {}
    for node in nodes:
        found.setdefault(top(node), []).append(node)
    return list(found.values())


def islands(problem: ContactProblem, among: Iterable[int] | None = None) -> list[list[int]]:
    """Contacts, with their resistances, sorted into sets whose rows of the Delassus matrix do not meet.

    Args:
        problem: the problem.
        among: contacts that are sorted, with the resistances that they press; None: all.
    """
    contacts, entries = list(range(len(problem.dims)) if among is None else among), problem.delassus != 0.0
    if len(contacts) < 2 or entries[0].all():
        return [contacts]
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
    return ContactSolution(replace(problem, lifted=frozenset(lifted)), tuple(modes), forces, tuple(directions), unique)
