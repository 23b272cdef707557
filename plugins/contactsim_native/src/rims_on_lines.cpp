#include <algorithm>

#include "rims.hpp"

namespace native {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity(), PI = 3.14159265358979323846;
constexpr int SAMPLES = 24;  // normals around straight lines
constexpr double TINY = 1e-30;

template <class T>
Vector3<T> velocity_at(const SpatialVector<T>& motion, const Vector3<T>& point) {
    return motion.linear + cross(motion.angular, point);
}

// g over the angle f of the normal around lines along z of these axes: see closest_points/search.py.
struct Curve {
    Vec3 way, lean;  // from the lines to the centre of the rim, and its axis
    double sine, cosine, radius, end, most, sideways;

    Vec3 normal(double angle) const { return {cosine * std::cos(angle), cosine * std::sin(angle), sine}; }

    // g + r; none of it where normals lie on the wrong side of the rim.
    double height(double angle, bool on_either_side = false) const {
        const Vec3 n = normal(angle);
        const double h = dot(n, lean);
        if (!on_either_side && end * h > most + sideways) return -INFINITE;
        return dot(n, way) - radius * length(n - lean * h);
    }

    std::array<double, 2> slopes(double angle) const {
        const Vec3 n = normal(angle);
        const double h = dot(n, lean), T = std::max(length(n - lean * h), TINY), C = n.x, S = n.y;
        const double up = C * lean.y - S * lean.x, bent = -C * lean.x - S * lean.y;
        const double first = C * way.y - S * way.x + radius * h * up / T;
        const double second =
            -C * way.x - S * way.y + radius * ((up * up + h * bent) / T + (h * up) * (h * up) / (T * T * T));
        return {first, second};
    }

    double best_sample() const {
        const double toward = std::atan2(lean.y, lean.x);
        double best = -INFINITE, found = 0.0;
        for (int k = 0; k < SAMPLES + 2; ++k) {
            const double angle = k < SAMPLES ? 2.0 * PI * k / SAMPLES : toward + PI * (k - SAMPLES);
            const double value = height(angle);
            if (value > best) best = value, found = angle;
        }
        return found;
    }

    // Whether it rises from here to the end of its bracket and on: g is largest at no angle.
    bool rises_beyond(double here, double first, double low, double high) const {
        const double end_ = first > 0.0 ? high : low;
        return first * slopes(end_)[0] > 0.0 && height(end_, true) > height(here, true) && end_ != here;
    }

    // The angle of the largest g, from the best of samples on; NaN where g has an edge there.
    double highest(int rounds, double turned) const {
        const double spread = 2.0 * PI / SAMPLES;
        double angle = best_sample(), low = angle - spread, high = angle + spread;
        for (int k = 0; k < rounds; ++k) {
            const auto [first, second] = slopes(angle);
            (first > 0.0 ? low : high) = angle;
            double there = angle - first / second;
            const bool newton = second < 0.0 && there >= low && there <= high;
            if (!newton) {
                if (rises_beyond(angle, first, low, high)) return NAN;
                there = 0.5 * (low + high);
            }
            const double step = newton ? std::abs(there - angle) : INFINITE;
            angle = there;
            if (!(step > turned)) return angle;
        }
        return NAN;
    }
};

std::array<Vec3, 2> ways_across(const Vec3& axis) {
    return SmoothPiece::plane({}, axis, 0.0).across;
}

}  // namespace

// The rim at a normal n at an angle f around the lines, its point x the lowest one along that: g' and g'' by f, the
// foot of the lines, n', the axis a and centre c of the rim, h = n . a, n - h a and its length T, and n' . a.
template <class T>
struct RimOnLines::ByNormal {
    T slope, bend;
    Vector3<T> n, x, foot, ahead, axis, c;
    T h;
    Vector3<T> across;
    T size, up;
    double R;

    T height() const { return dot(n, c - foot) - T(R) * size; }

    // It turns at f' = -(dg'/dt) / g'' as the bodies move.
    MeetOf<T> meet(const SpatialVector<T>& V_a, const SpatialVector<T>& V_b) const {
        const Vector3<T> carried = cross(V_b.angular, n), axis_rate = cross(V_a.angular, axis);
        const T h_rate = dot(carried, axis) + dot(n, axis_rate);
        const Vector3<T> ahead_rate = cross(V_b.angular, ahead);
        const Vector3<T> way_rate = velocity_at(V_a, c) - velocity_at(V_b, foot);
        const T up_rate = dot(ahead_rate, axis) + dot(ahead, axis_rate);
        const T slope_rate = dot(ahead_rate, c - foot) + dot(ahead, way_rate) +
                             T(R) * ((h_rate * up + h * up_rate) / size + h * h * up * h_rate / (size * size * size));
        const Vector3<T> n_rate = carried - ahead * (slope_rate / bend);
        const T leaning = dot(n_rate, axis) + dot(n, axis_rate);
        const Vector3<T> moved = n_rate - axis * leaning - axis_rate * h;
        return {x, velocity_at(V_a, c) - turning(across, moved) * T(R), n, n_rate};
    }
};

