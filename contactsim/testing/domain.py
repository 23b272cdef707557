"""States to try: finite ladders of values for each number, and the search for the smallest state that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from .report import Outcome, State

SEED = 20_26
ROUNDS = 20  # passes over the numbers of a state while it is made smaller; each pass but the last one succeeds

Measure = Callable[[State], float]


@dataclass(frozen=True)
class Domain:
    """All states that are tried: the product of ladders.

    Attributes:
        ladders: {number: its values, the simplest one first}.
        units: {number: unit}; numbers that are not named have none.
    """

    ladders: Mapping[str, Sequence[float]]
    units: Mapping[str, str]

    def states(self, count: int) -> Iterator[State]:
        """The simplest state, then each one in which one number alone differs, then `count` random ones.

        The random ones come in the order of the first number, so that one with few contacts is found before others.
        """
        simplest = {name: ladder[0] for name, ladder in self.ladders.items()}
        yield simplest
        for name, ladder in self.ladders.items():
            yield from ({**simplest, name: value} for value in ladder[1:])
        rng = np.random.default_rng(SEED)
        drawn = [{name: int(rng.integers(len(ladder))) for name, ladder in self.ladders.items()} for _ in range(count)]
        for places in sorted(drawn, key=lambda places: next(iter(places.values()))):
            yield {name: self.ladders[name][k] for name, k in places.items()}

    def smallest(self, state: State, fails: Callable[[State], bool]) -> State:
        """A failing state from which no single number can be made simpler without its passing."""
        found = dict(state)
        for _ in range(ROUNDS):
            before = dict(found)
            for name, ladder in self.ladders.items():
                simpler = ladder[: list(ladder).index(found[name])]
                found[name] = next((value for value in simpler if fails({**found, name: value})), found[name])
            if found == before:
                break
        return found

    def words(self, state: State) -> str:
        """A state as a user reads it."""
        return ", ".join(f"{name} {value:.6g} {self.units.get(name, '')}".rstrip() for name, value in state.items())


class Asked:
    """Answers at states, each asked for twice in a row, and those of earlier states again later.

    Args:
        answer: (state) -> all numbers of the answer; None where there is none.
    """

    def __init__(self, answer: Callable[[State], Array | None]) -> None:
        self._answer = answer
        self._first: list[tuple[State, Array | None]] = []
        self._rng = np.random.default_rng(SEED)

    def difference(self, state: State) -> float:
        """The largest change of an answer that is asked for again: that of `state`, or of a state that came before."""
        first = self._answer(state)
        worst = _apart(first, self._answer(state))
        if self._first:
            earlier, known = self._first[int(self._rng.integers(len(self._first)))]
            worst = max(worst, _apart(known, self._answer(earlier)))
        self._first.append((state, first))
        return worst


def _apart(first: Array | None, second: Array | None) -> float:
    """Largest difference of two answers; infinity where one of them is missing, or of another size."""
    if first is None or second is None:
        return 0.0 if first is second else inf
    if first.shape != second.shape:
        return inf
    same = np.array_equal(first, second, equal_nan=True)
    return 0.0 if same else float(np.nanmax(np.abs(first - second), initial=0.0)) or inf


@dataclass(frozen=True)
class Property:
    """A property that a number decides: it holds where `measure` is at most `limit` at every state.

    Attributes:
        name: what the property is called.
        domain: the states to try.
        measure: (state) -> violation; NaN where the question does not arise.
        limit: in the unit of the measure.
        unit: that unit.
        sentence: what is wrong at the state {where} with the violation {found}, and what to do about it; or a function
            of the state that returns it, in which "{where}" becomes the state, and "{found}" the violation.
        count: random states that are tried.
    """

    name: str
    domain: Domain
    measure: Measure
    limit: float
    unit: str
    sentence: str | Callable[[State], str]
    count: int = 300

    def outcome(self) -> Outcome:
        """Try the states; the first that fails is made as small as it can be."""
        worst = 0.0
        for state in self.domain.states(self.count):
            value = self.measure(state)
            if value > self.limit:
                return self._failure(state, value)
            worst = max(worst, value if value == value else 0.0)
        return Outcome(self.name, True, worst, self.limit, self.unit)

    def _failure(self, state: State, value: float) -> Outcome:
        small = self.domain.smallest(state, lambda other: self.measure(other) > self.limit)
        again = self.measure(small)
        found = again if again > self.limit else value  # a plugin that counts its calls does not fail again at will
        where = self.domain.words(small)
        if isinstance(self.sentence, str):
            message = self.sentence.format(found=found, where=where)
        else:
            message = self.sentence(small).replace("{where}", where).replace("{found}", f"{found:.3g}")
        return Outcome(self.name, False, found, self.limit, self.unit, message, small)
