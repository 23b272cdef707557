"""Work of `contactsim check`: a plugin tried against its contract, and the table of the results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.progress import track
from rich.table import Table

from ..common import registry
from ..common.terminal import terminal
from ..errors import InputError
from ..io.load_scene import read_scene
from ..testing import kit
from ..testing.report import Outcome, Report

PREFIXES = {"contact_laws": "law.", "terrains": "terrain.", "controllers": "controller.parameters."}  # as in scenes
MARKS = {True: "[green]holds[/]", False: "[bold red]violated[/]", None: "[yellow]not asked[/]"}


def check(name: str, settings: Sequence[str], robots: Sequence[str]) -> bool:
    """Try every property of a plugin and print the table; True where none is violated."""
    group = kit.group_of(name)
    for robot in robots:
        read_scene(robot)  # one that is not there is told before anything is tried
    parameters = dict(_parameter(setting, PREFIXES.get(group, "")) for setting in settings)
    named = kit.of_plugin(name, parameters, robots)
    console = terminal(error=True)
    steps = track(named.values(), f"checking {name}", console=console, transient=True, disable=not console.is_terminal)
    report = Report(name, tuple(kit.quietly(step) for step in steps))
    _print(report, registry.load(group, name))
    return report.passed


def _parameter(setting: str, prefix: str) -> tuple[str, Any]:
    key, equals, value = setting.partition("=")
    if not equals:
        raise InputError(f"--set {setting} is no KEY=VALUE; write the parameter, an equals sign and its value")
    key = key.removeprefix(prefix)
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _print(report: Report, kind: Any) -> None:
    console = terminal()
    table = Table("property", "result", "largest violation", "limit", title_justify="left")
    table.title = f"{escape(report.plugin)} ({kind.__module__}.{kind.__qualname__})"
    table.columns[2].justify = table.columns[3].justify = "right"
    for outcome in report.outcomes:
        table.add_row(outcome.name, MARKS[outcome.holds], *_figures(outcome))
    console.print(table)
    for outcome in report.outcomes:
        if outcome.message:
            style = "red" if outcome.holds is False else ""
            console.print(f"{escape(outcome.name)}: {escape(outcome.message)}", style=style, soft_wrap=True)
    count, asked = len(report.violated), sum(outcome.holds is not None for outcome in report.outcomes)
    console.print(
        f"[bold red]{count} of {asked} properties violated[/]" if count else f"[green]all {asked} properties hold[/]"
    )


def _figures(outcome: Outcome) -> tuple[str, str]:
    if outcome.figure is None or outcome.limit is None:
        return "", ""
    return f"{outcome.figure:.2g} {outcome.unit}".rstrip(), f"{outcome.limit:.2g} {outcome.unit}".rstrip()
