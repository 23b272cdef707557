"""docs/use/scenes.md lists every key that a scene may have, table by table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from contactsim.io import scene_tables, terrain_schema
from contactsim.io.scene_tables import Coefficients

PAGE = Path(__file__).resolve().parents[2] / "docs/use/scenes.md"
KEYS = set(re.findall(r"`(\w+)`|\[([a-z]+)", PAGE.read_text(encoding="utf-8").partition("## All keys")[2]))
NAMED = {name for pair in KEYS for name in pair if name}
TABLES = {
    name: table
    for module in (scene_tables, terrain_schema)
    for name, table in vars(module).items()
    if isinstance(table, type) and issubclass(table, BaseModel)
}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_key_of_a_table_is_listed(name: str) -> None:
    assert not set(TABLES[name].model_fields) - NAMED


def test_coefficients_are_listed_where_they_are_explained() -> None:
    row = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `[contact]`"))
    assert all(f"`{name}`" in row for name in Coefficients.model_fields)
