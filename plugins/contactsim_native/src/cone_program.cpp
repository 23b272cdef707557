#include "cone_program.hpp"

#include <algorithm>
#include <cmath>

// One version for each width of registers, as in dense.cpp.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define EVERY_WIDTH __attribute__((target_clones("avx2", "default")))
#else
#define EVERY_WIDTH
#endif
#define WITHIN inline __attribute__((always_inline))

namespace native {

namespace {

using Vector = std::vector<double>;

constexpr int LANES = 4;  // in which long products are summed, in one order whatever the processor
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

}  // namespace

// Products with columns of so many numbers, one behind the other; that is a multiple of `LANES`.
EVERY_WIDTH void products_with_columns(double* found, const double* columns, int count, const double* a, int n) {
    for (int k = 0; k < count; ++k) {
        Lanes sum = {};
        for (int i = 0; i < n; i += LANES) {
            sum += *reinterpret_cast<const Lanes*>(a + i) * *reinterpret_cast<const Lanes*>(columns + k * n + i);
        }
        found[k] = (sum[0] + sum[2]) + (sum[1] + sum[3]);
    }
}

// Takes away shares of such columns, one after the other.
EVERY_WIDTH void subtract_columns(double* to, const double* shares, const double* columns, int count, int n) {
    for (int i = 0; i < n; i += LANES) {
        Lanes left = *reinterpret_cast<const Lanes*>(to + i);
        for (int k = 0; k < count; ++k) left += -shares[k] * *reinterpret_cast<const Lanes*>(columns + k * n + i);
        *reinterpret_cast<Lanes*>(to + i) = left;
    }
}

namespace {

constexpr int PATIENCE = 8;       // steps without a better point
constexpr double ENOUGH = 1e-15;  // gap at which no step adds to the accuracy
constexpr double ENDLESS = -1e4;  // costs, of programs scaled to about one, that are taken to fall for ever
constexpr double SHORT = 0.99;    // share of the way to the boundary of the cones

constexpr int USUAL = 3;       // numbers of a cone of friction in two directions
constexpr double SLANT = 0.1;  // of its length that a column keeps where it need not be made orthogonal again

// Of at least one number each, mostly two or three.
inline double product(const double* a, const double* b, int n) {
    double sum = a[0] * b[0];
    if (n > 1) sum += a[1] * b[1];
    if (n > 2) sum += a[2] * b[2];
    for (int k = 3; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

// The same of vectors whose lengths are multiples of `LANES`.
double long_product(const double* a, const double* b, int n) {
    double found;
    products_with_columns(&found, b, 1, a, n);
    return found;
}

void add(double factor, const double* a, double* to, int n) {
    for (int k = 0; k < n; ++k) to[k] += factor * a[k];
}

// s_0^2 - |(s_1, ...)|^2, positive inside the cone where s_0 is.
inline double determinant(const double* a, const int n) {
    if (n == 1) return a[0] * a[0];
    const double rest = std::sqrt(product(a + 1, a + 1, n - 1));
    return (a[0] - rest) * (a[0] + rest);
}

// How far along d one may go from a, inside the cone, up to the distance `most`.
WITHIN double reach_of(const double* a, const double* d, const int n, double most) {
    if (n == 1) return d[0] < 0.0 ? std::min(most, -a[0] / d[0]) : most;
    const double rest = product(d + 1, d + 1, n - 1);
    const double square = d[0] * d[0] - rest, half = a[0] * d[0] - product(a + 1, d + 1, n - 1);
    if (square >= 0.0 && half >= 0.0) return most;                                  // d points into the cone
    const double inside = determinant(a, n), root = half * half - square * inside;  // negative by rounding alone
    const double sum =
        -half + std::sqrt(std::max(root, 0.0));  // inside + 2 half t + square t^2 is zero at inside / sum
    return sum > 0.0 ? std::min(most, inside / sum) : most;
}

double reach(const double* a, const double* d, int n, double most) {
    return n == USUAL ? reach_of(a, d, USUAL, most) : reach_of(a, d, n, most);
}

// The point at which Nesterov and Todd scale one cone: W = b (2 v v^T - J) takes z to W z = W^-1 s.
class Scaling {
  public:
    Scaling(double* point, int size) : v(point), size(size) {}

    double b = 1.0, inverse = 1.0;
    double* v = nullptr;  // (size,)
    int size = 0;

    // False where s or z is not inside the cone.
    bool at(const double* s, const double* z) { return size == USUAL ? at(s, z, USUAL) : at(s, z, size); }

    // W u.
    void apply(double* u) const { size == USUAL ? apply(u, USUAL) : apply(u, size); }

    // W^-1 u.
    void take_back(double* u) const { size == USUAL ? take_back(u, USUAL) : take_back(u, size); }

  private:
    WITHIN bool at(const double* s, const double* z, const int size) {
        const double of_s = determinant(s, size), of_z = determinant(z, size);
        if (!(of_s > 0.0 && of_z > 0.0 && s[0] > 0.0 && z[0] > 0.0)) return false;
        b = std::sqrt(std::sqrt(of_s / of_z)), inverse = 1.0 / b;
        if (size == 1) return true;
        const double a = 1.0 / std::sqrt(of_s), c = 1.0 / std::sqrt(of_z);
        const double g = std::sqrt(0.5 * (1.0 + a * c * product(s, z, size)));
        for (int k = 0; k < size; ++k) v[k] = (a * s[k] + (k ? -c : c) * z[k]) / (2.0 * g);
        const double length = std::sqrt(2.0 * (v[0] + 1.0));
        v[0] += 1.0;
        for (int k = 0; k < size; ++k) v[k] /= length;
        return true;
    }

    WITHIN void apply(double* u, const int size) const {
        if (size == 1) return void(u[0] *= b);
        const double along = 2.0 * product(v, u, size);
        for (int k = 0; k < size; ++k) u[k] = b * (along * v[k] + (k ? u[k] : -u[k]));
    }

    WITHIN void take_back(double* u, const int size) const {
        if (size == 1) return void(u[0] /= b);
        const double along = 2.0 * (v[0] * u[0] - product(v + 1, u + 1, size - 1));
        for (int k = 0; k < size; ++k) u[k] = (k ? u[k] - along * v[k] : along * v[0] - u[0]) * inverse;
    }
};

// Mehrotra's predictor and corrector along the primal-dual path, with s = h - G x exactly, and all in the scaling of
// Nesterov and Todd (Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010).
// Its room is kept from program to program.
class InteriorPoint {
  public:
    // The next program, from an x whose s lies inside all cones.
    void begin(const ConeProgram& program, Vector& x) {
        program_ = &program, x_ = &x;
        n_ = program.cost.size(), m_ = (program.right.size() + LANES - 1) / LANES * LANES;
        for (Vector* rows : {&right_, &z_, &points_, &lambda_, &aim_, &ds_, &dz_}) rows->assign(m_, 0.0);
        columns_.assign(n_ * m_, 0.0), scaled_.resize(n_ * m_), triangle_.assign(n_ * n_, 0.0);
        off_.resize(n_), dx_.resize(n_), along_.resize(n_);
        scalings_.clear(), first_.clear();
        int first = 0;
        for (const int size : program.sizes) {
            scalings_.emplace_back(&points_[first], size);
            first_.push_back(first), first += size;
        }
        std::copy(program.right.begin(), program.right.end(), right_.begin());
        for (int i = 0; i < first; ++i) {
            for (int j = 0; j < n_; ++j) columns_[j * m_ + i] = program.matrix[i * n_ + j];
        }
    }

    bool minimise(double accuracy) {
        for (const int k : first_) z_[k] = 1.0 / count();
        set_slack();
        double best = INFINITY;
        int last = 0;
        for (int step = 0; step - last <= PATIENCE; ++step) {
            set_off_dual();
            const double gap = long_product(s_.data(), z_.data(), m_);
            double wrong = gap;
            for (const double one : off_) wrong = std::max(wrong, std::abs(one));
            if (wrong < best) best = wrong, found_ = *x_, last = step;
            const bool endless = product(program_->cost.data(), x_->data(), n_) < ENDLESS;
            if (best <= ENOUGH || endless || !advance(gap)) break;
        }
        *x_ = found_;
        return best <= accuracy;
    }

  private:
    const ConeProgram* program_ = nullptr;
    Vector* x_ = nullptr;
    int n_ = 0, m_ = 0;  // unknowns, and rows, filled up with zeros
    std::vector<int> first_;
    std::vector<Scaling> scalings_;
    Vector right_, columns_;  // h, and G column by column
    Vector s_, z_, found_;
    Vector points_, lambda_;    // of the scalings; W z = W^-1 s
    Vector aim_;                // of W^-1 ds + W dz
    Vector off_, dx_, along_;   // -(c + G^T z), the way of x, and products with columns
    Vector ds_, dz_;            // W^-1 ds and W dz
    Vector scaled_, triangle_;  // W^-1 G = Q R, column by column: Q; R row by row

    int count() const { return static_cast<int>(first_.size()); }

    void set_slack() {
        s_ = right_;
        subtract_columns(s_.data(), x_->data(), columns_.data(), n_, m_);
    }

    void set_off_dual() {
        products_with_columns(along_.data(), columns_.data(), n_, z_.data(), m_);
        for (int j = 0; j < n_; ++j) off_[j] = -program_->cost[j] - along_[j];
    }

    // One step along the path; false where there is none.
    bool advance(double gap) {
        if (!scale() || !factorise()) return false;
        for (int i = 0; i < m_; ++i) aim_[i] = -lambda_[i];
        set_direction(1.0);
        const double left = 1.0 - farthest(1.0), centred = left * left * left;
        for (int c = 0; c < count(); ++c) correct(c, centred * gap / count());
        set_direction(1.0 - centred);
        const double length = std::min(1.0, SHORT * farthest(1.0 / SHORT));
        for (int c = 0; c < count(); ++c) scalings_[c].take_back(&dz_[first_[c]]);
        add(length, dx_.data(), x_->data(), n_), add(length, dz_.data(), z_.data(), m_);
        set_slack();
        return true;
    }

    bool scale() {
        lambda_ = z_;
        for (int c = 0; c < count(); ++c) {
            if (!scalings_[c].at(&s_[first_[c]], &z_[first_[c]])) return false;
            scalings_[c].apply(&lambda_[first_[c]]);
        }
        return true;
    }

    // W^-1 G = Q R, by Gram and Schmidt, each column twice where the others leave little of it.
    bool factorise() {
        scaled_ = columns_;
        for (int j = 0; j < n_; ++j) {
            double *own = &scaled_[j * m_], *shares = &triangle_[j];  // each n_ further
            for (int c = 0; c < count(); ++c) scalings_[c].take_back(own + first_[c]);
            for (int k = 0; k < j; ++k) shares[k * n_] = 0.0;
            const double whole = long_product(own, own, m_);
            double square = whole;
            for (int round = 0; round < 2 && j && (!round || square < SLANT * SLANT * whole); ++round) {
                make_orthogonal(j, own, shares);
                square = long_product(own, own, m_);
            }
            const double size = shares[j * n_] = std::sqrt(square);
            if (!(size > 0.0) || !std::isfinite(size)) return false;
            for (int i = 0; i < m_; ++i) own[i] /= size;
        }
        return true;
    }

    // Takes from a column what it has along the first j ones.
    void make_orthogonal(int j, double* own, double* shares) {
        products_with_columns(along_.data(), scaled_.data(), j, own, m_);
        for (int k = 0; k < j; ++k) shares[k * n_] += along_[k];
        subtract_columns(own, along_.data(), scaled_.data(), j, m_);
    }

    // The step with G^T dz = share off and W^-1 ds + W dz = aim, where ds = -G dx.
    void set_direction(double share) {
        for (int j = 0; j < n_; ++j) {  // R^-T off
            dx_[j] = share * off_[j];
            for (int k = 0; k < j; ++k) dx_[j] -= triangle_[k * n_ + j] * dx_[k];
            dx_[j] /= triangle_[j * n_ + j];
        }
        products_with_columns(along_.data(), scaled_.data(), n_, aim_.data(), m_);
        for (int j = 0; j < n_; ++j) dx_[j] -= along_[j];
        std::fill(ds_.begin(), ds_.end(), 0.0);
        subtract_columns(ds_.data(), dx_.data(), scaled_.data(), n_, m_);
        for (int i = 0; i < m_; ++i) dz_[i] = aim_[i] - ds_[i];
        for (int j = n_ - 1; j >= 0; --j) {
            for (int k = j + 1; k < n_; ++k) dx_[j] -= triangle_[j * n_ + k] * dx_[k];
            dx_[j] /= triangle_[j * n_ + j];
        }
    }

    double farthest(double most) const {
        for (int c = 0; c < count(); ++c) {
            const int k = first_[c], size = scalings_[c].size;
            most = reach(&lambda_[k], &ds_[k], size, reach(&lambda_[k], &dz_[k], size, most));
        }
        return most;
    }

    // aim = lam \ (mu e - lam o lam - ds o dz) of a cone, with the product a o b = (a^T b, a_0 b_1 + b_0 a_1, ...).
    void correct(int c, double mu) {
        const int k = first_[c], size = scalings_[c].size;
        const double *l = &lambda_[k], *a = &ds_[k], *b = &dz_[k];
        double* to = &aim_[k];
        to[0] = mu - product(l, l, size) - product(a, b, size);
        if (size == 1) return void(to[0] /= l[0]);
        for (int i = 1; i < size; ++i) to[i] = -2.0 * l[0] * l[i] - a[0] * b[i] - b[0] * a[i];
        to[0] = (l[0] * to[0] - product(l + 1, to + 1, size - 1)) / determinant(l, size);
        for (int i = 1; i < size; ++i) to[i] = (to[i] - to[0] * l[i]) / l[0];
    }
};

}  // namespace

bool minimise(const ConeProgram& program, double accuracy, std::vector<double>& x) {
    thread_local InteriorPoint search;
    search.begin(program, x);
    return search.minimise(accuracy);
}

}  // namespace native
