"""Elliptic cones of friction as circular ones: tangential rows turned into the axes of a body and scaled.

A contact with the coefficients mu_1 and mu_2 along two axes obeys f = -N diag(mu^2) v / |diag(mu) v| where it slides
(the associated law of the ellipse), and sticks within |diag(mu)^-1 f| <= N. In the rows w = S v with S = diag(mu) / mu,
mu the larger coefficient, and forces g with f = S g, that is the circular cone: g = -mu N w / |w|, |g| <= mu N.

The first axis is that of a direction fixed to the body, a, laid onto the tangential plane; so with the frame
(n, t1, t2) of the contact, alpha = (t1 . a, t2 . a), u = alpha / |alpha| and u' across it,

    w = D z_t,   D = S (u, u')^T (2, 2),   w' = D z_t' + D' z_t,   J^T f = J_t^T D^T g.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
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

    def within(self, regions: Mapping[int, tuple[int, ...]]) -> EllipticCones:
        """The same with the regions of some contacts held."""
        inner = self.inner.within(regions)
        if inner is self.inner:
            return self
        held = copy.copy(self)
        held.inner = inner
        return held

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

    def _elliptic(self, contacts: tuple[int, ...]) -> list[tuple[int, slice]]:
        """(contact, its tangential rows) of those of the contacts whose cones are elliptic."""
        found, start = [], 0
        for i in contacts:
            if i in self._cones:
                found.append((i, slice(start + 1, start + 3)))
            start += self.dims[i]
        return found

    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """M, forces and rows, those of elliptic cones turned and scaled."""
        terms, own = self.inner.terms(t, q, v, contacts), self._elliptic(contacts)
        if not own:
            return terms
        rows, rates, bias = terms.rows.copy(), terms.rates.copy(), terms.bias.copy()
        for (_, part), (turn, turning) in zip(own, self._turns(t, q, v, [i for i, _ in own]), strict=True):
            rows[part] = turn @ terms.rows[part]
            rates[part] = turn @ terms.rates[part]
            bias[part] = turn @ terms.bias[part] + turning @ terms.rates[part]
        return terms._replace(rows=rows, rates=rates, bias=bias)

    def rates(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Contact velocities (m,)."""
        rates, own = self.inner.rates(t, q, v, contacts), self._elliptic(contacts)
        for (_, part), (turn, _) in zip(own, self._turns(t, q, v, [i for i, _ in own]), strict=True):
            rates[part] = turn @ rates[part]
        return rates

    # --- derivatives ------------------------------------------------------------------------------------------

    def _inner_forces(self, forces: Array, own: list[tuple[int, slice]], turns: list[tuple[Array, Array]]) -> Array:
        """Forces along the rows of the inner mechanism: S f in the axes of the frame."""
        along = forces.copy()
        for (_, part), (turn, _) in zip(own, turns, strict=True):
            along[part] = turn.T @ forces[part]
        return along

    def term_derivatives(
        self, t: float, q: Array, v: Array, a: Array, contacts: tuple[int, ...], forces: Array
    ) -> TermDerivatives:
        """Those of the inner mechanism, with the turning of the axes by differences."""
        own = self._elliptic(contacts)
        if not own:
            return self.inner.term_derivatives(t, q, v, a, contacts, forces)
        chosen, terms = [i for i, _ in own], self.inner.terms(t, q, v, contacts)
        turns = self._turns(t, q, v, chosen)
        found = self.inner.term_derivatives(t, q, v, a, contacts, self._inner_forces(forces, own, turns))
        turned_q, turned_v = self._turns_by_q(t, q, v, chosen), self._turning_by_v(t, q, v, chosen)
        change = terms.rows @ a + terms.bias
        residual = found.residual_q.copy()
        rates_q, motion_q, motion_v = found.rates_q.copy(), found.motion_q.copy(), found.motion_v.copy()
        for k, (_, part) in enumerate(own):
            (turn, turning), (by_q, rate_by_q) = turns[k], turned_q[k]
            z, z_rate = terms.rates[part], change[part]
            residual -= terms.rows[part].T @ np.einsum("abn,a->bn", by_q, forces[part])
            rates_q[part] = turn @ found.rates_q[part] + np.einsum("abn,b->an", by_q, z)
            motion_q[part] = turn @ found.motion_q[part] + np.einsum("abn,b->an", by_q, z_rate)
            motion_q[part] += turning @ found.rates_q[part] + np.einsum("abn,b->an", rate_by_q, z)
            motion_v[part] = turn @ found.motion_v[part] + turning @ terms.rows[part]
            motion_v[part] += np.einsum("abn,b->an", turned_v[k], z)
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
        own = self._elliptic(contacts)
        if not own:
            return self.inner.impulse_derivatives(t, q, w, contacts, impulses)
        chosen, rows = [i for i, _ in own], self.inner.terms(t, q, self._still, contacts).rows
        along = self._inner_forces(impulses, own, self._turns(t, q, self._still, chosen))
        found = self.inner.impulse_derivatives(t, q, w, contacts, along).copy()
        for (_, part), (by_q, _) in zip(own, self._turns_by_q(t, q, self._still, chosen), strict=True):
            found -= rows[part].T @ np.einsum("abn,a->bn", by_q, impulses[part])
        return found

    def rate_derivatives(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Those of the inner mechanism, with the turning of the axes by differences."""
        found, own = self.inner.rate_derivatives(t, q, v, contacts), self._elliptic(contacts)
        if not own:
            return found
        chosen, rates, found = [i for i, _ in own], self.inner.rates(t, q, v, contacts), found.copy()
        turns, turned = self._turns(t, q, v, chosen), self._turns_by_q(t, q, v, chosen)
        for (_, part), (turn, _), (by_q, _) in zip(own, turns, turned, strict=True):
            found[part] = turn @ found[part] + np.einsum("abn,b->an", by_q, rates[part])
        return found

    # --- what users see ---------------------------------------------------------------------------------------

    def world_force(self, t: float, q: Array, contact: int, force: Array) -> Array:
        """A contact force in world axes (3,)."""
        if contact not in self._cones or not np.any(force):
            return self.inner.world_force(t, q, contact, force)
        ((turn, _),) = self._turns(t, q, self._still, [contact])
        return self.inner.world_force(t, q, contact, np.append(force[:1], turn.T @ force[1:]))

    def shortcut(self, mode: SystemMode) -> Shortcut | None:
        """That of the inner mechanism, where no elliptic contact is closed."""
        return None if self._cones.keys() & set(mode.closed) else self.inner.shortcut(mode)


def _both(u: Array) -> Array:
    """Rows u and a quarter turn on (2, 2)."""
    return np.array([[u[0], u[1]], [-u[1], u[0]]])
