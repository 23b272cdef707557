"""Which orders of guards some variation takes, and how few of them an event without a derivative needs."""

from __future__ import annotations

import builders
import numpy as np
import pytest
from differenced_runs import largest_error
from measured_runs import leg
from scipy.optimize import linprog
from touchdowns import flown

import contactsim as cs
from contactsim.contact_dynamics.outcome_sensitivity import OutcomeSensitivity
from contactsim.derivatives import crossing_orders
from contactsim.derivatives.event_linearization import Node

Array = np.ndarray
ERROR = 1e-8  # of derivatives by parameters against differences, as in test_reset_parameters


def largest_margin(rows: Array) -> float:
    """Largest t with A y <= -t for some y in the unit cube, by a linear program."""
    k = rows.shape[1]
    matrix = np.column_stack([rows, np.ones(len(rows))])
    bounds = [(-1.0, 1.0)] * k + [(0.0, None)]
    return -float(linprog(np.append(np.zeros(k), -1.0), A_ub=matrix, b_ub=np.zeros(len(rows)), bounds=bounds).fun)


def test_cones_have_an_interior_where_a_linear_program_finds_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random cones, repeated rows, opposite rows, and convex combinations that vanish."""
    rng, seen = np.random.default_rng(2), {True: 0, False: 0}
    for _ in range(300):
        n, m = int(rng.integers(2, 7)), int(rng.integers(2, 9))
        rows = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-6, 6, (m, 1))
        kind = rng.integers(4)
        if kind == 1:
            rows = np.vstack([rows, rows[0] * rng.uniform(0.5, 2.0)])
        elif kind == 2:
            rows = np.vstack([rows, -rows[rng.integers(m)]])
        elif kind == 3:
            rows = np.vstack([rows, -rng.uniform(0.1, 1.0, m) @ rows])
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        margin = largest_margin(unit)
        if 1e-9 < margin < 1e-5:
            continue
        expected = margin > crossing_orders.INTERIOR
        assert crossing_orders._has_interior(rows) == expected
        seen[expected] += 1
    assert min(seen.values()) > 50


def test_no_linear_program_is_solved_for_clear_cones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.optimize.linprog", None)
    rng = np.random.default_rng(3)
    for _ in range(100):
        rows = rng.normal(size=(6, 3))
        crossing_orders._has_interior(rows)
    assert not crossing_orders._has_interior(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]))
    assert crossing_orders._has_interior(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1e-3]]))


def flat_box() -> cs.Linearization:
    """A box whose four corners land at one instant, and whose neighbours end apart."""
    system = cs.ContactSystem(builders.box(friction=2.0))
    q, v = np.array(system.robot.nominal), np.zeros(6)
    q[2], v[2] = 0.1, -1.0
    return cs.linearize(flown(system, q, v).run())


def test_the_first_order_that_ends_apart_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are worked out only where the outcomes of all are asked for."""
    passed: list[frozenset] = []
    passage = Node.passage

    def counted(node: Node, fired: frozenset):  # type: ignore[no-untyped-def]
        passed.append(fired)
        return passage(node, fired)

    monkeypatch.setattr(Node, "passage", counted)
    event = flat_box().events[0]
    with pytest.raises(cs.NonDifferentiableError, match="different states") as found:
        event.apply(np.eye(12)[3])
    first = len(passed)
    assert len(found.value.problem["words"]) == 8  # a plane meets the corners of a rectangle
    assert first < len(passed) / 2
    before = len(passed)
    assert not event.differentiable
    assert len(passed) == before


def test_resets_by_state_and_parameters_are_worked_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once an event, where twice was needed; by differences of runs it is what it was."""
    known, asked = leg(), []
    derivative = OutcomeSensitivity.derivative

    def counted(self: OutcomeSensitivity, *given):  # type: ignore[no-untyped-def]
        asked.append(given[0])
        return derivative(self, *given)

    monkeypatch.setattr(OutcomeSensitivity, "derivative", counted)
    run = cs.simulate(known.system, known.start, (0.0, 0.115))
    cs.linearize(run).parameters(["contact.friction", "gravity"])
    struck = [event for event in run.all_events if event.impulses]
    assert struck
    assert all(asked.count(event.time) == 1 for event in struck)
    assert largest_error(known.system, known.start, 0.115, 0, ["contact.friction", "gravity"]) < ERROR
