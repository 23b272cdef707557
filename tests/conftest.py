import os

import pytest

SLOW = os.environ.get("CONTACTSIM_SLOW") == "1"


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "slow: runs for more than about ten seconds; only with CONTACTSIM_SLOW=1")


def pytest_collection_modifyitems(items) -> None:
    if SLOW:
        return
    skip = pytest.mark.skip(reason="runs for more than about ten seconds; set CONTACTSIM_SLOW=1")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
