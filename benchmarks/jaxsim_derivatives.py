"""Derivatives of a ball's runs by JaxSim, in an environment of its own: called by `derivative_accuracy.py`.

    python3.11 -m venv jaxsim && jaxsim/bin/pip install jaxsim
    JAXSIM_PYTHON=jaxsim/bin/python python benchmarks/derivative_accuracy.py

Reads cases as JSON from its input and writes, for each step and each of some contacts, the derivative of the whole run
by forward differentiation (x, z, angle about y, and their rates), the state at the end, and the time without compiling.

Its contacts are those of Hunt and Crossley between the ground and points of a body. The ball moves in a plane, so all
of its points lie on its circle there: over the few hundred that JaxSim spreads over a sphere it would roll as over the
corners of a stone. Its law divides by the damping, so an elastic bounce has next to none; nothing moves along the
ground there, so that its friction may be any.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import jaxsim
import jaxsim.api as js
import numpy as np
from peer_answers import Found, answer

jax.config.update("jax_enable_x64", True)
BALL = """
<sdf version="1.10"><model name="ball"><link name="ball">
  <inertial><mass>1</mass><inertia><ixx>{I}</ixx><iyy>{I}</iyy><izz>{I}</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia>
  </inertial>
  <collision name="ball"><geometry><sphere><radius>{r}</radius></sphere></geometry></collision>
</link></model></sdf>
"""
POINTS = 720
STIFFNESSES = (1e5, 1e6, 1e7)  # N/m^1.5
DAMPED, ELASTIC = (1e-3, 1e-2, 1e-1), (1e-9,)  # s/m, damping for each stiffness
ANY_FRICTION = 0.5


def ball_of(radius: float, step: float) -> js.model.JaxSimModel:
    """The ball with its points in the plane y = 0."""
    model = js.model.JaxSimModel.build_from_model_description(
        BALL.format(r=radius, I=0.4 * radius**2),
        is_urdf=False,
        time_step=step,
        contact_model=jaxsim.rbda.contacts.SoftContacts.build(),
        contact_params=jaxsim.rbda.contacts.SoftContactsParams.build(),
        gravity=9.81,
    )
    known, angles = model.kin_dyn_parameters.contact_parameters, 2.0 * np.pi * np.arange(POINTS) / POINTS
    places = radius * np.stack([np.cos(angles), np.zeros(POINTS), np.sin(angles)], axis=1)
    points = type(known)(body=(known.body[0],) * POINTS, point=jnp.array(places), enabled=(True,) * POINTS)
    with model.editable(validate=False) as changed:
        changed.kin_dyn_parameters.contact_parameters = points
    return changed


def end_of(model: js.model.JaxSimModel, count: int, friction: float) -> Callable[..., jax.Array]:
    """(state, stiffness, damping) -> the state after some steps."""

    def end(state: jax.Array, stiffness: jax.Array, damping: jax.Array) -> jax.Array:
        x, z, angle, vx, vz, w = state
        with model.editable(validate=False) as own:
            own.contact_params = jaxsim.rbda.contacts.SoftContactsParams.build(K=stiffness, D=damping, mu=friction)
        data = js.data.JaxSimModelData.build(
            model=own,
            base_position=jnp.array([x, 0.0, z]),
            base_quaternion=jnp.array([jnp.cos(angle / 2), 0.0, jnp.sin(angle / 2), 0.0]),
            base_linear_velocity=jnp.array([vx, 0.0, vz]),
            base_angular_velocity=jnp.array([0.0, w, 0.0]),
        )
        data, _ = jax.lax.scan(lambda now, _: (js.model.step(model=own, data=now), None), data, None, length=count)
        q, v = data.base_quaternion, data.base_velocity
        turn = 2.0 * jnp.arctan2(q[2], q[0])
        return jnp.array([data.base_position[0], data.base_position[2], turn, v[0], v[2], v[4]])

    return end


def run(case: dict[str, float], step: float) -> list[Found]:
    """The derivatives (6, 6) of one run, with each contact."""
    end = end_of(ball_of(case["radius"], step), round(case["end"] / step), case["friction"] or ANY_FRICTION)
    both = jax.jit(lambda *given: (end(*given), jax.jacfwd(end)(*given)))
    start, found = jnp.array(case["start"], dtype=float), []
    for stiffness in STIFFNESSES:
        for share in ELASTIC if case["restitution"] else DAMPED:
            given = start, jnp.array(stiffness), jnp.array(share * stiffness)
            jax.block_until_ready(both(*given))
            before = time.perf_counter()
            there, matrix = jax.block_until_ready(both(*given))
            found.append((np.asarray(matrix), np.asarray(there), time.perf_counter() - before))
    return found


if __name__ == "__main__":
    answer(run)
