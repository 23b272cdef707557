"""Curved and moving ground: distances, their derivatives, and the rows of contacts, each against differences."""

from __future__ import annotations

import numpy as np
import pytest
from builders import planar_body, sphere
from test_derivatives import ANALYTIC, ROBOTS, check_impulses, check_terms, chosen_contacts
from test_terrain import AsSurface, Bowl

import contactsim as cs
from contactsim.multibody.kinematics.tangents import Level
from contactsim.multibody.terrain import Terrain, level_axes
from contactsim.multibody.terrain.hills import FEW

Array = np.ndarray
G = 9.81

SECOND = 2e-9  # central differences of fourth order, steps of 1e-3 at hills with wave numbers of 10/m
GIVEN = 1e-6  # of a Function whose third derivatives are differences of differences
EXACT = 1e-12  # rounding of a closed form
STEP = 1e-3


def rolling(t: float, x: float, y: float) -> float:
    return 0.05 * np.sin(4 * x - 3 * t) * np.cos(3 * y) + 0.02 * x * np.cos(2 * t)


def rolling_gradient(t: float, x: float, y: float) -> Array:
    a, b, s = 4 * x - 3 * t, 3 * y, np.sin
    return np.array(
        [
            -0.15 * np.cos(a) * np.cos(b) - 0.04 * x * s(2 * t),
            0.2 * np.cos(a) * np.cos(b) + 0.02 * np.cos(2 * t),
            -0.15 * s(a) * s(b),
        ]
    )


def rolling_hessian(t: float, x: float, y: float) -> Array:
    a, b, s, c = 4 * x - 3 * t, 3 * y, np.sin, np.cos
    tt = -0.45 * s(a) * c(b) - 0.08 * x * c(2 * t)
    tx, ty = 0.6 * s(a) * c(b) - 0.04 * s(2 * t), 0.45 * c(a) * s(b)
    xx, xy, yy = -0.8 * s(a) * c(b), -0.6 * c(a) * s(b), -0.45 * s(a) * c(b)
    return np.array([[tt, tx, ty], [tx, xx, xy], [ty, xy, yy]])


def field() -> cs.terrain.HeightField:
    rng = np.random.default_rng(4)
    return cs.terrain.HeightField(np.linspace(-3, 3, 13), np.linspace(-2, 4, 10), 0.03 * rng.normal(size=(13, 10)))


SHAKE = cs.terrain.Oscillation((0.02, -0.03, 0.04), 0.7, 0.2)
GROUNDS: dict[str, Terrain] = {
    "sinusoid": cs.terrain.Sinusoid(0.05, 5.0, 3.0),
    "sinusoid belt": cs.terrain.Sinusoid(0.04, 5.0, 3.0, velocity=(0.4, -0.2)),
    "height field": field(),
    "function": cs.terrain.Function(rolling, rolling_gradient, rolling_hessian, 2.0, moving=True),
    "function belt": cs.terrain.Function(rolling, rolling_gradient, rolling_hessian, 2.0, (0.3, 0.5), moving=True),
    "moving sinusoid": cs.terrain.Moving(cs.terrain.Sinusoid(0.05, 5.0, 3.0, (0.1, 0.2)), SHAKE),
    "moving function": cs.terrain.Moving(
        cs.terrain.Function(rolling, rolling_gradient, rolling_hessian, 2.0, moving=True), SHAKE
    ),
    "moving belt": cs.terrain.Moving(cs.terrain.Flat(0.1, (0.3, 0.1)), SHAKE),
    "moving bowl": cs.terrain.Moving(Bowl(2.0, 0.1), SHAKE),
}
# Third derivatives of a bowl are differenced by itself; those of a function come from its Hessian.
COARSE = {"moving bowl": 1e-9, "function": 1e-10, "function belt": 1e-10, "moving function": 1e-10}


def places(ground: Terrain, height: Array, t: float, seed: int = 0) -> Array:
    """Points so high above the ground."""
    xy = np.random.default_rng(seed).uniform(-0.5, 0.5, (len(height), 2))
    z = np.zeros(len(height))
    for _ in range(50):  # let down by its distance, which is never longer than the way
        points = np.column_stack([xy, z])
        z = z - (ground.gaps(t, points, np.zeros(len(z))) - height)
    return np.column_stack([xy, z])


