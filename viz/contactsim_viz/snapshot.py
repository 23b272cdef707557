"""Takes a picture of a page with a browser that shows no window."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from contactsim.errors import ContactSimError, InputError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
)
_PATIENCE = 120.0  # seconds of waiting for the browser


def find_browser() -> str | None:
    """Path of the first browser of `BROWSERS` that is installed."""
    return next((found for found in map(shutil.which, BROWSERS) if found), None)


def demand_browser() -> str:
    """Path of the browser."""
    browser = find_browser()
    if browser is None:
        raise InputError("a picture needs Chromium or Google Chrome; install one, for example: apt install chromium")
    return browser


def take(page: Path, picture: Path, fragment: str, width: int, height: int) -> None:
    """Save what `page` shows as a PNG of `width` x `height` pixels.

    The `fragment` is what follows the # of the page's address.

    Raises:
        InputError: no browser is installed.
        ContactSimError: the browser wrote no picture (its last words are in `problem`).
    """
    browser = demand_browser()
    with tempfile.TemporaryDirectory(prefix="contactsim-") as folder:
        shot = Path(folder) / "shot.png"
        command = [browser, *FLAGS, f"--user-data-dir={folder}/profile", f"--window-size={width},{height}"]
        command += ["--virtual-time-budget=5000", f"--screenshot={shot}", f"{page.resolve().as_uri()}#{fragment}"]
        said = _run(command)
        if not shot.is_file():
            raise ContactSimError(f"{browser} took no picture of {page.name}; run it again or open the page", said=said)
        shutil.copyfile(shot, picture)


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {_PATIENCE:g} s"
    return done.stderr
