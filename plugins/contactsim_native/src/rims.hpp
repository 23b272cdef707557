// Rims of cylinders and cones against faces, edges, sides, ends and rims of other bodies: see contactsim's
// multibody/geometry/rims.py and crossed_rims.py, and closest_points/search.py.
#pragma once

#include <algorithm>
#include <limits>

#include "convex.hpp"
#include "pair_features.hpp"

namespace native {

// Thresholds by name: those of contactsim's multibody/zero.py and of the modules above.
struct RimRules {
    ClosestRules closest;
    double begins, ends, lies, rise;         // tilts in units of `flat`, and metres a radian
    double smoothly_begin, smoothly_end;     // m: beyond an end at which what takes over has the same normal
    double rim;                              // m: of points without radius
    double off, deep, far_side, far_bodies;  // m, m, and shares of a depth and of sizes
    double parallel, parallel_edges;         // sines of rims and of edges that do not cross
    double nearly_flat;                      // a sine
    double sideways, turned;                 // of searches: a cosine, and a step [rad]
};

// A rim of a body about z, the one at the end with the sign `end`.
struct RimOfBody {
    double radius, half, end;
    double lean;  // sine of the angle by which normals of the side lean away from it; zero of a cylinder
    double flat;  // sine of the tilt below which its disc lies flat

    Vec3 centre() const { return {0.0, 0.0, end * half}; }
    double least() const { return std::min(radius, half); }
    double arm() const { return std::hypot(radius, half); }
    ConvexBody body() const;
};

// A part of a body that a rim touches.
struct RimPart {
    enum class Kind { face, cap, endless, ridge, side, slope, rim };

    Kind kind;
    Vec3 centre, axis;                          // a point of it, of a slope its tip; its normal or direction
    double sine = 0.0, radius = 0.0;            // of normals of a slope; of what is around the line of a side
    Vec3 middle;                                // of the length of what is made of lines
    double half = 0.0, around = 0.0;            // half of that, and its largest distance from its axis
    double body_radius = 0.0, body_half = 0.0;  // of a cylinder or cone that it is of
    std::vector<std::array<double, 7>> rows;    // margins that are linear in point, normal and one
    std::vector<std::array<double, 2>> limits;  // what each begins above, and below which it ends
    std::optional<RimOfBody> other;             // of a rim
    double extent = 0.0, least = 0.0;
    std::optional<ConvexBody> body;

    bool lets_lean() const { return kind == Kind::face || kind == Kind::endless; }
    bool is_sharp() const { return kind == Kind::ridge || kind == Kind::rim; }
    bool is_lined() const { return kind == Kind::ridge || kind == Kind::side || kind == Kind::slope; }
    bool is_round() const { return kind != Kind::face && kind != Kind::endless && kind != Kind::ridge; }
    double away(const Vec3& p) const;                             // a bound of the distance of a point from it
    double bent(double of_rim, const Vec3& x, double way) const;  // radius with which the normal turns
};

// How far a contact is from an end of its features, what it begins above, and below which it ends.
struct RimMargin {
    double value, begin, end;
};

// Of a point of a part with its outward normal, from the ends of that.
std::vector<RimMargin> margins_of(const RimPart& part, const Vec3& x, const Vec3& outward, const RimRules& rules);

class RimOnPart : public FeaturePair {
  public:
    RimOnPart(const RimOfBody& rim, const RimPart& part, const RimRules& rules);

    Region region(const PairPlaces&) const override { return {1, 0, 0}; }
    FeatureLook look(const PairPlaces& at) const override;
    double gap(const PairPlaces& at, const Region&) const override { return held(at).gap; }
    double margin(const PairPlaces& at, const Region&, int side) const override;
    double bend(const PairPlaces& at, double speed, double spin, double duration) const override;

  protected:
    const RimOfBody rim_;
    const RimPart part_;
    const RimRules rules_;

    // Closest points: the normal from B to A, the gap, and the points of both.
    struct Near {
        Vec3 n{NAN, NAN, NAN};
        double gap = NAN;
        Vec3 x{}, x_b{};
    };

    virtual std::optional<Near> nearest(const PairPlaces& at) const = 0;  // none where one disc touches with its inside
    virtual Near held(const PairPlaces& at) const = 0;                    // beyond the ends of the parts, too
    virtual FeatureLook look_closely(const PairPlaces& at) const;

    std::vector<RimMargin> margins(const PairPlaces& at, const Near& found) const;
    std::vector<RimMargin> margins_of_part(const Vec3& x, const Vec3& outward) const {
        return margins_of(part_, x, outward, rules_);
    }
    double crossing(const PairPlaces& at, const Vec3& n) const;
    double away(const PairPlaces& at) const;
    bool on_far_side(const PairPlaces& at, double gap) const;

  private:
    double bound(const PairPlaces& at) const;  // of the distance, by which what is far is known
    double far() const;                        // beyond which that stands for the gap
};

// Against a plane part, in closed form.
class RimOnPlane final : public RimOnPart {
  public:
    RimOnPlane(const RimOfBody& rim, const RimPart& part, const RimRules& rules);

    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override;
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override;
    bool lies(const PairPlaces& at) const override { return faces(at, rules_.lies); }

  protected:
    std::optional<Near> nearest(const PairPlaces& at) const override { return held(at); }
    Near held(const PairPlaces& at) const override;
    FeatureLook look_closely(const PairPlaces& at) const override;

  private:
    bool faces(const PairPlaces& at, double most) const;
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at) const;
};

// Against an edge or a side, by the angle of the normal around that.
class RimOnLines final : public RimOnPart {
  public:
    RimOnLines(const RimOfBody& rim, const RimPart& part, const RimRules& rules);

    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override;
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override;

  protected:
    std::optional<Near> nearest(const PairPlaces& at) const override;
    Near held(const PairPlaces& at) const override;

  private:
    template <class T>
    struct ByNormal;
    template <class T>
    struct ByPlace;
    const std::array<Vec3, 2> across_;  // the ways from which, and in which, angles around the lines count
    const double cosine_;

    double angle(const PairPlaces& at) const;  // NaN where the rim has none
    template <class T>
    ByNormal<T> by_normal(const PlacesOf<T>& at, T angle) const;
    template <class T>
    ByPlace<T> by_place(const PlacesOf<T>& at, double sense, T angle) const;

    // The angle of the point on the rim, and the side that the normal is on; none where the disc is tilted enough.
    std::optional<std::pair<double, double>> start(const PairPlaces& at, const ByNormal<double>& found) const;
    template <class T>
    ByPlace<T> nearly_flat(const PlacesOf<T>& at, const std::pair<double, double>& start) const;
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at) const;
};

// Against another rim, by their closest points.
class RimOnRim final : public RimOnPart {
  public:
    RimOnRim(const RimOfBody& rim, const RimPart& part, const RimRules& rules);

    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override;
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override;

  protected:
    std::optional<Near> nearest(const PairPlaces& at) const override;
    Near held(const PairPlaces& at) const override;

  private:
    template <class T>
    struct BothPlaces;
    const SmoothPiece own_, its_;

    Vec3 towards(const PairPlaces& at) const;
    std::optional<Unknowns<double>> root(const PairPlaces& at) const;
    // The angles on both rims; none where both discs are tilted enough.
    std::optional<std::array<double, 2>> angles(const PairPlaces& at, const Unknowns<double>& y) const;
    template <class T>
    BothPlaces<T> placed(const PlacesOf<T>& at, const std::array<double, 2>& angles, const Vec3& n) const;
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at) const;
};

}  // namespace native
