#include "journey.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "acceleration_derivatives.hpp"

namespace native {

namespace {

constexpr double TINY = 1e-300;  // keeps quotients of two zeros finite

double spacing(double x) {
    return std::nextafter(std::abs(x), std::numeric_limits<double>::infinity()) - std::abs(x);
}

double size_of(const double* slip) {
    return std::sqrt(slip[0] * slip[0] + slip[1] * slip[1]);
}

bool is_inner(GuardKind kind) {
    return kind == GuardKind::slow || kind == GuardKind::fast || kind == GuardKind::turn || kind == GuardKind::margin;
}

bool looks_at_forces(GuardKind kind) {
    return kind == GuardKind::force || kind == GuardKind::cone;
}

// Which guard counts where several of one contact fire: the last one, in the order of their names.
int rank(GuardKind kind) {
    switch (kind) {
        case GuardKind::cone:
            return 0;
        case GuardKind::margin:  // "enable"
            return 1;
        case GuardKind::fast:
            return 2;
        case GuardKind::force:
            return 3;
        case GuardKind::gap:
            return 4;
        case GuardKind::slow:
            return 5;
        case GuardKind::stop:
            return 6;
        default:  // turn
            return 7;
    }
}

Kind told(GuardKind kind) {
    switch (kind) {
        case GuardKind::gap:
            return Kind::gap;
        case GuardKind::force:
            return Kind::force;
        case GuardKind::cone:
            return Kind::cone;
        case GuardKind::stop:
            return Kind::stop;
        default:
            return Kind::other;
    }
}

bool same(const ContactState& a, const ContactState& b) {
    return a.standing == b.standing && a.phase == b.phase && a.direction == b.direction && a.until == b.until;
}

std::vector<char> closed_in(const WorldMode& mode) {
    std::vector<char> found;
    for (const ContactState& state : mode.states) found.push_back(state.closed());
    return found;
}

}  // namespace

bool WorldMode::operator==(const WorldMode& b) const {
    return enabled == b.enabled && std::equal(states.begin(), states.end(), b.states.begin(), same);
}

Journey::Journey(const Passage& passage, const Dop853& method, const Thresholds& thresholds, const Departure& from)
    : passage_(passage),
      world_(passage.world),
      rules_(passage.rules),
      method_(method),
      thresholds_(thresholds),
      template_(from.course),
      most_(from.most),
      t_(from.course.t),
      entered_(from.entered),
      x_(from.x),
      mode_(from.mode),
      fired_(from.fired),
      clock_(from.clock),
      at_once_(from.at_once),
      from_zero_(from.from_zero),
      repeats_(from.repeats),
      first_step_(from.course.step) {
    arc_.robot = world_.robot, arc_.drive = world_.drive;
    arc_.mode.terrain = world_.terrain, arc_.mode.turning = world_.turning;
    arc_.reach = passage.reach, arc_.turning = passage.turning;
    arc_.drift = rules_.drift, arc_.gap = rules_.gap, arc_.event_time = rules_.event_time;
    arc_.slip_speed = rules_.slip_speed;
}

Travelled Journey::run() {
    lay_out(mode_);
    try {
        while (static_cast<int>(log_.size()) < most_ && pass_event()) {
            begun_ = false;
            if (!enter() || !(fires_at_start() || follow())) break;
        }
    } catch (...) {
        error_ = std::current_exception();
    }
    return {std::move(log_), std::move(leg_), begun_, repeats_, first_step_, evaluations_, error_};
}

// --- events --------------------------------------------------------------------------------------------------

bool Journey::pass_event() {
    WorldMode mode = mode_;
    LoggedEvent event{t_, x_, x_, fired_, clock_, {}, {}, {}, {}};
    if (!follow_up(mode, event)) return false;
    event.mode = mode;
    if (!count_repeats(event)) return false;
    if (!log_.empty()) {
        log_.back().record = std::move(leg_.course.record), log_.back().steps = leg_.course.steps;
        evaluations_ += leg_.course.evaluations;
        first_step_ = leg_.course.natural;
    }
    x_ = event.behind, mode_ = mode, entered_ = t_;
    log_.push_back(std::move(event));
    return true;
}

bool Journey::follow_up(WorldMode& mode, LoggedEvent& event) {
    std::vector<std::pair<int, GuardKind>> kinds;
    if (!kinds_of(kinds) || !enable(kinds, mode)) return false;
    if (end_bounces(mode) && kinds.empty()) return true;
    if (kinds.empty()) return false;
    const bool inner = std::all_of(kinds.begin(), kinds.end(), [](const auto& one) { return is_inner(one.second); });
    return inner ? turn_phases(kinds, mode) : resolve_touching(kinds, mode, event);
}

bool Journey::end_bounces(WorldMode& mode) const {
    bool found = false;
    for (ContactState& state : mode.states) {
        if (!(state.until <= t_)) continue;
        state.until = INFINITY, found = true;
    }
    return found;
}

bool Journey::kinds_of(std::vector<std::pair<int, GuardKind>>& kinds) const {
    for (const Fired& fired : fired_) {
        if (fired.kind == GuardKind::jam) return false;
        const auto known =
            std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return one.first == fired.contact; });
        if (known == kinds.end()) {
            kinds.emplace_back(fired.contact, fired.kind);
        } else if (rank(fired.kind) > rank(known->second)) {
            known->second = fired.kind;
        }
    }
    return true;
}

