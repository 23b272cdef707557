#include "yielding_rims.hpp"

#include <algorithm>
#include <numeric>

namespace native {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double TINY = 1e-300;

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
    const double low = std::max(best - step, 0.0), high = std::min(best + step, span);
    if (!(hill.at(low)[0] > 0.0 && hill.at(high)[0] < 0.0)) return NAN;
    const double angle = hill.highest(low, high, rules.rounds, rules.turned);
    return rim.end * dot(hill.normal(angle), hill.lean) <= rim.lean ? angle : NAN;
}

bool is_plane(const RimPart& part) {
    return part.kind == RimPart::Kind::face || part.kind == RimPart::Kind::endless;
}

SmoothPiece line_of(const RimPart& edge) {
    return SmoothPiece::line(edge.centre, edge.axis, edge.radius);
}

template <class T>
Vector3<T> velocity_at(const SpatialVector<T>& motion, const Vector3<T>& point) {
    return motion.linear + cross(motion.angular, point);
}

}  // namespace

YieldingRim::YieldingRim(const RimOfBody& rim, std::vector<YieldingPart> parts, std::optional<double> reach,
                         const YieldingRules& rules)
    : rim_(rim), parts_(std::move(parts)), reach_(reach), rules_(rules),
      own_(SmoothPiece::ellipsoid({rim.radius, rim.radius, rim.radius * rules.bulge})) {
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
    std::vector<int> edges;
    double least = -INFINITE;
    look_over_flats(at, found, edges, least);
    if (least > near * rim_.radius) return {{}, least};
    for (int k : edges) {
        if (const auto one = over_edge(k, at)) found.push_back(*one);
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
        if (!is_plane(part)) continue;
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

std::optional<YieldingRim::Touching> YieldingRim::over_edge(int number, const Here& at) const {
    const RimPart& part = parts_[number].part;
    const auto& [frame, span] = *parts_[number].normals;
    const auto& [u, v, b] = frame;
    const auto seen = [&](const Vec3& a) { return Vec3{dot(u, a), dot(v, a), dot(b, a)}; };
    const Slopes hill{seen(at.c - part.centre), seen(at.a), 0.0, 1.0, rim_.radius, rules_.bulge};
    const double angle = best_angle(hill, rim_, span, rules_);
    if (std::isnan(angle)) return {};
    const Vec3 of = hill.normal(angle), n = u * of.x + v * of.y;
    const Vec3 x = at.c - lowest(rim_.radius, rules_.bulge, n, at.a).way, way = x - part.centre;
    const double gap = dot(n, way);
    if (!is_within(part, x - n * gap, n) || side_is_nearer(part, at, gap)) return {};
    return Touching{number, gap, {n.x, n.y, n.z, gap, dot(b, way), 0.0}};
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

// The number of the part that is nearest, from one on; where none is, that of the first plane one.
Region YieldingRim::region(const PairPlaces& at) const {
    const auto touching = nearest(at).touching;
    return {touching ? touching->number + 1 : 1, 0, 0};
}

FeatureLook YieldingRim::look(const PairPlaces& at) const {
    const Seen seen = nearest(at);
    if (!seen.touching) return {seen.least + rules_.rim.off, false, false, {}};
    const int number = seen.touching->number + 1;
    return {seen.touching->gap, true, false, {number, 0, 0}, true, number};
}

// The plane of a plane part; of an edge that is not nearest, that in which it lies below the rim; else none.
std::optional<YieldingRim::Sheet> YieldingRim::plane(const PairPlaces& at, const Region& held) const {
    const RimPart& part = parts_[held[0] - 1].part;
    if (is_plane(part)) return Sheet{part.centre, part.axis};
    const auto touching = nearest(at).touching;
    if (touching && touching->number == held[0] - 1) return {};
    Vec3 way = here(at).c - part.centre;
    way = way - part.axis * dot(way, part.axis);
    return Sheet{part.centre, way * (1.0 / std::max(length(way), TINY))};
}

template <class T>
std::array<PoseOf<T>, 2> YieldingRim::poses(const PlacesOf<T>& at) const {
    std::array<PoseOf<T>, 2> found{at.a, at.b};
    found[0].o += at.a.R * constant<T>(rim_.centre());
    return found;
}

// What touches was found in axes of the other body.
Unknowns<double> YieldingRim::unknowns(const Touching& found, const PairPlaces& places) const {
    const Vec3 n = places.b.R * Vec3{found.y[0], found.y[1], found.y[2]};
    return {n.x, n.y, n.z, found.y[3], found.y[4], found.y[5]};
}

template <class T>
SettledOf<T> YieldingRim::settled_on(const PlacesOf<T>& at, int number, const Unknowns<double>& y) const {
    return settled<T>(own_, line_of(parts_[number].part), poses(at), y);
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
        const DriftOf<T> rates = drift(own_, line_of(parts_[touching.number].part), found, at.V_a, at.V_b);
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
    if (is_plane(part)) return own;
    const double slide = speed + spin * radius / tilt;
    const double bent = part.bent(radius, at.b.R.transposed() * (found.x - at.b.o), slide * duration);
    return bent > 0.0 ? own + slide * slide / bent : INFINITE;
}

}  // namespace native
