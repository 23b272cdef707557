"""The house's dataclasses beside those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from dataclasses import FrozenInstanceError, field, fields, replace

import pytest

from contactsim.common.dataclass import _Initializer, dataclass


@dataclass(frozen=True)
class Pair:
    """Two numbers, with what follows of them."""

    first: float
    second: float = 2.0
    names: list[str] = field(default_factory=list, compare=False)
    hidden: int = field(default=7, repr=False)
    total: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.first + self.second)


@dataclasses.dataclass(frozen=True)
class Standard:
    """The same by the standard library."""

    first: float
    second: float = 2.0
    names: list[str] = field(default_factory=list, compare=False)
    hidden: int = field(default=7, repr=False)
    total: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.first + self.second)


@dataclass(frozen=True)
class Triple(Pair):
    """One more number."""

    third: float = 3.0


@dataclasses.dataclass(frozen=True)
class Users(Pair):
    """A user's class, by the standard library, of one of the house's."""

    third: float = 3.0


@dataclass(frozen=True)
class OfUsers(Users):
    """One of the house's of a user's."""

    fourth: float = 4.0


@dataclass(eq=False)
class Loose:
    """What can be set, and is only equal to itself."""

    value: float
    parts: list[float] = field(default_factory=list, init=False)


@dataclass
class Plain:
    """What can be set, and is compared."""

    value: float


@dataclass(frozen=True)
class Empty:
    """Nothing."""


@dataclass(frozen=True, repr=False)
class Told:
    """What has methods of its own."""

    value: float

    def __repr__(self) -> str:
        return "told"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Told)


def test_what_is_made_is_what_the_standard_library_makes() -> None:
    mine, standard = Pair(1.0, names=["a"]), Standard(1.0, names=["a"])
    assert repr(mine) == repr(standard).replace("Standard", "Pair")
    assert hash(mine) == hash(standard)
    assert str(inspect.signature(Pair)) == str(inspect.signature(Standard))
    assert [item.name for item in fields(mine)] == [item.name for item in fields(standard)]  # type: ignore[arg-type]
    assert dataclasses.asdict(mine) == dataclasses.asdict(standard)  # type: ignore[call-overload]
    assert replace(mine, first=3.0) == Pair(3.0) and replace(mine, first=3.0).total == 5.0
    assert Pair.__match_args__ == Standard.__match_args__


def test_equality_and_hashes() -> None:
    assert Pair(1.0) == Pair(1.0, names=["other"]) and Pair(1.0) != Pair(1.5)
    assert Pair(1.0) != Triple(1.0) and Pair(1.0).__eq__(Triple(1.0)) is NotImplemented
    assert Empty() == Empty() and hash(Empty()) == hash(())
    assert Loose(1.0) != Loose(1.0) and len({Loose(1.0), Loose(1.0)}) == 2
    assert Plain(1.0) == Plain(1.0)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Plain(1.0))
    assert Told(1.0) == Told(2.0) and repr(Told(1.0)) == "told" and hash(Told(1.0)) == hash((1.0,))


def test_defaults_are_made_anew() -> None:
    assert Pair(1.0).names is not Pair(1.0).names
    assert Loose(1.0).parts == [] and Loose(1.0).parts is not Loose(1.0).parts


def test_frozen_objects_keep_their_fields() -> None:
    for made in (Pair(1.0), Triple(1.0), Users(1.0), OfUsers(1.0)):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'first'"):
            made.first = 2.0  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'second'"):
            del made.second
    loose = Loose(1.0)
    loose.value = 2.0
    assert loose.value == 2.0


def test_derived_classes_have_all_fields() -> None:
    assert repr(Triple(1.0)) == "Triple(first=1.0, second=2.0, names=[], total=3.0, third=3.0)"
    assert OfUsers(1.0, fourth=5.0).fourth == 5.0 and OfUsers(1.0).third == 3.0 and OfUsers(1.0).total == 3.0
    with pytest.raises(TypeError, match="non-frozen"):

        @dataclasses.dataclass
        class Loosened(Pair):
            third: float = 3.0


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match=r"Pair.__init__\(\) missing 1 required positional argument: 'first'"):
        Pair()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'total'"):
        Pair(1.0, total=1.0)  # type: ignore[call-arg]


def test_copies_and_pickles() -> None:
    for made in (Pair(1.0), Triple(1.0)):
        assert pickle.loads(pickle.dumps(made)) == made == copy.deepcopy(made)


def test_a_list_within_itself_is_printed() -> None:
    made = Pair(1.0)
    made.names.append(made)  # type: ignore[arg-type]
    assert repr(made) == "Pair(first=1.0, second=2.0, names=[...], total=3.0)"


def test_the_initializer_is_made_with_the_first_object_also_by_threads_at_once() -> None:
    @dataclass(frozen=True)
    class Fresh:
        value: int

    assert isinstance(Fresh.__dict__["__init__"], _Initializer)
    ready, made = threading.Barrier(4), []

    def make(k: int) -> None:
        ready.wait()
        made.append(Fresh(k))

    own = [threading.Thread(target=make, args=(k,)) for k in range(4)]
    for thread in own:
        thread.start()
    for thread in own:
        thread.join()
    assert sorted(one.value for one in made) == [0, 1, 2, 3]
    assert inspect.isfunction(Fresh.__dict__["__init__"])