bool Journey::enable(const std::vector<std::pair<int, GuardKind>>& kinds, WorldMode& mode) {
    for (const auto& [i, kind] : kinds) {
        if (kind != GuardKind::margin) continue;
        mode.enabled[i] = !mode.enabled[i];
        if (!mode.enabled[i]) continue;
        Sweep& sweep = room_.scratch.sweep;
        sweep.prepare(world_.robot);
        sweep.places(world_.robot, x_.data());
        sweep.ground = world_.terrain.at(t_);
        if (!(gap_of(arc_.mode, world_.contacts[i], sweep, x_.data()) >= 0.0)) return false;
    }
    return true;
}

Event Journey::event_of(const std::vector<char>& touching, const std::vector<Kind>& kind, const WorldMode& mode) const {
    Event given;
    given.t = t_, given.x = x_.data();
    for (std::size_t i = 0; i < touching.size(); ++i) {
        if (!touching[i]) continue;
        given.touching.push_back(static_cast<int>(i)), given.kinds.push_back(kind[i]);
        given.states.push_back(mode.states[i]), given.regions.push_back(std::nullopt);
    }
    return given;
}

bool Journey::is_to_turn(int i, const WorldMode& mode) const {
    std::vector<Kind> kind(mode.states.size(), Kind::none);
    kind[i] = Kind::stop;
    const Event given = event_of(closed_in(mode), kind, mode);
    const int place = std::find(given.touching.begin(), given.touching.end(), i) - given.touching.begin();
    bool found = false;
    return !throws_to_rest(world_, given, place, found) || found;
}

bool Journey::turn_phases(const std::vector<std::pair<int, GuardKind>>& kinds, WorldMode& mode) {
    const auto turns = [](const auto& one) { return one.second != GuardKind::margin; };
    if (std::none_of(kinds.begin(), kinds.end(), turns)) return true;
    if (!find_rates(x_.data())) return false;
    for (const auto& [i, kind] : kinds) {
        if (kind == GuardKind::margin) continue;
        int closed = 0;
        for (int k = 0; k < i; ++k) closed += mode.states[k].closed();
        const double* slip = &room_.told.rates[arc_.mode.first[closed] + 1];
        const double speed = size_of(slip);
        const bool held =
            kind == GuardKind::turn || (kind == GuardKind::slow && speed < thresholds_.leave * rules_.slip_speed);
        ContactState& state = mode.states[i];
        const double along = slip[0] * state.direction[0] + slip[1] * state.direction[1];
        const bool turned = state.phase == Phase::directed && along < rules_.sideways * speed;
        if (kind == GuardKind::fast && turned && is_to_turn(i, mode)) return false;  // held below another speed
        state.phase = held ? Phase::directed : Phase::free;
        state.direction = {};
        if (!held) continue;
        if (!(speed > 0.0)) return false;
        state.direction = {slip[0] / speed, slip[1] / speed};
    }
    return true;
}

