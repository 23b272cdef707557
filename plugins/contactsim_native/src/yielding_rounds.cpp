#include "yielding_rounds.hpp"

#include <algorithm>

namespace native {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity(), PI = 3.14159265358979323846;
constexpr int SIDE = 2;                     // beside the pieces 0, below, and 1
constexpr int OWN = 1, ELSEWHERE = 3;       // sides on which a region can be left
const Vec3 UP{0.0, 0.0, 1.0};

// The best of the normals of the side of a body for a piece of another one over it, in the world; see the module.
std::optional<Vec3> over_side(const RoundBody& body, int end, const PoseOf<double>& pose, const RoundBody& other,
                              const PoseOf<double>& on, double slack, const YieldingRules& rules) {
    const double sine = other.sine(), cosine = std::sqrt(1.0 - sine * sine);
    const Mat3 back = on.R.transposed();
    Vec3 way = back * (pose.o + pose.R * body.centre(end) - on.o);
    if (other.kind == RoundBody::Kind::cone) way.z -= other.half;
    if (!body.is_disc(end)) {
        const double angle = std::atan2(way.y, way.x);
        return on.R * Vec3{cosine * std::cos(angle), cosine * std::sin(angle), sine};
    }
    const Slopes hill{way, back * pose.R.c2, sine, cosine, body.radius, body.bulge};
    const double step = 2.0 * PI / (NORMAL_SAMPLES - 1);
    const Mat3 turn = pose.R.transposed() * on.R;
    double most = -INFINITE, best = 0.0;
    for (int k = 0; k < NORMAL_SAMPLES; ++k) {
        const Vec3 n = hill.normal(k * step);
        const auto out = body.out(-(turn * n));
        if (out[end] - out[1 - end] < -2.0 * slack * body.half) continue;
        const double height = hill.height(n);
        if (height > most) most = height, best = k * step;
    }
    if (most == -INFINITE || !(hill.at(best - step)[0] > 0.0 && hill.at(best + step)[0] < 0.0)) return {};
    return on.R * hill.normal(hill.highest(best - step, best + step, rules.rounds, rules.turned));
}

}  // namespace

// --- one body --------------------------------------------------------------------------------------------------------

double RoundBody::sine() const {
    if (kind != Kind::cone) return 0.0;
    return radius / std::sqrt(4.0 * half * half + radius * radius * (1.0 - bulge * bulge));
}

double RoundBody::reach() const {
    return kind == Kind::capsule ? half + radius : std::hypot(half, radius);
}

SmoothPiece RoundBody::piece(int number) const {
    if (number == SIDE) {
        return kind == Kind::cone ? SmoothPiece::slant({0.0, 0.0, half}, UP, sine()) : SmoothPiece::line({}, UP, radius);
    }
    if (is_disc(number)) return SmoothPiece::ellipsoid({radius, radius, radius * bulge});
    return SmoothPiece::point({}, around());
}

std::array<double, 2> RoundBody::out(const Vec3& m) const {
    const double across = m.x * m.x + m.y * m.y, thin = bulge * m.z;
    std::array<double, 2> found;
    for (int end = 0; end < 2; ++end) {
        const double size = is_disc(end) ? radius * std::sqrt(across + thin * thin)
                                         : std::sqrt(across + m.z * m.z) * around();
        found[end] = m.z * centre(end).z + size;
    }
    return found;
}

double RoundBody::within(double slide) const {
    const bool cone = kind == Kind::cone;
    const double thick = bulge * radius, low = -half + (cone ? thick * thick / (2.0 * half) : 0.0), s = sine();
    const double height = (cone ? half : 0.0) + (1.0 - s * s) * slide;
    return height < 0.5 * (low + half) ? height - low : half - height;
}

// --- the best normals of the regions ---------------------------------------------------------------------------------

RoundOnRound::RoundOnRound(const RoundBody& a, const RoundBody& b, const RoundPairRules& rules)
    : a_(a), b_(b), rules_(rules) {
    passing = kinked = true;
    extent = a.reach(), other_extent = b.reach();
}

double RoundOnRound::along(const PairPlaces& at, const Vec3& n) const {
    const auto own = a_.out(-(at.a.R.transposed() * n)), other = b_.out(at.b.R.transposed() * n);
    return dot(n, at.a.o - at.b.o) - std::max(own[0], own[1]) - std::max(other[0], other[1]);
}

// Whether two pieces are those of their bodies that are farther out along a normal.
bool RoundOnRound::are_out(const PairPlaces& at, int own, int other, const Vec3& n) const {
    const auto is_out = [&](const RoundBody& body, int number, const Vec3& m) {
        const auto out = body.out(m);
        return number == SIDE || out[number] - out[1 - number] >= -rules_.round_rim;
    };
    return is_out(a_, own, -(at.a.R.transposed() * n)) && is_out(b_, other, at.b.R.transposed() * n);
}

