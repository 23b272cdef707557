// What Python sees of contact problems.
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "contact_problem.hpp"
#include "even_sharing.hpp"
#include "mode_search.hpp"

using namespace native;

namespace {

using Numbers = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
constexpr int NOT_UNIQUE = 3;
using Choice = nb::ndarray<int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Arrays of Python, which have to outlive it.
ContactProblem problem_of(Table delassus, Row free, Numbers widths, Row kinetic, Row resting, Row slack, Numbers slides,
                          Table sliding) {
    ContactProblem problem;
    const std::size_t rows = free.shape(0), count = widths.shape(0);
    for (std::size_t i = 0; i < count; ++i) {
        problem.first.push_back(problem.rows), problem.width.push_back(widths(i));
        problem.slides.push_back(slides.shape(0) == count && slides(i));
        demand(widths(i) >= 0 && widths(i) <= 2, "none, one or two tangential rows");
        problem.rows += 1 + widths(i);
    }
    problem.count = static_cast<int>(count);
    demand(problem.rows == static_cast<int>(rows) && delassus.shape(0) == rows && delassus.shape(1) == rows &&
               kinetic.shape(0) == count && resting.shape(0) == count && slack.shape(0) == count &&
               slides.shape(0) == count && sliding.shape(0) == count && sliding.shape(1) == 2,
           "a matrix (m, m), free motion (m,), and numbers of each contact");
    problem.delassus = delassus.data(), problem.free = free.data(), problem.kinetic = kinetic.data();
    problem.static_ = resting.data(), problem.slack = slack.data(), problem.sliding = sliding.data();
    return problem;
}

void bind_rules(nb::module_& m) {
    nb::class_<ForceRules>(m, "ForceRules")
        .def(nb::init<double, double, double, double, double, double, int>(), nb::arg("outside"), nb::arg("residual"),
             nb::arg("accuracy"), nb::arg("smallest_force"), nb::arg("settled"), nb::arg("apart"), nb::arg("steps"));

    nb::class_<Redundancy>(m, "Redundancy")
        .def(
            "__init__",
            [](Redundancy* self, double regular, double rank, double clear, double still, const ForceRules& forces,
               double tolerance,
               double nothing) { new (self) Redundancy{{regular, rank, clear, still}, forces, tolerance, nothing}; },
            nb::arg("regular"), nb::arg("rank"), nb::arg("clear"), nb::arg("still"), nb::arg("forces"),
            nb::arg("tolerance"), nb::arg("nothing"));

    nb::class_<PivotRules>(m, "PivotRules")
        .def(nb::init<double, double, double, double, double, double, double, double, double, double, double, double,
                      double, double, double, double, double, double, double, double, int, int, int, int, int, int, int,
                      std::vector<int>, ForceRules>(),
             nb::arg("tolerance"), nb::arg("creep"), nb::arg("lost"), nb::arg("regular"), nb::arg("rank"),
             nb::arg("clear_rank"), nb::arg("across"), nb::arg("across_singular"), nb::arg("turned"),
             nb::arg("nothing"), nb::arg("farthest_turn"), nb::arg("stalled_turn"), nb::arg("runaway"),
             nb::arg("still"), nb::arg("barely"), nb::arg("inside"), nb::arg("on_circle"), nb::arg("clear"),
             nb::arg("hangs"), nb::arg("blown_up"), nb::arg("quick_steps"), nb::arg("newton_steps"),
             nb::arg("followed"), nb::arg("inner"), nb::arg("agreements"), nb::arg("singly"), nb::arg("few_rounds"),
             nb::arg("sweeps"), nb::arg("forces"));
}

Chosen chosen_of(const Choice& modes, const Out& directions, const Choice& directed) {
    Chosen chosen;
    for (std::size_t i = 0; i < modes.shape(0); ++i) {
        chosen.modes.push_back(static_cast<Touch>(modes(i))), chosen.directed.push_back(directed(i) != 0);
        chosen.directions.push_back({directions.data()[2 * i], directions.data()[2 * i + 1]});
    }
    return chosen;
}

void bind_in_modes(nb::module_& m) {
    m.def(
        "in_modes",
        [](const ContactProblem& problem, const PivotRules& rules, Choice modes, Out directions, Choice directed) {
            const std::size_t count = problem.count;
            demand(modes.shape(0) == count && directed.shape(0) == count && directions.size() == 2 * count,
                   "modes, directions (count, 2), and whether they are known");
            Chosen chosen = chosen_of(modes, directions, directed);
            const Verdict verdict = in_modes(problem, rules, chosen, true);
            return verdict == Verdict::unknown ? std::optional<bool>() : verdict == Verdict::admissible;
        },
        "Whether modes are admissible, wherever contacts begin to slip in them; None where this does not tell.");
}

// Modes and directions of a search, which reads them from arrays of Python, and writes them back with its forces.
struct Choices {
    Choice modes;     // (count,)
    Out directions;   // (count, 2)
    Choice directed;  // (count,)
    Out forces;       // (rows,)

