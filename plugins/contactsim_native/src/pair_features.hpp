// Features of two bodies that meet, by functions of where both are: see contactsim's multibody/geometry/features.py.
//
// What is not written for spheres, points and edges alone (solids.hpp, edges.hpp) is one of these. Where it touches is
// computed in any numbers, so that duals differentiate it.
#pragma once

#include "closest_points.hpp"
#include "polyhedra.hpp"

namespace native {

// Where both solids are, and how they move, from any common origin.
template <class T>
struct PlacesOf {
    PoseOf<T> a, b;
};

template <class T>
struct MotionsOf {
    PlacesOf<T> places;
    SpatialVector<T> V_a, V_b;
};

// Where and along which normal, from B to A, two bodies touch, and rates.
template <class T>
struct MeetOf {
    Vector3<T> x, x_rate, n, n_rate;
};

using PairPlaces = PlacesOf<double>;

// What is open: its gap; whether it touches with these features (of what passes; the gap of others is always theirs),
// whether its gap is raised, where it could touch else, the region in which it is met, and whether its gap is smooth
// there, on which piece (of two looks that are smooth the piece is the same where it is so between them, too).
struct FeatureLook {
    double gap;
    bool touches = true, lifted = false;
    Region region{};
    bool smooth = true;
    int piece = 0;
};

// NaN: there is no such point, and Python tells why.
class FeaturePair {
  public:
    virtual ~FeaturePair() = default;

    virtual Region region(const PairPlaces& at) const = 0;
    virtual FeatureLook look(const PairPlaces& at) const = 0;
    virtual double gap(const PairPlaces& at, const Region& held) const = 0;
    virtual double margin(const PairPlaces& at, const Region& held, int side) const = 0;
    virtual MeetOf<double> meet(const MotionsOf<double>& at, const Region& held) const = 0;
    virtual MeetOf<Dual> meet(const MotionsOf<Dual>& at, const Region& held) const = 0;

    // Bound of what the second derivative of the gap has besides the accelerations of the bodies.
    virtual double bend(const PairPlaces& at, double speed, double spin, double duration) const = 0;

    // Whether the disc of a rim lies on the plane that it meets; and the gap of what belongs to a disc that stands.
    virtual bool lies(const PairPlaces&) const { return false; }
    virtual double standing_gap(const PairPlaces& at) const { return look(at).gap; }

    bool passing = false;     // told of while it is closed only: its open gap jumps where others are nearer
    bool kinked = false;      // its open gap jumps, or bends sharply
    bool takes_over = false;  // from others of its bodies, and they from it
    bool measured = false;    // its open gap is lost no faster than points of its bodies approach each other
    bool corner = false;      // a point without radius
    bool holds_disc = false;  // a point of a rim on which its disc stands
    double radius = 0.0;      // of what is around what touches [m]
    double arm = 0.0;         // of what passes: a size below whose share it is close to touching [m]
    double extent = 0.0, other_extent = 0.0;  // of what touches, from the origins [m]; infinite: endless
};

}  // namespace native