bool Journey::resolve_touching(const std::vector<std::pair<int, GuardKind>>& kinds, WorldMode& mode,
                               LoggedEvent& event) {
    std::vector<Kind> kind(mode.states.size(), Kind::none);
    std::vector<char> touching = closed_in(mode);
    for (const auto& [i, own] : kinds) {
        kind[i] = told(own);
        if (own == GuardKind::gap) touching[i] = true;
    }
    if (!add_near(mode, touching)) return false;
    const Event given = event_of(touching, kind, mode);
    Outcome outcome;
    if (!resolve(world_, given, outcome) || !outcome.unique) return false;
    stand(given, outcome, mode);
    std::copy(outcome.v.begin(), outcome.v.end(), event.behind.begin() + world_.robot.nq);
    event.touching = given.touching;
    event.outcome = std::move(outcome);
    return true;
}

void Journey::stand(const Event& given, const Outcome& outcome, WorldMode& mode) const {
    for (std::size_t k = 0; k < given.touching.size(); ++k) {
        ContactState& state = mode.states[given.touching[k]];
        const double until = outcome.rest >= 0.0 && outcome.bouncing[k] ? t_ + outcome.rest : state.until;
        state = outcome.states[k];
        if (state.closed()) state.until = until;
    }
}

bool Journey::add_near(const WorldMode& mode, std::vector<char>& touching) const {
    double place = 1.0;
    for (int k = 0; k < world_.robot.nq; ++k) place = std::max(place, std::abs(x_[k]));
    const double rounding = std::max(rules_.rearm, rules_.place_units * spacing(place));
    const double window = rules_.one_instant * rules_.event_time;
    const auto low = low_contacts(world_, t_, x_.data(), std::max(rules_.gap, rounding));
    if (!low) return false;
    for (const Low& one : *low) {
        const bool open = mode.enabled[one.contact] && !mode.states[one.contact].closed();
        if (open && world_.contacts[one.contact].feature) return false;  // a closed one may hide it: contactsim looks
        const double rate = std::abs(one.rate);
        if (open && (one.gap <= rounding + window * rate || rate <= rules_.speed)) touching[one.contact] = true;
    }
    return true;
}

bool Journey::count_repeats(const LoggedEvent& event) {
    Repeats now = repeats_;
    const double natural = log_.empty() ? template_.natural : leg_.course.natural;
    const bool short_arc = from_zero_ && natural >= 0.0 && t_ - entered_ < rules_.no_time * natural;
    const bool closely = at_once_ || (short_arc && event.before == event.behind);
    std::vector<WorldMode> among;
    const auto join = [&](const WorldMode& mode) {
        if (std::find(among.begin(), among.end(), mode) == among.end()) among.push_back(mode);
    };
    if (closely) std::for_each(now.between.begin(), now.between.end(), join);
    join(mode_), join(event.mode);
    now.to_and_fro = closely && among.size() <= 2 ? now.to_and_fro + 1 : 0;
    now.between = among;
    now.at_one_instant = t_ - entered_ <= rules_.event_time ? now.at_one_instant + 1 : 0;
    if (now.to_and_fro >= rules_.events_to_and_fro || now.at_one_instant > rules_.events_at_one_instant) return false;
    if (among.size() > 2) now.between = {mode_, event.mode};
    repeats_ = now;
    return true;
}

// --- arcs ----------------------------------------------------------------------------------------------------

void Journey::lay_out(const WorldMode& mode) {
    arc_.mode.closed.clear(), arc_.guards.all.clear(), arc_.hosts.clear(), arc_.shared_corners.clear();
    contacts_.clear();
    bool gaps = false, on_ground = false, slips = false;
    for (int i = 0; i < static_cast<int>(mode.states.size()); ++i) {
        const ContactState& state = mode.states[i];
        if (state.closed()) {
            close(i, state);
            slips = slips || (state.standing == Standing::slip && world_.tangents[i]);
            continue;
        }
        if (mode.enabled[i]) {
            Guard guard(GuardKind::gap);
            guard.touching = {std::shared_ptr<void>(), &world_.contacts[i]};  // which outlives this
            arc_.add(guard, passage_.hosts[i]), contacts_.push_back(i);
            gaps = true, on_ground = on_ground || !guard.contact().is_limit();
        }
        if (passage_.enabling[i]) {
            Guard guard(GuardKind::margin);
            Sines margin = *passage_.enabling[i];
            const double sign = mode.enabled[i] ? 1.0 : -1.0;
            margin.constant *= sign;
            for (Sine& sine : margin.all) sine.amplitude *= sign;
            guard.margin = margin;
            arc_.add(guard), contacts_.push_back(i);
        }
    }
    if (slips && passage_.jams) arc_.add(Guard(GuardKind::jam)), contacts_.push_back(-1);
    arc_.limits_alone = gaps && !on_ground;
    arc_.mode.count();
}

