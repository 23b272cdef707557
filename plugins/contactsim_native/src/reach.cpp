#include "reach.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace native {

Squares::Squares(std::vector<double> numbers, int rows)
    : width_(static_cast<int>(numbers.size()) / rows), numbers_(std::move(numbers)), parts_(rows, {width_, 0}) {
    for (int row = 0; row < rows; ++row) {
        for (int k = 0; k < width_; ++k) {
            if (numbers_[row * width_ + k] == 0.0) continue;
            parts_[row].first = std::min(parts_[row].first, k), parts_[row].end = k + 1;
        }
    }
}

double Squares::norm(int row, const double* numbers) const {
    const double* own = numbers_.data() + row * width_;
    double sum = 0.0;
    for (int k = parts_[row].first; k < parts_[row].end; ++k) sum += own[k] * numbers[k] * numbers[k];
    return std::sqrt(sum);
}

// |c'| <= sum (Omega l + u), |c''| <= sum ((alpha + Omega^2) l + u' + 2 Omega u) over the segments before a point.
void Sway::along(const Reach& reach, const double* q, const double* speeds, const double* accelerations,
                 double duration) {
    const int n = reach.joints;
    spin.assign(n, 0.0), speed.assign(n, 0.0), twist.assign(n, 0.0), push.assign(n, 0.0);
    changes.assign(n, 0.0);
    for (int j = 1; j < n; ++j) {
        const int before = reach.parent[j];
        const double slide = reach.slides.norm(j, speeds);
        const double length = reach.length[j] + reach.places.norm(j, q) + duration * slide;
        spin[j] = spin[before] + reach.turns.norm(j, speeds);
        speed[j] = speed[before] + spin[before] * length + slide;
        changes[j] = changes[before] + reach.turns.norm(j, accelerations);
        twist[j] = changes[j] + 0.5 * spin[j] * spin[j];
        const double carried = twist[before] + spin[before] * spin[before];
        const double sliding = reach.slides.norm(j, accelerations) + 2.0 * spin[j] * slide;
        push[j] = push[before] + carried * length + sliding;
    }
}

}  // namespace native
