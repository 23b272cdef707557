"""The loop: arc -> event -> transition -> arc."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..common.arguments import COUNT, FLAG, NAME, POSITIVE, REAL, arguments, either, function, one_of, optional, tuples
from ..common.arrays import Array
from ..common.representation import counted, several, span
from ..common.threads import one_thread
from ..errors import CallbackError, InputError, InvalidStateError, NoAdmissibleModeError, SimulationError, StepSizeError
from .course import AT_ONCE as STEPS_AT_ONCE
from .course import EVENTS_AT_ONCE, Landing
from .event_location import Watch
from .flow import Flow
from .integrators import AUTOMATIC, demand
from .manifold import Euclidean, Manifold
from .outcomes import Status, jumps, why_no_step
from .segments import Segment, Steps, segments_of
from .stepper import Stepper
from .stiff_arcs import STIFF_FROM, stiff_note
from .system import CLOCK, Dynamics, HybridSystem, Transition, completed
from .tolerances import TOLERANCES, Tolerances
from .trajectory import Arc, Event, Settings, Trajectory
from .zero import NO_TIME

EVENTS_AT_ONE_INSTANT = 100
EVENTS_TO_AND_FRO = 100  # in a row between the same two modes, each at once or after next to no time
LAST_EVENTS = 100  # that are looked at to say by what a run has too many of them
DENSE = 1e-3  # share of a run's time in which so many events are more than it gets on with
MANY_STEPS, LAST_STEPS = 1000, 50  # of an arc, after which its pace is looked at, and those that tell of a jump
TOO_MANY_STEPS = 1e6  # ahead at that pace
AT_ONCE = "fires at once"  # says a note of a guard that is below its band where a mode begins
LONGEST_CHART = 60  # characters of a mode that a note repeats
MOST_STEPS = 1e8  # of a run; each keeps a kilobyte, and takes 20 us
MOST_SAMPLES = 1e8  # of a run at its record_period: a gigabyte a component of the state
PROGRESS = function("a function of the time")
OF_SYSTEMS = (
    "start_depth",
    "speed",
    "hop",
    "force",
    "slip_speed",
    "drift",
)  # tolerances that a system decides by itself
SPAN = tuples(2, words="two finite numbers (start, end) in seconds")
OPTIONS = {
    "integrator": optional(NAME),
    "tolerances": optional(TOLERANCES),
    "record_period": optional(POSITIVE),
    "max_events": COUNT,
    "accumulation": one_of("pass", "stop"),
    "engine": optional(NAME),
}  # of a run, whoever starts it
Progress = Callable[[float], None]
Accumulation = Literal["pass", "stop"]


class Simulation:
    """A run that is advanced step by step; `simulate` is a loop over it.

    Args:
        system, state, integrator, tolerances, record_period, max_events, accumulation, mode, engine: as of `simulate`.
        t0: time of the start [s].

    Attributes:
        error: the error that stopped the run, a user function's exception as its cause; None: there is none.
    """

    system: HybridSystem
    t0: float
    t: float
    _x: Array
    _given: Array | None
    _mode: Hashable
    _flow: Flow
    _stepper: Stepper
    _watch: Watch

    @arguments(
        t0=REAL,
        **OPTIONS,
    )
    def __init__(
        self,
        system: Dynamics,
        state: Any,
        t0: float = 0.0,
        *,
        integrator: str | None = None,
        tolerances: Tolerances | None = None,
        record_period: float | None = None,
        max_events: int = 100_000,
        accumulation: Accumulation = "pass",
        mode: Any = None,
        engine: str | None = None,
    ) -> None:
        system = completed(system)
        if engine is not None:
            system = system.on_engine(engine)
        if tolerances is not None:
            _demand_carried_out(tolerances, system)
        tolerances = tolerances or system.preferred_tolerances or Tolerances()
        integrator = integrator or system.preferred_integrator or AUTOMATIC
        demand(integrator, tolerances)
        self._prepare(Settings(integrator, tolerances, max_events, accumulation), record_period)
        self._first, self._given = state, system.pack(state)
        self._begin(system, t0, system.pack(state), mode)

    @classmethod
    def resume(cls, trajectory: Trajectory) -> Simulation:
        """Go on with a run, just made or loaded from its file, as if it had not stopped.

        What follows is the same to the bit as in a run that was not stopped, under every law and integrator and
        wherever the stop was: the run goes on from the begin of the last arc before which no step had the stop within
        its reach, and computes anew what follows that. Two things cannot be taken back: functions that keep a state of
        their own (a controller with hidden variables), and a stop after which the same Simulation went on; of that,
        the arcs that are finished stay as they are. The same processor and the same libraries are meant.

        Raises:
            InputError: it is no trajectory, or does not say how it was made.
        """
        if not isinstance(trajectory, Trajectory):
            raise InputError(
                f"a {type(trajectory).__name__} cannot go on; give a Trajectory, such as Trajectory.load(path)"
            )
        if trajectory.settings is None:
            raise InputError("the trajectory does not say how it was made; start a new run from its final state")
        self = object.__new__(cls)
        settings, arcs = trajectory.settings, trajectory.arcs
        finished = sum(arc.event is not None for arc in arcs) if settings.arcs is None else settings.arcs
        self._prepare(settings, trajectory.record_period)
        self._arcs = list(arcs[:finished])
        self._events = [arc.event for arc in self._arcs if arc.event is not None]
        self._notes = list(trajectory.notes[: settings.notes])
        self.t0, self._first = arcs[0].t0, trajectory(arcs[0].t0, side="-")
        self._given = trajectory.given
        if not self._events:
            first = arcs[0]
            self.system, self.t = first.system, first.t0
            self._enter(first.mode, first.segments[0].base)
            return self
        before = self._events[-1]
        self.system = arcs[finished].system if finished < len(arcs) else trajectory.system
        self.t = before.time
        self._enter(before.mode_post, before.x_post)
        return self

    def _prepare(self, settings: Settings, record_period: float | None) -> None:
        """A run without a state yet."""
        self.tolerances, self._integrator = settings.tolerances, settings.integrator
        self._settings, self._record_period = settings, record_period
        self.status, self.message = Status.RUNNING, Status.RUNNING.value
        self.error: Exception | None = None
        self._arcs: list[Arc] = []
        self._events: list[Event] = []
        self._segments = Steps()
        self._notes: list[str] = []
        self._evaluations, self._step_size = settings.evaluations, settings.first_step
        self._at_one_instant, self._to_and_fro = settings.at_one_instant, settings.to_and_fro
        self._stop_in_reach = False
        self._restart: dict[str, Any] = {}
        self._at_once = STEPS_AT_ONCE
        self._pace = 0, 0.0, False  # steps of the arc, and time, where its pace was looked at last; whether it crept
        self._left: Array | None = None  # what a user's function applied where the run paused

    # --- what a user reads ------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        where, events = span(self.t0, self.t), counted(len(self._events), "event")
        return f"{type(self).__name__}({type(self.system).__name__}, {where}, {events}, {self.status.name})"

    @property
    def state(self) -> Any:
        """The present state."""
        return self.system.state(self._x)

    @property
    def mode(self) -> Any:
        """The present mode; for contacts {name: Mode}."""
        return self.system.named_modes(self._mode)

    @property
    def trajectory(self) -> Trajectory:
        """Everything computed so far."""
        arcs = [*self._arcs]
        if self._segments or not arcs or arcs[-1].event is not None:
            segments = self._segments.copy() if self._segments else (Segment.instant(self.t, self._x, self._space()),)
            arcs.append(Arc(self._mode, segments, None, self.system))
        return Trajectory(
            self.system,
            tuple(arcs),
            tuple(self._events),
            self.status,
            self.message,
            self._record_period,
            self.evaluations,
            tuple(self._notes),
            replace(self._settings, **self._restart),
            self._given,
        )

    @property
    def evaluations(self) -> int:
        """Field evaluations made so far."""
        return self._evaluations + self._stepper.evaluations

    @arguments(t=REAL)
    def arc_at(self, t: float) -> Arc:
        """The step computed so far that holds `t` [s] (at an event the one after it), as an arc of its own.

        This is quick however long the run is: for what looks at a run while it goes on.

        Raises:
            InputError: `t` lies outside of what was computed.
        """
        if not self.t0 <= t <= self.t:
            raise InputError(f"t = {t} lies outside the run, which covers [{self.t0}, {self.t}] s")
        if self._segments and t >= self._segments[0].t0:
            k = bisect_right(self._segments, t, key=lambda segment: segment.t0) - 1
            return Arc(self._mode, (self._segments[k],), None, self.system)
        if not self._arcs or t == self.t:
            return Arc(self._mode, (Segment.instant(self.t, self._x, self._space()),), None, self.system)
        arc = self._arcs[bisect_right(self._arcs, t, key=lambda arc: arc.t0) - 1]
        k = bisect_right(arc.segments, t, key=lambda segment: segment.t0) - 1
        return Arc(arc.mode, (arc.segments[k],), arc.event, arc.system)

    def events_from(self, k: int) -> list[Event]:
        """Events so far from number `k` on, also those that changed nothing a user can see."""
        return self._events[k:]

    # --- what a user does -------------------------------------------------------------------------------------

    @arguments(duration=POSITIVE)
    def advance(self, duration: float, progress: Progress | None = None) -> Any:
        """Go on for `duration` seconds, exactly; returns the state there.

        A run that cannot go on stops with a status and a message, and keeps what it has computed.
        """
        return self.advance_to(self.t + duration, progress)

    @arguments(dt=POSITIVE)
    def step(self, action: Any, dt: float) -> Any:
        """Go on for `dt` seconds, exactly, under inputs that are held; returns the state there.

        The order: at the present time the inputs change, the contacts are sorted out again under them, and then time
        goes on. Where a controller samples at the end of the step, its sample is part of this step. What is read
        afterwards (state, mode, forces, sensors) is that of the end, under the inputs of this step.

        Args:
            action: inputs (nu,) in the order of `system.action_names`: forces of the actuated joints of a robot [N m,
                N], besides those of its controller; or, where the actuators of its file drive it, their controls. None:
                as they are.
            dt: how long [s].

        Raises:
            InputError: the action does not fit the system.
        """
        if action is not None and (changed := self.system.with_action(action)) is not self.system:
            self._replace_system(changed)
        return self.advance(dt)

    def reset(self, state: Any = None) -> Any:
        """Begin anew at the first time, as if just made, from `state` or where it began; returns the state there.

        Parameters stay as they were `set`; pushes and inputs end, and the run so far is forgotten: take `trajectory`
        before.

        Raises:
            InputError: the state cannot be used; the run so far is kept.
        """
        system = self.system.without_pushes(math.inf).with_action(None)
        fresh = self.anew(system, self._first if state is None else state, self.t0)
        vars(self).clear()
        vars(self).update(vars(fresh))
        return self.state

    @arguments(t=REAL, progress=optional(PROGRESS))
    def advance_to(self, t: float, progress: Progress | None = None) -> Any:
        """Go on until the time `t`, exactly."""
        self._go_on(t, progress)
        return self.state

    def _go_on(self, t: float, progress: Progress | None) -> None:
        if not t >= self.t:
            raise InputError(f"cannot go back from t = {self.t} to {t}; give a later time")
        if self._record_period is not None and t - self.t0 > MOST_SAMPLES * self._record_period:
            raise InputError(
                f"record_period is {self._record_period} s, of which a run of {t - self.t0:.6g} s has more than"
                f" {MOST_SAMPLES:.0e} samples; give a longer one"
            )
        if t - self.t > MOST_STEPS * (longest := self.tolerances.max_step):
            raise InputError(
                f"max_step is {longest} s, of which a run of {t - self.t:.6g} s has more than {MOST_STEPS:.0e} steps;"
                " give a longer one"
            )
        self._demand_unchanged()
        self.status, self.message = Status.RUNNING, Status.RUNNING.value
        self._stop_in_reach, self._restart = False, self._arc_start
        try:
            with one_thread():
                self._at_once = 1 if progress else STEPS_AT_ONCE
                while self.t < t and self.status is Status.RUNNING:
                    self._step(t)
                    self._look_at_pace(t)
                    if progress:
                        progress(self.t)
        except SimulationError as error:
            self.error = self._cause_of(error) if isinstance(error, StepSizeError) else error
            self._stop(_status_of(self.error), str(self.error))
            if isinstance(error, CallbackError) and not (self._arcs or self._segments):
                raise  # nothing was computed that could be kept
        except KeyboardInterrupt as pressed:
            self._stop(Status.INTERRUPTED, Status.INTERRUPTED.value)
            self._hand_over(pressed)
            raise
        except Exception as error:
            self.error = error
            self._stop(Status.FAILED, f"{Status.FAILED.value} ({error})")
            self._hand_over(error)
            raise
        if self.status is Status.RUNNING:
            self._stop(Status.FINISHED, Status.FINISHED.value)
        self._left = self._applied()

    def _look_at_pace(self, t_end: float) -> None:
        """Stop where the steps of an arc become so short that the rest takes far too many.

        Where a controller jumps that is seen at once; what else there may be has that many steps twice in a row.
        """
        count, last = len(self._segments), self._pace
        before, since, slow = last if count >= last[0] else (0, self._entered, False)
        if count - before < MANY_STEPS:
            self._pace = before, since, slow
            return
        ahead, led = (t_end - self.t) * (count - before), self.t - since
        self._pace = count, self.t, ahead > MOST_STEPS * led
        if self.status is not Status.RUNNING or not ahead > TOO_MANY_STEPS * led:
            return
        found = jumps(self.system, self._segments[-LAST_STEPS:])
        if not found and slow and self._pace[2]:
            begin = f"{count - before} steps led only {led:.2g} s on at t = {self.t:.9g} s"
            found = str(self._flow.singular(self.t, self._x) or self._why_no_step(begin))
        if found:
            self._stop(Status.STEP_TOO_SMALL, f"{found}. {Status.STEP_TOO_SMALL.value}")

    def _why_no_step(self, begin: str) -> str:
        return why_no_step(begin, self._flow, self._space(), self.t, self._x)

    def _cause_of(self, error: StepSizeError) -> SimulationError:
        """The error with a cause that was looked at: what the flow knows, or what its field does ahead."""
        found = self._flow.singular(self.t, self._x)
        if found is None:
            begin = f"no step meets the tolerance at t = {self.t:.12g} s"
            found = StepSizeError(self._why_no_step(begin), **error.problem)
        found.__cause__ = error
        return found

    def _applied(self) -> Array | None:
        """What a user's function applies at the present state; None where it fails, which the next step tells."""
        try:
            given = self.system.applied_force(self.t, self._x)
        except SimulationError:
            return None
        return None if given is None else np.array(given)

    def _demand_unchanged(self) -> None:
        """Raise InputError where something that the controller reads was changed while the run paused.

        The arcs before would be read with the new forces, and the integrator would not know that they have jumped.
        """
        if (now := self._applied()) is None:
            return
        if self._left is None:
            self._demand_repeatable(now)
        if self._left is None or np.array_equal(self._left, now):
            return
        raise InputError(
            f"the controller gives other forces at t = {self.t:.6g} s than when the run paused there, since something"
            " that it reads was changed in place; hold it by cs.Sampled(function, period, nv), which takes up a change"
            " at its next sample, or make it a parameter and change that by Simulation.set"
        )

    def _demand_repeatable(self, force: Array) -> None:
        """Raise InputError where the controller gives other forces when it is asked once more."""
        again = self._applied()
        if again is None or np.array_equal(force, again, equal_nan=True):
            return
        raise InputError(
            f"the controller gives other forces when it is asked a second time at t = {self.t:.6g} s in the same state;"
            " let it be a function of (t, q, v) alone, or hold it by cs.Sampled(function, period, nv), which asks once"
            " a period"
        )

    def _hand_over(self, error: BaseException) -> None:
        """Give an exception what was computed before it."""
        error.trajectory = self.trajectory  # type: ignore[attr-defined]
        error.add_note(f"the run up to t = {self.t:.6g} s is kept in the attribute 'trajectory' of this exception")

    def interrupt(self) -> None:
        """Let `advance` return after the step at work; a next one goes on as if nothing had been.

        For the `progress` that `advance` calls after each step, and for other threads.
        """
        if self.status is Status.RUNNING:
            self._stop(Status.INTERRUPTED, Status.INTERRUPTED.value)

    def set_accuracy(self, rtol: float, atol: float) -> None:
        """Change the error that a step may have from now on; see `Tolerances`."""
        self.tolerances = replace(self.tolerances, rtol=rtol, atol=atol)
        self._settings = replace(self._settings, tolerances=self.tolerances)
        self._replace_system(self.system)

    def anew(self, system: HybridSystem, state: Any, t0: float) -> Simulation:
        """Another simulation with the options of this one: of `system`, from `state` at `t0` [s]."""
        return Simulation(
            system,
            state,
            t0,
            integrator=self._integrator,
            tolerances=self.tolerances,
            record_period=self._record_period,
            max_events=self._settings.max_events,
            accumulation=self._settings.accumulation,
        )

    @arguments(name=NAME, value=REAL)
    def set(self, name: str, value: float) -> None:
        """Change a parameter of the system from now on; the contacts are sorted out again at once.

        Raises:
            InputError: no such parameter, or its value is no number or out of range.
        """
        self._replace_system(self.system.with_parameter(name, value))

    @arguments(frame=NAME, duration=POSITIVE)
    def push(self, frame: str, force: Any, duration: float, point: Any = (0.0, 0.0, 0.0), alone: bool = False) -> None:
        """Push on a frame from now on with `force` [N, world axes] at `point` [m, in the frame] for `duration` [s].

        It comes to the pushes that there are; `alone`, in their place.
        """
        system: Any = self.system
        system = system.with_pushes(()) if alone else system
        self._replace_system(system.with_push(frame, force, self.t + duration, point))

    # --- the loop ---------------------------------------------------------------------------------------------

    def _step(self, t_end: float) -> None:
        """One step of the integrator, ended early by the first guard that fires in it."""
        if self.t >= self._push_end():
            self._replace_system(self.system.without_pushes(self.t))
            return
        fired = self._watch.fired_at_start() if not self._segments else frozenset()
        if fired:
            depths = dict(zip(self._flow.guard_names, -self._watch.values, strict=True))
            self._pass_event(fired)
            self._note_jump(self._events[-1], {name: depths[name] for name in fired})
            return
        if not self._segments and not self._is_valid():
            return
        clock = self._flow.next_time(self.t)
        bound = min(t_end, clock, self._push_end())
        try:
            step, landing = self._next_step(bound)
        except StepSizeError:
            fired = self._watch.ahead(self._segments[-1]) if self._segments else frozenset()
            if not fired:
                raise
            self._pass_event(fired)  # time does not tell the present from where it falls
            return
        self._stop_in_reach |= bound == t_end and self._stepper.hemmed
        if step is None:
            self._is_valid()
            return
        passed, fired = self._passed(step, landing, bound)
        if passed is None:
            return
        self._stop_in_reach |= passed.t1 >= t_end
        if passed.t1 >= clock:
            fired = fired | {CLOCK}
        self._note_stiffness(passed.t0)
        self._segments.append(passed)
        self.t, self._x = self._stepper.t, self._stepper.x
        if fired:
            if not self._travel(fired, bound):
                self._pass_event(fired)
            return
        if self._stepper.project():
            self._x = self._stepper.x
        self._is_valid()

    def _passed(
        self, step: Segment, landing: Landing | None, bound: float
    ) -> tuple[Segment | None, frozenset[Hashable]]:
        """The step up to the first guard that fires in it, and what fires there: see `Watch.pass_step`."""
        if landing is None:
            return self._watch.pass_step(self._stepper, step, bound)
        return step, self._watch.landed(landing) if landing.fired else frozenset()

    def _next_step(self, bound: float) -> tuple[Segment | None, Landing | None]:
        """A step towards `bound`, in which an event may lie, and what fires at its end, where that is known.

        No step after those of a compiled engine that hold no event.
        """
        stepper = self._stepper
        passed = stepper.cruise(bound, self._watch, self._at_once)
        if passed is None:
            return stepper.step(bound), None
        kept = len(passed.record) - passed.pending
        if kept:
            self._note_stiffness(float(passed.record[0, 0]))
        pending = segments_of(passed.record[kept:], stepper.space)[0] if passed.pending else None
        self._segments.record(passed.record[:kept], stepper.space)
        if kept:
            self.t = stepper.t if pending is None else pending.t0
            self._x = stepper.x if pending is None or pending.start is None else pending.start
        if passed.error is not None:
            raise passed.error
        return pending, passed.landing

    def _note_stiffness(self, t: float) -> None:
        """Note, once in a run, that the motion was found stiff in the steps from `t` [s] on."""
        rate = self._stepper.stiffness.noteworthy
        if rate and not any(note.startswith(STIFF_FROM) for note in self._notes):
            self._notes.append(stiff_note(rate, t))

    def _note_jump(self, event: Event, depths: Mapping[Hashable, float]) -> None:
        """Note the boundaries beyond which a mode was entered, each once in a run; not what only the engine sees."""
        if not event.transitions:
            return
        label, told = event.system.guard_label, [note for note in self._notes if AT_ONCE in note]
        new = [name for name in depths if not any(f"'{label(name)}' (by" in note for note in told)]
        if not new:
            return
        beyond = ", ".join(sorted(f"'{label(name)}' (by {depths[name]:.3g})" for name in new))
        chart = f"chart {event.mode_pre}"
        chart = chart if len(chart) <= LONGEST_CHART else "a chart"
        self._note(f"{chart} was entered beyond {beyond}, which {AT_ONCE}", f"t = {event.time:.9g} s")

    def _note(self, what: str, place: str) -> None:
        """Keep what is noted for the first time in the run, with its place."""
        if not any(note.startswith(f"{what} (") for note in self._notes):
            self._notes.append(f"{what} ({place})")

    def _travel(self, fired: frozenset[Hashable], bound: float) -> bool:
        """Pass an event, and those that follow, by a compiled engine, as far as it knows them; False: not the first."""
        most = min(EVENTS_AT_ONCE, self._settings.max_events - len(self._events) - 1)
        goes_on = most > 0 and CLOCK not in fired and self._at_once > 1 and self._settings.accumulation == "pass"
        course = self._stepper.departing(bound) if goes_on else None
        if course is None:
            return False
        from .journeys import Departure, Journey

        course.most = self._at_once
        watch, counts = self._watch, (self._at_one_instant, self._to_and_fro)
        between = self._between() if watch.at_once or watch.from_zero else ()
        closely = watch.at_once, watch.from_zero
        departure = Departure(course, self._mode, fired, self._entered, *closely, *counts, between, most, self.system)
        journey: Journey | None = self.system.journey(departure)
        if journey is None:
            return False
        self._close_arc(journey.events[0])
        self._arcs += journey.arcs
        self._events += journey.events[1:]
        self._retire_stepper()
        self._evaluations += journey.evaluations
        self._step_size = journey.first_step
        self._at_one_instant, self._to_and_fro = journey.at_one_instant, journey.to_and_fro
        self.t = journey.t
        self._enter(journey.mode, journey.x)
        if journey.begun is not None:
            self._stepper.take_up(*journey.begun)
        return True

    def _pass_event(self, fired: frozenset[Hashable]) -> None:
        transition = self.system.transition(self.t, self._x.copy(), self._mode, fired)
        event = Event(self.t, fired, self._mode, self._x, transition, self.system)
        self._look_for_an_end(event)
        at_one_instant = self.t - self._entered <= self.tolerances.event_time
        self._close_arc(event)
        self._retire_stepper()
        self._enter(transition.mode, transition.x)
        self._at_one_instant = self._at_one_instant + 1 if at_one_instant else 0
        self._mark()
        if self._at_one_instant > EVENTS_AT_ONE_INSTANT:
            self._stop(
                Status.EVENTS_WITHOUT_END,
                f"{EVENTS_AT_ONE_INSTANT} events at t = {self.t:.12g} s, the last by {sorted(map(str, fired))} between"
                f" {_told((event.mode_pre, event.mode_post), event)}{self._contradicted()}."
                f" {Status.EVENTS_WITHOUT_END.value}",
            )
        if event.accumulated and self._settings.accumulation == "stop":
            names = ", ".join(event.accumulated)
            self._stop(Status.ACCUMULATION, f"{names} at t = {self.t:.12g} s: {Status.ACCUMULATION.value}")
        if len(self._events) >= self._settings.max_events:
            self._stop(Status.TOO_MANY_EVENTS, f"{Status.TOO_MANY_EVENTS.value} ({self._last_events()})")

    def held_up(self) -> str | None:
        """By what the run hardly gets on: its last events, where they are dense; None: they are not."""
        last = self._events[-LAST_EVENTS:]
        dense = len(last) == LAST_EVENTS and self.t - last[0].time < DENSE * (self.t - self.t0)
        return self._last_events() if dense else None

    def _last_events(self) -> str:
        """Time of a run, pace of its last events, and the guard by which most of them come."""
        last = self._events[-LAST_EVENTS:]
        labels = Counter(self.system.guard_label(name) for event in last for name in event.fired)
        most = f"; {labels.most_common(1)[0][0]} in {max(labels.values())} of them" if labels else ""
        why = self.system.why_so_many(last)
        reason = f": {why}" if why else ""
        return f"t = {self.t:.12g} s, the last {len(last)} events in {self.t - last[0].time:.2g} s{most}{reason}"

    def _look_for_an_end(self, event: Event) -> None:
        """Stop where events lead to and fro between two modes: the run would go on for ever and not get on.

        Such a run slides along the surface between the modes, since both fields point at it, or bounces off it by less
        than rounding. Its events follow at once, the guard that leads back not having risen; or, where the fields only
        bend towards the surface, after arcs far shorter than the steps that their motion would allow.
        """
        between = {event.mode_pre, event.mode_post}
        if self._follows_closely(event):
            between |= {*self._between()}
            self._to_and_fro = self._to_and_fro + 1 if len(between) <= 2 else 0
        else:
            self._to_and_fro = 0
        if self._to_and_fro < EVENTS_TO_AND_FRO:
            return
        names = _told(between, event)
        guards = ", ".join(sorted({self.system.guard_label(name) for name in event.fired}, key=str))
        where = f"at t = {self.t:.12g} s by {guards}"
        contradicted = self._contradicted()
        if contradicted:
            what = f"{names} lead to each other {where}{contradicted}"
        elif np.array_equal(event.x_pre, event.x_post):
            what = f"{names} lead to each other {where}, and the run slides between them"
            what += "; cs.Filippov(system) follows that where their fields point at each other"
        else:
            what = f"ever smaller events in {names} accumulate {where}"
        self._stop(Status.EVENTS_WITHOUT_END, f"{what}. {Status.EVENTS_WITHOUT_END.value}")

    def _between(self) -> tuple[Hashable, ...]:
        """The modes between which the last events led to and fro."""
        last = self._events[-1 - self._to_and_fro :]
        return tuple({mode for event in last for mode in (event.mode_pre, event.mode_post)})

    def _contradicted(self) -> str:
        """What moves the system by time otherwise than its rates say, to be joined to what the run ends with."""
        found = self.system.contradiction(np.array([self.t]))
        return f": {found}" if found else ""

    def _follows_closely(self, event: Event) -> bool:
        """True where an event leads back over the surface of the one before, with no way between them to speak of."""
        if self._watch.at_once:
            return True
        if not (self._watch.from_zero and self._segments and np.array_equal(event.x_pre, event.x_post)):
            return False
        natural = self._stepper.step_size
        return natural is not None and event.time - self._entered < NO_TIME * natural

    def _is_valid(self) -> bool:
        """True where the run may go on from the present state; what its mode only warns of is noted once."""
        for finding in self._flow.validate(self.t, self._x):
            if not finding.fatal and any(note.startswith(f"{finding.reason} (") for note in self._notes):
                continue
            text = str(self._mode)
            place = f"chart {text}, " if len(text) <= LONGEST_CHART else ""
            place += f"t = {self.t:.9g} s"
            if finding.fatal:
                self._stop(Status.INVALID_STATE, f"{finding.reason} ({place}). {Status.INVALID_STATE.value}")
                return False
            self._note(finding.reason, place)
        return True

    def _close_arc(self, event: Event) -> None:
        segments = self._segments or (Segment.instant(self.t, self._x, self._space()),)
        self._arcs.append(Arc(self._mode, segments, event, self.system))
        self._events.append(event)
        self._segments = Steps()

    def _begin(self, system: HybridSystem, t: float, x: Array, mode: Any) -> None:
        self.system, self.t, self._x = system, t, x
        self.t0 = t
        start = system.start(t, x.copy()) if mode is None else system.restart(t, x, mode)
        if not isinstance(start, Transition):
            kind = type(getattr(system, "core", system)).__name__
            raise InputError(f"start() of {kind} returns {type(start).__name__}; return a Transition(x, mode)")
        self._mode = start.mode
        if start.changes:
            self._close_arc(Event(t, frozenset(), start.mode, x, start, system))
        else:
            for note in start.notes:
                self._note(note, f"t = {t:.9g} s")
        self._enter(start.mode, start.x)
        fatal = [finding.reason for finding in self._flow.validate(t, self._x) if finding.fatal]
        if fatal and not self._watch.fired_at_start():
            chart = f" in chart {self._mode}" if len(str(self._mode)) <= LONGEST_CHART else ""
            raise InputError(f"the run cannot start at t = {t:.9g} s{chart}: {'; '.join(fatal)}")

    def _retire_stepper(self) -> None:
        """Keep of the stepper of a finished arc how much it worked, and its last step as the next one's first."""
        self._evaluations += self._stepper.evaluations
        self._step_size = self._stepper.natural_step

    def _enter(self, mode: Hashable, x: Array) -> None:
        self._entered = self.t
        self._mode, self._x, self._flow = mode, x, self.system.flow(mode).rebased(self.t, x)
        self._stepper = Stepper(
            self._flow, self._space(), self.t, x, self._integrator, self.tolerances, self._step_size
        )
        self._watch = Watch(self._flow, self.t, x, self.tolerances)
        self._mark()

    def _mark(self) -> None:
        """Note where an arc begins, from where the run can be gone on with if its stop had no part in it."""
        self._arc_start: dict[str, Any] = {
            "first_step": self._step_size,
            "evaluations": self._evaluations,
            "at_one_instant": self._at_one_instant,
            "to_and_fro": self._to_and_fro,
            "arcs": len(self._arcs),
            "notes": len(self._notes),
        }
        if not self._stop_in_reach:
            self._restart = self._arc_start

    def _replace_system(self, system: HybridSystem) -> None:
        """Go on with a changed system; what that does to the mode is an event."""
        self._stop_in_reach &= self.status is Status.RUNNING  # what a user changes is not undone
        self._left = None
        transition = system.transition(self.t, self._x, self._mode, frozenset())
        self._close_arc(Event(self.t, frozenset(), self._mode, self._x, transition, system))
        self.system = system
        self._retire_stepper()
        self._enter(transition.mode, transition.x)

    def _push_end(self) -> float:
        """End of the first of the present pushes; infinity if there is none."""
        pushes = self.system.pushes
        return min(push.end for push in pushes) if pushes else math.inf

    def _space(self) -> Manifold:
        return self.system.space(self._mode) or Euclidean(len(self._x))

    def _stop(self, status: Status, message: str) -> None:
        self.status, self.message = status, message


