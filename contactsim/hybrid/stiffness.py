"""Stiffness of a finished run: explicit steps at the edge of their stability, which made it slow."""

from __future__ import annotations

import numpy as np

from .trajectory import Arc, Trajectory

EXPLICIT = ("DOP853", "RK45", "RK23")
MANY = 500  # steps of an arc from which on a look is worth its while
LOOKS = 12  # states of it at which the derivative is taken
EDGE = 2.0  # step times decay rate: less where accuracy sets the step; these methods are stable up to 3 to 6
ADVICE = "Radau9"


def stiffness_note(trajectory: Trajectory) -> str:
    """A sentence for a run whose steps were held short by stability, not by accuracy; empty for any other.

        h max Re(-lambda(D_x f)) > 2   at most of the states looked at

    Source: Hairer and Wanner, Solving Ordinary Differential Equations II, IV.2, on the detection of stiffness.
    """
    name = trajectory.settings.integrator if trajectory.settings else ""
    if name not in EXPLICIT:
        return ""
    longest = max(trajectory.arcs, key=lambda arc: len(arc.segments))
    if len(longest.segments) < MANY:
        return ""
    rate, share = _decay(longest)
    if share <= EDGE:
        return ""
    return (
        f"the motion is stiff: a decay rate of {rate:.2g} 1/s held {name} to"
        f" {len(longest.segments)} steps in the {longest.t1 - longest.t0:.3g} s from t = {longest.t0:.4g} s on;"
        f" integrator='{ADVICE}' (run.integrator) takes fewer"
    )


def _decay(arc: Arc) -> tuple[float, float]:
    """Medians of the fastest decay rate [1/s], and of that rate times the step, over some steps of an arc."""
    flow = arc.system.flow(arc.mode)
    rates, shares = [], []
    for k in np.linspace(0, len(arc.segments) - 1, LOOKS).astype(int):
        segment = arc.segments[k]
        flow = flow.rebased(segment.t0, segment.base)
        x = segment(segment.t1)
        jacobian = flow.jacobian(segment.t1, x)
        if jacobian is None:
            return 0.0, 0.0
        rates.append(float(-np.linalg.eigvals(jacobian).real.min()))
        shares.append(rates[-1] * (segment.t1 - segment.t0))
    return float(np.median(rates)), float(np.median(shares))
