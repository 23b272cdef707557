"""The offline page in a real browser: the mode behind each event, sheets, views, curves, and how well it is drawn."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from viz_browser import Browser, Tab
from viz_fakes import needs_browser
from viz_sessions import on_a_page, walking
from viz_toggles import NARROW, WIDE, resized, toggled

import contactsim as cs
from contactsim.viewing.ghosts import neighbour

pytestmark = needs_browser

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
READY = "document.body.classList.contains('ready')"
# Clicks each line of the list of events and tells what is seen behind it: the words, and the pad of each contact.
WALK = """[...document.querySelectorAll("#log li")].map((line) => {
  line.click();
  const seen = {};
  for (const [name, {path}] of Object.entries(run.about.contacts ?? {}))
    seen[name] = ["open", "stick", "slip"].filter((mode) => view.node(`${path}/${mode}`).visible);
  return [line.querySelector("time").dateTime, document.getElementById("chart").textContent, seen];
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def walk() -> cs.Trajectory:
    return cs.load_scene("biped").simulate(2.0)


@pytest.fixture(scope="module")
def tab(browser: Browser, walk: cs.Trajectory, tmp_path_factory: pytest.TempPathFactory) -> Tab:
    return opened(browser, walk, tmp_path_factory.mktemp("page"))


def opened(browser: Browser, run: cs.Trajectory, folder: Path, hash_: str = "", **options: Any) -> Tab:
    page = cs.export_html(run, folder / "run.html", **options)
    tab = browser.open(page.as_uri() + hash_)
    tab.until(READY)
    tab.ask("viewer.animator.pause(), 1")
    return tab


def expected_behind(run: cs.Trajectory, time: float) -> dict[str, list[str]]:
    """The mode of each contact behind all events of an instant."""
    shown = {"closed": "stick"}
    return {name: [shown.get(mode.value, mode.value)] for name, mode in run.mode_at(time).items()}


def demand_modes_behind_events(run: cs.Trajectory, tab: Tab) -> None:
    """Each line of the list leads to the very time of its event, written with all digits, and behind it."""
    found = tab.ask(WALK)
    told = [event for event in run.events if event.visible][:1000]
    assert len(found) == len(told)
    robot = hasattr(run.system, "robot")
    for (text, words, seen), event in zip(found, told, strict=True):
        assert float(text.removesuffix(" s")) == event.time
        if robot:
            assert seen == expected_behind(run, event.time), text
        else:
            arc = run.arc_at(event.time)
            drawn = arc.system.drawing(event.time, arc(event.time), arc.mode)
            assert words == (drawn.caption or str(arc.mode))


def test_a_click_on_an_event_shows_the_mode_behind_it(walk: cs.Trajectory, tab: Tab) -> None:
    demand_modes_behind_events(walk, tab)
    assert not tab.errors


@pytest.mark.slow
@pytest.mark.parametrize("target", ["hexapod", "slip", "compliant-hexapod", "box.toml", "sphere.toml", "landing"])
def test_each_event_of_the_gallery_shows_the_mode_behind_it(browser: Browser, tmp_path: Path, target: str) -> None:
    from contactsim.cli import command, job
    from contactsim.io.load_scene import landing_of

    found = str(GALLERY / target) if target.endswith("toml") else target
    found = landing_of("hexapod") if target == "landing" else found
    work = command.job_of(found, [], {})
    (run,) = job.simulate(work.simulation, work.end, work.title)
    tab = opened(browser, run, tmp_path)
    demand_modes_behind_events(run, tab)
    assert (tmp_path / "run.html").stat().st_size < 1.5e6
    assert not tab.errors
    tab.close()


def test_curves_are_those_of_the_run_and_the_cursor_follows_time(walk: cs.Trajectory, tab: Tab) -> None:
    kinds = tab.ask("curves.data.kinds.map(({kind, unit, names}) => [kind, unit, names])")
    names = list(walk.system.mechanism.names)
    assert kinds[:5] == [
        ["gap", "m", names],
        ["normal force", "N", names],
        ["friction force", "N", names],
        ["slip speed", "m/s", names],
        ["energy", "J", ["total", "kinetic", "potential"]],
    ]
    t = 0.4
    tab.ask(f"go_to(rel_of({t})), 1")
    state = walk(t)
    gaps = tab.ask(f"[0, 1].map((k) => curves.value_at({t}, 0, k))")
    assert gaps == pytest.approx(walk.system.mechanism.gaps(t, state.q)[:2].tolist(), abs=1e-3)
    energy = tab.ask(f"curves.value_at({t}, 4, 0)")
    assert energy == pytest.approx(walk.energy(t), rel=1e-6)
    # A click in the curves is a time of the run, and the strip of modes has one colour for each of them.
    before = tab.ask("viewer.animator.time")
    tab.click("#chart-area", 0.75)
    assert tab.ask("viewer.animator.time") > before
    assert tab.ask("Math.abs(curves.time - abs_of(viewer.animator.time)) < 1e-12")
    assert tab.ask("curves.table().split('\\n').length") == tab.ask("curves.data.times.length + 1")


def test_what_lasts_a_millisecond_is_seen_in_the_strip_of_modes(tab: Tab) -> None:
    shown = tab.ask(
        """(() => {
          const held = curves.data, contacts = ["a"], times = [0, 1, 1.001];
          curves.data = {...held, contacts, contact_colours: ["#000000"], end: 2, times: [0, 2], kinds: [], values: [],
            modes: {times, rows: [["stick"], ["slip"], ["stick"]]}, events: []};
          curves.draw();
          const pen = curves.under.getContext("2d"), x = Math.round(curves.x_of(1) * devicePixelRatio);
          const pixels = [...pen.getImageData(x - 2, 3, 5, 1).data];
          curves.data = held;
          curves.draw();
          return pixels;
        })()"""
    )
    r, g, b, _ = np.reshape(shown, (-1, 4)).T
    assert ((r > 150) & (r > 1.1 * g) & (b < 120)).any()  # orange somewhere, between green


def test_nothing_lies_over_the_picture(tab: Tab) -> None:
    for size in (WIDE, NARROW):
        resized(tab, size)
        covered = tab.ask(
            """(() => {
              const {left, top, width, height} = document.getElementById("pane").getBoundingClientRect();
              let covered = 0;
              for (let i = 1; i < 12; i += 1) for (let j = 1; j < 12; j += 1) {
                const found = document.elementFromPoint(left + i / 12 * width, top + j / 12 * height);
                covered += !document.getElementById("pane").contains(found);
              }
              return [covered, height, getComputedStyle(document.querySelector(".dg")).display];
            })()"""
        )
        assert covered[0] == 0 and covered[1] > 200 and covered[2] == "none"
    tab.click("#sheets [data-sheet=side]")  # at 390 pixels the list of events is a touch away
    assert tab.ask("getComputedStyle(document.getElementById('side')).display") == "flex"
    resized(tab, WIDE)
    tab.until("document.getElementById('pane').clientWidth > 600")


def test_views_names_axes_and_help(tab: Tab) -> None:
    tab.click("[data-view=top]")
    x, y, z = tab.ask("viewer.camera.position.toArray()")
    assert y > 10.0 * max(abs(x), abs(z))
    tab.click("[data-view=home]")
    assert tab.ask("viewer.camera.position.distanceTo(view.home)") == pytest.approx(0.0, abs=1e-6)
    tab.click("[data-toggle=labels]")
    tab.until("document.querySelectorAll('#labels span').length === 2")
    tab.click("[data-toggle=labels]")
    tab.click("[data-toggle=frames]")
    assert tab.ask("!!viewer.scene.getObjectByName('axes of the joint')")
    tab.click("[data-toggle=frames]")
    tab.click("#ask")
    assert tab.ask("document.getElementById('help').open")
    tab.click("#help button")
    assert not tab.ask("document.getElementById('help').open")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "390"])
