// Whole convex bodies by the points of theirs that are farthest along directions, and whether planes part two of them.
// See `on_far_side` in contactsim's multibody/geometry/convex.py.
#pragma once

#include <memory>

#include "closest_points.hpp"
#include "polyhedra.hpp"

namespace native {

// A polyhedron, or what is round about z: a cylinder, a cone with its tip above and the origin half way up, or the
// straight line between the centres of the round ends of a capsule.
struct ConvexBody {
    enum class Kind { polyhedron, cylinder, cone, capsule };

    Kind kind = Kind::polyhedron;
    std::shared_ptr<const Polyhedron> hull;
    double radius = 0.0, half = 0.0;  // m

    Vec3 farthest(const Vec3& m) const;  // its point that is farthest along m, in its axes
    Vec3 middle() const;                 // a point inside
};

// Whether some plane parts two bodies, or all but does: they are inside each other by less than a depth [m].
bool are_parted(const ConvexBody& a, const ConvexBody& b, const Poses& poses, double depth);

}  // namespace native
