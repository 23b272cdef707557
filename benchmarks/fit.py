"""Friction, restitution and mass from a measured run: exact derivatives against finite differences, like for like.

A ball, a box that tumbles and a leg of the hexapod, each measured 30 times with noise, all three parameters 30 per cent
off. `cs.fit` against scipy's `least_squares` with the same residuals, over the same growing parts of the measurements,
with the same bounds on its accuracy; only the derivative differs: forward differences of scipy's own choice of steps.
"Skipping" leaves out parts that are met already, as `cs.fit` does; "differences" fits all parts; and "bare" is one call
of `least_squares` on all measurements. Each line says whose sum of squares is how large: a search that ends early in a
poorer place was no quicker.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from common import line
from scipy.optimize import least_squares

import contactsim as cs
from contactsim.control.fit import FORESEEN, HORIZONS, ROUGH

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from measured_runs import Measured, ball, crate, leg

ACCURACY, MOST = 1e-8, 100
Array = np.ndarray


class Found(NamedTuple):
    """What a search found: the sum of squares there, its runs, and processor time [s]."""

    values: Array
    squares: float
    runs: int
    time: float


class Residuals:
    """Measured less computed; runs are counted, and one that stops is infinitely far off."""

    def __init__(self, known: Measured, times: Array, rows: Array) -> None:
        self.known, self.times, self.rows, self.runs = known, times, rows, 0
        self.count = len(times)

    def __call__(self, values: Array) -> Array:
        """All of them (N,)."""
        system, space = self.known.system, self.known.system.space()
        times, rows = self.times[: self.count], self.rows[: self.count]
        self.runs += 1
        try:
            for name, value in zip(self.known.names, values, strict=True):
                system = system.with_parameter(name, float(value))
            run = cs.simulate(system, self.known.start, (0.0, float(times[-1])))
        except cs.ContactSimError:
            return np.full(rows.shape[0] * space.dim, np.inf)
        return np.concatenate([space.difference(run.arc_at(t)(t), z) for t, z in zip(times, rows, strict=True)])


def by_differences(
    known: Measured, times: Array, rows: Array, shares: tuple[float, ...], skipping: bool = False
) -> Found:
    """scipy's search with its own differences, over growing parts of the measurements."""
    residuals, start = Residuals(known, times, rows), process_time()
    off = known.off()
    values = np.array([off.parameter(name) for name in known.names])
    met = 0
    for share in (*shares, 1.0):
        residuals.count, last = int(share * len(times)), share == 1.0
        if skipping and met and not last and foreseen(residuals(values), met, residuals.count):
            continue
        met = residuals.count
        accuracy = ACCURACY if last else ROUGH
        found = least_squares(
            residuals, values, x_scale="jac", xtol=accuracy, ftol=accuracy, gtol=accuracy, max_nfev=MOST
        )
        values = found.x
    return Found(values, 2.0 * float(found.cost), residuals.runs, process_time() - start)


def foreseen(missed: Array, fitted: int, count: int) -> bool:
    """Whether the mean square of what is new is not much larger than that of the first `fitted` of `count` rows."""
    old, new = missed[: fitted * len(missed) // count], missed[fitted * len(missed) // count :]
    return bool(np.mean(new**2) <= FORESEEN * np.mean(old**2))


def by_derivatives(known: Measured, times: Array, rows: Array) -> Found:
    """`cs.fit`."""
    start = process_time()
    fit = cs.fit(known.off(), known.names, times, rows, known.start, accuracy=ACCURACY, max_runs=MOST)
    values = np.array(list(fit.values.values()))
    return Found(values, float(fit.residuals @ fit.residuals), fit.runs, process_time() - start)


def main() -> None:
    """Three lines for each case, or for those that are named."""
    cases: dict[str, Callable[[], Measured]] = {"ball": ball, "box": crate, "leg": leg}
    for name in sys.argv[1:] or cases:
        known = cases[name]()
        times, rows = known.rows()
        by_derivatives(known, times, rows)  # what is imported and prepared on the way counts for neither
        ours = by_derivatives(known, times, rows)
        for title, shares, skipping in (
            ("differences", HORIZONS, False),
            ("differences, skipping", HORIZONS, True),
            ("bare differences", (), False),
        ):
            theirs = by_differences(known, times, rows, shares, skipping)
            apart = np.abs(ours.values / theirs.values - 1.0).max()
            measured = (
                f"{ours.time:.2f} / {theirs.time:.2f} s, {ours.runs} / {theirs.runs} runs; sum of squares"
                f" {ours.squares:.6g} / {theirs.squares:.6g}, values apart by {apart:.1e}"
            )
            line(f"fit of three parameters, {name}: derivatives / {title}", measured, ours.time / theirs.time, 1 / 3)


if __name__ == "__main__":
    main()
