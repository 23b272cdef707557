"""Robots by name, from the catalogues that plugins register."""

from __future__ import annotations

from pathlib import Path

from ..common.doors import NAME, custom, door
from ..common.schemas import unknown_robot
from .contact_point import ContactPoint
from .loops import followed
from .robot import Robot
from .robot_names import robot_entries


@door(name=custom("the name of a robot, `contactsim robots` lists them", NAME.take))
def load_robot(name: str) -> Robot:
    """A robot by the name of a catalogue.

    Raises:
        InputError: no catalogue knows the name; similar ones are told.
    """
    entry = robot_entries().get(name)
    if entry is None:
        raise unknown_robot(name, robot_entries())
    contacts = [ContactPoint(**foot) for foot in entry.feet] or "auto"
    path = Path(entry.path)
    if path.suffix == ".urdf":
        robot = Robot.from_urdf(path, entry.root, entry.package_dirs or None, contacts)
    else:
        robot = Robot.from_mjcf(path, contacts)
    robot = robot.with_armature(entry.armature) if entry.armature else robot
    nominal = followed(robot.model, robot.loops, entry.nominal(robot.model))  # what mimics, where the others put it
    return robot._with(name=name, _nominal=nominal)
