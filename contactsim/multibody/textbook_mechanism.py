"""The textbook mechanism, M(q) a = f + sum of W lam, given by functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..common.arguments import COUNT, NOT_NEGATIVE, SHARE, TEXT, arguments, function, instance, optional, several
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..common.representation import counted
from ..common.user_calls import UserCall, answer, margin, reads, real
from ..errors import InputError
from ..hybrid.differences import STEP, derivative
from ..hybrid.manifold import Euclidean
from .mechanism import MARGIN, ContactMechanism, Terms, check_static, static_of, unique_names
from .zero import AGREES, SYMMETRIC

DIFFERENCE = 6e-6  # step of central differences, about the cube root of the rounding of a double


@arguments(
    gap=function("a function (t, q) -> distance"),
    normal=function("a function (t, q) -> its gradient (n,)"),
    tangent=optional(function("a function (t, q) -> W_t (d_t, n)")),
    friction=NOT_NEGATIVE,
    static_friction=optional(NOT_NEGATIVE),
    restitution=SHARE,
    enabled=optional(MARGIN),
    bias=optional(function("a function (t, q, v) -> (1 + d_t,) numbers")),
    name=TEXT,
    stribeck=NOT_NEGATIVE,
)
@dataclass(frozen=True)
class Gap:
    """A unilateral contact of a Mechanism, by functions.

    Attributes:
        gap: (t, q) -> distance [m].
        normal: (t, q) -> its gradient w_n (n,) by q; a run is refused whose normal is another one where it starts.
        tangent: (t, q) -> W_t (d_t, n), d_t = 1 or 2; None for a frictionless contact.
        friction, static_friction: kinetic and static coefficient; static defaults to kinetic.
        restitution: Newton's coefficient in [0, 1].
        enabled: (t, q, v) -> margin; an open contact closes only where it is positive.
        bias: (t, q, v) -> (1 + d_t,) what z' has besides J a; differenced along the motion where not given.
        name: name of the contact.
        stribeck: speed with which friction falls from static to kinetic [m/s]; see ContactPoint.
    """

    gap: Callable[[float, Array], float]
    normal: Callable[[float, Array], Any]
    tangent: Callable[[float, Array], Any] | None = None
    friction: float = 0.0
    static_friction: float | None = None
    restitution: float = 0.0
    enabled: Callable[[float, Array, Array], float] | None = None
    bias: Callable[[float, Array, Array], Any] | None = None
    name: str = ""
    stribeck: float = 0.0

    def __post_init__(self) -> None:
        check_static(self.name or "gap", self.friction, self.static_friction)


class Mechanism(ContactMechanism):
    """A textbook mechanism M(q) a = f(t, q, v) + sum of W lam, with q in R^n and v = q'.

    Args:
        n: number of coordinates.
        mass: q -> M (n, n).
        force: (t, q, v) -> f (n,): applied, gravitational and gyroscopic forces.
        contacts: its possible contacts.
        potential: q -> potential energy [J], for the energy balance; None: the balance is of kinetic energy and work.
    """

    @arguments(
        n=COUNT,
        mass=function("a function q -> M (n, n)"),
        force=function("a function (t, q, v) -> f (n,)"),
        contacts=several(instance(Gap, "a Gap"), "a list of Gap"),
        potential=optional(function("a function q -> energy")),
    )
    def __init__(
        self,
        n: int,
        mass: Callable[[Array], Any],
        force: Callable[[float, Array, Array], Any],
        contacts: Sequence[Gap] = (),
        potential: Callable[[Array], float] | None = None,
    ) -> None:
        self.nq = self.nv = n
        self.space = Euclidean(n)
        self._mass, self._force, self._potential = mass, force, potential
        self.contacts = tuple(contacts)
        self.names = unique_names([gap.name or f"contact/{i}" for i, gap in enumerate(contacts)])
        self.dims = tuple(1 + self._tangent_rows(gap) for gap in contacts)
        self.friction = np.array([gap.friction for gap in contacts])
        self.static_friction = np.array([static_of(gap) for gap in contacts])
        self.restitution = np.array([gap.restitution for gap in contacts])
        self.enabled = tuple(margin(name, gap.enabled) for name, gap in zip(self.names, contacts, strict=True))
        rows = [[one for one in (gap.normal, gap.tangent) if one is not None] for gap in contacts]
        self._moving = [reads(gap.gap, 0) for gap in contacts]
        self._timed = [any(reads(row, 0) for row in own) for own in rows]
        self._bent = [any(reads(row, 1) for row in own) for own in rows]
        self.autonomous = not any(self._moving) and not any(self._timed)
        self._is_driven = reads(force, 0)
        self.timed = self._is_driven or any(self._moving)
        self._check_mass()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(self.nv, 'coordinate')}, {counted(len(self.contacts), 'contact')})"

    def _tangent_rows(self, gap: Gap) -> int:
        if gap.tangent is None:
            return 0
        with UserCall("the mechanism's function", f"tangent of {gap.name or 'contact'}", 0.0):
            return len(np.atleast_2d(real(gap.tangent(0.0, np.zeros(self.nq)))))

    def _check_mass(self) -> None:
        with UserCall("the mechanism's function", "mass", 0.0):
            matrix = real(self._mass(np.zeros(self.nq)))
        if matrix.shape != (self.nv, self.nv):
            raise InputError(
                f"mass(q) has shape {matrix.shape}; a mechanism of n = {self.nv} needs ({self.nv}, {self.nv})"
            )
        if not np.isfinite(matrix).all():
            raise InputError("mass(q) at q = 0 holds NaN or infinity; return finite numbers")
        if not np.allclose(matrix, matrix.T, rtol=SYMMETRIC, atol=SYMMETRIC * float(np.abs(matrix).max())):
            raise InputError("mass(q) at q = 0 is not symmetric; return M with M = M^T")
        if not np.linalg.eigvalsh(matrix).min() > 0.0:
            raise InputError("mass(q) at q = 0 is not positive definite; check the masses and inertias")

    def stribeck_speeds(self) -> dict[str, float]:
        """{contact: its Stribeck speed [m/s]}, where it is not zero."""
        return {name: gap.stribeck for name, gap in zip(self.names, self.contacts, strict=True) if gap.stribeck > 0.0}

    def bind(self, terrain: Any, gravity: Any, joint_limits: bool = True) -> Mechanism:
        """The mechanism itself: its functions hold its ground and its gravity."""
        return self

    def gaps(self, t: float, q: Array) -> Array:
        """Distances (nc,) by the given functions."""
        return np.array([self._gap(i, t, q) for i in range(len(self.contacts))])

    def normal_errors(self, t: float, q: Array) -> Array:
        """How far the given normals are off the gradients of the gaps (nc,), by differences.

        Zero as well where a gap is not smooth: where longer differences say something else than shorter ones.
        """
        errors = np.zeros(len(self.contacts))
        for i in range(len(self.contacts)):
            short, long = (self._differenced(i, t, q, step) for step in (0.1 * STEP, STEP))
            scale = AGREES * max(1.0, float(np.abs(long).max()))
            if np.abs(short - long).max() <= scale:
                errors[i] = AGREES * float(np.abs(self._rows(i, t, q)[0] - long).max()) / scale
        return errors

    def _differenced(self, i: int, t: float, q: Array, step: float) -> Array:
        """The gradient (n,) of a gap."""
        return np.array([derivative(lambda h, e=e: self._gap(i, t, q + h * e), step) for e in np.eye(self.nq)])  # type: ignore[misc]

    def _ask(self, whom: str, function: Callable[..., Any], at: tuple, shape: tuple[int, ...], t: float) -> Array:
        """Value of one of the given functions, checked; `at`, its arguments, ends with the state.

        It may write on what it is given, and fill one array again and again.
        """
        with UserCall("the mechanism's function", whom, t):
            given = function(*[one.copy() if isinstance(one, np.ndarray) else one for one in at])
        return answer("the mechanism's function", whom, "an array", given, shape, t, at[-1]).copy()

    def _gap(self, i: int, t: float, q: Array) -> float:
        return float(self._ask(f"gap of {self.names[i]}", self.contacts[i].gap, (t, q), (), t))

    def terms(self, t: float, q: Array, v: Array, contacts: tuple[int, ...]) -> Terms:
        """Equations of motion by the given functions; rates of the rows include those of a moving gap."""
        mass = self._ask("mass", self._mass, (q,), (self.nv, self.nv), t)
        force = self._given_force(t, q, v)
        if not contacts:
            return Terms(mass, force, np.zeros((0, self.nv)), np.zeros(0), np.zeros(0))
        rows = np.vstack([self._rows(i, t, q) for i in contacts])
        drift = np.concatenate([self._drift(i, t, q) for i in contacts])
        bias = np.concatenate([self._bias(i, t, q, v) for i in contacts])
        return Terms(mass, force, rows, rows @ v + drift, bias)

    def _given_force(self, t: float, q: Array, v: Array) -> Array:
        return self._ask("force", self._force, (t, q, v), (self.nv,), t)

    def by_time(self, t: float, q: Array, v: Array) -> Array:
        """The given force, and the gaps that read the time."""
        force = self._given_force(t, q, v) if self._is_driven else np.zeros(0)
        return np.append(force, [self._gap(i, t, q) for i, moving in enumerate(self._moving) if moving])

    def _rows(self, i: int, t: float, q: Array) -> Array:
        gap, name = self.contacts[i], self.names[i]
        normal = self._ask(f"normal of {name}", gap.normal, (t, q), (1, self.nv), t)
        if gap.tangent is None:
            return normal
        tangents = self._ask(f"tangent of {name}", gap.tangent, (t, q), (self.dims[i] - 1, self.nv), t)
        return np.vstack([normal, tangents])

    def _drift(self, i: int, t: float, q: Array) -> Array:
        """Partial time derivative of the gap, in the normal row."""
        result = np.zeros(self.dims[i])
        if self._moving[i]:
            result[0] = derivative(lambda h: self._gap(i, t + h, q), 1e-4)
        return result

    def _bias(self, i: int, t: float, q: Array, v: Array) -> Array:
        given = self.contacts[i].bias
        if given is not None:
            return self._ask(f"bias of {self.names[i]}", given, (t, q, v), (self.dims[i],), t)
        if not (self._moving[i] or self._timed[i] or self._bent[i]):
            return np.zeros(self.dims[i])

        def rates(h: float) -> Array:
            return self._rows(i, t + h, q + h * v) @ v + self._drift(i, t + h, q + h * v)

        return derivative(rates, 1e-3 / max(1.0, float(np.abs(v).max(initial=0.0))))

    def world_force(self, t: float, q: Array, contact: int, force: Array) -> Array:
        """The force along its rows: a textbook mechanism has no world axes."""
        return force

    def energy(self, q: Array, v: Array) -> float:
        """Kinetic energy, and potential energy where it was given."""
        kinetic = 0.5 * float(v @ np.asarray(self._mass(q.copy()), dtype=float) @ v)
        return kinetic + (float(self._potential(q.copy())) if self._potential else 0.0)

    def working_power(self, t: float, q: Array, v: Array) -> float:
        """Power of the given force beyond that of the potential and of inertia: (f + grad V) . v + v . M' v / 2."""
        h = DIFFERENCE / max(1.0, float(np.abs(v).max(initial=0.0)))
        power = float(np.asarray(self._force(t, q.copy(), v.copy()), dtype=float) @ v)
        mass_rate = (np.array(self._mass(q + h * v)) - np.array(self._mass(q - h * v))) / (2 * h)
        power += 0.5 * float(v @ mass_rate @ v)
        if self._potential:
            power += (self._potential(q + h * v) - self._potential(q - h * v)) / (2 * h)
        return power
