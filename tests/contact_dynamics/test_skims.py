"""Skims of all depths, speeds and phases: none missed, none imagined; `.ci/long` runs 10,000 under three kernels."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import skims
from skims import SHARED, WRONG, Answer, Record, Run, answer, differences, judged, skim

import contactsim as cs

CHUNKS = 8  # of skims that share the flight of a robot
SEEDS = range(0, 96, 3)  # that show what the harness itself does
SETS = ("Haswell", "Nehalem")  # of kernels that every x86 processor of today runs
EXACT = 1e-12  # m, between two computations of a gap in closed form
FORMULA = 1e-9  # m, to which the engine's gap of a hill is the distance from it


@pytest.mark.parametrize(
    "chunk", [0, 1, 2, *(pytest.param(chunk, marks=pytest.mark.slow_in_python) for chunk in range(3, CHUNKS))]
)
def test_skims_are_caught_and_none_is_imagined(chunk: int) -> None:
    seeds = range(SHARED * chunk, SHARED * (chunk + 1))
    wrong = [f"{told}: {told.verdict} {told.note}" for seed in seeds if (told := answer(seed)).verdict in WRONG]
    assert not wrong, "\n".join(wrong)


def test_a_dip_over_waves_in_a_long_step_is_caught() -> None:
    """0.67 mm in a step of 0.4 s, whose ends and middle stay high above waves that nothing bounds."""
    assert answer(3759).verdict not in WRONG


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the sets of kernels are those of x86")
def test_sets_of_kernels_agree(tmp_path: Path) -> None:
    """The same problems are posed under each, to the last bit, and get the same answers."""
    files = [tmp_path / name for name in SETS]
    for file in files:
        command = [sys.executable, skims.__file__, "--count", str(SHARED), "--processes", "1", "--out", str(file)]
        subprocess.run(command, env=os.environ | {"OPENBLAS_CORETYPE": file.name}, capture_output=True, check=False)
    found = differences([Record.load(file) for file in files])
    assert not found, "\n".join(found)


# --- the harness ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", SEEDS)
def test_a_skim_is_as_deep_as_it_says(seed: int) -> None:
    """No gap at many times is below the least one, and the engine's own formula gives that one."""
    case = skim(seed)
    truth, radii = case.truth, case.body.radii
    times = np.linspace(0.0, case.end, 301)
    assert case.ground.gaps(times, case.body.centres(times), radii).min() >= truth.lowest - EXACT
    bottom = np.array([truth.bottom])
    centres = case.body.centres(bottom)
    own = case.ground.terrain.gaps(truth.bottom, centres[0], radii)
    assert np.min(own) == pytest.approx(truth.lowest, abs=FORMULA if case.ground.bend else EXACT)
    assert 0.9e-9 <= abs(truth.lowest) <= 1.1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_is_the_motion(seed: int) -> None:
    """A run with tight tolerances far above the ground passes where it says, and the first touch is at zero."""
    case = skim(seed)
    assert skims.integration_error(case, cs.Tolerances(rtol=1e-12, atol=1e-13)) < 1e-11
    if case.truth.touch is not None:
        gap = skims.gap_of(case.body, case.ground, case.truth.contact, case.truth.touch)
        assert gap == pytest.approx(0.0, abs=EXACT * max(1.0, case.truth.speed))


def test_a_spun_rod_touches_where_the_closed_form_says() -> None:
    case = next(case for seed in range(99) if (case := skim(seed)).label == "spun rod" and case.truth.touch)
    arm, spin = skims.size(case.body.offsets[0]), skims.size(case.body._turn())
    half = float(np.arccos(1.0 + case.truth.lowest / arm)) / spin
    assert case.truth.bottom - case.truth.touch == pytest.approx(half, rel=1e-3)


def test_verdicts() -> None:
    """What is said of a run that touches nothing, that touches in time, late or elsewhere, and that stops."""
    dip = next(case for seed in range(99) if (case := skim(seed)).truth.lowest < -1e-6)
    clear = next(case for seed in range(99) if (case := skim(seed)).truth.lowest > 1e-6)
    touch, name = dip.truth.touch, (dip.body.names[dip.truth.contact],)
    assert touch is not None
    said = [
        judged(dip, Run(), 1e-14),
        judged(dip, Run(touch, name), 1e-14),
        judged(dip, Run(touch + 1e-6, name), 1e-14),
        judged(dip, Run(touch, ("another",)), 1e-14),
        judged(dip, Run(stopped="why"), 1e-14),
        judged(dip, Run(), 1e-3),
        judged(clear, Run(), 1e-14),
        judged(clear, Run(touch, name), 1e-14),
    ]
    verdicts = ["missed", "right", "mistimed", "mistimed", "stopped", "either", "right", "imagined"]
    assert [verdict for verdict, _ in said] == verdicts


def test_two_answers_and_two_problems_are_told_apart(tmp_path: Path) -> None:
    told = Answer(3, "rod", "same", -1e-9, 1e-14, True, 0.1, "right")
    first = Record("Haswell", 1.0, (told,))
    first.save(tmp_path / "first")
    assert Record.load(tmp_path / "first") == first
    assert not differences([first, first])
    for other, sentence in ((replace(told, touched=False), "False under"), (replace(told, digest="b"), "another")):
        (found,) = differences([first, Record("Nehalem", 1.0, (other,))])
        assert sentence in found
