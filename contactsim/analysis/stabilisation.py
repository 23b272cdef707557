"""Parameters with which a periodic orbit attracts its neighbours best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..common.arguments import COUNT, INDEX, POSITIVE, arguments, custom, instance, optional, real_array
from ..common.arrays import Array
from ..common.lazy import NamedTuple, dataclass, scipy
from ..common.representation import Brief
from ..errors import ContactSimError, InputError
from .parameter_family import member
from .periodic_orbit import PeriodicOrbit, corrected, monodromy_derivative, multiplier_derivatives, slope
from .shooting import Shooting
from .zero import NEUTRAL

REGION, SMALLEST = 0.1, 1e-4  # first and last size of a step, relative to the bounds
ACCURACY = 1e-9  # residual of an orbit
SHARE = 0.1  # of the predicted decrease that a step has to bring


def _bounds(given: Any) -> dict[str, tuple[float, float]]:
    if not isinstance(given, Mapping) or not given:
        raise ValueError
    found = {}
    for name, pair in given.items():
        low, high = real_array(pair)
        if not (isinstance(name, str) and np.isfinite([low, high]).all() and low < high):
            raise ValueError
        found[name] = (float(low), float(high))
    return found


BOUNDS = custom("{name: (least, greatest)} of parameters", _bounds)


@dataclass(frozen=True, repr=False)
class StabilisedOrbit(Brief):
    """An orbit whose parameters were chosen.

    Attributes:
        orbit: with the parameters found.
        values: {name: value} of them.
        radius: largest size of a multiplier of its return map, those that a symmetry keeps at one left out.
        radii: the same after the survey and each step that was taken, that of the orbit at the start first.
        tried: orbits that were computed.
    """

    orbit: PeriodicOrbit
    values: Mapping[str, float]
    radius: float
    radii: Array
    tried: int


@arguments(
    orbit=instance(PeriodicOrbit, "an orbit that cs.find_periodic_orbit returns"),
    parameters=BOUNDS,
    target=optional(POSITIVE),
    max_steps=COUNT,
    survey=INDEX,
)
def stabilise(
    orbit: PeriodicOrbit,
    parameters: Mapping[str, tuple[float, float]],
    system_of: Any = None,
    *,
    start: Any = None,
    target: float | None = None,
    max_steps: int = 20,
    survey: int = 0,
) -> StabilisedOrbit:
    """Parameters within bounds for which the spectral radius of an orbit's return map is least.

    A sequence of linear programs in a trust region: min r, |mu_i| + D|mu_i| dp <= r, with the exact derivatives of all
    multipliers along the family of orbits, so that several may be largest at once (Madsen 1975). It ends in a local
    minimum; where two multipliers collide, it walks along the kink in small steps. There may be several minima: a
    survey follows the orbit from the start over a grid within the bounds, from each value to those beside it, and the
    programs begin at the best orbit that it finds.

    Args:
        orbit: where to begin.
        parameters: {name: (least, greatest)}.
        system_of: (*values) -> system, for parameters that the system does not know by name, such as lengths, or that
            are to be the same on two legs; None: the orbit's own system.
        start: values of the parameters of `orbit`; None: those that its system tells.
        target: a radius that is good enough.
        max_steps: linear programs at most.
        survey: values of each parameter on the grid; zero: there is none.

    Returns:
        The orbit found with its values and spectral radius.

    Raises:
        InputError: there is no such parameter, or the orbit's own values lie outside of the bounds.
    """
    descent = _Descent(orbit, dict(parameters), system_of, start)
    if survey:
        descent.survey(survey)
    return descent.found(target, max_steps)


class _Place(NamedTuple):
    """An orbit that was found, with the values of the parameters (p,)."""

    values: Array
    shooting: Shooting
    shot: Any


class _Descent:
    """The orbits that are tried."""

    def __init__(
        self, orbit: PeriodicOrbit, bounds: dict[str, tuple[float, float]], system_of: Any, start: Any
    ) -> None:
        if not isinstance(orbit.shooting, Shooting):
            raise InputError("the orbit does not say how it was found; take one that cs.find_periodic_orbit returns")
        self._names, self._system_of = tuple(bounds), orbit.system if system_of is None else system_of
        self._low, self._high = np.array(list(bounds.values())).T
        given = [orbit.system.parameter(name) for name in self._names] if start is None else start
        own = np.array(given, dtype=float)
        if own.shape != self._low.shape or np.any(own < self._low) or np.any(own > self._high):
            raise InputError(f"the orbit's own values {own} lie outside of the bounds; give wider ones")
        self._neutral = int(np.sum(np.abs(orbit.section_multipliers - 1.0) < NEUTRAL))
        self.tried = 1
        shot = orbit.shooting.again(orbit)
        shooting = orbit.shooting.of(member(self._system_of, self._names, tuple(own)))
        shot = corrected(shooting, shooting.shoot(shot.x, shot.t0, shot.period, shot.mode), ACCURACY)
        self._now = _Place(own, shooting, shot)
        self._radii = [self._radius(self._orbit(self._now))]

    def _orbit(self, place: _Place) -> PeriodicOrbit:
        return place.shooting.orbit(place.shooting.closed(place.shot), 0)

    def _radius(self, orbit: PeriodicOrbit) -> float:
        return float(np.abs(self._kept(orbit)[1]).max(initial=0.0))

    def _kept(self, orbit: PeriodicOrbit) -> tuple[Array, Array]:
        """Places and values of the multipliers that count: all but the one along the orbit and neutral ones."""
        values = orbit.multipliers
        left_out = self._neutral + (orbit.rate_of_return is not None)
        places = np.sort(np.argsort(np.abs(values - 1.0))[left_out:])
        return places, values[places]

    def _slopes(self, orbit: PeriodicOrbit) -> tuple[Array, Array]:
        """Sizes (k,) of the multipliers, and their derivatives (k, p) by the parameters."""
        places, values = self._kept(orbit)
        columns = []
        for name in self._names:
            change, error = monodromy_derivative(self._now.shooting, self._now.shot, name, ACCURACY)
            self.tried += 4
            found = multiplier_derivatives(orbit.monodromy, change, error)[0][places]
            columns.append((values.conj() * found).real / np.maximum(np.abs(values), 1e-300))
        slopes = np.nan_to_num(np.array(columns).T)
        return np.abs(values), slopes

    def _moved(self, place: _Place, step: Array) -> _Place:
        """The orbit with other values."""
        change = [slope(place.shooting.bordered(place.shot, name), name) for name in self._names]
        dx = sum(h * dx for h, (dx, _) in zip(step, change, strict=True))
        dT = float(sum(h * dT for h, (_, dT) in zip(step, change, strict=True)))
        values = place.values + step
        shooting = place.shooting.of(member(self._system_of, self._names, tuple(values)))
        self.tried += 1
        return _Place(values, shooting, corrected(shooting, shooting.stepped(place.shot, dx, dT), ACCURACY))

    def survey(self, count: int) -> None:
        """Go to the best orbit on a grid that is reached from the first one, from each value to those beside it."""
        axes = np.linspace(self._low, self._high, count)  # (count, p)
        nearest = tuple(int(k) for k in np.abs(axes - self._now.values).argmin(axis=0))
        ahead, seen, best = [(self._now, nearest)], {nearest}, self._radii[-1]
        while ahead:
            place, node = ahead.pop(0)
            try:
                found = self._moved(place, axes[node, range(len(node))] - place.values)
                radius = self._radius(self._orbit(found))
            except ContactSimError:  # no orbit close by: it ends between here and there
                continue
            if radius < best:
                self._now, best = found, radius
            for beside in _beside(node, count):
                if beside not in seen:
                    seen.add(beside)
                    ahead.append((found, beside))
        if best < self._radii[-1]:
            self._radii.append(best)

    def found(self, target: float | None, most: int) -> StabilisedOrbit:
        """The best orbit."""
        orbit, radii = self._orbit(self._now), self._radii
        region, known = REGION, None
        for _ in range(most):
            if region < SMALLEST or (target is not None and radii[-1] <= target):
                break
            known = known or self._slopes(orbit)
            step, predicted = self._program(*known, region)
            if radii[-1] - predicted <= SMALLEST * radii[-1]:
                break
            try:
                there = self._moved(self._now, step)
                tried = self._orbit(there)
            except ContactSimError:
                region *= 0.25
                continue
            gained = (radii[-1] - self._radius(tried)) / (radii[-1] - predicted)
            if gained > SHARE:
                self._now, orbit = there, tried
                radii, known = [*radii, self._radius(tried)], None
            region *= 2.0 if gained > 0.75 else 1.0 if gained > 0.25 else 0.25
        values = dict(zip(self._names, self._now.values.tolist(), strict=True))
        return StabilisedOrbit(orbit, values, radii[-1], np.array(radii), self.tried)

    def _program(self, sizes: Array, slopes: Array, region: float) -> tuple[Array, float]:
        """The step (p,) within the region and the bounds that promises the least radius, and that."""
        width = self._high - self._low
        low = np.maximum(self._low - self._now.values, -region * width) / width
        high = np.minimum(self._high - self._now.values, region * width) / width
        found = scipy.optimize.linprog(
            np.append(np.zeros(len(width)), 1.0),
            A_ub=np.column_stack([slopes * width, -np.ones(len(sizes))]),
            b_ub=-sizes,
            bounds=[*zip(low, high, strict=True), (0.0, None)],
        )
        return found.x[:-1] * width, float(found.x[-1])


def _beside(node: tuple[int, ...], count: int) -> Iterator[tuple[int, ...]]:
    """The nodes of a grid beside one."""
    for k, place in enumerate(node):
        for other in (place - 1, place + 1):
            if 0 <= other < count:
                yield (*node[:k], other, *node[k + 1 :])
