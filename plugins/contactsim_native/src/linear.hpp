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
    static constexpr int ESTIMATES = 5;  // of the norm of an inverse; two or three are enough

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

    // x with A^T x = b, in place.
    void solve_transposed(double* b) const {
        const int n = n_;
        for (int k = 0; k < n; ++k) {
            b[k] /= lu_[k * n + k];
            for (int j = k + 1; j < n; ++j) b[j] -= lu_[k * n + j] * b[k];
        }
        for (int k = n - 1; k >= 0; --k) {
            for (int j = 0; j < k; ++j) b[j] -= lu_[k * n + j] * b[k];
        }
        for (int k = n - 1; k >= 0; --k) std::swap(b[k], b[order_[k]]);
    }

    // 1 / (|A| |A^-1|), with an estimate of the norm of A^-1 from below that is hardly ever far off.
    // Source: Higham, Accuracy and Stability of Numerical Algorithms, 2002, algorithm 15.1.
    double condition(const std::vector<double>& matrix) const {
        const int n = n_;
        if (!n) return 1.0;
        double size = 0.0, inverse = 0.0;
        for (int j = 0; j < n; ++j) {
            double sum = 0.0;
            for (int i = 0; i < n; ++i) sum += std::abs(matrix[i * n + j]);
            size = std::max(size, sum);
        }
        std::vector<double> x(n, 1.0 / n), sense(n);
        for (int round = 0, place = -1; round < ESTIMATES; ++round) {
            solve(x.data());
            double sum = 0.0;
            for (int i = 0; i < n; ++i) sum += std::abs(x[i]), sense[i] = x[i] < 0.0 ? -1.0 : 1.0;
            if (round && sum <= inverse) break;
            inverse = sum;
            solve_transposed(sense.data());
            const auto larger = [](double a, double b) { return std::abs(a) < std::abs(b); };
            const int next = std::max_element(sense.begin(), sense.end(), larger) - sense.begin();
            if (next == place) break;
            std::fill(x.begin(), x.end(), 0.0);
            x[next] = 1.0, place = next;
        }
        return 1.0 / (size * inverse);
    }
};

// a . b, summed in lanes, in one order whatever the processor.
inline double dot_of(const std::vector<double>& a, const std::vector<double>& b) {
    constexpr std::size_t WIDTH = 8;
    double lanes[WIDTH] = {};
    const std::size_t n = a.size(), whole = n - n % WIDTH;
    for (std::size_t k = 0; k < whole; k += WIDTH) {
        for (std::size_t j = 0; j < WIDTH; ++j) lanes[j] += a[k + j] * b[k + j];
    }
    for (std::size_t k = whole; k < n; ++k) lanes[k - whole] += a[k] * b[k];
    double sum = 0.0;
    for (const double one : lanes) sum += one;
    return sum;
}

inline double length_of(const std::vector<double>& a) {
    return std::sqrt(dot_of(a, a));
}

inline void scale(std::vector<double>& a, double factor) {
    for (double& one : a) one *= factor;
}

// Takes from a what it has along a unit vector, which is returned.
inline double take(std::vector<double>& a, const std::vector<double>& unit) {
    const double along = dot_of(a, unit);
    for (std::size_t k = 0; k < a.size(); ++k) a[k] -= along * unit[k];
    return along;
}

// Vectors from which orthonormal ones are taken, the longest of them first.
class Longest {
  public:
    explicit Longest(std::vector<std::vector<double>> left) : left_(std::move(left)) {
        for (const std::vector<double>& one : left_) lengths_.push_back(length_of(one));
    }

    double length() const { return left_.empty() ? 0.0 : lengths_[place()]; }

    // The direction of the longest one outside of those before it, which are taken from it once more for their rounding,
    // as all others lose what they have along it.
    std::vector<double> next(const std::vector<std::vector<double>>& before) {
        std::vector<double> own = left_[place()];
        for (const std::vector<double>& other : before) take(own, other);
        scale(own, 1.0 / length_of(own));
        for (std::size_t k = 0; k < left_.size(); ++k) take(left_[k], own), lengths_[k] = length_of(left_[k]);
        return own;
    }

  private:
    std::vector<std::vector<double>> left_;
    std::vector<double> lengths_;

