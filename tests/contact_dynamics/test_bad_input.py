"""What a user can get wrong: each mistake raises one clear sentence that names the thing."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from builders import box, planar_mechanism, point_mass, single_body, sphere

import contactsim as cs
from contactsim.common import registry


@contextmanager
def one_sentence(*words: str, error: type[Exception] = cs.InputError) -> Iterator[None]:
    """The block raises `error` with one line of text that holds all `words`."""
    with pytest.raises(error) as caught:
        yield
    text = str(caught.value)
    assert "\n" not in text.strip()
    assert 10 < len(text) < 1000
    for word in words:
        assert re.search(word, text, re.IGNORECASE), f"'{word}' is not in: {text}"


def run(robot: cs.Robot | cs.Mechanism, state: Callable[[], cs.State], **kwargs: object) -> None:
    cs.simulate(cs.ContactSystem(robot), state(), (0.0, 0.1), **kwargs)


# --- names ---------------------------------------------------------------------------------------------------------
def test_unknown_frame_of_a_contact() -> None:
    model = single_body(pin.JointModelFreeFlyer(), 1.0, (1, 1, 1), "trunk")
    with one_sentence("trunck", "trunk"):
        cs.Robot(model, contacts=[cs.ContactPoint("trunck")])


def test_unknown_joint() -> None:
    with one_sentence("no_such_joint", "ball_joint"):
        sphere().joint_index("no_such_joint")


def test_unknown_root_joint(tmp_path: Path) -> None:
    with one_sentence("hovercraft", "free_flyer"):
        cs.Robot.from_urdf(write_urdf(tmp_path), root="hovercraft")


def test_unknown_robot() -> None:
    with one_sentence("hexapodd", "hexapod"):
        cs.load_robot("hexapodd")


def test_a_file_given_as_the_name_of_a_robot() -> None:
    with one_sentence(r"robot\.urdf is a file", "Robot.from_urdf"):
        cs.load_robot("robot.urdf")


def test_a_robot_that_cannot_move(tmp_path: Path) -> None:
    post = cs.Robot.from_urdf(write_urdf(tmp_path), root="fixed")
    with one_sentence("no joint and a fixed root", "another root"):
        cs.ContactSystem(post)


def test_a_time_that_is_no_number() -> None:
    with one_sentence("the time of the run is 'long'", "positive number"):
        cs.load_scene("biped").simulate("long")  # type: ignore[arg-type]


def test_an_unknown_robot_where_the_package_of_robots_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contactsim.common.schemas.is_installed", lambda package: False)
    with one_sentence("solo99", "brings some sixty more"):
        cs.load_robot("solo99")


def test_unknown_law() -> None:
    with one_sentence("coulombe", "coulomb", error=cs.ContactSimError):
        cs.ContactSystem(point_mass(), law="coulombe")


def test_unknown_integrator() -> None:
    with one_sentence("DOP854", "DOP853"):
        run(point_mass(), lambda: cs.State([0, 0, 1], np.zeros(3)), integrator="DOP854")


def test_unknown_parameter() -> None:
    sim = cs.Simulation(cs.ContactSystem(point_mass()), cs.State([0, 0, 1.0], np.zeros(3)))
    with one_sentence("law.frictoin"):
        sim.set("law.frictoin", 0.3)


def test_unknown_frame_of_a_push() -> None:
    sim = cs.Simulation(cs.ContactSystem(point_mass()), cs.State([0, 0, 1.0], np.zeros(3)))
    with one_sentence("trunk"):
        sim.push("trunk", force=(1, 0, 0), duration=0.1)


def test_two_contacts_of_one_name() -> None:
    model = single_body(pin.JointModelFreeFlyer(), 1.0, (1, 1, 1), "trunk")
    with one_sentence("foot"):
        cs.Robot(model, contacts=[cs.ContactPoint("trunk", name="foot"), cs.ContactPoint("trunk", name="foot")])


# --- states --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", ["q", "v"])
def test_state_that_is_not_finite(part: str, value: float) -> None:
    q, v = np.array([0, 0, 1.0]), np.zeros(3)
    {"q": q, "v": v}[part][1] = value
    with one_sentence(rf"\b{part}\b", "nan|finite|inf"):
        run(point_mass(), lambda: cs.State(q, v))


@pytest.mark.parametrize(
    ("q", "v", "name"),
    [
        ([0, 0, 1, 0, 0, 0], np.zeros(6), "q"),
        ([0, 0, 1, 0, 0, 0, 1], np.zeros(7), "v"),
        (np.zeros((1, 7)), np.zeros(6), "q"),
        ([], np.zeros(6), "q"),
    ],
)
def test_state_of_the_wrong_shape(q: object, v: object, name: str) -> None:
    with one_sentence(rf"\b{name}\b", "shape|size|length|numbers", "[67]"):
        run(sphere(), lambda: cs.State(q, v))


def test_state_that_is_not_numbers() -> None:
    with one_sentence(r"\bq\b"):
        run(sphere(), lambda: cs.State("standing", np.zeros(6)))


@pytest.mark.parametrize("quaternion", [(0, 0, 0, 2), (0, 0, 0, 0), (0, 0, 0, 1 + 1e-5), (0.1, 0, 0, 1)])
def test_quaternion_that_is_not_unit(quaternion: tuple[float, ...]) -> None:
    with one_sentence("unit|norm|length", "quaternion|ball"):
        run(sphere(), lambda: cs.State([0, 0, 1, *quaternion], np.zeros(6)))


def test_angle_of_a_continuous_joint_that_is_not_on_the_circle() -> None:
    robot = cs.Robot(single_body(pin.JointModelRUBY(), 1.0, (1, 1, 1), "wheel"), contacts=[])
    with one_sentence("unit|norm|length|circle", "wheel"):
        run(robot, lambda: cs.State([1.0, 1.0], np.zeros(1)))


@pytest.mark.parametrize("depth", [1e-3, 0.5])
def test_state_inside_the_ground(depth: float) -> None:
    with one_sentence("front_left|front_right|rear_left|rear_right", "ground|inside|below|penetrat|gap"):
        run(box(), lambda: cs.State([0, 0, 0.1 - depth, 0, 0, 0, 1], np.zeros(6)))


def test_one_corner_inside_the_ground_is_named() -> None:
    tilted = pin.Quaternion(pin.exp3(np.array([0.02, 0.05, 0.0]))).coeffs()  # lowers front and right
    with one_sentence("front_right"):
        run(box(), lambda: cs.State([0, 0, 0.1, *tilted], np.zeros(6)))


def test_mechanism_inside_the_ground() -> None:
    block = planar_mechanism(1.0, 1.0, {"heel": (0.0, 0.0)}, 0.3, 0.0)
    with one_sentence("heel"):
        run(block, lambda: cs.State([0.0, -0.1, 0.0], np.zeros(3)))


# --- bodies and contacts -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan])
def test_mass_that_is_not_positive(mass: float) -> None:
    model = pin.Model()
    index = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "trunk_joint")
    model.inertias[index] = pin.Inertia(mass, np.zeros(3), np.eye(3) * 0.1)
    model.addFrame(pin.Frame("trunk", index, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    with one_sentence("mass", "trunk"):
        cs.Robot(model, contacts=[])


def test_mass_of_a_urdf_that_is_negative(tmp_path: Path) -> None:
    with one_sentence("mass"):
        cs.Robot.from_urdf(write_urdf(tmp_path, mass=-2.0), contacts=[])


@pytest.mark.parametrize("mass", [0.0, -1.0])
def test_mass_matrix_that_is_not_positive(mass: float) -> None:
    with one_sentence("mass"):
        mechanism = cs.Mechanism(n=1, mass=lambda q: [[mass]], force=lambda t, q, v: [0.0], contacts=[])
        run(mechanism, lambda: cs.State([0.0], [0.0]))


@pytest.mark.parametrize("friction", [-0.1, np.nan])
def test_friction_below_zero(friction: float) -> None:
    with one_sentence("friction", "heel"):
        cs.ContactPoint("foot", friction=friction, name="heel")
    with one_sentence("friction", "beak"):
        cs.Gap(
            gap=lambda t, q: q[0],
            normal=lambda t, q: [1.0],
            tangent=lambda t, q: [[0.0]],
            friction=friction,
            name="beak",
        )


def test_static_friction_below_kinetic() -> None:
    with one_sentence("static", "heel"):
        cs.ContactPoint("foot", friction=0.5, static_friction=0.4, name="heel")


@pytest.mark.parametrize("restitution", [-0.1, 1.1, np.nan])
def test_restitution_outside_zero_and_one(restitution: float) -> None:
    with one_sentence("restitution", "heel"):
        cs.ContactPoint("foot", restitution=restitution, name="heel")
    with one_sentence("restitution", "beak"):
        cs.Gap(gap=lambda t, q: q[0], normal=lambda t, q: [1.0], restitution=restitution, name="beak")


def test_radius_below_zero() -> None:
    with one_sentence("radius", "heel"):
        cs.ContactPoint("foot", radius=-0.01, name="heel")


def test_parameter_out_of_range_during_a_run() -> None:
    sim = cs.Simulation(cs.ContactSystem(point_mass()), cs.State([0, 0, 1.0], np.zeros(3)))
    with one_sentence("friction"):
        sim.set("contact.friction", -0.3)


def test_joints_that_are_not_depth_first() -> None:
    """Pinocchio's crba is silently wrong for such a model, so it is not to be used as it is."""
    model = pin.Model()
    parents = {}
    for name, parent in (("root", None), ("left", "root"), ("right", "root"), ("left_tip", "left")):
        kind = pin.JointModelFreeFlyer() if parent is None else pin.JointModelRX()
        place = pin.SE3(np.eye(3), np.array([0.1, 0.2, 0.3]))
        parents[name] = model.addJoint(parents.get(parent, 0), kind, place, name)
        model.appendBodyToJoint(parents[name], pin.Inertia(1.0, np.ones(3) * 0.1, np.eye(3) * 0.1), pin.SE3.Identity())
    with one_sentence("left_tip|depth|order"):
        cs.Robot(model, contacts=[])


