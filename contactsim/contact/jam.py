"""An impact without collision: contacts that jam are followed in the impulse, as the limit of stiff compliant ground.

Contacts that slide with w_n = 0, and whose forces grow beyond bounds (Painleve), compress the ground in no time. With
the penetration d, the stiffness k of each contact, and a time of their own in which no finite force does anything,

    d' = -w_n,   Lam_n' = k d while a contact compresses, else 0,   w = w(before) + G Lam,
    Lam_t' = -mu Lam_n' w_t / |w_t| where it slips;   w_t' = 0 with |Lam_t'| <= mu Lam_n' where it sticks.

A compression ends where w_n rises through zero and gives nothing back. Slip may stop, turn back and begin on the way.
Where a compression has ended and none grows any more, what still approaches is stopped by the impact law without
restitution. The path of one contact is a function of its impulse alone, whatever the stiffness
(Routh's construction); with several contacts the end depends on the ratios of their stiffnesses: it is not unique.

It begins along a growing mode of d'' = -A K d, with the matrix A = G_nn - mu G_nt s of the contacts that slide, and
goes on where the power series of the mode leaves off (`compressions`).

Source: Routh, Dynamics of a System of Rigid Bodies, 1905, Ch. V; Keller, Impact with friction, J. Appl. Mech. 53, 1986;
Champneys and Varkonyi, The Painleve paradox in contact mechanics, IMA J. Appl. Math. 81, 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from math import hypot, inf, isfinite
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass, scipy
from ..hybrid.integrators.radau9 import Radau9
from .compressions import Beginning, Growth, Micro, Rub
from .impact import ImpactSolution, ImpactStage, compression
from .linear_algebra import pseudo_inverse
from .modes import Mode
from .problem import ContactProblem, ContactSolution
from .resting_friction import resting_friction
from .zero import BEGIN, CREEP, EDGE, LEAVING, NO_SLIP, PASSED, SHIFT

MOST_CHANGES = 500  # between slip, stick and compression until none grows any more
MOST_ASKED = 20000  # rates until the next change; an explicit method that takes more is changed for an implicit one
LONGEST = 400.0  # time until the next change, over that in which what grows does so by a factor e
STIFF = 30.0  # fastest rate over that of the growth from which an implicit method takes fewer steps
EXPLICITLY = {"rtol": 1e-11, "atol": 1e-13}  # velocities in units of the slip
IMPLICITLY = {"rtol": 1e-9, "atol": 1e-12}
STIFFER = 4.0  # by which some contacts are stiffer, to see whether an impact without collision hangs on that
NO_DERIVATIVE = (
    "it is an impact without collision (Painleve), in which contacts jam under forces that grow beyond bounds"
)
IN_SEVERAL_WAYS = (
    "the impact without collision may begin in several ways; the fastest of those that forces begin is taken"
)


class _TooLong(Exception):
    """A method takes too many steps to the next change."""


@dataclass(frozen=True)
class Jam:
    """What an impact without collision comes to; contacts may still approach, but none drives itself into the ground.

    Attributes:
        impulses: Lam (m,).
        resting: contacts that touch and do not slip behind it.
        ways: in how many ways finite forces may begin it.
    """

    impulses: Array
    resting: tuple[int, ...]
    ways: int


def impact_without_collision(problem: ContactProblem, drive: Array, stiffness: Array, rest: float) -> Jam | None:
    """The impact without collision of contacts that touch, none of which approaches.

    Args:
        problem: `free` holds the velocities before it (m,).
        drive: accelerations (m,) of the contacts without contact forces.
        stiffness: of each contact (n,), in any unit: only their ratios count.
        rest: speed up to which a contact is at rest [m/s].

    Returns:
        What it comes to; None where no compression grows, it does not end, or its forces would pull.
    """
    speed = max([float(np.linalg.norm(problem.free[t])) for _, t in problem.rows], default=0.0)
    if speed <= 2.0 * rest:
        return Jam(np.zeros(len(problem.free)), tuple(range(len(problem.dims))), 1)
    mobility = float(np.diag(problem.delassus)[list(problem.starts)].max())
    scaled = replace(problem, delassus=problem.delassus / mobility, free=problem.free / speed)
    micro = Micro(scaled, stiffness / float(stiffness.max()), max(rest / speed, NO_SLIP))
    ways = sorted(micro.growing(scaled.free, drive), key=lambda way: (way.driven, way.rate), reverse=True)
    if not ways:
        return None
    path = _Path(micro, ways[0])
    if not path.run():
        return None
    impulses, resting = path.end()
    if impulses[list(problem.starts)].min() < -EDGE * float(np.abs(impulses).max()):
        return None
    return Jam(impulses * speed / mobility, resting, max(sum(way.driven for way in ways), 1))


class Jammed(NamedTuple):
    """An impact without collision.

    Attributes:
        solution: the impact; it has no derivative.
        contacts: those that jam: they take an impulse though none approaches.
        notes: sentences on what it does, and whether it is unique.
    """

    solution: ImpactSolution
    contacts: tuple[int, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Followed(ContactSolution):
    """Impulses along which slip was followed: friction obeys the slip of each moment, and not that at their end."""

    @cached_property
    def residuals(self) -> Mapping[str, float]:
        """{law: largest violation}: of lam_n >= 0, and of |lam_t| <= mu lam_n, relative to the largest force."""
        problem, forces = self.problem, self.forces / self.problem.force(self.forces)
        pulls = max([-float(forces[n]) for n, _ in problem.rows], default=0.0)
        beyond = [hypot(*forces[t]) - mu * forces[n] for (n, t), mu in zip(problem.rows, problem.friction, strict=True)]
        return {"signorini": max(pulls, 0.0), "cone": float(max([0.0, *beyond]))}


def jammed(problem: ContactProblem, drive: Array, stiffness: Array, rest: float) -> Jammed | None:
    """An impact without collision: what slides under forces that grow beyond bounds is followed in the impulse.

    It is the limit of stiff compliant contacts, which compress while friction slows them down; nothing rebounds. With
    several contacts it is followed at three ratios of their stiffnesses: the first of them counts, the others tell
    whether the end hangs on it.

    Args:
        problem: velocities of the contacts before it in `free`, none of which approaches.
        drive: their accelerations (m,) without contact forces.
        stiffness: of each contact (n,); only ratios count.
        rest: speed up to which a contact is at rest [m/s].

    Returns:
        The impact; None where nothing jams, or its end is not found.
    """
    found = impact_without_collision(problem, drive, stiffness, rest)
    if found is None:
        return None
    solution = _impact(problem, found, rest)
    contacts = tuple([i for i, n in enumerate(problem.starts) if found.impulses[n] > 0.0])
    notes = [IN_SEVERAL_WAYS] if found.ways > 1 else []
    apart = max([_apart(problem, drive, one, rest, solution) for one in _others(stiffness)], default=0.0)
    if apart > SHIFT * float(np.abs(problem.free).max(initial=0.0)):
        where = f"the velocities end {apart:.2g} m/s away" if isfinite(apart) else "it comes to no end"
        notes.append(
            f"the impact without collision is not unique: with other stiffnesses of its contacts, four to one, {where}"
        )
    return Jammed(solution, contacts, tuple(notes))


def _impact(problem: ContactProblem, found: Jam, rest: float) -> ImpactSolution:
    """The impact as its law has it, and behind it what stops contacts that still approach."""
    count, none = len(problem.dims), np.zeros(len(problem.dims))
    after = problem.free + problem.delassus @ found.impulses
    modes = tuple([_mode_after(problem, i, found, after, rest) for i in range(count)])
    path = Followed(problem, modes, found.impulses, (None,) * count, True)
    stages = [ImpactStage(path, problem.free, after, none, none)]
    if after[list(problem.starts)].min() < -rest:
        stages.append(compression(replace(problem, free=after)))
    return ImpactSolution(tuple(stages), NO_DERIVATIVE)


def _mode_after(problem: ContactProblem, i: int, found: Jam, after: Array, rest: float) -> Mode:
    if after[problem.normal(i)] > rest:
        return Mode.OPEN
    return Mode.STICK if i in found.resting else Mode.SLIP


def _others(stiffness: Array) -> list[Array]:
    """Other ratios of stiffnesses: every second contact is stiffer, and then the rest of them."""
    second = np.arange(len(stiffness)) % 2 == 1
    return [np.where(chosen, STIFFER * stiffness, stiffness) for chosen in (second, ~second)] if second.any() else []


def _apart(problem: ContactProblem, drive: Array, stiffness: Array, rest: float, solution: ImpactSolution) -> float:
    """By how much the velocities end elsewhere with another stiffness; infinite where they come to no end."""
    found = impact_without_collision(problem, drive, stiffness, rest)
    if found is None:
        return inf
    return float(np.abs(_impact(problem, found, rest).motion - solution.motion).max())


class _Path:
    """The way of the contacts through the impulse, from change to change; its state is penetrations and impulses."""

    def __init__(self, micro: Micro, way: Growth) -> None:
        self._micro, self._way, self._problem = micro, way, micro.problem
        self._rubs = {i: micro.rub_of(i, micro.problem.free) for i in np.flatnonzero(way.depths).tolist()}
        self._state = np.concatenate([BEGIN * way.depths, np.zeros(len(way.forces))])  # what rests does not slip yet
        self._decide()
        self._begin(Beginning(micro, way, self._rubs))
        swing = micro.stiffness * self._problem.delassus[np.ix_(micro.normals, micro.normals)]
        fastest = float(np.sqrt(np.abs(np.linalg.eigvals(swing)).max()))
        self._asked = 0
        self._stiff, self._relieved = fastest > STIFF * way.rate and max(self._problem.dims) == 3, False

    def _begin(self, series: Beginning) -> None:
        """Go along the series, by doubled sizes, as long as nothing changes."""
        guards, size = [guard for guard, _ in self._guards()], BEGIN * series.largest
        self._state = series.at(size)
        left = [guard(0.0, self._state) for guard in guards]
        while (size := 2.0 * size) <= series.largest:
            ahead = series.at(size)
            before, left = left, [guard(0.0, ahead) for guard in guards]
            if any(was > 0.0 >= now for was, now in zip(before, left, strict=True)):
                break
            self._state = ahead
        motion = self._motion(self._state)
        for i, (_, t) in enumerate(self._problem.rows):
            slips = float(np.linalg.norm(motion[t])) > LEAVING
            if i in self._rubs and slips and self._problem.dims[i] == 3 and not self._rubs[i].sticks:
                self._let_go(i)

    def _motion(self, state: Array) -> Array:
        """w (m,)."""
        return self._problem.free + self._problem.delassus @ state[self._micro.count :]

    def _field(self, _: float, state: Array) -> Array:
        self._asked += 1
        if self._asked > MOST_ASKED:
            raise _TooLong
        motion, count = self._motion(state), self._micro.count
        forces = self._micro.forces(state[:count], motion, self._rubs)
        return np.concatenate([-motion[self._micro.normals], forces])

    def _jacobian(self, _: float, state: Array) -> Array:
        return self._micro.jacobian(state[: self._micro.count], self._motion(state), self._rubs)

    def run(self) -> bool:
        """Go on to where a compression has ended and none grows any more; False: it does not come to that."""
        for _ in range(MOST_CHANGES):
            if (
                self._relieved
                and next(self._micro.growing(self._motion(self._state), self._problem.free), None) is None
            ):
                return True
            if not self._rubs:
                self._press_what_approaches()
            if not self._go_on():
                return False
        return False

    def _go_on(self) -> bool:
        """Integrate to the next change, and make it; False: there is none."""
        guards, self._asked = list(self._guards()), 0
        options: dict[str, Any] = {"method": "DOP853", **EXPLICITLY}
        if self._stiff:
            options = {"method": Radau9, "jac": self._jacobian, **IMPLICITLY}
        events, span = [guard for guard, _ in guards], (0.0, LONGEST / self._way.rate)
        try:
            solution = scipy.integrate.solve_ivp(self._field, span, self._state, events=events, **options)
        except _TooLong:
            if self._stiff:
                return False
            self._stiff = True
            return self._go_on()
        except RuntimeError:  # SciPy's root finding, at a guard that is lost in rounding
            return False
        if solution.status != 1:
            return False
        self._state = solution.y[:, -1].copy()
        self._stiff = False
        for times, (_, change) in zip(solution.t_events, guards, strict=True):
            if len(times):
                change()
        return True

    # --- what changes on the way ----------------------------------------------------------------------------------

    def _guards(self) -> Iterator[tuple[Callable[[float, Array], float], Callable[[], None]]]:
        """(guard that falls through zero, what happens there)."""
        for i, (n, t) in enumerate(self._problem.rows):
            rub = self._rubs.get(i)
            if rub is None:
                yield self._guard(lambda w, n=n: float(w[n]) + PASSED), lambda i=i: self._press(i)  # type: ignore[misc]
                continue
            yield self._guard(lambda w, n=n: -float(w[n])), lambda i=i: self._relieve(i)  # type: ignore[misc]
            slip = rub.direction
            if rub.sticks:
                yield self._margin(i), self._decide
            elif slip is None:
                size = self._guard(lambda w, t=t: float(np.linalg.norm(w[t])) - self._micro.rest)  # type: ignore[misc]
                yield size, self._decide
            elif slip.any():
                yield self._guard(lambda w, t=t, slip=slip: float(w[t] @ slip) + PASSED), self._decide  # type: ignore
                if len(slip) == 2:
                    away = self._guard(lambda w, t=t: LEAVING - float(np.linalg.norm(w[t])))  # type: ignore[misc]
                    yield away, lambda i=i: self._let_go(i)  # type: ignore[misc]

    def _guard(self, value: Callable[[Array], float]) -> Callable[[float, Array], float]:
        """A guard by the motion, as `solve_ivp` asks for it."""
        return _terminal(lambda state: value(self._motion(state)))

    def _margin(self, i: int) -> Callable[[float, Array], float]:
        """The cone of a contact that sticks."""
        micro = self._micro

        def value(state: Array) -> float:
            forces = micro.forces(state[: micro.count], self._motion(state), self._rubs)
            n = self._problem.normal(i)
            return micro.margin(i, forces) + EDGE * float(abs(forces[n]))

        return _terminal(value)

    def _press_what_approaches(self) -> None:
        """Let contacts begin to compress that approach faster than their guards would see."""
        motion = self._motion(self._state)
        for i, n in enumerate(self._micro.normals):
            if i not in self._rubs and motion[n] < -PASSED:
                self._press(i)

    def _press(self, i: int) -> None:
        self._state[i] = 0.0
        self._rubs[i] = self._micro.rub_of(i, self._motion(self._state))
        self._decide()

    def _relieve(self, i: int) -> None:
        del self._rubs[i]
        self._relieved = True
        self._decide()

    def _let_go(self, i: int) -> None:
        self._rubs[i] = Rub(False)

    def _decide(self) -> None:
        """Stick or slip of the contacts without slip velocity, by the forces that act now."""
        micro, problem, motion = self._micro, self._problem, self._motion(self._state)
        resting = []
        for i, rub in sorted(self._rubs.items()):
            if not problem.friction[i] > 0.0 or problem.dims[i] == 1:
                continue
            if not micro.slips(motion, i):
                resting.append(i)
                self._rubs[i] = Rub(False, np.zeros(problem.dims[i] - 1))
            elif rub.sticks:
                self._rubs[i] = micro.rub_of(i, motion)
        if not resting:
            return
        forces = micro.forces(self._state[: micro.count], motion, self._rubs)
        tangents = [problem.tangent(i) for i in resting]
        most = [float(problem.friction[i] * forces[problem.normal(i)]) for i in resting]
        slips = resting_friction(problem.delassus, problem.delassus @ forces, tangents, most)
        self._rubs |= {i: Rub(slip is None, slip) for i, slip in zip(resting, slips, strict=True)}

    def end(self) -> tuple[Array, tuple[int, ...]]:
        """Impulses (m,) with what ends at rest exactly so, and the contacts that touch then and do not slip."""
        impulses, motion = self._state[self._micro.count :].copy(), self._motion(self._state)
        rows, resting = list[int](), []
        for i, (n, t) in enumerate(self._problem.rows):
            touches = abs(float(motion[n])) <= CREEP
            still = not self._micro.slips(motion, i)
            if touches and still:
                resting.append(i)
            if touches and impulses[n] > 0.0:
                rows += [n, *range(t.start, t.stop)] if still else [n]
        if rows:
            impulses[rows] -= pseudo_inverse(self._problem.delassus[np.ix_(rows, rows)]) @ motion[rows]
        return impulses, tuple(resting)


def _terminal(value: Callable[[Array], float]) -> Callable[[float, Array], float]:
    def guard(_: float, state: Array) -> float:
        return value(state)

    guard.terminal, guard.direction = True, -1.0  # type: ignore[attr-defined]
    return guard
