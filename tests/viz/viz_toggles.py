"""What can be shown and hidden on every page, offline and live: a click, then what is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from viz_browser import Tab

WIDE = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
NARROW = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
SINGLE = 1e-4  # m, of a place that went through single precision
SHOWN = {  # by the name of a toggle: whether what it shows is seen
    "labels": "document.querySelectorAll('#labels span').length === Object.keys(view.about.contacts).length",
    "frames": "viewer.scene.getObjectByName('axes of the joint')?.visible === true",
    "mass": "viewer.scene.getObjectByName('centre of mass')?.visible === true",
    "shapes": "view.about.collisions.every((path) => view.node(path).visible)",
}


def resized(tab: Tab, size: dict[str, Any]) -> None:
    """Give the window another size, and wait until the picture has followed."""
    tab.call("Emulation.setDeviceMetricsOverride", **size)
    tab.until(f"window.innerWidth === {size['width']}")
    tab.until("Math.abs(viewer.renderer.domElement.clientWidth - document.getElementById('pane').clientWidth) < 2")


def toggled(tab: Tab, centre: np.ndarray, shapes: int) -> None:
    """Each toggle shows what it says and hides it again, on a page that stands still.

    Args:
        tab: the page, of a robot with contacts.
        centre: of mass [m], that of the moment which is shown, shape (3,).
        shapes: number of collision shapes.
    """
    assert tab.ask("view.about.collisions.length") == shapes > 0
    for name, shown in SHOWN.items():
        assert not tab.ask(shown), name
        plain = tab.ask("view.picture()")
        tab.click(f"[data-toggle={name}]")
        tab.until(shown)
        if name == "mass":
            place = tab.ask("viewer.scene.getObjectByName('centre of mass').position.toArray()")
            assert place == pytest.approx(centre, abs=SINGLE)
        assert name == "labels" or tab.ask("view.picture()") != plain, name
        tab.click(f"[data-toggle={name}]")
        tab.until(f"!({shown})")
        assert name == "labels" or tab.ask("view.picture()") == plain, name
