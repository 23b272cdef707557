"""What is made when it is first asked for: properties, libraries, and the methods of dataclasses.

SciPy alone takes as long to import as a robot to read, and runs of which a compiled engine knows all need none of it.
The methods of dataclasses, which Python compiles from their text wherever a module is imported, took as long as all
else that a first run imports.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections import namedtuple
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

__all__ = ["Elsewhere", "Late", "Made", "NamedTuple", "Told", "chebyshev", "dataclass", "difflib", "lazy", "scipy"]

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


# --- dataclasses and named tuples -------------------------------------------------------------------------------


class Made:
    """An attribute of a class, mostly a method, that is made when it is first asked for, and put in its own place.

    Two threads that ask at once both make it; of what they make, one is as good as the other.

    Args:
        home, name: the class, and the name in it.
        make: makes it.
    """

    def __init__(self, home: type, name: str, make: Callable[[], Any]) -> None:
        self._home, self._name, self._make = home, name, make
        setattr(home, name, self)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        found = self._make()
        if self._home.__dict__.get(self._name) is self:
            setattr(self._home, self._name, found)
        return found.__get__(instance, owner) if inspect.isfunction(found) else found

    def wrapped(self, wrapping: Callable[[Any], Any]) -> None:
        """Let what is made be wrapped."""
        make = self._make
        Made(self._home, self._name, lambda: wrapping(make()))


def _dataclass(
    cls: Any = None,
    /,
    *,
    repr: bool = True,  # the names of Python's own
    eq: bool = True,
    frozen: bool = False,
) -> Any:
    """Python's own `dataclass`, each of whose methods is made when it is first called.

    All else is the same, but that it knows no `InitVar`, and that faults of fields are told at the first use.
    """
    if cls is None:
        return lambda cls: _dataclass(cls, repr=repr, eq=eq, frozen=frozen)
    given, own = _given(cls), set(vars(cls))

    def like(name: str, **asked: bool) -> None:
        """What Python makes of the same fields in a class by itself, of which only this is asked."""
        plain = {"init": False, "repr": False, "eq": False} | asked
        Made(cls, name, lambda: getattr(dataclasses.dataclass(**plain)(_twin(cls, given)), name))

    like("__dataclass_fields__")
    like("__dataclass_params__", init=True, repr=repr, eq=eq, frozen=frozen)
    hashed = "__hash__" in own and not (cls.__hash__ is None and "__eq__" in own)
    if "__match_args__" not in own:
        like("__match_args__")
    if "__init__" not in own:
        Made(cls, "__init__", lambda: _init(cls, given, frozen))
    if repr and "__repr__" not in own:
        like("__repr__", repr=True)
    if eq and "__eq__" not in own:
        like("__eq__", eq=True)
    if eq and frozen and not hashed:
        like("__hash__", eq=True, frozen=True)
    elif eq and not hashed:
        cls.__hash__ = None
    if frozen:
        _freeze(cls)
    return cls


def _given(cls: type) -> dict[str, Any]:
    """Defaults and fields that a class states; of fields, the class keeps the defaults alone."""
    given = {name: vars(cls)[name] for name in inspect.get_annotations(cls) if name in vars(cls)}
    for name, value in given.items():
        if not isinstance(value, dataclasses.Field):
            continue
        if value.default is dataclasses.MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, value.default)
    return given


def _twin(cls: type, given: dict[str, Any]) -> type:
    """A class by itself with the fields of another one, those of its bases first."""
    bases = [base for base in reversed(cls.__mro__[1:]) if dataclasses.is_dataclass(base)]
    inherited = {field.name: field for base in bases for field in dataclasses.fields(base)}
    own = inspect.get_annotations(cls)
    defaults = {name: given.get(name, getattr(cls, name, dataclasses.MISSING)) for name in own}
    told = {name: value for name, value in defaults.items() if value is not dataclasses.MISSING}
    kept = {name: field for name, field in inherited.items() if name not in own}
    types = {name: field.type for name, field in inherited.items()} | own
    inner = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__ or cls.__name__}
    return type(cls.__name__, (), {**inner, "__annotations__": types, **kept, **told})


class _Absent:
    """Stands for a default that is made anew for each."""

    def __repr__(self) -> str:
        return "<factory>"


ABSENT = _Absent()


def _stated(cls: type, given: dict[str, Any]) -> dict[str, dataclasses.Field[Any]]:
    """Fields by name, as far as a constructor needs them: told at once, as those of Python's own are not."""
    bases = [base for base in reversed(cls.__mro__[1:]) if dataclasses.is_dataclass(base)]
    found = {field.name: field for base in bases for field in dataclasses.fields(base)}
    for name, kind in inspect.get_annotations(cls).items():
        if str(kind).partition("[")[0].rpartition(".")[2] != "ClassVar":
            value = given.get(name, getattr(cls, name, dataclasses.MISSING))
            found[name] = value if isinstance(value, dataclasses.Field) else dataclasses.field(default=value)
    return found