def _demand_carried_out(tolerances: Tolerances, system: Any) -> None:
    """Raise InputError where a run is to keep to a tolerance by which its system does not decide."""
    own = getattr(system, "tolerances", None)
    if own is None:
        return
    for name in OF_SYSTEMS:
        asked, kept = getattr(tolerances, name), getattr(own, name)
        if asked not in (kept, getattr(Tolerances, name)):
            raise InputError(
                f"the system decides by its own tolerance '{name}' = {kept:g}, and not by the {asked:g} that the run is"
                " given; give them to the system, too: ContactSystem(..., tolerances=...)"
            )


@arguments(progress=either(FLAG, PROGRESS), **OPTIONS)
def simulate(
    system: Dynamics,
    state: Any,
    span: tuple[float, float],
    *,
    integrator: str | None = None,
    tolerances: Tolerances | None = None,
    record_period: float | None = None,
    max_events: int = 100_000,
    accumulation: Accumulation = "pass",
    progress: bool | Progress = False,
    mode: Any = None,
    engine: str | None = None,
) -> Trajectory:
    """Run `system` from `state` over the time `span` (t0, t1) [s].

    Args:
        system: any HybridSystem, e.g. a ContactSystem; or what has at least its methods flow, transition and start.
        state: a State for a ContactSystem, else a plain array.
        span: first and last time [s]; both are met exactly.
        integrator: "DOP853", "RK45", "RK23", "RK4" (fixed steps of `Tolerances.max_step`), "Radau9",
            "Radau", "BDF" or "LSODA", these for stiff systems, or "automatic": "DOP853", and "Radau9" where and as long
            as the motion is stiff. None: the one that the system prefers, else "automatic".
        tolerances: accuracy of the run; None: that which the system prefers, else that of `Tolerances()`.
        record_period: spacing of the samples [s]; None: the ends of the integrator's steps.
        max_events: the run stops at this many events.
        accumulation: where infinitely many bounces come to their end (Zeno), "pass" goes on in contact, "stop" stops.
        progress: True shows a bar; a callable is given the time after each step.
        mode: in which to start in the middle of a motion: that of another run there (`run.arc_at(t).mode`), which is
            gone on with as it was, or {contact: Mode} of a ContactSystem (`run.mode_at(t)`). None: sorted out anew, by
            which a contact opens that leaves by a rounding.
        engine: what computes arcs: "python", or one that is installed; None: that of CONTACTSIM_ENGINE, or the fastest.

    Returns:
        The trajectory. A run that has to stop early returns what it has computed, with its status and message.

    Raises:
        InputError: something given cannot be used.
    """
    t0, t1 = checked_span(span)
    simulation = Simulation(
        system,
        state,
        t0,
        integrator=integrator,
        tolerances=tolerances,
        record_period=record_period,
        max_events=max_events,
        accumulation=accumulation,
        mode=mode,
        engine=engine,
    )
    if progress is True:
        from ..common.terminal import bar

        with bar(t0, t1) as tick:
            simulation._go_on(t1, tick)
    else:
        simulation._go_on(t1, progress or None)
    return simulation.trajectory