void Journey::close(int contact, const ContactState& state) {
    const bool frictional = world_.tangents[contact] > 0, spatial = tangents() == 2;
    const auto add = [&](GuardKind kind) {
        Guard guard(kind);
        guard.closed = static_cast<int>(arc_.mode.closed.size()) - 1, guard.friction = world_.resting[contact];
        if (kind == GuardKind::stop && state.phase == Phase::incipient) guard.direction = state.direction;
        arc_.add(guard), contacts_.push_back(contact);
    };
    State own = State::smooth;
    if (frictional && state.standing == Standing::stick) own = State::stick;
    if (frictional && state.standing == Standing::slip) {
        own = state.phase == Phase::free       ? State::slip_free
              : state.phase == Phase::directed ? State::slip_held
                                               : State::slip_begins;
    }
    arc_.mode.closed.push_back({world_.contacts[contact], own, world_.kinetic[contact]});
    add(GuardKind::force);
    if (own == State::stick) add(GuardKind::cone);
    if (own == State::slip_free) add(GuardKind::slow);
    if (own == State::slip_held || own == State::slip_begins) add(GuardKind::stop);
    if (own == State::slip_begins || (own == State::slip_held && spatial)) add(GuardKind::fast);
    if (own == State::slip_begins) add(GuardKind::turn);
}

bool Journey::enter() {
    if (!(first_step_ > 0.0)) return false;
    lay_out(mode_);
    rooms_.forget();
    leg_ = Leg();
    leg_.x = leg_.base = x_;
    const std::size_t dim = 2 * world_.robot.nv + world_.drive.memory;
    leg_.y.assign(dim, 0.0), leg_.f.assign(dim, 0.0);
    if (!set_directions()) return false;
    if (!arc_.mode.closed.empty() && !find_motion()) return false;
    look_for_jam();
    if (!begin_guards()) return false;
    Course& course = leg_.course = template_;
    course.t = t_, course.bound = std::min(course.bound, next_end());
    course.step = course.proposed = course.natural = first_step_;
    course.expandable = rules_.expanded * first_step_;
    course.x = leg_.x.data(), course.base = leg_.base.data(), course.y = leg_.y.data(), course.f = leg_.f.data();
    course.values = leg_.values.data(), course.highest = leg_.highest.data(), course.floor = leg_.floor.data();
    course.rounding = leg_.rounding.data(), course.band = leg_.band.data();
    course.directions = leg_.directions.data();
    return true;
}

bool Journey::fires_at_start() {
    fired_.clear();
    for (std::size_t g = 0; g < leg_.values.size(); ++g) {
        if (leg_.values[g] < -leg_.band[g]) fired_.push_back({arc_.guards.all[g].kind, contacts_[g]});
    }
    clock_ = false;
    at_once_ = from_zero_ = true;
    return !fired_.empty();
}

bool Journey::find_rates(const double* x) {
    Sweep& sweep = room_.scratch.sweep;
    sweep.prepare(world_.robot);
    sweep.ground = world_.terrain.at(t_);
    sweep.motions(world_.robot, x, x + world_.robot.nq);
    room_.told.rates.resize(arc_.mode.rows);
    return contact_velocities(arc_.mode, sweep, x + world_.robot.nq, room_.told.rates.data());
}

bool Journey::find_motion() {
    const References references{leg_.directions.data(), template_.straight, thresholds_.leap};
    if (!motion_at(arc_, references, t_, x_.data(), room_)) return false;
    room_.find_regularity(arc_);
    return true;
}

