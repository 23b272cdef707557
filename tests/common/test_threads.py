"""One thread for the linear algebra holds in every thread of the program, and is undone by the last that leaves it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from threading import Thread

import pytest
from threadpoolctl import threadpool_limits

from contactsim.common.threads import _libraries, one_thread


def now() -> list[int]:
    return [library.num_threads for library in _libraries()]


def within() -> list[int]:
    with one_thread():
        return now()


def in_another_thread() -> list[int]:
    found: list[list[int]] = []
    thread = Thread(target=lambda: found.append(within()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture
def two() -> Iterator[None]:
    """The linear algebra with two threads, which the user's own way of asking gave it."""
    with threadpool_limits(2, user_api="blas"):
        if now() != [2] * len(now()):
            pytest.skip("BLAS was built or started with one thread")
        yield


def test_it_holds_in_every_thread_and_is_undone(two):
    ones = [1] * len(_libraries())
    assert within() == ones
    assert in_another_thread() == ones, "the thread that asked first is alive, and another one was ignored"
    assert now() == [2] * len(ones)


def test_the_last_to_leave_undoes_it(two):
    with one_thread():
        in_another_thread()
        assert now() == [1] * len(_libraries())
    assert now() == [2] * len(_libraries())


def test_the_library_of_scipy_is_held_to_one_thread_though_it_comes_late():
    code = """
import numpy
from contactsim.common.threads import one_thread
with one_thread():
    pass
import scipy.linalg
from threadpoolctl import threadpool_info
with one_thread():
    print(*[library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"])"""
    own = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own).stdout
    assert set(told.split()) == {"1"}
