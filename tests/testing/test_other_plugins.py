"""The kit on event derivatives, integrators, controllers and grounds: sound ones hold, planted faults are named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from scipy.integrate import RK45

import contactsim as cs
from contactsim.cli import command as cli
from contactsim.common import registry
from contactsim.hybrid.integrators import method
from contactsim.hybrid.integrators.rk4 import Hermite
from contactsim.testing import Outcome, check_plugin, event_derivatives, integrators, kit
from contactsim.testing.controllers import Drive
from contactsim.testing.integrators import Method

Array = np.ndarray
Saltation: Any = registry.load("event_derivatives", "saltation")
Bouligand: Any = registry.load("event_derivatives", "bouligand")


def outcome(plugin: Any, name: str) -> Outcome:
    return kit.quietly(kit.named(plugin)[name])


def assert_named(plugin: Any, name: str, words: str) -> None:
    found = outcome(plugin, name)
    assert found.holds is False, str(found)
    assert re.search(words, found.message), found.message


# --- event derivatives ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["saltation", "bouligand"])
def test_event_derivatives_conform(name: str) -> None:
    report = check_plugin(name).demand()
    declined = [found.name for found in report.outcomes if found.holds is None]
    assert all("at once" in title for title in declined)
    assert len(declined) == (3 if name == "saltation" else 0)


class ResetAlone(Saltation):
    """D_x R in place of the saltation matrix: the mistake that the matrix is there to avoid."""

    def _matrix(self, event: Any) -> Array:
        return event.root._reset(event.groups[0])[1]

    def apply(self, event: Any, dx: Array) -> Array:
        return dx @ self._matrix(event).T

    def pieces(self, event: Any) -> Mapping[Any, Array]:
        return {(event.groups[0],): self._matrix(event)}


class StillGuards(ResetAlone):
    """Takes every guard to stand still: without D_t g and D_t R."""

    def _matrix(self, event: Any) -> Array:
        root = event.root
        node, reset, _ = root._reset(event.groups[0])
        gradient = root.gradient(min(event.groups[0]))
        if not np.any(gradient):
            return reset
        return reset + np.outer(node.field - reset @ root.field, gradient) / (gradient @ root.field)


class OneOrder(Bouligand):
    """Takes all guards in one order, whatever the direction is."""

    def _path(self, event: Any) -> tuple[Any, Array]:
        return next((word, path.matrix) for word, path in event.ways.words(100).items())

    def apply(self, event: Any, dx: Array) -> Array:
        return dx @ self._path(event)[1].T

    def pieces(self, event: Any) -> Mapping[Any, Array]:
        return dict([self._path(event)])


class Swaps(Bouligand):
    """Its matrices do not belong to its directions."""

    def pieces(self, event: Any) -> Mapping[Any, Array]:
        return {word: 2.0 * matrix for word, matrix in super().pieces(event).items()}


class Quadratic(Saltation):
    def apply(self, event: Any, dx: Array) -> Array:
        return super().apply(event, dx) * (1.0 + 1e-3 * np.linalg.norm(dx, axis=1, keepdims=True))


class OnlyTheFirst(Saltation):
    def apply(self, event: Any, dx: Array) -> Array:
        return np.tile(super().apply(event, dx[:1]), (len(dx), 1))


class Shy(Saltation):
    def accepts(self, event: Any) -> bool:
        return False


class Greedy(Saltation):
    """Accepts several guards at once, and crosses the first of them."""

    def accepts(self, event: Any) -> bool:
        return True


DERIVATIVE_FAULTS: Mapping[str, tuple[Callable[[], Any], str, str]] = {
    "reset alone": (ResetAlone, "derivative of a switched field", "derivative of the reset alone; .* earlier or later"),
    "guard that moves": (
        StillGuards,
        "derivative of a bounce on a moving table",
        "by differences of the flow; compare",
    ),
    "one order": (OneOrder, "derivative of two guards at once", "one matrix for all directions; the order in which"),
    "pieces of others": (Swaps, "pieces agree with directions", "agrees with none of the 1 matrices of pieces"),
    "grows faster": (Quadratic, "positively homogeneous", "a derivative grows with dx"),
    "mixes directions": (OnlyTheFirst, "variations one by one", "for one variation than for several"),
    "accepts nothing": (Shy, "same answer twice", "accepts none of the events"),
    "accepts too much": (
        Greedy,
        "derivative of two guards at once",
        "NonDifferentiableError.*neighbours of the run end",
    ),
}


@pytest.mark.parametrize("fault", DERIVATIVE_FAULTS)
def test_planted_fault_of_an_event_derivative(fault: str) -> None:
    make, name, words = DERIVATIVE_FAULTS[fault]
    assert_named(make(), name, words)


def test_what_a_derivative_does_not_accept_is_not_asked() -> None:
    found = outcome(Saltation(), "derivative of three guards at once")
    assert found.holds is None and "leaves it to others" in found.message
    assert {f"derivative of {name}" for name in event_derivatives.TABLE} < set(kit.named(Saltation()))


# --- integrators ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["DOP853", "RK45", "RK4", "Radau9", "Radau", "BDF"])
def test_integrators_conform(name: str) -> None:
    """LSODA is none of them: its longest step is firm, and the run makes a new one where it has to be shorter."""
    for title, check in integrators.named(Method(method(name), name)).items():
        found = kit.quietly(check)
        assert found.holds is not False, str(found)
        assert found.holds or (name == "RK4" and title in integrators.FREE)


class TooFar(RK45):
    """Ignores the bound."""

    def _step_impl(self) -> tuple[bool, str | None]:
        bound, self.t_bound = self.t_bound, 1e3
        done = super()._step_impl()
        self.t_bound = bound
        return done


class Lax(RK45):
    """Takes every step that is offered to it."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **{**options, "rtol": 1.0, "atol": 1.0})


