"""The memory that computing with a model needs, apart from the model: one a thread, none in a copy."""

from __future__ import annotations

import threading
from typing import Any

from .forest import Forest, ModelData, data_of


class Workspace(threading.local):
    """Pinocchio's data of a model, and what is computed in it, for the thread that asks.

    Everything computed with it is a function of its arguments: two threads that share a system never share a
    workspace, runs in one thread go through it one after the other, and a copy or a pickle of its owner begins with an
    empty one.

    Args:
        model: pinocchio's model, not changed any more.
    """

    def __init__(self, model: Any) -> None:  # called once in each thread
        self.model = model
        self.data = data_of(model)
        self.placements = self.data.oMf

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model,)


class Computing:
    """Something that computes with a workspace of its own."""

    _workspace: Workspace

    @property
    def _data(self) -> ModelData | Forest:
        """Pinocchio's data, for the thread that asks."""
        return self._workspace.data
