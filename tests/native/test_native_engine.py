"""The compiled engine against Pinocchio and against the engine in Python; skipped where it is not installed."""

import copy
import gc
import importlib
import pickle
import subprocess
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import landings
import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.contact_dynamics.engines import CompiledArc, Engine, chosen, engine
from contactsim.errors import InputError
from contactsim.hybrid.segments import Interpolant853

pytestmark = pytest.mark.usefixtures("fastest")
extension = pytest.importorskip("contactsim_native._native")  # its sources alone are no package
native = importlib.import_module("contactsim_native")

FIELD = 1e-12  # relative to the largest acceleration: rounding of two ways to one number
CHART = 1e-14
RUN = 1e-9  # of two runs at rtol 1e-10 that differ in rounding
TIME = 1e-8  # of their events, slow ones among them [s]


@pytest.fixture
def fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that is taken where nothing is said, whatever the environment says."""
    monkeypatch.delenv("CONTACTSIM_ENGINE", raising=False)


def joints() -> pin.Model:
    """A tree with every kind of joint that the engine knows, composite ones and an armature among them."""
    model = pin.Model()
    axis = np.array([1.0, 2.0, 2.0]) / 3.0
    both = pin.JointModelComposite(pin.JointModelPX(), pin.SE3.Random())
    both.addJoint(pin.JointModelRY(), pin.SE3.Random())
    kinds = [
        pin.JointModelFreeFlyer(), pin.JointModelRX(), pin.JointModelRevoluteUnaligned(*axis), pin.JointModelPY(),
        pin.JointModelPrismaticUnaligned(*axis), pin.JointModelRUBZ(), pin.JointModelSpherical(), both,
        pin.JointModelPlanar(), pin.JointModelTranslation(), pin.JointModelRZ(),
    ]  # fmt: skip
    pin.seed(5)
    for k, kind in enumerate(kinds):
        parent = (0, 1, 2, 2, 4, 5, 1, 7, 8, 1, 10, 11)[k]  # depth first
        index = model.addJoint(parent, kind, pin.SE3.Random(), f"joint{k}")
        model.appendBodyToJoint(index, pin.Inertia.Random(), pin.SE3.Random())
    rng = np.random.default_rng(3)
    model.armature = rng.uniform(0.0, 0.2, model.nv)
    model.damping = rng.uniform(0.0, 0.2, model.nv)
    return model


def bound(model: pin.Model, points: list[cs.ContactPoint]) -> cs.ContactSystem:
    return cs.ContactSystem(cs.Robot(model, contacts=points), terrain=cs.terrain.Slope(0.1), gravity=(0.3, -0.2, -9.0))


def test_every_joint_moves_as_pinocchio_says() -> None:
    system, rng = bound(joints(), []), np.random.default_rng(1)
    mechanism = system.world.mechanism
    arc = system.flow(
        system.start(0.0, system.pack(cs.State(pin.neutral(system.robot.model), np.zeros(mechanism.nv)))).mode
    )
    compiled = arc.arc.compiled
    assert isinstance(compiled, native.NativeArc)
    none = np.zeros((0, 2))
    for _ in range(20):
        q = mechanism.space.integrate(pin.neutral(system.robot.model), rng.normal(size=mechanism.nv))
        v = rng.normal(size=mechanism.nv)
        terms = mechanism.terms(0.0, q, v, ())
        expected = np.linalg.solve(terms.mass, terms.force)
        found = compiled.motion(0.0, np.concatenate([q, v]), none, 0.0).acceleration
        assert np.abs(found - expected).max() < FIELD * np.abs(expected).max()


TILTED = """<robot name="fan"><link name="base"><inertial><mass value="1"/>{0}</inertial></link><link name="blade">
<inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>{0}</inertial></link><joint name="axle" type="continuous">
<parent link="base"/><child link="blade"/><axis xyz="1 2 2"/></joint></robot>"""


def test_a_wheel_turns_without_end_about_a_tilted_axis() -> None:
    """Of a URDF, whose joint pinocchio does not ask for its axis: a pendulum about it, in closed form."""
    fan = cs.Robot.from_urdf(TILTED.format('<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'), "fixed")
    system = cs.ContactSystem(fan).on_engine("native")
    start = system.start(0.0, system.pack(cs.State(fan.nominal, [0.0])))
    compiled = system.flow(start.mode).arc.compiled
    assert compiled is not None
    axis, centre, mass = np.array([1.0, 2.0, 2.0]) / 3.0, np.array([0.1, 0.2, 0.3]), 2.0
    moment = axis @ np.cross(centre, [0.0, 0.0, -9.81 * mass])
    inertia = 1.0 + mass * (centre @ centre - (axis @ centre) ** 2)
    found = compiled.motion(0.0, np.array([1.0, 0.0, 0.0]), np.zeros((0, 2)), 0.0)
    assert found.acceleration == pytest.approx([moment / inertia], rel=1e-12)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 0.3, 0.6])
def test_charts_are_those_of_the_manifold(size: float) -> None:
    system, rng = bound(joints(), []), np.random.default_rng(2)
    space, model = system.world.mechanism.space, system.robot.model
    robot = native.native_robot(system.world.mechanism.plain_robot)
    for _ in range(10):
        q, along = space.integrate(pin.neutral(model), rng.normal(size=model.nv)), size * rng.normal(size=model.nv)
        end, rate = np.empty(model.nq), rng.normal(size=model.nv)
        expected = space.chart_rate(along, rate.copy())
        extension.integrate(robot, q, along, end)
        extension.chart_rate(robot, along, rate)
        assert np.abs(end - space.integrate(q, along)).max() < CHART * 10.0
        assert np.abs(rate - expected).max() < 1000.0 * CHART * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", ["hexapod", "biped", "solo12"])
def test_the_field_of_every_mode_is_that_of_python(name: str) -> None:
    robot = cs.load_robot(name)
    systems = {kind: cs.ContactSystem(robot).on_engine(kind) for kind in ("python", "native")}
    rng, mode_of = np.random.default_rng(7), cs.Mode
    from contactsim.contact.modes import ContactState, Phase, SystemMode
    from contactsim.contact_dynamics.rigid_arc import References, accelerations, prepare

    world = systems["native"].world
    tangents = world.tangent_rows
    for _ in range(30):
        states, slip = [], {}
        for i in range(len(world.mechanism.all_names)):
            kind = rng.integers(4)
            direction = rng.normal(size=2)
            direction /= np.linalg.norm(direction)
            if i >= len(robot.contacts):
                upper = (i - len(robot.contacts)) % 2  # a joint is at one limit at most
                states.append(ContactState(mode_of.CLOSED) if upper and rng.random() < 0.1 else ContactState())
            elif kind == 0:
                states.append(ContactState())
            elif kind == 1:
                states.append(ContactState(mode_of.STICK))
            elif kind == 2 and tangents[i] == 2:
                states.append(ContactState(mode_of.SLIP, Phase.FREE))
                slip[i] = tuple(direction)
            else:
                held = tuple(direction) if tangents[i] == 2 else (1.0,)
                states.append(ContactState(mode_of.SLIP, Phase.DIRECTED, held))
        mode = SystemMode(tuple(states))
        q = world.mechanism.space.integrate(robot.nominal, 0.3 * rng.normal(size=robot.nv))
        x = np.concatenate([q, rng.normal(size=robot.nv)])
        arcs = {kind: prepare(systems[kind].world, mode) for kind in systems}
        assert arcs["native"].compiled is not None
        references = References(slip)
        found, expected = (accelerations(arcs[kind], 0.0, x, references) for kind in ("native", "python"))
        if sum(state.closed for state in states) > 4:  # redundant ones are another matter
            continue
        scale = np.abs(expected.acceleration).max()
        assert np.abs(found.acceleration - expected.acceleration).max() < FIELD * 100.0 * scale
        assert np.abs(found.forces - expected.forces).max(initial=0.0) < FIELD * 1000.0 * np.abs(expected.forces).max(
            initial=1.0
        )
        terms = arcs["python"].terms(0.0, q, x[robot.nq :])
        change = terms.rows @ found.acceleration + terms.bias
        assert found.change is not None
        assert np.abs(found.change - change).max(initial=0.0) < FIELD * 1000.0 * scale
        if arcs["native"].slips:
            assert found.regularity() == pytest.approx(expected.regularity(), rel=1e-8, abs=1e-10)


def landing(kind: str, controller: object = None) -> cs.Trajectory:
    robot = cs.load_robot("solo12")
    drive = cs.PD(robot, kp=3.0, kd=0.05) if controller is None else controller(robot)
    system = cs.ContactSystem(robot, controller=drive)
    q = robot.nominal.copy()
    q[2] += 0.05
    tight = cs.Tolerances(1e-10, 1e-12)
    return cs.simulate(system, cs.State(q, np.zeros(robot.nv)), (0.0, 0.2), tolerances=tight, engine=kind)


def crouching(robot: cs.Robot) -> Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A reference whose joints move, with torques besides, some of them where no motor is."""
    joints, nv = np.arange(robot.nq) > 6, robot.nv
    return lambda t: (
        robot.nominal + 0.02 * np.sin(9.0 * t) * joints,
        0.18 * np.cos(9.0 * t) * (np.arange(nv) > 5),
        0.1 * t * np.ones(nv),
    )


