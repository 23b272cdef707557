"""How exact is the derivative of the final state with respect to the initial one, and at what cost, against MuJoCo?

Two runs of a ball of 0.1 m whose derivatives are known in closed form: an elastic bounce (height and vertical speed),
and sliding that turns into rolling (place, speed and spin; final speed 5/7 v0 + 2/7 r w0). contactsim integrates the
variational equation between its events, at its default tolerances. MuJoCo's derivative is the product of those of its
steps, `mjd_transitionFD`, by central differences of 1e-8.

MuJoCo's settings: Newton's solver to 1e-14, elliptic cone, steps from 1e-3 to 3e-5 s, and several contacts: for the
bounce undamped ones that touch for 3, 10 and 30 ms with nearly rigid impedance; for sliding critically damped ones of
5, 10 and 20 steps and of the default 20 ms, with the default impedance and with a softer one. The sliding ball starts
at rest in its own dent. All errors are printed, and the line of the table takes the least of all: a choice that needs
the answer.

Of Nimble and JaxSim the least error of two steps (1e-3 and 3e-4 s) is taken, of JaxSim that of three stiffnesses with
three dampings each, too. Both want environments of their own: `NIMBLE_PYTHON` and `JAXSIM_PYTHON` name their
interpreters, as `nimble_derivatives.py` and `jaxsim_derivatives.py` say; without them they are left out, and a line
says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
import pinocchio as pin
from common import line

import contactsim as cs

G, RADIUS, MU, END = 9.81, 0.1, 0.3, 0.8
STEPS = (1e-3, 3e-4, 1e-4, 3e-5)
DIFFERENCE = 1e-8  # below every dent, so that the differences stay in touch
RIGID, DEFAULT, SOFT = "0.9999 0.9999 0.001", "0.9 0.95 0.001", "0.5 0.5 0.001"  # impedance (solimp)
PEERS = {"Nimble": "nimble", "JaxSim": "jaxsim"}  # name -> of its script and its variable
PLANE = [0, 2, 4, 6, 8, 10]  # x, z, angle about y, and their rates
Array = np.ndarray

XML = """
<mujoco>
  <option timestep="{step}" cone="elliptic" gravity="0 0 -9.81" iterations="200" tolerance="1e-14"/>
  <default><geom solref="{solref}" solimp="{solimp}" friction="{friction} 0 0" condim="{dim}"/></default>
  <worldbody>
    <geom type="plane" size="50 50 .1"/>
    <body pos="0 0 {radius}"><freejoint/><geom type="sphere" size="{radius}" mass="1"/></body>
  </worldbody>
