// An arc, step by step, for as long as nothing happens: steps of DOP853 or Radau9 in charts of the manifold, guards
// watched, states put back onto the constraints. The choices are those of contactsim's Stepper and Watch, in the same
// order.
#pragma once

#include <exception>

#include "acceleration_derivatives.hpp"
#include "expansion.hpp"
#include "guards.hpp"
#include "radau.hpp"

namespace native {

// A method of a lower order, for short steps: see contactsim's tables853.
struct Lower {
    std::vector<double> a, c;  // (s + 1, s + 1) and (s + 1,): its stages, and the rate where the step ends
    std::vector<double> missed,
        bend;  // (s + 1,) each: what another method misses, and the fourth part of a dense output

    int last() const { return static_cast<int>(c.size()) - 1; }
};

// Coefficients of DOP853, and what its dense output and samples of guards are looked at with.
struct Dop853 {
    static constexpr int STAGES = 12, ALL = 16, PARTS = 7;  // PARTS: of a dense output
    static constexpr int NODES = 6;                         // of samples of guards in a step
    std::vector<double> a, c;                               // (16, 16), (16,)
    std::vector<double> e3, e5;                             // (13,) each: error estimates
    std::vector<double> d;                                  // (4, 16): dense output
    std::vector<double> largest;             // (2, 7): of the functions of a dense output, and of their slopes
    std::vector<double> nodes;               // (6,) shares of a step
    std::vector<double> to_series;           // (6, 6): from samples to Chebyshev coefficients
    std::vector<double> grid;                // (g,) shares of a step
    std::vector<double> to_grid, to_slopes;  // (g, 6) each: from samples to values there, and to their slopes
    Lower third, fifth;

    // The functions of the share of a step that a dense output is the sum of.
    static std::array<double, PARTS> powers(double s) {
        const double r = 1.0 - s, b = s * r, c = b * s, d = b * b, e = d * s, f = d * b;
        return {s, b, c, d, e, f, f * s};
    }
};

// What goes on from step to step; arrays are the caller's and are changed in place.
struct Course {
    double t, bound;
    double *x, *base, *y, *f;  // state, origin of the chart, place in it, rate there
    double *values, *highest;  // of guards
    const double *floor, *rounding, *band;
    double* directions;              // of slips (closed, 2)
    bool fresh;                      // whether the rate is still to be computed, in a new chart
    double step, proposed, natural;  // next step, as the method and the motion propose it; natural < 0: unknown
    double approach;                 // longest step towards a singular place at the last one
    double expandable;               // way to a stop of slips within which the motion is expanded [s]
    bool in_haste;                   // whether the next guard is asked for
    double rtol, atol, max_step;     // of a step
    double straight;                 // slip that leaves its direction by less runs along it [m/s]
    double path_rtol, path_atol;     // of a run
    bool automatic;                  // whether stiffness is looked for
    int held_steps, loose_steps, patience;
    double began;
    double faded, short_step, enough;  // a decay summed up over steps that do not grow
    bool fades = false;                // whether that was enough
    Radau* stiff = nullptr;            // the stiff method, where it is at work
    int tried = 0;                     // its steps since it took over
    bool asked = false;                // whether it was told before the next step
    double fastest = NAN;              // largest eigenvalue of its derivative, or a bound of it [1/s]; NaN: unknown
    int most;                          // steps at once
    double clearance, way;  // of gaps that are no guards, and by how much these fell since they were seen [m]
    // What was found.
    int steps = 0;
    bool pending = false;    // whether the last step may hold an event, or ends at the bound
    bool located = false;    // whether it is known which guards fire where it ends
    std::vector<int> fired;  // these
    int leader = -1;         // the one that it was ended for
    bool at_once = false;    // whether that had not risen since the arc began
    bool suspected = false;  // whether stability seems to hold the steps
    bool hemmed = false;
    bool asks = false;  // whether the stiff method may be left, by the eigenvalues of its derivative
    long evaluations = 0;
    std::vector<double>
        record;  // t0, t1, miss, end of its polynomial, base, start, end, y, dense output, guards at the end
    std::exception_ptr error;  // of a function of the user's, behind these steps
};

// Where steps work; it is kept from arc to arc.
struct CruiseRoom {
    GuardRoom ends, within;        // where steps begin and end, and within them
    Expansion expansion;           // of the motion while slips come to their stop, where `ends` has it
    DerivativeScratch derivative;  // of the motion, as the stiff method asks for it

    // As an arc begins.
    void forget() {
        for (GuardRoom* room : {&ends, &within}) room->known = Known(), room->expansion = nullptr, room->forget();
    }
};

// Steps until one may hold an event, the bound is reached, no step succeeds, or `most` were made. The room may know the
// motion where they begin.
void cruise(const Arc& arc, const Dop853& method, const Thresholds& thresholds, Course& course, CruiseRoom& room);

}  // namespace native
