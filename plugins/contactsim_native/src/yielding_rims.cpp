#include "yielding_rims.hpp"

#include <algorithm>
#include <numeric>

namespace native {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity(), PI = 3.14159265358979323846;
constexpr double TINY = 1e-300;
const Vec3 UP{0.0, 0.0, 1.0};

// The angle of the largest g among normals that point into the body of a rim; NaN where it has an end there.
double best_angle(const Slopes& hill, const RimOfBody& rim, double span, const YieldingRules& rules) {
    const double step = span / (NORMAL_SAMPLES - 1);
    double most = -INFINITE, best = 0.0;
    for (int k = 0; k < NORMAL_SAMPLES; ++k) {
        const Vec3 n = hill.normal(k * step);
        if (rim.end * dot(n, hill.lean) > rim.lean) continue;
        const double height = hill.height(n);
        if (height > most) most = height, best = k * step;
    }
    if (most == -INFINITE) return NAN;
    double low = best - step, high = best + step;
    if (span <= PI) low = std::max(low, 0.0), high = std::min(high, span);
    if (!(hill.at(low)[0] > 0.0 && hill.at(high)[0] < 0.0)) return NAN;
    const double angle = hill.highest(low, high, rules.rounds, rules.turned);
    return rim.end * dot(hill.normal(angle), hill.lean) <= rim.lean ? angle : NAN;
}

SmoothPiece spheroid(double radius, double bulge) {
    return SmoothPiece::ellipsoid({radius, radius, radius * bulge});
}

SmoothPiece piece_of(const RimPart& part, double bulge) {
    if (part.other) return spheroid(part.other->radius, bulge);
    if (part.kind == RimPart::Kind::ball) return SmoothPiece::point(part.centre, part.radius);
    if (part.sine != 0.0) return SmoothPiece::slant(part.centre, part.axis, part.sine);
    return SmoothPiece::line(part.centre, part.axis, part.radius);
}

template <class T>
Vector3<T> velocity_at(const SpatialVector<T>& motion, const Vector3<T>& point) {
    return motion.linear + cross(motion.angular, point);
}

}  // namespace

YieldingRim::YieldingRim(const RimOfBody& rim, std::vector<YieldingPart> parts, std::optional<double> reach,
                         const YieldingRules& rules)
    : rim_(rim), parts_(std::move(parts)), reach_(reach), rules_(rules), own_(spheroid(rim.radius, rules.bulge)) {
    passing = kinked = true;
    extent = rim.arm(), other_extent = reach ? *reach : INFINITE;
}

YieldingRim::Here YieldingRim::here(const PairPlaces& at) const {
    const Mat3 back = at.b.R.transposed();
    return {back * (at.a.o + at.a.R * rim_.centre() - at.b.o), back * at.a.R.c2};
}

bool YieldingRim::is_within(const RimPart& part, const Vec3& x, const Vec3& n) const {
    const std::vector<RimMargin> all = margins_of(part, x, n, rules_.rim);
    return std::all_of(all.begin(), all.end(), [](const RimMargin& one) { return one.value > one.begin; });
}

// --- which part is nearest -------------------------------------------------------------------------------------------

YieldingRim::Seen YieldingRim::nearest(const PairPlaces& places) const {
    const Here at = here(places);
    const double near = rules_.rim.far_bodies;
    if (reach_) {
        const double far = length(at.c) - rim_.radius - *reach_;
        if (far > near * (rim_.radius + *reach_)) return {{}, far};
    }
    std::vector<Touching> found;
    std::vector<int> lines;
    double least = -INFINITE;
    look_over_discs(places, at, found, least);
    look_over_flats(at, found, lines, least);
    if (least > near * rim_.radius) return {{}, least};
    if (lines.empty() && found.empty()) {
        for (int k = 0; k < int(parts_.size()); ++k) {
            const RimPart::Kind kind = parts_[k].part.kind;
            if (kind == RimPart::Kind::side || kind == RimPart::Kind::slope || kind == RimPart::Kind::ball) {
                lines.push_back(k);
            }
        }
    }
    for (int k : lines) {
        const RimPart& part = parts_[k].part;
        const NormalsAround normals = parts_[k].normals ? *parts_[k].normals : around_ball(part, at);
        if (const auto one = over_lines(k, normals, at)) found.push_back(*one);
    }
    least = std::max(least, 0.0);
    if (found.empty()) return {{}, least};
    Touching best = *std::max_element(found.begin(), found.end(),
                                      [](const Touching& a, const Touching& b) { return a.gap < b.gap; });
    return {best, least};
}

