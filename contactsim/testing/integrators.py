"""Properties of an integrator: a subclass of SciPy's OdeSolver, driven as a run drives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import OdeSolver

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass
from ..errors import ContactSimError, InputError
from ..hybrid.simulate import simulate
from ..hybrid.tolerances import Tolerances
from . import checks
from .report import Finding, Outcome
from .small_systems import SYSTEMS

END = 2.0  # of each problem [s]
LEVELS = ((1e-4, 0.04), (1e-6, 0.02), (1e-8, 0.01))  # relative tolerance, and longest step [s], sharper and sharper
FALL, EXACT = 0.7, 1e-9  # share of its error that a sharper level may leave, and an error that need not fall
ASKED = 1e-6  # tolerance of the runs that choose their steps themselves
OFF = 1e3  # times the tolerance that the end of such a run may be off
INSIDE = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a step, where its dense output is looked at
DENSE = 10.0  # times the largest error at the ends of steps that it may have within them
JOINT = 1e-9  # between the dense output and the step at both ends
MOST = 100_000  # steps of a run
SLACK = 1e-9  # share of a longest step that is rounding
MET = 1e-3  # between a run through an event with this method, and with a sharp one
SHARP = Tolerances(rtol=1e-11, atol=1e-12)
COARSE = Tolerances(rtol=1e-7, atol=1e-9, max_step=1e-3)  # also for methods of fixed step


class Problem(NamedTuple):
    """A differential equation with its solution in closed form."""

    name: str
    rate: Callable[[float, Array], Array]
    solution: Callable[[Any], Array]


PROBLEMS = (
    Problem("a decay", lambda t, y: -y, lambda t: np.array([np.exp(-t)])),
    Problem("an integral", lambda t, y: np.array([np.cos(3.0 * t)]), lambda t: np.array([np.sin(3.0 * t) / 3.0])),
    Problem(
        "an oscillation",
        lambda t, y: np.array([2.0 * y[1], -2.0 * y[0]]),
        lambda t: np.array([np.sin(2.0 * t), np.cos(2.0 * t)]),
    ),
    Problem("a growth with a limit", lambda t, y: y * (1.0 - y), lambda t: np.array([1.0 / (1.0 + 3.0 * np.exp(-t))])),
)


@dataclass(frozen=True)
class Method:
    """An integrator and the name under which it is registered; empty: it is not."""

    kind: type[OdeSolver]
    name: str = ""

    def make(self, problem: Problem, **options: Any) -> Any:
        """A solver at the start of a problem."""
        start = np.asarray(problem.solution(0.0), dtype=float)
        return self.kind(problem.rate, 0.0, start, END, **options)  # type: ignore[arg-type]

    def steps(self, solver: Any) -> Iterator[Any]:
        """(t_old, t, state, dense output) of each step to the end."""
        for _ in range(MOST):
            if solver.status != "running":
                return
            message = solver.step()
            if solver.status == "failed":
                raise ContactSimError(f"the method fails at t = {solver.t:.6g} s: {message}")
            yield solver.t_old, solver.t, solver.y.copy(), solver.dense_output()
        raise ContactSimError(f"the method has not come to the end after {MOST} steps; it is at t = {solver.t:.6g} s")


def _levels(method: Method) -> Iterator[tuple[Problem, list[float]]]:
    for problem in PROBLEMS:
        errors = []
        for rtol, longest in LEVELS:
            solver = method.make(problem, rtol=rtol, atol=1e-2 * rtol, max_step=longest)
            *_, last = method.steps(solver)
            errors.append(float(np.abs(last[2] - problem.solution(END)).max()))
        yield problem, errors


def _ends(method: Method) -> Iterator[Finding]:
    for problem in PROBLEMS:
        times = [0.0]
        for t_old, t, _, _ in method.steps(method.make(problem, max_step=LEVELS[0][1])):
            text = f"a step of {problem.name} leads from t = {t_old:.6g} to {t:.6g} s, after {times[-1]:.6g} s"
            yield (0.0 if t_old == times[-1] < t <= END else np.inf), text, {"time": t}
            times.append(t)
        text = f"the last step of {problem.name} ends at t = {times[-1]!r} s instead of {END}"
        yield 0.0 if times[-1] == END else np.inf, f"{text}; end at t_bound exactly", {}


def _converges(method: Method) -> Iterator[Finding]:
    for problem, errors in _levels(method):
        for coarse, fine in pairwise(errors):
            left = 0.0 if fine <= EXACT else fine / max(coarse, EXACT)
            text = (
                f"the error of {problem.name} is {coarse:.3g}, and {fine:.3g} with a sharper tolerance and half the"
                " longest step; let it fall with both"
            )
            yield left, text, {}


def _obeys(method: Method) -> Iterator[Finding]:
    """Errors and work of the method by a tolerance alone."""
    for problem in PROBLEMS:
        *_, last = method.steps(method.make(problem, rtol=ASKED, atol=ASKED))
        off = float(np.abs(last[2] - problem.solution(END)).max()) / ASKED
        yield off, f"{problem.name} is off by {off:.3g} times the tolerance; choose the steps by their error", {}


def _dense(method: Method) -> Iterator[Finding]:
    rtol, longest = LEVELS[-1]
    for problem in PROBLEMS:
        steps = list(method.steps(method.make(problem, rtol=rtol, atol=1e-2 * rtol, max_step=longest)))
        worst = max(float(np.abs(y - problem.solution(t)).max()) for _, t, y, _ in steps)
        for t_old, t, y, dense in steps:
            times = t_old + np.array(INSIDE) * (t - t_old)
            many = np.asarray(dense(times))
            where = {"time": t_old}
            if many.shape != (len(y), len(times)) or np.shape(dense(float(t))) != y.shape:
                text = (
                    f"the dense output has shape {many.shape} at {len(times)} times; return (n, times), and (n,) at one"
                )
                yield np.inf, text, where
                return
            gap = float(np.abs(dense(float(t)) - y).max())
            text = f"the dense output of {problem.name} misses the end of its step at t = {t:.6g} s by {gap:.3g}"
            yield gap / JOINT, text, where
            off = float(np.abs(many - problem.solution(times)).max())
            text = (
                f"the dense output of {problem.name} is off by {off:.3g} within the step from t = {t_old:.6g} s, whose"
            )
            yield off / (DENSE * max(worst, EXACT)), f"{text} ends are off by {worst:.3g} at most", where


def _limits(method: Method) -> Iterator[Finding]:
    """The longest step, also where it is set anew between steps, and the first one."""
    problem, (_, longest) = PROBLEMS[2], LEVELS[-1]
    solver = method.make(problem, max_step=longest, first_step=0.1 * longest)
    allowed = 0.1 * longest
    for count, (t_old, t, _, _) in enumerate(method.steps(solver)):
        which = "first_step" if count == 0 else "max_step"
        text = f"a step of {t - t_old:.3g} s is longer than {which} = {allowed:.3g} s"
        yield (t - t_old) / allowed - 1.0, f"{text}; the run sets the attribute max_step before each step", {"time": t}
        allowed = solver.max_step = longest if count < 2 else 0.5 * longest


def _void(method: Method) -> Iterator[Finding]:
    """y' = -1 / (2 y), y = sqrt(1 - t): a step that leads to y < 0 finds no numbers there, and is to be shortened."""
    with np.errstate(all="ignore"):
        problem = Problem(
            "a fall into the void",
            lambda t, y: np.where(y > 0.0, -0.5 / y, np.nan),
            lambda t: np.array([np.sqrt(np.maximum(1.0 - t, 0.0))]),
        )
        solver = method.kind(
            problem.rate, 0.0, problem.solution(0.0), 0.96, rtol=ASKED, atol=ASKED, first_step=0.9, max_step=0.9
        )  # type: ignore[arg-type]
        for _, t, y, _ in method.steps(solver):
            text = f"the method goes on with the state {y} at t = {t:.6g} s; shorten a step whose field is NaN"
            yield 0.0 if np.isfinite(y).all() else np.inf, text, {"time": t}


