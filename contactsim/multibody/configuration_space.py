"""The manifolds of a pinocchio model's configurations and of its states, with the exact rate in a chart of them.

Pinocchio's Jlog3 and Jlog6 lose digits between rotations of 1e-5 and 1e-2: they are off by up to 5e-9 there, which an
integrator at a tight tolerance takes for the motion's own roughness. With w a rotation vector and a = |w|,

    dexp^-1 = 1 + [w] / 2 + c [w]^2,    c = (1 - (a / 2) cot(a / 2)) / a^2 = 1/12 + a^2/720 + a^4/30240 + ...

on body velocities; and SE(3) is SO(3) over dual numbers, w + eps v with v the displacement: exact at every angle.
Source: Iserles, Munthe-Kaas, Norsett, Zanna, Lie-group methods, Acta Numerica 2000, eq. 2.46; Park and Bobrow 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, sqrt, tan
from typing import Any

import numpy as np
import pinocchio as pin

from ..common.arguments import numbers
from ..common.arrays import Array
from ..hybrid.manifold import Manifold
from .zero import SMALL_ANGLE

Triple = tuple[float, float, float]

MANY = 20  # free bodies from which on they are looked at in arrays
# Joints with charts of their own, and their first velocity that is a rotation's.
ROTATIONS = {"JointModelFreeFlyer": 3, "JointModelSpherical": 0, "JointModelPlanar": 2}
CHART_RADIUS = 1.0  # rotation at which a new chart is started [rad]; exp is singular only at 2 pi
SMALL = 0.25  # squared angle [rad^2] below which the series is taken, to rounding
# |B_2n| / (2n)! for n = 1, 2, ...: c = sum of them times a^(2n - 2)
SERIES = (
    1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
    3617 / 10670622842880000,
)  # fmt: skip
CROSS = np.zeros((3, 9))  # of the cross product: (w @ CROSS) is the matrix [w], row by row
CROSS[[2, 1, 2, 0, 1, 0], [1, 2, 3, 5, 6, 7]] = -1.0, 1.0, 1.0, -1.0, -1.0, 1.0
SLOPES = tuple(2 * n * SERIES[n] for n in range(1, len(SERIES)))  # likewise of c' / a
TERMS = [(SERIES[n], 2 * n * SERIES[n]) for n in range(len(SERIES) - 1, 0, -1)]  # of c, and of its slope


def dexp_coefficient(square: float) -> tuple[float, float]:
    """c and c' / a, by the squared angle."""
    if square < SMALL:
        c = slope = 0.0
        for term, rising in TERMS:
            c, slope = c * square + term, slope * square + rising
        return c * square + SERIES[0], slope
    angle = sqrt(square)
    cot = 1.0 / tan(0.5 * angle)
    c = (1.0 - 0.5 * angle * cot) / square
    return c, ((0.25 * angle * (1.0 + cot * cot) - 0.5 * cot) / square - 2.0 * c / angle) / angle


def spin_in_chart(w: Sequence[float], rate: Sequence[float]) -> Triple:
    """Rate (3,) of a rotation vector `w` (3,) at an angular velocity (3,) in body axes [rad/s]."""
    return twist_in_chart((0.0, 0.0, 0.0, *w), (0.0, 0.0, 0.0, *rate))[3:]


