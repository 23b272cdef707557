#include "yielding.hpp"

#include <cmath>

namespace native {

namespace {

// Numbers that force and derivative share.
struct Parts {
    double slope;          // k |g|^(p - 1)
    double factor;         // 1 - loss z_n
    double normal;         // lam_n
    double square, speed;  // |z_t|^2, s
    double excess;         // of mu over the kinetic coefficient
    double rubbing;        // mu / s + b: lam_t = -lam_n rubbing z_t
};

Parts parts_of(const Yielding& law, double gap, const double* z, int rows) {
    Parts found{};
    found.slope = law.stiffness * (law.exponent == 1.0 ? 1.0 : std::pow(std::abs(gap), law.exponent - 1.0));
    found.factor = 1.0 - law.loss * z[0];
    found.normal = -found.slope * gap * found.factor - law.damping * z[0];
    for (int d = 1; d < rows; ++d) found.square += z[d] * z[d];
    found.speed = std::sqrt(found.square + law.slip_speed * law.slip_speed);
    if (law.excess > 0.0) {
        found.excess = law.excess * std::exp(-found.square / (law.stribeck_speed * law.stribeck_speed));
    }
    found.rubbing = (law.friction + found.excess) / found.speed + law.viscous;
    return found;
}

}  // namespace

void yielding_force(const Yielding& law, double gap, const double* z, int rows, double* force) {
    const Parts at = parts_of(law, gap, z, rows);
    force[0] = at.normal;
    for (int d = 1; d < rows; ++d) force[d] = -at.normal * at.rubbing * z[d];
}

void yielding_force_by_state(const Yielding& law, double gap, const double* z, int rows, double* matrix) {
    const Parts at = parts_of(law, gap, z, rows);
    const int width = 1 + rows;
    for (int k = 0; k < rows * width; ++k) matrix[k] = 0.0;
    matrix[0] = -law.exponent * at.slope * at.factor;
    matrix[1] = at.slope * gap * law.loss - law.damping;
    // d rubbing = -(mu / s^2 + 2 excess s / v_S^2) / s z_t . dz_t
    double turning = (law.friction + at.excess) / (at.speed * at.speed);
    if (at.excess > 0.0) turning += 2.0 * at.excess / (law.stribeck_speed * law.stribeck_speed);
    for (int d = 1; d < rows; ++d) {
        double* row = matrix + d * width;
        for (int k = 0; k < 2; ++k) row[k] = -at.rubbing * z[d] * matrix[k];
        for (int k = 1; k < rows; ++k) row[1 + k] = at.normal * turning / at.speed * z[d] * z[k];
        row[1 + d] -= at.normal * at.rubbing;
    }
}

double yielding_margin(const Yielding& law, double gap, const double* z, int rows) {
    const Parts at = parts_of(law, gap, z, rows);
    return law.by_factor ? at.factor : at.normal;
}

}  // namespace native
