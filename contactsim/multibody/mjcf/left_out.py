"""Elements of a compiled MJCF file that are left out, named once, each with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any
from xml.parsers import expat

import numpy as np

from ..robot_files.reading import listed
from .compiled import FREE, HINGE, SLIDE, Compiled, known_line
from .drives import home_key, tendon_row
from .rules import can_touch, named_pair, on_one_tree
from .shapes import HFIELD, SDF, SHAPES, colliding

SOLVER = ("timestep", "integrator", "solver", "iterations", "tolerance", "cone", "jacobian", "impratio", "o_solref")
MORE = ("noslip_iterations", "noslip_tolerance", "ls_iterations", "ls_tolerance", "o_solimp", "o_margin", "o_friction")
FLUID = ("density", "viscosity", "wind", "magnetic")


def left_out(source: Compiled, further: Sequence[str], own: bool) -> str:
    """One sentence about all that is left out; empty where nothing is.

    Args:
        source: the file.
        further: what others leave out.
        own: whether bodies of one tree meet each other.
    """
    found = [*further, *_of_joints(source), *_of_tendons(source), *_of_geoms(source, own), *_of_options(source)]
    if not found:
        return ""
    return f"{source.path.name}: not simulated are {'; '.join(found)}; see the table of MJCF elements in the docs"


def _where(source: Compiled, kind: str, chosen: Sequence[int], names: Sequence[str]) -> list[str]:
    """Names of elements with their lines."""
    elements = getattr(source.spec, kind)
    lines = {int(element.id): known_line(element) for element in elements} if len(chosen) else {}
    return [f"'{names[k]}'{f' ({lines[k]})' if lines.get(k) else ''}" for k in chosen]


# --- joints and tendons -----------------------------------------------------------------------------------------


def _of_joints(source: Compiled) -> Iterator[str]:
    m = source.m
    scalar = [m.jnt_type[k] in (HINGE, SLIDE) for k in range(m.njnt)]
    first = m.jnt_dofadr
    tests: tuple[tuple[str, Callable[[int], Any]], ...] = (
        ("the start, beyond the range, of joint", lambda k: m.jnt_limited[k] and scalar[k] and _beyond(source, k)),
        ("the range of joint", lambda k: m.jnt_limited[k] and not scalar[k]),
        ("polynomials of damping in translation of joint", lambda k: m.jnt_type[k] == FREE and _curved(m, k)),
        ("the yield (springyield) of joint", lambda k: m.jnt_springyield[k] > 0.0),
        ("the armature in translation of joint", lambda k: m.jnt_type[k] == FREE and m.dof_armature[first[k]] > 0.0),
        ("the armature or damping by an actuator of joint", lambda k: _by_actuator(m, k)),
    )
    for what, test in tests:
        chosen = [k for k in range(m.njnt) if test(k)]
        if chosen:
            yield f"{what} {listed(_where(source, 'joints', chosen, source.joints))}"
    mocap = [source.bodies[k] for k in range(m.nbody) if m.body_mocapid[k] >= 0]
    if mocap:
        yield f"the motion of mocap body {listed([f'{name!r}' for name in mocap])}, which is fixed"


def _curved(m: Any, joint: int) -> bool:
    return bool(m.dof_dampingpoly[m.jnt_dofadr[joint]].any())


def _beyond(source: Compiled, joint: int) -> bool:
    """True for a joint that the file has outside its range: scenes start at the limit."""
    (low, high), home = source.m.jnt_range[joint], home_key(source)
    start = source.m.qpos0 if home is None else source.m.key_qpos[home]
    return not low <= start[source.m.jnt_qposadr[joint]] <= high


def _by_actuator(m: Any, joint: int) -> bool:
    actuator = int(m.jnt_actuatorid[joint])
    return actuator >= 0 and bool(m.actuator_armature[actuator] or m.actuator_damping[actuator])


def _of_tendons(source: Compiled) -> Iterator[str]:
    m = source.m
    names = [m.tendon(k).name or f"tendon{k}" for k in range(m.ntendon)]
    spatial = [k for k in range(m.ntendon) if tendon_row(source, k) is None]
    if spatial:
        yield f"spatial tendon {listed(_where(source, 'tendons', spatial, names))}"
    tests = (
        ("the range", m.tendon_limited),
        ("stiffness or damping", (m.tendon_stiffness > 0.0) | (m.tendon_damping > 0.0)),
        ("frictionloss or armature", (m.tendon_frictionloss > 0.0) | (m.tendon_armature > 0.0)),
    )
    for what, held in tests:
        chosen = [k for k in range(m.ntendon) if held[k] and k not in spatial]
        if chosen:
            yield f"{what} of fixed tendon {listed(_where(source, 'tendons', chosen, names))}"


# --- geoms ------------------------------------------------------------------------------------------------------


def _of_geoms(source: Compiled, own: bool) -> Iterator[str]:
    m, geoms = source.m, colliding(source)
    fixed = [k for k in geoms if not source.moves(m.geom_bodyid[k]) and m.geom_type[k] in (HFIELD, SDF)]
    if fixed:
        kinds = ", ".join(sorted({SHAPES[m.geom_type[k]] for k in fixed}))
        yield f"contacts with geom of the world ({kinds}) {listed(_where(source, 'geoms', fixed, source.geoms))}"
    if not own and _on_one_tree(source, [k for k in geoms if source.moves(m.geom_bodyid[k])]):
        yield "contacts between moving bodies of one tree (<geom>; self_contacts has them), but those of <pair>"
    if m.nflex:
        yield f"{m.nflex} flexible bodies (flex)"
    if m.nplugin:
        yield f"{m.nplugin} plugins"
    if np.any(m.geom_surfacevel) or np.any(m.geom_adhesion):
        yield "surface velocities and adhesion of geoms"


def _on_one_tree(source: Compiled, moving: Sequence[int]) -> bool:
    """True where geoms of one tree of bodies collide with each other, other than by pairs that the file names."""
    couples = ((one, two) for one, two in combinations(moving, 2) if on_one_tree(source, one, two))
    return any(can_touch(source, *couple) and named_pair(source, *couple) is None for couple in couples)


# --- options ----------------------------------------------------------------------------------------------------


def _of_options(source: Compiled) -> Iterator[str]:
    given = _options(source)
    asked = {"the solver's options": (*SOLVER, *MORE), "the fluid": FLUID}
    for what, names in asked.items():
        said = [f"{name} ({given[name]})" for name in names if name in given]
        if said:
            yield f"{what} <option>: {', '.join(said)}"


def _options(source: Compiled) -> dict[str, str]:
    """{attribute of <option>: its line} of the file itself."""
    found: dict[str, str] = {}
    parser = expat.ParserCreate()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if tag == "option":
            found.update({name: f"line {parser.CurrentLineNumber}" for name in attributes})

    parser.StartElementHandler = begin
    parser.Parse(source.path.read_bytes(), True)
    return found
