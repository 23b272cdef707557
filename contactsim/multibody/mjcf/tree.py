"""The bodies and joints of a compiled MJCF file as pinocchio's model, whose configuration is MuJoCo's qpos.

Several joints of one body are a chain of massless bodies, each joint under its own name. A hinge or slide whose file
gives it a reference `ref` is turned or moved back by that in its placement, so that q is qpos.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ..springs import Lift, Springs
from .compiled import BALL, FREE, HINGE, SLIDE, Compiled, placed

AXES = {
    HINGE: (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ, pin.JointModelRevoluteUnaligned),
    SLIDE: (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ, pin.JointModelPrismaticUnaligned),
}


GRAVITY_OFF, SPRINGS_OFF, DAMPER_OFF, LIMITS_OFF = 128, 32, 64, 1 | 8  # MuJoCo's flags


class Home(NamedTuple):
    """Place of a body: the joint of pinocchio's that moves it, and its placement there (pin.SE3)."""

    joint: int
    place: Any


class Tree(NamedTuple):
    """Pinocchio's model, and the homes of all bodies in it."""

    model: Any
    homes: tuple[Home, ...]


def tree_of(source: Compiled) -> Tree:
    """The model of a file: a frame for each body and each named site, masses, joints and what they carry."""
    m, model = source.m, pin.Model()
    model.name = source.path.stem
    homes = [Home(0, pin.SE3.Identity())]
    for body in range(1, m.nbody):
        parent, place = homes[m.body_parentid[body]]
        home = Home(parent, place * placed(m.body_pos[body], m.body_quat[body]))
        for joint in source.joints_of(body):
            home = _jointed(source, model, joint, home)
        homes.append(home)
        model.addFrame(pin.Frame(source.bodies[body], home.joint, home.place, pin.FrameType.BODY), False)
        if home.joint:
            model.appendBodyToJoint(home.joint, _inertia(m, body), home.place)
    _add_sites(m, model, homes)
    _add_properties(m, model)
    return Tree(model, tuple(homes))


def _shift(vector: Array) -> Any:
    return pin.SE3(np.eye(3), np.array(vector, dtype=float))


def _jointed(source: Compiled, model: Any, joint: int, home: Home) -> Home:
    """Add a joint on the body that is at home; where it is then."""
    m, kind = source.m, int(source.m.jnt_type[joint])
    anchor, axis = _shift(m.jnt_pos[joint]), np.array(m.jnt_axis[joint])
    reference = float(m.qpos0[m.jnt_qposadr[joint]])
    if kind == FREE:
        made, place, behind = pin.JointModelFreeFlyer(), pin.SE3.Identity(), pin.SE3.Identity()
    elif kind == BALL:
        made, place, behind = pin.JointModelSpherical(), home.place * anchor, anchor.inverse()
    elif kind == HINGE:
        back = pin.SE3(pin.exp3(-reference * axis), np.zeros(3))
        made, place, behind = _along(kind, axis), home.place * anchor * back, anchor.inverse()
    else:
        made, place, behind = _along(kind, axis), home.place * _shift(-reference * axis), pin.SE3.Identity()
    index = model.addJoint(home.joint, made, place, source.joints[joint])
    model.addJointFrame(index)
    return Home(index, behind)


def _along(kind: int, axis: Array) -> Any:
    """A hinge or slide along an axis of its body."""
    *aligned, free = AXES[kind]
    for made, unit in zip(aligned, np.eye(3), strict=True):
        if np.array_equal(axis, unit):
            return made()
    return free(axis)


def _inertia(m: Any, body: int) -> Any:
    """Mass, centre and inertia of a body in its own axes."""
    own = placed(m.body_ipos[body], m.body_iquat[body])
    rotation = own.rotation
    inertia = rotation @ np.diag(m.body_inertia[body]) @ rotation.T
    return pin.Inertia(float(m.body_mass[body]), own.translation, 0.5 * (inertia + inertia.T))


def _add_sites(m: Any, model: Any, homes: list[Home]) -> None:
    """A frame for each site with a name that no body or joint has."""
    for site in range(m.nsite):
        name = m.site(site).name
        if name and not model.existFrame(name):
            joint, place = homes[m.site_bodyid[site]]
            frame = place * placed(m.site_pos[site], m.site_quat[site])
            model.addFrame(pin.Frame(name, joint, frame, pin.FrameType.OP_FRAME), False)


def _add_properties(m: Any, model: Any) -> None:
    """Gravity, armature, damping, dry friction, limits of position and of force."""
    flags = m.opt.disableflags
    gravity = np.zeros(3) if flags & GRAVITY_OFF else np.array(m.opt.gravity)
    model.gravity = pin.Motion(gravity, np.zeros(3))
    model.armature = _rotors(m)
    model.damping = np.zeros(m.nv) if flags & DAMPER_OFF else np.array(m.dof_damping)
    model.upperDryFrictionLimit = np.array(m.dof_frictionloss)
    model.lowerDryFrictionLimit = -np.array(m.dof_frictionloss)
    low, high = np.array(model.lowerPositionLimit), np.array(model.upperPositionLimit)
    effort = np.array(model.effortLimit)
    for joint in range(m.njnt):
        if m.jnt_type[joint] not in (SLIDE, HINGE):
            continue
        if m.jnt_limited[joint] and not flags & LIMITS_OFF:
            q = int(m.jnt_qposadr[joint])
            low[q], high[q] = m.jnt_range[joint]
        if m.jnt_actfrclimited[joint]:
            effort[m.jnt_dofadr[joint]] = np.abs(m.jnt_actfrcrange[joint]).max()
    model.lowerPositionLimit, model.upperPositionLimit, model.effortLimit = low, high, effort


def _rotors(m: Any) -> Array:
    """Armature (nv,) without that of the translation of free joints, which is an inertia in world axes."""
    armature = np.array(m.dof_armature)
    armature[_translations(m)] = 0.0
    return armature


def _translations(m: Any) -> list[int]:
    """The velocities of the translations of free joints."""
    return [int(first) + k for first in m.jnt_dofadr[m.jnt_type == FREE] for k in range(3)]


def springs_of(source: Compiled, tree: Tree) -> Springs | None:
    """Springs of the joints, and the weights that `gravcomp` carries; None where there are none."""
    m = source.m
    sprung = not m.opt.disableflags & SPRINGS_OFF
    stiffness = np.array(m.jnt_stiffness[m.dof_jntid]) if sprung else np.zeros(m.nv)
    curve = np.array(m.jnt_stiffnesspoly[m.dof_jntid]) if sprung else np.zeros((m.nv, 2))
    drag = _drag(m)
    lifts = []
    for body in range(1, m.nbody):
        joint, place = tree.homes[body]
        if m.body_gravcomp[body] and joint:
            x, y, z = (float(c) for c in place.act(np.array(m.body_ipos[body])))
            lifts.append(Lift(joint, float(m.body_gravcomp[body] * m.body_mass[body]), (x, y, z)))
    if not (stiffness.any() or curve.any() or drag.any() or lifts):
        return None
    return Springs(stiffness, source.configuration(m.qpos_spring), curve, drag, tuple(lifts))


def _drag(m: Any) -> Array:
    """Polynomials of damping (nv, 2), without that of the translation of free joints, which is one in world axes."""
    drag = np.zeros((m.nv, 2)) if m.opt.disableflags & DAMPER_OFF else np.array(m.dof_dampingpoly)
    drag[_translations(m)] = 0.0
    return drag
