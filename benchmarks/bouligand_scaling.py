"""How fast is the B-derivative of n simultaneous events, and how does its time grow with n?

1000 random directions in 24 dimensions, and one of them; the field is base + W b, as cheap as a function in Python can
be. Calling it is a part of the time that belongs to the user: it is taken again alone, on the sides that were visited.
Growth is the slope of log time over log n, fitted to all n. It is not even: while 2^n is below the number of directions
the sides visited double with each surface, and from there on each direction brings at most one side for each surface.
The last line gives the single times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from common import fastest, line

import numpy as np  # isort: skip - after common, which sets the number of threads

from contactsim.derivatives.saltation import bouligand

D, M, N = 24, 1000, 12
SIZES = (3, 4, 6, 8, 12, 16, 24)
Field = Callable[[np.ndarray], np.ndarray]


def problem(n: int) -> tuple[np.ndarray, Field]:
    """Normals (n, D), and a field with rates between 0.5 and 1.5 on all sides."""
    rng = np.random.default_rng(n)
    normals = np.eye(n, D) + 0.05 * rng.normal(size=(n, D))
    inverse = np.linalg.pinv(normals)
    base, W = inverse @ np.ones(n), inverse @ rng.uniform(-0.5 / n, 0.5 / n, (n, n))
    return normals, lambda b: base + W @ b


def visited(dx: np.ndarray, normals: np.ndarray, field: Field) -> list[np.ndarray]:
    """Sides on which the field is asked for."""
    sides: list[np.ndarray] = []

    def noted(b: np.ndarray) -> np.ndarray:
        sides.append(b)
        return field(b)

    bouligand(dx, normals, noted)
    return sides


def ask(field: Field, sides: list[np.ndarray]) -> list[np.ndarray]:
    """The calls of the field alone."""
    return [field(b) for b in sides]


def times(n: int, m: int) -> tuple[float, float, int]:
    """Seconds for m directions, seconds of them in the field, and how many sides were visited."""
    normals, field = problem(n)
    dx = np.random.default_rng(m).normal(size=(m, D))
    sides = visited(dx, normals, field)
    whole, asking = fastest([partial(bouligand, dx, normals, field), partial(ask, field, sides)])
    return whole, asking, len(sides)


def main() -> None:
    """One line for the time, and one for the growth of each number of directions."""
    results = {(n, m): times(n, m) for m in (M, 1) for n in SIZES}
    whole, asking, sides = results[N, M]
    measured = f"{sides} sides, field {1e3 * asking:.1f} ms ({asking / whole:.0%})"
    line(f"B-derivative, n = {N}, d = {D}, {M} directions", measured, 1e3 * whole, 100.0, " ms")
    for m in (M, 1):
        seconds = [results[n, m][0] for n in SIZES]
        exponent = float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])
        measured = f"{1e3 * seconds[0]:.2f} to {1e3 * seconds[-1]:.2f} ms, n = {SIZES[0]} to {SIZES[-1]}"
        name = f"{m} directions" if m > 1 else "one direction"
        line(f"B-derivative, {name}, growth with n", measured, exponent, 2.5, " (power)")
    single = [f"{n}: {1e3 * results[n, M][0]:.2f} ms, {results[n, M][2]} sides" for n in SIZES]
    print("\n" + "; ".join(single))


if __name__ == "__main__":
    main()
