#include "rims.hpp"

#include <algorithm>

#include "edges.hpp"

namespace native {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

}  // namespace

ConvexBody RimOfBody::body() const {
    return {lean != 0.0 ? ConvexBody::Kind::cone : ConvexBody::Kind::cylinder, nullptr, radius, half};
}

double RimPart::away(const Vec3& p) const {
    if (kind == Kind::endless) return std::abs(p.z);
    if (kind == Kind::face) {
        double outside = -INFINITE;
        for (const auto& row : rows) outside = std::max(outside, -(dot(p, {row[0], row[1], row[2]}) + row[6]));
        return std::max(std::abs(dot(axis, p - centre)), outside);
    }
    if (kind == Kind::ridge) {
        const Vec3 way = p - middle;
        return length(way - axis * std::clamp(dot(way, axis), -half, half));
    }
    return std::hypot(std::hypot(p.x, p.y), std::max(std::abs(p.z) - body_half, 0.0)) - body_radius;
}

double RimPart::bent(double of_rim, const Vec3& x, double way) const {
    if (kind == Kind::ridge) return 0.5 * of_rim;
    if (kind == Kind::side || kind == Kind::rim) return body_radius;
    if (kind != Kind::slope) return INFINITE;
    return std::max(std::hypot(x.x, x.y) - way, 0.0) / std::sqrt(1.0 - sine * sine);
}

RimOnPart::RimOnPart(const RimOfBody& rim, const RimPart& part, const RimRules& rules)
    : rim_(rim), part_(part), rules_(rules) {
    passing = kinked = takes_over = true;
    extent = rim.arm(), other_extent = part.extent;
    arm = part.kind == RimPart::Kind::endless ? 0.0 : rim.arm();
}

std::vector<RimMargin> margins_of(const RimPart& part, const Vec3& x, const Vec3& outward, const RimRules& rules) {
    std::vector<RimMargin> found;
    for (std::size_t k = 0; k < part.rows.size(); ++k) {
        const auto& row = part.rows[k];
        const double value = dot(x, {row[0], row[1], row[2]}) + dot(outward, {row[3], row[4], row[5]}) + row[6];
        found.push_back({value, part.limits[k][0], part.limits[k][1]});
    }
    if (part.kind == RimPart::Kind::cap) {
        found.push_back({part.body_radius - std::hypot(x.x, x.y), -0.5 * rules.rim, -rules.rim});
    }
    if (part.other) {
        const RimOfBody& its = *part.other;
        found.push_back({std::hypot(outward.x, outward.y), rules.begins * its.flat, rules.ends * its.flat});
        found.push_back({its.radius * (its.end * outward.z + its.lean), rules.smoothly_begin, rules.smoothly_end});
    }
    return found;
}

// Of the rim, then of the part.
std::vector<RimMargin> RimOnPart::margins(const PairPlaces& at, const Near& found) const {
    const Vec3 m = at.a.R.transposed() * -found.n, outward = at.b.R.transposed() * found.n;
    const Vec3 x = at.b.R.transposed() * (found.x_b - at.b.o);
    std::vector<RimMargin> all{{std::hypot(m.x, m.y), rules_.begins * rim_.flat, rules_.ends * rim_.flat}};
    if (!part_.lets_lean()) {
        all.push_back({rim_.radius * (rim_.end * m.z + rim_.lean), rules_.smoothly_begin, rules_.smoothly_end});
    }
    const std::vector<RimMargin> of_part = margins_of_part(x, outward);
    all.insert(all.end(), of_part.begin(), of_part.end());
    if (part_.is_sharp()) all.push_back({crossing(at, found.n), rules_.parallel, 0.5 * rules_.parallel});
    return all;
}

// Sine of the angle between the rim and the other rim, or the edge, where they touch.
double RimOnPart::crossing(const PairPlaces& at, const Vec3& n) const {
    const Vec3 own = cross(at.a.R.c2, n);
    const Vec3 its = part_.kind == RimPart::Kind::ridge ? at.b.R * part_.axis : cross(at.b.R.c2, n);
    const auto unit = [](const Vec3& a) {
        const double size = length(a);
        return a * (1.0 / (size > 0.0 ? size : 1.0));
    };
    return length(cross(unit(own), unit(its)));
}

