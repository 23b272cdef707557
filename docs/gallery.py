"""Makes the gallery of docs/: for each run a picture, a page to play, and the command that makes them.

`python docs/gallery.py` writes docs/gallery/*.png, docs/gallery/*.html (not kept in the repository) and
docs/gallery.md; names as arguments choose some of the runs. It needs Chromium, and matplotlib for its pictures' size
(pip install -e ".[plot]"). `python docs/gallery.py --pages` writes the .html files alone, which needs neither.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import contactsim as cs
from contactsim.analysis.landing import landing as landing_cloud
from contactsim.cli import command as cli
from contactsim.cli import job
from contactsim.io import load_scene

HERE = Path(__file__).parent
FOLDER = HERE / "gallery"
SIZE = {"width": 960, "height": 600}  # pixels of a picture
STEP = 4  # of 256, of the brightness of a picture
DEVIATION = 0.03  # m/s and rad/s, standard deviation of the velocities that the walker starts with


@dataclass(frozen=True)
class Shown:
    """A picture of the gallery, of a run.

    Attributes:
        run: the run.
        words: a sentence on it.
        command: what makes its page.
        moment: of the picture [s].
        look: options of export_html.
        show: groups of the picture that the page hides at first.
    """

    run: cs.Trajectory
    words: str
    command: str
    moment: float
    look: dict[str, Any]
    show: tuple[str, ...] = ()

    def page(self, name: str) -> Path:
        """Write its page, which is never there in part: the site may be built meanwhile."""
        path = FOLDER / f"{name}.html"
        os.replace(cs.export_html(self.run, FOLDER / f".{name}-{os.getpid()}.html", **self.look), path)
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
        return path

    def picture(self, name: str) -> None:
        """Write its picture, in steps of brightness that are not seen and that make it small."""
        from PIL import Image

        path = FOLDER / f"{name}.png"
        cs.export_png(self.run, path, t=self.moment, show=self.show, **SIZE, **self.look)
        with Image.open(path) as picture:
            few = picture.convert("RGB").point([min(255, round(value / STEP) * STEP) for value in range(256)] * 3)
        few.save(path, optimize=True)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


@dataclass(frozen=True)
class Exhibit:
    """One run of the gallery.

    Attributes:
        name: of its files.
        target: what `contactsim run` is given.
        words, moment, look, show: as of Shown.
        options: of `contactsim run`, by the name of their key.
    """

    name: str
    target: str
    words: str
    moment: float
    options: dict[str, float] = field(default_factory=dict)
    look: dict[str, Any] = field(default_factory=dict)
    show: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command that makes the page and a picture of mid-run."""
        options = "".join(f" --{key} {value:g}" for key, value in self.options.items())
        return f"contactsim run {self.target}{options} --html --png"

    def run(self) -> cs.Trajectory:
        """The run of the command."""
        work = cli.job_of(self.target, [], self.options)
        (run,) = job.simulate(work.simulation, work.end, work.title)
        return run

    def shown(self) -> Shown:
        """The run and its looks."""
        return Shown(self.run(), self.words, self.command, self.moment, self.look, self.show)


EXHIBITS = (
    Exhibit(
        "hexapod",
        "hexapod",
        "Six legs, eighteen motors: it drops, lands on six feet and walks in a tripod gait. Cones show which forces"
        " friction can take; each arrow stays inside its cone while the foot sticks.",
        2.05,
        show=("cones",),
        look={"sight": (1.0, -1.35, 0.55), "zoom": 1.12},
    ),
    Exhibit(
        "biped",
        "biped",
        "A passive walker: no motor, only the slope drives it. Every heel strike is an impact.",
        1.15,
        show=("cones",),
        look={"sight": (0.7, -1.5, 0.35), "zoom": 0.85},
    ),
    Exhibit("slip", "slip", "The spring-loaded inverted pendulum runs: a mass on a massless leg.", 0.62),
    Exhibit(
        "compliant-hexapod",
        "compliant-hexapod",
        "The compliant hexapod of SimSect: a body on six springy legs, each driven by a motor at its hip.",
        0.9,
        {"time": 2.0},
    ),
    Exhibit(
        "box",
        "docs/gallery/box.toml",
        "A parcel is thrown, tumbles over its corners, slides and comes to rest. Violet arrows are impulses, orange"
        " bands the traces of slipping corners.",
        0.72,
        show=("cones",),
        look={"sight": (1.3, -1.0, 0.8), "zoom": 0.72},
    ),
    Exhibit(
        "sphere",
        "docs/gallery/sphere.toml",
        "A ball is set down sliding, with side spin: friction bends its way until it rolls, which is an event, too.",
        0.62,
        show=("cones",),
        look={"sight": (1.3, -0.75, 0.8), "zoom": 0.42},
    ),
)


