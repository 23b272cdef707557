#include "rims.hpp"

#include <algorithm>

namespace native {

namespace {

constexpr int SAMPLES = 48;
constexpr double PI = 3.14159265358979323846, TINY = 1e-300;
const Vec3 UP{0.0, 0.0, 1.0};

template <class T>
Vector3<T> velocity_at(const SpatialVector<T>& motion, const Vector3<T>& point) {
    return motion.linear + cross(motion.angular, point);
}

// The point of a rim that is nearest to the plane of another, from the centre of that.
Vec3 lowest(const RimOfBody& rim, const PoseOf<double>& at, const RimOfBody& other, const PoseOf<double>& there) {
    const Vec3 &axis = there.R.c2, own = at.o + at.R * rim.centre(), way = own - there.o - there.R * other.centre();
    const Vec3 n = dot(axis, way) >= 0.0 ? axis : -axis, across = -(n - at.R.c2 * dot(n, at.R.c2));
    const double size = length(across);
    return way + across * (size > 0.0 ? rim.radius / size : 0.0);
}

// Whether that is inside the other one, on either side of it.
bool is_over(const RimOfBody& rim, const PoseOf<double>& at, const RimOfBody& other, const PoseOf<double>& there) {
    const Vec3 x = lowest(rim, at, other, there), &axis = there.R.c2;
    return length(x - axis * dot(axis, x)) < other.radius;
}

// To that point from the nearest one of the other rim.
Vec3 way_off(const RimOfBody& rim, const PoseOf<double>& at, const RimOfBody& other, const PoseOf<double>& there) {
    const Vec3 x = lowest(rim, at, other, there), &axis = there.R.c2, across = x - axis * dot(axis, x);
    return x - across * (other.radius / std::max(length(across), TINY));
}

// A vector across two rims where they are nearest to each other, by samples.
Vec3 way_across(const RimOfBody& rim, const PoseOf<double>& a, const RimOfBody& other, const PoseOf<double>& b) {
    const auto around = [](int k) {
        return Vec3{std::cos(2.0 * PI * k / SAMPLES), std::sin(2.0 * PI * k / SAMPLES), 0.0};
    };
    std::array<Vec3, SAMPLES> own, its;
    for (int k = 0; k < SAMPLES; ++k) {
        own[k] = a.o + a.R * (rim.centre() + around(k) * rim.radius);
        its[k] = b.o + b.R * (other.centre() + around(k) * other.radius);
    }
    double least = std::numeric_limits<double>::infinity();
    int one = 0, two = 0;
    for (int i = 0; i < SAMPLES; ++i) {
        for (int j = 0; j < SAMPLES; ++j) {
            const Vec3 way = own[i] - its[j];
            if (dot(way, way) < least) least = dot(way, way), one = i, two = j;
        }
    }
    return cross(a.R * cross(UP, around(one)), b.R * cross(UP, around(two)));
}

// A point of a rim, and the ways out to it and along the rim.
template <class T>
struct OnRim {
    Vector3<T> x, r, t;

    static OnRim at(const PoseOf<T>& pose, const RimOfBody& rim, T angle) {
        using std::cos;
        using std::sin;
        const T C = cos(angle), S = sin(angle);
        const Vector3<T> r = pose.R.c0 * C + pose.R.c1 * S, t = pose.R.c1 * C - pose.R.c0 * S;
        return {pose.o + pose.R * constant<T>(rim.centre()) + r * T(rim.radius), r, t};
    }
};

}  // namespace

// Points of both rims: they are closest where t_a . (x_a - x_b) = t_b . (x_a - x_b) = 0. Their normal is along
// t_a x t_b, on the side that it is known to be on.
template <class T>
struct RimOnRim::BothPlaces {
    OnRim<T> a, b;
    double R_a, R_b, sense;

    Vector3<T> apart() const { return a.x - b.x; }

    Vector3<T> n() const {
        const Vector3<T> w = cross(a.t, b.t);
        return w * (T(sense) / length(w));
    }

    std::array<T, 2> missed() const { return {dot(a.t, apart()), dot(b.t, apart())}; }

    // The changes of both angles that change the equations by a right side.
    std::array<T, 2> solve(const std::array<T, 2>& right) const {
        const T along = dot(a.t, b.t);
        const T aa = T(R_a) - dot(a.r, apart()), ab = T(-R_b) * along;
        const T ba = T(R_a) * along, bb = T(-R_b) - dot(b.r, apart());
        const T whole = aa * bb - ab * ba;
        return {(bb * right[0] - ab * right[1]) / whole, (aa * right[1] - ba * right[0]) / whole};
    }

