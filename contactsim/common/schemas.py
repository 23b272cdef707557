"""Input of users: schemas of parameters and scene files, and names that are not known."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, Field, Strict, ValidationError
from pydantic_core import PydanticCustomError

from ..errors import InputError
from .arguments import FAR
from .lazy import difflib

Real = Annotated[float, Strict(), Field(ge=-FAR, le=FAR)]  # a number of a table: neither text nor a truth value is one
Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]

Schema = TypeVar("Schema", bound=BaseModel)
Place = tuple[int | str, ...]

ADVICE = "Input should be "  # how pydantic begins a sentence that says what may stand there
NESTED = "nested"  # type of the one error that holds those of an inner table
PLAIN = {  # what pydantic says of these, in words that do not come from Python
    "float_parsing": f"{ADVICE}a number",
    "float_type": f"{ADVICE}a number",
    "int_parsing": f"{ADVICE}a whole number",
    "int_type": f"{ADVICE}a whole number",
    "int_from_float": f"{ADVICE}a whole number",
    "int_parsing_size": f"{ADVICE}a whole number of a size below 1e18",
    "tuple_type": f"{ADVICE}a list of numbers",
    "list_type": f"{ADVICE}a list",
    "bool_type": f"{ADVICE}true or false",
    "string_type": f"{ADVICE}a text",
    "dict_type": f"{ADVICE}a table",
}
# How pydantic tells what a value might have been.
KIND_OF_UNION = re.compile(r"constrained-|(tuple|list|literal|dict)\[")
MOST_TOLD = 12  # mistakes that one sentence lists
LONGEST_VALUE = 40  # characters of a value that is repeated


def validated(schema: type[Schema], values: dict[str, Any], where: str) -> Schema:
    """An instance of `schema` with `values`; every mistake is reported at once, with its path.

    Raises:
        InputError: a key is unknown (the known ones are listed) or a value out of range; `where` says of what.
    """
    try:
        return schema(**values)
    except ValidationError as error:
        mistakes = list(dict.fromkeys(_mistake(schema, item) for item in _told_once(error.errors())))
        more = f"; and {len(mistakes) - MOST_TOLD} more mistakes" if len(mistakes) > MOST_TOLD else ""
        raise InputError(f"{where}: {'; '.join(mistakes[:MOST_TOLD])}{more}") from None


def unknown_robot(name: str, known: Collection[str], models: Collection[str] = ()) -> InputError:
    """The error of a name that no catalogue of robots knows, nor one of models; similar names are told, or some."""
    close = difflib.get_close_matches(name, [*known, *models], n=3)
    told = f"similar names are {', '.join(close)}" if close else f"there are {', '.join(list(known)[:3]) or 'none'}"
    more = "" if is_installed("example-robot-data") else ", and pip install 'contactsim[robots]' brings some sixty more"
    what = "robot or model" if models else "robot"
    return InputError(f"no {what} '{name}'; {told}, `contactsim robots` lists all {len(known) + len(models)}{more}")


def is_installed(package: str) -> bool:
    """True for a package that pip has installed, which may have nothing to import."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def nested(schema: type[BaseModel], error: ValidationError) -> PydanticCustomError:
    """The mistakes of a table that a validator made of its own accord, each to be told with its path."""
    places = [("." if item["loc"] else ": ") + _mistake(schema, item) for item in _told_once(error.errors())]
    return PydanticCustomError(NESTED, "{mistakes}", {"mistakes": places})


def _told_once(items: Sequence[Any]) -> list[Any]:
    """The mistakes without what other kinds of a union would want, where the value is of one of its kinds.

    Of the numbers that a short list lacks the last one is told, which says how many there are to be.
    """
    lacking = {item["loc"] for item in items if item["type"] == "missing"}
    items = [item for item in items if not (_numbered(item) and (*item["loc"][:-1], item["loc"][-1] + 1) in lacking)]
    places = [tuple(part for part in item["loc"] if not KIND_OF_UNION.match(str(part))) for item in items]
    told: dict[int, Any] = {}
    for k, (item, place) in enumerate(zip(items, places, strict=True)):
        of_union = len(place) < len(item["loc"])
        others = [j for j, other in enumerate(places) if j != k and other[: len(place)] == place]
        nearer = [j for j in others if not items[j]["type"].endswith("_type")]
        if not (of_union and item["type"].endswith("_type") and (nearer or any(j in told for j in others))):
            told[k] = item
    return list(told.values())


