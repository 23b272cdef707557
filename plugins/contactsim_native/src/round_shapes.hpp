// The distances from a cylinder and a cone along z, by their sides, flat ends and rims, and by the tip of a cone: see
// contactsim's multibody/geometry/cylinders.py. Regions are (SIDE, 0), (CAP, s), (RIM, s) at the end with the sign s,
// and (TIP, 1).
#pragma once

#include "dual.hpp"
#include "polyhedra.hpp"

namespace native {

struct RoundShape {
    enum Part { SIDE = 1, CAP = 2, RIM = 3, TIP = 4 };

    bool cone;            // with its tip above, the origin half way up; else it is a cylinder
    double radius, half;  // of it or its base, and half of its length [m]

    double slant() const { return std::hypot(radius, 2.0 * half); }  // of a cone, from the tip to the rim
    double sine() const { return cone ? radius / slant() : 0.0; }    // of half the angle at the tip
    double cosine() const { return cone ? 2.0 * half / slant() : 1.0; }
    double extent() const { return std::hypot(radius, half); }

    // What is nearest to a point; sides and ends reach a rim beyond their ends.
    Region region(const Vec3& p, double rim) const;
    Region beyond(const Region& region, int side) const;  // what is behind a side
    double margin(const Vec3& p, const Region& region, int side, double rim) const;

    // The distance, negative inside, its gradient, and the rate of this as p moves; smooth within a region.
    template <class T>
    T distance(const Vector3<T>& p, const Region& region) const;
    template <class T>
    Vector3<T> normal(const Vector3<T>& p, const Region& region) const;
    template <class T>
    Vector3<T> normal_rate(const Vector3<T>& p, const Vector3<T>& rate, const Region& region) const;

  private:
    double along(const Vec3& p) const;  // from the tip along the side of a cone
    template <class T>
    Vector3<T> from_rim(const Vector3<T>& p, int end) const;
};

// The sides on which a region can be left, in rising order.
std::vector<int> sides_of_round(const Region& region);

}  // namespace native
