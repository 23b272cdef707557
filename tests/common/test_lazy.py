"""Dataclasses and named tuples whose methods are made late are those of Python."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
import typing
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from contactsim.common import lazy
from contactsim.common.arguments import arguments, number
from contactsim.common.lazy import Made, NamedTuple


def pairs(make: Callable[[Callable[..., Any]], type]) -> list[type]:
    """A class as Python makes it, and as we do."""
    return [make(dataclasses.dataclass), make(lazy.dataclass)]


def plain(dataclass: Callable[..., Any]) -> type:
    @dataclass(frozen=True)
    class Point:
        """A point."""

        kind: ClassVar[str] = "point"
        x: float
        y: float = 2.0
        tags: list[str] = dataclasses.field(default_factory=list)
        norm: float = dataclasses.field(default=0.0, init=False, compare=False)
        name: str = dataclasses.field(default="", kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "norm", self.x**2 + self.y**2)

    return Point


def derived(dataclass: Callable[..., Any]) -> type:
    @dataclass(frozen=True)
    class Derived(plain(dataclass)):  # type: ignore[misc]
        """One with more of it, and another default."""

        y: float = 5.0
        z: float = 3.0

    return Derived


def changing(dataclass: Callable[..., Any]) -> type:
    @dataclass
    class Changing:
        """One that changes."""

        x: float
        y: float = 1.0

    return Changing


def its_own(dataclass: Callable[..., Any]) -> type:
    @dataclass(frozen=True, repr=False)
    class Own:
        """One with methods of its own."""

        x: float

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    return Own


ALL = (plain, derived, changing, its_own)


@pytest.mark.parametrize("make", ALL)
def test_a_late_dataclass_has_the_constructor_of_pythons(make: Callable[..., type]) -> None:
    theirs, ours = pairs(make)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__init__.__annotations__ == theirs.__init__.__annotations__
    for wrong in ((), (1.0,) * 9):
        for cls in (theirs, ours):
            with pytest.raises(TypeError):
                cls(*wrong)


@pytest.mark.parametrize("make", ALL)
def test_a_late_dataclass_behaves_as_pythons(make: Callable[..., type]) -> None:
    theirs, ours = pairs(make)
    a, b = theirs(1.0), ours(1.0)
    assert repr(b).replace("lazy", "") == repr(a)
    assert vars(b) == vars(a)
    assert (b == ours(1.0) and (b == ours(4.0)) == (a == theirs(4.0)) and b != 1.0) or make is its_own
    assert (theirs.__hash__ is None) == (ours.__hash__ is None)
    if theirs.__hash__ is not None and make is its_own:
        assert hash(a) == hash(b) == 7
    assert dataclasses.replace(b, x=3.0).x == 3.0
    assert [(f.name, f.type, f.kw_only) for f in dataclasses.fields(ours)] == [
        (f.name, f.type, f.kw_only) for f in dataclasses.fields(theirs)
    ]
    assert dataclasses.asdict(b) == dataclasses.asdict(a)
    assert ours.__match_args__ == theirs.__match_args__
    params = ("frozen", "eq", "repr", "init")
    assert [getattr(ours.__dataclass_params__, name) for name in params] == [
        getattr(theirs.__dataclass_params__, name) for name in params
    ]


@pytest.mark.parametrize("make", (plain, derived, its_own))
def test_what_is_frozen_stays(make: Callable[..., type]) -> None:
    for cls in pairs(make):
        made = cls(1.0)
        for name in ("x", "new"):
            with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
                setattr(made, name, 2.0)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
            del made.x
        assert made.x == 1.0


def test_pythons_dataclasses_derive_from_late_ones() -> None:
    @dataclasses.dataclass(frozen=True)
    class Child(plain(lazy.dataclass)):  # type: ignore[misc]
        z: float = 1.0

    assert Child(1.0, z=4.0).z == 4.0 and [f.name for f in dataclasses.fields(Child)][-1] == "z"
    with pytest.raises(TypeError, match="frozen"):
        dataclasses.dataclass(type("Loose", (plain(lazy.dataclass),), {"__annotations__": {"z": "float"}}))


@lazy.dataclass(frozen=True)
class Stored:
    """One that is pickled."""

    x: float
    more: tuple[int, ...] = ()


def test_late_dataclasses_are_copied_and_stored() -> None:
    made = Stored(1.0, (2,))
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made and hash(made) == hash(copy.copy(made))


def test_methods_are_made_when_they_are_called() -> None:
    cls: Any = plain(lazy.dataclass)
    assert all(isinstance(vars(cls)[name], Made) for name in ("__init__", "__repr__", "__eq__", "__hash__"))
    cls(1.0)
    assert inspect.isfunction(vars(cls)["__init__"]) and isinstance(vars(cls)["__repr__"], Made)


def test_threads_that_ask_at_once_all_have_their_method() -> None:
    for _ in range(50):
        cls: Any = plain(lazy.dataclass)
        start, found = threading.Barrier(4), []

        def make(cls: Any = cls, start: threading.Barrier = start, found: list[Any] = found) -> None:
            start.wait()
            found.append((cls(1.0), hash(cls(1.0, tags=())), repr(cls(1.0))))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4 and len({(hashed, told) for _, hashed, told in found}) == 1


def test_arguments_of_late_dataclasses_are_looked_at() -> None:
    cls: Any = arguments(y=number(words="a number"))(plain(lazy.dataclass))
    assert cls(1.0, y=3).y == 3.0
    with pytest.raises(Exception, match="y of Point"):
        cls(1.0, y="high")


def test_late_named_tuples_are_those_of_python() -> None:
    class Theirs(typing.NamedTuple):
        """Two numbers."""

        x: float
        y: float = 2.0

        def total(self) -> float:
            """Their sum."""
            return self.x + self.y

    class Ours(NamedTuple):
        """Two numbers."""

        x: float
        y: float = 2.0

        def total(self) -> float:
            """Their sum."""
            return self.x + self.y

    ours, theirs = Ours(1.0), Theirs(1.0)
    assert ours == theirs == (1.0, 2.0) and ours.total() == 3.0 and ours._replace(x=4.0).x == 4.0
    assert Ours._fields == Theirs._fields and Ours._field_defaults == Theirs._field_defaults
    assert Ours.__doc__ == Theirs.__doc__ and Ours.__module__ == __name__ and repr(ours) == "Ours(x=1.0, y=2.0)"
    assert issubclass(Ours, tuple)
