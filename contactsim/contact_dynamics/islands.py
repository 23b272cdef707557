"""Islands: closed contacts that move each other, through the bodies that they touch, and these bodies.

The mass matrix has a block for each tree of joints, and the rows of a contact reach the trees of its bodies alone. So
the equations of a mode fall into parts that have nothing to do with each other; what solves them costs as much as the
parts do, and not the square or the cube of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..contact.linear_algebra import components
from ..multibody.mechanism import Terms, Trees
from .world import World

FEW = 48  # velocities of bodies that are looked at together, whether they move each other or not: fewer calls


class Island(NamedTuple):
    """Contacts that no other ones push, or several such sets of few velocities.

    Attributes:
        contacts: in rising order.
        rows: theirs (m,), among those of all closed contacts.
        velocities: of the trees that they move, and perhaps of others (n,).
    """

    contacts: tuple[int, ...]
    rows: Array
    velocities: Array

    def of(self, terms: Terms, force: Array) -> Terms:
        """Its equations of motion, from those of all closed contacts, under generalised forces (nv,)."""
        own, rows = self.velocities, self.rows
        return Terms(
            terms.mass[own[:, None], own],
            force[own],
            terms.rows[rows[:, None], own],
            terms.rates[rows],
            terms.bias[rows],
        )


def islands_of(world: World, trees: Trees, closed: Sequence[int]) -> tuple[Island, ...]:
    """The islands of the closed contacts, which share all velocities among them; none where all is one."""
    roots, owners = trees
    reached = {i: [tree for tree in owners[world.host(i)].tolist() if tree] for i in closed}
    links = [(group[0], group[-1]) for group in reached.values() if group]
    sets = _joined(components(list(dict.fromkeys(roots.tolist())), links), roots)
    if len(sets) < 2:
        return ()
    owner = {root: number for number, group in enumerate(sets) for root in group}
    members: list[list[int]] = [[] for _ in sets]
    for i in closed:
        members[owner[reached[i][0]] if reached[i] else 0].append(i)
    where, start = {}, 0
    for i in closed:
        where[i], start = range(start, start + world.mechanism.dims[i]), start + world.mechanism.dims[i]
    return tuple(
        Island(
            tuple(own),
            np.array([row for i in own for row in where[i]], dtype=int),
            np.flatnonzero(np.isin(roots, group)),
        )
        for own, group in zip(members, sets, strict=True)
    )


def together(world: World, contacts: tuple[int, ...], begun: Iterable[int]) -> tuple[tuple[int, ...], Array]:
    """Those of the contacts that move the bodies of some of them, `begun`, through others; velocities of these bodies.

    Of a world of several trees of joints.
    """
    trees = world.mechanism.trees
    assert trees is not None
    reached = {i: [tree for tree in trees.contacts[world.host(i)].tolist() if tree] for i in contacts}
    links = [(own[0], own[-1]) for own in reached.values() if own]
    first = {tree for i in begun for tree in reached[i]}
    sets = components(list(dict.fromkeys(tree for own in reached.values() for tree in own)), links)
    moved = {tree for group in sets if not first.isdisjoint(group) for tree in group}
    return (
        tuple([i for i in contacts if not moved.isdisjoint(reached[i])]),
        np.flatnonzero(np.isin(trees.velocities, list(moved))),
    )


def _joined(sets: Iterable[list[int]], roots: Array) -> list[list[int]]:
    """Sets of trees, small ones joined."""
    found: list[list[int]] = []
    count = 0
    for group in sets:
        size = int(np.isin(roots, group).sum())
        if found and count + size <= FEW:
            found[-1] = found[-1] + group
            count += size
        else:
            found.append(group)
            count = size
    return found
