// Falls of a guard through zero between two looks at it, excluded for certain by values, rates, and their bounds.
#pragma once

#include <functional>
#include <limits>

namespace native {

// A guard and its rate at one time; not smooth: neither that nor `Bounds::bend` say anything here. Between two looks it
// is smooth where both are of one piece. Apart: it cannot fire as it is, however low it is.
struct Look {
    double t, value, rate;
    bool smooth = true;
    int piece = 0;
    bool apart = false;
};

// How a guard is looked at: contactsim's thresholds of the same names.
struct Looking {
    int looks;           // at a guard that stays low; then twice the largest second derivative seen is its bound
    int parts_apart;     // of the time between, to which a guard is followed that could not fire at their ends
    double least, most;  // share of a piece within which it is cut
    double seen;         // second derivatives between looks may be this many times as large
};

// Bounds of |g'| and |g''| along a step; (time) -> by what an interpolated value may be off; a dip that is none.
struct Bounds {
    double speed, bend;
    std::function<double(double)> error;
    double least;
    double rough = std::numeric_limits<double>::infinity();  // of |g''| where it is not smooth
};

// Where a guard falls through zero; not decided where its interpolant is too close to zero to tell, as at `after`, or
// where it is no number, nor is that.
struct Fall {
    bool decided = true, falls = false;
    double before = 0.0, after = 0.0;
};

// The first fall of a guard between two looks, of which the first finds it above zero. The method of contactsim's
// hybrid/guard_minima.py, step by step.
Fall first_fall(const std::function<Look(double)>& look, const Look& start, const Look& end, Bounds bounds,
                const Looking& rules);

// The first time > 0 at which value + rate t + bend t^2 / 2 falls through zero; infinity if it does not.
double time_to_fall(double value, double rate, double bend);

}  // namespace native
