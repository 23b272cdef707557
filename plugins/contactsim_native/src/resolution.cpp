#include "resolution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "even_sharing.hpp"
#include "hops.hpp"
#include "linear.hpp"

namespace native {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

double spacing(double x) {
    return std::nextafter(std::abs(x), INFINITE) - std::abs(x);
}

bool any(const Contacts& set) {
    return std::find(set.begin(), set.end(), char(true)) != set.end();
}

// A contact problem with the numbers that it looks at.
struct OwnProblem {
    ContactProblem problem;
    std::vector<double> delassus, free, kinetic, resting, slack, sliding;
    std::vector<int> contacts;  // among those that touch

    void look() {
        problem.delassus = delassus.data(), problem.free = free.data(), problem.kinetic = kinetic.data();
        problem.static_ = resting.data(), problem.slack = slack.data(), problem.sliding = sliding.data();
    }
};

}  // namespace

// The configuration stands still in an event, and with it masses and rows; these lead along motions that keep loops
// closed, J P with P = 1 - H C: impulses J^T p push by P M^-1 J^T p = M^-1 (J P)^T p.
class Resolution final : public Landing {
  public:
    Resolution(const TouchingWorld& world, const Event& event)
        : world_(world), rules_(world.rules), robot_(world.robot), t_(event.t), count_(event.touching.size()) {
        x_.assign(event.x, event.x + robot_.nq + robot_.nv + world.drive.memory);
        all_.terrain = world.terrain, all_.turning = world.turning;
        scratch_.sweep.ground = world.terrain.at(t_), scratch_.sweep.stays = true;
        for (int k = 0; k < count_; ++k) {
            const int i = event.touching[k];
            all_.closed.push_back({world.contacts[i], State::stick, world.kinetic[i]});
            all_.closed.back().contact.region = event.regions[k];
            tangents_.push_back(world.tangents[i]), number_.push_back(i);
        }
        all_.count();
        lay_rows();
    }

    // False where hills have no point nearest to a contact.
    bool is_grounded() const { return grounded_; }

    // State and modes after an event that touches some contacts; false: unknown. A contact that would leave at up to
    // the speed `slowest` stays; negative: by the height of its hop.
    bool resolve(const Before& before, std::vector<double> v, double slowest, Outcome& out) {
        const std::vector<double> rates = rates_of(v);
        Contacts at_rest = stopping(before);
        bool strikes = false;
        for (int i = 0; i < count_; ++i)
            strikes = strikes || (before.touching[i] && rates[all_.first[i]] < -rules_.speed);
        if (strikes && !strike(before, v, rates, out.struck, at_rest)) return false;
        return settled(before, v, strikes ? rates_of(v) : rates, slowest, at_rest, out);
    }

    // Whether more than a held slip direction leaves would bring contact `k` to rest; false: unknown.
    bool throws_to_rest(const Before& before, const std::vector<double>& v, int k, bool& found) const {
        const std::vector<double> rates = rates_of(v);
        Contacts at_rest(count_, false), staying(count_, true);
        at_rest[k] = true;
        std::vector<double> still = v, still_rates = rates, impulses;
        if (!bring_to_rest(before, staying, at_rest, still, still_rates, impulses)) return false;
        found = throws(v, still, rates, still_rates);
        return true;
    }

    // --- what bounces ask ---------------------------------------------------------------------------------------

    bool gap_motion(const std::vector<double>& v, const std::vector<ContactState>& states, bool unique,
                    const Contacts& contacts, GapMotion& found) override {
        if (!accelerated(v, states, unique)) return false;
        const Sweep& sweep = scratch_.sweep;
        found.acceleration = acceleration_;
        found.rates.assign(count_, 0.0), found.bends.assign(count_, 0.0);
        for (int i = 0; i < count_; ++i) {
            if (!contacts[i]) continue;
            found.rates[i] = nearing(all_, all_.closed[i].contact, sweep, x_.data(), v.data()).rate;
            found.bends[i] = gap_change(robot_, all_, all_.closed[i].contact, sweep, acceleration_.data());
        }
        return true;
    }

    bool stand_still(const std::vector<double>& v, const std::vector<ContactState>& states, const Contacts& contacts,
                     std::vector<double>& acceleration) override {
        sweep_at(v);
        std::vector<int> chosen;
        for (int i = 0; i < count_; ++i) {
            if (!contacts[i] && !states[i].closed()) continue;
            for (int d = 0; d <= width(i); ++d) chosen.push_back(all_.first[i] + d);
        }
        std::vector<double> missing(rows()), change;
        for (int i = 0; i < rows(); ++i) missing[i] = -scratch_.bias[i];
        if (!smallest_change(chosen, missing, change)) return false;
        push(acceleration, chosen, change);
        return true;
    }

    bool land(std::vector<double>& v, std::vector<ContactState>& states, bool& unique, const Contacts& landing,
              double slowest) override {
        Before before{states, std::vector<Kind>(count_, Kind::none), landing};
        for (int i = 0; i < count_; ++i) {
            if (states[i].closed()) before.touching[i] = true;
            if (landing[i]) before.kinds[i] = Kind::gap;
        }
        Outcome then;
        if (!resolve(before, v, slowest, then)) return false;
        v = then.v, states = then.states, unique = then.unique;
        return true;
    }

