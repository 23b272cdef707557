"""Integrators by name: those of SciPy, of this folder and of plugins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...common import registry
from ...errors import InputError
from ..tolerances import Tolerances

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

EXPLICIT = "DOP853"
AUTOMATIC = "automatic"  # that one, and Radau9 where the motion is stiff: see `hybrid/stiff_arcs`

METHODS = (EXPLICIT, AUTOMATIC, "RK45", "RK23", "RK4", "Radau", "Radau9", "BDF", "LSODA")

IMPLICIT = ("Radau", "Radau9", "BDF", "LSODA")  # methods that use the derivative of the rate
FIRM = ("LSODA",)  # methods that keep the longest step they were made with


def demand(name: str, tolerances: Tolerances | None = None) -> None:
    """Let a name of a method pass.

    Raises:
        InputError: no such method (the known ones are listed), or `tolerances` give no step to one with a fixed step.
    """
    if name not in METHODS and name not in (plugins := registry.names("integrators")):
        raise InputError(f"no integrator '{name}'; choose one of {', '.join([*METHODS, *plugins])}")
    if name == "RK4" and tolerances is not None and math.isinf(tolerances.max_step):
        from .rk4 import NO_STEP

        raise InputError(NO_STEP)


def method(name: str) -> type[OdeSolver]:
    """The stepper class called `name`, of SciPy, of this folder or of a plugin; the first one of "automatic".

    Each is loaded where it is asked for; SciPy takes long.

    Raises:
        InputError: no such method.
    """
    demand(name)
    if name in (EXPLICIT, AUTOMATIC):
        from .dop853 import Dop853

        return Dop853
    if name == "RK4":
        from .rk4 import RK4

        return RK4
    if name == "Radau9":
        from .radau9 import Radau9

        return Radau9
    if name not in METHODS:
        return registry.load("integrators", name)
    import scipy.integrate

    return getattr(scipy.integrate, name)
