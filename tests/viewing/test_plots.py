"""Figures: what is drawn is what the run holds; what cannot be drawn is told."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from builders import G, planar_mechanism, sphere

import contactsim as cs
from contactsim.errors import InputError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402 - behind the choice of the backend
from matplotlib.colors import to_hex  # noqa: E402

from contactsim.viewing import plots  # noqa: E402

LANDING = np.sqrt(2.0 * 0.05 / G)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def ball() -> cs.Trajectory:
    """It falls 5 cm, slips, and rolls."""
    system = cs.ContactSystem(sphere(friction=0.1))
    return cs.simulate(system, cs.State([0, 0, 0.15, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]), (0.0, 0.5))


def bars(axes: Any) -> list[tuple[float, float, str]]:
    """(start, end, colour) of the bars of a gait diagram."""
    found = []
    for group in axes.collections:
        for path, colour in zip(group.get_paths(), group.get_facecolor(), strict=False):
            x = path.vertices[:, 0]
            found.append((float(x.min()), float(x.max()), to_hex(colour)))
    return found


def test_a_robot_has_six_panels_and_its_modes_are_bars(ball: cs.Trajectory) -> None:
    figure = ball.plot()
    labels = ["", "gap [m]", "force [N]", "slip speed [m/s]", "impulse [N s]", "energy [J]"]
    assert [axes.get_ylabel() for axes in figure.axes] == labels
    moments = [0.0, *(event.time for event in ball.events), 0.5]
    colours = [plots.MODE_COLOURS[word] for word in ("open", "slip", "stick")]
    expected = list(zip(moments[:-1], moments[1:], colours, strict=True))
    for found, wanted in zip(bars(figure.axes[0]), expected, strict=True):
        assert found[:2] == pytest.approx(wanted[:2])
        assert found[2] == wanted[2]


def test_curves_are_the_values_of_the_run(ball: cs.Trajectory) -> None:
    gaps, forces, energy = ball.plot(["gaps", "forces", "energy"]).axes
    t, gap = gaps.lines[0].get_data()
    air = (t < LANDING) & np.isfinite(gap)
    assert gap[air] == pytest.approx(0.05 - G * t[air] ** 2 / 2, abs=1e-9)
    t, force = forces.lines[0].get_data()
    slips = (t > ball.events[0].time) & (t < ball.events[1].time) & np.isfinite(force)
    assert force[slips] == pytest.approx(np.full(slips.sum(), G * np.hypot(1.0, 0.1)))
    t, value = energy.lines[0].get_data()
    assert value[0] == pytest.approx(0.5 + G * 0.15)
    assert np.isnan(value).sum() == len(ball.arcs)  # the curve is broken where the energy jumps
    assert ball.energy(ball.events[0].time, "-") - ball.energy(ball.events[0].time) > 0.4


def test_what_lasts_a_millisecond_has_a_bar_of_its_own_and_a_contact_one_colour(ball: cs.Trajectory) -> None:
    figure = ball.plot()
    strip, gaps, forces, slip, impulses, _ = figure.axes
    slipping = [group for group in strip.collections if to_hex(group.get_facecolor()[0]) == plots.MODE_COLOURS["slip"]]
    assert slipping and all(group.get_linewidth()[0] >= 0.5 for group in slipping)  # points, however short it is
    shades = {to_hex(axes.lines[0].get_color()) for axes in (gaps, forces, slip)}
    shades |= {to_hex(line.get_color()) for line in impulses.lines if line.get_marker() == "o"}
    assert shades == {to_hex(strip.get_yticklabels()[0].get_color())}
    impacts = next(line for line in strip.lines if line.get_marker() == "v")
    assert impacts.get_xdata() == pytest.approx([LANDING])


def test_slip_is_the_speed_of_the_contact(ball: cs.Trajectory) -> None:
    (axes,) = ball.plot("slip").axes
    t, speed = axes.lines[0].get_data()
    slips = (t > ball.events[0].time) & (t < ball.events[1].time) & np.isfinite(speed)
    # A sphere that slips slows down by mu g and is spun up by 5 mu g / 2: its point of contact slows by 7 mu g / 2.
    expected = speed[slips][0] - 3.5 * 0.1 * G * (t[slips] - t[slips][0])
    assert speed[slips] == pytest.approx(expected, abs=1e-7)


def test_impulses_and_events_stand_at_their_times(ball: cs.Trajectory) -> None:
    (axes,) = ball.plot("impulses").axes
    stem = next(line for line in axes.lines if line.get_marker() == "o")
    times, sizes = stem.get_data()
    assert times == pytest.approx([LANDING])
    assert sizes == pytest.approx([G * LANDING * np.hypot(1.0, 0.1)])
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_marker() != "o"]
    assert marks == [event.time for event in ball.events]


def test_mechanisms_and_models_are_drawn() -> None:
    corners = {"left": (-0.5, -0.2), "right": (0.5, -0.2)}
    system = cs.ContactSystem(planar_mechanism(1.0, 0.1, corners, 0.3, 0.0))
    run = cs.simulate(system, cs.State([0, 0.25, 0.1], [0, 0, 0]), (0.0, 0.3))
    assert len(run.plot(["modes", "gaps", "forces", "energy"]).axes) == 4
    model = cs.load_model("slip")
    run = cs.simulate(model, model.initial_state(), (0.0, 1.0))
    modes, places, speeds, energy = run.plot().axes
    assert [label.get_text() for label in modes.get_yticklabels()] == plots._charts(run)
    assert [line.get_label() for line in places.lines][:2] == ["x", "y"]
    assert [line.get_label() for line in speeds.lines][:2] == ["xdot", "ydot"]
    assert (places.get_ylabel(), speeds.get_ylabel()) == ("states [m]", "states [m/s]")
    low, high = energy.get_ylim()
    assert high - low > 5.0  # an energy that is constant is drawn as a straight line, not as its rounding


def test_a_panel_that_is_not_there_is_told(ball: cs.Trajectory) -> None:
    with pytest.raises(
        InputError, match="no panel 'states' to plot; choose of modes, gaps, forces, slip, impulses, energy"
    ):
        ball.plot(["modes", "states"])


def test_without_matplotlib_it_is_one_sentence(ball: cs.Trajectory, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    for draw in (ball.plot, cs.linearize(ball).plot):
        with pytest.raises(
            InputError, match=r"figures need matplotlib; install it with: pip install 'contactsim\[plot"
        ):
            draw()


# --- linearizations ---------------------------------------------------------------------------------------------------
def test_growth_saltations_and_multipliers_are_those_of_the_linearization(ball: cs.Trajectory) -> None:
    lin = cs.linearize(ball)
    panels = {axes.get_ylabel(): axes for axes in lin.plot().axes}
    growth = panels[r"$\|D x(t) / D x(t_0)\|$"].lines[0].get_data()
    assert (growth[0][-1], growth[1][-1]) == (0.5, pytest.approx(np.linalg.norm(lin.matrix(), 2), rel=1e-6))
    k = int(np.searchsorted(growth[0], 0.05))
    assert growth[1][k] == pytest.approx(np.linalg.norm(lin.matrix(0.0, growth[0][k]), 2), rel=1e-6)
    stems = next(line for line in panels[r"$\|\Xi\|$ at events"].lines if line.get_marker() == "o")
    assert stems.get_ydata() == pytest.approx([np.linalg.norm(event.saltation, 2) for event in lin.events])
    dots = next(line for line in panels["imaginary"].lines if line.get_marker() == "o")
    found = np.sort_complex(dots.get_xdata() + 1j * dots.get_ydata())
    assert np.abs(found - np.sort_complex(np.linalg.eigvals(lin.matrix()))).max() < 1e-4  # of a matrix with equal ones


def test_growth_begins_anew_behind_several_pieces() -> None:
    from touchdowns import biped

    lin = cs.linearize(biped("switched-damping")[0].run())
    assert not lin.events[0].differentiable
    curves = [line for line in lin.plot().axes[0].lines if len(line.get_xdata()) > 2]
    assert len(curves) == 2
    assert curves[1].get_ydata()[0] == pytest.approx(1.0)
