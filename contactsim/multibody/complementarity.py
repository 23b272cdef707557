"""The old address of `contactsim.contact.problem` and `contactsim.contact.stick_slip_choice`."""

from ..contact.problem import ContactProblem, ContactSolution
from ..contact.stick_slip_choice import solve

__all__ = ["ContactProblem", "ContactSolution", "solve"]
