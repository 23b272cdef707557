"""Stiffness: the change between the explicit and the stiff method in the course of a run, and advice behind one.

The change is for users who named no method; those who named an explicit one are told if stability made it slow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from .course import Course
from .integrators import AUTOMATIC, EXPLICIT
from .trajectory import Arc, Trajectory
from .zero import EASY, EDGE, FADED, FADING, LASTING, NEAR_EDGE

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

STIFF = "Radau9"
STIFF_FROM = "the motion is stiff from"  # begins the note of a run
HELD = 15  # steps at the edge of stability after which an arc counts as stiff
HELD_FAST, GROWN = 6, 1.5  # the same where the last of them is not this many times as long as the first
LOOSE = 6  # steps in a row off that edge after which they are counted anew
FEW, FAR = 6.0, 50.0  # steps to a singular place between which the stiff method may need fewer
CHEAP = 4  # times as many steps at that edge are worth it where a compiled engine takes them
GROWING = 8  # steps of the stiff method before it is looked at whether it may be left
METHODS = ("DOP853", "RK45", "RK23")  # explicit ones, of whose runs it is told if they were stiff
LONG_ARC = 500  # steps of such an arc from which on a look is worth its while
SQUARINGS = 3  # of a derivative, until its powers tell that none of its eigenvalues is large
FOREMOST = 1e-9  # share of an eigenvalue to which a power of the matrix tells it
CLEARLY = 1e50  # a size of a power by which they may be
LOOKS = 12  # states of it at which the derivative is taken


class StiffArcs:
    """Which of the two methods is at work in an arc; each arc begins with the explicit one.

    An explicit step at the edge of its stability shows by its last two stages, at no cost. After 15 of them, or after 6
    that hardly grow, the derivative of the field is asked whether the motion decays that fast. So it is after steps of
    which each takes a small share of the way to a singular place: a slip that stops. And it is asked where steps are
    short for a decay that has long faded, and do not grow: far from the edge of stability the error of an explicit step
    may hold it, since its stages are of a low order where the motion is stiff (Hairer and Wanner, IV.15). The stiff
    method is left where its own steps would be stable ones for the explicit method. It begins with the step of the
    explicit one: the error that it tells of a long first step is filtered by a derivative that may be out of date at
    its end.

    Source: Hairer and Wanner, Solving Ordinary Differential Equations II, IV.2.

    Args:
        name: integrator of the run; any but "automatic" stays.
        compiled: whether a compiled engine takes the explicit steps: then more of them are taken before it is looked.

    Attributes:
        automatic: whether the method may change.
        name: the method at work.
        rate: the decay rate by which the arc was found stiff last [1/s]; zero: it was not.
    """

    def __init__(self, name: str, compiled: bool = False) -> None:
        self.automatic = name == AUTOMATIC
        self.name = EXPLICIT if self.automatic else name
        self.rate = self._began = 0.0
        self._held = self._loose = self._tried = 0
        self._least = self._patience = CHEAP if compiled else 1
        self._faded, self._short, self._enough, self._decay = 0.0, math.inf, FADED * self._least, EDGE
        self._jacobian: Array | None = None
        self._fastest = np.inf

    @property
    def noteworthy(self) -> float:
        """The rate, as a run is told of it; zero as long as the stiff method has not shown that it finds longer steps.

        So it has to where the explicit one was not at the edge of its stability.
        """
        return 0.0 if self._decay == FADING and self._tried <= GROWING + 1 else self.rate

    def suspects(self, solver: OdeSolver, ahead: float) -> bool:
        """After a step: whether a decay seems to hold the explicit method. Asked once for each step.

        Args:
            solver: the method.
            ahead: time [s] to a singular place when the step began, which the stiff method nears in few steps.
        """
        if not (self.automatic and self.name == EXPLICIT):
            return False
        step, reach = abs(solver.t - solver.t_old), solver.reach
        if self._fades(step, reach):
            return True
        if reach <= NEAR_EDGE and not FEW * step < ahead < FAR * step:
            self._loose += 1
            if self._loose >= LOOSE:
                self._held = 0
            return False
        if not self._held:
            self._began = step
        self._held, self._loose = self._held + 1, 0
        if self._held < self._patience * (HELD_FAST if step < GROWN * self._began else HELD):
            return False
        self._held, self._decay = 0, EDGE
        return True

    def _fades(self, step: float, reach: float) -> bool:
        """Whether what decays has faded in steps that are short for it, and have hardly grown since these began."""
        if not step < GROWN * self._short:
            self._faded, self._short = 0.0, step
        if reach > FADING:
            self._faded += reach
        if self._faded < self._enough:
            return False
        self._faded, self._decay = 0.0, FADING
        return True

    def embark(self) -> dict[str, Any]:
        """What a compiled engine needs to count steps at the edge of stability as `suspects` does."""
        return {
            "automatic": self.automatic,
            "held_steps": self._held,
            "loose_steps": self._loose,
            "patience": self._patience,
            "began": float(self._began),
            "faded": self._faded,
            "short_step": float(self._short),
            "enough": self._enough,
            "tried": self._tried,
        }

    def disembark(self, course: Course) -> None:
        """Take over what it counted."""
        self._held, self._loose, self._began = course.held_steps, course.loose_steps, course.began
        self._faded, self._short, self._tried = course.faded, course.short_step, course.tried
        self._decay = FADING if course.fades else EDGE

    def starts_stiff(self, jacobian: Array, time: float) -> float | None:
        """Where an arc is known to be stiff for some `time` [s]: the first step of the stiff method, or None."""
        return EASY / self.rate if self._turn(jacobian, LASTING / time) else None

    def turn_stiff(self, jacobian: Array, step: float, ahead: float) -> bool:
        """Go over to the stiff method, if the motion decays within less than a share of the last `step` [s].

        Or of the time that lies `ahead` until a singular place: a slip that stops.
        What only oscillates fast is no better off there: it is looked at half as often from then on.
        """
        if self._turn(jacobian, min(self._decay / step, FEW / ahead if ahead < math.inf else math.inf)):
            return True
        if self._decay == FADING:
            self._enough *= 2.0
        else:
            self._patience *= 2
        return False

    def _turn(self, jacobian: Array, least: float) -> bool:
        if not np.isfinite(jacobian).all():
            return False
        rate = max([-_leftmost(part) for part in _parts(jacobian) if _may_exceed(part, least)], default=0.0)
        if rate <= least:
            return False
        self.name, self.rate, self._jacobian, self._tried = STIFF, rate, None, 0
        return True

    def turn_back(self, solver: OdeSolver, ahead: float) -> bool:
        """Before a stiff step: go back to the explicit method, if that is stable with such a step.

        Not in the first steps, which grow from those of the explicit method, nor where a singular place lies few steps
        `ahead`, to which the motion becomes ever stiffer. Asked once for each step.
        """
        if not (self.automatic and self.name == STIFF) or ahead <= FEW * solver.h_abs:
            return False
        self._tried += 1
        if self._tried <= GROWING:
            return False
        if solver.J is not self._jacobian:
            self._jacobian, self._fastest = solver.J, _largest(solver.J)
        if self._fastest * solver.h_abs > EASY:
            return False
        self._leave()
        return True

    def answer(self, jacobian: Array, course: Course) -> bool:
        """The same where a compiled engine takes the steps, counts them and asks: leave by a derivative, or tell it."""
        if math.isnan(course.fastest):
            course.fastest = _largest(jacobian)
        if course.fastest * course.step > EASY:
            return False
        self._tried = course.tried
        self._leave()
        return True

    def _leave(self) -> None:
        """Go back; where the stiff method found no longer steps either, it is not asked again as soon."""
        self.name, self._held, self._loose, self._patience = EXPLICIT, 0, 0, self._least
        self._faded, self._short = 0.0, math.inf
        if self._tried > GROWING + 1:
            self._enough = FADED * self._least
        else:
            self._enough, self.rate = 2.0 * self._enough, 0.0


def _largest(jacobian: Array) -> float:
    """Largest eigenvalue of a derivative [1/s]; infinity where it is no number."""
    if not np.isfinite(jacobian).all():
        return np.inf
    return max(_radius(part) for part in _parts(jacobian))


def _radius(matrix: Array) -> float:
    """The size of its largest eigenvalue."""
    foremost = _foremost(matrix)
    return float(np.abs(np.linalg.eigvals(matrix)).max()) if foremost is None else abs(foremost)


def _leftmost(matrix: Array) -> float:
    """The real part of that eigenvalue which decays fastest."""
    foremost = _foremost(matrix)
    if foremost is not None and foremost < 0.0:
        return foremost
    return float(np.linalg.eigvals(matrix).real.min())


def _foremost(matrix: Array) -> float | None:
    """The eigenvalue of largest size, where that is a single real one that stands out; else None. By a power."""
    size = np.abs(matrix).sum(axis=1).max()
    if not size > 0.0:
        return 0.0
    power = matrix / size
    for _ in range(SQUARINGS):
        power = power @ power
    vector = power[:, np.abs(power).max(axis=0).argmax()]
    largest = np.abs(vector).max()
    if not largest > 0.0:
        return None
    vector = vector / largest
    moved = matrix @ vector
    value = float(vector @ moved) / float(vector @ vector)
    return value if np.abs(moved - value * vector).max() <= FOREMOST * abs(value) else None


def _parts(matrix: Array) -> Iterator[Array]:
    """Square parts of a matrix, whose eigenvalues are its own: bodies that do not touch do not act on each other."""
    acts = matrix != 0.0
    acts |= acts.T
    if acts.all(axis=0).any():  # by one coordinate, which all act on
        yield matrix
        return
    left = np.ones(len(matrix), dtype=bool)
    while left.any():
        part = np.arange(len(left)) == left.argmax()
        while np.any(grown := acts[part].any(axis=0) & ~part):
            part |= grown
        left &= ~part
        yield matrix if part.all() else matrix[np.ix_(part, part)]


def _may_exceed(matrix: Array, least: float) -> bool:
    """Whether an eigenvalue may be larger than that: none is larger than |A^k|^(1/k), of any power."""
    power = matrix / least
    for _ in range(SQUARINGS):
        size = np.abs(power).sum(axis=1).max()
        if size <= 1.0 or size > CLEARLY:
            return bool(size > 1.0)
        power = power @ power
    return bool(np.abs(power).sum(axis=1).max() > 1.0)


def stiff_note(rate: float, t: float) -> str:
    """Note of a run that found its motion stiff for the first time."""
    return (
        f"{STIFF_FROM} t = {t:.6g} s on, with a decay rate of {rate:.2g} 1/s: the run follows such motion"
        f" with {STIFF} as long as it lasts; integrator='{EXPLICIT}' keeps to the explicit method"
    )


def stiffness_note(trajectory: Trajectory) -> str:
    """A sentence for a run whose steps were held short by stability, not by accuracy; empty for any other.

        h max Re(-lambda(D_x f)) > 2   at most of the states looked at

    Source: Hairer and Wanner, Solving Ordinary Differential Equations II, IV.2, on the detection of stiffness.
    """
    name = trajectory.settings.integrator if trajectory.settings else ""
    if name not in METHODS:
        return ""
    longest = max(trajectory.arcs, key=lambda arc: len(arc.segments))
    if len(longest.segments) < LONG_ARC:
        return ""
    rate, share = _decay(longest)
    if share <= EDGE:
        return ""
    return (
        f"the motion is stiff: a decay rate of {rate:.2g} 1/s held {name} to"
        f" {len(longest.segments)} steps in the {longest.t1 - longest.t0:.3g} s from t = {longest.t0:.4g} s on;"
        f" integrator='{STIFF}' (run.integrator) takes fewer"
    )


def _decay(arc: Arc) -> tuple[float, float]:
    """Medians of the fastest decay rate [1/s], and of that rate times the step, over some steps of an arc."""
    flow = arc.system.flow(arc.mode)
    rates, shares = [], []
    for k in np.linspace(0, len(arc.segments) - 1, LOOKS).astype(int):
        segment = arc.segments[k]
        flow = flow.rebased(segment.t0, segment.base)
        x = segment(segment.t1)
        jacobian = flow.jacobian(segment.t1, x)
        if jacobian is None:
            return 0.0, 0.0
        rates.append(float(-np.linalg.eigvals(jacobian).real.min()))
        shares.append(rates[-1] * (segment.t1 - segment.t0))
    return float(np.median(rates)), float(np.median(shares))
