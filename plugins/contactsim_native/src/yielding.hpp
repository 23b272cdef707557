// Ground that gives way: what a compliant law makes of one contact's gap and velocity.
#pragma once

namespace native {

// With the depth d = -g and the spring f = k d^p, odd beyond the ground,
//     lam_n = f (1 - loss z_n) - c z_n,    lam_t = -lam_n (mu z_t / s + b z_t),
//     s = sqrt(|z_t|^2 + v_s^2),           mu = friction + excess exp(-|z_t|^2 / v_S^2):
// see contactsim's PlainForce.
struct Yielding {
    double stiffness, exponent;  // k, p
    double damping, loss;        // c, and of a damper that vanishes with the depth
    double friction, slip_speed;
    double excess, stribeck_speed;  // of the static over the kinetic coefficient
    double viscous;                 // b
    bool by_factor;                 // whether the margin of the contact is 1 - loss z_n in place of lam_n
};

// Force (rows,) of a contact of 1 to 3 rows at a gap and contact velocities z (rows,), normal first.
void yielding_force(const Yielding& law, double gap, const double* z, int rows, double* force);

// Its derivative (rows, 1 + rows), row by row, by gap and velocity.
void yielding_force_by_state(const Yielding& law, double gap, const double* z, int rows, double* matrix);

// Positive while the contact pushes.
double yielding_margin(const Yielding& law, double gap, const double* z, int rows);

}  // namespace native
