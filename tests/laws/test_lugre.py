"""LuGre against its paper, integrated independently: break-away, hysteresis, stick-slip; in space; at touch-down."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
from builders import TIGHT, single_body
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.common import registry
from contactsim.contact.laws import CompliantLaw, CompliantPoint

Array = np.ndarray
Applied = Callable[[float, float], float]

# Canudas de Wit and others 1995, table I: bristles [N/m, N s/m, N s/m], friction [N], speed [m/s], of a mass of 1 kg
SIGMA = 1e5, np.sqrt(1e5), 0.4
KINETIC, STATIC, SPEED = 1.0, 1.5, 1e-3
NO_LIMIT = 1e9  # of the damping, as published
STIFFNESS = 1e4  # N/m, of the ground: the weight of 1 N rests at an exact depth

PATH = 1e-9  # m and m/s, against an independent integration of 1e-10
BEND = 1e-13  # m, of bristles that bend by 1e-5
ROUNDING = 1e-12  # relative
SLOW = 1e-3  # relative, of what is left of Stribeck's curve at a creep of 1e-5 m/s
FLOW_DERIVATIVE = 1e-6  # relative, differences of runs of fourth order


def lugre(**parameters: float) -> CompliantLaw:
    return registry.load("contact_laws", "lugre")(**parameters)


def published() -> CompliantLaw:
    names = dict(zip(("bristle_stiffness", "bristle_damping", "viscous"), SIGMA, strict=True))
    return lugre(stiffness=STIFFNESS, damping=100.0, stribeck_speed=SPEED, damping_limit=NO_LIMIT, **names)


def block(applied: Applied) -> cs.ContactSystem:
    """The paper's mass with a weight of 1 N, so that forces over the normal force are newtons."""
    model = single_body(pin.JointModelTranslation(), 1.0, (0.0, 0.0, 0.0), "mass")
    robot = cs.Robot(model, [cs.ContactPoint("mass", friction=KINETIC, static_friction=STATIC, name="block")])

    def pull(t: float, q: Array, v: Array) -> Array:
        return np.array([applied(t, float(q[0])), 0.0, 0.0])

    return cs.ContactSystem(robot, law=published(), controller=pull, gravity=(0.0, 0.0, -1.0))


def run(applied: Applied, end: float, integrator: str = "Radau") -> cs.Trajectory:
    start = cs.State([0.0, 0.0, -1.0 / STIFFNESS], np.zeros(3))
    tolerances = cs.Tolerances(rtol=1e-9, atol=1e-13)  # bristles bend by 1e-5 m
    return cs.simulate(block(applied), start, (0.0, end), integrator=integrator, tolerances=tolerances)


def friction(y: Array) -> tuple[Array, Array]:
    """Friction [N] and rate of the bristles of states (x, v, z) along a line, from eq. (3) to (5) of the paper."""
    _, v, z = y
    level = KINETIC + (STATIC - KINETIC) * np.exp(-((v / SPEED) ** 2))
    rate = v - SIGMA[0] * np.abs(v) / level * z
    return SIGMA[0] * z + SIGMA[1] * rate + SIGMA[2] * v, rate


def independent(applied: Applied, end: float) -> Callable[[Array], Array]:
    """The states (x, v, z) of the paper's equations at times."""

    def rate(t: float, y: Array) -> list[float]:
        pull, bristles = friction(y)
        return [y[1], applied(t, y[0]) - pull, bristles]

    options = {"method": "Radau", "rtol": 1e-10, "atol": [1e-12, 1e-12, 1e-16], "dense_output": True}
    return solve_ivp(rate, (0.0, end), [0.0, 0.0, 0.0], **options).sol


def states(traj: cs.Trajectory, times: Array) -> Array:
    """(x, v, z) at times (3, n)."""
    return np.array([[s.q[0], s.v[0], s.z[0]] for s in map(traj, times)]).T


def assert_same(traj: cs.Trajectory, reference: Callable[[Array], Array], times: Array) -> None:
    found = states(traj, times)
    np.testing.assert_allclose(found[:2], reference(times)[:2], rtol=0, atol=PATH)
    np.testing.assert_allclose(found[2], reference(times)[2], rtol=0, atol=BEND)


