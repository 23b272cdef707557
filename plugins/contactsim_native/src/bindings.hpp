// What the bindings share: arrays of Python, and demands on them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "guards.hpp"

namespace nb = nanobind;

using Row = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

inline void demand(bool fits, const char* what) {
    if (!fits) throw nb::value_error(what);
}

template <typename Numbers>
std::vector<double> numbers(const Numbers& a) {
    return {a.data(), a.data() + a.size()};
}

inline native::References references(const native::ContactMode& mode, const Table& directions, double straight) {
    demand(directions.shape(0) == mode.closed.size() && directions.shape(1) == 2, "a direction (2,) of each contact");
    return {directions.data(), straight};
}

inline native::Vec3 vec3(const std::vector<double>& a) {
    return {a.at(0), a.at(1), a.at(2)};
}

// From nine numbers, row by row.
inline native::Mat3 mat3(const std::vector<double>& a) {
    return {{a.at(0), a.at(3), a.at(6)}, {a.at(1), a.at(4), a.at(7)}, {a.at(2), a.at(5), a.at(8)}};
}

inline native::Contact point(int joint, const std::vector<double>& centre, double radius) {
    native::Contact contact;
    contact.joint = joint, contact.centre = vec3(centre), contact.radius = radius;
    return contact;
}

// What of a polyhedron touches a solid; none of it: a sphere does.
struct Sharp {
    std::optional<native::Vec3> inner;
    std::shared_ptr<const native::EdgeOnEdge> edges;
    double extent = 0.0;
    std::vector<native::Vec3> beside;
    bool meets_corners = true;
};

// Features that meet by functions of places, and the axes of their body in those of its joint.
struct Met {
    std::shared_ptr<const native::FeaturePair> features;
    native::Mat3 turn;
    int disc;
};

inline native::Contact feature(native::Contact contact, std::shared_ptr<const native::HillFeature> on_hills) {
    contact.feature = on_hills;
    return contact;
}

inline native::Contact rounded(native::Contact contact, std::shared_ptr<const native::Rounded> round) {
    contact.round = round;
    return contact;
}

inline native::Contact pair(int joint, const std::vector<double>& centre, double radius,
                            std::shared_ptr<const native::Solid> solid, const Sharp* sharp) {
    native::Contact contact = point(joint, centre, radius);
    contact.other = solid;
    if (!sharp) return contact;
    contact.inner = sharp->inner, contact.edges = sharp->edges, contact.extent = sharp->extent;
    contact.beside = sharp->beside, contact.meets_corners = sharp->meets_corners;
    return contact;
}

inline native::Contact featured(int joint, const std::vector<double>& centre,
                                std::shared_ptr<const native::Solid> solid, const Met& met) {
    native::Contact contact = point(joint, centre, 0.0);
    contact.other = solid, contact.features = met.features, contact.turn = met.turn, contact.disc = met.disc;
    contact.extent = met.features->extent;
    return contact;
}

inline native::Contact limit(int velocity, double sign, int coordinate, double bound) {
    native::Contact contact;
    contact.velocity = velocity, contact.sign = sign, contact.coordinate = coordinate, contact.bound = bound;
    return contact;
}

// Amplitude, phase, and (coordinate, factor) of each angle.
using SineNumbers = std::tuple<double, double, std::vector<std::pair<int, double>>>;

inline native::Sines sines(const native::Robot& robot, double constant, const std::vector<SineNumbers>& given) {
    native::Sines found{constant, {}};
    for (const auto& [amplitude, phase, angles] : given) {
        for (const auto& [coordinate, factor] : angles) {
            demand(coordinate >= 0 && coordinate < robot.nq, "coordinates of the robot");
        }
        found.all.push_back({amplitude, phase, angles});
    }
    return found;
}

// A table of numbers that Python owns.
inline nb::object table(const std::vector<double>& numbers, std::size_t rows, std::size_t columns) {
    double* copy = new double[numbers.size() + 1];
    std::copy(numbers.begin(), numbers.end(), copy);
    nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(copy, {rows, columns}, owner));
}

// What a function of Python raised, with its traceback; None: nothing.
inline nb::object raised(const std::exception_ptr& error) {
    if (!error) return nb::none();
    try {
        std::rethrow_exception(error);
    } catch (nb::python_error& found) {
        nb::object value = nb::borrow(found.value());
        if (found.traceback().is_valid()) PyException_SetTraceback(value.ptr(), found.traceback().ptr());
        return value;
    }
}

// Functions of Python that drive a robot. Who has them keeps them, and shows them to the garbage collector; copies of a
// native::Drive call them.
struct Called {
    nb::object drive, reference;
    std::vector<nb::object> margins;
};
struct PythonDrive : native::Drive {
    Called called;
};
struct PythonArc : native::Arc {
    Called called;
};

// A state (size,) as an array that Python owns.
inline nb::ndarray<nb::numpy, double, nb::ndim<1>> state_of(const double* x, std::size_t size) {
    double* copy = new double[size];
    std::copy(x, x + size, copy);
    nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return nb::ndarray<nb::numpy, double, nb::ndim<1>>(copy, {size}, owner);
}

template <typename Owner>
int visit_called(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const Called& called = nb::inst_ptr<Owner>(self)->called;
    Py_VISIT(called.drive.ptr());
    Py_VISIT(called.reference.ptr());
    for (const nb::object& margin : called.margins) Py_VISIT(margin.ptr());
    return 0;
}

template <typename Owner>
int clear_called(PyObject* self) {
    nb::inst_ptr<Owner>(self)->called = {};
    return 0;
}

template <typename Owner>
PyType_Slot owner_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_called<Owner>)},
                             {Py_tp_clear, reinterpret_cast<void*>(clear_called<Owner>)},
                             {0, nullptr}};

void bind_contacts(nb::module_& m);
void bind_cruises(nb::module_& m);
void bind_events(nb::module_& m);
void bind_features(nb::module_& m);
void bind_flats(nb::module_& m);
void bind_journeys(nb::module_& m);
void bind_rounds(nb::module_& m);
void bind_solids(nb::module_& m);
void bind_variations(nb::module_& m);
