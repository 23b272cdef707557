"""The `contactsim` command. Whatever takes time to import is imported by the command that needs it."""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.terminal import terminable, terminal
from ..common.threads import start_with_one
from ..errors import ContactSimError, InputError
from . import Code

if TYPE_CHECKING:
    from .job import Job

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)  # a disk that takes no more

EXTRA = re.compile(r"Got unexpected extra argument(?:\(s\)|s)? \((.*)\)")  # as click says it

app = typer.Typer(
    name="contactsim",
    help="Event-driven multibody contact: robots through impacts, sticking, slipping and lift-off.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def run(
    target: Annotated[
        str, typer.Argument(help="Name of a robot, model or example; FILE.urdf, FILE.xml (MJCF), SCENE.toml, FILE.rc.")
    ],
    time: Annotated[float | None, typer.Option(help="Duration of the run [s].")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a key, as contact.friction=0.4; repeatable."),
    ] = None,
    law: Annotated[str | None, typer.Option(help="Contact law; `contactsim plugins` lists them.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Results go here [default: runs/NAME-DATE].")] = None,
    html: Annotated[bool, typer.Option("--html", help="Write run.html, an offline page to play.")] = False,
    png: Annotated[bool, typer.Option("--png", help="Write run.png, a picture of mid-run.")] = False,
    mp4: Annotated[bool, typer.Option("--mp4", help="Write run.mp4, a film; needs Chromium and ffmpeg.")] = False,
    plots: Annotated[
        bool, typer.Option("--plots", help="Plot the run: a model's own figures, else modes, gaps, forces, energy.")
    ] = False,
    ghost: Annotated[
        list[str] | None,
        typer.Option("--ghost", metavar="KEY=VALUE", help="Overlay, where it is drawn, the run with this key changed."),
    ] = None,
    view: Annotated[
        bool | None,
        typer.Option(
            help="Run in the browser, with controls, until Ctrl-C. A finished run is shown where FILE.rc has"
            " useGeomview = 1."
        ),
    ] = None,
    integrator: Annotated[
        str | None, typer.Option(help="automatic, DOP853, RK45, RK23, RK4, Radau, Radau9, BDF or LSODA.")
    ] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative error of a step.")] = None,
    linearize: Annotated[
        bool, typer.Option("--linearize", help="Print and keep the derivative of the run through its events.")
    ] = False,
    spread: Annotated[
        bool,
        typer.Option("--spread", help="Carry a cloud of tilts and heights through a landing: run.html, and a figure."),
    ] = False,
    all_events: Annotated[
        bool, typer.Option("--all-events", help="Print every event of a long table, and every note.")
    ] = False,
    checkpoint: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="How often what was computed is written; 0: at the end.")
    ] = 10.0,
) -> int:
    """Simulate a robot or a model and keep the run in DIR/run.nc."""
    start_with_one()
    given = {"time": time, "law": law, "integrator": integrator, "rtol": rtol}
    options = {key: value for key, value in given.items() if value is not None}
    target = landing_of(target) if spread else target
    kinds = [kind for kind, wanted in (("html", html or spread), ("png", png), ("mp4", mp4)) if wanted]
    demand_overlaid(target, kinds, ghost)
    work = job_of(target, settings or [], options)

    from .job import RunOptions, carry_out, with_ghosts

    if ghost:
        work = with_ghosts(work, {key: job_of(target, [*(settings or []), key], options) for key in ghost})
    return carry_out(work, out, RunOptions(kinds, plots, view, linearize, all_events, checkpoint, spread))


@app.command("view")
def view_run(
    file: Annotated[Path, typer.Argument(metavar="RUN.nc", help="A run that `contactsim run` or save() wrote.")],
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an offline page instead.")] = None,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a picture instead.")] = None,
    mp4: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a film instead.")] = None,
    ghost: Annotated[
        list[Path] | None, typer.Option(metavar="RUN.nc", help="Overlay another run, translucent.")
    ] = None,
) -> int:
    """Show a stored run in the browser."""
    start_with_one()

    from ..io.netcdf import load
    from . import report

    trajectory = load(file)
    beside = {"ghosts": {str(other): load(other) for other in ghost}} if ghost else {}
    if html is None and png is None and mp4 is None:
        report.show(trajectory, **beside)
    report.pictures(trajectory, (html, png, mp4), beside, beside)
    return Code.OK


