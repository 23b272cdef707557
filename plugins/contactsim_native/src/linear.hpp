// Small linear systems with a verdict: regular ones by their factors, clearly singular ones by their smallest solution.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace native {

// x with A x = b, by Gauss with partial pivoting, in place; false where A is singular. The determinant of A is told.
inline bool solve_dense(std::vector<double>& a, std::vector<double>& b, int n, double* determinant = nullptr) {
    if (determinant) *determinant = 1.0;
    const bool large = n > 24;  // of which many numbers may be zero
    std::vector<int> filled;
    for (int k = 0; k < n; ++k) {
        int pivot = k;
        for (int i = k + 1; i < n; ++i) {
            if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
        }
        if (determinant) *determinant *= pivot == k ? a[k * n + k] : -a[pivot * n + k];
        if (a[pivot * n + k] == 0.0) return false;
        if (pivot != k) {
            std::swap_ranges(&a[k * n], &a[k * n] + n, &a[pivot * n]);
            std::swap(b[k], b[pivot]);
        }
        // Rows of contacts that have nothing to do with each other have few numbers in common.
        const double* row = &a[k * n];
        filled.clear();
        for (int j = k + 1; j < n && large; ++j) {
            if (row[j] != 0.0) filled.push_back(j);
        }
        const bool sparse = large && 4 * filled.size() < static_cast<std::size_t>(n - k);
        for (int i = k + 1; i < n; ++i) {
            const double share = a[i * n + k] / row[k];
            if (share == 0.0) continue;
            double* own = &a[i * n];
            if (sparse) {
                for (const int j : filled) own[j] -= share * row[j];
            } else {
                for (int j = k + 1; j < n; ++j) own[j] -= share * row[j];
            }
            b[i] -= share * b[k];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
    return true;
}

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

inline double length_of(const std::vector<double>& a) {
    double sum = 0.0;
    for (const double one : a) sum += one * one;
    return std::sqrt(sum);
}

inline void scale(std::vector<double>& a, double factor) {
    for (double& one : a) one *= factor;
}

// Takes from a what it has along a unit vector, which is returned.
inline double take(std::vector<double>& a, const std::vector<double>& unit) {
    double along = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) along += a[k] * unit[k];
    for (std::size_t k = 0; k < a.size(); ++k) a[k] -= along * unit[k];
    return along;
}

// Orthonormal vectors that span some given ones; false where their rank is not clear: one beyond it has more than the
// share `rank` of the largest one outside of those before it, or one within it less than `clear`.
inline bool orthonormal(std::vector<std::vector<double>> left, double rank, double clear,
                        std::vector<std::vector<double>>& found) {
    double largest = 0.0;
    found.clear();
    for (std::size_t r = 0, most = left.size(); r < most; ++r) {
        const auto longest = std::max_element(left.begin(), left.end(),
                                              [](const auto& a, const auto& b) { return length_of(a) < length_of(b); });
        const double length = length_of(*longest);
        largest = std::max(largest, length);
        if (!(length > rank * largest)) break;
        if (length < clear * largest) return false;
        std::vector<double> own = *longest;
        for (const std::vector<double>& other : found) take(own, other);  // once more: rounding of those before it
        scale(own, 1.0 / length_of(own));
        for (std::vector<double>& one : left) take(one, own);
        found.push_back(own);
    }
    return true;
}

// Orthonormal vectors (n,) that a matrix (m, n), given row by row, takes to zero; false where its rank is not clear.
inline bool null_space(const std::vector<std::vector<double>>& rows, int n, double rank, double clear,
                       std::vector<std::vector<double>>& found) {
    std::vector<std::vector<double>> range, left(n, std::vector<double>(n));
    if (!orthonormal(rows, rank, clear, range)) return false;
    for (int k = 0; k < n; ++k) {
        left[k][k] = 1.0;
        for (const std::vector<double>& one : range) take(left[k], one);
    }
    found.clear();
    while (range.size() < std::size_t(n)) {
        std::vector<double> own = *std::max_element(
            left.begin(), left.end(), [](const auto& a, const auto& b) { return length_of(a) < length_of(b); });
        for (const std::vector<double>& one : range) take(own, one);
        scale(own, 1.0 / length_of(own));
        for (std::vector<double>& one : left) take(one, own);
        range.push_back(own), found.push_back(own);
    }
    return true;
}

// Moore and Penrose's inverse of a square matrix that is clearly singular, A = Q L Z^T with orthonormal Q and Z.
class Smallest {
  public:
    // False where the matrix is regular, or its rank is not clear: see `orthonormal`.
    bool factorise(const std::vector<double>& matrix, int n, double rank, double clear) {
        std::vector<std::vector<double>> columns(n, std::vector<double>(n));
        for (int j = 0; j < n; ++j) {
            for (int i = 0; i < n; ++i) columns[j][i] = matrix[i * n + j];
        }
        if (!orthonormal(columns, rank, clear, q_)) return false;
        n_ = n, r_ = static_cast<int>(q_.size());
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
            l_[i * r_ + i] = length_of(row);
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
