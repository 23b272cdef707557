"""Kinematics of curved bodies on the ground: rims of discs and ellipsoids, which touch with their nearest point.

The material point x = c - r n of the body that is nearest to the ground moves over its surface (see
`closest_points.ground`); with V = (l, w) the body's twist and W(t, c) the velocity of the ground's material,

    u = l + w x x - W,    z = E u,    u' = l' + w' x x + w x x' - W_t - W_c c',    z' = E' u + E u',

where the normal velocity is n . (l + w x x) + phi_t. Rows are E (J_l + J_w x x). Derivatives are complex steps through
all of this (Squire and Trapp, 1998), as those of contacts between bodies.

A disc that lies flat has no lowest point. Below the tilt `flat` fixed points of its rim hold it, above it the lowest
one. What does not act is open: a rim has RISE times the tilt that it lacks for a gap, at least, a point its height and
RISE times what the tilt is more, so that no touch is missed where a disc tips from one side to the other. What is met
as that vanishes may be below the ground by what points are above their rim: from there on its gap is what it is, not
raised, so that it fires where it is lower again, not at once. While points are closed the disc stands: none of its
points is raised, and its rim is OFF. Closed ones end a little later than open ones begin: they hand over to each other,
with a change of 2 R flat (1 - cos(pi / n)) in height. R flat is LEVEL at most, and that change 8e-10 m on eight points:
less than what contacts may start below the ground (`Tolerances.start_depth`), so that a rim that bounces off there
leaves.

That is a matter of rigid contact. On ground that gives way all of a disc acts at once, at any tilt, by the shapes of
`CurvedContact.yielding`: forces are as smooth as gaps, and those of springs have a potential where rows are gradients
of these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import NamedTuple, dataclass
from ...errors import InputError
from ...hybrid.flow import Look
from ..contact_point import ContactPoint, ContactRim, perpendicular
from ..forest import Computing, Workspace
from ..geometry.closest_points.equations import Pose, cross, turn
from ..geometry.closest_points.features import Circle, Ellipsoid, Feature, Point, on_axes
from ..geometry.closest_points.ground import (
    GroundJet,
    OverGround,
    Rounded,
    drift_over,
    jet_at,
    lowest,
    placed,
    root_of,
    settled_over,
)
from ..terrain import Terrain
from ..zero import BULGE, EVEN, FLAT_ON_HILLS
from .plane_ground import follows, simple_model, skew, supports
from .tangents import Tangents
from .tangents import axes as frame_axes

if TYPE_CHECKING:
    from ..plain_robot import PlainRound

UP = np.array([0.0, 0.0, 1.0])
COMPLEX_STEP = 1e-30  # its square is lost in rounding, whatever it is added to
TILTED, LYING = (1,), (2,)  # regions: of a rim, of its fixed points
ENDS = 0.25, 2.0  # tilts, in units of FLAT, at which a closed rim and closed fixed points end
BEGIN = 0.5, 1.0  # above which an open rim, and below which open fixed points can touch
OFF = 1.0  # m: gap of a rim whose disc is held by its points
RISE = 1.0  # m/rad
STEEP = 0.3  # tilt beyond which a rim's nearest point moves so slowly that its gap bends little


@dataclass(frozen=True, eq=False)
class CurvedContact:
    """A curved contact on its joint.

    Attributes:
        name: of the contact.
        joint: that moves it.
        feature: what touches, in axes of the joint.
        disc: the rim it belongs to, which may lie flat; None: it never does.
        lying: whether it acts while the disc lies flat.
        flat: tilt below which the disc lies flat, as the sine of its angle; zero: it acts at any tilt.
    """

    name: str
    joint: int
    feature: Feature
    disc: Circle | None
    lying: bool
    flat: float

    @property
    def ends(self) -> bool:
        """Whether it acts at some tilts alone."""
        return self.flat > 0.0

    @property
    def region(self) -> tuple[int, ...]:
        """The one region in which it can touch, where it has an end."""
        return () if not self.ends else LYING if self.lying else TILTED

    @property
    def yielding(self) -> CurvedContact:
        """The same on ground that gives way, where all of a disc acts at any tilt.

        The rim is a spheroid of half thickness b = R max(BULGE, flat) with the support function
        sqrt(R^2 s^2 + b^2 c^2), s and c the sine and cosine of the tilt. That adds b^2 c^2 / (2 R s) at most to the
        depth of a disc that is tilted, and b to that of one that lies flat. Its lowest point crosses the disc while the
        tilt does from b / R to the other side, without a jump. The fixed points are R EVEN from its middle, above its
        lowest point by R s (1 - EVEN) at least: they touch what is deeper than that.
        """
        disc = self.disc
        if disc is None:
            return self
        if self.lying:
            place = disc.centre + EVEN * (self.feature.centre - disc.centre)
            return CurvedContact(self.name, self.joint, Point(place, self.feature.offset), None, False, 0.0)
        axes = np.column_stack([*perpendicular(disc.axis), disc.axis])
        radii = disc.radius * np.array([1.0, 1.0, max(BULGE, self.flat)])
        return replace(self, feature=Ellipsoid(disc.centre, axes, radii, disc.offset), flat=0.0)


class Body(NamedTuple):
    """Motion of a body: axes and origin, twist V and its rate A (..., 6) at the world's origin, linear first."""

    pose: Pose
    V: Array
    A: Array


