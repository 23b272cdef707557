#include "hills.hpp"

#include <algorithm>
#include <limits>

namespace native {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// A cubic, from its lowest coefficient on, and its derivatives.
std::array<double, 4> cubic(const double* c, double u) {
    return {c[0] + u * (c[1] + u * (c[2] + u * c[3])), c[1] + u * (2.0 * c[2] + 3.0 * u * c[3]),
            2.0 * c[2] + 6.0 * u * c[3], 6.0 * c[3]};
}

// Derivatives (i, j) of a polynomial of two variables, the first index that along x.
std::array<std::array<double, 4>, 4> bicubic(const double* cell, double x, double y) {
    std::array<std::array<double, 4>, 4> rows, found;
    for (int p = 0; p < 4; ++p) rows[p] = cubic(cell + 4 * p, y);
    for (int j = 0; j < 4; ++j) {
        const double column[4] = {rows[0][j], rows[1][j], rows[2][j], rows[3][j]};
        const std::array<double, 4> along = cubic(column, x);
        for (int i = 0; i < 4; ++i) found[i][j] = along[i];
    }
    return found;
}

// The unit normal w (-h_x, -h_y, 1) at a place, and its derivatives by that.
struct Tilt {
    double w, wx, wy;
    Vec3 normal, x, y;

    explicit Tilt(const Bends& b) {
        w = 1.0 / std::sqrt(1.0 + b.x * b.x + b.y * b.y);
        const double cube = w * w * w;
        wx = -cube * (b.x * b.xx + b.y * b.xy), wy = -cube * (b.x * b.xy + b.y * b.yy);
        normal = {-b.x * w, -b.y * w, w};
        x = {-b.xx * w - b.x * wx, -b.xy * w - b.y * wx, wx};
        y = {-b.xy * w - b.x * wy, -b.yy * w - b.y * wy, wy};
    }
};

// (1 + phi n_xi)^-1 of two rows; false where that is not positive: the nearest point is not unique.
bool carried(const Tilt& tilt, double distance, Vec3& one, Vec3& two) {
    const double a = 1.0 + distance * tilt.x.x, b = distance * tilt.y.x, c = distance * tilt.x.y;
    const double d = 1.0 + distance * tilt.y.y, determinant = a * d - b * c;
    if (!(determinant > 0.0)) return false;
    const Vec3 first = (one * d - two * b) * (1.0 / determinant);
    two = (two * a - one * c) * (1.0 / determinant), one = first;
    return true;
}

// The matrix of the outer products one a^T + two b^T.
Mat3 outer(const Vec3& one, const Vec3& a, const Vec3& two, const Vec3& b) {
    return {one * a.x + two * b.x, one * a.y + two * b.y, one * a.z + two * b.z};
}

}  // namespace

bool Sinusoid::bends(double x, double y, Bends& found) const {
    const double s = a1_ * std::sin(a2_ * x), c = a1_ * a2_ * std::cos(a2_ * x);
    const double p = std::cos(a3_ * y), q = -a3_ * std::sin(a3_ * y);
    found = {s * p, c * p, s * q, -(a2_ * a2_) * s * p, c * q, -(a3_ * a3_) * s * p};
    return true;
}

bool Sinusoid::thirds(double x, double y, Thirds& found) const {
    const double s = a1_ * std::sin(a2_ * x), c = a1_ * a2_ * std::cos(a2_ * x);
    const double p = std::cos(a3_ * y), q = -a3_ * std::sin(a3_ * y);
    found = {-(a2_ * a2_) * c * p, -(a2_ * a2_) * s * q, -(a3_ * a3_) * c * p, -(a3_ * a3_) * s * q};
    return true;
}

bool Spline::cell(double& x, double& y, const double*& coefficients) const {
    if (!(x_.front() <= x && x <= x_.back() && y_.front() <= y && y <= y_.back())) return false;
    const auto before = [](const std::vector<double>& lines, double place) {
        return std::upper_bound(lines.begin() + 1, lines.end() - 1, place) - lines.begin() - 1;
    };
    const std::ptrdiff_t i = before(x_, x), j = before(y_, y), across = static_cast<std::ptrdiff_t>(y_.size()) - 1;
    x -= x_[i], y -= y_[j];
    coefficients = &cells_[16 * (i * across + j)];
    return true;
}

