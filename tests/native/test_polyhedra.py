"""Corners and edges of boxes, hulls and capsules in C++ against those in Python, and against closed forms."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.contact.modes import ContactState, SystemMode
from contactsim.contact_dynamics.rigid_arc import prepare
from contactsim.contact_dynamics.rigid_flow import RigidFlow
from contactsim.contact_dynamics.rigid_sensitivity import CompiledTerms
from contactsim.contact_dynamics.world import World
from contactsim.hybrid.stepper import Stepper
from contactsim.multibody.kinematics.bound_world import BoundWorld
from contactsim.multibody.plain_robot import PlainContact
from contactsim.multibody.zero import OFF

from .compared_events import compared
from .test_pairs import CLOSED_FORM, FIELD, MATRIX, RUN, TIGHT, TIME, compare_derivatives, flows, off, random_state

pytest.importorskip("contactsim_native")

CLOSE = 1e-4  # m, of contacts that are closed in a mode
FAR = 0.02  # m, beyond which a gap may be any lower bound
STEPS = 28  # of halving 0.8 m, to 3 nm
Array = np.ndarray
LEGS = """<robot name="legs"><link name="trunk"><inertial><mass value="2"/>{inertia}</inertial></link>{legs}</robot>"""
LEG = """<link name="leg{k}"><collision><origin xyz="0 0 -0.15" rpy="0.3 {k} 0"/><geometry><box size="0.05 0.06 0.2"/>
</geometry></collision><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>{inertia}</inertial></link><joint
name="hip{k}" type="continuous"><parent link="trunk"/><child link="leg{k}"/><origin xyz="{x} 0 0"/><axis xyz="0.1 1 0"/>
</joint>"""
INERTIA = '<inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
CORNERS = (0.08 * np.random.default_rng(7).normal(size=(9, 3))).tolist()


def box(*sides: float, root: str = "free_flyer") -> cs.Robot:
    """A box of half a kilogram."""
    return cs.Robot.box(0.5, sides, friction=0.4, root=root)


def hull() -> cs.Robot:
    """A hull of nine points."""
    return cs.Robot.hull(0.5, CORNERS, friction=0.4)


def capsule() -> cs.Robot:
    """A capsule of half a kilogram."""
    return cs.Robot.capsule(0.5, 0.04, 0.12, friction=0.4)


def beside_a_wall(other: cs.Robot) -> cs.Robot:
    """A body, and a box of the world that stands askew."""
    turned = pin.SE3(pin.rpy.rpyToMatrix(0.2, -0.1, 0.4), np.array([0.1, 0.2, 2.0]))
    return cs.Robot.merge([box(0.3, 0.2, 0.1, root="fixed"), other], ["a", "b"], placements=[turned, None])


def legged() -> cs.Robot:
    """A trunk with two legs that are boxes, and a body beside it."""
    legs = "".join(LEG.format(k=k, x=0.2 * k, inertia=INERTIA) for k in (0, 1))
    robot = cs.Robot.from_urdf(LEGS.format(inertia=INERTIA, legs=legs), "free_flyer", contacts=[])
    return cs.Robot.merge([robot, hull()], ["a", "b"])


WORLDS = {
    "box on box": lambda: cs.Robot.merge([box(0.3, 0.2, 0.1), box(0.1, 0.1, 0.1)], ["a", "b"]),
    "hull on box": lambda: cs.Robot.merge([box(0.3, 0.2, 0.1), hull()], ["a", "b"]),
    "hull on hull": lambda: cs.Robot.merge([hull(), hull()], ["a", "b"]),
    "box on a wall": lambda: beside_a_wall(box(0.1, 0.1, 0.1)),
    "hull on a wall": lambda: beside_a_wall(hull()),
    "hull on legs": legged,
    "ball on hull": lambda: cs.Robot.merge([hull(), cs.Robot.sphere(0.5, 0.05, friction=0.4)], ["a", "b"]),
    "capsule on capsule": lambda: cs.Robot.merge([capsule(), capsule()], ["a", "b"]),
    "capsule on box": lambda: cs.Robot.merge([box(0.3, 0.2, 0.1), capsule()], ["a", "b"]),
    "capsule on hull": lambda: cs.Robot.merge([hull(), capsule()], ["a", "b"]),
    "capsule on a wall": lambda: beside_a_wall(capsule()),
    "hull on capsule": lambda: cs.Robot.merge([capsule(), hull()], ["a", "b"]),
    "ball on capsule": lambda: cs.Robot.merge([capsule(), cs.Robot.sphere(0.5, 0.05, friction=0.4)], ["a", "b"]),
}


def pairs_of(mechanism: object) -> np.ndarray:
    """The numbers of the contacts between bodies."""
    assert isinstance(mechanism, BoundWorld)
    return np.arange(mechanism._first, mechanism._behind)


def touching(rng: np.random.Generator, world: World, start: Array) -> Array:
    """A configuration in which the last body touches the others, turned and placed at random far above the ground."""
    mechanism, pairs = world.mechanism, pairs_of(world.mechanism)
    step = 0.5 * rng.normal(size=world.nv)
    q = mechanism.space.integrate(start, step)
    place = slice(len(q) - 7, len(q) - 4)
    way = rng.normal(size=3)
    q[:3] = q[:3] * (len(q) == 7) + (0.0, 0.0, 2.0)
    middle = np.array([0.1, 0.2, 2.0]) if len(q) == 7 else q[:3].copy()
    near, far = 0.0, 0.8
    alone = len(pairs) == 1 and not len(mechanism.skippable)  # whose gap is the distance wherever they are
    for _ in range(STEPS):
        half = 0.5 * (near + far)
        q[place] = middle + half * way / np.linalg.norm(way)
        apart = mechanism.gaps(0.0, q)[pairs[0]] > 0.0 if alone else not mechanism.overlaps(0.0, q)
        near, far = (near, half) if apart else (half, far)
    q[place] = middle + far * way / np.linalg.norm(way)
    return q if mechanism.gaps(0.0, q)[pairs].min() < CLOSE else np.zeros(0)


def closed_in(rng: np.random.Generator, world: World, q: Array) -> SystemMode:
    """The mode in which the first one or two contacts between bodies that are close stick or slip.

    None of those in whose place others touch, whose rows would be the same as those of these.
    """
    states = [ContactState() for _ in world.mechanism.dims]
    pairs, gaps = pairs_of(world.mechanism), world.mechanism.gaps(0.0, q)
    acting = [i for i in pairs.tolist() if gaps[i] < OFF or i not in world.mechanism.passing]
    close = [i for i in acting if gaps[i] < CLOSE]
    for i in close[: 1 + int(rng.integers(2))]:
        states[i] = random_state(rng, world.widths[i], world.mechanism.region(q, i))
    return SystemMode(tuple(states))


def compare_guards(one: RigidFlow, other: RigidFlow, x: Array) -> None:
    """Guards of what is near, and looks at all gaps: their pieces and rates, and what is apart or hidden."""
    assert one._watch is not None and one.guard_names == other.guard_names
    found, expected = one.guards(0.0, x), other.guards(0.0, x)
    near = expected < FAR
    assert off(found[near], expected[near]) < FIELD
    assert (found[~near] > 0.5 * FAR).all()
    gaps = one.table.gaps
    mine, known = (flow.guard_motions(0.0, x, gaps) for flow in (one, other))
    smooth = np.array([piece is not None for piece in known.pieces])
    assert off(mine.values, known.values) < FIELD
    assert [piece is not None for piece in mine.pieces] == smooth.tolist()
    assert mine.apart.tolist() == known.apart.tolist()
    assert off(mine.rates[smooth], known.rates[smooth]) < FIELD


def compare_touching(robot: cs.Robot, tries: int) -> list[PlainContact]:
    """Motion, guards and derivatives in random modes of bodies that touch; the contacts that were closed in them."""
    system, rng, closed = cs.ContactSystem(robot), np.random.default_rng(3), list[PlainContact]()
    world = system.on_engine("python").world
    known = world.mechanism.plain_robot
    assert known is not None
    contacts = [contact for contact in known.contacts if contact is not None]
    assert len(contacts) == len(known.contacts)
    for _ in range(tries):
        q = touching(rng, world, np.array(system.robot.nominal))
        if not len(q):
            continue
        mode, x = closed_in(rng, world, q), np.concatenate([q, rng.normal(size=world.nv)])
        found = flows(system, mode, x)
        if found is None:
            continue
        one, other = found
        compiled, python = (flow.motion(0.0, x) for flow in found)
        assert compiled.others is not None  # that is what the engine says, and Python does not
        assert off(compiled.acceleration, python.acceleration) < FIELD
        assert off(compiled.forces, python.forces) < FIELD
        assert off(one.arc.compiled.slips(0.0, x), python.rates) < FIELD  # type: ignore[union-attr]
        compare_guards(one, other, x)
        compare_derivatives(one, other, x)
        closed += [contacts[i] for i in mode.closed]
    return closed


@pytest.mark.parametrize("name", WORLDS)
def test_motion_and_guards_of_touching_bodies_are_those_of_python(name: str) -> None:
    """Wherever they touch: at corners, edges and faces of both."""
    kinds = [contact.edges is not None for contact in compare_touching(WORLDS[name](), 60)]
    assert kinds.count(False) > 5 and (kinds.count(True) > 5 or name.startswith("ball"))


@pytest.mark.parametrize("name", ["box on a wall", "hull on hull", "capsule on box"])
def test_derivatives_of_the_equations_of_motion_are_those_of_python(name: str) -> None:
    """With any accelerations and forces held, by which Python differentiates what the engine does not."""
    system, rng = cs.ContactSystem(WORLDS[name]()), np.random.default_rng(3)
    world, held = system.on_engine("native").world, list[int]()
    mechanism = world.mechanism
    for _ in range(8):
        q = touching(rng, world, np.array(system.robot.nominal))
        if not len(q):
            continue
        arc = prepare(world, closed_in(rng, world, q))
        v, a, w, forces = *rng.normal(size=(3, world.nv)), rng.normal(size=arc.size)
        assert arc.compiled is not None and arc.compiled.term_derivatives(q, v, a, forces) is not None
        given = 0.0, q, v, a, arc.closed, forces
        compiled, python = CompiledTerms(arc).term_derivatives(*given), mechanism.term_derivatives(*given)
        for found, expected in zip(compiled, python, strict=True):
            assert off(found, expected) < FIELD
        for found, expected in (
            [own.impulse_derivatives(0.0, q, w, arc.closed, forces) for own in (CompiledTerms(arc), mechanism)],
            [own.rate_derivatives(0.0, q, v, arc.closed) for own in (CompiledTerms(arc), mechanism)],
        ):
            assert off(found, expected) < FIELD
        held += arc.closed
    assert len(held) > 4


def sharp(rng: np.random.Generator) -> cs.Robot:
    """A hull, or a box."""
    if rng.integers(2):
        return cs.Robot.hull(0.5, CORNERS, friction=0.3, restitution=0.5)
    return cs.Robot.box(0.5, tuple(rng.uniform(0.08, 0.2, 3).tolist()), friction=0.3, restitution=0.5)


def rounded(rng: np.random.Generator) -> cs.Robot:
    """Mostly a capsule, else what is sharp."""
    if not rng.integers(3):
        return sharp(rng)
    radius, length = rng.uniform([0.02, 0.08], [0.06, 0.2]).tolist()
    return cs.Robot.capsule(0.5, radius, length, friction=0.3, restitution=0.5)


def thrown(
    seed: int, count: int = 3, body: Callable[[np.random.Generator], cs.Robot] = sharp
) -> tuple[cs.ContactSystem, cs.State]:
    """Bodies that are thrown at each other above the ground, and bounce."""
    rng = np.random.default_rng([seed, 5])
    bodies = [body(rng) for _ in range(count)]
    names, start = [f"body{k}" for k in range(count)], {}
    for k, name in enumerate(names):
        place = np.array([0.4 * (k - 1), *rng.uniform([-0.02, 0.98], [0.02, 1.02])])
        turned = pin.SE3(pin.exp3(rng.normal(size=3)), place)
        speed = turned.rotation.T @ np.array([-2.0 * (k - 1), 0.0, 0.0])
        start[name] = pin.SE3ToXYZQUAT(turned), np.r_[speed, rng.normal(size=3)]
    world = cs.Robot.merge(bodies, names)
    return cs.ContactSystem(world), cs.State(*world.pack(start))


@pytest.mark.parametrize("body", [sharp, rounded])
@pytest.mark.parametrize("seed", range(8))
def test_runs_of_thrown_bodies_are_those_of_python(seed: int, body: Callable[[np.random.Generator], cs.Robot]) -> None:
    """Event by event, and in their states."""
    system, state = thrown(seed, body=body)
    one, other = (
        cs.simulate(system, state, (0.0, 0.3), engine=engine, tolerances=TIGHT) for engine in ("native", "python")
    )
    assert one.status is other.status is cs.Status.FINISHED
    assert len(one.events) > 0
    assert [event.fired for event in one.all_events] == [event.fired for event in other.all_events]
    assert max(abs(a.time - b.time) for a, b in zip(one.all_events, other.all_events, strict=True)) < TIME
    assert off(one.final_x, other.final_x) < RUN


def test_each_event_of_thrown_bodies_is_resolved_as_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one call, and differentiated in one: impacts of corners and of edges."""
    counts = compared(monkeypatch)
    for seed, body in product(range(8), (sharp, rounded)):
        system, state = thrown(seed, body=body)
        cs.linearize(cs.simulate(system, state, (0.0, 0.25), engine="native")).matrix()
    assert counts.asked > 50 and counts.answered > 0.9 * counts.asked
    assert counts.differentiated > 50 and counts.known > 0.9 * counts.differentiated


