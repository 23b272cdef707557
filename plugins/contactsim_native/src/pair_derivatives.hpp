// How the rows of what touches a solid, and its forces, change with the state.
#pragma once

#include <memory>

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

// Where and along which normal two bodies touch, as that follows their motion.
class Follower {
  public:
    virtual ~Follower() = default;

    const MovingSpot& spot() const { return spot_; }

    // By how much point and normal change where both bodies are displaced, and their rates as well.
    virtual Spot displaced(const Spatial& own, const Spatial& other) const = 0;
    virtual MovingSpot changed(const BodyChange& own, const BodyChange& other) const = 0;

  protected:
    MovingSpot spot_;
};

// Of what touches a solid, by the velocities of both bodies, where the joints' places are known.
std::unique_ptr<Follower> follower_of(const Contact& contact, const Spatial& own, const Spatial& other,
                                      const Sweep& sweep);

// The rows of one contact: with V and A those of its own body relative to the other one, at its point x,
//     z = E u,    z' = E' u + E u',    u = V_l + V_w x x,    u' = A_l + A_w x x + V_w x x'.
class PairRows {
  public:
    PairRows(const PairFrame& frame, const Contact& contact, const BodyMotion& own, const BodyMotion& other,
             const Sweep& sweep);

    // Changes (rows,) of z and z'.
    void along(const BodyChange& own, const BodyChange& other, std::array<double, 3>& rates,
               std::array<double, 3>& change) const;

    // Force and its moment, by forces along the frame, and their change where both bodies are displaced.
    Spatial wrench(const double* along) const;
    Spatial wrench_change(const double* along, const Spatial& own, const Spatial& other) const;

  private:
    const PairFrame& frame_;
    std::unique_ptr<Follower> follower_;
    Spatial velocity_, acceleration_;  // relative
    Vec3 slip_, slip_rate_;
    std::array<Vec3, 3> axes_, axes_rate_;
};

}  // namespace native
