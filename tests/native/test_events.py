"""Events resolved by the compiled engine against those in Python, one by one; skipped where it is not installed."""

from collections.abc import Callable
from math import inf

import numpy as np
import pinocchio as pin
import pytest
from contactsim_plugins.laws.coulomb import Coulomb
from contactsim_plugins.laws.poisson import Energetic, Poisson
from landings import landing as tilted_landing
from random_scenes import scene

import contactsim as cs
from contactsim.contact.modes import ContactState, SystemMode
from contactsim.contact_dynamics import resolution
from contactsim.contact_dynamics.compiled_resolution import CompiledResolution
from contactsim.contact_dynamics.contact_rows import ContactEvent, PostEvent

from .compared_events import compared
from .test_loops import gripper, held_bars

pytest.importorskip("contactsim_native._native")

SAME = 1e-11  # relative difference of velocities and impulses: rounding of two ways to one number
DIRECTION = 1e-6  # of slips that begin slowly: rounding of their velocities, relative to these
END = 1e-12
LOW = 1e-3  # gaps of contacts that are looked for [m]


@pytest.fixture(autouse=True)
def fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that is taken where nothing is said, whatever the environment says."""
    monkeypatch.delenv("CONTACTSIM_ENGINE", raising=False)


class InPython(resolution.Resolution):
    compiled = None  # type: ignore[assignment]


class Compared:
    """Asks both for every event, and counts those that the compiled engine answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = self.answered = self.impacts = self.bouncing = self.expansions = 0
        compiled = CompiledResolution.resolve

        def both(own: CompiledResolution, x: np.ndarray, event: ContactEvent) -> PostEvent | None:
            found = compiled(own, x, event)
            compare_low(own, event.t, x)
            self.asked += event.slowest is None
            if found is not None:
                self.answered += 1
                self.compare(found, InPython(own.world).resolve(x, event))
            return found

        monkeypatch.setattr(CompiledResolution, "resolve", both)
        monkeypatch.setattr(cs.ContactSystem, "journey", lambda system, departure: None)  # each is asked for by itself

    def compare(self, found: PostEvent, expected: PostEvent) -> None:
        """The answers agree but for rounding."""
        assert np.abs(found.x - expected.x).max() < SAME * max(1.0, np.abs(expected.x).max())
        compare_modes(found.mode, expected.mode)
        assert found.notes == expected.notes
        assert found.residuals.keys() == expected.residuals.keys()
        assert max(found.residuals.values(), default=0.0) < 1e-8
        assert (found.impact is None) is (expected.impact is None)
        self.bouncing += bool(found.mode.limits)
        for i in found.left.keys() & expected.left.keys():
            assert np.abs(found.left[i] - expected.left[i]).max() < SAME * max(1.0, np.abs(expected.left[i]).max())
        if found.impact is None or expected.impact is None:
            return
        self.impacts += 1
        one, two = found.impact.solution, expected.impact.solution
        assert one.modes == two.modes
        assert np.abs(one.impulses - two.impulses).max() < SAME * max(1.0, np.abs(two.impulses).max())
        assert np.abs(one.motion - two.motion).max() < SAME * max(1e-3, np.abs(two.stages[0].before).max())
        speed = np.abs(two.stages[0].before).max()  # at which rounding of impulses works, 1e-13 N s of light touches
        assert abs(one.work - two.work) < SAME * max(two.turnover, 1e-3, 1e-2 * speed)  # J
        assert len(one.stages) == len(two.stages)
        self.expansions += len(one.stages) > 1
        for first, second in zip(one.stages, two.stages, strict=True):
            first.solution.verify()
            assert first.solution.lifted == second.solution.lifted
            assert np.array_equal(first.share, second.share)


def compare_low(compiled: CompiledResolution, t: float, x: np.ndarray) -> None:
    """Contacts that are low are those of the mechanism, with gap and rate."""
    world, mechanism = compiled.world, compiled.world.mechanism
    gaps, told = mechanism.gaps(t, world.q(x)), compiled.low(t, x, LOW)
    assert told is not None
    assert [i for i, _, _ in told] == np.flatnonzero(gaps <= LOW).tolist()
    for i, gap, rate in told:
        assert abs(gap - gaps[i]) < SAME
        assert abs(rate - mechanism.rates(t, world.q(x), world.v(x), (i,))[0]) < SAME * max(1.0, abs(rate))


