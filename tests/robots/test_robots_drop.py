"""Real robots dropped on their feet: the run's own check, and every law evaluated again by other means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest
import tolerances as tol

import contactsim as cs

Array = np.ndarray
DROP, END = 0.3, {"flat": 2.0, "thrown": 1.0}
GAINS = {"solo12": (10.0, 0.4), "go2": (80.0, 3.0), "hexapod": (60.0, 2.0), "biped": (60.0, 2.0)}
NAMES = list(GAINS)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(5)
pytestmark = pytest.mark.slow


class Evaluation:
    """Gaps, contact velocities, energy and power of a robot, from pinocchio and the definitions alone."""

    def __init__(self, robot: cs.Robot, kp: float, kd: float) -> None:
        self.model, self.contacts = robot.model, robot.contacts
        self.data = self.model.createData()
        self.reference = np.array(robot.nominal, dtype=float)
        self.kp, self.kd = kp, kd
        root = self.model.joints[1]
        self.actuated = np.ones(self.model.nv)
        self.actuated[root.idx_v : root.idx_v + root.nv] = 0.0

    def torque(self, q: Array, v: Array) -> Array:
        return self.actuated * (self.kp * pin.difference(self.model, q, self.reference) - self.kd * v)

    def place(self, q: Array, v: Array) -> None:
        pin.forwardKinematics(self.model, self.data, q, v)
        pin.computeJointJacobians(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)

    def lowest_points(self) -> Array:
        """Lowest points (nc, 3) of the contacts, after `place`."""
        return np.array(
            [
                self.data.oMf[self.model.getFrameId(c.frame)].act(np.array(c.offset)) - [0.0, 0.0, c.radius]
                for c in self.contacts
            ]
        )

    def pull_of_a_hop(self, q: Array, v: Array, row: Array) -> float:
        """The impulse m sqrt(2 a h) [N s] that stops a hop too low to be followed, of the height h = Tolerances.hop.

        By the mass m and the acceleration a of the contact alone, which without its force falls off the ground.
        """
        across = np.linalg.solve(self.mass(q), row)
        free = self.torque(q, v) - pin.nonLinearEffects(self.model, pin.Data(self.model), q, v)
        return float(np.sqrt(2.0 * abs(across @ free) * cs.Tolerances().hop) / (row @ across))

    def jacobians(self) -> list[Array]:
        """Jacobian (3, nv) of the material point at the lowest point of each contact, world axes, after `place`."""
        result = []
        for contact, point in zip(self.contacts, self.lowest_points(), strict=True):
            frame = self.model.getFrameId(contact.frame)
            J = pin.getFrameJacobian(self.model, self.data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            arm = point - self.data.oMf[frame].translation
            result.append(J[:3] - pin.skew(arm) @ J[3:])
        return result

    def energy(self, q: Array, v: Array) -> float:
        kinetic = pin.computeKineticEnergy(self.model, self.data, q, v)
        return kinetic + pin.computePotentialEnergy(self.model, self.data, q)

    def mass(self, q: Array) -> Array:
        M = pin.crba(self.model, self.data, q)
        M = np.triu(M) + np.triu(M, 1).T
        return M


def dropped(name: str, how: str) -> tuple[cs.Trajectory, Evaluation]:
    """A run from DROP above the ground: "flat" on all feet at once, or "thrown" askew with a sideways velocity."""
    robot = cs.load_robot(name)
    contacts = [replace(contact, enabled=None) for contact in robot.contacts]  # the biped's feet may scuff as it walks
    nominal, robot = robot.nominal, cs.Robot(robot.model, contacts=contacts, nominal=robot.nominal)
    kp, kd = GAINS[name]
    own = Evaluation(robot, kp, kd)
    q, v = np.array(nominal, dtype=float), np.zeros(robot.nv)
    height = 2 if robot.model.joints[1].nv == 6 else 1  # where the root's height stands in q
    if how == "thrown" and height == 2:
        q[3:7] = pin.Quaternion(pin.exp3(np.array([0.12, -0.1, 0.4]))).coeffs()
        v[:3] = pin.Quaternion(q[3:7]).toRotationMatrix().T @ [0.5, 0.2, 0.0]
    elif how == "thrown":
        q[2] += 0.1
        v[0] = 0.5
    own.place(q, v)
    q[height] += DROP - own.lowest_points()[:, 2].min()
    system = cs.ContactSystem(robot, controller=cs.PD(robot, nominal, kp=kp, kd=kd))
    return cs.simulate(system, cs.State(q, v), (0.0, END[how])), own


def quadrature(traj: cs.Trajectory) -> Iterator[tuple[float, float]]:
    """Gauss points (t, weight) between all samples of the run; no point is an event."""
    times = np.unique(traj.t)
    for a, b in pairwise(times):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            yield (a + b) / 2 + node * (b - a) / 2, weight * (b - a) / 2


# Thrown askew, go2 and the hexapod chatter through thousands of impacts of feet that slide: a matter of Zeno limits.
RUNS = [(name, "flat") for name in NAMES] + [("solo12", "thrown"), ("biped", "thrown")]


@pytest.mark.parametrize(("name", "how"), RUNS)
def test_dropped_robot(name: str, how: str) -> None:
    traj, own = dropped(name, how)
    assert traj.status is cs.Status.FINISHED, traj.message
    assert traj.t[-1] == END[how]
    traj.check()
    assert any(mode is not cs.Mode.OPEN for mode in traj.mode_at(END[how]).values())
    check_first_landing(traj, own)
    check_impacts(traj, own)
    check_laws_and_energy(traj, own)


def check_first_landing(traj: cs.Trajectory, own: Evaluation) -> None:
    """The controller is at its reference and acts on nothing: the robot falls like a stone."""
    assert traj.events[0].time == pytest.approx(np.sqrt(2 * DROP / 9.81), abs=1e-8)


def check_impacts(traj: cs.Trajectory, own: Evaluation) -> None:
    """M (v+ - v-) is the sum of the impulses; Newton's law and Coulomb's cone hold after each impact."""
    names = [contact.name for contact in own.contacts]
    for event in traj.events:
        if getattr(event, "constraints", ()):
            continue  # a joint limit takes part, whose impulse is not a contact's
        before, after = event.state_pre, event.state_post
        np.testing.assert_array_equal(before.q, after.q)
        own.place(after.q, after.v)
        if not event.impulses:  # a change of mode without impact: at most what is left of a captured slip
            change = np.abs(np.vstack(own.jacobians()) @ (after.v - before.v)).max()
            assert change < tol.SETTLE, (event.time, change)
            continue
        jump = own.mass(after.q) @ (after.v - before.v)
        impulses = [np.asarray(event.impulses.get(name, np.zeros(3))) for name in names]
        jacobians = own.jacobians()
        total = sum(J.T @ impulse for J, impulse in zip(jacobians, impulses, strict=True))
        scale = max(pin.computeTotalMass(own.model) * 1.0, float(np.abs(jump).max()))
        np.testing.assert_allclose(jump, total, rtol=0, atol=tol.IMPULSE * scale, err_msg=f"t = {event.time}")
        modes = traj.mode_at(event.time, side="-")
        for contact, J, impulse in zip(own.contacts, jacobians, impulses, strict=True):
            normal, pull = impulse[2], np.linalg.norm(impulse[:2])
            fast = J @ after.v
            if modes[contact.name] is cs.Mode.OPEN and contact.name not in event.impulses:
                continue  # in the air
            assert normal >= -tol.LAW_RESIDUAL * scale - own.pull_of_a_hop(after.q, after.v, J[2])
            assert fast[2] >= -1e-8
            # What stops a low hop at once is below zero, and so is its friction: both are what the bounces had less of.
            assert pull <= contact.friction * abs(normal) + tol.LAW_RESIDUAL * scale
            bounce = -contact.restitution * min(0.0, (J @ before.v)[2])
            assert abs(normal * (fast[2] - bounce)) <= tol.LAW_RESIDUAL * scale
            dissipation = contact.friction * normal * fast[:2] + np.linalg.norm(fast[:2]) * impulse[:2]
            assert np.linalg.norm(dissipation) <= 1e1 * tol.LAW_RESIDUAL * scale


def check_laws_and_energy(traj: cs.Trajectory, own: Evaluation) -> None:
    """Gaps, cones and the work-energy balance at the Gauss points of every step of the run."""
    model, names = own.model, [contact.name for contact in own.contacts]
    weight = 9.81 * pin.computeTotalMass(model)
    work = turned_over = 0.0
    for t, dt in quadrature(traj):
        state, modes, forces = traj(t), traj.mode_at(t), traj.forces(t)
        q, v = state.q, state.v
        own.place(q, v)
        power = float(own.torque(q, v) @ v - v @ (model.damping * v))
        heights = own.lowest_points()[:, 2]
        assert heights.min() >= -tol.GAP, (t, dict(zip(names, heights, strict=True)))
        scale = max(weight, max(float(np.abs(force).max()) for force in forces.values()))
        for contact, J, height in zip(own.contacts, own.jacobians(), heights, strict=True):
            force, mode = forces[contact.name], modes[contact.name]
            fast = J @ v
            power += float(force @ fast)
            normal, pull = force[2], np.linalg.norm(force[:2])
            residual = tol.LAW_RESIDUAL * scale
            if mode is cs.Mode.OPEN:
                np.testing.assert_array_equal(force, 0.0)
                continue
            assert abs(height) <= tol.GAP, (t, contact.name, height)
            assert abs(fast[2]) <= 1e-8, (t, contact.name, fast)
            assert normal >= -residual, (t, contact.name, force)
            static = contact.friction if contact.static_friction is None else contact.static_friction
            if mode is cs.Mode.STICK:
                assert pull <= static * normal + residual, (t, contact.name, force)
                assert np.linalg.norm(fast[:2]) <= 1e-8, (t, contact.name, fast)
            else:
                assert abs(pull - contact.friction * normal) <= residual, (t, contact.name, force)
                if np.linalg.norm(fast[:2]) > 1e-5:
                    s = fast[:2] / np.linalg.norm(fast[:2])
                    assert np.linalg.norm(force[:2] + contact.friction * normal * s) <= 1e2 * residual
        work += power * dt
        turned_over += abs(power) * dt
    jumps = [own.energy(e.state_post.q, e.state_post.v) - own.energy(e.state_pre.q, e.state_pre.v) for e in traj.events]
    assert max(jumps) <= tol.ENERGY * weight  # an impact does not gain energy
    start, end = traj(traj.t[0]), traj.final
    change = own.energy(end.q, end.v) - own.energy(start.q, start.v)
    turned_over += sum(map(abs, jumps))
    assert turned_over > 0.5 * weight * DROP
    assert change - sum(jumps) - work == pytest.approx(0.0, abs=tol.WORK_ENERGY * turned_over)
