"""A run as one netCDF-4 file: samples to read with any tool, and all that is needed to evaluate it again.

Groups: ``trajectory`` (samples along the dimension `sample`; both sides of a jump share a `time`), ``events``, ``arcs``
and ``dense`` (each step as a Chebyshev polynomial of the chart around a base state). Attributes of the file: the format
and its version, how the run ended, the system as JSON, and the scene it was started from, if there was one. Where `set`
or `push` changed a ContactSystem in the course of the run, the system is that of its end, and `variants` lists what was
different on the way: values of parameters, pushes, and inputs of `step`; the variable `system` of ``arcs`` is the
number of the variant.

A further group ``linearization`` holds the derivative of the run, where it was asked for; see `save_linearization`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..common import registry
from ..common.arrays import Array
from ..common.files import is_broken, sealed, unsealed, write_whole
from ..common.telling import tell
from ..contact.modes import ContactState, Mode, Phase, SystemMode
from ..contact_dynamics import is_contact_system
from ..errors import ContactSimError, InputError
from ..hybrid.manifold import Euclidean, Manifold
from ..hybrid.outcomes import Status
from ..hybrid.samples import STATE, about_forces, force_rows, mode_rows, padded
from ..hybrid.segments import Chain, Polynomial, Segment, polynomial
from ..hybrid.system import Dynamics, HybridSystem, Transition, completed
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Arc, Event, Settings, Trajectory

FORMAT = "contactsim-run"
VERSION = 1
REMEDY = "load it with Trajectory.load(path, system=...)"
SHOWN = 120  # characters of an error of a library that are told
SQUEEZE = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
UTF8 = {"_Encoding": "utf-8"}  # of texts


def save(trajectory: Trajectory, path: str | Path, scene: str = "") -> Path:
    """Write a run to one file; a file that is there already is replaced.

    Args:
        trajectory: the run.
        path: the file, customarily with the suffix .nc.
        scene: the scene file (TOML) that the run was started from; a run with one loads with its controller.

    Raises:
        InputError: the folder does not exist.
        StorageError: the disk is full, or does not let write; a file that was there is kept.
    """
    path = Path(path)
    systems = _systems(trajectory)
    if len(systems) > 1 and not all(map(is_contact_system, systems)):
        tell(
            f"the parameters of the {type(trajectory.system).__name__} were changed in this run; the file keeps the"
            " last ones, and derivatives of the loaded run take them",
        )
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; give a file such as {path / 'run.nc'}")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}; create it first")
    parts = {"trajectory": _samples, "events": _events, "arcs": _arcs, "dense": dense_group}
    groups = {name: made(trajectory) for name, made in parts.items()}
    write_whole(path, _bytes(_header(trajectory, scene), groups))
    return path


def load(path: str | Path, system: Dynamics | None = None) -> Trajectory:
    """Read a run that `save` wrote.

    The system is the one given; else that of the scene in the file; else it is rebuilt from the file, with stand-ins
    for its controller and other functions: states and modes are all there, and what needs the functions says so. Arcs
    before a `set` or `push` get copies of it with the parameters and pushes that they had; so a system may be given as
    it was at the start or at the end of the run.

    Raises:
        InputError: the file is missing, was not written by `save`, or its system cannot be rebuilt from it.
    """
    path = Path(path)
    header, groups = read(path)
    with _intact(path):
        made = _system_of(header, path) if system is None else completed(system)
    if system is None:
        with _intact(path):
            return _assemble(header, groups, _variants(header, made))
    try:
        return _assemble(header, groups, _variants(header, made))
    except (KeyError, IndexError, ValueError) as error:
        raise InputError(f"{path} does not fit the system ({error}); give the system that made the run") from error


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Errors of reading, told as damage of the file: its readers raise all kinds of them on broken bytes."""
    try:
        yield
    except ContactSimError:
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:SHOWN]
        raise InputError(
            f"{path} is a damaged run file ({type(error).__name__}: {text}); make the run again"
        ) from error


def scene_of(path: str | Path) -> str:
    """The scene (TOML) that a stored run was started from; empty where it was started from Python."""
    return str(read(Path(path), ())[0]["scene"])


