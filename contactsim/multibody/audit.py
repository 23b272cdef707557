"""A finished run against its own laws: residuals of gap, force, friction and energy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from ..contracts import RigidLaw
from ..hybrid import Array
from .modes import Mode, SystemMode

if TYPE_CHECKING:
    from ..trajectory import Arc, Trajectory
    from .system import ContactSystem

# Gauss-Legendre points of the work integral on a step.
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(6)

LIMITS = {
    "penetration [m]": 1e-9,
    "pulling force [relative]": 1e-8,
    "friction cone [relative]": 1e-8,
    "sliding friction [relative]": 1e-8,
    "slip of sticking contacts [m/s]": 1e-8,
    "impact law [relative]": 1e-8,
    "energy balance [relative]": 1e-6,
}


def audit(system: ContactSystem, trajectory: Trajectory) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Largest violation of each law at the ends and middles of all steps, and its limit.

    Forces are compared with the largest contact force of the run, impulses with the largest impulse, energies with the
    energy that was exchanged. The balance is E(t1) - E(t0) = work of controller, pushes and contacts - joint damping
    + the energy of the impacts, (1/2) Lam . (z(+) + z(-)) summed.
    """
    report = dict.fromkeys(LIMITS, 0.0)
    if not isinstance(system.law, RigidLaw):
        report = {"energy balance [relative]": 0.0}
    else:
        _contact_residuals(system, trajectory, report)
        _impact_residuals(trajectory, report)
    report["energy balance [relative]"] = _energy_residual(system, trajectory)
    return report, LIMITS


def _contact_residuals(system: ContactSystem, trajectory: Trajectory, report: dict[str, float]) -> None:
    largest = 1e-12
    worst = {"pull": 0.0, "cone": 0.0, "slide": 0.0}
    for arc in trajectory.arcs:
        flow, mode = system.flow(arc.mode), cast(SystemMode, arc.mode)
        for segment in arc.segments:
            for t in {segment.t0, 0.5 * (segment.t0 + segment.t1), segment.t1}:
                x = segment(t)
                flow.rebase(t, x)
                motion = flow.motion(t, x)  # type: ignore[attr-defined]
                largest = max(largest, float(np.abs(motion.forces).max(initial=0.0)))
                _gap_residual(system, mode, t, x, report)
                _force_residuals(system, mode, t, x, motion.forces, worst, report)
    report["pulling force [relative]"] = worst["pull"] / largest
    report["friction cone [relative]"] = worst["cone"] / largest
    report["sliding friction [relative]"] = worst["slide"] / largest


def _gap_residual(system: ContactSystem, mode: SystemMode, t: float, x: Array, report: dict[str, float]) -> None:
    gaps = system.mechanism.gaps(t, x[: system.nq])
    for i, state in enumerate(mode.contacts):
        if state.closed:
            report["penetration [m]"] = max(report["penetration [m]"], abs(float(gaps[i])))
        elif state.enabled:
            report["penetration [m]"] = max(report["penetration [m]"], -float(gaps[i]))


def _force_residuals(
    system: ContactSystem,
    mode: SystemMode,
    t: float,
    x: Array,
    forces: Array,
    worst: dict[str, float],
    report: dict[str, float],
) -> None:
    nq, nv = system.nq, system.nv
    rates = system.mechanism.terms(t, x[:nq], x[nq : nq + nv], mode.closed).rates
    start = 0
    for i in mode.closed:
        part = slice(start, start + system.mechanism.dims[i])
        start = part.stop
        normal, tangential = float(forces[part][0]), forces[part][1:]
        size = float(np.linalg.norm(tangential))
        worst["pull"] = max(worst["pull"], -normal)
        if not system.tangent_rows(i):
            continue
        if mode.contacts[i].mode is Mode.STICK:
            worst["cone"] = max(worst["cone"], size - float(system.static_friction[i]) * normal)
            key = "slip of sticking contacts [m/s]"
            report[key] = max(report[key], float(np.linalg.norm(rates[part][1:])))
        else:
            worst["cone"] = max(worst["cone"], abs(size - float(system.friction[i]) * normal))
            slip = rates[part][1:]
            if np.linalg.norm(slip) > 10.0 * system.tolerances.slip_speed:
                along = tangential + float(system.friction[i]) * normal * slip / np.linalg.norm(slip)
                worst["slide"] = max(worst["slide"], float(np.linalg.norm(along)))


def _impact_residuals(trajectory: Trajectory, report: dict[str, float]) -> None:
    impulses = [np.abs(value).max() for event in trajectory.events for value in event.impulses.values()]
    scale = max(impulses, default=1.0)
    impacts = [v for event in trajectory.events for law, v in event.residuals.items() if law.startswith("impact")]
    report["impact law [relative]"] = max(impacts, default=0.0) / scale


def _energy_residual(system: ContactSystem, trajectory: Trajectory) -> float:
    """Error of the energy balance, relative to the energy exchanged in the run."""
    mechanism, nq, nv = system.mechanism, system.nq, system.nv

    def energy(x: Array) -> float:
        return mechanism.energy(x[:nq], x[nq : nq + nv])

    start, end = energy(trajectory.arcs[0].segments[0].base), energy(trajectory.final_x)
    work = jumps = moved = 0.0
    for arc in trajectory.arcs:
        done, size = _work(system, arc)
        work, moved = work + done, moved + size
        if arc.event is not None:
            jump = energy(arc.event.x_post) - energy(arc.event.x_pre)
            jumps, moved = jumps + jump, moved + abs(jump)
    return abs(end - start - work - jumps) / max(moved, abs(end - start), abs(start), 1e-12)


def _work(system: ContactSystem, arc: Arc) -> tuple[float, float]:
    """Work of all forces but the conservative ones along an arc, and the integral of its absolute value."""
    flow = system.flow(arc.mode)
    done = size = 0.0
    for segment in arc.segments:
        half = 0.5 * (segment.t1 - segment.t0)
        if half == 0.0:
            continue
        for point, weight in zip(POINTS, WEIGHTS, strict=True):
            t = segment.t0 + half * (1.0 + point)
            power = _power(system, flow, cast(SystemMode, arc.mode), t, segment(t))
            done, size = done + weight * half * power, size + weight * half * abs(power)
    return done, size


def _power(system: ContactSystem, flow: object, mode: SystemMode, t: float, x: Array) -> float:
    """Power of controller, pushes, contacts and damping, for mechanisms without potential also of their force [W]."""
    nq, nv = system.nq, system.nv
    q, v = x[:nq], x[nq : nq + nv]
    power = system.mechanism.working_power(t, q, v)
    if (applied := system.applied_force(t, x)) is not None:
        power += float(applied @ v)
    terms = system.mechanism.terms(t, q, v, mode.closed)
    forces = _forces(flow, t, x, mode)
    # The rows give J v; the rates, relative to moving ground, would miss the power of the ground.
    return power + float(forces @ (terms.rows @ v))


def _forces(flow: object, t: float, x: Array, mode: SystemMode) -> Array:
    if hasattr(flow, "motion"):
        flow.rebase(t, x)  # type: ignore[attr-defined]
        return flow.motion(t, x).forces
    found, _ = flow.contact_forces(t, x)  # type: ignore[attr-defined]
    return np.concatenate([found[i] for i in mode.closed]) if mode.closed else np.zeros(0)
