"""Runs as they are kept: arcs, events and a trajectory that checks and saves itself."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from ..common import registry
from ..common.arguments import FLAG, NAME, NOT_NEGATIVE, PATH, REAL, arguments, custom, numbers, one_of, several
from ..common.arrays import Array
from ..common.lazy import Late, Told, dataclass
from ..common.representation import brief, counted, span
from ..common.representation import several as first_of
from ..errors import CheckError, InputError
from .manifold import Euclidean
from .outcomes import Status
from .segments import Segment, starts_of
from .system import LIMIT, LOOP, Dynamics, HybridSystem, Transition
from .tolerances import Tolerances

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from . import samples as sampled
    from .samples import Samples
else:  # of runs that are looked at
    sampled = Late("contactsim.hybrid.samples")

Known = TypeVar("Known")

FINEST = 1e-12  # rtol below which rounding decides
REMEDY_OF_JUMPS = (
    "; no finer step mends a jump: hold a law of your own to its contract by `contactsim check NAME`, or report the"
    " event, which is problem['event'] of this error"
)
TIME = custom("one finite number; for several times there is traj.sample(times)", REAL.take)
SIDE = custom("'+' for the right limit or '-' for the left one", one_of("+", "-").take)
SIDES = custom("'+' for right limits, '-' for left ones, or 'both'", one_of("+", "-", "both").take)
TIMES = numbers(None, words="an array of finite times (T,) in seconds")
DEFAULT_FORMAT = "nc"  # netCDF-4, also of files with another suffix or none
NETCDF = (".nc", ".nc4", ".cdf", ".netcdf", ".h5", ".hdf5")  # names that files of DEFAULT_FORMAT may have


@dataclass(frozen=True)
class Event(Told):
    """One instant at which the mode or the state changed: the set of everything that changed there.

    Attributes:
        time: when [s].
        fired: names of the guards that fired (CLOCK for a time event, empty at the start of a run).
        mode_pre, mode_post: modes of the system.
        x_pre, x_post: plain states on both sides.
        transition: what the system says happened.
        system: the hybrid system it happened to.
    """

    time: float
    fired: frozenset[Hashable]
    mode_pre: Hashable
    x_pre: Array
    transition: Transition
    system: HybridSystem

    @property
    def mode_post(self) -> Hashable:
        """Mode after the event."""
        return self.transition.mode

    @property
    def x_post(self) -> Array:
        """Plain state after the event."""
        return self.transition.x

    @property
    def state_pre(self) -> Any:
        """State before the event."""
        return self.system.state(self.x_pre)

    @property
    def state_post(self) -> Any:
        """State after the event."""
        return self.system.state(self.x_post)

    @property
    def transitions(self) -> Mapping[str, tuple[Any, Any]]:
        """{name: (before, after)} of the contacts (or charts) that changed or took an impulse."""
        return self.transition.changes

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts that changed or fired."""
        return tuple(name for name in self.transition.changes if not name.startswith((LIMIT, LOOP)))

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the joint limits that changed or fired, and of the loops that took an impulse."""
        limits = (name for name in self.transition.changes if name.startswith((LIMIT, LOOP)))
        loops = (name for name in self.transition.impulses if name.startswith(LOOP))
        return tuple(dict.fromkeys((*limits, *loops)))

    @property
    def impulses(self) -> Mapping[str, Array]:
        """{contact: impulse in world axes [N s]}; of a loop ("loop:NAME") that on its first body."""
        return self.transition.impulses

    @property
    def residuals(self) -> Mapping[str, float]:
        """{law: largest violation} of the contact laws at this event."""
        return self.transition.residuals

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences worth telling: forces that are not unique, an impact that gains energy."""
        return self.transition.notes

    @property
    def accumulated(self) -> tuple[str, ...]:
        """Names of the contacts that come to rest here after infinitely many bounces (Zeno)."""
        return self.transition.accumulated

    @property
    def jammed(self) -> tuple[str, ...]:
        """Names of the contacts that take an impulse here without a collision, since friction jams them (Painleve)."""
        return self.transition.jammed

    def __repr__(self) -> str:
        return f"Event({self.time:.9g} s, {self._what()})"

    def _what(self) -> str:
        """What changed, in words."""
        changes = [f"{name}: {_word(before)} -> {_word(after)}" for name, (before, after) in self.transitions.items()]
        words = changes or [f"{name} fired" for name in sorted(map(str, self.fired))]
        return first_of(words or ["nothing that is seen"])

    @property
    def visible(self) -> bool:
        """True where something changed that a user can see (not only the engine's own bookkeeping)."""
        return bool(self.transition.changes)


