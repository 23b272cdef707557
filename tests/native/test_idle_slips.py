"""Contacts at the edges of their friction cones that do not move do not slip, however modes were looked for."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.contact.modes import Mode

pytest.importorskip("contactsim_native._native")  # its sources alone are no package


def cards(friction: float) -> tuple[cs.ContactSystem, cs.State]:
    """Two cards that lean against each other, edge on edge."""
    length, thick, angle, start = 0.2, 0.004, np.pi / 6, {}
    world = cs.Robot.merge(
        [cs.Robot.box(0.1, (thick, 0.1, length), name=name, friction=friction) for name in ("left", "right")]
    )
    for name, side in (("left", 1.0), ("right", -1.0)):
        turn = pin.exp3(np.array([0.0, side * angle, 0.0]))
        top, low = (turn @ np.array([side * 0.5 * thick, 0.0, end * length]) for end in (0.5, -0.5))
        start[name] = (pin.SE3ToXYZQUAT(pin.SE3(turn, np.array([-top[0], 0.0, -low[2]]))), np.zeros(6))
    return cs.ContactSystem(world), cs.State(*world.pack(start))


def test_cards_fall_alike_on_both_engines() -> None:
    """Their lower edges slide apart while the upper ones stick to each other, on the edges of their cones.

    The compiled engine had the upper ones slip without motion, in directions that rounding told, and was stuck at 1 us.
    """
    system, state = cards(0.2)
    runs = [cs.simulate(system.on_engine(engine), state, (0.0, 0.1)) for engine in ("native", "python")]
    for run in runs:
        assert run.status.complete, run.message
        assert run.evaluations < 600
        modes = [mode for mode in run.mode_at(0.05).values() if mode is not Mode.OPEN]
        assert sorted(modes, key=str) == [Mode.SLIP] * 4 + [Mode.STICK] * 4
        run.check()
    np.testing.assert_allclose(runs[0].final_x, runs[1].final_x, atol=1e-8)
