"""Examples that come with the models: found by name, run for a short time, and doing what their first line says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from contactsim_plugins.models.compliant_hexapod.ledger import energy_ledger
from contactsim_plugins.models.compliant_hexapod.state import FEET, PLACE

import contactsim as cs
from contactsim.io import initfile
from contactsim.io.initfile import examples, located

MIRROR = 1e-12  # m, a run and its mirror image differ by rounding only
ON_GROUND = 1e-9  # m, standing toes of a stored event
GAITS = [
    "hexapod_backward.rc",
    "hexapod_forward.rc",
    "hexapod_forward.toml",
    "hexapod_running.rc",
    "hexapod_sinusoid.rc",
    "hexapod_slip_friction.rc",
    "hexapod_turning.rc",
    "hexapod_turning_in_place.rc",
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test needs to stand where the examples are."""
    monkeypatch.chdir(tmp_path)


def run(name: str, time: float) -> cs.Trajectory:
    traj = initfile.run(initfile.read(name, changes=[f"finalTime={time}"]))
    assert traj.status is cs.Status.FINISHED, traj.message
    return traj


def yaw(x: np.ndarray) -> float:
    """Turn of the body to the left [rad]."""
    return float(np.arctan2(x[3], x[0]))


@pytest.fixture(scope="module")
def forward() -> cs.Trajectory:
    return run("hexapod_forward.rc", 2.0)


def test_examples_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    assert [name for name in examples() if name.startswith("hexapod")] == GAITS
    path = located("slip.rc")
    assert path.is_file() and located(path) == path
    own = tmp_path / "slip.rc"
    own.write_text('systemName = "slip";', encoding="utf-8")
    assert located("slip.rc") == Path("slip.rc")  # one's own file comes first
    with pytest.raises(cs.InputError, match=r"no file hexapod_forwards\.rc; .* examples: .*hexapod_forward\.rc"):
        located("hexapod_forwards.rc")
    with pytest.raises(cs.InputError, match=r"no file here/hexapod_forward\.rc; check the path$"):
        located("here/hexapod_forward.rc")


@pytest.mark.parametrize("name", GAITS)
def test_each_example_starts_and_says_what_it_writes(name: str) -> None:
    file = initfile.read(name)
    assert file.settings.dataBaseName == Path(name).stem and file.notes == ()
    assert located(name).read_text(encoding="utf-8").startswith("### ")
    assert file.prepared().begin().status is cs.Status.RUNNING


def test_toml_says_the_same_as_rc() -> None:
    rc, toml = (initfile.read(f"hexapod_forward.{suffix}") for suffix in ("rc", "toml"))
    assert rc.symbols() == toml.symbols()


def test_forward_and_backward_are_mirror_images(forward: cs.Trajectory) -> None:
    back = run("hexapod_backward.rc", 0.5)
    there = forward(0.5)[PLACE]
    assert there[1] > 0.1
    np.testing.assert_allclose(back.final_x[PLACE], there * [1.0, -1.0, 1.0], rtol=0, atol=MIRROR)


def test_running_is_more_than_twice_as_fast(forward: cs.Trajectory) -> None:
    fast = run("hexapod_running.rc", 1.0)
    assert fast.final_x[PLACE][1] > 2.0 * forward(1.0)[PLACE][1]


def test_turning_in_place_turns_left() -> None:
    traj = run("hexapod_turning_in_place.rc", 0.4)
    assert yaw(traj.final_x) > 0.2
    assert np.linalg.norm(traj.final_x[PLACE][:2]) < 0.08


def test_differential_turning_turns_right(forward: cs.Trajectory) -> None:
    turned = run("hexapod_turning.rc", 2.0).final_x
    assert yaw(turned) < yaw(forward.final_x) - 0.03
    assert turned[PLACE][0] > forward.final_x[PLACE][0] + 0.01 and turned[PLACE][1] > 0.5


def test_slip_friction_slips() -> None:
    ledger = energy_ledger(run("hexapod_slip_friction.rc", 0.3))
    assert ledger.slip_friction < 0.0


def test_sinusoid_stands_on_waves() -> None:
    traj = run("hexapod_sinusoid.rc", 0.7)
    heights = []
    for event in traj.events:
        toes = event.x_post[FEET].reshape(6, 3)[list(np.flatnonzero(event.mode_post.stance))]
        waves = 0.03 * np.sin(15.0 * toes[:, 0]) * np.cos(15.0 * toes[:, 1])
        np.testing.assert_allclose(toes[:, 2], waves, rtol=0, atol=ON_GROUND)
        heights += toes[:, 2].tolist()
    assert np.ptp(heights) > 0.03
