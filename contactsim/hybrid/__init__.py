"""The mathematics of hybrid systems: smooth flows on manifolds, joined by events."""

from ..common.arrays import Array
from .flow import Finding, Flow, GuardBounds, Look, Path
from .manifold import Euclidean, Manifold
from .system import CLOCK, HybridSystem, Transition

__all__ = [
    "CLOCK",
    "Array",
    "Euclidean",
    "Finding",
    "Flow",
    "GuardBounds",
    "HybridSystem",
    "Look",
    "Manifold",
    "Path",
    "Transition",
]