def differences(function, h: float = STEP) -> Array:  # type: ignore[no-untyped-def]
    """Derivative along (t, x, y, z), last index."""
    columns = [
        (8 * (function(h * e) - function(-h * e)) - function(2 * h * e) + function(-2 * h * e)) / (12 * h)
        for e in np.eye(4)
    ]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", GROUNDS)
def test_every_field_of_a_surface_against_differences(name: str) -> None:
    ground, t, radii = GROUNDS[name], 0.3, np.zeros(4)
    points = places(ground, np.array([0.02, -0.03, 0.04, 0.0]), t)

    def at(y: Array):  # type: ignore[no-untyped-def]
        return ground.near(t + y[0], points + y[1:], radii)

    here = at(np.zeros(4))
    np.testing.assert_allclose(np.linalg.norm(here.normal, axis=1), 1.0, atol=EXACT)
    np.testing.assert_allclose(here.gradient, differences(lambda y: at(y).distance), atol=SECOND)
    np.testing.assert_allclose(here.curvature, differences(lambda y: at(y).gradient), atol=10 * SECOND)
    np.testing.assert_allclose(here.velocity_change, differences(lambda y: at(y).velocity), atol=10 * SECOND)
    third = ground.third(t, points, radii)
    tolerance = 5e-7
    np.testing.assert_allclose(third.distance, differences(lambda y: at(y).curvature), atol=tolerance)
    np.testing.assert_allclose(third.velocity, differences(lambda y: at(y).velocity_change), atol=tolerance)
    # The material neither leaves the surface nor enters it.
    np.testing.assert_allclose(
        np.einsum("ki,ki->k", here.normal, here.velocity), -here.distance_rate, atol=EXACT if "bowl" not in name else 1
    )


def test_the_distance_is_that_of_the_nearest_point() -> None:
    ground = GROUNDS["sinusoid"]
    points = places(ground, np.array([0.2, -0.2, 0.1]), 0.0)
    found = ground.surface(0.0, points)
    for point, distance, normal in zip(points, found.distance, found.normal, strict=True):
        foot = point - distance * normal
        assert ground.heights(0.0, foot[:2]) == pytest.approx(foot[2], abs=EXACT)
        grid = point[:2] + np.random.default_rng(1).uniform(-0.4, 0.4, (20_000, 2))
        arms = np.column_stack([grid, ground.heights(0.0, grid)]) - point
        assert np.linalg.norm(arms, axis=1).min() >= abs(distance) - EXACT


@pytest.mark.parametrize("velocity", [(0.0, 0.0), (0.4, -0.3)])
def test_few_points_are_told_what_many_are(velocity: tuple[float, float]) -> None:
    x, rng = np.linspace(-3.0, 3.0, 13), np.random.default_rng(3)
    field = cs.terrain.HeightField(x, x, 0.02 * rng.normal(size=(13, 13)), velocity=velocity)
    for ground in (cs.terrain.Sinusoid(0.05, 3.0, 2.5, velocity=velocity), field):
        centres = rng.uniform(-2.5, 2.5, (FEW + 1, 3))
        centres[:, 2] = ground.heights(0.0, centres[:, :2]) + rng.uniform(-0.01, 0.05, FEW + 1)
        radii = rng.uniform(0.0, 0.03, FEW + 1) * rng.integers(0, 2, FEW + 1)
        many, gaps = ground.near(0.0, centres, radii), ground.gaps(0.0, centres, radii)
        for k in range(FEW + 1):
            alone = ground.near(0.0, centres[k : k + 1], radii[k : k + 1])
            for name in ("distance", "normal", "hessian", "velocity", "velocity_gradient", "normal_rate"):
                assert np.allclose(getattr(alone, name)[0], getattr(many, name)[k], rtol=1e-13, atol=1e-14), name
            assert abs(ground.gaps(0.0, centres[k : k + 1], radii[k : k + 1])[0] - gaps[k]) < 1e-14


