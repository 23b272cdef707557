"""Compliant laws in C++ against Python; skipped where the compiled engine is not installed."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from contactsim_plugins.laws.hunt_crossley import HuntCrossley
from thirty_scenes import lawful

import contactsim as cs
from contactsim.contact.modes import ContactState, Mode, Phase, SystemMode
from contactsim.contact_dynamics.compliant_flow import CompliantFlow
from contactsim.contact_dynamics.rigid_arc import prepare
from contactsim.hybrid.stepper import Stepper
from contactsim.multibody.terrain import Terrain

native = pytest.importorskip("contactsim_native._native")  # its sources alone are no package

FIELD = 1e-11  # relative to the largest number of its kind: rounding of two ways to one number, of stiff ground
RUN = 1e-7  # of two runs at rtol 1e-8 whose steps differ
TIME = 1e-8  # of their events [s]
MATRIX = 1e-6  # of their derivatives, relative to the largest entry
AT = 0.1  # s
LAWS = {
    "spring-damper": {"stiffness": 3e4, "damping": 150.0, "slip_speed": 0.02},
    "hunt-crossley": {"stiffness": 1e6, "exponent": 1.5, "damping": 0.4, "slip_speed": 0.02},
    "stribeck": {"stiffness": 3e4, "damping": 150.0, "slip_speed": 0.02, "stribeck_speed": 0.1, "viscous": 0.05},
    "dissipative": {"stiffness": 3e4, "damping": 150.0},
    "switched-damping": {"stiffness": 3e4, "damping": 150.0},
    "conservative": {"stiffness": 3e4},
}
GROUNDS: dict[str, Terrain] = {
    "flat": cs.terrain.Slope(0.2),
    "hills": cs.terrain.Sinusoid(0.05, 3.0, 2.0, velocity=(0.2, 0.1)),
    "moving": cs.terrain.Moving(cs.terrain.Flat(), cs.terrain.Oscillation((0.01, 0.02, 0.03), 2.0, 0.3)),
}


def soft(law: str, ground: str = "flat", robot: str = "solo12") -> cs.ContactSystem:
    """A robot with motors on ground that gives way."""
    loaded = cs.load_robot(robot)
    controller = cs.PD(loaded, kp=10.0, kd=0.4)
    return lawful(cs.ContactSystem(loaded, terrain=GROUNDS[ground], controller=controller, law=law), **LAWS[law])


def random_mode(rng: np.random.Generator, count: int, pulls: bool) -> SystemMode:
    """Contacts that are open, touch, or are released."""
    kinds = [ContactState(), ContactState(Mode.CLOSED), ContactState(Mode.OPEN, Phase.RELEASED)]
    return SystemMode(tuple(kinds[int(rng.integers(2 if pulls else 3))] for _ in range(count)))


def off(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest number."""
    return float(np.abs(found - expected).max(initial=0.0) / np.abs(expected).max(initial=1.0))


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("law", LAWS)
def test_motion_guards_and_derivatives_of_every_mode_are_those_of_python(law: str, ground: str) -> None:
    """Feet and joint limits that touch, are off the ground, or released, at any posture and speed."""
    system, rng = soft(law, ground), np.random.default_rng(7)
    one, other = (system.on_engine(name) for name in ("native", "python"))
    world, robot = other.world, other.robot
    nv = world.nv
    for _ in range(6):
        q, v = other.mechanism.space.integrate(robot.nominal, 0.3 * rng.normal(size=nv)), 0.3 * rng.normal(size=nv)
        for _ in range(4):
            q[2] += rng.normal(scale=5e-3) - other.mechanism.gaps(AT, q)[: len(robot.contacts)].min()
        x = np.concatenate([q, v])
        mode = random_mode(rng, len(other.mechanism.gaps(AT, q)), world.law.pulls)
        python, compiled = CompliantFlow(world, mode), CompliantFlow(one.world, mode)._compiled
        assert compiled.arc is not None and compiled.watch is not None
        none = np.zeros((len(python._watched), 2))
        motion = compiled.arc.motion(AT, x, none, 0.0)
        assert motion is not None
        assert off(motion.acceleration, python.field(AT, x)[nv:]) < FIELD
        forces = python.contact_forces(AT, x)
        acting = [forces[i] if mode.contacts[i].closed else 0.0 * forces[i] for i in python._watched]
        assert off(motion.forces, np.concatenate([np.zeros(0), *acting])) < FIELD
        assert off(compiled.watch.guards(AT, x, none, 0.0), python.guards(AT, x)) < FIELD
        if ground != "moving":
            found = compiled.arc.driven_derivatives(AT, x, none, 0.0)
            assert found is not None
            assert off(found[0], python.jacobian(AT, x)[nv:]) < 10.0 * FIELD


