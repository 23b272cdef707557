// Contact problems on plain arrays: their modes by pivoting, and sweeps over the contacts. Laws, choices and their
// order are those of contactsim's contact/solvers: pivot.py with quick=True, slip_directions.py and gauss_seidel.py.
#pragma once

#include <array>
#include <set>
#include <utility>
#include <vector>

#include "force_cones.hpp"

namespace native {

enum class Touch { open, stick, slip };

// Thresholds by name: those of contactsim's modules.
struct PivotRules {
    double tolerance, creep, lost, regular, rank, clear_rank, across, across_singular, turned, nothing;
    double farthest_turn, stalled_turn, runaway, still, barely, inside;
    double on_circle;  // by which a root may miss the unit circle
    double clear;     // margin, force or motion above which a choice between two modes is no matter of rounding
    double hangs;     // share of a row that is not one of others, on which it hangs
    double blown_up;  // stands for one over the yielding of contacts that hardly yield
    int quick_steps, newton_steps, followed, inner, agreements;
    int singly;               // contacts at most whose modes are corrected one at a time before sweeps are tried
    int few_rounds;           // of corrections of more of them
    std::vector<int> sweeps;  // one after the other, behind each of which modes are looked at
    ForceRules forces;
};

// w = G lam + w0 of contacts that have a normal row each, then none, one or two tangential ones: see ContactProblem.
struct ContactProblem {
    int rows = 0, count = 0;
    const double *delassus = nullptr, *free = nullptr;  // (rows, rows), (rows,)
    std::vector<int> first, width;                      // normal row, and tangential rows, of each contact
    const double *kinetic = nullptr, *static_ = nullptr, *slack = nullptr;  // (count,)
    std::vector<char> slides;                                               // whether a contact slides already
    const double* sliding = nullptr;                                        // and in which direction (count, 2)
    double fastest = 0.0;       // the largest motion that counts, where that is not the one of these numbers
    std::vector<double> given;  // normal force of each contact that acts in any case; empty: none

    double at(int row, int column) const { return delassus[row * rows + column]; }
    double least(int i) const { return given.empty() ? 0.0 : given[i]; }
    double speed(double nothing) const;  // the largest motion, free or by the given forces
    void motion(const std::vector<double>& forces, std::vector<double>& w) const;  // G lam + w0
};

// Modes, with the slip directions of contacts that begin to slip, and the forces that follow.
struct Chosen {
    std::vector<Touch> modes;
    std::vector<std::array<double, 2>> directions;
    std::vector<char> directed;  // whether a direction is known
    std::vector<char> lifted;    // whether a contact parts under its given force; empty: none does
    std::vector<double> forces;
    bool unique = true;  // whether the forces are the only ones; else they are the smallest, or farthest inside cones
};

// Modes that corrections have come by: where they come there again they are corrected one contact at a time, and where
// they do so even then, they run in circles.
class Corrections {
  public:
    // Whether one contact at a time is to be corrected, of modes that are noted.
    bool one_at_a_time(const Chosen& chosen) {
        modes_ = {chosen.modes, chosen.lifted};
        again_ = seen_.count(modes_) > 0;
        return one_at_a_time_ || again_;
    }

    // False where they run in circles: those of one contact at a time, or if these are not wanted those of all.
    bool go_on(bool singly = true) {
        if (again_ && (one_at_a_time_ || !singly)) return false;
        if (again_) one_at_a_time_ = true, seen_.clear();
        seen_.insert(modes_);
        return true;
    }

  private:
    std::pair<std::vector<Touch>, std::vector<char>> modes_;
    std::set<std::pair<std::vector<Touch>, std::vector<char>>> seen_;
    bool one_at_a_time_ = false, again_ = false;
};

// solved: admissible modes were found; none: the corrections run in circles; unknown: it cannot be told
// whether forces are unique, or which of them are farthest inside their cones where the smallest ones leave these.
enum class Pivoted { solved, none, unknown };

// Modes corrected from those that are given, all at once at first and then one at a time, until no contact breaks the
// law; not singly: in few rounds, and all at once alone.
Pivoted pivot(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen, bool singly = true);

enum class Verdict { admissible, broken, unknown };

// Forces in given modes. Thorough: unknown, too, where Newton's method finds the slip directions of several contacts
// not, which Python looks for in other ways; the forces where one contact has none are any.
Verdict in_modes(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen, bool thorough);

// The same, thorough; where modes are broken, those of the contacts that break the law are put right, or of the worst
// alone.
Verdict correct(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen, bool worst_alone);

// The least distance of the force of a closed contact from the edge of its cone, negative outside.
double margin_of(const ContactProblem& problem, const Chosen& chosen);

// Forces (rows,) after some sweeps over all contacts, in place; false where the block of a contact is singular.
bool sweep(const ContactProblem& problem, const PivotRules& rules, int rounds, std::vector<double>& forces);

}  // namespace native
