"""Malformed files and command lines: flips of bytes, cuts, and values out of bounds in files that work."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from malformed import LONGEST, soon

import contactsim as cs
from contactsim.cli.command import Code, execute

URDF = """<robot name="brick"><link name="brick">
  <inertial><mass value="1.5"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="arm"><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="brick"/><child link="arm"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="10" velocity="5"/></joint></robot>
"""
SCENE = """gravity = [0.0, 0.0, -9.81]

[robot]
file = "brick.urdf"

[terrain]
kind = "slope"
angle = 0.1

[law]
name = "coulomb"

[contact]
friction = 0.6
restitution = 0.1

[controller]
kind = "pd"
kp = 5.0
kd = 0.5
period = 0.002

[start]
height = 0.01

[run]
time = 0.01
rtol = 1e-7
"""
RC = """# a hopper
systemName = "slip";
finalTime = 0.05;
recordPeriod = 0.01;
maxChartCount = 20;
tolerance = 1e-8;
maxTimeStep = 0.01;
"""
NO_NUMBERS = ("1e308", "-1e308", "nan", "inf", "true", '"text"', '"1e-3"', "[]", "{}", "9" * 90)
ODD_VALUES = (*NO_NUMBERS, "-1.0", "0", "1e-320")


def write(folder: Path) -> dict[str, Path]:
    """The files that work, by their suffix."""
    files = {"urdf": folder / "brick.urdf", "toml": folder / "scene.toml", "rc": folder / "hopper.rc"}
    for path, text in zip(files.values(), (URDF, SCENE, RC), strict=True):
        path.write_text(text)
    cs.load_scene(files["toml"]).simulate(0.01).save(folder / "run.nc")
    return files | {"nc": folder / "run.nc"}


def flipped(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes are others."""
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 5)):
        changed[place] ^= int(rng.integers(1, 256))
    return bytes(changed)


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    """The end is missing."""
    return data[: rng.integers(len(data))]


def overwritten(data: bytes, rng: np.random.Generator) -> bytes:
    """A stretch is noise, or zero."""
    start, length = rng.integers(len(data)), int(rng.integers(1, 64))
    noise = rng.integers(256, size=length, dtype=np.uint8).tobytes() if rng.random() < 0.5 else bytes(length)
    return data[:start] + noise + data[start + length :]


def another_value(data: bytes, rng: np.random.Generator) -> bytes:
    """A value of a text is one that nobody means."""
    text = data.decode("utf-8")
    found = list(re.finditer(r'(?<=[= "\[])-?\d+\.?\d*(e-?\d+)?|"[a-z]+"', text))
    place = found[rng.integers(len(found))]
    value = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    return (text[: place.start()] + value + text[place.end() :]).encode()


def no_numbers(text: str) -> Iterator[tuple[str, str]]:
    """Each number of a text replaced by what is none; what was replaced, and the text."""
    for place in re.finditer(r"(?<=[= \[])-?\d+\.?\d*(e-?\d+)?", text):
        for value in NO_NUMBERS:
            line = text[: place.start()].rpartition("\n")[2]
            yield f"{line}{value}", text[: place.start()] + value + text[place.end() :]


WAYS: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (flipped, cut, overwritten, another_value)


def malformed(data: bytes, count: int, seed: int, text: bool) -> Iterator[tuple[str, bytes]]:
    """So many files that are not what they were."""
    rng, ways = np.random.default_rng(seed), WAYS if text else WAYS[:3]
    for k in range(count):
        way = ways[k % len(ways)]
        yield f"{way.__name__} {k}", way(data, rng)


def command_fault(arguments: list[str], must_fail: bool = False, longest: float = LONGEST) -> str:
    """What is wrong with how the command takes a line; empty where it runs, or says one sentence with status 2."""
    told, errors = io.StringIO(), io.StringIO()
    try:
        with soon(longest), contextlib.redirect_stdout(told), contextlib.redirect_stderr(errors):
            status = execute(arguments)
    except BaseException as error:
        return f"raises {type(error).__name__}: {str(error)[:100]}"
    said = [line for line in errors.getvalue().splitlines() if line.startswith("contactsim:")]
    if "Traceback" in errors.getvalue():
        return "prints a traceback: " + errors.getvalue().strip().splitlines()[-1][:100]
    if status == Code.MISTAKE:
        after = errors.getvalue()[errors.getvalue().find("contactsim:") :].strip() if said else ""
        return "" if len(said) == 1 and "\n" not in after else f"says {errors.getvalue()[:200]!r}"
    return f"takes it, status {status}" if must_fail else ""


def load_fault(path: Path) -> str:
    """What is wrong with how a stored run is loaded and read."""
    try:
        with soon(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = cs.Trajectory.load(path)
            run.x, run.events, run.forces(run.t[0]), run.check(raise_errors=False)
    except cs.ContactSimError as error:
        return "" if "\n" not in str(error) else f"says {str(error)[:200]!r}"
    except BaseException as error:
        return f"raises {type(error).__name__}: {str(error)[:100]}"
    return ""
