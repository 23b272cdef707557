#include "even_sharing.hpp"

#include <algorithm>
#include <cmath>

#include "linear.hpp"

namespace native {

namespace {

using Vector = std::vector<double>;

// Open contacts that do not move along their normals.
std::vector<int> others_at_rest(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen) {
    Vector w;
    problem.motion(chosen.forces, w);
    const double still = rules.across_singular * problem.speed(rules.nothing);
    std::vector<int> found;
    for (int i = 0; i < problem.count; ++i) {
        const bool takes_part = chosen.modes[i] == Touch::open && !std::isinf(problem.slack[i]);
        if (takes_part && std::abs(w[problem.first[i]]) <= still) found.push_back(i);
    }
    return found;
}

// The speed with which a contact begins to slip, if that is none though it is pressed; negative: it does not.
double idle_speed(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen, const Vector& w,
                  int i) {
    if (chosen.modes[i] != Touch::slip || !problem.width[i] || problem.slides[i]) return -1.0;
    const int n = problem.first[i];
    const double speed = std::hypot(w[n + 1], problem.width[i] == 2 ? w[n + 2] : 0.0);
    const double still = rules.across_singular * problem.speed(rules.nothing);
    return speed <= still && still < problem.at(n, n) * chosen.forces[n] ? speed : -1.0;
}

// A problem whose held rows, and those that hang on them, move as those of contacts that yield alike.
class Yielding {
  public:
    // An impulse of `size` is said to make what yields as fast as what moves.
    Yielding(const ContactProblem& given, const PivotRules& rules, double size)
        : given_(given), rules_(rules), speed_(given.speed(rules.nothing)), pace_(speed_ / size) {}

    // Of given modes; false where it is not clear what hangs on what.
    bool lay_out(const Chosen& chosen) {
        const int rows = given_.rows;
        matrix_.assign(given_.delassus, given_.delassus + rows * rows), free_.assign(given_.free, given_.free + rows);
        creeping_.clear(), held_.clear(), redundant_ = false;
        for (int i = 0; i < given_.count; ++i) {
            if (chosen.modes[i] == Touch::open) continue;
            const int last = chosen.modes[i] == Touch::stick ? given_.width[i] : 0;
            for (int d = 0; d <= last; ++d) held_.push_back(given_.first[i] + d);
        }
        if (!held_.empty()) {
            if (!hold()) return false;
            let_hang(chosen);
        }
        problem_ = given_;
        problem_.delassus = matrix_.data(), problem_.free = free_.data(), problem_.fastest = speed_;
        return true;
    }

    const ContactProblem& problem() const { return problem_; }

    // Makes contacts stick that slip without speed, though not by yielding: which way they go by that is not known.
    // Worst alone: the one that moves most of them.
    bool hold_idle(Chosen& chosen, bool worst_alone) const {
        Vector w;
        problem_.motion(chosen.forces, w);
        std::vector<int> idle;
        double fastest = -1.0;
        for (int i = 0; i < given_.count; ++i) {
            const double speed = creeps(i) ? -1.0 : idle_speed(given_, rules_, chosen, w, i);
            if (speed < 0.0 || (worst_alone && speed <= fastest)) continue;
            if (worst_alone) idle.clear();
            idle.push_back(i), fastest = speed;
        }
        for (const int i : idle) chosen.modes[i] = Touch::stick, chosen.directed[i] = false;
        return !idle.empty();
    }

    // Contacts stick that slip by yielding alone, and impulses are not unique that move nothing.
    void bring_to_rest(Chosen& chosen) const {
        for (const int i : creeping_) chosen.modes[i] = Touch::stick, chosen.directed[i] = false;
        chosen.unique = chosen.unique && !redundant_;
    }

  private:
    const ContactProblem& given_;
    const PivotRules& rules_;
    const double speed_, pace_;
    ContactProblem problem_;
    Vector matrix_, free_;
    std::vector<int> held_, creeping_;
    Smallest smallest_;
    Factors factors_;
    bool redundant_ = false;