# --- the file ---------------------------------------------------------------------------------------------------


def _bytes(header: Mapping[str, Any], groups: Mapping[str, Any]) -> bytes:
    """The file, made in memory: HDF5 does not survive a disk that fills up under it."""
    import h5netcdf

    made = io.BytesIO()
    with h5netcdf.File(made, "w") as file:
        file.attrs.update(header)
        for name, variables in groups.items():
            _add(file.create_group(name), variables)
    return sealed(made.getvalue())


def with_group(content: bytes, name: str, variables: Any) -> bytes:
    """A file with a group of variables added to it; one of that name is replaced."""
    import h5netcdf
    import h5py

    changed = io.BytesIO(unsealed(content))
    with h5py.File(changed, "a") as file:
        if name in file:
            del file[name]
    with h5netcdf.File(changed, "a") as file:
        _add(file.create_group(name), variables)
    return sealed(changed.getvalue())


def _add(group: Any, variables: Mapping[str, Any]) -> None:
    """Write {name: (dimensions, values[, attributes])} as xarray does, which takes a second to import.

    Texts are characters along a dimension more, and `time`, where it is no dimension, is a coordinate of all that lies
    along its own.
    """
    along = variables["time"][0] if "time" in variables else None
    for name, (given, values, *more) in variables.items():
        dims, attributes = [given] if isinstance(given, str) else list(given), dict(*more)
        if along in dims and name != "time":
            attributes["coordinates"] = "time"
        values = np.asarray(values)
        packing: dict[str, Any] = SQUEEZE if values.size > 64 else {}
        if values.dtype.kind == "U":
            values = np.char.encode(values, "utf-8")
            values = values.view("S1").reshape(*values.shape, values.itemsize)
            dims, attributes, packing = [*dims, f"string{values.shape[-1]}"], attributes | UTF8, {"compression": "gzip"}
        for dim, size in zip(dims, values.shape, strict=True):
            if dim not in group.dimensions:
                group.dimensions[dim] = size
        group.create_variable(name, dims, values.dtype, values, **packing).attrs.update(attributes)


