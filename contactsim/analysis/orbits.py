"""Periodic orbits by Newton's method on the derivative of a run, and their stability."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.arguments import COUNT, FLAG, NAME, POSITIVE, REAL, arguments, custom, function, instance, optional
from ..errors import ContactSimError, ConvergenceError, NonDifferentiableError
from ..hybrid.integrators import AUTOMATIC
from ..hybrid.system import Dynamics, completed
from ..hybrid.tolerances import TOLERANCES, Tolerances
from .periodic_orbit import PeriodicOrbit
from .shooting import Section, Shooting, Shot, Symmetry
from .zero import HOLDS, REPEATS, STANDING

ACCURACY = 1e-9  # largest residual of an orbit, in the units of the state
MOVES = 9
LEAST_DAMPING = 1e-3  # of a first try at a step, relative to the residual
MORE_DAMPING, DAMPINGS = 10.0, 9
DECREASE = 0.25  # share of a step's predicted decrease of the residual that is asked of it
SECOND = 100.0  # times the residual of the first period that the second one may have, for each unit of growth
SLOW = 0.7  # a step that leaves more of the residual is a reason to move on


def _section(given: Any) -> Any:
    if not callable(given) and not (isinstance(given, tuple) and len(given) == 2):
        raise ValueError
    return given


@arguments(
    system=instance(Dynamics, "a ContactSystem or another HybridSystem"),
    section=optional(custom("a function of the state, or (normal, offset)", _section)),
    symmetry=optional(function("a function of the state")),
    period_guess=POSITIVE,
    fixed_period=FLAG,
    t0=REAL,
    tolerances=optional(TOLERANCES),
    integrator=NAME,
    accuracy=POSITIVE,
    max_iterations=COUNT,
)
def find_periodic_orbit(
    system: Dynamics,
    x_guess: Any,
    period_guess: float,
    section: Section | None = None,
    *,
    symmetry: Symmetry | None = None,
    fixed_period: bool = False,
    t0: float = 0.0,
    tolerances: Tolerances | None = None,
    integrator: str = AUTOMATIC,
    accuracy: float = ACCURACY,
    max_iterations: int = 30,
) -> PeriodicOrbit:
    """Periodic orbit near a guess, by Newton shooting on the derivative of the run through its events.

    Solves sigma(phi_T(x0)) (-) x0 = 0 for (x0, T) in least squares with the smallest change of x0, so constrained and
    neutral directions stay as they are guessed; steps that do not shrink the residual are damped (Parker and Chua 1989,
    ch. 5; Levenberg and Marquardt). The period is first taken as the time near `period_guess` after which the run comes
    back closest to its start, and takes what it can of each step: of a family of orbits (by energy, say) the one
    through the guess is found; a section with several numbers asks for another. Where an event falls on the start, x0
    (and t0) move on along the orbit, unless a section fixes the phase. What was found is run for a second period, which
    has to end where the first did.

    Args:
        system: the hybrid system.
        x_guess: state at the start (a State for a ContactSystem).
        period_guess: its period [s].
        section: what x0 must satisfy besides: a function of the state that is zero there (one number or several), or
            (normal, offset) with normal . x = offset for the plain state x. By default x0 keeps the phase of its
            guess: corrections are orthogonal to the rate of return.
        symmetry: sigma, applied to the state after a period: a swap of legs, the forward motion taken away. It has to
            be one of the system: a motion that starts in sigma(x) goes on as sigma of the motion from x, but for what
            sigma takes away.
        fixed_period: the period is known (a system with a clock of its own); `t0` is then its phase.
        t0: time of the start [s].
        tolerances: of the runs and their derivatives; by default rtol 1e-11 and atol 1e-12.
        integrator: method of the runs and their derivatives.
        accuracy: largest residual, in the units of the state.
        max_iterations: Newton steps.

    Raises:
        InputError: the guess is no state of the system, or the period is not positive.
        ConvergenceError: Newton's method does not meet `accuracy`; `problem` has "x0", "period" and "residual" of the
            best point; or what was found does not repeat itself: the symmetry is none, or the system has a clock.
        NonDifferentiableError: an event of a run on the way has no single derivative.
    """
    tolerances = tolerances or Tolerances(rtol=1e-11, atol=1e-12)
    shooting = Shooting(completed(system), symmetry, section, fixed_period, tolerances, integrator)
    return _search(shooting, shooting.first(x_guess, float(t0), float(period_guess)), accuracy, max_iterations)


def _search(shooting: Shooting, shot: Shot, accuracy: float, max_iterations: int) -> PeriodicOrbit:
    """Newton's method with damped steps, and one step more once the accuracy is met."""
    moves = int(shooting.ends_at_event(shot, True))
    shot = shooting.moved(shot) if moves else shot
    for iteration in range(max_iterations):
        met = shot.error <= accuracy
        found = _damped(shooting, shot, last=met)
        if met and not shooting.ends_at_event(shot, moves < MOVES):
            shot = shooting.closed(found or shot)
            return _checked(shooting, shot, _moving(shooting.orbit(shot, iteration + (found is not None))))
        slow = found is None or found.size > SLOW * shot.size
        shot, before, stuck = found or shot, shot, moves == MOVES or not met
        if moves < MOVES and (slow or shooting.ends_at_event(shot, True)):
            further = shooting.moved(shot)
            shot, moves = further, MOVES if further is shot else moves + 1  # what cannot move need not
        if shot is before and stuck:
            break
    if shot.error <= accuracy:
        raise ConvergenceError(
            f"the run of {type(shooting.system).__name__} comes back to its start after {shot.period:.6g} s, but an"
            " event at which variations jump lies there; give a start (and section) away from its events",
            x0=shooting.system.state(shot.x),
            period=shot.period,
            residual=shot.error,
        )
    raise ConvergenceError(
        f"no periodic orbit of {type(shooting.system).__name__} was found from this guess: the residual stays at"
        f" {shot.error:.3g} with the period {shot.period:.6g} s; give a guess closer to the orbit, a symmetry"
        " that takes away what does not repeat, such as the way of a walk, or a start (and section) away from its"
        " events",
        x0=shooting.system.state(shot.x),
        period=shot.period,
        residual=shot.error,
    )


