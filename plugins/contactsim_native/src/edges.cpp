#include "edges.hpp"

#include <algorithm>

namespace native {

namespace {

Lines lines_of(const Vec3& p, const Vec3& a, const Vec3& q, const Vec3& b, double parallel) {
    Lines found{p, a, q, b, dot(a, a), dot(a, b), dot(b, b), 0.0, 0.0, 0.0, cross(a, b), 0.0};
    const Vec3 gap = p - q;
    const double ar = dot(a, gap), br = dot(b, gap), aa = found.aa, ab = found.ab, bb = found.bb;
    found.det = aa * bb - ab * ab;
    if (found.det <= parallel * parallel * (aa * bb)) found.det = aa * bb;  // as near everywhere
    found.s = (ab * br - bb * ar) / found.det, found.t = (aa * br - ab * ar) / found.det;
    found.length = std::sqrt(dot(found.across, found.across));
    if (found.length == 0.0) found.length = 1.0;
    return found;
}

// Distance of both segments. Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.9.
double between_segments(const Lines& lines) {
    const Vec3 gap = lines.p - lines.q;
    const double ar = dot(lines.a, gap), br = dot(lines.b, gap);
    const double t = std::clamp((lines.ab * std::clamp(lines.s, 0.0, 1.0) + br) / lines.bb, 0.0, 1.0);
    const double s = std::clamp((lines.ab * t - ar) / lines.aa, 0.0, 1.0);
    const Vec3 way = gap + lines.a * s - lines.b * t;
    return std::sqrt(dot(way, way));
}

Vec3 at(const Spatial& motion, const Vec3& point) {
    return motion.linear + cross(motion.angular, point);
}

// By how much edges on the rim of a disc are raised while that is tilted against the other edge.
double raised_by(const EdgeOnEdge& edges, const Lines& lines, const Sweep& sweep, const SharpRules& rules) {
    if (!edges.standing) return 0.0;
    const Vec3 axis = axes_of(*edges.solid, sweep) * *edges.standing;
    return rules.rise * std::max(0.0, std::abs(dot(lines.b, axis)) / std::sqrt(lines.bb) - rules.flat);
}

}  // namespace

double between_segments(const Vec3& p, const Vec3& a, const Vec3& q, const Vec3& b, double parallel) {
    return between_segments(lines_of(p, a, q, b, parallel));
}

Lines lines_of(const EdgeOnEdge& edges, const Solid& other, const Sweep& sweep) {
    const PlacedEdge one = edge_of(*edges.solid, edges.own, sweep), two = edge_of(other, edges.other, sweep);
    return lines_of(one.place, one.along, two.place, two.along, other.rules.parallel);
}

PlacedEdge edge_of(const Solid& solid, int edge, const Sweep& sweep) {
    const Polyhedron& hull = *solid.hull;
    const Mat3 turn = axes_of(solid, sweep);
    const Vec3 &first = hull.vertices[hull.edges[edge][0]], &second = hull.vertices[hull.edges[edge][1]];
    const std::array<Vec3, 2>& into = hull.into[edge];
    return {place_of(solid, sweep) + turn * first, turn * (second - first), {turn * into[0], turn * into[1]}};
}

double distance_from_edge(const Solid& solid, int edge, const Vec3& point, const Sweep& sweep) {
    const PlacedEdge at = edge_of(solid, edge, sweep);
    const Vec3 own = point - at.place;
    const double share = std::clamp(dot(own, at.along) / dot(at.along, at.along), 0.0, 1.0);
    const Vec3 way = own - at.along * share;
    return std::sqrt(dot(way, way));
}

EdgeLook cross_edges(const EdgeOnEdge& edges, const Solid& other, const Sweep& sweep) {
    const SharpRules& rules = other.rules;
    const PlacedEdge one = edge_of(*edges.solid, edges.own, sweep), two = edge_of(other, edges.other, sweep);
    EdgeLook found{lines_of(one.place, one.along, two.place, two.along, rules.parallel), 1.0, 0.0, 0.0, false, 0.0};
    const Lines& lines = found.lines;
    const Vec3 n = lines.normal(1.0);
    const double a0 = dot(one.into[0], n), a1 = dot(one.into[1], n), b0 = dot(two.into[0], n), b1 = dot(two.into[1], n);
    const double up = std::max(std::max(b0, b1), -std::min(a0, a1));
    const double down = std::max(-std::min(b0, b1), std::max(a0, a1)), along = dot(n, lines.p - lines.q);
    found.sense = up < down || (up == down && along >= 0.0) ? 1.0 : -1.0;
    found.distance = found.sense * along;
    found.sine = lines.length / std::sqrt(lines.aa * lines.bb);
    const double miss = std::min(up, down), rounding = edges.rounding(other);
    const double own = edges.solid->hull->lengths[edges.own], its = other.hull->lengths[edges.other];
    const double inside = std::min(std::min(lines.s, 1.0 - lines.s) * own, std::min(lines.t, 1.0 - lines.t) * its);
    const bool across = miss <= rules.arc && found.sine > rules.parallel;
    found.touches = inside > edges.held && across && found.distance > edges.deepest;
    const bool sharp = !rounding && !edges.solid->hull->is_segment() && !other.hull->is_segment();
    if (found.touches && sharp && found.distance < -rules.deep) {
        const Placed first{*edges.solid->hull, axes_of(*edges.solid, sweep), place_of(*edges.solid, sweep)};
        const Placed second{*other.hull, axes_of(other, sweep), place_of(other, sweep)};
        found.touches = !are_on_far_side(first, second, rules, found.distance);
    }
    if (found.touches && edges.blunt && !edges.standing && other.radius == 0.0) {
        const double end = std::min(lines.s, 1.0 - lines.s) * own;  // a sharp edge may be nearer to that of a cylinder
        found.touches = edges.solid->radius - found.distance <= std::max(end, 0.0) + rules.deep;
    }
    const double raised = raised_by(edges, lines, sweep, rules);
    found.touches = found.touches && raised == 0.0;
    if (found.touches) {
        found.gap = found.distance - rounding;
        return found;
    }
    const double off = std::max(between_segments(lines), edges.lever * found.sine * miss) - rounding;
    found.gap = (edges.blunt || raised > 0.0 ? std::max(off, 0.0) : off) + raised + rules.off;
    return found;
}

Spot spot_of(const EdgeOnEdge& edges, const Solid& other, double sense, const Sweep& sweep) {
    const Lines lines = lines_of(edges, other, sweep);
    const Vec3 n = lines.normal(sense);
    return {lines.p + lines.a * lines.s - n * edges.solid->radius, n};
}

double gap_along(const EdgeOnEdge& edges, const Solid& other, double sense, const Sweep& sweep) {
    const Lines lines = lines_of(edges, other, sweep);
    return dot(lines.normal(sense), lines.p - lines.q) - edges.rounding(other);
}

// s' from the derivatives of a . r = b . r = 0.
MovingSpot moving_spot_of(const EdgeOnEdge& edges, const Solid& other, double sense, const Sweep& sweep) {
    const Lines lines = lines_of(edges, other, sweep);
    const Vec3 &p = lines.p, &a = lines.a, &q = lines.q, &b = lines.b;
    const Spatial own = velocity_of(edges.solid->joint, sweep), its = velocity_of(other.joint, sweep);
    const Vec3 a_rate = cross(own.angular, a), b_rate = cross(its.angular, b), n = lines.normal(sense);
    const Vec3 turning = (cross(a_rate, b) + cross(a, b_rate)) * (sense / lines.length);
    const Vec3 apart = lines.apart(), moved = at(own, p) + a_rate * lines.s;
    const Vec3 drift = moved - at(its, q) - b_rate * lines.t;
    const double one = -dot(a_rate, apart) - dot(a, drift), two = -dot(b_rate, apart) - dot(b, drift);
    const double s_rate = (lines.bb * one - lines.ab * two) / lines.det;
    const Vec3 n_rate = turning - n * dot(n, turning);
    const double radius = edges.solid->radius;
    return {p + a * lines.s - n * radius, moved + a * s_rate - n_rate * radius, n, n_rate};
}

double end_margin(const EdgeOnEdge& edges, const Solid& other, int side, const Sweep& sweep) {
    const Lines lines = lines_of(edges, other, sweep);
    const bool own = std::abs(side) == 1;
    const double share = own ? lines.s : lines.t;
    const double length = own ? edges.solid->hull->lengths[edges.own] : other.hull->lengths[edges.other];
    return (side < 0 ? share : 1.0 - share) * length + edges.rim;
}

double edge_bend(const SharpRules& rules, double sine, double speed, double spin, double duration) {
    return 2.0 * spin * speed / std::max(sine - spin * duration, rules.parallel);
}

}  // namespace native
