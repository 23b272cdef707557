"""URDF files as a whole: mimicked joints, roots, sources, meshes, limits, continuous joints and contacts chosen."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import contactsim as cs
from contactsim.hybrid.differences import tangent_derivative
from contactsim.hybrid.manifold import Euclidean

TIGHT = cs.Tolerances(rtol=1e-11, atol=1e-12)
COUPLED = 1e-11  # rad, m: a follower off its leader
REDUCED = 1e-8  # rad, rad/s: a run against the equation of one joint
ROUNDING = 1e-12
K, C = -1.5, 0.3  # multiplier and offset of the follower
MASSES, LENGTHS, INERTIAS = (1.0, 0.4), (0.5, 0.3), (0.02, 0.01)
BOX = '<box size="0.2 0.2 0.2"/>'
LIMIT = '<limit lower="-9" upper="9" effort="5" velocity="2"/>'


def link(name: str, mass: float = 1.0, inertia: float = 0.1, at: str = "0 0 0", shape: str = "") -> str:
    collision = f"<collision><geometry>{shape}</geometry></collision>" if shape else ""
    return (
        f'<link name="{name}"><inertial><origin xyz="{at}"/><mass value="{mass}"/><inertia ixx="{inertia}"'
        f' iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial>{collision}</link>'
    )


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = LIMIT, axis: str = "0 1 0") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
        f"{inside}</joint>"
    )


def robot_text(*parts: str) -> str:
    return f'<robot name="arm">{"".join(parts)}</robot>'


def two_pendulums(kind: str = "revolute", mimic: str = f'<mimic joint="lead" multiplier="{K}" offset="{C}"/>') -> str:
    """Two pendulums on one base, the second held to q_2 = k q_1 + c."""
    bobs = [link(f"bob{i}", MASSES[i], INERTIAS[i], f"0 0 {-LENGTHS[i]}") for i in (0, 1)]
    limit = LIMIT if kind == "revolute" else ""
    return robot_text(
        link("base"),
        *bobs,
        joint("lead", "base", "bob0", kind, limit),
        joint("follow", "base", "bob1", kind, limit + mimic),
    )


def one_joint(start: tuple[float, float], time: float) -> np.ndarray:
    """(theta, theta') of (J_1 + k^2 J_2) theta'' = -m_1 g l_1 sin theta - k m_2 g l_2 sin(k theta + c)."""
    (m1, m2), (l1, l2), (i1, i2) = MASSES, LENGTHS, INERTIAS
    inertia = i1 + m1 * l1**2 + K**2 * (i2 + m2 * l2**2)

    def rate(t: float, x: np.ndarray) -> list[float]:
        pull = -m1 * l1 * np.sin(x[0]) - K * m2 * l2 * np.sin(K * x[0] + C)
        return [x[1], 9.81 * pull / inertia]

    return np.asarray(solve_ivp(rate, (0.0, time), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1])


@contextmanager
def silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# --- mimic ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["revolute", "continuous"])
def test_a_joint_that_mimics_follows_and_both_move_as_one(kind: str) -> None:
    with silent():
        robot = cs.Robot.from_urdf(two_pendulums(kind), root="fixed")
    assert robot.nq == 2
    lead, follow = robot.joint_index("lead"), robot.joint_index("follow")
    q, v = np.zeros(2), np.zeros(2)
    q[[lead, follow]], v[[lead, follow]] = (0.8, K * 0.8 + C), (2.0, K * 2.0)
    traj = cs.simulate(cs.ContactSystem(robot), (q, v), (0.0, 1.0), tolerances=TIGHT)
    for t in np.linspace(0.0, 1.0, 23):
        at = traj(t)
        assert abs(at.q[follow] - K * at.q[lead] - C) < COUPLED
    np.testing.assert_allclose(
        [traj.final.q[lead], traj.final.v[lead]], one_joint((0.8, 2.0), 1.0), rtol=0, atol=REDUCED
    )
    traj.check()


def test_the_derivative_of_a_run_is_that_of_one_joint() -> None:
    robot = cs.Robot.from_urdf(two_pendulums(), root="fixed")
    place = [robot.joint_index(name) for name in ("lead", "follow")]
    q, v, both = np.zeros(2), np.zeros(2), np.zeros(2)
    q[place], v[place], both[place] = (0.8, K * 0.8 + C), (2.0, K * 2.0), (1.0, K)
    lin = cs.linearize(cs.simulate(cs.ContactSystem(robot), (q, v), (0.0, 0.5), tolerances=TIGHT))
    step, lead = 1e-4, place[0]
    for direction, along in (((step, 0.0), [*both, 0.0, 0.0]), ((0.0, step), [0.0, 0.0, *both])):
        ends = [one_joint((0.8 + sign * direction[0], 2.0 + sign * direction[1]), 0.5) for sign in (1.0, -1.0)]
        found = lin.matrix() @ np.array(along)
        np.testing.assert_allclose(found[[lead, 2 + lead]], (ends[0] - ends[1]) / (2.0 * step), atol=1e-6)


def test_a_follower_stands_where_it_belongs_and_has_no_motor() -> None:
    robot = cs.Robot.from_urdf(two_pendulums(), root="fixed")
    follow = robot.joint_index("follow")
    assert robot.nominal[follow] == C
    assert robot.actuated.tolist() == [k != follow for k in range(2)]
    cs.ContactSystem(robot).mechanism.begin(robot.nominal, np.zeros(2))  # nothing to close


def test_fingers_of_a_gripper_stop_together() -> None:
    """Sliding fingers whose limits are reached at one instant: leader and follower at 0.04 m."""
    limit = '<limit lower="0" upper="0.04" effort="5" velocity="2"/>'
    text = robot_text(
        link("palm"),
        link("left", 0.1),
        link("right", 0.1),
        joint("lead", "palm", "left", "prismatic", limit),
        joint("follow", "palm", "right", "prismatic", limit + '<mimic joint="lead"/>', axis="0 -1 0"),
    )
    robot = cs.Robot.from_urdf(text, root="fixed")
    lead = robot.joint_index("lead")
    system = cs.ContactSystem(robot, controller=lambda t, q, v: np.where(np.arange(2) == lead, 0.2, 0.0))
    traj = cs.simulate(system, ([0.01, 0.01], np.zeros(2)), (0.0, 0.5), tolerances=TIGHT)
    touch = traj.events[0].time  # x = x_0 + F t^2 / (2 (m + m))
    assert abs(touch - np.sqrt(2 * 0.03 * 0.2 / 0.2)) < 1e-9
    np.testing.assert_allclose(traj.final.q, 0.04, atol=1e-9)


def test_what_follows_a_follower_follows_and_a_fixed_leader_holds() -> None:
    text = robot_text(
        *(link(name) for name in "abcd"),
        joint("one", "a", "b"),
        joint("three", "c", "d", inside=LIMIT + '<mimic joint="two" multiplier="2"/>'),
        joint("two", "b", "c", inside=LIMIT + '<mimic joint="one" offset="0.25"/>'),
    )
    robot = cs.Robot.from_urdf(text, root="fixed")
    assert [robot.nominal[robot.joint_index(name)] for name in ("one", "two", "three")] == [0.0, 0.25, 0.5]
    fixed = text.replace('name="one" type="revolute"', 'name="one" type="fixed"')
    robot = cs.Robot.from_urdf(fixed, root="fixed")
    assert robot.loops[-1] == cs.JointCoupling(("two",), (1.0,), 0.25, "two-one")
    assert not robot.actuated.any()


def test_joints_that_start_off_their_mimic_are_refused_in_radians() -> None:
    mimic = LIMIT + '<mimic joint="one" multiplier="2"/>'
    text = robot_text(*map(link, "abc"), joint("one", "a", "b"), joint("two", "b", "c", inside=mimic))
    system = cs.ContactSystem(cs.Robot.from_urdf(text, root="fixed"))
    with pytest.raises(cs.InputError, match=r"the loop 'two-one' is open by 0\.3 rad or m at the start"):
        cs.simulate(system, cs.State([0.1, 0.5], [0.0, 0.0]), (0.0, 0.1))
    with pytest.raises(cs.InputError, match=r"the loop 'two-one' opens with 1 rad/s or m/s at the start"):
        cs.simulate(system, cs.State([0.1, 0.2], [0.0, 1.0]), (0.0, 0.1))


@pytest.mark.parametrize(
    ("mimic", "words"),
    [
        ('<mimic joint="led"/>', "mimics 'led', which is no other joint; similar ones are lead"),
        ('<mimic joint="follow"/>', "mimics 'follow', which is no other joint"),
        ('<mimic joint="lead" multiplier="two"/>', "has multiplier='two'; give a finite number"),
        ('<mimic joint="lead" offset="nan"/>', "has offset='nan'; give a finite number"),
    ],
)
def test_mimics_that_cannot_be(mimic: str, words: str) -> None:
    with pytest.raises(cs.InputError, match=words):
        cs.Robot.from_urdf(two_pendulums(mimic=mimic), root="fixed")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((link("a"), link("a")), "has two links named 'a'; give each a name of its own"),
        ((*map(link, "abc"), joint("j", "a", "b"), joint("j", "a", "c")), "has two joints named 'j'"),
        (
            (*map(link, "abc"), joint("j", "a", "c"), joint("k", "b", "c")),
            "'c' in .* is the child of joints 'j' and 'k'",
        ),
        (
            (link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")),
            "joints 'j', 'k' in .* go round in a circle",
        ),
    ],
)
def test_joints_that_make_no_tree_are_refused(parts: tuple[str, ...], words: str) -> None:
    with pytest.raises(cs.InputError, match=words):
        cs.Robot.from_urdf(robot_text(*parts))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (
            '<geometry><box size="1 2"/></geometry>',
            "the <box> .* of link 'a' in .* has size='1 2'; give 3 numbers that are zero or positive",
        ),
        ('<geometry><sphere radius="nan"/></geometry>', "has radius='nan'; give a number that is zero or positive"),
        ('<geometry><cylinder radius="1"/></geometry>', "has no length; give a number that is zero or positive"),
        ('<origin xyz="0 up 0"/><geometry><sphere radius="1"/></geometry>', "the <origin> .* has xyz='0 up 0'"),
    ],
)
def test_shapes_that_the_parser_would_leave_out_are_refused(shape: str, words: str) -> None:
    with pytest.raises(cs.InputError, match=words):
        cs.Robot.from_urdf(robot_text(f'<link name="a"><collision>{shape}</collision></link>'))


