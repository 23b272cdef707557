"""Arguments that users give, checked once where they come in: kinds of values, and the decorator that demands them.

A kind is a function that takes a value or raises ValueError, with the words that say what it takes. It is strict: text
is no number, and `True` is none either. Schemas of whole tables (scenes, parameters of laws and models) are in
`schemas` and pydantic's, which takes longer to import than a first run; here are the arguments of functions and
constructors. The decorator names the kind of each:

    @arguments(duration=POSITIVE)
    def advance(self, duration: float) -> Any: ...

Names that the function does not take are told with the nearest one that it does, and what it lacks by its name;
`@arguments()` looks at names alone. It costs some microseconds a call and stands where users call, never where the
engine calls itself in a loop.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from ..errors import InputError
from .lazy import Made, dataclass, difflib

FAR = 1e75  # numbers beyond this are nobody's: their powers overflow
LONGEST = 60  # characters of a value that is repeated
NAMED = re.compile(r"a function (?:\(([\w, ]+)\)|(\w+)) ->")  # the arguments of a function, as words name them
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class WrongCall(InputError, TypeError):
    """Arguments that a function does not take, or lacks; Python's own error of that is a TypeError."""


@dataclass(frozen=True)
class Kind:
    """A kind of value that an argument may have.

    Attributes:
        words: what it takes, as in "give WORDS".
        taken: the value as it is used; it raises ValueError for one of another kind.
        optional: whether None stands for having none.
        inside: {name: value of this kind that holds what the name says}, for names that users give beside it.
    """

    words: str
    taken: Callable[[Any], Any]
    optional: bool = False
    inside: Mapping[str, str] | None = None

    def take(self, given: Any) -> Any:
        """The value as it is used.

        Raises:
            ValueError: it is of another kind.
        """
        return None if given is None and self.optional else self.taken(given)

    def refusal(self, what: str, given: Any) -> InputError:
        """The error of a value that is of another kind; `what` says of what it is the value."""
        more = ", or None" if self.optional else ""
        if isinstance(given, int | float) and abs(given) > FAR:
            more = f" of a size below {FAR:.0e}{more}"
        return InputError(f"{what} is {shown(given)}; give {self.words}{more}")

    def check(self, what: str, given: Any) -> Any:
        """The value as it is used.

        Raises:
            InputError: it is of another kind; `what` says of what it is the value.
        """
        try:
            return self.take(given)
        except ValueError:
            raise self.refusal(what, given) from None


def shown(given: Any) -> str:
    """A value in one short line."""
    if isinstance(given, os.PathLike):
        return shown(os.fspath(given))
    if isinstance(given, np.ndarray) and given.size > 4:
        return f"a {type(given).__name__} of shape {given.shape} and type {given.dtype}"
    if isinstance(given, str | bytes | int | float | complex | list | tuple | dict | np.ndarray | np.generic) or (
        given is None
    ):
        try:
            text = " ".join(repr(given).split())
        except ValueError:  # Python does not write out whole numbers of more than 4300 digits
            text = f"a very large {type(given).__name__}"
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    if isinstance(given, FunctionType):
        return f"a function of ({', '.join(inspect.signature(given).parameters)})"
    return f"{given.__name__}, a class" if isinstance(given, type) else f"a {type(given).__name__}"


# --- kinds ------------------------------------------------------------------------------------------------------


def _plain(given: Any) -> Any:
    """A number of numpy's, or an array of one number, as Python's own."""
    if isinstance(given, np.generic) or (type(given) is np.ndarray and given.shape == ()):
        return given.item()
    return given


def _float(given: Any) -> float:
    value = _plain(given)
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    try:
        return float(value)
    except OverflowError:
        raise ValueError from None


def _whole(given: Any) -> int:
    value = _plain(given)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError
    return int(value)


def _within(take: Callable[[Any], Any], gt: float, ge: float, lt: float, le: float) -> Callable[[Any], Any]:
    """`take` for values greater than `gt`, at least `ge`, less than `lt` and at most `le`."""

    def found(given: Any) -> Any:
        value = take(given)
        if not (gt < value < lt and ge <= value <= le):  # which no nan passes
            raise ValueError
        return value

    return found


def number(words: str, gt: float = -np.inf, ge: float = -FAR, lt: float = np.inf, le: float = FAR) -> Kind:
    """A finite number within bounds, and nearer to zero than FAR."""
    return Kind(words, _within(_float, gt, ge, lt, le))


def whole(words: str, ge: int, le: float = np.inf) -> Kind:
    """A whole number from `ge` to `le`."""
    return Kind(words, _within(_whole, -np.inf, ge, np.inf, le))


def _flag(given: Any) -> bool:
    value = _plain(given)
    if not isinstance(value, bool):
        raise ValueError
    return value


def _length_of_time(given: Any) -> float:
    value = _float(given)
    if not value > 0.0:
        raise ValueError
    return value


