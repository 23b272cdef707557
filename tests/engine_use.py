"""Which modules of tests ask for an engine: what the others test is the same with each, and needs to be run with one.

CONTACTSIM_ENGINE_USE=FILE writes it. With CONTACTSIM_ENGINE_USE_ONLY=1, too, it is read, and modules that ran while it
was written and did not ask are left out.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

FILE, ONLY = "CONTACTSIM_ENGINE_USE", "CONTACTSIM_ENGINE_USE_ONLY"
RAN, ASKED = "ran", "asked"
TESTS = Path(__file__).parent
_imported = ""  # the module of tests that is imported
STARTS = frozenset({"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"})


def module_of(test: str) -> str:
    """The file of a test by its id; "" of what is no test, such as an import."""
    return test.partition("::")[0]


def current() -> str:
    """The test that runs, or the module that is imported to be tested; "": neither, or it imports what others may."""
    return os.environ.get("PYTEST_CURRENT_TEST", "") or ("" if _imports_a_helper(_imported) else _imported)


@contextmanager
def importing(module: str) -> Iterator[None]:
    """While a module of tests is imported: what it asks for then, it asks for itself."""
    global _imported
    _imported = module
    try:
        yield
    finally:
        _imported = ""


def _imports_a_helper(module: str) -> bool:
    """Whether what runs is a module of the tests' folder, beside or below the one that is imported to be tested."""
    frame = sys._getframe()
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if frame.f_code.co_name == "<module>" and file.is_relative_to(TESTS) and not file.as_posix().endswith(module):
            return True
        frame = frame.f_back
    return False


def lacks(skipped: object) -> bool:
    """Whether a test was skipped since something is not installed, perhaps an engine."""
    reason = str(skipped[-1]) if isinstance(skipped, tuple) else str(skipped)
    return "import" in reason or "install" in reason


class Log:
    """Modules that ran, and those that asked: a line each, written by processes that test at once."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._written: set[str] = set()

    def note(self, what: str, test: str) -> None:
        line = f"{what} {module_of(test)}\n"
        if line not in self._written:
            self._written.add(line)
            with self._file.open("a", encoding="utf-8") as out:
                out.write(line)

    def quiet(self) -> frozenset[str]:
        """Modules that ran and did not ask; none where something asked that is no test."""
        noted = {tuple(line.split(" ", 1)) for line in self._file.read_text(encoding="utf-8").splitlines()}
        asked = {module for what, module in noted if what == ASKED}
        return frozenset() if "" in asked else frozenset(module for what, module in noted if what == RAN) - asked


def watch(log: Log) -> None:
    """Note who asks for an engine, and which tests start other programs, which may."""
    from contactsim.contact_dynamics import engines

    def asks(choose: Callable[[str | None], str]) -> Callable[[str | None], str]:
        @wraps(choose)
        def chosen(name: str | None) -> str:
            log.note(ASKED, current())
            return choose(name)

        return chosen

    def starts(event: str, arguments: object) -> None:
        if event in STARTS and current():
            log.note(ASKED, current())

    platform.uname().processor  # noqa: B018 - which Python finds out once, by a program
    engines.chosen = asks(engines.chosen)
    if (world := sys.modules.get("contactsim.contact_dynamics.world")) is not None:
        world.chosen = engines.chosen
    sys.addaudithook(starts)


def left_out(tests: Iterable[str], quiet: frozenset[str]) -> list[bool]:
    """Which tests need not be run on another engine."""
    return [module_of(test) in quiet for test in tests]
