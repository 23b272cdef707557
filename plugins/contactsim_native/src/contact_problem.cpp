#include "contact_problem.hpp"

#include <algorithm>
#include <cmath>

#include "linear.hpp"
#include "slip_directions.hpp"

namespace native {

double ContactProblem::speed(double nothing) const {
    if (fastest > 0.0) return fastest;
    double largest = nothing;
    for (int i = 0; i < rows; ++i) {
        largest = std::max(largest, std::abs(free[i]));
        for (std::size_t k = 0; k < given.size(); ++k)
            largest = std::max(largest, std::abs(at(i, first[k]) * given[k]));
    }
    return largest;
}

void ContactProblem::motion(const std::vector<double>& forces, std::vector<double>& w) const {
    w.assign(free, free + rows);
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < rows; ++j) w[i] += at(i, j) * forces[j];
    }
}

namespace {

std::vector<ForceCone> cones_of(const ContactProblem& problem, const Chosen& chosen, const std::vector<int>& contacts) {
    std::vector<ForceCone> found;
    for (const int i : contacts) {
        const bool rubs = chosen.modes[i] == Touch::stick;
        found.push_back({problem.first[i], rubs ? problem.width[i] : 0, problem.static_[i]});
    }
    return found;
}

std::vector<int> closed_contacts(const Chosen& chosen) {
    std::vector<int> found;
    for (std::size_t i = 0; i < chosen.modes.size(); ++i) {
        if (chosen.modes[i] != Touch::open) found.push_back(static_cast<int>(i));
    }
    return found;
}

// The linear system of a problem in given modes: C G E y = -C w0, lam = E y, with the rows C whose motion vanishes.
class Modes {
  public:
    // Thorough: slip directions that are not known are looked for in more ways than by few steps of Newton's method.
    Modes(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen, bool thorough)
        : problem_(problem),
          rules_(rules),
          chosen_(chosen),
          thorough_(thorough),
          speed_(problem.speed(rules.nothing)) {}

    // Whether each of these was turned to that of its own motion.
    bool arrived() const { return arrived_; }

    // Forces in the modes, and the slip directions that are not known; false where this does not tell them.
    bool solve() {
        lay_out();
        if (!solve_forces()) return false;
        for (int i = 0; i < problem_.count; ++i) {
            if (!is_unknown(i) || problem_.width[i] != 1) continue;
            problem_.motion(chosen_.forces, w_);
            if (w_[problem_.first[i] + 1] * chosen_.directions[i][0] >= -rules_.tolerance * speed_) continue;
            chosen_.directions[i][0] = -chosen_.directions[i][0];
            if (!solve_forces()) return false;
        }
        if (!turning_.empty() && !(thorough_ ? turn_thoroughly() : turn())) return false;
        if (chosen_.unique || margin() >= 0.0) return true;
        return move_inside() && (turning_.empty() || agree());
    }

    // Of one contact in space alone that Newton's method found no direction for: all those across which it does not
    // move are known, and one of them is the slip that it has, or each clearly breaks the law. Unknown where that is a
    // matter of rounding.
    Verdict turn_alone() {
        std::vector<double> angles;
        if (turning_.size() != 1 || !angles_without_aside(angles)) return Verdict::unknown;
        const int i = turning_[0];
        std::array<double, 2> best{};
        double fastest = -INFINITY;
        for (const double angle : angles) {
            chosen_.directions[i] = {std::cos(angle), std::sin(angle)};
            const Verdict seen = slip_along(i, fastest, best);
            if (seen == Verdict::unknown) return seen;
        }
        if (fastest == -INFINITY) return Verdict::broken;
        chosen_.directions[i] = best;
        const bool found = solve_forces() && turn() && arrived_ && chosen_.unique && press();
        return !found ? Verdict::unknown : admissible() ? Verdict::admissible : Verdict::broken;
    }

    // Whether no contact breaks the law.
    bool admissible() { return violations().empty(); }

    // The modes of contacts that break the law, put right; false where there are none: all of them, or the worst alone.
    bool correct(bool worst_alone) {
        std::vector<Violation> found = violations();
        if (found.empty()) return false;
        const auto worst = std::max_element(found.begin(), found.end(),
                                            [](const Violation& a, const Violation& b) { return a.size < b.size; });
        if (worst_alone) found = {*worst};
        for (const Violation& one : found) put_right(one);
        return true;
    }

  private:
    struct Violation {
        int contact;
        double size;
        Touch mode;
        bool lifted = false;
    };

