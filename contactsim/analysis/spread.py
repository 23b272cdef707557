"""Places of a robot's point along runs that start a little differently: clouds and ellipsoids to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arguments import arguments, numbers, whole
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.representation import Brief
from ..derivatives.variational import ArcVariation
from ..errors import InputError
from .matrices import symmetric
from .zero import THIN

if TYPE_CHECKING:
    from ..derivatives.linearized_event import EventLinearization
    from ..derivatives.run_derivative import RunDerivative

POINTS = whole("a whole number of points, 4 or more", ge=4)
SAMPLES = 120  # times of a spread, where none are given


@dataclass(frozen=True, eq=False, repr=False)
class Spread(Brief):
    """Displacements of a point of a robot, carried along a run to first order.

    Attributes:
        name: what it is called in a picture.
        t: times (N,) [s]; both sides of an event share a time.
        centre: (N, 3) the point of the run itself, in the world [m].
        offsets: (N, m, 3) displacement of the point for each start [m].
        faces: (k, 3) triangles of the surface that the starts lie on; None: there is none.
        ellipsoid: whether the starts are a square root of a covariance, so that `covariances` are what is meant.
        corrected: whether events act by their derivative; else by that of the reset alone.
        scale: how much larger a picture shows the displacements.
        shift: (3,) where a picture shows them, from the point [m].
        orders: (m,) the order of touch-downs that each start takes, where they are told apart; () otherwise.
        axes: (3,) what a picture shows along x, y and z, and how much of it 0.1 m is; () where it is a displacement.
    """

    name: str
    t: Array
    centre: Array
    offsets: Array
    faces: Array | None
    ellipsoid: bool
    corrected: bool
    scale: float
    shift: Array
    orders: tuple[Any, ...] = ()
    axes: tuple[str, ...] = ()

    @property
    def covariances(self) -> Array:
        """J P J^T (N, 3, 3) of the point [m^2]: sums over the starts, which are a square root of P0."""
        return np.einsum("nmi,nmj->nij", self.offsets, self.offsets)


def spread(
    lin: RunDerivative,
    frame: str,
    starts: Any = None,
    *,
    covariance: Any = None,
    point: Any = (0.0, 0.0, 0.0),
    times: Sequence[float] | None = None,
    corrected: bool = True,
    shown: Any = None,
    scale: float = 1.0,
    shift: Any = (0.0, 0.0, 0.0),
    name: str = "",
) -> Spread:
    """Places of a point of a robot along perturbed runs, to first order: p + J(q) dq(t).

    Along arcs dx' = A dx. At an event dx+ = S dx- with the saltation matrix, or the piece of the B-derivative that dx-
    selects where several things happen at once; with ``corrected=False`` dx+ = D_x R dx-, by the reset alone, which is
    what a linearization without saltation matrices would give.

    Args:
        lin: the linearized run of a ContactSystem with a Robot.
        frame: name of a frame of the robot.
        starts: perturbations (m, n) of the start in tangent coordinates (dq, dv, dz).
        covariance: in place of `starts`, the covariance (n, n) of the start.
        point: (3,) in the frame [m].
        times: when to look (N,) [s]; by default evenly over the run. Both sides of the events come with them.
        corrected: whether events act by their derivative.
        shown: what of the variations is looked at in place of the point's displacement: rows (3, n) for x, y and z, for
            example those of angular velocities.
        scale: how much larger a picture shows the displacements.
        shift: (3,) where a picture shows them, from the point, in the world [m].
        name: what it is called in a picture.

    Raises:
        InputError: the system has no Robot, there is no such frame, or the perturbations have the wrong shape.
        NonDifferentiableError: neighbouring runs end in states apart from each other, or a covariance meets an event
            with several linear pieces.
    """
    robot, given, single = _robot_of(lin), _starts(lin, starts, covariance), covariance is not None
    rows = None if shown is None else _rows(lin, shown)
    moments, places, offsets = [], [], []
    for t, x, owner, dx in carried(lin, given, _times(lin, times), corrected, single):
        q = owner.state(x).q
        moments.append(t)
        places.append(robot.point_position(frame, q, point))
        offsets.append(dx[:, : owner.nv] @ jacobian(owner, frame, q, point).T if rows is None else dx @ rows.T)
    return Spread(
        name=name or f"{frame} {'with' if corrected else 'without'} saltation",
        t=np.array(moments),
        centre=np.array(places),
        offsets=np.array(offsets),
        faces=None if single else _faces(given),
        ellipsoid=single,
        corrected=corrected,
        scale=scale,
        shift=np.array(shift, dtype=float),
    )


def _robot_of(lin: RunDerivative) -> Any:
    system = lin.trajectory.system
    robot = getattr(system, "robot", None)
    if not hasattr(robot, "point_position"):
        raise InputError(f"the points of a {type(robot or system).__name__} have no places; spread that of a Robot")
    return robot


def carried(
    lin: RunDerivative, starts: Array, times: Array, corrected: bool = True, single: bool = False
) -> Iterator[tuple[float, Array, Any, Array]]:
    """(t, plain state, system, variations (m, n)) at `times`, at the ends of arcs, and on both sides of events.

    `single` demands one matrix of each event.
    """
    variations, trajectory = starts @ lin.regained().T, lin.trajectory
    variations = lin.widened(variations, None) if corrected else variations
    for stretch in lin.followed() if corrected else lin.stretches():
        piece = stretch.piece
        if not isinstance(piece, ArcVariation):
            variations = _through(piece, variations, corrected, single)
            continue
        inside = times[(times > stretch.t0) & (times < stretch.t1)]
        now, arc = stretch.t0, trajectory.arc_at(stretch.t0)
        yield now, arc(now), arc.system, variations[:, : piece.space.dim]
        for t in (*inside.tolist(), stretch.t1):
            variations = variations @ piece.propagate(now, t, np.eye(piece.dim)).T
            now = t
            yield now, arc(now), arc.system, variations[:, : piece.space.dim]


def _through(event: EventLinearization, variations: Array, corrected: bool, single: bool) -> Array:
    if not corrected:
        return variations @ event.reset.T
    return variations @ event.saltation.T if single else event.apply(variations)


def jacobian(system: Any, frame: str, q: Array, point: Any) -> Array:
    """J (3, nv): a step dq moves the point of the frame by J dq in the world, since a force f on it acts as J^T f."""
    return np.array([system.mechanism.generalised_force(q, frame, axis, np.asarray(point)) for axis in np.eye(3)])


def root(covariance: Array) -> Array:
    """Rows r_k (m, n) with the sum of r_k r_k^T = `covariance` (n, n)."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > THIN * max(float(values[-1]), 0.0)
    return (vectors[:, kept] * np.sqrt(values[kept])).T


