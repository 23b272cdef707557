"""The compliant hexapod of the SimSect manual, section 5: a rigid body on six springy legs, run open loop."""

from .model import CompliantHexapod, LegChart

__all__ = ["CompliantHexapod", "LegChart"]