    std::vector<Violation> violations() {
        const std::vector<double>& forces = chosen_.forces;
        problem_.motion(forces, w_);
        double force = rules_.nothing, moved = 0.0;
        for (int i = 0; i < problem_.rows; ++i) {
            double sum = 0.0;
            for (int j = 0; j < problem_.rows; ++j) sum += std::abs(problem_.at(i, j)) * std::abs(forces[j]);
            moved = std::max(moved, sum), force = std::max(force, std::abs(forces[i]));
        }
        const double held = std::max(rules_.creep * speed_, rules_.lost * moved);
        std::vector<Violation> found;
        for (int i = 0; i < problem_.count; ++i) {
            Violation one;
            if (violates(i, held, force, one)) found.push_back(one);
        }
        return found;
    }

    const ContactProblem& problem_;
    const PivotRules& rules_;
    Chosen& chosen_;
    const bool thorough_;
    const double speed_;
    bool arrived_ = true;
    std::vector<int> held_;      // rows whose motion vanishes
    std::vector<int> normals_;   // of each contact, the place of its normal force among the unknowns
    std::vector<int> turning_;   // contacts in space whose slip directions are looked for
    std::vector<double> known_;  // forces (rows,) of contacts that part under their given ones
    std::vector<double> w_, basis_, matrix_, right_, unknowns_;
    std::vector<double> pushed_, answer_, answered_;  // by a turn: motion, and forces that hold what is held
    Factors factors_, turns_;                         // of the forces, and of the turns of slip directions
    Smallest smallest_;

    double margin() const { return problem_.given.empty() ? margin_of(problem_, chosen_) : -INFINITY; }

    // Admissible forces in place of the smallest ones, island by island; false where that is not told.
    bool move_inside() {
        if (!problem_.given.empty()) return false;
        for (const std::vector<int>& island : islands()) {
            const bool outside = least_margin(cones_of(problem_, chosen_, island), chosen_.forces) < 0.0;
            if (outside && !move_inside(island)) return false;
        }
        return true;
    }

    // Forces whose least margin is largest among all with the same motion; where none of them is admissible and some
    // contacts slip, among all that hold what is to be held. Where slip directions are looked for and these differ, the
    // smallest admissible ones, or those that break their cones least.
    bool move_inside(const std::vector<int>& island) {
        const std::vector<ForceCone> cones = cones_of(problem_, chosen_, island);
        if (static_cast<int>(held_.size()) == problem_.rows && static_cast<int>(island.size()) == problem_.count) {
            return move_by(cones, smallest_.null());  // all unknowns are forces, and what they move is known
        }
        const Vectors basis = basis_of(island);
        const int k = static_cast<int>(basis.size());
        Vectors image(problem_.rows, std::vector<double>(k)), held;
        for (int j = 0; j < k; ++j) {
            for (int c = 0; c < problem_.rows; ++c) {
                if (basis[j][c] == 0.0) continue;  // most are: an unknown pushes along one contact
                for (int i = 0; i < problem_.rows; ++i) image[i][j] += problem_.at(i, c) * basis[j][c];
            }
        }
        for (const int row : held_) held.push_back(image[row]);
        const auto slides = [&](int i) { return chosen_.modes[i] == Touch::slip; };
        std::vector<Vectors> all(1);
        if (!moves_by(image, basis, all[0])) return false;
        if (std::any_of(island.begin(), island.end(), slides)) {
            all.emplace_back();
            if (!moves_by(held, basis, all[1])) return false;
        }
        if (!turning_.empty() && all.back().size() > all.front().size()) {
            auto y = smallest_inside(cones, all.back(), rules_.forces, chosen_.forces);
            if (!y) y = farthest_inside(cones, all.back(), rules_.forces, chosen_.forces);
            if (y) add_moves(chosen_.forces, all.back(), *y);
            return y.has_value();
        }
        std::vector<double> best;
        for (const Vectors& moves : all) {
            if (moves.empty()) continue;
            const auto y = farthest_inside(cones, moves, rules_.forces, chosen_.forces);
            if (!y) return false;
            std::vector<double> found = chosen_.forces;
            add_moves(found, moves, *y);
            const double largest = std::max(rules_.nothing, largest_of(found));
            const bool inside = least_margin(cones, found) >= -rules_.tolerance * largest;
            if (best.empty() || inside) best = found;
            if (inside) break;
        }
        if (!best.empty()) chosen_.forces = best;
        return true;
    }

    // Forces whose least margin is largest; false where they are not told.
    bool move_by(const std::vector<ForceCone>& cones, const Vectors& moves) {
        if (moves.empty()) return true;
        const auto y = farthest_inside(cones, moves, rules_.forces, chosen_.forces);
        if (y) add_moves(chosen_.forces, moves, *y);
        return y.has_value();
    }