    bool creeps(int i) const { return std::find(creeping_.begin(), creeping_.end(), i) != creeping_.end(); }

    double& at(int row, int column) { return matrix_[row * given_.rows + column]; }

    // C G C^T + U U^T in place of C G C^T, and velocities that are those of one motion.
    bool hold() {
        const int k = static_cast<int>(held_.size());
        Vector matrix(k * k);
        for (int a = 0; a < k; ++a) {
            for (int b = 0; b < k; ++b) matrix[a * k + b] = given_.at(held_[a], held_[b]);
        }
        redundant_ = !factors_.factorise(matrix, k, rules_.regular);
        if (!redundant_) return true;
        if (!smallest_.factorise(matrix, k, rules_.rank, rules_.clear_rank)) return false;
        double weight = 0.0;
        for (int i = 0; i < given_.rows; ++i) weight += given_.at(i, i) / given_.rows;
        Vector apart(k, 0.0);
        for (const Vector& one : smallest_.null()) {
            double along = 0.0;
            for (int a = 0; a < k; ++a) along += one[a] * given_.free[held_[a]];
            for (int a = 0; a < k; ++a) {
                apart[a] += along * one[a];
                for (int b = 0; b < k; ++b) at(held_[a], held_[b]) += weight * one[a] * one[b];
            }
        }
        const double share = largest_of(apart) > rules_.creep * speed_ ? rules_.blown_up : -1.0;
        for (int a = 0; a < k; ++a) free_[held_[a]] += share * apart[a];
        return true;
    }

    // Rows that are looked at but not held, of which those that hang on held ones move against their impulses.
    void let_hang(const Chosen& chosen) {
        for (int i = 0; i < given_.count; ++i) {
            const bool open = chosen.modes[i] == Touch::open;
            if (!open && (chosen.modes[i] != Touch::slip || !given_.width[i] || given_.slides[i])) continue;
            const int first = given_.first[i] + (open ? 0 : 1), count = open ? 1 : given_.width[i];
            Vectors shares;
            bool all = true;
            for (int d = 0; d < count && all; ++d) all = hangs(first + d, shares.emplace_back());
            if (!all) continue;
            for (int d = 0; d < count; ++d) {
                for (int j = 0; j < given_.rows; ++j) at(first + d, j) = 0.0;
                for (std::size_t a = 0; a < held_.size(); ++a) at(first + d, held_[a]) = -pace_ * shares[d][a];
                free_[first + d] = 0.0;
            }
            if (!open) creeping_.push_back(i);
        }
    }

