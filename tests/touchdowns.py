"""Runs in which several feet reach the ground at one instant to rounding: a tripod, a trot, a biped, a box.

Each is made backwards: the feet are put on the ground, the velocity at touch-down is chosen, and the flight, which is
reversible without motors and friction, is run back from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from builders import G, planar_mechanism
from contactsim_robots.hexapod import LEGS, inverse_kinematics
from planar_biped import Biped

import contactsim as cs
from contactsim.common import registry

Array = np.ndarray
FINE = cs.Tolerances(rtol=1e-11, atol=1e-12)
REVERSED = cs.Tolerances(rtol=1e-12, atol=1e-13)
ON_GROUND = 1e-16  # m, at which the feet are close enough to it
LIFTED = 0.04  # m, of the feet that are not to touch
REACH, DROP = 0.20, 0.155  # m, standing feet of the hexapod
FLIGHT, AFTER = 0.02, 0.01  # s, before and after the touch-down


@dataclass(frozen=True)
class TouchDown:
    """A system and a state that touches down `flight` seconds later; runs go on for `after` seconds."""

    system: cs.ContactSystem
    start: cs.State
    flight: float = FLIGHT
    after: float = AFTER
    since: float = 0.0

    @property
    def span(self) -> tuple[float, float]:
        return self.since, self.since + self.flight + self.after

    def run(self, system: cs.ContactSystem | None = None, tolerances: cs.Tolerances = FINE) -> cs.Trajectory:
        return cs.simulate(system or self.system, self.start, self.span, tolerances=tolerances)

    def moved(self, dx: Array) -> Array:
        """Plain final state of the run that starts at `dx` (2 nv,) from this one."""
        space, x = self.system.space(), self.system.pack(self.start)
        start = self.system.state(space.integrate(x, dx))
        return cs.simulate(self.system, start, self.span, tolerances=FINE).final_x


def one_sided(case: TouchDown, final: Array, dx: Array, step: float) -> Array:
    """Derivative (2 nv,) of the final state along `dx`, by three forward differences extrapolated to zero."""
    d = [case.system.space().difference(final, case.moved(h * dx)) / h for h in (step, step / 2, step / 4)]
    return (d[0] - 6.0 * d[1] + 8.0 * d[2]) / 3.0


def grounded(robot: cs.Robot, friction: float) -> cs.Robot:
    """The robot with plastic contacts of one friction."""
    contacts = [replace(c, friction=friction, static_friction=None, restitution=0.0) for c in robot.contacts]
    return robot.with_contacts(contacts)


def on_ground(system: cs.ContactSystem, q: Array, heights: Array) -> Array:
    """The configuration near `q` whose gaps are `heights` (contacts,) to rounding; only joints move."""
    mechanism, nv = system.mechanism, system.nv
    for _ in range(20):
        error = heights - mechanism.gaps(0.0, q)
        if np.abs(error).max() < ON_GROUND:
            break
        rows = mechanism.terms(0.0, q, np.zeros(nv), tuple(range(len(heights)))).rows[::3].copy()
        rows[:, :6] = 0.0
        q = mechanism.space.integrate(q, np.linalg.lstsq(rows, error, rcond=None)[0])
    return q


def flown(system: cs.ContactSystem, q: Array, v: Array) -> TouchDown:
    """The touch-down at (q, v), from FLIGHT before."""
    air = cs.ContactSystem(system.robot.with_contacts([]), joint_limits=False)
    back = cs.simulate(air, cs.State(q, -v), (0.0, FLIGHT), tolerances=REVERSED).final
    return TouchDown(system, cs.State(back.q, -back.v))


def tripod(friction: float = 5.0, spread: float = 1.0) -> TouchDown:
    """The hexapod's feet lf, lr and rm touch down at 1 m/s, the two left ones moving apart at `spread` [m/s].

    By that each impact presses the feet on the ground that are there already. Without it the second of the left feet
    tears the first one off, and the order matters.
    """
    robot = grounded(cs.load_robot("hexapod"), friction)
    system = cs.ContactSystem(robot, joint_limits=False)
    q, v = np.array(robot.nominal), np.zeros(robot.nv)
    v[2] = -1.0
    for leg in LEGS:
        sideways = {"lf": spread, "lr": -spread}.get(leg.name, 0.0)
        angles, rates = inverse_kinematics((REACH, 0.0, LIFTED * leg.tripod - DROP), (0.0, sideways, 0.0))
        for name, angle, rate in zip(leg.joints, angles, rates, strict=True):
            joint = robot.model.joints[robot.model.getJointId(name)]
            q[joint.idx_q] = angle
            v[joint.idx_v] = 0.0 if leg.tripod else rate
    heights = LIFTED * np.array([leg.tripod for leg in LEGS], dtype=float)
    q[2] -= system.mechanism.gaps(0.0, q)[0]
    return flown(system, on_ground(system, q, heights), v)


def trot(friction: float = 2.0) -> TouchDown:
    """A front foot of solo12 and the hind foot across touch down at 1 m/s, drifting forwards."""
    robot = grounded(cs.load_robot("solo12"), friction)
    system = cs.ContactSystem(robot, joint_limits=False)
    heights = np.array([0.0 if name in ("FL_FOOT", "HR_FOOT") else LIFTED for name in system.mechanism.names])
    v = np.zeros(robot.nv)
    v[[0, 2]] = 0.1, -1.0
    return flown(system, on_ground(system, np.array(robot.nominal), heights), v)


def box(
    inertia: float, restitution: float, points: Sequence[float] = (-0.5, 0.5), law: cs.ContactLaw | str = "coulomb"
) -> TouchDown:
    """A frictionless box in the plane (m = 1, centre 0.2 above its base) that drops flat and lands at 3 m/s."""
    names = {f"corner {k}": (px, -0.2) for k, px in enumerate(points)}
    system = cs.ContactSystem(planar_mechanism(1.0, inertia, names, 0.0, restitution), law=law)
    return dropped(system, np.array([0.0, 0.2, 0.0]), np.array([0.0, -3.0, 0.0]), np.array([0.0, -G, 0.0]), 0.1, 0.3)


def biped(law: str, stiffness: float = 2e3, damping: float = 20.0) -> tuple[TouchDown, Biped, Array, Array]:
    """The planar biped under a penalty law; both feet touch at (q, v), which is returned with it."""
    body = Biped()
    parameters = {"stiffness": stiffness} | ({} if law == "conservative" else {"damping": damping})
    system = cs.ContactSystem(body.mechanism(), law=registry.load("contact_laws", law)(**parameters))
    q, v = body.both_touch(), np.array([0.0, 2.0, 0.0])
    return dropped(system, q, v, np.array([0.0, body.g, 0.0])), body, q, v


def dropped(
    system: cs.ContactSystem, q: Array, v: Array, gravity: Array, flight: float = FLIGHT, after: float = AFTER
) -> TouchDown:
    """Free flight of a body with constant acceleration to (q, v)."""
    start = cs.State(q - flight * v + 0.5 * flight**2 * gravity, v - flight * gravity)
    return TouchDown(system, start, flight, after)