double RimOnPart::away(const PairPlaces& at) const {
    const Vec3 centre = at.a.o + at.a.R * rim_.centre() - at.b.o;
    return std::max(0.0, part_.away(at.b.R.transposed() * centre) - rim_.radius);
}

double RimOnPart::bound(const PairPlaces& at) const {
    const Vec3 p = at.b.R.transposed() * (at.a.o + at.a.R * rim_.centre() - at.b.o);
    if (part_.kind == RimPart::Kind::endless) return -INFINITE;
    if (part_.kind == RimPart::Kind::face) return part_.away(p) - rim_.radius;
    if (part_.is_lined()) {
        const Vec3 way = p - part_.middle;
        const double along = std::clamp(dot(way, part_.axis), -part_.half, part_.half);
        return length(way - part_.axis * along) - rim_.radius - part_.around;
    }
    const Vec3 one = at.a.R.c2 * rim_.half, two = at.b.R.c2 * part_.body_half;
    const double apart = between_segments(at.a.o - one, one * 2.0, at.b.o - two, two * 2.0, rules_.parallel_edges);
    return apart - rim_.radius - part_.body_radius;
}

double RimOnPart::far() const {
    const bool axes = part_.kind == RimPart::Kind::cap || part_.kind == RimPart::Kind::rim;
    return rules_.far_bodies * (axes ? rim_.radius + part_.body_radius : rim_.arm());
}

bool RimOnPart::on_far_side(const PairPlaces& at, double gap) const {
    if (gap >= -rules_.deep || !part_.body) return false;
    return are_parted(rim_.body(), *part_.body, {at.a, at.b}, -rules_.far_side * gap);
}

FeatureLook RimOnPart::look(const PairPlaces& at) const {
    const double apart = bound(at);
    if (apart > far()) return {apart, false, false, {1, 0, 0}};
    return look_closely(at);
}

FeatureLook RimOnPart::look_closely(const PairPlaces& at) const {
    const std::optional<Near> found = nearest(at);
    if (!found) return {away(at) + rules_.off, false, false, {1, 0, 0}};
    const double gap = found->gap;
    const std::vector<RimMargin> all = margins(at, *found);
    const bool within = std::all_of(all.begin(), all.end(), [](const RimMargin& one) { return one.value > one.begin; });
    const double deepest = 0.5 * std::min(rim_.least(), part_.least);
    if (within && gap > -deepest && !on_far_side(at, gap)) return {gap, true, false, {1, 0, 0}};
    return {std::max(gap, away(at)) + rules_.off, false, false, {1, 0, 0}};
}

double RimOnPart::margin(const PairPlaces& at, const Region&, int side) const {
    const RimMargin found = margins(at, held(at)).at(side);
    return found.value - found.end;
}

// The nearest points run over the rim the faster, the less it is tilted, and over what is round.
double RimOnPart::bend(const PairPlaces& at, double speed, double spin, double duration) const {
    const double radius = rim_.radius, flat = rim_.flat;
    if (part_.is_lined() && bound(at) > far()) {
        const double slide = speed + spin * (radius + part_.around) / flat;
        const double bent = part_.is_sharp() ? 0.5 * radius * rules_.parallel * rules_.parallel : part_.radius;
        return radius * spin * spin * (1.0 + 1.0 / (flat * flat * flat)) + slide * slide / bent;
    }
    const std::optional<Near> found = nearest(at);
    if (!found) return 0.0;
    const double sine = std::max(margins(at, *found)[0].value - spin * duration, flat);
    const double own = radius * spin * spin * (1.0 + 1.0 / (sine * sine * sine));
    const double slide = speed + spin * (radius + (part_.is_round() ? part_.body_radius : 0.0)) / sine;
    const Vec3 x = at.b.R.transposed() * (found->x_b - at.b.o);
    const double bent = part_.bent(radius, x, slide * duration);
    double crossed = 1.0;
    if (part_.is_sharp()) crossed = std::max(crossing(at, found->n) - spin * duration, rules_.parallel);
    return bent > 0.0 ? own + slide * slide / (bent * crossed * crossed) : INFINITE;
}

