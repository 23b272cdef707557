"""Sectors of rims and faces of discs over hills: their least distances against closed forms, and how they move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import brentq, minimize, minimize_scalar

import contactsim as cs
from contactsim.multibody.geometry.discs_on_hills import TILT, ArcOnHills
from contactsim.multibody.geometry.features import Bodies, Place
from contactsim.multibody.geometry.hill_features import ACTING, ONWARD, FlatOnHills
from contactsim.multibody.geometry.hill_pieces import carried, corners_of, features_of

HIGH, WAVES, RADIUS, LENGTH = 0.02, 5.0, 0.05, 0.16
RIDGES = cs.terrain.Sinusoid(HIGH, WAVES, 0.0)
STEP = 1e-5  # of central differences


def features(ground: cs.terrain.Terrain = RIDGES, radius: float = RADIUS) -> dict[str, FlatOnHills]:
    (body,) = carried(cs.Robot.cylinder(1.0, radius, 0.1), ground)  # type: ignore[arg-type]
    return {pair.name.rpartition("/")[2]: pair.features for pair in features_of(body, ground)}  # type: ignore


def place(R: np.ndarray, o: np.ndarray) -> Place:
    return Place(R, o, np.eye(3), np.zeros(3))


def let_down(ground: cs.terrain.Terrain, R: np.ndarray, o: np.ndarray, radius: float = RADIUS) -> np.ndarray:
    """The place at which the lower rim is about on the ground."""
    angles = np.linspace(0.0, 2.0 * np.pi, 400)
    rim = np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.full(400, -0.05)]) @ R.T + o
    return np.asarray(o - np.array([0.0, 0.0, float(ground.gaps(0.0, rim, np.zeros(400)).min())]))


def distance(x: float, z: float) -> float:
    """Of a point from the sine, by the foot of its normal."""

    def off(u: float) -> float:
        return (u - x) + (HIGH * np.sin(WAVES * u) - z) * HIGH * WAVES * np.cos(WAVES * u)

    u = brentq(off, x - 0.05, x + 0.05, xtol=1e-15)
    return float(np.sign(z - HIGH * np.sin(WAVES * x)) * np.hypot(u - x, HIGH * np.sin(WAVES * u) - z))


def poses(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(2)
    found = []
    for k in range(count):
        R = pin.exp3(rng.normal(size=3) * np.array([1.0, 1.0, 3.0]) * (0.002, 0.1)[k % 2])
        found.append((R, np.array([np.pi / 10.0 + rng.uniform(-0.02, 0.02), 0.1, 0.07])))
    return found


def test_sectors_have_the_least_distances_of_a_rim_on_a_sine() -> None:
    """Each local minimum around the rim is that of one sector, or of the whole rim, where it is the only one."""
    arcs = {name: arc for name, arc in features().items() if name.startswith("rim0")}
    counts = []
    for R, high in poses(12):
        o = let_down(RIDGES, R, high)

        def height(f: float, R: np.ndarray = R, o: np.ndarray = o) -> float:
            x = o + R @ np.array([RADIUS * np.cos(f), RADIUS * np.sin(f), -0.05])
            return distance(x[0], x[2])

        grid = np.linspace(0.0, 2.0 * np.pi, 241)[:-1]
        heights = np.array([height(f) for f in grid])
        low = np.flatnonzero((heights <= np.roll(heights, 1)) & (heights < np.roll(heights, -1)))
        width = grid[1]
        wanted = sorted(
            float(
                minimize_scalar(
                    height, bounds=(grid[k] - width, grid[k] + width), method="bounded", options={"xatol": 1e-9}
                ).fun
            )
            for k in low
        )
        acting = [arc for arc in arcs.values() if arc.search.own(place(R, o)) is not None and _gated(arc, place(R, o))]
        found = sorted(float(arc.gap(place(R, o), ACTING)) for arc in acting)
        assert found == pytest.approx(wanted, abs=1e-11)
        counts.append(len(found))
    assert set(counts) >= {1, 2}


def lying(tilt: float, turn: float, roll: float) -> np.ndarray:
    """A cone on its side, its tip lower by an angle, turned about the vertical and its axis."""
    leant = pin.utils.rpyToMatrix(0.0, np.pi / 2.0 + np.arctan2(RADIUS, LENGTH) + tilt, 0.0)
    return np.asarray(pin.utils.rpyToMatrix(0.0, 0.0, turn) @ leant @ pin.utils.rpyToMatrix(0.0, 0.0, roll))


def parts_of_cone(radius: float = RADIUS) -> dict[str, FlatOnHills]:
    (body,) = carried(cs.Robot.cone(1.0, radius, LENGTH), RIDGES)
    pairs = [*features_of(body, RIDGES), *corners_of(body, RIDGES)]
    return {pair.name.rpartition("/")[2]: pair.features for pair in pairs}  # type: ignore


def kind_of(name: str) -> str:
    return {"edge": "side", "corn": "tip", "rim0": "rim"}.get(name[:4], name)


@pytest.mark.parametrize("seed", range(6))
def test_the_side_of_a_cone_has_its_least_distance_from_a_sine(seed: int) -> None:
    """On its side, on the angle around it and the way from its tip, that is the least of a function of both."""
    rng, parts = np.random.default_rng(seed), parts_of_cone()
    R = lying(0.01 * rng.normal(), rng.uniform(-0.3, 0.3), rng.uniform(0.0, 6.0))
    o = np.array([np.pi / 10.0, 0.1, 0.05]) + R @ [0.0, 0.0, rng.uniform(-0.02, 0.02)]

    def height(at: Sequence[float]) -> float:
        x = o + R @ [at[1] * RADIUS * np.cos(at[0]), at[1] * RADIUS * np.sin(at[0]), (0.5 - at[1]) * LENGTH]
        return distance(float(x[0]), float(x[2]))

    grid = [(f, s) for f in np.linspace(0.0, 2.0 * np.pi, 61) for s in np.linspace(0.05, 0.95, 19)]
    start = min(grid, key=height)
    o[2] += 1e-4 - height(start)
    found = minimize(height, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-15})
    assert 0.0 < found.x[1] < 1.0
    assert parts["edge0"].acts(place(R, o))
    assert float(parts["edge0"].gap(place(R, o), ACTING)) == pytest.approx(found.fun, abs=1e-12)


@pytest.mark.parametrize("radius", [RADIUS, 0.3])  # it is blunt, too
def test_a_cone_on_a_ridge_touches_with_its_rim_its_side_or_its_tip(radius: float) -> None:
    """One at a time, each at the height of the one before it where it takes over."""
    parts, seen, heights = parts_of_cone(radius), list[str](), list[float]()
    slope = np.arctan2(radius, LENGTH)
    for tilt in np.linspace(-0.12, 0.12, 400):
        R = pin.utils.rpyToMatrix(0.0, np.pi / 2.0 + slope + tilt, 0.0)
        middle = 0.5 * LENGTH / np.cos(slope) ** 2  # of a ball that touches the middle of its side, from the tip
        o = np.array([np.pi / 10.0, 0.0, HIGH + middle * np.sin(slope)]) - R @ [0.0, 0.0, 0.5 * LENGTH - middle]
        acting = {kind_of(name): part for name, part in parts.items() if part.acts(place(R, o))}
        assert len(acting) == 1
        ((kind, part),) = acting.items()
        seen += [kind] if seen[-1:] != [kind] else []
        heights.append(float(part.gap(place(R, o), ACTING)))
    assert seen == ["rim", "side", "tip"]
    assert np.abs(np.diff(heights, 2)).max() < 3.2 * 6e-4**2  # of 1 / k = 2 m and its size: no steps, no kinks


@pytest.mark.parametrize("kind", ["cylinder", "cone"])
def test_a_rim_ends_where_the_side_of_its_body_takes_over(kind: str) -> None:
    """It stayed closed beside the side until its force vanished: nothing asked for what leads on to that."""
    parts = parts_of_cone() if kind == "cone" else features()
    rim, side = parts["rim0"], parts["edge0"]
    level = lying(0.0, 0.0, 0.0) if kind == "cone" else pin.utils.rpyToMatrix(0.0, np.pi / 2.0, 0.0)
    low = np.array([RADIUS, 0.0, -0.5 * LENGTH]) if kind == "cone" else np.array([RADIUS, 0.0, -0.05])
    assert tuple(rim.sides(ACTING)) == (ONWARD, ONWARD + 1, TILT)
    for off in (-1e-3, -1e-6, 1e-6, 1e-3):  # of the lowest point of the rim from the top, along the side
        o = np.array([np.pi / 10.0 + off, 0.0, HIGH]) - level @ low
        beyond = float(rim.margin(place(level, o), ACTING, ONWARD + 1)) < 0.0
        assert beyond == side.acts(place(level, o)) == (off < 0.0)
        assert rim.acts(place(level, o)) == (off > 0.0)


def _gated(arc: FlatOnHills, where: Place) -> bool:
    """Whether its tilt lets it act; what leads on to the face is left out."""
    assert isinstance(arc, ArcOnHills)
    tilt = float(arc._tilt(arc._at(where, arc.search.own(where)), where.R_a))  # type: ignore[arg-type]
    return (tilt > arc.alone) if arc.whole else (tilt < arc.alone)  # type: ignore[operator]


@pytest.mark.parametrize("name", ["rim0", "rim0.", "end0"])
def test_rates_margins_and_complex_steps_are_those_of_differences(name: str) -> None:
    hills = cs.terrain.Sinusoid(0.1, 2.0, 1.5)
    rng, tilt = np.random.default_rng(3), {"rim0": 0.7, "rim0.": 0.1, "end0": 0.0}[name]
    R = pin.utils.rpyToMatrix(0.01, tilt, 0.02)
    o = np.array([np.pi / 4.0, 0.0, 0.1501])
    o = o if name == "end0" else let_down(hills, R, o, 0.1)
    own = [
        part for key, part in features(hills, 0.1).items() if key.startswith(name) and ("." in key) == (name == "rim0.")
    ]
    feature = next(part for part in own if part.search.own(place(R, o)) is not None)
    sides = [side for side in feature.sides(ACTING) if side in (1, 2, TILT)]
    twist, still = rng.normal(size=6), np.zeros(6)

    def moved(h: float) -> Place:
        motion = pin.exp6(pin.Motion(h * twist))
        return place(motion.rotation @ R, motion.act(o))

    def values(where: Place) -> np.ndarray:
        met = feature.meet(Bodies(*where, twist, still, still, still), ACTING)
        margins = [np.atleast_1d(feature.margin(where, ACTING, side)) for side in sides]
        return np.concatenate(
            [met.x, met.n, *margins, np.atleast_1d(feature.gap(where, ACTING)), met.x_rate, met.n_rate]
        )

    met = feature.meet(Bodies(*moved(0.0), twist, still, still, still), ACTING)
    wanted = (values(moved(STEP)) - values(moved(-STEP))) / (2.0 * STEP)
    assert np.allclose(np.concatenate([met.x_rate, met.n_rate]), wanted[:6], rtol=1e-6, atol=1e-6)
    assert met.n @ (twist[:3] + np.cross(twist[3:], met.x)) == pytest.approx(wanted[6 + len(sides)], rel=1e-6)
    h = 1e-30
    steps = pin.skew(twist[3:]) @ R, twist[:3] + np.cross(twist[3:], o)
    found = values(place(R + 1j * h * steps[0], o + 1j * h * steps[1])).imag / h
    assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_grounds_that_are_flat_in_parts_leave_discs_as_they_are() -> None:
    """There no point of a level rim is the lowest one."""
    grid, heights = np.linspace(-3.0, 3.0, 49), np.zeros((49, 49))
    heights[40:] = 0.1
    body = cs.Robot.cylinder(1.0, 0.05, 0.1)
    assert carried(body, cs.terrain.HeightField(grid, grid, heights)) == []
    assert carried(body, cs.terrain.Function(lambda t, x, y: 0.1 * x * x, curvature=0.2)) == []
    assert len(carried(body, cs.terrain.HeightField(grid, grid, 0.02 * np.sin(4.0 * grid)[:, None] * np.ones(49)))) == 1
