"""Runs over one period from a guess of a periodic orbit, and the equations of Newton's method on them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass, scipy
from ..common.representation import Brief
from ..contact_dynamics.contact_system import ContactSystem
from ..derivatives.event_linearization import Parameters
from ..derivatives.run_derivative import RunDerivative
from ..errors import ContactSimError, ConvergenceError, InputError
from ..hybrid.differences import map_derivative, tangent_derivative
from ..hybrid.manifold import Euclidean, Manifold
from ..hybrid.mode_directions import directions, flow_at, on_constraints, projector, space_of
from ..hybrid.simulate import simulate
from ..hybrid.system import HybridSystem
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Trajectory
from ..hybrid.zero import TINY
from .linearization import Linearization, linearize
from .periodic_orbit import Bordered, PeriodicOrbit
from .zero import RANK, TOUCHING, TRANSVERSE

CLOSE = 0.05  # a period that ends this near to an event, relative to its length, starts elsewhere on the orbit
MOVE = 0.12  # and this is how far it moves on, relative to the period
RETURN = 0.3  # the guess of the period is improved within this share of it
FURTHER = 0.6  # and within this one, where the run comes back no closer inside of the first
SAMPLES = 200  # states that are looked at for that
RETURN_TIME = 1e-9  # accuracy of that time, relative to the period; a minimum is not known better
STRETCH = 0.3  # largest change of the period in one step, relative to it
EVENTS, STEPS = 1000, 20_000  # a first run over one period has at most as many
LONGER = 5  # and the runs after it this many times those that the first had, and 50 more

Symmetry = Callable[..., Any]  # of the state, or of the state and the system
Section = Callable[..., Any] | tuple[Any, float]


@dataclass(frozen=True, repr=False)
class Shot(Brief):
    """A run over one period, with some more of it to see the events close to its end."""

    trajectory: Trajectory
    x: Array
    mode: Any
    t0: float
    period: float
    residual: Array  # sigma(phi_T(x0)) (-) x0, then the values of the section
    extra: int  # how many those are

    @property
    def size(self) -> float:
        """Size of the residual, which Newton's method makes small."""
        return float(np.linalg.norm(self.residual))

    @property
    def error(self) -> float:
        """Largest entry of the residual."""
        return float(np.abs(self.residual).max(initial=0.0))


@dataclass(frozen=True, repr=False)
class _Derivative(Brief):
    """Derivatives of a shot, for a Newton step."""

    monodromy: Array  # D sigma D phi (n, n)
    start: Array  # derivative of the difference to x0 by x0 (n, n)
    end: Array  # derivative of the residual by the period (n,), the rate of return
    allowed: Array  # projector (n, n) on the directions that the mode allows
    rows: Array  # gradient of the section (extra, n)
    field: Array  # at the start (n,)


@dataclass(frozen=True, repr=False)
class _Newton(Brief):
    """Equations A y + c dT = target of a Newton step with dx = directions y.

    The period takes what it can of the target, so that dx is the smallest that the rest of it asks for: a member of a
    family of orbits stays as it is where only its period was wrong. With e = c / |c|, (1 - e e^T) A = U diag(values) V.
    """

    directions: Array
    A: Array
    c: Array
    U: Array
    values: Array
    V: Array
    target: Array
    longest: float  # change of the period [s]

    @classmethod
    def of(cls, directions: Array, A: Array, c: Array, target: Array, longest: float) -> _Newton:
        """The equations with their decomposition; c is zero where the period is known."""
        return cls(directions, A, c, *np.linalg.svd(A - _along(c, A), full_matrices=False), target, longest)

    def step(self, damping: float) -> tuple[Array, float, float]:
        """dx, dT and the share of the target that they leave, for min |A y + c dT - target|^2 + damping |y|^2."""
        along = self.U.T @ (self.target - _along(self.c, self.target))
        kept = self.values > RANK * self.values[0]
        y = self.V.T @ (np.where(kept, self.values / (self.values**2 + damping), 0.0) * along)
        left = self.target - self.A @ y
        dT = float(self.c @ left / max(float(self.c @ self.c), TINY))
        dT = min(max(dT, -self.longest), self.longest)
        share = float(np.linalg.norm(left - dT * self.c) / max(float(np.linalg.norm(self.target)), TINY))
        return self.directions @ y, dT, share