@pytest.mark.parametrize("name", ["sinusoid", "function", "moving sinusoid"])
@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_gaps_are_smooth_from_the_ground_to_high_above(name: str, radius: float) -> None:
    """Through the height at which distances pass over to clearances: no kinks, no zeros, and distances below."""
    ground, radii = GROUNDS[name], np.array([radius])
    heights = np.linspace(0.0, 3.0, 3001)
    touching = places(ground, radii, 0.3)[0]
    gaps = np.array([ground.gaps(0.3, touching[None] + [[0, 0, h]], radii)[0] for h in heights])
    assert gaps[0] == pytest.approx(0.0, abs=1e-12)
    slope = np.diff(gaps) / np.diff(heights)
    assert slope.min() > 0.5
    assert np.abs(np.diff(slope)).max() < 0.01
    inner = ground if not isinstance(ground, cs.terrain.Moving) else ground.ground
    low = heights[heights < 0.9 * inner.reach(radii)[0]]
    near = [ground.near(0.3, touching[None] + [[0, 0, h]], radii).distance[0] - radius for h in low]
    np.testing.assert_allclose(gaps[: len(low)], near, atol=EXACT)


def test_a_tilted_plane_by_a_function_is_a_slope() -> None:
    slope = cs.terrain.Slope(0.4, downhill=(1, 2))
    n = slope.plane()[1]
    ground = cs.terrain.Function(
        lambda t, x, y: -(n[0] * x + n[1] * y) / n[2],
        lambda t, x, y: -n[:2] / n[2],
        lambda t, x, y: np.zeros((2, 2)),
        curvature=1e-3,
    )
    points = np.random.default_rng(0).normal(size=(5, 3))
    radii = np.array([0.0, 0.1, 0.2, 0.0, 0.3])
    np.testing.assert_allclose(ground.gaps(0.0, points, radii), slope.gaps(0.0, points, radii), atol=EXACT)
    for one, other in zip(
        vars(ground.surface(0.0, points)).values(), vars(slope.surface(0.0, points)).values(), strict=True
    ):
        np.testing.assert_allclose(one, 0.0 if other is None else other, atol=EXACT)
    robot = cs.load_robot("solo12")
    rng = np.random.default_rng(1)
    q = robot.space.integrate(robot.nominal, 0.2 * rng.normal(size=robot.nv))
    v, gravity = rng.normal(size=robot.nv), np.array([0.0, 0.0, -G])
    for one, other in zip(
        robot.bind(ground, gravity).terms(0.0, q, v, (0, 2)),
        robot.bind(slope, gravity).terms(0.0, q, v, (0, 2)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-11)


# --- rows and derivatives ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ["sphere", "box", "tree 0", "every joint", "solo12", "damped arm"])
@pytest.mark.parametrize("ground", ["moving bowl", "slope", "gentle", "gentle function"])
def test_terms_on_curved_ground(robot: str, ground: str) -> None:
    """Hills so gentle that every place of a random robot is near the ground."""
    gentle = cs.terrain.Sinusoid(0.04, 0.15, 0.1, (0.1, 0.2))

    def wave(t: float, x: float, y: float) -> float:
        return float(gentle.heights(0.0, np.array([x - 0.5 * t, y]))) + 0.02 * np.sin(3 * t)

    def jet(t: float, x: float, y: float, order: int) -> Array:
        own = gentle.jet(0.0, np.array([[x - 0.5 * t, y]]), 2)[order][0]
        along = np.array([[0.0, 0.0, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
        if order == 1:
            return own @ along + [0.06 * np.cos(3 * t), 0, 0]
        return along.T @ own @ along - np.diag([0.18 * np.sin(3 * t), 0, 0])

    grounds: dict[str, Terrain] = {
        "slope": AsSurface(cs.terrain.Slope(0.4)),
        "moving bowl": GROUNDS["moving bowl"],
        "gentle": cs.terrain.Moving(gentle, SHAKE),
        "gentle function": cs.terrain.Function(
            wave, lambda *a: jet(*a, 1), lambda *a: jet(*a, 2), gentle.curvature, moving=True
        ),
    }
    mechanism = ROBOTS[robot]().bind(grounds[ground], np.array([0.3, -0.2, -G]))
    assert mechanism._derivatives is not None
    for seed, contacts in enumerate(chosen_contacts(mechanism)):
        check_terms(mechanism, contacts, 20 * ANALYTIC if ground == "gentle" else GIVEN / 10, seed=seed)
        check_impulses(mechanism, contacts, 20 * ANALYTIC, seed=seed)


def test_tangents_turn_smoothly_on_walls() -> None:
    """Axes and their derivatives are continuous from level ground over upright walls to overhangs."""
    for angle in np.linspace(0.0, 2 * np.pi, 13):
        tilt = np.linspace(0.0, 3.0, 3001)
        normals = np.stack([np.sin(tilt) * np.cos(angle), np.sin(tilt) * np.sin(angle), np.cos(tilt)], -1)
        frames = Level().at(normals)
        assert np.abs(np.diff(frames.axes, axis=0)).max() < 2e-3
        everything = np.concatenate([normals[:, None], frames.axes], axis=1)
        np.testing.assert_allclose(
            everything @ np.swapaxes(everything, 1, 2), np.tile(np.eye(3), (3001, 1, 1)), atol=EXACT
        )
        np.testing.assert_allclose(frames.axes[2000], level_axes(normals[2000]), atol=EXACT)


def test_derivatives_of_the_tangents() -> None:
    rng = np.random.default_rng(3)
    n, d, e = (v / np.linalg.norm(v) for v in rng.normal(size=(3, 3)))
    d, e = d - (d @ n) * n, e - (e @ n) * n

    def at(a: float, b: float):  # type: ignore[no-untyped-def]
        return Level().at((n + a * d + b * e)[None])

    h, here = 1e-4, at(0, 0)
    # Along the sphere: n stays unit to first order only, and the formulas are polynomial in n, so compare as such.
    first = (at(h, 0).axes - at(-h, 0).axes) / (2 * h)
    np.testing.assert_allclose(here.first @ d, first, atol=1e-7)
    second = (at(0, h).first @ d - at(0, -h).first @ d) / (2 * h)
    np.testing.assert_allclose(here.second() @ e @ d, second, atol=1e-7)


# --- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: cs.terrain.Sinusoid(np.nan, 1, 1), "a1 of the sinusoid"),
        (lambda: cs.terrain.HeightField([0, 1, 2], [0, 1, 2, 3], np.zeros((3, 4))), "at least 4 growing"),
        (lambda: cs.terrain.HeightField([0, 1, 1, 2], [0, 1, 2, 3], np.zeros((4, 4))), "growing"),
        (lambda: cs.terrain.HeightField([0, 1, 2, 3], [0, 1, 2, 3], np.zeros((4, 3))), "heights of the height field"),
        (lambda: cs.terrain.Function(lambda t, x, y: t), "moving=True"),
        (lambda: cs.terrain.Function(lambda t, x, y: x * x, lambda t, x, y: (x, 0.0)), "gradient of the ground is off"),
        (
            lambda: cs.terrain.Function(lambda t, x, y: x * x, lambda t, x, y: (2 * x, 0.0), lambda t, x, y: np.eye(2)),
            "hessian of the ground is off",
        ),
        (lambda: cs.terrain.Function(lambda t, x, y: 0.0, curvature=0.0), "positive bound"),
        (lambda: cs.terrain.Moving(cs.terrain.Flat(), lambda t: t, lambda t: 2.0), "velocity of the ground"),
        (lambda: cs.terrain.Moving(cs.terrain.Flat(), 3.0), "function of time"),
        (lambda: cs.terrain.Oscillation((0, 0, 1), 0.0), "frequency"),
        (lambda: cs.ContactSystem(sphere(radius=0.3), terrain=cs.terrain.Sinusoid(0.05, 10, 1)), "radius 0.3 m"),
    ],
)
def test_mistakes(make, sentence: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(cs.InputError, match=sentence):
        make()


def test_a_place_outside_the_height_field_is_named() -> None:
    with pytest.raises(cs.SimulationError, match=r"at \(5, 0\) m, outside of the height field"):
        field().gaps(0.0, np.array([[5.0, 0.0, 1.0]]), np.zeros(1))


def test_a_planar_robot_has_one_tangent_on_ground_that_stays_in_its_plane() -> None:
    robot = planar_body(1.0, 0.1, {"tip": (0.0, 0.0)}, 0.5, 0.0)
    along = cs.terrain.Sinusoid(0.05, 3.0, 0.0)
    grid = np.linspace(-1, 1, 9)
    ridges = cs.terrain.HeightField(grid, grid, np.sin(grid)[:, None] * np.ones(9))
    for ground in (along, cs.terrain.Moving(along, SHAKE), ridges):
        assert cs.ContactSystem(robot, terrain=ground).mechanism.dims == (2,)
    for ground in (cs.terrain.Sinusoid(0.05, 3.0, 1.0), cs.terrain.Function(lambda t, x, y: 0.1 * y)):
        assert cs.ContactSystem(robot, terrain=ground).mechanism.dims == (3,)
