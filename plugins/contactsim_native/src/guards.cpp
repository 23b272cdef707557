#include "guards.hpp"

#include <algorithm>
#include <limits>

#include "hiding.hpp"

namespace native {

namespace {

// What is left until contacts jam; slow slips may turn into that in less time than is resolved.
double jam_margin(const Arc& arc, const Thresholds& thresholds, bool expanded, GuardRoom& room) {
    const Jam& jam = arc.guards.jam;
    const ContactMode& mode = arc.mode;
    if (jam.sense == 0.0) return 1.0;
    if (!expanded) room.find_regularity(arc);
    const double left = jam.sense * room.regularity - thresholds.jammed;
    if (left > thresholds.near_jam) return left;
    double turning = 0.0;
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        if (!slips_freely(mode.closed[i])) continue;
        const int at = mode.first[i];
        const double speed = std::hypot(room.told.rates[at + 1], room.told.rates[at + 2]);
        const double change = std::hypot(room.change[at + 1], room.change[at + 2]);
        turning = std::max(turning, change / std::max(speed, thresholds.no_speed));
    }
    return left - jam.window * turning;
}

// How much more a contact that begins to slip accelerates than `turning` times what its friction would cause, relative
// to both: see contactsim's RigidFlow.
double beginning(const Arc& arc, const Thresholds& thresholds, const Guard& guard, GuardRoom& room) {
    const int nv = arc.robot.nv, first = arc.mode.first[guard.closed];
    const Scratch& s = room.scratch;
    const std::array<double, 2>& slip = s.slip[guard.closed];
    double along = 0.0, mobility = 0.0;
    std::vector<double> moved(nv);
    for (int d = 0; d < 2; ++d) {
        const double* row = &s.row[(first + 1 + d) * nv];
        std::copy(row, row + nv, moved.begin());
        s.sweep.solve(arc.robot, moved.data());
        along += slip[d] * s.bias[first + 1 + d];
        for (int k = 0; k < nv; ++k) {
            along += slip[d] * row[k] * room.acceleration[k];
            mobility += 0.5 * row[k] * moved[k];
        }
    }
    const double friction = arc.mode.closed[guard.closed].friction * std::abs(room.told.forces[first]) * mobility;
    const double size = std::max(std::hypot(along, friction), thresholds.no_force * mobility);
    return (along - thresholds.turning * friction) / size;
}

// A guard that looks at the forces of a closed contact.
double of_forces(const Arc& arc, const Guard& guard, const Forces& told) {
    const double* forces = &told.forces[arc.mode.first[guard.closed]];
    if (guard.kind == GuardKind::force) return forces[0];
    const int tangents = static_cast<int>(arc.mode.terrain.basis.size()) - 1;
    double rubbing = 0.0;
    for (int d = 0; d < tangents; ++d) rubbing += forces[1 + d] * forces[1 + d];
    return guard.friction * forces[0] - std::sqrt(rubbing);
}

}  // namespace

bool looks_at_slips(GuardKind kind) {
    return kind == GuardKind::slow || kind == GuardKind::stop || kind == GuardKind::fast;
}

double of_slip(const Arc& arc, const Thresholds& thresholds, const References& references, const Guard& guard,
               const std::vector<double>& all_rates) {
    const ContactMode& mode = arc.mode;
    const int tangents = static_cast<int>(mode.terrain.basis.size()) - 1;
    const double* rates = &all_rates[mode.first[guard.closed]];
    const double* direction = references.direction + 2 * guard.closed;
    const bool begins = mode.closed[guard.closed].state == State::slip_begins;
    if (guard.kind == GuardKind::stop && begins) direction = guard.direction.data();
    double along = 0.0, slip = 0.0;
    for (int d = 0; d < tangents; ++d) {
        along += rates[1 + d] * direction[d];
        slip += rates[1 + d] * rates[1 + d];
    }
    if (guard.kind == GuardKind::slow) return along - arc.slip_speed;
    if (guard.kind == GuardKind::stop) return along;
    return 0.5 * (thresholds.leave * arc.slip_speed - slip / (thresholds.leave * arc.slip_speed));
}

