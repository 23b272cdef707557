"""A robot read from an MJCF file, which is compiled once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import dataclass
from ...common.telling import tell
from ...errors import InputError
from ..actuators import Actuator
from ..contact_point import ContactPoint
from ..geometry.meetings import Meeting
from ..geometry.solids import Solid
from ..loops import Loop
from ..robot_files.reading import listed
from ..springs import Springs
from ..terrain import Terrain
from .compiled import compiled
from .drives import actuators_of, home_key
from .equalities import loops_of
from .left_out import left_out
from .shapes import SHAPES, geometry
from .touching import Touching, not_exact, terrain_of, touching
from .tree import springs_of, tree_of


@dataclass(frozen=True)
class FileRobot:
    """A robot as an MJCF file describes it.

    Attributes:
        model: pinocchio's model.
        nominal: configuration (nq,) of the keyframe "home", else that in which the file has it.
        contacts: contact points that were asked for.
        solids: the shapes of its bodies and of the world.
        meetings: which of them touch each other.
        kept_apart: {names of two shapes: why they are left out, or MEANT}.
        loops: the equalities.
        springs: of the joints.
        gravity: (3,) [m/s^2].
        terrain: the ground.
        actuators: those that are linear.
        actuated: mask (nv,) of the velocities that have an actuator; None where the file has none at all.
        warning: what is left out; empty where nothing is.
    """

    model: Any
    nominal: Array
    contacts: str | Sequence[ContactPoint]
    solids: tuple[Solid, ...]
    meetings: tuple[Meeting, ...]
    kept_apart: Mapping[frozenset[str], str]
    loops: tuple[Loop, ...]
    springs: Springs | None
    gravity: Array
    terrain: Terrain
    actuators: tuple[Actuator, ...]
    actuated: Array | None
    warning: str

    def warn(self) -> None:
        """Say what is left out."""
        if self.warning:
            tell(self.warning)


def read(
    path: Path, contacts: str | Sequence[ContactPoint], package_dirs: Sequence[str | Path], self_contacts: bool
) -> FileRobot:
    """The robot of an MJCF file, see `Robot.from_mjcf`.

    Raises:
        InputError: MuJoCo's compiler is not installed or refuses the file, there are no contacts as asked for, or
            geoms are to meet where points are listed.
    """
    source = compiled(path, package_dirs)
    tree = tree_of(source)
    touch = Touching()
    if isinstance(contacts, str):
        shapes = geometry(source, tree.model, visual=False)
        touch = touching(source, tree.model, shapes, contacts, self_contacts)
        contacts = touch.points
    elif self_contacts:
        raise InputError(f"self_contacts of {path.name}: geoms meet where contacts are a word ('auto'), not a list")
    actuators, slack = actuators_of(source)
    loops, open_loops = loops_of(source)
    home = home_key(source)
    gone = [f"geom '{source.geoms[k]}' ({SHAPES[source.m.geom_type[k]]})" for k in touch.left_out]
    further = [
        *slack,
        *open_loops,
        *([f"contacts with the ground of {listed(gone)}"] if gone else []),
        *not_exact(touch),
    ]
    return FileRobot(
        tree.model,
        source.configuration(source.m.qpos0 if home is None else source.m.key_qpos[home]),
        contacts,
        tuple(touch.solids.values()),
        touch.meetings,
        touch.kept_apart,
        loops,
        springs_of(source, tree),
        np.array(pin.Motion(tree.model.gravity).linear),
        terrain_of(source),
        actuators,
        _driven(actuators, source.m.nactuator, source.m.nv),
        left_out(source, further, self_contacts),
    )


def _driven(actuators: Sequence[Actuator], count: int, nv: int) -> Array | None:
    """Mask (nv,) of the velocities on which actuators act; None where the file has none."""
    if not count:
        return None
    gears = np.array([actuator.gear for actuator in actuators]).reshape(-1, nv)
    return np.asarray((gears != 0.0).any(axis=0))
