// One call of `cruise`: steps, the guards within them, and where the first of these fires.
#pragma once

#include <limits>

#include "acceleration_derivatives.hpp"
#include "cruise.hpp"

namespace native {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

inline double spacing(double t) {
    return std::abs(std::nextafter(t, INFINITE) - t);
}

// A step that the method took: x(t) = base (+) y(t) from t0 to t1.
struct Step {
    double t0, t1, miss;
    double until;                    // end of its polynomial; t1 is earlier where a guard cut it
    std::vector<double> start, end;  // states
    std::vector<double> y, parts;    // chart coordinates at its start, and its dense output (7, n)
    std::vector<double> guards;      // at its end
};

// A guard that fires within a step: the bracket of its zero, and the level it falls to.
struct Crossing {
    int guard;
    double before, after, level;
};

// What a step shows of its guards: none fires, some fall, its interpolant does not tell whether one is below zero at
// the bottom of a dip, or contactsim's Watch has to look.
enum class Shown { clear, falls, bottom, unknown };

class Voyage {
  public:
    Voyage(const Arc& arc, const Dop853& method, const Thresholds& thresholds, Course& course, CruiseRoom& room)
        : arc_(arc),
          robot_(arc.robot),
          method_(method),
          rules_(thresholds),
          course_(course),
          n_(2 * arc.robot.nv + arc.drive.memory),
          size_(arc.robot.nq + arc.robot.nv + arc.drive.memory),
          ng_(static_cast<int>(arc.guards.all.size())),
          k_(Dop853::ALL * n_),
          points_(Dop853::ALL * n_),
          base_(size_),
          room_(room.ends),
          aside_(room.within),
          chart_(*this, room.derivative),
          expansion_(room.expansion) {
        std::copy(course.base, course.base + size_, base_.begin());
        step_.start.resize(size_), step_.end.resize(size_), step_.y.resize(n_), step_.guards.resize(ng_);
        step_.parts.resize(Dop853::PARTS * n_), loose_.assign(ng_, 0);
        for (const Closed& closed : arc.mode.closed) {
            free_ = free_ || slips_freely(closed);
            begins_ = begins_ || closed.state == State::slip_begins;
        }
        for (int g = 0; g < ng_; ++g) {
            if (arc.guards.all[g].kind == GuardKind::slow) following_.push_back(g);
        }
        watches_motion_ = arc.guards.of_motion();
    }
    Voyage(const Voyage&) = delete;
    ~Voyage() { room_.expansion = nullptr; }

    void run();

  private:
    const Arc& arc_;
    const Robot& robot_;
    const Dop853& method_;
    const Thresholds& rules_;
    Course& course_;
    const int n_, size_, ng_;
    std::vector<double> k_, points_, base_;
    Step step_;
    GuardRoom& room_;   // where steps begin and end
    GuardRoom& aside_;  // within them
    std::vector<double> shift_, point_, samples_, times_;
    std::vector<int> following_;                          // guards that follow the directions of slips
    std::vector<double> values_;                          // of these, where the step starts
    std::vector<char> certain_;                           // which guards cannot dip unseen
    std::vector<char> loose_;                             // see `find_loose`
    std::vector<double> speed_, bend_, error_;            // bounds of gaps in the step
    Sway sway_, sway_of_errors_;                          // of the bodies in it
    std::vector<double> moved_, rates_, missed_, still_;  // by which joints move in it at most
    double approach_ = 0.0;                               // by how much any bodies come closer to each other in it [m]
    std::vector<double> one_;
    std::vector<Crossing> falls_;
    double bottom_ = INFINITE;   // where a true step has to lead to before all of these fall
    bool knows_start_ = false;   // whether the motion was found where the step starts
    bool knows_values_ = false;  // and the guards that follow
    bool free_ = false, begins_ = false, watches_motion_ = false;
    bool landed_ = false;   // whether the step is one of its own to where a guard fires, not a part of the one before
    double allowed_ = 0.0;  // length of a step that its error would have allowed [s]
    double slowing_ = 0.0;  // of the slowest slip: d|z|/dt / |z| [1/s]
    double growing_ = 0.0;  // the largest of any slip

    // The motion in the chart at work, as the stiff method asks for it.
    class Chart : public Field {
      public:
        Chart(Voyage& voyage, DerivativeScratch& room) : voyage_(voyage), room_(room) {}
        void rate(double t, const double* y, double* out) override;
        bool derivative(double t, const double* y, ChartDerivative& out) override;

      private:
        Voyage& voyage_;
        DerivativeScratch& room_;
        std::vector<double> x_, force_, memory_;
    };
    Chart chart_;
    Expansion& expansion_;         // of the motion while slips come to their stop, where `room_` has it
    double slowest_ = INFINITE;    // slip where the step begins [m/s]
    std::optional<Radau> before_;  // the stiff method as it was where the step began
    std::optional<Radau> lander_;  // a new one, from there to where a guard fires

    References references() const { return {course_.directions, course_.straight, rules_.leap}; }

