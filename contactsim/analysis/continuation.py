"""Families of periodic orbits followed along a parameter, past their folds, with what changes on the way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from ..common.arguments import COUNT, NAME, POSITIVE, arguments, instance, optional, tuples
from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass, scipy
from ..common.representation import Brief
from ..contact.modes import Mode
from ..errors import ContactSimError, ConvergenceError, InputError
from ..hybrid.mode_directions import space_of
from .parameter_family import member
from .periodic_orbit import Bordered, PeriodicOrbit
from .shooting import Shooting, Shot
from .zero import BEYOND, NEUTRAL, RANK

FIRST, LONGEST, SHORTEST = 0.05, 0.2, 1e-7  # steps along the branch, relative to the span of the parameter
FEW, MANY = 3, 6  # corrections after which a step grows, and at which it is given up
GROWTH, SHRINKAGE = 1.6, 0.5
ACCURACY = 1e-9  # residual of an orbit
ROOT = 1e-11  # accuracy of a bifurcation along the branch
MOST_HALVINGS = 60
FOLD, FLIP, NEIMARK_SACKER, BRANCH = "fold", "flip", "Neimark-Sacker", "branch point"
GRAZING, LOSS, SLIP = "grazing", "loss of contact", "stick or slip"


class Bifurcation(NamedTuple):
    """A bifurcation of a family of orbits at a value of its parameter.

    Attributes:
        kind: "fold", "flip" (a multiplier leaves through -1), "Neimark-Sacker" (a pair of complex ones), "branch point"
            (one through +1 without a fold), or, where the events of the orbit change, "grazing", "loss of contact" or
            "stick or slip".
        value: of the parameter.
    """

    kind: str
    value: float


@dataclass(frozen=True, repr=False)
class OrbitBranch(Brief):
    """A family of periodic orbits along a parameter.

    Attributes:
        orbits: in the order along the branch.
        values: of the parameter (k,), one for each orbit; past a fold they turn back.
        bifurcations: (kind, value) of each that was met, in the same order.
        at: the orbits there.
        message: why the branch ends where it does.
    """

    orbits: tuple[PeriodicOrbit, ...]
    values: Array
    bifurcations: tuple[Bifurcation, ...]
    at: tuple[PeriodicOrbit, ...]
    message: str


class _Point(NamedTuple):
    """An orbit of the family with its tangent (n + 2,) of (dx0, dT, dp), in units of a scale."""

    shooting: Shooting
    shot: Shot
    value: float
    tangent: Array
    orbit: PeriodicOrbit


@arguments(
    orbit=instance(PeriodicOrbit, "an orbit that cs.find_periodic_orbit returns"),
    name=NAME,
    span=tuples(2, words="two finite numbers (first, last) of the parameter"),
    first_step=optional(POSITIVE),
    longest_step=optional(POSITIVE),
    accuracy=POSITIVE,
    most=COUNT,
)
def continue_orbit(
    orbit: PeriodicOrbit,
    system_of: Any,
    name: str,
    span: tuple[float, float],
    *,
    first_step: float | None = None,
    longest_step: float | None = None,
    accuracy: float = ACCURACY,
    most: int = 200,
) -> OrbitBranch:
    """Follow a periodic orbit along a parameter by its arc length, through folds, and name what happens on the way.

    Each step predicts along the tangent of the branch and corrects across it, by Newton's method on exact derivatives
    by start, period and parameter (Keller 1977; Kuznetsov, Elements of Applied Bifurcation Theory, ch. 10). Between two
    orbits, folds are seen by the sign of the parameter's part of the tangent, flips by that of det(1 + M),
    Neimark-Sacker bifurcations by that of the product of 1 - mu_i mu_j over pairs, changes of the events by these; each
    is then approached along the branch until the parameter is known to a millionth of the span or better.

    Args:
        orbit: where to begin, of the system at `span[0]`, or of any value that its system tells by `parameter(name)`.
        system_of: value -> system; or the system itself, whose parameter is then changed. So lengths and centres of
            mass can be parameters, of a function that builds the robot.
        name: of the parameter.
        span: the branch is followed from the orbit towards the second of them, until it leaves what lies between.
        first_step, longest_step: along the branch, in the unit of the parameter; by default shares of the span.
        accuracy: largest residual of an orbit.
        most: orbits on the branch at most.

    Returns:
        The branch: `orbits`, `values`, and `bifurcations` as (kind, value). Where it cannot be followed to the end
        `message` says why.

    Raises:
        InputError: the orbit does not say how it was found, or there is no such parameter.
        ConvergenceError: the orbit is none of the system at its value.
    """
    branch = _Branch(orbit, system_of, name, span, accuracy)
    return branch.followed(first_step, longest_step, most)


class _Branch:
    """The branch while it is followed."""

    def __init__(
        self, orbit: PeriodicOrbit, system_of: Any, name: str, span: tuple[float, float], accuracy: float
    ) -> None:
        if not isinstance(orbit.shooting, Shooting):
            raise InputError("the orbit does not say how it was found; take one that cs.find_periodic_orbit returns")
        if span[0] == span[1]:
            raise InputError(f"the span is {span}; give two values that differ")
        self._name, self._span, self._accuracy = name, span, accuracy
        self._system_of = system_of
        self._width = abs(span[1] - span[0])
        value = self._value_of(orbit)
        shooting = orbit.shooting.of(member(system_of, (name,), (value,)))
        shot = shooting.shoot(orbit.shooting.again(orbit).x, orbit.t0, orbit.period, orbit.shooting.again(orbit).mode)
        self._scale = np.append(np.ones(len(orbit.monodromy)), [orbit.period, self._width])
        self._neutral = int(np.sum(np.abs(orbit.section_multipliers - 1.0) < NEUTRAL))
        self.start = self._begun(shooting, shot, value)

    def _value_of(self, orbit: PeriodicOrbit) -> float:
        try:
            value = orbit.system.parameter(self._name)
        except InputError:
            return self._span[0]
        low, high = min(self._span), max(self._span)
        return value if low <= value <= high else self._span[0]

    # --- points -----------------------------------------------------------------------------------------------

    def _begun(self, shooting: Shooting, shot: Shot, value: float) -> _Point:
        """The first point; its tangent leads towards the second value of the span."""
        if shot.error > 1e3 * self._accuracy:
            raise ConvergenceError(
                f"the orbit is none of the system whose '{self._name}' is {value:.9g}: its residual there is"
                f" {shot.error:.3g}; give the span from its own value on",
                residual=shot.error,
            )
        equations = shooting.bordered(shot, self._name)
        forward = np.zeros(equations.matrix.shape[1])
        forward[-1] = np.sign(self._span[1] - self._span[0])
        self._unknown = _rank_lost(self._scaled(equations)) or 1
        return self._point(shooting, shot, value, equations, self._tangent(equations, forward))

    def _scaled(self, equations: Bordered) -> Array:
        """The matrix for unknowns in units of their scale."""
        matrix = equations.matrix.copy()
        matrix[:, -2:] *= self._scale[-2:]
        return matrix

    def _tangent(self, equations: Bordered, like: Array) -> Array:
        """Unit vector (r + 2,) of unknowns that solves the equations, the nearest one to `like`."""
        null = np.linalg.svd(self._scaled(equations))[2][-self._unknown :]
        along = null.T @ (null @ like)
        return np.asarray(along / np.linalg.norm(along))

    def _point(self, shooting: Shooting, shot: Shot, value: float, equations: Bordered, unknowns: Array) -> _Point:
        return _Point(shooting, shot, value, self._moved(equations, unknowns), shooting.orbit(shooting.closed(shot), 0))

    def _moved(self, equations: Bordered, unknowns: Array) -> Array:
        """(dx0, dT, dp) (n + 2,), scaled, of unknowns (y, dT, dp), scaled."""
        dp = unknowns[-1] * self._scale[-1]
        return np.concatenate([equations.directions @ unknowns[:-2] + equations.moved * dp, unknowns[-2:]])

    def _unknowns(self, equations: Bordered, moved: Array) -> Array:
        dp = moved[-1] * self._scale[-1]
        return np.concatenate([equations.directions.T @ (moved[:-2] - equations.moved * dp), moved[-2:]])

    def stepped(self, point: _Point, step: float) -> tuple[_Point, int]:
        """The point about `step` further along the branch, and how many corrections it took.

        Raises:
            ConvergenceError: there is none.
        """
        shooting, shot, value = self._at(point, point.shot, step * point.tangent)
        for count in range(1, MANY + 1):
            equations = shooting.bordered(shot, self._name)
            across = self._unknowns(equations, point.tangent)
            matrix = np.vstack([self._scaled(equations), across])
            change = np.linalg.lstsq(matrix, np.append(-equations.residual, 0.0), rcond=RANK)[0]
            if shot.error <= self._accuracy and float(np.linalg.norm(change)) <= self._accuracy * 1e2:
                tangent = self._tangent(equations, across)
                return self._point(shooting, shot, value, equations, tangent), count
            place = _Point(shooting, shot, value, point.tangent, point.orbit)
            shooting, shot, value = self._at(place, shot, self._moved(equations, change))
        raise ConvergenceError(f"no orbit was found near {self._name} = {value:.9g}", value=value, shot=shot)

    def _at(self, point: _Point, shot: Shot, moved: Array) -> tuple[Shooting, Shot, float]:
        """The run from another place of (x0, T, p)."""
        change = moved * self._scale
        value = point.value + float(change[-1])
        shooting = point.shooting.of(member(self._system_of, (self._name,), (value,)))
        return shooting, shooting.stepped(shot, change[:-2], float(change[-2])), value

    # --- the way ----------------------------------------------------------------------------------------------

    def followed(self, first: float | None, longest: float | None, most: int) -> OrbitBranch:
        """All of the branch."""
        most_step = (longest or LONGEST * self._width) / self._width
        step = min((first or FIRST * self._width) / self._width, most_step)
        points, found, message = [self.start], [], "the branch has the orbits that were asked for"
        while len(points) < most:
            try:
                ahead, step, length = self._next(points[-1], step, most_step)
            except ContactSimError as error:
                found += self._end(points[-1], error)
                message = f"the branch ends at {self._name} = {points[-1].value:.9g}: {error}"
                break
            found += self._between(points[-1], ahead, length)
            if not self._inside(ahead.value):
                points.append(self._last(points[-1], ahead, length))
                found = [entry for entry in found if self._inside(entry[0].value)]
                message = "the branch leaves the span"
                break
            points.append(ahead)
        return OrbitBranch(
            tuple(point.orbit for point in points),
            np.array([point.value for point in points]),
            tuple(entry[0] for entry in found),
            tuple(entry[1] for entry in found),
            message,
        )

    def _inside(self, value: float) -> bool:
        low, high = min(self._span), max(self._span)
        return low - BEYOND * self._width <= value <= high + BEYOND * self._width

    def _next(self, point: _Point, step: float, longest: float) -> tuple[_Point, float, float]:
        """The next point, the step to try from it, and the step that led there."""
        while True:
            try:
                ahead, count = self.stepped(point, step)
                if ahead.tangent @ point.tangent < 0.5:
                    raise ConvergenceError(f"the branch turns sharply near {self._name} = {ahead.value:.9g}")
                grown = step * (GROWTH if count <= FEW else 1.0)
                return ahead, min(grown, longest), step
            except ContactSimError:
                if step * SHRINKAGE < SHORTEST:
                    raise
                step *= SHRINKAGE

    def _last(self, point: _Point, ahead: _Point, length: float) -> _Point:
        """The orbit at the end of the span that the branch leaves by."""
        end = min(max(ahead.value, min(self._span)), max(self._span))
        return self._root(point, ahead, length, lambda found: found.value - end)

    # --- what happens -----------------------------------------------------------------------------------------

    def _between(self, a: _Point, b: _Point, length: float) -> list[tuple[Bifurcation, PeriodicOrbit]]:
        """Bifurcations between two neighbours, in their order."""
        found = []
        folds = a.tangent[-1] * b.tangent[-1] < 0.0
        if folds:
            found.append((FOLD, self._root(a, b, length, lambda point: float(point.tangent[-1]))))
        for kind, test in ((FLIP, self._flip), (NEIMARK_SACKER, self._torus), (BRANCH, self._branching)):
            if test(a) * test(b) < 0.0 and not (folds and kind == BRANCH):
                point = self._root(a, b, length, test)
                if kind != NEIMARK_SACKER or _is_torus(self._multipliers(point)):
                    found.append((kind, point))
        if _events(a) != _events(b):
            found.append((_changed(_events(a), _events(b)), self._switch(a, b, length)))
        found.sort(key=lambda entry: float(np.linalg.norm(self._apart(a, entry[1]))))
        return [(Bifurcation(kind, point.value), point.orbit) for kind, point in found]

    def _apart(self, a: _Point, b: _Point) -> Array:
        dx = space_of(a.shooting.system, a.shot.mode, a.shot.x).difference(a.shot.x, b.shot.x)
        return np.append(dx, (b.value - a.value) / self._scale[-1])

    def _multipliers(self, point: _Point) -> Array:
        """Of the section, without those that a symmetry or an invariant keeps at one."""
        values = point.orbit.section_multipliers
        return values[np.argsort(np.abs(values - 1.0))[self._neutral :]]

    def _flip(self, point: _Point) -> float:
        return float(np.prod(1.0 + self._multipliers(point)).real)

    def _branching(self, point: _Point) -> float:
        return float(np.prod(1.0 - self._multipliers(point)).real)

    def _torus(self, point: _Point) -> float:
        pairs = combinations(self._multipliers(point), 2)
        return float(np.prod([1.0 - a * b for a, b in pairs]).real)

    def _root(self, a: _Point, b: _Point, length: float, test: Callable[[_Point], float]) -> _Point:
        """The point between two at which a test is zero, by Brent's method along the branch."""
        known = {0.0: a, length: b}

        def at(s: float) -> float:
            if s not in known:
                known[s] = self.stepped(a, s)[0]
            return test(known[s])

        found = scipy.optimize.brentq(at, 0.0, length, xtol=ROOT, rtol=ROOT, maxiter=MOST_HALVINGS)
        at(found)
        return known[found]

    def _switch(self, a: _Point, b: _Point, length: float) -> _Point:
        """The last point between two that has the events of the first."""
        low, high, best, events = 0.0, length, a, _events(a)
        while high - low > SHORTEST:
            middle = 0.5 * (low + high)
            try:
                point, _ = self.stepped(a, middle)
            except ContactSimError:
                high = middle
                continue
            if _events(point) == events:
                low, best = middle, point
            else:
                high = middle
        return best

    def _end(self, point: _Point, error: ContactSimError) -> list[tuple[Bifurcation, PeriodicOrbit]]:
        """The end of a branch that cannot be followed further: a change of its events, where the last try had one."""
        shot = getattr(error, "problem", {}).get("shot")
        try:
            if shot is None:
                shot = self._at(point, point.shot, 10.0 * SHORTEST * point.tangent)[1]
            change = _changed(_events(point), _word(shot.trajectory, shot.t0 + shot.period))
        except ContactSimError:
            change = GRAZING
        return [(Bifurcation(change, point.value), point.orbit)] if change else []


