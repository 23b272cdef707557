// Forces of redundant contacts on plain arrays: among many that do the same, those farthest inside their cones, and the
// smallest ones within these. As contactsim's contact/redundant_forces.py.
#pragma once

#include <optional>
#include <vector>

namespace native {

using Vectors = std::vector<std::vector<double>>;

// The cone of a closed contact: its normal force stands in row `normal`, the friction that it bounds in the `width`
// rows behind that; none of a contact that slips.
struct ForceCone {
    int normal, width;
    double friction;
};

struct ForceRules {
    double outside = 0.0;         // of its cone by which a force counts as in it, relative to the largest
    double residual = 0.0;        // up to which there are no forces within all cones
    double accuracy = 0.0;        // of cone programs
    double smallest_force = 0.0;  // scale of forces that are all zero
    double settled = 0.0;         // the last step towards the smallest forces, relative to these
    double apart = 0.0;           // of two directions on the unit circle: planes that touch a cone there differ
    int steps = 0;                // towards the smallest forces, at most
};

// A force a . y + b.
struct ForceRow {
    std::vector<double> a;
    double b;
    double at(const std::vector<double>& y) const;
};

// What forces are divided by, so that a program is one of numbers of about one.
double scale_of(const std::vector<ForceCone>& cones, const ForceRules& rules, const std::vector<double>& forces);

// Row `row` of factor (forces + sum_j y_j moves_j), forces of unit size.
ForceRow row_of(const Vectors& moves, const std::vector<double>& forces, double scale, int row, double factor);

// The least distance of a force from the edge of its cone, negative outside; infinite without cones.
double least_margin(const std::vector<ForceCone>& cones, const std::vector<double>& forces);

// y (p,) for which forces + sum_j y_j moves_j have the largest least margin; none where that is not told.
std::optional<std::vector<double>> farthest_inside(const std::vector<ForceCone>& cones, const Vectors& moves,
                                                   const ForceRules& rules, const std::vector<double>& forces);

// The smallest y (p,) for which forces + sum_j y_j moves_j lie in their cones; none where no forces do.
std::optional<std::vector<double>> smallest_inside(const std::vector<ForceCone>& cones, const Vectors& moves,
                                                   const ForceRules& rules, const std::vector<double>& forces);

// forces += sum_j y_j moves_j.
void add_moves(std::vector<double>& forces, const Vectors& moves, const std::vector<double>& y);

}  // namespace native
