"""Hulls with sharp corners: edges on the far side of one cross those of another, and do not touch."""

from __future__ import annotations

import pytest
from test_cylinders_on_flats import touching
from test_edges import OFF
from test_rims import EXACT

import contactsim as cs

SPIKE = [(-0.1, -0.08, 0.0), (0.1, -0.08, 0.0), (0.0, 0.12, 0.0), (0.02, 0.01, 0.4)]


@pytest.mark.parametrize("seed", [1, 9, 26, 42, 45, 52])
def test_edges_on_the_far_side_do_not_touch(seed: int) -> None:
    """Bodies that are apart have no gap below their distance, in tables and one by one; once by 9 cm."""
    world = cs.Robot.merge([cs.Robot.hull(1.0, SPIKE)] * 2, names=["a", "b"])
    mechanism = cs.ContactSystem(world, OFF).mechanism
    q, distance = touching(world, seed)
    first = len(mechanism.names) - len(mechanism.pair_names)
    assert mechanism.gaps(0.0, q)[first:].min() == pytest.approx(distance, abs=EXACT)
    one_by_one = [mechanism._pairs.gap(q, k) for k in range(len(mechanism.pair_names))]
    assert min(one_by_one) == pytest.approx(distance, abs=EXACT)
