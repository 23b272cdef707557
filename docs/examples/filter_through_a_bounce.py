"""A Kalman filter follows a ball through its bounces: `python docs/examples/filter_through_a_bounce.py`.

Its height is measured with noise ten times a second. The covariance goes through the impacts by their saltation
matrices; beside it is a filter that takes the derivative of the reset alone, which does not know that another ball
lands at another time. Many runs with other starts and other noise say whether the errors are as large as the filters
believe: their normalised squares (NEES) are two in the mean, as the state has two numbers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import chi2

import contactsim as cs

PICTURE = Path(__file__).parents[1] / "filter_ball.png"
P0, NOISE = np.diag([0.02**2, 0.05**2]), 0.02  # of the start, and of a measured height [m]
MEAN = np.array([1.0, 0.0])  # height [m] and speed [m/s]
END, RATE = 1.6, 0.1  # [s]


class Followed(NamedTuple):
    """A run as a filter saw it.

    Attributes:
        estimates: height at each time (T,).
        deviations: what the filter thinks its error is (T,).
        errors: NEES at each time (T,).
    """

    estimates: np.ndarray
    deviations: np.ndarray
    errors: np.ndarray


def ball() -> cs.ContactSystem:
    """It falls, and keeps three quarters of its speed at each bounce."""
    gap = cs.Gap(lambda t, q: q[0], lambda t, q: np.ones(1), restitution=0.75, name="ball")
    weight = np.array([-9.81])
    return cs.ContactSystem(cs.Mechanism(n=1, mass=lambda q: np.eye(1), force=lambda t, q, v: weight, contacts=[gap]))


def follow(
    system: cs.ContactSystem, truth: cs.Trajectory, heights: np.ndarray, times: np.ndarray, kind: str
) -> Followed:
    """Predict and update at each time."""
    filt = cs.SaltedKalman(system, cs.State(MEAN[:1], MEAN[1:]), P0, events=kind)
    rows = []
    for t, height in zip(times, heights, strict=True):
        filt.predict(t)
        filt.update(height, lambda state: state.q, NOISE**2)
        rows.append((filt.state.q[0], np.sqrt(filt.P[0, 0]), float(filt.nees(truth))))
    return Followed(*np.array(rows).T)


def compare(runs: int, times: np.ndarray) -> tuple[cs.Trajectory, dict[str, list[Followed]]]:
    """The first truth, and what both filters made of each run."""
    rng, system = np.random.default_rng(0), ball()
    found: dict[str, list[Followed]] = {"salted": [], "reset": []}
    truths = []
    for _ in range(runs):
        start = MEAN + np.sqrt(np.diag(P0)) * rng.normal(size=2)
        truths.append(cs.simulate(system, cs.State(start[:1], start[1:]), (0.0, END)))
        heights = np.array([truths[-1](t).q for t in times]) + NOISE * rng.normal(size=(len(times), 1))
        for kind, rows in found.items():
            rows.append(follow(system, truths[-1], heights, times, kind))
    return truths[0], found


def draw(truth: cs.Trajectory, found: dict[str, list[Followed]], times: np.ndarray, picture: Path) -> None:
    """The first run, and NEES in the mean with its band."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (height, error) = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
    grid = np.linspace(0.0, END, 400)
    height.plot(grid, [truth(t).q[0] for t in grid], color="grey", label="ball")
    first = found["salted"][0]
    height.errorbar(times, first.estimates, 2.0 * first.deviations, fmt=".", label="estimate, two deviations")
    height.set(xlabel="time [s]", ylabel="height [m]")
    height.legend(fontsize=7)
    runs = len(found["salted"])
    low, high = chi2.ppf([0.025, 0.975], 2 * runs) / runs
    error.axhspan(low, high, color="0.9", label="95 % of consistent filters")
    for kind, words in (("salted", "saltation matrices"), ("reset", "derivative of the reset")):
        error.plot(times, np.mean([run.errors for run in found[kind]], axis=0), ".-", label=words)
    error.set(xlabel="time [s]", ylabel=f"NEES, mean of {runs} runs", yscale="log")
    error.legend(fontsize=7)
    figure.savefig(picture, dpi=120)
    plt.close(figure)


def main(small: bool = False, picture: Path = PICTURE) -> dict[str, list[Followed]]:
    """Follow and draw; `small` takes two runs and few measurements."""
    times = np.arange(RATE, 0.75 if small else END, RATE)
    truth, found = compare(2 if small else 40, times)
    draw(truth, found, times, picture)
    for kind, runs in found.items():
        mean = np.mean([run.errors for run in runs], axis=0)
        print(f"{kind:7} NEES in the mean {mean.mean():.2f}, at most {mean.max():.2f}; two are expected")
    return found


if __name__ == "__main__":
    main("--small" in sys.argv)