// The plane part that is nearest, and the edges over which those leave that are nearer.
void YieldingRim::look_over_flats(const Here& at, std::vector<Touching>& found, std::vector<int>& edges,
                                  double& least) const {
    struct Over {
        int number;
        double gap;
        Vec3 way;
    };
    std::vector<Over> flats;
    for (int k = 0; k < int(parts_.size()); ++k) {
        const RimPart& part = parts_[k].part;
        if (part.kind != RimPart::Kind::face && part.kind != RimPart::Kind::endless) continue;
        const auto low = lowest(rim_.radius, rules_.bulge, part.axis, at.a);
        flats.push_back({k, dot(part.axis, at.c - part.centre) - low.size, low.way});
        least = std::max(least, flats.back().gap);
    }
    if (least > rules_.rim.far_bodies * rim_.radius) return;
    std::stable_sort(flats.begin(), flats.end(), [](const Over& a, const Over& b) { return a.gap > b.gap; });
    for (const Over& flat : flats) {
        const YieldingPart& own = parts_[flat.number];
        const Vec3& n = own.part.axis;
        const auto all = margins_of(own.part, at.c - flat.way - n * flat.gap, n, rules_.rim);
        bool within = true;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].value > all[i].begin) continue;
            within = false;
            edges.push_back(own.beside[i]);
        }
        if (within) {
            found.push_back({flat.number, flat.gap});
            break;
        }
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
}

// Discs that are nearest, and by how much the rim is apart from the hull of all discs, and the tip, along the best of
// normals.
void YieldingRim::look_over_discs(const PairPlaces& places, const Here& at, std::vector<Touching>& found,
                                  double& least) const {
    const std::array<Vec3, 3> ways{UP, -UP, at.a * -rim_.end};
    std::array<double, 3> clear{INFINITE, INFINITE, INFINITE};
    bool any = false;
    for (int k = 0; k < int(parts_.size()); ++k) {
        const RimPart& part = parts_[k].part;
        const bool slope = part.kind == RimPart::Kind::slope;
        if (!part.other && !slope) continue;
        std::array<double, 3> above;
        for (int i = 0; i < 3; ++i) {
            const Vec3 centre = slope ? part.centre : part.other->centre();
            above[i] = dot(ways[i], at.c - centre) - lowest(rim_.radius, rules_.bulge, ways[i], at.a).size;
            if (!slope) above[i] -= lowest(part.other->radius, rules_.bulge, ways[i], UP).size;
            clear[i] = std::min(clear[i], above[i]);
        }
        if (slope) continue;
        any = true;
        const int facing = part.other->end > 0.0 ? 0 : 1;
        if (const auto one = on_disc(k, ways[above[2] > above[facing] ? 2 : facing], places)) found.push_back(*one);
    }
    if (any) least = std::max(least, *std::max_element(clear.begin(), clear.end()));
}

std::optional<YieldingRim::Touching> YieldingRim::on_disc(int number, const Vec3& towards,
                                                          const PairPlaces& places) const {
    const RimOfBody& disc = *parts_[number].part.other;
    const auto both = poses(places, number);
    const Vec3 own = places.a.R.c2 * rim_.end, its = places.b.R.c2 * disc.end;
    const double aside = length(cross(its, both[0].o - both[1].o));
    if (dot(own, its) > 0.0 && aside < std::max(rim_.radius, disc.radius)) return {};
    const auto y = closest(own_, piece_of(parts_[number].part, rules_.bulge), both, places.b.R * towards,
                           rules_.rim.closest);
    if (!y || !std::all_of(y->begin(), y->end(), [](double part) { return std::isfinite(part); })) return {};
    const Vec3 n{(*y)[0], (*y)[1], (*y)[2]};
    if (-dot(own, n) < -rim_.lean || dot(its, n) < -disc.lean) return {};
    return Touching{number, (*y)[3], *y};
}

// A ball is nearest in the plane of the axis and its centre: it is a line across that.
NormalsAround YieldingRim::around_ball(const RimPart& ball, const Here& at) const {
    const Vec3 way = cross(at.a, at.c - ball.centre);
    const double size = length(way);
    const Vec3 b = size > 0.0 ? way * (1.0 / size) : SmoothPiece::plane({}, at.a, 0.0).across[0];
    return {{at.a, cross(b, at.a), b}, 2.0 * PI};
}

