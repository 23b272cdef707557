"""A ball and a box on level ground, in a world that may be turned and moved."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.laws import ContactLaw
from ..contact_dynamics.contact_system import ContactSystem, State
from ..multibody.contact_point import ContactPoint
from ..multibody.robot import Robot
from ..multibody.terrain import Plane

GRAVITY, UP = np.array([0.0, 0.0, -9.81]), np.array([0.0, 0.0, 1.0])
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class World:
    """A rotation, as a unit quaternion (x, y, z, w), and then a translation [m] of everything."""

    turn: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @cached_property
    def rotation(self) -> Array:
        """Matrix (3, 3)."""
        return Rotation.from_quat(self.turn).as_matrix()

    def carried(self, q: Array) -> Array:
        """A configuration (7,) of a free body in this world; its velocity, in the body's axes, stays."""
        turned = Rotation.from_quat(self.turn) * Rotation.from_quat(q[3:7])
        return np.concatenate([self.rotation @ q[:3] + np.array(self.shift), turned.as_quat()])


HOME = World()
ELSEWHERE = World((0.24, -0.32, 0.48, np.sqrt(1.0 - 0.24**2 - 0.32**2 - 0.48**2)), (3.0, -2.0, 1.5))


@dataclass(frozen=True)
class Scenario:
    """A body that is thrown onto the ground.

    Attributes:
        name: what it is called.
        body: "ball" or "box".
        height: of its lowest point above the ground [m].
        velocity: (6,) of its own axes, linear then angular [m/s, rad/s].
        tilt: unit quaternion (x, y, z, w) of the body.
        friction, restitution: coefficients of its contacts.
        duration: of the run under a rigid law [s].
        short: the same under a compliant one [s].
    """

    name: str
    body: str
    height: float
    velocity: tuple[float, ...]
    tilt: tuple[float, float, float, float]
    friction: float
    restitution: float
    duration: float
    short: float

    def start(self, law: ContactLaw, world: World = HOME) -> tuple[ContactSystem, State]:
        """The system and its state at the start."""
        robot = Robot.from_urdf(FOLDER / f"{self.body}.urdf", contacts=self._contacts())
        ground = Plane(np.array(world.shift), world.rotation @ UP, np.zeros(3))
        system = ContactSystem(robot, ground, law, gravity=world.rotation @ GRAVITY)
        resting = np.concatenate([np.zeros(3), np.array(self.tilt) / np.linalg.norm(self.tilt)])
        level = ContactSystem(robot, law=law)
        resting[2] += self.height - float(level.mechanism.gaps(0.0, resting).min())
        return system, State(world.carried(resting), np.array(self.velocity))

    def _contacts(self) -> list[ContactPoint]:
        given: Mapping[str, float] = {"friction": self.friction, "restitution": self.restitution}
        if self.body == "ball":
            return [ContactPoint("ball", radius=0.1, name="ball", **given)]  # type: ignore[arg-type]
        corners = [(0.2 * sx, 0.15 * sy, -0.1) for sx in (-1, 1) for sy in (-1, 1)]
        return [
            ContactPoint("box", offset=corner, name=f"corner {k}", **given)  # type: ignore[arg-type]
            for k, corner in enumerate(corners)
        ]


LEVEL, TILTED = (0.0, 0.0, 0.0, 1.0), (0.1, 0.05, 0.1, 1.0)
THROW = Scenario("a ball that bounces", "ball", 0.03, (2.5, 0.6, -1.0, 3.0, -2.0, 4.0), LEVEL, 0.2, 0.5, 0.3, 0.08)
TUMBLE = Scenario("a box that tumbles", "box", 0.02, (0.8, 0.2, -0.5, 0.3, -0.2, 0.5), TILTED, 0.3, 0.0, 0.3, 0.12)
SLIDE = Scenario("a box that slides", "box", 0.0, (1.0, 0.3, 0.0, 0.0, 0.0, 0.0), LEVEL, 0.5, 0.0, 0.3, 0.1)
SCENARIOS = (THROW, TUMBLE, SLIDE)