def table(height: float) -> cs.Robot:
    """A free body on four feet, its centre so far above them."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    model.appendBodyToJoint(joint, pin.Inertia(2.0, np.zeros(3), np.diag([0.02, 0.03, 0.04])), pin.SE3.Identity())
    model.addFrame(pin.Frame("table", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    feet = [(0.2 * a, 0.1 * b, -height) for a in (1, -1) for b in (1, -1)]
    points = [cs.ContactPoint("table", at, friction=0.5, radius=0.01, name=f"foot{k}") for k, at in enumerate(feet)]
    return cs.Robot(model, contacts=points)


@pytest.mark.parametrize(
    ("law", "ground"), [*((law, "flat") for law in LAWS), ("spring-damper", "moving"), ("hunt-crossley", "hills")]
)
def test_runs_events_and_derivatives_are_those_of_python(law: str, ground: str) -> None:
    """A table falls with a tilt onto soft ground: feet touch, are released, and let go."""
    system = lawful(cs.ContactSystem(table(0.1), terrain=GROUNDS[ground], law=law), **LAWS[law])
    q = system.mechanism.space.integrate(system.robot.nominal, np.array([0.0, 0.0, 0.0, 0.1, 0.2, 0.0]))
    for _ in range(4):
        q[2] += 1e-3 - system.mechanism.gaps(0.0, q).min()
    start = cs.State(q, [0.3, 0.1, -1.0, 0.0, 0.0, 0.0])
    end = 0.1 if ground == "flat" else 0.02
    runs = [cs.simulate(system, start, (0.0, end), engine=engine) for engine in ("native", "python")]
    one, other = runs
    assert one.status is other.status is cs.Status.FINISHED
    assert [event.fired for event in one.all_events] == [event.fired for event in other.all_events]
    fired = {kind for event in one.all_events for kind, _ in event.fired}
    assert fired >= ({"gap", "clear"} if ground == "flat" else {"gap"})
    assert max(abs(a.time - b.time) for a, b in zip(one.all_events, other.all_events, strict=True)) < TIME
    assert off(one.final_x, other.final_x) < RUN
    assert off(*[cs.linearize(run).matrix() for run in runs]) < MATRIX


def test_python_has_no_step_to_take_but_the_first() -> None:
    """Neither by the explicit nor by the stiff method."""
    system, taken, step = soft("hunt-crossley").on_engine("native"), list[float](), Stepper.step

    def counted(stepper: Stepper, bound: float) -> object:
        taken.append(stepper.t)
        return step(stepper, bound)

    q = np.array(system.robot.nominal)
    q[2] += 1e-3 - system.mechanism.gaps(0.0, q)[:4].min()
    for integrator in ("DOP853", "Radau9"):
        taken.clear()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Stepper, "step", counted)
            run = cs.simulate(system, cs.State(q, np.zeros(18)), (0.0, 0.1), integrator=integrator)
        assert run.status is cs.Status.FINISHED
        assert len(taken) <= 1


class Harder(HuntCrossley):
    """A law of a user's, derived from one that engines know."""

    def force(self, point: cs.CompliantPoint) -> tuple[np.ndarray, np.ndarray]:
        """Twice as hard."""
        force, rate = super().force(point)
        return 2.0 * force, rate


@pytest.mark.parametrize("law", [Harder(), "lugre"])
def test_a_law_that_is_no_data_runs_in_python(law: object) -> None:
    """One that a user derived, and one that remembers."""
    system = cs.ContactSystem(cs.load_robot("solo12"), law=law).on_engine("native")
    mode = SystemMode((ContactState(Mode.CLOSED),) + (ContactState(),) * (len(system.mechanism.dims) - 1))
    assert system.flow(mode).cruise is None


def test_derivatives_in_flight_hang_on_nothing_that_was_asked_before() -> None:
    """What is kept to be used again is of a mode with rows, then of one without."""
    robot = cs.load_robot("solo12")
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=10.0, kd=0.4)).on_engine("native")
    count = len(system.mechanism.dims)
    standing, flight = (
        SystemMode((ContactState(mode),) * 4 + (ContactState(),) * (count - 4)) for mode in (Mode.STICK, Mode.OPEN)
    )
    x = np.concatenate([robot.nominal, 0.1 * np.ones(18)])
    for mode in (standing, flight):
        arc = prepare(system.world, mode).compiled
        assert arc is not None
        found = arc.driven_derivatives(AT, x, np.zeros((len(mode.closed), 2)), 0.0)
    assert found is not None
    python = system.on_engine("python").flow(flight)
    assert off(found[0], python.jacobian(AT, x)[18:]) < FIELD