@dataclass(frozen=True)
class Arc(Told):
    """A smooth piece of a trajectory: one mode, the steps taken in it, and the event that ended it (if one did).

    The system is that of the piece: parameters and pushes may change in the course of a run.
    """

    mode: Hashable
    segments: Sequence[Segment]
    event: Event | None
    system: HybridSystem

    @property
    def t0(self) -> float:
        """Start of the arc [s]."""
        return self.segments[0].t0

    @property
    def t1(self) -> float:
        """End of the arc [s]."""
        return self.segments[-1].t1

    def __repr__(self) -> str:
        where, steps = span(self.t0, self.t1), counted(len(self.segments), "step")
        named = self.system.named_modes(self.mode)
        words = [f"{name}: {_word(mode)}" for name, mode in named.items()] if isinstance(named, Mapping) else None
        return f"Arc({where}, {steps}, {first_of(words) if words else f'in {_word(named)}'})"

    def __call__(self, t: float) -> Array:
        """Plain state at `t`, by the interpolant of the step that contains it."""
        return self.segments[max(bisect_right(starts_of(self.segments), t) - 1, 0)](t)

    @arguments(before=NOT_NEGATIVE, after=NOT_NEGATIVE)
    def extended(self, before: float = 0.0, after: float = 0.0) -> Arc:
        """The arc with its motion continued past its ends, as if the events there were not met.

        Its mode and its field hold on: what touches stays in touch whatever its force, and what is open goes on through
        the ground; what a sampled controller holds is held. Such an arc is what to compare a run with that meets the
        event at its end later, or that at its begin earlier, than this one does (reference spreading: Rijnen, Saccon
        and Nijmeijer 2015).

        Args:
            before: how far it is continued before its start [s].
            after: how far past its end [s].

        Raises:
            SimulationError: the motion does not go on so far.
        """
        from .segments import continued

        segments, flow = list(self.segments), self.system.flow(self.mode)
        x0, x1 = self(self.t0), self(self.t1)
        space = self.system.space(self.mode) or Euclidean(len(x0))
        if before:
            segments.insert(0, continued(flow, space, self.t0, x0, self.t0 - before))
        if after:
            segments.append(continued(flow, space, self.t1, x1, self.t1 + after))
        return Arc(self.mode, tuple(segments), None, self.system)

    def sample(self, period: float | None, origin: float) -> Iterator[tuple[float, Array]]:
        """Both ends of the arc and, between them, the ends of its steps or the multiples of `period` from `origin`."""
        yield self.t0, self.segments[0](self.t0)
        if period is None:
            for segment in self.segments[:-1]:
                yield segment.t1, segment(segment.t1)
        else:
            first, last = np.ceil((self.t0 - origin) / period), np.floor((self.t1 - origin) / period)
            for k in range(int(first), int(last) + 1):
                if self.t0 < (t := origin + k * period) < self.t1:
                    yield t, self(t)
        if self.t1 > self.t0:
            yield self.t1, self.segments[-1](self.t1)


