"""All that the viewer reads of a trajectory; whatever has these attributes can be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ContactLike(Protocol):
    """A contact point of the robot: `radius` in metres (0 for a sharp point)."""

    name: str
    radius: float


class RobotLike(Protocol):
    """A pinocchio model, its geometry (None: a stick figure is drawn) and its contact points."""

    model: Any
    visual_model: Any | None
    contacts: Sequence[ContactLike]

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


class DrawingLike(Protocol):
    """Picture of a system at one instant; see `contactsim.look`."""

    parts: Mapping[str, Any]
    focus: Any
    caption: str
    legend: Mapping[str, str]
    ground: Callable[[Array], Array] | None
    sight: Any


class MomentLike(Protocol):
    """View of a session at one instant; see `contactsim.viewing.playback.Moment`."""

    @property
    def time(self) -> float:
        """Of the run, seconds."""

    @property
    def arc(self) -> ArcLike:
        """Piece of the run at that time."""

    @property
    def x(self) -> Any:
        """Plain state."""

    @property
    def start(self) -> float:
        """First time of the run, seconds."""

    @property
    def head(self) -> float:
        """Last time that was computed, seconds."""

    @property
    def speed(self) -> float:
        """Seconds of the run in a second; may be infinite."""

    @property
    def take(self) -> int:
        """Number of times the run was started again."""

    @property
    def log(self) -> Sequence[Any]:
        """Log up to `head`: entries with `time` and `event` (None for a change that somebody made)."""

    def arc_at(self, t: float) -> ArcLike:
        """Piece of the run at a time between `start` and `head`."""


class SessionLike(Protocol):
    """A simulation at work; see `contactsim.viewing.session.Session`, whose methods the page's messages call."""

    title: str
    take: int
    controls: Any
    observe: Any

    @property
    def moment(self) -> Any:
        """The view at one instant."""

    @property
    def log(self) -> Sequence[Any]:
        """Log: entries with `time`, `event` and `text`."""

    @property
    def simulation(self) -> Any:
        """The present simulation, with its `tolerances`."""

    @property
    def laws(self) -> Sequence[str]:
        """Names of the contact laws to choose from."""

    @property
    def law(self) -> str:
        """Name of the present one."""

    @property
    def weight(self) -> float:
        """Weight of what can be pushed, newton; zero where nothing can."""

    def want(self) -> None:
        """Ask for `observe` to be called."""

    def refresh(self) -> None:
        """Ask for it also where time stands still."""

    def play(self) -> None:
        """Let time go on."""

    def run(self) -> Any:
        """Go on until `close`."""

    def close(self) -> None:
        """Let `run` return."""
