#include "acceleration_derivatives.hpp"

#include <algorithm>

#include "redundancy.hpp"

namespace native {

namespace {

// X w = I' w + w x L, about the origin: I' the rate of the moments of inertia, L the angular momentum.
Coriolis coriolis(const Inertia& inertia, const Spatial& velocity) {
    const Spatial momentum = inertia * velocity;
    const Vec3 &u = velocity.linear, &w = velocity.angular, &c = inertia.moment;
    const double along = 2.0 * dot(u, c);
    const auto column = [&](const Vec3& e) {
        return cross(w, inertia.turned(e)) - inertia.turned(cross(w, e)) + e * along - c * dot(u, e) - u * dot(c, e) +
               cross(e, momentum.angular);
    };
    return {momentum.linear, {column({1.0, 0.0, 0.0}), column({0.0, 1.0, 0.0}), column({0.0, 0.0, 1.0})}};
}

// The force (3,) of each contact in world axes.
Vec3 force_of(const ContactMode& mode, const Footing& under, const double* along) {
    Vec3 force;
    for (std::size_t d = 0; d < mode.terrain.basis.size(); ++d) force += under.axis[d] * along[d];
    return force;
}

// The direction of a slip that begins is an unknown of its own: it follows the acceleration z' = kappa s, so that the
// part of dz' across s is kappa times the turn, which in turn adds pull = -mu lam_n along that to the friction.
struct Turn {
    int row;                       // its first tangential row
    std::array<double, 2> across;  // a quarter turn on from its direction
    double pull, speed;            // speed: kappa
};

struct Touch {
    const Footing& under;
    Vec3 centre, below, point;  // of the sphere, or the core; from there to where it touches, and that place
    const Rounded* round;       // none: it is a sphere
    Mat3 turn;                  // axes of its joint

    // How the core of what is round on a plane slides over the body, as this turns; and by the turn of the body.
    Vec3 sliding(const Vec3& spin) const { return round ? round->sliding(turn, under.axis[0], spin) : Vec3{}; }
    Vec3 sliding_by(const Vec3& spin, const Vec3& turned) const {
        return round ? round->sliding_by(turn, under.axis[0], spin, turned) : Vec3{};
    }

