"""Scene files: what they can say, what is taken from the demonstration, and all mistakes at once."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.io import scene
from contactsim.multibody.catalogue import robot_entries
from contactsim.multibody.controllers import FunctionController, Sampled

BOX = """
<robot name="box"><link name="box">
  <inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
</link></robot>
"""
BALL = """
<mujoco model="ball"><worldbody><body name="ball"><freejoint/>
  <geom name="ball" type="sphere" size="0.1" mass="1"/>
</body></worldbody></mujoco>
"""


def built(text: str, *settings: str, folder: Path | None = None) -> scene.SceneRun:
    return scene.build(scene.parse(text, settings, folder))


def clearance(made: scene.SceneRun) -> float:
    return made.system.mechanism.gaps(0.0, made.state.q)[: len(made.system.mechanism.names)].min()


def refused(text: str, *settings: str) -> str:
    with pytest.raises(cs.ContactSimError) as caught:
        built(text, *settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


HEXAPOD = 'robot = {name = "hexapod"}\n'
BIPED = 'robot = {name = "biped"}\n'


# --- robots of the catalogue ---------------------------------------------------------------------------------------
def test_a_robot_by_name_does_its_demonstration() -> None:
    made = built(BIPED)
    demo = robot_entries()["biped"].demo(made.system.robot.model)
    assert np.array_equal(made.state.q, demo.q)
    assert np.array_equal(made.state.v, demo.v)
    assert made.system.terrain.angle == demo.slope
    assert made.span == (0.0, demo.time)
    assert made.system.controller is None
    walker = built(HEXAPOD)
    assert isinstance(walker.system.controller, cs.PD)
    assert walker.span[1] == robot_entries()["hexapod"].demo(walker.system.robot.model).time


def test_every_table() -> None:
    made = built("""
        gravity = [0, 0, -1.6]
        joint_limits = false
        [robot]
        name = "hexapod"
        [contact]
        friction = 0.5
        [contact.lf]
        friction = 0.2
        static_friction = 0.3
        restitution = 0.1
        [terrain]
        kind = "slope"
        angle = 0.1
        downhill = [0, 1]
        [law]
        name = "spring-damper"
        stiffness = 5e3
        [controller]
        kind = "pd"
        kp = 20
        kd = 1
        period = 0.01
        [start]
        pose = "nominal"
        height = 0.2
        v = [0.1, 0, 0, 0, 0, 0, 0,0,0, 0,0,0, 0,0,0, 0,0,0, 0,0,0, 0,0,0]
        [run]
        time = 0.7
        rtol = 1e-6
        atol = 1e-7
        integrator = "RK45"
        record_period = 0.02
        max_events = 7
    """)
    system = made.system
    assert system.gravity.tolist() == [0, 0, -1.6]
    assert system.joint_limits is False
    assert system.friction[0] == 0.2
    assert system.friction[1:6] == pytest.approx(0.5)
    assert (system.static_friction[0], system.restitution[0], system.static_friction[1]) == (0.3, 0.1, 0.5)
    assert (system.terrain.angle, system.terrain.downhill) == (0.1, (0.0, 1.0))
    assert system.law.parameters.stiffness == 5e3
    assert system.controller.period == 0.01
    assert system.mechanism.gaps(0.0, made.state.q).min() == pytest.approx(0.2, abs=1e-12)
    assert made.state.v[0] == 0.1
    assert made.span == (0.0, 0.7)
    tolerances = made.options["tolerances"]
    assert (tolerances.rtol, tolerances.atol) == (1e-6, 1e-7)
    assert made.system.tolerances == tolerances
    assert {key: made.options[key] for key in ("integrator", "record_period", "max_events")} == {
        "integrator": "RK45",
        "record_period": 0.02,
        "max_events": 7,
    }


def test_contact_points_by_hand_and_free_joints() -> None:
    made = built("""
        [robot]
        name = "hexapod"
        contacts = [{frame = "lf_foot", radius = 0.02, friction = 0.3, name = "one"}]
        [controller]
        kind = "none"
        [start]
        q = [0, 0, 1, 0, 0, 0, 1,  0, 0, 0,  0, 0, 0,  0, 0, 0,  0, 0, 0,  0, 0, 0,  0, 0, 0]
    """)
    assert [point.name for point in made.system.robot.contacts] == ["one"]
    assert made.system.controller is None
    assert made.state.q[2] == 1.0


TWIN = 'robot = {name = "compliant-hexapod-twin"}\n'


def test_a_demonstration_may_have_a_controller_and_a_gravity_of_its_own() -> None:
    own = built(TWIN).system
    assert isinstance(own.controller, FunctionController) and own.gravity.tolist() == [0.0, 0.0, -10.0]
    asked = built(TWIN, "controller.kind=demo", "controller.reference=demo").system.controller
    assert repr(asked) == repr(own.controller)
    assert built(TWIN, "gravity=3").system.gravity.tolist() == [0.0, 0.0, -3.0]
    assert built(TWIN, "controller.kind=none").system.controller is None
    held = built(TWIN, "controller.period=0.01").system.controller
    assert isinstance(held, Sampled) and held.period == 0.01
    joint = built(TWIN, "controller.kind=pd", "controller.reference=demo", "controller.kp_scale=2").system
    assert isinstance(joint.controller, cs.PD) and joint.controller.parameters()["kp_scale"] == 2.0
    assert "controller of its own, without gains; give controller.kind = 'pd'" in refused(TWIN, "controller.kp=20")
    assert "'demo' has its own reference" in refused(TWIN, "controller.kind=demo", "controller.reference=nominal")


@pytest.mark.parametrize(
    ("reference", "follows"), [('"demo"', True), ('"nominal"', False), (str([0, 0, 1, 0, 0, 0, 1] + 18 * [0.1]), False)]
)
def test_references(reference: str, follows: bool) -> None:
    made = built(HEXAPOD + f'controller = {{kind = "pd", reference = {reference}}}')
    q, v = made.state.q, made.state.v
    torques = [made.system.controller.torque(t, q, v, np.empty(0)) for t in (0.0, 1.0)]
    assert np.array_equal(*torques) != follows


def test_settings_on_top() -> None:
    made = built(HEXAPOD, "contact.friction=.4", "contact.rm.restitution=0.5", "law.name=frictionless", "run.time=1")
    assert made.system.robot.contacts[0].friction == 0.4
    assert made.system.restitution[:6].tolist() == [0, 0, 0, 0, 0.5, 0]
    assert type(made.system.law).__name__ == "Frictionless"
    assert made.span[1] == 1.0
    assert built(HEXAPOD, "law.friction=0.3").system.friction[:6] == pytest.approx(0.3)
    assert built(HEXAPOD, "terrain.angle=0.2").system.terrain.angle == 0.2


def test_text_of_a_scene_builds_the_same_scene() -> None:
    text = """
        [robot]
        name = "hexapod"
        contacts = [{frame = "lf_foot", offset = [0, 0, -0.01], name = "left \\"front\\""}]
        [contact."left \\"front\\""]
        friction = 0.25
        [terrain]
        kind = "flat"
        velocity = [0.1, 0]
        [law]
        name = "spring-damper"
        damping = 30.0
    """
    one = scene.parse(text, ["run.time=0.5"])
    assert scene.parse(one.text()) == one


# --- robots of files ---------------------------------------------------------------------------------------------
def test_files_are_found_beside_the_scene(tmp_path: Path) -> None:
    (tmp_path / "box.urdf").write_text(BOX)
    (tmp_path / "drop.toml").write_text('[robot]\nfile = "box.urdf"\npackage_dirs = ["meshes"]\n')
    with pytest.raises(cs.InputError, match=r"no folder .*meshes"):
        scene.build(scene.read(tmp_path / "drop.toml"))
    (tmp_path / "meshes").mkdir()
    made = scene.build(scene.read(tmp_path / "drop.toml"))
    assert made.system.robot.name == "box"
    assert made.system.controller is None
    assert clearance(made) == pytest.approx(scene.DROP)
    assert scene.read(tmp_path / "drop.toml").title == "box"


def test_mjcf_and_a_slope(tmp_path: Path) -> None:
    (tmp_path / "ball.xml").write_text(BALL)
    text = '[robot]\nfile = "ball.xml"\n[terrain]\nangle = 0.3\n[start]\nheight = 0.0\n'
    made = built(text, folder=tmp_path)
    assert clearance(made) == pytest.approx(0.0, abs=1e-12)
    cs.simulate(made.system, made.state, (0.0, 0.05))


MOON = """<mujoco><option gravity="0 0 -1.6"/><worldbody><geom type="plane" size="1 1 1" pos="0 0 0.5"/>
<body name="lander" pos="0 0 3"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/>
<body name="leg"><joint axis="0 1 0" range="20 40"/><geom name="foot" size="0.02" pos="0 0 -0.3" mass="0.1"/></body>
</body></worldbody></mujoco>"""


def test_gravity_ground_and_contacts_of_an_mjcf_file(tmp_path: Path) -> None:
    """The leg starts beyond its range in the file, and at its limit here."""
    (tmp_path / "moon.xml").write_text(MOON)
    with pytest.warns(UserWarning, match=r"the start, beyond the range, of joint 'leg_hinge' \(line 3\)"):
        made = built('[robot]\nfile = "moon.xml"\n', folder=tmp_path)
    assert made.system.gravity.tolist() == [0.0, 0.0, -1.6]
    assert made.system.terrain.height == 0.5 and clearance(made) == pytest.approx(scene.DROP)
    assert len(made.system.robot.contacts) == 1 and made.state.q[7] == pytest.approx(np.deg2rad(20.0))
    text = 'gravity = 3.7\n[robot]\nfile = "moon.xml"\ncontacts = "all"\n[terrain]\nheight = 0.2\n'
    with pytest.warns(UserWarning, match="not simulated"):
        other = built(text, folder=tmp_path)
    assert other.system.gravity.tolist() == [0.0, 0.0, -3.7] and other.system.terrain.height == 0.2
    assert len(other.system.robot.contacts) == 9


def test_a_file_with_a_controller_holds_its_pose(tmp_path: Path) -> None:
    path = robot_entries()["hexapod"].path
    text = f'[robot]\nfile = "{path}"\n[controller]\nkind = "pd"\n[start]\nq = [0,0,0.4,0,0,0,1{18 * ",0.3"}]\n'
    tau = built(text).system.controller.torque(0.0, built(text).state.q, np.zeros(24), np.empty(0))
    assert not np.any(tau[:6])
    assert np.all(tau[6:] < 0.0)


# --- mistakes ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gravity = [0, 0, -1e300]", "gravity.2 is -1e+300; give a number of a size below 1e+75"),
        ('controller = {limits = "yes"}', "controller.limits is 'yes'; give true or false"),
        ("controller = {reference = [true]}", "controller.reference is [True]; give 'nominal' or 'demo'; "),
        ("bodies = [{name = 1, position = [0, 0, 1], fixed = true}]", "bodies.0.name is 1; give a text"),
        ("robots = 3", "robots is 3; give a table"),
        ('robots = {b = {name = "biped", shift = []}}', "scene: robots.b.shift has too few numbers; give 2"),
        (
            'body = [{name = "ball"}]',
            "body: [[body]] is a list; give [body.NAME] to change a body, or [[bodies]] to add",
        ),
        ("gravity = [0]", "scene: gravity has too few numbers; give 3"),
        ("gravity = [0, 0, 1, 2]", "scene: gravity has too many numbers; give 3"),
        ("contact = {friction = [0.1, 0.2, 0.3]}", "contact.friction has too many numbers; give 2"),
        (
            'terrain = {kind = "moving", amplitude = [0, 0, 0.1], frequency = 1.0, ground = {}}',
            "terrain.ground: give its kind, one of flat, height-field,",
        ),
        (
            "run = {max_step = 1e-12}",
            "max_step is 1e-12 s, of which a run of 0.1 s has more than 1e+08 steps; give a lo",
        ),
    ],
)
def test_mistakes_are_told_in_words_of_a_scene(text: str, words: str) -> None:
    try:
        message = refused(HEXAPOD + text)
    except pytest.fail.Exception:  # what only a run of so long can know
        with pytest.raises(cs.InputError) as caught:
            built(HEXAPOD + text).simulate(0.1)
        message = str(caught.value)
    assert words in message


def test_what_may_be_a_number_or_a_table_is_told_once() -> None:
    assert refused(f'{HEXAPOD}controller = {{kp = "stiff"}}') == "scene: controller.kp is 'stiff'; give a number"


def test_of_many_mistakes_a_dozen_is_told() -> None:
    message = refused(f"{HEXAPOD}gravity = {['x'] * 3}\nstart = {{q = {['x'] * 20}}}")
    assert message.count("give a number") == 12
    assert message.endswith("; and 11 more mistakes")


def test_all_mistakes_are_told_at_once() -> None:
    keys = "friction, static_friction, restitution, rolling, torsion, stribeck, friction_axis"
    message = refused("""
        gravity = [0, 0]
        [robot]
        name = "hexapod"
        root = "hovercraft"
        [contact]
        frictoin = 0.3
        [contact.lf]
        restitution = 2
        grip = 1
        [terrain]
        angel = 0.1
        [start]
        height = nan
        [run]
        time = -1
        tiem = 3
    """)
    for words in (
        "gravity has too few numbers",
        "robot.root",
        f"contact.frictoin: give a table (of {keys})",
        "contact.lf.restitution",
        f"contact.lf.grip: unknown key (known here: {keys})",
        "terrain: give the kind",
        "start.height",
        "run.time",
        "run.tiem: unknown key (known here: time, rtol",
    ):
        assert words in message


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        ("robot = 3", (), ["robot"]),
        ("", (), ["robot", "required"]),
        ("robot = {name = }", (), ["TOML", "line 1"]),
        ("[robot]\n", (), ["name", "file"]),
        ('robot = {name = "hexapod", file = "a.urdf"}', (), ["either"]),
        ('robot = {name = "hexapodd"}', (), ["hexapodd", "hexapod"]),
        ('robot = {file = "nowhere.urdf"}', (), ["nowhere.urdf"]),
        ('robot = {file = "a.sdf"}', (), ["a.sdf", "urdf"]),
        ('robot = {name = "hexapod", root = "fixed"}', (), ["root"]),
        (HEXAPOD + "\n[run]\ngravity = 9.8", (), ["run.gravity: unknown key", "move gravity to the top"]),
        (HEXAPOD, ("wind=1",), ["wind", "known here: robot, contact, terrain"]),
        (HEXAPOD, ("friction",), ["friction", "key=value"]),
        (HEXAPOD, ("gravity.x=1",), ["gravity"]),
        (HEXAPOD, ("run.time=2", "run.time.s=1"), ["run.time.s=1", "time"]),
        (HEXAPOD, ("contact.friction=-1",), ["contact.friction", "0"]),
        (HEXAPOD, ("contact.paw.friction=1",), ["paw", "lf"]),
        (HEXAPOD, ("contact.lf.static_friction=0.1",), ["lf", "static_friction"]),
        (HEXAPOD, ("law.name=glue",), ["glue", "coulomb"]),
        (HEXAPOD, ("law.stiffness=1",), ["law.stiffness", "contact.friction"]),
        (HEXAPOD, ("law.friction=high",), ["law.friction", "high"]),
        (HEXAPOD, ("law.name=spring-damper", "law.stiffness=-1"), ["stiffness", "0"]),
        (HEXAPOD, ("terrain.angle=2",), ["angle"]),
        (HEXAPOD, ("terrain.kind=sea",), ["terrain", "flat", "slope"]),
        (HEXAPOD, ("start.pose=demo", "start.q=[1]"), ["pose", "q"]),
        (HEXAPOD, ("start.q=[1,2]",), ["start.q", "25"]),
        (HEXAPOD, ("start.v=[1,2]",), ["start.v", "24"]),
        (HEXAPOD, ("controller.kind=none", "controller.kp=1"), ["none"]),
        (HEXAPOD, ("controller.kp=[1,2]",), ["kp", "24"]),
        (HEXAPOD, ("controller.period=0",), ["period"]),
        (HEXAPOD, ("run.integrator=Euler",), []),
        (BIPED, ("controller.kind=demo",), ["biped", "pd"]),
    ],
)
def test_one_mistake(text: str, settings: tuple[str, ...], words: list[str]) -> None:
    if settings == ("run.integrator=Euler",):
        made = built(text, *settings)
        with pytest.raises(cs.InputError, match="Euler"):
            cs.simulate(made.system, made.state, made.span, **made.options)
        return
    message = refused(text, *settings)
    for word in words:
        assert word in message, message


def test_a_robot_without_demonstration_or_root(tmp_path: Path) -> None:
    arm = BOX.replace("</link></robot>", '</link><link name="world"/>').replace('name="box"', 'name="arm"', 1)
    arm += '<joint name="hinge" type="continuous"><parent link="world"/><child link="box"/><axis xyz="0 1 0"/></joint>'
    arm += "</robot>"
    (tmp_path / "arm.urdf").write_text(arm)
    text = f'[robot]\nfile = "{tmp_path / "arm.urdf"}"\nroot = "fixed"\n[terrain]\nheight = -1.0\n'
    assert built(text).state.v.shape == (1,)
    assert "demonstration" in refused(text, "start.pose=demo")
    assert "does not move up" in refused(text, "start.height=0.1")


@pytest.mark.parametrize("ground", ["angle = 0.3", 'kind = "sinusoid"', "height = 0.2"])
def test_a_demonstration_starts_as_high_above_another_ground(ground: str) -> None:
    own = built('robot = {name = "hexapod"}')
    made = built(f'robot = {{name = "hexapod"}}\n[terrain]\n{ground}\n')
    assert clearance(made) == pytest.approx(clearance(own), abs=1e-12)
    np.testing.assert_array_equal(made.state.q[7:], own.state.q[7:])


ARM = """
<robot name="arm"><link name="base">
  <collision><geometry><box size="0.4 0.4 0.4"/></geometry></collision>
