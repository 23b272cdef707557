"""The command: what it prints and writes, and its exit status."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray

import contactsim as cs
from contactsim.cli import command as cli
from contactsim.cli import derivative_report, job, report
from contactsim.viewing import viewers

BOX = """
<robot name="box"><link name="box">
  <inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><box size="0.2 0.2 0.2"/></geometry></visual>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
</link></robot>
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.fixture
def box(here: Path) -> Path:
    (here / "box.urdf").write_text(BOX)
    return here / "box.urdf"


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of `contactsim` with these arguments."""
    code = cli.execute(arguments)
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    return code, told.out, told.err


def mistake(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code, out, err = command(capsys, *arguments)
    assert (code, out) == (2, "")
    sentence = err.strip()
    assert sentence.startswith("contactsim: ")
    assert "\n" not in sentence
    return sentence


# --- run -----------------------------------------------------------------------------------------------------------
def test_run_of_a_robot_by_name(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    code, out, _ = command(capsys, "run", "biped", "--time", "1.6")
    assert code == 0
    (file,) = here.glob("runs/biped-*/run.nc")
    assert f"wrote {file.relative_to(here)}" in out
    run = cs.Trajectory.load(file)
    assert run.t[-1] == 1.6
    assert f"{len(run.events)} events" in out
    for event in run.events:
        assert f"{event.time:.9f}" in out
    assert re.search(r"right +│ open -> stick +│ +\d", out)
    assert "finished: " in out
    assert re.search(r"check passed: penetration [\d.e-]+ m, .*energy balance [\d.e-]+", out)


def test_run_of_a_file_with_page(capsys: pytest.CaptureFixture[str], box: Path) -> None:
    code, out, _ = command(capsys, "run", str(box), "--time", "0.3", "--out", "made/here", "--html")
    assert code == 0
    assert {path.name for path in Path("made/here").iterdir()} == {"run.nc", "run.html"}
    assert "made/here/run.html" in out
    assert "<html" in Path("made/here/run.html").read_text()[:2000].lower()
    code, out, _ = command(capsys, "view", "made/here/run.nc", "--html", "again.html")
    assert code == 0
    assert Path("again.html").stat().st_size > 10_000


def test_a_run_from_python_is_drawn_without_the_forces_it_cannot_know(capsys: pytest.CaptureFixture[str]) -> None:
    robot = cs.load_robot("hexapod")
    hold = cs.PD(robot, lambda t: robot.nominal, kp=150.0, kd=3.0)
    system = cs.ContactSystem(robot, controller=hold)
    cs.simulate(system, (robot.nominal, np.zeros(robot.nv)), (0.0, 0.02)).save("run.nc")
    code, _, err = command(capsys, "view", "run.nc", "--html", "run.html")
    assert code == 0
    assert "without forces: the controller PD" in err
    assert Path("run.html").is_file()


def test_options_reach_the_run(capsys: pytest.CaptureFixture[str], box: Path) -> None:
    settings = ("--set", "contact.restitution=0.4", "--set", "run.record_period=0.01", "--set", "start.height=0.02")
    options = ("--law", "frictionless", "--integrator", "RK45", "--rtol", "1e-6", "--time", "0.1", "--out", "o")
    assert command(capsys, "run", "box.urdf", *settings, *options)[0] == 0
    run = cs.Trajectory.load("o/run.nc")
    assert type(run.system.law).__name__ == "Frictionless"
    assert run.system.restitution == pytest.approx(0.4)
    assert run.record_period == 0.01
    assert run.t[-1] == 0.1


def test_run_of_a_scene(capsys: pytest.CaptureFixture[str], box: Path) -> None:
    Path("scene.toml").write_text('[robot]\nfile = "box.urdf"\n[run]\ntime = 5.0\n')
    assert command(capsys, "run", "scene.toml", "--time", "0.05", "--out", "o")[0] == 0
    assert cs.Trajectory.load("o/run.nc").t[-1] == 0.05


def test_run_of_a_model_and_of_its_own_file(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    code, out, _ = command(capsys, "run", "slip", "--time", "1", "--set", "k=900", "--out", "a", "--html")
    assert code == 0
    assert "compression -> decompression" in out
    assert {path.name for path in Path("a").iterdir()} == {
        *("run.nc", "run.html", "slip.data", "slip.initial", "slip.param", "slip.rc")
    }
    assert command(capsys, "view", "a/run.nc", "--html", "again.html")[0] == 0
    assert cs.Trajectory.load("a/run.nc").system.parameter("k") == 900.0
    assert command(capsys, "run", "a/slip.rc", "--out", "b")[0] == 0
    assert Path("b/slip.data").read_text() == Path("a/slip.data").read_text()


def test_an_initialization_file_opens_the_viewer_and_has_its_frame_rate(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[dict[str, object]] = []
    monkeypatch.setattr(viewers, "view", lambda trajectory, **options: shown.append(options))
    (here / "run.rc").write_text('systemName = "slip"; useGeomview = 1; framerate = 25; finalTime = 0.1;')
    assert command(capsys, "run", "run.rc", "--out", "o", "--html")[0] == 0
    assert shown == [{"fps": 25.0}]
    assert '"step": 0.04' in (here / "o" / "run.html").read_text(encoding="utf-8")
    assert command(capsys, "run", "run.rc", "--out", "o", "--no-view")[0] == 0
    assert command(capsys, "run", "run.rc", "--out", "o", "--set", "useGeomview=0")[0] == 0
    assert len(shown) == 1
    command(capsys, "run", "run.rc", "--out", "o", "--set", "useGeomview=0", "--view")
    assert len(shown) == 2


def test_an_example_runs_by_its_name(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    assert command(capsys, "run", "slip_hopper.rc", "--time", "0.1", "--out", "o")[0] == 0
    assert Path("o/slip_hopper.data").is_file()
    assert "examples: slip_hopper.rc" in mistake(capsys, "run", "slip_hoper.rc")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(("slip", "--law", "coulomb"), "laws of its own"), (("slip", "--set", "kk=3"), "'kk'"), (("no.rc",), "no.rc")],
)
def test_mistakes_with_models(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], word: str) -> None:
    assert word in mistake(capsys, "run", *arguments)


def test_a_run_that_stops_early_is_kept(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    code, out, _ = command(capsys, "run", "biped", "--set", "run.max_events=3", "--out", "o")
    assert code == 3
    assert "too_many_events: " in out
    assert "max_events" in out
    run = cs.Trajectory.load("o/run.nc")
    assert run.status is cs.Status.TOO_MANY_EVENTS
    assert run.t[-1] > 0.5


def test_a_failure_on_the_way_is_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, box: Path
) -> None:
    def fail(self: cs.ContactSystem, *_: object) -> None:
        raise cs.InputError("the motor is unplugged; plug it in")

    monkeypatch.setattr(cs.ContactSystem, "transition", fail)
    code, out, _ = command(capsys, "run", "box.urdf", "--out", "o")
    assert code == 3
    assert "failed: the motor is unplugged" in out
    assert cs.Trajectory.load("o/run.nc").t[-1] > 0.1


def test_a_law_that_is_broken_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, box: Path
) -> None:
    audit = cs.ContactSystem.audit

    def strict(self: cs.ContactSystem, run: cs.Trajectory) -> tuple[dict, dict]:
        report, limits = audit(self, run)
        return dict(report) | {"friction cone [relative]": 0.25}, dict(limits)

    monkeypatch.setattr(cs.ContactSystem, "audit", strict)
    _, out, _ = command(capsys, "run", "box.urdf", "--time", "0.2", "--out", "o")
    assert "check failed: the run violates friction cone" in out


def test_long_tables_are_shortened(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "HEAD", 2)
    monkeypatch.setattr(report, "TAIL", 1)
    _, short, _ = command(capsys, "run", "biped", "--out", "o")
    times = [f"{event.time:.9f}" for event in cs.Trajectory.load("o/run.nc").events]
    assert f"{len(times) - 3} more events; --all-events prints them" in short
    assert [time in short for time in times] == [True, True, *[False] * (len(times) - 3), True]
    _, long, _ = command(capsys, "run", "biped", "--out", "o", "--all-events")
    assert "more events" not in long
    assert all(time in long for time in times)


def test_many_notes_are_shortened(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "NOTES", 2)
    run = replace(cs.load_scene("biped").simulate(0.01), notes=("one", "two", "three"))
    report.report_run(run, "run", all_events=False)
    short = capsys.readouterr().out
    assert "note: two" in short and "note: three" not in short and "note: 1 more notes; --all-events" in short
    report.report_run(run, "run", all_events=True)
    assert "note: three" in capsys.readouterr().out


def test_results_of_two_runs_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    class Still(job.datetime):
        @classmethod
        def now(cls, tz: object = None) -> Still:
            return cls(2030, 1, 1)

    monkeypatch.setattr(job, "datetime", Still)
    folders = [job.folder(None, "a_b") for _ in range(3)]
    assert len(set(folders)) == 3
    assert all(folder.name.startswith("a_b-20300101-000000") for folder in folders)


# --- derivatives ---------------------------------------------------------------------------------------------------
def derivative(file: str = "o/run.nc") -> xarray.Dataset:
    with xarray.open_dataset(file, group="linearization", engine="h5netcdf") as data:
        return data.load()


def test_the_derivative_of_a_run_is_printed_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "run", "biped", "--time", "1.0", "--linearize", "--out", "o")
    assert code == 0
    lin = cs.linearize(cs.Trajectory.load("o/run.nc"))
    assert f"{lin.tangent().shape[1]} of {len(lin.tangent())} directions at 0 s keep the mode" in out
    (event,) = lin.events
    matrix = lin.matrix()
    assert f"{event.time:.9f} │ left, right" in out
    assert f"{np.linalg.norm(event.saltation, 2):.4g}" in out
    spectral = np.abs(np.linalg.eigvals(matrix)).max()
    assert f"8 x 8, norm {np.linalg.norm(matrix, 2):.4g}, spectral radius {spectral:.4g}" in out
    data = derivative()
    assert np.allclose(data.matrix, matrix, atol=1e-7)
    assert np.allclose(data.saltation[0], event.saltation, atol=1e-8)
    assert (data.time.item(), data.contacts.item(), data.pieces.item()) == (event.time, "left, right", 1)


def test_the_spread_of_the_hexapod_is_that_of_its_tripod(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "run", "hexapod", "--spread", "--out", "o")
    assert code == 0
    assert "the landing of hexapod is that of " in out
    assert "6 orders of touch-downs, a linear piece and a colour each" in out
    assert {"run.html", "spread.png", "spread.pdf", "spread.svg"} <= {path.name for path in Path("o").iterdir()}
    assert "lf, lr, rm" in Path("o/run.html").read_text(encoding="utf-8")


def test_the_spread_of_a_robot_without_a_landing_of_its_own_is_that_of_its_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("scene.toml").write_text('[robot]\nname = "hexapod"\n[run]\ntime = 0.11\n')
    code, out, _ = command(capsys, "run", "scene.toml", "--spread", "--out", "o")
    assert code == 0
    assert "no cloud of a landing: lf, lm, lr, rf, rm, rr change together at t = 0.1009637" in out


def test_a_scene_and_a_stopped_run_have_derivatives(capsys: pytest.CaptureFixture[str], box: Path) -> None:
    Path("scene.toml").write_text('[robot]\nname = "biped"\n[run]\nmax_events = 3\n')
    code, out, _ = command(capsys, "run", "scene.toml", "--linearize", "--out", "o")
    assert code == 3
    assert "spectral radius" in out
    assert derivative().sizes["event"] == 1


def test_an_event_without_a_matrix_says_why(capsys: pytest.CaptureFixture[str], box: Path) -> None:
    """A box that lands flat on its four lower corners: the order in which they touch matters."""
    code, out, _ = command(capsys, "run", "box.urdf", "--time", "0.2", "--linearize", "--out", "o")
    assert code == 0
    assert re.search(r"open -> \w+ │ none", out)
    assert "none: " in out
    assert "the matrix of the whole run does not exist" in out
    assert "D x(0.2 s) / D x(0.1" in out
    data = derivative()
    assert np.isnan(data.matrix).all() and data.matrix.shape == (12, 12)
    assert str(data.reason[0].item()) in out


def test_a_run_without_events_has_a_derivative(capsys: pytest.CaptureFixture[str], box: Path) -> None:
    _, out, _ = command(capsys, "run", "box.urdf", "--time", "0.05", "--linearize", "--out", "o")
    assert "saltation" not in out
    assert "12 x 12, norm" in out
    assert "12 of 12 directions at 0 s keep the mode" in out
    assert derivative().sizes["event"] == 0


def test_an_interrupted_derivative_keeps_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, box: Path
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(derivative_report, "save_linearization", interrupt)
    code, _, err = command(capsys, "run", "box.urdf", "--time", "0.05", "--linearize", "--out", "o")
    assert code == 3
    assert "interrupted" in err
    assert cs.Trajectory.load("o/run.nc").t[-1] == 0.05


# --- mistakes ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "hexapodd"], ["hexapodd", "hexapod", "contactsim robots"]),
        (["run", "nowhere.urdf"], ["nowhere.urdf", "path"]),
        (["run", "nowhere.toml"], ["nowhere.toml"]),
        (["run", "notes.rc"], [".rc"]),
        (["run", "robot.sdf"], ["robot.sdf", ".urdf"]),
        (["run", "hexapod", "--set", "contact.friction=-1"], ["contact.friction"]),
        (["run", "hexapod", "--set", "contact.friction=nan"], ["contact.friction", "finite"]),
        (["run", "hexapod", "--set", "contact.paw.friction=1"], ["paw", "lf"]),
        (["run", "hexapod", "--set", "frction=1"], ["frction", "contact"]),
        (["run", "hexapod", "--ghost", "gravity=9"], ["--ghost", "add --html, --png or --mp4"]),
        (["run", "slip", "--ghost", "k=800", "--html"], ["--ghost", "slip is a model"]),
        (["run", "hexapod", "--set", "run.tim=1"], ["run.tim: unknown key", "perhaps time"]),
        (["run", "hexapod", "--set", "contact.frict=1"], ["contact.frict: give a table", "or write friction"]),
        (["run", "hexapod", "--law", "lugre", "--set", "law.stifness=1"], ["law.stifness', perhaps law.stiffness"]),
        (["run", "hexapod", "--time", "-1"], ["time", "0"]),
        (["run", "hexapod", "--time", "nan"], ["time", "finite"]),
        (["run", "hexapod", "--time", "soon"], ["--time"]),
        (["run", "hexapod", "--time", "0"], ["run.time is 0", "greater than 0"]),
        (["run", "hexapod", "--set", "gravity=up"], ["gravity", "three numbers"]),
        (["run", "hexapod", "--integrator", "RK4"], ["RK4", "run.max_step"]),
        (["run", "hexapod", "--law", "glue"], ["glue", "coulomb"]),
        (["run", "hexapod", "--integrator", "Euler"], ["Euler", "DOP853"]),
        (["run", "hexapod", "--speed", "3"], ["--speed"]),
        (["run", "hexapod", "--mp5"], ["--mp5"]),
        (["run"], ["target", "see contactsim run --help"]),
        (["run", "slp"], ["no robot or model 'slp'", "slip", "contactsim robots"]),
        (
            ["run", "--png", "hexapod", "biped"],
            ["`contactsim run` has no place for biped", "such as --html take no value"],
        ),
        (["robots", "hexapod"], ["`contactsim robots` has no place for hexapod; see contactsim robots --help"]),
        (["run", "hexapod", "--png=run.png"], ["--png", "--help"]),
        (["jump"], ["jump", "see contactsim --help"]),
        (["view", "nowhere.nc"], ["nowhere.nc"]),
        (["run", "hexapod", "--set", "start.q=" + str([0, 0, -1, 0, 0, 0, 1] + 18 * [0])], ["ground"]),
        (["run", "hexapod", "--set", "start.q=" + str([0, 0, 1, 0, 0, 0, 2] + 18 * [0])], ["quaternion"]),
    ],
)
def test_mistakes_are_one_sentence(capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]) -> None:
    sentence = mistake(capsys, *arguments)
    for word in words:
        assert word.lower() in sentence.lower(), sentence
    assert not list(Path.cwd().rglob("*.nc"))
    assert not Path("runs").exists()


def test_units_of_the_table_and_fixed_steps(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    steps = ("--integrator", "RK4", "--set", "run.max_step=0.002")
    code, out, _ = command(capsys, "run", "biped", "--time", "0.8", *steps, "--out", "o", "--linearize")
    assert code == 0
    assert out.count("time [s]") == 2
    assert "impulse [N s]" in out


def test_negative_mass_and_broken_xml(capsys: pytest.CaptureFixture[str], box: Path) -> None:
    Path("heavy.urdf").write_text(BOX.replace('value="1"', 'value="-1"'))
    assert "mass" in mistake(capsys, "run", "heavy.urdf")
    Path("broken.urdf").write_text(BOX[:60])
    assert "broken.urdf" in mistake(capsys, "run", "broken.urdf")
    Path("broken.nc").write_text("no run")
    assert "broken.nc" in mistake(capsys, "view", "broken.nc")


def test_an_output_folder_that_cannot_be_made(capsys: pytest.CaptureFixture[str], box: Path) -> None:
    assert "--out" in mistake(capsys, "run", "box.urdf", "--out", "box.urdf")


# --- the other commands -----------------------------------------------------------------------------------------------
def test_robots(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "robots")
    assert code == 0
    assert re.search(r"hexapod +│ free_flyer +│ +18 │ +6 │ yes", out)
    assert re.search(r"biped +│ planar +│ +1 │ +2 │ yes", out)
    assert "models: compliant-hexapod, slip\n" in out
    assert re.search(r"^examples of them: .*hexapod_turning\.rc", out, re.MULTILINE)


def test_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "plugins")
    assert code == 0
    for name in ("coulomb", "frictionless", "spring-damper", "meshcat"):
        assert re.search(rf"{name} +│ contactsim .*loads", out)
    assert re.search(r"lugre +│ stiffness +│ 20000 +│ N/m +│ > 0 +│ normal stiffness", out)
    assert re.search(r"bristle_damping +│ 10 +│ s/m +│ >= 0 +│ damping of the bristles", out)


def test_a_broken_plugin_is_listed_with_its_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fine = cli_registry().PluginInfo("contact_laws", "coulomb", "a:B", "contactsim")
    broken = cli_registry().PluginInfo("contact_laws", "glue", "glue:Law", "sticky", "the plugin 'glue' fails; mend it")
    monkeypatch.setattr(cli_registry(), "survey", lambda: [fine, broken])
    code, out, _ = command(capsys, "plugins")
    assert code == 0
    assert "fails" in out
    assert "the plugin 'glue' fails; mend it" in out
    code, out, _ = command(capsys, "doctor")
    assert code == 0
    assert "uninstall sticky" in out


def cli_registry() -> ModuleType:
    from contactsim.common import registry

    return registry


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    code, out, _ = command(capsys, "doctor")
    assert code == 0
    for words in ("contactsim", "Python", "pin ", "BLAS threads", "OPENBLAS_NUM_THREADS", "robots", "install Chromium"):
        assert words in out


def test_doctor_tells_what_is_missing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from contactsim.cli import doctor

    monkeypatch.setattr(doctor, "NEEDED", {"no-such-package": "nothing"})
    code, out, _ = command(capsys, "doctor")
    assert code == 1
    assert "pip install no-such-package" in out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(capsys, "--version")[1].strip() == f"contactsim {cs.__version__}"
    for arguments in ((), ("--help",)):
        code, out, _ = command(capsys, *arguments)
        assert code == 0
        for word in ("run", "view", "robots", "plugins", "doctor", "check", "new-plugin"):
            assert f"  {word} " in out
    _, out, _ = command(capsys, "run", "--help")
    for option in ("--time", "--set", "--law", "--out", "--html", "--png", "--view", "--integrator", "--rtol"):
        assert option in out
    assert "--linearize" in out and "--mp4" in out and "--plots" in out


def test_one_thread_unless_the_user_says_otherwise(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    mistake(capsys, "run", "nowhere.urdf")
    assert (os.environ["OPENBLAS_NUM_THREADS"], os.environ["OMP_NUM_THREADS"]) == ("3", "1")
    monkeypatch.delenv("OMP_NUM_THREADS")


def test_impulse_of_a_row_is_that_of_its_contacts() -> None:
    landing, leaving = (cs.Mode.OPEN, cs.Mode.STICK), (cs.Mode.SLIP, cs.Mode.OPEN)
    changes = {"a": landing, "b": landing, "limit:knee/lower": landing, "c": leaving}
    changes["d"] = (cs.Mode.OPEN, cs.Mode.OPEN)
    impulses = {"a": np.array([0.0, 0, 3]), "b": np.array([4.0, 0, 0]), "limit:knee/lower": np.array([2.0])}
    transition = cs.Transition(np.zeros(1), "after", changes, impulses)
    event = cs.Event(0.5, frozenset(), "before", np.zeros(1), transition, None)
    assert list(report._rows(event)) == [
        ("0.500000000", "a, b", "open -> stick", "5"),
        ("", "limit:knee/lower", "open -> stick", "2"),
        ("", "c", "slip -> open", ""),
        ("", "d", "open -> open (bounce)", ""),
    ]


def test_a_film_without_ffmpeg_is_one_sentence_before_the_run(
    box: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contactsim_viz.browser.find_browser", lambda: "browser")
    monkeypatch.setattr("contactsim_viz.film.find_ffmpeg", lambda: None)
    code, _, err = command(capsys, "run", str(box), "--time", "0.01", "--out", "out", "--mp4")
    assert (code, err.strip().splitlines()[-1]) == (
        2,
        "contactsim: a film needs ffmpeg; install it with: pip install 'contactsim[film]'",
    )
    assert not Path("out").exists()


def test_tables_cut_no_number_in_a_narrow_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    status, out, _ = command(capsys, "run", "biped", "--time", "0.9", "--out", str(tmp_path / "run"))
    assert status == 0
    assert "0.734460621 │ left " in out
    assert "│ right        │ open -> stick │         14.01 │" in out
    status, out, _ = command(capsys, "plugins", "lugre")
    assert status == 0
    assert "…" not in out


@pytest.mark.parametrize("outcome", [KeyboardInterrupt, 130])
def test_an_interruption_before_there_is_a_run_has_a_status_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, outcome: type[KeyboardInterrupt] | int
) -> None:
    def app(**_: object) -> int:
        if isinstance(outcome, int):
            return outcome
        raise outcome

    monkeypatch.setattr("contactsim.cli.command.app", app)
    code, _, err = command(capsys, "run", "biped")
    assert (code, err) == (130, "contactsim: interrupted\n")
