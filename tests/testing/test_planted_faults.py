"""Laws with one planted fault each: the kit names it, with the smallest state at which it shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import Field

from contactsim import CompliantLaw, CompliantPoint, ContactLaw, LawParameters
from contactsim.common import registry
from contactsim.testing import kit
from contactsim.testing.report import Outcome

Array = np.ndarray
Coulomb: Any = registry.load("contact_laws", "coulomb")
SpringDamper: Any = registry.load("contact_laws", "spring-damper")


def outcome(law: ContactLaw, name: str) -> Outcome:
    return kit.quietly(kit.named(law)[name])


class WrongSign(SpringDamper):
    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        force, rate = super().force(point)
        return np.concatenate((force[:1], -force[1:])), rate


class Pulls(SpringDamper):
    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        force, rate = super().force(point)
        return force - np.eye(len(force))[0] * 5.0, rate


class WrongJacobian(SpringDamper):
    def jacobian(self, point: CompliantPoint) -> Array:
        matrix = super().jacobian(point)
        matrix[0, 1] *= -1.0
        return matrix


class PushesInTheAir(SpringDamper):
    """Its guard "release" never fires: it pushes at every gap."""

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        return super().force(point._replace(gap=-abs(point.gap) - 1e-3))


class Jumps(SpringDamper):
    """Dry friction without regularisation."""

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        slip = point.velocity[1:]
        speed = float(np.linalg.norm(slip))
        normal = super().force(point)[0][0]
        direction = slip / speed if speed > 0.0 else slip
        return np.concatenate(([normal], -point.friction * normal * direction)), point.memory


class Drives(SpringDamper):
    """Hunt and Crossley's damper with the wrong sign: the contact lets go with more than it took in."""

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        normal = -self.parameters.stiffness * point.gap * (1.0 + 0.3 * point.velocity[0])
        return np.concatenate(([normal], np.zeros(len(point.velocity) - 1))), point.memory

    def jacobian(self, point: CompliantPoint) -> None:
        return None


class LeavesTheCone(SpringDamper):
    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        return super().force(point._replace(friction=1.1 * point.friction))


class Pyramid(SpringDamper):
    """Friction axis by axis."""

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        normal = super().force(point)[0][0]
        along = np.tanh(point.velocity[1:] / self.parameters.slip_speed) / np.sqrt(2.0)
        return np.concatenate(([normal], -point.friction * normal * along)), point.memory


class WrongMemory(SpringDamper):
    memory = 1

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        return super().force(point)[0], np.zeros(2)

    def jacobian(self, point: CompliantPoint) -> None:
        return None


class LooseParameters(LawParameters):
    stiffness: float = Field(2e4, description="normal stiffness [N/m]")
    damping: float = Field(2e2, ge=0.0, description="normal damping [N s/m]")
    slip_speed: float = Field(1e-3, gt=0.0, description="speed [m/s]")


class Unbounded(SpringDamper):
    Parameters = LooseParameters


class Unchecked(SpringDamper):
    def __init__(self, stiffness: float = 2e4, damping: float = 2e2, **others: Any) -> None:
        self.parameters = SpringDamper.Parameters.model_construct(stiffness=stiffness, damping=damping, slip_speed=1e-3)


class Random(SpringDamper):
    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        force, rate = super().force(point)
        return force * (1.0 + 1e-6 * np.random.default_rng().normal()), rate


class NotANumber(SpringDamper):
    """A power of the depth is not a number above the ground."""

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        return super().force(point._replace(gap=-float(np.power(-point.gap, 1.5))))


class DividesByZero(SpringDamper):
    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        slip = [float(v) for v in point.velocity[1:]]
        direction = [v / max(map(abs, slip)) for v in slip]
        return np.array([super().force(point)[0][0], *direction]), point.memory


class Hidden(SpringDamper):
    """A number that no parameter holds."""

    factor = 1.0

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        force, rate = super().force(point)
        return force * self.factor, rate


class WrongMargin(SpringDamper):
    """Its guard for release looks at the gap alone, and never fires."""

    def margin(self, point: CompliantPoint) -> float:
        return 1.0


class Winds(CompliantLaw):
    """Bristles that give back more than they took."""

    memory = 2

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        size = len(point.velocity) - 1
        rate = np.zeros(2)
        rate[:size] = point.velocity[1:]
        return np.concatenate(([-2e4 * point.gap], 50.0 * point.memory[:size])), rate


class TurnsAmongMany(SpringDamper):
    """Friction across the slip beyond three contacts: it leaves no cone and has no power."""

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        force, rate = super().force(point)
        if point.touching > 3 and len(force) == 3:
            force = force[[0, 2, 1]] * [1.0, -1.0, 1.0]
        return force, rate

    def jacobian(self, point: CompliantPoint) -> None:
        return None