</link><link name="hand">
  <inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 -0.3"/><geometry><sphere radius="0.1"/></geometry></collision>
</link><joint name="slide" type="prismatic"><parent link="base"/><child link="hand"/><axis xyz="0 0 1"/>
  <limit lower="0" upper="0.3" effort="1" velocity="1"/></joint></robot>
"""


def test_the_ground_lies_below_a_robot_that_is_fixed_in_space(tmp_path: Path) -> None:
    """Its base, which stands still, has no contacts; a joint with limits does not lift it onto the ground."""
    (tmp_path / "arm.urdf").write_text(ARM)
    text = '[robot]\nfile = "arm.urdf"\nroot = "fixed"\n'
    with pytest.warns(UserWarning, match=r"reaches down to z = -0\.4 m: the ground lies 0\.1 m below that"):
        made = built(text, folder=tmp_path)
    assert [point.frame for point in made.system.robot.contacts] == ["hand"]
    np.testing.assert_array_equal(made.state.q, [0.0])
    assert made.system.terrain.height == pytest.approx(-0.5)
    cs.simulate(made.system, made.state, (0.0, 0.05)).check()
    own = built(text + "[terrain]\nheight = -2.0\n", folder=tmp_path)
    assert own.system.terrain.height == -2.0


def test_a_file_that_floats_without_contacts_is_told_and_keeps_its_energy(tmp_path: Path) -> None:
    """It falls from rest at z = 0: the energy is 0 throughout, and its check is relative to the kinetic energy."""
    (tmp_path / "bare.urdf").write_text(re.sub("<collision>.*?</collision>", "", BOX, flags=re.DOTALL))
    with pytest.warns(UserWarning, match=r"floats and has no contacts; give robot\.root = 'fixed'"):
        made = built('[robot]\nfile = "bare.urdf"\n[start]\npose = "nominal"\n', folder=tmp_path)
    traj = cs.simulate(made.system, cs.State(made.system.robot.nominal, np.zeros(6)), (0.0, 0.2))
    assert traj.check()["energy balance [relative]"] < 1e-12
    for meant in ('root = "free_flyer"\n', '[[robot.contacts]]\nframe = "box"\n'):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            built(f'[robot]\nfile = "bare.urdf"\n{meant}', folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("start.q = [0.0, 1.0]", "start.q has 2 numbers; give the 25 of the configuration of robot 'hexapod'"),
        ("start.v = [0.0]", "start.v has 1 numbers; give the 24 of the velocity of robot 'hexapod'"),
        ("contact.none.friction = 1.0", "no contact 'none'; there are "),
        ("law.name = 'none'", "no plugin 'none' in contactsim.contact_laws; "),
    ],
)
def test_what_cannot_be_built_names_its_file(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "one.toml"
    path.write_text(f"robot.name = 'hexapod'\n{text}")
    with pytest.raises(cs.ContactSimError, match="^" + re.escape(f"scene {path}: {words}")):
        cs.load_scene(path)


def test_a_missing_scene() -> None:
    with pytest.raises(cs.InputError, match=r"nowhere\.toml"):
        scene.read("nowhere.toml")


# --- hills and moving ground --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "kind", "values"),
    [
        (("terrain.a1=0.02",), "Sinusoid", {"a1": 0.02, "a2": 15.0, "a3": 15.0}),
        (("terrain.kind=sinusoid", "terrain.a2=6"), "Sinusoid", {"a1": 0.03, "a2": 6.0, "a3": 15.0}),
        (
            ("terrain.kind=moving", "terrain.amplitude=[0,0,0.01]", "terrain.frequency=2"),
            "Moving",
            {"height": 0.0, "amplitude_z": 0.01, "frequency": 2.0},
        ),
        (
            (
                "terrain.amplitude=[0,0,0.01]",
                "terrain.frequency=2",
                "terrain.ground.kind=slope",
                "terrain.ground.angle=0.1",
            ),
            "Moving",
            {"angle": 0.1, "frequency": 2.0},
        ),
    ],
)
def test_grounds_of_scenes(settings: tuple[str, ...], kind: str, values: dict[str, float]) -> None:
    system = built(HEXAPOD, *settings).system
    assert type(system.terrain).__name__ == kind
    assert values.items() <= system.terrain.parameters().items()
    assert {f"terrain.{name}" for name in values} <= set(system.parameters())


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".csv", ".txt"])
def test_height_fields_from_files(tmp_path: Path, suffix: str) -> None:
    x, y = np.linspace(-2, 2, 9), np.linspace(-1, 3, 7)
    heights, path = 0.01 * np.outer(np.sin(x), np.cos(y)), tmp_path / f"field{suffix}"
    if suffix == ".npz":
        np.savez(path, x=x, y=y, heights=heights)
    elif suffix == ".npy":
        np.save(path, heights)
    else:
        np.savetxt(path, heights, delimiter="," if suffix == ".csv" else " ")
    extent = "" if suffix == ".npz" else "extent = [-2, 2, -1, 3]\n"
    (tmp_path / "scene.toml").write_text(
        f'[robot]\nname = "hexapod"\n[terrain]\nkind = "height-field"\nfile = "field{suffix}"\nscale = 2.0\n{extent}'
    )
    ground = scene.build(scene.read(tmp_path / "scene.toml")).system.terrain
    np.testing.assert_allclose(ground.heights(0.0, np.array([x[3], y[2]])), 2.0 * heights[3, 2], atol=1e-12)


def test_a_robot_is_put_at_its_height_above_hills() -> None:
    for height in (0.0, 0.02, 0.3):
        made = built(HEXAPOD, "terrain.a1=0.02", "terrain.a2=6", "terrain.a3=5", f"start.height={height}")
        assert made.system.mechanism.gaps(0.0, made.state.q)[:6].min() == pytest.approx(height, abs=1e-12)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (("terrain.kind=height-field",), "either a file or heights"),
        (("terrain.kind=height-field", "terrain.file=none.npy"), r"none\.npy cannot be read"),
        (("terrain.kind=height-field", "terrain.file=a.png"), "convert it"),
        (("terrain.kind=height-field", "terrain.heights=[[0,0],[0,1]]"), "where the heights are"),
        (("terrain.kind=height-field", "terrain.heights=[[0,0],[0]]"), "no rectangle"),
        (("terrain.kind=moving", "terrain.amplitude=[0,0,1]", "terrain.frequency=0"), "frequency"),
    ],
)
def test_mistakes_in_grounds(settings: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(cs.InputError, match=sentence):
        built(HEXAPOD, *settings)


MOVES_LEVEL = """<mujoco model="{name}">
  <worldbody>
    <geom type="plane" size="1 1 1" contype="0" conaffinity="0"/>
    <body name="link" pos="0 0 0.01">
      {joint}
      <geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.01"/>
    </body>
  </worldbody>