    // Changes of forces by unknowns that a matrix (m, k) takes to zero; false where its rank is not clear.
    bool moves_by(const Vectors& matrix, const Vectors& basis, Vectors& moves) const {
        Vectors free;
        if (!null_space(matrix, static_cast<int>(basis.size()), rules_.rank, rules_.clear_rank, free)) return false;
        moves.assign(free.size(), std::vector<double>(problem_.rows, 0.0));
        for (std::size_t j = 0; j < free.size(); ++j) add_moves(moves[j], basis, free[j]);
        return true;
    }

    // Turns slip directions until the motion has them under the admissible forces that they were chosen with: which of
    // redundant forces act decides on the motion along the ground. They are turned to those of the motion, and by
    // Broyden's method where that turns them to and fro. False where that is not told.
    bool agree() {
        const int p = static_cast<int>(turning_.size());
        std::vector<double> off(p), turn, inverse(p * p, 0.0);
        for (int k = 0; k < p; ++k) inverse[k * p + k] = -1.0;
        for (int round = 0; round < rules_.agreements; ++round) {
            const std::vector<double> before = off;
            if (are_turned(off)) return true;
            if (!turn.empty()) improve(inverse, turn, before, off);
            turn.assign(p, 0.0);
            double farthest = 0.0;
            for (int i = 0; i < p; ++i) {
                for (int j = 0; j < p; ++j) turn[i] -= inverse[i * p + j] * off[j];
                farthest = std::max(farthest, std::abs(turn[i]));
            }
            if (farthest > rules_.farthest_turn) scale(turn, rules_.farthest_turn / farthest);
            for (int k = 0; k < p; ++k) rotate(chosen_.directions[turning_[k]], turn[k]);
            if (!solve_forces() || (margin() < 0.0 && !move_inside())) return false;
        }
        return true;
    }

    // Angles from the slip directions that are looked for to those of the motion; whether all are rounding.
    bool are_turned(std::vector<double>& off) {
        problem_.motion(chosen_.forces, w_);
        double most = 0.0;
        for (std::size_t k = 0; k < turning_.size(); ++k) {
            const double* own = &w_[problem_.first[turning_[k]] + 1];
            const std::array<double, 2>& slip = chosen_.directions[turning_[k]];
            const double along = slip[0] * own[0] + slip[1] * own[1], across = slip[0] * own[1] - slip[1] * own[0];
            most = std::max(most, std::abs(across)), off[k] = std::atan2(across, along);
        }
        return most <= rules_.tolerance * speed_;
    }

    // Broyden's correction of an inverse (p, p), by what a turn changed.
    void improve(std::vector<double>& inverse, const std::vector<double>& turn, const std::vector<double>& before,
                 const std::vector<double>& after) const {
        const std::size_t p = turn.size();
        std::vector<double> change(p, 0.0), along(p, 0.0);
        double size = 0.0;
        for (std::size_t i = 0; i < p; ++i) {
            for (std::size_t j = 0; j < p; ++j) {
                change[i] += inverse[i * p + j] * (after[j] - before[j]);
                along[j] += turn[i] * inverse[i * p + j];
            }
            size += turn[i] * change[i];
        }
        if (std::abs(size) <= rules_.nothing) size = rules_.nothing;
        for (std::size_t i = 0; i < p; ++i) {
            for (std::size_t j = 0; j < p; ++j) inverse[i * p + j] += (turn[i] - change[i]) * along[j] / size;
        }
    }

    // All forces by one of each unknown of some contacts.
    Vectors basis_of(const std::vector<int>& contacts) const {
        Vectors basis;
        for (std::size_t j = 0; j < held_.size(); ++j) {
            const auto owns = [&](int i) {
                return held_[j] >= problem_.first[i] && held_[j] <= problem_.first[i] + problem_.width[i];
            };
            if (std::none_of(contacts.begin(), contacts.end(), owns)) continue;
            std::vector<double> unit(held_.size(), 0.0), forces;
            unit[j] = 1.0;
            expand(unit, forces);
            basis.push_back(forces);
        }
        return basis;
    }

    // The closed contacts, in sets that do not move each other.
    std::vector<std::vector<int>> islands() const {
        std::vector<std::vector<int>> found;
        for (std::vector<int> left = closed_contacts(chosen_); !left.empty();) {
            std::vector<int> reached{left.back()};
            left.pop_back();
            for (std::size_t k = 0; k < reached.size(); ++k) {
                const auto apart = [&](int i) { return !move_each_other(i, reached[k]); };
                const auto joined = std::stable_partition(left.begin(), left.end(), apart);
                reached.insert(reached.end(), joined, left.end());
                left.erase(joined, left.end());
            }
            found.push_back(reached);
        }
        return found;
    }

