"""Zero tests of control: each threshold once, with its unit and its reason."""

from __future__ import annotations

JUMP = 1e-4  # m/s, rad/s: velocities that change by less at an event of the reference need no arc continued past it
ON_TIME = 1e-9  # of a period: how far rounding puts a sampling instant from where it is
HELD = 1e-10  # cost a unit of input: gradient on a kink below which an impact is held at its sample for good
ROUNDING = 1e-12  # relative change of a cost below which it says nothing
NO_SPREAD = 1e-12  # variances below this share of the largest one belong to directions without a spread
