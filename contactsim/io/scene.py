"""Scene files: a robot, its ground, law, controller and start in TOML, read and built into a system."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common import registry
from ..common.arrays import Array
from ..common.schemas import validated
from ..common.telling import tell
from ..contact.laws import ContactLaw
from ..contact_dynamics.contact_system import ContactSystem, State
from ..contact_dynamics.placement import DROP, clearance, lifted, lifting
from ..errors import ContactSimError, InputError
from ..hybrid.tolerances import Tolerances
from ..multibody.catalogue import load_robot, robot_entry
from ..multibody.configuration_space import with_pairs
from ..multibody.contact_point import ContactPoint
from ..multibody.controllers import Controller, Sampled, as_controller
from ..multibody.driving import PD, PiecewiseReference
from ..multibody.loops import LoopClosure
from ..multibody.model_checks import inside
from ..multibody.robot import Robot
from ..multibody.terrain import Flat, NoGround, Slope, Terrain
from .scene_run import SceneRun
from .scene_tables import (
    CONTROLLERS,
    BodyTable,
    ControllerTable,
    LawTable,
    Member,
    OtherRobotTable,
    RobotTable,
    Scene,
    StartTable,
    shifted,
    start_of,
    world_of,
)

if TYPE_CHECKING:
    from ..multibody.latches import Latch

TIME = 2.0  # duration of a run without a demonstration [s]


# --- reading ----------------------------------------------------------------------------------------------------


def read(path: str | Path, settings: Iterable[str] = ()) -> Scene:
    """A scene file with settings "key=value" on top; its paths are relative to the file.

    Raises:
        InputError: the file is missing, is not TOML, or has mistakes, all of which are named.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise InputError(f"there is no scene file {path}; check the path")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the scene file {path} is no text that can be read ({error}); check it") from error
    scene = parse(text, settings, path.resolve().parent, f"scene {path}")
    scene._home = f"scene {path}"
    return scene


def parse(text: str, settings: Iterable[str] = (), folder: Path | None = None, where: str = "scene") -> Scene:
    """A scene from its TOML text."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not valid TOML: {error}; mend that line") from error
    return assemble(tables, settings, folder, where)


def assemble(
    tables: dict[str, Any], settings: Iterable[str] = (), folder: Path | None = None, where: str = "scene"
) -> Scene:
    """A scene from nested tables and settings "key=value", which replace what the tables say."""
    for setting in settings:
        _assign(tables, setting)
    for table in _with_files(tables):
        if folder is None:
            break
        if isinstance(table.get("file"), str):
            table["file"] = str(folder / Path(table["file"]).expanduser())
        if isinstance(table.get("package_dirs"), list):
            table["package_dirs"] = [str(folder / Path(str(part)).expanduser()) for part in table["package_dirs"]]
    return validated(Scene, tables, where)


def _with_files(tables: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables that may name files: of robots and grounds."""
    others, ground = tables.get("robots"), tables.get("terrain")
    found = [tables.get("robot"), *(others.values() if isinstance(others, dict) else ())]
    while isinstance(ground, dict):
        found.append(ground)
        ground = ground.get("ground")
    return [table for table in found if isinstance(table, dict)]


