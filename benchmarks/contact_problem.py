"""What do one impact and one choice of modes cost, against the number of contacts?

Two families: n feet of independent legs on one trunk (the Delassus matrix is regular), and n corners of one box
(redundant from the third on). Impacts are plastic, with friction 0.5, at random velocities that approach; modes are
chosen at rest under a random push, half of the contacts sliding in the first family. Each figure is the mean over a
few problems of the fastest of several rounds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from common import fastest, line
from contactsim_plugins.laws.poisson import Poisson

from contactsim.contact.impact import newton
from contactsim.contact.problem import ContactProblem
from contactsim.contact.stick_slip_choice import solve

COUNTS = (1, 2, 4, 8, 16, 32)
PROBLEMS = 6
FRICTION = 0.5
TARGET, TARGET_BOX = 5.0, 1.0  # ms, of 16 contacts and of a box on four corners
STEEP = 3.0  # largest power of n with which the cost may grow from 4 to 32 contacts


def rows_of(point: np.ndarray) -> np.ndarray:
    """Normal and tangential rows (3, 6) of a point of a free body."""
    x, y, z = point
    return np.array([[0, 0, 1, y, -x, 0], [1, 0, 0, 0, z, -y], [0, 1, 0, -z, 0, x]], dtype=float)


def points(n: int) -> np.ndarray:
    """Places (n, 3) on a circle under the centre."""
    angles = 2.0 * np.pi * np.arange(n) / n + 0.1
    return np.column_stack([0.4 * np.cos(angles), 0.3 * np.sin(angles), np.full(n, -0.2)])


def legs(n: int) -> np.ndarray:
    """Delassus matrix (3 n, 3 n) of n feet: the trunk moves all of them, each leg its own."""
    trunk = np.vstack([rows_of(p) for p in points(n)])
    return trunk @ np.diag(1 / np.array([5.0, 5.0, 5.0, 0.2, 0.3, 0.4])) @ trunk.T + 4.0 * np.eye(3 * n)


def corners(n: int) -> np.ndarray:
    """Delassus matrix of n points of one body, of rank 6 at most."""
    body = np.vstack([rows_of(p) for p in points(n)])
    return body @ np.diag(1 / np.array([2.0, 2.0, 2.0, 0.02, 0.03, 0.04])) @ body.T


def problem(delassus: np.ndarray, rng: np.random.Generator, body: bool, slide: bool) -> ContactProblem:
    """Contacts that approach on average; those of a body move as it does."""
    n = len(delassus) // 3
    if body:
        twist = np.concatenate([0.5 * rng.normal(size=2), [-1.5], 0.5 * rng.normal(size=3)])
        free = np.vstack([rows_of(p) for p in points(n)]) @ twist
    else:
        free = rng.normal(size=3 * n)
        free[::3] -= 0.7
    mu = np.full(n, FRICTION)
    sliding = [None] * n
    if slide:
        for i in range(0, n, 2):
            angle = rng.uniform(0, 2 * np.pi)
            sliding[i] = np.array([np.cos(angle), np.sin(angle)])
    return ContactProblem(delassus, free, (3,) * n, mu, mu, tuple(sliding))


def jobs(n: int, body: bool) -> list[list[Callable[[], object]]]:
    """For each question the jobs of its problems: an impact of Newton's law, one of Poisson's, a choice of modes."""
    rng = np.random.default_rng([1, n])
    matrix = corners(n) if body else legs(n)
    impacts = [problem(matrix, rng, body, False) for _ in range(PROBLEMS)]
    rests = [problem(matrix, rng, body, not body) for _ in range(PROBLEMS)]
    e = np.full(n, 0.3)
    return [
        [lambda p=p: newton(p, 0.0 * e) for p in impacts],
        [lambda p=p: Poisson().impact(p, e) for p in impacts],
        [lambda p=p: solve(p) for p in rests],
    ]


def main() -> None:
    """Time every family and print the table."""
    for body, family in ((False, "legs"), (True, "corners of a box")):
        costs = []
        for n in COUNTS:
            groups = jobs(n, body)
            times = fastest([job for group in groups for job in group], rounds=4)
            costs.append(1e3 * np.mean(np.reshape(times, (len(groups), PROBLEMS)), axis=1))
        table = np.array(costs)
        for k, question in enumerate(("an impact", "an impact by Poisson's law", "a choice of modes")):
            shown = ", ".join(f"{cost:.2f}" for cost in table[:, k])
            at = COUNTS.index(4 if body else 16)
            what = "4 corners" if body else "16 contacts"
            target = TARGET_BOX if body else TARGET
            line(f"{question}, {what}", f"{family}, n = 1 ... 32: {shown} ms", float(table[at, k]), target, " ms")
            power = float(np.log(table[-1, k] / table[2, k]) / np.log(8.0))
            line(f"{question}, {family}, growth", "n = 4 to 32", power, STEEP, " (power)")


if __name__ == "__main__":
    main()