</mujoco>
"""


class Case(NamedTuple):
    """A run with its exact derivative: rows and columns are those of `chosen`, in world axes.

    Attributes:
        name: of the run.
        q, v: where it starts.
        friction, restitution: of the contact.
        chosen: numbers of (place, turn, velocity, spin) that are compared.
        exact: D x(END) / D x(0).
        contacts: step -> solref and solimp of the contacts of MuJoCo.
    """

    name: str
    q: Array
    v: Array
    friction: float
    restitution: float
    chosen: list[int]
    exact: Array
    contacts: Callable[[float], list[tuple[str, str]]]


def bounce(height: float = 0.5, speed: float = 0.3) -> Case:
    """A ball let go at `height` above the ground with `speed` upwards; it meets the ground once."""
    landing = np.sqrt(speed**2 + 2.0 * G * height)
    after = END - (speed + landing) / G
    d_landing = np.array([G, speed]) / landing
    d_time = np.array([1.0 / landing, (1.0 + speed / landing) / G])
    exact = np.array([after * d_landing + (G * after - landing) * d_time, d_landing + G * d_time])
    q, v = np.array([0, 0, RADIUS + height, 0, 0, 0, 1.0]), np.array([0, 0, speed, 0, 0, 0])
    assert 0.0 < after < 2.0 * landing / G
    return Case("elastic bounce", q, v, 0.0, 1.0, [2, 8], exact, _springs)


def slide(speed: float = 2.0, spin: float = -3.0) -> Case:
    """A ball on the ground that slides with `speed` and turns with `spin`, until it rolls."""
    rolls = 2.0 * (speed - RADIUS * spin) / (7.0 * MU * G)
    left, r = END - rolls, RADIUS
    by_speed = [rolls + 5.0 * left / 7.0, 5.0 / 7.0, 5.0 / (7.0 * r)]
    by_spin = [2.0 * r * left / 7.0, 2.0 * r / 7.0, 2.0 / 7.0]
    exact = np.array([[1.0, 0.0, 0.0], by_speed, by_spin]).T
    q, v = np.array([0, 0, RADIUS, 0, 0, 0, 1.0]), np.array([speed, 0, 0, 0, spin, 0])
    assert 0.0 < rolls < END
    return Case("sliding into rolling", q, v, MU, 0.0, [0, 6, 10], exact, _dampers)


def _springs(step: float) -> list[tuple[str, str]]:
    return [(f"{-((np.pi / touch) ** 2):.12g} 0", RIGID) for touch in (0.003, 0.01, 0.03)]


def _dampers(step: float) -> list[tuple[str, str]]:
    times = (5.0 * step, 10.0 * step, 20.0 * step, 0.02)
    return [(f"{time:.12g} 1", impedance) for impedance in (DEFAULT, SOFT) for time in times]


def error(case: Case, matrix: Array) -> float:
    """Largest error of the chosen numbers, relative to the largest of them."""
    part = matrix[np.ix_(case.chosen, case.chosen)]
    return float(np.abs(part - case.exact).max() / np.abs(case.exact).max())


# --- contactsim -------------------------------------------------------------------------------------------------


def contactsim_matrix(case: Case) -> Array:
    """The derivative (12, 12) with place, turn, velocity and spin at the end in world axes."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, RADIUS), pin.SE3.Identity())
    model.addFrame(pin.Frame("ball", joint, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    point = cs.ContactPoint("ball", radius=RADIUS, friction=case.friction, restitution=case.restitution)
    run = cs.simulate(cs.ContactSystem(cs.Robot(model, [point])), cs.State(case.q, case.v), (0.0, END))
    turn = pin.Quaternion(run.final.q[3:]).toRotationMatrix()
    world = np.kron(np.eye(4), turn)
    for k in (0, 3):
        world[6 + k : 9 + k, 3:6] = -turn @ pin.skew(run.final.v[k : k + 3])
    return world @ cs.linearize(run).matrix()


# --- MuJoCo -----------------------------------------------------------------------------------------------------


def mujoco_matrix(case: Case, step: float, solref: str, solimp: str) -> Array:
    """Product (12, 12) of the derivatives of all steps."""
    dim = 3 if case.friction else 1
    model = mujoco.MjModel.from_xml_string(
        XML.format(step=step, solref=solref, solimp=solimp, friction=case.friction, dim=dim, radius=RADIUS)
    )
    data = mujoco.MjData(model)
    if case.restitution == 0.0:  # let it sink into its dent first
        mujoco.mj_step(model, data, round(0.5 / step))
    depth = data.qpos[2] - RADIUS if case.restitution == 0.0 else 0.0
    mujoco.mj_resetData(model, data)
    data.qpos[:] = [*case.q[:3], 1, 0, 0, 0]
    data.qpos[2] += depth
    data.qvel[:] = case.v
    total, part = np.eye(12), np.zeros((12, 12))
    for _ in range(round(END / step)):
        mujoco.mjd_transitionFD(model, data, DIFFERENCE, True, part, None, None, None)
        mujoco.mj_step(model, data)
        total = part @ total
    return total


# --- peers with an environment of their own ---------------------------------------------------------------------


def of_peer(python: str, name: str, cases: list[Case]) -> list[list[tuple[float, Array, float]]]:
    """For each case, step and contact: the step, the derivative (12, 12) by place, turn, velocity, spin, its time."""
    given = {
        "steps": STEPS[:2],
        "cases": [
            {
                "radius": RADIUS,
                "friction": case.friction,
                "restitution": case.restitution,
                "end": END,
                "start": [case.q[0], case.q[2], 0.0, case.v[0], case.v[2], case.v[4]],
            }
            for case in cases
        ],
    }
    script = Path(__file__).with_name(f"{name}_derivatives.py")
    told = subprocess.run([python, script], input=json.dumps(given), capture_output=True, text=True, check=True)
    found = json.loads(told.stdout[told.stdout.index("[[") :])
    whole = [[np.zeros((12, 12)) for _ in rows] for rows in found]
    for rows, matrices in zip(found, whole, strict=True):
        for row, matrix in zip(rows, matrices, strict=True):
            matrix[np.ix_(PLANE, PLANE)] = row["matrix"]
    return [
        [(row["step"], matrix, row["seconds"]) for row, matrix in zip(rows, matrices, strict=True)]
        for rows, matrices in zip(found, whole, strict=True)
    ]


def compare_peer(name: str, cases: list[Case]) -> None:
    """Print what a peer reaches, where it is installed."""
    python = os.environ.get(f"{PEERS[name].upper()}_PYTHON")
    if python is None:
        print(f"\n{name} is left out: {PEERS[name].upper()}_PYTHON names no interpreter")
        return
    for case, rows in zip(cases, of_peer(python, PEERS[name], cases), strict=True):
        ours, matrix = timed(lambda case=case: contactsim_matrix(case))
        for step, found, _ in rows:
            part = found[np.ix_(case.chosen, case.chosen)]
            print(f"  {case.name}, {name}, step {step:g} s: {np.round(part, 4).tolist()}, exact {case.exact.tolist()}")
        known = [(error(case, found), seconds) for _, found, seconds in rows if np.isfinite(found).all()]
        least, theirs = min(known)
        measured = f"{error(case, matrix):.1e} in {1e3 * ours:.0f} ms / {least:.1e} in {theirs:.2g} s"
        line(f"error of the derivative, {case.name} / {name}", measured, error(case, matrix) / least, 1e-3)


# --- side by side -----------------------------------------------------------------------------------------------


def timed(job: Callable[[], Array]) -> tuple[float, Array]:
    """Seconds of a job, and its result."""
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def compare(case: Case) -> None:
    """Print what both engines reach."""
    contactsim_matrix(case)
    ours, matrix = timed(lambda: contactsim_matrix(case))
    own = error(case, matrix)
    print(f"\n{case.name}: contactsim {own:.1e} in {1e3 * ours:.0f} ms")
    least, theirs = np.inf, np.inf
    for step in STEPS:
        found = [timed(partial(mujoco_matrix, case, step, *contact)) for contact in case.contacts(step)]
        errors = [error(case, result) for _, result in found]
        least, theirs = min((least, theirs), *zip(errors, [seconds for seconds, _ in found], strict=True))
        listed = ", ".join(f"{value:.1e}" for value in errors)
        print(f"  MuJoCo, step {step:g} s: {listed} in {found[0][0]:.2f} s each")
    measured = f"{own:.1e} in {1e3 * ours:.0f} ms / {least:.1e} in {theirs:.2g} s"
    line(f"error of the derivative, {case.name} / MuJoCo at its best", measured, own / least, 1e-3)


def main() -> None:
    """Both runs, with each peer."""
    cases = [bounce(), slide()]
    for case in cases:
        compare(case)
    for name in PEERS:
        compare_peer(name, cases)


if __name__ == "__main__":
    main()
