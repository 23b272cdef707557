"""Trains a policy for contactsim/Biped-v0 with numpy alone, in a few minutes, and draws its curve.

The compass gait walks down its slope without a motor, but falls when its start is far from its cycle. A policy of its
hip is found by the cross-entropy method (Rubinstein and Kroese, 2004): of a crowd of policies around the present one
the best few are kept, and the next crowd is drawn with their mean and spread. Starts differ in each episode, so a good
policy is one that catches the walker.

The walker is the same with its legs exchanged, and so is the policy: it sees angles and rates of the leg that stands
and of the one that swings, u = s tanh(w . [stand, stand', swing, swing', 1]), where s tells which is which.

    python train_biped.py [ITERATIONS] [CURVE.png]
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
import numpy as np

import contactsim.gym  # noqa: F401 - registers the environments

STEPS = 60  # of an episode
CROWD, BEST, STARTS = 16, 4, 3  # policies of an iteration; those that are kept; episodes by which each is judged
SPREAD, LEAST = 1.0, 0.1  # of the first crowd, and of any
RATES = 0.3  # s, by which rates become as large as angles
NOISE = 0.25  # m/s, rad/s: of the velocity at the start
CHECKS = 8  # episodes from starts that are always the same, by which a policy is judged


def felt(observation: np.ndarray) -> tuple[np.ndarray, float]:
    """What a policy sees (5,), and the sign with which it turns the hip: angles of the left leg and of the hip in
    `observation` become those of the leg that stands and of the one that swings."""
    _, lean, hip, _, _, lean_rate, hip_rate, left, right = observation
    legs = [np.array([lean, RATES * lean_rate]), np.array([lean + hip, RATES * (lean_rate + hip_rate)])]
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


def train(iterations: int, told: bool = True) -> tuple[np.ndarray, list[float]]:
    """The policy in the middle of the last crowd, and the mean distance of those in the middle of each."""
    env = gymnasium.make("contactsim/Biped-v0", noise=NOISE)
    rng = np.random.default_rng(0)
    policy, spread = np.zeros(5), np.full(5, SPREAD)
    curve = [judged(env, policy)]
    for k in range(iterations):
        crowd = policy + spread * rng.standard_normal((CROWD, 5))
        seeds = rng.integers(10_000, size=STARTS).tolist()
        found = [sum(episode(env, one, seed) for seed in seeds) for one in crowd]
        best = crowd[np.argsort(found)[-BEST:]]
        policy, spread = best.mean(axis=0), np.maximum(best.std(axis=0), LEAST)
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
    _, learned = train(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    draw(learned, sys.argv[2] if len(sys.argv) > 2 else "curve.png")
