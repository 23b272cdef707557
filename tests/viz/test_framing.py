"""The camera of pages and pictures: everything drawn of a robot is in the picture, in each frame."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import viz_fakes as fakes
from contactsim_viz import motion, scene, viewer

import contactsim as cs

WIDE = 1.6  # width by height of a picture
SIGHTS = [None, (1.0, 0.0, 0.1), (0.0, -1.0, 0.0), (0.2, 0.3, 1.0)]


def swaying(robot: Any, far: float = 0.0) -> fakes.Trajectory:
    """A robot that rolls and pitches about its nominal pose while it goes `far` metres."""

    def posture(t: float) -> np.ndarray:
        q = np.array(robot.nominal)
        q[:3] += [far * t, 0.0, 0.0]
        turn = pin.rpy.rpyToMatrix(0.4 * np.sin(6.0 * t), 0.3 * np.sin(4.0 * t), 0.0)
        q[3:7] = pin.Quaternion(turn @ pin.Quaternion(*q[[6, 3, 4, 5]]).matrix()).coeffs()
        return q

    return fakes.Trajectory(fakes.System(robot), posture)


def corners(robot: Any) -> list[tuple[int, np.ndarray]]:
    """The joint of each visual, and the corners (8, 3) of the box around it in its axes."""
    found, ends = [], list(product((0, 1), repeat=3))
    for item in robot.visual_model.geometryObjects:
        item.geometry.computeLocalAABB()
        box = np.array([item.geometry.aabb_local.min_, item.geometry.aabb_local.max_])
        found.append((item.parentJoint, np.array([item.placement.act(box[list(end), range(3)]) for end in ends])))
    return found


def placed(boxes: list[tuple[int, np.ndarray]], joints: np.ndarray) -> np.ndarray:
    """All of these corners (n, 3), at joint placements (nj, 7)."""
    places = [pin.XYZQUATToSE3(place) for place in joints]
    return np.concatenate([box @ places[joint].rotation.T + places[joint].translation for joint, box in boxes])


def seen(points: np.ndarray, target: np.ndarray, built: scene.Scene) -> np.ndarray:
    """Places (n, 2) in the picture, whose edges are -1 and 1, of points of the world, by the camera of the page."""
    (camera,) = (c["object"]["object"] for c in built.commands if c["path"] == "/Cameras/default/rotated")
    x, z, y = np.array(camera["position"]) * [1.0, 1.0, -1.0]  # the page's camera has y upwards
    place = np.array([x, y, z])
    sight = place / np.linalg.norm(place)
    right = np.cross([0.0, 1e-9, 1.0], sight)
    right /= np.linalg.norm(right)
    across, up, depth = ((points - target - place) @ np.column_stack([right, np.cross(sight, right), -sight])).T
    high = depth * np.tan(np.radians(camera["fov"] / 2.0))
    return np.column_stack([across / (WIDE * high), up / high])


@cache
def drawn(name: str) -> tuple[Any, list[tuple[int, np.ndarray]]]:
    robot = cs.load_robot(name)
    return robot, corners(robot)


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("name", ["hexapod", "anymal", "solo12"])
def test_a_robot_is_in_the_picture_as_a_whole(name: str, sight: Any) -> None:
    robot, boxes = drawn(name)
    run = swaying(robot, far=1.0)
    sampled = motion.sample(run, 0.1)
    built = scene.build(run, sampled, sight=sight)
    target = scene.measure(robot, run.system.terrain, sampled).target
    places = np.concatenate([seen(placed(boxes, j), t, built) for j, t in zip(sampled.joints, target, strict=True)])
    assert np.abs(places).max() < 1.0
    assert np.abs(places).max() > 0.5  # and not far away


@pytest.mark.parametrize(("peak", "share"), [(1.0, 1.0), (5.0, 0.1), (20.0, 0.05)])
def test_arrows_of_landings_stay_about_the_robot(peak: float, share: float) -> None:
    """Forces of ten newtons, of which a share is `peak` times as large while a robot lands."""
    robot = cs.load_robot("hexapod")
    landing = 2.0 * share
    force = {"lf": lambda t: np.array([0.0, 0.0, 10.0 * (peak if t < landing else 1.0)])}
    run = fakes.Trajectory(
        fakes.System(robot),
        lambda t: np.array(robot.nominal),
        lambda t: {"lf": cs.Mode.STICK},
        lambda t: {name: one(t) for name, one in force.items()},
        t=np.array([0.0, 2.0]),
    )
    sampled = motion.sample(run, 0.01)
    built = scene.build(run, sampled)
    size = scene.measure(robot, run.system.terrain, sampled).size
    longest = 10.0 * peak / built.force_scale / size
    assert longest < 0.6 * np.sqrt(2.5), longest  # the scale is the nearest round number
    if peak == 1.0:
        assert longest > 0.25 / np.sqrt(2.5)


def test_a_page_is_titled_as_the_robot_is_called() -> None:
    run = cs.simulate(*named("parcel"), (0.0, 0.05))
    assert viewer._scene(run, viewer._PageOptions())[1] == "parcel"


def named(name: str) -> tuple[cs.ContactSystem, cs.State]:
    """A box under a name that its model does not have."""
    box = cs.Robot.box(1.0, (0.1, 0.1, 0.1))._with(name=name)
    return cs.ContactSystem(box), cs.State([0, 0, 0.2, 0, 0, 0, 1.0], np.zeros(6))
