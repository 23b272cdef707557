"""Parameters of the compliant hexapod: Table 2 under its own names, and what the manual leaves to choose.

Source: SimSect manual, 5.4.1, Table 2.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field, create_model, model_validator

from contactsim import ModelParameters

LEGS = 6


class _Platform(ModelParameters):
    """Body, motors, ground and controller."""

    body_mass: float = Field(6.0, gt=0.0, description="body mass [kg]")
    leg_mass: float = Field(0.01, gt=0.0, description="toe mass [kg]")
    friction_coeff: float = Field(0.5, ge=0.0, description="surface friction coefficient")
    q_rt: float = Field(0.18, gt=0.0, description="touchdown leg length [m] (no equation of the manual uses it)")
    q_rl: float = Field(0.181, gt=0.0, description="liftoff leg length [m] (no equation of the manual uses it)")
    g: float = Field(10.0, description="gravitational acceleration [m/s^2]")
    max_torque: float = Field(3.0, gt=0.0, description="maximum leg torque output [N m]")
    max_speed: float = Field(10000.0, gt=0.0, description="no load motor rotation speed [rpm]")
    speed_constant: float = Field(61.261056, gt=0.0, description="motor speed constant K_w [rad/(V s)]")
    torque_constant: float = Field(16.3e-3, gt=0.0, description="motor torque constant K_tau [N m/A]")
    armature_resist: float = Field(1.34, ge=0.0, description="motor armature resistance [ohm]")
    # The text has 33:1; the table's 0.0333 is its inverse, and is what the equations of the motor need.
    gear_ratio: float = Field(0.0333, gt=0.0, description="gear ratio k_g, leg over motor")
    torque_loss: float = Field(0.5, description="actuator efficiency (unused)")
    terrain_type: Literal["flat", "sinusoid", "sloped"] = Field("flat", description="terrain type")
    terrain_arg1: float = Field(0.03, description="first argument for the terrain function")
    terrain_arg2: float = Field(15.0, description="second argument for the terrain function")
    terrain_arg3: float = Field(15.0, description="third argument for the terrain function")
    control_type: Literal["open-loop"] = Field("open-loop", description="controller type")
    KP: float = Field(10.0, ge=0.0, description="proportional control gain [N m/rad]")
    KD: float = Field(0.5, ge=0.0, description="derivative control gain [N m s/rad]")
    cycle_time: float = Field(1.0, gt=0.0, description="period of a leg's rotation t_c [s]")
    sweep_angle: float = Field(0.75, gt=0.0, lt=2.0 * np.pi, description="sweep of the slow phase phi_s [rad]")
    flight_time: float = Field(0.4, gt=0.0, description="duration of the fast phase t_f = t_c - t_s [s]")
    leg_offset: float = Field(0.0, gt=-np.pi, lt=np.pi, description="offset of the motion profile phi_o [rad]")
    # The viewer fits its own grid to the run.
    grid_xsize: float = Field(5.0, gt=0.0, description="x-axis size of the terrain grid [m] (unused)")
    grid_ysize: float = Field(5.0, gt=0.0, description="y-axis size of the terrain grid [m] (unused)")
    grid_xsteps: int = Field(50, gt=0, description="number of x-steps of the terrain grid (unused)")
    grid_ysteps: int = Field(50, gt=0, description="number of y-steps of the terrain grid (unused)")
    framerate: float = Field(120.0, gt=0.0, description="visualization frame rate [1/s]")
    frame_width: int = Field(640, gt=0, description="width of a saved frame [pixel]")
    frame_height: int = Field(480, gt=0, description="height of a saved frame [pixel]")


class _Choices(_Platform):
    """Parameters that the text of the manual names or leaves open, but Table 2 does not list."""

    # With sticking toes, turning in place chatters from 0.79 s on: touch-downs are refused within microseconds (the
    # flaw of 5.6). Slipping toes turn without a refusal.
    gait: Literal["running", "turning-in-place"] = Field(
        "running", description="turning in place: the legs at x < 0 rotate against those at x > 0 (manual, 5.2.2)"
    )
    # The text calls a growing phi forward running; with phi = arctan2(y, -z) it drives the body to -y.
    direction: Literal["increasing", "negated"] = Field(
        "increasing", description="sense of the motion profile; increasing drives the body to -y, negated to +y"
    )
    delta_ts: float = Field(0.0, description="difference of t_s between the sides, Delta t_s [s] (manual, 5.2.2)")
    delta_phi_o: float = Field(0.0, description="difference of phi_o between the sides [rad] (manual, 5.2.2)")
    # f' = c f' of 5.1.5 is zero for ever once touch-down has zeroed f': as printed, toes never slip.
    friction: Literal["stick", "slip"] = Field(
        "stick", description="toes in stance: fixed, or in quasi-static Coulomb slip with friction_coeff"
    )
    # K and rho_l are missing from Table 2; with K = 10 at q_rl = 0.181 the fields on both sides point at each other.
    K: float = Field(0.0, ge=0.0, description="coefficient of the radial saturation [N]")
    rho_l: float = Field(0.2, gt=0.0, description="leg length above which the radial spring saturates [m]")
    saturation: Literal["continuous", "literal"] = Field(
        "continuous", description="K expm1((rho - rho_l)/saturation_length), or K exp(rho - rho_0) in metres as printed"
    )
    saturation_length: float = Field(0.002, gt=0.0, description="length of the continuous saturation [m]")
    pd_error: Literal["wrapped", "unwrapped"] = Field(
        "wrapped",
        description="angle error of the hip control: wrapped to (-pi, pi], or the plain difference of phi in (-pi, pi]"
        " from a reference that goes on growing",
    )
    torque_speed: Literal["linear", "flat"] = Field(
        "linear", description="torque limit: falling linearly to zero at max_speed, or the same at all speeds"
    )


def _each_leg(name: str, defaults: list[float], description: str, **limits: float) -> dict[str, Any]:
    return {
        name.format(i): (float, Field(value, description=f"leg {i}: {description}", **limits))  # type: ignore
        for i, value in enumerate(defaults)
    }


_INERTIA: dict[str, Any] = {
    f"J_{i + 1}{k + 1}": (float, Field([0.2, 0.08, 0.4][i] if i == k else 0.0, description="body inertia [kg m^2]"))
    for i in range(3)
    for k in range(3)
}

_Table = create_model(  # type: ignore[call-overload]
    "_Table",
    __base__=_Choices,
    **_each_leg("rho{}_k", [500.0, 1000.0, 500.0] * 2, "radial spring constant [N/m]", ge=0.0),
    **_each_leg("rho{}_d", [10.0, 20.0, 10.0] * 2, "radial damping constant [N s/m]", ge=0.0),
    **_each_leg("rho{}_r0", [0.2] * LEGS, "radial spring rest length [m]", gt=0.0),
    **_each_leg("theta{}_k", [100.0, 200.0, 100.0] * 2, "angular spring constant [N m/rad]", ge=0.0),
    **_each_leg("theta{}_d", [0.4, 0.8, 0.4] * 2, "angular damping constant [N m s/rad]", ge=0.0),
    **_each_leg("theta{}_r0", [0.2] * 3 + [-0.2] * 3, "angular spring rest angle [rad]", gt=-1.5, lt=1.5),
    **_each_leg("attach{}_x", [0.1] * 3 + [-0.1] * 3, "attachment point, x in the body [m]"),
    # The print has 0.2 for leg 4, on top of leg 5: with that the robot rolls over.
    **_each_leg("attach{}_y", [-0.2, 0.0, 0.2] * 2, "attachment point, y in the body [m]"),
    **_each_leg("attach{}_z", [0.0] * LEGS, "attachment point, z in the body [m]"),
    **_INERTIA,
)


class HexapodParameters(_Table):  # type: ignore[misc, valid-type]
    """Parameters of the compliant hexapod."""

    def legs(self, name: str) -> np.ndarray:
        """The six values (6,) of a parameter of the legs, such as "rho{}_k"."""
        return np.array([getattr(self, name.format(i)) for i in range(LEGS)])

    def inertia(self) -> np.ndarray:
        """Body inertia matrix M_0 (3, 3) in the body [kg m^2]."""
        return np.array([[getattr(self, f"J_{i}{k}") for k in (1, 2, 3)] for i in (1, 2, 3)])

    @model_validator(mode="after")
    def _consistent(self) -> HexapodParameters:
        inertia = self.inertia()
        if not np.array_equal(inertia, inertia.T) or np.linalg.eigvalsh(inertia).min() <= 0.0:
            raise ValueError("the inertia J_11 ... J_33 is not symmetric and positive definite; mend its entries")
        slow = self.cycle_time - self.flight_time
        if not abs(self.delta_ts) < min(slow, self.flight_time):
            raise ValueError(
                f"with cycle_time {self.cycle_time}, flight_time {self.flight_time} and delta_ts {self.delta_ts} s a"
                " slow or fast phase has no duration; let flight_time lie between |delta_ts| and cycle_time - that"
            )
        if self.terrain_type == "sloped" and self.terrain_arg1 != 0.0:
            raise ValueError(
                f"sloped ground jumps by {self.terrain_arg1} x along y = 0; set terrain_arg1 = 0 (terrain_arg2 is the"
                " slope, terrain_arg3 the height; their defaults suit the sinusoid)"
            )
        return self