@app.command()
def sweep(
    target: Annotated[
        str, typer.Argument(help="Name of a robot or model, SCENE.toml, FILE.urdf, FILE.rc; or FILE.py:FUNCTION.")
    ],
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="KEY=VALUES",
            help="START:STOP:N, equally spaced; a,b,c; or START:STOP, to draw --samples from. One for each key.",
        ),
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Draws: an axis 'sample' besides the others.")] = None,
    sampler: Annotated[str, typer.Option(help="random, sobol or latin.")] = "random",
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    noise: Annotated[
        float | None,
        typer.Option(
            help="Standard deviation of the velocity at the start [default: 0.01 where samples are else equal]."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a key for all runs; repeatable."),
    ] = None,
    time: Annotated[float | None, typer.Option(help="Duration of each run [s].")] = None,
    outputs: Annotated[
        list[str] | None, typer.Option("--output", metavar="NAME", help="final_q, event_count, ...; what is kept.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of a running scheduler of dask [default: this machine].")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes on this machine.")] = None,
    out: Annotated[Path, typer.Option(metavar="FILE.zarr", help="Results go here; a stopped sweep goes on.")] = Path(
        "sweep.zarr"
    ),
) -> int:
    """Run a scene or a function over many values, in parallel, and keep what comes of it in FILE.zarr."""
    start_with_one()

    from . import sweeping

    choice = sweeping.Choice(samples, sampler, seed, noise, scheduler, workers)
    return sweeping.carry_out(target, over or [], settings or [], time, outputs, out, choice)


@app.command()
def robots() -> int:
    """List what `run` knows by name: robots, models, and examples of these."""
    from . import listings

    return listings.robots()


@app.command()
def plugins(
    name: Annotated[str | None, typer.Argument(help="A plugin whose parameters are to be listed.")] = None,
) -> int:
    """List the plugins, and what is wrong with a broken one; or the parameters of one."""
    from . import listings

    return listings.plugins() if name is None else listings.parameters(name)


@app.command()
def doctor() -> int:
    """Check this installation."""
    from . import doctor

    return doctor.examine()


@app.command()
def check(
    name: Annotated[
        str, typer.Argument(help="Name of a law, model, event derivative, integrator, controller or ground.")
    ],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of it: stiffness=1e5.")
    ] = None,
    robots: Annotated[
        list[str] | None,
        typer.Option(
            "--robot", metavar="NAME", help="A robot that is to run under the law, or that a controller drives."
        ),
    ] = None,
) -> int:
    """Hold a plugin to its contract, property by property; `contactsim plugins` lists them."""
    start_with_one()

    from . import checking

    return Code.OK if checking.check(name, settings or [], robots or []) else Code.STOPPED


@app.command("new-plugin")
def new_plugin(
    name: Annotated[str, typer.Argument(help="Name of the plugin and of its package, such as my_law.")],
    kind: Annotated[
        str, typer.Option(help="A law, compliant or rigid; a model, a controller, or event: a derivative of events.")
    ] = "compliant",
) -> int:
    """Write a package of your own with a plugin, its test and a README."""
    from . import scaffold

    scaffold.announce(scaffold.write(name, kind, Path.cwd()))
    return Code.OK


def landing_of(target: str) -> str:
    """The scene of a landing that the catalogue has for a robot by name, which is told, or the target itself."""
    from ..io import load_scene

    found = load_scene.landing_of(target)
    if found != target:
        terminal().print(f"the landing of {target} is that of {found}", markup=False, soft_wrap=True)
    return found


