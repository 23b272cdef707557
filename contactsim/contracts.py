"""What a plugin must supply. Each contract is at most three methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

Array = np.ndarray


class LawParameters(BaseModel):
    """Parameters of a contact law: a schema with defaults, checked when a law is made."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ContactLaw(ABC):  # noqa: B024 - its two kinds are RigidLaw and CompliantLaw
    """A contact law, rigid or compliant. Its parameters are the fields of `Parameters`.

    Args:
        parameters: values by name; what is not given has its default.
    """

    Parameters: type[LawParameters] = LawParameters

    def __init__(self, **parameters: Any) -> None:
        from .config import validated

        self.parameters: Any = validated(self.Parameters, parameters, f"contact law {type(self).__name__}")


class RigidLaw(ContactLaw):
    """A law of impulses and modes: contacts do not deform, and their forces follow from the constraints.

    A mode is a set of linear equations, so a rigid law says only which modes hold; the engine integrates them.
    """

    @abstractmethod
    def impact(self, problem: Any, restitution: Array) -> Any:
        """Solve the impact: a ContactProblem whose `free` holds the velocities before it -> ContactSolution.

        `restitution` (n,) holds the coefficient of each contact. The `motion` of the solution is the velocity after
        the impact, less the rebound e max(0, -z_n(-)) in the normal rows.
        """

    @abstractmethod
    def select(self, problem: Any) -> Any:
        """Choose the modes of touching contacts: a ContactProblem of accelerations -> ContactSolution."""

    def friction(self, kinetic: Array, static: Array) -> tuple[Array, Array]:
        """Coefficients (n,) that hold under this law, from those of the contact points."""
        return kinetic, static


class CompliantLaw(ContactLaw):
    """A law of forces: the ground gives way, and the force of a contact is a function of its state."""

    memory: int = 0  # numbers of internal state per contact

    @abstractmethod
    def force(self, gap: float, velocity: Array, memory: Array, friction: float) -> tuple[Array, Array]:
        """Force (1 + d_t,) [N] and rate of the memory of one contact in touch.

        Args:
            gap: distance to the ground [m], negative in touch.
            velocity: relative velocity (1 + d_t,), normal first [m/s].
            memory: internal state (memory,).
            friction: kinetic coefficient of the contact.

        The normal force may be returned negative: the contact is released where it falls through zero.
        """


class EventDerivative(ABC):
    """First-order effect of an event on a variation of the state."""

    @abstractmethod
    def accepts(self, event: Any) -> bool:
        """Whether this plugin can differentiate the event."""

    @abstractmethod
    def apply(self, event: Any, dx: Array, dp: Array | None = None) -> Array:
        """Variations after the event (m, n_post) of the variations `dx` (m, n_pre) before it."""

    @abstractmethod
    def matrix(self, event: Any) -> Array:
        """The one matrix (n_post, n_pre) of the event; raises where none exists."""
