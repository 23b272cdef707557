// Sides of cones across straight edges, axes of capsules and cylinders, and each other, and tips of cones on capsules:
// see contactsim's multibody/geometry/cone_sides.py and cylinder_points.py.
#pragma once

#include <algorithm>
#include <limits>

#include "convex.hpp"
#include "pair_features.hpp"

namespace native {

// Thresholds by name: those of contactsim's multibody/zero.py and of the modules above.
struct ConeRules {
    double smoothly_begin, smoothly_end;     // m: beyond an end at which what takes over has the same normal
    double rim, round_rim;                   // m: of points without radius, and of what is rounded
    double off, deep, far_side, far_bodies;  // m, m, and shares of a depth and of sizes
    double parallel, arc;                    // of edges: a sine, and by how much a normal may miss
};

// A cone along z, its tip above, the origin half way up.
struct Cone {
    double radius, half;  // of its base, and half of its height [m]

    double slant() const { return std::hypot(radius, 2.0 * half); }
    double sine() const { return radius / slant(); }
    double cosine() const { return 2.0 * half / slant(); }
    double reach() const { return std::hypot(radius, half); }
    ConvexBody body() const { return {ConvexBody::Kind::cone, nullptr, radius, half}; }
};

// An edge of a polyhedron, or the axis of a capsule or cylinder with what is around it.
struct EdgeOfBody {
    std::shared_ptr<const Polyhedron> hull;
    int number;
    double around, extent, least;  // radius, largest distance from the origin, and least width of the body [m]
};

class ConeSideOnLine final : public FeaturePair {
  public:
    ConeSideOnLine(const Cone& cone, const EdgeOfBody& edge, const ConeRules& rules);

    Region region(const PairPlaces& at) const override;
    FeatureLook look(const PairPlaces& at) const override;
    double gap(const PairPlaces& at, const Region& held) const override;
    double margin(const PairPlaces& at, const Region& held, int side) const override;
    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override;
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override;
    double bend(const PairPlaces& at, double speed, double spin, double duration) const override;

  private:
    template <class T>
    struct Crossed;
    struct Best;
    const Cone cone_;
    const EdgeOfBody edge_;
    const ConeRules rules_;
    const double length_;
    const Vec3 middle_, direction_;

    template <class T>
    Crossed<T> crossed(const PlacesOf<T>& at, double sense) const;
    Best best(const PairPlaces& at) const;
    std::array<double, 4> margins(const Crossed<double>& found) const;
    double square(const PairPlaces& at) const;  // K^2
    double bound(const PairPlaces& at) const;   // of the distance
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at, const Region& held) const;
};

class ConeSideOnCone final : public FeaturePair {
  public:
    ConeSideOnCone(const Cone& own, const Cone& other, const ConeRules& rules);

    Region region(const PairPlaces& at) const override;
    FeatureLook look(const PairPlaces& at) const override;
    double gap(const PairPlaces& at, const Region& held) const override;
    double margin(const PairPlaces& at, const Region& held, int side) const override;
    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override;
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override;
    double bend(const PairPlaces& at, double speed, double spin, double duration) const override;

  private:
    const Cone own_, other_;
    const ConeRules rules_;
    const SmoothPiece one_, two_;

    struct Across {
        Vec3 level, over;
        double square;
    };

    Across across(const PairPlaces& at) const;
    bool crosses(const PairPlaces& at) const;
    Unknowns<double> root(const PairPlaces& at, double sense) const;
    SettledOf<double> there(const PairPlaces& at, double sense) const;
    double best_sense(const PairPlaces& at) const;
    std::array<double, 4> margins(const SettledOf<double>& found) const;
    double away(const PairPlaces& at) const;
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at, const Region& held) const;
};

// The tip of a cone on a capsule, whose axis is along z.
class TipOnCapsule final : public FeaturePair {
  public:
    // `axis`: from the tip into the cone; `sine`: of half the angle there.
    TipOnCapsule(std::shared_ptr<const Polyhedron> hull, double around, const Vec3& axis, double sine,
                 const SharpRules& rules);

    Region region(const PairPlaces& at) const override;
    FeatureLook look(const PairPlaces& at) const override;
    double gap(const PairPlaces& at, const Region& held) const override;
    double margin(const PairPlaces& at, const Region& held, int side) const override;
    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override;
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override;
    double bend(const PairPlaces&, double speed, double, double) const override { return speed * speed / around_; }

  private:
    const std::shared_ptr<const Polyhedron> hull_;
    const double around_;
    const Vec3 axis_;
    const double sine_;
    const SharpRules rules_;

    template <class T>
    Vector3<T> offset(const Vector3<T>& p, const Region& region) const;
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at, const Region& held) const;
};

}  // namespace native
