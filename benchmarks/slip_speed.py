"""How much faster than real time does the spring-loaded inverted pendulum run, events included?

A hundred strides of the manual's runner, with the default tolerances and with those of a SimSect initialization file
(1e-5); the target is a hundred times real time.
"""

from __future__ import annotations

from common import fastest, line

import contactsim as cs

STRIDES = 100
PERIOD = 0.531819460149587  # s, of a stride
ROUNDS = 5
ACCURACIES = {"1e-8 (default)": None, "1e-5": cs.Tolerances(rtol=1e-5, atol=1e-5)}


def main() -> None:
    """Run in turns, and print the time of computing for each second simulated."""
    slip = cs.load_model("slip")
    duration = STRIDES * PERIOD

    def job(tolerances: cs.Tolerances | None) -> cs.Trajectory:
        return cs.simulate(slip, slip.initial_state(), (0.0, duration), tolerances=tolerances)

    times = fastest([lambda tolerances=tolerances: job(tolerances) for tolerances in ACCURACIES.values()], ROUNDS)
    for (name, tolerances), time in zip(ACCURACIES.items(), times, strict=True):
        run = job(tolerances)
        energy = slip.auxiliary(run)["energy"]
        drift = (energy.max() - energy.min()) / energy[0]
        measured = f"{duration / time:.0f} times real time, {len(run.events)} events, energy to {drift:.1e}"
        line(f"slip, tolerances {name}, computing for a second", measured, time / duration, 0.01, " s")


if __name__ == "__main__":
    main()