# --- the root ---------------------------------------------------------------------------------------------------
def arm(first: str = "base", last: str = "tool") -> str:
    names = (first, "a", "b", last)
    return robot_text(*map(link, names), *(joint(f"j{k}", names[k], names[k + 1]) for k in range(3)))


def test_an_arm_that_was_left_floating_is_suspected() -> None:
    with pytest.warns(
        UserWarning,
        match=r"floats, but its first link 'base' carries a single chain that begins with 3 joints; give root='fixed'",
    ):
        assert cs.Robot.from_urdf(arm(), contacts=[]).nv == 9
    with pytest.warns(UserWarning, match="its first link is called 'world'"):
        cs.Robot.from_urdf(robot_text(link("world"), link("a"), joint("j", "world", "a")), contacts=[])
    with silent():
        cs.Robot.from_urdf(arm(), root="free_flyer", contacts=[])
        cs.Robot.from_urdf(arm(), root="fixed", contacts=[])
        cs.Robot.from_urdf(arm(last="foot"), contacts=[])


# --- sources ----------------------------------------------------------------------------------------------------
def test_a_path_its_text_and_open_files_are_one_robot(tmp_path: Path) -> None:
    path = tmp_path / "arm.xml"
    path.write_bytes(arm().encode() + b"\n\0")  # as some files of pybullet_data end
    with path.open("rb") as raw, path.open() as text:
        sources = [path, str(path), path.read_text(), path.read_bytes(), raw, text, io.StringIO(arm())]
        robots = [cs.Robot.from_urdf(source, "fixed") for source in sources]
    assert all(robot.model == robots[0].model for robot in robots)


