#include "cone_sides.hpp"

#include "edges.hpp"

namespace native {

namespace {

const Vec3 UP{0.0, 0.0, 1.0};

template <class T>
Vector3<T> velocity_at(const SpatialVector<T>& motion, const Vector3<T>& point) {
    return motion.linear + cross(motion.angular, point);
}

Vec3 middle_of(const EdgeOfBody& edge) {
    const auto& ends = edge.hull->edges[edge.number];
    return (edge.hull->vertices[ends[0]] + edge.hull->vertices[ends[1]]) * 0.5;
}

}  // namespace

// The side of a cone across a line: axis b and tip p of the cone, direction d and middle q of the line; b . d, D and K,
// the normal n, n x d, the line l of the side that touches, and where both are nearest, from the tip and the middle.
template <class T>
struct ConeSideOnLine::Crossed {
    Vector3<T> b, p, d, q;
    T along, D, K;
    Vector3<T> n, w, down;
    T t, u;
};

struct ConeSideOnLine::Best {
    double sense, gap, miss;
    Crossed<double> found;
};

ConeSideOnLine::ConeSideOnLine(const Cone& cone, const EdgeOfBody& edge, const ConeRules& rules)
    : cone_(cone),
      edge_(edge),
      rules_(rules),
      length_(edge.hull->lengths[edge.number]),
      middle_(middle_of(edge)),
      direction_(edge.hull->directions[edge.number]) {
    passing = kinked = takes_over = true;
    extent = arm = cone.reach(), other_extent = edge.extent;
}

// n . d = 0 and n . b = -s: n = (-s (b - (b . d) d) +- K d x b) / D.
template <class T>
ConeSideOnLine::Crossed<T> ConeSideOnLine::crossed(const PlacesOf<T>& at, double sense) const {
    using std::sqrt;
    const T s = cone_.sine(), c = cone_.cosine();
    const Vector3<T> b = at.a.R.c2, d = at.b.R * constant<T>(direction_);
    const Vector3<T> p = at.a.o + b * T(cone_.half), q = at.b.o + at.b.R * constant<T>(middle_);
    const T along = dot(b, d), D = T(1.0) - along * along, root = D - s * s;
    const T K = real(root) > 0.0 ? sqrt(root) : T(1.0);
    const T share = T(1.0) / (real(D) > 0.0 ? D : T(1.0));
    const Vector3<T> n = (cross(d, b) * (T(sense) * K) - (b - d * along) * s) * share;
    const Vector3<T> w = cross(n, d), down = (b + n * s) * (T(-1.0) / c);
    const T t = T(sense) * c * dot(p - q, w) / K;
    return {b, p, d, q, along, D, K, n, w, down, t, dot(p + down * t - q, d)};
}

double ConeSideOnLine::square(const PairPlaces& at) const {
    const double along = dot(at.a.R.c2, at.b.R * direction_);
    return 1.0 - along * along - cone_.sine() * cone_.sine();
}

// The sense that suits the edge best, or of the larger gap.
ConeSideOnLine::Best ConeSideOnLine::best(const PairPlaces& at) const {
    const auto look = [&](double sense) {
        const Crossed<double> found = crossed(at, sense);
        double miss = -std::numeric_limits<double>::infinity();
        for (const Vec3& into : edge_.hull->into[edge_.number]) miss = std::max(miss, dot(at.b.R * into, found.n));
        return Best{sense, dot(found.n, found.p - found.q) - edge_.around, std::max(miss, 0.0), found};
    };
    const Best one = look(1.0), two = look(-1.0);
    return one.miss < two.miss || (one.miss == two.miss && one.gap >= two.gap) ? one : two;
}

Region ConeSideOnLine::region(const PairPlaces& at) const {
    return {static_cast<int>(best(at).sense), 0, 0};
}

double ConeSideOnLine::bound(const PairPlaces& at) const {
    const Vec3 axis = at.a.R.c2 * cone_.half, way = at.b.R * direction_ * length_, q = at.b.o + at.b.R * middle_;
    const double apart = between_segments(at.a.o - axis, axis * 2.0, q - way * 0.5, way, rules_.parallel);
    return apart - cone_.radius - edge_.around;
}

// From the tip and the rim along the side, and from both ends of the edge.
std::array<double, 4> ConeSideOnLine::margins(const Crossed<double>& found) const {
    return {found.t, cone_.slant() - found.t, 0.5 * length_ + found.u, 0.5 * length_ - found.u};
}

FeatureLook ConeSideOnLine::look(const PairPlaces& at) const {
    const double apart = bound(at), least = std::max(apart, 0.0), steep = rules_.parallel * cone_.cosine();
    if (apart > rules_.far_bodies * extent) return {apart, false};
    if (!(square(at) > steep * steep)) return {least + rules_.off, false};
    const Best there = best(at);
    const std::array<double, 4> from = margins(there.found);
    bool touch = from[0] > (edge_.around ? rules_.smoothly_begin : 0.5 * rules_.rim) && there.miss <= rules_.arc;
    for (int k = 1; k < 4; ++k) touch = touch && from[k] > rules_.smoothly_begin;
    const double deepest = 0.5 * std::min({cone_.radius, cone_.half, edge_.around ? edge_.around : edge_.least});
    touch = touch && there.gap > -deepest;
    if (touch && there.gap < -rules_.deep) {
        const ConvexBody other = edge_.around
                                     ? ConvexBody{ConvexBody::Kind::capsule, nullptr, edge_.around, 0.5 * length_}
                                     : ConvexBody{ConvexBody::Kind::polyhedron, edge_.hull, 0.0, 0.0};
        touch = !are_parted(cone_.body(), other, {at.a, at.b}, -rules_.far_side * there.gap);
    }
    if (!touch) return {std::max(there.gap, least) + rules_.off, false};
    return {there.gap, true, false, {static_cast<int>(there.sense), 0, 0}};
}

double ConeSideOnLine::gap(const PairPlaces& at, const Region& held) const {
    const Crossed<double> found = crossed(at, held[0]);
    return dot(found.n, found.p - found.q) - edge_.around;
}

double ConeSideOnLine::margin(const PairPlaces& at, const Region& held, int side) const {
    const bool sharp_tip = side == 0 && !edge_.around;
    return margins(crossed(at, held[0])).at(side) - (sharp_tip ? -rules_.rim : rules_.smoothly_end);
}

template <class T>
MeetOf<T> ConeSideOnLine::met(const MotionsOf<T>& at, const Region& held) const {
    const T sense = double(held[0]), s = cone_.sine(), c = cone_.cosine();
    const Crossed<T> f = crossed(at.places, held[0]);
    const Vector3<T> b_rate = cross(at.V_a.angular, f.b), d_rate = cross(at.V_b.angular, f.d);
    const Vector3<T> p_rate = velocity_at(at.V_a, f.p), apart = f.p - f.q;
    const Vector3<T> apart_rate = p_rate - velocity_at(at.V_b, f.q);
    const T turn = dot(b_rate, f.d) + dot(f.b, d_rate);
    const T K_rate = -f.along * turn / f.K, D_rate = T(-2.0) * f.along * turn;
    const Vector3<T> over = (cross(f.d, f.b) * K_rate + (cross(d_rate, f.b) + cross(f.d, b_rate)) * f.K) * sense;
    const Vector3<T> level = (b_rate - f.d * turn - d_rate * f.along) * s;
    const Vector3<T> n_rate = (over - level - f.n * D_rate) * (T(1.0) / f.D);
    const Vector3<T> w_rate = cross(n_rate, f.d) + cross(f.n, d_rate);
    const Vector3<T> down_rate = (b_rate + n_rate * s) * (T(-1.0) / c);
    const T t_rate = (sense * c * (dot(apart_rate, f.w) + dot(apart, w_rate)) - f.t * K_rate) / f.K;
    return {f.p + f.down * f.t, p_rate + f.down * t_rate + down_rate * f.t, f.n, n_rate};
}

MeetOf<double> ConeSideOnLine::meet(const MotionsOf<double>& at, const Region& held) const {
    return met(at, held);
}

MeetOf<Dual> ConeSideOnLine::meet(const MotionsOf<Dual>& at, const Region& held) const {
    return met(at, held);
}

// The normal turns, and the contact slides along the side and around it, the faster the less they cross.
double ConeSideOnLine::bend(const PairPlaces& at, double speed, double spin, double duration) const {
    const double s = cone_.sine(), c = cone_.cosine(), root = std::sqrt(std::max(square(at), 0.0));
    const double K = std::max(root - spin * duration / std::max(root, rules_.parallel), rules_.parallel);
    const double turn = spin / K;
    return 2.0 * turn * speed + spin * (c * speed / K + cone_.slant() * s / c * turn);
}

// --- of two cones: n = u +- w with n . b = -s_b and n . c = s_c -----------------------------------------------------

ConeSideOnCone::ConeSideOnCone(const Cone& own, const Cone& other, const ConeRules& rules)
    : own_(own),
      other_(other),
      rules_(rules),
      one_(SmoothPiece::slant(UP * own.half, UP, own.sine())),
      two_(SmoothPiece::slant(UP * other.half, UP, other.sine())) {
    passing = kinked = takes_over = true;
    extent = own.reach(), other_extent = other.reach();
}

ConeSideOnCone::Across ConeSideOnCone::across(const PairPlaces& at) const {
    const Vec3 &b = at.a.R.c2, &c = at.b.R.c2;
    const double s = own_.sine(), r = other_.sine(), d = dot(b, c), D = 1.0 - d * d > 0.0 ? 1.0 - d * d : 1.0;
    const double square = 1.0 - d * d - s * s - r * r - 2.0 * d * s * r;
    const Vec3 level = (b * -(s + d * r) + c * (r + d * s)) * (1.0 / D);
    return {level, cross(b, c) * (std::sqrt(square > 0.0 ? square : 1.0) / D), square};
}

bool ConeSideOnCone::crosses(const PairPlaces& at) const {
    const double least = rules_.parallel * own_.cosine() * other_.cosine();
    return across(at).square > least * least;
}

// apart + s_A (b_A + sine_A n) = s_B (b_B - sine_B n) + g n, of which both brackets are along the sides.
Unknowns<double> ConeSideOnCone::root(const PairPlaces& at, double sense) const {
    const Across found = across(at);
    const Vec3 n = found.level + found.over * sense, &b = at.a.R.c2, &c = at.b.R.c2;
    const Vec3 apart = at.a.o + b * own_.half - at.b.o - c * other_.half;
    const Vec3 one = b + n * own_.sine(), two = n * other_.sine() - c;
    std::array<double, 9> A{one.x, two.x, -n.x, one.y, two.y, -n.y, one.z, two.z, -n.z};
    std::array<double, 3> slides{-apart.x, -apart.y, -apart.z};
    solve_small(A.data(), slides.data(), 3);
    return {n.x, n.y, n.z, slides[2], slides[0], slides[1]};
}

SettledOf<double> ConeSideOnCone::there(const PairPlaces& at, double sense) const {
    return settled<double>(one_, two_, {at.a, at.b}, root(at, sense));
}

double ConeSideOnCone::best_sense(const PairPlaces& at) const {
    return there(at, 1.0).gap() >= there(at, -1.0).gap() ? 1.0 : -1.0;
}

Region ConeSideOnCone::region(const PairPlaces& at) const {
    return {crosses(at) ? static_cast<int>(best_sense(at)) : 1, 0, 0};
}

double ConeSideOnCone::away(const PairPlaces& at) const {
    const Vec3 one = at.a.R.c2 * own_.half, two = at.b.R.c2 * other_.half;
    const double apart = between_segments(at.a.o - one, one * 2.0, at.b.o - two, two * 2.0, rules_.parallel);
    return std::max(0.0, apart - own_.radius - other_.radius);
}

// Tip and rim of both, along the sides.
std::array<double, 4> ConeSideOnCone::margins(const SettledOf<double>& found) const {
    const double t = -found.y[4] * own_.cosine(), u = -found.y[5] * other_.cosine();
    return {t, own_.slant() - t, u, other_.slant() - u};
}

FeatureLook ConeSideOnCone::look(const PairPlaces& at) const {
    const double apart = away(at);
    if (apart > rules_.far_bodies * (own_.radius + other_.radius) || !crosses(at)) return {apart + rules_.off, false};
    const double sense = best_sense(at);
    const SettledOf<double> found = there(at, sense);
    const double deepest = 0.5 * std::min({own_.radius, 2.0 * own_.half, other_.radius, 2.0 * other_.half});
    const std::array<double, 4> from = margins(found);
    bool touch = std::all_of(from.begin(), from.end(), [&](double one) { return one > rules_.smoothly_begin; });
    touch = touch && found.gap() > -deepest;
    if (touch && found.gap() < -rules_.deep) {
        touch = !are_parted(own_.body(), other_.body(), {at.a, at.b}, -rules_.far_side * found.gap());
    }
    if (!touch) return {std::max(found.gap(), apart) + rules_.off, false};
    return {found.gap(), true, false, {static_cast<int>(sense), 0, 0}};
}

double ConeSideOnCone::gap(const PairPlaces& at, const Region& held) const {
    return there(at, held[0]).gap();
}

double ConeSideOnCone::margin(const PairPlaces& at, const Region& held, int side) const {
    return margins(there(at, held[0])).at(side) - rules_.smoothly_end;
}

template <class T>
MeetOf<T> ConeSideOnCone::met(const MotionsOf<T>& at, const Region& held) const {
    const PlacesOf<T>& places = at.places;
    const PairPlaces here{{real(places.a.R), real(places.a.o)}, {real(places.b.R), real(places.b.o)}};
    const SettledOf<T> found = settled<T>(one_, two_, {places.a, places.b}, root(here, held[0]));
    const DriftOf<T> rates = drift(one_, two_, found, at.V_a, at.V_b);
    return {found.on_a(), rates.on_a, found.normal(), rates.normal};
}

MeetOf<double> ConeSideOnCone::meet(const MotionsOf<double>& at, const Region& held) const {
    return met(at, held);
}

MeetOf<Dual> ConeSideOnCone::meet(const MotionsOf<Dual>& at, const Region& held) const {
    return met(at, held);
}

double ConeSideOnCone::bend(const PairPlaces& at, double speed, double spin, double duration) const {
    const double root = std::sqrt(std::max(across(at).square, 0.0));
    const double K = std::max(root - 2.0 * spin * duration / std::max(root, rules_.parallel), rules_.parallel);
    const double widest = std::max(own_.radius / (2.0 * own_.half), other_.radius / (2.0 * other_.half));
    const double turn = 2.0 * spin / K;
    return 2.0 * turn * speed + spin * (speed / K + std::max(own_.slant(), other_.slant()) * widest * turn);
}

// --- the tip on a capsule -------------------------------------------------------------------------------------------

TipOnCapsule::TipOnCapsule(std::shared_ptr<const Polyhedron> hull, double around, const Vec3& axis, double sine,
                           const SharpRules& rules)
    : hull_(hull), around_(around), axis_(axis), sine_(sine), rules_(rules) {
    takes_over = measured = true;
    other_extent = around + 0.5 * hull->lengths[0];
}

template <class T>
Vector3<T> TipOnCapsule::offset(const Vector3<T>& p, const Region& region) const {
    const Vector3<T> way = p - constant<T>(hull_->vertices[region[0] == VERTEX ? region[1] : 0]);
    if (region[0] == VERTEX) return way;
    const Vector3<T> along = constant<T>(hull_->directions[0]);
    return way - along * dot(along, way);
}

Region TipOnCapsule::region(const PairPlaces& at) const {
    return region_of(*hull_, rules_, at.b.R.transposed() * (at.a.o - at.b.o), nullptr);
}

FeatureLook TipOnCapsule::look(const PairPlaces& at) const {
    const Region here = region(at);
    return {gap(at, here), true, false, here};
}

double TipOnCapsule::gap(const PairPlaces& at, const Region& held) const {
    return length(offset(at.b.R.transposed() * (at.a.o - at.b.o), held)) - around_;
}

// Towards the side of the cone: the way along it, where it falls most, to its point nearest to the core.
double TipOnCapsule::margin(const PairPlaces& at, const Region& held, int side) const {
    const Vec3 p = at.b.R.transposed() * (at.a.o - at.b.o);
    if (side != CONE) return margin_of(*hull_, held, side, p);
    const Vec3 way = offset(p, held), axis = at.a.R * axis_;
    const double core = length(way);
    const Vec3 n = at.b.R * way * (1.0 / core);
    const double h = dot(n, axis), falls = sine_ * length(n - axis * h);
    return core * (std::sqrt(1.0 - sine_ * sine_) * h - falls) + rules_.round_rim;
}

template <class T>
MeetOf<T> TipOnCapsule::met(const MotionsOf<T>& at, const Region& held) const {
    const Vector3<T>& c = at.places.a.o;
    const Matrix3<T>& R = at.places.b.R;
    const Vector3<T> way = offset(R.transposed() * (c - at.places.b.o), held);
    const Vector3<T> speed = R.transposed() * (velocity_at(at.V_a, c) - velocity_at(at.V_b, c));
    const Vector3<T> along = constant<T>(hull_->directions[0]);
    const Vector3<T> moved = held[0] == VERTEX ? speed : speed - along * dot(along, speed);
    const Vector3<T> n = R * (way * (T(1.0) / length(way)));
    return {c, velocity_at(at.V_a, c), n, cross(at.V_b.angular, n) + R * turning(way, moved)};
}

MeetOf<double> TipOnCapsule::meet(const MotionsOf<double>& at, const Region& held) const {
    return met(at, held);
}

MeetOf<Dual> TipOnCapsule::meet(const MotionsOf<Dual>& at, const Region& held) const {
    return met(at, held);
}

}  // namespace native
