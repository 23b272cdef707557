#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "hiding.hpp"
#include "voyage.hpp"

namespace native {

namespace {

// Gap below which what does not touch with its features is too close to doing so in another way for bounds to say much
// of it, and what is added to the gap there.
struct Looseness {
    double close, off;
};

Looseness looseness_of(const Contact& contact) {
    if (contact.is_flat()) {
        const Flat& flat = *contact.feature->flat;
        return {flat.rules.loose * flat.extent(), flat.rules.off};
    }
    if (contact.features) {
        const SharpRules& rules = contact.other->rules;
        if (contact.features->passing) return {rules.loose * contact.features->arm, rules.off};
    }
    if (!contact.edges && contact.meets_corners) return {-std::numeric_limits<double>::infinity(), 0.0};
    const SharpRules& rules = contact.other->rules;
    // What does not meet corners is one of a body against the axis of a capsule.
    const double size = contact.edges ? contact.edges->lever : 0.5 * contact.other->hull->lengths[0];
    return {rules.loose * size, rules.off};
}

// Whether the axes of the solid that it is a gap to turn.
bool turns(const Guard& guard) {
    const Contact& contact = guard.contact();
    return contact.features || (contact.other && !contact.other->is_round());
}

bool is_loose(const Contact& contact, double close, const Sweep& sweep) {
    if (contact.edges) {
        const EdgeLook seen = cross_edges(*contact.edges, *contact.other, sweep);
        return !seen.touches && seen.gap < close;
    }
    if (contact.features) {
        const FeatureLook seen = contact.features->look(places_of(contact, sweep));
        return !seen.touches && seen.gap < close;
    }
    if (!contact.is_flat()) {
        const Meeting seen = met(contact, sweep);
        return seen.corner && seen.gap + contact.other->rules.off < close;
    }
    const Flat& flat = *contact.feature->flat;
    const Pose pose = pose_of(contact, sweep);
    bool near;
    flat.clearance(pose, near);
    if (!near) return false;
    const FlatLook seen = flat.look(pose);
    return !seen.acts && flat.near_gap(seen) < close;
}

}  // namespace

bool Voyage::values_at(double t, const double* x, double* values) {
    return guard_values(arc_, rules_, references(), t, x, room_, values);
}

bool Voyage::values_within(double t, const double* x, double* values) {
    aside_.expansion = room_.expansion;
    return guard_values(arc_, rules_, references(), t, x, aside_, values);
}

const double* Voyage::state_at(double t) {
    const auto powers = Dop853::powers((t - step_.t0) / (step_.until - step_.t0));
    std::vector<double>& dx = shift_;
    dx = step_.y;
    for (int p = 0; p < Dop853::PARTS; ++p) add_scaled(dx.data(), powers[p], &step_.parts[p * n_], n_);
    point_.resize(size_);
    chart_point(dx.data(), point_.data());
    return point_.data();
}

bool Voyage::some_within(const std::vector<int>& asked, double t, const double* x, double* values) {
    aside_.expansion = room_.expansion;
    return some_guard_values(arc_, rules_, references(), asked, t, x, aside_, values);
}

bool Voyage::see() {
    if (hides()) return false;
    times_.assign(2, 0.0);
    if (arc_.reach) bounds_of_gaps();
    if (!has_room()) return false;
    if (!ng_) return true;
    if (!follow()) return false;
    certain_.assign(ng_, 0);
    find_loose();
    for (int g = 0; g < ng_; ++g) {
        const bool risen = course_.highest[g] - course_.floor[g] > rules_.at_once * course_.rounding[g];
        certain_[g] = is_bounded(g) && risen;
    }
    if (!look()) return false;
    const int rows = static_cast<int>(times_.size());
    for (int g = 0; g < ng_; ++g) {
        if (!certain_[g] && is_smooth(g) && rows == Dop853::NODES && !resolved(g)) return false;
    }
    return true;
}

bool Voyage::follow() {
    if (following_.empty()) return true;
    if (!knows_values_ || room_.expansion) {
        return some_within(following_, step_.t0, step_.start.data(), course_.values);
    }
    for (const int g : following_) course_.values[g] = values_[g];
    return true;
}

Shown Voyage::judge(double until) {
    falls_.clear(), bottom_ = INFINITE;
    for (int g = 0; g < ng_; ++g) {
        if (!is_suspect(g)) continue;
        Crossing hit;
        const Shown shown = first(g, until, hit);
        if (shown == Shown::unknown) return shown;
        if (shown == Shown::falls) falls_.push_back(hit);
        if (shown == Shown::bottom) bottom_ = std::min(bottom_, hit.after);
    }
    const auto comes_before = [&](const Crossing& fall) { return fall.before < bottom_; };
    if (std::any_of(falls_.begin(), falls_.end(), comes_before)) bottom_ = INFINITE;
    if (bottom_ < INFINITE) return Shown::bottom;
    return falls_.empty() ? Shown::clear : Shown::falls;
}

void Voyage::begin_samples(int rows) {
    times_.resize(rows), samples_.resize(rows * ng_);
    std::copy(course_.values, course_.values + ng_, samples_.begin());
    std::copy(step_.guards.begin(), step_.guards.end(), samples_.end() - ng_);
    times_[0] = step_.t0, times_[rows - 1] = step_.t1;
}

bool Voyage::look() {
    begin_samples(2);
    if (are_all([&](int g) { return certain_[g]; })) return true;
    const bool known = !is_forced();
    if (known && step_.miss <= rules_.exact && are_all([&](int g) { return certain_[g] || is_quiet(g); })) return true;
    begin_samples(3);
    times_[1] = 0.5 * (step_.t0 + step_.t1);
    if (!values_within(times_[1], state_at(times_[1]), &samples_[ng_])) return false;
    const bool shown = known && are_all([&](int g) { return certain_[g] || is_shown(g); });
    return shown || look_closer(known);
}

bool Voyage::look_closer(bool known) {
    const std::vector<double> early = samples_;
    const double *start = early.data(), *middle = start + ng_, *end = middle + ng_;
    const auto is_open = [](double value) { return 0.0 < value && value < INFINITE; };
    std::vector<int> hidden;
    for (int g = 0; g < ng_; ++g) {
        const bool open = is_open(start[g]) && is_open(middle[g]) && is_open(end[g]);
        if (!(open && known && (certain_[g] || is_shown(g)))) hidden.push_back(g);
    }
    begin_samples(Dop853::NODES);
    for (int k = 1; k + 1 < Dop853::NODES; ++k) {
        const double s = method_.nodes[k], r = 1.0 - s;
        const double first = r * (r - s), second = 4.0 * s * r, third = s * (s - r);
        double* values = &samples_[k * ng_];
        times_[k] = step_.t0 + (step_.t1 - step_.t0) * s;
        for (int g = 0; g < ng_; ++g) values[g] = first * start[g] + second * middle[g] + third * end[g];
        if (!some_within(hidden, times_[k], state_at(times_[k]), values)) return false;
    }
    return true;
}

bool Voyage::is_driven() const {
    return arc_.drive.callback || (arc_.drive.gains && arc_.drive.gains->moving);
}

void Voyage::acting(double share, double* force) {
    const double t = step_.t0 + (step_.t1 - step_.t0) * share;
    std::fill(force, force + robot_.nv + arc_.drive.memory, 0.0);
    arc_.drive.at(robot_, t, step_.start.data(), force, force + robot_.nv, room_.known);
}

bool Voyage::hides() {
    const double looked = std::ceil((step_.t1 - step_.t0) / rules_.look);
    const int looks = static_cast<int>(std::min(looked, static_cast<double>(rules_.most_looks)));
    if (looks < 2 || !is_driven()) return false;
    constexpr int nodes = Dop853::NODES;
    const int width = robot_.nv + arc_.drive.memory;
    std::vector<double> known(nodes * width), series(nodes * width, 0.0), here(width);
    for (int k = 0; k < nodes; ++k) acting(method_.nodes[k], &known[k * width]);
    std::vector<double> low(known.begin(), known.begin() + width), high = low, apart(width, 0.0);
    double largest = 0.0;
    const auto widen = [&](const double* values) {
        for (int i = 0; i < width; ++i) {
            low[i] = std::min(low[i], values[i]), high[i] = std::max(high[i], values[i]);
            largest = std::max(largest, std::abs(values[i]));
        }
    };
    for (int k = 0; k < nodes; ++k) {
        widen(&known[k * width]);
        for (int j = 0; j < nodes; ++j) {
            const double weight = method_.to_series[k * nodes + j];
            for (int i = 0; i < width; ++i) series[k * width + i] += weight * known[j * width + i];
        }
    }
    for (int look = 1; look < looks; ++look) {
        const double share = static_cast<double>(look) / looks, s = 2.0 * share - 1.0;
        acting(share, here.data());
        widen(here.data());
        for (int i = 0; i < width; ++i) {
            double polynomial = series[i] + s * series[width + i], before = 1.0, at = s;
            for (int k = 2; k < nodes; ++k) {
                const double next = 2.0 * s * at - before;
                polynomial += next * series[k * width + i], before = at, at = next;
            }
            apart[i] = std::max(apart[i], std::abs(here[i] - polynomial));
        }
    }
    const double least = std::max(rules_.flat, rules_.noise * largest);
    for (int i = 0; i < width; ++i) {
        const double swing = high[i] - low[i];
        if (apart[i] > rules_.stray * swing && swing > least) return true;
    }
    return false;
}

bool Voyage::is_forced() {
    if (!is_driven()) return false;
    const int width = robot_.nv + arc_.drive.memory;
    std::vector<double> forces(Dop853::NODES * width);
    for (int k = 0; k < Dop853::NODES; ++k) acting(method_.nodes[k], &forces[k * width]);
    return bends(forces, width);
}

bool Voyage::bends(const std::vector<double>& values, int width) const {
    const int last = Dop853::NODES - 1;
    double way = 0.0, apart = 0.0;
    for (int k = 1; k <= last; ++k) {
        double moved = 0.0, aside = 0.0;
        for (int i = 0; i < width; ++i) {
            const double here = values[k * width + i] - values[i], whole = values[last * width + i] - values[i];
            const double off = here - method_.nodes[k] * whole;
            moved += here * here, aside += off * off;
        }
        way = std::max(way, moved), apart = std::max(apart, aside);
    }
    if (std::sqrt(apart) > rules_.bent * std::sqrt(way)) return true;
    for (int i = 0; i < width; ++i) {
        double swing = 0.0, rough = 0.0;
        for (int k = 1; k <= last; ++k) {
            double part = 0.0;
            for (int j = 0; j <= last; ++j) part += method_.to_series[k * (last + 1) + j] * values[j * width + i];
            swing += std::abs(part), rough += k >= 3 ? std::abs(part) : 0.0;
        }
        if (rough > rules_.bent * swing && swing > rules_.flat) return true;
    }
    return false;
}

bool Voyage::is_quiet(int g) const {
    const Guard& guard = arc_.guards.all[g];
    if (guard.kind == GuardKind::margin && !guard.margin.target<Sines>()) return false;
    const double low = least_sample(g);
    return low > rules_.quiet * (largest_sample(g) - low);
}

bool Voyage::is_shown(int g) const {
    if (is_quiet(g)) return true;
    const Guard& guard = arc_.guards.all[g];
    if (guard.kind == GuardKind::margin && !guard.margin.target<Sines>()) return false;
    const double a = samples_[g], b = samples_[ng_ + g], c = samples_[2 * ng_ + g];
    const double bow = std::abs(a - 2.0 * b + c);
    if (guard.kind == GuardKind::slow && c > 0.0 && bow <= rules_.monotone * (a - c)) return true;
    const bool straight = bow <= rules_.bent * std::abs(c - a);
    return step_.miss <= rules_.exact && is_smooth(g) && straight;
}

bool Voyage::is_smooth(int g) const {
    const Guard& guard = arc_.guards.all[g];
    return guard.kind != GuardKind::forces && !(guard.kind == GuardKind::gap && guard.contact().is_kinked());
}

double Voyage::largest_sample(int g) const {
    double high = samples_[g];
    for (std::size_t k = 1; k < times_.size(); ++k) high = std::max(high, samples_[k * ng_ + g]);
    return high;
}

double Voyage::least_sample(int g) const {
    double low = samples_[g];
    for (std::size_t k = 1; k < times_.size(); ++k) low = std::min(low, samples_[k * ng_ + g]);
    return low;
}

double Voyage::weighted(const std::vector<double>& table, int row, int g) const {
    double sum = 0.0;
    for (int k = 0; k < Dop853::NODES; ++k) sum += table[row * Dop853::NODES + k] * samples_[k * ng_ + g];
    return sum;
}

bool Voyage::resolved(int g) const {
    double swing = 0.0, rough = 0.0;
    for (int k = 1; k < Dop853::NODES; ++k) {
        const double part = std::abs(weighted(method_.to_series, k, g));
        swing += part, rough += k >= 4 ? part : 0.0;
    }
    return !(rough > rules_.unresolved * swing && least_sample(g) <= 2.0 * swing && swing > rules_.flat);
}

bool Voyage::dips_at(int g, int k) const {
    const std::vector<double>& grid = method_.grid;
    const int places = static_cast<int>(grid.size());
    const double slope = weighted(method_.to_slopes, k, g);
    if (!(slope < 0.0)) return false;
    const bool turns = k + 2 == places || weighted(method_.to_slopes, k + 1, g) > 0.0;
    const double slack = rules_.dip * (largest_sample(g) - least_sample(g));
    return turns && weighted(method_.to_grid, k, g) + slope * (grid[k + 1] - grid[k]) <= slack;
}

bool Voyage::dips(int g) const {
    for (std::size_t k = 0; k + 1 < method_.grid.size(); ++k) {
        if (dips_at(g, static_cast<int>(k))) return true;
    }
    return false;
}

void Voyage::bounds_of_gaps() {
    const int nv = robot_.nv;
    const double duration = step_.t1 - step_.t0;
    std::vector<double>&moved = moved_, &rates = rates_, &missed = missed_;
    moved.assign(n_, 0.0), rates.assign(n_, 0.0), missed.resize(nv), still_.assign(nv, 0.0);
    for (int p = 0; p < Dop853::PARTS; ++p) {
        for (int i = 0; i < n_; ++i) {
            const double part = std::abs(step_.parts[p * n_ + i]);
            moved[i] += method_.largest[p] * part;
            rates[i] += method_.largest[Dop853::PARTS + p] * part / (step_.until - step_.t0);
        }
    }
    for (int k = 0; k < nv; ++k) {
        missed[k] = step_.miss * (course_.path_atol + course_.path_rtol * (std::abs(step_.y[k]) + moved[k]));
        moved[nv + k] += std::abs(step_.start[robot_.nq + k]);
    }
    Sway &sway = sway_, &errors = sway_of_errors_;
    sway.along(*arc_.reach, step_.start.data(), &moved[nv], &rates[nv], duration);
    errors.along(*arc_.reach, step_.start.data(), missed.data(), still_.data(), 0.0);
    speed_.assign(ng_, 0.0), bend_.assign(ng_, 0.0), error_.assign(ng_, 0.0);
    if (std::any_of(arc_.guards.all.begin(), arc_.guards.all.end(), turns)) place_at_start();
    for (int g = 0; g < ng_; ++g) {
        const Guard& guard = arc_.guards.all[g];
        if (guard.kind != GuardKind::gap) continue;
        const auto& [own, other] = arc_.hosts[g];
        const Contact& contact = guard.contact();
        if (contact.is_limit()) {
            const int v = contact.velocity;
            speed_[g] = moved[nv + v], bend_[g] = rates[nv + v], error_[g] = missed[v];
        } else if (contact.idle) {
            continue;
        } else if (const auto& solid = contact.other) {
            // p = R^T (c - o): |p'| <= |c'| + |o'| + w |p|, |p''| <= |c''| + |o''| + (w' + w^2) |p| + 2 w |p'|; a
            // sphere has no axes to turn.
            speed_[g] = sway.speed_of(own) + sway.speed_of(other);
            bend_[g] = sway.acceleration_of(own) + sway.acceleration_of(other);
            error_[g] = errors.speed_of(own) + errors.speed_of(other);
            if (turns(guard)) {
                const double far =
                    distance_between(contact, aside_.scratch.sweep) + contact.extent + duration * speed_[g];
                const double spin = sway.spin[other.joint];
                speed_[g] += spin * far;
                bend_[g] += (sway.twist[other.joint] + spin * spin) * far + 2.0 * spin * speed_[g];
                error_[g] += errors.spin[other.joint] * far;
            }
            if (!contact.features) bend_[g] += solid->curvature(contact.radius) * speed_[g] * speed_[g];
        } else if (contact.is_flat()) {
            speed_[g] = sway.speed_of(own), bend_[g] = sway.acceleration_of(own), error_[g] = errors.speed_of(own);
        } else {
            const Terrain& terrain = arc_.mode.terrain;
            speed_[g] = sway.speed_of(own) + terrain.fastest(1);
            const double curved = terrain.hills ? terrain.hills->bend(contact.radius) : 0.0;
            bend_[g] = sway.acceleration_of(own) + terrain.fastest(2) + curved * speed_[g] * speed_[g];
            if (const Rounded* round = contact.round.get()) {  // over which the nearest point moves as it spins
                bend_[g] += round->bend * sway.spin[own.joint] * sway.spin[own.joint];
            }
            error_[g] = errors.speed_of(own);
        }
    }
}

bool Voyage::has_room() {
    if (!(course_.clearance < INFINITE)) return true;
    if (!arc_.reach || arc_.arms.empty()) return false;
    double first = 0.0, second = 0.0;  // the two fastest
    for (int j = 0; j < arc_.reach->joints; ++j) {
        const double speed = sway_.speed_of({j, arc_.arms[j]});
        second = std::max(second, std::min(first, speed)), first = std::max(first, speed);
    }
    approach_ = (step_.t1 - step_.t0) * (first + second);
    if (course_.way + approach_ < course_.clearance) return true;
    if (!arc_.gaps) return false;
    course_.way = course_.clearance - least_left_out(std::max(rules_.room * approach_, course_.clearance));
    return course_.way + approach_ < course_.clearance;
}

double Voyage::least_left_out(double distance) {
    place_at_start();
    const double* q = step_.start.data();
    const std::vector<Contact>& contacts = arc_.gaps->contacts;
    // Of what is no distance nothing is known but that it cannot close while the bodies are apart.
    const auto is_unmeasured = [&](int i) { return arc_.left_out[i] && !contacts[i].is_measured(); };
    double least = arc_.gaps->couples.nearest(distance, aside_.scratch.sweep, is_unmeasured);
    for (const int i : arc_.gaps->couples.within(least, aside_.scratch.sweep)) {
        if (!arc_.left_out[i] || !contacts[i].is_measured()) continue;
        least = std::min(least, gap_of(arc_.mode, contacts[i], aside_.scratch.sweep, q));
    }
    return least;
}

bool Voyage::is_bounded(int g) const {
    return arc_.reach && arc_.guards.all[g].kind == GuardKind::gap && !loose_[g];
}

void Voyage::find_loose() {
    loose_.assign(ng_, 0);
    bool placed = false;
    for (int g = 0; g < ng_; ++g) {
        const Contact& contact = arc_.guards.all[g].contact();
        const auto [close, off] = looseness_of(contact);
        if (!(course_.values[g] < close + off)) continue;
        if (!placed) place_at_start();
        placed = true;
        loose_[g] = is_loose(contact, close, aside_.scratch.sweep);
    }
}

void Voyage::place_at_start() {
    aside_.scratch.sweep.prepare(robot_);
    aside_.scratch.sweep.places(robot_, step_.start.data());
}

double Voyage::bend_of(int g) {
    const Contact& contact = arc_.guards.all[g].contact();
    if (contact.is_flat()) {
        place_at_start();
        const Flat& flat = *contact.feature->flat;
        const Pose pose = pose_of(contact, aside_.scratch.sweep);
        return bend_[g] + flat.bend(flat.look(pose).own, pose, speed_[g], sway_.spin[arc_.hosts[g].own.joint]);
    }
    if (!contact.edges && !contact.features) return bend_[g];
    place_at_start();
    const Hosts& hosts = arc_.hosts[g];
    const double spin = sway_.spin[hosts.own.joint] + sway_.spin[hosts.other.joint];
    if (contact.features) {
        const PairPlaces places = places_of(contact, aside_.scratch.sweep);
        return bend_[g] + contact.features->bend(places, speed_[g], spin, step_.t1 - step_.t0);
    }
    const double sine = cross_edges(*contact.edges, *contact.other, aside_.scratch.sweep).sine;
    return bend_[g] + edge_bend(contact.other->rules, sine, speed_[g], spin, step_.t1 - step_.t0);
}

double Voyage::distance_of(int g, double gap) const {
    const Contact& contact = arc_.guards.all[g].contact();
    if (contact.feature) {
        const double off = contact.feature->flat->rules.off, low = gap > off ? gap - off : gap;
        return contact.is_flat() ? low : arc_.mode.terrain.hills->at_least(low, contact.radius);
    }
    if (contact.is_kinked()) return gap > contact.other->rules.off ? gap - contact.other->rules.off : gap;
    const auto& hills = arc_.mode.terrain.hills;
    return hills && !contact.is_limit() && !contact.other && !contact.idle ? hills->at_least(gap, contact.radius) : gap;
}

bool Voyage::is_suspect(int g) const {
    const std::size_t last = times_.size() - 1;
    if (is_bounded(g)) {
        const double ends = distance_of(g, samples_[g]) + distance_of(g, samples_[last * ng_ + g]);
        if (!(ends > speed_[g] * (step_.t1 - step_.t0))) return true;
    }
    if (certain_[g]) return false;
    for (std::size_t k = 1; k <= last; ++k) {
        if (!(samples_[k * ng_ + g] > 0.0)) return true;
    }
    return times_.size() == Dop853::NODES && dips(g);
}

double Voyage::level(int g, double highest) const {
    const double floor = course_.floor[g], rounding = course_.rounding[g];
    if (highest > rounding) return 0.0;
    return highest > floor + rounding ? floor : floor - rounding;
}

Shown Voyage::first(int g, double until, Crossing& hit) {
    double highest = course_.highest[g];
    for (std::size_t k = 1; k < times_.size(); ++k) {
        const double value = samples_[k * ng_ + g], before = times_[k - 1];
        const bool armed = highest > course_.rounding[g];
        if (armed && is_bounded(g)) return search(g, before, until, hit);
        if (std::isnan(value)) return Shown::unknown;
        hit = {g, before, times_[k], level(g, highest)};
        if (value <= hit.level) return Shown::falls;
        double dip;
        if (armed && times_.size() == Dop853::NODES && dip_between(g, static_cast<int>(k), dip)) {
            const auto behind = std::lower_bound(times_.begin(), times_.end(), dip);
            hit.before = *std::prev(behind), hit.after = dip;
            return Shown::falls;
        }
        highest = std::max(highest, value);
    }
    return Shown::clear;
}

Shown Voyage::search(int g, double start, double until, Crossing& hit) {
    const double end = std::min(until, step_.t1);
    if (start >= end) return Shown::clear;
    const double sense = arc_.guards.all[g].sense;
    const auto missed = [&](double t) {
        const double share = (t - step_.t0) / (step_.t1 - step_.t0), arch = 4.0 * share * (1.0 - share);
        return error_[g] * arch * arch;
    };
    const auto look = [&](double t) {
        const double* x = t == step_.t1 ? step_.end.data() : state_at(t);
        const Sweep& sweep = carried(arc_.guards.all[g].contact(), t, x, true);
        const Nearing seen = shown_nearing(arc_, g, sweep, x, x + robot_.nq);
        return Look{t, sense * seen.gap, sense * seen.rate, seen.smooth, seen.piece, seen.apart};
    };
    const double least = std::max(rules_.shallow * arc_.gap, course_.rounding[g]);
    const Bounds bounds{speed_[g], bend_of(g), missed, least};
    const Fall fall = first_fall(look, look(start), look(end), bounds, rules_.looking);
    hit = {g, fall.before, fall.after, 0.0};
    if (!fall.decided) return std::isnan(fall.after) ? Shown::unknown : Shown::bottom;
    return fall.falls ? Shown::falls : Shown::clear;
}

void Voyage::accept() {
    course_.way += approach_;
    if (!ng_) return;
    for (int g = 0; g < ng_; ++g) {
        course_.highest[g] = std::max(course_.highest[g], largest_sample(g));
        course_.values[g] = samples_[samples_.size() - ng_ + g];
    }
}

}  // namespace native