// --- against a plane: the lowest point is x = c - R e, e = t / |t|, t = n - (a . n) a = a x (n x a) ----------------

namespace {

template <class T>
struct Lowest {
    Vector3<T> n, axis, across, x;
};

template <class T>
Lowest<T> lowest(const RimOfBody& rim, const RimPart& part, const PlacesOf<T>& at) {
    using std::sqrt;
    const Vector3<T> n = at.b.R * constant<T>(part.axis), &axis = at.a.R.c2;
    const Vector3<T> across = cross(axis, cross(n, axis));
    const T square = dot(across, across), size = real(square) > 0.0 ? sqrt(square) : T(1.0);
    return {n, axis, across, at.a.o + at.a.R * constant<T>(rim.centre()) - across * (T(rim.radius) / size)};
}

template <class T>
Vector3<T> velocity_at(const SpatialVector<T>& motion, const Vector3<T>& point) {
    return motion.linear + cross(motion.angular, point);
}

}  // namespace

RimOnPlane::RimOnPlane(const RimOfBody& rim, const RimPart& part, const RimRules& rules) : RimOnPart(rim, part, rules) {
    extent = rim.arm() + rules.rise;
}

RimOnPart::Near RimOnPlane::held(const PairPlaces& at) const {
    const auto found = lowest(rim_, part_, at);
    const double gap = dot(found.n, found.x - at.b.o - at.b.R * part_.centre);
    return {found.n, gap, found.x, found.x - found.n * gap};
}

// Whether the plane faces the disc, at a tilt of at most so many `flat`.
bool RimOnPlane::faces(const PairPlaces& at, double most) const {
    const auto found = lowest(rim_, part_, at);
    return rim_.end * dot(found.axis, found.n) < 0.0 && length(found.across) <= most * rim_.flat;
}

// A rim whose disc lies flat is raised, down to where it begins to touch, and known, too.
FeatureLook RimOnPlane::look_closely(const PairPlaces& at) const {
    if (!faces(at, rules_.begins)) return RimOnPart::look_closely(at);
    const Near found = held(at);
    const Mat3 back = at.b.R.transposed();
    const std::vector<RimMargin> all = margins_of_part(back * (found.x_b - at.b.o), back * found.n);
    const bool within = std::all_of(all.begin(), all.end(), [](const RimMargin& one) { return one.value > one.begin; });
    if (!within || found.gap <= -0.5 * std::min(rim_.least(), part_.least)) {
        return {std::max(found.gap, away(at)) + rules_.off, false, true, {1, 0, 0}};
    }
    const double tilt = length(lowest(rim_, part_, at).across);
    return {std::max(found.gap, rules_.rise * (rules_.begins * rim_.flat - tilt)), true, true, {1, 0, 0}};
}

template <class T>
MeetOf<T> RimOnPlane::met(const MotionsOf<T>& at) const {
    const auto [n, axis, across, x] = lowest(rim_, part_, at.places);
    const Vector3<T> none{NAN, NAN, NAN};
    if (!(real(dot(across, across)) > 0.0)) return {none, none, none, none};
    const Vector3<T> n_rate = cross(at.V_b.angular, n), axis_rate = cross(at.V_a.angular, axis);
    const Vector3<T> turned = n_rate - axis * (dot(axis_rate, n) + dot(axis, n_rate)) - axis_rate * dot(axis, n);
    const Vector3<T> centre = at.places.a.o + at.places.a.R * constant<T>(rim_.centre());
    const Vector3<T> x_rate = velocity_at(at.V_a, centre) - turning(across, turned) * T(rim_.radius);
    return {x, x_rate, n, n_rate};
}

MeetOf<double> RimOnPlane::meet(const MotionsOf<double>& at, const Region&) const {
    return met(at);
}

MeetOf<Dual> RimOnPlane::meet(const MotionsOf<Dual>& at, const Region&) const {
    return met(at);
}

}  // namespace native