  private:
    const TouchingWorld& world_;
    const EventRules& rules_;
    const Robot& robot_;
    const double t_;
    const int count_;
    std::vector<double> x_;
    ContactMode all_;  // the ground, and all that touches, with the places of its rows
    bool grounded_ = true;
    std::vector<int> tangents_, number_;
    std::vector<double> row_, solved_, delassus_, drift_;  // J (m, nv), M^-1 J^T row by row, G (m, m), ground's motion
    std::vector<double> force_, bias_, unforced_, acceleration_;
    double largest_other_ = 0.0;              // of the forces besides those of contacts, by kinds and of their sum
    std::vector<double> told_;                // forces of a mode along its rows
    std::vector<std::vector<int>> moved_by_;  // velocities that move along each row
    Scratch scratch_;
    Known known_;

    double* v_of(std::vector<double>& x) const { return x.data() + robot_.nq; }
    int rows() const { return all_.rows; }
    int kept(int i) const { return 1 + tangents_[i]; }
    int width(int i) const { return rows_of(all_, all_.closed[i]) - 1; }
    bool is_limit(int i) const { return all_.closed[i].contact.is_limit(); }
    double at(int row, int column) const { return delassus_[row * rows() + column]; }

    void sweep_at(const std::vector<double>& v) {
        std::copy(v.begin(), v.end(), v_of(x_));
        grounded_ = native::lay_rows(robot_, all_, x_.data(), v.data(), scratch_);
    }

    void lay_rows() {
        const int nv = robot_.nv, m = rows();
        sweep_at(std::vector<double>(nv, 0.0));
        row_ = solved_ = scratch_.row, drift_ = scratch_.rates;
        delassus_.resize(m * m);
        for (int i = 0; i < count_; ++i) {
            const Tips tips = tips_of(robot_, all_.closed[i].contact);
            const int first = all_.first[i], count = rows_of(all_, all_.closed[i]);
            moved_by_.insert(moved_by_.end(), count, moving(robot_, tips));
            scratch_.sweep.solve_inwards(robot_, &solved_[first * nv], count, tips);
            for (int d = 0; d < count; ++d) scratch_.sweep.solve_outwards(robot_, &solved_[(first + d) * nv]);
        }
        for (int i = 0; i < m; ++i) {
            for (int j = 0; j < m; ++j) delassus_[i * m + j] = along(i, &solved_[j * nv]);
        }
    }

    // J_i a of one row.
    double along(int row, const double* a) const {
        const double* own = &row_[row * robot_.nv];
        double sum = 0.0;
        for (const int k : moved_by_[row]) sum += own[k] * a[k];
        return sum;
    }

    std::vector<double> rates_of(const std::vector<double>& v) const {
        std::vector<double> rates = drift_;
        for (int i = 0; i < rows(); ++i) rates[i] += along(i, v.data());
        return rates;
    }

    // v += M^-1 J^T of impulses along one row each.
    void push(std::vector<double>& v, const std::vector<int>& along, const std::vector<double>& impulses) const {
        for (std::size_t k = 0; k < along.size(); ++k) {
            const double* own = &solved_[along[k] * robot_.nv];
            for (int j = 0; j < robot_.nv; ++j) v[j] += impulses[k] * own[j];
        }
    }

    double tangential(int i, const std::vector<double>& numbers) const {
        const double* own = &numbers[all_.first[i]];
        return width(i) == 0 ? 0.0 : width(i) == 1 ? std::abs(own[1]) : std::hypot(own[1], own[2]);
    }

    // Forces, biases and accelerations without contact forces.
    void look_at_forces(const std::vector<double>& v) {
        const int nv = robot_.nv;
        sweep_at(v);
        bias_ = scratch_.bias;
        force_ = applied();
        largest_other_ = largest_of(force_);
        for (int k = 0; k < nv; ++k) {
            force_[k] += scratch_.sweep.free[k];
            largest_other_ = std::max({largest_other_, std::abs(scratch_.sweep.free[k]), std::abs(force_[k])});
        }
        unforced_ = force_;
        scratch_.sweep.solve(robot_, unforced_.data());
        if (robot_.loops.size()) scratch_.hold.keep(robot_, unforced_.data());
    }

    std::vector<double> applied() {
        std::vector<double> force(robot_.nv, 0.0), memory(world_.drive.memory);
        world_.drive.at(robot_, t_, x_.data(), force.data(), memory.data(), known_);
        return force;
    }

    // The acceleration of a mode, and its forces; false where it has none, or it is not clear which of many act.
    bool accelerated(const std::vector<double>& v, const std::vector<ContactState>& states, bool unique) {
        std::copy(v.begin(), v.end(), v_of(x_));
        const std::vector<double> rates = rates_of(v);
        ContactMode mode;
        mode.terrain = all_.terrain, mode.turning = all_.turning;
        std::vector<double> directions;
        for (int i = 0; i < count_; ++i) {
            if (!states[i].closed()) continue;
            const ContactState& own = states[i];
            State state = State::smooth;
            std::array<double, 2> direction{};
            if (own.standing == Standing::stick && tangents_[i]) {
                state = State::stick;
            } else if (own.standing == Standing::slip && tangents_[i]) {
                if (own.phase == Phase::incipient && tangents_[i] == 1) return false;
                state = own.phase == Phase::incipient ? State::slip_begins
                        : own.phase == Phase::free    ? State::slip_free
                                                      : State::slip_held;
                direction = own.direction;
                const double size = tangential(i, rates);
                const double* slip = &rates[all_.first[i] + 1];
                if (own.phase == Phase::free) {
                    direction = {size > 0.0 ? slip[0] / size : 1.0, size > 0.0 ? slip[1] / size : 0.0};
                }
            }
            mode.closed.push_back(
                {all_.closed[i].contact, state, world_.kinetic[number_[i]], world_.resting[number_[i]]});
            directions.insert(directions.end(), direction.begin(), direction.end());
        }
        mode.count();
        if (!unique) mode.redundant = rules_.redundancy;
        acceleration_.resize(robot_.nv);
        Forces told;
        const std::vector<double> force = applied();
        if (!accelerate(robot_, mode, {directions.data(), rules_.straight}, x_.data(), v.data(), force.data(), scratch_,
                        acceleration_.data(), &told)) {
            return false;
        }
        told_ = told.forces;
        return true;
    }

