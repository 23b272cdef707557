// Vectors, rotations and spatial vectors in world axes about one point: plain structs.
#pragma once

#include <array>
#include <cmath>

namespace native {

// Three numbers: doubles, or with derivatives (see dual.hpp).
template <class T>
struct Vector3 {
    T x = 0.0, y = 0.0, z = 0.0;

    Vector3 operator+(const Vector3& b) const { return {x + b.x, y + b.y, z + b.z}; }
    Vector3 operator-(const Vector3& b) const { return {x - b.x, y - b.y, z - b.z}; }
    Vector3 operator-() const { return {-x, -y, -z}; }
    Vector3 operator*(T s) const { return {x * s, y * s, z * s}; }
    Vector3& operator+=(const Vector3& b) { return *this = *this + b; }

    friend T dot(const Vector3& a, const Vector3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
    friend Vector3 cross(const Vector3& a, const Vector3& b) {
        return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
    }
};

// A 3 x 3 matrix by its columns.
template <class T>
struct Matrix3 {
    Vector3<T> c0{1.0, 0.0, 0.0}, c1{0.0, 1.0, 0.0}, c2{0.0, 0.0, 1.0};

    Vector3<T> operator*(const Vector3<T>& a) const { return c0 * a.x + c1 * a.y + c2 * a.z; }
    Matrix3 operator*(const Matrix3& b) const { return {*this * b.c0, *this * b.c1, *this * b.c2}; }
    Matrix3 operator+(const Matrix3& b) const { return {c0 + b.c0, c1 + b.c1, c2 + b.c2}; }
    Matrix3 transposed() const { return {{c0.x, c1.x, c2.x}, {c0.y, c1.y, c2.y}, {c0.z, c1.z, c2.z}}; }
};

using Vec3 = Vector3<double>;
using Mat3 = Matrix3<double>;

inline double dot(const Vec3& a, const Vec3& b);  // of the friends above: by which a full name finds it

// Rotation about a unit axis (Rodrigues).
inline Mat3 rotation(const Vec3& axis, double cosine, double sine) {
    const double rest = 1.0 - cosine;
    const Vec3 &a = axis, s = axis * sine, r = axis * rest;
    return {{cosine + r.x * a.x, r.x * a.y + s.z, r.x * a.z - s.y},
            {r.y * a.x - s.z, cosine + r.y * a.y, r.y * a.z + s.x},
            {r.z * a.x + s.y, r.z * a.y - s.x, cosine + r.z * a.z}};
}

struct Quaternion {
    double x = 0.0, y = 0.0, z = 0.0, w = 1.0;

    Quaternion operator*(const Quaternion& b) const {
        return {w * b.x + x * b.w + y * b.z - z * b.y, w * b.y - x * b.z + y * b.w + z * b.x,
                w * b.z + x * b.y - y * b.x + z * b.w, w * b.w - x * b.x - y * b.y - z * b.z};
    }

    Mat3 matrix() const {
        return {{1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)},
                {2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)},
                {2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)}};
    }
};

// A spatial motion (velocity of the body's point at the origin, angular velocity) or force (force, moment about it).
template <class T>
struct SpatialVector {
    Vector3<T> linear, angular;

    SpatialVector operator+(const SpatialVector& b) const { return {linear + b.linear, angular + b.angular}; }
    SpatialVector operator*(T s) const { return {linear * s, angular * s}; }
    SpatialVector& operator+=(const SpatialVector& b) { return *this = *this + b; }
};

using Spatial = SpatialVector<double>;

inline double dot(const Spatial& motion, const Spatial& force) {
    return dot(motion.linear, force.linear) + dot(motion.angular, force.angular);
}

// The rate of a motion that is fixed to a body with velocity v.
inline Spatial cross_motion(const Spatial& v, const Spatial& m) {
    return {cross(v.angular, m.linear) + cross(v.linear, m.angular), cross(v.angular, m.angular)};
}

// The rate of a force that is fixed to a body with velocity v.
inline Spatial cross_force(const Spatial& v, const Spatial& f) {
    return {cross(v.angular, f.linear), cross(v.angular, f.angular) + cross(v.linear, f.linear)};
}

// Inertia of a body about the origin: mass, first moment, and the moments of inertia (xx, yy, zz, xy, xz, yz).
struct Inertia {
    double mass = 0.0;
    Vec3 moment;
    std::array<double, 6> about{};

    Inertia& operator+=(const Inertia& b) {
        mass += b.mass;
        moment += b.moment;
        for (int k = 0; k < 6; ++k) about[k] += b.about[k];
        return *this;
    }

    Vec3 turned(const Vec3& a) const {
        return {about[0] * a.x + about[3] * a.y + about[4] * a.z, about[3] * a.x + about[1] * a.y + about[5] * a.z,
                about[4] * a.x + about[5] * a.y + about[2] * a.z};
    }

    Spatial operator*(const Spatial& m) const {
        return {m.linear * mass + cross(m.angular, moment), turned(m.angular) + cross(moment, m.linear)};
    }
};

}  // namespace native
