"""The woodpecker toy, whose bird pecks its way down a pole: `python docs/examples/woodpecker.py`.

A sleeve with play hangs on a pole, and a bird on a spring at the sleeve. The sleeve jams by friction, slips, falls and
is struck by the pole at its upper and lower end, as the bird is at its beak. Model and numbers are those of Glocker
(1995) and of Leine, van Campen and Glocker, "Nonlinear dynamics and modeling of various wooden toys with impact and
friction" (J. Vib. Control 9, 2003). While the sleeve jams, one number says all: how far the bird has swung. The
derivative of the way from one jam to the next, through all impacts and slips, is the one multiplier of the peck.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import contactsim as cs

PICTURE = Path(__file__).parents[1] / "woodpecker.png"
G = 9.81
SLEEVE, BIRD = (0.0003, 5e-9), (0.0045, 7e-7)  # masses [kg] and moments of inertia [kg m^2]
STIFFNESS = 0.0056  # of the spring [N m/rad]
TO_SPRING, TO_BIRD, BEAK = 0.010, 0.015, (0.0201, 0.02)  # from the sleeve, from the spring; of the beak [m]
SLEEVE_HEIGHT, SLEEVE_RADIUS, POLE = 0.0058, 0.0031, 0.0025  # half the height; radii [m]
START = cs.State([0.0, -0.1034, -0.2788], [-0.3411, 0.0, -7.4583])
PERIOD = 0.146  # s, about


def toy(restitution: float = 0.5, friction: float = 0.3) -> cs.ContactSystem:
    """q = (height [m], angles of sleeve and bird [rad]); `restitution` of the beak, the sleeve's ends have none."""
    (m, own), (bird, its) = SLEEVE, BIRD
    a, b = TO_SPRING, TO_BIRD
    mass = np.array(
        [
            [m + bird, bird * a, bird * b],
            [bird * a, own + bird * a * a, bird * a * b],
            [bird * b, bird * a * b, its + bird * b * b],
        ]
    )
    weight = -G * np.array([m + bird, bird * a, bird * b])
    spring = STIFFNESS * np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, -1.0, 1.0]])
    play = SLEEVE_RADIUS - POLE

    def gap(name: str, distance: float, normal: list[float], tangent: list[float], bounce: float) -> cs.Gap:
        n, t = np.array(normal), np.array([tangent])
        return cs.Gap(
            gap=lambda _, q: distance + n @ q,
            normal=lambda _, q: n,
            tangent=lambda _, q: t,
            friction=friction,
            restitution=bounce,
            name=name,
        )

    contacts = [
        gap("beak", a + b - BEAK[0] - POLE, [0.0, 0.0, -BEAK[1]], [1.0, a, b - BEAK[0]], restitution),
        gap("lower end", play, [0.0, SLEEVE_HEIGHT, 0.0], [1.0, SLEEVE_RADIUS, 0.0], 0.0),
        gap("upper end", play, [0.0, -SLEEVE_HEIGHT, 0.0], [1.0, SLEEVE_RADIUS, 0.0], 0.0),
    ]
    mechanism = cs.Mechanism(
        3,
        mass=lambda q: mass,
        force=lambda t, q, v: weight - spring @ q,
        contacts=contacts,
        potential=lambda q: float(0.5 * q @ spring @ q - weight @ q),
    )
    return cs.ContactSystem(mechanism)


def down_the_pole(height: float) -> Callable[[cs.State], cs.State]:
    """The symmetry of the toy: it pecks at any height as at this one."""
    return lambda state: cs.State(np.r_[height, state.q[1:]], state.v)


def peck(system: cs.ContactSystem) -> cs.PeriodicOrbit:
    """The peck that repeats itself, from the beak's last strike in a run."""
    run = cs.simulate(system, START, (0.0, 1.0))
    struck = [event for event in run.events if "beak" in event.transitions][-2].state_post
    return cs.find_periodic_orbit(system, struck, PERIOD, symmetry=down_the_pole(float(struck.q[0])))


def largest(orbit: cs.PeriodicOrbit) -> float:
    """The multiplier that is neither that along the orbit nor zero."""
    rest = np.delete(orbit.multipliers, np.argmin(np.abs(orbit.multipliers - 1.0)))
    return float(rest[np.argmax(np.abs(rest))].real)


def draw(orbit: cs.PeriodicOrbit, bounces: list[float], multipliers: list[float], picture: Path) -> None:
    """The bird's swing over one peck by what the sleeve does, the way down, and the multiplier."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    run = cs.simulate(orbit.system, orbit.x0, (0.0, 3.0 * orbit.period), record_period=1e-4)
    figure, (swing, way, bounce) = plt.subplots(1, 3, figsize=(11.0, 3.2), layout="constrained")
    modes = [run.mode_at(float(t)) for t in run.t]
    jams = np.array([cs.Mode.STICK in mode.values() for mode in modes])
    slides = np.array([cs.Mode.SLIP in mode.values() for mode in modes])
    for what, own, color in (
        ("falls", ~jams & ~slides, "C0"),
        ("slides", slides & ~jams, "C1"),
        ("jams", jams, "C2"),
    ):
        swing.plot(run.q[own, 2], run.v[own, 2], ".", color=color, markersize=2, label=f"the sleeve {what}")
        way.plot(run.t[own], 1e3 * (run.q[own, 0] - run.q[0, 0]), ".", color=color, markersize=2)
    swing.set(xlabel="angle of the bird [rad]", ylabel="its rate [rad/s]")
    swing.legend(fontsize=7, markerscale=4)
    way.set(xlabel="time [s]", ylabel="height [mm]")
    bounce.plot(bounces, multipliers, ".-")
    bounce.axhline(-1.0, color="grey", linewidth=0.8)
    bounce.set(xlabel="restitution of the beak", ylabel="multiplier of a peck")
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> cs.PeriodicOrbit:
    """Find the peck, and how its multiplier changes with the beak; `small` looks at one beak."""
    bounces = [0.5] if small else [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7]
    orbits = [peck(toy(bounce)) for bounce in bounces]
    orbit = orbits[bounces.index(0.5)]
    fall = orbit.x0.q[0] - cs.simulate(orbit.system, orbit.x0, (0.0, orbit.period)).final.q[0]
    print(f"a peck takes {orbit.period:.6f} s and {1e3 * fall:.3f} mm; its multiplier is {largest(orbit):.6f}")
    draw(orbit, bounces, [largest(one) for one in orbits], picture)
    return orbit


if __name__ == "__main__":
    main("--small" in sys.argv)