def _init(cls: Any, given: dict[str, Any], frozen: bool) -> Callable[..., None]:
    """The constructor of a dataclass."""
    found = _stated(cls, given)
    known: dict[str, Any] = {"_set": object.__setattr__, "_absent": ABSENT}  # what its text speaks of
    takes: dict[bool, list[str]] = {False: [], True: []}  # by whether they are given by name alone
    does = []
    for name, field in found.items():
        value, default = name, ""
        if field.default_factory is not dataclasses.MISSING:
            known[f"_new_{name}"], default = field.default_factory, "=_absent"
            value = f"_new_{name}() if {name} is _absent else {name}" if field.init else f"_new_{name}()"
        elif field.default is not dataclasses.MISSING:
            known[f"_of_{name}"], default = field.default, f"=_of_{name}"
        if field.init:
            takes[field.kw_only is True].append(name + default)
        if field.init or default == "=_absent":
            does.append(f'_set(self, "{name}", {value})' if frozen else f"self.{name} = {value}")
    does += ["self.__post_init__()"] * hasattr(cls, "__post_init__")
    taken = ", ".join(["self", *takes[False], *(["*", *takes[True]] if takes[True] else [])])
    body, scope = "\n  ".join(does or ["pass"]), dict[str, Any]()
    exec(f"def made({', '.join(known)}):\n def __init__({taken}):\n  {body}\n return __init__", scope)
    init = scope["made"](**known)
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    types = {name: kind for base in reversed(cls.__mro__) for name, kind in inspect.get_annotations(base).items()}
    init.__annotations__ = {name: types[name] for name, field in found.items() if field.init} | {"return": None}
    return init  # type: ignore[no-any-return]


def _freeze(cls: Any) -> None:
    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__


class _Tuples(type):
    """Makes classes of named tuples, as that of Python's `typing`, which compiles the words of each annotation."""

    def __new__(mcs, name: str, bases: tuple[type, ...], inner: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(mcs, name, bases, inner)
        types = inner.get("__annotations__", {})
        defaults = [inner[field] for field in types if field in inner]
        made: Any = namedtuple(name, list(types), defaults=defaults, module=inner["__module__"])  # type: ignore[misc]
        made.__annotations__ = types
        for key, value in inner.items():
            if key not in ("__module__", "__annotations__") and key not in types:
                setattr(made, key, value)
        return made


if TYPE_CHECKING:
    import difflib
    from dataclasses import dataclass
    from typing import NamedTuple

    import scipy
    from numpy.polynomial import chebyshev
else:
    dataclass = _dataclass

    class NamedTuple(metaclass=_Tuples):
        """Base of named tuples; what follows is made by its metaclass, and is none of it."""

    scipy, chebyshev, difflib = Late("scipy"), Late("numpy.polynomial.chebyshev"), Late("difflib")
