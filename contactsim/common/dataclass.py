"""Dataclasses whose methods are made when they are first needed, and without compiling what all of them share.

Those of the standard library write up to six methods of each class as text and compile it, in half a millisecond a
class: half the time in which a first run is ready, although few of its classes are compared or printed, and many have
no object. Here the initializer alone is compiled, when the first object is made; type checkers see the decorator of
the standard library, whose functions (`fields`, `replace`, `asdict`) and classes get along with these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

Made = TypeVar("Made")
Values = Callable[[Any], tuple[Any, ...]]

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True):
        """A class as a dataclass, with those options of the standard library's that the house uses."""

        def decorated(own):
            return _dataclass(own, frozen, eq, repr)

        return decorated if cls is None else decorated(cls)


def _dataclass(cls: type[Made], frozen: bool, eq: bool, repr: bool) -> type[Made]:
    derived = any(dataclasses.is_dataclass(base) for base in cls.__bases__)  # of a frozen one: is to be made frozen
    dataclasses.dataclass(init=False, repr=False, eq=False, frozen=frozen and derived)(cls)
    cls.__dataclass_params__.frozen = frozen  # type: ignore[attr-defined]
    methods: dict[str, Any] = {"__init__": _Initializer(cls, frozen)}
    own = fields(cls)  # type: ignore[arg-type]
    if repr:
        methods["__repr__"] = _printed([item.name for item in own if item.repr])
    if eq:
        methods["__eq__"] = _compared(_values([item.name for item in own if item.compare]))
        hashed = [item.name for item in own if (item.compare if item.hash is None else item.hash)]
        methods["__hash__"] = _hashed(_values(hashed)) if frozen else None
    if frozen:
        methods["__setattr__"], methods["__delattr__"] = _frozen(cls, frozenset(item.name for item in own))
    for name, method in methods.items():
        if cls.__dict__.get(name) is None or name in ("__setattr__", "__delattr__"):
            setattr(cls, name, method)
    return cls


class _Initializer:
    """The `__init__` of a dataclass until it is first asked for: then it takes its own place.

    Args:
        cls: the class.
        frozen: whether its attributes cannot be set otherwise.
    """

    def __init__(self, cls: type, frozen: bool) -> None:
        self._cls, self._frozen = cls, frozen

    def __get__(self, instance: object | None, owner: type) -> Any:
        made = _initializer(self._cls, self._frozen)
        self._cls.__init__ = made  # type: ignore[misc]
        return made.__get__(instance, owner)  # type: ignore[attr-defined]


class _Factory:
    """Stands for a default that is made anew each time."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _initializer(cls: type, frozen: bool) -> Callable[..., None]:
    """A function that sets each field to what is given, and calls `__post_init__` where there is one."""
    known: dict[str, Any] = {"_FACTORY": _FACTORY, "_set": object.__setattr__}
    parameters, lines = ["self"], []
    for item in fields(cls):  # type: ignore[arg-type]
        value = _given(item, known)
        if item.init:
            known_as = f"_default_{item.name}"
            parameters.append(f"{item.name}={known_as}" if known_as in known else item.name)
        elif item.default_factory is MISSING:
            continue
        lines.append(f" _set(self, '{item.name}', {value})" if frozen else f" self.{item.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    text = "\n".join([f"def __init__({', '.join(parameters)}):", *(lines or [" pass"])])
    exec(compile(text, f"<fields of {cls.__qualname__}>", "exec"), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {item.name: item.type for item in fields(cls) if item.init} | {"return": None}  # type: ignore[arg-type]
    return made


def _given(item: Field[Any], known: dict[str, Any]) -> str:
    """What a field is set to, as text; its default is put among what the text knows."""
    if item.default_factory is MISSING:
        if item.default is not MISSING:
            known[f"_default_{item.name}"] = item.default
        return item.name
    factory = f"_factory_{item.name}"
    known[factory] = item.default_factory
    if not item.init:
        return f"{factory}()"
    known[f"_default_{item.name}"] = _FACTORY
    return f"{factory}() if {item.name} is _FACTORY else {item.name}"


def _values(names: list[str]) -> Values:
    """A function of an object that returns its values of some names."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple([getattr(instance, name) for name in names])


def _compared(values: Values) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashed(values: Values) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _printed(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr("...")
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _frozen(cls: type, names: frozenset[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Methods that set and delete no attribute of the class's objects, and no field of those of derived classes."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    return __setattr__, __delattr__