REAL = number("a finite number")
POSITIVE = number("a positive number", gt=0.0)
NOT_NEGATIVE = number("a number that is zero or positive", ge=0.0)
SHARE = number("a number in [0, 1]", ge=0.0, le=1.0)
LENGTH_OF_TIME = Kind("a positive number, or infinity", _length_of_time)
COUNT = whole("a whole number, one or more", ge=1)
INDEX = whole("a whole number, zero or more", ge=0)
FLAG = Kind("True or False", _flag)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError
    return str.__str__(given)  # Python's own, of a subclass, too


def _name(given: Any) -> str:
    if not isinstance(given, str) or not given or "\0" in given:
        raise ValueError
    return given


def _path(given: Any) -> Any:
    if not isinstance(given, str | os.PathLike):
        raise ValueError
    text = os.fspath(given)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError
    return given


def _function(given: Any) -> Any:
    if not callable(given):
        raise ValueError
    return given


TEXT = Kind("a string", _text)
NAME = Kind("a name, a string that is not empty", _name)
PATH = Kind("the path of a file", _path)


def function(words: str) -> Kind:
    """A function, described as in "a function (t, q, v) -> tau"; it must be one of as many arguments as are named."""
    named = NAMED.match(words)
    if named is None:
        return Kind(words, _function)
    count = len((named[1] or named[2]).split(","))

    def found(given: Any) -> Any:
        if not takes(_function(given), count):
            raise ValueError
        return given

    return Kind(words, found)


