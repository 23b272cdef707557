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

SETTLED = 1e-13
"""Largest height of a settled foot point above the floor, m."""
SETTLING_STEPS = 20

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
    q = _posture(row, robots, model)
    return settle(model, q, row.feet) if row.feet else q


def _stand(row: Row, robots: Path, drop: float, model: Any) -> Demo:
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


# --- standing -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hold:
    """Reference that stays at one configuration, without feed-forward."""

    q: Array
    nv: int

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Evaluate (q_ref, v_ref, tau_ff)."""
        return self.q, np.zeros(self.nv), np.zeros(self.nv)


def foot_heights(model: Any, q: Array, feet: Iterable[Mapping[str, Any]]) -> Array:
    """Height of the lowest point of each foot above the floor z = 0, m."""
    return _heights(model, model.createData(), q, feet)


def raise_to_floor(model: Any, q: Array, feet: Iterable[Mapping[str, Any]]) -> Array:
    """Lift or lower a free-flying root until the lowest foot point lies at z = 0."""
    raised = q.copy()
    raised[2] -= foot_heights(model, q, feet).min()
    return raised


def settle(model: Any, q: Array, feet: tuple[Mapping[str, Any], ...]) -> Array:
    """Put all feet of a free-flying robot on the floor by the smallest change of its posture.

    Newton's method on heights(q (+) dq) = 0 with steps of least norm, in which the root and all joints move.
    Where no posture has every foot on the floor, the lowest one is put there.
    """
    import pinocchio as pin

    data = pin.Data(model)
    q = raise_to_floor(model, q, feet)
    for _ in range(SETTLING_STEPS):
        heights = _heights(model, data, q, feet)
        if np.abs(heights).max() < SETTLED:
            break
        rows = np.array([_height_row(model, data, q, foot) for foot in feet])
        q = pin.integrate(model, q, -np.linalg.lstsq(rows, heights, rcond=1e-6)[0])
    return raise_to_floor(model, q, feet)


def standing_demo(model: Any, q: Array, drop: float, time: float, feet: tuple[Mapping[str, Any], ...]) -> Demo:
    """Drop a free-flying robot from `drop` metres and hold its posture."""
    raised = q.copy()
    raised[2] += drop
    kp, kd = standing_gains(model, q, feet)
    return Demo(raised, np.zeros(model.nv), time, reference=Hold(q, model.nv), kp=kp, kd=kd)


def standing_gains(model: Any, q: Array, feet: Iterable[Mapping[str, Any]]) -> tuple[Array, Array]:
    """Stiffness and damping that hold a posture: legs by the robot's weight, the other joints by their own inertia.

    A leg joint resists three times the toppling moment per radian, m g h with h the height of the centre of mass, with
    the time constant 0.1 sqrt(h / g). Any other joint is a critically damped oscillator of 20 rad/s.
    """
    import pinocchio as pin

    data = pin.Data(model)
    inertia = np.diag(pin.crba(model, data, q)).copy()
    mass = pin.computeTotalMass(model)
    height = pin.centerOfMass(model, data, q)[2]
    gravity = np.linalg.norm(model.gravity.linear)
    kp, kd = 400.0 * inertia, 40.0 * inertia
    legs = _leg_joints(model, feet)
    kp[legs] = 3.0 * mass * gravity * height
    kd[legs] = 0.1 * kp[legs] * np.sqrt(height / gravity)
    kp[:6] = kd[:6] = 0.0
    return kp, kd


def _leg_joints(model: Any, feet: Iterable[Mapping[str, Any]]) -> list[int]:
    """Velocity indices of the joints between the root and a foot, the root's excluded."""
    ends = [model.frames[_frame(model, foot)].parentJoint for foot in feet]
    joints = {joint for end in ends for joint in model.supports[end] if joint > 1}
    return sorted(model.idx_vs[joint] + k for joint in joints for k in range(model.nvs[joint]))


def _frame(model: Any, foot: Mapping[str, Any]) -> int:
    return int(model.getFrameId(foot["frame"]))


def _heights(model: Any, data: Any, q: Array, feet: Iterable[Mapping[str, Any]]) -> Array:
    import pinocchio as pin

    pin.framesForwardKinematics(model, data, q)
    return np.array([data.oMf[_frame(model, foot)].act(np.array(foot["offset"]))[2] - foot["radius"] for foot in feet])


def _height_row(model: Any, data: Any, q: Array, foot: Mapping[str, Any]) -> Array:
    """Derivative of a foot's height by the configuration's tangent, (nv,)."""
    import pinocchio as pin

    frame = _frame(model, foot)
    jacobian = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
    arm = data.oMf[frame].rotation @ np.array(foot["offset"])
    row: Array = jacobian[2] + arm[1] * jacobian[3] - arm[0] * jacobian[4]
    return row