    Chosen start(const ContactProblem& problem) const {
        const std::size_t count = problem.count;
        demand(modes.shape(0) == count && directed.shape(0) == count && directions.size() == 2 * count &&
                   forces.size() == std::size_t(problem.rows),
               "modes, directions (count, 2), whether they are known, and forces (rows,)");
        return chosen_of(modes, directions, directed);
    }

    int tell(Pivoted found, const Chosen& chosen) const {
        if (found != Pivoted::solved) return static_cast<int>(found);
        for (std::size_t i = 0; i < chosen.modes.size(); ++i) {
            modes(i) = static_cast<int>(chosen.modes[i]), directed(i) = chosen.directed[i];
            std::copy_n(chosen.directions[i].data(), 2, directions.data() + 2 * i);
        }
        std::copy(chosen.forces.begin(), chosen.forces.end(), forces.data());
        return chosen.unique ? static_cast<int>(found) : NOT_UNIQUE;
    }
};

void bind_pivot(nb::module_& m) {
    m.def(
        "pivot",
        [](const ContactProblem& problem, const PivotRules& rules, bool singly, Choice modes, Out directions,
           Choice directed, Out forces) {
            const Choices choices{modes, directions, directed, forces};
            Chosen chosen = choices.start(problem);
            Pivoted found;
            {
                nb::gil_scoped_release released;
                found = pivot(problem, rules, chosen, singly);
                if (found == Pivoted::solved && has_idle_slips(problem, rules, chosen)) found = Pivoted::unknown;
            }
            return choices.tell(found, chosen);
        },
        "Modes corrected in place, and their forces: 0 where they are admissible (3: the smallest of many), 1 where "
        "corrections run in circles, 2 where this does not tell.");
    m.def(
        "search",
        [](Table delassus, Row free, Numbers widths, Row kinetic, Row resting, Row slack, Numbers slides, Table sliding,
           const PivotRules& rules, bool evenly, Choice modes, Out directions, Choice directed, Out forces) {
            const ContactProblem problem = problem_of(delassus, free, widths, kinetic, resting, slack, slides, sliding);
            const Choices choices{modes, directions, directed, forces};
            Chosen chosen = choices.start(problem);
            Pivoted found, shared = Pivoted::solved;
            {
                nb::gil_scoped_release released;
                found = search(problem, rules, chosen);
                if (found == Pivoted::solved && evenly) {
                    Chosen alike = chosen;
                    shared = share_evenly(problem, rules, alike);
                    if (shared == Pivoted::solved) chosen = alike;
                    if (shared == Pivoted::unknown) found = shared;
                }
                if (found == Pivoted::solved && has_idle_slips(problem, rules, chosen)) found = Pivoted::unknown;
            }
            return nb::make_tuple(choices.tell(found, chosen), shared != Pivoted::solved);
        },
        "The same, looked for from these modes as far as C++ knows; of several outcomes that of contacts that yield "
        "alike, if that is wanted, and whether none was found.");
}

void bind_sweep(nb::module_& m) {
    m.def(
        "sweep",
        [](const ContactProblem& problem, const PivotRules& rules, int rounds, Out forces) {
            demand(forces.size() == std::size_t(problem.rows), "forces (rows,)");
            std::vector<double> found(forces.data(), forces.data() + forces.size());
            bool well;
            {
                nb::gil_scoped_release released;
                well = sweep(problem, rules, rounds, found);
            }
            if (well) std::copy(found.begin(), found.end(), forces.data());
            return well;
        },
        "Forces after some sweeps over all contacts, in place; False where the block of a contact is singular.");
}

}  // namespace

void bind_contacts(nb::module_& m) {
    bind_rules(m);
    nb::class_<ContactProblem>(m, "ContactProblem")
        .def("__init__", [](ContactProblem* self, Table delassus, Row free, Numbers widths, Row kinetic, Row resting,
                            Row slack, Numbers slides, Table sliding) {
            new (self) ContactProblem(problem_of(delassus, free, widths, kinetic, resting, slack, slides, sliding));
        });
    bind_in_modes(m);
    bind_pivot(m);
    bind_sweep(m);
}
