"""The kit on sound plugins, and how it reports: objects, the command, and pytest."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pydantic import Field

import contactsim as cs
from contactsim import CompliantLaw, CompliantPoint, LawParameters
from contactsim.cli import command as cli
from contactsim.common import registry
from contactsim.testing import Outcome, Report, check_contact_law, check_property, kit, properties
from contactsim.testing.domain import Domain, Property

Array = np.ndarray
LAWS = registry.names("contact_laws")


@pytest.mark.parametrize(("law", "name"), [(law, name) for law in LAWS for name in properties(law)])
def test_every_law_conforms(law: str, name: str) -> None:
    outcome = check_property(law, name)
    assert outcome.holds is not False, str(outcome)


@pytest.mark.parametrize("name", properties("slip"))
def test_slip_conforms(name: str) -> None:
    outcome = check_property("slip", name)
    assert outcome.holds is True, str(outcome)


class BristleParameters(LawParameters):
    stiffness: float = Field(2e4, gt=0.0, description="normal stiffness [N/m]")
    bristle: float = Field(1e2, gt=0.0, description="stiffness of the bristles over normal force [1/m]")


class Bristles(CompliantLaw):
    """A law with memory: z' = v - sigma |v| z / mu, F_t = -F_n sigma z; passive, with |sigma z| <= mu."""

    Parameters = BristleParameters
    memory = 2

    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        normal = -self.parameters.stiffness * point.gap
        slip, rate = point.velocity[1:], np.zeros(2)
        bend = point.memory[: len(slip)]
        if point.friction > 0.0:
            rate[: len(slip)] = slip - self.parameters.bristle * np.sqrt(slip @ slip) * bend / point.friction
        return np.concatenate(([normal], -normal * self.parameters.bristle * bend)), rate


BRISTLES = kit.named(Bristles())


@pytest.mark.parametrize("name", BRISTLES)
def test_a_law_with_memory_conforms(name: str) -> None:
    outcome = kit.quietly(BRISTLES[name])
    assert outcome.holds is not False, str(outcome)


QUICK = {"parameters validated", "state described"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in properties("compliant-hexapod")],
)
def test_the_compliant_hexapod_conforms(name: str) -> None:
    outcome = check_property("compliant-hexapod", name)
    assert outcome.holds is True, str(outcome)


def test_a_robot_runs_under_a_law() -> None:
    named = kit.named(registry.load("contact_laws", "coulomb")(), ("biped",))
    assert kit.quietly(named["runs on biped"]).holds


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("robot", ["hexapod", "biped", "solo12"])
def test_every_robot_runs_under_every_law(robot: str, law: str) -> None:
    """But for the walk of the biped, which needs friction: there the kit says that its demonstration does not suit."""
    outcome = kit.quietly(kit.named(registry.load("contact_laws", law)(), (robot,))[f"runs on {robot}"])
    assert outcome.holds is (None if (robot, law) == ("biped", "frictionless") else True), str(outcome)


# --- reports ----------------------------------------------------------------------------------------------------------
def test_the_smallest_state_is_found() -> None:
    """Numbers that matter are as simple as they can be, the others the simplest."""
    domain = Domain({"a": (0.0, 1.0, 2.0, 3.0), "b": (5.0, 6.0, 7.0), "c": (1.0, 2.0)}, {"a": "m"})

    def excess(state: dict[str, float]) -> float:
        return state["a"] + state["b"] - 7.5

    outcome = Property("sum", domain, excess, 0.0, "m", lambda state: f"{excess(state):g} at {{where}}").outcome()
    assert (outcome.holds, outcome.state) == (False, {"a": 3.0, "b": 5.0, "c": 1.0})
    assert outcome.message == "0.5 at a 3 m, b 5, c 1"
    assert Property("sum", domain, lambda state: -1.0, 0.0, "m", str).outcome().holds


def test_report() -> None:
    good, bad = Outcome("good", True, 1e-9, 1e-6, "N"), Outcome("bad", False, 2.0, 1e-6, "N", "it pulls", {"gap": 0.0})
    assert Report("fine", (good,)).demand().passed
    report = Report("faulty", (good, bad, Outcome("open", None, message="no question")))
    assert (report.passed, report.violated, report["good"]) == (False, (bad,), good)
    assert "VIOLATED  bad: 2 (limit 1e-06) N it pulls" in str(report)
    with pytest.raises(cs.CheckError, match="faulty violates 1 of its properties: bad: it pulls"):
        report.demand()


def test_what_is_no_law_is_refused() -> None:
    with pytest.raises(cs.InputError, match="is no contact law"):
        check_contact_law(3.0)  # type: ignore[arg-type]
    with pytest.raises(cs.PluginError, match="no plugin 'glue'"):
        check_contact_law("glue")


# --- the command ------------------------------------------------------------------------------------------------------
def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.execute(arguments)
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    return code, told.out, told.err.strip()


def test_check_prints_figures(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "check", "slip")
    assert code == 0
    assert re.search(r"derivative of runs\s+│ holds\s+│\s+\d[\d.e-]+ │\s+1e-05", out)
    assert "all 8 properties hold" in out


def test_check_of_a_fault(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    violated = Outcome("no pulling", False, 5.0, 1e-7, "N", "the contact pulls with 5 N at gap 0 m", {"gap": 0.0})
    monkeypatch.setattr(kit, "named", lambda plugin, robots: {"no pulling": lambda: violated})
    code, out, _ = command(capsys, "check", "coulomb")
    assert code == 3
    assert "violated" in out and "no pulling: the contact pulls with 5 N at gap 0 m" in out
    assert "1 of 1 properties violated" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["glue"], "no plugin 'glue' that can be checked; registered are the contact laws"),
        (["spring-damper", "--set", "stiffnes=3"], "known here: stiffness"),
        (["spring-damper", "--set", "stiffness"], "is no KEY=VALUE"),
    ],
)
def test_mistakes_of_check(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    code, out, err = command(capsys, "check", *arguments)
    assert (code, out) == (2, "")
    assert words in err and "\n" not in err


# --- pytest -----------------------------------------------------------------------------------------------------------
@pytest.fixture
def pytest_in(tmp_path: Path) -> Callable[..., str]:
    """Run pytest in a folder of somebody else's; returns what it prints."""

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    return run


def test_the_kit_runs_in_the_repository_of_others(pytest_in: Callable[..., str]) -> None:
    arguments = ("--pyargs", "contactsim.testing", "--contactsim-law", "slip")
    assert "8 passed" in pytest_in(*arguments)
    assert "skipped" in pytest_in("--pyargs", "contactsim.testing")
    assert "no plugin 'glue'" in pytest_in("--pyargs", "contactsim.testing", "--contactsim-law", "glue")


def test_the_kit_costs_other_projects_nothing(pytest_in: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n\n\ndef test_modules() -> None:\n"
        "    ours = sorted(name for name in sys.modules if name.partition('.')[0] == 'contactsim')\n"
        "    assert ours == ['contactsim', 'contactsim.testing', 'contactsim.testing.options']\n"
        "    assert not {'numpy', 'scipy', 'pinocchio', 'pydantic'} & set(sys.modules)\n"
    )
    assert "1 passed" in pytest_in("-p", "no:hypothesispytest", "-p", "no:zarr", "test_other.py")
