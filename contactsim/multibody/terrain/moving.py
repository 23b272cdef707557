"""Ground that moves as a whole: a paddle, a shaker, a lift."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ...common.arguments import REAL, TRIPLE, arguments, either, function, instance, number, optional
from ...common.lazy import dataclass
from ...common.user_calls import UserCall, real
from ...errors import InputError
from ..zero import AGREES
from .surface import Array, Growth, Surface, Terrain, Third, finite, unknown_parameter

# Steps of the differences of a motion that comes without derivatives [s]: the first that is fine enough, else the best.
STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
FINE = 1e-10  # error of its next derivative, as two orders of differences tell it [m/s, relative above 1 m/s; per s]
ROUGH = 1e-4  # the same, from which on a motion is said to be no smooth one
# Central differences at nine points: of first and second derivative of order 8, of the third of order 6 ...
WEIGHTS = np.array(
    [
        [1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280],
        [-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560],
        [-7 / 240, 3 / 10, -169 / 120, 61 / 30, 0.0, -61 / 30, 169 / 120, -3 / 10, 7 / 240],
    ]
)
# ... the first of order 6, and the middle value against those around it: nothing else sees a peak between these.
COARSER = np.array([0.0, -1 / 60, 3 / 20, -3 / 4, 0.0, 3 / 4, -3 / 20, 1 / 60, 0.0])
MIDDLE = np.array([1.0, -8.0, 28.0, -56.0, 70.0, -56.0, 28.0, -8.0, 1.0]) / 70.0
PIECES = 8  # of a step, in each of which a displacement is compared with its rates
SAMPLES = 5  # of the motion within a step
INSTANTS = (0.0, 0.37, 1.9)  # when they are compared [s]


class GroundMotion(ABC):
    """The displacement of a ground with three derivatives."""

    @abstractmethod
    def at(self, t: float) -> Array:
        """Displacement, velocity, acceleration and jerk (4, 3) [m, s]."""

    def contradiction(self, times: Array) -> str | None:
        """Where, at or between rising times [s], it is not what its rates say, in words; None: nowhere seen."""
        return None

    def parameters(self) -> dict[str, float]:
        """Numbers of the motion by name."""
        return {}

    def with_parameter(self, name: str, value: float) -> GroundMotion:
        """A copy with one number changed; `name` is one of `parameters`."""
        raise InputError(f"the motion of the ground has no parameter '{name}'; it has none")


@arguments(amplitude=TRIPLE, frequency=number("a positive number in Hz", gt=0.0), phase=REAL)
@dataclass(frozen=True)
class Oscillation(GroundMotion):
    """A harmonic motion, amplitude sin(2 pi frequency t + phase).

    Attributes:
        amplitude: (3,) [m].
        frequency: [Hz].
        phase: [rad].
    """

    amplitude: tuple[float, float, float]
    frequency: float
    phase: float = 0.0

    def at(self, t: float) -> Array:
        """Displacement, velocity, acceleration and jerk (4, 3)."""
        w = 2.0 * np.pi * self.frequency
        s, c = np.sin(w * t + self.phase), np.cos(w * t + self.phase)
        return np.outer([s, w * c, -(w**2) * s, -(w**3) * c], self.amplitude)

    def parameters(self) -> dict[str, float]:
        """amplitude_x, amplitude_y, amplitude_z [m], frequency [Hz], phase [rad]."""
        along = {f"amplitude_{axis}": float(a) for axis, a in zip("xyz", self.amplitude, strict=True)}
        return along | {"frequency": self.frequency, "phase": self.phase}

    def with_parameter(self, name: str, value: float) -> Oscillation:
        """A motion with one number changed."""
        if not name.startswith("amplitude_"):
            return replace(self, frequency=value) if name == "frequency" else replace(self, phase=value)
        x, y, z = (value if name == f"amplitude_{axis}" else a for axis, a in zip("xyz", self.amplitude, strict=True))
        return replace(self, amplitude=(x, y, z))


class Given(GroundMotion):
    """A displacement by a function of yours, and its velocity and acceleration; what is not given is differenced."""

    NAMES = ("displacement", "velocity", "acceleration")

    def __init__(self, *functions: Callable[[float], Any] | None) -> None:
        self.functions = {order: function for order, function in enumerate(functions) if function is not None}
        for order in (1, 2):
            if order not in self.functions:
                continue
            below = max(known for known in self.functions if known < order)
            for t in INSTANTS:
                rate, differenced = self._value(order, t), self._rates(below, t)[0][order - below - 1]
                if np.abs(rate - differenced).max() > AGREES * max(1.0, float(np.abs(differenced).max())):
                    name = self.NAMES[order]
                    raise InputError(
                        f"the {name} of the ground at t = {t} s is {rate}, and {differenced} by differences"
                    )

    def at(self, t: float) -> Array:
        """Displacement, velocity, acceleration and jerk (4, 3)."""
        found = np.empty((4, 3))
        for order in self.functions:
            found[order] = self._value(order, t)
            if order + 1 not in self.functions:
                found[order + 1 :] = self._rates(order, t)[0][: 3 - order]
        return found

    def contradiction(self, times: Array) -> str | None:
        """The place at which a differenced function jumps or bends, or the displacement leaves the sum of its rates."""
        rough = [order for order in self.functions if order + 1 not in self.functions]
        for t in times.tolist():
            for order in rough:
                if self._rates(order, t)[1] > ROUGH:
                    return f"the {self.NAMES[order]} of the ground jumps or bends near t = {t:.9g} s; let it be smooth"
        for begin, end in pairwise(times.tolist()):
            if end - begin > STEPS[-1] and (found := self._leap(np.linspace(begin, end, PIECES + 1))):
                return found
        return None

    def _leap(self, times: Array) -> str | None:
        """The place at which the displacement leaves the sum of its rates between equidistant times."""
        h, motion = float(times[1] - times[0]), np.array([self.at(t) for t in times.tolist()])
        place, speed, change = motion[:, 0], motion[:, 1], motion[:, 2]
        told = 0.5 * h * (speed[1:] + speed[:-1]) - h**2 / 12.0 * np.diff(change, axis=0)  # to h^5 r^(5) / 720
        off = np.abs(np.diff(place, axis=0) - told).max(axis=1)
        worst = int(off.argmax())
        if off[worst] <= ROUGH * h * max(1.0, float(np.abs(speed).max())):
            return None
        return (
            f"between t = {times[worst]:.9g} and {times[worst + 1]:.9g} s the ground moves by {off[worst]:.2g} m"
            " more than its rates add up to: it jumps, bends or moves too fast to be seen; let it be smooth"
        )

    def _rates(self, order: int, t: float) -> tuple[Array, float]:
        """Three derivatives (3, 3) of the function of an order, and the error of the first as differences tell it."""
        rates, least = np.empty((3, 3)), np.inf
        for step in STEPS:
            values = np.array([self._value(order, t + k * step) for k in range(-4, 5)])
            found = WEIGHTS @ values / step ** np.arange(1.0, 4.0)[:, None]
            doubts = np.array([COARSER @ values / step - found[0], MIDDLE @ values / step])
            error = float(np.abs(doubts).max() / max(1.0, np.abs(found[0]).max()))
            if error < least:
                rates, least = found, error
            if error <= FINE:
                break
        return rates, least

    def _value(self, order: int, t: float) -> Array:
        with UserCall("the motion of the ground", self.NAMES[order], t):
            value = real(self.functions[order](t))
        return finite("the motion of the ground", np.array([0.0, 0.0, value]) if value.ndim == 0 else value, (3,))


MOTION = either(instance(GroundMotion, "an Oscillation"), function("a function of time"))


class Moving(Terrain):
    """A ground that moves as a whole: phi(t, c) = phi_0(t, c - r(t)), and its material moves along with r'.

    Args:
        ground: the ground as it is where r = 0.
        motion: an `Oscillation`, or t -> displacement r (3,) or, upwards, z [m].
        velocity, acceleration: t -> its rates, for a function; differenced where not given, else compared with that.

    Raises:
        InputError: the motion is none, or its rates contradict it.
    """

    moving = True

    @arguments(
        ground=instance(Terrain, "a Terrain such as Flat()"),
        motion=MOTION,
        velocity=optional(function("a function of time")),
        acceleration=optional(function("a function of time")),
    )
    def __init__(
        self,
        ground: Terrain,
        motion: GroundMotion | Callable[[float], Any],
        velocity: Callable[[float], Any] | None = None,
        acceleration: Callable[[float], Any] | None = None,
    ) -> None:
        self.ground = ground
        self.motion = motion if isinstance(motion, GroundMotion) else Given(motion, velocity, acceleration)
        self.oscillates = isinstance(self.motion, Oscillation) and not ground.moving

    def contradiction(self, times: Array) -> str | None:
        """That of its motion, or of the ground."""
        return self.motion.contradiction(times) or self.ground.contradiction(times)

    def plane(self) -> None:
        """None: it moves."""
        return None

    def constant_normal(self) -> Array | None:
        """That of the ground, which does not turn."""
        return self.ground.constant_normal()

    def stays_within(self, across: Array) -> bool:
        """As the ground itself does."""
        return self.ground.stays_within(across)

    def gaps(self, t: float, centres: Array, radii: Array) -> Array:
        """Distances (k,) from the ground where it is."""
        return self.ground.gaps(t, centres - self.motion.at(t)[0], radii)

    def growth(self, t: float, duration: float, radii: Array) -> Growth | None:
        """That of the ground, and that of its motion: between samples of it, as its next derivative there leads on."""
        there = self.ground.growth(t, duration, radii)
        if there is None:
            return None
        spacing = duration / (SAMPLES - 1)
        motion = np.array([self.motion.at(float(s)) for s in np.linspace(t, t + duration, SAMPLES)])
        _, speed, change, jerk = np.linalg.norm(motion, axis=2).max(axis=0)
        change += spacing * jerk
        speed += spacing * change
        return Growth(there.speed + speed, there.acceleration + change, there.curvature)

    def at_least(self, gaps: Array, radii: Array) -> Array:
        """As of the ground itself."""
        return self.ground.at_least(gaps, radii)

    def approach(self, t: float, centre: Array, radius: float) -> tuple[float, Array | None]:
        """That of the ground where it is; a fixed point moves by -r' against it."""
        place, speed, _, _ = self.motion.at(t)
        gap, gradient = self.ground.approach(t, centre - place, radius)
        if gradient is not None:
            gradient = gradient - np.array([gradient[1:] @ speed, 0.0, 0.0, 0.0])
        return gap, gradient

    def surface(self, t: float, points: Array) -> Surface:
        """The ground near points (k, 3)."""
        return self._moved(t, partial(self.ground.surface, t, points - self.motion.at(t)[0]))

    def near(self, t: float, centres: Array, radii: Array) -> Surface:
        """The ground near the centres of spheres."""
        return self._moved(t, partial(self.ground.near, t, centres - self.motion.at(t)[0], radii))

    def _moved(self, t: float, make: Callable[[], Surface]) -> Surface:
        """Chain rule along (t, c - r): a fixed point moves by -r' against the ground."""
        _, speed, change, _ = self.motion.at(t)
        there = make()
        along, hessian = there.normal_rate - there.hessian @ speed, there.hessian
        rate = there.distance_rate - there.normal @ speed
        acceleration = there.distance_acceleration - 2.0 * there.normal_rate @ speed
        acceleration += np.einsum("i,kij,j->k", speed, hessian, speed) - there.normal @ change
        drift = there.acceleration + change
        if there.velocity_gradient is not None:
            drift = drift - there.velocity_gradient @ speed
        return replace(
            there,
            distance_rate=rate,
            normal_rate=along,
            distance_acceleration=acceleration,
            velocity=there.velocity + speed,
            acceleration=drift,
        )

    def third(self, t: float, centres: Array, radii: Array) -> Third:
        """Third derivatives by the chain rule: with y_0 = (t, c - r), J = dy_0/dy, and y_0,tt = (0, -r'')."""
        place, speed, change, jerk = self.motion.at(t)
        there = self.ground.near(t, centres - place, radii)
        third, velocity = self.ground.third(t, centres - place, radii)
        j = np.eye(4)
        j[1:, 0] = -speed
        distance = np.einsum("kabc,ax,by,cz->kxyz", third, j, j, j)
        bend = np.zeros((4, 4, 4))
        bend[1:, 0, 0] = -change
        mixed = np.einsum("kab,axy,bz->kxyz", there.curvature, bend, j)
        distance += mixed + np.moveaxis(mixed, 3, 1) + np.moveaxis(mixed, 3, 2)
        distance[:, 0, 0, 0] -= there.normal @ jerk
        moved = np.einsum("kiab,ax,by->kixy", velocity, j, j)
        moved += np.einsum("kia,axy->kixy", there.velocity_change, bend)
        moved[:, :, 0, 0] += jerk
        return Third(distance, moved)

    def check_sphere(self, name: str, radius: float) -> None:
        """As the ground itself does."""
        self.ground.check_sphere(name, radius)

    def heights(self, t: float, points: Array) -> Array | None:
        """Heights (...,) of the ground where it is."""
        place = self.motion.at(t)[0]
        below = self.ground.heights(t, points - place[:2])
        return None if below is None else below + place[2]

    def displacement(self, t: float) -> Array:
        """That of the motion, and that of the ground."""
        return self.motion.at(t)[0] + self.ground.displacement(t)

    def parameters(self) -> dict[str, float]:
        """Those of the ground, and those of the motion."""
        return self.ground.parameters() | self.motion.parameters()

    def with_parameter(self, name: str, value: float) -> Moving:
        """A copy with a number of the ground or of the motion changed."""
        if name in self.motion.parameters():
            return Moving(self.ground, self.motion.with_parameter(name, value))
        if name not in self.ground.parameters():
            raise unknown_parameter(self, name)
        return Moving(self.ground.with_parameter(name, value), self.motion)
