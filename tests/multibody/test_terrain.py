"""Ground surfaces: the general rows against those of a plane, against finite differences, and against a pendulum."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from builders import point_mass
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.multibody.terrain import Surface, Terrain

G = 9.81


class AsSurface(Terrain):
    """A plane that does not say so: contacts take the rows of a curved ground."""

    def __init__(self, plane: Terrain) -> None:
        self._plane = plane

    def plane(self) -> None:
        return None

    def surface(self, t: float, points: np.ndarray) -> Surface:
        return self._plane.surface(t, points)


class Bowl(Terrain):
    """The inside of a sphere whose centre moves: c(t) = (0, 0, radius) + shake sin(2 t) (1, 0.5, 0.3)."""

    def __init__(self, radius: float, shake: float = 0.0) -> None:
        self._radius, self._shake = radius, shake

    def plane(self) -> None:
        return None

    def surface(self, t: float, points: np.ndarray) -> Surface:
        axis = self._shake * np.array([1.0, 0.5, 0.3])
        centre = np.array([0.0, 0.0, self._radius]) + axis * np.sin(2 * t)
        speed, acceleration = 2 * axis * np.cos(2 * t), -4 * axis * np.sin(2 * t)
        arm = centre - points
        length = np.linalg.norm(arm, axis=1)
        normal = arm / length[:, None]
        across = np.eye(3) - np.einsum("ki,kj->kij", normal, normal)
        hessian = -across / length[:, None, None]
        return Surface(
            self._radius - length,
            normal,
            hessian,
            -normal @ speed,
            np.einsum("kij,j->ki", across, speed) / length[:, None],
            -normal @ acceleration - np.einsum("i,kij,j->k", speed, across, speed) / length,
            np.tile(speed, (len(points), 1)),
            np.tile(acceleration, (len(points), 1)),
        )


def random_state(robot: cs.Robot, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = robot.space.integrate(robot.nominal, 0.2 * rng.normal(size=robot.nv))
    return q, rng.normal(size=robot.nv), rng.normal(size=robot.nv)


@pytest.mark.parametrize("name", ["solo12", "hexapod"])
@pytest.mark.parametrize("ground", [cs.terrain.Flat(0.1, velocity=(0.3, -0.2)), cs.terrain.Slope(0.4, downhill=(1, 2))])
def test_general_rows_are_those_of_a_plane(name: str, ground: Terrain) -> None:
    robot = cs.load_robot(name)
    q, v, _ = random_state(robot, 3)
    contacts = (0, 2, 3)
    gravity = np.array([0.0, 0.0, -G])
    plane, general = robot.bind(ground, gravity), robot.bind(AsSurface(ground), gravity)
    np.testing.assert_allclose(general.gaps(0.0, q), plane.gaps(0.0, q), atol=1e-14)
    for one, other in zip(plane.terms(0.0, q, v, contacts), general.terms(0.0, q, v, contacts), strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-11)


@pytest.mark.parametrize("radius", [0.0, 0.03])
@pytest.mark.parametrize("ground", [Bowl(2.0), Bowl(1.5, shake=0.2), cs.terrain.Slope(0.3)])
def test_rows_against_finite_differences(ground: Terrain, radius: float) -> None:
    """d gap/dt = z_n, and d z/dt = J a + bias along any motion."""
    robot = cs.load_robot("solo12")
    robot = robot.with_contacts([cs.ContactPoint(c.frame, radius=radius, name=c.name) for c in robot.contacts])
    bound = robot.bind(ground, np.array([0.0, 0.0, -G]))
    q, v, a = random_state(robot, 11)
    t, h, contacts = 0.4, 1e-5, (0, 1, 2, 3)
    terms = bound.terms(t, q, v, contacts)

    def at(step: float) -> tuple[np.ndarray, np.ndarray]:
        q1 = robot.space.integrate(q, step * v + 0.5 * step**2 * a)
        return bound.gaps(t + step, q1)[:4], bound.terms(t + step, q1, v + step * a, contacts).rates

    (ahead, fast), (behind, slow) = at(h), at(-h)
    np.testing.assert_allclose((ahead - behind) / (2 * h), terms.rates[::3], atol=2e-8)
    np.testing.assert_allclose((fast - slow) / (2 * h), terms.rows @ a + terms.bias, atol=2e-7)


def test_point_slides_in_a_bowl_like_a_pendulum() -> None:
    radius, start = 1.2, 0.9
    ground = Bowl(radius)
    place = radius * np.array([np.sin(start), 0.0, 1.0 - np.cos(start)])
    traj = cs.simulate(
        cs.ContactSystem(point_mass(friction=0.0), terrain=ground), cs.State(place, np.zeros(3)), (0, 3.0)
    )
    swing = solve_ivp(lambda t, y: [y[1], -G / radius * np.sin(y[0])], (0, 3.0), [start, 0.0], rtol=1e-12, atol=1e-13)
    angle = swing.y[0, -1]
    np.testing.assert_allclose(traj.final.q, radius * np.array([np.sin(angle), 0.0, 1.0 - np.cos(angle)]), atol=1e-8)
    report = traj.check()
    assert report["penetration [m]"] < 1e-9


def test_belt_carries_a_box_away() -> None:
    """A point on a belt of speed u is dragged with mu g until it moves with the belt."""
    mu, u = 0.4, 0.7
    ground = cs.terrain.Flat(velocity=(u, 0.0))
    traj = cs.simulate(
        cs.ContactSystem(point_mass(friction=mu), terrain=ground), cs.State(np.zeros(3), np.zeros(3)), (0, 1)
    )
    (event,) = traj.events
    assert event.time == pytest.approx(u / (mu * G), abs=1e-9)
    np.testing.assert_allclose(traj.final.q[0], u * (1.0 - event.time / 2), atol=1e-9)


def test_slope_across_the_plane_of_a_planar_robot_is_refused() -> None:
    joint = pin.JointModelComposite(3)
    for part in (pin.JointModelPX(), pin.JointModelPZ(), pin.JointModelRY()):
        joint.addJoint(part)
    model = pin.Model()
    index = model.addJoint(0, joint, pin.SE3.Identity(), "root")
    model.appendBodyToJoint(index, pin.Inertia(1.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("body", index, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    robot = cs.Robot(model, [cs.ContactPoint("body")])
    with pytest.raises(cs.InputError, match="downhill"):
        cs.ContactSystem(robot, terrain=cs.terrain.Slope(0.1, downhill=(0, 1)))


@pytest.mark.parametrize(
    "ground",
    [
        cs.terrain.Flat(0.0, velocity=(0.2, 0.1)),
        cs.terrain.Sinusoid(0.03, 1.0, 2.0),
        cs.terrain.Moving(cs.terrain.Flat(), cs.terrain.Oscillation((0.0, 0.0, 0.003), 3.0)),
        Bowl(2.0, shake=0.1),
    ],
    ids=["belt", "hills", "shaken", "bowl"],
)
@pytest.mark.parametrize("name", ["hexapod", "a1"])
def test_velocities_alone_are_those_of_the_rows(name: str, ground: Terrain) -> None:
    """Of points, of limits of joints, of both and of none, whatever the data held before."""
    robot, rng = cs.load_robot(name), np.random.default_rng(1)
    mechanism = cs.ContactSystem(robot, terrain=ground, joint_limits=True).mechanism
    q, v = mechanism.space.integrate(robot.nominal, 0.1 * rng.normal(size=mechanism.nv)), rng.normal(size=mechanism.nv)
    points, every = len(mechanism.names), len(mechanism.dims)
    assert every > points
    for contacts in ((), (0,), tuple(range(points)), (0, points), (points,), tuple(range(every))):
        wanted = mechanism.terms(0.3, q, v, contacts).rates
        mechanism.terms(0.0, robot.nominal, np.zeros(mechanism.nv), contacts)
        np.testing.assert_allclose(mechanism.rates(0.3, q, v, contacts), wanted, rtol=0.0, atol=1e-13)
