"""Environments: they pass Gymnasium's own check, begin again to the bit, end where the robot falls, and can be seen."""

from __future__ import annotations

import shutil
import sys
import urllib.request
import warnings
from pathlib import Path

import numpy as np
import pytest

import contactsim as cs

gymnasium = pytest.importorskip("gymnasium", reason="pip install -e '.[gym]'")

import contactsim.gym  # noqa: E402
from contactsim.gym import ContactEnv  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"


@pytest.mark.parametrize("name", contactsim.gym.ENVIRONMENTS)
def test_environments_pass_the_check_of_gymnasium(name: str) -> None:
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(f"contactsim/{name}").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(infinity|too low|too high).*")  # of a box without bounds
        check_env(env, skip_render_check=True)


def played(env: gymnasium.Env, seed: int, steps: int) -> np.ndarray:
    env.action_space.seed(seed)
    rows = [env.reset(seed=seed)[0]]
    rows += [env.step(env.action_space.sample())[0] for _ in range(steps)]
    return np.array(rows)


def test_episodes_with_one_seed_are_the_same_to_the_bit() -> None:
    env, other = gymnasium.make("contactsim/Biped-v0"), gymnasium.make("contactsim/Biped-v0")
    first = played(env, 3, 6)
    assert np.array_equal(played(env, 3, 6), first) and np.array_equal(played(other, 3, 6), first)
    assert not np.array_equal(played(env, 4, 6), first)


def test_an_episode_is_the_run_and_its_reward_the_way() -> None:
    env = gymnasium.make("contactsim/Biped-v0").unwrapped
    _, told = env.reset(seed=0, options={"state": cs.load_scene("biped").state})
    assert told["time"] == 0.0
    rewards = [env.step(np.zeros(1))[1] for _ in range(10)]
    run = env.simulation.trajectory
    assert sum(rewards) * env.dt == pytest.approx(run.q[-1, 0] - run.q[0, 0])
    whole = cs.load_scene("biped").simulate(0.5)
    assert np.abs(run.final.q - whole.final.q).max() < 1e-4  # under the looser tolerances of an environment
    run.check(raise_errors=False)


def test_what_falls_ends_its_episode() -> None:
    env = ContactEnv("biped", dt=0.05, scale=5.0)
    env.reset(
        seed=0, options={"state": cs.State([0.0, 0.99, 0.1, -0.2], [0.0, 0.0, 0.5, 0.0]), "contact.friction": 1.5}
    )
    assert env.system.parameter("contact.friction") == 1.5
    for _ in range(60):
        observation, _, terminated, truncated, told = env.step(np.ones(1))
        if terminated:
            break
    assert terminated and not truncated
    assert observation.shape == env.observation_space.shape and "status" in told
    env.reset(seed=0)
    assert not env.step(np.zeros(1))[2]


def test_a_scene_of_ones_own_with_a_reward_of_ones_own() -> None:
    def low(env: ContactEnv, before: cs.State, after: cs.State, action: np.ndarray) -> float:
        return -float(after.q[1])

    env = ContactEnv(
        "biped", dt=0.02, scale=[2.0], reward=low, terminated=lambda env: env.simulation.t > 0.05, noise=0.0
    )
    env.reset(seed=1)
    _, reward, ended, _, _ = env.step(np.array([0.5]))
    assert reward == -env.simulation.state.q[1] and not ended
    assert env.system.world.inputs == [1.0]
    env.step(np.array([7.0]))  # cut off at 1
    assert env.system.world.inputs == [2.0]
    assert env.step(np.array([0.0]))[2]
    with pytest.raises(cs.InputError, match="the action, of hip_joint, is"):
        env.step(np.zeros(2))
    with pytest.raises(cs.InputError, match="has no joints that are driven"):
        ContactEnv("slip")
    with pytest.raises(cs.InputError, match="render_mode is 'ansi'"):
        ContactEnv("biped", scale=1.0, render_mode="ansi")
    with pytest.raises(cs.InputError, match="scale is -1"):
        ContactEnv("biped", scale=-1.0)


@pytest.mark.slow
def test_environments_in_processes() -> None:
    envs = gymnasium.make_vec("contactsim/Biped-v0", num_envs=2, vectorization_mode="async")
    one = gymnasium.make("contactsim/Biped-v0")
    try:
        found, _ = envs.reset(seed=[5, 6])
        assert np.array_equal(found[1], one.reset(seed=6)[0])
        found, *_ = envs.step(np.zeros((2, 1)))
        assert np.array_equal(found[1], one.step(np.zeros(1))[0])
    finally:
        envs.close()


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium")
def test_a_picture_of_the_present_state() -> None:
    env = gymnasium.make("contactsim/Biped-v0", render_mode="rgb_array", width=160, height=120)
    env.reset(seed=0)
    env.step(np.zeros(1))
    picture = env.render()
    assert picture.shape == (120, 160, 3) and picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20  # something is drawn


def test_the_live_page_follows_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    env = ContactEnv("biped", scale=1.0, render_mode="human")
    env.reset(seed=0)
    page = env._page
    assert page is not None and opened == [page.address]
    before = page.painted
    for _ in range(3):
        env.step(np.zeros(1))
    assert page.painted == before + 3
    with urllib.request.urlopen(page.address) as answer:
        assert b"meshcat" in answer.read()
    env.reset(seed=1)  # goes back to zero, and is shown
    assert page.painted == before + 4
    env.close()


@pytest.mark.slow
def test_a_policy_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import train_biped

    try:
        _, curve = train_biped.train(4, told=False)
    finally:
        sys.modules.pop("train_biped", None)
    assert max(curve) > 1.3 * curve[0]
