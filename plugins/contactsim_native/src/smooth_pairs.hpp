// Ellipsoids and balls against bodies of smooth pieces, by their closest points: see contactsim's
// multibody/geometry/smooth.py.
#pragma once

#include "pair_features.hpp"
#include "surfaces.hpp"

namespace native {

// Thresholds by name: those of contactsim's multibody/zero.py and of that module.
struct SmoothRules {
    ClosestRules closest;
    double tied, far_bodies;  // m, and a share of sizes
    int steps;                // from piece to piece
};

class SmoothOnSolid final : public FeaturePair {
  public:
    // `reach`: largest distance of B from its origin; none: it has no end.
    SmoothOnSolid(const SmoothPiece& own, const SmoothSurface& other, std::optional<double> reach,
                  const SmoothRules& rules);

    Region region(const PairPlaces& at) const override;
    FeatureLook look(const PairPlaces& at) const override;
    double gap(const PairPlaces& at, const Region& held) const override;
    double margin(const PairPlaces& at, const Region& held, int side) const override;
    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override;
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override;
    double bend(const PairPlaces& at, double speed, double spin, double duration) const override;

  private:
    const SmoothPiece own_;
    const SmoothSurface other_;
    const std::optional<double> reach_;
    const SmoothRules rules_;
    double least_, most_;  // radii of A

    std::optional<Unknowns<double>> root(const PairPlaces& at, const SmoothPiece& piece) const;
    std::optional<SettledOf<double>> nearest(const PairPlaces& at, const Region& held) const;
    double margin_there(const PairPlaces& at, const SettledOf<double>& there, const Region& held, int side) const;
    Vec3 towards(const PairPlaces& at, const SmoothPiece& piece) const;
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at, const Region& held) const;
};

}  // namespace native