class Touch(NamedTuple):
    """A contact: point x (..., 3), frame E (..., d, 3), velocities z and rates z' (..., d)."""

    x: Array
    E: Array
    z: Array
    z_rate: Array


def curved(point: ContactPoint, placement: Any, joint: int, terrain: Terrain) -> CurvedContact:
    """A curved contact point on its joint, whose frame has this placement on it.

    Raises:
        InputError: a rim stands on ground that is curved and moves.
    """
    if not isinstance(point, ContactRim):
        return CurvedContact(point.name, joint, on_axes(point.feature, placement), None, False, 0.0)
    flat = point.circle.flat
    if terrain.constant_normal() is None:
        if terrain.moving:
            raise InputError(
                f"contact '{point.name}' is a rim, and the ground is curved and moves; give contact points"
            )
        growth = terrain.growth(0.0, 0.0, np.zeros(1))
        bend = float(growth.curvature[0]) if growth is not None else 0.0
        flat = max(flat, min(FLAT_ON_HILLS * point.rim * bend, 0.5))
    feature, disc = on_axes(point.feature, placement), on_axes(point.circle, placement)
    return CurvedContact(point.name, joint, feature, disc, point.angle is not None, flat)


def _on_discs_of_points(contacts: Sequence[CurvedContact]) -> tuple[frozenset[int], ...]:
    """Of each contact that is a fixed point of a disc, the rims and points of that disc; of others none."""
    on_discs = [k for k, contact in enumerate(contacts) if contact.disc is not None]
    return tuple(
        frozenset(k for k in on_discs if contact.lying and _same_disc(contact, contacts[k])) for contact in contacts
    )


def _same_disc(one: CurvedContact, two: CurvedContact) -> bool:
    a, b = one.disc, two.disc
    assert a is not None and b is not None
    same = one.joint == two.joint and a.radius == b.radius and a.offset == b.offset
    return same and np.array_equal(a.centre, b.centre) and np.array_equal(a.axis, b.axis)


def touch(body: Rounded, motion: Body, jet: GroundJet, start: OverGround, tangents: Tangents) -> Touch:
    """The contacts of k curved bodies; analytic in `motion`, whose numbers have the shape (..., k, .)."""
    pose, V, A = motion
    found, S = settled_over(body, pose, jet, start)
    n, core = found
    bend, offset = jet.curvature(core), body.offset[:, None]
    n_rate, core_rate = drift_over(found, S, bend, V)
    x, x_rate = core - offset * n, core_rate - offset * n_rate
    moved = V[..., :3] + cross(V[..., 3:], x)
    moved_rate = A[..., :3] + cross(A[..., 3:], x) + cross(V[..., 3:], x_rate)
    along = np.concatenate([np.ones((*core.shape[:-1], 1)), core_rate], axis=-1)
    ground, ground_by = jet.drift(core)
    lift, lift_rate = jet.gradient(core)[..., 0], (bend[..., 0, :] * along).sum(axis=-1)
    turned = tangents.at(n.reshape(-1, 3))
    axes = turned.axes.reshape(*n.shape[:-1], -1, 3)
    axes_rate = turn(turned.first.reshape(*n.shape[:-1], -1, 3, 3), n_rate[..., None, :])
    slip, slip_rate = moved - ground, moved_rate - turn(ground_by, along)
    z_n = (n * moved).sum(axis=-1) + lift
    z_n_rate = (n_rate * moved + n * moved_rate).sum(axis=-1) + lift_rate
    z = np.concatenate([z_n[..., None], turn(axes, slip)], axis=-1)
    z_rate = np.concatenate([z_n_rate[..., None], turn(axes_rate, slip) + turn(axes, slip_rate)], axis=-1)
    return Touch(x, np.concatenate([n[..., None, :], axes], axis=-2), z, z_rate)


