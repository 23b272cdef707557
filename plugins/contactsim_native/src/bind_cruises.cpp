// What Python sees of arcs that are followed step by step.
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "bindings.hpp"
#include "cruise.hpp"
#include "hiding.hpp"
#include "meeting.hpp"
#include "survey.hpp"

using namespace native;

void bind_cruises(nb::module_& m) {
    nb::class_<Lower>(m, "Lower").def("__init__", [](Lower* self, Row a, Row c, Row missed, Row bend) {
        new (self) Lower{numbers(a), numbers(c), numbers(missed), numbers(bend)};
        const std::size_t rates = c.shape(0);
        demand(rates > 2 && rates <= Dop853::STAGES && a.shape(0) == rates * rates && missed.shape(0) == rates &&
                   bend.shape(0) == rates,
               "the tables of a method of a lower order");
    });

    nb::class_<Dop853>(m, "Dop853")
        .def("__init__", [](Dop853* self, Row a, Row c, Row e3, Row e5, Row d, Row largest, Row nodes, Row to_series,
                            Row grid, Row to_grid, Row to_slopes, const Lower& third, const Lower& fifth) {
            new (self) Dop853{numbers(a),    numbers(c),       numbers(e3),        numbers(e5),
                              numbers(d),    numbers(largest), numbers(nodes),     numbers(to_series),
                              numbers(grid), numbers(to_grid), numbers(to_slopes), third,
                              fifth};
            constexpr std::size_t all = Dop853::ALL, nodes_ = Dop853::NODES;
            demand(a.shape(0) == all * all && c.shape(0) == all && e3.shape(0) == 13 && e5.shape(0) == 13 &&
                       d.shape(0) == 4 * all && largest.shape(0) == 2 * Dop853::PARTS && nodes.shape(0) == nodes_ &&
                       to_series.shape(0) == nodes_ * nodes_ && to_grid.shape(0) == grid.shape(0) * nodes_ &&
                       to_slopes.shape(0) == grid.shape(0) * nodes_,
                   "the tables of DOP853");
        });

    nb::class_<Radau9>(m, "Radau9")
        .def(
            "__init__",
            [](Radau9* self, Row nodes, Row inverse, Row estimate, Row to_parts, double rate, double between,
               double safety, double growth, double shrinkage, double enough, double fresh, double converged,
               double relaxed, double least_share, int iterations, int order) {
                new (self) Radau9{numbers(nodes),
                                  numbers(inverse),
                                  numbers(estimate),
                                  numbers(to_parts),
                                  rate,
                                  between,
                                  safety,
                                  growth,
                                  shrinkage,
                                  enough,
                                  fresh,
                                  converged,
                                  relaxed,
                                  least_share,
                                  iterations,
                                  order};
                constexpr std::size_t stages = Radau9::STAGES;
                demand(nodes.shape(0) == stages && inverse.shape(0) == stages * stages && estimate.shape(0) == stages &&
                           to_parts.shape(0) == stages * stages,
                       "the tables of Radau9");
            },
            nb::arg("nodes"), nb::arg("inverse"), nb::arg("estimate"), nb::arg("to_parts"), nb::arg("rate"),
            nb::arg("between"), nb::arg("safety"), nb::arg("growth"), nb::arg("shrinkage"), nb::arg("enough"),
            nb::arg("fresh"), nb::arg("converged"), nb::arg("relaxed"), nb::arg("least_share"), nb::arg("iterations"),
            nb::arg("order"));

    nb::class_<Radau>(m, "Radau")
        .def(nb::init<const Radau9&>())
        .def(
            "derivative",
            [](const Radau& method) {
                const ChartDerivative& found = method.derivative();
                std::vector<double> whole(found.size() * found.size());
                found.whole(whole.data());
                return table(whole, found.size(), found.size());
            },
            "The derivative (dim, dim) of the rate in the chart, as the method has it.");

    nb::class_<Thresholds>(m, "Thresholds")
        .def(nb::init<>())
        .def_rw("safety", &Thresholds::safety)
        .def_rw("min_factor", &Thresholds::min_factor)
        .def_rw("max_factor", &Thresholds::max_factor)
        .def_rw("overshot", &Thresholds::overshot)
        .def_rw("off", &Thresholds::off)
        .def_rw("chart_radius", &Thresholds::chart_radius)
        .def_rw("turn", &Thresholds::turn)
        .def_rw("within_reach", &Thresholds::within_reach)
        .def_rw("short_step", &Thresholds::short_step)
        .def_rw("beyond", &Thresholds::beyond)
        .def_rw("near_edge", &Thresholds::near_edge)
        .def_rw("fading", &Thresholds::fading)
        .def_rw("loose", &Thresholds::loose)
        .def_rw("held", &Thresholds::held)
        .def_rw("held_fast", &Thresholds::held_fast)
        .def_rw("grown", &Thresholds::grown)
        .def_rw("first_share", &Thresholds::first_share)
        .def_rw("brief", &Thresholds::brief)
        .def_rw("briefly", &Thresholds::briefly)
        .def_rw("shortly", &Thresholds::shortly)
        .def_rw("cut", &Thresholds::cut)
        .def_rw("exact", &Thresholds::exact)
        .def_rw("spent", &Thresholds::spent)
        .def_rw("at_once", &Thresholds::at_once)
        .def_rw("flat", &Thresholds::flat)
        .def_rw("unresolved", &Thresholds::unresolved)
        .def_rw("bent", &Thresholds::bent)
        .def_rw("look", &Thresholds::look)
        .def_rw("stray", &Thresholds::stray)
        .def_rw("noise", &Thresholds::noise)
        .def_rw("most_looks", &Thresholds::most_looks)
        .def_rw("room", &Thresholds::room)
        .def_rw("monotone", &Thresholds::monotone)
        .def_rw("quiet", &Thresholds::quiet)
        .def_rw("dip", &Thresholds::dip)
        .def_rw("shallow", &Thresholds::shallow)
        .def_rw("approach", &Thresholds::approach)
        .def_rw("close_to_stop", &Thresholds::close_to_stop)
        .def_rw("away", &Thresholds::away)
        .def_rw("fastest", &Thresholds::fastest)
        .def_rw("jolt", &Thresholds::jolt)
        .def_rw("leave", &Thresholds::leave)
        .def_rw("jammed", &Thresholds::jammed)
        .def_rw("near_jam", &Thresholds::near_jam)
        .def_rw("no_speed", &Thresholds::no_speed)
        .def_rw("turning", &Thresholds::turning)
        .def_rw("no_force", &Thresholds::no_force)
        .def_rw("leap", &Thresholds::leap)
        .def_rw("few", &Thresholds::few)
        .def_rw("many", &Thresholds::many)
        .def_rw("easy", &Thresholds::easy)
        .def_rw("rounded", &Thresholds::rounded)
        .def_rw("spent_stiffly", &Thresholds::spent_stiffly)
        .def_rw("growing", &Thresholds::growing)
        .def_rw("slope", &Thresholds::slope)
        .def_rw("shortest_slope", &Thresholds::shortest_slope)
        .def_rw("soon", &Thresholds::soon)
        .def_rw("far", &Thresholds::far)
        .def_rw("landed", &Thresholds::landed)
        .def_rw("guess", &Thresholds::guess)
        .def_rw("lowest", &Thresholds::lowest)
        .def_rw("corrections", &Thresholds::corrections)
        .def_rw("looking", &Thresholds::looking)
        .def_rw("sooner", &Thresholds::sooner)
        .def_rw("behind", &Thresholds::behind)
        .def_rw("all_but", &Thresholds::all_but)
        .def_rw("expanding", &Thresholds::expanding);

    nb::class_<Expanding>(m, "Expanding")
        .def(nb::init<double, double, double, double, double, int>(), nb::arg("longer"), nb::arg("probe_time"),
             nb::arg("probe_turn"), nb::arg("least_turn"), nb::arg("middle"), nb::arg("turns"));

    nb::class_<Looking>(m, "Looking")
        .def(nb::init<int, int, double, double, double>(), nb::arg("looks"), nb::arg("parts_apart"), nb::arg("least"),
             nb::arg("most"), nb::arg("seen"));

    nb::class_<Reach>(m, "Reach")
        .def("__init__",
             [](Reach* self, const std::vector<int>& parent, Row length, Row slides, Row turns, Row places) {
                 const int joints = static_cast<int>(parent.size());
                 demand(joints > 0 && length.shape(0) == parent.size() && slides.shape(0) % joints == 0 &&
                            turns.shape(0) == slides.shape(0) && places.shape(0) % joints == 0,
                        "the tables of the reach");
                 new (self) Reach{joints,
                                  parent,
                                  numbers(length),
                                  Squares(numbers(slides), joints),
                                  Squares(numbers(turns), joints),
                                  Squares(numbers(places), joints)};
             });

    nb::class_<Gaps>(m, "Gaps")
        .def(nb::init<>())
        .def("add_point",
             [](Gaps& gaps, int joint, const std::vector<double>& centre, double radius, int host, double arm) {
                 gaps.contacts.push_back(point(joint, centre, radius));
                 gaps.hosts.push_back({{host, arm}, {}});
             })
        .def("add_feature",
             [](Gaps& gaps, int joint, const std::vector<double>& centre, double radius, int host, double arm,
                std::shared_ptr<const HillFeature> on_hills) {
                 gaps.contacts.push_back(feature(point(joint, centre, radius), on_hills));
                 gaps.hosts.push_back({{host, arm}, {}});
             })
        .def("add_round",
             [](Gaps& gaps, int joint, const std::vector<double>& centre, double radius, int host, double arm,
                std::shared_ptr<const Rounded> round) {
                 gaps.contacts.push_back(rounded(point(joint, centre, radius), round));
                 gaps.hosts.push_back({{host, arm}, {}});
             })
        .def(
            "add_pair",
            [](Gaps& gaps, int joint, const std::vector<double>& centre, double radius, int host, double arm,
               std::shared_ptr<const Solid> solid, const Sharp* sharp, int other_host, double other_arm) {
                gaps.contacts.push_back(pair(joint, centre, radius, solid, sharp));
                gaps.hosts.push_back({{host, arm}, {other_host, other_arm}});
            },
            nb::arg("joint"), nb::arg("centre"), nb::arg("radius"), nb::arg("host"), nb::arg("arm"), nb::arg("solid"),
            nb::arg("sharp").none(), nb::arg("other_host"), nb::arg("other_arm"))
        .def("add_features",
             [](Gaps& gaps, int joint, const std::vector<double>& centre, int host, double arm,
                std::shared_ptr<const Solid> solid, const Met& met, int other_host, double other_arm) {
                 gaps.contacts.push_back(featured(joint, centre, solid, met));
                 gaps.hosts.push_back({{host, arm}, {other_host, other_arm}});
             })
        .def("add_idle",
             [](Gaps& gaps, double gap) {
                 Contact contact;
                 contact.idle = gap;
                 gaps.contacts.push_back(contact);
                 gaps.hosts.push_back({});
             })
        .def("gather", [](Gaps& gaps) { gaps.couples = Couples(gaps.contacts); })
        .def("add_limit", [](Gaps& gaps, int velocity, double sign, int coordinate, double bound) {
            gaps.contacts.push_back(limit(velocity, sign, coordinate, bound));
            gaps.hosts.push_back({});
        });

    nb::class_<PythonArc>(m, "Arc", nb::type_slots(owner_slots<PythonArc>))
        .def("__init__",
             [](PythonArc* self, const Robot& robot, const ContactMode& mode, const PythonDrive& drive,
                const std::vector<int>& turning) {
                 new (self) PythonArc();
                 self->robot = robot, self->mode = mode, self->drive = drive, self->turning = turning;
                 self->called = drive.called;
             })
        .def("add_gaps",
             [](PythonArc& arc, std::shared_ptr<const Gaps> gaps, const std::vector<int>& contacts, double sense) {
                 for (const int i : contacts) {
                     demand(i >= 0 && i < static_cast<int>(gaps->contacts.size()), "contacts by their numbers");
                     Guard guard(GuardKind::gap);
                     guard.touching = {gaps, &gaps->contacts[i]}, guard.sense = sense;
                     arc.add(guard, gaps->hosts[i]);
                 }
             })
        .def("add_guard",
             [](PythonArc& arc, int kind, int closed, double friction, double along, double aside) {
                 demand(closed < static_cast<int>(arc.mode.closed.size()), "the number of a closed contact");
                 Guard guard(static_cast<GuardKind>(kind));
                 guard.closed = closed, guard.friction = friction, guard.direction = {along, aside};
                 arc.add(guard);
             })
        .def("add_push",
             [](PythonArc& arc, int closed, double sense) {
                 demand(closed >= 0 && closed < static_cast<int>(arc.mode.closed.size()), "the number of a contact");
                 Guard guard(GuardKind::push);
                 guard.closed = closed, guard.sense = sense;
                 arc.add(guard);
             })
        .def("add_side",
             [](PythonArc& arc, int closed, int side) {
                 demand(closed >= 0 && closed < static_cast<int>(arc.mode.closed.size()) &&
                            arc.mode.closed[closed].contact.region &&
                            (side != 0 || arc.mode.closed[closed].contact.features),
                        "a contact in a region, and one of its sides");
                 Guard guard(GuardKind::side);
                 guard.closed = closed, guard.side = side;
                 arc.add(guard);
             })
        .def("add_margin",
             [](PythonArc& arc, nb::object function) {
                 const std::size_t size = arc.robot.nq + arc.robot.nv + arc.drive.memory;
                 Guard guard(GuardKind::margin);
                 guard.margin = [function = nb::handle(function), size](double t, const double* x) {
                     nb::gil_scoped_acquire held;
                     return nb::cast<double>(function(t, state_of(x, size)));
                 };
                 arc.called.margins.push_back(function);
                 arc.add(guard);
             })
        .def("add_sines",
             [](PythonArc& arc, double constant, const std::vector<SineNumbers>& given) {
                 Guard guard(GuardKind::margin);
                 guard.margin = sines(arc.robot, constant, given);
                 arc.add(guard);
             })
        .def("leave_out",
             [](PythonArc& arc, std::shared_ptr<const Gaps> gaps, const std::vector<int>& contacts) {
                 arc.gaps = gaps, arc.left_out.assign(gaps->contacts.size(), 0);
                 for (const int i : contacts) arc.left_out.at(i) = 1;
             })
        .def("set_reach",
             [](PythonArc& arc, const Reach& reach, const std::vector<double>& arms) {
                 demand(arms.empty() || int(arms.size()) == reach.joints, "an arm of each joint");
                 arc.reach = reach, arc.arms = arms;
             })
        .def_prop_rw(
            "sense", [](const PythonArc& arc) { return arc.guards.jam.sense; },
            [](PythonArc& arc, double sense) { arc.guards.jam.sense = sense; })
        .def_prop_rw(
            "window", [](const PythonArc& arc) { return arc.guards.jam.window; },
            [](PythonArc& arc, double window) { arc.guards.jam.window = window; })
        .def_rw("limits_alone", &Arc::limits_alone)
        .def_rw("drift", &Arc::drift)
        .def_rw("gap", &Arc::gap)
        .def_rw("event_time", &Arc::event_time)
        .def_rw("slip_speed", &Arc::slip_speed)
        .def_prop_ro("record_size", &Arc::record_size);

    nb::class_<Course>(m, "Course")
        .def(nb::init<>())
        .def_rw("t", &Course::t)
        .def_rw("bound", &Course::bound)
        .def_rw("fresh", &Course::fresh)
        .def_rw("step", &Course::step)
        .def_rw("proposed", &Course::proposed)
        .def_rw("natural", &Course::natural)
        .def_rw("approach", &Course::approach)
        .def_rw("expandable", &Course::expandable)
        .def_rw("in_haste", &Course::in_haste)
        .def_rw("rtol", &Course::rtol)
        .def_rw("atol", &Course::atol)
        .def_rw("max_step", &Course::max_step)
        .def_rw("path_rtol", &Course::path_rtol)
        .def_rw("path_atol", &Course::path_atol)
        .def_rw("straight", &Course::straight)
        .def_rw("automatic", &Course::automatic)
        .def_rw("held_steps", &Course::held_steps)
        .def_rw("loose_steps", &Course::loose_steps)
        .def_rw("patience", &Course::patience)
        .def_rw("began", &Course::began)
        .def_rw("faded", &Course::faded)
        .def_rw("short_step", &Course::short_step)
        .def_rw("enough", &Course::enough)
        .def_rw("fades", &Course::fades)
        .def_rw("tried", &Course::tried)
        .def_rw("asked", &Course::asked)
        .def_rw("fastest", &Course::fastest)
        .def_rw("most", &Course::most)
        .def_rw("clearance", &Course::clearance)
        .def_rw("way", &Course::way)
        .def_ro("steps", &Course::steps)
        .def_ro("pending", &Course::pending)
        .def_ro("located", &Course::located)
        .def_ro("fired", &Course::fired)
        .def_ro("leader", &Course::leader)
        .def_ro("at_once", &Course::at_once)
        .def_ro("suspected", &Course::suspected)
        .def_ro("hemmed", &Course::hemmed)
        .def_ro("asks", &Course::asks)
        .def_ro("evaluations", &Course::evaluations);

    m.def(
        "cruise",
        [](const PythonArc& arc, const Dop853& method, Radau* stiff, const Thresholds& thresholds, Course& course,
           Out x, Out base, Out y, Out f, Out values, Out highest, Row floor, Row rounding, Row band, Out directions) {
            const std::size_t n = 2 * arc.robot.nv + arc.drive.memory, guards = arc.guards.all.size();
            const std::size_t size = arc.robot.nq + arc.robot.nv + arc.drive.memory;
            demand(x.size() == size && base.size() == size && y.size() == n && f.size() == n, "states and rates");
            demand(values.size() == guards && highest.size() == guards && floor.shape(0) == guards &&
                       rounding.shape(0) == guards && band.shape(0) == guards,
                   "values of each guard");
            demand(directions.size() == 2 * arc.mode.closed.size(), "a direction (2,) of each contact");
            course.x = x.data(), course.base = base.data(), course.y = y.data(), course.f = f.data();
            course.values = values.data(), course.highest = highest.data(), course.floor = floor.data(),
            course.rounding = rounding.data(), course.band = band.data();
            course.directions = directions.data();
            course.stiff = stiff;
            {
                nb::gil_scoped_release released;
                Workplace<CruiseRoom> workplace(arc.drive);
                workplace.room().forget();
                cruise(arc, method, thresholds, course, workplace.room());
            }
            const nb::object record = table(course.record, course.steps, arc.record_size());
            course.record.clear();
            const nb::object error = raised(course.error);
            course.error = nullptr;  // its traceback holds the course
            return nb::make_tuple(record, error);
        },
        nb::arg("arc"), nb::arg("method"), nb::arg("stiff").none(), nb::arg("thresholds"), nb::arg("course"),
        nb::arg("x"), nb::arg("base"), nb::arg("y"), nb::arg("f"), nb::arg("values"), nb::arg("highest"),
        nb::arg("floor"), nb::arg("rounding"), nb::arg("band"), nb::arg("directions"),
        "Steps until one may hold an event: their record (steps, record_size), and what a user's function raised.");

    m.def(
        "modes",
        [](Row matrix) {
            demand(matrix.shape(0) == std::size_t(Modes::MOST * Modes::MOST), "a matrix (5, 5)");
            Modes found;
            demand(find_modes(numbers(matrix), nullptr, found), "a matrix with eigenvalues of its own");
            using Numbers = std::vector<std::complex<double>>;
            Numbers rates;
            std::vector<Numbers> into, back;
            for (int k = 0; k < found.count; ++k) {
                rates.push_back(found.rates[k]);
                into.emplace_back(found.into[k], found.into[k] + Modes::MOST);
                back.emplace_back(found.back[k], found.back[k] + Modes::MOST);
            }
            return nb::make_tuple(rates, into, back);
        },
        "Of a matrix V diag(rates) V^-1 the rates, rows of V^-1 and columns of V, of complex pairs one with its column "
        "twice.");

    m.def(
        "gap",
        [](const PythonArc& arc, Row x, std::size_t guard) {
            demand(x.shape(0) >= std::size_t(arc.robot.nq + arc.robot.nv) && guard < arc.guards.all.size() &&
                       arc.guards.all[guard].kind == GuardKind::gap,
                   "a state, and the number of a gap");
            thread_local Sweep sweep;
            const Contact& contact = arc.guards.all[guard].contact();
            const double *q = x.data(), *v = x.data() + arc.robot.nq;
            sweep.prepare(arc.robot);
            if (!contact.is_limit()) sweep.motions(arc.robot, q, v);
            const int number = static_cast<int>(guard);
            const Nearing seen = shown_nearing(arc, number, sweep, q, v);
            return nb::make_tuple(shown_gap(arc, number, sweep, q), seen.gap, seen.rate, seen.smooth, seen.piece,
                                  seen.apart);
        },
        "A guard that is a gap; then as it is looked at: itself or a lower bound of the distance, its rate, whether "
        "there is one, the piece on which it is smooth, and whether it is apart. NaN where there is no ground.");

    m.def(
        "near",
        [](const Robot& robot, const ContactMode& mode, const Gaps& gaps, double t, Row x, double distance) {
            demand(x.shape(0) >= std::size_t(robot.nq + robot.nv), "a state");
            thread_local Sweep sweep;
            sweep.prepare(robot);
            sweep.ground = mode.terrain.at(t);
            sweep.places(robot, x.data());
            return near_ones(mode, gaps.contacts, gaps.couples, distance, sweep, x.data());
        },
        "Contacts whose gaps are at most so large, in rising order.");

    m.def(
        "survey",
        [](const Robot& robot, const ContactMode& mode, const Gaps& gaps, const PythonDrive& drive,
           Row watched, bool placed, Row shares, Row weights, Table directions,
           Table record) -> nb::object {
            const std::size_t nv = robot.nv, steps = record.shape(0), joints = placed ? robot.joints.size() : 0;
            demand(record.shape(1) >= 4 + 3 * (robot.nq + nv + drive.memory) + 8 * (2 * nv + drive.memory),
                   "a record of steps");
            demand(watched.size() == gaps.contacts.size(), "whether each contact is watched");
            demand(shares.size() && shares.size() == weights.size(), "weights of places of a step");
            demand(directions.shape(0) == mode.closed.size() && directions.shape(1) == 2, "directions of each contact");
            const Surveyed of{robot, mode, gaps, drive, {watched.data(), watched.data() + watched.size()}, placed};
            std::vector<double> along = numbers(directions);
            Survey found;
            const Places places_of_a_step{numbers(shares), numbers(weights)};
            const int count = static_cast<int>(steps), width = static_cast<int>(record.shape(1));
            bool known;
            {
                nb::gil_scoped_release released;
                known = survey(of, places_of_a_step, record.data(), count, width, along, found);
            }
            if (!known) return nb::none();
            const std::size_t places = steps * shares.size(), rows = mode.rows;
            return nb::make_tuple(table(found.forces, places, rows), table(found.rates, places, rows),
                                  table(found.by_forces, 1, nv), found.without_contacts, found.work, found.moved,
                                  found.force, found.speed, found.depth, table(found.joints, places, 12 * joints));
        },
        "What is seen of steps, see `Survey`; None where the motion is not known.");

    m.def(
        "slips",
        [](const Robot& robot, const ContactMode& mode, double t, Row x, Out rates) {
            demand(x.shape(0) >= std::size_t(robot.nq + robot.nv) && rates.size() == std::size_t(mode.rows),
                   "a state, and rates (rows,)");
            thread_local Sweep sweep;
            sweep.prepare(robot);
            sweep.ground = mode.terrain.at(t);
            sweep.motions(robot, x.data(), x.data() + robot.nq);
            return contact_velocities(mode, sweep, x.data() + robot.nq, rates.data());
        },
        "Contact velocities of the closed contacts; False where hills have no point nearest to one.");

    m.def(
        "projected",
        [](const PythonArc& arc, Table directions, double straight, Out x) -> nb::object {
            demand(x.size() >= std::size_t(arc.robot.nq + arc.robot.nv), "a state");
            thread_local Scratch scratch;
            const Projection found = project(arc.robot, arc.mode, references(arc.mode, directions, straight), arc.drift,
                                             scratch, x.data(), x.data() + arc.robot.nq);
            if (found == Projection::unknown) return nb::none();
            return nb::bool_(found == Projection::moved);
        },
        "Puts a state back onto its constraints, in place: whether it moved; None where rows depend on each other.");

    m.def(
        "guards",
        [](const PythonArc& arc, const Thresholds& thresholds, Table directions, double straight, double t, Row x,
           Out values) {
            demand(x.shape(0) == std::size_t(arc.robot.nq + arc.robot.nv + arc.drive.memory) &&
                       values.size() == arc.guards.all.size(),
                   "a state and values of each guard");
            Workplace<GuardRoom> workplace(arc.drive);
            GuardRoom& room = workplace.room();
            room.known = Known(), room.forget();
            References known = references(arc.mode, directions, straight);
            known.leap = thresholds.leap;
            return guard_values(arc, thresholds, known, t, x.data(), room, values.data());
        },
        "Values of all guards at (t, x); False where there are no forces.");

    m.def(
        "meet",
        [](const PythonArc& arc, const Thresholds& thresholds, Out directions, double straight, double t, Row x,
           int guard, Out values, Out acceleration, Out row) -> std::optional<std::tuple<bool, bool, double, double>> {
            const std::size_t nv = arc.robot.nv, guards = arc.guards.all.size();
            demand(x.shape(0) == arc.robot.nq + nv + arc.drive.memory && values.size() == guards &&
                       directions.size() == 2 * arc.mode.closed.size() && guard < static_cast<int>(guards) &&
                       acceleration.size() == nv && row.size() == 2 * nv,
                   "a state, a direction (2,) of each contact, and arrays (guards,), (nv,) and (2 nv,)");
            Workplace<GuardRoom> rooms(arc.drive);
            Workplace<DerivativeScratch> scratches(arc.drive);
            MetGuards found{values.data(), acceleration.data(), row.data()};
            if (!meet(arc, thresholds, straight, t, x.data(), guard, directions.data(), rooms.room(), scratches.room(),
                      found)) {
                return std::nullopt;
            }
            return std::make_tuple(found.row_known, found.steady, found.pressing, found.others);
        },
        "Where the motion of an arc ends or goes on: values of all guards, the acceleration, and the derivative of one "
        "guard by the state; whether that is told, whether nothing changes with the time, and the largest of all "
        "forces of contacts, and of all others. None where Python has to tell.");
}
