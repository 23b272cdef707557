// How the rows of a sphere that touches a solid, and its forces, change with the state.
#pragma once

#include "contact_mode.hpp"
#include "dense.hpp"

namespace native {

// Velocity and acceleration of a body.
struct BodyMotion {
    Spatial velocity, acceleration;
};

// By what a change of the state displaces a body, and what it adds to its motion.
struct BodyChange {
    Spatial place, velocity, acceleration;
};

// The rows of one contact: with V and A those of the body of the sphere relative to that of the solid, at its point
//     x = c - r n,    z = E u,    z' = E' u + E u',    u = V_l + V_w x x,    u' = A_l + A_w x x + V_w x x'.
class PairRows {
  public:
    PairRows(const PairFrame& frame, const Meeting& meeting, double radius, const BodyMotion& own,
             const BodyMotion& other);

    // Changes (rows,) of z and z'.
    void along(const BodyChange& own, const BodyChange& other, std::array<double, 3>& rates,
               std::array<double, 3>& change) const;

    // Force and its moment, by forces along the frame, and their change where both bodies are displaced.
    Spatial wrench(const double* along) const;
    Spatial wrench_change(const double* along, const Spatial& own, const Spatial& other) const;

  private:
    struct Displaced {
        Vec3 centre, against, normal, point;  // of the sphere, in the world and in the solid; n and x
    };

    const PairFrame& frame_;
    const Meeting& meeting_;
    double radius_;
    Spatial velocity_, acceleration_;  // relative
    Vec3 own_spin_, other_spin_, speed_, turned_, normal_rate_, point_, point_rate_, slip_, slip_rate_;
    std::array<Vec3, 3> axes_, axes_rate_;

    Displaced displaced(const Spatial& own, const Spatial& other) const;
};

}  // namespace native
