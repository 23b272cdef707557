"""Arrays of floating-point numbers, as everything here takes and returns them."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