    // Whether a row is a sum of shares of the held ones.
    bool hangs(int row, Vector& shares) const {
        double alone = given_.at(row, row), off = given_.free[row];
        for (const int a : held_) shares.push_back(given_.at(a, row));
        redundant_ ? smallest_.solve(shares.data()) : factors_.solve(shares.data());
        for (std::size_t a = 0; a < held_.size(); ++a) {
            alone -= shares[a] * given_.at(held_[a], row), off -= shares[a] * given_.free[held_[a]];
        }
        return std::abs(alone) <= rules_.hangs * given_.at(row, row) && std::abs(off) <= rules_.creep * speed_;
    }
};

// Contacts that were closed go on to slip where they move.
void let_move(const ContactProblem& problem, const PivotRules& rules, const std::vector<Touch>& before,
              Chosen& chosen) {
    Vector w;
    problem.motion(chosen.forces, w);
    const double least = rules.across_singular * problem.speed(rules.nothing);
    for (int i = 0; i < problem.count; ++i) {
        if (before[i] != Touch::open || chosen.modes[i] != Touch::stick || !problem.width[i]) continue;
        const double x = w[problem.first[i] + 1], y = problem.width[i] == 2 ? w[problem.first[i] + 2] : 0.0;
        const double size = std::hypot(x, y);
        if (size <= least) continue;
        chosen.modes[i] = Touch::slip, chosen.directed[i] = true, chosen.directions[i] = {x / size, y / size};
    }
}

// Whether impulses are rounding beside the velocities that they should change.
bool move_nothing(const ContactProblem& problem, const PivotRules& rules, const Vector& impulses) {
    Vector w;
    problem.motion(impulses, w);
    for (int i = 0; i < problem.rows; ++i) w[i] -= problem.free[i];
    return largest_of(w) <= rules.across_singular * problem.speed(rules.nothing);
}

bool move_alike(const ContactProblem& problem, const PivotRules& rules, const Chosen& one, const Chosen& other) {
    Vector change(one.forces);
    for (std::size_t k = 0; k < change.size(); ++k) change[k] -= other.forces[k];
    return move_nothing(problem, rules, change);
}

// Whether contacts begin to slip without speed.
bool slips_idly(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen) {
    Vector w;
    problem.motion(chosen.forces, w);
    for (int i = 0; i < problem.count; ++i) {
        if (idle_speed(problem, rules, chosen, w, i) >= 0.0) return true;
    }
    return false;
}

// Whether impulses that all hold still what touches in the end move it along the ground in different ways; false: it is
// not clear what they hold.
bool look_for_choice(const ContactProblem& problem, const PivotRules& rules, const Chosen& touching, bool& is_choice) {
    is_choice = false;
    const auto end = touching.modes.end();
    // What moves no held row moves nothing.
    if (std::find(touching.modes.begin(), end, Touch::slip) == end) return true;
    std::vector<int> held;
    Vectors moved;  // of each unknown
    for (int i = 0; i < problem.count; ++i) {
        if (touching.modes[i] == Touch::open) continue;
        const bool sticks = touching.modes[i] == Touch::stick;
        for (int d = 0; d <= (sticks ? problem.width[i] : 0); ++d) {
            Vector& own = moved.emplace_back(problem.rows);
            held.push_back(problem.first[i] + d);
            for (int row = 0; row < problem.rows; ++row) own[row] = problem.at(row, held.back());
            for (int k = 0; k < problem.width[i] && !sticks; ++k) {
                const double rubbed = problem.kinetic[i] * touching.directions[i][k];
                for (int row = 0; row < problem.rows; ++row) own[row] -= rubbed * problem.at(row, held.back() + 1 + k);
            }
        }
    }
    Vectors kept, free;
    for (const int row : held) {
        Vector& own = kept.emplace_back();
        for (const Vector& one : moved) own.push_back(one[row]);
    }
    if (!null_space(kept, static_cast<int>(held.size()), rules.rank, rules.clear_rank, free)) return false;
    double most = 0.0, largest = 0.0;
    for (const Vector& one : moved) largest = std::max(largest, largest_of(one));
    for (const Vector& one : free) {
        Vector motion(problem.rows, 0.0);
        add_moves(motion, moved, one);
        most = std::max(most, largest_of(motion));
    }
    is_choice = most > rules.clear * largest;
    return true;
}

// `share_evenly` of contacts that move each other.
Pivoted share_alone(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen) {
    const std::vector<int> others = others_at_rest(problem, rules, chosen);
    if (chosen.unique && others.empty()) return Pivoted::solved;
    if (move_nothing(problem, rules, chosen.forces)) return Pivoted::solved;
    Chosen found = chosen;
    for (const int i : others) found.modes[i] = Touch::stick;
    let_move(problem, rules, chosen.modes, found);
    bool is_choice = true;
    if (!look_for_choice(problem, rules, found, is_choice)) return Pivoted::unknown;
    const bool slips = slips_idly(problem, rules, chosen);
    if (!is_choice && !slips) return Pivoted::solved;
    const Pivoted circles = is_choice ? Pivoted::none : Pivoted::solved;
    Yielding yielding(problem, rules, largest_of(chosen.forces));
    Corrections corrections;
    for (int k = 0; k < 8 * problem.count + 8; ++k) {
        if (!yielding.lay_out(found)) return Pivoted::unknown;
        const std::vector<Touch> modes = found.modes;
        const bool worst_alone = corrections.one_at_a_time(found);
        const Verdict verdict = correct(yielding.problem(), rules, found, worst_alone);
        if (verdict == Verdict::unknown) return Pivoted::unknown;
        if (verdict == Verdict::admissible && !yielding.hold_idle(found, worst_alone)) {
            yielding.bring_to_rest(found);
            if (slips || !move_alike(problem, rules, found, chosen)) chosen = found;
            return Pivoted::solved;
        }
        let_move(problem, rules, modes, found);
        if (!corrections.go_on()) return circles;
    }
    return circles;
}

// Contacts of a problem that move each other, as a problem of their own.
class Island {
  public:
    Island(const ContactProblem& whole, const std::vector<int>& rows) : rows_(rows) {
        for (const int row : rows) {
            free_.push_back(whole.free[row]);
            for (const int column : rows) delassus_.push_back(whole.at(row, column));
        }
        for (int i = 0, row = 0; i < whole.count; ++i) {
            if (!std::binary_search(rows.begin(), rows.end(), whole.first[i])) continue;
            contacts_.push_back(i), part_.first.push_back(row), part_.width.push_back(whole.width[i]);
            kinetic_.push_back(whole.kinetic[i]), resting_.push_back(whole.static_[i]);
            slack_.push_back(whole.slack[i]), part_.slides.push_back(whole.slides[i]);
            sliding_.insert(sliding_.end(), whole.sliding + 2 * i, whole.sliding + 2 * i + 2);
            row += 1 + whole.width[i];
        }
        part_.rows = static_cast<int>(rows.size()), part_.count = static_cast<int>(contacts_.size());
        part_.delassus = delassus_.data(), part_.free = free_.data(), part_.kinetic = kinetic_.data();
        part_.static_ = resting_.data(), part_.slack = slack_.data(), part_.sliding = sliding_.data();
        part_.fastest = whole.fastest;
    }

