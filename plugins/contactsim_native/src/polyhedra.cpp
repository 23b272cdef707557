#include "polyhedra.hpp"

#include <algorithm>
#include <limits>

namespace native {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Which faces a point may touch that is so high above them, at most a rim: see contactsim's `shapes.touchable`.
bool is_touchable(double height, double highest, const SharpRules& rules) {
    return height >= highest - rules.rim && (highest <= rules.beside || height >= -rules.sunk);
}

// How far a point is inside the edges of each face, in its plane.
std::vector<double> inside_edges(const Polyhedron& solid, const Vec3& p) {
    std::vector<double> within(solid.normals.size(), INFINITE);
    for (std::size_t e = 0; e < solid.sides.size(); ++e) {
        const Vec3 own = p - solid.vertices[solid.edges[e][0]];
        for (int k = 0; k < 2; ++k) {
            double& least = within[solid.sides[e][k]];
            least = std::min(least, dot(own, solid.into[e][k]));
        }
    }
    return within;
}

// The face that a point without radius meets, among those that it may touch; -1: there is none.
int met_face(const Polyhedron& solid, const SharpRules& rules, const Vec3& p, const std::vector<double>& beyond,
             double highest, const Vec3& inner) {
    const std::vector<double> within = inside_edges(solid, p);
    int face = -1;
    double most = -INFINITE;
    for (std::size_t k = 0; k < beyond.size(); ++k) {
        if (!is_touchable(beyond[k], highest, rules) || !(within[k] >= -rules.rim || highest <= -rules.rim)) continue;
        const double height = dot(solid.normals[k], inner) - solid.offsets[k];
        if (height > most) face = static_cast<int>(k), most = height;
    }
    return face;
}

// The nearest edge, its distance, and how far along it the nearest point of its line lies.
struct Nearest {
    int edge = 0;
    double apart = INFINITE, along = 0.0;
};

Nearest nearest_edge(const Polyhedron& solid, const Vec3& p) {
    Nearest found;
    for (std::size_t e = 0; e < solid.edges.size(); ++e) {
        const Vec3 own = p - solid.vertices[solid.edges[e][0]];
        const double along = dot(own, solid.directions[e]), held = std::clamp(along, 0.0, solid.lengths[e]);
        const Vec3 way = own - solid.directions[e] * held;
        const double apart = std::sqrt(dot(way, way));
        if (apart < found.apart) found = {static_cast<int>(e), apart, along};
    }
    return found;
}

// The farthest that a polyhedron reaches along a direction.
double reach_along(const Placed& body, const Vec3& direction) {
    const Vec3 own = body.turn.transposed() * direction;
    double most = -INFINITE;
    for (const Vec3& vertex : body.solid.vertices) most = std::max(most, dot(vertex, own));
    return most + dot(direction, body.place);
}

}  // namespace

void Polyhedron::link() {
    of_faces.assign(normals.size(), {}), of_vertices.assign(vertices.size(), {});
    for (std::size_t e = 0; e < edges.size(); ++e) {
        const int number = static_cast<int>(e);
        const Vec3 way = vertices[edges[e][1]] - vertices[edges[e][0]];
        const double length = std::sqrt(dot(way, way));
        lengths.push_back(length), directions.push_back(way * (1.0 / length));
        of_vertices[edges[e][0]].push_back({number, 1}), of_vertices[edges[e][1]].push_back({number, -1});
        for (int k = 0; k < 2 && !is_segment(); ++k) of_faces[sides[e][k]].push_back({number, k});
    }
}

std::vector<double> heights(const Polyhedron& solid, const Vec3& p) {
    std::vector<double> found(solid.normals.size());
    for (std::size_t k = 0; k < found.size(); ++k) found[k] = dot(solid.normals[k], p) - solid.offsets[k];
    return found;
}