def read(path: Path, names: Sequence[str] = ("events", "arcs", "dense")) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header of a file, and its groups by name.

    Raises:
        InputError: there is no such file, or it is not a run.
    """
    import h5netcdf

    if not path.is_file():
        raise InputError(f"there is no run file {path}; check the path")
    if is_broken(path):  # HDF5 itself may hang on such a file
        raise InputError(
            f"{path} is a damaged run file (its bytes are not those that were written); make the run again"
        )
    foreign = InputError(f"{path} is not a run written by contactsim; give a file that `contactsim run` or save() made")
    try:
        with h5netcdf.File(path, "r") as file:
            header = dict(file.attrs)
    except Exception as error:  # of whatever kind: a file of another format, or none at all
        raise foreign from error
    if header.get("format") != FORMAT:
        raise foreign
    with _intact(path):
        header["format_version"] = int(header["format_version"])
        missing = [key for key in ("contactsim_version", "status", "message", "system", "scene") if key not in header]
    if missing:
        raise InputError(f"{path} is a damaged run file (it has no {missing[0]}); make the run again")
    if header["format_version"] > VERSION:
        raise InputError(
            f"{path} was written by contactsim {header['contactsim_version']} in format {header['format_version']}, and"
            f" this version reads up to {VERSION}; update contactsim"
        )
    with _intact(path), h5netcdf.File(path, "r") as file:
        return header, {name: {key: _values(data) for key, data in file[name].variables.items()} for name in names}


def _values(variable: Any) -> Array:
    """An array of a file, with its characters joined to texts."""
    values = np.asarray(variable[...])
    if values.dtype.kind != "S":
        return values
    joined = np.ascontiguousarray(values).view(f"S{values.shape[-1]}").reshape(values.shape[:-1])
    return np.char.decode(joined, "utf-8")


def _header(trajectory: Trajectory, scene: str) -> dict[str, Any]:
    period = trajectory.record_period
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "contactsim_version": __version__,
        "status": trajectory.status.name,
        "message": trajectory.message,
        "notes": json.dumps(trajectory.notes),
        "record_period": np.nan if period is None else period,
        "evaluations": trajectory.evaluations,
        "system": json.dumps(_describe(trajectory.system)),
        "variants": json.dumps(_differences(_systems(trajectory))),
        "scene": scene,
        "settings": json.dumps(asdict(trajectory.settings)) if trajectory.settings is not None else "",
    }


# --- the system -------------------------------------------------------------------------------------------------


def _describe(system: HybridSystem) -> dict[str, Any]:
    if is_contact_system(system):
        from .description import describe

        return {"class": "ContactSystem"} | describe(system)
    from ..hybrid.charts import Model

    description: dict[str, Any] = {"class": type(system).__name__}
    if isinstance(system, Model):
        name = registry.name_of("models", type(system))
        return description | ({"model": name, "parameters": system.parameters.model_dump(mode="json")} if name else {})
    return description


def _system_of(header: Mapping[str, Any], path: Path) -> HybridSystem:
    description = json.loads(header["system"])
    if "model" in description:
        from ..hybrid.charts import load_model

        return load_model(description["model"], **description["parameters"])
    if description["class"] != "ContactSystem":
        raise InputError(f"{path} is a run of a {description['class']}, which is code; {REMEDY}")
    return _from_scene(header, description) or _from_description(description, path)


def _from_scene(header: Mapping[str, Any], description: dict[str, Any]) -> HybridSystem | None:
    """The system of the scene, where that still builds the one that made the run."""
    text = header["scene"]
    if not text:
        return None
    from .description import law_of, says
    from .scene import build, parse

    try:
        system = build(parse(text)).system
        if is_contact_system(system) and description["law"]["name"]:  # its defaults may have changed since
            system = system.with_law(law_of(description))
        system = _variants(header, system)[-1]
    except ContactSimError:
        return None
    return system if says(json.loads(json.dumps(_describe(system))), description) else None


def description_of(system: HybridSystem) -> dict[str, Any]:
    """A system as data that JSON can hold, with the text of its robot's file but not the places of its meshes."""
    description = json.loads(json.dumps(_describe(system)))
    if not description.get("robot"):
        return description
    from .description import without_paths

    return without_paths(description)


def _from_description(description: dict[str, Any], path: Path) -> HybridSystem:
    from .description import rebuild

    try:
        return rebuild(description)
    except ContactSimError as error:
        raise InputError(f"the system of {path} cannot be rebuilt ({error}); {REMEDY}") from error


# --- systems that set and push made on the way ------------------------------------------------------------------


def _systems(trajectory: Trajectory) -> list[HybridSystem]:
    """The systems of a run in their order, each once; the last is that of its end."""
    found = {id(arc.system): arc.system for arc in trajectory.arcs}
    found.pop(id(trajectory.system), None)
    return [*found.values(), trajectory.system]


def _differences(systems: Sequence[HybridSystem]) -> list[dict[str, Any]]:
    """For each system of several what is not the same in all of them; empty for a single one."""
    if len(systems) < 2 or not all(map(is_contact_system, systems)):
        return []
    from .description import differences

    return differences(systems)


def _variants(header: Mapping[str, Any], system: HybridSystem) -> list[HybridSystem]:
    """The systems of a run in their order, from one of them."""
    found = json.loads(header.get("variants", "[]"))
    if not found:
        return [system]
    from .description import variants

    return variants(found, system)


# --- samples, for reading with other tools ----------------------------------------------------------------------


def _samples(trajectory: Trajectory) -> dict[str, Any]:
    samples = trajectory.recorded
    group: dict[str, Any] = {"time": ("sample", samples.t, {"units": "s"})}
    if not isinstance(samples.modes, Mapping):
        return group | {"x": (("sample", "state"), samples.x), "mode": ("sample", mode_rows(samples))}
    for name, about in STATE.items():
        group[name] = (("sample", f"{name}_index"), getattr(samples, name), {"long_name": about})
    axes, forces, note = force_rows(samples)
    group["force"] = (("sample", "contact", "axis"), forces, about_forces(note))
    group["mode"] = (("sample", "contact"), mode_rows(samples))
    group["contact"] = ("contact", texts(samples.modes))
    group["axis"] = ("axis", texts(axes))
    return group


