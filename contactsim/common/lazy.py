"""Properties that are worked out when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class lazy(Generic[Value]):
    """A property that is worked out once and kept in its instance.

    That of functools takes a lock in Python 3.11 that all instances share, of all threads; here two threads that ask
    at once both work it out.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function, self._name = function, function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Value | Self:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._function(instance)
        return value
