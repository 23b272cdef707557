"""Plugins of others: broken ones are named with their reason, and stop nobody else."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from builders import point_mass

import contactsim as cs
from contactsim.cli import command as cli
from contactsim.common import registry
from contactsim.io import scene

Install = Callable[..., None]

LAW = """
from contactsim import CompliantLaw, LawParameters
class Law(CompliantLaw):
    def force(self, point):
        return -1e4 * point.gap * (point.velocity == point.velocity[0]), point.memory
"""


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a distribution with one plugin: (distribution, group, entry point, module source)."""
    installed = []

    def install(distribution: str, group: str, entry: str, source: str, attribute: str = "Law") -> None:
        module = distribution.replace("-", "_")
        installed.append(module)
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[contactsim.{group}]\n{entry} = {module}:{attribute}\n")
        registry._entries.cache_clear()

    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield install
    registry._entries.cache_clear()
    for module in installed:
        sys.modules.pop(module, None)


BROKEN: Mapping[str, tuple[str, str, str]] = {
    "import": ("contact_laws", "import no_such_module\n", "fails on import with ModuleNotFoundError"),
    "exit": ("contact_laws", "raise SystemExit('bye')\n", "fails on import with SystemExit: bye"),
    "syntax": ("contact_laws", "class Law(:\n", "fails on import with SyntaxError"),
    "missing": ("contact_laws", "Other = 1\n", "fails on import with AttributeError"),
    "no-law": ("contact_laws", "class Law: ...\n", "let it name a subclass of RigidLaw or CompliantLaw"),
    "instance": ("contact_laws", LAW + "Law = Law()\n", "let it name a subclass of RigidLaw or CompliantLaw"),
    "unhashable": ("contact_laws", "Law = {}\n", "let it name a subclass of RigidLaw or CompliantLaw"),
    "abstract": ("contact_laws", LAW.replace("def force", "def farce"), "is the class Law without force"),
    "half-rigid": (
        "contact_laws",
        "from contactsim import RigidLaw\nclass Law(RigidLaw):\n    def impact(self, problem, restitution): ...\n",
        "is the class Law without select",
    ),
    "signature": (
        "contact_laws",
        LAW.replace("force(self, point)", "force(self, gap, velocity)"),
        r"Law.force that cannot be called as force(point)",
    ),
    "schema": ("contact_laws", LAW + "    Parameters = dict\n", "make it a subclass of LawParameters"),
    "memory": ("contact_laws", LAW + "    memory = 2.5\n", "declares memory = 2.5"),
    "pulls": ("contact_laws", LAW + "    pulls = 'yes'\n", "declares pulls = 'yes'"),
    "no-default": (
        "contact_laws",
        LAW + "class Own(LawParameters):\n    k: float\nLaw.Parameters = Own\n",
        "give each parameter a default",
    ),
    "no-derivative": ("event_derivatives", "class Law: ...\n", "let it name a subclass of EventDerivative"),
    "no-model": ("models", "class Law: ...\n", "let it name a subclass of Model"),
    "half-model": ("models", "from contactsim import Model\nclass Law(Model): ...\n", "is the class Law without"),
    "no-catalogue": ("robots", "def Law(name): ...\n", "a function without arguments"),
    "no-controller": ("controllers", "def Law(): ...\n", "let it name a function (robot, **parameters)"),
    "no-integrator": ("integrators", "class Law: ...\n", "let it name a subclass of scipy.integrate.OdeSolver"),
    "no-terrain": ("terrains", "class Law: ...\n", "let it name a subclass of GroundTable"),
    "half-terrain": (
        "terrains",
        "from contactsim import GroundTable\nclass Law(GroundTable): ...\n",
        "is the class Law without build",
    ),
    "no-viewer": ("viewers", "class Law: ...\n", "a class with view, export_html and export_png"),
    "no-format": ("formats", "class Law: ...\n", "with save(trajectory, path) and load(path, system)"),
    "no-plot": ("plots", "def Law(): ...\n", "let it name a function of what is drawn"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_plugin_is_listed_with_its_reason(
    fault: str, foreign: Install, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    group, source, words = BROKEN[fault]
    name = f"{fault}-plugin"
    foreign(name, group, f"{fault}-entry", source)
    with pytest.raises(cs.PluginError) as caught:
        registry.load(group, f"{fault}-entry")
    sentence = str(caught.value)
    assert words in sentence and name in sentence and f"{fault}-entry" in sentence and "\n" not in sentence
    monkeypatch.setenv("COLUMNS", "120")
    assert cli.execute(["plugins"]) == 0
    assert sentence in capsys.readouterr().out
    assert {plugin.name for plugin in registry.survey() if plugin.error} == {f"{fault}-entry"}


def test_broken_plugins_stop_nobody(foreign: Install) -> None:
    """A run, its derivative, and robots by name, while a plugin of every group is broken."""
    for group in registry.GROUPS:
        foreign(f"broken-{group.replace('_', '-')}", group, f"aaa-{group}", "raise RuntimeError('glue')\n")
    with pytest.warns(UserWarning, match="aaa-robots.*glue"):
        robot = cs.load_robot("hexapod")
    assert robot.nv > 6
    run = cs.simulate(cs.ContactSystem(point_mass()), cs.State([0, 0, 0.01], [0, 0, -1.0]), (0.0, 0.05))
    with pytest.warns(UserWarning, match="aaa-event_derivatives.*glue"):
        matrix = cs.linearize(run).matrix()
    assert np.isfinite(matrix).all()
    assert isinstance(cs.load_model("slip"), cs.Model)


def test_a_catalogue_that_fails_when_it_is_asked(foreign: Install, capsys: pytest.CaptureFixture[str]) -> None:
    foreign("bad-robots", "robots", "bad", "def Law(): raise OSError('no disk')\n")
    with pytest.warns(UserWarning, match="'bad' of contactsim.robots fails with OSError: no disk"):
        assert cs.load_robot("hexapod")
    assert cli.execute(["robots"]) == 0
    out = capsys.readouterr().out
    assert "hexapod" in out and "OSError: no disk" in out


def test_doctor_names_a_broken_plugin(foreign: Install, capsys: pytest.CaptureFixture[str]) -> None:
    foreign("sticky-laws", "contact_laws", "sticky", "class Law: ...\n")
    assert cli.execute(["doctor"]) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "plugin sticky" in out and "uninstall" in out


def test_two_plugins_with_one_name(foreign: Install) -> None:
    foreign("twins", "contact_laws", "coulomb", LAW)
    with pytest.raises(
        cs.PluginError, match=r"'coulomb' .* is claimed by .* and .*; uninstall or rename one"
    ) as caught:
        cs.ContactSystem(point_mass())
    assert "twins:Law (twins)" in str(caught.value) and "Coulomb (contactsim)" in str(caught.value)
    assert len([plugin for plugin in registry.survey() if plugin.error]) == 2
    assert cs.ContactSystem(point_mass(), law="frictionless")


def test_a_law_of_others_runs(foreign: Install) -> None:
    foreign("good-laws", "contact_laws", "good", LAW)
    run = cs.simulate(cs.ContactSystem(point_mass(), law="good"), cs.State([0, 0, 0.01], [0, 0, -1.0]), (0.0, 0.05))
    assert run.status.complete and run.events
    assert not any(plugin.error for plugin in registry.survey())


def test_parameters_of_a_plugin_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.execute(["plugins", "spring-damper"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("stiffness", "20000", "N/m", "> 0", "normal stiffness"))
    assert cli.execute(["plugins", "frictionless"]) == 0
    assert "contact_laws: frictionless has no parameters" in capsys.readouterr().out
    assert cli.execute(["plugins", "glue"]) == 2
    assert "no plugin 'glue'; `contactsim plugins` lists them" in capsys.readouterr().err


def test_a_format_of_others_is_found_by_its_suffix(foreign: Install, tmp_path: Path) -> None:
    source = """
from pathlib import Path
class Law:
    @staticmethod
    def save(trajectory, path):
        Path(path).write_text(f"{trajectory.status.name} after {len(trajectory.events)} events")
        return Path(path)
    @staticmethod
    def load(path, system=None):
        return Path(path).read_text()
"""
    foreign("told-runs", "formats", "told", source)
    run = cs.simulate(cs.ContactSystem(point_mass()), cs.State([0, 0, 0.01], [0, 0, -1.0]), (0.0, 0.05))
    file = run.save(tmp_path / "run.told")
    assert cs.Trajectory.load(file) == "FINISHED after 1 events"
    for name in ("run.nc", "run", "run.h5"):  # these are netCDF
        assert len(cs.Trajectory.load(run.save(tmp_path / name)).events) == 1
    with pytest.raises(cs.InputError, match=r"not written as \.data, but as \.nc \(netCDF\) or \.told; give run\.nc"):
        run.save(tmp_path / "run.data")


def test_nothing_is_loaded_into_a_group_that_has_no_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where an installation is older than the source: it must not skip what is asked of a plugin."""
    bare = {group: () if group == registry.CONTRACTS else found for group, found in registry._entries().items()}
    monkeypatch.setattr(registry, "_entries", lambda: bare)
    with pytest.raises(cs.PluginError, match=r"no contract of contactsim.contact_laws is installed.*pip install -e"):
        registry.load("contact_laws", "coulomb")


def test_every_group_has_its_contract() -> None:
    assert set(registry.names(registry.CONTRACTS)) == set(registry.GROUPS)


def test_an_integrator_of_others_runs(foreign: Install) -> None:
    """Heun's method of second order, by SciPy's own base class."""
    source = """
import numpy as np
from scipy.integrate._ivp.rk import RungeKutta
class Law(RungeKutta):
    order, error_estimator_order, n_stages = 2, 1, 2
    A, B, C = np.array([[0, 0], [1, 0]]), np.array([0.5, 0.5]), np.array([0, 1])
    E, P = np.array([-0.5, 0.5, 0]), np.array([[1, -0.5], [0, 0.5], [0, 0]])
"""
    foreign("heun", "integrators", "heun", source)
    system = cs.ContactSystem(point_mass())
    start = cs.State([0.0, 0.0, 1.0], np.zeros(3))
    traj = cs.simulate(system, start, (0.0, 0.02), integrator="heun")
    assert traj.final.q[2] == pytest.approx(1.0 - 0.5 * 9.81 * 4e-4, abs=1e-8)
    with pytest.raises(cs.InputError, match=r"choose one of DOP853.*LSODA, heun"):
        cs.simulate(system, start, (0.0, 0.2), integrator="hoyn")


def test_a_controller_of_others_drives_a_scene(foreign: Install) -> None:
    source = """
import numpy as np
def Law(robot, push=0.0):
    return lambda t, q, v: np.full(robot.nv, push)
"""
    foreign("pusher", "controllers", "pusher", source)

    def built(table: str) -> scene.SceneRun:
        return scene.build(scene.parse(f'robot = {{name = "hexapod"}}\n[controller]\n{table}'))

    system = built('kind = "pusher"\nparameters = {push = 2.0}').system
    np.testing.assert_array_equal(system.applied_force(0.0, np.zeros(system.nq + system.nv)), 2.0)
    assert built('kind = "pusher"\nperiod = 0.01').system.controller.period == 0.01
    for table, words in {
        'kind = "pulsher"': "no controller of kind 'pulsher'; choose one of none, pd, demo, pusher",
        'kind = "pusher"\nparameters = {pull = 1.0}': "do not fit the controller 'pusher'",
        'kind = "pusher"\nkp = 1.0': "controller.kp belongs to joint PD",
        'kind = "pd"\nparameters = {push = 1.0}': "give its name as controller.kind",
    }.items():
        with pytest.raises(cs.InputError, match=words):
            built(table)


GROUND = """
from contactsim import GroundTable, terrain
from pydantic import Field
class Law(GroundTable):
    rise: float = Field(0.1, ge=0.0, description="slope, as a tangent [-]")
    def build(self):
        import math
        return terrain.Slope(math.atan(self.rise))
"""


def test_a_ground_of_others_is_found_by_its_name(foreign: Install, capsys: pytest.CaptureFixture[str]) -> None:
    foreign("my-grounds", "terrains", "ramp", GROUND)
    text = 'robot = {name = "hexapod"}\n[terrain]\nkind = "ramp"\nrise = 0.5'
    made = scene.parse(text, ["terrain.rise=0.25"])
    assert scene.build(made).system.terrain.angle == pytest.approx(np.arctan(0.25))
    assert scene.parse(made.text()) == made
    carried = scene.parse('robot = {name = "hexapod"}\nterrain = {kind = "moving", amplitude = [0, 0, 0.01],'
                          ' frequency = 2, ground = {kind = "ramp"}}')  # fmt: skip
    assert scene.build(carried).system.terrain.ground.angle == pytest.approx(np.arctan(0.1))
    assert cli.execute(["plugins", "ramp"]) == 0
    assert "slope, as a tangent" in capsys.readouterr().out
    for key, words in {
        "terrain.rise=-1": "terrain.rise is -1; give a number greater than or equal to 0",
        "terrain.rize=1": "terrain.rize: unknown key (known here: kind, rise)",
        "terrain.kind=rampe": "no ground of kind 'rampe'; choose one of flat, height-field, moving, none, ramp",
    }.items():
        with pytest.raises(cs.InputError) as caught:
            scene.parse(text, [key])
        assert words in str(caught.value)


def test_a_broken_ground_stops_only_its_own_scene(foreign: Install) -> None:
    foreign("bad-grounds", "terrains", "quagmire", "raise RuntimeError('mud')\n")
    assert (
        scene.build(scene.parse('robot = {name = "hexapod"}\nterrain = {kind = "flat"}')).system.terrain.height == 0.0
    )
    with pytest.raises(cs.InputError, match=r"terrain: the plugin 'quagmire' .* RuntimeError: mud"):
        scene.parse('robot = {name = "hexapod"}\nterrain = {kind = "quagmire"}')
