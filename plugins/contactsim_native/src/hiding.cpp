#include "hiding.hpp"

#include <algorithm>
#include <cmath>

namespace native {

namespace {

double largest(const Vec3& a) {
    return std::max({std::abs(a.x), std::abs(a.y), std::abs(a.z)});
}

double length(const Vec3& a) {
    return std::sqrt(dot(a, a));
}

// Whether a point of a joint lies at an end of an edge of a solid that is fixed to it.
bool is_at_end(const Vec3& point, const Solid& solid, int edge) {
    const Polyhedron& hull = *solid.hull;
    const auto lies_at = [&](int vertex) {
        return largest(point - solid.place - solid.turn * hull.vertices[vertex]) < solid.rules.on_solid;
    };
    return lies_at(hull.edges[edge][0]) || lies_at(hull.edges[edge][1]);
}

// Whether a point without radius is a corner of the solid that another one touches.
bool is_vertex(const Contact& corner, const Contact& other) {
    if (!other.inner || !other.other || corner.joint != other.other->joint) return false;
    const Solid& solid = *other.other;
    const Vec3 point = solid.turn.transposed() * (corner.centre - solid.place);
    const auto lies_at = [&](const Vec3& vertex) { return largest(point - vertex) < solid.rules.on_solid; };
    if (solid.half) {
        const Vec3& h = *solid.half;
        return lies_at({std::copysign(h.x, point.x), std::copysign(h.y, point.y), std::copysign(h.z, point.z)});
    }
    return solid.hull && std::any_of(solid.hull->vertices.begin(), solid.hull->vertices.end(), lies_at);
}

// Whether corners of two bodies each lie on the other one.
bool are_corners_on_each_other(const Contact& one, const Contact& two) {
    return is_vertex(one, two) && is_vertex(two, one);
}

bool are_of_same_bodies(const Contact& a, const Contact& b) {
    const int one = a.joint, two = a.other->joint, first = b.joint, second = b.other->joint;
    return (one == first && two == second) || (one == second && two == first);
}

// Where and along which normal a contact touches, from the body of the lower joint to the other one.
Spot directed_spot_of(const Contact& contact, const Sweep& sweep) {
    const Spot spot = spot_of(contact, sweep);
    return {spot.point, contact.joint < contact.other->joint ? spot.normal : -spot.normal};
}

// A point without radius that touches a solid.
bool is_corner(const Contact& contact) {
    return contact.inner || (contact.features && contact.features->corner);
}

// Whether solids that are described by different features are one.
bool are_same(const Solid& a, const Solid& b) {
    const Vec3 turned = (a.turn.c0 - b.turn.c0), aside = (a.turn.c1 - b.turn.c1), moved = a.place - b.place;
    return &a == &b || (a.joint == b.joint && largest(turned) == 0.0 && largest(aside) == 0.0 && largest(moved) == 0.0);
}

bool is_lifted(const Contact& contact, const Sweep& sweep) {
    return contact.features && contact.features->passing && contact.features->look(places_of(contact, sweep)).lifted;
}

Vec3 corner_of(const Contact& contact, const Sweep& sweep) {
    return contact.joint < 0 ? contact.centre - sweep.origin
                             : sweep.place[contact.joint] + sweep.turn[contact.joint] * contact.centre;
}

// From a corner to the edge, or the other corner, that touches its body.
double distance_from_closed(const SharedCorner& shared, const Contact& closed, const Vec3& point, const Sweep& sweep) {
    if (shared.of == SharedCorner::Of::solid) return length(point - corner_of(closed, sweep));
    const EdgeOnEdge& edges = *closed.edges;
    return shared.of == SharedCorner::Of::own_edge ? distance_from_edge(*closed.other, edges.other, point, sweep)
                                                   : distance_from_edge(*edges.solid, edges.own, point, sweep);
}

// Corners that pass an edge on which one of their own edges lies, or a corner on which one of their faces does.
bool passes_closed(const Arc& arc, int guard, const Sweep& sweep) {
    const auto before = [](const SharedCorner& shared, int number) { return shared.guard < number; };
    auto shared = std::lower_bound(arc.shared_corners.begin(), arc.shared_corners.end(), guard, before);
    for (; shared != arc.shared_corners.end() && shared->guard == guard; ++shared) {
        const Contact& closed = arc.mode.closed[shared->closed].contact;
        const Vec3 point = corner_of(arc.guards.all[guard].contact(), sweep);
        if (distance_from_closed(*shared, closed, point, sweep) <= closed.other->rules.near_edge) return true;
    }
    return false;
}

// Contacts of the same bodies at one point along one normal.
bool is_taken_over(const Arc& arc, const Contact& contact, const Sweep& sweep) {
    const SharpRules& rules = contact.other->rules;
    std::optional<Spot> own;
    for (const Closed& closed : arc.mode.closed) {
        const Contact& held = closed.contact;
        if (!held.other || !held.takes_over() || !are_of_same_bodies(held, contact)) continue;
        if (!own) own = directed_spot_of(contact, sweep);
        const Spot there = directed_spot_of(held, sweep);
        if (length(own->point - there.point) <= rules.one_point &&
            length(own->normal - there.normal) <= rules.one_normal) {
            return true;
        }
    }
    return false;
}

}  // namespace

void note_shared_corners(const ContactMode& mode, const Contact& contact, int guard, std::vector<SharedCorner>& found) {
    if (!is_corner(contact)) return;  // none of features on hills
    for (std::size_t k = 0; k < mode.closed.size(); ++k) {
        const Contact& closed = mode.closed[k].contact;
        const int number = static_cast<int>(k);
        if (are_corners_on_each_other(contact, closed)) found.push_back({number, guard, SharedCorner::Of::solid});
        if (!closed.edges) continue;
        const EdgeOnEdge& edges = *closed.edges;
        if (contact.joint == edges.solid->joint && are_same(*contact.other, *closed.other) &&
            is_at_end(contact.centre, *edges.solid, edges.own)) {
            found.push_back({number, guard, SharedCorner::Of::own_edge});
        }
        if (contact.joint == closed.other->joint && are_same(*contact.other, *edges.solid) &&
            is_at_end(contact.centre, *closed.other, edges.other)) {
            found.push_back({number, guard, SharedCorner::Of::other_edge});
        }
    }
}

namespace {

// A feature on hills while it is open: its gap, whether it acts, whether it is in the ground without doing so, and
// whether a closed one of its body touches at the same point.
struct OnHills {
    double gap;
    bool acts = false, sunk = false, hidden = false;
    std::optional<Lowest> own = {};  // its nearest point
};

// Closed features of the same body at one point along one normal; the ends of an edge that is nearly too straight to
// act between them are on its line.
bool is_taken_over_on_hills(const Arc& arc, const Contact& contact, const std::optional<Lowest>& here,
                            const Sweep& sweep) {
    std::optional<MovingSpot> own;
    std::optional<Vec3> along;
    if (here) along = contact.feature->flat->runs_along(pose_of(contact, sweep), *here);
    for (const Closed& closed : arc.mode.closed) {
        const Contact& held = closed.contact;
        if (!held.feature || held.joint != contact.joint) continue;
        if (!own) own = spot_on_hills(contact, sweep, false, here);
        const std::optional<MovingSpot> there = spot_on_hills(held, sweep, false);
        if (!own || !there) return false;
        const FlatRules& rules = contact.feature->flat->rules;
        Vec3 way = own->point - there->point;
        if (along && held.feature->flat->ends_edges()) way = way - *along * dot(*along, way);
        if (length(way) <= rules.one_point &&
            length(own->normal - there->normal) <= rules.one_normal) {
            return true;
        }
    }
    return false;
}

OnHills look_on_hills(const Arc& arc, const Contact& contact, const Sweep& sweep) {
    const Flat& flat = *contact.feature->flat;
    const Pose pose = pose_of(contact, sweep);
    bool near;
    OnHills found{flat.clearance(pose, near)};
    if (!near) return found;
    const FlatLook seen = flat.look(pose);
    found.gap = flat.near_gap(seen), found.acts = seen.acts, found.own = seen.own;
    found.sunk = seen.known && !seen.acts && flat.sunk(seen.low);
    found.hidden = found.gap < flat.rules.off && !found.sunk && is_taken_over_on_hills(arc, contact, seen.own, sweep);
    if (found.hidden) found.gap = std::max(found.gap, 0.0) + flat.rules.off;
    return found;
}

// Whether the gap of an open corner is raised: others are nearer to the ground where it is.
bool is_raised(const Arc& arc, const Contact& contact, double gap, const Sweep& sweep) {
    const double off = contact.feature->flat->rules.off;
    return gap < off && look_on_hills(arc, contact, sweep).gap >= off;
}

double gap_on_hills(const Arc& arc, const Contact& contact, const Sweep& sweep, const double* q) {
    if (contact.is_flat()) return look_on_hills(arc, contact, sweep).gap;
    const double gap = gap_of(arc.mode, contact, sweep, q);
    return is_raised(arc, contact, gap, sweep) ? gap + contact.feature->flat->rules.off : gap;
}

Nearing nearing_on_hills(const Arc& arc, const Contact& contact, const Sweep& sweep, const double* q, const double* v) {
    if (contact.is_flat()) {
        const OnHills seen = look_on_hills(arc, contact, sweep);
        if (seen.hidden || !seen.acts) return {seen.gap, 0.0, false, 0, seen.hidden || !seen.sunk};
        const std::optional<MovingSpot> spot = spot_on_hills(contact, sweep, false, seen.own);
        if (!spot) return {NAN, 0.0, false};
        const Spatial motion = velocity_of(contact.joint, sweep);
        return {seen.gap, dot(spot->normal, motion.linear + cross(motion.angular, spot->point)), true};
    }
    const Nearing seen = nearing(arc.mode, contact, sweep, q, v);
    if (!is_raised(arc, contact, seen.gap, sweep)) return seen;
    return {seen.gap + contact.feature->flat->rules.off, 0.0, false, 0, true};
}

}  // namespace

bool is_hidden(const Arc& arc, int guard, double gap, const Sweep& sweep) {
    const Contact& contact = arc.guards.all[guard].contact();
    if (!contact.takes_over() || gives_way(arc.mode)) return false;
    if (is_on_standing_disc(arc.mode, contact)) return false;
    if (is_corner(contact) && passes_closed(arc, guard, sweep)) return true;
    return gap < contact.other->rules.off && !is_lifted(contact, sweep) && is_taken_over(arc, contact, sweep);
}

double hidden_gap(const Contact& contact, double gap) {
    return std::max(gap, 0.0) + contact.other->rules.off;
}

double shown_gap(const Arc& arc, int guard, const Sweep& sweep, const double* q) {
    const Contact& contact = arc.guards.all[guard].contact();
    if (contact.feature) return gap_on_hills(arc, contact, sweep, q);
    const double gap = gap_of(arc.mode, contact, sweep, q);
    return is_hidden(arc, guard, gap, sweep) ? hidden_gap(contact, gap) : gap;
}

Nearing shown_nearing(const Arc& arc, int guard, const Sweep& sweep, const double* q, const double* v) {
    const Contact& contact = arc.guards.all[guard].contact();
    if (contact.feature) return nearing_on_hills(arc, contact, sweep, q, v);
    const Nearing seen = nearing(arc.mode, contact, sweep, q, v);
    if (!is_hidden(arc, guard, seen.gap, sweep)) return seen;
    return {hidden_gap(contact, seen.gap), 0.0, false, 0, true};
}

}  // namespace native
