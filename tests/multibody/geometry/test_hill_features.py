"""Corners, edges and faces over hills: their nearest points, how these move, and where others take over."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import contactsim as cs
from contactsim.multibody.geometry.features import Bodies, Place
from contactsim.multibody.geometry.hill_features import ACTING, FlatOnHills
from contactsim.multibody.geometry.hill_pieces import carried, corners_of, features_of
from contactsim.multibody.geometry.nearest_on_hills import NearestPoint
from contactsim.multibody.terrain.hills import Hills

HILLS = cs.terrain.Sinusoid(0.1, 2.0, 1.5)
TOP = np.array([np.pi / 4.0, 0.0, 0.1])
STEP = 1e-5  # of central differences: their error is some 1e-9 of what they difference


def features(robot: cs.Robot, ground: Hills = HILLS) -> dict[str, FlatOnHills]:
    """The features of the body of a robot, by the ends of their names."""
    (body,) = carried(robot, ground)
    pairs = [*features_of(body, ground), *corners_of(body, ground)]
    return {pair.name.rpartition("/")[2]: pair.features for pair in pairs}  # type: ignore[misc]


def place(R: np.ndarray, o: np.ndarray) -> Place:
    return Place(R, o, np.eye(3), np.zeros(3))


def over_the_top(feature: FlatOnHills, turn: np.ndarray, off: np.ndarray) -> Place:
    """A feature turned so that the middle of it lies `off` from the top of a hump."""
    return place(turn, TOP + off - turn @ feature.centre)


def downwards(robot: cs.Robot, kind: str) -> list[FlatOnHills]:
    """Features of one kind that lie lowest."""
    found = [feature for name, feature in features(robot).items() if name.startswith(kind)]
    least = min(feature.centre[2] for feature in found)
    return [feature for feature in found if feature.centre[2] < least + 1e-9]


BOX = cs.Robot.box(1.0, (0.6, 0.4, 0.2))
CAPSULE = cs.Robot.capsule(1.0, 0.1, 0.5)
CONE = cs.Robot.cone(1.0, 0.1, 0.3)
LYING = pin.utils.rpyToMatrix(0.0, np.pi / 2.0, 0.0)
LEANT = pin.utils.rpyToMatrix(0.0, np.pi / 2.0 + np.arctan2(0.1, 0.3), 0.0)  # a cone on its side
CASES = {
    "corner": (downwards(BOX, "corner")[0], np.eye(3)),
    "edge": (downwards(BOX, "edge")[0], np.eye(3)),
    "face": (downwards(BOX, "face")[0], np.eye(3)),
    "side": (features(CAPSULE)["edge0"], LYING),
    "end": (features(CAPSULE)["corner0"], LYING),
    "side of a cone": (features(CONE)["edge0"], LEANT),
    "tip": (features(CONE)["corner0"], LEANT),
}


@pytest.mark.parametrize("case", CASES)
def test_rates_are_those_of_differences(case: str) -> None:
    feature, turn = CASES[case]
    rng = np.random.default_rng(3)
    here = over_the_top(feature, pin.exp3(0.03 * rng.normal(size=3)) @ turn, 0.02 * rng.normal(size=3))
    twist = rng.normal(size=6)

    def moved(h: float) -> Place:
        spin = pin.exp3(h * twist[3:])
        motion = pin.exp6(pin.Motion(h * twist))
        assert np.allclose(motion.rotation, spin)
        return place(motion.rotation @ here.R_a, motion.act(here.o_a))

    def bodies(where: Place) -> Bodies:
        return Bodies(*where, twist, np.zeros(6), np.zeros(6), np.zeros(6))

    met = feature.meet(bodies(here), ACTING)
    ahead, behind = (feature.meet(bodies(moved(h)), ACTING) for h in (STEP, -STEP))
    assert np.allclose(met.x_rate, (ahead.x - behind.x) / (2.0 * STEP), rtol=1e-6, atol=1e-6)
    assert np.allclose(met.n_rate, (ahead.n - behind.n) / (2.0 * STEP), rtol=1e-6, atol=1e-6)
    rise = (feature.gap(moved(STEP), ACTING) - feature.gap(moved(-STEP), ACTING)) / (2.0 * STEP)
    assert met.n @ (twist[:3] + np.cross(twist[3:], met.x)) == pytest.approx(float(rise), rel=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_complex_steps_give_the_derivatives_of_rates_and_margins(case: str) -> None:
    feature, turn = CASES[case]
    rng = np.random.default_rng(4)
    here = over_the_top(feature, pin.exp3(0.03 * rng.normal(size=3)) @ turn, 0.02 * rng.normal(size=3))
    twist, spin, way = rng.normal(size=6), rng.normal(size=3), rng.normal(size=3)
    about = pin.skew(spin) @ here.R_a

    def values(R: np.ndarray, o: np.ndarray) -> np.ndarray:
        where, still = place(R, o), np.zeros(6)
        met = feature.meet(Bodies(*where, twist, still, still, still), ACTING)
        margins = [np.atleast_1d(feature.margin(where, ACTING, side)) for side in feature.sides(ACTING)]
        return np.concatenate([met.x_rate, met.n_rate, *margins, np.atleast_1d(feature.gap(where, ACTING))])

    h = 1e-30
    found = values(here.R_a + 1j * h * about, here.o_a + 1j * h * way).imag / h
    ahead, behind = (values(pin.exp3(s * spin) @ here.R_a, here.o_a + s * way) for s in (STEP, -STEP))
    assert np.allclose(found, (ahead - behind) / (2.0 * STEP), rtol=1e-5, atol=1e-6)


def test_open_gaps_are_those_of_the_lowest_of_many_points() -> None:
    rng = np.random.default_rng(5)
    edge, face = (CASES[name][0] for name in ("edge", "face"))
    for feature in (edge, face):
        acted = 0
        for _ in range(40):
            here = over_the_top(feature, pin.exp3(0.03 * rng.normal(size=3)), 0.003 * rng.normal(size=3))
            shares = rng.uniform(-1.0, 1.0, (4000, len(feature.along))) * np.abs(feature.samples).max(axis=0)
            points = (feature.centre + shares @ feature.along) @ here.R_a.T + here.o_a
            least = float(HILLS.gaps(0.0, points, np.zeros(len(points))).min())
            if feature.acts(here):
                acted += 1
                assert least - 1e-3 < feature.open_gap(here) <= least
            elif least > 0.0:
                assert feature.open_gap(here) > 0.0
        assert acted > 3


def test_one_feature_ends_where_the_next_one_begins() -> None:
    """A box tilts over a hump: its corner, its edge and its face touch one after the other, one at a time."""
    corner = next(f for f in downwards(BOX, "corner") if f.centre[0] < 0.0 and f.centre[1] < 0.0)
    own = [f for f in downwards(BOX, "edge") if any(np.allclose(f.centre[k], corner.centre[k]) for k in (0, 1))]
    candidates = {"corner": [corner], "edge": own, "face": downwards(BOX, "face")}
    seen = []
    for tilt in np.linspace(0.15, -0.05, 41):
        turn = pin.utils.rpyToMatrix(0.9 * tilt - 0.03, -tilt, 0.0)
        here = over_the_top(corner, turn, np.array([-0.01, -0.013, 0.001]))
        acting = [kind for kind, of_kind in candidates.items() for f in of_kind if f.acts(here)]
        assert len(acting) == 1
        seen += acting if seen[-1:] != acting else []
    assert seen == ["corner", "edge", "face"]


def test_long_edges_and_wide_faces_are_cut_between_humps() -> None:
    waves = cs.terrain.Sinusoid(0.01, 4.0 * np.pi, 0.0)  # humps are 0.5 m apart
    found = features(cs.Robot.box(1.0, (1.1, 0.4, 0.2)), waves)
    assert sum(name.startswith("edge") for name in found) == 4 * (5 + 2 + 1)
    areas = 0.0
    for name, face in found.items():
        if name.startswith("face"):
            sides = np.ptp(face.samples, axis=0)
            areas += float(sides[0] * sides[1])
            assert sides.max() <= waves.apart() + 1e-12
    assert areas == pytest.approx(2.0 * (1.1 * 0.4 + 1.1 * 0.2 + 0.4 * 0.2), abs=1e-12)


def test_bodies_with_friction_of_more_than_one_number_keep_their_corners_alone() -> None:
    assert not carried(cs.Robot.box(1.0, (0.6, 0.4, 0.2), friction=(0.5, 0.8)), HILLS)
    assert not carried(BOX, cs.terrain.Sinusoid(0.1, 2.0, 1.5, velocity=(0.1, 0.0)))
    assert not carried(BOX, cs.terrain.Flat())


@pytest.mark.parametrize("seed", range(3))
def test_what_is_given_up_out_of_the_borders_was_none(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search within the borders finds the points that one which is followed far beyond them finds."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-1.0, 1.0, (10, 3)) * [0.16, 0.12, 0.1]
    ground = cs.terrain.Sinusoid(0.03, 12.0, 5.0) if seed else HILLS
    found = list(features(cs.Robot.hull(1.0, corners), ground).values())
    points, owned, search = np.concatenate([feature.points for feature in found]), 0, NearestPoint._from
    for _ in range(4):
        turn, off = pin.exp3(rng.normal(size=3)), np.append(rng.uniform(-1.0, 1.0, 2), 0.0)
        gaps = ground.gaps(0.0, points @ turn.T + off, np.zeros(len(points)))
        here = place(turn, off - [0.0, 0.0, gaps.min() - rng.uniform(-0.002, 0.004)])
        within = [(feature.near_gap(here), feature.acts(here)) for feature in found]
        with monkeypatch.context() as patch:
            patch.setattr(NearestPoint, "_from", lambda own, here, way, within: search(own, here, way))
            for feature in found:
                feature.search._known.clear()
            beyond = [(feature.near_gap(here), feature.acts(here)) for feature in found]
        np.testing.assert_allclose(within, beyond, rtol=0.0, atol=1e-12)
        owned += sum(feature.search.own(here) is not None for feature in found)
    assert owned > 4
