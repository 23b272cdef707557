#include "smooth_pairs.hpp"

#include <algorithm>

namespace native {

SmoothOnSolid::SmoothOnSolid(const SmoothPiece& own, const SmoothSurface& other, std::optional<double> reach,
                             const SmoothRules& rules)
    : own_(own), other_(other), reach_(reach), rules_(rules) {
    const bool ball = own.kind == SmoothPiece::Kind::point;
    const Vec3 radii = ball ? Vec3{own.offset, own.offset, own.offset} : own.radii;
    least_ = std::min({radii.x, radii.y, radii.z}), most_ = std::max({radii.x, radii.y, radii.z});
    extent = most_, other_extent = reach ? *reach : INFINITY;
}

// A vector on the side of A, in the world: its centre from the piece.
Vec3 SmoothOnSolid::towards(const PairPlaces& at, const SmoothPiece& piece) const {
    if (piece.kind == SmoothPiece::Kind::plane) return at.b.R * piece.axis;
    const Vec3 way = at.a.o - at.b.o - at.b.R * piece.centre;
    if (piece.kind != SmoothPiece::Kind::line) return way;
    const Vec3 slide = at.b.R * piece.axis;
    return way - slide * dot(slide, way);
}

std::optional<Unknowns<double>> SmoothOnSolid::root(const PairPlaces& at, const SmoothPiece& piece) const {
    return closest(own_, piece, {at.a, at.b}, towards(at, piece), rules_.closest);
}

std::optional<SettledOf<double>> SmoothOnSolid::nearest(const PairPlaces& at, const Region& held) const {
    const SmoothPiece& piece = other_.piece(held);
    const std::optional<Unknowns<double>> y = root(at, piece);
    if (!y) return {};
    return settled<double>(own_, piece, {at.a, at.b}, *y);
}

double SmoothOnSolid::margin_there(const PairPlaces& at, const SettledOf<double>& there, const Region& held,
                                   int side) const {
    const Mat3 back = at.b.R.transposed();
    const Vec3 n = back * there.normal(), x = back * (there.on_b() - at.b.o) - n * other_.rounding();
    return other_.margin(held, side, x, n, least_);
}

double SmoothOnSolid::margin(const PairPlaces& at, const Region& held, int side) const {
    const auto there = nearest(at, held);
    return there ? margin_there(at, *there, held, side) : NAN;
}

double SmoothOnSolid::gap(const PairPlaces& at, const Region& held) const {
    const auto there = nearest(at, held);
    return there ? there->gap() : NAN;
}

// From that of the centre on, over the sides that the nearest point is beyond.
Region SmoothOnSolid::region(const PairPlaces& at) const {
    Region found = other_.start(at.b.R.transposed() * (at.a.o - at.b.o));
    for (int step = 0; step < rules_.steps && !other_.is_whole(); ++step) {
        const auto there = nearest(at, found);
        if (!there) break;
        double least = INFINITY;
        int across = 0;
        for (const int side : other_.sides(found)) {
            const double margin = margin_there(at, *there, found, side);
            if (margin < least) least = margin, across = side;
        }
        if (!(least < -rules_.tied)) break;
        found = other_.beyond(found, across);
    }
    return found;
}

// Far away the gap is that of the centre less the largest radius.
FeatureLook SmoothOnSolid::look(const PairPlaces& at) const {
    const Region here = region(at);
    if (reach_) {
        const double apart = other_.distance(at.b.R.transposed() * (at.a.o - at.b.o)) - most_;
        if (apart > rules_.far_bodies * (*reach_ + most_)) return {apart, true, false, here};
    }
    return {gap(at, here), true, false, here};
}

template <class T>
MeetOf<T> SmoothOnSolid::met(const MotionsOf<T>& at, const Region& held) const {
    const SmoothPiece& piece = other_.piece(held);
    const PlacesOf<T>& here = at.places;
    const auto y = root({{real(here.a.R), real(here.a.o)}, {real(here.b.R), real(here.b.o)}}, piece);
    const Vector3<T> none{NAN, NAN, NAN};
    if (!y) return {none, none, none, none};
    const SettledOf<T> found = settled<T>(own_, piece, {here.a, here.b}, *y);
    const DriftOf<T> rates = drift(own_, piece, found, at.V_a, at.V_b);
    return {found.on_a(), rates.on_a, found.normal(), rates.normal};
}

MeetOf<double> SmoothOnSolid::meet(const MotionsOf<double>& at, const Region& held) const {
    return met(at, held);
}

MeetOf<Dual> SmoothOnSolid::meet(const MotionsOf<Dual>& at, const Region& held) const {
    return met(at, held);
}

// (v + w r_max^2 / r_min)^2 r_max / r_min^2.
double SmoothOnSolid::bend(const PairPlaces&, double speed, double spin, double) const {
    const double moved = speed + spin * most_ * most_ / least_;
    return moved * moved * most_ / (least_ * least_);
}

}  // namespace native