def demand_overlaid(target: str, kinds: Sequence[str], ghosts: Sequence[str] | None) -> None:
    """Raise InputError where nothing would show the runs that are to be overlaid."""
    from ..io.load_scene import is_model

    if not ghosts:
        return
    if is_model(target):
        raise InputError(f"--ghost overlays runs of robots, and {target} is a model; leave it out")
    if not kinds:
        raise InputError("--ghost overlays what is drawn, and nothing is asked for; add --html, --png or --mp4")


def job_of(target: str, settings: Sequence[str], options: Mapping[str, Any]) -> Job:
    """The run of what was named on the command line."""
    from ..io.load_scene import is_model

    return (model_job if is_model(target) else robot_job)(target, settings, options)


def robot_job(target: str, settings: Sequence[str], options: Mapping[str, Any]) -> Job:
    """The run of a robot or a scene."""
    from ..io.load_scene import read_scene

    keys = {"time": "run.time", "law": "law.name", "integrator": "run.integrator", "rtol": "run.rtol"}
    scene = read_scene(target, [*settings, *(f"{keys[key]}={value}" for key, value in options.items())])

    from ..io.scene import build
    from . import job

    prepared = build(scene)
    return job.Job(prepared.title, prepared.begin(), prepared.span[1], scene.text())


def model_job(target: str, settings: Sequence[str], options: Mapping[str, Any]) -> Job:
    """The run of a model by name, or of an initialization file."""
    from ..io.initfile import write
    from ..io.load_scene import read_model
    from . import job

    if "law" in options:
        raise InputError(f"{target} is a model with laws of its own; leave --law out, or run a robot")
    keys = {"time": "finalTime", "integrator": "integrator", "rtol": "tolerance"}
    changes = [*settings, *(f"{keys[key]}={value}" for key, value in options.items())]
    file = read_model(target, changes)
    for note in file.notes:
        _note(note)
    prepared = file.prepared()
    return job.Job(
        prepared.title,
        prepared.begin(),
        prepared.span[1],
        "",
        partial(write, file),
        file.settings.useGeomview,
        {"fps": file.framerate},
        file.frame,
    )


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        from .. import __version__

        typer.echo(f"contactsim {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def execute(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; a user's mistake is one sentence on the error stream."""
    with warnings.catch_warnings():
        warnings.showwarning = _note
        try:
            with terminable():
                code = int(app(args=arguments, standalone_mode=False) or 0)
            if code == Code.INTERRUPTED:  # which typer makes of Ctrl-C
                _say("interrupted")
            return code
        except ContactSimError as error:
            _say(error)
        except (KeyboardInterrupt, typer.Abort):
            _say("interrupted")
            return Code.INTERRUPTED
        except OSError as error:
            if error.errno not in FULL:
                raise
            _say(f"cannot write {error.filename or 'the output'} ({error.strerror}); make room there")
        except Exception as error:
            if not hasattr(error, "format_message"):  # else a wrong option or argument
                raise
            _say(_usage(error))
        return Code.MISTAKE


def _usage(error: Any) -> str:
    """The sentence of a wrong option or argument, with the place that tells what is right."""
    text, context = error.format_message().rstrip(".?"), error.ctx
    if context is None or context.parent is None:
        return f"{text}; see contactsim {'COMMAND ' if context is None else ''}--help"
    command, extra = context.command, EXTRA.fullmatch(text)
    page = f"see contactsim {command.name} --help"
    if extra is None:
        return f"{text}; {page}"
    flag = next((one.opts[0] for one in command.params if getattr(one, "is_flag", False)), None)
    alone = "" if flag is None else f"options such as {flag} take no value, "
    return f"`contactsim {command.name}` has no place for {extra[1]}; {alone}{page}"


def _say(what: object) -> None:
    with suppress(OSError):  # the output may be what is full
        sys.stdout.flush()
    typer.echo(f"contactsim: {what}", err=True)


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"note: {message}", err=True)


def main() -> None:
    """Entry point of the `contactsim` command."""
    code = execute()
    try:
        sys.stdout.flush()
    except OSError:  # the output is full or closed: what is left of it goes nowhere, also as Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or Code.MISTAKE
    sys.exit(code)