@pytest.mark.parametrize(("seed", "body"), [(1, sharp), (4, sharp), (1, rounded), (3, rounded)])
def test_derivatives_of_runs_of_thrown_bodies_are_those_of_python(
    seed: int, body: Callable[[np.random.Generator], cs.Robot]
) -> None:
    """Through impacts of corners, edges and capsules."""
    system, state = thrown(seed, body=body)
    runs = [cs.simulate(system, state, (0.0, 0.25), engine=engine) for engine in ("native", "python")]
    one, other = (cs.linearize(run).matrix() for run in runs)
    assert off(one, other) < MATRIX


def test_boxes_whose_edges_cross_part_in_closed_form() -> None:
    """One box falls with an edge along y onto an edge along x of another: heights of both are half their diagonals."""
    boxes = [cs.Robot.box(1.0, (0.2, 0.2, 0.2), friction=0.0, restitution=0.5)] * 2
    world = cs.Robot.merge(boxes, ["lower", "upper"])
    corner, height, speed = 0.1 * np.sqrt(2.0), 1.0, 2.0
    turns = {"lower": pin.exp3(np.array([np.pi / 4, 0.0, 0.0])), "upper": pin.exp3(np.array([0.0, np.pi / 4, 0.0]))}
    start = {}
    for name, place, down in (("lower", 2.0, 0.0), ("upper", 2.0 + 2.0 * corner + height, -speed)):
        placed = pin.SE3(turns[name], np.array([0.0, 0.0, place]))
        start[name] = pin.SE3ToXYZQUAT(placed), np.r_[turns[name].T @ np.array([0.0, 0.0, down]), np.zeros(3)]
    system = cs.ContactSystem(world)
    run = cs.simulate(system, cs.State(*world.pack(start)), (0.0, 0.55), engine="native", tolerances=TIGHT)
    assert [sorted(kind for kind, _ in event.fired) for event in run.all_events] == [["gap"]]
    ((_, number),) = run.events[0].fired
    assert "edge" in system.mechanism.all_names[number]
    assert abs(run.events[0].time - height / speed) < CLOSED_FORM
    # Equal masses that meet at the speed u part at e u: the mean speed -u / 2 goes on, and gravity acts on both alike.
    late = 0.55 - height / speed
    mean, apart = 2.0 + corner + 0.5 * height - 0.5 * speed * 0.55 - 0.5 * 9.81 * 0.55**2, 0.5 * speed * late
    assert abs(run.final.q[2] - (mean - corner - 0.5 * apart)) < CLOSED_FORM
    assert abs(run.final.q[9] - (mean + corner + 0.5 * apart)) < CLOSED_FORM


