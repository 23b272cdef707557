"""The robots of the package example-robot-data, where it is installed, with their feet and standing postures.

The wheel holds data only, so its folder is looked for. Not listed are Cassie (an SDF file, which pinocchio's wheel does
not read), ``ur3.urdf`` (it has no robot name), and variants of robots that are listed. Massless links at the ends of
chains make the mass matrices of ``romeo.urdf`` and ``icub.urdf`` singular: "romeo" and "icub" are the reduced files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from sys import prefix
from typing import Any

import numpy as np

from .entry import Array, Demo, RobotEntry, Root, foot
from .posture import settle, standing_demo

FOLDER = "share/example-robot-data/robots"
LIMIT_INSET = 0.01
"""Part of its range by which a joint of a nominal posture stays away from its limits."""

Feet = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Row:
    """One robot of the data set.

    Args:
        name: its short name, that of the data set's own loader where that has one.
        urdf: file below the robots' folder.
        about: a few words for the listing.
        root: how its first link is joined to the world.
        srdf: name of the file with reference postures, in the folder "srdf" of the same package, or empty.
        posture: the reference posture to stand in.
        angles: angle by the end of a joint's name, rad, in place of the reference posture's.
        tilt: quaternion (x, y, z, w) of the free-flying root, where no reference posture exists.
        feet: contact points.
        drop: height above the floor from which the standing demonstration starts, m; None for no demonstration.
        time: duration of that demonstration, s.
    """

    name: str
    urdf: str
    about: str
    root: Root = "free_flyer"
    srdf: str = ""
    posture: str = "standing"
    angles: Mapping[str, float] = field(default_factory=dict)
    tilt: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    feet: Feet = ()
    drop: float | None = None
    time: float = 1.5


def balls(frames: str, radius: float, offset: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Feet:
    """One ball-shaped foot of `radius` at `offset` in each of the frames (names parted by blanks)."""
    return tuple(foot(frame, frame, offset, radius) for frame in frames.split())


def soles(
    left: str, right: str, back: float, front: float, inner: float, outer: float, z: float = 0.0, radius: float = 0.0
) -> Feet:
    """Four corners of each of two flat feet; x forward, y left, the sole at height z in the frame, m."""
    corners = [(x, y) for x in (front, back) for y in (outer, -inner)]
    return tuple(
        foot(frame, f"{frame}/{k}", (x, side * y, z), radius)
        for frame, side in ((left, 1.0), (right, -1.0))
        for k, (x, y) in enumerate(corners)
    )


def human_soles() -> Feet:
    """Corners of the human's feet, whose frames have y upward and z to the right (as the ISB recommends)."""
    corners = [(x, -0.0765, z) for x in (0.19, -0.05) for z in (-0.04, 0.04)]
    frames = ("left_foot", "right_foot")
    return tuple(foot(frame, f"{frame}/{k}", corner) for frame in frames for k, corner in enumerate(corners))


UNITREE = "FL_foot FR_foot RL_foot RR_foot"
ANYMAL = "LF_FOOT RF_FOOT LH_FOOT RH_FOOT"
ANYMAL_B = balls(ANYMAL, 0.031, (0.0, 0.0, 0.02325))
SOLO = "FL_FOOT FR_FOOT HL_FOOT HR_FOOT"
TALOS = soles("left_sole_link", "right_sole_link", -0.1, 0.1, 0.06, 0.06)
ICUB = soles("l_sole", "r_sole", -0.044, 0.109, 0.029, 0.029)
"""Size of the foot's mesh, turned to point forward; the URDF has it lie crosswise."""
G1 = soles("left_ankle_roll_link", "right_ankle_roll_link", -0.05, 0.12, 0.027, 0.027, z=-0.03, radius=0.005)
G1_ANGLES = {"hip_pitch_joint": -0.2, "knee_joint": 0.42, "ankle_pitch_joint": -0.22, "elbow_joint": 0.6}
SIMPLE = soles("l_ankle", "r_ankle", -0.09, 0.13, 0.06, 0.06, z=-0.1)
"""The simple humanoid has no geometry: the soles are assumed."""
SIMPLE_ANGLES = {"LEG_HIP_P": -0.1, "LEG_KNEE": 0.07, "LEG_ANKLE_P": 0.03}
"""Its reference posture bends the knees beyond the URDF's joint limits; these angles do not."""

