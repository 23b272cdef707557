// The states of an arc: steps as polynomials in charts.
#pragma once

#include <vector>

#include "charts.hpp"

namespace native {

// Chebyshev series of chart coordinates around a state, as (pieces, powers, dim) and (pieces, size).
struct Path {
    int pieces, powers, dim, size;
    std::vector<double> from, to;              // (pieces,) the interval of each series
    std::vector<double> start;                 // (pieces,) the time from which it holds
    std::vector<double> step_start, step_end;  // (pieces,) of the step of the run that it is a piece of
    std::vector<double> base, series;

    int piece(double t) const;                                               // that holds at a time
    void state(const Robot& robot, double t, std::vector<double>& x) const;  // (size,)
};

}  // namespace native
