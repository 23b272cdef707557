from __future__ import annotations

import os
import signal
from pathlib import Path

import engine_use
import pytest

from contactsim.contact_dynamics.engines import PYTHON, chosen

SLOW = os.environ.get("CONTACTSIM_SLOW") == "1"
IN_PYTHON = chosen(None) == PYTHON  # the engine of runs that name none
collect_ignore = ["data/version1/plugins"]  # test_version1_files runs their tests
asked = engine_use.Log(Path(file)) if (file := os.environ.get(engine_use.FILE)) else None
reads = os.environ.get(engine_use.ONLY) == "1"


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "slow: runs for more than about ten seconds; only with CONTACTSIM_SLOW=1")
    config.addinivalue_line("markers", "slow_in_python: as slow in Python, and always run on a compiled engine")
    # A shell that runs the tests in the background has them ignore Ctrl-C, and with them the commands that they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    runs_tests = hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None)
    if asked is not None and not reads and runs_tests:
        engine_use.watch(asked)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if asked is not None and not reads:
        asked.note(engine_use.RAN, item.nodeid)
        if report.skipped and engine_use.lacks(report.longrepr):
            asked.note(engine_use.ASKED, item.nodeid)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    with engine_use.importing(collector.nodeid if isinstance(collector, pytest.Module) else ""):
        return (yield)


def pytest_collection_modifyitems(config, items) -> None:
    if asked is not None and reads:
        out = engine_use.left_out((item.nodeid for item in items), asked.quiet())
        config.hook.pytest_deselected(items=[item for item, no in zip(items, out, strict=True) if no])
        items[:] = [item for item, no in zip(items, out, strict=True) if not no]
    if SLOW:
        return
    reason = "runs for more than about ten seconds; set CONTACTSIM_SLOW=1"
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason=reason))
        elif "slow_in_python" in item.keywords and IN_PYTHON:
            item.add_marker(pytest.mark.skip(reason=f"{reason}, or install ./plugins/contactsim_native"))
