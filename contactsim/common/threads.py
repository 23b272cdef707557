"""One thread for the linear algebra: a robot's matrices are too small to share, and idle threads cost time."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import LibController

LATE = "scipy.linalg"  # brings a library of its own, often after the first run
VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # read where BLAS is loaded


def start_with_one() -> None:
    """Let BLAS start with one thread, for a program that has not imported numpy yet; what the user set stays."""
    for variable in VARIABLES:
        os.environ.setdefault(variable, "1")


class OneThread(AbstractContextManager[None]):
    """A context in which BLAS and LAPACK use one thread: set by the first that enters it, undone by the last to leave.

    So neither a context within another one, nor that of another thread that ends, changes anything. It holds for all
    threads of the program, whichever of them enters it: runs are equal to the bit in each.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._before: list[tuple[LibController, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                libraries = _libraries()
                self._before = [(library, library.num_threads) for library in libraries]
                for library in libraries:
                    _let_use(library, 1)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                for library, threads in self._before:
                    _let_use(library, threads)


_ONE = OneThread()


def one_thread() -> AbstractContextManager[None]:
    """A context in which BLAS and LAPACK use one thread."""
    return _ONE


def _let_use(library: LibController, threads: int) -> None:
    """Give a library its number of threads.

    Newer versions of threadpoolctl ignore every thread but the first that asked, while that one lives; ours ask one
    at a time, under the lock of the one context, and undo what they did.
    """
    getattr(library, "_real_set_num_threads", library.set_num_threads)(threads)


def _libraries() -> list[LibController]:
    """The libraries for linear algebra that are loaded."""
    return _found(LATE in sys.modules)


@cache
def _found(late: bool) -> list[LibController]:
    """The same, that of SciPy among them or not yet."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers
