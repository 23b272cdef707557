"""Closed loops in C++ against Python; skipped where the compiled engine is not installed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from linkages import above_ground, five_bar_leg, four_bar

import contactsim as cs
from contactsim.contact.modes import ContactState, Mode, Phase, SystemMode
from contactsim.contact_dynamics.outcome_sensitivity import OutcomeSensitivity
from contactsim.contact_dynamics.resolution import Resolution
from contactsim.contact_dynamics.rigid_arc import closed_forces
from contactsim.hybrid.stepper import Stepper

pytest.importorskip("contactsim_native._native")  # its sources alone are no package

Array = np.ndarray
TIGHT = cs.Tolerances(1e-11, 1e-13)
RUN = 1e-9  # of two runs that differ in rounding
TIME = 1e-10  # of their events [s]
MOTION = 1e-11  # of accelerations and forces, relative to the largest
MATRIX = 1e-7  # of derivatives of runs, relative to the largest
STEP = 1e-4  # of differences of runs, of order four
DIFFERENCE = 1e-7  # of such, relative to the largest: 1e-13 of a run over the step, and more behind several events


def held_bars(kind: str, restitution: float = 0.0, **options: Any) -> tuple[cs.ContactSystem, cs.State]:
    """Two free bars, held at a point, a hinge or welded, of which the ends of one come down onto the ground."""
    model = pin.Model()
    for name in ("a", "b"):
        joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), f"{name}_root")
        model.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), 0.1 * np.eye(3)), pin.SE3.Identity())
        model.addFrame(pin.Frame(name, joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    rubs = {"friction": 0.3, "restitution": restitution}
    ends = [cs.ContactPoint("a", (x, 0.0, 0.0), name=f"end{k}", **rubs) for k, x in enumerate((-0.4, 0.4))]
    rng = np.random.default_rng(3)
    robot = cs.Robot(model, ends)
    q, v = robot.space.integrate(pin.neutral(model), 0.3 * rng.normal(size=12)), rng.normal(size=12)
    loop = cs.LoopClosure("a", "b", (0.2, 0, 0), (0, -0.3, 0), (0.1, 0.2, 0), kind=kind, name="joint")
    system = cs.ContactSystem(robot, loops=[loop], **options)
    q[[2, 9]] += 0.6
    return system, system.close(q, v)


def gripper() -> tuple[cs.ContactSystem, cs.State]:
    """A humanoid whose grippers have coupled joints, tilted above the ground."""
    robot = cs.load_robot("talos_full")
    q = robot.nominal.copy()
    q[3:7] = (pin.Quaternion(q[3:7]) * pin.Quaternion(pin.exp3(np.array([0.03, -0.02, 0.05])))).coeffs()
    q[2] += 0.05
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=2000.0, kd=80.0))
    return system, cs.State(q, np.zeros(robot.nv))


def leg(**options: Any) -> tuple[cs.ContactSystem, cs.State]:
    system = five_bar_leg("free_flyer", **options)
    return system, above_ground(system, height=0.465)


# {name: (system and start, end, events of which Python is asked where the engine is not, 0: not compared)}
SYSTEMS: dict[str, tuple[Callable[[], tuple[cs.ContactSystem, cs.State]], float, int]] = {
    "leg": (leg, 0.15, 3),
    "compliant leg": (lambda: leg(law="spring-damper"), 0.06, 0),  # it lands at 0.0275
    "point": (lambda: held_bars("point"), 0.15, 0),
    "weld": (lambda: held_bars("pose"), 0.15, 0),
    "gripper": (gripper, 0.1025, 10),  # 20 events; after some hundred, rounding decides which of two comes first
    "four-bar": (lambda: (four_bar(), four_bar().close([-1.0, 0.8, -2.0], [5.0, 0.0, 0.0])), 0.15, 0),
}


def calls_of(owner: type, name: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which each call of a method adds its name."""
    calls, original = list[str](), getattr(owner, name)

    def counted(*given: Any) -> Any:
        calls.append(name)
        return original(*given)

    monkeypatch.setattr(owner, name, counted)
    return calls


Counts = dict[str, list[int]]  # {method of Python's: how often the runs in C++ and in Python call it}


