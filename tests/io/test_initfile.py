"""Initialization files: the grammar, mistakes with their line, the same in TOML, and runs that are run again."""

from __future__ import annotations

import tomllib
from pathlib import Path

import contactsim_plugins.models
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import contactsim as cs
from contactsim.common.registry import names
from contactsim.io import initfile

EXAMPLES = sorted((Path(contactsim_plugins.models.__file__).parent / "examples").glob("*.rc"))
ENERGY = 1e-8  # relative, along the example of the manual's leg
GAIT = 1e-8  # m, m/s: a stride of the published gait, with the tolerance of its example

# Figure 1 of the manual, with a model that is always there.
FIGURE_1 = """
### This is a comment
systemName = "slip";
recordPeriod = 0.01;
measurePeriod = 0.1;
dataBaseName = "hexapod";
useGeomview = 1;
framerate = 30;

# Integration engine related parameters
finalTime = 5;
maxChartCount = 128000;
stopPrecision = 1e-10;
maxStopIterations = 128;
tolerance = 1e-5;
maxTimeStep = 1e-3;
minTimeStep = 1e-15;
rkPower = 0.33;
"""


def written(folder: Path, text: str, name: str = "run.rc") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


# --- the grammar --------------------------------------------------------------------------------------------------
def test_the_example_of_the_manual(tmp_path: Path) -> None:
    file = initfile.read(written(tmp_path, FIGURE_1))
    s = file.settings
    assert (s.recordPeriod, s.measurePeriod, s.dataBaseName, s.useGeomview, s.framerate) == (
        0.01,
        0.1,
        "hexapod",
        True,
        30,
    )
    assert (s.finalTime, s.maxChartCount, s.stopPrecision, s.maxStopIterations) == (5.0, 128000, 1e-10, 128)
    assert (s.tolerance, s.maxTimeStep, s.minTimeStep, s.rkPower) == (1e-5, 1e-3, 1e-15, 0.33)
    assert file.model.parameter("framerate") == 30.0 and file.title == "slip"
    options = s.options()
    assert options["tolerances"] == cs.Tolerances(rtol=1e-5, atol=1e-5, max_step=1e-3, min_step=1e-15)
    assert (options["integrator"], options["record_period"], options["max_events"]) == (None, 0.01, 128000)