def test_each_toggle_shows_and_hides_what_it_says(browser: Browser, tmp_path: Path, size: dict[str, Any]) -> None:
    run, time = cs.load_scene("hexapod").simulate(0.05), 0.03
    tab, robot = opened(browser, run, tmp_path, speed=0.1), run.system.robot
    resized(tab, size)
    tab.ask("view.quality.settle = () => {}, 1")  # pictures are compared
    tab.ask(f"go_to({time}), viewer.render()")
    centre = pin.centerOfMass(robot.model, robot.model.createData(), run(time).q)
    toggled(tab, centre, len(robot.collision_model.geometryObjects))
    assert not tab.errors
    tab.close()


def test_a_body_that_is_clicked_tells_its_name_and_place(walk: cs.Trajectory, tab: Tab) -> None:
    body = tab.ask("Object.keys(run.about.bodies)[0]")
    spot = tab.ask(f"(() => {{ viewer.render(); const n = view.node({json.dumps(body)}); return view.project(n); }})()")
    box = tab.ask(
        "(() => { const {left, top} = document.getElementById('pane').getBoundingClientRect(); return [left, top]; })()"
    )
    at = {"x": box[0] + spot[0], "y": box[1] + spot[1], "button": "left", "clickCount": 1}
    tab.call("Input.dispatchMouseEvent", type="mousePressed", **at)
    tab.call("Input.dispatchMouseEvent", type="mouseReleased", **at)
    tab.until("!document.getElementById('picked').hidden")
    name = tab.ask("document.querySelector('#picked b').textContent")
    assert name in [frame.name for frame in walk.system.robot.model.frames]
    tab.ask("view.choose(null), 1")


