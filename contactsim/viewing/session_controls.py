"""Controls of a running simulation: the numbers of a system, with limits from their schemas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import BaseModel

from ..contact_dynamics import is_contact_system
from ..errors import InputError
from ..hybrid.system import HybridSystem

REACH = 4.0  # a number without an upper limit can be turned up to this many times its value
STEPS = 200  # of a slider
FRICTION = 2.0  # highest coefficient of friction on a slider; more does what this does
OF_CONTACTS = {
    "contact.friction": ("coefficient of kinetic friction of all contacts", FRICTION),
    "contact.static_friction": ("coefficient of static friction of all contacts", FRICTION),
    "contact.restitution": ("coefficient of restitution of all contacts", 1.0),
}
OF_CONTROLLERS = 12  # numbers of a controller that are shown; those of single joints come last and are cut


@dataclass(frozen=True)
class Control:
    """A number that can be turned.

    Attributes:
        name: as `with_parameter` knows it.
        value: the present one.
        low, high: between which it can be turned.
        step: the least turn; 1 for a whole number.
        text: what it is, and its unit.
    """

    name: str
    value: float
    low: float
    high: float
    step: float
    text: str = ""


def controls(system: HybridSystem) -> tuple[Control, ...]:
    """The numbers of a system that can be turned: of a ContactSystem or a Model; none of any other system."""
    schema = getattr(system, "parameters", None)
    if isinstance(schema, BaseModel):
        return tuple(_of_schema(schema))
    return tuple(_of_contacts(system)) if is_contact_system(system) else ()


def current(shown: tuple[Control, ...], system: HybridSystem) -> tuple[Control, ...]:
    """The same controls with the values of `system`; their limits stay, but for a value beyond them."""
    values = [(control, _value(system, control.name)) for control in shown]
    return tuple(replace(c, value=value, low=min(c.low, value), high=max(c.high, value)) for c, value in values)


def _of_contacts(system: Any) -> Iterator[Control]:
    if system.mechanism.names:
        for name, (text, high) in OF_CONTACTS.items():
            value = _value(system, name)
            yield Control(name, value, 0.0, max(high, value), 0.01, text)
    yield from _of_schema(system.law.parameters, "law.")
    own = system.controller.parameters() if system.controller is not None else {}
    for name, value in sorted(own.items(), key=lambda item: "." in item[0])[:OF_CONTROLLERS]:
        yield _free(f"controller.{name}", value, f"of the controller {system.controller!r}", positive=value > 0.0)
    if hasattr(system.robot, "bodies") and system.gravity.any():
        yield _free("gravity", _value(system, "gravity"), "magnitude of gravity [m/s^2]", positive=True)


def _value(system: Any, name: str) -> float:
    """Value of a parameter; the mean of the contacts where they differ in it."""
    try:
        return float(system.parameter(name))
    except InputError:
        group, _, kind = name.partition(".")
        if group != "contact":
            raise
        return float(np.mean([system.parameter(f"contact.{one}.{kind}") for one in system.mechanism.names]))


def _of_schema(parameters: BaseModel, prefix: str = "") -> Iterator[Control]:
    properties = type(parameters).model_json_schema().get("properties", {})
    for name, field in properties.items():
        if field.get("type") in ("number", "integer"):
            yield _limited(f"{prefix}{name}", float(getattr(parameters, name)), field)


def _limited(name: str, value: float, field: dict[str, Any]) -> Control:
    """A number between the limits of its schema, or REACH times its value where there are none."""
    above, below = field.get("exclusiveMinimum"), field.get("exclusiveMaximum")
    low, high = field.get("minimum", above), field.get("maximum", below)
    free = _free(name, value, field.get("description", ""), positive=low is not None and low >= 0.0)
    low = free.low if low is None else float(low)
    high = free.high if high is None else float(high)
    step = 1.0 if field["type"] == "integer" else (high - low) / STEPS
    return Control(name, value, low + step * (above is not None), high - step * (below is not None), step, free.text)


def _free(name: str, value: float, text: str, positive: bool) -> Control:
    high = REACH * abs(value) or 1.0
    step = high / STEPS
    return Control(name, value, step if positive and value > 0.0 else 0.0 if positive else -high, high, step, text)
