// Falls of a guard through zero between two looks at it, excluded for certain by values, rates, and their bounds.
#pragma once

#include <functional>

namespace native {

// A guard and its rate at one time.
struct Look {
    double t, value, rate;
};

// Bounds of |g'| and |g''| along a step; (time) -> by what an interpolated value may be off; a dip that is none.
struct Bounds {
    double speed, bend;
    std::function<double(double)> error;
    double least;
};

// Whether a guard stays above zero between two looks, of which the first finds it there; false where it falls, or
// where its interpolant does not decide it. The method of contactsim's hybrid/guard_minima.py, step by step.
bool stays_above(const std::function<Look(double)>& look, const Look& start, const Look& end, Bounds bounds);

// The first time > 0 at which value + rate t + bend t^2 / 2 falls through zero; infinity if it does not.
double time_to_fall(double value, double rate, double bend);

}  // namespace native
