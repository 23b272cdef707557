"""Questions that the contracts of plugins share: of what kind it is, and whether it can be called as it will be."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any


def is_kind(found: Any, kind: type) -> bool:
    """True where what was found is a subclass of `kind`."""
    return isinstance(found, type) and issubclass(found, kind)


def keeps_methods(found: Any, kind: type, methods: tuple[str, ...]) -> Iterator[str]:
    """Methods that are missing, and those whose arguments are not the contract's."""
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        yield f"is the class {found.__name__} without {', '.join(missing)}; write what {kind.__name__} leaves open"
    for name in (name for name in methods if hasattr(kind, name)):
        expected = list(inspect.signature(getattr(kind, name)).parameters)[1:]
        own = getattr(found, name)
        if not callable(own) or not takes(own, 1 + len(expected)):
            call = f"{name}({', '.join(expected)})"
            yield f"has a method {found.__name__}.{name} that cannot be called as {call}; mend its arguments"


def takes(function: Any, count: int) -> bool:
    """True for a function that can be called with `count` positional arguments, and where that cannot be told."""
    try:
        inspect.signature(function).bind(*(None for _ in range(count)))
    except TypeError:
        return False
    except ValueError:  # a built-in function that does not tell
        return True
    return True


def has_schema(found: Any, name: str, base: type) -> Iterator[str]:
    """An attribute that is no subclass of the schema that stands for it."""
    if not is_kind(getattr(found, name), base):
        yield f"has {found.__name__}.{name} = {getattr(found, name)!r}; make it a subclass of {base.__name__}"


def makes_itself(found: Any) -> Iterator[str]:
    """A plugin asked for by name alone is made without arguments."""
    try:
        found()
    except Exception as error:
        yield f"cannot be made as {found.__name__}() ({type(error).__name__}: {error}); give each parameter a default"
