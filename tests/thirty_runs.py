"""Runs of every kind, kept with all that they gave, and held against what the engine gives now.

    python tests/thirty_runs.py store --rtol 1e-8 --out FILE [--only NAME ...]     the runs of this version, in a file
    python tests/thirty_runs.py compare DIRECTORY FILE ...                         files against those of a directory

The reference in `data/thirty_runs` was made with two accuracies, each under three sets of BLAS kernels: so it knows
what rounding does: a number may differ from the nearest of the three by ten times what they differ among each other, or
by what `BASES` says. The kernels are those of the variable OPENBLAS_CORETYPE; scenes are in `thirty_scenes.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small

import numpy as np
from thirty_scenes import SCENES, Scene

import contactsim as cs

Array = np.ndarray
REFERENCE = Path(__file__).parent / "data" / "thirty_runs"
SETS = ("Haswell", "Nehalem", "SkylakeX")
ACCURACIES = (1e-8, 1e-11)
SAMPLES = 15
PHASE = 0.37  # of the spacing of the samples, so that none falls on a round time
DIRECTIONS = 3  # along which a run is differentiated
WHOLE = 12  # size up to which saltation matrices are kept whole; of larger ones, what they do to the directions
EXACT = 1e-12  # of a matrix that is the identity
SALTATIONS = 12  # events whose saltation matrix is kept
CLOSE = 1e-7  # s, samples this close to an event may lie on either side of it
SPREADS = 10.0  # times the spread of the reference that a number may differ
BASES = {  # what it may differ at any rate
    "time": 1e-11,  # s
    "instants": 1e-11,  # s
    "after": 1e-9,  # m, rad and their rates
    "impulse": 1e-9,  # N s
    "state": 1e-9,
    "final": 1e-9,
    "force": 1e-7,  # from here on relative to the largest entry
    "saltation": 1e-7,
    "matrix": 1e-7,
    "along": 1e-7,
    "parameter": 1e-7,
    "regained": 1e-7,
}
ABSOLUTE = ("time", "instants", "after", "impulse", "state", "final")
EACH_EVENT = ("time", "after", "impulse", "saltation")
SAMPLED = ("state", "force")


@dataclass
class Record:
    """What a run gave: words, and numbers by name.

    Attributes:
        status: how it ended, or the error it ended with.
        events: of each event what changed, what took an impulse, and what came to rest after bounces without end.
        refused: {what was asked: error}.
        told: what is kept but not compared.
        numbers: arrays by names such as "time/3" (of event 3), "state/7" (at the sample 7), "matrix".
    """

    status: str
    events: list[list[list[str]]] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, Array] = field(default_factory=dict)


@dataclass
class Runs:
    """The records of one accuracy under one set of kernels."""

    rtol: float
    kernels: str
    records: dict[str, Record]

    def save(self, path: Path) -> None:
        """Write all numbers as one vector, and the words with their layout as JSON."""
        texts, parts = {}, [np.empty(0)]
        for name, record in self.records.items():
            layout = {key: list(array.shape) for key, array in record.numbers.items()}
            parts += [array.ravel() for array in record.numbers.values()]
            texts[name] = {**vars(record), "numbers": layout}
        text = json.dumps({"rtol": self.rtol, "kernels": self.kernels, "records": texts})
        with path.open("wb") as file:
            np.savez_compressed(file, text=np.frombuffer(text.encode(), np.uint8), numbers=np.concatenate(parts))

    @staticmethod
    def load(path: Path) -> Runs:
        """Read what `save` wrote."""
        with np.load(path) as file:
            stored, numbers = json.loads(file["text"].tobytes()), file["numbers"]
        records, at = {}, 0
        for name, words in stored["records"].items():
            arrays = {}
            for key, shape in words["numbers"].items():
                size = int(np.prod(shape))
                arrays[key], at = numbers[at : at + size].reshape(shape), at + size
            records[name] = Record(**{**words, "numbers": arrays})
        return Runs(stored["rtol"], stored["kernels"], records)


# --- making records ---------------------------------------------------------------------------------------------------
def flat(state: Any) -> Array:
    """All numbers of a state."""
    parts = (state.q, state.v, state.z) if hasattr(state, "q") else (state,)
    return np.concatenate([np.ravel(part) for part in parts]).astype(float)


def spelled(mode: Any) -> str:
    """The name of a mode, or of what stands for one in a model."""
    return str(getattr(mode, "name", mode))


def words(event: cs.Event) -> list[list[str]]:
    """What changed at an event, constraints among it; what took an impulse; and what stopped bouncing."""
    changes = [f"{name}:{spelled(a)}>{spelled(b)}" for name, (a, b) in event.transitions.items()]
    constraints = [f"constraint:{name}" for name in event.constraints]
    return [sorted([*changes, *constraints]), sorted(event.impulses), sorted(event.accumulated)]


def simulated(scene: Scene, rtol: float) -> cs.Trajectory:
    """The run of a scene, with what its simulation is told on the way."""
    base = scene.options.get("tolerances") or getattr(scene.system, "preferred_tolerances", None) or cs.Tolerances()
    options = scene.options | {"tolerances": replace(base, rtol=rtol, atol=1e-2 * rtol)}
    simulation = cs.Simulation(scene.system, scene.state, scene.span[0], **options)
    for at, method, arguments in scene.steps:
        simulation.advance_to(at)
        getattr(simulation, method)(*arguments)
    simulation.advance_to(scene.span[1])
    return simulation.trajectory


def record(name: str, rtol: float) -> Record:
    """Run a scene, and keep what it gives."""
    began, scene = time.perf_counter(), SCENES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = simulated(scene, rtol)
        except cs.ContactSimError as error:
            return Record(type(error).__name__)
        found = Record(run.status.name, [words(event) for event in run.events])
        found.told = {"evaluations": run.evaluations, "simulated": round(time.perf_counter() - began, 2)}
        _keep_run(found, run, scene.span)
        if scene.derive:
            _keep_derivatives(found, run, scene.parameters)
    found.told["seconds"] = round(time.perf_counter() - began, 2)
    return found


def _keep_run(found: Record, run: cs.Trajectory, span: tuple[float, float]) -> None:
    numbers = found.numbers
    for k, event in enumerate(run.events):
        numbers[f"time/{k}"], numbers[f"after/{k}"] = np.array([float(event.time)]), flat(event.state_post)
        for name in sorted(event.impulses):
            numbers[f"impulse/{k}/{name}"] = np.array(event.impulses[name], dtype=float)
    numbers["instants"] = np.array([float(event.time) for event in run.all_events])
    numbers["final"] = flat(run.final)
    for j, t in enumerate(sample_times(span)):
        if t < run.t[-1]:
            numbers[f"state/{j}"] = flat(run(t))
            forces = _forces(run, t)
            if forces.size:
                numbers[f"force/{j}"] = forces


def _forces(run: cs.Trajectory, t: float) -> Array:
    """All contact forces, by the order of the contacts' names; none of a system that has none."""
    try:
        forces = run.forces(t)
    except cs.InputError:
        return np.empty(0)
    return np.concatenate([np.empty(0), *(np.ravel(forces[name]) for name in sorted(forces))])