def test_the_link_of_a_moment_leads_back_to_it(browser: Browser, walk: cs.Trajectory, tab: Tab) -> None:
    landed = next(event for event in walk.events if event.visible)
    tab.click("#log li")
    tab.click("[data-view=side]")
    tab.click("#share")
    tab.until("location.hash.includes('eye')")
    address = tab.ask("location.href")
    again = browser.open(address)
    again.until(READY)
    assert again.ask("abs_of(viewer.animator.time)") == landed.time
    assert again.ask("viewer.camera.position.toArray()") == pytest.approx(
        tab.ask("viewer.camera.position.toArray()"), rel=1e-3
    )
    again.close()


def test_the_picture_becomes_less_under_load_and_better_again(tab: Tab) -> None:
    levels = tab.ask(
        """(() => {
          const q = view.quality, held = q.measure, seen = [];
          q.settle = () => {};
          const run = (cost, count) => {
            for (let k = 0; k < count; k += 1) {
              q.cost = cost;
              q.young = 0;
              q.judge(k * 1.0 + seen.length * 1000);
            }
            seen.push(q.level);
          };
          q.resting = false;
          run(0.2, 10);
          run(0.001, 60);
          run(0.2, 1);
          delete q.settle;
          return seen;
        })()"""
    )
    worst, again, less = levels
    assert worst == tab.ask("QUALITY.length - 1")
    assert again == tab.ask("view.quality.best") < worst
    assert less > again
    tab.until("view.quality.resting && view.quality.shown <= view.quality.level")  # paused: as well as can be


def test_the_saved_picture_is_one(tab: Tab) -> None:
    image = pytest.importorskip("PIL.Image")
    import io

    data = base64.b64decode(tab.ask("view.picture()").partition(",")[2])
    assert np.asarray(image.open(io.BytesIO(data)).convert("RGBA"))[..., 3].max() == 255


# --- other runs beside it -----------------------------------------------------------------------------------------


def test_another_run_is_seen_beside_it_at_its_own_places(browser: Browser, walk: cs.Trajectory, tmp_path: Path) -> None:
    other = cs.load_scene("biped")
    state = cs.State(other.state.q, 1.02 * other.state.v)
    beside = cs.simulate(other.system, state, (0.0, 1.0), **other.options)
    tab = opened(browser, walk, tmp_path, ghosts={"faster": beside})
    t = 0.5
    tab.ask(f"go_to(rel_of({t})), 1")
    robot: Any = walk.system.robot
    joint = robot.model.names[robot.model.njoints - 1]
    for root, run in (("robot", walk), ("ghosts/faster", beside)):
        data = robot.model.createData()
        pin.forwardKinematics(robot.model, data, run(t).q)
        expected = data.oMi[robot.model.njoints - 1].translation
        assert tab.ask(f"view.node('world/{root}/{joint}').position.toArray()") == pytest.approx(expected, abs=1e-3)
    tab.click("#show-faster")
    assert tab.ask("view.node('world/ghosts/faster').visible") is False
    assert not tab.errors
    tab.close()


def test_a_neighbour_is_the_first_order_of_the_run_beside(walk: cs.Trajectory) -> None:
    lin, scene = cs.linearize(walk), cs.load_scene("biped")
    dx = np.zeros(lin.dim)
    dx[-1] = 1e-5  # a speed of the swing leg, which leaves the standing foot where it is
    near = neighbour(lin, dx)
    without = neighbour(lin, dx, corrected=False)
    state = cs.State(scene.state.q, scene.state.v + dx[lin.dim // 2 :])
    run = cs.simulate(scene.system, state, (0.0, 2.0), **scene.options)
    off, off_without = (np.abs(found(2.0).q - run(2.0).q).max() for found in (near, without))
    assert off < 0.05 * np.abs(run(2.0).q - walk(2.0).q).max() < off_without


@pytest.mark.slow
def test_nothing_is_complained_of_in_300_s(browser: Browser, walk: cs.Trajectory, tmp_path: Path) -> None:
    """A page that plays and one that shows a run while it is computed, both of them used now and then."""
    played = opened(browser, walk, tmp_path)
    buttons = ["#next", "#play", "[data-toggle=mass]", "[data-toggle=labels]", "[data-view=top]", "[data-view=home]"]
    with on_a_page(walking(end=1e6)) as live:
        shown = browser.open(live.address)
        shown.until(f"{READY} && page.pictures > 0")
        live.session.play()
        end, k = time.monotonic() + 300.0, 0
        while time.monotonic() < end:
            for tab, playing in ((played, "viewer.animator.playing"), (shown, "page.last.playing")):
                tab.ask(f"document.querySelector({buttons[k % len(buttons)]!r}).click()")
                tab.ask(f"{playing} || document.getElementById('play').click()")
            time.sleep(5.0)
            k += 1
        pictures = shown.ask("page.rendered")
        shown.until(f"page.rendered > {pictures}")
        assert live.session.moment.head > 10.0
        assert not played.errors and not shown.errors
