"""The old address of `contactsim.contact.impact`."""

from ..contact.impact import ImpactSolution, ImpactStage, compression, expansion, newton

__all__ = ["ImpactSolution", "ImpactStage", "compression", "expansion", "newton"]