@pytest.mark.parametrize(
    "controller",
    [
        None,
        lambda robot: cs.PD(robot, kp=3.0, kd=0.05, period=0.01),
        lambda robot: cs.PD(
            robot, lambda t: robot.nominal + 0.02 * np.sin(9.0 * t) * (np.arange(robot.nq) > 6), 3.0, 0.05
        ),
        lambda robot: lambda t, q, v: -0.05 * v * (np.arange(robot.nv) > 5),
        lambda robot: cs.PD(robot, cs.PiecewiseReference.fit(crouching(robot), [0.0, 0.07], repeat=0.0), 3.0, 0.05),
    ],
    ids=["PD", "sampled", "moving reference", "function", "polynomials"],
)
def test_runs_agree(controller: object) -> None:
    one, two = landing("native", controller), landing("python", controller)
    assert [event.contacts for event in one.events] == [event.contacts for event in two.events]
    assert np.abs([a.time - b.time for a, b in zip(one.events, two.events, strict=True)]).max() < TIME
    assert np.abs(one.final.q - two.final.q).max() < RUN
    assert np.abs(one.final.v - two.final.v).max() < 100.0 * RUN
    one.check()


def test_copies_pickles_and_threads_give_the_same_bits() -> None:
    run = landing("native")
    state, times = cs.State(run.q[0], run.v[0]), (0.0, 0.1)
    systems = [run.system, copy.deepcopy(run.system), pickle.loads(pickle.dumps(run.system))]
    finals: list[np.ndarray] = []

    def job(system: cs.ContactSystem) -> None:
        finals.append(cs.simulate(system, state, times).final.q)

    threads = [threading.Thread(target=job, args=(system,)) for system in systems * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({final.tobytes() for final in finals}) == 1


def test_a_fault_of_the_users_function_is_told_as_in_python() -> None:
    def broken(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > 0.01:
            raise ZeroDivisionError("of the user")
        return np.zeros(len(v))

    runs = [landing(kind, lambda robot: broken) for kind in ("native", "python")]
    assert runs[0].status == runs[1].status
    assert "ZeroDivisionError: of the user" in runs[0].message
    assert runs[0].message.split(" at t = ")[0] == runs[1].message.split(" at t = ")[0]


def test_engines_are_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(None) == "native"
    monkeypatch.setenv("CONTACTSIM_ENGINE", "python")
    assert chosen(None) == "python"
    with pytest.raises(InputError, match="there is no engine 'rocket'; installed are python, native"):
        chosen("rocket")
    assert isinstance(engine("native"), Engine)
    assert engine("python") is None
    with pytest.raises(InputError, match="runs on the engine 'python' alone"):
        cs.simulate(cs.load_model("slip"), cs.load_model("slip").initial_state(), (0.0, 0.1), engine="native")


def test_what_it_does_not_know_runs_in_python() -> None:
    dune = cs.terrain.Function(lambda t, x, y: 0.1 * np.sin(x), curvature=0.1)
    system = cs.ContactSystem(cs.load_robot("solo12"), terrain=dune)
    flow = system.flow(
        system.start(0.0, system.pack(cs.State(system.robot.nominal + np.eye(19)[2], np.zeros(18)))).mode
    )
    assert flow.arc.compiled is None
    assert flow.stages(np.zeros(37)) is None
    assert issubclass(native.NativeArc, CompiledArc)


def test_modes_that_differ_by_the_direction_of_a_slip_share_what_is_compiled() -> None:
    from contactsim.contact.modes import ContactState, Phase, SystemMode
    from contactsim.contact_dynamics.rigid_arc import prepare
    from contactsim.contact_dynamics.rigid_flow import RigidFlow

    robot, rng = cs.load_robot("solo12"), np.random.default_rng(5)
    worlds = {kind: cs.ContactSystem(robot).on_engine(kind).world for kind in ("python", "native")}
    x = np.concatenate([robot.nominal, 0.1 * rng.normal(size=robot.nv)])
    compiled, watches = set(), set()
    for angle, until in ((0.3, None), (2.0, None), (2.0, 1.0)):
        slips = ContactState(cs.Mode.SLIP, Phase.DIRECTED, (np.cos(angle), np.sin(angle)), until=until)
        states = [slips] + [ContactState()] * (len(worlds["native"].mechanism.all_names) - 1)
        arcs = {kind: prepare(world, SystemMode(tuple(states))) for kind, world in worlds.items()}
        flows = {kind: RigidFlow(arc).rebased(0.0, x) for kind, arc in arcs.items()}
        expected = flows["python"].guards(0.0, x)
        assert np.abs(flows["native"].guards(0.0, x) - expected).max() < 1e-12 * np.abs(expected).max()
        assert flows["native"].next_time(0.0) == (until or np.inf)
        compiled.add(arcs["native"].compiled)
        watches.add(flows["native"]._watch)
    assert len(compiled) == len(watches) == 1 and None not in compiled | watches


def test_a_system_on_the_engine_that_it_has_stays_as_it_is() -> None:
    system = cs.ContactSystem(cs.load_robot("solo12"))
    assert system.on_engine("native") is system
    other = system.on_engine("python")
    assert other is not system and other.on_engine("python") is other


def test_contacts_that_begin_to_slip_take_the_direction_of_their_acceleration() -> None:
    from contactsim.contact.modes import ContactState, Phase, SystemMode
    from contactsim.contact_dynamics.rigid_arc import References, prepare
    from contactsim.contact_dynamics.rigid_flow import RigidFlow

    robot, rng, compared = cs.load_robot("solo12"), np.random.default_rng(3), 0
    worlds = {kind: cs.ContactSystem(robot).on_engine(kind).world for kind in ("python", "native")}
    count = len(worlds["native"].mechanism.all_names)
    for _ in range(12):
        states, slip, incipient = [ContactState()] * count, {}, {}
        for i in range(len(robot.contacts)):
            direction = rng.normal(size=2)
            direction /= np.linalg.norm(direction)
            kind = rng.integers(3)
            if kind == 1:
                states[i], slip[i] = ContactState(cs.Mode.SLIP, Phase.FREE), tuple(direction)
            elif kind == 2:
                states[i] = ContactState(cs.Mode.SLIP, Phase.INCIPIENT, tuple(direction))
                incipient[i] = direction
        q = worlds["native"].mechanism.space.integrate(robot.nominal, 0.2 * rng.normal(size=robot.nv))
        x = np.concatenate([q, 0.3 * rng.normal(size=robot.nv)])
        arcs = {kind: prepare(world, SystemMode(tuple(states))) for kind, world in worlds.items()}
        known = References(slip, incipient)
        found = arcs["native"].compiled.motion(0.0, x, arcs["native"].directions(known), known.straight)
        if not incipient or found is None:  # where Newton's method alone does not find the directions
            continue
        compared += 1
        flows = {kind: RigidFlow(arc).rebased(0.0, x) for kind, arc in arcs.items()}
        one, two = (flows[kind].motion(0.0, x) for kind in ("native", "python"))
        assert np.abs(one.acceleration - two.acceleration).max() < FIELD * 100.0 * np.abs(two.acceleration).max()
        assert all(np.abs(one.found[i] - two.found[i]).max() < FIELD * 100.0 for i in incipient)
        values = flows["python"].guards(0.0, x)
        assert np.abs(flows["native"].guards(0.0, x) - values).max() < 1e-9 * np.abs(values).max()
    assert compared >= 6


def test_steps_are_those_of_python() -> None:
    """As many steps and as exact ones: error control, charts, projections and watch make the same choices.

    Lengths differ a little where the estimate of an error is rounding.
    """
    system, start = thrown()
    runs = [cs.simulate(system, start, (0.0, 0.3), integrator="DOP853", engine=kind) for kind in ("native", "python")]
    one, two = ([step for arc in run.arcs for step in arc.segments] for run in runs)
    assert len(two) > 20
    assert abs(len(one) - len(two)) <= 0.01 * len(two)
    assert runs[0].evaluations == pytest.approx(runs[1].evaluations, rel=0.05)
    times = np.linspace(0.0, 0.3, 40)
    assert max(np.abs(runs[0].arc_at(t)(t) - runs[1].arc_at(t)(t)).max() for t in times) < 1e-8
    for step in one[1:-1]:  # dense outputs join, and the guards that were kept are those of the flow
        assert np.abs(step(step.t1) - step.space.integrate(step.base, step.chart(step.t1))).max() < 1e-13
    clear = runs[0].arcs[0]
    flow = system.flow(clear.mode).rebased(0.0, clear.segments[0].start)
    for step in clear.segments[:-1]:
        assert np.abs(flow.guards(step.t1, step.end) - step.guards).max() < 1e-13


def orders(run: cs.Trajectory) -> Counter[int]:
    """Of the methods that made the steps: those of lower orders leave the last parts of a dense output empty."""
    charts = [step.chart for arc in run.arcs for step in arc.segments if isinstance(step.chart, Interpolant853)]
    return Counter(8 if chart.F[4:].any() else 5 if chart.F[3].any() else 3 for chart in charts)


def test_short_steps_are_of_the_orders_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A landing with many events: as many steps of orders three, five and eight, and as many evaluations.

    But for some of the 390 of order eight: whether a step is too long for a decay may hang on rounding.
    """
    found = []
    for kind in ("native", "python"):
        monkeypatch.setenv("CONTACTSIM_ENGINE", kind)
        found.append(landings.landing("hexapod", 0).run(duration=0.1))
    one, two = found
    assert len(one.all_events) == len(two.all_events) > 10
    counts = orders(two)
    assert orders(one).keys() == counts.keys() and counts[5] > 5
    assert all(abs(orders(one)[order] - count) <= 0.01 * count for order, count in counts.items())
    assert one.evaluations == pytest.approx(two.evaluations, rel=0.02)


def thrown() -> tuple[cs.ContactSystem, cs.State]:
    robot = cs.load_robot("solo12")
    q = robot.nominal.copy()
    q[2] += 0.2 - robot.contact_positions(q)[:, 2].min()
    return cs.ContactSystem(robot, controller=cs.PD(robot, kp=10.0, kd=0.1)), cs.State(q, 0.1 * np.ones(robot.nv))


def test_runs_that_pause_and_go_on_give_the_same_bits() -> None:
    system, start = thrown()
    whole = cs.simulate(system, start, (0.0, 0.3))
    simulation = cs.Simulation(system, start)
    times: list[float] = []
    simulation.advance_to(0.12, times.append)
    assert len(times) > 5  # a progress is told of every step
    resumed = cs.Simulation.resume(simulation.trajectory)
    resumed.advance_to(0.3)
    assert resumed.trajectory.final_x.tobytes() == whole.final_x.tobytes()


def test_what_a_users_function_raises_between_steps_ends_the_run_where_it_was() -> None:
    robot = cs.load_robot("solo12")

    def pressed(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t > 0.05:
            raise KeyboardInterrupt
        return -0.05 * v * (np.arange(robot.nv) > 5)

    system = cs.ContactSystem(robot, controller=pressed)
    q = robot.nominal.copy()
    q[2] += 0.1
    simulation = cs.Simulation(system, cs.State(q, np.zeros(robot.nv)), engine="native")
    with pytest.raises(KeyboardInterrupt):
        simulation.advance(0.2)
    assert 0.02 < simulation.t <= 0.05
    assert len(simulation.trajectory.arcs[-1].segments) > 1


def test_events_are_located_as_in_python() -> None:
    """Without Python's watch, but where a step shows a guard too little: the same events at the same times."""
    from contactsim.hybrid.event_location import Watch

    system, start = thrown()
    tight, looks = cs.Tolerances(1e-10, 1e-12), []
    original = Watch.pass_step
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Watch, "pass_step", lambda self, *given: looks.append(0) or original(self, *given))
        one = cs.simulate(system, start, (0.0, 0.3), tolerances=tight, integrator="DOP853", engine="native")
    two = cs.simulate(system, start, (0.0, 0.3), tolerances=tight, integrator="DOP853", engine="python")
    events = [[arc.event for arc in run.arcs if arc.event is not None] for run in (one, two)]
    assert [event.fired for event in events[0]] == [event.fired for event in events[1]]
    assert len(looks) <= len(events[0]) // 4
    assert max(abs(a.time - b.time) for a, b in zip(*events, strict=True)) < TIME
    for arc in one.arcs[:-1]:  # the last step ends where the event is, on its own dense output
        last = arc.segments[-1]
        assert last.t1 == arc.event.time
        assert np.abs(last(last.t1) - last.space.integrate(last.base, last.chart(last.t1))).max() < 1e-13


@pytest.mark.parametrize("as_data", [True, False])
def test_margins_of_users_are_guards_of_compiled_arcs(as_data: bool) -> None:
    """The biped's feet land where a function of the user's says so: as data, or called back; as in Python."""
    scene, calls = cs.load_scene("biped"), []
    robot = scene.system.robot

    def counted(function: Callable[..., float]) -> Callable[..., float]:
        def margin(t: float, q: np.ndarray, v: np.ndarray) -> float:
            calls.append(t)
            return function(t, q, v)

        if as_data:
            margin.sines = function.sines  # type: ignore[attr-defined]
        return margin

    feet = [replace(foot, enabled=counted(foot.enabled)) for foot in robot.contacts]
    system = cs.ContactSystem(robot.with_contacts(feet), terrain=scene.system.terrain)
    tight, runs = cs.Tolerances(1e-10, 1e-12), []
    for kind in ("native", "python"):
        calls.clear()
        run = cs.simulate(system, scene.state, (0.0, 1.6), tolerances=tight, integrator="DOP853", engine=kind)
        runs.append(run)
        assert (len(calls) < 10 * len(run.arcs)) == (kind == "native" and as_data)
    flow = runs[0].arcs[-1].system.flow(runs[0].arcs[-1].mode).rebased(0.0, runs[0].final_x)
    assert flow.cruise is not None
    events = [[arc.event for arc in run.arcs if arc.event is not None] for run in runs]
    assert any(name[0] == "enable" for event in events[0] for name in event.fired)
    assert [event.fired for event in events[0]] == [event.fired for event in events[1]]
    assert max(abs(a.time - b.time) for a, b in zip(*events, strict=True)) < TIME
    assert np.abs(runs[0].final_x - runs[1].final_x).max() < 100.0 * RUN


@pytest.mark.parametrize("sines", [3.0, (1.0, ((1.0, 0.0),)), (1.0, ((1.0, 0.0, ((4, 1.0),)),))])
def test_margins_as_data_of_another_form_are_refused(sines: object) -> None:
    """A number, a sine without its angles, and a coordinate that the biped does not have."""
    scene = cs.load_scene("biped")

    def ahead(t: float, q: np.ndarray, v: np.ndarray) -> float:
        return 1.0

    ahead.sines = sines  # type: ignore[attr-defined]
    feet = [replace(foot, enabled=ahead) for foot in scene.system.robot.contacts]
    system = cs.ContactSystem(scene.system.robot.with_contacts(feet), terrain=scene.system.terrain)
    with pytest.raises(InputError, match=r"'enabled' of contact '\w+' has .*'sines' of another form"):
        cs.simulate(system, scene.state, (0.0, 0.1), engine="native")


def test_a_run_that_calls_back_is_collected() -> None:
    """A user's function that holds its own run: a circle through the extension, of which nothing is left."""

    def driven() -> weakref.ref:
        robot, found = cs.load_robot("solo12"), {}

        def damped(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return -0.05 * v * (np.arange(robot.nv) > 5) + 0.0 * len(found)

        q = robot.nominal.copy()
        q[2] += 0.1
        system = cs.ContactSystem(robot, controller=damped)
        found["run"] = cs.simulate(system, cs.State(q, np.zeros(robot.nv)), (0.0, 0.02), engine="native")
        return weakref.ref(damped)

    left = driven()
    gc.collect()
    assert left() is None


def test_a_run_needs_nothing_that_is_imported_late() -> None:
    """SciPy takes twice as long to import as pinocchio, pydantic as long as all of the run."""
    runs = """
import sys
import contactsim as cs
robot = cs.load_robot("biped")
q = robot.nominal.copy()
q[1] += 0.01
system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=10.0, kd=0.4))
run = cs.simulate(system, cs.State(q, 0.0 * q), (0.0, 0.05))
assert run.status.name == "FINISHED", run.status
print(*sys.modules)"""
    done = subprocess.run([sys.executable, "-c", runs], capture_output=True, text=True, check=True)
    assert not {"scipy", "pydantic", "importlib.metadata", "numpy.random"} & set(done.stdout.split())


def test_runs_leave_no_memory_behind() -> None:
    """Another thousand runs, by what the process takes of the machine: less than a kilobyte each."""
    runs = """
import contactsim as cs
robot = cs.load_robot("biped")
q = robot.nominal.copy()
q[1] += 1e-4
system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=10.0, kd=0.4)).on_engine("native")
def memory():
    for _ in range(1000):
        cs.simulate(system, cs.State(q, 0.0 * q), (0.0, 0.01))
    with open("/proc/self/statm") as told:
        return 4096 * int(told.read().split()[1])
before = memory()
print(memory() - before)"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not tell the memory of a process")
    done = subprocess.run([sys.executable, "-c", runs], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1e6
