// Rims of cylinders and cones on other bodies that give way, one contact of each rim with all of a body: see
// contactsim's multibody/geometry/yielding_rims.py.
#pragma once

#include "rims.hpp"

namespace native {

constexpr int NORMAL_SAMPLES = 33;  // of the normals of lines, both ends among them

// T of a spheroid of this radius and the half thickness `bulge` of it, and the way up from its lowest point along n to
// its centre.
template <class T>
struct LowPoint {
    T size;
    Vector3<T> way;
};

template <class T>
LowPoint<T> lowest(double radius, double bulge, const Vector3<T>& n, const Vector3<T>& a) {
    using std::sqrt;
    const T h = dot(n, a), thin = T(bulge) * h;
    const Vector3<T> across = cross(a, cross(n, a));
    const T size = T(radius) * sqrt(dot(across, across) + thin * thin);
    return {size, (across + a * (T(bulge * bulge) * h)) * (T(radius * radius) / size)};
}

// g over the angle f of normals s b + c (u cos f + v sin f), by w = c - p and the axis a in axes (u, v, b).
struct Slopes {
    Vec3 way, lean;
    double sine, cosine, radius, bulge;

    Vec3 normal(double angle) const { return {cosine * std::cos(angle), cosine * std::sin(angle), sine}; }
    double height(const Vec3& n) const { return dot(n, way) - lowest(radius, bulge, n, lean).size; }

    // g' and g''.
    std::array<double, 2> at(double angle) const {
        const Vec3 n = normal(angle), turned{-n.y, n.x, 0.0};
        const double h = dot(n, lean), up = dot(turned, lean), bent = -n.x * lean.x - n.y * lean.y;
        const double square = radius * radius * (1.0 - bulge * bulge), T = lowest(radius, bulge, n, lean).size;
        const double swing = h * up;
        return {dot(turned, way) + square * swing / T,
                -n.x * way.x - n.y * way.y +
                    square * ((up * up + h * bent) / T + square * swing * swing / (T * T * T))};
    }

    // The angle between two, at which g rises and falls, where it is largest.
    double highest(double low, double high, int rounds, double turned) const {
        double angle = 0.5 * (low + high);
        for (int k = 0; k < rounds; ++k) {
            const auto [first, second] = at(angle);
            (first > 0.0 ? low : high) = angle;
            double there = second < 0.0 ? angle - first / second : low;
            if (!(low < there && there < high)) there = 0.5 * (low + high);
            if (std::abs(there - angle) <= turned) return there;
            angle = there;
        }
        return angle;
    }
};

// Normals around an edge, in axes of its body: ways u and v from which and in which their angles count, the
// direction b of the lines, and the angle up to which they go from u on.
struct NormalsAround {
    std::array<Vec3, 3> frame;
    double span;
};

// A part of a body, with its normals if it is an edge, and of a face the parts behind each of its margins.
struct YieldingPart {
    RimPart part;
    std::optional<NormalsAround> normals;
    std::vector<int> beside;
};

struct YieldingRules {
    RimRules rim;
    double bulge;  // half thickness of a rim, in radii
    int rounds;    // of the search of a normal
    double turned;  // rad: a step of it that is rounding
};

class YieldingRim final : public FeaturePair {
  public:
    YieldingRim(const RimOfBody& rim, std::vector<YieldingPart> parts, std::optional<double> reach,
                const YieldingRules& rules);

    Region region(const PairPlaces& at) const override;
    FeatureLook look(const PairPlaces& at) const override;
    double gap(const PairPlaces& at, const Region& held) const override;
    double margin(const PairPlaces&, const Region&, int) const override { return NAN; }  // it never ends
    MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const override { return met(at, held); }
    MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const override { return met(at, held); }
    double bend(const PairPlaces& at, double speed, double spin, double duration) const override;

  private:
    const RimOfBody rim_;
    const std::vector<YieldingPart> parts_;
    const std::optional<double> reach_;  // of the other body from its origin; none: it has no end
    const YieldingRules rules_;
    const SmoothPiece own_;

    // The part that touches, its gap, and the unknowns of the closest points of what is not plane.
    struct Touching {
        int number;
        double gap;
        Unknowns<double> y{};
    };

    // What touches, or would, and a bound of the distance of all parts.
    struct Seen {
        std::optional<Touching> touching;
        double least;
    };

    // The middle of the rim and its axis, in axes of the other body.
    struct Here {
        Vec3 c, a;
    };

    Here here(const PairPlaces& at) const;
    Seen nearest(const PairPlaces& at) const;
    void look_over_flats(const Here& at, std::vector<Touching>& found, std::vector<int>& edges, double& least) const;
    std::optional<Touching> over_edge(int number, const Here& at) const;
    bool side_is_nearer(const RimPart& ridge, const Here& at, double gap) const;
    bool is_within(const RimPart& part, const Vec3& x, const Vec3& n) const;
    Unknowns<double> unknowns(const Touching& found, const PairPlaces& places) const;

    struct Sheet {
        Vec3 centre, normal;
    };

    std::optional<Sheet> plane(const PairPlaces& at, const Region& held) const;
    template <class T>
    MeetOf<T> met(const MotionsOf<T>& at, const Region& held) const;
    template <class T>
    SettledOf<T> settled_on(const PlacesOf<T>& at, int number, const Unknowns<double>& y) const;
    template <class T>
    std::array<PoseOf<T>, 2> poses(const PlacesOf<T>& at) const;
};

}  // namespace native