def _events(method: Method) -> Iterator[Finding]:
    """A whole run through an event."""
    for small in SYSTEMS[:2]:
        start, span = np.array(small.begin), (0.0, small.end)
        run = simulate(small, start, span, integrator=method.name, tolerances=COARSE)
        exact = simulate(small, start, span, tolerances=SHARP)
        yield 0.0 if run.status.complete else np.inf, f"the run of {small.name} ends: {run.message}", {}
        off = float(np.abs(run.final_x - exact.final_x).max())
        text = f"the run of {small.name} ends off by {off:.3g}, its event at t = {run.events[0].time:.9g} s instead of"
        yield off, f"{text} {exact.events[0].time:.9g} s", {}


Look = Callable[[Method], Iterator[Finding]]
FREE = ("tolerance alone", "a field that is not a number")  # not asked of a method whose step is fixed
CHECKS: Mapping[str, tuple[Look, float]] = {
    "steps to the end": (_ends, 0.0),
    "converges": (_converges, FALL),
    "tolerance alone": (_obeys, OFF),
    "dense output": (_dense, 1.0),
    "limits of a step": (_limits, SLACK),
    "a field that is not a number": (_void, 0.0),
    "runs through events": (_events, MET),
}


def named(method: Method) -> dict[str, Callable[[], Outcome]]:
    """{property: what tries it} of an integrator."""
    return {name: partial(_outcome, name, method) for name in CHECKS}


def _outcome(name: str, method: Method) -> Outcome:
    look, limit = CHECKS[name]
    if look is _events and not method.name:
        return Outcome(name, None, message="the method is not registered under a name")
    unasked = {InputError: "the method refuses to choose its step: {}"} if name in FREE else {}
    return checks.outcome(name, partial(look, method), limit, "method", unasked)
