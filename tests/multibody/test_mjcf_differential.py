"""Every MJCF file of gymnasium, dm_control and mujoco against MuJoCo itself: what is read."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import tolerances as tol

import contactsim as cs
from contactsim.multibody.terrain import NoGround

Array = np.ndarray

PACKAGES = ("gymnasium", "dm_control", "mujoco")
LOADED = 60  # files of these packages that MuJoCo's compiler takes, at least
MOVING = 50  # of them with joints, at least
FREE, BALL, SLIDE, HINGE = range(4)
WITH_POINTS = (2, 3, 5, 6)  # MuJoCo's kinds of geoms that have contact points here, wherever they are


def _files() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None and spec.origin is not None
        folder = Path(spec.origin).parent
        for path in sorted(folder.rglob("*.xml")):
            if "<mujoco" in path.read_text(errors="replace"):
                found[str(path.relative_to(folder.parent))] = path
    return found


FILES = _files()


@cache
def theirs(name: str) -> Any:
    """MuJoCo's model; None where it refuses the file."""
    try:
        return mujoco.MjModel.from_xml_path(str(FILES[name]))
    except ValueError:
        return None


@cache
def ours(name: str) -> cs.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cs.Robot.from_mjcf(FILES[name], contacts="all")


def both(name: str) -> tuple[Any, cs.Robot]:
    m = theirs(name)
    if m is None:
        with pytest.raises(cs.InputError, match="cannot be read"):
            ours(name)
        pytest.skip("MuJoCo's compiler refuses the file, and so do we")
    return m, ours(name)


def close(mine: Any, given: Any) -> None:
    given = np.asarray(given, dtype=float)
    np.testing.assert_allclose(mine, given, rtol=0, atol=tol.MJCF * max(1.0, np.abs(given).max(initial=0.0)))


def configuration(m: Any, qpos: Array) -> Array:
    """MuJoCo's qpos with quaternions (x, y, z, w)."""
    q = np.array(qpos)
    for kind, first in zip(m.jnt_type, m.jnt_qposadr, strict=True):
        if kind in (FREE, BALL):
            at = first + (3 if kind == FREE else 0)
            q[at : at + 4] = np.roll(q[at : at + 4] / np.linalg.norm(q[at : at + 4]), -1)
    return q


def velocity(m: Any, d: Any, given: Array) -> Array:
    """MuJoCo's qvel, or forces, with the translation of free joints in axes of their bodies."""
    v = np.array(given)
    for k in np.flatnonzero(m.jnt_type == FREE):
        first = m.jnt_dofadr[k]
        v[first : first + 3] = d.xmat[m.jnt_bodyid[k]].reshape(3, 3).T @ v[first : first + 3]
    return v


def somewhere(m: Any, rng: np.random.Generator, size: float = 0.5) -> Any:
    d, qpos = mujoco.MjData(m), np.array(m.qpos0)
    mujoco.mj_integratePos(m, qpos, size * rng.normal(size=m.nv), 1.0)
    d.qpos, d.qvel = qpos, size * rng.normal(size=m.nv)
    mujoco.mj_forward(m, d)
    return d


# --- what is read -----------------------------------------------------------------------------------------------
def test_the_packages_have_files() -> None:
    loaded = [m for m in map(theirs, FILES) if m is not None]
    assert len(loaded) >= LOADED and sum(m.nv > 0 for m in loaded) >= MOVING


