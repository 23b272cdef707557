// The equations of motion of a mode while slips come to their stop, expanded to first order around where that begins:
// friction turns with the slips within a fraction of a microsecond there, and the robot hardly moves meanwhile.
#pragma once

#include "contact_mode.hpp"
#include "dense.hpp"

namespace native {

struct Drive;
struct Known;

// Thresholds of contactsim's contact_dynamics/expanded_arc.py.
struct Expanding {
    double longer;                  // times its duration up to which an expansion may be asked
    double probe_time, probe_turn;  // shares of duration and turn at which it is held to the truth
    double least_turn;              // share of the largest turn of a slip with which any of them is turned
    double middle;                  // share of the duration for which a change of velocity that grows evenly has acted
    int turns;                      // coordinates of slips that are free to turn, each of which costs a look
};

// A state in a mode of a robot whose drive has no memory, and the acceleration there.
struct Origin {
    const Robot& robot;
    const ContactMode& mode;
    const Drive& drive;
    Known& known;  // references of the drive
    double t;
    const double *x, *acceleration;
    const Scratch* laid;  // with the rows of the closed contacts there; null: they are not laid
};

// The motion in which all rows but those of slips are held, and what each force of a slip adds to that,
//
//     a = u + W f,    lam_held = p + P f,    f_i = lam_i (n_i - mu_i s_i),    N f + c = 0,
//
// f (3 slips,) along normal and tangents, s_i the slip directions, N f + c the normal accelerations of what slips. The
// numbers in u, W, N, c, p, P and in the rows of all contacts are polynomials of the time on the path of constant
// acceleration a_0, and of what the free slips leave that path by:
//
//     K(t, v) = K_0 + K_1 s + K_2 s^2 + sum_j L_j c_j,    s = (t - t_0) / h,    c = J_t (v - v_0 - a_0 (t - t_0)).
class Expansion {
  public:
    // Around a state for a time [s]; false where it would miss velocities by more than `accuracy` at its end. No forces
    // of the mode are redundant, none of its slips begins, and one of them at least has a direction of its own.
    bool make(const Origin& origin, const References& references, const Expanding& rules, double duration,
              double accuracy);

    // Whether it speaks of a time [s].
    bool holds(double t) const { return t0_ <= t && t <= last_; }

    // Evaluations of the equations of motion that it took.
    int evaluations() const { return 4 + free_; }

    // Acceleration (nv,) at a time and a velocity; false where friction leaves no regular system.
    bool accelerate(const References& references, double t, const double* v, double* acceleration);

    // The same with contact velocities and forces (rows,), accelerations along the rows (rows,), and what friction
    // leaves of the determinant of the closed contacts.
    bool tell(const References& references, double t, const double* v, double* acceleration, Forces& told,
              std::vector<double>& change, double& regularity);

    // Velocities of one closed contact (its rows,) alone, at a time and a velocity (nv,).
    void slip_rates(int contact, double t, const double* v, double* rates);

    // Whether it misses an acceleration or contact velocities by more than its accuracy.
    bool is_off(const References& references, double t, const double* v, const double* acceleration,
                const std::vector<double>& rates);

  private:
    // Where numbers of a look begin: u, W by rows (3 slips, nv), tangents (2 slips, nv), N (slips, 3 slips) and c,
    // which the motion needs; from `motion` on p and P by rows (1 + 3 slips, held), the rows (rows, nv) and J' v.
    struct Places {
        int pushed, tangents, along, bias, motion, held, rows, drift, all;
    };

    const ContactMode* mode_ = nullptr;
    int nv_ = 0, rows_ = 0, slips_ = 0, free_ = 0;  // free_: tangents of slips that have a direction of their own
    std::vector<int> slipping_;                     // contacts that slip under friction
    std::vector<int> held_, pushed_;                // rows of the others that are held, and all rows of these
    std::vector<std::vector<int>> moving_;          // velocities at which each row has numbers, rising
    std::vector<Tips> tips_;                        // the outermost of these
    std::vector<int> turning_;                      // tangents, of the latter, of slips that have their own direction
    Places at_{};
    double t0_ = 0.0, last_ = 0.0, duration_ = 0.0, accuracy_ = 0.0;
    std::vector<double> v_, acceleration_, leaving_;  // v_0, a_0 (nv,), J_t (free, nv)
    Matrix parts_, now_;                              // K_0, K_1, K_2 and L_j (3 + free, .); K (1, .)
    std::vector<double> weights_;
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

    // A state at a share of the duration into x_, with a change (nv,) of the velocity that grew evenly; its time.
    double place(const Origin& origin, const Expanding& rules, double share, const double* change);

    // The forces that act there, into applied_.
    void drive(const Origin& origin, double t);

    // M^-1 times a row (nv,), where rows were laid.
    static void mobility(const Robot& robot, const Scratch& laid, int row, const Tips& tips, double* out);

    // The numbers there; false where there are none.
    bool look(const Origin& origin, const Expanding& rules, double share, const double* change, double* numbers);

    // The same where the expansion begins.
    bool look_here(const Origin& origin, const Expanding& rules, double* numbers);

    // The same where rows were laid, under the forces that were found.
    bool gather(const Robot& robot, const Scratch& laid, double* numbers);

    // Changes (free, nv) of the velocity of which each changes one free slip by one, and nothing that is held.
    bool ways(const double* numbers, std::vector<double>& found);

    // The shares of K_0, K_1, K_2 and each L_j at a time and a velocity, into weights_.
    void weigh(double t, const double* v);

    // The first of the numbers at a time and a velocity, into now_.
    void blend(double t, const double* v, int count);

    // The forces of slips by what was blended, and the acceleration; the determinant of their system is told.
    bool solve(const References& references, const double* v, double* acceleration, double& determinant);
};

}  // namespace native