bool slips_freely(const Closed& closed) {
    return closed.state == State::slip_free;
}

bool Guards::of_motion() const {
    return std::any_of(all.begin(), all.end(), [](const Guard& guard) {
        return guard.kind != GuardKind::gap && guard.kind != GuardKind::margin && guard.kind != GuardKind::side;
    });
}

const Contact& Guard::contact() const {
    static const Contact none;
    return touching ? *touching : none;
}

void Arc::add(const Guard& guard, const Hosts& of) {
    if (guard.kind == GuardKind::gap) {
        note_shared_corners(mode, guard.contact(), static_cast<int>(guards.all.size()), shared_corners);
    }
    guards.all.push_back(guard);
    hosts.push_back(of);
}

bool GuardRoom::knows(double t, const double* x) const {
    return looks_ == scratch.sweep.looks && t == t_ && std::equal(x_.begin(), x_.end(), x);
}

bool GuardRoom::knows(const Arc& arc, const References& references, double t, const double* x) const {
    if (!knows(t, x)) return false;
    for (std::size_t i = 0; i < arc.mode.closed.size(); ++i) {
        const double* asked = references.direction + 2 * i;
        const bool found = slips_freely(arc.mode.closed[i]) && std::equal(asked, asked + 2, scratch.slip[i].data());
        if (!found && !std::equal(asked, asked + 2, &directions_[2 * i])) return false;
    }
    return true;
}

void GuardRoom::remember(const Arc& arc, const References& references, double t, const double* x) {
    t_ = t, looks_ = scratch.sweep.looks, regularity_known_ = false;
    x_.assign(x, x + arc.robot.nq + arc.robot.nv + arc.drive.memory);
    directions_.assign(references.direction, references.direction + 2 * arc.mode.closed.size());
}

void GuardRoom::find_regularity(const Arc& arc) {
    if (regularity_known_ && looks_ == scratch.sweep.looks) return;
    along_rows(arc.robot, arc.mode, scratch, acceleration.data(), change.data());
    regularity = regularity_there(arc.robot, arc.mode, scratch);
    regularity_known_ = looks_ == scratch.sweep.looks;
}

bool motion_at(const Arc& arc, const References& references, double t, const double* x, GuardRoom& room) {
    if (room.knows(arc, references, t, x)) return true;
    room.forget();
    const Robot& robot = arc.robot;
    room.force.assign(robot.nv, 0.0), room.memory.resize(arc.drive.memory);
    room.acceleration.resize(robot.nv), room.change.resize(arc.mode.rows);
    arc.drive.at(robot, t, x, room.force.data(), room.memory.data(), room.known);
    room.scratch.sweep.ground = arc.mode.terrain.at(t);
    if (!accelerate(robot, arc.mode, references, x, x + robot.nq, room.force.data(), room.scratch,
                    room.acceleration.data(), &room.told)) {
        return false;
    }
    room.remember(arc, references, t, x);
    return true;
}

double Sines::operator()(double, const double* x) const {
    double value = constant;
    for (const Sine& sine : all) {
        double angle = sine.phase;
        for (const auto& [coordinate, factor] : sine.angles) angle += factor * x[coordinate];
        value += sine.amplitude * std::sin(angle);
    }
    return value;
}

