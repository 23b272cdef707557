"""Runs of every kind against those kept in `data/thirty_runs`: the quick ones; all with CONTACTSIM_SLOW=1."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import thirty_runs
from thirty_runs import ACCURACIES, REFERENCE, SETS, Record, Runs, compared, judged, record, reference
from thirty_scenes import SCENES

from contactsim.contact_dynamics.engines import PYTHON, chosen

QUICK = {
    "anymal-askew",
    "ball-on-a-shaken-hill",
    "billiard-balls",
    "biped-demo",
    "box-falls-on-a-corner",
    "energetic-rod",
    "four-bar-turns",
    "painleve-rod",
    "poisson-ball",
    "rimless-wheel",
    "slip-model",
    "too-many-bounces",
    "two-corners-at-once",
}
SPAN = (0.0, 1.0)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SCENES]
)
def test_a_run_is_what_it_was(name: str) -> None:
    """A compiled engine rounds otherwise and takes other steps where their error is rounding: its errors are told apart
    from the tolerance in tight runs only."""
    rtol = ACCURACIES[chosen(None) != PYTHON]
    verdict = compared(name, record(name, rtol), rtol)
    assert verdict.holds, f"{verdict.worst:g} times what is allowed: {verdict.where}"


def test_the_reference_is_whole() -> None:
    """Every scene, with both accuracies and under all kernels; at least twenty do not rattle."""
    assert set(SCENES) >= QUICK
    for rtol in ACCURACIES:
        runs = reference(rtol)
        assert sorted(one.kernels for one in runs) == sorted(SETS)
        assert all(list(one.records) == list(SCENES) for one in runs)
    steady = [
        name for name in SCENES if all(not compared(name, one.records[name], 1e-8).notes for one in reference(1e-8))
    ]
    assert len(steady) >= 20
    assert sum(path.stat().st_size for path in REFERENCE.iterdir()) < 3.5e6


# --- the program ------------------------------------------------------------------------------------------------------
def made(**numbers: float) -> Record:
    """A run with two events."""
    events = [[["a:OPEN>STICK"], ["a"], []], [["a:STICK>SLIP"], [], []]]
    own = {
        "time/0": 0.2,
        "time/1": 0.6,
        "after/0": 1.0,
        "after/1": 2.0,
        "state/3": 1.5,
        "state/12": 2.5,
        "matrix": 50.0,
    }
    return Record("FINISHED", events, numbers={key: np.array([value]) for key, value in {**own, **numbers}.items()})


def test_numbers_may_differ_by_the_base_or_by_ten_spreads() -> None:
    assert judged(made(), [made(), made()], SPAN).worst == 0.0
    near, far = made(matrix=50.0 + 4e-6), made(matrix=50.0 + 6e-6)
    assert judged(near, [made()], SPAN).holds and not judged(far, [made()], SPAN).holds
    spread = made(**{"state/3": 1.5 + 1e-8})
    found = judged(made(**{"state/3": 1.5 - 0.9e-7}), [made(), spread], SPAN)
    assert found.holds and found.worst == pytest.approx(0.9) and found.where == "state/3"
    assert found.spread == pytest.approx(10.0)
    assert not judged(made(**{"state/3": 1.5 - 1.2e-7}), [made(), spread], SPAN).holds
    assert not judged(made(**{"state/3": float("nan")}), [made()], SPAN).holds


def test_events_are_the_same_in_kind_and_order() -> None:
    other = copy.deepcopy(made())
    other.events[1][0] = ["a:STICK>OPEN"]
    assert "event 1" in judged(other, [made()], SPAN).where
    other.events.pop()
    assert "1 events, not 2" in judged(other, [made()], SPAN).where
    stopped = made()
    stopped.status = "FAILED"
    assert "FAILED" in judged(stopped, [made()], SPAN).where


def test_a_reference_that_parts_is_compared_up_to_there() -> None:
    other = copy.deepcopy(made(**{"state/12": 9.0, "after/1": 9.0, "matrix": 9.0}))
    other.events[1][0] = ["a:STICK>OPEN"]
    found = judged(other, [made(), copy.deepcopy(other)], SPAN)
    assert found.holds and "differ from event 1 on" in found.notes[0]
    third = copy.deepcopy(other)
    third.numbers["matrix"], third.numbers["state/12"] = np.array([0.0]), np.array([0.0])
    assert judged(third, [made(), other], SPAN).holds
    third.numbers["state/3"] = np.array([0.0])
    assert not judged(third, [made(), other], SPAN).holds


def test_files_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = Runs(
        1e-8, "Haswell", {"painleve-rod": record("painleve-rod", 1e-8), "rimless-wheel": record("rimless-wheel", 1e-8)}
    )
    runs.save(tmp_path / "new.npz")
    back = Runs.load(tmp_path / "new.npz")
    for name, own in runs.records.items():
        other = back.records[name]
        assert (own.status, own.events, own.refused, own.told) == (
            other.status,
            other.events,
            other.refused,
            other.told,
        )
        assert all(np.array_equal(own.numbers[key], other.numbers[key]) for key in own.numbers)
    assert thirty_runs.main(["compare", str(REFERENCE), str(tmp_path / "new.npz")]) == 0
    runs.records["rimless-wheel"].numbers["final"][0] += 1e-6
    runs.save(tmp_path / "broken.npz")
    assert thirty_runs.main(["compare", str(REFERENCE), str(tmp_path / "broken.npz")]) == 1
    assert "BROKEN final" in capsys.readouterr().out