def piled(count: int) -> tuple[cs.ContactSystem, cs.State]:
    """Boxes above each other, turned a little, that fall onto the ground."""
    rng, names = np.random.default_rng(0), [f"box{k}" for k in range(count)]
    world = cs.Robot.merge([box(0.1, 0.1, 0.1)] * count, names)
    start = {}
    for k, name in enumerate(names):
        turn = pin.exp3(0.3 * rng.normal(size=3))
        placed = pin.SE3(turn, np.array([*rng.uniform(-0.03, 0.03, 2), 0.1 + 0.16 * k]))
        start[name] = (pin.SE3ToXYZQUAT(placed), np.zeros(6))
    return cs.ContactSystem(world), cs.State(*world.pack(start))


def test_what_is_near_is_found_by_couples() -> None:
    """Of six boxes, one of them of the world, and of its corners: contacts whose gaps are at most so large."""
    wall = box(0.3, 0.2, 0.1, root="fixed")
    world = cs.Robot.merge([wall, *[box(0.1, 0.1, 0.1)] * 5], ["wall", *(f"box{k}" for k in range(5))])
    mechanism = cs.ContactSystem(world).on_engine("native").world.mechanism
    arc = prepare(
        cs.ContactSystem(world).on_engine("native").world, SystemMode((ContactState(),) * len(mechanism.dims))
    )
    rng, found = np.random.default_rng(2), 0
    for _ in range(20):
        q = mechanism.space.integrate(np.array(world.nominal), rng.normal(size=world.nv))
        for k in range(5):
            q[7 * k : 7 * k + 3] = rng.uniform(-0.12, 0.12, 3)
        x, gaps = np.concatenate([q, np.zeros(world.nv)]), mechanism.gaps(0.0, q)
        for distance in (1e-3, 1e-2):
            near = arc.compiled.near(0.0, x, distance)  # type: ignore[union-attr]
            assert near.tolist() == np.flatnonzero(gaps <= distance).tolist()
            found += len(near)
    assert found > 1000


