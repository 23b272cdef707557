// Cylinders, cones and capsules on each other that give way, one contact of both bodies by their distance: see
// contactsim's multibody/geometry/yielding_rounds.py.
#pragma once

#include "yielding_rims.hpp"

namespace native {

// Thresholds by name: those of contactsim's multibody/zero.py and of the module above.
struct RoundPairRules {
    YieldingRules rims;
    double beside, beyond;   // rad: normals of one maximum; lengths by which held normals may be beyond their end
    double round_rim, tied;  // m: beyond an end, and by which other normals are better, where a contact leaves
    int polishes;
};

// A cylinder, cone or capsule around z, the hull of two pieces at the heights -half and half.
struct RoundBody {
    enum class Kind { cylinder, cone, capsule };

    Kind kind;
    double radius, half, bulge;

    double sine() const;  // of the normals of its side
    double reach() const;
    bool is_disc(int end) const { return kind == Kind::cylinder || (kind == Kind::cone && end == 0); }
    double around() const { return kind == Kind::capsule ? radius : 0.0; }  // a ball, or a tip
    Vec3 centre(int end) const { return {0.0, 0.0, end == 0 ? -half : half}; }
    SmoothPiece piece(int number) const;                  // of an end around its own centre
    std::array<double, 2> out(const Vec3& m) const;       // how far its pieces are out along m
    double within(double slide) const;                    // how far a point of the side is from its nearer end
};

class RoundOnRound final : public FeaturePair {
  public:
    RoundOnRound(const RoundBody& a, const RoundBody& b, const RoundPairRules& rules);

    Region region(const PairPlaces& at) const override { return best(at).region(); }
    FeatureLook look(const PairPlaces& at) const override;
    double gap(const PairPlaces& at, const Region& held) const override;
    double margin(const PairPlaces& at, const Region& held, int side) const override;
    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override { return met(at, held); }
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override { return met(at, held); }
    double bend(const PairPlaces&, double, double, double) const override { return INFINITY; }

  private:
    const RoundBody a_, b_;
    const RoundPairRules rules_;

    // The best normal of a region, by the numbers of the features, and the distance along it.
    struct Candidate {
        int own, other;
        Vec3 n;
        double gap;

        Region region() const { return {1 + 3 * own + other, 0, 0}; }
    };

    using Normals = std::vector<Vec3>;

    double along(const PairPlaces& at, const Vec3& n) const;
    bool are_out(const PairPlaces& at, int own, int other, const Vec3& n) const;
    std::vector<Candidate> candidates(const PairPlaces& at) const;
    Candidate best(const PairPlaces& at) const;
    std::optional<Vec3> best_of(const PairPlaces& at, int own, int other) const;
    void add_across(const PairPlaces& at, Normals& found) const;
    void add_over(const PairPlaces& at, int end, double slack, Normals& found) const;
    void add_under(const PairPlaces& at, int end, double slack, Normals& found) const;
    void add_axes(const PairPlaces& at, Normals& found) const;
    Vec3 start(const PairPlaces& at, int own, int other, const Normals& ways) const;
    void add_between(const PairPlaces& at, int own, int other, const Normals& starts, Normals& found) const;
    std::optional<Vec3> climbed(const PairPlaces& at, int own, int other, const Vec3& towards) const;

    template <class T>
    std::array<PoseOf<T>, 2> poses(const PlacesOf<T>& at, int own, int other) const;
    Unknowns<double> unknowns(const PairPlaces& at, int own, int other, const Vec3& n) const;
    template <class T>
    SettledOf<T> settled_in(const PlacesOf<T>& at, int own, int other, const Unknowns<double>& y) const;
    SettledOf<double> settled_at(const PairPlaces& at, int own, int other, const Vec3& n) const;
    std::optional<Unknowns<double>> held(const PairPlaces& at, int own, int other) const;
    std::array<double, 2> margins(const PairPlaces& at, int own, int other, const SettledOf<double>& found) const;
    double lead_over_others(const PairPlaces& at, const SettledOf<double>& found) const;
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at, const Region& held) const;
};

}  // namespace native
