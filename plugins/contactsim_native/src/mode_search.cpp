#include "mode_search.hpp"

#include <algorithm>
#include <cmath>

#include "linear.hpp"

namespace native {

namespace {

// Length of the tangential part of what has a number a row.
double along_ground(const ContactProblem& problem, int i, const std::vector<double>& rows) {
    const double* own = &rows[problem.first[i]];
    const int width = problem.width[i];
    return width == 0 ? 0.0 : width == 1 ? std::abs(own[1]) : std::hypot(own[1], own[2]);
}

// Modes that forces of moderate accuracy belong to: zero, inside the cone, or on its boundary.
Chosen modes_of(const ContactProblem& problem, const PivotRules& rules, const std::vector<double>& forces) {
    Chosen found;
    const double largest = std::max(rules.nothing, largest_of(forces));
    for (int i = 0; i < problem.count; ++i) {
        const double *own = &forces[problem.first[i]], size = along_ground(problem, i, forces);
        const bool within = size < problem.kinetic[i] * own[0] * (1.0 - rules.inside);
        Touch mode = own[0] <= rules.barely * largest ? Touch::open
                     : (!problem.slides[i] && within) ? Touch::stick
                                                      : Touch::slip;
        if (mode == Touch::slip && !problem.width[i]) mode = Touch::stick;
        const bool directed = mode == Touch::slip && size > 0.0;
        found.modes.push_back(mode), found.directed.push_back(directed);
        found.directions.push_back({0.0, 0.0});
        for (int d = 0; d < problem.width[i] && directed; ++d) found.directions[i][d] = -own[1 + d] / size;
    }
    return found;
}

// Modes by which of two is farther from zero, each relative to the largest of its kind: the normal force and the normal
// motion, then the margin of the cone and the motion along the ground, one of which vanishes in a solution.
Chosen modes_by_contrast(const ContactProblem& problem, const PivotRules& rules, const std::vector<double>& forces) {
    Chosen found;
    std::vector<double> w;
    problem.motion(forces, w);
    const double speed = problem.speed(rules.nothing);
    const double largest = std::max(rules.nothing, largest_of(forces));
    for (int i = 0; i < problem.count; ++i) {
        const int n = problem.first[i];
        const double moved = along_ground(problem, i, w);
        const double inside = problem.kinetic[i] * forces[n] - along_ground(problem, i, forces);
        Touch mode = problem.slides[i] ? Touch::slip : Touch::stick;
        if (forces[n] / largest < w[n] / speed) {
            mode = Touch::open;
        } else if (mode == Touch::stick && problem.width[i] && !(inside / largest > moved / speed)) {
            mode = Touch::slip;
        }
        const bool directed = mode == Touch::slip && moved > 0.0;
        found.modes.push_back(mode), found.directed.push_back(directed);
        found.directions.push_back({0.0, 0.0});
        for (int d = 0; d < problem.width[i] && directed; ++d) found.directions[i][d] = w[n + 1 + d] / moved;
    }
    return found;
}

// Whether contacts may stick instead, in the modes into `stuck`.
Verdict sticking(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen,
                 const std::vector<int>& group, Chosen& stuck) {
    stuck = chosen;
    for (const int i : group) stuck.modes[i] = Touch::stick;
    return in_modes(problem, rules, stuck, true);
}

// Contacts that are said to be open, but do not move at all.
std::vector<int> open_without_motion(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen) {
    std::vector<double> w;
    problem.motion(chosen.forces, w);
    const double creep = rules.creep * problem.speed(rules.nothing);
    std::vector<int> found;
    for (int i = 0; i < problem.count; ++i) {
        if (chosen.modes[i] != Touch::open || problem.slides[i]) continue;
        double fastest = 0.0;
        for (int k = 0; k <= problem.width[i]; ++k) fastest = std::max(fastest, std::abs(w[problem.first[i] + k]));
        if (fastest <= creep) found.push_back(i);
    }
    return found;
}

// Whether contacts are clearly inside their cones, so that they are said to stick though they may slip.
bool has_margin(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen) {
    return margin_of(problem, chosen) > rules.clear * largest_of(chosen.forces);
}

// Sets of contacts that are tried to stick together, then one by one: those that slip without motion, and a body that
// is squeezed between some of the contacts that bear it.
std::vector<std::vector<int>> idle_groups(const ContactProblem& problem, const PivotRules& rules,
                                          const Chosen& chosen) {
    const std::vector<int> still = slips_without_motion(problem, rules, chosen);
    std::vector<std::vector<int>> groups;
    if (still.empty()) return groups;
    std::vector<int> squeezed = still;
    for (const int i : open_without_motion(problem, rules, chosen)) squeezed.push_back(i);
    if (squeezed.size() > still.size()) groups.push_back(squeezed);
    if (still.size() > 1) groups.push_back(still);
    for (const int i : still) groups.push_back({i});
    return groups;
}

// Whether all rows of the contacts can be moved apart from each other: then forces are the only ones in any modes.
bool is_regular(const ContactProblem& problem, const PivotRules& rules) {
    Factors factors;
    const std::vector<double> matrix(problem.delassus, problem.delassus + problem.rows * problem.rows);
    return factors.factorise(matrix, problem.rows, rules.regular);
}

// The solution with contacts put back to stick that may: between the two coefficients of friction both modes are
// admissible at rest, and the search may have passed through slip where the guess was to stick.
Pivoted held(const ContactProblem& problem, const PivotRules& rules, const std::vector<Touch>& guess, Chosen& chosen) {
    std::vector<int> slipping;
    for (int i = 0; i < problem.count; ++i) {
        if (chosen.modes[i] == Touch::slip && !problem.slides[i]) slipping.push_back(i);
    }
    Chosen stuck;
    std::vector<std::vector<int>> groups = idle_groups(problem, rules, chosen);
    if (!groups.empty() && is_regular(problem, rules)) groups.clear();  // what sticks would be the only solution
    for (const std::vector<int>& group : groups) {
        const Verdict verdict = sticking(problem, rules, chosen, group, stuck);
        if (verdict == Verdict::unknown) return Pivoted::unknown;
        if (verdict == Verdict::admissible && !stuck.unique && has_margin(problem, rules, stuck)) chosen = stuck;
    }
    for (const int i : slipping) {
        if (guess[i] != Touch::stick || problem.static_[i] == problem.kinetic[i]) continue;
        const Verdict verdict = sticking(problem, rules, chosen, {i}, stuck);
        if (verdict == Verdict::unknown) return Pivoted::unknown;
        if (verdict == Verdict::admissible) chosen = stuck;
    }
    return Pivoted::solved;
}

}  // namespace

Pivoted search(const ContactProblem& problem, const PivotRules& rules, Chosen& chosen) {
    const std::vector<Touch> guess = chosen.modes;
    Pivoted found = pivot(problem, rules, chosen, problem.count <= rules.singly || !problem.given.empty());
    std::vector<double> forces(problem.rows, 0.0);
    for (const int sweeps : rules.sweeps) {
        if (found != Pivoted::none || !problem.given.empty()) break;
        if (!sweep(problem, rules, sweeps, forces)) return Pivoted::unknown;
        for (const auto& modes : {modes_of, modes_by_contrast}) {
            if (found != Pivoted::none) break;
            chosen = modes(problem, rules, forces);
            found = pivot(problem, rules, chosen);
        }
    }
    if (found != Pivoted::solved) return Pivoted::unknown;
    return held(problem, rules, guess, chosen);
}

std::vector<int> slips_without_motion(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen) {
    std::vector<double> w;
    problem.motion(chosen.forces, w);
    const double creep = rules.creep * problem.speed(rules.nothing);
    std::vector<int> found;
    for (int i = 0; i < problem.count; ++i) {
        const bool begins = chosen.modes[i] == Touch::slip && !problem.slides[i];
        if (begins && along_ground(problem, i, w) <= creep) found.push_back(i);
    }
    return found;
}

bool has_idle_slips(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen) {
    return !chosen.unique && !slips_without_motion(problem, rules, chosen).empty();
}

Residuals residuals(const ContactProblem& problem, const PivotRules& rules, const Chosen& chosen,
                    const std::vector<double>& rebound) {
    Residuals worst;
    std::vector<double> w;
    problem.motion(chosen.forces, w);
    const double speed = problem.speed(rules.nothing);
    double scale = std::max(rules.nothing, largest_of(chosen.forces));
    for (const double force : problem.given) scale = std::max(scale, force);
    for (int i = 0; i < problem.count; ++i) {
        const int n = problem.first[i], width = problem.width[i];
        if (std::isinf(problem.slack[i])) continue;
        const double force = chosen.forces[n] / scale, free = force - problem.least(i) / scale;
        const double leaves = (w[n] - (rebound.empty() ? 0.0 : rebound[i])) / speed;
        worst.signorini = std::max({worst.signorini, -leaves, -free, std::min(std::abs(leaves), std::abs(free))});
        if (!width) continue;
        const double mu = chosen.modes[i] == Touch::stick ? problem.static_[i] : problem.kinetic[i];
        worst.cone = std::max(worst.cone, along_ground(problem, i, chosen.forces) / scale - mu * force);
        if (chosen.modes[i] == Touch::stick) {
            worst.friction = std::max(worst.friction, along_ground(problem, i, w) / speed);
        } else if (chosen.modes[i] == Touch::slip) {
            const double moved = along_ground(problem, i, w) / speed;
            double off = 0.0, aside = 0.0;
            for (int d = 0; d < width; ++d) {
                const double slip = chosen.directions[i][d];
                off = std::hypot(off, chosen.forces[n + 1 + d] / scale + mu * force * slip);
                aside = std::hypot(aside, w[n + 1 + d] / speed - moved * slip);
            }
            worst.friction = std::max({worst.friction, off, problem.slides[i] ? 0.0 : aside});
        }
    }
    return worst;
}

}  // namespace native
