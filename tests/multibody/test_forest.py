"""A robot of many trees computes group by group of them: the same numbers, and no data of the size of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.contact.linear_algebra import LARGE, solve_mass
from contactsim.contact.modes import ContactState, Mode, SystemMode
from contactsim.multibody import forest
from contactsim.multibody.forest import TOGETHER, Forest, ModelData, data_of, groups_of

Array = np.ndarray
SAME = 1e-13  # relative: the same operations, body by body
AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


def trees(count: int) -> pin.Model:
    """Trees of two links each, every second one on a fixed hinge, with rotors, and a frame in the world."""
    pin.seed(0)
    model = pin.Model()
    for k in range(count):
        root = pin.JointModelFreeFlyer() if k % 2 else pin.JointModelRX()
        parent = 0
        for name, joint in (("root", root), ("hinge", pin.JointModelRevoluteUnaligned(1.0, 2.0, 3.0))):
            parent = model.addJoint(parent, joint, pin.SE3.Random(), f"{name} {k}")
            model.inertias[parent] = pin.Inertia.Random()
            model.addFrame(pin.Frame(f"{name} {k}", parent, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    model.addFrame(pin.Frame("place", 0, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    model.armature = np.random.default_rng(0).random(model.nv)
    return model


def state_of(model: pin.Model) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(1)
    q = pin.integrate(model, pin.neutral(model), rng.uniform(-1.0, 1.0, model.nv))
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=SAME * max(1.0, float(np.abs(wanted).max())))


def test_a_forest_computes_what_the_whole_does() -> None:
    model = trees(12)
    found, whole = data_of(model), ModelData(model)
    assert isinstance(found, Forest)
    q, v, a = state_of(model)
    for data in (found, whole):
        data.forward_kinematics(q, v, a)
        data.update_frame_placements()
    for one, other in ((found.oMi, whole.oMi), (found.oMf, whole.oMf)):
        close([place.homogeneous for place in one], [place.homogeneous for place in other])
    for one, other in ((found.v, whole.v), (found.a, whole.a)):
        close([motion.vector for motion in one][1:], [motion.vector for motion in other][1:])
    close(found.joint_jacobians(q), whole.joint_jacobians(q))
    for k in range(model.nframes):
        close(found.update_frame_placement(k).homogeneous, whole.update_frame_placement(k).homogeneous)
        close(found.frame_jacobian(k, AXES), whole.frame_jacobian(k, AXES))
        close(found.frame_velocity(k, AXES).vector, whole.frame_velocity(k, AXES).vector)
        close(found.frame_acceleration(k, AXES).vector, whole.frame_acceleration(k, AXES).vector)
    for k in range(1, model.njoints):
        close(found.joint_jacobian(k, AXES), whole.joint_jacobian(k, AXES))


def test_its_dynamics_and_their_derivatives() -> None:
    model = trees(12)
    found, whole = data_of(model), ModelData(model)
    q, v, a = state_of(model)
    close(np.triu(found.crba(q)), np.triu(whole.crba(q)))
    for name in ("nonlinear_effects", "energy"):
        close(getattr(found, name)(q, v), getattr(whole, name)(q, v))
    for name in ("gravity", "gravity_derivatives", "potential"):
        close(getattr(found, name)(q), getattr(whole, name)(q))
    close(found.aba(q, v, a), whole.aba(q, v, a))
    for one, other in zip(found.rnea_derivatives(q, v, a), whole.rnea_derivatives(q, v, a), strict=True):
        close(one, other)
    for name in ("J", "dJ", "dAdq", "dAdv"):
        close(getattr(found, name), getattr(whole, name))
    close(found.weightless_derivative(q, a), whole.weightless_derivative(q, a))


def test_one_robot_and_few_bodies_stay_together() -> None:
    robot = cs.load_robot("hexapod")
    assert not groups_of(robot.model)
    assert not groups_of(cs.Robot.merge([robot, cs.Robot.sphere(1.0, 0.1)]).model)
    balls = [cs.Robot.sphere(1.0, 0.1, name=f"b{k}") for k in range(5)]
    assert [group.model.nv for group in groups_of(cs.Robot.merge([robot, *balls]).model)] == [36, 18]


def crowd() -> cs.ContactSystem:
    """A hexapod with round feet among boxes and balls, on a slope."""
    bodies = [cs.Robot.box(1.0, (0.2, 0.3, 0.4)), cs.Robot.sphere(2.0, 0.1), cs.Robot.box(3.0, (0.3, 0.3, 0.1))]
    world = cs.Robot.merge([cs.load_robot("hexapod"), *bodies], names=["hexapod", "a", "b", "c"])
    return cs.ContactSystem(world, terrain=cs.terrain.Slope(0.2))


def test_a_world_of_many_trees_is_the_merged_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms, derivatives and sticking dynamics with contacts of the ground and of bodies, on both."""
    apart = crowd().mechanism
    monkeypatch.setattr(forest, "TOGETHER", 1000)
    whole = crowd().mechanism
    rng = np.random.default_rng(2)
    model = crowd().robot.model
    q, v, a = state_of(model)
    ground = [i for i, name in enumerate(whole.names) if name in ("hexapod/lf", "a/box/0", "a/box/3", "b/ball")]
    mixed = tuple([*ground, len(whole.names) - len(whole.pair_names) + 3])
    for contacts in (tuple(ground), mixed):
        one, other = (mechanism.terms(0.0, q, v, contacts) for mechanism in (apart, whole))
        close(np.triu(one.mass), np.triu(other.mass))
        for name in ("force", "rows", "rates", "bias"):
            close(getattr(one, name), getattr(other, name))
        forces = rng.normal(size=len(one.rows))
        one, other = (m.term_derivatives(0.0, q, v, a, contacts, forces) for m in (apart, whole))
        for found, wanted in zip(one, other, strict=True):
            close(found, wanted)
        close(*(m.impulse_derivatives(0.0, q, a, contacts, forces) for m in (apart, whole)))
        close(*(m.rate_derivatives(0.0, q, v, contacts) for m in (apart, whole)))
    close(apart.gaps(0.0, q), whole.gaps(0.0, q))
    close(apart.energy(q, v), whole.energy(q, v))
    for stuck in ((), tuple(ground)):
        states = tuple(ContactState(Mode.STICK if i in stuck else Mode.OPEN) for i in range(len(whole.all_names)))
        quick = [mechanism.shortcut(SystemMode(states)) for mechanism in (apart, whole)]
        found = [shortcut(q, v, a) for shortcut in quick if shortcut is not None]
        close(found[0][0], found[1][0])
        if stuck:
            close(found[0][1](), found[1][1]())