# --- events -----------------------------------------------------------------------------------------------------


def _events(trajectory: Trajectory) -> dict[str, Any]:
    events, table = trajectory.all_events, _mode_table(trajectory)
    transitions = [event.transition for event in events]
    impulses, contacts = stack([t.impulses for t in transitions], 1)
    residuals, laws = stack([t.residuals for t in transitions], 0)
    return {
        "time": ("event", np.array([event.time for event in events]), {"units": "s"}),
        "fired": ("event", texts(coded(tuple(sorted(event.fired, key=repr))) for event in events)),
        "changes": ("event", texts(coded(t.changes) for t in transitions)),
        "notes": ("event", texts(json.dumps(t.notes) for t in transitions)),
        "accumulated": ("event", texts(json.dumps(t.accumulated) for t in transitions)),
        "jammed": ("event", texts(json.dumps(t.jammed) for t in transitions)),
        "mode_pre": ("event", np.array([table[event.mode_pre] for event in events], dtype=int)),
        "mode_post": ("event", np.array([table[event.mode_post] for event in events], dtype=int)),
        "x_pre": (("event", "state"), padded([event.x_pre for event in events])),
        "x_post": (("event", "state"), padded([event.x_post for event in events])),
        "impulse": (("event", "impulse_contact", "axis"), impulses, {"units": "N s"}),
        "impulse_contact": ("impulse_contact", texts(contacts)),
        "residual": (("event", "law"), residuals),
        "law": ("law", texts(laws)),
    }


# --- modes ------------------------------------------------------------------------------------------------------


def _mode_table(trajectory: Trajectory) -> dict[Hashable, int]:
    """Every mode of the run with its number."""
    modes = [arc.mode for arc in trajectory.arcs]
    modes += [mode for event in trajectory.all_events for mode in (event.mode_pre, event.mode_post)]
    return {mode: k for k, mode in enumerate(dict.fromkeys(modes))}


# --- arcs --------------------------------------------------------------------------------------------------------


def _arcs(trajectory: Trajectory) -> dict[str, Any]:
    table = _mode_table(trajectory)
    numbers = {id(event): k for k, event in enumerate(trajectory.all_events)}
    systems = {id(system): k for k, system in enumerate(_systems(trajectory))}
    given = {} if trajectory.given is None else {"given": ("given_number", trajectory.given)}
    return given | {
        "mode_text": ("mode_number", texts(coded(mode) for mode in table)),
        "mode": ("arc", np.array([table[arc.mode] for arc in trajectory.arcs])),
        "event": ("arc", np.array([numbers[id(arc.event)] if arc.event else -1 for arc in trajectory.arcs])),
        "system": ("arc", np.array([systems[id(arc.system)] for arc in trajectory.arcs])),
    }


# --- reading ----------------------------------------------------------------------------------------------------


def _assemble(
    header: Mapping[str, Any], groups: Mapping[str, dict[str, Array]], systems: Sequence[HybridSystem]
) -> Trajectory:
    table, system = groups["arcs"], systems[-1]
    modes = [decoded(text) for text in table["mode_text"]]
    # a run written before variants were, or one of a system that has none, has one system
    owners = [systems[k] for k in table["system"]] if len(systems) > 1 else [system] * len(table["mode"])
    before = {int(event): owner for event, owner in zip(table["event"], owners, strict=True)}
    events = _read_events(groups["events"], modes, before)
    segments = dense_segments(groups["dense"], table, modes, system)
    arcs = tuple(
        Arc(modes[mode], tuple(steps), events[event] if event >= 0 else None, owner)
        for mode, event, steps, owner in zip(table["mode"], table["event"], segments, owners, strict=True)
    )
    period = float(header["record_period"])
    return Trajectory(
        system,
        arcs,
        tuple(events),
        Status[header["status"]],
        str(header["message"]),
        None if np.isnan(period) else period,
        int(header["evaluations"]),
        tuple(json.loads(header.get("notes", "[]"))),
        _read_settings(header),
        table.get("given"),
    )