bool Spline::bends(double x, double y, Bends& found) const {
    const double* own;
    if (!cell(x, y, own)) return false;
    const auto d = bicubic(own, x, y);
    found = {d[0][0], d[1][0], d[0][1], d[2][0], d[1][1], d[0][2]};
    return true;
}

bool Spline::thirds(double x, double y, Thirds& found) const {
    const double* own;
    if (!cell(x, y, own)) return false;
    const auto d = bicubic(own, x, y);
    found = {d[3][0], d[2][1], d[1][2], d[0][3]};
    return true;
}

double Hills::reach(double radius) const {
    return curvature_ > 0.0 ? rules_.reach * (1.0 / curvature_ - radius) : INFINITE;
}

template <typename Equation>
Hills::Found Hills::newton(const Equation& equation, std::array<double, 2>& place) const {
    const double longest = curvature_ > 0.0 ? rules_.longest / curvature_ : INFINITE;
    const double small = rules_.found * std::min(longest, 1.0);
    double& x = place[0];
    double& y = place[1];
    for (int k = 0; k < rules_.iterations; ++k) {
        Bends b;
        if (!heights_->bends(x, y, b)) return Found::outside;
        std::array<double, 2> value;
        std::array<double, 4> matrix;
        equation(x, y, b, value, matrix);
        const double determinant = matrix[0] * matrix[3] - matrix[1] * matrix[2];
        if (!(determinant > 0.0)) return Found::none;
        const double along = (matrix[1] * value[1] - matrix[3] * value[0]) / determinant;
        const double across = (matrix[2] * value[0] - matrix[0] * value[1]) / determinant;
        const double size = std::hypot(along, across), share = size > longest ? longest / size : 1.0;
        x += share * along, y += share * across;
        if (size <= small || size <= rules_.relative * std::max(std::abs(x), std::abs(y))) return Found::yes;
    }
    return Found::none;
}

Hills::Found Hills::nearest(const Vec3& centre, std::array<double, 2>& place) const {
    const auto equation = [&](double x, double y, const Bends& b, auto& value, auto& matrix) {
        const double above = b.h - centre.z, across = b.x * b.y + above * b.xy;
        value = {x - centre.x + above * b.x, y - centre.y + above * b.y};
        matrix = {1.0 + b.x * b.x + above * b.xx, across, across, 1.0 + b.y * b.y + above * b.yy};
    };
    return newton(equation, place);
}

bool Hills::standing(const Vec3& centre, double radius, Standing& found) const {
    found.place = {centre.x, centre.y};
    const auto equation = [&](double x, double y, const Bends& b, auto& value, auto& matrix) {
        const Tilt tilt(b);
        value = {x + radius * tilt.normal.x - centre.x, y + radius * tilt.normal.y - centre.y};
        matrix = {1.0 + radius * tilt.x.x, radius * tilt.y.x, radius * tilt.x.y, 1.0 + radius * tilt.y.y};
    };
    Bends b;
    if (radius > 0.0 && newton(equation, found.place) != Found::yes) return false;
    if (!heights_->bends(found.place[0], found.place[1], b)) return false;
    found.upward = 1.0 / std::sqrt(1.0 + b.x * b.x + b.y * b.y);
    found.clearance = centre.z - b.h - radius * found.upward;
    return true;
}

bool Hills::normal_below(const Vec3& centre, double radius, Vec3& normal) const {
    Standing below;
    Bends b;
    if (!standing(centre, radius, below) || !heights_->bends(below.place[0], below.place[1], b)) return false;
    normal = Tilt(b).normal;
    return true;
}

