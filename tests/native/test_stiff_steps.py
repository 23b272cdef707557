"""Steps of the stiff method in C++ against those of Python; skipped where the compiled engine is not installed."""

from collections.abc import Iterator

import numpy as np
import pytest
from landings import landing

import contactsim as cs
from contactsim.hybrid import stiff_arcs
from contactsim.hybrid.integrators.tables_radau9 import INVERSE, NODES, modes
from contactsim.hybrid.stepper import Stepper
from contactsim.hybrid.stiff_arcs import StiffArcs

extension = pytest.importorskip("contactsim_native._native")  # its sources alone are no package

TIGHT = cs.Tolerances(1e-10, 1e-12)
RUN = 1e-10  # of two runs that differ in rounding
TIME = 1e-10  # of their events [s]


class Counts:
    """Steps that Python took, and what it answered where a compiled engine asked whether to leave the stiff method."""

    def __init__(self) -> None:
        self.steps: list[float] = []
        self.answers: list[bool] = []


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counts]:
    found, step, answer = Counts(), Stepper.step, StiffArcs.answer

    def stepped(self: Stepper, bound: float) -> object:
        found.steps.append(self.t)
        return step(self, bound)

    def answered(self: StiffArcs, *given: object) -> bool:
        found.answers.append(answer(self, *given))
        return found.answers[-1]

    monkeypatch.setattr(Stepper, "step", stepped)
    monkeypatch.setattr(StiffArcs, "answer", answered)
    yield found


def demand_the_same(one: cs.Trajectory, two: cs.Trajectory) -> None:
    """As many steps, the same events, and states that differ by rounding all along the way."""
    assert one.status.complete and two.status.complete
    assert [event.fired for event in one.all_events] == [event.fired for event in two.all_events]
    apart = [abs(a.time - b.time) for a, b in zip(one.all_events, two.all_events, strict=True)]
    assert max(apart, default=0.0) < TIME
    steps = [[step for arc in run.arcs for step in arc.segments] for run in (one, two)]
    assert abs(len(steps[0]) - len(steps[1])) <= 0.02 * len(steps[1])
    times = np.linspace(*one.t[[0, -1]], 41)
    for t in times:
        assert np.abs(one.arc_at(t)(t) - two.arc_at(t)(t)).max() < RUN * max(1.0, np.abs(two.arc_at(t)(t)).max())
    for step in steps[0]:  # dense outputs end where their steps do
        assert np.abs(step(step.t1) - step.space.integrate(step.base, step.chart(step.t1))).max() < 1e-12


@pytest.mark.parametrize("name", ["solo12", "a1", "hexapod"])
def test_steps_are_those_of_python(name: str, counts: Counts) -> None:
    case, runs = landing(name, 1), []
    for kind in ("native", "python"):
        counts.steps.clear()
        runs.append(cs.simulate(case.system, case.start, (0.0, 0.04), integrator="Radau9", engine=kind))
        assert (len(counts.steps) <= 2) == (kind == "native")  # the first step's length is looked for in Python
    demand_the_same(*runs)
    assert runs[0].evaluations == pytest.approx(runs[1].evaluations, rel=0.02)


def test_slips_that_turn_are_followed_without_python(counts: Counts) -> None:
    """The stiff method takes over where a foot slips to its stop, and is left where Python leaves it."""
    case, runs = landing("a1", 2), []
    for kind in ("native", "python"):
        counts.steps.clear()
        runs.append(cs.simulate(case.system, case.start, (0.0, 0.2), tolerances=TIGHT, engine=kind))
        assert (not counts.steps) == (kind == "native")
    assert any(counts.answers)
    assert runs[0].notes == runs[1].notes
    assert any("is stiff from" in note for note in runs[0].notes)
    demand_the_same(*runs)


def test_a_slip_that_stops_is_found_stiff_where_python_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps far below the edge of stability count, too, where each takes a small share of the way to the stop."""
    monkeypatch.setattr(stiff_arcs, "CHEAP", 1)
    case = landing("solo12", 0)
    runs = [
        cs.simulate(case.system, case.start, (0.0, 0.2), tolerances=TIGHT, engine=kind) for kind in ("native", "python")
    ]
    demand_the_same(*runs)
    assert runs[0].evaluations == pytest.approx(runs[1].evaluations, rel=0.02)


def test_where_stiff_arcs_end_and_how_fast_they_decay_is_seen_without_python(counts: Counts) -> None:
    """The step that an event ends is taken once more by the same method; eigenvalues are asked where it is left."""
    case = landing("go2", 2)
    run = cs.simulate(case.system, case.start, (0.0, 0.3), engine="native")
    assert "stiff" in str(run.notes)
    assert not counts.steps
    assert len(counts.answers) < 10
    assert 2 * sum(counts.answers) >= len(counts.answers) > 0


@pytest.mark.parametrize("period", [None, 0.01])
def test_stiff_controllers_with_a_memory_and_without(period: float | None, counts: Counts) -> None:
    """A robot that turns in flight, its joints damped a thousand times faster than it moves; samples are held."""
    robot = cs.load_robot("solo12")
    kd = 5.0 if period is None else 0.05
    system = cs.ContactSystem(robot, controller=cs.PD(robot, kp=5.0, kd=kd, period=period))
    q = robot.nominal.copy()
    q[2] += 1.0
    start = cs.State(q, np.linspace(-1.0, 1.0, robot.nv))
    runs = [
        cs.simulate(system, start, (0.0, 0.05), tolerances=TIGHT, integrator="Radau9", engine=kind)
        for kind in ("native", "python")
    ]
    assert len(counts.steps) > 8
    demand_the_same(*runs)


@pytest.mark.parametrize("growth", [0.0, 3.0, -0.9, 50.0])
def test_modes_of_the_method_are_those_of_its_matrix(growth: float) -> None:
    """Its eigenvalues and projections, whatever the scale of the fastest decay grows by in a step."""
    shares = np.maximum(1.0 + growth * NODES, 0.02)
    rates, into, back = (np.array(part) for part in extension.modes((shares[:, None] * INVERSE).ravel()))
    expected = modes(shares)
    order = [int(np.abs(rates - rate).argmin()) for rate in expected.rates]
    assert sorted(order) == list(range(len(expected.rates)))
    assert np.abs(rates[order] - expected.rates).max() < 1e-11 * np.abs(rates).max()
    for k, own in enumerate(order):
        projection = np.outer(back[own], into[own])
        assert (
            np.abs(projection - np.outer(expected.back[:, k], expected.into[k])).max() < 1e-9 * np.abs(projection).max()
        )