    // --- impacts --------------------------------------------------------------------------------------------------

    Contacts stopping(const Before& before) const {
        Contacts stopped(count_, false), slow(count_, false);
        bool spatial = false;
        for (int i = 0; i < count_; ++i) {
            const ContactState& state = before.states[i];
            stopped[i] = before.kinds[i] == Kind::stop;
            if (!state.closed() || width(i) != 2) continue;
            spatial = spatial || stopped[i];
            slow[i] = state.phase == Phase::directed;
        }
        for (int i = 0; i < count_ && spatial; ++i) stopped[i] = stopped[i] || slow[i];
        return stopped;
    }

    // The rows of some contacts that take part in contact problems, with G among them; sliding: none.
    OwnProblem problem_of(const Contacts& chosen, std::vector<int>& kept_rows) const {
        OwnProblem own;
        for (int i = 0; i < count_; ++i) {
            if (!chosen[i]) continue;
            own.contacts.push_back(i);
            own.problem.first.push_back(own.problem.rows), own.problem.width.push_back(tangents_[i]);
            own.problem.rows += kept(i);
            own.problem.slides.push_back(false);
            own.kinetic.push_back(world_.kinetic[number_[i]]), own.resting.push_back(world_.resting[number_[i]]);
            for (int d = 0; d < kept(i); ++d) kept_rows.push_back(all_.first[i] + d);
        }
        own.problem.count = static_cast<int>(own.contacts.size());
        own.slack.assign(own.problem.count, 0.0), own.sliding.assign(2 * own.problem.count, 0.0);
        own.delassus.reserve(kept_rows.size() * kept_rows.size());
        for (const int i : kept_rows) {
            for (const int j : kept_rows) own.delassus.push_back(at(i, j));
        }
        own.free.resize(kept_rows.size());
        return own;
    }

    // The impact of all that touches; `v` and what it stops become those behind it.
    bool strike(const Before& before, std::vector<double>& v, const std::vector<double>& rates, Struck& struck,
                Contacts& at_rest) {
        std::vector<int> kept_rows;
        OwnProblem own = problem_of(before.touching, kept_rows);
        own.resting = own.kinetic;
        for (std::size_t k = 0; k < kept_rows.size(); ++k) own.free[k] = rates[kept_rows[k]];
        struck.delassus = own.delassus;
        std::vector<double> rebound(own.problem.count, 0.0);
        for (int k = 0; k < own.problem.count && world_.law == ImpactLaw::newton; ++k) {
            const double approach = own.free[own.problem.first[k]];
            rebound[k] = approach < 0.0 ? -restitution(own, k) * approach : 0.0;
        }
        const Chosen resting = guessed(std::vector<Touch>(own.problem.count, Touch::stick));
        if (!add_stage(own, rebound, resting, struck)) return false;
        if (world_.law == ImpactLaw::poisson && !expand(own, struck)) return false;
        struck.energy = struck.work > 0.0 ? energy(v) : 0.0;
        for (const Stage& stage : struck.stages) push(v, kept_rows, stage.chosen.forces);
        if (world_.law == ImpactLaw::newton && !leave_as_told(own, struck.stages[0].chosen, rebound, v)) return false;
        at_rest.assign(count_, false);
        const std::vector<Touch>& modes = struck.stages.back().chosen.modes;
        for (int k = 0; k < own.problem.count; ++k) at_rest[own.contacts[k]] = modes[k] == Touch::stick;
        return true;
    }

    // Puts right what rounding left of the velocities with which contacts leave by Newton's law: impulses are rounded
    // relative to their size, and a light body turns by the small difference of two large ones, so that corners that
    // are to hop together would part.
    bool leave_as_told(const OwnProblem& own, const Chosen& chosen, const std::vector<double>& rebound,
                       std::vector<double>& v) const {
        std::vector<int> thrown;
        std::vector<double> missed = rates_of(v), impulses;
        for (int k = 0; k < own.problem.count; ++k) {
            if (rebound[k] <= 0.0 || chosen.modes[k] == Touch::open) continue;
            thrown.push_back(all_.first[own.contacts[k]]);
            missed[thrown.back()] -= rebound[k];
        }
        if (thrown.size() < 2) return true;
        if (!smallest_change(thrown, missed, impulses)) return false;
        push(v, thrown, impulses);
        return true;
    }

    double restitution(const OwnProblem& own, int k) const { return world_.restitution[number_[own.contacts[k]]]; }

    // A stage of an impact, whose contacts end at `rebound` at least; the problem goes on from behind it.
    bool add_stage(OwnProblem& own, const std::vector<double>& rebound, Chosen chosen, Struck& struck) const {
        const std::vector<double> before = own.free;
        for (int k = 0; k < own.problem.count; ++k) own.free[own.problem.first[k]] -= rebound[k];
        own.look();
        if (!found_evenly(own.problem, rules_.pivots, chosen)) return false;
        own.free = before;
        own.look();
        std::vector<double> after;
        own.problem.motion(chosen.forces, after);
        for (int k = 0; k < own.problem.rows; ++k) {
            const double work = 0.5 * (before[k] + after[k]) * chosen.forces[k];
            struck.work += work, struck.turnover += std::abs(work);
        }
        struck.stages.push_back({before, chosen, residuals(own.problem, rules_.pivots, chosen, rebound)});
        own.free = after;
        return true;
    }

