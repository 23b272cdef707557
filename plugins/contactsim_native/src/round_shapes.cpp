#include "round_shapes.hpp"

namespace native {

namespace {

template <class T>
Vector3<T> radial(const Vector3<T>& p) {
    return {p.x, p.y, 0.0};
}

template <class T>
Vector3<T> upward(double height) {
    return {0.0, 0.0, height};
}

}  // namespace

double RoundShape::along(const Vec3& p) const {
    return sine() * std::hypot(p.x, p.y) - cosine() * (p.z - half);
}

Region RoundShape::region(const Vec3& p, double rim) const {
    const double rho = std::hypot(p.x, p.y);
    if (!cone) {
        const double aside = rho - radius, above = std::abs(p.z) - half;
        const int end = p.z >= 0.0 ? 1 : -1;
        if (aside > rim && above > rim) return {RIM, end, 0};
        if (aside > rim || (!(above > rim) && aside >= above)) return {SIDE, 0, 0};
        return {CAP, end, 0};
    }
    const double side = distance(p, Region{SIDE, 0, 0}), ahead = along(p), low = -half - p.z;
    if (low > rim) return rho <= radius + rim ? Region{CAP, -1, 0} : Region{RIM, -1, 0};
    if (ahead < -rim) return {TIP, 1, 0};
    if (side <= 0.0 && low > side) return {CAP, -1, 0};
    return side > 0.0 && ahead > slant() + rim ? Region{RIM, -1, 0} : Region{SIDE, 0, 0};
}

Region RoundShape::beyond(const Region& region, int side) const {
    if (region[0] == SIDE) {
        if (cone) return side == 3 ? Region{TIP, 1, 0} : Region{RIM, -1, 0};
        return {RIM, side > 0 ? 1 : -1, 0};
    }
    if (region[0] == CAP) return {RIM, region[1], 0};
    return side == 1 ? Region{CAP, region[1], 0} : Region{SIDE, 0, 0};
}

double RoundShape::margin(const Vec3& p, const Region& region, int side, double rim) const {
    const double inside = radius - std::hypot(p.x, p.y);
    if (region[0] == CAP || side == 1) return (region[0] == CAP ? inside : -inside) + rim;
    if (!cone) return region[0] == SIDE ? half - (side > 0 ? 1.0 : -1.0) * p.z + rim : region[1] * p.z - half + rim;
    const bool to_rim = (region[0] == SIDE && side == -3) || (region[0] == RIM && side == 3);
    const double ahead = to_rim ? slant() - along(p) : along(p);
    return (region[0] == SIDE ? ahead : -ahead) + rim;
}

template <class T>
Vector3<T> RoundShape::from_rim(const Vector3<T>& p, int end) const {
    const Vector3<T> out = radial(p);
    return p - out * (T(radius) / length(out)) - upward<T>(end * half);
}

template <class T>
T RoundShape::distance(const Vector3<T>& p, const Region& region) const {
    if (region[0] == CAP) return T(region[1]) * p.z - T(half);
    if (region[0] == SIDE) {
        const T rho = length(radial(p));
        return cone ? T(cosine()) * rho + T(sine()) * (p.z - T(half)) : rho - T(radius);
    }
    return length(region[0] == TIP ? p - upward<T>(half) : from_rim(p, region[1]));
}

template <class T>
Vector3<T> RoundShape::normal(const Vector3<T>& p, const Region& region) const {
    if (region[0] == CAP) return upward<T>(region[1]);
    if (region[0] == SIDE) {
        const Vector3<T> out = radial(p);
        return out * (T(cosine()) / length(out)) + upward<T>(sine());
    }
    const Vector3<T> way = region[0] == TIP ? p - upward<T>(half) : from_rim(p, region[1]);
    return way * (T(1.0) / length(way));
}

template <class T>
Vector3<T> RoundShape::normal_rate(const Vector3<T>& p, const Vector3<T>& rate, const Region& region) const {
    if (region[0] == CAP) return {};
    if (region[0] == SIDE) return turning(radial(p), radial(rate)) * T(cosine());
    if (region[0] == TIP) return turning(p - upward<T>(half), rate);
    return turning(from_rim(p, region[1]), rate - turning(radial(p), radial(rate)) * T(radius));
}

std::vector<int> sides_of_round(const Region& region) {
    if (region[0] == RoundShape::SIDE) return {-3, 3};
    if (region[0] == RoundShape::CAP) return {1};
    if (region[0] == RoundShape::TIP) return {-3};
    return {1, 3};
}

template double RoundShape::distance(const Vector3<double>&, const Region&) const;
template Dual RoundShape::distance(const Vector3<Dual>&, const Region&) const;
template Vector3<double> RoundShape::normal(const Vector3<double>&, const Region&) const;
template Vector3<Dual> RoundShape::normal(const Vector3<Dual>&, const Region&) const;
template Vector3<double> RoundShape::normal_rate(const Vector3<double>&, const Vector3<double>&, const Region&) const;
template Vector3<Dual> RoundShape::normal_rate(const Vector3<Dual>&, const Vector3<Dual>&, const Region&) const;

}  // namespace native
