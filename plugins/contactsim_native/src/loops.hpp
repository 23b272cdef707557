// Closed loops: what keeps points of bodies together, or joints in proportion, while contacts act.
#pragma once

#include <vector>

#include "dense.hpp"
#include "robot.hpp"

namespace native {

// The loops at one state: C v is the rate at which they open, C a + drift the second one. See contactsim's
// multibody/kinematics/closed_loops.py: H = M^-1 C^T Q, Q = (C M^-1 C^T)^+.
struct Hold {
    std::vector<double> rows, lift;        // C and H^T (m, nv)
    std::vector<std::vector<int>> places;  // of the numbers of each row of C that are not zero
    std::vector<double> speed, drift;      // C v and C' v (m,)
    std::vector<double> solved, matrix;    // M^-1 C^T as rows, and C M^-1 C^T
    std::vector<double> values, vectors;   // of that, where its rows depend on each other
    int none = 0;                          // of these values do not count; -1: all rows do, and none were asked for
    Matrix system, answers;

    // At a state that has been swept, M factorised; false where the loops are not finite there.
    bool at(const Robot& robot, const Sweep& sweep, const double* v);
    // What is left of an acceleration when the loops have taken up their part: a - H (C a + drift).
    void keep(const Robot& robot, double* acceleration) const;
    // Rows (nv,) of a contact, with velocity and bias, along the motions that keep the loops closed.
    void reduce(const Robot& robot, double* row, double& rate, double& bias) const;
    // A motion -H e that undoes rates or errors e (m,).
    void undo(const Robot& robot, const double* off, double* motion) const;
    // B = Q B in place, B (m, columns), columns a multiple of LANES.
    void invert(Rows b, int columns);

  private:
    double along(int row, const double* motion, int nv) const;  // C_i v
    void lay(const Robot& robot, const Sweep& sweep);
    void begin_lift(int nv, int m);    // M^-1 C^T into `answers`, of which H^T is made there
    bool lift_regular(int nv, int m);  // where all rows count; false where they depend on each other
    bool solve_regular(Rows b, int columns, int m);
    void lift_ranked(const Loops& loops, int nv);
};

// How far the loops are open (m,), and how fast they open, where joints' places and velocities are known.
void openings(const Robot& robot, const Sweep& sweep, const double* q, std::vector<double>& found);
void opening_speeds(const Robot& robot, const Sweep& sweep, const double* v, std::vector<double>& found);

// Eigenvalues (n,), rising, of a symmetric matrix (n, n), which is lost, and its eigenvectors as rows in `vectors`, by
// Jacobi's rotations.
void decompose(std::vector<double>& matrix, int n, std::vector<double>& values, std::vector<double>& vectors);

}  // namespace native
