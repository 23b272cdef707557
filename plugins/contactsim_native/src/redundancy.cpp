#include "redundancy.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "force_cones.hpp"

namespace native {

namespace {

using Vector = std::vector<double>;

constexpr double UNFIT = -INFINITY;  // margin of forces that are not told

// One island of a mode at a state: its cones, and what its forces may change by.
class Choice {
  public:
    Choice(const Robot& robot, const ContactMode& mode, const Scratch& scratch, const Island& island)
        : robot_(robot), mode_(mode), s_(scratch), island_(island) {
        int place = 0;
        for (std::size_t i = 0, k = 0; i < mode.closed.size(); ++i) {
            const Closed& closed = mode.closed[i];
            const int stuck = stuck_rows(mode, closed);
            if (k < island.rows.size() && island.rows[k] == place) {
                const bool rubs = closed.state == State::stick && stuck > 1;
                cones_.push_back({mode.first[i], rubs ? stuck - 1 : 0, rubs ? closed.resting : 0.0});
                slips_ = slips_ || native::slides(closed);
                contacts_.push_back(static_cast<int>(i));
                k += stuck;
            }
            place += stuck;
        }
    }

    bool slips() const { return slips_; }
    double margin(const Vector& forces) const { return least_margin(cones_, forces); }

    // Changes of the unknowns that keep the held rows still; and of all forces by each.
    const Vectors& changes() const { return island_.smallest.null(); }

    Vectors moves_of(const Vectors& changes) const {
        Vectors moves(changes.size(), Vector(mode_.rows, 0.0));
        for (std::size_t j = 0; j < changes.size(); ++j) expand(changes[j], moves[j]);
        return moves;
    }

    // Whether some of the changes move the contacts that slip: then the motion is a choice. None where that is not
    // clear.
    std::optional<bool> moves() const {
        const Ranks& ranks = mode_.redundant->ranks;
        double largest = 0.0, usual = 0.0;
        for (const Vector& change : changes()) largest = std::max(largest, pushed(change));
        for (const int row : island_.rows) usual = std::max(usual, pushed_by(row));
        if (largest > ranks.clear * usual) return true;
        if (largest > ranks.still * usual) return std::nullopt;
        return false;
    }

    // Takes the smallest of all changes with which the forces keep to their cones, or break them least; false where
    // that is not told.
    bool keep_to_cones(const ForceRules& rules, const Vector& forces, Vector& unknown) const {
        const Vectors moves = moves_of(changes());
        auto y = smallest_inside(cones_, moves, rules, forces);
        if (!y) y = farthest_inside(cones_, moves, rules, forces);
        if (!y) return false;
        for (std::size_t j = 0; j < y->size(); ++j) {
            for (std::size_t k = 0; k < island_.rows.size(); ++k) unknown[island_.rows[k]] += (*y)[j] * changes()[j][k];
        }
        return true;
    }

    // Forces farthest inside; false where that is not told.
    bool move_inside(const ForceRules& rules, Vector& forces) const {
        const Vectors moves = moves_of(changes());
        const auto y = farthest_inside(cones_, moves, rules, forces);
        if (y) add_moves(forces, moves, *y);
        return y.has_value();
    }

  private:
    const Robot& robot_;
    const ContactMode& mode_;
    const Scratch& s_;
    const Island& island_;
    std::vector<ForceCone> cones_;
    std::vector<int> contacts_;
    bool slips_ = false;

    // All forces of unknowns of the island.
    void expand(const Vector& unknown, Vector& forces) const {
        std::size_t k = 0;
        for (const int i : contacts_) {
            const Closed& closed = mode_.closed[i];
            const int stuck = stuck_rows(mode_, closed), first = mode_.first[i];
            for (int d = 0; d < stuck; ++d) forces[first + d] = unknown[k + d];
            for (int d = 1; d < rows_of(mode_, closed) && native::slides(closed); ++d) {
                forces[first + d] = -closed.friction * unknown[k] * s_.slip[i][d - 1];
            }
            k += stuck;
        }
    }

