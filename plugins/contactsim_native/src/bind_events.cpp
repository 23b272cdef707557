// What Python sees of events.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "bindings.hpp"
#include "event_derivative.hpp"

using namespace native;

namespace {

using Matrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

nb::object row_of(const std::vector<double>& a) {
    return nb::cast(state_of(a.data(), a.size()));
}

nb::object matrix_of(const std::vector<double>& a, std::size_t rows) {
    double* copy = new double[a.size()];
    std::copy(a.begin(), a.end(), copy);
    nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return nb::cast(Matrix(copy, {rows, rows}, owner));
}

nb::tuple told(const Residuals& residuals) {
    return nb::make_tuple(residuals.signorini, residuals.cone, residuals.friction);
}

std::vector<int> numbers_of(const std::vector<char>& set) {
    std::vector<int> found;
    for (std::size_t i = 0; i < set.size(); ++i) {
        if (set[i]) found.push_back(static_cast<int>(i));
    }
    return found;
}

// Number of the mode, whether its slip direction is known, and that direction.
nb::list modes_of(const Chosen& chosen) {
    nb::list found;
    for (std::size_t i = 0; i < chosen.modes.size(); ++i) {
        const auto& slip = chosen.directions[i];
        found.append(nb::make_tuple(static_cast<int>(chosen.modes[i]), bool(chosen.directed[i]), slip[0], slip[1]));
    }
    return found;
}

// Of each stage of an impact: velocities before it, impulses, modes, which contacts part under what is given to them,
// whether the impulses are the only ones, and residuals.
nb::list stages_of(const Outcome& outcome) {
    nb::list found;
    for (const Stage& stage : outcome.struck.stages) {
        const Chosen& chosen = stage.chosen;
        found.append(nb::make_tuple(row_of(stage.before), row_of(chosen.forces), modes_of(chosen),
                                    numbers_of(chosen.lifted), chosen.unique, told(stage.residuals)));
    }
    return found;
}

nb::list states_of(const Outcome& outcome) {
    nb::list found;
    for (const ContactState& state : outcome.states) {
        found.append(nb::make_tuple(static_cast<int>(state.standing), static_cast<int>(state.phase), state.direction[0],
                                    state.direction[1]));
    }
    return found;
}

ContactState state(const std::vector<double>& given) {
    return {static_cast<Standing>(int(given.at(0))), static_cast<Phase>(int(given.at(1))), {given.at(2), given.at(3)}};
}

// Impulses along all rows; of each contact its mode, whether its slip direction is known, that direction, and whether
// it parts under what is given to it; rebounds and shares.
using GivenStage =
    std::tuple<std::vector<double>, std::vector<std::vector<double>>, std::vector<double>, std::vector<double>>;

PassedStage stage_of(const GivenStage& given, std::size_t count) {
    const auto& [impulses, contacts, rebound, share] = given;
    demand(contacts.size() == count && rebound.size() == count && share.size() == count, "numbers of each contact");
    PassedStage stage{impulses, {}, {}, {}, {}, rebound, share};
    for (const std::vector<double>& own : contacts) {
        stage.modes.push_back(static_cast<Touch>(int(own.at(0)))), stage.directed.push_back(own.at(1) != 0.0);
        stage.directions.push_back({own.at(2), own.at(3)}), stage.lifted.push_back(own.at(4) != 0.0);
    }
    return stage;
}

void demand_known(const TouchingWorld& world, const std::vector<int>& contacts) {
    for (const int i : contacts) demand(i >= 0 && i < int(world.contacts.size()), "contacts by their numbers");
}

Happened happened_of(const TouchingWorld& world, double t, const Row& x, const Row& x_post,
                     const std::vector<int>& struck, const std::vector<GivenStage>& stages,
                     const std::vector<int>& closed, const std::vector<std::vector<double>>& before,
                     const std::vector<std::vector<double>>& after, const std::vector<double>& left,
                     bool redundant) {
    const std::size_t size = world.robot.nq + world.robot.nv + world.drive.memory;
    demand(x.shape(0) == size && x_post.shape(0) == size, "states");
    demand(before.size() == closed.size() && after.size() == closed.size(), "states of each closed contact");
    demand(struck.empty() == stages.empty(), "stages of an impact");
    demand_known(world, struck), demand_known(world, closed);
    Happened happened{t, x.data(), x_post.data(), struck, {}, closed, {}, {}, left, redundant};
    const auto rows_of = [&world](const std::vector<int>& contacts) {
        std::size_t rows = 0;
        for (const int i : contacts) rows += world.contacts[i].is_limit() ? 1 : world.terrain.basis.size();
        return rows;
    };
    demand(left.empty() || left.size() == rows_of(closed), "impulses that are left, along all rows");
    for (const GivenStage& stage : stages) {
        happened.stages.push_back(stage_of(stage, struck.size()));
        demand(happened.stages.back().impulses.size() == rows_of(struck), "impulses along all rows");
    }
    for (const std::vector<double>& own : before) happened.before.push_back(state(own));
    for (const std::vector<double>& own : after) happened.after.push_back(state(own));
    return happened;
}

Event event_of(const TouchingWorld& world, double t, const Row& x, const std::vector<int>& touching,
               const std::vector<std::vector<double>>& states, const std::vector<std::optional<Region>>& regions,
               const std::vector<int>& kinds) {
    demand(x.shape(0) == std::size_t(world.robot.nq + world.robot.nv + world.drive.memory), "a state");
    demand(states.size() == touching.size() && regions.size() == touching.size() && kinds.size() == touching.size(),
           "a state, a region and a kind of each contact");
    Event event{t, x.data(), touching, {}, regions, {}};
    for (std::size_t i = 0; i < touching.size(); ++i) {
        demand(touching[i] >= 0 && touching[i] < int(world.contacts.size()), "contacts by their numbers");
        event.states.push_back(state(states[i]));
        event.kinds.push_back(static_cast<Kind>(kinds[i]));
    }
    return event;
}

void bind_event_rules(nb::module_& m) {
    nb::class_<EventRules>(m, "EventRules")
        .def("__init__",
             [](EventRules* self, const PivotRules& pivots) {
                 new (self) EventRules();
                 self->pivots = pivots;
             })
        .def_rw("redundancy", &EventRules::redundancy)
        .def_rw("rank", &EventRules::rank)
        .def_rw("clear_rank", &EventRules::clear_rank)
        .def_rw("speed", &EventRules::speed)
        .def_rw("slip_speed", &EventRules::slip_speed)
        .def_rw("leave", &EventRules::leave)
        .def_rw("slowest", &EventRules::slowest)
        .def_rw("thrown", &EventRules::thrown)
        .def_rw("hop", &EventRules::hop)
        .def_rw("force", &EventRules::force)
        .def_rw("straight", &EventRules::straight)
        .def_rw("of_force", &EventRules::of_force)
        .def_rw("least_force", &EventRules::least_force)
        .def_rw("no_force", &EventRules::no_force)
        .def_rw("less", &EventRules::less)
        .def_rw("at_edge", &EventRules::at_edge)
        .def_rw("most_off", &EventRules::most_off)
        .def_rw("spacing", &EventRules::spacing)
        .def_rw("lowest", &EventRules::lowest)
        .def_rw("together", &EventRules::together)
        .def_rw("alike", &EventRules::alike)
        .def_rw("lesser", &EventRules::lesser)
        .def_rw("slow", &EventRules::slow)
        .def_rw("hops", &EventRules::hops)
        .def_rw("stalled", &EventRules::stalled)
        .def_rw("longest_cycle", &EventRules::longest_cycle);
}

void bind_world(nb::module_& m) {
    nb::class_<TouchingWorld>(m, "TouchingWorld")
        .def("__init__",
             [](TouchingWorld* self, const Robot& robot, const ContactMode& mode, const PythonDrive& drive,
                const EventRules& rules, int law) {
                 const auto own = static_cast<ImpactLaw>(law);
                 new (self) TouchingWorld{robot, drive, mode.terrain, mode.turning, rules, own, {}, {}, {}, {}, {}, {}};
             })
        .def("take", [](TouchingWorld& world, const Gaps& gaps, const std::vector<int>& tangents, Row kinetic,
                        Row resting, Row restitution) {
            const std::size_t count = gaps.contacts.size();
            demand(tangents.size() == count && kinetic.shape(0) == count && resting.shape(0) == count &&
                       restitution.shape(0) == count,
                   "rows of friction and coefficients of each contact");
            world.contacts = gaps.contacts, world.couples = gaps.couples, world.tangents = tangents;
            world.kinetic = numbers(kinetic), world.resting = numbers(resting);
            world.restitution = numbers(restitution);
            for (std::size_t i = 0; i < count; ++i) {
                if (world.contacts[i].is_limit()) world.tangents[i] = 0;
            }
        });
}

void bind_outcome(nb::module_& m) {
    nb::class_<Outcome>(m, "Outcome")
        .def_prop_ro("velocity", [](const Outcome& o) { return row_of(o.v); })
        .def_prop_ro("states", &states_of)
        .def_ro("unique", &Outcome::unique)
        .def_prop_ro("residuals",
                     [](const Outcome& o) -> nb::object {
                         if (!o.chose) return nb::none();
                         return told(o.residuals);
                     })
        .def_prop_ro("settled", [](const Outcome& o) { return numbers_of(o.settled); })
        .def_prop_ro("left", [](const Outcome& o) { return row_of(o.left); })
        .def_prop_ro("bouncing", [](const Outcome& o) { return numbers_of(o.bouncing); })
        .def_ro("rest", &Outcome::rest)
        .def_prop_ro("struck", &stages_of)
        .def_prop_ro("struck_matrix",
                     [](const Outcome& o) { return matrix_of(o.struck.delassus, o.struck.stages[0].before.size()); })
        .def_prop_ro("struck_work", [](const Outcome& o) {
            return nb::make_tuple(o.struck.work, o.struck.turnover, o.struck.energy);
        });
}

void bind_resolution(nb::module_& m) {
    m.def(
        "low",
        [](const TouchingWorld& world, double t, Row x, double lowest) -> nb::object {
            demand(x.shape(0) == std::size_t(world.robot.nq + world.robot.nv + world.drive.memory), "a state");
            const std::optional<std::vector<Low>> low = low_contacts(world, t, x.data(), lowest);
            if (!low) return nb::none();
            nb::list found;
            for (const Low& one : *low) found.append(nb::make_tuple(one.contact, one.gap, one.rate));
            return found;
        },
        "Contacts whose gaps are at most so large, in rising order, with these and their rates; None where hills do "
        "not tell.");

    m.def(
        "differentiate_event",
        [](const TouchingWorld& world, double t, Row x, Row x_post, const std::vector<int>& struck,
           const std::vector<GivenStage>& stages, const std::vector<int>& closed,
           const std::vector<std::vector<double>>& before, const std::vector<std::vector<double>>& after,
           const std::vector<double>& left, bool redundant, Out jacobian) {
            const std::size_t dim = 2 * world.robot.nv;
            demand(jacobian.size() == dim * dim, "an array (2 nv, 2 nv)");
            const Happened happened =
                happened_of(world, t, x, x_post, struck, stages, closed, before, after, left, redundant);
            nb::gil_scoped_release released;
            return differentiate(world, happened, jacobian.data());
        },
        "Derivative of what an event leads to by the state before it, its outcome held; False where Python has to "
        "tell.");

    m.def(
        "resolve",
        [](const TouchingWorld& world, double t, Row x, const std::vector<int>& touching,
           const std::vector<std::vector<double>>& states, const std::vector<std::optional<Region>>& regions,
           const std::vector<int>& kinds, bool redundant) -> std::optional<Outcome> {
            Event event = event_of(world, t, x, touching, states, regions, kinds);
            event.redundant = redundant;
            Outcome outcome;
            nb::gil_scoped_release released;
            if (!resolve(world, event, outcome)) return std::nullopt;
            return outcome;
        },
        "What an event leads to: states and kinds of the touching contacts; None where Python has to tell.");
}

}  // namespace

void bind_events(nb::module_& m) {
    bind_event_rules(m);
    bind_world(m);
    bind_outcome(m);
    bind_resolution(m);
}
