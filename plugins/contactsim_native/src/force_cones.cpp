#include "force_cones.hpp"

#include <algorithm>
#include <cmath>

#include "cone_program.hpp"
#include "linear.hpp"

namespace native {

namespace {

using Vector = std::vector<double>;

constexpr int MOST_CUTS = 100;  // of the way along which margins are looked at; two or three are the rule

double rubbing(const ForceCone& cone, const Vector& forces) {
    double sum = 0.0;
    for (int d = 1; d <= cone.width; ++d) sum = std::hypot(sum, forces[cone.normal + d]);
    return sum;
}

// A margin a + b y - |c + d y| of forces that change along a line; without friction a + b y.
struct Margin {
    double a, b;
    Vector c, d;

    double tangential(double y) const {
        double size = 0.0;
        for (std::size_t k = 0; k < c.size(); ++k) size = std::hypot(size, c[k] + d[k] * y);
        return size;
    }

    double at(double y) const { return a + b * y - tangential(y); }

    // Its derivative; at the tip of its cone that of the normal force.
    double slope(double y) const {
        const double size = tangential(y);
        double along = 0.0;
        for (std::size_t k = 0; k < c.size(); ++k) along += (c[k] + d[k] * y) * d[k];
        return size > 0.0 ? b - along / size : b;
    }

    // Its derivative where y goes to plus or minus infinity.
    double farthest_slope(double sense) const { return b - sense * length_of(d); }

    // Where it is largest, of one that rises and falls; of one that is level on, but for rounding, where that begins.
    double top() const {
        const double size = length_of(d), lowest = -dot_of(c, d) / (size * size);
        const double left = tangential(lowest), fall = (size - b) * (size + b);
        if (left == 0.0) return lowest;
        return fall > 0.0 ? lowest + b * left / (size * std::sqrt(fall)) : std::copysign(HUGE_VAL, b);
    }
};

// The y at which the least of some margins is largest. The least one is concave: between a y where it rises and one
// where it falls it is looked at where the two that are the least ones there meet, or at the top of the one that is so
// at both.
class Highest {
  public:
    explicit Highest(std::vector<Margin> margins) : margins_(std::move(margins)) {}

    // None where it has no bound.
    std::optional<double> find() const {
        bool falls = false, rises = false;
        for (const Margin& one : margins_) {
            falls = falls || one.farthest_slope(1.0) < 0.0, rises = rises || one.farthest_slope(-1.0) > 0.0;
        }
        if (!falls || !rises) return std::nullopt;
        double low = beyond(-1.0), high = beyond(1.0);
        const Margin *left = &least(low), *right = &least(high);
        for (int cut = 0; cut < MOST_CUTS; ++cut) {
            const double y = std::clamp(left == right ? left->top() : meeting(*left, *right, low, high), low, high);
            const Margin* here = &least(y);
            if (here->at(y) >= std::min(left->at(y), right->at(y))) {
                const bool down = left->slope(y) < 0.0, up = right->slope(y) > 0.0;
                if (left == right || !(down || up)) return y;
                here = down ? left : right;
            }
            if (here->slope(y) > 0.0) {
                low = y, left = here;
            } else {
                high = y, right = here;
            }
        }
        return std::nullopt;
    }

  private:
    std::vector<Margin> margins_;

    const Margin& least(double y) const {
        return *std::min_element(margins_.begin(), margins_.end(),
                                 [y](const Margin& one, const Margin& other) { return one.at(y) < other.at(y); });
    }

    // A y behind the place where the least margin is largest.
    double beyond(double sense) const {
        double size = 0.0, pace = 0.0;
        for (const Margin& one : margins_) {
            size = std::max(size, std::abs(one.a) + length_of(one.c));
            pace = std::max(pace, std::abs(one.b) + length_of(one.d));
        }
        double y = sense * (size > 0.0 ? size : 1.0) / pace;
        while (least(y).slope(y) * sense >= 0.0) y *= 2.0;
        return y;
    }