def twist_in_chart(motion: Sequence[float], rate: Sequence[float]) -> tuple[float, float, float, float, float, float]:
    """Rate (6,) of exponential coordinates (v, w) (6,) at a twist (linear, angular) (6,) in body axes."""
    vx, vy, vz, wx, wy, wz = motion
    lx, ly, lz, sx, sy, sz = rate
    c, slope = dexp_coefficient(wx * wx + wy * wy + wz * wz)
    slope *= vx * wx + vy * wy + vz * wz
    tx, ty, tz = wy * sz - wz * sy, wz * sx - wx * sz, wx * sy - wy * sx  # w x angular
    mx, my, mz = (  # w x linear + v x angular
        wy * lz - wz * ly + vy * sz - vz * sy,
        wz * lx - wx * lz + vz * sx - vx * sz,
        wx * ly - wy * lx + vx * sy - vy * sx,
    )
    ux, uy, uz = wy * tz - wz * ty, wz * tx - wx * tz, wx * ty - wy * tx  # w x (w x angular)
    return (
        lx + 0.5 * mx + c * (wy * mz - wz * my + vy * tz - vz * ty) + slope * ux,
        ly + 0.5 * my + c * (wz * mx - wx * mz + vz * tx - vx * tz) + slope * uy,
        lz + 0.5 * mz + c * (wx * my - wy * mx + vx * ty - vy * tx) + slope * uz,
        sx + 0.5 * tx + c * ux,
        sy + 0.5 * ty + c * uy,
        sz + 0.5 * tz + c * uz,
    )


def twists_in_chart(motion: Array, rate: Array) -> Array:
    """The same of many bodies at once (k, 6)."""
    w, pairs = motion[:, 3:], rate.reshape(-1, 2, 3).transpose(0, 2, 1)  # columns: linear, spin
    turn, shift = ((part @ CROSS).reshape(-1, 3, 3) for part in (w, motion[:, :3]))
    c, slope = _dexp_coefficients((w * w).sum(axis=1))
    slope = slope * (motion[:, :3] * w).sum(axis=1)
    once = turn @ pairs
    once[:, :, :1] += shift @ pairs[:, :, 1:]
    twice = turn @ once
    found = pairs + 0.5 * once + c[:, None, None] * twice
    found[:, :, 0] += c[:, None] * (shift @ once[:, :, 1:])[:, :, 0] + slope[:, None] * twice[:, :, 1]
    return found.transpose(0, 2, 1).reshape(-1, 6)


def _dexp_coefficients(square: Array) -> tuple[Array, Array]:
    """c and c' / a (k,), by the squared angles (k,)."""
    found = np.polynomial.polynomial.polyval(square, SERIES), np.polynomial.polynomial.polyval(square, SLOPES)
    for k in np.flatnonzero(square >= SMALL).tolist():
        found[0][k], found[1][k] = dexp_coefficient(float(square[k]))
    return found