def on_both(
    system: cs.ContactSystem, start: cs.State, end: float, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[cs.Trajectory], Counts]:
    """Runs in C++ and in Python that have the same events, and how often each asks Python for a step and an event."""
    asked = {name: calls_of(owner, name, monkeypatch) for owner, name in ((Stepper, "step"), (Resolution, "_outcome"))}
    runs, counts = [], Counts((name, []) for name in asked)
    for kind in ("native", "python"):
        for calls in asked.values():
            calls.clear()
        runs.append(cs.simulate(system, start, (0.0, end), tolerances=TIGHT, integrator="DOP853", engine=kind))
        for name, calls in asked.items():
            counts[name].append(len(calls))
    one, two = runs
    assert one.status is two.status is cs.Status.FINISHED, (one.message, two.message)
    assert [event.fired for event in one.all_events] == [event.fired for event in two.all_events]
    return runs, counts


def compare_events(runs: list[cs.Trajectory], asked: list[int], least: int) -> None:
    """Modes and ends; Python is asked for no event while the engine runs, else for at least so many."""
    assert asked[0] == 0 and asked[1] >= least, asked
    modes = [[[(own.mode, own.phase) for own in e.mode_post.contacts] for e in run.all_events] for run in runs]
    assert modes[0] == modes[1]
    assert np.abs(runs[0].final_x - runs[1].final_x).max() < RUN