def test_no_data_of_the_size_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a run with its check, nor its derivative, nor its picture: 60 balls would need gigabytes."""
    from contactsim_viz.figure import Figure

    sizes, data = [], pin.Data

    def counted(model: pin.Model) -> pin.Data:
        sizes.append(model.nv)
        return data(model)

    def refused(model: pin.Model) -> pin.Data:
        raise AssertionError("createData makes the data twice")

    monkeypatch.setattr(pin, "Data", counted)
    monkeypatch.setattr(pin.Model, "createData", refused)
    count = 7
    bodies = [cs.Robot.box(10.0, (2.0, 2.0, 0.2)), *(cs.Robot.sphere(1.0, 0.1, restitution=0.3) for _ in range(count))]
    names = ["box", *(f"b{k}" for k in range(count))]
    pairs = [cs.ContactPair(name, "box") for name in names[1:]]
    world = cs.Robot.merge(bodies, names=names, pairs=pairs)
    start = {"box": (np.array([0, 0, 0.1, 0, 0, 0, 1.0]), np.zeros(6))}
    for k, name in enumerate(names[1:]):
        start[name] = (np.array([0.25 * k - 0.75, 0, 0.3 + 1e-4 * k, 0, 0, 0, 1.0]), np.r_[0.1 * k, np.zeros(5)])
    run = cs.simulate(cs.ContactSystem(world), cs.State(*world.pack(start)), (0.0, 0.012))
    assert len(run.events) >= count
    run.check()
    assert np.isfinite(cs.linearize(run).matrix()).all()
    assert len(Figure(world).joints(run(0.012).q)) == world.model.njoints
    world.contact_positions(run(0.012).q)
    assert 6 < max(sizes) <= TOGETHER < world.nv


def test_mass_matrices_of_many_bodies_are_solved_block_by_block() -> None:
    rng = np.random.default_rng(0)
    mass, start = np.zeros((LARGE + 20, LARGE + 20)), 0
    for size in (1, 6, 40, 3, 6, 24, 6, 6, 24):
        factor = rng.normal(size=(size, size))
        mass[start : start + size, start : start + size] = np.triu(factor @ factor.T + size * np.eye(size))
        start += size
    assert start == len(mass)
    full = mass + np.triu(mass, 1).T
    for right in (rng.normal(size=len(mass)), rng.normal(size=(len(mass), 5))):
        close(solve_mass(mass, right), np.linalg.solve(full, right))
    mass[50, 50] = -1.0
    with pytest.raises(cs.ContactSimError, match="not positive definite"):
        solve_mass(mass, rng.normal(size=len(mass)))