def _numbered(item: Any) -> bool:
    """True for what is lacking in a list."""
    return item["type"] == "missing" and isinstance(item["loc"][-1], int)


def wanted(item: Any) -> str:
    """What may stand where pydantic found a mistake, as in "a number"; empty where its message is a sentence."""
    message, bounds = PLAIN.get(item["type"], item["msg"]), item.get("ctx", {})
    if FAR in (bounds.get("le"), -bounds.get("ge", 0.0)):
        return f"a number of a size below {FAR:.0e}"
    if not message.startswith(ADVICE):
        return ""
    what = str(message.removeprefix(ADVICE))
    return f"a number {what}" if what.startswith(("greater", "less")) else what


def _mistake(schema: type[BaseModel], item: Any) -> str:
    """One mistake: its path, the value that was given where that is short, and what may stand there."""
    kind, message = item["type"], item["msg"]
    path, found = _walk(schema, item["loc"])
    if kind == NESTED:
        return "; ".join(path + mistake for mistake in item["ctx"]["mistakes"])
    if kind == "missing":
        if not _numbered(item):
            return f"{path} is missing; give it"
        return f"{path.rpartition('.')[0]} has too few numbers; give {item['loc'][-1] + 1}"
    if kind == "too_long":
        return f"{path} has too many numbers; give {item['ctx']['max_length']}"
    message = PLAIN.get(kind, message)
    if kind in ("extra_forbidden", "model_type"):
        names = list(dict.fromkeys(name for inner in found for name in inner.model_fields))
        known, close = ", ".join(names) or "none", difflib.get_close_matches(path.rpartition(".")[2], names, n=1)
        if kind == "extra_forbidden":
            outer, _, name = path.rpartition(".")
            if outer and name in schema.model_fields and name not in names:
                return f"{path}: unknown key (known here: {known}); move {name} to the top, before the first table"
            close = close or ([] if outer else _deeper(schema, name))
            return f"{path}: unknown key (known here: {known}){f', perhaps {close[0]}' if close else ''}"
        return f"{path}: give a table (of {known}), or {f'write {close[0]}' if close else 'mend the key'}"
    message = message.removeprefix("Value error, ")
    if path and (what := wanted(item)):
        return f"{path}{_said(item['input'])}; give {what}"
    return f"{path}: {message}" if path else message


def _deeper(schema: type[BaseModel], name: str) -> list[str]:
    """The paths of the key `name` in the tables of a schema."""
    tables = {key: field.default for key, field in schema.model_fields.items() if isinstance(field.default, BaseModel)}
    return [f"{key}.{name}" for key, table in tables.items() if name in type(table).model_fields]


def _said(value: Any) -> str:
    """What was given, where that is short."""
    given = repr(value)
    return f" is {given}" if len(given) <= LONGEST_VALUE else " cannot be used"


def _walk(schema: type[BaseModel], place: Place) -> tuple[str, list[type[BaseModel]]]:
    """The path of an error as a user would write it, and the schemas of the table it lies in."""
    path: list[str] = []
    found = [schema]
    for part in place:
        if isinstance(part, str) and KIND_OF_UNION.match(part):
            continue
        fields = [inner.model_fields[part] for inner in found if part in inner.model_fields]
        tagged = [inner for inner in found if part in _kinds(inner)]
        others = [inner.OTHERS for inner in found if hasattr(inner, "OTHERS")]
        if not fields and tagged:  # the tag by which a table was told from others of its union is no key of the user's
            found = tagged
            continue
        path.append(str(part))
        if fields:
            found = [inner for field in fields for inner in _schemas(field.annotation)] or found
        elif others:
            found = others
    return ".".join(path), found


def _kinds(schema: type[BaseModel]) -> tuple[Any, ...]:
    return get_args(schema.model_fields["kind"].annotation) if "kind" in schema.model_fields else ()


def _schemas(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _schemas(inner)