def test_defaults_are_the_manuals(tmp_path: Path) -> None:
    s = initfile.read(written(tmp_path, 'systemName = "slip";')).settings
    assert (s.dataBaseName, s.useGeomview, s.stopPrecision, s.maxStopIterations) == ("SimSect", False, 1e-10, 128)
    assert (s.recordPeriod, s.measurePeriod, s.maxChartCount, s.finalTime) == (0.0, 0.0, 128, 1.0)
    assert (s.tolerance, s.maxTimeStep, s.minTimeStep, s.rkPower) == (1e-4, 1e-2, 1e-15, 0.33)
    assert s.options()["record_period"] is None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1;b=2;", {"a": 1.0, "b": 2.0}),
        ("a\n  =\n\n -1.5e-3 ;", {"a": -1.5e-3}),
        ("a = +.5; b = 5.;", {"a": 0.5, "b": 5.0}),
        ('name_2 = "two words # no comment; here";', {"name_2": "two words # no comment; here"}),
        ("  # indented\na = 1; # behind\n#b = 2;\n", {"a": 1.0}),
        ("a = 1; a = 2;", {"a": 2.0}),
        ("", {}),
    ],
)
def test_grammar(text: str, values: dict) -> None:
    assert {name: symbol.value for name, symbol in initfile.parse(text).items()} == values


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = 1\nb = 2;", "line 1: a semicolon is missing behind the value of 'a'"),
        ("\n\na 1;", "line 3: 'a' has no value"),
        ("a = ;", "line 1: the value of 'a' is ;; give a number"),
        ("a = one;", "line 1: the value of 'a' is one; give a number, or a text in double quotes"),
        ("a = 1.2.3;", "line 1: the value of 'a' is 1.2.3"),
        ("a = 'x';", "line 1: the value of 'a' is 'x'"),
        ('b = 1;\na = "x;\n', "line 2: the value of 'a' is \"x; give"),
        ("9a = 1;", "line 1: '9a' is no symbol"),
        ("_a = 1;", "line 1: '_a' is no symbol"),
        ("a", "line 1: 'a' has no value"),
    ],
)
def test_mistakes_of_grammar(text: str, sentence: str) -> None:
    with pytest.raises(cs.InputError) as caught:
        initfile.parse(text, "FILE")
    assert str(caught.value).startswith("FILE, ") and sentence in str(caught.value)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("kay = 1;", "line 3: there is no symbol 'kay'; there are systemName"),
        ("body_mas = 1;", "line 3: there is no symbol 'body_mas'; did you mean body_mass?"),
        ("body_mass = -1;", "line 3: body_mass = -1.0; give a number greater than 0"),
        ('k = "stiff";', "line 3: k = 'stiff'; give a number"),
        ('policy = "best";', "line 3: policy = 'best'; give 'neutral' or 'constant'"),
        ("sprj = 0;", "line 3: sprj = 0.0: sprj is 0; give another exponent"),
        ("maxChartCount = 2.5;", "line 3: maxChartCount = 2.5; give a whole number"),
        ("finalTime = 0;", "line 3: finalTime = 0.0; give a number greater than 0"),
        ('xdot = "fast";', "line 3: xdot = 'fast'; give a number"),
        ('dataBaseName = "a/b";', "line 3: dataBaseName = 'a/b'"),
    ],
)
def test_mistakes_of_symbols(tmp_path: Path, line: str, sentence: str) -> None:
    file = written(tmp_path, f'systemName = "slip";\n# here:\n{line}\n')
    with pytest.raises(cs.InputError) as caught:
        initfile.read(file)
    assert f"{file}, {sentence}" in str(caught.value)


def test_every_mistake_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(cs.InputError, match=r"line 2: k = .*line 3: .*'zz'.*line 4: q_rt = .*line 5: tolerance = "):
        initfile.read(written(tmp_path, 'systemName = "slip";\nk = -1;\nzz = 1;\nq_rt = 0;\ntolerance = -1;'))


