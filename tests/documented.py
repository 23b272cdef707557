"""The programs of docs/examples as modules."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"


@cache
def example(name: str) -> ModuleType:
    """A program, under a name by which nothing else imports it: dataclasses look for it among the modules."""
    known = f"documented_{name}"
    spec = importlib.util.spec_from_file_location(known, EXAMPLES / f"{name}.py")
    sys.modules[known] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
