// Numbers with a derivative, by which what is written once for all numbers is differentiated to rounding.
#pragma once

#include <cmath>

#include "spatial.hpp"

namespace native {

struct Dual {
    double value = 0.0, slope = 0.0;

    Dual() = default;
    Dual(double number, double rate = 0.0) : value(number), slope(rate) {}

    Dual operator-() const { return {-value, -slope}; }
    Dual& operator+=(const Dual& b) { return *this = *this + b; }
    Dual& operator-=(const Dual& b) { return *this = *this - b; }

    friend Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.slope + b.slope}; }
    friend Dual operator-(const Dual& a, const Dual& b) { return {a.value - b.value, a.slope - b.slope}; }
    friend Dual operator*(const Dual& a, const Dual& b) {
        return {a.value * b.value, a.value * b.slope + a.slope * b.value};
    }
    friend Dual operator/(const Dual& a, const Dual& b) {
        const double ratio = a.value / b.value;
        return {ratio, (a.slope - ratio * b.slope) / b.value};
    }
};

inline Dual sqrt(const Dual& a) {
    const double root = std::sqrt(a.value);
    return {root, 0.5 * a.slope / root};
}

inline Dual cos(const Dual& a) {
    return {std::cos(a.value), -std::sin(a.value) * a.slope};
}

inline Dual sin(const Dual& a) {
    return {std::sin(a.value), std::cos(a.value) * a.slope};
}

// What a number is but for its derivative.
inline double real(double a) {
    return a;
}

inline double real(const Dual& a) {
    return a.value;
}

template <class T>
Vec3 real(const Vector3<T>& a) {
    return {real(a.x), real(a.y), real(a.z)};
}

template <class T>
Mat3 real(const Matrix3<T>& a) {
    return {real(a.c0), real(a.c1), real(a.c2)};
}

// A vector that does not change.
template <class T>
Vector3<T> constant(const Vec3& a) {
    return {a.x, a.y, a.z};
}

// By what it changes.
inline Vector3<Dual> changing(const Vec3& a, const Vec3& change) {
    return {{a.x, change.x}, {a.y, change.y}, {a.z, change.z}};
}

inline Vec3 slope(const Vector3<Dual>& a) {
    return {a.x.slope, a.y.slope, a.z.slope};
}

template <class T>
T length(const Vector3<T>& a) {
    using std::sqrt;
    return sqrt(dot(a, a));
}

// Rate of a / |a| as a moves at a rate.
template <class T>
Vector3<T> turning(const Vector3<T>& a, const Vector3<T>& rate) {
    const T size = length(a);
    const Vector3<T> n = a * (T(1.0) / size);
    return (rate - n * dot(n, rate)) * (T(1.0) / size);
}

}  // namespace native
