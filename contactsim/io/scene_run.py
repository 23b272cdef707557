"""A run as a scene or a model's file describes it: system, start, time and options, ready to be simulated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common.arguments import POSITIVE
from ..common.lazy import dataclass
from ..errors import InputError, SimulationError
from ..hybrid.simulate import Simulation, simulate
from ..hybrid.trajectory import Trajectory


@dataclass(frozen=True, repr=False)
class SceneRun:
    """A run that is ready to start.

    Attributes:
        title: a short name.
        system: the ContactSystem of a scene, or a model.
        state: where it starts: a State, or the numbers (n,) of a model.
        span: first and last time [s].
        options: integrator, tolerances and other keyword arguments of `simulate`.
    """

    title: str
    system: Any
    state: Any
    span: tuple[float, float]
    options: Mapping[str, Any]

    def simulate(self, time: float | None = None, **options: Any) -> Trajectory:
        """The run over a time [s], by default that of the scene.

        Args:
            time: how long it takes [s].
            options: keyword arguments of `contactsim.simulate` that replace those of the scene, or progress=True.
        """
        t0, t1 = self.span
        end = t1 if time is None else t0 + POSITIVE.check("the time of the run", time)
        return simulate(self.system, self.state, (t0, end), **{**self.options, **options})

    def begin(self) -> Simulation:
        """The simulation at its start."""
        try:
            return Simulation(self.system, self.state, self.span[0], **self.options)
        except SimulationError as error:
            raise InputError(f"the run cannot start: {error}") from error

    def __repr__(self) -> str:
        return f"SceneRun({self.title!r}, {type(self.system).__name__}, {self.span[1] - self.span[0]:g} s)"
