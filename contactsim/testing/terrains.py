"""Properties of a ground: its distance, the derivatives of that, and runs of a ball on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from operator import attrgetter

import numpy as np

from ..analysis.linearization import linearize
from ..common.arrays import Array
from ..contact_dynamics.contact_system import ContactSystem, State
from ..errors import ContactSimError
from ..hybrid.differences import derivative
from ..hybrid.simulate import simulate
from ..hybrid.tolerances import Tolerances
from ..io.terrain_schema import GroundTable
from ..multibody.contact_point import ContactPoint
from ..multibody.robot import Robot
from ..multibody.terrain.surface import NoGround, Surface, Terrain
from . import checks
from .bodies import FOLDER
from .report import Finding, Outcome

SEED, POINTS = 9, 24
WIDE, MANY = (0.25, 1.0, 4.0), 300  # of places at which bounds are looked at, too [m], and how many of each
EDGE = 1e-3  # step of differences that notices an edge [m], and what it may be off where there is none
SPREAD = 0.25  # of the points around the origin [m]
LAYER = 0.02  # of heights at which it is asked before it is known where it is [m]
OFFSETS = (-2e-3, 0.0, 1e-3, 1e-2)  # of the points from the surface [m]
LATEST = 1.5  # time at which the ground is looked at [s]
DESCENT = 30  # steps down to the surface; each falls by the distance
STEP = 1e-4  # of differences of the ground [m, s]
UNIT = 1e-9  # of the length of the normal, and of what is to be equal
DERIVATIVE = 1e-5  # of a derivative, relative to its largest entry
STEEPEST = (
    1e-3  # of gaps, where they are another measure than the distance: their sign alone is looked at beyond it [m]
)
RADIUS = 0.1  # of the ball of the kit [m]
DROP, THROW = 0.02, (0.4, 0.2, 0.0)  # height from which it is thrown [m], and how fast [m/s]
TIME = 0.25  # of its run [s]
DIRECTIONS, SHIFT = 3, 2e-5  # variations of its start that are followed by differences, and their size
OF_RUN = 1e-5  # derivative of the run, relative to its largest entry
TIGHT = Tolerances(rtol=1e-10, atol=1e-11)
SPAN = 1e-3  # of a step for which bounds are asked [s]


class Nowhere(Exception):
    """There is no ground."""


class Site:
    """A ground and points near it."""

    def __init__(self, table: GroundTable) -> None:
        self.table = table

    @cached_property
    def terrain(self) -> Terrain:
        """The ground."""
        return self.table.build()

    def demand(self) -> None:
        """Raise Nowhere where it stands for none."""
        if isinstance(self.terrain, NoGround):
            raise Nowhere

    @cached_property
    def instants(self) -> Array:
        """Times (k,) at which it is looked at [s]."""
        times = np.random.default_rng(SEED).uniform(0.0, LATEST, 3)
        return times if self.terrain.moving else np.zeros(1)

    def points(self, t: float) -> Array:
        """Points (k, 3) near the surface."""
        self.demand()
        rng = np.random.default_rng(SEED)
        found = np.column_stack([SPREAD * rng.uniform(-1.0, 1.0, (POINTS, 2)), np.zeros(POINTS)])
        for _ in range(DESCENT):
            ground = self.terrain.surface(t, found)
            found = found - ground.distance[:, None] * ground.normal
        return found + np.resize(OFFSETS, POINTS)[:, None] * self.terrain.surface(t, found).normal

    def looks(self) -> Iterator[tuple[float, Array, Surface]]:
        """(t, points, ground near them)."""
        for t in self.instants.tolist():
            points = self.points(t)
            yield t, points, self.terrain.surface(t, points)

    def smooth_at(self, t: float, points: Array) -> Array:
        """Mask (k,) of the points whose differences do not lead over an edge of the ground."""
        if self.terrain.smooth:
            return np.ones(len(points), dtype=bool)
        away = np.ones(len(points), dtype=bool)
        for pick in (lambda s: s.distance, lambda s: s.normal):
            for way in ALONG:
                long, short = (
                    derivative(partial(_moved, self, pick, t, points, way), step) for step in (EDGE, 0.1 * EDGE)
                )
                away &= np.abs(long - short).reshape(len(points), -1).max(axis=1) < EDGE
        return away

    def places(self, t: float) -> Iterator[Array]:
        """Points (k, 3) on the surface, near and farther; none where it does not tell its heights."""
        rng = np.random.default_rng(SEED)
        for spread in WIDE:
            found = spread * rng.uniform(-1.0, 1.0, (MANY, 2))
            heights = self.terrain.heights(t, found)
            if heights is not None:
                yield np.column_stack([found, heights])


SHAPES = {"distance": (), "normal": (3,), "hessian": (3, 3), "distance_rate": (), "normal_rate": (3,),
          "distance_acceleration": (), "velocity": (3,), "acceleration": (3,), "velocity_gradient": (3, 3)}  # fmt: skip


def _answers(site: Site) -> Iterator[Finding]:
    for t in site.instants.tolist():
        points = np.random.default_rng(SEED).uniform(-1.0, 1.0, (POINTS, 3)) * (SPREAD, SPREAD, LAYER)
        ground = site.terrain.surface(t, points)
        for name, shape in SHAPES.items():
            given = getattr(ground, name)
            if given is None and name == "velocity_gradient":
                continue
            found = np.asarray(given, dtype=float)
            good = found.shape == (POINTS, *shape) and np.isfinite(found).all()
            what = "is not finite" if found.shape == (POINTS, *shape) else f"has the shape {found.shape}"
            text = f"surface().{name} {what} at {POINTS} points, t = {t:.3g} s; give {(POINTS, *shape)} finite numbers"
            yield 0.0 if good else np.inf, text, {"time": t}


def _unit(site: Site) -> Iterator[Finding]:
    for t, points, ground in site.looks():
        off = np.abs(np.linalg.norm(ground.normal, axis=1) - 1.0)
        k = int(off.argmax())
        text = f"the normal has the length {1.0 + off[k]:.9g} at {_place(points[k], t)}"
        yield float(off[k]), f"{text}; `distance` is a signed distance, whose gradient is a unit vector", {"time": t}


def _place(point: Array, t: float) -> str:
    return f"({', '.join(f'{value:.4g}' for value in point)}) m, t = {t:.3g} s"


LATER, *ALONG = np.eye(4)


def _moved(site: Site, pick: Callable[[Surface], Array], t: float, points: Array, way: Array, h: float) -> Array:
    """An attribute of the surface a little way (4,) off, by time and place."""
    return pick(site.terrain.surface(t + h * way[0], points + h * way[1:]))


def _compared(
    site: Site, name: str, of: str, by_time: bool, words: str, pick: Callable[[Surface], Array]
) -> Iterator[Finding]:
    """An attribute of the surface against differences of another, along the point or by time."""
    for t, points, ground in site.looks():
        given = getattr(ground, name)
        given = np.zeros((POINTS, *SHAPES[name])) if given is None else np.asarray(given, dtype=float)
        ways = (LATER,) if by_time else ALONG
        columns = [derivative(partial(_moved, site, pick, t, points, way), STEP) for way in ways]
        expected = columns[0] if by_time else np.stack(columns, axis=-1)
        away = site.smooth_at(t, points)
        off = np.abs(given - expected).reshape(POINTS, -1).max(axis=1) * away
        size = max(1.0, float(np.abs(expected[away]).max(initial=0.0)))
        k = int(off.argmax())
        text = f"surface().{name} differs from differences of {of} by {off[k]:.3g} at {_place(points[k], t)}; {words}"
        yield float(off[k]) / size, text, {"time": t}


def _gradient(site: Site) -> Iterator[Finding]:
    words = "the normal is the gradient of the distance"
    yield from _compared(site, "normal", "the distance", False, words, lambda s: s.distance)


def _hessian(site: Site) -> Iterator[Finding]:
    words = "the Hessian is the derivative of the normal"
    yield from _compared(site, "hessian", "the normal", False, words, lambda s: s.normal)
    for t, points, ground in site.looks():
        off = np.abs(ground.hessian - np.swapaxes(ground.hessian, 1, 2)).reshape(POINTS, -1).max(axis=1)
        k = int(off.argmax())
        yield float(off[k]), f"the Hessian is not symmetric, by {off[k]:.3g}, at {_place(points[k], t)}", {"time": t}


def _rates(site: Site) -> Iterator[Finding]:
    words = "the rate is that at a fixed point"
    for name, of in (
        ("distance_rate", "distance"),
        ("normal_rate", "normal"),
        ("distance_acceleration", "distance_rate"),
    ):
        yield from _compared(site, name, f"{of} by time", True, words, attrgetter(of))


def _belt(site: Site) -> Iterator[Finding]:
    words = "it is that of the velocity at a fixed point"
    yield from _compared(site, "acceleration", "the velocity by time", True, words, lambda s: s.velocity)
    words = "it is the derivative of the velocity along the point"
    yield from _compared(site, "velocity_gradient", "the velocity", False, words, lambda s: s.velocity)
    for t, points, ground in site.looks():  # the material stays on the surface: n v = -d phi/dt there
        on = np.abs(ground.distance) < UNIT
        off = np.abs(np.einsum("ki,ki->k", ground.normal, ground.velocity) + ground.distance_rate) * on
        k = int(off.argmax())
        text = f"the ground's material leaves its surface by {off[k]:.3g} m/s at {_place(points[k], t)}"
        yield float(off[k]), f"{text}; normal and velocity, with the rate of the distance, are to cancel", {"time": t}


def _third(site: Site) -> Iterator[Finding]:
    radii = np.zeros(POINTS)
    for t, points, _ in site.looks():
        away = site.smooth_at(t, points)
        own = site.terrain.third(t, points, radii)
        expected = Terrain.third(site.terrain, t, points, radii)
        for name in ("distance", "velocity"):
            given, there = np.asarray(getattr(own, name), dtype=float)[away], getattr(expected, name)[away]
            off = float(np.abs(given - there).max(initial=0.0)) / max(1.0, float(np.abs(there).max(initial=0.0)))
            yield off, f"third().{name} differs from differences by {off:.3g} at t = {t:.3g} s", {"time": t}


def _consistent(site: Site) -> Iterator[Finding]:
    """Gaps, heights and the plane against the surface."""
    radii = np.full(POINTS, 0.01)
    for t, points, ground in site.looks():
        gaps = np.asarray(site.terrain.gaps(t, points, np.zeros(POINTS)), dtype=float)
        wrong = (np.sign(gaps) != np.sign(ground.distance)) & (np.abs(ground.distance) > UNIT)
        text = f"gaps() and the distance of surface() have different signs at {_place(points[int(wrong.argmax())], t)}"
        yield np.inf if wrong.any() else 0.0, text, {"time": t}
        near = np.abs(ground.distance) < STEEPEST
        off = np.abs(gaps - ground.distance) * near
        yield float(off.max()), f"gaps() is off the distance near the surface by {off.max():.3g} m", {"time": t}
        heights = site.terrain.heights(t, points[:, :2])
        if heights is not None:
            tops = np.column_stack([points[:, :2], heights])
            off = np.abs(site.terrain.surface(t, tops).distance)
            yield float(off.max()), f"points at heights() are {off.max():.3g} m off the surface", {"time": t}
        if (plane := site.terrain.plane()) is not None:
            off = np.abs((points - plane[0]) @ plane[1] - ground.distance)
            yield float(off.max()), f"plane() and surface() are {off.max():.3g} m apart", {"time": t}
        site.terrain.near(t, points, radii)


def _bounds(site: Site) -> Iterator[Finding]:
    """Promises that the search for the lowest gap in a step relies on: growth(), approach() and at_least()."""
    radii = np.full(POINTS, 0.01)
    for t, points, ground in site.looks():
        growth = site.terrain.growth(t, SPAN, radii)
        if growth is None:
            return
        yield from _bends(site, t)
        for k, point in enumerate(points):
            where = _place(point, t)
            bend = float(np.linalg.norm(ground.hessian[k], 2)) - float(growth.curvature[k])
            yield bend, f"growth().curvature is less than that of the distance by {bend:.3g} at {where}", {"time": t}
            fast = abs(float(ground.distance_rate[k])) - growth.speed
            yield fast, f"growth().speed is less than that of the distance by {fast:.3g} at {where}", {"time": t}
            gap, gradient = site.terrain.approach(t, point, 0.0)
            off = abs(gap - float(ground.distance[k]))
            if gradient is not None:
                off = max(off, float(np.abs(gradient - ground.gradient[k]).max()))
                yield off, f"approach() is off surface() by {off:.3g} at {where}", {"time": t}
        gaps = np.asarray(site.terrain.gaps(t, points, np.zeros(POINTS)), dtype=float)
        least = site.terrain.at_least(gaps, np.zeros(POINTS))
        high = float((least - np.abs(ground.distance))[gaps > 0.0].max(initial=0.0))
        yield high, f"at_least() is more than the distance by {high:.3g} m at t = {t:.3g} s", {"time": t}


def _bends(site: Site, t: float) -> Iterator[Finding]:
    """The bound of the curvature against the surface itself, far and near: it is one for the whole ground."""
    for places in site.places(t):
        growth = site.terrain.growth(t, SPAN, np.zeros(MANY))
        if growth is None:
            return
        try:
            ground = site.terrain.surface(t, places)
        except ContactSimError:  # the ground is not as wide
            return
        bends = np.linalg.norm(ground.hessian, 2, axis=(1, 2)) - growth.curvature
        k = int(bends.argmax())
        text = f"growth().curvature is less than that of the distance by {bends[k]:.3g} at {_place(places[k], t)}"
        yield float(bends[k]), text, {"time": t}


def _parameters(site: Site) -> Iterator[Finding]:
    ground, t = site.terrain, float(site.instants[0])
    points = site.points(t)
    step = lambda value: 1e-3 * max(1.0, abs(value))  # noqa: E731
    return checks.parameters(ground, "ground", "Terrain", lambda: ground.surface(t, points).distance, step, UNIT)


def _thrown(site: Site) -> tuple[ContactSystem, State]:
    site.demand()
    point = ContactPoint("ball", radius=RADIUS, friction=0.5, name="ball")
    system = ContactSystem(Robot.from_urdf(FOLDER / "ball.urdf", "free_flyer", contacts=[point]), site.terrain)
    q = system.robot.nominal.copy()
    for _ in range(DESCENT):
        q[2] -= float(system.mechanism.gaps(0.0, q)[0]) - DROP
    return system, State(q, np.array([*THROW, 0.0, 0.0, 0.0]))


def _runs(site: Site) -> Iterator[Finding]:
    system, state = _thrown(site)
    run = simulate(system, state, (0.0, TIME))
    yield 0.0 if run.events else np.inf, f"a ball that is dropped from {DROP} m does not meet the ground", {}
    for finding in checks.whole(run):
        if finding[0] > 0.0 and not site.terrain.smooth:
            raise Edges
        yield finding


class Edges(Exception):
    """The ground says that it has edges."""


def _derivative(site: Site) -> Iterator[Finding]:
    if not site.terrain.smooth:
        raise Edges
    system, state = _thrown(site)
    run = simulate(system, state, (0.0, TIME), tolerances=TIGHT)
    start, space = system.pack(state), system.space()

    def final(dx: Array) -> Array:
        moved = system.state(space.integrate(start, dx))
        return space.difference(run.final_x, simulate(system, moved, (0.0, TIME), tolerances=TIGHT).final_x)

    matrix = linearize(run, tolerances=TIGHT).matrix()
    return checks.differenced("the derivative of a ball's run on it", matrix, final, DIRECTIONS, SHIFT)


Look = Callable[[Site], Iterator[Finding]]
CHECKS: Mapping[str, tuple[Look, float]] = {
    "finite answers": (_answers, 0.0),
    "normal of unit length": (_unit, UNIT),
    "gradient": (_gradient, DERIVATIVE),
    "Hessian": (_hessian, DERIVATIVE),
    "rates": (_rates, DERIVATIVE),
    "velocity of the ground": (_belt, DERIVATIVE),
    "third derivatives": (_third, DERIVATIVE),
    "gaps and heights": (_consistent, UNIT),
    "bounds of gaps": (_bounds, UNIT),
    "parameters": (_parameters, 0.0),
    "a ball runs on it": (_runs, 0.0),
    "derivative of runs": (_derivative, OF_RUN),
}


UNASKED = {
    Edges: "the ground declares that it is not smooth; a run over its edges keeps no law there and has no derivative",
    Nowhere: "it stands for no ground, which nothing meets",
}


def named(table: GroundTable) -> dict[str, Callable[[], Outcome]]:
    """{property: what tries it} of a ground."""
    return checks.named(CHECKS, Site(table), "ground", UNASKED)
