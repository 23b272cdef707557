// Small linear programs over second-order cones, by an interior-point method.
#pragma once

#include <vector>

namespace native {

// Minimise c^T x where s = h - G x lies in the cones, one behind the other: s_0 >= |(s_1, ...)|, or s_0 >= 0 where a
// cone has one number alone.
struct ConeProgram {
    std::vector<int> sizes;                   // numbers of each cone
    std::vector<double> cost, matrix, right;  // c (n,), G (m, n) row by row, h (m,)
};

// The minimiser, in place of an x (n,) whose s lies inside all cones; false where none is proved to `accuracy`, of c^T
// x by the dual point that comes with it.
bool minimise(const ConeProgram& program, double accuracy, std::vector<double>& x);

}  // namespace native
