"""The demonstrations of the command line run to their end."""

from __future__ import annotations

import pytest

import contactsim as cs


@pytest.mark.slow_in_python  # where .ci/run runs both by the command
@pytest.mark.parametrize(("name", "end"), [("hexapod", 3.0), ("biped", 5.0)])
def test_a_demonstration_reaches_its_end_and_passes_its_check(name: str, end: float) -> None:
    """The hexapod stopped where a foot that begins to slip lifts off: a guard of its slip grew beyond bounds."""
    run = cs.load_scene(name).simulate(end)
    assert run.status is cs.Status.FINISHED, run.message
    assert run.t[-1] == end
    run.check()