def test_a_file_in_latin_1_is_read_as_it_declares(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_bytes(b'<?xml version="1.0" encoding="iso-8859-1"?>' + arm(last="fühler").encode("iso-8859-1"))
    assert cs.Robot.from_urdf(path, "fixed").model.existFrame("fühler")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("<robot", "the text of the URDF is no XML"),
        ("<mujoco/>", r"the root element <mujoco>; give a URDF"),
        (io.StringIO(""), "the text of the URDF is no XML"),
        ("<robot name='r'/>", "the text of the URDF has no <link>"),
        ('<robot xmlns="http://ros.org" name="r"/>', "<robot> in the namespace http://ros.org, .* remove its xmlns"),
        ('<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arm/></robot>', "run xacro on it"),
        (
            '<robot name="r"><link name="a"/><joint name="j"><origin xyz="$(optenv PLACE 0 0 1)"/></joint></robot>',
            "run xacro on it",
        ),
        (
            '<robot name="r"><link name="a"><inertial><mass value="${m}"/></inertial></link></robot>',
            "run xacro on it",
        ),
        (
            '<robot name="r"><link name="a"/><joint name="j"><child link="a"/></joint></robot>',
            "joint 'j' in .* has no <parent>",
        ),
        (3, "is 3; give a path, the text of a URDF, or a file open for reading"),
        ("no\0where.urdf", "give a path, the text of a URDF"),
        ("nowhere.urdf", "there is no URDF file"),
    ],
)
def test_sources_that_are_none(source: object, words: str) -> None:
    with pytest.raises(cs.InputError, match=words):
        cs.Robot.from_urdf(source)  # type: ignore[arg-type]


