"""What a compiled engine may take over of contact problems, as plain data."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from .modes import Mode

Directions = tuple[Array | None, ...]


class Unknown(Exception):
    """A compiled engine cannot tell: Python goes on."""


class PlainProblem(NamedTuple):
    """A contact problem without resistances, given forces or rebounds; as the attributes of `ContactProblem`.

    Attributes:
        delassus, free: G (m, m) and w0 (m,).
        widths: tangential rows of each contact, behind its normal one.
        friction, static_friction: coefficients (n,).
        slack: normal motion of each contact that counts as none; empty: nothing.
        sliding: unit slip direction of each contact that slides.
    """

    delassus: Array
    free: Array
    widths: tuple[int, ...]
    friction: Array
    static_friction: Array
    slack: tuple[float, ...]
    sliding: Directions


class Pivoted(NamedTuple):
    """Admissible modes, their forces (m,), and the directions of contacts that slip.

    Where the forces are not `unique`, they are the smallest ones, and these keep to their cones. `undecided`: the
    outcome of contacts that yield alike was wanted, and none was found.
    """

    modes: tuple[Mode, ...]
    forces: Array
    directions: Directions
    unique: bool = True
    undecided: bool = False


class CompiledSolver(ABC):
    """Pivoting and sweeps, compiled: functions of their arguments, which threads may call at once.

    Each raises `Unknown` for what Python has to do.
    """

    @abstractmethod
    def pivot(
        self, problem: PlainProblem, modes: tuple[Mode, ...], directions: Directions | None, singly: bool = True
    ) -> Pivoted | None:
        """What `Pivot(quick=True)` finds from these modes and directions; None where it runs in circles.

        Where it does so with all corrections at once, they are made one at a time if it may do that `singly`; if not,
        corrections are few.
        """

    def chosen(
        self, problem: PlainProblem, modes: tuple[Mode, ...], directions: Directions | None, evenly: bool
    ) -> Pivoted:
        """What `stick_slip_choice.solve` finds of contacts that move each other, from these modes and directions."""
        raise Unknown

    @abstractmethod
    def swept(self, problem: PlainProblem, rounds: int, forces: Array) -> Array:
        """What `gauss_seidel.swept` finds: forces (m,) after `rounds` sweeps."""
