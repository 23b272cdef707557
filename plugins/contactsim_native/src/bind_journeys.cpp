// What Python sees of runs that are followed from event to event.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "journey.hpp"

using namespace native;

namespace {

constexpr int MARKS = 6;  // of a contact in a mode: standing, phase, direction, whether it may close, end of bounces

WorldMode mode_of(const TouchingWorld& world, const Table& given) {
    demand(given.shape(0) == world.contacts.size() && given.shape(1) == MARKS, "the numbers of each contact");
    WorldMode mode;
    for (std::size_t i = 0; i < given.shape(0); ++i) {
        const auto standing = static_cast<Standing>(int(given(i, 0)));
        mode.states.push_back(
            {standing, static_cast<Phase>(int(given(i, 1))), {given(i, 2), given(i, 3)}, given(i, 5)});
        mode.enabled.push_back(given(i, 4) != 0.0);
    }
    return mode;
}

nb::object marks_of(const WorldMode& mode) {
    std::vector<double> found;
    for (std::size_t i = 0; i < mode.states.size(); ++i) {
        const ContactState& state = mode.states[i];
        for (const double mark : {double(int(state.standing)), double(int(state.phase)), state.direction[0],
                                  state.direction[1], double(mode.enabled[i]), state.until}) {
            found.push_back(mark);
        }
    }
    return table(found, mode.states.size(), MARKS);
}

nb::object row(const std::vector<double>& a) {
    return nb::cast(state_of(a.data(), a.size()));
}

nb::object record_of(const std::vector<double>& record, int steps) {
    return table(record, steps, steps ? record.size() / steps : 0);
}

nb::list fired_of(const std::vector<Fired>& fired) {
    nb::list found;
    for (const Fired& one : fired) found.append(nb::make_tuple(static_cast<int>(one.kind), one.contact));
    return found;
}

Departure departure_of(const TouchingWorld& world, const Course& course, const Row& x, const Table& mode,
                       const std::vector<std::pair<int, int>>& fired, bool clock, double entered, bool at_once,
                       bool from_zero, int at_one_instant, int to_and_fro, const std::vector<Table>& between,
                       int most) {
    demand(x.shape(0) == std::size_t(world.robot.nq + world.robot.nv + world.drive.memory), "a state");
    const int count = static_cast<int>(world.contacts.size());
    Departure from{entered, numbers(x), mode_of(world, mode), {}, clock, at_once, from_zero, {}, course, most};
    for (const auto& [kind, contact] : fired) {
        demand(contact >= -1 && contact < count, "contacts by their numbers");
        from.fired.push_back({static_cast<GuardKind>(kind), contact});
    }
    from.repeats.at_one_instant = at_one_instant, from.repeats.to_and_fro = to_and_fro;
    for (const Table& one : between) from.repeats.between.push_back(mode_of(world, one));
    return from;
}

void bind_rules(nb::module_& m) {
    nb::class_<JourneyRules>(m, "JourneyRules")
        .def("__init__", [](JourneyRules* self) { new (self) JourneyRules(); })
        .def_rw("rearm", &JourneyRules::rearm)
        .def_rw("start_depth", &JourneyRules::start_depth)
        .def_rw("jump", &JourneyRules::jump)
        .def_rw("gap", &JourneyRules::gap)
        .def_rw("event_time", &JourneyRules::event_time)
        .def_rw("slip_speed", &JourneyRules::slip_speed)
        .def_rw("drift", &JourneyRules::drift)
        .def_rw("speed", &JourneyRules::speed)
        .def_rw("pace", &JourneyRules::pace)
        .def_rw("place_units", &JourneyRules::place_units)
        .def_rw("at_stop", &JourneyRules::at_stop)
        .def_rw("of_slip_speed", &JourneyRules::of_slip_speed)
        .def_rw("sideways", &JourneyRules::sideways)
        .def_rw("of_turning", &JourneyRules::of_turning)
        .def_rw("one_instant", &JourneyRules::one_instant)
        .def_rw("begun", &JourneyRules::begun)
        .def_rw("aside", &JourneyRules::aside)
        .def_rw("lasting", &JourneyRules::lasting)
        .def_rw("at_jam", &JourneyRules::at_jam)
        .def_rw("closer", &JourneyRules::closer)
        .def_rw("expanded", &JourneyRules::expanded)
        .def_rw("no_time", &JourneyRules::no_time)
        .def_rw("events_at_one_instant", &JourneyRules::events_at_one_instant)
        .def_rw("events_to_and_fro", &JourneyRules::events_to_and_fro);
}

void bind_travelled(nb::module_& m) {
    nb::class_<Travelled>(m, "Travelled")
        .def_prop_ro("count", [](const Travelled& found) { return found.log.size(); })
        .def(
            "event",
            [](const Travelled& found, std::size_t k) {
                const LoggedEvent& event = found.log.at(k);
                return nb::make_tuple(event.t, row(event.before), row(event.behind), fired_of(event.fired), event.clock,
                                      event.touching, marks_of(event.mode));
            },
            "Time, states before and behind it, what fired, whether bounces ended, contacts that took part, and the "
            "mode "
            "behind it.")
        .def(
            "outcome", [](const Travelled& found, std::size_t k) { return found.log.at(k).outcome; },
            "What the law made of an event; None: only the engine sees a change.")
        .def(
            "record",
            [](const Travelled& found, std::size_t k) {
                return record_of(found.log.at(k).record, found.log.at(k).steps);
            },
            "Steps between an event and the next one.")
        .def_ro("begun", &Travelled::begun)
        .def_prop_ro("course", [](const Travelled& found) { return found.leg.course; })
        .def_prop_ro("last_record",
                     [](const Travelled& found) { return record_of(found.leg.course.record, found.leg.course.steps); })
        .def_prop_ro(
            "arrays",
            [](const Travelled& found) {
                const Leg& leg = found.leg;
                return nb::make_tuple(row(leg.x), row(leg.base), row(leg.y), row(leg.f), row(leg.values),
                                      row(leg.highest), row(leg.floor), row(leg.rounding), row(leg.band));
            },
            "Of the last arc: state, origin of the chart, place in it, rate; guards, as courses have them.")
        .def(
            "take_error",
            [](Travelled& found) {
                const nb::object error = raised(found.error);
                found.error = found.leg.course.error = nullptr;  // its traceback holds the journey
                return error;
            },
            "What a function of the user's raised, which ended it; None: nothing did.")
        .def_prop_ro("at_one_instant", [](const Travelled& found) { return found.repeats.at_one_instant; })
        .def_prop_ro("to_and_fro", [](const Travelled& found) { return found.repeats.to_and_fro; })
        .def_ro("first_step", &Travelled::first_step)
        .def_ro("evaluations", &Travelled::evaluations);
}

}  // namespace

