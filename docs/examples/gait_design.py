"""A passive walker, its limits and better legs: `python docs/examples/gait_design.py`.

The compass gait of Goswami and others walks down a slope without a motor. How its walk moves with the slope, and how
fast disturbances die out, is told by derivatives of its step through heel strike. Followed along the slope, a
multiplier leaves through -1: from there on it limps. Then two numbers of its body are chosen, the mass at the hip and
where the mass of the legs is, so that disturbances die out faster.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import contactsim as cs

PICTURE = Path(__file__).parents[1] / "gait_design.png"
G, LEG, MASS = 9.81, 5.0, 1.0
START = np.array([-0.21877461798032, 0.32377461798032, 1.09286681058010, 0.37613459353077])  # behind a heel strike
PERIOD = 0.734460621336439  # [s]
BOUNDS = {"hip": (5.0, 20.0), "place": (0.25, 0.65)}  # [kg], [m]


@dataclass(frozen=True)
class Walker(cs.HybridSystem):
    """x = (stance, swing, rates): angles from the vertical [rad] of legs of 1 m with 5 kg each.

    Attributes:
        slope: of the ground [rad].
        hip: mass there [kg].
        place: of the mass of a leg below the hip [m].
    """

    slope: float = 0.0525
    hip: float = 10.0
    place: float = 0.5

    def flow(self, mode: str) -> cs.Flow:
        """There is one mode."""
        return Step(self)

    def start(self, t: float, x: np.ndarray) -> cs.Transition:
        """Any state is one of a step."""
        return cs.Transition(x, "step")

    def transition(self, t: float, x: np.ndarray, mode: str, fired: frozenset) -> cs.Transition:
        """Heel strike: angular momentum stays, of the walker about the new foot, of the old leg about the hip."""
        st, sw, st_rate, sw_rate = x
        a, b, c = 1.0 - self.place, self.place, np.cos(sw - st)
        walker = (self.hip * c + 2.0 * LEG * a * c - LEG * a * b) * st_rate - LEG * a * b * sw_rate
        matrix = [
            [self.hip + LEG * (a * a + 1.0 - b * c), LEG * (b * b - b * c)],
            [-LEG * b * c, LEG * b * b],
        ]
        rates = np.linalg.solve(matrix, [walker, -LEG * a * b * st_rate])
        return cs.Transition(np.r_[sw, st, rates], mode, {"legs": ("swing", "stance")})


class Step(cs.Flow):
    """Both legs between two heel strikes."""

    guard_names = ("heel",)

    def __init__(self, walker: Walker) -> None:
        self.walker = walker

    def field(self, t: float, x: np.ndarray) -> np.ndarray:
        """Rates of x: Lagrange's equations of both legs."""
        st, sw, st_rate, sw_rate = x
        hip, a, b = self.walker.hip, 1.0 - self.walker.place, self.walker.place
        c, s = np.cos(sw - st), np.sin(sw - st)
        coupling, whole, own = LEG * b, hip + LEG * (1.0 + a * a), LEG * b * b
        stance = G * (hip + LEG * (1.0 + a)) * np.sin(st) - coupling * s * sw_rate**2
        swing = -G * LEG * b * np.sin(sw) + coupling * s * st_rate**2
        det = whole * own - (coupling * c) ** 2
        return np.array(
            [
                st_rate,
                sw_rate,
                (own * stance + coupling * c * swing) / det,
                (whole * swing + coupling * c * stance) / det,
            ]
        )

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        """The swinging foot above the slope; where the legs pass each other it may scuff."""
        slope = self.walker.slope
        return np.array([max(2.0 * slope - x[0] - x[1], slope - x[0])])


def walk() -> cs.PeriodicOrbit:
    """The walk of the first body, begun in the middle of its step."""
    middle = cs.simulate(Walker(), START, (0.0, 0.2 * PERIOD)).final_x
    return cs.find_periodic_orbit(Walker(), middle, PERIOD)


def sizes(orbit: cs.PeriodicOrbit) -> np.ndarray:
    """Sizes of the multipliers but for that along the orbit, largest first."""
    rest = np.delete(orbit.multipliers, np.argmin(np.abs(orbit.multipliers - 1.0)))
    return np.sort(np.abs(rest))[::-1]


def decay(orbit: cs.PeriodicOrbit, steps: int, push: float = 0.02) -> np.ndarray:
    """Distance from the walk after each step of a walker whose stance leg was pushed."""
    start = orbit.x0 + push * np.array([0.0, 0.0, 1.0, 0.0])
    run = cs.simulate(orbit.system, start, (0.0, (steps + 1.5) * orbit.period))
    strikes = [event.x_post for event in run.events][: steps + 1]
    own = cs.simulate(orbit.system, orbit.x0, (0.0, 1.2 * orbit.period)).events[0].x_post
    return np.array([np.linalg.norm(x - own) for x in strikes])


def draw(
    branch: cs.OrbitBranch, before: cs.PeriodicOrbit, found: cs.StabilisedOrbit, steps: int, picture: Path
) -> None:
    """Multipliers along the slope, and how a push dies out with both bodies."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (slope, push) = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
    slope.plot(branch.values, [sizes(orbit) for orbit in branch.orbits], ".-", color="C0")
    for kind, value in branch.bifurcations:
        slope.axvline(value, color="C3", linestyle=":", label=f"{kind} at {value:.6f}")
    slope.axhline(1.0, color="grey", linewidth=0.8)
    slope.set(xlabel="slope [rad]", ylabel="sizes of the multipliers")
    slope.legend(fontsize=7)
    for orbit, words in ((before, "first body"), (found.orbit, "chosen body")):
        push.semilogy(decay(orbit, steps), ".-", label=f"{words}: {sizes(orbit)[0]:.3f} a step")
    push.set(xlabel="steps after a push", ylabel="distance from the walk")
    push.legend(fontsize=7)
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> cs.StabilisedOrbit:
    """Follow, choose and draw; `small` goes a short way in both."""
    orbit = walk()
    branch = cs.continue_orbit(orbit, Walker, "slope", (0.0525, 0.054 if small else 0.08))
    _, dT = branch.orbits[0].sensitivity("slope")
    print(f"a step takes {orbit.period:.4f} s, and {dT:+.3f} s more for each radian of slope; {branch.bifurcations}")
    found = cs.stabilise(
        orbit,
        BOUNDS,
        lambda hip, place: Walker(hip=hip, place=place),
        start=[10.0, 0.5],
        survey=0 if small else 5,
        max_steps=1 if small else 6,
    )
    print(f"largest multiplier {found.radii[0]:.4f} -> {found.radius:.4f} with {dict(found.values)}")
    draw(branch, orbit, found, 2 if small else 8, picture)
    return found


if __name__ == "__main__":
    main("--small" in sys.argv)