def _assign(tables: dict[str, Any], setting: str) -> None:
    key, equals, value = setting.partition("=")
    parts = _parts(key.strip())
    if not equals or not all(parts):
        raise InputError(f"the setting '{setting}' is not of the form key=value, such as contact.friction=0.4")
    table = tables
    for part in parts[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise InputError(f"the setting '{setting}' goes into '{part}', which is not a table; check its key")
    table[parts[-1]] = _value(value.strip())


def _parts(key: str) -> list[str]:
    """The key cut at its dots; the name of a contact or of a body may have dots of its own."""
    group, _, rest = key.partition(".")
    if group in ("contact", "body") and "." in rest:
        name, _, coefficient = rest.rpartition(".")
        return [group, name, coefficient]
    return key.split(".")


PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")  # with .4 and 4., which TOML has not


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return float(text) if PLAIN_NUMBER.fullmatch(text) else text


# --- building ---------------------------------------------------------------------------------------------------


def build(scene: Scene) -> SceneRun:
    """The system, its start, the time span and the options of a run.

    What the scene leaves open is taken from the demonstration of a robot of the catalogue. A robot without one starts
    in its nominal pose, DROP above ground where its root can be lifted, with free joints; where it cannot, and reaches
    below the ground, level ground is put DROP below it.

    Raises:
        InputError: a file, a name or a value of the scene cannot be used; the file of the scene is named.
    """
    try:
        return _built(scene)
    except ContactSimError as error:
        if scene._home:
            error.args = (f"{scene._home}: {error}",)
        raise


def _built(scene: Scene) -> SceneRun:
    robot, demo = (None, None) if scene.robot is None else _robot(scene, scene.robot)
    terrain = scene.terrain.build() if scene.terrain is not None else _unsaid_ground(scene, demo, robot)
    law, left_over = _law(scene.law)
    controller: Controller | None = None if robot is None else _controller(scene.controller, robot, demo)
    run = scene.run
    given = run.model_dump(include={"rtol", "atol", "max_step"}, exclude_none=True)
    tolerances = Tolerances(**{**(demo.tolerances if demo is not None else {}), **given})
    gravity, loops = _gravity(scene, robot, demo), [LoopClosure(**loop.model_dump()) for loop in scene.loop]
    start = None
    if robot is not None:  # where it stands does not depend on what else is there
        own = () if scene.is_world else loops
        alone = ContactSystem(robot, terrain, law, None, gravity, scene.joint_limits, own, tolerances=tolerances)
        start = _start(scene.start, alone, demo)
        if scene.terrain is None and lifting(robot, start.q) is None and not _stands(robot):
            terrain = _ground_below(alone, start.q)
    if scene.is_world:
        robot, controller, start = _world(scene, robot, controller, start, terrain)
    assert robot is not None
    assert start is not None
    system = ContactSystem(
        robot,
        terrain,
        law,
        controller,
        gravity,
        scene.joint_limits,
        loops,
        tolerances=tolerances,
        latches=_latches(scene),
    )
    for name, value in left_over.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"law.{name} is {value!r}; give a number")
        system = system.with_parameter(f"law.{name}", float(value))
    time = run.time or (demo.time if demo is not None else TIME)
    kept = ("integrator", "record_period", "max_events", "accumulation")
    options = {"tolerances": tolerances} | {name: getattr(run, name) for name in kept}
    return SceneRun(scene.title, system, start, (0.0, time), options)


def _latches(scene: Scene) -> tuple[Latch, ...]:
    if not scene.latch:
        return ()
    from ..multibody.latches import Latch

    return tuple(Latch(**latch.model_dump()) for latch in scene.latch)


def _world(
    scene: Scene, robot: Robot | None, controller: Controller | None, start: State | None, terrain: Terrain
) -> tuple[Robot, Controller | None, State]:
    """All robots and bodies of a scene, what drives them, and where they start."""
    from ..multibody.part_controllers import JointControllers

    shared = scene.contact.given()
    members = [] if robot is None or start is None else [Member(scene.main, robot, start.q, start.v)]
    driven = {} if controller is None else {scene.main: controller}
    for name, table in scene.robots.items():
        other = _other(scene, name, table, terrain)
        members.append(other)
        if table.hold and other.robot.actuated.any():
            driven[name] = PD(other.robot, other.q, *_gains(other.robot))
    members += [body.build(shared) for body in scene.bodies]
    world = _changed(scene, world_of(members, scene.pairs), shared={})
    controllers = {name: world.parts[name].drive(own) for name, own in driven.items()}
    joint = JointControllers(controllers) if len(controllers) > 1 else next(iter(controllers.values()), None)
    return world, joint, State(*start_of(world, members))


def _other(scene: Scene, name: str, table: OtherRobotTable, terrain: Terrain) -> Member:
    """A further robot with its start; its configuration is lifted to its height before it is moved aside."""
    robot = _sharing(_source(table)[0], scene)
    where = StartTable(q=table.q, v=table.v, height=table.height)
    alone = ContactSystem(robot, terrain, joint_limits=scene.joint_limits)
    q = np.array(robot.nominal if table.q is None else table.q, dtype=float)
    q = with_pairs(robot.space, q)
    _demand_size(f"robots.{name}.q", q, robot)
    shift = shifted(robot, q, table.shift)
    start = _start(where.model_copy(update={"q": shift.tolist()}), alone, None)
    height = DROP if table.height is None and table.q is None and _can_be_lifted(alone, q) else None
    return Member(name, robot, start.q if height is None else lifted(alone, start.q, height), start.v)


def _source(table: RobotTable) -> tuple[Robot, Any]:
    """The robot of a table, with the contacts that it gives, and its demonstration."""
    robot, demo = _named(table.name) if table.name is not None else (_from_file(table), None)
    if isinstance(table.contacts, list):
        robot = robot.with_contacts([ContactPoint(**point.model_dump()) for point in table.contacts])
    return robot, demo


