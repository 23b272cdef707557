"""Plots of a run of the compliant hexapod: its gait diagram, the torques of its hips, the currents of its motors.

Needs matplotlib: pip install 'contactsim[plot]'.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from contactsim.common.drawing import BLUE, DARK, LIGHT, ORANGE, RED

from .controller import TRIPODS
from .gait import HipTorques, duty_factors, hip_torques, stances, whole_cycles
from .motor import battery_life
from .parameters import LEGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from contactsim import Trajectory

BAR, SIZE = 0.6, (9.0, 3.4)  # height of a bar of the gait diagram, size of a figure [inch]
HOUR = 3600.0  # s


def plots(trajectory: Trajectory) -> Mapping[str, Figure]:
    """Figures by name: "gait" with duty factors, "torques" of the hips with their limits, "currents" of the motors."""
    torques = hip_torques(trajectory)
    return {"gait": gait(trajectory), "torques": hips(torques), "currents": currents(torques)}


def gait(trajectory: Trajectory) -> Figure:
    """A bar for each stance of each leg, with the duty factors of the last whole cycles; colours are the tripods."""
    figure, axes = _panels(1, 1, SIZE)
    panel = axes[0]
    duty, (t0, t1) = duty_factors(trajectory), whole_cycles(trajectory)
    for leg, intervals in enumerate(stances(trajectory)):
        bars = [(start, end - start) for start, end in intervals]
        panel.broken_barh(bars, (leg - 0.5 * BAR, BAR), color=BLUE if leg in TRIPODS[0] else ORANGE)
        panel.annotate(
            f"{100.0 * duty[leg]:.1f} %", (1.01, leg), xycoords=("axes fraction", "data"), va="center", color=DARK
        )
    panel.set(yticks=range(LEGS), yticklabels=[f"leg {leg}" for leg in range(LEGS)], xlabel="time [s]")
    panel.set_xlim(trajectory.arcs[0].t0, trajectory.arcs[-1].t1)
    panel.invert_yaxis()
    panel.set_title(f"stance of each leg; duty factors from {t0:.4g} to {t1:.4g} s", loc="left")
    return figure


def hips(found: HipTorques) -> Figure:
    """The torque of each hip between the limits that the motor has at its speed."""
    figure, axes = _panels(3, 2, (SIZE[0], 2.0 * SIZE[1]))
    for leg in range(LEGS):
        panel = axes[2 * (leg % 3) + leg // 3]
        panel.plot(found.t, found.upper[:, leg], found.t, found.lower[:, leg], color=RED, lw=0.8)
        panel.plot(found.t, found.torque[:, leg], color=BLUE, lw=1.0)
        share = 100.0 * found.saturated[leg]
        panel.set_title(f"leg {leg}: at its limit {share:.1f} % of the time", loc="left", fontsize="medium")
        panel.set_ylabel("torque [N m]")
    for panel in axes[-2:]:
        panel.set_xlabel("time [s]")
    figure.suptitle("hip torques (blue) and the limits of the motors (red)")
    return figure


def currents(found: HipTorques) -> Figure:
    """Armature current of each motor, and the sum of their sizes that the battery gives."""
    figure, (single, total) = _panels(2, 1, (SIZE[0], 1.6 * SIZE[1]))
    for leg in range(LEGS):
        colour = BLUE if leg in TRIPODS[0] else ORANGE
        single.plot(found.t, found.current[:, leg], color=colour, lw=0.8, alpha=0.5 + 0.25 * (leg // 2))
    single.set_title("armature currents (blue: legs 0, 2, 4; orange: legs 1, 3, 5)", loc="left")
    drawn = np.abs(found.current).sum(axis=1)
    total.plot(found.t, drawn, color=DARK, lw=1.0)
    life = battery_life(found.t, drawn) / HOUR
    total.set_title(f"sum of their sizes; at this pace a battery of 2.2 Ah lasts {life:.2f} h", loc="left")
    total.set_xlabel("time [s]")
    for panel in (single, total):
        panel.set_ylabel("current [A]")
    return figure


def _panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = list(np.ravel(figure.subplots(rows, columns, sharex=True)))
    for panel in axes:
        panel.grid(color=LIGHT, lw=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes
