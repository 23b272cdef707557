#include "minima.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace native {

namespace {

struct Lowest {
    double value, t;
};

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Bound of |g''| between two looks; infinite where the guard is smooth at one of them alone, or in two pieces.
double bend_of(const Look& a, const Look& b, const Bounds& bounds) {
    if (a.smooth != b.smooth || a.piece != b.piece) return INFINITE;
    if (a.smooth) return bounds.bend;
    return a.apart || b.apart ? INFINITE : bounds.rough;
}

// Lower bound of a guard between two looks, and where it could be so low.
Lowest lowest(const Look& a, const Look& b, const Bounds& bounds) {
    const double h = b.t - a.t, speed = bounds.speed, bend = bend_of(a, b, bounds);
    double low = 0.5 * (a.value + b.value - speed * h);
    double place = 0.5 * (speed > 0.0 ? h + (a.value - b.value) / speed : h);
    if (!(bend < INFINITE)) return {std::min({low, a.value, b.value}), a.t + place};
    // Both parabolas bend alike: they meet once, and in between each is concave.
    const double apart = a.value - b.value + h * (b.rate + 0.5 * bend * h), closing = bend * h + b.rate - a.rate;
    const double meet = closing > 0.0 ? std::min(std::max(apart / closing, 0.0), h) : h;
    const double curved = a.value + meet * (a.rate - 0.5 * bend * meet);
    if (curved > low) low = curved, place = meet;
    return {std::min({low, a.value, b.value}), a.t + place};
}

bool is_clear(const Look& before, const Look& after, const Bounds& bounds) {
    const double start = before.t, end = after.t, h = end - start;
    const double margin = std::max({bounds.error(start), bounds.error(end), bounds.error(0.5 * (start + end))});
    const double bend = bend_of(before, after, bounds);
    const double sag = bend < INFINITE ? 0.125 * bend * h * h : 0.5 * bounds.speed * h;
    return lowest(before, after, bounds).value > margin || sag <= bounds.least;
}

// Where the cubic through two looks is least, and how low; false where that is not in between.
bool bottom_of(const Look& a, const Look& b, Lowest& found) {
    if (!(a.rate < 0.0 && 0.0 < b.rate)) return false;
    const double h = b.t - a.t, rise = (b.value - a.value) / h;
    const double two = (3.0 * rise - 2.0 * a.rate - b.rate) / h, three = (a.rate + b.rate - 2.0 * rise) / (h * h);
    const double root = two * two - 3.0 * three * a.rate;
    double s = root >= 0.0 && two + std::sqrt(root) > 0.0 ? -a.rate / (two + std::sqrt(root)) : 0.5 * h;
    s = std::min(std::max(s, 0.0), h);
    found = {a.value + s * (a.rate + s * (two + s * three)), a.t + s};
    return true;
}

double bend_between(const Look& a, const Look& b) {
    return std::abs(b.rate - a.rate) / (b.t - a.t);
}

}  // namespace

Fall first_fall(const std::function<Look(double)>& look, const Look& start, const Look& end, Bounds bounds,
                const Looking& rules) {
    Look before = start;
    std::vector<Look> behind{end};
    int looks = 0;
    double seen = 0.0;
    const double part = (end.t - start.t) / rules.parts_apart;
    while (!behind.empty()) {
        const Look after = behind.back();
        if (std::isnan(before.value) || std::isnan(after.value)) return {false, false, NAN, NAN};
        if (after.value <= 0.0) return {after.value <= -bounds.error(after.t), true, before.t, after.t};
        const bool idle = before.apart && after.apart && after.t - before.t <= part;
        if (idle || is_clear(before, after, bounds)) {
            before = after;
            behind.pop_back();
            continue;
        }
        const double h = after.t - before.t;
        Lowest bottom;
        const bool has_bottom = bottom_of(before, after, bottom);
        if (has_bottom) {
            const double error = bounds.error(bottom.t);
            if (std::abs(bottom.value) <= error && 0.125 * bounds.bend * h * h <= error) {
                return {false, false, before.t, bottom.t};
            }
        }
        const double place = has_bottom ? bottom.t : lowest(before, after, bounds).t;
        const double middle = before.t + std::min(std::max(place - before.t, rules.least * h), rules.most * h);
        if (!(before.t < middle && middle < after.t)) {
            before = after;
            behind.pop_back();
            continue;
        }
        behind.push_back(look(middle));
        ++looks;
        seen = std::max({seen, bend_between(before, behind.back()), bend_between(behind.back(), after)});
        if (looks >= rules.looks) bounds.rough = rules.seen * seen, bounds.bend = std::min(bounds.bend, bounds.rough);
    }
    return {};
}

double time_to_fall(double value, double rate, double bend) {
    const double discriminant = rate * rate - 2.0 * bend * value;
    if (discriminant < 0.0 || (bend >= 0.0 && rate >= 0.0)) return std::numeric_limits<double>::infinity();
    const double root = std::sqrt(discriminant);
    return bend < 0.0 ? (rate + root) / -bend : 2.0 * value / (root - rate);
}

}  // namespace native
