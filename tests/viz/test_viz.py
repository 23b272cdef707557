"""The viewer, on stand-ins: what is drawn, what moves, and what a browser makes of it."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import signal
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import coal
import contactsim_viz
import numpy as np
import pinocchio as pin
import pytest
import umsgpack
import viz_fakes as fakes
from contactsim_viz import MeshcatViewer, browser, export_html, export_png, motion, scene, shapes
from viz_fakes import needs_browser
from viz_sessions import PATIENCE

from contactsim.errors import InputError


@pytest.fixture(scope="module")
def walk():
    return fakes.walk(fakes.hexapod())


@pytest.fixture(scope="module")
def page(walk, tmp_path_factory):
    return export_html(walk, tmp_path_factory.mktemp("page") / "walk.html")


def told_in(page: Path) -> dict:
    """What the script of a page reads."""
    return json.loads(re.search(r'id="run">(.*?)</script>', page.read_text(encoding="utf-8")).group(1))


def commands(page: Path) -> list[dict]:
    return [umsgpack.unpackb(gzip.decompress(base64.b64decode(command))) for command in told_in(page)["commands"]]


def unpacked(told: dict) -> list[np.ndarray]:
    """Arrays of `packing.arrays`: of each all lowest bytes come first."""
    data, at, out = gzip.decompress(base64.b64decode(told["data"])), 0, []
    for kind, count in told["arrays"]:
        width = np.dtype(kind).itemsize
        planes = np.frombuffer(data, np.uint8, width * count, at).reshape(width, count)
        out.append(np.ascontiguousarray(planes.T).view(f"<{kind}").ravel())
        at += width * count
    assert at == len(data)
    return out


def tracks(page: Path) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    told = told_in(page)["tracks"]
    arrays, out = unpacked(told), {}
    for path, name, times, values in told["list"]:
        out.setdefault(path, {})[f".{name}"] = arrays[times], arrays[values]
    return out


def numbers(values) -> np.ndarray:
    return np.frombuffer(values.data, np.float32) if isinstance(values, umsgpack.Ext) else np.array(values)


def single(shape, **more):
    """A free body that is one `shape`."""
    model = pin.Model()
    model.name = "body"
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    visual = pin.GeometryModel()
    item = pin.GeometryObject("shape", joint, pin.SE3.Identity(), shape)
    for name, value in more.items():
        setattr(item, name, value)
    visual.addGeometryObject(item)
    robot = fakes.Robot(model, visual, [])
    return fakes.Trajectory(fakes.System(robot), lambda t: pin.neutral(model))


# --- the file -------------------------------------------------------------------------------------


def test_page_is_one_file_that_needs_no_network(page):
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"'`)]+", text)) == {"http://www.w3.org/1999/xhtml"}  # a name, not an address
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)
    assert "<title>hexapod</title>" in text
    assert page.stat().st_size < 1.3e6


def test_page_is_the_same_each_time(walk, page, tmp_path):
    assert export_html(walk, tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_names_are_escaped(walk, tmp_path):
    robot = fakes.hexapod(fakes.hexapod_urdf().replace('name="hexapod"', 'name="a &lt;b&gt;"'))
    text = export_html(fakes.walk(robot), tmp_path / "page.html").read_text(encoding="utf-8")
    assert html.escape("a <b>") in text
    assert "<h1>a <b>" not in text


# --- what moves -----------------------------------------------------------------------------------


def test_one_node_moves_for_each_joint(walk, page):
    moving = {path for path in tracks(page) if path.startswith("/world/robot/")}
    assert moving == {f"/world/robot/{name}" for name in list(walk.system.robot.model.names)[1:]}


@pytest.mark.parametrize(("fps", "speed", "frames"), [(60, 1.0, 121), (30, 1.0, 61), (30, 0.5, 121)])
def test_number_of_key_frames(walk, tmp_path, fps, speed, frames):
    found = tracks(export_html(walk, tmp_path / "page.html", fps=fps, speed=speed))
    times, values = found["/world/robot/lf_knee"][".position"]
    assert len(times) == frames
    assert values.shape == (3 * frames,)
    assert times[[0, -1]] == pytest.approx([0.0, 2.0])


def test_joint_poses_are_those_of_pinocchio(walk, page):
    model = walk.system.robot.model
    data = model.createData()
    found = tracks(page)
    for frame in (0, 37, 120):
        pin.forwardKinematics(model, data, walk.posture(frame / 60))
        for index in range(1, model.njoints):
            track = found[f"/world/robot/{model.names[index]}"]
            pose = np.append(track[".position"][1][3 * frame :][:3], track[".quaternion"][1][4 * frame :][:4])
            shown = pin.XYZQUATToSE3(pose.astype(float))
            assert shown.isApprox(data.oMi[index], 1e-5)


def test_modes_change_at_events_and_not_at_frames(tmp_path):
    robot = fakes.hexapod()
    change, release = 0.2512, 0.7777  # between two frames

    def modes(t):
        mode = fakes.Mode.STICK if t < change else fakes.Mode.SLIP if t < release else fakes.Mode.OPEN
        return dict.fromkeys(fakes.LEGS, mode)

    traj = fakes.Trajectory(
        fakes.System(robot),
        lambda t: pin.neutral(robot.model),
        modes,
        events=[fakes.Event(change), fakes.Event(release)],
    )
    found = tracks(export_html(traj, tmp_path / "page.html"))
    expected = {
        "stick": ([0.0, change], [True, False]),
        "slip": ([0.0, change, release], [False, True, False]),
        "open": ([0.0, release], [False, True]),
    }
    for mode, (times, shown) in expected.items():
        track = found[f"/world/contacts/lf/{mode}"][".visible"]
        assert track[0] == pytest.approx(times)
        assert track[1].tolist() == shown


def test_force_arrows_have_the_length_and_direction_of_the_force(walk):
    sampled = motion.sample(walk, 1 / 60)
    built = scene.build(walk, sampled)
    animation = built.commands[-1]["animations"]
    found = {clip["path"]: {track["name"]: track for track in clip["clip"]["tracks"]} for clip in animation}
    frame = 10
    index = next(k for k, force in enumerate(sampled.forces[frame]) if np.linalg.norm(force) > 0)
    force = sampled.forces[frame, index]
    path = f"/world/forces/{fakes.LEGS[index]}"
    scale = numbers(found[f"{path}/shaft"][".scale"]["values"]).reshape(-1, 3)[frame]
    turn = numbers(found[path][".quaternion"]["values"]).reshape(-1, 4)[frame].astype(float)
    arrow = pin.Quaternion(turn[3], *turn[:3]).normalized() * np.array([0.0, 0.0, float(scale[2])])
    assert built.force_scale * arrow == pytest.approx(force, rel=1e-5)


def test_the_camera_follows_a_robot_that_walks_and_rests_with_one_that_stays(walk, page, tmp_path):
    moved = tracks(page)["/world"][".position"][1].reshape(-1, 3)
    assert np.ptp(moved, axis=0)[0] > 0.3
    robot = fakes.hexapod()
    still = fakes.Trajectory(fakes.System(robot), lambda t: pin.neutral(robot.model))
    rest = tracks(export_html(still, tmp_path / "page.html"))["/world"][".position"][1].reshape(-1, 3)
    assert np.ptp(rest, axis=0) == pytest.approx(np.zeros(3))


# --- what is drawn --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (coal.Box(0.1, 0.2, 0.3), "BoxGeometry"),
        (coal.Sphere(0.1), "SphereGeometry"),
        (coal.Cylinder(0.1, 0.3), "CylinderGeometry"),
        (coal.Capsule(0.1, 0.3), "LatheGeometry"),
        (coal.Cone(0.1, 0.3), "CylinderGeometry"),
        (coal.Ellipsoid(0.1, 0.2, 0.3), "SphereGeometry"),
    ],
)
def test_every_primitive_is_drawn_in_its_place_and_size(shape, kind, tmp_path):
    page = export_html(single(shape, meshColor=np.array([1.0, 0.0, 0.0, 0.5])), tmp_path / "page.html")
    drawn = next(c["object"] for c in commands(page) if c.get("path") == "/world/robot/root/shape" and "object" in c)
    geometry, matrix = drawn["geometries"][0], np.reshape(drawn["object"]["matrix"], (4, 4)).T
    assert geometry["type"] == kind
    half = np.abs(matrix[:3, :3]) @ half_sides(geometry)
    shape.computeLocalAABB()
    assert half == pytest.approx(np.asarray(shape.aabb_local.max_), rel=1e-6)
    assert (drawn["materials"][0]["color"], drawn["materials"][0]["opacity"]) == (0xFF0000, 0.5)


def half_sides(geometry: dict) -> np.ndarray:
    """Half the sides of the box around a three.js geometry, in its own axes (round bodies: along y)."""
    match geometry["type"]:
        case "BoxGeometry":
            return np.array([geometry["width"], geometry["height"], geometry["depth"]]) / 2
        case "SphereGeometry":
            return np.full(3, geometry["radius"])
        case "CylinderGeometry":
            return np.array([geometry["radiusBottom"], geometry["height"] / 2, geometry["radiusBottom"]])
        case _:
            radius, height = (max(point[axis] for point in geometry["points"]) for axis in "xy")
            return np.array([radius, height, radius])


def test_a_convex_body_is_drawn_as_triangles():
    points = coal.StdVec_Vec3s()
    for corner in np.vstack([np.zeros(3), np.eye(3)]):
        points.append(corner)
    item = pin.GeometryObject("hull", 0, pin.SE3.Identity(), coal.Convex.convexHull(points, True, "Qt"))
    geometry = shapes.draw(item)["geometries"][0]
    assert len(np.frombuffer(geometry["data"]["index"]["array"].data, np.uint32)) == 4 * 3


def test_mesh_files_are_sent_as_they_are(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    (tmp_path / "part.obj").write_text(text)
    traj = single(coal.BVHModelOBBRSS(), meshPath=str(tmp_path / "part.obj"), meshScale=np.array([1.0, 2.0, 3.0]))
    item = traj.system.robot.visual_model.geometryObjects[0]
    drawn = shapes.draw(item)
    assert drawn["geometries"][0]["data"] == text
    assert np.diag(np.reshape(drawn["object"]["matrix"], (4, 4))).tolist() == [1.0, 2.0, 3.0, 1.0]


COLLADA = """<COLLADA><effect><diffuse><texture texture="pic" texcoord="UV"/></diffuse></effect>
<image><init_from>pic.png</init_from></image>
<triangles><input semantic="NORMAL"/><input semantic="TEXCOORD"/></triangles><triangles>SECOND</triangles></COLLADA>"""


@pytest.mark.parametrize(
    ("second", "picture", "kept"),
    [('<input semantic="TEXCOORD"/>', True, True), ("", True, False), ('<input semantic="TEXCOORD"/>', False, False)],
)
def test_collada_textures_are_inlined_where_every_part_has_them(tmp_path, second, picture, kept):
    (tmp_path / "part.dae").write_text(COLLADA.replace("SECOND", second))
    if picture:
        (tmp_path / "pic.png").write_bytes(b"PNG")
    traj = single(coal.BVHModelOBBRSS(), meshPath=str(tmp_path / "part.dae"), overrideMaterial=False)
    drawn = shapes.draw(traj.system.robot.visual_model.geometryObjects[0])["object"]
    assert drawn["resources"] == ({"pic.png": "data:image/png;base64,UE5H"} if kept else {})
    assert ("<texture" in drawn["data"]) is kept
    assert drawn["data"].count('semantic="TEXCOORD"') == (2 if second else 0)


def test_a_missing_mesh_is_named_and_skipped(tmp_path):
    traj = single(coal.BVHModelOBBRSS(), meshPath="nowhere/part.stl")
    with pytest.warns(UserWarning, match=r"'shape' is not drawn: its mesh file nowhere/part\.stl is missing"):
        page = export_html(traj, tmp_path / "page.html")
    assert not [c for c in commands(page) if c.get("path") == "/world/robot/root/shape"]


def test_a_floor_in_the_model_is_left_to_the_terrain(tmp_path):
    page = export_html(single(coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)), tmp_path / "page.html")
    assert not [c for c in commands(page) if c.get("path") == "/world/robot/root/shape"]


def test_a_model_without_geometry_is_drawn_as_a_stick_figure(tmp_path):
    robot = fakes.hexapod()
    robot.visual_model = None
    drawn = {c["path"] for c in commands(export_html(fakes.walk(robot), tmp_path / "page.html")) if "object" in c}
    assert {"/world/robot/lf_knee/joint", "/world/robot/lf_lift/to_lf_knee"} <= drawn


def test_the_ground_lies_in_the_plane_of_the_terrain(walk, tmp_path):
    normal = np.array([0.3, -0.1, 1.0]) / np.linalg.norm([0.3, -0.1, 1.0])
    point = np.array([0.1, 0.2, -0.3])
    system = fakes.System(walk.system.robot, fakes.Terrain(tuple(point), tuple(normal)))
    traj = fakes.Trajectory(system, walk.posture)
    found = commands(export_html(traj, tmp_path / "page.html"))
    placed = next(c for c in found if c.get("path") == "/world/ground" and c["type"] == "set_transform")
    matrix = np.reshape(placed["matrix"], (4, 4)).T
    assert matrix[:3, 2] == pytest.approx(normal, abs=1e-6)
    assert matrix[:3, 3] == pytest.approx(point, abs=1e-6)
    assert np.linalg.det(matrix[:3, :3]) == pytest.approx(1.0)


def test_no_ground_is_drawn_where_the_terrain_is_not_a_plane(walk, tmp_path):
    traj = fakes.Trajectory(fakes.System(walk.system.robot, fakes.Terrain(None)), walk.posture)
    found = commands(export_html(traj, tmp_path / "page.html"))
    assert not [c for c in found if c["path"].startswith("/world/ground")]


@dataclass(frozen=True)
class Waves:
    """Ground that is no plane, says how high it is, and moves up and down."""

    def plane(self):
        return None

    def heights(self, t, points):
        return 0.02 * np.sin(20.0 * points[..., 0]) + 0.0 * t

    def displacement(self, t):
        return np.array([0.0, 0.0, 0.01 * np.sin(30.0 * t)])


def test_hills_are_drawn_and_move_along(walk, tmp_path):
    traj = fakes.Trajectory(fakes.System(walk.system.robot, Waves()), walk.posture)
    found = commands(export_html(traj, tmp_path / "page.html"))
    (drawn,) = [c["object"] for c in found if c.get("path") == "/world/ground/grid" and "object" in c]
    vertices = numbers(drawn["geometries"][0]["data"]["attributes"]["position"]["array"]).reshape(-1, 3)
    assert vertices[:, 2] == pytest.approx(0.02 * np.sin(20.0 * vertices[:, 0]), abs=1e-3)
    times, ways = tracks(tmp_path / "page.html")["/world/ground"][".position"]
    assert ways.reshape(-1, 3)[:, 2] == pytest.approx(0.01 * np.sin(30.0 * times), abs=1e-6)


@pytest.mark.parametrize(("value", "expected"), [(1.1, 1.0), (3.4, 5.0), (80.0, 100.0), (0.02, 0.02)])
def test_round_numbers(value, expected):
    assert scene.round_number(value) == pytest.approx(expected)


# --- mistakes -------------------------------------------------------------------------------------


class Mechanism:
    """A robot of equations only."""


def test_a_mechanism_has_nothing_to_show(tmp_path):
    traj = fakes.Trajectory(fakes.System(Mechanism()), lambda t: np.zeros(1))
    with pytest.raises(InputError, match="Mechanism of this run has no geometry to show"):
        export_html(traj, tmp_path / "page.html")


def test_a_system_without_a_robot_has_nothing_to_show(tmp_path):
    traj = fakes.Trajectory(Mechanism(), lambda t: np.zeros(1))
    with pytest.raises(InputError, match="Mechanism of this run has no geometry to show"):
        export_html(traj, tmp_path / "page.html")


def test_numbers_and_folders_are_checked(walk, tmp_path):
    with pytest.raises(InputError, match="fps = 0 must be a positive number"):
        export_html(walk, tmp_path / "page.html", fps=0)
    with pytest.raises(InputError, match="does not exist"):
        export_html(walk, tmp_path / "none" / "page.html")
    with pytest.raises(InputError, match=r"t = 3 s lies outside the run, which lasts from 0 s to 2 s"):
        export_png(walk, tmp_path / "shot.png", t=3.0)


def test_a_missing_browser_is_one_sentence(walk, tmp_path, monkeypatch):
    monkeypatch.setattr(browser, "find_browser", lambda: None)
    with pytest.raises(InputError, match="needs Chromium or Google Chrome"):
        export_png(walk, tmp_path / "shot.png")


def test_importing_the_viewer_is_cheap():
    code = "import sys, contactsim_viz; print(sorted({'meshcat', 'pinocchio', 'numpy', 'zmq'} & set(sys.modules)))"
    places = [str(Path(module.__file__).parents[1]) for module in (contactsim_viz, sys.modules["contactsim"])]
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {places}; {code}"], capture_output=True)
    assert set(json.loads(done.stdout.decode().replace("'", '"'))) <= {"numpy"}


# --- in a browser ---------------------------------------------------------------------------------


@needs_browser
def test_browser_shows_the_poses_and_modes_of_the_run(walk, tmp_path):
    moment = 0.9
    shown = """(leg) => ["open", "stick", "slip"].filter((m) => node(`world/contacts/${leg}/${m}`).visible).join("+")"""
    modes = f"Object.fromEntries({json.dumps(fakes.LEGS)}.map((leg) => [leg, ({shown})(leg)]))"
    knee = 'node("world/robot/lf_knee").position.toArray()'
    page = export_html(walk, tmp_path / "page.html")
    state = fakes.ask_browser(page, tmp_path, moment, f"{{knee: {knee}, modes: {modes}}}")
    sampled = motion.sample(walk, 1 / 60)
    assert state["clock"] == f"{moment:.3f}"
    assert state["knee"] == pytest.approx(sampled.joints[54, 3 * 1 + 1, :3].tolist(), abs=1e-3)
    assert state["modes"] == {leg: walk.mode_at(moment)[leg].name.lower() for leg in fakes.LEGS}
    assert state["early"]  # pictures are taken some time after the browser calls a page loaded


@needs_browser
def test_a_picture_shows_the_robot_on_a_light_ground(walk, tmp_path):
    image = pytest.importorskip("PIL.Image")
    picture = MeshcatViewer().export_png(walk, tmp_path / "shot.png", t=0.5, width=640, height=400)
    pixels = np.asarray(image.open(picture).convert("RGB"), dtype=float)
    assert pixels.shape == (400, 640, 3)
    assert pixels[-20:].min() > 150.0  # floor up to the lower edge
    middle = pixels[100:300, 200:440]
    assert (middle.sum(axis=2) < 200.0).mean() > 0.02  # the dark legs
    green = (pixels[..., 1] > 1.5 * pixels[..., 0]) & (pixels[..., 1] > 1.2 * pixels[..., 2])
    assert green.sum() > 50  # pads of sticking feet


def test_live_page_is_served_and_ends_with_ctrl_c(tmp_path):
    code = "from contactsim_viz import server; server.show('<html>hello</html>', False); print('ended')"
    places = [str(Path(module.__file__).parents[1]) for module in (contactsim_viz, sys.modules["contactsim"])]
    start = f"import sys; sys.path[:0] = {places}; {code}"
    with subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().split()[0]
        with urllib.request.urlopen(address) as answer:
            assert answer.read() == b"<html>hello</html>"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said.strip()) == (0, "ended")