    // One step, its guards, and the state put back onto its constraints; false where the caller has to look at it.
    bool go_on();

    // A step from the present state, as long as accuracy and what is ahead allow; false where none succeeds.
    bool step();

    // The same by the stiff method.
    bool step_stiffly(double approach, double longest);

    bool begin_stiffly(Radau& method, double first);

    // Whether that may be left before the next step, which takes eigenvalues.
    bool asks_to_leave(double ahead);

    // A step of that as the one to be looked at; false where it is no number, or has no guards.
    bool end_stiffly(const Radau& method);

    // The step once more to exactly that time, by the method as it was, or else by a new one.
    bool land_stiffly(double t);
    bool ends_at(Radau& method, double t);  // whether one step of it does
    bool end_landing(const Radau& method);

    // Whether the expansion agrees with the motion in the room, that where the step starts.
    bool still_holds();

    // The motion is expanded from here on, where slips are close to their stop, as contactsim's Stepper chooses it.
    void expand(double approach);

    // Slip directions where the step starts, and the longest step towards a stop: none is followed past it.
    bool turn_references(double& approach);

    // Velocities of the closed contacts there, where the room does not know them; false where there is no ground.
    bool rates_at_start(std::vector<double>& rates);

    // Time in which no joint turns by more than about a radian.
    double without_turning() const;

    // Time in which no slip grows to more than a few times its speed.
    double without_growing() const;

    // Length of a step that ends a little behind the next guard, where that is expected soon; else infinity.
    double led_to_next(double longest);

    // Time in which a gap or a held slip is expected to fall to zero, by their rates and accelerations.
    double soonest(double horizon);

    // --- the method ------------------------------------------------------------------------------------------

    void stages(double h, int first, int last);

    // The last of these, at the end of a step: its motion is known to the room then, which guards ask for.
    void end_stage(const Method& method, double end, int stage);

    // The rate (n,) of a state, as charts have it that begin there; NaN where there is none.
    void rate_at(double t, const double* x, double* rate);

    // The rate where a new chart begins.
    void begin_chart();

    // A step within the tolerance, with its dense output and its guards; false where there is none.
    bool advance(double proposed, double longest);

    // The method of a lower order for a step that is short for the motion, as contactsim's Stepper chooses it; null:
    // there is none. `proposed` is what the error of DOP853 would allow.
    const Lower* lower(double ahead, double usual, double proposed) const;

    // A step by that, where it does; false where the step is too long for it.
    bool advance_shortly(double ahead, double usual, double proposed);

    // Its stages, with rates, points and dense output where DOP853 has its own; false where it misses too much.
    bool lower_step(const Lower& method, double end);

    // Whether all rates of a step were, to its end and for its dense output.
    bool is_known(const double* y_new) const;

    // State, guards and what the step misses where it ends; the next step is known.
    bool end_step(const double* y_new, const double* f_new, double end, double spent);

    // The error of a step to a time, whose stages are there; and the rate there, where that is within the tolerance.
    double end_within(double end);

    double error_norm(const double* y_new, double h) const;
    bool overshoots(const double* y_new, double h) const;
    double reach(double h) const;

    // By how much longer a step may be than one of an error.
    double growth(double error) const;

    // The part of a dense output that states and rates at both ends of a step give.
    void cubic(const double* y_new, double h);

    // Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6, and dop853.f there.
    void dense_output(const double* y_new, double h);

    // Whether stability seems to hold the steps, by the two rates at their ends: see contactsim's StiffArcs.
    bool at_the_edge();

    // --- charts ----------------------------------------------------------------------------------------------

    void chart_point(const double* dx, double* x) const;

    bool within_chart() const;

    void restart();

    // Back onto the constraints; the chart is moved with the state, so that the method goes on.
    bool put_back();

    void keep();

    // --- guards ----------------------------------------------------------------------------------------------

    // Of all of them: where a step begins or ends, and within it.
    bool values_at(double t, const double* x, double* values);
    bool values_within(double t, const double* x, double* values);
    bool some_within(const std::vector<int>& asked, double t, const double* x, double* values);

    // State within the step, by its dense output.
    const double* state_at(double t);

    // Guards at some times of the step, and bounds of those that have some; false where they show nothing.
    bool see();

    // The guards that fall in the step as it was seen, up to a time, into `falls_`, and a `bottom_` before these.
    Shown judge(double until);

    // The guards that follow the directions of slips, where the step starts; false where they are not told.
    bool follow();

    // Samples at both ends where all guards are certain, or quiet in a short step; in the middle, too; at all nodes
    // where these show too little, of the guards of which they do. Others are on a parabola, if acting is `known`.
    bool look();
    bool look_closer(bool known);
    void begin_samples(int rows);  // with those at both ends

    template <typename Property>
    bool are_all(const Property& property) const {
        for (int g = 0; g < ng_; ++g) {
            if (!property(g)) return false;
        }
        return true;
    }

