"""What the check of a run sees of its steps, compiled and in Python; skipped where the engine is not installed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from landings import landing

import contactsim as cs
from contactsim.contact_dynamics.energy_audit import PLACES, _Bodies, _compiled, _open, _record, _Surveyor
from contactsim.hybrid.segments import Steps

pytest.importorskip("contactsim_native._native")

SAME = 1e-7  # relative to the largest number: forces of contacts that all but depend on each other
SMALL = 1e-11  # [m, N s] and so on
HILLS = cs.terrain.Sinusoid(0.02, 5.0, 4.0)


SHAKEN = cs.terrain.Moving(cs.terrain.Flat(), cs.terrain.Oscillation((0.0, 0.0, 0.01), 2.0))


def thrown(body: cs.Robot, terrain: Any = None, **parts: Any) -> cs.Trajectory:
    system = cs.ContactSystem(body, terrain=terrain or cs.terrain.Flat(), **parts)
    q, v = system.robot.nominal.copy(), np.zeros(system.robot.nv)
    q[:7] = (0.1, 0.05, 0.25, 0.1, 0.05, 0.0, 1.0)
    q[3:7] /= np.linalg.norm(q[3:7])
    v[:6] = (0.5, -0.3, 0.0, 0.5, 0.2, 0.1)
    return cs.simulate(system, cs.State(q, v), (0.0, 0.4), engine="native")


def stack() -> cs.Trajectory:
    boxes = [cs.Robot.box(1.0, (0.2, 0.2, 0.1), name="box", friction=0.5)] * 3
    world = cs.Robot.merge(boxes, names=["low", "middle", "high"])
    places = (([0.01 * k, 0.02 * k, 0.05 + 0.1 * k, 0.0, 0.0, 0.0, 1.0], np.zeros(6)) for k in range(3))
    start = world.pack(dict(zip(("low", "middle", "high"), places, strict=True)))
    return cs.simulate(cs.ContactSystem(world), cs.State(*start), (0.0, 0.2), engine="native")


RUNS: dict[str, Callable[[], cs.Trajectory]] = {
    "solo12": lambda: landing("solo12", 1).run(),
    "hexapod": lambda: landing("hexapod", 2).run(),
    "box": lambda: thrown(cs.Robot.box(1.0, (0.2, 0.1, 0.1), friction=0.4)),
    "cylinder": lambda: thrown(cs.Robot.cylinder(1.0, 0.05, 0.2, friction=0.4)),
    "ellipsoid": lambda: thrown(cs.Robot.ellipsoid(1.0, (0.1, 0.07, 0.05), friction=0.4)),
    "cylinder on hills": lambda: thrown(cs.Robot.cylinder(1.0, 0.05, 0.2, friction=0.4), HILLS),
    "stack": stack,
    "shaken": lambda: thrown(cs.Robot.box(1.0, (0.2, 0.1, 0.1), friction=0.4), SHAKEN),
    "box on hills": lambda: thrown(cs.Robot.box(1.0, (0.2, 0.1, 0.1), friction=0.4), HILLS),
    "capsule on hills": lambda: thrown(cs.Robot.capsule(1.0, 0.05, 0.2, friction=0.4), HILLS),
}


def surveys(run: cs.Trajectory) -> list[tuple[Any, Any]]:
    """Of each arc, by the compiled engine and in Python."""
    found = []
    for arc in run.arcs:
        system: Any = arc.system
        world, flow, mode, start = system.world, system.flow(arc.mode), arc.mode, arc.segments[0]
        record = _record(world, flow, mode, arc) if arc.t1 > arc.t0 else None
        if record is None:
            continue
        compiled = _compiled(
            world, flow.rebased(start.t0, start(start.t0)), record, _open(mode, world.count), _Bodies()
        )
        if compiled is not None:
            expected = _Surveyor(world, mode, _Bodies()).survey(system.flow(mode), list(arc.segments))
            found.append((compiled._replace(joints=None), expected))
            if compiled.joints is not None:
                same_places(system.mechanism, arc, compiled.joints)
    return found


def same_places(mechanism: Any, arc: Any, joints: np.ndarray) -> None:
    """Joints are where they are."""
    for step, told in zip(arc.segments, joints, strict=True):
        for share, own in zip(PLACES[0], mechanism.all_joints(told), strict=True):
            expected = mechanism.joint_places(step(step.t0 + share * (step.t1 - step.t0))[: mechanism.nq])
            np.testing.assert_allclose(own, expected, atol=1e-12)


@pytest.mark.parametrize("name", RUNS)
def test_both_see_the_same(name: str) -> None:
    run = RUNS[name]()
    found = surveys(run)
    assert 2 * len(found) > sum(arc.t1 > arc.t0 for arc in run.arcs)  # most of it
    for one, other in found:
        for law, seen in one._asdict().items():
            expected = getattr(other, law)
            if expected is None:
                continue
            atol = max(SAME * float(np.abs(expected).max(initial=0.0)), SMALL)
            np.testing.assert_allclose(seen, expected, rtol=0.0, atol=atol, err_msg=law)


def moved(run: cs.Trajectory, shift: float) -> cs.Trajectory:
    """The same run with all states lifted [m]."""
    arcs = []
    for arc in run.arcs:
        steps = []
        for step in arc.segments:
            base, end = step.base.copy(), step(step.t1).copy()
            base[2], end[2] = base[2] + shift, end[2] + shift
            steps.append(replace(step, base=base, end=end, start=None))
        arcs.append(replace(arc, segments=Steps(steps)))
    return replace(run, arcs=tuple(arcs))


@pytest.mark.parametrize("shift", [1e-7, -1e-7])
def test_what_is_off_the_ground_is_seen(shift: float) -> None:
    run = thrown(cs.Robot.box(1.0, (0.2, 0.1, 0.1), friction=0.4))
    assert run.check()["penetration [m]"] < 1e-9
    off = moved(run, shift)
    assert surveys(off)
    with pytest.raises(cs.CheckError, match="penetration"):
        off.check()


def test_loaded_runs_are_seen_as_well(tmp_path: Path) -> None:
    run = thrown(cs.Robot.box(1.0, (0.2, 0.1, 0.1), friction=0.4))
    loaded = cs.Trajectory.load(run.save(tmp_path / "run.nc"), system=run.system)
    assert len(surveys(loaded)) == len(surveys(run)) > 0
    for law, value in run.check().items():
        assert loaded.check()[law] == pytest.approx(value, rel=1e-3, abs=1e-12)
