// Where a guard fires: the first fall within a step, located on true steps, and what fires with it. The choices are
// those of contactsim's Watch, in the same order.
#include <algorithm>
#include <utility>

#include "hiding.hpp"
#include "voyage.hpp"

namespace native {

namespace {

// A zero of a function between two times at which it has other signs, to `accuracy`; Brent's method.
// Source: Brent, Algorithms for Minimization without Derivatives, 1973, ch. 4.
template <typename Function>
double zero_between(const Function& function, double a, double fa, double b, double fb, double accuracy) {
    double c = a, fc = fa, step = b - a, before = step;
    while (fb != 0.0) {
        if ((fb > 0.0) == (fc > 0.0)) c = a, fc = fa, step = before = b - a;
        if (std::abs(fc) < std::abs(fb)) a = b, b = c, c = a, fa = fb, fb = fc, fc = fa;
        const double tolerance = 2.0 * spacing(b) + 0.5 * accuracy, half = 0.5 * (c - b);
        if (std::abs(half) <= tolerance) break;
        if (std::abs(before) < tolerance || std::abs(fa) <= std::abs(fb)) {
            step = before = half;
        } else {
            double p, q;
            const double s = fb / fa;
            if (a == c) {
                p = 2.0 * half * s, q = 1.0 - s;
            } else {
                const double u = fa / fc, r = fb / fc;
                p = s * (2.0 * half * u * (u - r) - (b - a) * (r - 1.0));
                q = (u - 1.0) * (r - 1.0) * (s - 1.0);
            }
            if (p > 0.0) q = -q;
            p = std::abs(p);
            const bool good = 2.0 * p < std::min(3.0 * half * q - std::abs(tolerance * q), std::abs(before * q));
            before = good ? step : half;
            step = good ? p / q : half;
        }
        a = b, fa = fb;
        b += std::abs(step) > tolerance ? step : (half > 0.0 ? tolerance : -tolerance);
        fb = function(b);
    }
    return b;
}

// Where a function is least between two times, and its value there, to `accuracy`: golden sections and parabolas.
// Source: Forsythe, Malcolm and Moler, Computer Methods for Mathematical Computations, 1977, fmin.
template <typename Function>
std::pair<double, double> least_between(const Function& function, double a, double b, double accuracy) {
    const double golden = 0.5 * (3.0 - std::sqrt(5.0)), rounding = std::sqrt(std::numeric_limits<double>::epsilon());
    double x = a + golden * (b - a), w = x, v = x, fx = function(x), fw = fx, fv = fx, step = 0.0, before = 0.0;
    while (true) {
        const double middle = 0.5 * (a + b), least = rounding * std::abs(x) + accuracy / 3.0;
        if (std::abs(x - middle) <= 2.0 * least - 0.5 * (b - a)) return {x, fx};
        bool golden_section = true;
        if (std::abs(before) > least) {
            const double r = (x - w) * (fx - fv);
            double q = (x - v) * (fx - fw), p = (x - v) * q - (x - w) * r;
            q = 2.0 * (q - r);
            if (q > 0.0) p = -p;
            q = std::abs(q);
            const double last = before;
            before = step;
            if (std::abs(p) < std::abs(0.5 * q * last) && p > q * (a - x) && p < q * (b - x)) {
                step = p / q;
                if (x + step - a < 2.0 * least || b - x - step < 2.0 * least) step = middle >= x ? least : -least;
                golden_section = false;
            }
        }
        if (golden_section) before = x >= middle ? a - x : b - x, step = golden * before;
        const double u = x + (std::abs(step) >= least ? step : step >= 0.0 ? least : -least), fu = function(u);
        if (fu <= fx) {
            (u >= x ? a : b) = x;
            v = w, fv = fw, w = x, fw = fx, x = u, fx = fu;
        } else {
            (u < x ? a : b) = u;
            if (fu <= fw || w == x) {
                v = w, fv = fw, w = u, fw = fu;
            } else if (fu <= fv || v == x || v == w) {
                v = u, fv = fu;
            }
        }
    }
}

}  // namespace

bool Voyage::dip_between(int g, int node, double& time) {
    const std::vector<double>& grid = method_.grid;
    const int last = static_cast<int>(grid.size()) - 1;
    const auto guard = [&](double t) { return guard_at(t, g); };
    for (int k = 0; k < last; ++k) {
        if (!(grid[k] >= method_.nodes[node - 1] && grid[k + 1] <= method_.nodes[node] && dips_at(g, k))) continue;
        const double length = step_.t1 - step_.t0;
        const double early = step_.t0 + length * grid[std::max(k - 1, 0)];
        const double late = step_.t0 + length * grid[std::min(k + 2, last)];
        const auto [place, value] = least_between(guard, early, late, rules_.lowest * (late - early));
        time = place;
        if (value <= 0.0) return true;
    }
    return false;
}

bool Voyage::locate() {
    const Step whole = step_;
    const std::vector<double> base = base_;
    lander_.reset();
    if (follow_falls()) return true;
    step_ = whole, base_ = base;
    course_.fired.clear();
    return false;
}

bool Voyage::follow_falls() {
    course_.fired.clear();
    double until = step_.t1;
    while (true) {
        if (bottom_ < INFINITE) {
            if (course_.stiff || !land(bottom_) || !see()) return false;
            course_.fired.clear();
            until = step_.t1;
        } else {
            if (!course_.fired.empty()) falls_ = fallen(falls_, until);
            if (falls_.empty()) break;
            const double end = step_.t1;
            Crossing leader;
            double time;
            if (!earliest(leader, time) || !arrive(leader, time)) return false;
            if (step_.t1 >= end) break;
            if (!landed_) {
                if (!has_passed(leader.guard)) break;
                if (!see()) return false;
            }
            until = step_.t1 - arc_.event_time;
        }
        if (judge(until) == Shown::unknown) return false;
    }
    const double left = course_.bound - step_.t1;
    return course_.fired.empty() || !(0.0 < left && left <= arc_.event_time);
}

// Whether another guard than that landed on is far below zero: it fell before, unseen.
bool Voyage::has_passed(int leader) const {
    for (int g = 0; g < ng_; ++g) {
        const bool armed = course_.highest[g] > course_.rounding[g];
        if (g != leader && armed && step_.guards[g] < -course_.band[g]) return true;
    }
    return false;
}

const Sweep& Voyage::carried(const Contact& contact, double t, const double* x, bool moving) {
    Sweep& sweep = aside_.scratch.sweep;
    const double* v = x + robot_.nq;
    sweep.prepare(robot_);
    sweep.ground = arc_.mode.terrain.at(t);
    if (!contact.other) {
        sweep.motions_of(robot_, contact.is_limit() ? -1 : contact.joint, x, v);
    } else if (moving) {
        sweep.motions(robot_, x, v);
    } else {
        sweep.places(robot_, x);
    }
    return sweep;
}

bool Voyage::slips_at(int closed, double t, const double* x, double* rates) {
    const double* v = x + robot_.nq;
    if (room_.expansion && room_.expansion->holds(t)) {
        room_.expansion->slip_rates(closed, t, v, rates);
        return true;
    }
    const Contact& contact = arc_.mode.closed[closed].contact;
    return velocities_of(arc_.mode, contact, carried(contact, t, x, true), v, rates);
}

double Voyage::guard_at(double t, int g) {
    const double* x = t == step_.t1 ? step_.end.data() : state_at(t);
    const Guard& guard = arc_.guards.all[g];
    if (guard.kind == GuardKind::margin) return guard.margin(t, x);
    if (guard.kind == GuardKind::gap) return guard.sense * shown_gap(arc_, g, carried(guard.contact(), t, x, false), x);
    if (looks_at_slips(guard.kind)) {
        one_.resize(arc_.mode.rows);
        if (!slips_at(guard.closed, t, x, &one_[arc_.mode.first[guard.closed]])) return NAN;
        return of_slip(arc_, rules_, references(), guard, one_);
    }
    one_.resize(ng_);
    return values_within(t, x, one_.data()) ? one_[g] : std::numeric_limits<double>::quiet_NaN();
}

std::vector<Crossing> Voyage::fallen(const std::vector<Crossing>& found, double time) {
    std::vector<Crossing> left;
    for (const Crossing& hit : found) {
        if (!(hit.before < time)) continue;
        if (hit.after <= time || guard_at(time, hit.guard) <= hit.level) left.push_back(hit);
    }
    return left;
}

bool Voyage::earliest(Crossing& hit, double& time) {
    double early = step_.t0, late = step_.t1;
    std::vector<Crossing> found = falls_;
    while (found.size() > 1 && late - early > arc_.event_time) {
        const double middle = 0.5 * (early + late);
        const std::vector<Crossing> left = fallen(found, middle);
        if (left.empty()) {
            early = middle;
        } else {
            found = left, late = middle;
        }
    }
    hit = found[0];
    hit.before = std::max(hit.before, early), hit.after = std::min(hit.after, late);
    if (!zero(hit, time)) return false;
    if (hit.level == 0.0) return true;
    // A guard that rose between two samples returns to another level.
    const double middle = 0.5 * (hit.before + time);
    const double higher = level(hit.guard, std::max(guard_at(middle, hit.guard), course_.highest[hit.guard]));
    if (higher <= hit.level) return true;
    hit = {hit.guard, middle, time, higher};
    return zero(hit, time);
}

bool Voyage::zero(const Crossing& hit, double& time) {
    const auto guard = [&](double t) { return guard_at(t, hit.guard) - hit.level; };
    const double before = guard(hit.before);
    time = hit.before;
    if (before <= 0.0) return true;
    const double after = guard(hit.after);
    if (!(after <= 0.0)) return false;
    time = zero_between(guard, hit.before, before, hit.after, after, rules_.guess * arc_.event_time);
    return true;
}

std::pair<double, double> Voyage::beside(double time) const {
    const double h = std::max(rules_.slope * (step_.t1 - step_.t0), rules_.shortest_slope * arc_.event_time);
    return {std::max(step_.t0, time - h), std::min(step_.t1, time + h)};
}

bool Voyage::slopes(double time, std::vector<double>& found) {
    const auto [early, late] = beside(time);
    std::vector<double> first(ng_);
    found.resize(ng_);
    if (!values_within(early, state_at(early), first.data())) return false;
    if (!values_within(late, late == step_.t1 ? step_.end.data() : state_at(late), found.data())) return false;
    for (int g = 0; g < ng_; ++g) found[g] = (found[g] - first[g]) / (late - early);
    return true;
}

bool Voyage::arrive(const Crossing& leader, double guess) {
    const double time = std::max(guess, std::nextafter(step_.t0, INFINITE));
    Step whole = step_;
    std::vector<double> base = base_;
    const auto [early, late] = beside(time);
    const double slope = (guard_at(late, leader.guard) - guard_at(early, leader.guard)) / (late - early);
    landed_ = false;
    if (std::isnan(slope) || !correct(leader, time, slope)) return false;
    const bool shown = !landed_ && time > 0.5 * (whole.t0 + whole.t1);  // by samples before the event
    return (shown || see()) && fire(leader.guard, time, whole, base);
}

bool Voyage::fire(int leader, double time, Step& whole, std::vector<double>& base) {
    std::vector<int> together;
    for (int g = 0; g < ng_; ++g) {
        double highest = course_.highest[g];
        for (std::size_t k = 0; k < times_.size() && times_[k] < time; ++k) {
            highest = std::max(highest, samples_[k * ng_ + g]);
        }
        if (g == leader) {
            course_.at_once = highest - course_.floor[g] <= rules_.at_once * course_.rounding[g];
        } else if (highest > course_.rounding[g] && falls_soon(g, course_.rounding[g])) {
            together.push_back(g);
        }
    }
    course_.fired.clear();
    course_.leader = leader;
    std::vector<double> rates(ng_);
    if (!together.empty()) {
        std::swap(step_, whole), std::swap(base_, base);
        const bool known = slopes(time, rates);
        std::swap(step_, whole), std::swap(base_, base);
        if (!known) return false;
    }
    for (int g = 0; g < ng_; ++g) {
        const double margin = std::max(-rates[g] * arc_.event_time, course_.rounding[g]);
        const bool soon = std::find(together.begin(), together.end(), g) != together.end();
        if (g == leader || (soon && rates[g] < 0.0 && step_.guards[g] <= margin)) course_.fired.push_back(g);
    }
    return true;
}

bool Voyage::falls_soon(int g, double rounding) const {
    double speed = is_bounded(g) ? speed_[g] : 0.0;
    for (std::size_t k = 1; k < times_.size(); ++k) {
        const double change = std::abs(samples_[k * ng_ + g] - samples_[(k - 1) * ng_ + g]);
        speed = std::max(speed, change / (times_[k] - times_[k - 1]));
    }
    return !(step_.guards[g] > rules_.soon * speed * arc_.event_time + rounding);
}

bool Voyage::correct(const Crossing& leader, double time, double slope) {
    const double end = step_.t1, window = arc_.event_time;
    const int g = leader.guard;
    double above = step_.t0, below = INFINITE, last_time = -INFINITE, last_error = 0.0;
    bool met = false;
    for (int k = 0; k < rules_.corrections; ++k) {
        if (!(is_exact(time) ? cut(time) : land(time))) return false;
        const double error = step_.guards[g] - leader.level;
        if (last_time > -INFINITE && std::abs(time - last_time) > window) {
            slope = (error - last_error) / (time - last_time);
        }
        const double correction = slope != 0.0 ? -error / slope : 0.0;
        met = std::abs(correction) <= rules_.landed * window;
        if ((met && std::abs(error) <= course_.band[g]) || std::abs(error) <= course_.rounding[g]) return true;
        last_time = time, last_error = error;
        if (error > 0.0) {
            above = time, time += correction;
        } else if (-correction > rules_.far * (time - step_.t0) && guard_at(above, g) > leader.level) {
            below = time;
            if (!zero({g, above, time, leader.level}, time)) return false;
        } else {
            below = time, time += correction;
        }
        if (!(above < time && time < below)) time = 0.5 * (above + below);
        if (!(above < time && time < below) || time > end) break;
    }
    return met;
}

bool Voyage::is_exact(double t) const {
    const double longest = rules_.short_step * std::max(course_.natural, 0.0);
    const bool within = step_.t0 < t && t < step_.t1 && step_.t1 <= step_.t0 + longest;
    return within && !course_.stiff && step_.miss <= rules_.cut;
}

bool Voyage::cut(double t) {
    const double* x = state_at(t);
    std::copy(x, x + size_, step_.end.begin());
    step_.t1 = t;
    return values_at(t, step_.end.data(), step_.guards.data());
}

bool Voyage::land(double t) {
    landed_ = true;
    if (course_.stiff) return land_stiffly(t);
    const double h = t - step_.t0;
    const double* y_new = &points_[Dop853::STAGES * n_];
    const Lower* method = lower(h, std::max(course_.natural, 0.0), allowed_);
    double grown = rules_.max_factor;
    if (!method || !lower_step(*method, t)) {
        stages(h, 1, Dop853::STAGES);  // the rate where the step starts is still there
        end_stage({method_.a.data(), method_.c.data(), Dop853::ALL}, t, Dop853::STAGES);
        const double error = error_norm(y_new, h);
        if (!(error < 1.0)) return false;
        grown = growth(error);
        stages(h, Dop853::STAGES + 1, Dop853::ALL);
        dense_output(y_new, h);
    }
    if (!is_known(y_new)) return false;
    step_.t1 = step_.until = t;
    step_.miss = std::min(1.0, std::pow(1.0 / grown, rules_.spent));
    chart_point(y_new, step_.end.data());
    return values_at(t, step_.end.data(), step_.guards.data());
}

bool Voyage::may_be_imminent() const {
    for (int g = 0; g < ng_; ++g) {
        if (falls_soon(g, certain_[g] ? course_.rounding[g] : 0.0)) return true;
    }
    return false;
}

bool Voyage::look_at_end() {
    nothing_fires();
    if (!may_be_imminent()) return true;
    std::vector<double> rates;
    if (!slopes(step_.t1, rates)) return false;
    for (int g = 0; g < ng_; ++g) {
        double highest = course_.highest[g];
        for (std::size_t k = 0; k + 1 < times_.size(); ++k) highest = std::max(highest, samples_[k * ng_ + g]);
        const double rounding = certain_[g] ? course_.rounding[g] : 0.0;
        const double margin = std::max(-rates[g] * arc_.event_time, rounding);
        if (highest > course_.rounding[g] && rates[g] < 0.0 && step_.guards[g] <= margin) course_.fired.push_back(g);
    }
    return true;
}

}  // namespace native
