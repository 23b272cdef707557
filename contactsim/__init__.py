"""contactsim: event-driven multibody contact, with modes and derivatives that hold through impacts and friction.

The names below are the public surface; each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"  # that of the distribution in pyproject.toml is the same

_NAMES = {
    "analysis.continuation": ("OrbitBranch", "continue_orbit"),
    "analysis.linearization": ("Linearization", "linearize"),
    "analysis.lyapunov": ("lyapunov_exponents",),
    "analysis.orbits": ("find_periodic_orbit",),
    "analysis.periodic_orbit": ("PeriodicOrbit",),
    "analysis.spread": ("Spread", "ball"),
    "analysis.stabilisation": ("StabilisedOrbit", "stabilise"),
    "analysis.tracking": ("Tracking",),
    "contact.law_parameters": ("LawParameters",),
    "contact.laws": ("CompliantLaw", "CompliantPoint", "ContactLaw", "RigidLaw"),
    "contact.modes": ("Mode",),
    "contact.problem": ("ContactProblem", "ContactSolution"),
    "contact.solve_contacts": ("solve_contacts",),
    "contact_dynamics.contact_system": ("ContactSystem", "State"),
    "contact_dynamics.group_runs": ("simulate_groups",),
    "contact_dynamics.sensors": ("Sensors",),
    "control.costs": ("Cost", "Expansion", "QuadraticCost"),
    "control.fit": ("Fit", "fit"),
    "control.ilqr": ("ilqr",),
    "control.inputs": ("Inputs",),
    "control.mpc": ("MPC",),
    "control.problem": ("Plan",),
    "control.salted_kalman": ("SaltedKalman",),
    "derivatives.contract": ("EventDerivative",),
    "derivatives.saltation": ("bouligand", "bouligand_pieces", "saltation_matrix"),
    "errors": (
        "CallbackError",
        "CheckError",
        "ContactSimError",
        "ConvergenceError",
        "InputError",
        "InvalidStateError",
        "NoAdmissibleModeError",
        "NonDifferentiableError",
        "PluginError",
        "SimulationError",
        "StepSizeError",
        "StorageError",
        "TransversalityError",
    ),
    "hybrid.charts": ("Boundary", "Chart", "Model", "ModelParameters", "ModelState", "check_jacobians", "load_model"),
    "hybrid.filippov": ("Filippov",),
    "hybrid.flow": ("Finding", "Flow"),
    "hybrid.manifold": ("Euclidean", "Manifold"),
    "hybrid.outcomes": ("Status",),
    "hybrid.simulate": ("Simulation", "simulate"),
    "hybrid.system": ("HybridSystem", "Transition"),
    "hybrid.tolerances": ("Tolerances",),
    "hybrid.trajectory": ("Arc", "Event", "Trajectory"),
    "io.load_scene": ("load_scene",),
    "io.terrain_schema": ("GroundTable",),
    "multibody.actuators": ("Actuators",),
    "multibody.catalogue": ("load_robot",),
    "multibody.contact_point": ("ContactEllipsoid", "ContactPoint", "ContactRim"),
    "multibody.controllers": ("Controller", "Sampled"),
    "multibody.driving": ("PD", "PiecewiseReference"),
    "multibody.geometry.pairs": ("ContactPair",),
    "multibody.geometry.solids": ("Solid",),
    "multibody.latches": ("Latch",),
    "multibody.loops": ("JointCoupling", "LoopClosure"),
    "multibody.robot": ("Robot",),
    "multibody.textbook_mechanism": ("Gap", "Mechanism"),
    "studies.sweep": ("sweep",),
    "viewing.session": ("Session",),
    "viewing.viewers": ("export_html", "export_mp4", "export_png", "view"),
}  # by the modules they lie in
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_MODULES = {"terrain": "multibody.terrain"}

__all__ = sorted({*_HOMES, *_MODULES})

if TYPE_CHECKING:
    from .analysis.continuation import OrbitBranch, continue_orbit
    from .analysis.linearization import Linearization, linearize
    from .analysis.lyapunov import lyapunov_exponents
    from .analysis.orbits import find_periodic_orbit
    from .analysis.periodic_orbit import PeriodicOrbit
    from .analysis.spread import Spread, ball
    from .analysis.stabilisation import StabilisedOrbit, stabilise
    from .analysis.tracking import Tracking
    from .contact.law_parameters import LawParameters
    from .contact.laws import CompliantLaw, CompliantPoint, ContactLaw, RigidLaw
    from .contact.modes import Mode
    from .contact.problem import ContactProblem, ContactSolution
    from .contact.solve_contacts import solve_contacts
    from .contact_dynamics.contact_system import ContactSystem, State
    from .contact_dynamics.group_runs import simulate_groups
    from .contact_dynamics.sensors import Sensors
    from .control.costs import Cost, Expansion, QuadraticCost
    from .control.fit import Fit, fit
    from .control.ilqr import ilqr
    from .control.inputs import Inputs
    from .control.mpc import MPC
    from .control.problem import Plan
    from .control.salted_kalman import SaltedKalman
    from .derivatives.contract import EventDerivative
    from .derivatives.saltation import bouligand, bouligand_pieces, saltation_matrix
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
        StorageError,
        TransversalityError,
    )
    from .hybrid.charts import Boundary, Chart, Model, ModelParameters, ModelState, check_jacobians, load_model
    from .hybrid.filippov import Filippov
    from .hybrid.flow import Finding, Flow
    from .hybrid.manifold import Euclidean, Manifold
    from .hybrid.outcomes import Status
    from .hybrid.simulate import Simulation, simulate
    from .hybrid.system import HybridSystem, Transition
    from .hybrid.tolerances import Tolerances
    from .hybrid.trajectory import Arc, Event, Trajectory
    from .io.load_scene import load_scene
    from .io.terrain_schema import GroundTable
    from .multibody import terrain
    from .multibody.actuators import Actuators
    from .multibody.catalogue import load_robot
    from .multibody.contact_point import ContactEllipsoid, ContactPoint, ContactRim
    from .multibody.controllers import Controller, Sampled
    from .multibody.driving import PD, PiecewiseReference
    from .multibody.geometry.pairs import ContactPair
    from .multibody.geometry.solids import Solid
    from .multibody.latches import Latch
    from .multibody.loops import JointCoupling, LoopClosure
    from .multibody.robot import Robot
    from .multibody.textbook_mechanism import Gap, Mechanism
    from .studies.sweep import sweep
    from .viewing.session import Session
    from .viewing.viewers import export_html, export_mp4, export_png, view


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