class WrongOrder(RK45):
    """One weight is off: of order zero."""

    B = RK45.B * 1.01


class Straight(RK45):
    """Dense output by a chord."""

    def _dense_output_impl(self) -> Any:
        slope = (self.y - self.y_old) / (self.t - self.t_old)
        return Hermite(self.t_old, self.t, self.y_old, self.y, slope, slope)


class Unbound(RK45):
    """Forgets the longest step."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._own = np.inf

    max_step = property(lambda self: np.inf, lambda self, value: None)  # type: ignore[assignment]


METHOD_FAULTS: Mapping[str, tuple[type, str, str]] = {
    "beyond the bound": (TooFar, "steps to the end", "a step of a decay leads from"),
    "no error control": (Lax, "tolerance alone", "is off by .* times the tolerance"),
    "wrong weights": (WrongOrder, "converges", "the error of a decay is"),
    "chords": (Straight, "dense output", "is off by .* within the step"),
    "no longest step": (Unbound, "limits of a step", "is longer than max_step = "),
}


@pytest.mark.parametrize("fault", METHOD_FAULTS)
def test_planted_fault_of_an_integrator(fault: str) -> None:
    kind, name, words = METHOD_FAULTS[fault]
    assert_named(Method(kind), name, words)


def test_a_method_without_a_name_does_not_run() -> None:
    assert outcome(Method(RK45), "runs through events").holds is None


# --- controllers ------------------------------------------------------------------------------------------------------
class Spring(cs.Controller):
    """Holds the nominal pose, with a memory that follows the first joint."""

    memory = 1

    def __init__(self, robot: Any, kp: float = 5.0) -> None:
        self.robot, self.kp = robot, kp

    def parameters(self) -> dict[str, float]:
        return {"kp": self.kp}

    def with_parameter(self, name: str, value: float) -> cs.Controller:
        return type(self)(self.robot, value) if name == "kp" else super().with_parameter(name, value)

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        bent = self.robot.space.difference(q, self.robot.nominal) * self.robot.actuated
        return self.kp * bent - 0.5 * self.robot.actuated * v * (1.0 + 0.1 * np.tanh(z[0]))

    def rate(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return np.array([v[-1] - 3.0 * z[0]])


class WrongJacobian(Spring):
    def torque_jacobian(self, t: float, q: Array, v: Array, z: Array, space: Any) -> Array:
        return -super().torque_jacobian(t, q, v, z, space)


class WrongSize(Spring):
    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return super().torque(t, q, v, z)[6:]


class Remembers(Spring):
    """An integral outside of its memory."""

    total = 0.0

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        self.total += 1e-3
        return super().torque(t, q, v, z) + self.total


class CountsCalls(Spring):
    """Another torque after many questions."""

    asked = 0

    def torque(self, t: float, q: Array, v: Array, z: Array) -> Array:
        self.asked += 1
        return super().torque(t, q, v, z) * (1.0 + 1e-6 * (self.asked > 101))


class ChangesItself(Spring):
    def with_parameter(self, name: str, value: float) -> cs.Controller:
        super().with_parameter(name, value)
        self.kp = value
        return self


class TakesAnything(Spring):
    def with_parameter(self, name: str, value: float) -> cs.Controller:
        return type(self)(self.robot, value if name == "kp" else self.kp)


SPRING = kit.named(Drive(Spring))


@pytest.mark.parametrize("name", SPRING)
def test_a_controller_conforms(name: str) -> None:
    found = kit.quietly(SPRING[name])
    assert found.holds, str(found)


CONTROLLER_FAULTS: Mapping[str, tuple[Any, str, str]] = {
    "wrong jacobian": (WrongJacobian, "derivatives", r"torque_jacobian\(\) differs from differences"),
    "wrong size": (WrongSize, "finite answers", r"torque\(\) returns the shape \(18,\) .* return 24 finite numbers"),
    "own state": (Remembers, "same torque twice", "keep what it remembers in `memory`"),
    "counts its calls": (CountsCalls, "same torque twice", "when asked again later"),
    "changes itself": (ChangesItself, "parameters", "changes the controller itself; return a copy"),
    "takes any name": (TakesAnything, "parameters", "'no_such_parameter', 1\\) is accepted"),
    "none": (lambda robot: None, "runs", "None is made for the robot hexapod"),
    "no function": (lambda robot: 3.0, "runs", "the controller is a float"),
}


@pytest.mark.parametrize("fault", CONTROLLER_FAULTS)
def test_planted_fault_of_a_controller(fault: str) -> None:
    make, name, words = CONTROLLER_FAULTS[fault]
    assert_named(Drive(make), name, words)


# --- grounds ----------------------------------------------------------------------------------------------------------
GROUNDS: Mapping[str, dict[str, Any]] = {
    "flat": {"height": 0.1},
    "slope": {"angle": 0.2, "downhill": (1.0, 2.0)},
    "sinusoid": {},
    "none": {},
    "moving": {"amplitude": (0.01, 0.0, 0.005), "frequency": 2.0, "ground": {"kind": "slope", "angle": 0.1}},
    "height-field": {"heights": np.outer(np.arange(6) % 3, np.arange(7) % 2) * 0.01, "extent": (-1, 1, -1, 1)},
}


@pytest.mark.parametrize("name", GROUNDS)
def test_grounds_conform(name: str) -> None:
    settings = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in GROUNDS[name].items()}
    assert check_plugin(name, **settings).demand().outcomes


class Waves(cs.GroundTable):
    """A plane wave z = 0.02 sin(4 x - 3 t), told as a height: a distance only to first order in its slope."""

    kind: str = "waves"

    def build(self) -> cs.terrain.Terrain:
        return Height()


class Height(cs.terrain.Terrain):
    def plane(self) -> None:
        return None

    def surface(self, t: float, points: Array) -> cs.terrain.Surface:
        k, phase = len(points), 4.0 * points[:, 0] - 3.0 * t
        wave = 0.02 * np.sin(phase)
        normal, hessian, still = np.tile([0.0, 0.0, 1.0], (k, 1)), np.zeros((k, 3, 3)), np.zeros((k, 3))
        normal[:, 0], hessian[:, 0, 0] = -0.08 * np.cos(phase), 16.0 * wave
        return cs.terrain.Surface(
            points[:, 2] - wave, normal, hessian, 0.06 * np.cos(phase), still, 9.0 * wave, still, still
        )


class Tilted(cs.GroundTable):
    """A slope that says it is level."""

    kind: str = "tilted"
    fault: str = ""

    def build(self) -> cs.terrain.Terrain:
        return Faulty(self.fault)


class Faulty(cs.terrain.Sinusoid):
    def __init__(self, fault: str) -> None:
        super().__init__(0.02, 5.0, 4.0)
        self.fault = fault

    def surface(self, t: float, points: Array) -> cs.terrain.Surface:
        found = super().surface(t, points)
        values = dict(vars(found))
        if self.fault == "normal":
            values["normal"] = np.tile([0.0, 0.0, 1.0], (len(points), 1))
        elif self.fault == "hessian":
            values["hessian"] = -found.hessian
        elif self.fault == "shape":
            values["distance"] = found.distance[:1]
        elif self.fault == "rate":
            values["distance_rate"] = found.distance_rate + 0.1
        return cs.terrain.Surface(**values)

    def growth(self, t: float, duration: float, radii: Array) -> cs.terrain.Growth | None:
        found = super().growth(t, duration, radii)
        return found._replace(curvature=np.zeros(len(radii))) if self.fault == "growth" and found else found

    def at_least(self, gaps: Array, radii: Array) -> Array:
        return gaps + 0.01 if self.fault == "at_least" else super().at_least(gaps, radii)

    def heights(self, t: float, points: Array) -> Array | None:
        found = super().heights(t, points)
        return found + 0.01 if self.fault == "heights" and found is not None else found


class FarHill(cs.GroundTable):
    """A hill two metres away, whose curvature is said to be a twentieth of what it is."""

    kind: str = "far-hill"

    def build(self) -> cs.terrain.Terrain:
        return cs.terrain.Function(lambda t, x, y: 0.05 * np.exp(-4.0 * (x - 2.0) ** 2), curvature=0.02)


class Edged(cs.GroundTable):
    """Stairs whose distance jumps, or a crater whose rim is sharp; they say so."""

    kind: str = "edged"
    crater: bool = False

    def build(self) -> cs.terrain.Terrain:
        return Crater() if self.crater else Stairs()


class Stairs(cs.terrain.Terrain):
    """Steps of 2 cm by 11.5 cm, downwards; the ball of the kit rolls over their edges."""

    moving, smooth = False, False

    def plane(self) -> None:
        return None

    def surface(self, t: float, points: Array) -> cs.terrain.Surface:
        return _of_height(points[:, 2] - self.heights(t, points[:, :2]), np.zeros((len(points), 2)))

    def heights(self, t: float, points: Array) -> Array:
        return -0.02 * np.floor(points[..., 0] / 0.115 + 0.5)


class Crater(Stairs):
    """A pit with a flat bottom and a sharp rim at 5 cm: walls at 0.2 rad."""

    def surface(self, t: float, points: Array) -> cs.terrain.Surface:
        away = np.abs(points[:, 0]) - 0.05
        wall, side = away > 0.0, np.sign(points[:, 0])
        s, c = np.sin(0.2), np.cos(0.2)
        distance = np.where(wall, points[:, 2] * c - away * s, points[:, 2])
        return _of_height(distance, np.column_stack([np.where(wall, -s * side, 0.0), np.zeros(len(points))]))

    def heights(self, t: float, points: Array) -> Array:
        return np.tan(0.2) * np.maximum(np.abs(points[..., 0]) - 0.05, 0.0)


def _of_height(distance: Array, across: Array) -> cs.terrain.Surface:
    """A resting ground of flat pieces by its distance and its horizontal normal (k, 2)."""
    k = len(distance)
    normal = np.column_stack([across, np.sqrt(1.0 - (across**2).sum(axis=1))])
    rest, none = np.zeros((k, 3)), np.zeros(k)
    return cs.terrain.Surface(distance, normal, np.zeros((k, 3, 3)), none, rest, none, rest, rest)


@pytest.mark.parametrize("crater", [False, True])
def test_grounds_with_edges_that_say_so_conform(crater: bool) -> None:
    found = {name: kit.quietly(check) for name, check in kit.named(Edged(crater=crater)).items()}
    assert all(one.holds is not False for one in found.values()), [
        str(one) for one in found.values() if one.holds is False
    ]
    assert [name for name, one in found.items() if one.holds is None] == ["a ball runs on it", "derivative of runs"]


GROUND_FAULTS: Mapping[str, tuple[cs.GroundTable, str, str]] = {
    "a height for a distance": (Waves(), "normal of unit length", "whose gradient is a unit vector"),
    "normal": (Tilted(fault="normal"), "gradient", "the normal is the gradient of the distance"),
    "hessian": (Tilted(fault="hessian"), "Hessian", "the Hessian is the derivative of the normal"),
    "shape": (Tilted(fault="shape"), "finite answers", r"surface\(\).distance has the shape \(1,\)"),
    "rate": (Tilted(fault="rate"), "rates", "distance_rate differs from differences"),
    "growth": (Tilted(fault="growth"), "bounds of gaps", r"growth\(\).curvature is less"),
    "bound of elsewhere": (FarHill(), "bounds of gaps", r"growth\(\).curvature is less"),
    "at_least": (Tilted(fault="at_least"), "bounds of gaps", r"at_least\(\) is more than the distance"),
    "heights": (Tilted(fault="heights"), "gaps and heights", r"points at heights\(\) are"),
}


@pytest.mark.parametrize("fault", GROUND_FAULTS)
def test_planted_fault_of_a_ground(fault: str) -> None:
    table, name, words = GROUND_FAULTS[fault]
    assert_named(table, name, words)


# --- the command ------------------------------------------------------------------------------------------------------
@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., tuple[int, str]]]:
    def run(*arguments: str) -> tuple[int, str]:
        code = cli.execute(arguments)
        told = capsys.readouterr()
        return code, told.out + told.err

    yield run


def test_the_command_checks_every_kind(said: Callable[..., tuple[int, str]]) -> None:
    code, text = said("check", "saltation")
    assert code == 0 and "all 8 properties hold" in text and "leaves it to others" in text
    code, text = said("check", "slope", "--set", "terrain.angle=0.1", "--set", "downhill=[0, 1]")
    assert code == 0 and "normal of unit length" in text
    code, text = said("check", "slope")
    assert code == 2 and "ground slope: angle is missing; give it" in text
    code, text = said("check", "saltation", "--set", "x=1")
    assert code == 2 and "'saltation' has no parameters" in text
