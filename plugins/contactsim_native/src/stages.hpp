// The stages of an explicit Runge-Kutta step in a chart, with the robot's own joint controller.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "charts.hpp"
#include "contact_mode.hpp"
#include "dense.hpp"

namespace native {

// A reference in polynomials of s, from -1 to 1 between two knots; at rest before the first knot and after the last
// one, or repeating from the knot `again`.
struct Pieces {
    std::vector<double> knots, coefficients;  // (n + 1,) and (n, width, size)
    int width, nq, nv, again;                 // size = nq + 2 nv: q_ref, v_ref, tau_ff

    void at(double t, double* reference) const;
};

// tau = kp (q_ref (-) q) + kd (v_ref - v) + tau_ff of joints whose coordinates add up or turn without end.
struct JointGains {
    std::vector<double> reference, kp, kd, driven;
    std::vector<int> joints;                      // of a positive kp
    std::function<void(double, double*)> moving;  // (t, (q_ref, v_ref, tau_ff)); empty: the reference stands still
    bool calls_back = false;                      // whether that asks Python
};

// References at the last times that were asked for: stages, guards and the next step ask for some of them again.
struct Known {
    static constexpr int SLOTS = 4;
    std::array<double, SLOTS> times = {NAN, NAN, NAN, NAN};
    std::array<std::vector<double>, SLOTS> values;
    int next = 0;
};

// What drives the robot at (t, x): applied forces (nv,) and the rates of its memory (memory,).
using Callback = std::function<void(double, const double*, double*, double*)>;

struct Drive {
    std::optional<JointGains> gains;
    int held_at = -1;          // where in a state the torques begin that are held; -1: none are
    std::vector<int> held_on;  // the velocities that they drive
    Callback callback;         // empty: gains, a held torque or nothing
    int memory = 0;            // numbers of a state behind (q, v)

    void at(const Robot& robot, double t, const double* x, double* force, double* rate, Known& known) const;

    // Whether that asks Python, which may go on to run something else.
    bool calls_back() const { return callback || (gains && gains->calls_back); }

    // Derivatives of the force by (q, v) and what is held, into zeros; not those of a callback.
    void by_state(const Robot& robot, Rows force) const;
};

// Where a call works: in the room that this thread keeps from call to call, or in one of its own where it calls Python
// back, in which another run may come to the same place.
template <typename Room>
class Workplace {
  public:
    explicit Workplace(const Drive& drive) : room_(drive.calls_back() ? own_.emplace() : kept()) {}
    Workplace(const Workplace&) = delete;
    Room& room() { return room_; }

  private:
    std::optional<Room> own_;
    Room& room_;

    static Room& kept() {
        thread_local Room room;
        return room;
    }
};

struct Method {
    const double *a, *c;  // coefficients (width, width) and (width,)
    int width;
};

class Expansion;

// The point (n,) of one of its stages, y + h sum a_ij k_j.
void point_of_stage(const Method& method, int stage, int n, double h, const double* y, const double* k, double* at);

// Rates k[first..last) (n,) each of the stages y + h sum a_ij k_j, whose points go to `points`; those of an expansion,
// where there is one and it holds.
void run_stages(const Robot& robot, const ContactMode& mode, const References& references, const Drive& drive,
                const Method& method, const double* base, double t, double h, const double* y, double* k,
                double* points, int first, int last, Known& known, Expansion* expansion = nullptr);

}  // namespace native
