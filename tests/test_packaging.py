"""The shape of the project: which way imports point, what is declared, and how fast the command answers."""

from __future__ import annotations

import ast
import os
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import contactsim as cs
import contactsim.testing
from contactsim.common.registry import names
from contactsim.hybrid.abilities import ABILITIES
from contactsim.hybrid.system import Dynamics, HybridSystem

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = {
    Path(package).name: ROOT / package for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
}

# Folders of the engine from the ground up: each may import itself and the floors below.
FLOORS = (
    "errors",
    "common",
    "hybrid",
    "contact",
    "multibody",
    "contact_dynamics",
    "derivatives",
    "analysis",
    "control",
    "viewing",
    "io",
    "studies",
    "testing",
    "cli",
)
OLD_ADDRESSES = {
    "gym",  # the public address of what lies in studies
    "contracts",
    "look",
    "conformance",
    "multibody.impacts",
    "multibody.complementarity",
    "multibody.modes",
}

# What each package of the project may import of the others.
MAY_IMPORT = {
    "contactsim": set(),
    "contactsim_plugins": {"contactsim"},
    "contactsim_viz": {"contactsim"},
    "contactsim_robots": set(),
}
DISTRIBUTIONS = {"pinocchio": "pin", "coal": "pin", "umsgpack": "meshcat"}  # coal and umsgpack come with these
DISTRIBUTIONS |= {"PIL": "pillow", "IPython": "ipykernel"}  # which brings it along
DISTRIBUTIONS |= {"imageio_ffmpeg": "imageio-ffmpeg", "pydantic_core": "pydantic", "tomli_w": "tomli-w"}
OF_EXTRAS = {"gym", "environments"}  # modules that are nothing without their extra
OPTIONAL = PROJECT["project"]["optional-dependencies"]


@dataclass(frozen=True)
class Import:
    """One import statement's target: an absolute dotted name, and whether it runs when the module is imported."""

    name: str
    eager: bool


def imports(file: Path, package: str, types: bool = False) -> Iterator[Import]:
    """All imports of a file, those for type checkers only if asked for; `package` is the dotted package it lies in."""
    yield from _inside(ast.parse(file.read_text(encoding="utf-8")), package, True, types)


def _inside(node: ast.AST, package: str, eager: bool, types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test) and not types:
            continue
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, eager) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - child.level + 1] if child.level else []
            stem = ".".join([*base, *([child.module] if child.module else [])])
            yield from (Import(f"{stem}.{alias.name}", eager) for alias in child.names)
        yield from _inside(
            child, package, eager and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)), types
        )


def modules(package: str) -> Iterator[tuple[Path, str]]:
    """Files of a package of the project, each with the dotted package it lies in."""
    folder = PACKAGES[package]
    for file in sorted(folder.rglob("*.py")):
        yield file, ".".join([package, *file.relative_to(folder).parent.parts])


def engine_imports() -> Iterator[tuple[str, Import, str]]:
    """(module of the engine, import, module it imports), those for types and inside functions included."""
    found = {
        ".".join(file.relative_to(PACKAGES["contactsim"]).with_suffix("").parts).removesuffix(".__init__"): (
            file,
            package,
        )
        for file, package in modules("contactsim")
    }
    for name, (file, package) in found.items():
        if name in {"__init__", "__main__"} | OLD_ADDRESSES or name.split(".")[0] in OLD_ADDRESSES:
            continue
        for item in imports(file, package, types=True):
            path = item.name.split(".")
            if path[0] != "contactsim" or len(path) == 1:
                continue
            if path[1] in cs._HOMES:
                path = ["contactsim", *cs._HOMES[path[1]].split(".")]
            target = ".".join(path[1:])
            yield name, item, target if target in found else ".".join(path[1:-1])


def test_arrows_of_the_engine_point_down() -> None:
    wrong = []
    for name, item, target in engine_imports():
        own, other = name.split(".")[0], target.split(".")[0]
        if target and (other not in FLOORS or FLOORS.index(other) > FLOORS.index(own)):
            wrong.append(f"{name} imports {item.name}")
    assert not wrong, "\n".join(wrong)


