// First derivatives of accelerations, contact forces and contact velocities of a mode, by the state.
#pragma once

#include "dense.hpp"
#include "pair_derivatives.hpp"

namespace native {

// How the forces that a joint passes on change with the motion of what it carries: force' = (2 w x p, X w) for a
// change of velocity by (u, w).
struct Coriolis {
    Vec3 momentum;  // p
    Mat3 turning;   // X

    Coriolis& operator+=(const Coriolis& b) {
        momentum += b.momentum;
        turning = turning + b.turning;
        return *this;
    }

    Spatial operator*(const Spatial& change) const {
        return {cross(change.angular, momentum) * 2.0, turning * change.angular};
    }
};

// What a motion by a velocity's column changes: velocities outwards of it by xi x V + velocity, accelerations by
// xi x A + acceleration + velocity x V; a unit of the velocity itself changes accelerations by xi x V + by_velocity.
struct Shift {
    Spatial velocity, acceleration, by_velocity;
};

// What differentiating needs, kept to be used again.
struct DerivativeScratch {
    Scratch scratch;
    Forces forces;
    std::vector<double> acceleration;
    std::vector<Spatial> relative, full, force;  // accelerations by those of the joints alone, and whole; forces passed
    std::vector<Coriolis> coriolis;
    std::vector<Shift> shift;  // of each velocity
    Aligned rates, change, direct, unknown, matrix, solved;
    std::vector<double> pull;        // forces (m,) of the loops of a robot; none: it has no loops
    Matrix loop_rates, loop_change;  // derivatives of C v and, accelerations held, of C a + C' v
    std::vector<int> places;         // of products
    int turned = -1;  // the first of columns by turns of the slips, each of its friction that turns; -1: none are asked
    int held = -1;    // the first of columns by turns [rad] of the slips in space whose direction is held; likewise
};

// Derivatives (rows, stride) by tangent vectors (dq, dv) and whatever else `columns` stand for.
struct ContactDerivatives {
    Aligned forces, rates;
};

// How many slips in space of a mode go along a direction that is held.
int held_slips(const ContactMode& mode);

// Columns of M^-1 B in place, of a factorised mass matrix; columns are a multiple of LANES.
void solve_mass(const Robot& robot, const Sweep& sweep, Rows b, int columns);

// Derivatives (rows, nv) of the velocities of the closed contacts by q, with v held but for what keeps loops closed;
// `laid`: what `lay_rows` told there. False where a contact has none.
bool rates_by_place(const Robot& robot, const ContactMode& mode, const Scratch& laid, const double* q, const double* v,
                    Rows rates, Sweep& sweep);

// Takes from the first columns of `d` (nv, 2 nv) the derivative of M w - J^T impulses by q, where that is zero; of a
// robot without gravity, springs and damping. With loops all of `d` is what they leave of it, of M w - P^T J^T impulses
// where w keeps them closed; `laid`: what `lay_rows` told there. False where a contact has no rows.
bool subtract_momentum(const Robot& weightless, const ContactMode& mode, const Scratch& laid, const double* q,
                       const double* w, const double* impulses, Rows d, DerivativeScratch& scratch);

// Takes from `d` (nv, 2 nv) the derivatives of M a - f - J^T lam by (dq, dv), with the acceleration a and the forces
// lam along all rows held, of a robot without loops; those of J v and J a + J' v are left in the rates and changes of
// the scratch. False where a contact has no rows.
bool differentiate_terms(const Robot& robot, const ContactMode& mode, const double* q, const double* v, const double* a,
                         const double* forces, Rows d, DerivativeScratch& scratch);

// At a state with the applied forces (nv,) and their derivatives `d` (nv, columns): those of the acceleration, in
// their place; the first columns are dq and dv, the last ones, where asked for, by velocities across slips that turn.
// False where rows depend on each other, or a contact has none.
// Source: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018; here in world axes.
bool differentiate(const Robot& robot, const ContactMode& mode, const References& references, const double* q,
                   const double* v, const double* applied, Rows d, int columns, DerivativeScratch& scratch,
                   ContactDerivatives* told);

}  // namespace native