    bool move_each_other(int i, int j) const {
        for (int a = 0; a <= problem_.width[i]; ++a) {
            for (int b = 0; b <= problem_.width[j]; ++b) {
                if (problem_.at(problem_.first[i] + a, problem_.first[j] + b) != 0.0) return true;
            }
        }
        return false;
    }

    bool is_lifted(int i) const { return !chosen_.lifted.empty() && chosen_.lifted[i]; }

    bool is_unknown(int i) const { return chosen_.modes[i] == Touch::slip && problem_.width[i] && !problem_.slides[i]; }

    void lay_out() {
        held_.clear(), turning_.clear(), normals_.assign(problem_.count, -1);
        for (int i = 0; i < problem_.count; ++i) {
            const int first = problem_.first[i];
            const Touch mode = chosen_.modes[i];
            if (mode != Touch::open && !is_lifted(i)) {
                normals_[i] = static_cast<int>(held_.size());
                held_.push_back(first);
            }
            for (int d = 1; d <= problem_.width[i] && mode == Touch::stick; ++d) held_.push_back(first + d);
            if (mode != Touch::slip || !problem_.width[i]) {
                chosen_.directed[i] = false;
            } else if (problem_.slides[i]) {
                chosen_.directions[i] = {problem_.sliding[2 * i], problem_.sliding[2 * i + 1]};
                chosen_.directed[i] = true;
            } else if (!chosen_.directed[i]) {
                start_freely(i);
            }
            if (is_unknown(i) && problem_.width[i] == 2) turning_.push_back(i);
        }
    }

    // The direction in which a contact would slip without forces.
    void start_freely(int i) {
        const double x = problem_.free[problem_.first[i] + 1];
        const double y = problem_.width[i] == 2 ? problem_.free[problem_.first[i] + 2] : 0.0;
        const double length = std::hypot(x, y);
        chosen_.directions[i] =
            length > 0.0 ? std::array<double, 2>{x / length, y / length} : std::array<double, 2>{1.0, 0.0};
        chosen_.directed[i] = true;
    }

    void expand(const std::vector<double>& unknowns, std::vector<double>& forces) const {
        const int k = static_cast<int>(held_.size());
        forces.assign(problem_.rows, 0.0);
        for (int j = 0; j < k; ++j) forces[held_[j]] = unknowns[j];
        for (int i = 0; i < problem_.count; ++i) {
            if (chosen_.modes[i] != Touch::slip || is_lifted(i)) continue;
            for (int d = 0; d < problem_.width[i]; ++d) {
                const double share = problem_.kinetic[i] * chosen_.directions[i][d];
                forces[problem_.first[i] + 1 + d] = -share * unknowns[normals_[i]];
            }
        }
    }

    // The forces that are given to contacts that part, and the friction of those of them that slip; then what the rows
    // that are held need of all others, into `right_`.
    void find_wanted() {
        known_.assign(problem_.rows, 0.0);
        for (int i = 0; i < problem_.count; ++i) {
            if (!is_lifted(i)) continue;
            double* own = &known_[problem_.first[i]];
            own[0] = problem_.least(i);
            for (int d = 0; d < problem_.width[i] && chosen_.modes[i] == Touch::slip; ++d) {
                own[1 + d] = -problem_.kinetic[i] * own[0] * chosen_.directions[i][d];
            }
        }
        right_.clear();
        for (const int row : held_) {
            right_.push_back(-problem_.free[row]);
            for (int j = 0; j < problem_.rows && !chosen_.lifted.empty(); ++j) {
                right_.back() -= problem_.at(row, j) * known_[j];
            }
        }
    }

    void take(const std::vector<double>& unknowns) {
        expand(unknowns, chosen_.forces);
        for (int j = 0; j < problem_.rows; ++j) chosen_.forces[j] += known_[j];
    }

