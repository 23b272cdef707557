"""The old address of what plugins supply: `contact.laws`, `derivatives.contract`, `io.terrain_schema`."""

from .contact.law_parameters import LawParameters
from .contact.laws import CompliantLaw, CompliantPoint, ContactLaw, RigidLaw
from .derivatives.contract import EventDerivative, Word
from .io.terrain_schema import GroundTable

__all__ = [
    "CompliantLaw",
    "CompliantPoint",
    "ContactLaw",
    "EventDerivative",
    "GroundTable",
    "LawParameters",
    "RigidLaw",
    "Word",
]
