"""Torsional and rolling friction of MJCF files: condim 4 and 6, and the second and third number of friction."""

from __future__ import annotations

from pathlib import Path

import pytest

import contactsim as cs

FILE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" friction="0.9 0.004 0.0002" condim="{floor}"/>
    <body name="ball" pos="0 0 0.1">
      <freejoint/>
      <geom type="sphere" size="0.1" mass="2" friction="0.5 0.01 0.0001" condim="{ball}"/>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize(
    ("ball", "floor", "torsion", "rolling"), [(3, 3, 0.0, 0.0), (4, 3, 0.01, 0.0), (3, 6, 0.01, 0.0002)]
)
def test_the_larger_condim_and_coefficients_of_two_geoms_count(
    tmp_path: Path, ball: int, floor: int, torsion: float, rolling: float
) -> None:
    path = tmp_path / "ball.xml"
    path.write_text(FILE.format(ball=ball, floor=floor))
    (point,) = cs.Robot.from_mjcf(path).contacts
    assert (point.torsion, point.rolling) == (torsion, rolling)
