// A run from event to event, for as long as everything in it is known: what an event leads to, the arc behind it, and
// the event that ends that. What is decided, and in which order, is that of contactsim's Simulation, Stepper and Watch,
// and of RigidContacts, RigidFlow and their guards. Whatever else happens ends the journey, and is theirs.
#pragma once

#include "cruise.hpp"
#include "resolution.hpp"

namespace native {

// How all contacts of a world are.
struct WorldMode {
    std::vector<ContactState> states;
    std::vector<char> enabled;  // which may close

    bool operator==(const WorldMode& b) const;
};

// Thresholds by name: tolerances of a world, and those of contactsim's modules.
struct JourneyRules {
    double rearm, start_depth, jump, gap, event_time, slip_speed, drift, speed;  // as of `Tolerances`
    double pace, place_units;                      // of guards [1/s], and units of rounding of a place
    double at_stop, of_slip_speed, of_turning;     // of how well slips are known
    double sideways;                               // share of a slip along its held direction: below, it has turned
    double one_instant;                            // event times that belong to one instant
    double begun, aside, lasting;                  // of slips that turn fast
    double at_jam, closer;                         // of arcs that begin near a jam
    double expanded, no_time;                      // shares of the step that a motion allows
    int events_at_one_instant, events_to_and_fro;  // in a row, which end a run
};

// A world whose runs may be followed.
struct Passage {
    TouchingWorld world;
    std::vector<Hosts> hosts;                    // of each contact
    std::vector<std::optional<Sines>> enabling;  // of each contact: positive where it may close
    std::optional<Reach> reach;
    std::vector<int> turning;  // velocities that are rates of rotation
    bool jams;                 // whether it is looked for where contacts jam
    JourneyRules rules;
};

// A guard that fired: its kind, and its contact.
struct Fired {
    GuardKind kind;
    int contact;
};

// An event, and the arc behind it up to the next one.
struct LoggedEvent {
    double t;
    std::vector<double> before, behind;  // states
    std::vector<Fired> fired;
    bool clock;                      // whether bounces came to their end, fired or not
    std::vector<int> touching;       // contacts that took part in what follows
    std::optional<Outcome> outcome;  // none: the law was not asked
    WorldMode mode;                  // behind it
    std::vector<double> record;      // steps of the arc: see `Course`
    int steps = 0;
};

// An arc, and what its course looks at.
struct Leg {
    Course course;
    std::vector<double> x, base, y, f, values, highest, floor, rounding, band, directions, first_values;
};

// Events in a row that would end a run, and the modes between which they lead.
struct Repeats {
    int at_one_instant = 0, to_and_fro = 0;
    std::vector<WorldMode> between;
};

// Where a journey begins: at the event that ended an arc.
struct Departure {
    double entered;  // when that arc began [s]
    std::vector<double> x;
    WorldMode mode;
    std::vector<Fired> fired;
    bool clock;               // whether bounces came to their end
    bool at_once, from_zero;  // whether its guard had not risen since the arc began, and was zero there
    Repeats repeats;
    Course course;  // as that of the arc behind the event begins
    int most;       // events
};

// How far it led.
struct Travelled {
    std::vector<LoggedEvent> log;
    Leg leg;             // the arc behind the last event, as far as it was followed
    bool begun = false;  // whether it was at all
    Repeats repeats;
    double first_step;         // of that arc [s]
    long evaluations = 0;      // of the field, before it
    std::exception_ptr error;  // of a function of the user's, which ended it
};

class Journey {
  public:
    Journey(const Passage& passage, const Dop853& method, const Thresholds& thresholds, const Departure& from);

    Travelled run();

  private:
    const Passage& passage_;
    const TouchingWorld& world_;
    const JourneyRules& rules_;
    const Dop853& method_;
    const Thresholds& thresholds_;
    Course template_;
    int most_;
    double t_, entered_;
    std::vector<double> x_;
    WorldMode mode_;
    std::vector<Fired> fired_;
    bool clock_;
    bool at_once_, from_zero_;  // of the guard that ended the arc
    Repeats repeats_;
    double first_step_;  // of the arc behind the event
    long evaluations_ = 0;
    std::vector<LoggedEvent> log_;
    Leg leg_;
    bool begun_ = false;
    std::exception_ptr error_;
    Arc arc_;
    std::vector<int> contacts_;  // of each guard
    CruiseRoom rooms_;
    GuardRoom& room_ = rooms_.ends;

    int tangents() const { return static_cast<int>(world_.terrain.basis.size()) - 1; }

    // --- events ----------------------------------------------------------------------------------------------

    // Goes on behind the event at hand; false where Python has to.
    bool pass_event();

    // What follows what fired, into the mode and the event.
    bool follow_up(WorldMode& mode, LoggedEvent& event);

    // The guard that counts for each contact, by its number; false where contacts jam.
    bool kinds_of(std::vector<std::pair<int, GuardKind>>& kinds) const;

    // Contacts that may close from now on, or no longer; false where one does so inside the ground.
    bool enable(const std::vector<std::pair<int, GuardKind>>& kinds, WorldMode& mode);

    // Bounces that have come to their end; whether there are any.
    bool end_bounces(WorldMode& mode) const;

    // Directions of slips that are held from now on, or no longer: changes that only the engine sees.
    bool turn_phases(const std::vector<std::pair<int, GuardKind>>& kinds, WorldMode& mode);

    // Whether the slip of a contact would throw the robot where it was stopped, or whether that is unknown.
    bool is_to_turn(int i, const WorldMode& mode) const;

    // What happens here to the contacts that touch.
    Event event_of(const std::vector<char>& touching, const std::vector<Kind>& kind, const WorldMode& mode) const;

    // Impact and modes of what touches.
    bool resolve_touching(const std::vector<std::pair<int, GuardKind>>& kinds, WorldMode& mode, LoggedEvent& event);

    // The states of what touched, as they come out.
    void stand(const Event& given, const Outcome& outcome, WorldMode& mode) const;

    // Contacts that reach the ground at this instant, fired or not.
    bool add_near(const WorldMode& mode, std::vector<char>& touching) const;

    // Counts events that would go on for ever; false where they end the run.
    bool count_repeats(const LoggedEvent& event);

    // --- arcs ------------------------------------------------------------------------------------------------

    // The closed contacts and the guards of the mode.
    void lay_out(const WorldMode& mode);
    void close(int contact, const ContactState& state);

    // Begins the arc in the present mode; false where Python has to.
    bool enter();

    // Whether guards lie below zero where the arc begins.
    bool fires_at_start();

    // Velocities (rows,) of the closed contacts, into the room; false where hills do not tell them.
    bool find_rates(const double* x);

    // Directions of slips where the arc begins; false where they are not known.
    bool set_directions();

    // Those of slips that begin are the ones against which their friction acts.
    void turn_beginnings();

    bool find_motion();

    // Where the arc begins, as to jams: see contactsim's RigidFlow.
    void look_for_jam();
    double fastest_turn() const;

    // Values of the guards, how well these are known, and how closely they are met.
    bool begin_guards();
    double force_rounding() const;

    // Whether slips that have just begun turn so fast that the stiff method may be at home.
    bool may_be_stiff();
    double slow_turn() const;  // time [s] in which the fastest of them has turned; zero: none does

    // Steps until something happens; whether that is an event.
    bool follow();
    bool ends_in_event() const;
    double next_end() const;  // of bounces [s]; infinity: there are none
};

}  // namespace native