def checked_span(span: tuple[float, float]) -> tuple[float, float]:
    """First and last time of a run [s] from what a user gave.

    Raises:
        InputError: they are no two times, or the end does not lie after the start.
    """
    t0, t1 = SPAN.check("the time span", span)
    if t1 <= t0:
        raise InputError(f"the time span ({t0}, {t1}) is reversed or empty; the end must lie after the start")
    return t0, t1


def _told(modes: Iterable[Hashable], event: Event) -> str:
    """Modes in a sentence; those of many contacts by what the event between them changes."""
    names = sorted(f"'{mode}'" for mode in modes)
    if max(map(len, names)) <= LONGEST_CHART:
        return names[0] if len(names) == 1 else f"the modes {' and '.join(names)}"
    changed = several(
        [f"{name} {_word(before)} -> {_word(after)}" for name, (before, after) in event.transitions.items()]
    )
    count = "one mode" if len(names) == 1 else "two modes"
    return f"{count} ({changed})" if changed else count


def _word(value: Any) -> str:
    return str(getattr(value, "value", value))


def _status_of(error: SimulationError) -> Status:
    if isinstance(error, NoAdmissibleModeError):
        return Status.NO_ADMISSIBLE_MODE
    if isinstance(error, InvalidStateError):
        return Status.INVALID_STATE
    if isinstance(error, StepSizeError):
        return Status.STEP_TOO_SMALL
    return Status.FAILED
