// One contact mode of a robot on its ground: which rows are held, who slips, and the accelerations that follow.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "edges.hpp"
#include "flats.hpp"
#include "force_cones.hpp"
#include "hills.hpp"
#include "linear.hpp"
#include "loops.hpp"
#include "pair_features.hpp"
#include "robot.hpp"
#include "rounds.hpp"
#include "solids.hpp"
#include "yielding.hpp"

namespace native {

// What of a body with edges and faces touches hills, where its axes are in those of its joint: an edge, a face, a rim,
// or a corner, which as a contact is a sphere, and ends where others take over from it.
struct HillFeature {
    std::shared_ptr<const Flat> flat;
    Mat3 turn;
    Vec3 place;
    bool corner;
};

// A sphere (or point), a rim or an ellipsoid of a robot that touches the ground, or what touches a solid: a sphere, a
// point without radius, an edge, or other features. Or a joint at its limit, whose row is `sign` times a velocity.
struct Contact {
    int joint = -1;  // -1: the world
    Vec3 centre;
    double radius = 0.0;
    int velocity = -1;  // of a limit; of others -1
    double sign = 0.0;
    int coordinate = -1;  // of a limit: its gap is sign (q - bound)
    double bound = 0.0;
    std::shared_ptr<const Solid> other;       // that it touches; none: the ground
    std::optional<Region> region;             // of that, where it is held
    std::optional<Vec3> inner;                // of a point without radius: from there to the centre of its body
    std::shared_ptr<const EdgeOnEdge> edges;  // of an edge
    std::vector<Vec3> beside;                 // directions of edges of the own body that take over from a corner
    bool meets_corners = true;                // of the solid: else edges of that do so in its place
    double extent = 0.0;                      // of what touches, from the centre [m]
    std::shared_ptr<const FeaturePair> features;  // what of its body meets what of the solid, by functions of places
    Mat3 turn;                                    // of these: the axes of its body in those of the joint
    int disc = -1;                                // of these: the disc that stands by such a point, or whose rim it is
    std::shared_ptr<const HillFeature> feature;
    std::shared_ptr<const Rounded> round;  // on a plane, around its centre; none: it is a sphere
    std::optional<double> idle;  // gap of one that never touches, since others are in its place [m]

    bool is_limit() const { return velocity >= 0; }
    bool is_flat() const { return feature && !feature->corner; }  // on hills, and no sphere
    bool is_kinked() const;                                       // whether its open gap jumps, or bends sharply
    bool takes_over() const;                                            // from others of its bodies, and they from it
    bool is_measured() const;                                           // whether its open gap is a distance
};

// smooth: it slips without friction; slip_begins: it has no slip yet, and takes the direction of its acceleration;
// yields: it is inside ground that gives way, whose force acts; released: it is there, but no force does. All closed
// contacts of a mode are of the last two states, or none is.
enum class State { smooth, stick, slip_free, slip_held, slip_begins, yields, released };

struct Closed {
    Contact contact;
    State state;
    double friction = 0.0;
    double resting = 0.0;  // static friction, of redundant modes
    Yielding law{};        // where the ground gives way
};

// What slips remember from one step to the next.
struct References {
    const double* direction;  // (closed, 2): of each slip, held or where the step began, or from where it is looked for
    double straight;          // slip that leaves its direction by less runs along it [m/s]
    double leap = 1e300;      // turn of a slip that begins beyond which it is another one, or none [rad]
};

// amplitude sin(pace t + phase).
struct Oscillation {
    Vec3 amplitude;
    double pace, phase;
};

// What robots touch: a plane, or hills; and each other, with as many tangents as they have on the ground.
struct Terrain {
    std::vector<Vec3> basis;  // normal and the tangents in which the robot can move; of hills where these are level
    Vec3 belt;                // of a plane, as its point
    Vec3 point;
    std::optional<Oscillation> motion;   // none: it stands still
    std::shared_ptr<const Hills> hills;  // none: it is a plane
    PairFrame frame;                     // of contacts between bodies

