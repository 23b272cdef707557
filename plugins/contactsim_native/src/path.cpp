#include "path.hpp"

#include <algorithm>

namespace native {

int Path::piece(double t) const {
    const auto after = std::upper_bound(start.begin(), start.end(), t);
    return std::max(static_cast<int>(after - start.begin()) - 1, 0);
}

void Path::state(const Robot& robot, double t, std::vector<double>& x) const {
    const int k = piece(t);
    const double length = to[k] - from[k], s = length > 0.0 ? ((t - from[k]) - (to[k] - t)) / length : 0.0;
    const double *terms = &series[k * powers * dim], *origin = &base[k * size];
    thread_local std::vector<double> room;
    room.assign(3 * dim, 0.0);
    double *next = room.data(), *last = next + dim, *along = last + dim;
    for (int p = powers - 1; p >= 1; --p) {  // Clenshaw
        for (int i = 0; i < dim; ++i) {
            const double value = terms[p * dim + i] + 2.0 * s * next[i] - last[i];
            last[i] = next[i], next[i] = value;
        }
    }
    for (int i = 0; i < dim; ++i) along[i] = terms[i] + s * next[i] - last[i];
    x.resize(size);
    integrate_state(robot, size, origin, along, x.data());
}

}  // namespace native
