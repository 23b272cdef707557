"""One thread for the linear algebra: a robot's matrices are too small to share, and idle threads cost time."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # read where BLAS is loaded


def start_with_one() -> None:
    """Let BLAS start with one thread, for a program that has not imported numpy yet; what the user set stays."""
    for variable in VARIABLES:
        os.environ.setdefault(variable, "1")


def one_thread() -> AbstractContextManager:
    """A context in which BLAS and LAPACK use one thread."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
