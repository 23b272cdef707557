"""What `contactsim check` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.progress import track
from rich.table import Table

from .. import registry
from ..errors import InputError, PluginError
from ..listings import terminal
from . import kit
from .report import Outcome, Report

MARKS = {True: "[green]holds[/]", False: "[bold red]violated[/]", None: "[yellow]not asked[/]"}


def check(name: str, settings: Sequence[str], robots: Sequence[str]) -> bool:
    """Try every property of a law or model and print the table; whether none is violated.

    Raises:
        PluginError: no contact law and no model has this name, or it does not load.
        InputError: a parameter is unknown or out of range.
    """
    parameters = dict(_parameter(setting) for setting in settings)
    laws, models = registry.names("contact_laws"), registry.names("models")
    if name not in laws and name not in models:
        known = f"laws {', '.join(laws) or 'none'}; models {', '.join(models) or 'none'}"
        raise PluginError(f"no contact law and no model '{name}'; registered are the {known}")
    group = "contact_laws" if name in laws else "models"
    named = kit.named(registry.load(group, name)(**parameters), robots)
    console = terminal(error=True)
    steps = track(named.values(), f"checking {name}", console=console, transient=True, disable=not console.is_terminal)
    report = Report(name, tuple(kit.quietly(step) for step in steps))
    _print(report, registry.load(group, name))
    return report.passed


def _parameter(setting: str) -> tuple[str, Any]:
    key, equals, value = setting.partition("=")
    if not equals:
        raise InputError(f"--set {setting} is no KEY=VALUE; write the parameter, an equals sign and its value")
    key = key.removeprefix("law.")
    try:
        return key, float(value)
    except ValueError:
        return key, value


def _print(report: Report, kind: type) -> None:
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