    // C G E, and forces by it, refined once.
    bool solve_forces() {
        const int k = static_cast<int>(held_.size());
        matrix_.assign(k * k, 0.0);
        for (int j = 0; j < k; ++j) {
            for (int i = 0; i < k; ++i) matrix_[i * k + j] = problem_.at(held_[i], held_[j]);
        }
        for (int c = 0; c < problem_.count; ++c) {
            if (chosen_.modes[c] != Touch::slip || is_lifted(c)) continue;
            for (int d = 0; d < problem_.width[c]; ++d) {
                const double share = problem_.kinetic[c] * chosen_.directions[c][d];
                const int column = problem_.first[c] + 1 + d;
                for (int i = 0; i < k; ++i) matrix_[i * k + normals_[c]] -= share * problem_.at(held_[i], column);
            }
        }
        chosen_.unique = factors_.factorise(matrix_, k, rules_.regular);
        if (!chosen_.unique && !smallest_.factorise(matrix_, k, rules_.rank, rules_.clear_rank)) return false;
        find_wanted();
        unknowns_ = right_;
        if (!chosen_.unique) {
            smallest_.solve(unknowns_.data());
            take(unknowns_);
            return true;
        }
        factors_.solve(unknowns_.data());
        for (int i = 0; i < k; ++i) {
            for (int j = 0; j < k; ++j) right_[i] -= matrix_[i * k + j] * unknowns_[j];
        }
        factors_.solve(right_.data());
        for (int i = 0; i < k; ++i) unknowns_[i] += right_[i];
        take(unknowns_);
        return true;
    }

    // Newton's method, and once more from where the directions are turned to those of their motion for some times.
    bool turn_thoroughly() {
        const std::vector<std::array<double, 2>> start = chosen_.directions;
        if (!turn()) return false;
        if (arrived_ && press()) return true;
        chosen_.directions = start;
        for (int round = 0; round < rules_.followed; ++round) {
            if (!solve_forces()) return false;
            problem_.motion(chosen_.forces, w_);
            for (const int i : turning_) {
                const double *own = &w_[problem_.first[i] + 1], size = std::hypot(own[0], own[1]);
                if (size > 0.0) chosen_.directions[i] = {own[0] / size, own[1] / size};
            }
        }
        if (!solve_forces() || !turn()) return false;
        arrived_ = arrived_ && press();
        return true;
    }

    // Angles of the slip directions across which the contact that turns does not move, as contactsim's slip_directions
    // has them; false where forces are not unique, or these are not told.
    bool angles_without_aside(std::vector<double>& angles) {
        const int i = turning_[0], row = problem_.first[i];
        std::array<double, CIRCLE_SAMPLES> values{};
        for (int k = 0; k < CIRCLE_SAMPLES; ++k) {
            const std::array<double, 2> slip{std::cos(circle_sample(k)), std::sin(circle_sample(k))};
            chosen_.directions[i] = slip;
            if (!solve_forces() || !chosen_.unique || chosen_.forces[row] == 0.0) return false;
            problem_.motion(chosen_.forces, w_);
            values[k] = (slip[0] * w_[row + 2] - slip[1] * w_[row + 1]) / chosen_.forces[row];
        }
        const auto found = zeros_on_circle(values, rules_.on_circle);
        if (found) angles = *found;
        return found.has_value();
    }

    // Whether a contact may slip in its direction, the best one so far where it is the fastest.
    Verdict slip_along(int i, double& fastest, std::array<double, 2>& best) {
        if (!solve_forces() || !chosen_.unique) return Verdict::unknown;
        problem_.motion(chosen_.forces, w_);
        const double* own = &w_[problem_.first[i] + 1];
        const std::array<double, 2>& slip = chosen_.directions[i];
        const double along = own[0] * slip[0] + own[1] * slip[1], pressed = chosen_.forces[problem_.first[i]];
        const double largest = std::max(rules_.nothing, largest_of(chosen_.forces));
        if (along < -rules_.clear * speed_ || pressed < -rules_.clear * largest) return Verdict::broken;
        if (along < 0.0 || pressed < 0.0) return Verdict::unknown;
        if (along > fastest) fastest = along, best = slip;
        return Verdict::admissible;
    }

    // Whether none of the contacts that turn is pulled: near a pole of the forces there are directions on both sides.
    bool press() const {
        const double largest = std::max(rules_.nothing, largest_of(chosen_.forces));
        double least = INFINITY;
        for (const int i : turning_) least = std::min(least, chosen_.forces[problem_.first[i]]);
        return least >= -rules_.tolerance * largest;
    }

    // Whether Newton's method has arrived where contacts move along their directions. Where slip begins at the edge of
    // its cone, it begins without acceleration: known no better than the mode was.
    bool is_there(bool converged, double off, double along) const {
        if (converged && along >= 0.0) return true;
        double largest = rules_.nothing;
        for (const double one : w_) largest = std::max(largest, std::abs(one));
        const double limit = rules_.tolerance * largest;
        return (converged || off <= limit) && along >= -std::max(limit, rules_.creep * speed_);
    }