def compare_modes(found: SystemMode, expected: SystemMode) -> None:
    """Modes are the same, and directions and ends of bounces agree."""
    assert found.redundant is expected.redundant
    assert [shape(state) for state in found.contacts] == [shape(state) for state in expected.contacts]
    for one, two in zip(found.contacts, expected.contacts, strict=True):
        if one.direction:
            assert np.abs(np.array(one.direction) - two.direction).max() < DIRECTION
        assert abs((one.until or 0.0) - (two.until or 0.0)) < END


def shape(state: ContactState) -> tuple[object, ...]:
    return state.mode, state.phase, len(state.direction), state.enabled, state.until is None


def named(name: str, duration: float) -> Callable[[], object]:
    case = cs.load_scene(name)
    return lambda: cs.simulate(case.system, case.state, (0.0, duration), **case.options)


def random(seed: int) -> Callable[[], object]:
    case = scene(seed)
    return lambda: cs.simulate(case.system, case.start, (0.0, case.end))


def landing(
    restitution: float, called: bool = False, law: str = "coulomb", last: float | None = None
) -> Callable[[], object]:
    """A quadruped that falls with a tilt, under a controller in C++ or one that is called back.

    Its last foot may have a restitution of its own.
    """
    robot = cs.load_robot("solo12")
    pd = cs.PD(robot, kp=4.0, kd=0.1)
    controller = (lambda t, q, v: pd.torque(t, q, v, np.zeros(0))) if called else pd
    q = robot.nominal.copy()
    q[2] -= robot.contact_positions(q)[:, 2].min() - 0.02
    tilted = robot.space.integrate(q, np.r_[0, 0, 0, 0.06, -0.04, 0.0, np.zeros(robot.nv - 6)])
    v = np.zeros(robot.nv)
    v[0] = 0.3
    system = cs.ContactSystem(robot, controller=controller, law=law)
    world = system.world
    shares = np.full(len(world.mechanism.dims), restitution)
    shares[len(robot.contacts) - 1] = restitution if last is None else last
    system = system.with_coefficients(*world.own_friction, shares)
    return lambda: cs.simulate(system, cs.State(tilted, v), (0.0, 0.15))


def looped(made: tuple[cs.ContactSystem, cs.State], duration: float) -> Callable[[], cs.Trajectory]:
    return lambda: cs.simulate(*made, (0.0, duration))


RUNS = {
    "hexapod": lambda: named("hexapod", 1.2),
    "biped": lambda: named("biped", 2.0),
    "random, 2": lambda: random(2),
    "random, 11": lambda: random(11),
    "random, 24": lambda: random(24),
    "landing": lambda: landing(0.0),
    "landing, controlled by a function": lambda: landing(0.0, called=True),
    "landing, bouncing": lambda: landing(0.3),
    "landing, Poisson's law": lambda: landing(0.3, law="poisson"),
    "landing, Poisson's law of several coefficients": lambda: landing(0.3, law="poisson", last=0.7),
    "landing, a law that gains no energy": lambda: landing(0.3, law="energetic", last=0.6),
}
LOOPED = {
    "loops, coupled joints": lambda: looped(gripper(), 0.12),
    "loops, a hinge": lambda: looped(held_bars("hinge"), 0.7),
    "loops, a weld of redundant rows": lambda: looped(held_bars("pose"), 0.45),
    "loops, a weld that bounces": lambda: looped(held_bars("pose", 0.5), 0.7),
    "loops, a weld that bounces, by Poisson's law": lambda: looped(held_bars("pose", 0.5, law="poisson"), 0.7),
}
ANSWERED = {"landing, a law that gains no energy": 0.7}  # whose hops of several coefficients may gain some; else 0.9


