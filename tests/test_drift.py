"""Long runs in contact: nothing creeps, nothing sinks, and projection costs neither energy nor order."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import tolerances as tol
from builders import G, box, planar_body, turned_box
from scipy.special import ellipj, ellipk

import contactsim as cs

Array = np.ndarray
LONG = 100.0  # s
DRIFT = 1e-9  # m, m/s: gap and slip over LONG
KEPT = 1e-7  # relative, energy over LONG
