// The variational equation along an arc, by collocation.
#pragma once

#include "acceleration_derivatives.hpp"
#include "path.hpp"
#include "stages.hpp"

namespace native {

// A Radau IIA method: nodes (stages,), matrix (stages, stages), and estimates (k, stages) of what a step misses, by how
// far its stages are from its start; the last one is to be compared with the rate there. A step of y' = z y by a length
// of 1 misses about `error` z^(2 stages). Places and weights of a quadrature tell how much of the defect at its start
// reaches its end; most of all by a decay of `worst`.
struct Scheme {
    std::vector<double> nodes, matrix, estimates;
    double error;
    std::vector<double> places, defect;
    double worst;
    int stages() const { return static_cast<int>(nodes.size()); }
    double carried(double reach) const;  // that share, where decays are up to e^-reach in the step
};

// How steps are chosen; see `solve_linear` and `Scale` of contactsim, whose constants these are.
struct Control {
    double growth, shrinkage, safety, smallest, tiny, even;
    int passes;     // of |A| over a vector, until that tells a bound on rates
    double spread;  // of its largest entry, which all entries have at least
    double rtol = 0.0, atol = 0.0;

    Control(double growth, double shrinkage, double safety, double smallest, double tiny, double even, int passes,
            double spread)
        : growth(growth),
          shrinkage(shrinkage),
          safety(safety),
          smallest(smallest),
          tiny(tiny),
          even(even),
          passes(passes),
          spread(spread) {}
};

// What moves along the arc, and how.
struct Motion {
    const Robot& robot;
    const ContactMode& mode;
    const Drive& drive;        // gains or what is held; not a function that is called
    const double* directions;  // of slips, until a step of the run tells theirs
    double straight;
    int turns = 0;  // rows of variations behind those of the state: turns of the slips in space that are held, if any
};

enum class Ending { reached, stuck, singular };

// Variations (dim + turns, width) at t1 of those at t0, in place: d(dx)/dt = (D_x f - ad(f)) dx. Where it is stuck or the rows
// of the mode depend on each other, `t1` becomes the time at which that was found. The methods are given by rising
// numbers of stages.
Ending propagate(const Motion& motion, const Path& path, const std::vector<Scheme>& schemes, const Control& control,
                 double t0, double first_step, double& t1, double* variations, int width);

}  // namespace native