def touch_plane(body: Rounded, motion: Body, axes: Array, belt: Array) -> Touch:
    """`touch` on a fixed plane, of normal and tangents `axes` (d, 3), whose surface runs at `belt` (3,)."""
    pose, V, A = motion
    n, (linear, spin) = axes[0], (V[..., :3], V[..., 3:])
    core, S = placed(body, pose, np.broadcast_to(n, pose.o.shape))
    x_rate = linear + cross(spin, core) + turn(S, cross(spin, n))
    x = core - body.offset[:, None] * n
    moved = linear + cross(spin, x)
    moved_rate = A[..., :3] + cross(A[..., 3:], x) + cross(spin, x_rate)
    return Touch(x, np.broadcast_to(axes, (*x.shape[:-1], *axes.shape)), (moved - belt) @ axes.T, moved_rate @ axes.T)


class CurvedKinematics(Computing):
    """Gaps, rows and derivatives of the curved contacts of a robot on its ground.

    Args:
        model: pinocchio's model.
        contacts: the contacts.
        terrain: the ground.
        tangents: how the tangents of contacts follow its normal.
    """

    def __init__(self, model: Any, contacts: Sequence[CurvedContact], terrain: Terrain, tangents: Tangents) -> None:
        self._model, self.contacts, self.nv = pin.Model(model), tuple(contacts), model.nv
        self._terrain, self._tangents = terrain, tangents
        self._workspace = Workspace(self._model)
        self._still = np.zeros(self.nv)
        self._supports = supports(self._model)
        self._simple = simple_model(model)
        self._follows = follows(self._simple[0] if self._simple else model)
        self._normal, plane = terrain.constant_normal(), terrain.plane()
        self._axes_on_plane = None if plane is None else frame_axes(plane[1], tangents)
        self._bodies = Rounded.of([contact.feature for contact in contacts])
        self._joints = [contact.joint for contact in contacts]
        self._discs = np.array([k for k, contact in enumerate(contacts) if contact.disc is not None], dtype=int)
        self._axes = np.array([UP if contact.disc is None else contact.disc.axis for contact in contacts]).reshape(
            -1, 3
        )
        self._lying = np.array([contact.lying for contact in contacts], dtype=bool)
        self._flat = np.array([contact.flat for contact in contacts])
        self._on_discs = _on_discs_of_points(contacts)
        self.rows_each = 1 + tangents.count

    @cached_property
    def _simple_workspace(self) -> Workspace:
        assert self._simple is not None
        return Workspace(self._simple[0])

    @property
    def derivable(self) -> bool:
        """True if pinocchio can derive the motion of all joints."""
        return self._simple is not None

    def yielding(self) -> CurvedKinematics | None:
        """The same on ground that gives way; None where it has no discs, or is curved no one knows how much."""
        known = self._normal is not None or self._terrain.growth(0.0, 0.0, np.zeros(1)) is not None
        if not len(self._discs) or not known:
            return None
        contacts = [contact.yielding for contact in self.contacts]
        return CurvedKinematics(self._model, contacts, self._terrain, self._tangents)

    # --- gaps -------------------------------------------------------------------------------------------------

    def gaps(self, t: float, q: Array, held: Collection[int]) -> Array:
        """Distances (contacts,) [m]; those of closed ones, `held`, as they go on beyond their ends."""
        gaps, low = self._distances(t, q)
        discs = [k for k in self._discs.tolist() if k not in held]
        if discs:
            standing = self.standing(held)
            raised = self._masked(gaps, discs, low.normal)
            kept = [k for k in discs if k in standing]
            gaps = np.where(np.isin(np.arange(len(gaps)), kept), np.where(self._lying, gaps, OFF), raised)
        return gaps

    def met_gaps(self, t: float, q: Array) -> Array:
        """Distances (contacts,) that no tilt raises [m]: how those go on that were met."""
        return self._distances(t, q)[0]

    def _distances(self, t: float, q: Array) -> tuple[Array, OverGround]:
        """Distances (contacts,) from the ground, and the nearest points."""
        self._data.forward_kinematics(q)
        low = self._lowest(t, list(range(len(self.contacts))))
        return np.array(self._terrain.gaps(t, low.core, self._bodies.offset)), low

    def standing(self, held: Collection[int]) -> set[int]:
        """The rims and points of discs that closed contacts, `held`, hold by their fixed points."""
        return {k for i in held for k in self._on_discs[i]}

    def _pose(self, chosen: Sequence[int]) -> Pose:
        """Poses (k, ...) of the joints of contacts."""
        places = [self._data.oMi[self._joints[k]] for k in chosen]
        return Pose(np.array([place.rotation for place in places]), np.array([place.translation for place in places]))

    def _lowest(self, t: float, chosen: Sequence[int], near: bool = False) -> OverGround:
        """The nearest points of contacts, where the joints are up to date; see `lowest`."""
        bodies, pose = self._bodies.chosen(chosen), self._pose(chosen)
        if self._normal is None:
            return lowest(bodies, pose, self._terrain, t, near)
        n = np.broadcast_to(self._normal, (len(chosen), 3))
        return OverGround(n, placed(bodies, pose, n)[0])

    def _tilts(self, discs: Sequence[int], normals: Array) -> Array:
        """Sines (k,) of the angles between the axes of discs and normals (k, 3) of the ground."""
        axes = turn(self._pose(discs).R, self._axes[discs])
        return np.asarray(np.linalg.norm(cross(axes, normals), axis=-1))

    def _masked(self, gaps: Array, discs: Sequence[int], normals: Array) -> Array:
        """Gaps (contacts,) where those of open contacts of discs that do not act are raised, down to where they do."""
        (rim, points), flat, lying = BEGIN, self._flat[discs], self._lying[discs]
        tilts = self._tilts(discs, normals[discs])
        raised, left = gaps[discs] + RISE * np.maximum(0.0, tilts - points * flat), rim * flat - tilts
        lifted = np.where(left > 0.0, np.maximum(gaps[discs], RISE * left), gaps[discs])
        found = gaps.copy()
        found[discs] = np.where(lying, raised, lifted)
        return found

    def margin(self, q: Array, k: int) -> float:
        """How far a closed contact is from its end, as the sine of a tilt."""
        self._data.forward_kinematics(q)
        (rim, points), contact, tilt = ENDS, self.contacts[k], float(np.linalg.norm(self._lean(k)[1]))
        return points * contact.flat - tilt if contact.lying else tilt - rim * contact.flat

    def margin_gradient(self, q: Array, k: int) -> Array:
        """Derivative (nv,) of that by q, of a disc over ground whose normal does not change along the way."""
        jacobian = self._data.joint_jacobians(q)
        cosine, lean = self._lean(k)  # the axis turns by w x axis
        tilt = max(float(np.linalg.norm(lean)), np.finfo(float).tiny)
        contact = self.contacts[k]
        rate = -(cosine / tilt) * lean @ (jacobian[3:] * self._supports[contact.joint])
        return np.asarray(-rate if contact.lying else rate)

    def _lean(self, k: int) -> tuple[float, Array]:
        """Cosine of the tilt of a disc, and axis x normal, which is as long as its sine; joints are up to date."""
        disc = self.contacts[k].disc
        assert disc is not None
        n, axis = self._lowest(0.0, [k]).normal[0], self._pose([k]).R[0] @ disc.axis
        return float(axis @ n), np.cross(axis, n)

    def gap_motion(self, t: float, q: Array, v: Array, k: int, held: Collection[int] = ()) -> Look:
        """The gap of an open contact and its rate, while others are closed."""
        stands = k in self.standing(held)
        if stands and not self._lying[k]:
            return Look(OFF, 0.0, ("off",))
        self._data.forward_kinematics(q, v)
        contact, low = self.contacts[k], self._lowest(t, [k])
        gap = float(self._terrain.gaps(t, low.core, self._bodies.offset[[k]])[0])
        velocity = self._data.oMi[contact.joint].act(self._data.v[contact.joint]).vector
        lift = float(jet_at(self._terrain, t, low.core, third=False).first[0, 0])
        rate = float(low.normal[0] @ (velocity[:3] + np.cross(velocity[3:], low.core[0]))) + lift
        if contact.disc is None or stands:
            return Look(gap, rate, ())
        tilt = float(self._tilts([k], low.normal)[0])
        if contact.lying:
            above = tilt - BEGIN[1] * contact.flat
            return Look(gap + RISE * above, rate, None) if above > 0.0 else Look(gap, rate, ())
        left = BEGIN[0] * contact.flat - tilt
        if left > 0.0:
            return Look(max(gap, RISE * left), rate, None)
        return Look(gap, rate, () if tilt > STEEP else None)

    def sizes(self) -> tuple[Array, Array]:
        """Arms by which spin moves the contacts' gaps, and their radii of curvature, of rims where they are steep.

        Both (contacts,) [m].
        """
        far, bends = np.empty(len(self.contacts)), np.zeros(len(self.contacts))
        for k, contact in enumerate(self.contacts):
            feature = contact.feature
            radii = np.atleast_1d(getattr(feature, "radii", getattr(feature, "radius", 0.0)))
            far[k] = float(np.linalg.norm(feature.centre)) + float(radii.max()) + feature.offset + RISE * contact.ends
            if contact.disc is not None and not contact.lying:
                bends[k] = contact.disc.radius / STEEP
            elif len(radii) == 3:
                bends[k] = float(radii.max() ** 2 / radii.min())
        return far, bends

    def plain(self, k: int, extent: float, bend: float) -> PlainRound:
        """A contact as plain data, with its `sizes`."""
        from ..plain_robot import PlainDisc, PlainRound

        own, disc = self.contacts[k], None
        if own.disc is not None:
            number = next(i for i in self._discs.tolist() if _same_disc(own, self.contacts[i]))
            disc = PlainDisc(number, own.disc.axis, own.lying, own.flat)
        return PlainRound(root_of(own.feature), extent, bend, disc)

    # --- rows -------------------------------------------------------------------------------------------------

    def rows(self, t: float, q: Array, v: Array, chosen: Sequence[int]) -> tuple[Array, Array, Array]:
        """Rows J (m, nv), velocities z and bias accelerations (m,) of the contacts `chosen`."""
        data = self._data
        jacobian = data.joint_jacobians(q)
        data.forward_kinematics(q, v, self._still)
        joints = [self._joints[k] for k in chosen]
        own = jacobian * self._supports[joints][:, None]  # (k, 6, nv)
        drifts = np.array([data.oMi[joint].act(data.a[joint]).vector for joint in joints])
        found = self._touch(t, chosen, own @ v, drifts)
        moved = own[:, :3] - skew(found.x) @ own[:, 3:]  # l + w x x of each velocity (k, 3, nv)
        return (found.E @ moved).reshape(-1, self.nv), found.z.ravel(), found.z_rate.ravel()

    def _touch(self, t: float, chosen: Sequence[int], V: Array, A: Array) -> Touch:
        return self._touching(t, chosen, third=False)(Body(self._pose(chosen), V, A))

    def _touching(self, t: float, chosen: Sequence[int], third: bool) -> Callable[[Body], Touch]:
        """How contacts touch, as a function of their bodies' motion, analytic near where the joints are."""
        bodies = self._bodies.chosen(chosen)
        if self._axes_on_plane is not None:
            return partial(touch_plane, bodies, axes=self._axes_on_plane, belt=self._terrain.belt())
        low = self._lowest(t, chosen, near=True)
        jet = jet_at(self._terrain, t, low.core, third=third)
        start = settled_over(bodies, self._pose(chosen), jet, low)[0] if third else low
        return partial(touch, bodies, jet=jet, start=start, tangents=self._tangents)

    def frame_at(self, t: float, q: Array, k: int) -> tuple[Array, Array]:
        """The frame (d, 3) of a contact, and the point (3,) at which it touches, or would."""
        self._data.forward_kinematics(q)
        found = self._touch(t, [k], np.zeros((1, 6)), np.zeros((1, 6)))
        return found.E[0], found.x[0]

    def lowest_points(self, q: Array) -> Array:
        """Points (contacts, 3) of the contacts nearest to the plane of the ground [m]."""
        self._data.forward_kinematics(q)
        low = self._lowest(0.0, list(range(len(self.contacts))))
        return low.core - self._bodies.offset[:, None] * low.normal

    # --- derivatives ------------------------------------------------------------------------------------------

    def derivatives(
        self, t: float, q: Array, v: Array, a: Array, chosen: Sequence[int], forces: Array
    ) -> tuple[Array, Array]:
        """Derivatives at held `forces` (m,): (n, n) of J^T lam by q, and (3, m, n) dz/dq, dz'/dq, dz'/dv."""
        assert self._simple is not None
        self._data.forward_kinematics(q)
        index, data = self._simple[1], self._simple_workspace.data
        data.rnea_derivatives(q, v, a)  # its dAdv differs from that of the kinematics alone
        n, dim, touching = self.nv, self.rows_each, self._touching(t, chosen, third=True)
        joints = [self._joints[k] for k in chosen]
        masks = self._supports[joints]
        seeds = [_seeds(data, data.oMi[index[j]], mask, v, a) for j, mask in zip(joints, masks, strict=True)]
        base, along_q, along_v = (_stacked([seed[i] for seed in seeds]) for i in range(3))
        at_q, at_v = (touching(_stepped(base, by)) for by in (along_q, along_v))
        rows = [at_q.z.imag, at_q.z_rate.imag, at_v.z_rate.imag]  # (n, k, d)
        rows = [row.reshape(n, -1).T / COMPLEX_STEP for row in rows]
        moved = np.zeros((n, n))
        for i, mask in enumerate(masks):
            one = Touch(*(part[:, i] for part in at_q))
            moved += self._force_derivative(mask, data.J, one, forces[dim * i : dim * (i + 1)])
        return moved, np.array(rows)

    def _force_derivative(self, mask: Array, jacobian: Array, at_q: Touch, forces: Array) -> Array:
        """Derivative of J^T lam, see `PairKinematics`."""
        force = forces @ at_q.E
        wrench = np.concatenate([force, cross(at_q.x, force)], axis=-1)
        change, (F, T) = wrench.imag / COMPLEX_STEP, np.split(wrench[0].real, 2)
        linear, angular = jacobian[:3].T, jacobian[3:].T
        turned = np.hstack([np.cross(F, angular), np.cross(F, linear) + np.cross(T, angular)])
        own = jacobian * mask
        return own.T @ change.T + (own.T @ turned.T) * self._follows


