// Sharp edges of polyhedra against each other: see contactsim's multibody/geometry/edges.py.
//
// Two edges p + s a and q + t b touch as features of their bodies where their common normal n = +-(a x b) / |a x b| is
// normal to both bodies there and the nearest points lie between the ends. Else a vertex or a face is nearer, and the
// gap is the distance of the segments, or how far they have to turn for that, and a little more.
#pragma once

#include "solids.hpp"

namespace native {

// An edge of a solid against one of the solid that it touches.
struct EdgeOnEdge {
    std::shared_ptr<const Solid> solid;  // of the own edge; the origin of its axes is the centre of the contact
    int own, other;                      // numbers of the edges
    double lever, deepest;               // arm at which directions miss each other, and the least distance [m]
    double held, rim;                    // how far from their ends they begin to touch, and beyond them end [m]
    bool blunt = false;                  // what is around them ends with the edge, as the side of a cylinder does
    std::optional<Vec3> standing{};      // axis, in its solid, of the disc on whose rim the own edge lies

    double rounding(const Solid& touched) const { return solid->radius + touched.radius; }  // at which they touch
};

// An edge where it is, from the origin of the sweep.
struct PlacedEdge {
    Vec3 place, along;
    std::array<Vec3, 2> into;
};

PlacedEdge edge_of(const Solid& solid, int edge, const Sweep& sweep);

// Both lines, and where they are nearest to each other.
struct Lines {
    Vec3 p, a, q, b;
    double aa, ab, bb, s, t, det;
    Vec3 across;    // a x b
    double length;  // of that

    Vec3 apart() const { return p + a * s - q - b * t; }
    Vec3 normal(double sense) const { return across * (sense / length); }
};

// How two edges lie to each other.
struct EdgeLook {
    Lines lines;
    double sense, distance;  // of the normal that suits both bodies best, and along it
    double gap;              // of an open contact
    bool touches;            // as features of their bodies
    double sine;             // of the angle between them

    int piece() const { return touches ? 2 + static_cast<int>(sense) : 0; }
};

// Ends of the other edge and the place of an own corner, as `hidden corners` look at them.
double distance_from_edge(const Solid& solid, int edge, const Vec3& point, const Sweep& sweep);

// Distance of the segments p + s a and q + t b, s and t from 0 to 1.
double between_segments(const Vec3& p, const Vec3& a, const Vec3& q, const Vec3& b, double parallel);

EdgeLook cross_edges(const EdgeOnEdge& edges, const Solid& other, const Sweep& sweep);

Lines lines_of(const EdgeOnEdge& edges, const Solid& other, const Sweep& sweep);

// Where a contact touches along a normal of a sense: where its lines are nearest, on what is around the own edge.
struct Spot {
    Vec3 point, normal;
};

Spot spot_of(const EdgeOnEdge& edges, const Solid& other, double sense, const Sweep& sweep);

double gap_along(const EdgeOnEdge& edges, const Solid& other, double sense, const Sweep& sweep);

// The same, and how fast it moves, by the velocities of the bodies.
struct MovingSpot {
    Vec3 point, point_rate, normal, normal_rate;
};

MovingSpot moving_spot_of(const EdgeOnEdge& edges, const Solid& other, double sense, const Sweep& sweep);

// How far the nearest points are from the end of an edge, the own (-1, 1) or the other one (-2, 2), and a rim beyond.
double end_margin(const EdgeOnEdge& edges, const Solid& other, int side, const Sweep& sweep);

// Bound of what the second derivative of a gap has besides the accelerations of the bodies, from a sine on.
double edge_bend(const SharpRules& rules, double sine, double speed, double spin, double duration);

}  // namespace native
