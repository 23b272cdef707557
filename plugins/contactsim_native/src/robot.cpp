#include "robot.hpp"

#include <algorithm>

namespace native {

namespace {

Inertia moved(const Joint& joint, const Mat3& turn, const Vec3& place) {
    const Vec3 centre = place + turn * joint.centre;
    const Mat3 own = turn * joint.inertia * turn.transposed();
    const double m = joint.mass;
    const Vec3& d = centre;
    return {m,
            d * m,
            {own.c0.x + m * (d.y * d.y + d.z * d.z), own.c1.y + m * (d.x * d.x + d.z * d.z),
             own.c2.z + m * (d.x * d.x + d.y * d.y), own.c1.x - m * d.x * d.y, own.c2.x - m * d.x * d.z,
             own.c2.y - m * d.y * d.z}};
}

// Place of a joint's frame by its coordinates, in the frame in which it moves.
void moved_by(const Joint& joint, const double* q, Mat3& turn, Vec3& place) {
    switch (joint.kind) {
        case JointKind::revolute:
            turn = turn * rotation(joint.axis, std::cos(q[0]), std::sin(q[0]));
            break;
        case JointKind::unbounded:
            turn = turn * rotation(joint.axis, q[0], q[1]);
            break;
        case JointKind::prismatic:
            place += turn * (joint.axis * q[0]);
            break;
        case JointKind::free_flyer:
            place += turn * Vec3{q[0], q[1], q[2]};
            turn = turn * Quaternion{q[3], q[4], q[5], q[6]}.matrix();
            break;
        case JointKind::spherical:
            turn = turn * Quaternion{q[0], q[1], q[2], q[3]}.matrix();
            break;
        case JointKind::planar:
            place += turn * Vec3{q[0], q[1], 0.0};
            turn = turn * rotation({0.0, 0.0, 1.0}, q[2], q[3]);
            break;
        case JointKind::translation:
            place += turn * Vec3{q[0], q[1], q[2]};
            break;
    }
}

// The motions that a joint's velocities cause: they are constant in its own frame.
void columns(const Joint& joint, const Mat3& turn, const Vec3& place, Spatial* out) {
    const auto slide = [&](const Vec3& axis) { return Spatial{axis, {}}; };
    const auto spin = [&](const Vec3& axis) { return Spatial{cross(place, axis), axis}; };
    switch (joint.kind) {
        case JointKind::revolute:
        case JointKind::unbounded:
            out[0] = spin(turn * joint.axis);
            break;
        case JointKind::prismatic:
            out[0] = slide(turn * joint.axis);
            break;
        case JointKind::free_flyer:
            out[0] = slide(turn.c0), out[1] = slide(turn.c1), out[2] = slide(turn.c2);
            out[3] = spin(turn.c0), out[4] = spin(turn.c1), out[5] = spin(turn.c2);
            break;
        case JointKind::spherical:
            out[0] = spin(turn.c0), out[1] = spin(turn.c1), out[2] = spin(turn.c2);
            break;
        case JointKind::planar:
            out[0] = slide(turn.c0), out[1] = slide(turn.c1), out[2] = spin(turn.c2);
            break;
        case JointKind::translation:
            out[0] = slide(turn.c0), out[1] = slide(turn.c1), out[2] = slide(turn.c2);
            break;
    }
}

// a -= share * b, of a few numbers that have nothing in common.
void subtract(double* __restrict a, double share, const double* __restrict b, int count) {
    for (int k = 0; k < count; ++k) a[k] -= share * b[k];
}

}  // namespace

void Robot::link() {
    ancestor.assign(nv, -1), branches = {};
    std::vector<int> last(joints.size(), -1);
    for (std::size_t i = 0; i < joints.size(); ++i) {
        const Joint& joint = joints[i];
        int inwards = joint.parent < 0 ? -1 : last[joint.parent];
        for (int k = 0; k < joint.size; ++k) {
            ancestor[joint.v + k] = inwards;
            branches.add(inwards);
            inwards = joint.v + k;
        }
        last[i] = inwards;
    }
}

void Sweep::prepare(const Robot& robot) {
    const std::size_t n = robot.joints.size(), nv = robot.nv;
    turn.resize(n), place.resize(n), velocity.resize(n), drift.resize(n), force.resize(n);
    inertia.resize(n), carried.resize(n);
    column.resize(nv), free.resize(nv), mass.resize(robot.branches.column.size());
}

void Sweep::locate(const Robot& robot, int i, const double* q) {
    const Joint& joint = robot.joints[i];
    const bool root = joint.parent < 0;
    turn[i] = root ? joint.turn : turn[joint.parent] * joint.turn;
    place[i] = root ? joint.place : place[joint.parent] + turn[joint.parent] * joint.place;
    moved_by(joint, q + joint.q, turn[i], place[i]);
    if (root) {  // the first place is the origin: far from home no digits are lost
        if (i == 0) origin = place[0];
        place[i] = place[i] - origin;
    }
}

Spatial Sweep::move(const Robot& robot, int i, const double* v) {
    const Joint& joint = robot.joints[i];
    columns(joint, turn[i], place[i], &column[joint.v]);
    Spatial own{};
    for (int k = joint.v; k < joint.v + joint.size; ++k) own += column[k] * v[k];
    velocity[i] = joint.parent < 0 ? own : velocity[joint.parent] + own;
    return own;
}

void Sweep::places(const Robot& robot, const double* q) {
    ++looks, has_mass_ = false;
    for (int i = 0; i < static_cast<int>(robot.joints.size()); ++i) locate(robot, i, q);
}

void Sweep::motions(const Robot& robot, const double* q, const double* v) {
    ++looks, has_mass_ = false;
    for (int i = 0; i < static_cast<int>(robot.joints.size()); ++i) {
        locate(robot, i, q);
        move(robot, i, v);
    }
}

void Sweep::motions_of(const Robot& robot, int j, const double* q, const double* v) {
    ++looks, has_mass_ = false;
    thread_local std::vector<int> inwards;
    inwards.clear();
    for (int i = j; i >= 0; i = robot.joints[i].parent) inwards.push_back(i);
    if (j >= 0 && inwards.back() != 0) locate(robot, 0, q);  // which tells the origin
    for (auto i = inwards.rbegin(); i != inwards.rend(); ++i) {
        locate(robot, *i, q);
        move(robot, *i, v);
    }
}

void Sweep::at(const Robot& robot, const double* q, const double* v) {
    const int n = static_cast<int>(robot.joints.size());
    const bool there = stays && has_mass_ && std::equal(q_.begin(), q_.end(), q);
    ++looks;
    if (!there) has_mass_ = false;
    for (int i = 0; i < n; ++i) {
        const Joint& joint = robot.joints[i];
        if (!there) locate(robot, i, q);
        const Spatial own = move(robot, i, v);
        drift[i] =
            (joint.parent < 0 ? Spatial{-robot.gravity, {}} : drift[joint.parent]) + cross_motion(velocity[i], own);
        if (!there) inertia[i] = moved(joint, turn[i], place[i]);
        force[i] = inertia[i] * drift[i] + cross_force(velocity[i], inertia[i] * velocity[i]);
    }
    if (!there) assemble(robot);
    for (int i = n - 1; i >= 0; --i) {
        const Joint& joint = robot.joints[i];
        for (int k = joint.v; k < joint.v + joint.size; ++k) {
            free[k] = -dot(column[k], force[i]) - robot.damping[k] * v[k];
        }
        if (joint.parent >= 0) force[joint.parent] += force[i];
    }
    for (const Spring& spring : robot.springs) free[spring.v] -= spring.stiffness * (q[spring.q] - spring.rest);
    if (stays && !there) q_.assign(q, q + robot.nq);
}

void Sweep::assemble(const Robot& robot) {
    std::copy(inertia.begin(), inertia.end(), carried.begin());
    for (int i = static_cast<int>(robot.joints.size()) - 1; i >= 0; --i) {
        const Joint& joint = robot.joints[i];
        for (int k = joint.v; k < joint.v + joint.size; ++k) {
            const Spatial needed = carried[i] * column[k];
            double* row = &mass[robot.branches.first[k]];
            const int *at = robot.branches.of(k), own = robot.branches.inwards(k);
            for (int j = 0; j <= own; ++j) row[j] = dot(column[at[j]], needed);
            row[own] += robot.armature[k];
        }
        if (joint.parent >= 0) carried[joint.parent] += carried[i];
    }
}

// Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, tables 6.3 and 6.5.
void Sweep::factorise(const Robot& robot) {
    const Branches& branches = robot.branches;
    if (has_mass_) return;
    has_mass_ = stays;
    for (int k = robot.nv - 1; k >= 0; --k) {
        double* row = &mass[branches.first[k]];
        const int *at = branches.of(k), own = branches.inwards(k);
        for (int i = own - 1; i >= 0; --i) {
            const double share = row[i] / row[own];
            subtract(&mass[branches.first[at[i]]], share, row, i + 1);  // the branch to there is the same
            row[i] = share;
        }
    }
}

void Sweep::solve(const Robot& robot, double* b) const {
    const Branches& branches = robot.branches;
    for (int k = robot.nv - 1; k >= 0; --k) {
        if (b[k] == 0.0) continue;  // as of most of a loop's rows
        const double* row = &mass[branches.first[k]];
        const int* at = branches.of(k);
        for (int i = branches.inwards(k) - 1; i >= 0; --i) b[at[i]] -= row[i] * b[k];
    }
    solve_outwards(robot, b);
}

void Sweep::solve_inwards(const Robot& robot, double* b, int count, const Tips& tips) const {
    const Branches& branches = robot.branches;
    for (Tips at = tips; at.outermost() >= 0; at.go_inwards(robot)) {
        const int k = at.outermost(), *inwards = branches.of(k);
        const double* row = &mass[branches.first[k]];
        for (int r = 0; r < count; ++r) {
            double* own = b + r * robot.nv;
            for (int i = branches.inwards(k) - 1; i >= 0; --i) own[inwards[i]] -= row[i] * own[k];
        }
    }
}

void Sweep::solve_outwards(const Robot& robot, double* b) const {
    const Branches& branches = robot.branches;
    for (int k = 0; k < robot.nv; ++k) {
        const double* row = &mass[branches.first[k]];
        const int *at = branches.of(k), own = branches.inwards(k);
        double sum = b[k] / row[own];
        for (int i = own - 1; i >= 0; --i) sum -= row[i] * b[at[i]];
        b[k] = sum;
    }
}

void Sweep::weigh(const Robot& robot, double* b) const {
    const Branches& branches = robot.branches;
    for (int k = robot.nv - 1; k >= 0; --k) {  // L^T D L b, of which L b first
        const double* row = &mass[branches.first[k]];
        const int* at = branches.of(k);
        for (int i = branches.inwards(k) - 1; i >= 0; --i) b[k] += row[i] * b[at[i]];
    }
    for (int k = 0; k < robot.nv; ++k) b[k] *= mass[branches.diagonal(k)];
    for (int k = 0; k < robot.nv; ++k) {
        const double* row = &mass[branches.first[k]];
        const int* at = branches.of(k);
        for (int i = branches.inwards(k) - 1; i >= 0; --i) b[at[i]] += row[i] * b[k];
    }
}

}  // namespace native