    // The motion of the centre, or the core, with that of its body.
    Vec3 moved(const Spatial& motion) const {
        return motion.linear + cross(motion.angular, centre) + sliding(motion.angular);
    }
};

Touch touch(const Contact& contact, const Sweep& sweep, const Footing& under) {
    const Mat3& turn = sweep.turn[contact.joint];
    Vec3 centre = sweep.place[contact.joint] + turn * contact.centre;
    if (contact.round) centre += contact.round->arm(turn, under.axis[0]);
    const Vec3 below = under.axis[0] * -contact.radius;
    return {under, centre, below, centre + below, contact.round.get(), turn};
}

// An end of a pin of a loop as a contact without radius, whose axes are those of the world.
struct PinEnd {
    Contact contact;
    double sign;
};

const Footing UPRIGHT{{Vec3{1.0, 0.0, 0.0}, Vec3{0.0, 1.0, 0.0}, Vec3{0.0, 0.0, 1.0}}, {}, {}};

// Those of a pin that move.
std::vector<PinEnd> ends_of(const Pin& pin) {
    std::vector<PinEnd> found;
    const auto add = [&](const Pin::End& end, double sign) {
        if (end.joint < 0) return;
        found.push_back({{}, sign});
        found.back().contact.joint = end.joint, found.back().contact.centre = end.point;
    };
    add(pin.first, 1.0), add(pin.second, -1.0);
    return found;
}

Vec3 pull_of(const DerivativeScratch& s, std::size_t pin) {
    const double* own = &s.pull[3 * pin];
    return {own[0], own[1], own[2]};
}

// The forces with which loops hold a motion: C^T pull = M a - f - J^T lam, the smallest ones.
void find_pull(const Robot& robot, const ContactMode& mode, const double* applied, DerivativeScratch& s) {
    const Scratch& own = s.scratch;
    const int nv = robot.nv, m = robot.loops.size();
    std::vector<double> left(s.acceleration);
    own.sweep.weigh(robot, left.data());
    for (int k = 0; k < nv; ++k) left[k] -= own.sweep.free[k] + applied[k];
    for (int r = 0; r < mode.rows; ++r) add_scaled(left.data(), -s.forces.forces[r], &own.open[r * nv], nv);
    s.pull.assign(m, 0.0);
    for (int i = 0; i < m; ++i) {
        for (int k = 0; k < nv; ++k) s.pull[i] += own.hold.lift[i * nv + k] * left[k];
    }
}

// Adds these to the forces that joints pass on.
void pull_loops(const Robot& robot, DerivativeScratch& s) {
    for (std::size_t i = 0; i < robot.loops.pins.size() && !s.pull.empty(); ++i) {
        for (const PinEnd& end : ends_of(robot.loops.pins[i])) {
            const Vec3 force = pull_of(s, i) * end.sign;
            const Touch at = touch(end.contact, s.scratch.sweep, UPRIGHT);
            s.force[end.contact.joint] += Spatial{force, cross(at.point, force)} * -1.0;
        }
    }
}

// Accelerations, forces passed inwards (those of contacts among them) and Coriolis terms of all that a joint carries.
void gather(const Robot& robot, const ContactMode& mode, DerivativeScratch& s) {
    const Sweep& sweep = s.scratch.sweep;
    const int n = static_cast<int>(robot.joints.size());
    s.relative.resize(n), s.full.resize(n), s.force.resize(n), s.coriolis.resize(n);
    for (int i = 0; i < n; ++i) {
        const Joint& joint = robot.joints[i];
        Spatial own{};
        for (int k = joint.v; k < joint.v + joint.size; ++k) own += sweep.column[k] * s.acceleration[k];
        s.relative[i] = joint.parent < 0 ? own : s.relative[joint.parent] + own;
        s.full[i] = sweep.drift[i] + s.relative[i];
        s.force[i] = sweep.inertia[i] * s.relative[i];
        s.coriolis[i] = coriolis(sweep.inertia[i], sweep.velocity[i]);
    }
    for (std::size_t i = 0, row = 0; i < mode.closed.size(); ++i) {
        const Contact& contact = mode.closed[i].contact;
        if (!contact.is_limit()) {
            const Footing& under = s.scratch.footing[i];
            const Vec3 force = force_of(mode, under, &s.forces.forces[row]);
            const Vec3 point = contact.other ? under.point : touch(contact, sweep, under).point;
            const Spatial wrench{force, cross(point, force)};
            if (contact.joint >= 0) s.force[contact.joint] += wrench * -1.0;
            if (contact.other && contact.other->joint >= 0) s.force[contact.other->joint] += wrench;
        }
        row += rows_of(mode, mode.closed[i]);
    }
    pull_loops(robot, s);
    for (int i = n - 1; i >= 0; --i) {
        const int parent = robot.joints[i].parent;
        if (parent >= 0) {
            s.force[parent] += s.force[i];
            s.coriolis[parent] += s.coriolis[i];
        }
        s.force[i] += sweep.force[i];  // that of the drift is of all it carries already
    }
}

void shifts(const Robot& robot, DerivativeScratch& s) {
    const Sweep& sweep = s.scratch.sweep;
    s.shift.resize(robot.nv);
    for (std::size_t i = 0; i < robot.joints.size(); ++i) {
        const Joint& joint = robot.joints[i];
        const bool root = joint.parent < 0;
        const Spatial velocity = root ? Spatial{} : sweep.velocity[joint.parent];
        const Spatial acceleration = root ? Spatial{-robot.gravity, {}} : s.full[joint.parent];
        for (int k = joint.v; k < joint.v + joint.size; ++k) {
            const Spatial& column = sweep.column[k];
            Shift& shift = s.shift[k];
            shift.velocity = cross_motion(velocity, column);
            shift.acceleration = cross_motion(acceleration, column) + cross_motion(velocity, shift.velocity);
            shift.by_velocity = cross_motion(velocity + sweep.velocity[i], column);
        }
    }
}

// Takes the derivative of the forces that the motion needs, accelerations held, from that of those applied.
void subtract_needed(const Robot& robot, DerivativeScratch& s, Rows d) {
    const Sweep& sweep = s.scratch.sweep;
    const int nv = robot.nv;
    for (std::size_t i = 0; i < robot.joints.size(); ++i) {
        const Joint& joint = robot.joints[i];
        const Inertia& inertia = sweep.carried[i];
        const Coriolis& coriolis = s.coriolis[i];
        const int inwards = robot.ancestor[joint.v];
        for (int k = joint.v; k < joint.v + joint.size; ++k) {
            const Spatial& column = sweep.column[k];
            const Shift& own = s.shift[k];
            // Forces of the joints inwards, as this one moves.
            const Spatial by_q = inertia * own.acceleration + coriolis * own.velocity + cross_force(column, s.force[i]);
            const Spatial by_v = inertia * own.by_velocity + coriolis * column;
            // The force of this joint, as it and those inwards move: the column moves with the body.
            const Spatial carried = inertia * column;
            const Vec3 turned =
                cross(coriolis.momentum, column.linear) * 2.0 + coriolis.turning.transposed() * column.angular;
            const auto by_place = [&](const Shift& shift) {
                return dot(shift.acceleration, carried) + dot(turned, shift.velocity.angular);
            };
            const auto by_velocity = [&](const Shift& shift, const Spatial& other) {
                return dot(shift.by_velocity, carried) + dot(turned, other.angular);
            };
            double* row = d[k];
            for (int j = joint.v; j < joint.v + joint.size; ++j) {
                row[j] -= by_place(s.shift[j]), row[nv + j] -= by_velocity(s.shift[j], sweep.column[j]);
            }
            for (int j = inwards; j >= 0; j = robot.ancestor[j]) {
                // All four before one is written: for all a compiler knows, the others read what is written.
                const Spatial& other = sweep.column[j];
                const double other_by_q = dot(other, by_q), other_by_v = dot(other, by_v);
                const double own_by_q = by_place(s.shift[j]), own_by_v = by_velocity(s.shift[j], other);
                d[j][k] -= other_by_q, d[j][nv + k] -= other_by_v;
                row[j] -= own_by_q, row[nv + j] -= own_by_v;
            }
            row[nv + k] -= robot.damping[k];
        }
    }
    for (const Spring& spring : robot.springs) d[spring.v][spring.v] -= spring.stiffness;
}

// A contact's force does not turn with the body, and acts below its centre: with g_k = f x s_k + (b x f) x w_k, where
// s_k and w_k are what velocity k causes at the centre, this adds -w_j . g_k to the force of k by the motion of j; and
// w_k . (c_j x f), where a core slides over the body by c_j.
void stay_below(const Robot& robot, const Contact& contact, const Touch& at, const Vec3& force, const Sweep& sweep,
                Rows d) {
    const Joint& joint = robot.joints[contact.joint];
    const int last = joint.v + joint.size - 1;
    const Vec3 moment = cross(at.below, force);
    for (int k = last; k >= 0; k = robot.ancestor[k]) {
        const Spatial& column = sweep.column[k];
        const Vec3 moved = column.linear + cross(column.angular, at.centre);
        const Vec3 gain = cross(force, moved) + cross(moment, column.angular);
        for (int j = last; j >= 0; j = robot.ancestor[j]) d[k][j] -= dot(sweep.column[j].angular, gain);
    }
    for (int j = last; at.round && j >= 0; j = robot.ancestor[j]) {
        const Vec3 slid = cross(at.sliding(sweep.column[j].angular), force);
        for (int k = last; k >= 0; k = robot.ancestor[k]) d[k][j] += dot(sweep.column[k].angular, slid);
    }
}

// Velocity of the point of a contact as a motion by a velocity's column changes its place, and the velocity of its body
// by dv.
Vec3 rate_by_place(const Touch& at, const Spatial& column, const Spatial& dv, const Vec3& w) {
    return dv.linear + cross(dv.angular, at.point) + cross(w, at.moved(column));
}

// On hills the frame of a contact turns by dn = H dc as its centre moves by dc, and with it the force, f = n lam_n +
// e^T lam_t, and where it acts: this adds df and the moment of it to the forces of all velocities, by the motion of
// all.
void turn_with_hills(const Robot& robot, const Hills& hills, const Contact& contact, const Touch& at,
                     const double* along, const Vec3& force, int tangents, const Sweep& sweep, Rows d) {
    const Joint& joint = robot.joints[contact.joint];
    const int last = joint.v + joint.size - 1;
    for (int k = last; k >= 0; k = robot.ancestor[k]) {
        const Spatial& column = sweep.column[k];
        const Vec3 turn = at.under.hill.hessian * (column.linear + cross(column.angular, at.centre));
        const std::array<Vec3, 2> turned = hills.turned(at.under.axis[0], turn);
        Vec3 change = turn * along[0];
        for (int r = 0; r < tangents; ++r) change += turned[r] * along[1 + r];
        const Vec3 moment = cross(at.point, change) - cross(turn, force) * contact.radius;
        for (int j = last; j >= 0; j = robot.ancestor[j]) d[j][k] += dot(sweep.column[j], Spatial{change, moment});
    }
}

// Both of a contact, under its forces along its frame.
void stay_with_ground(const Robot& robot, const ContactMode& mode, const Contact& contact, const Touch& at,
                      const double* along, const Sweep& sweep, Rows d) {
    const Vec3 force = force_of(mode, at.under, along);
    stay_below(robot, contact, at, force, sweep, d);
    if (const Hills* hills = mode.terrain.hills.get()) {
        const int tangents = static_cast<int>(mode.terrain.basis.size()) - 1;
        turn_with_hills(robot, *hills, contact, at, along, force, tangents, sweep, d);
    }
}

// The motion of a sphere's centre, its spin, and their accelerations; or what a change of the state adds to them.
struct CentreMotion {
    Vec3 place, speed, spin, change, spin_rate;
};

// The derivatives of a contact's rows on hills: those of
//     z_n = n . u, z_t = e s, s = u - r w x n - V,
//     z_n' = n . u' + n' . u, z_t' = e s' + e' s, s' = u' - r (w' x n + w x n') - V', n' = H u, e' = (De) n',
// with the velocity u of the centre against the ground as a whole.
class HillRows {
  public:
    HillRows(const Hills& hills, const Footing& under, double radius, int tangents, const CentreMotion& motion)
        : hills_(hills), under_(under), normal_(under.axis[0]), radius_(radius), tangents_(tangents), motion_(motion) {
        const Surface& ground = under.hill;
        known_ = hills.bending(ground, motion.speed, bending_);
        normal_rate_ = ground.hessian * motion.speed;
        axis_rate_ = hills.turned(normal_, normal_rate_);
        slip_ = motion.speed - cross(motion.spin, normal_) * radius - ground.velocity;
        slip_rate_ = motion.change - upwards(dot(ground.rise, motion.speed)) -
                     (cross(motion.spin_rate, normal_) + cross(motion.spin, normal_rate_)) * radius;
    }