    // The stage that gives back shares of the normal impulses of the one before; none where they are zero.
    bool expand(OwnProblem& own, Struck& struck) const {
        Chosen begin = struck.stages.back().chosen;
        own.problem.given.assign(own.problem.count, 0.0), begin.lifted.assign(own.problem.count, false);
        for (int k = 0; k < own.problem.count; ++k) {
            own.problem.given[k] = restitution(own, k) * std::max(begin.forces[own.problem.first[k]], 0.0);
            begin.lifted[k] = own.problem.given[k] > 0.0;
            if (!begin.lifted[k]) begin.modes[k] = Touch::open;
        }
        return !any(begin.lifted) || add_stage(own, std::vector<double>(own.problem.count, 0.0), begin, struck);
    }

    // v^T M v / 2, of M = L^T D L.
    double energy(const std::vector<double>& v) const {
        const Branches& branches = robot_.branches;
        double twice = 0.0;
        for (int k = 0; k < robot_.nv; ++k) {
            const double* row = &scratch_.sweep.mass[branches.first[k]];
            const int *at = branches.of(k), last = branches.inwards(k);
            double own = v[k];
            for (int i = last - 1; i >= 0; --i) own += row[i] * v[at[i]];
            twice += row[last] * own * own;
        }
        return 0.5 * twice;
    }

    static Chosen guessed(const std::vector<Touch>& modes) {
        Chosen chosen;
        chosen.modes = modes;
        chosen.directions.assign(modes.size(), {0.0, 0.0}), chosen.directed.assign(modes.size(), false);
        return chosen;
    }

    // --- modes, and low hops ----------------------------------------------------------------------------------------

    bool settled(const Before& before, const std::vector<double>& v, const std::vector<double>& rates, double slowest,
                 Contacts at_rest, Outcome& out) {
        const bool jumped = !out.struck.stages.empty();
        Contacts staying(count_, false), leaving(count_, false), bouncing(count_, false);
        for (int i = 0; i < count_; ++i) {
            staying[i] = before.touching[i] && rates[all_.first[i]] <= rules_.speed;
            leaving[i] = before.touching[i] && !staying[i];
        }
        while (true) {
            const bool begins = !jumped && !any(bouncing);
            std::vector<double> still = v, still_rates = rates, first;
            if (!bring_to_rest(before, staying, at_rest, still, still_rates, first)) return false;
            if (begins && throws(v, still, rates, still_rates)) return false;
            if (!choose(before, still, still_rates, staying, at_rest, jumped, slowest, out)) return false;
            Contacts slipping(count_, false), stopped(count_, false);
            for (int i = 0; i < count_ && !jumped; ++i) {
                const bool began = before.touching[i] && before.states[i].phase == Phase::incipient && !at_rest[i];
                slipping[i] = began && tangential(i, rates) > rules_.speed;
            }
            if (!settle(still, still_rates, slipping, stopped, any(bouncing), out)) return false;
            if (begins && stops_beginnings(before, rates, out) && throws(v, still, rates, still_rates)) return false;
            add_first(first, staying, out);
            Contacts hopping(count_, false);
            if (any(leaving) && !hops(still, leaving, slowest, hopping, out)) return false;
            for (int i = 0; i < count_; ++i) stopped[i] = stopped[i] && !at_rest[i];
            if (!any(stopped) && !any(hopping)) {
                out.v = still;
                break;
            }
            if (any(hopping) && !any(bouncing) && slowest < 0.0) {
                const Resting resting = time_to_rest(*this, rules_, still, out.states, out.unique, hopping);
                if (!resting.known) return false;
                out.rest = resting.ends ? resting.time : -1.0;
            }
            for (int i = 0; i < count_; ++i) {
                at_rest[i] = at_rest[i] || stopped[i], staying[i] = staying[i] || hopping[i];
                bouncing[i] = bouncing[i] || hopping[i], leaving[i] = leaving[i] && !hopping[i];
            }
        }
        out.bouncing = bouncing;
        return true;
    }

    // The state in which what comes to rest is so; the impulses (rows,) that this took, none of which: empty.
    bool bring_to_rest(const Before& before, const Contacts& staying, const Contacts& at_rest, std::vector<double>& v,
                       std::vector<double>& rates, std::vector<double>& impulses) const {
        const auto fastest = [&](int i) {
            double most = 0.0;
            for (int d = 0; d < kept(i); ++d) most = std::max(most, std::abs(rates[all_.first[i] + d]));
            return most;
        };
        double most = 0.0;
        for (int i = 0; i < count_; ++i) most = std::max(most, staying[i] && at_rest[i] ? fastest(i) : 0.0);
        if (most <= rules_.speed) return true;
        std::vector<int> chosen;
        for (int i = 0; i < count_; ++i) {
            if (!staying[i]) continue;
            const bool sticks = before.kinds[i] == Kind::none && before.states[i].standing == Standing::stick;
            const bool held = at_rest[i] || (sticks && fastest(i) <= rules_.speed);
            for (int d = 0; d < (held ? kept(i) : 1); ++d) chosen.push_back(all_.first[i] + d);
        }
        std::vector<double> change;
        if (!smallest_change(chosen, rates, change)) return false;
        impulses.assign(rows(), 0.0);
        for (std::size_t k = 0; k < chosen.size(); ++k) impulses[chosen[k]] = change[k];
        push(v, chosen, change);
        rates = rates_of(v);
        return true;
    }