# --- contacts that switch on ---------------------------------------------------------------------------------------
def test_contact_that_is_enabled_below_the_ground() -> None:
    """A point falls through a ground whose contact is off, and is switched on at t = 0.3, 0.34 m below it."""
    model = single_body(pin.JointModelTranslation(), 1.0, (0, 0, 0), "mass")
    contact = cs.ContactPoint("mass", name="toe", enabled=lambda t, q, v: t - 0.3)
    system = cs.ContactSystem(cs.Robot(model, contacts=[contact]))
    with one_sentence("toe", "enabled|switch", "ground|gap|below"):
        cs.simulate(system, cs.State([0, 0, 0.1], np.zeros(3)), (0.0, 0.5))


def test_contact_that_is_enabled_above_the_ground_is_fine() -> None:
    model = single_body(pin.JointModelTranslation(), 1.0, (0, 0, 0), "mass")
    contact = cs.ContactPoint("mass", name="toe", enabled=lambda t, q, v: t - 0.1)
    system = cs.ContactSystem(cs.Robot(model, contacts=[contact]))
    traj = cs.simulate(system, cs.State([0, 0, 0.5], np.zeros(3)), (0.0, 0.5))
    assert traj.final.q[2] == pytest.approx(0.0, abs=1e-9)


# --- files ---------------------------------------------------------------------------------------------------------
def write_urdf(folder: Path, mass: float = 1.0, mesh: str = "") -> Path:
    shape = f'<mesh filename="{mesh}"/>' if mesh else '<box size="0.2 0.2 0.2"/>'
    text = f"""<robot name="brick"><link name="brick">
      <inertial><mass value="{mass}"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><geometry>{shape}</geometry></collision>
      <visual><geometry>{shape}</geometry></visual>
    </link></robot>"""
    path = folder / "brick.urdf"
    path.write_text(text)
    return path