    // Newton's method on the angles of all slip directions in space; those it ends with are taken, converged or not.
    bool turn() {
        const int p = static_cast<int>(turning_.size());
        std::vector<double> along(p), across(p), changes(p * p);
        double farthest = 1.0, before = 1.0;
        for (int step = 0;; ++step) {
            problem_.motion(chosen_.forces, w_);
            double off = 0.0;
            for (int k = 0; k < p; ++k) {
                const int row = problem_.first[turning_[k]] + 1;
                const std::array<double, 2>& slip = chosen_.directions[turning_[k]];
                along[k] = slip[0] * w_[row] + slip[1] * w_[row + 1];
                across[k] = slip[0] * w_[row + 1] - slip[1] * w_[row];
                off = std::max(off, std::abs(across[k]));
            }
            const bool stalled = 0.5 * before < farthest && farthest < rules_.stalled_turn;
            const double across_least = chosen_.unique ? rules_.across : rules_.across_singular;
            const bool there = off <= across_least * speed_ || farthest < rules_.turned || stalled;
            if (step == (thorough_ ? rules_.newton_steps : rules_.quick_steps) || there) {
                arrived_ = is_there(there, off, *std::min_element(along.begin(), along.end()));
                return true;
            }
            changes_by_turns(changes);
            for (int k = 0; k < p; ++k) changes[k * p + k] -= along[k], across[k] = -across[k];
            if (p == 1) {
                across[0] = changes[0] != 0.0 ? across[0] / changes[0] : 0.0;
            } else {
                solve_turns(changes, p, across);
            }
            before = farthest, farthest = 0.0;
            for (const double angle : across) farthest = std::max(farthest, std::abs(angle));
            if (!std::isfinite(farthest)) return false;
            const double share = farthest > rules_.farthest_turn ? rules_.farthest_turn / farthest : 1.0;
            for (int k = 0; k < p; ++k) rotate(chosen_.directions[turning_[k]], share * across[k]);
            farthest *= share;
            if (!solve_forces()) return false;
        }
    }

    // The turns in one step of Newton's method, the smallest ones where they are many. What it ends with is looked at,
    // so that their rank need not be clear.
    void solve_turns(const std::vector<double>& changes, int p, std::vector<double>& turns) {
        if (turns_.factorise(changes, p, rules_.across)) return turns_.solve(turns.data());
        Smallest smallest;
        smallest.truncate(changes, p, rules_.across);
        smallest.solve(turns.data());
    }

    // Motion across each slip direction by a turn of each by one radian (p, p).
    void changes_by_turns(std::vector<double>& changes) {
        const int p = static_cast<int>(turning_.size()), k = static_cast<int>(held_.size());
        std::vector<double>&pushed = pushed_, &answer = answer_, &forces = answered_;
        pushed.resize(problem_.rows), answer.resize(k);
        for (int j = 0; j < p; ++j) {
            const int row = problem_.first[turning_[j]];
            const std::array<double, 2>& slip = chosen_.directions[turning_[j]];
            const double push = -problem_.kinetic[turning_[j]] * chosen_.forces[row];
            for (int i = 0; i < problem_.rows; ++i) {
                pushed[i] = push * (slip[0] * problem_.at(i, row + 2) - slip[1] * problem_.at(i, row + 1));
            }
            for (int i = 0; i < k; ++i) answer[i] = -pushed[held_[i]];
            chosen_.unique ? factors_.solve(answer.data()) : smallest_.solve(answer.data());
            expand(answer, forces);
            for (int i = 0; i < p; ++i) {
                const int own = problem_.first[turning_[i]] + 1;
                double x = pushed[own], y = pushed[own + 1];
                for (int c = 0; c < problem_.rows; ++c) {
                    x += problem_.at(own, c) * forces[c], y += problem_.at(own + 1, c) * forces[c];
                }
                const std::array<double, 2>& other = chosen_.directions[turning_[i]];
                changes[i * p + j] = other[0] * y - other[1] * x;
            }
        }
    }

    static void rotate(std::array<double, 2>& slip, double angle) {
        const double c = std::cos(angle), s = std::sin(angle);
        const double x = c * slip[0] - s * slip[1], y = c * slip[1] + s * slip[0], size = std::hypot(x, y);
        slip = {x / size, y / size};
    }

    bool violates(int i, double held, double force, Violation& found) const {
        const int n = problem_.first[i];
        const double tiny = rules_.tolerance, normal = w_[n], pressed = chosen_.forces[n];
        const double least = problem_.least(i);
        const bool lifted = is_lifted(i), parts = least > 0.0;
        const Touch closing = problem_.slides[i] ? Touch::slip : Touch::stick;
        const Touch parting = parts ? chosen_.modes[i] : Touch::open;
        if (chosen_.modes[i] == Touch::open) {
            found = {i, -normal / speed_, closing};
            return normal < -std::max(tiny * speed_, problem_.slack[i]);
        }
        found = {i, lifted ? -normal / speed_ : std::abs(normal) / speed_, parting, parts && !lifted};
        if (lifted ? normal < -tiny * speed_ : std::abs(normal) > held) return true;
        found = {i, (least - pressed) / force, parting, parts};
        if (!lifted && pressed - least < -tiny * force) return true;
        if (!violates_friction(i, held, force, found)) return false;
        found.lifted = lifted;
        return true;
    }