    bool known() const { return known_; }

    // Changes (1 + tangents,) of z and z' with the motion.
    void along(const CentreMotion& by, std::array<double, 3>& rates, std::array<double, 3>& change) const {
        const Surface& ground = under_.hill;
        const CentreMotion& own = motion_;
        const Vec3 turn = ground.hessian * by.place;
        const Vec3 turn_rate = bending_.turn * by.place + ground.hessian * by.speed;
        const Vec3 slip = by.speed - (cross(by.spin, normal_) + cross(own.spin, turn)) * radius_ -
                          upwards(dot(ground.rise, by.place));
        const Vec3 rolled = cross(by.spin_rate, normal_) + cross(own.spin_rate, turn) + cross(by.spin, normal_rate_) +
                            cross(own.spin, turn_rate);
        const Vec3 slip_rate =
            by.change - rolled * radius_ - upwards(dot(bending_.rise, by.place) + dot(ground.rise, by.speed));
        const std::array<Vec3, 2> axis = hills_.turned(normal_, turn), axis_rate = hills_.turned(normal_, turn_rate);
        const std::array<Vec3, 2> bent = hills_.turned_twice(normal_, normal_rate_, turn);
        rates[0] = dot(turn, own.speed) + dot(normal_, by.speed);
        change[0] =
            dot(turn, own.change) + dot(normal_, by.change) + dot(turn_rate, own.speed) + dot(normal_rate_, by.speed);
        for (int d = 0; d < tangents_; ++d) {
            const Vec3& e = under_.axis[1 + d];
            rates[1 + d] = dot(axis[d], slip_) + dot(e, slip);
            change[1 + d] = dot(axis[d], slip_rate_) + dot(e, slip_rate) + dot(axis_rate[d] + bent[d], slip_) +
                            dot(axis_rate_[d], slip);
        }
    }

  private:
    const Hills& hills_;
    const Footing& under_;
    const Vec3& normal_;
    const double radius_;
    const int tangents_;
    const CentreMotion motion_;
    Bending bending_;
    bool known_;
    Vec3 normal_rate_, slip_, slip_rate_;
    std::array<Vec3, 2> axis_rate_;