def test_folders_that_are_none_are_told(tmp_path: Path) -> None:
    with pytest.raises(cs.InputError, match=r"there is no folder .*lost, in which meshes are to be looked up; mend p"):
        cs.Robot.from_urdf('<robot name="r"><link name="a"/></robot>', "fixed", [tmp_path / "lost"], contacts=[])


# --- meshes -----------------------------------------------------------------------------------------------------
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.mark.parametrize("dirs", [["."], ["shapes"], None])
def test_meshes_are_found_in_packages_and_scaled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dirs: list[str] | None
) -> None:
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "tip.obj").write_text(TETRAHEDRON)
    mesh = '<mesh filename="package://shapes/tip.obj" scale="2 3 0.01"/>'
    text = robot_text(link("base"), link("tip", shape=mesh), joint("j", "base", "tip"))
    if dirs is None:
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    folders = dirs and [tmp_path / folder for folder in dirs]
    with pytest.warns(UserWarning, match=r"take only extreme points of the meshes of link 'tip' \(4\)"):
        robot = cs.Robot.from_urdf(text, "fixed", package_dirs=folders)
    found = sorted(tuple(np.round(point.offset, 12)) for point in robot.contacts)
    assert found == [(0, 0, 0), (0, 0, 0.01), (0, 3, 0), (2, 0, 0)]


# --- contacts ---------------------------------------------------------------------------------------------------
def legged() -> str:
    return robot_text(
        link("trunk", shape=BOX),
        link("shank", shape='<cylinder radius="0.1" length="0.5"/>'),
        link("foot", shape='<sphere radius="0.05"/>'),
        joint("hip", "trunk", "shank"),
        joint("ankle", "shank", "foot"),
    )


def test_what_auto_leaves_out_is_said_and_all_takes_it() -> None:
    with pytest.warns(
        UserWarning, match=r"leave out link 'trunk' \(box\), link 'shank' \(cylinder\); give contacts='all'"
    ):
        auto = cs.Robot.from_urdf(legged())
    with silent():
        every = cs.Robot.from_urdf(legged(), contacts="all")
    assert [point.name for point in auto.contacts] == ["foot"]
    assert sorted({point.frame for point in every.contacts}) == ["foot", "shank", "trunk"]
    assert len(every.contacts) == 8 + 18 + 1  # of a cylinder two rims, and eight points of each on which it stands
    with pytest.raises(cs.InputError, match="no link of robot 'arm' is named as a foot"):
        cs.Robot.from_urdf(arm(), "fixed", contacts="feet")
    with pytest.raises(cs.InputError, match="contacts is 'every'; give 'auto', 'all', 'feet' or a list"):
        cs.Robot.from_urdf(legged(), contacts="every")


