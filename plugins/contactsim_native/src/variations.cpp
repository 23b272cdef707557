#include "variations.hpp"

#include <algorithm>
#include <limits>

namespace native {

double Scheme::carried(double reach) const {
    const double decay = std::min(reach, worst);
    double share = 0.0;
    for (std::size_t k = 0; k < places.size(); ++k) share += std::exp(-decay * (1.0 - places[k])) * defect[k];
    return std::abs(share);
}

namespace {

// The linear equation at one time: q' = v - ad q and v' = by_state (q, v, held), what is held being torques and turns
// of slips that go along a direction that is held. Part of that is that friction turns
// with slips, which is fast where they are slow: v' = turned across v, `turned` being the last columns of `by_state`.
struct Equation {
    std::vector<Bracket> brackets;
    Matrix by_state, across;
};

// The equations along an arc, with the directions that slips remember from where each step of the run began.
class Equations {
  public:
    Equations(const Motion& motion, const Path& path, DerivativeScratch& room)
        : motion_(motion), path_(path), room_(room) {
        const auto& closed = motion.mode.closed;
        directions_.assign(motion.directions, motion.directions + 2 * closed.size());
        for (const Closed& one : closed) {
            turns_ += one.state == State::slip_free;
            begins_ = begins_ || one.state == State::slip_begins;
        }
    }

    int turns() const { return turns_; }  // slips that turn
    int held() const { return static_cast<int>(motion_.drive.held_on.size()) + motion_.turns; }

    bool at(double t, Equation& found) {
        const Robot& robot = motion_.robot;
        room_.turned = 2 * robot.nv + held();
        room_.held = motion_.turns ? room_.turned - motion_.turns : -1;
        const int columns = room_.turned + turns_;
        if ((turns_ || begins_) && !remember(path_.step_start[path_.piece(t)])) return false;
        drive(t);
        found.brackets = brackets(robot, x_.data() + robot.nq);
        found.by_state.clear(robot.nv, columns);
        motion_.drive.by_state(robot, found.by_state.rows());
        if (!differentiate(robot, motion_.mode, {directions_.data(), motion_.straight}, x_.data(), x_.data() + robot.nq,
                           force_.data(), found.by_state.rows(), columns, room_, nullptr)) {
            return false;
        }
        lay_across(found);
        return true;
    }

  private:
    // Velocities (turns, nv) across the slips that turn.
    void lay_across(Equation& found) const {
        const int nv = motion_.robot.nv;
        found.across.clear(turns_, nv);
        int turn = 0;
        for (std::size_t i = 0; i < motion_.mode.closed.size(); ++i) {
            if (motion_.mode.closed[i].state != State::slip_free) continue;
            const std::array<double, 2>& slip = room_.scratch.slip[i];
            const double* rows = &room_.scratch.row[(motion_.mode.first[i] + 1) * nv];
            add_scaled(found.across.rows()[turn], -slip[1], rows, nv);
            add_scaled(found.across.rows()[turn++], slip[0], rows + nv, nv);
        }
    }

    void drive(double t) {
        path_.state(motion_.robot, t, x_);
        force_.assign(motion_.robot.nv, 0.0), memory_.resize(motion_.drive.memory);
        room_.scratch.sweep.ground = motion_.mode.terrain.at(t);
        motion_.drive.at(motion_.robot, t, x_.data(), force_.data(), memory_.data(), known_);
    }

    bool remember(double began) {
        if (began == began_) return true;
        began_ = began;
        drive(began);
        const Robot& robot = motion_.robot;
        room_.acceleration.resize(robot.nv), room_.forces.rates.resize(motion_.mode.rows);
        Sweep& sweep = room_.scratch.sweep;
        if (!begins_) {  // what slips is told by velocities alone
            sweep.prepare(robot), sweep.motions(robot, x_.data(), x_.data() + robot.nq);
            if (!contact_velocities(motion_.mode, sweep, x_.data() + robot.nq, room_.forces.rates.data())) return false;
        } else if (!accelerate(robot, motion_.mode, {directions_.data(), motion_.straight}, x_.data(),
                               x_.data() + robot.nq, force_.data(), room_.scratch, room_.acceleration.data(),
                               &room_.forces)) {
            return false;
        }
        int row = 0;
        for (std::size_t i = 0; i < motion_.mode.closed.size(); ++i) {
            const Closed& closed = motion_.mode.closed[i];
            const double* z = &room_.forces.rates[row];
            if (closed.state == State::slip_free) {
                const double speed = std::hypot(z[1], z[2]);
                double* direction = &directions_[2 * i];
                if (speed > 0.0) {
                    direction[0] = z[1] / speed, direction[1] = z[2] / speed;
                } else if (direction[0] == 0.0 && direction[1] == 0.0) {
                    direction[0] = 1.0;
                }
            } else if (closed.state == State::slip_begins) {
                std::copy_n(room_.scratch.slip[i].data(), 2, &directions_[2 * i]);
            }
            row += rows_of(motion_.mode, closed);
        }
        return true;
    }

