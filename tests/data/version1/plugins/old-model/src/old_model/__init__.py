"""old-model: a model for contactsim, a hybrid system by name."""

from collections.abc import Hashable, Sequence

import numpy as np
from pydantic import Field

from contactsim import Boundary, Model, ModelParameters, ModelState, Transition


class OldModelParameters(ModelParameters):
    """What can be set with --set NAME=VALUE, and differentiated by."""

    gravity: float = Field(9.81, gt=0.0, description="gravity [m/s^2]")
    drag: float = Field(0.1, ge=0.0, description="drag over mass [1/s]")
    restitution: float = Field(0.8, ge=0.0, le=1.0, description="speed after a bounce over the speed before it [-]")


class OldModelState(ModelState):
    """State at the start."""

    height: float = Field(1.0, description="height above the ground [m]")
    speed: float = Field(0.0, description="speed upwards [m/s]")


class OldModel(Model):
    """A ball that bounces in air: y'' = -g - d y', and y' -> -e y' where y falls through zero."""

    Parameters = OldModelParameters
    State = OldModelState

    def field(self, t: float, x: np.ndarray, chart: Hashable) -> np.ndarray:
        """Rate of (height, speed)."""
        return np.array([x[1], -self.parameters.gravity - self.parameters.drag * x[1]])

    def jacobian(self, t: float, x: np.ndarray, chart: Hashable) -> np.ndarray:
        """Derivative of the rate; without this method the field is differenced."""
        return np.array([[0.0, 1.0], [0.0, -self.parameters.drag]])

    def boundaries(self, chart: Hashable) -> Sequence[Boundary]:
        """The ground, met from above."""
        return (Boundary("ground", lambda t, x: x[0], gradient=lambda t, x: np.array([1.0, 0.0])),)

    def reset(self, t: float, x: np.ndarray, chart: Hashable, fired: frozenset[Hashable]) -> Transition:
        """What happens at the ground, and its derivative by the state before."""
        bounce = np.diag([1.0, -self.parameters.restitution])
        return Transition(bounce @ x, "air", derivative=lambda: bounce, still=True)

    def start(self, t: float, x: np.ndarray) -> Transition:
        """The chart in which a run begins."""
        return Transition(x, "air")