MISSING = '<mesh filename="nowhere.stl"/>'


def test_feet_keep_their_shape_where_that_of_other_links_is_missing() -> None:
    """They were points in the middle of their balls."""
    with pytest.warns(
        UserWarning, match=r"nowhere.stl could not be found\).*; the contacts of its feet, foot, do with"
    ):
        robot = cs.Robot.from_urdf(legged().replace(BOX, MISSING))
    assert [(point.name, point.radius) for point in robot.contacts] == [("foot", 0.05)]


def test_the_missing_mesh_of_a_foot_is_an_error_as_that_of_any_contact() -> None:
    for lost in ("trunk", "foot"):  # a robot without feet, and one whose foot it is
        text = robot_text(link("base"), link(lost, shape=MISSING), joint("j", "base", lost))
        with pytest.raises(cs.InputError, match=r"cannot be read \(Mesh nowhere.stl could not be found\); give pack"):
            cs.Robot.from_urdf(text, "free_flyer")


# --- continuous joints ------------------------------------------------------------------------------------------
def test_continuous_joints_are_given_by_angles_too() -> None:
    text = robot_text(
        *map(link, ("a", "b", "c", "d")),
        joint("one", "a", "b", "continuous", ""),
        joint("two", "b", "c"),
        joint("three", "c", "d", "continuous", ""),
    )
    whole = [np.cos(0.3), np.sin(0.3), -0.5, np.cos(4.0), np.sin(4.0)]
    robot = cs.Robot.from_urdf(text, "fixed", nominal=[0.3, -0.5, 4.0])
    np.testing.assert_allclose(robot.nominal, whole, atol=ROUNDING)
    for reference in ([0.3, -0.5, 4.0], lambda t: [0.3, -0.5, 4.0]):
        held = cs.PD(robot, reference).torque(0.0, np.array(whole), np.zeros(3), np.zeros(0))
        np.testing.assert_allclose(held, 0.0, atol=ROUNDING)
    traj = cs.simulate(cs.ContactSystem(robot), ([0.3, -0.5, 4.0], np.zeros(3)), (0.0, 1e-3))
    np.testing.assert_allclose(traj.q[0], whole, atol=ROUNDING)
    world = cs.Robot.merge([robot, cs.Robot.sphere(1.0, 0.1)], names=["arm", "ball"])
    np.testing.assert_allclose(world.pack({"arm": ([0.3, -0.5, 4.0], np.zeros(3))})[0][:5], whole, atol=ROUNDING)
    np.testing.assert_allclose(cs.ContactSystem(robot).close([0.3, -0.5, 4.0]).q, whole, atol=ROUNDING)
    with pytest.raises(cs.InputError, match=r"State.q has shape \(4,\); this system needs \(5,\)"):
        cs.simulate(cs.ContactSystem(robot), (np.zeros(4), np.zeros(3)), (0.0, 1e-3))


# --- limits of drives -------------------------------------------------------------------------------------------
def one_wheel(limit: str = '<limit lower="-99" upper="99" effort="2" velocity="3"/>') -> cs.Robot:
    return cs.Robot.from_urdf(
        robot_text(link("base"), link("wheel", inertia=0.5), joint("axle", "base", "wheel", inside=limit)), "fixed"
    )