def test_models_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(cs.InputError, match=r"line 1: there is no model 'akh'; registered are: .*slip"):
        initfile.read(written(tmp_path, 'systemName = "akh";'))
    monkeypatch.setattr(initfile, "names", lambda group: [])
    with pytest.raises(cs.InputError, match="default of systemName: there is no model 'compliant-hexapod'"):
        initfile.read(written(tmp_path, "finalTime = 1;"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(cs.InputError, match=r"no file .*SimSect\.rc; check the path"):
        initfile.read(tmp_path / "SimSect.rc")
    with pytest.raises(cs.InputError, match="cannot read"):
        initfile.read(tmp_path)
    (tmp_path / "bytes.rc").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(cs.InputError, match="give a text file"):
        initfile.read(tmp_path / "bytes.rc")
    with pytest.raises(cs.InputError, match="is no TOML"):
        initfile.read(written(tmp_path, "a = ", "run.toml"))
    with pytest.raises(cs.InputError, match=r"'k' is .*give a number or a text"):
        initfile.read(written(tmp_path, 'systemName = "slip"\nk = [1]', "run.toml"))


def test_other_names_of_symbols(tmp_path: Path) -> None:
    s = initfile.read(written(tmp_path, 'systemName = "slip"; maxStopIter = 7; power = 0.25;')).settings
    assert (s.maxStopIterations, s.rkPower) == (7, 0.25)


# --- the same in TOML, and changes --------------------------------------------------------------------------------
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_both_syntaxes_say_the_same(tmp_path: Path, example: Path) -> None:
    file = initfile.read(example)
    symbols = file.symbols()
    for again in (
        initfile.read(written(tmp_path, initfile.as_text(symbols))),
        initfile.read(written(tmp_path, initfile.as_toml(symbols), "run.toml")),
    ):
        assert again.settings.model_dump(exclude={"framerate"}) == file.settings.model_dump(exclude={"framerate"})
        assert again.model.parameters == file.model.parameters
        np.testing.assert_array_equal(again.state, file.begun)
        assert initfile.as_text(again.symbols()) == initfile.as_text(symbols)
        assert initfile.as_toml(again.symbols()) == initfile.as_toml(symbols)


@pytest.mark.parametrize("name", ["slip", "compliant-hexapod"])
def test_every_symbol_can_be_said_in_both_syntaxes(tmp_path: Path, name: str) -> None:
    """Each number and each choice is changed, said in one syntax, and comes back from the other."""
    file = initfile.named(name, ["absoluteTolerance=1e-7", "integrator=RK45", "measurePeriod=0.1"])
    symbols = file.symbols()
    schemas = (file.settings, file.model.parameters, file.model.State())
    assert set(symbols) == {field for schema in schemas for field in type(schema).model_fields}
    state, inertia = set(file.model.State.model_fields), {f"J_{i}{k}" for i in (1, 2, 3) for k in (1, 2, 3)}
    for symbol, value in symbols.items():
        if symbol in state | inertia:
            continue
        if isinstance(value, bool):
            symbols[symbol] = not value
        elif isinstance(value, int | float):
            symbols[symbol] = type(value)(value + (1 if isinstance(value, int) else 0.0625 * value + 2.0**-40))
    symbols |= {
        "slip": {"policy": "constant", "spri": 2.0},
        "compliant-hexapod": {"friction": "slip", "terrain_type": "sinusoid"},
    }[name]
    toml = initfile.read(written(tmp_path, initfile.as_toml(symbols), "run.toml"))
    rc = initfile.read(written(tmp_path, initfile.as_text(symbols)))
    for again in (toml, rc):
        read = again.settings.model_dump() | again.model.parameters.model_dump()
        assert {symbol: read[symbol] for symbol in read} == {symbol: symbols[symbol] for symbol in read}
    assert rc.symbols() == toml.symbols()


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=1e-300, max_value=1e300))
def test_numbers_survive_both_syntaxes(value: float) -> None:
    symbols = {"k": value, "x": -value}
    assert {name: symbol.value for name, symbol in initfile.parse(initfile.as_text(symbols)).items()} == symbols
    assert tomllib.loads(initfile.as_toml(symbols)) == symbols


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("\nkk = 1", "line 3: there is no symbol 'kk'"),
        ('"k" = -1.0', "line 2: k = -1.0; give a number greater than or equal to 0"),
        ('policy = "best"', "line 2: policy = 'best'; give 'neutral' or 'constant'"),
        ("[k]\nvalue = 1", "line 2: 'k' is {'value': 1}; give a number or a text"),
        ("dataBaseName = 'a\"b'", "line 2: dataBaseName = 'a\"b': String should match pattern"),
        ("k = 1\nk = 2", "is no TOML"),
        ("k = nan", "line 2: k = nan; give a finite number"),
    ],
)
def test_mistakes_in_toml_are_told_with_their_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(cs.InputError) as caught:
        initfile.read(written(tmp_path, f'systemName = "slip"\n{text}\n', "run.toml"))
    assert sentence in str(caught.value)


def test_a_text_that_the_syntax_cannot_say() -> None:
    with pytest.raises(cs.InputError, match="cannot say"):
        initfile.as_text({"policy": 'a "quoted" one'})


