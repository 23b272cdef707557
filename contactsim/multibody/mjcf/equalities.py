"""The equalities of a compiled MJCF file as loops: connect, weld, and linear equations of joints and fixed tendons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from ..loops import JointCoupling, Loop, LoopClosure, Triple
from .compiled import HINGE, SLIDE, Compiled, placed
from .drives import tendon_row

CONNECT, WELD, JOINT, TENDON = range(4)  # MuJoCo's kinds of equalities
KINDS = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance")
SITE = 6  # MuJoCo's kind of object
EQUALITY_OFF = 1 | 2  # MuJoCo's flags of all constraints, and of equalities
NONLINEAR = slice(2, 5)  # coefficients of an equality between joints beyond the linear one


def loops_of(source: Compiled) -> tuple[tuple[Loop, ...], tuple[str, ...]]:
    """The equalities that are active, and what is left out of them."""
    m, found, left, names = source.m, [], [], set[str]()
    for k in range(m.neq):
        if not m.eq_active0[k] or m.opt.disableflags & EQUALITY_OFF:
            continue
        name = m.equality(k).name
        loop = _loop(source, k, name if name not in names else f"{name}/{k}")
        if loop is None:
            where, kind = source.line(source.spec.equalities, k), KINDS[m.eq_type[k]]
            left.append(f"equality '{kind}'{f' {name!r}' if name else ''}{f' ({where})' if where else ''}")
            continue
        if loop.name in names:
            loop = _loop(source, k, f"{loop.name}/{k}")
        assert loop is not None
        names.add(loop.name)
        found.append(loop)
    return tuple(found), tuple(left)


def _loop(source: Compiled, k: int, name: str) -> Loop | None:
    kind = int(source.m.eq_type[k])
    if kind in (CONNECT, WELD):
        return _closure(source, k, name)
    if source.m.eq_data[k, NONLINEAR].any() or kind not in (JOINT, TENDON):
        return None
    return _of_joints(source, k, name) if kind == JOINT else _of_tendons(source, k, name)


def _closure(source: Compiled, k: int, name: str) -> LoopClosure:
    """Two bodies held together by a point, or wholly."""
    m, data = source.m, np.array(source.m.eq_data[k])
    ids = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
    if m.eq_objtype[k] == SITE:
        bodies = [int(m.site_bodyid[site]) for site in ids]
        places = [placed(m.site_pos[site], m.site_quat[site]) for site in ids]
    elif m.eq_type[k] == CONNECT:
        bodies, places = list(ids), [pin.SE3(np.eye(3), data[part]) for part in (slice(0, 3), slice(3, 6))]
    else:
        bodies, places = list(ids), [placed(data[3:6], data[6:10]), pin.SE3(np.eye(3), data[:3])]
    first, second = (source.bodies[body] for body in bodies)
    (offset_a, turn_a), (offset_b, turn_b) = (_numbers(place) for place in places)
    kind = "point" if m.eq_type[k] == CONNECT else "pose"
    return LoopClosure(first, second, offset_a, offset_b, turn_a, turn_b, kind, name)


def _numbers(place: Any) -> tuple[Triple, Triple]:
    """Offset [m] and rotation vector of a placement."""
    return tuple(map(float, place.translation)), tuple(map(float, pin.log3(place.rotation)))  # type: ignore[return-value]


def _of_joints(source: Compiled, k: int, name: str) -> JointCoupling | None:
    """q_1 - q_1(0) = c_0 + c_1 (q_2 - q_2(0))."""
    m = source.m
    ids = [int(joint) for joint in (m.eq_obj1id[k], m.eq_obj2id[k]) if joint >= 0]
    if any(m.jnt_type[joint] not in (HINGE, SLIDE) for joint in ids):
        return None
    factors = (1.0, -float(m.eq_data[k, 1]))[: len(ids)]
    start = [float(m.qpos0[m.jnt_qposadr[joint]]) for joint in ids]
    value = float(m.eq_data[k, 0]) + sum(c * q for c, q in zip(factors, start, strict=True))
    return JointCoupling(tuple(source.joints[joint] for joint in ids), factors, value, name)


def _of_tendons(source: Compiled, k: int, name: str) -> JointCoupling | None:
    """l_1 - l_1(0) = c_0 + c_1 (l_2 - l_2(0)) of fixed tendons, whose lengths are linear in their joints."""
    m = source.m
    ids = [int(tendon) for tendon in (m.eq_obj1id[k], m.eq_obj2id[k]) if tendon >= 0]
    rows = [tendon_row(source, tendon) for tendon in ids]
    factors = (1.0, -float(m.eq_data[k, 1]))
    total, value = np.zeros(m.nv), float(m.eq_data[k, 0])
    for row, factor, tendon in zip(rows, factors, ids, strict=False):
        if row is None:
            return None
        total += factor * row[0]
        value += factor * float(m.tendon_length0[tendon])
    moved = [int(v) for v in np.flatnonzero(total)]
    if not moved:
        return None
    return JointCoupling(
        tuple(source.joints[m.dof_jntid[v]] for v in moved), tuple(float(total[v]) for v in moved), value, name
    )