def test_missing_urdf(tmp_path: Path) -> None:
    with one_sentence("nowhere.urdf"):
        cs.Robot.from_urdf(tmp_path / "nowhere.urdf")


def test_missing_mjcf(tmp_path: Path) -> None:
    with one_sentence("nowhere.xml"):
        cs.Robot.from_mjcf(tmp_path / "nowhere.xml")


def test_urdf_that_is_not_one(tmp_path: Path) -> None:
    path = tmp_path / "broken.urdf"
    path.write_text("<robot name='x'><link")
    with one_sentence("broken.urdf"):
        cs.Robot.from_urdf(path)


def test_missing_mesh_is_named_where_contacts_need_it(tmp_path: Path) -> None:
    path = write_urdf(tmp_path, mesh="package://brick/lost_mesh.stl")
    with one_sentence("lost_mesh"):
        robot = cs.Robot.from_urdf(path)
        run(robot, lambda: cs.State([0, 0, 1, 0, 0, 0, 1], np.zeros(6)))


def test_missing_mesh_does_not_stop_a_run_that_does_not_need_it(tmp_path: Path) -> None:
    path = write_urdf(tmp_path, mesh="package://brick/lost_mesh.stl")
    robot = cs.Robot.from_urdf(path, contacts=[cs.ContactPoint("brick", radius=0.1, name="brick")])
    traj = cs.simulate(cs.ContactSystem(robot), cs.State([0, 0, 1, 0, 0, 0, 1], np.zeros(6)), (0.0, 0.1))
    assert traj.t[-1] == 0.1


