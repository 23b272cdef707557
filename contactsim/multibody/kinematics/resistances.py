"""Rows of rolling and torsional friction: spins of bodies against each other, pressed by the contact between them.

Of a contact with frame E = (n, t1, t2) between the bodies A and B, with d omega = omega_A - omega_B,

    torsion: z = n . d omega,    rolling: z = (t1, t2) . d omega    [rad/s],

whose forces are moments [N m] on A, and the opposite on B. In a mechanism that moves in a plane there is one spin, and
it rolls. The rates are z' = E d omega' + E' d omega, with E' differenced along the motion where normals turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from ...common.arrays import Array
from ...common.lazy import NamedTuple
from ...common.user_calls import UserCall
from ...contact.laws import RigidLaw
from ...contact.modes import SystemMode
from ...errors import InputError
from ...hybrid.differences import tangent_derivative
from ...hybrid.manifold import Euclidean
from ..forest import Computing, Workspace
from ..mechanism import SPREAD, ContactMechanism, Shortcut, TermDerivatives, Terms
from ..robot_model import RobotModel
from ..zero import IMMOBILE, MOTION
from .around import Around
from .plane_ground import supports

TORSION, ROLLING = "torsion", "rolling"
KINDS = (TORSION, ROLLING)


class Resistance(NamedTuple):
    """Friction of a spin.

    Attributes:
        kind: "torsion" or "rolling".
        host: number of the contact that presses it.
        coefficient: largest moment by the normal force [m].
        rows: how many it has.
    """

    kind: str
    host: int
    coefficient: float
    rows: int


def with_resistances(mechanism: ContactMechanism, robot: Any, law: RigidLaw) -> ContactMechanism:
    """The mechanism with the rolling and torsional friction of its contacts under a law; itself without any.

    Raises:
        InputError: the law answers in another shape.
    """
    if not isinstance(robot, RobotModel):
        return mechanism
    asked = robot.moment_coefficients()
    own = np.array([asked.get(name, (0.0, 0.0)) for name in mechanism.names]).reshape(-1, 2).T
    with UserCall("the contact law", type(law).__name__, 0.0):
        moments = np.array(law.moments(*own), dtype=float)
    if moments.shape != own.shape or not (np.isfinite(moments).all() and (moments >= 0.0).all()):
        raise InputError(
            f"the contact law {type(law).__name__} answers moments() with something else than two arrays (n,) of"
            " coefficients that are zero or positive; return these"
        )
    found = [
        (kind, host, float(coefficient))
        for kind, coefficients in zip(KINDS, moments, strict=True)
        for host, coefficient in enumerate(coefficients)
        if coefficient > 0.0
    ]
    return Resisting(mechanism, robot, found) if found else mechanism


class Resisting(Around, Computing):
    """A mechanism with resistances, numbered behind its contacts and constraints.

    Args:
        mechanism: with the contacts.
        robot: whose bodies turn.
        asked: (kind, contact, coefficient) of each.
    """

    def __init__(self, mechanism: ContactMechanism, robot: RobotModel, asked: Sequence[tuple[str, int, float]]) -> None:
        self.inner = mechanism
        self._model = pin.Model(robot.model)
        self._workspace = Workspace(self._model)
        self._supports, self._still = supports(self._model), np.zeros(robot.nv)
        self.adopt(mechanism)
        spins = self._spins()
        self._axis = spins[0] if len(spins) == 1 else None
        rows = [self._rows_of(kind, mechanism.names[host], mechanism.dims[host], len(spins)) for kind, host, _ in asked]
        self.resistances = tuple(Resistance(*one, size) for one, size in zip(asked, rows, strict=True) if size)
        of = [resistance.coefficient for resistance in self.resistances]
        self.hosts = tuple(resistance.host for resistance in self.resistances)
        self.resistance_names = tuple(f"{mechanism.names[one.host]}/{one.kind}" for one in self.resistances)
        self.dims = mechanism.dims + tuple(resistance.rows for resistance in self.resistances)
        self.friction = np.concatenate([mechanism.friction, of])
        self.static_friction = np.concatenate([mechanism.static_friction, of])
        self.restitution = np.concatenate([mechanism.restitution, np.zeros(len(of))])
        self.enabled = mechanism.enabled + (None,) * len(of)
        self._first = len(mechanism.dims)

    def _rows_of(self, kind: str, name: str, dim: int, spins: int) -> int:
        if not spins:
            return 0
        if dim == 3:
            return {TORSION: 1, ROLLING: 2}[kind]
        if spins > 1:
            raise InputError(
                f"contact '{name}' has {kind} friction, but its bodies turn about more axes than its point moves along;"
                f" leave out its {kind}, or give the robot a free root"
            )
        return {TORSION: 0, ROLLING: 1}[kind]

    def _spins(self) -> Array:
        """Orthonormal axes (r, 3) about which bodies can turn at all."""
        rng = np.random.default_rng(0)
        columns = [np.zeros((3, 1))]
        for _ in range(3):
            q = self.space.integrate(pin.neutral(self._model), rng.uniform(-1.0, 1.0, self.nv))
            columns.append(self._data.joint_jacobians(q)[3:])
        axes, values, _ = np.linalg.svd(np.hstack(columns), full_matrices=False)
        return axes[:, values > MOTION * max(float(values.max()), IMMOBILE)].T

    # --- rows -------------------------------------------------------------------------------------------------

    def _spin(self, t: float, q: Array, v: Array, chosen: Sequence[Resistance]) -> tuple[Array, Array, Array]:
        """Rows (m, nv), velocities (m,) and bias (m,) of some of the resistances."""
        frames = {one.host: self.inner.frame_motion(t, q, v, one.host) for one in chosen}
        data = self._data
        jacobian = data.joint_jacobians(q)[3:]
        data.forward_kinematics(q, v, self._still)
        rows, rates, bias = [], [], []
        for one in chosen:
            axes, turning = (self._axes(frame, one) for frame in frames[one.host])
            a, b = self.inner.joints_of(one.host)
            own = jacobian * (self._supports[a] - self._supports[b])
            drift = data.oMi[a].rotation @ data.a[a].angular - data.oMi[b].rotation @ data.a[b].angular
            rows.append(axes @ own)
            rates.append(rows[-1] @ v)
            bias.append(axes @ drift + (0.0 if self._in_plane(one) else turning @ (own @ v)))
        return np.concatenate(rows), np.concatenate(rates), np.concatenate(bias)

    def _axes(self, frame: Array, resistance: Resistance) -> Array:
        """Axes (rows, 3) of the spins, of the frame of a contact."""
        if self._in_plane(resistance):
            assert self._axis is not None
            return self._axis[None]
        return frame[:1] if resistance.kind == TORSION else frame[1:]

    def _in_plane(self, resistance: Resistance) -> bool:
        """True where the bodies move in a plane, and turn about the one axis across it."""
        return self._axis is not None and self.inner.dims[resistance.host] < 3

    def _split(self, contacts: tuple[int, ...]) -> tuple[tuple[int, ...], list[Resistance]]:
        """The contacts of the inner mechanism, and the resistances."""
        own = [self.resistances[i - self._first] for i in contacts if i >= self._first]
        return contacts[: len(contacts) - len(own)], own

    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """M, forces and rows; those of resistances last."""
        inner, own = self._split(contacts)
        terms = self.inner.terms(t, q, v, inner)
        if not own:
            return terms
        rows, rates, bias = self._spin(t, q, v, own)
        joined = (terms.rows, rows), (terms.rates, rates), (terms.bias, bias)
        return Terms(terms.mass, terms.force, *(np.concatenate(both) for both in joined))

    def rates(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Contact velocities (m,), those of resistances last."""
        inner, own = self._split(contacts)
        rates = self.inner.rates(t, q, v, inner)
        return np.concatenate([rates, self._spin(t, q, v, own)[1]]) if own else rates

    # --- derivatives ------------------------------------------------------------------------------------------

    def term_derivatives(
        self, t: float, q: Array, v: Array, a: Array, contacts: tuple[int, ...], forces: Array
    ) -> TermDerivatives:
        """Those of the inner mechanism, and those of the resistances by differences of their own rows."""
        inner, own = self._split(contacts)
        if not own:
            return self.inner.term_derivatives(t, q, v, a, contacts, forces)
        size = sum(one.rows for one in own)
        found = self.inner.term_derivatives(t, q, v, a, inner, forces[:-size])

        def values(q: Array, v: Array) -> Array:
            rows, rates, bias = self._spin(t, q, v, own)
            return np.concatenate([rows.T @ forces[-size:], rates, rows @ a + bias])

        n, scale = self.nv, max(1.0, float(np.abs(v).max(initial=0.0)))
        by_q = tangent_derivative(lambda moved: values(moved, v), self.space, q, SPREAD)
        by_v = tangent_derivative(lambda moved: values(q, moved), Euclidean(n), v, SPREAD * scale)
        return TermDerivatives(
            found.residual_q - by_q[:n],
            found.residual_v,
            np.concatenate([found.rates_q, by_q[n : n + size]]),
            np.concatenate([found.motion_q, by_q[n + size :]]),
            np.concatenate([found.motion_v, by_v[n + size :]]),
        )

    def impulse_derivatives(self, t: float, q: Array, w: Array, contacts: tuple[int, ...], impulses: Array) -> Array:
        """That of the inner mechanism, less the derivative of what the resistances' impulses add."""
        inner, own = self._split(contacts)
        if not own:
            return self.inner.impulse_derivatives(t, q, w, contacts, impulses)
        size = sum(one.rows for one in own)
        found = self.inner.impulse_derivatives(t, q, w, inner, impulses[:-size])
        return found - tangent_derivative(
            lambda moved: self._spin(t, moved, self._still, own)[0].T @ impulses[-size:], self.space, q, SPREAD
        )

    def rate_derivatives(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Array:
        """Those of the inner mechanism and of the resistances."""
        inner, own = self._split(contacts)
        found = self.inner.rate_derivatives(t, q, v, inner)
        if not own:
            return found
        spins = tangent_derivative(lambda moved: self._spin(t, moved, v, own)[1], self.space, q, SPREAD)
        return np.concatenate([found, spins])

    # --- what users see ---------------------------------------------------------------------------------------

    def world_force(self, t: float, q: Array, contact: int, force: Array) -> Array:
        """A contact force (3,), or the moment (3,) of a resistance on the first body, in world axes."""
        if contact < self._first:
            return self.inner.world_force(t, q, contact, force)
        if not np.any(force):  # of an open contact, which may be too far away for a frame
            return np.zeros(3)
        resistance = self.resistances[contact - self._first]
        return force @ self._axes(self.inner.frame_motion(t, q, self._still, resistance.host)[0], resistance)

    def shortcut(self, mode: SystemMode) -> Shortcut | None:
        """That of the inner mechanism, where no resistance acts."""
        states = mode.contacts
        if any(state.closed for state in states[self._first :]):
            return None
        return self.inner.shortcut(SystemMode(states[: self._first], mode.redundant))