    const Motion& motion_;
    const Path& path_;
    int turns_ = 0;
    bool begins_ = false;
    DerivativeScratch& room_;
    std::vector<double> directions_, x_, force_, memory_;
    Known known_;  // references of the drive
    double began_ = -std::numeric_limits<double>::infinity();
};

// Time within a step by a place s in [0, 1]: an exponential of it, as steps of the run shrink towards an instant at
// which the motion is singular, such as the stop of a slip, and grow away from it; t' = A t and dt/ds are smooth there.
struct Pace {
    double t0, t1, growth = 0.0;  // logarithm of the ratio of dt/ds at t1 and at t0

    double length() const { return t1 - t0; }
    double time(double s) const {
        if (s == 0.0 || s == 1.0) return s == 0.0 ? t0 : t1;
        if (growth == 0.0) return t0 + s * length();
        // Measured from the end at which time passes more slowly.
        return growth > 0.0 ? t0 + length() * std::expm1(growth * s) / std::expm1(growth)
                            : t1 - length() * std::expm1(-growth * (1.0 - s)) / std::expm1(-growth);
    }
    double slope(double s) const {
        if (growth == 0.0) return length();
        return length() * growth * std::exp(growth * s) / std::expm1(growth);
    }
};

// The steps of a run along a path, by which places are counted: where slips turn, and may stop; elsewhere the whole
// path counts as one of them, so that time is even.
class RunSteps {
  public:
    RunSteps(const Path& path, bool turns) : edges_{path.step_start.front()} {
        for (double start : path.step_start) {
            if (turns && start > edges_.back()) edges_.push_back(start);
        }
        edges_.push_back(path.step_end.back());
    }

    double place(double t) const {
        const auto after = std::upper_bound(edges_.begin() + 1, edges_.end() - 1, t);
        const int k = static_cast<int>(after - edges_.begin()) - 1;
        return k + (t - edges_[k]) / (edges_[k + 1] - edges_[k]);
    }

    double time(double place) const {
        const int k = std::min(static_cast<int>(place), static_cast<int>(edges_.size()) - 2);
        return edges_[k] + (place - k) * (edges_[k + 1] - edges_[k]);
    }

    // From t0 to t1, with half of the steps of the run passed at s = 1/2.
    Pace pace(double t0, double t1, double even) const {
        const double middle = time(0.5 * (place(t0) + place(t1)));
        const double growth = t0 < middle && middle < t1 ? 2.0 * std::log((t1 - middle) / (middle - t0)) : 0.0;
        return {t0, t1, std::abs(growth) > even ? growth : 0.0};
    }

    // The time up to which a step from t0 goes so that its pace does not change too much.
    double level_end(double t0, double t1, double even) const {
        for (double growth = pace(t0, t1, even).growth; std::abs(growth) > STEEPEST;) {
            const double shorter = time(place(t0) + STEEPEST / std::abs(growth) * (place(t1) - place(t0)));
            if (!(shorter > t0 && shorter < t1)) break;
            t1 = shorter, growth = pace(t0, t1, even).growth;
        }
        return t1;
    }

  private:
    static constexpr double STEEPEST = 2.5;  // logarithm of the ratio of dt/ds at the ends of a step

    std::vector<double> edges_;
};

// What variations of (q, v) start from, and those of what is held; all are (rows, width) matrices without gaps.
struct Start {
    Rows q, v, held;
};

// What a step misses where the solution is smooth, and where it decays fast; see `solve_linear`.
struct Missed {
    double smooth, carried;
    double all() const { return std::max(smooth, carried); }
};

// One step of collocation. The stages of q follow from those of v, q_i = R_i q + sum P_ij v_j, so that the linear
// system is one for the stages of v alone; P is a dt/ds where motions commute.
class Step {
  public:
    // Before the first step along an arc, in the room of those before.
    void begin(int nv, int held, int width) { nv_ = nv, held_ = held, wide_ = padded(width), turns_ = 0; }

    // Solves for the stages of a step, by iteration first where that may do; false where there is no solution.
    bool take(const Scheme& scheme, const Pace& pace, std::vector<Equation>& at, const Start& start, bool iterates,
              const Control& control) {
        const int s = scheme.stages();
        weigh(scheme, pace);
        measure(start);
        if (iterates && iterate(s, at, start, SOLVED * control.rtol, control.atol / control.rtol)) return true;
        if (!turn(s, at)) return false;
        by_stages_.shape(s * nv_, s * nv_), given_.clear(s * nv_, wide_), begun_.shape(nv_, wide_);
        for (int j = 0; j < s; ++j) add_stage(s, at[j].by_state.rows(), j, start);
        system_.clear(s * nv_, s * nv_), v_.shape(s * nv_, wide_);
        for (int i = 0; i < s * nv_; ++i) {
            system_.rows()[i][i] = 1.0;
            std::copy_n(start.v[i % nv_], wide_, v_.rows()[i]);
        }
        add_stages(system_, -1.0, by_stages_, s);
        add_stages(v_, 1.0, given_, s);
        if (!solve_dense(system_.rows(), v_.rows(), s * nv_, wide_)) return false;
        follow(s, start);
        return true;
    }

