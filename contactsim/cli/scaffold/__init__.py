"""`contactsim new-plugin`: an installable package with a plugin, its test and a README."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ...common import registry
from ...errors import InputError

TEMPLATES = Path(__file__).parent
LAW_RUN = "hexapod --law {}"


class Kind(NamedTuple):
    """A kind of plugin: the group of its entry point, what it is called, and a run that uses it."""

    group: str
    noun: str
    run: str


KINDS = {
    "compliant": Kind("contact_laws", "compliant contact law", LAW_RUN),
    "rigid": Kind("contact_laws", "rigid contact law", LAW_RUN),
    "model": Kind("models", "model", "{}"),
    "controller": Kind("controllers", "controller", "hexapod --time 0.2 --set controller.kind={}"),
    "event": Kind("event_derivatives", "derivative of events", "biped --time 1 --linearize"),
}
NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
LONGEST = 60  # letters of a name


def write(name: str, kind: str, where: Path) -> list[Path]:
    """Write the package `name` into a new folder of `where`; returns its files.

    Args:
        name: of the plugin, of its distribution and, with underscores, of its module.
        kind: one of KINDS.
        where: folder in which the package's own folder is made.

    Raises:
        InputError: the kind or the name cannot be used, or there is such a folder already.
    """
    if kind not in KINDS:
        *others, last = KINDS
        raise InputError(f"the kind is '{kind}'; give {', '.join(others)} or {last}")
    chosen = KINDS[kind]
    _demand_usable(name, chosen.group)
    folder = where / name
    if folder.exists():
        raise InputError(f"{name} is there already and is not written over; choose another name, or remove it")
    module = name.replace("-", "_")
    words = {
        "@name@": name,
        "@module@": module,
        "@Class@": "".join(part.capitalize() for part in module.split("_")),
        "@group@": chosen.group,
        "@noun@": chosen.noun,
        "@run@": f"contactsim run {chosen.run.format(name)}",
    }
    files = {
        "pyproject.toml": "pyproject.toml.txt",
        "README.md": "README.md.txt",
        f"src/{module}/__init__.py": f"{kind}.py.txt",
        f"tests/test_{module}.py": "test.py.txt",
    }
    written = []
    try:
        for target, template in files.items():
            path = folder / target
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filled((TEMPLATES / template).read_text(encoding="utf-8"), words), encoding="utf-8")
            written.append(path)
    except OSError as error:
        raise InputError(f"cannot write {folder} ({error.strerror}); go to a folder of your own") from error
    return written


def announce(files: Iterable[Path]) -> None:
    """Say what was written, and what to do next."""
    from ...common.terminal import terminal

    console = terminal()
    files = list(files)
    folder = files[0].parent
    for file in files:
        console.print(f"wrote {folder.name}/{file.relative_to(folder)}", markup=False)
    console.print(f"next: pip install -e {folder.name} && contactsim check {folder.name}", markup=False)


def _demand_usable(name: str, group: str) -> None:
    module = name.replace("-", "_")
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise InputError(
            f"'{name}' is no name for a package; give small letters and digits, with _ or - between words, as in my_law"
        )
    if keyword.iskeyword(module) or keyword.issoftkeyword(module) or module in sys.stdlib_module_names:
        raise InputError(f"'{name}' means something in Python already; choose another name")
    if name in registry.names(group):
        raise InputError(f"contactsim.{group} has a plugin '{name}' already; choose another name")
    spec = find_spec(module)
    if spec is not None and spec.origin is not None:  # not just a folder of that name
        raise InputError(f"there is a Python package '{module}' already; choose another name")


def _filled(text: str, words: dict[str, str]) -> str:
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text