def _rank_lost(matrix: Array) -> int:
    """Dimension of the solutions of the homogeneous equations."""
    values = np.linalg.svd(matrix, compute_uv=False)
    return int(matrix.shape[1] - np.sum(values > RANK * values[0]))


def _is_torus(values: Array) -> bool:
    """True where the pair whose product is nearest to one is complex, and not two real ones."""
    pairs = list(combinations(values, 2))
    a, _ = min(pairs, key=lambda pair: abs(1.0 - pair[0] * pair[1]))
    return bool(abs(a.imag) > NEUTRAL)


def _events(point: _Point) -> tuple[Any, ...]:
    return _word(point.shot.trajectory, point.shot.t0 + point.shot.period)


def _word(trajectory: Any, end: float) -> tuple[Any, ...]:
    """The events of a run up to `end` [s]: of each the contacts and their changes."""
    return tuple(
        tuple(sorted((name, str(before), str(after)) for name, (before, after) in event.transitions.items()))
        for event in trajectory.events
        if event.time <= end
    )


def _changed(before: tuple[Any, ...], after: tuple[Any, ...]) -> str:
    """Kind of a change of the events: what one of two words has more than the other."""
    more = [entry for event in _without(before, after) + _without(after, before) for entry in event]
    if any(first == str(Mode.OPEN) for _, first, _ in more) or any(first == second for _, first, second in more):
        return GRAZING
    if any(second == str(Mode.OPEN) for _, _, second in more):
        return LOSS
    return SLIP if more else ""


def _without(word: tuple[Any, ...], other: tuple[Any, ...]) -> list[Any]:
    """Events of a word that the other one has not as often."""
    left = list(other)
    more = []
    for event in word:
        if event in left:
            left.remove(event)
        else:
            more.append(event)
    return more