    Rows q(int stage) { return q_.rows().from(stage * nv_); }
    Rows v(int stage) { return v_.rows().from(stage * nv_); }

    // What the step misses, relative to the rows of the solution; `slope` is dt/ds at its start, and decays are up to
    // e^-reach within it.
    Missed error(const Scheme& scheme, double slope, double reach, Equation& before, const Start& start,
                 const Control& control) {
        const int s = scheme.stages(), count = static_cast<int>(scheme.estimates.size()) / s, all = nv_ * wide_;
        const ConstRows estimates{scheme.estimates.data(), s};
        // Each stage, and each estimate, is one row.
        moved_.shape(s, 2 * all), missed_.clear(count, 2 * all);
        for (int i = 0; i < s; ++i) {
            set_difference(moved_.rows()[i], q(i).data, start.q.data, all);
            set_difference(moved_.rows()[i] + all, v(i).data, start.v.data, all);
        }
        add_product(missed_.rows(), 1.0, estimates, moved_.rows(), count, s, 2 * all);
        subtract_rate(slope, before, start, missed_.rows()[count - 1]);
        std::vector<double> apart(count, 0.0), last(2 * nv_), missed(count * 2 * nv_);
        largest_of_rows(last.data(), q(s - 1), nv_, wide_);
        largest_of_rows(last.data() + nv_, v(s - 1), nv_, wide_);
        largest_of_rows(missed.data(), {missed_.data.data(), wide_}, count * 2 * nv_, wide_);
        for (int k = 0; k < 2 * nv_; ++k) {
            const double size = sizes_[k] + last[k] + control.atol / control.rtol;
            for (int e = 0; e < count; ++e) {
                const double share = missed[e * 2 * nv_ + k] / size;
                if (share > apart[e] || std::isnan(share)) apart[e] = share;
            }
        }
        apart[0] = std::max(apart[0], apart.back() / (s * s));
        double theta = 0.0;
        for (int e = 0; e + 2 < count; ++e) theta = std::max(theta, apart[e] / std::max(apart[e + 1], control.tiny));
        return {apart[0] * std::pow(std::min(theta, 1.0), std::min(s, SEEN)), apart.back() * scheme.carried(reach)};
    }

  private:
    // a_ij dt/ds_j: what the rate at stage j adds to stage i.
    void weigh(const Scheme& scheme, const Pace& pace) {
        const int s = scheme.stages();
        weights_ = scheme.matrix;
        for (int j = 0; j < s; ++j) {
            const double slope = pace.slope(scheme.nodes[j]);
            for (int i = 0; i < s; ++i) weights_[i * s + j] *= slope;
        }
    }

    // Looks at the rows from which the step starts.
    void measure(const Start& start) {
        each_alone_ = true;
        for (int k = 0; k < 2 * nv_ && each_alone_; ++k) {
            const double* row = k < nv_ ? start.q[k] : start.v[k - nv_];
            for (int c = 0; c < wide_; ++c) each_alone_ = each_alone_ && row[c] == (c == k ? 1.0 : 0.0);
        }
        sizes_.resize(2 * nv_);
        largest_of_rows(sizes_.data(), start.q, nv_, wide_);
        largest_of_rows(sizes_.data() + nv_, start.v, nv_, wide_);
    }

    // Solves for the stages as if only slips turned, again and again by what is missed; false where that does not
    // come closer fast.
    bool iterate(int s, std::vector<Equation>& at, const Start& start, double accuracy, double floor) {
        q_.shape(s * nv_, wide_), v_.shape(s * nv_, wide_);
        for (int i = 0; i < s; ++i) {
            std::copy_n(start.q.data, nv_ * wide_, q(i).data);
            std::copy_n(start.v.data, nv_ * wide_, v(i).data);
        }
        lay_turns(s, at);
        double last = 0.0;
        for (int k = 0; k < MOST_PASSES; ++k) {
            if (k > 0) move_places(s, at, start);
            const double changed = change_speeds(s, at, start, floor, k == 0);
            // The first change is that from no motion at all, of which a small one says nothing about what follows.
            if (k > 0 && !(changed <= SLOWEST * (k == 1 ? std::max(last, 1.0) : last))) return false;
            if (k > 0 && changed * changed <= accuracy * last) {
                move_places(s, at, start);
                return true;
            }
            last = changed;
        }
        return false;
    }

