"""How many steps a second does an environment make, beside MuJoCo's ant in Gymnasium?

`contactsim/Hexapod-v0` and `Ant-v5` act by turns in one process, on the same random actions in [-1, 1], begun anew
where they fall. Counted is processor time. They are not the same task: the ant's 14 degrees of freedom are followed
with soft contacts in five steps of 10 ms, the hexapod's 24 with rigid contacts, each event located, over 40 ms.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
from common import line

import contactsim.gym  # noqa: F401 - registers the environments

ROUNDS, SEED = 5, 0
STEPS = {"contactsim/Hexapod-v0": 40, "contactsim/Biped-v0": 60, "Ant-v5": 1000}  # of a round


def spent(env: Any, count: int, rng: np.random.Generator) -> float:
    """Processor time of `count` steps [s]."""
    began = time.process_time()
    for _ in range(count):
        _, _, terminated, truncated, _ = env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))
        if terminated or truncated:
            env.reset()
    return time.process_time() - began


def main() -> None:
    """Print the table."""
    envs = {name: gymnasium.make(name) for name in STEPS}
    rng = np.random.default_rng(SEED)
    taken: dict[str, list[float]] = {name: [] for name in STEPS}
    for env in envs.values():
        env.reset(seed=SEED)
    for _ in range(ROUNDS + 1):
        for name, env in envs.items():
            taken[name].append(spent(env, STEPS[name], rng))
    rate = {name: STEPS[name] * ROUNDS / sum(times[1:]) for name, times in taken.items()}  # the first round warms up
    step = {name: getattr(env.unwrapped, "dt", np.nan) for name, env in envs.items()}
    for name in list(STEPS)[:-1]:
        told = f"{rate[name]:.3g} / {rate['Ant-v5']:.3g}; of {step[name]:g} and {step['Ant-v5']:g} s"
        line(f"steps a second of {name} / Ant-v5, random actions", told, rate[name] / rate["Ant-v5"])


if __name__ == "__main__":
    main()
