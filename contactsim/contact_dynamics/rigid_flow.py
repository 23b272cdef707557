"""The smooth motion in one fixed contact mode of a rigid law, and the guards that end it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import hypot
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dgesv

from ..common.arrays import Array
from ..contact.linear_algebra import pseudo_inverse, smallest_change, solve_mass
from ..contact.modes import ContactState, Mode, Phase, SystemMode, unit
from ..contact.problem import ContactProblem
from ..contact.redundant_forces import cone_margins
from ..contact.solvers.pivot import solve_modes
from ..errors import NoAdmissibleModeError, SimulationError, SingularError
from ..hybrid.flow import Finding, Flow, GuardBounds, Look, Path
from ..multibody.mechanism import ULPS, JointPath, Terms
from .mode_sensitivity import SMALLEST, ModeEquations, Turn, across, loose_forces, turned

if TYPE_CHECKING:
    from .contact_system import ContactSystem

# Slip that leaves its reference direction by less than this runs straight [m/s]: without it, the rounding of a stage
# near the stop would turn the direction of friction, and a long step would amplify that.
STRAIGHT = 1e-12
# A contact takes its own slip direction from this many slip speeds on. Below, while it breaks away, the direction of
# the slip acceleration stands for it: friction turns the slip within |z_t| / (mu lam_n G_tt), too fast to integrate.
LEAVE = 2.0
# Contacts jam where friction makes the least singular value of their equations this small, relative to that without.
JAM = 1e-3
# What a guard counts as zero, besides `Tolerances`:
LEAST_FORCE = 1e-3  # forces are known relative to the largest of them, but no better than for this one [N]
OF_FORCE = 4.0  # `Tolerances.force` that a margin of forces may be off: it is made of several
AT_STOP = 0.01  # a stop is as exact as this share of the speed that counts as zero
OF_SLIP_SPEED = 0.05  # share of the slip speed; where exactly a slip direction is let go or held does not matter
SIDE = "side"  # begins the name of a guard at which a contact leaves its region; the number of the side follows


@dataclass
class Motion:
    """Accelerations and contact forces at one state in one mode.

    Attributes:
        acceleration: a (nv,).
        rates: contact velocities z (m,) of the closed contacts.
        fill: () -> the forces (m,), for `forces`.
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


@dataclass(frozen=True)
class Sensitivity:
    """Derivatives at one state in one mode, along the tangent directions of the state.

    Attributes:
        acceleration_x: of a (nv, dim).
        forces_x: of the contact forces lam (m, dim).
        rates_x: of the contact velocities z (m, dim).
        memory_x: of the rate of the controller's memory (own, dim).
    """

    acceleration_x: Array
    forces_x: Array
    rates_x: Array
    memory_x: Array