    // q = q0 + W (v - ad q), in place.
    void move_places(int s, const std::vector<Equation>& at, const Start& start) {
        given_.shape(s * nv_, wide_), turns_place_.assign(nv_, 0);
        for (const Bracket& bracket : at[0].brackets) {
            std::fill_n(turns_place_.begin() + bracket.first, bracket.size, 1);
            for (int i = 0; i < s; ++i) {
                const int first = i * nv_ + bracket.first;
                std::copy_n(v_.rows()[first], bracket.size * wide_, given_.rows()[first]);
            }
        }
        for (int i = 0; i < s; ++i) subtract_brackets(at[i], 1.0, q(i), given_.rows().from(i * nv_));
        for (int r = 0; r < nv_; ++r) {
            set_stages(q_.rows().from(r), {start.q[r], 0}, (turns_place_[r] ? given_ : v_).rows().from(r), s);
        }
    }

    // The same for v = v0 + W v', where what slips turn is solved for; by how much stages changed, relative to rows.
    // In the first pass stages are as the step starts.
    double change_speeds(int s, std::vector<Equation>& at, const Start& start, double floor, bool first) {
        given_.shape(s * nv_, wide_), missed_.shape(s * nv_, wide_), none_.clear(1, wide_);
        for (int i = 0; i < s; ++i) {
            const Rows rates = given_.rows().from(i * nv_), by_state = at[i].by_state.rows();
            if (first && each_alone_) {
                const int given = std::min(2 * nv_, wide_);  // of fewer variations the first columns
                for (int r = 0; r < nv_; ++r) {
                    std::copy_n(by_state[r], given, rates[r]);
                    std::fill(rates[r] + given, rates[r] + wide_, 0.0);
                }
            } else {
                set_product(rates, {none_.data.data(), 0}, 1.0, by_state, q(i), nv_, nv_, wide_);
                add_product(rates, 1.0, by_state.from(0, nv_), v(i), nv_, nv_, wide_);
            }
            if (held_) add_product(rates, 1.0, by_state.from(0, 2 * nv_), start.held, nv_, held_, wide_);
            set_difference(missed_.rows()[i * nv_], start.v.data, v(i).data, nv_ * wide_);
        }
        add_stages(missed_, 1.0, given_, s);
        if (!pass_turns(s, at, missed_)) return std::numeric_limits<double>::quiet_NaN();
        add_scaled(v_.data.data(), 1.0, missed_.data.data(), s * nv_ * wide_);
        double changed = 0.0;
        changes_.resize(s * nv_);
        largest_of_rows(changes_.data(), missed_.rows(), s * nv_, wide_);
        for (int k = 0; k < s * nv_; ++k) {
            const double share = changes_[k] / (sizes_[nv_ + k % nv_] + floor);
            if (share > changed || std::isnan(share)) changed = share;
        }
        return changed;
    }

    // 1 - across_i w_ij turned_j, by which stages follow if only slips turn.
    void lay_turns(int s, std::vector<Equation>& at) {
        turns_ = static_cast<int>(at[0].across.data.size()) / std::max(at[0].across.stride, 1);
        if (!turns_) return;
        across_.clear(s * turns_, s * turns_);
        turning_.clear(turns_, turns_);
        for (int j = 0; j < s; ++j) {
            for (int i = 0; i < s; ++i) {
                const Rows own = across_.rows().from(i * turns_, j * turns_);
                const Rows turned = at[j].by_state.rows().from(0, 2 * nv_ + held_);
                for (int a = 0; a < turns_; ++a) {
                    for (int k = 0; k < nv_; ++k) {
                        const double share = weights_[i * s + j] * at[i].across.rows()[a][k];
                        for (int b = 0; b < turns_; ++b) own[a][b] -= share * turned[k][b];
                    }
                }
            }
        }
        for (int i = 0; i < s * turns_; ++i) across_.rows()[i][i] += 1.0;
    }

    // Adds to what stages of v are given what turning slips make of it.
    bool pass_turns(int s, std::vector<Equation>& at, Matrix& stages) {
        if (!turns_) return true;
        turning_ = across_, turned_.shape(s * turns_, wide_), pulled_.shape(s * nv_, wide_);
        const ConstRows none{none_.data.data(), 0};
        for (int i = 0; i < s; ++i) {
            set_product(turned_.rows().from(i * turns_), none, 1.0, at[i].across.rows(), stages.rows().from(i * nv_),
                        turns_, nv_, wide_);
        }
        if (!solve_dense(turning_.rows(), turned_.rows(), s * turns_, wide_)) return false;
        for (int i = 0; i < s; ++i) {
            set_product(pulled_.rows().from(i * nv_), none, 1.0, at[i].by_state.rows().from(0, 2 * nv_ + held_),
                        turned_.rows().from(i * turns_), nv_, turns_, wide_);
        }
        add_stages(stages, 1.0, pulled_, s);
        return true;
    }

    // P and R of a joint whose motions do not commute, w = a dt/ds: (1 + w ad) q = 1 q0 + w v.
    struct Turning {
        int first, size;
        Matrix by_speed;  // (stages size, stages size + size), R behind P
        Rows along(int stage, int other) { return by_speed.rows().from(stage * size, other * size); }
    };

