"""The plugin keeps its contract, property by property."""

import pytest

from contactsim.conformance import check_property, properties


@pytest.mark.parametrize("name", properties("old-compliant"))
def test_keeps_its_contract(name: str) -> None:
    outcome = check_property("old-compliant", name)
    assert outcome.holds is not False, str(outcome)
