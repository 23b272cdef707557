"""Messages by which a page makes requests of a session: typed, and nothing else."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from contactsim.errors import InputError

LONGEST = 4096  # characters of a message; the longest that the page sends has some hundred
_STRONGEST = 1e6  # newton
_FARTHEST = 1e6  # metres
_NAME = Field(min_length=1, max_length=200)


# Methods of a session that are called otherwise than the message.
_METHODS = {"speed": "set_speed", "event": "to_event", "head": "to_head", "law": "set_law", "rtol": "set_rtol"}


class Message(BaseModel):
    """A message: no other keys, no other types, finite numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    do: str

    def apply(self, session: Any) -> None:
        """Call the method of the session."""
        method = getattr(session, _METHODS.get(self.do, self.do))
        method(*self.model_dump(exclude={"do"}).values())


class Seen(Message):
    """The page has drawn the last picture and is ready for another."""

    do: Literal["seen"]


class Bare(Message):
    """Let time go on or stand still, show the last computed time, or start again."""

    do: Literal["play", "pause", "head", "drop"]


class Speed(Message):
    """Seconds of the run in a second."""

    do: Literal["speed"]
    value: float = Field(gt=0.0, le=100.0)


class Seek(Message):
    """Show a time [s]."""

    do: Literal["seek"]
    time: float


class Event(Message):
    """Show the next event, or the one before."""

    do: Literal["event"]
    step: Literal[-1, 1]


class Push(Message):
    """Push the robot with a force [N, world axes] for a moment."""

    do: Literal["push"]
    force: list[Annotated[float, Field(ge=-_STRONGEST, le=_STRONGEST)]] = Field(min_length=3, max_length=3)


_Place = Annotated[list[Annotated[float, Field(ge=-_FARTHEST, le=_FARTHEST)]], Field(min_length=3, max_length=3)]


class Pull(Message):
    """Pull a point of a body [m, in the axes of its joint] to a target [m, in the world] with a spring."""

    do: Literal["pull"]
    body: str = _NAME
    point: _Place
    target: _Place


class Joint(Message):
    """Set a joint [rad or m] while time stands still."""

    do: Literal["joint"]
    name: str = _NAME
    value: float

    def apply(self, session: Any) -> None:
        """Call the method of the session."""
        if self.name not in {joint.name for joint in session.joints}:
            raise InputError(f"there is no joint '{self.name}' to set")
        super().apply(session)


class Set(Message):
    """Turn one of the numbers that the session shows."""

    do: Literal["set"]
    name: str = _NAME
    value: float

    def apply(self, session: Any) -> None:
        """Call the method of the session."""
        if self.name not in {control.name for control in session.controls}:
            raise InputError(f"there is no control '{self.name}'")
        super().apply(session)


class Law(Message):
    """Change the contact law."""

    do: Literal["law"]
    name: str = _NAME

    def apply(self, session: Any) -> None:
        """Call the method of the session."""
        if self.name not in session.laws:
            raise InputError(f"there is no contact law '{self.name}'")
        super().apply(session)


class Accuracy(Message):
    """Change the relative error of a step."""

    do: Literal["rtol"]
    value: float = Field(ge=1e-13, le=1e-1)


_READER: TypeAdapter[Message] = TypeAdapter(
    Annotated[
        Seen | Bare | Speed | Seek | Event | Push | Pull | Joint | Set | Law | Accuracy, Field(discriminator="do")
    ]
)


def read(text: str | bytes) -> Message:
    """The message that a page sent.

    Raises:
        InputError: it is none.
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        raise InputError(f"a message of the page is no text of at most {LONGEST} characters")
    try:
        return _READER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "message"
        raise InputError(f"a message of the page is refused: {place}: {first['msg']}") from None