std::optional<YieldingRim::Touching> YieldingRim::over_lines(int number, const NormalsAround& normals,
                                                             const Here& at) const {
    const RimPart& part = parts_[number].part;
    const auto& [u, v, b] = normals.frame;
    const auto seen = [&](const Vec3& a) { return Vec3{dot(u, a), dot(v, a), dot(b, a)}; };
    const double sine = part.sine, cosine = std::sqrt(1.0 - sine * sine);
    const Slopes hill{seen(at.c - part.centre), seen(at.a), sine, cosine, rim_.radius, rules_.bulge};
    const double angle = best_angle(hill, rim_, normals.span, rules_);
    if (std::isnan(angle)) return {};
    const Vec3 of = hill.normal(angle), n = b * of.z + u * of.x + v * of.y;
    const Vec3 x = at.c - lowest(rim_.radius, rules_.bulge, n, at.a).way, way = x - part.centre;
    const double up = dot(n, way), slide = (dot(b, way) - sine * up) / (1.0 - sine * sine), gap = up - part.radius;
    if (!is_within(part, x - n * gap, n)) return {};
    if (part.kind == RimPart::Kind::ridge && side_is_nearer(part, at, gap)) return {};
    return Touching{number, gap, {n.x, n.y, n.z, gap, part.kind == RimPart::Kind::ball ? 0.0 : slide, 0.0}};
}

// Whether an edge that is inside the body of the rim is nearer to the side of that, which it meets there.
bool YieldingRim::side_is_nearer(const RimPart& ridge, const Here& at, double gap) const {
    if (gap >= -rules_.rim.deep || rim_.lean != 0.0) return false;
    const Vec3 across = cross(at.a, ridge.axis);
    const double size = length(across);
    if (size < rules_.rim.parallel_edges) return false;
    const double side = dot(across, at.c - ridge.centre);
    const Vec3 n = across * (std::copysign(1.0, side) / size);
    const std::vector<RimMargin> all = margins_of(ridge, at.c, n, rules_.rim);
    const bool within = std::all_of(all.begin() + 2, all.end(), [](const RimMargin& m) { return m.value > m.begin; });
    return within && rim_.radius - dot(n, at.c - ridge.centre) < -gap;
}

// --- the contract ----------------------------------------------------------------------------------------------------

// The number of the part that is nearest, from one on; where none is, that of a plane one, or the first.
Region YieldingRim::region(const PairPlaces& at) const {
    if (const auto touching = nearest(at).touching) return {touching->number + 1, 0, 0};
    for (int k = 0; k < int(parts_.size()); ++k) {
        const RimPart::Kind kind = parts_[k].part.kind;
        if (kind == RimPart::Kind::face || kind == RimPart::Kind::endless) return {k + 1, 0, 0};
    }
    return {1, 0, 0};
}

FeatureLook YieldingRim::look(const PairPlaces& at) const {
    const Seen seen = nearest(at);
    if (!seen.touching) return {seen.least + rules_.rim.off, false, false, {}};
    const int number = seen.touching->number + 1;
    return {seen.touching->gap, true, false, {number, 0, 0}, true, number};
}

// The plane of a plane part; of a straight one that is not nearest, that in which it lies below the rim; else none.
std::optional<YieldingRim::Sheet> YieldingRim::plane(const PairPlaces& at, const Region& held) const {
    const RimPart& part = parts_[held[0] - 1].part;
    if (part.kind == RimPart::Kind::face || part.kind == RimPart::Kind::endless) return Sheet{part.centre, part.axis};
    const auto touching = nearest(at).touching;
    if (touching && touching->number == held[0] - 1) return {};
    if (part.other) return Sheet{part.other->centre(), UP * part.other->end};
    Vec3 way = here(at).c - part.centre;
    way = way - part.axis * dot(way, part.axis);
    const Vec3 n = way * (1.0 / std::max(length(way), TINY));
    return Sheet{part.centre + n * part.radius, n};
}