@dataclass(frozen=True)
class Settings:
    """How a run was made, and the arc that it is gone on with from its begin, as if it had not stopped.

    Attributes:
        integrator, tolerances, max_events, accumulation: as given to `simulate`.
        first_step: first step of that arc [s]; None: the integrator's own choice.
        evaluations: field evaluations before it.
        at_one_instant, to_and_fro: events in a row, at its begin, that would end the run if they went on.
        arcs: how many there are before it; None: all that ended in an event (of files written before this was kept).
        notes: how many there were; None: all.
    """

    integrator: str
    tolerances: Tolerances
    max_events: int
    accumulation: Literal["pass", "stop"] = "pass"
    first_step: float | None = None
    evaluations: int = 0
    at_one_instant: int = 0
    to_and_fro: int = 0
    arcs: int | None = None
    notes: int | None = None


@dataclass(frozen=True)
class Trajectory:
    """A run: its arcs and events, evaluated anywhere.

    Attributes:
        system: the hybrid system that ran.
        arcs: smooth pieces in the order of time.
        all_events: every event, also those that changed nothing a user can see.
        status, message: how the run ended, and a sentence that says what to do.
        record_period: spacing of the samples [s]; None: the ends of the integrator's steps.
        evaluations: number of field evaluations.
        notes: what the system warned of in the course of the run, each sentence once.
        settings: how the run was made; None where that is not known.
        given: plain state that the user gave, with NaN where memory was missing; None where that is not known.
    """

    system: HybridSystem
    arcs: tuple[Arc, ...]
    all_events: tuple[Event, ...]
    status: Status
    message: str
    record_period: float | None = None
    evaluations: int = 0
    notes: tuple[str, ...] = ()
    settings: Settings | None = None
    given: Array | None = None

    def __post_init__(self) -> None:
        if not self.arcs:
            raise InputError("a trajectory needs at least one arc; the run ended before its first step")

    def __repr__(self) -> str:
        where = span(self.arcs[0].t0, self.arcs[-1].t1)
        events, work = counted(len(self.events), "event"), counted(self.evaluations, "evaluation")
        return f"Trajectory({type(self.system).__name__}, {where}, {events}, {self.status.name}, {work})"

    def _repr_html_(self) -> str:
        """The run in a cell of a notebook: summary, strip of modes, table of events."""
        from .summary_page import page

        title = str(getattr(getattr(self.system, "robot", None), "name", "")) or type(self.system).__name__
        return page(title, self.arcs, self.events, self.status.name, self.message, self.evaluations)

    @cached_property
    def recorded(self) -> Samples:
        """Samples of the run: at the ends of its steps, or spaced by `record_period`, with both sides of each jump."""
        origin = self.arcs[0].t0
        found = [(t, arc, x) for arc in self.arcs for t, x in arc.sample(self.record_period, origin)]
        times, arcs, rows = zip(*found, strict=True)
        return sampled.Samples(np.array(times), arcs, rows)

    @property
    def t(self) -> Array:
        """Sample times (N,); both sides of a jump share a time."""
        return self.recorded.t

    @property
    def x(self) -> Array:
        """Sampled plain states (N, size); padded with NaN where the dimension differs between modes."""
        return self.recorded.x

    @property
    def q(self) -> Array:
        """Sampled configurations (N, nq)."""
        return self.recorded.q

    @property
    def v(self) -> Array:
        """Sampled velocities (N, nv)."""
        return self.recorded.v

    @property
    def events(self) -> list[Event]:
        """Events at which something changed that a user can see."""
        return [event for event in self.all_events if event.visible]

    @property
    def final(self) -> Any:
        """The last state, after a last event."""
        return self.system.state(self.final_x)

    @property
    def final_x(self) -> Array:
        """The last plain state, after a last event."""
        last, step = self.arcs[-1], self.arcs[-1].segments[-1]
        return last.event.x_post if last.event else step(step.t1)

    @arguments(t=TIME, side=SIDE)
    def arc_at(self, t: float, side: str = "+") -> Arc:
        """The arc that holds `t`; at an event the one after it, or before it with ``side="-"``.

        Raises:
            InputError: `t` lies outside the run, or is no single number.
        """
        if not self.arcs[0].t0 <= t <= self.arcs[-1].t1:
            raise InputError(f"t = {t} lies outside the run, which covers [{self.arcs[0].t0}, {self.arcs[-1].t1}] s")
        starts: list[float] = [arc.t0 for arc in self.arcs]
        k = bisect_right(starts, t) - 1
        while side == "-" and k > 0 and self.arcs[k].t0 == t:
            k -= 1
        return self.arcs[k]

    def __call__(self, t: float | ArrayLike, side: str = "+") -> Any:
        """State at `t`: right limit at an event, left limit with ``side="-"``; at times (T,) its parts are (T, n)."""
        if isinstance(t, (list, tuple, np.ndarray)) and np.ndim(t):
            return self.sample(t, side).state
        name = type(self).__name__
        at: float = TIME.check(f"t of {name}", t)
        return self.system.state(self.arc_at(at, SIDE.check(f"side of {name}", side))(at))

    @arguments(times=TIMES, side=SIDES, frames=several(NAME, "a list of names of frames"))
    def sample(self, times: ArrayLike, side: str = "+", frames: Sequence[str] = ()) -> Samples:
        """The run at times (T,) [s] as arrays: states, modes, forces, and poses of `frames` by their names.

        Args:
            times: any times of the run, in any order.
            side: at a jump "+" for the right limit, "-" for the left one, "both" for both, one after the other: a time
                of a jump is then there twice.
            frames: names of frames of a Robot.

        Raises:
            InputError: a time lies outside the run, or there is no such frame.
        """
        return sampled.samples(self.arcs, times, side, frames)  # type: ignore[arg-type]

    def to_xarray(self, times: ArrayLike | None = None, side: str = "+", frames: Sequence[str] = ()) -> xarray.Dataset:
        """The run as an xarray.Dataset along `time`; see `hybrid.samples.dataset`.

        Args:
            times, side, frames: as of `sample`; without times the samples of the run, with both sides of its jumps.
        """
        return sampled.dataset(self._samples(times, side, frames))

    def to_dataframe(
        self, times: ArrayLike | None = None, side: str = "+", frames: Sequence[str] = ()
    ) -> pandas.DataFrame:
        """The run as a pandas.DataFrame with the time as its index; see `hybrid.samples.dataframe`.

        Args:
            times, side, frames: as of `sample`; without times the samples of the run, with both sides of its jumps.
        """
        return sampled.dataframe(self._samples(times, side, frames))

    def _samples(self, times: ArrayLike | None, side: str, frames: Sequence[str]) -> Samples:
        if times is not None:
            return self.sample(times, side, frames)
        return replace(self.recorded, frame_names=several(NAME, "a list of names of frames").check("frames", frames))

    @arguments(t=TIME, side=SIDE)
    def mode_at(self, t: float, side: str = "+") -> Any:
        """Mode at `t`; for contacts {name: Mode}."""
        return self.system.named_modes(self.arc_at(t, side).mode)

    @arguments(t=TIME, side=SIDE)
    def forces(self, t: float, side: str = "+") -> dict[str, Array]:
        """Contact forces at `t`: {contact: (3,) newton in world axes} ((1 + d_t,) along the rows of a Mechanism).

        Raises:
            InputError: the system has no contacts.
        """
        arc = self.arc_at(t, side)
        forces = arc.system.forces(t, arc(t), arc.mode)
        return self._known(forces, "has no contact forces; ask a ContactSystem's trajectory")

    @arguments(t=TIME, side=SIDE)
    def energy(self, t: float, side: str = "+") -> float:
        """Mechanical energy at `t` [J], without that stored in the ground.

        Raises:
            InputError: the system does not know its energy.
        """
        arc = self.arc_at(t, side)
        energy = arc.system.energy(arc(t), arc.mode)
        return self._known(energy, "does not know its energy; give it a method energy(x, mode) that returns joule")

    def plot(self, kinds: str | Sequence[str] | None = None) -> Figure:
        """Draw the run over time with matplotlib, by the plugin "trajectory" of `contactsim.plots`.

        Args:
            kinds: which panels, such as "modes", "gaps", "forces", "energy"; None: all that the run has.
        """
        return registry.load("plots", "trajectory")(self, kinds)  # type: ignore[no-any-return]

    @arguments(t=TIME, side=SIDE)
    def loop_forces(self, t: float, side: str = "+") -> dict[str, Array]:
        """Forces of closed loops at `t`: {loop: (3,) newton on its first body, or (6,) with the moment}, world axes.

        Raises:
            InputError: the system has no bodies.
        """
        arc = self.arc_at(t, side)
        forces = arc.system.loop_forces(t, arc(t), arc.mode)
        return self._known(forces, "has no closed loops; ask a ContactSystem's trajectory")

    def _known(self, value: Known | None, otherwise: str) -> Known:
        if value is None:
            raise InputError(f"{type(self.system).__name__} {otherwise}")
        return value

    @arguments(raise_errors=FLAG)
    def check(self, raise_errors: bool = True) -> Mapping[str, float]:
        """Residuals of every law along the run: {law: largest violation}.

        Raises:
            CheckError: a residual is above the limit that the system names for it.
        """
        found, limits = self.system.audit(self)
        report = {law: float(value) for law, value in found.items()}
        broken = [law for law, value in report.items() if not value <= limits[law]]
        if broken and raise_errors:
            events = {law: self.system.jump_that_breaks(law, self) for law in broken}
            told = [f"{law} {report[law]:.3g} > {limits[law]:.3g}{_placed(events[law])}" for law in broken]
            first = next((event for event in events.values() if event is not None), None)
            cause = self._of_accuracy() if first is None else REMEDY_OF_JUMPS
            raise CheckError(f"the run violates {'; '.join(told)}{cause}", report=report, event=first)
        return report

    def _of_accuracy(self) -> str:
        """What may cause a violation along arcs: what time moves, or the steps; empty where these cannot be finer."""
        contradicted = self.system.contradiction(self.t)
        if contradicted:
            return f"; {contradicted}"
        if self.settings is None or self.settings.tolerances.rtol <= FINEST:
            return ""
        now = self.settings.tolerances
        return f"; a run with less than rtol {now.rtol:g}, atol {now.atol:g} shows whether its steps are the cause"

    def save(self, path: str | Path) -> Path:
        """Write the run to one file, with its dense output, in the format of its suffix; see `format_of`.

        A name without a suffix, or with a number there ("walk.2"), is one of netCDF.

        Raises:
            InputError: no run is written in a format of that suffix.
            StorageError: the disk is full, or does not let write.
        """
        suffix = Path(PATH.check("the file of a run", path)).suffix.lower()
        others = sorted({f".{name}" for name in registry.names("formats")} - {*NETCDF})
        if suffix[1:2].isalpha() and suffix not in (*NETCDF, *others):
            known = " or ".join([".nc (netCDF)", *others])
            raise InputError(
                f"a run is not written as {suffix}, but as {known}; give {Path(path).with_suffix('.nc').name}, or"
                " write what to_xarray() or to_dataframe() returns"
            )
        return format_of(path).save(self, path)  # type: ignore[no-any-return]

    @staticmethod
    def load(path: str | Path, system: Dynamics | None = None) -> Trajectory:
        """Read a run written by `save`; the system is rebuilt from the file where it can be, or taken as given."""
        return format_of(path).load(path, system)  # type: ignore[no-any-return]


def _placed(event: Event | None) -> str:
    """The place of a violation in an event."""
    return "" if event is None else f" in the event at {event.time:.9g} s ({event._what()})"


def _word(value: Any) -> str:
    """A mode or chart in a word."""
    return value.value if isinstance(value, Enum) and isinstance(value.value, str) else brief(value)


def format_of(path: str | Path) -> Any:
    """The plugin of `contactsim.formats` that writes files with this suffix, else that of DEFAULT_FORMAT."""
    suffix = Path(PATH.check("the file of a run", path)).suffix.removeprefix(".")
    return registry.load("formats", suffix if suffix in registry.names("formats") else DEFAULT_FORMAT)