    bool violates_friction(int i, double held, double force, Violation& found) const {
        if (!problem_.width[i]) return false;
        const int n = problem_.first[i];
        const bool spatial = problem_.width[i] == 2;
        const double x = w_[n + 1], y = spatial ? w_[n + 2] : 0.0;
        if (chosen_.modes[i] == Touch::stick) {
            const double rubbing = std::hypot(chosen_.forces[n + 1], spatial ? chosen_.forces[n + 2] : 0.0);
            const double excess = rubbing - problem_.static_[i] * chosen_.forces[n], creep = std::hypot(x, y);
            const bool beyond = excess > rules_.tolerance * force;
            found = {i, beyond ? excess / force : creep / speed_, Touch::slip};
            return beyond || creep > held;
        }
        if (problem_.slides[i]) return false;
        const std::array<double, 2>& slip = chosen_.directions[i];
        const double along = x * slip[0] + y * slip[1];
        found = {i, std::hypot(x, y) / speed_, Touch::stick};
        return along < -rules_.tolerance * speed_ || std::hypot(x - along * slip[0], y - along * slip[1]) > held;
    }

    void put_right(const Violation& one) {
        const int i = one.contact, n = problem_.first[i];
        const bool begins = one.mode == Touch::slip && chosen_.modes[i] != Touch::slip;
        chosen_.modes[i] = one.mode;
        if (!chosen_.lifted.empty()) chosen_.lifted[i] = one.lifted;
        if (!begins || problem_.slides[i]) return;
        const double x = problem_.width[i] ? chosen_.forces[n + 1] : 0.0;
        const double y = problem_.width[i] == 2 ? chosen_.forces[n + 2] : 0.0, length = std::hypot(x, y);
        chosen_.directed[i] = length > 0.0;
        if (length > 0.0) chosen_.directions[i] = {-x / length, -y / length};
    }
};

// One contact while all others are held.
class Alone {
  public:
    Alone(const ContactProblem& problem, const PivotRules& rules, int i)
        : rules_(rules), first_(problem.first[i]), size_(1 + problem.width[i]), friction_(problem.kinetic[i]) {
        double square = 0.0;
        for (int a = 0; a < size_; ++a) {
            for (int b = 0; b < size_; ++b) {
                block_[a][b] = problem.at(first_ + a, first_ + b);
                square += block_[a][b] * block_[a][b];
            }
        }
        step_ = square > 0.0 ? 1.0 / std::sqrt(square) : 0.0;
        slides_ = problem.slides[i];
        if (size_ > 1 && !slides_ && step_ > 0.0) factorise();
        lift_ = block_[0][0];
        for (int d = 0; d < size_ - 1 && slides_; ++d) {
            slip_[d] = problem.sliding[2 * i + d];
            lift_ -= block_[0][1 + d] * friction_ * slip_[d];
        }
    }

    int first() const { return first_; }
    int size() const { return size_; }
    double at(int a, int b) const { return block_[a][b]; }

    // Forces `now` that solve the contact's own problem, in place, where its motion without them is `rest`; false where
    // its block is singular.
    bool solve(const double* rest, double* now) const {
        if (step_ == 0.0) return true;  // no force moves it
        if (size_ == 1 || slides_) {
            if (size_ > 1 && lift_ <= 0.0) return true;  // friction turns it into the ground
            now[0] = std::max(0.0, -rest[0] / lift_);
            for (int d = 0; d < size_ - 1; ++d) now[1 + d] = -friction_ * slip_[d] * now[0];
            return true;
        }
        if (rest[0] >= 0.0) {
            std::fill(now, now + size_, 0.0);
            return true;
        }
        if (!regular_) return false;
        double stuck[3] = {-rest[0], -rest[1], size_ == 3 ? -rest[2] : 0.0};
        factors_.solve(stuck);
        if (stuck[0] >= 0.0 && length(stuck[1], size_ == 3 ? stuck[2] : 0.0) <= friction_ * stuck[0]) {
            std::copy(stuck, stuck + size_, now);
        } else {
            slide(rest, now);
        }
        return true;
    }