    Ground at(double t) const;
    double fastest(int order) const;  // bound on that derivative of the place along the normal
};

// The ground under a contact, or the solid that it touches: the normal and the tangents there.
struct Footing {
    std::array<Vec3, 3> axis;
    Vec3 point;    // at which bodies touch
    Surface hill;  // of hills alone
};

// How the directions of slips that begin are looked for: see contactsim's contact/solvers/slip_directions.py.
struct Turning {
    int steps;                        // of Newton's method
    double across, turned, farthest;  // share of a motion, and turns [rad], that are rounding; longest turn [rad]
    double across_singular;           // the same share under redundant forces, which are known less well
    double stalled;                   // turns below it that no longer shrink are rounding, too [rad]
};

// Whether rows that may depend on each other do: a reciprocal condition above which they do not, and shares of the
// matrix of forces that are rounding, and that surely are none. Changes of forces that push by up to `still` of what
// others do move nothing.
struct Ranks {
    double regular, rank, clear, still;
};

// How the forces of a redundant mode are chosen; forces are rounding that are `tolerance` of the largest, which is at
// least `nothing`.
struct Redundancy {
    Ranks ranks;
    ForceRules forces;
    double tolerance, nothing;
};

struct ContactMode {
    Terrain terrain;
    Turning turning;
    std::optional<Redundancy> redundant;  // of a mode whose forces may be many
    std::vector<Closed> closed;
    int rows = 0;            // of all closed contacts
    std::vector<int> first;  // row of each of them

