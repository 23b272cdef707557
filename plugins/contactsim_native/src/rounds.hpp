// Rounded bodies on planes: rims of discs, fixed points of these on which the discs stand, and ellipsoids. Their core
// has the support function c . m + |B m|: its point that is farthest along m is c + p, p = B^T B m / |B m|, with the
// derivative S = (B^T B - p p^T) / |B m|. The equations are those of contactsim's
// multibody/geometry/closest_points/ground.py and multibody/kinematics/curved_contacts.py.
#pragma once

#include <optional>

#include "spatial.hpp"

namespace native {

// Tilts in units of `flat` above which an open rim begins to touch, and up to which open fixed points do; those at
// which closed ones end; metres a radian by which what does not act is raised; gap of a rim whose disc stands [m]; and
// the tilt from which on the nearest point of a rim moves so slowly that its gap bends little.
struct RoundRules {
    double rim_begins, points_begin, rim_ends, points_end, rise, off, steep;
};

// What belongs to a disc, which may lie flat.
struct OfDisc {
    int number;   // of the disc, among those of its robot
    Vec3 axis;    // in the joint's frame
    bool lying;   // whether it acts while the disc lies flat: a fixed point; else it is the rim
    double flat;  // sine of the tilt below which the disc does
};

struct Rounded {
    Mat3 root;                   // B, by axes of the joint [m]
    double bend;                 // largest radius of curvature over which the nearest point moves [m]
    std::optional<OfDisc> disc;  // none: it never lies flat
    RoundRules rules;

    // In the world, with the axes of its joint, over a plane with normal n: from its centre to the point of the core
    // that is nearest; how fast that moves over the body, which turns: S (w x n); and the derivative of this as the
    // body turns by `turned`, its spin held.
    Vec3 arm(const Mat3& turn, const Vec3& normal) const;
    Vec3 sliding(const Mat3& turn, const Vec3& normal, const Vec3& spin) const;
    Vec3 sliding_by(const Mat3& turn, const Vec3& normal, const Vec3& spin, const Vec3& turned) const;

    // Of what belongs to a disc: the sine of its tilt; the gap of what is open, raised where it does not act, down to
    // where it does; and how far what is closed is from its end.
    double tilt(const Mat3& turn, const Vec3& normal) const;
    bool acts(double tilt) const;
    double raised(double gap, double tilt) const;
    double margin(double tilt) const;

    bool same_disc(const Rounded& other) const { return disc && other.disc && disc->number == other.disc->number; }
};

}  // namespace native