def sample_times(span: tuple[float, float]) -> Array:
    """Times (SAMPLES,) between the start and the end."""
    return span[0] + (np.arange(SAMPLES) + PHASE) / SAMPLES * (span[1] - span[0])


def directions(size: int) -> Array:
    """Variations (DIRECTIONS, size), the same for every run of that size."""
    return np.random.default_rng(size).normal(size=(DIRECTIONS, size))


def _keep_derivatives(found: Record, run: cs.Trajectory, parameters: Sequence[str]) -> None:
    lin = cs.linearize(run)
    _ask(found, "regained", lin.regained)
    _ask(found, "matrix", lin.matrix)
    _ask(found, "along", lambda: lin(directions(lin.dim)))
    for name in parameters:
        _ask(found, f"parameter/{name}", lambda name=name: lin.parameter(name))
    for k, event in enumerate(lin.events[:SALTATIONS]):
        _ask(found, f"saltation/{k}", lambda event=event: _narrowed(event.saltation))


def _ask(found: Record, what: str, question: Callable[[], Array]) -> None:
    """Keep an answer, or the name of the error in its place."""
    try:
        found.numbers[what] = np.array(question(), dtype=float)
    except cs.ContactSimError as error:
        found.refused[what] = type(error).__name__


def _narrowed(matrix: Array) -> Array:
    size = matrix.shape[1]
    return matrix if size <= WHOLE else directions(size) @ matrix.T


