"""The old address of `contactsim.contact.problem` and `contactsim.contact.stick_slip_choice`."""

from ..contact.stick_slip_choice import ContactProblem, ContactSolution, solve

__all__ = ["ContactProblem", "ContactSolution", "solve"]
