"""A failure in a function of the user's ends the run, names the function and the time, and keeps what was computed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builders import point_mass

import contactsim as cs
from contactsim.common import registry
from contactsim.common.user_calls import answer
from contactsim.contact.laws import CompliantPoint
from contactsim.multibody.terrain.surface import Surface

Array = np.ndarray
Coulomb: Any = registry.load("contact_laws", "coulomb")
LATE = 0.1  # s, when the functions begin to fail
END = 0.3  # s
Fault = Callable[[Any], Any]


def raised(value: Any) -> Any:
    raise ZeroDivisionError("a user's mistake\nin two lines")


def not_a_number(value: Any) -> Any:
    return np.full_like(np.asarray(value, dtype=float), np.nan)


def wrong_shape(value: Any) -> Any:
    return np.zeros((2, 7))


def complex_number(value: Any) -> Any:
    return np.asarray(value) + 0.5j


def nothing(value: Any) -> Any:
    return None


FAULTS: dict[Fault, str] = {
    raised: "ZeroDivisionError: a user's mistake",
    not_a_number: "nan",
    wrong_shape: "shape",
    complex_number: "complex",
    nothing: "NoneType",
}


def late(function: Callable[..., Any], fault: Fault | None, when: Callable[..., float]) -> Callable[..., Any]:
    """`function` that fails after LATE, where `when` tells the time from its arguments."""

    def failing(*arguments: Any) -> Any:
        value = function(*arguments)
        return value if fault is None or when(*arguments) < LATE else fault(value)

    return failing


def time_of(t: float, *rest: Any) -> float:
    return t


class Law(cs.Controller):
    """A controller whose torque, rate or sample fails."""

    def __init__(self, part: str, fault: Fault | None) -> None:
        self.memory = 3
        self.period = 0.02 if part == "sample" else None
        zero = lambda t, q, v, z: np.zeros(3)  # noqa: E731
        for name in ("torque", "rate", "sample"):
            setattr(self, name, late(zero, fault if name == part else None, time_of))

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array: ...  # overwritten


class Ground(cs.terrain.Flat):
    """Level ground whose own distances fail."""

    fault: Fault | None = None

    def gaps(self, t: float, centres: Array, radii: Array) -> Array:
        return late(super().gaps, self.fault, time_of)(t, centres, radii)


class CurvedGround(cs.terrain.Terrain):
    """Level ground that does not say that it is plane, and fails where a contact touches it."""

    moving = False
    fault: Fault | None = None

    def plane(self) -> None:
        return None

    def surface(self, t: float, points: Array) -> Surface:
        return cs.terrain.Flat().surface(t, points)

    def near(self, t: float, centres: Array, radii: Array) -> Surface:
        return late(self.surface, self.fault, time_of)(t, centres)


class Spring(cs.CompliantLaw):
    """A linear spring whose force fails in its depth: it knows no time."""

    fault: Fault | None = None
    DEPTH = 0.01

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        force = np.zeros(3)
        force[0] = -2000.0 * point.gap
        return late(lambda gap: force, self.fault, lambda gap: np.inf if gap < -self.DEPTH else 0.0)(
            point.gap
        ), np.zeros(0)


def with_controller(part: str, fault: Fault) -> cs.ContactSystem:
    return cs.ContactSystem(point_mass(friction=0.3), controller=Law(part, fault))


def with_function(fault: Fault) -> cs.ContactSystem:
    return cs.ContactSystem(point_mass(friction=0.3), controller=late(lambda t, q, v: np.zeros(3), fault, time_of))


def with_enabled(fault: Fault) -> cs.ContactSystem:
    robot = point_mass(friction=0.3)
    margin = late(lambda t, q, v: 1.0, fault, time_of)
    return cs.ContactSystem(robot.with_contacts([replace(robot.contacts[0], enabled=margin)]))


def with_ground(kind: type, fault: Fault) -> cs.ContactSystem:
    ground = kind()
    ground.fault = fault
    return cs.ContactSystem(point_mass(friction=0.3), terrain=ground)


def with_height(fault: Fault) -> cs.ContactSystem:
    height = late(lambda t, x, y: 0.01 * np.sin(x), fault, time_of)
    return cs.ContactSystem(point_mass(friction=0.3), terrain=cs.terrain.Function(height, moving=True))


def with_spring(fault: Fault) -> cs.ContactSystem:
    law = Spring()
    law.fault = fault
    return cs.ContactSystem(point_mass(friction=0.3), law=law)


def with_mechanism(part: str, fault: Fault) -> cs.ContactSystem:
    parts = {
        "force": lambda t, q, v: np.array([0.0, 0.0, -9.81]),
        "gap": lambda t, q: q[2],
        "normal": lambda t, q: np.array([0.0, 0.0, 1.0]),
        "tangent": lambda t, q: np.eye(3)[:2],
        "bias": lambda t, q, v: np.zeros(3),
    }
    parts[part] = late(parts[part], fault, time_of)
    force = parts.pop("force")
    return cs.ContactSystem(cs.Mechanism(3, lambda q: np.eye(3), force, [cs.Gap(**parts, friction=0.3, name="toe")]))


def with_mass(fault: Fault) -> cs.ContactSystem:
    """A mechanism that slides: its mass fails after a way of LATE at 1 m/s."""
    mass = late(lambda q: np.eye(3), fault, lambda q: q[0])
    force = lambda t, q, v: np.zeros(3)  # noqa: E731
    gap = cs.Gap(gap=lambda t, q: q[2], normal=lambda t, q: np.array([0.0, 0.0, 1.0]), name="toe")
    return cs.ContactSystem(cs.Mechanism(3, mass, force, [gap]))


# What fails, how the message names it, and the system.
CASES: dict[str, tuple[str, Callable[[Fault], cs.ContactSystem]]] = {
    "function": ("the controller late.<locals>.failing", with_function),
    "torque": ("the controller Law", lambda fault: with_controller("torque", fault)),
    "rate": ("the controller Law", lambda fault: with_controller("rate", fault)),
    "sample": ("the controller Law", lambda fault: with_controller("sample", fault)),
    "enabled": ("the function 'enabled' of contact 'point'", with_enabled),
    "ground": ("the ground 'Ground'", lambda fault: with_ground(Ground, fault)),
    "height": ("height", with_height),
    "law": ("the contact law 'Spring'", with_spring),
    "mass": ("the mechanism's function 'mass'", with_mass),
} | {
    part: (f"the mechanism's function '{name}'", lambda fault, part=part: with_mechanism(part, fault))  # type: ignore[misc]
    for part, name in {
        "force": "force",
        "gap": "gap of toe",
        "normal": "normal of toe",
        "tangent": "tangent of toe",
        "bias": "bias of toe",
    }.items()
}


def check_kept(system: cs.ContactSystem, name: str, word: str) -> cs.Simulation:
    """Run into the failure, and see that the run before it is kept and that the message tells of it."""
    in_flight = ("the contact law 'Spring'", "the function 'enabled' of contact 'point'", "the ground 'Ground'")
    height = 0.2 if name in in_flight else 0.0  # what is asked only there, or only where it lands
    simulation = cs.Simulation(system, cs.State([0, 0, height], [1.0, 0, 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        simulation.advance_to(END)
    run = simulation.trajectory
    assert run.status is cs.Status.FAILED
    assert isinstance(simulation.error, cs.CallbackError)
    for part in (name, word, "t = "):
        assert part in run.message
    assert "\n" not in run.message
    assert 0.0 < run.t[-1] < END
    assert len(run.t) > 1 and np.isfinite(run.x[-1]).all()
    return simulation


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("case", CASES)
def test_a_failing_function_is_named_and_the_run_before_it_kept(case: str, fault: Fault) -> None:
    name, make = CASES[case]
    simulation = check_kept(make(fault), name, FAULTS[fault])
    if case not in ("law", "mass"):
        assert simulation.t <= LATE + 1e-12


def test_the_exception_of_the_function_is_the_cause() -> None:
    simulation = check_kept(with_function(raised), *("the controller", "line"))
    assert isinstance(simulation.error.__cause__, ZeroDivisionError)


def test_curved_ground_of_the_users_own_is_named() -> None:
    check_kept(with_ground(CurvedGround, raised), "the ground 'CurvedGround'", "ZeroDivisionError")


class Sticky(cs.RigidLaw):
    """A rigid law with a mistake in one of its methods."""

    def impact(self, problem: Any, restitution: Array) -> Any:
        return problem.nonsense

    def select(self, problem: Any) -> Any:
        return problem.nonsense


def test_a_rigid_law_that_fails_is_named() -> None:
    simulation = cs.Simulation(cs.ContactSystem(point_mass(), law=Sticky()), cs.State([0, 0, 0.1], np.zeros(3)))
    simulation.advance_to(END)
    assert simulation.status is cs.Status.FAILED
    assert "the contact law 'Sticky' fails at t = 0.14" in simulation.message
    assert simulation.t == pytest.approx(np.sqrt(0.2 / 9.81))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_function_that_fails_at_once_raises(fault: Fault) -> None:
    system = cs.ContactSystem(point_mass(), controller=lambda t, q, v: fault(np.zeros(3)))
    with pytest.raises(cs.CallbackError, match="the controller"):
        cs.simulate(system, cs.State([0, 0, 1], np.zeros(3)), (0.0, END))


def test_a_trial_step_that_leaves_the_numbers_is_shortened_instead() -> None:
    """Where the state a function is asked at is not finite, that is no fault of the function."""
    law = Law("torque", None)
    values = answer("the controller", law, "tau", [np.nan] * 3, (3,), 0.0, np.full(9, np.inf))
    assert np.isnan(values).all()


def test_a_law_that_returns_no_pair_is_told_what_to_return() -> None:
    class Forgets(cs.CompliantLaw):
        def force(self, point: cs.CompliantPoint) -> np.ndarray:  # type: ignore[override]
            return np.zeros(3)

    system = cs.ContactSystem(point_mass(), law=Forgets())
    run = cs.simulate(system, cs.State([0, 0, 0.01], [0, 0, 0.0]), (0.0, 0.2))
    assert run.status is cs.Status.FAILED
    assert "returns no pair from force() at t = " in run.message
    assert "return two arrays, the force and the rate of the memory" in run.message


# --- models and rigid laws --------------------------------------------------------------------------------------------
class Bouncing(cs.Model):
    """A ball, of which one part is replaced by another."""

    class State(cs.ModelState):
        height: float = 1.0
        speed: float = 0.0

    def field(self, t: float, x: Array, chart: Any) -> Any:
        return np.array([x[1], -9.81])

    def boundaries(self, chart: Any) -> Any:
        return (cs.Boundary("ground", self.height),)

    def height(self, t: float, x: Array) -> Any:
        return x[0]

    def reset(self, t: float, x: Array, chart: Any, fired: Any) -> Any:
        return cs.Transition(np.array([0.0, -0.5 * x[1]]), "air")

    def start(self, t: float, x: Array) -> Any:
        return cs.Transition(x, "air")


@pytest.mark.parametrize(
    ("part", "answer", "words"),
    [
        (
            "field",
            raised,
            r"the field of 'Broken' fails at t = 0 s with ZeroDivisionError.*\(in raised, line .*mend",
        ),
        (
            "field",
            lambda given: np.zeros(3),
            r"the field of 'Broken' returns a rate of shape \(3,\) at t = 0 s;",
        ),
        ("field", lambda given: None, r"the field of 'Broken' returns a rate of shape \(\)"),
        ("height", raised, "the boundary 'ground' of 'Broken' fails at t = 0 s with ZeroDivisionError"),
        ("height", lambda given: np.nan, "the boundary 'ground' of 'Broken' is nan at t = 0 s; return a number"),
        ("reset", raised, "the reset of 'Broken' fails at t = 0.451524 s with ZeroDivisionError"),
        ("reset", lambda given: None, "the reset of 'Broken' returns NoneType at t = 0.451524 s; return a Transition"),
        (
            "reset",
            lambda given: cs.Transition(given * np.nan, "air"),
            "the reset of 'Broken' returns a state with nan at index 0, at t = 0.451524 s; return finite numbers",
        ),
        ("start", lambda given: None, r"start\(\) of Broken returns NoneType; return a Transition"),
    ],
)
def test_a_part_of_a_model_that_fails_is_named(part: str, answer: Fault, words: str) -> None:
    own = {part: lambda self, t, x, *further: answer(x)}
    broken = type("Broken", (Bouncing,), own)()
    if part == "reset":  # what was computed before it is kept
        run = cs.simulate(broken, np.array([1.0, 0.0]), (0.0, 0.6))
        assert run.status is cs.Status.FAILED and run.t[-1] > 0.4
        assert re.search(words, run.message), run.message
    else:
        with pytest.raises((cs.CallbackError, cs.InputError), match=words):
            cs.simulate(broken, np.array([1.0, 0.0]), (0.0, 0.6))


def far(problem: Any) -> Any:
    return replace(problem, free=problem.free * np.nan)


@pytest.mark.parametrize(
    ("method", "answer", "words"),
    [
        ("impact", lambda law, *given: None, "returns NoneType from impact.* return an ImpactSolution"),
        (
            "impact",
            lambda law, problem, e: Coulomb.impact(law, far(problem), e),
            "returns impulses with nan at index 0",
        ),
        ("select", lambda law, *given: None, "returns NoneType from select.* return a ContactSolution"),
        ("friction", lambda law, kinetic, static: kinetic, r"no coefficients from friction\(\); return two arrays"),
        ("friction", lambda law, kinetic, static: (-kinetic, static), "return two arrays .* from zero up"),
        ("friction", lambda law, kinetic, static: (kinetic[:0], static), r"friction of shape \(0,\).*return \(1,\)"),
    ],
)
def test_a_rigid_law_that_answers_in_another_way_is_named(method: str, answer: Any, words: str) -> None:
    law = type("Broken", (Coulomb,), {method: lambda self, *given: answer(self, *given)})()
    try:
        system = cs.ContactSystem(point_mass(), law=law)
        run = cs.simulate(system, cs.State([0, 0, 0.01], [0, 0, 0.0]), (0.0, 0.2))
        said = run.message
        assert run.status is cs.Status.FAILED
    except cs.CallbackError as error:
        said = str(error)
    assert re.search(f"the contact law 'Broken' .*{words}", said), said
