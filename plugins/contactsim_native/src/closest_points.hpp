// The closest points of two smooth pieces of surfaces, and how they move: see contactsim's
// multibody/geometry/closest_points/equations.py, features.py and search.py.
//
// A piece is the set {p(m) + s_1 d_1 + ... + r m} of points with outward unit normal m. With n the unit normal from B
// to A, y = (n, g, s_A, s_B) solves x_A - x_B = g n, (n . n - 1) / 2 = 0 and n . d = 0 for each slide d (of a cone
// n . d = sigma). All is written for any numbers: a derivative is one step of Newton's method in duals.
#pragma once

#include <optional>

#include "dual.hpp"

namespace native {

struct SmoothPiece {
    enum class Kind { point, line, slant, plane, ring, circle, ellipsoid };

    Kind kind;
    Vec3 centre;
    double offset = 0.0;           // r, by which the surface lies outside of the core along m [m]
    Vec3 axis;                     // of a line, a slant (towards its tip), a ring or circle; of a plane its normal
    double radius = 0.0;           // of a ring, or of a circle: the rim of a disc [m]
    double sine = 0.0;             // of a slant: of n . b = s
    Vec3 radii;                    // of an ellipsoid, along the axes of its body [m]
    std::array<Vec3, 2> across{};  // of a plane its slides; of a ring where its slide begins, and whither

    int slides() const;
    double sine_of(int slide) const { return kind == Kind::slant && slide == 0 ? sine : 0.0; }

    static SmoothPiece point(const Vec3& centre, double radius);
    static SmoothPiece line(const Vec3& centre, const Vec3& axis, double radius);
    static SmoothPiece slant(const Vec3& tip, const Vec3& axis, double sine);
    static SmoothPiece plane(const Vec3& centre, const Vec3& normal, double offset);
    static SmoothPiece ring(const Vec3& centre, const Vec3& axis, double radius);
    static SmoothPiece circle(const Vec3& centre, const Vec3& axis, double radius);
    static SmoothPiece ellipsoid(const Vec3& radii);
};

template <class T>
struct PoseOf {
    Matrix3<T> R;
    Vector3<T> o;
};

constexpr int MOST = 6;  // unknowns: n, g and two slides

template <class T>
using Unknowns = std::array<T, MOST>;

// One piece at a normal and slides, in world axes: its core with the slides, S = dp/dm, dp/ds and the derivative of
// this, and the radius around the core.
template <class T>
struct SideOf {
    Vector3<T> p;
    Matrix3<T> S;
    int count;
    std::array<Vector3<T>, 2> D, C;
    T r;
};

// Closest points, both pieces there, and the derivative of the equations by the unknowns.
template <class T>
struct SettledOf {
    Unknowns<T> y;
    int size;
    std::array<SideOf<T>, 2> sides;
    std::array<T, MOST * MOST> J;

    Vector3<T> normal() const { return {y[0], y[1], y[2]}; }
    T gap() const { return y[3]; }
    Vector3<T> on_a() const { return sides[0].p - normal() * sides[0].r; }
    Vector3<T> on_b() const { return sides[1].p + normal() * sides[1].r; }
};

// Thresholds by name: those of contactsim's multibody/zero.py and of the modules above.
struct ClosestRules {
    double rough, settled;                // turns of a normal that are rounding [rad]
    double flat;                          // angle to the axis of a disc below which a normal is along it [rad]
    int rounds, halvings, newton_rounds;  // of searches
    double exact;                         // in units of rounding of the places
};

using Poses = std::array<PoseOf<double>, 2>;

// y of the closest points of A, a point, an ellipsoid or a circle, and B, from any vector on the side of A; none where
// they have no one normal, or it was not found.
std::optional<Unknowns<double>> closest(const SmoothPiece& a, const SmoothPiece& b, const Poses& poses,
                                        const Vec3& towards, const ClosestRules& rules);

// The solution near y by one step of Newton's method, exact to first order in what y is off.
template <class T>
SettledOf<T> settled(const SmoothPiece& a, const SmoothPiece& b, const std::array<PoseOf<T>, 2>& poses,
                     const Unknowns<double>& y);

// Rates of the normal and of the point on A, with the twists of both bodies.
template <class T>
struct DriftOf {
    Vector3<T> normal, on_a;
};

template <class T>
DriftOf<T> drift(const SmoothPiece& a, const SmoothPiece& b, const SettledOf<T>& found, const SpatialVector<T>& V_a,
                 const SpatialVector<T>& V_b);

// Solves A x = b in place, row by row, with partial pivoting.
template <class T>
void solve_small(T* A, T* b, int size);

}  // namespace native
