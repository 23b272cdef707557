"""How long do `contactsim --help` and `import contactsim` take, each in a fresh process?

The import is counted beyond pinocchio's own; the public names are asked for too, so that lazy imports are paid.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from common import line

ROUNDS = 15
PIN = "import pinocchio"
IMPORT = "import pinocchio, contactsim"
NAMES = "import pinocchio, contactsim as cs; [getattr(cs, name) for name in cs.__all__]"


def seconds(command: list[str]) -> float:
    """Wall time of a process [s]."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Take turns, and print the medians."""
    program = str(Path(sys.executable).with_name("contactsim"))
    commands = [[program, "--help"], *([sys.executable, "-c", code] for code in (PIN, IMPORT, NAMES))]
    for command in commands:
        seconds(command)
    rounds = [[seconds(command) for command in commands] for _ in range(ROUNDS)]
    line("`contactsim --help`", f"median of {ROUNDS}", statistics.median(r[0] for r in rounds), 0.5, " s")
    for name, k in (("`import contactsim`", 2), ("the same, and all its public names", 3)):
        own = statistics.median(r[k] - r[1] for r in rounds)
        line(f"{name}, beyond pinocchio", f"median of {ROUNDS}", own, 0.3, " s")


if __name__ == "__main__":
    main()