    // Whether a change of velocity is more than what held slip directions leave: of a contact, or by its energy, which
    // tells how fast the contact that is moved the most easily would be with it.
    bool throws(const std::vector<double>& v, const std::vector<double>& then, const std::vector<double>& rates,
                const std::vector<double>& then_rates) const {
        const double most = rules_.leave * rules_.slip_speed;
        double moved = 0.0, mobility = 0.0;
        for (int k = 0; k < rows(); ++k) {
            moved = std::max(moved, std::abs(then_rates[k] - rates[k])), mobility = std::max(mobility, at(k, k));
        }
        if (moved == 0.0) return false;
        std::vector<double> change(v.size());
        for (std::size_t k = 0; k < v.size(); ++k) change[k] = then[k] - v[k];
        return moved > most || std::sqrt(2.0 * energy(change) * mobility) > rules_.thrown * most;
    }

    // Whether a contact that began to slip sticks, while its slip has a direction.
    bool stops_beginnings(const Before& before, const std::vector<double>& rates, const Outcome& out) const {
        for (int i = 0; i < count_; ++i) {
            const bool began = before.touching[i] && before.states[i].phase == Phase::incipient && width(i) == 2;
            if (!began || out.states[i].standing != Standing::stick) continue;
            if (tangential(i, rates) > rules_.leave * rules_.slowest * rules_.slip_speed) return true;
        }
        return false;
    }

    // Impulses along some rows that take their velocities away, by the smallest change in the metric of M.
    bool smallest_change(const std::vector<int>& chosen, const std::vector<double>& rates,
                         std::vector<double>& impulses) const {
        const int k = static_cast<int>(chosen.size());
        std::vector<double> matrix;
        matrix.reserve(k * k), impulses.clear();
        for (const int i : chosen) {
            for (const int j : chosen) matrix.push_back(at(i, j));
            impulses.push_back(-rates[i]);
        }
        return solve_smallest(matrix, k, rules_.pivots.regular, rules_.rank, rules_.clear_rank, impulses);
    }

    // The same by forces of which those of contacts that slip carry their friction, whose rows are added to `chosen`.
    bool rubbing_change(const std::vector<ContactState>& states, const std::vector<double>& rates,
                        std::vector<int>& chosen, std::vector<double>& impulses) const {
        struct Rub {
            std::size_t normal;
            int row;
            double share;
        };
        std::vector<Rub> rubs;
        for (int i = 0; i < count_; ++i) {
            if (states[i].phase != Phase::directed && states[i].phase != Phase::free) continue;
            const auto head = std::find(chosen.begin(), chosen.end(), all_.first[i]);
            const double mu = world_.kinetic[number_[i]], speed = tangential(i, rates);
            for (int d = 0; d < width(i); ++d) {
                const int row = all_.first[i] + 1 + d;
                const double slip = states[i].phase == Phase::directed ? states[i].direction[d] : rates[row] / speed;
                rubs.push_back({static_cast<std::size_t>(head - chosen.begin()), row, -mu * slip});
            }
        }
        const std::size_t count = chosen.size();
        std::vector<double> matrix(count * count);
        impulses.assign(count, 0.0);
        for (std::size_t r = 0; r < count; ++r) {
            impulses[r] = -rates[chosen[r]];
            for (std::size_t c = 0; c < count; ++c) matrix[r * count + c] = at(chosen[r], chosen[c]);
            for (const Rub& rub : rubs) matrix[r * count + rub.normal] += rub.share * at(chosen[r], rub.row);
        }
        if (!solve_smallest(matrix, static_cast<int>(count), rules_.pivots.regular, rules_.rank, rules_.clear_rank,
                            impulses)) {
            return false;
        }
        for (const Rub& rub : rubs) chosen.push_back(rub.row), impulses.push_back(rub.share * impulses[rub.normal]);
        return true;
    }

    void add_first(const std::vector<double>& first, const Contacts& staying, Outcome& out) const {
        if (first.empty()) return;
        for (int i = 0; i < rows(); ++i) out.left[i] += first[i];
        for (int i = 0; i < count_; ++i) out.settled[i] = out.settled[i] || staying[i];
    }

    // Remove what rounding, a hop or a held slip direction leave of velocities that the new mode says are zero; what is
    // said to slide, but has no slip velocity left since others stick, has `stopped`. Where `hops` are stopped,
    // contacts that slip rub meanwhile, and stop where they would slide back.
    bool settle(std::vector<double>& v, std::vector<double>& rates, const Contacts& slipping, Contacts& stopped,
                bool hops, Outcome& out) const {
        out.settled.assign(count_, false), out.left.assign(rows(), 0.0);
        const std::vector<double> was = rates;
        const std::vector<ContactState>& states = out.states;
        bool begins = false;
        for (const ContactState& state : states) begins = begins || (state.closed() && state.phase == Phase::incipient);
        for (int pass = begins ? 0 : 1; pass < 2; ++pass) {
            std::vector<int> chosen;
            bool moves = false;
            for (int i = 0; i < count_; ++i) {
                if (!states[i].closed()) continue;
                const bool incipient = states[i].phase == Phase::incipient;
                const bool let_go = incipient && (pass == 1 || slipping[i]);
                const bool rests = states[i].standing == Standing::stick || (incipient && !let_go);
                for (int d = 0; d < (rests ? kept(i) : 1); ++d) {
                    chosen.push_back(all_.first[i] + d);
                    moves = moves || rates[chosen.back()] != 0.0;
                }
            }
            if (!moves) continue;
            std::vector<double> change;
            const bool rubs = hops && out.unique;
            if (rubs ? !rubbing_change(states, rates, chosen, change) : !smallest_change(chosen, rates, change)) {
                return false;
            }
            push(v, chosen, change);
            rates = rates_of(v);
            for (std::size_t k = 0; k < chosen.size(); ++k) out.left[chosen[k]] += change[k];
            for (int i = 0; i < count_; ++i) out.settled[i] = states[i].closed();
        }
        for (int i = 0; i < count_; ++i) {
            const bool sliding = states[i].phase == Phase::directed || states[i].phase == Phase::free;
            double along = 0.0;
            for (int d = 0; d < width(i); ++d) along += was[all_.first[i] + 1 + d] * rates[all_.first[i] + 1 + d];
            stopped[i] = sliding && (tangential(i, rates) <= rules_.speed || (hops && along < 0.0));
        }
        return true;
    }

