"""A live page of a simulation that the caller advances: it shows, and steers nothing."""

from __future__ import annotations

import math
import threading
import webbrowser

from ..common import registry
from ..errors import SimulationError
from ..hybrid.simulate import Simulation
from .session import Session

PATIENCE = 30.0  # s, for a picture


class _Shown(Session):
    """A session that never computes: whoever steps its simulation says when there is something new."""

    def play(self, until: float | None = None) -> None:
        """The run goes on by who steps it, not from the page."""

    def give_turns(self) -> tuple[threading.Event, threading.Event]:
        """An event that asks for a picture, and one that tells that it is made."""
        self.turn, self.done = threading.Event(), threading.Event()
        return self.turn, self.done

    def _show(self) -> None:
        if self.turn.is_set():
            self._seek(math.inf)
            self._wanted = True
            super()._show()
            self.turn.clear()
            self.done.set()


class Watched:
    """The live page of a simulation that is stepped by somebody else.

    Args:
        simulation: what is shown; its own thread reads it in `show` only.
        title: of the page.
        open_browser: False: only `address` says where the page is.
    """

    def __init__(self, simulation: Simulation, title: str = "", open_browser: bool = True) -> None:
        self._session = _Shown(simulation, title=title, playing=False)
        self._turn, self._done = self._session.give_turns()
        self._page = registry.load("viewers", "meshcat")().beside(self._session)
        if open_browser:
            webbrowser.open(self.address)

    @property
    def address(self) -> str:
        """Address of the page."""
        return str(self._page.address)

    @property
    def painted(self) -> int:
        """Number of the last picture."""
        return int(self._page.painted)

    def show(self) -> None:
        """Let the page show the present state.

        Raises:
            SimulationError: the page has ended.
        """
        self._done.clear()
        self._turn.set()
        self._session.refresh()
        if not self._done.wait(PATIENCE):
            raise SimulationError("the live page has ended; close the environment and make it again")

    def close(self) -> None:
        """Close the page."""
        self._page.close()