def _read_settings(header: Mapping[str, Any]) -> Settings | None:
    """The settings of the run; None in a file written before they were kept."""
    if not header.get("settings"):
        return None
    values = json.loads(header["settings"])
    return Settings(**values | {"tolerances": Tolerances(**values["tolerances"])})


def _read_events(
    group: Mapping[str, Array], modes: Sequence[Hashable], systems: Mapping[int, HybridSystem]
) -> list[Event]:
    events = []
    for k, time in enumerate(group["time"]):
        transition = Transition(
            trimmed(group["x_post"][k]),
            modes[group["mode_post"][k]],
            decoded(group["changes"][k]),
            unstack(group["impulse"][k], group["impulse_contact"]),
            {law: float(value[0]) for law, value in unstack(group["residual"][k], group["law"]).items()},
            tuple(json.loads(str(group["notes"][k]))),
            accumulated=tuple(json.loads(str(group["accumulated"][k]))) if "accumulated" in group else (),
            jammed=tuple(json.loads(str(group["jammed"][k]))) if "jammed" in group else (),
        )
        fired = frozenset(decoded(group["fired"][k]))
        x_pre = trimmed(group["x_pre"][k])
        events.append(Event(float(time), fired, modes[group["mode_pre"][k]], x_pre, transition, systems[k]))
    return events


# --- modes, rows of unequal length and dense output as the file holds them, and back ---------------------------------


def coded(value: Any) -> str:
    """Modes, guard names and changes as JSON text."""
    return json.dumps(_encode(value))


def decoded(text: Any) -> Any:
    """The value that `coded` was given; sequences come back as tuples."""
    return _decode(json.loads(str(text)))


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "@" in value:
        return Mode[value["@"]]
    if "@mode" in value:
        states = (
            ContactState(Mode(m), Phase[p], tuple(d), e, until, tuple(region), slow)
            for m, p, d, e, until, region, slow in (
                state + [None, [], None][len(state) - 4 :] for state in value["@mode"]
            )
        )
        latched = tuple((k, tuple(held)) for k, held in value.get("latched", ()))
        return SystemMode(tuple(states), value["redundant"], latched, tuple(value.get("waiting", ())))
    return {key: _decode(item) for key, item in value.items()}


