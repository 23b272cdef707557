// The equations of motion of a mode while slips come to their stop, expanded around where that begins: friction turns
// with the slips within a fraction of a microsecond there, and the robot hardly moves meanwhile.
#pragma once

#include "contact_mode.hpp"
#include "dense.hpp"

namespace native {

struct Drive;
struct Known;

// Thresholds of contactsim's contact_dynamics/expanded_arc.py.
struct Expanding {
    double longer;          // times its duration up to which an expansion may be asked
    double probe;           // share of it at which it is held to the truth
    int steps;              // in which it leads there
    double least_turn;      // share of the largest turn of a slip with which any of them is turned
    double middle;          // share of a time for which a change of velocity that grows evenly has acted
    double order;           // in the duration, by which velocities miss less where it is shorter
    double foreseen;        // share that is missed of the second order in the change of the acceleration
    double shorter, least;  // largest and least share of a duration that is tried after it
};

// A state in a mode of a robot whose drive has no memory, and the acceleration there.
struct Origin {
    const Robot& robot;
    const ContactMode& mode;
    const Drive& drive;
    Known& known;  // references of the drive
    double t;
    const double *x, *acceleration;
};

// The motion in which all rows but those of slips are held, and what each force of a slip adds to that,
//
//     a = u + W f,    lam_held = p + P f,    f_i = lam_i (n_i - mu_i s_i),    N f + c = 0,
//
// f (3 slips,) along normal and tangents, s_i the slip directions, N f + c the normal accelerations of what slips. The
// numbers in u, W, N, c, p, P and in the rows of all contacts are polynomials of the time on the path of an
// acceleration that changes evenly from a_0 on, v_p = v_0 + a_0 tau + b tau^2 / 2, tau = t - t_0, and of what free
// slips leave it by:
//
//     K(t, x) = K_0 + K_1 s + K_2 s^2 + sum_j (L_j c_j + N_j d_j),  s = tau / h,  c = J_t (v - v_p),  d = J_t (q -
//     q_p).
class Expansion {
  public:
    // Around a state for a time [s]; false where it would miss velocities by more than `accuracy` at its end. No forces
    // of the mode are redundant, none of its slips begins, and one of them at least has a direction of its own. Told is
    // the duration for which one may hold where it does not.
    bool make(const Origin& origin, const References& references, const Expanding& rules, double duration,
              double accuracy, double& shorter);

    // Whether it speaks of a time [s].
    bool holds(double t) const { return t0_ <= t && t <= last_; }

    // Evaluations of the equations of motion that it took.
    int evaluations() const { return 5 + 2 * free_; }

    // Acceleration (nv,) at a time and a state; false where friction leaves no regular system.
    bool accelerate(const References& references, double t, const double* x, double* acceleration);

    // The same with contact velocities and forces (rows,), accelerations along the rows (rows,), and what friction
    // leaves of the determinant of the closed contacts.
    bool tell(const References& references, double t, const double* x, double* acceleration, Forces& told,
              std::vector<double>& change, double& regularity);

    // Whether it misses the accelerations or the contact velocities at a state by more than its accuracy.
    bool is_off(const References& references, double t, const double* x, const double* acceleration,
                const std::vector<double>& rates);

  private:
    // Where numbers of a look begin: u, W by rows (3 slips, nv), tangents (2 slips, nv), N (slips, 3 slips) and c,
    // which the motion needs; from `motion` on p and P by rows (1 + 3 slips, held), the rows (rows, nv) and J' v.
    struct Places {
        int pushed, tangents, along, bias, motion, held, rows, drift, all;
    };

    const Robot* robot_ = nullptr;
    const ContactMode* mode_ = nullptr;
    int nv_ = 0, rows_ = 0, slips_ = 0, free_ = 0;  // free_: tangents of slips that have a direction of their own
    std::vector<int> slipping_;                     // contacts that slip under friction
    std::vector<int> held_, pushed_;                // rows of the others that are held, and all rows of these
    std::vector<std::vector<int>> moving_;          // velocities at which each row has numbers, rising
    std::vector<int> turning_;                      // tangents, of the latter, of slips that have their own direction
    Places at_{};
    double t0_ = 0.0, last_ = 0.0, duration_ = 0.0, accuracy_ = 0.0, middle_ = 0.0;
    std::vector<double> start_, acceleration_, jerk_, leaving_;  // x_0; a_0, b (nv,), J_t (free, nv)
    Matrix parts_, now_;                                         // K_0, K_1, K_2, L_j and N_j (3 + 2 free, .); K (1, .)
    std::vector<double> weights_, on_, way_;
    std::vector<std::array<double, 2>> slip_;
    std::vector<double> matrix_, normal_, force_;  // of the slips
    // Of looks.
    Scratch scratch_;
    std::vector<double> x_, applied_, solved_;
    Matrix system_, answers_;
    // Of comparisons.
    Forces told_;
    std::vector<double> found_, change_;

    void lay_out(const Robot& robot, const ContactMode& mode);

    // The state on the path some time after its begin, off it by a change of velocity and a shift (nv,).
    void place(double since, const double* change, const double* shift, std::vector<double>& x);

    // The forces that act there, into applied_.
    void drive(const Origin& origin, double t);

    // The numbers at a share of the duration, off the path by a change and a shift; false where there are none.
    bool look(const Origin& origin, double share, const double* change, const double* shift, double* numbers);

    // The bend of the path: a mode in which slips do not turn comes to the acceleration at its end; false where it has
    // none. Told is what an expansion around it is foreseen to miss.
    bool bend(const Origin& origin, const References& references, const Expanding& rules, double& foreseen);

    // What slips and what they have moved add to the numbers, line by line; false where they cannot be told apart.
    bool lines(const Origin& origin, const Expanding& rules);

    // The state to which it leads at the share where it is held to the truth, into x_; false where it does not.
    bool follow(const References& references, const Expanding& rules);

    // By what it misses velocities within its duration, by accelerations or contact velocities at a state.
    double missed(const References& references, double t, const double* x, const double* acceleration,
                  const std::vector<double>& rates);

    // Changes (free, nv) of the velocity of which each changes one free slip by one, and nothing that is held.
    bool ways(const double* numbers, std::vector<double>& found);

    // The first of the numbers at a time and a state, into now_.
    void blend(double t, const double* x, int count);

    // The directions of slips by some numbers and a velocity (nv,).
    void direct(const References& references, const double* numbers, const double* v);

    // The forces of slips in these directions, and the acceleration; the determinant of their system is told.
    bool solve(const double* numbers, double* acceleration, double& determinant);
};

}  // namespace native
