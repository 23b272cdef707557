"""A contact by functions is refused where its normal is not the gradient of its gap, and the check sees it later on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builders import G

import contactsim as cs

Array = np.ndarray
OFF = "normals off the gradients of gaps [relative]"


def falling(gap: Callable[[float, Array], Any], normal: Array, **given: Any) -> cs.Trajectory:
    """A point (x, y) thrown from (0, 1 m) with (1, 0.5) m/s."""
    contact = cs.Gap(gap, lambda t, q: normal, restitution=0.5, name="point", **given)
    weight = np.array([0.0, -G])
    mechanism = cs.Mechanism(2, lambda q: np.eye(2), lambda t, q, v: weight, [contact])
    return cs.simulate(cs.ContactSystem(mechanism), cs.State([0.0, 1.0], [1.0, 0.5]), (0.0, 1.0))


@pytest.mark.parametrize(
    ("normal", "off"), [((0.0, 1.0), "0.3"), ((0.15, 0.5), "0.5"), ((-0.3, -1.0), "2"), ((1.0, 0.3), "0.7")]
)
def test_a_normal_that_is_no_gradient_is_refused(normal: tuple[float, float], off: str) -> None:
    with pytest.raises(cs.InputError, match=f"normal of contact 'point' is off by {off} .* return d gap / d q"):
        falling(lambda t, q: q[1] + 0.3 * q[0], np.array(normal))


def test_one_that_is_runs_and_is_told_to_rounding() -> None:
    report = falling(lambda t, q: q[1] + 0.3 * q[0] - 0.1 * np.sin(30.0 * t), np.array([0.3, 1.0])).check()
    assert report[OFF] < 1e-10


def test_one_that_is_only_where_the_run_starts_is_seen_by_the_check() -> None:
    traj = falling(lambda t, q: q[1] + 0.3 * q[0] ** 2, np.array([0.0, 1.0]))
    x = traj.events[0].state_pre.q[0]
    with pytest.raises(cs.CheckError, match="normals off the gradients of gaps") as caught:
        traj.check()
    assert caught.value.problem["report"][OFF] == pytest.approx(0.6 * x, rel=1e-6)


def test_a_gap_that_bends_where_it_is_asked_has_no_gradient_to_miss() -> None:
    traj = falling(lambda t, q: q[1] + 0.3 * abs(q[0]), np.array([0.0, 1.0]))
    assert traj.status is cs.Status.FINISHED
