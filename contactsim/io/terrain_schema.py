"""The [terrain] table of scene files: one table for each kind of ground, found by its name as plugins are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, ValidationError, model_validator

from ..common import registry
from ..common.arrays import Array
from ..common.schemas import Real, nested
from ..errors import InputError, PluginError
from ..multibody.terrain import Flat, Slope, Terrain

Pair = tuple[Real, Real]
BELT: Pair = Field((0.0, 0.0), description="velocity of the surface, as of a belt [m/s]")  # type: ignore[assignment]


class Table(BaseModel):
    """A table of a scene file: unknown keys, NaN and infinity are mistakes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class GroundTable(BaseModel, ABC):
    """The [terrain] table of a scene for one kind of ground: its fields are the keys that may stand there.

    Attributes:
        kind: the name under which the plugin is registered.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    kind: str = ""

    @abstractmethod
    def build(self) -> Terrain:
        """The ground.

        Raises:
            InputError: the values do not make one.
        """


class FlatTable(GroundTable):
    """[terrain] kind = "flat"."""

    kind: Literal["flat"] = "flat"
    height: Real = Field(default=0.0, description="height [m]")
    velocity: Pair = BELT

    def build(self) -> Terrain:
        """The ground."""
        return Flat(self.height, self.velocity)


class SlopeTable(GroundTable):
    """[terrain] kind = "slope": angle [rad]."""

    kind: Literal["slope"] = "slope"
    angle: Real = Field(description="inclination [rad]")
    downhill: Pair = Field((1.0, 0.0), description="horizontal direction in which it falls [-]")

    def build(self) -> Terrain:
        """The ground."""
        return Slope(self.angle, self.downhill)


class SinusoidTable(GroundTable):
    """[terrain] kind = "sinusoid": h = a1 sin(a2 x) cos(a3 y), with the numbers of the SimSect manual, Table 3."""

    kind: Literal["sinusoid"] = "sinusoid"
    a1: Real = Field(0.03, description="height of the hills [m]")
    a2: Real = Field(15.0, description="wave number along x [1/m]")
    a3: Real = Field(15.0, description="wave number along y [1/m]")
    velocity: Pair = BELT

    def build(self) -> Terrain:
        """The ground."""
        from ..multibody.terrain import Sinusoid

        return Sinusoid(self.a1, self.a2, self.a3, self.velocity)


class HeightFieldTable(GroundTable):
    """[terrain] kind = "height-field": heights (nx, ny) [m] at x and y, or over `extent`, in the file or here.

    A .npz file holds x, y and heights; .npy, .csv and .txt files hold heights, evenly spaced over `extent`.
    """

    kind: Literal["height-field"] = "height-field"
    file: str | None = Field(None, description="where the heights are")
    heights: list[list[Real]] | None = Field(None, description="heights, a row for each x [m]")
    x: list[Real] | None = Field(None, description="places of the rows [m]")
    y: list[Real] | None = Field(None, description="places of the columns [m]")
    extent: tuple[Real, Real, Real, Real] | None = Field(None, description="x_min, x_max, y_min, y_max [m]")
    scale: Real = Field(1.0, description="factor on the heights [-]")
    velocity: Pair = BELT

    @model_validator(mode="after")
    def _one_source(self) -> HeightFieldTable:
        if (self.file is None) == (self.heights is None):
            raise ValueError("give either a file or heights")
        if (self.x is None) != (self.y is None) or (self.x is not None and self.extent is not None):
            raise ValueError("give either x and y, or extent = [x_min, x_max, y_min, y_max]")
        return self

    def build(self) -> Terrain:
        """The ground.

        Raises:
            InputError: the file cannot be used, or nothing says where the heights are.
        """
        from ..multibody.terrain import HeightField

        places: tuple[Any, Any] | None = None if self.x is None else (self.x, self.y)
        if self.file is None:
            heights = _rectangle(self.heights)
        else:
            heights, stored = _load(Path(self.file).expanduser())
            places = places or stored
        if places is None and self.extent is not None:
            x0, x1, y0, y1 = self.extent
            places = np.linspace(x0, x1, heights.shape[0]), np.linspace(y0, y1, heights.shape[1])
        if places is None:
            raise InputError("terrain: nothing says where the heights are; give extent = [x_min, x_max, y_min, y_max]")
        return HeightField(*places, self.scale * heights, self.velocity)


class NoneTable(GroundTable):
    """[terrain] kind = "none": there is no ground, as with `terrain.NoGround()`."""

    kind: Literal["none"] = "none"

    def build(self) -> Terrain:
        """The ground."""
        from ..multibody.terrain import NoGround

        return NoGround()


def _rectangle(rows: Any) -> Array:
    try:
        heights = np.array(rows, dtype=float)
    except ValueError:
        heights = np.zeros(0)
    if heights.ndim != 2:
        raise InputError("terrain: the heights are no rectangle of numbers; give rows of one length, a row for each x")
    return heights


def _load(path: Path) -> tuple[Array, tuple[Array, Array] | None]:
    """Heights of a file and, where it holds them, the places x and y."""
    try:
        if path.suffix == ".npz":
            with np.load(path) as stored:
                return _rectangle(stored["heights"]), (stored["x"], stored["y"])
        if path.suffix == ".npy":
            return _rectangle(np.load(path)), None
        if path.suffix in (".csv", ".txt"):
            return _rectangle(np.loadtxt(path, delimiter="," if path.suffix == ".csv" else None, ndmin=2)), None
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"the height field {path} cannot be read ({error}); check the file") from error
    raise InputError(f"the height field {path} is neither .npz, .npy, .csv nor .txt; convert it to one of them")


def _table(value: Any) -> Any:
    """The table of a kind of ground, of this module or of a plugin."""
    if not isinstance(value, dict):
        return value
    kind, known = value.get("kind"), registry.names("terrains")
    if kind is None:
        raise ValueError(f"give its kind, one of {', '.join(known)}")
    if kind not in known:
        raise ValueError(f"no ground of kind {kind!r}; choose one of {', '.join(known)}")
    try:
        return registry.load("terrains", kind)(**value)
    except PluginError as error:
        raise ValueError(str(error)) from error
    except ValidationError as error:
        raise nested(registry.load("terrains", kind), error) from error


def _still(value: Any) -> Any:
    if isinstance(value, dict) and value.get("kind") in ("moving", "none"):
        raise ValueError("a moving ground carries one that stands still; give another kind")
    return _table(value)


Ground = Annotated[SerializeAsAny[GroundTable], BeforeValidator(_table)]
Still = Annotated[SerializeAsAny[GroundTable], BeforeValidator(_still)]


class MovingTable(GroundTable):
    """[terrain] kind = "moving": a ground that moves as a whole by amplitude sin(2 pi frequency t + phase)."""

    kind: Literal["moving"] = "moving"
    amplitude: tuple[Real, Real, Real] = Field(description="amplitude along x, y and z [m]")
    frequency: Real = Field(gt=0.0, description="frequency [Hz]")
    phase: Real = Field(0.0, description="phase at t = 0 [rad]")
    ground: Still = Field(FlatTable(), description="table of the ground that moves")

    def build(self) -> Terrain:
        """The ground."""
        from ..multibody.terrain import Moving, Oscillation

        return Moving(self.ground.build(), Oscillation(self.amplitude, self.frequency, self.phase))


# Tables that are told from each other by their keys, where a scene does not name the kind.
GROUNDS: tuple[type[GroundTable], ...] = (FlatTable, SlopeTable, SinusoidTable, HeightFieldTable, MovingTable)
