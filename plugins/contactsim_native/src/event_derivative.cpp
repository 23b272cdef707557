#include "event_derivative.hpp"

#include <algorithm>
#include <cmath>

namespace native {

namespace {

// Contacts in rising order on the ground of a world, at a state that is looked at.
struct Touching {
    ContactMode mode;
    Scratch scratch;

    Touching(const TouchingWorld& world, const std::vector<int>& contacts, double t) {
        mode.terrain = world.terrain, mode.turning = world.turning;
        for (const int i : contacts) mode.closed.push_back({world.contacts[i], State::stick, world.kinetic[i]});
        mode.count();
        scratch.sweep.ground = world.terrain.at(t);
    }

    int width(int i) const { return rows_of(mode, mode.closed[i]) - 1; }
    const double* row(const Robot& robot, int r) const { return &scratch.row[r * robot.nv]; }
};

// Rows that are held, the directions of the forces that hold them (both by the rows of the contacts), and what a turn
// of a direction is worth by itself; see `ModeEquations` of contactsim.
struct Equations {
    Matrix held, directions;
    std::vector<double> speeds;
};

class EventDerivative {
  public:
    EventDerivative(const TouchingWorld& world, const Happened& happened)
        : world_(world),
          robot_(world.robot),
          weightless_(world.robot),
          happened_(happened),
          struck_(world, happened.struck, happened.t),
          behind_(world, happened.closed, happened.t),
          nv_(world.robot.nv),
          wide_(padded(2 * world.robot.nv)) {
        room_.scratch.sweep.ground = world.terrain.at(happened.t);
        weightless_.gravity = {}, weightless_.springs.clear();
        weightless_.damping.assign(nv_, 0.0);
        q_x_.clear(nv_, wide_), v_x_.clear(nv_, wide_);
        for (int k = 0; k < nv_; ++k) q_x_.rows()[k][k] = v_x_.rows()[k][nv_ + k] = 1.0;
    }

    bool find(double* jacobian) {
        v_.assign(happened_.x + robot_.nq, happened_.x + robot_.nq + nv_);
        if (!happened_.struck.empty()) {
            if (!lay_rows(robot_, struck_.mode, happened_.x, v_.data(), struck_.scratch)) return false;
            impulses_x_.clear(struck_.mode.rows, wide_), rates_ = struck_.scratch.rates;
            for (const PassedStage& stage : happened_.stages) {
                if (!pass(stage)) return false;
            }
        }
        if (!settle()) return false;
        for (int k = 0; k < nv_; ++k) {
            std::copy_n(q_x_.rows()[k], 2 * nv_, jacobian + k * 2 * nv_);
            std::copy_n(v_x_.rows()[k], 2 * nv_, jacobian + (nv_ + k) * 2 * nv_);
        }
        return true;
    }

  private:
    const TouchingWorld& world_;
    const Robot& robot_;
    Robot weightless_;  // whose momenta alone need forces: no gravity, no springs, no damping
    const Happened& happened_;
    Touching struck_, behind_;
    const int nv_, wide_;
    std::vector<double> v_, rates_;  // velocities of the robot and of what is struck, where the stages have come to
    Matrix q_x_, v_x_, impulses_x_;  // derivatives of the state there, and of the impulses of the last stage
    DerivativeScratch room_;

    // --- the impact ---------------------------------------------------------------------------------------------

    bool pass(const PassedStage& stage) {
        const int rows = struck_.mode.rows;
        std::vector<double> change(nv_, 0.0), after = v_;
        for (int r = 0; r < rows; ++r) add_scaled(change.data(), stage.impulses[r], struck_.row(robot_, r), nv_);
        struck_.scratch.sweep.solve(robot_, change.data());
        for (int k = 0; k < nv_; ++k) after[k] += change[k];
        Matrix motion;
        if (!rates_by_state(struck_, happened_.x, after, motion) || !rebound(stage, motion)) return false;
        for (int r = 0; r < rows; ++r) {
            for (int k = 0; k < nv_; ++k) rates_[r] += struck_.row(robot_, r)[k] * change[k];
        }
        v_ = after;
        const Matrix given = given_by_state(stage);
        Matrix force;
        force.clear(nv_, wide_);
        if (!subtract_momentum(weightless_, struck_.mode, struck_.scratch, happened_.x, change.data(),
                               stage.impulses.data(), force.rows(), room_)) {
            return false;
        }
        add_forces(force.rows(), given.rows(), rows);
        const Equations equations = equations_of(stage);
        Matrix unknown;
        if (!solve(equations, force.rows(), motion.rows(), unknown)) return false;
        for (int k = 0; k < nv_; ++k) add_scaled(v_x_.rows()[k], 1.0, force.rows()[k], wide_);
        impulses_x_ = given;
        const int count = static_cast<int>(equations.speeds.size());
        for (int j = 0; j < count; ++j) {
            for (int r = 0; r < rows; ++r) {
                const double share = equations.directions.rows()[j][r];
                if (share != 0.0) add_scaled(impulses_x_.rows()[r], share, unknown.rows()[j], wide_);
            }
        }
        return true;
    }