# --- the paper's simulations ------------------------------------------------------------------------------------------
def pulled(t: float, x: float) -> float:
    """A spring of 2 N/m whose end moves at 0.1 m/s."""
    return 2.0 * (0.1 * t - x)


@pytest.mark.slow
def test_stick_slip_of_a_block_on_a_spring() -> None:
    """Sec. V: the block waits until the spring pulls with 1.5 N, jumps, and waits again while its bristles creep."""
    traj, reference, times = run(pulled, 20.0), independent(pulled, 20.0), np.linspace(0.0, 20.0, 101)
    assert_same(traj, reference, times)
    fine = np.linspace(0.0, 20.0, 20_001)
    _, v, z = reference(fine)
    starts = fine[1:][(v[:-1] < SPEED) & (v[1:] >= SPEED)]
    assert len(starts) == 2
    pulls = np.array([pulled(t, float(reference(t)[0])) for t in starts])
    assert np.all((pulls > 1.4) & (pulls < STATIC))  # it breaks away close to the static friction
    assert np.median(np.abs(v)) < 1e-4 < 0.1 < v.max()  # it stands most of the time, and overtakes the spring's end
    assert np.all(np.abs(SIGMA[0] * z) <= STATIC)


def test_break_away_force_falls_with_the_rate_of_the_force() -> None:
    """Sec. III: from close to the static friction for a slow ramp to close to the kinetic one for 50 N/s."""
    forces = []
    for rate in (1.0, 5.0, 20.0, 50.0):

        def ramp(t: float, x: float, rate: float = rate) -> float:
            return rate * t

        end = 1.45 / rate
        assert_same(run(ramp, end), independent(ramp, end), np.linspace(0.0, end, 21))
        times = np.linspace(0.0, 2.5 / rate, 2001)
        forces.append(friction(independent(ramp, times[-1])(times))[0].max())
    assert np.all(np.diff(forces) < 0.0)
    assert STATIC > forces[0] > 1.4 and KINETIC < forces[-1] < 1.1


def up_and_down(t: float, x: float) -> float:
    """95 % of the static friction, slowly: up, down, and up again [N]."""
    return 0.95 * STATIC * float(np.interp(t, [0.0, 2.0, 3.0, 7.0, 8.0, 12.0], [0.0, 1.0, 1.0, -1.0, -1.0, 1.0]))


def test_presliding_displacement_has_hysteresis() -> None:
    """Sec. III: a force below break-away moves the block by micrometres, like a spring that gives way."""
    traj, reference = run(up_and_down, 12.0), independent(up_and_down, 12.0)
    assert_same(traj, reference, np.linspace(0.0, 12.0, 61))
    for t in (0.2, 0.5, 1.0, 1.5):  # bristles that bend slowly: sigma_0 z = Fs (1 - exp(-sigma_0 x / Fs))
        x, _, z = states(traj, np.array([t]))[:, 0]
        assert SIGMA[0] * z == pytest.approx(-STATIC * np.expm1(-SIGMA[0] * x / STATIC), rel=SLOW)
    up, down = (reference(t)[0] for t in (10.0, 5.0))  # the force is zero on both branches
    assert down - up > 1e-6
    assert np.abs(reference(np.linspace(0.0, 12.0, 500))[0]).max() < 1e-4


