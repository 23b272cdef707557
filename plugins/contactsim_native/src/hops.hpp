// Bounces that accumulate (Zeno): when the last of infinitely many comes, as contactsim's contact_dynamics/zeno.py.
#pragma once

#include "resolution.hpp"

namespace native {

using Contacts = std::vector<char>;  // whether each of the touching contacts is one of them

// How contacts are before an event, and which of them touch in it.
struct Before {
    std::vector<ContactState> states;
    std::vector<Kind> kinds;
    Contacts touching;
    bool redundant = false;  // whether the forces of the mode may be many
};

// Acceleration (nv,) in a mode, and with it the first and second rates of the gaps of some contacts.
struct GapMotion {
    std::vector<double> acceleration, rates, bends;
};

// What bounces need of the contacts; false where Python has to tell.
class Landing {
  public:
    virtual ~Landing() = default;
    virtual bool gap_motion(const std::vector<double>& v, const std::vector<ContactState>& states, bool unique,
                            const Contacts& contacts, GapMotion& found) = 0;
    // The acceleration under which contacts of bodies that do not turn move as they do: J a' = J a + J' v.
    virtual bool stand_still(const std::vector<double>& v, const std::vector<ContactState>& states,
                             const Contacts& contacts, std::vector<double>& acceleration) = 0;
    // Behind the impact of the contacts `landing`; what leaves at up to `slowest` [m/s] stays.
    virtual bool land(std::vector<double>& v, std::vector<ContactState>& states, bool& unique, const Contacts& landing,
                      double slowest) = 0;
};

struct Resting {
    bool known = false, ends = false;  // whether it can be told, and whether hops become smaller
    double time = 0.0;                 // until the last of them [s]
};

// Time from now until the last of the ever smaller hops of contacts that are on the ground.
Resting time_to_rest(Landing& contacts, const EventRules& rules, std::vector<double> v,
                     std::vector<ContactState> states, bool unique, const Contacts& hopping);

}  // namespace native
