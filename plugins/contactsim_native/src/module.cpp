// What Python sees: Robot, ContactMode and Drive, made from plain arrays, and the two functions that runs call.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>

#include "bindings.hpp"
#include "stages.hpp"

using namespace native;

namespace {

void add_joint(Robot& robot, int kind, int parent, int q, int v, int size, const std::vector<double>& turn,
               const std::vector<double>& place, const std::vector<double>& axis, double mass,
               const std::vector<double>& centre, const std::vector<double>& inertia) {
    robot.joints.push_back({static_cast<JointKind>(kind), parent, q, v, size, mat3(turn), vec3(place), vec3(axis), mass,
                            vec3(centre), mat3(inertia)});
    robot.link();
}

// A function of Python as what drives a robot: (t, x) -> force (nv,) and rates of the memory, in one array.
Callback calling(nb::handle function, int nq, int nv, int memory) {
    return [function, nq, nv, memory](double t, const double* x, double* force, double* rate) {
        nb::gil_scoped_acquire held;
        const Row given = nb::cast<Row>(function(t, state_of(x, nq + nv + memory)));
        demand(given.shape(0) == static_cast<std::size_t>(nv + memory), "the drive gave another number of forces");
        std::copy(given.data(), given.data() + nv, force);
        std::copy(given.data() + nv, given.data() + nv + memory, rate);
    };
}

void add_hills(nb::module_& m) {
    nb::class_<HillRules>(m, "HillRules")
        .def(nb::init<double, double, double, double, int, double>(), nb::arg("reach"), nb::arg("longest"),
             nb::arg("found"), nb::arg("relative"), nb::arg("iterations"), nb::arg("aside"));
    nb::class_<Heights>(m, "Heights");
    nb::class_<Sinusoid, Heights>(m, "Sinusoid").def(nb::init<double, double, double>());
    nb::class_<Spline, Heights>(m, "Spline").def("__init__", [](Spline* self, Row x, Row y, Row cells) {
        demand(x.shape(0) > 1 && y.shape(0) > 1 && cells.shape(0) == 16 * (x.shape(0) - 1) * (y.shape(0) - 1),
               "lines x and y, and 16 numbers of each cell between them");
        new (self) Spline(numbers(x), numbers(y), numbers(cells));
    });
    nb::class_<Hills>(m, "Hills")
        .def(
            "__init__",
            [](Hills* self, std::shared_ptr<const Heights> heights, double curvature, const std::vector<double>& drift,
               std::optional<std::vector<double>> across, const HillRules& rules) {
                std::optional<Vec3> plane;
                if (across) plane = vec3(*across);
                new (self) Hills(heights, curvature, {drift.at(0), drift.at(1)}, plane, rules);
            },
            nb::arg("heights"), nb::arg("curvature"), nb::arg("drift"), nb::arg("across").none(), nb::arg("rules"));
}

void bind_robot(nb::module_& m) {
    nb::class_<Robot>(m, "Robot")
        .def("__init__",
             [](Robot* self, int nq, int nv, const std::vector<double>& gravity, Row armature, Row damping) {
                 new (self) Robot();
                 self->nq = nq, self->nv = nv, self->gravity = vec3(gravity);
                 self->armature = numbers(armature), self->damping = numbers(damping);
                 demand(self->armature.size() == std::size_t(nv) && self->damping.size() == std::size_t(nv),
                        "armature and damping have nv numbers");
                 self->link();
             })
        .def("add_joint", &add_joint)
        .def("add_spring", [](Robot& robot, int q, int v, double stiffness, double rest) {
            robot.springs.push_back({q, v, stiffness, rest});
        })
        .def("add_pin",
             [](Robot& robot, int first, const std::vector<double>& there, int second,
                const std::vector<double>& beside) {
                 robot.loops.pins.push_back({{first, vec3(there)}, {second, vec3(beside)}});
             })
        .def("add_coupling",
             [](Robot& robot, const std::vector<std::tuple<int, int, double>>& parts, double value) {
                 Coupling coupling{{}, value};
                 for (const auto& [q, v, factor] : parts) coupling.parts.push_back({q, v, factor});
                 robot.loops.couplings.push_back(coupling);
             })
        .def("close", [](Robot& robot, int rank, double negligible) {
            robot.loops.rank = rank, robot.loops.negligible = negligible;
        });
}

void bind_laws(nb::module_& m) {
    nb::class_<Turning>(m, "Turning")
        .def(nb::init<int, double, double, double, double, double>(), nb::arg("steps"), nb::arg("across"),
             nb::arg("turned"), nb::arg("farthest"), nb::arg("across_singular"), nb::arg("stalled"));

    nb::class_<Yielding>(m, "Yielding")
        .def(
            "__init__",
            [](Yielding* self, double stiffness, double exponent, double damping, double loss, double friction,
               double slip_speed, double excess, double stribeck_speed, double viscous, bool by_factor) {
                new (self) Yielding{stiffness,  exponent, damping,        loss,    friction,
                                    slip_speed, excess,   stribeck_speed, viscous, by_factor};
            },
            nb::arg("stiffness"), nb::arg("exponent"), nb::arg("damping"), nb::arg("loss"), nb::arg("friction"),
            nb::arg("slip_speed"), nb::arg("excess"), nb::arg("stribeck_speed"), nb::arg("viscous"),
            nb::arg("by_factor"));
}

void bind_mode(nb::module_& m) {
    nb::class_<ContactMode>(m, "ContactMode")
        .def("__init__",
             [](ContactMode* self, Table basis, const std::vector<double>& belt, const std::vector<double>& point,
                const Turning& turning) {
                 new (self) ContactMode();
                 self->turning = turning;
                 demand(basis.shape(1) == 3 && basis.shape(0) >= 1 && basis.shape(0) <= 3, "the basis is (1 to 3, 3)");
                 for (std::size_t d = 0; d < basis.shape(0); ++d) {
                     self->terrain.basis.push_back({basis(d, 0), basis(d, 1), basis(d, 2)});
                 }
                 self->terrain.belt = vec3(belt), self->terrain.point = vec3(point);
             })
        .def("on_hills", [](ContactMode& mode, std::shared_ptr<const Hills> hills) { mode.terrain.hills = hills; })
        .def("oscillate", [](ContactMode& mode, const std::vector<double>& amplitude, double pace,
                             double phase) { mode.terrain.motion = Oscillation{vec3(amplitude), pace, phase}; })
        .def("add_point",
             [](ContactMode& mode, int joint, const std::vector<double>& centre, double radius, int state,
                double friction) {
                 mode.closed.push_back({point(joint, centre, radius), static_cast<State>(state), friction});
                 mode.count();
             })
        .def("add_feature",
             [](ContactMode& mode, int joint, const std::vector<double>& centre, double radius,
                std::shared_ptr<const HillFeature> on_hills, int state, double friction) {
                 Contact contact = feature(point(joint, centre, radius), on_hills);
                 contact.region = Region{};
                 mode.closed.push_back({contact, static_cast<State>(state), friction});
                 mode.count();
             })
        .def(
            "add_round",
            [](ContactMode& mode, int joint, const std::vector<double>& centre, double radius,
               std::shared_ptr<const Rounded> round, const std::optional<Region>& region, int state, double friction) {
                Contact contact = rounded(point(joint, centre, radius), round);
                contact.region = region;
                mode.closed.push_back({contact, static_cast<State>(state), friction});
                mode.count();
            },
            nb::arg("joint"), nb::arg("centre"), nb::arg("radius"), nb::arg("round"), nb::arg("region").none(),
            nb::arg("state"), nb::arg("friction"))
        .def("frame_pairs",
             [](ContactMode& mode, const std::vector<double>& start, const std::vector<std::vector<double>>& tangents,
                const std::vector<double>& across) {
                 mode.terrain.frame = {static_cast<int>(mode.terrain.basis.size()),
                                       vec3(start),
                                       {vec3(tangents.at(0)), vec3(tangents.at(1))},
                                       vec3(across)};
             })
        .def(
            "add_pair",
            [](ContactMode& mode, int joint, const std::vector<double>& centre, double radius,
               std::shared_ptr<const Solid> solid, const Sharp* sharp, const std::optional<Region>& region, int state,
               double friction) {
                Contact contact = pair(joint, centre, radius, solid, sharp);
                contact.region = region;
                mode.closed.push_back({contact, static_cast<State>(state), friction});
                mode.count();
            },
            nb::arg("joint"), nb::arg("centre"), nb::arg("radius"), nb::arg("solid"), nb::arg("sharp").none(),
            nb::arg("region").none(), nb::arg("state"), nb::arg("friction"))
        .def(
            "add_features",
            [](ContactMode& mode, int joint, const std::vector<double>& centre, std::shared_ptr<const Solid> solid,
               const Met& met, const std::optional<Region>& region, int state, double friction) {
                Contact contact = featured(joint, centre, solid, met);
                contact.region = region;
                mode.closed.push_back({contact, static_cast<State>(state), friction});
                mode.count();
            },
            nb::arg("joint"), nb::arg("centre"), nb::arg("solid"), nb::arg("met"), nb::arg("region").none(),
            nb::arg("state"), nb::arg("friction"))
        .def("add_limit",
             [](ContactMode& mode, int velocity, double sign, int coordinate, double bound) {
                 mode.closed.push_back({limit(velocity, sign, coordinate, bound), State::stick, 0.0});
                 mode.count();
             })
        .def("give_way",
             [](ContactMode& mode, bool released, const Yielding& law) {
                 demand(!mode.closed.empty(), "a closed contact comes first");
                 mode.closed.back().state = released ? State::released : State::yields, mode.closed.back().law = law;
             })
        .def("make_redundant",
             [](ContactMode& mode, const Redundancy& rules, const std::vector<double>& resting) {
                 demand(resting.size() == mode.closed.size(), "a coefficient of static friction a closed contact");
                 mode.redundant = rules;
                 for (std::size_t i = 0; i < resting.size(); ++i) mode.closed[i].resting = resting[i];
             })
        .def_ro("rows", &ContactMode::rows);
}

void bind_drive(nb::module_& m) {
    nb::class_<Pieces>(m, "Pieces")
        .def("__init__", [](Pieces* self, const std::vector<double>& knots, Cube coefficients, int nq, int again) {
            const int size = coefficients.shape(2), nv = (size - nq) / 2;
            demand(knots.size() >= 2 && coefficients.shape(0) + 1 == knots.size() && coefficients.shape(1) >= 1 &&
                       size == nq + 2 * nv && again + 1 < int(knots.size()),
                   "knots (n + 1,) and coefficients (n, degree + 1, nq + 2 nv)");
            new (self) Pieces{knots, numbers(coefficients), static_cast<int>(coefficients.shape(1)), nq, nv, again};
        });

    nb::class_<PythonDrive>(m, "Drive", nb::type_slots(owner_slots<PythonDrive>))
        .def("__init__",
             [](PythonDrive* self, int memory) {
                 new (self) PythonDrive();
                 self->memory = memory;
             })
        .def("hold", [](PythonDrive& drive, int at,
                        const std::vector<int>& velocities) { drive.held_at = at, drive.held_on = velocities; })
        .def("gains",
             [](PythonDrive& drive, const Robot& robot, Row reference, Row kp, Row kd, Row driven) {
                 JointGains gains{numbers(reference), numbers(kp), numbers(kd), numbers(driven), {}, {}};
                 demand(gains.reference.size() == std::size_t(robot.nq) && gains.kp.size() == std::size_t(robot.nv) &&
                            gains.kd.size() == std::size_t(robot.nv) && gains.driven.size() == std::size_t(robot.nv),
                        "a reference (nq,), gains (nv,) and what is driven (nv,)");
                 for (std::size_t j = 0; j < robot.joints.size(); ++j) {
                     const Joint& joint = robot.joints[j];
                     for (int k = joint.v; k < joint.v + joint.size; ++k) {
                         demand(gains.kp[k] == 0.0 || joint.size == 1, "a gain of a joint that is no single angle");
                     }
                     if (joint.size == 1 && gains.kp[joint.v] != 0.0) gains.joints.push_back(static_cast<int>(j));
                 }
                 drive.gains = gains;
             })
        .def("follow",
             [](PythonDrive& drive, const Robot& robot, nb::object function) {
                 demand(drive.gains.has_value(), "gains come first");
                 drive.called.reference = function, drive.gains->calls_back = true;
                 drive.gains->moving = [function = nb::handle(function), nq = robot.nq, nv = robot.nv](
                                           double t, double* reference) {
                     nb::gil_scoped_acquire held;
                     const Row given = nb::cast<Row>(function(t));
                     demand(given.shape(0) == std::size_t(nq + 2 * nv), "the reference has another number of numbers");
                     std::copy(given.data(), given.data() + nq + 2 * nv, reference);
                 };
             })
        .def("follow_pieces",
             [](PythonDrive& drive, std::shared_ptr<const Pieces> pieces) {
                 demand(drive.gains.has_value() && int(drive.gains->kp.size()) == pieces->nv, "gains come first");
                 drive.gains->moving = [pieces](double t, double* reference) { pieces->at(t, reference); };
             })
        .def("call", [](PythonDrive& drive, const Robot& robot, nb::object function) {
            drive.called.drive = function;
            drive.callback = calling(function, robot.nq, robot.nv, drive.memory);
        });
}

void bind_rates(nb::module_& m) {
    m.def(
        "run_stages",
        [](const Robot& robot, const ContactMode& mode, Table directions, double straight, const PythonDrive& drive,
           Table a, Row c, Row base, double t, double h, Row y, Out k, Out points, int first, int last) {
            const std::size_t n = 2 * robot.nv + drive.memory, width = a.shape(1), end = last;
            demand(a.shape(0) >= end && c.shape(0) >= end && width >= end, "more stages than coefficients");
            demand(base.shape(0) == std::size_t(robot.nq + robot.nv + drive.memory) && y.shape(0) == n,
                   "a state and its tangent vector");
            demand(k.ndim() == 2 && points.ndim() == 2 && k.shape(0) >= end && points.shape(0) >= end &&
                       k.shape(1) == n && points.shape(1) == n && first >= 1,
                   "rates and points (stages, dim)");
            const Method method{a.data(), c.data(), static_cast<int>(width)};
            const References slips = references(mode, directions, straight);
            const auto run = [&] {
                Known known;
                run_stages(robot, mode, slips, drive, method, base.data(), t, h, y.data(), k.data(), points.data(),
                           first, last, known);
            };
            if (drive.calls_back()) return run();
            nb::gil_scoped_release released;
            run();
        },
        "Rates k[first:last] of the stages y + h a k, and their points, in a chart around a state.");

    m.def(
        "accelerate",
        [](const Robot& robot, const ContactMode& mode, Table directions, double straight, const PythonDrive& drive,
           double t, Row x, Out acceleration, Out rates, Out forces,
           Out change) -> std::optional<std::tuple<double, double, double, std::vector<int>>> {
            const std::size_t nv = robot.nv, rows = mode.rows;
            demand(x.shape(0) == robot.nq + nv + drive.memory && acceleration.size() == nv && rates.size() == rows &&
                       forces.size() == rows && change.size() == rows,
                   "a state and arrays (nv,), (rows,), (rows,), (rows,)");
            thread_local Scratch scratch;
            Forces told;
            Known known;
            std::vector<double> applied(nv, 0.0), memory(drive.memory);
            drive.at(robot, t, x.data(), applied.data(), memory.data(), known);
            scratch.sweep.ground = mode.terrain.at(t);
            const References slips = references(mode, directions, straight);
            if (!accelerate(robot, mode, slips, x.data(), x.data() + robot.nq, applied.data(), scratch,
                            acceleration.data(), &told)) {
                return std::nullopt;
            }
            double others = 0.0;
            for (std::size_t k = 0; k < nv; ++k) {
                others = std::max(others, std::abs(scratch.sweep.free[k] + applied[k]));
            }
            std::copy(told.rates.begin(), told.rates.end(), rates.data());
            std::copy(told.forces.begin(), told.forces.end(), forces.data());
            along_rows(robot, mode, scratch, acceleration.data(), change.data());
            return std::tuple(others, regularity_there(robot, mode, scratch), told.margin, told.loose);
        },
        "Acceleration (nv,), and contact velocities, forces and accelerations (rows,) of a mode under its drive; told "
        "are the largest of all other forces, what friction leaves of the determinant of the closed contacts, and the "
        "margin of redundant forces and the closed contacts that have them; None where its rows depend on each other.");
}

void bind_charts(nb::module_& m) {
    m.def(
        "integrate",
        [](const Robot& robot, Row q, Row along, Out end) {
            demand(q.shape(0) == std::size_t(robot.nq) && along.shape(0) == std::size_t(robot.nv) &&
                       end.size() == std::size_t(robot.nq),
                   "arrays (nq,), (nv,), (nq,)");
            integrate(robot, q.data(), along.data(), end.data());
        },
        "The configuration reached along a tangent vector.");

    m.def(
        "chart_rate",
        [](const Robot& robot, Row along, Out rate) {
            demand(along.shape(0) >= std::size_t(robot.nv) && rate.size() >= std::size_t(robot.nv), "arrays (nv,)");
            chart_rate(robot, along.data(), rate.data());
        },
        "dexp^-1 of a tangent vector on a body velocity, in place.");
}

}  // namespace

NB_MODULE(_native, m) {
    bind_robot(m);
    add_hills(m);
    bind_rounds(m);
    bind_solids(m);
    bind_features(m), bind_flats(m);
    bind_laws(m);
    bind_mode(m);
    bind_drive(m);
    bind_rates(m);
    bind_charts(m);
    bind_contacts(m);
    bind_cruises(m);
    bind_events(m);
    bind_journeys(m);
    bind_variations(m);
}