// n = u +- w: see contactsim's closest_points.equations.across_slants.
void RoundOnRound::add_across(const PairPlaces& at, Normals& found) const {
    const Vec3 &a = at.a.R.c2, &b = at.b.R.c2;
    const double s = a_.sine(), t = b_.sine(), d = dot(a, b), D = 1.0 - d * d;
    const double square = D - s * s - t * t - 2.0 * d * s * t;
    const double parallel = rules_.rims.rim.parallel_edges;
    if (!(square > parallel * parallel)) return;
    const Vec3 level = (a * -(s + d * t) + b * (t + d * s)) * (1.0 / D), over = cross(a, b) * (std::sqrt(square) / D);
    found.push_back(level + over), found.push_back(level - over);
}

void RoundOnRound::add_over(const PairPlaces& at, int end, double slack, Normals& found) const {
    if (const auto n = over_side(a_, end, {at.a.R, at.a.o}, b_, {at.b.R, at.b.o}, slack, rules_.rims)) {
        found.push_back(*n);
    }
}

void RoundOnRound::add_under(const PairPlaces& at, int end, double slack, Normals& found) const {
    if (const auto n = over_side(b_, end, {at.b.R, at.b.o}, a_, {at.a.R, at.a.o}, slack, rules_.rims)) {
        found.push_back(-*n);
    }
}

void RoundOnRound::add_axes(const PairPlaces& at, Normals& found) const {
    for (const Vec3& axis : {at.a.R.c2, at.b.R.c2}) found.push_back(axis), found.push_back(-axis);
}

// From the best of some normals on, and from the best axis, by which a flat disc is touched: from elsewhere the search
// can lead through a disc, which is thin, to its far side.
void RoundOnRound::add_between(const PairPlaces& at, int own, int other, const Normals& starts, Normals& found) const {
    if (!a_.is_disc(own) && !b_.is_disc(other)) {
        const auto both = poses(at, own, other);
        const Vec3 way = both[0].o - both[1].o;
        const double size = length(way);
        if (size > 0.0) found.push_back(way * (1.0 / size));
        return;
    }
    Normals axes;
    add_axes(at, axes);
    const Vec3 best = start(at, own, other, starts), axis = start(at, own, other, axes);
    if (const auto n = climbed(at, own, other, best)) found.push_back(*n);
    const bool same = best.x == axis.x && best.y == axis.y && best.z == axis.z;
    if (same || !are_out(at, own, other, axis) || along(at, axis) < along(at, best) - rules_.beyond * a_.radius) return;
    if (const auto n = climbed(at, own, other, axis)) found.push_back(*n);
}

// To rounding, which the point on a flat disc is far more sensitive to than the distance.
std::optional<Vec3> RoundOnRound::climbed(const PairPlaces& at, int own, int other, const Vec3& towards) const {
    const auto both = poses(at, own, other);
    auto y = closest(a_.piece(own), b_.piece(other), both, towards, rules_.rims.rim.closest);
    double last = INFINITE;
    for (int k = 0; y && k < rules_.polishes; ++k) {
        const SettledOf<double> there = settled_in(at, own, other, *y);
        const double step = std::max({std::abs(there.y[0] - (*y)[0]), std::abs(there.y[1] - (*y)[1]),
                                      std::abs(there.y[2] - (*y)[2])});
        if (!(step < last)) break;
        y = there.y, last = step;
    }
    if (!y || !std::all_of(y->begin(), y->end(), [](double part) { return std::isfinite(part); })) return {};
    return Vec3{(*y)[0], (*y)[1], (*y)[2]};
}

// The best of some normals for two pieces: one at which they are about farthest out, if there is one.
Vec3 RoundOnRound::start(const PairPlaces& at, int own, int other, const Normals& ways) const {
    std::vector<double> heights, late;
    for (const Vec3& n : ways) {
        const auto a = a_.out(-(at.a.R.transposed() * n)), b = b_.out(at.b.R.transposed() * n);
        heights.push_back(dot(n, at.a.o - at.b.o) - a[own] - b[other]);
        late.push_back(std::min((a[own] - a[1 - own]) / a_.half, (b[other] - b[1 - other]) / b_.half));
    }
    const double least = std::min(*std::max_element(late.begin(), late.end()), -2.0 * rules_.beyond);
    double most = -INFINITE;
    Vec3 towards;
    for (std::size_t k = 0; k < ways.size(); ++k) {
        if (late[k] >= least && heights[k] > most) most = heights[k], towards = ways[k];
    }
    return towards;
}

