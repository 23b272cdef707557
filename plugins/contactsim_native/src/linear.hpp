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
        columns_.resize(n * n);
        for (int i = 0; i < n; ++i) {
            for (int k = 0; k < n; ++k) columns_[k * n + i] = lu_[i * n + k];
        }
        return condition(matrix, least) > least;
    }

    // Column by column: numbers that do not wait for each other.
    void solve(double* b) const {
        const int n = n_;
        for (int k = 0; k < n; ++k) std::swap(b[k], b[order_[k]]);
        for (int k = 0; k < n; ++k) {
            const double* column = columns_.data() + k * n;
            for (int i = k + 1; i < n; ++i) b[i] -= column[i] * b[k];
        }
        for (int k = n - 1; k >= 0; --k) {
            const double* column = columns_.data() + k * n;
            b[k] /= column[k];
            for (int i = 0; i < k; ++i) b[i] -= column[i] * b[k];
        }
    }

  private:
    int n_ = 0;
    std::vector<double> lu_, columns_;  // row by row, and column by column
    std::vector<int> order_;
    std::vector<double> x_, sense_;  // of estimates

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

    // The estimate of |A^-1| by a vector of alternating signs, for matrices by which the others are deceived.
    double by_alternating() {
        const int n = n_;
        std::vector<double>& x = x_;
        x.resize(n);
        for (int i = 0; i < n; ++i) x[i] = (i % 2 ? -1.0 : 1.0) * (n > 1 ? 1.0 + double(i) / (n - 1) : 1.0);
        solve(x.data());
        double sum = 0.0;
        for (const double one : x) sum += std::abs(one);
        return 2.0 * sum / (3.0 * n);
    }

    // A bound of |A^-1|: |U^-1| |L^-1|, each as if all numbers beside its diagonal added up in it. Source: Higham,
    // Accuracy and Stability of Numerical Algorithms, 2002, section 8.3.
    double most_of_inverse() {
        const int n = n_;
        double upper = 0.0, lower = 0.0;
        std::vector<double>& x = x_;
        x.resize(n);
        for (int k = 0; k < n; ++k) {
            double sum = 1.0;
            for (int i = 0; i < k; ++i) sum += std::abs(columns_[k * n + i]) * x[i];
            x[k] = sum / std::abs(columns_[k * n + k]);
            upper = std::max(upper, x[k]);
        }
        for (int k = n - 1; k >= 0; --k) {
            x[k] = 1.0;
            for (int i = k + 1; i < n; ++i) x[k] += std::abs(columns_[k * n + i]) * x[i];
            lower = std::max(lower, x[k]);
        }
        return upper * lower;
    }

    // 1 / (|A| |A^-1|), with an estimate of the norm of A^-1 from below that is hardly ever far off; a rougher one
    // where that shows on which side of `least` it is. Source: Higham, Accuracy and Stability of Numerical Algorithms,
    // 2002, algorithm 15.1.
    double condition(const std::vector<double>& matrix, double least) {
        const int n = n_;
        if (!n) return 1.0;
        double size = 0.0, inverse = 0.0;
        for (int j = 0; j < n; ++j) {
            double sum = 0.0;
            for (int i = 0; i < n; ++i) sum += std::abs(matrix[i * n + j]);
            size = std::max(size, sum);
        }
        // A vector to which a singular matrix happens to be blind deceives the estimate; one number of A^-1 is known.
        const double known = 1.0 / std::abs(lu_[n * n - 1]);
        if (const double rough = 1.0 / (size * known); rough <= least) return rough;
        if (const double certain = 1.0 / (size * most_of_inverse()); certain > least) return certain;
        const double lowest = std::max(by_alternating(), known);
        std::vector<double>&x = x_, &sense = sense_;
        x.assign(n, 1.0 / n), sense.resize(n);
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
        return 1.0 / (size * std::max(inverse, lowest));
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

// The largest |a_k| of n numbers.
inline double largest_of(const double* a, int n) {
    constexpr int WIDTH = 8;
    double lanes[WIDTH] = {};
    const int whole = n - n % WIDTH;
    for (int k = 0; k < whole; k += WIDTH) {
        for (int j = 0; j < WIDTH; ++j) {
            const double size = std::abs(a[k + j]);
            lanes[j] = size > lanes[j] ? size : lanes[j];
        }
    }
    for (int k = whole; k < n; ++k) lanes[k - whole] = std::max(lanes[k - whole], std::abs(a[k]));
    return *std::max_element(lanes, lanes + WIDTH);
}

inline double largest_of(const std::vector<double>& a) {
    return largest_of(a.data(), static_cast<int>(a.size()));
}

// Makes vectors orthonormal, each one twice against those before it.
inline void orthonormalise(std::vector<std::vector<double>>& vectors) {
    for (std::size_t i = 0; i < vectors.size(); ++i) {
        for (int twice = 0; twice < 2; ++twice) {
            for (std::size_t k = 0; k < i; ++k) take(vectors[i], vectors[k]);
        }
        scale(vectors[i], 1.0 / length_of(vectors[i]));
    }
}

// A matrix (m, n) of any rank, by Gauss with complete pivoting: P A Q = L U, with r rows of U and r columns of L.
class Elimination {
  public:
    // False where the rank is not clear: what is left beyond it has more than the share `rank` of the largest number,
    // or a pivot less than `clear`.
    bool factorise(std::vector<double> matrix, int m, int n, double rank, double clear) {
        lu_ = std::move(matrix), m_ = m, n_ = n, r_ = 0;
        rows_.resize(m), columns_.resize(n);
        for (int i = 0; i < m; ++i) rows_[i] = i;
        for (int j = 0; j < n; ++j) columns_[j] = j;
        double largest = 0.0;
        for (; r_ < std::min(m, n); ++r_) {
            const std::size_t place = largest_left();
            const double pivot = std::abs(lu_[place]);
            if (r_ == 0) largest = pivot;
            if (!(pivot > rank * largest)) break;
            if (pivot < clear * largest) return false;
            bring(place / n, place % n);
            eliminate();
        }
        return true;
    }

    int rank() const { return r_; }

    // Orthonormal vectors (n,) that the matrix takes to zero.
    std::vector<std::vector<double>> null() const {
        std::vector<std::vector<double>> found(n_ - r_, std::vector<double>(n_, 0.0));
        std::vector<double> x(r_);
        for (int j = r_; j < n_; ++j) {
            for (int i = 0; i < r_; ++i) x[i] = -at(i, j);
            solve_upper(x.data());
            std::vector<double>& own = found[j - r_];
            for (int i = 0; i < r_; ++i) own[columns_[i]] = x[i];
            own[columns_[j]] = 1.0;
        }
        orthonormalise(found);
        return found;
    }

    // Orthonormal vectors (m,) that the transposed matrix takes to zero.
    std::vector<std::vector<double>> null_transposed() const {
        std::vector<std::vector<double>> found(m_ - r_, std::vector<double>(m_, 0.0));
        std::vector<double> y(r_);
        for (int i = r_; i < m_; ++i) {
            for (int k = 0; k < r_; ++k) y[k] = -at(i, k);
            for (int k = r_ - 1; k >= 0; --k) {
                for (int j = 0; j < k; ++j) y[j] -= at(k, j) * y[k];
            }
            std::vector<double>& own = found[i - r_];
            for (int k = 0; k < r_; ++k) own[rows_[k]] = y[k];
            own[rows_[i]] = 1.0;
        }
        orthonormalise(found);
        return found;
    }

    // One x with A x = b, for a b for which there is one.
    std::vector<double> solve(const double* b) const {
        std::vector<double> x(n_, 0.0), y(r_);
        for (int i = 0; i < r_; ++i) {
            y[i] = b[rows_[i]];
            for (int k = 0; k < i; ++k) y[i] -= at(i, k) * y[k];
        }
        solve_upper(y.data());
        for (int i = 0; i < r_; ++i) x[columns_[i]] = y[i];
        return x;
    }

  private:
    std::vector<double> lu_;
    std::vector<int> rows_, columns_;
    int m_ = 0, n_ = 0, r_ = 0;

    double at(int i, int j) const { return lu_[i * n_ + j]; }

    // Where the largest number of what is left stands, the first of several.
    std::size_t largest_left() const {
        int row = r_;
        double largest = 0.0;
        for (int i = r_; i < m_; ++i) {
            const double own = largest_of(&lu_[i * n_ + r_], n_ - r_);
            if (own > largest) largest = own, row = i;
        }
        for (int j = r_; j < n_; ++j) {
            if (std::abs(at(row, j)) == largest) return row * n_ + j;
        }
        return r_ * n_ + r_;
    }

    // Moves the number in row i and column j to where the next pivot stands.
    void bring(int i, int j) {
        if (i != r_) std::swap_ranges(&lu_[i * n_], &lu_[i * n_] + n_, &lu_[r_ * n_]);
        for (int k = 0; k < m_ && j != r_; ++k) std::swap(lu_[k * n_ + j], lu_[k * n_ + r_]);
        std::swap(rows_[i], rows_[r_]), std::swap(columns_[j], columns_[r_]);
    }

    void eliminate() {
        const double* pivot = &lu_[r_ * n_];
        for (int i = r_ + 1; i < m_; ++i) {
            double* own = &lu_[i * n_];
            const double share = own[r_] /= pivot[r_];
            for (int j = r_ + 1; j < n_ && share != 0.0; ++j) own[j] -= share * pivot[j];
        }
    }

    void solve_upper(double* x) const {
        for (int i = r_ - 1; i >= 0; --i) {
            for (int j = i + 1; j < r_; ++j) x[i] -= at(i, j) * x[j];
            x[i] /= at(i, i);
        }
    }
};

// Orthonormal vectors (n,) that a matrix (m, n), given row by row, takes to zero; false where its rank is not clear.
inline bool null_space(const std::vector<std::vector<double>>& rows, int n, double rank, double clear,
                       std::vector<std::vector<double>>& found) {
    std::vector<double> matrix;
    for (const std::vector<double>& row : rows) matrix.insert(matrix.end(), row.begin(), row.end());
    Elimination elimination;
    if (!elimination.factorise(std::move(matrix), static_cast<int>(rows.size()), n, rank, clear)) return false;
    found = elimination.null();
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

// Moore and Penrose's inverse of a square matrix that is singular.
class Smallest {
  public:
    // False where its rank is not clear (see `Elimination`), or that of a regular matrix.
    bool factorise(const std::vector<double>& matrix, int n, double rank, double clear) {
        return decompose(matrix, n, rank, clear) && elimination_.rank() < n;
    }

    // The same of the rank that it has by a share of its largest number, clear or not.
    void truncate(const std::vector<double>& matrix, int n, double rank) { decompose(matrix, n, rank, rank); }

    // Orthonormal vectors that the matrix takes to zero.
    const std::vector<std::vector<double>>& null() const { return null_; }

    // The smallest x that minimises |A x - b|, in place.
    void solve(double* b) const {
        std::vector<double> x(b, b + n_);
        for (const std::vector<double>& one : unreached_) take(x, one);
        x = elimination_.solve(x.data());
        for (const std::vector<double>& one : null_) take(x, one);
        std::copy(x.begin(), x.end(), b);
    }

  private:
    int n_ = 0;
    Elimination elimination_;
    std::vector<std::vector<double>> null_, unreached_;  // what it takes to zero, and what it leads to nowhere

    bool decompose(const std::vector<double>& matrix, int n, double rank, double clear) {
        n_ = n;
        if (!elimination_.factorise(matrix, n, n, rank, clear)) return false;
        null_ = elimination_.null(), unreached_ = elimination_.null_transposed();
        return true;
    }
};

// The smallest x that minimises |A x - b|, in place; false where it cannot be told whether A (n, n) is singular.
inline bool solve_smallest(const std::vector<double>& matrix, int n, double regular, double rank, double clear,
                           std::vector<double>& b) {
    thread_local Factors factors;
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