</mujoco>"""


def test_an_arm_whose_file_has_no_ground_that_it_touches_has_none_in_a_scene(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    file = tmp_path / "arm.xml"
    file.write_text(MOVES_LEVEL.format(name="arm", joint='<joint name="turn" axis="0 0 1"/>'))
    scene = cs.load_scene(file)
    assert isinstance(scene.system.terrain, cs.terrain.NoGround)
    assert not scene.simulate(0.05).forces(0.02)["link/0"].any()
    above = cs.load_scene(file, ["terrain.kind=flat", "terrain.height=-0.5"])
    assert above.system.terrain.parameters()["height"] == -0.5


@pytest.mark.parametrize(
    "text",
    [
        "robot.name = 'hexapod'",
        "bodies = [{name = 'ball', sphere = {mass = 1.0, radius = 0.1}, position = [0, 0, 1], velocity = [0, 0, -1]}]",
        "robots.first.name = 'hexapod'\nrobots.other = {name = 'hexapod', shift = [1.0, 0.0]}",
    ],
)
def test_without_a_ground_what_falls_goes_on_falling(text: str) -> None:
    """Momentum grows by the weight alone, m g t; the motors of the robots are within them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parts without shapes
        made = built(text, "terrain.kind=none", "run.time=0.6")
    assert isinstance(made.system.terrain, cs.terrain.NoGround)
    run = made.simulate()
    assert run.status is cs.Status.FINISHED and not any(event.impulses for event in run.events)
    model, v = made.system.robot.model, [made.state.v, run.final.v]
    q = [made.state.q, run.final.q]
    change = np.subtract(*(pin.computeCentroidalMomentum(model, model.createData(), q[k], v[k]).linear for k in (1, 0)))
    assert np.allclose(change, pin.computeTotalMass(model) * 0.6 * made.system.gravity, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["start.height=0.1"], "start.height is above ground, and terrain.kind is 'none'; leave one of them out"),
        (["robots.a.name=hexapod", "robots.a.height=0.1"], "robots.a.height is above ground, and terrain.kind is"),
    ],
)
def test_a_height_above_no_ground_is_refused(settings: list[str], words: str) -> None:
    assert words in refused(HEXAPOD, "terrain.kind=none", *settings)


def test_what_falls_is_told_of_the_ground_that_its_file_does_not_have(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    file = tmp_path / "stick.xml"
    file.write_text(MOVES_LEVEL.format(name="stick", joint="<freejoint/>"))
    with pytest.warns(UserWarning, match=r"stick' has no ground that it touches: level ground lies at z = 0; give"):
        assert isinstance(cs.load_scene(file).system.terrain, cs.terrain.Flat)