template <class T>
std::array<PoseOf<T>, 2> YieldingRim::poses(const PlacesOf<T>& at, int number) const {
    std::array<PoseOf<T>, 2> found{at.a, at.b};
    found[0].o += at.a.R * constant<T>(rim_.centre());
    if (const auto& disc = parts_[number].part.other) found[1].o += at.b.R * constant<T>(disc->centre());
    return found;
}

// What touches was found in axes of the other body.
Unknowns<double> YieldingRim::unknowns(const Touching& found, const PairPlaces& places) const {
    if (parts_[found.number].part.other) return found.y;
    const Vec3 n = places.b.R * Vec3{found.y[0], found.y[1], found.y[2]};
    return {n.x, n.y, n.z, found.y[3], found.y[4], found.y[5]};
}

template <class T>
SettledOf<T> YieldingRim::settled_on(const PlacesOf<T>& at, int number, const Unknowns<double>& y) const {
    return settled<T>(own_, piece_of(parts_[number].part, rules_.bulge), poses(at, number), y);
}

double YieldingRim::gap(const PairPlaces& at, const Region& held) const {
    if (const auto sheet = plane(at, held)) {
        const Vec3 n = at.b.R * sheet->normal;
        const double T = lowest(rim_.radius, rules_.bulge, n, at.a.R.c2).size;
        return dot(n, at.a.o + at.a.R * rim_.centre() - at.b.o - at.b.R * sheet->centre) - T;
    }
    const Touching found = *nearest(at).touching;
    return settled_on(at, found.number, unknowns(found, at)).gap();
}

// Over a plane x = c - y / T with y = R^2 t + b^2 h a, n' = w_B x n and a' = w_A x a; T T' = -(R^2 - b^2) h h'.
template <class T>
MeetOf<T> YieldingRim::met(const MotionsOf<T>& at, const Region& held) const {
    const PlacesOf<T>& places = at.places;
    const PairPlaces real_places{{real(places.a.R), real(places.a.o)}, {real(places.b.R), real(places.b.o)}};
    const auto sheet = plane(real_places, held);
    if (!sheet) {
        const Touching touching = *nearest(real_places).touching;
        const SettledOf<T> found = settled_on(places, touching.number, unknowns(touching, real_places));
        const RimPart& part = parts_[touching.number].part;
        const DriftOf<T> rates = drift(own_, piece_of(part, rules_.bulge), found, at.V_a, at.V_b);
        return {found.on_a(), rates.on_a, found.normal(), rates.normal};
    }
    const Vector3<T> n = places.b.R * constant<T>(sheet->normal), &a = places.a.R.c2;
    const Vector3<T> n_rate = cross(at.V_b.angular, n), a_rate = cross(at.V_a.angular, a);
    const T h = dot(n, a), h_rate = dot(n_rate, a) + dot(n, a_rate);
    const LowPoint<T> low = lowest(rim_.radius, rules_.bulge, n, a);
    const double whole = rim_.radius * rim_.radius;
    const T square = whole * (1.0 - rules_.bulge * rules_.bulge);
    const Vector3<T> y_rate = n_rate * T(whole) - (a * h_rate + a_rate * h) * square;
    const Vector3<T> c = places.a.o + places.a.R * constant<T>(rim_.centre());
    const Vector3<T> x_rate =
        velocity_at(at.V_a, c) - y_rate * (T(1.0) / low.size) - low.way * (square * h * h_rate / (low.size * low.size));
    return {c - low.way, x_rate, n, n_rate};
}

// The lowest point runs over the rim the faster, the less it is tilted, and over what is round.
double YieldingRim::bend(const PairPlaces& at, double speed, double spin, double duration) const {
    const auto touching = nearest(at).touching;
    if (!touching) return 0.0;
    const MeetOf<double> found = met(MotionsOf<double>{at, {}, {}}, Region{touching->number + 1, 0, 0});
    const double radius = rim_.radius, sine = length(cross(found.n, at.a.R.c2));
    const double tilt = std::max(sine - spin * duration, rules_.bulge), own = radius * spin * spin * (1.0 + 1.0 / tilt);
    const RimPart& part = parts_[touching->number].part;
    if (part.kind == RimPart::Kind::face || part.kind == RimPart::Kind::endless) return own;
    const double slide = speed + spin * radius / tilt;
    const double bent = part.bent(radius, at.b.R.transposed() * (found.x - at.b.o), slide * duration);
    return bent > 0.0 ? own + slide * slide / bent : INFINITE;
}

}  // namespace native
