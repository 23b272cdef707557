"""The event derivatives that are asked about a run, in their order; one that fails is named and set aside."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np

from ..common import registry
from ..common.arrays import Array
from ..errors import ContactSimError, NonDifferentiableError, PluginError
from .contract import EventDerivative, Word
from .crossing_orders import EventData

T = TypeVar("T")
LAST = {"saltation": 1, "bouligand": 2}  # the built-in ones, asked behind those of third parties


class Misshapen(Exception):
    """A plugin's answer is not of the form that its contract demands."""


class Panel:
    """Event derivatives in the order in which they are asked.

    A plugin that raises anything but an error of the engine's, or whose answer has the wrong form, is set aside for
    the run, with a warning that names it; the next one that accepts the event answers.

    Args:
        plugins: (name, plugin) of each, in order.
    """

    def __init__(self, plugins: Iterable[tuple[str, EventDerivative]]) -> None:
        self._plugins = list(plugins)
        self._failed: PluginError | None = None

    @classmethod
    def registered(cls) -> Panel:
        """All that are registered: those of third parties, the saltation matrix, the general B-derivative."""
        kinds = dict(registry.load_all("event_derivatives"))
        panel = cls(())
        for name in sorted(kinds, key=lambda name: LAST.get(name, 0)):
            try:
                panel._plugins.append((name, kinds[name]()))
            except Exception as error:
                panel._warn(name, error)
        return panel

    def ask(self, data: EventData, question: Callable[[EventDerivative], T]) -> T:
        """The answer of the first plugin that accepts an event, and does not fail.

        Raises:
            NonDifferentiableError: no plugin accepts the event, or the one that does says that there is no derivative.
            PluginError: those that accept it all fail.
        """
        for name, plugin in tuple(self._plugins):
            try:
                if plugin.accepts(data):
                    return question(plugin)
            except ContactSimError:  # of the engine, of a user's function, or that there is no derivative
                raise
            except Exception as error:
                self._warn(name, error)
                self._plugins.remove((name, plugin))
        if self._failed is not None:
            raise self._failed
        raise NonDifferentiableError(f"no event derivative accepts the event at t = {data.time:.9g} s")

    def _warn(self, name: str, error: Exception) -> None:
        reason = str(error) if isinstance(error, Misshapen) else f"it raises {type(error).__name__}: {error}"
        text = f"the event derivative '{name}' fails, {reason}; mend or uninstall it"
        self._failed = PluginError(text)
        self._failed.__cause__ = error
        warnings.warn(f"{text} (it is set aside, the next one that accepts the event is asked)", stacklevel=2)


def applied(plugin: EventDerivative, data: EventData, dx: Array) -> Array:
    """Variations (m, n_post) behind the event, by a plugin, of those (m, n_pre) before it.

    Raises:
        Misshapen: it is something else.
    """
    found = _numbers("apply", plugin.apply(data, dx))
    wanted = (len(dx), _behind(data))
    if found.shape != wanted:
        raise Misshapen(f"apply returns the shape {found.shape} for variations {dx.shape} and should return {wanted}")
    return found


def matrices(plugin: EventDerivative, data: EventData) -> Mapping[Word, Array]:
    """The linear pieces of a plugin, each of shape (n_post, n_pre).

    Raises:
        Misshapen: they are something else.
    """
    pieces, wanted = plugin.pieces(data), (_behind(data), data.root.dim)
    if not isinstance(pieces, Mapping) or not pieces:
        raise Misshapen(f"pieces returns {type(pieces).__name__} without a piece and should return {{word: matrix}}")
    found = {word: _numbers("pieces", matrix) for word, matrix in pieces.items()}
    for matrix in found.values():
        if matrix.shape != wanted:
            raise Misshapen(f"pieces returns a matrix of shape {matrix.shape} and should return {wanted}")
    return found


def _behind(data: EventData) -> int:
    return data.after.dim if data.after is not None else data.root.dim


def _numbers(method: str, answer: object) -> Array:
    try:
        return np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        raise Misshapen(f"{method} returns {type(answer).__name__} and should return an array of numbers") from None
