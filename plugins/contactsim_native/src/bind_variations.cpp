// What Python sees of derivatives: those of the accelerations at a state, and variations along an arc.
#include "bindings.hpp"
#include "variations.hpp"

using namespace native;

namespace {

void add_schemes(nb::module_& m) {
    const auto made = [](Scheme* self, Row nodes, Table matrix, Table estimates, double error, Row places, Row defect,
                         double worst) {
        const std::size_t s = nodes.shape(0);
        demand(matrix.shape(0) == s && matrix.shape(1) == s && estimates.shape(0) >= 2 && estimates.shape(1) == s,
               "a scheme has nodes (s,), a matrix (s, s) and estimates (k, s)");
        demand(places.shape(0) == defect.shape(0), "each place of the quadrature of a defect has a weight");
        new (self) Scheme{numbers(nodes),  numbers(matrix), numbers(estimates), error,
                          numbers(places), numbers(defect), worst};
    };
    nb::class_<Scheme>(m, "Scheme").def("__init__", made);
    nb::class_<Control>(m, "Control")
        .def(nb::init<double, double, double, double, double, double, int, double>(), nb::arg("growth"),
             nb::arg("shrinkage"), nb::arg("safety"), nb::arg("smallest"), nb::arg("tiny"), nb::arg("even"),
             nb::arg("passes"), nb::arg("spread"));
}

void add_path(nb::module_& m) {
    nb::class_<Path>(m, "Path").def(
        "__init__", [](Path* self, Row from, Row to, Row start, Row step_start, Row step_end, Table base, Cube series) {
            const std::size_t pieces = series.shape(0);
            for (const Row* row : {&from, &to, &start, &step_start, &step_end}) {
                demand(row->shape(0) == pieces, "times of each piece");
            }
            demand(base.shape(0) == pieces && pieces > 0 && series.shape(1) > 0, "a base and a series of each piece");
            new (self) Path{static_cast<int>(pieces),
                            static_cast<int>(series.shape(1)),
                            static_cast<int>(series.shape(2)),
                            static_cast<int>(base.shape(1)),
                            numbers(from),
                            numbers(to),
                            numbers(start),
                            numbers(step_start),
                            numbers(step_end),
                            numbers(base),
                            {series.data(), series.data() + series.size()}};
        });
}

bool derivatives_on(const Ground& ground, const Robot& robot, const ContactMode& mode, Table directions,
                    double straight, Row q, Row v, Row applied, Table applied_x, Out acceleration_x, Out forces_x,
                    Out rates_x) {
    const std::size_t nv = robot.nv, rows = mode.rows, columns = applied_x.shape(1);
    demand(q.shape(0) == std::size_t(robot.nq) && v.shape(0) == nv && applied.shape(0) == nv &&
               applied_x.shape(0) == nv && columns >= 2 * nv && acceleration_x.size() == nv * columns &&
               forces_x.size() == rows * columns && rates_x.size() == rows * columns,
           "arrays (nq,), (nv,), (nv,), (nv, n), (nv, n), (rows, n), (rows, n)");
    thread_local DerivativeScratch scratch;
    const int n = static_cast<int>(columns), stride = padded(n);
    Aligned room(nv * stride, 0.0);
    for (std::size_t k = 0; k < nv; ++k) std::copy_n(applied_x.data() + k * n, n, &room[k * stride]);
    ContactDerivatives told;
    scratch.scratch.sweep.ground = ground;
    if (!differentiate(robot, mode, references(mode, directions, straight), q.data(), v.data(), applied.data(),
                       {room.data(), stride}, n, scratch, &told)) {
        return false;
    }
    const auto tell = [&](const Aligned& found, Out out) {
        for (std::size_t k = 0; k * n < out.size(); ++k) std::copy_n(&found[k * stride], n, out.data() + k * n);
    };
    tell(room, acceleration_x), tell(told.forces, forces_x), tell(told.rates, rates_x);
    return true;
}

// Those on ground that stands still.
bool derivatives(const Robot& robot, const ContactMode& mode, Table directions, double straight, Row q, Row v,
                 Row applied, Table applied_x, Out acceleration_x, Out forces_x, Out rates_x) {
    demand(!mode.terrain.motion, "the time, where the ground moves");
    return derivatives_on({}, robot, mode, directions, straight, q, v, applied, applied_x, acceleration_x, forces_x,
                          rates_x);
}

// Derivatives of the equations of motion by (dq, dv), with accelerations and forces held.
bool term_derivatives(const Robot& robot, const ContactMode& mode, Row q, Row v, Row a, Row forces, Out residual_x,
                      Out rates_x, Out motion_x) {
    const std::size_t nv = robot.nv, rows = mode.rows, n = 2 * nv;
    demand(!mode.terrain.motion && !robot.loops.size(), "a ground that stands still, and a robot without loops");
    demand(q.shape(0) == std::size_t(robot.nq) && v.shape(0) == nv && a.shape(0) == nv && forces.shape(0) == rows &&
               residual_x.size() == nv * n && rates_x.size() == rows * n && motion_x.size() == rows * n,
           "arrays (nq,), (nv,), (nv,), (rows,), (nv, 2 nv), (rows, 2 nv), (rows, 2 nv)");
    thread_local DerivativeScratch scratch;
    Matrix found;
    found.clear(robot.nv, static_cast<int>(n));
    scratch.scratch.sweep.ground = {};
    if (!differentiate_terms(robot, mode, q.data(), v.data(), a.data(), forces.data(), found.rows(), scratch)) {
        return false;
    }
    const int stride = found.stride;
    for (std::size_t k = 0; k < nv; ++k) {
        for (std::size_t j = 0; j < n; ++j) residual_x.data()[k * n + j] = -found.rows()[k][j];
    }
    for (std::size_t k = 0; k < rows; ++k) {
        std::copy_n(&scratch.rates[k * stride], n, rates_x.data() + k * n);
        std::copy_n(&scratch.change[k * stride], n, motion_x.data() + k * n);
    }
    return true;
}

// The same under the drive of the mode; the arrays have as many columns as that says, by dq, dv and what is held.
bool driven_derivatives(const Robot& robot, const ContactMode& mode, Table directions, double straight,
                        const PythonDrive& drive, double t, Row x, Out acceleration_x, Out forces_x, Out rates_x) {
    const std::size_t nv = robot.nv, columns = 2 * nv + drive.held_on.size();
    demand(!drive.callback, "derivatives of a function that is called back");
    demand(x.shape(0) == robot.nq + nv + drive.memory, "a state");
    Known known;
    std::vector<double> applied(nv, 0.0), memory(drive.memory), applied_x(nv * columns, 0.0);
    drive.at(robot, t, x.data(), applied.data(), memory.data(), known);
    drive.by_state(robot, {applied_x.data(), static_cast<int>(columns)});
    const Row q(x.data(), {std::size_t(robot.nq)}), v(x.data() + robot.nq, {nv}), force(applied.data(), {nv});
    return derivatives_on(mode.terrain.at(t), robot, mode, directions, straight, q, v, force,
                          Table(applied_x.data(), {nv, columns}), acceleration_x, forces_x, rates_x);
}

// How it ended, and at which time.
nb::tuple propagated(const Robot& robot, const ContactMode& mode, Table directions, double straight,
                     const PythonDrive& drive, const Path& path, const std::vector<Scheme>& schemes, Control control,
                     double rtol, double atol, double t0, double t1, double first_step, Out variations) {
    demand(!drive.callback, "variations of a function that is called back");
    demand(path.size == robot.nq + robot.nv + drive.memory && path.dim == 2 * robot.nv + drive.memory,
           "states and tangent vectors of the robot");
    demand(variations.ndim() == 2 && variations.shape(0) >= std::size_t(path.dim), "variations (dim + k, m)");
    const int turns = static_cast<int>(variations.shape(0)) - path.dim;
    demand(turns == 0 || turns == held_slips(mode), "turns of all slips in space whose direction is held");
    const References slips = references(mode, directions, straight);
    const Motion motion{robot, mode, drive, slips.direction, straight, turns};
    control.rtol = rtol, control.atol = atol;
    const int width = static_cast<int>(variations.shape(1));
    const auto run = [&] {
        return propagate(motion, path, schemes, control, t0, first_step, t1, variations.data(), width);
    };
    Ending ending;
    if (drive.calls_back()) {
        ending = run();
    } else {
        nb::gil_scoped_release released;
        ending = run();
    }
    return nb::make_tuple(static_cast<int>(ending), t1);
}

}  // namespace

void bind_variations(nb::module_& m) {
    add_schemes(m), add_path(m);
    m.def("derivatives", &derivatives,
          "Derivatives of acceleration, forces and contact velocities by the state, from those of the applied forces; "
          "False where the rows of the mode depend on each other.");
    m.def("term_derivatives", &term_derivatives,
          "Derivatives of the equations of motion by the state, accelerations and forces held; False where a contact "
          "has no rows.");
    m.def("driven_derivatives", &driven_derivatives, "The same under the drive of the mode.");
    m.def("propagate", &propagated, "Variations along a path, in place; (how it ended, when).");
}