@pytest.mark.parametrize(("make", "end", "least"), SYSTEMS.values(), ids=SYSTEMS)
def test_runs_are_those_of_python(make: Callable, end: float, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, counts = on_both(*make(), end, monkeypatch)
    taken = counts["step"]
    if least:
        compare_events(runs, counts["_outcome"], least)
    one, two = runs
    assert taken[0] < 0.2 * taken[1], taken
    assert max((abs(a.time - b.time) for a, b in zip(one.all_events, two.all_events, strict=True)), default=0.0) < TIME
    for t in np.linspace(0.0, end, 21):
        assert np.abs(one.arc_at(t)(t) - two.arc_at(t)(t)).max() < RUN
    one.check()
    for found, expected in zip(*(run.loop_forces(0.6 * end).values() for run in runs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


FALLS: dict[str, tuple[Callable[[], tuple[cs.ContactSystem, cs.State]], float, int]] = {
    "hinge": (lambda: held_bars("hinge"), 0.7, 7),
    "hinge, Newton": (lambda: held_bars("hinge", 0.5), 0.6, 3),
    "weld, Poisson": (lambda: held_bars("pose", 0.5, law="poisson"), 0.6, 3),
}


@pytest.mark.parametrize(("make", "end", "least"), FALLS.values(), ids=FALLS)
def test_events_are_those_of_python(make: Callable, end: float, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Impacts, modes and hops along motions that keep loops closed."""
    runs, counts = on_both(*make(), end, monkeypatch)
    compare_events(runs, counts["_outcome"], least)
    runs[0].check()


@pytest.mark.parametrize("make", [leg, lambda: held_bars("hinge"), gripper], ids=["leg", "hinge", "gripper"])
def test_motions_are_those_of_python(make: Callable) -> None:
    """Sticking, slipping and sliding without friction, at random velocities that need not keep the loops closed."""
    system, start = make()
    x = system.start(0.0, system.pack(start)).x
    rng, count = np.random.default_rng(4), system.world.count
    slips = ContactState(Mode.SLIP, Phase.FREE)
    for state in (ContactState(), ContactState(Mode.STICK), slips):
        mode = SystemMode((state, *[ContactState()] * (count - 1)))
        for _ in range(3):
            y = x.copy()
            y[system.robot.nq : system.robot.nq + system.robot.nv] += 0.1 * rng.normal(size=system.robot.nv)
            fields, forces = [], []
            for kind in ("native", "python"):
                own = system.on_engine(kind)
                own.start(0.0, own.pack(start))  # by which the rank of the loops is known
                flow = own.flow(mode).rebased(0.0, y)
                assert (flow.cruise is not None) == (kind == "native")
                fields.append(flow.field(0.0, y))
                forces.append(closed_forces(own.world, 0.0, y, mode))
            assert np.abs(fields[0] - fields[1]).max() < MOTION * np.abs(fields[1]).max()
            for i, expected in forces[1].items():
                assert np.abs(forces[0][i] - expected).max() < MOTION * max(1.0, np.abs(expected).max())


def test_a_state_that_drifts_is_put_back_as_python_does() -> None:
    system, start = leg()
    x = system.start(0.0, system.pack(start)).x
    rng = np.random.default_rng(5)
    moved = system.space().integrate(x, 1e-6 * rng.normal(size=2 * system.robot.nv))
    found = []
    for kind in ("native", "python"):
        own = system.on_engine(kind)
        mode = own.start(0.0, own.pack(start)).mode
        found.append(own.flow(mode).project(0.0, moved.copy()))
    assert np.abs(found[0] - moved).max() > 1e-8
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [leg, lambda: held_bars("hinge"), gripper], ids=["leg", "hinge", "gripper"])
def test_jacobians_are_those_of_python(make: Callable) -> None:
    system, start = make()
    x = system.start(0.0, system.pack(start)).x
    state = system.close(start.q, 0.3 * np.random.default_rng(6).normal(size=system.robot.nv))
    x[: system.robot.nq + system.robot.nv] = np.concatenate([state.q, state.v])
    for one in (ContactState(), ContactState(Mode.STICK), ContactState(Mode.SLIP, Phase.FREE)):
        mode = SystemMode((one, *[ContactState()] * (system.world.count - 1)))
        found = []
        for kind in ("native", "python"):
            own = system.on_engine(kind)
            own.start(0.0, own.pack(start))
            flow = own.flow(mode).rebased(0.0, x)
            if kind == "native":
                directions = np.tile([1.0, 0.0], (len(mode.closed), 1))
                q, v, none = *np.split(x, [own.robot.nq]), np.zeros((own.robot.nv, 2 * own.robot.nv))
                assert flow.arc.compiled.derivatives(q, v, None, none, directions, 0.0) is not None
            found.append(flow.jacobian(0.0, x))
        assert np.abs(found[0] - found[1]).max() < MOTION * np.abs(found[1]).max()


@pytest.mark.parametrize(
    "make",
    [leg, lambda: leg(law="spring-damper"), lambda: held_bars("pose", law="spring-damper")],
    ids=["leg", "compliant leg", "compliant weld"],
)
def test_derivatives_of_such_runs_are_those_of_python(make: Callable) -> None:
    system, start = make()
    runs = [cs.simulate(system, start, (0.0, 0.1), tolerances=TIGHT, engine=kind) for kind in ("native", "python")]
    found, expected = (cs.linearize(run).matrix() for run in runs)
    assert np.abs(found - expected).max() < MATRIX * np.abs(expected).max()


DIFFERENTIATED: dict[str, tuple[Callable[[], tuple[cs.ContactSystem, cs.State]], float]] = {
    "leg": (leg, 0.1),
    "hinge": (lambda: held_bars("hinge"), 0.45),
    "hinge, Newton": (lambda: held_bars("hinge", 0.5), 0.5),
    "weld": (lambda: held_bars("pose"), 0.45),
    "weld, Poisson": (lambda: held_bars("pose", 0.5, law="poisson"), 0.5),
}


@pytest.mark.parametrize(("make", "end"), DIFFERENTIATED.values(), ids=DIFFERENTIATED)
def test_derivatives_of_falls_are_those_of_differences(
    make: Callable, end: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Along a motion that keeps the loops closed, on both engines; the compiled one asks Python for no event."""
    system, start = make()
    runs, _ = on_both(system, start, end, monkeypatch)
    asked = calls_of(OutcomeSensitivity, "derivative", monkeypatch)
    basis = system.admissible(start)
    direction = basis @ np.random.default_rng(2).normal(size=basis.shape[1])
    direction /= np.linalg.norm(direction)
    for run, kind in zip(runs, ("native", "python"), strict=True):
        asked.clear()
        exact, found = cs.linearize(run)(direction), differenced(run, start, direction, kind)
        assert bool(asked) == (kind == "python")
        assert np.abs(found - exact).max() < DIFFERENCE * max(1.0, np.abs(exact).max())


def differenced(run: cs.Trajectory, start: cs.State, direction: Array, kind: str) -> Array:
    """How the end of a run moves as its start does, put back onto its loops."""
    system = run.arcs[0].system
    space, x, tight = system.space(), system.pack(start), cs.Tolerances(1e-12, 1e-13)

    def moved(h: float) -> Array:
        there = system.state(space.integrate(x, h * direction))
        state = system.close(there.q, there.v)
        found = cs.simulate(system, state, (0.0, run.arcs[-1].t1), tolerances=tight, engine=kind)
        return space.difference(run.final_x, found.final_x)

    return (8.0 * (moved(STEP) - moved(-STEP)) - (moved(2.0 * STEP) - moved(-2.0 * STEP))) / (12.0 * STEP)