    static Vec3 upwards(double z) { return {0.0, 0.0, z}; }
};

// `rows_by_state` on hills; false where there is no ground.
bool rows_by_state_on_hills(const Robot& robot, const Hills& hills, const Contact& contact, const Touch& at,
                            int tangents, const DerivativeScratch& s, Rows rates, Rows change) {
    const Sweep& sweep = s.scratch.sweep;
    const Joint& joint = robot.joints[contact.joint];
    const int nv = robot.nv;
    const Spatial &velocity = sweep.velocity[contact.joint], &acceleration = s.full[contact.joint];
    const Vec3& w = velocity.angular;
    const Vec3 speed = velocity.linear + cross(w, at.centre);
    const Vec3 moving = acceleration.linear + robot.gravity + cross(acceleration.angular, at.centre) + cross(w, speed);
    const CentreMotion motion{
        {}, speed - sweep.ground.velocity, w, moving - sweep.ground.acceleration, acceleration.angular};
    const HillRows rows(hills, at.under, contact.radius, tangents, motion);
    for (int k = joint.v + joint.size - 1; k >= 0; k = robot.ancestor[k]) {
        const Spatial& column = sweep.column[k];
        const Shift& shift = s.shift[k];
        const auto moved_by = [&](const Vec3& moved, const Spatial& dv, const Spatial& da) {
            const Vec3 faster = dv.linear + cross(dv.angular, at.centre) + cross(w, moved);
            const Vec3 change = da.linear + cross(da.angular, at.centre) + cross(acceleration.angular, moved) +
                                cross(dv.angular, speed) + cross(w, faster);
            return CentreMotion{moved, faster, dv.angular, change, da.angular};
        };
        const Spatial turned = cross_motion(column, velocity);
        const Spatial dv = turned + shift.velocity;
        const Spatial da =
            cross_motion(column, acceleration) + shift.acceleration + cross_motion(shift.velocity, velocity);
        std::array<double, 3> rate_by_q, by_q, rate_by_v, by_v;
        rows.along(moved_by(column.linear + cross(column.angular, at.centre), dv, da), rate_by_q, by_q);
        rows.along(moved_by({}, column, turned + shift.by_velocity), rate_by_v, by_v);
        for (int r = 0; r <= tangents; ++r) {
            rates[r][k] = rate_by_q[r];
            change[r][k] = by_q[r], change[r][nv + k] = by_v[r];
        }
    }
    return rows.known();
}

// Derivatives of contact velocities and, accelerations held, of the accelerations along a contact's rows.
void rows_by_state(const Robot& robot, const Contact& contact, const Touch& at, int count, const DerivativeScratch& s,
                   Rows rates, Rows change) {
    const Sweep& sweep = s.scratch.sweep;
    const Joint& joint = robot.joints[contact.joint];
    const int nv = robot.nv;
    const Spatial &velocity = sweep.velocity[contact.joint], &acceleration = s.full[contact.joint];
    const Vec3& w = velocity.angular;
    const Vec3 speed = at.moved(velocity);
    for (int k = joint.v + joint.size - 1; k >= 0; k = robot.ancestor[k]) {
        const Spatial& column = sweep.column[k];
        const Shift& shift = s.shift[k];
        const auto along = [&](const Spatial& dv, const Spatial& da, const Vec3& moved, const Vec3& slid) {
            return da.linear + cross(da.angular, at.point) + cross(acceleration.angular, moved) +
                   cross(dv.angular, speed) + cross(w, at.moved(dv) + cross(w, moved) + slid);
        };
        const Vec3 moved = at.moved(column);
        const Spatial turned = cross_motion(column, velocity);
        const Spatial dv = turned + shift.velocity;
        const Spatial da =
            cross_motion(column, acceleration) + shift.acceleration + cross_motion(shift.velocity, velocity);
        const Vec3 rate_by_q = rate_by_place(at, column, dv, w);
        const Vec3 by_q = along(dv, da, moved, at.sliding_by(w, column.angular));
        const Vec3 by_v = along(column, turned + shift.by_velocity, {}, {});
        for (int r = 0; r < count; ++r) {
            const Vec3& direction = at.under.axis[r];
            rates[r][k] = dot(direction, rate_by_q);
            change[r][k] = dot(direction, by_q), change[r][nv + k] = dot(direction, by_v);
        }
    }
}

// A contact between bodies at a state whose accelerations are known.
PairRows pair_rows(const Robot& robot, const ContactMode& mode, const Contact& contact, const DerivativeScratch& s) {
    const auto of = [&](int j) -> BodyMotion {
        if (j < 0) return {{}, {-robot.gravity, {}}};
        return {s.scratch.sweep.velocity[j], s.full[j]};
    };
    return {mode.terrain.frame, contact, of(contact.joint), of(contact.other->joint), s.scratch.sweep};
}

// Its force neither moves with one of its bodies nor with the other: with W = (f, x x f) this adds dW - s_k x W, for
// the k that move a body, to the forces of all velocities of this, with the sign with which the force acts on it.
void stay_between(const Robot& robot, const Contact& contact, const PairRows& rows, const double* along,
                  const Sweep& sweep, Rows d) {
    const Spatial wrench = rows.wrench(along), none{};
    const Tips tips = outermost(robot, contact);
    for (Tips at = tips; at.outermost() >= 0; at.go_inwards(robot)) {
        const int k = at.outermost();
        const bool own = at.one == k, other = at.two == k;
        const Spatial& column = sweep.column[k];
        const Spatial change = rows.wrench_change(along, own ? column : none, other ? column : none);
        const Spatial carried = cross_force(column, wrench) * -1.0;
        const Spatial on_own = own ? change + carried : change, on_other = other ? change + carried : change;
        for (int j = tips.one; j >= 0; j = robot.ancestor[j]) d[j][k] += dot(sweep.column[j], on_own);
        for (int j = tips.two; j >= 0; j = robot.ancestor[j]) d[j][k] -= dot(sweep.column[j], on_other);
    }
}

// Derivatives of its velocities and, accelerations held, of the accelerations along its rows.
void rows_between_by_state(const Robot& robot, const Contact& contact, const PairRows& rows, int count,
                           const DerivativeScratch& s, Rows rates, Rows change) {
    const Sweep& sweep = s.scratch.sweep;
    const int nv = robot.nv;
    for (Tips at = outermost(robot, contact); at.outermost() >= 0; at.go_inwards(robot)) {
        const int k = at.outermost();
        const Spatial& column = sweep.column[k];
        const Shift& shift = s.shift[k];
        const auto by_q = [&](bool moves, int j) -> BodyChange {
            if (!moves) return {};
            const Spatial& velocity = sweep.velocity[j];
            return {column, cross_motion(column, velocity) + shift.velocity,
                    cross_motion(column, s.full[j]) + shift.acceleration + cross_motion(shift.velocity, velocity)};
        };
        const auto by_v = [&](bool moves, int j) -> BodyChange {
            if (!moves) return {};
            return {{}, column, cross_motion(column, sweep.velocity[j]) + shift.by_velocity};
        };
        const bool own = at.one == k, other = at.two == k;
        const int a = contact.joint, b = contact.other->joint;
        std::array<double, 3> rate, bend, rate_by_v, bend_by_v;
        rows.along(by_q(own, a), by_q(other, b), rate, bend);
        rows.along(by_v(own, a), by_v(other, b), rate_by_v, bend_by_v);
        for (int r = 0; r < count; ++r) {
            rates[r][k] = rate[r], change[r][k] = bend[r], change[r][nv + k] = bend_by_v[r];
        }
    }
}

// Of each velocity that moves a joint's body: its number, its column, and how its place changes the velocity of that
// body.
template <typename Take>
void by_columns(const Robot& robot, int body, const Sweep& sweep, const Take& take) {
    const Spatial velocity = velocity_of(body, sweep);
    for (int j = body; j >= 0; j = robot.joints[j].parent) {
        const Joint& joint = robot.joints[j];
        const Spatial inwards = velocity_of(joint.parent, sweep);
        for (int k = joint.v; k < joint.v + joint.size; ++k) {
            const Spatial& column = sweep.column[k];
            take(k, column, cross_motion(column, velocity) + cross_motion(inwards, column));
        }
    }
}

// Derivatives of its velocities by q alone.
void rates_between_by_place(const Robot& robot, const ContactMode& mode, const Contact& contact, const Sweep& sweep,
                            Rows rates) {
    const int own = contact.joint, other = contact.other->joint;
    const PairRows rows(mode.terrain.frame, contact, {velocity_of(own, sweep), {}}, {velocity_of(other, sweep), {}},
                        sweep);
    const auto add = [&](int body) {
        by_columns(robot, body, sweep, [&](int k, const Spatial& column, const Spatial& dv) {
            const BodyChange moved{column, dv, {}};
            std::array<double, 3> rate, change;
            rows.along(body == own ? moved : BodyChange{}, body == own ? BodyChange{} : moved, rate, change);
            for (int r = 0; r < mode.terrain.frame.rows; ++r) rates[r][k] += rate[r];
        });
    };
    add(own), add(other);
}

// How friction turns with the slip velocity z: -mu lam_n (1 - s s^T) / |z| dz, whatever the normal force does; and by
// a unit across the slip in the column `across`, if that is not negative.
void turn_with_slip(const Closed& closed, const std::array<double, 2>& slip, const double* speeds, double normal,
                    Rows rates, Rows direct, int columns, int across) {
    const double share = -closed.friction * normal / std::hypot(speeds[1], speeds[2]);
    for (int k = 0; k < columns; ++k) {
        const double along = slip[0] * rates[1][k] + slip[1] * rates[2][k];
        direct[1][k] = share * (rates[1][k] - slip[0] * along);
        direct[2][k] = share * (rates[2][k] - slip[1] * along);
    }
    if (across >= 0) direct[1][across] = -share * slip[1], direct[2][across] = share * slip[0];
}

// How forces of ground that gives way change, by those of gap and velocity.
void yield_by_state(const Closed& closed, double gap, const double* speeds, const double* normal, int count, Rows rates,
                    Rows direct, int nv) {
    std::array<double, 12> by_state;  // (count, 1 + count)
    yielding_force_by_state(closed.law, gap, speeds, count, by_state.data());
    for (int r = 0; r < count; ++r) {
        const double* own = &by_state[r * (1 + count)];
        add_scaled(direct[r], own[0], normal, nv);
        for (int k = 0; k < count; ++k) add_scaled(direct[r], own[1 + k], rates[k], 2 * nv);
    }
}

// Derivatives of the rows of loops by q and v.
void differentiate_loops(const Robot& robot, int columns, DerivativeScratch& s) {
    const int nv = robot.nv, m = robot.loops.size();
    Matrix rates, change;
    s.loop_rates.clear(m, columns), s.loop_change.clear(m, columns);
    for (std::size_t i = 0; i < robot.loops.pins.size(); ++i) {
        for (const PinEnd& end : ends_of(robot.loops.pins[i])) {
            rates.clear(3, columns), change.clear(3, columns);
            const Touch at = touch(end.contact, s.scratch.sweep, UPRIGHT);
            rows_by_state(robot, end.contact, at, 3, s, rates.rows(), change.rows());
            for (int r = 0; r < 3; ++r) {
                const int row = 3 * static_cast<int>(i) + r;
                add_scaled(s.loop_rates.rows()[row], end.sign, rates.rows()[r], nv);
                add_scaled(s.loop_change.rows()[row], end.sign, change.rows()[r], 2 * nv);
            }
        }
    }
    for (int i = 0; i < m; ++i) std::copy_n(&s.scratch.hold.rows[i * nv], nv, s.loop_rates.rows()[i] + nv);
}

// Derivatives of a row of a contact along motions that keep the loops closed, from those as if these were open.
void reduce_by_state(const Robot& robot, int row, double* rates, double* change, const DerivativeScratch& s) {
    const int nv = robot.nv;
    for (int i = 0; i < robot.loops.size(); ++i) {
        double across = 0.0;
        for (int k = 0; k < nv; ++k) across += s.scratch.open[row * nv + k] * s.scratch.hold.lift[i * nv + k];
        add_scaled(rates, -across, s.loop_rates.rows()[i], 2 * nv);
        add_scaled(change, -across, s.loop_change.rows()[i], 2 * nv);
    }
}

// Takes from derivatives (rows, nv) of contact velocities by q those of the motion that keeps the loops closed as the
// place changes, J H (C v)_q; `laid`: the loops there, and the rows as if they were open.
void reduce_rates(const Robot& robot, int rows, const Scratch& laid, const Sweep& sweep, Rows rates) {
    const int nv = robot.nv, m = robot.loops.size();
    Matrix by_place;
    by_place.clear(m, nv);
    for (std::size_t i = 0; i < robot.loops.pins.size(); ++i) {
        const Rows own = by_place.rows().from(3 * static_cast<int>(i));
        for (const PinEnd& end : ends_of(robot.loops.pins[i])) {
            const Touch at = touch(end.contact, sweep, UPRIGHT);
            const Vec3& w = sweep.velocity[end.contact.joint].angular;
            by_columns(robot, end.contact.joint, sweep, [&](int k, const Spatial& column, const Spatial& dv) {
                const Vec3 rate = rate_by_place(at, column, dv, w) * end.sign;
                own[0][k] += rate.x, own[1][k] += rate.y, own[2][k] += rate.z;
            });
        }
    }
    for (int r = 0; r < rows; ++r) {
        for (int i = 0; i < m; ++i) {
            const double across = product(&laid.open[r * nv], &laid.hold.lift[i * nv], nv);
            add_scaled(rates[r], -across, by_place.rows()[i], nv);
        }
    }
}

// The impulses of the loops under those of contacts, -H^T J^T impulses, with the loops as they are laid out there.
void pull_back(const Robot& robot, const ContactMode& mode, const Scratch& laid, DerivativeScratch& s) {
    const int nv = robot.nv, m = robot.loops.size();
    std::vector<double> pushed(nv, 0.0);
    for (int r = 0; r < mode.rows; ++r) add_scaled(pushed.data(), s.forces.forces[r], &laid.open[r * nv], nv);
    s.scratch.hold = laid.hold;
    s.pull.resize(m);
    for (int i = 0; i < m; ++i) s.pull[i] = -product(&laid.hold.lift[i * nv], pushed.data(), nv);
}

// What loops leave of the derivative of the forces: P^T d - C^T Q d(C a + C' v), in which their own forces do not turn.
void reduce_forces(const Robot& robot, Rows d, int columns, DerivativeScratch& s) {
    Hold& hold = s.scratch.hold;
    const int nv = robot.nv, m = robot.loops.size();
    for (std::size_t i = 0; i < robot.loops.pins.size(); ++i) {
        for (const PinEnd& end : ends_of(robot.loops.pins[i])) {
            const Touch at = touch(end.contact, s.scratch.sweep, UPRIGHT);
            stay_below(robot, end.contact, at, pull_of(s, i) * end.sign, s.scratch.sweep, d);
        }
    }
    hold.invert(s.loop_change.rows(), s.loop_change.stride);
    for (int i = 0; i < m; ++i) {
        double* taken = s.loop_change.rows()[i];
        for (int k = 0; k < nv; ++k) add_scaled(taken, hold.lift[i * nv + k], d[k], columns);
    }
    for (int i = 0; i < m; ++i) {
        const double *own = &hold.rows[i * nv], *taken = s.loop_change.rows()[i];
        for (int k = 0; k < nv; ++k) {
            if (own[k] != 0.0) add_scaled(d[k], -own[k], taken, columns);
        }
    }
}

bool held_in_space(const ContactMode& mode, const Closed& closed) {
    return closed.state == State::slip_held && rows_of(mode, closed) == 3;
}

// Derivatives of the rows, and what the forces change that do not follow from those of the constraints; of all
// contacts; false where there is no ground.
bool differentiate_contacts(const Robot& robot, const ContactMode& mode, const double* q, Rows d, int columns,
                            DerivativeScratch& s) {
    const Sweep& sweep = s.scratch.sweep;
    const int nv = robot.nv, width = d.stride;
    const auto zeros = [&](Aligned& a) { set_zeros(a, mode.rows * width); };
    zeros(s.rates), zeros(s.change), zeros(s.direct);
    int across = s.turned, held = s.held;
    for (std::size_t i = 0, row = 0; i < mode.closed.size(); ++i) {
        const Closed& closed = mode.closed[i];
        const int count = rows_of(mode, closed);
        const int first = static_cast<int>(row);
        const Rows rates = Rows{s.rates.data(), width}.from(first), direct = Rows{s.direct.data(), width}.from(first);
        const std::vector<double>& open = robot.loops.size() ? s.scratch.open : s.scratch.row;
        for (int r = 0; r < count; ++r) std::copy_n(&open[(first + r) * nv], nv, rates[r] + nv);
        if (closed.contact.other) {
            const PairRows own = pair_rows(robot, mode, closed.contact, s);
            stay_between(robot, closed.contact, own, &s.forces.forces[first], sweep, d);
            const Rows change = Rows{s.change.data(), width}.from(first);
            rows_between_by_state(robot, closed.contact, own, count, s, rates, change);
        } else if (!closed.contact.is_limit()) {
            const Footing& under = s.scratch.footing[i];
            const Touch at = touch(closed.contact, sweep, under);
            const Rows change = Rows{s.change.data(), width}.from(first);
            stay_with_ground(robot, mode, closed.contact, at, &s.forces.forces[first], sweep, d);
            if (const Hills* hills = mode.terrain.hills.get()) {
                if (!rows_by_state_on_hills(robot, *hills, closed.contact, at, count - 1, s, rates, change))
                    return false;
            } else {
                rows_by_state(robot, closed.contact, at, count, s, rates, change);
            }
        }
        for (int r = first; r < first + count; ++r) {
            reduce_by_state(robot, r, &s.rates[r * width], &s.change[r * width], s);
        }
        const bool turns = closed.state == State::slip_free, yields = closed.state == State::yields;
        if (turns) {
            turn_with_slip(closed, s.scratch.slip[i], &s.forces.rates[first], s.forces.forces[first], rates, direct,
                           2 * nv, across < 0 ? -1 : across++);
        } else if (yields) {
            const double gap = gap_of(mode, closed.contact, sweep, q);
            yield_by_state(closed, gap, &s.forces.rates[first], &open[first * nv], count, rates, direct, nv);
        }
        const bool is_held = held >= 0 && held_in_space(mode, closed);
        if (is_held) {  // friction turns with its direction, whatever the normal force does
            const double pull = -closed.friction * s.forces.forces[first];
            direct[1][held] = -pull * s.scratch.slip[i][1], direct[2][held] = pull * s.scratch.slip[i][0], ++held;
        }
        if (turns || yields || is_held) {
            for (int r = yields ? 0 : 1; r < count; ++r) {
                const double* own = &s.scratch.row[(first + r) * nv];
                for (int k = 0; k < nv; ++k) {
                    if (own[k] != 0.0) add_scaled(d[k], own[k], direct[r], columns);
                }
            }
        }
        row += count;
    }
    return true;
}

// The slip directions that are unknowns, right after `accelerate`.
std::vector<Turn> turns_of(const Robot& robot, const ContactMode& mode, const DerivativeScratch& s) {
    std::vector<Turn> found;
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        if (mode.closed[i].state != State::slip_begins) continue;
        const std::array<double, 2>& slip = s.scratch.slip[i];
        const int row = mode.first[i] + 1;
        Turn turn{row, {-slip[1], slip[0]}, -mode.closed[i].friction * s.forces.forces[row - 1], 0.0};
        for (int r = 0; r < 2; ++r) {
            const double* own = &s.scratch.row[(row + r) * robot.nv];
            double along = s.scratch.bias[row + r];
            for (int k = 0; k < robot.nv; ++k) along += own[k] * s.acceleration[k];
            turn.speed += slip[r] * along;
        }
        found.push_back(turn);
    }
    return found;
}

// Its row behind those that are held, and what a turn adds to the force behind their directions, as `delassus` has
// them.
void add_turn(const Robot& robot, const Turn& turn, Scratch& s) {
    const int nv = robot.nv;
    std::vector<double> row(nv, 0.0);
    for (int r = 0; r < 2; ++r) add_scaled(row.data(), turn.across[r], &s.row[(turn.row + r) * nv], nv);
    s.sweep.solve_inwards(robot, row.data(), 1, {nv - 1, -1, true});
    for (int k = 0; k < nv; ++k) {
        s.inwards.push_back(turn.pull * row[k]);
        s.weighed.push_back(row[k] / s.sweep.mass[robot.branches.diagonal(k)]);
    }
}

}  // namespace