bool Journey::set_directions() {
    leg_.directions.clear();
    bool free = false, begins = false;
    for (const ContactState& state : mode_.states) {
        if (!state.closed()) continue;
        leg_.directions.insert(leg_.directions.end(), state.direction.begin(), state.direction.end());
    }
    for (const Closed& closed : arc_.mode.closed) {
        free = free || slips_freely(closed), begins = begins || closed.state == State::slip_begins;
    }
    if (free && !find_rates(x_.data())) return false;
    for (std::size_t i = 0; i < arc_.mode.closed.size(); ++i) {
        if (!slips_freely(arc_.mode.closed[i])) continue;
        const double* slip = &room_.told.rates[arc_.mode.first[i] + 1];
        const double speed = size_of(slip);
        leg_.directions[2 * i] = speed > 0.0 ? slip[0] / speed : 1.0;
        leg_.directions[2 * i + 1] = speed > 0.0 ? slip[1] / speed : 0.0;
    }
    if (begins && !find_motion()) return false;
    if (begins) turn_beginnings();
    return true;
}

void Journey::turn_beginnings() {
    for (std::size_t i = 0; i < arc_.mode.closed.size(); ++i) {
        const Closed& closed = arc_.mode.closed[i];
        if (closed.state != State::slip_begins) continue;
        const double* force = &room_.told.forces[arc_.mode.first[i]];
        const double pressed = closed.friction * force[0];
        if (pressed == 0.0) continue;
        for (int d = 0; d < 2; ++d) leg_.directions[2 * i + d] = -force[1 + d] / pressed;
    }
}

double Journey::fastest_turn() const {
    double fastest = 0.0;
    for (std::size_t i = 0; i < arc_.mode.closed.size(); ++i) {
        if (!slips_freely(arc_.mode.closed[i])) continue;
        const int row = arc_.mode.first[i] + 1;
        const double speed = std::max(size_of(&room_.told.rates[row]), thresholds_.no_speed);
        fastest = std::max(fastest, size_of(&room_.change[row]) / speed);
    }
    return fastest;
}

void Journey::look_for_jam() {
    Jam& jam = arc_.guards.jam;
    jam = {1.0, rules_.event_time};
    const auto& all = arc_.guards.all;
    if (all.empty() || all.back().kind != GuardKind::jam) return;
    const double left = std::abs(room_.regularity) - thresholds_.jammed, least = rules_.at_jam * thresholds_.jammed;
    jam.sense = 0.0;
    if (left <= least) return;
    const double turning = left <= thresholds_.near_jam ? fastest_turn() : 0.0;
    if (!(left - rules_.event_time * turning > least)) jam.window = rules_.closer * left / turning;
    jam.sense = room_.regularity > 0.0 ? 1.0 : -1.0;
}

double Journey::force_rounding() const {
    const EventRules& of = world_.rules;
    double largest = of.no_force, others = 0.0;
    for (const double force : room_.told.forces) largest = std::max(largest, std::abs(force));
    for (int k = 0; k < world_.robot.nv; ++k) {
        others = std::max(others, std::abs(room_.scratch.sweep.free[k] + room_.force[k]));
    }
    return of.of_force * of.force * std::max(largest, of.least_force * others);
}

bool Journey::begin_guards() {
    const std::size_t count = arc_.guards.all.size();
    const double of_forces = arc_.mode.closed.empty() ? 0.0 : force_rounding();
    const References references{leg_.directions.data(), template_.straight, thresholds_.leap};
    leg_.values.resize(count);
    if (!guard_values(arc_, thresholds_, references, t_, x_.data(), room_, leg_.values.data())) return false;
    if (template_.automatic) turn_beginnings();  // where it looks for stiffness, references are renewed once more
    double place = 1.0;
    for (int k = 0; k < world_.robot.nq; ++k) place = std::max(place, std::abs(x_[k]));
    const double of_places = std::max(rules_.rearm, rules_.place_units * spacing(place));
    const double in_time = rules_.pace * spacing(t_), slow = rules_.of_slip_speed * rules_.slip_speed;
    for (std::size_t g = 0; g < count; ++g) {
        const Guard& guard = arc_.guards.all[g];
        double rounding = rules_.rearm, band = rules_.jump;
        if (guard.kind == GuardKind::gap) rounding = of_places, band = rules_.start_depth;
        if (guard.kind == GuardKind::slow || guard.kind == GuardKind::fast) rounding = band = slow;
        if (guard.kind == GuardKind::turn) {
            rounding = rules_.of_turning * thresholds_.turning, band = std::numeric_limits<double>::infinity();
        }
        if (guard.kind == GuardKind::stop) {
            const bool begins = arc_.mode.closed[guard.closed].state == State::slip_begins;
            rounding = rules_.at_stop * rules_.speed, band = begins ? rules_.slip_speed : rules_.speed;
        }
        if (looks_at_forces(guard.kind)) {
            rounding = band = of_forces;
        } else {
            rounding = std::max(rounding, in_time);
        }
        leg_.rounding.push_back(rounding), leg_.band.push_back(std::max(band, rounding));
        leg_.floor.push_back(std::min(leg_.values[g], 0.0));
        // Of what jumped where the arc begins, only what nobody sees is passed without a note.
        if (!(leg_.values[g] >= -leg_.band[g]) && !is_inner(guard.kind)) return false;
    }
    leg_.highest = leg_.first_values = leg_.values;
    return true;
}