    // Contacts that leave so slowly that they would be back before their gap is more than rounding.
    bool hops(const std::vector<double>& v, const Contacts& leaving, double slowest, Contacts& hopping, Outcome& out) {
        GapMotion gaps;
        if (!gap_motion(v, out.states, out.unique, leaving, gaps)) return false;
        double place = 1.0;
        for (int k = 0; k < robot_.nq; ++k) place = std::max(place, std::abs(x_[k]));
        const double lowest = std::max(rules_.spacing * spacing(place), rules_.lowest * spacing(t_));
        const double height = std::max(rules_.hop, lowest);
        for (int i = 0; i < count_; ++i) {
            if (!leaving[i]) continue;
            const double rate = gaps.rates[i], back = -gaps.bends[i];
            hopping[i] = back > 0.0 && (slowest < 0.0 ? rate * rate <= 2.0 * height * back : rate <= slowest);
        }
        return true;
    }

    // --- the choice of modes ----------------------------------------------------------------------------------------

    bool choose(const Before& before, const std::vector<double>& v, const std::vector<double>& rates,
                const Contacts& staying, const Contacts& at_rest, bool jumped, double slowest, Outcome& out) {
        out.states.assign(count_, {});
        out.unique = true;
        if (!any(staying)) return true;
        std::vector<double> forces;  // in the mode before, along all rows
        std::vector<Kind> kinds = before.kinds;
        const bool of_forces = std::any_of(kinds.begin(), kinds.end(),
                                           [](Kind kind) { return kind == Kind::force || kind == Kind::cone; });
        if (of_forces && !forces_before(before, v, forces)) return false;
        look_at_forces(v);
        std::vector<int> kept_rows;
        OwnProblem own = problem_of(staying, kept_rows);
        for (std::size_t k = 0; k < kept_rows.size(); ++k) {
            const int row = kept_rows[k];
            own.free[k] = along(row, unforced_.data()) + bias_[row];
        }
        for (int k = 0; k < own.problem.count; ++k) slide(own, k, before, rates, at_rest, jumped);
        own.look();
        double zero = 0.0;
        if (of_forces) {
            zero = zero_force(forces);
            for (int i = 0; i < count_; ++i) {
                if (kinds[i] == Kind::cone && forces[all_.first[i]] <= zero) kinds[i] = Kind::force;
            }
        }
        Chosen chosen;
        if (!guess(own, before, kinds, forces, chosen)) return false;
        if (!slacken(own, before, kinds, forces, zero, jumped, chosen)) return false;
        const Chosen begin = chosen;
        if (!found_evenly(own.problem, rules_.pivots, chosen)) return false;
        const bool leaving = std::any_of(kinds.begin(), kinds.end(), [](Kind kind) { return kind == Kind::cone; });
        if (!leaving && has_idle_slips(own.problem, rules_.pivots, chosen)) return false;
        OwnProblem answered = own;
        if (!lead_on(own, kinds, begin, chosen, answered)) return false;
        answered.look();
        out.residuals = residuals(answered.problem, rules_.pivots, chosen, {}), out.chose = true;
        out.unique = chosen.unique;
        own.slack.assign(own.problem.count, 0.0), own.look();
        if (slowest < 0.0 && !determinate(own, chosen)) return false;
        for (int k = 0; k < own.problem.count; ++k) {
            const int i = own.contacts[k];
            out.states[i] = state_of(own, k, chosen, before.states[i], rates);
        }
        return true;
    }

    // Forces along all rows in the mode before the event.
    bool forces_before(const Before& before, const std::vector<double>& v, std::vector<double>& forces) {
        if (!accelerated(v, before.states, !before.redundant)) return false;
        forces.assign(rows(), 0.0);
        for (int i = 0, at = 0; i < count_; ++i) {
            if (!before.states[i].closed()) continue;
            for (int d = 0; d <= width(i); ++d) forces[all_.first[i] + d] = told_[at++];
        }
        return true;
    }

    // The force that counts as none: of the contacts in the mode before, or of weights and inertia.
    double zero_force(const std::vector<double>& forces) const {
        const double largest = std::max({rules_.no_force, largest_of(forces), rules_.least_force * largest_of(force_)});
        return rules_.of_force * rules_.force * largest;
    }

    // The force that counts clearly, beside all others: where these balance, their sum is none.
    double clear_force(const std::vector<double>& forces, double zero) const {
        return std::max(zero, rules_.pivots.clear * std::max(largest_of(forces), largest_other_));
    }