// The rim at a place on it: its point x, ways r out to it and t along the rim, and the normal across rim and lines on
// one side of both. They touch where (b x n) . (x - foot) = 0: that, and its slope by the angle of the place.
template <class T>
struct RimOnLines::ByPlace {
    T slope, bend;
    Vector3<T> n, x, r, t, b, foot, leads, turn;
    double R, sine, sense;

    T height() const { return dot(n, x - foot); }

    // n = (s (b - c t) + K w) / |w|^2 with c = t . b, w = t x b and K^2 = |w|^2 - s^2, w taken to its side.
    static Vector3<T> normal(const Vector3<T>& t, const Vector3<T>& b, double sine, double sense) {
        using std::sqrt;
        const Vector3<T> w = cross(t, b) * T(sense);
        const T square = dot(w, w);
        return ((b - t * dot(t, b)) * T(sine) + w * sqrt(square - T(sine * sine))) * (T(1.0) / square);
    }

    Vector3<T> normal_rate(const Vector3<T>& t_rate, const Vector3<T>& b_rate) const {
        using std::sqrt;
        const Vector3<T> w = cross(t, b) * T(sense), w_rate = (cross(t_rate, b) + cross(t, b_rate)) * T(sense);
        const T c = dot(t, b), c_rate = dot(t_rate, b) + dot(t, b_rate);
        const T square = dot(w, w), square_rate = T(2.0) * dot(w, w_rate), K = sqrt(square - T(sine * sine));
        const Vector3<T> moved =
            (b_rate - t * c_rate - t_rate * c) * T(sine) + w * (T(0.5) * square_rate / K) + w_rate * K;
        return (moved - n * square_rate) * (T(1.0) / square);
    }

    MeetOf<T> meet(const SpatialVector<T>& V_a, const SpatialVector<T>& V_b) const {
        const Vector3<T> b_rate = cross(V_b.angular, b), x_held = velocity_at(V_a, x), way = x - foot;
        const Vector3<T> n_held = normal_rate(cross(V_a.angular, t), b_rate);
        const Vector3<T> leads_rate = cross(b_rate, n) + cross(b, n_held);
        const T pace = -(dot(leads_rate, way) + dot(leads, x_held - velocity_at(V_b, foot))) / bend;
        return {x, x_held + t * (T(R) * pace), n, n_held + turn * pace};
    }
};

RimOnLines::RimOnLines(const RimOfBody& rim, const RimPart& part, const RimRules& rules)
    : RimOnPart(rim, part, rules), across_(ways_across(part.axis)), cosine_(std::sqrt(1.0 - part.sine * part.sine)) {}

double RimOnLines::angle(const PairPlaces& at) const {
    const Mat3 back = at.b.R.transposed();
    const Vec3 way = back * (at.a.o + at.a.R * rim_.centre() - at.b.o) - part_.centre, axis = back * at.a.R.c2;
    const auto seen = [&](const Vec3& a) { return Vec3{dot(across_[0], a), dot(across_[1], a), dot(part_.axis, a)}; };
    const Curve curve{seen(way), seen(axis), part_.sine, cosine_, rim_.radius, rim_.end, rim_.lean, rules_.sideways};
    return curve.highest(rules_.closest.rounds, rules_.turned);
}

template <class T>
RimOnLines::ByNormal<T> RimOnLines::by_normal(const PlacesOf<T>& at, T angle) const {
    using std::cos;
    using std::sin;
    const Vector3<T>& axis = at.a.R.c2;
    const Vector3<T> c = at.a.o + at.a.R * constant<T>(rim_.centre());
    const Vector3<T> u = at.b.R * constant<T>(across_[0]), v = at.b.R * constant<T>(across_[1]);
    const Vector3<T> b = at.b.R * constant<T>(part_.axis), foot = at.b.o + at.b.R * constant<T>(part_.centre);
    const T R = rim_.radius, s = part_.sine, k = cosine_, C = cos(angle), S = sin(angle);
    const T along = dot(axis, b), a_u = dot(axis, u), a_v = dot(axis, v);
    const Vector3<T> e = u * C + v * S, t = v * C - u * S;
    const T a_e = C * a_u + S * a_v, a_t = C * a_v - S * a_u;
    const Vector3<T> n = b * s + e * k, ahead = t * k;
    const T h = s * along + k * a_e, up = k * a_t;
    const Vector3<T> turn = (b * k - e * s) * a_t - t * (k * along - s * a_e);  // n x a
    const Vector3<T> across = cross(axis, turn);
    const T size = length(turn);
    const T slope = dot(ahead, c - foot) + R * h * up / size;
    const T swing = h * up, cube = size * size * size;
    const T bend = -k * dot(e, c - foot) + R * ((up * up - k * a_e * h) / size + swing * swing / cube);
    return {slope, bend, n, c - across * (R / size), foot, ahead, axis, c, h, across, size, up, rim_.radius};
}

