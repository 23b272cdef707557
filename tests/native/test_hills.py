"""Robots on hills in C++ against Python; skipped where the compiled engine is not installed."""

from dataclasses import replace

import numpy as np
import pytest

import contactsim as cs
from contactsim.contact.modes import ContactState, Phase, SystemMode
from contactsim.contact_dynamics.rigid_arc import References, accelerations, prepare
from contactsim.contact_dynamics.rigid_flow import RigidFlow
from contactsim.contact_dynamics.rigid_sensitivity import sensitivity
from contactsim.hybrid.stepper import Stepper
from contactsim.multibody.terrain import Terrain

from .compared_events import compared

native = pytest.importorskip("contactsim_native._native")  # its sources alone are no package

TIGHT = cs.Tolerances(1e-10, 1e-12)
FIELD = 1e-12  # relative to the largest number of its kind: rounding of two ways to one number
RUN = 1e-9  # of two runs that differ in rounding
TIME = 1e-9  # of their events [s]
MATRIX = 1e-8  # of their derivatives, of which each meets its own tolerance
AT = 0.1  # s


def field() -> cs.terrain.HeightField:
    """Hills on an uneven grid, with a little noise, whose material runs."""
    rng = np.random.default_rng(3)
    x, y = np.linspace(-2.0, 2.0, 15), np.sinh(np.linspace(-1.4, 1.4, 17))
    heights = 0.03 * np.sin(2.0 * x)[:, None] * np.cos(1.5 * y) + 0.001 * rng.normal(size=(15, 17))
    return cs.terrain.HeightField(x, y, heights, velocity=(0.1, -0.2))


def grounds() -> dict[str, Terrain]:
    """Every kind of hills that are data."""
    belt = cs.terrain.Sinusoid(0.08, 3.0, 2.0, velocity=(0.2, 0.1))
    shaken = cs.terrain.Oscillation((0.01, 0.02, 0.03), 2.0, 0.3)
    return {"sinusoid": belt, "field": field(), "moving": cs.terrain.Moving(belt, shaken)}


def put_down(system: cs.ContactSystem, q: np.ndarray, height: float) -> np.ndarray:
    """The configuration whose lowest contact is at a height above the ground."""
    q = q.copy()
    for _ in range(4):
        q[2] += height - system.mechanism.gaps(AT, q)[: len(system.robot.contacts)].min()
    return q


def random_mode(rng: np.random.Generator, contacts: int, tangents: int) -> tuple[SystemMode, References]:
    """Contacts that are open, stick, slip, or slip in a held direction."""
    states, slip = [], {}
    for i in range(contacts):
        kind, direction = rng.integers(4), rng.normal(size=tangents)
        direction /= np.linalg.norm(direction)
        if kind == 0:
            states.append(ContactState())
        elif kind == 1:
            states.append(ContactState(cs.Mode.STICK))
        elif kind == 2 and tangents == 2:
            states.append(ContactState(cs.Mode.SLIP, Phase.FREE))
            slip[i] = tuple(direction)
        else:
            states.append(ContactState(cs.Mode.SLIP, Phase.DIRECTED, tuple(direction)))
    return SystemMode(tuple(states)), References(slip)


def off(found: np.ndarray, expected: np.ndarray, least: float = 1.0) -> float:
    """The largest difference, relative to the largest number."""
    return float(np.abs(found - expected).max(initial=0.0) / np.abs(expected).max(initial=least))


