"""Discs on ground that gives way: they land flat, slide, rock, roll and come to rest, by forces without a jump."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import brentq

import contactsim as cs
from contactsim.common import registry
from contactsim.contact.modes import ContactState, Mode, SystemMode
from contactsim.multibody.kinematics.curved_contacts import BULGE

Array = np.ndarray
RADIUS, HALF, MASS = 0.1, 0.1, 1.0  # m, m, kg
K, P = 1e6, 1.5  # of hunt-crossley by default
TIGHT = cs.Tolerances(1e-11, 1e-13)
LINEAR = 1e-6  # of derivatives against differences of runs, relative to the largest number
ENERGY = 1e-8  # J, of some 0.1 J

BODIES = {
    "drum": (lambda: cs.Robot.cylinder(MASS, RADIUS, 2.0 * HALF, friction=0.5), RADIUS),
    "coin": (lambda: cs.Robot.cylinder(0.01, 0.0125, 0.002, friction=0.3), 0.0125),
    "cone": (lambda: cs.Robot.cone(MASS, 0.1, 0.2, friction=0.5), 0.1),
}


def drum(law: object = "hunt-crossley", friction: float = 0.5, **given: object) -> cs.ContactSystem:
    return cs.ContactSystem(cs.Robot.cylinder(MASS, RADIUS, 2.0 * HALF, friction=friction), law=law, **given)


def placed(height: float, tilt: float, v: Array, towards: float = 0.7) -> cs.State:
    """Tilted by an angle about a level axis."""
    turn = pin.exp3(tilt * np.array([np.cos(towards), np.sin(towards), 0.0]))
    return cs.State(np.r_[0.0, 0.0, height, pin.Quaternion(turn).coeffs()], v)


def sliding(tilt: float = 0.0, spin: float = 0.0) -> cs.State:
    """A millimetre above the ground after a fall from a centimetre, with sideways speed."""
    return placed(HALF + 0.001 + RADIUS * tilt, tilt, np.r_[0.3, 0.0, -0.42, 0.0, 0.0, spin])


def tilt_of(q: Array) -> float:
    return float(np.hypot(*pin.Quaternion(q[3:7]).matrix()[:2, 2]))


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("law", ["hunt-crossley", "spring-damper"])
def test_a_cylinder_lands_flat_and_slides(law: str, engine: str) -> None:
    """It tips by friction, and its lowest point crosses the disc time and again."""
    if engine == "native":
        pytest.importorskip("contactsim_native._native")
    run = cs.simulate(drum(law), sliding(), (0.0, 0.025), engine=engine)
    assert run.status is cs.Status.FINISHED, run.message
    assert tilt_of(run.final.q) > 1e-5
    if engine == "native":
        run.check()


@pytest.mark.slow_in_python
@pytest.mark.parametrize("law", ["hunt-crossley", "spring-damper"])
@pytest.mark.parametrize(("name", "tilt", "spin"), [("drum", 0.0, 0.0), ("drum", 1e-6, 5.0), ("cone", 1e-2, 5.0)])
def test_bodies_come_to_rest_on_their_ends(name: str, tilt: float, spin: float, law: str) -> None:
    make, radius = BODIES[name]
    system = cs.ContactSystem(make(), law=law)
    level = -min(system.gaps(placed(0.0, 0.0, np.zeros(6))).values())
    start = placed(level + radius * tilt + 0.003, tilt, np.r_[0.2, 0.05, 0.0, 0.0, 0.0, spin])
    run = cs.simulate(system, start, (0.0, 2.0))
    assert run.status is cs.Status.FINISHED, run.message
    assert tilt_of(run.final.q) < 2e-5
    assert np.abs(run.final.v).max() < 2e-3


@pytest.mark.slow_in_python
@pytest.mark.parametrize("name", BODIES)
def test_bodies_land_at_any_tilt(name: str) -> None:
    """Small and large, with a spin and without."""
    make, radius = BODIES[name]
    system = cs.ContactSystem(make(), law="spring-damper")
    level = -min(system.gaps(placed(0.0, 0.0, np.zeros(6))).values())
    for k, tilt in enumerate(10.0 ** np.arange(-6, 0)):
        start = placed(level + radius * tilt + 0.001, tilt, np.r_[0.2, 0.05, 0.0, 0.0, 0.0, 5.0 * (k % 2)])
        run = cs.simulate(system, start, (0.0, 0.1))
        assert run.status is cs.Status.FINISHED, (tilt, run.message)
        assert run.events


def forces_at(system: cs.ContactSystem, state: cs.State) -> dict[str, Array]:
    """Of all contacts of the lower end, as they touch."""
    names = system.world.mechanism.names
    touching = [ContactState(Mode.CLOSED) if name.startswith("cylinder/0") else ContactState() for name in names]
    return system.forces(0.0, system.pack(state), SystemMode(tuple(touching)))


def acceleration_at(system: cs.ContactSystem, state: cs.State) -> Array:
    x = system.pack(state)
    return system.flow(system.start(0.0, x).mode).field(0.0, x)[6:12]


@pytest.mark.parametrize("law", ["hunt-crossley", "spring-damper"])
def test_forces_have_no_jump_across_zero_tilt(law: str) -> None:
    """All that moves changes as little as the tilt does, about any axis; what can tip moves by its inertia 0.006."""
    system, v = drum(law), np.array([0.2, 0.1, -0.05, 0.3, -0.2, 2.0])
    flat = acceleration_at(system, placed(HALF - 1e-4, 0.0, v))
    for towards in np.linspace(0.0, 2.0 * np.pi, 5):
        for tilt in (1e-10, 1e-8, 1e-7):
            found = acceleration_at(system, placed(HALF - 1e-4, tilt, v, towards))
            assert np.abs(found - flat).max() < 1e7 * tilt


def rest_depth() -> float:
    """8 k d^p + k (d + b)^p = m g, of eight points and a rim."""
    bulge = BULGE * RADIUS
    return float(brentq(lambda d: K * (8.0 * d**P + (d + bulge) ** P) - MASS * 9.81, 0.0, 1e-3, xtol=1e-18))


def test_a_cylinder_at_rest_sinks_as_told_and_is_carried() -> None:
    system, depth = drum(), rest_depth()
    state = placed(HALF - depth, 0.0, np.zeros(6))
    forces = forces_at(system, state)
    assert sum(forces.values())[2] == pytest.approx(MASS * 9.81, rel=1e-10)
    assert forces["cylinder/0"][2] == pytest.approx(K * (depth + BULGE * RADIUS) ** P, rel=1e-9)
    assert forces["cylinder/0/3"][2] == pytest.approx(K * depth**P, rel=1e-9)
    assert np.abs(acceleration_at(system, state)).max() < 1e-8


def test_points_are_as_hard_to_tip_as_a_disc_that_presses_evenly() -> None:
    """Of a linear spring k in all, k R^2 / 4 for each radian, about any axis: here of eight points, and no rim."""
    law, depth, tilt = registry.load("contact_laws", "hunt-crossley")(exponent=1.0), 1e-4, 1e-6
    system = drum(law)
    for towards in (0.0, 0.2, 1.0):
        state = placed(HALF - depth, tilt, np.zeros(6), towards)
        torque, mechanism = np.zeros(2), system.world.mechanism
        for name, force in forces_at(system, state).items():
            if name.startswith("cylinder/0/"):
                x, y = mechanism.lowest_points(state.q)[mechanism.names.index(name)][:2]
                torque += force[2] * np.array([y, -x])
        lean = tilt * np.array([np.cos(towards), np.sin(towards)])
        aside = 8.0 * K * HALF * depth * lean  # they are below the middle of the drum
        stiffness = 8.0 * K * RADIUS**2 / 4.0
        assert torque == pytest.approx(aside - stiffness * lean, abs=1e-3 * stiffness * tilt)


@pytest.mark.parametrize("tilt", [2e-4, 3e-3])
def test_forces_are_those_of_a_potential(tilt: float) -> None:
    """Without damping and friction a drum that rocks keeps its energy, with k d^(p + 1) / (p + 1) of each contact."""
    system = drum(registry.load("contact_laws", "hunt-crossley")(damping=0.0), friction=0.0)
    run = cs.simulate(system, placed(HALF - 2e-5, tilt, np.zeros(6)), (0.0, 0.02), tolerances=TIGHT)

    def energy(q: Array, v: Array) -> float:
        depths = np.maximum(0.0, -system.world.mechanism.gaps(0.0, q))
        return system.energy(np.r_[q, v]) + float((K * depths ** (P + 1.0) / (P + 1.0)).sum())

    states = run.sample(np.linspace(0.0, 0.02, 201))
    found = np.array([energy(q, v) for q, v in zip(states.q, states.v, strict=True)])
    assert min(tilt_of(q) for q in states.q) < 0.2 * tilt
    assert np.abs(found - found[0]).max() < ENERGY


@pytest.mark.slow_in_python
@pytest.mark.parametrize(("law", "tilt"), [("hunt-crossley", 1e-3), ("spring-damper", 1e-5)])
def test_derivatives_of_a_landing(law: str, tilt: float) -> None:
    """Against differences of runs, along a direction of all coordinates."""
    system = drum(law)
    x, space, end = system.pack(sliding(tilt, 2.0)), system.world.space, 0.02

    def run(way: Array) -> cs.Trajectory:
        moved = space.integrate(x, way)
        return cs.simulate(system, cs.State(moved[:7], moved[7:]), (0.0, end), tolerances=TIGHT)

    middle = run(np.zeros(12))
    assert len(middle.events) >= 9
    matrix = cs.linearize(middle).matrix()
    way, h = np.random.default_rng(0).normal(size=12), 1e-7
    ahead, behind = run(h * way).final_x, run(-h * way).final_x
    found = (space.difference(middle.final_x, ahead) - space.difference(middle.final_x, behind)) / (2.0 * h)
    assert np.abs(found - matrix @ way).max() < LINEAR * np.abs(matrix).max()


@pytest.mark.parametrize("lean", [0.0, 0.3, 1.2])
def test_what_is_tilted_rolls_as_before(lean: float) -> None:
    """By its rim alone, whose gap and rows are those of a circle but for b^2 c^2 / (2 R s) and b^2 / (R s^2)."""
    systems = [cs.ContactSystem(BODIES["drum"][0](), law=law) for law in ("hunt-crossley", "coulomb")]
    tilt = 0.5 * np.pi - lean
    height = RADIUS * np.sin(tilt) + HALF * np.cos(tilt) - 1e-3
    state = placed(height, tilt, np.array([0.3, -0.2, 0.1, 2.0, 1.0, -3.0]))
    soft, rigid = (system.world.mechanism for system in systems)
    gaps, expected = (mechanism.gaps(0.0, state.q) for mechanism in (soft, rigid))
    bulge, c, s = BULGE * RADIUS, np.cos(tilt), np.sin(tilt)
    assert gaps[0] == pytest.approx(expected[0], abs=bulge**2 * c**2 / (2.0 * RADIUS * s) + 1e-15)
    assert gaps[2:].min() > 0.0
    terms = [mechanism.terms(0.0, state.q, state.v, (0,)) for mechanism in (soft, rigid)]
    assert np.allclose(terms[0].rows, terms[1].rows, rtol=0.0, atol=bulge**2 / (RADIUS * s**2))


@pytest.mark.slow_in_python
def test_a_cylinder_lands_on_soft_hills() -> None:
    """Where the ground is hollow, too: a disc bulges by twice as much as the ground does across it."""
    system = cs.ContactSystem(BODIES["drum"][0](), terrain=cs.terrain.Sinusoid(0.01, 0.0, 0.5), law="spring-damper")
    v = np.r_[0.3, 0.0, -0.1, 0.0, 0.0, 0.0]
    level = HALF - min(system.gaps(placed(HALF, 0.0, v)).values())
    run = cs.simulate(system, placed(level + 1e-4, 0.0, v), (0.0, 0.006))
    assert run.status is cs.Status.FINISHED, run.message
    assert run.events
