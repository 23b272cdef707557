"""What lies over the robot: cones, impulses, traces, words and numbers, on a ball whose run is known in closed form."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import umsgpack
import viz_fakes as fakes
from builders import G, sphere
from contactsim_viz import layers, motion
from contactsim_viz import page as viz_page
from contactsim_viz import spread as viz_spread
from contactsim_viz.stage import Frame
from test_viz import told_in, unpacked
from viz_fakes import needs_browser

import contactsim as cs
from contactsim.errors import InputError

FRICTION, SPEED, HEIGHT, RADIUS = 0.1, 1.0, 0.05, 0.1
LANDING = np.sqrt(2.0 * HEIGHT / G)
IMPULSE = G * LANDING  # of 1 kg that lands and stays
AFTER = SPEED - FRICTION * IMPULSE  # m/s, behind the impact, in which the ball slips
ROLLING = 5.0 / 7.0 * SPEED  # of a solid ball that was set down without spin
SLIPPING = (AFTER - ROLLING) / (FRICTION * G)
WAY = AFTER * SLIPPING - FRICTION * G * SLIPPING**2 / 2.0
SIZE = 0.35  # m, that of the ball as the viewer measures it
SINGLE = 1e-5  # relative, of what went through single precision


@pytest.fixture(scope="module")
def run() -> cs.Trajectory:
    """A ball falls, slides and rolls."""
    system = cs.ContactSystem(sphere(friction=FRICTION, radius=RADIUS))
    start = cs.State([0, 0, RADIUS + HEIGHT, 0, 0, 0, 1], [SPEED, 0, 0, 0, 0, 0])
    return cs.simulate(system, start, (0.0, 0.5))


@pytest.fixture(scope="module")
def sampled(run: cs.Trajectory) -> motion.SampledPoses:
    return motion.sample(run, 1 / 60)


@pytest.fixture(scope="module")
def frame(run: cs.Trajectory, sampled: motion.SampledPoses) -> Any:
    return Frame(SIZE, np.zeros((len(sampled.time), 3)), run.system.terrain.plane())


@pytest.fixture(scope="module")
def page(run: cs.Trajectory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cs.export_html(run, tmp_path_factory.mktemp("page") / "ball.html", linearization=cs.linearize(run))


def numbers(values: Any) -> np.ndarray:
    return np.frombuffer(values.data, np.float32) if isinstance(values, umsgpack.Ext) else np.array(values)


def moves(layer: layers.Layer, path: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {track["name"]: (numbers(track["times"]), numbers(track["values"])) for track in layer.tracks[path]}


def test_the_run_is_the_one_of_the_closed_form(run: cs.Trajectory) -> None:
    landed, rolls = run.events
    assert (landed.time, rolls.time) == (pytest.approx(LANDING), pytest.approx(LANDING + SLIPPING))


# --- cones ------------------------------------------------------------------------------------------------------------
def test_cones_have_the_angle_of_friction_and_stand_where_the_contact_is(run, sampled, frame) -> None:
    layer = layers.friction_cones(run, sampled, frame)
    drawn = {c["path"]: c["object"]["geometries"][0] for c in layer.commands if "object" in c}
    assert set(drawn) == {"/world/cones/ball/stick0", "/world/cones/ball/slip0"}
    for cone in drawn.values():
        assert cone["radiusTop"] / cone["height"] == pytest.approx(FRICTION)
        assert cone["radiusBottom"] == 0.0
    at = moves(layer, "/world/cones/ball")[".position"][1].reshape(-1, 3)
    assert at == pytest.approx(sampled.points[:, 0], abs=SINGLE)


def test_cones_are_seen_while_the_contact_is_in_their_mode(run, sampled, frame) -> None:
    layer = layers.friction_cones(run, sampled, frame)
    times, on = moves(layer, "/world/cones/ball/slip0")[".visible"]
    assert times == pytest.approx([0.0, LANDING, LANDING + SLIPPING], abs=SINGLE)
    assert on.tolist() == [False, True, False]
    assert moves(layer, "/world/cones/ball/stick0")[".visible"][1].tolist() == [False, True]


def test_a_coefficient_that_is_changed_in_mid_run_has_a_cone_of_its_own(frame) -> None:
    system = cs.ContactSystem(sphere(friction=FRICTION))
    simulation = cs.Simulation(system, cs.State([0, 0, RADIUS, 0, 0, 0, 1], [SPEED, 0, 0, 0, 0, 0]))
    simulation.advance(0.1)
    simulation.set("contact.friction", 0.2)
    simulation.advance(0.02)
    run = simulation.trajectory
    layer = layers.friction_cones(run, motion.sample(run, 0.01), frame)
    angles = [c["object"]["geometries"][0] for c in layer.commands if "object" in c]
    assert sorted({round(cone["radiusTop"] / cone["height"], 9) for cone in angles}) == [0.1, 0.2]


def test_without_friction_or_contacts_there_are_no_layers(frame) -> None:
    for robot in (sphere(friction=0.0), sphere().with_contacts([])):
        run = cs.simulate(cs.ContactSystem(robot), cs.State([0, 0, 1, 0, 0, 0, 1], np.zeros(6)), (0.0, 0.1))
        sampled = motion.sample(run, 0.01)
        assert [draw(run, sampled, frame) for draw in layers.ROBOT_LAYERS] == [None, None, None]


# --- impulses ---------------------------------------------------------------------------------------------------------
def test_an_impulse_flashes_at_its_impact_with_its_size_and_direction(run, sampled, frame) -> None:
    layer = layers.impulses(run, sampled, frame)
    ((words, _),) = layer.legend.items()
    newton = float(re.search("1 m = (.*) N s", words)[1])
    scale = moves(layer, "/world/impulses/ball/arrow/shaft")[".scale"][1].reshape(-1, 3)
    assert newton * scale[:, 2] == pytest.approx(np.full(2, np.hypot(IMPULSE, FRICTION * IMPULSE)), rel=SINGLE)
    x, y, z, w = moves(layer, "/world/impulses/ball/arrow")[".quaternion"][1].reshape(-1, 4)[0].astype(float)
    along = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    assert along == pytest.approx(np.array([-FRICTION, 0.0, 1.0]) / np.hypot(1.0, FRICTION), abs=SINGLE)
    times, on = moves(layer, "/world/impulses/ball")[".visible"]
    assert times[:2] == pytest.approx([0.0, LANDING], abs=SINGLE)
    assert on.tolist() == [False, True, False]
    assert 0.0 < times[2] - times[1] < 0.5


def test_flashes_of_bounces_that_come_fast_do_not_overlap(frame) -> None:
    system = cs.ContactSystem(sphere(restitution=0.6))
    run = cs.simulate(system, cs.State([0, 0, RADIUS + 0.02, 0, 0, 0, 1], np.zeros(6)), (0.0, 0.6))
    layer = layers.impulses(run, motion.sample(run, 1 / 60), frame)
    times = moves(layer, "/world/impulses/ball")[".position"][0]
    assert (np.diff(times) > 0).all()
    assert 4 < len(times) < 2 * len(run.events)  # the last of infinitely many are too small to flash


# --- traces -----------------------------------------------------------------------------------------------------------
def test_a_trace_is_as_long_as_the_way_that_was_slipped(run, sampled, frame) -> None:
    layer = layers.slip_traces(run, sampled, frame)
    length, grown = 0.0, []
    for command in layer.commands:
        data = command["object"]["geometries"][0]["data"]["attributes"]["position"]["array"]
        points = np.frombuffer(data.data, np.float32).reshape(-1, 2, 3).mean(axis=1)
        length += np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
        grown.append(moves(layer, command["path"])[".visible"][0][1])
    assert length == pytest.approx(WAY, rel=1e-3)  # the frame in which it lands is cut by a straight line
    assert sorted(grown) == grown
    assert LANDING < grown[0] < grown[-1] <= LANDING + SLIPPING + SINGLE


# --- words and numbers ------------------------------------------------------------------------------------------------
def test_the_page_tells_modes_energy_impulse_and_saltation(page: Path, run: cs.Trajectory) -> None:
    data = told_in(page)
    assert [words for _, words in data["captions"]] == ["in the air", "slip: ball", "stick: ball"]
    told = data["curves"]
    place = [one["kind"] for one in told["kinds"]].index("energy")
    assert (told["kinds"][place]["unit"], told["kinds"][place]["names"][0]) == ("J", "total")
    energy = unpacked(told)[told["values"][place]].reshape(-1, 3)[:, 0]
    assert energy[0] == pytest.approx(0.5 * SPEED**2 + G * (RADIUS + HEIGHT), rel=1e-5)
    assert energy[-1] == pytest.approx(0.7 * ROLLING**2 + G * RADIUS, rel=1e-5)
    landed = cs.linearize(run).events[0]
    assert data["log"][0][3] == (
        f"impulse {np.hypot(IMPULSE, FRICTION * IMPULSE):.3g} N s · ‖Ξ‖ = {np.linalg.norm(landed.saltation, 2):.3g}"
    )
    assert data["groups"] == {
        "forces": ["/world/forces", True],
        "cones": ["/world/cones", False],
        "impulses": ["/world/impulses", True],
        "traces": ["/world/traces", True],
    }


def test_groups_are_shown_and_hidden_as_wished(run: cs.Trajectory, tmp_path: Path) -> None:
    page = cs.export_html(run, tmp_path / "page.html", show=["cones"], hide=["forces", "traces"])
    shown = {name: seen for name, (_, seen) in told_in(page)["groups"].items()}
    assert shown == {"forces": False, "cones": True, "impulses": True, "traces": False}
    with pytest.raises(InputError, match="no group 'cone' to show or hide; there are forces, cones, impulses, traces"):
        cs.export_html(run, tmp_path / "page.html", show=["cone"])


def test_an_option_that_the_viewer_does_not_have_is_named(run: cs.Trajectory) -> None:
    with pytest.raises(InputError, match="no option 'spread'; there are fps, speed, linearization, spreads"):
        cs.view(run, open_browser=False, spread=())


def test_simultaneous_events_tell_their_pieces() -> None:
    class Piece:
        differentiable = False

        def pieces(self) -> dict[str, None]:
            return dict.fromkeys("abc")

    assert viz_page._saltation(Piece()) == "3 linear pieces"


def test_the_linearization_of_another_run_is_refused(run: cs.Trajectory, tmp_path: Path) -> None:
    other = cs.linearize(cs.simulate(run.system, run(0.0), (0.0, 0.05)))
    with pytest.raises(InputError, match="the linearization is that of another run"):
        cs.export_html(run, tmp_path / "page.html", linearization=other)


@pytest.mark.parametrize("sight", [(0, 0, 0), (1, 2), (1, 2, float("nan"))])
def test_a_sight_that_is_no_direction_is_refused(run: cs.Trajectory, tmp_path: Path, sight: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="must be a direction"):
        cs.export_html(run, tmp_path / "page.html", sight=sight)


# --- in a browser -----------------------------------------------------------------------------------------------------
LISTEN = """<head><script>
  const said = [];
  for (const kind of ["error", "warn"]) {
    const tell = console[kind];
    console[kind] = (...words) => { said.push(words.map(String).join(" ")); tell(...words); };
  }
  addEventListener("error", (event) => said.push(event.message));
  addEventListener("unhandledrejection", (event) => said.push(String(event.reason)));
