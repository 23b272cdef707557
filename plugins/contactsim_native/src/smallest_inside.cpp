// The smallest forces within their cones. As contactsim's contact/smallest_in_cones.py.
#include <algorithm>
#include <cmath>

#include "force_cones.hpp"
#include "least_distance.hpp"
#include "linear.hpp"

namespace native {

namespace {

using Vector = std::vector<double>;

// One cone of forces of unit size: a normal force that is at least 0, or mu lam_n and lam_t, and planes that touch it.
class TouchedCone {
  public:
    explicit TouchedCone(std::vector<ForceRow> rows) : rows_(std::move(rows)) {
        if (rows_.size() == 1) planes_.push_back({1.0});
    }

    // How far the forces at y are outside; the plane that touches the cone there is noted.
    double off(const ForceRules& rules, const Vector& y) {
        if (rows_.size() == 1) return -rows_[0].at(y);
        Vector plane{1.0};
        size_ = 0.0;
        for (std::size_t d = 1; d < rows_.size(); ++d) {
            plane.push_back(-rows_[d].at(y));
            size_ = std::hypot(size_, plane.back());
        }
        if (size_ > rules.smallest_force) {
            for (std::size_t d = 1; d < plane.size(); ++d) plane[d] /= size_;
            const auto near = [&](const Vector& one) { return distance(one, plane) <= rules.apart; };
            planes_.erase(std::remove_if(planes_.begin(), planes_.end(), near), planes_.end());
            planes_.push_back(plane);
        } else if (planes_.empty()) {
            planes_.emplace_back(rows_.size(), 0.0);
            planes_.back()[0] = 1.0;
        }
        return size_ - rows_[0].at(y);
    }

    // The half spaces of y behind its planes.
    void add_half_spaces(std::vector<HalfSpace>& spaces) const {
        for (const Vector& plane : planes_) {
            HalfSpace own{Vector(rows_[0].a.size(), 0.0), 0.0};
            for (std::size_t d = 0; d < plane.size(); ++d) {
                for (std::size_t j = 0; j < own.a.size(); ++j) own.a[j] += plane[d] * rows_[d].a[j];
                own.b -= plane[d] * rows_[d].b;
            }
            spaces.push_back(own);
        }
    }

    // Rows F: -F^T F is the second derivative of the distance from the edge, times the multipliers of its planes, which
    // begin at `first`.
    void add_bends(const ForceRules& rules, const Vector& multipliers, std::size_t& first, Vectors& bends) const {
        double pressed = 0.0;
        for (std::size_t k = 0; k < planes_.size(); ++k) pressed += multipliers[first++];
        if (rows_.size() == 1 || size_ <= rules.smallest_force || pressed == 0.0) return;
        const Vector& plane = planes_.back();
        Vector inwards(rows_[0].a.size(), 0.0);
        for (std::size_t d = 1; d < plane.size(); ++d) {
            for (std::size_t j = 0; j < inwards.size(); ++j) inwards[j] += plane[d] * rows_[d].a[j];
        }
        for (std::size_t d = 1; d < plane.size(); ++d) {
            bends.push_back(rows_[d].a);
            for (std::size_t j = 0; j < inwards.size(); ++j) bends.back()[j] -= plane[d] * inwards[j];
            scale(bends.back(), std::sqrt(pressed / size_));
        }
    }

  private:
    std::vector<ForceRow> rows_;
    Vectors planes_;
    double size_ = INFINITY;

    static double distance(const Vector& one, const Vector& other) {
        double sum = 0.0;
        for (std::size_t d = 0; d < one.size(); ++d) sum = std::hypot(sum, one[d] - other[d]);
        return sum;
    }
};

std::vector<TouchedCone> touched(const std::vector<ForceCone>& cones, const Vectors& moves, const Vector& forces,
                                 double size) {
    std::vector<TouchedCone> found;
    for (const ForceCone& cone : cones) {
        found.emplace_back(std::vector<ForceRow>{row_of(moves, forces, size, cone.normal, 1.0)});
        if (!cone.width) continue;
        std::vector<ForceRow> rows{row_of(moves, forces, size, cone.normal, cone.friction)};
        for (int d = 1; d <= cone.width; ++d) rows.push_back(row_of(moves, forces, size, cone.normal + d, 1.0));
        found.emplace_back(std::move(rows));
    }
    return found;
}

// z within half spaces that minimises |z|^2 + |F (z - y)|^2, with multipliers, in place of y; false where none is
// told.
bool step(const ForceRules& rules, std::vector<HalfSpace> spaces, const Vectors& bends, Vector& y,
          Vector& multipliers) {
    const std::size_t p = y.size();
    Vectors columns(p, Vector(p + bends.size(), 0.0));
    Vector centre(p, 0.0);
    for (std::size_t i = 0; i < bends.size(); ++i) {
        const double along = dot_of(bends[i], y);
        for (std::size_t j = 0; j < p; ++j) columns[j][p + i] = bends[i][j], centre[j] += along * bends[i][j];
    }
    for (std::size_t j = 0; j < p; ++j) columns[j][j] = 1.0;
    const Triangle root(columns);
    root.solve_transposed(centre), root.solve(centre);
    for (HalfSpace& space : spaces) {
        space.b -= dot_of(space.a, centre);
        root.solve_transposed(space.a);
    }
    LeastDistance found;
    if (!least_distance(spaces, static_cast<int>(p), rules.residual, found)) return false;
    root.solve(found.place);
    for (std::size_t j = 0; j < p; ++j) y[j] = centre[j] + found.place[j];
    multipliers = found.multipliers;
    return true;
}

}  // namespace

// By sequential quadratic programming, on planes that touch the cones at the forces so far.
std::optional<std::vector<double>> smallest_inside(const std::vector<ForceCone>& cones, const Vectors& moves,
                                                   const ForceRules& rules, const std::vector<double>& forces) {
    const double size = scale_of(cones, rules, forces);
    std::vector<TouchedCone> all = touched(cones, moves, forces, size);
    Vector y(moves.size(), 0.0), multipliers;
    Vectors bends;
    double before = INFINITY, moved = 0.0;
    for (int round = 0; round < rules.steps; ++round) {
        double off = -INFINITY;
        for (TouchedCone& cone : all) off = std::max(off, cone.off(rules, y));
        if (moved <= rules.settled && (off <= rules.outside || (0.5 * before < off && off <= rules.residual))) {
            scale(y, size);
            return y;
        }
        std::vector<HalfSpace> spaces;
        for (const TouchedCone& cone : all) cone.add_half_spaces(spaces);
        const Vector last = y;
        before = off;
        // Sharp bends make a way long that is not.
        const bool well = step(rules, spaces, bends, y, multipliers) || step(rules, spaces, {}, y, multipliers);
        if (!well) return std::nullopt;
        moved = 0.0;
        for (std::size_t j = 0; j < y.size(); ++j) moved = std::hypot(moved, y[j] - last[j]);
        if (const double size_of_y = length_of(y); size_of_y > 0.0) moved /= size_of_y;
        bends.clear();
        std::size_t first = 0;
        for (const TouchedCone& cone : all) cone.add_bends(rules, multipliers, first, bends);
    }
    return std::nullopt;
}

}  // namespace native
