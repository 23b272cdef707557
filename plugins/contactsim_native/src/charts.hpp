// Configurations reached along tangent vectors, and rates in exponential charts.
#pragma once

#include <array>

#include "robot.hpp"

namespace native {

// q (+) dq; quaternions and (cos, sin) pairs of the result have unit length.
void integrate(const Robot& robot, const double* q, const double* dq, double* out);

// State (q, v, z) of so many numbers reached along chart coordinates from one: q (+) dq, and the sums of the others.
void integrate_state(const Robot& robot, int size, const double* base, const double* dx, double* x);

// dexp^-1 of dq on the body velocities in `rate`, in place.
void chart_rate(const Robot& robot, const double* dq, double* rate);

// Torque kp (q_ref (-) q) of plain joints and of those that turn without end.
double joint_difference(const Joint& joint, const double* from, const double* to);

// The bracket ad(v) (size, size) of a joint whose motions do not commute.
struct Bracket {
    int first, size;
    std::array<double, 36> matrix;
};

std::vector<Bracket> brackets(const Robot& robot, const double* velocity);

}  // namespace native
