"""Is a Radau method of nine orders worth its lines beside SciPy's?

The hexapod is let down onto a compliant ground (the law spring-damper), 0.2 s under its posture: what it takes each
stiff method to come within an error of the state at the end, as a run with far tighter tolerances has it.
"""

from __future__ import annotations

import time

import numpy as np
from common import line

import contactsim as cs

END, METHODS = 0.2, ("Radau9", "Radau", "BDF", "LSODA")
ACCURACIES = (1e-6, 1e-7, 1e-8, 1e-9)
WANTED = 1e-7  # error of the state that is compared


def scene() -> tuple[cs.ContactSystem, cs.State]:
    """The hexapod a little above its ground."""
    robot = cs.load_robot("hexapod")
    q = robot.nominal.copy()
    q[2] += 0.005
    controller = cs.PD(robot, robot.nominal, kp=80.0, kd=1.5)
    return cs.ContactSystem(robot, law="spring-damper", controller=controller), cs.State(q, np.zeros(robot.nv))


def main() -> None:
    """Time of each method for the same error, against that of Radau9."""
    system, start = scene()
    exact = cs.simulate(system, start, (0.0, END), integrator="Radau9", tolerances=cs.Tolerances(1e-12, 1e-14)).final_x
    spent: dict[str, tuple[float, float]] = {}
    for name in METHODS:
        for rtol in ACCURACIES:
            tolerances, begin = cs.Tolerances(rtol, 1e-2 * rtol), time.process_time()
            final = cs.simulate(system, start, (0.0, END), integrator=name, tolerances=tolerances).final_x
            duration, error = time.process_time() - begin, float(np.abs(final - exact).max())
            if error <= WANTED:
                spent[name] = duration, error
                break
    own = spent["Radau9"][0]
    for name, (duration, error) in spent.items():
        measured = f"{duration:.2f} s to {error:.1e}"
        line(f"hexapod on compliant ground, {name} / Radau9", measured, duration / own)
    for name in set(METHODS) - set(spent):
        line(f"hexapod on compliant ground, {name}", f"does not come to {WANTED:g}", float("nan"))


if __name__ == "__main__":
    main()