    // Derivatives (rows, wide) of contact velocities at (q, v), where v varies as it has come to.
    bool rates_by_state(const Touching& touching, const double* q, const std::vector<double>& v, Matrix& found) {
        const int rows = touching.mode.rows;
        found.clear(rows, wide_);
        Matrix by_place;
        by_place.clear(rows, nv_);
        if (!rates_by_place(robot_, touching.mode, touching.scratch, q, v.data(), by_place.rows(),
                            room_.scratch.sweep)) {
            return false;
        }
        add_product(found.rows(), 1.0, by_place.rows(), q_x_.rows(), rows, nv_, wide_);
        add_product(found.rows(), 1.0, {touching.scratch.row.data(), nv_}, v_x_.rows(), rows, nv_, wide_);
        return true;
    }

    // Contacts that are thrown back end at a share of the velocity before the stage.
    bool rebound(const PassedStage& stage, Matrix& motion) {
        const auto nothing = [](double share) { return share == 0.0; };
        if (std::all_of(stage.rebound.begin(), stage.rebound.end(), nothing)) return true;
        Matrix before;
        if (!rates_by_state(struck_, happened_.x, v_, before)) return false;
        for (std::size_t i = 0; i < stage.rebound.size(); ++i) {
            const int n = struck_.mode.first[i];
            add_scaled(motion.rows()[n], stage.rebound[i], before.rows()[n], wide_);
        }
        return true;
    }

    // Impulses that are given as shares of those of the stage before, with their friction.
    Matrix given_by_state(const PassedStage& stage) const {
        Matrix given;
        given.clear(struck_.mode.rows, wide_);
        for (std::size_t i = 0; i < stage.modes.size(); ++i) {
            if (!stage.lifted[i]) continue;
            const int n = struck_.mode.first[i];
            add_scaled(given.rows()[n], stage.share[i], impulses_x_.rows()[n], wide_);
            for (int d = 0; stage.directed[i] && d < struck_.width(i); ++d) {
                const double share = -struck_.mode.closed[i].friction * stage.directions[i][d];
                add_scaled(given.rows()[n + 1 + d], share, given.rows()[n], wide_);
            }
        }
        return given;
    }

    // force += J^T impulses.
    void add_forces(Rows force, ConstRows impulses, int rows) const {
        for (int r = 0; r < rows; ++r) {
            const double* own = struck_.row(robot_, r);
            for (int k = 0; k < nv_; ++k) {
                if (own[k] != 0.0) add_scaled(force[k], own[k], impulses[r], wide_);
            }
        }
    }

    Equations equations_of(const PassedStage& stage) const {
        std::vector<int> normal(stage.modes.size(), -1);  // number of the unknown that is the normal impulse
        std::vector<std::array<int, 2>> rows;             // row that is held, and contact
        for (std::size_t i = 0; i < stage.modes.size(); ++i) {
            if (stage.modes[i] == Touch::open) continue;
            const int n = struck_.mode.first[i], number = static_cast<int>(i);
            if (!stage.lifted[i]) normal[i] = static_cast<int>(rows.size()), rows.push_back({n, number});
            const int stuck =
                stage.modes[i] == Touch::stick && world_.tangents[happened_.struck[i]] ? struck_.width(i) : 0;
            for (int d = 0; d < stuck; ++d) rows.push_back({n + 1 + d, number});
        }
        const auto slides = [&](std::size_t i) { return stage.modes[i] == Touch::slip && stage.directed[i]; };
        int turns = 0;
        for (std::size_t i = 0; i < stage.modes.size(); ++i) turns += slides(i) && struck_.width(i) == 2;
        const int size = static_cast<int>(rows.size());
        Equations found;
        found.held.clear(size + turns, struck_.mode.rows), found.directions.clear(size + turns, struck_.mode.rows);
        found.speeds.assign(size + turns, 0.0);
        for (int k = 0; k < size; ++k) found.held.rows()[k][rows[k][0]] = found.directions.rows()[k][rows[k][0]] = 1.0;
        int turn = size;
        for (std::size_t i = 0; i < stage.modes.size(); ++i) {
            if (!slides(i)) continue;
            const int n = struck_.mode.first[i];
            const double friction = struck_.mode.closed[i].friction;
            const std::array<double, 2>& slip = stage.directions[i];
            for (int d = 0; normal[i] >= 0 && d < struck_.width(i); ++d) {
                found.directions.rows()[normal[i]][n + 1 + d] = -friction * slip[d];
            }
            if (struck_.width(i) != 2) continue;
            const std::array<double, 2> across{-slip[1], slip[0]};
            for (int d = 0; d < 2; ++d) {
                found.held.rows()[turn][n + 1 + d] = across[d];
                found.directions.rows()[turn][n + 1 + d] = -friction * stage.impulses[n] * across[d];
                found.speeds[turn] += slip[d] * rates_[n + 1 + d];
            }
            ++turn;
        }
        return found;
    }

