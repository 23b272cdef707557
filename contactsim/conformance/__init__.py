"""The old address of the conformance kit: `contactsim.testing`."""

from ..testing import Outcome, Report, check_contact_law, check_model, check_plugin, check_property, properties

__all__ = ["Outcome", "Report", "check_contact_law", "check_model", "check_plugin", "check_property", "properties"]
