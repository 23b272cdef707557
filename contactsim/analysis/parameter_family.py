"""Systems that differ in the values of some parameters, by name or built anew."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InputError
from ..hybrid.system import Completed, Dynamics, HybridSystem, completed


class Member(Completed):
    """A system of a family that a function builds, whose parameters are the arguments of that function.

    Args:
        core: the system as it was built.
        build: (*values) -> system.
        names: of the parameters that the function takes.
        values: with which it was built.
    """

    def __init__(self, core: Any, build: Callable[..., Any], names: tuple[str, ...], values: tuple[float, ...]) -> None:
        super().__init__(core)
        own = {"parameter": self._parameter, "with_parameter": self._with, "parameter_scale": self._scale}
        self.__dict__.update(own)
        self._build, self._names, self._values = build, names, values

    def _parameter(self, name: str) -> float:
        if name in self._names:
            return self._values[self._names.index(name)]
        return float(self.core.parameter(name))

    def _with(self, name: str, value: float) -> HybridSystem:
        if name not in self._names:
            return completed(self.core.with_parameter(name, value))
        k = self._names.index(name)
        values = (*self._values[:k], value, *self._values[k + 1 :])
        return Member(_built(self._build, values), self._build, self._names, values)

    def _scale(self, name: str) -> float:
        return abs(self._parameter(name)) or 1.0 if name in self._names else float(self.core.parameter_scale(name))

    def __reduce__(self) -> tuple[Any, ...]:
        return Member, (self.core, self._build, self._names, self._values)


def member(system_of: Any, names: Sequence[str], values: Sequence[float]) -> HybridSystem:
    """The system of a family that has these values of its parameters.

    Args:
        system_of: a system, whose parameters are changed by name; or a function (*values) -> system.
        names: of the parameters.
        values: one for each.

    Raises:
        InputError: there is no such parameter, or a value is out of range; or the function returns no system.
    """
    names, values = tuple(names), tuple(float(value) for value in values)
    if is_system(system_of):
        system = completed(system_of)
        for name, value in zip(names, values, strict=True):
            system = system.with_parameter(name, value)
        return system
    if not callable(system_of):
        raise InputError(f"system_of is a {type(system_of).__name__}; give a system, or a function that builds one")
    made = _built(system_of, values)
    return made if _tells(made, names, values) else Member(made, system_of, names, values)


def is_system(given: Any) -> bool:
    """True for a system, and not for the class of some, which builds them."""
    return isinstance(given, Dynamics) and not isinstance(given, type)


def _built(build: Callable[..., Any], values: tuple[float, ...]) -> HybridSystem:
    """The system of a function of all values, or of one that takes them as one list."""
    try:
        inspect.signature(build).bind(*values)
        apart = True
    except TypeError:
        apart = False
    made = build(*values) if apart else build(list(values))
    if not isinstance(made, Dynamics):
        raise InputError(f"system_of returns a {type(made).__name__}; return a ContactSystem or another HybridSystem")
    return completed(made)


def _tells(system: HybridSystem, names: tuple[str, ...], values: tuple[float, ...]) -> bool:
    """True for a system that knows the parameters by these names itself, and has these values of them."""
    try:
        return all(system.parameter(name) == value for name, value in zip(names, values, strict=True))
    except InputError:
        return False
