"""How long do `contactsim --help`, `import contactsim` and a first run take, each in a fresh process?

The import is counted beyond pinocchio's own; the public names are asked for too, so that lazy imports are paid. So is
the first run, on the engine that is installed and in Python: 10 ms of a biped that lands, by processor time, which
other things that the machine has to do change little. Modules are compiled to bytecode before, as those of an installed
package are, in a folder of their own: where Python is told to write none (PYTHONDONTWRITEBYTECODE), compiling them
anew takes as long as all the rest.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from common import line

from contactsim.contact_dynamics.engines import PYTHON, chosen

ROUNDS = 15
PIN = "import pinocchio"
IMPORT = "import pinocchio, contactsim"
NAMES = "import pinocchio, contactsim as cs; [getattr(cs, name) for name in cs.__all__]"

FIRST_RUN = """
import time, pinocchio
start = time.process_time()
import contactsim as cs
robot = cs.load_robot("biped")
q = robot.nominal.copy()
q[1] += 1e-4
system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=10.0, kd=0.4))
cs.simulate(system, cs.State(q, 0.0 * q), (0.0, 0.01))
print(time.process_time() - start)"""


def with_bytecode(folder: str) -> dict[str, str]:
    """Environment of a process that keeps its bytecode in a folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": folder}


def first_run(engine: str, own: dict[str, str]) -> float:
    """Shortest processor time [s] from the import to the end of a first run."""
    command, own = [sys.executable, "-c", FIRST_RUN], {**own, "CONTACTSIM_ENGINE": engine}
    told = [subprocess.run(command, check=True, capture_output=True, text=True, env=own) for _ in range(ROUNDS)]
    return min(float(done.stdout) for done in told)


def seconds(command: list[str], own: dict[str, str]) -> float:
    """Wall time of a process [s]."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=own)
    return time.perf_counter() - start


def main() -> None:
    """Take turns, and print the medians."""
    with TemporaryDirectory() as folder:
        measure(with_bytecode(folder))


def measure(own: dict[str, str]) -> None:
    """All in one environment."""
    program = str(Path(sys.executable).with_name("contactsim"))
    commands = [[program, "--help"], *([sys.executable, "-c", code] for code in (PIN, IMPORT, NAMES))]
    for command in commands:
        seconds(command, own)
    rounds = [[seconds(command, own) for command in commands] for _ in range(ROUNDS)]
    line("`contactsim --help`", f"median of {ROUNDS}", statistics.median(r[0] for r in rounds), 0.5, " s")
    for name, k in (("`import contactsim`", 2), ("the same, and all its public names", 3)):
        taken = statistics.median(r[k] - r[1] for r in rounds)
        line(f"{name}, beyond pinocchio", f"median of {ROUNDS}", taken, 0.3, " s")
    for engine in dict.fromkeys((chosen(None), PYTHON)):
        taken = first_run(engine, own)
        name = f"import, robot and first run on engine {engine}, beyond pinocchio"
        line(name, f"processor time, least of {ROUNDS}", taken, 0.05, " s")


if __name__ == "__main__":
    main()
