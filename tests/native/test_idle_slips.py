"""Contacts at the edges of their friction cones that do not move do not slip, however modes were looked for."""

from __future__ import annotations

import numpy as np
import pytest
from builders import leaning_cards

import contactsim as cs
from contactsim.contact.modes import Mode

pytest.importorskip("contactsim_native._native")  # its sources alone are no package


def test_cards_fall_alike_on_both_engines() -> None:
    """Their lower edges slide apart while the upper ones stick to each other, on the edges of their cones.

    The compiled engine had the upper ones slip without motion, in directions that rounding told, and was stuck at 1 us.
    """
    system, state = leaning_cards(0.2)
    runs = [cs.simulate(system.on_engine(engine), state, (0.0, 0.1)) for engine in ("native", "python")]
    for run in runs:
        assert run.status.complete, run.message
        assert run.evaluations < 600
        modes = [mode for mode in run.mode_at(0.05).values() if mode is not Mode.OPEN]
        assert sorted(modes, key=str) == [Mode.SLIP] * 4 + [Mode.STICK] * 4
        run.check()
    np.testing.assert_allclose(runs[0].final_x, runs[1].final_x, atol=1e-8)
