"""One smooth arc: adaptive steps of a SciPy method in a chart of the state's manifold, with dense output."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from ..errors import CallbackError, OutsideError, SimulationError, StepSizeError
from .course import Course, Passed, Watching
from .differences import tangent_derivative
from .flow import Cruise, Flow
from .integrators import AUTOMATIC, EXPLICIT, FIRM, IMPLICIT, method
from .integrators.tables853 import FIFTH, THIRD, Lower
from .manifold import Manifold
from .segments import Chain, Interpolant853, Segment, last_start
from .stiff_arcs import STIFF, StiffArcs
from .tolerances import Tolerances
from .zero import ROUNDED

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver


SHORTER = 0.5  # share of it below which a longest step makes a new start of such a method worth its while

# A step is asked for this share of the tolerance, so that the dense output, one order below the step, stays within it.
STEP_SHARE = 0.1
SHORT = 0.05  # share of the step that the tolerance allows; a step that is as short is short for the motion
FIRST = (
    1e-4  # s, first step of a run by a method whose own choice goes by the end of the run; others take no longer one
)
SHORT_TRIAL, STILL = 1e-6, 1e-15  # s, by which the change of a rate is seen; share of the tolerance below which none is
LEAP = 10.0  # times the step it takes that LSODA may have tried
WITHIN_REACH = 2.0  # times its length at which a step counts as hemmed in by a bound
FINEST = 100.0 * float(np.finfo(float).eps)  # relative error of a step below which SciPy's methods take none
BRIEFLY, SHORTLY = 5e-4, 0.1  # shares of the step that the motion allows, below which orders three and five do
FIRST_SHARE = 0.2  # of the way to a singular place that the first step towards it takes
# A field is expanded within this share of the step that the motion allows, and once more within a share of that.
EXPANDED, SOONER = 3e-3, 0.25
BEHIND = 1.2  # times the way to a singular place by which a field is looked at then
CUT = 0.1  # share of the tolerance that a short step may miss whose interpolant is its state at an event
EXACT = 2e-8  # share of the tolerance that a step may miss, whose interpolant is as good as a step
BEYOND = 1.05  # times the time to the next guard that a short step takes
SPENT_853, SPENT = 8, 3  # orders in the step by which DOP853, and any other method at least, foretell an error


class Stepper:
    """Adaptive steps along one flow.

    Where a guard or a singular place is ahead, steps of DOP853 and of Radau9 are led to it; other methods, which keep
    what their last steps were, find their way themselves.

    Attributes:
        step_size: length of the next step, as the method proposes it [s].
        natural_step: the same where neither a guard nor a stop was near: what the motion itself allows [s].
        hemmed: whether the bound of the last step may have made it shorter.

    The method sees chart coordinates dx around `base`: x = base (+) dx, so the state stays on its manifold whatever
    the method, and the method keeps its order (Munthe-Kaas' form with the exact inverse differential). A new chart is
    started where the old one gets far from its origin or where the state was projected.
    """

    def __init__(
        self,
        flow: Flow,
        space: Manifold,
        t: float,
        x: Array,
        name: str,
        tolerances: Tolerances,
        first_step: float | None,
    ) -> None:
        self.flow, self.space, self.tolerances = flow, space, tolerances
        self.stiffness = StiffArcs(name, flow.cruise is not None)
        self._suspected_step, self._unknown = 0.0, self.stiffness.automatic
        self._left: SimulationError | None = None  # of a trial that left where the field is defined
        self._before: tuple[OdeSolver, Array] | None = None  # the stiff method where its last step began, and the chart
        self._ahead: Passed | None = None  # the first steps of the arc, where they were taken beforehand
        self._use(self.stiffness.name)
        self.evaluations, self._longest, self._approach = 0, math.inf, math.inf
        self.step_size, self.natural_step, self._in_haste, self.hemmed = first_step, first_step, True, False
        self._expandable = EXPANDED * (first_step or 0.0)
        self._restart(t, x, math.inf)

    def _use(self, name: str) -> None:
        self._name, self._implicit, self._firm = name, name in IMPLICIT, name in FIRM
        self._explicit = self._of_order_eight = name == EXPLICIT
        self._collocates = name == STIFF
        if not (self._explicit or self._collocates):  # SciPy's methods are loaded where one of them takes a step
            from scipy.integrate import DOP853

            self._of_order_eight = issubclass(method(name), DOP853)
            self._collocates = getattr(method(name), "collocates", False)
        self._led = self._collocates or self._of_order_eight
        self.flow = self.flow.fitted(self.stiffness.rate > 0.0 or self._collocates)

    def _restart(self, t: float, x: Array, bound: float) -> None:
        self.t, self.x, self._base = t, x, x
        self._bound = bound
        self._solver: OdeSolver | None = None
        self._course: Course | None = None

    def _rate(self, t: float, dx: Array) -> Array:
        """Rate (dim,) in the chart; NaN where a trial left the finite numbers, or the field: a shorter one is made."""
        self.evaluations += not self.flow.is_expanded
        x = self.space.integrate(self._base, dx)
        size = float(x.dot(x))
        if not math.isfinite(size * size):  # nor would be what is quadratic in it
            return np.full(self.space.dim, math.nan)
        try:
            rate = np.array(self.flow.field(t, x), dtype=float)  # a flow may fill one array again and again
        except CallbackError:
            raise
        except SimulationError as error:
            if t == self.t:
                raise
            self._left = error
            return np.full(self.space.dim, math.nan)
        return self.space.chart_rate(dx, rate)

    def _known_jacobian(self, t: float, x: Array) -> Array | None:
        """D_x f, or None where the flow does not know it, or its equations do not tell it there."""
        try:
            return self.flow.jacobian(t, x)
        except np.linalg.LinAlgError:
            return None

    def _jacobian(self, t: float, dx: Array) -> Array:
        """Derivative (dim, dim) of the rate in the chart, D_x f - ad(f) / 2; exact at the origin of the chart."""
        x = self.space.integrate(self._base, dx)
        found = self._known_jacobian(t, x)
        if found is None:
            found = tangent_derivative(lambda point: self.flow.field(t, point), self.space, x)
        matrix = np.asarray(found, dtype=float)
        bracket = self.space.bracket(self.flow.field(t, x))
        return matrix if bracket is None else matrix - 0.5 * bracket

    def _longest_step(self) -> float:
        return min(self.tolerances.max_step, self.flow.longest_step(self.t, self.x))

    def _new_solver(self, bound: float, first_step: float | None) -> OdeSolver:
        if first_step is not None:
            first_step = min(first_step, bound - self.t)
        limits: dict[str, Any] = {
            "rtol": STEP_SHARE * self.tolerances.rtol,
            "atol": STEP_SHARE * self.tolerances.atol,
            "max_step": self.tolerances.max_step,
        }
        if self._firm:
            limits["max_step"] = self._longest = self._longest_step()
            first_step = min(FIRST, bound - self.t) if first_step is None else first_step
        if self._implicit and self._known_jacobian(self.t, self.x) is not None:
            limits["jac"] = self._jacobian
        solver = method(self._name)(
            self._rate, self.t, np.zeros(self.space.dim), bound, first_step=first_step, **limits
        )
        if self._collocates:
            solver.floor = ROUNDED * float(np.spacing(np.abs(self.x).max(initial=1.0)))
        return solver

    def _first_step(self, bound: float) -> float:
        """First step [s] of DOP853 by the sizes of the rate and of its change, where none is known; SciPy's.

        Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.4, at y = 0.
        """
        atol, dim, duration = STEP_SHARE * self.tolerances.atol, self.space.dim, bound - self.t
        if not dim or not duration:
            return duration if dim else math.inf
        short = min(SHORT_TRIAL, duration)
        rate = np.array(self._rate(self.t, np.zeros(dim)))
        change = (self._rate(self.t + short, short * rate) - rate) / short
        size, bend = (float(np.linalg.norm(found / atol)) / dim**0.5 for found in (rate, change))
        if size <= STILL and bend <= STILL:
            own = max(SHORT_TRIAL, 1e-3 * short)
        else:
            own = max((0.01 / max(size, bend)) ** (1.0 / SPENT_853), float(np.spacing(self.t)))
        return min(100.0 * short, own, duration, self.tolerances.max_step)

    def step(self, bound: float) -> Segment:
        """Take one step towards `bound`, never past it.

        Raises:
            StepSizeError: the tolerance cannot be met with a step that still moves the time.
        """
        self.flow = self.flow.rebased(self.t, self.x)
        approach = self.flow.towards_singular(self.t, self.x) if self._led else math.inf
        longest = min(self._longest_step(), approach)
        if self._unknown or self._suspected_step:
            self._look_for_stiffness()
        if self._solver is None or bound != self._bound or (self._firm and longest < SHORTER * self._longest):
            self._restart(self.t, self.x, bound)
            self._solver = self._new_solver(bound, self.step_size)
        if self.stiffness.turn_back(self._solver, approach):
            self.step_size = min(self._solver.h_abs, bound - self.t)
            self._change_method(bound)
            self._solver = self._new_solver(bound, self.step_size)
        self._solver.max_step = min(longest, self._until_next(longest))
        if self._collocates and self.flow.slowing:
            self._solver.growth = self.flow.slowing(self.t, self.x)
        if approach < self._approach < math.inf and (size := getattr(self._solver, "h_abs", None)):
            self._solver.h_abs = size * approach / self._approach
        elif approach < self._approach == math.inf and (size := getattr(self._solver, "h_abs", None)):
            self._solver.h_abs = min(size, FIRST_SHARE * approach)
        self._approach = approach
        confined = self._expand(approach, bound)
        t0, base, start = self.t, self._base, self.x
        tried = min(getattr(self._solver, "h_abs", math.inf), self._solver.max_step)
        if self._explicit:
            self._solver.lower = self._lower(min(tried, bound - t0), longest, self._solver.h_abs)
        self._before = (copy(self._solver), base) if self._collocates else None
        segment = self._advance(self._solver, t0, base, start)
        if self._firm:  # such a method does not say what it tries
            tried = LEAP * (segment.t1 - t0)
        self.hemmed = confined or bound - t0 <= WITHIN_REACH * tried
        self._suspected_step = segment.t1 - segment.t0 if self.stiffness.suspects(self._solver, approach) else 0.0
        if self._solver.t < bound:  # the last step of a solver is cut short by the bound: not a measure of the motion
            self.step_size = getattr(self._solver, "h_abs", None) or self.step_size
            if longest >= (self.natural_step or 0.0) and not self._in_haste:
                self.natural_step = self.step_size
        self.t, self.x = segment.t1, segment(segment.t1)
        if not self.space.within_chart(self._solver.y):
            self._restart(self.t, self.x, bound)
        return segment

    def _lower(self, ahead: float, longest: float, proposed: float) -> Lower | None:
        """A method of a lower order for a step of DOP853 of length `ahead` [s], where that is short for the motion.

        Args:
            ahead: the length.
            longest: that which the flow allows [s].
            proposed: that which the error of DOP853 would allow [s].
        """
        usual = min(self.natural_step or 0.0, longest)
        if ahead <= BRIEFLY * usual:
            return THIRD
        return FIFTH if ahead <= SHORTLY * min(usual, proposed) else None

    def _expand(self, approach: float, bound: float) -> bool:
        """Go on with a field that is expanded around the present state, where a singular place is close.

        True where that was not done since the bound is as close: nothing is asked about what lies behind it.
        """
        nearing = self.flow.nearing if self._explicit and not self.flow.is_expanded else None
        if nearing is None or not approach <= self._expandable:
            return False
        if bound - self.t <= BEHIND * approach:
            return True
        flow = nearing(self.t, self.x, approach, STEP_SHARE * self.tolerances.atol)
        self._expandable = SOONER * approach
        if flow is not self.flow:
            self.flow, self.evaluations = flow, self.evaluations + flow.spent
        return False

    def cruise(self, bound: float, watch: Watching, most: int) -> Passed | None:
        """The same by a compiled engine, step by step, as long as nothing happens; None where there is none.

        The watch goes along. Where the last step is `pending` and it is not known what fires at its end, the stepper is
        there, and the watch at its start.
        """
        if self._compiled is None:
            return None
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            if bound == self._bound:
                return self._gone_on(ahead, bound, watch, most)
        if not self.step_size:
            self._restart(self.t, self.x, bound)
            self.step_size = self._first_step(bound)
        if self._unknown or self._suspected_step:
            self.flow = self.flow.rebased(self.t, self.x)
            self._look_for_stiffness()
        cruise = self._compiled
        if cruise is None:
            return None
        if self._course is None or bound != self._bound:
            self._restart(self.t, self.x, bound)
            self._course = self._new_course(bound)
        course = self._course
        course.in_haste, course.most = self._in_haste, most
        watch.embark(course)
        return self._gone_on(cruise(course), bound, watch, most)

    def take_up(self, course: Course, passed: Passed) -> None:
        """Go on behind the first steps of the arc, which an engine took by itself: `cruise` tells them next."""
        self._course, self._bound, self._ahead, self._unknown = course, course.bound, passed, False

    def _gone_on(self, passed: Passed, bound: float, watch: Watching, most: int) -> Passed | None:
        """Go on from where a compiled engine has led."""
        course = self._course
        assert course is not None
        self.evaluations += passed.evaluations
        if passed.asked is not None:
            if self.stiffness.answer(passed.asked, course):
                self.step_size = min(course.step, bound - self.t)
                self._change_method(bound)
            return self.cruise(bound, watch, most)
        self.hemmed = passed.hemmed
        if not len(passed.record):
            self._restart(self.t, self.x, math.inf)
            return None if passed.error is None else passed
        self.t, self.x, self._base = course.t, course.x.copy(), course.base
        self.step_size, self.natural_step = course.proposed, course.natural if course.natural >= 0.0 else None
        self._in_haste, self._approach, self._expandable = course.in_haste, course.approach, course.expandable
        self.stiffness.disembark(course)
        if passed.suspected:
            self._suspected_step = float(passed.record[-1, 1] - passed.record[-1, 0])
        watch.disembark(course)
        if passed.pending and not (passed.landing and passed.landing.fired):
            self.flow = self.flow.rebased(*last_start(passed.record, self.space))
        return passed

    @property
    def _compiled(self) -> Cruise | None:
        """The steps of a compiled engine, where it knows the method at work, and how long its first step is."""
        if self._explicit:
            return self.flow.cruise
        return self.flow.cruise if self._name == STIFF and self.step_size and self.flow.cruises_stiffly else None

    def _new_course(self, bound: float) -> Course:
        """What a compiled engine goes on from: the first step of a new solver."""
        course = self._first_course(bound, self.step_size or 0.0, self.stiffness)
        course.natural = -1.0 if self.natural_step is None else self.natural_step
        course.approach, course.expandable = self._approach, self._expandable
        course.in_haste, course.stiff = self._in_haste, self._name == STIFF
        return course

    def departing(self, bound: float) -> Course | None:
        """The course of the arc behind an event that ends this one here, for a compiled engine; None: there is none.

        None, too, where another method begins it, or it is not known how long its first step is.
        """
        begins_explicitly = self.stiffness.automatic or self._explicit
        if self.flow.cruise is None or not (self.natural_step and begins_explicitly):
            return None
        name = AUTOMATIC if self.stiffness.automatic else EXPLICIT
        return self._first_course(bound, self.natural_step, StiffArcs(name, True))

    def _first_course(self, bound: float, size: float, stiffness: StiffArcs) -> Course:
        """The course of an arc that begins here, with its first step."""
        tolerances, nothing, dim = self.tolerances, np.zeros(0), self.space.dim
        return Course(
            t=self.t,
            bound=bound,
            x=np.array(self.x),
            base=np.array(self.x),
            y=np.zeros(dim),
            rate=np.zeros(dim),
            fresh=True,
            step=size,
            proposed=size,
            natural=size,
            approach=math.inf,
            expandable=EXPANDED * size,
            in_haste=True,
            rtol=max(STEP_SHARE * tolerances.rtol, FINEST),
            atol=STEP_SHARE * tolerances.atol,
            max_step=tolerances.max_step,
            path_rtol=tolerances.rtol,
            path_atol=tolerances.atol,
            **stiffness.embark(),
            stiff=False,
            most=1,
            values=nothing,
            highest=nothing,
            floor=nothing,
            rounding=nothing,
            band=nothing,
        )

    def _until_next(self, longest: float) -> float:
        """Length of a step that ends a little behind the next guard, where that is expected soon; else infinity.

        Its interpolant is as exact there as a step, so that nothing has to be stepped again. It is asked where events
        are dense: as an arc begins, and after steps that were made for this reason.
        """
        if not (self._in_haste and self._led):
            self._in_haste = False
            return math.inf
        horizon = SHORT * min(self.natural_step or 0.0, longest) / BEYOND
        length = BEYOND * self.flow.soonest(self.t, self.x, horizon)
        self._in_haste = length < math.inf
        return max(length, self.tolerances.event_time)

    def _look_for_stiffness(self) -> None:
        """Go over to the stiff method, where a decay holds explicit steps, or will as an arc begins."""
        step, self._suspected_step = self._suspected_step, 0.0
        time, self._unknown = self.flow.stiff_for(self.t, self.x) if self._unknown else 0.0, False
        jacobian = self._known_jacobian(self.t, self.x) if time or step else None
        if jacobian is None:
            return
        first = self.stiffness.starts_stiff(jacobian, time) if time else None
        if first is not None:
            self.step_size = first
        if first is not None or (step and self.stiffness.turn_stiff(jacobian, step, self._approach)):
            self._change_method(math.inf)

    def _change_method(self, bound: float) -> None:
        self._use(self.stiffness.name)
        self._restart(self.t, self.x, bound)

    def land(self, segment: Segment, t: float) -> Segment:
        """Integrate again from the start of `segment` to exactly `t`: the end is a step's, not an interpolant's."""
        again = self._again(segment, t)
        if again is not None:
            return again
        self.t, self.x = segment.t0, segment(segment.t0)
        self._restart(self.t, self.x, t)
        solver = self._new_solver(t, t - self.t)
        if self._explicit:
            allowed = (segment.t1 - segment.t0) * segment.miss ** (-1.0 / SPENT_853) if segment.miss else math.inf
            solver.lower = self._lower(t - self.t, math.inf, allowed)
        first = self._advance(solver, self.t, self._base, self.x)
        pieces = [first]
        while solver.t < t:
            pieces.append(self._advance(solver, solver.t, self._base))
        chart, last = Chain(tuple(pieces)), pieces[-1]
        landed = first if last is first else Segment(first.t0, t, self._base, chart, self.space, last.end, last.guards)
        self._solver = None
        self.t, self.x = t, landed(t)
        return landed

    def _again(self, segment: Segment, t: float) -> Segment | None:
        """The same by the stiff method as it was where its last step began; None where one step does not lead there.

        A new method has to take the first part of a longer step in smaller ones.
        """
        if self._before is None or self._before[0].t != segment.t0 or self._before[1] is not segment.base:
            return None
        solver, base = copy(self._before[0]), segment.base
        solver.t_bound = t
        self._restart(segment.t0, segment(segment.t0), t)
        self._base = base
        try:
            landed = self._advance(solver, self.t, base, self.x)
        except CallbackError:
            raise
        except SimulationError:
            return None
        if solver.t < t:
            return None
        self.t, self.x = t, landed(t)
        return landed

    def is_exact(self, segment: Segment, t: float) -> bool:
        """Whether a step is so short for the motion that its interpolant at `t` within it is as exact as its end."""
        within = self._explicit and segment.t0 < t < segment.t1 and isinstance(segment.chart, Interpolant853)
        short = segment.t1 - segment.t0 <= SHORT * (self.natural_step or 0.0) and segment.miss <= CUT
        return within and (short or segment.miss <= EXACT)

    def cut(self, segment: Segment, t: float) -> Segment:
        """The part of a step up to `t`, by its interpolant."""
        self.t, self.x = t, segment(t)
        return replace(segment, t1=t, end=self.x, guards=np.array(self.flow.guards(t, self.x.copy()), dtype=float))

    def retry(self, segment: Segment) -> None:
        """Go back to the start of `segment`, to step on from there with a quarter of its length.

        Raises:
            StepSizeError: the step would be too short to move the time.
        """
        quarter = 0.25 * (segment.t1 - segment.t0)
        if self.natural_step == self.step_size:
            self.natural_step = quarter
        self.step_size = quarter
        if self.step_size <= self.tolerances.min_step * max(1.0, abs(segment.t0)):
            raise StepSizeError(f"no step ends at the event at t = {segment.t0:.12g} s; the motion is singular there")
        # Beyond a singular place the interpolant of the step may be no number, also where the step starts.
        start = segment(segment.t0) if segment.start is None else segment.start
        self._restart(segment.t0, start, math.inf)

    def project(self) -> bool:
        """Put the state back on the constraints of its mode; the chart is moved with it, so that the method goes on."""
        x = self.flow.project(self.t, self.x)
        if x is self.x:
            return False
        if self._course is not None:
            self._course.move(x, self.space)
            self.x, self._base = x, self._course.base
            return True
        if self._solver is None:
            self._restart(self.t, x, math.inf)
        else:
            self.x, self._base = x, self.space.integrate(x, -self._solver.y)
        return True

    def _advance(self, solver: OdeSolver, t0: float, base: Array, start: Array | None = None) -> Segment:
        compiled: Any = solver if self._explicit else None
        before = 0
        if compiled is not None:
            compiled.whole = self.flow.stages(base) if self.flow.stages else None
            before = compiled.evaluations
        self._left = None
        with np.errstate(over="ignore", invalid="ignore"):  # a trial step that went too far is not taken
            message = solver.step()
        if solver.status == "failed":
            if self._left is not None:  # however short the step
                raise self._left
            raise StepSizeError(
                f"the step at t = {t0:.12g} s fell below the smallest one ({message}); the motion is singular or stiff"
                " there: try integrator='Radau', or look for a force that jumps without an event",
                t=t0,
            )
        if not np.all(np.isfinite(solver.y)):
            raise SimulationError(f"the state became infinite or NaN at t = {solver.t:.12g} s", t=t0)
        # The method evaluated the field last where the step ends: there the guards cost next to nothing now.
        end = self.space.integrate(base, solver.y)
        guards = self._guards_at(solver.t, end)
        dense = solver.dense_output()
        if compiled is not None:
            self.evaluations += compiled.evaluations - before
        return Segment(t0, solver.t, base, dense, self.space, end, guards, start, self._missed(solver, solver.t - t0))

    def _guards_at(self, t: float, x: Array) -> Array | None:
        """The guards (ng,) at the end of a step; None where it led out of where the system is defined."""
        try:
            return np.array(self.flow.guards(t, x.copy()), dtype=float)
        except OutsideError:
            return None

    def _missed(self, solver: OdeSolver, step: float) -> float:
        """The part of its tolerance that a step spent, by the length that the method proposes for the next one."""
        following = getattr(solver, "h_abs", None)
        if not following:
            return 1.0
        return min(1.0, (step / following) ** (SPENT_853 if self._of_order_eight else SPENT))
