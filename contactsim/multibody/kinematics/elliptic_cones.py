"""Elliptic cones of friction as circular ones: tangential rows turned into the axes of a body and scaled.

A contact with the coefficients mu_1 and mu_2 along two axes obeys f = -N diag(mu^2) v / |diag(mu) v| where it slides
(the associated law of the ellipse), and sticks within |diag(mu)^-1 f| <= N. In the rows w = S v with S = diag(mu) / mu,
mu the larger coefficient, and forces g with f = S g, that is the circular cone: g = -mu N w / |w|, |g| <= mu N.

The first axis is that of a direction fixed to the body, a, laid onto the tangential plane; so with the frame
(n, t1, t2) of the contact, alpha = (t1 . a, t2 . a), u = alpha / |alpha| and u' across it,

    w = D z_t,   D = S (u, u')^T (2, 2),   w' = D z_t' + D' z_t,   J^T f = J_t^T D^T g.

Where one of the coefficients is zero, so is its row, which is left out: a blade, which glides freely one way and is
held by a force of up to mu N in the other. It is a contact with one tangential row, and sticks while it glides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ...contact.modes import SystemMode
from ...errors import InputError, SingularError
from ...hybrid.differences import tangent_derivative
from ...hybrid.manifold import Euclidean
from ..forest import Computing, Workspace
from ..mechanism import SPREAD, ContactMechanism, Shortcut, TermDerivatives, Terms
from ..robot_model import RobotModel
from ..zero import ASIDE
from .around import Around


class Ellipse(NamedTuple):
    """The cone of a contact.

    Attributes:
        joint: that of its body.
        axis: unit direction (3,) on the joint, of the first coefficient.
        scale: the coefficients by the larger of them (2,).
    """

    joint: int
    axis: Array
    scale: Array

    @property
    def rows(self) -> list[int]:
        """The axes along which there is friction: both, or that of a blade."""
        return [k for k in (0, 1) if self.scale[k] > 0.0]


class Place(NamedTuple):
    """Where the tangential rows of an elliptic contact lie.

    Attributes:
        contact: which one.
        inner: its two rows in the inner mechanism.
        own: its rows here.
        rows: which of its axes these are.
    """

    contact: int
    inner: slice
    own: slice
    rows: list[int]


def with_ellipses(mechanism: ContactMechanism, robot: Any) -> ContactMechanism:
    """The mechanism with the elliptic cones that contacts of its robot ask for; itself without any."""
    if not isinstance(robot, RobotModel):
        return mechanism
    asked = robot.ellipses()
    cones = {i: Ellipse(*asked[name]) for i, name in enumerate(mechanism.names) if name in asked}
    for i in cones:
        if mechanism.dims[i] != 3:
            raise InputError(
                f"contact '{mechanism.names[i]}' has two coefficients of friction, but moves in a plane or along a"
                " line; give it one"
            )
    return EllipticCones(mechanism, robot, cones) if cones else mechanism


class EllipticCones(Around, Computing):
    """A mechanism some of whose contacts have elliptic cones.

    Args:
        mechanism: with the contacts.
        robot: whose bodies carry the axes.
        cones: {contact: its cone}.
    """

    def __init__(self, mechanism: ContactMechanism, robot: RobotModel, cones: Mapping[int, Ellipse]) -> None:
        self.inner, self._cones = mechanism, dict(cones)
        self._model = pin.Model(robot.model)
        self._workspace = Workspace(self._model)
        self._still = np.zeros(robot.nv)
        self.adopt(mechanism)
        self.dims = tuple([1 + len(cones[i].rows) if i in cones else dim for i, dim in enumerate(mechanism.dims)])

    # --- rows -------------------------------------------------------------------------------------------------

    def _turns(self, t: float, q: Array, v: Array, chosen: Sequence[int]) -> list[tuple[Array, Array]]:
        """D and D' (2, 2) of some of the contacts."""
        frames = [self.inner.frame_motion(t, q, v, i) for i in chosen]
        self._data.forward_kinematics(q, v)
        found = []
        for i, (frame, frame_rate) in zip(chosen, frames, strict=True):
            cone, data = self._cones[i], self._data
            turn = data.oMi[cone.joint].rotation
            axis, axis_rate = turn @ cone.axis, turn @ np.cross(data.v[cone.joint].angular, cone.axis)
            alpha, rate = frame[1:] @ axis, frame_rate[1:] @ axis + frame[1:] @ axis_rate
            size = float(np.linalg.norm(alpha))
            if size <= ASIDE:
                raise SingularError(
                    f"the friction_axis of contact '{self.names[i]}' came to point along its normal, and its elliptic"
                    " cone has no axes there; give another friction_axis"
                )
            u = alpha / size
            u_rate = (rate - u * (u @ rate)) / size
            found.append((cone.scale[:, None] * _both(u), cone.scale[:, None] * _both(u_rate)))
        return found

    def _elliptic(self, contacts: tuple[int, ...]) -> tuple[list[Place], Array]:
        """Those of the contacts whose cones are elliptic, and the inner rows (m,) that have a place here."""
        found: list[Place] = []
        kept: list[int] = []
        inner = start = 0
        for i in contacts:
            if i in self._cones:
                own = slice(start + 1, start + self.dims[i])
                found.append(Place(i, slice(inner + 1, inner + 3), own, self._cones[i].rows))
            kept += range(inner, inner + self.dims[i])
            inner, start = inner + self.inner.dims[i], start + self.dims[i]
        return found, np.array(kept, dtype=int)

    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """M, forces and rows, those of elliptic cones turned and scaled."""
        terms, (own, kept) = self.inner.terms(t, q, v, contacts), self._elliptic(contacts)
        if not own:
            return terms
        rows, rates, bias = terms.rows[kept], terms.rates[kept], terms.bias[kept]
        for place, turns in zip(own, self._turns(t, q, v, [place.contact for place in own]), strict=True):
            turn, turning = (one[place.rows] for one in turns)
            rows[place.own] = turn @ terms.rows[place.inner]
            rates[place.own] = turn @ terms.rates[place.inner]
            bias[place.own] = turn @ terms.bias[place.inner] + turning @ terms.rates[place.inner]
        return terms._replace(rows=rows, rates=rates, bias=bias)

    def rates(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Contact velocities (m,)."""
        inner, (own, kept) = self.inner.rates(t, q, v, contacts), self._elliptic(contacts)
        rates = inner[kept]
        for place, (turn, _) in zip(own, self._turns(t, q, v, [place.contact for place in own]), strict=True):
            rates[place.own] = turn[place.rows] @ inner[place.inner]
        return rates

    # --- derivatives ------------------------------------------------------------------------------------------

    def _inner_forces(self, forces: Array, contacts: tuple[int, ...], turns: list[tuple[Array, Array]]) -> Array:
        """Forces along the rows of the inner mechanism: S f in the axes of the frame."""
        own, kept = self._elliptic(contacts)
        along = np.zeros(sum([self.inner.dims[i] for i in contacts]))
        along[kept] = forces
        for place, (turn, _) in zip(own, turns, strict=True):
            along[place.inner] = turn[place.rows].T @ forces[place.own]
        return along

    def term_derivatives(
        self, t: float, q: Array, v: Array, a: Array, contacts: tuple[int, ...], forces: Array
    ) -> TermDerivatives:
        """Those of the inner mechanism, with the turning of the axes by differences."""
        own, kept = self._elliptic(contacts)
        if not own:
            return self.inner.term_derivatives(t, q, v, a, contacts, forces)
        chosen, terms = [place.contact for place in own], self.inner.terms(t, q, v, contacts)
        turns = self._turns(t, q, v, chosen)
        found = self.inner.term_derivatives(t, q, v, a, contacts, self._inner_forces(forces, contacts, turns))
        turned_q, turned_v = self._turns_by_q(t, q, v, chosen), self._turning_by_v(t, q, v, chosen)
        change = terms.rows @ a + terms.bias
        residual = found.residual_q.copy()
        rates_q, motion_q, motion_v = found.rates_q[kept], found.motion_q[kept], found.motion_v[kept]
        for k, (_, inner, part, rows) in enumerate(own):
            turn, turning = (one[rows] for one in turns[k])
            by_q, rate_by_q = turned_q[k][:, rows]
            z, z_rate = terms.rates[inner], change[inner]
            residual -= terms.rows[inner].T @ np.einsum("abn,a->bn", by_q, forces[part])
            rates_q[part] = turn @ found.rates_q[inner] + np.einsum("abn,b->an", by_q, z)
            motion_q[part] = turn @ found.motion_q[inner] + np.einsum("abn,b->an", by_q, z_rate)
            motion_q[part] += turning @ found.rates_q[inner] + np.einsum("abn,b->an", rate_by_q, z)
            motion_v[part] = turn @ found.motion_v[inner] + turning @ terms.rows[inner]
            motion_v[part] += np.einsum("abn,b->an", turned_v[k][rows], z)
        return TermDerivatives(residual, found.residual_v, rates_q, motion_q, motion_v)

    def _turns_by_q(self, t: float, q: Array, v: Array, chosen: Sequence[int]) -> Array:
        """Derivatives (k, 2, 2, 2, n) of D and D' by q."""

        def values(moved: Array) -> Array:
            return np.array(self._turns(t, moved, v, chosen)).ravel()

        return tangent_derivative(values, self.space, q, SPREAD).reshape(len(chosen), 2, 2, 2, self.nv)

    def _turning_by_v(self, t: float, q: Array, v: Array, chosen: Sequence[int]) -> Array:
        """Derivatives (k, 2, 2, n) of D' by v."""

        def values(moved: Array) -> Array:
            return np.array([turning for _, turning in self._turns(t, q, moved, chosen)]).ravel()

        return tangent_derivative(values, Euclidean(self.nv), v, 1.0).reshape(len(chosen), 2, 2, self.nv)

    def impulse_derivatives(self, t: float, q: Array, w: Array, contacts: tuple[int, ...], impulses: Array) -> Array:
        """That of the inner mechanism, with the turning of the axes by differences."""
        own, _ = self._elliptic(contacts)
        if not own:
            return self.inner.impulse_derivatives(t, q, w, contacts, impulses)
        chosen, rows = [place.contact for place in own], self.inner.terms(t, q, self._still, contacts).rows
        along = self._inner_forces(impulses, contacts, self._turns(t, q, self._still, chosen))
        found = self.inner.impulse_derivatives(t, q, w, contacts, along).copy()
        for place, (by_q, _) in zip(own, self._turns_by_q(t, q, self._still, chosen), strict=True):
            found -= rows[place.inner].T @ np.einsum("abn,a->bn", by_q[place.rows], impulses[place.own])
        return found

    def rate_derivatives(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Those of the inner mechanism, with the turning of the axes by differences."""
        inner, (own, kept) = self.inner.rate_derivatives(t, q, v, contacts), self._elliptic(contacts)
        if not own:
            return inner
        chosen, rates, found = [place.contact for place in own], self.inner.rates(t, q, v, contacts), inner[kept]
        turns, turned = self._turns(t, q, v, chosen), self._turns_by_q(t, q, v, chosen)
        for place, (turn, _), (by_q, _) in zip(own, turns, turned, strict=True):
            along = np.einsum("abn,b->an", by_q, rates[place.inner])
            found[place.own] = (turn @ inner[place.inner] + along)[place.rows]
        return found

    # --- what users see ---------------------------------------------------------------------------------------

    def world_force(self, t: float, q: Array, contact: int, force: Array) -> Array:
        """A contact force in world axes (3,)."""
        if contact not in self._cones:
            return self.inner.world_force(t, q, contact, force)
        if not np.any(force):
            return np.zeros(3)
        ((turn, _),) = self._turns(t, q, self._still, [contact])
        rows = self._cones[contact].rows
        return self.inner.world_force(t, q, contact, np.append(force[:1], turn[rows].T @ force[1:]))

    def shortcut(self, mode: SystemMode) -> Shortcut | None:
        """That of the inner mechanism, where no elliptic contact is closed."""
        return None if self._cones.keys() & set(mode.closed) else self.inner.shortcut(mode)


def _both(u: Array) -> Array:
    """Rows u and a quarter turn on (2, 2)."""
    return np.array([[u[0], u[1]], [-u[1], u[0]]])
