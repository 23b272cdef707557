"""The site: it builds without a warning, names every public name, and asks nothing of other machines."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

import contactsim as cs

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}  # what a browser fetches


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="pip install -e '.[docs]'")
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return target


class Fetched(HTMLParser):
    """Addresses that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        address = dict(attributes).get(LOADED.get(tag, ""))
        if address and dict(attributes).get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(address)


def pages(site: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(site.rglob("*.html")):
        yield path, path.read_text(encoding="utf-8")


def test_a_page_loads_only_files_of_the_site(site: Path) -> None:
    for path, text in pages(site):
        parser = Fetched()
        parser.feed(text)
        for address in parser.addresses:
            assert not re.match(r"(\w+:)?//", address), f"{path.name} asks for {address}"
            if not address.startswith(("data:", "#", "/")):  # 404.html stands anywhere
                assert (path.parent / address.partition("#")[0].partition("?")[0]).exists(), (path, address)


def test_styles_load_only_files_of_the_site(site: Path) -> None:
    for path in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(\w+:)?//|@import", path.read_text(encoding="utf-8")), path


def test_equations_are_mathml(site: Path) -> None:
    for path, text in pages(site):
        assert 'class="arithmatex"' not in text, path
    assert (site / "ideas" / "derivatives.html").read_text(encoding="utf-8").count("<math") > 5


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    text = "".join((site / "reference" / path.name).with_suffix(".html").read_text() for path in reference())
    missing = [name for name in cs.__all__ if name != "terrain" and f'id="contactsim.{name}"' not in text]
    assert not missing


def test_every_ground_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "terrain.html").read_text(encoding="utf-8")
    grounds = set(cs.terrain.__all__) - {"level_axes", "rise", "tangents", "Plane"}  # of the engine's own
    assert not [name for name in grounds if f".{name}</a>" not in text and f'.{name}"' not in text]


def test_every_page_is_in_the_navigation() -> None:
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert not [path for path in DOCS.rglob("*.md") if f"{path.relative_to(DOCS).as_posix()}\n" not in listed]


def reference() -> list[Path]:
    return sorted((DOCS / "reference").glob("*.md"))