@pytest.mark.parametrize("name", FILES)
def test_masses_and_inertias(name: str) -> None:
    """Of all bodies that move together, about the joint that moves them."""
    m, robot = both(name)
    d, model = mujoco.MjData(m), robot.model
    mujoco.mj_forward(m, d)
    data = model.createData()
    pin.forwardKinematics(model, data, configuration(m, m.qpos0))
    expected = [pin.Inertia.Zero() for _ in range(model.njoints)]
    for body, frame in zip(range(1, m.nbody), _frames(model), strict=True):
        turn = d.ximat[body].reshape(3, 3)
        inertia = pin.Inertia(m.body_mass[body], d.xipos[body], turn @ np.diag(m.body_inertia[body]) @ turn.T)
        expected[frame.parentJoint] += data.oMi[frame.parentJoint].actInv(inertia)
    for joint in range(1, model.njoints):
        mine, given = model.inertias[joint], expected[joint]
        assert mine.mass == pytest.approx(given.mass, rel=tol.MJCF)
        np.testing.assert_allclose(mine.lever, given.lever, rtol=0, atol=tol.MJCF)
        scale = max(np.abs(given.inertia).max(), np.finfo(float).tiny)
        np.testing.assert_allclose(mine.inertia / scale, given.inertia / scale, rtol=0, atol=tol.MJCF)


def _frames(model: Any) -> list[Any]:
    """Frames of the bodies, which are in MuJoCo's order."""
    return [frame for frame in list(model.frames)[1:] if frame.type == pin.FrameType.BODY]


@pytest.mark.parametrize("name", FILES)
def test_joints(name: str) -> None:
    m, robot = both(name)
    model = robot.model
    assert (robot.nq, robot.nv, model.njoints) == (m.nq, m.nv, m.njnt + 1)
    assert all(m.joint(k).name in ("", model.names[k + 1]) for k in range(m.njnt))
    close(model.armature, m.dof_armature)
    close(model.damping, m.dof_damping)
    close(model.upperDryFrictionLimit, m.dof_frictionloss)
    close(robot.springs, m.jnt_stiffness[m.dof_jntid])
    gravity_off = bool(m.opt.disableflags & 128)
    close(robot.gravity, np.zeros(3) if gravity_off else m.opt.gravity)
    for k in range(m.njnt):
        q, v = m.jnt_qposadr[k], m.jnt_dofadr[k]
        if m.jnt_type[k] not in (SLIDE, HINGE):
            continue
        if m.jnt_limited[k] and not m.opt.disableflags & (1 | 8):
            close([model.lowerPositionLimit[q], model.upperPositionLimit[q]], m.jnt_range[k])
        else:
            assert model.lowerPositionLimit[q] < -1e6 and model.upperPositionLimit[q] > 1e6
        if robot.springs[v]:
            close(robot.own_springs.rest[q], m.qpos_spring[q])


@pytest.mark.parametrize("name", FILES)
def test_poses(name: str) -> None:
    """Of all bodies, in the file's own configuration and at its keyframes; the nominal one is "home", or else that."""
    m, robot = both(name)
    names = [m.key(k).name for k in range(m.nkey)]
    home = m.key_qpos[names.index("home")] if "home" in names else m.qpos0
    close(robot.nominal, configuration(m, home))
    d, data = mujoco.MjData(m), robot.model.createData()
    for qpos in (m.qpos0, *m.key_qpos):
        d.qpos = qpos
        mujoco.mj_kinematics(m, d)
        pin.framesForwardKinematics(robot.model, data, configuration(m, qpos))
        for body, frame in zip(range(1, m.nbody), _frames(robot.model), strict=True):
            place = data.oMi[frame.parentJoint] * frame.placement
            close(place.translation, d.xpos[body])
            close(place.rotation, d.xmat[body].reshape(3, 3))


@pytest.mark.parametrize("name", FILES)
def test_places_of_shapes(name: str) -> None:
    """Of all geoms that collide or are drawn, in a random configuration."""
    m, robot = both(name)
    d, data = somewhere(m, np.random.default_rng(2)), robot.model.createData()
    pin.forwardKinematics(robot.model, data, configuration(m, d.qpos))
    names = {m.geom(k).name: k for k in range(m.ngeom) if m.geom(k).name}
    for item in (*robot.collision_model.geometryObjects, *robot.visual_model.geometryObjects):
        if (geom := names.get(item.name)) is not None:
            place = data.oMi[item.parentJoint] * item.placement
            np.testing.assert_allclose(place.translation, d.geom_xpos[geom], rtol=0, atol=tol.MJCF_SHAPE)
            np.testing.assert_allclose(place.rotation, d.geom_xmat[geom].reshape(3, 3), rtol=0, atol=tol.MJCF_SHAPE)


