"""The B-derivative: what several guards that fall at one instant do to the states around a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from contactsim.contracts import EventDerivative, Word
from contactsim.crossings import EventData, Node
from contactsim.errors import NonDifferentiableError

LONGEST = 24  # guards in a word; impacts between contacts can answer each other without end
MOST = 50_000  # words
APART = 1e-7  # outcomes further apart than this, relative to the state, are different ones


class Bouligand(EventDerivative):
    """A piecewise-linear map: the guards are met in the order in which a variation reaches them.

    At each node the guards at zero that still fall are reached after tau = -D_x g dx / (D_t g + D_x g F); the first
    of them is crossed with its saltation matrix, which may put others to rest, or make one fall again that was passed.
    Smooth fields need no more than the order (Council, Revzen and Burden, Fig. 2); with impacts the words may be longer
    than the number of guards, and the map exists only where all words end in one state.
    """

    def accepts(self, event: EventData) -> bool:
        """Always: one guard alone is the simplest case."""
        return True

    def apply(self, event: EventData, dx: np.ndarray) -> np.ndarray:
        """B(dx), direction by direction."""
        self._demand_one_outcome(event)
        return _follow(event.root, event.groups, dx, 0)

    def pieces(self, event: EventData) -> Mapping[Word, np.ndarray]:
        """{word: product of saltation matrices}, also of words that no direction takes."""
        words = self._words(event)
        self._demand_one_outcome(event)
        return {word: matrix for word, (_, matrix) in words.items()}

    def _words(self, event: EventData) -> dict[Word, tuple[Node, np.ndarray]]:
        if event not in self._known:
            found: dict[Word, tuple[Node, np.ndarray]] = {}
            _spell(event.root, event.groups, (), np.eye(event.root.dim), found)
            self._known = {event: found}
        return self._known[event]

    _known: dict[EventData, dict[Word, tuple[Node, np.ndarray]]] = {}  # noqa: RUF012 - replaced, never changed

    def _demand_one_outcome(self, event: EventData) -> None:
        """Raise where two words end in different states: the flow jumps between the runs that take them."""
        ends = {word: node for word, (node, _) in self._words(event).items()}
        first = next(iter(ends.values()))
        scale = max(1.0, float(np.abs(first.x).max(initial=0.0)))
        apart = max(
            (np.inf if len(end.x) != len(first.x) else float(np.abs(end.x - first.x).max())) for end in ends.values()
        )
        if apart > APART * scale:
            raise NonDifferentiableError(
                f"the {len(event.groups)} guards that fall together at t = {event.time:.9g} s end in different states"
                f" (up to {apart:.3g} apart), depending on which is met first; the run has no derivative there: look at"
                " the outcomes in this exception's problem['words'], or take them apart in time",
                words={word: (end.x, end.mode) for word, end in ends.items()},
            )


def _spell(
    node: Node,
    groups: tuple[frozenset, ...],
    word: Word,
    matrix: np.ndarray,
    found: dict[Word, tuple[Node, np.ndarray]],
) -> None:
    """Follow every order in which the guards may be met."""
    if not groups:
        found[word] = (node, matrix)
        return
    if len(word) >= LONGEST or len(found) >= MOST:
        raise NonDifferentiableError(
            f"the guards that fall together at t = {node.t:.9g} s may be met in more than {MOST} orders, or in more"
            f" than {LONGEST} steps; ask for a direction, lin(dx), instead of the pieces",
        )
    for group in groups:
        behind, saltation = node.cross(group)
        _spell(behind, behind.pending(), (*word, group), saltation @ matrix, found)


def _follow(node: Node, groups: tuple[frozenset, ...], dx: np.ndarray, depth: int) -> np.ndarray:
    """Take each direction (m, dim) through the guard that it reaches first, and on from there."""
    if not groups or not len(dx):
        return dx
    if depth >= LONGEST:
        raise NonDifferentiableError(f"more than {LONGEST} impacts answer each other at t = {node.t:.9g} s")
    names = [min(group, key=str) for group in groups]
    arrival = np.array([-(dx @ node.gradient(name)) / node.rate(name) for name in names])
    first = arrival.argmin(axis=0)
    result: np.ndarray | None = None
    for k, group in enumerate(groups):
        chosen = first == k
        if not chosen.any():
            continue
        behind, saltation = node.cross(group)
        after = _follow(behind, behind.pending(), dx[chosen] @ saltation.T, depth + 1)
        if result is None:
            result = np.empty((len(dx), after.shape[1]))
        result[chosen] = after
    assert result is not None
    return result