def _robot(scene: Scene, table: RobotTable) -> tuple[Robot, Any]:
    robot, demo = _source(table)
    if scene.is_world:
        return _sharing(robot, scene), demo
    return _changed(scene, robot, scene.contact.given()), demo


def _sharing(robot: Robot, scene: Scene) -> Robot:
    """The robot with the coefficients of all contacts."""
    given: dict[str, Any] = dict(scene.contact.given())
    return robot.with_contacts([replace(point, **given) for point in robot.contacts]) if given else robot


def _changed(scene: Scene, robot: Robot, shared: dict[str, Any]) -> Robot:
    """The robot with the coefficients and bodies of the scene; `shared` are those of all contacts.

    In a world, the contacts and bodies of the scene's own robot may go by their short names.
    """
    pairs = {pair.name: pair for pair in robot.pairs}
    known = [point.name for point in robot.contacts]
    named = {_full(name, scene, {*known, *pairs}): table for name, table in scene.contact.named.items()}
    for name in named:
        if name not in known and name not in pairs:
            raise InputError(f"no contact '{name}'; there are {', '.join([*known, *pairs]) or 'none'}")
    changes: dict[str, Any] = {name: shared | (named[name].given() if name in named else {}) for name in known}
    if any(changes.values()):
        robot = robot.with_contacts([replace(point, **changes[point.name]) for point in robot.contacts])
    own: dict[str, dict[str, Any]] = {name: dict(table.given()) for name, table in named.items() if name in pairs}
    for name, of_pair in own.items():
        if isinstance(of_pair.get("friction"), tuple) or of_pair.keys() & {"stribeck", "friction_axis"}:
            raise InputError(
                f"contact.{name} is one between bodies; two coefficients, friction_axis and stribeck belong to points"
            )
    if own:
        robot = robot.with_pairs([replace(pair, **own.get(name, {})) for name, pair in pairs.items()])
    for body, values in scene.body.items():
        for kind in BodyTable.model_fields:
            if (value := getattr(values, kind)) is not None:
                robot = robot.with_body_parameter(_full(body, scene, set(robot.bodies)), kind, value)
    return robot


def _full(name: str, scene: Scene, known: set[str]) -> str:
    """The name in a world of what the scene's own robot calls `name`."""
    full = f"{scene.main}/{name}"
    return full if name not in known and full in known else name


def _named(name: str) -> tuple[Robot, Any]:
    robot = load_robot(name)
    make = robot_entry(name).demo
    demo = make(robot.model) if make is not None else None
    if demo is not None and demo.feet is not None:
        robot = robot.with_contacts([ContactPoint(**foot) for foot in demo.feet])
    return robot, demo


def _from_file(table: RobotTable) -> Robot:
    assert table.file is not None
    path = Path(table.file).expanduser()
    listed = table.contacts if isinstance(table.contacts, list) else []
    contacts: Any = [] if isinstance(table.contacts, list) else table.contacts or "auto"
    if path.suffix == ".urdf":
        robot = Robot.from_urdf(
            path, table.root, table.package_dirs or None, contacts, self_contacts=table.self_contacts
        )
        if table.root is None and not (robot.contacts or listed):
            tell(
                f"the robot of {path.name} floats and has no contacts; give robot.root = 'fixed' to hold its first"
                " link, or 'free_flyer' if it is meant to fall",
            )
        return robot
    if path.suffix in (".xml", ".mjcf"):
        if table.root:
            raise InputError(f"robot.root is for URDF files, and {path.name} is MJCF; leave it out")
        return Robot.from_mjcf(path, table.package_dirs, contacts, self_contacts=table.self_contacts)
    raise InputError(f"the robot file {path} is neither .urdf nor .xml (MJCF); convert it")


def _law(table: LawTable) -> tuple[ContactLaw, dict[str, Any]]:
    """The law, and the parameters that are not its own."""
    law = registry.load("contact_laws", table.name)
    own = getattr(law, "Parameters", ContactLaw.Parameters).model_fields
    given = {name: value for name, value in table.parameters.items() if name in own}
    return law(**given), {name: value for name, value in table.parameters.items() if name not in own}