# --- in space ---------------------------------------------------------------------------------------------------------
def turned(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def random_points(count: int = 200) -> list[CompliantPoint]:
    rng = np.random.default_rng(4)
    result = []
    for _ in range(count):
        bend = rng.normal(size=2)
        bend *= 0.9 * rng.uniform() / (1e3 * np.linalg.norm(bend))  # within the ball mu_s / sigma_0
        slip = rng.normal(size=2) * 10.0 ** rng.uniform(-5, 1)
        result.append(CompliantPoint(-1e-3, np.array([0.01, *slip]), bend, 0.6, 1, 0.9))
    return result


def test_the_law_is_isotropic() -> None:
    law, turn = lugre(viscous=0.1), turned(0.7)
    for point in random_points(20):
        force, rate = law.force(point)
        velocity = np.concatenate((point.velocity[:1], turn @ point.velocity[1:]))
        other, other_rate = law.force(point._replace(velocity=velocity, memory=turn @ point.memory))
        np.testing.assert_allclose(other[1:], turn @ force[1:], rtol=ROUNDING, atol=ROUNDING)
        np.testing.assert_allclose(other_rate, turn @ rate, rtol=ROUNDING, atol=ROUNDING)


def test_the_force_stays_within_the_static_cone_and_the_bristles_in_their_ball() -> None:
    law = lugre(bristle_damping=300.0)
    for point in random_points():
        force, _ = law.force(point)
        assert np.linalg.norm(force[1:]) <= point.static_friction * force[0] * (1 + ROUNDING)
        edge = point.memory / np.linalg.norm(point.memory) * point.static_friction / 1e3
        assert law.force(point._replace(memory=edge))[1] @ edge <= 1e-15  # on the ball no bristle bends further


@pytest.mark.parametrize("limit", [1.0, 4.0])
def test_the_law_is_passive(limit: float) -> None:
    """Friction takes at least what goes into the bristles; without the limit it may give energy."""

    def surplus(law: CompliantLaw, point: CompliantPoint) -> float:
        force, rate = law.force(point)
        stored = force[0] * law.parameters.bristle_stiffness * point.memory @ rate
        return float(-force[1:] @ point.velocity[1:] - stored)

    points = random_points()
    assert all(surplus(lugre(bristle_damping=300.0, damping_limit=limit), p) >= -ROUNDING for p in points)
    assert any(surplus(lugre(bristle_damping=300.0, damping_limit=NO_LIMIT), p) < -1e-3 for p in points)


def test_a_contact_without_friction_has_no_bristles() -> None:
    law = lugre()
    point = CompliantPoint(-1e-3, np.array([0.0, 1.0, 0.0]), np.array([1e-4, 0.0]), 0.0)
    force, rate = law.force(point)
    assert force[0] == 20.0 and not force[1:].any() and not rate.any()


# --- touch-down -------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_bristles_start_straight_at_each_touch_down_and_the_derivative_knows() -> None:
    """A point that bounces twice: what its bristles were before each touch-down does not matter after it."""
    model = single_body(pin.JointModelTranslation(), 1.0, (0.0, 0.0, 0.0), "mass")
    robot = cs.Robot(model, [cs.ContactPoint("mass", friction=0.4, static_friction=0.6, name="p")])
    system = cs.ContactSystem(robot, law=lugre(stiffness=5e3, damping=10.0, stribeck_speed=0.5))
    start = np.array([0.0, 0.0, 0.01, 2.0, 0.7, -0.6, 3e-4, -1e-4])
    tolerances = cs.Tolerances(**TIGHT)

    def through(x: Array) -> cs.Trajectory:
        return cs.simulate(system, system.state(x), (0.0, 0.22), integrator="DOP853", tolerances=tolerances)

    traj = through(start)
    landings = [event for event in traj.events if "gap" in {kind for kind, _ in event.fired}]
    assert len(landings) == 2
    for event in landings:
        assert event.state_pre.z.any() and not event.state_post.z.any()
    lin = cs.linearize(traj, tolerances=cs.Tolerances(rtol=1e-11, atol=1e-12))
    for event in (e for e in lin.events if "gap" in {kind for kind, _ in e.events[0].fired}):
        assert not event.saltation[6:, 6:].any()
    h = 1e-4 * np.array([1, 1, 1, 1, 1, 1, 1e-2, 1e-2])
    columns = []
    for k, step in enumerate(np.diag(h)):
        one, two = (through(start + f * step).final_x - through(start - f * step).final_x for f in (1, 2))
        columns.append((8 * one - two) / (12 * h[k]))
    found, expected = lin.matrix(), np.array(columns).T
    scale = np.maximum(np.abs(expected).max(axis=1, keepdims=True), 1e-3)
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=FLOW_DERIVATIVE)
    assert not found[:, 6:].any()
