"""The properties of a plugin of each kind, and the report on all of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from ..common import registry
from ..common.schemas import validated
from ..common.user_calls import failure
from ..contact.laws import CompliantLaw, ContactLaw, RigidLaw
from ..derivatives.contract import EventDerivative
from ..errors import InputError, PluginError
from ..hybrid.charts import Model, load_model
from ..io.terrain_schema import GroundTable
from . import (
    compliant_laws,
    controllers,
    event_derivatives,
    integrators,
    law_runs,
    models,
    parameters,
    rigid_laws,
    terrains,
)
from .controllers import Drive
from .integrators import Method
from .probe import Probe
from .report import Outcome, Report

Named = dict[str, Callable[[], Outcome]]
VALIDATED, ALIVE = "parameters validated", "parameters alive"
GROUPS = ("contact_laws", "models", "event_derivatives", "integrators", "controllers", "terrains")  # that are checked
Plugin = ContactLaw | Model | EventDerivative | Method | Drive | GroundTable


def check_contact_law(law: str | ContactLaw, robots: Sequence[str] = ()) -> Report:
    """Try every property of a contact law.

    Args:
        law: the name of a registered law, or an instance.
        robots: names of robots that are to fall onto the ground under it for two seconds, besides a ball and a box.

    Raises:
        PluginError: there is no such law, or it does not load.
        InputError: what was given is no contact law.
    """
    return _report(law, named(_law(law), robots))


def check_model(model: str | Model) -> Report:
    """Try every property of a model, in its run from the default state.

    Raises:
        PluginError: there is no such model, or it does not load.
    """
    return _report(model, named(load_model(model) if isinstance(model, str) else model))


def check_plugin(name: str, robots: Sequence[str] = (), **settings: Any) -> Report:
    """Try every property of a registered law, model, event derivative, integrator, controller or ground.

    Args:
        name: under which it is registered.
        robots: further robots to run under a law; the robots that a controller is to drive.
        settings: its parameters.

    Raises:
        PluginError: there is no such plugin, or it does not load.
        InputError: a parameter is unknown or out of range.
    """
    return _report(name, of_plugin(name, settings, robots))


def of_plugin(name: str, settings: Mapping[str, Any], robots: Sequence[str] = ()) -> Named:
    """{property: what tries it} of a registered plugin with its parameters."""
    group = group_of(name)
    if group != "controllers" or len(robots) <= 1:
        return named(make(group, name, settings, robots), robots)
    found: Named = {}
    for robot in robots:
        found |= {f"{title} ({robot})": check for title, check in named(make(group, name, settings, (robot,))).items()}
    return found


def group_of(name: str) -> str:
    """The group in which a plugin is registered, of those that can be checked."""
    for group in GROUPS:
        if name in registry.names(group):
            return group
    known = "; ".join(
        f"{group.replace('_', ' ')} {', '.join(found)}" for group in GROUPS if (found := registry.names(group))
    )
    raise PluginError(f"no plugin '{name}' that can be checked; registered are the {known}")


def make(group: str, name: str, settings: Mapping[str, Any], robots: Sequence[str] = ()) -> Plugin:
    """The plugin of a group with its parameters."""
    found: Any = registry.load(group, name)
    if group in ("event_derivatives", "integrators") and settings:
        raise InputError(f"'{name}' has no parameters; leave --set out")
    if group == "event_derivatives":
        return found()
    if group == "integrators":
        return Method(found, name)
    if group == "controllers":
        return Drive(found, dict(settings), *robots[:1])
    if group == "terrains":
        return validated(found, {"kind": name, **settings}, f"ground {name}")
    return found(**settings)


def named(plugin: Plugin, robots: Sequence[str] = ()) -> Named:
    """{property: what tries it} of a plugin; where one raises, that is its outcome."""
    return {title: partial(_tried, title, check) for title, check in _of_kind(plugin, robots).items()}


def _tried(title: str, check: Callable[[], Outcome]) -> Outcome:
    try:
        return check()
    except Exception as error:
        told = failure(error, error.__traceback__)
        return Outcome(title, False, message=f"it cannot be tried: the plugin fails with {told}; mend it there")


def _of_kind(plugin: Plugin, robots: Sequence[str]) -> Named:
    if isinstance(plugin, Model):
        return _of_model(plugin)
    if isinstance(plugin, EventDerivative):
        return event_derivatives.named(plugin)
    if isinstance(plugin, Method):
        return integrators.named(plugin)
    if isinstance(plugin, Drive):
        return controllers.named(plugin)
    if isinstance(plugin, GroundTable):
        return terrains.named(plugin)
    return _of_law(plugin, robots)


def quietly(check: Callable[[], Outcome]) -> Outcome:
    """An outcome, without the warnings of states far from any run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check()


def properties(name: str) -> tuple[str, ...]:
    """Names of the properties of the plugin that is registered under a name."""
    return tuple(_of_name(name))


def check_property(name: str, wanted: str) -> Outcome:
    """One property of the plugin that is registered under a name."""
    return quietly(_of_name(name)[wanted])


@cache
def _of_name(name: str) -> Named:
    return of_plugin(name, {})


def _of_law(law: ContactLaw, robots: Sequence[str]) -> Named:
    kind = type(law)
    found: Named = {VALIDATED: partial(parameters.schema, VALIDATED, kind.Parameters, kind)}
    if isinstance(law, CompliantLaw):
        probe = Probe(law)
        found["same force twice"] = partial(
            compliant_laws.outcome, "same force twice", probe
        )  # first, as in compliant_laws.PLAIN
        found[ALIVE] = partial(parameters.alive, ALIVE, law, compliant_laws.answers)
        found["parameters bounded"] = partial(parameters.promises, "parameters bounded", law)
        found["made again from parameters"] = partial(parameters.rebuilt, "made again from parameters", law)
        found |= {name: partial(compliant_laws.outcome, name, probe) for name in compliant_laws.PLAIN}
    else:
        assert isinstance(law, RigidLaw)
        found |= {name: partial(rigid_laws.outcome, name, law) for name in rigid_laws.NAMES}
        found[ALIVE] = partial(parameters.alive, ALIVE, law, rigid_laws.answers)
    found |= law_runs.named(law)
    return found | {f"runs on {robot}": partial(law_runs.on_robot, robot, law) for robot in robots}


def _of_model(model: Model) -> Named:
    kind = type(model)
    return {
        VALIDATED: partial(parameters.schema, VALIDATED, kind.Parameters, kind),
        "state described": partial(parameters.schema, "state described", kind.State, model.initial_state),
        **models.named(model),
    }


def _law(law: str | ContactLaw) -> ContactLaw:
    found: Any = registry.load("contact_laws", law)() if isinstance(law, str) else law
    if not isinstance(found, RigidLaw | CompliantLaw):
        raise InputError(f"{found!r} is no contact law; give the name or an instance of a RigidLaw or CompliantLaw")
    return found


def _report(plugin: Any, named: Named) -> Report:
    title = plugin if isinstance(plugin, str) else type(plugin).__name__
    return Report(title, tuple(quietly(check) for check in named.values()))
