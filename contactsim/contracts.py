"""The old address of what plugins supply: `contact.laws`, `derivatives.contract`, `io.ground_table`."""

from .contact.law_parameters import LawParameters
from .contact.laws import CompliantLaw, CompliantPoint, ContactLaw, RigidLaw
from .derivatives.contract import EventDerivative, Word
from .io.ground_table import GroundTable

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
