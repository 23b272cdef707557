"""Several robots in one world: names, places, pairs and their coefficients, controllers, storage, errors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from test_derivatives import ANALYTIC, check_impulses, check_terms, random_state

import contactsim as cs
from contactsim.multibody.geometry.edges import EdgeOnEdge
from contactsim.multibody.part_controllers import JointControllers

Array = np.ndarray
DEEP = cs.terrain.Flat(-100.0)
SAME = 1e-10  # relative, a world of one part against the part itself
STORED = 1e-12  # a stored world against the world itself
SHARP = 0.7  # sine of the angle of edges that differences of sixth order see well
RATE = 1e-7  # velocities and accelerations of contacts against central differences

BALL = cs.Robot.sphere(1.0, 0.1, friction=0.4, restitution=0.5)
BIG = cs.Robot.sphere(2.0, 0.2, friction=0.9, restitution=0.2)
ROD = cs.Robot.capsule(1.0, 0.1, 0.4, friction=0.4)
CRATE = cs.Robot.box(3.0, (0.5, 0.4, 0.3), friction=0.9)


def hexapod() -> cs.Robot:
    return cs.load_robot("hexapod")


def pose(x: float, y: float, z: float) -> Array:
    return np.array([x, y, z, 0, 0, 0, 1.0])


def derivable(world: cs.Robot) -> object:
    """The bound world with its model, from which random states start."""
    mechanism = world.bind(cs.terrain.Slope(0.2), np.array([0.3, -0.2, -9.81]))
    mechanism._model = world.model  # type: ignore[attr-defined]
    return mechanism


# --- mechanics ------------------------------------------------------------------------------------------------------
def planar(name: str) -> cs.Robot:
    return cs.Robot.sphere(1.0, 0.1, name=name, root="planar")


WORLDS = {
    "balls and crate": lambda: cs.Robot.merge([BALL, BIG, CRATE], names=["a", "b", "c"]),
    "robot and ball": lambda: cs.Robot.merge([hexapod(), BALL], names=["hexapod", "ball"]),
    "crates": lambda: cs.Robot.merge([CRATE, CRATE], names=["a", "b"]),
    "on a fixed table": lambda: cs.Robot.merge(
        [cs.Robot.box(1.0, (1.0, 1.0, 0.1), root="fixed", name="table"), BALL, CRATE],
        placements=[(0, 0, 1), None, None],
    ),
    "capsules": lambda: cs.Robot.merge([ROD, BALL, ROD, CRATE], names=["a", "b", "c", "d"]),
    "in a plane": lambda: cs.Robot.merge([planar("a"), planar("b")]),
}


def held(mechanism: object, q: Array) -> tuple[object, list[int]]:
    """The mechanism with the regions of its pairs held, and its contacts without edges that are nearly parallel."""
    first = len(mechanism.names) - len(mechanism.pair_names)
    regions = {i: mechanism.region(q, i) for i in range(first, len(mechanism.names))}
    chosen = []
    for i in range(len(mechanism.all_names)):
        pair = mechanism._pairs.pairs[i - first] if first <= i < len(mechanism.names) else None
        if pair is None or not isinstance(pair.features, EdgeOnEdge):
            chosen.append(i)
            continue
        place, edges = mechanism._pairs._place(i - first), pair.features
        a, b = place.R_a @ edges.one.directions[edges.a], place.R_b @ edges.two.directions[edges.b]
        if np.linalg.norm(np.cross(a, b)) > SHARP:
            chosen.append(i)
    return mechanism.within(regions), chosen


@pytest.mark.parametrize("name", WORLDS)
def test_derivatives_of_terms(name: str) -> None:
    """Many contacts, and a few, against differences of the terms of sixth order."""
    mechanism = derivable(WORLDS[name]())
    for seed, most in enumerate((24, 8)):
        inside, contacts = held(mechanism, random_state(mechanism, seed)[0])
        chosen = tuple(contacts[:: 1 + len(contacts) // most])
        check_terms(inside, chosen, ANALYTIC, seed=seed)
        check_impulses(inside, chosen, ANALYTIC, seed=seed)


@pytest.mark.parametrize("name", WORLDS)
def test_rates_are_those_of_the_gaps_and_bias_is_that_of_the_rates(name: str) -> None:
    mechanism = derivable(WORLDS[name]())
    q, v, _ = random_state(mechanism, 3)
    inside, contacts = held(mechanism, q)
    pairs = tuple(i for i in contacts if mechanism.all_names[i] in mechanism.pair_names)
    terms = inside.terms(0.0, q, v, pairs)

    def moved(h: float) -> tuple[Array, Array]:
        there = mechanism.space.integrate(q, h * v)
        return inside.gaps(0.0, there)[list(pairs)], inside.terms(0.0, there, v, pairs).rates

    h = 1e-5
    gap_rate, rate_rate = ((after - before) / (2 * h) for after, before in zip(moved(h), moved(-h), strict=True))
    normals = np.cumsum([0, *(mechanism.dims[i] for i in pairs)])[:-1]
    assert np.allclose(terms.rates[normals], gap_rate, atol=RATE)
    assert np.allclose(terms.bias, rate_rate, atol=RATE * max(1.0, np.abs(terms.bias).max()))


def test_a_plane_has_one_tangent_and_refuses_what_leaves_it() -> None:
    world = WORLDS["in a plane"]()
    assert world.bind(DEEP, np.zeros(3)).dims == (2, 2, 2)
    across = cs.Robot.merge([planar("a"), planar("b")], placements=[None, (0.0, 0.05, 0.0)])
    system = cs.ContactSystem(across, DEEP)
    with pytest.raises(cs.InputError, match="not in the plane in which its bodies move"):
        cs.simulate(system, across.pack({"b": ([0.5, 0.0, 0.0], np.zeros(3))}), (0.0, 0.1))


def test_a_world_of_one_is_the_robot() -> None:
    robot = hexapod()
    world = cs.Robot.merge([robot])
    q = robot.nominal.copy()
    q[2] += 0.02
    runs = [cs.simulate(cs.ContactSystem(r), (q, np.zeros(robot.nv)), (0.0, 0.1)) for r in (robot, world)]
    assert np.allclose(runs[0].final.q, runs[1].final.q, atol=SAME)
    assert world.contacts[0].name == f"hexapod/{robot.contacts[0].name}"
    assert np.array_equal(world.actuated, robot.actuated)
    assert world.visual_model.ngeoms == robot.visual_model.ngeoms


# --- parts ----------------------------------------------------------------------------------------------------------
def test_parts_are_packed_and_unpacked() -> None:
    world = WORLDS["robot and ball"]()
    q, v = world.pack({"ball": (pose(1, 2, 3), np.arange(6.0))})
    assert np.array_equal(q[world.parts["ball"].q], pose(1, 2, 3))
    assert np.array_equal(q[world.parts["hexapod"].q], hexapod().nominal)
    parts = world.unpack(cs.State(q, v))
    assert np.array_equal(parts["ball"][1], np.arange(6.0))
    assert not parts["hexapod"][1].any()
    assert world.actuated[world.parts["ball"].v].sum() == 0


def test_inertia_is_that_of_a_solid_body() -> None:
    assert np.allclose(BALL.model.inertias[1].inertia, 0.4 * 0.01 * np.eye(3))
    x, y, z = 0.5, 0.4, 0.3
    assert np.allclose(
        np.diag(CRATE.model.inertias[1].inertia), [(y * y + z * z) / 4, (x * x + z * z) / 4, (x * x + y * y) / 4]
    )


def test_pairs_are_found_once_and_have_the_rule_of_coefficients() -> None:
    world = WORLDS["balls and crate"]()
    assert [pair.name for pair in world.pairs] == ["a/ball+b/ball", "a/ball+c/box", "b/ball+c/box"]
    system = cs.ContactSystem(world)
    assert system.parameter("contact.a/ball+b/ball.friction") == pytest.approx(np.sqrt(0.4 * 0.9))
    assert system.parameter("contact.a/ball+b/ball.restitution") == 0.2
    assert system.parameter("contact.a/ball+c/box.restitution") == 0.0
    own = world.with_pairs([*world.pairs, cs.ContactPair("a", "b", friction=0.1, restitution=1.0)])
    assert len(own.pairs) == 3
    assert cs.ContactSystem(own).parameter("contact.a/ball+b/ball.friction") == 0.1
    assert system.with_parameter("contact.a/ball+b/ball.friction", 0.3).friction[-3] == 0.3


def test_feet_meet_a_ball_through_their_contact_points() -> None:
    names = [pair.name for pair in WORLDS["robot and ball"]().pairs]
    assert names == [f"hexapod/{point.name}+ball/ball" for point in hexapod().contacts]


# --- controllers ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("period", [None, 0.01])
def test_a_part_is_driven_alone_and_derivatives_follow(period: float | None) -> None:
    robot = hexapod()
    world = cs.Robot.merge([robot, BALL, robot], names=["a", "ball", "b"], pairs=())
    parts = {
        "a": world.parts["a"].drive(cs.PD(robot, kp=50.0, kd=2.0, period=period)),
        "b": world.parts["b"].drive(lambda t, q, v: -0.5 * v + q[:1]),
    }
    both = JointControllers(parts)
    rng = np.random.default_rng(0)
    q = world.space.integrate(world.nominal, 0.1 * rng.normal(size=world.nv))
    v, z = rng.normal(size=world.nv), rng.normal(size=both.memory)
    torque = both.torque(0.0, q, v, z)
    assert not torque[world.parts["ball"].v].any()
    assert np.allclose(torque[world.parts["b"].v], -0.5 * v[world.parts["b"].v] + q[world.parts["b"].q][0])
    assert {"a.kp", "a.kd_scale"} <= set(both.parameters())
    assert both.with_parameter("a.kp", 60.0).parameters()["a.kp"] == 60.0
    for function, jacobian in ((both.torque, both.torque_jacobian), (both.sample, both.sample_jacobian)):
        if both.memory or function == both.torque:
            found = jacobian(0.0, q, v, z, world.space)
            own = type(both).__mro__[1]
            default = own.torque_jacobian if function == both.torque else own.sample_jacobian
            assert np.allclose(found, default(both, 0.0, q, v, z, world.space), atol=1e-6)


# --- files ----------------------------------------------------------------------------------------------------------
def test_a_world_is_stored_and_loaded(tmp_path: Path) -> None:
    table = cs.Robot.box(1.0, (0.6, 0.6, 0.1), root="fixed", name="table")
    world = cs.Robot.merge(
        [hexapod(), BALL, table], names=["hexapod", "ball", "table"], placements=[None, None, (1, 0, 0.05)]
    )
    q = hexapod().nominal.copy()
    q[2] += 0.02
    state = world.pack({"hexapod": (q, np.zeros(24)), "ball": (pose(1.25, 0, 0.2), [0.5, 0, 0, 0, 5.0, 0])})
    run = cs.simulate(cs.ContactSystem(world), state, (0.0, 0.15))
    loaded = cs.Trajectory.load(run.save(tmp_path / "run.nc"))
    assert loaded.system.robot.parts.keys() == world.parts.keys()
    assert [arc.mode for arc in loaded.arcs] == [arc.mode for arc in run.arcs]
    for t in (0.05, 0.12):
        assert np.allclose(loaded(t).q, run(t).q, atol=STORED)
        for name, force in run.forces(t).items():
            assert np.allclose(loaded.forces(t)[name], force, atol=1e-9)
    robot = loaded.system.robot
    assert robot.visual_model.ngeoms == world.visual_model.ngeoms
    assert np.allclose(robot.mark_positions(run.final.q), world.mark_positions(run.final.q))
    loaded.check()


# --- errors ---------------------------------------------------------------------------------------------------------
def triangle() -> cs.Robot:
    import coal

    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("arm", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    geometry = pin.GeometryModel()
    geometry.addGeometryObject(
        pin.GeometryObject("arm", joint, model.nframes - 1, pin.SE3.Identity(), coal.TriangleP(*0.1 * np.eye(3)))
    )
    return cs.Robot(model, collision=geometry, name="triangle")


def test_shapes_that_are_not_seen_are_named() -> None:
    with pytest.warns(
        UserWarning, match=r"part 'arm' has collision shapes \(TriangleP\) through which other parts pass"
    ):
        cs.Robot.merge([triangle(), BALL], names=["arm", "ball"])
    with pytest.raises(cs.InputError, match="'arm' has the shape TriangleP, against which contacts are not supported"):
        cs.Robot.merge([triangle(), BALL], names=["arm", "ball"], pairs=[cs.ContactPair("ball", "arm")])


MISTAKES = {
    "of the world are called 'ball'": lambda: cs.Robot.merge([BALL, BALL]),
    "give at least one": lambda: cs.Robot.merge([]),
    "2 robots and 1 names": lambda: cs.Robot.merge([BALL, BIG], names=["a"]),
    "2 robots and 1 placements": lambda: cs.Robot.merge([BALL, BIG], names=["a", "b"], placements=[None]),
    "'a/b' cannot be the name of a part": lambda: cs.Robot.merge([BALL], names=["a/b"]),
    "give a list of Robot": lambda: cs.Robot.merge([SimpleNamespace()]),
    "pairs is 'all'; give 'auto'": lambda: cs.Robot.merge([BALL, BIG], names=["a", "b"], pairs="all"),
    "no contact point goes by 'c'": lambda: WORLDS["crates"]().with_pairs([cs.ContactPair("c", "b")]),
    "no solid shape goes by 'c'": lambda: WORLDS["crates"]().with_pairs([cs.ContactPair("b", "c")]),
    "are on one body": lambda: WORLDS["crates"]().with_pairs([cs.ContactPair("a", "a")]),
    "there is no part 'c'; there are a, b": lambda: WORLDS["crates"]().pack({"c": (pose(0, 0, 0), np.zeros(6))}),
    r"q of part 'a' has shape \(3,\); it needs \(7,\)": lambda: WORLDS["crates"]().pack(
        {"a": (np.zeros(3), np.zeros(6))}
    ),
    "the mass of 'ball' is -1": lambda: cs.Robot.sphere(-1.0, 0.1),
    "the side of 'box' is 0": lambda: cs.Robot.box(1.0, (1.0, 0.0, 1.0)),
    "restitution of ContactPair is 2": lambda: cs.ContactPair("a", "b", restitution=2.0),
    "solid 'x' has size": lambda: cs.Solid("x", "box", (1.0,)),
    "kind of Solid 'x' is 'torus'": lambda: cs.Solid("x", "torus"),
    "starts 0.1 m inside 'b/ball'; move one of the bodies away": lambda: cs.simulate(
        cs.ContactSystem(cs.Robot.merge([BALL, BIG], names=["a", "b"]), DEEP),
        cs.Robot.merge([BALL, BIG], names=["a", "b"]).pack(
            {"a": (pose(0, 0, 0), np.zeros(6)), "b": (pose(0.2, 0, 0), np.zeros(6))}
        ),
        (0.0, 0.1),
    ),
}


@pytest.mark.parametrize("sentence", MISTAKES)
def test_mistakes_are_named(sentence: str) -> None:
    with pytest.raises(cs.InputError, match=sentence):
        MISTAKES[sentence]()


def test_bodies_without_shapes_are_told() -> None:
    """The hexapod touches others with its feet alone."""
    with pytest.warns(UserWarning, match="other parts pass through body, lf_coxa, .* of part 'hexapod'"):
        cs.Robot.merge([cs.load_robot("hexapod"), cs.Robot.sphere(1.0, 0.1)], names=["hexapod", "ball"])
