"""Runs in a notebook: a page in the cell that does not hold the kernel, and a live view beside its code."""

from __future__ import annotations

import html
import tempfile
from pathlib import Path
from typing import Any

HEIGHT = 480  # px, of a page in a cell


def in_notebook() -> bool:
    """True in a kernel of Jupyter, where a cell can show a page."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()  # type: ignore[no-untyped-call]
    return shell is not None and getattr(shell, "kernel", None) is not None


class Cell:
    """A page in a cell, of a run that is over: all of it is in the notebook, and plays offline."""

    def __init__(self, page: str, height: int = HEIGHT) -> None:
        self._page, self._height = page, height

    def _repr_html_(self) -> str:
        style = f'width="100%" height="{self._height}" style="border:0"'
        return f'<iframe srcdoc="{html.escape(self._page)}" {style}></iframe>'


class LiveCell:
    """A session on its live page in a cell, run in a thread of its own; `close` ends it.

    Attributes:
        session: the session: `session.pause()`, `session.set(name, value)`, `session.trajectory`.
        address: of the page, for another window.
    """

    def __init__(self, session: Any, page: Any, height: int = HEIGHT) -> None:
        self.session, self._page, self._height = session, page, height
        self.address = str(page.address)

    def close(self) -> Any:
        """End the session; returns the run that was made."""
        self._page.close()
        return self.session.trajectory

    def _repr_html_(self) -> str:
        address = html.escape(self.address)
        style = f'width="100%" height="{self._height}" style="border:0"'
        return f'<iframe src="{address}" {style}></iframe><div><a href="{address}">in a window of its own</a></div>'


def cell_of(viewer: Any, trajectory: Any, options: dict[str, Any]) -> Cell:
    """A run as a page in a cell."""
    height = options.pop("height", HEIGHT)
    options.pop("open_browser", None)
    with tempfile.TemporaryDirectory(prefix="contactsim-") as folder:
        file = viewer.export_html(trajectory, Path(folder) / "run.html", **options)
        return Cell(Path(file).read_text(encoding="utf-8"), height)


def live_cell_of(viewer: Any, session: Any, options: dict[str, Any]) -> LiveCell:
    """A session at work in a cell."""
    height = options.pop("height", HEIGHT)
    options.pop("open_browser", None)
    return LiveCell(session, viewer.beside(session, **options), height)
