"""The spring-loaded inverted pendulum: a point mass that runs on a massless spring leg."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from contactsim import Boundary, Finding, InputError, InvalidStateError, Model, ModelParameters, ModelState, Transition
from contactsim.common.arrays import Array
from contactsim.common.drawing import (
    BLUE,
    DARK,
    GREEN,
    PINK,
    RED,
    Arrow,
    Drawing,
    Sphere,
    Spring,
    level,
    newton_per_metre,
)

ASCENT, DESCENT, COMPRESSION, DECOMPRESSION = CHARTS = ("ascent", "descent", "compression", "decompression")
STANCE = (COMPRESSION, DECOMPRESSION)
WEIGHT = 0.2  # of the leg's length: about how long an arrow of the weight is drawn
TRIPPED = "the foot cannot hold the ground, since the leg lengthens at touchdown; put the foot further ahead"
TOPPLED = "the body toppled over: its height fell below zero; begin higher or stiffen the leg"


class SlipParameters(ModelParameters):
    """The ten parameters of the manual under their names, and the policy that places the foot.

    Source: SimSect manual, 4.3.2 (names) and 4.3.4 (defaults).
    """

    body_mass: float = Field(50.48, gt=0.0, description="mass of the body [kg]")
    q_rt: float = Field(1.0, gt=0.0, description="length of the leg at touchdown [m]")
    q_rl: float = Field(1.0, gt=0.0, description="length of the leg at lift-off [m]")
    g_stance: float = Field(10.0, description="gravity in stance [m/s^2]")
    g_flight: float = Field(10.0, gt=0.0, description="gravity in flight [m/s^2]")
    framerate: float = Field(120.0, gt=0.0, description="pictures a second of the visualization [1/s]")
    q_0: float = Field(1.0, gt=0.0, description="length of the leg at which the spring holds no energy [m]")
    spri: float = Field(1.0, ge=1.0, description="outer exponent i of the spring law, a whole number")
    sprj: float = Field(-2.0, description="inner exponent j of the spring law, not zero")
    k: float = Field(1000.0, ge=0.0, description="constant of the spring [J / m^(i j)]")
    policy: Literal["neutral", "constant"] = Field(
        "neutral", description="touchdown angle: that of the last lift-off, mirrored, or the one of the start"
    )

    @model_validator(mode="after")
    def _spring_is_defined(self) -> SlipParameters:
        if self.sprj == 0.0:
            raise ValueError("sprj is 0; give another exponent")
        if self.spri != int(self.spri):
            raise ValueError("spri is no whole number; a leg that is longer than q_0 would have no force")
        return self


class SlipState(ModelState):
    """Body, foot and the next touchdown angle.

    Source: SimSect manual, 4.3.1 (names) and 4.3.4 (defaults).
    """

    x: float = Field(0.0, description="place of the body along the ground [m]")
    y: float = Field(0.9, description="height of the body [m]")
    xdot: float = Field(1.0, description="speed along the ground [m/s]")
    ydot: float = Field(0.0, description="speed upwards [m/s]")
    footx: float = Field(0.0, description="place of the foot, in stance [m]")
    footy: float = Field(0.0, description="height of the foot, in stance [m]")
    touchdown_angle: float = Field(0.0, description="angle of the leg at touchdown, positive with the foot ahead [rad]")


class Slip(Model):
    """Spring-loaded inverted pendulum with state (x, y, x', y', footx, footy, touchdown_angle).

        flight:  x'' = 0,                          y'' = -g_flight
        stance:  x'' = -U'(r) sin(theta) / m,      y'' = -U'(r) cos(theta) / m - g_stance

    with r and theta of the body seen from the foot, r (sin(theta), cos(theta)) = (x - footx, y - footy), and the
    spring's energy

        U(r) = k / |i j| [-sgn(j) (r^j - q_0^j)]^i.

    The charts follow each other in a circle: "ascent" ends at the "apex" y' = 0, "descent" with the "touchdown" of the
    foot y = q_rt cos(touchdown_angle), "compression" at the "bottom" r' = 0, "decompression" with the "liftoff" at
    r = q_rl. Touchdown places the foot; lift-off chooses the next touchdown angle: theta there for the "neutral"
    policy, which makes strides symmetric, none other for the "constant" one.

    The manual's 4.1 measures the angle of the leg the other way, as `touchdown_angle` is measured.

    Source: SimSect manual, section 4.
    """

    Parameters = SlipParameters
    State = SlipState
    bookkeeping = ("footx", "footy", "touchdown_angle")

    # --- the motion -------------------------------------------------------------------------------------------

    def field(self, t: float, x: Array, chart: Hashable) -> Array:
        """Rates of x, y, x', y'."""
        placex, placey, xdot, ydot, footx, footy, _ = x.tolist()
        if chart not in STANCE:
            return np.array([xdot, ydot, 0.0, -self.parameters.g_flight, 0.0, 0.0, 0.0])
        legx, legy = placex - footx, placey - footy
        length = math.hypot(legx, legy)
        push = -self.slope(length) / (self.parameters.body_mass * length)
        return np.array([xdot, ydot, push * legx, push * legy - self.parameters.g_stance, 0.0, 0.0, 0.0])

    def jacobian(self, t: float, x: Array, chart: Hashable) -> Array:
        """D_x f (4, 7): in stance that of the push p(r) r, p = -U'(r) / (m r), by the body and by the foot."""
        matrix = np.zeros((4, 7))
        matrix[0, 2] = matrix[1, 3] = 1.0
        if chart in STANCE:
            legx, legy, length = _leg(x)
            leg = np.array([legx, legy]) / length
            along, slope = np.outer(leg, leg), self.slope(length)
            stiffness = self.curvature(length) * along + slope / length * (np.eye(2) - along)
            matrix[2:, :2] = -stiffness / self.parameters.body_mass
            matrix[2:, 4:6] = -matrix[2:, :2]
        return matrix

    def energy_of_spring(self, length: float) -> float:
        """U(r) [J] of a leg of this length [m]."""
        p = self.parameters
        return p.k / abs(p.spri * p.sprj) * self._strain(length) ** p.spri

    def slope(self, length: float) -> float:
        """U'(r) [N]: what shortens the leg; the negative of the spring's force."""
        p = self.parameters
        return -p.k * self._strain(length) ** (p.spri - 1.0) * length ** (p.sprj - 1.0)

    def curvature(self, length: float) -> float:
        """U''(r) [N/m]."""
        p = self.parameters
        i, j = p.spri, p.sprj
        bend = 0.0 if i == 1.0 else (i - 1.0) * abs(j) * self._strain(length) ** (i - 2.0) * length ** (2.0 * j - 2.0)
        return p.k * (bend - (j - 1.0) * self._strain(length) ** (i - 1.0) * length ** (j - 2.0))

    def _strain(self, length: float) -> float:
        """-sgn(j) (r^j - q_0^j), positive for a leg shorter than q_0."""
        p = self.parameters
        return math.copysign(1.0, p.sprj) * (p.q_0**p.sprj - length**p.sprj)

    # --- the charts -------------------------------------------------------------------------------------------

    def boundaries(self, chart: Hashable) -> Sequence[Boundary]:
        """The one boundary of each chart (manual, 4.2 and 4.3.7)."""
        p = self.parameters
        return {
            ASCENT: (Boundary("apex", lambda t, x: x[3], gradient=lambda t, x: np.eye(7)[3]),),
            DESCENT: (Boundary("touchdown", self._tip, gradient=self._tip_gradient),),
            COMPRESSION: (Boundary("bottom", _lengthening, side="below", gradient=_lengthening_gradient),),
            DECOMPRESSION: (
                Boundary("liftoff", lambda t, x: _leg(x)[2], p.q_rl, side="below", gradient=_length_gradient),
            ),
        }[str(chart)]

    def _tip(self, t: float, x: Array) -> float:
        """Height of the tip of the leg in flight [m]."""
        return x[1] - self.parameters.q_rt * math.cos(x[6])

    def _tip_gradient(self, t: float, x: Array) -> Array:
        return np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, self.parameters.q_rt * math.sin(x[6])])

    def reset(self, t: float, x: Array, chart: Hashable, fired: frozenset[Hashable]) -> Transition:
        """The next chart; touchdown places the foot, lift-off chooses the next touchdown angle (manual, 4.3.8).

        Raises:
            InvalidStateError: the leg lengthens at touchdown: lift-off would follow at once, and touchdown again.
        """
        after = CHARTS[(CHARTS.index(str(chart)) + 1) % len(CHARTS)]
        x, matrix = x.copy(), np.eye(7)
        if chart == DESCENT:
            sine, cosine = self.parameters.q_rt * math.sin(x[6]), self.parameters.q_rt * math.cos(x[6])
            x[4:6] = x[0] + sine, x[1] - cosine
            matrix[4] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, cosine]
            matrix[5] = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, sine]
            if _lengthening(t, x) > 0.0 and self.parameters.q_rt >= self.parameters.q_rl:
                raise InvalidStateError(f"{TRIPPED} (chart {chart}, t = {t:.9g} s)")
        elif chart == DECOMPRESSION and self.parameters.policy == "neutral":
            legx, legy, length = _leg(x)
            x[6] = math.atan2(legx, legy)
            matrix[6] = np.array([legy, -legx, 0.0, 0.0, -legy, legx, 0.0]) / length**2
        return Transition(x, after, derivative=lambda: matrix, still=True)

    # --- the start --------------------------------------------------------------------------------------------

    def initial_state(self, **values: Any) -> Array:
        """State at a start (7,); in stance, a foot that is not given is put where the leg meets the ground.

        The leg points along `touchdown_angle`: footx = x + y tan(touchdown_angle). The sign is the manual's in 4.3.5,
        and that with which its touchdown (4.3.8) places the foot; seen from the foot the leg's angle is the opposite.

        Raises:
            InputError: there is no such state, or its value is not a number.
        """
        x = super().initial_state(**values)
        if not {"footx", "footy"} & set(values) and self._tip(0.0, x) < 0.0:
            x[4] = x[0] + x[1] * math.tan(x[6])
        return x

    def start(self, t: float, x: Array) -> Transition:
        """The chart of a state: stance where the tip of a leg of length q_rt would lie below ground, else flight.

        The manual's `slip_InitPartition` decides between the charts of stance by (x x' + y y') / |(x, y)|, the rate of
        the body's distance from the origin; what counts is that of the leg's length, from the foot. It also replaces
        any foot that is given; here that is done by `initial_state` alone, so that a run may be begun in mid-stance.

        Raises:
            InputError: the foot that is given lies out of reach.

        Source: SimSect manual, 4.3.5, corrected.
        """
        if self._tip(t, x) >= 0.0:
            return Transition(x, ASCENT if x[3] > 0.0 else DESCENT)
        length = _leg(x)[2]
        if x[1] >= 0.0 and not 0.0 < length <= self.parameters.q_rl * (1.0 + 1e-12):
            raise InputError(
                f"the leg stands on the foot at ({x[4]:.6g}, {x[5]:.6g}) m and would be {length:.6g} m long, but it is"
                f" no longer than q_rl = {self.parameters.q_rl:g} m; let initial_state(...) place the foot"
            )
        return Transition(x, COMPRESSION if _lengthening(t, x) < 0.0 else DECOMPRESSION)

    def validate(self, t: float, x: Array, chart: Hashable) -> Sequence[Finding]:
        """The body must not fall below ground (manual, 4.3.10)."""
        return (Finding(TOPPLED, fatal=True),) if x[1] < 0.0 else ()

    # --- what is recorded -------------------------------------------------------------------------------------

    def record(self, t: float, x: Array, chart: Hashable) -> Mapping[str, float]:
        """Time, place and velocity of the body, and the energy; of six functions the manual fills in the first five."""
        return {"time": t, "x": x[0], "y": x[1], "xdot": x[2], "ydot": x[3], "energy": self.energy(x, chart)}

    def energy(self, x: Array, chart: Hashable) -> float:
        """Energy of the body and the spring [J]; constant where g_stance = g_flight and q_rt = q_rl = q_0."""
        p = self.parameters
        energy = 0.5 * p.body_mass * (x[2] ** 2 + x[3] ** 2)
        if chart in STANCE:
            return energy + p.body_mass * p.g_stance * x[1] + self.energy_of_spring(_leg(x)[2])
        return energy + p.body_mass * p.g_flight * x[1]

    def drawing(self, t: float, x: Array, chart: Hashable) -> Drawing:
        """Body, leg and foot, seen from the side; in flight the leg points where it will touch down.

        Source: SimSect manual, 4.3.11.
        """
        length, stands = self.parameters.q_rt, chart in STANCE
        body = np.array([x[0], 0.0, x[1]])
        reach = np.array([length * math.sin(x[6]), 0.0, -length * math.cos(x[6])])
        foot = np.array([x[4], 0.0, x[5]]) if stands else body + reach
        colour = GREEN if stands else RED
        scale = newton_per_metre(self.parameters.body_mass * max(self.parameters.g_stance, 1.0), WEIGHT * length)
        return Drawing(
            {
                "body": Sphere(body, 0.1 * length, BLUE),
                "leg": Spring(foot, body, 0.045 * length, colour=DARK),
                "foot": Sphere(foot, 0.025 * length, colour),
                "force": Arrow(foot, self._push(x, stands) / scale, 0.01 * length),
            },
            focus=(x[0], 0.0, 0.5 * length),
            caption=f"{chart} ({'stance' if stands else 'flight'})",
            legend={"flight": RED, "stance": GREEN, f"force, 1 m = {scale:g} N": PINK},
            ground=level,
            sight=(0.3, -1.0, 0.22),
        )

    def _push(self, x: Array, stands: bool) -> Array:
        """Force (3,) of the ground on the foot, which the massless leg hands on to the body [N]."""
        if not stands:
            return np.zeros(3)
        legx, legy, length = _leg(x)
        return -self.slope(length) / length * np.array([legx, 0.0, legy])


def _leg(x: Array) -> tuple[float, float, float]:
    """The body seen from the foot [m], and the length of the leg."""
    placex, placey, _, _, footx, footy, _ = x.tolist()
    legx, legy = placex - footx, placey - footy
    return legx, legy, math.hypot(legx, legy)


def _lengthening(t: float, x: Array) -> float:
    """Rate of the leg's length r' [m/s]."""
    legx, legy, length = _leg(x)
    return float(legx * x[2] + legy * x[3]) / length


def _length_gradient(t: float, x: Array) -> Array:
    legx, legy, length = _leg(x)
    return np.array([legx, legy, 0.0, 0.0, -legx, -legy, 0.0]) / length


def _lengthening_gradient(t: float, x: Array) -> Array:
    legx, legy, length = _leg(x)
    leg = np.array([legx, legy]) / length
    across = (x[2:4] - leg * (leg @ x[2:4])) / length
    return np.concatenate([across, leg, -across, [0.0]])
