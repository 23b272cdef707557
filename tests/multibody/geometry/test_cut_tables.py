"""Gaps of some contacts, from tables that are cut for them, are those of the tables of all."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs

ROUNDING = 1e-12  # m


@pytest.mark.filterwarnings("ignore:part .* meets other parts with")
def test_some_gaps_are_those_of_all() -> None:
    """Of bodies of all shapes, close to each other: the same numbers, whichever contacts are asked."""
    bodies = [
        cs.Robot.cylinder(1.0, 0.1, 0.3),
        cs.Robot.cylinder(1.0, 0.08, 0.05),
        cs.Robot.cone(1.0, 0.1, 0.2),
        cs.Robot.box(1.0, (0.2, 0.1, 0.15)),
        cs.Robot.capsule(1.0, 0.05, 0.2),
        cs.Robot.ellipsoid(1.0, (0.1, 0.08, 0.05)),
    ]
    world = cs.Robot.merge(bodies, names=[f"b{k}" for k in range(len(bodies))])
    mechanism, rng = cs.ContactSystem(world).mechanism, np.random.default_rng(0)
    for _ in range(3):
        places = (pin.SE3(pin.exp3(2.0 * rng.normal(size=3)), 0.1 * rng.normal(size=3)) for _ in bodies)
        q = np.concatenate([pin.SE3ToXYZQUAT(place) for place in places])
        whole = mechanism.gaps(0.0, q)
        for share in (0.02, 0.2, 0.7):
            chosen = np.flatnonzero(rng.random(len(whole)) < share)
            found = mechanism.gaps_of(0.0, q, chosen)
            off = np.flatnonzero(np.abs(found - whole[chosen]) > ROUNDING)
            assert not len(off), [(mechanism.names[chosen[k]], found[k], whole[chosen[k]]) for k in off]
