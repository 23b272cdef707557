"""CONTRIBUTING.md: whatever it says is somewhere is there, and every floor is drawn."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from test_packaging import FLOORS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ANSWERS = re.findall(r"`([\w/]+\.py)::([\w.]+)`", TEXT)
FILES = re.findall(r"`((?:contactsim|tests|docs|plugins|viz|robots|\.ci)/[\w./]*)`", TEXT)
SMALL = 1e-3  # numbers below it that something is compared with decide "is this zero?"


def test_there_are_answers_to_twenty_questions() -> None:
    assert sum("::" in line for line in TEXT.splitlines() if line.startswith("|")) >= 20


@pytest.mark.parametrize(("file", "name"), ANSWERS, ids=[f"{file}::{name}" for file, name in ANSWERS])
def test_the_answer_is_there(file: str, name: str) -> None:
    node: ast.AST = ast.parse((ROOT / "contactsim" / file).read_text(encoding="utf-8"))
    for part in name.split("."):
        node = next(child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == part)


@pytest.mark.parametrize("name", dict.fromkeys(FILES))
def test_files_that_are_named_are_there(name: str) -> None:
    assert (ROOT / name).exists() or name == "build/site"


def test_every_floor_is_drawn_from_the_top_down() -> None:
    drawn = re.findall(r"^  (\w+) {2,}", TEXT, re.MULTILINE)
    assert ["errors", *reversed(drawn)] == list(FLOORS)


@pytest.mark.parametrize("folder", ["hybrid", "contact", "multibody", "contact_dynamics", "derivatives", "analysis"])
def test_no_zero_test_has_a_bare_number(folder: str) -> None:
    assert (ROOT / "contactsim" / folder / "zero.py").exists()
    for file in (ROOT / "contactsim" / folder).rglob("*.py"):
        compared = (n for n in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(n, ast.Compare))
        numbers = [n.value for test in compared for n in ast.walk(test) if isinstance(n, ast.Constant)]
        bare = [n for n in numbers if isinstance(n, float) and 0.0 < n < SMALL]
        assert not bare, f"{file} compares with {bare}; name them in {folder}/zero.py"
