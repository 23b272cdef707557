"""Slips in space that come to their stop, followed in C++ in an expansion of the equations of motion."""

from __future__ import annotations

from functools import cache

import landings
import numpy as np
import pytest

import contactsim as cs
from contactsim.hybrid import stepper

pytest.importorskip("contactsim_native._native")  # its sources alone are no package

Array = np.ndarray
SPAN = 0.1  # s
TIGHT = cs.Tolerances(rtol=1e-11, atol=1e-13)
ROBOTS = ["go2", "hexapod"]
SEED = {"go2": 0, "hexapod": 1}


@cache
def landing(name: str, engine: str, expands: bool, tolerances: cs.Tolerances | None = None) -> cs.Trajectory:
    """A robot lands askew: its feet slide and stop."""
    case = landings.landing(name, SEED[name])
    with pytest.MonkeyPatch.context() as patch:
        if not expands:
            patch.setattr(stepper, "EXPANDED", 0.0)
        system = case.system.on_engine(engine)
        return cs.simulate(system, case.start, (0.0, SPAN), tolerances=tolerances or cs.Tolerances())


def fired(run: cs.Trajectory) -> list[object]:
    return [event.fired for event in run.all_events]


def apart(one: cs.Trajectory, two: cs.Trajectory) -> float:
    system = one.arcs[-1].system
    return float(np.abs(system.space().difference(one.final_x, two.final_x)).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_runs_take_as_few_evaluations_as_in_python(name: str) -> None:
    compiled, python, plain = (landing(name, *of) for of in (("native", True), ("python", True), ("native", False)))
    assert compiled.evaluations == pytest.approx(python.evaluations, rel=0.02)
    assert compiled.evaluations < 0.85 * plain.evaluations
    assert fired(compiled) == fired(python) == fired(plain)


@pytest.mark.parametrize("name", ROBOTS)
def test_they_are_as_exact_as_without(name: str) -> None:
    fine = landing(name, "native", False, TIGHT)
    expanded, plain = (landing(name, "native", expands) for expands in (True, False))
    assert apart(expanded, fine) < 2.0 * apart(plain, fine) + 1e-9


def test_velocities_before_each_stop_are_those_of_the_mode() -> None:
    """Where a step ends shortly before an event, the run without expansions was at the same state."""
    expanded, plain = (landing("go2", "native", expands) for expands in (True, False))
    system, stops = expanded.arcs[0].system, 0
    for one, two in zip(expanded.arcs, plain.arcs, strict=True):
        if one.event is None or not any(name[0] == "slow" for name in one.event.fired if isinstance(name, tuple)):
            continue
        assert two.event is not None
        assert one.event.time == pytest.approx(two.event.time, abs=1e-9)
        ends = (arc.segments[-1].end for arc in (one, two))
        assert np.abs(system.space().difference(*ends)).max() < 1e-7  # that of the runs so far among it
        stops += 1
    assert stops > 2


def test_a_function_of_the_users_that_changes_meanwhile_is_followed() -> None:
    """Torques that swing a hundred thousand times a second change within the duration of an expansion."""
    case = landings.landing("go2", 0)

    def control(t: float, q: Array, v: Array) -> Array:
        return np.append(np.zeros(6), 0.05 * np.sin(1e5 * t) - 2.0 * v[6:])

    pushed = cs.ContactSystem(case.system.robot, controller=control)
    last = next(arc for arc in landing("go2", "native", True).arcs if len(arc.mode.closed) > 1)
    start = pushed.state(last.segments[0](last.segments[0].t0))
    runs = [cs.simulate(pushed, start, (0.0, 2e-3), engine=engine) for engine in ("native", "python")]
    assert fired(runs[0]) == fired(runs[1])
    assert apart(*runs) < 1e-7
