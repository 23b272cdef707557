"""Properties of a rigid law at single contact problems: impacts, and the choice of modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..contact.laws import RigidLaw
from ..contact.modes import Mode
from ..contact.problem import ContactProblem
from ..errors import NoAdmissibleModeError
from .domain import SEED, Asked, Domain, Property
from .probe import ANGLES, ANYTHING, heading
from .report import Outcome, State, spelled

Build = Callable[[RigidLaw], Property]

MOST = 6  # contacts of a problem: more than the feet of most robots
COUNT = 150  # random problems of a property
RESIDUAL = 1e-7  # of a law, where velocities, accelerations and effective masses are about one
SAME = 1e-6  # between forces of a problem and those of the turned one
STATIC = 1.3  # quotient of static and kinetic friction where modes are chosen
TURN = 37.0  # degrees by which tangential axes are turned
LADDERS: dict[str, tuple[float, ...]] = {
    "contacts": (1.0, 2.0, 3.0, 4.0, 6.0),
    "coupling": (0.0, 0.3, 1.0),
    "tangents": (2.0, 1.0, 0.0),
    "friction": (0.5, 0.0, 0.2, 0.8),
    "restitution": (0.0, 0.5, 1.0),
    **{f"normal {k}": (-1.0, 0.0, -0.1, 0.1, 1.0) for k in range(1, MOST + 1)},
    **{f"slip {k}": (0.0, 1.0, 0.1, 3.0) for k in range(1, MOST + 1)},
    **{f"angle {k}": ANGLES for k in range(1, MOST + 1)},
}
IMPACTS = Domain(LADDERS, {f"angle {k}": "deg" for k in range(1, MOST + 1)})
CHOICES = Domain({**LADDERS, "restitution": (0.0,), "sliding": (0.0, 1.0)}, IMPACTS.units)
APART = Domain({**CHOICES.ladders, "coupling": (0.0,), "restitution": LADDERS["restitution"]}, IMPACTS.units)
MIXED = np.random.default_rng(SEED).normal(size=(3 * MOST, 3 * MOST))


class Solution(NamedTuple):
    """Forces (or impulses, of all stages of an impact together), and what else the law has returned."""

    forces: Array
    found: Any


def problem_of(law: RigidLaw, state: State, impact: bool, turn: float = 0.0) -> ContactProblem:
    """The contact problem of a state, as the engine would pose it; tangential axes turned by `turn` [deg].

    The Delassus matrix is I + coupling B B^T / m with a fixed random B; velocities (accelerations) are given by their
    normal part, and their slip along an angle.
    """
    count, friction = int(state["contacts"]), state["friction"]
    kinetic, static = np.full(count, friction), np.full(count, friction * (1.0 if impact else STATIC))
    kinetic, static = law.friction(kinetic, static)
    rows = int(state["tangents"]) if np.all(static > 0.0) else 0
    kept = np.concatenate([np.arange(3 * k, 3 * k + 1 + rows) for k in range(count)])
    matrix = (np.eye(3 * MOST) + state["coupling"] * MIXED @ MIXED.T / (3 * MOST))[np.ix_(kept, kept)]
    free = np.concatenate([_motion(state, k, impact)[: 1 + rows] for k in range(1, count + 1)])
    slides = not impact and state.get("sliding", 0.0) > 0.0 and rows > 0
    slips = [heading(state[f"angle {k}"])[:rows] for k in range(1, count + 1)]
    slips = [np.sign(slip) if rows == 1 else slip for slip in slips]
    axes = np.eye(len(kept))
    if rows == 2:
        c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
        axes = np.kron(np.eye(count), np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]))
        slips = [axes[1:3, 1:3] @ slip for slip in slips]
    sliding = tuple(slip if slides and np.any(slip) else None for slip in slips)
    names = tuple(f"contact {k + 1}" for k in range(count))
    dims = (1 + rows,) * count
    return ContactProblem(axes @ matrix @ axes.T, axes @ free, dims, kinetic, static, sliding, names=names)


def _motion(state: State, k: int, impact: bool) -> Array:
    """Velocity (3,) of a contact before an impact; or its acceleration, whose slip part lies across the sliding."""
    angle = state[f"angle {k}"] + (0.0 if impact else 120.0)
    return np.concatenate(([state[f"normal {k}"]], state[f"slip {k}"] * heading(angle)))


def solved(law: RigidLaw, state: State, impact: bool, turn: float = 0.0) -> tuple[ContactProblem, Solution, Array]:
    """(problem, solution, motion (m,)) with the motion G lam + w0 worked out anew."""
    problem = problem_of(law, state, impact, turn)
    restitution = np.full(len(problem.dims), state["restitution"])
    given = replace(problem, free=problem.free.copy(), delassus=problem.delassus.copy())
    found = law.impact(given, restitution) if impact else law.select(given)
    forces = np.asarray(found.impulses if hasattr(found, "impulses") else found.forces, dtype=float)
    if forces.shape != problem.free.shape:
        return problem, Solution(forces, found), np.full(len(problem.free), nan)
    return problem, Solution(forces, found), problem.delassus @ forces + problem.free


Look = Callable[[State, ContactProblem, Solution, Array], float]


def _property(name: str, law: RigidLaw, impact: bool, look: Look, unit: str, words: str, limit: float) -> Property:
    """A property that looks at a solution; where the law fails another property reports it."""

    def measure(state: State) -> float:
        try:
            problem, solution, motion = solved(law, state, impact)
            return look(state, problem, solution, motion) if len(motion) and np.isfinite(motion).all() else nan
        except (NoAdmissibleModeError, *ANYTHING):
            return nan

    def sentence(state: State) -> str:
        return words.format(measure(state)) + " at {where}"

    return Property(name, IMPACTS if impact else CHOICES, measure, limit, unit, sentence, COUNT)


def _answers(law: RigidLaw) -> Property:
    def fault(state: State) -> str:
        for impact in (True, False):
            what = "impact" if impact else "select"
            try:
                problem, solution, motion = solved(law, state, impact)
                reason = _misshapen(problem, solution)
            except NoAdmissibleModeError:
                continue
            except Exception as error:
                return f"{what}() raises {type(error).__name__} ({error})"
            if reason:
                return f"{what}() {reason}"
            if not np.isfinite(motion).all():
                return f"{what}() returns the forces {spelled(solution.forces)}"
        return ""

    def sentence(state: State) -> str:
        return f"{fault(state)} at {{where}}; solve it, or raise NoAdmissibleModeError where no mode is admissible"

    return Property("finite answers", CHOICES, lambda state: float(bool(fault(state))), 0.0, "", sentence, COUNT)


def _misshapen(problem: ContactProblem, solution: Solution) -> str:
    rows, count = len(problem.free), len(problem.dims)
    shapes = {"forces": solution.forces.shape, "motion": np.shape(solution.found.motion)}
    wrong = [f"{name} of shape {shape} instead of ({rows},)" for name, shape in shapes.items() if shape != (rows,)]
    if len(solution.found.modes) != count or not all(
        mode in (Mode.OPEN, Mode.STICK, Mode.SLIP) for mode in solution.found.modes
    ):
        wrong.append(f"the modes {solution.found.modes} instead of OPEN, STICK or SLIP for each of {count} contacts")
    directions = getattr(solution.found, "directions", ())
    for i, (mode, slip) in enumerate(zip(solution.found.modes, directions, strict=False)):
        if mode is Mode.SLIP and problem.dims[i] > 1 and (slip is None or np.shape(slip) != (problem.dims[i] - 1,)):
            wrong.append(f"the slip direction {slip} of a contact that slips")
    return f"returns {', '.join(wrong)}" if wrong else ""


def _same_twice(law: RigidLaw) -> Property:
    def answer(state: State) -> Array | None:
        found = []
        for impact in (True, False):
            try:
                found.append(solved(law, state, impact)[1].forces)
            except (NoAdmissibleModeError, *ANYTHING):
                continue
        return np.concatenate(found) if found else None

    sentence = (
        "the law answers differently when asked twice, by {found:.3g}, at {where}; let it depend on"
        " nothing but the problem and the parameters"
    )

    return Property("same answer twice", CHOICES, Asked(answer).difference, 0.0, "", sentence, COUNT)


def _one_by_one(law: RigidLaw) -> Property:
    """Contacts that do not act on each other answer as each of them does alone, however many there are."""

    def difference(state: State) -> float:
        worst = 0.0
        for impact in (True, False):
            try:
                together = solved(law, state, impact)[1].forces
                alone = [solved(law, _alone(state, k), impact)[1].forces for k in range(1, int(state["contacts"]) + 1)]
            except (NoAdmissibleModeError, *ANYTHING):
                continue
            expected = np.concatenate(alone)
            if expected.shape == together.shape:
                worst = max(worst, float(np.abs(together - expected).max()))
        return worst

    sentence = (
        "contacts that do not act on each other have other forces together than each alone, by {found:.3g}, at {where};"
        " let the answer for a contact not depend on how many others touch, nor on its place among them"
    )

    return Property("contacts one by one", APART, difference, SAME, "", sentence, COUNT)


def _alone(state: State, k: int) -> State:
    """The state with contact `k` alone."""
    return {**state, "contacts": 1.0, **{f"{name} 1": state[f"{name} {k}"] for name in ("normal", "slip", "angle")}}


# --- what a solution must obey ----------------------------------------------------------------------------------------


def _normals(problem: ContactProblem) -> list[int]:
    return list(problem.starts)


def _pull(state: State, problem: ContactProblem, solution: Solution, motion: Array) -> float:
    return float(-solution.forces[_normals(problem)].min())


def _signorini(state: State, problem: ContactProblem, solution: Solution, motion: Array) -> float:
    """Penetration, and a force at a contact that opens; the latter counts for impacts at once, without restitution.

    In a sequence of collisions a later one may throw off a contact that had its impulse before.
    """
    rates, forces = motion[_normals(problem)], solution.forces[_normals(problem)]
    at_once = sum(bool(np.any(stage.impulses)) for stage in getattr(solution.found, "stages", ())) <= 1
    counts = at_once and state["restitution"] == 0.0
    both = float(np.minimum(np.abs(rates), np.abs(forces)).max()) if counts else 0.0
    return max(float(-rates.min()), both)


def _uncalled(state: State, problem: ContactProblem, solution: Solution, motion: Array) -> float:
    """Impulses where no contact approaches."""
    return float(np.abs(solution.forces).max()) if problem.free[_normals(problem)].min() >= 0.0 else nan


def _cone(state: State, problem: ContactProblem, solution: Solution, motion: Array) -> float:
    worst = 0.0
    for i, mode in enumerate(solution.found.modes):
        bound = problem.static_friction[i] if mode is Mode.STICK else problem.friction[i]
        size = float(np.linalg.norm(solution.forces[problem.tangent(i)]))
        worst = max(worst, size - bound * float(solution.forces[problem.normal(i)]))
    return worst


def _opposes(state: State, problem: ContactProblem, solution: Solution, motion: Array) -> float:
    """Power of friction against the motion behind an impact; with restitution, the slip may turn within it."""
    if state["restitution"] > 0.0:
        return nan
    parts = [problem.tangent(i) for i in range(len(problem.dims))]
    return max(float(solution.forces[part] @ motion[part]) for part in parts)


def _gain(state: State, problem: ContactProblem, solution: Solution, motion: Array) -> float:
    """Kinetic energy gained, (z+ + z-)^T Lam / 2, where theory excludes it: no restitution, or no friction.

    Newton's law with both may gain energy (Kane and Levinson 1985); the engine says so in the event's notes.
    """
    approaching = bool(np.all(problem.free[_normals(problem)] <= 0.0))
    if state["restitution"] == 0.0 or (approaching and max(problem.dims) == 1):
        return 0.5 * float((motion + problem.free) @ solution.forces)
    return nan


def _sliding(state: State, problem: ContactProblem, solution: Solution, motion: Array) -> float:
    """Distance of the friction of sliding contacts from -mu lam_n s."""
    worst = 0.0
    for i, slip in enumerate(problem.sliding):
        if slip is not None:
            expected = -problem.friction[i] * float(solution.forces[problem.normal(i)]) * slip
            worst = max(worst, float(np.abs(solution.forces[problem.tangent(i)] - expected).max()))
    return worst


def _modes(state: State, problem: ContactProblem, solution: Solution, motion: Array) -> float:
    """OPEN without force, STICK without motion, SLIP on the ground and on the cone; the motion as it was given."""
    worst = float(np.abs(solution.found.motion - motion).max())
    for i, mode in enumerate(solution.found.modes):
        force, rate = solution.forces[problem.part(i)], motion[problem.part(i)]
        if mode is Mode.OPEN:
            worst = max(worst, float(np.abs(force).max()))
        elif mode is Mode.STICK:
            worst = max(worst, float(np.abs(rate if problem.sliding[i] is None else rate[:1]).max()))
        else:
            off = abs(float(np.linalg.norm(force[1:])) - problem.friction[i] * float(force[0]))
            worst = max(worst, abs(float(rate[0])), off if problem.dims[i] > 1 else 0.0)
    return worst


def _turned_axes(law: RigidLaw) -> Property:
    def difference(state: State) -> float:
        if state["tangents"] < 2.0:
            return nan
        worst = 0.0
        for impact in (True, False):
            try:
                problem, here, _ = solved(law, state, impact)
                other, there, _ = solved(law, state, impact, TURN)
            except (NoAdmissibleModeError, *ANYTHING):
                continue
            if max(problem.dims) < 3 or not (
                getattr(here.found, "unique", True) and getattr(there.found, "unique", True)
            ):
                continue
            c, s = np.cos(np.radians(TURN)), np.sin(np.radians(TURN))
            for i in range(len(problem.dims)):
                expected = np.array([[c, -s], [s, c]]) @ here.forces[problem.tangent(i)]
                worst = max(worst, float(np.abs(there.forces[other.tangent(i)] - expected).max()))
        return worst

    sentence = (
        f"friction changes by {{found:.3g}} when the tangential axes are turned by {TURN:g} deg at"
        " {where}; let it depend on the length and direction of the slip, not on axes (a cone, not a pyramid)"
    )

    return Property("turned axes", CHOICES, difference, SAME, "", sentence, COUNT)


def _coefficients(law: RigidLaw) -> Property:
    def fault(state: State) -> float:
        given = np.array([state["friction"], 0.0]), np.array([state["friction"] * STATIC, 0.0])
        kinetic, static = (np.asarray(values, dtype=float) for values in law.friction(*given))
        if kinetic.shape != (2,) or static.shape != (2,):
            return 1.0
        return max(float(-kinetic.min()), float((kinetic - static).max()))

    sentence = (
        "friction() returns coefficients that are negative, misshapen or static below kinetic at {where}; mend it"
    )

    return Property("coefficients", Domain({"friction": LADDERS["friction"]}, {}), fault, 0.0, "", sentence, 0)


IMPACT_LOOKS: Mapping[str, tuple[Look, str, str]] = {
    "no pulling": (_pull, "N s", "the impact pulls with {:.3g} N s; let every normal impulse be zero or positive"),
    "Signorini at impacts": (
        _signorini,
        "",
        "Signorini's condition 0 <= z_n  _|_  Lam_n >= 0 is missed by {:.3g} behind the impact; no contact may go on"
        " into the ground, and none that opens keeps an impulse",
    ),
    "no impulse uncalled for": (_uncalled, "N s", "an impulse of {:.3g} N s acts although no contact approaches"),
    "cone at impacts": (_cone, "N s", "the tangential impulse leaves the cone mu Lam_n by {:.3g} N s"),
    "friction opposes slip": (_opposes, "J", "friction pushes along the slip behind the impact, with {:.3g} J"),
    "impacts never gain energy": (_gain, "J", "the impact gains {:.3g} J, without friction or without restitution"),
}
CHOICE_LOOKS: Mapping[str, tuple[Look, str, str]] = {
    "no pull of modes": (_pull, "N", "a contact pulls with {:.3g} N; let every normal force be zero or positive"),
    "Signorini of modes": (
        _signorini,
        "",
        "Signorini's condition 0 <= z_n'  _|_  lam_n >= 0 is missed by {:.3g}; no contact may accelerate into the"
        " ground, and none that opens keeps a force",
    ),
    "cone of modes": (_cone, "N", "the tangential force leaves the cone by {:.3g} N"),
    "sliding friction": (_sliding, "N", "the friction of a sliding contact is off -mu lam_n s by {:.3g} N"),
    "modes agree with forces": (
        _modes,
        "",
        "modes, forces and motion contradict each other by {:.3g}; OPEN has no force, STICK no motion, SLIP lies on the"
        " ground and on the cone",
    ),
}
WHOLE: Mapping[str, Build] = {
    "finite answers": _answers,
    "same answer twice": _same_twice,
    "contacts one by one": _one_by_one,
    "turned axes": _turned_axes,
    "coefficients": _coefficients,
}
NAMES = (*WHOLE, *IMPACT_LOOKS, *CHOICE_LOOKS)


def outcome(name: str, law: RigidLaw) -> Outcome:
    """One of the properties in NAMES."""
    if name in WHOLE:
        return WHOLE[name](law).outcome()
    impact = name in IMPACT_LOOKS
    look, unit, words = (IMPACT_LOOKS if impact else CHOICE_LOOKS)[name]
    return _property(name, law, impact, look, unit, words, RESIDUAL).outcome()


def answers(law: RigidLaw) -> Iterator[Array]:
    """Coefficients, impulses and forces at one state after the other."""
    for state in CHOICES.states(COUNT):
        for impact in (True, False):
            try:
                problem, solution, _ = solved(law, {**state, "restitution": 0.5}, impact)
                yield np.concatenate([problem.friction, problem.static_friction, solution.forces])
            except (NoAdmissibleModeError, *ANYTHING):
                yield np.full(1, nan)
