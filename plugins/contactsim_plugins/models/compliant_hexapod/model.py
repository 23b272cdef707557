"""The compliant hexapod as a hybrid system: charts, boundaries, transitions, validation, auxiliary functions.

Source: SimSect manual, 5.3 to 5.5.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from contactsim import Boundary, Finding, Flow, InputError, Model, Tolerances, Transition
from contactsim.common.arrays import Array
from contactsim.common.lazy import NamedTuple
from contactsim.common.schemas import validated
from contactsim.hybrid.differences import STEP

from .controller import HALF_CYCLE, PHASES, TRIPODS, Command
from .dynamics import Dynamics, Evaluation, Setting
from .geometry import from_spherical, toes
from .ledger import energy, energy_ledger
from .motor import armature_current, armature_voltage
from .parameters import LEGS, HexapodParameters
from .state import (
    BEHIND,
    DIM,
    FEET,
    FEET_RATE,
    NAMES,
    PLACE,
    REFERENCE,
    ROTATION,
    SPEED,
    TINY,
    BodyAndToes,
    HexapodState,
    imaginary_steps,
    shifted,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from contactsim import Trajectory
    from contactsim.common.drawing import Drawing

LONGEST_STEP = 5e-3  # across it the guards are known by a few samples [s]; a toe swings through 0.07 rad in it
ON_GROUND = 1e-9  # a toe that starts within this height of the ground may stand [m]; deeper is an error
HEIGHT_ROUNDING, FORCE_ROUNDING = 1e-15, 1e-11  # of the guards [m, N]
PULL = 1e-8  # a leg in stance that pulls the ground by more is in the wrong chart [N]
# Relative, m, N. Adaptive steps explain the energy to 1e-4 and better; between fixed steps of 1.25 ms, which is two
# time constants of a flying toe, the dense output shows the powers to a per cent only.
AUDIT_LIMITS = (3e-2, 1e-6, 1e-6)
WORDS = {True: "stance", False: "flight"}  # of a leg
KINDS = {True: "saturated", False: "linear"}  # of its spring
TURN = 2.0 * np.pi


class LegChart(NamedTuple):
    """A chart: which legs stand, in which phase of its profile each is, and which springs are saturated.

    Attributes:
        stance: whether each leg stands (6,).
        phases: phase 0 to 3 of each leg (6,).
        held: for each leg the command it keeps until its next half-cycle boundary; None: that of the parameters.
        saturated: whether the spring of each leg is beyond the jump of the printed saturation (6,); none otherwise.
    """

    stance: tuple[bool, ...]
    phases: tuple[int, ...]
    held: tuple[Command | None, ...] = (None,) * LEGS
    saturated: tuple[bool, ...] = (False,) * LEGS

    def __str__(self) -> str:
        text = f"stance: {_listed(self.stance) or 'none'}; phases: {' '.join(map(str, self.phases))}"
        return f"{text}; saturated: {_listed(self.saturated)}" if any(self.saturated) else text

    @classmethod
    def of(cls, mode: Any) -> LegChart:
        """A chart from itself, or from the plain tuples as which a stored run comes back."""
        if isinstance(mode, cls):
            return mode
        stance, phases, held, *saturated = mode
        commands = tuple(command and Command(*command) for command in held)
        return cls(tuple(stance), tuple(phases), commands, *map(tuple, saturated))

    @property
    def number(self) -> int:
        """The chart as the manual counts it: bits 5-0 for the stance flags, two bits for each phase above them."""
        flags = sum(int(stands) << i for i, stands in enumerate(self.stance))
        return flags | sum(phase << (LEGS + 2 * i) for i, phase in enumerate(self.phases))


class Profiles(NamedTuple):
    """Command of the controller in a chart, each (6,): rates of the references, ends of phases, senses, offsets."""

    speeds: Array
    ends: Array
    signs: Array
    offsets: Array

    @classmethod
    def of(cls, command: Command, chart: LegChart) -> Profiles:
        """The profiles in a chart: those of `command`, or of what single legs still hold."""
        phases = chart.phases
        out = cls(command.speeds(phases), command.ends(phases), command.signs.copy(), command.offsets)
        for i, held in enumerate(chart.held):
            if held is not None:
                other = (held.speeds(phases), held.ends(phases), held.signs, held.offsets)
                for mine, its in zip(out, other, strict=True):
                    mine[i] = its[i]
        return out


class HexapodFlow(Flow):
    """Field and guards of a chart: lift-off or touch-down of each leg, and the ends of the phases.

    Names of the guards: ("liftoff", i), ("touchdown", i) and ("phase", i); where the force of the springs jumps at
    rho_l, as printed, also ("saturation", i).

    Source: SimSect manual, 5.3.3 and 5.4.4 (boundaries), 5.5.3 (phases), 5.4.5 (validation).
    """

    bounded_steps = True

    def __init__(self, model: CompliantHexapod, chart: LegChart) -> None:
        self.dynamics, self.chart = model.dynamics, chart
        self.profiles = Profiles.of(model.command, chart)
        self._jumps = self.dynamics.springs.jumps
        saturated = np.array(chart.saturated) if self._jumps else None
        self.setting = Setting.of(chart.stance, self.profiles.speeds, saturated)
        self._stance = self.setting.stance
        contacts = [("liftoff" if stands else "touchdown", i) for i, stands in enumerate(chart.stance)]
        others = [(kind, i) for kind in ("phase", "saturation")[: 1 + self._jumps] for i in range(LEGS)]
        self.guard_names = (*contacts, *others)
        self.guard_smooth = np.concatenate([~self._stance, np.ones(len(others), dtype=bool)])
        heights = np.where(self._stance, FORCE_ROUNDING, HEIGHT_ROUNDING)
        self.guard_rounding = np.concatenate([heights, np.full(len(others), HEIGHT_ROUNDING)])
        self._kept: list[tuple[bytes, Evaluation]] = []

    def evaluate(self, x: Array, keep: int = 1) -> Evaluation:
        """The legs at a state; the last one of a field is kept, and the last one of anything else."""
        key = x.tobytes()
        for known, found in self._kept:
            if known == key:
                return found
        found = self.dynamics.evaluate(x, self.setting)
        self._kept[keep:] = [(key, found)]
        return found

    def field(self, t: float, x: Array) -> Array:
        """Rate of the state (54,)."""
        return self.dynamics.rate(x, self.setting, self.evaluate(x, keep=0))

    def guards(self, t: float, x: Array) -> Array:
        """Normal force of a standing leg [N], height of a flying toe [m], way to the end of each phase [rad].

        Where the springs jump, also the way of each leg's length to rho_l [m].
        """
        out = np.empty(len(self.guard_names))
        out[:LEGS] = np.where(self._stance, self.evaluate(x).normal, self.dynamics.clearance(x))
        p = self.profiles
        way = p.ends + p.offsets - p.signs * x[REFERENCE]
        if not self.dynamics.control.wrapped:  # the reference has grown by whole turns; a phase is shorter than half
            way -= TURN * np.ceil(way / TURN - 0.5)
        out[LEGS : 2 * LEGS] = way
        if self._jumps:
            beyond = self.evaluate(x).legs.rho - self.dynamics.springs.rho_l
            out[2 * LEGS :] = np.where(self.chart.saturated, beyond, -beyond)
        return out

    def longest_step(self, t: float, x: Array) -> float:
        """LONGEST_STEP."""
        return LONGEST_STEP

    def jacobian(self, t: float, x: Array) -> Array:
        """D_x f (54, 54), all directions at once: by complex steps, in slip by differences of fourth order."""
        if not self.dynamics.slips:
            points = imaginary_steps(x)
            rates = self.dynamics.rate(points, self.setting, self.dynamics.evaluate(points, self.setting))
            return rates.imag.T / TINY
        points = shifted(x, np.vstack([factor * STEP * np.eye(DIM) for factor in (1.0, -1.0, 2.0, -2.0)]))
        rates = self.dynamics.rate(points, self.setting, self.dynamics.evaluate(points, self.setting))
        near, back, far, far_back = rates.reshape(4, DIM, DIM)
        return ((8.0 * (near - back) - (far - far_back)) / (12.0 * STEP)).T

    def guard_jacobian(self, t: float, x: Array, names: Sequence[Hashable]) -> Array | None:
        """D_x g (len(names), 54) by complex steps on flat ground without slip; else None, to be differenced."""
        if self.dynamics.slips or not self.dynamics.flat:
            return None
        found = self.dynamics.evaluate(imaginary_steps(x), self.setting)
        rows = {("liftoff", i): found.normal[:, i].imag / TINY for i in range(LEGS)}
        rows |= {("touchdown", i): np.eye(DIM)[FEET.start - BEHIND + 3 * i + 2] for i in range(LEGS)}
        senses = self.profiles.signs
        rows |= {("phase", i): -senses[i] * np.eye(DIM)[REFERENCE.start - BEHIND + i] for i in range(LEGS)}
        sides = np.where(self.chart.saturated, 1.0, -1.0)
        rows |= {("saturation", i): sides[i] * found.legs.rho[:, i].imag / TINY for i in range(LEGS)}
        return np.array([rows[name] for name in names])  # type: ignore[index]

    def validate(self, t: float, x: Array) -> Sequence[Finding]:
        """The four cases of the manual, 5.4.5, with the sign of the force as in 5.1.2."""
        findings = []
        body = x[PLACE]
        if body[2] < self.dynamics.ground.height(body):
            findings.append(
                Finding("the body toppled over and is under the ground; change the gait or the start", True)
            )
        found, clearance = self.evaluate(x), self.dynamics.clearance(x)
        long, pulling, low = found.legs.rho > self.dynamics.springs.rho_0, found.normal < -PULL, clearance < -ON_GROUND
        if (self._stance & (long | pulling) | ~self._stance & low).any():
            for i, stands in enumerate(self._stance):
                if stands and long[i]:
                    findings.append(Finding(f"leg {i} stands with more than its rest length"))
                if stands and pulling[i]:
                    findings.append(Finding(f"leg {i} stands and pulls the ground; lift it off first", True))
                if not stands and low[i]:
                    findings.append(Finding(f"toe {i} flies under the ground; start it above", True))
        return findings


class CompliantHexapod(Model):
    """A rigid body on six springy legs with toe masses, driven at the hips by an open-loop controller.

    Charts are `LegChart`s: 64 combinations of standing legs, times the phases of the controller. A parameter of the
    controller that is set in a run takes effect leg by leg at the next half-cycle boundary.

    Source: SimSect manual, section 5; what is misprinted or missing there is noted where it stands.
    """

    Parameters: ClassVar[type[HexapodParameters]] = HexapodParameters
    State: ClassVar[Any] = HexapodState
    preferred_integrator = "DOP853"
    preferred_tolerances = Tolerances(rtol=1e-6, atol=1e-6)
    parameters: HexapodParameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.dynamics = Dynamics(self.parameters)
        self.command = Command.of(self.parameters)
        self._space = BodyAndToes()
        self._before: Command | None = None

    def space(self, mode: Hashable) -> BodyAndToes:
        """Orientation and plain numbers."""
        return self._space

    def flow(self, mode: Hashable) -> HexapodFlow:
        """Field and guards of a chart."""
        return HexapodFlow(self, LegChart.of(mode))

    def field(self, t: float, x: Array, chart: Hashable) -> Array:
        """Rate of the state (54,) in a chart."""
        return self.flow(chart).field(t, x)

    def boundaries(self, chart: Hashable) -> Sequence[Boundary]:
        """The guards of a chart, one by one."""
        flow = self.flow(chart)
        return [Boundary(name, partial(_guard, flow, k)) for k, name in enumerate(flow.guard_names)]

    def guard_label(self, name: Hashable) -> str:
        """A leg for its lift-off and touch-down, a reference for the end of its phase, a spring for its jump."""
        kind, i = name if isinstance(name, tuple) else (name, "")
        return {"phase": f"reference{i}", "saturation": f"spring{i}"}.get(kind, f"leg{i}")

    def validate(self, t: float, x: Array, chart: Hashable) -> Sequence[Finding]:
        """The four cases of the manual, 5.4.5."""
        return self.flow(chart).validate(t, x)

    # --- transitions ------------------------------------------------------------------------------------------

    def reset(self, t: float, x: Array, chart: Hashable, fired: frozenset[Hashable]) -> Transition:
        """Lift-offs, touch-downs with their force check, ends of phases, jumps of springs: all of one instant together.

        The toe of a leg that touches down loses its velocity; where the leg would then pull the ground,
        <n, R F_i> < 0, it stays in flight.

        Source: SimSect manual, 5.3.3 and 5.5.3.
        """
        chart = LegChart.of(chart)
        legs: dict[str, set[int]] = {"liftoff": set(), "touchdown": set(), "phase": set(), "saturation": set()}
        names: Any = fired
        for kind, leg in names:
            legs[kind].add(leg)
        new, after = self._next_phases(x, chart, legs["phase"])
        after = after._replace(saturated=tuple(s != (i in legs["saturation"]) for i, s in enumerate(chart.saturated)))
        rates = new[FEET_RATE].reshape(LEGS, 3)
        if legs["liftoff"] and self.dynamics.slips:
            slips = self.flow(chart).evaluate(x).toe_rate
            rates[list(legs["liftoff"])] = slips[list(legs["liftoff"])]
        rates[list(legs["touchdown"])] = 0.0
        stance = [
            (stands or i in legs["touchdown"]) and i not in legs["liftoff"] for i, stands in enumerate(chart.stance)
        ]
        normal = self.flow(after._replace(stance=tuple(stance))).evaluate(new).normal
        refused = [i for i in legs["touchdown"] if normal[i] < 0.0]
        for i in refused:
            stance[i] = False
        after = after._replace(stance=tuple(stance))
        changes: dict[str, tuple[Any, Any]] = {
            f"leg{i}": (WORDS[chart.stance[i]], WORDS[stance[i]]) for i in sorted(legs["liftoff"] | legs["touchdown"])
        }
        changes |= {
            f"spring{i}": (KINDS[chart.saturated[i]], KINDS[after.saturated[i]]) for i in sorted(legs["saturation"])
        }
        if after.held != chart.held:
            changes["controller"] = (next(filter(None, chart.held)), self.command)
        notes = tuple(f"touch-down of leg {i} refused: it would pull the ground" for i in refused)
        zeroed = None if legs["liftoff"] and self.dynamics.slips else partial(_stopping, legs["touchdown"])
        return Transition(new, after, changes, notes=notes, derivative=zeroed, still=True)

    def _next_phases(self, x: Array, chart: LegChart, legs: set[int]) -> tuple[Array, LegChart]:
        """State and chart with the next phase of some legs; at half-cycle boundaries the command may change."""
        new, phases, held = x.copy(), list(chart.phases), list(chart.held)
        for i in legs:
            old = held[i] or self.command
            if phases[i] in HALF_CYCLE:
                held[i] = None
            if phases[i] == 1 and self.dynamics.control.wrapped:  # half a turn: go on from -pi
                new[REFERENCE][i] -= old.signs[i] * TURN
            if held[i] is None and old != self.command:
                profile = old.signs[i] * new[REFERENCE][i] - old.offsets[i]
                new[REFERENCE][i] = self.command.signs[i] * (profile + self.command.offsets[i])
            phases[i] = (phases[i] + 1) % PHASES
        return new, chart._replace(phases=tuple(phases), held=tuple(held))

    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> Transition:
        """Transition by `reset`; where a parameter of the controller was set, the legs hold the old command for now."""
        if fired:
            return super().transition(t, x, mode, fired)
        mode = LegChart.of(mode)
        before = self._before if self._before != self.command else None
        held = tuple(old or before for old in mode.held)
        chart = mode._replace(held=held, saturated=self._saturated(x, mode))
        return Transition(x, chart, {"parameters": ("before", "after")})

    def with_parameter(self, name: str, value: Any) -> CompliantHexapod:
        """A copy with one parameter changed; in a run, legs keep the former command to their half-cycle boundary."""
        self._demand(name)
        return _changed(self, name, value)

    # --- the start --------------------------------------------------------------------------------------------

    def initial_state(self, **values: Any) -> Array:
        """State at a start (60,); what is not given stands in the alternating tripod posture.

        The references of legs 0, 2, 4 are at the middle of their slow phase, those of 1, 3, 5 half a turn away. The
        toes are where the legs point to at rest; those that would be in the ground stand on it. The body is level,
        at the height at which the springs of the standing legs carry its weight.

        Raises:
            InputError: there is no such state, its value is not a number, or the body has no height to stand at.

        Source: SimSect manual, 5.4.3.
        """
        given = validated(HexapodState, values, f"state of {type(self).__name__}").model_dump()
        x = np.zeros(len(NAMES))
        x[ROTATION] = np.eye(3).ravel()
        profiles = np.zeros(LEGS)
        profiles[list(TRIPODS[1])] = -np.pi
        x[REFERENCE] = self.command.references(profiles)
        _fill(x, given)
        if given["z"] is None:
            x[PLACE][2] = self._standing_height(x)
        x[FEET] = self._posture(x)[0].ravel()
        _fill(x, given)
        return x

    def _posture(self, x: Array) -> tuple[Array, Array]:
        """Toes (6, 3) of the legs at rest at their reference angles, put on the ground if in it; which of them are."""
        springs = self.dynamics.springs
        v = from_spherical(springs.theta_0, x[REFERENCE], springs.rho_0)
        feet = toes(x[ROTATION].reshape(3, 3), x[PLACE], v, self.dynamics.attach)
        height = self.dynamics.ground.height(feet)
        stands = feet[:, 2] <= height
        feet[stands, 2] = height[stands]
        return feet, stands

    def _standing_height(self, x: Array) -> float:
        """Height of the body [m] at which the springs of the standing legs carry its weight."""
        low = float(self.dynamics.ground.height(x[PLACE])) + 0.05 * float(self.dynamics.springs.rho_0.max())
        high = low + 2.0 * float(self.dynamics.springs.rho_0.max())
        still = np.concatenate([x[: SPEED.start], np.zeros(len(x) - SPEED.start)])

        at_rest = Setting.of([False] * LEGS, np.zeros(LEGS))

        def lift(z: float) -> float:
            still[PLACE][2], still[REFERENCE] = z, x[REFERENCE]
            feet, stands = self._posture(still)
            still[FEET] = feet.ravel()
            found = self.dynamics.evaluate(still, at_rest)
            return float(found.force[stands, 2].sum()) - self.parameters.body_mass * self.parameters.g

        if lift(low) <= 0.0 or lift(high) >= 0.0:
            raise InputError(
                "the springs of the standing legs carry the body at no height; give z, or stiffen the legs (rho0_k ...)"
            )
        return float(brentq(lift, low, high, xtol=1e-16, rtol=1e-15))

    def start(self, t: float, x: Array) -> Transition:
        """The chart of a state: toes on the ground stand, unless their leg would pull; phases follow the references.

        Raises:
            InputError: a toe is in the ground, or the orientation is no rotation.

        Source: SimSect manual, 5.4.3.
        """
        R = x[ROTATION].reshape(3, 3)
        if np.abs(R @ R.T - np.eye(3)).max() > ON_GROUND or np.linalg.det(R) < 0.0:
            raise InputError("the orientation R_11 ... R_33 of the hexapod is no rotation matrix; give one")
        clearance = self.dynamics.clearance(x)
        if clearance.min() < -ON_GROUND:
            i = int(clearance.argmin())
            raise InputError(f"toe {i} starts {-clearance[i]:.3g} m in the ground; raise foot{i}_z or leave it out")
        profiles = self.command.profiles(x[REFERENCE])
        new = x.copy()
        if self.dynamics.control.wrapped:
            new[REFERENCE] = self.command.references(profiles)
        chart = LegChart(tuple(bool(c <= ON_GROUND) for c in clearance), self.command.phases(profiles))
        chart = chart._replace(saturated=self._saturated(new, chart))
        normal = self.flow(chart).evaluate(new).normal
        stance = np.array(chart.stance) & (normal >= 0.0)
        new[FEET_RATE].reshape(LEGS, 3)[stance] = 0.0
        return Transition(new, chart._replace(stance=tuple(stance.tolist())))

    def _saturated(self, x: Array, chart: LegChart) -> tuple[bool, ...]:
        """Mask of the springs beyond the jump of the printed saturation; none where it does not jump."""
        springs = self.dynamics.springs
        if not springs.jumps:
            return (False,) * LEGS
        return tuple((self.flow(chart).evaluate(x).legs.rho >= springs.rho_l).tolist())

    # --- what is recorded -------------------------------------------------------------------------------------

    def record(self, t: float, x: Array, chart: Hashable) -> Mapping[str, float]:
        """Auxiliary functions: the state, and for each leg its coordinates, torques, forces, current and voltage."""
        chart = LegChart.of(chart)
        found = self.flow(chart).evaluate(x)
        legs, p = found.legs, self.parameters
        tangential = np.sqrt(np.maximum(np.sum(found.force**2, axis=-1) - found.normal**2, 0.0))
        current = armature_current(found.hip, p)
        columns = {
            "stance": np.array(chart.stance, dtype=float),
            "theta": legs.theta,
            "phi": legs.phi,
            "rho": legs.rho,
            "torque": found.hip,
            "radial": found.radial,
            "normal": found.normal,
            "tangential": tangential,
            "current": current,
            "voltage": armature_voltage(found.hip, legs.phi_rate, p),
        }
        out = {"time": t} | dict(zip(NAMES, x.tolist(), strict=True))
        out |= {f"{name}{i}": float(values[i]) for name, values in columns.items() for i in range(LEGS)}
        return out | {"total_current": float(np.abs(current).sum()), "chart": float(chart.number)}

    def energy(self, x: Array, chart: Hashable) -> float:
        """Kinetic energy, that of height, and that of the springs of the standing legs [J]."""
        return energy(self.dynamics, x, self.flow(LegChart.of(chart)).setting)

    def drawing(self, t: float, x: Array, chart: Hashable) -> Drawing:
        """Drawing of the robot at a state."""
        from .drawing import draw

        chart, p = LegChart.of(chart), self.parameters
        force = self.flow(chart).evaluate(x).force
        weight = p.body_mass * max(p.g, 1.0)
        return draw(x, chart.stance, self.dynamics.attach, self.dynamics.ground, force, weight)

    def figures(self, trajectory: Trajectory) -> Mapping[str, Figure]:
        """Gait diagram with duty factors, hip torques with their limits, armature currents."""
        from .plots import plots

        return plots(trajectory)

    def audit(self, trajectory: Trajectory) -> tuple[dict[str, float], dict[str, float]]:
        """Residuals of a run, and their limits: energy unexplained, toes in the ground, standing legs that pull."""
        ledger = energy_ledger(trajectory)
        depth, pull = 0.0, 0.0
        for arc in trajectory.arcs:
            stands, model = np.array(LegChart.of(arc.mode).stance), arc.system
            points = np.array([x for _, x in arc.sample(None, arc.t0)])
            found = model.dynamics.evaluate(points, model.flow(arc.mode).setting)  # type: ignore[attr-defined]
            depth = max(depth, -float(model.dynamics.clearance(points).min()))  # type: ignore[attr-defined]
            if arc.t1 > arc.t0:  # where guards have jumped, legs may pull until the event that is next, at once
                pull = max(pull, -float(found.normal[:, stands].min(initial=0.0)))
        report = {
            "energy ledger [relative]": abs(ledger.residual) / max(ledger.turnover, 1e-300),
            "toe in the ground [m]": depth,
            "pull of a standing leg [N]": pull,
        }
        return report, dict(zip(report, AUDIT_LIMITS, strict=True))


def _guard(flow: HexapodFlow, k: int, t: float, x: Array) -> float:
    return float(flow.guards(t, x)[k])


def _listed(flags: Sequence[bool]) -> str:
    return ", ".join(str(leg) for leg, flag in enumerate(flags) if flag)


def _stopping(legs: set[int]) -> Array:
    """D_x R (54, 54) of a reset that takes the velocity of some toes."""
    out = np.eye(DIM)
    for i in legs:
        first = FEET_RATE.start - BEHIND + 3 * i
        out[first : first + 3] = 0.0
    return out


def _fill(x: Array, given: Mapping[str, float | None]) -> None:
    for k, value in enumerate(given.values()):
        if value is not None:
            x[k] = value


@lru_cache(maxsize=64)
def _changed(model: CompliantHexapod, name: str, value: Any) -> CompliantHexapod:
    copy = type(model)(**(model.parameters.model_dump() | {name: value}))
    copy._before = model.command
    return copy
