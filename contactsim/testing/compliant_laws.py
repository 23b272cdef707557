"""Properties of a compliant law at single states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from math import inf, nan

import numpy as np

from ..common.arrays import Array
from ..contact.laws import CompliantLaw, CompliantPoint
from ..contact_dynamics.compliant_flow import SMALLEST_GAP, SMALLEST_MEMORY, SMALLEST_SPEED, law_jacobian
from ..hybrid.differences import derivative
from .domain import Asked, Property
from .probe import ANYTHING, DEPTHS, HEIGHTS, SLIPS, SPEEDS, Probe, remember
from .report import Outcome, State, spelled

Build = Callable[[Probe], Property]

ROUNDING = 1e-9  # of a force or power, relative to the largest
JUMP = 1e-5  # of the force between neighbouring states, relative to the largest; a steep law leaves less
ZOOMS, PARTS = 46, 16  # halvings by which a jump is closed in, after a first division of the way
CYCLE, CYCLE_POINTS = 1e-5, 2000  # work of a press and release, relative to force times depth; samples of it
DERIVATIVE = 1e-5  # difference of a derivative, relative to the largest entries of its row and column
DOUBT = 10.0  # by how much a difference must be missed beyond its own uncertainty
STEPS = (1e-3, 1e-4, 1e-5)  # of differences, relative to the values
PATH = 1e-6  # work of friction, relative to force times way
REPEATED = 1500  # random states whose force is asked for again, later, too: a counter of calls shows
TURNS = (37.0, 90.0)  # degrees by which tangential axes are turned


def _finite(probe: Probe) -> Property:
    def reason(state: State) -> str:
        size, empty = 1 + int(state["tangents"]), np.zeros(probe.law.memory)
        try:
            for memory in (empty, None):  # without a history, whose solution needs the shapes to be right, and with it
                force, rate = probe.answer(state, memory)
                if force.shape != (size,) or rate.shape != empty.shape:
                    return (
                        f"returns shapes {force.shape} and {rate.shape} where force and memory rate need ({size},) and"
                        f" {empty.shape}"
                    )
        except Exception as error:
            return f"raises {type(error).__name__} ({error})"
        good = np.isfinite(force).all() and np.isfinite(rate).all()
        return "" if good else f"returns the force {spelled(force)} N and the memory rate {spelled(rate)}"

    def sentence(state: State) -> str:
        return f"the law {reason(state)} at {{where}}; return finite numbers for every gap and velocity"

    domain = probe.domain(gap=(*DEPTHS, *HEIGHTS))
    return Property(
        "finite answers", domain, lambda state: float(bool(reason(state))), 0.0, "", sentence, probe.count(300)
    )


def _deterministic(probe: Probe) -> Property:
    def answer(state: State) -> Array | None:
        try:
            return np.concatenate(probe.law.force(probe.point(state)))
        except ANYTHING:
            return None

    def writes(state: State) -> bool:
        try:
            point = probe.point(state)
            velocity, memory = point.velocity.copy(), point.memory.copy()
            probe.law.force(point)
        except ANYTHING:
            return False
        return not (np.array_equal(velocity, point.velocity) and np.array_equal(memory, point.memory))

    def sentence(state: State) -> str:
        if writes(state):
            return "the law writes into its point at {where}; return new arrays"
        return (
            "the law answers differently when asked twice, by {found}, at {where}; let the force depend on nothing but"
            " the point and the parameters"
        )

    asked, count = Asked(answer), probe.count(300) if probe.law.memory else REPEATED
    measure = lambda state: inf if writes(state) else asked.difference(state)  # noqa: E731
    return Property("same force twice", probe.domain(), measure, 0.0, "N", sentence, count)


def _above_ground(probe: Probe) -> Property:
    def push(state: State) -> float:
        try:
            return float(probe.force(state)[0]) if probe.margin(state) >= 0.0 else nan  # else it was let go before
        except ANYTHING:
            return nan

    sentence = (
        "the contact pushes with {found:.3g} N at {where}, so that its guard 'release' does not"
        " fire before it leaves; let the normal force fall to zero with the gap, or declare pulls = True"
    )

    domain = probe.domain(gap=HEIGHTS, **{"normal velocity": tuple(v for v in SPEEDS if v >= 0.0)})
    return Property("no force at positive gap", domain, push, ROUNDING * probe.scale, "N", sentence, probe.count(300))


def _no_pulling(probe: Probe) -> Property:
    sentence = (
        "the contact pulls with {found:.3g} N at {where}, pressed and not moving off; check the"
        " sign of the normal force, or declare pulls = True"
    )

    domain = probe.domain(gap=(0.0, *DEPTHS), **{"normal velocity": tuple(v for v in SPEEDS if v <= 0.0)})
    measure = lambda state: -float(probe.force(state)[0])  # noqa: E731
    return Property("no pulling", domain, measure, ROUNDING * probe.scale, "N", sentence, probe.count(300))


def _bears(probe: Probe) -> Property:
    def sentence(state: State) -> str:
        return (
            f"the contact at rest bears no load: its normal force is {probe.force(state)[0]:.3g} N at {{where}}; let it"
            " push while the gap is negative"
        )

    # A law that pulls is pushed in before it bears a load: only how deep, it may choose.
    depths = DEPTHS[-1:] if probe.law.pulls else DEPTHS
    domain = probe.domain(gap=depths, **{"normal velocity": (0.0,)})
    measure = lambda state: float(probe.force(state)[0] <= 0.0)  # noqa: E731
    return Property("bears a load", domain, measure, 0.0, "", sentence, probe.count(300))


def _margin(probe: Probe) -> Property:
    def disagrees(state: State) -> float:
        try:
            force, margin = float(probe.force(state)[0]), probe.margin(state)
        except ANYTHING:
            return nan
        return abs(force) if force * margin < 0.0 or (margin == 0.0) != (force == 0.0) else 0.0

    def sentence(state: State) -> str:
        force, margin = float(probe.force(state)[0]), probe.margin(state)
        return (
            f"the margin is {margin:.3g} where the normal force is {force:.3g} N at {{where}}, so that the guards"
            " 'release' and 'return' do not fire where pushing ends; give the margin the sign of the force"
        )

    limit = ROUNDING * probe.scale
    return Property("margin agrees with force", probe.domain(), disagrees, limit, "N", sentence, probe.count(300))


def _cone(probe: Probe) -> Property:
    def excess(state: State) -> float:
        force = probe.force(state)
        if not probe.acts(force):
            return nan
        return float(np.linalg.norm(force[1:])) - probe.bound(state) * abs(float(force[0]))

    def sentence(state: State) -> str:
        force = probe.force(state)
        return (
            f"friction of {np.linalg.norm(force[1:]):.3g} N leaves the cone of {probe.bound(state):.3g} x"
            f" {force[0]:.3g} N at {{where}}; bound the tangential force by the coefficient times the normal force"
        )

    return Property("cone respected", probe.domain(), excess, ROUNDING * probe.scale, "N", sentence, probe.count(300))


def _dissipates(probe: Probe) -> Property:
    def power(state: State) -> float:
        force = probe.force(state)
        return float(force[1:] @ probe.point(state).velocity[1:]) if probe.acts(force) else nan

    sentence = (
        "friction feeds {found:.3g} W into the motion at {where}; let the tangential force oppose the slip velocity"
    )

    limit = ROUNDING * probe.scale * max(SLIPS)
    return Property("friction never gains energy", probe.domain(), power, limit, "W", sentence, probe.count(300))


def _dissipates_from_rest(probe: Probe) -> Property:
    """Friction with memory may give back what it holds, but no more: its work from rest is never positive."""

    def gain(state: State) -> float:
        law, time = probe.law, state["past time"]
        try:
            rest = probe.point({**state, "past slip": 0.0})._replace(memory=np.zeros(law.memory))
            there = probe.point({**state, "slip": state["past slip"], "angle": state["past angle"]})
            memory, work, most = remember(law, there._replace(memory=rest.memory), time)
            _, _, later = remember(law, rest._replace(memory=memory), time, work)
        except ANYTHING:
            return nan
        size = probe.scale * time * (state["slip"] + state["past slip"])
        return max(most, later) / size if size > 0.0 else nan

    sentence = (
        "friction has gained energy since rest, {found:.3g} of the largest force times its way, at {where}"
        " held for as long as the history; let the memory store no more than was put in"
    )

    domain = probe.domain(**{"normal velocity": (0.0,), "tangents": (2.0, 1.0)})
    return Property("friction never gains energy", domain, gain, PATH, "", sentence, count=40)


def _press_and_release(probe: Probe) -> Property:
    def gain(state: State) -> float:
        phase = np.linspace(0.0, np.pi, CYCLE_POINTS + 1)
        depth, period = state["depth"], state["period"]
        gaps, speeds = -depth * np.sin(phase) ** 2, -depth * np.pi / period * np.sin(2.0 * phase)
        empty = np.zeros(probe.law.memory)
        motion = ({**state, "gap": gap, "normal velocity": speed} for gap, speed in zip(gaps, speeds, strict=True))
        forces = np.array([probe.force(moved, empty)[0] for moved in motion])
        forces = forces if probe.law.pulls else np.maximum(forces, 0.0)
        largest = float(np.abs(forces).max()) * depth
        return float(np.trapezoid(forces * speeds, phase * period / np.pi)) / largest if largest > 0.0 else nan

    sentence = (
        "pressing the contact in and letting it out gains {found:.3g} of the largest force times the depth,"
        " at {where}; let the damping oppose the normal velocity"
    )

    ladders = {"gap": (), "normal velocity": (), "slip": (), "angle": (), "past slip": (), "past angle": (),
               "past time": (), "depth": (1e-3, 1e-2), "period": (1.0, 0.1, 1e-2)}  # fmt: skip
    return Property("press and release", probe.domain(**ladders), gain, CYCLE, "", sentence, count=10)


def _turned_axes(probe: Probe) -> Property:
    def turned(state: State, angle: float) -> State:
        other = {name: (state[name] + angle) for name in ("angle", "past angle") if name in state}
        return {**state, **other}

    def mirrored(state: State) -> State:
        return {**state, **{name: -state[name] for name in ("angle", "past angle") if name in state}}

    def difference(state: State) -> float:
        force = probe.force(state)
        seen = np.array([1.0, 1.0, -1.0]) * force  # in a mirror along the first axis
        worst = float(np.abs(probe.force(mirrored(state)) - seen).max())
        for angle in TURNS:
            c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
            expected = np.concatenate((force[:1], np.array([[c, -s], [s, c]]) @ force[1:]))
            worst = max(worst, float(np.abs(probe.force(turned(state, angle)) - expected).max()))
        return worst

    sentence = (
        f"the force changes by {{found:.3g}} N when the tangential axes are turned by {TURNS[0]:g} or"
        f" {TURNS[1]:g} deg, or mirrored, at {{where}}; let friction depend on the length and direction of the slip,"
        " not on axes, and lie along the slip"
    )

    limit = (1e-6 if probe.law.memory else ROUNDING) * probe.scale  # histories are known to about 1e-8
    return Property("turned axes", probe.domain(tangents=(2.0,)), difference, limit, "N", sentence, probe.count(300))


# --- smoothness -------------------------------------------------------------------------------------------------------


def _continuous(probe: Probe) -> Property:
    def jumps(state: State) -> dict[str, float]:
        way = {
            "the slip velocity": lambda part: {"slip": part * max(state["slip"], 1e-3)},
            "the normal velocity": lambda part: {"normal velocity": part * max(abs(state["normal velocity"]), 0.1)},
            "the gap": lambda part: {"gap": DEPTHS[-1] * (0.5 + 0.4999 * part)},
        }
        found = {}
        try:
            memory = probe.point(state).memory
        except ANYTHING:
            return {"nothing": nan}
        for name, at in way.items():
            left, right = _steepest(lambda part, at=at: probe.force({**state, **at(part)}, memory))  # type: ignore[misc]
            found[name] = float(np.abs(right - left).max()) if probe.acts(left) or probe.acts(right) else 0.0
        return found

    def sentence(state: State) -> str:
        found = jumps(state)
        name = max(found, key=found.__getitem__)
        return (
            f"the force jumps by {found[name]:.3g} N where {name} varies around {{where}}; what switches is an event of"
            " the engine's: make the force continuous while the contact touches"
        )

    domain = probe.domain(tangents=(2.0, 1.0))
    measure = lambda state: max(jumps(state).values())  # noqa: E731
    return Property("no jumps", domain, measure, JUMP * probe.scale, "N", sentence, probe.count(12))


def _steepest(force: Callable[[float], Array]) -> tuple[Array, Array]:
    """Forces at both ends of the piece of (-1, 1) that is left when the steeper half is kept again and again."""
    ends = np.linspace(-1.0, 1.0, PARTS + 2)  # an even count, so that zero lies inside a piece
    values = [force(float(end)) for end in ends]
    k = int(np.argmax([np.abs(b - a).max() for a, b in pairwise(values)]))
    a, b, left, right = float(ends[k]), float(ends[k + 1]), values[k], values[k + 1]
    for _ in range(ZOOMS):
        middle = 0.5 * (a + b)
        value = force(middle)
        if np.abs(value - left).max() >= np.abs(right - value).max():
            b, right = middle, value
        else:
            a, left = middle, value
    return left, right


def _jacobian(probe: Probe) -> Property:
    def errors(state: State) -> tuple[float, str]:
        try:
            point = probe.point(state)
            found = law_jacobian(probe.law, point)
            expected, doubt = _differences(probe.law, point)
        except ANYTHING:
            return nan, ""
        if expected.shape != found.shape:  # which another property tells
            return nan, ""
        rows, columns = np.abs(expected).max(axis=1, keepdims=True), np.abs(expected).max(axis=0, keepdims=True)
        size = np.maximum(np.maximum(rows, columns), 1e-9 * probe.scale)
        missed = np.abs(found - expected)
        relative = np.where(missed > DOUBT * doubt, missed, 0.0) / size
        row, column = np.unravel_index(int(np.argmax(relative)), relative.shape)
        names = _names(probe.law, len(point.velocity))
        words = (
            f"the derivative of {names[1][row]} by {names[0][column]} is {found[row, column]:.6g}, differences give"
            f" {expected[row, column]:.6g}"
        )
        return float(relative[row, column]), words

    def sentence(state: State) -> str:
        return f"{errors(state)[1]} at {{where}}; mend jacobian(), or leave it out to have the law differenced"

    return Property(
        "derivative of the force",
        probe.domain(),
        lambda state: errors(state)[0],
        DERIVATIVE,
        "",
        sentence,
        probe.count(100),
    )


def _differences(law: CompliantLaw, point: CompliantPoint) -> tuple[Array, Array]:
    """Derivative of a law by differences whose steps fit best, and how far those of the next size are off."""
    tried = [_differenced(law, point, step) for step in STEPS]
    off = [np.abs(a - b) for a, b in pairwise(tried)]
    best = np.argmin(np.array(off), axis=0)
    return np.choose(best, tried[1:]), np.choose(best, off)


def _differenced(law: CompliantLaw, point: CompliantPoint, step: float) -> Array:
    """Derivative of force and memory rate by gap, velocity and memory, by differences of fourth order."""
    size = len(point.velocity)
    values = np.concatenate(([point.gap], point.velocity, point.memory))
    smallest = np.array([SMALLEST_GAP] + [SMALLEST_SPEED] * size + [SMALLEST_MEMORY] * law.memory)

    def at(moved: Array) -> Array:
        other = point._replace(gap=float(moved[0]), velocity=moved[1 : 1 + size], memory=moved[1 + size :])
        with np.errstate(all="ignore"):
            return np.concatenate(law.force(other))

    steps = step * np.maximum(np.abs(values), smallest)
    columns = []
    for direction, width in zip(np.eye(len(values)), steps, strict=True):
        columns.append(derivative(lambda h, e=direction: at(values + h * e), width))  # type: ignore[misc]
    return np.column_stack(columns)


def _names(law: CompliantLaw, size: int) -> tuple[list[str], list[str]]:
    """Names of the columns and rows of a law's derivative."""
    axes = ["normal", "tangential 1", "tangential 2"][:size]
    memory = [f"memory {k}" for k in range(law.memory)]
    columns = ["the gap", *(f"the {axis} velocity" for axis in axes), *memory]
    return columns, [*(f"the {axis} force" for axis in axes), *(f"the rate of {name}" for name in memory)]


