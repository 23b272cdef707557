"""Makes the pages of the gallery that are not there, before the site is built, so that its links lead to something."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

logger = logging.getLogger("mkdocs.hooks.missing_pages")

LINK = re.compile(r"\]\(gallery/([\w-]+)\.html\)")


def on_pre_build(config: Any) -> None:
    """Called by mkdocs at first."""
    docs = Path(config["docs_dir"])
    names = missing(docs)
    if names:
        make(docs, names)


def missing(docs: Path) -> list[str]:
    """Names of the pages to which the gallery has links without their files."""
    linked = LINK.findall((docs / "gallery.md").read_text(encoding="utf-8"))
    return [name for name in linked if not (docs / "gallery" / f"{name}.html").is_file()]


def make(docs: Path, names: list[str]) -> None:
    """Simulate and write them.

    Raises:
        PluginError: that failed.
    """
    words = ["docs/gallery.py", "--pages", *names]
    logger.info("making pages of the gallery, which takes some seconds: python %s", " ".join(words))
    done = subprocess.run([sys.executable, *words], cwd=docs.parent, capture_output=True, text=True)
    if done.returncode:
        raise PluginError(f"python {' '.join(words)} failed, so links of the gallery lead nowhere:\n{done.stderr}")
