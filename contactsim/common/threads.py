"""One thread for the linear algebra: a robot's matrices are too small to share, and idle threads cost time."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # read where BLAS is loaded


def start_with_one() -> None:
    """Let BLAS start with one thread, for a program that has not imported numpy yet; what the user set stays."""
    for variable in VARIABLES:
        os.environ.setdefault(variable, "1")


class OneThread(AbstractContextManager[None]):
    """A context in which BLAS and LAPACK use one thread: set by the first that enters it, undone by the last to leave.

    So neither a context within another one, nor that of another thread that ends, changes anything.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = _controller().limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


_ONE = OneThread()


def one_thread() -> AbstractContextManager[None]:
    """A context in which BLAS and LAPACK use one thread."""
    return _ONE


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
