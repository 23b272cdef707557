"""Friction at rest under given normal forces, by its conditions: they hold for one motion only."""

from __future__ import annotations

import numpy as np
import pytest

from contactsim.contact.resting_friction import resting_friction, within


@pytest.mark.parametrize("sizes", [(2,), (1, 2), (2, 2, 2), (1, 1, 1, 1)])
def test_what_slips_slips_against_the_largest_friction_and_what_sticks_rests(sizes: tuple[int, ...]) -> None:
    rng, slipped = np.random.default_rng(3), []
    ends = np.cumsum(sizes)
    tangents = [slice(int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True)]
    for _ in range(40):
        root = rng.normal(size=(ends[-1], ends[-1] + 1))
        delassus, free, most = root @ root.T, rng.normal(size=ends[-1]), rng.uniform(0.05, 1.0, len(sizes))
        slips = resting_friction(delassus, free, tangents, most.tolist())
        forces, motion = _forces(delassus, free, tangents, slips, most)
        for t, slip, c in zip(tangents, slips, most, strict=True):
            if slip is None:
                assert np.linalg.norm(forces[t]) <= c * (1.0 + 1e-9)
            else:
                speed = np.linalg.norm(motion[t])
                np.testing.assert_allclose(motion[t], speed * slip, atol=1e-7 * max(speed, 1.0))
        slipped += [slip is not None for slip in slips]
    assert any(slipped) and not all(slipped)


def _forces(delassus, free, tangents, slips, most):  # type: ignore[no-untyped-def]
    """Forces and motion with these slips, all others at rest."""
    forces = np.zeros(len(free))
    for t, slip, c in zip(tangents, slips, most, strict=True):
        if slip is not None:
            forces[t] = -c * slip
    held = [row for t, slip in zip(tangents, slips, strict=True) if slip is None for row in range(t.start, t.stop)]
    if held:
        forces[held] = -np.linalg.solve(delassus[np.ix_(held, held)], (free + delassus @ forces)[held])
    return forces, free + delassus @ forces


def test_without_normal_force_there_is_no_friction() -> None:
    (slip,) = resting_friction(np.eye(2), np.array([3.0, 4.0]), [slice(0, 2)], [0.0])
    np.testing.assert_allclose(slip, [0.6, 0.8])
    assert resting_friction(np.eye(2), np.zeros(2), [slice(0, 2)], [0.0]) == (None,)


def test_a_contact_that_pushes_against_what_does_not_move_by_it_slips() -> None:
    """G is singular along the motion: no force stops it, and the largest one is against it, whatever rounding says."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        angle, speed, most = rng.uniform(0.0, 7.0), rng.uniform(0.1, 3.0), float(rng.uniform(0.1, 2.0))
        along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        force = within(rng.uniform(0.1, 3.0) * np.outer(across, across), speed * along, most)
        np.testing.assert_allclose(force, -most * along, rtol=0, atol=1e-12)
