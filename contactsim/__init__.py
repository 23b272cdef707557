"""contactsim: event-driven multibody contact, with modes and derivatives that hold through impacts and friction.

The names below are the public surface; each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "CallbackError": "errors",
    "CheckError": "errors",
    "ContactSimError": "errors",
    "ConvergenceError": "errors",
    "InputError": "errors",
    "InvalidStateError": "errors",
    "NoAdmissibleModeError": "errors",
    "NonDifferentiableError": "errors",
    "PluginError": "errors",
    "SimulationError": "errors",
    "StepSizeError": "errors",
    "TransversalityError": "errors",
    "bouligand": "formulas",
    "bouligand_pieces": "formulas",
    "saltation_matrix": "formulas",
    "Euclidean": "hybrid",
    "Finding": "hybrid",
    "Flow": "hybrid",
    "Filippov": "filippov",
    "HybridSystem": "hybrid",
    "Manifold": "hybrid",
    "Transition": "hybrid",
    "Tolerances": "tolerances",
    "Boundary": "model",
    "Chart": "model",
    "Model": "model",
    "ModelParameters": "model",
    "ModelState": "model",
    "check_jacobians": "model",
    "load_model": "model",
    "Session": "session",
    "Simulation": "simulation",
    "simulate": "simulation",
    "Arc": "trajectory",
    "Event": "trajectory",
    "Status": "trajectory",
    "Trajectory": "trajectory",
    "CompliantLaw": "contracts",
    "CompliantPoint": "contracts",
    "ContactLaw": "contracts",
    "EventDerivative": "contracts",
    "GroundTable": "contracts",
    "LawParameters": "contracts",
    "RigidLaw": "contracts",
    "Linearization": "linearization",
    "linearize": "linearization",
    "PeriodicOrbit": "analysis.periodic_orbit",
    "find_periodic_orbit": "analysis.orbits",
    "lyapunov_exponents": "analysis.lyapunov",
    "Spread": "analysis.spread",
    "ball": "analysis.spread",
    "Tracking": "analysis.tracking",
    "Controller": "multibody.controllers",
    "PD": "multibody.controllers",
    "Sampled": "multibody.controllers",
    "Gap": "multibody.mechanism",
    "Mechanism": "multibody.mechanism",
    "LoopClosure": "multibody.bodies.loops",
    "Mode": "multibody.modes",
    "ContactPoint": "multibody.parts.contact_point",
    "ContactPair": "multibody.bodies.pairs",
    "Solid": "multibody.bodies.solids",
    "Robot": "multibody.robot",
    "load_robot": "multibody.catalogue",
    "ContactSystem": "multibody.system",
    "State": "multibody.system",
    "export_html": "look",
    "export_mp4": "look",
    "export_png": "look",
    "view": "look",
}
_MODULES = {"terrain": "multibody.terrain"}

__all__ = sorted([*_HOMES, *_MODULES])

if TYPE_CHECKING:
    from .analysis.lyapunov import lyapunov_exponents
    from .analysis.orbits import find_periodic_orbit
    from .analysis.periodic_orbit import PeriodicOrbit
    from .analysis.spread import Spread, ball
    from .analysis.tracking import Tracking
    from .contracts import (
        CompliantLaw,
        CompliantPoint,
        ContactLaw,
        EventDerivative,
        GroundTable,
        LawParameters,
        RigidLaw,
    )
    from .errors import (
        CallbackError,
        CheckError,
        ContactSimError,
        ConvergenceError,
        InputError,
        InvalidStateError,
        NoAdmissibleModeError,
        NonDifferentiableError,
        PluginError,
        SimulationError,
        StepSizeError,
        TransversalityError,
    )
    from .filippov import Filippov
    from .formulas import bouligand, bouligand_pieces, saltation_matrix
    from .hybrid import Euclidean, Finding, Flow, HybridSystem, Manifold, Transition
    from .linearization import Linearization, linearize
    from .look import export_html, export_mp4, export_png, view
    from .model import Boundary, Chart, Model, ModelParameters, ModelState, check_jacobians, load_model
    from .multibody import terrain
    from .multibody.bodies.loops import LoopClosure
    from .multibody.bodies.pairs import ContactPair
    from .multibody.bodies.solids import Solid
    from .multibody.catalogue import load_robot
    from .multibody.controllers import PD, Controller, Sampled
    from .multibody.mechanism import Gap, Mechanism
    from .multibody.modes import Mode
    from .multibody.parts.contact_point import ContactPoint
    from .multibody.robot import Robot
    from .multibody.system import ContactSystem, State
    from .session import Session
    from .simulation import Simulation, simulate
    from .tolerances import Tolerances
    from .trajectory import Arc, Event, Status, Trajectory


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'contactsim' has no attribute '{name}'")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
