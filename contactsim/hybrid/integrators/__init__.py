"""Integrators by name: those of SciPy, of this folder and of plugins."""

from __future__ import annotations

import math

from scipy.integrate import BDF, LSODA, RK23, RK45, OdeSolver, Radau

from ...common import registry
from ...errors import InputError
from ..tolerances import Tolerances
from .dop853 import Dop853

AUTOMATIC = "automatic"  # DOP853, and Radau9 where the motion is stiff: see `hybrid/stiff_arcs`

METHODS = ("DOP853", AUTOMATIC, "RK45", "RK23", "RK4", "Radau", "Radau9", "BDF", "LSODA")

IMPLICIT = ("Radau", "Radau9", "BDF", "LSODA")  # methods that use the derivative of the rate
FIRM = ("LSODA",)  # methods that keep the longest step they were made with


def method(name: str, tolerances: Tolerances | None = None) -> type[OdeSolver]:
    """The stepper class called `name`, of SciPy, of this module or of a plugin; the first one of "automatic".

    Raises:
        InputError: no such method (the known ones are listed), or `tolerances` give no step to one with a fixed step.
    """
    if name not in METHODS and name in (plugins := registry.names("integrators")):
        return registry.load("integrators", name)
    if name not in METHODS:
        raise InputError(f"no integrator '{name}'; choose one of {', '.join([*METHODS, *plugins])}")
    if name == "RK4":
        from .rk4 import NO_STEP, RK4

        if tolerances is not None and math.isinf(tolerances.max_step):
            raise InputError(NO_STEP)
        return RK4
    if name == "Radau9":
        from .radau9 import Radau9

        return Radau9
    scipys: dict[str, type[OdeSolver]] = {"RK45": RK45, "RK23": RK23, "Radau": Radau, "BDF": BDF, "LSODA": LSODA}
    return scipys.get(name, Dop853)
