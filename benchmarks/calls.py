"""How much of our code does a reader pass to follow one sticking rate, one slipping rate and one touch-down?

Every call of a Python function of ours is noted while one of them is computed: functions are told apart by their code;
comprehensions, lambdas and functions made within others are counted for themselves. A rate is one evaluation by the
stepper of a run, a touch-down one transition. Last, the modules of ours that `contactsim run hexapod` imports.

With --list, the functions are printed, too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
from common import line
from run import scene

import contactsim as cs
from contactsim.contact.modes import Phase
from contactsim.hybrid.stepper import Stepper
from contactsim.io import scene as scenes

ROOT = Path(cs.__file__).parents[1]
OURS = tuple(f"{ROOT / folder}/" for folder in ("contactsim", "plugins", "robots", "viz"))
WANTED = {"sticking rate": (20, 4), "slipping rate": (40, 6), "touch-down": (60, 8)}
MODULES = 60
COUNT_MODULES = """
import sys
from contactsim.cli.command import app
try:
    app(["run", "hexapod", "--time", "0.01", "--out", sys.argv[1]])
except SystemExit:
    pass
print("modules", sum(name.partition(".")[0].startswith("contactsim") for name in sys.modules))
"""


class Calls:
    """The calls of our functions while a job is done."""

    def __init__(self, job: Callable[[], object]) -> None:
        self.functions, self.inner = Counter[CodeType](), Counter[CodeType]()
        job()  # what is prepared once is prepared
        sys.setprofile(self._note)
        try:
            job()
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS):
            within = code.co_name.startswith("<") or "<locals>" in code.co_qualname
            (self.inner if within else self.functions)[code] += 1

    @property
    def files(self) -> int:
        """The number of files that all of them lie in."""
        return len({code.co_filename for code in (*self.functions, *self.inner)})

    def told(self, what: str, which: str) -> None:
        """Print a line of the table."""
        functions, files = WANTED[which]
        calls, own = self.functions.total() + self.inner.total(), len(self.functions)
        line(what, f"{calls} calls of {own} functions and {len(self.inner)} within others", own, functions, "")
        line(f"{what}: files", "", self.files, files, "")

    def listed(self) -> None:
        """Print the functions, file by file."""
        rows = [(code.co_filename.removeprefix(str(ROOT)), code.co_qualname, n) for code, n in self.functions.items()]
        for file, name, n in sorted(rows):
            print(f"    {n:4d}  {file}  {name}")


def hexapod() -> tuple[cs.ContactSystem, cs.Trajectory]:
    """The hexapod in the first steps of its demonstration."""
    built = scenes.build(scenes.assemble({"robot": {"name": "hexapod"}}, (), where="the hexapod"))
    return built.system, cs.simulate(built.system, built.state, (0.0, 1.5), tolerances=built.options["tolerances"])


def drop() -> tuple[cs.ContactSystem, cs.Trajectory]:
    """solo12 in its fall onto its feet."""
    system, start = scene(False)
    return system, cs.simulate(system, start, (0.0, 1.0), tolerances=cs.Tolerances(rtol=1e-8))


def landings(trajectory: cs.Trajectory) -> Iterator[Any]:
    """Events at which contacts land, and none does anything else."""
    for event in trajectory.events:
        kinds = [name[0] for name in event.fired if isinstance(name, tuple)]
        if kinds and set(kinds) == {"gap"}:
            yield event


def touch_down(system: cs.ContactSystem, event: Any) -> Callable[[], object]:
    """The transition of an event."""
    return lambda: system.transition(event.time, event.x_pre, event.mode_pre, event.fired)


def rate(system: cs.ContactSystem, trajectory: cs.Trajectory, slips: bool) -> Callable[[], object] | None:
    """One rate in an arc where all closed contacts stick, or some slip; another state at each call; None: no arc."""
    arc: Any
    for arc in trajectory.arcs:
        states = [state for state in arc.mode.contacts if state.closed]
        sliding = [state.phase in (Phase.FREE, Phase.DIRECTED) for state in states]
        still = all(state.mode is cs.Mode.STICK for state in states)
        if states and not arc.mode.redundant and (any(sliding) if slips else still):
            break
    else:
        return None
    t, x, space = arc.t0, arc(arc.t0), system.space(arc.mode)
    stepper = Stepper(system.flow(arc.mode).rebased(t, x), space, t, x, "DOP853", cs.Tolerances(), None)
    nudges = iter(1e-9 * np.random.default_rng(0).normal(size=(2, space.dim)))
    return lambda: stepper._rate(t, next(nudges))


def modules() -> int:
    """Modules of ours that the command imports to run the hexapod."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", COUNT_MODULES, folder]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(said.split("modules ")[-1])


def main() -> None:
    """Count, and print the table."""
    listed = "--list" in sys.argv
    for name, (system, trajectory) in (("solo12", drop()), ("hexapod", hexapod())):
        jobs = {
            "sticking rate": rate(system, trajectory, slips=False),
            "slipping rate": rate(system, trajectory, slips=True),
            "touch-down": touch_down(system, next(landings(trajectory))),
        }
        for which, job in jobs.items():
            if job is None:
                continue
            calls = Calls(job)
            calls.told(f"{which} of {name}", which)
            if listed:
                calls.listed()
    line("modules that `contactsim run hexapod` imports", "", modules(), MODULES, "")


if __name__ == "__main__":
    main()
