"""States to try: finite ladders of values for each number, and the search for the smallest state that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

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
        """The simplest state, then each one in which one number alone differs, then `count` random ones."""
        simplest = {name: ladder[0] for name, ladder in self.ladders.items()}
        yield simplest
        for name, ladder in self.ladders.items():
            yield from ({**simplest, name: value} for value in ladder[1:])
        rng = np.random.default_rng(SEED)
        for _ in range(count):
            yield {name: ladder[int(rng.integers(len(ladder)))] for name, ladder in self.ladders.items()}

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
            of the state that returns it, in which "{where}" becomes the state.
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
                return self._failure(state)
            worst = max(worst, value if value == value else 0.0)
        return Outcome(self.name, True, worst, self.limit, self.unit)

    def _failure(self, state: State) -> Outcome:
        small = self.domain.smallest(state, lambda other: self.measure(other) > self.limit)
        found, where = self.measure(small), self.domain.words(small)
        if isinstance(self.sentence, str):
            message = self.sentence.format(found=found, where=where)
        else:
            message = self.sentence(small).replace("{where}", where)
        return Outcome(self.name, False, found, self.limit, self.unit, message, small)
