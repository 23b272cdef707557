"""An MJCF file as MuJoCo's own compiler reads it: defaults, includes, frames and assets are its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from ...common.arguments import FAR
from ...common.arrays import Array
from ...common.lazy import dataclass
from ...errors import InputError

FREE, BALL, SLIDE, HINGE = range(4)  # MuJoCo's kinds of joints
KINDS = ("free", "ball", "slide", "hinge")
WORLD = 0  # MuJoCo's number of the body that does not move
NUMBERS = {  # arrays of the compiled model that bear on motion, by MuJoCo's word for what they are of
    "body": ("pos", "quat", "ipos", "iquat", "mass", "inertia", "gravcomp"),
    "jnt": ("pos", "axis", "range", "stiffness", "actfrcrange"),
    "dof": ("damping", "armature", "frictionloss"),
    "geom": ("pos", "quat", "size", "friction"),
    "site": ("pos", "quat"),
    "eq": ("data",),
    "actuator": ("gear", "gainprm", "biasprm", "dynprm", "ctrlrange", "forcerange", "actrange"),
    "key": ("qpos", "ctrl"),
}
NOT_NEGATIVE = ("damping", "armature", "frictionloss", "friction")
ELEMENTS = {"jnt": "joint", "dof": "joint", "eq": "equality"}  # those that MJCF calls otherwise


@dataclass(frozen=True)
class Compiled:
    """A compiled file.

    Attributes:
        path: of the file.
        m: MuJoCo's mjModel.
        spec: the elements from which it was compiled.
        bodies, joints, geoms: names, made up where the file gives none.
    """

    path: Path
    m: Any
    spec: Any
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    geoms: tuple[str, ...]

    def joints_of(self, body: int) -> range:
        """Numbers of the joints of a body."""
        first = int(self.m.body_jntadr[body])
        return range(first, first + int(self.m.body_jntnum[body])) if first >= 0 else range(0)

    def moves(self, body: int) -> bool:
        """True for a body that is not fixed to the world."""
        return int(self.m.body_weldid[body]) != WORLD

    def line(self, elements: Sequence[Any], index: int) -> str:
        """Place of an element of the specification in the file, such as "line 12"; empty where it is not known."""
        found = next((element for element in elements if element.id == index), None)
        return "" if found is None else known_line(found)

    def configuration(self, qpos: Any) -> Array:
        """MuJoCo's qpos (nq,) as a configuration: quaternions are (x, y, z, w) here."""
        q = np.array(qpos, dtype=float)
        for kind, first in zip(self.m.jnt_type, self.m.jnt_qposadr, strict=True):
            if kind in (FREE, BALL):
                at = int(first) + (3 if kind == FREE else 0)
                w, x, y, z = q[at : at + 4] / np.linalg.norm(q[at : at + 4])
                q[at : at + 4] = x, y, z, w
        return q


def known_line(element: Any) -> str:
    """Place of an element in its file, such as "line 12"; empty for one of another file that is attached to it."""
    return "" if str(element.info) == "line 0" else str(element.info)


def placed(position: Any, quaternion: Any) -> Any:
    """A placement (pin.SE3) from a position [m] and MuJoCo's quaternion (w, x, y, z)."""
    w, x, y, z = (float(part) for part in quaternion)
    rotation = pin.Quaternion(w, x, y, z).normalized().toRotationMatrix()
    return pin.SE3(rotation, np.array(position, dtype=float))


def compiled(path: Path, package_dirs: Sequence[str | Path] = ()) -> Compiled:
    """A file, compiled by MuJoCo.

    Args:
        path: of the file.
        package_dirs: folders in which meshes are looked up that are not where the file says.

    Raises:
        InputError: the package `mujoco` is not installed, or its compiler refuses the file.
    """
    try:
        import mujoco
    except ImportError:
        raise InputError(
            f'MJCF files such as {path.name} are read by MuJoCo\'s own compiler; pip install "contactsim[mjcf]"'
        ) from None
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        _find_assets(spec, path, [Path(folder).expanduser() for folder in package_dirs])
        m = spec.compile()
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"the MJCF file {path} cannot be read ({reason}); mend it there") from error
    bodies = [m.body(k).name for k in range(m.nbody)]
    bodies = _named(["universe", *bodies[1:]], [f"body{k}" for k in range(m.nbody)])
    joints = _joint_names(m, bodies)
    geoms = [m.geom(k).name for k in range(m.ngeom)]
    found = Compiled(path, m, spec, tuple(bodies), tuple(joints), tuple(_named(geoms, _geom_names(m, bodies))))
    _check_numbers(found)
    return found


def _check_numbers(source: Compiled) -> None:
    """Refuse numbers that are not finite, which MuJoCo takes, and negative ones of what only takes energy."""
    m, place = source.m, f"the MJCF file {source.path}"
    for kind, arrays in NUMBERS.items():
        for array in arrays:
            for k, row in enumerate(getattr(m, f"{kind}_{array}")):
                positive = array in NOT_NEGATIVE
                if wrong := [x for x in np.ravel(row) if not abs(x) < FAR or (positive and x < 0.0)]:
                    owner = f"{ELEMENTS.get(kind, kind)} '{_name(source, kind, k)}' in {place}"
                    what = "a number that is zero or positive" if positive else "a finite number"
                    raise InputError(f"the {array} of {owner} is {wrong[0]:g}; give {what}")
    for word, numbers in (("gravity", m.opt.gravity), ("a ref", m.qpos0), ("a springref", m.qpos_spring)):
        if wrong := [x for x in numbers if not abs(x) < FAR]:
            raise InputError(f"{place} has {word} of {wrong[0]:g}; give a finite number")


def _name(source: Compiled, kind: str, index: int) -> str:
    """What the file calls something; its number where it has no name."""
    if kind in ("jnt", "dof"):
        return source.joints[index if kind == "jnt" else source.m.dof_jntid[index]]
    if kind in ("body", "geom"):
        return (source.bodies if kind == "body" else source.geoms)[index]
    return getattr(source.m, kind)(index).name or str(index)


def _find_assets(spec: Any, path: Path, folders: Sequence[Path]) -> None:
    """Give files that are not where the MJCF file says the place at which one of the folders has them."""
    for assets, home in ((spec.meshes, spec.meshdir), (spec.textures, spec.texturedir), (spec.hfields, spec.meshdir)):
        for asset in assets:
            name = str(asset.file).removeprefix("package://")
            if not name or (path.parent / home / name).is_file():
                continue
            found = next((place for place in _places(name, folders) if place.is_file()), None)
            if found is not None:
                asset.file = str(found.resolve())


def _places(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield folder / name
        yield folder / Path(name).name


def _named(names: Sequence[str], instead: Sequence[str]) -> list[str]:
    """Names, with others for those that are empty; none appears twice."""
    taken, found = {name for name in names if name}, []
    for name, other in zip(names, instead, strict=True):
        chosen, k = name or other, 1
        while not name and chosen in taken:
            k += 1
            chosen = f"{other}_{k}"
        taken.add(chosen)
        found.append(chosen)
    return found


def _joint_names(m: Any, bodies: Sequence[str]) -> list[str]:
    instead = [f"{bodies[m.jnt_bodyid[k]]}_{KINDS[m.jnt_type[k]]}" for k in range(m.njnt)]
    return _named([m.joint(k).name for k in range(m.njnt)], instead)


def _geom_names(m: Any, bodies: Sequence[str]) -> list[str]:
    return [f"{bodies[body]}_geom" for body in m.geom_bodyid]