def test_missing_visual_mesh_is_left_out_of_pictures(tmp_path: Path) -> None:
    path = write_urdf(tmp_path, mesh="package://brick/lost_mesh.stl")
    robot = cs.Robot.from_urdf(path, contacts=[cs.ContactPoint("brick", radius=0.1, name="brick")])
    traj = cs.simulate(cs.ContactSystem(robot), cs.State([0, 0, 1, 0, 0, 0, 1], np.zeros(6)), (0.0, 0.1))
    with pytest.warns(UserWarning, match=r"link 'brick' of robot 'brick' is not drawn whole .*lost_mesh.*package_dirs"):
        assert cs.export_html(traj, tmp_path / "run.html").stat().st_size > 10_000
    again = cs.Trajectory.load(traj.save(tmp_path / "run.nc"))
    with pytest.warns(UserWarning, match=r"link 'brick' of robot 'brick' is not drawn whole .*lost_mesh.*package_dirs"):
        assert cs.export_html(again, tmp_path / "again.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('value="1.0"', 'value="abc"'), "<mass> of link 'brick'"),
        (('ixx="0.1"', 'ixx="nan"'), "<inertia> of link 'brick'"),
        (("</robot>", '<joint name="j"><parent link="brick"/><child link="tail"/></joint></robot>'), "link 'tail'"),
    ],
)
def test_urdf_with_mistakes_that_its_parser_only_mutters_about(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    path = write_urdf(tmp_path)
    path.write_text(path.read_text().replace(*change))
    with one_sentence(words):
        cs.Robot.from_urdf(path)


@pytest.mark.parametrize("contacts", ["brick", ["brick"], None, cs.ContactPoint("brick")])
def test_contacts_that_are_none(tmp_path: Path, contacts: Any) -> None:
    robot = cs.Robot.from_urdf(write_urdf(tmp_path))
    with one_sentence("give a list of ContactPoint"):
        robot.with_contacts(contacts)


def test_contact_at_a_frame_that_is_not_there(tmp_path: Path) -> None:
    with one_sentence("no frame 'brik'"):
        cs.Robot.from_urdf(write_urdf(tmp_path)).with_contacts([cs.ContactPoint("brik")])


def test_missing_run(tmp_path: Path) -> None:
    with one_sentence("nowhere.nc"):
        cs.Trajectory.load(tmp_path / "nowhere.nc")


# --- runs ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("span", [(1.0, 0.0), (0.0, 0.0), (0.0, np.nan), (0.0, np.inf)])
def test_time_span_that_is_reversed_or_empty(span: tuple[float, float]) -> None:
    with one_sentence("span|time"):
        cs.simulate(cs.ContactSystem(point_mass()), cs.State([0, 0, 1], np.zeros(3)), span)


@pytest.mark.parametrize("name", ["rtol", "atol", "event_time"])
def test_tolerance_that_is_not_positive(name: str) -> None:
    with one_sentence(name):
        cs.Tolerances(**{name: 0.0})


def test_tolerance_finer_than_rounding() -> None:
    with one_sentence(r"'rtol' is 1e-20; give a number from 2\.5e-13, below which double precision rounds, to 0\.01"):
        cs.Tolerances(rtol=1e-20)
    cs.Tolerances(rtol=2.5e-13)


def test_controller_of_the_wrong_shape() -> None:
    system = cs.ContactSystem(sphere(), controller=lambda t, q, v: np.zeros(5))
    with one_sentence("controller", "6"):
        cs.simulate(system, cs.State([0, 0, 1, 0, 0, 0, 1], np.zeros(6)), (0.0, 0.1))


# --- plugins -------------------------------------------------------------------------------------------------------
@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str, str], None]]:
    """Installs a distribution with one contact law: (distribution, entry point, module source)."""

    def install(distribution: str, entry: str, source: str) -> None:
        module = distribution.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[contactsim.contact_laws]\n{entry} = {module}:Law\n")
        registry._entries.cache_clear()

    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield install
    registry._entries.cache_clear()


def test_duplicate_plugin_name(foreign: Callable[[str, str, str], None]) -> None:
    foreign("twin-laws", "coulomb", "class Law: ...\n")
    with one_sentence("coulomb", "twin-laws", error=cs.PluginError):
        cs.ContactSystem(point_mass(), law="coulomb")


