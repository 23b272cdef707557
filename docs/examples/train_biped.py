"""Trains a policy for contactsim/Biped-v0 with numpy alone, in a few minutes, and draws its curve.

The compass gait walks down its slope without a motor, but falls when its start is far from its cycle. A policy of its
hip is found by random search: a crowd of policies around the best one known is tried from a few starts, the most
promising of them and the best one known from as many others again, and the winner is the best one known from then on.
Starts differ in each episode, so a good policy is one that catches the walker.

The walker is the same with its legs exchanged, and so is the policy: it sees angles and rates of the leg that stands
and of the one that swings, u = s tanh(w . [stand, stand', swing, swing', 1]), where s tells which is which.

    python train_biped.py [ITERATIONS] [CURVE.png]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

import contactsim.gym  # noqa: F401 - registers the environments

STEPS = 60  # of an episode
CROWD, STARTS = 12, 3  # policies of an iteration, and episodes by which each is tried
BEST, AGAIN = 3, 6  # policies that are tried again, and episodes
SPREAD = 0.5  # of the crowd
ANGLE, RATE = 0.3, 1.0  # rad, rad/s: of an ordinary step; what a policy sees is measured by them
NOISE = 0.25  # m/s, rad/s: of the velocity at the start
CHECKS = 8  # episodes from starts that are always the same, by which a policy is judged


def felt(observation: np.ndarray) -> tuple[np.ndarray, float]:
    """What a policy sees (5,), and the sign with which it turns the hip: angles of the left leg and of the hip in
    `observation` become those of the leg that stands and of the one that swings."""
    _, lean, hip, _, _, lean_rate, hip_rate, left, right = observation
    legs = [np.array([lean / ANGLE, lean_rate / RATE]), np.array([(lean + hip) / ANGLE, (lean_rate + hip_rate) / RATE])]
    on_right = bool(right and not left)
    return np.concatenate([legs[on_right], legs[not on_right], [1.0]]), -1.0 if on_right else 1.0


def episode(env: Any, policy: np.ndarray, seed: int) -> float:
    """Distance walked along the slope until it falls, or for STEPS steps [m]."""
    observation, _ = env.reset(seed=seed)
    total = 0.0
    for _ in range(STEPS):
        seen, sign = felt(observation)
        observation, reward, fallen, _, _ = env.step(np.array([sign * np.tanh(policy @ seen)]))
        total += reward * env.unwrapped.dt
        if fallen:
            break
    return total


def judged(env: Any, policy: np.ndarray) -> float:
    """Mean distance over the CHECKS, of which training sees none [m]."""
    return float(np.mean([episode(env, policy, 10_000 + k) for k in range(CHECKS)]))


def tried(env: Any, policies: Sequence[np.ndarray], seeds: Sequence[int]) -> np.ndarray:
    """Sums of the distances from the same starts, one for each policy [m]."""
    return np.array([sum(episode(env, policy, seed) for seed in seeds) for policy in policies])


def train(iterations: int, told: bool = True) -> tuple[np.ndarray, list[float]]:
    """The best policy known, and the mean distance over the CHECKS of the best one before and after each iteration."""
    env = gymnasium.make("contactsim/Biped-v0", noise=NOISE)
    rng = np.random.default_rng(0)
    policy = np.zeros(5)
    curve = [judged(env, policy)]
    for k in range(iterations):
        crowd = policy + SPREAD * rng.standard_normal((CROWD, 5))
        order = np.argsort(tried(env, crowd, rng.integers(10_000, size=STARTS).tolist()))
        final = [policy, *crowd[order[-BEST:]]]
        policy = final[np.argmax(tried(env, final, rng.integers(10_000, size=AGAIN).tolist()))]
        curve.append(judged(env, policy))
        if told:
            print(f"{k + 1:3d}: {curve[-1]:.3f} m", flush=True)
    env.close()
    return policy, curve


def draw(curve: list[float], path: str) -> None:
    """The curve of learning."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
    axes.plot(curve, color="#3b6fe0")
    axes.set(xlabel="iterations", ylabel=f"distance in {STEPS * 0.05:g} s, mean of {CHECKS} starts [m]")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    _, learned = train(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
    draw(learned, sys.argv[2] if len(sys.argv) > 2 else "curve.png")
