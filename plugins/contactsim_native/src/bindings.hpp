// What the bindings share: arrays of Python, and demands on them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "contact_mode.hpp"

namespace nb = nanobind;

using Row = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

inline void demand(bool fits, const char* what) {
    if (!fits) throw nb::value_error(what);
}

inline std::vector<double> numbers(const Row& a) {
    return {a.data(), a.data() + a.size()};
}
inline std::vector<double> numbers(const Table& a) {
    return {a.data(), a.data() + a.size()};
}

inline native::References references(const native::ContactMode& mode, const Table& directions, double straight) {
    demand(directions.shape(0) == mode.closed.size() && directions.shape(1) == 2, "a direction (2,) of each contact");
    return {directions.data(), straight};
}

inline native::Vec3 vec3(const std::vector<double>& a) {
    return {a.at(0), a.at(1), a.at(2)};
}

inline native::Contact point(int joint, const std::vector<double>& centre, double radius) {
    native::Contact contact;
    contact.joint = joint, contact.centre = vec3(centre), contact.radius = radius;
    return contact;
}

inline native::Contact limit(int velocity, double sign, int coordinate, double bound) {
    native::Contact contact;
    contact.velocity = velocity, contact.sign = sign, contact.coordinate = coordinate, contact.bound = bound;
    return contact;
}

void bind_cruises(nb::module_& m);
void bind_variations(nb::module_& m);
