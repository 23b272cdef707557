#include "cruise.hpp"

#include <algorithm>
#include <limits>

#include "minima.hpp"

namespace native {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

double spacing(double t) {
    return std::abs(std::nextafter(t, INFINITE) - t);
}

// A step that the method took: x(t) = base (+) y(t) from t0 to t1.
struct Step {
    double t0, t1, miss;
    std::vector<double> start, end;  // states
    std::vector<double> y, parts;    // chart coordinates at its start, and its dense output (7, n)
    std::vector<double> guards;      // at its end
};

class Voyage {
  public:
    Voyage(const Arc& arc, const Dop853& method, const Thresholds& thresholds, Course& course)
        : arc_(arc),
          robot_(arc.robot),
          method_(method),
          rules_(thresholds),
          course_(course),
          n_(2 * arc.robot.nv + arc.drive.memory),
          size_(arc.robot.nq + arc.robot.nv + arc.drive.memory),
          ng_(static_cast<int>(arc.guards.all.size())),
          k_(Dop853::ALL * n_),
          points_(Dop853::ALL * n_),
          base_(size_) {
        std::copy(course.base, course.base + size_, base_.begin());
        step_.start.resize(size_), step_.end.resize(size_), step_.y.resize(n_), step_.guards.resize(ng_);
        step_.parts.resize(Dop853::PARTS * n_);
        for (const Closed& closed : arc.mode.closed) {
            free_ = free_ || slips_freely(closed);
            begins_ = begins_ || closed.state == State::slip_begins;
        }
        for (const Guard& guard : arc.guards.all) follows_ = follows_ || guard.kind == GuardKind::slow;
    }

    void run() {
        try {
            while (course_.steps < course_.most && go_on()) {
            }
        } catch (...) {
            if (!course_.steps) throw;
            course_.error = std::current_exception();
        }
    }

  private:
    const Arc& arc_;
    const Robot& robot_;
    const Dop853& method_;
    const Thresholds& rules_;
    Course& course_;
    const int n_, size_, ng_;
    std::vector<double> k_, points_, base_;
    Step step_;
    GuardRoom room_;
    std::vector<double> point_, samples_, times_;
    bool free_ = false, begins_ = false, follows_ = false;

    References references() const { return {course_.directions, course_.straight, rules_.leap}; }

    // One step, its guards, and the state put back onto its constraints; false where the caller has to look at it.
    bool go_on() {
        if (!step()) return false;
        const bool clear = is_clear();
        keep();
        course_.t = step_.t1;
        std::copy(step_.end.begin(), step_.end.end(), course_.x);
        if (!within_chart()) restart();
        if (!clear || course_.suspected || step_.t1 >= course_.bound) {
            course_.pending = true;
            return false;
        }
        accept();
        return put_back();
    }