def test_which_toml_is_an_initialization_file(tmp_path: Path) -> None:
    assert initfile.is_initfile(written(tmp_path, 'systemName = "slip"', "a.toml"))
    assert not initfile.is_initfile(written(tmp_path, '[robot]\nname = "hexapod"', "b.toml"))
    assert not initfile.is_initfile(written(tmp_path, "nonsense", "c.toml"))
    assert initfile.is_initfile(tmp_path / "any.rc")
    assert "slip" in names("models") and "hexapod" not in names("models")


def test_changes_and_further_files(tmp_path: Path) -> None:
    first = written(tmp_path, 'systemName = "slip"; k = 900; y = 0.95;')
    second = written(tmp_path, "k = 1100;", "second.rc")
    assert initfile.read(first, second).model.parameter("k") == 1100.0
    file = initfile.read(first, changes=["k=1200", "policy=constant", "xdot = 1.5"])
    assert file.model.parameter("k") == 1200.0 and file.model.parameters.policy == "constant"
    np.testing.assert_array_equal(file.state[:4], [0.0, 0.95, 1.5, 0.0])
    with pytest.raises(cs.InputError, match="--set kk=1: there is no symbol 'kk'"):
        initfile.read(first, changes=["kk=1"])
    with pytest.raises(cs.InputError, match="--set k: give SYMBOL=VALUE"):
        initfile.read(first, changes=["k"])
    with pytest.raises(cs.InputError, match=r"--set k=-1: k = -1\.0; give a number greater"):
        initfile.read(first, changes=["k=-1"])


def test_a_model_by_name_runs_with_what_it_prefers() -> None:
    file = initfile.named("slip", ["k=1200", "finalTime=0.5"])
    tolerances = file.settings.options()["tolerances"]
    preferred = file.model.preferred_tolerances or cs.Tolerances()
    assert (tolerances.rtol, tolerances.atol) == (preferred.rtol, preferred.atol) == (1e-8, 1e-10)
    assert file.settings.finalTime == 0.5 and file.model.parameter("k") == 1200.0
    assert initfile.run(file).status is cs.Status.FINISHED