    // Whether a contact slides already, and in which direction.
    void slide(OwnProblem& own, int k, const Before& before, const std::vector<double>& rates, const Contacts& at_rest,
               bool jumped) const {
        const int i = own.contacts[k];
        const ContactState& state = before.states[i];
        if (!tangents_[i] || at_rest[i]) return;
        if (!jumped && (state.standing == Standing::stick || state.phase == Phase::incipient)) return;
        const double size = tangential(i, rates);
        if (!jumped && state.phase == Phase::directed) {
            std::copy(state.direction.begin(), state.direction.end(), &own.sliding[2 * k]);
        } else if (size > rules_.speed) {
            for (int d = 0; d < width(i); ++d) own.sliding[2 * k + d] = rates[all_.first[i] + 1 + d] / size;
        } else {
            return;
        }
        own.problem.slides[k] = true;
    }

    // The present modes, with the contacts whose guards fired moved on; contacts that touch anew, to close.
    bool guess(const OwnProblem& own, const Before& before, const std::vector<Kind>& kinds,
               const std::vector<double>& forces, Chosen& chosen) const {
        chosen = guessed({});
        for (int k = 0; k < own.problem.count; ++k) {
            const int i = own.contacts[k];
            const ContactState& state = before.states[i];
            const bool begun = state.phase == Phase::incipient;
            Touch mode = own.problem.slides[k] ? Touch::slip : Touch::stick;
            std::array<double, 2> direction = state.direction;
            bool directed = begun;
            if (kinds[i] == Kind::force) mode = Touch::open;
            if (kinds[i] == Kind::stop) mode = Touch::stick;
            if (kinds[i] == Kind::cone) {
                const double size = tangential(i, forces);
                if (!(size > 0.0)) return false;
                mode = Touch::slip, directed = true;
                for (int d = 0; d < width(i); ++d) direction[d] = -forces[all_.first[i] + 1 + d] / size;
            } else if (kinds[i] != Kind::force && kinds[i] != Kind::stop && begun) {
                mode = Touch::slip;
            }
            chosen.modes.push_back(mode), chosen.directions.push_back(direction), chosen.directed.push_back(directed);
        }
        return true;
    }

    // Accelerations that the forces left at a lift-off would cause, at least those of a force that is rounding. Where
    // one clearly pulls no zero was met: something else turned it round, and its mode had ended before. What clearly
    // pushes where velocities have jumped is another force than the one that was zero.
    bool slacken(OwnProblem& own, const Before& before, const std::vector<Kind>& kinds,
                 const std::vector<double>& forces, double zero, bool jumped, const Chosen& begin) const {
        std::vector<double> slack(own.problem.count, 0.0);
        const double clear = clear_force(forces, zero);
        for (int k = 0; k < own.problem.count; ++k) {
            const int i = own.contacts[k];
            if (kinds[i] != Kind::force || !before.states[i].closed()) continue;
            const double force = forces[all_.first[i]];
            if (force < -clear || (jumped && force > clear)) continue;
            Chosen closed = begin;
            for (int j = 0; j < own.problem.count; ++j) {
                const bool sticks = before.states[own.contacts[j]].standing == Standing::stick;
                closed.modes[j] = sticks ? Touch::stick : Touch::slip;
            }
            double mobility = 0.0;
            if (!mobility_of(own, k, closed, mobility)) return false;
            slack[k] = 2.0 * std::max(std::abs(force), zero) * mobility;
        }
        own.slack = slack;
        own.look();
        return true;
    }

    // Normal acceleration of a contact by a unit of its normal force: alone, or with the others if more.
    bool mobility_of(const OwnProblem& own, int k, const Chosen& closed, double& mobility) const {
        OwnProblem pushed = own;
        pushed.look();
        const int n = own.problem.first[k];
        const double push = own.problem.speed(rules_.pivots.nothing);
        pushed.free[n] += push;
        Chosen one = closed, other = closed;
        if (in_modes(own.problem, rules_.pivots, one, false) == Verdict::unknown) return false;
        if (in_modes(pushed.problem, rules_.pivots, other, false) == Verdict::unknown) return false;
        const double answer = std::abs(other.forces[n] - one.forces[n]), alone = own.problem.at(n, n);
        mobility = answer > 0.0 ? std::max(alone, push / answer) : alone;
        return true;
    }

    // Share of its friction with which a contact at the edge of its cone clearly would not stick.
    double needed(const OwnProblem& own, const Chosen& chosen, int k) const {
        const double* force = &chosen.forces[own.problem.first[k]];
        const double most = own.resting[k] * force[0], size = own.problem.width[k] == 2 ? std::hypot(force[1], force[2])
                                                              : own.problem.width[k]    ? std::abs(force[1])
                                                                                        : 0.0;
        double largest = rules_.pivots.nothing;
        for (const double one : chosen.forces) largest = std::max(largest, std::abs(one));
        const double clear = std::max(size - rules_.most_off * rules_.pivots.tolerance * largest, 0.0);
        return most > 0.0 ? std::min(clear / most, 1.0) : 1.0;
    }

