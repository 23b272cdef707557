"""Derivatives of the equations of motion with contacts, each against differences, and the bracket of the manifolds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
from builders import (
    box,
    pendulum,
    pendulum_mechanism,
    planar_body,
    planar_joint,
    planar_mechanism,
    random_inertia,
    random_tree,
    single_body,
    sphere,
    unit,
)
from test_terrain import Bowl

import contactsim as cs
from contactsim.contact_dynamics.contact_system import StateSpace
from contactsim.multibody.configuration_space import ConfigurationSpace
from contactsim.multibody.mechanism import ContactMechanism

Array = np.ndarray

# Relative to the largest entry of a derivative, and to 1 where that is smaller.
ANALYTIC = 5e-11  # differences of sixth order with steps of 2e-3 leave 1e-13 of the terms, which cancel in part
DEFAULT = 1e-10  # differences of fourth order: truncation (1e-3)^4 times fifth derivatives
TEXTBOOK = 5e-9  # a Mechanism that differences its own drift (rounding / 1e-4) and is differenced again (1e-3)
TWICE = 2e-6  # a moving gap whose drift, bias and derivative are all differenced: rounding / (1e-4 1e-3 1e-3)
BRACKET = 1e-10  # differences of differences with steps of 5e-3 and 1e-2: rounding / 5e-5
DIFFERENCE = 1e-14  # the logarithm of SE(2), in rad and m

STEP = 2e-3


def sixth_order(function: Callable[[Array], Array], n: int, h: float = STEP) -> Array:
    """Derivative (., n) at zero, by differences that share nothing with the ones tested."""
    columns = []
    for e in h * np.eye(n):
        odd = [function(k * e) - function(-k * e) for k in (1, 2, 3)]
        columns.append((45.0 * odd[0] - 9.0 * odd[1] + odd[2]) / (60.0 * h))
    return np.array(columns).T


def close(found: Array, expected: Array, tolerance: float) -> None:
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))


def with_random_points(model: pin.Model, seed: int, count: int = 5) -> cs.Robot:
    """Contact points of random radius (some zero) on random bodies."""
    rng = np.random.default_rng(seed)
    contacts = []
    for k in range(count):
        joint = int(rng.integers(1, model.njoints))
        model.addFrame(pin.Frame(f"tip_{k}", joint, 0, placement(rng), pin.FrameType.OP_FRAME))
        radius = float(rng.uniform(0.0, 0.2)) * (k % 3 > 0)
        contacts.append(cs.ContactPoint(f"tip_{k}", offset=tuple(rng.normal(size=3)), radius=radius))
    return cs.Robot(model, contacts=contacts)


def placement(rng: np.random.Generator) -> pin.SE3:
    return pin.SE3(pin.exp3(rng.normal(size=3)), 0.3 * rng.normal(size=3))


def every_joint(seed: int) -> pin.Model:
    """A branched model of joints whose motion subspace turns with q, of armatures, and of every Lie group."""
    rng = np.random.default_rng(seed)
    nested = pin.JointModelComposite()
    inner = pin.JointModelComposite()
    for part in (pin.JointModelRX(), pin.JointModelSpherical()):
        inner.addJoint(part, placement(rng))
    for part in (pin.JointModelPX(), inner, pin.JointModelRUBY()):
        nested.addJoint(part, placement(rng))
    axes = unit(rng.normal(size=3)), unit(rng.normal(size=3))
    joints = [
        (0, pin.JointModelFreeFlyer()),
        (1, pin.JointModelSphericalZYX()),
        (2, nested),
        (3, pin.JointModelPlanar()),
        (1, pin.JointModelUniversal(*axes)),
        (5, pin.JointModelHelicalUnaligned(unit(rng.normal(size=3)), 0.2)),
        (6, pin.JointModelTranslation()),
        (1, planar_joint()),
    ]
    model = pin.Model()
    for k, (parent, joint) in enumerate(joints):
        index = model.addJoint(parent, joint, placement(rng), f"joint_{k}")
        model.appendBodyToJoint(index, random_inertia(rng), placement(rng))
    model.armature = rng.uniform(0.1, 0.5, model.nv)
    return model


def damped_arm() -> pin.Model:
    """A fixed-base arm with joint limits, damping and armature."""
    rng = np.random.default_rng(5)
    model, parent = pin.Model(), 0
    for k, joint in enumerate((pin.JointModelRY(), pin.JointModelPX(), pin.JointModelRZ())):
        parent = model.addJoint(parent, joint, placement(rng), f"joint_{k}")
        model.appendBodyToJoint(parent, random_inertia(rng), pin.SE3.Identity())
    model.damping, model.armature = np.array([0.3, 0.1, 0.7]), np.array([0.2, 0.0, 0.4])
    model.lowerPositionLimit, model.upperPositionLimit = np.full(3, -2.0), np.full(3, 2.0)
    return model


CORNERS = {"left": (-0.2, -0.1), "right": (0.2, -0.1)}
ROBOTS: dict[str, Callable[[], cs.Robot]] = {
    "sphere": sphere,
    "box": box,
    "planar box": lambda: planar_body(2.0, 0.1, CORNERS, 0.3, 0.0),
    "pendulum": lambda: pendulum(1.0, 1.0, 0.1, 0.9, 0.3, 0.0),
    "tree 0": lambda: with_random_points(random_tree(0), 0),
    "tree 1": lambda: with_random_points(random_tree(1, 12), 1, 8),
    "every joint": lambda: with_random_points(every_joint(2), 2, 8),
    "damped arm": lambda: with_random_points(damped_arm(), 3),
    "piston": lambda: with_random_points(single_body(pin.JointModelPZ(), 1.0, (0.1, 0.1, 0.1), "rod"), 4, 2),
    "no contacts": lambda: cs.Robot(random_tree(3), contacts=[]),
    "solo12": lambda: cs.load_robot("solo12"),
    "hexapod": lambda: cs.load_robot("hexapod"),
}
FLAT, BELT = cs.terrain.Flat(), cs.terrain.Flat(0.1, (0.4, -0.3))
PLANES = {"flat": FLAT, "slope": cs.terrain.Slope(0.4), "belt": BELT}


def bound(robot: cs.Robot, ground: cs.terrain.Terrain) -> ContactMechanism:
    return robot.bind(ground, np.array([0.3, -0.2, -9.81]))


def random_state(mechanism: ContactMechanism, seed: int, spread: float = 0.7) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    n = mechanism.nv
    model = getattr(getattr(mechanism, "inner", mechanism), "_model", None)
    start = np.zeros(n) if model is None else pin.neutral(model)
    return mechanism.space.integrate(start, spread * rng.normal(size=n)), rng.normal(size=n), 3 * rng.normal(size=n)


def chosen_contacts(mechanism: ContactMechanism) -> list[tuple[int, ...]]:
    """All contacts and limits, the points alone, every other one, the limits alone, none."""
    points, everything = len(mechanism.names), len(mechanism.all_names)
    choices = [range(everything), range(points), range(0, everything, 2), range(points, everything), ()]
    return list(dict.fromkeys(tuple(choice) for choice in choices))


def all_gaps(mechanism: ContactMechanism, t: float, q: Array) -> Array:
    return np.concatenate([mechanism.gaps(t, q)[: len(mechanism.names)], mechanism.constraint_gaps(t, q)])


def check_terms(
    mechanism: ContactMechanism, contacts: tuple[int, ...], tolerance: float, t: float = 0.3, seed: int = 0
) -> None:
    q, v, a = random_state(mechanism, seed)
    m = sum(mechanism.dims[i] for i in contacts)
    forces = 5.0 * np.random.default_rng(seed).normal(size=m)

    def values(q: Array, v: Array) -> Array:
        terms = mechanism.terms(t, q, v, contacts)
        residual = terms.mass @ a - terms.force - terms.rows.T @ forces
        return np.concatenate([residual, terms.rates, terms.rows @ a + terms.bias])

    n = mechanism.nv
    by_q = sixth_order(lambda dq: values(mechanism.space.integrate(q, dq), v), n)
    by_v = sixth_order(lambda dv: values(q, v + dv), n)
    found = mechanism.term_derivatives(t, q, v, a, contacts, forces)
    expected = (by_q[:n], by_v[:n], by_q[n : n + m], by_q[n + m :], by_v[n + m :])
    for own, reference in zip(found, expected, strict=True):
        close(own, reference, tolerance)
    close(mechanism.rate_derivatives(t, q, v, contacts), by_q[n : n + m], tolerance)


def check_impulses(
    mechanism: ContactMechanism, contacts: tuple[int, ...], tolerance: float, t: float = 0.3, seed: int = 0
) -> None:
    q, w, _ = random_state(mechanism, seed)
    impulses = np.random.default_rng(seed).normal(size=sum(mechanism.dims[i] for i in contacts))

    def momentum(dq: Array) -> Array:
        terms = mechanism.terms(t, mechanism.space.integrate(q, dq), np.zeros(mechanism.nv), contacts)
        return terms.mass @ w - terms.rows.T @ impulses

    found = mechanism.impulse_derivatives(t, q, w, contacts, impulses)
    close(found, sixth_order(momentum, mechanism.nv), tolerance)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("ground", PLANES)
def test_on_planes(name: str, ground: str) -> None:
    mechanism = bound(ROBOTS[name](), PLANES[ground])
    assert mechanism._derivatives is not None
    for seed, contacts in enumerate(chosen_contacts(mechanism)):
        check_terms(mechanism, contacts, ANALYTIC, seed=seed)
        check_impulses(mechanism, contacts, ANALYTIC, seed=seed)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("ground", [*PLANES.values(), Bowl(7.0, 0.2)], ids=[*PLANES, "bowl"])
def test_gradients_of_gaps(name: str, ground: cs.terrain.Terrain) -> None:
    """By differences, at another state than the one that the data of the robot is of."""
    mechanism = bound(ROBOTS[name](), ground)
    q, v, _ = random_state(mechanism, 3)
    count, names = mechanism.nv, mechanism.all_names
    by_q = sixth_order(lambda dq: all_gaps(mechanism, 0.3, mechanism.space.integrate(q, dq)), count)
    for i in range(len(names)):
        close(mechanism.gap_gradient(0.3, q, v, i), by_q[i], ANALYTIC)


def test_results_are_not_overwritten() -> None:
    mechanism = bound(ROBOTS["solo12"](), FLAT)
    q, v, a = random_state(mechanism, 1)
    for contacts in chosen_contacts(mechanism):
        forces = np.ones(sum(mechanism.dims[i] for i in contacts))
        found = [
            *mechanism.term_derivatives(0.0, q, v, a, contacts, forces),
            mechanism.impulse_derivatives(0.0, q, v, contacts, forces),
            mechanism.rate_derivatives(0.0, q, v, contacts),
        ]
        copies = [part.copy() for part in found]
        other = random_state(mechanism, 2)
        mechanism.term_derivatives(0.0, *other, contacts, forces)
        mechanism.impulse_derivatives(0.0, *other[:2], contacts, forces)
        assert all(np.array_equal(*pair) for pair in zip(found, copies, strict=True))


@pytest.mark.parametrize("name", ["sphere", "tree 0", "every joint", "pendulum"])
def test_on_curved_and_moving_ground(name: str) -> None:
    """The default: differences; contacts in a bowl that shakes."""
    mechanism = bound(ROBOTS[name](), Bowl(7.0, 0.2))
    contacts = chosen_contacts(mechanism)[0]
    check_terms(mechanism, contacts, DEFAULT)
    check_impulses(mechanism, contacts, DEFAULT)


def test_a_joint_without_analytic_derivatives_is_differenced() -> None:
    model = pin.Model()
    index = model.addJoint(0, pin.JointModelEllipsoid(0.3, 0.4, 0.5), pin.SE3.Identity(), "ellipsoid")
    model.appendBodyToJoint(index, random_inertia(np.random.default_rng(0)), pin.SE3.Identity())
    mechanism = bound(with_random_points(model, 0), FLAT)
    assert mechanism._derivatives is None
    check_terms(mechanism, chosen_contacts(mechanism)[0], DEFAULT)
    check_impulses(mechanism, chosen_contacts(mechanism)[0], DEFAULT)


def test_textbook_against_robot() -> None:
    """A planar body, and a pendulum, as a robot and by functions."""
    args = (2.0, 0.1, CORNERS, 0.3, 0.0)
    rod = (1.0, 1.0, 0.1, 0.9, 0.3, 0.0)
    for robot, textbook in ((planar_body(*args), planar_mechanism(*args)), (pendulum(*rod), pendulum_mechanism(*rod))):
        analytic = robot.bind(FLAT, np.array([0.0, 0.0, -9.81]), joint_limits=False)
        for contacts in chosen_contacts(textbook):
            q, v, a = random_state(textbook, 7)
            forces = np.arange(1.0, 1.0 + sum(textbook.dims[i] for i in contacts))
            pairs = [
                (
                    one.term_derivatives(0.2, q, v, a, contacts, forces),
                    one.impulse_derivatives(0.2, q, a, contacts, forces),
                )
                for one in (analytic, textbook)
            ]
            (expected, momentum), (found, own) = pairs
            for part, reference in zip(found, expected, strict=True):
                close(part, reference, TEXTBOOK)
            close(own, momentum, TEXTBOOK)
            close(textbook.rate_derivatives(0.2, q, v, contacts), expected.rates_q, TEXTBOOK)


def test_two_coordinates_by_hand() -> None:
    """M = diag(1, 1 + x^2), a bead on the moving curve y = sin(x) + t x, bias given."""
    gap = cs.Gap(
        gap=lambda t, q: q[1] - np.sin(q[0]) - t * q[0],
        normal=lambda t, q: [-np.cos(q[0]) - t, 1.0],
        bias=lambda t, q, v: [np.sin(q[0]) * v[0] ** 2 - 2 * v[0]],
    )
    mechanism = cs.Mechanism(
        2, lambda q: np.diag([1.0, 1.0 + q[0] ** 2]), lambda t, q, v: np.array([-v[0] * v[1], -(q[0] ** 3)]), [gap]
    )
    q, v, a, lam, t = np.array([0.4, -0.3]), np.array([1.5, 0.7]), np.array([0.2, -2.0]), np.array([3.0]), 0.25
    found = mechanism.term_derivatives(t, q, v, a, (0,), lam)
    s, c = np.sin(q[0]), np.cos(q[0])
    close(found.residual_q, np.array([[-s * lam[0], 0.0], [2 * q[0] * a[1] + 3 * q[0] ** 2, 0.0]]), TEXTBOOK)
    close(found.residual_v, np.array([[v[1], v[0]], [0.0, 0.0]]), TEXTBOOK)
    close(found.rates_q, np.array([[s * v[0] - 1.0, 0.0]]), TEXTBOOK)
    close(found.motion_q, np.array([[s * a[0] + c * v[0] ** 2, 0.0]]), TEXTBOOK)
    close(found.motion_v, np.array([[2 * s * v[0] - 2.0, 0.0]]), TEXTBOOK)
    momentum = np.array([[-s * lam[0], 0.0], [2 * q[0] * a[1], 0.0]])
    close(mechanism.impulse_derivatives(t, q, a, (0,), lam), momentum, TEXTBOOK)


def test_a_moving_gap_without_a_bias() -> None:
    """What is differenced three times is known to few digits: a user who derives gives the bias."""
    gap = cs.Gap(
        gap=lambda t, q: q[0] - 0.3 * np.sin(2 * t) * q[0] ** 2, normal=lambda t, q: [1 - 0.6 * np.sin(2 * t) * q[0]]
    )
    mechanism = cs.Mechanism(1, lambda q: np.eye(1), lambda t, q, v: np.zeros(1), [gap])
    t, q, v, a = 0.25, np.array([0.4]), np.array([1.5]), np.array([0.2])
    found = mechanism.term_derivatives(t, q, v, a, (0,), np.ones(1))
    s, c = np.sin(2 * t), np.cos(2 * t)
    close(found.rates_q, np.array([[-0.6 * s * v[0] - 1.2 * c * q[0]]]), TEXTBOOK)
    close(found.motion_q, np.array([[-0.6 * s * a[0] - 2.4 * c * v[0] + 2.4 * s * q[0]]]), TWICE)
    close(found.motion_v, np.array([[-1.2 * s * v[0] - 2.4 * c * q[0]]]), TWICE)


# --- the bracket ------------------------------------------------------------------------------------------------------
SINGLE: dict[str, Callable[[], pin.JointModel]] = {
    "free-flyer": pin.JointModelFreeFlyer,
    "spherical": pin.JointModelSpherical,
    "planar": pin.JointModelPlanar,
    "translation": pin.JointModelTranslation,
    "unbounded": pin.JointModelRUBZ,
    "helical": lambda: pin.JointModelHX(0.3),
    "zyx": pin.JointModelSphericalZYX,
    "universal": lambda: pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0])),
    "ellipsoid": lambda: pin.JointModelEllipsoid(0.3, 0.4, 0.5),
}


def chain(model_of: str) -> pin.Model:
    """The joint between two revolute ones."""
    rng = np.random.default_rng(6)
    model, parent = pin.Model(), 0
    for k, joint in enumerate((pin.JointModelRY(), SINGLE[model_of](), pin.JointModelRZ())):
        parent = model.addJoint(parent, joint, placement(rng), f"joint_{k}")
        model.appendBodyToJoint(parent, random_inertia(rng), pin.SE3.Identity())
    return model


def check_bracket(model: pin.Model, space: ConfigurationSpace, seed: int = 0) -> None:
    """d(dq)/dt = dv - ad(v) dq of two curves, q exp(t v) and q exp(dq) exp(t (v + dv))."""
    rng = np.random.default_rng(seed)
    q = pin.integrate(model, pin.neutral(model), 0.5 * rng.normal(size=model.nv))
    v, dq, dv = rng.normal(size=(3, model.nv))
    ad = space.bracket(v)

    def apart(t: float, s: float) -> Array:
        first = pin.integrate(model, q, t * v)
        second = pin.integrate(model, pin.integrate(model, q, s * dq), t * (v + s * dv))
        return space.difference(first, second)

    def variation(t: float) -> Array:
        return sixth_order(lambda s: apart(t, float(s[0])), 1, 5e-3)[:, 0]

    rate = sixth_order(lambda t: variation(float(t[0])), 1, 1e-2)[:, 0]
    close(rate, dv - (0.0 if ad is None else ad @ dq), BRACKET)


@pytest.mark.parametrize("name", SINGLE)
def test_bracket_of_single_joints(name: str) -> None:
    model = chain(name)
    space = cs.Robot(model, contacts=[]).space
    check_bracket(model, space)
    assert (space.bracket(np.ones(model.nv)) is None) == (name not in ("free-flyer", "spherical", "planar"))


@pytest.mark.parametrize("seed", range(3))
def test_bracket_of_trees(seed: int) -> None:
    for model in (random_tree(seed), every_joint(seed)):
        check_bracket(model, cs.Robot(model, contacts=[]).space, seed)


def test_bracket_of_states() -> None:
    """That of the configurations in the block of q; None where the configurations are flat."""
    model = random_tree(4)
    robot = cs.Robot(model, contacts=[])
    n = model.nv
    rate = np.random.default_rng(0).normal(size=2 * n + 3)
    whole = StateSpace(robot.space, n, 3).bracket(rate)
    expected = np.zeros((2 * n + 3, 2 * n + 3))
    expected[:n, :n] = robot.space.bracket(rate[:n])
    assert np.array_equal(whole, expected)
    assert StateSpace(pendulum(1.0, 1.0, 0.1, 2.0, 0.0, 0.0).space, 1, 2).bracket(np.ones(4)) is None


@pytest.mark.parametrize("size", [1.0, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8])
def test_planar_joints_are_told_apart_to_rounding(size: float) -> None:
    """Pinocchio's difference of planar configurations is wrong by 1e-8 at some distances."""
    model = chain("planar")
    rng = np.random.default_rng(8)
    space = cs.Robot(model, contacts=[]).space
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    for _ in range(50):
        x, y, w = dq = size * rng.normal(size=3)
        s, c = np.sinc(w / np.pi), np.sin(w / 2) * np.sinc(w / 2 / np.pi)
        turn = np.array([[q[3], -q[4]], [q[4], q[3]]])
        moved = q.copy()
        moved[1:3] += turn @ [s * x - c * y, c * x + s * y]
        moved[3:5] = turn @ [np.cos(w), np.sin(w)]
        assert np.abs(space.difference(q, moved)[1:4] - dq).max() < DIFFERENCE