double Journey::slow_turn() const {
    double time = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < arc_.mode.closed.size(); ++i) {
        if (!slips_freely(arc_.mode.closed[i])) continue;
        const double* z = &room_.told.rates[arc_.mode.first[i] + 1];
        const double* along = &room_.change[arc_.mode.first[i] + 1];
        const double speed = size_of(z);
        if (!(0.0 < speed && speed < rules_.begun * rules_.slip_speed)) continue;
        const double across = std::abs(z[0] * along[1] - z[1] * along[0]);
        if (!(across / std::max(size_of(along), TINY) > rules_.aside)) continue;
        const double slowing = std::abs(z[0] * along[0] + z[1] * along[1]);
        time = std::min(time, (z[0] * z[0] + z[1] * z[1]) / std::max(slowing, TINY));
    }
    return time < std::numeric_limits<double>::infinity() ? time : 0.0;
}

bool Journey::may_be_stiff() {
    const bool free = std::any_of(arc_.mode.closed.begin(), arc_.mode.closed.end(), slips_freely);
    if (!free || !find_motion()) return free;
    const double time = slow_turn();
    if (time == 0.0) return false;
    const Robot& robot = world_.robot;
    const int nv = robot.nv;
    if (world_.drive.callback || world_.drive.memory) return true;
    Matrix by_state;
    by_state.clear(nv, 2 * nv);
    world_.drive.by_state(robot, by_state.rows());
    DerivativeScratch& scratch = rooms_.derivative;
    scratch.scratch.sweep.ground = world_.terrain.at(t_);
    const References references{leg_.directions.data(), template_.straight};
    if (!differentiate(robot, arc_.mode, references, x_.data(), x_.data() + robot.nq, room_.force.data(),
                       by_state.rows(), 2 * nv, scratch, nullptr)) {
        return true;
    }
    double norm = 1.0;  // no eigenvalue is larger; of the rows that say dq' = dv it is one
    for (int k = 0; k < nv; ++k) {
        double sum = 0.0;
        for (int j = 0; j < 2 * nv; ++j) sum += std::abs(by_state.rows()[k][j]);
        norm = std::max(norm, sum);
    }
    return !(norm <= rules_.lasting / time);
}

bool Journey::follow() {
    if (template_.automatic && may_be_stiff()) return false;
    Course& course = leg_.course;
    cruise(arc_, method_, thresholds_, course, rooms_);
    error_ = course.error;
    begun_ = course.steps > 0;
    if (!begun_ || course.error || !ends_in_event()) return false;
    t_ = course.t;
    x_ = leg_.x;
    fired_.clear();
    for (const int g : course.fired) fired_.push_back({arc_.guards.all[g].kind, contacts_[g]});
    clock_ = t_ >= course.bound;
    const bool led = course.leader >= 0;
    at_once_ = led && course.at_once;
    from_zero_ = led && leg_.first_values[course.leader] <= leg_.band[course.leader];
    return true;
}

bool Journey::ends_in_event() const {
    const Course& course = leg_.course;
    if (!course.pending || !course.located) return false;
    // What is in reach of the end of the journey, or ends there, is Python's.
    if (course.bound >= template_.bound) return !course.hemmed && course.t < course.bound && !course.fired.empty();
    return course.t >= course.bound || !course.fired.empty();
}

double Journey::next_end() const {
    double next = INFINITY;
    for (const ContactState& state : mode_.states) {
        if (state.until > t_) next = std::min(next, state.until);
    }
    return next;
}

}  // namespace native
