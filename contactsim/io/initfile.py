"""Initialization files: `symbol = value;` for the integrator and a model, and what a run of one leaves behind.

The grammar is that of the SimSect manual (2.4.1): a symbol is a letter followed by letters, digits and underscores; a
value is a real number or a text in double quotes; a comment runs from `#` to the end of its line; a symbol that is
assigned twice has its last value. The same symbols may stand in a TOML file. Files that come with a model lie in a
folder `examples` beside its module, and are found by their names.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..common.arrays import Array
from ..common.files import write_whole
from ..common.lazy import dataclass
from ..common.registry import homes, names
from ..common.representation import Brief
from ..common.schemas import LONGEST_VALUE, PLAIN, Real, wanted
from ..errors import InputError
from ..hybrid.charts import Model, model_class
from ..hybrid.simulate import Progress
from ..hybrid.tolerances import Tolerances
from ..hybrid.trajectory import Trajectory
from .scene_run import SceneRun

Value = float | str
ALIASES = {"maxStopIter": "maxStopIterations", "power": "rkPower"}  # the manual's text has these, its figure 1 those
DEFAULT_MODEL = "hexapod"  # the manual's
SYSTEMS = {"hexapod": "compliant-hexapod"}  # models that the manual calls otherwise
NAMED_TIME = 5.0  # s, run of a model by its name alone
NAMED_CHARTS = 100_000
LONGEST_STEP = 1e6  # s, written where a step has no limit: the grammar has no infinity
UNUSED = {  # symbols that are read for the sake of old files, and what stands in their place
    "stopPrecision": "boundaries are located to the rounding of their time",
    "maxStopIterations": "boundaries are bracketed, and located in as many iterations as it takes",
    "rkPower": "the method adapts its step by its own order",
}
BASE_NAME = r"^[^/\\\s\"\x00-\x1f\x7f]+$"  # names a file, and can be said in the syntax
SHOWN = 40  # symbols that are listed in a message
SUFFIXES = (".rc", ".toml")  # of examples
SIMILAR = 3  # names that are like a wrong one
TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<comment>\#[^\n]*)|(?P<text>"[^"\n]*")
    |(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<name>[A-Za-z]\w*)|(?P<sign>[=;])|(?P<other>[^\s;=]+)""",
    re.VERBOSE | re.ASCII,
)


class InitSettings(BaseModel):
    """Symbols of the integrator, with the manual's defaults (2.4.2); `absoluteTolerance` and `integrator` are ours.

    Events are located to `Tolerances.event_time` and on the steps of the method, closer than any `stopPrecision`
    above 1e-12; it, `maxStopIterations` and `rkPower` are read, and change nothing: `InitFile.notes` tells who sets
    them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    systemName: str = Field(DEFAULT_MODEL, description="name of the model")
    dataBaseName: str = Field("SimSect", pattern=BASE_NAME, description="base name of the output files")
    useGeomview: bool = Field(False, description="open the viewer behind the run, as --view does")
    stopPrecision: Real = Field(1e-10, gt=0.0, description="precision of boundary functions, in their unit; not used")
    maxStopIterations: int = Field(128, gt=0, description="iterations that locate a boundary; not used")
    recordPeriod: Real = Field(0.0, ge=0.0, description="spacing of the recorded samples; 0: each step [s]")
    measurePeriod: Real = Field(0.0, ge=0.0, description="spacing of messages about progress; 0: none [s]")
    maxChartCount: int = Field(128, gt=0, description="largest number of transitions")
    finalTime: Real = Field(1.0, gt=0.0, description="time at the end of the run [s]")
    tolerance: Real = Field(1e-4, gt=0.0, description="relative error of a step")
    maxTimeStep: Real = Field(1e-2, gt=0.0, description="longest step; the step of RK4 [s]")
    minTimeStep: Real = Field(1e-15, gt=0.0, description="shortest step, relative to the time or to one second")
    rkPower: Real = Field(0.33, gt=0.0, description="power of the step control; not used")
    framerate: Real = Field(30.0, gt=0.0, description="pictures a second [1/s]")
    absoluteTolerance: Real | None = Field(None, gt=0.0, description="absolute error of a step; none: `tolerance`")
    integrator: str | None = Field(None, description="name of the method; none: the one that the model prefers")

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `Simulation`."""
        return {
            "integrator": self.integrator,
            "tolerances": Tolerances(
                rtol=self.tolerance,
                atol=self.absoluteTolerance or self.tolerance,
                max_step=self.maxTimeStep,
                min_step=self.minTimeStep,
            ),
            "record_period": self.recordPeriod or None,
            "max_events": self.maxChartCount,
        }