def _stacked(bodies: Sequence[Body]) -> Body:
    """The motion of several bodies, side by side before the axes of vectors and matrices."""
    poses = Pose(np.stack([b.pose.R for b in bodies], axis=-3), np.stack([b.pose.o for b in bodies], axis=-2))
    return Body(poses, np.stack([b.V for b in bodies], axis=-2), np.stack([b.A for b in bodies], axis=-2))


def _stepped(body: Body, by: Body) -> Body:
    """The motion with the complex step of each direction on it."""
    h = 1j * COMPLEX_STEP
    pose = Pose(body.pose.R + h * by.pose.R, body.pose.o + h * by.pose.o)
    return Body(pose, body.V + h * by.V, body.A + h * by.A)


def _seeds(data: Any, place: Any, mask: Array, v: Array, a: Array) -> tuple[Body, Body, Body]:
    """Motion of a body, and how it changes along each tangent direction of q, and along v: see `plane_ground`."""
    n = len(v)
    J, P, Q, by_v = (part.T for part in (data.J, data.dAdv - data.dJ, data.dAdq, data.dAdv))
    V = data.J @ (mask * v)
    A = data.J @ (mask * a) + data.dJ @ (mask * v)
    R, o, own = np.array(place.rotation), np.array(place.translation), mask[:, None]
    turned = np.stack([own * cross(J[:, 3:], R[:, k]) for k in range(3)], axis=-1)
    pose = Pose(turned, own * (J[:, :3] + cross(J[:, 3:], o)))
    along_q = Body(pose, own * (_bracket(J, V) + P), own * (_bracket(J, A) + _bracket(P, V) + Q))
    still = Pose(np.zeros((n, 3, 3)), np.zeros((n, 3)))
    return Body(Pose(R, o), V, A), along_q, Body(still, own * J, own * (_bracket(J, V) + by_v))


def _bracket(a: Array, b: Array) -> Array:
    """The bracket (w x l' + l x w', w x w') of spatial velocities (..., 6)."""
    linear = cross(a[..., 3:], b[..., :3]) + cross(a[..., :3], b[..., 3:])
    return np.concatenate([linear, cross(a[..., 3:], b[..., 3:])], axis=-1)