  private:
    const PivotRules& rules_;
    int first_, size_;
    double friction_, lift_, step_, block_[3][3] = {}, slip_[2] = {};
    bool slides_, regular_ = true;
    Factors factors_;  // of the block

    static double length(double x, double y) { return std::sqrt(x * x + y * y); }

    void factorise() {
        std::vector<double> block(size_ * size_);
        for (int a = 0; a < size_; ++a) std::copy(block_[a], block_[a] + size_, &block[a * size_]);
        regular_ = factors_.factorise(block, size_, 0.0);
    }

    // The fixed point of lam = P(lam - rho (w + mu |w_t| n)), P the nearest point of the cone.
    void slide(const double* rest, double* now) const {
        const bool spatial = size_ == 3;
        const double mu = friction_, rho = step_, c = spatial ? rest[2] : 0.0;
        double n = now[0], x = now[1], y = spatial ? now[2] : 0.0;
        for (int k = 0; k < rules_.inner; ++k) {
            const double u = block_[1][0] * n + block_[1][1] * x + block_[1][2] * y + rest[1];
            const double v = block_[2][0] * n + block_[2][1] * x + block_[2][2] * y + c;
            const double normal = block_[0][0] * n + block_[0][1] * x + block_[0][2] * y + rest[0];
            n -= rho * (normal + mu * length(u, v));
            x -= rho * u, y -= rho * v;
            const double size = length(x, y);
            if (size > mu * n) n = std::max((n + mu * size) / (1.0 + mu * mu), 0.0);
            n = std::max(n, 0.0);
            if (size > mu * n) x *= mu * n / size, y *= mu * n / size;
        }
        now[0] = n, now[1] = x;
        if (spatial) now[2] = y;
    }
};

}  // namespace

double margin_of(const ContactProblem& problem, const Chosen& chosen) {
    return least_margin(cones_of(problem, chosen, closed_contacts(chosen)), chosen.forces);
}

bool sweep(const ContactProblem& problem, const PivotRules& rules, int rounds, std::vector<double>& forces) {
    const int rows = problem.rows;
    double least = INFINITY;
    for (int i = 0; i < rows; ++i) least = std::min(least, problem.at(i, i));
    const double bound = rules.runaway * problem.speed(0.0) / std::max(least, rules.nothing);
    std::vector<Alone> contacts;
    contacts.reserve(problem.count);
    for (int i = 0; i < problem.count; ++i) contacts.emplace_back(problem, rules, i);
    std::vector<double> motion, before;
    problem.motion(forces, motion);
    for (int round = 0; round < rounds; ++round) {
        before = forces;
        for (const Alone& contact : contacts) {
            const int first = contact.first(), size = contact.size();
            double rest[3] = {}, now[3] = {};
            for (int a = 0; a < size; ++a) {
                rest[a] = motion[first + a], now[a] = forces[first + a];
                for (int b = 0; b < size; ++b) rest[a] -= contact.at(a, b) * forces[first + b];
            }
            if (!contact.solve(rest, now)) return false;
            for (int a = 0; a < size; ++a) {
                const double change = now[a] - forces[first + a];
                if (change == 0.0) continue;
                forces[first + a] = now[a];
                for (int i = 0; i < rows; ++i) motion[i] += problem.at(i, first + a) * change;
            }
        }
        double largest = 0.0, changed = 0.0;
        for (int i = 0; i < rows; ++i) {
            largest = std::max(largest, std::abs(forces[i]));
            changed = std::max(changed, std::abs(forces[i] - before[i]));
        }
        if (largest > bound) {
            forces = before;
            break;
        }
        if (changed <= rules.still * largest) break;
    }
    return true;
}

Verdict in_modes(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen, bool thorough) {
    Modes system(problem, rules, chosen, thorough);
    if (!system.solve()) return Verdict::unknown;
    if (thorough && !system.arrived()) return system.turn_alone();
    return system.admissible() ? Verdict::admissible : Verdict::broken;
}

Verdict correct(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen, bool worst_alone) {
    Modes system(problem, rules, chosen, true);
    if (!system.solve() || !system.arrived()) return Verdict::unknown;
    return system.correct(worst_alone) ? Verdict::broken : Verdict::admissible;
}

Pivoted pivot(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen, bool singly) {
    Modes system(problem, rules, chosen, false);
    Corrections corrections;
    const int rounds = singly ? 8 * problem.count + 8 : rules.few_rounds;
    for (int k = 0; k < rounds; ++k) {
        if (!system.solve()) return Pivoted::unknown;
        if (!system.correct(corrections.one_at_a_time(chosen))) return Pivoted::solved;
        if (!corrections.go_on(singly)) return Pivoted::none;
    }
    return Pivoted::none;
}

}  // namespace native
