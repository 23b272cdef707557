"""Forces proposed by convex programs, and the modes that are read off forces of moderate accuracy."""

from __future__ import annotations

import numpy as np
import pytest

from contactsim.contact.modes import Mode
from contactsim.contact.problem import ContactProblem
from contactsim.contact.solvers.conic import proposed
from contactsim.contact.solvers.contract import Start
from contactsim.contact.solvers.pivot import solve_modes, violations

Array = np.ndarray
MODERATE = 1e-4  # complementarity of proposed forces, relative to the largest force and motion
MU = 0.3


def pile(seed: int, slide: float) -> ContactProblem:
    """Contacts of three bodies on the ground and on each other, more than they have freedoms; some slide already."""
    rng = np.random.default_rng(seed)
    rows, sliding = [], []
    for first, second, count in ((0, None, 4), (1, None, 3), (2, None, 2), (0, 1, 2), (1, 2, 3)):
        normal = np.array([0.0, 0.0, 1.0]) if second is None else rng.normal(size=3)
        frame = np.linalg.qr(np.column_stack([normal, np.eye(3)[:, :2]]))[0].T
        for _ in range(count):
            jacobian, arm = np.zeros((3, 18)), rng.uniform(-0.1, 0.1, size=3)
            for body, sign, at in ((first, 1.0, arm), (second, -1.0, -arm)):
                if body is not None:
                    part = slice(6 * body, 6 * body + 6)
                    turn = np.cross(at, frame) / 0.05  # unit mass, a radius of gyration of 5 cm
                    jacobian[:, part] = sign * np.hstack([frame, turn])
            rows.append(jacobian if second is None else jacobian * np.sign(jacobian[0, 6 * first + 2]))
            way = rng.uniform(0.0, 2.0 * np.pi)
            sliding.append(np.array([np.cos(way), np.sin(way)]) if rng.random() < slide else None)
    matrix, count = np.vstack(rows), len(sliding)
    free = matrix @ np.tile([0.0, 0.0, -9.81, 0.0, 0.0, 0.0], 3)
    friction = np.full(count, MU)
    return ContactProblem(matrix @ matrix.T, free, (3,) * count, friction, friction, tuple(sliding))


@pytest.mark.parametrize("slide", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(6))
def test_programs_end_near_a_solution_where_contacts_slide(seed: int, slide: float) -> None:
    problem = pile(seed, slide)
    forces = proposed(problem)
    motion, normals = problem.delassus @ forces + problem.free, list(problem.starts)
    largest, speed = float(np.abs(forces).max()), problem.speed
    missed = np.minimum(np.abs(forces[normals]) / largest, np.abs(motion[normals]) / speed)
    assert missed.max() <= MODERATE
    assert motion[normals].min() >= -MODERATE * speed and forces[normals].min() >= -MODERATE * largest


@pytest.mark.parametrize("along", [3e-6, 1e-4])
def test_a_contact_that_hardly_slips_is_told_from_one_that_hardly_sticks(along: float) -> None:
    """Both are at the edge of their cones, to the accuracy of the forces; only one of them moves."""
    delassus, friction = np.eye(6), np.full(2, MU)
    slips, sticks = np.array([1.0, -MU * (1.0 - 2e-9), 0.0]), np.array([1.0, -MU * (1.0 - 5e-7), 0.0])
    free = -np.concatenate([slips, sticks])
    free[1] = MU + along
    problem = ContactProblem(delassus, free, (3, 3), friction, friction, (None, None))
    forces = np.concatenate([slips, sticks])
    start = Start.of_contrasts(problem, forces)
    assert start.modes == (Mode.SLIP, Mode.STICK)
    assert not violations(solve_modes(problem, start.modes, start.directions))
    assert Start.of_forces(problem, forces).modes == (Mode.SLIP, Mode.SLIP)