double Hills::gap(const Vec3& centre, double radius) const {
    Standing below;
    if (!standing(centre, radius, below)) return NAN;
    const double clearance = below.clearance * below.upward, height = std::abs(below.clearance) / reach(radius);
    if (!(height < 2.0)) return clearance;
    Bends b;
    if (nearest(centre, below.place) != Found::yes || !heights_->bends(below.place[0], below.place[1], b)) return NAN;
    const Vec3 arm{centre.x - below.place[0], centre.y - below.place[1], centre.z - b.h};
    const double distance = dot(arm, Tilt(b).normal), way = std::clamp(2.0 - height, 0.0, 1.0);
    const double share = way * way * way * (10.0 - 15.0 * way + 6.0 * way * way);
    return share * (distance - radius) + (1.0 - share) * clearance;
}

Approach Hills::approach(const Vec3& centre, double radius) const {
    Standing below;
    if (!standing(centre, radius, below)) return {NAN, {}};
    if (std::abs(below.clearance) > reach(radius)) return {at_least(gap(centre, radius), radius), {}};
    Surface found;
    if (!near(centre, radius, found)) return {NAN, {}};
    return {found.distance - radius, found.normal};
}

double Hills::at_least(double gap, double radius) const {
    const double root = std::sqrt(2.0);
    if (!(curvature_ > 0.0)) return gap / root;
    if (!(gap > 0.0)) return gap;
    const double sharpest = curvature_ / (1.0 - curvature_ * radius);
    return 2.0 * gap / (root + std::sqrt(2.0 + 2.0 * sharpest * gap));
}

double Hills::bend(double radius) const {
    return curvature_ / ((1.0 - rules_.reach) * (1.0 - curvature_ * radius));
}

Hills::Found Hills::look(const Vec3& centre, double radius, Surface& found) const {
    std::array<double, 2>& foot = found.foot;
    foot = {centre.x, centre.y};
    Bends b;
    if (radius != 0.0) {
        if (!heights_->bends(foot[0], foot[1], b)) return Found::outside;
        const Vec3 above = Tilt(b).normal;
        foot = {centre.x - radius * above.x, centre.y - radius * above.y};
    }
    const Found way = nearest(centre, foot);
    if (way != Found::yes) return way;
    if (!heights_->bends(foot[0], foot[1], b)) return Found::outside;
    const Tilt tilt(b);
    const Vec3 &n = tilt.normal, arm{centre.x - foot[0], centre.y - foot[1], centre.z - b.h};
    found.distance = dot(arm, n), found.normal = n;
    if (!(std::abs(found.distance - radius) <= reach(radius))) return Found::none;
    found.along = Vec3{1.0, 0.0, 0.0} - n * n.x, found.across = Vec3{0.0, 1.0, 0.0} - n * n.y;
    if (!carried(tilt, found.distance, found.along, found.across)) return Found::none;
    found.hessian = outer(tilt.x, found.along, tilt.y, found.across);
    found.velocity = {drift_[0], drift_[1], drift_[0] * b.x + drift_[1] * b.y};
    found.rise =
        found.along * (drift_[0] * b.xx + drift_[1] * b.xy) + found.across * (drift_[0] * b.xy + drift_[1] * b.yy);
    return Found::yes;
}