def _gravity(scene: Scene, robot: Robot | None, demo: Any) -> Any:
    """Gravity (3,) of the scene, or where it says nothing that of the demonstration or of the robot's file [m/s^2]."""
    own = getattr(demo, "gravity", None)
    if "gravity" in scene.model_fields_set:
        return scene.gravity
    if own is not None:
        return 0.0, 0.0, -own
    return scene.gravity if robot is None or robot.gravity is None else robot.gravity


def _plugged(table: ControllerTable, robot: Robot) -> Controller | None:
    """The controller of a plugin."""
    kind, known = str(table.kind), registry.names("controllers")
    if kind not in known:
        raise InputError(f"no controller of kind '{kind}'; choose one of {', '.join([*CONTROLLERS, *known])}")
    gains = ("kp", "kd", "kp_scale", "kd_scale", "reference", "limits")
    if given := [name for name in gains if getattr(table, name) is not None]:
        raise InputError(f"controller.{given[0]} belongs to joint PD; give controller.parameters to '{kind}'")
    make = registry.load("controllers", kind)
    try:
        controller = make(robot, **table.parameters)
    except TypeError as error:
        raise InputError(f"controller.parameters do not fit the controller '{kind}': {error}") from error
    return as_controller(controller) if table.period is None else Sampled(controller, table.period, robot.nv)


def _controller(table: ControllerTable, robot: Robot, demo: Any) -> Controller | None:
    if table.kind is not None and table.kind not in CONTROLLERS:
        return _plugged(table, robot)
    if table.parameters:
        raise InputError("controller.parameters are those of a plugin; give its name as controller.kind")
    own = getattr(demo, "controller", None)
    gains = (table.kp, table.kd, table.kp_scale, table.kd_scale, table.limits)
    wanted = "pd" if any(value is not None for value in (*gains, table.reference, table.period)) else "none"
    asked = table.kind == "demo" or (table.kind is None and table.reference is None)
    if own is not None and asked and table.reference in (None, "demo"):
        if any(value is not None for value in gains):
            raise InputError(
                f"the demonstration of '{robot.name}' has a controller of its own, without gains; give"
                " controller.kind = 'pd' for joint control with gains"
            )
        return as_controller(own) if table.period is None else Sampled(own, table.period, robot.nv)
    moved = demo is not None and demo.reference is not None
    kind = table.kind or ("demo" if moved and table.reference is None else wanted)
    if kind == "none":
        if wanted != "none":
            raise InputError("controller.kind is 'none', and gains, reference or period are given; leave one out")
        return None
    return _joint_control(table, kind, robot, demo)


def _joint_control(table: ControllerTable, kind: str, robot: Robot, demo: Any) -> PD:
    """Joint PD control about the reference of the table or of the demonstration."""
    moved = demo is not None and demo.reference is not None
    if not moved and "demo" in (kind, table.reference):
        raise InputError(f"the robot '{robot.name}' has no demonstration with motors; give controller.kind = 'pd'")
    if kind == "demo" and table.reference not in (None, "demo"):
        raise InputError("controller.kind 'demo' has its own reference; give controller.kind = 'pd' for another")
    follow = kind == "demo" or table.reference == "demo"
    reference = _followed(demo) if follow else table.reference if isinstance(table.reference, list) else robot.nominal
    kp, kd = (demo.kp, demo.kd) if moved else _gains(robot)
    kp, kd = (
        own if given is None or isinstance(given, dict) else given for own, given in ((kp, table.kp), (kd, table.kd))
    )
    single = {
        f"{kind}.{joint}": value
        for kind, gain in (("kp", table.kp), ("kd", table.kd))
        if isinstance(gain, dict)
        for joint, value in gain.items()
    }
    scales = {name: value for name in ("kp_scale", "kd_scale") if (value := getattr(table, name)) is not None}
    controller = PD(robot, reference, kp, kd, table.period, bool(table.limits))
    for name, value in (single | scales).items():
        controller = controller.with_parameter(name, value)
    return controller


def _followed(demo: Any) -> Any:
    """The reference of a demonstration, in polynomials where it says between which times it is smooth."""
    if getattr(demo, "breaks", None) is None:
        return demo.reference
    return PiecewiseReference.fit(demo.reference, *demo.breaks)


def _gains(robot: Robot) -> tuple[Array, Array]:
    """Gains that hold the nominal pose: of a floating robot by its weight, else by the inertia of each joint.

    A joint of a floating robot resists three times its toppling moment per radian, m g h; any other joint is a
    critically damped oscillator of 20 rad/s.
    """
    q = robot.nominal
    mass = robot.bind(Flat(), np.array([0.0, 0.0, -9.81])).terms(0.0, q, np.zeros(robot.nv), ()).mass
    inertia, index = np.diag(mass), lifting(robot, q)
    if index is None or not q[index] > 0.0:
        return 400.0 * inertia, 40.0 * inertia
    kp = np.full(robot.nv, 3.0 * mass[0, 0] * 9.81 * q[index])
    return kp, 0.1 * kp * sqrt(q[index] / 9.81)


