#include "cruise.hpp"

#include <algorithm>

#include "charts.hpp"
#include "voyage.hpp"

namespace native {

void Voyage::run() {
    try {
        while (course_.steps < course_.most && go_on()) {
        }
    } catch (...) {
        if (!course_.steps) throw;
        course_.error = std::current_exception();
    }
}

bool Voyage::go_on() {
    if (!step()) return false;
    Shown shown = see() ? judge(step_.t1) : Shown::unknown;
    bool located = (shown == Shown::falls || shown == Shown::bottom) && locate();
    const bool landed = located && course_.fired.empty();  // at the bottom of a dip, above zero
    if (landed) shown = Shown::clear;
    const bool ends = step_.t1 >= course_.bound;
    if (shown == Shown::clear) located = ends ? look_at_end() : course_.suspected && nothing_fires();
    keep();
    course_.t = step_.t1;
    std::copy(step_.end.begin(), step_.end.end(), course_.x);
    if (landed || !within_chart()) restart();
    course_.pending = shown != Shown::clear || course_.suspected || ends;
    course_.located = located;
    if (shown == Shown::clear && (located ? course_.fired.empty() : !course_.pending)) accept();
    return !course_.pending && put_back();
}

bool Voyage::step() {
    step_.t0 = course_.t, knows_start_ = knows_values_ = false;
    std::copy(course_.x, course_.x + size_, step_.start.begin());
    double approach = INFINITE;
    const bool in_haste = course_.in_haste;
    if ((free_ || begins_) && !turn_references(approach)) return false;
    const double longest = std::min({course_.max_step, without_turning(), without_growing(), approach});
    if (course_.stiff) return step_stiffly(approach, longest);
    const double until_next = led_to_next(longest);
    if (course_.fresh) begin_chart();
    double proposed = course_.step;
    if (approach < course_.approach) {
        proposed = course_.approach < INFINITE ? proposed * approach / course_.approach
                                               : std::min(proposed, rules_.first_share * approach);
    }
    expand(approach);
    const double tried = std::min(proposed, std::min(longest, until_next));
    const double ahead = std::min(tried, course_.bound - step_.t0);
    const double usual = std::min(std::max(course_.natural, 0.0), longest);
    if (!advance_shortly(ahead, usual, proposed) && !advance(proposed, std::min(longest, until_next))) {
        course_.in_haste = in_haste;
        return false;
    }
    course_.approach = approach;
    course_.hemmed = course_.hemmed || course_.bound - step_.t0 <= rules_.within_reach * tried;
    course_.suspected = at_the_edge();
    if (step_.t1 < course_.bound) {
        course_.proposed = course_.step;
        if (longest >= std::max(course_.natural, 0.0) && !course_.in_haste) course_.natural = course_.step;
    }
    return true;
}

void Voyage::expand(double approach) {
    if (room_.expansion || !free_ || begins_ || arc_.mode.redundant || arc_.drive.memory) return;
    if (!(approach <= course_.expandable)) return;
    if (course_.bound - step_.t0 <= rules_.behind * approach) {
        course_.hemmed = true;  // nothing is asked about what lies behind the bound
        return;
    }
    course_.expandable = rules_.sooner * approach;
    if (slowest_ <= rules_.all_but * arc_.slip_speed) return;
    const double* x = step_.start.data();
    const Scratch* laid = room_.knows(step_.t0, x) ? &room_.scratch : nullptr;
    const Origin origin{robot_, arc_.mode, arc_.drive, room_.known, step_.t0, x, room_.acceleration.data(), laid};
    if (!expansion_.make(origin, references(), rules_.expanding, approach / rules_.approach, course_.atol)) return;
    room_.expansion = &expansion_;
    course_.evaluations += expansion_.evaluations();
}

bool Voyage::still_holds() {
    const double* v = step_.start.data() + robot_.nq;
    return expansion_.holds(step_.t0) &&
           !expansion_.is_off(references(), step_.t0, v, room_.acceleration.data(), room_.told.rates);
}

bool Voyage::rates_at_start(std::vector<double>& rates) {
    const double *q = step_.start.data(), *v = q + robot_.nq;
    Scratch& scratch = room_.scratch;
    scratch.sweep.ground = arc_.mode.terrain.at(step_.t0);
    if (robot_.loops.size()) {  // whose rounding is that of the motion, which is known here or not
        if (!lay_rows(robot_, arc_.mode, q, v, scratch)) return false;
        rates = scratch.rates;
        return true;
    }
    scratch.sweep.prepare(robot_);
    scratch.sweep.motions(robot_, q, v);
    rates.resize(arc_.mode.rows);
    return contact_velocities(arc_.mode, scratch.sweep, v, rates.data());
}

bool Voyage::turn_references(double& approach) {
    const double* x = step_.start.data();
    std::vector<double>& rates = room_.told.rates;
    if (!room_.knows(step_.t0, x) && !rates_at_start(rates)) return false;
    for (std::size_t i = 0; i < arc_.mode.closed.size(); ++i) {
        if (!slips_freely(arc_.mode.closed[i])) continue;
        const double along = rates[arc_.mode.first[i] + 1], aside = rates[arc_.mode.first[i] + 2];
        const double speed = std::hypot(along, aside);
        if (speed == 0.0) continue;
        course_.directions[2 * i] = along / speed, course_.directions[2 * i + 1] = aside / speed;
    }
    if (!motion_at(arc_, references(), step_.t0, x, room_)) return false;
    knows_start_ = !begins_;  // of slips that begin the references turn with it
    along_rows(robot_, arc_.mode, room_.scratch, room_.acceleration.data(), room_.change.data());
    if (room_.expansion && !still_holds()) room_.expansion = nullptr;
    slowest_ = INFINITE, growing_ = 0.0;
    for (std::size_t i = 0; i < arc_.mode.closed.size(); ++i) {
        if (arc_.mode.closed[i].state == State::slip_begins) {
            std::copy_n(room_.scratch.slip[i].data(), 2, course_.directions + 2 * i);
        }
        if (!slips_freely(arc_.mode.closed[i])) continue;
        const double* z = &room_.told.rates[arc_.mode.first[i]];
        const double* along = &room_.change[arc_.mode.first[i]];
        const double speed = std::sqrt(z[1] * z[1] + z[2] * z[2]), slow = arc_.slip_speed;
        const double slowing = speed > 0.0 ? -(z[1] * along[1] + z[2] * along[2]) / speed : 0.0;
        if (speed > 0.0) growing_ = std::max(growing_, -slowing / speed);
        if (speed < slowest_) {
            slowest_ = speed;
            const double square = std::max(z[1] * z[1] + z[2] * z[2], rules_.no_speed * rules_.no_speed);
            slowing_ = (z[1] * along[1] + z[2] * along[2]) / square;
        }
        if (!(slowing > 0.0 && speed > slow)) continue;
        double ahead = speed - slow;
        ahead = ahead <= rules_.close_to_stop * slow ? ahead + 0.5 * slow : rules_.approach * ahead;
        approach = std::min(approach, ahead / slowing);
    }
    if (following_.empty() || room_.expansion) return true;
    values_.resize(ng_);
    knows_values_ = some_guard_values(arc_, rules_, references(), following_, step_.t0, x, room_, values_.data());
    return true;
}

double Voyage::without_turning() const {
    double spin = 0.0;
    for (const int k : arc_.turning) spin = std::max(spin, std::abs(step_.start[robot_.nq + k]));
    return spin > 0.0 ? rules_.turn / spin : INFINITE;
}

double Voyage::without_growing() const {
    return growing_ > 0.0 ? rules_.away / growing_ : INFINITE;
}

double Voyage::led_to_next(double longest) {
    if (!course_.in_haste) return INFINITE;
    const double horizon = rules_.short_step * std::min(std::max(course_.natural, 0.0), longest) / rules_.beyond;
    const double length = rules_.beyond * soonest(horizon);
    course_.in_haste = length < INFINITE;
    return std::max(length, arc_.event_time);
}

double Voyage::soonest(double horizon) {
    const double* x = step_.start.data();
    const double* v = x + robot_.nq;
    Sweep& sweep = room_.scratch.sweep;
    if (!room_.knows(step_.t0, x)) {
        sweep.prepare(robot_);
        sweep.ground = arc_.mode.terrain.at(step_.t0);
        sweep.motions(robot_, x, v);
    }
    std::vector<std::pair<const Contact*, Nearing>> near;
    for (const Guard& guard : arc_.guards.all) {
        if (guard.kind != GuardKind::gap || guard.sense < 0.0 || arc_.limits_alone || guard.contact().edges) continue;
        if (guard.contact().is_flat() || guard.contact().idle) continue;
        if (guard.contact().features && guard.contact().features->passing) continue;
        const Nearing seen = nearing(arc_.mode, guard.contact(), sweep, x, v);
        const double reach = horizon * (2.0 * std::abs(seen.rate) + horizon * rules_.jolt);
        if (seen.smooth && seen.gap <= horizon * rules_.fastest && seen.gap <= reach) {
            near.emplace_back(&guard.contact(), seen);
        }
    }
    bool held = false;
    for (const Closed& closed : arc_.mode.closed) held = held || closed.state == State::slip_held;
    if (near.empty() && !held) return INFINITE;
    if (!knows_start_ && !motion_at(arc_, references(), step_.t0, x, room_)) return INFINITE;
    knows_start_ = true;
    const double* acceleration = room_.acceleration.data();
    double first = INFINITE;
    const auto look = [&](double value, double rate, double bend) {
        const double time = time_to_fall(value, rate, bend);
        if (time > 0.0) first = std::min(first, time);
    };
    for (const auto& [contact, seen] : near) {
        look(seen.gap, seen.rate, gap_change(robot_, arc_.mode, *contact, sweep, acceleration));
    }
    along_rows(robot_, arc_.mode, room_.scratch, acceleration, room_.change.data());
    const int tangents = static_cast<int>(arc_.mode.terrain.basis.size()) - 1;
    for (std::size_t i = 0; i < arc_.mode.closed.size(); ++i) {
        if (arc_.mode.closed[i].state != State::slip_held) continue;
        double speed = 0.0, change = 0.0;
        for (int d = 0; d < tangents; ++d) {
            const double direction = course_.directions[2 * i + d];
            speed += direction * room_.told.rates[arc_.mode.first[i] + 1 + d];
            change += direction * room_.change[arc_.mode.first[i] + 1 + d];
        }
        look(speed, change, 0.0);
    }
    return first;
}

void Voyage::stages(double h, int first, int last) {
    const Method method{method_.a.data(), method_.c.data(), Dop853::ALL};
    run_stages(robot_, arc_.mode, references(), arc_.drive, method, base_.data(), step_.t0, h, step_.y.data(),
               k_.data(), points_.data(), first, last, room_.known, room_.expansion);
    if (!room_.expansion) course_.evaluations += last - first;
}

void Voyage::end_stage(const Method& method, double end, int stage) {
    const double h = end - step_.t0;
    if (room_.expansion || !watches_motion_) {
        run_stages(robot_, arc_.mode, references(), arc_.drive, method, base_.data(), step_.t0, h, step_.y.data(),
                   k_.data(), points_.data(), stage, stage + 1, room_.known, room_.expansion);
    } else {
        double *at = &points_[stage * n_], *out = &k_[stage * n_];
        point_of_stage(method, stage, n_, h, step_.y.data(), k_.data(), at);
        chart_point(at, step_.end.data());
        rate_at(end, step_.end.data(), out);
        chart_rate(robot_, at, out);
    }
    if (!room_.expansion) ++course_.evaluations;
}

void Voyage::rate_at(double t, const double* x, double* rate) {
    const auto finite = [](double number) { return std::isfinite(number); };
    if (!std::all_of(x, x + size_, finite) || !motion_at(arc_, references(), t, x, room_)) {
        std::fill(rate, rate + n_, std::numeric_limits<double>::quiet_NaN());
        return;
    }
    const int nv = robot_.nv;
    std::copy_n(x + robot_.nq, nv, rate);
    std::copy_n(room_.acceleration.begin(), nv, rate + nv);
    std::copy(room_.memory.begin(), room_.memory.end(), rate + 2 * nv);
}

void Voyage::begin_chart() {
    std::copy(course_.x, course_.x + size_, base_.begin());
    std::fill(course_.y, course_.y + n_, 0.0);
    std::fill(step_.y.begin(), step_.y.end(), 0.0);
    if (!room_.expansion) {
        rate_at(step_.t0, step_.start.data(), course_.f);
        ++course_.evaluations;
    } else {
        stages(0.0, 0, 1);
        std::copy(k_.begin(), k_.begin() + n_, course_.f);
    }
    course_.fresh = false;
    course_.step = std::min(course_.proposed, course_.bound - course_.t);
}

const Lower* Voyage::lower(double ahead, double usual, double proposed) const {
    if (ahead <= rules_.briefly * usual) return &method_.third;
    return ahead <= rules_.shortly * std::min(usual, proposed) ? &method_.fifth : nullptr;
}

bool Voyage::advance_shortly(double ahead, double usual, double proposed) {
    const Lower* method = lower(ahead, usual, proposed);
    if (!method || !(ahead >= 10.0 * spacing(step_.t0))) return false;
    const double end = std::min(step_.t0 + ahead, course_.bound), before = course_.step;
    std::copy(course_.y, course_.y + n_, step_.y.begin());
    std::copy(course_.f, course_.f + n_, k_.begin());
    if (!lower_step(*method, end)) return false;
    course_.step = rules_.max_factor * (end - step_.t0);
    if (end_step(&points_[Dop853::STAGES * n_], &k_[Dop853::STAGES * n_], end, rules_.spent)) return true;
    course_.step = before;
    return false;
}

bool Voyage::lower_step(const Lower& method, double end) {
    const double h = end - step_.t0;
    const int last = method.last();
    const Method stages{method.a.data(), method.c.data(), last + 1};
    run_stages(robot_, arc_.mode, references(), arc_.drive, stages, base_.data(), step_.t0, h, step_.y.data(),
               k_.data(), points_.data(), 1, last, room_.known, room_.expansion);
    if (!room_.expansion) course_.evaluations += last - 1;
    end_stage(stages, end, last);
    const auto weighted_rate = [&](const std::vector<double>& weights, int i) {
        double sum = 0.0;
        for (int s = 0; s <= last; ++s) sum += weights[s] * k_[s * n_ + i];
        return sum;
    };
    double missed = 0.0;
    for (int i = 0; i < n_; ++i) {
        const double y_new = points_[last * n_ + i];
        const double scale = course_.atol + std::max(std::abs(step_.y[i]), std::abs(y_new)) * course_.rtol;
        const double part = h * weighted_rate(method.missed, i) / scale;
        missed += part * part;
    }
    if (!(missed <= rules_.brief * rules_.brief * n_)) return false;
    for (int i = 0; i < n_; ++i) {
        if (!std::isfinite(k_[last * n_ + i])) return false;
    }
    std::fill(step_.parts.begin(), step_.parts.end(), 0.0);
    for (int i = 0; i < n_; ++i) step_.parts[3 * n_ + i] = h * weighted_rate(method.bend, i);
    for (const int s : {0, 1}) {  // where the end of a step of DOP853 has its last two rates
        std::copy_n(&k_[(last - 1 + s) * n_], n_, &k_[(Dop853::STAGES - 1 + s) * n_]);
        std::copy_n(&points_[(last - 1 + s) * n_], n_, &points_[(Dop853::STAGES - 1 + s) * n_]);
    }
    cubic(&points_[Dop853::STAGES * n_], h);
    return true;
}

bool Voyage::advance(double proposed, double longest) {
    const double t = step_.t0, smallest = 10.0 * spacing(t);
    const double* y = course_.y;
    std::copy(y, y + n_, step_.y.begin());
    std::copy(course_.f, course_.f + n_, k_.begin());
    double length = std::min(std::max(proposed, smallest), longest), end, error;
    bool rejected = false;
    const double* y_new = &points_[Dop853::STAGES * n_];
    while (true) {
        if (!(length >= smallest)) return false;
        end = std::min(t + length, course_.bound);
        const double h = end - t;
        length = std::abs(h);
        stages(h, 1, Dop853::STAGES);
        error = end_within(end);
        if (error < 1.0 && !overshoots(y_new, h)) break;
        if (arc_.mode.redundant && std::isnan(error)) return false;  // Python tells which forces act
        const double factor = error < 1.0 ? 0.0 : rules_.safety * std::pow(error, -0.125);
        length *= factor > rules_.min_factor ? factor : rules_.min_factor;  // NaN: the shortest
        rejected = true;
    }
    const double h = end - t;
    const double grown = growth(error);
    stages(h, Dop853::STAGES + 1, Dop853::ALL);
    dense_output(y_new, h);
    const double before = course_.step;
    course_.step = length * (rejected ? std::min(1.0, grown) : grown);
    if (end_step(y_new, &k_[Dop853::STAGES * n_], end, rules_.spent)) return true;
    course_.step = before;
    return false;
}

double Voyage::end_within(double end) {
    const Method method{method_.a.data(), method_.c.data(), Dop853::ALL};
    const double h = end - step_.t0;
    double* y_new = &points_[Dop853::STAGES * n_];
    point_of_stage(method, Dop853::STAGES, n_, h, step_.y.data(), k_.data(), y_new);
    const double error = error_norm(y_new, h);
    if (!(error < 1.0)) return error;
    end_stage(method, end, Dop853::STAGES);
    const double* rate = &k_[Dop853::STAGES * n_];
    const bool known = std::all_of(rate, rate + n_, [](double number) { return std::isfinite(number); });
    return known ? error : std::numeric_limits<double>::quiet_NaN();
}

bool Voyage::is_known(const double* y_new) const {
    const auto finite = [](double number) { return std::isfinite(number); };
    return std::all_of(y_new, y_new + n_, finite) && std::all_of(step_.parts.begin(), step_.parts.end(), finite);
}

bool Voyage::end_step(const double* y_new, const double* f_new, double end, double spent) {
    if (!is_known(y_new)) return false;
    step_.t1 = step_.until = end;
    chart_point(y_new, step_.end.data());
    if (!values_at(end, step_.end.data(), step_.guards.data())) return false;
    step_.miss = std::min(1.0, std::pow((end - step_.t0) / course_.step, spent));
    allowed_ = std::max(end - step_.t0, course_.step);
    std::copy(y_new, y_new + n_, course_.y);
    std::copy(f_new, f_new + n_, course_.f);
    return true;
}

double Voyage::growth(double error) const {
    if (error == 0.0) return rules_.max_factor;
    return std::min(rules_.max_factor, rules_.safety * std::pow(error, -0.125));
}

double Voyage::error_norm(const double* y_new, double h) const {
    double fifth = 0.0, third = 0.0;
    for (int i = 0; i < n_; ++i) {
        double five = 0.0, three = 0.0;
        for (int s = 0; s < Dop853::STAGES; ++s) {  // the rate at the end has no weight
            five += method_.e5[s] * k_[s * n_ + i];
            three += method_.e3[s] * k_[s * n_ + i];
        }
        const double scale = course_.atol + std::max(std::abs(step_.y[i]), std::abs(y_new[i])) * course_.rtol;
        fifth += (five / scale) * (five / scale), third += (three / scale) * (three / scale);
    }
    if (fifth == 0.0 && third == 0.0) return 0.0;
    return std::abs(h) * fifth / std::sqrt((fifth + 0.01 * third) * n_);
}

// Whether a step is too long for a decay, though its error seems to be small: its dense output is not.
bool Voyage::overshoots(const double* y_new, double h) const {
    if (!(reach(h) > rules_.overshot)) return false;
    double missed = 0.0;
    for (int i = 0; i < n_; ++i) {
        const double scale = course_.atol + std::max(std::abs(step_.y[i]), std::abs(y_new[i])) * course_.rtol;
        const double apart = h * (k_[Dop853::STAGES * n_ + i] - k_[(Dop853::STAGES - 1) * n_ + i]) / scale;
        missed += apart * apart;
    }
    return missed > rules_.off * rules_.off * n_;
}

// Estimate of h |lambda| in a step, by the two rates at its end: stability ends at some six.
double Voyage::reach(double h) const {
    double apart = 0.0, moved = 0.0;
    for (int i = 0; i < n_; ++i) {
        const double rate = k_[Dop853::STAGES * n_ + i] - k_[(Dop853::STAGES - 1) * n_ + i];
        const double way = points_[Dop853::STAGES * n_ + i] - points_[(Dop853::STAGES - 1) * n_ + i];
        apart += rate * rate, moved += way * way;
    }
    return moved > 0.0 ? h * std::sqrt(apart / moved) : 0.0;
}

void Voyage::cubic(const double* y_new, double h) {
    double* parts = step_.parts.data();
    const double* f_new = &k_[Dop853::STAGES * n_];
    for (int i = 0; i < n_; ++i) {
        const double rise = y_new[i] - step_.y[i];
        parts[i] = rise;
        parts[n_ + i] = h * k_[i] - rise;
        parts[2 * n_ + i] = 2.0 * rise - h * (f_new[i] + k_[i]);
    }
}

void Voyage::dense_output(const double* y_new, double h) {
    double* parts = step_.parts.data();
    cubic(y_new, h);
    for (int p = 3; p < Dop853::PARTS; ++p) {
        double* part = parts + p * n_;
        std::fill(part, part + n_, 0.0);
        for (int s = 0; s < Dop853::ALL; ++s) {
            add_scaled(part, h * method_.d[(p - 3) * Dop853::ALL + s], &k_[s * n_], n_);
        }
    }
}

bool Voyage::at_the_edge() {
    if (!course_.automatic) return false;
    const double h = step_.t1 - step_.t0, reach = this->reach(h);
    if (!(h < rules_.grown * course_.short_step)) course_.faded = 0.0, course_.short_step = h;
    if (reach > rules_.fading) course_.faded += reach;
    course_.fades = course_.faded >= course_.enough;
    if (course_.fades) {
        course_.faded = 0.0;
        return true;
    }
    const double ahead = course_.approach;  // to a singular place, which the stiff method nears in few steps
    if (reach <= rules_.near_edge && !(rules_.few * h < ahead && ahead < rules_.many * h)) {
        if (++course_.loose_steps >= rules_.loose) course_.held_steps = 0;
        return false;
    }
    if (!course_.held_steps) course_.began = h;
    ++course_.held_steps, course_.loose_steps = 0;
    const double needed = h < rules_.grown * course_.began ? rules_.held_fast : rules_.held;
    if (course_.held_steps < course_.patience * needed) return false;
    course_.held_steps = 0;
    return true;
}

void Voyage::chart_point(const double* dx, double* x) const {
    integrate_state(robot_, size_, base_.data(), dx, x);
}

bool Voyage::within_chart() const {
    for (const Joint& joint : robot_.joints) {
        const double* moved = course_.y + joint.v;
        const bool planar = joint.kind == JointKind::planar;
        const int first = joint.kind == JointKind::free_flyer ? 3 : planar ? 2 : 0;
        if (first == 0 && joint.kind != JointKind::spherical) continue;
        for (int k = first; k < joint.size; ++k) {
            if (!(std::abs(moved[k]) < rules_.chart_radius)) return false;
        }
    }
    return true;
}

void Voyage::restart() {
    course_.fresh = true;
    std::copy(course_.x, course_.x + size_, base_.begin());
    std::copy(base_.begin(), base_.end(), course_.base);
    std::fill(course_.y, course_.y + n_, 0.0);
}

bool Voyage::put_back() {
    std::vector<double> there(course_.x, course_.x + size_);
    aside_.scratch.sweep.ground = arc_.mode.terrain.at(course_.t);
    const Projection found =
        project(robot_, arc_.mode, references(), arc_.drift, aside_.scratch, there.data(), there.data() + robot_.nq);
    if (found == Projection::unknown) return false;
    if (found == Projection::moved) {
        std::copy(there.begin(), there.end(), course_.x);
        if (course_.fresh) {
            base_ = there;
        } else {
            std::vector<double> back(n_);
            for (int k = 0; k < n_; ++k) back[k] = -course_.y[k];
            integrate_state(robot_, size_, there.data(), back.data(), base_.data());
        }
        std::copy(base_.begin(), base_.end(), course_.base);
    }
    return true;
}

void Voyage::keep() {
    std::vector<double>& record = course_.record;
    const auto put = [&](const std::vector<double>& part) { record.insert(record.end(), part.begin(), part.end()); };
    for (const double number : {step_.t0, step_.t1, step_.miss, step_.until}) record.push_back(number);
    put(base_), put(step_.start), put(step_.end), put(step_.y), put(step_.parts), put(step_.guards);
    ++course_.steps;
}

int Arc::record_size() const {
    const int nq = robot.nq, nv = robot.nv, memory = drive.memory;
    const int n = 2 * nv + memory, size = nq + nv + memory;
    return 4 + 3 * size + (1 + Dop853::PARTS) * n + static_cast<int>(guards.all.size());
}

void cruise(const Arc& arc, const Dop853& method, const Thresholds& thresholds, Course& course, CruiseRoom& room) {
    Voyage(arc, method, thresholds, course, room).run();
}

}  // namespace native
