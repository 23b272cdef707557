// One contact mode of a robot on a plane: which rows are held, who slips, and the accelerations that follow.
#pragma once

#include <optional>
#include <vector>

#include "robot.hpp"

namespace native {

// A sphere (or point) of a robot that touches the plane, or a joint at its limit, whose row is `sign` times a velocity.
struct Contact {
    int joint = -1;  // -1: a joint at its limit
    Vec3 centre;
    double radius = 0.0;
    int velocity = -1;
    double sign = 0.0;
};

enum class State { smooth, stick, slip_free, slip_held };  // smooth: it slips without friction

struct Closed {
    Contact contact;
    State state;
    double friction = 0.0;
};

// What slips remember from one step to the next.
struct References {
    const double* direction;  // (closed, 2): of each slip, held or where the step began
    double straight;          // slip that leaves its direction by less runs along it [m/s]
};

struct Plane {
    std::vector<Vec3> basis;  // normal and the tangents in which the robot can move
    Vec3 belt;
};

struct ContactMode {
    Plane plane;
    std::vector<Closed> closed;
    int rows = 0;           // of all closed contacts

    void count();  // fills `rows`
};

int rows_of(const ContactMode& mode, const Closed& closed);
int stuck_rows(const ContactMode& mode, const Closed& closed);  // those that are held
bool slides(const Closed& closed);                              // under friction

struct Forces {
    std::vector<double> rates, forces;  // (rows,)
};

// What solving needs, kept to be used again.
struct Scratch {
    Sweep sweep;
    std::vector<double> row, bias, rates, held, directions, solved, matrix, unknown, held_bias;
    std::vector<std::array<double, 2>> slip;
};

// What is left of the determinant of the closed contacts by friction: det(C M^-1 D^T) / det(C M^-1 C^T).
double regularity(const Robot& robot, const ContactMode& mode, const References& references, const double* q,
                  const double* v, Scratch& scratch);

// Acceleration (nv,) under the applied forces; false where the rows depend on each other.
// M a = f + D^T lam with C a + bias = 0: C the rows that are held, D = C but n - mu t s where contacts slip.
bool accelerate(const Robot& robot, const ContactMode& mode, const References& references, const double* q,
                const double* v, const double* applied, Scratch& scratch, double* acceleration, Forces* told);

}  // namespace native