@arguments(directions=numbers(3, None, words="three rows of finite numbers (3, n)"), count=POINTS)
def ball(directions: Any, count: int = 162) -> Array:
    """Starts (count, n) spread evenly on the surface of a ball, or what becomes of it along `directions` (3, n).

    The points are those of Fibonacci's lattice on the sphere; a direction's length is the radius along it.

    Raises:
        InputError: the directions are not three rows.
    """
    rows = np.asarray(directions)
    k = np.arange(count) + 0.5
    z, angle = 1.0 - 2.0 * k / count, np.pi * (1.0 + np.sqrt(5.0)) * k
    radius = np.sqrt(1.0 - z**2)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), z]) @ rows


def _starts(lin: RunDerivative, starts: Any, covariance: Any) -> Array:
    if (starts is None) == (covariance is None):
        raise InputError("a spread needs either starts or a covariance; give one of them")
    if covariance is not None:
        return root(symmetric("covariance", covariance, lin.dim))
    given = np.asarray(starts, dtype=float)
    if given.ndim != 2 or given.shape[1] != lin.dim or not len(given) or not np.isfinite(given).all():
        raise InputError(f"the starts have shape {given.shape}; give finite tangent vectors (m, {lin.dim})")
    return given


def _rows(lin: RunDerivative, shown: Any) -> Array:
    rows = np.asarray(shown, dtype=float)
    if rows.shape != (3, lin.dim) or not np.isfinite(rows).all():
        raise InputError(f"'shown' has shape {rows.shape}; give three rows of finite numbers (3, {lin.dim})")
    return rows


def _times(lin: RunDerivative, times: Sequence[float] | None) -> Array:
    if times is None:
        return np.linspace(lin.t0, lin.t1, SAMPLES)
    return np.unique(np.asarray(times, dtype=float))


def _faces(starts: Array) -> Array | None:
    """Triangles (k, 3) of a surface in three directions on which all starts lie; None where there is no such one."""
    left, values, _ = np.linalg.svd(starts, full_matrices=False)
    if len(values) < 3 or int(np.sum(values > THIN * values[0])) != 3:
        return None
    from scipy.spatial import ConvexHull

    hull = ConvexHull(left[:, :3])
    return np.array(hull.simplices) if len(hull.vertices) == len(starts) else None
