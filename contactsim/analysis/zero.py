"""Zero tests of analyses: each threshold once, with its unit and its reason."""

from __future__ import annotations

# --- of matrices, relative to the largest of their kind -------------------------------------------------------------
ROUNDING = 1e-10  # asymmetry, or a negative eigenvalue, that rounding explains
RANK = 1e-7  # singular values of Newton's matrix below this belong to neutral directions
CORE = 1e-8  # of a monodromy matrix: what it keeps of a direction that is less, an event has taken away
SIMPLE = 1e-6  # l^H r of unit eigenvectors below which a multiplier is not simple
FOLDED = 1e-5  # of the change of an orbit's residual by a parameter: what no change of the orbit takes back
THIN = 1e-9  # singular values of a spread below which directions do not count
LOST = 1e-13  # a direction that keeps less than this share of the fastest one's length is taken away

# --- of orbits ------------------------------------------------------------------------------------------------------
NEUTRAL = 1e-4  # multipliers closer to one than this belong to what a symmetry or an invariant keeps
BEYOND = 1e-12  # of the width of a span: so far outside a parameter still lies in it
STABLE = 1e-6  # multipliers closer to one than this count as neutral
STANDING = 1e-6  # an orbit on which the field takes the state less far in a period, in its units, stands still
TOUCHING = 1e-6  # a period that ends this near to an event, relative to its length, has no derivative
REPEATS = 1e-5  # in the units of the state: how far from its start a second period may end, for each unit of growth
HOLDS = 1e-4  # relative: how far a shift along an orbit may come back from itself, for each unit of growth
TRANSVERSE = 1e-6  # cosine between the field and a section's normal above which the section fixes the phase
JUMP = 1e-6  # a state that changes less than this at an event, in its units, does not jump there