    // M a - D^T u = F with C a + motion = 0: `force` F becomes a. False where the equations are singular.
    bool solve(const Equations& equations, Rows force, Rows motion, Matrix& unknown) {
        const int size = static_cast<int>(equations.speeds.size()), rows = struck_.mode.rows;
        const Sweep& sweep = struck_.scratch.sweep;
        solve_mass(robot_, sweep, force, wide_);
        if (!size) return true;
        const Matrix held = along(equations.held, size), solved = mobility(along(equations.directions, size), size);
        Matrix matrix;
        matrix.clear(size, size), unknown.clear(size, wide_);
        for (int k = 0; k < size; ++k) matrix.rows()[k][k] = -equations.speeds[k];
        add_product(matrix.rows(), 1.0, held.rows(), solved.rows(), size, nv_, matrix.stride);
        add_product(unknown.rows(), -1.0, equations.held.rows(), motion, size, rows, wide_);
        add_product(unknown.rows(), -1.0, held.rows(), force, size, nv_, wide_);
        if (!solve_dense(matrix.rows(), unknown.rows(), size, wide_)) return false;
        add_product(force, 1.0, solved.rows(), unknown.rows(), nv_, size, wide_);
        return true;
    }

    // Combinations (size, nv) of the rows of what is struck.
    Matrix along(const Matrix& shares, int size) const {
        Matrix found;
        found.clear(size, nv_);
        for (int j = 0; j < size; ++j) {
            for (int r = 0; r < struck_.mode.rows; ++r) {
                const double share = shares.rows()[j][r];
                if (share != 0.0) add_scaled(found.rows()[j], share, struck_.row(robot_, r), nv_);
            }
        }
        return found;
    }

    // M^-1 D^T (nv, size) of directions D (size, nv), by the mass of what is struck.
    Matrix mobility(const Matrix& directions, int size) const {
        return mobility(directions, size, struck_.scratch.sweep);
    }
    Matrix mobility(const Matrix& directions, int size, const Sweep& sweep) const {
        Matrix found;
        found.clear(nv_, size);
        for (int j = 0; j < size; ++j) {
            for (int k = 0; k < nv_; ++k) found.rows()[k][j] = directions.rows()[j][k];
        }
        solve_mass(robot_, sweep, found.rows(), found.stride);
        return found;
    }

    // --- what rests behind it -----------------------------------------------------------------------------------

    // Rows from the normal one on that had no variation of their velocity before: the mode held them, or the impact
    // makes it zero.
    int held_before(int i) const {
        Touch was = Touch::open;
        const auto place = std::find(happened_.struck.begin(), happened_.struck.end(), happened_.closed[i]);
        if (place == happened_.struck.end()) {  // an impact leaves contacts of other bodies as they are
            const ContactState& state = happened_.before[i];
            if (state.closed()) was = state.standing == Standing::stick ? Touch::stick : Touch::slip;
        } else {
            const std::size_t k = place - happened_.struck.begin();
            const PassedStage& last = happened_.stages.back();
            if (!last.lifted[k] && last.rebound[k] == 0.0) was = last.modes[k];
        }
        return was == Touch::open ? 0 : was == Touch::stick ? 1 + behind_.width(i) : 1;
    }

    // Whether one contact closes, by an impact of its own.
    bool lands_alone(const std::vector<int>& closing) const {
        if (closing.size() != 1) return false;
        const auto place = std::find(happened_.struck.begin(), happened_.struck.end(), happened_.closed[closing[0]]);
        if (place == happened_.struck.end()) return false;
        const int n = struck_.mode.first[place - happened_.struck.begin()];
        return struck_.scratch.rates[n] < -world_.rules.speed;
    }

