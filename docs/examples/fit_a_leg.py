"""Friction, restitution and mass of a leg from a measured sweep: `python docs/examples/fit_a_leg.py`.

The left front leg of the hexapod hangs at a body that is held. Its motors sweep it over the ground: it bounces, slips
and stays. Its three joints are measured thirty times with noise; friction, restitution and the mass of the tibia are
30 per cent off at the start. At the end the mass of the coxa is asked for, too. It lies near its vertical axis and
changes little: its deviation is sixty times that of the tibia's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import contactsim_robots
import numpy as np
import pinocchio as pin

import contactsim as cs

PICTURE = Path(__file__).parents[1] / "fit_leg.png"
NAMES = ["contact.friction", "contact.restitution", "body.lf_tibia.mass"]
OFF = (1.3, 0.7, 1.3)
NOISE = 1e-3  # [rad]
START = cs.State([-0.4, -0.438, 1.811], [2.0, 0.0, 0.0])


def leg() -> cs.ContactSystem:
    """The leg with its motors as springs and dampers."""
    path = Path(contactsim_robots.__file__).parent / "hexapod.urdf"
    whole = cs.Robot.from_urdf(path, root="fixed", contacts=[]).model
    held = [k for k in range(1, whole.njoints) if not whole.names[k].startswith("lf_")]
    foot = cs.ContactPoint("lf_foot", offset=(0.02, 0.0, 0.0), friction=0.4, restitution=0.3, name="foot")
    robot = cs.Robot(pin.buildReducedModel(whole, held, pin.neutral(whole)), contacts=[foot], name="leg")
    sweep = cs.PD(robot, START.q + np.array([0.8, 0.3, 0.0]), kp=1.0, kd=0.03)
    return cs.ContactSystem(robot, controller=sweep, terrain=cs.terrain.Flat(height=-0.185))


def measured(system: cs.ContactSystem, times: np.ndarray) -> np.ndarray:
    """Angles of the joints with noise (T, 3)."""
    run, rng = cs.simulate(system, START, (0.0, float(times[-1]))), np.random.default_rng(0)
    return np.array([run(t).q for t in times]) + NOISE * rng.normal(size=(len(times), 3))


def identify(times: np.ndarray, names: list[str]) -> tuple[cs.ContactSystem, np.ndarray, cs.Fit]:
    """The leg as it was guessed, what was measured, and the fit."""
    true = leg()
    angles, guess = measured(true, times), true
    for name, factor in zip(names, OFF, strict=False):
        guess = guess.with_parameter(name, factor * true.parameter(name))
    fit = cs.fit(guess, names, times, angles, START, output=lambda state: state.q, sigma=NOISE)
    return guess, angles, fit


def draw(guess: cs.ContactSystem, times: np.ndarray, angles: np.ndarray, fit: cs.Fit, picture: Path) -> None:
    """Angles measured, guessed and fitted, and what is left."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (angle, left) = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
    grid = np.linspace(0.0, float(times[-1]), 300)
    before = cs.simulate(guess, START, (0.0, float(times[-1])))
    for k, name in enumerate(("yaw", "pitch", "knee")):
        (line,) = angle.plot(grid, [fit.trajectory(t).q[k] - START.q[k] for t in grid], label=name)
        angle.plot(grid, [before(t).q[k] - START.q[k] for t in grid], ":", color=line.get_color())
        angle.plot(times, angles[:, k] - START.q[k], ".", color=line.get_color(), markersize=4)
        left.plot(times, fit.residuals.reshape(len(times), -1)[:, k], ".", color=line.get_color())
    angle.set(xlabel="time [s]", ylabel="angle since the start [rad]", title="measured, guessed (dotted), fitted")
    angle.legend(fontsize=7)
    left.axhspan(-2.0, 2.0, color="0.9")
    left.set(xlabel="time [s]", ylabel="left over [deviations of the noise]")
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> cs.Fit:
    """Fit and draw; `small` looks for the mass alone, before the foot is on the ground."""
    times = np.linspace(0.01, 0.05, 6) if small else np.linspace(0.02, 0.4, 30)
    guess, angles, fit = identify(times, NAMES[2:] if small else NAMES)
    draw(guess, times, angles, fit, picture)
    for name, value in fit.values.items():
        print(f"{name:20} {value:.5f} +- {fit.deviations[name]:.5f}, in truth {leg().parameter(name):.5f}")
    print(f"{fit.runs} runs, {fit.derivatives} of them with derivatives. {fit.message}")
    if not small:
        more = identify(times, [*NAMES, "body.lf_coxa.mass"])[2]
        print(f"with the coxa's mass: {more.deviations['body.lf_coxa.mass']:.2g} kg uncertain; {more.message}")
    return fit


if __name__ == "__main__":
    main("--small" in sys.argv)
