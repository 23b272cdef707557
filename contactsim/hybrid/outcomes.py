"""How runs end, and what to do about it."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a run ended, and what to do about it."""

    INTERRUPTED = "The run was interrupted; what was computed before is kept."
    RUNNING = "The run has not reached its end; call advance() to go on."
    FINISHED = "The run reached its final time."
    TOO_MANY_EVENTS = (
        "The run stopped at its largest number of events; raise max_events, or look for bounces that accumulate."
    )
    STEP_TOO_SMALL = "The run stopped where no step meets its tolerance; the message says what the field does there."
    NO_ADMISSIBLE_MODE = (
        "The run stopped where no contact mode satisfies the contact law; the message says what was looked at, and what"
        " there is to do."
    )
    EVENTS_WITHOUT_END = (
        "The run stopped where events follow each other without end; change the start, or what happens at the event."
    )
    ACCUMULATION = (
        "The run stopped where infinitely many bounces come to their end, as asked; say accumulation='pass' to go on."
    )
    INVALID_STATE = (
        "The run stopped where its state does not belong to its chart; change the start or the parameters of the model."
    )
    FAILED = "The run stopped on an error; its text is in the message, and what was computed before is kept."

    @property
    def complete(self) -> bool:
        """True where the run reached the time it was asked for."""
        return self is Status.FINISHED
