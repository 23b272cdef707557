#include "reach.hpp"

#include <cmath>

namespace native {

namespace {

// sqrt(squares[j] . numbers^2) of one joint.
double norm(const std::vector<double>& squares, int joint, const double* numbers, int size) {
    double sum = 0.0;
    for (int k = 0; k < size; ++k) sum += squares[joint * size + k] * numbers[k] * numbers[k];
    return std::sqrt(sum);
}

}  // namespace

// |c'| <= sum (Omega l + u), |c''| <= sum ((alpha + Omega^2) l + u' + 2 Omega u) over the segments before a point.
void Sway::along(const Reach& reach, const double* q, const double* speeds, const double* accelerations,
                 double duration) {
    const int n = reach.joints;
    spin.assign(n, 0.0), speed.assign(n, 0.0), twist.assign(n, 0.0), push.assign(n, 0.0);
    std::vector<double> changes(n, 0.0);  // of the spin
    for (int j = 1; j < n; ++j) {
        const int before = reach.parent[j];
        const double slide = norm(reach.slides, j, speeds, reach.nv);
        const double length = reach.length[j] + norm(reach.places, j, q, reach.nq) + duration * slide;
        spin[j] = spin[before] + norm(reach.turns, j, speeds, reach.nv);
        speed[j] = speed[before] + spin[before] * length + slide;
        changes[j] = changes[before] + norm(reach.turns, j, accelerations, reach.nv);
        twist[j] = changes[j] + 0.5 * spin[j] * spin[j];
        const double carried = twist[before] + spin[before] * spin[before];
        const double sliding = norm(reach.slides, j, accelerations, reach.nv) + 2.0 * spin[j] * slide;
        push[j] = push[before] + carried * length + sliding;
    }
}

}  // namespace native