class RigidFlow(Flow):
    """Motion with every contact OPEN, STICK or SLIP: M a = f + J^T lam with the constraints of the mode.

    Constrained rows C (normals of closed contacts, tangents of sticking ones) and force directions D, which differ
    from C where contacts slip (d = n - mu_k t s):  (C M^-1 D^T) lam = -(C M^-1 f + bias),  a = M^-1 (f + D^T lam).
    Source: Leine and Nijmeijer 2004 (as in `complementarity`), with the spatial cone.
    """

    def __init__(self, system: ContactSystem, mode: SystemMode) -> None:
        self._system, self._mode = system, mode
        self._mechanism = system.mechanism.within(mode.regions)
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
        self._sensitivity_key: tuple[float, bytes] | None = None
        self._last_sensitivity: Sensitivity | None = None

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
            if state.region:
                names += [(f"{SIDE}{side}", i) for side in self._mechanism.region_sides(i, state.region)]
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
        self.guard_names = self._guards = tuple(names)
        self._kinds = kinds = [kind for kind, _ in names]
        self.guard_smooth = np.array([kind != "forces" for kind in kinds], dtype=bool)  # that margin has kinks
        self.guards_follow = "slow" in kinds
        self._needs_motion = any(kind in ("force", "cone", "forces") for kind in kinds)
        self._gap_guards = np.array([k for k, kind in enumerate(kinds) if kind == "gap"], dtype=int)
        self._gap_contacts = np.array([i for kind, i in names if kind == "gap"], dtype=int)
        self._gap_bounds = self._mechanism.gap_bounds(self._gap_contacts) if "gap" in kinds else None
        self.bounded_guards = self._gap_bounds is not None
        limits = self._gap_contacts - len(self._mechanism.names)
        self._limits = limits if len(limits) and limits.min() >= 0 else None  # where all gaps are those of constraints
        self._other_guards = [(k, kind, i) for k, (kind, i) in enumerate(names) if kind != "gap"]

    # --- the contract of a flow -------------------------------------------------------------------------------

    def field(self, t: float, x: Array) -> Array:
        """Rate (v, a, z') of the state; NaN where a trial step went so far that it has none, to be shortened."""
        system = self._system
        out = np.empty(system.tangent_size)
        nv = system.nv
        out[:nv] = system.v(x)
        try:
            out[nv : 2 * nv] = self.motion(t, x).acceleration
        except (SingularError, np.linalg.LinAlgError):
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
        q, v = self._system.q(x), self._system.v(x)
        values = np.empty(len(self.guard_names))
        if self._limits is not None:
            values[self._gap_guards] = self._mechanism.constraint_gaps(t, q)[self._limits]
        elif len(self._gap_guards):
            values[self._gap_guards] = self._mechanism.gaps(t, q)[self._gap_contacts]
        if self._other_guards:
            motion = self.motion(t, x) if self._needs_motion else None
            rates = self._rates(t, x, motion)
            for k, kind, i in self._other_guards:
                values[k] = self._guard(kind, i, t, q, v, motion, rates)
        return values

    def guard_bounds(self, path: Path) -> GuardBounds:
        """Bounds of the gaps; of forces, cones and slips nothing is known beforehand."""
        assert self._gap_bounds is not None
        along = JointPath.of(path, self._system.q(path.start), self._system.v(path.start))
        return self._gap_bounds(along).of_guards(self._gap_guards)

    def guard_motion(self, t: float, x: Array, guard: int) -> Look:
        """A gap and its rate."""
        return self._mechanism.gap_motion(t, self._system.q(x), self._system.v(x), self._guards[guard][1])

    def validate(self, t: float, x: Array) -> Sequence[Finding]:
        """Notes that the contact forces of the mode are not unique, and the motion perhaps neither."""
        if not self._mode.redundant:
            return ()
        names = ", ".join(self._mechanism.all_names[i] for i in self._closed)
        motion = ", and where contacts slip the motion need not be either" if self._slips else ""
        chosen = "the smallest ones act, or those with the largest margin"
        return (Finding(f"the forces of {names} are not unique{motion}; {chosen}"),)

    def next_time(self, t: float) -> float:
        """Next sampling instant of the controller, or the next end of bounces."""
        return min([self._system.next_time(t), *(limit for limit in self._mode.limits if limit > t)])

    def longest_step(self, t: float, x: Array) -> float:
        """The time in which nothing turns by more than about a radian: a spinning tip must not dip unseen."""
        return self._mechanism.longest_step(self._system.v(x))

    def rebase(self, t: float, x: Array) -> None:
        """Take the present slip directions as references: past a stop, the field runs on smoothly along them."""
        free = [i for i, _ in self._slips if self._state(i).phase is Phase.FREE]
        if free:
            rates = self._terms(t, x).rates
            for i in free:
                self._references[i] = unit(rates[self._tangent[i]]) or self._references.get(i, (1.0, 0.0))
            self._key = self._sensitivity_key = None
        if self._incipient:
            self.motion(t, x)
            self._incipient.update(self._found)
        if self.guard_rounding is None:
            self._set_guard_tolerances(t, x)

    def project(self, t: float, x: Array) -> Array:
        """Back onto the gaps and velocities of the closed contacts, where they are off by more than the drift.

        M-orthogonal: dq = M^-1 C^T (C M^-1 C^T)^+ (-g), likewise for the velocity (Hairer and Wanner, ODE II, VII.2).
        """
        x = self._system.on_loops(x)
        if not self._closed:
            return x
        tolerance = self._system.tolerances.drift
        q, v = self._system.q(x), self._system.v(x)
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
        return np.concatenate([q, v, self._system.z(x)])

    def singular(self, t: float, x: Array) -> SimulationError | None:
        """Dynamic jam (Painleve): sliding contacts whose friction makes their forces infinite or undetermined.

        C M^-1 D^T, which gives the forces, becomes singular where C M^-1 C^T, the same without friction, is not: the
        forces grow without bound, or the free normal acceleration vanishes with it and no step leads past.
        Source: Genot and Brogliato, New results on Painleve paradoxes, 1999.
        """
        if not self._slips or self._mode.redundant:
            return None
        self.motion(t, x)  # finds the directions of contacts that begin to slip
        terms = self._terms(t, x)
        delassus = (terms.rows @ solve_mass(terms.mass, terms.rows.T))[self._constrained]
        rubbing = delassus @ self._equations(t, x, terms).combine.T
        smooth = delassus[:, self._constrained]
        least, usual = (float(np.linalg.svd(matrix, compute_uv=False)[-1]) for matrix in (rubbing, smooth))
        if least > JAM * usual:
            return None
        names = ", ".join(self._mechanism.all_names[i] for i, _ in self._slips)
        applied = self._system.applied_force(t, x)
        force = terms.force if applied is None else terms.force + applied
        problem, _ = contact_problem(self._system, terms, force, self._closed, self._sliding(terms))
        return NoAdmissibleModeError(
            f"friction makes the forces of the sliding contacts {names} singular at t = {t:.12g} s (dynamic jam,"
            " Painleve, for any law.painleve); lower the friction or give the contact compliance",
            contact_problem=problem,
            t=t,
        )

    # --- derivatives ------------------------------------------------------------------------------------------

    def jacobian(self, t: float, x: Array) -> Array | None:
        """D_x f (dim, dim), analytic where users' functions are; None where forces have kinks."""
        sensitivity = self._sensitivity(t, x)
        if sensitivity is None:
            return None
        system, nv = self._system, self._system.nv
        jacobian = np.zeros((system.tangent_size, system.tangent_size))
        jacobian[range(nv), range(nv, 2 * nv)] = 1.0
        jacobian[nv : 2 * nv] = sensitivity.acceleration_x
        if system.memory:
            memory_x = sensitivity.memory_x
            jacobian[2 * nv : 2 * nv + len(memory_x)] = memory_x
        return jacobian

    def guard_jacobian(self, t: float, x: Array, names: Sequence[Hashable]) -> Array | None:
        """D_x g (len(names), dim); None where one of them is known by its value only."""
        rows = []
        for kind, i in (self._guards[k] for k in self.places(names)):
            if kind in ("enable", "forces"):
                return None
            if kind == "gap":
                row: Array | None = self._gap_row(t, x, i)
            elif kind.startswith(SIDE):
                row = self._side_row(kind, i, x)
            else:
                row = self._guard_row(kind, i, t, x)
            if row is None:
                return None
            rows.append(row)
        return np.array(rows).reshape(len(rows), self._system.tangent_size)

    def input_matrix(self, t: float, x: Array) -> Array:
        """D_u f (dim, nu) for generalised forces u on the actuated joints."""
        nv = self._system.nv
        terms = self._terms(t, x)
        select = self._mechanism.admissible_force(self._system.q(x), np.eye(nv)[:, self._system.actuated])
        acceleration, _ = self._equations(t, x, terms).solve(select, np.zeros((self._rows_total, select.shape[1])))
        matrix = np.zeros((self._system.tangent_size, select.shape[1]))
        matrix[nv : 2 * nv] = acceleration
        return matrix

    def _gap_row(self, t: float, x: Array, i: int) -> Array:
        nv = self._system.nv
        row = np.zeros(self._system.tangent_size)
        row[:nv] = self._mechanism.terms(t, self._system.q(x), self._system.v(x), (i,)).rows[0]
        return row

    def _side_row(self, kind: str, i: int, x: Array) -> Array:
        row = np.zeros(self._system.tangent_size)
        region, side = self._state(i).region, int(kind.removeprefix(SIDE))
        row[: self._system.nv] = self._mechanism.region_margin(self._system.q(x), i, region, side)[1]
        return row

    def _guard_row(self, kind: str, i: int, t: float, x: Array) -> Array | None:
        sensitivity = self._sensitivity(t, x)
        if sensitivity is None:
            return None
        if kind in ("force", "cone"):
            normal = sensitivity.forces_x[self._normal[i]]
            if kind == "force":
                return normal
            tangential = self.motion(t, x).forces[self._tangent[i]]
            if not np.any(tangential):  # at the apex of the cone: it closes with the normal force
                return self._system.static_friction[i] * normal
            along = np.array(unit(tangential))
            return self._system.static_friction[i] * normal - along @ sensitivity.forces_x[self._tangent[i]]
        rates = sensitivity.rates_x[self._tangent[i]]
        if kind == "fast":
            return -np.array(unit(self._terms(t, x).rates[self._tangent[i]])) @ rates
        direction = self._references[i] if kind == "slow" else self._state(i).direction
        return np.array(direction) @ rates

    def _sensitivity(self, t: float, x: Array) -> Sensitivity | None:
        """Derivatives of accelerations, forces and contact velocities with respect to the state."""
        key = (t, x.tobytes())
        if key != self._sensitivity_key:
            self._last_sensitivity, self._sensitivity_key = self._differentiate(t, x), key
        return self._last_sensitivity

    def _differentiate(self, t: float, x: Array) -> Sensitivity | None:
        """Differentiate M a = f + J^T lam and the rows of the mode: see `sensitivity`."""
        system, nv = self._system, self._system.nv
        motion, terms = self.motion(t, x), self._terms(t, x)
        forces, acceleration = motion.forces, motion.acceleration
        q, v = system.q(x), system.v(x)
        of_terms = self._mechanism.term_derivatives(t, q, v, acceleration, self._closed, forces)
        applied = system.applied_jacobian(t, x)
        force = applied.force_x
        force[:, :nv] -= of_terms.residual_q
        force[:, nv : 2 * nv] -= of_terms.residual_v
        change, rates = (np.zeros((self._rows_total, system.tangent_size)) for _ in range(2))
        change[:, :nv], change[:, nv : 2 * nv] = of_terms.motion_q, of_terms.motion_v
        rates[:, :nv], rates[:, nv : 2 * nv] = of_terms.rates_q, terms.rows
        turns = self._turning(terms, rates)
        direct = np.zeros_like(rates)  # friction turns with the slip velocity, whatever the normal forces do
        for i, turn in turns.items():
            direct[self._tangent[i]] = -self._friction[i] * forces[self._normal[i]] * turn
        force += terms.rows.T @ direct
        equations = self._equations(t, x, terms)
        loose = None
        if self._mode.redundant and self._slips:
            if not self._smallest(terms, equations, forces):
                return None
            loose = partial(self._loose_forces, t, x, equations, forces, turns)
        acceleration_x, forces_x = equations.solve(force, change, loose)
        return Sensitivity(acceleration_x, forces_x + direct, rates, applied.memory_x)

    def _smallest(self, terms: Terms, equations: ModeEquations, forces: Array) -> bool:
        """Whether redundant forces are the smallest ones, not those of the largest cone margin."""
        held, directions = terms.rows[self._constrained], equations.combine @ terms.rows
        matrix = held @ solve_mass(terms.mass, directions.T)
        unknowns = forces[self._constrained]
        smallest = pseudo_inverse(matrix) @ (matrix @ unknowns)
        return bool(np.abs(smallest - unknowns).max() <= SMALLEST * np.abs(unknowns).max())

    def _loose_forces(
        self, t: float, x: Array, equations: ModeEquations, forces: Array, turns: Mapping[int, Array], inverse: Array
    ) -> tuple[Array, Array]:
        """How the smallest forces change within the null space, as slip directions turn with the slip velocity, too."""
        unknowns = forces[self._constrained]
        q = self._system.q(x)
        by_q, by_turns, y = loose_forces(self._mechanism, t, q, self._closed, equations, unknowns, inverse)
        by_state = np.zeros((len(unknowns), self._system.tangent_size))
        by_state[:, : self._system.nv] = by_q
        slip = equations.rows @ y
        for i, column in self._slips:
            if i in turns:
                by_state[column] -= self._friction[i] * slip[self._tangent[i]] @ turns[i]
        return by_state, by_turns

    def _turning(self, terms: Terms, rates: Array) -> dict[int, Array]:
        """{contact: derivative (2, dim) of its slip direction} where that turns with the slip velocity."""
        z, found = terms.rates.tolist(), {}
        for i, _ in self._slips:
            if self._state(i).phase is Phase.FREE:
                part = self._tangent[i]
                speed = float(np.linalg.norm(terms.rates[part]))
                found[i] = turned(np.array(self._direction(i, z)), speed, rates[part])
        return found

    def _equations(self, t: float, x: Array, terms: Terms) -> ModeEquations:
        """The linear equations of the mode at a state."""
        combine = np.array(self._combine)
        rates, turns = terms.rates.tolist(), []
        for i, column in self._slips:
            direction = np.array(self._found[i] if i in self._incipient else self._direction(i, rates))
            combine[column, self._tangent[i]] = -self._friction[i] * direction
            if i in self._incipient:
                turns.append(self._turn(i, column, direction, t, x, terms))
        return ModeEquations(terms.mass, terms.rows, self._constrained, combine, tuple(turns), self._mode.redundant)

    def _turn(self, i: int, column: int, direction: Array, t: float, x: Array, terms: Terms) -> Turn:
        motion = self.motion(t, x)
        part = self._tangent[i]
        slip = terms.rows[part] @ motion.acceleration + terms.bias[part]
        pull = -self._friction[i] * float(motion.forces[self._normal[i]])
        return Turn(part, across(direction), column, self._friction[i], pull, float(direction @ slip))

    # --- the linear algebra of one mode -----------------------------------------------------------------------

    def _terms(self, t: float, x: Array) -> Terms:
        return self._mechanism.terms(t, self._system.q(x), self._system.v(x), self._closed)

    def _solve(self, t: float, x: Array) -> Motion:
        applied = self._system.applied_force(t, x)
        if self._fast is not None:
            acceleration, forces = self._fast(self._system.q(x), self._system.v(x), applied)
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
        along, aside = x * reference[0] + y * reference[1], x * reference[1] - y * reference[0]
        if along <= 0.0 or abs(aside) < STRAIGHT:
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
        if kind.startswith(SIDE):
            return self._mechanism.region_margin(q, i, self._state(i).region, int(kind.removeprefix(SIDE)))[0]
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
            force = OF_FORCE * tolerances.force * max(largest, LEAST_FORCE)
        place = ULPS * float(np.spacing(np.abs(self._system.q(x)).max(initial=1.0)))
        rounding = {
            "gap": max(tolerances.rearm, place),
            "force": force,
            "cone": force,
            "forces": force,
            "stop": AT_STOP * tolerances.speed,
        }
        rounding |= {kind: rounding["gap"] for kind in self._kinds if kind.startswith(SIDE)}
        rounding |= dict.fromkeys(("slow", "fast"), OF_SLIP_SPEED * tolerances.slip_speed)
        bands = {**rounding, "gap": tolerances.start_depth, "stop": tolerances.speed}
        bands |= {kind: tolerances.start_depth for kind in self._kinds if kind.startswith(SIDE)}
        self.guard_rounding = np.array([rounding.get(kind, tolerances.rearm) for kind in self._kinds])
        self.guard_bands = np.array([bands.get(kind, tolerances.jump) for kind in self._kinds])
        # What begins to slip was set to rest. In a singular configuration no impulse removes all of a velocity: what
        # is left of it has not jumped, and the slip accelerates away from it.
        starting = np.array([kind == "stop" and i in self._incipient for kind, i in self._guards], dtype=bool)
        self.guard_bands[starting] = tolerances.slip_speed


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
