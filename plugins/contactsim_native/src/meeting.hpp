// What derivatives of an event look at where its guards are met: their values, the motion there, and how one of them
// changes with the state.
#pragma once

#include "acceleration_derivatives.hpp"
#include "guards.hpp"

namespace native {

struct MetGuards {
    double *values, *acceleration;        // of all guards; (nv,)
    double* row = nullptr;                // derivative (2 nv,) of one guard by tangent vectors (dq, dv)
    bool row_known = false;               // whether it is told
    bool steady = false;                  // whether neither ground nor drive change with the time
    double pressing = 0.0, others = 0.0;  // the largest of all forces of contacts, and of all others
};

// At (t, x) where the motion of an arc goes on, or ends: slips that turn have the direction of their own velocity,
// which is written to `directions` (closed contacts, 2). Of a guard of forces or slips the row is asked for only where
// the arc knows its derivative; a negative `guard`: of none. False where that is to be told in Python: slips begin or
// contacts all but jam there, rows depend on each other, or there is no ground.
bool meet(const Arc& arc, const Thresholds& thresholds, double straight, double t, const double* x, int guard,
          double* directions, GuardRoom& room, DerivativeScratch& scratch, MetGuards& found);

}  // namespace native
