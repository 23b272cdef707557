// Convex polyhedra, boxes, hulls or segments (the axes of capsules, without faces), rounded by a radius or not, as
// points and edges of other bodies touch them.
//
// The regions of a hull are the Voronoi regions of its faces, edges and vertices. A point without radius touches faces
// only, and these hold it up to a rim beyond their edges: see contactsim's multibody/geometry/shapes.py and hulls.py.
#pragma once

#include <array>
#include <vector>

#include "spatial.hpp"

namespace native {

// Of a box: where a point lies along each axis, beyond its lower (-1) or upper side (1), or between them. Of a hull:
// the kind of the nearest feature and its number. Of edges across each other: the sense of their normal.
using Region = std::array<int, 3>;

enum Feature { FACE = 1, EDGE = 2, VERTEX = 3 };

// Sides at which what touches leaves its own corner: this, and the number of an edge there.
constexpr int CONE = 100;

// Thresholds by name: those of contactsim's multibody/zero.py.
struct SharpRules {
    double rim = 0.0, beside = 0.0, sunk = 0.0;  // m
    double off = 0.0;                          // m
    double round_rim = 0.0;                    // m, of what is rounded
    double deep = 0.0, far_side = 0.0;         // m, and a share of a depth
    double near_edge = 0.0, on_solid = 0.0;    // m
    double one_point = 0.0, one_normal = 0.0;  // m, rad
    double arc = 0.0, parallel = 0.0;          // of directions
    double loose = 0.0;                        // share of a size
    double flat = 0.0, rise = 0.0;             // of discs that stand on edges: rad, m/rad
};

// An edge of a face or vertex: its number, and the place of the face among its two, or the sense (1, -1) in which it
// leads away from the vertex.
struct Beside {
    int edge, at;
};

struct Polyhedron {
    std::vector<Vec3> vertices, normals;
    std::vector<double> offsets;                   // n . x <= d inside
    std::vector<std::array<int, 2>> edges, sides;  // two vertices and two faces of each edge; none of a segment
    std::vector<std::array<Vec3, 2>> into;         // unit, from an edge into its faces
    std::vector<Vec3> directions;                  // unit, along the edges
    std::vector<double> lengths;                   // of these
    std::vector<std::vector<Beside>> of_faces, of_vertices;

    bool is_segment() const { return normals.empty(); }
    void link();  // fills what follows from vertices and edges
};

// How high a point is above each face (faces,), and how far inside the edges of each, in its plane.
std::vector<double> heights(const Polyhedron& solid, const Vec3& p);

// The region of a point in axes of a hull; of one without radius `inner` is the centre of its body.
Region region_of(const Polyhedron& solid, const SharpRules& rules, const Vec3& p, const Vec3* inner);

// The face of a box, as its region, that a point without radius meets, or the edge or corner that is nearest.
Region region_of_point(const Vec3& half, const SharpRules& rules, const Vec3& p, const Vec3& inner);

// From the line of an edge, or from a vertex, to a point.
Vec3 offset_of(const Polyhedron& solid, const Region& region, const Vec3& p);

// How far a point is from leaving a region of a hull on a side, 1 and on.
double margin_of(const Polyhedron& solid, const Region& region, int side, const Vec3& p);

// Where a polyhedron is.
struct Placed {
    const Polyhedron& solid;
    Mat3 turn;
    Vec3 place;
};

// Whether edges that cross with a negative gap do so on the far side of bodies that are not inside each other.
bool are_on_far_side(const Placed& one, const Placed& other, const SharpRules& rules, double gap);

}  // namespace native