    bool turn(int s, const std::vector<Equation>& at) {
        turnings_.resize(at[0].brackets.size());
        for (std::size_t b = 0; b < turnings_.size(); ++b) {
            const int size = at[0].brackets[b].size, n = s * size;
            Turning& turning = turnings_[b];
            turning.first = at[0].brackets[b].first, turning.size = size;
            Matrix system;
            system.clear(n, n), turning.by_speed.clear(n, n + size);
            for (int i = 0; i < n; ++i) system.rows()[i][i] = turning.by_speed.rows()[i][n + i % size] = 1.0;
            for (int i = 0; i < s; ++i) {
                for (int j = 0; j < s; ++j) {
                    const double share = weights_[i * s + j];
                    const Rows own = system.rows().from(i * size, j * size);
                    for (int r = 0; r < size; ++r) {
                        turning.along(i, j)[r][r] += share;
                        add_scaled(own[r], share, &at[j].brackets[b].matrix[r * size], size);
                    }
                }
            }
            if (!solve_dense(system.rows(), turning.by_speed.rows(), n, turning.by_speed.stride)) return false;
        }
        return true;
    }

    // The rate K q_j + D v_j + G held of stage j, by the stages of v and by what is given.
    void add_stage(int s, Rows rates, int j, const Start& start) {
        const Rows by_stages = by_stages_.rows().from(j * nv_), given = given_.rows().from(j * nv_);
        const Rows begun = begun_.rows();
        set_repeated(by_stages, &weights_[j * s], s, rates, nv_, nv_);
        std::copy_n(start.q.data, nv_ * wide_, begun.data);
        for (Turning& turning : turnings_) {
            const int size = turning.size, wide = turning.by_speed.stride;
            begin(turning, j, s, start, begun.from(turning.first));
            by_turning_.clear(nv_, wide);
            add_product(by_turning_.rows(), 1.0, rates.from(0, turning.first), turning.along(j, 0), nv_, size, wide);
            for (int r = 0; r < nv_; ++r) {
                const double* from = by_turning_.rows()[r];
                for (int l = 0; l < s; ++l) {
                    double* to = by_stages[r] + l * nv_ + turning.first;
                    for (int c = 0; c < size; ++c) to[c] = from[l * size + c];
                }
            }
        }
        for (int r = 0; r < nv_; ++r) add_scaled(by_stages[r] + j * nv_, 1.0, rates[r] + nv_, nv_);
        add_product(given, 1.0, rates, begun, nv_, nv_, wide_);
        if (held_) add_product(given, 1.0, rates.from(0, 2 * nv_), start.held, nv_, held_, wide_);
    }

    // To stage i of `to` the sum of w_ij times stage j of `from`.
    void add_stages(Matrix& to, double factor, Matrix& from, int s) {
        const Rows weights{weights_.data(), s};
        for (int r = 0; r < nv_; ++r) {
            add_product({to.rows()[r], nv_ * to.stride}, factor, weights, {from.rows()[r], nv_ * from.stride}, s, s,
                        to.stride);
        }
    }

    // One row of each stage, `start` and the sum of w_ij times that of stage j of `from`.
    void set_stages(Rows to, ConstRows start, Rows from, int s) {
        const Rows weights{weights_.data(), s};
        set_product({to.data, nv_ * wide_}, start, 1.0, weights, {from.data, nv_ * wide_}, s, s, wide_);
    }

    // R q (size, width) of a joint at a stage.
    void begin(Turning& turning, int stage, int stages, const Start& start, Rows out) const {
        for (int r = 0; r < turning.size; ++r) std::fill_n(out[r], wide_, 0.0);
        add_product(out, 1.0, turning.along(stage, stages), start.q.from(turning.first), turning.size, turning.size,
                    wide_);
    }

    // The stages of q, from those of v.
    void follow(int s, const Start& start) {
        q_.shape(s * nv_, wide_);
        for (int r = 0; r < nv_; ++r) set_stages(q_.rows().from(r), {start.q[r], 0}, v_.rows().from(r), s);
        for (Turning& turning : turnings_) {
            const int size = turning.size, n = s * size;
            turned_.clear(n, wide_), pulled_.shape(n, wide_);
            for (int k = 0; k < n; ++k) std::copy_n(v(k / size)[turning.first + k % size], wide_, pulled_.rows()[k]);
            const Rows by_speed = turning.by_speed.rows();
            add_product(turned_.rows(), 1.0, by_speed.from(0, n), start.q.from(turning.first), n, size, wide_);
            add_product(turned_.rows(), 1.0, by_speed, pulled_.rows(), n, n, wide_);
            for (int k = 0; k < n; ++k) std::copy_n(turned_.rows()[k], wide_, q(k / size)[turning.first + k % size]);
        }
    }