# --- comparing --------------------------------------------------------------------------------------------------------
@dataclass
class Verdict:
    """How far a run is from its reference.

    Attributes:
        worst: the largest difference over the allowed one.
        where: the number that has it, or what is broken.
        spread: the largest difference between the reference's own runs over the allowed one without them.
        notes: what was not compared, and why.
    """

    worst: float = 0.0
    where: str = ""
    spread: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether all differences are allowed."""
        return self.worst <= 1.0

    def see(self, ratio: float, where: str) -> None:
        """Take in one more difference."""
        if not ratio <= self.worst:
            self.worst, self.where = float(ratio), where


def common_events(references: Sequence[Record]) -> int | None:
    """Events before the first in which references differ; None where none differ."""
    first = references[0]
    if all(other.events == first.events for other in references):
        return None
    counts = [len(other.events) for other in references]
    same = (k for k in range(min(counts)) if any(other.events[k] != first.events[k] for other in references))
    return next(same, min(counts))


def judged(new: Record, references: Sequence[Record], span: tuple[float, float]) -> Verdict:
    """Hold a run against those of the reference."""
    verdict, first, common = Verdict(), references[0], common_events(references)
    if common is not None:
        verdict.notes.append(f"the reference's own runs differ from event {common} on, and are compared up to it")
    wanted = first.events[:common]
    if new.events[:common] != wanted:
        k = next((k for k, (a, b) in enumerate(zip(new.events, wanted, strict=False)) if a != b), -1)
        seen, due = (new.events[k], wanted[k]) if k >= 0 else (len(new.events), len(wanted))
        verdict.see(np.inf, f"event {k}: {seen}, not {due}" if k >= 0 else f"{seen} events, not {due}")
        return verdict
    if common is None and (new.status, new.refused) not in [(r.status, r.refused) for r in references]:
        verdict.see(np.inf, f"ended as {new.status} {new.refused}, not {first.status} {first.refused}")
    references = [_of_what_remains(known, new) for known in references]
    names = list(_comparable(references, common, span))
    spreads = _spreads(references, names, span)
    for name in names:
        _compare(verdict, name, new, references, spreads[name])
    return verdict


def _of_what_remains(known: Record, new: Record) -> Record:
    """A record of the reference with derivatives by what remains of variations that leave the mode of the start.

    Where the reference does not tell what remains, it followed them as they are, in that mode.
    """
    regained, matrix = new.numbers.get("regained"), known.numbers.get("matrix")
    if "regained" in known.numbers or regained is None or matrix is None:
        return known
    if np.allclose(regained, np.eye(len(regained)), rtol=0.0, atol=EXACT):
        return known
    whole = matrix @ regained
    along = {"along": directions(len(regained)) @ whole.T} if "along" in known.numbers else {}
    return replace(known, numbers=known.numbers | {"matrix": whole} | along)


def _spreads(references: Sequence[Record], names: Sequence[str], span: tuple[float, float]) -> dict[str, float]:
    """How far the references are apart in each number; samples between the same two events share the widest.

    In which step a sample falls is up to rounding, so that the spread of three may be small by luck at one of them.
    """
    own = {name: _apart([r.numbers[name] for r in references]) for name in names}
    times = [float(references[0].numbers[f"time/{k}"][0]) for k in range(len(references[0].events))]
    stretches = np.searchsorted(times, sample_times(span))
    shared: dict[tuple[str, int], float] = {}
    places = {name: _stretch(name, stretches) for name in names}
    for name, place in places.items():
        shared[place] = max(shared.get(place, 0.0), own[name])
    return {name: shared[place] for name, place in places.items()}


def _stretch(name: str, stretches: Array) -> tuple[str, int]:
    kind, _, rest = name.partition("/")
    return (kind, int(stretches[int(rest)])) if kind in SAMPLED else (name, 0)


def _apart(arrays: Sequence[Array]) -> float:
    """Largest difference between any two; none of arrays that are not of one size."""
    if len({array.shape for array in arrays}) > 1:
        return 0.0
    return max((largest(a - b) for a, b in combinations(arrays, 2)), default=0.0)


def _comparable(references: Sequence[Record], common: int | None, span: tuple[float, float]) -> Iterator[str]:
    """Names of the numbers that can be compared: all, or those before the references part."""
    times = [float(r.numbers[f"time/{k}"][0]) for r in references for k in range(len(r.events))]
    ends = [float(r.numbers[f"time/{common}"][0]) for r in references if common is not None and common < len(r.events)]
    horizon, grid = min(ends, default=np.inf), sample_times(span)
    for name in references[0].numbers:
        kind, _, rest = name.partition("/")
        number = int(rest.split("/")[0]) if kind in (*EACH_EVENT, *SAMPLED) else 0
        if not all(name in r.numbers for r in references):
            continue
        if kind in SAMPLED:
            t = grid[number]
            if t < horizon - CLOSE and all(abs(t - other) > CLOSE for other in times):
                yield name
        elif common is None or (kind in EACH_EVENT and number < common):
            yield name


def _compare(verdict: Verdict, name: str, new: Record, references: Sequence[Record], spread: float) -> None:
    known, kind = [r.numbers[name] for r in references], name.partition("/")[0]
    if len({array.shape for array in known}) > 1:
        verdict.notes.append(f"'{name}' is not of one size in the reference")
        return
    mine = new.numbers.get(name)
    if mine is None or mine.shape != known[0].shape:
        verdict.see(np.inf, f"'{name}' has shape {None if mine is None else mine.shape}, not {known[0].shape}")
        return
    base = BASES[kind] * (1.0 if kind in ABSOLUTE else max(largest(known[0]), 1e-9))
    verdict.spread = max(verdict.spread, spread / base)
    verdict.see(min(largest(mine - other) for other in known) / max(base, SPREADS * spread), name)


def largest(array: Array) -> float:
    """Largest absolute entry; infinite where one is not a number."""
    size = float(np.abs(array).max(initial=0.0))
    return size if size == size else float("inf")


@cache
def reference(rtol: float, where: Path = REFERENCE) -> tuple[Runs, ...]:
    """The stored runs of an accuracy."""
    stored = [Runs.load(path) for path in sorted(where.glob("*.npz"))]
    return tuple(runs for runs in stored if runs.rtol == rtol)


def compared(name: str, new: Record, rtol: float, where: Path = REFERENCE) -> Verdict:
    """Hold the run of a scene against the reference of its accuracy."""
    known = [runs.records[name] for runs in reference(rtol, where) if name in runs.records]
    if not known:
        return Verdict(float("inf"), "there is no reference")
    return judged(new, known, SCENES[name]().span)


# --- the program ------------------------------------------------------------------------------------------------------
def store(rtol: float, out: Path, only: Sequence[str]) -> None:
    """Run all scenes, or some, and write what they give."""
    records = {}
    for name in only or SCENES:
        records[name] = found = record(name, rtol)
        told = found.told
        print(
            f"{name:30s} {found.status:22s} {len(found.events):4d} events {told.get('simulated', 0.0):7.2f} s"
            f" {told.get('seconds', 0.0):7.2f} s {told.get('evaluations', 0):7d} evaluations {found.refused or ''}",
            flush=True,
        )
    Runs(rtol, os.environ.get("OPENBLAS_CORETYPE", "default"), records).save(out)
    print(f"{len(records)} runs, {out.stat().st_size / 1e3:.0f} kB in {out.name}")


def compare(where: Path, files: Sequence[Path]) -> bool:
    """Print how far the runs of each file are from the reference; whether all are near enough."""
    broken = 0
    for file in files:
        runs = Runs.load(file)
        print(f"{file.name}: rtol {runs.rtol:g}, kernels {runs.kernels}")
        for name, new in runs.records.items():
            verdict = compared(name, new, runs.rtol, where)
            broken += not verdict.holds
            state = "" if verdict.holds else "BROKEN "
            told = f"  ({'; '.join(verdict.notes)})" if verdict.notes else ""
            print(f"{name:30s} {verdict.worst:9.2g} {verdict.spread:9.2g}  {state}{verdict.where}{told}")
    print(f"{broken} runs are broken" if broken else "all runs agree with the reference")
    return not broken


def main(arguments: Sequence[str] | None = None) -> int:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    storing = commands.add_parser("store", help="run all scenes and write what they give")
    storing.add_argument("--rtol", type=float, default=ACCURACIES[0])
    storing.add_argument("--out", type=Path, required=True)
    storing.add_argument("--only", nargs="+", choices=list(SCENES), metavar="NAME", default=[])
    comparing = commands.add_parser("compare", help="hold files against a reference")
    comparing.add_argument("directory", type=Path)
    comparing.add_argument("files", type=Path, nargs="+", metavar="FILE")
    asked = parser.parse_args(arguments)
    if asked.command == "store":
        store(asked.rtol, asked.out, asked.only)
        return 0
    return 0 if compare(asked.directory, asked.files) else 1


if __name__ == "__main__":
    sys.exit(main())
