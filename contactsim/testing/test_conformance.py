"""A test of each property of each law named by `--contactsim-law`."""

from __future__ import annotations

from typing import Any

from contactsim.testing import check_property, properties


def pytest_generate_tests(metafunc: Any) -> None:
    """One test for each law and property."""
    laws = metafunc.config.getoption("contactsim_laws")
    cases = [(law, name) for law in laws for name in properties(law)]
    metafunc.parametrize(("law", "name"), cases, ids=[f"{law}-{name.replace(' ', '_')}" for law, name in cases])


def test_conforms(law: str, name: str) -> None:
    """The law keeps its promise."""
    outcome = check_property(law, name)
    assert outcome.holds is not False, str(outcome)