    // A step from the present state, as long as accuracy and what is ahead allow; false where none succeeds.
    bool step() {
        step_.t0 = course_.t;
        std::copy(course_.x, course_.x + size_, step_.start.begin());
        double approach = INFINITE;
        const bool in_haste = course_.in_haste;
        if ((free_ || begins_) && !turn_references(approach)) return false;
        const double longest = std::min({course_.max_step, without_turning(), approach});
        const double until_next = led_to_next(longest);
        if (course_.fresh) begin_chart();
        double proposed = course_.step;
        if (approach < course_.approach && course_.approach < INFINITE) proposed *= approach / course_.approach;
        const double tried = std::min(proposed, std::min(longest, until_next));
        if (!advance(proposed, std::min(longest, until_next))) {
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

    // Slip directions where the step starts, and the longest step towards a stop: none is followed past it.
    bool turn_references(double& approach) {
        const double* x = step_.start.data();
        Sweep& sweep = room_.scratch.sweep;
        sweep.prepare(robot_);
        sweep.motions(robot_, x, x + robot_.nq);
        for (std::size_t i = 0; i < arc_.mode.closed.size(); ++i) {
            if (!slips_freely(arc_.mode.closed[i])) continue;
            const Vec3 slip = slip_velocity(arc_.mode, arc_.mode.closed[i].contact, sweep);
            const double along = dot(arc_.mode.plane.basis[1], slip), aside = dot(arc_.mode.plane.basis[2], slip);
            const double speed = std::sqrt(along * along + aside * aside);
            if (speed == 0.0) continue;
            course_.directions[2 * i] = along / speed, course_.directions[2 * i + 1] = aside / speed;
        }
        if (!motion_at(arc_, references(), step_.t0, x, room_)) return false;
        along_rows(robot_, arc_.mode, room_.scratch, room_.acceleration.data(), room_.change.data());
        for (std::size_t i = 0; i < arc_.mode.closed.size(); ++i) {
            if (arc_.mode.closed[i].state == State::slip_begins) {
                std::copy_n(room_.scratch.slip[i].data(), 2, course_.directions + 2 * i);
            }
            if (!slips_freely(arc_.mode.closed[i])) continue;
            const double* z = &room_.told.rates[arc_.mode.first[i]];
            const double* along = &room_.change[arc_.mode.first[i]];
            const double speed = std::sqrt(z[1] * z[1] + z[2] * z[2]), slow = arc_.slip_speed;
            const double slowing = speed > 0.0 ? -(z[1] * along[1] + z[2] * along[2]) / speed : 0.0;
            if (!(slowing > 0.0 && speed > slow)) continue;
            double ahead = speed - slow;
            ahead = ahead <= rules_.close_to_stop * slow ? ahead + 0.5 * slow : rules_.approach * ahead;
            approach = std::min(approach, ahead / slowing);
        }
        return true;
    }

    // Time in which no joint turns by more than about a radian.
    double without_turning() const {
        double spin = 0.0;
        for (const int k : arc_.turning) spin = std::max(spin, std::abs(step_.start[robot_.nq + k]));
        return spin > 0.0 ? rules_.turn / spin : INFINITE;
    }

    // Length of a step that ends a little behind the next guard, where that is expected soon; else infinity.
    double led_to_next(double longest) {
        if (!course_.in_haste) return INFINITE;
        const double horizon = rules_.short_step * std::min(std::max(course_.natural, 0.0), longest) / rules_.beyond;
        const double length = rules_.beyond * soonest(horizon);
        course_.in_haste = length < INFINITE;
        return std::max(length, arc_.event_time);
    }

    // Time in which a gap or a held slip is expected to fall to zero, by their rates and accelerations.
    double soonest(double horizon) {
        const double* x = step_.start.data();
        const double* v = x + robot_.nq;
        Sweep& sweep = room_.scratch.sweep;
        sweep.prepare(robot_);
        sweep.motions(robot_, x, v);
        std::vector<const Contact*> near;
        for (const Guard& guard : arc_.guards.all) {
            if (guard.kind != GuardKind::gap || arc_.limits_alone) continue;
            const double gap = gap_of(arc_.mode, guard.contact, sweep, x);
            const double rate = gap_rate(arc_.mode, guard.contact, sweep, v);
            const double reach = horizon * (2.0 * std::abs(rate) + horizon * rules_.jolt);
            if (gap <= horizon * rules_.fastest && gap <= reach) near.push_back(&guard.contact);
        }
        bool held = false;
        for (const Closed& closed : arc_.mode.closed) held = held || closed.state == State::slip_held;
        if (near.empty() && !held) return INFINITE;
        if (!motion_at(arc_, references(), step_.t0, x, room_)) return INFINITE;
        const double* acceleration = room_.acceleration.data();
        double first = INFINITE;
        const auto look = [&](double value, double rate, double bend) {
            const double time = time_to_fall(value, rate, bend);
            if (time > 0.0) first = std::min(first, time);
        };
        for (const Contact* contact : near) {
            look(gap_of(arc_.mode, *contact, sweep, x), gap_rate(arc_.mode, *contact, sweep, v),
                 gap_change(robot_, arc_.mode, *contact, sweep, acceleration));
        }
        along_rows(robot_, arc_.mode, room_.scratch, acceleration, room_.change.data());
        const int tangents = static_cast<int>(arc_.mode.plane.basis.size()) - 1;
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

    // --- the method ------------------------------------------------------------------------------------------

    void stages(double h, int first, int last) {
        const Method method{method_.a.data(), method_.c.data(), Dop853::ALL};
        run_stages(robot_, arc_.mode, references(), arc_.drive, method, base_.data(), step_.t0, h, step_.y.data(),
                   k_.data(), points_.data(), first, last);
        course_.evaluations += last - first;
    }

    // The rate where a new chart begins.
    void begin_chart() {
        std::copy(course_.x, course_.x + size_, base_.begin());
        std::fill(course_.y, course_.y + n_, 0.0);
        std::fill(step_.y.begin(), step_.y.end(), 0.0);
        stages(0.0, 0, 1);
        std::copy(k_.begin(), k_.begin() + n_, course_.f);
        course_.fresh = false;
        course_.step = std::min(course_.proposed, course_.bound - course_.t);
    }

    // A step within the tolerance, with its dense output and its guards; false where there is none.
    bool advance(double proposed, double longest) {
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
            stages(h, 1, Dop853::STAGES + 1);
            error = error_norm(y_new, h);
            if (error < 1.0) break;
            const double factor = rules_.safety * std::pow(error, -0.125);
            length *= factor > rules_.min_factor ? factor : rules_.min_factor;  // NaN: the shortest
            rejected = true;
        }
        const double h = end - t;
        const double grown =
            error == 0.0 ? rules_.max_factor : std::min(rules_.max_factor, rules_.safety * std::pow(error, -0.125));
        stages(h, Dop853::STAGES + 1, Dop853::ALL);
        dense_output(y_new, h);
        for (int i = 0; i < n_; ++i) {
            if (!std::isfinite(y_new[i])) return false;
        }
        step_.t1 = end;
        chart_point(y_new, step_.end.data());
        if (!values_at(end, step_.end.data(), step_.guards.data())) return false;
        course_.step = length * (rejected ? std::min(1.0, grown) : grown);
        step_.miss = std::min(1.0, std::pow(h / course_.step, rules_.spent));
        std::copy(y_new, y_new + n_, course_.y);
        std::copy(&k_[Dop853::STAGES * n_], &k_[Dop853::STAGES * n_] + n_, course_.f);
        return true;
    }

    double error_norm(const double* y_new, double h) const {
        double fifth = 0.0, third = 0.0;
        for (int i = 0; i < n_; ++i) {
            double five = 0.0, three = 0.0;
            for (int s = 0; s <= Dop853::STAGES; ++s) {
                five += method_.e5[s] * k_[s * n_ + i];
                three += method_.e3[s] * k_[s * n_ + i];
            }
            const double scale = course_.atol + std::max(std::abs(step_.y[i]), std::abs(y_new[i])) * course_.rtol;
            fifth += (five / scale) * (five / scale), third += (three / scale) * (three / scale);
        }
        if (fifth == 0.0 && third == 0.0) return 0.0;
        return std::abs(h) * fifth / std::sqrt((fifth + 0.01 * third) * n_);
    }

    // Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6, and dop853.f there.
    void dense_output(const double* y_new, double h) {
        double* parts = step_.parts.data();
        const double* f_new = &k_[Dop853::STAGES * n_];
        for (int i = 0; i < n_; ++i) {
            const double rise = y_new[i] - step_.y[i];
            parts[i] = rise;
            parts[n_ + i] = h * k_[i] - rise;
            parts[2 * n_ + i] = 2.0 * rise - h * (f_new[i] + k_[i]);
        }
        for (int p = 3; p < Dop853::PARTS; ++p) {
            double* part = parts + p * n_;
            std::fill(part, part + n_, 0.0);
            for (int s = 0; s < Dop853::ALL; ++s) {
                const double share = h * method_.d[(p - 3) * Dop853::ALL + s];
                for (int i = 0; i < n_; ++i) part[i] += share * k_[s * n_ + i];
            }
        }
    }

    // Whether stability seems to hold the steps, by the two rates at their ends: see contactsim's StiffArcs.
    bool at_the_edge() {
        if (!course_.automatic) return false;
        const double h = step_.t1 - step_.t0;
        double apart = 0.0, moved = 0.0;
        for (int i = 0; i < n_; ++i) {
            const double rate = k_[Dop853::STAGES * n_ + i] - k_[(Dop853::STAGES - 1) * n_ + i];
            const double way = points_[Dop853::STAGES * n_ + i] - points_[(Dop853::STAGES - 1) * n_ + i];
            apart += rate * rate, moved += way * way;
        }
        const double reach = moved > 0.0 ? h * std::sqrt(apart / moved) : 0.0;
        if (reach <= rules_.near_edge) {
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

    // --- charts ----------------------------------------------------------------------------------------------

    void chart_point(const double* dx, double* x) const {
        const int nq = robot_.nq, nv = robot_.nv;
        integrate(robot_, base_.data(), dx, x);
        for (int k = 0; k < size_ - nq; ++k) x[nq + k] = base_[nq + k] + dx[nv + k];
    }

    bool within_chart() const {
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

    void restart() {
        course_.fresh = true;
        std::copy(course_.x, course_.x + size_, base_.begin());
        std::copy(base_.begin(), base_.end(), course_.base);
        std::fill(course_.y, course_.y + n_, 0.0);
    }

    // Back onto the constraints; the chart is moved with the state, so that the method goes on.
    bool put_back() {
        const int nq = robot_.nq, nv = robot_.nv;
        std::vector<double> there(course_.x, course_.x + size_);
        const Projection found =
            project(robot_, arc_.mode, references(), arc_.drift, room_.scratch, there.data(), there.data() + nq);
        if (found == Projection::unknown) return false;
        if (found == Projection::moved) {
            std::copy(there.begin(), there.end(), course_.x);
            if (course_.fresh) {
                base_ = there;
            } else {
                std::vector<double> back(n_);
                for (int k = 0; k < n_; ++k) back[k] = -course_.y[k];
                integrate(robot_, there.data(), back.data(), base_.data());
                for (int k = 0; k < size_ - nq; ++k) base_[nq + k] = there[nq + k] + back[nv + k];
            }
            std::copy(base_.begin(), base_.end(), course_.base);
        }
        return true;
    }

    void keep() {
        std::vector<double>& record = course_.record;
        const auto put = [&](const std::vector<double>& part) {
            record.insert(record.end(), part.begin(), part.end());
        };
        record.push_back(step_.t0), record.push_back(step_.t1), record.push_back(step_.miss);
        put(base_), put(step_.start), put(step_.end), put(step_.y), put(step_.parts), put(step_.guards);
        ++course_.steps;
    }

    // --- guards ----------------------------------------------------------------------------------------------

    bool values_at(double t, const double* x, double* values) {
        return guard_values(arc_, rules_, references(), t, x, room_, values);
    }

    // State within the step, by its dense output.
    const double* state_at(double t) {
        const double s = (t - step_.t0) / (step_.t1 - step_.t0), r = 1.0 - s;
        const double b = s * r, c = b * s, d = b * b, e = d * s, f = d * b;
        const double powers[Dop853::PARTS] = {s, b, c, d, e, f, f * s};
        std::vector<double> dx(step_.y);
        for (int p = 0; p < Dop853::PARTS; ++p) {
            for (int i = 0; i < n_; ++i) dx[i] += powers[p] * step_.parts[p * n_ + i];
        }
        point_.resize(size_);
        chart_point(dx.data(), point_.data());
        return point_.data();
    }

    // A row of `samples_` at a share of the step.
    bool sample(int row, double share) {
        const double t = step_.t0 + (step_.t1 - step_.t0) * share;
        times_[row] = t;
        return values_at(t, state_at(t), &samples_[row * ng_]);
    }

    // Whether no guard fires in the step, for certain; the samples are left for `accept`.
    bool is_clear() {
        times_.assign(2, 0.0);
        if (!ng_) return true;
        if (follows_ && !values_at(step_.t0, step_.start.data(), course_.values)) return false;
        std::vector<char> certain(ng_, 0);
        bool all = true;
        for (int g = 0; g < ng_; ++g) {
            certain[g] = arc_.reach && arc_.guards.all[g].kind == GuardKind::gap &&
                         course_.highest[g] - course_.floor[g] > rules_.at_once * course_.rounding[g];
            all = all && certain[g];
        }
        if (!look(certain, all)) return false;
        const int rows = static_cast<int>(times_.size());
        for (int g = 0; g < ng_; ++g) {
            if (!certain[g] && rows == Dop853::NODES && !resolved(g)) return false;
        }
        std::vector<double> speed, bend, error;
        if (arc_.reach) bounds_of_gaps(speed, bend, error);
        for (int g = 0; g < ng_; ++g) {
            const bool bounded = arc_.reach && arc_.guards.all[g].kind == GuardKind::gap;
            const double ends = samples_[g] + samples_[(rows - 1) * ng_ + g];
            bool suspect = bounded && !(ends > speed[g] * (step_.t1 - step_.t0));
            for (int k = 1; k < rows && !certain[g]; ++k) suspect = suspect || !(samples_[k * ng_ + g] > 0.0);
            if (!certain[g] && rows == Dop853::NODES && dips(g)) return false;
            if (suspect &&
                !stays(g, bounded, bounded ? speed[g] : 0.0, bounded ? bend[g] : 0.0, bounded ? error[g] : 0.0)) {
                return false;
            }
        }
        return true;
    }

    // Samples at both ends where all guards are certain; in the middle, too; at all nodes where these show too little.
    bool look(const std::vector<char>& certain, bool all) {
        const auto begin = [&](int rows) {
            times_.resize(rows), samples_.resize(rows * ng_);
            std::copy(course_.values, course_.values + ng_, samples_.begin());
            std::copy(step_.guards.begin(), step_.guards.end(), samples_.end() - ng_);
            times_[0] = step_.t0, times_[rows - 1] = step_.t1;
        };
        begin(all ? 2 : 3);
        if (all) return true;
        if (!sample(1, 0.5)) return false;
        times_[1] = 0.5 * (step_.t0 + step_.t1);
        bool shown = true;
        for (int g = 0; g < ng_; ++g) shown = shown && (certain[g] || is_shown(g));
        if (shown) return true;
        begin(Dop853::NODES);
        for (int k = 1; k + 1 < Dop853::NODES; ++k) {
            if (!sample(k, method_.nodes[k])) return false;
        }
        return true;
    }

    // Whether three samples show a guard well enough: it stays far from zero, or changes straight.
    bool is_shown(int g) const {
        const double a = samples_[g], b = samples_[ng_ + g], c = samples_[2 * ng_ + g];
        const double low = std::min({a, b, c}), high = std::max({a, b, c});
        if (low > rules_.quiet * (high - low)) return true;
        const bool straight = std::abs(a - 2.0 * b + c) <= rules_.bent * std::abs(c - a);
        return step_.miss <= rules_.exact && straight;
    }

    double largest_sample(int g) const {
        double high = samples_[g];
        for (std::size_t k = 1; k < times_.size(); ++k) high = std::max(high, samples_[k * ng_ + g]);
        return high;
    }

    double least_sample(int g) const {
        double low = samples_[g];
        for (std::size_t k = 1; k < times_.size(); ++k) low = std::min(low, samples_[k * ng_ + g]);
        return low;
    }

    // Sum over the samples of a guard with the weights of one row of a table.
    double weighted(const std::vector<double>& table, int row, int g) const {
        double sum = 0.0;
        for (int k = 0; k < Dop853::NODES; ++k) sum += table[row * Dop853::NODES + k] * samples_[k * ng_ + g];
        return sum;
    }

    // Whether six samples show a smooth guard: it does not swing through zero between them.
    bool resolved(int g) const {
        double swing = 0.0, rough = 0.0;
        for (int k = 1; k < Dop853::NODES; ++k) {
            const double part = std::abs(weighted(method_.to_series, k, g));
            swing += part, rough += k >= 4 ? part : 0.0;
        }
        return !(rough > rules_.unresolved * swing && least_sample(g) <= 2.0 * swing && swing > rules_.flat);
    }

    // Whether the polynomial through six samples is least, and close to zero, somewhere in between.
    bool dips(int g) const {
        const double slack = rules_.dip * (largest_sample(g) - least_sample(g));
        const int places = static_cast<int>(method_.grid.size());
        for (int k = 0; k + 1 < places; ++k) {
            const double slope = weighted(method_.to_slopes, k, g);
            if (!(slope < 0.0)) continue;
            const bool turns = k + 2 == places || weighted(method_.to_slopes, k + 1, g) > 0.0;
            const double low = weighted(method_.to_grid, k, g) + slope * (method_.grid[k + 1] - method_.grid[k]);
            if (turns && low <= slack) return true;
        }
        return false;
    }

    // Bounds of |g'|, |g''| and of the error of the interpolant, of each gap.
    void bounds_of_gaps(std::vector<double>& speed, std::vector<double>& bend, std::vector<double>& error) const {
        const int nv = robot_.nv;
        const double duration = step_.t1 - step_.t0;
        std::vector<double> moved(n_, 0.0), rates(n_, 0.0), missed(nv), still(nv, 0.0);
        for (int p = 0; p < Dop853::PARTS; ++p) {
            for (int i = 0; i < n_; ++i) {
                const double part = std::abs(step_.parts[p * n_ + i]);
                moved[i] += method_.largest[p] * part;
                rates[i] += method_.largest[Dop853::PARTS + p] * part / duration;
            }
        }
        for (int k = 0; k < nv; ++k) {
            missed[k] = step_.miss * (course_.path_atol + course_.path_rtol * (std::abs(step_.y[k]) + moved[k]));
            moved[nv + k] += std::abs(step_.start[robot_.nq + k]);
        }
        Sway sway, errors;
        sway.along(*arc_.reach, step_.start.data(), &moved[nv], &rates[nv], duration);
        errors.along(*arc_.reach, step_.start.data(), missed.data(), still.data(), 0.0);
        speed.assign(ng_, 0.0), bend.assign(ng_, 0.0), error.assign(ng_, 0.0);
        for (int g = 0; g < ng_; ++g) {
            const Guard& guard = arc_.guards.all[g];
            if (guard.kind != GuardKind::gap) continue;
            if (guard.contact.joint < 0) {
                const int v = guard.contact.velocity;
                speed[g] = moved[nv + v], bend[g] = rates[nv + v], error[g] = missed[v];
            } else {
                const int j = arc_.hosts[g];
                speed[g] = sway.speed[j] + sway.spin[j] * arc_.arms[g];
                bend[g] = sway.push[j] + (sway.twist[j] + sway.spin[j] * sway.spin[j]) * arc_.arms[g];
                error[g] = errors.speed[j] + errors.spin[j] * arc_.arms[g];
            }
        }
    }

    // Whether a guard that may have been at zero stays above it: by its samples until it is armed, then for certain.
    bool stays(int g, bool bounded, double speed, double bend, double error) {
        const double rounding = course_.rounding[g], floor = course_.floor[g];
        double highest = course_.highest[g];
        for (std::size_t k = 1; k < times_.size(); ++k) {
            const double value = samples_[k * ng_ + g];
            if (highest > rounding && bounded) return stays_bounded(g, times_[k - 1], speed, bend, error);
            const double level = highest > rounding ? 0.0 : highest > floor + rounding ? floor : floor - rounding;
            if (!(value > level)) return false;
            highest = std::max(highest, value);
        }
        return true;
    }

    bool stays_bounded(int g, double start, double speed, double bend, double error) {
        const Contact& contact = arc_.guards.all[g].contact;
        const auto missed = [&](double t) {
            const double share = (t - step_.t0) / (step_.t1 - step_.t0), arch = 4.0 * share * (1.0 - share);
            return error * arch * arch;
        };
        const auto look = [&](double t) {
            const double* x = t == step_.t1 ? step_.end.data() : state_at(t);
            Sweep& sweep = room_.scratch.sweep;
            sweep.motions(robot_, x, x + robot_.nq);
            return Look{t, gap_of(arc_.mode, contact, sweep, x), gap_rate(arc_.mode, contact, sweep, x + robot_.nq)};
        };
        const double least = std::max(rules_.shallow * arc_.gap, course_.rounding[g]);
        return stays_above(look, look(start), look(step_.t1), {speed, bend, missed, least});
    }

    // Go on from the end of a step in which nothing fired.
    void accept() {
        if (!ng_) return;
        for (int g = 0; g < ng_; ++g) {
            course_.highest[g] = std::max(course_.highest[g], largest_sample(g));
            course_.values[g] = samples_[samples_.size() - ng_ + g];
        }
    }
};

}  // namespace

int Arc::record_size() const {
    const int nq = robot.nq, nv = robot.nv, memory = drive.memory;
    const int n = 2 * nv + memory, size = nq + nv + memory;
    return 3 + 3 * size + (1 + Dop853::PARTS) * n + static_cast<int>(guards.all.size());
}

void cruise(const Arc& arc, const Dop853& method, const Thresholds& thresholds, Course& course) {
    Voyage(arc, method, thresholds, course).run();
}

}  // namespace native
