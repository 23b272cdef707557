"""Takes a picture of a page with a browser that shows no window."""

from __future__ import annotations

from pathlib import Path

from .browser import address_of, demand_browser, work_on


def take(page: Path, picture: Path, moment: float, width: int, height: int) -> None:
    """Save what `page` shows at a time of the run as a PNG of `width` x `height` pixels.

    Raises:
        InputError: no browser is installed.
        ContactSimError: the browser took no picture (its last words are in `problem`).
    """
    address = address_of(page, f"t={moment!r}&still")
    picture.write_bytes(work_on(demand_browser("a picture"), address, width, height, lambda tab: tab.picture("png")))