class ConfigurationSpace(Manifold):
    """Configurations of a model: a Lie group, whose tangent vectors are written in the body frames.

    The inverse differential of its exponential map is exact.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.size, self.dim = model.nq, model.nv
        parts: dict[str, list[slice]] = {kind: [] for kind in (*ROTATIONS, "other")}
        rotations: list[int] = []
        self._turning: list[int] = []  # where (cos, sin) of joints that turn without end begin
        for joint in list(model.joints)[1:]:
            kind, part = joint.shortname(), slice(joint.idx_v, joint.idx_v + joint.nv)
            if kind in ROTATIONS or (joint.nv > 1 and joint.nq != joint.nv):
                parts[kind if kind in ROTATIONS else "other"].append(part)
                rotations += range(part.start + ROTATIONS.get(kind, 0), part.stop)
            elif joint.nq == 2 and joint.nv == 1:
                self._turning.append(joint.idx_q)
        self._free, self._spherical, self._planar, self._other = parts.values()
        self._groups = _groups(model)
        self._rotations = np.array(rotations, dtype=int)
        self._bodies = np.array([range(part.start, part.stop) for part in self._free], dtype=int).reshape(-1, 6)
        self._flat = not any(parts.values())

    def integrate(self, x: Array, dx: Array) -> Array:
        """Configuration reached from `x` (nq,) along `dx` (nv,)."""
        return pin.integrate(self._model, x, dx)

    def difference(self, x0: Array, x1: Array) -> Array:
        """Tangent vector (nv,) from `x0` to `x1`.

        Pinocchio's own logarithm of SE(2), from an arc cosine, is off by up to 1e-8; that of planar joints is ours.
        """
        out = pin.difference(self._model, x0, x1)
        for kind, i, k in self._groups:
            if kind == "JointModelPlanar":
                out[i : i + 3] = planar_difference(x0[k : k + 4].tolist(), x1[k : k + 4].tolist())
        return out

    @property
    def with_angles(self) -> int:
        """Length of a configuration that gives all joints that turn without end by their angles."""
        return self.size - len(self._turning)

    def with_pairs(self, q: Array) -> Array:
        """A configuration (nq,) from one that may give all joints that turn without end by their angles [rad].

        Such a joint has the coordinates (cos, sin). What has another length than with angles is returned as it is.
        """
        if not self._turning or q.shape != (self.with_angles,):
            return q
        starts = [first - k for k, first in enumerate(self._turning)]
        whole = np.insert(q, [first + 1 for first in starts], np.sin(q[starts]))
        whole[self._turning] = np.cos(q[starts])
        return whole

    def chart_rate(self, dx: Array, rate: Array) -> Array:
        """dexp^-1 of `dx` on the body velocity `rate`."""
        if self._flat:
            return rate
        out = rate.copy()
        if len(self._free) >= MANY:
            out[self._bodies] = twists_in_chart(dx[self._bodies], rate[self._bodies])
        for part in self._free if len(self._free) < MANY else ():
            out[part] = twist_in_chart(dx[part].tolist(), rate[part].tolist())
        for part in self._spherical:
            out[part] = spin_in_chart(dx[part].tolist(), rate[part].tolist())
        for part in self._planar:  # a motion in space, along x and y and about z
            (x, y, turn), (along, aside, spin) = dx[part].tolist(), rate[part].tolist()
            found = twist_in_chart((x, y, 0.0, 0.0, 0.0, turn), (along, aside, 0.0, 0.0, 0.0, spin))
            out[part] = found[0], found[1], found[5]
        if self._other:
            # d(x0 (+) dx) = J d(dx) in the body frame, J the right Jacobian of the exponential.
            jacobian = pin.dIntegrate(self._model, pin.neutral(self._model), dx[: self.dim], pin.ArgumentPosition.ARG1)
            for part in self._other:
                out[part] = np.linalg.solve(jacobian[part, part], rate[part])
        return out

    def within_chart(self, dx: Array) -> bool:
        """True if all rotations are smaller than CHART_RADIUS."""
        return self._flat or float(np.abs(dx[self._rotations]).max()) < CHART_RADIUS

    def bracket(self, rate: Array) -> Array | None:
        """The ad (nv, nv) of SE(3), SO(3) and SE(2) at body velocities, block by block; None where all commute."""
        if not self._groups:
            return None
        out = np.zeros((self.dim, self.dim))
        for kind, i, _ in self._groups:
            if kind == "JointModelPlanar":
                x, y, spin = rate[i : i + 3].tolist()
                out[i, i + 1], out[i, i + 2], out[i + 1, i], out[i + 1, i + 2] = -spin, y, spin, -x
            elif kind == "JointModelSpherical":
                out[i : i + 3, i : i + 3] = pin.skew(rate[i : i + 3])
            else:
                turn = pin.skew(rate[i + 3 : i + 6])
                out[i : i + 3, i : i + 3] = out[i + 3 : i + 6, i + 3 : i + 6] = turn
                out[i : i + 3, i + 3 : i + 6] = pin.skew(rate[i : i + 3])
        return out


class StateSpace(Manifold):
    """Configurations of a mechanism with velocities and memory."""

    def __init__(self, configurations: Manifold, nv: int, memory: int) -> None:
        self._configurations = configurations
        self._nq, self._nv = configurations.size, nv
        self.size, self.dim = configurations.size + nv + memory, configurations.dim + nv + memory

    def split(self, x: Array) -> tuple[Array, Array, Array]:
        """Configuration, velocity and memory in a plain state, views of it."""
        nq, end = self._nq, self._nq + self._nv
        return x[:nq], x[nq:end], x[end:]

    def integrate(self, x: Array, dx: Array) -> Array:
        """(q (+) dq, v + dv, z + dz)."""
        q = self._configurations.integrate(x[: self._nq], dx[: self._nv])
        return np.concatenate((q, x[self._nq :] + dx[self._nv :]))

    def difference(self, x0: Array, x1: Array) -> Array:
        """(q1 (-) q0, v1 - v0, z1 - z0)."""
        dq = self._configurations.difference(x0[: self._nq], x1[: self._nq])
        return np.concatenate([dq, x1[self._nq :] - x0[self._nq :]])

    def chart_rate(self, dx: Array, rate: Array) -> Array:
        """Rate of the chart coordinates: only those of the configuration are curved."""
        own = rate[: self._nv]
        curved = self._configurations.chart_rate(dx, own)  # of which it reads the first numbers
        if curved is not own:
            own[:] = curved
        return rate

    def within_chart(self, dx: Array) -> bool:
        """True while the configuration's chart is well conditioned."""
        return self._configurations.within_chart(dx[: self._nv])

    def bracket(self, rate: Array) -> Array | None:
        """That of the configurations at the velocity in `rate` (v, a, z'); velocities and memory commute."""
        own = self._configurations.bracket(rate[: self._nv])
        if own is None:
            return None
        out = np.zeros((self.dim, self.dim))
        out[: self._nv, : self._nv] = own
        return out


