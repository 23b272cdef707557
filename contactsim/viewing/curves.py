"""Curves of a run over time, as figures and pages plot them, and the colours of its contacts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.modes import Mode
from ..contact_dynamics import is_contact_system
from ..hybrid.trajectory import Arc

# Of contacts, in their order and throughout (Okabe and Ito 2008, darker where they are thin lines on white).
PALETTE = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#aa3377",
    "#c79a00",
    "#56b4e9",
    "#7a5195",
    "#8c564b",
    "#4d4d4d",
    "#e377c2",
    "#6b8e23",
    "#17becf",
)
PARTS_OF_ENERGY = ("#344054", "#0072b2", "#009e73")


@dataclass(frozen=True)
class Curves:
    """Values of one kind over time.

    Attributes:
        kind: what they are.
        unit: of all of them.
        names: of each.
        of: (arc, t) -> their values (len(names),); NaN where there is none.
        by_contact: whether the names are those of contacts.
    """

    kind: str
    unit: str
    names: tuple[str, ...]
    of: Callable[[Arc, float], Array]
    by_contact: bool = False

    @property
    def colours(self) -> tuple[str, ...]:
        """ "#rrggbb" of each; a contact has one colour throughout."""
        shades = PARTS_OF_ENERGY if self.kind == "energy" else PALETTE
        return tuple(shades[k % len(shades)] for k in range(len(self.names)))


def curves(system: Any) -> tuple[Curves, ...]:
    """All curves that a system has, of its contacts, its energy, and its joints or states."""
    return (*_of_contacts(system), *_of_energy(system), *_of_motion(system))


# --- contacts ---------------------------------------------------------------------------------------------------


def _of_contacts(system: Any) -> Iterator[Curves]:
    if not is_contact_system(system) or not system.mechanism.names:
        return
    names = tuple(system.mechanism.names)
    yield Curves("gap", "m", names, _gaps, True)
    forces = _Forces()
    yield Curves("normal force", "N", names, lambda arc, t: forces(arc, t)[:, 0], True)
    yield Curves("friction force", "N", names, lambda arc, t: forces(arc, t)[:, 1], True)
    yield Curves("slip speed", "m/s", names, _slips, True)


def _gaps(arc: Any, t: float) -> Array:
    system = arc.system
    gaps: Array = system.mechanism.within(arc.mode.regions).gaps(t, system.q(arc(t)))
    return gaps[: len(system.mechanism.names)]


def _along_rows(arc: Arc, t: float) -> Array:
    """Normal force and size of the friction force (nc, 2) of each contact."""
    system: Any = arc.system
    found = system.row_forces(t, arc(t), arc.mode)
    count = len(system.mechanism.names)
    out = np.zeros((count, 2))
    for i in range(count):
        if i in found:
            out[i] = found[i][0], np.linalg.norm(found[i][1:])
    return out


class _Forces:
    """The forces of the last moment that was asked for: two curves share them."""

    def __init__(self) -> None:
        self._last: tuple[Arc, float, Array] | None = None

    def __call__(self, arc: Arc, t: float) -> Array:
        if self._last is None or self._last[0] is not arc or self._last[1] != t:
            self._last = arc, t, _along_rows(arc, t)
        return self._last[2]


def _slips(arc: Any, t: float) -> Array:
    """Tangential speeds (nc,) of closed contacts; zero while they are open."""
    system = arc.system
    mechanism, mode, x = system.mechanism.within(arc.mode.regions), arc.mode, arc(t)
    rates = mechanism.rates(t, system.q(x), system.v(x), mode.closed)
    out, start = np.zeros(len(system.mechanism.names)), 0
    for i in mode.closed:
        part = slice(start, start + system.mechanism.dims[i])
        start = part.stop
        if i < len(out) and mode.contacts[i].mode is not Mode.STICK:
            out[i] = np.linalg.norm(rates[part][1:])
    return out


# --- energy, joints and states ------------------------------------------------------------------------------------


def _of_energy(system: Any) -> Iterator[Curves]:
    if is_contact_system(system):
        yield Curves("energy", "J", ("total", "kinetic", "potential"), _parts_of_energy)
    elif hasattr(system, "energy"):
        yield Curves("energy", "J", ("total",), _energy)


def _parts_of_energy(arc: Arc, t: float) -> Array:
    system: Any = arc.system
    q, v = system.q(arc(t)), system.v(arc(t))
    total, potential = (float(system.mechanism.energy(q, one)) for one in (v, np.zeros_like(v)))
    return np.array([total, total - potential, potential])


def _energy(arc: Arc, t: float) -> Array:
    value = arc.system.energy(arc(t), arc.mode)
    return np.array([np.nan if value is None else value], dtype=float)


def _of_motion(system: Any) -> Iterator[Curves]:
    model = getattr(getattr(system, "robot", None), "model", None)
    if is_contact_system(system) and model is not None:
        yield from _of_joints(model)
    elif not is_contact_system(system):
        yield from _of_states(system)


def _of_joints(model: Any) -> Iterator[Curves]:
    """Places and speeds of joints of one coordinate, turning ones apart from those that slide; a free body's place."""
    single = [k for k in range(1, model.njoints) if model.joints[k].nq == model.joints[k].nv == 1]
    slides = [k for k in single if model.joints[k].shortname().startswith("JointModelP")]
    turns = [k for k in single if k not in slides]
    for kind, unit, joints in (("joint angle", "rad", turns), ("joint place", "m", slides)):
        if not joints:
            continue
        names = tuple(model.names[k] for k in joints)
        yield Curves(kind, unit, names, _taken("q", [model.joints[k].idx_q for k in joints]))
        yield Curves(f"rate of {kind}", f"{unit}/s", names, _taken("v", [model.joints[k].idx_v for k in joints]))
    free = [k for k in range(1, model.njoints) if model.joints[k].nq == 7]
    for k in free[:1]:
        yield Curves("body place", "m", ("x", "y", "z"), _taken("q", [model.joints[k].idx_q + i for i in range(3)]))


def _taken(part: str, places: Sequence[int]) -> Callable[[Arc, float], Array]:
    def values(arc: Arc, t: float) -> Array:
        return np.asarray(getattr(arc.system, part)(arc(t)), dtype=float)[list(places)]

    return values


def _of_states(system: Any) -> Iterator[Curves]:
    """States of a system without contacts, those of the same unit together."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for k, (name, unit) in enumerate(states(system)):
        if name not in getattr(system, "bookkeeping", ()):
            groups.setdefault(unit, []).append((k, name))
    for unit, members in groups.items():
        places = [k for k, _ in members]
        kind = f"states, {unit}" if unit else "states"
        yield Curves(kind, unit, tuple(name for _, name in members), _state(places))


def _state(places: Sequence[int]) -> Callable[[Arc, float], Array]:
    def values(arc: Arc, t: float) -> Array:
        x = np.asarray(arc(t), dtype=float)
        return np.array([x[k] if k < len(x) else np.nan for k in places])

    return values


def states(system: Any) -> list[tuple[str, str]]:
    """(name, unit) of the states of a system that says them in a schema; none of any other."""
    fields = getattr(getattr(system, "State", None), "model_fields", {})
    return [(name, unit_of(field.description or "")) for name, field in fields.items()]


def unit_of(text: str) -> str:
    """The unit in a description: "height of the body [m]"."""
    found = re.search(r"\[([^\]]+)\]", text)
    return found[1] if found else ""
