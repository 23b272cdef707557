"""Hybrid systems by name: charts, boundaries and transitions with a schema of parameters, found as plugins."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from ..common import registry
from ..common.arguments import (
    ANY_NUMBERS,
    FLAG,
    NAME,
    NOT_NEGATIVE,
    NUMBERS,
    POSITIVE,
    REAL,
    arguments,
    custom,
    function,
    one_of,
    optional,
)
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.representation import with_values
from ..common.schemas import validated
from ..common.user_calls import UserCall, answer, failure
from ..errors import CallbackError, CheckError, InputError, PluginError
from .differences import map_derivative, tangent_derivative
from .flow import Finding, Flow
from .manifold import Euclidean
from .system import NOTHING, Dynamics, HybridSystem, Transition, completed
from .tolerances import Tolerances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..common.drawing import Drawing
    from .trajectory import Trajectory

SIDES = {"above": 1.0, "below": -1.0}
VARIED = 64  # copies with another parameter that are kept: a derivative asks for the same ones over and over


class ModelParameters(BaseModel):
    """Parameters of a model: fields with defaults, limits and a description that names the unit."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ModelState(BaseModel):
    """State of a model at its start: one field for each number, in their order, with defaults and units."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _key(given: Any) -> Hashable:
    if given is None or given == "" or not isinstance(given, Hashable):
        raise ValueError
    return given


@arguments(
    name=custom("a name, as a string or what else can be a key", _key),
    function=function("a function (t, x) -> number"),
    target=REAL,
    side=one_of("above", "below"),
    gradient=optional(function("a function (t, x) -> (size,)")),
    smooth=FLAG,
    rounding=optional(NOT_NEGATIVE),
    band=optional(NOT_NEGATIVE),
)
@dataclass(frozen=True)
class Boundary:
    """A boundary of a chart: it is crossed where h(t, x) reaches its target from the side on which the chart lies.

    Attributes:
        name: what `reset` is told when the boundary is crossed.
        function: h(t, x) -> number.
        target: value C of the boundary, in the unit of h.
        side: "above" where the chart lies at h > C and h falls through C, "below" where it lies at h < C and h rises.
        gradient: D_x h(t, x) (dim,); None: to be differenced.
        smooth: whether h is smooth along a step.
        rounding: how exactly h is known, in its unit; None: `Tolerances.rearm`.
        band: a chart entered further outside than this, in the unit of h, has been jumped into: the boundary fires at
            once, and a note of the run says so; None: `Tolerances.jump`.

    Source: SimSect manual, 3.1 (target values) and 3.5.6 (`SS_StopFunc`).
    """

    name: Hashable
    function: Callable[[float, Array], float]
    target: float = 0.0
    side: str = "above"
    gradient: Callable[[float, Array], Array] | None = None
    smooth: bool = True
    rounding: float | None = None
    band: float | None = None

    def guard(self, t: float, x: Array) -> float:
        """Guard value, positive inside the chart: h - C on its side above, C - h below."""
        value = self.function(t, x) - self.target
        return value if self.side == "above" else -value


def _boundaries(model: Model, chart: Hashable) -> tuple[Boundary, ...]:
    try:
        given = model.boundaries(chart)
    except Exception as error:
        said = failure(error, error.__traceback__)
        raise PluginError(f"boundaries({chart!r}) of {type(model).__name__} fails with {said}; mend it") from error
    if isinstance(given, Sequence) and all(isinstance(boundary, Boundary) for boundary in given):
        return tuple(given)
    others = [one for one in given if not isinstance(one, Boundary)] if isinstance(given, Sequence) else [given]
    wrong = f"{'a list with ' if isinstance(given, Sequence) else ''}{type(others[0]).__name__}"
    raise PluginError(
        f"boundaries({chart!r}) of {type(model).__name__} returns {wrong}; return a list of contactsim.Boundary"
    )


class Chart(Flow):
    """The flow of a model in one chart; a model may return its own flow instead.

    Args:
        model: the model.
        chart: the chart.

    Raises:
        PluginError: two boundaries of the chart have the same name, or the model returns something else.
    """

    def __init__(self, model: Model, chart: Hashable) -> None:
        self.model, self.chart = model, chart
        self.boundaries = _boundaries(model, chart)
        self.guard_names = tuple(boundary.name for boundary in self.boundaries)
        if len(set(self.guard_names)) < len(self.guard_names):
            raise PluginError(f"chart {chart} of {type(model).__name__} names a boundary twice: {self.guard_names}")
        if not all(boundary.smooth for boundary in self.boundaries):
            self.guard_smooth = np.array([boundary.smooth for boundary in self.boundaries])
        if any(boundary.rounding is not None for boundary in self.boundaries):
            self.guard_rounding = self._given("rounding", Tolerances.rearm)
        if any(boundary.band is not None for boundary in self.boundaries):
            self.guard_bands = self._given("band", Tolerances.jump)

    def _given(self, attribute: str, default: float) -> Array:
        values = [getattr(boundary, attribute) for boundary in self.boundaries]
        return np.array([default if value is None else value for value in values])

    def field(self, t: float, x: Array) -> Array:
        """Rate of the state; that of the bookkeeping states behind those the model gives is zero."""
        try:
            rate = np.array(self.model.field(t, x.copy(), self.chart), dtype=float)  # a model may fill one array anew
        except Exception:
            with UserCall("the field of", type(self.model).__name__, t):
                raise
        if rate.shape == x.shape:
            return rate
        rate = self._with_bookkeeping(rate, x) if rate.ndim == 1 else rate
        return answer("the field of", type(self.model).__name__, "a rate", rate, x.shape, t, x)

    def guards(self, t: float, x: Array) -> Array:
        """Distance of each boundary function from its target, positive inside the chart."""
        values = []
        for boundary in self.boundaries:
            try:
                values.append(float(boundary.guard(t, x.copy())))
            except Exception:
                with UserCall(f"the boundary '{boundary.name}' of", type(self.model).__name__, t):
                    raise
            if values[-1] != values[-1] and np.isfinite(x).all():
                raise CallbackError(
                    f"the boundary '{boundary.name}' of {type(self.model).__name__!r} is nan at t = {t:.6g} s; return a"
                    " number, or infinity where it cannot be met",
                    t=t,
                )
        return np.array(values)

    def next_time(self, t: float) -> float:
        """First instant after `t` at which the model's clock ends the chart."""
        return self.model.next_time(t, self.chart)

    def validate(self, t: float, x: Array) -> Sequence[Finding]:
        """Findings of the model about a state in this chart."""
        return self.model.validate(t, x.copy(), self.chart)

    def jacobian(self, t: float, x: Array) -> Array | None:
        """D_x f (dim, dim), with zero rows for the bookkeeping states; None: to be differenced."""
        given = self.model.jacobian(t, x.copy(), self.chart)
        return None if given is None else self._with_bookkeeping(np.array(given, dtype=float), x)

    def _with_bookkeeping(self, rates: Array, x: Array) -> Array:
        """Rows of the continuous states, followed by zeros for the bookkeeping states where those are left out."""
        if len(rates) == len(x):
            return rates
        missing = len(self.model.bookkeeping)
        if len(x) - len(rates) != missing:
            return rates
        return np.concatenate([rates, np.zeros((missing, *rates.shape[1:]))])

    def guard_jacobian(self, t: float, x: Array, names: Sequence[Hashable]) -> Array | None:
        """D_x g (len(names), dim), where each of the boundaries gives its gradient."""
        rows = []
        for boundary in (self.boundaries[k] for k in self.places(names)):
            if boundary.gradient is None:
                return None
            rows.append(SIDES[boundary.side] * np.asarray(boundary.gradient(t, x.copy()), dtype=float))
        return np.array(rows)


