"""Robots of all sources, dropped: read, let go 2 cm over level ground with joints in motion, held by PD, for 1 s.

    python tests/dropped_robots.py [--only WORD ...] [--budget 120] --out FILE.csv     run them, one line a robot

A line has the robot, status, seconds of computing and of motion, events, evaluations, whether the check passed, and
what was said. Sources: the catalogue (our own and example-robot-data), gymnasium, dm_control, mujoco, pybullet_data.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pinocchio as pin
from scene_lines import Scene

import contactsim as cs
from contactsim.multibody.catalogue import robot_entries

Array = np.ndarray
END = 1.0  # s
DROP = 0.02  # m, of the lowest contact over the ground
SPEED = 0.2  # standard deviation of each velocity at the start [m/s, rad/s]
INSET = 0.01  # rad, m: how far inside its limits a joint begins that its file has stand beyond
PACE = 20.0  # rad/s, of a joint of its own inertia under PD, critically damped


@dataclass(frozen=True)
class Source:
    """A robot of a list: a name of the catalogue, or a file of a package and how its root is joined to the world."""

    package: str
    path: str
    root: str = ""

    @property
    def name(self) -> str:
        return f"{self.package}: {self.path}"

    def found(self) -> bool:
        """True where its package is installed."""
        if self.package == "catalogue":
            return self.path in robot_entries()
        return find_spec(self.package) is not None

    def robot(self) -> cs.Robot:
        """The robot, read."""
        if self.package == "catalogue":
            return cs.load_robot(self.path)
        spec = find_spec(self.package)
        assert spec is not None and spec.origin is not None
        path = Path(spec.origin).parent / self.path
        return cs.Robot.from_urdf(path, self.root) if path.suffix == ".urdf" else cs.Robot.from_mjcf(path)


def _of(package: str, paths: str, root: str = "", pattern: str = "{}") -> list[Source]:
    return [Source(package, pattern.format(path), root) for path in paths.split()]


OWN = _of("catalogue", "hexapod biped compliant-hexapod-twin")
FLOATING = _of(
    "catalogue",
    """a1 anymal anymal_b anymal_c anymal_kinova b1 b1_z1 go1 go2 hyq laikago quadruped solo8 solo12 centauro alexander
    bolt g1 g1_hands human icub romeo simple_humanoid simple_humanoid_classical talos talos_box talos_full
    talos_full_box borinot hector hextilt iris""",
)
ARMS = _of(
    "catalogue",
    """double_pendulum double_pendulum_continuous finger_edu kinova panda so101 talos_arm ur3 ur5 ur10 ur5_gripper xarm7
    z1 allegro_left_hand tiago_no_hand""",
)
GYMNASIUM = _of(
    "gymnasium",
    """ant half_cheetah hopper humanoid humanoidstandup inverted_double_pendulum inverted_pendulum pusher_v5 reacher
    swimmer walker2d""",
    pattern="envs/mujoco/assets/{}.xml",
)
DM_CONTROL = _of(
    "dm_control",
    """acrobot ball_in_cup cartpole cheetah dog finger fish hopper humanoid humanoid_CMU manipulator pendulum quadruped
    swimmer walker""",
    pattern="suite/{}.xml",
)
PYBULLET = [
    *_of(
        "pybullet_data",
        """a1/a1.urdf aliengo/aliengo.urdf laikago/laikago_toes.urdf mini_cheetah/mini_cheetah.urdf
        quadruped/minitaur.urdf quadruped/vision60.urdf quadruped/spirit40.urdf quadruped/quadruped.urdf
        racecar/racecar.urdf r2d2.urdf""",
        "free_flyer",
    ),
    *_of(
        "pybullet_data",
        """kuka_iiwa/model.urdf franka_panda/panda.urdf xarm/xarm6_robot.urdf cartpole.urdf pendulum5.urdf
        TwoJointRobot_w_fixedJoints.urdf pr2_gripper.urdf""",
        "fixed",
    ),
    *_of("pybullet_data", "mjcf/ant.xml"),
]
SOURCES = {source.name: source for source in (*OWN, *FLOATING, *ARMS, *GYMNASIUM, *DM_CONTROL, *PYBULLET)}


def scene(source: Source) -> Scene:
    """A robot over the ground, in motion, with its controller."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = source.robot()
    q = within_limits(robot)
    # a robot without contacts has nothing that could fall
    lowest = float(robot.contact_positions(q)[:, 2].min()) if robot.contacts else 0.0
    kp, kd = gains(robot, source)
    seed = sum(map(ord, source.name))
    v = SPEED * np.random.default_rng(seed).normal(size=robot.nv)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = cs.ContactSystem(
            robot, terrain=cs.terrain.Flat(lowest - DROP), controller=cs.PD(robot, q, kp=kp, kd=kd)
        )
    return Scene(source.name, system, system.close(q, v) if robot.loops else cs.State(q, v), END)


