"""The programs of docs/examples that make pictures run to their end, in small."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
NEEDS = {
    "ball_with_thrust": ("matplotlib",),
    "filter_through_a_bounce": ("matplotlib",),
    "fit_a_leg": ("matplotlib", "contactsim_robots"),
    "gait_design": ("matplotlib",),
    "hopper": ("matplotlib", "mujoco"),
    "push_recovery": ("matplotlib",),
    "solo12_jump": ("matplotlib",),
}


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs_in_small(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDS[name]:
        pytest.importorskip(module)
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, example)  # where dataclasses look for it
    spec.loader.exec_module(example)
    example.main(small=True, picture=tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
