// Of several outcomes of an impact with redundant contacts, that of contacts that yield alike: the rule, its equations
// and the order in which modes are looked for are those of contactsim's contact/even_sharing.py.
#pragma once

#include "contact_problem.hpp"

namespace native {

// From an admissible solution, in place; it stays as it is where the rule moves the contacts in the same way. none: the
// corrections run in circles; unknown: it is not clear what hangs on what.
Pivoted share_evenly(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen);

}  // namespace native
