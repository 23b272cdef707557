// First derivative of what an event leads to, with its outcome held: of its impact, stage after stage, and of what then
// rests. The equations are those of contactsim's contact_dynamics/outcome_sensitivity.py and impact_sensitivity.py.
#pragma once

#include "acceleration_derivatives.hpp"
#include "resolution.hpp"

namespace native {

// A stage of an impact that happened: M dv = J^T impulses.
struct PassedStage {
    std::vector<double> impulses;  // along all rows of what was struck
    std::vector<Touch> modes;
    std::vector<std::array<double, 2>> directions;
    std::vector<char> directed, lifted;  // whether a direction is known; whether it parts under what is given to it
    std::vector<double> rebound,
        share;  // w_n = -rebound w_n(before) where held; lam_n = share lam_n(before) where lifted
};

struct Happened {
    double t = 0.0;
    const double *x = nullptr, *x_post = nullptr;
    std::vector<int> struck;  // contacts that took part in the impact, in rising order; none: there was none
    std::vector<PassedStage> stages;
    std::vector<int> closed;                  // contacts that are closed behind it, in rising order
    std::vector<ContactState> before, after;  // states of these
    std::vector<double> left;  // impulses along all their rows that brought to rest what is at rest; none: empty
    bool redundant = false;    // whether the forces that hold them are not unique
};

// D R (2 nv, 2 nv) by tangent vectors (dq, dv) of a robot and velocities; false where that is not told.
bool differentiate(const TouchingWorld& world, const Happened& happened, double* jacobian);

}  // namespace native
