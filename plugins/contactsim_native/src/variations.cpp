#include "variations.hpp"

#include <algorithm>
#include <limits>

namespace native {

namespace {

// The linear equation at one time: q' = v - ad q and v' = by_state (q, v, held).
struct Equation {
    std::vector<Bracket> brackets;
    Matrix by_state;
};

// The equations along an arc, with the directions that slips remember from where each step of the run began.
class Equations {
  public:
    Equations(const Motion& motion, const Path& path) : motion_(motion), path_(path) {
        const auto& closed = motion.mode.closed;
        directions_.assign(motion.directions, motion.directions + 2 * closed.size());
        for (const Closed& one : closed) {
            turns_ = turns_ || one.state == State::slip_free;
            begins_ = begins_ || one.state == State::slip_begins;
        }
    }

    bool turns() const { return turns_; }

    bool at(double t, Equation& found) {
        const Robot& robot = motion_.robot;
        const int columns = 2 * robot.nv + static_cast<int>(motion_.drive.held_on.size());
        if ((turns_ || begins_) && !remember(path_.step_start[path_.piece(t)])) return false;
        drive(t);
        found.brackets = brackets(robot, x_.data() + robot.nq);
        found.by_state.clear(robot.nv, columns);
        motion_.drive.by_state(robot, found.by_state.rows());
        return differentiate(robot, motion_.mode, {directions_.data(), motion_.straight}, x_.data(),
                             x_.data() + robot.nq, force_.data(), found.by_state.rows(), columns, room_, nullptr);
    }

  private:
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
        room_.acceleration.resize(robot.nv);
        if (!accelerate(robot, motion_.mode, {directions_.data(), motion_.straight}, x_.data(), x_.data() + robot.nq,
                        force_.data(), room_.scratch, room_.acceleration.data(), &room_.forces)) {
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
    bool turns_ = false, begins_ = false;
    DerivativeScratch room_;
    std::vector<double> directions_, x_, force_, memory_;
    Known known_;  // references of the drive
    double began_ = -std::numeric_limits<double>::infinity();
};

constexpr double BOUND = 3.0;  // times that what a step misses may be less than follows from a bound on the rate

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

  private:
    std::vector<double> edges_;
};

// What variations of (q, v) start from, and those of what is held; all are (rows, width) matrices without gaps.
struct Start {
    Rows q, v, held;
};

// One step of collocation. The stages of q follow from those of v, q_i = R_i q + sum P_ij v_j, so that the linear
// system is one for the stages of v alone; P is a dt/ds where motions commute.
class Step {
  public:
    Step(int nv, int held, int width) : nv_(nv), held_(held), wide_(padded(width)) {}