    // Takes from the variations the gaps of what closes with others, and the velocities of what comes to rest.
    bool settle() {
        const int count = static_cast<int>(happened_.closed.size());
        std::vector<int> closing;
        bool stops = false;
        for (int i = 0; i < count; ++i) {
            if (!happened_.before[i].closed()) closing.push_back(i);
            stops = stops || resting(i) > held_before(i);
        }
        if (closing.empty() && !stops) return true;
        v_.assign(happened_.x_post + robot_.nq, happened_.x_post + robot_.nq + nv_);
        if (!lay_rows(robot_, behind_.mode, happened_.x_post, v_.data(), behind_.scratch)) return false;
        if (!closing.empty() && !lands_alone(closing) && !close_gaps(closing)) return false;
        return stop();
    }

    // Rows of a contact from the normal one on whose velocity is zero.
    int resting(int i) const {
        const ContactState& state = happened_.after[i];
        const bool all = state.standing == Standing::stick || state.phase == Phase::incipient;
        return all && world_.tangents[happened_.closed[i]] ? 1 + behind_.width(i) : 1;
    }

    double slip_speed(int i) const {
        const double* rates = &behind_.scratch.rates[behind_.mode.first[i]];
        return behind_.width(i) == 0   ? 0.0
               : behind_.width(i) == 1 ? std::abs(rates[1])
                                       : std::hypot(rates[1], rates[2]);
    }

    bool close_gaps(const std::vector<int>& closing) {
        const int count = static_cast<int>(happened_.closed.size());
        Matrix normals, gaps;
        normals.clear(count, nv_), gaps.clear(count, wide_);
        for (int i = 0; i < count; ++i) {
            std::copy_n(behind_.row(robot_, behind_.mode.first[i]), nv_, normals.rows()[i]);
        }
        for (const int i : closing)
            add_product(gaps.rows().from(i), 1.0, normals.rows().from(i), q_x_.rows(), 1, nv_, wide_);
        return take(normals, normals, gaps, count, q_x_);
    }

    bool stop() {
        Matrix held, directions, rates;
        std::vector<int> rows;
        std::vector<char> stopping;
        const int count = static_cast<int>(happened_.closed.size());
        for (int i = 0; i < count; ++i) {
            // A slip that began before the event goes on.
            const bool goes_on = happened_.after[i].phase == Phase::incipient && slip_speed(i) > world_.rules.speed;
            const int number = goes_on ? 1 : resting(i), before = held_before(i);
            for (int r = 0; r < number; ++r) rows.push_back(behind_.mode.first[i] + r), stopping.push_back(r >= before);
        }
        if (std::find(stopping.begin(), stopping.end(), char(true)) == stopping.end()) return true;
        const int size = static_cast<int>(rows.size());
        Matrix by_state, before_left;
        if (!turn_left(before_left) || !rates_by_state(behind_, happened_.x_post, v_, by_state)) return false;
        held.clear(size, nv_), rates.clear(size, wide_);
        for (int j = 0; j < size; ++j) {
            std::copy_n(behind_.row(robot_, rows[j]), nv_, held.rows()[j]);
            const bool turned = !before_left.data.empty();
            if (stopping[j] || turned) std::copy_n(by_state.rows()[rows[j]], wide_, rates.rows()[j]);
            if (!stopping[j] && turned) add_scaled(rates.rows()[j], -1.0, before_left.rows()[rows[j]], wide_);
        }
        directions = held;
        for (int i = 0, place = 0; i < count && !happened_.redundant; ++i) {
            while (rows[place] != behind_.mode.first[i]) ++place;
            if (!rub(i, directions.rows()[place])) return false;
        }
        return take(held, directions, rates, size, v_x_);
    }

