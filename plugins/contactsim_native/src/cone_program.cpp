#include "cone_program.hpp"

#include <algorithm>
#include <cmath>

namespace native {

namespace {

using Vector = std::vector<double>;

constexpr int PATIENCE = 8;       // steps without a better point
constexpr double ENOUGH = 1e-15;  // gap at which no step adds to the accuracy
constexpr double ENDLESS = -1e4;  // costs, of programs scaled to about one, that are taken to fall for ever
constexpr double SHORT = 0.99;    // share of the way to the boundary of the cones

double product(const double* a, const double* b, int n) {
    double sum = 0.0;
    for (int k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

double tail(const double* a, int n) { return std::sqrt(product(a + 1, a + 1, n - 1)); }

// s_0^2 - |(s_1, ...)|^2, positive inside the cone where s_0 is.
double determinant(const double* a, int n) {
    const double rest = tail(a, n);
    return (a[0] - rest) * (a[0] + rest);
}

// How far along d one may go from a, inside the cone, up to the distance `most`.
double reach(const double* a, const double* d, int n, double most) {
    const double rest = product(d + 1, d + 1, n - 1);
    const double square = d[0] * d[0] - rest, half = a[0] * d[0] - product(a + 1, d + 1, n - 1);
    const double inside = determinant(a, n), root = half * half - square * inside;  // negative by rounding alone
    if (square >= 0.0 && half >= 0.0) return most;                                  // d points into the cone
    const double sum =
        -half + std::sqrt(std::max(root, 0.0));  // inside + 2 half t + square t^2 is zero at inside / sum
    return sum > 0.0 ? std::min(most, inside / sum) : most;
}

// The point at which Nesterov and Todd scale one cone: W = b (2 v v^T - J) takes z to W z = W^-1 s.
struct Scaling {
    double b = 1.0;
    Vector v;

    // False where s or z is not inside the cone.
    bool at(const double* s, const double* z, int n) {
        const double of_s = determinant(s, n), of_z = determinant(z, n);
        if (!(of_s > 0.0 && of_z > 0.0 && s[0] > 0.0 && z[0] > 0.0)) return false;
        const double a = 1.0 / std::sqrt(of_s), c = 1.0 / std::sqrt(of_z);
        const double g = std::sqrt(0.5 * (1.0 + a * c * product(s, z, n)));
        b = std::pow(of_s / of_z, 0.25);
        v.resize(n);
        for (int k = 0; k < n; ++k) v[k] = (a * s[k] + (k ? -c : c) * z[k]) / (2.0 * g);
        const double size = std::sqrt(2.0 * (v[0] + 1.0));
        v[0] += 1.0;
        for (double& one : v) one /= size;
        return true;
    }

    void apply(double* u) const {  // W u
        const double along = 2.0 * product(v.data(), u, size());
        for (int k = 0; k < size(); ++k) u[k] = b * (along * v[k] + (k ? u[k] : -u[k]));
    }

    void take_back(double* u) const {  // W^-1 u
        double along = -v[0] * u[0];
        along = -2.0 * (along + product(v.data() + 1, u + 1, size() - 1));
        for (int k = 0; k < size(); ++k) u[k] = (k ? u[k] - along * v[k] : along * v[0] - u[0]) / b;
    }

    int size() const { return static_cast<int>(v.size()); }
};

// Mehrotra's predictor and corrector along the primal-dual path, with s = h - G x exactly, and all in the scaling of
// Nesterov and Todd (Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010).
class InteriorPoint {
  public:
    InteriorPoint(const ConeProgram& program, Vector& x)
        : program_(program), x_(x), n_(program.cost.size()), m_(program.right.size()) {
        for (const int size : program.sizes)
            first_.push_back(first_.empty() ? 0 : first_.back() + before_), before_ = size;
        scalings_.resize(first_.size());
    }

    bool minimise(double accuracy) {
        z_.assign(m_, 0.0);
        for (const int k : first_) z_[k] = 1.0 / first_.size();
        s_ = slack(x_);
        double best = INFINITY;
        int last = 0;
        for (int step = 0; step - last <= PATIENCE; ++step) {
            const Vector off = off_dual();
            const double gap = product(s_.data(), z_.data(), m_);
            double wrong = gap;
            for (const double one : off) wrong = std::max(wrong, std::abs(one));
            if (wrong < best) best = wrong, found_ = x_, last = step;
            const bool endless = product(program_.cost.data(), x_.data(), n_) < ENDLESS;
            if (best <= ENOUGH || endless || !advance(off, gap)) break;
        }
        x_ = found_;
        return best <= accuracy;
    }

  private:
    const ConeProgram& program_;
    Vector& x_;
    const int n_, m_;
    int before_ = 0;
    std::vector<int> first_;
    Vector s_, z_, found_;
    std::vector<Scaling> scalings_;
    Vector point_;     // lam = W z = W^-1 s
    Vector scaled_;    // W^-1 G = Q R, column by column: Q
    Vector triangle_;  // R

    int count() const { return static_cast<int>(first_.size()); }

    Vector slack(const Vector& x) const {
        Vector s = program_.right;
        for (int i = 0; i < m_; ++i) s[i] -= product(&program_.matrix[i * n_], x.data(), n_);
        return s;
    }

    Vector off_dual() const {  // -(c + G^T z)
        Vector off(n_);
        for (int j = 0; j < n_; ++j) {
            off[j] = -program_.cost[j];
            for (int i = 0; i < m_; ++i) off[j] -= program_.matrix[i * n_ + j] * z_[i];
        }
        return off;
    }

    // One step along the path; false where there is none.
    bool advance(const Vector& off, double gap) {
        if (!scale() || !factorise()) return false;
        Vector aim = point_;  // of W^-1 ds + W dz
        for (double& one : aim) one = -one;
        Vector dx, ds, dz;  // the last two scaled
        direction(off, aim, dx, ds, dz);
        const double ahead = farthest(ds, dz, 1.0);
        const double centred = std::pow(1.0 - ahead, 3);
        for (int c = 0; c < count(); ++c) correct(c, centred * gap / count(), ds, dz, aim);
        Vector left = off;
        for (double& one : left) one *= 1.0 - centred;
        direction(left, aim, dx, ds, dz);
        const double length = std::min(1.0, SHORT * farthest(ds, dz, 1.0 / SHORT));
        for (int j = 0; j < n_; ++j) x_[j] += length * dx[j];
        for (int c = 0; c < count(); ++c) scalings_[c].take_back(&dz[first_[c]]);
        for (int i = 0; i < m_; ++i) z_[i] += length * dz[i];
        s_ = slack(x_);
        return true;
    }

    bool scale() {
        point_ = z_;
        for (int c = 0; c < count(); ++c) {
            if (!scalings_[c].at(&s_[first_[c]], &z_[first_[c]], program_.sizes[c])) return false;
            scalings_[c].apply(&point_[first_[c]]);
        }
        return true;
    }

    // W^-1 G = Q R, by Gram and Schmidt, each column twice.
    bool factorise() {
        scaled_.assign(n_ * m_, 0.0), triangle_.assign(n_ * n_, 0.0);
        for (int j = 0; j < n_; ++j) {
            double* own = &scaled_[j * m_];
            for (int i = 0; i < m_; ++i) own[i] = program_.matrix[i * n_ + j];
            for (int c = 0; c < count(); ++c) scalings_[c].take_back(own + first_[c]);
            for (int twice = 0; twice < 2; ++twice) {
                for (int k = 0; k < j; ++k) {
                    const double* other = &scaled_[k * m_];
                    const double along = product(own, other, m_);
                    triangle_[k * n_ + j] += along;
                    for (int i = 0; i < m_; ++i) own[i] -= along * other[i];
                }
            }
            const double size = triangle_[j * n_ + j] = std::sqrt(product(own, own, m_));
            if (!(size > 0.0) || !std::isfinite(size)) return false;
            for (int i = 0; i < m_; ++i) own[i] /= size;
        }
        return true;
    }

    // The step with G^T dz = off and W^-1 ds + W dz = aim, where ds = -G dx; ds and dz as W^-1 ds and W dz.
    void direction(const Vector& off, const Vector& aim, Vector& dx, Vector& ds, Vector& dz) const {
        dx = off;
        for (int j = 0; j < n_; ++j) {  // R^-T off
            for (int k = 0; k < j; ++k) dx[j] -= triangle_[k * n_ + j] * dx[k];
            dx[j] /= triangle_[j * n_ + j];
        }
        for (int j = 0; j < n_; ++j) dx[j] -= product(&scaled_[j * m_], aim.data(), m_);
        dz = aim, ds.assign(m_, 0.0);
        for (int j = 0; j < n_; ++j) {
            for (int i = 0; i < m_; ++i) ds[i] -= dx[j] * scaled_[j * m_ + i];
        }
        for (int i = 0; i < m_; ++i) dz[i] -= ds[i];
        for (int j = n_ - 1; j >= 0; --j) {
            for (int k = j + 1; k < n_; ++k) dx[j] -= triangle_[j * n_ + k] * dx[k];
            dx[j] /= triangle_[j * n_ + j];
        }
    }

    double farthest(const Vector& ds, const Vector& dz, double most) const {
        for (int c = 0; c < count(); ++c) {
            const int k = first_[c], size = program_.sizes[c];
            most = reach(&point_[k], &ds[k], size, reach(&point_[k], &dz[k], size, most));
        }
        return most;
    }

    // aim = lam \ (mu e - lam o lam - ds o dz) of a cone, with the product a o b = (a^T b, a_0 b_1 + b_0 a_1, ...).
    void correct(int c, double mu, const Vector& ds, const Vector& dz, Vector& aim) const {
        const int k = first_[c], size = program_.sizes[c];
        const double *l = &point_[k], *a = &ds[k], *b = &dz[k];
        double* to = &aim[k];
        to[0] = mu - product(l, l, size) - product(a, b, size);
        for (int i = 1; i < size; ++i) to[i] = -2.0 * l[0] * l[i] - a[0] * b[i] - b[0] * a[i];
        to[0] = (l[0] * to[0] - product(l + 1, to + 1, size - 1)) / determinant(l, size);
        for (int i = 1; i < size; ++i) to[i] = (to[i] - to[0] * l[i]) / l[0];
    }
};

}  // namespace

bool minimise(const ConeProgram& program, double accuracy, std::vector<double>& x) {
    return InteriorPoint(program, x).minimise(accuracy);
}

}  // namespace native