@pytest.mark.parametrize("kind", ["sinusoid", "field", "moving"])
def test_motion_guards_and_derivatives_of_every_mode_are_those_of_python(kind: str) -> None:
    """Spheres of solo12 that touch, are off the ground, or in it, at any posture and speed."""
    robot, rng, compared = cs.load_robot("solo12"), np.random.default_rng(7), 0
    systems = {name: cs.ContactSystem(robot, terrain=grounds()[kind]).on_engine(name) for name in ("native", "python")}
    system = systems["python"]
    for _ in range(20):
        q = system.mechanism.space.integrate(robot.nominal, 0.3 * rng.normal(size=robot.nv))
        x = np.concatenate([put_down(system, q, 0.02), rng.normal(size=robot.nv)])
        mode, references = random_mode(rng, len(robot.contacts), 2)
        arcs = {name: prepare(own.world, mode) for name, own in systems.items()}
        compiled = arcs["native"].compiled
        assert compiled is not None and arcs["python"].compiled is None
        one, two = (accelerations(arcs[name], AT, x, references) for name in ("native", "python"))
        assert off(one.acceleration, two.acceleration) < FIELD
        assert off(one.forces, two.forces) < FIELD
        assert off(one.rates, two.rates) < FIELD
        flows = {name: RigidFlow(arc).rebased(AT, x) for name, arc in arcs.items()}
        assert flows["native"].cruise is not None
        assert off(*(flows[name].guards(AT, x) for name in ("native", "python"))) < FIELD
        found = compiled.driven_derivatives(AT, x, arcs["native"].directions(references), references.straight)
        expected = sensitivity(arcs["python"], AT, x, references, two)
        assert found is not None and expected is not None
        for own, other in zip(found, (expected.acceleration_x, expected.forces_x, expected.rates_x), strict=True):
            assert off(own, other) < FIELD
            compared += own.size
    assert compared > 10_000


@pytest.mark.parametrize("height", [-0.02, 0.0, 0.03, 0.2, 1.0, 5.0])
def test_gaps_and_looks_at_them_are_those_of_python(height: float) -> None:
    """Distances near the ground, their lower bounds without a rate high above it, and what is between."""
    robot, rng = cs.load_robot("solo12"), np.random.default_rng(1)
    for terrain in (cs.terrain.Sinusoid(0.08, 3.0, 2.0), cs.terrain.Sinusoid(0.0, 1.0, 1.0), field()):
        systems = {name: cs.ContactSystem(robot, terrain=terrain).on_engine(name) for name in ("native", "python")}
        system = systems["python"]
        x = np.concatenate([put_down(system, robot.nominal, height), rng.normal(size=robot.nv)])
        mode = SystemMode((ContactState(),) * len(robot.contacts))
        flows = [own.flow(mode).rebased(AT, x) for own in systems.values()]
        every = np.arange(len(robot.contacts))
        one, two = (flow.guard_motions(AT, x, every) for flow in flows)
        assert off(one.values, two.values) < FIELD
        assert off(one.rates, two.rates) < FIELD
        assert one.pieces == two.pieces
        assert off(*(flow.some_guards(AT, x, every) for flow in flows)) < FIELD


def test_a_robot_in_a_plane_takes_its_tangent_in_it() -> None:
    robot, rng = cs.load_robot("biped"), np.random.default_rng(4)
    terrain = cs.terrain.Sinusoid(0.05, 2.0, 0.0)
    systems = {name: cs.ContactSystem(robot, terrain=terrain).on_engine(name) for name in ("native", "python")}
    world = systems["native"].world
    assert set(world.mechanism.dims[: len(robot.contacts)]) == {2}
    for _ in range(10):
        q = robot.nominal + 0.02 * rng.normal(size=robot.nq)
        x = np.concatenate([q, rng.normal(size=robot.nv)])
        mode, references = random_mode(rng, len(robot.contacts), 1)
        rest = (ContactState(),) * (len(world.mechanism.all_names) - len(robot.contacts))
        arcs = {name: prepare(own.world, SystemMode(mode.contacts + rest)) for name, own in systems.items()}
        assert arcs["native"].compiled is not None
        one, two = (accelerations(arcs[name], 0.0, x, references) for name in ("native", "python"))
        assert off(one.acceleration, two.acceleration) < FIELD
        assert off(one.forces, two.forces) < FIELD
        found, expected = (sensitivity(arcs[name], 0.0, x, references, own) for name, own in zip(arcs, (one, two)))  # noqa: B905
        assert found is not None and expected is not None
        assert off(found.acceleration_x, expected.acceleration_x) < FIELD


