#include "stages.hpp"

#include <algorithm>
#include <limits>

#include "expansion.hpp"

namespace native {

namespace {

struct Room {
    Scratch scratch;
    std::vector<double> x, force;
};

// The reference of gains at a time.
const double* followed(const JointGains& gains, double t, int size, Known& known) {
    for (int k = 0; k < Known::SLOTS; ++k) {
        if (known.times[k] == t) return known.values[k].data();
    }
    const int slot = known.next;
    known.next = (slot + 1) % Known::SLOTS;
    known.times[slot] = NAN;
    known.values[slot].resize(size);
    gains.moving(t, known.values[slot].data());
    known.times[slot] = t;
    return known.values[slot].data();
}

void rate(const Robot& robot, const ContactMode& mode, const References& references, const Drive& drive,
          const double* base, double t, const double* dx, Room& room, double* out, Known& known, Expansion* expansion) {
    const int nq = robot.nq, nv = robot.nv, n = 2 * nv + drive.memory;
    const bool expanded = expansion && expansion->holds(t);
    room.x.resize(nq + nv + drive.memory), room.force.assign(nv, 0.0);
    double* x = room.x.data();
    integrate_state(robot, nq + nv + drive.memory, base, dx, x);
    bool well = true;
    for (const double value : room.x) well = well && std::isfinite(value);
    if (well && expanded) {
        std::copy(x + nq, x + nq + nv, out);
        well = expansion->accelerate(references, t, x + nq, out + nv);
        chart_rate(robot, dx, out);
    } else if (well) {
        drive.at(robot, t, x, room.force.data(), out + 2 * nv, known);
        std::copy(x + nq, x + nq + nv, out);
        room.scratch.sweep.ground = mode.terrain.at(t);
        well = accelerate(robot, mode, references, x, x + nq, room.force.data(), room.scratch, out + nv, nullptr);
        chart_rate(robot, dx, out);
    }
    if (!well) std::fill(out, out + n, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

void Pieces::at(double t, double* reference) const {
    const double first = knots.front(), last = knots.back();
    if (again >= 0 && t > last) t = knots[again] + std::fmod(t - knots[again], last - knots[again]);
    const double inside = std::clamp(t, first, last);
    const auto after = std::upper_bound(knots.begin() + 1, knots.end() - 1, inside);
    const std::size_t piece = after - knots.begin() - 1;
    const double s = (2.0 * inside - knots[piece] - knots[piece + 1]) / (knots[piece + 1] - knots[piece]);
    const int size = nq + 2 * nv;
    const double* c = coefficients.data() + piece * width * size;
    std::copy_n(c + (width - 1) * size, size, reference);
    for (int j = width - 2; j >= 0; --j) {
        for (int k = 0; k < size; ++k) reference[k] = reference[k] * s + c[j * size + k];
    }
    if (inside != t) std::fill_n(reference + nq, nv, 0.0);
}

void Drive::at(const Robot& robot, double t, const double* x, double* force, double* rate, Known& known) const {
    if (callback) return callback(t, x, force, rate);
    std::fill(rate, rate + memory, 0.0);
    for (std::size_t k = 0; k < held_on.size(); ++k) force[held_on[k]] += x[held_at + k];
    if (!gains) return;
    const double* v = x + robot.nq;
    const int nq = robot.nq, nv = robot.nv;
    const double* reference = gains->reference.data();
    for (int k = 0; k < nv; ++k) force[k] -= gains->kd[k] * v[k];
    if (gains->moving) {
        reference = followed(*gains, t, nq + 2 * nv, known);
        for (int k = 0; k < nv; ++k) {
            force[k] += gains->kd[k] * reference[nq + k] + gains->driven[k] * reference[nq + nv + k];
        }
    }
    for (const int j : gains->joints) {
        const Joint& joint = robot.joints[j];
        force[joint.v] += gains->kp[joint.v] * joint_difference(joint, x, reference);
    }
}

void Drive::by_state(const Robot& robot, Rows force) const {
    const int nv = robot.nv;
    for (std::size_t k = 0; k < held_on.size(); ++k) force[held_on[k]][2 * nv + k] += 1.0;
    if (!gains) return;
    for (int k = 0; k < nv; ++k) force[k][nv + k] -= gains->kd[k];
    for (const int j : gains->joints) {
        const int k = robot.joints[j].v;
        force[k][k] -= gains->kp[k];
    }
}

void point_of_stage(const Method& method, int stage, int n, double h, const double* y, const double* k, double* at) {
    set_sum(at, y, h, method.a + stage * method.width, k, stage, n);
}

void run_stages(const Robot& robot, const ContactMode& mode, const References& references, const Drive& drive,
                const Method& method, const double* base, double t, double h, const double* y, double* k,
                double* points, int first, int last, Known& known, Expansion* expansion) {
    Workplace<Room> workplace(drive);
    Room& room = workplace.room();
    const int n = 2 * robot.nv + drive.memory;
    for (int s = first; s < last; ++s) {
        double* at = points + s * n;
        point_of_stage(method, s, n, h, y, k, at);
        rate(robot, mode, references, drive, base, t + method.c[s] * h, at, room, k + s * n, known, expansion);
    }
}

}  // namespace native