def _along(c: Array, what: Array) -> Array:
    """The part of a vector, or of each column of a matrix, in the direction of `c`."""
    return np.multiply.outer(c, c @ what) / max(float(c @ c), TINY)


class Shooting:
    """Runs over one period and their derivatives."""

    def __init__(
        self,
        system: HybridSystem,
        symmetry: Symmetry | None,
        section: Section | None,
        fixed_period: bool,
        tolerances: Tolerances,
        integrator: str,
    ) -> None:
        self.system, self.fixed_period = system, fixed_period
        self._given = symmetry, section
        self._symmetry, self._section = of_system(symmetry, system), of_system(section, system)
        self._tolerances, self._integrator = tolerances, integrator
        self._most_events, self._most_steps = EVENTS, STEPS

    def of(self, system: HybridSystem) -> Shooting:
        """The same for another system of a family."""
        symmetry, section = self._given
        other = Shooting(system, symmetry, section, self.fixed_period, self._tolerances, self._integrator)
        other._most_events, other._most_steps = self._most_events, self._most_steps
        return other

    @property
    def symmetric(self) -> bool:
        """True where a symmetry was given."""
        return self._symmetry is not None

    # --- runs -------------------------------------------------------------------------------------------------

    def first(self, x_guess: Any, t0: float, period: float) -> Shot:
        """The run from the guess, over the time after which it comes back closest to its start."""
        return self._closest_return(self.shoot(self.system.pack(x_guess), t0, period, margin=RETURN))

    def _closest_return(self, shot: Shot) -> Shot:
        """The same start with the period near its guess after which the run is nearest to it.

        Where it still comes nearer at the limit of what is near, it is looked at further.
        """
        if self.fixed_period:
            return shot
        end, inside = self._nearest(shot, RETURN)
        if not inside:
            further = self._nearest(self.shoot(shot.x, shot.t0, shot.period, shot.mode, margin=FURTHER), FURTHER)
            end = further[0] if further[1] else end
        return self.shoot(shot.x, shot.t0, end - shot.t0, shot.mode)

    def _nearest(self, shot: Shot, reach: float) -> tuple[float, bool]:
        """When the run is nearest to its start within `reach` of the period, relative to it; whether inside of that."""
        run, t0 = shot.trajectory, shot.t0
        first, last = t0 + (1.0 - reach) * shot.period, min(run.arcs[-1].t1, t0 + (1.0 + reach) * shot.period)
        events = [event.time for event in run.all_events if first < event.time < last]
        ends = np.unique([*np.linspace(first, last, SAMPLES), *events])
        space = self._space(shot.mode, shot.x)

        def apart(end: float) -> float:
            return self._distance(space, shot.x, self._at(run, end))

        k = int(np.argmin([apart(end) for end in ends]))
        around = (ends[max(k - 1, 0)], ends[min(k + 1, len(ends) - 1)])
        closer = scipy.optimize.minimize_scalar(
            apart, bounds=around, method="bounded", options={"xatol": RETURN_TIME * shot.period}
        )
        end = closer.x if closer.fun < apart(ends[k]) else ends[k]
        return float(end), 0 < k < len(ends) - 1

    def _distance(self, space: Manifold, x: Array, end: Array) -> float:
        try:
            return float(np.linalg.norm(space.difference(x, self._image(end, x))))
        except ConvergenceError:
            return np.inf

    def _run(self, state: Any, t0: float, end: float, mode: Any = None) -> Trajectory:
        """A run that is given up when it takes much longer than the first one."""
        steps = 0

        def count(t: float) -> None:
            nonlocal steps
            steps += 1
            if steps > self._most_steps:
                raise ConvergenceError(f"a run took more than {self._most_steps} steps until t = {t:.6g} s")

        try:
            trajectory = simulate(
                self.system,
                state,
                (t0, end),
                tolerances=self._tolerances,
                integrator=self._integrator,
                max_events=self._most_events,
                progress=count,
                mode=mode,
            )
        except ContactSimError as error:
            if not hasattr(error, "trajectory"):
                raise
            trajectory = error.trajectory  # it may stop behind the period
        if self._most_steps == STEPS:
            self._most_steps = LONGER * steps + 50
            self._most_events = LONGER * len(trajectory.all_events) + 50
        return trajectory

    def shoot(self, x: Array, t0: float, period: float, mode: Any = None, margin: float = CLOSE) -> Shot:
        """Run from `x`, put back onto the constraints of `mode` where one is given.

        Raises:
            ConvergenceError: the run stops before the period is over, or ends in another kind of state.
        """
        if mode is not None:
            x = on_constraints(self.system, mode, t0, x)
        state = self.system.state(x)
        end = t0 + period
        # Other systems say themselves in which mode a state is.
        held = mode if isinstance(self.system, ContactSystem) else None
        trajectory = self._run(state, t0, end + margin * period, held)
        if trajectory.arcs[-1].t1 < end:
            raise ConvergenceError(
                f"the run from the guess stops at t = {trajectory.arcs[-1].t1:.6g} s, before its period ends at"
                f" {end:.6g} s: {trajectory.message}",
                x0=state,
                period=period,
            )
        start = next(arc for arc in trajectory.arcs if arc.t1 > arc.t0)
        x = start(t0)
        residual = self._residual(x, self._at(trajectory, end), self._space(start.mode, x))
        return Shot(trajectory, x, start.mode, t0, period, residual, len(self._values(x)))

    def closed(self, shot: Shot) -> Shot:
        """The same run over exactly one period."""
        return self.shoot(shot.x, shot.t0, shot.period, shot.mode, margin=0.0)

    def moved(self, shot: Shot) -> Shot:
        """From a later point of the same run; the same where a section fixes the phase, or the run ends too early."""
        if self.fixes_phase(shot):
            return shot
        t0 = shot.t0 + MOVE * shot.period
        try:
            return self._closest_return(self.shoot(self._at(shot.trajectory, t0), t0, shot.period, margin=RETURN))
        except ConvergenceError:
            return shot

    def ends_at_event(self, shot: Shot, may_move: bool) -> bool:
        """True where an event that changes variations lies at the end of the period; close to it, where x0 may move."""
        moves = may_move and not self.fixes_phase(shot)
        end, reach = shot.t0 + shot.period, (CLOSE if moves else TOUCHING) * shot.period
        near = [event for event in self._linearize(shot.trajectory).all_events if abs(event.time - end) <= reach]
        return any(not event.is_identity for event in near)

    def fixes_phase(self, shot: Shot) -> bool:
        """True where the orbit crosses the section."""
        if self._section is None:
            return False
        return crosses(self._gradient(shot), self._returning(shot)[-1]) is not None

    # --- derivatives ------------------------------------------------------------------------------------------

    def derivative(self, shot: Shot) -> _Derivative:
        """Derivative of the residual through the events of the run."""
        start, sigma, rate = self._returning(shot)
        return _Derivative(
            monodromy=sigma @ self._linearize(shot.trajectory).matrix(shot.t0, shot.t0 + shot.period),
            start=start,
            end=rate,
            allowed=projector(self.system, shot.mode, shot.t0, shot.x),
            rows=self._gradient(shot),
            field=self._field(shot.mode, shot.t0, shot.x),
        )

    def _returning(self, shot: Shot) -> tuple[Array, Array, Array]:
        """Derivatives of the residual by the start and by the end of the run (n, n), and by the period (n,)."""
        end = shot.t0 + shot.period
        space, mode = self._space(shot.mode, shot.x), shot.trajectory.arc_at(end).mode
        x_end = self._at(shot.trajectory, end)
        start, across = _difference_derivatives(space, shot.x, self._image(x_end, shot.x))
        sigma = across @ self._sigma(mode, x_end, space)
        return start, sigma, sigma @ self._field(mode, end, x_end)

    def newton(self, shot: Shot) -> _Newton:
        """The linear equations of a Newton step."""
        d = self.derivative(shot)
        basis = directions(d.allowed)
        matrix, by_period = self._equations(shot, d)
        target = np.append(-shot.residual, np.zeros(len(matrix) - len(shot.residual)))
        return _Newton.of(basis, matrix @ basis, by_period, target, STRETCH * shot.period)

    def _equations(self, shot: Shot, d: _Derivative) -> tuple[Array, Array]:
        """Derivatives of the residual and, where no section fixes it, of the phase: by x0 (m, n) and the period (m,).

        A period that is known has a column of zeros.
        """
        matrix = np.vstack([d.monodromy + d.start, d.rows])
        by_period = np.zeros(len(matrix))
        if not self.fixed_period:
            by_period[: len(d.end)] = d.end
            if crosses(d.rows, d.end) is None:
                matrix = np.vstack([matrix, d.end / max(float(np.linalg.norm(d.end)), TINY)])
                by_period = np.append(by_period, 0.0)
        return matrix, by_period

    def bordered(self, shot: Shot, name: str) -> Bordered:
        """The same with a parameter as a further unknown: derivatives of the residual by x0, period and parameter."""
        d = self.derivative(shot)
        basis = directions(d.allowed)
        matrix, by_period = self._equations(shot, d)
        space, end = self._space(shot.mode, shot.x), shot.t0 + shot.period
        x_end = self._at(shot.trajectory, end)
        family = Parameters((name,))
        moved = family.derivative(
            self.system, lambda other: space.difference(shot.x, on_constraints(other, shot.mode, shot.t0, shot.x))
        )[:, 0]
        run = self._linearize(shot.trajectory)
        by_parameter = matrix @ moved
        by_parameter[: len(d.start)] += self._returning(shot)[1] @ parameter_variation(run, name, end)
        by_parameter[: len(shot.residual)] += family.derivative(
            self.system, lambda other: self.of(other)._residual(shot.x, x_end, space)
        )[:, 0]
        residual = np.append(shot.residual, np.zeros(len(matrix) - len(shot.residual)))
        return Bordered(basis, moved, np.column_stack([matrix @ basis, by_period, by_parameter]), residual)

    def _residual(self, x: Array, x_end: Array, space: Manifold) -> Array:
        """sigma(x_end) (-) x, then the values of the section."""
        return np.concatenate([space.difference(x, self._image(x_end, x)), self._values(x)])

    def stepped(self, shot: Shot, dx: Array, dT: float) -> Shot:
        """The run from a changed start."""
        x = self._space(shot.mode, shot.x).integrate(shot.x, dx)
        return self.shoot(x, shot.t0, shot.period + dT, shot.mode)

    def orbit(self, shot: Shot, iterations: int) -> PeriodicOrbit:
        """The finished orbit."""
        d = self.derivative(shot)
        crossed = crosses(d.rows, d.end)
        return PeriodicOrbit(
            system=self.system,
            x0=self.system.state(shot.x),
            period=shot.period,
            t0=shot.t0,
            monodromy=d.monodromy @ d.allowed,
            trajectory=shot.trajectory,
            linearization=self._linearize(shot.trajectory),
            residual=shot.error,
            iterations=iterations,
            normal=d.end if crossed is None else crossed,
            flow=None if self.fixed_period else d.field,
            rate_of_return=None if self.fixed_period else d.end,
            shooting=self,
        )

    def again(self, orbit: PeriodicOrbit) -> Shot:
        """The run of an orbit that was found."""
        run = orbit.trajectory
        start = next(arc for arc in run.arcs if arc.t1 > arc.t0)
        x = start(orbit.t0)
        residual = self._residual(x, self._at(run, orbit.t0 + orbit.period), self._space(start.mode, x))
        return Shot(run, x, start.mode, orbit.t0, orbit.period, residual, len(self._values(x)))

    def missed(self, shot: Shot) -> tuple[float, float]:
        """Distance from x0 of the end of a second period, sigma(sigma(phi_2T(x0))) (-) x0, and |M w - w| / |w|.

        Both vanish on an orbit, for a symmetry is one where sigma phi_t sigma = sigma sigma phi_t: then a turn goes
        like the one before, and w, the rate of return, is carried into itself. The second is zero where the period is
        known. A run that ends before, or in another kind of state, misses x0 by infinity.
        """
        end = shot.t0 + 2.0 * shot.period
        trajectory = self._run(self.system.state(shot.x), shot.t0, end)
        if trajectory.arcs[-1].t1 < end:
            return np.inf, 0.0
        x_end = self._at(trajectory, end)
        if self._symmetry is not None:
            x_end = self.system.pack(self._symmetry(self.system.state(x_end)))
        apart = self._distance(self._space(shot.mode, shot.x), shot.x, x_end)
        if self.fixed_period:
            return apart, 0.0
        d = self.derivative(shot)
        return apart, float(np.linalg.norm(d.monodromy @ d.end - d.end) / max(float(np.linalg.norm(d.end)), TINY))

    # --- parts ------------------------------------------------------------------------------------------------

    def _linearize(self, trajectory: Trajectory) -> Linearization:
        return linearize(trajectory, tolerances=self._tolerances, integrator=self._integrator)

    def _space(self, mode: Any, x: Array) -> Manifold:
        return space_of(self.system, mode, x)

    def _field(self, mode: Any, t: float, x: Array) -> Array:
        return np.asarray(flow_at(self.system, mode, t, x).field(t, x), dtype=float)

    @staticmethod
    def _at(trajectory: Trajectory, t: float) -> Array:
        return trajectory.arc_at(t)(t)

    def _image(self, x: Array, like: Array) -> Array:
        """sigma(x), which must be the same kind of state as the start."""
        image = x if self._symmetry is None else self.system.pack(self._symmetry(self.system.state(x)))
        if image.shape != like.shape:
            raise ConvergenceError(
                f"the period ends in a state of {len(image)} numbers and starts in one of {len(like)}; start in the"
                " mode in which it ends, or give another period_guess"
            )
        return image

    def _sigma(self, mode: Any, x: Array, image: Manifold) -> Array:
        space = self._space(mode, x)
        if self._symmetry is None:
            return np.eye(space.dim)
        return map_derivative(lambda point: self._image(point, point), space, x, image)

    def _values(self, x: Array) -> Array:
        """Values of the section at a plain state."""
        if self._section is None:
            return np.empty(0)
        if callable(self._section):
            return _section_values(self._section(self.system.state(x)))
        normal = np.asarray(self._section[0], dtype=float)
        if normal.shape != x.shape:
            raise InputError(f"the normal of the section has shape {normal.shape}; give {x.shape}, as of the state")
        return np.array([normal @ x - float(self._section[1])])

    def _gradient(self, shot: Shot) -> Array:
        space = self._space(shot.mode, shot.x)
        if self._section is None:
            return np.zeros((0, space.dim))
        return tangent_derivative(self._values, space, shot.x)