def takes(given: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with as many arguments, as far as it tells."""
    try:
        inspect.signature(given).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # it is compiled
        return True
    return True


def custom(words: str, take: Callable[[Any], Any]) -> Kind:
    """A kind by a function that returns the value as it is used, or raises ValueError."""
    return Kind(words, take)


def one_of(*values: str) -> Kind:
    """One of some words."""

    def found(given: Any) -> str:
        if not isinstance(given, str) or given not in values:
            raise ValueError
        return values[values.index(given)]

    return Kind(" or ".join(map(repr, values)), found)


def instance(kinds: type | tuple[type, ...], words: str, inside: Mapping[str, str] | None = None) -> Kind:
    """An object of a class; `inside` as of Kind."""

    def found(given: Any) -> Any:
        if not isinstance(given, kinds):
            raise ValueError
        return given

    return Kind(words, found, inside=inside)


def _masked(given: Any) -> bool:
    """True for an array of `numpy.ma`, which takes long to import."""
    return isinstance(given, np.ndarray) and hasattr(given, "mask")


def several(kind: Kind, words: str, inside: Mapping[str, str] | None = None) -> Kind:
    """A list, or what else can be gone through but text, of things of one kind; as a tuple. `inside` as of Kind."""

    def found(given: Any) -> tuple[Any, ...]:
        if isinstance(given, str | bytes | Mapping) or _masked(given):
            raise ValueError
        try:
            items = tuple(given)
        except TypeError:
            raise ValueError from None
        return tuple(kind.take(item) for item in items)

    return Kind(words, found, inside=inside)


def either(first: Kind, second: Kind) -> Kind:
    """Something of one kind, or of the other."""

    def found(given: Any) -> Any:
        try:
            return first.take(given)
        except ValueError:
            return second.take(given)

    return Kind(f"{first.words}, or {second.words}", found)


def optional(kind: Kind) -> Kind:
    """The same, or None."""
    return Kind(kind.words, kind.taken, True, kind.inside)


def real_array(given: Any) -> np.ndarray:
    """Real numbers as a new array of floats.

    Raises:
        ValueError: they are complex, truth values, text or masked, or no array at all.
    """
    if _masked(given):
        raise ValueError("a masked array")
    if isinstance(given, list | tuple) and any(isinstance(item, bool | np.bool_) for item in given):
        raise ValueError("truth values")
    try:
        found = np.asarray(given)
    except (TypeError, ValueError):
        raise ValueError("no array") from None
    if found.dtype.kind not in "fiu":
        raise ValueError("no real numbers")
    return np.array(found, dtype=float)


def _list(given: Any) -> Any:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence | np.ndarray):
        raise ValueError
    return given


LIST = custom("a list", _list)


@functools.lru_cache(maxsize=64)  # making a schema takes longer than many a call
def numbers(*shape: int | None, words: str = "", finite: bool = True) -> Kind:
    """An array of real numbers; of any shape where none is given, and None stands for any length."""

    def found(given: Any) -> np.ndarray:
        array = real_array(given)
        if shape and (
            array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True))
        ):
            raise ValueError
        if finite and not np.isfinite(array).all():
            raise ValueError
        return array

    plain = f"{shape[0]} finite numbers" if len(shape) == 1 and shape[0] else "an array of finite numbers"
    return Kind(words or plain, found)


def tuples(count: int | None, words: str = "") -> Kind:
    """So many finite numbers, as a tuple of Python's own."""
    inner = numbers(count, words=words)
    return Kind(inner.words, lambda given: tuple(inner.take(given).tolist()))


NUMBERS = numbers()
ANY_NUMBERS = numbers(words="an array of real numbers", finite=False)
VECTOR, TRIPLE = numbers(3), tuples(3)


# --- the decorator -----------------------------------------------------------------------------------------------


def arguments(**kinds: Kind) -> Callable[[Decorated], Decorated]:
    """A function, or a class by its constructor, whose arguments are of the `kinds` that are named.

    Arguments that are left out have their defaults, which are not looked at; those by names that it does not take are
    refused with the nearest ones.
    """

    def decorated(of: Decorated) -> Decorated:
        if isinstance(made := vars(of).get("__init__"), Made):  # of a dataclass, when it is first called
            made.wrapped(lambda function: _checking(function, kinds, of.__name__))
            return of
        if isinstance(of, type):
            of.__init__ = _checking(of.__init__, kinds, of.__name__)  # type: ignore[misc]
            return of
        title = of.__qualname__.removesuffix(".__init__").rpartition("<locals>.")[2]
        return _checking(of, kinds, title)  # type: ignore[return-value]

    return decorated


def _checking(function: Callable[..., Any], kinds: Mapping[str, Kind], title: str) -> Callable[..., Any]:
    code = inspect.unwrap(function).__code__  # which tells the names at once, as `inspect.signature` does not
    places, known = code.co_varnames[: code.co_argcount], code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    closed, most = not code.co_flags & inspect.CO_VARKEYWORDS, np.inf
    if not code.co_flags & inspect.CO_VARARGS:
        most = len(places)
    demanded = _demanded(inspect.unwrap(function))
    least = len(places) if set(demanded) - set(places) else sum(name in demanded for name in places)
    if unknown := set(kinds) - set(known):
        raise TypeError(f"{title} has no arguments {sorted(unknown)}")

    def named(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if closed and name not in known:
                raise _of_none(_called(title, args), name, known, kinds)
        if lacking := [name for name in demanded if name not in places[: len(args)] and name not in kwargs]:
            raise _lacking(_called(title, args), lacking, demanded)
        if len(args) > most:
            raise _too_many(_called(title, args), len(args), places)
        return function(*args, **kwargs)

    def checked(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        for i, (name, value) in enumerate(zip(places, args, strict=False)):
            if (kind := kinds.get(name)) is not None:
                given[i] = taken(kind, name, value, args, kwargs)
        for name, value in kwargs.items():
            if (kind := kinds.get(name)) is not None:
                kwargs[name] = taken(kind, name, value, args, kwargs)
        return function(*given) if not kwargs and least <= len(args) <= most else named(*given, **kwargs)

    def taken(kind: Kind, name: str, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return kind.take(value)
        except ValueError:
            argued = dict(zip(places, args, strict=False)) | kwargs
            raise kind.refusal(_place(_called(title, args), name, argued), value) from None

    return functools.update_wrapper(checked if kinds else named, function)


def _called(title: str, args: tuple[Any, ...]) -> str:
    """A method by the class of which it was called, which is not always the one in which it is written."""
    home, _, name = title.rpartition(".")
    owner = args[0] if args and isinstance(args[0], type) else type(args[0]) if args else type(None)
    return f"{owner.__name__}.{name}" if home in [base.__name__ for base in owner.__mro__] else title


def _of_none(title: str, name: str, known: Sequence[str], kinds: Mapping[str, Kind]) -> WrongCall:
    """The error of an argument by a name that is none, or that is said inside of another one."""
    names = [own for own in known if own not in ("self", "cls")]
    close = difflib.get_close_matches(name, names, n=1)
    remedy = f"did you mean '{close[0]}'?" if close else f"it takes {', '.join(names) or 'none'}"
    for own, kind in kinds.items():
        if kind.inside and name in kind.inside:
            remedy = f"give {own}={kind.inside[name]}"
    return WrongCall(f"{title} has no argument '{name}'; {remedy}")


def _demanded(function: Any) -> list[str]:
    """Names of the arguments that have no default."""
    code, defaults = function.__code__, function.__defaults__ or ()
    by_place = code.co_varnames[: code.co_argcount - len(defaults)]
    by_name = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return [*by_place, *(name for name in by_name if name not in (function.__kwdefaults__ or {}))]


def _lacking(title: str, names: Sequence[str], demanded: Sequence[str]) -> WrongCall:
    """The error of arguments that are not given."""
    every = ", ".join(own for own in demanded if own not in ("self", "cls"))
    return WrongCall(f"{title} lacks {', '.join(names)}; give {title}({every})")


def _too_many(title: str, count: int, places: Sequence[str]) -> WrongCall:
    """The error of more arguments than have a place."""
    names = [own for own in places if own not in ("self", "cls")]
    given = count - (len(places) - len(names))
    return WrongCall(f"{title} is given {given} arguments by their place; it takes {', '.join(names) or 'none'} so")


def _place(title: str, name: str, named: Mapping[str, Any]) -> str:
    """An argument in words, with the name of what was to be made where it has one."""
    own = next((found for key in ("name", "frame") if isinstance(found := named.get(key), str) and found), "")
    return f"{name} of {title} '{own}'" if own and name not in ("name", "frame") else f"{name} of {title}"