std::vector<RoundOnRound::Candidate> RoundOnRound::candidates(const PairPlaces& at) const {
    std::vector<Candidate> found;
    Normals starts, some;
    const auto take = [&](int own, int other) {
        for (const Vec3& n : some) {
            if (are_out(at, own, other, n)) found.push_back({own, other, n, along(at, n)});
            starts.push_back(n);
        }
        some.clear();
    };
    add_across(at, some), take(SIDE, SIDE);
    for (int end = 0; end < 2; ++end) {
        add_over(at, end, 0.0, some), take(end, SIDE);
        add_under(at, end, 0.0, some), take(SIDE, end);
    }
    add_axes(at, starts);
    for (int own = 0; own < 2; ++own) {
        for (int other = 0; other < 2; ++other) {
            add_between(at, own, other, starts, some);
            for (const Vec3& n : some) {
                if (are_out(at, own, other, n)) found.push_back({own, other, n, along(at, n)});
            }
            some.clear();
        }
    }
    return found;
}

// The candidate of the largest distance; of such with one normal that which is farthest from its ends.
RoundOnRound::Candidate RoundOnRound::best(const PairPlaces& at) const {
    const auto all = candidates(at);
    const auto lower = [](const Candidate& one, const Candidate& two) { return one.gap < two.gap; };
    if (all.empty()) return {SIDE, SIDE, UP, NAN};
    const Candidate first = *std::max_element(all.begin(), all.end(), lower);
    std::vector<Candidate> same;
    for (const Candidate& one : all) {
        const bool near = dot(one.n, first.n) > 1.0 - 0.5 * rules_.beside * rules_.beside;
        if (near && one.gap >= first.gap - rules_.tied) same.push_back(one);
    }
    if (same.size() == 1) return first;
    double most = -INFINITE;
    Candidate chosen = first;
    for (const Candidate& one : same) {
        const auto both = margins(at, one.own, one.other, settled_at(at, one.own, one.other, one.n));
        const double inside = std::min(both[0], both[1]);
        if (inside > most) most = inside, chosen = one;
    }
    return chosen;
}

// The best normal of a region, which may be beyond its end.
std::optional<Vec3> RoundOnRound::best_of(const PairPlaces& at, int own, int other) const {
    Normals found;
    if (own == SIDE && other == SIDE) {
        add_across(at, found);
    } else if (other == SIDE) {
        add_over(at, own, rules_.beyond, found);
    } else if (own == SIDE) {
        add_under(at, other, rules_.beyond, found);
    } else {
        Normals starts;
        add_across(at, starts), add_over(at, own, rules_.beyond, starts), add_under(at, other, rules_.beyond, starts);
        add_axes(at, starts);
        add_between(at, own, other, starts, found);
    }
    if (found.empty()) return {};
    return *std::max_element(found.begin(), found.end(),
                             [&](const Vec3& one, const Vec3& two) { return along(at, one) < along(at, two); });
}

// --- closest points --------------------------------------------------------------------------------------------------

template <class T>
std::array<PoseOf<T>, 2> RoundOnRound::poses(const PlacesOf<T>& at, int own, int other) const {
    std::array<PoseOf<T>, 2> found{at.a, at.b};
    if (own != SIDE) found[0].o += at.a.R * constant<T>(a_.centre(own));
    if (other != SIDE) found[1].o += at.b.R * constant<T>(b_.centre(other));
    return found;
}

// Those of a normal: what is left across it is taken up by the slides.
Unknowns<double> RoundOnRound::unknowns(const PairPlaces& at, int own, int other, const Vec3& n) const {
    const auto both = poses(at, own, other);
    const auto core = [&](const RoundBody& body, int number, const PoseOf<double>& pose, const Vec3& m) {
        const Vec3 local = pose.R.transposed() * m;
        if (number == SIDE) return pose.o + pose.R * Vec3{0.0, 0.0, body.kind == RoundBody::Kind::cone ? body.half : 0.0};
        if (!body.is_disc(number)) return pose.o;
        const double thin = body.bulge * body.bulge, size = std::hypot(local.x, local.y, body.bulge * local.z);
        return pose.o + pose.R * (Vec3{local.x, local.y, thin * local.z} * (body.radius / size));
    };
    const auto radius = [](const RoundBody& body, int number) {
        return number == SIDE ? (body.kind == RoundBody::Kind::cone ? 0.0 : body.radius)
                              : body.is_disc(number) ? 0.0 : body.around();
    };
    const double around = radius(a_, own) + radius(b_, other);
    const Vec3 apart = core(a_, own, both[0], -n) - core(b_, other, both[1], n) - n * around;
    std::vector<Vec3> columns{n};
    if (own == SIDE) columns.push_back(-(at.a.R.c2 + n * a_.sine()));
    if (other == SIDE) columns.push_back(at.b.R.c2 - n * b_.sine());
    const int size = int(columns.size());
    std::array<double, 9> square{};
    std::array<double, 3> rest{};
    for (int r = 0; r < size; ++r) {
        rest[r] = dot(columns[r], apart);
        for (int c = 0; c < size; ++c) square[r * size + c] = dot(columns[r], columns[c]);
    }
    solve_small(square.data(), rest.data(), size);
    return {n.x, n.y, n.z, rest[0], rest[1], rest[2]};
}

