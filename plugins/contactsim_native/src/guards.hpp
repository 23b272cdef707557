// Guards of a contact mode, computed together: gaps, limits, margins of forces, and slips.
#pragma once

#include <functional>
#include <utility>

#include "couples.hpp"
#include "expansion.hpp"
#include "minima.hpp"
#include "reach.hpp"
#include "stages.hpp"

namespace native {

// gap: also that of a joint to its limit; push: margin of a contact inside ground that gives way; forces: of redundant
// contacts, that of the smallest forces to the edges of all cones; margin: one that is a function of (t, x); side: of
// the region of a solid.
enum class GuardKind { gap, force, cone, forces, slow, stop, fast, jam, turn, push, margin, side };

using Margin = std::function<double(double, const double*)>;

// amplitude sin(sum of factor q[coordinate] + phase).
struct Sine {
    double amplitude, phase;
    std::vector<std::pair<int, double>> angles;  // coordinates and factors
};

// A margin that is a sum of sines.
struct Sines {
    double constant;
    std::vector<Sine> all;
    double operator()(double t, const double* x) const;
};

struct Guard {
    GuardKind kind;
    int closed = -1;                          // number among the closed contacts
    std::shared_ptr<const Contact> touching;  // of a gap: one of those of the robot, which all arcs share
    double sense = 1.0;                       // -1: a gap or a push that fires as it rises
    double friction = 0.0;                    // of a cone: its static coefficient
    std::array<double, 2> direction{};        // of a stop of a slip that begins
    Margin margin;
    int side = 0;  // axis (1, 2, 3) of the region that it looks at, with the sign of the side

    explicit Guard(GuardKind kind) : kind(kind) {}
    const Contact& contact() const;  // that of a gap; of others nothing
};

// Where a guard "jam" stands: see contactsim's RigidFlow.
struct Jam {
    double sense = 0.0;   // of the determinant where the arc begins; 0: it begins at a jam
    double window = 0.0;  // within which a jam counts as reached [s]
};

struct Guards {
    std::vector<Guard> all;
    Jam jam;

    bool of_motion() const;  // whether one of them looks at forces or slips
};

// Thresholds by name: those of contactsim's modules.
struct Thresholds {
    double safety, min_factor, max_factor, overshot, off;         // of the next step, and of one that is too long
    double chart_radius, turn;                                    // rad: of a chart, and within one step
    double within_reach, short_step, beyond, first_share;         // of steps that a stop or a guard ends
    double brief, briefly, shortly;                               // of steps of a lower order
    double near_edge, fading, loose, held, held_fast, grown;      // of steps at the edge of stability
    double exact, cut, spent;                                     // of dense outputs
    double at_once, flat, unresolved, bent, quiet, dip, shallow;  // of guards between the ends of a step
    double monotone;                                              // of guards that fall towards a singular place
    double look, stray, noise;                                    // of what acts by the time
    int most_looks;                                               // at that
    double room;                                                  // of gaps that are no guards, in ways of a step
    double approach, close_to_stop, away, leave, no_speed;        // of slips
    double slope, shortest_slope, soon, far;                      // of the times of events
    double landed, guess, lowest;                                 // of these
    int corrections;                                              // of these
    double fastest, jolt;                                         // of gaps that are seen coming
    double jammed, near_jam;                                      // of determinants
    double turning, no_force, leap;                               // of slips that begin
    double few, many, easy, rounded, spent_stiffly;               // of steps of the stiff method
    int growing;                                                  // of these
    Looking looking;                                              // at guards between the ends of a step
    double sooner, behind, all_but;                               // of where slips that stop are expanded
    Expanding expanding;                                          // and how
};

// A contact, and the solid that it touches, as the reach has them.
struct Hosts {
    Host own, other;
};

// All contacts of a robot, as guards of their gaps have them.
struct Gaps {
    std::vector<Contact> contacts;
    std::vector<Hosts> hosts;
    Couples couples;
};

// The guard of an open corner at the end of an edge, the own or the other one, of a closed contact, or of the solid on
// which a closed corner lies.
struct SharedCorner {
    enum class Of { own_edge, other_edge, solid };
    int closed, guard;
    Of of;
};

// What one arc fixes.
struct Arc {
    Robot robot;
    ContactMode mode;
    Drive drive;
    Guards guards;
    std::optional<Reach> reach;                       // none: gaps are watched by samples
    std::vector<double> arms;                         // of what touches others, by the joints of the reach [m]
    std::vector<Hosts> hosts;                         // of each guard that is a contact's gap
    std::vector<int> turning;                         // velocities that are rates of rotation
    bool limits_alone = false;                        // whether all gaps are those of limits
    double drift = 0.0, gap = 0.0, event_time = 0.0;  // tolerances
    double slip_speed = 0.0;                          // below which directions of slips are held [m/s]
    std::vector<SharedCorner> shared_corners;
    std::shared_ptr<const Gaps> gaps;  // all contacts, where some of them are no guards
    std::vector<char> left_out;        // which of these are open but no guards, since they are far

    void add(const Guard& guard, const Hosts& of = {});
    int record_size() const;  // numbers kept of a step: see `Course`
};

// What evaluating needs, kept to be used again.
struct GuardRoom {
    Scratch scratch;
    Forces told;
    std::vector<double> force, memory, acceleration, change;
    Known known;                     // references of the drive of one arc: to be kept with it
    Expansion* expansion = nullptr;  // which stands for the motion where there is one, and it holds
    double regularity = 1.0;         // what friction leaves of the determinant of the closed contacts

    // Whether all this is, for now, the motion of the arc at hand at (t, x), and that under these references, too: they
    // are what it was found with, or what it found, of slips that have a direction of their own.
    bool knows(double t, const double* x) const;
    bool knows(const Arc& arc, const References& references, double t, const double* x) const;
    // That it is, from now on until its sweep looks at another state.
    void remember(const Arc& arc, const References& references, double t, const double* x);
    void forget() { looks_ = -1; }  // as the arc changes

    // Accelerations along the rows, and the regularity, of the motion that is known.
    void find_regularity(const Arc& arc);

  private:
    double t_ = 0.0;
    std::vector<double> x_, directions_;
    long looks_ = -1;  // of the sweep, as it found the motion
    bool regularity_known_ = false;
};

// Accelerations and forces at (t, x) into the room, not of an expansion; false where the rows depend on each other.
// Where the room knows them nothing is done.
bool motion_at(const Arc& arc, const References& references, double t, const double* x, GuardRoom& room);

// Values (guards,) at (t, x); false where there are no forces, or no ground, and where redundant forces are others than
// the smallest ones.
bool guard_values(const Arc& arc, const Thresholds& thresholds, const References& references, double t, const double* x,
                  GuardRoom& room, double* values);

// The same of some guards alone, at their places among all: forces are not looked for where none of these has any.
bool some_guard_values(const Arc& arc, const Thresholds& thresholds, const References& references,
                       const std::vector<int>& asked, double t, const double* x, GuardRoom& room, double* values);

// Guards that look at the slip of a closed contact alone; the value of one by the velocities (rows,) of all of them.
bool looks_at_slips(GuardKind kind);
double of_slip(const Arc& arc, const Thresholds& thresholds, const References& references, const Guard& guard,
               const std::vector<double>& rates);

// Whether a closed contact takes its direction from its own slip.
bool slips_freely(const Closed& closed);

}  // namespace native
