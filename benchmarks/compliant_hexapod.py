"""How fast does the compliant hexapod run, against real time, and where does the time go?

The default gait is run with fixed steps of RK4, with RK45 at SimSect's own tolerance, and with what the model prefers;
the accuracy of each is its distance from a run at rtol 1e-8 after half a second. Processor time counts, in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from common import fastest, line
from contactsim_plugins.models.compliant_hexapod import CompliantHexapod
from contactsim_plugins.models.compliant_hexapod.state import PLACE

import contactsim as cs

TIME, HALF = 2.0, 0.5  # s of the run that is timed, and of that which is compared
CALLS = 200
MODEL = CompliantHexapod()
START = MODEL.initial_state()
RUNS = {
    "RK4, steps of 1.25 ms": ("RK4", cs.Tolerances(max_step=1.25e-3), 0.5),
    "RK45, rtol = atol = 1e-5": ("RK45", cs.Tolerances(rtol=1e-5, atol=1e-5), 1.0),
    "as the model prefers": (None, None, None),
}


def simulate(name: str, time: float) -> cs.Trajectory:
    """One of the runs."""
    integrator, tolerances, _ = RUNS[name]
    return cs.simulate(MODEL, START, (0.0, time), integrator=integrator, tolerances=tolerances)


def evaluations() -> list[Callable[[], None]]:
    """CALLS evaluations of the field, of the legs alone, and of the Jacobian, at slightly different states."""
    flow = MODEL.flow(MODEL.start(0.0, START).mode)
    rng = np.random.default_rng(0)
    points = [MODEL.space(None).integrate(START, 1e-3 * rng.normal(size=54)) for _ in range(CALLS)]

    def job(function: Callable[[float, np.ndarray], object]) -> Callable[[], None]:
        return lambda: [function(0.0, x) for x in points] and None

    return [job(flow.field), job(lambda t, x: flow.dynamics.evaluate(x, flow.setting)), job(flow.jacobian)]


def busy(name: str, rounds: int = 3) -> tuple[float, cs.Trajectory]:
    """Least processor time [s] of a run, and the run."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        traj = simulate(name, TIME)
        best = min(best, time.process_time() - start)
    return best, traj


def main() -> None:
    """Time everything and print the table."""
    field, legs, jacobian = (1e6 * t / CALLS for t in fastest(evaluations()))
    line("compliant hexapod, one field", f"of which the legs {legs:.0f} us", field, 100.0, " us")
    line("compliant hexapod, one Jacobian (54 x 54)", "complex steps, all at once", jacobian, None, " us")
    exact = cs.simulate(MODEL, START, (0.0, HALF), tolerances=cs.Tolerances(rtol=1e-8, atol=1e-10)).final_x[PLACE]
    for name, (_, _, target) in RUNS.items():
        seconds, traj = busy(name)
        error = np.abs(simulate(name, HALF).final_x[PLACE] - exact).max()
        share = traj.evaluations * field * 1e-6 / seconds
        measured = f"{traj.evaluations / TIME:.0f} fields/s, {100 * share:.0f} % of the time; {error:.0e} m at 0.5 s"
        line(f"compliant hexapod, {name}, time / simulated time", measured, seconds / TIME, target)


if __name__ == "__main__":
    main()