    // Takes the rate by s at the start of the step, where dt/ds is `slope`, from what is missed.
    void subtract_rate(double slope, Equation& before, const Start& start, double* out) {
        const Rows missed{out, wide_}, rates = before.by_state.rows();
        for (int r = 0; r < nv_; ++r) add_scaled(missed[r], -slope, start.v[r], wide_);
        subtract_brackets(before, -slope, start.q, missed);
        add_product(missed.from(nv_), -slope, rates, start.q, nv_, nv_, wide_);
        add_product(missed.from(nv_), -slope, rates.from(0, nv_), start.v, nv_, nv_, wide_);
        if (held_) add_product(missed.from(nv_), -slope, rates.from(0, 2 * nv_), start.held, nv_, held_, wide_);
    }

    // rates -= factor ad q.
    void subtract_brackets(const Equation& equation, double factor, Rows q, Rows rates) const {
        for (const Bracket& bracket : equation.brackets) {
            const int size = bracket.size;
            add_product(rates.from(bracket.first), -factor, {bracket.matrix.data(), size}, q.from(bracket.first), size,
                        size, wide_);
        }
    }

    static constexpr int MOST_PASSES = 6;
    static constexpr double SLOWEST = 0.02;  // factor by which changes fall from pass to pass, or it takes too many
    static constexpr double SOLVED = 1e-2;   // of the tolerance, to which stages are solved for
    static constexpr int SEEN = 6;  // stages by which the fall of estimates is carried on: by more it promises too much

    int nv_ = 0, held_ = 0, wide_ = 0, turns_ = 0;
    std::vector<double> weights_;
    bool each_alone_ = false;              // whether q and v are varied number by number where the step starts
    std::vector<double> sizes_, changes_;  // of the rows from which the step starts; changes of stages by a pass
    std::vector<Turning> turnings_;
    Matrix system_, v_, q_;
    Matrix by_stages_, given_;  // rates of all stages, by the stages of v, and what follows from the start
    Matrix begun_, by_turning_, moved_, missed_, none_;
    std::vector<char> turns_place_;              // whether each velocity is of a joint whose motions do not commute
    Matrix across_, turning_, turned_, pulled_;  // of slips, or of joints, that turn
};

// Room that is kept from arc to arc, most of which are short.
struct Room {
    DerivativeScratch scratch;
    Equation before, end_of_last;
    std::vector<Equation> at;
    Step step;
};

// sqrt of the largest row of |A^2|, a bound on the rate of the equation as if it were constant [1/s]. With ad those of
// the brackets, A = (-ad, 1; K, D) and A^2 = (ad^2 + K, D - ad; D K - K ad, K + D^2).
double rate_of(Equation& equation, int nv) {
    const int n = 2 * nv;
    const Rows by_state = equation.by_state.rows();
    thread_local Matrix square;
    square.clear(n, n);
    const Rows above = square.rows(), below = above.from(nv);
    for (int r = 0; r < nv; ++r) {
        std::copy_n(by_state[r], n, above[r]);
        std::copy_n(by_state[r], nv, below[r] + nv);
    }
    add_product(below, 1.0, by_state.from(0, nv), by_state, nv, nv, square.stride);
    for (const Bracket& bracket : equation.brackets) {
        const int size = bracket.size, first = bracket.first;
        for (int k = 0; k < size; ++k) {
            const double* own = &bracket.matrix[k * size];
            for (int r = 0; r < size; ++r) {
                const double share = bracket.matrix[r * size + k];
                add_scaled(above[first + r] + first, share, own, size);
                above[first + r][nv + first + k] -= share;
            }
            for (int r = 0; r < nv; ++r) add_scaled(below[r] + first, -by_state[r][first + k], own, size);
        }
    }
    std::vector<double> sums(n), ones(square.stride, 0.0);  // padding counts for nothing
    std::fill_n(ones.begin(), n, 1.0);
    weigh_rows(sums.data(), square.rows(), ones.data(), n, square.stride);
    return std::sqrt(*std::max_element(sums.begin(), sums.end()));
}

// The sizes |A| of what but slips that turn moves variations: above brackets and ones, below `below` (nv, 2 nv).
class SizesApartFromTurns {
  public:
    SizesApartFromTurns(Equation& equation, int nv, int held) : equation_(equation), nv_(nv), below_(room()) {
        const int n = 2 * nv;
        const int turns = static_cast<int>(equation.across.data.size()) / std::max(equation.across.stride, 1);
        below_.clear(nv, n);
        for (int r = 0; r < nv; ++r) {
            double* own = below_.rows()[r];
            std::copy_n(equation.by_state.rows()[r], n, own);
            for (int a = 0; a < turns; ++a) {
                add_scaled(own + nv, -equation.by_state.rows()[r][n + held + a], equation.across.rows()[a], nv);
            }
        }
        sums_.assign(below_.stride, 0.0), next_.resize(n);
        std::fill_n(sums_.begin(), n, 1.0);
    }

    // A bound on the rate [1/s]: sqrt of the largest row of |A|^2.
    double rate() {
        for (int pass = 0; pass < 2; ++pass) apply();
        return std::sqrt(*std::max_element(sums_.begin(), sums_.end()));
    }

