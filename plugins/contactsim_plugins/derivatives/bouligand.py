"""The B-derivative: what several guards that fall at one instant do to the states around a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from contactsim.common.lazy import NamedTuple
from contactsim.derivatives.contract import EventDerivative, Word
from contactsim.derivatives.crossing_orders import LONGEST, ONE_BY_ONE, Endless, EventData, distance, together
from contactsim.derivatives.event_linearization import Node
from contactsim.errors import NonDifferentiableError

MOST_GROUPS = 7  # guards whose 2^7 = 128 combinations, with impacts a few more, are all worked out
MOST_WORDS = 5040  # 7!, words whose matrices are listed


class Outcome(NamedTuple):
    """End of a word of events: the state, as its user sees it, and the mode."""

    state: Any
    mode: Any


class Bouligand(EventDerivative):
    """A piecewise-linear map: the guards are met in the order in which a variation reaches them.

    At each node the guards at zero that still fall are reached after tau = -D_x g dx / (D_t g + D_x g F); the first
    of them is crossed with its saltation matrix, which may put others to rest, or make one fall again that was passed:
    with impacts a contact may occur in a word again and again. Ways that lead to one state and mode are one way, so
    that n guards of a field without resets need 2^n nodes, and a direction takes O(n^2 d) from guard to guard.

    The map exists only where every word that some direction takes ends in the state of the run itself, and goes on
    with the same field. That is looked at until one is found that does not, for all words where at most 7 guards fall
    together, through at most 256 states in at most 5040 orders; beyond that for those that the given directions take.

    Source:
        Council, Revzen and Burden, Representing and computing the B-derivative, Sec. 2.4, fig. 2 and eq. (57).
    """

    def accepts(self, event: EventData) -> bool:
        """Always: one guard alone is the simplest case."""
        return True

    def apply(self, event: EventData, dx: np.ndarray) -> np.ndarray:
        """B(dx) (m, n_post) for `dx` (m, n_pre): continuous, piecewise linear, positively homogeneous.

        Where words end in different states, it is still known of variations that take none of them, since they bring
        all guards to zero at one instant.

        Raises:
            NonDifferentiableError: words end in different states, or without end.
        """
        try:
            return self._by_words(event, dx)
        except NonDifferentiableError:
            if (passage := event.in_step(dx)) is None:
                raise
            return passage.apply(dx)

    def _by_words(self, event: EventData, dx: np.ndarray) -> np.ndarray:
        found = _follow(event, dx)
        if not all(event.is_outcome(node) for node, _, _ in found):
            raise _apart(event, [node for node, _, _ in found])
        _demand_one_outcome(event)
        after = np.empty((len(dx), found[0][0].dim if found else (event.after or event.root).dim))
        for _, rows, variations in found:
            after[rows] = variations
        return after

    def pieces(self, event: EventData) -> Mapping[Word, np.ndarray]:
        """{word: product of saltation matrices} of all words that some direction takes.

        Raises:
            NonDifferentiableError: words end in different states, or there are more than 5040 of them.
        """
        try:
            return _matrices(event)
        except Endless:
            raise NonDifferentiableError(
                f"{_together(event)}, in more than {MOST_WORDS} orders, or in words of more than {LONGEST} guards; take"
                f" directions, lin(dx), in place of a matrix, or {ONE_BY_ONE}"
            ) from None


def _matrices(event: EventData) -> dict[Word, np.ndarray]:
    """The matrices of all words; the first one that ends apart ends the search."""
    if len(event.groups) > MOST_GROUPS:
        raise Endless
    found = {}
    for word, path in event.ways.taken(MOST_WORDS):
        if not event.is_outcome(path.node):
            raise _apart(event, [path.node])
        found[word] = path.matrix
    return found


def _follow(event: EventData, dx: np.ndarray) -> list[tuple[Node, np.ndarray, np.ndarray]]:
    """Take each direction (m, dim) through the guards it reaches: the ends, the rows that came there, what they are."""
    ways, ended = event.ways, []
    layer = {event.root: [(np.arange(len(dx)), dx)]} if len(dx) else {}
    for _ in range(LONGEST + 1):
        behind: dict[Node, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
        for node, parts in layer.items():
            rows, variations = (np.concatenate(part) for part in zip(*parts, strict=True))
            groups = ways.ahead(node)
            if not groups:
                ended.append((node, rows, variations))
                continue
            first = (variations @ node.arrivals(groups).T).argmin(axis=1)
            for k in np.unique(first):
                passage = ways.passage(node, groups[k])
                behind[passage.node].append((rows[first == k], passage.apply(variations[first == k])))
        layer = behind
        if not layer:
            return ended
    raise NonDifferentiableError(
        f"{_together(event)}, and again and again, more than {LONGEST} times, so that there is no derivative; lower the"
        f" restitution, or {ONE_BY_ONE}"
    )


def _demand_one_outcome(event: EventData) -> None:
    """Raise where words end in different states: the flow jumps between the runs that take them."""
    if event.after is None or len(event.groups) > MOST_GROUPS or (ends := event.ways.ends()) is None:
        return
    if not all(event.is_outcome(end) for end in ends):  # perhaps only those that no direction takes
        with suppress(Endless):
            _matrices(event)


class Outcomes(Mapping[Word, Outcome]):
    """{word: outcome} of all words that some direction takes, worked out when they are asked for.

    Args:
        event: whose guards fall together.
        ends: nodes that were reached, which are told where the words are too many.
    """

    def __init__(self, event: EventData, ends: list[Node]) -> None:
        self._event, self._ends = event, ends

    @cached_property
    def _found(self) -> dict[Word, Outcome]:
        event = self._event
        words = event.ways.words(MOST_WORDS) if len(event.groups) <= MOST_GROUPS else None
        nodes = {word: path.node for word, path in words.items()} if words else {}
        nodes = nodes or {event.ways.word[end]: end for end in self._ends}
        return {event.spelled(word): _outcome(node) for word, node in nodes.items()}

    def __getitem__(self, word: Word) -> Outcome:
        return self._found[word]

    def __iter__(self) -> Iterator[Word]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _apart(event: EventData, ends: list[Node]) -> NonDifferentiableError:
    """That runs beside this one end elsewhere: in some of `ends`, which were reached."""
    assert event.after is not None
    away = max(distance(end.x, event.after.x) for end in ends)
    return NonDifferentiableError(
        f"{_together(event)}, and runs close by end in different states or modes, {away:.3g} away from this one,"
        f" depending on which changes first, so that there is no derivative; {ONE_BY_ONE}, or compare the outcomes in"
        " the exception's problem['words'] and problem['run']",
        event=event,
        words=Outcomes(event, ends),
        run=_outcome(event.after),
    )


def _outcome(node: Node) -> Outcome:
    return Outcome(node.system.state(node.x), node.system.named_modes(node.mode))


def _together(event: EventData) -> str:
    return together(event.spelled(event.groups), event.time)
