"""Shows a page in the browser for as long as the program waits."""

from __future__ import annotations

import threading
import webbrowser

from .server import Server


def show(page: str, open_browser: bool) -> None:
    """Serve `page` on this machine only, until Ctrl-C; nothing of it outlives the call."""
    content = page.encode("utf-8"), "text/html; charset=utf-8"
    with Server({"/": content, "/index.html": content}) as server:
        try:
            announce(server.address, open_browser)
            threading.Event().wait()
        except KeyboardInterrupt:
            print()


def announce(address: str, open_browser: bool) -> None:
    """Say where the page is, and open it."""
    print(f"{address}  (Ctrl-C ends)", flush=True)
    if open_browser:
        webbrowser.open(address, new=2)