def _start(table: StartTable, system: ContactSystem, demo: Any) -> State:
    robot = system.robot
    if table.pose == "demo" and demo is None:
        raise InputError(f"the robot '{robot.name}' has no demonstration; give start.pose = 'nominal' or start.q")
    from_demo = demo is not None and table.q is None and table.pose != "nominal"
    q = np.array(demo.q if from_demo else _nominal(robot) if table.q is None else table.q, dtype=float)
    still = demo.v if from_demo else np.zeros(robot.nv)
    v = np.array(still if table.v is None else table.v, dtype=float)
    q = with_pairs(robot.space, q)
    _demand_size("start.v", v, robot)
    _demand_size("start.q", q, robot)
    height = table.height
    if height is None and table.q is None and table.pose is None and _can_be_lifted(system, q):
        height = DROP if demo is None else _height_of(demo, system, q)
    closing = bool(system.loops) and (table.close or table.q is None)
    q = system.close(q).q if closing else q
    q = q if height is None else lifted(system, q, height)
    return system.close(q, v) if closing else State(q, v)


def _unsaid_ground(scene: Scene, demo: Any, robot: Robot | None) -> Terrain:
    """The ground of a scene that names none: that of the demonstration or of the robot's file.

    Where the file says that there is none, what stands or falls has level ground at z = 0, which is told. What cannot
    fall has none, as in its file.
    """
    if demo is not None or robot is None or robot.terrain is None or _stands(robot):
        return _own_ground(demo, robot)
    if not scene.is_world and lifting(robot, _nominal(robot)) is None:
        return robot.terrain
    tell(
        f"the file of robot '{robot.name}' has no ground that it touches: level ground lies at z = 0; give"
        " terrain.height, or another terrain, to have it elsewhere, or terrain.kind = 'none'",
    )
    return _own_ground(demo, robot)


def _own_ground(demo: Any, robot: Robot | None) -> Terrain:
    """The ground of a demonstration, or of the robot's file; level at z = 0 where there is none."""
    if demo is None and robot is not None and _stands(robot):
        assert robot.terrain is not None
        return robot.terrain
    return Slope(demo.slope) if demo is not None and demo.slope else Flat()


def _nominal(robot: Robot) -> Array:
    """The nominal configuration, within the limits of the joints: an MJCF file may have them beyond."""
    return inside(robot.model, robot.nominal)


def _stands(robot: Robot) -> bool:
    """True for a robot whose file has a ground."""
    return robot.terrain is not None and not isinstance(robot.terrain, NoGround)


def _can_be_lifted(system: ContactSystem, q: Array) -> bool:
    """True where there is a ground, and a coordinate of the root that moves away from it."""
    return not isinstance(system.terrain, NoGround) and lifting(system.robot, q) is not None


def _height_of(demo: Any, system: ContactSystem, q: Array) -> float | None:
    """Height of a demonstration's start above its own ground, where the scene has another; else None."""
    own = _own_ground(demo, system.robot)
    if type(own) is type(system.terrain) and own.parameters() == system.terrain.parameters():
        return None
    return clearance(ContactSystem(system.robot, own, joint_limits=False), q)


def _ground_below(system: ContactSystem, q: Array) -> Terrain:
    """The ground of the system, or level ground DROP under a robot that is fixed in space and reaches deeper."""
    height = clearance(system, q) if system.robot.contacts else 0.0
    if height >= -system.tolerances.start_depth or not isinstance(system.terrain, Flat):
        return system.terrain
    tell(
        f"the robot '{system.robot.name}' is fixed in space and reaches down to z = {height:.3g} m: the ground lies"
        f" {DROP} m below that; give terrain.height to have it elsewhere",
    )
    return Flat(height - DROP)


def _demand_size(name: str, values: Array, robot: Robot) -> None:
    """Raise InputError where the table's `q` or `v` does not fit its robot."""
    count, what = (robot.nq, "configuration") if name.endswith("q") else (robot.nv, "velocity")
    if values.shape != (count,):
        raise InputError(f"{name} has {values.size} numbers; give the {count} of the {what} of robot '{robot.name}'")
