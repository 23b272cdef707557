"""One thread for the linear algebra: a robot's matrices are too small to share, and idle threads cost time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager:
    """A context in which BLAS and LAPACK use one thread."""
    return _controller().limit(limits=1, user_api="blas")
