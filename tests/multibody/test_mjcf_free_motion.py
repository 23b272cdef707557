"""MJCF files of gymnasium, dm_control and mujoco against MuJoCo itself: free motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import tolerances as tol
from test_mjcf_differential import FILES, both, configuration, velocity

import contactsim as cs

SECONDS, STEP, HALVINGS = 0.5, 1e-3, 9
LONG = ("manipulator.xml", "stacker.xml", "fruitfly.xml", "floor.xml", "dog_v2/dog.xml")  # others are of their kinds
CONVERGED = 1e-7  # rad, m: what halving the step may still change
TIGHT = cs.Tolerances(rtol=1e-9, atol=1e-11)
NO_CONSTRAINTS, NO_ACTUATION = 1, 2048  # MuJoCo's flags; the first is of contacts, limits, equalities and dry friction


def free(name: str) -> Any:
    """MuJoCo's model without constraints, actuation, fluid and tendons."""
    m = mujoco.MjModel.from_xml_path(str(FILES[name]))
    m.opt.disableflags |= NO_CONSTRAINTS | NO_ACTUATION
    m.opt.density = m.opt.viscosity = 0.0
    m.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    m.tendon_stiffness[:] = m.tendon_damping[:] = 0.0
    return m


def reference(m: Any, start: Any) -> Any:
    """The end of a run of RK4, whose step is halved until it converges."""
    before = np.full(m.nq, np.inf)
    for halving in range(HALVINGS):
        m.opt.timestep = STEP / 2**halving
        d = mujoco.MjData(m)
        d.qpos, d.qvel = start.qpos, start.qvel
        mujoco.mj_step(m, d, nstep=round(SECONDS / m.opt.timestep))
        if np.abs(d.qpos - before).max() < CONVERGED:
            mujoco.mj_forward(m, d)
            return d
        before = np.array(d.qpos)
    raise AssertionError("MuJoCo's run does not converge")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name.endswith(LONG) else name for name in FILES]
)
def test_free_motion(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second from the file's own configuration with random velocities, in its gravity."""
    monkeypatch.chdir(tmp_path)  # where MuJoCo writes that a step was too long
    _, robot = both(name)
    if not robot.nv:
        return
    m = free(name)
    start = mujoco.MjData(m)
    start.qvel = 0.3 * np.random.default_rng(1).normal(size=m.nv)
    mujoco.mj_forward(m, start)
    q, v = configuration(m, start.qpos), velocity(m, start, start.qvel)
    loose = robot.with_contacts([])._with(loops=(), pairs=())
    traj = cs.simulate(cs.ContactSystem(loose, joint_limits=False), (q, v), (0.0, SECONDS), tolerances=TIGHT)
    end = configuration(m, reference(m, start).qpos)
    assert np.abs(robot.space.difference(traj.final.q, end)).max() < tol.MJCF_MOTION