QUADRUPEDS = (
    Row("a1", "a1_description/urdf/a1.urdf", "Unitree A1 quadruped", srdf="a1", feet=balls(UNITREE, 0.02), drop=0.1),
    *(
        Row(name, "anymal_b_simple_description/robots/anymal.urdf", about, srdf="anymal", feet=ANYMAL_B, drop=0.1)
        for name, about in (("anymal", "ANYmal B quadruped"), ("anymal_b", "ANYmal B quadruped, as anymal"))
    ),
    Row(
        "anymal_c",
        "anymal_c_simple_description/urdf/anymal.urdf",
        "ANYmal C quadruped",
        srdf="anymal",
        feet=balls(ANYMAL, 0.03, (0.0, 0.0, 0.0225)),
        drop=0.1,
    ),
    Row(
        "anymal_kinova",
        "anymal_b_simple_description/robots/anymal-kinova.urdf",
        "ANYmal B with a Kinova arm",
        srdf="anymal-kinova",
        posture="standing_with_arm_up",
        feet=ANYMAL_B,
        drop=0.1,
    ),
    Row("b1", "b1_description/urdf/b1.urdf", "Unitree B1 quadruped", srdf="b1", feet=balls(UNITREE, 0.04), drop=0.1),
    Row(
        "b1_z1",
        "b1_description/urdf/b1-z1.urdf",
        "Unitree B1 with a Z1 arm",
        srdf="b1-z1",
        posture="standing_with_arm_home",
        feet=balls(UNITREE, 0.04),
        drop=0.1,
    ),
    Row(
        "go1", "go1_description/urdf/go1.urdf", "Unitree Go1 quadruped", srdf="go1", feet=balls(UNITREE, 0.02), drop=0.1
    ),
    Row(
        "go2",
        "go2_description/urdf/go2.urdf",
        "Unitree Go2 quadruped",
        srdf="go2",
        feet=balls(UNITREE, 0.022),
        drop=0.1,
    ),
    Row(
        "hyq",
        "hyq_description/robots/hyq_no_sensors.urdf",
        "HyQ hydraulic quadruped",
        srdf="hyq",
        feet=balls("lf_foot rf_foot lh_foot rh_foot", 0.02175),
        drop=0.1,
    ),
    Row(
        "laikago",
        "laikago_description/urdf/laikago.urdf",
        "Unitree Laikago quadruped",
        angles={"thigh_joint": 0.67, "calf_joint": -1.3},
        feet=balls(UNITREE, 0.0265),
        drop=0.1,
    ),
    Row(
        "quadruped",
        "quadruped_description/urdf/quadruped.urdf",
        "quadruped, knees locked by their limits",
        feet=balls("FL_contact FR_contact BL_contact BR_contact", 0.0),
    ),
    *(
        Row(name, f"solo_description/robots/{file}.urdf", about, srdf="solo", feet=balls(SOLO, 0.016), drop=0.1)
        for name, file, about in (
            ("solo8", "solo", "Solo quadruped with 8 motors"),
            ("solo12", "solo12", "Solo quadruped with 12 motors"),
        )
    ),
    Row(
        "centauro",
        "centauro_description/urdf/centauro.urdf",
        "Centauro on four wheels (contact balls)",
        srdf="centauro",
        posture="homing_nominal",
        feet=balls("wheel_1 wheel_2 wheel_3 wheel_4", 0.124),
    ),
)

BIPEDS = (
    Row(
        "alexander",
        "alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf",
        "Alexander, lower body",
        srdf="alexander",
        posture="default",
        feet=soles("LEFT_FOOT", "RIGHT_FOOT", -0.051, 0.153, 0.044, 0.044, z=-0.072),
        drop=0.02,
    ),
    Row(
        "bolt",
        "bolt_description/robots/bolt.urdf",
        "Bolt biped on point feet, which topples",
        srdf="bolt",
        feet=balls("FL_FOOT FR_FOOT", 0.016),
        drop=0.1,
        time=0.5,
    ),
    *(
        Row(name, f"g1_description/urdf/{file}.urdf", about, angles=G1_ANGLES, feet=G1, drop=0.02)
        for name, file, about in (
            ("g1", "g1_29dof_rev_1_0", "Unitree G1 humanoid, 29 motors"),
            ("g1_hands", "g1_29dof_with_hand_rev_1_0", "Unitree G1 humanoid with hands"),
        )
    ),
    Row(
        "human",
        "human_description/robots/human.urdf",
        "human body, 36 joints",
        tilt=(sqrt(0.5), 0.0, 0.0, sqrt(0.5)),
        feet=human_soles(),
    ),
    Row(
        "icub",
        "icub_description/robots/icub_reduced.urdf",
        "iCub humanoid, head fixed",
        srdf="icub",
        posture="half_sitting",
        feet=ICUB,
        drop=0.02,
    ),
    Row(
        "romeo",
        "romeo_description/urdf/romeo_small.urdf",
        "Romeo humanoid, hands and head fixed",
        srdf="romeo_small",
        posture="half_sitting",
        feet=soles("l_sole", "r_sole", -0.0735, 0.155, 0.0528, 0.0676),
        drop=0.02,
    ),
    *(
        Row(
            name,
            f"simple_humanoid_description/urdf/{name}.urdf",
            about,
            srdf=name,
            posture="half_sitting",
            angles=SIMPLE_ANGLES,
            feet=SIMPLE,
            drop=0.02,
        )
        for name, about in (
            ("simple_humanoid", "humanoid without geometry"),
            ("simple_humanoid_classical", "humanoid without geometry, classical joint order"),
        )
    ),
    *(
        Row(name, f"talos_data/robots/{file}.urdf", about, srdf="talos", posture="half_sitting", feet=TALOS, drop=0.02)
        for name, file, about in (
            ("talos", "talos_reduced", "TALOS humanoid, grippers fixed"),
            ("talos_box", "talos_reduced_box", "TALOS humanoid, box-shaped collision feet"),
            ("talos_full", "talos_full_v2", "TALOS humanoid with grippers"),
            ("talos_full_box", "talos_full_v2_box", "TALOS humanoid with grippers, box-shaped feet"),
        )
    ),
)

