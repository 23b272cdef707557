"""The live page in a real browser: what it shows is what Python has, and what is clicked takes effect there."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import viz_fakes as fakes
from contactsim_viz import export_html
from contactsim_viz.live import Live
from contactsim_viz.server import Server
from viz_browser import PAINTED, Browser, Tab
from viz_fakes import needs_browser
from viz_sessions import model, on_a_page, standing, until, walking
from viz_toggles import NARROW, WIDE, resized, toggled

from contactsim.viewing.session import Session

pytestmark = needs_browser

ROUNDING = 1e-12  # relative, of a number that a slider holds as text
SINGLE = 1e-6  # relative, of a pose that went through single precision
END = 0.3  # s, where a hexapod on a page pauses
READY = "document.body.classList.contains('ready')"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def seen(browser: Browser) -> Iterator[tuple[Session, Live, Tab]]:
    """A hexapod that has landed, on a page; each test leaves it paused."""
    session = standing(end=END)
    with on_a_page(session) as live:
        tab = browser.open(live.address)
        tab.until(READY)
        until(lambda: not session.playing)
        yield session, live, tab


@pytest.fixture
def shown(seen: tuple[Session, Live, Tab]) -> Iterator[tuple[Session, Tab]]:
    session, _, tab = seen
    settle(session, tab)
    yield session, tab
    session.pause()
    until(lambda: not session.playing)
    assert not tab.errors


def settle(session: Session, tab: Tab) -> None:
    """Wait until the page shows the paused session."""
    session.refresh()
    moment = session.moment
    tab.until(
        f"page.last && !page.last.playing && page.last.time === {moment.time!r} && page.last.take === {moment.take}"
    )


def drop(session: Session, act: Callable[[], None]) -> None:
    """Drop again by `act`, and wait for the end of the run."""
    take = session.take
    act()
    until(lambda: session.take == take + 1)
    until(lambda: session.moment.head >= END and not session.playing)


def node(path: str) -> str:
    return f"viewer.scene_tree.find({path.strip('/').split('/')!r}).object"


def pose(tab: Tab, path: str) -> list[float]:
    return tab.ask(f"[...{node(path)}.position.toArray(), ...{node(path)}.quaternion.toArray()]")


def joint_poses(session: Session, t: float) -> dict[str, np.ndarray]:
    """Poses of all joints at a time of the run, by pinocchio."""
    robot: Any = session.system.robot
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, session.trajectory(t).q)
    return {name: pin.SE3ToXYZQUAT(data.oMi[k]) for k, name in enumerate(robot.model.names) if name != "universe"}


def same_pose(found: list[float], expected: np.ndarray) -> bool:
    q = np.sign(np.dot(found[3:], expected[3:])) * np.array(found[3:])
    return np.allclose([*found[:3], *q], expected, atol=SINGLE)


def changes(session: Session) -> list[str]:
    return [entry.text for entry in session.log if entry.event is None]


# --- the page -------------------------------------------------------------------------------------


def test_the_page_loads_without_a_complaint_and_asks_nobody_else(seen: tuple[Session, Live, Tab]) -> None:
    _, live, tab = seen
    assert not tab.errors
    asked = {address.replace("ws://", "http://") for address in tab.requests}
    assert len(asked) >= 3
    assert all(address.startswith(live.address) for address in asked)


def test_the_head_up_line_the_modes_and_the_events_are_those_of_the_run(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    moment = session.moment
    assert tab.ask("document.getElementById('head').textContent") == (
        f"{moment.time:.4f} s \u00b7 energy {tab.ask('page.last.energy.toPrecision(5)')} J"
    )
    assert tab.ask("page.last.energy") == pytest.approx(moment.energy, rel=1e-12)
    modes = tab.ask(
        "Object.fromEntries([...document.querySelectorAll('#modes span')].map(s => [s.textContent, s.dataset.mode]))"
    )
    named = session.system.named_modes(moment.arc.mode)
    assert modes == {name: mode.name.lower() for name, mode in named.items()}
    for name, mode in modes.items():
        visible = [
            part for part in ("open", "stick", "slip") if tab.ask(f"{node(f'world/contacts/{name}/{part}')}.visible")
        ]
        assert visible == [mode]
    assert tab.ask("document.querySelectorAll('#log li').length") == len(session.log)
    assert "stick" in tab.ask("document.getElementById('legend').textContent")


def test_scrubbing_shows_the_pose_of_that_time(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    times = []
    for share in (0.2, 0.6, 0.98):
        before = session.moment.time
        tab.click("#time", share)
        until(lambda before=before: session.moment.time != before)
        settle(session, tab)
        times.append(session.moment.time)
        for name, expected in joint_poses(session, times[-1]).items():
            assert same_pose(pose(tab, f"world/robot/{name}"), expected), name
    assert times == sorted(times)
    assert tab.ask("document.getElementById('clock').textContent").startswith(f"{times[-1]:.3f} /")


def test_arrows_are_the_forces(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    session.to_head()
    until(lambda: session.moment.time == session.moment.head)
    settle(session, tab)
    forces = session.system.forces(session.moment.time, session.moment.x, session.moment.arc.mode)
    per_metre = float(tab.ask("document.getElementById('legend').textContent.match(/force, 1 m = ([0-9.e+]+) N/)[1]"))
    for name, force in forces.items():
        turn = pose(tab, f"world/forces/{name}")[3:]
        length = tab.ask(f"{node(f'world/forces/{name}/shaft')}.scale.z")
        arrow = pin.Quaternion(turn[3], *turn[:3]).normalized() * np.array([0.0, 0.0, length])
        assert per_metre * arrow == pytest.approx(force, rel=1e-5, abs=1e-5)


# --- the controls ---------------------------------------------------------------------------------


def test_play_and_pause_and_the_space_bar(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    tab.click("#play")
    until(lambda: session.playing)
    tab.until("page.last.playing")
    tab.click("#play")
    until(lambda: not session.playing)
    settle(session, tab)
    for kind in ("keyDown", "keyUp"):
        tab.ask("document.activeElement.blur()")
        tab.call("Input.dispatchKeyEvent", type=kind, key=" ", code="Space", windowsVirtualKeyCode=32)
    until(lambda: session.playing)


def test_speed(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    tab.choose("#speed", "0.1")
    until(lambda: session.speed == 0.1)
    tab.choose("#speed", "1")
    until(lambda: session.speed == 1.0)


def test_from_event_to_event_and_by_the_list(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    session.to_head()
    times = sorted({entry.time for entry in session.log})
    until(lambda: session.moment.time == session.moment.head)
    tab.click("#before")
    until(lambda: session.moment.time in times)
    landed = session.moment.time
    tab.click("#next")
    until(lambda: session.moment.time > landed)
    tab.click("#log li")
    until(lambda: session.moment.time == session.log[0].time)
    tab.click("#live")
    until(lambda: session.moment.time == session.moment.head)


def test_drop_again(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    drop(session, lambda: tab.click("#drop"))
    tab.until(
        f"page.last.take === {session.take} && document.querySelectorAll('#log li').length === {len(session.log)}"
    )


def test_push(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    tab.click("#force", 0.06)
    tab.click("#direction", 0.75)
    force, angle = (float(tab.ask(f"document.getElementById('{name}').value")) for name in ("force", "direction"))
    assert force > 0.0 and 45.0 < angle < 135.0
    tab.click("#push")
    until(lambda: session.system.pushes)
    push = session.system.pushes[-1]
    expected = [force * math.cos(math.radians(angle)), force * math.sin(math.radians(angle)), 0.0]
    assert push.force == pytest.approx(expected)
    before = session.moment.x.copy()
    end = session.moment.head + 0.05
    session.play(until=end)
    until(lambda: session.moment.time == end)
    moved = session.moment.x[:2] - before[:2]
    assert moved @ expected[:2] > 0.0


@pytest.mark.parametrize(
    "name", ["contact.friction", "contact.restitution", "controller.kp_scale", "controller.kd", "gravity"]
)
@pytest.mark.parametrize("share", [0.45, 0.7])
def test_every_kind_of_slider_takes_effect(shown: tuple[Session, Tab], name: str, share: float) -> None:
    session, tab = shown
    selector = f'#sliders input[data-name="{name}"]'
    before = session.system.parameter(name)
    tab.click(selector, share)
    until(lambda: session.system.parameter(name) != before)
    value = session.system.parameter(name)
    tab.until(f"Math.abs(Number(document.querySelector('{selector}').value) - {value!r}) < {ROUNDING * abs(value)!r}")
    tab.until(
        "[...document.querySelectorAll('#log li.own')].some(e => e.textContent.includes(" + repr(f"{name}: ") + "))"
    )
    until(lambda: changes(session)[-1].startswith(f"{name}: "))


def test_the_page_has_a_slider_for_every_control(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    names = tab.ask("[...document.querySelectorAll('#sliders input')].map(input => input.dataset.name)")
    assert names == [control.name for control in session.controls]


def test_accuracy(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    tab.click("#solver summary")
    tab.click("#rtol", 0.5)
    until(lambda: changes(session) and changes(session)[-1].startswith("rtol"))
    rtol = session.simulation.tolerances.rtol
    tab.until(f"Math.abs(Number(document.getElementById('rtol').value) - {math.log10(rtol)!r}) < {SINGLE}")


def test_the_contact_law_and_its_own_sliders(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    tab.choose("#law", "spring-damper")
    until(lambda: session.law == "spring-damper")
    tab.until("!!document.querySelector('#sliders input[data-name=\"law.stiffness\"]')")
    before = session.system.parameter("law.stiffness")
    tab.click('#sliders input[data-name="law.stiffness"]', 0.6)
    until(lambda: session.system.parameter("law.stiffness") != before)
    tab.choose("#law", "coulomb")
    until(lambda: session.law == "coulomb")
    tab.until("!document.querySelector('#sliders input[data-name=\"law.stiffness\"]')")


def test_the_camera_follows_or_stays(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    session.seek(0.0)
    until(lambda: session.moment.time == 0.0)
    settle(session, tab)
    tab.click("#follow")
    assert tab.ask("document.getElementById('follow').checked") is False
    still = tab.ask(f"{node('world')}.position.toArray()")
    session.to_head()
    until(lambda: session.moment.time == session.moment.head)
    settle(session, tab)
    assert tab.ask(f"{node('world')}.position.toArray()") == still
    tab.click("#follow")
    drop(session, session.drop)
    settle(session, tab)
    assert tab.ask(f"{node('world')}.position.toArray()") != still


# --- pages come and go ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "390"])
def test_each_toggle_shows_and_hides_what_it_says(
    browser: Browser, seen: tuple[Session, Live, Tab], size: dict[str, Any]
) -> None:
    session, live, _ = seen
    tab, robot = browser.open(live.address), session.system.robot
    tab.until(READY)
    settle(session, tab)
    resized(tab, size)
    tab.ask("view.quality.settle = () => {}, 1")  # pictures are compared
    centre = pin.centerOfMass(robot.model, robot.model.createData(), session.trajectory(session.moment.time).q)
    toggled(tab, centre, len(robot.collision_model.geometryObjects))
    assert not tab.errors
    tab.close()


def test_a_second_page_sees_the_same(browser: Browser, seen: tuple[Session, Live, Tab]) -> None:
    session, live, first = seen
    settle(session, first)
    second = browser.open(live.address)
    second.until(READY)
    settle(session, second)
    name = session.system.robot.model.names[-1]
    for path in (f"world/robot/{name}", *(f"world/contacts/{leg.name}" for leg in session.system.robot.contacts)):
        assert pose(first, path) == pose(second, path)
    count = "(() => { let n = 0; viewer.scene.traverse(() => { n += 1; }); return n; })()"
    assert first.ask(count) == second.ask(count)
    assert not second.errors
    second.close()
    assert session.playing is False and first.ask("page.last.time") == session.moment.time


def test_a_page_that_loses_the_connection_comes_back_and_draws_nothing_twice(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    commands = tab.ask("page.commands")
    tab.ask("page.old = page.socket, page.socket.close(), 1")
    tab.until("document.body.classList.contains('lost')")
    tab.until("!document.body.classList.contains('lost') && page.socket !== page.old")
    drop(session, session.drop)
    settle(session, tab)
    assert tab.ask("page.commands") == commands
    name = session.system.robot.model.names[-1]
    assert same_pose(pose(tab, f"world/robot/{name}"), joint_poses(session, session.moment.time)[name])


def test_a_window_that_is_closed_does_not_end_the_run(browser: Browser) -> None:
    session = walking()
    with on_a_page(session) as live:
        tab = browser.open(live.address)
        tab.until(READY)
        tab.close()
        until(lambda: not live._clients)
        reached = session.moment.head
        until(lambda: session.moment.head > reached + 0.2)
        again = browser.open(live.address)
        again.until(f"page.last && page.last.head > {reached}")
        assert session.playing
        assert not again.errors
        again.close()


def test_a_page_says_that_the_program_has_ended(browser: Browser) -> None:
    before, banner = set(threading.enumerate()), "getComputedStyle(document.getElementById('gone')).display"
    with on_a_page(walking()) as live:
        tab = browser.open(live.address)
        tab.until(READY)
        assert tab.ask(banner) == "none"
    assert set(threading.enumerate()) <= before
    tab.until("document.body.classList.contains('lost')")
    assert tab.ask(banner) == "block"
    tab.close()


# --- other systems --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "part"), [("slip", "body"), ("compliant-hexapod", "body")])
def test_models_are_drawn_as_they_say(browser: Browser, name: str, part: str) -> None:
    session = model(name, end=0.3)
    with on_a_page(session) as live:
        tab = browser.open(live.address)
        tab.until(READY)
        until(lambda: not session.playing)
        settle(session, tab)
        moment = session.moment
        drawing = session.system.drawing(moment.time, moment.x, moment.arc.mode)
        assert tab.ask(f"{node(f'world/parts/{part}/0')}.position.toArray()") == pytest.approx(
            np.asarray(drawing.parts[part].centre).tolist(), abs=SINGLE
        )
        assert tab.ask("document.getElementById('chart').textContent") == drawing.caption
        assert tab.ask("document.getElementById('pushing').hidden && document.getElementById('lawful').hidden")
        assert tab.ask("document.querySelectorAll('#sliders input').length") == len(session.controls) > 5
        assert not tab.errors
        tab.close()


# --- the offline page -----------------------------------------------------------------------------


def test_the_offline_page_plays_from_a_file_and_asks_nobody(browser: Browser, tmp_path: Path) -> None:
    run = fakes.walk(fakes.hexapod())
    tab = browser.open(export_html(run, tmp_path / "walk.html").as_uri())
    tab.until(READY)
    assert not tab.errors
    assert {address.split(":")[0] for address in tab.requests} <= {"file", "data", "blob"}
    tab.click("#play")  # which pauses it
    tab.until("!viewer.animator.playing")
    tab.ask("document.getElementById('time').value = 0, document.getElementById('time').oninput(), 1")
    marks = [event.time for event in run.events]
    for button, k in (("#next", 0), ("#next", 1), ("#before", 0)):
        tab.click(button)
        assert tab.ask("viewer.animator.time") == pytest.approx(marks[k], rel=SINGLE)
    tab.close()


def test_a_button_takes_a_press_during_which_its_icon_changes(browser: Browser, tmp_path: Path) -> None:
    tab = browser.open(export_html(fakes.walk(fakes.hexapod()), tmp_path / "walk.html").as_uri())
    tab.until(READY)
    tab.click("#play")
    tab.until("!viewer.animator.playing")
    release = tab.press("#play")
    tab.ask("set_icon(true), 1")
    release()
    tab.until("window.hit")
    tab.close()


def test_a_finished_run_plays_from_the_server_and_asks_nobody_else(browser: Browser, tmp_path: Path) -> None:
    page = export_html(fakes.walk(fakes.hexapod()), tmp_path / "walk.html").read_bytes()
    with Server({"/": (page, "text/html; charset=utf-8")}) as server:
        tab = browser.open(server.address)
        tab.until(READY)
        tab.until("viewer.animator.time > 0")
        assert not [error for error in tab.errors if "favicon" not in error and "404" not in error]
        assert all(one.startswith((server.address, "data:", "blob:")) for one in tab.requests)
        tab.close()


# --- pulling, posing, and runs that end -----------------------------------------------------------------------------


def test_shift_and_drag_pulls_a_body(browser: Browser) -> None:
    session = walking()
    with on_a_page(session) as live:
        tab = browser.open(live.address)
        tab.until(READY)
        tab.until("page.last.playing")
        tab.choose("#speed", "0.05")  # so that it stays where it is taken
        tab.call("Page.bringToFront")
        tab.until(PAINTED)
        body = tab.ask("Object.keys(page.about.bodies)[0]")
        held = {"button": "left", "clickCount": 1, "modifiers": 8}  # 8: shift
        spot = (
            "(() => { const {left, top} = document.getElementById('pane').getBoundingClientRect();"
            f" const [x, y] = view.project(view.node({body!r})); return [left + x, top + y]; }})()"
        )

        def taken() -> tuple[float, float] | None:
            """Where the body was pressed; None where it had moved away meanwhile."""
            x, y = tab.ask(spot)
            tab.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **held)
            if tab.ask("!document.getElementById('picked').hidden"):
                return x, y
            tab.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **held)
            return None

        x, y = until(taken)
        tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 40, y=y, buttons=1, **held)
        until(lambda: any(change.startswith("pull ") for change in changes(session)))
        until(lambda: session.system.pushes)
        tab.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + 40, y=y, **held)
        assert not tab.errors
        tab.close()


def test_a_joint_is_set_while_time_stands_still(shown: tuple[Session, Tab]) -> None:
    session, tab = shown
    session.to_head()
    until(lambda: session.moment.time == session.moment.head and not session.playing)
    settle(session, tab)
    tab.click("#posing summary")
    joint = session.joints[2]
    selector = f'#joints input[data-name="{joint.name}"]'
    tab.click(selector, 0.7)
    until(lambda: changes(session) and changes(session)[-1].startswith(f"{joint.name}: "))
    settle(session, tab)
    value = float(session.simulation.state.q[joint.place])
    assert value == pytest.approx(float(tab.ask(f"document.querySelector('{selector}').value")), abs=1e-3)
    assert not session.simulation.state.v.any()
    gaps = session.system.mechanism.gaps(0.0, session.simulation.state.q)[: len(session.system.mechanism.names)]
    assert gaps.min() > -1e-9
    tab.click("#posing summary")


def test_a_run_that_ends_says_so_stays_and_is_rewound(browser: Browser) -> None:
    session = walking()
    with on_a_page(session) as live:
        tab = browser.open(live.address)
        tab.until(READY)
        session.push([3.0 * session.weight, 0.0, 0.0])  # too much for a passive walker
        tab.until("page.last.ended !== ''")
        assert "The run ended at" in tab.ask("document.getElementById('ended').textContent")
        tab.until("!page.last.playing")
        tab.click("#time", 0.3)
        until(lambda: session.moment.time < 0.6 * session.moment.head)
        tab.click("#drop")
        tab.until("page.last.ended === '' && page.last.playing")
        assert not tab.errors
        tab.close()


def test_curves_grow_with_the_run_and_tell_its_rate(browser: Browser) -> None:
    session = walking()
    with on_a_page(session) as live:
        tab = browser.open(live.address)
        tab.until(READY)
        tab.until("page.last.time > 1.2 && curves.data.modes.times.length > 1")
        tab.until("/real time/.test(document.getElementById('pace').textContent)")
        session.pause()
        until(lambda: not session.playing)
        settle(session, tab)
        k = tab.ask("Math.floor(curves.data.times.length / 2)")
        time = tab.ask(f"curves.data.times[{k}]")
        q = session.moment.arc_at(time)(time)[: session.system.robot.nq]
        assert tab.ask(f"curves.data.values[0].slice(2 * {k}, 2 * {k} + 2)") == pytest.approx(
            session.system.mechanism.gaps(time, q)[:2].tolist(), abs=1e-5
        )
        landed = next(entry for entry in session.log if entry.event is not None)
        rows = dict(tab.ask("curves.data.modes.times.map((t, k) => [t, curves.data.modes.rows[k]])"))
        after = {name: pair[1].value for name, pair in landed.event.transitions.items()}
        assert dict(zip(session.system.mechanism.names, rows[landed.time], strict=True)) == after
        tab.close()