    std::size_t place() const { return std::max_element(lengths_.begin(), lengths_.end()) - lengths_.begin(); }
};

// Orthonormal vectors that span some given ones; false where their rank is not clear: one beyond it has more than the
// share `rank` of the largest one outside of those before it, or one within it less than `clear`.
inline bool orthonormal(std::vector<std::vector<double>> given, double rank, double clear,
                        std::vector<std::vector<double>>& found) {
    const std::size_t most = given.size();
    Longest left(std::move(given));
    double largest = 0.0;
    found.clear();
    while (found.size() < most) {
        const double length = left.length();
        largest = std::max(largest, length);
        if (!(length > rank * largest)) break;
        if (length < clear * largest) return false;
        found.push_back(left.next(found));
    }
    return true;
}

// Orthonormal vectors (n,) that are orthogonal to some given orthonormal ones.
inline std::vector<std::vector<double>> complement(std::vector<std::vector<double>> range, int n) {
    std::vector<std::vector<double>> found, units(n, std::vector<double>(n));
    for (int k = 0; k < n; ++k) {
        units[k][k] = 1.0;
        for (const std::vector<double>& one : range) take(units[k], one);
    }
    for (Longest left(std::move(units)); range.size() < std::size_t(n);) {
        found.push_back(left.next(range));
        range.push_back(found.back());
    }
    return found;
}

// Orthonormal vectors (n,) that a matrix (m, n), given row by row, takes to zero; false where its rank is not clear.
inline bool null_space(const std::vector<std::vector<double>>& rows, int n, double rank, double clear,
                       std::vector<std::vector<double>>& found) {
    std::vector<std::vector<double>> range;
    if (!orthonormal(rows, rank, clear, range)) return false;
    found = complement(range, n);
    return true;
}

// Rows of a square matrix in sets that no numbers join; rows of one owner stay together.
inline std::vector<std::vector<int>> sets_of_rows(const std::vector<double>& matrix, int n,
                                                  const std::vector<int>& owner) {
    std::vector<int> set(n);
    for (int i = 0; i < n; ++i) set[i] = i;
    const auto top = [&](int i) {
        while (set[i] != i) i = set[i] = set[set[i]];
        return i;
    };
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) {
            const bool joined = owner[i] == owner[j] || matrix[i * n + j] != 0.0 || matrix[j * n + i] != 0.0;
            if (joined) set[top(i)] = top(j);
        }
    }
    std::vector<std::vector<int>> members(n), found;
    for (int i = 0; i < n; ++i) members[top(i)].push_back(i);
    for (std::vector<int>& own : members) {
        if (!own.empty()) found.push_back(own);
    }
    return found;
}

// Moore and Penrose's inverse of a square matrix that is singular, A = Q L Z^T with orthonormal Q and Z.
class Smallest {
  public:
    // False where its rank is not clear (see `orthonormal`), or that of a regular matrix.
    bool factorise(const std::vector<double>& matrix, int n, double rank, double clear) {
        return decompose(matrix, n, rank, clear) && r_ < n;
    }

    // The same of the rank that it has by a share of its longest column, clear or not.
    bool truncate(const std::vector<double>& matrix, int n, double rank) { return decompose(matrix, n, rank, rank); }

    // Orthonormal vectors that the matrix takes to zero.
    std::vector<std::vector<double>> null() const { return complement(z_, n_); }

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

    bool decompose(const std::vector<double>& matrix, int n, double rank, double clear) {
        std::vector<std::vector<double>> columns(n, std::vector<double>(n));
        for (int j = 0; j < n; ++j) {
            for (int i = 0; i < n; ++i) columns[j][i] = matrix[i * n + j];
        }
        if (!orthonormal(columns, rank, clear, q_)) return false;
        n_ = n, r_ = static_cast<int>(q_.size());
        z_.assign(r_, std::vector<double>(n)), l_.assign(r_ * r_, 0.0);
        for (int i = 0; i < r_; ++i) {
            std::vector<double>& row = z_[i];
            for (int k = 0; k < n; ++k) {
                for (int j = 0; j < n; ++j) row[j] += q_[i][k] * matrix[k * n + j];
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
