// The point of least distance from the origin within half spaces, by non-negative least squares.
#pragma once

#include <cmath>
#include <vector>

#include "linear.hpp"

namespace native {

// Vectors as Q R, with Q orthonormal and R an upper triangle, each one taken twice from those before it.
class Triangle {
  public:
    explicit Triangle(const std::vector<std::vector<double>>& columns);

    const std::vector<std::vector<double>>& unit() const { return unit_; }

    // What the others leave of the vector that they leave least of, relative to it.
    double least_left() const { return least_left_; }

    // x with R x = b, in place; and with R^T x = b.
    void solve(std::vector<double>& b) const;
    void solve_transposed(std::vector<double>& b) const;

  private:
    std::vector<std::vector<double>> unit_;
    std::vector<double> r_;
    std::size_t size_;
    double least_left_ = 1.0;
};

struct HalfSpace {
    std::vector<double> a;  // a . w >= b
    double b;
};

struct LeastDistance {
    std::vector<double> place, multipliers;
};

// The shortest w (p,) within all half spaces, and their multipliers; false where there is none shorter than about
// 1 / sqrt(least). Source: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
bool least_distance(const std::vector<HalfSpace>& spaces, int p, double least, LeastDistance& found);

}  // namespace native