def _encode(value: Any) -> Any:
    """The value as JSON has it: tuples are lists there, and what JSON lacks carries a tag."""
    if isinstance(value, SystemMode):
        contacts = [
            [s.mode.value, s.phase.name, list(s.direction), s.enabled, s.until, list(s.region), s.held_below]
            for s in value.contacts
        ]
        mode = {"@mode": contacts, "redundant": value.redundant}
        latches = {"latched": [[k, list(held)] for k, held in value.latched], "waiting": list(value.waiting)}
        return mode | {name: told for name, told in latches.items() if told}
    if isinstance(value, Mode):
        return {"@": value.name}
    if isinstance(value, Mapping):
        return {str(key): _encode(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_encode(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def texts(values: Iterable[Any]) -> Array:
    """Values as an array of texts."""
    return np.array(list(values), dtype=str)


def stack(mappings: Sequence[Mapping[str, Any]], rank: int) -> tuple[Array, list[str]]:
    """Values of many mappings as (mapping, key[, number]), NaN where a mapping lacks a key; and the keys."""
    keys = list(dict.fromkeys(key for mapping in mappings for key in mapping))
    widest = max((np.size(value) for mapping in mappings for value in mapping.values()), default=1)
    result = np.full((len(mappings), len(keys), widest)[: 2 + rank], np.nan)
    for row, mapping in zip(result, mappings, strict=True):
        for key, value in mapping.items():
            if rank:
                row[keys.index(key), : np.size(value)] = value
            else:
                row[keys.index(key)] = value
    return result, keys


def unstack(values: Array, keys: Iterable[Any]) -> dict[str, Any]:
    """One mapping of those that `stack` was given, without what it lacks."""
    found = {str(key): np.atleast_1d(value) for key, value in zip(keys, values, strict=True)}
    return {key: value[~np.isnan(value)] for key, value in found.items() if not np.all(np.isnan(value))}


def trimmed(row: Array) -> Array:
    """A state without the NaN that pads it."""
    return row[: len(row) - int(np.argmin(np.isnan(row[::-1])))] if len(row) else row


def dense_group(trajectory: Trajectory) -> dict[str, Any]:
    """The group ``dense`` of a file: the steps of a run, cut where their chart is a chain of polynomials."""
    pieces: list[Polynomial] = []
    owners: list[tuple[int, int, int]] = []
    bases: dict[int, int] = {}
    states: list[Array] = []
    for a, arc in enumerate(trajectory.arcs):
        for s, segment in enumerate(arc.segments):
            if id(segment.base) not in bases:
                bases[id(segment.base)] = len(states)
                states.append(segment.base)
            parts = segment.chart.pieces if isinstance(segment.chart, Chain) else (segment,)
            pieces += [polynomial(part) for part in parts]
            owners += [(a, s, bases[id(segment.base)])] * len(parts)
    arcs, segments, used = np.array(owners).T
    return {
        "t0": ("piece", np.array([piece.t0 for piece in pieces]), {"units": "s"}),
        "t1": ("piece", np.array([piece.t1 for piece in pieces]), {"units": "s"}),
        "arc": ("piece", arcs),
        "segment": ("piece", segments, {"long_name": "number of the step in its arc"}),
        "base": ("piece", used, {"long_name": "state around which the chart is"}),
        "degree": ("piece", np.array([len(piece.coefficients) - 1 for piece in pieces])),
        "tangent_size": ("piece", np.array([piece.coefficients.shape[1] for piece in pieces])),
        "chebyshev": (("piece", "power", "tangent"), _table(pieces), {"long_name": "coefficients of the chart"}),
        "state_size": ("base_state", np.array([len(state) for state in states])),
        "states": (("base_state", "state"), padded(states)),
    }


def _table(pieces: Sequence[Polynomial]) -> Array:
    shapes = np.array([piece.coefficients.shape for piece in pieces])
    table = np.zeros((len(pieces), *shapes.max(axis=0)))
    for row, piece, (count, dim) in zip(table, pieces, shapes, strict=True):
        row[:count, :dim] = piece.coefficients
    return table


def dense_segments(
    dense: Mapping[str, Array], arcs: Mapping[str, Array], modes: Sequence[Hashable], system: HybridSystem
) -> list[list[Segment]]:
    """The steps of each arc, from the groups ``dense`` and ``arcs`` of a file.

    Raises:
        ValueError: the states do not fit the system.
    """
    bases = [state[:size].copy() for state, size in zip(dense["states"], dense["state_size"], strict=True)]
    spaces: dict[int, Manifold | None] = {int(mode): system.space(modes[mode]) for mode in np.unique(arcs["mode"])}
    result: list[dict[int, list[Segment]]] = [{} for _ in arcs["mode"]]
    for k, (arc, step) in enumerate(zip(dense["arc"], dense["segment"], strict=True)):
        t0, t1, base = float(dense["t0"][k]), float(dense["t1"][k]), bases[dense["base"][k]]
        space = spaces[int(arcs["mode"][arc])] or Euclidean(len(base))
        dim = int(dense["tangent_size"][k])
        if (space.size, space.dim) != (len(base), dim):
            raise ValueError(f"its states have {len(base)} numbers, those of the system {space.size}")
        coefficients = dense["chebyshev"][k][: max(int(dense["degree"][k]), 0) + 1, :dim]
        if not (t1 > t0 or (t1 == t0 and len(coefficients) == 1)) or not np.isfinite(coefficients).all():
            raise ValueError(f"its step from {t0:g} to {t1:g} s is none")
        chart = Polynomial(t0, t1, coefficients)
        result[arc].setdefault(int(step), []).append(Segment(t0, t1, base, chart, space))
    return [[_joined(parts) for _, parts in sorted(steps.items())] for steps in result]


def _joined(parts: list[Segment]) -> Segment:
    first, last = parts[0], parts[-1]
    return first if len(parts) == 1 else Segment(first.t0, last.t1, first.base, Chain(tuple(parts)), first.space)
