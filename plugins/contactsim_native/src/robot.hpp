// A tree of joints and bodies: places, mass matrix and forces of one state by one sweep outwards and one inwards.
#pragma once

#include <algorithm>
#include <vector>

#include "dense.hpp"
#include "spatial.hpp"

namespace native {

enum class JointKind { revolute, unbounded, prismatic, free_flyer, spherical, planar, translation };

struct Joint {
    JointKind kind;
    int parent;  // -1: the world
    int q, v;    // where its coordinates and its velocities begin
    int size;    // numbers of its velocity
    Mat3 turn;   // of its frame in that of its parent
    Vec3 place;
    Vec3 axis;
    double mass;   // of the body it moves
    Vec3 centre;   // its centre of mass, in the joint's frame
    Mat3 inertia;  // about that, in its axes
};

// A spring of a plain coordinate: -stiffness (q - rest).
struct Spring {
    int q, v;
    double stiffness, rest;
};

// Two points that a loop holds together, each of a body by its joint; -1: of the world.
struct Pin {
    struct End {
        int joint;
        Vec3 point;
    };
    End first, second;
};

// Joints that a loop holds in proportion: the sum of factor * q is a value.
struct Coupling {
    struct Part {
        int q, v;
        double factor;
    };
    std::vector<Part> parts;
    double value;
};

// What closes the loops of a tree of joints.
struct Loops {
    std::vector<Pin> pins;
    std::vector<Coupling> couplings;
    int rank = -1;            // of their rows; -1: as many as count at a state
    double negligible = 0.0;  // share of the largest eigenvalue of C M^-1 C^T up to which one does not count

    int size() const { return 3 * static_cast<int>(pins.size()) + static_cast<int>(couplings.size()); }
};

struct Robot {
    int nq = 0, nv = 0;
    std::vector<Joint> joints;
    Vec3 gravity;
    std::vector<double> armature, damping;
    std::vector<Spring> springs;
    std::vector<int> ancestor;  // velocity that moves the base of each one: the next one inwards, or -1
    Branches branches;          // the numbers of its mass matrix
    Loops loops;

    void link();  // fills these two, once all joints are there
};

// Velocities that move something, outermost first: two of them with all that are inwards of these; or all up to one.
struct Tips {
    int one, two = -1;  // -1: none
    bool all = false;

    int outermost() const { return std::max(one, two); }
    void go_inwards(const Robot& robot) {
        const int k = outermost(), next = all ? k - 1 : robot.ancestor[k];
        if (one == k) one = next;
        if (two == k) two = next;
    }
    bool operator==(const Tips& b) const { return one == b.one && two == b.two && all == b.all; }
};

// The ground that a robot touches, at the time of a sweep: how it moves as a whole.
struct Ground {
    Vec3 place, velocity, acceleration;
};

// What one sweep finds; kept to be used again.
struct Sweep {
    Ground ground;                                // told by who knows the time
    long looks = 0;                               // at states, so far
    bool stays = false;                           // told: looks are at one robot, many at one place, where M is kept
    Vec3 origin;                                  // about which spatial vectors are taken
    std::vector<Mat3> turn;                       // of each joint's frame, in world axes
    std::vector<Vec3> place;                      // from the origin [m]
    std::vector<Spatial> velocity, drift, force;  // drift: acceleration that velocities and -gravity cause
    std::vector<Inertia> inertia;                 // of each body
    std::vector<Inertia> carried;                 // of it and of all that it carries
    std::vector<Spatial> column;                  // motion that each velocity causes
    std::vector<double> mass;                     // numbers along the robot's branches; factorised in place
    std::vector<double> free;                     // forces (nv,) but for what is applied

    void prepare(const Robot& robot);
    void at(const Robot& robot, const double* q, const double* v);
    void places(const Robot& robot, const double* q);                    // of the joints alone
    void motions(const Robot& robot, const double* q, const double* v);  // and their velocities
    // The same of the joints from the root to joint j alone; none where there is no such joint.
    void motions_of(const Robot& robot, int j, const double* q, const double* v);
    void factorise(const Robot& robot);               // mass = L^T D L along the tree
    void solve(const Robot& robot, double* b) const;  // mass^-1 b in place
    // L^-T b of `count` rows (nv,) at once that have entries at the velocities `tips` and inwards of them alone.
    void solve_inwards(const Robot& robot, double* b, int count, const Tips& tips) const;
    void solve_outwards(const Robot& robot, double* b) const;  // L^-1 D^-1 b
    void weigh(const Robot& robot, double* b) const;           // M b in place

  private:
    void locate(const Robot& robot, int i, const double* q);   // turn and place of a joint, behind its parent
    Spatial move(const Robot& robot, int i, const double* v);  // its columns and velocity; what its own joint adds
    void assemble(const Robot& robot);                         // the mass matrix
    std::vector<double> q_;                                    // where that was found last, if it stays
    bool has_mass_ = false;                                    // and whether it is there, factorised
};

}  // namespace native
