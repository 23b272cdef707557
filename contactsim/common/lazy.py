"""Properties that are worked out, and libraries that are imported, when they are first asked for.

SciPy alone takes as long to import as a robot to read, and runs of which a compiled engine knows all need none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

__all__ = ["Elsewhere", "Late", "Told", "chebyshev", "lazy", "scipy"]

Value = TypeVar("Value")


class lazy(Generic[Value]):
    """A property that is worked out once and kept in its instance.

    That of functools takes a lock in Python 3.11 that all instances share, of all threads; here two threads that ask
    at once both work it out.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function, self._name = function, function.__name__
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Value | Self:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._function(instance)
        return value


class Told:
    """Base of dataclasses whose attributes may be told later: all at once, when one of them is first asked for."""

    @classmethod
    def later(cls, tell: Callable[..., dict[str, Any]], *about: object) -> Self:
        """One of which `tell(*about)` knows the attributes.

        A run makes thousands of them: the fewer parts each has, the less the garbage collector has to look through.
        """
        made = object.__new__(cls)
        object.__setattr__(made, "_tell", (tell, *about))
        return made

    def _hear(self) -> None:
        told = self.__dict__.get("_tell")
        if told is not None:  # two threads that ask at once are both told
            tell, *about = told
            self.__dict__.update(tell(*about))
            self.__dict__.pop("_tell", None)

    def __getstate__(self) -> dict[str, Any]:
        self._hear()
        return self.__dict__

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # which is asked for what is not there
            self._hear()
            if name in self.__dict__:
                return self.__dict__[name]
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class Late:
    """A library that is imported when something in it is first asked for; what was found is kept.

    Args:
        module: its name.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(import_module(self._module), name)
        return found


class Elsewhere:
    """A class attribute that lies in another module, such as a schema, which takes pydantic to be made.

    Args:
        module, name: where it lies.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __get__(self, instance: object, owner: type) -> Any:
        return getattr(import_module(self._module), self._name)


if TYPE_CHECKING:
    import scipy
    from numpy.polynomial import chebyshev
else:
    scipy, chebyshev = Late("scipy"), Late("numpy.polynomial.chebyshev")