    bool is_at_rest(double still) const { return largest_of(free_) <= still; }

    Pivoted share(const PivotRules& rules, Chosen& whole) const {
        Chosen own;
        own.unique = whole.unique;
        for (const int i : contacts_) {
            own.modes.push_back(whole.modes[i]), own.directions.push_back(whole.directions[i]);
            own.directed.push_back(whole.directed[i]);
        }
        for (const int row : rows_) own.forces.push_back(whole.forces[row]);
        const Pivoted found = share_alone(part_, rules, own);
        if (found != Pivoted::solved) return found;
        for (std::size_t k = 0; k < contacts_.size(); ++k) {
            const int i = contacts_[k];
            whole.modes[i] = own.modes[k], whole.directions[i] = own.directions[k], whole.directed[i] = own.directed[k];
        }
        for (std::size_t k = 0; k < rows_.size(); ++k) whole.forces[rows_[k]] = own.forces[k];
        whole.unique = whole.unique && own.unique;
        return found;
    }

  private:
    std::vector<int> rows_, contacts_;
    Vector delassus_, free_, kinetic_, resting_, slack_, sliding_;
    ContactProblem part_;
};

}  // namespace

Pivoted share_evenly(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen) {
    if (!problem.given.empty()) return Pivoted::solved;
    const double* end = problem.delassus + problem.rows;  // of the first row, which moves all where none of it is zero
    if (std::find(problem.delassus, end, 0.0) == end) return share_alone(problem, rules, chosen);
    std::vector<int> owner(problem.rows);
    for (int i = 0; i < problem.count; ++i) std::fill_n(&owner[problem.first[i]], 1 + problem.width[i], i);
    const Vector matrix(problem.delassus, problem.delassus + problem.rows * problem.rows);
    const auto parts = sets_of_rows(matrix, problem.rows, owner);
    if (parts.size() < 2) return share_alone(problem, rules, chosen);
    for (const std::vector<int>& rows : parts) {
        const Island part(problem, rows);
        if (part.is_at_rest(rules.tolerance * problem.speed(rules.nothing))) continue;
        const Pivoted found = part.share(rules, chosen);
        if (found != Pivoted::solved) return found;
    }
    return Pivoted::solved;
}

}  // namespace native