int held_slips(const ContactMode& mode) {
    const auto is_held = [&](const Closed& closed) { return held_in_space(mode, closed); };
    return static_cast<int>(std::count_if(mode.closed.begin(), mode.closed.end(), is_held));
}

void solve_mass(const Robot& robot, const Sweep& sweep, Rows b, int columns) {
    solve_inwards(sweep.mass.data(), robot.branches, b, padded(columns));
    solve_outwards(sweep.mass.data(), robot.branches, b, padded(columns));
}

bool rates_by_place(const Robot& robot, const ContactMode& mode, const Scratch& laid, const double* q, const double* v,
                    Rows rates, Sweep& sweep) {
    sweep.prepare(robot);
    sweep.motions(robot, q, v);
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        const Contact& contact = mode.closed[i].contact;
        if (contact.is_limit()) continue;
        if (contact.other) {
            rates_between_by_place(robot, mode, contact, sweep, rates.from(mode.first[i]));
            continue;
        }
        Footing under;
        if (!stand(mode.terrain, contact, sweep, under)) return false;
        const Touch at = touch(contact, sweep, under);
        const Vec3& w = sweep.velocity[contact.joint].angular;
        const Rows own = rates.from(mode.first[i]);
        const int count = rows_of(mode, mode.closed[i]);
        const Vec3 speed = sweep.velocity[contact.joint].linear + cross(w, at.centre) - sweep.ground.velocity;
        std::optional<HillRows> hill;
        if (const Hills* hills = mode.terrain.hills.get()) {
            hill.emplace(*hills, under, contact.radius, count - 1, CentreMotion{{}, speed, w, {}, {}});
            if (!hill->known()) return false;
        }
        by_columns(robot, contact.joint, sweep, [&](int k, const Spatial& column, const Spatial& dv) {
            if (hill) {
                const Vec3 moved = column.linear + cross(column.angular, at.centre);
                const Vec3 faster = dv.linear + cross(dv.angular, at.centre) + cross(w, moved);
                std::array<double, 3> by_place, change;
                hill->along({moved, faster, dv.angular, {}, {}}, by_place, change);
                for (int r = 0; r < count; ++r) own[r][k] = by_place[r];
                return;
            }
            const Vec3 rate = rate_by_place(at, column, dv, w);
            for (int r = 0; r < count; ++r) own[r][k] = dot(under.axis[r], rate);
        });
    }
    if (robot.loops.size()) reduce_rates(robot, mode.rows, laid, sweep, rates);
    return true;
}