    // The solution, or another where its contacts that are leaving their cones would not begin to slip; the problem
    // that it answers.
    bool lead_on(const OwnProblem& own, const std::vector<Kind>& kinds, const Chosen& begin, Chosen& chosen,
                 OwnProblem& answered) const {
        const PivotRules& rules = rules_.pivots;
        const auto leaves = [&](int k) { return kinds[own.contacts[k]] == Kind::cone; };
        std::vector<int> creeping, stuck;
        for (const int k : slips_without_motion(own.problem, rules, chosen)) {
            if (leaves(k)) creeping.push_back(k);
        }
        for (int k = 0; k < own.problem.count; ++k) {
            const bool sticks = leaves(k) && chosen.modes[k] == Touch::stick;
            if (sticks && needed(own, chosen, k) > rules_.at_edge) stuck.push_back(k);
        }
        if (creeping.empty() && stuck.empty()) return true;
        OwnProblem less = own;
        const auto lower = [&](int k, double share) { less.kinetic[k] *= share, less.resting[k] *= share; };
        for (const int k : creeping) lower(k, rules_.less);
        for (const int k : stuck) lower(k, rules_.less * needed(own, chosen, k));
        less.look();
        Chosen ahead = chosen;
        const Verdict verdict = in_modes(less.problem, rules, ahead, false);
        if (verdict == Verdict::unknown) return false;
        if (verdict == Verdict::admissible) {
            Chosen at_once = chosen;
            at_once.directions = ahead.directions, at_once.directed = ahead.directed;
            if (creeping.empty()) return true;
            const Verdict there = in_modes(own.problem, rules, at_once, false);
            if (there == Verdict::unknown) return false;
            const std::vector<int> still = slips_without_motion(own.problem, rules, at_once);
            const bool leads = std::none_of(creeping.begin(), creeping.end(), [&](int k) {
                return std::find(still.begin(), still.end(), k) != still.end();
            });
            if (there == Verdict::admissible && leads) chosen = at_once;
            return true;
        }
        Chosen other = begin;
        if (!found_evenly(less.problem, rules, other)) return false;
        if (!stuck.empty()) {
            answered = less, chosen = other;
            return true;
        }
        chosen = other;
        return found_evenly(own.problem, rules, chosen);
    }

    // Of several motions of redundant contacts that of contacts that yield alike.
    static bool found_evenly(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen) {
        return search(problem, rules, chosen) == Pivoted::solved &&
               share_evenly(problem, rules, chosen) == Pivoted::solved;
    }

    // Whether no contact that slides may leave as well, or slide where it leaves (Painleve).
    bool determinate(const OwnProblem& own, const Chosen& chosen) const {
        for (int k = 0; k < own.problem.count; ++k) {
            if (!own.problem.slides[k]) continue;
            Chosen other = chosen;
            const bool opens = chosen.modes[k] == Touch::open;
            other.modes[k] = opens ? Touch::slip : Touch::open;
            const Verdict verdict = in_modes(own.problem, rules_.pivots, other, true);
            if (verdict == Verdict::broken) continue;
            Chosen same = chosen;
            if (verdict == Verdict::unknown) return false;
            if (in_modes(own.problem, rules_.pivots, same, true) == Verdict::unknown) return false;
            if (is_choice(own, k, opens ? same : other, opens ? other : same)) return false;
        }
        return true;
    }

    // Whether a contact clearly leaves in the one mode, and is clearly pressed in the other.
    bool is_choice(const OwnProblem& own, int k, const Chosen& open, const Chosen& closed) const {
        const auto largest = [](const std::vector<double>& numbers) {
            double most = 0.0;
            for (const double number : numbers) most = std::max(most, std::abs(number));
            return most;
        };
        std::vector<double> motion;
        own.problem.motion(open.forces, motion);
        const int n = own.problem.first[k];
        const double clear = rules_.pivots.clear;
        return motion[n] > clear * largest(motion) && closed.forces[n] > clear * largest(closed.forces);
    }

    ContactState state_of(const OwnProblem& own, int k, const Chosen& chosen, const ContactState& before,
                          const std::vector<double>& rates) const {
        const int i = own.contacts[k];
        if (chosen.modes[k] == Touch::open) return {};
        if (is_limit(i)) return {Standing::closed, Phase::none, {}};
        if (!tangents_[i]) return {Standing::slip, Phase::none, {}};
        if (chosen.modes[k] == Touch::stick) return {Standing::stick, Phase::none, {}};
        const bool planar = width(i) == 1;
        if (!own.problem.slides[k]) {
            return {Standing::slip, planar ? Phase::directed : Phase::incipient, chosen.directions[k]};
        }
        if (planar || tangential(i, rates) < rules_.slip_speed || before.phase == Phase::directed) {
            return {Standing::slip, Phase::directed, {own.sliding[2 * k], own.sliding[2 * k + 1]}};
        }
        return {Standing::slip, Phase::free, {}};
    }
};

std::optional<std::vector<Low>> low_contacts(const TouchingWorld& world, double t, const double* x, double lowest) {
    thread_local Sweep sweep;
    const double* v = x + world.robot.nq;
    sweep.prepare(world.robot);
    sweep.motions(world.robot, x, v);
    sweep.ground = world.terrain.at(t);
    ContactMode mode;
    mode.terrain = world.terrain;
    std::vector<Low> found;
    for (const int i : low_gaps(mode, world.contacts, world.couples, lowest, sweep, x)) {
        const Nearing seen = nearing(mode, world.contacts[i], sweep, x, v);
        if (!seen.smooth && !seen.apart && !world.contacts[i].round) return std::nullopt;
        found.push_back({i, gap_of(mode, world.contacts[i], sweep, x), seen.rate});
    }
    return found;
}

bool resolve(const TouchingWorld& world, const Event& event, Outcome& outcome) {
    Resolution resolution(world, event);
    const double* v = event.x + world.robot.nq;
    const Before before{event.states, event.kinds, Contacts(event.touching.size(), true), event.redundant};
    return resolution.is_grounded() && resolution.resolve(before, {v, v + world.robot.nv}, -1.0, outcome);
}

bool throws_to_rest(const TouchingWorld& world, const Event& event, int k, bool& throws) {
    Resolution resolution(world, event);
    const double* v = event.x + world.robot.nq;
    const Before before{event.states, event.kinds, Contacts(event.touching.size(), true)};
    return resolution.is_grounded() && resolution.throws_to_rest(before, {v, v + world.robot.nv}, k, throws);
}

}  // namespace native
