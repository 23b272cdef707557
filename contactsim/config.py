"""Schemas of what a user writes: parameters of plugins and scene files."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .errors import InputError

Schema = TypeVar("Schema", bound=BaseModel)


def validated(schema: type[Schema], values: dict[str, Any], where: str) -> Schema:
    """An instance of `schema` with `values`; every mistake is reported at once.

    Raises:
        InputError: a name is unknown or a value out of range; `where` says of what.
    """
    try:
        return schema(**values)
    except ValidationError as error:
        known = ", ".join(schema.model_fields) or "none"
        mistakes = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'value'}: {item['msg']}" for item in error.errors()
        )
        raise InputError(f"{where}: {mistakes} (its parameters are: {known})") from None
