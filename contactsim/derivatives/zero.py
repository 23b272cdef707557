"""Zero tests of derivatives across events: each threshold once, with its unit and its reason."""

from __future__ import annotations

# --- of guards ------------------------------------------------------------------------------------------------------
GRAZING = 1e-12  # rate of a guard against |D_t g| + |D_x g| |F|: below, rounding decides its sign
FALLING = 1e-9  # a guard falls if its rate is more than this fraction of |D_x g| |F|
SHARPEST = 1e6  # curvature of a guard in time up to which a graze is recognised [its unit / s^2]
GRAZE = 100.0  # squared rates of a graze exceed that of its rounding by less than this
TIED = 1e-9  # rates at which two guards come closer by a variation below this, relative to their own, are zero
IN_STEP = 1e-6  # the same of arrivals of a variation that is followed: as exact as runs and their variations are

# --- of outcomes, relative to their size ----------------------------------------------------------------------------
TWIN = 1e-10  # nodes in one mode whose states differ by less than this are one node
APART = 1e-7  # outcomes further apart than this are different ones
FIELDS_APART = 1e-5  # the same of fields: they change with the state by stiff forces
SAME = 1e-8  # matrices closer than this are one: forces at an event are known to 1e-9
INTERIOR = 1e-7  # a cone that holds no ball of this radius around a point of the unit cube is flat