@pytest.mark.parametrize("name", FILES)
def test_friction_with_the_ground(name: str) -> None:
    """Wherever MuJoCo finds a ball, box, capsule or cylinder on the ground, its body has points with its friction."""
    m, robot = both(name)
    if isinstance(robot.terrain, NoGround):
        return
    point, normal = robot.terrain.plane()
    rng, frames = np.random.default_rng(0), [None, *_frames(robot.model)]
    for _ in range(20):
        d = somewhere(m, rng, 1.0)
        for contact in d.contact:
            planes = [
                g for g in contact.geom if g >= 0 and m.geom_type[g] == 0 and m.body_weldid[m.geom_bodyid[g]] == 0
            ]
            others = [g for g in contact.geom if g not in planes]
            if len(planes) != 1 or np.abs(d.geom_xmat[planes[0]].reshape(3, 3)[:, 2] - normal).max() > tol.MJCF:
                continue
            if abs((d.geom_xpos[planes[0]] - point) @ normal) > tol.MJCF or m.geom_type[others[0]] not in WITH_POINTS:
                continue
            frame = frames[m.geom_bodyid[others[0]]]
            mine = [p.friction for p in robot.contacts if p.frame == frame.name]
            expected = 0.0 if contact.dim == 1 else contact.friction[0]
            assert np.abs(np.array(mine) - expected).min() < tol.MJCF


@pytest.mark.parametrize("name", FILES)
def test_forces_of_actuators(name: str) -> None:
    """At random states, controls and activations; actuators that are left out do not pull."""
    m, robot = both(name)
    if not robot.actuators:
        return
    names = [m.actuator(k).name or f"actuator{k}" for k in range(m.nactuator)]
    m = mujoco.MjModel.from_xml_path(str(FILES[name]))
    carried = [names.index(actuator.name) for actuator in robot.actuators]
    for k in set(range(m.nactuator)) - set(carried):
        m.actuator_gainprm[k], m.actuator_biasprm[k] = 0.0, 0.0
    m.actuator_actearly[:] = False  # that is about the step of MuJoCo's integrator
    rng, slow = np.random.default_rng(1), [k for k in carried if m.actuator_dyntype[k] > 0]
    for _ in range(5):
        d = somewhere(m, rng)
        d.ctrl, d.act = rng.normal(size=m.nu), 0.5 * rng.normal(size=m.na)
        for k in np.flatnonzero(m.actuator_actlimited):  # at its ends MuJoCo's integrator cuts it off
            at = m.actuator_actadr[k]
            d.act[at] = np.clip(d.act[at], *(0.99 * m.actuator_actrange[k]))
        mujoco.mj_forward(m, d)
        controls = d.ctrl[m.actuator_ctrladr[carried]]
        driven = cs.Actuators(robot, controls)
        memory = d.act[m.actuator_actadr[slow]]
        q, v = configuration(m, d.qpos), velocity(m, d, d.qvel)
        mine, given = driven.torque(0.0, q, v, memory), velocity(m, d, d.qfrc_actuator)
        limit = np.array(robot.model.effortLimit)
        scale = max(1.0, np.abs(given).max(initial=0.0))
        np.testing.assert_allclose(mine, np.clip(given, -limit, limit), rtol=0, atol=tol.MJCF_FORCE * scale)
        rates = d.act_dot[m.actuator_actadr[slow]]
        np.testing.assert_allclose(driven.rate(0.0, q, v, memory), rates, rtol=0, atol=1e-9 * max(1.0, scale))
