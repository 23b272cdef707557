"""The notebooks of docs/notebooks, cell by cell in a real kernel, and what a cell shows of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contactsim as cs

nbformat = pytest.importorskip("nbformat", reason="pip install -e '.[notebooks]'")
nbclient = pytest.importorskip("nbclient", reason="pip install -e '.[notebooks]'")
pytest.importorskip("ipykernel", reason="pip install -e '.[notebooks]'")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, and a kernel that is this Python, with this contactsim."""
    folder = tmp_path / "kernels/python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(
        f'{{"argv": ["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"],'
        ' "display_name": "Python 3", "language": "python"}'
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    yield tmp_path


def executed(notebook: Any, folder: Path) -> Any:
    return nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()


def shown(cell: Any) -> str:
    """The HTML that a cell has put out."""
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.get("outputs", ()))


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["derivative-of-a-landing", "first-steps", "gripper"]
    for path in NOTEBOOKS:  # as they are kept: without what cells have put out
        assert not any(cell.get("outputs") for cell in nbformat.read(path, 4).cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(path: Path, kernels: Path) -> None:
    done = executed(nbformat.read(path, 4), kernels)
    html = "".join(shown(cell) for cell in done.cells)
    assert "<svg" in html and "event" in html  # the summary of a run
    if path.stem != "derivative-of-a-landing":
        assert "<iframe srcdoc=" in html  # a page that plays in its cell


LIVE = [
    "import contactsim as cs, time, urllib.request",
    "cell = cs.view(cs.load_scene('biped').system, cs.load_scene('biped').state)\ncell",
    "page = urllib.request.urlopen(cell.address).read()\nassert b'meshcat' in page",
    "cell.session.play(); time.sleep(0.5); run = cell.close()\nassert run.arcs[-1].t1 > 0.0\nrun",
]


def test_a_live_view_in_a_cell_does_not_hold_the_kernel(kernels: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in LIVE])
    done = executed(notebook, kernels)
    assert '<iframe src="http://' in shown(done.cells[1])
    assert "<svg" in shown(done.cells[3])


def test_the_summary_of_a_run() -> None:
    run = cs.load_scene("biped").simulate(1.0)
    html = run._repr_html_()
    assert f"{len(run.events)} event" in html and f"{run.events[0].time:.6f}" in html
    assert html.count("<rect") == 4  # each foot has two modes in a step and a bit
    assert "<script" not in html and "http:" not in html.replace("http://www.w3.org/2000/svg", "")
    model = cs.load_model("slip")
    sketch = cs.simulate(model, model.initial_state(y=0.9, xdot=1.0), (0.0, 0.6))._repr_html_()
    assert "compression" in sketch and "mode" in sketch
    stopped = cs.load_scene("biped").simulate(2.0, max_events=1)._repr_html_()
    assert "TOO_MANY_EVENTS" in stopped and "largest number of events" in stopped