    void count();  // fills `rows` and `first`
};

bool gives_way(const ContactMode& mode);  // whether forces follow from the state alone: nothing is held
int rows_of(const ContactMode& mode, const Closed& closed);
int stuck_rows(const ContactMode& mode, const Closed& closed);  // those that are held
bool slides(const Closed& closed);                              // under friction

// Unit slip direction of a contact at its velocities (3,); past a zero of the slip the reference goes on.
std::array<double, 2> slip_direction(State state, const double* reference, double straight, const double* rates);

struct Forces {
    std::vector<double> rates, forces;  // (rows,)
    double margin = NAN;                // of a redundant mode: see `tell_redundant`
    std::vector<int> loose;             // closed contacts of that whose forces are not unique
};

// Closed contacts of a redundant mode that push each other: their rows among those that are held, and what solves them.
struct Island {
    std::vector<int> rows;
    bool stale = true;    // whether it is to be solved anew
    bool unique = false;
    bool chosen = false;  // whether others act than the smallest forces, which leave their cones, and so move otherwise
    Factors factors;      // where forces are unique
    Smallest smallest;    // where they are not
};

// Held rows that a velocity moves, and numbers of theirs there.
struct Mover {
    std::vector<int> rows;
    std::vector<double> values;
};

// Held rows that move no others, and the determinant of their part of C M^-1 D^T.
struct Part {
    std::vector<int> rows;
    bool stale = true;  // whether it is to be solved anew
    double determinant = 1.0;
};

// What solving needs, kept to be used again.
struct Scratch {
    Sweep sweep;
    Hold hold;                 // of a robot with loops
    std::vector<double> open;  // rows of its contacts as if the loops were open
    std::vector<double> row, bias, rates, held, directions, solved, matrix, unknown, held_bias;
    std::vector<Tips> tips;  // of each row that is held: the outermost velocities that move it
    std::vector<double> inwards, weighed, across,
        product;  // L^-T of directions, D^-1 L^-T of rows that are held; (nv, size)
    std::vector<std::array<double, 2>> slip;
    std::vector<Footing> footing;  // of each closed contact
    int size = 0;                  // rows that are held
    std::vector<double> unforced;  // acceleration without contact forces
    double determinant = 1.0;      // of C M^-1 D^T
    std::vector<Part> parts;       // of modes that are not redundant
    std::vector<Mover> movers;     // of each velocity
    std::vector<double> needed;    // of the forces along the held rows: what they have to stop
    std::vector<Island> islands;   // of redundant modes
};

// Jacobian rows, contact velocities and the accelerations that velocities alone cause, of one closed contact; the rows
// are zero before. False where hills have no point nearest to it.
bool contact_rows(const Robot& robot, const ContactMode& mode, std::size_t contact, const double* v, Scratch& s);

// The ground under a contact, where the joints' places are known; false where hills have no point nearest to it.
bool stand(const Terrain& terrain, const Contact& contact, const Sweep& sweep, Footing& found);

// Rows and velocities of all closed contacts at (q, v), and the factorised mass matrix; false where a contact has none.
bool lay_rows(const Robot& robot, const ContactMode& mode, const double* q, const double* v, Scratch& s);

// Acceleration (nv,) under the applied forces; false where the rows depend on each other, or a contact has none; in a
// redundant mode where it is not clear whether they do, or which forces act. M a = f + D^T lam with C a + bias = 0: C
// the rows that are held, D = C but n - mu t s where contacts slip. On ground that gives way M a = f + J^T lam, with
// forces lam of the state.
bool accelerate(const Robot& robot, const ContactMode& mode, const References& references, const double* q,
                const double* v, const double* applied, Scratch& scratch, double* acceleration, Forces* told);

// Mobilities M^-1 D^T of the directions into `solved`, row by row, right after `accelerate`.
void solve_directions(const Robot& robot, Scratch& scratch);

// What is left of the determinant of the closed contacts by friction, right after `accelerate` at the same state:
// det(C M^-1 D^T) / det(C M^-1 C^T).
double regularity_there(const Robot& robot, const ContactMode& mode, Scratch& scratch);

// Accelerations (rows,) along the rows of the closed contacts, right after `accelerate`.
void along_rows(const Robot& robot, const ContactMode& mode, const Scratch& scratch, const double* acceleration,
                double* change);

// Distance of a contact from the ground, or of a joint from its limit, where the joints' places are known; high above
// hills any measure of the same sign. NaN: there is no ground.
double gap_of(const ContactMode& mode, const Contact& contact, const Sweep& sweep, const double* q);

// The outermost velocity that moves a joint's body; -1: it is the world. Those that move a contact.
int outermost(const Robot& robot, int joint);
Tips outermost(const Robot& robot, const Contact& contact);

// The velocities at which the rows of a contact have numbers: those that move it, or all that loops may tie to these.
Tips tips_of(const Robot& robot, const Contact& contact);

// All velocities inwards of these, in rising order: those at which rows of a contact have numbers.
std::vector<int> moving(const Robot& robot, Tips tips);

// A sphere or point where it meets its solid, where joints' places are known.
Meeting met(const Contact& contact, const Sweep& sweep);

// The region of what touches a solid, where it is.
Region region_there(const Contact& contact, const Sweep& sweep);

// The sense of the normal of edges: that which is held, or suits both bodies best.
double sense_of(const Contact& contact, const Sweep& sweep);

// Where a contact of two bodies touches, and along which normal, where joints' places are known.
Spot spot_of(const Contact& contact, const Sweep& sweep);

// Distance of the centre of a contact from the origin of the solid that it touches, where joints' places are known.
double distance_between(const Contact& contact, const Sweep& sweep);

// Where both bodies of features that meet are, from the origin of the sweep, and how they move, where the joints'
// velocities are known.
PairPlaces places_of(const Contact& contact, const Sweep& sweep);
MotionsOf<double> motions_of(const Contact& contact, const Sweep& sweep);

// Whether closed points hold the disc that an open feature belongs to: none of its points is raised, its rim is off.
bool is_on_standing_disc(const ContactMode& mode, const Contact& contact);

// The region in which features are held, or are.
Region held_region(const Contact& contact, const PairPlaces& places);

// Where the axes of a feature on hills are in the world, and the velocity of these at the world's origin.
Pose pose_of(const Contact& contact, const Sweep& sweep);

// Where a feature that touches hills does so, from the origin of the sweep, and how that moves, where the joints'
// velocities are known (if they are not, what moves says nothing); none where it has no nearest point. While it is open
// that is its own one within its borders, and no other that touches.
std::optional<MovingSpot> spot_on_hills(const Contact& contact, const Sweep& sweep, bool moving,
                                        const std::optional<Lowest>& own = {});

// How far a contact is from leaving the region of its solid on a side, or what belongs to a disc from the tilt at which
// it ends, where joints' places are known.
double region_margin(const Terrain& ground, const Contact& contact, int side, const Sweep& sweep);

// Contact velocities (rows,) of the closed contacts, where the joints' velocities are known; false where hills have no
// point nearest to one.
bool contact_velocities(const ContactMode& mode, const Sweep& sweep, const double* v, double* rates);

// The same of one contact, for which those of the joints that it hangs on are enough.
bool velocities_of(const ContactMode& mode, const Contact& contact, const Sweep& sweep, const double* v, double* rates);

// A gap and its rate; a lower bound of it without a rate, high above hills. Of two looks that are smooth the piece is
// the same where the gap is smooth between them, too; apart: it cannot fire as it is, however low it is.
struct Nearing {
    double gap, rate;
    bool smooth;
    int piece = 0;
    bool apart = false;
};

// That of a contact, where the joints' velocities are known; the gap is NaN where there is no ground.
Nearing nearing(const ContactMode& mode, const Contact& contact, const Sweep& sweep, const double* q, const double* v);

// Second derivative of a gap, right after `accelerate`; NaN where hills have no point nearest to the contact.
double gap_change(const Robot& robot, const ContactMode& mode, const Contact& contact, const Sweep& sweep,
                  const double* acceleration);

enum class Projection { none, moved, unknown };  // unknown: the rows depend on each other

// Puts (q, v) back onto its loops, and onto the gaps and velocities of the closed contacts, where they are off by more
// than `drift`: the smallest change in the metric of M. Hairer and Wanner, Solving Ordinary Differential Equations II,
// VII.2.
Projection project(const Robot& robot, const ContactMode& mode, const References& references, double drift,
                   Scratch& scratch, double* q, double* v);

}  // namespace native
