#include "least_distance.hpp"

#include <algorithm>

namespace native {

namespace {

using Vector = std::vector<double>;
using Vectors = std::vector<Vector>;

constexpr double SPENT = 1e-14;  // growth of a non-negative solution that is rounding, relative to its column

// The u (k,) that minimises |sum u_i columns_i - target|; false where a column is a sum of others.
bool least_squares(const Vectors& columns, const Vector& target, Vector& found) {
    const Triangle factors(columns);
    if (factors.least_left() <= SPENT) return false;
    Vector left = target;
    for (const Vector& unit : factors.unit()) found.push_back(take(left, unit));
    factors.solve(found);
    return true;
}

// Non-negative least squares: the u >= 0 that minimises |sum u_i columns_i - target|, as the residual at it.
// Source: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
class NonNegative {
  public:
    NonNegative(const Vectors& columns, const Vector& target) : columns_(columns), target_(target) {
        u_.assign(columns.size(), 0.0), active_.assign(columns.size(), false), barred_ = active_;
    }

    const Vector& solution() const { return u_; }

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
            if (!descend()) active_[next] = false;
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
            const double size = length_of(columns_[i]), along = dot_of(columns_[i], residual);
            if (along > SPENT * size && along / size > most) most = along / size, found = static_cast<int>(i);
        }
        return found;
    }

    // The least squares of the active columns, of which those that would turn negative leave; false where one of them
    // is a sum of others.
    bool descend() {
        while (true) {
            Vectors own;
            std::vector<std::size_t> places;
            for (std::size_t i = 0; i < u_.size(); ++i) {
                if (active_[i]) own.push_back(columns_[i]), places.push_back(i);
            }
            Vector wanted;
            if (!least_squares(own, target_, wanted)) return false;
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
            if (!left) return true;
        }
    }
};

}  // namespace

Triangle::Triangle(const Vectors& columns) : size_(columns.size()) {
    r_.assign(size_ * size_, 0.0);
    for (std::size_t i = 0; i < size_; ++i) {
        Vector own = columns[i];
        for (int twice = 0; twice < 2; ++twice) {
            for (std::size_t j = 0; j < i; ++j) r_[j * size_ + i] += take(own, unit_[j]);
        }
        const double length = length_of(columns[i]);
        r_[i * size_ + i] = length_of(own);
        least_left_ = length > 0.0 ? std::min(least_left_, r_[i * size_ + i] / length) : 0.0;
        scale(own, 1.0 / r_[i * size_ + i]);
        unit_.push_back(own);
    }
}

void Triangle::solve(Vector& b) const {
    for (std::size_t i = size_; i-- > 0;) {
        for (std::size_t j = i + 1; j < size_; ++j) b[i] -= r_[i * size_ + j] * b[j];
        b[i] /= r_[i * size_ + i];
    }
}

void Triangle::solve_transposed(Vector& b) const {
    for (std::size_t i = 0; i < size_; ++i) {
        for (std::size_t j = 0; j < i; ++j) b[i] -= r_[j * size_ + i] * b[j];
        b[i] /= r_[i * size_ + i];
    }
}

bool least_distance(const std::vector<HalfSpace>& spaces, int p, double least, LeastDistance& found) {
    Vectors columns;
    for (const HalfSpace& space : spaces) {
        columns.push_back(space.a);
        columns.back().push_back(space.b);
    }
    Vector target(p + 1, 0.0);
    target[p] = 1.0;
    NonNegative program(columns, target);
    if (!program.residual(found.place) || !(-found.place[p] > least)) return false;
    const double last = -found.place[p];
    found.place.pop_back(), found.multipliers = program.solution();
    scale(found.place, 1.0 / last), scale(found.multipliers, 1.0 / last);
    return true;
}

}  // namespace native
