#include "force_cones.hpp"

#include <algorithm>
#include <cmath>

#include "cone_program.hpp"
#include "linear.hpp"

namespace native {

namespace {

using Vector = std::vector<double>;

constexpr int MOST_CUTS = 100;  // of the way along which margins are looked at; two or three are the rule
constexpr double SPENT = 1e-14;  // growth of a non-negative solution that is rounding, relative to its column

double product(const Vector& a, const Vector& b) {
    double sum = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
    return sum;
}

double rubbing(const ForceCone& cone, const Vector& forces) {
    double sum = 0.0;
    for (int d = 1; d <= cone.width; ++d) sum = std::hypot(sum, forces[cone.normal + d]);
    return sum;
}

// What forces are divided by, so that a program is one of numbers of about one.
double scale_of(const std::vector<ForceCone>& cones, const ForceRules& rules, const Vector& forces) {
    double largest = rules.smallest_force;
    for (const ForceCone& cone : cones) {
        for (int d = 0; d <= cone.width; ++d) largest = std::max(largest, std::abs(forces[cone.normal + d]));
    }
    return largest;
}

// A row a . y + b.
struct Row {
    Vector a;
    double b;
    double at(const Vector& y) const { return product(a, y) + b; }
};

Row row_of(const Vectors& moves, const Vector& forces, double scale, int row, double factor) {
    Row found{Vector(moves.size()), factor * forces[row] / scale};
    for (std::size_t j = 0; j < moves.size(); ++j) found.a[j] = factor * moves[j][row];
    return found;
}

// A row of forces of unit size: those of one normal force, and where there is friction those of mu lam_n and lam_t.
struct ConeRows {
    Row normal;
    std::vector<Row> cone;
};

// How far the forces at y are outside of a cone, and if that is more than `outside` the tangent plane at which they are.
double plane_at(const ConeRows& rows, const Vector& y, double outside, Row& found) {
    if (rows.cone.empty()) return 0.0;
    Vector aside;
    double size = 0.0;
    for (std::size_t d = 1; d < rows.cone.size(); ++d) {
        aside.push_back(rows.cone[d].at(y));
        size = std::hypot(size, aside.back());
    }
    const double off = size - rows.cone[0].at(y);
    if (off <= outside) return off;
    found = rows.cone[0];
    for (std::size_t d = 0; d < aside.size(); ++d) {
        const double share = aside[d] / size;
        for (std::size_t j = 0; j < y.size(); ++j) found.a[j] -= share * rows.cone[1 + d].a[j];
        found.b -= share * rows.cone[1 + d].b;
    }
    return off;
}

// The u (k,) that minimises |sum u_i columns_i - target|, columns that are independent, by Gram and Schmidt.
Vector least_squares(const Vectors& columns, const Vector& target) {
    Vectors unit;
    const std::size_t k = columns.size();
    Vector triangle(k * k, 0.0), found(k);
    for (std::size_t i = 0; i < k; ++i) {
        Vector own = columns[i];
        for (int twice = 0; twice < 2; ++twice) {
            for (std::size_t j = 0; j < i; ++j) triangle[j * k + i] += take(own, unit[j]);
        }
        triangle[i * k + i] = length_of(own);
        scale(own, 1.0 / triangle[i * k + i]);
        unit.push_back(own);
    }
    Vector left = target;
    for (std::size_t i = 0; i < k; ++i) found[i] = take(left, unit[i]);
    for (std::size_t i = k; i-- > 0;) {
        for (std::size_t j = i + 1; j < k; ++j) found[i] -= triangle[i * k + j] * found[j];
        found[i] /= triangle[i * k + i];
    }
    return found;
}

// Non-negative least squares: the u >= 0 that minimises |sum u_i columns_i - target|, as the residual at it.
// Source: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
class NonNegative {
  public:
    NonNegative(const Vectors& columns, const Vector& target) : columns_(columns), target_(target) {
        u_.assign(columns.size(), 0.0), active_.assign(columns.size(), false), barred_ = active_;
    }

    // False where it runs in circles.
    bool residual(Vector& found) {
        for (std::size_t round = 0; round <= 3 * columns_.size(); ++round) {
            found = target_;
            for (std::size_t i = 0; i < u_.size(); ++i) {
                for (std::size_t k = 0; k < found.size(); ++k) found[k] -= u_[i] * columns_[i][k];
            }
            const int next = steepest(found);
            if (next < 0) {
                scale(found, -1.0);
                return true;
            }
            active_[next] = true;
            descend();
            // One that leaves at once seemed to lead down by rounding alone: it waits until another one does.
            if (active_[next]) barred_.assign(barred_.size(), false);
            else barred_[next] = true;
        }
        return false;
    }

