"""Findings of `contactsim doctor`, each with a remedy."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from .. import __version__
from ..common import registry
from ..common.lazy import dataclass
from ..common.schemas import is_installed
from ..common.threads import VARIABLES
from ..contact_dynamics import engines
from ..errors import InputError

NEEDED = {"pin": "pinocchio", "numpy": "numpy", "scipy": "scipy", "pydantic": "pydantic", "xarray": "xarray",
          "h5netcdf": "h5netcdf", "h5py": "h5py", "clarabel": "clarabel"}  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True)
class Finding:
    """One look: what was looked at, what was found, whether it is well, and what to do where it is not."""

    what: str
    found: str
    well: bool = True
    remedy: str = ""
    needed: bool = True


def findings() -> Iterator[Finding]:
    """Everything that is looked at, in order."""
    yield Finding("contactsim", __version__)
    yield Finding("Python", platform.python_version(), sys.version_info >= (3, 11), "install Python 3.11 or newer")
    for package, module in NEEDED.items():
        yield _package(package, module)
    yield _threads()
    yield _engine()
    yield from _plugins()
    yield _robots()
    yield _optional("meshcat", "--html, --png and --view")
    yield _browser()
    yield _ffmpeg()
    yield _optional("matplotlib", "--plots")
    yield _optional("mujoco", "MJCF files")


def _engine() -> Finding:
    """The engine of arcs; that in Python is as right, and slower."""
    try:
        name = engines.chosen(None)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            works = engines.engine(name) is not None or name == engines.PYTHON
    except InputError as error:
        return Finding("engine", str(error), False, f"unset {engines.VARIABLE}")
    if not works:
        reason = str(told[0].message) if told else f"'{name}' does not load"
        return Finding("engine", reason, False, f"install it anew, or set {engines.VARIABLE}=python")
    faster = " (compiled arcs: pip install ./plugins/contactsim_native)" if name == engines.PYTHON else ""
    return Finding("engine", name + faster)


def _package(package: str, module: str) -> Finding:
    try:
        found = version(package)
        import_module(module)
    except PackageNotFoundError:
        return Finding(package, "not installed", False, f"pip install {package}")
    except Exception as error:
        return Finding(package, f"fails on import: {error}", False, f"pip install --force-reinstall {package}")
    return Finding(package, found)


def _threads() -> Finding:
    well = any(os.environ.get(name) == "1" for name in VARIABLES)
    found = "1" if well else f"not limited ({os.cpu_count()} cores)"
    remedy = f"export {VARIABLES[0]}=1 for programs of your own, which are slower on many; this command does so itself"
    return Finding("BLAS threads", found, well, remedy, needed=False)


def _plugins() -> Iterator[Finding]:
    found = registry.survey()
    broken = [plugin for plugin in found if plugin.error]
    yield Finding(
        "plugins", f"{len(found) - len(broken)} load", bool(found), "pip install --force-reinstall contactsim"
    )
    for plugin in broken:
        yield Finding(f"plugin {plugin.name}", plugin.error, False, f"mend or uninstall {plugin.distribution}", False)


def _robots() -> Finding:
    from .listings import entries

    known = is_installed("example-robot-data")
    return Finding("robots", f"{len(entries()[0])} by name", known, "pip install 'contactsim[robots]', for more", False)


def _optional(package: str, use: str) -> Finding:
    try:
        return Finding(package, version(package))
    except PackageNotFoundError:
        return Finding(package, "not installed", False, f"pip install {package}, for {use}", False)


def _browser() -> Finding:
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    return Finding("browser", found or "none", bool(found), "install Chromium, for --png", False)


def _ffmpeg() -> Finding:
    found = "imageio-ffmpeg" if find_spec("imageio_ffmpeg") else shutil.which("ffmpeg")
    return Finding("ffmpeg", found or "none", bool(found), "pip install 'contactsim[film]', for --mp4", False)


def examine() -> int:
    """Print the findings; 1 where something is missing without which nothing runs."""
    from rich.markup import escape

    from ..common.terminal import table as folding
    from ..common.terminal import terminal

    console = terminal()
    table = folding("what", "found", "", "what to do")
    broken = False
    for finding in findings():
        mark = "[green]ok[/]" if finding.well else "[red]missing[/]" if finding.needed else "[yellow]optional[/]"
        broken = broken or (finding.needed and not finding.well)
        table.add_row(escape(finding.what), escape(finding.found), mark, "" if finding.well else escape(finding.remedy))
    console.print(table)
    return int(broken)