@dataclass(frozen=True)
class Symbol:
    """The value of a symbol, and where it was assigned."""

    value: Value
    place: str


@dataclass(frozen=True, repr=False)
class InitFile(Brief):
    """An initialization file as read: settings, and a model with its state at the start.

    Attributes:
        settings: symbols of the integrator.
        model: the model with its parameters.
        state: state (size,) at the start, as given; `Model.start` may complete it.
    """

    settings: InitSettings
    model: Model
    state: Array

    @property
    def title(self) -> str:
        """Name of the model."""
        return self.settings.systemName

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences worth telling about what is asked for and not done."""
        settings = self.settings
        changed = [name for name in UNUSED if getattr(settings, name) != InitSettings.model_fields[name].default]
        return tuple(f"{name} = {getattr(settings, name):g} changes nothing: {UNUSED[name]}" for name in changed)

    @property
    def framerate(self) -> float:
        """Pictures a second of an animation: the model's own symbol, where it has one [1/s]."""
        return float(getattr(self.model.parameters, "framerate", self.settings.framerate))

    @property
    def frame(self) -> dict[str, int]:
        """Size of a picture, {"width": pixels, "height": pixels}, where the model has symbols for it."""
        sizes = {side: getattr(self.model.parameters, f"frame_{side}", None) for side in ("width", "height")}
        return {side: size for side, size in sizes.items() if size is not None}

    def symbols(self) -> dict[str, Value]:
        """Every symbol with its value, that of the state where the run starts: what reads back as the same run."""
        given = {name: value for name, value in self.settings.model_dump().items() if value is not None}
        return given | self.model.parameters.model_dump() | _named(self.model, self.begun)

    @property
    def begun(self) -> Array:
        """State where the run starts, as `Model.start` leaves it."""
        x = self.model.start(0.0, self.model.pack(self.state)).x
        return x if len(x) == len(self.state) else self.state

    def prepared(self) -> SceneRun:
        """The run that it describes."""
        return SceneRun(self.title, self.model, self.begun, (0.0, self.settings.finalTime), self.settings.options())


@dataclass(frozen=True)
class InitRun:
    """A run of an initialization file.

    Attributes:
        file: what was run.
        trajectory: the run, with its status and message.
        files: what was written.
    """

    file: InitFile
    trajectory: Trajectory
    files: tuple[Path, ...]


# --- reading --------------------------------------------------------------------------------------------------------


def read(path: str | Path, *more: str | Path, changes: Sequence[str] = ()) -> InitFile:
    """Read initialization files; later ones, and then `changes`, replace what earlier ones say.

    Args:
        path: a file in SimSect's syntax, or a TOML file (.toml) of the same symbols; an example by its name, too.
        more: further ones, such as the `.initial` of another run.
        changes: "symbol=value" each.

    Raises:
        InputError: a file is missing, or a symbol is unknown or has a bad value; each is named with its line.
        PluginError: there is no such model.
    """
    symbols: dict[str, Symbol] = {}
    for file in (path, *more):
        symbols |= _read(located(file))
    if not symbols:
        raise InputError(f"the initialization file {path} has no symbols; give it at least systemName")
    return assemble(symbols | _changes(changes))