    // The acceleration that unknowns cause: the length of D^-1/2 L^-T of what they push, in the metric of M = L^T D L.
    double pushed(const Vector& unknown) const {
        Vector found(robot_.nv, 0.0);
        for (std::size_t k = 0; k < island_.rows.size(); ++k) {
            const double* own = &s_.inwards[island_.rows[k] * robot_.nv];
            for (Tips at = s_.tips[island_.rows[k]]; at.outermost() >= 0; at.go_inwards(robot_)) {
                found[at.outermost()] += unknown[k] * own[at.outermost()];
            }
        }
        double square = 0.0;
        for (int i = 0; i < robot_.nv; ++i) square += found[i] == 0.0 ? 0.0 : weighed_square(found[i], i);
        return std::sqrt(square);
    }

    // The same of a unit of one unknown.
    double pushed_by(int row) const {
        const double* own = &s_.inwards[row * robot_.nv];
        double square = 0.0;
        for (Tips at = s_.tips[row]; at.outermost() >= 0; at.go_inwards(robot_)) {
            square += weighed_square(own[at.outermost()], at.outermost());
        }
        return std::sqrt(square);
    }

    double weighed_square(double push, int velocity) const {
        return push * push / s_.sweep.mass[robot_.branches.diagonal(velocity)];
    }
};

// Forces along all rows of the mode, from those along the held ones.
Vector all_forces(const ContactMode& mode, const Scratch& s) {
    Vector forces(mode.rows, 0.0);
    for (std::size_t i = 0, place = 0; i < mode.closed.size(); ++i) {
        const Closed& closed = mode.closed[i];
        const int stuck = stuck_rows(mode, closed), first = mode.first[i];
        std::copy_n(&s.unknown[place], stuck, &forces[first]);
        for (int d = 1; d < rows_of(mode, closed) && slides(closed); ++d) {
            forces[first + d] = -closed.friction * s.unknown[place] * s.slip[i][d - 1];
        }
        place += stuck;
    }
    return forces;
}

// The least margin of an island, or the largest that its forces may have where that is as good as none.
double widest(const Choice& choice, const ForceRules& rules, double rounding, Vector forces) {
    const double margin = choice.margin(forces);
    if (margin >= rounding || choice.changes().empty()) return margin;
    return choice.move_inside(rules, forces) ? choice.margin(forces) : UNFIT;
}

// The smallest forces of an island in place of what its rows have to stop; false where it is not clear which they are.
bool solve_island(const Ranks& ranks, Island& island, Scratch& s) {
    const int n = static_cast<int>(island.rows.size()), size = static_cast<int>(s.unknown.size());
    Vector part(n * n), right(n);
    for (int i = 0; i < n; ++i) {
        right[i] = s.unknown[island.rows[i]];
        for (int j = 0; j < n; ++j) part[i * n + j] = s.matrix[island.rows[i] * size + island.rows[j]];
    }
    island.unique = island.factors.factorise(part, n, ranks.regular);
    if (!island.unique && !island.smallest.factorise(part, n, ranks.rank, ranks.clear)) return false;
    island.unique ? island.factors.solve(right.data()) : island.smallest.solve(right.data());
    for (int i = 0; i < n; ++i) s.unknown[island.rows[i]] = right[i];
    return true;
}

// Of the islands that are stale those take other forces than the smallest ones where contacts slip that these let leave
// their cones; false where it is not clear which.
bool keep_to_cones(const Robot& robot, const ContactMode& mode, Scratch& s) {
    const bool slips = std::any_of(mode.closed.begin(), mode.closed.end(), slides);  // else all forces move alike
    const Vector forces = slips ? all_forces(mode, s) : Vector();
    for (Island& island : s.islands) {
        if (!std::exchange(island.stale, false) || !slips) continue;
        island.chosen = false;
        if (island.unique) continue;
        const Choice choice(robot, mode, s, island);
        if (!choice.slips() || choice.margin(forces) >= 0.0) continue;
        const auto moves = choice.moves();
        if (!moves) return false;
        island.chosen = *moves;
        if (*moves && !choice.keep_to_cones(mode.redundant->forces, forces, s.unknown)) return false;
    }
    return true;
}

// Closed contacts of islands whose forces are not unique, in rising order.
std::vector<int> loose_contacts(const ContactMode& mode, const Scratch& s) {
    const std::vector<int> owner = owners(mode);
    std::vector<int> found;
    for (const Island& island : s.islands) {
        for (const int row : island.rows) {
            if (!island.unique) found.push_back(owner[row]);
        }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

}  // namespace

std::vector<int> owners(const ContactMode& mode) {
    std::vector<int> found;
    for (std::size_t i = 0; i < mode.closed.size(); ++i) {
        found.insert(found.end(), stuck_rows(mode, mode.closed[i]), static_cast<int>(i));
    }
    return found;
}

bool smallest_forces(const Ranks& ranks, const std::vector<int>& owner, Scratch& s) {
    s.islands.clear();
    for (std::vector<int>& rows : sets_of_rows(s.matrix, static_cast<int>(owner.size()), owner)) {
        s.islands.emplace_back().rows = std::move(rows);
    }
    return std::all_of(s.islands.begin(), s.islands.end(), [&](Island& one) { return solve_island(ranks, one, s); });
}

bool solve_redundant(const Robot& robot, const ContactMode& mode, Scratch& s) {
    return smallest_forces(mode.redundant->ranks, owners(mode), s) && keep_to_cones(robot, mode, s);
}

bool solve_stale_islands(const Robot& robot, const ContactMode& mode, Scratch& s) {
    for (Island& island : s.islands) {
        if (island.stale && !solve_island(mode.redundant->ranks, island, s)) return false;
    }
    return keep_to_cones(robot, mode, s);
}

bool tell_redundant(const Robot& robot, const ContactMode& mode, Scratch& s, Forces& told) {
    const ForceRules& rules = mode.redundant->forces;
    told.forces = all_forces(mode, s), told.margin = INFINITY, told.loose = loose_contacts(mode, s);
    bool slips = false;
    for (const Island& island : s.islands) {
        const Choice choice(robot, mode, s, island);
        slips = slips || choice.slips();
        if (island.unique || choice.margin(told.forces) >= 0.0) continue;
        const auto moves = choice.moves();
        if (!moves || (!*moves && !choice.move_inside(rules, told.forces))) return false;
    }
    const double rounding = mode.redundant->tolerance * std::max(mode.redundant->nothing, largest_of(told.forces));
    for (const Island& island : s.islands) {
        const Choice choice(robot, mode, s, island);
        const bool alone = island.unique || !slips;
        const double margin = alone ? choice.margin(told.forces) : widest(choice, rules, rounding, told.forces);
        if (margin == UNFIT) return false;
        told.margin = std::min(told.margin, margin);
    }
    return true;
}

bool is_chosen(const Scratch& s, int row) {
    return std::any_of(s.islands.begin(), s.islands.end(), [&](const Island& island) {
        return island.chosen && std::find(island.rows.begin(), island.rows.end(), row) != island.rows.end();
    });
}

bool solve_changes(const Robot& robot, const ContactMode& mode, const Scratch& s, Rows unknown, int columns) {
    const Vector forces = all_forces(mode, s);
    for (const Island& island : s.islands) {
        if (island.unique) continue;
        const Choice choice(robot, mode, s, island);
        const auto moves = choice.moves();
        if (!moves || *moves || (choice.slips() && choice.margin(forces) < 0.0)) return false;
    }
    for (const Island& island : s.islands) {
        Vector column(island.rows.size());
        for (int j = 0; j < columns; ++j) {
            for (std::size_t k = 0; k < column.size(); ++k) column[k] = unknown[island.rows[k]][j];
            island.unique ? island.factors.solve(column.data()) : island.smallest.solve(column.data());
            for (std::size_t k = 0; k < column.size(); ++k) unknown[island.rows[k]][j] = column[k];
        }
    }
    return true;
}

}  // namespace native