FLYERS = (
    Row(
        "borinot",
        "borinot_description/urdf/borinot_flying_arm_2.urdf",
        "Borinot flying arm",
        srdf="borinot_flying_arm_2",
        posture="home",
    ),
    Row("hector", "hector_description/robots/quadrotor_base.urdf", "Hector quadrotor"),
    Row(
        "hextilt",
        "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
        "Hextilt hexarotor with an arm",
        srdf="hextilt_flying_arm_5",
        posture="home",
    ),
    Row("iris", "iris_description/robots/iris_simple.urdf", "Iris quadrotor"),
)

FIXED = (
    *(
        Row(name, f"alex_description/urdf/{name}.urdf", about, "fixed", name, "default")
        for name, about in (
            ("alex_nub_hands", "Alex upper body"),
            ("alex_psyonic_hands", "Alex upper body, Psyonic hands"),
            ("alex_sake_hands", "Alex upper body, Sake grippers"),
        )
    ),
    Row("allegro_left_hand", "allegro_hand_description/urdf/allegro_left_hand.urdf", "Allegro left hand", "fixed"),
    Row("allegro_right_hand", "allegro_hand_description/urdf/allegro_right_hand.urdf", "Allegro right hand", "fixed"),
    Row("asr_twodof", "asr_twodof_description/urdf/TwoDofs.urdf", "arm with two joints", "fixed"),
    Row(
        "baxter",
        "baxter_description/urdf/baxter.urdf",
        "Baxter with two arms",
        "fixed",
        "baxter_manipulation",
        "neutral",
    ),
    Row("double_pendulum", "double_pendulum_description/urdf/double_pendulum.urdf", "double pendulum", "fixed"),
    Row(
        "double_pendulum_continuous",
        "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
        "double pendulum without stops",
        "fixed",
    ),
    Row(
        "double_pendulum_simple",
        "double_pendulum_description/urdf/double_pendulum_simple.urdf",
        "double pendulum of plain bodies",
        "fixed",
    ),
    Row(
        "finger_edu",
        "finger_edu_description/robots/finger_edu.urdf",
        "TriFinger's finger",
        "fixed",
        "finger_edu",
        "hanging",
    ),
    Row("kinova", "kinova_description/robots/kinova.urdf", "Kinova arm", "fixed", "kinova", "arm_up"),
    Row("panda", "panda_description/urdf/panda.urdf", "Franka Panda arm", "fixed", "panda", "default"),
    Row("pr2", "pr2_description/urdf/pr2.urdf", "PR2 on a fixed base", "fixed"),
    Row("so100", "so_arm_description/urdf/so100.urdf", "SO-100 arm", "fixed"),
    Row("so101", "so_arm_description/urdf/so101.urdf", "SO-101 arm", "fixed"),
    Row("talos_arm", "talos_data/robots/talos_left_arm.urdf", "left arm of TALOS", "fixed", "talos", "half_sitting"),
    Row("tiago", "tiago_description/robots/tiago.urdf", "TIAGo on a fixed base", "fixed"),
    Row("tiago_dual", "tiago_description/robots/tiago_dual.urdf", "TIAGo with two arms on a fixed base", "fixed"),
    Row("tiago_no_hand", "tiago_description/robots/tiago_no_hand.urdf", "TIAGo without hand on a fixed base", "fixed"),
    Row("tiago_pro", "tiago_pro_description/robots/tiago_pro.urdf", "TIAGo Pro on a fixed base", "fixed"),
    Row("ur3", "ur_description/urdf/ur3_robot.urdf", "Universal Robots UR3 arm", "fixed"),
    Row("ur3_gripper", "ur_description/urdf/ur3_gripper.urdf", "UR3 arm with a gripper", "fixed"),
    Row("ur3_limited", "ur_description/urdf/ur3_joint_limited_robot.urdf", "UR3 arm, half turns only", "fixed"),
    Row("ur5", "ur_description/urdf/ur5_robot.urdf", "Universal Robots UR5 arm", "fixed"),
    Row("ur5_gripper", "ur_description/urdf/ur5_gripper.urdf", "UR5 arm with a gripper", "fixed"),
    Row("ur5_limited", "ur_description/urdf/ur5_joint_limited_robot.urdf", "UR5 arm, half turns only", "fixed"),
    Row("ur10", "ur_description/urdf/ur10_robot.urdf", "Universal Robots UR10 arm", "fixed"),
    Row("ur10_limited", "ur_description/urdf/ur10_joint_limited_robot.urdf", "UR10 arm, half turns only", "fixed"),
    Row("xarm7", "xarm_description/urdf/xarm7.urdf", "xArm7 arm", "fixed"),
    Row("z1", "z1_description/urdf/z1.urdf", "Unitree Z1 arm", "fixed", "z1", "arm_up"),
)