bool subtract_momentum(const Robot& weightless, const ContactMode& mode, const Scratch& laid, const double* q,
                       const double* w, const double* impulses, Rows d, DerivativeScratch& s) {
    Sweep& sweep = s.scratch.sweep;
    const std::vector<double> still(weightless.nv, 0.0);
    sweep.prepare(weightless);
    sweep.at(weightless, q, still.data());
    s.acceleration.assign(w, w + weightless.nv), s.forces.forces.assign(impulses, impulses + mode.rows);
    s.scratch.footing.resize(mode.closed.size());
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        const Contact& contact = mode.closed[i].contact;
        if (!contact.is_limit() && !stand(mode.terrain, contact, sweep, s.scratch.footing[i])) return false;
    }
    if (weightless.loops.size()) pull_back(weightless, mode, laid, s);
    gather(weightless, mode, s);
    shifts(weightless, s);
    subtract_needed(weightless, s, d);
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        const Contact& contact = mode.closed[i].contact;
        if (contact.is_limit()) continue;
        const Footing& under = s.scratch.footing[i];
        const double* along = &impulses[mode.first[i]];
        if (contact.other) {
            stay_between(weightless, contact, pair_rows(weightless, mode, contact, s), along, sweep, d);
            continue;
        }
        stay_with_ground(weightless, mode, contact, touch(contact, sweep, under), along, sweep, d);
    }
    if (!weightless.loops.size()) return true;
    differentiate_loops(weightless, 2 * weightless.nv, s);
    reduce_forces(weightless, d, 2 * weightless.nv, s);
    return true;
}

