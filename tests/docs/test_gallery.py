"""Pages of the gallery: the site's build makes those that are missing, and leaves the others."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def hook() -> ModuleType:
    pytest.importorskip("mkdocs", reason="pip install -e '.[docs]'")
    spec = importlib.util.spec_from_file_location("missing_pages", DOCS / "missing_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def docs(hook: ModuleType, tmp_path: Path) -> Path:
    """A gallery in which the sphere is the only page that is missing."""
    (tmp_path / "docs/gallery").mkdir(parents=True)
    for name in ("gallery.md", "gallery.py", "gallery/sphere.toml", "gallery/sphere.urdf"):
        shutil.copyfile(DOCS / name, tmp_path / "docs" / name)
    for name in hook.missing(tmp_path / "docs"):
        (tmp_path / "docs/gallery" / f"{name}.html").write_text("there")
    (tmp_path / "docs/gallery/sphere.html").unlink()
    return tmp_path / "docs"


def test_a_page_that_is_missing_is_made_and_the_others_stay(hook: ModuleType, docs: Path) -> None:
    before = {path.name: path.read_bytes() for path in docs.rglob("*") if path.is_file()}
    assert hook.missing(docs) == ["sphere"]
    hook.on_pre_build(config={"docs_dir": str(docs)})
    assert hook.missing(docs) == []
    after = {path.name: path.read_bytes() for path in docs.rglob("*") if path.is_file()}
    assert after.keys() - before.keys() == {"sphere.html"}
    assert {name: after[name] for name in before} == before
    assert b'id="run"' in after["sphere.html"]


def test_a_page_that_cannot_be_made_ends_the_build_with_the_reason(hook: ModuleType, docs: Path) -> None:
    from mkdocs.exceptions import PluginError

    (docs / "gallery/sphere.toml").unlink()
    with pytest.raises(PluginError, match=r"python docs/gallery.py --pages sphere failed(.|\n)*sphere\.toml"):
        hook.on_pre_build(config={"docs_dir": str(docs)})


def test_the_gallery_has_a_link_to_every_page(hook: ModuleType, tmp_path: Path) -> None:
    pictures = {path.stem for path in (DOCS / "gallery").glob("*.png")}
    shutil.copyfile(DOCS / "gallery.md", tmp_path / "gallery.md")
    assert set(hook.missing(tmp_path)) == pictures
