"""Other runs beside the one that is shown: the same robot in glass, under another friction or from another start."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from contactsim.errors import InputError

from .commands import node_name, place, put, rgba, track
from .figure import Figure
from .layers import Draw, Layer, shadowless
from .motion import SampledPoses
from .protocols import Array
from .shapes import UNBOUNDED, Json, colour_code, draw, paint
from .stage import Frame

COLOURS = ("#3b6fe0", "#e5484d", "#7a3ff2", "#0e9384")
_GLASS = 0.38  # opacity


def ghost_layers(ghosts: Mapping[str, Any]) -> tuple[Draw, ...]:
    """Painters, one for each run by its name."""
    return tuple(partial(_draw, name, run, COLOURS[k % len(COLOURS)]) for k, (name, run) in enumerate(ghosts.items()))


def _draw(name: str, run: Any, colour: str, traj: Any, motion: SampledPoses, frame: Frame) -> Layer:
    robot: Any = getattr(getattr(run, "system", None), "robot", None)
    if getattr(robot, "visual_model", None) is None:
        raise InputError(f"the run '{name}' cannot be shown beside another: it has no robot that is drawn")
    root = f"/world/ghosts/{node_name(name)}"
    times, joints = _poses(run, robot, motion)
    shade = rgba(colour, _GLASS)
    glass = paint(shade, emissive=colour_code(shade), emissiveIntensity=0.35) | {"depthWrite": False}
    commands: list[Any] = []
    for item in robot.visual_model.geometryObjects:
        drawn = None if type(item.geometry).__name__ in UNBOUNDED else draw(item, glass)
        if drawn is not None:
            path = f"{root}/{node_name(robot.model.names[item.parentJoint])}/{node_name(item.name)}"
            commands += [place(path, np.asarray(item.placement.homogeneous, dtype=np.float64)), put(path, drawn)]
            commands.append(shadowless(path))
    tracks: dict[str, list[Json]] = {
        f"{root}/{node_name(robot.model.names[index])}": [
            track("position", "vector3", times, joints[:, index, :3]),
            track("quaternion", "quaternion", times, joints[:, index, 3:]),
        ]
        for index in range(1, robot.model.njoints)
    }
    return Layer(node_name(name), root, commands, tracks, legend={name: colour})


def _poses(run: Any, robot: Any, motion: SampledPoses) -> tuple[Array, Array]:
    """Times behind the start of the run that is shown, and joint placements (n, nj, 7), as far as both runs go."""
    moments = motion.time + motion.start
    moments = moments[(moments >= run.t[0]) & (moments <= run.t[-1])]
    if not len(moments):
        raise InputError("two runs beside each other share no time; give runs that do")
    figure = Figure(robot)
    return moments - motion.start, np.array([figure.joints(np.asarray(run(float(t)).q)) for t in moments])
