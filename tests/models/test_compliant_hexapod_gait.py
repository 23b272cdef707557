"""Duty factors, hip torques and their plots against the list of events and the model's own record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from contactsim_plugins.models.compliant_hexapod import CompliantHexapod, gait, motor

import contactsim as cs
from contactsim.cli import command as cli

SUMS = 1e-12  # s, sums of the same numbers in another order
DUTY = 0.005  # of a period-1 gait: each stride has the same, after two seconds to half a per cent
CYCLE = 1.0  # s, t_c


@pytest.fixture(scope="module")
def run() -> cs.Trajectory:
    model, steps = CompliantHexapod(), cs.Tolerances(max_step=1.25e-3)
    return cs.simulate(model, model.initial_state(), (0.0, 3.2), integrator="RK4", tolerances=steps)


def standing(run: cs.Trajectory, leg: int, t0: float, t1: float) -> float:
    """Time for which a leg stands, from its events alone [s]."""
    stands = run.mode_at(0.0).stance[leg]
    since, total = 0.0, 0.0
    for event in run.events:
        change = event.transitions.get(f"leg{leg}")
        if change is not None:
            assert change[0] == ("stance" if stands else "flight")
            total += stands * max(min(event.time, t1) - max(since, t0), 0.0)
            stands, since = change[1] == "stance", event.time
    return total + stands * max(t1 - max(since, t0), 0.0)


@pytest.mark.parametrize("span", [(0.0, 3.2), (0.25, 0.9), (1.0, 3.0)])
def test_duty_factors_are_those_of_the_events(run: cs.Trajectory, span: tuple[float, float]) -> None:
    expected = [standing(run, leg, *span) / (span[1] - span[0]) for leg in range(6)]
    np.testing.assert_allclose(gait.duty_factors(run, span), expected, rtol=0, atol=SUMS)


def test_duty_factors_of_the_last_whole_cycles(run: cs.Trajectory) -> None:
    assert gait.whole_cycles(run) == (pytest.approx(0.2), 3.2)
    np.testing.assert_array_equal(gait.duty_factors(run), gait.duty_factors(run, gait.whole_cycles(run)))
    strides = [gait.duty_factors(run, (start, start + CYCLE)) for start in (1.2, 2.2)]
    np.testing.assert_allclose(strides[0], strides[1], rtol=0, atol=DUTY)
    assert (strides[1] > 0.6).all() and (strides[1] < 0.65).all()  # slow phase of 0.6 s, and a little before it


def test_duty_factor_of_a_leg_that_never_lands(run: cs.Trajectory) -> None:
    np.testing.assert_array_equal(gait.duty_factors(run, (0.0, 0.18)), [1.0, 0.0] * 3)
    assert gait.stances(run)[0][0] == (0.0, pytest.approx(0.3, abs=SUMS))


@pytest.mark.parametrize("span", [(1.0, 1.0), (-0.1, 1.0), (1.0, 3.3), (2.0, 1.0)])
def test_spans_that_are_none(run: cs.Trajectory, span: tuple[float, float]) -> None:
    with pytest.raises(cs.InputError, match="is empty or leaves the run"):
        gait.duty_factors(run, span)


def test_torques_stay_within_the_limits_of_the_motors(run: cs.Trajectory) -> None:
    found = gait.hip_torques(run)
    assert (found.lower <= found.torque).all() and (found.torque <= found.upper).all()
    assert (found.upper <= 3.0).all() and (found.lower >= -3.0).all()
    model = run.system
    record = model.auxiliary(run)
    for leg in range(6):
        np.testing.assert_array_equal(found.torque[:, leg], record[f"torque{leg}"])
        np.testing.assert_array_equal(found.current[:, leg], record[f"current{leg}"])
    np.testing.assert_array_equal(found.current, motor.armature_current(found.torque, model.parameters))
    assert (found.saturated > 0.0).all() and (found.saturated < 0.05).all()


def test_flat_limits_are_the_same_at_all_speeds() -> None:
    control = CompliantHexapod(torque_speed="flat").dynamics.control
    lower, upper = control.limits(np.linspace(-50.0, 50.0, 6))
    assert lower.tolist() == [-3.0] * 6 and upper.tolist() == [3.0] * 6
    linear = CompliantHexapod().dynamics.control
    lower, upper = linear.limits(np.array([-linear.no_load, 0.0, 0.5 * linear.no_load, linear.no_load]))
    np.testing.assert_allclose(upper, [3.0, 3.0, 1.5, 0.0], atol=SUMS)
    np.testing.assert_allclose(lower, [0.0, -3.0, -3.0, -3.0], atol=SUMS)


def test_plots_show_the_numbers(run: cs.Trajectory) -> None:
    figures = run.system.figures(run)
    assert list(figures) == ["gait", "torques", "currents"]
    (bars,) = figures["gait"].axes
    shown = [text.get_text() for text in bars.texts]
    assert shown == [f"{100 * duty:.1f} %" for duty in gait.duty_factors(run)]
    assert [len(bar.get_paths()) for bar in bars.collections] == [len(legs) for legs in gait.stances(run)]
    found = gait.hip_torques(run)
    drawn = {tuple(line.get_ydata()) for panel in figures["torques"].axes for line in panel.lines}
    assert drawn == {tuple(c) for part in (found.torque, found.lower, found.upper) for c in part.T}
    single, total = figures["currents"].axes
    assert len(single.lines) == 6
    np.testing.assert_array_equal(total.lines[0].get_ydata(), np.abs(found.current).sum(axis=1))


def test_plots_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "hexapod_forward.rc", "--time", "0.05", "--out", str(tmp_path), "--plots"]
    assert cli.execute(arguments) == 0
    for name in ("gait", "torques", "currents"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    for target in ("slip", "biped"):
        assert cli.execute(["run", target, "--time", "0.01", "--out", str(tmp_path / target), "--plots"]) == 0
        assert (tmp_path / target / "plot.png").read_bytes().startswith(b"\x89PNG")