class Model(HybridSystem):
    """A hybrid system with parameters and states by name: charts, fields, boundaries, transitions.

    A model says what its `field`, its `boundaries` and its `reset` are; `start` finds the chart of a state, and
    `validate`, `record`, `jacobian`, `next_time`, `drawing` and `figures` may be added. Charts are any hashable values
    and may have states of their own size. Continuous states come first; those named in `bookkeeping` follow them, have
    no rate, and change in transitions only: `field` may leave them out. What a transition remembers in numbers belongs
    there, not into the chart, which derivatives hold.

    Args:
        parameters: values by name; what is not given has its default.

    Attributes:
        Parameters: schema of the parameters.
        State: schema of the state at a start.
        bookkeeping: names of the states that only transitions change.
        preferred_integrator: the integrator where the user names none; None: that of `simulate`.
        preferred_tolerances: the accuracy where the user gives none; None: that of `simulate`.

    Raises:
        InputError: a parameter is unknown or out of range.

    Source: SimSect manual, 3.1 (charts, boundaries, transitions) and 3.5 (what a model supplies).
    """

    Parameters: ClassVar[type[ModelParameters]] = ModelParameters
    State: ClassVar[type[ModelState]] = ModelState
    bookkeeping: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **parameters: Any) -> None:
        self.parameters: Any = validated(self.Parameters, parameters, f"parameters of {type(self).__name__}")

    # --- what a model says ------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return with_values(self, self.parameters.model_dump())

    @abstractmethod
    def field(self, t: float, x: Array, chart: Hashable) -> Array:
        """Rate of the state (dim,) in a chart, or of its continuous part alone."""

    @abstractmethod
    def boundaries(self, chart: Hashable) -> Sequence[Boundary]:
        """Boundaries of a chart."""

    @abstractmethod
    def reset(self, t: float, x: Array, chart: Hashable, fired: frozenset[Hashable]) -> Transition:
        """State and chart after the boundaries named in `fired` (or CLOCK) were crossed together.

        Where the transition's `changes` are left out they are {"chart": (before, after)}; {} hides it from the user.

        Raises:
            InvalidStateError: no chart is a valid one there; the run ends with its sentence.
        """

    def validate(self, t: float, x: Array, chart: Hashable) -> Sequence[Finding]:
        """Faults of a state in a chart, after a transition or at the end of a step; empty: it is fine."""
        return ()

    def record(self, t: float, x: Array, chart: Hashable) -> Mapping[str, float]:
        """Auxiliary functions {name: value} at a state; the names are the same in all charts."""
        return {"time": t} | dict(zip(self.State.model_fields, x, strict=False))

    def next_time(self, t: float, chart: Hashable) -> float:
        """First instant after `t` at which a chart ends by the clock alone; infinity if it does not."""
        return float("inf")

    def jacobian(self, t: float, x: Array, chart: Hashable) -> Array | None:
        """D_x f (dim, dim), or its rows for the continuous states alone; None: to be differenced."""
        return None

    def drawing(self, t: float, x: Array, chart: Hashable) -> Drawing | None:
        """Drawing of a state in a chart, for the viewer: see `contactsim.look`; None: it cannot be drawn."""
        return None

    def figures(self, trajectory: Trajectory) -> Mapping[str, Figure]:
        """Plots of a run of this model by name, figures of matplotlib; none unless a model has some."""
        return {}

    # --- what the engine asks for -----------------------------------------------------------------------------

    def flow(self, mode: Hashable) -> Flow:
        """Field and boundaries of a chart."""
        return Chart(self, mode)

    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        """Transition by `reset`; where nothing fired (a parameter was set in a run) the chart stays."""
        if not fired:
            return Transition(x, mode, {"parameters": ("before", "after")})
        try:
            transition = self.reset(t, x.copy(), mode, fired)
        except Exception:
            with UserCall("the reset of", type(self).__name__, t):
                raise
        if not isinstance(transition, Transition):
            raise CallbackError(
                f"the reset of {type(self).__name__!r} returns {type(transition).__name__} at t = {t:.6g} s; return a"
                " Transition(x, chart)",
                t=t,
            )
        answer("the reset of", type(self).__name__, "a state", transition.x, np.shape(transition.x), t, x)
        if transition.changes is NOTHING:
            return replace(transition, changes={"chart": (mode, transition.mode)})
        return transition

    def pack(self, state: Any) -> Array:
        """A state as an array of the size of `State`, checked; models that start with other sizes say so here.

        Raises:
            InputError: it has another size or is not finite.
        """
        x: Array = ANY_NUMBERS.check("the state", state)
        names = tuple(self.State.model_fields)
        if x.shape != (len(names),):
            raise InputError(
                f"a state of {type(self).__name__} has {len(names)} numbers ({', '.join(names)}), but shape {x.shape}"
                " was given; initial_state(...) makes one from names"
            )
        if not np.all(np.isfinite(x)):
            wrong = ", ".join(name for name, value in zip(names, x, strict=True) if not np.isfinite(value))
            raise InputError(f"the state of {type(self).__name__} is not finite in {wrong}; give finite numbers")
        return x

    # --- what a user asks for ---------------------------------------------------------------------------------

    def initial_state(self, **values: Any) -> Array:
        """State at a start (size,) as a plain array; what is not given has its default.

        Raises:
            InputError: there is no such state, or its value is not a number.
        """
        given = validated(self.State, values, f"state of {type(self).__name__}")
        return np.array([getattr(given, name) for name in self.State.model_fields], dtype=float)

    def parameter(self, name: str) -> float:
        """Value of a parameter by name.

        Raises:
            InputError: no such parameter, or it is not a number.
        """
        self._demand(name)
        value = getattr(self.parameters, name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"'{name}' of {type(self).__name__} is {value!r}, not a number; choose another parameter")
        return float(value)

    def with_parameter(self, name: str, value: Any) -> Model:
        """A copy with one parameter changed.

        Raises:
            InputError: no such parameter, or its value is out of range.
        """
        self._demand(name)
        if not isinstance(value, Hashable):
            raise InputError(f"'{name}' of {type(self).__name__} cannot be {value!r}; give a number or a text")
        return _varied(self, name, value)

    def auxiliary(self, trajectory: Trajectory, times: Sequence[float] | Array | None = None) -> dict[str, Array]:
        """Auxiliary functions {name: (N,)} along a run of this model.

        Args:
            trajectory: the run.
            times: when (N,) [s], behind an event there; None: at the samples `trajectory.t`, with both sides of events.

        Raises:
            InputError: a time lies outside the run.
        """
        arcs, period = trajectory.arcs, trajectory.record_period
        if times is None:
            points = [(arc, t, x) for arc in arcs for t, x in arc.sample(period, arcs[0].t0)]
        else:
            points = [(arc := trajectory.arc_at(t), t, arc(t)) for t in map(float, times)]
        rows = [arc.system.record(t, x, arc.mode) for arc, t, x in points]  # type: ignore[attr-defined]
        if not rows:
            raise InputError("no times are given at which to record; give some, or leave them out")
        return {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0]}

    def _demand(self, name: str) -> None:
        if name not in self.Parameters.model_fields:
            known = ", ".join(self.Parameters.model_fields) or "none"
            raise InputError(f"{type(self).__name__} has no parameter '{name}'; it has {known}")