def _checked(shooting: Shooting, shot: Shot, orbit: PeriodicOrbit) -> PeriodicOrbit:
    """The orbit, if a second period goes like the first."""
    apart, turned = shooting.missed(shot)
    growth = 1.0 + float(np.linalg.norm(orbit.monodromy, 2))
    if apart <= growth * max(REPEATS, SECOND * orbit.residual) and turned <= growth * HOLDS:
        return orbit
    if shooting.fixed_period:
        remedy = "give the period of the system's clock"
    else:
        remedy = "give fixed_period=True where the system has a clock of its own"
    if shooting.symmetric:
        remedy = f"give a symmetry that maps every motion to a motion, or {remedy}"
    second = f"its second one ends {apart:.3g} away" if np.isfinite(apart) else "there is no second one"
    turn = "" if shooting.fixed_period else f", and a shift along it comes back wrong by {turned:.3g} of itself"
    raise ConvergenceError(
        f"the run of {type(shooting.system).__name__} comes back to its start once, but is no orbit: after the period"
        f" {orbit.period:.6g} s {second}{turn}; {remedy}",
        x0=orbit.x0,
        period=orbit.period,
        residual=apart,
    )


def _moving(orbit: PeriodicOrbit) -> PeriodicOrbit:
    """The orbit, unless it stands still."""
    if orbit.rate_of_return is not None and np.linalg.norm(orbit.rate_of_return) * orbit.period <= STANDING:
        raise ConvergenceError(
            f"the search ended in an equilibrium of {type(orbit.system).__name__}, where every period fits; give a"
            " guess closer to the orbit",
            x0=orbit.x0,
            period=orbit.period,
            residual=orbit.residual,
        )
    return orbit


def _damped(shooting: Shooting, shot: Shot, last: bool) -> Shot | None:
    """A step that shrinks the residual as it should; None where none does, or the `last` does not.

    The damping |r| keeps Newton's speed beside neutral directions, where solutions are not isolated (Yamashita and
    Fukushima 2001), and grows until the step does what its linear equations say.
    """
    newton, damping = shooting.newton(shot), LEAST_DAMPING * shot.size
    for _ in range(1 if last else DAMPINGS):
        dx, dT, left = newton.step(damping)
        damping *= MORE_DAMPING
        try:
            found = shooting.stepped(shot, dx, dT)
        except NonDifferentiableError:
            raise
        except ContactSimError:
            continue
        if found.size <= (1.0 - DECREASE * (1.0 - left)) * shot.size:
            return found
    return None