bool Hills::bending(const Surface& ground, const Vec3& u, Bending& found) const {
    Bends b;
    Thirds t;
    const double px = ground.foot[0], py = ground.foot[1];
    if (!heights_->bends(px, py, b) || !heights_->thirds(px, py, t)) return false;
    const Tilt tilt(b);
    // Derivatives along the way of the foot, by a prime.
    const double xi = dot(ground.along, u), eta = dot(ground.across, u);
    const double hx = b.xx * xi + b.xy * eta, hy = b.xy * xi + b.yy * eta;
    const double hxx = t.xxx * xi + t.xxy * eta, hxy = t.xxy * xi + t.xyy * eta, hyy = t.xyy * xi + t.yyy * eta;
    const double w = tilt.w, w1 = tilt.wx * xi + tilt.wy * eta;
    const auto second = [&](double slope, double rate) {  // w_x', w_y': of -w^3 (h_x h_xx + h_y h_xy)
        return -3.0 * w * w * w1 * slope - w * w * w * rate;
    };
    const double wx1 = second(b.x * b.xx + b.y * b.xy, hx * b.xx + b.x * hxx + hy * b.xy + b.y * hxy);
    const double wy1 = second(b.x * b.xy + b.y * b.yy, hx * b.xy + b.x * hxy + hy * b.yy + b.y * hyy);
    const Vec3 nx{-hxx * w - b.xx * w1 - hx * tilt.wx - b.x * wx1, -hxy * w - b.xy * w1 - hy * tilt.wx - b.y * wx1,
                  wx1};
    const Vec3 ny{-hxy * w - b.xy * w1 - hx * tilt.wy - b.x * wy1, -hyy * w - b.yy * w1 - hy * tilt.wy - b.y * wy1,
                  wy1};
    // Second derivatives of the foot, one of them along u: (1 + phi n_xi) xi'' = -(n_xy (H u)^T + (H u)_xy n^T
    // + (n . u) H + phi n_xi' xi_c).
    const Vec3 &n = tilt.normal, turn = ground.hessian * u;
    const double rate = dot(n, u), phi = ground.distance;
    const auto right = [&](double part, double turning, const Vec3& bent, double x, double y) {
        return -(turn * part + n * turning + bent * rate + (ground.along * x + ground.across * y) * phi);
    };
    Vec3 along = right(n.x, turn.x, ground.hessian.c0, nx.x, ny.x);
    Vec3 across = right(n.y, turn.y, ground.hessian.c1, nx.y, ny.y);
    if (!carried(tilt, phi, along, across)) return false;
    found.turn = outer(nx, ground.along, ny, ground.across) + outer(tilt.x, along, tilt.y, across);
    const auto drifted = [&](double x, double y) { return drift_[0] * x + drift_[1] * y; };
    found.rise = ground.along * drifted(hxx, hxy) + ground.across * drifted(hxy, hyy) + along * drifted(b.xx, b.xy) +
                 across * drifted(b.xy, b.yy);
    return true;
}

// t_i = x_i - a_i (e_z + n), a_i = n_i / (1 + n_z): the world's axes, turned the shortest way from upwards to n. Of a
// robot that moves in a plane: across x n.
bool Hills::frame(const Vec3& n, std::array<Vec3, 3>& axes) const {
    axes[0] = n;
    if (across_) {
        axes[1] = cross(*across_, n);
        return std::abs(dot(n, *across_)) <= rules_.aside;
    }
    const Vec3 middle{n.x, n.y, 1.0 + n.z};
    axes[1] = Vec3{1.0, 0.0, 0.0} - middle * (n.x / middle.z);
    axes[2] = Vec3{0.0, 1.0, 0.0} - middle * (n.y / middle.z);
    return true;
}

std::array<Vec3, 2> Hills::turned(const Vec3& n, const Vec3& change) const {
    if (across_) return {cross(*across_, change), Vec3{}};
    const Vec3 middle{n.x, n.y, 1.0 + n.z};
    const auto of = [&](double part, double rate) {
        const double a = part / middle.z;
        return -(middle * ((rate - a * change.z) / middle.z)) - change * a;
    };
    return {of(n.x, change.x), of(n.y, change.y)};
}

std::array<Vec3, 2> Hills::turned_twice(const Vec3& n, const Vec3& one, const Vec3& other) const {
    if (across_) return {};
    const Vec3 middle{n.x, n.y, 1.0 + n.z};
    const auto of = [&](double part, double first, double second) {
        const double a = part / middle.z, square = middle.z * middle.z;
        const double bend = (2.0 * a * one.z * other.z - first * other.z - second * one.z) / square;
        const double by_one = (first - a * one.z) / middle.z, by_other = (second - a * other.z) / middle.z;
        return -(middle * bend) - other * by_one - one * by_other;
    };
    return {of(n.x, one.x, other.x), of(n.y, one.y, other.y)};
}

}  // namespace native