void bind_journeys(nb::module_& m) {
    bind_rules(m);
    bind_travelled(m);

    nb::class_<Passage>(m, "Passage")
        .def("__init__",
             [](Passage* self, const TouchingWorld& world, const Gaps& gaps, const std::vector<int>& turning, bool jams,
                const JourneyRules& rules) {
                 demand(gaps.hosts.size() == world.contacts.size(), "the gap of each contact");
                 std::vector<std::optional<Sines>> none(world.contacts.size());
                 new (self) Passage{world, gaps.hosts, none, {}, turning, jams, rules};
             })
        .def("set_reach", [](Passage& passage, const Reach& reach) { passage.reach = reach; })
        .def("enable", [](Passage& passage, std::size_t contact, double constant, const std::vector<SineNumbers>& all) {
            passage.enabling.at(contact) = sines(passage.world.robot, constant, all);
        });

    m.def(
        "travel",
        [](const Passage& passage, const Dop853& method, const Thresholds& thresholds, const Course& course, Row x,
           Table mode, const std::vector<std::pair<int, int>>& fired, bool clock, double entered, bool at_once,
           bool from_zero, int at_one_instant, int to_and_fro, const std::vector<Table>& between, int most) {
            const Departure from = departure_of(passage.world, course, x, mode, fired, clock, entered, at_once,
                                                from_zero, at_one_instant, to_and_fro, between, most);
            nb::gil_scoped_release released;
            return Journey(passage, method, thresholds, from).run();
        },
        nb::arg("passage"), nb::arg("method"), nb::arg("thresholds"), nb::arg("course"), nb::arg("x"), nb::arg("mode"),
        nb::arg("fired"), nb::arg("clock"), nb::arg("entered"), nb::arg("at_once"), nb::arg("from_zero"),
        nb::arg("at_one_instant"), nb::arg("to_and_fro"), nb::arg("between"), nb::arg("most"),
        "A run from an event on, from event to event, for as long as all of it is known.");
}
