"""A quadruped whose legs move in planes: as good as level, the lateral forces of its feet are nearly redundant."""

from __future__ import annotations

import numpy as np

import contactsim as cs

Array = np.ndarray
LEGS = (("FL", 0.18, 0.12), ("FR", 0.18, -0.12), ("RL", -0.18, 0.12), ("RR", -0.18, -0.12))
SIZE, RADIUS = 0.2, 0.02  # m, of the parts of a leg and of a foot


def _link(name: str, mass: float, inertia: float, down: float) -> str:
    body = " ".join(f'i{a}{b}="{inertia if a == b else 0.0}"' for a, b in ("xx", "yy", "zz", "xy", "xz", "yz"))
    place = f'<origin xyz="0 0 {down}"/><mass value="{mass}"/><inertia {body}/>'
    return f'<link name="{name}"><inertial>{place}</inertial></link>'


def _joint(kind: str, name: str, parent: str, child: str, place: str, bounds: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{place}"/>'
    damping = '<dynamics damping="0.1"/>' if "knee" in name else ""
    limit = f'<axis xyz="0 1 0"/><limit {bounds} effort="40" velocity="20"/>{damping}' if bounds else ""
    return f'<joint name="{name}" type="{kind}">{ends}{limit}</joint>'


def planar_legs() -> cs.Robot:
    parts = [_link("trunk", 6.0, 0.08, 0.0)]
    for name, x, y in LEGS:
        thigh, shank, foot = (f"{name}_{part}" for part in ("thigh", "shank", "foot"))
        ball = f'<link name="{foot}"><collision><geometry><sphere radius="{RADIUS}"/></geometry></collision></link>'
        parts += [_link(thigh, 0.6, 0.003, -0.1), _link(shank, 0.2, 0.001, -0.1), ball]
        parts.append(_joint("revolute", f"{name}_hip", "trunk", thigh, f"{x} {y} 0", 'lower="-1.5" upper="1.5"'))
        parts.append(_joint("revolute", f"{name}_knee", thigh, shank, f"0 0 {-SIZE}", 'lower="-1.0" upper="-0.2"'))
        parts.append(_joint("fixed", f"{name}_sole", shank, foot, f"0 0 {-SIZE}"))
    return cs.Robot.from_urdf(f'<robot name="planar_legs">{"".join(parts)}</robot>', contacts="feet")


def rolled(roll: float, height: float = 0.39, hip: float = 0.3) -> Array:
    """The configuration (15,) in which all feet are on the ground while the trunk is at a roll angle [rad].

    Feet to the left and to the right are wedged then: the least singular value of their equations goes with its square.
    """
    q = np.zeros(7 + 2 * len(LEGS))
    q[2], q[3], q[6] = height, np.sin(0.5 * roll), np.cos(0.5 * roll)
    for k, (_, _, y) in enumerate(LEGS):
        length = (height + y * np.sin(roll) - RADIUS) / np.cos(roll)
        q[7 + 2 * k : 9 + 2 * k] = hip, -np.arccos(length / SIZE - np.cos(hip)) - hip
    return q
