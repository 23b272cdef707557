#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linear.hpp"
#include "solids.hpp"

namespace native {

namespace {

constexpr int ROTATIONS = 60;    // sweeps of Jacobi's method; some eight do
constexpr double SMALL = 1e-17;  // share of the diagonal below which what is beside it is none

Vec3 place_of(const Pin::End& end, const Sweep& sweep) {
    if (end.joint < 0) return end.point - sweep.origin;
    return sweep.place[end.joint] + sweep.turn[end.joint] * end.point;
}

Vec3 speed_of(const Pin::End& end, const Sweep& sweep) {
    const Spatial motion = velocity_of(end.joint, sweep);
    return motion.linear + cross(motion.angular, place_of(end, sweep));
}

// Acceleration of a point that velocities alone cause, less that of gravity.
Vec3 drift_of(const Pin::End& end, const Robot& robot, const Sweep& sweep) {
    const Spatial drift = drift_of(end.joint, robot, sweep);
    const Vec3 turning = cross(velocity_of(end.joint, sweep).angular, speed_of(end, sweep));
    return drift.linear + cross(drift.angular, place_of(end, sweep)) + turning;
}

void add_rows(const Pin::End& end, double sign, const Robot& robot, const Sweep& sweep, double* rows) {
    if (end.joint < 0) return;
    const Joint& joint = robot.joints[end.joint];
    const Vec3 place = place_of(end, sweep);
    for (int k = joint.v + joint.size - 1; k >= 0; k = robot.ancestor[k]) {
        const Vec3 moved = sweep.column[k].linear + cross(sweep.column[k].angular, place);
        rows[k] += sign * moved.x, rows[robot.nv + k] += sign * moved.y, rows[2 * robot.nv + k] += sign * moved.z;
    }
}

void find_places(const double* row, int n, std::vector<int>& found) {
    found.clear();
    for (int k = 0; k < n; ++k) {
        if (row[k] != 0.0) found.push_back(k);
    }
}

}  // namespace

void openings(const Robot& robot, const Sweep& sweep, const double* q, std::vector<double>& found) {
    found.clear();
    for (const Pin& pin : robot.loops.pins) {
        const Vec3 apart = place_of(pin.first, sweep) - place_of(pin.second, sweep);
        found.insert(found.end(), {apart.x, apart.y, apart.z});
    }
    for (const Coupling& one : robot.loops.couplings) {
        double off = -one.value;
        for (const Coupling::Part& part : one.parts) off += part.factor * q[part.q];
        found.push_back(off);
    }
}

void opening_speeds(const Robot& robot, const Sweep& sweep, const double* v, std::vector<double>& found) {
    found.clear();
    for (const Pin& pin : robot.loops.pins) {
        const Vec3 apart = speed_of(pin.first, sweep) - speed_of(pin.second, sweep);
        found.insert(found.end(), {apart.x, apart.y, apart.z});
    }
    for (const Coupling& one : robot.loops.couplings) {
        double off = 0.0;
        for (const Coupling::Part& part : one.parts) off += part.factor * v[part.v];
        found.push_back(off);
    }
}

bool Hold::at(const Robot& robot, const Sweep& sweep, const double* v) {
    const int nv = robot.nv, m = robot.loops.size();
    lay(robot, sweep);
    opening_speeds(robot, sweep, v, speed);
    solved = rows;
    for (int i = 0; i < m; ++i) sweep.solve(robot, &solved[i * nv]);
    matrix.resize(m * m);
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j <= i; ++j) {
            matrix[i * m + j] = matrix[j * m + i] = along(i, &solved[j * nv], nv);
        }
    }
    if (!std::isfinite(std::accumulate(matrix.begin(), matrix.end(), 0.0))) return false;
    if (robot.loops.rank != m || !lift_regular(nv, m)) lift_ranked(robot.loops, nv);
    lift.resize(m * nv);
    for (int i = 0; i < m; ++i) std::copy_n(answers.rows()[i], nv, &lift[i * nv]);
    return true;
}

void Hold::begin_lift(int nv, int m) {
    answers.shape(m, nv);
    for (int i = 0; i < m; ++i) {
        std::copy_n(&solved[i * nv], nv, answers.rows()[i]);
        std::fill(answers.rows()[i] + nv, answers.rows()[i] + answers.stride, 0.0);
    }
}

void Hold::lay(const Robot& robot, const Sweep& sweep) {
    const int nv = robot.nv, m = robot.loops.size();
    rows.assign(m * nv, 0.0), drift.assign(m, 0.0);
    int first = 0;
    for (const Pin& pin : robot.loops.pins) {
        add_rows(pin.first, 1.0, robot, sweep, &rows[first * nv]);
        add_rows(pin.second, -1.0, robot, sweep, &rows[first * nv]);
        const Vec3 change = drift_of(pin.first, robot, sweep) - drift_of(pin.second, robot, sweep);
        drift[first] = change.x, drift[first + 1] = change.y, drift[first + 2] = change.z;
        first += 3;
    }
    for (const Coupling& one : robot.loops.couplings) {
        for (const Coupling::Part& part : one.parts) rows[first * nv + part.v] += part.factor;
        ++first;
    }
    places.resize(m);
    for (int i = 0; i < m; ++i) find_places(&rows[i * nv], nv, places[i]);
}