PLAIN: Mapping[str, Build] = {
    "same force twice": _deterministic,  # first: what a counter does to the first calls, it does once
    "finite answers": _finite,
    "no force at positive gap": _above_ground,
    "no pulling": _no_pulling,
    "bears a load": _bears,
    "margin agrees with force": _margin,
    "cone respected": _cone,
    "friction never gains energy": _dissipates,
    "press and release": _press_and_release,
    "turned axes": _turned_axes,
    "no jumps": _continuous,
    "derivative of the force": _jacobian,
}
UNLESS_PULLING: Mapping[str, str] = {
    "no force at positive gap": "it acts while the gap is negative",
    "no pulling": "it acts while the gap is negative",
    "margin agrees with force": "it acts while the gap is negative",
    "cone respected": "friction may be that of the pressure, which the pull adds to",
}


def outcome(name: str, probe: Probe, count: int | None = None) -> Outcome:
    """One of the properties in PLAIN, tried at `count` random states (None: as many as it asks for)."""
    law = probe.law
    if law.pulls and name in UNLESS_PULLING:
        return Outcome(name, None, message=f"the law declares that it pulls; {UNLESS_PULLING[name]}")
    build = _dissipates_from_rest if law.memory and name == "friction never gains energy" else PLAIN[name]
    found = build(probe)
    return (found if count is None else replace(found, count=probe.count(count))).outcome()


def answers(law: CompliantLaw) -> Iterator[Array]:
    """Force, memory rate and margin at one state after the other."""
    probe = Probe(law)
    for state in probe.domain().states(probe.count(300)):
        try:
            yield np.array([*np.concatenate(probe.answer(state)), probe.margin(state)], dtype=float)
        except ANYTHING:
            yield np.full(1, nan)
