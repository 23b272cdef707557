"""Rims and ellipsoids on the ground: rows, biases and derivatives against differences, gaps, and what is refused."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from builders import single_body
from test_derivatives import ANALYTIC, check_impulses, check_terms, close, random_state
from test_terrain import Bowl

import contactsim as cs
from contactsim.contact.modes import ContactState, SystemMode
from contactsim.hybrid.differences import derivative
from contactsim.multibody.contact_point import ContactEllipsoid, ContactPoint, ContactRim
from contactsim.multibody.kinematics.bound_world import with_yielding_discs

GROUNDS = {
    "flat": cs.terrain.Flat(),
    "belt": cs.terrain.Flat(0.0, (0.3, -0.2)),
    "slope": cs.terrain.Slope(0.3, (1.0, 2.0)),
    "hills": cs.terrain.Sinusoid(0.1, 0.8, 0.5, (0.2, 0.1)),
    "lifted": cs.terrain.Moving(cs.terrain.Flat(), cs.terrain.Oscillation((0.05, 0.02, 0.1), 3.0)),
}


def wheel_and_egg(**given):
    """A free body with a point, a rim (and a fixed point of it) and an ellipsoid, and an arm on it with a rim."""
    model = single_body(pin.JointModelFreeFlyer(), 2.0, (0.1, 0.2, 0.25), "body")
    joint = model.addJoint(1, pin.JointModelRX(), pin.SE3(np.eye(3), np.array([0.1, 0.2, 0.0])), "arm")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    model.addFrame(pin.Frame("base", 1, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    model.addFrame(pin.Frame("hand", joint, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    axis = (0.6, 0.0, 0.8)
    contacts = [
        ContactPoint("base", (0.1, 0.0, 0.0), 0.05, name="ball"),
        ContactRim("base", (0.0, 0.1, 0.1), name="rim", axis=axis, rim=0.2),
        ContactRim("base", (0.0, 0.1, 0.1), name="held", axis=axis, rim=0.2, angle=0.7),
        ContactEllipsoid("base", (0.2, 0.0, 0.1), radii=(0.3, 0.2, 0.1), quaternion=(0.5, 0.5, -0.1, 0.7), name="egg"),
        ContactRim("hand", (0.0, 0.0, 0.1), name="wheel", axis=(0.0, 0.0, 1.0), rim=0.15),
    ]
    return cs.Robot(model, contacts=contacts, **given)


@pytest.fixture(scope="module")
def robot():
    pin.seed(3)
    return wheel_and_egg()


def bound(robot, ground, law):
    """On ground that is rigid, or gives way."""
    mechanism = robot.bind(GROUNDS[ground], np.array([0.0, 0.0, -9.81]), True)
    return mechanism if law == "rigid" else with_yielding_discs(mechanism)


@pytest.mark.parametrize("law", ["rigid", "yielding"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_derivatives_of_terms(robot, ground, law):
    """Of all contacts, and of some, against differences of sixth order."""
    mechanism = bound(robot, ground, law)
    loose = 10.0 if ground == "hills" else 1.0  # these bend
    for seed, contacts in enumerate([(0, 1, 2, 3, 4), (1, 4), (3,)]):
        check_terms(mechanism, contacts, loose * ANALYTIC, seed=seed)
        check_impulses(mechanism, contacts, loose * ANALYTIC, seed=seed)


@pytest.mark.parametrize("law", ["rigid", "yielding"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_rows_are_gradients_of_gaps_and_biases_their_rates(robot, ground, law):
    """On the ground: g' = z_n along any motion, and z' = J a + bias along a motion with constant velocities."""
    t0, mechanism = 0.2, bound(robot, ground, law)
    space = mechanism.space
    for i in (1, 3, 4) if law == "rigid" else (1, 2, 3, 4):
        q, v, _ = random_state(mechanism, i)
        for _ in range(30):  # let it down until this contact touches
            q[2] -= mechanism.gaps(t0, q)[i]

        def gap(h, q=q, v=v, i=i):
            return mechanism.gaps(t0 + h, space.integrate(q, h * v))[i]

        def rates(h, q=q, v=v, i=i):
            return mechanism.terms(t0 + h, space.integrate(q, h * v), v, (i,)).rates

        terms = mechanism.terms(t0, q, v, (i,))
        assert mechanism.gaps(t0, q)[i] == pytest.approx(0.0, abs=1e-12)
        assert derivative(gap) == pytest.approx(terms.rates[0], rel=1e-8, abs=1e-8)
        close(derivative(rates), terms.bias, 1e-8)
        assert mechanism.rates(t0, q, v, (i,)) == pytest.approx(terms.rates, abs=1e-14)
        assert mechanism.gap_motion(t0, q, v, i)[:2] == pytest.approx((0.0, terms.rates[0]), abs=1e-11)


def test_a_flat_disc_is_held_by_its_points():
    """Flat, the rim does not touch; tilted, its points do not; both do in between, the rim not while points hold."""
    cylinder = cs.Robot.cylinder(1.0, 0.1, 0.3)
    mechanism = cylinder.bind(cs.terrain.Flat(), np.array([0.0, 0.0, -9.81]), True)
    held = mechanism.within({2: mechanism.region(np.zeros(7), 2)})
    for tilt, rim, points in ((0.0, False, True), (3.5e-8, True, True), (1e-3, True, False)):
        q = np.array([0.0, 0.0, 0.15, np.sin(0.5 * tilt), 0.0, 0.0, np.cos(0.5 * tilt)])
        gaps = mechanism.gaps(0.0, q)
        assert (gaps[0] < 1e-8) == rim
        assert held.gaps(0.0, q)[0] == held.gap_motion(0.0, q, np.zeros(6), 0).value == 1.0
        assert (np.abs(gaps[2:10]) < 2e-7).all() == points
        assert abs(gaps[0 if rim else 2 :][0]) < 1.1 * 0.1 * max(tilt, 1e-16)
        assert mechanism.gap_motion(0.0, q, np.zeros(6), 0).value == pytest.approx(gaps[0], abs=1e-16)


@pytest.mark.parametrize("restitution", [0.0, 0.3])
@pytest.mark.parametrize(
    ("radius", "spin"),
    [
        *((0.02, 0.5), (0.2, 0.5), (0.2, 0.02)),
        *(pytest.param(*slowly, marks=pytest.mark.slow) for slowly in ((0.05, 0.02), (0.05, 0.08), (0.2, 0.08))),
    ],
)
def test_a_standing_cylinder_tips_over_two_of_its_points(radius: float, spin: float, restitution: float) -> None:
    """Their rim, which lies below the chord between them, takes over, and bounces there or does not."""
    half, turned = 0.06, np.pi / 8
    system = cs.ContactSystem(cs.Robot.cylinder(1.0, radius, 2.0 * half, friction=0.6, restitution=restitution))
    chord = radius * np.cos(turned) * np.array([np.cos(turned), np.sin(turned), 0.0])
    w = spin * np.array([-np.sin(turned), np.cos(turned), 0.0])
    v = np.r_[np.cross(w, np.array([0.0, 0.0, half]) - chord), w]
    run = cs.simulate(system, cs.State(np.array([0.0, 0.0, half, 0.0, 0.0, 0.0, 1.0]), v), (0.0, 0.02))
    assert run.status.complete, run.message
    run.check()


def test_what_is_met_as_it_ceases_to_be_raised_goes_on_from_where_it_is():
    """Two points of a disc hold it, tilted about their chord: the rim between them is below the ground."""
    radius, turned, tilt = 0.2, np.pi / 8, 1.25e-8 * (1.0 - 1e-7)
    system = cs.ContactSystem(cs.Robot.cylinder(1.0, radius, 0.1, restitution=0.3))
    mechanism, axis = system.world.mechanism, np.array([-np.sin(turned), np.cos(turned), 0.0])
    q = np.r_[0.0, 0.0, 0.05 + radius * np.cos(turned) * tilt, 0.5 * tilt * axis, 1.0]
    assert mechanism.raised == set(range(len(mechanism.names)))
    assert 0.0 < mechanism.gaps(0.0, q)[0] < 2e-15
    below = -radius * (1.0 - np.cos(turned)) * tilt
    assert mechanism.met_gaps(0.0, q, np.array([0])) == pytest.approx([below], abs=1e-16)
    x = np.concatenate([q, np.zeros(6)])
    flow = system.flow(SystemMode((ContactState(),) * len(mechanism.names)))
    begun = flow.begun(0.0, x, flow.guards(0.0, x))
    assert begun[0] == pytest.approx(below, abs=1e-16)
    assert (begun[1:] == flow.guards(0.0, x)[1:]).sum() >= len(begun) - 3


def test_refusals():
    """An axis that is not of unit length, radii that are not positive, and rims on ground that bends and moves."""
    with pytest.raises(cs.InputError, match="axis of contact 'x' has length 2"):
        ContactRim("base", name="x", axis=(0.0, 0.0, 2.0), rim=0.1)
    with pytest.raises(cs.InputError, match="three positive numbers"):
        ContactEllipsoid("base", radii=(0.1, 0.0, 0.1))
    with pytest.raises(cs.InputError, match="is a rim, and the ground is curved and moves"):
        cs.ContactSystem(cs.Robot.cylinder(1.0, 0.1, 0.3), terrain=Bowl(2.0))
    for make in (cs.Robot.capsule, cs.Robot.cylinder):
        with pytest.raises(cs.InputError, match="the length of"):
            make(1.0, 0.1, 0.0)


@pytest.mark.parametrize(
    ("body", "moments"),
    [
        (cs.Robot.cylinder(2.0, 0.1, 0.3), [2 * (0.01 / 4 + 0.09 / 12)] * 2 + [0.01]),
        (cs.Robot.cone(2.0, 0.1, 0.3), [1.2 * (0.01 / 4 + 0.09 / 16)] * 2 + [0.006]),
        (cs.Robot.ellipsoid(5.0, (0.3, 0.2, 0.1)), [0.05, 0.1, 0.13]),
    ],
)
def test_inertia(body, moments):
    """Of even density."""
    assert np.diag(body.model.inertias[1].inertia) == pytest.approx(moments)


def test_inertia_of_a_capsule():
    """Against an integral over its volume."""
    r, length, mass = 0.1, 0.25, 2.0
    z = np.linspace(-0.5 * length - r, 0.5 * length + r, 200001)
    beyond = np.maximum(np.abs(z) - 0.5 * length, 0.0)
    square = np.maximum(r * r - beyond * beyond, 0.0)
    density = mass / np.trapezoid(square, z)
    across = np.trapezoid(square * (0.25 * square + z * z), z) * density
    along = np.trapezoid(0.5 * square**2, z) * density
    found = np.diag(cs.Robot.capsule(mass, r, length).model.inertias[1].inertia)
    assert found == pytest.approx([across, across, along], rel=1e-8)