    // What the impulses that are left changed turns with the state: adds that to the variations of the velocity. Before
    // it, what is closed varied by `rates`; none: they changed no more than what counts as zero.
    bool turn_left(Matrix& rates) {
        if (happened_.left.empty()) return true;
        std::vector<double> change(nv_, 0.0), before = v_;
        for (int r = 0; r < behind_.mode.rows; ++r) {
            add_scaled(change.data(), happened_.left[r], behind_.row(robot_, r), nv_);
        }
        behind_.scratch.sweep.solve(robot_, change.data());
        double largest = 0.0;
        for (const double part : change) largest = std::max(largest, std::abs(part));
        if (largest <= world_.rules.speed) return true;
        for (int k = 0; k < nv_; ++k) before[k] -= change[k];
        if (!rates_by_state(behind_, happened_.x_post, before, rates)) return false;
        Matrix by_place, turned;
        by_place.clear(nv_, 2 * nv_), turned.clear(nv_, wide_);
        if (!subtract_momentum(weightless_, behind_.mode, behind_.scratch, happened_.x_post, change.data(),
                               happened_.left.data(), by_place.rows(), room_)) {
            return false;
        }
        add_product(turned.rows(), 1.0, by_place.rows(), q_x_.rows(), nv_, nv_, wide_);
        for (std::size_t i = 0; i < happened_.closed.size(); ++i) turn_friction(static_cast<int>(i), rates, turned);
        solve_mass(robot_, behind_.scratch.sweep, turned.rows(), wide_);
        for (int k = 0; k < nv_; ++k) add_scaled(v_x_.rows()[k], 1.0, turned.rows()[k], wide_);
        return true;
    }

    // Adds to forces what the friction of the impulses that are left turns with the slip, c (1 - s s^T) dz / |z|.
    void turn_friction(int i, const Matrix& rates, Matrix& force) const {
        if (happened_.after[i].phase != Phase::free || behind_.width(i) != 2) return;
        const int first = behind_.mode.first[i] + 1;
        const double *z = &behind_.scratch.rates[first], *rubs = &happened_.left[first];
        const double square = z[0] * z[0] + z[1] * z[1], share = (rubs[0] * z[0] + rubs[1] * z[1]) / square;
        const std::array<double, 2> across{-z[1], z[0]};
        for (int r = 0; r < 2; ++r) {
            for (int c = 0; c < 2; ++c) {
                const double part = share * across[r] * across[c] / square;
                const double* row = behind_.row(robot_, first + r);
                const double* rate = rates.rows()[first + c];
                for (int k = 0; k < nv_; ++k) add_scaled(force.rows()[k], part * row[k], rate, wide_);
            }
        }
    }

    // Adds to the direction of a normal force the friction of a contact that slips; false where that has no direction.
    bool rub(int i, double* direction) const {
        const ContactState& state = happened_.after[i];
        if (state.phase != Phase::free && state.phase != Phase::directed) return true;
        const double speed = slip_speed(i);
        const double* rates = &behind_.scratch.rates[behind_.mode.first[i]];
        if (state.phase == Phase::free && speed == 0.0) return false;
        for (int d = 0; d < behind_.width(i); ++d) {
            const double slip = state.phase == Phase::free ? rates[1 + d] / speed : state.direction[d];
            const double* own = behind_.row(robot_, behind_.mode.first[i] + 1 + d);
            add_scaled(direction, -behind_.mode.closed[i].friction * slip, own, nv_);
        }
        return true;
    }

    // x -= M^-1 D^T (C M^-1 D^T)^+ missed; false where it is not clear whether the rows C depend on each other.
    bool take(const Matrix& held, const Matrix& directions, Matrix& missed, int size, Matrix& x) const {
        const Matrix solved = mobility(directions, size, behind_.scratch.sweep);
        Matrix matrix;
        matrix.clear(size, size);
        add_product(matrix.rows(), 1.0, held.rows(), solved.rows(), size, nv_, matrix.stride);
        std::vector<double> whole(size * size);
        for (int j = 0; j < size; ++j) std::copy_n(matrix.rows()[j], size, &whole[j * size]);
        if (Factors().factorise(whole, size, world_.rules.pivots.regular)) {
            if (!solve_dense(matrix.rows(), missed.rows(), size, wide_)) return false;
        } else if (!solve_singular(whole, missed, size)) {
            return false;
        }
        add_product(x.rows(), -1.0, solved.rows(), missed.rows(), nv_, size, wide_);
        return true;
    }

    // B = A^+ B of a singular matrix (size, size); false where its rank is not clear.
    bool solve_singular(const std::vector<double>& matrix, Matrix& b, int size) const {
        Smallest smallest;
        if (!smallest.factorise(matrix, size, world_.rules.rank, world_.rules.clear_rank)) return false;
        std::vector<double> column(size);
        for (int k = 0; k < wide_; ++k) {
            for (int j = 0; j < size; ++j) column[j] = b.rows()[j][k];
            smallest.solve(column.data());
            for (int j = 0; j < size; ++j) b.rows()[j][k] = column[j];
        }
        return true;
    }
};

}  // namespace

bool differentiate(const TouchingWorld& world, const Happened& happened, double* jacobian) {
    return EventDerivative(world, happened).find(jacobian);
}

}  // namespace native
