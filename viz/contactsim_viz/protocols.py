"""All that the viewer reads of a trajectory; whatever has these attributes can be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MODES = ("OPEN", "STICK", "SLIP")
SHOWN_AS = {"CLOSED": "STICK"}  # a contact on compliant ground


def mode_index(mode: str) -> int:
    """Index of a mode's name in `MODES`."""
    return MODES.index(SHOWN_AS.get(mode, mode))


class ContactLike(Protocol):
    """A contact point of the robot: `radius` in metres (0 for a sharp point)."""

    name: str
    radius: float


class RobotLike(Protocol):
    """A pinocchio model, its geometry (None: a stick figure is drawn) and its contact points."""

    model: Any
    visual_model: Any | None
    contacts: Sequence[ContactLike]

    def joint_placements(self, q: Array) -> Array:
        """Placements of the joints, (joints, 7) in the world: position in metres and unit quaternion x, y, z, w."""

    def contact_positions(self, q: Array) -> Array:
        """Lowest points of the contacts, (nc, 3) metres in the world frame."""


def marks(robot: RobotLike) -> Sequence[ContactLike]:
    """The contacts of a robot: its contact points, and the contacts between its bodies where it has some."""
    found: Sequence[ContactLike] = getattr(robot, "marks", robot.contacts)
    return found


def mark_positions(robot: RobotLike, q: Array) -> Array:
    """Their places, (number, 3) metres in the world frame."""
    positions = getattr(robot, "mark_positions", robot.contact_positions)(q)
    return np.asarray(positions, dtype=np.float64).reshape(len(marks(robot)), 3)


class TrajectoryLike(Protocol):
    """A recorded run of `system` (with `.robot` and `.terrain`) over the times `t`."""

    t: Array
    system: Any
    events: Sequence[Any]

    def __call__(self, t: float) -> Any:
        """State with `.q` (nq,) at time `t` in seconds."""

    def mode_at(self, t: float) -> Mapping[str, Any]:
        """Mode of each contact, an enum with the names OPEN, STICK and SLIP."""

    def forces(self, t: float) -> Mapping[str, Array]:
        """Force of the ground on each contact, (3,) newton in world axes."""

    @property
    def arcs(self) -> Sequence[ArcLike]:
        """Smooth pieces, for what is drawn by a method of its system."""


class ArcLike(Protocol):
    """A piece of a run from `t0` to `t1` in the chart `mode`; its system has a method drawing(t, x, chart)."""

    t0: float
    t1: float
    mode: Any
    system: Any

    def __call__(self, t: float) -> Any:
        """Plain state at time `t`."""


class CurvesLike(Protocol):
    """Values of one kind over time; see `contactsim.viewing.curves.Curves`."""

    kind: str
    unit: str
    names: tuple[str, ...]
    colours: tuple[str, ...]
    by_contact: bool

    def of(self, arc: Any, t: float) -> Array:
        """Values (len(names),) at time `t` of a piece of the run."""


class DrawingLike(Protocol):
    """Picture of a system at one instant; see `contactsim.look`."""

    parts: Mapping[str, Any]
    focus: Any
    caption: str
    legend: Mapping[str, str]
    ground: Callable[[Array], Array] | None
    sight: Any


class MomentLike(Protocol):
    """View of a session at one instant; see `contactsim.viewing.playback.Moment`.

    Attributes:
        time: of the run, seconds.
        arc: piece of the run at that time.
        x: plain state.
        start, head: first and last time that was computed, seconds.
        speed: seconds of the run in a second; may be infinite.
        take: number of times the run was started again.
        log: up to `head`: entries with `time` and `event` (None for a change that somebody made).
        arc_at: piece of the run at a time between `start` and `head`.
    """

    time: float
    arc: ArcLike
    x: Any
    start: float
    head: float
    speed: float
    take: int
    log: Sequence[Any]
    arc_at: Callable[[float], ArcLike]


class SessionLike(Protocol):
    """A simulation at work; see `contactsim.viewing.session.Session`, whose methods the page's messages call.

    Attributes:
        title, take, controls, observe: as there.
        moment: the view at one instant.
        log: entries with `time`, `event` and `text`.
        simulation: the present one, with its `tolerances`.
        laws, law: names of the contact laws to choose from, and of the present one.
        weight: of what can be pushed, newton; zero where nothing can.
        curves: what can be plotted.
        joints: what can be set while time stands still, with `name` and `place` in the configuration.
        want: asks for `observe` to be called.
        refresh: asks for it also where time stands still.
        play: lets time go on.
        run: goes on until `close`, and returns the run.
        close: lets `run` return.
    """

    title: str
    take: int
    controls: Any
    observe: Any
    moment: Any
    log: Sequence[Any]
    simulation: Any
    laws: Sequence[str]
    law: str
    weight: float
    curves: Sequence[CurvesLike]
    joints: Sequence[Any]
    want: Callable[[], None]
    refresh: Callable[[], None]
    play: Callable[[], None]
    run: Callable[[], Any]
    close: Callable[[], None]
