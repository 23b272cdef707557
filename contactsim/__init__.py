"""contactsim: event-driven multibody contact, with modes and derivatives that hold through impacts and friction.

The names below are the public surface; each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"  # that of the distribution in pyproject.toml is the same

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
    "StorageError": "errors",
    "TransversalityError": "errors",
    "bouligand": "derivatives.saltation",
    "bouligand_pieces": "derivatives.saltation",
    "saltation_matrix": "derivatives.saltation",
    "Euclidean": "hybrid.manifold",
    "Finding": "hybrid.flow",
    "Flow": "hybrid.flow",
    "Filippov": "hybrid.filippov",
    "HybridSystem": "hybrid.system",
    "Manifold": "hybrid.manifold",
    "Transition": "hybrid.system",
    "Tolerances": "hybrid.tolerances",
    "Boundary": "hybrid.charts",
    "Chart": "hybrid.charts",
    "Model": "hybrid.charts",
    "ModelParameters": "hybrid.charts",
    "ModelState": "hybrid.charts",
    "check_jacobians": "hybrid.charts",
    "load_model": "hybrid.charts",
    "Session": "viewing.session",
    "Simulation": "hybrid.simulate",
    "simulate": "hybrid.simulate",
    "Arc": "hybrid.trajectory",
    "Event": "hybrid.trajectory",
    "Status": "hybrid.outcomes",
    "Trajectory": "hybrid.trajectory",
    "CompliantLaw": "contact.laws",
    "CompliantPoint": "contact.laws",
    "ContactLaw": "contact.laws",
    "EventDerivative": "derivatives.contract",
    "GroundTable": "io.terrain_schema",
    "load_scene": "io.load_scene",
    "LawParameters": "contact.law_parameters",
    "RigidLaw": "contact.laws",
    "ContactProblem": "contact.problem",
    "ContactSolution": "contact.problem",
    "solve_contacts": "contact.solve_contacts",
    "Linearization": "analysis.linearization",
    "linearize": "analysis.linearization",
    "PeriodicOrbit": "analysis.periodic_orbit",
    "find_periodic_orbit": "analysis.orbits",
    "continue_orbit": "analysis.continuation",
    "OrbitBranch": "analysis.continuation",
    "StabilisedOrbit": "analysis.stabilisation",
    "stabilise": "analysis.stabilisation",
    "lyapunov_exponents": "analysis.lyapunov",
    "Spread": "analysis.spread",
    "ball": "analysis.spread",
    "Tracking": "analysis.tracking",
    "Cost": "control.costs",
    "Expansion": "control.costs",
    "QuadraticCost": "control.costs",
    "Inputs": "control.inputs",
    "MPC": "control.mpc",
    "Plan": "control.problem",
    "ilqr": "control.ilqr",
    "SaltedKalman": "control.salted_kalman",
    "Fit": "control.fit",
    "fit": "control.fit",
    "Actuators": "multibody.actuators",
    "Controller": "multibody.controllers",
    "PD": "multibody.controllers",
    "PiecewiseReference": "multibody.piecewise_reference",
    "Sampled": "multibody.controllers",
    "Gap": "multibody.mechanism",
    "Mechanism": "multibody.mechanism",
    "JointCoupling": "multibody.loops",
    "LoopClosure": "multibody.loops",
    "Latch": "multibody.latches",
    "Mode": "contact.modes",
    "ContactPoint": "multibody.contact_point",
    "ContactRim": "multibody.contact_point",
    "ContactEllipsoid": "multibody.contact_point",
    "ContactPair": "multibody.geometry.pairs",
    "Solid": "multibody.geometry.solids",
    "Robot": "multibody.robot",
    "load_robot": "multibody.catalogue",
    "ContactSystem": "contact_dynamics.contact_system",
    "Sensors": "contact_dynamics.sensors",
    "simulate_groups": "contact_dynamics.group_runs",
    "State": "contact_dynamics.contact_system",
    "sweep": "studies.sweep",
    "export_html": "viewing.viewers",
    "export_mp4": "viewing.viewers",
    "export_png": "viewing.viewers",
    "view": "viewing.viewers",
}
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
    from .multibody.controllers import PD, Controller, Sampled
    from .multibody.geometry.pairs import ContactPair
    from .multibody.geometry.solids import Solid
    from .multibody.latches import Latch
    from .multibody.loops import JointCoupling, LoopClosure
    from .multibody.mechanism import Gap, Mechanism
    from .multibody.piecewise_reference import PiecewiseReference
    from .multibody.robot import Robot
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