template <class T>
RimOnLines::ByPlace<T> RimOnLines::by_place(const PlacesOf<T>& at, double sense, T angle) const {
    using std::cos;
    using std::sin;
    const T C = cos(angle), S = sin(angle), R = rim_.radius;
    const Vector3<T> r = at.a.R.c0 * C + at.a.R.c1 * S, t = at.a.R.c1 * C - at.a.R.c0 * S;
    const Vector3<T> x = at.a.o + at.a.R * constant<T>(rim_.centre()) + r * R;
    const Vector3<T> b = at.b.R * constant<T>(part_.axis), foot = at.b.o + at.b.R * constant<T>(part_.centre);
    ByPlace<T> found{
        {}, {}, ByPlace<T>::normal(t, b, part_.sine, sense), x, r, t, b, foot, {}, {}, rim_.radius, part_.sine, sense};
    found.turn = found.normal_rate(-r, {}), found.leads = cross(b, found.n);
    found.slope = dot(found.leads, x - foot);
    found.bend = dot(cross(b, found.turn), x - foot) + R * dot(found.leads, t);
    return found;
}

std::optional<std::pair<double, double>> RimOnLines::start(const PairPlaces& at, const ByNormal<double>& found) const {
    const Vec3 across = cross(cross(found.axis, found.across * (-1.0 / found.size)), at.b.R * part_.axis);
    if (found.size >= rules_.nearly_flat * length(across)) return {};
    const Vec3 out = at.a.R.transposed() * (found.x - at.a.o) - rim_.centre();
    const double side = dot(found.n, across);
    return std::pair<double, double>{std::atan2(out.y, out.x), side > 0.0 ? 1.0 : side < 0.0 ? -1.0 : 0.0};
}

// The first step is from where the point is known but to rounding over the tilt.
template <class T>
RimOnLines::ByPlace<T> RimOnLines::nearly_flat(const PlacesOf<T>& at, const std::pair<double, double>& start) const {
    T angle = start.first;
    for (int k = 0; k < 2; ++k) {
        const ByPlace<T> step = by_place(at, start.second, angle);
        angle -= step.slope / step.bend;
    }
    return by_place(at, start.second, angle);
}

std::optional<RimOnPart::Near> RimOnLines::nearest(const PairPlaces& at) const {
    const Near found = held(at);
    return std::isnan(found.gap) ? std::optional<Near>{} : found;
}

RimOnPart::Near RimOnLines::held(const PairPlaces& at) const {
    const double angle_there = angle(at);
    if (std::isnan(angle_there)) return {};
    const ByNormal<double> found = by_normal(at, angle_there);
    const auto pair = [&](const auto& seen) {
        const double gap = seen.height() - part_.radius;
        return Near{seen.n, gap, seen.x, seen.x - seen.n * gap};
    };
    const auto flat = start(at, found);
    return flat ? pair(nearly_flat(at, *flat)) : pair(found);
}

template <class T>
MeetOf<T> RimOnLines::met(const MotionsOf<T>& at) const {
    const PlacesOf<T>& places = at.places;
    const PairPlaces here{{real(places.a.R), real(places.a.o)}, {real(places.b.R), real(places.b.o)}};
    const double angle_there = angle(here);
    const Vector3<T> none{NAN, NAN, NAN};
    if (std::isnan(angle_there)) return {none, none, none, none};
    const auto flat = start(here, by_normal(here, angle_there));
    if (flat) return nearly_flat(places, *flat).meet(at.V_a, at.V_b);
    const ByNormal<T> first = by_normal(places, T(angle_there));
    return by_normal(places, T(angle_there) - first.slope / first.bend).meet(at.V_a, at.V_b);
}

MeetOf<double> RimOnLines::meet(const MotionsOf<double>& at, const Region&) const {
    return met(at);
}

MeetOf<Dual> RimOnLines::meet(const MotionsOf<Dual>& at, const Region&) const {
    return met(at);
}

}  // namespace native
