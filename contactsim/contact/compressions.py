"""The equations of a compression in an impact without collision, and the ways in which one begins to grow.

With the penetrations d, the stiffness k of each contact and Lam = 0 at the start, as `jam` explains them,

    d' = -w_n,   Lam_n' = k d,   Lam_t' = -mu Lam_n' s,   s = w_t / |w_t|,   w = w(before) + G Lam,

each contact in its own state: those that stick have w_t' = 0, and in the plane a slip direction is held. A mode of the
linear part that grows as exp(r t) begins a way out of d = 0, along which (d, Lam) is a power series of a = exp(r t),

    y = y_1 a + y_2 a^2 + ...,   (k r - J) y_k = what lower orders leave of Lam_t',

since a' = r a, and a product of two series knows its last coefficient by those before it: the slip turns by what the
orders before have done to it.

Source: Cabre, Fontich, de la Llave, The parameterization method for invariant manifolds III, J. Differ. Equ. 218, 2005;
powers of series: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, I.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, islice

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple, scipy
from .linear_algebra import pseudo_inverse
from .problem import ContactProblem, Direction
from .zero import EDGE, REAL

MOST_SETS = 2000  # sets of contacts that are looked at for one that grows
CORRECTIONS = 20  # of the friction of resting contacts in a mode that grows
ORDERS = 12  # of the series along which a compression begins
RESOLVED = 1e-12  # share of the first order that the last ones may have where the series is left
AT_MOST = 0.5  # change of a slip velocity there, relative to the slip


class Growth(NamedTuple):
    """A way in which compressions grow.

    Attributes:
        depths: penetrations (n,).
        forces: (m,) that go with them.
        rate: they grow as exp(rate t).
        driven: whether finite forces begin it: they press along it.
    """

    depths: Array
    forces: Array
    rate: float
    driven: bool


class Rub(NamedTuple):
    """Friction of a contact: it sticks, or slips in a direction that is held, or else in that of its velocity."""

    sticks: bool
    direction: Direction = None


class Micro:
    """The equations of the compression: forces and motion of contacts with given penetrations, each in its state."""

    def __init__(self, problem: ContactProblem, stiffness: Array, rest: float) -> None:
        self.problem, self.stiffness, self.rest = problem, stiffness, rest
        self.count, self.normals = len(problem.dims), np.array(problem.starts, dtype=int)
        self._held: tuple[tuple[int, ...], Array] = ((), np.zeros((0, 0)))

    def slips(self, motion: Array, i: int) -> bool:
        """True where a contact with friction moves along the ground."""
        tangential = motion[self.problem.tangent(i)]
        return bool(self.problem.friction[i] > 0.0 and float(np.linalg.norm(tangential)) > 2.0 * self.rest)

    def forces(self, depths: Array, motion: Array, rubs: Mapping[int, Rub]) -> Array:
        """Lam' (m,), of the contacts in `rubs`, which compress."""
        problem, forces = self.problem, np.zeros(len(self.problem.free))
        for i, rub in rubs.items():
            n, t = problem.rows[i]
            forces[n] = self.stiffness[i] * depths[i]
            if rub.sticks:
                continue
            slip = motion[t] / float(np.linalg.norm(motion[t])) if rub.direction is None else rub.direction
            forces[t] = -problem.friction[i] * forces[n] * slip
        return self.held(forces, rubs)

    def jacobian(self, depths: Array, motion: Array, rubs: Mapping[int, Rub]) -> Array:
        """Derivative (n + m, n + m) of (d', Lam') by (d, Lam)."""
        problem, count = self.problem, self.count
        forces = np.zeros((len(problem.free), count + len(problem.free)))
        for i, rub in rubs.items():
            n, t = problem.rows[i]
            forces[n, i] = self.stiffness[i]
            if rub.sticks:
                continue
            slip, pull = rub.direction, problem.friction[i] * self.stiffness[i]
            if slip is None:
                speed = float(np.linalg.norm(motion[t]))
                slip = motion[t] / speed
                turns = (problem.delassus[t] - np.outer(slip, slip @ problem.delassus[t])) / speed
                forces[t, count:] = -pull * depths[i] * turns
            forces[t, i] = -pull * slip
        return np.vstack(
            [np.hstack([np.zeros((count, count)), -problem.delassus[self.normals]]), self.held(forces, rubs)]
        )

    def held(self, forces: Array, rubs: Mapping[int, Rub]) -> Array:
        """`forces` (m, ...) with those in the rows of what sticks that keep it at rest under the others."""
        sticking = [row for i, rub in rubs.items() if rub.sticks for row in self._tangential(i)]
        if sticking:
            if self._held[0] != tuple(sticking):
                self._held = tuple(sticking), pseudo_inverse(self.problem.delassus[np.ix_(sticking, sticking)])
            forces[sticking] = 0.0
            forces[sticking] = -self._held[1] @ (self.problem.delassus[sticking] @ forces)
        return forces

    def _tangential(self, i: int) -> range:
        tangent = self.problem.tangent(i)
        return range(tangent.start, tangent.stop)

    def rub_of(self, i: int, motion: Array) -> Rub:
        """Friction of a contact by its velocity; in the plane a slip direction is held, and at rest it sticks."""
        size = self.problem.dims[i] - 1
        if not size or not self.problem.friction[i] > 0.0:
            return Rub(False, np.zeros(size))
        if not self.slips(motion, i):
            return Rub(True)
        return Rub(False, np.sign(motion[self.problem.tangent(i)])) if size == 1 else Rub(False)

    # --- how a compression begins ---------------------------------------------------------------------------------

    def growing(self, motion: Array, drive: Array) -> Iterator[Growth]:
        """Modes that grow: contacts that compress each other ever more, and push others that touch off the ground."""
        touching = [i for i, n in enumerate(self.normals) if motion[n] <= self.rest]
        rubbing = {i for i in touching if self.slips(motion, i)}
        sets = (chosen for size in range(1, len(touching) + 1) for chosen in combinations(touching, size))
        for members in islice((chosen for chosen in sets if rubbing.intersection(chosen)), MOST_SETS):
            others = self.normals[[i for i in touching if i not in members]]
            yield from self._modes(list(members), others, motion, drive)

    def _modes(self, members: list[int], others: Array, motion: Array, drive: Array) -> Iterator[Growth]:
        """Modes of d'' = r^2 d with d > 0 for `members`, and for none that has its normal row among the `others`."""
        normals = self.normals[members]
        forces = self._forces_of(members, motion)
        if forces is None:
            return
        response = self.problem.delassus @ forces
        values, left, right = scipy.linalg.eig(-response[normals], left=True)
        for k, value in enumerate(values):
            if value.real <= EDGE or abs(value.imag) > REAL * abs(value):
                continue
            shape = right[:, k].real * np.sign(right[:, k].real.sum())
            if shape.min() <= EDGE or (response[others] @ shape).min(initial=0.0) < -EDGE:
                continue
            depths = np.zeros(self.count)
            depths[members] = shape
            pull = -(left[:, k].real @ drive[normals]) / (left[:, k].real @ shape)
            yield Growth(depths, forces @ shape, float(np.sqrt(value.real)), bool(pull > 0.0))

    def _forces_of(self, members: list[int], motion: Array) -> Array | None:
        """Forces (m, k) by unit penetrations of each member; None where those at rest find no friction for them."""
        problem, rubs = self.problem, {i: self.rub_of(i, motion) for i in members}
        for _ in range(CORRECTIONS):
            columns = [self.forces(unit, motion, rubs) for unit in np.eye(self.count)[members]]
            forces = np.array(columns).T
            values, _, right = scipy.linalg.eig(-(problem.delassus @ forces)[self.normals[members]], left=True)
            total = forces @ np.abs(right[:, int(np.argmax(values.real))].real)
            beyond = [i for i in members if rubs[i].sticks and self.margin(i, total) < 0.0]
            if not beyond:
                return forces
            for i in beyond:
                tangential = total[problem.tangent(i)]
                rubs[i] = Rub(False, -tangential / float(np.linalg.norm(tangential)))
        return None

    def margin(self, i: int, forces: Array) -> float:
        """Distance of the force of a contact from the edge of its cone."""
        n, t = self.problem.rows[i]
        return float(self.problem.friction[i] * forces[n] - np.linalg.norm(forces[t]))


