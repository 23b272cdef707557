#include "rounds.hpp"

#include <algorithm>

namespace native {

namespace {

// Under the outward normal m in its own axes: p, and |B m|, or one where that vanishes: of points, and of discs that
// lie flat.
struct Under {
    Vec3 p;
    double length;
};

Under under(const Mat3& root, const Vec3& m) {
    const Vec3 along = root * m;
    const double size = dot(along, along), length = size > 0.0 ? std::sqrt(size) : 1.0;
    return {root.transposed() * along * (1.0 / length), length};
}

}  // namespace

Vec3 Rounded::arm(const Mat3& turn, const Vec3& normal) const {
    return turn * under(root, turn.transposed() * -normal).p;
}

Vec3 Rounded::sliding(const Mat3& turn, const Vec3& normal, const Vec3& spin) const {
    const Under here = under(root, turn.transposed() * -normal);
    const Vec3 turned = turn.transposed() * cross(spin, normal);
    return turn * ((root.transposed() * (root * turned) - here.p * dot(here.p, turned)) * (1.0 / here.length));
}

// With Q = R B^T B R^T, which changes by [t] Q - Q [t], and with u = w x n:
//     S u = (Q u - p (p . u)) / L,    dL = (t x n) . p,    dp = t x p + S (t x n).
Vec3 Rounded::sliding_by(const Mat3& turn, const Vec3& normal, const Vec3& spin, const Vec3& turned) const {
    const Under here = under(root, turn.transposed() * -normal);
    const auto square = [&](const Vec3& a) { return turn * (root.transposed() * (root * (turn.transposed() * a))); };
    const Vec3 u = cross(spin, normal), p = turn * here.p, way = sliding(turn, normal, spin);
    const Vec3 p_change = cross(turned, p) + sliding(turn, normal, turned);
    const Vec3 change = cross(turned, square(u)) - square(cross(turned, u));
    const Vec3 taken = p_change * dot(p, u) + p * dot(p_change, u);
    return (change - taken - way * dot(cross(turned, normal), p)) * (1.0 / here.length);
}

double Rounded::tilt(const Mat3& turn, const Vec3& normal) const {
    const Vec3 across = cross(turn * disc->axis, normal);
    return std::sqrt(dot(across, across));
}

bool Rounded::acts(double tilt) const {
    return disc->lying ? tilt <= rules.points_begin * disc->flat : tilt >= rules.rim_begins * disc->flat;
}

double Rounded::raised(double gap, double tilt) const {
    if (acts(tilt)) return gap;
    if (disc->lying) return gap + rules.rise * (tilt - rules.points_begin * disc->flat);
    return std::max(gap, rules.rise * (rules.rim_begins * disc->flat - tilt));
}

double Rounded::margin(double tilt) const {
    return disc->lying ? rules.points_end * disc->flat - tilt : tilt - rules.rim_ends * disc->flat;
}

}  // namespace native
