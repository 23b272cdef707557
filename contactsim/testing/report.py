"""Reports of the kit: one outcome for each property of a plugin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from ..common.lazy import dataclass
from ..errors import CheckError

State = Mapping[str, float]
MARKS = {True: "holds", False: "VIOLATED", None: "not asked"}


@dataclass(frozen=True)
class Outcome:
    """One property of a plugin.

    Attributes:
        name: the property.
        holds: whether it holds; None: it was not asked, and `message` says why.
        figure: largest violation that was found, in `unit`.
        limit: violation up to which the property holds.
        unit: unit of figure and limit; empty: dimensionless.
        message: one sentence: what is wrong, at which smallest state, with its number, and what to do about it.
        state: the smallest failing state, by name; empty where the property holds.
        problem: data for inspection, such as a trajectory.
    """

    name: str
    holds: bool | None
    figure: float | None = None
    limit: float | None = None
    unit: str = ""
    message: str = ""
    state: State = field(default_factory=dict)
    problem: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        numbers = "" if self.figure is None else f" {self.figure:.2g} (limit {self.limit:.2g}) {self.unit}".rstrip()
        return f"{MARKS[self.holds]:<9} {self.name}:{numbers}{' ' + self.message if self.message else ''}"


Finding = tuple[float, str, State]  # a violation, what is wrong, and where


def first_violation(name: str, findings: Iterable[Finding], limit: float) -> Outcome:
    """The outcome of a property whose findings come in the order of time."""
    worst = 0.0
    for value, text, where in findings:
        if not value <= limit:
            return Outcome(name, False, value, limit, "", text, dict(where))
        worst = max(worst, value)
    return Outcome(name, True, worst, limit)


def spelled(values: Any, digits: int = 3) -> str:
    """Numbers as a user reads them."""
    return "[" + ", ".join(f"{float(value):.{digits}g}" for value in np.atleast_1d(values)) + "]"


@dataclass(frozen=True)
class Report:
    """The outcomes of all properties of one plugin."""

    plugin: str
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """True where no property is violated."""
        return not self.violated

    @property
    def violated(self) -> tuple[Outcome, ...]:
        """The outcomes of violated properties."""
        return tuple(outcome for outcome in self.outcomes if outcome.holds is False)

    def __getitem__(self, name: str) -> Outcome:
        return next(outcome for outcome in self.outcomes if outcome.name == name)

    def __str__(self) -> str:
        return "\n".join([self.plugin, *(f"  {outcome}" for outcome in self.outcomes)])

    def demand(self) -> Report:
        """The report itself, where no property is violated.

        Raises:
            CheckError: with the sentence of each violated property.
        """
        if self.passed:
            return self
        sentences = "; ".join(f"{outcome.name}: {outcome.message}" for outcome in self.violated)
        raise CheckError(f"{self.plugin} violates {len(self.violated)} of its properties: {sentences}", report=self)