    MeetOf<T> meet(const SpatialVector<T>& V_a, const SpatialVector<T>& V_b) const {
        const Vector3<T> held_a = velocity_at(V_a, a.x), held_b = velocity_at(V_b, b.x), way = held_a - held_b;
        const Vector3<T> carried_a = cross(V_a.angular, a.t), carried_b = cross(V_b.angular, b.t);
        const std::array<T, 2> paces =
            solve({dot(carried_a, apart()) + dot(a.t, way), dot(carried_b, apart()) + dot(b.t, way)});
        const T pace_a = -paces[0], pace_b = -paces[1];
        const Vector3<T> t_a = carried_a - a.r * pace_a, t_b = carried_b - b.r * pace_b;
        const Vector3<T> n_rate = turning(cross(a.t, b.t), cross(t_a, b.t) + cross(a.t, t_b)) * T(sense);
        return {a.x, held_a + a.t * (T(R_a) * pace_a), n(), n_rate};
    }
};

RimOnRim::RimOnRim(const RimOfBody& rim, const RimPart& part, const RimRules& rules)
    : RimOnPart(rim, part, rules),
      own_(SmoothPiece::circle(rim.centre(), UP, rim.radius)),
      its_(SmoothPiece::circle(part.other->centre(), UP, part.other->radius)) {}

// A vector on the side of A, about across both rims where they are nearest: that which keeps them farthest apart.
Vec3 RimOnRim::towards(const PairPlaces& at) const {
    const RimOfBody& its = *part_.other;
    const Vec3 crossed = way_across(rim_, at.a, its, at.b);
    const std::array<Vec3, 4> ways{way_off(rim_, at.a, its, at.b), -way_off(its, at.b, rim_, at.a), crossed, -crossed};
    const auto farthest = [](const RimOfBody& rim, const PoseOf<double>& pose, const Vec3& m) {
        const Vec3 across = m - pose.R.c2 * dot(m, pose.R.c2);
        const double size = length(across);
        return pose.o + pose.R * rim.centre() + across * (size > 0.0 ? rim.radius / size : 0.0);
    };
    double most = -std::numeric_limits<double>::infinity();
    Vec3 found = ways[0];
    for (const Vec3& way : ways) {
        const Vec3 n = way * (1.0 / std::max(length(way), TINY));
        const double apart = dot(n, farthest(rim_, at.a, -n) - farthest(its, at.b, n));
        if (apart > most) most = apart, found = way;
    }
    return found;
}

std::optional<Unknowns<double>> RimOnRim::root(const PairPlaces& at) const {
    const auto y = closest(own_, its_, {at.a, at.b}, towards(at), rules_.closest);
    const bool known = y && std::all_of(y->begin(), y->end(), [](double part) { return std::isfinite(part); });
    return known ? y : std::optional<Unknowns<double>>{};
}

std::optional<RimOnPart::Near> RimOnRim::nearest(const PairPlaces& at) const {
    const RimOfBody& its = *part_.other;
    if (is_over(rim_, at.a, its, at.b) || is_over(its, at.b, rim_, at.a)) return {};
    const auto y = root(at);
    if (!y) return {};
    const Vec3 n{(*y)[0], (*y)[1], (*y)[2]};
    const SettledOf<double> found = settled<double>(own_, its_, {at.a, at.b}, *y);
    return Near{n, (*y)[3], found.on_a(), found.on_b()};
}

std::optional<std::array<double, 2>> RimOnRim::angles(const PairPlaces& at, const Unknowns<double>& y) const {
    const Vec3 n{y[0], y[1], y[2]};
    const double tilt = std::min(length(cross(at.a.R.c2, n)), length(cross(at.b.R.c2, n)));
    if (tilt >= rules_.nearly_flat * crossing(at, n)) return {};
    const auto angle_of = [&](const PoseOf<double>& pose, const Vec3& m) {
        const Vec3 local = pose.R.transposed() * m;
        return std::atan2(local.y, local.x);
    };
    return std::array<double, 2>{angle_of(at.a, -n), angle_of(at.b, n)};
}

// The first step is from where the points are known but to rounding over the tilt.
template <class T>
RimOnRim::BothPlaces<T> RimOnRim::placed(const PlacesOf<T>& at, const std::array<double, 2>& angles,
                                         const Vec3& n) const {
    const RimOfBody& its = *part_.other;
    T one = angles[0], two = angles[1];
    const auto both = [&] {
        BothPlaces<T> found{OnRim<T>::at(at.a, rim_, one), OnRim<T>::at(at.b, its, two), rim_.radius, its.radius, 1.0};
        const double side = dot(cross(real(found.a.t), real(found.b.t)), n);
        found.sense = side > 0.0 ? 1.0 : side < 0.0 ? -1.0 : 0.0;
        return found;
    };
    for (int k = 0; k < 2; ++k) {
        const BothPlaces<T> here = both();
        const std::array<T, 2> step = here.solve(here.missed());
        one -= step[0], two -= step[1];
    }
    return both();
}

RimOnPart::Near RimOnRim::held(const PairPlaces& at) const {
    const auto y = root(at);
    if (!y) return {};
    const Vec3 n{(*y)[0], (*y)[1], (*y)[2]};
    if (const auto flat = angles(at, *y)) {
        const BothPlaces<double> found = placed(at, *flat, n);
        return {found.n(), dot(found.n(), found.apart()), found.a.x, found.b.x};
    }
    const SettledOf<double> found = settled<double>(own_, its_, {at.a, at.b}, *y);
    return {found.normal(), found.gap(), found.on_a(), found.on_b()};
}

template <class T>
MeetOf<T> RimOnRim::met(const MotionsOf<T>& at) const {
    const PlacesOf<T>& places = at.places;
    const PairPlaces here{{real(places.a.R), real(places.a.o)}, {real(places.b.R), real(places.b.o)}};
    const auto y = root(here);
    const Vector3<T> none{NAN, NAN, NAN};
    if (!y) return {none, none, none, none};
    if (const auto flat = angles(here, *y)) {
        return placed(places, *flat, {(*y)[0], (*y)[1], (*y)[2]}).meet(at.V_a, at.V_b);
    }
    const SettledOf<T> found = settled<T>(own_, its_, {places.a, places.b}, *y);
    const DriftOf<T> rates = drift(own_, its_, found, at.V_a, at.V_b);
    return {found.on_a(), rates.on_a, found.normal(), rates.normal};
}

MeetOf<double> RimOnRim::meet(const MotionsOf<double>& at, const Region&) const {
    return met(at);
}

MeetOf<Dual> RimOnRim::meet(const MotionsOf<Dual>& at, const Region&) const {
    return met(at);
}

}  // namespace native
