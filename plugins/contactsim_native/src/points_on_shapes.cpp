#include "points_on_shapes.hpp"

#include <algorithm>

namespace native {

namespace {

constexpr int TILT = -CONE;  // side of a region at which a disc that stands is tilted off its points

template <class T>
Vector3<T> velocity_at(const SpatialVector<T>& motion, const Vector3<T>& point) {
    return motion.linear + cross(motion.angular, point);
}

Vec3 within(const PairPlaces& at, const Vec3& point) {
    return at.b.R.transposed() * (point - at.b.o);
}

// Of regions of faces and sides, which are no rims or tips, a number of the piece on which the gap is smooth.
int piece_of(const Region& region) {
    return 1 + 16 * region[0] + 4 * (region[1] + 1) + (region[2] + 1);
}

}  // namespace

PointOnRound::PointOnRound(const RoundShape& shape, const PointKind& point, const SharpRules& rules)
    : shape_(shape), point_(point), rules_(rules) {
    kinked = corner = point.radius == 0.0;
    takes_over = point.of != PointKind::Of::ball || !point.edges.empty() || corner;
    measured = true;
    radius = point.radius, other_extent = shape.extent();
}

Region PointOnRound::region(const PairPlaces& at) const {
    return shape_.region(within(at, at.a.o), corner ? rules_.rim : 0.0);
}

FeatureLook PointOnRound::look(const PairPlaces& at) const {
    const Region here = region(at);
    FeatureLook found{gap(at, here), true, false, here};
    if (!corner) return found;
    found.smooth = here[0] == RoundShape::SIDE || here[0] == RoundShape::CAP;
    found.piece = found.smooth ? piece_of(here) : 0;
    return found;
}

double PointOnRound::gap(const PairPlaces& at, const Region& held) const {
    return shape_.distance(within(at, at.a.o), held) - point_.radius;
}

double PointOnRound::side_radius(const Vec3& p) const {
    return std::hypot(p.x, p.y) / shape_.cosine();
}

// The way along an edge, or along the side of a cone where it falls most, to its point nearest to the core of B.
double PointOnRound::take_over_margin(const PairPlaces& at, const Region& held, int edge) const {
    const Vec3 p = within(at, at.a.o), n = at.b.R * shape_.normal(p, held);
    if (point_.of == PointKind::Of::tip) {
        const Vec3 axis = at.a.R * point_.axis;
        const double h = dot(n, axis), falls = point_.sine * length(n - axis * h);
        return side_radius(p) * (std::sqrt(1.0 - point_.sine * point_.sine) * h - falls) + rules_.round_rim;
    }
    const bool aside = point_.of == PointKind::Of::corner && held[0] == RoundShape::SIDE;
    const double core = aside ? side_radius(p) : shape_.distance(p, held);
    return core * dot(n, at.a.R * point_.edges.at(edge)) + rules_.round_rim;
}

double PointOnRound::margin(const PairPlaces& at, const Region& held, int side) const {
    if (side >= CONE) return take_over_margin(at, held, side - CONE);
    return shape_.margin(within(at, at.a.o), held, side, corner ? rules_.rim : 0.0);
}

// n = R_b grad phi, x = o_a - r n; n' = w_B x n + R_b H R_b^T y with the velocity y of o_a relative to B.
template <class T>
MeetOf<T> PointOnRound::met(const MotionsOf<T>& at, const Region& held) const {
    const Vector3<T>& c = at.places.a.o;
    const Matrix3<T>& R = at.places.b.R;
    const Vector3<T> p = R.transposed() * (c - at.places.b.o), n = R * shape_.normal(p, held);
    const Vector3<T> speed = velocity_at(at.V_a, c) - velocity_at(at.V_b, c);
    const Vector3<T> n_rate = cross(at.V_b.angular, n) + R * shape_.normal_rate(p, R.transposed() * speed, held);
    const T r = point_.radius;
    return {c - n * r, velocity_at(at.V_a, c) - n_rate * r, n, n_rate};
}

MeetOf<double> PointOnRound::meet(const MotionsOf<double>& at, const Region& held) const {
    return met(at, held);
}

MeetOf<Dual> PointOnRound::meet(const MotionsOf<Dual>& at, const Region& held) const {
    return met(at, held);
}

// Curvature of the distance times the square of the speed; a point is about the side of a cone as far as it is from the
// axis, and may come nearer.
double PointOnRound::bend(const PairPlaces& at, double speed, double, double duration) const {
    if (!corner) return speed * speed / point_.radius;
    if (!shape_.cone) return speed * speed / shape_.radius;
    if (point_.of == PointKind::Of::ball) return INFINITY;
    if (region(at)[0] == RoundShape::CAP) return 0.0;
    const double left = side_radius(within(at, at.a.o)) - speed * duration;
    return left > 0.0 ? speed * speed / left : INFINITY;
}

Region FacedBody::region(const Vec3& p, const Vec3& inner, const SharpRules& rules) const {
    if (half) return region_of_point(*half, rules, p, inner);
    if (hull) return region_of(*hull, rules, p, &inner);
    return shape ? shape->region(p, rules.rim) : Region{};
}

std::optional<FacedBody::Face> FacedBody::face(const Region& region) const {
    if (half) {
        if (std::abs(region[0]) + std::abs(region[1]) + std::abs(region[2]) != 1) return {};
        const Vec3 n{double(region[0]), double(region[1]), double(region[2])};
        return Face{n, dot({std::abs(n.x), std::abs(n.y), std::abs(n.z)}, *half)};
    }
    if (hull) {
        if (region[0] != FACE) return {};
        return Face{hull->normals[region[1]], hull->offsets[region[1]]};
    }
    if (!shape) return Face{{0.0, 0.0, 1.0}, 0.0};
    if (region[0] != RoundShape::CAP) return {};
    return Face{{0.0, 0.0, double(region[1])}, shape->half};
}

std::vector<FacedBody::Face> FacedBody::faces() const {
    std::vector<Face> found;
    if (half) {
        for (const int sign : {1, -1}) {
            for (int k = 0; k < 3; ++k) {
                Region region{};
                region[k] = sign;
                found.push_back(*face(region));
            }
        }
    } else if (hull) {
        for (std::size_t k = 0; k < hull->normals.size(); ++k) found.push_back({hull->normals[k], hull->offsets[k]});
    } else if (shape) {
        if (!shape->cone) found.push_back({{0.0, 0.0, 1.0}, shape->half});
        found.push_back({{0.0, 0.0, -1.0}, shape->half});
    } else {
        found.push_back({{0.0, 0.0, 1.0}, 0.0});
    }
    return found;
}

double FacedBody::margin(const Vec3& p, const Region& held, int side, double rim) const {
    if (hull && !half) return margin_of(*hull, held, side, p) + rim;
    if (shape) return shape->margin(p, held, side, rim);
    const double at[3] = {p.x, p.y, p.z}, h[3] = {half->x, half->y, half->z};
    const int k = std::abs(side) - 1;
    return (held[k] ? 1.0 : -1.0) * ((side > 0 ? 1.0 : -1.0) * at[k] - h[k]) + rim;
}

double FacedBody::curvature() const {
    return !shape ? 0.0 : shape->cone ? INFINITY : 1.0 / shape->radius;
}

double FacedBody::extent() const {
    if (half) return length(*half);
    if (shape) return shape->extent();
    if (!hull) return INFINITY;
    double most = 0.0;
    for (const Vec3& vertex : hull->vertices) most = std::max(most, length(vertex));
    return most;
}

StandingPoint::StandingPoint(const FacedBody& body, const Vec3& inner, const Vec3& axis, double flat,
                             const StandingRules& rules)
    : body_(body), inner_(inner), axis_(axis), flat_(flat), rules_(rules) {
    extent = rules.rise, other_extent = body.extent();
    kinked = takes_over = !std::isinf(other_extent);
    measured = corner = holds_disc = true;
}

Region StandingPoint::region(const PairPlaces& at) const {
    return body_.region(within(at, at.a.o), within(at, at.a.o + at.a.R * inner_), rules_.sharp);
}

// By how much it is raised over a face with that normal in axes of B.
double StandingPoint::raised(const PairPlaces& at, const Vec3& normal) const {
    const Vec3 outward = at.b.R.transposed() * (at.a.R * axis_);
    return rules_.rise * std::max(0.0, length(normal + outward) - flat_);
}

// The distance from the face on which it stands; else the least distance from standing on any.
FeatureLook StandingPoint::look(const PairPlaces& at) const {
    const Region here = region(at);
    const auto under = body_.face(here);
    const Vec3 p = within(at, at.a.o);
    if (under && raised(at, under->normal) == 0.0) {
        return {dot(under->normal, p) - under->offset, true, false, here, true, piece_of(here)};
    }
    const std::vector<FacedBody::Face> faces = body_.faces();
    double outside = body_.shape ? std::hypot(p.x, p.y) - body_.shape->radius : -INFINITY, least = INFINITY;
    for (const auto& face : faces) outside = std::max(outside, dot(face.normal, p) - face.offset);
    for (const auto& face : faces) {
        const double above = dot(face.normal, p) - face.offset;
        const bool held = outside <= 0.0 && above > -rules_.sharp.sunk;
        least = std::min(least, (held ? above : std::max(std::abs(above), outside)) + raised(at, face.normal));
    }
    return {least, true, false, here, false, 0};
}

// From the face before which it is, whatever the tilt.
double StandingPoint::standing_gap(const PairPlaces& at) const {
    const Region here = region(at);
    return body_.face(here) ? gap(at, here) : look(at).gap;
}

double StandingPoint::gap(const PairPlaces& at, const Region& held) const {
    const auto under = body_.face(held);
    return under ? dot(under->normal, within(at, at.a.o)) - under->offset : NAN;
}

double StandingPoint::margin(const PairPlaces& at, const Region& held, int side) const {
    if (side != TILT) return body_.margin(within(at, at.a.o), held, side, rules_.sharp.rim);
    const auto under = body_.face(held);
    return under ? rules_.stands * flat_ - length(at.b.R * under->normal + at.a.R * axis_) : NAN;
}

template <class T>
MeetOf<T> StandingPoint::met(const MotionsOf<T>& at, const Region& held) const {
    const auto under = body_.face(held);
    const Vector3<T>& c = at.places.a.o;
    const Vector3<T> none{NAN, NAN, NAN};
    if (!under) return {none, none, none, none};
    const Vector3<T> n = at.places.b.R * constant<T>(under->normal);
    return {c, velocity_at(at.V_a, c), n, cross(at.V_b.angular, n)};
}

MeetOf<double> StandingPoint::meet(const MotionsOf<double>& at, const Region& held) const {
    return met(at, held);
}

MeetOf<Dual> StandingPoint::meet(const MotionsOf<Dual>& at, const Region& held) const {
    return met(at, held);
}

double StandingPoint::bend(const PairPlaces&, double speed, double, double) const {
    const double curvature = body_.curvature();
    return curvature > 0.0 ? curvature * speed * speed : 0.0;
}

}  // namespace native
