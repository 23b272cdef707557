"""The programs of docs/examples that make pictures run to their end, in small."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from documented import example

import contactsim as cs

NEEDS = {
    "bicycle": ("matplotlib",),
    "ball_with_thrust": ("matplotlib",),
    "biped_speeds_up": ("matplotlib", "contactsim_robots"),
    "filter_through_a_bounce": ("matplotlib",),
    "fit_a_leg": ("matplotlib", "contactsim_robots"),
    "gait_design": ("matplotlib",),
    "hopper": ("matplotlib", "mujoco"),
    "push_recovery": ("matplotlib",),
    "solo12_jump": ("matplotlib",),
    "woodpecker": ("matplotlib",),
}
PAGES = {"biped_speeds_up", "push_recovery", "solo12_jump"}  # write one of their robot


def loaded(name: str) -> ModuleType:
    """The program as a module, if what it needs is there."""
    for module in NEEDS[name]:
        pytest.importorskip(module)
    return example(name)


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs_in_small(name: str, tmp_path: Path) -> None:
    loaded(name).main(small=True, picture=tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "picture.html").exists() == (name in PAGES)


@pytest.mark.slow
def test_a_biped_is_in_its_faster_walk_after_three_steps() -> None:
    program = loaded("biped_speeds_up")
    first, last, plans = program.speed_up()
    assert last.speed > 1.2 * first.speed
    assert len(program.strikes(plans[-1].trajectory)) == 3
    goal, final = program.exchanged(last.start), plans[-1].trajectory.final
    np.testing.assert_allclose(final.q[2:], goal.q[2:], rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(final.v[2:], goal.v[2:], rtol=0.0, atol=1e-3)
    steps = np.diff(program.strikes(program.followed(last, plans[-1])))
    np.testing.assert_allclose(steps, last.period, rtol=1e-3)


@pytest.mark.slow
def test_solo12_jumps_from_the_torques_of_its_stand() -> None:
    program = loaded("solo12_jump")
    system, state, torques = program.stand(cs.load_robot("solo12"))
    plan = program.jump(system, state, torques, soft=True)[-1]
    final = plan.trajectory.final
    assert final.q[2] - state.q[2] == pytest.approx(program.HIGHER, abs=2e-3)
    feet = [contact.name for contact in system.world.robot.contacts]
    assert min(plan.trajectory.system.gaps(final)[foot] for foot in feet) > 0.07
    assert program.lift_offs(plan.trajectory)