def named(name: str, changes: Sequence[str] = ()) -> InitFile:
    """A run of a model by its name: with the accuracy that the model prefers, for `NAMED_TIME`."""
    preferred = model_class(name).preferred_tolerances or Tolerances()
    given: dict[str, Value] = {
        "systemName": name,
        "dataBaseName": name,
        "finalTime": NAMED_TIME,
        "maxChartCount": NAMED_CHARTS,
        "tolerance": preferred.rtol,
        "absoluteTolerance": preferred.atol,
        "maxTimeStep": min(preferred.max_step, LONGEST_STEP),
        "minTimeStep": preferred.min_step,
    }
    return assemble({key: Symbol(value, name) for key, value in given.items()} | _changes(changes))


def is_initfile(path: str | Path) -> bool:
    """True for a TOML file with symbols of a model instead of a scene, and for all files of other kinds."""
    path = Path(path)
    if path.suffix.lower() != ".toml":
        return True
    try:
        path = located(path)
    except InputError:
        return False
    try:
        return "systemName" in tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False


def examples() -> dict[str, Path]:
    """The examples of all registered models, {name of the file: file}; no model is imported."""
    folders = dict.fromkeys(home / "examples" for home in homes("models"))
    files = (file for folder in folders for file in sorted(folder.glob("*")) if file.suffix in SUFFIXES)
    return {file.name: file for file in files}


def located(path: str | Path) -> Path:
    """The file at a path, or, where there is none and the path is a name alone, the example of that name."""
    path = Path(path).expanduser()
    if path.exists():
        return path
    if path.suffix not in SUFFIXES or path.name != str(path):
        raise InputError(f"there is no file {path}; check the path")
    known = examples()
    if path.name not in known:
        close = difflib.get_close_matches(path.name, known, n=SIMILAR) or sorted(known)
        raise InputError(f"there is no file {path}; check the path, or give one of the examples: {', '.join(close)}")
    return known[path.name]


def parse(text: str, where: str = "the text") -> dict[str, Symbol]:
    """Symbols of a text in SimSect's syntax, in their order.

    Raises:
        InputError: a line is not of the form `symbol = value;`.

    Source: SimSect manual, 2.4.1.
    """
    tokens = list(_tokens(text))
    symbols: dict[str, Symbol] = {}
    while tokens:
        kind, name, line = tokens[0]
        place = f"{where}, line {line}"
        if kind != "name":
            raise InputError(f"{place}: {name!r} is no symbol; write `symbol = value;`")
        if len(tokens) < 3 or tokens[1][1] != "=":
            raise InputError(f"{place}: '{name}' has no value; write `{name} = value;`")
        value_kind, value, _ = tokens[2]
        if value_kind not in ("number", "text"):
            raise InputError(f"{place}: the value of '{name}' is {value}; give a number, or a text in double quotes")
        if len(tokens) < 4 or tokens[3][1] != ";":
            raise InputError(f"{place}: a semicolon is missing behind the value of '{name}'")
        symbols.pop(name, None)
        symbols[name] = Symbol(value[1:-1] if value_kind == "text" else float(value), place)
        del tokens[:4]
    return symbols


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    line = 1
    for match in TOKEN.finditer(text):
        if match.lastgroup not in ("space", "comment"):
            yield str(match.lastgroup), match[0], line
        line += match[0].count("\n")


def _read(path: Path) -> dict[str, Symbol]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path} ({error}); give a text file") from error
    if path.suffix.lower() != ".toml":
        return parse(text, str(path))
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is no TOML: {error}") from None
    places = {name: _toml_place(name, text, path) for name in table}
    return {name: Symbol(_toml_value(name, value, places[name]), places[name]) for name, value in table.items()}


def _toml_value(name: str, value: Any, place: str) -> Value:
    if isinstance(value, bool | int | float):
        return float(value)
    if isinstance(value, str):
        return value
    raise InputError(f"{place}: '{name}' is {value!r}; give a number or a text")


def _toml_place(name: str, text: str, path: Path) -> str:
    """Line of a key in a TOML file, written plainly or in quotes."""
    found = re.search(rf"""^\s*(?:\[\s*)?(["']?){re.escape(name)}\1\s*[=\].]""", text, re.MULTILINE)
    return f"{path}, line {text[: found.end()].count(chr(10)) + 1}" if found else str(path)


