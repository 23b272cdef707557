// What an event of a rigid law leads to, under Newton's or Poisson's law of impact and Coulomb's friction: an impact
// where contacts approach, then the modes of what stays in touch, and hops too low to be followed. What is decided, and
// in which order, is that of contactsim's contact_dynamics/resolution.py, mode_choice.py and zeno.py; whatever these
// look for in longer ways (jams, forces that are not unique where they matter) is unknown here, and the event is
// theirs.
#pragma once

#include <cmath>
#include <memory>

#include "couples.hpp"
#include "mode_search.hpp"
#include "stages.hpp"

namespace native {

// closed: of a joint at its limit.
enum class Standing { open, stick, slip, closed };
enum class Phase { none, free, directed, incipient };
enum class Kind { none, gap, force, cone, stop, other };  // of the guard that fired at a contact

struct ContactState {
    Standing standing = Standing::open;
    Phase phase = Phase::none;
    std::array<double, 2> direction{};
    double until = INFINITY;  // end of bounces that are too low to be followed [s]; infinity: it does not bounce

    bool closed() const { return standing != Standing::open; }
};

// Thresholds by name: tolerances of a world, and those of contactsim's modules.
struct EventRules {
    PivotRules pivots;
    Redundancy redundancy{};
    double rank = 0.0, clear_rank = 0.0;
    double speed = 0.0, slip_speed = 0.0, hop = 0.0, force = 0.0, straight = 0.0;  // of what counts as zero
    double leave = 0.0, slowest = 0.0, thrown = 0.0;  // of slips whose directions are held, in slip speeds
    double of_force = 0.0, least_force = 0.0, no_force = 0.0;                      // of forces that are rounding
    double less = 0.0, at_edge = 0.0, most_off = 0.0;                              // at the edge of a cone
    double spacing = 0.0, lowest = 0.0;                                            // of hops that are rounding
    double together = 0.0, alike = 0.0, lesser = 0.0, slow = 0.0;                  // of hops that follow each other
    int hops = 0, stalled = 0, longest_cycle = 0;
};

// newton: one stage. poisson: compression, then an expansion that gives shares of its normal impulses back.
enum class ImpactLaw { newton, poisson };

// What all events of a world share.
struct TouchingWorld {
    Robot robot;
    Drive drive;
    Terrain terrain;
    Turning turning;
    EventRules rules;
    ImpactLaw law;
    std::vector<Contact> contacts;
    std::vector<int> tangents;  // rows of friction of each
    std::vector<double> kinetic, resting, restitution;
    Couples couples;  // of the contacts
};

struct Event {
    double t = 0.0;
    const double* x = nullptr;
    std::vector<int> touching;                   // contacts, in rising order
    std::vector<ContactState> states;            // of each of them before the event
    std::vector<std::optional<Region>> regions;  // of the boxes that they touched already
    std::vector<Kind> kinds;
    bool redundant = false;  // whether forces before it may be many
};

// One stage of an impact: velocities before it, and impulses, along the rows that carry friction.
struct Stage {
    std::vector<double> before;
    Chosen chosen;
    Residuals residuals;
};

struct Struck {
    std::vector<double> delassus;
    std::vector<Stage> stages;                        // none: no contact approached
    double work = 0.0, turnover = 0.0, energy = 0.0;  // of the contacts, and what there was before [J]
};

struct Outcome {
    std::vector<double> v;
    std::vector<ContactState> states;
    bool unique = true;
    Struck struck;
    bool chose = false;  // whether modes were chosen at all: with these residuals
    Residuals residuals;
    std::vector<char> settled;  // contacts with an impulse that brings them to rest
    std::vector<double> left;   // these impulses along all rows
    std::vector<char> bouncing;
    double rest = -1.0;  // time until bounces come to their end [s]; negative: none do
};

// A contact with its gap and the rate of that.
struct Low {
    int contact;
    double gap, rate;
};

// Contacts whose gaps are at most so large, in rising order; none where hills do not tell all of them.
std::optional<std::vector<Low>> low_contacts(const TouchingWorld& world, double t, const double* x, double lowest);

// False where Python has to tell.
bool resolve(const TouchingWorld& world, const Event& event, Outcome& outcome);

// Whether more than a held slip direction leaves would bring contact `k` of those of an event to rest; false: unknown.
bool throws_to_rest(const TouchingWorld& world, const Event& event, int k, bool& throws);

}  // namespace native
