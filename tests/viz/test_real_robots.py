"""Real robots in a real browser: every visual of the file is on the page, whole and in its place."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import viz_fakes as fakes
from contactsim_viz import export_html
from contactsim_viz.commands import node_name
from viz_fakes import needs_browser

import contactsim as cs

pytest.importorskip("contactsim_robots.example_data")
pytestmark = [needs_browser, pytest.mark.slow, pytest.mark.filterwarnings("ignore:joint .* has dry friction")]

SINGLE = 1e-5  # relative to the size of a visual, of corners in single precision
DEGENERATE = 0.03  # share of the triangles of a file that collision loading leaves out as lines
# Visuals of each file, and the weight of its page in megabytes: each mesh is packed once.
ROBOTS = {
    "solo12": (17, 1.2),
    "bolt": (9, 1.2),
    "go2": (17, 1.6),
    "a1": (19, 1.6),
    "hyq": (19, 1.4),
    "g1": (35, 3.0),
    "talos": (52, 2.0),
    "anymal": (18, 3.0),
}
BOXES = """{boxes: Object.fromEntries(PATHS.map((path) => {
  const own = node(path), low = [1e9, 1e9, 1e9], high = [-1e9, -1e9, -1e9], corner = new THREE.Vector3();
  viewer.scene.updateMatrixWorld(true);
  const back = new THREE.Matrix4().copy(own.matrixWorld).invert();
  let triangles = 0;
  own.traverse((part) => {
    const points = part.isMesh && part.geometry.attributes.position;
    if (!points) return;
    triangles += (part.geometry.index ? part.geometry.index.count : points.count) / 3;
    const there = new THREE.Matrix4().multiplyMatrices(back, part.matrixWorld);
    for (let k = 0; k < points.count; k++)
      corner.fromBufferAttribute(points, k).applyMatrix4(there).toArray().forEach((value, axis) => {
        low[axis] = Math.min(low[axis], value);
        high[axis] = Math.max(high[axis], value);
      });
  });
  return [path, {low, high, triangles}];
}))}"""


@pytest.mark.parametrize("name", ROBOTS)
def test_every_visual_is_shown_whole(name: str, tmp_path: Path) -> None:
    robot = cs.load_robot(name)
    count, most = ROBOTS[name]
    items = list(robot.visual_model.geometryObjects)
    paths = [f"world/robot/{node_name(robot.model.names[i.parentJoint])}/{node_name(i.name)}" for i in items]
    run = fakes.Trajectory(fakes.System(robot), lambda t: robot.nominal, t=np.array([0.0, 0.05]))
    page = export_html(run, tmp_path / "page.html")
    assert page.stat().st_size < most * 1e6
    shown = fakes.ask_browser(page, tmp_path, 0.02, BOXES.replace("PATHS", json.dumps(paths)))["boxes"]
    assert len(shown) == len(items) == count
    for item, path in zip(items, paths, strict=True):
        item.geometry.computeLocalAABB()
        expected = np.array([item.geometry.aabb_local.min_, item.geometry.aabb_local.max_])
        found = np.array([shown[path]["low"], shown[path]["high"]])
        assert np.abs(found - expected).max() <= SINGLE * np.abs(expected).max(), item.name
        triangles = getattr(item.geometry, "num_tris", 0)
        assert shown[path]["triangles"] >= triangles
        assert not triangles or shown[path]["triangles"] <= (1.0 + DEGENERATE) * triangles