def _changes(changes: Iterable[str]) -> dict[str, Symbol]:
    symbols = {}
    for change in changes:
        name, found, text = (part.strip() for part in change.partition("="))
        if not found or not name or not text:
            raise InputError(f"--set {change}: give SYMBOL=VALUE, for example k=1000")
        try:
            value: Value = float(text)
        except ValueError:
            value = text.strip("\"'")
        symbols[name] = Symbol(value, f"--set {change}")
    return symbols


def assemble(symbols: Mapping[str, Symbol]) -> InitFile:
    """Settings, model and state of symbols; a symbol of the model and of the integrator goes to both.

    Raises:
        InputError: a symbol is unknown or has a bad value; it is named with its place.
        PluginError: there is no such model.
    """
    symbols = {ALIASES.get(name, name): symbol for name, symbol in symbols.items()}
    system = symbols.get("systemName", Symbol(DEFAULT_MODEL, "the default of systemName"))
    chosen = SYSTEMS.get(str(system.value), str(system.value))
    if chosen not in names("models"):
        registered = ", ".join(names("models")) or "none"
        raise InputError(f"{system.place}: there is no model '{chosen}'; registered are: {registered}")
    kind = model_class(chosen)
    schemas: list[type[BaseModel]] = [InitSettings, kind.Parameters, kind.State]
    parts = [{name: symbols[name] for name in symbols if name in schema.model_fields} for schema in schemas]
    unknown = [name for name in symbols if not any(name in part for part in parts)]
    mistakes = [(name, f"there is no symbol '{name}'; {_hint(name, schemas)}") for name in unknown]
    for schema, part in zip(schemas, parts, strict=True):
        mistakes += _mistakes(schema, part)
    if mistakes:
        order = {name: k for k, name in enumerate(symbols)}
        mistakes.sort(key=lambda mistake: order.get(mistake[0], len(order)))
        raise InputError(
            "; ".join(f"{symbols[name].place}: {what}" if name in symbols else what for name, what in mistakes)
        )
    settings, parameters, state = ({name: symbol.value for name, symbol in part.items()} for part in parts)
    model = kind(**parameters)
    return InitFile(InitSettings(**settings), model, model.initial_state(**state))  # type: ignore[arg-type]


def _mistakes(schema: type[BaseModel], symbols: Mapping[str, Symbol]) -> list[tuple[str, str]]:
    """Faults that a schema finds in the values of its symbols: (symbol, sentence)."""
    try:
        schema(**{name: symbol.value for name, symbol in symbols.items()})
    except ValidationError as error:
        found = []
        for item in error.errors():
            message = PLAIN.get(item["type"], item["msg"]).removeprefix("Value error, ")
            name = str(item["loc"][0]) if item["loc"] else _named_in(message, symbols)
            value = symbols[name].value if name in symbols else None
            message = f"; give {what}" if (what := wanted(item)) else f": {message}"
            shown = repr(value) if len(repr(value)) <= LONGEST_VALUE else "..."
            found.append((name, message[2:] if value is None else f"{name} = {shown}{message}"))
        return found
    return []


def _named_in(message: str, symbols: Mapping[str, Symbol]) -> str:
    """The symbol that a message about several begins with."""
    return next((word for word in re.findall(r"\w+", message) if word in symbols), "")


def _hint(name: str, schemas: Iterable[type[BaseModel]]) -> str:
    """Remedy for a name: those like it, or all there are."""
    every = list(dict.fromkeys(symbol for schema in schemas for symbol in schema.model_fields))
    close = difflib.get_close_matches(name, every, n=SIMILAR)
    if close:
        return f"did you mean {' or '.join(close)}?"
    shown = ", ".join(every[:SHOWN])
    return f"there are {shown}" + (f" and {len(every) - SHOWN} more" if len(every) > SHOWN else "")


# --- running --------------------------------------------------------------------------------------------------------


