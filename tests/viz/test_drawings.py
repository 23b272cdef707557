"""The viewer, on systems that are no robots: what a drawing shows, where, and when."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import viz_fakes as fakes
from contactsim_plugins.models.compliant_hexapod import CompliantHexapod
from contactsim_viz import export_html, parts, server, shapes, sketch, stage, view
from test_viz import commands, numbers, tracks
from viz_fakes import needs_browser

import contactsim as cs
from contactsim.common.drawing import GREEN, RED, Arrow, Box, Drawing, Polyline, Rod, Sphere, Spring, level
from contactsim.errors import InputError

ULP = 1e-6  # s; events are known to the page in single precision


@dataclass(frozen=True)
class Arc:
    t0: float
    t1: float
    mode: str
    system: Any

    def __call__(self, t):
        return np.array([t])


@dataclass
class Run:
    """Stand-in for a trajectory: arcs between `times`, with the modes "0", "1", ..."""

    system: Any
    times: tuple[float, ...] = (0.0, 1.0)

    def __post_init__(self):
        pairs = enumerate(zip(self.times[:-1], self.times[1:], strict=True))
        self.arcs = [Arc(a, b, str(k), self.system) for k, (a, b) in pairs]
        self.t = np.array(self.times)
        self.events = [fakes.Event(t) for t in self.times[1:-1]]


class Sketched:
    """A system that looks as a function (t, chart) -> Drawing or {name: part} says."""

    def __init__(self, picture):
        self.picture = picture

    def drawing(self, t, x, chart):
        found = self.picture(t, chart)
        return Drawing(found) if isinstance(found, dict) else found


def built(picture, times=(0.0, 1.0), step=0.1):
    """Commands and tracks of what a function draws."""
    made = sketch.build(sketch.sample(Run(Sketched(picture), times), step)).commands
    moves = {
        clip["path"]: {
            track["name"]: (numbers(track["times"]), numbers(track["values"])) for track in clip["clip"]["tracks"]
        }
        for clip in made[-1]["animations"]
    }
    return made, moves


def at(track, t: float, width: int) -> np.ndarray:
    """Value of a track between its keys."""
    times, values = track
    return np.array([np.interp(t, times, column) for column in values.reshape(-1, width).T])


def on(track, t: float) -> bool:
    times, values = track
    return bool(values[np.searchsorted(times, np.float32(t), side="right") - 1])


def objects(made) -> dict[str, dict]:
    return {c["path"]: c["object"] for c in made if c["type"] == "set_object" and c["path"].startswith("/world")}


ACCELERATION = slice(9, 12)  # of the hexapod's body, in its rate


@pytest.fixture(scope="module")
def hop():
    slip = cs.load_model("slip")
    return cs.simulate(slip, slip.initial_state(xdot=1.5, y=1.15, touchdown_angle=0.2), (0.0, 3.0))


@pytest.fixture(scope="module")
def hop_page(hop, tmp_path_factory):
    return export_html(hop, tmp_path_factory.mktemp("page") / "slip.html")


@pytest.fixture(scope="module")
def gait():
    hexapod = CompliantHexapod(terrain_type="sinusoid", terrain_arg1=0.01)
    return cs.simulate(hexapod, hexapod.initial_state(), (0.0, 0.4))


# --- the runner -----------------------------------------------------------------------------------


def test_the_page_of_the_runner_is_one_small_file(hop_page):
    text = hop_page.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"'`)]+", text)) == {"http://www.w3.org/1999/xhtml"}
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)
    assert "<title>slip</title>" in text
    assert hop_page.stat().st_size < 1.2e6


def test_the_arrow_of_the_runner_is_what_accelerates_its_body(hop):
    seen = 0
    for t in np.linspace(0.0, hop.t[-1], 41):
        arc = hop.arc_at(t)
        x = arc(t)
        drawing, p = hop.system.drawing(t, x, arc.mode), hop.system.parameters
        (scale,) = [float(re.search("force, 1 m = (.*) N", word)[1]) for word in drawing.legend if "force" in word]
        gravity = p.g_stance if "stance" in drawing.caption else p.g_flight
        rate = hop.system.field(t, x, arc.mode)[2:4] + np.array([0.0, gravity])
        force = scale * np.asarray(drawing.parts["force"].vector)
        assert force[[0, 2]] == pytest.approx(p.body_mass * rate, rel=1e-9, abs=1e-9)
        seen += bool(force.any())
    assert 5 < seen < 36


def test_arrows_are_a_group_and_short_ones_are_not_drawn():
    seen = parts.read({"up": Arrow((0, 0, 1), (0, 0, 0.5), 0.01), "none": Arrow((0, 0, 0), (0, 0, 0.01), 0.01)}, "here")
    assert list(seen) == ["up/shaft", "up/head"]
    assert {look.group for look, _ in seen.values()} == {"forces"}
    assert seen["up/head"][1].position.tolist() == [0.0, 0.0, 1.5]
    assert parts.groups_of(look for look, _ in seen.values()) == {"forces": ("/world/forces", True)}


def test_body_foot_and_leg_are_where_the_state_says(hop, hop_page):
    found = tracks(hop_page)
    for t in np.linspace(0.05, 2.95, 30):
        chart, x = hop.mode_at(t), hop(t)
        stands = chart in ("compression", "decompression")
        foot = found[f"/world/parts/foot/{0 if not stands else 1}"]
        tip = x[4:6] if stands else [x[0] + math.sin(x[6]), x[1] - math.cos(x[6])]
        assert on(foot[".visible"], t)
        assert at(foot[".position"], t, 3) == pytest.approx([tip[0], 0.0, tip[1]], abs=2e-3)
        assert at(found["/world/parts/body/0"][".position"], t, 3) == pytest.approx([x[0], 0.0, x[1]], abs=2e-3)


def test_the_leg_stretches_as_its_spring_does(hop, hop_page):
    leg = tracks(hop_page)["/world/parts/leg/0"]
    stands = [t for t in np.linspace(0.05, 2.95, 60) if hop.mode_at(t) in ("compression", "decompression")]
    assert stands
    for t in stands:
        x = hop(t)
        assert at(leg[".scale"], t, 3) == pytest.approx([1.0, 1.0, np.hypot(*(x[:2] - x[4:6]))], abs=2e-3)
        turn = at(leg[".quaternion"], t, 4)
        upwards = pin.Quaternion(turn[3], *turn[:3]).normalized() * np.array([0.0, 0.0, 1.0])
        assert upwards[[0, 2]] == pytest.approx((x[:2] - x[4:6]) / np.hypot(*(x[:2] - x[4:6])), abs=5e-3)


def test_both_sides_of_a_jump_are_shown_and_nothing_between(hop, hop_page):
    leg = tracks(hop_page)["/world/parts/leg/0"][".position"]
    liftoff = next(event for event in hop.events if event.transitions["chart"][1] == "ascent")
    before, after = liftoff.x_pre, liftoff.x_post
    assert abs(before[4] - (after[0] + math.sin(after[6]))) > 0.1  # the leg swings forward at once
    k = np.searchsorted(leg[0], liftoff.time)
    shown = leg[1].reshape(-1, 3)
    assert leg[0][k] == liftoff.time
    assert leg[0][k - 1] == np.nextafter(liftoff.time, 0.0)
    assert shown[k - 1, 0] == pytest.approx(before[4], abs=1e-6)
    assert shown[k, 0] == pytest.approx(after[0] + math.sin(after[6]), abs=1e-6)


def test_the_camera_follows_the_runner_at_a_steady_height(hop, hop_page):
    moved = tracks(hop_page)["/world"][".position"][1].reshape(-1, 3)
    assert moved[0, 0] - moved[-1, 0] == pytest.approx(hop(3.0)[0] - hop(0.0)[0], abs=0.05)
    assert np.ptp(moved[:, 1:], axis=0) == pytest.approx(np.zeros(2), abs=1e-6)


def test_chart_and_events_are_told_in_words(hop, hop_page):
    run = json.loads(re.search(r'id="run">(.*?)</script>', hop_page.read_text(encoding="utf-8")).group(1))
    assert run["captions"][0] == [0.0, f"{hop.mode_at(0.0)} (flight)"]
    assert [line[2] for line in run["log"][:2]] == ["descent \u2192 compression", "compression \u2192 decompression"]
    for (time, absolute, *_), event in zip(run["log"], hop.events, strict=True):
        assert time == absolute == event.time  # the run starts at zero
        word = next(text for start, text in reversed(run["captions"]) if start <= time)
        assert word.startswith(event.mode_post)


@needs_browser
def test_browser_shows_chart_foot_and_events(hop, hop_page, tmp_path):
    touchdown = next(event for event in hop.events if event.mode_post == "compression")
    moment = touchdown.time + 0.05
    state = fakes.ask_browser(
        hop_page,
        tmp_path,
        moment,
        """{chart: document.getElementById("chart").textContent,
            feet: [0, 1].map((k) => node(`world/parts/foot/${k}`).visible),
            body: node("world/parts/body/0").position.toArray(),
            listed: document.querySelectorAll("#log li").length,
            past: document.querySelectorAll("#log li.past").length,
            summary: document.querySelector("#log summary").textContent}""",
    )
    assert state["chart"] == "compression (stance)"
    assert state["feet"] == [False, True]
    assert state["body"] == pytest.approx([hop(moment)[0], 0.0, hop(moment)[1]], abs=2e-3)
    assert (state["listed"], state["past"]) == (len(hop.events), sum(e.time <= moment for e in hop.events))
    assert state["summary"] == f"{len(hop.events)} events"
    assert state["early"]


@needs_browser
def test_a_picture_shows_body_foot_and_ground(hop, tmp_path):
    image = pytest.importorskip("PIL.Image")
    touchdown = next(event.time for event in hop.events if event.mode_post == "compression")
    picture = cs.export_png(hop, tmp_path / "shot.png", t=touchdown + 0.05, width=640, height=400)
    pixels = np.asarray(image.open(picture).convert("RGB"), dtype=float)
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    assert ((blue > 1.8 * red) & (blue > 1.3 * green)).sum() > 500  # the body
    assert ((green > 1.5 * red) & (green > 1.2 * blue)).sum() > 30  # the foot in stance
    assert pixels[-20:].min() > 150.0  # ground up to the lower edge


def test_the_live_page_is_that_of_the_file(hop, hop_page, monkeypatch):
    shown = []
    monkeypatch.setattr(server, "show", lambda page, open_browser: shown.append((page, open_browser)))
    view(hop, open_browser=False)
    assert shown == [(hop_page.read_text(encoding="utf-8"), False)]


# --- the hexapod ----------------------------------------------------------------------------------


def test_toes_of_the_hexapod_tell_flight_from_stance(gait, tmp_path):
    page = export_html(gait, tmp_path / "page.html")
    assert page.stat().st_size < 2e6
    found, drawn = tracks(page), objects(commands(page))
    for t in (0.01, 0.15, 0.25, 0.39):
        x, stance = gait(t), gait.mode_at(t).stance
        for i in range(6):
            looks = [path for path in found if path.startswith(f"/world/parts/toe{i}/")]
            (seen,) = [path for path in looks if ".visible" not in found[path] or on(found[path][".visible"], t)]
            assert drawn[seen]["materials"][0]["color"] == shapes.colour_code(parts_colour(stance[i]))
            assert at(found[seen][".position"], t, 3) == pytest.approx(x[18 + 3 * i :][:3], abs=5e-3)
            leg = found[f"/world/parts/leg{i}/0"]
            assert at(leg[".position"], t, 3) == pytest.approx(x[18 + 3 * i :][:3], abs=5e-3)


def parts_colour(stands: bool) -> np.ndarray:
    code = GREEN if stands else RED
    return np.array([int(code[k : k + 2], 16) / 255 for k in (1, 3, 5)])


def test_the_arrows_of_the_hexapod_are_what_accelerates_its_body(gait):
    p, seen = gait.system.parameters, 0
    for t in np.linspace(0.01, 0.39, 20):
        arc = gait.arc_at(t)
        drawing = gait.system.drawing(t, arc(t), arc.mode)
        (scale,) = [float(re.search("force, 1 m = (.*) N", word)[1]) for word in drawing.legend if "force" in word]
        total = scale * sum(np.asarray(drawing.parts[f"force{i}"].vector) for i in range(6))
        rate = gait.system.field(t, arc(t), arc.mode)[ACCELERATION]
        assert total == pytest.approx(p.body_mass * (rate + np.array([0.0, 0.0, p.g])), rel=1e-9, abs=1e-9)
        seen += bool(total.any())
    assert seen > 10


def test_the_body_of_the_hexapod_turns_with_its_state(gait, tmp_path):
    body = tracks(export_html(gait, tmp_path / "page.html"))["/world/parts/body/0"]
    turn = at(body[".quaternion"], 0.3, 4)
    shown = pin.Quaternion(turn[3], *turn[:3]).normalized().matrix()
    assert shown == pytest.approx(gait(0.3)[:9].reshape(3, 3), abs=5e-3)


def test_hills_are_drawn_with_their_heights(gait, tmp_path):
    drawn = objects(commands(export_html(gait, tmp_path / "page.html")))["/world/ground/grid"]
    attributes = drawn["geometries"][0]["data"]["attributes"]
    vertices, normals = (numbers(attributes[name]["array"]).reshape(-1, 3) for name in ("position", "normal"))
    ground = gait.system.dynamics.ground
    assert vertices[:, 2] == pytest.approx(ground.height(vertices.astype(float)), abs=1e-3)
    assert np.ptp(vertices[:, 2]) == pytest.approx(0.02, rel=0.1)
    inside = np.linalg.norm(vertices[:, :2] - vertices[:, :2].mean(axis=0), axis=1) < 2.0
    assert normals[inside] == pytest.approx(ground.normal(vertices[inside].astype(float)), abs=0.03)


@pytest.mark.parametrize("kind", ["flat", "sloped"])
def test_the_drawing_of_the_hexapod_fits_every_ground(kind):
    hexapod = CompliantHexapod(terrain_type=kind, terrain_arg1=0.0, terrain_arg2=0.1, terrain_arg3=0.0)
    run = cs.simulate(hexapod, hexapod.initial_state(), (0.0, 0.02))
    assert "/world/ground/grid" in objects(sketch.build(sketch.sample(run, 0.01)).commands)


# --- parts ----------------------------------------------------------------------------------------

ROLL = pin.rpy.rpyToMatrix(0.1, 0.2, 0.3)


@pytest.mark.parametrize(
    ("part", "low", "high"),
    [
        (Sphere((1, 2, 3), 0.5), (0.5, 1.5, 2.5), (1.5, 2.5, 3.5)),
        (Box((1, 2, 3), (0.2, 0.4, 0.6)), (0.9, 1.8, 2.7), (1.1, 2.2, 3.3)),
        (Rod((0, 0, 0), (1, 0, 2), 0.1), (-0.1, -0.1, -0.1), (1.1, 0.1, 2.1)),
        (Spring((1, 0, 2), (0, 0, 0), 0.1), (-0.1, -0.1, -0.1), (1.1, 0.1, 2.1)),
        (Polyline([(0, 0, 0), (1, 1, 0), (1, 1, 2)], 0.1), (-0.1, -0.1, -0.1), (1.1, 1.1, 2.1)),
    ],
)
def test_every_part_has_its_place(part, low, high):
    look, pose = parts.read({"it": part}, "here")["it"]
    assert pose.bounds(look) == pytest.approx(np.array([low, high], dtype=float))


def test_every_part_is_drawn():
    made, _ = built(
        lambda t, chart: {
            "ball": Sphere((t, 0, 0), 0.1),
            "box": Box((0, t, 0), (0.1, 0.2, 0.3), ROLL),
            "rod": Rod((0, 0, 0), (0, t, 1), 0.1),
            "coil": Spring((0, 0, 0), (0, t, 1), 0.1),
            "line": Polyline([(0, 0, 0), (0, 0, 1), (0, 1, 1)], 0.1),
        }
    )
    kinds = {path.split("/")[3]: drawn["geometries"][0]["type"] for path, drawn in objects(made).items()}
    assert kinds == {
        "ball": "SphereGeometry",
        "box": "BoxGeometry",
        "rod": "CylinderGeometry",
        "coil": "BufferGeometry",
        "line": "BufferGeometry",
    }


@pytest.mark.parametrize("end", [(0.0, 0.0, 2.0), (0.3, -0.4, 0.5), (0.0, 0.0, -1.0)])
def test_a_rod_reaches_from_its_start_to_its_end(end):
    start, end = np.array([1.0, 2.0, 3.0]), np.array(end)
    made, moves = built(lambda t, chart: {"rod": Rod(start, end, 0.1)})
    rod = moves["/world/parts/rod/0"]
    turn = at(rod[".quaternion"], 0.5, 4)
    matrix = np.reshape(objects(made)["/world/parts/rod/0"]["object"]["matrix"], (4, 4)).T
    for y, corner in ((-0.5, start), (0.5, end)):  # three.js builds a cylinder around the middle, along y
        local = (matrix @ [0.0, y, 0.0, 1.0])[:3] * at(rod[".scale"], 0.5, 3)
        shown = pin.Quaternion(turn[3], *turn[:3]).normalized() * local + at(rod[".position"], 0.5, 3)
        assert shown == pytest.approx(corner, abs=1e-6)


def test_a_leg_that_swings_round_does_not_spin_about_itself():
    angles = np.linspace(0.0, 4.0 * np.pi, 200)
    along = np.column_stack([0.2 * np.ones(200), np.sin(angles), np.cos(angles)])
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    across = shapes.carried(along)
    assert np.sum(across * along, axis=1) == pytest.approx(np.zeros(200), abs=1e-12)
    turned, moved = (np.linalg.norm(np.diff(vectors, axis=0), axis=1) for vectors in (across, along))
    assert (turned <= moved * (1.0 + 1e-6)).all()


def test_quaternions_are_those_of_pinocchio_and_do_not_jump():
    turns = np.array([pin.exp3(np.array([0.3, -0.5, 0.8]) * s) for s in np.linspace(0.0, 12.0, 60)])
    found = sketch.quaternions(turns)
    for q, turn in zip(found, turns, strict=True):
        assert pin.Quaternion(q[3], *q[:3]).matrix() == pytest.approx(turn, abs=1e-12)
    assert (np.sum(found[1:] * found[:-1], axis=1) > 0.9).all()


def test_a_line_that_bends_is_drawn_in_pieces_and_one_that_does_not_in_one():
    still, _ = built(lambda t, chart: {"line": Polyline([(0, 0, 0), (0, 0, 1), (0, 1, 1)], 0.1)})
    assert set(objects(still)) == {"/world/parts/line/0"}
    bent, moves = built(lambda t, chart: {"line": Polyline([(0, 0, 0), (0, 0, 1), (0, t, 1)], 0.1)})
    names = {f"/world/parts/line_{name}/0" for name in ("rod0", "rod1", "joint0", "joint1", "joint2")}
    assert set(objects(bent)) == names
    assert at(moves["/world/parts/line_joint2/0"][".position"], 0.55, 3) == pytest.approx([0.0, 0.55, 1.0])


def test_parts_come_and_go_with_the_chart():
    def picture(t, chart):
        always = {"always": Sphere((t, 0, 0), 0.1)}
        return always | ({"now": Sphere((t, 0, 1), 0.1)} if chart == "1" else {})

    _, moves = built(picture, (0.0, 0.333, 0.777, 1.0))
    assert ".visible" not in moves["/world/parts/always/0"]
    times, shown = moves["/world/parts/now/0"][".visible"]
    assert shown.tolist() == [False, True, False]
    assert times == pytest.approx([0.0, 0.333, 0.777], abs=ULP)


@pytest.mark.parametrize("times", [(0, 0.5, 0.5, 1), (0, 0.5, 0.5 + 1e-12, 1), (0, 0.5 + 1e-12, 1), (0, 0), (0, 1e-9)])
def test_times_of_keys_grow(times):
    sampled = sketch.sample(Run(Sketched(lambda t, chart: {"it": Sphere((t, 0, 0), 0.1)}), times), 0.1)
    assert (np.diff(sampled.time) > 0).all()
    sketch.build(sampled)


# --- ground and words -----------------------------------------------------------------------------


@pytest.mark.parametrize("slope", [(0.0, 0.0), (0.2, -0.1)])
def test_a_ground_without_hills_is_a_plane(slope):
    def heights(points):
        return 0.3 + points @ np.array(slope)

    point, normal = stage.plane_of(heights, np.array([[0.0, 0.0, 1.0], [5.0, 0.0, 1.0]]), 1.0)
    assert point[2] == pytest.approx(heights(point[:2]))
    assert normal == pytest.approx(np.array([-slope[0], -slope[1], 1.0]) / np.linalg.norm([*slope, 1.0]))


def test_level_ground_and_none():
    ball = {"it": Sphere((0, 0, 1), 0.1)}
    assert "/world/ground/grid" in objects(built(lambda t, chart: Drawing(ball, ground=level))[0])
    assert "/world/ground/grid" not in objects(built(lambda t, chart: Drawing(ball))[0])


def test_all_parts_are_before_the_camera_whatever_it_follows():
    def picture(t, chart):
        return Drawing({"a": Sphere((3 * t, 0, 0), 0.1), "b": Sphere((3 * t, 0, 1), 0.1)}, focus=(3 * t, 7.0, 0))

    _, moves = built(picture)
    times, values = moves["/world"][".position"]
    assert values.reshape(-1, 3) == pytest.approx(-np.column_stack([3 * times, 0 * times, 0 * times + 0.5]), abs=1e-3)


def test_words_cannot_break_the_page(tmp_path):
    drawing = Drawing({"it": Sphere((0, 0, 0), 0.1)}, caption="</script>@MESHCAT@", legend={"<b>&": RED})
    text = export_html(Run(Sketched(lambda t, chart: drawing)), tmp_path / "page.html").read_text(encoding="utf-8")
    assert json.loads(re.search(r'id="run">(.*?)</script>', text).group(1))["captions"] == [[0.0, drawing.caption]]
    assert "&lt;b&gt;&amp;" in text


def test_the_chart_is_told_as_it_is_where_the_drawing_has_no_words():
    made = sketch.build(sketch.sample(Run(Sketched(lambda t, chart: {}), (0.0, 0.5, 1.0)), 0.1))
    assert [text for _, text in made.captions] == ["0", "1"]


# --- mistakes -------------------------------------------------------------------------------------


class Undrawn(cs.Model):
    """A model that says nothing of its looks."""

    def field(self, t, x, chart):
        return np.zeros(0)

    def boundaries(self, chart):
        return ()

    def reset(self, t, x, chart, fired):
        raise NotImplementedError

    def start(self, t, x):
        return cs.Transition(x, "only")


def test_a_model_without_a_drawing_says_how_to_give_one(tmp_path):
    run = cs.simulate(Undrawn(), np.zeros(0), (0.0, 0.1))
    with pytest.raises(InputError, match=r"the Undrawn of this run has no geometry to show .* drawing\(t, x, chart\)"):
        cs.export_html(run, tmp_path / "page.html")


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (Sphere((0, np.nan, 0), 0.1), "the centre of the part 'it' in the drawing of Sketched at t = 0 s is"),
        (Sphere((0, 0), 0.1), "give 3 finite numbers"),
        (Sphere(None, 0.1), "give 3 finite numbers"),
        (Sphere((0, 0, 0), -0.1), "the radius of the part 'it' .* is -0.1; give a positive number"),
        (Sphere((0, 0, 0), 0.1, "red"), "the colour of the part 'it' .* is 'red'; give one as '#3b6fe0'"),
        (Box((0, 0, 0), (1, 1)), "the sides of the part 'it' .* give 3 finite numbers"),
        (Box((0, 0, 0), (1, 0, 1)), "the sides of the part 'it' .* give positive numbers"),
        (Polyline([(0, 0, 0)], 0.1), "the points of the part 'it' .* are 1; give two or more"),
        ("ball", "the part 'it' in the drawing of Sketched at t = 0 s is 'ball'; give a Sphere, Box, Rod, Spring,"),
    ],
)
def test_a_part_that_cannot_be_drawn_is_named(part, sentence):
    with pytest.raises(InputError, match=sentence):
        built(lambda t, chart: {"it": part})


def test_a_focus_that_is_no_point_is_named():
    drawing = Drawing({"it": Sphere((0, 0, 0), 0.1)}, focus=(0, np.nan, 0))
    with pytest.raises(
        InputError, match=r"the focus of the drawing of Sketched at t = 0 s is .* give 3 finite numbers"
    ):
        built(lambda t, chart: drawing)


@pytest.mark.parametrize("ground", [lambda points: np.full(points.shape[:-1], np.nan), lambda points: points])
def test_a_ground_without_heights_is_named(ground):
    drawing = Drawing({"it": Sphere((0, 0, 0), 0.1)}, ground=ground)
    with pytest.raises(InputError, match=r"the ground of the drawing .* let it give a finite height below each point"):
        built(lambda t, chart: drawing)


def test_a_size_that_changes_all_the_time_is_refused():
    with pytest.raises(InputError, match="the part 'it' in the drawing of Sketched has 21 sizes and colours"):
        built(lambda t, chart: {"it": Sphere((0, 0, 0), 0.1 + t)}, step=0.05)