    // A close bound on the sizes of eigenvalues [1/s]; see `fastest` of contactsim. It goes on from `rate`.
    double fastest(const Control& control) {
        for (int pass = 0; pass < control.passes; ++pass) {
            apply();
            const double least = control.spread * std::max(*std::max_element(next_.begin(), next_.end()), control.tiny);
            for (int k = 0; k < 2 * nv_; ++k) sums_[k] = std::max(next_[k], least) / (least / control.spread);
        }
        const std::vector<double> before(sums_.begin(), sums_.begin() + 2 * nv_);
        apply();
        double most = 0.0;
        for (int k = 0; k < 2 * nv_; ++k) most = std::max(most, next_[k] / before[k]);
        return most;
    }

  private:
    static Matrix& room() {
        thread_local Matrix kept;
        return kept;
    }

    // sums = |A| sums
    void apply() {
        weigh_rows(next_.data() + nv_, below_.rows(), sums_.data(), nv_, below_.stride);
        std::copy_n(sums_.begin() + nv_, nv_, next_.begin());
        for (const Bracket& bracket : equation_.brackets) {
            for (int r = 0; r < bracket.size; ++r) {
                for (int k = 0; k < bracket.size; ++k) {
                    const double size = std::abs(bracket.matrix[r * bracket.size + k]);
                    next_[bracket.first + r] += size * sums_[bracket.first + k];
                }
            }
        }
        std::copy(next_.begin(), next_.end(), sums_.begin());
    }

    const Equation& equation_;
    int nv_;
    Matrix& below_;
    std::vector<double> sums_, next_;
};

// The length of steps, counted in those of the run, and their methods, by what the last one missed.
class StepChoice {
  public:
    StepChoice(const std::vector<Scheme>& schemes, const Control& control, bool turns, double first)
        : length(first),
          schemes_(schemes),
          rtol_(control.rtol),
          control_(control),
          turns_(turns),
          growth_(turns ? std::min(control.growth, TURNING_GROWTH) : control.growth) {}

    double length;

    // Whether the step that comes next from a place, `last` if that ends the arc, needs a bound for its choice.
    bool asks(double place, bool last) const { return !(takes_all(place, last) || refused_); }

    // Whether the fewest stages do for a step in which the solution changes by e^reach.
    bool is_short(double reach) const { return &enough(reach) == &schemes_.front(); }

    // Within the step that comes next from a place, `bound` is one on how much the solution changes, as a logarithm;
    // `others` likewise on what but turning slips changes, and `last` says that its end is that of the arc.
    const Scheme& choose(double place, double bound, double others, bool last) {
        place_ = place;
        most_ = &most_of(turns_ && others <= SHORT ? schemes_.back().stages() : MOST_AT_ONCE);
        const double told = length * told_;
        scheme_ = takes_all(place, last) ? most_ : &enough(refused_ ? told : std::min(bound, told));
        iterates = others <= (scheme_->stages() > FEW ? SHORT : SHORTEST);
        return *scheme_;
    }

    bool iterates = false;  // whether the system of the step is expected to be solved by iteration

    void learn(const Missed& missed) {
        const double error = missed.all();
        const bool accepted = error <= rtol_, finite = std::isfinite(error);
        const double power = 1.0 / scheme_->stages();
        const double change = std::pow(std::max(missed.smooth, control_.tiny) / scheme_->error, 0.5 * power);
        told_ = missed.carried > AIM * rtol_ ? std::numeric_limits<double>::infinity() : MARGIN * change / length;
        refused_ = !accepted && finite && scheme_ != most_;
        if (refused_) return;  // the same step, by more stages
        const double most = std::pow(rtol_ / most_->error, 0.5 / most_->stages());
        const double wanted = most / (scheme_ == most_ ? change : MARGIN * change);
        const double carried = std::pow(rtol_ / std::max(missed.carried, control_.tiny), power);
        const double longer = std::max(control_.shrinkage, finite ? control_.safety * std::min(wanted, carried) : 0.0);
        by_error_ = longer < growth_;
        if (!accepted) rough_ = place_ + length;
        length *= std::min(again_ ? 1.0 : growth_, longer);  // a step behind one that was refused grows no more
        again_ = !accepted;
    }

  private:
    static constexpr double SHORT = 0.3;      // of the time of all but turning slips, up to which steps are iterated
    static constexpr double SHORTEST = 0.03;  // the same for few stages, whose system is soon solved as a whole
    static constexpr int FEW = 4;
    static constexpr int MOST_AT_ONCE = 6;         // stages whose system is solved as a whole, at most
    static constexpr double TURNING_GROWTH = 3.0;  // of steps whose rates may change fast
    static constexpr double MARGIN = 1.3;          // of what the error of the last step tells of the next one
    static constexpr double AIM = 0.5;             // of the tolerance, which fewer stages are to meet

    bool takes_all(double place, bool last) const { return place < rough_ || (by_error_ && !refused_ && !last); }

    const Scheme& most_of(int stages) const {
        const auto more = [&](const Scheme& scheme) { return scheme.stages() > stages; };
        const auto found = std::find_if(schemes_.begin() + 1, schemes_.end(), more);
        return *(found - 1);
    }