    // Where two margins are the same, of which the left one is the lower one at `low`, the other one at `high`.
    static double meeting(const Margin& left, const Margin& right, double low, double high) {
        if (left.d.empty() && right.d.empty()) return (right.a - left.a) / (left.b - right.b);
        const auto above = [&](double y) { return left.at(y) - right.at(y); };
        if (above(low) >= 0.0) return low;
        if (above(high) <= 0.0) return high;
        for (double middle = 0.5 * (low + high); low < middle && middle < high; middle = 0.5 * (low + high)) {
            (above(middle) < 0.0 ? low : high) = middle;
        }
        return low;
    }
};

// Margins of forces of unit size along one move.
std::vector<Margin> along(const std::vector<ForceCone>& cones, const Vectors& moves, const Vector& forces,
                          double scale) {
    std::vector<Margin> found;
    const Vector& move = moves[0];
    for (const ForceCone& cone : cones) {
        const int n = cone.normal;
        found.push_back({forces[n] / scale, move[n], {}, {}});
        if (!cone.width) continue;
        Margin rubbing{cone.friction * forces[n] / scale, cone.friction * move[n], {}, {}};
        for (int d = 1; d <= cone.width; ++d) {
            rubbing.c.push_back(forces[n + d] / scale), rubbing.d.push_back(move[n + d]);
        }
        found.push_back(rubbing);
    }
    return found;
}

}  // namespace

double ForceRow::at(const std::vector<double>& y) const {
    return dot_of(a, y) + b;
}

double scale_of(const std::vector<ForceCone>& cones, const ForceRules& rules, const std::vector<double>& forces) {
    double largest = rules.smallest_force;
    for (const ForceCone& cone : cones) {
        for (int d = 0; d <= cone.width; ++d) largest = std::max(largest, std::abs(forces[cone.normal + d]));
    }
    return largest;
}

ForceRow row_of(const Vectors& moves, const std::vector<double>& forces, double scale, int row, double factor) {
    ForceRow found{Vector(moves.size()), factor * forces[row] / scale};
    for (std::size_t j = 0; j < moves.size(); ++j) found.a[j] = factor * moves[j][row];
    return found;
}

double least_margin(const std::vector<ForceCone>& cones, const std::vector<double>& forces) {
    double least = INFINITY;
    for (const ForceCone& cone : cones) {
        least = std::min(least, forces[cone.normal]);
        if (cone.width) least = std::min(least, cone.friction * forces[cone.normal] - rubbing(cone, forces));
    }
    return least;
}

// Along one way, the highest margin. Else variables (y, r), with normal forces of at least r, and friction of at most
// mu lam_n - r, of which r is to be largest.
std::optional<std::vector<double>> farthest_inside(const std::vector<ForceCone>& cones, const Vectors& moves,
                                                   const ForceRules& rules, const std::vector<double>& forces) {
    const int p = static_cast<int>(moves.size()), n = p + 1;
    const double size = scale_of(cones, rules, forces);
    if (p == 1) {
        if (const auto y = Highest(along(cones, moves, forces, size)).find()) return Vector{size * *y};
    }
    ConeProgram program;
    program.cost.assign(n, 0.0), program.cost[p] = -1.0;
    program.matrix.reserve(4 * n * cones.size());
    const auto add = [&](int of, double factor, bool head) {
        for (const Vector& move : moves) program.matrix.push_back(-factor * move[of]);
        program.matrix.push_back(head ? 1.0 : 0.0);
        program.right.push_back(factor * forces[of] / size);
    };
    for (const ForceCone& cone : cones) {
        add(cone.normal, 1.0, true), program.sizes.push_back(1);
        if (!cone.width) continue;
        add(cone.normal, cone.friction, true), program.sizes.push_back(1 + cone.width);
        for (int d = 1; d <= cone.width; ++d) add(cone.normal + d, 1.0, false);
    }
    std::vector<double> x(n, 0.0);
    x[p] = least_margin(cones, forces) / size - 1.0;
    if (!minimise(program, rules.accuracy, x)) return std::nullopt;
    x.pop_back();
    scale(x, size);
    return x;
}

void add_moves(std::vector<double>& forces, const Vectors& moves, const std::vector<double>& y) {
    for (std::size_t j = 0; j < moves.size(); ++j) {
        for (std::size_t i = 0; i < forces.size(); ++i) forces[i] += y[j] * moves[j][i];
    }
}

}  // namespace native