def with_pairs(space: Manifold, q: Array) -> Array:
    """A configuration of which joints that turn without end may be given by their angles; see `ConfigurationSpace`."""
    return space.with_pairs(q) if isinstance(space, ConfigurationSpace) else q


def whole(space: Manifold, name: str, given: Any, size: int = 0, more: str = "") -> Array:
    """A configuration (nq,) from one that may give all joints that turn without end by their angles.

    Raises:
        InputError: it has neither length, or holds what is no finite number.
    """
    nq = size or space.size
    if not isinstance(space, ConfigurationSpace):
        return np.asarray(numbers(nq, words=more or f"{nq} finite numbers, an array ({nq},)").check(name, given))
    short = space.with_angles
    fits = short if short != nq and hasattr(given, "__len__") and len(given) == short else nq
    kind = numbers(fits, words=more or f"{nq} finite numbers, an array ({nq},)")
    return space.with_pairs(np.asarray(kind.check(name, given), dtype=float))


def planar_difference(start: list[float], end: list[float]) -> tuple[float, float, float]:
    """Logarithm (x, y, angle) of the motion between two configurations (x, y, cos, sin) of a planar joint."""
    x0, y0, c0, s0 = start
    x1, y1, c1, s1 = end
    angle = atan2(c0 * s1 - s0 * c1, c0 * c1 + s0 * s1)
    along, across = c0 * (x1 - x0) + s0 * (y1 - y0), c0 * (y1 - y0) - s0 * (x1 - x0)
    half = angle / 2
    factor = half / tan(half) if abs(half) > SMALL_ANGLE else 1.0 - half * half / 3.0
    return factor * along + half * across, factor * across - half * along, angle


def _groups(model: Any) -> list[tuple[str, int, int]]:
    """Joints, and parts of composite joints, whose tangent vectors do not commute: (kind, first v, first q).

    Joints whose configuration is plain numbers (SphericalZYX, Universal, Ellipsoid) commute, whatever they move.
    """
    found: list[tuple[str, int, int]] = []

    def visit(joint: Any, v: int, q: int) -> None:
        kind = joint.shortname()
        if kind == "JointModelComposite":
            for part in joint.extract().joints:
                visit(part, v, q)
                v, q = v + part.nv, q + part.nq
        elif kind in ROTATIONS:
            found.append((kind, v, q))

    for i in range(1, model.njoints):
        visit(model.joints[i], model.joints[i].idx_v, model.joints[i].idx_q)
    return found