</script>"""


@needs_browser
def test_the_page_opens_from_a_file_without_complaint_and_without_network(page: Path, tmp_path: Path) -> None:
    listening = tmp_path / "listening.html"
    listening.write_text(page.read_text(encoding="utf-8").replace("<head>", LISTEN, 1), encoding="utf-8")
    asked = """{said, got: performance.getEntriesByType("resource").map((entry) => entry.name),
      head: document.getElementById("head").textContent, mode: document.getElementById("chart").textContent,
      small: [...document.querySelectorAll("#log small")].map((item) => item.textContent),
      groups: [...document.querySelectorAll("#groups input")].map((box) => {
        const before = node(run.groups[box.id.slice(5)][0].slice(1)).visible;
        box.click();
        return [box.id, before, node(run.groups[box.id.slice(5)][0].slice(1)).visible];
      })}"""
    state = fakes.ask_browser(listening, tmp_path, 0.2, asked)
    assert state["said"] == []
    assert [name for name in state["got"] if not name.startswith(("data:", "blob:"))] == []
    assert re.fullmatch(r"0\.2000 s\s+energy 1\.\d+ J", html.unescape(state["head"]))
    assert state["mode"] == "slip: ball"
    assert "‖Ξ‖" in state["small"][0]
    assert state["groups"] == [
        ["show-forces", True, False],
        ["show-cones", False, True],
        ["show-impulses", True, False],
        ["show-traces", True, False],
    ]


@needs_browser
def test_pictures_differ_with_the_mode_and_with_what_is_shown(run: cs.Trajectory, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")

    def colours(name: str, t: float, **options: Any) -> tuple[int, int]:
        path = cs.export_png(run, tmp_path / name, t=t, width=480, height=300, sight=(1.0, -1.0, 0.4), **options)
        r, g, b = np.moveaxis(np.asarray(image.open(path).convert("RGB"), dtype=float), -1, 0)[:, 90:]
        return int(((g > 1.5 * r) & (g > 1.2 * b)).sum()), int(((r > 1.3 * g) & (g > 1.5 * b)).sum())

    hidden = ("impulses", "forces")
    slipping, rolling = (colours(f"{t}.png", t, hide=(*hidden, "traces")) for t in (0.2, 0.4))
    assert slipping[0] == 0 < slipping[1]
    assert rolling[1] == 0 < rolling[0]
    assert colours("trace.png", 0.4, hide=hidden)[1] > 0


# --- spreads ----------------------------------------------------------------------------------------------------------
def test_an_ellipsoid_has_the_axes_of_its_covariance_and_jumps_at_the_event(
    run: cs.Trajectory, sampled: motion.SampledPoses, frame: Any
) -> None:
    lin = cs.linearize(run)
    P0 = np.diag([1e-2, 4e-2, 9e-2, 0, 0, 0, 0, 0, 0, 0, 0, 1e-2])
    found = lin.spread("ball", covariance=P0, shift=(0.0, 0.0, 1.0), name="hull")
    (draw,) = viz_spread.spread_layers([found])
    layer = draw(run, sampled, frame)
    tracks = moves(layer, "/world/spreads/hull")
    (times, scales), (_, turns) = tracks[".scale"], tracks[".quaternion"]
    assert (np.diff(times) > 0).all()
    scales, turns = scales.reshape(-1, 3).astype(float), turns.reshape(-1, 4).astype(float)
    assert scales[0] == pytest.approx([0.1, 0.2, 0.3], rel=1e-5)
    for covariance, scale, turn in zip(found.covariances, scales, turns, strict=True):
        R = pin.Quaternion(turn[3], *turn[:3]).normalized().matrix()
        thin = np.maximum(np.linalg.eigvalsh(covariance), (viz_spread._THINNEST * frame.size) ** 2)
        assert np.sort(scale**2) == pytest.approx(thin, rel=1e-4)
        assert np.diag(R @ np.diag(scale**2) @ R.T) == pytest.approx(np.diag(covariance), abs=1.1 * thin.min() + 1e-5)
    assert tracks[".position"][1].reshape(-1, 3)[0] == pytest.approx([0.0, 0.0, RADIUS + HEIGHT + 1.0])


def test_axes_of_ellipsoids_neither_swap_nor_flip() -> None:
    angles = np.linspace(0.0, 6.0, 60)
    turned = []
    for k, a in enumerate(angles):
        R = pin.rpy.rpyToMatrix(0.3 * a, 0.1, a)
        turned.append(R @ np.diag([1.01 + 0.02 * k, 2.0, 0.25]) @ R.T)  # the first two cross
    axes, turns = viz_spread.principal(np.array(turned))
    assert np.linalg.det(turns) == pytest.approx(np.ones(60))
    assert np.abs(np.diff(turns, axis=0)).max() < 0.3
    rebuilt = np.einsum("nij,nj,nkj->nik", turns, axes**2, turns)
    assert rebuilt == pytest.approx(np.array(turned), abs=1e-12)


def test_a_cloud_has_one_surface_at_a_time(run: cs.Trajectory, sampled: motion.SampledPoses, frame: Any) -> None:
    found = cs.linearize(run).spread("ball", cs.ball(np.eye(12)[:3], 40), name="cloud")
    (draw,) = viz_spread.spread_layers([found])
    layer = draw(run, sampled, frame)
    shown = {p: moves(layer, p)[".visible"] for p in layer.tracks if "surface" in p}
    for t in np.linspace(0.0, 0.5, 101):
        seen = [on[np.searchsorted(times, t, "right") - 1] for times, on in shown.values()]
        assert sum(seen) == 1


def test_spreads_of_what_is_no_robot_are_refused(tmp_path: Path) -> None:
    model = cs.load_model("slip")
    run = cs.simulate(model, model.initial_state(), (0.0, 0.1))
    with pytest.raises(InputError, match="spreads are shown around a Robot only"):
        cs.export_html(run, tmp_path / "page.html", spreads=[object()])
