#include "meeting.hpp"

#include <algorithm>
#include <cmath>

namespace native {

namespace {

// Directions of the slips that turn, by their own velocities; false where there is no ground.
bool turn_to_slips(const Arc& arc, double t, const double* x, double* directions, GuardRoom& room) {
    const auto& closed = arc.mode.closed;
    if (!std::any_of(closed.begin(), closed.end(), slips_freely)) return true;
    Sweep& sweep = room.scratch.sweep;
    const double* v = x + arc.robot.nq;
    sweep.prepare(arc.robot);
    sweep.ground = arc.mode.terrain.at(t);
    sweep.motions(arc.robot, x, v);
    std::vector<double>& rates = room.told.rates;
    rates.resize(arc.mode.rows);
    if (!contact_velocities(arc.mode, sweep, v, rates.data())) return false;
    const int tangents = static_cast<int>(arc.mode.terrain.basis.size()) - 1;
    for (std::size_t i = 0; i < closed.size(); ++i) {
        if (!slips_freely(closed[i])) continue;
        const double* z = &rates[arc.mode.first[i] + 1];
        double squares = 0.0;
        for (int d = 0; d < tangents; ++d) squares += z[d] * z[d];
        const double speed = std::sqrt(squares);
        double* own = directions + 2 * i;
        own[0] = speed > 0.0 ? z[0] / speed : 1.0;
        own[1] = speed > 0.0 && tangents > 1 ? z[1] / speed : 0.0;
    }
    return true;
}

// The guard "jam" of an arc that begins there; false where it is close to one.
bool far_from_jam(const Arc& arc, const Thresholds& thresholds, GuardRoom& room, double* values) {
    const auto& all = arc.guards.all;
    const auto is_jam = [](const Guard& guard) { return guard.kind == GuardKind::jam; };
    const auto jam = std::find_if(all.begin(), all.end(), is_jam);
    if (jam == all.end()) return true;
    room.find_regularity(arc);
    const double left = std::abs(room.regularity) - thresholds.jammed;
    values[jam - all.begin()] = left;
    return left > thresholds.near_jam;
}

// D_q g = n^T J (nv,) of a limit, or of a point or a sphere above its ground; false of others.
bool gap_row(const Arc& arc, const Contact& contact, const Sweep& sweep, double* row) {
    std::fill_n(row, 2 * arc.robot.nv, 0.0);
    if (contact.is_limit()) return row[contact.velocity] = contact.sign, true;
    Footing under;
    if (contact.other || contact.is_flat() || contact.round || arc.robot.loops.size()) return false;
    if (!stand(arc.mode.terrain, contact, sweep, under)) return false;
    const Joint& joint = arc.robot.joints[contact.joint];
    const Vec3 centre = sweep.place[contact.joint] + sweep.turn[contact.joint] * contact.centre;
    for (int k = joint.v + joint.size - 1; k >= 0; k = arc.robot.ancestor[k]) {
        const Spatial& column = sweep.column[k];
        row[k] = dot(under.axis[0], column.linear + cross(column.angular, centre));
    }
    return true;
}

// That of a guard of forces or slips, by the derivatives (rows, stride) of those of the closed contacts.
void closed_row(const Arc& arc, const Thresholds& thresholds, const References& references, const Guard& guard,
                const Forces& told, ConstRows forces, ConstRows rates, double* row) {
    const int n = 2 * arc.robot.nv, first = arc.mode.first[guard.closed];
    const int tangents = static_cast<int>(arc.mode.terrain.basis.size()) - 1;
    std::fill_n(row, n, 0.0);
    const auto add = [&](double factor, const double* from) { add_scaled(row, factor, from, n); };
    if (guard.kind == GuardKind::force) return add(1.0, forces[first]);
    if (guard.kind == GuardKind::cone) {
        double squares = 0.0;
        for (int d = 1; d <= tangents; ++d) squares += told.forces[first + d] * told.forces[first + d];
        add(guard.friction, forces[first]);
        for (int d = 1; d <= tangents && squares > 0.0; ++d) {  // at its apex a cone closes with the normal force
            add(-told.forces[first + d] / std::sqrt(squares), forces[first + d]);
        }
        return;
    }
    for (int d = 0; d < tangents; ++d) {
        const double along = guard.kind == GuardKind::fast
                                 ? -told.rates[first + 1 + d] / (thresholds.leave * arc.slip_speed)
                                 : references.direction[2 * guard.closed + d];
        add(along, rates[first + 1 + d]);
    }
}

// The same of any guard; false where it is not told.
bool row_of(const Arc& arc, const Thresholds& thresholds, const References& references, int number, double t,
            const double* x, GuardRoom& room, DerivativeScratch& scratch, double* row) {
    const Guard& guard = arc.guards.all[number];
    if (guard.kind == GuardKind::gap) {
        return guard.sense == 1.0 && gap_row(arc, guard.contact(), room.scratch.sweep, row);
    }
    const bool of_forces = guard.kind == GuardKind::force || guard.kind == GuardKind::cone;
    if (!(of_forces || looks_at_slips(guard.kind)) || arc.drive.callback || arc.drive.memory ||
        arc.drive.held_on.size() || arc.mode.redundant || gives_way(arc.mode)) {
        return false;
    }
    const int nv = arc.robot.nv;
    thread_local Matrix by_state;
    thread_local ContactDerivatives found;
    by_state.clear(nv, 2 * nv);
    arc.drive.by_state(arc.robot, by_state.rows());
    scratch.scratch.sweep.ground = arc.mode.terrain.at(t);
    scratch.turned = scratch.held = -1;
    if (!differentiate(arc.robot, arc.mode, references, x, x + arc.robot.nq, room.force.data(), by_state.rows(), 2 * nv,
                       scratch, &found)) {
        return false;
    }
    const int stride = by_state.stride;
    closed_row(arc, thresholds, references, guard, room.told, {found.forces.data(), stride},
               {found.rates.data(), stride}, row);
    return true;
}

}  // namespace

bool meet(const Arc& arc, const Thresholds& thresholds, double straight, double t, const double* x, int guard,
          double* directions, GuardRoom& room, DerivativeScratch& scratch, MetGuards& found) {
    const auto begins = [](const Closed& one) { return one.state == State::slip_begins; };
    if (std::any_of(arc.mode.closed.begin(), arc.mode.closed.end(), begins)) return false;
    room.known = Known(), room.forget();
    if (!turn_to_slips(arc, t, x, directions, room)) return false;
    const References references{directions, straight};
    if (!motion_at(arc, references, t, x, room)) return false;
    const int nv = arc.robot.nv;
    std::copy_n(room.acceleration.data(), nv, found.acceleration);
    found.others = found.pressing = 0.0;
    for (int k = 0; k < nv; ++k) {
        found.others = std::max(found.others, std::abs(room.scratch.sweep.free[k] + room.force[k]));
    }
    for (const double force : room.told.forces) found.pressing = std::max(found.pressing, std::abs(force));
    found.steady = !arc.mode.terrain.motion && !arc.drive.callback && !(arc.drive.gains && arc.drive.gains->moving);
    found.row_known = guard >= 0 && row_of(arc, thresholds, references, guard, t, x, room, scratch, found.row);
    return guard_values(arc, thresholds, references, t, x, room, found.values) &&
           far_from_jam(arc, thresholds, room, found.values);
}

}  // namespace native