class Beginning:
    """The series along which a compression begins: penetrations and impulses by the size a of its mode.

    Args:
        micro: the equations.
        way: the mode that grows.
        rubs: the friction of what compresses.

    Attributes:
        largest: size up to which the series is resolved, and no slip changes by more than half of itself.
    """

    def __init__(self, micro: Micro, way: Growth, rubs: Mapping[int, Rub]) -> None:
        self._micro, self._rubs = micro, rubs
        first = np.concatenate([way.depths, way.forces / way.rate])
        self._orders = [first]
        turning = {i: _UnitSeries(micro.problem.free[micro.problem.tangent(i)]) for i in rubs if self._turns(i)}
        if turning:
            self._extend(way.rate, turning)
        self.largest = min(self._resolved(), self._halfway())

    def at(self, size: float) -> Array:
        """(d, Lam) (n + m,) at a size of the mode."""
        return size ** np.arange(1, len(self._orders) + 1) @ np.array(self._orders)

    def _turns(self, i: int) -> bool:
        return not self._rubs[i].sticks and self._rubs[i].direction is None

    def _extend(self, rate: float, turning: Mapping[int, _UnitSeries]) -> None:
        micro, problem, eye = self._micro, self._micro.problem, np.eye(len(self._orders[0]))
        linear = micro.jacobian(np.zeros(micro.count), problem.free, self._rubs)
        for order in range(2, ORDERS + 1):
            change = problem.delassus @ self._orders[-1][micro.count :]
            left = np.zeros(len(problem.free))
            for i, slip in turning.items():
                t = problem.tangent(i)
                slip.append(change[t])
                # d_j s_(order - j): the series of the penetration begins at its first order
                turned = sum(self._orders[j - 1][i] * slip.unit[order - j] for j in range(1, order))
                left[t] = -problem.friction[i] * micro.stiffness[i] * turned
            right = np.concatenate([np.zeros(micro.count), micro.held(left, self._rubs)])
            self._orders.append(np.linalg.solve(order * rate * eye - linear, right))

    def _resolved(self) -> float:
        """Size at which the last orders have faded to nothing beside the first; infinite where there are no others."""
        parts = slice(0, self._micro.count), slice(self._micro.count, None)
        sizes = [
            (RESOLVED * np.abs(self._orders[0][part]).max() / largest) ** (1.0 / (order - 1))
            for order in range(ORDERS - 1, len(self._orders) + 1)
            for part in parts
            if (largest := float(np.abs(self._orders[order - 1][part]).max())) > 0.0
        ]
        return min(sizes, default=np.inf)

    def _halfway(self) -> float:
        micro, problem = self._micro, self._micro.problem
        change = problem.delassus @ self._orders[0][micro.count :]
        ratios = [
            float(np.linalg.norm(change[t]) / np.linalg.norm(problem.free[t]))
            for i, (_, t) in enumerate(problem.rows)
            if micro.slips(problem.free, i)
        ]
        return AT_MOST / max(ratios)


class _UnitSeries:
    """The series of a vector w = w_0 + w_1 a + ..., and of its direction w (w . w)^(-1/2).

    Args:
        start: w_0 (d_t,).

    Attributes:
        unit: coefficients (d_t,) of the direction.
    """

    def __init__(self, start: Array) -> None:
        size = float(np.linalg.norm(start))
        self._vectors, self._squares, self._powers = [start], [size * size], [1.0 / size]
        self.unit = [start / size]

    def append(self, vector: Array) -> None:
        """One more coefficient of the vector, and of its direction."""
        vectors, squares, powers = self._vectors, self._squares, self._powers
        vectors.append(vector)
        k = len(vectors) - 1
        squares.append(float(sum(vectors[j] @ vectors[k - j] for j in range(k + 1))))
        powers.append(sum((0.5 * j - k) * squares[j] * powers[k - j] for j in range(1, k + 1)) / (k * squares[0]))
        self.unit.append(sum((powers[j] * vectors[k - j] for j in range(1, k + 1)), powers[0] * vectors[k]))
