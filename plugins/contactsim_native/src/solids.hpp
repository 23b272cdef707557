// Spheres and points of robots against solids: spheres, capsules, boxes and hulls of other bodies, of other links, or
// of the world.
//
// With axes R and origin o of the solid, p = R^T (c - o) for the centre c of the sphere, and the distance phi(p) from
// the solid, its gap is phi - r, its normal n = R grad phi, and n' = w x n + R H R^T y with the velocity y of c
// relative to the solid and H the Hessian of phi. See contactsim's multibody/geometry/pair_kinematics.py.
#pragma once

#include <memory>
#include <optional>

#include "polyhedra.hpp"
#include "robot.hpp"

namespace native {

struct Solid {
    int joint = -1;  // that it is fixed to; -1: the world
    Mat3 turn;       // its axes there
    Vec3 place;
    double radius = 0.0;                     // of a sphere, or of what is rounded around a hull
    std::optional<Vec3> half;                // of a box: half of its sides
    std::shared_ptr<const Polyhedron> hull;  // of a hull or capsule, or of a box whose edges meet others
    SharpRules rules;                        // of these

    bool is_round() const { return !half && !hull; }
    double curvature(double radius) const;  // bound of that of the distance where a sphere of a radius is outside
};

// A sphere or point where it meets a solid.
struct Meeting {
    double gap;
    Vec3 centre, normal;  // from the origin of the sweep; from the solid to the sphere
    Mat3 turn;            // axes of the solid
    Vec3 offset;          // in these: from the point, edge or corner that is nearest; zero of a plane side
    Region beyond;        // of a box: axes along which that counts
    Vec3 along;           // of a hull: direction of the edge that is nearest; zero of others
    int face = 0;         // number of the plane side that it meets, from 1 on; 0: none
    bool corner = false;  // whether a corner is nearest

    Vec3 turned(const Vec3& moved) const;                  // the normal, as the centre moves in the solid
    Vec3 bent(const Vec3& moved, const Vec3& rate) const;  // that of a rate, as it moves
};

// The axes of a solid, and its origin, from that of the sweep.
Mat3 axes_of(const Solid& solid, const Sweep& sweep);
Vec3 place_of(const Solid& solid, const Sweep& sweep);

// What meets a solid: a sphere, or a point without radius and the centre of its body, from the origin of the sweep.
struct Ball {
    Vec3 centre;
    double radius;
    std::optional<Vec3> inner;
};

// The region of a solid in which a ball is.
Region region_of(const Solid& solid, const Ball& ball, const Sweep& sweep);

// In a region that is held, or where the ball is. The joints' places are known.
Meeting meet(const Solid& solid, const std::optional<Region>& held, const Ball& ball, const Sweep& sweep);

// How far a ball is from a rim beyond the end of a region on a side: of a box the axis (1, 2, 3), with the sign of the
// side.
double margin(const Solid& solid, const Region& held, int side, double rim, const Ball& ball, const Sweep& sweep);

// Whether a corner is nearest behind a side of a region, in which none is.
bool is_corner_behind(const Solid& solid, const Region& held, int side);

// The motion of a sphere relative to a solid, at the same origin, where the joints' velocities are known.
struct RelativeMotion {
    Spatial velocity;         // of the body of the sphere, relative to that of the solid
    Vec3 speed, normal_rate;  // of the centre relative to the solid; of the normal
    Vec3 centre_rate;         // of the centre in the world
};

RelativeMotion motion_of(const Solid& solid, const Meeting& meeting, int joint, const Sweep& sweep);

// The frame (n, t...) of a contact between bodies: in space turned along with n from a fixed one the short way, in a
// plane (n, m x n), along a line n alone.
struct PairFrame {
    int rows = 3;
    Vec3 start;                    // n of the fixed frame
    std::array<Vec3, 2> tangents;  // and its tangents
    Vec3 across;                   // m

    std::array<Vec3, 3> axes(const Vec3& n) const;
    std::array<Vec3, 3> rates(const Vec3& n, const Vec3& n_rate) const;
    std::array<Vec3, 3> bends(const Vec3& n, const Vec3& a, const Vec3& b) const;  // second derivative, along a and b
};

// Velocity, and rate of it by a joint's own accelerations, of what is fixed to a joint, or to the world.
inline Spatial velocity_of(int joint, const Sweep& sweep) {
    return joint < 0 ? Spatial{} : sweep.velocity[joint];
}

inline Spatial drift_of(int joint, const Robot& robot, const Sweep& sweep) {
    return joint < 0 ? Spatial{-robot.gravity, {}} : sweep.drift[joint];
}

}  // namespace native
