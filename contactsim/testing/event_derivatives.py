"""Properties of an event derivative: what it makes of small events, against differences of the flow through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial

import numpy as np

from ..common.arrays import Array
from ..derivatives.contract import EventDerivative
from ..derivatives.linearized_event import EventLinearization
from ..derivatives.run_derivative import RunDerivative
from ..errors import NonDifferentiableError
from ..hybrid.differences import one_sided_derivative
from ..hybrid.simulate import simulate
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Trajectory
from .report import Finding, Outcome, first_violation, spelled
from .small_systems import SYSTEMS, Small

TIGHT = Tolerances(rtol=1e-12, atol=1e-13)
DERIVATIVE = 1e-6  # of the flow through an event, relative to its largest entry
SAME = 1e-12  # between two answers that are to be equal, relative to the largest entry
DIRECTIONS, STEP = 8, 1e-3  # variations of the start that are followed by one-sided differences, and their size
FACTOR = 2.5  # by which a direction is made longer

TABLE = {small.name: small for small in SYSTEMS}


class Passed:
    """The run of a small system through its event, and what a plugin says of it."""

    def __init__(self, plugin: EventDerivative, small: Small) -> None:
        self.plugin, self.small = plugin, small
        self.directions = np.random.default_rng(DIRECTIONS).normal(size=(DIRECTIONS, len(small.begin)))

    def _run(self, start: Array) -> Trajectory:
        return simulate(self.small, start, (0.0, self.small.end), tolerances=TIGHT)

    @cached_property
    def run(self) -> Trajectory:
        """The run itself."""
        return self._run(np.array(self.small.begin))

    @cached_property
    def linearization(self) -> RunDerivative | None:
        """That of the run, with the plugin for its event; None where it does not accept it."""
        found = RunDerivative(self.run, tolerances=TIGHT, plugins=[self.plugin])
        return found if found.all_events else None

    @property
    def accepted(self) -> bool:
        """True where the plugin accepts the event."""
        try:
            return self.linearization is not None
        except NonDifferentiableError:  # no plugin accepts it
            return False

    @property
    def event(self) -> EventLinearization:
        """The event."""
        assert self.linearization is not None
        return self.linearization.all_events[0]

    def difference(self, direction: Array) -> Array:
        """D x(end) of a direction, from one side: the guards are met in one order along it."""
        start = np.array(self.small.begin)
        return np.asarray(one_sided_derivative(lambda h: self._run(start + h * direction).final_x, STEP))


def _derivative(passed: Passed) -> Iterator[Finding]:
    lin = passed.linearization
    assert lin is not None
    expected = np.array([passed.difference(direction) for direction in passed.directions])
    size = max(1.0, float(np.abs(expected).max()))
    found = np.asarray(lin(passed.directions), dtype=float)
    for k, direction in enumerate(passed.directions):
        off = float(np.abs(found[k] - expected[k]).max()) / size
        text = (
            f"behind {passed.small.name} the variation {spelled(direction, 4)} becomes {spelled(found[k], 4)}, and"
            f" {spelled(expected[k], 4)} by differences of the flow{_hint(passed, found)}"
        )
        yield off, text, {"direction": float(k)}


def _hint(passed: Passed, found: Array) -> str:
    """Result of a common mistake."""
    lin, event = passed.linearization, passed.event
    assert lin is not None
    before, behind = lin.matrix(0.0, event.time - TIGHT.event_time), lin.matrix(event.time, passed.small.end)
    reset_alone = passed.directions @ (behind @ event.reset @ before).T
    if np.abs(found - reset_alone).max() <= DERIVATIVE * max(1.0, np.abs(found).max()):
        return (
            ": it is the derivative of the reset alone; neighbouring runs meet the guard earlier or later, which adds"
            " (F+ - D_x R F- - D_t R) D_x g / (D_t g + D_x g F-)"
        )
    if len(event.data.groups) > 1 and np.abs(found + np.asarray(lin(-passed.directions))).max() <= SAME:
        return (
            ": it is one matrix for all directions; the order in which the guards are met depends on the direction, and"
            " each order has a matrix of its own, or let `accepts` leave such an event to others"
        )
    return "; compare it with the saltation matrix, `event.root.cross(group)`"


def _row_by_row(passed: Passed) -> Iterator[Finding]:
    """Variations are independent: one at a time, several, or none."""
    data = passed.event.data
    rows = np.random.default_rng(1).normal(size=(DIRECTIONS, data.root.dim))
    together = np.asarray(passed.plugin.apply(data, rows), dtype=float)
    size, name = max(1.0, float(np.abs(together).max())), passed.small.name
    if together.shape != (len(rows), data.after.dim if data.after else data.root.dim):
        yield np.inf, f"apply returns an array of shape {together.shape} for {len(rows)} variations at {name}", {}
        return
    for k, row in enumerate(rows):
        off = float(np.abs(np.asarray(passed.plugin.apply(data, row[None]))[0] - together[k]).max()) / size
        yield off, f"apply gives something else, by {off:.3g}, for one variation than for several at {name}", {}
    empty = np.asarray(passed.plugin.apply(data, rows[:0])).shape
    text = f"apply returns an array of shape {empty} for no variations at {name}; return (0, n_post)"
    yield 0.0 if empty == (0, together.shape[1]) else np.inf, text, {}


def _homogeneous(passed: Passed) -> Iterator[Finding]:
    data = passed.event.data
    rows = np.random.default_rng(2).normal(size=(DIRECTIONS, data.root.dim))
    once, longer = (np.asarray(passed.plugin.apply(data, f * rows), dtype=float) for f in (1.0, FACTOR))
    off = float(np.abs(longer - FACTOR * once).max()) / max(1.0, float(np.abs(once).max()))
    text = f"B({FACTOR} dx) is not {FACTOR} B(dx) at {passed.small.name}, by {off:.3g}; a derivative grows with dx"
    yield off, text, {}


def _pieces(passed: Passed) -> Iterator[Finding]:
    """The image of a direction is that of one of the matrices, and each is found under groups of the event."""
    data = passed.event.data
    pieces = passed.plugin.pieces(data)
    rows = np.random.default_rng(3).normal(size=(DIRECTIONS, data.root.dim))
    images = np.asarray(passed.plugin.apply(data, rows), dtype=float)
    size = max(1.0, float(np.abs(images).max()))
    for row, image in zip(rows, images, strict=True):
        off = min((float(np.abs(matrix @ row - image).max()) for matrix in pieces.values()), default=np.inf) / size
        text = f"at {passed.small.name} apply agrees with none of the {len(pieces)} matrices of pieces(), by {off:.3g}"
        yield off, f"{text}; let both come from the same matrices", {}
    known = {name for group in data.groups for name in group}
    strange = [word for word in pieces if not {name for group in word for name in group} >= known]
    text = f"at {passed.small.name} the word {strange[:1]} of pieces() does not hold all guards of the event"
    yield np.inf if strange else 0.0, text, {}


def _twice(passed: Passed) -> Iterator[Finding]:
    data = passed.event.data
    rows = np.random.default_rng(4).normal(size=(DIRECTIONS, data.root.dim))
    kept = rows.copy()
    first, second = (np.asarray(passed.plugin.apply(data, rows), dtype=float) for _ in range(2))
    yield 0.0 if np.array_equal(rows, kept) else np.inf, "apply writes into its variations; return new arrays", {}
    text = f"apply answers differently when asked twice at {passed.small.name}; let it depend on nothing but the event"
    yield 0.0 if np.array_equal(first, second) else np.inf, text, {}


Look = Callable[[Passed], Iterator[Finding]]
AT_EVERY: Mapping[str, tuple[Look, float]] = {
    "variations one by one": (_row_by_row, SAME),
    "positively homogeneous": (_homogeneous, SAME),
    "pieces agree with directions": (_pieces, SAME),
    "same answer twice": (_twice, 0.0),
}


def named(plugin: EventDerivative) -> dict[str, Callable[[], Outcome]]:
    """{property: what tries it} of an event derivative, with the run of each small system made once."""
    systems = {f"derivative of {name}": Passed(plugin, small) for name, small in TABLE.items()}
    found: dict[str, Callable[[], Outcome]] = {
        title: partial(_guarded, title, partial(_of_system, title, passed)) for title, passed in systems.items()
    }
    every = list(systems.values())
    return found | {name: partial(_guarded, name, partial(_of_all, name, every)) for name in AT_EVERY}


def _guarded(title: str, check: Callable[[], Outcome]) -> Outcome:
    try:
        return check()
    except Exception as error:
        return Outcome(title, False, message=f"the plugin fails with {type(error).__name__}: {error}")


def _of_system(title: str, passed: Passed) -> Outcome:
    if not passed.accepted:
        return Outcome(title, None, message="the plugin does not accept it and leaves it to others")
    return first_violation(title, _derivative(passed), DERIVATIVE)


def _of_all(name: str, systems: list[Passed]) -> Outcome:
    look, limit = AT_EVERY[name]
    accepted = [passed for passed in systems if passed.accepted]
    if not accepted:
        text = "the plugin accepts none of the events; let `accepts` return True for those it can differentiate"
        return Outcome(name, False, message=text)
    return first_violation(name, (finding for passed in accepted for finding in look(passed)), limit)
