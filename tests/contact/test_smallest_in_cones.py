"""The smallest forces within cones: projections in closed form, and the conditions that tell the smallest ones."""

from __future__ import annotations

import numpy as np
import pytest

from contactsim.contact.cone_program import minimiser
from contactsim.contact.smallest_in_cones import Cone, smallest_in_cones

Array = np.ndarray


@pytest.mark.parametrize("seed", range(40))
def test_one_cone_is_reached_along_its_normal(seed: int) -> None:
    """The way to |f_t| <= f_n from f: nothing inside, f_n = |f_t| = (f_n + |f_t|) / 2 beside it, f = 0 below it."""
    force = np.random.default_rng([1, seed]).normal(size=3)
    y = smallest_in_cones([Cone(np.eye(3), force, second_order=True)], 3)
    size, top = float(np.linalg.norm(force[1:])), float(force[0])
    half = 0.5 * (top + size)
    beside = np.append(half, half * force[1:] / size)
    found = force if size <= top else np.zeros(3) if size <= -top else beside
    assert y is not None
    np.testing.assert_allclose(force + y, found, atol=1e-13)


def test_cones_that_meet_nowhere_hold_nothing() -> None:
    """f_n >= 1 + |f_t| and -f_n >= 1 + |f_t|, of three forces."""
    turned = np.diag([-1.0, 1.0, 1.0])
    away = np.array([-1.0, 0.0, 0.0])
    cones = [Cone(rows, away, second_order=True) for rows in (np.eye(3), turned)]
    assert smallest_in_cones(cones, 3) is None


def random_problem(seed: int) -> tuple[list[Cone], list[tuple[Array, Array]], int]:
    """Cones with a point inside, on an edge, or at a tip; as cones, and as rows (r, k) and values (r,)."""
    rng = np.random.default_rng([2, seed])
    unknown, inside = int(rng.integers(1, 9)), list[Array]()
    for _ in range(int(rng.integers(1, 7))):
        aside = rng.normal(size=int(rng.integers(0, 3)))
        room = float(np.linalg.norm(aside)) + (abs(rng.normal()) if len(aside) == 0 else 1e-3 * rng.random())
        inside.append(np.append(room, aside) * rng.choice([1.0, 0.03]))
    point, parts = rng.normal(size=unknown), list[tuple[Array, Array]]()
    for one in inside:
        rows = rng.normal(size=(len(one), unknown))
        parts.append((rows, one - rows @ point))
    return [Cone(rows, values, len(values) > 1) for rows, values in parts], parts, unknown


@pytest.mark.parametrize("seed", range(200))
def test_forces_are_in_the_cones_and_pushed_there_by_those_they_touch(seed: int) -> None:
    """No longer than what an interior-point method finds, and away from tips y = sum of u_i gradients of distances g_i.

    Those g_i are zero, and u_i >= 0: so |y| is the least, as it is convex.
    """
    cones, parts, unknown = random_problem(seed)
    y = smallest_in_cones(cones, unknown)
    assert y is not None
    rows, values = np.vstack([one for one, _ in parts]), np.concatenate([one for _, one in parts])
    kinds = [(len(one) > 1, len(one)) for _, one in parts]
    other = minimiser(np.eye(unknown), np.zeros(unknown), -rows, values, kinds)
    assert other is not None
    assert np.linalg.norm(y) <= np.linalg.norm(other) + 1e-7
    forces = [own + one @ y for one, own in parts]
    sizes = [float(np.linalg.norm(force[1:])) for force in forces]
    rooms = [float(force[0]) - size for force, size in zip(forces, sizes, strict=True)]
    assert min(rooms) >= -1e-12 * float(np.abs(values).max())
    touched = [k for k, room in enumerate(rooms) if room <= 1e-9]
    if all(sizes[k] > 1e-6 or not kinds[k][0] for k in touched):
        normals = [np.append(1.0, -forces[k][1:] / (sizes[k] or 1.0)) @ parts[k][0] for k in touched]
        pushes = np.array(normals).reshape(-1, unknown).T
        shares, *_ = np.linalg.lstsq(pushes, y)
        np.testing.assert_allclose(pushes @ shares, y, atol=1e-9)
        assert shares.min(initial=0.0) >= -1e-9


@pytest.mark.parametrize("seed", [3822, *range(40)])
def test_forces_that_begin_close_to_a_tip_are_told(seed: int) -> None:
    """Where a cone bends most the way to its inside is long in the metric of a step, and yet there is one."""
    rng = np.random.default_rng(seed)
    near = np.array([-rng.random(), *(rng.normal(size=2) * 10.0 ** rng.uniform(-12, -9))])
    point, aside = np.array([1.0 + rng.random(), *(0.5 * rng.normal(size=2))]), rng.normal(size=2)
    other, rows = np.append(np.linalg.norm(aside) + 1e-3 * rng.random(), aside), rng.normal(size=(3, 3))
    if near[0] + point[0] < np.hypot(*(near + point)[1:]):
        pytest.skip("the point is not inside")
    parts = [(np.eye(3), near), (rows, other - rows @ point)]
    y = smallest_in_cones([Cone(own, values, second_order=True) for own, values in parts], 3)
    assert y is not None
    assert np.linalg.norm(y) <= np.linalg.norm(point) + 1e-12
    for own, values in parts:
        force = values + own @ y
        assert force[0] - np.hypot(*force[1:]) >= -1e-12


def test_planes_that_hardly_differ_take_no_digits() -> None:
    """Along a cone's edge, from outside of where a second one cuts it: both edges are met to rounding."""
    for angle in np.linspace(0.01, 1.5, 30):
        force = np.array([0.2, np.cos(angle), np.sin(angle)])
        wall = Cone(np.array([[0.0, 0.0, 1.0]]), np.array([force[2] - 0.9]), second_order=False)
        y = smallest_in_cones([Cone(np.eye(3), force, second_order=True), wall], 3)
        assert y is not None
        found = force + y
        assert found[0] - np.hypot(*found[1:]) >= -1e-14
        assert found[2] - 0.9 >= -1e-14