Region region_of(const Polyhedron& solid, const SharpRules& rules, const Vec3& p, const Vec3* inner) {
    const std::vector<double> beyond = heights(solid, p);
    const auto highest = std::max_element(beyond.begin(), beyond.end());
    if (!solid.is_segment() && *highest <= (inner ? rules.rim : 0.0)) {
        if (!inner) return {FACE, static_cast<int>(highest - beyond.begin()), 0};
        const int face = met_face(solid, rules, p, beyond, *highest, *inner);
        if (face >= 0) return {FACE, face, 0};
    }
    const Nearest nearest = nearest_edge(solid, p);
    const std::vector<double> over = inside_edges(solid, p);
    int face = -1;
    double lowest = INFINITE;
    for (std::size_t k = 0; k < beyond.size(); ++k) {
        if (over[k] >= 0.0 && beyond[k] > 0.0 && beyond[k] < lowest) face = static_cast<int>(k), lowest = beyond[k];
    }
    if (face >= 0 && lowest <= nearest.apart) return {FACE, face, 0};
    if (nearest.along > 0.0 && nearest.along < solid.lengths[nearest.edge]) return {EDGE, nearest.edge, 0};
    return {VERTEX, solid.edges[nearest.edge][nearest.along <= 0.0 ? 0 : 1], 0};
}

Region region_of_point(const Vec3& half, const SharpRules& rules, const Vec3& p, const Vec3& inner) {
    const double at[3] = {p.x, p.y, p.z}, h[3] = {half.x, half.y, half.z}, body[3] = {inner.x, inner.y, inner.z};
    double beyond[3], highest = -INFINITE;
    for (int k = 0; k < 3; ++k) beyond[k] = std::abs(at[k]) - h[k], highest = std::max(highest, beyond[k]);
    const auto side = [&](int k) { return at[k] < 0.0 ? -1 : 1; };
    Region found{};
    if (highest > rules.rim) {
        for (int k = 0; k < 3; ++k) found[k] = beyond[k] > rules.rim ? side(k) : 0;
        return found;
    }
    int face = 0;
    double most = -INFINITE;
    for (int k = 0; k < 3; ++k) {
        const double height = side(k) * body[k] - h[k];
        if (is_touchable(beyond[k], highest, rules) && height > most) face = k, most = height;
    }
    found[face] = side(face);
    return found;
}

Vec3 offset_of(const Polyhedron& solid, const Region& region, const Vec3& p) {
    const int k = region[1];
    if (region[0] == VERTEX) return p - solid.vertices[k];
    const Vec3 own = p - solid.vertices[solid.edges[k][0]];
    return own - solid.directions[k] * dot(own, solid.directions[k]);
}

double margin_of(const Polyhedron& solid, const Region& region, int side, const Vec3& p) {
    const int k = region[1];
    if (region[0] == FACE) {
        const Beside& beside = solid.of_faces[k][side - 1];
        return dot(p - solid.vertices[solid.edges[beside.edge][0]], solid.into[beside.edge][beside.at]);
    }
    if (region[0] == EDGE) {
        const Vec3 own = p - solid.vertices[solid.edges[k][0]];
        if (side <= 2) return -dot(own, solid.into[k][side - 1]);
        const double along = dot(own, solid.directions[k]);
        return side == 3 ? along : solid.lengths[k] - along;
    }
    const Beside& beside = solid.of_vertices[k][side - 1];
    return -beside.at * dot(p - solid.vertices[k], solid.directions[beside.edge]);
}

// The largest distance that a plane keeps between both, among those of their faces and across their edges, decides.
bool are_on_far_side(const Placed& one, const Placed& other, const SharpRules& rules, double gap) {
    const double least = rules.far_side * gap;
    const auto parts = [&](const Vec3& n) { return -reach_along(one, -n) - reach_along(other, n) > least; };
    for (const Vec3& n : one.solid.normals) {
        if (parts(-(one.turn * n))) return true;
    }
    for (const Vec3& n : other.solid.normals) {
        if (parts(other.turn * n)) return true;
    }
    for (const Vec3& own : one.solid.directions) {
        for (const Vec3& along : other.solid.directions) {
            const Vec3 across = cross(one.turn * own, other.turn * along);
            const double size = std::sqrt(dot(across, across));
            if (!(size > rules.parallel)) continue;
            const Vec3 n = across * (1.0 / size);
            if (parts(n) || parts(-n)) return true;
        }
    }
    return false;
}

}  // namespace native