namespace {

// What guards look at: places of the joints, velocities of the closed contacts, or the whole motion.
enum class Depth { places, velocities, motion };

Depth depth_of(GuardKind kind) {
    if (kind == GuardKind::gap || kind == GuardKind::margin || kind == GuardKind::side) return Depth::places;
    return looks_at_slips(kind) ? Depth::velocities : Depth::motion;
}

// All that guards of this depth look at, into the room; false where it is not told.
bool look_at(const Arc& arc, const References& references, Depth depth, double t, const double* x, GuardRoom& room) {
    const bool expanded = depth != Depth::places && room.expansion && room.expansion->holds(t);
    if (depth == Depth::motion && !expanded) return motion_at(arc, references, t, x, room);
    const double* v = x + arc.robot.nq;
    Sweep& sweep = room.scratch.sweep;
    if (expanded) {
        room.forget();
        room.acceleration.resize(arc.robot.nv);
        if (!room.expansion->tell(references, t, v, room.acceleration.data(), room.told, room.change,
                                  room.regularity)) {
            return false;
        }
    }
    sweep.prepare(arc.robot);
    sweep.ground = arc.mode.terrain.at(t);
    if (depth == Depth::velocities && !expanded) {
        sweep.motions(arc.robot, x, v);
        room.told.rates.resize(arc.mode.rows);
        return contact_velocities(arc.mode, sweep, v, room.told.rates.data());
    }
    sweep.places(arc.robot, x);
    return true;
}

// The value of one guard where that was looked at; NaN where there is none.
double value_of(const Arc& arc, const Thresholds& thresholds, const References& references, int number, double t,
                const double* x, GuardRoom& room) {
    const Guard& guard = arc.guards.all[number];
    const Sweep& sweep = room.scratch.sweep;
    switch (guard.kind) {
        case GuardKind::gap:
            return guard.sense * shown_gap(arc, number, sweep, x);
        case GuardKind::push: {
            const Closed& closed = arc.mode.closed[guard.closed];
            const double* rates = &room.told.rates[arc.mode.first[guard.closed]];
            const double gap = gap_of(arc.mode, closed.contact, sweep, x);
            return guard.sense * yielding_margin(closed.law, gap, rates, rows_of(arc.mode, closed));
        }
        case GuardKind::margin:
            return guard.margin(t, x);
        case GuardKind::side:
            return region_margin(arc.mode.terrain, arc.mode.closed[guard.closed].contact, guard.side, sweep);
        case GuardKind::forces:
            return room.told.margin;
        case GuardKind::jam:
            return jam_margin(arc, thresholds, room.expansion && room.expansion->holds(t), room);
        case GuardKind::turn:
            return beginning(arc, thresholds, guard, room);
        default:
            return looks_at_slips(guard.kind) ? of_slip(arc, thresholds, references, guard, room.told.rates)
                                              : of_forces(arc, guard, room.told);
    }
}

// The value of one guard at its place; false: a gap is not known.
bool tell_value(const Arc& arc, const Thresholds& thresholds, const References& references, int k, double t,
                const double* x, GuardRoom& room, double* values) {
    values[k] = value_of(arc, thresholds, references, k, t, x, room);
    return !std::isnan(values[k]) || arc.guards.all[k].kind != GuardKind::gap;
}

}  // namespace

bool guard_values(const Arc& arc, const Thresholds& thresholds, const References& references, double t, const double* x,
                  GuardRoom& room, double* values) {
    const Depth depth = arc.guards.of_motion() ? Depth::motion : Depth::places;
    if (!look_at(arc, references, depth, t, x, room)) return false;
    for (int k = 0; k < static_cast<int>(arc.guards.all.size()); ++k) {
        if (!tell_value(arc, thresholds, references, k, t, x, room, values)) return false;
    }
    return true;
}

bool some_guard_values(const Arc& arc, const Thresholds& thresholds, const References& references,
                       const std::vector<int>& asked, double t, const double* x, GuardRoom& room, double* values) {
    Depth depth = Depth::places;
    for (const int k : asked) depth = std::max(depth, depth_of(arc.guards.all[k].kind));
    if (!look_at(arc, references, depth, t, x, room)) return false;
    for (const int k : asked) {
        if (!tell_value(arc, thresholds, references, k, t, x, room, values)) return false;
    }
    return true;
}

}  // namespace native