def test_drives_keep_effort_and_velocity_of_the_file() -> None:
    """A wheel of 0.5 kg m^2 towards a far angle: at 2 N m until k_d (3 rad/s - v) is less, then v -> 3 rad/s."""
    robot, kd, inertia = one_wheel(), 4.0, 0.5
    system = cs.ContactSystem(robot, controller=cs.PD(robot, [90.0], kp=50.0, kd=kd, limits=True))
    traj = cs.simulate(system, ([0.0], [0.0]), (0.0, 1.0), tolerances=TIGHT)
    corner = (3.0 - 2.0 / kd) * inertia / 2.0  # v = 2.5 rad/s
    assert abs(traj(0.5).v[0] - 2.0 * 0.5 / inertia) < REDUCED
    expected = 3.0 - 0.5 * np.exp(-kd / inertia * (1.0 - corner))
    assert abs(traj.final.v[0] - expected) < 1e-7
    free = cs.PD(robot, [90.0], kp=50.0, kd=kd).torque(0.0, np.zeros(1), np.zeros(1), np.zeros(0))
    assert free[0] == 4500.0


@pytest.mark.parametrize(("q", "v"), [(89.99, 0.1), (88.0, 2.8), (88.0, 0.0), (89.0, 60.0)])
def test_derivatives_of_limited_drives(q: float, v: float) -> None:
    robot = one_wheel()
    drive = cs.PD(robot, [90.0], kp=50.0, kd=4.0, limits=True)
    exact = drive.torque_jacobian(0.0, np.array([q]), np.array([v]), np.zeros(0), robot.space)
    differences = tangent_derivative(
        lambda x: drive.torque(0.0, x[:1], x[1:], np.zeros(0)), Euclidean(2), np.array([q, v])
    )
    np.testing.assert_allclose(exact, differences, atol=1e-6)


def test_limits_that_drives_cannot_keep() -> None:
    with pytest.raises(cs.InputError, match="joint 'axle' of robot 'arm' has the effort limit 0; give a positive one"):
        cs.PD(one_wheel('<limit lower="-9" upper="9" effort="0" velocity="3"/>'), limits=True)
    with pytest.raises(cs.InputError, match="joint 'axle' has a velocity limit and kd = 0"):
        cs.PD(one_wheel(), kd=0.0, limits=True)
    with pytest.raises(cs.InputError, match="joint 'axle' has a velocity limit and kd = 0"):
        cs.PD(one_wheel(), limits=True).with_parameter("kd", 0.0)


def test_a_scene_keeps_limits_and_suspects_a_floating_arm(tmp_path: Path) -> None:
    (tmp_path / "wheel.urdf").write_text(
        robot_text(link("world"), link("wheel", inertia=0.5), joint("axle", "world", "wheel"))
    )
    scene = tmp_path / "scene.toml"
    table = '[robot]\nfile = "wheel.urdf"\ncontacts = []\n'
    drive = "[controller]\nkp = 50.0\nkd = 4.0\nreference = [8.0]\nlimits = true\n"
    scene.write_text(table + 'root = "fixed"\n' + drive + "[start]\nq = [0.0]\n")
    loaded = cs.load_scene(scene)
    controller = loaded.system.controller
    assert controller is not None
    assert controller.torque(0.0, np.zeros(1), np.zeros(1), np.zeros(0))[0] == 5.0
    scene.write_text(table)
    with pytest.warns(UserWarning, match="its first link is called 'world'"):
        cs.load_scene(scene)


def test_a_stored_drive_keeps_its_limits(tmp_path: Path) -> None:
    robot = one_wheel()
    system = cs.ContactSystem(robot, controller=cs.PD(robot, [90.0], kp=50.0, kd=4.0, limits=True))
    path = cs.simulate(system, ([0.0], [0.0]), (0.0, 0.1)).save(tmp_path / "run.nc")
    again = cs.Simulation.resume(cs.Trajectory.load(path))
    again.advance_to(0.2)
    assert abs(again.state.v[0] - 0.8) < 1e-6


def test_a_robot_that_shows_nothing_is_drawn_by_what_collides() -> None:
    brick = cs.Robot.from_urdf(robot_text(link("brick", shape=BOX)), root="free_flyer")
    assert [type(item.geometry).__name__ for item in brick.visual_model.geometryObjects] == ["Box"]
    missing = '<mesh filename="nowhere.stl"/>'
    lost = cs.Robot.from_urdf(robot_text(link("b", shape=missing)), root="free_flyer", contacts=[cs.ContactPoint("b")])
    assert lost.visual_model.ngeoms == 0  # a stick figure
