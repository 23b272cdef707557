"""Controllers of the parts of a merged robot: one part's alone, and those of several parts together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..errors import InputError
from ..hybrid.manifold import Manifold
from .controllers import Controller, held, holds, no_parameter


@dataclass(frozen=True)
class PartPlace:
    """The place of a part in the coordinates of its world.

    Attributes:
        name: of the part.
        q, v: its places in a configuration and in a velocity of the world.
        space: its own configurations.
    """

    name: str
    q: slice
    v: slice
    space: Manifold


class PartController(Controller):
    """A controller that sees and drives one part of a world; nothing drives the others."""

    def __init__(self, part: PartPlace, own: Controller | None) -> None:
        if own is None:
            raise InputError(f"the controller of part '{part.name}' is None; leave it out")
        own = held(own, part.v.stop - part.v.start) or own
        self._part, self._own = part, own
        self.memory, self.period = own.memory, own.period

    def __repr__(self) -> str:
        return f"{self._own!r} of {self._part.name}"

    def parameters(self) -> dict[str, float]:
        """Those of the part's controller."""
        return self._own.parameters()

    def with_parameter(self, name: str, value: float) -> PartController:
        """A copy with one parameter of the part's controller changed."""
        return PartController(self._part, self._own.with_parameter(name, value))

    @holds
    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """That of the part; zero for the others."""
        total = np.zeros(len(v))
        total[self._part.v] = self._own.torque(t, q[self._part.q], v[self._part.v], z)
        return total

    def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Rate of the part's memory."""
        return self._own.rate(t, q[self._part.q], v[self._part.v], z)

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The part's sample, of as many numbers as its controller keeps."""
        return self._own.sample(t, q[self._part.q], v[self._part.v], z)

    def torque_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the part in its rows and columns."""
        result = np.zeros((len(v), 2 * len(v) + len(z)))
        result[self._part.v] = self._spread(self._own.torque_jacobian, t, q, v, z)
        return result

    def rate_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the part in its columns."""
        return self._spread(self._own.rate_jacobian, t, q, v, z)

    def sample_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """That of the part in its columns."""
        return self._spread(self._own.sample_jacobian, t, q, v, z)

    def _spread(self, function: Callable[..., Array], t: float, q: Array, v: Array, z: Array) -> Array:
        """A Jacobian of the part (rows, 2 nv_part + memory) in the columns of the world."""
        part, nv = self._part, len(v)
        own = function(t, q[part.q], v[part.v], z, part.space)
        size = part.v.stop - part.v.start
        result = np.zeros((len(own), 2 * nv + len(z)))
        result[:, part.v] = own[:, :size]
        result[:, nv + part.v.start : nv + part.v.stop] = own[:, size : 2 * size]
        result[:, 2 * nv :] = own[:, 2 * size :]
        return result


class JointControllers(Controller):
    """Several controllers at once: their forces add up. Those that are sampled share one period.

    Args:
        parts: {name: controller of the whole world}, each such as `Part.drive` returns, which holds its torque itself.

    Raises:
        InputError: two have different periods.
    """

    def __init__(self, parts: Mapping[str, Controller]) -> None:
        self._parts = dict(parts)
        periods = {own.period for own in parts.values() if own.period is not None}
        if len(periods) > 1:
            raise InputError(f"controllers are sampled at periods of {sorted(periods)} s; give them one period")
        self.period = next(iter(periods), None)
        ends = np.cumsum([0, *(own.memory for own in parts.values())])
        self.memory = int(ends[-1])
        self._places = [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def __repr__(self) -> str:
        return " and ".join(map(repr, self._parts.values()))

    def parameters(self) -> dict[str, float]:
        """Those of each part, as PART.NAME."""
        return {f"{part}.{name}": x for part, own in self._parts.items() for name, x in own.parameters().items()}

    def with_parameter(self, name: str, value: float) -> JointControllers:
        """A copy with one parameter changed."""
        part, _, rest = name.partition(".")
        if part not in self._parts:
            raise no_parameter(self, name)
        return JointControllers(self._parts | {part: self._parts[part].with_parameter(rest, value)})

    @holds
    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The sum of all forces."""
        return np.sum([own.torque(t, q, v, z[at]) for own, at in self._each()], axis=0)

    def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Rates of all memories."""
        return np.concatenate([own.rate(t, q, v, z[at]) for own, at in self._each()])

    def sample(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """The samples of those that are sampled; the memory of the others stays."""
        return np.concatenate([z[at] if own.period is None else own.sample(t, q, v, z[at]) for own, at in self._each()])

    def torque_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """The sum of theirs, each in the columns of its own memory."""
        total = np.zeros((len(v), 2 * len(v) + len(z)))
        for own, at in self._each():
            total += self._wide(own.torque_jacobian(t, q, v, z[at], space), at, len(v))
        return total

    def rate_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """Theirs below each other."""
        return np.vstack([self._wide(o.rate_jacobian(t, q, v, z[at], space), at, len(v)) for o, at in self._each()])

    def sample_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Manifold) -> Array:
        """Theirs below each other; the identity for memory that stays."""
        rows = []
        for own, at in self._each():
            still = np.hstack([np.zeros((own.memory, 2 * len(v))), np.eye(own.memory)])
            sampled = still if own.period is None else own.sample_jacobian(t, q, v, z[at], space)
            rows.append(self._wide(sampled, at, len(v)))
        return np.vstack(rows)

    def _each(self) -> list[tuple[Controller, slice]]:
        return list(zip(self._parts.values(), self._places, strict=True))

    def _wide(self, own: Array, at: slice, nv: int) -> Array:
        """Columns (2 nv + own memory) in those of all."""
        result = np.zeros((len(own), 2 * nv + self.memory))
        result[:, : 2 * nv] = own[:, : 2 * nv]
        result[:, 2 * nv + at.start : 2 * nv + at.stop] = own[:, 2 * nv :]
        return result
