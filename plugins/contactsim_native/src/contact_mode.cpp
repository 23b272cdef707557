#include "contact_mode.hpp"

#include <algorithm>

namespace native {

int rows_of(const ContactMode& mode, const Closed& closed) {
    return closed.contact.joint < 0 ? 1 : static_cast<int>(mode.plane.basis.size());
}

bool slides(const Closed& closed) { return closed.state == State::slip_free || closed.state == State::slip_held; }

int stuck_rows(const ContactMode& mode, const Closed& closed) {
    return closed.state == State::stick ? rows_of(mode, closed) : 1;
}

namespace {

// Jacobian rows, contact velocities and the accelerations that velocities alone cause, of one contact.
void contact_rows(const Robot& robot, const ContactMode& mode, const Closed& closed, const double* v, Scratch& s,
                  int first) {
    const int nv = robot.nv;
    const Contact& contact = closed.contact;
    if (contact.joint < 0) {
        s.row[first * nv + contact.velocity] = contact.sign;
        s.rates[first] = contact.sign * v[contact.velocity];
        s.bias[first] = 0.0;
        return;
    }
    const Sweep& sweep = s.sweep;
    const int j = contact.joint;
    const Vec3 centre = sweep.place[j] + sweep.turn[j] * contact.centre;
    const Vec3 below = mode.plane.basis[0] * -contact.radius;
    const Vec3 touching = centre + below;
    const Joint& joint = robot.joints[j];
    const int count = static_cast<int>(mode.plane.basis.size());
    for (int k = joint.v + joint.size - 1; k >= 0; k = robot.ancestor[k]) {
        const Vec3 moved = sweep.column[k].linear + cross(sweep.column[k].angular, touching);
        for (int d = 0; d < count; ++d) s.row[(first + d) * nv + k] = dot(mode.plane.basis[d], moved);
    }
    // The material point below the centre: -r n does not turn with the sphere.
    const Spatial &motion = sweep.velocity[j], &drift = sweep.drift[j];
    const Vec3 speed = motion.linear + cross(motion.angular, centre);
    const Vec3 change = drift.linear + robot.gravity + cross(drift.angular, touching) + cross(motion.angular, speed);
    const Vec3 slip = speed + cross(motion.angular, below) - mode.plane.belt;
    for (int d = 0; d < count; ++d) {
        s.rates[first + d] = dot(mode.plane.basis[d], slip);
        s.bias[first + d] = dot(mode.plane.basis[d], change);
    }
}

// Unit slip direction; past a zero of the slip velocity the reference goes on.
std::array<double, 2> slip_direction(State state, const double* reference, double straight, const double* rates) {
    if (state == State::slip_held) return {reference[0], reference[1]};
    const double x = rates[1], y = rates[2];
    const double along = x * reference[0] + y * reference[1], aside = x * reference[1] - y * reference[0];
    if (along <= 0.0 || std::abs(aside) < straight) return {reference[0], reference[1]};
    const double speed = std::hypot(x, y);
    return {x / speed, y / speed};
}

// x with A x = b, by Gauss with partial pivoting, in place; false where A is singular. The determinant of A is told.
bool solve_dense(std::vector<double>& a, std::vector<double>& b, int n, double* determinant = nullptr) {
    if (determinant) *determinant = 1.0;
    for (int k = 0; k < n; ++k) {
        int pivot = k;
        for (int i = k + 1; i < n; ++i) {
            if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
        }
        if (determinant) *determinant *= pivot == k ? a[k * n + k] : -a[pivot * n + k];
        if (a[pivot * n + k] == 0.0) return false;
        if (pivot != k) {
            std::swap_ranges(&a[k * n], &a[k * n] + n, &a[pivot * n]);
            std::swap(b[k], b[pivot]);
        }
        for (int i = k + 1; i < n; ++i) {
            const double share = a[i * n + k] / a[k * n + k];
            if (share == 0.0) continue;
            for (int j = k + 1; j < n; ++j) a[i * n + j] -= share * a[k * n + j];
            b[i] -= share * b[k];
        }
    }
    for (int k = n - 1; k >= 0; --k) {
        for (int j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
    return true;
}

double product(const double* a, const double* b, int n) {
    double sum = 0.0;
    for (int k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

// Rows C that are held and directions D of the forces, at a state that has been swept; their number.
int assemble(const Robot& robot, const ContactMode& mode, const References& references, const double* v, Scratch& s) {
    const int nv = robot.nv, rows = mode.rows;
    s.row.assign(rows * nv, 0.0);
    s.rates.resize(rows), s.bias.resize(rows), s.slip.resize(mode.closed.size());
    s.held.clear(), s.held_bias.clear(), s.directions.clear();
    int first = 0, size = 0;
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        const Closed& closed = mode.closed[i];
        const int count = rows_of(mode, closed), stuck = stuck_rows(mode, closed);
        contact_rows(robot, mode, closed, v, s, first);
        const double* normal = &s.row[first * nv];
        s.held.insert(s.held.end(), normal, normal + stuck * nv);
        s.held_bias.insert(s.held_bias.end(), &s.bias[first], &s.bias[first] + stuck);
        s.directions.insert(s.directions.end(), normal, normal + stuck * nv);
        if (slides(closed)) {
            s.slip[i] = slip_direction(closed.state, references.direction + 2 * i, references.straight, &s.rates[first]);
            double* direction = &s.directions[size * nv];
            for (int d = 1; d < count; ++d) {
                const double share = closed.friction * s.slip[i][d - 1];
                for (int k = 0; k < nv; ++k) direction[k] -= share * normal[d * nv + k];
            }
        }
        first += count, size += stuck;
    }
    return size;
}

// held M^-1 directions^T (size, size), row by row.
void delassus(const Robot& robot, Scratch& s, const std::vector<double>& directions, int size) {
    const int nv = robot.nv;
    s.solved = directions;
    s.matrix.resize(size * size);
    for (int j = 0; j < size; ++j) s.sweep.solve(robot, &s.solved[j * nv]);
    for (int i = 0; i < size; ++i) {
        for (int j = 0; j < size; ++j) s.matrix[i * size + j] = product(&s.held[i * nv], &s.solved[j * nv], nv);
    }
}

void swept(const Robot& robot, const double* q, const double* v, Sweep& sweep) {
    sweep.prepare(robot);
    sweep.at(robot, q, v);
    sweep.factorise(robot);
}

}  // namespace

void ContactMode::count() {
    rows = 0;
    for (const Closed& one : closed) rows += rows_of(*this, one);
}

bool accelerate(const Robot& robot, const ContactMode& mode, const References& references, const double* q,
                const double* v, const double* applied, Scratch& s, double* acceleration, Forces* told) {
    const int nv = robot.nv, rows = mode.rows;
    swept(robot, q, v, s.sweep);
    for (int k = 0; k < nv; ++k) acceleration[k] = s.sweep.free[k] + applied[k];
    s.sweep.solve(robot, acceleration);
    if (told) told->rates.assign(rows, 0.0), told->forces.assign(rows, 0.0);
    if (!rows) return true;

    const int size = assemble(robot, mode, references, v, s);
    delassus(robot, s, s.directions, size);
    s.unknown.resize(size);
    for (int i = 0; i < size; ++i) s.unknown[i] = -product(&s.held[i * nv], acceleration, nv) - s.held_bias[i];
    if (!solve_dense(s.matrix, s.unknown, size)) return false;
    for (int j = 0; j < size; ++j) {
        for (int k = 0; k < nv; ++k) acceleration[k] += s.unknown[j] * s.solved[j * nv + k];
    }
    if (!told) return true;
    told->rates = s.rates;
    for (std::size_t i = 0, at = 0, place = 0; i < mode.closed.size(); ++i) {
        const Closed& closed = mode.closed[i];
        const int count = rows_of(mode, closed), stuck = stuck_rows(mode, closed);
        std::copy(&s.unknown[place], &s.unknown[place] + stuck, &told->forces[at]);
        for (int d = 1; d < count && slides(closed); ++d) {
            told->forces[at + d] = -closed.friction * s.unknown[place] * s.slip[i][d - 1];
        }
        at += count, place += stuck;
    }
    return true;
}

double regularity(const Robot& robot, const ContactMode& mode, const References& references, const double* q,
                  const double* v, Scratch& s) {
    swept(robot, q, v, s.sweep);
    const int size = assemble(robot, mode, references, v, s);
    double rubbing = 1.0, smooth = 1.0;
    s.unknown.assign(size, 0.0);
    delassus(robot, s, s.directions, size);
    solve_dense(s.matrix, s.unknown, size, &rubbing);
    s.unknown.assign(size, 0.0);
    delassus(robot, s, s.held, size);
    solve_dense(s.matrix, s.unknown, size, &smooth);
    return smooth > 0.0 ? rubbing / smooth : 1.0;
}

}  // namespace native
