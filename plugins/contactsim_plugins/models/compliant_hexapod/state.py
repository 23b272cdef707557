"""The state of the compliant hexapod: its numbers by name, and the space they live in.

    x = [R_b (9, by rows), w_b (3), r_b (3), r_b' (3), f_i (6 x 3), f_i' (6 x 3), ref_i (6)]

all in the world frame. Tangent vectors have 54 numbers: a rotation vector in the world, R = exp(J(turn)) R_0, then the
rest in the same order.

Source: SimSect manual, 5.3.1 and 5.5.1.
"""

from __future__ import annotations

from math import cos, sin, sqrt

import numpy as np
from pydantic import Field, create_model

from contactsim import Manifold, ModelState
from contactsim.common.arrays import Array

from .geometry import rotation, skew
from .parameters import LEGS

ROTATION, SPIN, PLACE, SPEED = slice(0, 9), slice(9, 12), slice(12, 15), slice(15, 18)
FEET, FEET_RATE, REFERENCE = slice(18, 36), slice(36, 54), slice(54, 60)
SIZE, DIM = 60, 54
BEHIND = SIZE - DIM  # a number behind the rotation has its tangent direction so many places before it
TINY = 1e-100  # its square vanishes
CHART_RADIUS = 1.0  # rotation at which a new chart is started [rad]
SMALL = 1e-4  # angle below which the series of the inverse differential is used [rad]; its next term is 1e-11 of it


def _names() -> dict[str, str]:
    names = {f"R_{i}{k}": "body orientation" for i in (1, 2, 3) for k in (1, 2, 3)}
    names |= {f"w_{axis}": "angular velocity of the body [rad/s]" for axis in "xyz"}
    names |= {axis: "position of the body [m]" for axis in "xyz"}
    names |= {f"{axis}dot": "velocity of the body [m/s]" for axis in "xyz"}
    names |= {f"foot{i}_{axis}": f"position of toe {i} [m]" for i in range(LEGS) for axis in "xyz"}
    names |= {f"foot{i}_{axis}dot": f"velocity of toe {i} [m/s]" for i in range(LEGS) for axis in "xyz"}
    return names | {f"ref{i}": f"reference angle of hip {i} [rad]" for i in range(LEGS)}


NAMES = _names()
HexapodState = create_model(
    "HexapodState",
    __base__=ModelState,
    **{  # type: ignore[call-overload]
        name: (float | None, Field(None, description=f"{text}; left out: as the alternating tripod stands"))
        for name, text in NAMES.items()
    },
)


class BodyAndToes(Manifold):
    """SO(3) x R^51: the orientation with left increments in the world frame, the rest as it is."""

    size, dim = SIZE, DIM

    def integrate(self, x: Array, dx: Array) -> Array:
        """x (+) dx: exp(J(turn)) R, and sums."""
        out = np.empty(SIZE)
        np.add(x[9:], dx[3:], out=out[9:])
        turn = dx[:3]
        out[ROTATION] = (_rotation(*turn.tolist()) @ x[ROTATION].reshape(3, 3)).ravel() if turn.any() else x[ROTATION]
        return out

    def difference(self, x0: Array, x1: Array) -> Array:
        """x1 (-) x0: the rotation vector of R_1 R_0^T, and differences."""
        turn = x1[ROTATION].reshape(3, 3) @ x0[ROTATION].reshape(3, 3).T
        return np.concatenate([_logarithm(turn), x1[9:] - x0[9:]])

    def chart_rate(self, dx: Array, rate: Array) -> Array:
        """dexp^-1 of the turn on the angular velocity: w - a x w / 2 + c a x (a x w), the rest as it is."""
        ax, ay, az = dx[:3].tolist()
        wx, wy, wz = rate[:3].tolist()
        square = ax * ax + ay * ay + az * az
        if square == 0.0:
            return rate
        angle = sqrt(square)
        c = 1.0 / square - (1.0 + cos(angle)) / (2.0 * angle * sin(angle)) if angle > SMALL else 1.0 / 12.0
        px, py, pz = ay * wz - az * wy, az * wx - ax * wz, ax * wy - ay * wx
        out = rate.copy()
        out[:3] = (
            wx - 0.5 * px + c * (ay * pz - az * py),
            wy - 0.5 * py + c * (az * px - ax * pz),
            wz - 0.5 * pz + c * (ax * py - ay * px),
        )
        return out

    def within_chart(self, dx: Array) -> bool:
        """True where the body has turned less than CHART_RADIUS."""
        ax, ay, az = dx[:3].tolist()
        return ax * ax + ay * ay + az * az < CHART_RADIUS**2

    def bracket(self, rate: Array) -> Array:
        """ad(rate) (54, 54): with increments in the world frame, minus the cross product with the angular velocity."""
        out = np.zeros((DIM, DIM))
        out[:3, :3] = -skew(rate[:3])
        return out


def shifted(x: Array, steps: Array) -> Array:
    """States x (+) step (m, 60) of tangent vectors (m, 54), all at once."""
    turns = rotation(steps[:, :3]) @ x[ROTATION].reshape(3, 3)
    return np.hstack([turns.reshape(-1, 9), x[9:] + steps[:, 3:]])


def imaginary_steps(x: Array) -> Array:
    """States x (+) i TINY e (54, 60) along each tangent direction e: rates there have D f TINY as imaginary part."""
    steps = 1j * TINY * np.eye(DIM)
    turns = (np.eye(3) + skew(steps[:, :3])) @ x[ROTATION].reshape(3, 3)
    return np.hstack([turns.reshape(-1, 9), x[9:] + steps[:, 3:]])


def _rotation(ax: float, ay: float, az: float) -> Array:
    """exp(J(a)) of one rotation vector, in plain numbers: it is asked for at every evaluation of a field."""
    square = ax * ax + ay * ay + az * az
    angle = sqrt(square)
    if angle > SMALL:
        s, c = sin(angle) / angle, (1.0 - cos(angle)) / square
    else:
        s, c = 1.0 - square / 6.0, 0.5 - square / 24.0
    xy, xz, yz = c * ax * ay, c * ax * az, c * ay * az
    return np.array(
        [
            [1.0 - c * (ay * ay + az * az), xy - s * az, xz + s * ay],
            [xy + s * az, 1.0 - c * (ax * ax + az * az), yz - s * ax],
            [xz - s * ay, yz + s * ax, 1.0 - c * (ax * ax + ay * ay)],
        ]
    )


def _logarithm(R: Array) -> Array:
    """Rotation vector (3,) of a rotation matrix by less than half a turn."""
    axis = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine = float(np.linalg.norm(axis))
    angle = float(np.arctan2(sine, 0.5 * (np.trace(R) - 1.0)))
    return axis * (angle / sine) if sine > SMALL else axis * (1.0 + sine * sine / 6.0)
