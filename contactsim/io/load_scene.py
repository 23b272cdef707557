"""Runs by a name or a file: of robots, models, scenes and initialization files."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from ..common import registry
from ..common.arguments import PATH, TEXT, arguments, custom, several
from ..common.schemas import unknown_robot
from ..errors import InputError
from ..multibody.catalogue import robot_entries, robot_entry
from .scene_run import SceneRun

if TYPE_CHECKING:
    from .initfile import InitFile
    from .scene_tables import Scene

ROBOT_FILES = (".urdf", ".xml", ".mjcf")
KEYS_OF_RUNS = ("time", "rtol", "atol", "integrator", "max_step", "record_period", "max_events", "accumulation")
SETTINGS = several(
    TEXT, 'a list of settings "KEY=VALUE"', inside={name: f'["run.{name}=..."]' for name in KEYS_OF_RUNS}
)


@arguments(
    source=custom("the name of a robot or model, or the path of a file", PATH.take),
    settings=SETTINGS,
)
def load_scene(source: str | PathLike[str], settings: Iterable[str] = ()) -> SceneRun:
    """A run by the name of a robot or a model, or from a file; what `contactsim run` runs.

    Args:
        source: name of a robot ("hexapod") or model ("slip"), scene.toml, robot.urdf, robot.xml (MJCF), or an
            initialization file (.rc) of a model.
        settings: keys of the scene, or symbols of the model, that replace what is there: "contact.friction=0.4".

    Returns:
        An object with the `system`, its `state` at the start and the `options` of its run, and `simulate(time)`.

    Raises:
        InputError: there is no such name or file, or a key or value in it cannot be used; each is named.
    """
    what = str(fspath(source))
    if is_model(what):
        return read_model(what, settings).prepared()
    from . import scene

    return scene.build(read_scene(what, settings))


def landing_of(source: str) -> str:
    """The scene file of a landing that the catalogue has for the robot of this name; else the source itself."""
    own = getattr(robot_entry(source), "landing", None)
    return source if own is None else str(own)


def is_model(source: str) -> bool:
    """True for the name of a model, or a file with the symbols of one."""
    suffix = Path(source).suffix.lower()
    if suffix not in ("", ".rc", ".toml"):
        return False
    if not suffix:
        return source in registry.names("models")
    from . import initfile

    return initfile.is_initfile(source)


def read_model(source: str, changes: Iterable[str] = ()) -> InitFile:
    """The symbols of a model, by its name or from an initialization file."""
    from . import initfile

    changes = tuple(changes)
    return initfile.read(source, changes=changes) if Path(source).suffix else initfile.named(source, changes)


def read_scene(source: str, settings: Iterable[str] = ()) -> Scene:
    """The scene of a robot by its name, of a robot's file, or of a scene file."""
    settings, suffix = tuple(settings), Path(source).suffix.lower()
    if suffix in (*ROBOT_FILES, ".toml") and Path(source).expanduser().is_dir():
        raise InputError(f"{source} is a folder; give a file")
    if suffix in (*ROBOT_FILES, ".toml") and not Path(source).expanduser().is_file():
        raise InputError(f"there is no file {source}; check the path")
    robot = None if suffix == ".toml" else _robot_table(source, suffix)
    from . import scene  # and with it pinocchio, for which a wrong name does not wait

    if robot is None:
        return scene.read(source, settings)
    return scene.assemble({"robot": robot}, settings, where="the options" if settings else source)


def _robot_table(source: str, suffix: str) -> dict[str, str]:
    """The table [robot] of the name or the file of a robot."""
    if suffix in ROBOT_FILES:
        return {"file": str(Path(source).expanduser().resolve())}
    if suffix or "/" in source:
        raise InputError(f"{source} is of no known kind; give the name of a robot, .urdf, .xml (MJCF), .toml or .rc")
    if robot_entry(source) is None:
        raise unknown_robot(source, robot_entries(), registry.names("models"))
    return {"name": source}
