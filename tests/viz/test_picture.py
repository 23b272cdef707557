"""Pictures of single moments: what a live page is told is what an offline page plays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from contactsim_viz import motion, scene
from contactsim_viz.motion import MODES
from contactsim_viz.overlays import PLACE, SCALE, TURN, VISIBLE
from contactsim_viz.picture import Painter, Picture, painter
from viz_sessions import standing

import contactsim as cs
from contactsim.common.drawing import Drawing, Polyline, Sphere
from contactsim.errors import InputError

SINGLE = 1e-6  # relative and in metres: the tracks of a page are in single precision


@dataclass(frozen=True)
class Moment:
    """A state of a run, or of a drawing that is a function of time."""

    time: float
    arc: Any
    head: float = 0.0
    log: tuple[Any, ...] = ()
    start: float = 0.0
    speed: float = 1.0
    take: int = 0

    @property
    def x(self) -> Any:
        return self.arc(self.time)


@dataclass(frozen=True)
class Arc:
    system: Any
    mode: Any = "only"
    t0: float = 0.0
    t1: float = 9.0

    def __call__(self, t: float) -> np.ndarray:
        return np.array([t])


@dataclass(frozen=True)
class Drawn:
    """A system that is a drawing of time."""

    look: Callable[[float], Drawing | None]

    def drawing(self, t: float, x: np.ndarray, chart: Any) -> Drawing | None:
        return self.look(t)


@pytest.fixture(scope="module")
def run() -> cs.Trajectory:
    simulation = standing().simulation
    simulation.advance_to(0.2)
    return simulation.trajectory


def values(command: dict, path: str, name: str, width: int) -> np.ndarray:
    """Keys (n, width) of a track of an animation."""
    clip = next(one["clip"] for one in command["animations"] if one["path"] == path)
    track = next(one for one in clip["tracks"] if one["name"] == f".{name}")
    return np.frombuffer(track["values"].data, np.float32).reshape(-1, width)


def row(painted: Painter, picture: Picture, path: str) -> np.ndarray:
    return picture.rows[painted.nodes.index(path)]


@pytest.mark.parametrize("k", [0, 4, 12, 20])
def test_a_live_picture_is_a_frame_of_the_offline_page(run: cs.Trajectory, k: int) -> None:
    sampled = motion.sample(run, 0.01)
    animation = scene.build(run, sampled).commands[-1]
    t = float(sampled.time[k])
    live = painter(Moment(0.0, run.arc_at(0.0)))
    picture = live.paint(Moment(t, run.arc_at(t)))
    for name in list(run.system.robot.model.names)[1:]:
        path = f"/world/robot/{name}"
        assert row(live, picture, path)[PLACE] == pytest.approx(values(animation, path, "position", 3)[k], abs=SINGLE)
        turn, expected = row(live, picture, path)[TURN], values(animation, path, "quaternion", 4)[k]
        assert abs(turn @ expected) == pytest.approx(1.0, abs=SINGLE)
    for name, force in run.forces(t).items():
        contact, arrow = f"/world/contacts/{name}", f"/world/forces/{name}"
        assert row(live, picture, contact)[PLACE] == pytest.approx(
            values(animation, contact, "position", 3)[k], abs=SINGLE
        )
        mode = run.mode_at(t)[name].name
        assert [row(live, picture, f"{contact}/{one.lower()}")[VISIBLE] for one in MODES] == [m == mode for m in MODES]
        assert picture.modes[name] == mode.lower()
        length = row(live, picture, f"{arrow}/shaft")[SCALE][2]
        assert live.scene.force_scale * length == pytest.approx(np.linalg.norm(force), rel=SINGLE, abs=1e-4)
        assert row(live, picture, arrow)[VISIBLE] == (mode != "OPEN" and length > 0.01 * live.size)


def test_the_ground_comes_along(run: cs.Trajectory) -> None:
    live = painter(Moment(0.0, run.arc_at(0.0)))
    state = run(0.0)
    assert live.paint(Moment(0.0, run.arc_at(0.0))).commands == []
    state.q[0] += 10.0 * live.size

    @dataclass(frozen=True)
    class Far:
        system: Any
        mode: Any

        def __call__(self, t: float) -> np.ndarray:
            return run.system.pack(state)

    far = Moment(0.0, Far(run.system, run.arc_at(0.0).mode))
    picture = live.paint(far)
    assert {command["path"] for command in picture.commands} == {"/world/ground", "/world/ground/grid"}
    assert picture.focus[0] == pytest.approx(10.0 * live.size, rel=0.1)
    assert live.paint(far).commands == []


def test_a_part_that_changes_its_colour_is_an_object_more_of_which_one_is_seen() -> None:
    def look(t: float) -> Drawing:
        return Drawing({"ball": Sphere((t, 0.0, 1.0), 0.1, "#ff0000" if t < 1.0 else "#00ff00")})

    live = painter(Moment(0.0, Arc(Drawn(look))))
    first = live.paint(Moment(0.0, Arc(Drawn(look))))
    assert live.nodes == ["/world/parts/ball/0"]
    second = live.paint(Moment(2.0, Arc(Drawn(look))))
    assert live.nodes == ["/world/parts/ball/0", "/world/parts/ball/1"]
    assert (first.rows[:, VISIBLE].tolist(), second.rows[:, VISIBLE].tolist()) == ([1.0], [0.0, 1.0])
    assert second.rows[1, PLACE].tolist() == [2.0, 0.0, 1.0]
    assert [command["type"] for command in second.commands] == ["set_transform", "set_object"]
    assert live.paint(Moment(0.5, Arc(Drawn(look)))).commands == []


def test_a_line_is_taken_to_pieces_when_it_bends() -> None:
    def look(t: float) -> Drawing:
        return Drawing({"rope": Polyline([[0.0, 0.0, 0.0], [1.0, 0.0, t], [2.0, 0.0, 0.0]], 0.02)})

    live = painter(Moment(0.0, Arc(Drawn(look))))
    live.paint(Moment(0.0, Arc(Drawn(look))))
    bent = live.paint(Moment(0.5, Arc(Drawn(look))))
    shown = [path for path, one in zip(live.nodes, bent.rows, strict=True) if one[VISIBLE]]
    assert shown == [f"/world/parts/rope_{piece}/0" for piece in ("rod0", "rod1", "joint0", "joint1", "joint2")]
    assert bent.rows[live.nodes.index("/world/parts/rope_joint1/0"), PLACE].tolist() == [1.0, 0.0, 0.5]
    assert live.paint(Moment(0.7, Arc(Drawn(look)))).commands == []


def test_what_has_no_drawing_is_said() -> None:
    with pytest.raises(InputError, match="a int has no geometry to show"):
        painter(Moment(0.0, Arc(3)))
    with pytest.raises(InputError, match="the Drawn of this run has no geometry"):
        painter(Moment(0.0, Arc(Drawn(lambda t: None))))