# --- derivatives ------------------------------------------------------------------------------------------------------


def landing() -> Shown:
    """The piecewise-linear image of a ball of tilts and heights, where three feet touch down at once."""
    target = load_scene.landing_of("hexapod")
    run = Exhibit("landing", target, "", 0.0).run()
    lin = cs.linearize(run)
    clouds = [landing_cloud(lin, corrected=kind) for kind in (True, False)]
    look = {"spreads": clouds, "linearization": lin, "speed": 0.01, "sight": (0.6, -1.0, 0.5), "hide": ("without",)}
    words = (
        "Three feet of the hexapod touch down at once, and a ball of perturbed tilts and heights becomes a body with"
        " creases in the space of turning rates and vertical speed: one linear piece, and one colour, for each of the"
        " six orders of the touch-downs. Shown by a box: what the reset alone would give, which knows nothing of"
        " earlier and later touch-downs."
    )
    return Shown(run, words, "contactsim run hexapod --spread --png", run.events[0].time + 5e-3, look)


def held(run: cs.Trajectory) -> np.ndarray:
    """Orthonormal perturbations (m, 2 nv) of the velocities at the start that leave the standing foot where it is."""
    state = run(run.t[0])
    rows = run.system.mechanism.terms(0.0, state.q, state.v, run.arcs[0].mode.closed).rows
    free = np.linalg.svd(rows)[2][len(rows) :]
    return np.hstack([np.zeros(free.shape), free])


def scatter() -> Shown:
    """The covariance of the walker's hip through its heel strikes, with and without saltation."""
    exhibit = Exhibit("scatter", "biped", "", 0.92, {"time": 1.4}, {"sight": (0.1, -1.5, 0.3), "zoom": 0.6})
    run = exhibit.run()
    lin = cs.linearize(run)
    free = held(run)
    start = DEVIATION**2 * free.T @ free
    clouds = [
        lin.spread("hip", covariance=start, corrected=kind, scale=6.0, shift=(0.0, 0.0, up), name=name)
        for kind, up, name in ((True, 0.18, "with saltation"), (False, 0.28, "without"))
    ]
    look = {"spreads": clouds, "linearization": lin, **exhibit.look}
    words = (
        "One standard deviation of where the walker's hip is, six times as large and above it, if the velocities with"
        " which it starts on its foot are known to 0.03 m/s and rad/s. The hip moves on a circle, so its ellipsoid is a"
        " needle. The heel strike makes the walk more certain: the blue one goes through it with the saltation matrix."
        " The red one, with the reset alone, goes on to grow."
    )
    return Shown(run, words, "python docs/gallery.py scatter", exhibit.moment, look)


# --- all of it --------------------------------------------------------------------------------------------------------

ALL: dict[str, Callable[[], Shown]] = {exhibit.name: exhibit.shown for exhibit in EXHIBITS}
ALL |= {"landing": landing, "scatter": scatter}

HEAD = """# Gallery

Made by `python docs/gallery.py`. Each page is one file that needs no network, and it plays here, too: its curves move
with the time, its list of events leads to each of them, its boxes show and hide forces, friction cones, impulses and
slip traces, and `?` tells its keys. The pages themselves are not kept in the repository: `mkdocs build` makes those
that are missing, and `python docs/gallery.py --pages` makes all of them anew.
"""
FRAME = '<iframe src="gallery/{name}.html" title="{title}" loading="lazy" class="page"></iframe>'


def told(name: str, shown: Shown, page: Path) -> str:
    """A section of gallery.md."""
    title = name.replace("-", " ").replace("_", " ").capitalize().replace("Slip", "SLIP")
    size = f"{page.stat().st_size / 1e6:.1f} MB"
    return (
        f"## {title}\n\n{shown.words}\n\n{FRAME.format(name=name, title=title)}\n\n```bash\n{shown.command}\n```\n\n"
        f"[The page alone](gallery/{name}.html) ({size}), and [a picture](gallery/{name}.png).\n"
    )


def make(name: str, pages_only: bool) -> str:
    """Page and picture of a run, or its page alone; its part of gallery.md."""
    shown = ALL[name]()
    page = shown.page(name)
    if not pages_only:
        shown.picture(name)
    return told(name, shown, page)


def main(words: Sequence[str]) -> None:
    """Make all, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    names, pages_only = [word for word in words if word != "--pages"], "--pages" in words
    unknown = set(names) - set(ALL)
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))} in the gallery; choose of {', '.join(ALL)}")
    parts = [make(name, pages_only) for name in ALL if not names or name in names]
    if not names and not pages_only:
        (HERE / "gallery.md").write_text("\n".join([HEAD, *parts]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
