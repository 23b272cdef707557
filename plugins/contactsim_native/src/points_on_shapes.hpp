// Points and spheres on cylinders and cones, and points of rims on which discs stand on plane faces: see contactsim's
// multibody/geometry/features.py and cylinder_points.py.
#pragma once

#include <memory>

#include "pair_features.hpp"
#include "round_shapes.hpp"

namespace native {

// What a point is: one without more to it, a corner of a box or hull or the round end of a capsule, or the tip of a
// cone, from which sides and edges of its body take over.
struct PointKind {
    enum class Of { ball, corner, tip };

    Of of = Of::ball;
    double radius = 0.0;      // of a sphere around it [m]
    std::vector<Vec3> edges;  // of its body that lead away from it, in the axes of that
    Vec3 axis;                // of a cone, from its tip into it
    double sine = 0.0;        // of half the angle there
};

class PointOnRound final : public FeaturePair {
  public:
    PointOnRound(const RoundShape& shape, const PointKind& point, const SharpRules& rules);

    Region region(const PairPlaces& at) const override;
    FeatureLook look(const PairPlaces& at) const override;
    double gap(const PairPlaces& at, const Region& held) const override;
    double margin(const PairPlaces& at, const Region& held, int side) const override;
    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override;
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override;
    double bend(const PairPlaces& at, double speed, double spin, double duration) const override;

  private:
    const RoundShape shape_;
    const PointKind point_;
    const SharpRules rules_;

    double side_radius(const Vec3& p) const;
    double take_over_margin(const PairPlaces& at, const Region& held, int edge) const;
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at, const Region& held) const;
};

// Plane faces of a body, by the regions of a point without radius: of a box, a hull, a cylinder or cone; of none of
// these, the half-space below z = 0.
struct FacedBody {
    std::optional<Vec3> half;
    std::shared_ptr<const Polyhedron> hull;
    std::optional<RoundShape> shape;

    struct Face {
        Vec3 normal;
        double offset;
    };

    Region region(const Vec3& p, const Vec3& inner, const SharpRules& rules) const;
    std::optional<Face> face(const Region& region) const;
    std::vector<Face> faces() const;
    double margin(const Vec3& p, const Region& held, int side, double rim) const;
    double curvature() const;  // of what a point touches
    double extent() const;     // infinite of a half-space
};

struct StandingRules {
    SharpRules sharp;
    double rise, stands;  // m/rad, and a tilt at which closed points end in units of `flat`
};

class StandingPoint final : public FeaturePair {
  public:
    // `inner`: from the point to the centre of its body; `axis`: outward from the end that stands, both in its axes.
    StandingPoint(const FacedBody& body, const Vec3& inner, const Vec3& axis, double flat, const StandingRules& rules);

    Region region(const PairPlaces& at) const override;
    FeatureLook look(const PairPlaces& at) const override;
    double standing_gap(const PairPlaces& at) const override;
    double gap(const PairPlaces& at, const Region& held) const override;
    double margin(const PairPlaces& at, const Region& held, int side) const override;
    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override;
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override;
    double bend(const PairPlaces& at, double speed, double spin, double duration) const override;

  private:
    const FacedBody body_;
    const Vec3 inner_, axis_;
    const double flat_;
    const StandingRules rules_;

    double raised(const PairPlaces& at, const Vec3& normal) const;
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at, const Region& held) const;
};

}  // namespace native
