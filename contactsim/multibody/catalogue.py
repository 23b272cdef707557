"""Robots by name, from the catalogues that plugins register; names are found without pinocchio."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common import registry
from ..common.arguments import NAME, arguments, custom
from ..common.telling import tell
from ..errors import InputError

if TYPE_CHECKING:
    from .robot import Robot

FILES = {".urdf": "from_urdf", ".xml": "from_mjcf", ".mjcf": "from_mjcf"}  # by their suffixes, and what reads them


def robot_entries() -> dict[str, Any]:
    """Entries of all registered catalogues by name."""
    return {name: entry for entries in _asked(dict) for name, entry in entries.items()}


def robot_entry(name: str) -> Any:
    """The entry of a name, of the last catalogue that knows it; None: none does."""
    found = [entry for entry in _asked(lambda table: table.get(name)) if entry is not None]
    return found[-1] if found else None


def _asked(question: Callable[[Any], Any]) -> Iterator[Any]:
    """The answer of each catalogue to a question; a broken one is told of, and does not stop the others."""
    for name, catalogue in registry.load_all("robots"):
        try:
            answer = question(catalogue())
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            tell(f"the catalogue '{name}' of contactsim.robots fails with {reason}")
        else:
            yield answer


@arguments(name=custom("the name of a robot, `contactsim robots` lists them", NAME.take))
def load_robot(name: str) -> Robot:
    """A robot by the name of a catalogue.

    Raises:
        InputError: no catalogue knows the name; similar ones are told.
    """
    from .contact_point import ContactPoint
    from .loops import followed
    from .robot import Robot

    entry = robot_entry(name)
    if entry is None and Path(name).suffix.lower() in FILES:
        reader = FILES[Path(name).suffix.lower()]
        raise InputError(f"load_robot takes the name of a robot, and {name} is a file; give it to Robot.{reader}")
    if entry is None:
        from ..common.schemas import unknown_robot

        raise unknown_robot(name, robot_entries())
    contacts = [ContactPoint(**foot) for foot in entry.feet] or "auto"
    path = Path(entry.path)
    if path.suffix == ".urdf":
        robot = Robot.from_urdf(path, entry.root, entry.package_dirs or None, contacts)
    else:
        robot = Robot.from_mjcf(path, contacts=contacts)
    robot = robot.with_armature(entry.armature) if entry.armature else robot
    nominal = followed(robot.model, robot.loops, entry.nominal(robot.model))  # what mimics, where the others put it
    return robot._with(name=name, _nominal=nominal)
