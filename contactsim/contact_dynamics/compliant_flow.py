"""Compliant laws: smooth motion with ground forces, and the surfaces at which contacts touch and leave."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from ..common.arrays import Array
from ..common.lazy import NamedTuple
from ..common.telling import tell
from ..common.user_calls import UserCall, answer
from ..contact.laws import CompliantLaw, CompliantPoint
from ..contact.linear_algebra import solve_mass
from ..contact.modes import ContactState, Mode, Phase, SystemMode
from ..errors import CallbackError, PluginError, SingularError
from ..hybrid.chart_path import ChartPath
from ..hybrid.course import Course, Passed
from ..hybrid.differences import derivative, tangent_derivative
from ..hybrid.flow import Cruise, Flow, Looks
from ..hybrid.system import Transition
from ..multibody.mechanism import Terms
from ..multibody.zero import ULPS
from .compliant_arc import CompiledMode, compiled_mode
from .contact_flow import ContactFlow
from .engines import CompiledArc
from .restarts import as_mode
from .rigid_guards import SIDE
from .world import World

# A law without derivative is differenced, in steps relative to the values but at least to these: m, m/s, memory.
STEP, SMALLEST_GAP, SMALLEST_SPEED, SMALLEST_MEMORY = 1e-3, 1e-5, 1e-3, 1e-5
FORCE_GUARDS = ("release", "return")
GAPS = ("gap", "clear")


class Evaluation(NamedTuple):
    """The law at one state.

    Attributes:
        terms: equations of motion with the rows of the contacts it was evaluated at.
        points: {contact: what the law looks at}.
        forces: {contact: force along its rows (1 + d_t,)} [N].
        rates: rate of the law's memory (contacts, memory).
    """

    terms: Terms
    points: dict[int, CompliantPoint]
    forces: dict[int, Array]
    rates: Array


class CompliantFlow(ContactFlow):
    """Motion with the forces of a compliant law on the closed contacts: M a = f + J^T lam(g, z, memory).

    A contact touches where its gap falls through zero, and is open again where its gap rises through zero. Under a law
    that does not pull it is released before that where its margin (by default the normal force) falls through zero; a
    released contact whose margin rises again closes. Contacts with an `enabled` function touch only where that is
    positive, and from above: one that is enabled inside the ground has to come out first. "enable" is its guard.
    """

    def __init__(self, world: World, mode: SystemMode) -> None:
        self._world, self._mode, self._mechanism = world, mode, world.mechanism.within(mode.regions)
        self._law: CompliantLaw = world.law  # type: ignore[assignment]
        self._watched = tuple(i for i, s in enumerate(mode.contacts) if s.closed or s.phase is Phase.RELEASED)
        self._where: dict[int, slice] = {}
        start = 0
        for i in self._watched:
            self._where[i] = slice(start, start + self._mechanism.dims[i])
            start = self._where[i].stop
        self._guards = tuple((kind, i) for i, state in enumerate(mode.contacts) for kind in self._kinds(i, state))
        self.guard_names = self._guards
        self._forces_guard = any(kind in FORCE_GUARDS for kind, _ in self._guards)
        self.guards_given = np.array([k for k, (kind, _) in enumerate(self._guards) if kind == "enable"], dtype=int)
        gaps = [(k, i) for k, (kind, i) in enumerate(self._guards) if kind in GAPS]
        super().__init__(world, self._mechanism, *np.array(gaps, dtype=int).reshape(-1, 2).T)

    def _kinds(self, i: int, state: ContactState) -> tuple[str, ...]:
        """Kinds of the guards of a contact."""
        if state.phase is Phase.RELEASED:
            return "clear", "return"
        if state.closed:
            sides = self._mechanism.region_sides(i, state.region) if state.region else ()
            return "clear", *(() if self._law.pulls else ("release",)), *(f"{SIDE}{side}" for side in sides)
        gap = ("clear",) if state.phase is Phase.BURIED else ("gap",) if state.enabled else ()
        return gap if self._mechanism.enabled[i] is None else (*gap, "enable")

    def contact_forces(self, t: float, x: Array) -> dict[int, Array]:
        """{contact: force along its rows} of touching and released contacts, as the law gives them."""
        return self._evaluate(t, x).forces

    def field(self, t: float, x: Array) -> Array:
        """Rate (v, a, z') of the state; NaN where a trial step went so far that it has none, to be shortened."""
        world = self._world
        try:
            found = self._evaluate(t, x)
        except SingularError:  # a trial step went too deep into hills, or opened loops too far
            return np.full(world.tangent_size, np.nan)
        memory = world.driving.memory_rate(t, x)
        if found.rates.size:
            memory[-found.rates.size :] = found.rates.ravel()
        return np.concatenate([world.v(x), self._acceleration(t, x, found), memory])

    def guards(self, t: float, x: Array) -> Array:
        """Guard values in the order of `guard_names`; gaps are those of open contacts, whatever the region."""
        if (watch := self._compiled.watch) is not None:
            told = watch.guards(t, x, self.slip_directions, 0.0)
            if told is not None:
                return told
        gaps = self._world.mechanism.gaps(t, self._world.q(x))
        margins = self.margins(t, x) if self._forces_guard else {}
        value: dict[str, Callable[[int], float]] = {
            "gap": lambda i: gaps[i],
            "clear": lambda i: -gaps[i],
            "release": lambda i: margins[i],
            "return": lambda i: -margins[i],
            "enable": lambda i: self._enabled(i, t, x),
        }
        return np.array(
            [self._side(kind, i, x) if kind.startswith(SIDE) else float(value[kind](i)) for kind, i in self._guards]
        )

    def _side(self, kind: str, i: int, x: Array) -> float:
        """How far a contact is from leaving its region on a side [m]."""
        region = self._mode.contacts[i].region
        return self._mechanism.region_margin(self._world.q(x), i, region, int(kind.removeprefix(SIDE)))

    def guard_motions(self, t: float, x: Array, guards: Array) -> Looks:
        """Gaps, or how deep contacts are inside, and their rates."""
        chosen = [self._guards[guard] for guard in guards.tolist()]
        contacts = np.array([i for _, i in chosen], dtype=int)
        found = self._world.mechanism.gap_motions(t, self._world.q(x), self._world.v(x), contacts)
        gap = np.array([kind == "gap" for kind, _ in chosen], dtype=bool)
        sense = np.where(gap, 1.0, -1.0)
        return Looks(sense * found.values, sense * found.rates, found.pieces, gap & found.apart)

    def margins(self, t: float, x: Array) -> dict[int, float]:
        """{contact: margin} of touching and released contacts: positive where they push."""
        found = self._evaluate(t, x)
        return {i: _margin(self._law, point, found.forces[i]) for i, point in found.points.items()}

    def _enabled(self, i: int, t: float, x: Array) -> float:
        """The margin of a contact that may touch, and its negative of one that may not."""
        margin = may_touch(self._world, i, t, x)
        return margin if self._mode.contacts[i].enabled else -margin

    def rebased(self, t: float, x: Array) -> CompliantFlow:
        """The flow that knows how well its guards are known where it starts: forces as stiffness and damping go."""
        if self.guard_rounding is not None:
            return self
        tolerances = self._world.tolerances
        parts = self._world.q(x), self._world.v(x)
        place, speed = (ULPS * float(np.spacing(np.abs(part).max(initial=1.0))) for part in parts)
        rounding = {kind: max(tolerances.rearm, place) for kind in ("gap", "clear")}
        rounding |= {kind: rounding["gap"] for kind, _ in self._guards if kind.startswith(SIDE)}
        known = np.array([rounding.get(kind, tolerances.rearm) for kind, _ in self._guards])
        bands = np.full(len(self._guards), tolerances.jump)
        if not self._forces_guard:
            return self.changed(guard_rounding=known, guard_bands=bands)
        found = self._evaluate(t, x)
        change = found.terms.rows @ self._acceleration(t, x, found) + found.terms.bias
        for k, (kind, i) in enumerate(self._guards):
            if kind in FORCE_GUARDS:
                rates = np.concatenate((found.terms.rates[self._where[i]][:1], change[self._where[i]], found.rates[i]))
                slope = np.abs(margin_gradient(self._law, found.points[i]))
                noise = np.full(len(slope), speed)
                noise[0] = place
                known[k] = max(tolerances.rearm, float(slope @ noise))
                bands[k] += known[k] + tolerances.event_time * float(slope @ np.abs(rates))
        return self.changed(guard_rounding=known, guard_bands=bands)

    def next_time(self, t: float) -> float:
        """Next sampling instant of the controller."""
        return self._world.driving.next_time(t)

    def project(self, t: float, x: Array) -> Array:
        """Back onto the closed loops, where the state is off by more than the drift."""
        return self._world.on_loops(x)

    # --- by a compiled engine ---------------------------------------------------------------------------------

    @cached_property
    def _compiled(self) -> CompiledMode:
        """The mode by the engine of its world, as far as that knows it."""
        return compiled_mode(self._world, self._mode, self._watched, self._guards)

    @property
    def compiled_arc(self) -> CompiledArc | None:
        """The compiled mode, without its guards."""
        return self._compiled.arc

    @property
    def cruise(self) -> Cruise | None:  # type: ignore[override]
        """Steps of the compiled mode with its guards, where there is one."""
        return None if self._compiled.watch is None else self._cruise

    def _cruise(self, course: Course) -> Passed:
        assert self._compiled.watch is not None
        return self._compiled.watch.cruise(course, self.slip_directions.copy(), 0.0)

    @property
    def cruises_stiffly(self) -> bool:  # type: ignore[override]
        """Whether that takes the steps of the stiff method, too."""
        return self._compiled.watch is not None and self._compiled.watch.stiff

    @property
    def slip_directions(self) -> Array:
        """Zero (watched contacts, 2): compliant laws remember nothing of slips."""
        return np.zeros((len(self._watched), 2))

    def propagated(
        self, path: ChartPath, t0: float, t1: float, variations: Array, accuracy: tuple[float, float]
    ) -> Array | None:
        """By the compiled mode, where there is one that knows it."""
        arc = self._compiled.arc
        return None if arc is None else arc.propagated(path, t0, t1, variations, accuracy, self.slip_directions, 0.0)

    # --- derivatives ------------------------------------------------------------------------------------------

    def jacobian(self, t: float, x: Array) -> Array:
        """D_x f (dim, dim) of the field (v, a, z') by the chain rule: with r = M a - f - J^T lam, lam held,

        M da = dtau - r_q dq - r_v dv + J^T dlam,  dlam = D (dg, dz, dmemory),  dg = w_n dq,  dz = z_q dq + J dv.
        """
        world, nv = self._world, self._world.nv
        q, v = world.q(x), world.v(x)
        found = self._evaluate(t, x)
        held = np.zeros(len(found.terms.rows))
        for i in self._mode.closed:
            held[self._where[i]] = found.forces[i]
        acceleration = self._acceleration(t, x, found)
        of_terms = self._mechanism.term_derivatives(t, q, v, acceleration, self._watched, held)
        matrix = np.zeros((world.tangent_size, world.tangent_size))
        matrix[:nv, nv : 2 * nv] = np.eye(nv)
        force = np.zeros((nv, world.tangent_size))
        force[:, :nv], force[:, nv : 2 * nv] = -of_terms.residual_q, -of_terms.residual_v
        if world.controller is not None or world.pushes or world.action is not None:
            applied = world.driving.applied_jacobian(t, x)
            force += applied.force_x
            matrix[2 * nv : 2 * nv + len(applied.memory_x)] = applied.memory_x
        for i, change in self._law_changes(found, of_terms.rates_q).items():
            size = self._mechanism.dims[i]
            matrix[self._memory_of(i)] = change[size:]
            if self._mode.contacts[i].closed:
                force += found.terms.rows[self._where[i]].T @ change[:size]
        matrix[nv : 2 * nv] = solve_mass(found.terms.mass, force)
        return matrix

    def guard_jacobian(self, t: float, x: Array, names: Sequence[Hashable]) -> Array:
        """D_x g (len(names), dim) of the named guards: rows of gaps, derivatives of margins and of `enabled`."""
        nv = self._world.nv
        q, v = self._world.q(x), self._world.v(x)
        chosen = [self._guards[k] for k in self.places(names)]
        seen: dict[int, Array] = {}
        if any(kind in FORCE_GUARDS for kind, _ in chosen):
            found = self._evaluate(t, x)
            seen = self._seen(found, self._mechanism.rate_derivatives(t, q, v, self._watched))
        matrix = np.zeros((len(chosen), self._world.tangent_size))
        for row, (kind, i) in zip(matrix, chosen, strict=True):
            if kind in FORCE_GUARDS:
                row[:] = margin_gradient(self._law, found.points[i]) @ seen[i]
            elif kind == "enable":
                row[:] = tangent_derivative(
                    lambda y, i=i: np.array([self._enabled(i, t, y)]),  # type: ignore[misc]
                    self._world.space,
                    x,
                )[0]
            elif kind.startswith(SIDE):
                region, side = self._mode.contacts[i].region, int(kind.removeprefix(SIDE))
                row[:nv] = self._mechanism.region_gradient(q, i, region, side)
            else:
                row[:nv] = self._mechanism.terms(t, q, v, (i,)).rows[0]
            if kind in ("clear", "return"):
                row *= -1.0
        return matrix

    def _law_changes(self, found: Evaluation, rates_q: Array) -> dict[int, Array]:
        """{contact: derivative (1 + d_t + memory, dim) of its force and of its memory's rate} by the state."""
        seen = self._seen(found, rates_q)
        return {i: law_jacobian(self._law, point) @ seen[i] for i, point in found.points.items()}

    def _seen(self, found: Evaluation, rates_q: Array) -> dict[int, Array]:
        """{contact: derivative (1 + d_t + 1 + memory, dim) of what the law looks at} by the state."""
        nv, memory = self._world.nv, self._law.memory
        seen = {}
        for i in found.points:
            part, size = self._where[i], self._mechanism.dims[i]
            seen[i] = np.zeros((1 + size + memory, self._world.tangent_size))
            seen[i][0, :nv] = found.terms.rows[part.start]
            seen[i][1 : 1 + size, :nv] = rates_q[part]
            seen[i][1 : 1 + size, nv : 2 * nv] = found.terms.rows[part]
            seen[i][1 + size :, self._memory_of(i)] = np.eye(memory)
        return seen

    def _memory_of(self, contact: int) -> slice:
        """Where the law's memory of a contact lies in the tangent state."""
        return memory_of(self._world, contact, self._world.tangent_size)

    # --- the law at one state ---------------------------------------------------------------------------------

    @cached_property
    def _touching(self) -> dict[int, int]:
        """{contact: contacts that touch}; one that is released counts as if it alone came back."""
        closed = len(self._mode.closed)
        return {i: closed if self._mode.contacts[i].closed else closed + 1 for i in self._watched}

    def _evaluate(self, t: float, x: Array) -> Evaluation:
        world = self._world
        q, v, z = world.space.split(x)
        terms = self._mechanism.terms(t, q, v, self._watched)
        gaps = self._mechanism.gaps_of(t, q, np.array(self._watched, dtype=int))
        memory = z[world.driving.memory :].reshape(len(world.mechanism.all_names), -1)  # of the law
        found = Evaluation(terms, {}, {}, np.zeros_like(memory))
        for gap, (i, part) in zip(gaps.tolist(), self._where.items(), strict=True):
            friction, static = float(world.friction[i]), float(world.static_friction[i])
            point = CompliantPoint(
                gap, terms.rates[part], memory[i], friction, self._touching[i], max(friction, static)
            )
            found.points[i] = point
            found.forces[i], found.rates[i] = _ask(self._law, point, t)
        return found

    def _acceleration(self, t: float, x: Array, found: Evaluation) -> Array:
        """Acceleration (nv,) under the forces of the closed contacts."""
        total = found.terms.force.copy()
        if (applied := self._world.driving.applied_at(t, x)) is not None:
            total += applied
        for i in self._mode.closed:
            total += found.forces[i] @ found.terms.rows[self._where[i]]
        try:
            return solve_mass(found.terms.mass, total)
        except SingularError:  # a trial step went too far
            return np.full(self._world.nv, np.nan)


def _ask(law: CompliantLaw, point: CompliantPoint, t: float) -> tuple[Array, Array]:
    """Force and memory rate of one contact by its law, checked."""
    kind, name, at = "the contact law", type(law).__name__, np.append(point.velocity, point.gap)
    with UserCall(kind, name, t):
        given = law.force(point._replace(velocity=point.velocity.copy(), memory=point.memory.copy()))
    try:
        force, rate = given
    except (TypeError, ValueError):
        raise CallbackError(
            f"{kind} {name!r} returns no pair from force() at t = {t:.6g} s; return two arrays, the force and the rate"
            " of the memory, which is empty where there is none",
            t=t,
        ) from None
    force = answer(kind, name, "a force", force, point.velocity.shape, t, at)
    return force, answer(kind, name, "a rate", rate, point.memory.shape, t, at)


def memory_of(world: World, contact: int, end: int) -> slice:
    """Where the law's memory of a contact lies in a state, plain or tangent, of which it is the last part."""
    memory = world.law.memory  # type: ignore[attr-defined]
    start = end - (len(world.mechanism.all_names) - contact) * memory
    return slice(start, start + memory)


def may_touch(world: World, i: int, t: float, x: Array) -> float:
    """The `enabled` margin of a contact; infinity where it has none."""
    margin = world.mechanism.enabled[i]
    return float("inf") if margin is None else float(margin(t, world.q(x), world.v(x)))


def _margin(law: CompliantLaw, point: CompliantPoint, force: Array) -> float:
    own = law.margin(point)
    return float(force[0] if own is None else own)


def margin_gradient(law: CompliantLaw, point: CompliantPoint) -> Array:
    """Derivative (1 + 1 + d_t + memory,) of the margin of a law by gap, velocity and memory."""
    if law.margin(point) is None:
        return law_jacobian(law, point)[0]
    return _differenced(lambda other: np.array([law.margin(other)], dtype=float), point)[0]


def law_jacobian(law: CompliantLaw, point: CompliantPoint) -> Array:
    """Derivative (1 + d_t + memory, 2 + d_t + memory) of a law: its own, or by central differences of fourth order.

    A warning says, once for each class of laws, that it is differenced.

    Raises:
        PluginError: the law gives an array of another shape.
    """
    size, memory = len(point.velocity), len(point.memory)
    given = law.jacobian(point)
    if given is not None:
        matrix = np.asarray(given, dtype=float)
        if matrix.shape != (size + memory, 1 + size + memory):
            raise PluginError(
                f"the jacobian of the law {type(law).__name__} has shape {matrix.shape}; return"
                f" ({size + memory}, {1 + size + memory}): force and memory rate by gap, velocity and memory"
            )
        return matrix
    _warn_of_differences(type(law))
    return _differenced(lambda other: np.concatenate(law.force(other)), point)


_WARNED: set[type[CompliantLaw]] = set()


def _warn_of_differences(law: type[CompliantLaw]) -> None:
    """Say once that the derivatives of a law are differences."""
    if law not in _WARNED:
        _WARNED.add(law)
        tell(
            f"the law {law.__name__} has no jacobian: its derivatives are differences, good to about 10 digits and"
            " slower; give it a method jacobian(point)",
        )


def _differenced(function: Callable[[CompliantPoint], Array], point: CompliantPoint) -> Array:
    """Derivative (m, 1 + 1 + d_t + memory) of a function of a point by its gap, velocity and memory."""
    size, memory = len(point.velocity), len(point.memory)
    values = np.concatenate(([point.gap], point.velocity, point.memory))
    smallest = np.array([SMALLEST_GAP] + [SMALLEST_SPEED] * size + [SMALLEST_MEMORY] * memory)
    steps = STEP * np.maximum(np.abs(values), smallest)

    def at(shift: Array) -> Array:
        moved = values + shift
        gap, velocity, own = float(moved[0]), moved[1 : 1 + size], moved[1 + size :]
        return function(point._replace(gap=gap, velocity=velocity, memory=own))

    return np.column_stack(
        [
            derivative(lambda h, e=direction: at(h * e), step)  # type: ignore[misc]
            for direction, step in zip(np.eye(len(values)), steps, strict=True)
        ]
    )


def _plain(kind: str) -> str:
    """The kind of a guard without the number of a side."""
    return SIDE if kind.startswith(SIDE) else kind


class CompliantContacts:
    """The discrete side of a ContactSystem with a compliant law: only the memory of a contact jumps, to zero."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._law: CompliantLaw = world.law  # type: ignore[assignment]

    def flow(self, mode: SystemMode) -> Flow:
        """Field and guards of a mode."""
        return CompliantFlow(self._world, mode)

    def forces(self, t: float, x: Array, mode: SystemMode) -> dict[int, Array]:
        """{contact: force along its rows} of the closed contacts."""
        forces = CompliantFlow(self._world, mode).contact_forces(t, x)
        return {i: forces[i] for i in mode.closed}

    def start(self, t: float, x: Array) -> Transition:
        """Contacts inside the ground are closed (or released, where the law may not pull); the others are open."""
        gaps = self._world.mechanism.gaps(t, self._world.q(x))
        enabled = [may_touch(self._world, i, t, x) > 0.0 for i in range(len(gaps))]
        inside = SystemMode(
            tuple(
                self._closed(i, x) if on and gap < 0.0 else ContactState(enabled=on)
                for i, (gap, on) in enumerate(zip(gaps, enabled, strict=True))
            )
        )
        if self._law.pulls:
            return Transition(x, inside)
        margins = CompliantFlow(self._world, inside).margins(t, x)
        released = ContactState(Mode.OPEN, Phase.RELEASED)
        states = tuple(
            released if state.closed and margins[i] < 0.0 else state for i, state in enumerate(inside.contacts)
        )
        return Transition(x, SystemMode(states))

    def restart(self, t: float, x: Array, mode: SystemMode | Mapping[str, Mode]) -> Transition:
        """The start in a given mode."""
        known = as_mode(self._world, t, x, mode)
        missing = [i for i in known.closed if not known.contacts[i].region and i in self._world.mechanism.holding]
        return Transition(x, known.changed({i: self._closed(i, x) for i in missing}) if missing else known)

    def _closed(self, i: int, x: Array) -> ContactState:
        """The state of a contact that closes, in the region in which it is where it is held there."""
        held = i in self._world.mechanism.holding
        return ContactState(Mode.CLOSED, region=self._world.mechanism.region(self._world.q(x), i) if held else ())

    def crossing(self, t: float, x: Array, mode: SystemMode, fired: frozenset[Hashable]) -> Transition:
        """The same as `transition`, which looks at nothing but what fired."""
        return self.transition(t, x, mode, fired)

    def separable(
        self, t: float, x: Array, mode: SystemMode, names: frozenset[Hashable]
    ) -> tuple[frozenset[Hashable], ...]:
        """Each guard alone, but for a force that vanishes together with the gap: every neighbouring run meets both."""
        groups: dict[Hashable, set[Hashable]] = {}
        for name in sorted(names, key=str):
            leaving = isinstance(name, tuple) and name[0] in ("clear", "release")
            groups.setdefault(name[1] if leaving else name, set()).add(name)  # type: ignore[index]
        return tuple(frozenset(group) for group in groups.values())

    def transition(self, t: float, x: Array, mode: SystemMode, fired: frozenset[Hashable]) -> Transition:
        """Modes after the guards in `fired`, each a pair (kind, contact); the memory of what touches starts at zero."""
        states = list(mode.contacts)
        # In this order, so that a contact whose force and gap vanish together is open.
        kinds = ("enable", "gap", SIDE, "release", "return", "clear")
        pairs = sorted(
            (name for name in fired if isinstance(name, tuple)), key=lambda name: kinds.index(_plain(name[0]))
        )
        for kind, i in pairs:
            states[i] = self._after(kind, i, t, x, states[i])
        names = self._world.mechanism.all_names
        changes: Mapping[str, tuple[Mode, Mode]] = {
            names[i]: (old.mode, new.mode)
            for i, (old, new) in enumerate(zip(mode.contacts, states, strict=True))
            if old.mode is not new.mode
        }
        fresh = tuple(i for kind, i in pairs if kind == "gap") if self._law.memory else ()
        after_all = replace(mode, contacts=tuple(states))
        if not fresh:
            identity = partial(np.eye, self._world.tangent_size)
            return Transition(x, after_all, changes, derivative=identity, still=True, unmoved=True)
        x = x.copy()
        for i in fresh:
            x[memory_of(self._world, i, len(x))] = 0.0
        return Transition(x, after_all, changes, derivative=partial(self._reset, fresh), still=True, unmoved=True)

    def _reset(self, fresh: tuple[int, ...]) -> Array:
        """D_x R: the identity without the memory of the contacts in `fresh`."""
        kept = np.ones(self._world.tangent_size)
        for i in fresh:
            kept[memory_of(self._world, i, len(kept))] = 0.0
        return np.diag(kept)

    def _after(self, kind: str, i: int, t: float, x: Array, state: ContactState) -> ContactState:
        """What a contact becomes where one of its guards fires."""
        if kind in ("gap", "return") or kind.startswith(SIDE):
            return self._closed(i, x)
        if kind != "enable":
            return ContactState(Mode.OPEN, Phase.RELEASED) if kind == "release" else ContactState()
        if state.enabled:
            return ContactState(enabled=False)
        inside = float(self._world.mechanism.gaps(t, self._world.q(x))[i]) < 0.0
        return ContactState(phase=Phase.BURIED if inside else Phase.NONE)
