"""Playback of a running simulation: played in real time, paused, searched and observed, from any thread.

All of a system's functions are called by the thread that calls `run`. Others leave their requests in a queue, from
which they are taken between two steps; so what is looked at is the run that `simulate` would have made, bit by bit.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue

from ..common.arguments import FLAG, LENGTH_OF_TIME, TEXT, arguments, function, instance
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.representation import Brief
from ..common.terminal import interruptible
from ..errors import ContactSimError
from ..hybrid.outcomes import Status
from ..hybrid.simulate import Simulation
from ..hybrid.system import HybridSystem
from ..hybrid.trajectory import Arc, Event, Trajectory
from .session_controls import Control, controls

logger = logging.getLogger(__name__)

IDLE = 1.0 / 60.0  # longest wait while the run is played [s]
LATE = 0.1  # a run that is this far behind the clock is not hurried after it [s]
LAG = 0.25  # of a run that is computed slowly, how far what is shown stays behind the head, evenly [s on the wall]
SETTLED = 1.0  # without being late, after which a run is shown by the clock alone [s on the wall]
HURRY = 1.25  # times the speed at which what is shown catches up with the clock
PACE = 1.0  # over which the rate is measured [s on the wall]
BEYOND = 1e6  # how far a run may go on behind its end [s]
TOGETHER = 1e-9  # instants closer than this are one to somebody who goes from event to event [s]


@dataclass(frozen=True)
class Entry:
    """Something that happened in a run: an event, or a change that somebody made.

    Attributes:
        time: when [s].
        event: the event; None for a change.
        text: the change in words.
    """

    time: float
    event: Event | None = None
    text: str = ""


@dataclass(frozen=True, repr=False)
class Moment(Brief):
    """The view at one instant.

    Attributes:
        time: of the run, as shown [s].
        arc: of the run at that time.
        start, head: first and last time that was computed [s].
        playing, speed: whether time goes on, and how fast [s/s].
        take: number of times the run was started again.
        note: what went wrong last, in a sentence.
        ended: why the run cannot go on from its head; empty where it can.
        rate: seconds of the run that were shown in a second on the wall, lately; None where time stands still.
        late: whether the run is computed more slowly than it is to be played.
        log: of the session; it grows.
        arc_at: the arc of the run at any time between `start` and `head`.
    """

    time: float
    arc: Arc
    start: float
    head: float
    playing: bool
    speed: float
    take: int
    note: str
    log: Sequence[Entry]
    arc_at: Callable[[float], Arc]
    ended: str = ""
    rate: float | None = None
    late: bool = False

    @property
    def x(self) -> Array:
        """Plain state."""
        return self.arc(self.time)

    @property
    def energy(self) -> float | None:
        """Energy of the state [J]; None where the system does not know it."""
        return self.arc.system.energy(self.x, self.arc.mode)


class _Clock:
    """Time of the run by the clock on the wall."""

    def __init__(self) -> None:
        self.speed = 1.0
        self.set(0.0)

    def set(self, t: float) -> None:
        """From now on it is `t`."""
        self._origin, self._began = t, time.monotonic()

    def __call__(self) -> float:
        if math.isinf(self.speed):
            return math.inf
        return self._origin + self.speed * (time.monotonic() - self._began)

    def until(self, t: float) -> float:
        """Time until `t` [s on the wall]."""
        return (t - self()) / self.speed


class _Pace:
    """The pace of the picture, even where the run is computed in fits and starts.

    A run that keeps up is shown by the clock. One that does not is followed at a distance: v = (head - shown) / LAG, so
    it is shown at the mean rate of its computing, and never later than LAG seconds on the wall behind its head.
    """

    def __init__(self) -> None:
        self._looked = time.monotonic()
        self._held_up = -math.inf
        self._marks: deque[tuple[float, float]] = deque()

    def begin(self) -> None:
        """Time starts to go on, or jumps."""
        self._looked = time.monotonic()
        self._marks.clear()

    def hold_up(self) -> None:
        """The run is late."""
        self._held_up = time.monotonic()

    @property
    def late(self) -> bool:
        """True where the run was late a moment ago."""
        return time.monotonic() - self._held_up < SETTLED

    @property
    def rate(self) -> float | None:
        """Seconds shown in a second on the wall."""
        if len(self._marks) < 2 or self._marks[-1][0] <= self._marks[0][0]:
            return None
        (began, start), (ended, end) = self._marks[0], self._marks[-1]
        return (end - start) / (ended - began)

    def __call__(self, shown: float, target: float, speed: float, computing: bool) -> float:
        """Time to show next, on the way to `target` [s]."""
        now = time.monotonic()
        past, self._looked = now - self._looked, now
        if math.isinf(speed):
            shown = target
        elif self.late and computing:
            shown += (target - shown) * -math.expm1(-past / LAG)
        else:
            shown = min(target, shown + HURRY * speed * past + TOGETHER)
        self._marks.append((now, shown))
        while now - self._marks[0][0] > PACE:
            self._marks.popleft()
        return shown


class Playback:
    """A simulation at work: played in real time, paused, looked back upon.

    Its methods may be called from any thread; they take effect between two steps.

    Args:
        simulation: where to start from.
        end: time at which the run is paused [s]; played on, it goes beyond.
        speed: seconds of the run in a second; infinity: as fast as can be.
        title: what it is called.
        playing: False: it starts paused.
        observe: called by the running thread with the present `Moment`, when `want` has asked for it.
        after_step: called by the running thread with the time [s] after each step.
    """

    @arguments(
        simulation=instance(Simulation, "a Simulation"),
        end=LENGTH_OF_TIME,
        speed=LENGTH_OF_TIME,
        title=TEXT,
        playing=FLAG,
        observe=function("a function of the moment"),
    )
    def __init__(
        self,
        simulation: Simulation,
        end: float = math.inf,
        speed: float = 1.0,
        title: str = "",
        playing: bool = True,
        observe: Callable[[Moment], None] = lambda moment: None,
        after_step: Callable[[float], None] = lambda t: None,
    ) -> None:
        self.title, self.observe, self._also = title, observe, after_step
        self._requests: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._wanted, self._closed = True, False
        self._clock, self._pace, self._playing = _Clock(), _Pace(), playing
        self._clock.speed = speed
        self._end, self._first_end = end, end
        self._start, self._t0 = simulation.state, simulation.t
        self.take, self.note, self.begun = 0, "", False
        self.controls: tuple[Control, ...] = ()
        self._begin(simulation)

    def _begin(self, simulation: Simulation) -> None:
        """Start a take with a simulation; what was shown before is gone."""
        self._runs, self._simulation = [simulation], simulation
        self.log: list[Entry] = []
        self._seen = 0
        self._shown = simulation.t
        self._clock.set(simulation.t)
        self._pace.begin()
        self._stopped, self._ended = False, ""
        self._failure: Exception | None = None
        self.controls = controls(simulation.system)

    # --- what is read -----------------------------------------------------------------------------------------

    @property
    def system(self) -> HybridSystem:
        """The present system."""
        return self._simulation.system

    @property
    def simulation(self) -> Simulation:
        """The present simulation."""
        return self._simulation

    @property
    def playing(self) -> bool:
        """True while time goes on."""
        return self._playing

    @property
    def speed(self) -> float:
        """Seconds of the run in a second."""
        return self._clock.speed

    @property
    def runs(self) -> tuple[Trajectory, ...]:
        """Everything computed since the last start, one run for each contact law that it had."""
        return tuple(simulation.trajectory for simulation in self._runs)

    @property
    def trajectory(self) -> Trajectory:
        """The last of `runs`."""
        trajectory = self._simulation.trajectory
        reached = trajectory.arcs[-1].t1 >= self._first_end
        if trajectory.status is Status.INTERRUPTED and reached:
            return replace(trajectory, status=Status.FINISHED, message=Status.FINISHED.value)
        if trajectory.status is Status.RUNNING:
            return replace(trajectory, status=Status.INTERRUPTED, message=Status.INTERRUPTED.value)
        return trajectory

    @property
    def moment(self) -> Moment:
        """The present view; for the running thread."""
        shown, head = float(self._shown), float(self._simulation.t)
        arc, speed = self._arc_at(shown), self._clock.speed
        rate = self._pace.rate if self._playing else None
        late = self._playing and self._pace.late
        seen = shown, arc, self._t0, head, self._playing, speed
        return Moment(*seen, self.take, self.note, self.log, self._arc_at, self._ended, rate, late)

    # --- what anybody may request -----------------------------------------------------------------------------

    def want(self) -> None:
        """Ask for `observe` to be called as soon as there is something new."""
        self._wanted = True

    def refresh(self) -> None:
        """Ask for `observe` to be called at once, also while time stands still."""
        self._requests.put(None)

    def play(self, until: float | None = None) -> None:
        """Let time go on from what is shown, and the run behind its last computed time, up to `until` [s] if given."""
        self._request(lambda: self._set_playing(True, until))

    def pause(self) -> None:
        """Let time stand still."""
        self._request(lambda: self._set_playing(False))

    @arguments(speed=LENGTH_OF_TIME)
    def set_speed(self, speed: float) -> None:
        """Change how many seconds of the run are played in a second."""
        self._request(lambda: self._set_speed(speed))

    def seek(self, t: float) -> None:
        """Show the time `t` [s], or the nearest that was computed, and pause."""
        self._request(lambda: self._seek(t))

    def to_event(self, step: int) -> None:
        """Show the next event (`step` 1), or the one before what is shown (-1), and pause."""
        self._request(lambda: self._to_event(step))

    def to_head(self) -> None:
        """Show the last computed time."""
        self._request(lambda: self._seek(math.inf, pause=False))

    def close(self) -> None:
        """Let `run` return; may be called from a signal handler."""
        self._closed = True
        self._requests.put(None)

    def _request(self, request: Callable[[], None]) -> None:
        self._requests.put(request)

    # --- the loop ---------------------------------------------------------------------------------------------

    def run(self) -> Trajectory:
        """Play until `close` or Ctrl-C; returns the last run.

        A run that fails stays to be looked at, and its status tells of it; an error that is none of ours, such as one
        in a user's function, is raised at the end.
        """
        self.begun = True
        self._clock.set(self._shown)
        with interruptible(self.close):
            while not self._closed:
                self._show()
                if not self._requests.empty() or not self._playing:
                    self._obey(self._requests.get())
                elif not self._stopped and self._clock() >= self._simulation.t < self._end:
                    self._compute()
                else:
                    self._wait()
        if self._failure is not None:
            raise self._failure
        return self.trajectory

    def _compute(self) -> None:
        """Steps until the run is ahead of the clock, or somebody has a request."""
        simulation = self._simulation
        try:
            simulation.advance_to(min(self._end, self._t0 + BEYOND), self._after_step)
        except ContactSimError as error:
            logger.warning("the run ended at t = %.6g s: %s", simulation.t, error)
            self._stop(str(error))
        except Exception as error:
            logger.exception("the run failed at t = %.6g s", simulation.t)
            self._failure = error
            self._stop(f"{type(error).__name__}: {error}")
        if simulation.status not in (Status.INTERRUPTED, Status.FINISHED):
            self._stop(self._ended or simulation.message)
        self._note_events()

    def _stop(self, why: str) -> None:
        self._stopped = True
        self._ended = why if self._ended else f"The run ended at {self._simulation.t:.6g} s. {why}"

    def _after_step(self, t: float) -> None:
        self._also(t)
        now = self._clock()
        if t >= now or not self._requests.empty():
            self._simulation.interrupt()
        elif self._wanted:
            self._note_events()
            self._show()

    def _wait(self) -> None:
        """Until the time of the next step, a request, or the end of what there is to play."""
        if self._shown >= self._simulation.t and (self._stopped or self._simulation.t >= self._end):
            self._playing, self._end = False, math.inf if self._simulation.t >= self._end else self._end
            self._wanted = True
            return
        try:
            self._obey(self._requests.get(timeout=min(max(self._clock.until(self._simulation.t), 0.0), IDLE)))
        except Empty:
            return

    def _obey(self, request: Callable[[], None] | None) -> None:
        self._wanted = True
        if request is None:
            return
        self.note = ""
        try:
            request()
        except (ContactSimError, ValueError, ArithmeticError) as error:
            self.note = str(error)

    def _show(self) -> None:
        """Move what is shown with the clock, and let it be observed where that was asked for."""
        head, now = self._simulation.t, self._clock()
        if self._playing:
            speed, computing = self._clock.speed, not self._stopped and head < self._end
            self._shown = max(self._t0, self._pace(self._shown, min(now, head), speed, computing))
            if now - head > LATE * speed and not math.isinf(now):
                self._clock.set(head)
                if computing:
                    self._pace.hold_up()
        if self._wanted:
            self._wanted = False
            self.observe(self.moment)

    def _note_events(self) -> None:
        events = self._simulation.events_from(self._seen)
        self._seen += len(events)
        self.log += [Entry(event.time, event) for event in events if event.visible]

    # --- requests, in the running thread ----------------------------------------------------------------------

    def _set_playing(self, playing: bool, until: float | None = None) -> None:
        self._end = until or self._end
        self._clock.set(self._shown)
        self._pace.begin()
        self._playing = playing
        if playing and self._stopped and self._shown >= self._simulation.t:
            self._playing, self.note = False, "Go back, change something, or drop again to start anew."

    def _set_speed(self, speed: float) -> None:
        self._clock.speed = speed
        self._clock.set(self._shown)

    def _seek(self, t: float, pause: bool = True) -> None:
        self._shown = min(max(t, self._t0), self._simulation.t)
        self._playing = self._playing and not pause
        self._clock.set(self._shown)
        self._pace.begin()

    def _to_event(self, step: int) -> None:
        times = sorted({entry.time for entry in self.log})
        ahead = [t for t in times if step * (t - self._shown) > TOGETHER]
        if ahead:
            self._seek(min(ahead) if step > 0 else max(ahead))
        else:
            self._seek(math.inf if step > 0 else self._t0)

    def _arc_at(self, t: float) -> Arc:
        run = next(run for run in reversed(self._runs) if run is self._runs[0] or run.t0 <= t)
        return run.arc_at(min(t, run.t))