template <class T>
SettledOf<T> RoundOnRound::settled_in(const PlacesOf<T>& at, int own, int other, const Unknowns<double>& y) const {
    return settled<T>(a_.piece(own), b_.piece(other), poses(at, own, other), y);
}

SettledOf<double> RoundOnRound::settled_at(const PairPlaces& at, int own, int other, const Vec3& n) const {
    return settled_in(at, own, other, unknowns(at, own, other, n));
}

std::optional<Unknowns<double>> RoundOnRound::held(const PairPlaces& at, int own, int other) const {
    const auto n = best_of(at, own, other);
    if (!n) return {};
    return settled_at(at, own, other, *n).y;
}

std::array<double, 2> RoundOnRound::margins(const PairPlaces& at, int own, int other,
                                            const SettledOf<double>& found) const {
    const Vec3 n = found.normal();
    const auto of = [](const RoundBody& body, int number, const Vec3& m, double slide) {
        if (number == SIDE) return body.within(slide);
        const auto out = body.out(m);
        return out[number] - out[1 - number];
    };
    return {of(a_, own, -(at.a.R.transposed() * n), found.y[4]),
            of(b_, other, at.b.R.transposed() * n, found.y[own == SIDE ? 5 : 4])};
}

// By how much it is better than all normals far from its own.
double RoundOnRound::lead_over_others(const PairPlaces& at, const SettledOf<double>& found) const {
    double most = -INFINITE;
    Candidate chosen{};
    for (const Candidate& one : candidates(at)) {
        if (dot(one.n, found.normal()) < 1.0 - 0.5 * rules_.beside * rules_.beside && one.gap > most) {
            most = one.gap, chosen = one;
        }
    }
    if (most == -INFINITE) return a_.reach() + b_.reach();
    return found.gap() - settled_at(at, chosen.own, chosen.other, chosen.n).gap();
}

// --- the contract ----------------------------------------------------------------------------------------------------

FeatureLook RoundOnRound::look(const PairPlaces& at) const {
    const double apart = length(at.a.o - at.b.o) - a_.reach() - b_.reach();
    if (apart > rules_.rims.rim.far_bodies * (a_.reach() + b_.reach())) {
        return {apart + rules_.rims.rim.off, false, false, {}};
    }
    const Candidate found = best(at);
    return {found.gap, true, false, found.region(), true, found.region()[0]};
}

double RoundOnRound::gap(const PairPlaces& at, const Region& held_in) const {
    const int own = (held_in[0] - 1) / 3, other = (held_in[0] - 1) % 3;
    const auto y = held(at, own, other);
    return y ? settled_in(at, own, other, *y).gap() : NAN;
}

double RoundOnRound::margin(const PairPlaces& at, const Region& held_in, int side) const {
    const int own = (held_in[0] - 1) / 3, other = (held_in[0] - 1) % 3;
    const auto y = held(at, own, other);
    if (!y) return NAN;
    const SettledOf<double> found = settled_in(at, own, other, *y);
    if (side == ELSEWHERE) return lead_over_others(at, found) + rules_.tied;
    return margins(at, own, other, found)[side - OWN] + rules_.round_rim;
}

template <class T>
MeetOf<T> RoundOnRound::met(const MotionsOf<T>& at, const Region& held_in) const {
    const PairPlaces here{{real(at.places.a.R), real(at.places.a.o)}, {real(at.places.b.R), real(at.places.b.o)}};
    const int own = (held_in[0] - 1) / 3, other = (held_in[0] - 1) % 3;
    const auto y = held(here, own, other);
    if (!y) return {{NAN, NAN, NAN}, {}, {NAN, NAN, NAN}, {}};
    const SettledOf<T> found = settled_in(at.places, own, other, *y);
    const DriftOf<T> rates = drift(a_.piece(own), b_.piece(other), found, at.V_a, at.V_b);
    return {found.on_a(), rates.on_a, found.normal(), rates.normal};
}

}  // namespace native
