"""Errors: one sentence each, naming the thing, the place and the remedy."""

from __future__ import annotations

from typing import Any


class ContactSimError(Exception):
    """Base of every error that contactsim raises on purpose.

    Args:
        message: one sentence that names the thing, the place and the remedy.
        problem: the data of the failing problem (arrays, states, names), kept for inspection.
    """

    def __init__(self, message: str, **problem: Any) -> None:
        super().__init__(message)
        self.problem = problem


class InputError(ContactSimError, ValueError):
    """Something given by the user cannot be used as it is (wrong name, shape, sign, file or state)."""


class StorageError(ContactSimError):
    """A file cannot be written: the disk is full, or does not let write. What was there before is kept."""


class PluginError(ContactSimError):
    """A plugin is unknown, is registered twice, or fails to load."""


class SimulationError(ContactSimError):
    """A run cannot go on; the simulation keeps what was computed and reports the reason as its status."""


class NoAdmissibleModeError(SimulationError):
    """No contact mode satisfies the contact law, such as in an inconsistent state in the sense of Painleve."""


class InvalidStateError(SimulationError):
    """A state belongs to no mode that a run could go on in; a model's transition may raise it."""


class CallbackError(InputError, SimulationError):
    """A function of the user's raises, or returns what cannot be used: another shape, NaN, complex numbers.

    Before the first step of a run it is raised; later the run ends with Status.FAILED and this error's text as its
    message, and keeps the error, with what the function raised as its cause, as `Simulation.error`.
    """


class SingularError(SimulationError):
    """The equations of motion have no unique solution at a state: a singular mass matrix or dependent constraints."""


class OutsideError(SimulationError):
    """A state lies outside of where the system is defined, such as beyond the edge of its ground."""


class StepSizeError(SimulationError):
    """The integrator cannot meet its tolerance with a step above the smallest one."""


class NonDifferentiableError(ContactSimError):
    """A run has no single derivative at an event: several orders of what happens there, or no order at all.

    `problem` carries the event and, where it was followed, {word: outcome}.
    """


class TransversalityError(NonDifferentiableError):
    """A guard is met tangentially (grazing): D_t g + D_x g F is zero, and the saltation matrix does not exist."""


class ConvergenceError(ContactSimError):
    """A search stopped before it met its accuracy; `problem` carries its best point."""


class CheckError(ContactSimError):
    """A finished trajectory violates one of its own laws by more than the tolerance of the check."""
