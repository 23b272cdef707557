"""Compliant laws: bounces in closed form, energy, and the derivatives of laws, fields and guards."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from builders import TIGHT, G, box, point_mass, sphere
from planar_biped import Biped
from pydantic import Field
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.common import registry
from contactsim.contact.laws import CompliantLaw, CompliantPoint, LawParameters
from contactsim.contact.modes import ContactState, Mode, Phase, SystemMode
from contactsim.contact_dynamics.compliant_flow import CompliantFlow, law_jacobian

Array = np.ndarray
LAWS = ("conservative", "dissipative", "switched-damping", "spring-damper")
PENALTIES = LAWS[:3]
BODIES: dict[str, Callable[[], cs.Robot]] = {"point": point_mass, "box": box, "sphere": sphere}

CONTACT_TIME = 1e-9  # s, length of a contact against its closed form
APEX = 1e-9  # m, height kept by a bounce without loss
GAIN = 1e-8  # J, rounding of the energy between two samples
LAW_DERIVATIVE = 1e-10  # of a law, relative to its largest entry, against differences of fourth order
FIELD_DERIVATIVE = 1e-9  # of a field or guard, relative to its largest entry, against differences of fourth order
STIFF_DERIVATIVE = 1e-6  # relative, of a bounce whose velocity changes with its place by up to 1e5 1/s
FLOW_DERIVATIVE = 2e-7  # relative, runs 2e-6 apart extrapolated to zero; each is exact to about 1e-12


def law(name: str, **parameters: float) -> CompliantLaw:
    return registry.load("contact_laws", name)(**parameters)


class BristleParameters(LawParameters):
    stiffness: float = Field(2e4, gt=0.0, description="normal stiffness [N/m]")
    bristle: float = Field(1e3, gt=0.0, description="stiffness of the bristles [1/m]")


class Bristles(CompliantLaw):
    """A law with memory and without a derivative of its own: bristles that bend as the contact slips."""

    Parameters = BristleParameters
    memory = 2

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        normal = -self.parameters.stiffness * point.gap - 50.0 * point.velocity[0]
        slip = point.velocity[1:]
        rate = slip - self.parameters.bristle * np.sqrt(slip @ slip + 1e-4) * point.memory
        return np.concatenate(([normal], -point.friction * self.parameters.bristle * normal * point.memory)), rate


# --- runs -------------------------------------------------------------------------------------------------------------
def thrown(body: str) -> tuple[cs.Robot, cs.State]:
    """A body a little above the ground, tilted, turning and moving sideways."""
    robot = BODIES[body]()
    q, v = np.array(robot.nominal, dtype=float), np.zeros(robot.nv)
    q[2] += 0.12
    v[0], v[2] = 0.3, -0.5
    if robot.nv == 6:
        q[3:7] = pin.Quaternion(pin.exp3(np.array([0.2, 0.1, 0.3]))).coeffs()
        v[3:] = 0.5, -0.3, 0.2
    return robot, cs.State(q, v)


def stored(system: cs.ContactSystem, x: Array) -> float:
    """Energy of the mechanism and of the springs of all contacts inside the ground [J]."""
    q, v = x[: system.nq], x[system.nq : system.nq + system.nv]
    inside = np.minimum(system.mechanism.gaps(0.0, q), 0.0)
    return system.mechanism.energy(q, v) + 0.5 * system.law.parameters.stiffness * float(inside @ inside)


def assert_energy_never_grows(traj: cs.Trajectory, keeps: bool = False) -> None:
    system = traj.system
    samples = [segment(t) for arc in traj.arcs for segment in arc.segments for t in (segment.t0, segment.t1)]
    energies = np.array([stored(system, x) for x in samples])
    assert np.all(np.diff(energies) <= GAIN)
    assert not keeps or np.ptp(energies) <= 10 * GAIN


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("body", BODIES)
def test_every_law_runs_and_never_gains_energy(name: str, body: str) -> None:
    robot, state = thrown(body)
    traj = cs.simulate(cs.ContactSystem(robot, law=name), state, (0.0, 0.6))
    assert traj.status.complete and traj.events
    traj.check()
    assert_energy_never_grows(traj, keeps=name == "conservative")


@pytest.mark.filterwarnings("ignore:overflow")  # a first trial step on the curved ground may go far too far
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", LAWS)
def test_biped_runs_under_every_law(name: str) -> None:
    biped = Biped()
    start = biped.both_touch() - np.array([0.02, 0.3, 0.0])
    system = cs.ContactSystem(biped.mechanism(), law=law(name, stiffness=2e3))
    traj = cs.simulate(system, cs.State(start, [0.0, 0.0, 0.1]), (0.0, 1.5))
    assert traj.status.complete and {"right", "left"} == {c for event in traj.events for c in event.contacts}
    traj.check()
    assert_energy_never_grows(traj, keeps=name == "conservative")


def bounce(ground: CompliantLaw, mass: float, gravity: float = 0.0) -> cs.Trajectory:
    """A point that meets the ground at t = 0.1 s (without gravity) and is through with it long before t = 1 s."""
    system = cs.ContactSystem(point_mass(mass=mass), law=ground, gravity=(0, 0, -gravity))
    start = cs.State([0, 0, 0.1], [0, 0, 0.0 if gravity else -1.0])
    return cs.simulate(system, start, (0.0, 0.25), tolerances=cs.Tolerances(**TIGHT))


def test_spring_bounce_without_gravity() -> None:
    """Half a period: pi sqrt(m / k)."""
    mass, k = 2.0, 5e3
    touch, leave = (traj := bounce(law("conservative", stiffness=k), mass)).events
    assert [*touch.transitions.values(), *leave.transitions.values()] == [
        (Mode.OPEN, Mode.CLOSED),
        (Mode.CLOSED, Mode.OPEN),
    ]
    assert touch.time == pytest.approx(0.1, abs=CONTACT_TIME)
    assert leave.time - touch.time == pytest.approx(np.pi * np.sqrt(mass / k), abs=CONTACT_TIME)
    assert traj.final.v[2] == pytest.approx(1.0, abs=APEX)


def test_spring_bounce_keeps_its_apex() -> None:
    """Contact lasts 2 (pi - atan(v w / g)) / w with w^2 = k / m."""
    mass, k = 2.0, 5e3
    traj = bounce(law("conservative", stiffness=k), mass, gravity=G)
    touch, leave = traj.events
    w, speed = np.sqrt(k / mass), np.sqrt(0.2 * G)
    assert touch.time == pytest.approx(speed / G, abs=CONTACT_TIME)
    assert leave.time - touch.time == pytest.approx(2 * (np.pi - np.arctan(speed * w / G)) / w, abs=CONTACT_TIME)
    assert traj.final.q[2] + traj.final.v[2] ** 2 / (2 * G) == pytest.approx(0.1, abs=APEX)


@pytest.mark.parametrize(("name", "share"), [("dissipative", 1.0), ("switched-damping", 0.5)])
def test_damped_bounce_without_gravity(name: str, share: float) -> None:
    """Half a damped period, pulling at its end: restitution exp(-pi d / w), d = c / 2m, w^2 = k / m - d^2."""
    mass, k, c = 2.0, 5e3, 30.0
    traj = bounce(law(name, stiffness=k, damping=c), mass)
    touch, leave = traj.events
    d = share * c / (2 * mass)
    w = np.sqrt(k / mass - d**2)
    assert leave.time - touch.time == pytest.approx(np.pi / w, abs=CONTACT_TIME)
    assert traj.final.v[2] == pytest.approx(np.exp(-np.pi * d / w), abs=APEX)
    assert traj.forces(leave.time, "-")["point"][2] == pytest.approx(-share * c * traj.final.v[2], abs=1e-6)


def test_law_that_may_not_pull_lets_go_earlier() -> None:
    """The force is zero at w t = pi - atan(2 w d / (w^2 - d^2)); the point then flies with what speed it has."""
    mass, k, c = 2.0, 5e3, 30.0
    touch, leave = bounce(law("spring-damper", stiffness=k, damping=c), mass).events[:2]
    d = c / (2 * mass)
    w = np.sqrt(k / mass - d**2)
    assert leave.time - touch.time == pytest.approx((np.pi - np.arctan2(2 * w * d, w**2 - d**2)) / w, abs=CONTACT_TIME)


def test_damping_doubles_when_the_second_foot_touches() -> None:
    biped = Biped()
    ground = law("switched-damping", stiffness=1e3, damping=8.0)
    system = cs.ContactSystem(biped.mechanism(), law=ground)
    q, v = biped.both_touch(), np.array([0.0, 1.0, 0.0])
    x = np.concatenate([q, v])
    closed, opened = ContactState(Mode.CLOSED), ContactState()
    alone = system.flow(SystemMode((closed, opened))).contact_forces(0.0, x)
    both = system.flow(SystemMode((closed, closed))).contact_forces(0.0, x)
    assert [alone[0][0], both[0][0], both[1][0]] == pytest.approx([4.0, 8.0, 8.0])


# --- derivatives ------------------------------------------------------------------------------------------------------
def differences(function: Callable[[Array], Array], size: int, h: float) -> Array:
    """Derivative by central differences of fourth order."""
    steps = h * np.eye(size)
    columns = [(8 * (function(e) - function(-e)) - (function(2 * e) - function(-2 * e))) / (12 * h) for e in steps]
    return np.column_stack(columns)


def assert_close(found: Array, expected: Array, relative: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=relative * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("touching", [1, 3])
def test_law_jacobians(name: str, rows: int, touching: int) -> None:
    ground = law(name)
    velocity = np.array([-0.4, 3e-3, -2e-3])[:rows]
    point = CompliantPoint(-2e-3, velocity, np.empty(0), 0.6, touching)

    def force(shift: Array) -> Array:
        return ground.force(point._replace(gap=point.gap + shift[0], velocity=velocity + shift[1:]))[0]

    exact = law_jacobian(ground, point)
    assert exact.shape == (rows, 1 + rows)
    assert_close(exact, differences(force, 1 + rows, 1e-6), LAW_DERIVATIVE)
    without = type("Without", (type(ground),), {"jacobian": CompliantLaw.jacobian})()
    assert_close(law_jacobian(without, point), exact, LAW_DERIVATIVE)


def test_law_jacobian_of_the_wrong_shape_is_refused() -> None:
    class Flat(Bristles):
        def jacobian(self, point: CompliantPoint) -> Array:
            return np.zeros((3, 4))

    with pytest.raises(cs.PluginError, match=r"Flat has shape \(3, 4\); return \(5, 6\)"):
        law_jacobian(Flat(), CompliantPoint(-1e-3, np.zeros(3), np.zeros(2)))


def swing(t: float, q: Array, v: Array) -> Array:
    """A controller that looks at everything."""
    return 0.3 * np.cos(np.arange(len(v)) + v) + 0.2 * np.sin(q[: len(v)])


def deep(body: str, ground: Any, controller: Any = None) -> tuple[cs.ContactSystem, Array, SystemMode]:
    """A system in the ground at a random state, its first contact released where the law may not pull."""
    rng = np.random.default_rng(7)
    terrain = cs.terrain.Slope(0.2, downhill=(1, 2))
    if body == "biped":
        biped = Biped(m=1.3, J=0.7, l=0.8, psi=0.4)
        robot: Any = biped.mechanism()
        q = biped.both_touch() + np.array([0.01, 0.05, 0.02])
    else:
        robot = BODIES[body]()
        q = robot.space.integrate(robot.nominal, 0.02 * rng.normal(size=robot.nv))
        q[2] -= 0.2
    system = cs.ContactSystem(robot, terrain=terrain, law=ground, controller=controller)
    x = np.concatenate([q, 0.3 * rng.normal(size=system.nv), 1e-3 * rng.normal(size=system.memory)])
    count = len(system.mechanism.all_names)
    states = [ContactState(Mode.CLOSED)] * count
    if count > 2:
        states[1] = ContactState()
    if count > 1 and not system.law.pulls:
        states[0] = ContactState(Mode.OPEN, Phase.RELEASED)
    return system, x, SystemMode(tuple(states))


CASES = [(body, name) for body in (*BODIES, "biped") for name in LAWS]
CASES += [(body, name) for body in ("sphere", "box") for name in ("bristles", "hunt-crossley", "stribeck", "lugre")]
CASES += [("biped", "lugre")]


@pytest.mark.parametrize("controller", [None, swing], ids=["free", "driven"])
@pytest.mark.parametrize(("body", "name"), CASES)
def test_field_and_guard_jacobians(body: str, name: str, controller: Any) -> None:
    ground = Bristles() if name == "bristles" else law(name, stiffness=2e3)
    system, x, mode = deep(body, ground, controller)
    flow, space = system.flow(mode), system.space(mode)
    assert isinstance(flow, CompliantFlow)
    t, h = 0.3, 2e-5

    def moved(function: Callable[[float, Array], Array]) -> Array:
        return differences(lambda dx: function(t, space.integrate(x, dx)), space.dim, h)

    assert_close(flow.jacobian(t, x), moved(flow.field), FIELD_DERIVATIVE)
    guards = moved(flow.guards)
    assert_close(flow.guard_jacobian(t, x, flow.guard_names), guards, FIELD_DERIVATIVE)
    last = flow.guard_names[-1:]
    assert_close(flow.guard_jacobian(t, x, last), guards[-1:], FIELD_DERIVATIVE)


def test_jacobian_of_a_robot_with_a_joint_beyond_its_limit() -> None:
    robot = cs.load_robot("hexapod")
    system = cs.ContactSystem(robot, law="spring-damper", controller=cs.PD(robot))
    rng = np.random.default_rng(5)
    q = robot.space.integrate(robot.nominal, 0.05 * rng.normal(size=robot.nv))
    x = np.concatenate([q, 0.2 * rng.normal(size=robot.nv)])
    closed = {0, 2, 3, len(robot.contacts)}  # three feet and one limit
    states = [ContactState(Mode.CLOSED) if i in closed else ContactState() for i in range(len(system.mechanism.dims))]
    flow, space = system.flow(SystemMode(tuple(states))), system.space()
    expected = differences(lambda dx: flow.field(0.0, space.integrate(x, dx)), space.dim, 2e-5)
    assert len(states) > len(robot.contacts)
    assert_close(flow.jacobian(0.0, x), expected, FIELD_DERIVATIVE)


def test_jacobian_with_a_sampled_controller_and_memory_of_the_law() -> None:
    system, x, mode = deep("sphere", Bristles(), cs.Sampled(swing, 0.01, 6))
    flow, space = system.flow(mode), system.space(mode)
    expected = differences(lambda dx: flow.field(0.3, space.integrate(x, dx)), space.dim, 2e-5)
    assert system.memory == 8
    assert_close(flow.jacobian(0.3, x), expected, FIELD_DERIVATIVE)


# --- the biped's touch-downs ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("psi", [0.3, 0.7])
def test_touch_downs_of_the_dissipative_law_commute(psi: float) -> None:
    """Eq. (17): nilpotent corrections, the same product in both orders."""
    biped = Biped(m=1.3, J=0.8, l=0.9, psi=psi)
    q, v = biped.both_touch(), np.array([0.2, 1.5, -0.1])
    one, other = (biped.in_order(q, v, *order, 2.0, 2.0) for order in (("left", "right"), ("right", "left")))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-14)


@pytest.mark.parametrize("beta", [1.0, 3.0])
@pytest.mark.parametrize("psi", [0.3, 0.7])
def test_touch_downs_of_the_switched_law_differ_as_published(psi: float, beta: float) -> None:
    """Eq. (19), with its sign; printed without a line for one of the six coordinates."""
    biped = Biped(psi=psi)
    q, v = biped.both_touch(), np.array([0.0, 1.5, 0.0])
    orders = (("left", "right"), ("right", "left"))
    one, other = (biped.in_order(q, v, *order, beta / 2, beta) for order in orders)
    expected = np.zeros((6, 6))
    expected[4, :3] = -4 * beta * np.cos(psi), 0.0, -2 * beta * (np.sin(2 * psi) + np.cos(psi))
    np.testing.assert_allclose(one - other, expected, rtol=0, atol=1e-14)


BEFORE, AFTER = 0.02, 0.01  # s, from the start to the touch-down of both feet, and from there to the end


def through_touch_down(biped: Biped, ground: CompliantLaw, offset: Array) -> Array:
    """The last state (6,) of a run that is off by `offset` (6,) at the touch-down of both feet."""
    fall = np.array([0.0, biped.g, 0.0])
    q, v = biped.both_touch(), np.array([0.0, 1.5, 0.0])
    q0 = q - BEFORE * v + 0.5 * BEFORE**2 * fall
    state = cs.State(q0 + offset[:3] - BEFORE * offset[3:], v - BEFORE * fall + offset[3:])
    system = cs.ContactSystem(biped.mechanism(), law=ground)
    traj = cs.simulate(system, state, (0.0, BEFORE + AFTER), tolerances=cs.Tolerances(**TIGHT))
    assert set(traj.mode_at(BEFORE + AFTER).values()) == {Mode.CLOSED} and len(traj.events) <= 2
    return np.concatenate([traj.final.q, traj.final.v])


def transported(flow: CompliantFlow, x: Array) -> Array:
    """Derivative (6, 6) of the motion over AFTER, by the variational equation."""

    def rate(t: float, y: Array) -> Array:
        return np.concatenate([flow.field(t, y[:6]), (flow.jacobian(t, y[:6]) @ y[6:].reshape(6, 6)).ravel()])

    start = np.concatenate([x, np.eye(6).ravel()])
    return solve_ivp(rate, (0.0, AFTER), start, rtol=1e-11, atol=1e-12).y[6:, -1].reshape(6, 6)


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize(
    "order", [("left", "right"), pytest.param(("right", "left"), marks=pytest.mark.slow_in_python)]
)
def test_simulated_touch_downs_follow_the_saltation_matrices(name: str, order: tuple[str, str]) -> None:
    beta, biped = 3.0, Biped(psi=0.6)
    ground = law(name, stiffness=400.0, **({} if name == "conservative" else {"damping": beta}))
    q, v = biped.both_touch(), np.array([0.0, 1.5, 0.0])
    alone, together = {"conservative": (0, 0), "dissipative": (beta, beta), "switched-damping": (beta / 2, beta)}[name]
    flow = cs.ContactSystem(biped.mechanism(), law=ground).flow(SystemMode((ContactState(Mode.CLOSED),) * 2))
    matrix = transported(flow, np.concatenate([q, v])) @ biped.in_order(q, v, *order, alone, together)
    centre, size = through_touch_down(biped, ground, np.zeros(6)), 2e-6
    for offset in np.random.default_rng(3).normal(size=(2, 6)):
        if (biped.normal(order[0], q) - biped.normal(order[1], q)) @ offset[:3] > 0.0:
            offset *= -1.0  # so that the feet touch in this order
        far, near = ((through_touch_down(biped, ground, h * offset) - centre) / h for h in (size, size / 2))
        assert_close(2 * near - far, matrix @ offset, FLOW_DERIVATIVE)


# --- the engine around a law ------------------------------------------------------------------------------------------
class Undifferentiated(Bristles):
    pass


def test_a_law_without_jacobian_is_differenced_and_says_so_once() -> None:
    point = CompliantPoint(-1e-3, np.zeros(3), np.zeros(2), 0.5)
    with pytest.warns(UserWarning, match=r"Undifferentiated has no jacobian: its derivatives are differences") as told:
        for _ in range(3):
            law_jacobian(Undifferentiated(), point)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        law_jacobian(law("lugre"), point)


def above_the_gate(t: float, q: Array, v: Array) -> float:
    return float(q[0]) - 0.5


def gated(start: float) -> cs.Trajectory:
    """A point that flies to the right over compliant ground that begins at x = 0.5 m."""
    robot = cs.Robot(point_mass().model, [cs.ContactPoint("mass", name="point", enabled=above_the_gate)])
    state = cs.State([start, 0, 0.1], [1.0, 0, 0])
    return cs.simulate(cs.ContactSystem(robot, law="conservative"), state, (0.0, 0.3))


def test_a_contact_closes_only_where_it_is_enabled() -> None:
    """It falls by 0.1 m in 0.143 s: through where there is no ground yet, and onto it where there is."""
    through, onto = gated(0.0), gated(0.4)
    assert through.final.q[2] == pytest.approx(0.1 - G / 2 * 0.3**2, abs=APEX) and not through.events
    assert [event.fired for event in onto.all_events[:2]] == [{("enable", 0)}, {("gap", 0)}]
    assert onto.all_events[0].time == pytest.approx(0.1, abs=CONTACT_TIME)
    assert onto.final.q[2] > 0.0
    lin = cs.linearize(onto)
    assert np.isfinite(lin.matrix()).all()


def test_a_contact_that_is_enabled_inside_the_ground_has_to_come_out_first() -> None:
    """It dips below the level at 0.14 s, is enabled there at 0.2 s, is pulled out by a force, and lands from above."""
    robot = cs.Robot(point_mass().model, [cs.ContactPoint("mass", name="point", enabled=above_the_gate)])
    state = cs.State([0.3, 0, 0.1], [1.0, 0, 0])

    def lift(t: float, q: Array, v: Array) -> Array:
        return np.array([0.0, 0.0, 100.0 if 0.2 < t < 0.26 else 0.0])

    system = cs.ContactSystem(robot, law="conservative", controller=lift)
    traj = cs.simulate(system, state, (0.0, 1.1), tolerances=cs.Tolerances(max_step=0.01))
    kinds = [kind for event in traj.all_events for kind, _ in event.fired]
    assert kinds[:3] == ["enable", "clear", "gap"]
    assert traj.all_events[0].state_post.q[2] < -0.05
    assert not traj.forces(0.25)["point"].any()
    landing = traj.all_events[2]
    assert landing.state_pre.v[2] < 0.0 and landing.transitions == {"point": (Mode.OPEN, Mode.CLOSED)}


@pytest.mark.parametrize("stiffness", [1e4, 1e6, 1e8, 1e10])
def test_stiff_ground_is_left_once(stiffness: float) -> None:
    """A force of 1e7 N that vanishes within microseconds is known to 1e-6 N only; that rounding is no event."""
    ground = law("spring-damper", stiffness=stiffness, damping=0.2 * np.sqrt(stiffness))
    system = cs.ContactSystem(point_mass(), law=ground, gravity=(0, 0, 0))
    traj = cs.simulate(system, cs.State([0, 0, 0.1], [0, 0, -10.0]), (0.0, 0.5))
    assert [kind for event in traj.all_events for kind, _ in event.fired] == ["gap", "release", "clear"]
    undamped = cs.ContactSystem(
        point_mass(), law=law("spring-damper", stiffness=stiffness, damping=0.0), gravity=(0, 0, 0)
    )
    start, tight = cs.State([0, 0, 0.1], [0, 0, -10.0]), cs.Tolerances(**TIGHT)
    traj = cs.simulate(undamped, start, (0.0, 0.5), integrator="DOP853", tolerances=tight)
    assert traj.final.v[2] == pytest.approx(10.0, abs=APEX)
    assert len(traj.all_events) <= 3
    # z(T) = -v0 (T - pi sqrt(m / k)) - z0
    derivative = cs.linearize(traj, tolerances=cs.Tolerances(rtol=1e-11, atol=1e-12)).matrix()[2]
    np.testing.assert_allclose(derivative[[2, 5]], [-1.0, np.pi / np.sqrt(stiffness) - 0.5], rtol=STIFF_DERIVATIVE)