ROWS = (*QUADRUPEDS, *BIPEDS, *FLYERS, *FIXED)


def entries() -> tuple[RobotEntry, ...]:
    """Entries of all robots whose files are here; none where the data is not installed."""
    robots = data_folder()
    if robots is None:
        return ()
    return tuple(_entry(row, robots) for row in ROWS if (robots / row.urdf).is_file())


@cache
def data_folder() -> Path | None:
    """Folder ``robots`` of example-robot-data, or None."""
    return next((folder for folder in _candidates() if folder.is_dir()), None)


def _candidates() -> Iterator[Path]:
    """Places to look: the installed distribution's files, pinocchio's prefix, Python's prefix."""
    try:
        package = distribution("example-robot-data")
    except PackageNotFoundError:
        pass
    else:
        for file in package.files or ():
            head, found, _ = file.as_posix().partition(FOLDER)
            if found:
                yield Path(str(package.locate_file(head))) / FOLDER
                break
    pinocchio = find_spec("pinocchio")
    if pinocchio is not None and pinocchio.origin is not None:
        yield Path(pinocchio.origin).parents[4] / FOLDER
    yield Path(prefix) / FOLDER


def _entry(row: Row, robots: Path) -> RobotEntry:
    return RobotEntry(
        name=row.name,
        description=row.about,
        path=robots / row.urdf,
        root=row.root,
        package_dirs=(robots.parents[1],),
        feet=row.feet,
        nominal=partial(_nominal, row, robots),
        demo=None if row.drop is None else partial(_stand, row, robots, row.drop),
    )


def _nominal(row: Row, robots: Path, model: Any) -> Array:
    q = _posture(row, robots, model)
    return settle(model, q, row.feet) if row.feet else q


def _stand(row: Row, robots: Path, drop: float, model: Any) -> Demo:
    return standing_demo(model, _nominal(row, robots, model), drop, row.time, row.feet)


def _posture(row: Row, robots: Path, model: Any) -> Array:
    """Reference posture, or the given angles, with every joint moved inside its limits, so that none is in contact."""
    import pinocchio as pin

    q: Array
    if row.srdf:
        annotated = model.copy()
        postures = robots / Path(row.urdf).parts[0] / "srdf" / f"{row.srdf}.srdf"
        pin.loadReferenceConfigurations(annotated, str(postures), False)
        q = pin.normalize(model, annotated.referenceConfigurations[row.posture])
    else:
        q = pin.neutral(model)
        if row.root == "free_flyer":
            q[3:7] = row.tilt
    for joint in range(1, model.njoints):
        if model.nqs[joint] != 1:
            continue
        i = model.idx_qs[joint]
        q[i] = next((angle for end, angle in row.angles.items() if model.names[joint].endswith(end)), q[i])
        low, high = model.lowerPositionLimit[i], model.upperPositionLimit[i]
        inset = LIMIT_INSET * (high - low)
        q[i] = np.clip(q[i], low + inset, high - inset) if np.isfinite(inset) else q[i]
    return q
