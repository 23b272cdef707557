"""Outcomes of impacts with redundant contacts that slip: closed forms, and independence of where the search begins."""

from itertools import permutations

import numpy as np
import pytest

import contactsim as cs
from contactsim import Mode
from contactsim.contact.even_sharing import motion_is_a_choice, shared_evenly
from contactsim.contact.problem import ContactProblem, ContactSolution
from contactsim.contact.solvers.pivot import violations

CORNERS = np.array([[0.2, 0.1], [-0.2, 0.1], [-0.2, -0.1], [0.2, -0.1]])
MASS, SPIN, MU, DOWN = 0.7, 0.004, 0.3, 0.5  # kg, kg m^2 about the normal, -, m/s


def plate(corners: np.ndarray = CORNERS, height: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """J (3 n, 6) of a plate on corners, whose mass lies `height` above them, and M (6,) by v and omega."""
    rows = []
    for x, y in corners:
        rows += [[0, 0, 1, y, -x, 0], [1, 0, 0, 0, -height, -y], [0, 1, 0, height, 0, x]]
    return np.array(rows, dtype=float), np.array([MASS] * 3 + [0.003, 0.002, SPIN])


def before(corners: np.ndarray, after: np.ndarray, impulses: np.ndarray) -> np.ndarray:
    """Twist (6,) before an impact that ends with `after`, under normal impulses on corners that slip then."""
    J, M = plate(corners)
    slips = (J @ after).reshape(-1, 3)[:, 1:]
    rubbing = -MU * impulses[:, None] * slips / np.linalg.norm(slips, axis=1)[:, None]
    return after - (J.T @ np.column_stack([impulses, rubbing]).ravel()) / M


def landing(corners: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """G and w0 of a plate that lands with the twist v."""
    J, M = plate(corners)
    return J / M @ J.T, J @ v


def test_a_spinning_plate_lands_evenly_on_four_corners() -> None:
    """Its mass in the plane of the corners, it bears m u / 4 on each of them: the bed of springs is pressed evenly.

    All n_k = m u / 4 (1 + (-1)^k d) hold it as well, and rub in other ways.
    """
    after = np.array([0.3, -0.1, 0.0, 0.0, 0.0, 4.0])
    v = before(CORNERS, after, np.full(4, MASS * DOWN / 4))
    np.testing.assert_allclose(v[2:5], [-DOWN, 0.0, 0.0], atol=1e-15)
    G, w0 = landing(CORNERS, v)
    for order in permutations(range(4)):
        rows = np.concatenate([np.arange(3 * k, 3 * k + 3) for k in order])
        found = cs.solve_contacts(G[np.ix_(rows, rows)], w0[rows], np.full(4, MU), restitution=0.0)
        np.testing.assert_allclose(found.forces[::3], MASS * DOWN / 4, rtol=1e-12)
        np.testing.assert_allclose(found.motion, (plate()[0] @ after)[rows], atol=1e-13)
        assert not found.unique and motion_is_a_choice(found) and not found.undecided


def other_outcome(share: float) -> ContactSolution:
    """An outcome in which two corners across bear more than the others; with `share` = 1 these bear nothing."""
    after = np.array([0.3, -0.1, 0.0, 0.0, 0.0, 4.0])
    impulses = MASS * DOWN / 4 * (1.0 + share * np.array([1.0, -1.0, 1.0, -1.0]))
    G, w0 = landing(CORNERS, before(CORNERS, after, impulses))
    problem = ContactProblem(G, w0, (3,) * 4, np.full(4, MU), np.full(4, MU), (None,) * 4)
    slips = (plate()[0] @ after).reshape(-1, 3)[:, 1:]
    slips /= np.linalg.norm(slips, axis=1)[:, None]
    forces = np.column_stack([impulses, -MU * impulses[:, None] * slips]).ravel()
    modes = (Mode.SLIP, Mode.OPEN) * 2 if share == 1.0 else (Mode.SLIP,) * 4
    return ContactSolution(problem, modes, forces, tuple(slips), share == 1.0)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_the_rule_leads_from_any_outcome_to_the_same_one(share: float) -> None:
    """The law is fulfilled by what it starts from, and by what it leads to, in which all bear the same."""
    begin = other_outcome(share)
    assert not violations(begin)
    end = shared_evenly(begin)
    assert not violations(end)
    np.testing.assert_allclose(end.forces[::3], MASS * DOWN / 4, rtol=1e-12)
    assert np.abs(end.motion - begin.motion).max() > 0.005
    other = cs.solve_contacts(begin.problem.delassus, begin.problem.free, np.full(4, MU), restitution=0.0)
    np.testing.assert_allclose(other.motion, end.motion, atol=1e-13)


def test_a_corner_that_would_be_pulled_stays_open() -> None:
    """The mass high above the corners: friction tips it forward. The outcome is the limit of contacts that yield."""
    J, M = plate(height=0.6)
    G, w0 = J / M @ J.T, J @ np.array([1.0, 0.2, -DOWN, 0.0, 0.0, 3.0])
    found = cs.solve_contacts(G, w0, np.full(4, MU), restitution=0.0)
    assert Mode.OPEN in found.modes
    errors = []
    for yielding in (1e-4, 1e-5, 1e-6):
        soft = cs.solve_contacts(G + yielding * np.eye(12), w0, np.full(4, MU))
        errors.append(np.abs(soft.forces - found.forces).max())
    assert errors[2] < 1e-5 and 5.0 < errors[0] / errors[1] < 15.0 and 5.0 < errors[1] / errors[2] < 15.0


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_limit_of_contacts_that_yield_alike(seed: int) -> None:
    """Plates on six corners at random, with friction that lets some of them stick: errors fall like the yielding."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-0.2, 0.2, (6, 2))
    J, M = plate(corners, height=0.05)
    G, w0 = J / M @ J.T, J @ np.r_[rng.normal(size=2) * 0.3, -DOWN, 0.0, 0.0, 3.0 * rng.normal()]
    found = cs.solve_contacts(G, w0, np.full(6, MU), restitution=0.0)
    scale = np.abs(found.forces).max()
    near, nearer = (
        np.abs(cs.solve_contacts(G + yielding * np.eye(18), w0, np.full(6, MU)).motion - found.motion).max() / scale
        for yielding in (1e-5, 1e-6)
    )
    assert near < 1e-3 and nearer < 0.2 * near


def test_a_plate_that_slides_without_spin_has_one_outcome() -> None:
    """All corners slip alike, so that it does not matter how they share: impulses are not unique, motion is."""
    v = np.array([1.0, 0.0, -DOWN, 0.0, 0.0, 0.0])
    found = cs.solve_contacts(*landing(CORNERS, v), np.full(4, MU), restitution=0.0)
    assert not found.unique and not motion_is_a_choice(found)
    np.testing.assert_allclose(found.motion[1::3], 1.0 - MU * DOWN, atol=1e-14)


def test_the_outcome_changes_continuously_where_a_corner_begins_to_bear() -> None:
    """Along a way on which contacts open, close, slip and stick; the steps of impulses fall with those of the state."""
    J, M = plate(height=0.3)
    G = J / M @ J.T

    def along(count: int) -> float:
        forces = [
            cs.solve_contacts(
                G, J @ [1.5 * s, 0.3, -DOWN, 0.0, 0.0, 4.0 * (1 - s)], np.full(4, MU), restitution=0.0
            ).forces
            for s in np.linspace(-1.0, 1.0, count)
        ]
        return float(np.abs(np.diff(forces, axis=0)).max())

    assert along(401) < 0.3 * along(101)
