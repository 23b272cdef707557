#include "solids.hpp"

#include <algorithm>

namespace native {

namespace {

std::array<double, 3> numbers(const Vec3& a) {
    return {a.x, a.y, a.z};
}

// The region of the centre of a sphere; inside of a box beyond the side that is nearest.
Region region_of_sphere(const Vec3& half, const Vec3& centre) {
    const std::array<double, 3> p = numbers(centre), h = numbers(half);
    Region found{};
    int nearest = 0;
    bool outside = false;
    for (int k = 0; k < 3; ++k) {
        const double beyond = std::abs(p[k]) - h[k];
        if (beyond > std::abs(p[nearest]) - h[nearest]) nearest = k;
        if (beyond > 0.0) found[k] = p[k] < 0.0 ? -1 : 1, outside = true;
    }
    if (!outside) found[nearest] = p[nearest] < 0.0 ? -1 : 1;
    return found;
}

// The axis of the only side that a region lies beyond; -1: there are several.
int face_of(const Region& region) {
    int face = -1;
    for (int k = 0; k < 3; ++k) {
        if (!region[k]) continue;
        if (face >= 0) return -1;
        face = k;
    }
    return face;
}

Vec3 within(const Solid& solid, const Vec3& point, const Sweep& sweep) {
    return axes_of(solid, sweep).transposed() * (point - place_of(solid, sweep));
}

// The region of a point in axes of the solid; `inner` of one without radius.
Region region_there(const Solid& solid, const Vec3& p, const std::optional<Vec3>& inner) {
    if (!solid.half) return region_of(*solid.hull, solid.rules, p, inner ? &*inner : nullptr);
    return inner ? region_of_point(*solid.half, solid.rules, p, *inner) : region_of_sphere(*solid.half, p);
}

// Fills in where the point p in axes of a box meets it, but for what the distance from an edge or corner gives.
void meet_box(const Vec3& half, const Vec3& p, Meeting& found) {
    const std::array<double, 3> at = numbers(p), h = numbers(half);
    const int face = face_of(found.beyond);
    std::array<double, 3> along{};
    if (face >= 0) {
        along[face] = found.beyond[face];
        found.face = found.beyond[face] > 0 ? 4 + face : 1 + face, found.offset = {};
        found.gap = found.beyond[face] * at[face] - h[face];
        found.normal = found.turn * Vec3{along[0], along[1], along[2]};
        return;
    }
    for (int k = 0; k < 3; ++k) along[k] = found.beyond[k] ? at[k] - found.beyond[k] * h[k] : 0.0;
    found.corner = found.beyond[0] && found.beyond[1] && found.beyond[2];
    found.offset = {along[0], along[1], along[2]};
}

// The same of a hull.
void meet_hull(const Polyhedron& hull, const Region& region, const Vec3& p, Meeting& found) {
    const int k = region[1];
    if (region[0] != FACE) {
        found.offset = offset_of(hull, region, p);
        found.corner = region[0] == VERTEX;
        if (region[0] == EDGE) found.along = hull.directions[k];
        return;
    }
    found.face = 1 + k, found.offset = {};
    found.gap = dot(hull.normals[k], p) - hull.offsets[k];
    found.normal = found.turn * hull.normals[k];
}

}  // namespace

Mat3 axes_of(const Solid& solid, const Sweep& sweep) {
    return solid.joint < 0 ? solid.turn : sweep.turn[solid.joint] * solid.turn;
}

Vec3 place_of(const Solid& solid, const Sweep& sweep) {
    if (solid.joint < 0) return solid.place - sweep.origin;
    return sweep.place[solid.joint] + sweep.turn[solid.joint] * solid.place;
}

double Solid::curvature(double of_sphere) const {
    const double both = radius + of_sphere;
    return both > 0.0 ? 1.0 / both : 0.0;  // of a point, that within a face
}

Region region_of(const Solid& solid, const Ball& ball, const Sweep& sweep) {
    if (solid.is_round()) return {};
    std::optional<Vec3> inner;
    if (ball.inner) inner = within(solid, *ball.inner, sweep);
    return region_there(solid, within(solid, ball.centre, sweep), inner);
}

Meeting meet(const Solid& solid, const std::optional<Region>& held, const Ball& ball, const Sweep& sweep) {
    const Mat3 turn = axes_of(solid, sweep);
    const Vec3 p = turn.transposed() * (ball.centre - place_of(solid, sweep));
    Meeting found{0.0, ball.centre, {}, turn, p, {1, 1, 1}, {}, 0, false};
    if (!solid.is_round()) {
        const Region region = held ? *held : region_of(solid, ball, sweep);
        if (solid.half) {
            found.beyond = region;
            meet_box(*solid.half, p, found);
        } else {
            meet_hull(*solid.hull, region, p, found);
        }
        found.gap -= solid.radius + ball.radius;
        if (found.face) return found;
    }
    const double length = std::sqrt(dot(found.offset, found.offset));
    found.gap = length - solid.radius - ball.radius;
    found.normal = turn * (found.offset * (1.0 / length));
    return found;
}

Vec3 Meeting::turned(const Vec3& moved) const {
    const double length = std::sqrt(dot(offset, offset));
    if (length == 0.0) return {};
    Vec3 own = turn.transposed() * moved;
    own = {beyond[0] ? own.x : 0.0, beyond[1] ? own.y : 0.0, beyond[2] ? own.z : 0.0};
    own = own - along * dot(along, own);
    const Vec3 moves = turn * own;
    return (moves - normal * dot(normal, moves)) * (1.0 / length);
}

Vec3 Meeting::bent(const Vec3& moved, const Vec3& rate) const {
    const double length = std::sqrt(dot(offset, offset));
    if (length == 0.0) return {};
    const Vec3 turn = turned(moved);
    const Vec3 sum = turn * dot(normal, rate) + normal * dot(turn, rate) + turned(rate) * dot(normal, moved);
    return sum * (-1.0 / length);
}

bool is_corner_behind(const Solid& solid, const Region& held, int side) {
    if (!solid.half) return held[0] == EDGE && side >= 3;
    Region behind = held;
    int& along = behind[std::abs(side) - 1];
    along = along ? 0 : 1;
    return behind[0] && behind[1] && behind[2];
}

double margin(const Solid& solid, const Region& held, int side, double rim, const Ball& ball, const Sweep& sweep) {
    const Vec3 centre = within(solid, ball.centre, sweep);
    if (!solid.half) return margin_of(*solid.hull, held, side, centre) + rim;
    const int axis = std::abs(side) - 1;
    const double p = numbers(centre)[axis], beyond = (side > 0 ? p : -p) - numbers(*solid.half)[axis];
    return (held[axis] ? beyond : -beyond) + rim;
}

RelativeMotion motion_of(const Solid& solid, const Meeting& meeting, int joint, const Sweep& sweep) {
    const Spatial own = velocity_of(joint, sweep), other = velocity_of(solid.joint, sweep);
    RelativeMotion found;
    found.velocity = own + other * -1.0;
    found.speed = found.velocity.linear + cross(found.velocity.angular, meeting.centre);
    found.normal_rate = cross(other.angular, meeting.normal) + meeting.turned(found.speed);
    found.centre_rate = own.linear + cross(own.angular, meeting.centre);
    return found;
}

std::array<Vec3, 3> PairFrame::axes(const Vec3& n) const {
    if (rows == 1) return {n};
    if (rows == 2) return {n, cross(across, n)};
    const double share = 1.0 / (1.0 + dot(n, start));
    const Vec3 sum = start + n;
    std::array<Vec3, 3> found{n};
    for (int k = 0; k < 2; ++k) found[1 + k] = tangents[k] - sum * (dot(n, tangents[k]) * share);
    return found;
}

std::array<Vec3, 3> PairFrame::rates(const Vec3& n, const Vec3& n_rate) const {
    if (rows == 1) return {n_rate};
    if (rows == 2) return {n_rate, cross(across, n_rate)};
    const double share = 1.0 / (1.0 + dot(n, start));
    const Vec3 sum = start + n;
    std::array<Vec3, 3> found{n_rate};
    for (int k = 0; k < 2; ++k) {
        const double part = dot(n, tangents[k]) * share;
        const double rate = dot(n_rate, tangents[k]) * share - part * share * dot(n_rate, start);
        found[1 + k] = -(sum * rate) - n_rate * part;
    }
    return found;
}

std::array<Vec3, 3> PairFrame::bends(const Vec3& n, const Vec3& a, const Vec3& b) const {
    std::array<Vec3, 3> found{};
    if (rows < 3) return found;
    const double share = 1.0 / (1.0 + dot(n, start)), by_a = share * dot(a, start), by_b = share * dot(b, start);
    for (int k = 0; k < 2; ++k) {
        const Vec3& tangent = tangents[k];
        const double part = dot(n, tangent) * share;
        const double along_a = dot(a, tangent) * share - part * by_a, along_b = dot(b, tangent) * share - part * by_b;
        const double both = -dot(a, tangent) * share * by_b - along_b * by_a + part * by_a * by_b;
        found[1 + k] = -(a * along_b + b * along_a + (start + n) * both);
    }
    return found;
}

}  // namespace native
