"""Stand-ins with just what the viewer reads: a walking six-legged robot of primitives, or any model and gait."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin
import pytest
from contactsim_viz import browser

needs_browser = pytest.mark.skipif(browser.find_browser() is None, reason="no Chromium or Google Chrome")


class Mode(Enum):
    OPEN = 0
    STICK = 1
    SLIP = 2


@dataclass(frozen=True)
class Contact:
    name: str
    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0


@dataclass
class Robot:
    model: Any
    visual_model: Any
    contacts: list[Contact]

    def joint_placements(self, q):
        data = self.model.createData()
        pin.forwardKinematics(self.model, data, q)
        return np.array([pin.SE3ToXYZQUAT(placement) for placement in data.oMi])

    def contact_positions(self, q):
        data = self.model.createData()
        pin.framesForwardKinematics(self.model, data, q)
        points = []
        for contact in self.contacts:
            placement = data.oMf[self.model.getFrameId(contact.frame)]
            points.append(placement.act(np.array(contact.offset)) - [0.0, 0.0, contact.radius])
        return np.array(points).reshape(-1, 3)


@dataclass(frozen=True)
class Terrain:
    point: tuple[float, float, float] | None = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def plane(self):
        return None if self.point is None else (np.array(self.point), np.array(self.normal))


@dataclass(frozen=True)
class System:
    robot: Any
    terrain: Any = Terrain()


@dataclass(frozen=True)
class State:
    q: Any
    v: Any = None


@dataclass(frozen=True)
class Event:
    time: float


@dataclass
class Trajectory:
    system: System
    posture: Callable[[float], Any]
    modes: Callable[[float], dict[str, Mode]] = lambda t: {}
    force: Callable[[float], dict[str, Any]] = lambda t: {}
    t: Any = field(default_factory=lambda: np.array([0.0, 1.0]))
    events: list[Event] = field(default_factory=list)

    def __call__(self, t, side="-"):
        return State(np.asarray(self.posture(t)))

    def mode_at(self, t):
        return self.modes(t)

    def forces(self, t):
        return self.force(t)


LEGS = ("lf", "lm", "lr", "rf", "rm", "rr")
THIGH, SHANK, FOOT = 0.13, 0.16, 0.018


def _link(name, body, origin="0 0 0", turn="0 0 0", colour="0.5 0.5 0.5 1"):
    return (
        f'<link name="{name}"><inertial><mass value="0.5"/>'
        '<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>'
        f'<visual><origin xyz="{origin}" rpy="{turn}"/><geometry>{body}</geometry>'
        f'<material name="{name}"><color rgba="{colour}"/></material></visual></link>'
    )


def _joint(name, parent, child, origin, turn, axis):
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}" rpy="{turn}"/><axis xyz="{axis}"/></joint>'
    )


def hexapod_urdf() -> str:
    parts = [_link("trunk", '<box size="0.44 0.2 0.07"/>', colour="0.93 0.94 0.96 1")]
    for k, leg in enumerate(LEGS):
        side = 1 if leg[0] == "l" else -1
        along = 0.18 * (1 - k % 3)
        parts += [
            _link(f"{leg}_hip", '<cylinder radius="0.032" length="0.05"/>', colour="0.16 0.2 0.28 1"),
            _link(
                f"{leg}_thigh",
                f'<cylinder radius="0.02" length="{THIGH}"/>',
                f"0 0 {THIGH / 2}",
                colour="0.24 0.42 0.9 1",
            ),
            _link(
                f"{leg}_shank",
                f'<cylinder radius="0.013" length="{SHANK}"/>',
                f"0 0 {SHANK / 2}",
                colour="0.2 0.24 0.32 1",
            ),
            _link(f"{leg}_foot", f'<sphere radius="{FOOT}"/>', colour="0.1 0.12 0.16 1"),
            _joint(f"{leg}_yaw", "trunk", f"{leg}_hip", f"{along} {0.12 * side} 0", f"0 0 {side * np.pi / 2}", "0 0 1"),
            _joint(f"{leg}_lift", f"{leg}_hip", f"{leg}_thigh", "0.03 0 0", "0 1.1 0", "0 1 0"),
            _joint(f"{leg}_knee", f"{leg}_thigh", f"{leg}_shank", f"0 0 {THIGH}", "0 1.55 0", "0 1 0"),
            f'<joint name="{leg}_tip" type="fixed"><parent link="{leg}_shank"/><child link="{leg}_foot"/>'
            f'<origin xyz="0 0 {SHANK}"/></joint>',
        ]
    return f'<robot name="hexapod">{"".join(parts)}</robot>'


def hexapod(text: str | None = None) -> Robot:
    text = text or hexapod_urdf()
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    visual = pin.buildGeomFromUrdfString(model, text, pin.GeometryType.VISUAL)
    for item in visual.geometryObjects:
        if "thigh" in item.name:
            item.geometry = coal.Capsule(0.02, THIGH)  # the URDF reader knows no capsules
    return Robot(model, visual, [Contact(leg, f"{leg}_foot", radius=FOOT) for leg in LEGS])


def walk(robot: Robot, duration: float = 2.0, speed: float = 0.25, slope: float = 0.0) -> Trajectory:
    """A tripod gait: kinematics by formula, three legs down at a time, the middle ones slipping now and then."""
    period = 0.8
    down = pin.neutral(robot.model)
    clearance = -robot.contact_positions(down)[:, 2].min()
    turn = pin.SE3(pin.rpy.rpyToMatrix(0.0, slope, 0.0), np.zeros(3))

    def phase(leg, t):
        return (t / period + 0.5 * (leg in ("lf", "lr", "rm"))) % 1.0

    def posture(t):
        q = pin.neutral(robot.model)
        for leg in LEGS:
            part = phase(leg, t)
            side = 1 if leg[0] == "l" else -1
            swing = 0.35 * (4 * abs(part - 0.5) - 1)
            q[robot.model.joints[robot.model.getJointId(f"{leg}_yaw")].idx_q + np.arange(2)] = angle(-side * swing)
            lift = -0.45 * max(0.0, np.sin(2 * np.pi * part)) if part < 0.5 else 0.0
            q[robot.model.joints[robot.model.getJointId(f"{leg}_lift")].idx_q + np.arange(2)] = angle(lift)
        base = turn * pin.SE3(np.eye(3), np.array([speed * t, 0.0, clearance]))
        q[:7] = pin.SE3ToXYZQUAT(base)
        return q

    def modes(t):
        state = {leg: Mode.OPEN if phase(leg, t) < 0.5 else Mode.STICK for leg in LEGS}
        return {leg: Mode.SLIP if m is Mode.STICK and phase(leg, t) > 0.8 else m for leg, m in state.items()}

    def force(t):
        return {
            leg: np.array([-8.0 * (m is Mode.SLIP), 2.0, 38.0]) for leg, m in modes(t).items() if m is not Mode.OPEN
        }

    marks = sorted({k * period / 2 for k in range(1, int(2 * duration / period) + 1)} - {duration})
    normal = (float(np.sin(slope)), 0.0, float(np.cos(slope)))
    return Trajectory(
        System(robot, Terrain(normal=normal)),
        posture,
        modes,
        force,
        np.linspace(0.0, duration, 50),
        [Event(m) for m in marks if m < duration],
    )


def angle(value: float) -> np.ndarray:
    """A continuous joint's configuration."""
    return np.array([np.cos(value), np.sin(value)])


# --- what a browser makes of a page ---------------------------------------------------------------

_LOADED = """<script>
  addEventListener("load", () => { window.early = document.body.classList.contains("ready"); });
</script></body>"""
_STATE = """(() => {
  const {THREE} = MeshCat, node = (path) => viewer.scene_tree.find(path.split("/")).object;
  const clock = document.getElementById("clock").firstChild.textContent;
  return JSON.stringify({early: window.early, clock, ...(EXPRESSION)});
})()"""


def ask_browser(page: Path, folder: Path, moment: float, expression: str) -> dict[str, Any]:
    """What the page shows at one time: its clock, and a JavaScript object, in which node(path) finds what is drawn.

    "early" tells whether all was drawn when the browser called the page loaded.
    """
    asked = folder / "asked.html"
    asked.write_text(page.read_text(encoding="utf-8").replace("</body>", _LOADED), encoding="utf-8")
    address = browser.address_of(asked, f"t={moment}")
    state = _STATE.replace("EXPRESSION", expression)
    return json.loads(browser.work_on(browser.find_browser(), address, 1280, 800, lambda tab: tab.value(state)))