    bool is_driven() const;  // whether something may act by the time
    // Forces and rates of the memory (nv + memory,) at a share of a step, in the state where it begins.
    void acting(double share, double* force);
    // Whether a step is too long to show how these change, as `guard_samples.is_hidden` says it.
    bool hides();
    // Whether they bend in a step.
    bool is_forced();

    // Whether what was sampled at all nodes leaves the straight way between its ends, or one number a parabola.
    bool bends(const std::vector<double>& values, int width) const;

    // Whether a guard stays far from zero by the samples that there are; not told of a function of a user's, which time
    // may swing.
    bool is_quiet(int g) const;

    // Whether three samples show a guard well enough: it is quiet, or changes straight.
    bool is_shown(int g) const;

    bool is_smooth(int g) const;  // the least of several margins is not

    double largest_sample(int g) const;

    double least_sample(int g) const;

    // Sum over the samples of a guard with the weights of one row of a table.
    double weighted(const std::vector<double>& table, int row, int g) const;

    // Whether six samples show a smooth guard: it does not swing through zero between them.
    bool resolved(int g) const;

    // Whether the polynomial through six samples is least, and close to zero, at a place of the grid, or anywhere.
    bool dips_at(int g, int k) const;
    bool dips(int g) const;

    // The first time between a node and the one before at which a guard is least and not positive.
    bool dip_between(int g, int node, double& time);

    // Edges that do not touch as features, but nearly so: bounds say little of them, and they are watched by samples.
    void find_loose();

    // Places of the joints where the step starts, into the room.
    void place_at_start();

    // Whether no gap that is left out can have come to zero in the step; where the way of the bodies is used up, the
    // gaps that are left out are looked at again where it starts.
    bool has_room();

    // The least of these, up to a distance.
    double least_left_out(double distance);

    // Bounds of |g'|, |g''| and of the error of the interpolant, of each gap; of edges across each other |g''| is asked
    // one by one.
    void bounds_of_gaps();
    double bend_of(int g);

    bool is_bounded(int g) const;  // whether it is known how fast a guard can change

    // A lower bound of a distance, of which these bounds hold, from a gap.
    double distance_of(int g, double gap) const;

    // Whether a guard could have been at zero in the step.
    bool is_suspect(int g) const;

    // Where a guard fires in the step, by its samples until it is armed, and for certain after that.
    Shown first(int g, double until, Crossing& hit);

    // Where a gap falls below zero in the step after `start`, if it does.
    Shown search(int g, double start, double until, Crossing& hit);

    // The value at which a guard fires that has risen to `highest`.
    double level(int g, double highest) const;

    // Go on from the end of a step in which nothing fired.
    void accept();

    // --- where a guard fires ---------------------------------------------------------------------------------

    // Ends the step where the first of `falls_` fires, or at a bottom where none does, on true steps; false where
    // contactsim's Watch has to do that.
    bool locate();
    bool follow_falls();
    bool has_passed(int leader) const;

    // The crossing that comes first, its bracket and level, and a guess of its time; false where there is no zero.
    bool earliest(Crossing& hit, double& time);

    // Those of the crossings whose guards have fallen by a time.
    std::vector<Crossing> fallen(const std::vector<Crossing>& found, double time);

    // A guard within the step.
    double guard_at(double t, int g);

    // The joints that a contact hangs on, at (t, x), and how they move, where that is asked for.
    const Sweep& carried(const Contact& contact, double t, const double* x, bool moving);

    // Velocities of a closed contact (its rows,) there; false where there is no ground.
    bool slips_at(int closed, double t, const double* x, double* rates);

    // The time at which a guard is at its level; false where its bracket has none.
    bool zero(const Crossing& hit, double& time);

    // Two times of the step, closely around one, between which slopes are differenced.
    std::pair<double, double> beside(double time) const;

    // Rates of all guards at a time of the step, by differences.
    bool slopes(double time, std::vector<double>& found);

    // Which guards fire together with the leading one, where the step ends now; `whole` is the step before, with the
    // chart it had, and `time` the zero of its interpolant. False where that cannot be told.
    bool fire(int leader, double time, Step& whole, std::vector<double>& base);

    // Whether a guard may fall to zero within the accuracy of an event's time, as fast as in the samples.
    bool falls_soon(int g, double rounding) const;

    // Steps to where a guard fires, and tells what fires together there.
    bool arrive(const Crossing& leader, double time);

    // Steps to where the leading guard is at its level, the time corrected on true steps.
    bool correct(const Crossing& leader, double time, double slope);

    // Whether the interpolant is as exact at a time as the end of a step.
    bool is_exact(double t) const;

    bool cut(double t);   // the step, up to a time
    bool land(double t);  // a step of its own from where the step began to exactly that time

    // Whether a guard may be at zero where the step ends, within the accuracy of the time of an event.
    bool may_be_imminent() const;

    // The guards that are, or are so but for their rounding, as what fires; false where that cannot be told.
    bool look_at_end();

    // None of them as what fires.
    bool nothing_fires() {
        course_.fired.clear(), course_.leader = -1;
        return true;
    }
};

}  // namespace native