    // Solves for the stages of a step; false where there is no solution.
    bool take(const Scheme& scheme, const Pace& pace, std::vector<Equation>& at, const Start& start) {
        const int s = scheme.stages();
        weigh(scheme, pace);
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

    // What the step misses, relative to the rows of the solution; `slope` is dt/ds at its start.
    double error(const Scheme& scheme, double slope, Equation& before, const Start& start, const Control& control) {
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
        std::vector<double> apart(count, 0.0);
        for (int k = 0; k < 2 * nv_; ++k) {
            const double* first = k < nv_ ? start.q[k] : start.v[k - nv_];
            const double* last = k < nv_ ? q(s - 1)[k] : v(s - 1)[k - nv_];
            const double size = largest(first, wide_) + largest(last, wide_) + control.atol / control.rtol;
            for (int e = 0; e < count; ++e) {
                const double share = largest(missed_.rows()[e] + k * wide_, wide_) / size;
                if (share > apart[e] || std::isnan(share)) apart[e] = share;
            }
        }
        apart[count - 1] /= s * s;
        apart[0] = std::max(apart[0], apart.back());
        double theta = 0.0;
        for (int e = 0; e + 2 < count; ++e) theta = std::max(theta, apart[e] / std::max(apart[e + 1], control.tiny));
        return apart[0] * std::pow(std::min(theta, 1.0), s);
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
                for (int l = 0; l < s; ++l) {
                    std::copy_n(by_turning_.rows()[r] + l * size, size, by_stages[r] + l * nv_ + turning.first);
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

    // R q (size, width) of a joint at a stage.
    void begin(Turning& turning, int stage, int stages, const Start& start, Rows out) const {
        for (int r = 0; r < turning.size; ++r) std::fill_n(out[r], wide_, 0.0);
        add_product(out, 1.0, turning.along(stage, stages), start.q.from(turning.first), turning.size, turning.size,
                    wide_);
    }

    // The stages of q, from those of v.
    void follow(int s, const Start& start) {
        q_.shape(s * nv_, wide_);
        for (int i = 0; i < s; ++i) std::copy_n(start.q.data, nv_ * wide_, q(i).data);
        add_stages(q_, 1.0, v_, s);
        for (int i = 0; i < s; ++i) {
            for (Turning& turning : turnings_) {
                const Rows own = q(i).from(turning.first);
                begin(turning, i, s, start, own);
                for (int j = 0; j < s; ++j) {
                    add_product(own, 1.0, turning.along(i, j), v(j).from(turning.first), turning.size, turning.size,
                                wide_);
                }
            }
        }
    }

    // Takes the rate by s at the start of the step, where dt/ds is `slope`, from what is missed.
    void subtract_rate(double slope, Equation& before, const Start& start, double* out) {
        const Rows missed{out, wide_}, rates = before.by_state.rows();
        for (int r = 0; r < nv_; ++r) add_scaled(missed[r], -slope, start.v[r], wide_);
        for (const Bracket& bracket : before.brackets) {
            for (int r = 0; r < bracket.size; ++r) {
                for (int c = 0; c < bracket.size; ++c) {
                    const double share = slope * bracket.matrix[r * bracket.size + c];
                    add_scaled(missed[bracket.first + r], share, start.q[bracket.first + c], wide_);
                }
            }
        }
        add_product(missed.from(nv_), -slope, rates, start.q, nv_, nv_, wide_);
        add_product(missed.from(nv_), -slope, rates.from(0, nv_), start.v, nv_, nv_, wide_);
        if (held_) add_product(missed.from(nv_), -slope, rates.from(0, 2 * nv_), start.held, nv_, held_, wide_);
    }

    int nv_, held_, wide_;
    std::vector<double> weights_;
    std::vector<Turning> turnings_;
    Matrix system_, v_, q_;
    Matrix by_stages_, given_;  // rates of all stages, by the stages of v, and what follows from the start
    Matrix begun_, by_turning_, moved_, missed_;
};

// sqrt of the largest row of |A^2|, a bound on the rate of the equation as if it were constant [1/s].
double rate_of(Equation& equation, int nv) {
    const int n = 2 * nv;
    Matrix whole, square;
    whole.clear(n, n), square.clear(n, n);
    for (int r = 0; r < nv; ++r) {
        whole.rows()[r][nv + r] = 1.0;
        std::copy_n(equation.by_state.rows()[r], n, whole.rows()[nv + r]);
    }
    for (const Bracket& bracket : equation.brackets) {
        for (int r = 0; r < bracket.size; ++r) {
            for (int c = 0; c < bracket.size; ++c) {
                whole.rows()[bracket.first + r][bracket.first + c] = -bracket.matrix[r * bracket.size + c];
            }
        }
    }
    add_product(square.rows(), 1.0, whole.rows(), whole.rows(), n, n, whole.stride);
    double largest = 0.0;
    for (int r = 0; r < n; ++r) {
        double sum = 0.0;
        for (int c = 0; c < n; ++c) sum += std::abs(square.rows()[r][c]);
        largest = std::max(largest, sum);
    }
    return std::sqrt(largest);
}

// The method of fewest stages that is expected to meet a tolerance as the solution changes by a factor of at most
// e^reach.
const Scheme& enough(const std::vector<Scheme>& schemes, double reach, double rtol) {
    const auto meets = [&](const Scheme& scheme) {
        return scheme.error * std::pow(reach, 2 * scheme.stages()) <= BOUND * rtol;
    };
    const auto found = std::find_if(schemes.begin(), schemes.end(), meets);
    return found == schemes.end() ? schemes.back() : *found;
}

}  // namespace

Ending propagate(const Motion& motion, const Path& path, const std::vector<Scheme>& schemes, const Control& control,
                 double t0, double first_step, double& t1, double* variations, int width) {
    const int nv = motion.robot.nv, held = static_cast<int>(motion.drive.held_on.size());
    const int kept = motion.drive.held_at - motion.robot.nq + nv;  // row of the variations where those held begin
    Equations equations(motion, path);
    Step step(nv, held, width);
    Matrix now;
    now.clear(path.dim, width);
    for (int r = 0; r < path.dim; ++r) std::copy_n(variations + r * width, width, now.rows()[r]);
    const Start start{now.rows(), now.rows().from(nv), held ? now.rows().from(kept) : now.rows()};

    const RunSteps run(path, equations.turns());
    const auto singular = [&](double when) { return t1 = when, Ending::singular; };
    double t = t0, count = run.place(t0 + std::min(first_step, t1 - t0)) - run.place(t0);  // steps of the run in a step
    bool by_error = false, refused = false;  // whether its length is by errors; whether fewer stages missed too much
    bool again = false;                      // whether a longer step from here missed too much
    Equation before;
    std::vector<Equation> at;
    if (!equations.at(t0, before)) return singular(t0);
    while (t < t1) {
        const double end = run.time(run.place(t) + count);
        const bool last = end >= t1 - control.smallest * std::max(1.0, std::abs(t1));
        const Pace pace = run.pace(t, last ? t1 : end, control.even);
        const double slope = pace.slope(0.0);
        count = run.place(pace.t1) - run.place(t);
        const bool all = refused || (by_error && !last);
        const Scheme& scheme = all ? schemes.back() : enough(schemes, slope * rate_of(before, nv), control.rtol);
        at.resize(scheme.stages());
        for (int i = 0; i < scheme.stages(); ++i) {
            const double when = pace.time(scheme.nodes[i]);
            if (!equations.at(when, at[i])) return singular(when);
        }
        double error = std::numeric_limits<double>::infinity();
        if (step.take(scheme, pace, at, start)) error = step.error(scheme, slope, before, start, control);
        if (error <= control.rtol) {
            for (int r = 0; r < nv; ++r) {
                std::copy_n(step.q(scheme.stages() - 1)[r], width, start.q[r]);
                std::copy_n(step.v(scheme.stages() - 1)[r], width, start.v[r]);
            }
            t = pace.t1, refused = false;
            std::swap(before, at.back());
        } else if (pace.length() <= control.smallest * std::max(1.0, std::abs(t))) {
            return t1 = t, Ending::stuck;
        } else if (&scheme != &schemes.back()) {
            refused = true;
            continue;
        }
        const double wanted = std::pow(control.rtol / std::max(error, control.tiny), 0.5 / scheme.stages());
        const double longer = std::max(control.shrinkage, control.safety * (std::isfinite(error) ? wanted : 0.0));
        by_error = longer < control.growth;
        count *= std::min(again ? 1.0 : control.growth, longer);  // a step behind one that was refused grows no more
        again = !(error <= control.rtol);
    }
    for (int r = 0; r < path.dim; ++r) std::copy_n(now.rows()[r], width, variations + r * width);
    return Ending::reached;
}

}  // namespace native