def _difference_derivatives(space: Manifold, x: Array, y: Array) -> tuple[Array, Array]:
    """Derivatives (n, n) of y (-) x by x and by y."""
    if isinstance(space, Euclidean):
        return -np.eye(space.dim), np.eye(space.dim)
    by_x = tangent_derivative(lambda point: space.difference(point, y), space, x)
    by_y = tangent_derivative(lambda point: space.difference(x, point), space, y)
    return by_x, by_y


def crosses(rows: Array, field: Array) -> Array | None:
    """Normal (n,) of the combination of `rows` (k, n) that the field crosses best; None where it crosses none."""
    scale = np.linalg.norm(rows, axis=1, keepdims=True)
    unit_rows = rows / np.where(scale > 0.0, scale, 1.0)
    normal = unit_rows.T @ (unit_rows @ field)
    if float(np.linalg.norm(unit_rows @ field)) <= TRANSVERSE * float(np.linalg.norm(field)):
        return None
    return normal


def of_system(function: Any, system: HybridSystem) -> Any:
    """A function of the state, of one of the state and the system; anything else as it is."""
    if not callable(function):
        return function
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (lambda state: function(state, system)) if len(needed) == 2 else function


def parameter_variation(run: RunDerivative, name: str, t: float) -> Array:
    """D x(t) / D p (n,) of a parameter, with the start held."""
    other = RunDerivative(run.trajectory, (name,), run.tolerances, run.integrator)
    return other.apply(np.append(np.zeros(run.dim), 1.0)[None], None, t)[0, :-1]


def _section_values(given: Any) -> Array:
    """Answer of a section function as an array of numbers."""
    try:
        return np.atleast_1d(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        raise InputError(f"the section returns a {type(given).__name__}; return a number, or several") from None