@pytest.mark.parametrize("name", RUNS | LOOPED)
def test_events_are_those_of_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, both = (RUNS | LOOPED)[name](), Compared(monkeypatch)
    run()
    assert both.asked > 2
    assert both.answered >= ANSWERED.get(name, 0.9) * both.asked
    assert both.impacts
    if name == "landing, bouncing":
        assert both.bouncing
    assert bool(both.expansions) is ("law" in name)


@pytest.mark.parametrize(("name", "seed"), [("solo12", 2), ("a1", 1)])
def test_slips_that_begin_beside_others_are_answered(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the others may leave as well takes all directions in which the one may slip: see `painleve`."""
    counts = compared(monkeypatch)
    run = tilted_landing(name, seed).run()
    assert any(name[0] == "cone" for event in run.all_events for name in event.fired if isinstance(name, tuple))
    assert counts.answered == counts.asked


def test_laws_that_it_does_not_know_are_pythons() -> None:
    class Gentle(Coulomb):
        def impact(self, problem, restitution):  # type: ignore[no-untyped-def]
            return super().impact(problem, 0.5 * restitution)

    class Stiff(Poisson):
        def expand(self, problem, compressed, restitution):  # type: ignore[no-untyped-def]
            return super().expand(problem, compressed, 0.5 * restitution)

    assert [law().plain() for law in (Coulomb, Poisson, Energetic)] == ["newton", "poisson", "energetic"]
    assert Gentle().plain() is None
    assert Stiff().plain() is None
    assert cs.ContactSystem(cs.load_robot("solo12"), law="sequential").world.law.plain() is None


def test_what_a_users_function_raises_in_an_event_ends_the_run_there() -> None:
    robot = cs.load_robot("solo12")
    landed = [inf]

    def falls_over(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > landed[0]:
            raise ValueError("no more")
        return np.zeros(robot.nv)

    q = robot.nominal.copy()
    q[2] -= robot.contact_positions(q)[:, 2].min() - 0.02
    system = cs.ContactSystem(robot, controller=falls_over)
    landed[0] = cs.simulate(system, cs.State(q, np.zeros(robot.nv)), (0.0, 0.07)).events[0].time - 1e-9
    run = cs.Simulation(system, cs.State(q, np.zeros(robot.nv)))
    run.advance_to(0.07)
    assert "no more" in run.message
    assert "controller" in run.message


def test_a_slip_that_begins_beside_a_jam_is_followed_up_to_it() -> None:
    case = scene(148)  # a foot slides at 0.3 % of the determinant that jams it, while another one begins to slip
    run = cs.simulate(case.system, case.start, (0.0, 0.3022), engine="native")
    assert run.status is cs.Status.FINISHED
    assert any(("jam", -1) in event.fired for event in run.all_events)


@pytest.mark.parametrize("inertia", [1e-4, 1e-3, 1e-2])
def test_two_corners_of_a_light_body_hop_together_to_their_closed_form(inertia: float) -> None:
    """As `test_accumulation` has it in Python: rounded impulses of its first impact would turn a light body."""
    height, low, e, arms = 0.1, 0.1, 0.5, (-0.2, 0.31)
    upright = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelPlanar(), pin.SE3(upright, np.zeros(3)), "plane")
    model.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), inertia * np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("body", joint, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    corners = [
        cs.ContactPoint("body", (arm, -low, 0.0), friction=0.3, restitution=e, name=name)
        for name, arm in zip(("left", "right"), arms, strict=True)
    ]
    q = pin.neutral(model)
    q[1] = low + height
    system = cs.ContactSystem(cs.Robot(model, contacts=corners))
    run = cs.simulate(system, cs.State(q, np.array([0.1, 0.0, 0.0])), (0.0, 0.5))
    _, upwards, turning = run.events[0].x_post[-3:]
    assert abs(turning) * max(arms) <= 4.0 * np.spacing(upwards), "no more than rounding tilts it"
    limit = next(event for event in run.all_events if event.accumulated)
    assert limit.accumulated == ("left", "right")
    assert limit.time == pytest.approx(np.sqrt(2.0 * height / 9.81) * (1.0 + e) / (1.0 - e), abs=1e-9)