def test_plugin_that_raises_on_import(foreign: Callable[[str, str, str], None]) -> None:
    foreign("broken-laws", "sticky", "raise ZeroDivisionError('glue')\n")
    with one_sentence("sticky", "broken-laws", "ZeroDivisionError", "glue", error=cs.PluginError):
        cs.ContactSystem(point_mass(), law="sticky")
    cs.ContactSystem(point_mass(), law="coulomb")  # the others still work


def test_plugin_that_is_not_a_law(foreign: Callable[[str, str, str], None]) -> None:
    foreign("odd-laws", "odd", "class Law: ...\n")
    with one_sentence("law", error=cs.ContactSimError):
        cs.ContactSystem(point_mass(), law="odd")


# --- controllers, and analyses of a run ------------------------------------------------------------------------------
def test_values_that_are_no_numbers() -> None:
    robot = sphere()
    with one_sentence("controller", "str", "t = 0 s", "numbers"):
        cs.simulate(cs.ContactSystem(robot, controller=lambda t, q, v: "full speed"), falling(robot), (0.0, 0.1))
    with one_sentence("kp", "stiff", "finite number"):
        cs.PD(robot, robot.nominal, kp="stiff")
    with one_sentence("gravity", "up", "3 finite numbers"):
        cs.ContactSystem(robot, gravity="up")
    with one_sentence("mass", "heavy", "positive"):
        robot.with_body_parameter(next(iter(robot.bodies)), "mass", "heavy")  # type: ignore[arg-type]


def falling(robot: cs.Robot) -> cs.State:
    q = robot.nominal.copy()
    q[2] += 1.0
    return cs.State(q, np.zeros(robot.nv))


@pytest.fixture(scope="module")
def fall() -> cs.Trajectory:
    robot = sphere()
    return cs.simulate(cs.ContactSystem(robot), falling(robot), (0.0, 0.1))


@pytest.mark.parametrize("late", [np.eye(3), np.ones(12), np.full((12, 12), np.nan)])
def test_noise_that_changes_its_shape(fall: cs.Trajectory, late: np.ndarray) -> None:
    lin = cs.linearize(fall)
    with one_sentence(r"noise\(0\.0", r"12, 12|finite"):
        lin.covariance(np.eye(12), lambda t: np.eye(12) if t < 0.05 else late)


def test_a_linearization_that_carries_parameters_has_no_covariance(fall: cs.Trajectory) -> None:
    with one_sentence("gravity", "linearize"):
        cs.Linearization(fall, ("gravity",)).covariance(np.eye(12))
    with one_sentence("int", "simulate"):
        cs.Linearization(3)  # type: ignore[arg-type]
    with one_sentence("3", "name"):
        cs.linearize(fall).parameter(3)  # type: ignore[arg-type]


def test_linearize_by_a_fixed_step_needs_its_length(fall: cs.Trajectory) -> None:
    with one_sentence("RK4", "max_step"):
        cs.linearize(fall, integrator="RK4")
    with one_sentence("Euler", "DOP853"):
        cs.linearize(fall, integrator="Euler")
    noise, steps = 0.1 * np.eye(12), cs.Tolerances(max_step=1e-3)
    fixed = cs.linearize(fall, integrator="RK4", tolerances=steps).covariance(np.eye(12), noise)
    assert np.allclose(fixed.final, cs.linearize(fall).covariance(np.eye(12), noise).final, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"system": 3}, ["system", "ContactSystem"]),
        ({"section": 3}, ["section", "offset"]),
        ({"section": lambda state: "here"}, ["section", "str", "number"]),
        ({"section": (np.ones(3), 0.0)}, ["normal", "13"]),
        ({"symmetry": 3}, ["symmetry", "function"]),
        ({"max_iterations": 0}, ["max_iterations", "one or more"]),
        ({"max_iterations": "many"}, ["max_iterations", "many"]),
    ],
)
def test_odd_arguments_of_a_search_for_orbits(fall: cs.Trajectory, change: dict, words: list[str]) -> None:
    given = {"system": fall.system, "x_guess": falling(sphere()), "period_guess": 0.1} | change
    with one_sentence(*words):
        cs.find_periodic_orbit(**given)


def test_gains_for_tracking() -> None:
    with one_sentence("gains", "riccati"):
        cs.Tracking(3)  # type: ignore[arg-type]
