"""Meshes of a page: read from their files, packed once, and unpacked as they were."""

from __future__ import annotations

import base64
import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import viz_fakes as fakes
from contactsim_viz import meshfiles, packing, shapes
from contactsim_viz.commands import put
from hypothesis import given, settings
from hypothesis import strategies as st
from viz_fakes import needs_browser

import contactsim as cs

HALF_STEP = 0.5 / 65535  # of the box around a mesh: what a position may be off
COARSE = 0.01  # radians, of a normal in three bytes


def unpacked(packed: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """What the page makes of a packed mesh: written after what `packing` says, not after its code."""
    data = gzip.decompress(base64.b64decode(packed["data"]))
    n, k = packed["vertices"], packed["corners"]

    def columns(count: int, width: int, number: int, at: int) -> np.ndarray:
        planes = np.frombuffer(data, np.uint8, count * width * number, at).reshape(number, width, count).astype(int)
        return np.sum([planes[:, byte] << (8 * byte) for byte in range(width)], axis=0)

    index, unused = [], 0
    for behind in columns(k, 4, 1, 0)[0]:
        index.append(unused - behind)
        unused += behind == 0
    places = np.cumsum(columns(n, 2, 3, 4 * k), axis=1) % 2**16
    vertices = np.array(packed["low"]) + np.array(packed["step"]) * places.T
    normals = None
    if packed["smooth"]:
        bytes_ = np.cumsum(columns(n, 1, 3, 4 * k + 6 * n), axis=1) % 2**8
        normals = np.where(bytes_ > 127, bytes_ - 256, bytes_).T / 127
    return vertices, np.array(index).reshape(-1, 3), normals


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(3, 400), smooth=st.booleans(), flat=st.booleans())
def test_a_mesh_is_unpacked_as_it_was(seed: int, count: int, smooth: bool, flat: bool) -> None:
    random = np.random.default_rng(seed)
    vertices = random.normal(size=(count, 3)).astype(np.float32) * [1.0, 0.0 if flat else 3.0, 1e-3]
    faces = random.integers(0, count, (2 * count, 3))
    normals = random.normal(size=(count, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    found, index, turned = unpacked(packing.pack(vertices, faces, normals if smooth else None))
    reach = np.ptp(vertices, axis=0)
    assert (np.abs(found[index] - vertices[faces]) <= HALF_STEP * reach * 1.001 + 1e-12).all()
    if smooth:
        turned /= np.linalg.norm(turned, axis=1, keepdims=True)
        assert np.arccos(np.clip((turned[index] * normals[faces]).sum(axis=-1), -1.0, 1.0)).max() < COARSE


def test_equal_meshes_are_packed_once_and_small_ones_stay() -> None:
    points = np.random.default_rng(1).normal(size=(packing.LEAST, 3))
    faces = np.arange(3 * (packing.LEAST // 3)).reshape(-1, 3)
    large = shapes.mesh(shapes.flat(points, faces), {"flatShading": True}, np.eye(4))
    small = shapes.mesh(shapes.triangles(points[:9], faces[:3]), {}, np.eye(4))
    commands, meshes, uses = packing.share([put("/a", large), put("/b", small), put("/c", large)])
    assert [mesh["smooth"] for mesh in meshes] == [False]
    assert uses == [("/a", 0), ("/c", 0)]
    assert commands[1] == put("/b", small)
    assert commands[0]["object"]["geometries"][0]["type"] == "BoxGeometry"


def stl(path: Path, corners: np.ndarray) -> Path:
    """A binary STL file of triangles (m, 3, 3)."""
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in corners)
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(corners)) + body)
    return path


def test_corners_of_an_stl_file_are_read_once(tmp_path: Path) -> None:
    square = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, -0.0]]], dtype=np.float32)
    found = meshfiles.read(stl(tmp_path / "square.stl", square))
    assert found.normals is None and len(found.vertices) == 4
    assert (found.vertices[found.faces] == square).all()


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.stl", "solid a\nendsolid a\n"), ("a.dae", "<COLLADA/>"), ("b.dae", "no"), ("a.obj", "v 0 0 0")],
)
def test_other_files_are_left_to_the_page(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert meshfiles.read(tmp_path / name) is None


DAE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"><asset><unit meter="0.1"/></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 1 1 0 0 1 0</float_array></source>
<source id="n"><float_array id="na" count="3">0.6 0 0.8</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist count="1"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
<vcount>4</vcount><p>0 0 1 0 2 0 3 0</p></polylist></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>0 0 5</translate><node>
<rotate>1 0 0 90</rotate><scale>2 1 1</scale><instance_geometry url="#g"/></node></node></visual_scene>
</library_visual_scenes></COLLADA>"""


def test_a_collada_file_is_placed_as_its_scene_says(tmp_path: Path) -> None:
    (tmp_path / "a.dae").write_text(DAE)
    found = meshfiles.read(tmp_path / "a.dae")
    corners = found.vertices[found.faces]
    expected = np.array([[0, 0, 0.5], [0.2, 0, 0.5], [0.2, 0, 0.6], [0, 0, 0.6]])
    assert corners == pytest.approx(expected[[[0, 1, 2], [0, 2, 3]]])
    assert found.normals == pytest.approx(np.tile(np.array([0.3, -0.8, 0.0]) / np.hypot(0.3, 0.8), (4, 1)))


def test_a_collada_file_of_flat_triangles_keeps_each_corner_once(tmp_path: Path) -> None:
    """A square folded along its diagonal: each half has its own normal, and the four corners are shared."""
    text = DAE.replace("1 1 0 0 1 0<", "1 1 1 0 1 0<").replace('count="3">0.6 0 0.8<', 'count="6">0 -1 1 -1 0 1<')
    text = text.replace('<polylist count="1">', '<polylist count="2">').replace("<vcount>4<", "<vcount>3 3<")
    (tmp_path / "a.dae").write_text(text.replace("<p>0 0 1 0 2 0 3 0<", "<p>0 0 1 0 2 0 0 1 2 1 3 1<"))
    found = meshfiles.read(tmp_path / "a.dae")
    assert found.normals is None
    assert (len(found.vertices), found.faces.shape) == (4, (2, 3))
    (tmp_path / "b.dae").write_text(text.replace("<p>0 0 1 0 2 0 3 0<", "<p>0 0 1 0 2 1 0 1 2 1 3 1<"))
    assert meshfiles.read(tmp_path / "b.dae").normals is not None


@needs_browser
def test_the_page_unpacks_what_was_packed(tmp_path: Path) -> None:
    robot = cs.load_robot("solo12")
    run = fakes.Trajectory(fakes.System(robot), lambda t: robot.nominal, t=np.array([0.0, 0.05]))
    page = cs.export_html(run, tmp_path / "page.html")
    item = robot.visual_model.geometryObjects[0]
    path = f"world/robot/root_joint/{item.name}"
    asked = f"""(() => {{ const {{index, attributes}} = node("{path}/<object>").geometry;
      return {{index: [...index.array], places: [...attributes.position.array], normals: attributes.normal.count}};
    }})()"""
    shown = fakes.ask_browser(page, tmp_path, 0.02, asked)
    read = meshfiles.read(Path(item.meshPath))
    assert 3 * shown["normals"] == len(shown["places"])  # without which it receives no shadows
    corners = np.array(shown["places"]).reshape(-1, 3)[np.array(shown["index"]).reshape(-1, 3)]
    assert (np.abs(corners - read.vertices[read.faces]) <= HALF_STEP * np.ptp(read.vertices, axis=0) * 1.01).all()