    // The method of fewest stages that is expected to meet the tolerance as the solution changes by e^reach.
    const Scheme& enough(double reach) const {
        for (const Scheme& scheme : schemes_) {
            if (&scheme == most_ || scheme.error * std::pow(reach, 2 * scheme.stages()) <= AIM * rtol_) return scheme;
        }
        return *most_;
    }

    const std::vector<Scheme>& schemes_;
    double rtol_;
    const Control& control_;
    bool turns_;
    double growth_;
    const Scheme *scheme_ = nullptr, *most_ = nullptr;
    double told_ = std::numeric_limits<double>::infinity();  // change by a step of the run, as the last error tells it
    bool by_error_ = false, refused_ = false;  // whether its length is by errors; whether fewer stages missed too much
    bool again_ = false;                       // whether a longer step from here missed too much
    double place_ = 0.0, rough_ = -1.0;        // where the step begins, and the end of the last one that missed so
};

}  // namespace

Ending propagate(const Motion& motion, const Path& path, const std::vector<Scheme>& schemes, const Control& control,
                 double t0, double first_step, double& t1, double* variations, int width) {
    const int nv = motion.robot.nv, torques = static_cast<int>(motion.drive.held_on.size());
    const int kept = motion.drive.held_at - motion.robot.nq + nv;  // row of the variations where the torques begin
    Workplace<Room> workplace(motion.drive);
    Room& room = workplace.room();
    Equations equations(motion, path, room.scratch);
    Step& step = room.step;
    const int held = equations.held();
    step.begin(nv, held, width);
    Matrix now, held_rows;
    now.clear(2 * nv, width), held_rows.clear(held, width);
    for (int r = 0; r < 2 * nv; ++r) std::copy_n(variations + r * width, width, now.rows()[r]);
    for (int r = 0; r < held; ++r) {
        const int from = r < torques ? kept + r : path.dim + r - torques;
        std::copy_n(variations + from * width, width, held_rows.rows()[r]);
    }
    const Start start{now.rows(), now.rows().from(nv), held_rows.rows()};

    const bool turns = equations.turns() > 0;
    const RunSteps run(path, turns);
    const auto singular = [&](double when) { return t1 = when, Ending::singular; };
    StepChoice choice(schemes, control, turns, run.place(t0 + std::min(first_step, t1 - t0)) - run.place(t0));
    double t = t0, told = std::numeric_limits<double>::quiet_NaN();
    Equation &before = room.before, &end_of_last = room.end_of_last;  // that of a step that missed too much, at `told`
    std::vector<Equation>& at = room.at;
    if (!equations.at(t0, before)) return singular(t0);
    while (t < t1) {
        const double end = run.level_end(t, std::min(run.time(run.place(t) + choice.length), t1), control.even);
        const bool last = end >= t1 - control.smallest * std::max(1.0, std::abs(t1));
        const Pace pace = run.pace(t, last ? t1 : end, control.even);
        const double slope = pace.slope(0.0);
        SizesApartFromTurns sizes(before, nv, held);
        const double place = run.place(t), others = slope * sizes.rate();
        double bound = 0.0;
        if (choice.asks(place, last)) bound = turns || !choice.is_short(others) ? slope * rate_of(before, nv) : others;
        choice.length = run.place(pace.t1) - place;
        const Scheme& scheme = choice.choose(place, bound, others, last);
        const int stages = scheme.stages();
        at.resize(std::max<std::size_t>(at.size(), stages));
        for (int i = 0; i < stages; ++i) {
            const double when = pace.time(scheme.nodes[i]);
            if (when == told) {
                std::swap(at[i], end_of_last);
            } else if (!equations.at(when, at[i])) {
                return singular(when);
            }
        }
        Missed missed{std::numeric_limits<double>::infinity(), 0.0};
        if (step.take(scheme, pace, at, start, choice.iterates, control)) {
            missed = step.error(scheme, slope, slope * sizes.fastest(control), before, start, control);
        }
        choice.learn(missed);
        const double error = missed.all();
        told = error <= control.rtol ? std::numeric_limits<double>::quiet_NaN() : pace.time(scheme.nodes.back());
        if (!std::isnan(told)) std::swap(end_of_last, at[stages - 1]);
        if (error <= control.rtol) {
            for (int r = 0; r < nv; ++r) {
                std::copy_n(step.q(stages - 1)[r], width, start.q[r]);
                std::copy_n(step.v(stages - 1)[r], width, start.v[r]);
            }
            t = pace.t1;
            std::swap(before, at[stages - 1]);
        } else if (pace.length() <= control.smallest * std::max(1.0, std::abs(t))) {
            return t1 = t, Ending::stuck;
        }
    }
    for (int r = 0; r < 2 * nv; ++r) std::copy_n(now.rows()[r], width, variations + r * width);
    return Ending::reached;
}

}  // namespace native
