"""How far the searches for modes, directions and forces of contacts go, in Python and in compiled engines alike.

What counts as zero in them lies in `zero.py`; what one search alone goes by, in Python alone, beside it.
"""

# --- of slip directions: see `solvers/slip_directions.py` ------------------------------------------------------------
NEWTON_STEPS = 40
QUICK_STEPS = 12  # of Newton's method on modes that may be wrong; from a good start it takes four to six
STALLED_TURN = 1e-8  # rad, of a slip direction: turns below it that no longer shrink are rounding, which jams amplify
FARTHEST_TURN = 0.7  # rad, of a slip direction in one of its steps
FOLLOWED = 12  # times that slip directions are turned to those of their motion, before Newton's method is tried again
AGREEMENTS = 40  # times that they are turned to the motion under redundant forces; mostly three are enough
ON_CIRCLE = 1e-6  # by which a root may miss the unit circle: a double one is known to the root of rounding
LEAP = 0.1  # rad, of a slip direction from one state to the next, beyond which it is looked for another one

# --- of modes: see `stick_slip_choice.py` ----------------------------------------------------------------------------
FEW_ROUNDS = 16  # of corrections of many contacts: more seldom lead anywhere
FEW_SWEEPS = 12, 50  # one after the other, behind each of which it is looked at what modes they tell
SETTLING = 200  # sweeps behind which forces that no system of modes tells come to rest, or drift straight on
DRIFTING = 50  # sweeps by which it is looked where they drift to
LEAPS = 20  # times that they are led ahead there, at most; two or three are enough in what was seen
SINGLY = 16  # contacts at most whose modes are corrected one at a time before sweeps are tried, which cost less of many
RUNAWAY = 1e9  # forces this many times those of the contacts alone are those of contacts that jam: no more sweeps
INNER = 30  # steps of the fixed point of one contact that slips in an unknown direction

# --- of forces that are not the only ones: see `even_sharing.py`, `smallest_in_cones.py`, `cone_program.py` ----------
BLOWN_UP = 1e6  # stands for 1 / eps, where contacts that do the same are to leave in different ways
CONE_STEPS = 40  # towards the smallest forces in their cones, at most; four to nine are the rule
PLANES_APART = 1e-2  # of two directions on the unit circle: planes that touch a cone there differ
ACCURACY = 1e-12  # of the optimum of a cone program, in problems scaled to about one
