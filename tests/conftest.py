import os
import signal

import pytest

SLOW = os.environ.get("CONTACTSIM_SLOW") == "1"
collect_ignore = ["data/version1/plugins"]  # test_version1_files runs their tests


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "slow: runs for more than about ten seconds; only with CONTACTSIM_SLOW=1")
    # A shell that runs the tests in the background has them ignore Ctrl-C, and with them the commands that they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items) -> None:
    if SLOW:
        return
    skip = pytest.mark.skip(reason="runs for more than about ten seconds; set CONTACTSIM_SLOW=1")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
