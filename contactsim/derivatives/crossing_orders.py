"""Crossing orders of an event: the orders in which neighbouring runs meet the guards that are at zero together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass, lazy, scipy
from ..common.representation import Brief
from .event_linearization import Node, Passage, with_memory
from .zero import APART, FIELDS_APART, IN_STEP, INTERIOR, TIED, TWIN

MOST_NODES = 256  # 2^8, states that the orders of one event may lead through
EPSILON = float(np.finfo(float).eps)
ONE_BY_ONE = "move the start until they change one after the other, which lin.radius measures"  # ends sentences
LONGEST = 24  # guards in a word; impacts between contacts can answer each other without end

Word = tuple[frozenset[Hashable], ...]  # groups of guards in the order in which a run meets them


def together(names: Iterable[Any], t: float) -> str:
    """What changes at one instant, as the begin of a sentence."""
    return f"{', '.join(map(str, names)) or 'several guards'} change together at t = {t:.9g} s"


class Path(NamedTuple):
    """One word of an event.

    Attributes:
        node: where it ends.
        matrix: product (n_post, n_pre) of its saltation matrices.
        cone: rows A (k, n_pre); the directions with A dx <= 0 take it.
    """

    node: Node
    matrix: Array
    cone: Array


class Endless(Exception):
    """There are too many words, states between them, or guards in one of them."""


class Ways:
    """The nodes that neighbouring runs pass at one event and the ways between them, each worked out once.

    Runs that meet guards in different orders often come to the same state and mode: n guards that leave the state
    alone have n! words but 2^n nodes.

    Args:
        root: state and mode before the event.
        groups: the guards that are met there, in the groups that neighbouring runs meet one after the other.
    """

    def __init__(self, root: Node, groups: tuple[frozenset[Hashable], ...]) -> None:
        self.root = root
        self.word: dict[Node, Word] = {root: ()}  # one of the words that lead to a node
        self._ahead = {root: groups}
        self._words: dict[int, dict[Word, Path] | None] = {}
        self._passages: dict[tuple[Node, frozenset[Hashable]], Passage] = {}
        self._alike: dict[Hashable, list[Node]] = defaultdict(list)

    def ahead(self, node: Node) -> tuple[frozenset[Hashable], ...]:
        """Groups of guards that are met next; none where the event ends."""
        if node not in self._ahead:
            self._ahead[node] = node.pending()
        return self._ahead[node]

    def passage(self, node: Node, group: frozenset[Hashable]) -> Passage:
        """The way from a node through one of its groups."""
        if (node, group) not in self._passages:
            found = node.passage(group)
            behind = self._known(found.node)
            self.word.setdefault(behind, (*self.word[node], group))
            if behind is not found.node:
                found = Passage(behind, found.matrix, found.jump, found.gradient)
            self._passages[node, group] = found
        return self._passages[node, group]

    def _known(self, node: Node) -> Node:
        """The node that was found before with this state and mode, or `node` itself."""
        alike = self._alike[node.mode, node.clock]
        if not alike:
            alike.append(node)
            return node
        scale = TWIN * max(1.0, float(np.abs(node.x).max(initial=0.0)))
        for other in alike:
            if len(other.x) == len(node.x) and np.abs(other.x - node.x).max(initial=0.0) <= scale:
                return other
        alike.append(node)
        return node

    def ends(self, most: int = MOST_NODES) -> list[Node] | None:
        """Nodes in which the words end; None where there are more than `most` nodes, or words too long."""
        seen, layer = {self.root}, [self.root]
        ends: list[Node] = []
        for _ in range(LONGEST + 1):
            ends += [node for node in layer if not self.ahead(node)]
            found = [self.passage(node, group).node for node in layer for group in self.ahead(node)]
            layer = [node for node in dict.fromkeys(found) if node not in seen]
            seen.update(layer)
            if not layer:
                return ends
            if len(seen) > most:
                return None
        return None

    def words(self, most: int) -> dict[Word, Path] | None:
        """All words that some direction takes; None where there are more than `most`, or words too long."""
        if most not in self._words:
            try:
                self._words[most] = dict(self.taken(most))
            except Endless:
                self._words[most] = None
        return self._words[most]

    def taken(self, most: int) -> Iterator[tuple[Word, Path]]:
        """Words that some direction takes, worked out one after the other.

        Raises:
            Endless: there are more than `most`, they lead through too many nodes, or one is too long.
        """
        start = Path(self.root, np.eye(self.root.dim), np.empty((0, self.root.dim)))
        for count, (word, path) in enumerate(self._spell((), start)):
            if count >= most:
                raise Endless
            yield word, path

    def _spell(self, word: Word, path: Path) -> Iterator[tuple[Word, Path]]:
        node, matrix, cone = path
        groups = self.ahead(node)
        if not groups:
            yield word, path
            return
        if len(word) >= LONGEST or len(self.word) > MOST_NODES:
            raise Endless
        for group in groups:
            node.demand_crossing(group)
        arrivals = node.arrivals(groups) @ matrix
        for k, group in enumerate(groups):
            size = np.abs(arrivals[k]).max() + np.abs(arrivals).max(axis=1, keepdims=True)
            sooner = np.where(np.abs(arrivals[k] - arrivals) > TIED * size, arrivals[k] - arrivals, 0.0)
            narrower = np.vstack([cone, np.delete(sooner, k, axis=0)])
            if len(groups) > 1 and not _has_interior(narrower):
                continue
            passage = self.passage(node, group)
            yield from self._spell((*word, group), Path(passage.node, passage.matrix @ matrix, narrower))


@dataclass(frozen=True, repr=False)
class EventData(Brief):
    """An event as derivatives need it: where it started, and which groups of guards it may be met by.

    Attributes:
        root: state and mode before the event.
        groups: the guards that the run met, in the groups that neighbouring runs may meet one after the other.
        after: state and mode behind the event in the run itself; None where they are not known.
    """

    root: Node
    groups: tuple[frozenset[Hashable], ...]
    after: Node | None = None

    @property
    def time(self) -> float:
        """Time [s]."""
        return self.root.t

    def with_memory(self) -> EventData:
        """The event for variations of what modes remember, too."""
        return EventData(with_memory(self.root), self.groups, None if self.after is None else with_memory(self.after))

    @lazy
    def ways(self) -> Ways:
        """States that neighbouring runs pass here, and the ways between them."""
        return Ways(self.root, self.groups)

    @lazy
    def _at_once(self) -> Passage | None:
        """The way of runs that meet several groups at one instant, as the run itself does; None where it met others."""
        everything = frozenset[Hashable]().union(*self.groups)
        if len(self.groups) < 2 or self.root.fired != everything:
            return None
        for group in self.groups:
            self.root.demand_crossing(group)
        return self.root.passage(everything)

    def in_step(self, dx: Array) -> Passage | None:
        """The one way of variations (m, n_pre) that all bring several groups to zero at one instant; None of others.

        So a box that falls flat does by its height, and not by its tilt: orders in which neighbours meet its corners
        end apart, but none of those runs takes one.

        Raises:
            TransversalityError: a group is met tangentially.
        """
        if self._at_once is None:
            return None
        arrivals = self.root.arrivals(self.groups)
        size = np.linalg.norm(arrivals, axis=1).max(initial=0.0) * np.linalg.norm(dx, axis=1)
        return self._at_once if np.all(np.ptp(dx @ arrivals.T, axis=1) <= IN_STEP * size) else None

    def is_outcome(self, end: Node) -> bool:
        """True for the node in which the run itself ends: the same state, to go on with the same field."""
        after = self.after
        if after is None or end is after:
            return True
        if end.system is after.system and end.mode == after.mode and np.array_equal(end.x, after.x):
            return True
        if distance(end.x, after.x) > APART * max(1.0, float(np.abs(after.x).max(initial=0.0))):
            return False
        return distance(end.field, after.field) <= FIELDS_APART * max(1.0, float(np.abs(after.field).max(initial=0.0)))

    def spelled(self, word: Word) -> tuple[Any, ...]:
        """A word by the names of its contacts; guards that are met together are a tuple of names."""
        return tuple(self._named(group) for group in word)

    def _named(self, group: frozenset[Hashable]) -> Any:
        named = [self.root.system.guard_label(name) for name in sorted(group, key=str)]
        return named[0] if len(named) == 1 else tuple(named)


def distance(a: Array, b: Array) -> float:
    """Largest difference of two states or fields; infinity where their sizes differ."""
    return float(np.abs(a - b).max(initial=0.0)) if len(a) == len(b) else float("inf")


def _has_interior(cone: Array) -> bool:
    """True where A dx < 0 has a solution, rows of zeros left aside."""
    rows = cone[np.abs(cone).max(axis=1, initial=0.0) > 0.0]
    if not len(rows):
        return True
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    basis = directions[values > values[0] * max(rows.shape) * EPSILON]
    if len(basis) == len(rows):
        return True
    reduced = rows @ basis.T
    told = _told_by_nearest(reduced)
    return _told_by_ball(reduced) if told is None else told


def _told_by_nearest(rows: Array) -> bool | None:
    """True where A y < -INTERIOR has a solution y in the unit cube, by the point y = A^T u of hull(A) nearest to zero.

    Where it is not zero, -y is a solution; where it is, u proves by 0 = u^T A y <= -sum(u) that there is none (Gordan).
    u is that of min |[A; 1^T]^T u - e|, e the last unit vector (Lawson and Hanson, Solving Least Squares Problems,
    1974, ch. 23.4). None: too close to tell.
    """
    last = np.append(np.zeros(rows.shape[1]), 1.0)
    u, _ = scipy.optimize.nnls(np.column_stack([rows, np.ones(len(rows))]).T, last)
    y = u @ rows
    if np.abs(y).sum() <= INTERIOR * u.sum():
        return False
    return True if (rows @ y).min() > INTERIOR * np.abs(y).max() else None


def _told_by_ball(rows: Array) -> bool:
    """The same by the largest margin, a linear program."""
    k = rows.shape[1]
    found = scipy.optimize.linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.column_stack([rows, np.ones(len(rows))]),
        b_ub=np.zeros(len(rows)),
        bounds=[(-1.0, 1.0)] * k + [(0.0, 1.0)],
    )
    return bool(found.success and -found.fun > INTERIOR)
