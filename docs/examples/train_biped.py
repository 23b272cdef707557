"""Trains a policy for contactsim/Biped-v0 with numpy alone, in a few minutes, and draws its curve.

The compass gait walks down its slope without a motor, but falls when its start is far from its cycle. A linear policy
of its hip, u = tanh(w . o + b), is improved by random search (after Mania et al., 2018): steps along random directions,
weighted by what they brought. Starts differ in each episode, so a good policy is one that catches the walker.

    python train_biped.py [ITERATIONS] [CURVE.png]
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
import numpy as np

import contactsim.gym  # noqa: F401 - registers the environments

STEPS, DIRECTIONS = 60, 6  # of an episode; tried in an iteration
SIZE, RATE = 0.1, 0.3  # of a trial, and of the first steps
NOISE = 0.25  # m/s, rad/s: of the velocity at the start
CHECKS = 8  # episodes from starts that are always the same, by which a policy is judged


def episode(env: Any, policy: np.ndarray, seed: int) -> float:
    """Distance walked along the slope until it falls, or for STEPS steps [m]."""
    observation, _ = env.reset(seed=seed)
    total = 0.0
    for _ in range(STEPS):
        action = np.tanh(policy[:-1] @ observation + policy[-1])
        observation, reward, fallen, _, _ = env.step(np.array([action]))
        total += reward * env.unwrapped.dt
        if fallen:
            break
    return total


def judged(env: Any, policy: np.ndarray) -> float:
    """Mean distance over the CHECKS [m]."""
    return float(np.mean([episode(env, policy, 10_000 + k) for k in range(CHECKS)]))


def step(env: Any, policy: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A step of unit size along what random directions brought, each tried both ways from the same starts."""
    total = np.zeros(len(policy))
    for _ in range(DIRECTIONS):
        direction, seeds = rng.standard_normal(len(policy)), rng.integers(10_000, size=2).tolist()
        ahead, back = (sum(episode(env, policy + sign * SIZE * direction, k) for k in seeds) for sign in (1.0, -1.0))
        total += (ahead - back) * direction
    return total / max(float(np.linalg.norm(total)), 1e-9)


def train(iterations: int, told: bool = True) -> tuple[np.ndarray, list[float]]:
    """The policy, and its mean distance before and after each iteration; a step that does not help is not taken."""
    env = gymnasium.make("contactsim/Biped-v0", noise=NOISE)
    rng, rate = np.random.default_rng(0), RATE
    policy = np.zeros(env.observation_space.shape[0] + 1)
    curve = [judged(env, policy)]
    for k in range(iterations):
        moved = policy + rate * step(env, policy, rng)
        found = judged(env, moved)
        better = found > curve[-1]
        policy, rate = (moved, rate) if better else (policy, 0.8 * rate)
        curve.append(max(found, curve[-1]))
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
    _, learned = train(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    draw(learned, sys.argv[2] if len(sys.argv) > 2 else "curve.png")
