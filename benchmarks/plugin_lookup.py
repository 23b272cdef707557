"""How long does it take to find plugins by name, in a fresh process, and to load one?

Nothing is looked up when contactsim is imported; the first look-up reads the entry points of the environment.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from common import line

ROUNDS = 15
ASK = """
import time
from contactsim.common import registry
start = time.perf_counter()
registry.names("contact_laws")
first = time.perf_counter()
for group in registry.GROUPS:
    registry.names(group)
print(first - start, time.perf_counter() - start)
"""
LOAD = """
import time
import contactsim as cs
from contactsim.common import registry
cs.ContactSystem, cs.load_model
start = time.perf_counter()
registry.load("contact_laws", "coulomb")
print(time.perf_counter() - start)
"""


def times(code: str) -> list[float]:
    """What a program prints [s]."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return [float(value) for value in done.stdout.split()]


def main() -> None:
    """Print the medians."""
    asked = [times(ASK) for _ in range(ROUNDS)]
    loaded = [times(LOAD)[0] for _ in range(ROUNDS)]
    for name, values in (
        ("names of one group of plugins", [row[0] for row in asked]),
        ("names of all groups", [row[1] for row in asked]),
        ("a law by name, looked up, imported and checked", loaded),
    ):
        line(name, f"median of {ROUNDS}", 1e3 * statistics.median(values), 50.0, " ms")


if __name__ == "__main__":
    main()
