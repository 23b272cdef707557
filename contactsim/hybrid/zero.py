"""Zero tests of runs that `Tolerances` leaves to no user: each threshold once, with its unit and its reason."""

from __future__ import annotations

TINY = 1e-300  # keeps quotients of two zeros finite; no quantity is as small

# --- of guards, in their units or in those of their rounding --------------------------------------------------------
UNITS_A_SECOND = 10.0  # a guard may change so fast; it is known no better than the time of an event then
AT_ONCE = 3.0  # units of rounding of a guard that it does not rise above between events that follow at once
SHALLOW = 0.1  # share of `Tolerances.gap`: a dip that is no deeper than this is none
FLAT = 1e-9  # a guard that swings by less than this in a step, in its unit, needs no closer look
ON_SURFACE = 1e-9  # a guard this close to zero, in its unit, lies on the surface where the other mode begins

# --- of times -------------------------------------------------------------------------------------------------------
ONE_INSTANT = 10.0  # guards that reach zero within this many `Tolerances.event_time` belong to one instant
LANDED = 0.1  # share of `Tolerances.event_time` to which an event is met on true steps
GUESS = 1e-3  # share of it to which the zero of an interpolant is found before
ROOT = 1e-15  # relative accuracy of a zero in time: brentq takes no less than four roundings
LOWEST = 1e-6  # share of the place where a guard may be least, to which that is found
NO_TIME = 0.1  # an arc that is shorter than this share of the step which its motion would allow takes none
SLIVER = 1e-9  # share of a fixed step by which the last one may be longer, instead of leaving that much to another
SMALLEST_STEP = 1e-14  # of methods of collocation, relative to the time or, near zero, to one second

# --- of states ------------------------------------------------------------------------------------------------------
ROUNDED = 4.0  # units of rounding of the largest coordinate, to which a stiff field lets a stage be known

# --- of stiffness: a step times a rate ------------------------------------------------------------------------------
NEAR_EDGE = 3.0  # of DOP853, whose stability ends at some six: where accuracy sets the step it is less
EDGE = 2.0  # a decay that holds explicit steps; less where accuracy sets the step, and they are stable up to 3 to 6
FADING = 0.6  # a decay that shows in the error of DOP853, whose stages are of a low order where a motion is stiff
FADED = 30.0  # sum over steps behind which nothing is left of what decays: exp(-30) of it
LASTING = 100.0  # a decay, and the time for which it stays as fast: an explicit method would need many steps
EASY = 0.5  # the fastest decay within a stiff step, up to which an explicit method is as quick

# --- of a state from which no step leads on, relative to the field and the guards there ------------------------------
JUMP = 1e-6  # change within the shortest time there is, above which it may be a jump
STEADY_SHARE = 0.5  # share of the change within a thousand times that, above which it is one
SUDDEN = 1e-3  # share of a jump up to which there is a change within a tenth of the time to it
JUST_AHEAD = 1e-7  # s: time up to which it may be ahead
SMALL_CHANGE = 0.1  # change up to which it is in proportion to the time

# --- of the constraints of a mode ----------------------------------------------------------------------------------
KEPT = 1e-6  # singular values of a differenced projector below this are zero; the others are one or more
