"""Initialization files that come with the models: in a folder `examples` beside a model's module, found by name."""

from __future__ import annotations

import difflib
from pathlib import Path

from ..common import registry
from ..errors import InputError

SUFFIXES = (".rc", ".toml")
SHOWN = 3  # names that are like a wrong one


def examples() -> dict[str, Path]:
    """The examples of all registered models, {name of the file: file}; no model is imported."""
    folders = dict.fromkeys(home / "examples" for home in registry.homes("models"))
    files = (file for folder in folders for file in sorted(folder.glob("*")) if file.suffix in SUFFIXES)
    return {file.name: file for file in files}


def located(path: str | Path) -> Path:
    """The file at a path, or, where there is none and the path is a name alone, the example of that name."""
    path = Path(path).expanduser()
    if path.exists():
        return path
    if path.suffix not in SUFFIXES or path.name != str(path):
        raise InputError(f"there is no file {path}; check the path")
    known = examples()
    if path.name not in known:
        close = difflib.get_close_matches(path.name, known, n=SHOWN) or sorted(known)
        raise InputError(f"there is no file {path}; check the path, or give one of the examples: {', '.join(close)}")
    return known[path.name]
