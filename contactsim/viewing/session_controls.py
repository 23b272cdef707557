"""Controls of a running simulation: the numbers of a system, with limits from their schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import BaseModel

from ..common.lazy import dataclass
from ..contact_dynamics import is_contact_system
from ..errors import InputError
from ..hybrid.system import HybridSystem
from .curves import unit_of

REACH = 4.0  # a number without an upper limit can be turned up to this many times its value
STEPS = 200  # of a slider
OWNER = 20  # characters of what a number may belong to
WIDEST_PLACE = 1.0  # to both sides, to which a joint that slides can be set [m]
FRICTION = 2.0  # highest coefficient of friction on a slider; more does what this does
OF_CONTACTS = {
    "contact.friction": ("coefficient of kinetic friction of all contacts", FRICTION),
    "contact.static_friction": ("coefficient of static friction of all contacts", FRICTION),
    "contact.restitution": ("coefficient of restitution of all contacts", 1.0),
}
GAINS = {
    "kp": "stiffness of joints [N m/rad]",
    "kd": "damping of joints [N m s/rad]",
    "kp_scale": "factor on all stiffnesses",
    "kd_scale": "factor on all dampings",
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
        group: what it belongs to, in a word or two.
    """

    name: str
    value: float
    low: float
    high: float
    step: float
    text: str = ""
    group: str = ""

    @property
    def unit(self) -> str:
        """Unit; empty for a bare number."""
        return unit_of(self.text)

    @property
    def label(self) -> str:
        """Its description without the unit."""
        words = re.sub(r"\s*\[[^\]]*\]", "", self.text).strip()
        return words or self.name


@dataclass(frozen=True)
class Joint:
    """A joint of one coordinate that can be set.

    Attributes:
        name: of the joint.
        place: index of its coordinate.
        low, high: between which it can be set [rad or m].
        unit: "rad" or "m".
    """

    name: str
    place: int
    low: float
    high: float
    unit: str


def joints_of(system: Any) -> tuple[Joint, ...]:
    """Joints of one coordinate of a robot; none of any other system."""
    model = getattr(getattr(system, "robot", None), "model", None)
    if not is_contact_system(system) or model is None:
        return ()
    found = []
    for k in range(1, model.njoints):
        if model.joints[k].nq == model.joints[k].nv == 1:
            place, slides = model.joints[k].idx_q, model.joints[k].shortname().startswith("JointModelP")
            widest = WIDEST_PLACE if slides else np.pi
            low, high = max(model.lowerPositionLimit[place], -widest), min(model.upperPositionLimit[place], widest)
            found.append(Joint(model.names[k], place, float(low), float(high), "m" if slides else "rad"))
    return tuple(found)


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
            yield Control(name, value, 0.0, max(high, value), 0.01, text, "contacts")
    if hasattr(system.robot, "bodies") and system.gravity.any():
        value = _value(system, "gravity")
        yield replace(_free("gravity", value, "gravity [m/s^2]", positive=True), group="world")
    for control in _of_schema(system.law.parameters, "law."):
        yield replace(control, group="contact law")
    own = system.controller.parameters() if system.controller is not None else {}
    for name, value in sorted(own.items(), key=lambda item: "." in item[0])[:OF_CONTROLLERS]:
        text = _of_controller(name)
        yield replace(_free(f"controller.{name}", value, text, positive=value > 0.0), group="controller")


def _of_controller(name: str) -> str:
    """A number of a controller in words: "kp.knee" is the stiffness of the knee."""
    kind, _, joint = name.partition(".")
    words = GAINS.get(kind, kind.replace("_", " "))
    return f"{words}, {joint.replace('_', ' ')}" if joint else words


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
    found: list[Control] = []
    for name, field in properties.items():
        if field.get("type") in ("number", "integer"):
            found.append(_limited(f"{prefix}{name}", float(getattr(parameters, name)), field))
    groups = list(dict.fromkeys(control.group for control in found))
    groups.sort(key=lambda group: (group != "parameters", group.startswith("without")))
    for group in groups:
        yield from (control for control in found if control.group == group)


def _limited(name: str, value: float, field: dict[str, Any]) -> Control:
    """A number between the limits of its schema, or REACH times its value where there are none."""
    above, below = field.get("exclusiveMinimum"), field.get("exclusiveMaximum")
    low, high = field.get("minimum", above), field.get("maximum", below)
    free = _free(name, value, field.get("description", ""), positive=low is not None and low >= 0.0)
    low = free.low if low is None else float(low)
    high = free.high if high is None else float(high)
    step = 1.0 if field["type"] == "integer" else (high - low) / STEPS
    low, high = low + step * (above is not None), high - step * (below is not None)
    return Control(name, value, low, high, step, free.text, _group(free.text))


def _group(text: str) -> str:
    """The owner of a number of a schema: leg 0 of "leg 0: spring constant"; what nothing reads comes apart."""
    if "unused" in text or re.search(r"visuali[sz]ation|saved frame|no equation", text):
        return "without effect on the motion"
    owner, found, _ = text.partition(": ")
    return owner if found and len(owner) < OWNER else "parameters"


def _free(name: str, value: float, text: str, positive: bool) -> Control:
    high = REACH * abs(value) or 1.0
    step = high / STEPS
    return Control(name, value, step if positive and value > 0.0 else 0.0 if positive else -high, high, step, text)
