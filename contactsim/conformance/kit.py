"""Which properties a plugin has, and the report on all of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from .. import registry
from ..contracts import CompliantLaw, ContactLaw, RigidLaw
from ..errors import InputError
from ..model import Model, load_model
from . import forces, models, parameters, problems, runs
from .probe import Probe
from .report import Outcome, Report

Named = dict[str, Callable[[], Outcome]]
VALIDATED = "parameters validated"


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


def named(plugin: ContactLaw | Model, robots: Sequence[str] = ()) -> Named:
    """{property: what tries it} of a law or a model."""
    return _of_model(plugin) if isinstance(plugin, Model) else _of_law(plugin, robots)


def quietly(check: Callable[[], Outcome]) -> Outcome:
    """An outcome, without the warnings of states far from any run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check()


def properties(name: str) -> tuple[str, ...]:
    """Names of the properties of the law or model that is registered under a name."""
    return tuple(_of_name(name))


def check_property(name: str, wanted: str) -> Outcome:
    """One property of the law or model that is registered under a name."""
    return quietly(_of_name(name)[wanted])


@cache
def _of_name(name: str) -> Named:
    if name not in registry.names("contact_laws") and name in registry.names("models"):
        return named(load_model(name))
    return named(_law(name))


def _of_law(law: ContactLaw, robots: Sequence[str]) -> Named:
    kind = type(law)
    found: Named = {VALIDATED: partial(parameters.schema, VALIDATED, kind.Parameters, kind)}
    if isinstance(law, CompliantLaw):
        probe = Probe(law)
        found["parameters bounded"] = partial(parameters.promises, "parameters bounded", law)
        found["made again from parameters"] = partial(parameters.rebuilt, "made again from parameters", law)
        found |= {name: partial(forces.outcome, name, probe) for name in forces.PLAIN}
    else:
        assert isinstance(law, RigidLaw)
        found |= {name: partial(problems.outcome, name, law) for name in problems.NAMES}
    made = runs.Runs(law)
    found |= {name: partial(runs.outcome, name, made) for name in runs.CHECKS}
    return found | {f"runs on {robot}": partial(runs.on_robot, robot, law) for robot in robots}


def _of_model(model: Model) -> Named:
    kind = type(model)
    make_run = cache(partial(models.ModelRun, model))
    return {
        VALIDATED: partial(parameters.schema, VALIDATED, kind.Parameters, kind),
        "state described": partial(parameters.schema, "state described", kind.State, model.initial_state),
        **{name: partial(models.outcome, name, make_run) for name in models.CHECKS},
    }


def _law(law: str | ContactLaw) -> ContactLaw:
    found: Any = registry.load("contact_laws", law)() if isinstance(law, str) else law
    if not isinstance(found, RigidLaw | CompliantLaw):
        raise InputError(f"{found!r} is no contact law; give the name or an instance of a RigidLaw or CompliantLaw")
    return found


def _report(plugin: Any, named: Named) -> Report:
    title = plugin if isinstance(plugin, str) else type(plugin).__name__
    return Report(title, tuple(quietly(check) for check in named.values()))
