"""Draws docs/laws.png: what the compliant laws of the shelf do, from simulations and against closed forms.

`python docs/laws.py` needs matplotlib (pip install -e ".[plot]") and takes about a minute.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import contactsim as cs
from contactsim.common import registry

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "laws")]

from builders import point_mass  # noqa: E402 - of the tests, which make the same runs
from test_hunt_crossley import bounce, hunt_crossley, restitution  # noqa: E402
from test_lugre import friction, independent, run, states, up_and_down  # noqa: E402

EXACT, DOTS = "#1f4e79", "#c8553d"


def draw_restitution(axes: plt.Axes) -> None:
    """Restitution of Hunt and Crossley's law over alpha v: closed form, its tangent, and bounces."""
    grid = np.linspace(0.0, 2.0, 100)
    axes.plot(grid, [restitution(1.5 * d) for d in grid], color=EXACT, label="first integral")
    axes.plot(grid, 1.0 - grid, color=EXACT, lw=0.7, ls="--", label="$1 - \\alpha v$")
    speeds = np.array([0.1, 0.4, 0.8, 1.3, 2.0])
    found = [bounce(hunt_crossley(damping=1.0), v, 1.0).final.v[2] / v for v in speeds]
    axes.plot(speeds, found, "o", color=DOTS, label="simulated")
    axes.set(xlabel="$\\alpha v$", ylabel="restitution", ylim=(0, 1.02), title="Hunt and Crossley")
    axes.legend(frameon=False)


def draw_presliding(axes: plt.Axes) -> None:
    """Friction of LuGre over the displacement below break-away."""
    times = np.linspace(0.0, 12.0, 600)
    x, v, z = states(run(up_and_down, 12.0), times)
    axes.plot(1e6 * x, friction(np.array([x, v, z]))[0], color=EXACT)
    axes.set(xlabel="displacement [µm]", ylabel="friction [N]", title="LuGre: presliding")


def draw_break_away(axes: plt.Axes) -> None:
    """Largest friction of LuGre over the rate at which the force grows."""
    rates = np.array([1, 2, 5, 10, 20, 35, 50], dtype=float)
    forces = []
    for rate in rates:
        times = np.linspace(0.0, 2.5 / rate, 2001)
        forces.append(friction(independent(lambda t, x, r=rate: r * t, times[-1])(times))[0].max())
    axes.plot(rates, forces, "o-", color=EXACT, mfc=DOTS, mec=DOTS)
    axes.set(xlabel="force rate [N/s]", ylabel="break-away force [N]", ylim=(0.9, 1.5), title="LuGre: break-away")


def draw_convergence(axes: plt.Axes) -> None:
    """Error of a landing under a damped spring against the rigid law over the stiffness."""
    start, span = cs.State([0, 0, 0], [1.0, 0, 0]), (0.0, 0.2)
    rigid = cs.simulate(cs.ContactSystem(point_mass()), start, span).final
    stiffness, errors = 10.0 ** np.arange(3, 7), []
    for k in stiffness:
        law = registry.load("contact_laws", "spring-damper")(stiffness=k, damping=2 * np.sqrt(k), slip_speed=1e-8)
        errors.append(np.abs(cs.simulate(cs.ContactSystem(point_mass(), law=law), start, span).final.q - rigid.q).max())
    axes.loglog(stiffness, errors, "o", color=DOTS)
    axes.loglog(stiffness, errors[0] * stiffness[0] / stiffness, color=EXACT, label="order 1")
    axes.set(xlabel="stiffness [N/m]", ylabel="error [m]", title="spring-damper: to the rigid law")
    axes.legend(frameon=False)


def main() -> None:
    """Draw the picture."""
    figure, axes = plt.subplots(1, 4, figsize=(15, 3.6), layout="constrained")
    for draw, part in zip((draw_restitution, draw_presliding, draw_break_away, draw_convergence), axes, strict=True):
        draw(part)
    figure.savefig(HERE / "laws.png", dpi=110)


if __name__ == "__main__":
    main()