@lru_cache(maxsize=VARIED)
def _varied(model: Model, name: str, value: Any) -> Model:
    return type(model)(**(model.parameters.model_dump() | {name: value}))


@arguments(name=NAME)
def load_model(name: str, **parameters: Any) -> Model:
    """A model of the entry-point group `contactsim.models` by name, with parameters by name.

    Raises:
        PluginError: no such model, or it fails on import.
        InputError: a parameter is unknown or out of range.
    """
    return model_class(name)(**parameters)


def model_class(name: str) -> type[Model]:
    """The class behind the name of a model.

    Raises:
        PluginError: no such model, or what the entry point names is none.
    """
    found = registry.load("models", name)
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise PluginError(f"the plugin '{name}' of contactsim.models is {found!r}; let it name a subclass of Model")
    return found


@arguments(t=REAL, x=NUMBERS, limit=POSITIVE)
def check_jacobians(
    system: Dynamics, t: float, x: Array, mode: Hashable = None, *, limit: float = 1e-6
) -> dict[str, float]:
    """Compare the derivatives that a system gives at (t, x) with central differences.

    Those of the field, of the guards, and of the reset behind each guard are looked at, as far as they are given; a
    difference counts relative to the largest element of its matrix or, where that is smaller, to one.

    Args:
        system: any hybrid system.
        t: time [s].
        x: plain state (size,); for the resets best near a boundary.
        mode: its chart; None: that in which a run from there starts.
        limit: largest relative difference.

    Returns:
        {what was compared: largest relative difference}.

    Raises:
        CheckError: a derivative differs by more than `limit`.
    """
    model = completed(system)
    if mode is None:
        begun = model.start(t, np.array(x, dtype=float))
        x, mode = begun.x, begun.mode
    flow = model.flow(mode).rebased(t, x)
    space = model.space(mode) or Euclidean(len(x))
    pairs: dict[str, tuple[Array, Array]] = {}
    given = flow.jacobian(t, x)
    if given is not None:
        pairs["field"] = given, tangent_derivative(lambda y: flow.field(t, y), space, x)
    guards = tangent_derivative(lambda y: flow.guards(t, y), space, x)
    for k, name in enumerate(flow.guard_names):
        rows = flow.guard_jacobian(t, x, (name,))
        if rows is not None:
            pairs[f"guard {name}"] = rows[0], guards[k]
        pairs |= _reset_pair(model, t, x, mode, name)
    errors = {what: _difference(*pair) for what, pair in pairs.items()}
    wrong = [f"{what} by {error:.3g}" for what, error in errors.items() if not error <= limit]
    if wrong:
        raise CheckError(f"derivatives in chart {mode} differ from differences: {'; '.join(wrong)}; mend them")
    return errors


def _reset_pair(model: HybridSystem, t: float, x: Array, mode: Hashable, name: Hashable) -> dict[str, Any]:
    fired = frozenset({name})
    transition = model.transition(t, x, mode, fired)
    if transition.derivative is None:
        return {}
    space = model.space(mode) or Euclidean(len(x))
    image = model.space(transition.mode) or Euclidean(len(transition.x))
    differenced = map_derivative(lambda y: model.transition(t, y, mode, fired).x, space, x, image)
    return {f"reset {name}": (transition.derivative(), differenced)}


def _difference(given: Array, differenced: Array) -> float:
    given, differenced = np.asarray(given, dtype=float), np.asarray(differenced, dtype=float)
    if given.shape != differenced.shape:
        return float("inf")
    return float(np.max(np.abs(given - differenced), initial=0.0) / max(1.0, np.max(np.abs(differenced), initial=0.0)))