# --- running ------------------------------------------------------------------------------------------------------
def test_a_run_writes_what_simsect_wrote_and_is_run_again(tmp_path: Path) -> None:
    (example,) = (path for path in EXAMPLES if path.stem == "slip")
    first = initfile.run_initfile(example, tmp_path / "first")
    assert first.trajectory.status is cs.Status.FINISHED
    assert [file.name for file in first.files] == ["slip.data", "slip.initial", "slip.param", "slip.rc"]
    data = np.loadtxt(tmp_path / "first" / "slip.data")
    np.testing.assert_allclose(data[:, 0], 0.01 * np.arange(501), rtol=0, atol=1e-14)
    assert np.ptp(data[:, 5]) / data[0, 5] < ENERGY
    header = (tmp_path / "first" / "slip.data").read_text(encoding="utf-8").splitlines()[0]
    assert header == "# time x y xdot ydot energy"

    again = initfile.run_initfile(tmp_path / "first" / "slip.rc", tmp_path / "again")
    for one, other in zip(first.files, again.files, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_initial_state_and_parameters_alone_give_the_same_run(tmp_path: Path) -> None:
    source = written(tmp_path, 'systemName = "slip"; k = 1234.5; y = 0.93; xdot = 1.7; touchdown_angle = 0.2; x = 3;')
    first = initfile.run_initfile(source, tmp_path)
    _, initial, param, _ = first.files
    again = initfile.run(initfile.read(param, initial))
    np.testing.assert_array_equal(again.t, first.trajectory.t)
    np.testing.assert_array_equal(again.x, first.trajectory.x)
    assert "footx = 3.18852033" in initial.read_text(encoding="utf-8")  # 3 + 0.93 tan(0.2)


def test_every_step_is_recorded_where_no_period_is_given(tmp_path: Path) -> None:
    run = initfile.run_initfile(written(tmp_path, 'systemName = "slip";'), tmp_path / "out")
    data = np.loadtxt(tmp_path / "out" / "SimSect.data")
    np.testing.assert_array_equal(data[:, 0], run.trajectory.t)
    assert np.max(np.diff(data[:, 0])) <= 1e-2 * (1 + 1e-12)


def test_progress_and_messages(tmp_path: Path) -> None:
    times: list[float] = []
    said: list[str] = []
    file = written(tmp_path, 'systemName = "slip"; measurePeriod = 0.25;')
    initfile.run_initfile(file, tmp_path, times.append, said.append)
    assert times[-1] == 1.0 and len(times) > 100
    assert [float(sentence.split()[2]) // 0.25 for sentence in said] == [1.0, 2.0, 3.0, 4.0]
    initfile.run_initfile(file, tmp_path)
    initfile.run_initfile(written(tmp_path, 'systemName = "slip"; rkPower = 0.5;'), tmp_path, say=said.append)
    assert said[-1] == "rkPower = 0.5 changes nothing: the method adapts its step by its own order"


def test_symbols_without_effect_are_told_where_they_are_set(tmp_path: Path) -> None:
    assert initfile.read(written(tmp_path, FIGURE_1)).notes == ()  # as by default
    text = 'systemName = "slip"; stopPrecision = 1e-6; maxStopIter = 7; power = 0.5; useGeomview = 1; framerate = 10;'
    notes = initfile.read(written(tmp_path, text)).notes
    assert [note.split(":")[0] for note in notes] == [
        "stopPrecision = 1e-06 changes nothing",
        "maxStopIterations = 7 changes nothing",
        "rkPower = 0.5 changes nothing",
    ]


def test_frame_rate_and_size_of_pictures() -> None:
    slip = initfile.named("slip")
    assert slip.framerate == slip.model.parameter("framerate") == 120.0 and slip.frame == {}
    hexapod = initfile.named("compliant-hexapod", ["framerate=25", "frame_width=320"])
    assert hexapod.framerate == 25.0 and hexapod.frame == {"width": 320, "height": 480}


def test_a_run_that_stops_early_keeps_its_files(tmp_path: Path) -> None:
    run = initfile.run_initfile(written(tmp_path, 'systemName = "slip"; maxChartCount = 2;'), tmp_path)
    assert run.trajectory.status is cs.Status.TOO_MANY_EVENTS
    assert len(np.loadtxt(tmp_path / "SimSect.data")) > 10


def test_a_start_that_is_refused(tmp_path: Path) -> None:
    with pytest.raises(cs.InputError, match="cannot start at t = 0 s in chart decompression: the body toppled over"):
        initfile.run_initfile(written(tmp_path, 'systemName = "slip"; y = -0.2;'), tmp_path)
    with pytest.raises(cs.InputError, match="no integrator 'RK5'"):
        initfile.run_initfile(written(tmp_path, 'systemName = "slip"; integrator = "RK5";'), tmp_path)
    file = written(tmp_path, 'systemName = "slip";')
    with pytest.raises(cs.InputError, match="cannot make the folder"):
        initfile.run_initfile(file, file)


def test_rk4_by_an_initialization_file(tmp_path: Path) -> None:
    text = 'systemName = "slip"; integrator = "RK4"; maxTimeStep = 1e-3; finalTime = 0.3;'
    traj = initfile.run_initfile(written(tmp_path, text), tmp_path).trajectory
    lengths = [segment.t1 - segment.t0 for arc in traj.arcs for segment in arc.segments]
    assert max(lengths) <= 1e-3 * (1 + 1e-8)
    assert traj.events[0].time == pytest.approx(0.109094508193453, abs=1e-9)  # h^4


def test_the_example_of_the_hopper_repeats_its_gait(tmp_path: Path) -> None:
    (example,) = (path for path in EXAMPLES if path.stem == "slip_hopper")
    traj = initfile.run_initfile(example, tmp_path).trajectory
    np.testing.assert_allclose(traj(0.836957108399169)[1:4], traj(0.0)[1:4], rtol=0, atol=GAIT)
