"""The robots of the package example-robot-data, where it is installed, with their feet and standing postures.

The wheel holds data only, so its folder is looked for. Not listed are Cassie (an SDF file, which pinocchio's wheel does
not read), ``ur3.urdf`` (it has no robot name), and variants of robots that are listed. Massless links at the ends of
chains make the mass matrices of ``romeo.urdf`` and ``icub.urdf`` singular: "romeo" and "icub" are the reduced files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from sys import prefix
from typing import Any, get_args

import numpy as np

from .entry import Array, Demo, RobotEntry, Root, foot

FOLDER = "share/example-robot-data/robots"
LIMIT_INSET = 0.01
"""Part of its range by which a joint of a nominal posture stays away from its limits."""

Feet = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Row:
    """One robot of the data set, a line of `example_data.toml`.

    Args:
        name: its short name, that of the data set's own loader where that has one.
        urdf: file below the robots' folder.
        about: a few words for the listing.
        root: how its first link is joined to the world.
        srdf: file with reference postures, or empty; in the table its name alone.
        posture: the reference posture to stand in.
        angles: angle by the end of a joint's name, rad, in place of the reference posture's.
        tilt: quaternion (x, y, z, w) of the free-flying root, where no reference posture exists.
        feet: contact points; in the table the name of an entry of [feet], with its radius where it differs [m].
        drop: height above the floor from which the standing demonstration starts, m; None for no demonstration.
        time: duration of that demonstration, s.
    """

    name: str
    urdf: str
    about: str
    root: Root = "free_flyer"
    srdf: str = ""
    posture: str = "standing"
    angles: Mapping[str, float] = field(default_factory=dict)
    tilt: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    feet: Feet = ()
    drop: float | None = None
    time: float = 1.5


def feet(
    frames: str,
    x: Iterable[float] = (0.0,),
    y: Iterable[float] = (0.0,),
    z: Iterable[float] = (0.0,),
    radius: float = 0.0,
    mirrored: bool = False,
) -> Feet:
    """A foot of `radius` at each of the points x, y, z [m] of the frames (names parted by blanks)."""
    corners = list(product(x, y, z))
    return tuple(
        foot(frame, f"{frame}/{k}" if len(corners) > 1 else frame, (cx, -cy if mirrored and i % 2 else cy, cz), radius)
        for i, frame in enumerate(frames.split())
        for k, (cx, cy, cz) in enumerate(corners)
    )


def rows() -> Iterator[Row]:
    """The robots of the table beside this file."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    for root in get_args(Root):
        for name, keys in table.get(root, {}).items():
            own = {"radius": keys.pop("radius")} if "radius" in keys else {}
            if "srdf" in keys:
                keys["srdf"] = f"{Path(keys['urdf']).parts[0]}/srdf/{keys['srdf']}.srdf"
            if "feet" in keys:
                keys["feet"] = feet(**table["feet"][keys["feet"]] | own)
            if "angles" in keys:
                keys["angles"] = table["angles"][keys["angles"]]
            yield Row(name, root=root, **keys)


def entries() -> tuple[RobotEntry, ...]:
    """Entries of all robots whose files are here; none where the data is not installed."""
    robots = data_folder()
    if robots is None:
        return ()
    return tuple(_entry(row, robots) for row in rows() if (robots / row.urdf).is_file())


@cache
def data_folder() -> Path | None:
    """Folder ``robots`` of example-robot-data, or None."""
    return next((folder for folder in _candidates() if folder.is_dir()), None)


def _candidates() -> Iterator[Path]:
    """Places to look: the installed distribution's files, pinocchio's prefix, Python's prefix."""
    try:
        package = distribution("example-robot-data")
    except PackageNotFoundError:
        pass
    else:
        for file in package.files or ():
            head, found, _ = file.as_posix().partition(FOLDER)
            if found:
                yield Path(str(package.locate_file(head))) / FOLDER
                break
    pinocchio = find_spec("pinocchio")
    if pinocchio is not None and pinocchio.origin is not None:
        yield Path(pinocchio.origin).parents[4] / FOLDER
    yield Path(prefix) / FOLDER


def _entry(row: Row, robots: Path) -> RobotEntry:
    return RobotEntry(
        name=row.name,
        description=row.about,
        path=robots / row.urdf,
        root=row.root,
        package_dirs=(robots.parents[1],),
        feet=row.feet,
        nominal=partial(_nominal, row, robots),
        demo=None if row.drop is None else partial(_stand, row, robots, row.drop),
    )


def _nominal(row: Row, robots: Path, model: Any) -> Array:
    from .posture import settle

    q = _posture(row, robots, model)
    return settle(model, q, row.feet) if row.feet else q


def _stand(row: Row, robots: Path, drop: float, model: Any) -> Demo:
    from .posture import standing_demo

    return standing_demo(model, _nominal(row, robots, model), drop, row.time, row.feet)


def _posture(row: Row, robots: Path, model: Any) -> Array:
    """Reference posture, or the given angles, with every joint moved inside its limits, so that none is in contact."""
    import pinocchio as pin

    q: Array
    if row.srdf:
        annotated = model.copy()
        pin.loadReferenceConfigurations(annotated, str(robots / row.srdf), False)
        q = pin.normalize(model, annotated.referenceConfigurations[row.posture])
    else:
        q = pin.neutral(model)
        if row.root == "free_flyer":
            q[3:7] = row.tilt
    for joint in range(1, model.njoints):
        if model.nqs[joint] != 1:
            continue
        i = model.idx_qs[joint]
        q[i] = next((angle for end, angle in row.angles.items() if model.names[joint].endswith(end)), q[i])
        low, high = model.lowerPositionLimit[i], model.upperPositionLimit[i]
        inset = LIMIT_INSET * (high - low)
        q[i] = np.clip(q[i], low + inset, high - inset) if np.isfinite(inset) else q[i]
    return q