bool differentiate_terms(const Robot& robot, const ContactMode& mode, const double* q, const double* v, const double* a,
                         const double* forces, Rows d, DerivativeScratch& s) {
    ContactMode held = mode;  // slips turn with their velocities only where forces do, too
    for (Closed& closed : held.closed) closed.state = slides(closed) ? State::slip_held : closed.state;
    if (!lay_rows(robot, held, q, v, s.scratch)) return false;
    s.acceleration.assign(a, a + robot.nv), s.forces.forces.assign(forces, forces + held.rows);
    s.forces.rates = s.scratch.rates;
    s.turned = s.held = -1;
    gather(robot, held, s);
    shifts(robot, s);
    subtract_needed(robot, s, d);
    return differentiate_contacts(robot, held, q, d, 2 * robot.nv, s);
}

bool differentiate(const Robot& robot, const ContactMode& mode, const References& references, const double* q,
                   const double* v, const double* applied, Rows d, int columns, DerivativeScratch& s,
                   ContactDerivatives* told) {
    const int nv = robot.nv, width = d.stride, wide = padded(columns);
    s.acceleration.resize(nv);
    if (!accelerate(robot, mode, references, q, v, applied, s.scratch, s.acceleration.data(), &s.forces)) return false;
    if (robot.loops.size()) find_pull(robot, mode, applied, s);
    gather(robot, mode, s);
    shifts(robot, s);
    subtract_needed(robot, s, d);
    if (robot.loops.size()) differentiate_loops(robot, columns, s);
    if (!differentiate_contacts(robot, mode, q, d, columns, s)) return false;
    if (robot.loops.size()) reduce_forces(robot, d, columns, s);
    if (told) told->forces = s.direct, told->rates = s.rates;
    const int size = static_cast<int>(s.scratch.held_bias.size());
    if (!mode.rows || gives_way(mode)) return solve_mass(robot, s.scratch.sweep, d, columns), true;

    const std::vector<Turn> turns = turns_of(robot, mode, s);
    if (mode.redundant && (told || !turns.empty())) return false;  // of many forces, how the motion changes alone
    for (const Turn& turn : turns) add_turn(robot, turn, s.scratch);
    const int all = size + static_cast<int>(turns.size());
    // C da + change = 0 with da = M^-1 (d + D^T u): C M^-1 D^T u = -change - C M^-1 d; turns likewise, see `Turn`. With
    // M = L^T E L all but the last step, da = L^-1 E^-1 d, is taken for L^-T d and L^-T D^T.
    const double* mass = s.scratch.sweep.mass.data();
    solve_inwards(mass, robot.branches, d, wide);
    const Rows weighed{s.scratch.weighed.data(), nv}, inwards{s.scratch.inwards.data(), nv};
    set_zeros(s.unknown, all * width), set_zeros(s.matrix, all * padded(all));
    const Rows unknown{s.unknown.data(), width}, matrix{s.matrix.data(), padded(all)};
    int place = 0, first = 0;
    for (const Closed& closed : mode.closed) {
        const int count = rows_of(mode, closed);
        const int stuck = stuck_rows(mode, closed);
        for (int r = 0; r < stuck; ++r) add_scaled(unknown[place + r], -1.0, &s.change[(first + r) * width], columns);
        place += stuck, first += count;
    }
    for (int k = size; k < all; ++k) {
        const Turn& turn = turns[k - size];
        for (int r = 0; r < 2; ++r) {
            add_scaled(unknown[k], -turn.across[r], &s.change[(turn.row + r) * width], columns);
        }
        matrix[k][k] = -turn.speed;
    }
    add_sparse_product(unknown, -1.0, weighed, d, all, nv, wide, s.places);
    s.solved.resize(nv * matrix.stride);
    const Rows by_unknown{s.solved.data(), matrix.stride};
    for (int j = 0; j < all; ++j) {
        for (int k = 0; k < nv; ++k) by_unknown[k][j] = inwards[j][k];
    }
    if (mode.redundant) {
        if (!solve_changes(robot, mode, s.scratch, unknown, columns)) return false;
    } else {
        add_sparse_product(matrix, 1.0, weighed, by_unknown, all, nv, matrix.stride, s.places);
        if (!solve_dense(matrix, unknown, all, wide)) return false;
    }
    add_sparse_product(d, 1.0, by_unknown, unknown, nv, all, wide, s.places);
    solve_outwards(mass, robot.branches, d, wide);
    if (!told) return true;
    for (int k = size; k < all; ++k) {
        const Turn& turn = turns[k - size];
        for (int r = 0; r < 2; ++r) {
            add_scaled(&told->forces[(turn.row + r) * width], turn.pull * turn.across[r], unknown[k], columns);
        }
    }
    place = first = 0;
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        const Closed& closed = mode.closed[i];
        const int count = rows_of(mode, closed);
        const int stuck = stuck_rows(mode, closed);
        for (int r = 0; r < stuck; ++r)
            add_scaled(&told->forces[(first + r) * width], 1.0, unknown[place + r], columns);
        for (int r = 1; r < count && slides(closed); ++r) {
            const double share = -closed.friction * s.scratch.slip[i][r - 1];
            add_scaled(&told->forces[(first + r) * width], share, unknown[place], columns);
        }
        place += stuck, first += count;
    }
    return true;
}

}  // namespace native
