// Small linear systems with a verdict: regular ones by their factors, clearly singular ones by their smallest solution.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace native {

// Triangular factors of a square matrix, by Gauss with partial pivoting.
class Factors {
  public:
    // False where the matrix is singular, or its reciprocal condition in the 1-norm is not above `least`.
    bool factorise(const std::vector<double>& matrix, int n, double least) {
        n_ = n, lu_ = matrix;
        order_.resize(n);
        for (int k = 0; k < n; ++k) {
            int pivot = k;
            for (int i = k + 1; i < n; ++i) {
                if (std::abs(lu_[i * n + k]) > std::abs(lu_[pivot * n + k])) pivot = i;
            }
            order_[k] = pivot;
            if (!(std::abs(lu_[pivot * n + k]) > 0.0)) return false;
            if (pivot != k) std::swap_ranges(&lu_[k * n], &lu_[k * n] + n, &lu_[pivot * n]);
            for (int i = k + 1; i < n; ++i) {
                const double share = lu_[i * n + k] /= lu_[k * n + k];
                for (int j = k + 1; j < n; ++j) lu_[i * n + j] -= share * lu_[k * n + j];
            }
        }
        return condition(matrix) > least;
    }

    void solve(double* b) const {
        const int n = n_;
        for (int k = 0; k < n; ++k) std::swap(b[k], b[order_[k]]);
        for (int k = 0; k < n; ++k) {
            for (int j = 0; j < k; ++j) b[k] -= lu_[k * n + j] * b[j];
        }
        for (int k = n - 1; k >= 0; --k) {
            for (int j = k + 1; j < n; ++j) b[k] -= lu_[k * n + j] * b[j];
            b[k] /= lu_[k * n + k];
        }
    }

  private:
    int n_ = 0;
    std::vector<double> lu_;
    std::vector<int> order_;

    // 1 / (|A| |A^-1|), column by column.
    double condition(const std::vector<double>& matrix) const {
        const int n = n_;
        double size = 0.0, inverse = 0.0;
        std::vector<double> column(n);
        for (int j = 0; j < n; ++j) {
            double sum = 0.0, other = 0.0;
            std::fill(column.begin(), column.end(), 0.0);
            column[j] = 1.0;
            solve(column.data());
            for (int i = 0; i < n; ++i) sum += std::abs(matrix[i * n + j]), other += std::abs(column[i]);
            size = std::max(size, sum), inverse = std::max(inverse, other);
        }
        return n ? 1.0 / (size * inverse) : 1.0;
    }
};

// Moore and Penrose's inverse of a square matrix that is clearly singular, A = Q L Z^T with orthonormal Q and Z.
class Smallest {
  public:
    // False where the rank is not clear: a column beyond it has more than the share `rank` of the largest one outside
    // of those before it, or a column within it less than `clear`.
    bool factorise(const std::vector<double>& matrix, int n, double rank, double clear) {
        n_ = n, r_ = 0;
        q_.clear();
        std::vector<std::vector<double>> left(n, std::vector<double>(n));
        for (int j = 0; j < n; ++j) {
            for (int i = 0; i < n; ++i) left[j][i] = matrix[i * n + j];
        }
        double largest = 0.0;
        for (; r_ < n; ++r_) {
            const auto longest = std::max_element(left.begin(), left.end(),
                                                  [](const auto& a, const auto& b) { return size(a) < size(b); });
            const double length = size(*longest);
            largest = std::max(largest, length);
            if (!(length > rank * largest)) break;
            if (length < clear * largest) return false;
            q_.push_back(*longest);
            std::vector<double>& own = q_.back();
            for (int k = 0; k < r_; ++k) take(own, q_[k]);  // once more: rounding of those before it
            scale(own, 1.0 / size(own));
            for (std::vector<double>& column : left) take(column, own);
        }
        if (r_ == n) return false;
        z_.assign(r_, std::vector<double>(n)), l_.assign(r_ * r_, 0.0);
        for (int i = 0; i < r_; ++i) {
            std::vector<double>& row = z_[i];
            for (int j = 0; j < n; ++j) {
                for (int k = 0; k < n; ++k) row[j] += q_[i][k] * matrix[k * n + j];
            }
            for (int twice = 0; twice < 2; ++twice) {
                for (int k = 0; k < i; ++k) l_[i * r_ + k] += take(row, z_[k]);
            }
            l_[i * r_ + i] = size(row);
            if (!(l_[i * r_ + i] > 0.0)) return false;
            scale(row, 1.0 / l_[i * r_ + i]);
        }
        return true;
    }

    // The smallest x that minimises |A x - b|, in place.
    void solve(double* b) const {
        std::vector<double> c(r_);
        for (int i = 0; i < r_; ++i) {
            for (int k = 0; k < n_; ++k) c[i] += q_[i][k] * b[k];
            for (int k = 0; k < i; ++k) c[i] -= l_[i * r_ + k] * c[k];
            c[i] /= l_[i * r_ + i];
        }
        std::fill(b, b + n_, 0.0);
        for (int i = 0; i < r_; ++i) {
            for (int k = 0; k < n_; ++k) b[k] += c[i] * z_[i][k];
        }
    }

  private:
    int n_ = 0, r_ = 0;
    std::vector<std::vector<double>> q_, z_;
    std::vector<double> l_;

    static double size(const std::vector<double>& a) {
        double sum = 0.0;
        for (const double one : a) sum += one * one;
        return std::sqrt(sum);
    }

    static void scale(std::vector<double>& a, double factor) {
        for (double& one : a) one *= factor;
    }

    // Takes from a what it has along a unit vector, which is returned.
    static double take(std::vector<double>& a, const std::vector<double>& unit) {
        double along = 0.0;
        for (std::size_t k = 0; k < a.size(); ++k) along += a[k] * unit[k];
        for (std::size_t k = 0; k < a.size(); ++k) a[k] -= along * unit[k];
        return along;
    }
};

// The smallest x that minimises |A x - b|, in place; false where it cannot be told whether A (n, n) is singular.
inline bool solve_smallest(const std::vector<double>& matrix, int n, double regular, double rank, double clear,
                           std::vector<double>& b) {
    Factors factors;
    if (factors.factorise(matrix, n, regular)) {
        factors.solve(b.data());
        return true;
    }
    Smallest smallest;
    if (!smallest.factorise(matrix, n, rank, clear)) return false;
    smallest.solve(b.data());
    return true;
}

}  // namespace native