def within_limits(robot: cs.Robot) -> Array:
    """The nominal configuration, with joints that a file has stand beyond their limits just inside."""
    model, q = robot.model, np.array(robot.nominal)
    for joint in model.joints:
        if joint.nq == joint.nv == 1:
            k = joint.idx_q
            low, high = model.lowerPositionLimit[k], model.upperPositionLimit[k]
            if not low <= q[k] <= high:
                inset = min(INSET, 0.5 * (high - low))
                q[k] = np.clip(q[k], low + inset, high - inset)
    return q


def gains(robot: cs.Robot, source: Source) -> tuple[Array, Array]:
    """Those of its own demonstration; without one, joints of PACE for the inertia that they carry."""
    entry = robot_entries().get(source.path) if source.package == "catalogue" else None
    if entry is not None and entry.demo is not None:
        demo = entry.demo(robot.model)
        if np.any(demo.kp):
            return demo.kp, demo.kd
    inertia = np.diag(pin.crba(robot.model, pin.Data(robot.model), np.array(robot.nominal)))
    return PACE**2 * inertia, 2.0 * PACE * inertia


def run(case: Scene, budget: float = np.inf) -> cs.Trajectory:
    """The run of a scene; `budget` [s of processor time] ends it early."""
    simulation = cs.Simulation(case.system, case.start)
    begun = time.process_time()

    def watch(t: float) -> None:
        if time.process_time() - begun > budget:
            raise TimeoutError(f"stopped at t = {t:.6g} s; {simulation.held_up()}")

    simulation.advance_to(case.end, watch)
    return simulation.trajectory


def told(source: Source, budget: float) -> list[object]:
    """Line of a robot: what its run took and how it ended."""
    begun = time.process_time()
    events: list[object] = ["", "", ""]
    try:
        case = scene(source)
        loaded = time.process_time() - begun
        ran = run(case, budget)
    except TimeoutError as error:
        return [source.name, "TOO_SLOW", time.process_time() - begun, "", *events, str(error)]
    except Exception as error:
        return [source.name, type(error).__name__, time.process_time() - begun, "", *events, str(error)]
    took = time.process_time() - begun - loaded
    try:
        ran.check()
        passed = "passed"
    except cs.ContactSimError as error:
        passed = f"failed: {error}"[:200]
    said = f"nv {case.system.robot.nv}, {len(case.system.robot.contacts)} contacts"
    said = said if ran.status.complete else f"{said}: {ran.message}"
    return [source.name, ran.status.name, took, float(ran.t[-1]), len(ran.all_events), ran.evaluations, passed, said]


def main() -> None:
    """Run robots and write a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names")
    parser.add_argument("--budget", type=float, default=120.0, help="processor time a robot [s]")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    with given.out.open("w", newline="") as file:
        writer = csv.writer(file)
        for name, source in SOURCES.items():
            if source.found() and any(word in name for word in given.only):
                row = told(source, given.budget)
                writer.writerow(row)
                file.flush()
                print(*(f"{part:.3g}" if isinstance(part, float) else part for part in row), file=sys.stderr)


if __name__ == "__main__":
    main()
