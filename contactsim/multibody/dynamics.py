"""The smooth motion in one fixed contact mode of a rigid law, and the guards that end it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dgesv, dposv

from ..errors import SingularError
from ..hybrid import Array, Flow
from .complementarity import ContactProblem, cone_margins, solve_modes
from .mechanism import Terms
from .modes import ContactState, Mode, Phase, SystemMode, unit

if TYPE_CHECKING:
    from .system import ContactSystem

# Slip that leaves its reference direction by less than this runs straight [m/s]: without it, the rounding of a stage
# near the stop would turn the direction of friction, and a long step would amplify that.
STRAIGHT = 1e-12
# A contact takes its own slip direction from this many slip speeds on. Below, while it breaks away, the direction of
# the slip acceleration stands for it: friction turns the slip within |z_t| / (mu lam_n G_tt), too fast to integrate.
LEAVE = 2.0


@dataclass
class Motion:
    """Accelerations and contact forces at one state in one mode.

    Attributes:
        acceleration: a (nv,).
        rates: contact velocities z (m,) of the closed contacts.
        margin: least cone margin over the closed contacts where their forces are not unique, else NaN [N].
    """

    acceleration: Array
    rates: Array
    fill: Callable[[], Array]
    margin: float = float("nan")

    @cached_property
    def forces(self) -> Array:
        """For each closed contact its force along its rows, in one array (m,); put together when asked for."""
        return self.fill()


class RigidFlow(Flow):
    """Motion with every contact OPEN, STICK or SLIP: M a = f + J^T lam with the constraints of the mode.

    Constrained rows C (normals of closed contacts, tangents of sticking ones) and force directions D, which differ
    from C where contacts slip (d = n - mu_k t s):  (C M^-1 D^T) lam = -(C M^-1 f + bias),  a = M^-1 (f + D^T lam).
    Source: Leine and Nijmeijer 2004 (as in `complementarity`), with the spatial cone.
    """

    def __init__(self, system: ContactSystem, mode: SystemMode) -> None:
        self._system, self._mode = system, mode
        self._mechanism = system.mechanism
        self._closed = mode.closed
        self.bounded_steps = system.mechanism.bounded_steps
        self._friction = system.friction.tolist()
        self._layout()
        self._name_guards()
        self._references: dict[int, tuple[float, ...]] = {}
        self._incipient: dict[int, Array] = {
            i: np.array(self._state(i).direction) for i in self._closed if self._state(i).phase is Phase.INCIPIENT
        }
        self._general = mode.redundant or bool(self._incipient)
        self._fast = None if self._general else system.mechanism.shortcut(mode)
        self._found: dict[int, Array] = {}
        self._key: tuple[float, bytes] | None = None
        self._motion: Motion | None = None

    # --- layout of rows and guards ----------------------------------------------------------------------------

    def _state(self, i: int) -> ContactState:
        return self._mode.contacts[i]

    def _layout(self) -> None:
        """Where the rows of each closed contact lie in the terms, which of them are constrained, and who slips."""
        system = self._system
        self._normal: dict[int, int] = {}
        self._tangent: dict[int, slice] = {}
        constrained: list[int] = []
        self._slips: list[tuple[int, int]] = []  # contact, column of its normal force among the unknowns
        start = 0
        for i in self._closed:
            dim = self._mechanism.dims[i]
            self._normal[i], self._tangent[i] = start, slice(start + 1, start + dim)
            if self._state(i).mode is Mode.SLIP and system.tangent_rows(i):
                self._slips.append((i, len(constrained)))
            constrained.append(start)
            if self._state(i).mode is Mode.STICK:
                constrained.extend(range(start + 1, start + 1 + system.tangent_rows(i)))
            start += dim
        self._rows_total = start
        self._constrained = np.array(constrained, dtype=int)
        self._all_constrained = len(constrained) == start
        # From the rows of the terms to the force directions; the entries of slipping contacts follow their direction.
        self._combine = np.zeros((len(constrained), start))
        self._combine[range(len(constrained)), constrained] = 1.0
        self._fixed_direction = {
            i: self._state(i).direction for i, _ in self._slips if self._state(i).phase is Phase.DIRECTED
        }

    def _name_guards(self) -> None:
        names: list[tuple[str, int]] = []
        for i, state in enumerate(self._mode.contacts):
            if state.mode is Mode.OPEN:
                names += [("gap", i)] if state.enabled else []
                names += [("enable", i)] if self._mechanism.enabled[i] is not None else []
                continue
            if not self._mode.redundant:
                names.append(("force", i))
            frictional = self._system.tangent_rows(i) > 0
            if state.mode is Mode.STICK and frictional and not self._mode.redundant:
                names.append(("cone", i))
            if state.mode is Mode.SLIP and frictional:
                names += {
                    Phase.FREE: [("slow", i)],
                    Phase.DIRECTED: [("stop", i), ("fast", i)] if self._mechanism.dims[i] == 3 else [("stop", i)],
                    Phase.INCIPIENT: [("stop", i), ("fast", i)],
                }[state.phase]
        if self._mode.redundant and self._closed:
            names.append(("forces", -1))
        self.guard_names = tuple(names)
        self._kinds = kinds = [kind for kind, _ in names]
        self.guard_smooth = np.array([kind != "forces" for kind in kinds], dtype=bool)  # that margin has kinks
        self._needs_motion = any(kind in ("force", "cone", "forces") for kind in kinds)
        self._gap_guards = np.array([k for k, kind in enumerate(kinds) if kind == "gap"], dtype=int)
        self._gap_contacts = np.array([i for kind, i in names if kind == "gap"], dtype=int)
        self._other_guards = [(k, kind, i) for k, (kind, i) in enumerate(names) if kind != "gap"]

    # --- the contract of a flow -------------------------------------------------------------------------------

    def field(self, t: float, x: Array) -> Array:
        """Rate (v, a, z') of the state; NaN where a trial step went so far that it has none, to be shortened."""
        system = self._system
        out = np.empty(system.tangent_size)
        nq, nv = system.nq, system.nv
        out[:nv] = x[nq : nq + nv]
        try:
            out[nv : 2 * nv] = self.motion(t, x).acceleration
        except SingularError:
            out[nv : 2 * nv] = np.nan
        if system.memory:
            out[2 * nv :] = system.memory_rate(t, x)
        return out

    def motion(self, t: float, x: Array) -> Motion:
        """Accelerations and forces at (t, x)."""
        key = (t, x.tobytes())
        if self._motion is None or key != self._key:
            self._motion, self._key = self._solve(t, x), key
        return self._motion

    def guards(self, t: float, x: Array) -> Array:
        """Guard values in the order of `guard_names`."""
        nq, nv = self._system.nq, self._system.nv
        q, v = x[:nq], x[nq : nq + nv]
        values = np.empty(len(self.guard_names))
        if len(self._gap_guards):
            values[self._gap_guards] = self._mechanism.gaps(t, q)[self._gap_contacts]
        if self._other_guards:
            motion = self.motion(t, x) if self._needs_motion else None
            rates = self._rates(t, x, motion)
            for k, kind, i in self._other_guards:
                values[k] = self._guard(kind, i, t, q, v, motion, rates)
        return values

    def next_time(self, t: float) -> float:
        """Next sampling instant of the controller."""
        return self._system.next_time(t)

    def longest_step(self, t: float, x: Array) -> float:
        """The time in which nothing turns by more than about a radian: a spinning tip must not dip unseen."""
        return self._mechanism.longest_step(x[self._system.nq : self._system.nq + self._system.nv])

    def rebase(self, t: float, x: Array) -> None:
        """Take the present slip directions as references: past a stop, the field runs on smoothly along them."""
        free = [i for i, _ in self._slips if self._state(i).phase is Phase.FREE]
        if free:
            rates = self._terms(t, x).rates
            for i in free:
                self._references[i] = unit(rates[self._tangent[i]]) or self._references.get(i, (1.0, 0.0))
            self._key = None
        if self._incipient:
            self.motion(t, x)
            self._incipient.update(self._found)
        if self.guard_rounding is None:
            self._set_guard_tolerances(t, x)

    def project(self, t: float, x: Array) -> Array:
        """Back onto the gaps and velocities of the closed contacts, where they are off by more than the drift.

        M-orthogonal: dq = M^-1 C^T (C M^-1 C^T)^+ (-g), likewise for the velocity (Hairer and Wanner, ODE II, VII.2).
        """
        if not self._closed:
            return x
        tolerance = self._system.tolerances.drift
        nq, nv = self._system.nq, self._system.nv
        q, v = x[:nq], x[nq : nq + nv]
        gaps = self._mechanism.gaps(t, q)[list(self._closed)]
        terms = self._terms(t, x)
        slip = terms.rates[self._constrained]
        if np.abs(gaps).max() > tolerance:
            normals = terms.rows[list(self._normal.values())]
            q = self._mechanism.space.integrate(q, smallest_change(terms.mass, normals, -gaps)[0])
            terms = self._mechanism.terms(t, q, v, self._closed)
            slip = terms.rates[self._constrained]
        elif np.abs(slip).max() <= tolerance:
            return x
        v = v + smallest_change(terms.mass, terms.rows[self._constrained], -slip)[0]
        self._key = None
        return np.concatenate([q, v, x[nq + nv :]])

    # --- the linear algebra of one mode -----------------------------------------------------------------------

    def _terms(self, t: float, x: Array) -> Terms:
        nq, nv = self._system.nq, self._system.nv
        return self._mechanism.terms(t, x[:nq], x[nq : nq + nv], self._closed)

    def _solve(self, t: float, x: Array) -> Motion:
        nq, nv = self._system.nq, self._system.nv
        applied = self._system.applied_force(t, x)
        if self._fast is not None:
            acceleration, forces = self._fast(x[:nq], x[nq : nq + nv], applied)
            return Motion(acceleration, np.zeros(self._rows_total), lambda: forces())
        terms = self._terms(t, x)
        force = terms.force if applied is None else terms.force + applied
        if self._general:
            return self._solve_general(terms, force)
        return self._solve_regular(terms, force)

    def _solve_regular(self, terms: Terms, force: Array) -> Motion:
        if not len(self._constrained):
            return Motion(solve_mass(terms.mass, force), terms.rates, lambda: np.zeros(0))
        rates = terms.rates.tolist() if self._slips else []
        directions = [self._direction(i, rates) for i, _ in self._slips]
        for (i, column), direction in zip(self._slips, directions, strict=True):
            for k, part in enumerate(direction, self._normal[i] + 1):
                self._combine[column, k] = -self._friction[i] * part
        right = np.empty((1 + len(self._constrained), len(force)))
        right[0] = force
        if self._slips or not self._all_constrained:
            np.dot(self._combine, terms.rows, out=right[1:])
        else:
            right[1:] = terms.rows
        solved = solve_mass(terms.mass, right.T, overwrite=True)
        if self._all_constrained:
            rows, bias = terms.rows, terms.bias
        else:
            rows, bias = terms.rows[self._constrained], terms.bias[self._constrained]
        matrix = rows @ solved
        _, _, negative, info = dgesv(matrix[:, 1:], matrix[:, 0] + bias)
        if info:
            raise SingularError(f"the contact constraints of mode {self._mode} became dependent during an arc")
        acceleration = solved[:, 0] - solved[:, 1:] @ negative
        return Motion(acceleration, terms.rates, lambda: self._regular_forces(-negative, directions))

    def _regular_forces(self, unknowns: Array, directions: list[tuple[float, ...]]) -> Array:
        forces = np.zeros(self._rows_total)
        forces[self._constrained] = unknowns
        for (i, column), direction in zip(self._slips, directions, strict=True):
            forces[self._tangent[i]] = -self._friction[i] * unknowns[column] * np.array(direction)
        return forces

    def _solve_general(self, terms: Terms, force: Array) -> Motion:
        """Where forces are not unique or a slip direction is that of the slip acceleration."""
        problem, solved = contact_problem(self._system, terms, force, self._closed, self._sliding(terms))
        slides = (Mode.SLIP, Mode.CLOSED)
        modes = tuple(Mode.SLIP if self._state(i).mode in slides else Mode.STICK for i in self._closed)
        starts = tuple(self._incipient.get(i) for i in self._closed)
        solution = solve_modes(problem, modes, starts)
        pairs = zip(self._closed, solution.directions, strict=True)
        self._found = {i: direction for i, direction in pairs if i in self._incipient and direction is not None}
        kept = self._system.kept_rows(self._closed)
        forces = np.zeros(self._rows_total)
        forces[kept] = solution.forces
        acceleration = solved[:, 0] + solved[:, 1:] @ solution.forces
        margin = min(cone_margins(problem, modes, solution.forces), default=np.inf)
        return Motion(acceleration, terms.rates, lambda: forces, float(margin))

    def _sliding(self, terms: Terms) -> tuple[Array | None, ...]:
        slipping, rates = dict(self._slips), terms.rates.tolist()
        return tuple(
            np.array(self._direction(i, rates)) if i in slipping and i not in self._incipient else None
            for i in self._closed
        )

    def _direction(self, i: int, rates: list[float]) -> tuple[float, ...]:
        """Unit slip direction of a sliding contact; past a zero of its slip velocity the reference goes on."""
        held = self._fixed_direction.get(i)
        if held is not None:
            return held
        x, y = rates[self._normal[i] + 1], rates[self._normal[i] + 2]
        reference = self._references[i]
        along, across = x * reference[0] + y * reference[1], x * reference[1] - y * reference[0]
        if along <= 0.0 or abs(across) < STRAIGHT:
            return reference
        speed = hypot(x, y)
        return x / speed, y / speed

    # --- guards -----------------------------------------------------------------------------------------------

    def _rates(self, t: float, x: Array, motion: Motion | None) -> Array | None:
        if motion is not None and self._fast is None:
            return motion.rates
        return self._terms(t, x).rates if self._slips else None

    def _guard(
        self,
        kind: str,
        i: int,
        t: float,
        q: Array,
        v: Array,
        motion: Motion | None,
        rates: Array | None,
    ) -> float:
        if kind == "enable":
            margin = float(self._mechanism.enabled[i](t, q, v))  # type: ignore[misc]
            return margin if self._state(i).enabled else -margin
        if kind in ("force", "cone", "forces"):
            assert motion is not None
            return self._force_guard(kind, i, motion)
        assert rates is not None
        z = rates[self._tangent[i]]
        slow = self._system.tolerances.slip_speed
        if kind == "fast":
            return LEAVE * slow - float(np.linalg.norm(z))
        if kind == "slow":
            return float(z @ self._references[i]) - slow
        return float(z @ np.array(self._state(i).direction))

    def _force_guard(self, kind: str, i: int, motion: Motion) -> float:
        if kind == "forces":
            return motion.margin
        normal = float(motion.forces[self._normal[i]])
        if kind == "force":
            return normal
        tangential = motion.forces[self._tangent[i]]
        return self._system.static_friction[i] * normal - float(np.sqrt(tangential @ tangential))

    def _set_guard_tolerances(self, t: float, x: Array) -> None:
        """Rounding of each guard: forces are known relative to the largest of them only."""
        tolerances = self._system.tolerances
        force = tolerances.rearm
        if self._needs_motion:
            largest = float(np.abs(self.motion(t, x).forces).max(initial=0.0))
            force = 4.0 * tolerances.force * max(largest, 1e-3)
        place = 8.0 * float(np.spacing(np.abs(x[: self._system.nq]).max(initial=1.0)))
        rounding = {
            "gap": max(tolerances.rearm, place),
            "force": force,
            "cone": force,
            "forces": force,
            "stop": 0.01 * tolerances.speed,
        }
        rounding |= dict.fromkeys(("slow", "fast"), 0.05 * tolerances.slip_speed)  # where exactly does not matter
        bands = {**rounding, "gap": tolerances.start_depth, "stop": tolerances.speed}
        self.guard_rounding = np.array([rounding.get(kind, tolerances.rearm) for kind in self._kinds])
        self.guard_bands = np.array([bands.get(kind, tolerances.jump) for kind in self._kinds])


def contact_problem(
    system: ContactSystem,
    terms: Terms,
    force: Array,
    contacts: tuple[int, ...],
    sliding: tuple[Array | None, ...],
) -> tuple[ContactProblem, Array]:
    """The problem of accelerations of `contacts`, and M^-1 [f, J^T] (nv, 1 + m) with which it was made."""
    kept = system.kept_rows(contacts)
    rows, bias = terms.rows[kept], terms.bias[kept]
    solved = solve_mass(terms.mass, np.column_stack([force, rows.T]))
    chosen = list(contacts)
    problem = ContactProblem(
        delassus=rows @ solved[:, 1:],
        free=rows @ solved[:, 0] + bias,
        dims=tuple(1 + system.tangent_rows(i) for i in contacts),
        friction=system.friction[chosen],
        static_friction=system.static_friction[chosen],
        sliding=sliding,
        names=tuple(system.mechanism.all_names[i] for i in contacts),
    )
    return problem, solved


def solve_mass(mass: Array, right: Array, overwrite: bool = False) -> Array:
    """M^-1 right, by Cholesky's factors; in the place of `right` where that may be overwritten.

    Raises:
        SingularError: M is not positive definite.
    """
    _, solved, info = dposv(mass, right, overwrite_b=overwrite)
    if info:
        raise SingularError("the mass matrix is not positive definite; check masses and inertias")
    return solved


def smallest_change(mass: Array, rows: Array, target: Array) -> tuple[Array, Array]:
    """Smallest change (nv,) in the metric of M that changes the rows by `target`, and its multipliers."""
    solved = solve_mass(mass, rows.T)
    multipliers = np.linalg.lstsq(rows @ solved, target, rcond=1e-10)[0]
    return solved @ multipliers, multipliers
