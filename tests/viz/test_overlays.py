"""Layers of the live page: cones, impulses and traces of a ball in closed form, and their switches in a browser."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from builders import G, sphere
from contactsim_viz import layers
from contactsim_viz.live import Live
from contactsim_viz.overlays import PLACE, SCALE, TURN, VISIBLE
from contactsim_viz.picture import Painter, Picture, painter
from viz_browser import Browser, Tab
from viz_fakes import needs_browser
from viz_sessions import on_a_page, until

import contactsim as cs
from contactsim.errors import InputError
from contactsim.io import scene
from contactsim.multibody.terrain import Moving, Oscillation, Sinusoid
from contactsim.viewing.session import Session

FRICTION, SPEED, HEIGHT, RADIUS = 0.1, 1.0, 0.05, 0.1
LANDING = np.sqrt(2.0 * HEIGHT / G)
IMPULSE = G * LANDING  # of 1 kg that lands and stays
AFTER = SPEED - FRICTION * IMPULSE  # m/s, behind the impact, in which the ball slips
SLIPPING = (AFTER - 5.0 / 7.0 * SPEED) / (FRICTION * G)
WAY = AFTER * SLIPPING - FRICTION * G * SLIPPING**2 / 2.0
END = 0.5
COARSE = 1e-3  # relative: a way of straight pieces
SEEN = 1e-3  # radians by which a direction may be off in a picture
COLOURED = 30  # pixels at least by which a picture changes when a group of it is shown


def ball(speed: float = 1.0) -> Session:
    """A ball of 1 kg falls, slides and rolls."""
    start = cs.State([0, 0, RADIUS + HEIGHT, 0, 0, 0, 1], [SPEED, 0, 0, 0, 0, 0])
    simulation = cs.Simulation(cs.ContactSystem(sphere(friction=FRICTION, radius=RADIUS)), start)
    return Session(simulation, end=END, speed=speed, title="ball")


@pytest.fixture
def played() -> Session:
    """The ball at its end; nothing runs any more."""
    session = ball(np.inf)
    session.observe = lambda moment: session.close() if moment.head >= END else session.want()
    session.run()
    return session


def at(session: Session, time: float) -> Any:
    session._seek(time)
    return session.moment


def row(live: Painter, picture: Picture, path: str) -> np.ndarray:
    return picture.rows[live.nodes.index(path)]


def bands(live: Painter, picture: Picture) -> np.ndarray:
    rows = picture.rows[["/traces/" in path for path in live.nodes]]
    return rows[rows[:, VISIBLE] > 0]


# --- what is painted ----------------------------------------------------------------------------------------------
def test_a_cone_has_the_angle_of_friction_in_the_mode_of_the_contact(played: Session) -> None:
    live = painter(played.moment)
    for time, mode in ((0.5 * LANDING, "open"), (LANDING + 0.5 * SLIPPING, "slip"), (0.95 * END, "stick")):
        moment = at(played, time)
        picture = live.paint(moment)
        assert [kind for kind in ("stick", "slip") if row(live, picture, f"/world/cones/ball/{kind}")[VISIBLE]] == [
            kind for kind in ("stick", "slip") if kind == mode
        ]
        radius, _, height = row(live, picture, "/world/cones/ball/slip")[SCALE]  # of a cone with friction 1
        assert radius / height == pytest.approx(FRICTION)
        centre = played.system.state(moment.x).q[:3]
        assert row(live, picture, "/world/cones/ball")[PLACE] == pytest.approx(centre - [0.0, 0.0, RADIUS])


def test_a_cone_follows_friction_that_is_turned(played: Session) -> None:
    live = painter(played.moment)
    played._set("contact.friction", 0.4)
    played._set("contact.static_friction", 0.6)
    picture = live.paint(played.moment)
    for kind, friction in (("slip", 0.4), ("stick", 0.6)):
        radius, _, height = row(live, picture, f"/world/cones/ball/{kind}")[SCALE]
        assert radius / height == pytest.approx(friction)


def test_an_impulse_is_seen_from_its_impact_on_for_as_long_as_it_flashes(played: Session) -> None:
    played._set_speed(1.0)
    live = painter(played.moment)
    newton = next(overlay.newton for overlay, _ in live._overlays if overlay.name == "impulses")
    landed = played.log[0].time
    assert landed == pytest.approx(LANDING)
    widths = []
    for time, seen in ((landed - 1e-6, 0), (landed, 1), (landed + 0.9 * layers.FLASH, 1), (END, 0)):
        picture = live.paint(at(played, time))
        assert row(live, picture, "/world/impulses/ball")[VISIBLE] == seen
        widths += [row(live, picture, "/world/impulses/ball/ring")[SCALE][0]] if seen else []
    assert widths == pytest.approx([layers.FLASHES_FROM, layers.FLASHES_FROM + 0.9 * (1.0 - layers.FLASHES_FROM)])
    picture = live.paint(at(played, landed))
    x, y, z, w = row(live, picture, "/world/impulses/ball/arrow")[TURN]
    arrow = pin.Quaternion(w, x, y, z).matrix()[:, 2] * row(live, picture, "/world/impulses/ball/arrow/shaft")[SCALE][2]
    assert newton * arrow == pytest.approx(np.array([-FRICTION * IMPULSE, 0.0, IMPULSE]), rel=1e-9, abs=1e-9)


def test_traces_are_as_long_as_the_way_that_was_slipped_and_lie_on_the_ground(played: Session) -> None:
    live = painter(played.moment)
    laid = bands(live, live.paint(at(played, END)))
    assert laid[:, SCALE.start].sum() == pytest.approx(WAY, rel=COARSE)
    assert laid[:, 2] == pytest.approx(np.full(len(laid), layers.LIFT * live.size))
    middle = bands(live, live.paint(at(played, LANDING + 0.5 * SLIPPING)))
    assert 0 < len(middle) < len(laid)
    assert len(bands(live, live.paint(at(played, 0.9 * LANDING)))) == 0


def test_a_trace_grows_with_each_picture_and_is_the_same_whoever_looks() -> None:
    session = ball()
    live, lengths = painter(session.moment), []

    def observe(moment: Any) -> None:
        lengths.append(bands(live, live.paint(moment))[:, SCALE.start].sum())
        session.close() if moment.time >= END else session.want()

    session.observe = observe
    session.run()
    assert lengths[0] == 0.0 and lengths[-1] == pytest.approx(WAY, rel=COARSE)
    assert (np.diff(lengths) > -COARSE * WAY).all()


def test_a_run_that_is_started_again_leaves_its_traces_behind(played: Session) -> None:
    live = painter(played.moment)
    assert len(bands(live, live.paint(at(played, END))))
    played._drop()
    assert len(bands(live, live.paint(played.moment))) == 0


def test_no_more_than_the_last_bands_are_kept(played: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from contactsim_viz import overlays

    monkeypatch.setattr(overlays, "_MOST_BANDS", 5)
    live = painter(played.moment)
    whole = painter(at(played, END))
    found = bands(live, live.paint(at(played, END)))
    assert len(found) == 5
    assert found[:, 0].max() == bands(whole, whole.paint(played.moment))[:, 0].max()


def test_without_friction_or_contacts_nothing_lies_over_it() -> None:
    free = painter(Session(cs.Simulation(cs.ContactSystem(sphere().with_contacts([])), _rest())).moment)
    assert free._overlays == [] and free.groups == {}
    smooth = Session(cs.Simulation(cs.ContactSystem(sphere(friction=0.0)), _rest()))
    live = painter(smooth.moment)
    picture = live.paint(smooth.moment)
    assert not [path for path in live.nodes if "/cones/" in path and row(live, picture, path)[VISIBLE] == 1.0]


def test_groups_are_shown_and_hidden_as_wished(played: Session) -> None:
    with Live(played, show=["cones"], hide=["forces"]) as live:
        assert {name: on for name, (_, on) in live.groups.items()} == {
            "forces": False,
            "cones": True,
            "impulses": True,
            "traces": True,
        }
    with pytest.raises(InputError, match="no group 'cone' to show or hide; there are forces, cones, impulses, traces"):
        Live(played, show=["cone"])


def _rest() -> cs.State:
    return cs.State([0, 0, 0.1, 0, 0, 0, 1], np.zeros(6))


# --- in a browser -------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def seen(browser: Browser) -> Iterator[tuple[Session, Live, Tab]]:
    """A hexapod that lands sliding, on a page, at its end."""
    built = scene.build(scene.parse('robot = {name = "hexapod"}\ncontact = {friction = 0.2}'))
    start = cs.State(built.state.q, np.eye(built.system.nv)[0])
    session = Session(cs.Simulation(built.system, start, **built.options), end=END, title="hexapod")
    with on_a_page(session) as live:
        tab = browser.open(live.address)
        tab.until("document.body.classList.contains('ready')")
        until(lambda: not session.playing)
        tab.ask("Object.assign(view.quality, {settle() {}, judge() {}}), 1")  # pictures are compared
        yield session, live, tab
        assert not tab.errors


def show(live: Live, tab: Tab, time: float) -> None:
    """Let the page show a time, and wait until a picture that was painted since is drawn."""
    live.session.seek(time)
    until(lambda: live.session.moment.time == time)
    before = live.painted
    live.session.refresh()
    tab.until(f"page.drawn > {before} && page.last.time === {time!r} && !page.last.playing")


def visible(tab: Tab, path: str) -> bool:
    """Whether a node and all above it are shown."""
    return tab.ask(
        f"(() => {{ let node = viewer.scene_tree.find({path.strip('/').split('/')!r}).object, on = true;"
        " for (; node; node = node.parent) on = on && node.visible; return on; })()"
    )


# What the page draws next, read as soon as it is drawn: a picture of the window may be one of a frame before.
NEXT_PICTURE = """new Promise((done) => {
  const render = viewer.render;
  viewer.render = () => {
    viewer.render = render;
    render();
    const {clientWidth: width, clientHeight: height} = document.getElementById("pane");
    const copy = Object.assign(document.createElement("canvas"), {width, height});
    copy.getContext("2d").drawImage(viewer.renderer.domElement, 0, 0, width, height);
    done(copy.toDataURL());
  };
  viewer.set_dirty();
})"""


def picture(tab: Tab) -> np.ndarray:
    """What is drawn."""
    image = pytest.importorskip("PIL.Image")
    data = base64.b64decode(tab.ask(NEXT_PICTURE).partition(",")[2])
    return np.asarray(image.open(io.BytesIO(data)).convert("RGB"), dtype=float)


SWITCHES = {
    "forces": ("/world/forces/lf", END, True),
    "cones": ("/world/cones/lf", END, False),
    "impulses": ("/world/impulses/lf", 0.0, True),
    "traces": ("/world/traces/1", END, True),
}


@needs_browser
@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_shows_and_hides_its_group(seen: tuple[Session, Live, Tab], name: str) -> None:
    session, live, tab = seen
    path, time, shown = SWITCHES[name]
    show(live, tab, time or session.log[0].time)
    assert visible(tab, path) is shown
    first = picture(tab)
    tab.click(f"#show-{name}")
    assert visible(tab, path) is not shown
    second = picture(tab)
    assert (np.abs(second - first).max(axis=2) > 20.0).sum() > COLOURED
    tab.click(f"#show-{name}")
    assert visible(tab, path) is shown
    assert (np.abs(picture(tab) - first).max(axis=2) > 20.0).sum() < COLOURED


@needs_browser
def test_an_impulse_flashes_on_the_page_at_its_impact(seen: tuple[Session, Live, Tab]) -> None:
    session, live, tab = seen
    violet = []
    landing = session.log[0].time
    for time in (0.9 * landing, landing, END):
        show(live, tab, time)
        r, g, b = np.moveaxis(picture(tab), -1, 0)
        violet.append(int(((b > 1.3 * r) & (r > 1.3 * g)).sum()))
        assert visible(tab, "/world/impulses/lf") is (time == landing)
    assert violet[0] == violet[2] == 0 and violet[1] > COLOURED


@needs_browser
def test_what_is_shown_stays_when_the_run_or_the_page_begins_anew(seen: tuple[Session, Live, Tab]) -> None:
    session, _, tab = seen
    shown = "[...document.querySelectorAll('#groups input')].map((box) => box.checked)"
    assert tab.ask(shown) == [True, False, True, True]
    tab.click("#show-cones")
    tab.click("#show-traces")
    take = session.take
    tab.click("#drop")
    until(lambda: session.take == take + 1 and session.moment.head >= END and not session.playing)
    assert tab.ask(shown) == [True, True, True, False]
    tab.reload()
    tab.until("document.body.classList.contains('ready')")
    assert tab.ask(shown) == [True, True, True, False]
    assert tab.ask("viewer.scene_tree.find(['world', 'traces']).object.visible") is False
    tab.click("#show-cones")
    tab.click("#show-traces")


# --- hills and moving ground --------------------------------------------------------------------------------------
HILLS = Sinusoid(0.06, 5.0, 5.0)
SHAKEN = Moving(HILLS, Oscillation((0.05, 0.0, 0.02), 2.0))


def thrown(terrain: Any, height: float = 0.1, end: float = 0.4) -> Session:
    """A ball thrown over hills, fast enough to slip where it lands; at its end."""
    system = cs.ContactSystem(sphere(friction=FRICTION, radius=RADIUS), terrain)
    q = [0.1, 0.2, float(terrain.heights(0.0, np.array([0.1, 0.2]))) + RADIUS + height, 0, 0, 0, 1]
    session = Session(cs.Simulation(system, cs.State(q, [0.8, 0.3, 0, 0, 0, 0])), end=end)
    session._simulation.advance_to(end)
    session._note_events()
    return session


def axis(row: np.ndarray) -> np.ndarray:
    x, y, z, w = row[TURN]
    return pin.Quaternion(w, x, y, z).matrix()[:, 2]


@pytest.mark.parametrize("terrain", [HILLS, SHAKEN], ids=["still", "moving"])
def test_on_hills_the_cone_stands_on_the_slope_and_the_force_of_a_slip_lies_on_it(terrain: Any) -> None:
    session = thrown(terrain)
    live, angles = painter(session.moment), []
    for time in np.linspace(0.0, 0.4, 81):
        moment = at(session, time)
        picture = live.paint(moment)
        if picture.modes["ball"] == "slip":
            force = session.system.forces(time, moment.x, moment.arc.mode)["ball"]
            normal = axis(row(live, picture, "/world/cones/ball"))
            assert axis(row(live, picture, "/world/contacts/ball")) == pytest.approx(normal)
            angles.append(normal @ force / np.linalg.norm(force))
    assert len(angles) > 10
    assert np.abs(np.arccos(angles) - np.arctan(FRICTION)).max() < SEEN


def test_a_robot_high_above_hills_is_drawn(tmp_path: Any) -> None:
    session = thrown(HILLS, height=3.0, end=0.05)
    picture = painter(session.moment).paint(session.moment)
    assert picture.modes == {"ball": "open"}
    assert cs.export_html(session.trajectory, tmp_path / "high.html").is_file()


def test_traces_stay_on_ground_that_moves(tmp_path: Any) -> None:
    session = thrown(SHAKEN)
    live = painter(session.moment)
    for time in (0.25, 0.3, 0.4):
        picture = live.paint(at(session, time))
        laid = bands(live, picture)
        middles = laid[1:, PLACE] + row(live, picture, "/world/traces")[PLACE]
        assert len(middles) > 3
        above = middles[:, 2] - SHAKEN.heights(time, middles[:, :2])
        assert np.abs(above).max() < 2.0 * layers.LIFT * live.size


@needs_browser
def test_moving_hills_are_seen_where_they_are(browser: Browser) -> None:
    session = thrown(SHAKEN)
    with on_a_page(session) as live:
        tab = browser.open(live.address)
        tab.until("document.body.classList.contains('ready')")
        show(live, tab, 0.37)
        corners = tab.ask(
            """(() => {
              viewer.scene.updateMatrixWorld(true);
              const world = viewer.scene_tree.find(["world"]).object, out = [], at = new MeshCat.THREE.Vector3();
              const ground = viewer.scene_tree.find(["world", "ground", "grid", "<object>"]).object;
              const points = ground.geometry.attributes.position;
              for (let k = 0; k < points.count; k += 97) {
                at.fromBufferAttribute(points, k).applyMatrix4(ground.matrixWorld);
                out.push(world.worldToLocal(at).toArray());
              }
              return out;
            })()"""
        )
        corners = np.array(corners)
        assert len(corners) > 100
        off = corners[:, 2] - SHAKEN.heights(0.37, corners[:, :2])
        assert np.abs(off).max() < 2e-3 * live._painter.size  # heights are rounded to that
        assert not tab.errors
        tab.close()
