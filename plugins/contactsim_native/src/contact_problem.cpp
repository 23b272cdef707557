#include "contact_problem.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "cone_program.hpp"
#include "linear.hpp"

namespace native {

double ContactProblem::speed(double nothing) const {
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

// The linear system of a problem in given modes: C G E y = -C w0, lam = E y, with the rows C whose motion vanishes.
class Modes {
  public:
    // At most so many steps of Newton's method turn the slip directions that are not known.
    Modes(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen, int steps)
        : problem_(problem), rules_(rules), chosen_(chosen), steps_(steps), speed_(problem.speed(rules.nothing)) {}

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
        if (!turning_.empty() && !turn()) return false;
        return chosen_.unique || least_margin(chosen_.forces) >= 0.0 || move_inside();
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
    const int steps_;
    const double speed_;
    bool arrived_ = true;
    std::vector<int> held_;      // rows whose motion vanishes
    std::vector<int> normals_;   // of each contact, the place of its normal force among the unknowns
    std::vector<int> turning_;   // contacts in space whose slip directions are looked for
    std::vector<double> known_;  // forces (rows,) of contacts that part under their given ones
    std::vector<double> w_, basis_, matrix_;
    Factors factors_;
    Smallest smallest_;

    // The least distance of the force of a closed contact from the edge of its cone, negative outside.
    double least_margin(const std::vector<double>& forces) const {
        if (!problem_.given.empty()) return -INFINITY;
        double least = INFINITY;
        for (int i = 0; i < problem_.count; ++i) {
            if (chosen_.modes[i] == Touch::open) continue;
            const double* force = &forces[problem_.first[i]];
            least = std::min(least, force[0]);
            if (chosen_.modes[i] != Touch::stick || !problem_.width[i]) continue;
            const double rubbing = std::hypot(force[1], problem_.width[i] == 2 ? force[2] : 0.0);
            least = std::min(least, problem_.static_[i] * force[0] - rubbing);
        }
        return least;
    }

    // Forces whose least margin is largest among all with the same motion; where none of them is admissible and some
    // contacts slip, among all that hold what is to be held. False where that is not told.
    bool move_inside() {
        if (!problem_.given.empty() || !are_joined()) return false;
        const int k = static_cast<int>(held_.size());
        std::vector<std::vector<double>> basis(k), image(problem_.rows, std::vector<double>(k)), held;
        for (int j = 0; j < k; ++j) {
            std::vector<double> unit(k, 0.0);
            unit[j] = 1.0;
            expand(unit, basis[j]);
            for (int i = 0; i < problem_.rows; ++i) {
                for (int c = 0; c < problem_.rows; ++c) image[i][j] += problem_.at(i, c) * basis[j][c];
            }
        }
        for (const int row : held_) held.push_back(image[row]);
        std::vector<double> best;
        std::vector<const std::vector<std::vector<double>>*> images = {&image};
        if (std::count(chosen_.modes.begin(), chosen_.modes.end(), Touch::slip)) images.push_back(&held);
        for (const auto* one : images) {
            std::vector<std::vector<double>> free;
            if (!null_space(*one, k, rules_.rank, rules_.clear_rank, free)) return false;
            if (free.empty()) continue;
            std::vector<double> found;
            if (!largest_margin(basis, free, found)) return false;
            double largest = rules_.nothing;
            for (const double force : found) largest = std::max(largest, std::abs(force));
            const bool inside = least_margin(found) >= -rules_.tolerance * largest;
            if (best.empty() || inside) best = found;
            if (inside) break;
        }
        if (!best.empty()) chosen_.forces = best;
        return true;
    }

    // Whether the closed contacts all move each other, one through the next.
    bool are_joined() const {
        std::vector<int> reached, left;
        for (int i = 0; i < problem_.count; ++i) {
            if (chosen_.modes[i] != Touch::open) (reached.empty() ? reached : left).push_back(i);
        }
        for (std::size_t k = 0; k < reached.size(); ++k) {
            const auto apart = [&](int i) { return !move_each_other(i, reached[k]); };
            const auto joined = std::stable_partition(left.begin(), left.end(), apart);
            reached.insert(reached.end(), joined, left.end());
            left.erase(joined, left.end());
        }
        return left.empty();
    }

    bool move_each_other(int i, int j) const {
        for (int a = 0; a <= problem_.width[i]; ++a) {
            for (int b = 0; b <= problem_.width[j]; ++b) {
                if (problem_.at(problem_.first[i] + a, problem_.first[j] + b) != 0.0) return true;
            }
        }
        return false;
    }

    // Forces plus any of E N y whose least margin r is largest: variables (y, r), and normal forces of at least r, and
    // friction of at most mu lam_n - r.
    bool largest_margin(const std::vector<std::vector<double>>& basis, const std::vector<std::vector<double>>& free,
                        std::vector<double>& found) const {
        const int p = static_cast<int>(free.size()), n = p + 1;
        std::vector<std::vector<double>> moves(p, std::vector<double>(problem_.rows, 0.0));
        for (int j = 0; j < p; ++j) {
            for (std::size_t k = 0; k < basis.size(); ++k) {
                for (int i = 0; i < problem_.rows; ++i) moves[j][i] += free[j][k] * basis[k][i];
            }
        }
        double size = rules_.smallest_force;
        for (const double force : chosen_.forces) size = std::max(size, std::abs(force));
        ConeProgram program;
        program.cost.assign(n, 0.0), program.cost[p] = -1.0;
        const auto row = [&](int of, double factor, bool head) {
            for (int j = 0; j < p; ++j) program.matrix.push_back(-factor * moves[j][of]);
            program.matrix.push_back(head ? 1.0 : 0.0);
            program.right.push_back(factor * chosen_.forces[of] / size);
        };
        for (int i = 0; i < problem_.count; ++i) {
            if (chosen_.modes[i] == Touch::open) continue;
            const int first = problem_.first[i], width = problem_.width[i];
            row(first, 1.0, true), program.sizes.push_back(1);
            if (chosen_.modes[i] != Touch::stick || !width) continue;
            row(first, problem_.static_[i], true), program.sizes.push_back(1 + width);
            for (int d = 1; d <= width; ++d) row(first + d, 1.0, false);
        }
        std::vector<double> x(n, 0.0);
        x[p] = least_margin(chosen_.forces) / size - 1.0;
        if (!minimise(program, rules_.accuracy, x)) return false;
        found = chosen_.forces;
        for (int j = 0; j < p; ++j) {
            for (int i = 0; i < problem_.rows; ++i) found[i] += size * x[j] * moves[j][i];
        }
        return true;
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
    // that are held need of all others.
    std::vector<double> wanted() {
        known_.assign(problem_.rows, 0.0);
        for (int i = 0; i < problem_.count; ++i) {
            if (!is_lifted(i)) continue;
            double* own = &known_[problem_.first[i]];
            own[0] = problem_.least(i);
            for (int d = 0; d < problem_.width[i] && chosen_.modes[i] == Touch::slip; ++d) {
                own[1 + d] = -problem_.kinetic[i] * own[0] * chosen_.directions[i][d];
            }
        }
        std::vector<double> right;
        for (const int row : held_) {
            right.push_back(-problem_.free[row]);
            for (int j = 0; j < problem_.rows && !chosen_.lifted.empty(); ++j) {
                right.back() -= problem_.at(row, j) * known_[j];
            }
        }
        return right;
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
        if (!chosen_.unique) {  // slips that turn may do so in many ways then
            if (!turning_.empty() || !smallest_.factorise(matrix_, k, rules_.rank, rules_.clear_rank)) return false;
        }
        const std::vector<double> right = wanted();
        std::vector<double> unknowns = right, left = right;
        if (!chosen_.unique) {
            smallest_.solve(unknowns.data());
            take(unknowns);
            return true;
        }
        factors_.solve(unknowns.data());
        for (int i = 0; i < k; ++i) {
            for (int j = 0; j < k; ++j) left[i] -= matrix_[i * k + j] * unknowns[j];
        }
        factors_.solve(left.data());
        for (int i = 0; i < k; ++i) unknowns[i] += left[i];
        take(unknowns);
        return true;
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
            const bool there = off <= rules_.across * speed_ || farthest < rules_.turned || stalled;
            if (step == steps_ || there) {
                arrived_ = there && *std::min_element(along.begin(), along.end()) >= 0.0;
                return true;
            }
            changes_by_turns(changes);
            for (int k = 0; k < p; ++k) changes[k * p + k] -= along[k], across[k] = -across[k];
            if (p == 1) {
                across[0] = changes[0] != 0.0 ? across[0] / changes[0] : 0.0;
            } else {
                Factors factors;
                if (!factors.factorise(changes, p, rules_.across)) return false;
                factors.solve(across.data());
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

    // Motion across each slip direction by a turn of each by one radian (p, p).
    void changes_by_turns(std::vector<double>& changes) {
        const int p = static_cast<int>(turning_.size()), k = static_cast<int>(held_.size());
        std::vector<double> pushed(problem_.rows), answer(k), forces;
        for (int j = 0; j < p; ++j) {
            const int row = problem_.first[turning_[j]];
            const std::array<double, 2>& slip = chosen_.directions[turning_[j]];
            const double push = -problem_.kinetic[turning_[j]] * chosen_.forces[row];
            for (int i = 0; i < problem_.rows; ++i) {
                pushed[i] = push * (slip[0] * problem_.at(i, row + 2) - slip[1] * problem_.at(i, row + 1));
            }
            for (int i = 0; i < k; ++i) answer[i] = -pushed[held_[i]];
            factors_.solve(answer.data());
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
        std::vector<double> block(size_ * size_);
        for (int a = 0; a < size_; ++a) std::copy(block_[a], block_[a] + size_, &block[a * size_]);
        Factors factors;
        if (!factors.factorise(block, size_, 0.0)) return false;
        double stuck[3] = {-rest[0], -rest[1], size_ == 3 ? -rest[2] : 0.0};
        factors.solve(stuck);
        if (stuck[0] >= 0.0 && std::hypot(stuck[1], size_ == 3 ? stuck[2] : 0.0) <= friction_ * stuck[0]) {
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
    bool slides_;

    // The fixed point of lam = P(lam - rho (w + mu |w_t| n)), P the nearest point of the cone.
    void slide(const double* rest, double* now) const {
        const bool spatial = size_ == 3;
        const double mu = friction_, rho = step_, c = spatial ? rest[2] : 0.0;
        double n = now[0], x = now[1], y = spatial ? now[2] : 0.0;
        for (int k = 0; k < rules_.inner; ++k) {
            const double u = block_[1][0] * n + block_[1][1] * x + block_[1][2] * y + rest[1];
            const double v = block_[2][0] * n + block_[2][1] * x + block_[2][2] * y + c;
            const double normal = block_[0][0] * n + block_[0][1] * x + block_[0][2] * y + rest[0];
            n -= rho * (normal + mu * std::hypot(u, v));
            x -= rho * u, y -= rho * v;
            const double size = std::hypot(x, y);
            if (size > mu * n) n = std::max((n + mu * size) / (1.0 + mu * mu), 0.0);
            n = std::max(n, 0.0);
            if (size > mu * n) x *= mu * n / size, y *= mu * n / size;
        }
        now[0] = n, now[1] = x;
        if (spatial) now[2] = y;
    }
};

}  // namespace

bool sweep(const ContactProblem& problem, const PivotRules& rules, int rounds, std::vector<double>& forces) {
    const int rows = problem.rows;
    double least = INFINITY;
    for (int i = 0; i < rows; ++i) least = std::min(least, problem.at(i, i));
    const double bound = rules.runaway * problem.speed(0.0) / std::max(least, rules.nothing);
    std::vector<Alone> contacts;
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
    Modes system(problem, rules, chosen, thorough ? rules.newton_steps : rules.quick_steps);
    if (!system.solve() || (thorough && !system.arrived())) return Verdict::unknown;
    return system.admissible() ? Verdict::admissible : Verdict::broken;
}

Pivoted pivot(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen) {
    Modes system(problem, rules, chosen, rules.quick_steps);
    std::set<std::pair<std::vector<Touch>, std::vector<char>>> seen;
    bool one_at_a_time = false;
    for (int k = 0; k < 8 * problem.count + 8; ++k) {
        if (!system.solve()) return Pivoted::unknown;
        const std::pair modes(chosen.modes, chosen.lifted);
        const bool known = seen.count(modes);
        if (!system.correct(one_at_a_time || known)) return Pivoted::solved;
        if (known) {
            if (one_at_a_time) return Pivoted::none;
            one_at_a_time = true;
            seen.clear();
        }
        seen.insert(modes);
    }
    return Pivoted::none;
}

}  // namespace native
