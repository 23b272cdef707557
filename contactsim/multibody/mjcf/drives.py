"""The actuators of a compiled MJCF file, as far as they are linear in what they act on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.arrays import Array
from ..actuators import UNLIMITED, Actuator, Range, Three
from .compiled import BALL, FREE, Compiled

JOINT, IN_PARENT, _, TENDON = range(4)  # MuJoCo's kinds of transmissions
FIXED_GAIN, AFFINE_GAIN = 0, 1
NO_BIAS, AFFINE_BIAS = 0, 1
DYNAMICS = {0: "none", 1: "integrator", 2: "filter", 3: "filter"}
THROUGH_JOINTS = 1  # MuJoCo's kind of a fixed tendon's path
ACTUATION_OFF, FREE_CONTROL = 2048, 256  # MuJoCo's flags


def actuators_of(source: Compiled) -> tuple[tuple[Actuator, ...], tuple[str, ...]]:
    """The actuators, in MuJoCo's order, and what is left out of them; one that is left out never pulls."""
    m, found, left = source.m, [], []
    if m.opt.disableflags & ACTUATION_OFF:
        return (), ()
    for k in range(m.nactuator):
        reason = _too_much(source, k)
        name = m.actuator(k).name or f"actuator{k}"
        if reason:
            where = source.line(source.spec.actuators, k)
            left.append(f"actuator '{name}'{f' ({where})' if where else ''}: {reason}")
        else:
            found.append(_actuator(source, k, name))
    return tuple(found), tuple(left)


def _too_much(source: Compiled, k: int) -> str:
    """The property of an actuator for which it is left out; empty where there is none."""
    m = source.m
    kind, target = int(m.actuator_trntype[k]), int(m.actuator_trnid[k, 0])
    if m.actuator_plugin[k] >= 0:
        return "is a plugin"
    if kind not in (JOINT, TENDON) or (kind == TENDON and tendon_row(source, target) is None):
        return "acts neither on a joint nor on a fixed tendon"
    if kind == JOINT and m.jnt_type[target] == FREE:
        return "acts on a free joint"
    if m.actuator_gaintype[k] not in (FIXED_GAIN, AFFINE_GAIN) or m.actuator_biastype[k] not in (NO_BIAS, AFFINE_BIAS):
        return "gain or bias is neither fixed nor affine"
    if int(m.actuator_dyntype[k]) not in DYNAMICS or m.actuator_ctrlnum[k] != 1 or m.actuator_delay[k] > 0.0:
        return "its dynamics is neither an integrator nor a filter"
    affine = m.actuator_gainprm[k, 1] if m.actuator_gaintype[k] == AFFINE_GAIN else 0.0
    if kind == JOINT and m.jnt_type[target] == BALL and (affine or m.actuator_biasprm[k, 1]):
        return "reads the angle of a ball joint"
    return ""


def _actuator(source: Compiled, k: int, name: str) -> Actuator:
    m = source.m
    gear, length = _transmission(source, k)
    affine = m.actuator_gaintype[k] == AFFINE_GAIN
    gain = _three(m.actuator_gainprm[k]) if affine else (float(m.actuator_gainprm[k, 0]), 0.0, 0.0)
    bias = _three(m.actuator_biasprm[k]) if m.actuator_biastype[k] == AFFINE_BIAS else (0.0, 0.0, 0.0)
    control = int(m.actuator_ctrladr[k])
    limited = m.actuator_ctrllimited[control] and not m.opt.disableflags & FREE_CONTROL
    home = home_key(source)
    return Actuator(
        name,
        tuple(gear.tolist()),
        tuple(length.tolist()),
        gain,
        bias,
        _range(m.actuator_ctrlrange[control]) if limited else UNLIMITED,
        _range(m.actuator_forcerange[k]) if m.actuator_forcelimited[k] else UNLIMITED,
        DYNAMICS[int(m.actuator_dyntype[k])],
        float(m.actuator_dynprm[k, 0]),
        _range(m.actuator_actrange[k]) if m.actuator_actlimited[k] else UNLIMITED,
        0.0 if home is None else float(m.key_ctrl[home, control]),
    )


def home_key(source: Compiled) -> int | None:
    """The keyframe "home"."""
    names = [source.m.key(k).name for k in range(source.m.nkey)]
    return names.index("home") if "home" in names else None


def _three(numbers: Any) -> Three:
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


def _range(numbers: Any) -> Range:
    return float(numbers[0]), float(numbers[1])


def _transmission(source: Compiled, k: int) -> tuple[Array, Array]:
    """Rates of an actuator's length by velocities (nv,) and by the configuration (nq,)."""
    m, target = source.m, int(source.m.actuator_trnid[k, 0])
    gear = np.array(m.actuator_gear[m.actuator_outadr[k]])
    if m.actuator_trntype[k] == TENDON:
        row = tendon_row(source, target)
        assert row is not None
        return gear[0] * row[0], gear[0] * row[1]
    rates, length = np.zeros(m.nv), np.zeros(m.nq)
    first = int(m.jnt_dofadr[target])
    if m.jnt_type[target] == BALL:
        rates[first : first + 3] = gear[:3]
    else:
        rates[first] = length[m.jnt_qposadr[target]] = gear[0]
    return rates, length


def tendon_row(source: Compiled, tendon: int) -> tuple[Array, Array] | None:
    """Rates of a fixed tendon's length by velocities (nv,) and the configuration (nq,); None for a spatial one."""
    m, first = source.m, int(source.m.tendon_adr[tendon])
    rates, length = np.zeros(m.nv), np.zeros(m.nq)
    for k in range(first, first + int(m.tendon_num[tendon])):
        if m.wrap_type[k] != THROUGH_JOINTS:
            return None
        joint = int(m.wrap_objid[k])
        rates[m.jnt_dofadr[joint]] += m.wrap_prm[k]
        length[m.jnt_qposadr[joint]] += m.wrap_prm[k]
    return rates, length
