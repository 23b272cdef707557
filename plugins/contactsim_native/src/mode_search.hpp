// The modes of all contacts together, from a guess: quick pivoting, then few sweeps and pivoting from what they tell.
// What is looked for, and put right afterwards, is that of contactsim's contact/stick_slip_choice.py.
#pragma once

#include "contact_problem.hpp"

namespace native {

// From the guess in `chosen`; unknown: Python has to look for them, or tells that there are none.
Pivoted search(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen);

// Contacts that are said to begin to slip, but do not move along the ground.
std::vector<int> slips_without_motion(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen);

// Whether there are some under redundant forces: rounding alone tells their directions, and Python may find modes
// without them.
bool has_idle_slips(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen);

// The largest violation of each law, as ContactSolution.residuals; `rebound` (count,) may be empty.
struct Residuals {
    double signorini = 0.0, cone = 0.0, friction = 0.0;
};
Residuals residuals(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen,
                    const std::vector<double>& rebound);

}  // namespace native