def test_no_circles_in_the_engine() -> None:
    arrows: dict[str, set[str]] = {}
    for name, _, target in engine_imports():
        if name != target and not name.startswith(f"{target}."):
            arrows.setdefault(name, set()).add(target)
    done: set[str] = set()
    while ready := [name for name in set(arrows) - done if not (arrows[name] & set(arrows)) - done]:
        done.update(ready)
    assert done == set(arrows), f"a circle among {sorted(set(arrows) - done)}"


def test_only_multibody_of_the_engine_imports_pinocchio() -> None:
    wrong = [
        f"{file.name} imports {found.name}"
        for file, package in modules("contactsim")
        for found in imports(file, package)
        if found.name.split(".")[0] in ("pinocchio", "coal") and "multibody" not in file.parts
    ]
    assert not wrong, wrong


# --- sizes -----------------------------------------------------------------------------------------------------------
MOST_METHODS = 20
MOST_LINES, MEDIAN_LINES = 60, 6


def definitions(kind: type[ast.AST] | tuple[type[ast.AST], ...]) -> Iterator[tuple[str, Any]]:
    """(package.module, node) of every class or function of the project."""
    for package in PACKAGES:
        for file, inner in modules(package):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, kind):
                    yield f"{inner}.{file.stem}", node


def public_methods(node: ast.ClassDef) -> list[str]:
    """Names of the methods and properties that a class itself defines for others."""
    own = (child for child in node.body if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return [child.name for child in own if not child.name.startswith("_")]


def test_no_class_has_many_methods() -> None:
    counts = [(len(set(public_methods(node))), f"{module}.{node.name}") for module, node in definitions(ast.ClassDef)]
    assert not [entry for entry in counts if entry[0] > MOST_METHODS]


def test_a_hybrid_system_is_three_methods_and_small_abilities() -> None:
    assert HybridSystem.__abstractmethods__ == Dynamics.__abstractmethods__ == {"flow", "transition", "start"}
    for ability in ABILITIES:
        assert sum(not name.startswith("_") for name, found in vars(ability).items() if callable(found)) <= 4
    assert not [name for name in vars(HybridSystem) if not name.startswith("_")], "its defaults are those of abilities"


def test_functions_are_short() -> None:
    functions = list(definitions((ast.FunctionDef, ast.AsyncFunctionDef)))
    long = [
        f"{module}.{node.name}: {lines}"
        for module, node in functions
        if (lines := node.end_lineno - node.lineno + 1) > MOST_LINES
    ]
    assert not long, "\n".join(long)
    assert statistics.median(body_lines(node) for _, node in functions) <= MEDIAN_LINES


def body_lines(node: ast.FunctionDef) -> int:
    """Lines of the body without its docstring."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_packages_know_only_what_they_may(package: str) -> None:
    forbidden = set(PACKAGES) - MAY_IMPORT[package] - {package}
    wrong = [
        f"{file.name} imports {found.name}"
        for file, inner in modules(package)
        for found in imports(file, inner)
        if found.name.split(".")[0] in forbidden
    ]
    assert not wrong, wrong


def test_viewer_knows_only_the_errors_of_the_engine() -> None:
    names = {found.name for file, package in modules("contactsim_viz") for found in imports(file, package)}
    assert {name for name in names if name.startswith("contactsim.")} <= {
        "contactsim.errors.InputError",
        "contactsim.errors.ContactSimError",
    }


def test_robots_and_viewer_import_pinocchio_when_they_need_it() -> None:
    wrong = [
        f"{file.name} imports {found.name}"
        for package in ("contactsim_robots", "contactsim_viz")
        for file, inner in modules(package)
        for found in imports(file, inner)
        if found.eager and found.name.split(".")[0] in ("pinocchio", "meshcat", "coal") and file.stem != "shapes"
    ]
    assert not wrong, wrong


# --- what is declared ------------------------------------------------------------------------------------------------
def test_everything_imported_is_declared() -> None:
    declared = {entry.split(">")[0].split("[")[0] for entry in PROJECT["project"]["dependencies"]}
    declared |= {"contactsim", *PACKAGES, *sys.stdlib_module_names}
    optional = {
        entry.split(">")[0]
        for extra in ("mjcf", "plot", "film", "cluster", "gym", "notebooks")
        for entry in OPTIONAL[extra]
    }
    missing = {
        found.name.split(".")[0]
        for package in PACKAGES
        for file, inner in modules(package)
        for found in imports(file, inner)
        if DISTRIBUTIONS.get(root := found.name.split(".")[0], root)
        not in declared | (set() if found.eager and file.stem not in OF_EXTRAS else optional)
    }
    assert not missing
    assert "h5py" in declared, "h5netcdf reads and writes through h5py, which it does not bring along"


def test_version_and_marker() -> None:
    assert PROJECT["project"]["version"] == cs.__version__
    assert f"## [{cs.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (PACKAGES["contactsim"] / "py.typed").is_file()


def test_entry_points_are_installed() -> None:
    for group, named in PROJECT["project"]["entry-points"].items():
        installed = {entry.name: entry.value for entry in entry_points(group=group)}
        assert named.items() <= installed.items()
        for name in named:
            assert entry_points(group=group)[name].load() is not None


@pytest.mark.parametrize("module", [cs, cs.terrain, contactsim.testing], ids=lambda module: module.__name__)
def test_public_names_exist_and_are_listed(module: ModuleType) -> None:
    assert set(dir(module)) == set(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_readme_holds_the_two_commands_and_its_picture() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install -e . && contactsim run hexapod" in readme
    assert 'pip install -e ".[dev]" && pytest' in readme
    assert "docs/hexapod.png" in readme
    assert (ROOT / "docs" / "hexapod.png").read_bytes().startswith(b"\x89PNG")


# --- quick answers ---------------------------------------------------------------------------------------------------
def loaded_by(statement: str) -> set[str]:
    """Top-level modules that are loaded after a statement in a fresh interpreter."""
    code = f"{statement}\nimport sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


HEAVY = {"numpy", "scipy", "pinocchio", "pydantic", "xarray", "h5py", "meshcat", "clarabel", "rich", "typer"}


def test_import_of_the_package_is_free() -> None:
    assert not loaded_by("import contactsim") & HEAVY


def test_command_loads_only_typer() -> None:
    assert loaded_by("import contactsim.cli.command") & HEAVY <= {"typer"}


def test_public_classes_come_without_files_and_pictures() -> None:
    loaded = loaded_by("import contactsim as cs\ncs.ContactSystem, cs.simulate, cs.Robot, cs.PD")
    assert not loaded & {"xarray", "h5py", "meshcat", "rich", "typer", "matplotlib"}


LATE = {"scipy", "pydantic", "importlib.metadata", "email", "numpy.random", "contactsim.multibody.geometry.bodies"}


def test_a_system_is_made_without_what_is_imported_late() -> None:
    """SciPy takes twice as long to import as pinocchio, pydantic as long as a first run on compiled arcs."""
    makes = """
import contactsim as cs
system = cs.ContactSystem(robot := cs.load_robot("biped"), controller=cs.PD(robot, kp=10.0, kd=0.4))
cs.simulate, cs.State(robot.nominal, 0.0 * robot.nominal)"""
    code = f"{makes}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not LATE & set(done.stdout.split())


def test_help_loads_only_typer() -> None:
    asks = """
import contextlib, io, sys
from contactsim.cli import command
sys.argv = ["contactsim", "--help"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as told:
    command.main()
assert "Usage" in told.getvalue()"""
    assert loaded_by(asks) & HEAVY <= {"typer"}


# What a run on level ground needs nothing of, and how many modules of ours it may load.
UNUSED = (
    "analysis",
    "contact.jam",
    "contact.solvers.conic",
    "contact.solvers.enumerate",
    "contact.solvers.gauss_seidel",
    "contact_dynamics.compliant_flow",
    "contact_dynamics.latching",
    "contact_dynamics.outcome_sensitivity",
    "contact_dynamics.parameters",
    "contact_dynamics.plain_arc",
    "contact_dynamics.rigid_sensitivity",
    "control",
    "derivatives",
    "hybrid.charts",
    "hybrid.integrators.radau9",
    "multibody.actuators",
    "multibody.geometry.edges",
    "multibody.geometry.pair_kinematics",
    "multibody.geometry.pairing",
    "multibody.geometry.polyhedra",
    "multibody.kinematics.bound_world",
    "multibody.kinematics.closed_loops",
    "multibody.kinematics.curved_ground",
    "multibody.kinematics.elliptic_cones",
    "multibody.kinematics.resistances",
    "multibody.latches",
    "multibody.merge",
    "multibody.mjcf",
    "multibody.terrain.heights",
    "multibody.terrain.hills",
    "multibody.terrain.moving",
    "multibody.textbook_mechanism",
    "studies",
    "testing",
    "viewing",
)
MOST_MODULES = 120
MOST_COMPILED = 101  # of a run on a compiled engine, that engine's own among them
SLOW = {"dask", "matplotlib", "pandas", "xarray"}
OWN_NEEDLESS = (
    "contact.linear_algebra",
    "contact_dynamics.mode_choice",
    "contact_dynamics.resolution",
    "hybrid.samples",
    "multibody.geometry.polyhedra",
    "multibody.springs",
)
NEEDLESS = {"difflib", "traceback", *(f"contactsim.{name}" for name in OWN_NEEDLESS)}  # for a first run


def test_a_run_loads_what_it_needs(tmp_path: Path) -> None:
    asks = f"""
import contextlib, sys
from contactsim.cli.command import app
with contextlib.suppress(SystemExit):
    app(["run", "hexapod", "--time", "0.01", "--out", {str(tmp_path)!r}])
print("modules", *sys.modules)"""
    done = subprocess.run(
        [sys.executable, "-c", asks],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "CONTACTSIM_ENGINE": "python"},
    )
    loaded = set(done.stdout.split("modules ")[-1].split())
    assert not loaded & SLOW, "what takes a second to import is not for the file of a run"
    own = {name for name in loaded if name.startswith("contactsim")}
    assert not own & {f"contactsim.{name}" for name in UNUSED}
    assert len(own) <= MOST_MODULES, f"{len(own)} modules: import features where they are used"


@pytest.mark.skipif("native" not in names("engines"), reason="the compiled engine is not installed")
def test_a_run_on_a_compiled_engine_loads_no_solver() -> None:
    code = """
import sys, contactsim as cs
robot = cs.load_robot("biped")
q = robot.nominal.copy()
q[1] += 1e-4
system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=10.0, kd=0.4))
cs.simulate(system, cs.State(q, 0.0 * q), (0.0, 0.01))
print(*sys.modules)"""
    own = {**os.environ, "CONTACTSIM_ENGINE": "native"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own)
    loaded = set(done.stdout.split())
    solvers = ("problem", "impact", "stick_slip_choice", "redundant_forces", "solvers", "even_sharing", "cone_program")
    assert not sorted(loaded & {"scipy", *(f"contactsim.contact.{name}" for name in solvers)})
    assert not sorted(loaded & NEEDLESS)
    own_modules = [name for name in loaded if name.startswith("contactsim")]
    assert len(own_modules) <= MOST_COMPILED, f"{len(own_modules)} modules: import features where they are used"


def test_public_names_come_without_scipy() -> None:
    assert "scipy" not in loaded_by("import contactsim as cs; [getattr(cs, name) for name in cs.__all__]")


def test_plugins_are_looked_up_when_they_are_asked_for() -> None:
    code = (
        "import sys, contactsim as cs; from contactsim.common import registry; cs.ContactSystem, cs.simulate\n"
        "print(registry._entries.cache_info().currsize, [name for name in sys.modules if 'contactsim_plugins' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "[]"]


def test_names_of_plugins_are_found_without_loading_them() -> None:
    loaded = loaded_by("from contactsim.common import registry; assert registry.names('contact_laws')")
    assert not loaded & (HEAVY | {"contactsim_plugins"})
