"""The B-derivative: what several guards that fall at one instant do to the states around a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from contactsim.derivatives.contract import EventDerivative, Word
from contactsim.derivatives.crossing_orders import LONGEST, EventData, distance
from contactsim.derivatives.event_linearization import Node
from contactsim.errors import NonDifferentiableError

MOST_GROUPS = 7  # guards whose 2^7 = 128 combinations, with impacts a few more, are all worked out
MOST_WORDS = 5040  # 7!, words whose matrices are listed
SHOWN = 2  # words in an error's sentence,
LETTERS = 6  # and contacts in each of them


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
    with the same field. That is looked at for all words where at most 7 guards fall together, through at most 256
    states in at most 5040 orders; beyond that only for those that the given directions take.

    Source:
        Council, Revzen and Burden, Representing and computing the B-derivative, Sec. 2.4, fig. 2 and eq. (57).
    """

    def accepts(self, event: EventData) -> bool:
        """Always: one guard alone is the simplest case."""
        return True

    def apply(self, event: EventData, dx: np.ndarray) -> np.ndarray:
        """B(dx) (m, n_post) for `dx` (m, n_pre): continuous, piecewise linear, positively homogeneous.

        Raises:
            NonDifferentiableError: words end in different states, or without end.
        """
        _demand_one_outcome(event)
        found = _follow(event, dx)
        _demand_outcome_of_run(event, [node for node, _, _ in found])
        after = np.empty((len(dx), found[0][0].dim if found else (event.after or event.root).dim))
        for _, rows, variations in found:
            after[rows] = variations
        return after

    def pieces(self, event: EventData) -> Mapping[Word, np.ndarray]:
        """{word: product of saltation matrices} of all words that some direction takes.

        Raises:
            NonDifferentiableError: words end in different states, or there are more than 5040 of them.
        """
        words = event.ways.words(MOST_WORDS) if len(event.groups) <= MOST_GROUPS else None
        if words is None:
            raise NonDifferentiableError(
                f"{_together(event)} may be met in more than {MOST_WORDS} orders, or in words of more than {LONGEST}"
                " guards; take directions, lin(dx), instead of the pieces"
            )
        _demand_outcome_of_run(event, [path.node for path in words.values()])
        return {word: path.matrix for word, path in words.items()}


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
        f"{_together(event)} are met again and again, more than {LONGEST} times at one instant; the run has no"
        " derivative there: lower the restitution, or take the contacts apart in time"
    )


def _demand_one_outcome(event: EventData) -> None:
    """Raise where words end in different states: the flow jumps between the runs that take them."""
    if event.after is None or len(event.groups) > MOST_GROUPS or (ends := event.ways.ends()) is None:
        return
    if not all(event.is_outcome(end) for end in ends):  # perhaps only those that no direction takes
        words = event.ways.words(MOST_WORDS) or {}
        _demand_outcome_of_run(event, [path.node for path in words.values()])


def _demand_outcome_of_run(event: EventData, ends: Iterable[Node]) -> None:
    """Raise where an end is not that of the run itself, in which all guards were met at once."""
    if event.after is None or all(event.is_outcome(end) for end in ends):
        return
    words = event.ways.words(MOST_WORDS) if len(event.groups) <= MOST_GROUPS else None
    nodes = {w: path.node for w, path in words.items()} if words else {event.ways.word[end]: end for end in ends}
    outcomes = {event.spelled(word): _outcome(node) for word, node in nodes.items()}
    apart = max(distance(node.x, event.after.x) for node in nodes.values())
    shown = "; ".join(_text(word) for word in list(outcomes)[:SHOWN]) + ("; ..." if len(outcomes) > SHOWN else "")
    raise NonDifferentiableError(
        f"{_together(event)} end in different states or modes, up to {apart:.3g} away from where the run ends that"
        f" meets them at once, depending on the order in which they are met ({shown}); the run has no derivative there:"
        " the exception's problem['words'] and problem['run'] hold the outcomes, or take them apart in time",
        event=event,
        words=outcomes,
        run=_outcome(event.after),
    )


def _outcome(node: Node) -> Outcome:
    return Outcome(node.system.state(node.x), node.system.named_modes(node.mode))


def _text(word: tuple[Any, ...]) -> str:
    return ", ".join(map(str, word[:LETTERS])) + (", ..." if len(word) > LETTERS else "")


def _together(event: EventData) -> str:
    names = ", ".join(map(str, event.spelled(event.groups)))
    return f"the guards that fall together at t = {event.time:.9g} s ({names})"
