"""Environments of Gymnasium; importing this registers them for `gymnasium.make`.

import gymnasium
import contactsim.gym

env = gymnasium.make("contactsim/Hexapod-v0")  # or Biped-v0, Solo12-v0
env = contactsim.gym.ContactEnv("scene.toml", dt=0.02)
"""

from __future__ import annotations

from .errors import InputError

try:
    import gymnasium
except ImportError:
    raise InputError("environments need gymnasium; install it with: pip install 'contactsim[gym]'") from None

from .studies.environments import ContactEnv

__all__ = ["ENVIRONMENTS", "ContactEnv"]

ENVIRONMENTS = {"Hexapod-v0": ("hexapod", 250), "Biped-v0": ("biped", 100), "Solo12-v0": ("solo12", 250)}
"""{name: (its function in studies.environments, steps after which an episode is cut off)}."""

for _name, (_function, _steps) in ENVIRONMENTS.items():
    if f"contactsim/{_name}" not in gymnasium.registry:
        gymnasium.register(
            f"contactsim/{_name}",
            entry_point=f"contactsim.studies.environments:{_function}",
            max_episode_steps=_steps,
        )
