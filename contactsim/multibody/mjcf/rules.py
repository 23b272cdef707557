"""MuJoCo's rules: which geoms touch each other, and with what friction.

Two geoms touch where contype of one and conaffinity of the other have a bit in common, unless their bodies are
excluded, or parent and child; a pair that the file names touches in any case. Friction is that of the geom with the
higher priority, else the larger one; it is zero where the dimension of the contact is one.
"""

from __future__ import annotations

from typing import Any

from .compiled import WORLD, Compiled

CONTACT_OFF = 1 | 16  # MuJoCo's flags of all constraints, and of contacts
PARENTS_TOUCH = 1024


def named_pair(source: Compiled, one: int, two: int) -> int | None:
    """The pair of two geoms that the file names."""
    m = source.m
    for k in range(m.npair):
        if {int(m.pair_geom1[k]), int(m.pair_geom2[k])} == {one, two}:
            return k
    return None


def can_touch(source: Compiled, one: int, two: int) -> bool:
    """True for two geoms that touch each other by the file."""
    m = source.m
    if m.opt.disableflags & CONTACT_OFF:
        return False
    if named_pair(source, one, two) is not None:
        return True
    bits = (m.geom_contype[one] & m.geom_conaffinity[two]) | (m.geom_contype[two] & m.geom_conaffinity[one])
    bodies = sorted((int(m.geom_bodyid[one]), int(m.geom_bodyid[two])))
    return bool(bits) and not excluded(m, *bodies) and not related(m, *bodies)


def excluded(m: Any, one: int, two: int) -> bool:
    """True for bodies, the first with the lower number, that the file excludes."""
    return any(int(signature) == (one << 16) + two for signature in m.exclude_signature)


def related(m: Any, one: int, two: int) -> bool:
    """True for bodies that are welded together, or parent and child; the world counts as no parent."""
    first, second = int(m.body_weldid[one]), int(m.body_weldid[two])
    if first == second:
        return True
    if m.opt.disableflags & PARENTS_TOUCH or WORLD in (first, second):
        return False
    above = [int(m.body_weldid[m.body_parentid[weld]]) for weld in (first, second)]
    return first == above[1] or second == above[0]


def root_of(source: Compiled, geom: int) -> int:
    """The first body of the tree that a geom is on."""
    return int(source.m.body_rootid[source.m.geom_bodyid[geom]])


def on_one_tree(source: Compiled, one: int, two: int) -> bool:
    """True for two geoms on one tree of bodies."""
    return root_of(source, one) == root_of(source, two)


def friction_of(source: Compiled, one: int, two: int | None) -> float:
    """Coefficient of friction along the surface of two geoms; of one alone, against what says nothing."""
    m = source.m
    if two is None:
        return 0.0 if m.geom_condim[one] == 1 else float(m.geom_friction[one, 0])
    pair = named_pair(source, one, two)
    if pair is not None:
        return 0.0 if m.pair_dim[pair] == 1 else float(m.pair_friction[pair, :2].min())
    priorities = m.geom_priority[one], m.geom_priority[two]
    chosen = [one, two] if priorities[0] == priorities[1] else [one if priorities[0] > priorities[1] else two]
    if max(m.geom_condim[k] for k in chosen) == 1:
        return 0.0
    return max(float(m.geom_friction[k, 0]) for k in chosen)


def moments_of(source: Compiled, one: int, two: int | None) -> dict[str, Any]:
    """Coefficients of torsional (condim 4 and 6) and rolling friction (6) of two geoms, or of one alone [m]."""
    m = source.m
    pair = None if two is None else named_pair(source, one, two)
    if pair is not None:
        rows, torsion, rolling = m.pair_dim[pair], m.pair_friction[pair, 2], m.pair_friction[pair, 3:].min()
    else:
        chosen = [one] if two is None else [one, two]
        first = max(m.geom_priority[k] for k in chosen)
        chosen = [k for k in chosen if m.geom_priority[k] == first]
        rows = max(m.geom_condim[k] for k in chosen)
        torsion, rolling = (max(m.geom_friction[k, column] for k in chosen) for column in (1, 2))
    return {"torsion": float(torsion) if rows >= 4 else 0.0, "rolling": float(rolling) if rows >= 6 else 0.0}