def run_initfile(
    path: str | Path = "SimSect.rc",
    out: str | Path = ".",
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> InitRun:
    """Run an initialization file and write what SimSect wrote, into the folder `out`.

    Args:
        path: the file; see `read`.
        out: folder of the results; it is made where it is missing.
        progress: is given the time after each step [s].
        say: is given a sentence each `measurePeriod`, and those of `InitFile.notes` at first. No viewer is opened here,
            `useGeomview` or not: `contactsim.view` shows the trajectory.

    Returns:
        The run, and the files `write` wrote of it.

    Raises:
        InputError: the file cannot be read, or its run not started.
    """
    file = read(path)
    trajectory = run(file, progress, say)
    return InitRun(file, trajectory, write(file, trajectory, out))


def run(file: InitFile, progress: Progress | None = None, say: Callable[[str], None] | None = None) -> Trajectory:
    """The run of an initialization file; one that has to stop early keeps what it has computed, and says why."""
    simulation = file.prepared().begin()
    for note in file.notes if say else ():
        say(note)  # type: ignore[misc]
    simulation.advance_to(file.settings.finalTime, _told(file.settings.measurePeriod, progress, say))
    return simulation.trajectory


def _told(period: float, progress: Progress | None, say: Callable[[str], None] | None) -> Progress | None:
    """`progress`, and a sentence each `period` of simulated time."""
    if say is None or not period:
        return progress
    told = 0

    def tick(t: float) -> None:
        nonlocal told
        if progress:
            progress(t)
        if int(t / period) > told:
            told = int(t / period)
            say(f"t = {t:.6g} s")

    return tick


# --- writing --------------------------------------------------------------------------------------------------------


def write(file: InitFile, trajectory: Trajectory, out: str | Path = ".") -> tuple[Path, ...]:
    """Write what SimSect wrote of a run, and one file with which it is run again.

    `NAME.data` holds the auxiliary functions, a row for each `recordPeriod` (behind an event there) or, where that is
    zero, for the end of each step and both sides of each event; `NAME.initial` the state at the start and
    `NAME.param` the parameters, in the syntax of initialization files; `NAME.rc` both with all settings. NAME is
    `dataBaseName`. Numbers are written so that they read back exactly.

    Raises:
        InputError: the folder cannot be made.
        StorageError: the disk is full, or does not let write.

    Source: SimSect manual, 2.3.
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder} ({error.strerror}); give another") from error
    system: dict[str, Value] = {"systemName": file.settings.systemName}
    every, period = file.symbols(), trajectory.record_period
    times = None if period is None else period * np.arange(int(trajectory.t[-1] / period * (1.0 + 1e-12)) + 1)
    texts = {
        "data": table(file.model.auxiliary(trajectory, times)),
        "initial": as_text(system | _named(file.model, file.begun)),
        "param": as_text(system | {name: every[name] for name in file.model.parameters.model_dump()}),
        "rc": as_text(every),
    }
    paths = []
    for suffix, text in texts.items():
        paths.append(folder / f"{file.settings.dataBaseName}.{suffix}")
        write_whole(paths[-1], text.encode())
    return tuple(paths)


def table(functions: Mapping[str, Array]) -> str:
    """Functions {name: (N,)} as text: a comment with the names, then a row for each sample."""
    rows = np.column_stack(list(functions.values()))
    lines = ["# " + " ".join(functions), *(" ".join(repr(float(value)) for value in row) for row in rows)]
    return "\n".join(lines) + "\n"


def as_text(symbols: Mapping[str, Value]) -> str:
    """Symbols in the syntax of initialization files."""
    return "".join(f"{name} = {_literal(value, '0', '1')};\n" for name, value in symbols.items())


def as_toml(symbols: Mapping[str, Value]) -> str:
    """Symbols as TOML."""
    return "".join(f"{name} = {_literal(value, 'false', 'true')}\n" for name, value in symbols.items())


def _literal(value: Value, false: str, true: str) -> str:
    if isinstance(value, str):
        if '"' in value or "\n" in value or "\\" in value:
            raise InputError(
                f"the text {value!r} has a quote, a backslash or a line break, which the syntax cannot say"
            )
        return f'"{value}"'
    if isinstance(value, bool):
        return true if value else false
    return repr(value) if isinstance(value, int) else repr(float(value))


def _named(model: Model, x: Array) -> dict[str, Value]:
    return {name: float(value) for name, value in zip(model.State.model_fields, x, strict=True)}