class IdleParameters(SpringDamper.Parameters):  # type: ignore[misc]
    idle: float = Field(0.0, ge=0.0, description="nothing [-]")


class Idle(SpringDamper):
    Parameters = IdleParameters


class Alternates(SpringDamper):
    """Stiffer for five hundred questions, then as before for as many."""

    asked = 0

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        self.asked += 1
        force, rate = super().force(point)
        return force * (1.0 + 1e-6 * (self.asked // 500 % 2)), rate


class HardensOnce(SpringDamper):
    """Counts the questions to all of its kind, and is another law after the first four hundred."""

    asked = 0

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        type(self).asked += 1
        force, rate = super().force(point)
        return force * (1.0 + 1e-6 * (self.asked > 400)), rate


def hidden() -> Hidden:
    law = Hidden()
    law.factor = 1.5
    return law


FAULTS: Mapping[str, tuple[Any, str, str, Mapping[str, float]]] = {
    "wrong sign of friction": (WrongSign, "friction never gains energy", "feeds .* W into the motion", {"gap": -1e-6}),
    "a force that pulls": (Pulls, "no pulling", "pulls with 5 N", {"gap": 0.0, "normal velocity": 0.0, "slip": 0.0}),
    "wrong derivative": (
        WrongJacobian,
        "derivative of the force",
        "derivative of the normal force by the normal velocity is 200, differences give -200",
        {"gap": -1e-6, "normal velocity": 0.0, "slip": 0.0, "friction": 0.5},
    ),
    "guard that never fires": (
        PushesInTheAir,
        "no force at positive gap",
        "pushes with 20 N at gap 0 m.*'release' does not fire",
        {"gap": 0.0, "normal velocity": 0.0},
    ),
    "margin that never fires": (
        WrongMargin,
        "margin agrees with force",
        "the margin is 1 where the normal force is -",
        {},
    ),
    "a force that jumps": (Jumps, "no jumps", "jumps by .* N where the slip velocity varies", {"slip": 0.0}),
    "a damper that drives": (Drives, "press and release", "pressing .* gains", {"depth": 1e-3, "friction": 0.5}),
    "cone violated": (LeavesTheCone, "cone respected", "leaves the cone of 0.5 x", {"gap": -1e-6, "friction": 0.5}),
    "pyramid": (Pyramid, "turned axes", "changes by .* N when the tangential axes are turned", {"angle": 0.0}),
    "memory of the wrong size": (WrongMemory, "finite answers", r"need \(3,\) and \(1,\)", {"tangents": 2.0}),
    "friction that winds up": (Winds, "friction never gains energy", "gained energy since rest", {"gap": -1e-6}),
    "parameter without bound": (Unbounded, "parameters bounded", "'stiffness' = -20000 is accepted.*pulls", {}),
    "parameter not validated": (Unchecked, "parameters validated", "unknown parameter", {}),
    "number outside the schema": (hidden, "made again from parameters", "keep everything in the schema", {}),
    "non-determinism": (
        Random,
        "same force twice",
        "answers differently when asked twice",
        {"gap": -1e-6, "slip": 0.0},
    ),
    "not a number": (NotANumber, "finite answers", r"returns the force \[nan", {"gap": 1e-9, "slip": 0.0}),
    "friction across the slip": (
        TurnsAmongMany,
        "turned axes",
        "turned by 37 or 90 deg, or mirrored",
        {"touching": 4.0, "tangents": 2.0},
    ),
    "dead parameter": (Idle, "parameters alive", "'idle' changes nothing that the law answers", {}),
    "counter that comes back": (Alternates, "same force twice", r"asked twice, by \d", {}),
    "counter that trips once": (HardensOnce, "same force twice", r"asked twice, by \d", {}),
    "exception at zero slip": (DividesByZero, "finite answers", "raises ZeroDivisionError", {"slip": 0.0}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_of_a_compliant_law(fault: str) -> None:
    make, name, words, state = FAULTS[fault]
    found = outcome(make(), name)
    assert found.holds is False
    assert re.search(words, found.message), found.message
    assert state.items() <= dict(found.state).items()
    assert found.figure is None or found.figure > (found.limit or 0.0)


class AdhesiveParameters(SpringDamper.Parameters):  # type: ignore[misc]
    adhesion: float = Field(5.0, ge=0.0, description="pull at zero gap [N]")


class Adhesive(CompliantLaw):
    """Presses and pulls; friction is that of the pressure without the pull (Derjaguin, Muller, Toporov)."""

    Parameters = AdhesiveParameters
    pulls = True

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        p, slip = self.parameters, point.velocity[1:]
        pressure = -p.stiffness * point.gap
        direction = slip / np.sqrt(slip @ slip + p.slip_speed**2)
        normal = pressure - p.damping * point.velocity[0] - p.adhesion
        return np.concatenate(([normal], -point.friction * pressure * direction)), point.memory


@pytest.mark.filterwarnings("ignore:.*differenced")
def test_a_law_that_says_that_it_pulls_conforms() -> None:
    found = [kit.quietly(check) for check in kit.named(Adhesive()).values()]
    assert all(one.holds is not False for one in found), [str(one) for one in found if one.holds is False]


class Raises(SpringDamper):
    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        if point.gap < -1e-4:
            raise ZeroDivisionError("oops")
        return super().force(point)


class OneNumber(SpringDamper):
    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        force, rate = super().force(point)
        return force[:1], rate


class NoPair(SpringDamper):
    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        return super().force(point)[0]  # type: ignore[return-value]


class MadeOnce(SpringDamper):
    def __init__(self, **parameters: float) -> None:
        if parameters:
            raise RuntimeError("lost")
        super().__init__()


@pytest.mark.parametrize(
    ("law", "reason"),
    [
        (Raises, r"raises ZeroDivisionError \(oops\)"),
        (OneNumber, r"returns shapes \(1,\) and \(0,\)"),
        (NoPair, "raises ValueError"),
    ],
)
def test_a_law_that_fails_gets_a_report_all_the_same(law: type[ContactLaw], reason: str) -> None:
    found = kit.check_contact_law(law())
    assert not found.passed
    (said,) = (one.message for one in found.outcomes if one.name == "finite answers")
    assert re.search(reason, said)


def test_a_property_that_cannot_be_tried_says_in_which_line() -> None:
    found = outcome(MadeOnce(), "made again from parameters")
    assert found.holds is False
    assert re.search(rf"RuntimeError: lost \(in __init__, line \d+ of {re.escape(__file__)}\)", found.message)


# --- rigid laws -------------------------------------------------------------------------------------------------------
class HalfTheImpact(Coulomb):
    """Solves an impact of half the speed: contacts go on into the ground."""

    def impact(self, problem: Any, restitution: Array) -> Any:
        return super().impact(replace(problem, free=0.5 * problem.free), restitution)


class Eager(Coulomb):
    """An impulse although nothing approaches."""

    def impact(self, problem: Any, restitution: Array) -> Any:
        return super().impact(replace(problem, free=problem.free - np.eye(len(problem.free))[0]), restitution)


class WideCone(Coulomb):
    def impact(self, problem: Any, restitution: Array) -> Any:
        return super().impact(replace(problem, friction=2.0 * problem.friction), restitution)


class Bouncy(Coulomb):
    def impact(self, problem: Any, restitution: Array) -> Any:
        return super().impact(problem, 1.5 * restitution)


class OneSided(Coulomb):
    """Twice the friction towards negative tangents: it depends on the axes."""

    def impact(self, problem: Any, restitution: Array) -> Any:
        signs = [problem.free[problem.tangent(i)].min(initial=0.0) < 0.0 for i in range(len(problem.dims))]
        share = np.where(signs, 1.0, 0.5)
        return super().impact(replace(problem, friction=share * problem.friction), restitution)


class ForgetsSliding(Coulomb):
    def select(self, problem: Any) -> Any:
        return super().select(replace(problem, sliding=(None,) * len(problem.dims)))


class Floats(Coulomb):
    """Takes accelerations to be smaller than they are: contacts accelerate into the ground."""

    def select(self, problem: Any) -> Any:
        return super().select(replace(problem, free=0.9 * problem.free))


class MisreadsCoefficients(Coulomb):
    def friction(self, kinetic: Array, static: Array) -> tuple[Array, Array]:
        return static, kinetic


class Uncertain(Coulomb):
    def impact(self, problem: Any, restitution: Array) -> Any:
        noise = 1e-6 * np.random.default_rng().normal(size=len(problem.free))
        return super().impact(replace(problem, free=problem.free + noise), restitution)


class Fails(Coulomb):
    def select(self, problem: Any) -> Any:
        slips = np.array([np.linalg.norm(problem.free[problem.tangent(i)]) for i in range(len(problem.dims))])
        if not np.all(slips > 0.0):
            raise ArithmeticError("no slip")
        return super().select(problem)


class DropsRestitution(Coulomb):
    """Beyond the fourth contact."""

    def impact(self, problem: Any, restitution: Array) -> Any:
        return super().impact(problem, np.where(np.arange(len(restitution)) < 4, restitution, 0.0))


class TurnsForces(Coulomb):
    """Friction turned by 90 degrees where more than three contacts touch."""

    def select(self, problem: Any) -> Any:
        found = super().select(problem)
        forces = found.forces.copy()
        for i in range(len(problem.dims) if len(problem.dims) > 3 else 0):
            if problem.dims[i] == 3:
                forces[problem.tangent(i)] = forces[problem.tangent(i)][::-1] * [-1.0, 1.0]
        return replace(found, forces=forces)


class IdleCoefficients(Coulomb.Parameters):  # type: ignore[misc]
    idle: float = Field(1.0, description="nothing [-]")


class IdleCoulomb(Coulomb):
    Parameters = IdleCoefficients


class TiresOut(Coulomb):
    """Less friction after the first three hundred choices."""

    asked = 0

    def select(self, problem: Any) -> Any:
        self.asked += 1
        return super().select(replace(problem, friction=problem.friction * (1.0 - 1e-3 * (self.asked > 300))))


RIGID_FAULTS: Mapping[str, tuple[Any, str, str, Mapping[str, float]]] = {
    "ignores Signorini": (
        HalfTheImpact,
        "Signorini at impacts",
        "Signorini's condition .* is missed by 0.5",
        {"contacts": 1.0},
    ),
    "uncalled impulse": (Eager, "no impulse uncalled for", "although no contact approaches", {"contacts": 1.0}),
    "cone violated": (WideCone, "cone at impacts", "leaves the cone", {"contacts": 1.0, "coupling": 0.0}),
    "restitution above one": (Bouncy, "impacts never gain energy", "the impact gains 0.6", {"restitution": 1.0}),
    "friction of one side": (OneSided, "turned axes", "not on axes", {"contacts": 1.0, "coupling": 0.0}),
    "sliding forgotten": (ForgetsSliding, "sliding friction", "off -mu lam_n s", {"contacts": 1.0, "sliding": 1.0}),
    "into the ground": (Floats, "Signorini of modes", "is missed by 0.1", {"contacts": 1.0, "coupling": 0.0}),
    "coefficients exchanged": (MisreadsCoefficients, "coefficients", "static below kinetic", {"friction": 0.5}),
    "non-determinism": (Uncertain, "same answer twice", "answers differently when asked twice", {"contacts": 1.0}),
    "restitution of four": (DropsRestitution, "contacts one by one", "together than each alone", {"contacts": 6.0}),
    "friction across the slip": (TurnsForces, "contacts one by one", "together than each alone", {"contacts": 4.0}),
    "dead parameter": (IdleCoulomb, "parameters alive", "'idle' changes nothing that the law answers", {}),
    "counter": (TiresOut, "same answer twice", "asked twice, by", {}),
    "exception without slip": (Fails, "finite answers", "select.* raises ArithmeticError .no slip.", {"slip 1": 0.0}),
}


@pytest.mark.parametrize("fault", RIGID_FAULTS)
def test_planted_fault_of_a_rigid_law(fault: str) -> None:
    make, name, words, state = RIGID_FAULTS[fault]
    found = outcome(make(), name)
    assert found.holds is False
    assert re.search(words, found.message), found.message
    assert state.items() <= dict(found.state).items()


# --- faults that show in runs -----------------------------------------------------------------------------------------
class Counts(SpringDamper):
    """Hardens once, after some questions: runs differ, though two questions in a row hardly ever do."""

    asked = 0

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        type(self).asked += 1
        force, rate = super().force(point)
        return force * (1.0 + 1e-4 * (self.asked > 300)), rate


RUN_FAULTS: Mapping[str, tuple[Any, str, str]] = {
    "wrong derivative": (WrongJacobian, "derivative of runs", "differs from differences by"),
    "pyramid": (Pyramid, "turned and moved world", "in a world that is turned and moved"),
    "cone violated": (LeavesTheCone, "forces along runs", "friction at 'ball' leaves the cone by"),
    "a damper that drives": (Drives, "runs never gain energy", "has gained .* J until t = "),
    "non-determinism": (Counts, "same run twice", "two runs of a box that tumbles differ"),
    "exception in a run": (Fails, "runs", "no slip"),
}


@pytest.mark.parametrize("fault", RUN_FAULTS)
def test_planted_fault_that_shows_in_runs(fault: str) -> None:
    make, name, words = RUN_FAULTS[fault]
    found = outcome(make(), name)
    assert found.holds is False
    assert re.search(words, found.message), found.message
