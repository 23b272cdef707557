"""All compliant laws of the shelf: derivatives, parameters, Stribeck's curve, and the way to the rigid law."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from builders import TIGHT, G, single_body, sphere
from contactsim_plugins.laws.coulomb import Coulomb
from tolerances import PARAMETER

import contactsim as cs
from contactsim.cli import listings
from contactsim.common import registry
from contactsim.contact.laws import CompliantLaw, CompliantPoint
from contactsim.contact_dynamics.compliant_flow import law_jacobian

Array = np.ndarray
LAWS = [
    name for name in registry.names("contact_laws") if issubclass(registry.load("contact_laws", name), CompliantLaw)
]
PARAMETERS = [
    (name, parameter) for name in LAWS for parameter in registry.load("contact_laws", name).Parameters.model_fields
]
LAW_DERIVATIVE = 1e-9  # relative to the largest entry, against differences of fourth order
STEP = 1e-3  # of a parameter in differences of runs, relative to its size
RATE = 0.1  # by which a measured order may miss its value


def make(name: str, **parameters: float) -> CompliantLaw:
    return registry.load("contact_laws", name)(**parameters)


# --- derivatives of laws ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_jacobians(name: str, rows: int) -> None:
    law, rng = make(name), np.random.default_rng(rows)
    given = type(law).jacobian
    assert given is not CompliantLaw.jacobian
    for speed in (1e-3, 0.02, 1.0):
        velocity = np.array([-0.4, *(speed * rng.normal(size=rows - 1))])
        point = CompliantPoint(-2e-3, velocity, 2e-4 * rng.normal(size=law.memory), 0.6, 1, 0.8)
        exact = law_jacobian(law, point)
        assert exact.shape == (rows + law.memory, 1 + rows + law.memory)

        def values(shift: Array, point: CompliantPoint = point, law: CompliantLaw = law) -> Array:
            gap, velocity, memory = shift[0], shift[1 : 1 + rows], shift[1 + rows :]
            moved = point._replace(
                gap=point.gap + gap, velocity=point.velocity + velocity, memory=point.memory + memory
            )
            return np.concatenate(law.force(moved))

        columns = []
        for k, direction in enumerate(np.eye(1 + rows + law.memory)):
            h = direction * (1e-6 if k in (0, *range(1 + rows, 3 + rows)) else 1e-3 * speed)
            columns.append((8 * (values(h) - values(-h)) - (values(2 * h) - values(-2 * h))) / (12 * h.sum()))
        expected = np.array(columns).T
        np.testing.assert_allclose(exact, expected, rtol=0, atol=LAW_DERIVATIVE * np.abs(expected).max())


# --- derivatives of runs by parameters --------------------------------------------------------------------------------
def point_with(law: CompliantLaw) -> cs.ContactSystem:
    model = single_body(pin.JointModelTranslation(), 1.0, (0.0, 0.0, 0.0), "mass")
    robot = cs.Robot(model, [cs.ContactPoint("mass", friction=0.3, static_friction=0.5, name="point")])
    return cs.ContactSystem(robot, law=law)


SOFT = {"stiffness": 2e3, "damping": 15.0, "slip_speed": 0.05, "stribeck_speed": 0.5}
SOFT |= {"bristle_stiffness": 100.0, "bristle_damping": 0.1}


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_runs_are_differentiable_by_parameters(name: str, parameter: str) -> None:
    """A point that lands sliding, bounces and lands again, by every parameter of every law; also at a bound."""
    fields = registry.load("contact_laws", name).Parameters.model_fields
    soft = {key: value for key, value in SOFT.items() if key in fields}
    if name == "hunt-crossley":
        soft |= {"stiffness": 3e4, "damping": 0.4}
    system = point_with(make(name, **soft))
    start, tight = cs.State([0, 0, 0.02], [1.6, 0.6, -0.7]), cs.Tolerances(**TIGHT)
    full = f"law.{parameter}"

    def end(system: cs.ContactSystem) -> cs.Trajectory:
        return cs.simulate(system, start, (0.0, 0.15), integrator="DOP853", tolerances=tight)

    traj = end(system)
    assert len(traj.events) >= 2
    found = cs.linearize(traj, tolerances=cs.Tolerances(rtol=1e-11, atol=1e-14)).parameter(full)
    value = system.parameter(full)
    step = STEP * (value or 1.0)
    if value:
        one, two = (
            end(system.with_parameter(full, value + k * step)).final_x
            - end(system.with_parameter(full, value - k * step)).final_x
            for k in (1, 2)
        )
        expected = (8 * one - two) / (12 * step)
    else:  # viscous friction begins at zero
        runs = [end(system.with_parameter(full, k * step)).final_x for k in range(5)]
        expected = np.tensordot([-25, 48, -36, 16, -3], runs, axes=1) / (12 * step)
    assert np.abs(expected).max() > 0.0
    np.testing.assert_allclose(found, expected, rtol=0, atol=PARAMETER * np.abs(expected).max())


@pytest.mark.parametrize("law", LAWS)
def test_every_parameter_is_listed_with_default_unit_and_meaning(law: str) -> None:
    for row in listings.parameter_rows(registry.load("contact_laws", law).Parameters):
        assert row.unit and row.description and row.range, row
        assert float(row.default) >= 0.0


# --- Stribeck's curve -------------------------------------------------------------------------------------------------
def test_friction_follows_stribecks_curve() -> None:
    law = make("stribeck", slip_speed=1e-6, stribeck_speed=0.02, viscous=0.1)
    for speed in (1e-3, 0.02, 0.1, 1.0):
        point = CompliantPoint(-1e-3, np.array([0.0, 0.6 * speed, 0.8 * speed]), np.empty(0), 0.4, 1, 0.7)
        force = law.force(point)[0]
        expected = 0.4 + 0.3 * np.exp(-((speed / 0.02) ** 2)) + 0.1 * speed
        np.testing.assert_allclose(force[1:], -force[0] * expected * np.array([0.6, 0.8]), rtol=1e-6)


def test_friction_without_a_viscous_part_stays_within_the_static_cone() -> None:
    law = make("stribeck")
    for speed in 10.0 ** np.linspace(-6, 1, 50):
        force = law.force(CompliantPoint(-1e-3, np.array([0.0, speed, 0.0]), np.empty(0), 0.4, 1, 0.7))[0]
        assert 0.0 < -force[1] <= 0.7 * force[0]


def test_break_away_is_at_the_static_coefficient() -> None:
    """A point under a slowly growing force creeps until that is close to mu_s m g, and then slides off."""
    law = make("stribeck", slip_speed=1e-5, stribeck_speed=2e-2, stiffness=1e4)
    system = point_with(law)

    def grow(t: float, q: Array, v: Array) -> Array:
        return np.array([G * t, 0.0, 0.0])

    system = cs.ContactSystem(system.robot, law=law, controller=grow)
    traj = cs.simulate(system, cs.State([0, 0, -G / 1e4], np.zeros(3)), (0.0, 0.55))
    assert traj(0.49).v[0] < 1e-3 < 2e-2 < traj.final.v[0]


# --- the way to the rigid law -----------------------------------------------------------------------------------------
def order(errors: list[float], stiffness: list[float]) -> float:
    """Slope of -log(error) over log(stiffness)."""
    return -float(np.polyfit(np.log(stiffness), np.log(errors), 1)[0])


def kelvin_voigt_restitution(ratio: float) -> float:
    """e of a spring and a damper that are released where their force vanishes, with damping ratio zeta < 1."""
    damped = np.sqrt(1 - ratio**2)
    return float(np.exp(-ratio / damped * np.arctan2(2 * ratio * damped, 2 * ratio**2 - 1)))


def test_a_bounce_comes_closer_to_the_rigid_one_as_the_root_of_the_stiffness() -> None:
    """A spinning ball with restitution and friction: the contact lasts pi sqrt(m / k), all else is in the limit."""
    ratio = 0.3
    e = kelvin_voigt_restitution(ratio)
    turn = [0.0, 0.0, 0.0, 1.0]
    start = cs.State([0, 0, 0.2, *turn], [1.0, 0, -1.0, 0, -30.0, 0])
    span = (0.0, 0.15)
    rigid = cs.simulate(cs.ContactSystem(sphere(restitution=e)), start, span).final
    stiffness, errors = [1e5, 1e6, 1e7, 1e8], []
    for k in stiffness:
        law = make("spring-damper", stiffness=k, damping=2 * ratio * np.sqrt(k), slip_speed=1e-6)
        soft = cs.simulate(cs.ContactSystem(sphere(), law=law), start, span, integrator="DOP853").final
        errors.append(float(np.abs(np.concatenate([soft.q[:3] - rigid.q[:3], soft.v - rigid.v])).max()))
    assert order(errors, stiffness) == pytest.approx(0.5, abs=RATE)
    assert errors[-1] < 3 * 30.0 * np.pi / np.sqrt(stiffness[-1])  # the axes of v turn by 30 rad/s meanwhile


def test_a_slide_comes_closer_to_the_rigid_one_as_the_stiffness() -> None:
    """A point that lands without speed and slides: what differs is the depth m g / k, and friction by as much."""
    start, span = cs.State([0, 0, 0], [1.0, 0, 0]), (0.0, 0.2)
    robot = point_with(make("spring-damper")).robot
    rigid = cs.simulate(cs.ContactSystem(robot), start, span).final
    stiffness, errors = [1e4, 1e5, 1e6], []
    for k in stiffness:
        law = make("spring-damper", stiffness=k, damping=2 * np.sqrt(k), slip_speed=1e-8)
        soft = cs.simulate(cs.ContactSystem(robot, law=law), start, span).final
        errors.append(float(np.abs(np.concatenate([soft.q - rigid.q, soft.v - rigid.v])).max()))
    assert order(errors, stiffness) == pytest.approx(1.0, abs=RATE)


def test_a_law_derived_from_coulomb_may_have_parameters_of_its_own() -> None:
    class Own(cs.LawParameters):
        share: float = 0.5

    class Wet(Coulomb):
        Parameters = Own

    assert not Wet(share=0.2).jams
    assert Coulomb(painleve="impact").jams
