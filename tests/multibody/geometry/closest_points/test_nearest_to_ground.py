"""The nearest point of a curved body to the ground: against brute force, closed forms and finite differences."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from tolerances import CLOSEST_MINIMUM, CLOSEST_POINT, CLOSEST_RATE, CLOSEST_SECOND

from contactsim import terrain
from contactsim.errors import SingularError
from contactsim.hybrid.differences import derivative
from contactsim.multibody.geometry.closest_points.equations import Pose
from contactsim.multibody.geometry.closest_points.features import Circle, Ellipsoid, Point
from contactsim.multibody.geometry.closest_points.ground import (
    OverGround,
    Rounded,
    drift_over,
    jet_at,
    lowest,
    placed,
    settled_over,
)

STEP = 3e-4
HILLS = {
    "sinusoid": terrain.Sinusoid(0.05, 2.0, 1.5),
    "belt over hills": terrain.Sinusoid(0.05, 2.0, 1.5, (0.3, -0.2)),
    "wave": terrain.Function(
        lambda t, x, y: 0.05 * np.sin(2.0 * x - 3.0 * t) + 0.1 * y,
        lambda t, x, y: np.array([-0.15, 0.1, 0.0]) * np.cos(2.0 * x - 3.0 * t) + np.array([0.0, 0.0, 0.1]),
        curvature=0.25,
        moving=True,
    ),
    "slope": terrain.Slope(0.2),
}
FEATURES = {
    "ellipsoid": Ellipsoid(np.array([0.01, 0.02, 0.0]), np.eye(3), np.array([0.3, 0.2, 0.1])),
    "circle": Circle(np.array([0, 0, -0.1]), np.array([0, 0, 1.0]), 0.2),
    "point": Point(np.array([0.1, 0, 0]), 0.05),
}
NAMES = ["ellipsoid", "circle", "point"]
POSE = Pose(Rotation.from_rotvec([0.7, 0.4, 0.3]).as_matrix(), np.array([0.4, 0.3, 0.35]))


def beside(pose):
    """The pose for each of the features."""
    return Pose(np.stack([pose.R] * 3, axis=-3), np.stack([pose.o] * 3, axis=-2))


def moved(pose, twist):
    place = pin.exp6(pin.Motion(twist[:3], twist[3:])) * pin.SE3(pose.R, pose.o)
    return Pose(place.rotation, place.translation)


BODIES = Rounded.of([FEATURES[name] for name in NAMES])


@pytest.mark.parametrize("ground", HILLS)
def test_nearest_points_against_brute_force(ground):
    """No point of a feature is nearer to the ground; the normal below and the nearest one agree on the ground."""
    hills, t = HILLS[ground], 0.2
    found = lowest(BODIES, beside(POSE), hills, t, near=True)
    gaps = hills.surface(t, found.core).distance - BODIES.offset
    for k, name in enumerate(NAMES):
        feature = FEATURES[name]

        def distance(u, feature=feature):
            m = np.array([np.cos(u[0]) * np.cos(u[1]), np.sin(u[0]) * np.cos(u[1]), np.sin(u[1])])
            core = POSE.o + POSE.R @ feature.core(m)
            return hills.surface(t, core[None]).distance[0] - feature.offset

        starts = np.random.default_rng(0).uniform(-0.2, 0.2, (3, 2)) - np.array([0.0, 1.2])
        options = {"xatol": 1e-10, "fatol": 1e-15}
        least = min(minimize(distance, start, method="Nelder-Mead", options=options).fun for start in starts)
        assert gaps[k] == pytest.approx(least, abs=CLOSEST_MINIMUM)
    o = POSE.o
    for _ in range(5):  # let the ellipsoid down
        there = lowest(BODIES, beside(Pose(POSE.R, o)), hills, t, near=True)
        o = o - (hills.surface(t, there.core).distance - BODIES.offset)[0] * there.normal[0]
    down = beside(Pose(POSE.R, o))
    both = [lowest(BODIES, down, hills, t, near).core[0] for near in (False, True)]
    assert np.abs(both[0] - both[1]).max() < CLOSEST_POINT


@pytest.mark.parametrize("ground", HILLS)
def test_rates_and_their_derivatives(ground):
    """n' and x' as bodies and time go on; their derivative by the poses as a complex step."""
    hills, t0, rng = HILLS[ground], 0.2, np.random.default_rng(1)
    twist, along = rng.normal(size=(2, 6))

    def at(t, pose, start):
        jet = jet_at(hills, t, start.core, third=True)
        found, S = settled_over(BODIES, pose, jet, start)
        return jet, np.concatenate(drift_over(found, S, jet.curvature(found.core), twist), axis=-1)

    start = lowest(BODIES, beside(POSE), hills, t0, near=True)
    jet, rates = at(t0, beside(POSE), start)

    def going_on(h):
        there = lowest(BODIES, beside(moved(POSE, h * twist)), hills, t0 + h, near=True)
        return np.concatenate([there.normal, there.core], axis=-1)

    loose = 100.0 if ground == "wave" else 1.0  # its second derivatives are differenced
    assert np.abs(derivative(going_on, STEP) - rates).max() < loose * CLOSEST_RATE * max(1.0, np.abs(rates).max())

    h = 1e-30
    R, o = POSE
    stepped = Pose(R + 1j * h * np.cross(along[3:], R.T).T, o + 1j * h * (along[:3] + np.cross(along[3:], o)))
    begin = OverGround(*(part.astype(complex) for part in start))
    there, S = settled_over(BODIES, beside(stepped), jet, begin)
    second = np.concatenate(drift_over(there, S, jet.curvature(there.core), twist), axis=-1).imag / h

    def rates_there(e):
        pose = beside(moved(POSE, e * along))
        return at(t0, pose, lowest(BODIES, pose, hills, t0, near=True))[1]

    differences = derivative(rates_there, STEP)
    assert np.abs(differences - second).max() < 10.0 * loose * CLOSEST_SECOND * max(1.0, np.abs(second).max())


def quadric(a, b):
    """The ground h = a x^2 + b y^2."""
    return terrain.Function(
        lambda t, x, y: a * x * x + b * y * y,
        lambda t, x, y: 2.0 * np.array([a * x, b * y]),
        lambda t, x, y: 2.0 * np.diag([a, b]),
        curvature=2.0 * max(abs(a), abs(b)),
    )


@pytest.mark.parametrize("tilt", [1e-8, 5e-8, 1e-6, 1e-3])
def test_the_lowest_point_of_a_disc_that_all_but_lies_flat_is_on_its_rim(tilt):
    """R from its centre, across its axis, and R sin(tilt) below."""
    axis, radius = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0), 0.1
    aside = np.cross(axis, [0.0, 0.0, 1.0]) / np.linalg.norm(np.cross(axis, [0.0, 0.0, 1.0]))
    disc, m = Rounded.of([Circle(np.zeros(3), axis, radius)]), np.cos(tilt) * axis + np.sin(tilt) * aside
    point, bend = (part[0] for part in disc.under(m[None]))
    assert np.linalg.norm(point) == pytest.approx(radius, abs=1e-15)
    assert point @ axis == pytest.approx(0.0, abs=1e-15)
    assert point @ m == pytest.approx(radius * np.sin(tilt), abs=1e-15)
    assert np.trace(bend) == pytest.approx(radius / np.sin(tilt), rel=1e-7)


QUADRICS = {"saddle": (0.25, -0.25), "hump": (-0.3, -0.1), "hollow": (0.3, 0.1)}
AROUND = np.linspace(0.0, 2.0 * np.pi, 7201)[:-1]


def lowest_around(a, b, centre, axis, radius):
    """s = -N . e of the points of a rim, where it is higher above quadrics than neither of its neighbours, with e."""
    first = np.cross(axis, [1.0, 0.0, 0.0])
    first = first / np.linalg.norm(first)
    e = np.cos(AROUND)[:, None] * first + np.sin(AROUND)[:, None] * np.cross(axis, first)
    x, y, z = (centre + radius * e).T
    clear = z - a * x * x - b * y * y
    normals = np.column_stack([-2.0 * a * x, -2.0 * b * y, np.ones(len(x))])
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    least = (clear <= np.roll(clear, 1)) & (clear <= np.roll(clear, -1))
    return -(normals * e).sum(axis=1)[least], e[least]


@pytest.mark.parametrize("ground", QUADRICS)
def test_rims_of_discs_that_lie_nearly_flat(ground):
    """Of the points of a rim that are lower than those beside them, the one whose normal leans most is found."""
    hills, rng = quadric(*QUADRICS[ground]), np.random.default_rng(3)
    disc = Rounded.of([Circle(np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.2)])
    for tilt in (0.0, 1e-9, 1e-5, 1e-3, 0.03, 0.1, 0.2, 0.3):
        for _ in range(5):
            heading, place = rng.uniform(0.0, 2.0 * np.pi), rng.uniform([-0.3, -0.3, 0.1], [0.3, 0.3, 0.2])
            R = Rotation.from_rotvec(tilt * np.array([np.cos(heading), np.sin(heading), 0.0])).as_matrix()
            found = lowest(disc, Pose(R[None], place[None]), hills, 0.0)
            e = (found.core[0] - place) / 0.2
            leans, ways = lowest_around(*QUADRICS[ground], place, R[:, 2], 0.2)
            assert -found.normal[0] @ e == pytest.approx(leans.max(), abs=1e-4)
            assert np.abs(ways - e).max(axis=1).min() < 2e-3
            assert e @ R[:, 2] == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("hills", [terrain.Sinusoid(0.0, 2.0, 1.0), terrain.Sinusoid(0.05, 9.0, 7.0)])
def test_rims_over_level_and_over_rough_ground(hills):
    """Some point of the rim is found at any tilt, over ground that bends more than the disc, too."""
    disc, rng = Rounded.of([Circle(np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.2)]), np.random.default_rng(4)
    for tilt in (0.0, 1e-16, 1e-9, 1e-3, 0.1, 1.5):
        for axis in rng.normal(size=(10, 3)):
            R = Rotation.from_rotvec(tilt * axis).as_matrix()
            arm = lowest(disc, Pose(R[None], np.array([[0.1, 0.2, 0.3]])), hills, 0.0).core[0] - [0.1, 0.2, 0.3]
            assert [np.linalg.norm(arm), arm @ R[:, 2]] == pytest.approx([0.2, 0.0], abs=1e-12)


def test_a_disc_on_a_hump_has_no_rim_on_the_ground():
    """Its rim is refused where it is asked for as a contact; tilted farther it touches."""
    hills = quadric(*QUADRICS["hump"])
    disc = Rounded.of([Circle(np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.2)])
    for tilt, touches in ((0.02, False), (0.3, True)):
        R = Rotation.from_rotvec([tilt, 0.0, 0.0]).as_matrix()
        pose = Pose(R[None], np.array([[0.0, 0.0, 0.01 + 0.2 * np.sin(tilt)]]))
        if touches:
            found = lowest(disc, pose, hills, 0.0, near=True)
            assert np.abs(placed(disc, pose, found.normal)[0] - found.core).max() < CLOSEST_POINT
        else:
            with pytest.raises(SingularError, match=r"no point of the rim of a disc near .* is flat on it"):
                lowest(disc, pose, hills, 0.0, near=True)