def test_a_pile_is_watched_by_what_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2208 contacts: the same events and states as in Python, which takes few of the steps."""
    system, state = piled(6)
    assert len(system.mechanism.dims) > 2000
    other = cs.simulate(system, state, (0.0, 0.14), engine="python")
    taken, step = list[float](), Stepper.step
    monkeypatch.setattr(Stepper, "step", lambda self, bound: taken.append(self.t) or step(self, bound))
    one = cs.simulate(system, state, (0.0, 0.14), engine="native")
    assert len(one.events) > 10
    assert [event.fired for event in one.all_events] == [event.fired for event in other.all_events]
    assert off(one.final_x, other.final_x) < 10.0 * RUN
    assert len(taken) < 0.2 * sum(len(arc.segments) for arc in one.arcs)


def stacked(seed: int, count: int = 2) -> tuple[cs.ContactSystem, cs.State]:
    """Boxes that lie above each other and slide and turn."""
    rng, names = np.random.default_rng(seed), [f"box{k}" for k in range(count)]
    world = cs.Robot.merge([box(0.2 + 0.02 * rng.random(), 0.15, 0.1) for _ in names], names)
    start = {}
    for k, name in enumerate(names):
        turn = pin.exp3(np.array([0.0, 0.0, 0.3 * rng.normal()]))
        placed = pin.SE3(turn, np.array([*(0.02 * rng.normal(size=2)), 0.051 + 0.101 * k]))
        speed = turn.T @ np.array([*(0.6 * rng.normal(size=2)), 0.0])
        start[name] = pin.SE3ToXYZQUAT(placed), np.array([*speed, 0.0, 0.0, 2.0 * rng.normal()])
    return cs.ContactSystem(world), cs.State(*world.pack(start))


@pytest.mark.parametrize("seed", [0, 2, 3, 7, 8, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 6))])
def test_boxes_that_slide_on_each_other_are_those_of_python(seed: int) -> None:
    """On their faces, redundantly; where others land, the impact has several outcomes, of which a rule says one.

    Redundant forces bend along arcs, where other cones begin to bound them: steps there err by the tolerances.
    """
    system, state = stacked(seed)
    sharp = cs.Tolerances(rtol=1e-10, atol=1e-12)
    one, other = (
        cs.simulate(system, state, (0.0, 0.15), tolerances=sharp, engine=engine) for engine in ("native", "python")
    )
    assert any("several outcomes" in note for event in one.events for note in event.notes)
    assert [event.fired for event in one.all_events] == [event.fired for event in other.all_events]
    assert [event.notes for event in one.events] == [event.notes for event in other.events]
    assert off(one.final_x, other.final_x) < RUN


def test_steps_whose_forces_the_engine_does_not_know_are_those_of_python() -> None:
    """Here those by which a dense output is made."""
    system, state = stacked(4)
    run = cs.simulate(system, state, (0.0, 0.08), engine="native")
    assert run.status is cs.Status.FINISHED
    assert run.check()


def test_steps_are_not_cut_to_where_the_engine_knows_the_forces() -> None:
    """As these are chosen anew, Python takes one that is as long as its error allows."""
    system, state = stacked(0, 3)
    run = cs.simulate(system, state, (0.0, 0.12), engine="native")
    assert sum(len(arc.segments) for arc in run.arcs) < 200


def test_forces_of_three_boxes_that_slide_on_each_other_obey_their_laws() -> None:
    """Ten and more of them, of which many may act: they keep to their cones in every step, which its check looks at."""
    system, state = stacked(4, 3)
    run = cs.simulate(system, state, (0.0, 0.0451), engine="native")
    assert any(arc.mode.redundant and len(arc.mode.closed) > 10 for arc in run.arcs)
    assert run.check()
