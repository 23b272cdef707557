"""Zero tests of the contact problem: each threshold once, with its unit and its reason."""

from __future__ import annotations

import numpy as np

from ..common.arrays import Array

# --- of forces and motions, relative to the largest of their kind ---------------------------------------------------
TOLERANCE = 1e-9  # a solution may break a law by this
CREEP = 10.0 * TOLERANCE  # motion of a held contact that a singular system leaves
LOST = 1e-15  # share of the motions of all forces that their sum loses by rounding
CLEAR = 1e-6  # margin, force or motion above which a choice between two modes is no matter of rounding
BARELY = 1e-7  # force, of moderate accuracy, below which a contact is open
OUTSIDE = 1e-13  # of its cone by which a force counts as in it
SETTLED = 1e-9  # the last step towards the smallest forces, relative to these: the error is its square
INSIDE = 1e-6  # how far inside its cone a force of moderate accuracy sticks, relative to the force
STEADY = 1e-8  # change of proposed forces at which their modes are clear
STILL = 1e-13  # change of forces in a sweep that is rounding
SWEPT = 1e-11  # violation of a law that sweeps leave at rest: of STILL, and what slow convergence adds
ACROSS = 1e-14  # motion across a slip direction that is rounding, and share of a Newton step that is
ACROSS_SINGULAR = 1e-12  # the same of the motion under forces of a singular system, which are known less well
VERIFIED = 1e-8  # violation of a law with which a solution verifies itself: of TOLERANCE, and what rounding adds

# --- of an impact without collision, relative to the slip and the mobilities it begins with --------------------------
NO_SLIP = 1e-9  # slip velocity that has come to its end in space, where it has no sign
PASSED = 1e-12  # velocity by which a zero has been passed
LEAVING = 1e-7  # slip velocity up to which a slip that begins in space keeps the direction in which it began
BEGIN = 1e-6  # share of the size up to which its series is resolved, from which on it is followed
EDGE = 1e-9  # a force that is so close to the edge of its cone is on it; growth and motion that count as none
REAL = 1e-9  # imaginary part of a rate that is rounding, relative to the rate
SHIFT = 1e-6  # what is said of velocities that differ by more at another ratio of stiffnesses: not unique

# --- of matrices, relative to the largest of their kind -------------------------------------------------------------
RANK = 1e-10  # singular values that are zero
HANGS = 1e-9  # share of a row that is not one of others, on which it hangs
REGULAR = 1e-9  # reciprocal condition above which a matrix is regular without a look at its singular values
GAINED = 1e-13  # work of an impact that counts as none, relative to the work of all rows
SYMMETRIC = 1e-3  # entries by which a given Delassus matrix may differ from its transpose: files round them
DEFINITE = 1e-6  # eigenvalues by which a given one may be indefinite, for the same reason

# --- absolute -------------------------------------------------------------------------------------------------------
TURNED = 1e-15  # rad: turns of a slip direction below it are rounding
NOTHING = 1e-300  # stands for the largest of values that are all zero, where one divides by it
SMALLEST_FORCE = 1e-12  # N or N s: scale of a cone program whose forces are all zero


def rounding(values: Array) -> float:
    """The rounding of `values`, which counts as zero beside them."""
    return TOLERANCE * max(float(np.abs(values).max(initial=0.0)), NOTHING)
