"""Functions that the tests of sweeps send to workers."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np


def plane(x: float, y: float) -> dict[str, Any]:
    return {"product": x * y, "both": [x, y]}


def noisy(x: float, rng: np.random.Generator) -> float:
    return x + rng.standard_normal()


def picky(x: float) -> dict[str, float]:
    if x == 2.0:
        raise ValueError("two is too much")
    return {"half": 0.5 * x}


def deadly(x: float, folder: str) -> float:
    """Takes its process with it where x = 5, once; and each time where x = 7."""
    mark = Path(folder, "died")
    if x == 7.0 or (x == 5.0 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def slowly(x: float, pause: float = 0.1) -> float:
    time.sleep(pause)
    return float(np.sin(x))


def numbers(x: float) -> dict[str, Any]:
    return {"state": x + np.arange(50.0)}