double Hold::along(int row, const double* motion, int nv) const {
    return product(&rows[row * nv], motion, places[row]);
}

bool Hold::lift_regular(int nv, int m) {
    none = -1;
    begin_lift(nv, m);
    return solve_regular(answers.rows(), answers.stride, m);
}

bool Hold::solve_regular(Rows b, int columns, int m) {
    system.shape(m, m);
    for (int i = 0; i < m; ++i) std::copy_n(&matrix[i * m], m, system.rows()[i]);
    return solve_dense(system.rows(), b, m, columns);
}

void Hold::lift_ranked(const Loops& loops, int nv) {
    const int m = loops.size();
    std::vector<double> turned(matrix);
    decompose(turned, m, values, vectors);
    const double least = loops.negligible * values.back();
    const auto counts = std::count_if(values.begin(), values.end(), [&](double value) { return value > least; });
    none = m - (loops.rank >= 0 ? loops.rank : static_cast<int>(counts));
    begin_lift(nv, m);
    invert(answers.rows(), answers.stride);
}

void Hold::invert(Rows b, int columns) {
    const int m = static_cast<int>(drift.size());
    if (none < 0) {
        solve_regular(b, columns, m);
        return;
    }
    // The sum of u u^T b / value over the eigenvalues that count.
    std::vector<double> along((m - none) * columns, 0.0);
    for (int e = none; e < m; ++e) {
        for (int i = 0; i < m; ++i) {
            add_scaled(&along[(e - none) * columns], vectors[e * m + i] / values[e], b[i], columns);
        }
    }
    for (int i = 0; i < m; ++i) {
        std::fill_n(b[i], columns, 0.0);
        for (int e = none; e < m; ++e) add_scaled(b[i], vectors[e * m + i], &along[(e - none) * columns], columns);
    }
}

void Hold::undo(const Robot& robot, const double* off, double* motion) const {
    const int nv = robot.nv, m = robot.loops.size();
    for (int i = 0; i < m; ++i) {
        for (int k = 0; k < nv; ++k) motion[k] -= off[i] * lift[i * nv + k];
    }
}

void Hold::keep(const Robot& robot, double* acceleration) const {
    const int nv = robot.nv, m = robot.loops.size();
    std::vector<double> off(m);
    for (int i = 0; i < m; ++i) off[i] = along(i, acceleration, nv) + drift[i];
    undo(robot, off.data(), acceleration);
}

void Hold::reduce(const Robot& robot, double* row, double& rate, double& bias) const {
    const int nv = robot.nv, m = robot.loops.size();
    thread_local std::vector<double> across;
    thread_local std::vector<int> own;
    across.resize(m);
    find_places(row, nv, own);
    for (int i = 0; i < m; ++i) across[i] = product(row, &lift[i * nv], own);
    for (int i = 0; i < m; ++i) {
        for (const int k : places[i]) row[k] -= across[i] * rows[i * nv + k];
        rate -= across[i] * speed[i], bias -= across[i] * drift[i];
    }
}

void decompose(std::vector<double>& a, int n, std::vector<double>& values, std::vector<double>& vectors) {
    vectors.assign(n * n, 0.0);
    for (int i = 0; i < n; ++i) vectors[i * n + i] = 1.0;
    for (int round = 0, turned = n > 1; turned && round < ROTATIONS; ++round) {
        turned = 0;
        for (int p = 0; p < n; ++p) {
            for (int q = p + 1; q < n; ++q) {
                const double beside = a[p * n + q], first = a[p * n + p], second = a[q * n + q];
                if (std::abs(beside) <= SMALL * std::sqrt(std::abs(first * second))) continue;
                turned = 1;
                const double tau = 0.5 * (second - first) / beside;
                const double tangent = std::copysign(1.0, tau) / (std::abs(tau) + std::hypot(1.0, tau));
                const double c = 1.0 / std::hypot(1.0, tangent), s = c * tangent;
                for (int k = 0; k < n; ++k) {
                    const double x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = c * x - s * y, a[k * n + q] = s * x + c * y;
                }
                for (int k = 0; k < n; ++k) {
                    const double x = a[p * n + k], y = a[q * n + k];
                    a[p * n + k] = c * x - s * y, a[q * n + k] = s * x + c * y;
                    const double u = vectors[p * n + k], w = vectors[q * n + k];
                    vectors[p * n + k] = c * u - s * w, vectors[q * n + k] = s * u + c * w;
                }
                a[p * n + q] = a[q * n + p] = 0.0;
            }
        }
    }
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int i, int j) { return a[i * n + i] < a[j * n + j]; });
    const std::vector<double> unsorted(vectors);
    values.resize(n);
    for (int i = 0; i < n; ++i) {
        values[i] = a[order[i] * n + order[i]];
        std::copy_n(&unsorted[order[i] * n], n, &vectors[i * n]);
    }
}

}  // namespace native