@pytest.mark.parametrize("kind", ["sinusoid", "field", "moving"])
def test_runs_and_derivatives_are_those_of_python(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """solo12 falls 1 cm onto hills: feet land, slip, turn and stick."""
    ground = {
        "sinusoid": cs.terrain.Sinusoid(0.05, 3.0, 2.0, velocity=(0.1, 0.05)),
        "field": field(),
        "moving": cs.terrain.Moving(cs.terrain.Sinusoid(0.05, 3.0, 2.0), cs.terrain.Oscillation((2e-3, 0, 3e-3), 5.0)),
    }[kind]
    robot = cs.load_robot("solo12")
    system = cs.ContactSystem(robot, terrain=ground, controller=cs.PD(robot, kp=20.0, kd=0.5))
    q = robot.nominal.copy()
    for _ in range(4):
        q[2] += 0.01 - system.mechanism.gaps(0.0, q)[: len(robot.contacts)].min()
    start = cs.State(q, 0.1 * np.ones(robot.nv))
    steps: list[float] = []
    original = Stepper.step
    monkeypatch.setattr(Stepper, "step", lambda self, bound: steps.append(self.t) or original(self, bound))
    runs, counts = [], compared(monkeypatch)
    for name in ("native", "python"):
        steps.clear()
        runs.append(cs.simulate(system, start, (0.0, 0.08), tolerances=TIGHT, engine=name))
        assert (len(steps) < 5) == (name == "native")
    one, two = runs
    assert len(two.all_events) >= 8
    assert [event.fired for event in one.all_events] == [event.fired for event in two.all_events]
    assert max(abs(a.time - b.time) for a, b in zip(one.all_events, two.all_events, strict=True)) < TIME
    for t in np.linspace(0.0, 0.08, 13):
        assert np.abs(one.arc_at(t)(t) - two.arc_at(t)(t)).max() < RUN
    one.check()
    same = replace(one, arcs=tuple(replace(arc, system=arc.system.on_engine("python")) for arc in one.arcs))
    found, expected = (cs.linearize(run, tolerances=TIGHT).matrix() for run in (one, same))
    assert off(found, expected) < MATRIX
    assert counts.answered > 0.8 * counts.asked > 4
    assert counts.known == counts.differentiated // 2 > 4  # the other half of them is Python's alone


@pytest.mark.parametrize("moving", [False, True])
def test_events_on_hills_are_those_of_python(moving: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event of a landing of the hexapod."""
    scene = cs.load_scene("hexapod", ["terrain.kind=sinusoid", "terrain.a1=0.02", "terrain.a2=6", "terrain.a3=4"])
    system, ground = scene.system, scene.system.terrain
    if moving:
        shaken = cs.terrain.Moving(ground, cs.terrain.Oscillation((1e-3, 2e-3, 2e-3), 5.0, 0.3))
        system = cs.ContactSystem(
            system.robot, terrain=shaken, controller=system.world.controller, tolerances=scene.options["tolerances"]
        )
    q = scene.state.q.copy()
    for _ in range(5):
        q[2] += 0.005 - system.mechanism.gaps(0.0, q)[: len(system.robot.contacts)].min()
    counts = compared(monkeypatch)
    run = cs.simulate(system, cs.State(q, scene.state.v), (0.0, 0.1), engine="native", **scene.options)
    assert counts.asked > 20 and counts.answered > 0.8 * counts.asked
    run.check()


def test_who_leaves_a_height_field_is_told_the_same() -> None:
    """A ball that rolls over the edge of the field."""
    x = np.linspace(-0.5, 0.5, 5)
    field = cs.terrain.HeightField(x, x, 0.01 * np.outer(x, x))
    ball = cs.Robot.sphere(1.0, 0.05, friction=0.5)
    start = cs.State([0.4, 0.0, 0.051, 0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 20.0, 0.0])
    runs = [
        cs.simulate(cs.ContactSystem(ball, terrain=field), start, (0.0, 0.5), engine=own)
        for own in ("native", "python")
    ]
    assert runs[0].status == runs[1].status != cs.Status.FINISHED
    told = [run.message.split("which covers")[1] for run in runs]
    assert told[0] == told[1]
    assert np.abs(runs[0].final.q[0] - 0.5) < 1e-3


def test_hills_of_users_are_left_to_python() -> None:
    """A function, and a class that says more than the one that it derives from."""

    class Higher(cs.terrain.Sinusoid):
        def jet(self, t: float, places: np.ndarray, order: int) -> list[np.ndarray]:
            return super().jet(t, places, order)

    robot = cs.load_robot("solo12")
    for terrain in (Higher(0.02, 3.0, 2.0), cs.terrain.Function(lambda t, x, y: 0.01 * np.sin(x), curvature=0.1)):
        system = cs.ContactSystem(robot, terrain=terrain).on_engine("native")
        assert system.mechanism.plain_robot is None
        arc = prepare(system.world, SystemMode((ContactState(),) * len(robot.contacts)))
        assert arc.compiled is None