  private:
    const Vectors& columns_;
    const Vector& target_;
    Vector u_;
    std::vector<char> active_, barred_;

    // The column along which the residual falls fastest; -1: along none.
    int steepest(const Vector& residual) const {
        int found = -1;
        double most = 0.0;
        for (std::size_t i = 0; i < u_.size(); ++i) {
            if (active_[i] || barred_[i]) continue;
            const double size = length_of(columns_[i]), along = product(columns_[i], residual);
            if (along > SPENT * size && along / size > most) most = along / size, found = static_cast<int>(i);
        }
        return found;
    }

    // The least squares of the active columns, of which those that would turn negative leave.
    void descend() {
        while (true) {
            Vectors own;
            std::vector<std::size_t> places;
            for (std::size_t i = 0; i < u_.size(); ++i) {
                if (active_[i]) own.push_back(columns_[i]), places.push_back(i);
            }
            const Vector wanted = least_squares(own, target_);
            double share = 1.0;
            for (std::size_t k = 0; k < places.size(); ++k) {
                const double now = u_[places[k]];
                if (wanted[k] <= 0.0) share = std::min(share, now > 0.0 ? now / (now - wanted[k]) : 0.0);
            }
            bool left = false;
            for (std::size_t k = 0; k < places.size(); ++k) {
                double& now = u_[places[k]];
                now += share * (wanted[k] - now);
                if (wanted[k] > 0.0 || now > 0.0) continue;
                now = 0.0, active_[places[k]] = false, left = true;
            }
            if (!left) return;
        }
    }
};

// The smallest y (p,) with all rows a . y + b >= 0; none where there is none.
std::optional<Vector> least_distance(const std::vector<Row>& rows, int p, double least) {
    Vectors columns;
    for (const Row& row : rows) {
        columns.push_back(row.a);
        columns.back().push_back(-row.b);
    }
    Vector target(p + 1, 0.0), residual;
    target[p] = 1.0;
    if (!NonNegative(columns, target).residual(residual) || !(-residual[p] > least)) return std::nullopt;
    const double last = residual[p];
    residual.pop_back();
    for (double& one : residual) one /= -last;
    return residual;
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

    // Where it is largest, of one that rises and falls.
    double top() const {
        const double size = length_of(d), lowest = -product(c, d) / (size * size);
        return lowest + b * tangential(lowest) / (size * std::sqrt((size - b) * (size + b)));
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
    const auto add = [&](int of, double factor, bool head) {
        const Row row = row_of(moves, forces, size, of, factor);
        for (const double one : row.a) program.matrix.push_back(-one);
        program.matrix.push_back(head ? 1.0 : 0.0);
        program.right.push_back(row.b);
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

// A cone is the meet of its tangent planes, of which those are taken, one after the other, at which the forces so far
// are outside, until they are inside, or as near to it as rounding lets them.
std::optional<std::vector<double>> smallest_inside(const std::vector<ForceCone>& cones, const Vectors& moves,
                                                   const ForceRules& rules, const std::vector<double>& forces) {
    const int p = static_cast<int>(moves.size());
    const double size = scale_of(cones, rules, forces);
    std::vector<ConeRows> all;
    std::vector<Row> planes;
    for (const ForceCone& cone : cones) {
        ConeRows own{row_of(moves, forces, size, cone.normal, 1.0), {}};
        planes.push_back(own.normal);
        if (cone.width) own.cone.push_back(row_of(moves, forces, size, cone.normal, cone.friction));
        for (int d = 1; d <= cone.width; ++d) own.cone.push_back(row_of(moves, forces, size, cone.normal + d, 1.0));
        all.push_back(own);
    }
    std::optional<std::vector<double>> y = std::vector<double>(p, 0.0);
    double before = INFINITY;
    for (int cut = 0; cut < rules.cuts; ++cut) {
        double off = 0.0;
        for (const Row& row : planes) off = std::max(off, -row.at(*y));
        Row plane;
        for (const ConeRows& own : all) {
            const double outside = plane_at(own, *y, rules.outside, plane);
            if (outside > rules.outside) planes.push_back(plane);
            off = std::max(off, outside);
        }
        const bool falls = off <= 0.5 * before;
        before = off;
        if (off <= rules.outside || (off <= rules.residual && !falls)) break;
        y = least_distance(planes, p, rules.residual);
        if (!y) return y;
    }
    if (before > rules.residual) return std::nullopt;
    scale(*y, size);
    return y;
}

void add_moves(std::vector<double>& forces, const Vectors& moves, const std::vector<double>& y) {
    for (std::size_t j = 0; j < moves.size(); ++j) {
        for (std::size_t i = 0; i < forces.size(); ++i) forces[i] += y[j] * moves[j][i];
    }
}

}  // namespace native
