"""The contract of a hybrid system: smooth flows on manifolds, joined by transitions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from functools import cache
from typing import Any, Protocol, runtime_checkable

from ..common.arrays import Array
from ..errors import InputError
from .abilities import (
    ABILITIES,
    Actions,
    Audit,
    Constraints,
    Engines,
    Forces,
    Frames,
    Law,
    Memories,
    Neighbours,
    Parameters,
    Preferences,
    Push,
    Pushes,
    Restarts,
    Sensitivities,
    Spaces,
    States,
    Words,
    one_by_one,
)
from .flow import CLOCK, LIMIT, LOOP, NOTHING, Flow, Transition

__all__ = [
    "CLOCK",
    "LIMIT",
    "LOOP",
    "NOTHING",
    "Dynamics",
    "HybridSystem",
    "Push",
    "Transition",
    "completed",
    "one_by_one",
]

COPIES = (
    "with_parameter",
    "with_push",
    "without_pushes",
    "with_action",
    "with_law",
)  # methods that return another system


@runtime_checkable
class Dynamics(Protocol):
    """Smooth flows joined by events: all that a hybrid system has to say."""

    @abstractmethod
    def flow(self, mode: Hashable) -> Flow:
        """Vector field and guards of a mode."""

    @abstractmethod
    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        """State and mode after the guards named in `fired` (or CLOCK) fired together at (t, x) in `mode`."""

    @abstractmethod
    def start(self, t: float, x: Array) -> Transition:
        """Mode in which a run starts at (t, x); raises InputError where the state is not a valid one."""


class HybridSystem(
    Preferences,
    States,
    Restarts,
    Engines,
    Spaces,
    Constraints,
    Neighbours,
    Words,
    Parameters,
    Sensitivities,
    Memories,
    Forces,
    Frames,
    Audit,
    Pushes,
    Actions,
    Law,
    Dynamics,
):
    """A system of smooth flows joined by events: what `simulate` and `linearize` need to know, and no more.

    The three methods of `Dynamics` say what it is; everything else is one of the `abilities`, whose defaults stand for
    a system that has no such thing.
    """


def completed(system: Dynamics) -> HybridSystem:
    """A system with all abilities: itself, or one that has only `flow`, `transition` and `start` with the defaults.

    Of an ability it takes what the system has under its name; other attributes are those of the system, too.

    Raises:
        InputError: it lacks one of the three methods.
    """
    if isinstance(system, HybridSystem):
        return system
    if isinstance(system, type):
        raise InputError(f"the class {system.__name__} is given; give one of its instances, {system.__name__}(...)")
    missing = [name for name in ("flow", "transition", "start") if not callable(getattr(system, name, None))]
    if missing:
        raise InputError(
            f"a {type(system).__name__} is no hybrid system, it has no {', '.join(missing)}; give a ContactSystem, a"
            " Model, or something with flow(mode), transition(t, x, mode, fired) and start(t, x)"
        )
    return _completing(type(system))(system)


class Completed(HybridSystem):
    """A system that keeps the contract, completed by the defaults of the abilities that it does not have.

    Args:
        core: the system.
    """

    def __init__(self, core: Any) -> None:
        self.core = core
        for name in _names_of_abilities():
            if hasattr(core, name):
                given = getattr(core, name)
                setattr(self, name, _completing_results(given) if name in COPIES else given)

    def flow(self, mode: Hashable) -> Flow:
        """Vector field and guards of a mode."""
        return self.core.flow(mode)  # type: ignore[no-any-return]

    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        """State and mode after an event."""
        return self.core.transition(t, x, mode, fired)  # type: ignore[no-any-return]

    def start(self, t: float, x: Array) -> Transition:
        """Mode in which a run starts."""
        return self.core.start(t, x)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "core" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.core, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return completed, (self.core,)

    def __repr__(self) -> str:
        return repr(self.core)


@cache
def _completing(kind: type) -> type[Completed]:
    """A Completed that goes by the name of the class that it completes."""
    return type(kind.__name__, (Completed,), {"__doc__": kind.__doc__, "__module__": kind.__module__})


def _names_of_abilities() -> Iterator[str]:
    for ability in ABILITIES:
        yield from (name for name in {**vars(ability), **ability.__annotations__} if not name.startswith("_"))


def _completing_results(method: Callable[..., Any]) -> Callable[..., HybridSystem]:
    return lambda *given: completed(method(*given))
