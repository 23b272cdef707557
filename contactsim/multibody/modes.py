"""The old address of `contactsim.contact.modes`."""

from ..contact.modes import ContactState, Mode, Phase, SystemMode, unit

__all__ = ["ContactState", "Mode", "Phase", "SystemMode", "unit"]
