"""Derivatives of a ball's runs by JaxSim, in an environment of its own: called by `derivative_accuracy.py`.

    python3.11 -m venv jaxsim && jaxsim/bin/pip install jaxsim
    JAXSIM_PYTHON=jaxsim/bin/python python benchmarks/derivative_accuracy.py

Reads cases as JSON from its input and writes, for each step, the derivative of the whole run by forward differentiation
(x, z, angle about y, and their rates), the state at the end, and the time without compiling. Its contacts are those of
Hunt and Crossley, here of 1e6 N/m, undamped for an elastic bounce; the ball touches with its collision points.
"""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import jaxsim
import jaxsim.api as js
import numpy as np
from peer_answers import Found, answer

BALL = """
<sdf version="1.10"><model name="ball"><link name="ball">
  <inertial><mass>1</mass><inertia><ixx>{I}</ixx><iyy>{I}</iyy><izz>{I}</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia>
  </inertial>
  <collision name="ball"><geometry><sphere><radius>{r}</radius></sphere></geometry></collision>
</link></model></sdf>
"""
STIFFNESS, DAMPING = 1e6, 2000.0
LEAST = 1e-3  # friction: its law divides by the coefficient


def run(case: dict[str, float], step: float) -> Found:
    """The derivative (6, 6) of one run."""
    radius, elastic = case["radius"], case["restitution"] > 0.0
    soft = jaxsim.rbda.contacts.SoftContacts
    params = jaxsim.rbda.contacts.SoftContactsParams.build(
        K=STIFFNESS, D=0.0 if elastic else DAMPING, mu=max(case["friction"], LEAST)
    )
    model = js.model.JaxSimModel.build_from_model_description(
        BALL.format(r=radius, I=0.4 * radius**2),
        is_urdf=False,
        time_step=step,
        contact_model=soft.build(),
        contact_params=params,
        gravity=9.81,
    )
    count = round(case["end"] / step)

    def end(state: jax.Array) -> jax.Array:
        x, z, angle, vx, vz, w = state
        data = js.data.JaxSimModelData.build(
            model=model,
            base_position=jnp.array([x, 0.0, z]),
            base_quaternion=jnp.array([jnp.cos(angle / 2), 0.0, jnp.sin(angle / 2), 0.0]),
            base_linear_velocity=jnp.array([vx, 0.0, vz]),
            base_angular_velocity=jnp.array([0.0, w, 0.0]),
        )
        data, _ = jax.lax.scan(lambda now, _: (js.model.step(model=model, data=now), None), data, None, length=count)
        q, v = data.base_quaternion, data.base_velocity
        turn = 2.0 * jnp.arctan2(q[2], q[0])
        return jnp.array([data.base_position[0], data.base_position[2], turn, v[0], v[2], v[4]])

    start = jnp.array(case["start"], dtype=float)
    both = jax.jit(lambda state: (end(state), jax.jacfwd(end)(state)))
    jax.block_until_ready(both(start))
    before = time.perf_counter()
    there, matrix = jax.block_until_ready(both(start))
    return np.asarray(matrix), np.asarray(there), time.perf_counter() - before


if __name__ == "__main__":
    answer(run)
